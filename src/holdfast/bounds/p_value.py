"""p-values after looking: corrected levels and adjusted p-values.

The test is chosen from what was released and run on the same rows. If the release has `k` bits at failure probability
`beta` (max-information over the right scope, or a transfer bound), rejecting when `p <= (alpha - beta) / 2**k` keeps
the probability of a false discovery below `alpha`. Only super-uniform p-values are needed. What must be fixed before
the data is the guarantee of the release, that is the curve `beta -> k(beta)`; the point of the curve may be chosen
afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from holdfast.bounds.approximate_dp import feasible_dhat, ingredients, smallest_beta, smallest_penalty, two_parameter
from holdfast.bounds.currency import Scope, corrected, exponent
from holdfast.bounds.inverse import solve
from holdfast.bounds.max_information import LOG2E, METHODS, Method, general_nats, product_nats
from holdfast.bounds.mutual_information import LN2, PRINTED_CONSTANT, above_tangent
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.numerics.search import (
    CurvePoint,
    best_level,
    best_probability,
    crossing,
    first_at_least,
    smallest,
    spaced,
)
from holdfast.bounds.parameters import (
    AnyFailureProbability,
    Bits,
    Delta,
    Domain,
    Epsilon,
    MaxInformationBits,
    Nats,
    PValue,
    SignificanceLevel,
    UnboundedRows,
)
from holdfast.bounds.registry import theorem
from holdfast.bounds.transfer import event
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

# --- P value ----------------------------------------------------------------------------------------------------------

_PURE: Mapping[str, Method] = {"best": "best", "plain": "sharp"}  # what a method for positive delta is without it


@dataclass(frozen=True)
class Level:
    """A level to reject at, rounded down, with its logarithm for levels below the floating range.

    Examples
    --------
    >>> level = level_from_log2(-2016.585262)
    >>> level.value, level.log2_level
    (0.0, -2016.585262)
    """

    value: float
    log2_level: float
    bits: float | None = None
    beta: float | None = None
    parameters: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def is_vacuous(self) -> bool:
        """Whether nothing may ever be rejected."""
        return self.log2_level == -math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; bits and beta only where the level came from a pair of them."""
        pair = {} if self.bits is None else {"bits": self.bits, "beta": self.beta}
        inside = {"parameters": dict(self.parameters)} if self.parameters else {}
        return {"value": self.value, "log2_level": self.log2_level} | pair | inside


def level_from_log2(
    log2_level: float,
    bits: float | None = None,
    beta: float | None = None,
    parameters: Mapping[str, float] | None = None,
) -> Level:
    """Make a `Level` from its base-2 logarithm, which the caller has rounded down; the value is rounded down here."""
    log2_level = min(log2_level, 0.0)
    whole = math.floor(log2_level) if math.isfinite(log2_level) else 0
    value = down(math.ldexp(2.0 ** (log2_level - whole), whole), 8) if log2_level > -math.inf else 0.0
    return Level(value, log2_level, bits, beta, parameters or {})


@theorem(
    "p-value.corrected-level",
    statement="the level at which to reject to keep alpha after a release with k bits at beta",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem 1.3 (independent rows) and Theorem C.1 (any distribution)",
    conditions="super-uniform p-value; (k, beta) is a max-information or transfer bound whose scope covers the null",
    unit="level",
)
def corrected_level(
    alpha: SignificanceLevel,
    k_bits: MaxInformationBits,
    beta: Annotated[
        float, Domain("The failure probability; from `alpha` on nothing may be rejected.", at_least=0, typical=0.01)
    ],
) -> Level:
    """Return `max((alpha - beta) / 2**k, 0)`.

    Several selected tests: run any family-wise method at this level. A confidence interval: use it as the nominal
    non-coverage.

    Returns
    -------
    Level
        Rounded down; `value` is 0 below the floating range and `log2_level` still tells.

    Examples
    --------
    >>> round(corrected_level(0.05, 3, 0.01).value, 9)
    0.005
    >>> corrected_level(0.05, 3, 0.05).is_vacuous
    True
    """
    k_bits = exponent("k_bits", k_bits, beta)
    return Level(*corrected(alpha, k_bits, beta), k_bits, beta)


@theorem(
    "p-value.adjusted",
    statement="the p-value adjusted for a release with k bits at beta: reject when it is at most alpha",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem 1.3, inverted",
    conditions="as for p-value.corrected-level",
    unit="p",
    provenance="derived",
)
def adjusted(p: PValue, k_bits: MaxInformationBits, beta: AnyFailureProbability) -> float:
    """Return `min(1, 2**k p + beta)`, which is at most alpha exactly when `p` is at most the corrected level.

    Examples
    --------
    >>> round(adjusted(0.001, 1.773648662, 0.01), 8)
    0.01341918
    """
    return event(p, k_bits, beta)


@theorem(
    "p-value.level-after-pure-dp",
    statement="the level at which to reject after an epsilon-DP selection on n rows, beta optimised",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorems 1.3 and 1.4; sharper lines derived",
    conditions="scope product: rows independent; the whole selection is epsilon-DP, neighbours replace one row",
    unit="level",
    provenance="mixed",
)
def level_after_pure_dp(
    alpha: SignificanceLevel, epsilon: Epsilon, n: UnboundedRows, method: Method = "best", scope: Scope = "product"
) -> Level:
    """Return the largest `(alpha - beta) 2**-k(beta)` over the curve of `max-information.pure-dp`.

    Examples
    --------
    >>> round(level_after_pure_dp(0.05, 0.02, 1000).value, 6)
    0.021933
    >>> round(level_after_pure_dp(0.05, 0.02, 1000, method="paper").value, 6)
    0.012352
    """
    curve, at_zero = _pure_curve(epsilon, n, method, scope)
    point = best_level(curve, alpha, at_zero)
    return _level(point)


@theorem(
    "p-value.adjusted-after-pure-dp",
    statement="the p-value adjusted for an epsilon-DP selection on n rows, beta optimised",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorems 1.3 and 1.4; sharper lines and the optimum over beta derived",
    conditions="as for p-value.level-after-pure-dp",
    unit="p",
    provenance="mixed",
)
def adjusted_after_pure_dp(
    p: PValue, epsilon: Epsilon, n: UnboundedRows, method: Method = "best", scope: Scope = "product"
) -> float:
    """Return the smallest `2**k(beta) p + beta` over the curve; valid although the best `beta` depends on `p`.

    `{adjusted <= alpha}` is `{p <= largest level at alpha}`, one threshold that is the same for all data. Derived,
    reviewed.

    Examples
    --------
    >>> round(adjusted_after_pure_dp(0.001, 0.02, 1000), 6)
    0.003081
    """
    curve, at_zero = _pure_curve(epsilon, n, method, scope)
    if p == 0:
        return 0.0
    return min(1.0, up(math.exp(best_probability(curve, math.log(p), at_zero).log_value), 16))


@theorem(
    "p-value.level-after-approx-dp",
    statement="the level at which to reject after an (epsilon, delta)-DP selection on n rows, parameters optimised",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorems 1.3 and 3.1 (printed); Theorem S+ (default)",
    conditions="rows independent; neighbours replace one row; paper: epsilon in (0, 1/2], 0 < delta < epsilon",
    unit="level",
    provenance="mixed",
)
def level_after_approx_dp(
    alpha: SignificanceLevel,
    epsilon: Epsilon,
    delta: Annotated[Delta, "The delta; the level is vacuous from `n delta = alpha` on."],
    n: UnboundedRows,
    method: Literal["best", "plain", "paper"] = "best",
) -> Level:
    """Return the largest `(alpha - beta) 2**-k` that the free parameters allow.

    - "best": Theorem S+, and the pure curve when `delta = 0`.
    - "plain": Theorem S without the excess factor, and the pure curve without it ("sharp") when `delta = 0`.
    - "paper": the two-parameter form of Theorem 3.1 over `t` and `dhat`.

    Returns
    -------
    Level
        With bits, beta and the parameters of the best instance. Cost: about 10 milliseconds.

    Examples
    --------
    >>> round(level_after_approx_dp(0.05, 0.01, 1e-12, 10_000).value, 6)
    0.002219
    >>> level_after_approx_dp(0.05, 0.01, 1e-10, 1000, method="paper").is_vacuous
    True
    """
    if method == "paper":
        return _printed_level(alpha, epsilon, delta, n)
    if delta == 0:
        return level_after_pure_dp(alpha, epsilon, n, _PURE[method])
    penalty = smallest_penalty(epsilon, delta, n, alpha, "best" if method == "best" else "plain")
    if penalty.penalty == math.inf:
        return Level(0.0, -math.inf, math.inf, alpha)
    log2_level = math.log2(alpha) - penalty.penalty
    return level_from_log2(log2_level - 4 * math.ulp(log2_level), penalty.bits, penalty.beta, penalty.parameters)


@theorem(
    "p-value.adjusted-after-approx-dp",
    statement="the p-value adjusted for an (epsilon, delta)-DP selection on n rows, free parameters optimised",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorems 1.3 and 3.1 (printed); Theorem S+ (default)",
    conditions="as for p-value.level-after-approx-dp",
    unit="p",
    provenance="mixed",
)
def adjusted_after_approx_dp(
    p: PValue, epsilon: Epsilon, delta: Delta, n: UnboundedRows, method: Literal["best", "plain", "paper"] = "best"
) -> float:
    """Return the smallest alpha at which `level_after_approx_dp` would reject `p`.

    Returns
    -------
    float
        1 when no level below 1 rejects. Cost: about 0.2 seconds.

    Examples
    --------
    >>> round(adjusted_after_approx_dp(0.001, 0.01, 1e-10, 1000), 4)
    0.0047
    """
    if method == "paper":
        ingredients(epsilon, delta)  # the ranges of Theorem 3.1
    elif delta == 0:
        return adjusted_after_pure_dp(p, epsilon, n, _PURE[method])
    if p == 0:  # then the bits do not matter
        return min(1.0, smallest_beta(epsilon, delta, n, "paper" if method == "paper" else "best"))
    at: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "n": n, "method": method, "near": min(2 * p, 0.5)}
    try:
        return solve(level_after_approx_dp, for_="alpha", target=p, goal="at least", within=1e-11, **at)
    except GuaranteeUnavailable:
        return 1.0


def _pure_curve(epsilon: float, n: int, method: str, scope: str) -> tuple[Callable[[float], float], float]:
    epsilon = arguments.real("epsilon", epsilon, at_least=0)
    n = arguments.whole("n", n, at_least=1)
    arguments.choice("method", method, METHODS)
    arguments.choice("scope", scope, ("product", "any"))
    general = general_nats(epsilon, n)
    if scope == "any":
        return lambda slack: general, general
    return lambda slack: product_nats(epsilon, n, slack, method), general


def _level(point: CurvePoint) -> Level:
    beta = math.exp(-point.slack)
    log2_level = point.log_value * LOG2E
    log2_level -= 16 * math.ulp(log2_level)
    return level_from_log2(log2_level, up(point.nats * LOG2E, 4), up(beta, 1) if beta < 1 else beta)


def _printed_level(alpha: float, epsilon: float, delta: float, n: int) -> Level:
    """Optimise Theorem 3.1 over `dhat`; for each, the best `t` solves `C exp(t^2/2) = 1 + t/(6 eps sqrt(n) ln 2)`."""
    ingredients(epsilon, delta)  # the ranges of Theorem 3.1
    ends = feasible_dhat(epsilon, delta, n, alpha)
    if ends is None:
        return Level(0.0, -math.inf, math.inf, alpha)
    steep = 6 * epsilon * math.sqrt(n) * math.log(2)

    def at(log_dhat: float) -> tuple[float, float, float]:
        dhat = min(math.exp(log_dhat), ends[1])
        parts = ingredients(epsilon, delta, dhat)
        room = alpha - n * (parts.delta_prime + parts.delta_second)
        if room <= 0:
            return math.inf, 0.0, dhat
        least = math.sqrt(-2 * math.log(room))
        t = first_at_least(lambda t: room * math.exp(min(t * t / 2, 700.0)) - t / steep, 1.0, least, least + 38.0)
        bound = two_parameter(epsilon, delta, n, t, dhat, "printed")
        return -bound.log2_level(alpha), t, dhat

    penalty, t, dhat = at(smallest(lambda x: at(x)[0], spaced(math.log(ends[0]), math.log(ends[1]), 65))[0])
    bound = two_parameter(epsilon, delta, n, t, dhat, "printed")
    return level_from_log2(-penalty - 16 * math.ulp(penalty), bound.bits, bound.beta, {"t": t, "dhat": dhat})


# --- P value mutual information ---------------------------------------------------------------------------------------
# p-values after a release of which only the mutual information with the sample is known.


@theorem(
    "p-value.level-after-mutual-information",
    statement="the level at which to reject when release and sample have at most `bits` bits of mutual information",
    source="Rogers-Roth-Smith-Thakkar 2016 Corollary C.2 (printed); optimised, sharp and exact forms derived",
    conditions="mutual information in bits for the distribution of the null; the null's p-value is super-uniform",
    unit="level",
    provenance="mixed",
)
def level_after_mutual_information(
    alpha: SignificanceLevel,
    bits: Annotated[Bits, "The mutual information in bits."],
    method: Literal["best", "sharp", "optimised", "paper"] = "best",
) -> Level:
    """Return the level that keeps false discoveries below `alpha` when the mutual information is at most `bits`.

    - "paper": `(alpha/2) 2^(-(2/alpha)(m + 0.54))`.
    - "optimised": the same bound with the best `k` instead of `2 (m + 0.54)/alpha`. Derived.
    - "sharp": `max over beta of (alpha - beta) 2^-k(beta)`, `k(beta) = (m + (1-beta) log2(1/(1-beta)))/beta`. Derived,
      reviewed.
    - "best": the `g` with binary divergence `kl(alpha || g) = m`. By data processing a rejection probability of `P`
      against a product probability of at most `g` has `kl(P || g) <= m`; nothing that uses mutual information alone
      can do better. It is the limit of "sharp" with the exact conversion. Derived, checked on random distributions.

    Examples
    --------
    >>> round(level_after_mutual_information(0.05, 1, method="paper").log2_level, 6)
    -66.921928
    >>> round(level_after_mutual_information(0.05, 0.1, method="sharp").value, 8)
    0.00077989
    >>> round(level_after_mutual_information(0.05, 0.1).value, 8)
    0.00520899
    """
    printed = bits + PRINTED_CONSTANT
    if method == "paper":
        k = up(2 * printed / alpha)
        return level_from_log2(_minus(math.log2(alpha) - 1, k), k, alpha / 2)
    if method == "optimised":  # k = c (1 + w)/(2 alpha ln 2), beta = 2 alpha/(1 + w), w = sqrt(1 + 4 alpha/c)
        c = printed * LN2
        w = math.sqrt(1 + 4 * alpha / c)
        k = up(printed / alpha * (1 + w) / 2)
        log2_left = 2 + 2 * math.log2(alpha) - math.log2(c) - 2 * math.log2(1 + w)  # of alpha - beta, uncancelled
        return level_from_log2(_minus(log2_left, k), k, 2 * alpha / (1 + w))
    if method == "sharp":

        def penalty(x: float) -> float:  # beta = alpha/(1 + e^-x), so alpha - beta = alpha/(1 + e^x)
            return _sharp_k(bits, alpha / (1 + math.exp(-x))) + math.log1p(math.exp(x)) / LN2

        x, _ = smallest(penalty, spaced(-30.0, 30.0, 121))
        beta = alpha / (1 + math.exp(-x))
        k = _sharp_k(bits, beta)
        return level_from_log2(_minus(math.log2(alpha) - math.log1p(math.exp(x)) / LN2, k), k, beta)
    drop = _binary_inverse(alpha, up(bits * LN2, 2))
    return level_from_log2(_minus(math.log2(alpha), up(drop / LN2)))


@theorem(
    "p-value.russo-zou",
    statement="the level at which to reject by the bound of Russo and Zou for mutual information of `nats` nats",
    source="Russo-Zou 2016 as quoted in Rogers-Roth-Smith-Thakkar 2016 Theorem C.3; exact inversion derived",
    conditions="mutual information in nats; the null's p-value is super-uniform",
    unit="level",
    provenance="mixed",
)
def russo_zou_level(
    alpha: SignificanceLevel,
    nats: Nats,
    method: Annotated[
        Literal["best", "paper"], "'best' is the exact inversion, 'paper' is the printed ceiling."
    ] = "best",
) -> Level:
    """Return the largest `g < 1/2` with `g + sqrt(m / ln(1/(2g))) <= alpha`.

    "paper" is the printed ceiling `min(alpha/2, exp(-m/alpha^2)/2)`, for comparison only. It is not a valid level: it
    ignores the first `g`, and its `alpha/2` is not justified either way (at `alpha = 0.05`, `m = 0.001` the inversion
    gives 0.0310).

    Examples
    --------
    >>> round(russo_zou_level(0.05, 0.001).value, 8)
    0.03103247
    >>> round(russo_zou_level(0.05, 1.0, method="paper").log2_level, 6)
    -578.078016
    """
    if method == "paper":
        return level_from_log2(min(math.log2(alpha) - 1, -1 - nats / alpha / alpha / LN2))
    if nats == 0:
        return level_from_log2(math.log2(min(alpha, 0.5)))
    # In x = ln(1/(2g)), alpha - exp(-x)/2 - sqrt(m/x) increases; the first x where it is at least 0 is the largest g.
    most = 4 * (nats / alpha) / alpha + 4 * (1 - math.log(alpha))
    x = first_at_least(lambda x: -math.exp(-x) / 2 - math.sqrt(nats / x) if x else -math.inf, -alpha, 0.0, most)
    return level_from_log2(_minus(-1.0, up(up(x) / LN2)))


def _sharp_k(bits: float, beta: float) -> float:
    # divided by beta first, which may be subnormal
    return up(bits / beta - (1 - beta) * (math.log1p(-beta) / beta) / LN2, 8) if beta else math.inf


def _minus(log2_left: float, bits: float) -> float:
    """`log2_left - bits`, rounded down."""
    return log2_left - bits - 8 * math.ulp(max(abs(log2_left), abs(bits))) if bits < math.inf else -math.inf


def _binary_inverse(alpha: float, nats: float) -> float:
    """The least `d = ln(alpha/g)` with `kl(alpha || g) >= m`, rounded up."""
    most = (nats + 1) / alpha
    return up(first_at_least(lambda drop: _binary_divergence(alpha, drop), nats, 0.0, most), 64)


def _binary_divergence(alpha: float, drop: float) -> float:
    """`kl(alpha || g)` at `g = alpha exp(-drop)`, to full precision however small it is.

    With `u = g/alpha - 1` and `v = (alpha - g)/(1 - alpha)` the linear parts cancel, `alpha u + (1 - alpha) v = 0`, so
    it is `alpha (u - ln(1 + u)) + (1 - alpha) (v - ln(1 + v))`, a sum of two terms that are at least 0.
    """
    fall = -math.expm1(-drop)
    first = above_tangent(-fall) if drop < 0.5 else drop - fall
    return alpha * first + (1 - alpha) * above_tangent(alpha * fall / (1 - alpha))


# --- P value planning -------------------------------------------------------------------------------------------------
# Planning before the data: how much privacy a target level allows.
#
# At a fixed epsilon a larger sample makes the correction harsher, because the penalty grows with `epsilon sqrt(n)`. So
# the useful inverses are the largest epsilon and the largest delta; what a sample size buys is how little noise that
# epsilon needs.


@theorem(
    "p-value.largest-epsilon",
    statement="the largest epsilon after which a p-value of `level` still rejects at alpha",
    source="Holdfast: p-value.level-after-approx-dp, inverted",
    conditions="as for p-value.level-after-approx-dp; level below alpha",
    unit="epsilon",
    provenance="derived",
)
def largest_epsilon(
    alpha: SignificanceLevel,
    level: Annotated[SignificanceLevel, Domain("The ordinary p-value that must still reject.", typical=0.005)],
    n: UnboundedRows,
    delta: Delta = 0.0,
) -> float:
    """Return the largest `epsilon` for which the corrected level is at least `level`.

    Rounded down: `level_after_approx_dp(alpha, result, delta, n).value` is at least `level`. Cost: about 0.2 seconds
    for a positive delta, a few milliseconds otherwise.

    Raises
    ------
    GuaranteeUnavailable
        When even `epsilon = 0` does not reach the level at this delta.

    Examples
    --------
    >>> epsilon = largest_epsilon(0.05, 0.005, 10_000)
    >>> round(epsilon, 5)
    0.01615
    """
    _target(level, alpha)
    if level_after_approx_dp(alpha, 0.0, delta, n).value < level:
        raise GuaranteeUnavailable(
            f"at delta = {delta:g} and n = {n} no epsilon is small enough that a test at level {level:g} keeps a false "
            f"positive rate of {alpha:g} (alpha); give a smaller delta or a smaller level"
        )
    at = {"alpha": alpha, "delta": delta, "n": n, "near": 1 / math.sqrt(n)}
    return solve(level_after_approx_dp, for_="epsilon", target=level, goal="at least", within=1e-12, **at)


@theorem(
    "p-value.largest-delta",
    statement="the largest delta after which a p-value of `level` still rejects at alpha; level 0: the ceiling",
    source="Holdfast: p-value.level-after-approx-dp, inverted",
    conditions="as for p-value.level-after-approx-dp; paper: epsilon in (0, 1/2]",
    unit="delta",
    provenance="derived",
)
def largest_delta(
    alpha: SignificanceLevel,
    epsilon: Epsilon,
    n: UnboundedRows,
    level: Annotated[float, Domain("The ordinary p-value that must still reject.", at_least=0)] = 0.0,
    method: Literal["best", "paper"] = "best",
) -> float:
    """Return the largest `delta` for which the corrected level is at least `level`, rounded down.

    With `level = 0` it is the ceiling from which on nothing can be rejected: `alpha/n` for the default, about
    `eps (alpha/(2.31 n))^2` for the printed form. Cost: about 0.3 seconds for a positive level.

    Raises
    ------
    GuaranteeUnavailable
        When the level is out of reach at this epsilon, however small delta is.

    Examples
    --------
    >>> round(largest_delta(0.05, 0.01, 1000) * 1e5, 9)
    5.0
    >>> print(f"{largest_delta(0.05, 0.01, 1000, method='paper'):.3g}")
    4.62e-12
    >>> print(f"{largest_delta(0.05, 0.01, 1000, level=0.005):.3g}")
    3.03e-08
    """
    target = _target(level, alpha) if level else -math.inf

    def missing(log_delta: float) -> float:
        delta = math.exp(log_delta)
        if method == "paper" and delta >= epsilon:
            return math.inf
        if level == 0:
            return math.log(smallest_beta(epsilon, delta, n, method)) - math.log(alpha)
        return target - level_after_approx_dp(alpha, epsilon, delta, n, method).log2_level

    low, high = -700.0, math.log(alpha) - math.log(n) + 1e-9
    if missing(low) >= 0:
        raise GuaranteeUnavailable(
            f"at epsilon = {epsilon:g} and n = {n} no delta is small enough that a test at level {level:g} keeps a "
            f"false positive rate of {alpha:g} (alpha); give a smaller epsilon or a smaller level"
        )
    step = 1.0
    while high - step > low and missing(high - step) >= 0:  # most answers lie near the ceiling
        high, step = high - step, 4 * step
    low = crossing(lambda x: _bounded(missing(x)), max(low, high - step), high, 1e-11)[0]
    return down(math.exp(low))


def _target(level: float, alpha: float) -> float:
    """The logarithm to reach, a little above that of `level`, so that the rounded-down value reaches it too."""
    level = arguments.probability("level", level)
    if level >= alpha:
        raise InvalidParameter(f"level is {level:g}, but it must be below alpha = {alpha:g}")
    return up(math.log2(level)) + 1e-14


def _bounded(x: float) -> float:
    """`x` on a scale without infinities, which would stop false position."""
    return x / (1 + abs(x)) if math.isfinite(x) else math.copysign(1.0, x)


# --- P value sensitivity ----------------------------------------------------------------------------------------------
# How sensitive a p-value must be, which is why theorems about statistics of low sensitivity do not cover tests.


@theorem(
    "p-value.sensitivity-floor",
    statement="the least sensitivity that a p-value can have, uniform under some null",
    source="Rogers-Roth-Smith-Thakkar 2016 Lemma B.1",
    conditions="the p-value is uniform under some distribution of the null; discrete p-values are not covered",
    unit="sensitivity",
)
def sensitivity_floor(
    n: UnboundedRows, d: Annotated[float, Domain("The free parameter.", above=0, below=0.5)] = 0.08
) -> float:
    """Return `(1/2 - d) / sqrt((n/2) ln(1/d))`: a uniform p-value has a larger sensitivity than this.

    With `d = 0.08` it is `0.3737/sqrt(n)`, printed as `0.37/sqrt(n)`; the best `d` is 0.08397. So theorems about
    statistics of sensitivity of order `1/n` do not cover tests.

    Examples
    --------
    >>> round(sensitivity_floor(100), 10)
    0.0373741172
    """
    return down((0.5 - d) / math.sqrt(n / 2 * -math.log(d)))


# --- Holm -------------------------------------------------------------------------------------------------------------
# Holm's method: many p-values, one probability of any false rejection.


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values.

    If you reject every hypothesis whose adjusted p-value is at most alpha, the probability of any false rejection is at
    most alpha. This holds whatever the dependence between the p-values (Holm 1979).

    Examples
    --------
    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.5])]
    [0.03, 0.08, 0.5]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.minimum(values[order] * np.arange(values.size, 0, -1), 1.0)
    corrected = np.empty(values.size)
    corrected[order] = np.maximum.accumulate(stepped)
    return [float(p) for p in corrected]
