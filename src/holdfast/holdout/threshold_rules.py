"""The public half of Thresholdout: parameters, what they cost and certify, and how input is checked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.accounting.costs import PureDP
from holdfast.bounds.exact import decimal_fraction, float_up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.holdout.ranges import laplace_scale
from holdfast.data.values import Rows, Summary, column, summarise
from holdfast.errors import InvalidParameter
from holdfast.holdout.noise_scales import NoiseScales, ScalesOnGrid, Variant
from holdfast.holdout.threshold_claim import Claim
from holdfast.mechanisms.answer import Answer
from holdfast.noise.grid import Grid, check_grid, upper_reading

Side = Literal["two-sided", "holdout_above", "train_above"]
SIDES = ("two-sided", "holdout_above", "train_above")


@dataclass(frozen=True)
class ThresholdRules:
    """Everything about a Thresholdout run that anyone may know; parameters as for `Thresholdout`.

    Examples
    --------
    >>> rules = ThresholdRules(n=10_000, threshold=0.04, sigma=0.001, budget=3)
    >>> rules.cost, rules.certified
    (PureDP(epsilon=0.6), False)
    """

    n: int
    threshold: float
    sigma: float
    budget: int
    side: Side = "two-sided"
    low: float = 0.0
    high: float = 1.0
    sensitivity: float | Fraction | None = None
    clamp: bool = False
    variant: Variant = "figure-1"
    claim: Claim | None = None
    scales: NoiseScales | None = None
    grid: Grid | None = None

    def __post_init__(self) -> None:
        low, high = check.value_range(self.low, self.high)
        clean = {
            "n": check.whole("n", self.n, at_least=1, at_most=10**15),
            "threshold": check.real("threshold", self.threshold, at_least=0),
            "sigma": laplace_scale(self.sigma),
            "budget": check.whole("budget", self.budget, at_least=1, at_most=10**15),
            "side": check.choice("side", self.side, SIDES),
            "low": low,
            "high": high,
            "grid": check_grid(self.grid),
        }
        for name, value in clean.items():
            object.__setattr__(self, name, value)
        if not isinstance(self.clamp, bool):
            raise InvalidParameter("clamp must be True or False")
        if self.sensitivity is not None:
            upper_reading("sensitivity", self.sensitivity)
            if self.clamp:
                raise InvalidParameter("clamp must be False when a sensitivity is declared: there is no range")
        _ = self.on_grid, self.index, self.certified  # refuse now what could not run

    # What it costs ----------------------------------------------------------------------------------------------------

    @cached_property
    def _moved(self) -> Fraction:
        """How far replacing a row moves an answer."""
        if self.sensitivity is not None:
            return upper_reading("sensitivity", self.sensitivity)
        return (decimal_fraction(self.high) - decimal_fraction(self.low)) / self.n

    @cached_property
    def unit(self) -> float:
        """Length of the answers' range, or sensitivity times n."""
        return float_up(self._moved * self.n)

    @cached_property
    def on_grid(self) -> ScalesOnGrid:
        """Grid, sensitivity and noise scales in whole steps."""
        slack = Fraction(0)
        if self.sensitivity is None:  # two sums of neighbouring rows may each be rounded
            slack = 2 * Fraction(Summary(self.n, self.low, self.high, 0, 0, False).slack)
        wanted = self.scales
        if wanted is None:
            wanted = NoiseScales.of(self.variant, self.sigma, self.budget, self.n, self.unit)
        return ScalesOnGrid.of(wanted, self._moved, slack, self.grid)

    @cached_property
    def index(self) -> int:
        """The threshold in steps."""
        return self.on_grid.grid.near_index(self.threshold, "threshold")

    @property
    def cost(self) -> PureDP:
        """What the whole run may spend."""
        return self.on_grid.run_cost(self.budget)

    @cached_property
    def costs(self) -> dict[tuple[bool, bool], PureDP]:
        """What an answer spends: first of its epoch or not, overfit or not."""
        first, overfit = self.on_grid.first, self.on_grid.overfit
        return {(a, b): PureDP(float_up(a * first + b * overfit)) for a in (False, True) for b in (False, True)}

    # What it certifies ------------------------------------------------------------------------------------------------

    @cached_property
    def certified(self) -> bool:
        """Whether the parameters satisfy the theorem behind the claim."""
        return self.claim is not None and self.claim.holds(self)

    @cached_property
    def _guarantees(self) -> dict[bool, Guarantee]:
        public = {"n": self.n, "threshold": self.threshold, "sigma": self.sigma, "budget": self.budget}
        words = "the run is private; no accuracy is certified"
        found = {False: Guarantee("holdout.thresholdout-epsilon", public, words, certified=False)}
        if self.claim is not None:
            wanted = {"tau": self.claim.tau, "beta": self.claim.beta, "questions": self.claim.questions}
            found[True] = Guarantee("holdout.thresholdout-failure", wanted | public, "holdout rows i.i.d.")
        return found

    def answer(self, value: float | None, over: bool, first: bool, asked: int, left: int) -> Answer:
        """The answer to question number `asked`; None for bottom."""
        remaining: dict[str, float] = {"overfits": left}
        certified = self.certified
        if self.claim is not None:
            remaining["questions"] = max(0, self.claim.questions - asked)
            certified = certified and asked <= self.claim.questions
        guarantee, cost = self._guarantees[certified], self.costs[first, over]
        if value is None:
            return Answer(None, None, guarantee, cost, remaining, None)
        interval = self._interval(value, over) if certified else None
        return Answer(value, interval, guarantee, cost, remaining, not over)

    def _interval(self, value: float, over: bool) -> tuple[float, float]:
        """Within tau on the sides that were checked; within the range where there is one."""
        assert self.claim is not None
        low, high = (self.low, self.high) if self.sensitivity is None else (-math.inf, math.inf)
        tau = self.claim.tau
        below = low if not over and self.side == "holdout_above" else max(low, value - tau)
        above = high if not over and self.side == "train_above" else min(high, value + tau)
        return min(below, high), max(above, low)

    # What may come in -------------------------------------------------------------------------------------------------

    def mean(self, values: Rows, n: int | None, name: str) -> float:
        """Mean of checked per-row values; `n` rows, or as many as the array has."""
        if self.sensitivity is not None:
            raise InvalidParameter("a declared sensitivity takes query_means: the statistic is not a mean over rows")
        rows = _length(values, name) if n is None else n
        return summarise(values, n=rows, low=self.low, high=self.high, name=name).mean

    def number(self, name: str, value: Any, *, hide: bool = False) -> float:
        """One number in the range; with `hide` an error does not show it."""
        low, high = (None, None) if self.sensitivity is not None else (self.low, self.high)
        try:
            return check.real(name, value, at_least=low, at_most=high)
        except InvalidParameter:
            if hide:  # the value may be an exact statistic
                where = "a finite number" if low is None else f"a number in [{low:g}, {high:g}]"
                raise InvalidParameter(f"{name} must be {where}") from None
            raise

    def numbers(self, name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """One number a question, each in the range."""
        numbers = column(values, name).astype(np.float64)
        low, high = (-1e300, 1e300) if self.sensitivity is not None else (self.low, self.high)
        if numbers.size and not (numbers.min() >= low and numbers.max() <= high):
            raise InvalidParameter(f"{name} must lie in [{low:g}, {high:g}], without missing values, and some do not")
        return numbers

    def means(self, holdout: npt.ArrayLike, questions: int) -> npt.NDArray[np.float64]:
        """One holdout mean a question, given as such or as one row of values a question."""
        try:
            array = np.asanyarray(holdout)  # a mask is kept, to be refused
        except (TypeError, ValueError):
            raise InvalidParameter("holdout must be means or a matrix with one row a question") from None
        if array.ndim == 2:
            found = np.array([self.mean(row, self.n, "holdout") for row in array], dtype=np.float64)
        else:
            found = self.numbers("holdout", array)
        if len(found) != questions:
            raise InvalidParameter(f"holdout must have one entry a question, {questions}, got {len(found)}")
        return found

    # Saving -----------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back exactly."""
        moved = self.sensitivity
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {
            "sensitivity": [moved.numerator, moved.denominator] if isinstance(moved, Fraction) else moved,
            "claim": None if self.claim is None else self.claim.to_dict(),
            "scales": None if self.scales is None else self.scales.to_dict(),
            "grid": self.on_grid.grid.exponent,  # the default may change; a stored threshold is in these steps
        }

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Read back from `to_dict()`."""
        if not isinstance(plain, dict) or set(plain) != set(cls.__dataclass_fields__):
            raise InvalidParameter("parameters must be what ThresholdRules.to_dict() gave")
        claim, scales, moved, grid = (plain[name] for name in ("claim", "scales", "sensitivity", "grid"))
        built = {
            "claim": None if claim is None else Claim(**claim),
            "scales": None if scales is None else NoiseScales(**scales),
            "sensitivity": Fraction(*moved) if isinstance(moved, list) else moved,
            "grid": Grid(grid),
        }
        return cls(**plain | built)


def _length(values: Any, name: str) -> int:
    """Number of rows of an array; an iterator has none that could be known beforehand."""
    if isinstance(values, Iterator):
        raise InvalidParameter(f"{name} in chunks needs train_n, the number of training rows")
    try:
        rows = len(values)
    except TypeError:
        raise InvalidParameter(f"{name} must be one number a row") from None
    return check.whole(f"rows of {name}", rows, at_least=1)


__all__ = ["SIDES", "Side", "ThresholdRules"]
