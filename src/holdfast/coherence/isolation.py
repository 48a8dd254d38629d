"""Foreign code in a process of its own: a crash or a hang of a curator or a learner is a recorded failure."""

from __future__ import annotations

import importlib
import multiprocessing
import time
import warnings
from collections.abc import Callable
from typing import Any

from holdfast.coherence.failures import CuratorFailed, LearnerFailed
from holdfast.coherence.protocol import call
from holdfast.errors import HoldfastError

DETAIL = 4000
"""Characters of what a failing program printed or raised that are kept, at most."""


_LOOK = 0.2  # seconds between two looks at a child that has said nothing


def isolated(function: Callable[..., Any], arguments: tuple[Any, ...], time_limit: float, who: str = "curator") -> Any:
    """Call in a child process (forked where the system can) under a time limit, and end it past the limit.

    Raises `CuratorFailed`, or `LearnerFailed` with `who="learner"`, where the function crashes, raises or hangs. An
    error of Holdfast's own, such as predictions outside [-1, 1], is raised as it is. What comes back must be picklable.

    Examples
    --------
    >>> isolated(max, ([3, 7],), 10.0)
    7
    >>> import time
    >>> isolated(time.sleep, (60,), 0.1, who="learner")
    Traceback (most recent call last):
    ...
    holdfast.coherence.failures.LearnerFailed: the learner ran past its limit of 0.1 s and was ended
    """
    failed = CuratorFailed if who == "curator" else LearnerFailed
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in methods else None)
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_report, args=(there, function, arguments), daemon=True)
    with warnings.catch_warnings():  # Python 3.12 warns of a fork beside threads; the child touches no lock of theirs
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    there.close()
    try:
        if not _answered(here, child, time_limit):
            late = f"the {who} ran past its limit of {time_limit:g} s and was ended"
            raise failed(late, f"{who}-hung")
        try:
            if not here.poll(0):
                raise EOFError
            kind, value = here.recv()
        except EOFError:
            child.join()
            raise failed(f"the {who}'s process died with status {child.exitcode}") from None
    finally:
        child.kill()
        child.join()
        here.close()
    if kind == "refused":
        raise value
    if kind == "raised":
        raise failed(f"the {who} raised {value[0]}", detail=value[1])
    return value


def _answered(pipe: Any, child: Any, time_limit: float) -> bool:
    """Whether the child said something or died within the limit.

    A child forked at the same moment by another thread may hold this pipe open, so that the end of the file is no sign
    of death that can be relied on: the child itself is asked too.
    """
    end = time.monotonic() + time_limit
    while not pipe.poll(max(0.0, min(_LOOK, end - time.monotonic()))):
        if not child.is_alive():
            return True
        if time.monotonic() >= end:
            return False
    return True


def _report(pipe: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        _one_thread()
        answer = ("returned", call(function, *arguments))
    except HoldfastError as error:
        answer = ("refused", error)
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


__all__ = ["DETAIL", "isolated"]
