"""What sparse-vector mechanisms spend: Laplace noise in both forms, Gaussian noise with a proof, how to split epsilon.

A sparse-vector mechanism compares many questions with a noisy threshold and stops after a fixed number of answers
"above". Answers "below" are free, but only if the threshold is noisy, the questions are noisy, and the noise pays for
every answer above. The proofs are in docs/mechanisms.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

from holdfast import check
from holdfast.bounds.conversions import pure_to_rdp
from holdfast.bounds.exact import up
from holdfast.bounds.registry import theorem

Form = Literal["refresh", "single"]
Questions = Literal["any", "monotone"]
_FORMS = ("refresh", "single")
_QUESTIONS = ("any", "monotone")


class Split(NamedTuple):
    """Epsilon for the threshold and epsilon for all comparisons."""

    threshold: float
    questions: float


class Scales(NamedTuple):
    """Laplace scales: of the threshold, of a comparison, of a released value."""

    threshold: float
    question: float
    release: float


@theorem(
    "sparse-vector.epsilon",
    statement="the epsilon of a Laplace sparse-vector mechanism from its three noise scales",
    source="Dwork-Roth 2014 Theorems 3.23, 3.25, 3.27 (refresh); Lyu-Su-Li 2017 Algorithms 1, 7 (single, monotone); "
    "re-proved in docs/mechanisms.md",
    conditions="at most cap answers above; every question has the stated sensitivity; released values use fresh noise",
    unit="epsilon",
    provenance="mixed",
)
def sparse_vector_epsilon(
    sensitivity: float,
    threshold_scale: float,
    question_scale: float,
    cap: int = 1,
    release_scale: float | None = None,
    form: Form = "refresh",
    questions: Questions = "any",
) -> float:
    """Return the epsilon of a sparse-vector mechanism with Laplace noise.

    With sensitivity `D`, scales `b_T`, `b_Q`, `b_V` and `k = 2` (`k = 1` for monotone questions):

    - "refresh" (a fresh threshold after each answer above): `cap (D/b_T + k D/b_Q + D/b_V)`;
    - "single" (one threshold for the whole run): `D/b_T + cap (k D/b_Q + D/b_V)`.

    Pure differential privacy, whatever the number of answers below. The same holds for discrete Laplace noise on a grid
    when sensitivity and scales are in steps, the sensitivity being a whole number.

    Parameters
    ----------
    sensitivity : float
        How far a question moves when one row is replaced, above 0.
    threshold_scale, question_scale : float
        Laplace scales of the threshold and of each comparison, above 0.
    cap : int
        Answers above after which the mechanism stops, at least 1.
    release_scale : float, optional
        Laplace scale of the values released with answers above; none are released without it.
    form : str
        "refresh" or "single".
    questions : str
        "monotone" only if replacing a row moves all questions in one direction. Counts and means do not qualify.

    Examples
    --------
    Thresholdout with sigma = 0.01 on 10,000 rows, budget 5: `2B/(sigma n)`.

    >>> round(sparse_vector_epsilon(1e-4, 0.02, 0.04, cap=5, release_scale=0.01), 10)
    0.1
    """
    sensitivity = check.real("sensitivity", sensitivity, above=0)
    threshold_scale = check.real("threshold_scale", threshold_scale, above=0)
    question_scale = check.real("question_scale", question_scale, above=0)
    cap = check.whole("cap", cap, at_least=1)
    release = 0.0 if release_scale is None else sensitivity / check.real("release_scale", release_scale, above=0)
    form = check.choice("form", form, _FORMS)  # type: ignore[assignment]
    shifts = _shifts(questions)
    once = sensitivity / threshold_scale
    each = shifts * sensitivity / question_scale + release
    return up(cap * (once + each) if form == "refresh" else once + cap * each)


def sparse_vector_split(epsilon: float, cap: int = 1, form: Form = "single", questions: Questions = "any") -> Split:
    """Split epsilon between threshold and comparisons so that a comparison is least noisy.

    The variance of question noise minus threshold noise is smallest at `threshold : questions = 1 : r^(2/3)`, where
    `r` is the ratio of the two scales at equal shares: `2 cap` for a single threshold (`cap` for monotone questions),
    2 (1) with refresh. Lyu-Su-Li 2017, section 4.2 (single); re-derived: minimise `1/x^2 + r^2/(epsilon - x)^2`.

    Parameters
    ----------
    epsilon : float
        What both may spend together, above 0.
    cap : int
        Answers above, at least 1.
    form, questions : str
        As in `sparse_vector_epsilon`.

    Examples
    --------
    >>> [round(share, 11) for share in sparse_vector_split(0.1, cap=10)]
    [0.01195019684, 0.08804980316]
    """
    epsilon = check.real("epsilon", epsilon, above=0)
    cap = check.whole("cap", cap, at_least=1)
    form = check.choice("form", form, _FORMS)  # type: ignore[assignment]
    ratio = _shifts(questions) * (cap if form == "single" else 1)
    threshold = epsilon / (1 + ratio ** (2 / 3))
    return Split(threshold, epsilon - threshold)


def numeric_sparse_scales(epsilon: float, cap: int, sensitivity: float) -> Scales:
    """Laplace scales of NumericSparse: `9cD/(4 epsilon)`, `9cD/(2 epsilon)` and `9cD/epsilon`.

    Dwork-Roth 2014, Algorithm 3 with delta = 0, generalised to sensitivity `D`: eight ninths of epsilon go to the
    comparisons, half of that to the threshold, and one ninth to the values. Re-derived from `sparse_vector_epsilon`.

    Parameters
    ----------
    epsilon : float
        Total epsilon, above 0.
    cap : int
        Values released at most, at least 1.
    sensitivity : float
        How far a question moves when one row is replaced, above 0.

    Examples
    --------
    >>> [round(scale, 12) for scale in numeric_sparse_scales(0.2, 10, 1e-4)]
    [0.01125, 0.0225, 0.045]
    """
    epsilon = check.real("epsilon", epsilon, above=0)
    cap = check.whole("cap", cap, at_least=1)
    sensitivity = check.real("sensitivity", sensitivity, above=0)
    unit = 9 * cap * sensitivity / epsilon
    return Scales(up(unit / 4), up(unit / 2), up(unit))


@theorem(
    "composition.renyi-lower-order",
    statement="the Renyi divergence of a lower order that a two-sided bound at one order allows; attained",
    source="Holdfast, docs/mechanisms.md: randomized response is extremal",
    conditions="both directions at most `divergence` at `known_order`; 1 <= order <= known_order",
    unit="nats",
    provenance="derived",
)
def renyi_lower_order(order: float, known_order: float, divergence: float) -> float:
    """Return the best bound at a lower order from a bound that holds in both directions at a higher one.

    Let `D_b(P||Q) <= d` and `D_b(Q||P) <= d` with `b > 1`. Let `s` be the epsilon of the randomized response whose
    divergence of order `b` is `d`. Then `D_a(P||Q)` is at most that of randomized response with epsilon `s`, for all
    `1 <= a <= b`. It is quadratic in `d` for small `d` and large `b`, where monotonicity of the divergence gives only
    `d`. As `b` grows it becomes the step from pure differential privacy to zCDP.

    Derived; the proof is in docs/mechanisms.md.

    Parameters
    ----------
    order : float
        The order wanted, at least 1.
    known_order : float
        The order known, above 1 and at least `order`.
    divergence : float
        The divergence at `known_order`, in nats, at least 0.

    Examples
    --------
    >>> renyi_lower_order(2, 100, 0.1) < 0.013, renyi_lower_order(100, 100, 0.1) < 0.1001
    (True, True)
    """
    order = check.real("order", order, at_least=1)
    known_order = check.real("known_order", known_order, above=1, at_least=order)
    divergence = check.real("divergence", divergence, at_least=0)
    if divergence == 0:
        return 0.0
    return min(pure_to_rdp(_randomized_response_epsilon(known_order, divergence), order), divergence)


@theorem(
    "sparse-vector.gaussian-renyi",
    statement="the Renyi divergence of one epoch of a sparse-vector mechanism with Gaussian noise and capped questions",
    source="Holdfast, docs/mechanisms.md; the question-count term after Zhu-Wang 2020",
    conditions="one epoch: fresh threshold noise, at most `length` questions, stops at the first answer above",
    unit="nats",
    provenance="derived",
)
def gaussian_sparse_renyi(
    order: float,
    sensitivity: float,
    threshold_sigma: float,
    question_sigma: float,
    length: int,
    questions: Questions = "any",
) -> float:
    """Return a bound on the Renyi divergence of one Gaussian sparse-vector epoch; epochs add up.

    With `t = D^2/(2 sigma_T^2)`, `q = (kD)^2/(2 sigma_Q^2)`, `k = 2` (1 for monotone questions) and
    `l = log(length + 1)`, the divergence of order `a` is at most each of

    - `a t + b q + l/(b - 1)` for every `b >= a`;
    - `renyi_lower_order(a, b, b (t + q) + l/(b - 1))` for every `b >= a`;
    - `a length D^2/(2 sigma_Q^2)`: plain composition of the comparisons, best for a handful of questions.

    The smallest is returned. It holds for the continuous Gaussian and, with the sensitivity a whole number of steps,
    for the discrete one. Derived; the proof is in docs/mechanisms.md.

    Parameters
    ----------
    order : float
        The order, above 1.
    sensitivity : float
        How far a question moves when one row is replaced, above 0.
    threshold_sigma, question_sigma : float
        Standard deviations (for the discrete law: its parameter) of threshold and comparison noise, above 0.
    length : int
        Questions an epoch may hold, at least 1.
    questions : str
        "any" or "monotone", as in `sparse_vector_epsilon`.

    Examples
    --------
    >>> round(gaussian_sparse_renyi(2, 1e-4, 0.01, 0.02, 1000), 5)
    0.00304
    """
    order = check.real("order", order, above=1)
    sensitivity = check.real("sensitivity", sensitivity, above=0)
    threshold_sigma = check.real("threshold_sigma", threshold_sigma, above=0)
    question_sigma = check.real("question_sigma", question_sigma, above=0)
    length = check.whole("length", length, at_least=1)
    t = _half_square(sensitivity / threshold_sigma)
    q = _half_square(_shifts(questions) * sensitivity / question_sigma)
    slack = math.log1p(length)

    composed = order * length * _half_square(sensitivity / question_sigma)
    if math.isinf(q):  # the other two bounds are no numbers; this one may be
        return up(composed, 16)
    best = max(order, 1 + math.sqrt(slack / q))
    split = order * t + best * q + slack / (best - 1)

    def lowered(known: float) -> float:
        divergence = up(known * (t + q) + slack / (known - 1), 16)
        return renyi_lower_order(order, known, divergence) if math.isfinite(divergence) else math.inf

    return up(min(composed, split, _minimum(lowered, order, best)), 16)


def _half_square(x: float) -> float:
    """`x^2 / 2`, infinite beyond the doubles and never 0: an underflow must not read as free."""
    return max(0.5 * x * x, math.ulp(0.0))


def _shifts(questions: str) -> int:
    """By how many sensitivities the comparison noise must move: the question one way, the threshold the other."""
    return 1 if check.choice("questions", questions, _QUESTIONS) == "monotone" else 2


def _randomized_response_epsilon(order: float, divergence: float) -> float:
    """The epsilon at which randomized response has this divergence, from above."""
    target = up(divergence, 16)
    low, high = target, 2 * target + math.log(2) / (order - 1)
    while pure_to_rdp(high, order) < target:
        low, high = high, 2 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low <= 1e-13 * high:
            break
        low, high = (middle, high) if pure_to_rdp(middle, order) < target else (low, middle)
    return high


def _minimum(bound: Callable[[float], float], order: float, guess: float) -> float:
    """The smallest bound over orders from `order` up; every order is valid, so the search decides only tightness."""
    low, high = math.log(1e-3 * guess), math.log(1e2 * guess)
    best = bound(order * (1 + 1e-12))
    for _ in range(2):
        step = (high - low) / 24
        value, at = min((bound(order + math.exp(low + i * step)), low + i * step) for i in range(25))
        best = min(best, value)
        low, high = at - step, at + step
    return best


__all__ = [
    "Form",
    "Questions",
    "Scales",
    "Split",
    "gaussian_sparse_renyi",
    "numeric_sparse_scales",
    "renyi_lower_order",
    "sparse_vector_epsilon",
    "sparse_vector_split",
]
