"""What sparse-vector mechanisms spend: Laplace noise in both forms, Gaussian noise with a proof, how to split epsilon.

A sparse-vector mechanism compares many questions with a noisy threshold and stops after a fixed number of answers
"above". Answers "below" are free, but only if the threshold is noisy, the questions are noisy, and the noise pays for
every answer above. The proofs are in docs/mechanisms.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

from holdfast.bounds.conversions import pure_to_rdp
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import Domain, NoiseScale, Order, Sensitivity
from holdfast.bounds.registry import theorem
from holdfast.core import arguments

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
    sensitivity: Sensitivity,
    threshold_scale: Annotated[NoiseScale, "The Laplace scale of the threshold."],
    question_scale: Annotated[NoiseScale, "The Laplace scale of each comparison."],
    cap: Annotated[int, Domain("The number of answers above after which the mechanism stops.", at_least=1)] = 1,
    release_scale: Annotated[
        NoiseScale, "The Laplace scale of values released with answers above; none are if left out."
    ]
    | None = None,
    form: Form = "refresh",
    questions: Annotated[Questions, "'monotone' only if replacing a row moves all questions in one direction."] = "any",
) -> float:
    """Return the epsilon of a sparse-vector mechanism with Laplace noise.

    With sensitivity `D`, scales `b_T`, `b_Q`, `b_V` and `k = 2` (`k = 1` for monotone questions):

    - "refresh" (a fresh threshold after each answer above): `cap (D/b_T + k D/b_Q + D/b_V)`;
    - "single" (one threshold for the whole run): `D/b_T + cap (k D/b_Q + D/b_V)`.

    Pure differential privacy, whatever the number of answers below. The same holds for discrete Laplace noise on a grid
    when sensitivity and scales are in steps, the sensitivity being a whole number.

    Examples
    --------
    Thresholdout with sigma = 0.01 on 10,000 rows, budget 5: `2B/(sigma n)`.

    >>> round(sparse_vector_epsilon(1e-4, 0.02, 0.04, cap=5, release_scale=0.01), 10)
    0.1
    """
    release = 0.0 if release_scale is None else sensitivity / release_scale
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
    epsilon = arguments.real("epsilon", epsilon, above=0)
    cap = arguments.whole("cap", cap, at_least=1)
    form = arguments.choice("form", form, _FORMS)  # type: ignore[assignment]
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
    epsilon = arguments.real("epsilon", epsilon, above=0)
    cap = arguments.whole("cap", cap, at_least=1)
    sensitivity = arguments.real("sensitivity", sensitivity, above=0)
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
def renyi_lower_order(
    order: Annotated[Order, "The order wanted."],
    known_order: Annotated[float, Domain("The order known, above 1 and at least `order`.", above=1, typical=100)],
    divergence: Annotated[float, Domain("The divergence at `known_order`, in nats.", at_least=0, typical=0.1)],
) -> float:
    """Return the best bound at a lower order from a bound that holds in both directions at a higher one.

    Let `D_b(P||Q) <= d` and `D_b(Q||P) <= d` with `b > 1`. Let `s` be the epsilon of the randomized response whose
    divergence of order `b` is `d`. Then `D_a(P||Q)` is at most that of randomized response with epsilon `s`, for all
    `1 <= a <= b`. It is quadratic in `d` for small `d` and large `b`, where monotonicity of the divergence gives only
    `d`. As `b` grows it becomes the step from pure differential privacy to zCDP.

    Derived; the proof is in docs/mechanisms.md.

    Examples
    --------
    >>> renyi_lower_order(2, 100, 0.1) < 0.013, renyi_lower_order(100, 100, 0.1) < 0.1001
    (True, True)
    """
    known_order = arguments.real("known_order", known_order, above=1, at_least=order)
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
    order: Annotated[Order, Domain(above=1)],
    sensitivity: Sensitivity,
    threshold_sigma: Annotated[
        float,
        Domain(
            "The standard deviation of the threshold noise, or the parameter of the discrete distribution.",
            above=0,
            typical=0.01,
        ),
    ],
    question_sigma: Annotated[
        float,
        Domain(
            "The standard deviation of the comparison noise, or the parameter of the discrete distribution.",
            above=0,
            typical=0.02,
        ),
    ],
    length: Annotated[int, Domain("Questions an epoch may hold.", at_least=1, typical=1000)],
    questions: Annotated[Questions, "'monotone' only if replacing a row moves all questions in one direction."] = "any",
) -> float:
    """Return a bound on the Renyi divergence of one Gaussian sparse-vector epoch; epochs add up.

    With `t = D^2/(2 sigma_T^2)`, `q = (kD)^2/(2 sigma_Q^2)`, `k = 2` (1 for monotone questions) and
    `l = log(length + 1)`, the divergence of order `a` is at most each of

    - `a t + b q + l/(b - 1)` for every `b >= a`;
    - `renyi_lower_order(a, b, b (t + q) + l/(b - 1))` for every `b >= a`;
    - `a length D^2/(2 sigma_Q^2)`: plain composition of the comparisons, best for a handful of questions.

    The smallest is returned. It holds for the continuous Gaussian and, with the sensitivity a whole number of steps,
    for the discrete one. Derived; the proof is in docs/mechanisms.md.

    Examples
    --------
    >>> round(gaussian_sparse_renyi(2, 1e-4, 0.01, 0.02, 1000), 5)
    0.00304
    """
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
    return 1 if arguments.choice("questions", questions, _QUESTIONS) == "monotone" else 2


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
