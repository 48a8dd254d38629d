"""Conversions between notions of privacy, each the tightest that is known in closed form.

The zCDP and GDP curves have modules of their own and are gathered here, so that accountants import one name.
Every number that bounds is rounded up; every budget is rounded down.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from holdfast.bounds.gdp import gdp_budget, gdp_delta, gdp_to_dp
from holdfast.bounds.numerics.exact import UNIT, up
from holdfast.bounds.parameters import Delta, Divergences, Domain, Epsilon, Mu, Order, Orders
from holdfast.bounds.registry import theorem
from holdfast.bounds.zcdp import zcdp_budget, zcdp_delta, zcdp_to_dp
from holdfast.core import arguments
from holdfast.errors import InvalidParameter


class DP(NamedTuple):
    """A pair `(epsilon, delta)`; its headline number is epsilon.

    Examples
    --------
    >>> epsilon, delta = DP(1.0, 1e-6)
    >>> DP(1.0, 1e-6).value
    1.0
    """

    epsilon: float
    delta: float

    @property
    def value(self) -> float:
        """Epsilon."""
        return self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"value": self.epsilon, "epsilon": self.epsilon, "delta": self.delta}


@theorem(
    "composition.pure-to-zcdp",
    statement="epsilon-DP implies rho-zCDP with rho = epsilon tanh(epsilon/2), and no smaller rho",
    source="Bun-Steinke 2016 Proposition 3.3 (epsilon^2/2); tight: Steinke 2024 (differentialprivacy.org)",
    conditions="epsilon >= 0; two-sided",
    unit="rho",
    provenance="derived",
)
def pure_to_zcdp(epsilon: Epsilon) -> float:
    """Return `epsilon tanh(epsilon/2)`, the smallest rho for which every epsilon-DP mechanism is rho-zCDP.

    Proof. Randomized response has the largest divergence of every order among epsilon-DP mechanisms, with
    `(a-1) D_a = log cosh((a - 1/2) epsilon) - log cosh(epsilon/2)`. As a function of `v = (a - 1/2)^2`,
    `log cosh(epsilon sqrt v)` is concave, and its tangent at `v = 1/4` is `epsilon tanh(epsilon/2) a (a-1)`.
    Equality as `a -> 1`, so the constant is tight. The printed constant is `epsilon^2/2`.

    Examples
    --------
    >>> round(pure_to_zcdp(1.0), 10)
    0.4621171573
    """
    return _positive(up(epsilon * math.tanh(0.5 * epsilon)), epsilon)


@theorem(
    "composition.pure-to-rdp",
    statement="the Renyi divergence of the given order that epsilon-DP allows; attained by randomized response",
    source="Mironov 2017 Table II (randomized response); optimal for pure DP: Steinke 2024 (differentialprivacy.org)",
    conditions="epsilon >= 0, order >= 1 (1 is the Kullback-Leibler divergence); two-sided",
    unit="nats",
    provenance="mixed",
)
def pure_to_rdp(epsilon: Epsilon, order: Annotated[Order, Domain(infinite=True)]) -> float:
    """Return the largest Renyi divergence of order `order` between outputs of an epsilon-DP mechanism on neighbours.

    `log(1 + (e^((a-1) epsilon) - 1) (1 - e^(-a epsilon)) / (1 + e^-epsilon)) / (a - 1)`, a form of
    `(log cosh((a - 1/2) epsilon) - log cosh(epsilon/2)) / (a - 1)` that loses no digits. At order 1 it is
    `epsilon tanh(epsilon/2)`, at infinity epsilon.

    Examples
    --------
    >>> round(pure_to_rdp(1.0, 2), 10), round(pure_to_rdp(1.0, 10), 10)
    (0.7353256641, 0.9651931465)
    """
    if order == 1 or epsilon == 0:
        return pure_to_zcdp(epsilon)
    if math.isinf(order):
        return epsilon
    excess = (order - 1) * epsilon
    share = -math.expm1(-order * epsilon) / (1 + math.exp(-epsilon))
    if excess > 30:  # e^excess may overflow; take it out of the logarithm
        divergence = epsilon + math.log(share + (1 - share) * math.exp(-excess)) / (order - 1)
    else:
        divergence = math.log1p(math.expm1(excess) * share) / (order - 1)
    return min(_positive(up(divergence, 8), epsilon), epsilon)


@theorem(
    "composition.pure-to-gdp",
    statement="epsilon-DP implies mu-GDP with mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), and no smaller mu",
    source="trade-off function of epsilon-DP: Dong-Roth-Su 2022 Proposition 2.5; proof in the docstring",
    conditions="epsilon >= 0; two-sided",
    unit="mu",
    provenance="derived",
)
def pure_to_gdp(epsilon: Epsilon) -> float:
    """Return the smallest `mu` such that every epsilon-DP mechanism is mu-GDP.

    `mu = -2 Phi^-1(1 / (1 + e^epsilon))`. Proof. The trade-off function of epsilon-DP consists of two segments that
    meet on the diagonal, at `1/(1 + e^epsilon)`. A Gaussian trade-off function meets the diagonal at `Phi(-mu/2)` and
    is convex through (0,1) and (1,0), so it lies below both segments as soon as it does at the corner. Equality at the
    corner. For small epsilon `mu^2/2` is about `0.785 epsilon^2`, more than the rho of `pure_to_zcdp`.

    Examples
    --------
    >>> round(pure_to_gdp(1.0), 10)
    1.2320...
    """
    from scipy.special import erfinv, ndtri_exp

    if epsilon <= 1:
        return up(2 * math.sqrt(2) * float(erfinv(math.tanh(0.5 * epsilon))), 8)
    log_corner = -epsilon - math.log1p(math.exp(-epsilon))
    return up(-2 * float(ndtri_exp(log_corner)), 64)


@theorem(
    "composition.gdp-to-zcdp",
    statement="mu-GDP implies rho-zCDP with rho = mu^2/2",
    source="Dong-Roth-Su 2022 Corollary B.6; the Gaussian's Renyi divergence and data processing",
    conditions="mu >= 0; two-sided",
    unit="rho",
)
def gdp_to_zcdp(mu: Mu) -> float:
    """Return `mu^2/2`: outputs on neighbours are a post-processing of `N(0,1)` against `N(mu,1)`.

    Examples
    --------
    >>> round(gdp_to_zcdp(0.2), 12)
    0.02
    """
    return _positive(up(0.5 * mu * mu), mu)


@theorem(
    "composition.rdp-to-dp",
    statement="the smallest epsilon that a Renyi curve on a list of orders gives at delta",
    source="Canonne-Kamath-Steinke 2020 Proposition 12; Balle-Barthe-Gaboardi-Hsu-Sato 2020 Theorem 21",
    conditions="orders > 1; parameters fixed in advance: not a rule for an adaptive filter or an odometer",
    unit="epsilon",
)
def rdp_to_dp(orders: Orders, epsilons: Divergences, delta: Delta) -> float:
    """Return the smallest epsilon such that the Renyi curve implies `(epsilon, delta)`-differential privacy.

    For one order `a` with divergence `r`: `r + log(1 - 1/a) + (log(1/delta) - log a)/(a - 1)`, and 0 where
    `delta^2 >= 1 - e^-r` (Bretagnolle and Huber). The minimum over orders is valid because each order holds on its own.

    It holds for parameters fixed in advance. It is **not** a rule for an adaptive filter: where the answers decide
    which order survives, the minimum costs more, and the curve filter pays for it. It is not an odometer either.

    Examples
    --------
    >>> round(rdp_to_dp([2, 4, 8, 16, 32], [0.1 * a for a in (2, 4, 8, 16, 32)], 1e-6), 9)
    2.271656268
    """
    if len(orders) != len(epsilons):
        raise InvalidParameter(f"orders and epsilons must have the same length, got {len(orders)} and {len(epsilons)}")
    if min(epsilons) == 0:
        return 0.0
    if delta == 0:
        return math.inf
    if min(epsilons) <= -math.log1p(-delta * delta) * (1 - 4 * UNIT):
        return 0.0
    return min(max(_at_order(a, r, delta), 0.0) for a, r in zip(orders, epsilons, strict=True))


def _positive(bound: float, amount: float) -> float:
    """A bound that underflows for a positive amount is the smallest positive float, not 0."""
    return bound if bound > 0 or amount == 0 else math.ulp(0.0)


def _at_order(order: float, divergence: float, delta: float) -> float:
    excess = order - 1
    terms = (divergence, math.log1p(-1 / order), -math.log(delta) / excess, -math.log(order) / excess)
    return math.fsum(terms) + 8 * UNIT * math.fsum(abs(term) for term in terms)


@theorem(
    "composition.approx-to-pointwise",
    statement="the point-wise (epsilon, delta) that (epsilon, delta)-DP implies: a bound on the loss itself",
    source="Rogers' dissertation Lemma 4.1.4, after Kasiviswanathan-Smith 2014",
    conditions="epsilon >= 0, delta in [0, 1); two-sided; what odometers need; delta in the details",
    unit="epsilon",
)
def approx_to_pointwise(epsilon: Epsilon, delta: Delta) -> DP:
    """Return the point-wise parameters that `(epsilon, delta)`-DP implies: `(2 epsilon, 2 delta/(1 - e^-epsilon))`.

    The set where the likelihood ratio exceeds `e^(2 epsilon)` has probability at most `delta/(1 - e^-epsilon)` under
    the first distribution, and the set where it is below `e^(-2 epsilon)` at most `e^(-2 epsilon)` times that, so 2 is
    safe. Odometers need this: the loss of an (epsilon, delta)-DP mechanism may exceed epsilon more often than with
    probability delta (a Gaussian with mu 0.5 is (1, 0.0068)-DP, and its loss exceeds 1 with probability 0.040).

    Rogers' dissertation, Lemma 4.1.4, after Kasiviswanathan and Smith 2014; re-derived. Two-sided.

    Returns
    -------
    DP
        The pair; delta is capped at 1, which is vacuous.

    Examples
    --------
    >>> approx_to_pointwise(1.0, 1e-6)
    DP(epsilon=2.0, delta=3.163...e-06)
    """
    if delta == 0:
        return DP(epsilon, 0.0)
    if epsilon == 0:
        return DP(0.0, 1.0)
    return DP(2 * epsilon, min(1.0, up(-2 * delta / math.expm1(-epsilon))))


def gaussian_sigma(rho: float, sensitivity: float) -> float:
    """Return the standard deviation `sensitivity / sqrt(2 rho)` for which Gaussian noise is rho-zCDP, rounded up.

    Bun-Steinke 2016 Proposition 1.6. Two-sided; adaptive rounds add their rho.

    Parameters
    ----------
    rho : float
        The zCDP parameter, above 0.
    sensitivity : float
        How far the answer moves, in the Euclidean norm, when one row is replaced; above 0.

    Examples
    --------
    >>> round(gaussian_sigma(1e-4, 1 / 1000), 11)
    0.07071067812
    """
    rho = arguments.real("rho", rho, above=0)
    sensitivity = arguments.real("sensitivity", sensitivity, above=0)
    return up(sensitivity / math.sqrt(2 * rho))


__all__ = [
    "DP",
    "approx_to_pointwise",
    "gaussian_sigma",
    "gdp_budget",
    "gdp_delta",
    "gdp_to_dp",
    "gdp_to_zcdp",
    "pure_to_gdp",
    "pure_to_rdp",
    "pure_to_zcdp",
    "rdp_to_dp",
    "zcdp_budget",
    "zcdp_delta",
    "zcdp_to_dp",
]
