"""Thresholdout with one threshold draw for the whole run: less noise on comparisons than a draw for every overfit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.generalisation import pure_dp_event
from holdfast.bounds.holdout.thresholdout import least_accuracy, room
from holdfast.bounds.numerics.exact import down
from holdfast.bounds.numerics.search import smallest, spaced, turning_point
from holdfast.bounds.parameters import (
    Accuracy,
    Budget,
    Domain,
    FailureProbability,
    MissProbability,
    Questions,
    Rows,
    checked,
)
from holdfast.bounds.registry import theorem
from holdfast.bounds.sparse_vector import sparse_vector_epsilon
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

_LIMIT = 10**18


@dataclass(frozen=True)
class SingleThresholdPlan:
    """Parameters of a single-threshold run and what they buy: `value` rows for accuracy `tau`.

    The scales are those of Laplace noise on the threshold (drawn once), on each comparison and on each released value.

    Examples
    --------
    >>> plan = single_threshold_size(0.1, 0.05, 1000, 10)
    >>> print(plan)
    1000 questions, 10 overfits: 514423 rows for accuracy 0.1 at 95% (single threshold 0.075)
    """

    value: int
    tau: float
    theta: float
    beta: float
    questions: int
    budget: int
    threshold: float
    threshold_scale: float
    question_scale: float
    release_scale: float

    @property
    def n(self) -> int:
        """Rows."""
        return self.value

    def __str__(self) -> str:
        return (
            f"{self.questions} questions, {self.budget} overfits: {self.value} rows for accuracy {self.tau:g} "
            f"at {100 * (1 - self.beta):.6g}% (single threshold {self.threshold:.4g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@theorem(
    "holdout.single-threshold-size",
    statement="Holdout rows at which single-threshold Thresholdout answers m questions with B overfits within tau.",
    source="Holdfast: Lyu-Su-Li 2017 (single threshold) in the proof of Dwork et al. 2015, Theorem 25",
    conditions="holdout rows i.i.d.; questions >= budget; a question with training error at most theta costs nothing",
    unit="rows",
    provenance="derived",
)
def single_threshold_size(
    tau: Accuracy,
    beta: FailureProbability,
    questions: Questions,
    budget: Budget,
    theta: Annotated[
        float, Domain("The training error that must cost nothing, below tau; `tau/2` if left out.", at_least=0, below=1)
    ]
    | None = None,
    share: Annotated[MissProbability, "The part of the room that goes to noise."] = 0.5,
    method: Literal["best", "paper"] = "best",
) -> SingleThresholdPlan:
    """Return the smallest holdout with which Thresholdout is proved accurate if its noisy threshold is drawn only once.

    The plan is that of `plan_tight` with other noise: Laplace noise of scale `b_T` on the threshold, drawn once, of
    scale `b_Q` on each comparison, and of scale `b_V` on each of `B` released values. The run is `(1/b_T + 2B/b_Q +
    B/b_V)/n`-private. Half of `beta` is for the noise and half is for generalisation.

    Returns
    -------
    SingleThresholdPlan
        Its value is the number of rows. Time: tens of ms.

    Notes
    -----
    Derived here; with the printed pure-privacy bounds (`method="paper"`) it gives the sizes that were recorded
    before it was written. The threshold's draw `gamma` is independent of all comparison noises, so conditioning on
    it, with `b_T = r b_Q` and `r = (2B)^(-1/3)`, the noise fails with probability at most `m exp(-N/b_Q)/(1 - r) + B
    exp(-(tau - tau_g)/b_V)`. The half of `beta` for noise is split between the two terms so that epsilon is least.

    Examples
    --------
    >>> single_threshold_size(0.1, 0.05, 1000, 10).value < 1_733_866  # plan_tight
    True
    """
    m, b, _, rest = room(tau, questions, budget, theta, share)
    scales = _scales(tau, beta, m, b, theta, share)

    def spare(n: int) -> float:
        left = math.log(beta / 2) - _log_failure(n, scales, m, b, rest, method)
        return left if left < 0 else max(left, 1e-300)  # rows that just suffice count as enough

    start = min(_LIMIT, math.ceil(60 * b * math.log(4 * m / beta) / tau**2))
    n = 1 + turning_point(spare, start, _LIMIT)
    if n > _LIMIT:
        raise InvalidParameter(f"tau is {tau}, which 10**18 rows do not reach; give a larger tau")
    low = tau / 2 if theta is None else theta
    return SingleThresholdPlan(n, tau, low, beta, m, b, (tau + low) / 2, *scales)


def single_threshold_accuracy(n: int, beta: float, questions: int, budget: int) -> float:
    """Return the smallest error `tau` that Thresholdout with a single threshold draw is proved to keep on `n` rows.

    It is the smallest `tau` with `single_threshold_size(tau, beta, questions, budget) <= n`. If no `tau` below 1
    satisfies this, it is `inf`.

    Examples
    --------
    >>> round(single_threshold_accuracy(514_423, 0.05, 1000, 10), 6)
    0.1
    """
    n, beta, m = (
        checked("n", Rows, n),
        checked("beta", FailureProbability, beta),
        checked("questions", Questions, questions),
    )
    b = arguments.whole("budget", budget, at_least=1, at_most=m)

    return least_accuracy(lambda tau: single_threshold_spare(n, tau, beta, m, b))


def single_threshold_spare(n: int, tau: float, beta: float, questions: int, budget: int) -> float:
    """How much lower than `beta/2` the generalisation failure is on `n` rows, as a log ratio; 0 or more: they suffice.

    Examples
    --------
    >>> single_threshold_spare(514_423, 0.1, 0.05, 1000, 10) >= 0 > single_threshold_spare(514_422, 0.1, 0.05, 1000, 10)
    True
    """
    m, b, _, rest = room(tau, questions, budget, None, 0.5)
    return math.log(beta / 2) - _log_failure(n, _scales(tau, beta, m, b, None, 0.5), m, b, rest, "best")


def _log_failure(
    n: int, scales: tuple[float, float, float], m: int, b: int, rest: float, method: Literal["best", "paper"]
) -> float:
    epsilon = sparse_vector_epsilon(1 / n, scales[0], scales[1], b, scales[2], form="single")
    return pure_dp_event(epsilon, n, math.log(2 * m) - 2 * rest * rest * n, method).log_value


def _scales(
    tau: float, beta: float, questions: int, budget: int, theta: float | None, share: float
) -> tuple[float, float, float]:
    """Laplace scales of threshold, comparisons and releases whose noise fails with probability at most `beta/2`."""
    m, b, noise, rest = room(tau, questions, budget, theta, share)
    ratio = math.pow(2 * b, -1 / 3)
    log_compare = math.log(m) - math.log1p(-ratio) - math.log(beta / 2)
    log_release = math.log(b) - math.log(beta / 2)

    def scales(log_part: float) -> tuple[float, float]:
        """Of comparisons and releases, the releases using `exp(log_part)` of the noise's failure probability."""
        question = noise / (log_compare - math.log1p(-math.exp(log_part)))
        return question, (tau - rest) / (log_release - log_part)

    def epsilon(log_part: float) -> float:
        question, release = scales(log_part)
        return (1 / ratio + 2 * b) / question + b / release

    best, _ = smallest(epsilon, spaced(-12.0, -0.05, 25))
    question, release = (down(scale, 16) for scale in scales(best))
    return ratio * question, question, release
