"""Runs foreign code in a process of its own that is ended past a time limit: a module, a shell command, or a function.

`run` starts a new interpreter and no copy of this one, so that it holds no token, no signing key and no rows that it
was not given; the module there takes further limits on itself. Limits are the operating system's; where it has none
(Windows), the time limit alone holds. `run_command` starts a shell command. `call` runs a function of this program,
with what it can see, so that a crash or a hang of it is an error here.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # of unshare(2)
_END_WITH_PARENT, _NO_NEW_RIGHTS = 1, 38  # of prctl(2)
_LOOK = 0.2  # seconds between two looks at a child that has said nothing
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
DETAIL = 4000
"""Characters of what foreign code printed or raised that are kept, at most."""


class SandboxError(Exception):
    """Foreign code did not come to its end. `detail` may quote what it printed or raised, and so may hold rows."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class TimedOut(SandboxError):
    """It ran past its time limit and was ended."""

    def __init__(self, who: str, seconds: float, detail: str = "") -> None:
        super().__init__(f"the {who} ran past its limit of {seconds:g} s and was ended", detail)


@dataclass(frozen=True)
class Done:
    """How it ended: its exit status (None past the time limit, negative where a signal ended it), what it answered."""

    status: int | None
    answer: bytes


def run(
    module: str,
    given: bytes,
    *,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Done:
    """Run a module as a program, hand it `given` on standard input, and take its answer from standard output.

    Parameters
    ----------
    module : str
        It should call `answer_channel` and `limit` before it reads.
    given : bytes
        What it is told; arguments and the environment are seen by others.
    seconds : float
        After them it is killed, with everything that it started.
    environment : mapping, optional
        By default nothing but where packages are found.
    folder : path, optional
        Where it runs; by default an empty folder of its own.

    Examples
    --------
    >>> done = run("platform", b"", seconds=30)
    >>> done.status, len(done.answer) > 0
    (0, True)
    """
    variables = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)} | ONE_THREAD
    with tempfile.TemporaryDirectory(prefix="holdfast-apart-") as empty, tempfile.TemporaryFile() as answer:
        child = subprocess.Popen(
            [sys.executable, "-s", "-B", "-m", module],
            stdin=subprocess.PIPE,
            stdout=answer,  # a file, so that a limit on its size holds
            stderr=subprocess.DEVNULL,
            cwd=empty if folder is None else folder,
            env=variables if environment is None else dict(environment),
            start_new_session=True,
        )
        status = _waited(child, given, seconds)
        answer.seek(0)
        return Done(status, b"" if status is None else answer.read())


def run_command(command: str, *, seconds: float, folder: Path) -> Done:
    r"""Run a shell command in a folder; what it prints, errors included, is its answer, the last of it.

    Raises
    ------
    TimedOut
        It ran past `seconds`. It is killed, with everything that it started.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run_command("echo no; exit 3", seconds=30, folder=Path(folder))
    Done(status=3, answer=b'no\n')
    """
    with tempfile.TemporaryFile() as output:  # no pipe, which can outlive the command
        child = subprocess.Popen(
            command,
            shell=True,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        status = _waited(child, None, seconds)
        output.seek(max(0, output.seek(0, os.SEEK_END) - 4 * DETAIL))
        printed = output.read()
    if status is None:
        raise TimedOut("command", seconds, printed.decode(errors="replace")[-DETAIL:])
    return Done(status, printed)


def call(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    *,
    seconds: float,
    who: str = "function",
    passed: type[Exception] | tuple[type[Exception], ...] = (),
) -> Any:
    """Call a function in a child process, forked where the system can, and return what it returns.

    Parameters
    ----------
    function : callable
        What it returns must be picklable.
    arguments : tuple
        Its arguments.
    seconds : float
        After them the child is killed.
    who : str
        What errors call it.
    passed : exception type, or several
        Errors of these types are raised here as they are.

    Raises
    ------
    TimedOut
        It ran past `seconds`.
    SandboxError
        Its process died, or it raised an error of another type, whose text is in `detail` alone.

    Examples
    --------
    >>> call(max, ([3, 7],), seconds=10.0)
    7
    >>> call(time.sleep, (60,), seconds=0.1)
    Traceback (most recent call last):
    ...
    holdfast.core.sandbox.TimedOut: the function ran past its limit of 0.1 s and was ended
    """
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in methods else None)
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_report, args=(there, function, arguments, passed), daemon=True)
    with warnings.catch_warnings():  # Python 3.12 warns of a fork next to threads; the child touches no lock of theirs
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    there.close()
    try:
        if not _answered(here, child, seconds):
            raise TimedOut(who, seconds)
        try:
            if not here.poll(0):
                raise EOFError
            kind, value = here.recv()
        except EOFError:
            child.join()
            raise SandboxError(f"the {who}'s process ended unexpectedly, with exit status {child.exitcode}") from None
    finally:
        child.kill()
        child.join()
        here.close()
    if kind == "passed":
        raise value
    if kind == "raised":
        raise SandboxError(f"the {who} raised {value[0]}", value[1])
    return value


def _answered(pipe: Any, child: Any, seconds: float) -> bool:
    """Whether the child said something or died within the limit.

    A child forked at the same moment by another thread may hold this pipe open, so that the end of the file is no sign
    of death that can be relied on: the child itself is asked too.
    """
    end = time.monotonic() + seconds
    while not pipe.poll(max(0.0, min(_LOOK, end - time.monotonic()))):
        if not child.is_alive():
            return True
        if time.monotonic() >= end:
            return False
    return True


def _report(pipe: Any, function: Callable[..., Any], arguments: tuple[Any, ...], passed: Any) -> None:
    try:
        _one_thread()
        answer = ("returned", function(*arguments))
    except passed as error:
        answer = ("passed", error)
    except BaseException as error:
        answer = ("raised", (type(error).__name__, str(error)[-DETAIL:]))
    try:
        pipe.send(answer)
    except Exception as error:  # it cannot be pickled
        pipe.send(("raised", (type(error).__name__, "what it returned cannot be sent between processes")))


def _one_thread() -> None:
    """Keep OpenMP and BLAS to one thread: a forked child has none of the threads that its parent's pools remember.

    A parallel region would wait for them, or crash. scikit-learn brings threadpoolctl.
    """
    try:
        threadpoolctl = importlib.import_module("threadpoolctl")
    except ImportError:
        return
    threadpoolctl.threadpool_limits(1)


def _waited(child: subprocess.Popen[bytes], given: bytes | None, seconds: float) -> int | None:
    """Wait for a program: its exit status, or None past the limit. Whatever it left running ends with it."""
    try:
        child.communicate(given, timeout=seconds)
        return child.returncode
    except subprocess.TimeoutExpired:
        return None
    finally:  # also on an interruption of this process
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the process and what it started, for certain."""
    with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):
        os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    if child.stdin is not None:
        with contextlib.suppress(OSError):
            child.stdin.close()
    child.wait()


def answer_channel() -> int:
    """In the process: where the answer is written. What anything prints from now on goes nowhere."""
    channel = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return channel


def limit(memory: int, *, seconds: float | None = None, answer: int | None = None) -> None:
    """In the process: no more memory than `memory` bytes, and no core file, which would hold rows.

    Parameters
    ----------
    memory : int
        Bytes of address space.
    seconds : float, optional
        Time on the processor.
    answer : int, optional
        Bytes that it may write to any file, its answer included. With it come few open files and no new processes.
    """
    try:
        import resource
    except ImportError:  # not on Windows: the time limit alone holds there
        return

    def at_most(what: int, most: int) -> None:
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))

    at_most(resource.RLIMIT_AS, memory)
    at_most(resource.RLIMIT_CORE, 0)
    if seconds is not None:
        at_most(resource.RLIMIT_CPU, int(seconds) + 1)
    if answer is not None:
        at_most(resource.RLIMIT_FSIZE, answer)
        at_most(resource.RLIMIT_NOFILE, 64)
        at_most(resource.RLIMIT_NPROC, 0)


def alarm(seconds: float) -> None:
    """In the process: it ends unless this is called again within so many seconds of its time on the processor.

    0 ends the waiting. Where the system has no such clock (Windows), nothing happens.
    """
    with contextlib.suppress(AttributeError):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends a process that does not ask for it


def address_space() -> tuple[int, int]:
    """In the process: bytes of address space now, and the most there ever were; zeros where the system does not say.

    Examples
    --------
    >>> now, most = address_space()
    >>> now <= most
    True
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0, 0
    kilobytes = {name: rest.split()[0] for name, _, rest in (line.partition(":") for line in lines) if rest.strip()}
    return int(kilobytes["VmSize"]) << 10, int(kilobytes["VmPeak"]) << 10


def cut_off() -> bool:
    """In the process, before it has threads: end with the parent, gain no rights, and see no network.

    Returns whether the network is gone. It takes a user namespace, which some systems do not let everybody have.
    """
    try:
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_END_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        library.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
        return bool(library.unshare(_NEW_USER | _NEW_NETWORK) == 0 or library.unshare(_NEW_NETWORK) == 0)
    except (AttributeError, OSError, TypeError):  # not on this system
        return False
