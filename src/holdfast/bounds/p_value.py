"""p-values after looking: corrected levels and adjusted p-values.

The test is chosen from what was released and run on the same rows. If the release has `k` bits at failure probability
`beta` (max-information over the right scope, or a transfer bound), rejecting when `p <= (alpha - beta) / 2**k` keeps
the probability of a false discovery below `alpha`. Only super-uniform p-values are needed. What must be fixed before
the data is the guarantee of the release, that is the curve `beta -> k(beta)`; the point of the curve may be chosen
afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from holdfast import check
from holdfast.bounds.approximate_dp import feasible_dhat, ingredients, smallest_beta, two_parameter
from holdfast.bounds.best_point import Point, best_level, best_probability
from holdfast.bounds.currency import Scope, corrected, exponent
from holdfast.bounds.exact import down, up
from holdfast.bounds.max_information import LOG2E, METHODS, Method, general_nats, product_nats
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import crossing, first_at_least, smallest, spaced
from holdfast.bounds.theorem_s import smallest_penalty
from holdfast.bounds.transfer import event

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
        """Plain data; bits and beta only where the level came from a pair of them."""
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
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem 1.3 (independent rows) and Theorem C.1 (any law)",
    conditions="super-uniform p-value; (k, beta) is a max-information or transfer bound whose scope covers the null",
    unit="level",
)
def corrected_level(alpha: float, k_bits: float, beta: float) -> Level:
    """Return `max((alpha - beta) / 2**k, 0)`.

    Several selected tests: run any family-wise method at this level. A confidence interval: use it as the nominal
    non-coverage.

    Parameters
    ----------
    alpha : float
        The level to keep, in (0, 1).
    k_bits : float
        The bits of the release.
    beta : float
        Its failure probability, at least 0; from `alpha` on nothing may be rejected.

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
    alpha = check.probability("alpha", alpha)
    beta = check.real("beta", beta, at_least=0)
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
def adjusted(p: float, k_bits: float, beta: float) -> float:
    """Return `min(1, 2**k p + beta)`, which is at most alpha exactly when `p` is at most the corrected level.

    Parameters
    ----------
    p : float
        The ordinary p-value on the same rows, in [0, 1].
    k_bits : float
        The bits of the release.
    beta : float
        Its failure probability, in [0, 1].

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
    alpha: float, epsilon: float, n: int, method: Method = "best", scope: Scope = "product"
) -> Level:
    """Return the largest `(alpha - beta) 2**-k(beta)` over the curve of `max-information.pure-dp`.

    Parameters
    ----------
    alpha : float
        The level to keep, in (0, 1).
    epsilon : float
        The privacy parameter of everything that was released before the test was fixed.
    n : int
        The number of rows.
    method : str
        "best" (default), "paper", "sharp" or "renyi", as in `max-information.pure-dp`.
    scope : str
        "product" (default) or "any".

    Examples
    --------
    >>> round(level_after_pure_dp(0.05, 0.02, 1000).value, 6)
    0.0217
    >>> round(level_after_pure_dp(0.05, 0.02, 1000, method="paper").value, 6)
    0.012352
    """
    alpha = check.probability("alpha", alpha)
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
    p: float, epsilon: float, n: int, method: Method = "best", scope: Scope = "product"
) -> float:
    """Return the smallest `2**k(beta) p + beta` over the curve; valid although the best `beta` depends on `p`.

    `{adjusted <= alpha}` is `{p <= largest level at alpha}`, one threshold that is the same for all data. Derived,
    reviewed.

    Parameters
    ----------
    p : float
        The ordinary p-value on the same rows, in [0, 1].
    epsilon : float
        The privacy parameter of everything that was released before the test was fixed.
    n : int
        The number of rows.
    method : str
        "best" (default), "paper", "sharp" or "renyi".
    scope : str
        "product" (default) or "any".

    Examples
    --------
    >>> round(adjusted_after_pure_dp(0.001, 0.02, 1000), 6)
    0.003093
    """
    p = check.probability("p", p, zero=True, one=True)
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
    alpha: float, epsilon: float, delta: float, n: int, method: Literal["best", "plain", "paper"] = "best"
) -> Level:
    """Return the largest `(alpha - beta) 2**-k` that the free parameters allow.

    - "best": Theorem S+, and the pure curve when `delta = 0`.
    - "plain": Theorem S without the excess factor, and the pure curve without it ("sharp") when `delta = 0`.
    - "paper": the two-parameter form of Theorem 3.1 over `t` and `dhat`.

    Parameters
    ----------
    alpha : float
        The level to keep, in (0, 1).
    epsilon : float
        The privacy parameter of everything that was released before the test was fixed, at least 0.
    delta : float
        In [0, 1); vacuous from `n delta = alpha` on.
    n : int
        The number of rows.
    method : str
        "best" (default), "plain" or "paper".

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
    alpha = check.probability("alpha", alpha)
    epsilon = check.real("epsilon", epsilon, at_least=0)
    delta = check.probability("delta", delta, zero=True)
    n = check.whole("n", n, at_least=1)
    check.choice("method", method, ("best", "plain", "paper"))
    if method == "paper":
        return _printed_level(alpha, epsilon, delta, n)
    if delta == 0:
        return level_after_pure_dp(alpha, epsilon, n, _PURE[method])
    found = smallest_penalty(epsilon, delta, n, alpha, "best" if method == "best" else "plain")
    if found.penalty == math.inf:
        return Level(0.0, -math.inf, math.inf, alpha)
    log2_level = math.log2(alpha) - found.penalty
    return level_from_log2(log2_level - 4 * math.ulp(log2_level), found.bits, found.beta, found.parameters)


@theorem(
    "p-value.adjusted-after-approx-dp",
    statement="the p-value adjusted for an (epsilon, delta)-DP selection on n rows, free parameters optimised",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorems 1.3 and 3.1 (printed); Theorem S+ (default)",
    conditions="as for p-value.level-after-approx-dp",
    unit="p",
    provenance="mixed",
)
def adjusted_after_approx_dp(
    p: float, epsilon: float, delta: float, n: int, method: Literal["best", "plain", "paper"] = "best"
) -> float:
    """Return the smallest alpha at which `level_after_approx_dp` would reject `p`.

    Parameters
    ----------
    p : float
        The ordinary p-value on the same rows, in [0, 1].
    epsilon : float
        The privacy parameter of everything that was released before the test was fixed, at least 0.
    delta : float
        In [0, 1).
    n : int
        The number of rows.
    method : str
        "best" (default), "plain" or "paper".

    Returns
    -------
    float
        1 when no level below 1 rejects. Cost: about 0.2 seconds.

    Examples
    --------
    >>> round(adjusted_after_approx_dp(0.001, 0.01, 1e-10, 1000), 4)
    0.0047
    """
    p = check.probability("p", p, zero=True, one=True)
    epsilon = check.real("epsilon", epsilon, at_least=0)
    delta = check.probability("delta", delta, zero=True)
    n = check.whole("n", n, at_least=1)
    check.choice("method", method, ("best", "plain", "paper"))
    if method == "paper":
        ingredients(epsilon, delta)  # the ranges of Theorem 3.1
    elif delta == 0:
        return adjusted_after_pure_dp(p, epsilon, n, _PURE[method])
    target = math.log2(p) if p else -math.inf

    def log2_level(log_alpha: float) -> float:
        return level_after_approx_dp(math.exp(log_alpha), epsilon, delta, n, method).log2_level

    high = math.log(1 - 1e-12)
    if p == 0:  # then the bits do not matter
        return min(1.0, smallest_beta(epsilon, delta, n, "paper" if method == "paper" else "best"))
    if p >= 1 or log2_level(high) < target:
        return 1.0
    high = crossing(lambda x: log2_level(x) - target, math.log(p) - 1e-9, high, 1e-11)[1]
    return min(1.0, up(math.exp(high)))


def _pure_curve(epsilon: float, n: int, method: str, scope: str) -> tuple[Callable[[float], float], float]:
    epsilon = check.real("epsilon", epsilon, at_least=0)
    n = check.whole("n", n, at_least=1)
    check.choice("method", method, METHODS)
    check.choice("scope", scope, ("product", "any"))
    general = general_nats(epsilon, n)
    if scope == "any":
        return lambda slack: general, general
    return lambda slack: product_nats(epsilon, n, slack, method), general


def _level(point: Point) -> Level:
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
        found = ingredients(epsilon, delta, dhat)
        room = alpha - n * (found.delta_prime + found.delta_second)
        if room <= 0:
            return math.inf, 0.0, dhat
        least = math.sqrt(-2 * math.log(room))
        t = first_at_least(lambda t: room * math.exp(min(t * t / 2, 700.0)) - t / steep, 1.0, least, least + 38.0)
        bound = two_parameter(epsilon, delta, n, t, dhat)
        return -bound.log2_level(alpha), t, dhat

    penalty, t, dhat = at(smallest(lambda x: at(x)[0], spaced(math.log(ends[0]), math.log(ends[1]), 65))[0])
    bound = two_parameter(epsilon, delta, n, t, dhat)
    return level_from_log2(-penalty - 16 * math.ulp(penalty), bound.bits, bound.beta, {"t": t, "dhat": dhat})


__all__ = [
    "Level",
    "adjusted",
    "adjusted_after_approx_dp",
    "adjusted_after_pure_dp",
    "corrected_level",
    "level_after_approx_dp",
    "level_after_pure_dp",
    "level_from_log2",
]
