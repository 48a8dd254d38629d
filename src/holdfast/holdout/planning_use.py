"""What a plan is asked for, what a method answers, and the list that methods join. The methods have their own file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from holdfast.holdout.shares import Shares

Answers = Literal["values", "bits", "best score"]
"""What a method shows: a value for every question, only pass or fail, or only the best score so far."""


@dataclass(frozen=True)
class Use:
    """How a holdout will be used, in units of the range: `questions` in all, going on after `failures` failures.

    `guess` is where the means are expected, for the intervals that are narrower near the ends; `binary` says that
    every value is 0 or 1.

    Examples
    --------
    >>> use = Use(1000, 10, 0.95)
    >>> use.beta, use.budget, use.asking(5).budget
    (0.05, 10, 5)
    """

    questions: int
    failures: int
    confidence: float
    guess: float | None = None
    binary: bool = False

    @cached_property
    def shares(self) -> Shares:
        """The weights of guess and check, as the holdout itself uses them."""
        return Shares(self.confidence, self.questions, self.failures)

    @property
    def beta(self) -> float:
        """Probability that anything certified is wrong."""
        return self.shares.beta

    @property
    def budget(self) -> int:
        """Overfits for the methods whose budget is at least one and at most the number of questions."""
        return max(1, min(self.failures, self.questions))

    def asking(self, questions: int) -> Use:
        """The same use with another number of questions."""
        return replace(self, questions=questions)

    def failing(self, failures: int) -> Use:
        """The same use with another number of failures."""
        return replace(self, failures=failures)


@dataclass(frozen=True)
class Found:
    """A method's half-width in units of the range, whether it is proved, and what else is worth knowing about it.

    `sure_pass` is the half-width at which a guess that is off by at most half of it is sure to pass: Thresholdout's
    own theorem promises that, so it is the number to compare with it. `extra` holds lengths in units of the range.
    """

    half_width: float
    certified: bool = True
    sure_pass: float | None = None
    extra: Mapping[str, float] = field(default_factory=dict)


Width = Callable[[int, Use], Found]


@dataclass(frozen=True)
class Method:
    """One row of a plan. Only `width` is needed; the rest makes its inverses quick or exact.

    `spare(n, use, tau)` is at least 0 exactly where `width(n, use).half_width <= tau`, for methods whose width is slow.
    `rows(use, tau)` is the least `n`; `most_questions(n, use, tau)` the most questions. `counts_failures` says whether
    the width depends on them.
    """

    name: str
    width: Width
    theorem: str
    says: str
    needs: tuple[str, ...] = ()
    answers: Answers = "values"
    reference: bool = False
    counts_failures: bool = True
    applies: Callable[[Use], bool] = lambda use: True
    spare: Callable[[int, Use, float], float] | None = None
    rows: Callable[[Use, float], int] | None = None
    most_questions: Callable[[int, Use, float], int] | None = None


METHODS: dict[str, Method] = {}


def method(name: str, **about: Any) -> Callable[[Width], Width]:
    """Register a width as a row of every plan: `@method("my-method", theorem="area.id", says="One sentence.")`."""

    def add(width: Width) -> Width:
        METHODS[name] = Method(name, width, **about)
        return width

    return add


__all__ = ["METHODS", "Answers", "Found", "Method", "Use", "Width", "method"]
