"""Thresholdout: answers with the candidate while it agrees with the holdout, with a noisy holdout value when not.

`NoiseScales` are the three noises of a run, and `Claim` what a run certifies. `ThresholdRules` is the public half:
parameters, their cost, and how input is checked. `ThresholdRun` is the secret half: the noisy threshold, the budget and
the rule of Figure 1. `Thresholdout` is both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, overload

import numpy as np
import numpy.typing as npt

from holdfast.accounting.costs import PureDP
from holdfast.bounds.holdout.single_threshold import single_threshold_size
from holdfast.bounds.holdout.thresholdout import (
    split_size,
    theorem25_parameters,
    theorem25_size,
    thresholdout_failure,
    thresholdout_size,
)
from holdfast.bounds.numerics.exact import decimal_fraction, float_up, left_to_chance
from holdfast.bounds.numerics.search import first_whole
from holdfast.bounds.parameters import LaplaceScale, checked
from holdfast.bounds.sparse_vector import numeric_sparse_scales, sparse_vector_split
from holdfast.core import arguments
from holdfast.core.copying import OneOwner
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import Rows, Summary, column, summarise
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.holdout.secret_state import read_state, source_state
from holdfast.mechanisms.answer import Answer
from holdfast.mechanisms.sparse_run import first_above
from holdfast.noise.entropy import Seeded, Source, resolve
from holdfast.noise.grid import Grid, check_grid, laplace_on_grid, upper_reading
from holdfast.noise.inputs import fits_vector
from holdfast.noise.laplace import discrete_laplace

Variant = Literal["figure-1", "single-threshold", "numeric-sparse"]
VARIANTS = ("figure-1", "single-threshold", "numeric-sparse")


@dataclass(frozen=True)
class NoiseScales:
    """The Laplace scales of the noise on the threshold, on each comparison and on each released value, in units of
    the answers.

    `refresh` says whether a fresh noisy threshold is drawn after every overfit (Figure 1) or one threshold is used for
    the whole run.

    Examples
    --------
    >>> NoiseScales.of("figure-1", sigma=0.01, budget=5, n=10_000)
    NoiseScales(threshold=0.02, comparison=0.04, release=0.01, refresh=True)
    >>> round(NoiseScales.of("single-threshold", sigma=0.01, budget=10, n=10_000).comparison, 5)
    0.02271
    """

    threshold: float
    comparison: float
    release: float
    refresh: bool = True

    def __post_init__(self) -> None:
        for name in ("threshold", "comparison", "release"):
            object.__setattr__(self, name, arguments.real(name, getattr(self, name), at_least=1e-100, at_most=1e100))
        if not isinstance(self.refresh, bool):
            raise InvalidParameter("refresh must be True or False")

    @classmethod
    def of(cls, variant: Variant, sigma: float, budget: int, n: int, unit: float = 1.0) -> NoiseScales:
        """Return noise scales that together cost as much privacy as Figure 1 with this sigma and budget, `2B/(sigma
        n)`.

        There are three ways to divide this cost:

        - *figure-1*: the scales `2 sigma`, `4 sigma` and `sigma`, with a fresh threshold after each overfit (Dwork et
          al. 2015).
        - *single-threshold*: one threshold for the whole run. Half of epsilon is for the released values, so their
          noise stays at `sigma`. The other half is divided `1 : (2B)^(2/3)` between the threshold and the comparisons.
          Comparisons have less noise at the same cost.
        - *numeric-sparse*: the scales `9/8 sigma`, `9/4 sigma` and `9/2 sigma`. Comparisons have less noise, released
          values more.

        Parameters
        ----------
        variant : str
            One of the three.
        sigma : float
            Figure 1's Laplace scale for answers of range 1.
        budget, n : int
            Overfits and holdout rows.
        unit : float
            Length of the range of the answers; all scales are multiplied by it.

        Notes
        -----
        *single-threshold* is Lyu, Su, Li 2017 (scales `D/e1` and `2BD/e2`); *numeric-sparse* is Dwork-Roth 2014,
        Algorithm 3.
        """
        kind = arguments.choice("variant", variant, VARIANTS)
        if kind == "figure-1":
            return cls(2 * sigma * unit, 4 * sigma * unit, sigma * unit)
        epsilon = 2 * budget / (sigma * n)
        if kind == "numeric-sparse":
            return cls(*numeric_sparse_scales(epsilon, budget, unit / n))
        share = sparse_vector_split(epsilon / 2, budget)
        return cls(unit / n / share.threshold, 2 * budget * unit / n / share.questions, sigma * unit, refresh=False)

    def times(self, factor: float) -> NoiseScales:
        """Return the three scales multiplied by a number."""
        factor = arguments.real("factor", factor, above=0)
        return NoiseScales(self.threshold * factor, self.comparison * factor, self.release * factor, self.refresh)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return asdict(self)


@dataclass(frozen=True)
class ScalesOnGrid:
    """Scales in whole steps, and what the discrete noise on the grid spends, exactly.

    A statistic that neighbours move by `D` moves its index by at most `sensitivity = ceil(D/step)` steps. Each scale is
    rounded up so that `sensitivity/scale` is at most `D/scale` as asked for: the grid never spends more than the
    continuous noise would, and pays with at most one part in a thousand more noise on the default grid.
    """

    grid: Grid
    sensitivity: int
    threshold: int
    comparison: int
    release: int
    refresh: bool

    @classmethod
    def of(
        cls, scales: NoiseScales, sensitivity: Fraction, slack: Fraction = Fraction(0), grid: Grid | None = None
    ) -> ScalesOnGrid:
        """Put scales on a grid; `slack` is how far floating-point sums may add to the sensitivity.

        Examples
        --------
        >>> on = ScalesOnGrid.of(NoiseScales(0.02, 0.04, 0.01), Fraction(1, 10_000))
        >>> on.run_cost(5), float(on.first), float(on.overfit)
        (PureDP(epsilon=0.1), 0.005, 0.015)
        """
        asked = [decimal_fraction(scale) for scale in (scales.threshold, scales.comparison, scales.release)]
        if grid is None:
            grid = Grid(min(laplace_on_grid(sensitivity, sensitivity / scale).grid.exponent for scale in asked))
        steps = grid.sensitivity_steps(sensitivity + slack)
        whole = [math.ceil(scale / sensitivity * steps) for scale in asked]
        for scale in whole:
            fits_vector("noise scale", scale)
        return cls(grid, steps, whole[0], whole[1], whole[2], scales.refresh)

    @property
    def first(self) -> Fraction:
        """Epsilon of the comparisons that say "no overfit": paid once for each threshold, whatever their number."""
        return Fraction(self.sensitivity, self.threshold)

    @property
    def overfit(self) -> Fraction:
        """Epsilon that an overfit adds: its comparison and its released value."""
        return 2 * Fraction(self.sensitivity, self.comparison) + Fraction(self.sensitivity, self.release)

    def run_cost(self, budget: int) -> PureDP:
        """Return what a whole run may spend."""
        thresholds = budget if self.refresh else 1
        return PureDP(float_up(thresholds * self.first + budget * self.overfit))

    @property
    def realised(self) -> NoiseScales:
        """The scales that are drawn, in the unit of the answers."""
        step = self.grid.step
        threshold, comparison, release = (float_up(w * step) for w in (self.threshold, self.comparison, self.release))
        return NoiseScales(threshold, comparison, release, self.refresh)


@dataclass(frozen=True, eq=False)
class ThresholdAnswers:
    """One entry per question, in order.

    Attributes
    ----------
    values : array of float
        The answers; NaN where the answer is bottom, because the budget was gone.
    overfit : array of bool
        Where the holdout spoke: the value is the noisy holdout mean. Elsewhere it is the candidate.
    answered : int
        How many questions came before bottom.
    """

    values: npt.NDArray[np.float64]
    overfit: npt.NDArray[np.bool_]
    answered: int
    _replay: Callable[[], Iterator[Answer]] = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Answer]:
        """The same answers as asking one by one."""
        return self._replay()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; bottom is None."""
        values: list[Any] = self.values.tolist()
        values[self.answered :] = [None] * (len(values) - self.answered)
        return {"values": values, "overfit": self.overfit.tolist(), "answered": self.answered}


Method = Literal["best", "single-threshold", "theorem-25", "paper"]
METHODS = ("best", "single-threshold", "theorem-25", "paper")
#: Steps that the grid may add to a noise: |discrete Laplace| is at most |Laplace| plus a step in distribution, for two
# noises,
#: and threshold, mean and candidate are each off by half a step; rounded up to whole steps.
_ROUNDING_STEPS = 4
#: The default grid makes scales larger by less than this, so a plan asks for that much less noise.
_GRID_ROOM = 2.0**-9


@dataclass(frozen=True)
class Claim:
    """The claim that each of the first `questions` answers is within `tau` of its population value, all together.

    It holds with probability at least `1 - beta`. `certified=False` marks a claim that depends on published constants
    that have no proof.

    Examples
    --------
    >>> from holdfast.holdout import Thresholdout
    >>> wanted = Claim(tau=0.1, beta=0.05, questions=1000)
    >>> Thresholdout(n=10_000, threshold=0.075, sigma=0.001, budget=10, claim=wanted).certified
    False
    """

    tau: float
    beta: float
    questions: int
    certified: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", arguments.real("tau", self.tau, above=0))
        object.__setattr__(self, "beta", arguments.probability("beta", self.beta))
        object.__setattr__(self, "questions", arguments.whole("questions", self.questions, at_least=1, at_most=10**18))
        if not isinstance(self.certified, bool):
            raise InvalidParameter("certified must be True or False")

    def holds(self, rules: ThresholdRules) -> bool:
        """Return whether the public parameters of a run satisfy a theorem that gives this claim.

        The theorem is `holdout.thresholdout-failure` with the noise that is really drawn (grid included), or Theorem
        25. Theorem 25 requires its own threshold, at most its sigma in the form of Figure 1, and its number of rows.

        Notes
        -----
        The proof of Theorem 25 uses Laplace tails `e^(-t/2)` where `e^(-t)` is true, which more than covers the
        grid.
        """
        if not self.certified:
            return False
        on_grid, scales = rules.on_grid, rules.on_grid.realised
        failure = thresholdout_failure(
            rules.n,
            self.tau,
            self.questions,
            rules.budget,
            rules.threshold,
            scales.threshold,
            scales.comparison,
            scales.release,
            "refresh" if scales.refresh else "single",
            rules.unit,
            _ROUNDING_STEPS * float(on_grid.grid.step),
            rules.cost.epsilon,
        )
        return failure <= self.beta or self._theorem25(rules)

    def _theorem25(self, rules: ThresholdRules) -> bool:
        tau = self.tau / rules.unit
        if not 1e-50 <= tau < 1 or not rules.budget <= self.questions:
            return False
        threshold, sigma = theorem25_parameters(tau, self.beta, self.questions)
        asked = NoiseScales.of("figure-1", rules.sigma, rules.budget, rules.n, rules.unit)
        room = 1 + _GRID_ROOM
        drawn = rules.on_grid.realised
        figure = drawn.refresh and all(
            a <= b <= room * a
            for a, b in (
                (asked.threshold, drawn.threshold),
                (asked.comparison, drawn.comparison),
                (asked.release, drawn.release),
            )
        )
        near = math.isclose(rules.threshold, threshold * rules.unit, rel_tol=1e-9)
        near = near and math.isclose(rules.sigma, sigma, rel_tol=1e-9)
        return figure and near and rules.n >= theorem25_size(tau, self.beta, self.questions, rules.budget, "exact")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return asdict(self)


class Planned(NamedTuple):
    """Parameters of a run and its claim."""

    n: int
    threshold: float
    sigma: float
    budget: int
    scales: NoiseScales | None
    claim: Claim


class _Design(NamedTuple):
    """A planner's result for answers of range 1: the rows it needs, and whether they leave the grid no room."""

    n: int
    threshold: float
    sigma: float
    scales: NoiseScales | None
    certified: bool
    tight: bool

    @property
    def least(self) -> int:
        """Rows with room for the grid."""
        return math.ceil(self.n * (1 + _GRID_ROOM)) if self.tight else self.n


def planned(
    tau: float, beta: float, questions: int, budget: int | None, n: int | None, method: Method, low: float, high: float
) -> Planned:
    """Parameters for `Thresholdout.plan`: those of the planners in `bounds`, with room for the grid."""
    low, high = arguments.value_range(low, high)
    arguments.choice("method", method, METHODS)
    unit = high - low
    share = arguments.real("tau", tau, above=0) / unit
    if n is not None:
        n = arguments.whole("n", n, at_least=1, at_most=10**15)
    if budget is None:
        if n is None:
            raise InvalidParameter(
                "neither budget nor n was given; give budget, the largest number of overfits, or n, the number of "
                "rows that pays for them"
            )
        budget = max(1, _most(n, share, beta, questions, method))
    design = _design(share, beta, questions, budget, method)
    if n is not None and n < design.least:
        raise GuaranteeUnavailable(
            f"{n} rows are too few for Thresholdout to certify {tau:g} at {100 * (1 - beta):.6g}% for {questions} "
            f"questions and {budget} overfits: it needs {design.least} rows. Splitting the rows needs "
            f"{math.ceil(split_size(share, beta, questions, budget))} rows; ReusableHoldout and SparseValidate need "
            "fewer still"
        )
    quieter = (1 - _GRID_ROOM if design.tight else 1) * unit
    scales = None if design.scales is None else design.scales.times(quieter)
    claim = Claim(tau, beta, questions, design.certified)
    rows = design.least if n is None else n
    return Planned(rows, design.threshold * unit, design.sigma * quieter / unit, budget, scales, claim)


def _design(share: float, beta: float, questions: int, budget: int, method: Method) -> _Design:
    if method == "single-threshold":
        single = single_threshold_size(share, beta, questions, budget)
        scales = NoiseScales(single.threshold_scale, single.question_scale, single.release_scale, refresh=False)
        return _Design(single.n, single.threshold, single.release_scale, scales, certified=True, tight=True)
    plan = thresholdout_size(share, beta, questions, budget, method)
    assert plan.sigma is not None
    assert plan.threshold is not None
    return _Design(plan.n, plan.threshold, plan.sigma, None, plan.certified, plan.branch == "tight")


def _most(n: int, share: float, beta: float, questions: int, method: Method) -> int:
    """The largest budget whose design fits into `n` rows; 0 if none does. Rows grow with the budget."""

    def fits(budget: int) -> bool:
        return _design(share, beta, questions, budget, method).least <= n

    too_many = first_whole(lambda budget: not fits(budget), limit=questions)
    return questions if too_many is None else too_many - 1


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
        low, high = arguments.value_range(self.low, self.high)
        clean = {
            "n": arguments.whole("n", self.n, at_least=1, at_most=10**15),
            "threshold": arguments.real("threshold", self.threshold, at_least=0),
            "sigma": checked("sigma", LaplaceScale, self.sigma),
            "budget": arguments.whole("budget", self.budget, at_least=1, at_most=10**15),
            "side": arguments.choice("side", self.side, SIDES),
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
                raise InvalidParameter(
                    "clamp must be False if a sensitivity is declared, because then there is no range to clamp to"
                )
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
        """The grid on which noise is drawn, and the sensitivity and the noise scales in whole steps of this grid."""
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
        """Whether the parameters satisfy the conditions of the theorem that guarantees the claim."""
        return self.claim is not None and self.claim.holds(self)

    @cached_property
    def _guarantees(self) -> dict[bool, Guarantee]:
        public = {"n": self.n, "threshold": self.threshold, "sigma": self.sigma, "budget": self.budget}
        words = "the run is private; no accuracy is certified"
        guarantees = {False: Guarantee("holdout.thresholdout-epsilon", public, words, certified=False)}
        if self.claim is not None:
            wanted = {"tau": self.claim.tau, "beta": self.claim.beta, "questions": self.claim.questions}
            guarantees[True] = Guarantee("holdout.thresholdout-failure", wanted | public, "holdout rows i.i.d.")
        return guarantees

    def answer(self, value: float | None, over: bool, first: bool, asked: int, left: int) -> Answer:
        """Return the answer to question number `asked`; None for bottom."""
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
            raise InvalidParameter(
                "this holdout was made with a sensitivity, so its statistic is not a mean over rows; use query_means"
            )
        rows = _length(values, name) if n is None else n
        return summarise(values, n=rows, low=self.low, high=self.high, name=name).mean

    def number(self, name: str, value: Any, *, hide: bool = False) -> float:
        """One number in the range; with `hide` an error does not show it."""
        low, high = (None, None) if self.sensitivity is not None else (self.low, self.high)
        try:
            return arguments.real(name, value, at_least=low, at_most=high)
        except InvalidParameter:
            if hide:  # the value may be an exact statistic
                where = "a finite number" if low is None else f"a number in [{low:g}, {high:g}]"
                raise InvalidParameter(f"{name} must be {where}") from None
            raise

    def numbers(self, name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """One number per question, each in the range."""
        numbers = column(values, name).astype(np.float64)
        low, high = (-1e300, 1e300) if self.sensitivity is not None else (self.low, self.high)
        if numbers.size and not (numbers.min() >= low and numbers.max() <= high):
            raise InvalidParameter(
                f"{name} must be in [{low:g}, {high:g}] without missing values, but some values are not"
            )
        return numbers

    def means(self, holdout: npt.ArrayLike, questions: int) -> npt.NDArray[np.float64]:
        """One holdout mean per question, given as such or as one row of values per question."""
        try:
            array = np.asanyarray(holdout)  # a mask is kept, to be refused
        except (TypeError, ValueError):
            raise InvalidParameter(
                "holdout must be a list of means, or a matrix with one row for each question"
            ) from None
        if array.ndim == 2:
            means = np.array([self.mean(row, self.n, "holdout") for row in array], dtype=np.float64)
        else:
            means = self.numbers("holdout", array)
        if len(means) != questions:
            raise InvalidParameter(f"holdout must have one entry per question, {questions}, got {len(means)}")
        return means

    # Saving -----------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
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
        """Return the rules that `to_dict()` described."""
        if not isinstance(plain, dict) or set(plain) != set(cls.__dataclass_fields__):
            raise InvalidParameter("parameters must be what ThresholdRules.to_dict() returned")
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
        raise InvalidParameter(f"{name} is given in chunks, so train_n, the number of training rows, must be given too")
    try:
        rows = len(values)
    except TypeError:
        raise InvalidParameter(f"{name} must have one number for each row") from None
    return arguments.whole(f"rows of {name}", rows, at_least=1)


class ThresholdView:
    """The public side of a run; the other side holds the noisy threshold."""

    _rules: ThresholdRules
    _asked: int
    _left: int
    _fresh: bool  # no question since the threshold was drawn

    @property
    def rules(self) -> ThresholdRules:
        """All public parameters of the run."""
        return self._rules

    @property
    def n(self) -> int:
        """The number of rows in the holdout."""
        return self._rules.n

    @property
    def threshold(self) -> float:
        """The public threshold of the comparison. The noisy threshold is secret."""
        return self._rules.threshold

    @property
    def sigma(self) -> float:
        """The Laplace scale of the noise, for answers whose range has length 1."""
        return self._rules.sigma

    @property
    def budget(self) -> int:
        """The number of overfits after which the run ends."""
        return self._rules.budget

    @property
    def claim(self) -> Claim | None:
        """The accuracy that was asked for, as a `Claim`; None if none was."""
        return self._rules.claim

    @property
    def certified(self) -> bool:
        """Whether the parameters satisfy the conditions of the theorem that guarantees the claim."""
        return self._rules.certified

    @property
    def scales_on_grid(self) -> ScalesOnGrid:
        """The grid of the answers, with the sensitivity and the noise scales in whole grid steps."""
        return self._rules.on_grid

    @property
    def left(self) -> int:
        """The number of overfits that are left."""
        return self._left

    @property
    def asked(self) -> int:
        """The number of questions answered so far. Questions after the budget was used up do not count."""
        return self._asked

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up. Then every further question gets no answer."""
        return self._left < 1

    @property
    def cost(self) -> PureDP:
        """The most privacy loss that the whole run can have, `2B/(sigma n)` for the budget `B`."""
        return self._rules.cost

    @property
    def spent(self) -> PureDP:
        """The privacy loss so far: the sum of the answers' costs.

        The first question after an overfit (or of the run) pays for the noisy threshold, and an overfit pays for its
        comparison and its value. All other questions are free. On every transcript the privacy loss is at most this
        sum, so it can be charged by basic composition. Whether a question will be an overfit depends on the data.
        Therefore a filter must reserve that cost before the question.
        """
        on_grid = self._rules.on_grid
        overfits = self._rules.budget - self._left
        thresholds = overfits + (not self._fresh) if on_grid.refresh else int(not self._fresh or overfits > 0)
        return PureDP(float_up(thresholds * on_grid.first + overfits * on_grid.overfit))


class Draws(Protocol):
    """Integer noise of a scale in steps: one int, or an array of `size`. Tests inject their own."""

    @overload
    def __call__(self, scale: int, size: None = None, /) -> int: ...
    @overload
    def __call__(self, scale: int, size: int, /) -> npt.NDArray[np.int64]: ...


class ThresholdRun(ThresholdView, OneOwner):
    """A run of Figure 1 on numbers that were checked on entry; `Thresholdout` is the public method."""

    #: What reads the parameters back from a state; a run whose claim depends on another theorem has rules of its own.
    _rules_type: ClassVar[type[ThresholdRules]] = ThresholdRules

    def _begin(self, rules: ThresholdRules, source: Source, draws: Draws | None = None) -> None:
        OneOwner.__init__(self)
        self._rules, self._source, self._injected = rules, source, draws is not None
        self._draws: Draws = self._noise if draws is None else draws
        self._asked, self._left, self._fresh = 0, rules.budget, True
        self._known: dict[str, tuple[float, bool, int]] = {}
        self._secret = 0

    def _recall(self, key: str | None) -> Answer | None:
        """The answer that a named question got; it was public then and costs nothing now."""
        if key is None:
            return None
        if not isinstance(key, str):
            raise InvalidParameter(f"key must be a text, got a {type(key).__name__}")
        with self._alone():
            if key not in self._known:
                return None
            value, over, asked = self._known[key]
            told = self._rules.answer(value, over, False, asked, self._left)
            remaining = self._rules.answer(None, False, False, self._asked, self._left).remaining
            return replace(told, cost=self._rules.costs[False, False], remaining=remaining)

    def _ask(self, candidate: float, mean: float, key: str | None = None) -> Answer:
        on_grid, side = self._rules.on_grid, self._rules.side
        grid = on_grid.grid
        guess, index = grid.near_index(candidate, "candidate"), grid.near_index(mean, "holdout mean")
        with self._alone():
            if (known := self._recall(key)) is not None:  # another thread may have asked since the first look
                return known
            if self._left < 1:
                return self._rules.answer(None, False, False, self._asked, 0)
            gap = index - guess if side == "holdout_above" else guess - index
            if side == "two-sided":
                gap = abs(gap)
            over = gap > self._secret + self._draws(on_grid.comparison)
            first, self._asked, self._fresh = self._fresh, self._asked + 1, False
            value = self._release(index) if over else candidate
            if key is not None:
                self._known[key] = (value, over, self._asked)
            return self._rules.answer(value, over, first, self._asked, self._left)

    def _ask_all(self, guesses: npt.NDArray[np.float64], means: npt.NDArray[np.float64]) -> ThresholdAnswers:
        on_grid = self._rules.on_grid
        grid = on_grid.grid
        with self._alone():
            state = (self._asked, self._left, self._fresh)
            values, overfit = guesses.copy(), np.zeros(len(guesses), dtype=np.bool_)
            at = 0
            if self._left > 0 and len(guesses):
                indices = grid.indices(means)
                noisy = self._gaps(indices, grid.indices(guesses))
                noisy -= self._draws(on_grid.comparison, len(guesses))
                while at < len(guesses) and self._left > 0:
                    hit = first_above(noisy, at, len(guesses), self._secret)
                    stop = len(guesses) if hit is None else hit + 1
                    self._asked, self._fresh = self._asked + stop - at, False
                    if hit is not None:
                        overfit[hit], values[hit] = True, self._release(int(indices[hit]))
                    at = stop
            values[at:] = np.nan
        return ThresholdAnswers(values, overfit, at, lambda: self._replay(values, overfit, at, state))

    def _release(self, index: int) -> float:
        """Book an overfit and show the noisy value; a failure in between loses budget and never gains any."""
        rules, on_grid = self._rules, self._rules.on_grid
        self._left -= 1
        value = on_grid.grid.value(index + self._draws(on_grid.release))
        if on_grid.refresh:
            self._fresh = True
            self._secret = rules.index + self._draws(on_grid.threshold)
        return min(max(value, rules.low), rules.high) if rules.clamp else value

    def _gaps(self, means: npt.NDArray[np.int64], guesses: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        gaps: npt.NDArray[np.int64] = means - guesses if self._rules.side == "holdout_above" else guesses - means
        return np.abs(gaps, out=gaps) if self._rules.side == "two-sided" else gaps

    def _noise(self, scale: int, size: int | None = None, /) -> Any:
        return discrete_laplace(scale, size, source=self._source)

    def _replay(
        self,
        values: npt.NDArray[np.float64],
        overfit: npt.NDArray[np.bool_],
        answered: int,
        state: tuple[int, int, bool],
    ) -> Iterator[Answer]:
        asked, left, fresh = state
        for i, value in enumerate(values.tolist()):
            if i >= answered:
                yield self._rules.answer(None, False, False, asked, left)
                continue
            over = bool(overfit[i])
            asked, left = asked + 1, left - over
            yield self._rules.answer(value, over, fresh, asked, left)
            fresh = over and self._rules.on_grid.refresh

    # Saving -----------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the run as plain data. The data contain the noisy threshold: store them as a secret and never serve
        them.

        With `noise.Seeded` they contain the random generator too. Continue from a state only once, because two runs
        from one state answer twice what was paid for once.
        """
        if self._injected:
            raise InvalidParameter("a run whose noise was given by hand, for a test, cannot be saved")
        with self._alone():
            return {
                "kind": "thresholdout",
                "secret": True,
                "parameters": self._rules.to_dict(),
                "asked": self._asked,
                "left": self._left,
                "fresh": self._fresh,
                "noisy_threshold": self._secret,
                "known": {key: list(entry) for key, entry in self._known.items()},
                "source": source_state(self._source),
            }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the run that `state()` described, ready for its next question.

        Examples
        --------
        >>> from holdfast.holdout import Thresholdout
        >>> holdout = Thresholdout(n=100, threshold=0.1, sigma=0.01, budget=2)
        >>> Thresholdout.from_state(holdout.state()).state() == holdout.state()
        True
        """
        fields = ("parameters", "asked", "left", "fresh", "noisy_threshold", "known", "source")
        stored = read_state(state, "thresholdout", fields)
        rules = cls._rules_type.from_dict(stored["parameters"])
        fresh, noisy, known = stored["fresh"], stored["noisy_threshold"], stored["known"]
        whole = isinstance(noisy, int) and not isinstance(noisy, bool)
        if not isinstance(fresh, bool) or not whole or not isinstance(known, dict):
            raise InvalidParameter("state must be what thresholdout.state() gave")
        left = arguments.whole("left", stored["left"], at_least=0, at_most=rules.budget)
        asked = arguments.whole(
            "asked", stored["asked"], at_least=rules.budget - left + (not fresh and left == rules.budget)
        )
        source = resolve(None if stored["source"] is None else Seeded.from_state(stored["source"]))
        holdout = cls.__new__(cls)
        holdout._begin(rules, source)
        holdout._asked, holdout._left, holdout._fresh, holdout._secret = asked, left, fresh, noisy
        holdout._known = {str(key): (float(value), bool(over), int(at)) for key, (value, over, at) in known.items()}
        return holdout


class Thresholdout(ThresholdRun):
    """Thresholdout, Figure 1 of Dwork et al. 2015: the holdout's value is shown only if the candidate value is far
    from it.

    A question has a candidate value, usually the training mean, and the values of the holdout rows. If the candidate is
    within a noisy threshold of the holdout mean, the answer is the candidate itself, and it is free. Otherwise the
    question is an overfit: the answer is the holdout mean plus noise, and one unit of the budget is used. When the
    budget is used up, every question gets an `Answer` whose value and `passed` are None.

    The candidate may depend on everything except the holdout. The whole run is `2B/(sigma n)`-differentially private
    for a budget of `B`, so the outcome of the comparison and the remaining budget may be shown. A question asked twice
    counts as two questions, unless it has a name (`key`).

    If `claim` has parameters that satisfy its theorem, every answer carries an interval of half-width tau. Otherwise
    answers are marked `certified=False`. `Thresholdout.plan` chooses parameters that satisfy the theorem. At ordinary
    sizes there are none (docs/thresholdout.md); use `ReusableHoldout` there.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    threshold : float
        The threshold `T`, in the unit of the answers, at least 0.
    sigma : float
        Laplace scale for answers of range 1; all noise is multiplied by the length of the range.
    budget : int
        Overfits, at least 1.
    side : str
        "two-sided"; "holdout_above" catches holdout mean above the candidate (for losses: training too optimistic);
        "train_above" catches the candidate above the holdout mean (for accuracies). Only that side is caught and only
        that side spends.
    low, high : float
        Range of the values.
    sensitivity : float, optional
        For statistics that are not means: how far replacing one row moves them. Then `low` and `high` are not used and
        the noise is multiplied by `sensitivity * n`.
    clamp : bool
        Clip released values into the range. Post-processing; the answer is then biased near the ends.
    variant : str
        How the same epsilon is divided: "figure-1", "single-threshold" or "numeric-sparse" (`NoiseScales.of`).
    claim : Claim, optional
        The accuracy to certify.
    scales : NoiseScales, optional
        Other noise scales, in the unit of the answers, instead of those of `variant`.
    grid : noise.Grid, optional
        Where noise and statistics lie; by default at least 2048 steps in every scale and in the sensitivity.
    source : noise.Source, optional
        `noise.Seeded` in simulations; the operating system's randomness unless given.
    draws : callable, optional
        Integer noise injected by tests, `draws(scale_in_steps, size or None)`; replaces `source`.

    Notes
    -----
    With `gamma ~ Lap(2 sigma)` kept until an overfit and `eta ~ Lap(4 sigma)` fresh for each question: if
    `|holdout mean - candidate| > threshold + gamma + eta`, strictly, the answer is the holdout mean plus a fresh
    `Lap(sigma)`, one unit of the budget is gone and gamma is drawn anew; otherwise the answer is the candidate
    itself, unchanged. Noise is drawn in the order of the figure: gamma when the holdout is made; then for each
    question eta, and after an overfit xi, then gamma. When the budget is gone nothing is drawn.

    Noise is exact discrete Laplace on a grid of step `2**k`, and comparisons are comparisons of integers. The mean is
    rounded to the grid, so a row moves its index by at most `ceil((range/n + rounding of sums)/step)` steps, and scales
    are rounded up so that no epsilon exceeds the continuous one; they grow by less than 0.1%. `scales_on_grid` holds
    the integers.

    The sparse-vector run of `mechanisms` is not used, because Figure 1 draws in another order (threshold first and
    again right after the release, where the run draws it with the next question), releases the holdout mean and not the
    value that was compared, and adds eta to the threshold. The scan for the next overfit is shared.

    Time: a question costs the sum over its rows and some microseconds; a batch one vectorised draw and a scan from each
    overfit to the next.

    Examples
    --------
    >>> holdout = Thresholdout(n=10_000, threshold=0.1, sigma=0.001, budget=3)
    >>> holdout.query_means(candidate=0.70, holdout_mean=0.69).value
    0.7
    >>> answer = holdout.query_means(candidate=0.90, holdout_mean=0.60)
    >>> answer.passed, abs(answer.value - 0.60) < 0.05, answer.remaining
    (False, True, {'overfits': 2})
    >>> holdout
    Thresholdout(n=10000, threshold=0.1, budget=3, asked=2, overfits=1)
    >>> holdout.cost
    PureDP(epsilon=0.6)
    """

    def __init__(
        self,
        n: int,
        threshold: float,
        sigma: float,
        budget: int,
        *,
        side: Side = "two-sided",
        low: float = 0.0,
        high: float = 1.0,
        sensitivity: float | Fraction | None = None,
        clamp: bool = False,
        variant: Variant = "figure-1",
        claim: Claim | None = None,
        scales: NoiseScales | None = None,
        grid: Grid | None = None,
        source: Source | None = None,
        draws: Draws | None = None,
    ) -> None:
        rules = ThresholdRules(
            n, threshold, sigma, budget, side, low, high, sensitivity, clamp, variant, claim, scales, grid
        )
        if draws is not None and claim is not None:
            raise InvalidParameter(
                "claim must be left out if the noise is given by hand, because no theorem covers such noise"
            )
        self._begin(rules, resolve(source), draws)
        self._secret = rules.index + self._draws(rules.on_grid.threshold)

    @classmethod
    def plan(
        cls,
        tau: float,
        questions: int,
        budget: int | None = None,
        *,
        confidence: float = 0.95,
        n: int | None = None,
        method: Method = "best",
        low: float = 0.0,
        high: float = 1.0,
        side: Side = "two-sided",
        clamp: bool = False,
        source: Source | None = None,
    ) -> Thresholdout:
        """Return a Thresholdout whose answers are all within `tau` of their population values with probability at
        least `confidence`.

        Parameters
        ----------
        tau : float
            Accuracy of every answer, in the unit of the answers.
        questions : int
            Questions at most; later ones are answered but not certified.
        budget : int, optional
            Overfits. If not given, the most that `n` affords.
        confidence : float
            Probability that no answer is worse.
        n : int, optional
            Rows at hand. If not given, the least that suffices.
        method : str
            "best" (Figure 1, constants of the proof chosen freely), "single-threshold" (one threshold draw for the
            run, which needs about a third of the rows), "theorem-25" (exact constants) or "paper" (printed ones).
        low, high, side, clamp, source
            As for `Thresholdout`.

        Raises
        ------
        GuaranteeUnavailable
            When `n` rows are too few; the message says how many suffice.

        Examples
        --------
        >>> holdout = Thresholdout.plan(tau=0.1, questions=1000, budget=10)
        >>> holdout.n, holdout.certified
        (1737252, True)
        >>> print(holdout.query_means(0.7, 0.72).interval)
        (0.6, 0.7999999999999999)
        >>> Thresholdout.plan(tau=0.1, questions=1000, budget=10, method="single-threshold").n
        515428
        >>> Thresholdout.plan(tau=0.1, questions=1000, budget=10, n=10_000)
        Traceback (most recent call last):
        ...
        holdfast.errors.GuaranteeUnavailable: 10000 rows are too few for Thresholdout to certify 0.1 at 95% for 1000 ...
        """
        beta = left_to_chance(arguments.probability("confidence", confidence))
        design = planned(tau, beta, questions, budget, n, method, low, high)
        return cls(
            design.n,
            design.threshold,
            design.sigma,
            design.budget,
            side=side,
            low=low,
            high=high,
            clamp=clamp,
            variant="figure-1" if design.scales is None else "single-threshold",
            scales=design.scales,
            claim=design.claim,
            source=source,
        )

    # Questions --------------------------------------------------------------------------------------------------------

    def query(
        self, train_values: Rows, holdout_values: Rows, *, train_n: int | None = None, key: str | None = None
    ) -> Answer:
        """Ask for the mean of a function, given its values on the training rows and on the holdout rows.

        Parameters
        ----------
        train_values : array
            One number a training row, in the range.
        holdout_values : array or iterator of chunks
            One number a holdout row, in the range; `n` in all.
        train_n : int, optional
            Number of training rows, needed only if `train_values` is an iterator of chunks.
        key : str, optional
            A name for the question. Asked again under the same name it gets the same answer, free, also when the
            budget is gone; without a name the same question is a new one.

        Returns
        -------
        Answer
            `passed` is True where the candidate stands, False after an overfit, None for bottom.

        Examples
        --------
        >>> holdout = Thresholdout(n=4, threshold=0.5, sigma=0.001, budget=1)
        >>> holdout.query([1, 0, 1, 1, 1], [1, 1, 0, 1]).value
        0.8
        """
        if (known := self._recall(key)) is not None:
            return known
        candidate = self._rules.mean(train_values, train_n, "train_values")
        return self._ask(candidate, self._rules.mean(holdout_values, self.n, "holdout_values"), key)

    def query_values(self, candidate: float, holdout_values: Rows, *, key: str | None = None) -> Answer:
        """Ask with any candidate value, such as a training mean, a cross-validation score or a guess, but never one
        from the holdout.
        """
        if (known := self._recall(key)) is not None:
            return known
        candidate = self._rules.number("candidate", candidate)
        return self._ask(candidate, self._rules.mean(holdout_values, self.n, "holdout_values"), key)

    def query_means(self, candidate: float, holdout_mean: float, *, key: str | None = None) -> Answer:
        """Ask with a statistic of the holdout that was computed elsewhere. Unless a `sensitivity` is declared, it
        must be a mean.
        """
        if (known := self._recall(key)) is not None:
            return known
        candidate = self._rules.number("candidate", candidate)
        return self._ask(candidate, self._rules.number("holdout_mean", holdout_mean, hide=True), key)

    def query_batch(self, candidates: npt.ArrayLike, holdout: npt.ArrayLike) -> ThresholdAnswers:
        """Ask many questions at once. The answers have the same distribution as if the questions were asked one
        after the other.

        Parameters
        ----------
        candidates : array of float
            One candidate a question.
        holdout : array of float
            One holdout mean per question, or one row a question with a value for each of the `n` holdout rows.

        Notes
        -----
        Comparison noise is drawn for the whole batch; then, from each overfit to the next, one scan.

        Examples
        --------
        >>> holdout = Thresholdout(n=10_000, threshold=0.04, sigma=0.0005, budget=1)
        >>> answers = holdout.query_batch([0.7, 0.9, 0.6], [0.7, 0.6, 0.6])
        >>> answers.overfit.tolist(), answers.answered, [a.passed for a in answers]
        ([False, True, False], 2, [True, False, None])
        """
        guesses = self._rules.numbers("candidates", candidates)
        means = self._rules.means(holdout, len(guesses))
        return self._ask_all(guesses, means)

    def __repr__(self) -> str:
        rules = self._rules
        return (
            f"{type(self).__name__}(n={rules.n}, threshold={rules.threshold:g}, budget={rules.budget}, "
            f"asked={self._asked}, overfits={rules.budget - self._left})"
        )
