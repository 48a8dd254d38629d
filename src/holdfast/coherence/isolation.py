"""Foreign code in a process of its own: a crash or a hang of a curator or a learner is a recorded failure."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable
from typing import Any

from holdfast.coherence.failures import CuratorFailed, LearnerFailed
from holdfast.coherence.protocol import call
from holdfast.errors import HoldfastError

DETAIL = 4000
"""Characters of what a failing program printed or raised that are kept, at most."""


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
        if not here.poll(time_limit):
            late = f"the {who} ran past its limit of {time_limit:g} s and was ended"
            raise failed(late, f"{who}-hung")
        try:
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


def _report(pipe: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        answer = ("returned", call(function, *arguments))
    except HoldfastError as error:
        answer = ("refused", error)
    except BaseException as error:
        answer = ("raised", (type(error).__name__, str(error)[-DETAIL:]))
    try:
        pipe.send(answer)
    except Exception as error:  # it cannot be pickled
        pipe.send(("raised", (type(error).__name__, "what it returned cannot be sent between processes")))


__all__ = ["DETAIL", "isolated"]
