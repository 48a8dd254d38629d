"""The probability that a Thresholdout run with any noise scales gives a wrong answer: what certifies a run."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.generalisation import pure_dp_event
from holdfast.bounds.holdout.ranges import count
from holdfast.bounds.registry import theorem
from holdfast.bounds.sparse_vector import Form, sparse_vector_epsilon

_SHARES = 16
_ROUNDS = 3


@theorem(
    "holdout.thresholdout-failure",
    statement="Probability that a Thresholdout run with given noise scales gives an answer off by more than tau.",
    source="Holdfast: the proof of Dwork et al. 2015, Theorem 25, with its constants free and any Laplace scales",
    conditions="holdout rows i.i.d.; answers are means of values in a range of length `unit` (or have sensitivity "
    "unit/n); at most `questions` questions and `budget` overfits",
    unit="probability",
    provenance="derived",
)
def thresholdout_failure(
    n: int,
    tau: float,
    questions: int,
    budget: int,
    threshold: float,
    threshold_scale: float,
    comparison_scale: float,
    release_scale: float,
    form: Form = "refresh",
    unit: float = 1.0,
    rounding: float = 0.0,
    epsilon: float | None = None,
) -> float:
    """Bound the probability that any answer before exhaustion is more than `tau` from the truth.

    Let `N + g = tau - T`. If always `|gamma| + |eta| <= N`, `|xi| <= tau - g`, and every holdout mean is within `g` of
    the truth, then an answer below the threshold is within `T + N + g = tau` and a released one within `tau`. With `K`
    thresholds drawn (`B` with refresh, else 1), `M` the largest of their noises and `r = b_T/b_Q < 1`,
    `P[|gamma| + |eta| > N at some question] <= m exp(-N/b_Q) E exp(M/b_Q)` and
    `E exp(M/b_Q) = prod_{j <= K} 1/(1 - r/j)`, because the largest of `K` exponentials is a sum of exponentials of
    means `1/j`; or `K exp(-N/(2 b_T)) + m exp(-N/(2 b_Q))`, if smaller. Released values add
    `B exp(-(tau - g)/b_V)`. The means fail together with probability at most `generalisation.pure-dp` at
    `p0 = 2m exp(-2 g^2 n/unit^2)` and the run's epsilon. The best division of `tau - T` is searched; each is valid.

    A question whose candidate is within `2T - tau` of the truth costs no budget (same event).

    Parameters
    ----------
    n : int
        Rows in the holdout.
    tau : float
        Accuracy.
    questions : int
        Questions at most.
    budget : int
        Overfits at most.
    threshold : float
        Threshold `T`.
    threshold_scale : float
        Laplace scale of the threshold noise, in the unit of the answers.
    comparison_scale : float
        Laplace scale of the comparison noise.
    release_scale : float
        Laplace scale of the noise on released values.
    form : str
        "refresh" if each overfit draws a fresh threshold, "single" if one serves the whole run.
    unit : float
        Length of the answers' range.
    rounding : float
        What rounding to a grid may add to each noise: it is taken off the allowances.
    epsilon : float
        Privacy of the run; from the scales unless given.

    Returns
    -------
    float
        1 where nothing is proved. Time: about 0.1 s.

    Examples
    --------
    >>> round(thresholdout_failure(1_740_000, 0.1, 1000, 10, 0.075, 0.0005067, 0.0010134, 0.0002533), 2)
    0.03
    >>> thresholdout_failure(10_000, 0.1, 1000, 10, 0.075, 0.0005067, 0.0010134, 0.0002533)
    1.0
    """
    n, m = count("n", n), count("questions", questions)
    b = count("budget", budget, at_least=1)
    tau, threshold = check.real("tau", tau, above=0), check.real("threshold", threshold, at_least=0)
    unit = check.real("unit", unit, above=0)
    scales = [
        check.real(name, value, at_least=1e-100, at_most=1e100)
        for name, value in (
            ("threshold_scale", threshold_scale),
            ("comparison_scale", comparison_scale),
            ("release_scale", release_scale),
        )
    ]
    lost = check.real("rounding", rounding, at_least=0)
    check.choice("form", form, ("refresh", "single"))
    if epsilon is None:
        epsilon = sparse_vector_epsilon(unit / n, scales[0], scales[1], b, scales[2], form)
    room, spent = tau - threshold, check.real("epsilon", epsilon, at_least=0)
    if room <= lost:
        return 1.0

    def failure(share: float, best: float) -> float:
        """The logarithm of the bound; anything from `best` on where it is sure not to be below `best`."""
        noise, rest = share * room - lost, (1 - share) * room
        if noise <= 0 or rest <= 0:
            return 0.0
        first = _comparisons(noise, scales[0], scales[1], m, b if form == "refresh" else 1)
        second = math.log(b) - max(0.0, tau - rest - lost) / scales[2]
        if max(first, second) >= best:
            return best
        # a product, which overflows to inf where a power raises; less than -1e300 is as good as -1e300
        exponent = max(math.log(2 * m) - 2 * (rest / unit) * (rest / unit) * n, -1e300)
        third = pure_dp_event(spent, n, exponent).log_value if exponent < 0 else 0.0
        top = max(first, second, third)
        return min(0.0, top + math.log(sum(math.exp(part - top) for part in (first, second, third))))

    low, high, best = 0.0, 1.0, 0.0
    for _ in range(_ROUNDS):
        points = [low + (high - low) * i / _SHARES for i in range(1, _SHARES)]
        least, at = math.inf, 0  # of this round
        for i, share in enumerate(points):
            value = failure(share, least)
            if value < least:
                least, at = value, i
        best = min(best, least)
        step = (high - low) / _SHARES
        low, high = max(0.0, points[at] - step), min(1.0, points[at] + step)
    return min(1.0, up(math.exp(min(0.0, best)), 32))


def _comparisons(noise: float, threshold: float, comparison: float, m: int, k: int) -> float:
    """Logarithm of the probability that threshold and comparison noise leave the allowance at some question."""
    apart = [math.log(k) - noise / (2 * threshold), math.log(m) - noise / (2 * comparison)]
    best = max(apart) + math.log1p(math.exp(-abs(apart[0] - apart[1])))
    ratio = threshold / comparison
    if ratio < 1:
        best = min(best, math.log(m) + _log_moment(k, ratio) - noise / comparison)
    return best


def _log_moment(k: int, ratio: float) -> float:
    """`ln prod_{j <= k} 1/(1 - ratio/j)`, from above."""
    if k <= 10_000:
        return up(-math.fsum(math.log1p(-ratio / j) for j in range(1, k + 1)), 16)
    head = _log_moment(10_000, ratio)
    # -ln(1 - x) <= x + x^2 for x <= 1/2, and the sums beyond j = 10^4 are at most the integrals from 10^4
    return head + ratio * math.log(k / 10_000) + ratio * ratio / 10_000


__all__ = ["thresholdout_failure"]
