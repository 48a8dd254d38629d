"""What a Thresholdout run certifies, when it does, and parameters for which it does."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast import check
from holdfast.bounds.holdout.design import split_size, thresholdout_size
from holdfast.bounds.holdout.run_failure import thresholdout_failure
from holdfast.bounds.holdout.single_threshold import single_threshold_size
from holdfast.bounds.holdout.theorem25 import theorem25_parameters, theorem25_size
from holdfast.bounds.search import first_whole
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.holdout.noise_scales import NoiseScales

if TYPE_CHECKING:
    from holdfast.holdout.threshold_rules import ThresholdRules

Method = Literal["best", "single-threshold", "theorem-25", "paper"]
METHODS = ("best", "single-threshold", "theorem-25", "paper")
#: Steps that the grid may add to a noise: |discrete Laplace| is at most |Laplace| plus a step in law, for two noises,
#: and threshold, mean and candidate are each off by half a step; rounded up to whole steps.
_ROUNDING_STEPS = 4
#: The default grid makes scales larger by less than this, so a plan asks for that much less noise.
_GRID_ROOM = 2.0**-9


@dataclass(frozen=True)
class Claim:
    """Every one of the first `questions` answers is within `tau` of the truth, with probability at least `1 - beta`.

    `certified=False` marks a claim that rests on printed constants without a proof.

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
        object.__setattr__(self, "tau", check.real("tau", self.tau, above=0))
        object.__setattr__(self, "beta", check.probability("beta", self.beta))
        object.__setattr__(self, "questions", check.whole("questions", self.questions, at_least=1, at_most=10**18))
        if not isinstance(self.certified, bool):
            raise InvalidParameter("certified must be True or False")

    def holds(self, rules: ThresholdRules) -> bool:
        """Whether the run's public parameters satisfy a theorem that gives this claim.

        Either `holdout.thresholdout-failure` with the noise that is really drawn, grid included, or Theorem 25 itself:
        its threshold and at most its sigma in Figure 1's form, and its number of rows. The proof of Theorem 25 uses
        Laplace tails `e^(-t/2)` where `e^(-t)` is true, which more than covers the grid.
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
        """Plain data."""
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
    low, high = check.value_range(low, high)
    check.choice("method", method, METHODS)
    unit = high - low
    share = check.real("tau", tau, above=0) / unit
    if n is not None:
        n = check.whole("n", n, at_least=1, at_most=10**15)
    if budget is None:
        if n is None:
            raise InvalidParameter("budget or n must be given: the most overfits, or the rows that pay for them")
        budget = max(1, _most(n, share, beta, questions, method))
    design = _design(share, beta, questions, budget, method)
    if n is not None and n < design.least:
        raise GuaranteeUnavailable(
            f"{n} rows are too few for Thresholdout to certify {tau:g} at {100 * (1 - beta):.6g}% for {questions} "
            f"questions and {budget} overfits: it needs {design.least}. Splitting the rows needs "
            f"{math.ceil(split_size(share, beta, questions, budget))}; ReusableHoldout and SparseValidate need fewer "
            "still"
        )
    quieter = (1 - _GRID_ROOM if design.tight else 1) * unit
    scales = None if design.scales is None else design.scales.times(quieter)
    claim = Claim(tau, beta, questions, design.certified)
    rows = design.least if n is None else n
    return Planned(rows, design.threshold * unit, design.sigma * quieter / unit, budget, scales, claim)


def _design(share: float, beta: float, questions: int, budget: int, method: Method) -> _Design:
    if method == "single-threshold":
        one = single_threshold_size(share, beta, questions, budget)
        scales = NoiseScales(one.threshold_scale, one.question_scale, one.release_scale, refresh=False)
        return _Design(one.n, one.threshold, one.release_scale, scales, certified=True, tight=True)
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


__all__ = ["METHODS", "Claim", "Method", "Planned", "planned"]
