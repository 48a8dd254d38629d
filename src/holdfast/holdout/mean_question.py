"""A question about the mean of one value a row: checked at the door, summed up, decided at its share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from holdfast import check
from holdfast.bounds.one_question.families import Family, tightest
from holdfast.data.values import Rows, Summary, summarise
from holdfast.errors import InvalidParameter
from holdfast.holdout.decisions import (
    Guess,
    OneSided,
    check_mean,
    check_procedure,
    claim_mean,
    claim_procedure,
    pairs_for,
    refuse_small,
)
from holdfast.holdout.families import (
    FAMILIES,
    MEAN_FAMILIES,
    MeanFamily,
    at_spread,
    bernstein,
    betting,
)
from holdfast.holdout.mean_interval import MeanInterval
from holdfast.holdout.procedure import OnRows
from holdfast.holdout.transcript import Outcome

SHOWS = ("value", "bit")


@dataclass(frozen=True)
class MeanQuestion:
    """What is public about a question: its kind, its range and how its interval is made."""

    kind: str
    family: str
    spread: float | None
    low: float
    high: float
    binary: bool
    n: int

    def __post_init__(self) -> None:
        check.choice("family", self.family, ("auto", *self.families))
        if not isinstance(self.binary, bool):
            raise InvalidParameter(f"binary must be True or False, got a {type(self.binary).__name__}")
        if self.binary and (self.low, self.high) != (0.0, 1.0):
            raise InvalidParameter(
                f"binary must be False unless the range is [0, 1], got [{self.low:g}, {self.high:g}]"
            )
        if self.spread is not None:
            spread = check.real("spread", self.spread, at_least=0, at_most=(self.high - self.low) / 2)
            object.__setattr__(self, "spread", spread)

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the intervals that may be asked for."""
        return FAMILIES

    def mean_family(self, name: str) -> MeanFamily | None:
        """The interval of this name, if it is a function of the mean alone."""
        return MEAN_FAMILIES.get(name)

    def guess(self, guess: Any, tolerance: Any, show: Any, grid: Any) -> Guess:
        """Check the public parts of a guess."""
        return checked_guess(guess, tolerance, show, grid, self.low, self.high)

    def claim(self, name: str, bound: Any, label: str | None = None) -> OneSided:
        """Check a one-sided claim."""
        return OneSided(check.real(label or name, bound, at_least=self.low, at_most=self.high), name == "at_least")

    def describe(self, asked: Guess | OneSided) -> dict[str, Any]:
        """The question in plain public data: what a key stands for."""
        how = {"family": self.family, "spread": self.spread, "binary": self.binary}
        return {"kind": self.kind, "low": self.low, "high": self.high} | how | asked.to_dict()

    def read(self, values: Rows, name: str) -> Reading:
        """Check and sum the rows. Secret from here on."""
        if self.family == "betting":
            return Reading(self, betting(values, self.n, self.low, self.high, name))
        squares = self.family == "empirical-bernstein" or (self.family == "auto" and self.spread is not None)
        declared = self.binary or self.family == "clopper-pearson"
        return Reading(
            self,
            summarise(values, n=self.n, low=self.low, high=self.high, binary=declared, squares=squares, name=name),
        )

    def chosen(self, near: float, log_share: float, binary: bool) -> str:
        """The family's name, from what is known before the data: the range, the declared type, spread and share."""
        if self.family != "auto":
            return self.family
        if binary:
            return "clopper-pearson"
        if self.spread is None:
            return "kl"
        both: tuple[Family, ...] = ("kl", "empirical-bernstein")
        return tightest(both, near, self.n, log_share, self.spread, low=self.low, high=self.high)

    def least_tolerance(self, guess: float, log_share: float) -> float:
        """The smallest tolerance with which some rows (of the given spread) pass."""
        name = self.chosen(guess, log_share, self.binary)
        return self._likely(name, self.spread or 0.0).least_tolerance(guess, log_share)

    def tolerance(self, asked: Guess, log_share: float) -> float:
        """How near the truth a pass certifies the guess: the tolerance that was asked for, or the default. Public.

        One that no rows can pass with is an error, the same that `decide_check` raises.
        """
        name = self.chosen(asked.guess, log_share, self.binary)
        if asked.tolerance is not None and self.mean_family(name) is not None:
            refuse_small(asked.tolerance, self._likely(name, self.spread or 0.0), asked.guess, log_share)
        return self._tolerance(name, asked, log_share)

    def decide_check(self, rows: Summary | OnRows, asked: Guess, log_share: float) -> Outcome:
        """Pass or fail, and what that shows."""
        name = self.chosen(asked.guess, log_share, isinstance(rows, Summary) and rows.binary)
        family = self.mean_family(name)
        if isinstance(rows, Summary) and family is not None:
            return check_mean(rows, self._interval(family), asked, log_share)
        tolerance = self._tolerance(name, asked, log_share)
        procedure = bernstein(rows) if isinstance(rows, Summary) else rows
        outcome = check_procedure(procedure, asked, log_share, tolerance, name)
        if not outcome.passed and name == "empirical-bernstein":
            refuse_small(tolerance, self._likely(name, 0.0), asked.guess, log_share)
        return outcome

    def shown(self, asked: Guess, log_share: float) -> int:
        """How many things a failure could show. Public."""
        if not asked.show_value:
            return 1
        name = self.chosen(asked.guess, log_share, self.binary)
        tolerance = self._tolerance(name, asked, log_share)
        family = self.mean_family(name)
        if family is None:
            return pairs_for(tolerance, asked.grid, self.low, self.high).count
        return self._interval(family).cells(asked.guess, tolerance, log_share, asked.grid).count

    def decide_claim(self, rows: Summary | OnRows, asked: OneSided, log_share: float) -> Outcome:
        """Pass or fail."""
        name = self.chosen(asked.bound, log_share, isinstance(rows, Summary) and rows.binary)
        family = self.mean_family(name)
        if isinstance(rows, Summary) and family is not None:
            return claim_mean(rows, self._interval(family), asked, log_share)
        procedure = bernstein(rows) if isinstance(rows, Summary) else rows
        return claim_procedure(procedure, asked, log_share, name)

    def _tolerance(self, name: str, asked: Guess, log_share: float) -> float:
        if asked.tolerance is not None:
            return asked.tolerance
        most = math.sqrt((asked.guess - self.low) * (self.high - asked.guess))  # what 0/1 values have at this mean
        likely = self._likely(name, most if self.spread is None else self.spread)
        return likely.default_tolerance(asked.guess, log_share)

    def _interval(self, family: MeanFamily) -> MeanInterval:
        return MeanInterval(family, self.n, self.low, self.high)

    def _likely(self, name: str, spread: float) -> MeanInterval:
        """What a family gives at a presumed spread; betting is about as wide as empirical Bernstein, or narrower."""
        family = self.mean_family(name)
        return self._interval(at_spread(spread) if family is None else family)


@dataclass(frozen=True, repr=False)
class Reading:
    """A question together with the sums of its rows. Secret: its repr shows neither."""

    question: MeanQuestion
    rows: Summary | OnRows

    def decide(self, asked: Guess | OneSided) -> Callable[[float], Outcome]:
        """What to do with a share."""
        if isinstance(asked, Guess):
            return partial(self.question.decide_check, self.rows, asked)
        return partial(self.question.decide_claim, self.rows, asked)


def checked_guess(guess: Any, tolerance: Any, show: Any, grid: Any, low: float, high: float) -> Guess:
    """Check the public parts of a guess about something in `[low, high]`."""
    guess = check.real("guess", guess, at_least=low, at_most=high)
    if tolerance is not None:
        tolerance = check.real("tolerance", tolerance, above=0)
    if grid is not None:
        grid = check.real("grid", grid, at_least=(high - low) * 1e-9)
    return Guess(guess, tolerance, check.choice("show", show, SHOWS) == "value", grid)


__all__ = ["SHOWS", "MeanQuestion", "Reading", "checked_guess"]
