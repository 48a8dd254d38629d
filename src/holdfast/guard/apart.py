"""Work on what came from outside, in a fresh process with limits: whatever it does, it does to that process.

The process is a new interpreter and no copy of this one, so that it holds no token, no signing key and no rows that it
was not given. Limits are the operating system's; where it has none (Windows), the time limit alone holds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # of unshare(2)
_END_WITH_PARENT, _NO_NEW_RIGHTS = 1, 38  # of prctl(2)
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


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
    found = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)} | ONE_THREAD
    with tempfile.TemporaryDirectory(prefix="holdfast-apart-") as empty, tempfile.TemporaryFile() as answer:
        child = subprocess.Popen(
            [sys.executable, "-s", "-B", "-m", module],
            stdin=subprocess.PIPE,
            stdout=answer,  # a file, so that a limit on its size holds
            stderr=subprocess.DEVNULL,
            cwd=empty if folder is None else folder,
            env=found if environment is None else dict(environment),
            start_new_session=True,
        )
        try:
            child.communicate(given, timeout=seconds)
            status: int | None = child.returncode
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(child)
        answer.seek(0)
        return Done(status, b"" if status is None else answer.read())


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


__all__ = ["ONE_THREAD", "Done", "answer_channel", "cut_off", "limit", "run"]
