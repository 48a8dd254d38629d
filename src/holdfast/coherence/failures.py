"""What went wrong in an audit: recorded next to the results, never hidden."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from holdfast.coherence.protocol import call
from holdfast.core import sandbox
from holdfast.errors import HoldfastError

KINDS = (
    "curator-crashed",
    "curator-hung",
    "learner-crashed",
    "learner-hung",
    "out-of-range",
    "peeked",
    "not-run",
)


class CuratorFailed(HoldfastError):
    """A curator made no release. `kind` is one of `KINDS`; `detail` may quote its output and so may hold rows."""

    usual = "curator-crashed"

    def __init__(self, message: str, kind: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.kind, self.detail = kind or self.usual, detail

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.kind, self.detail)


class LearnerFailed(CuratorFailed):
    """A learner made no predictions."""

    usual = "learner-crashed"


class Peeked(HoldfastError):
    """A learner looked at more than its report, or a predictor at more than its lens."""


class OutOfRange(HoldfastError):
    """Predictions outside [-1, 1]."""


@dataclass(frozen=True)
class Failure:
    """One failure during an audit: its split, its learner and lens, its kind, and a message in words.

    `learner` or `lens` is None if the failure concerns all of them. `detail` may quote what the failing program
    printed, rows included. Therefore it is neither in the repr nor in `to_dict()`.

    Examples
    --------
    >>> Failure(3, None, None, "curator-hung", "the command ran past 60 s")
    Failure(split=3, learner=None, lens=None, kind='curator-hung', message='the command ran past 60 s')
    """

    split: int
    learner: str | None
    lens: str | None
    kind: str
    message: str
    detail: str = field(default="", repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as plain data without `detail`."""
        return {
            "split": self.split,
            "learner": self.learner,
            "lens": self.lens,
            "kind": self.kind,
            "message": self.message,
        }


def failure_of(error: BaseException, split: int, learner: str | None, lens: str | None) -> Failure:
    """Return the record of an exception. The text of a foreign exception may quote rows: it goes to `detail` only."""
    if isinstance(error, CuratorFailed):
        return Failure(split, learner, lens, error.kind, str(error), error.detail)
    kind = "curator-crashed" if learner is None else "learner-crashed"
    if isinstance(error, Peeked):
        kind = "peeked"
    elif isinstance(error, OutOfRange):
        kind = "out-of-range"
    if isinstance(error, HoldfastError):
        return Failure(split, learner, lens, kind, str(error))
    who = "curator" if learner is None else "learner"
    return Failure(split, learner, lens, kind, f"the {who} raised {type(error).__name__}", str(error))


def isolated(function: Callable[..., Any], arguments: tuple[Any, ...], time_limit: float, who: str = "curator") -> Any:
    """Call a curator or a learner in a child process under a time limit (`core.sandbox.call`).

    Raises `CuratorFailed`, or `LearnerFailed` with `who="learner"`, where it crashes, raises or hangs. An error of
    Holdfast's own, such as predictions outside [-1, 1], is raised as it is.

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
    try:
        return sandbox.call(call, (function, *arguments), seconds=time_limit, who=who, passed=HoldfastError)
    except sandbox.SandboxError as error:
        kind = f"{who}-hung" if isinstance(error, sandbox.TimedOut) else ""
        raise failed(str(error), kind, error.detail) from None
