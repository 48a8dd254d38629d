"""What went wrong in an audit: recorded beside the results, never hidden."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
    """One thing that went wrong: in which split, with which learner and lens (None: all), what, and in words.

    `detail` may quote what the failing program printed, rows included, so it is in no repr and not in `to_dict()`.

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
        """Plain data without `detail`."""
        return {
            "split": self.split,
            "learner": self.learner,
            "lens": self.lens,
            "kind": self.kind,
            "message": self.message,
        }


def failure_of(error: BaseException, split: int, learner: str | None, lens: str | None) -> Failure:
    """The record of an exception. The text of a foreign exception may quote rows: it goes to `detail` only."""
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


__all__ = ["KINDS", "CuratorFailed", "Failure", "LearnerFailed", "OutOfRange", "Peeked", "failure_of"]
