"""p-values after a release of which only the mutual information with the sample is known."""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.mutual_information import LN2, PRINTED_CONSTANT, above_tangent
from holdfast.bounds.p_value import Level, level_from_log2
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import first_at_least, smallest, spaced


@theorem(
    "p-value.level-after-mutual-information",
    statement="the level at which to reject when release and sample have at most `bits` bits of mutual information",
    source="Rogers-Roth-Smith-Thakkar 2016 Corollary C.2 (printed); optimised, sharp and exact forms derived",
    conditions="mutual information in bits for the law of the null; the null's p-value is super-uniform",
    unit="level",
    provenance="mixed",
)
def level_after_mutual_information(
    alpha: float, bits: float, method: Literal["best", "sharp", "optimised", "paper"] = "best"
) -> Level:
    """Return the level that keeps false discoveries below `alpha` when the mutual information is at most `bits`.

    - "paper": `(alpha/2) 2^(-(2/alpha)(m + 0.54))`.
    - "optimised": the same bound with the best `k` instead of `2 (m + 0.54)/alpha`. Derived.
    - "sharp": `max over beta of (alpha - beta) 2^-k(beta)`, `k(beta) = (m + (1-beta) log2(1/(1-beta)))/beta`. Derived,
      reviewed.
    - "best": the `g` with binary divergence `kl(alpha || g) = m`. By data processing a rejection probability of `P`
      against a product probability of at most `g` has `kl(P || g) <= m`; nothing that uses mutual information alone
      can do better. It is the limit of "sharp" with the exact conversion. Derived, checked on random laws.

    Parameters
    ----------
    alpha : float
        The level to keep, in (0, 1).
    bits : float
        The mutual information in bits, at least 0.
    method : str
        "best" (default), "sharp", "optimised" or "paper".

    Examples
    --------
    >>> round(level_after_mutual_information(0.05, 1, method="paper").log2_level, 6)
    -66.921928
    >>> round(level_after_mutual_information(0.05, 0.1, method="sharp").value, 8)
    0.00077989
    >>> round(level_after_mutual_information(0.05, 0.1).value, 8)
    0.00520899
    """
    alpha = check.probability("alpha", alpha)
    bits = check.real("bits", bits, at_least=0)
    check.choice("method", method, ("best", "sharp", "optimised", "paper"))
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
def russo_zou_level(alpha: float, nats: float, method: Literal["best", "paper"] = "best") -> Level:
    """Return the largest `g < 1/2` with `g + sqrt(m / ln(1/(2g))) <= alpha`.

    "paper" is the printed ceiling `min(alpha/2, exp(-m/alpha^2)/2)`, for comparison only. It is not a valid level: it
    ignores the first `g`, and its `alpha/2` is not justified either way (at `alpha = 0.05`, `m = 0.001` the inversion
    gives 0.0310).

    Parameters
    ----------
    alpha : float
        The level to keep, in (0, 1).
    nats : float
        The mutual information in nats, at least 0.
    method : str
        "best" (default) is the exact inversion, "paper" the printed ceiling.

    Examples
    --------
    >>> round(russo_zou_level(0.05, 0.001).value, 8)
    0.03103247
    >>> round(russo_zou_level(0.05, 1.0, method="paper").log2_level, 6)
    -578.078016
    """
    alpha = check.probability("alpha", alpha)
    nats = check.real("nats", nats, at_least=0)
    check.choice("method", method, ("best", "paper"))
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


__all__ = ["level_after_mutual_information", "russo_zou_level"]
