"""Critical values of chi-square mixtures, and the power of chi-square tests: the tails read backwards."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from holdfast import check
from holdfast.bounds._chi_square_contour import Mixture, smaller_tail
from holdfast.bounds.chi_square_mixture import LEAST_DEGREES, law_arrays, mixture_sf
from holdfast.errors import InvalidParameter


def mixture_quantile(
    alpha: npt.ArrayLike,
    weights: npt.ArrayLike,
    degrees: npt.ArrayLike = 1,
    noncentrality: npt.ArrayLike = 0,
    tail: Literal["upper", "lower"] = "upper",
) -> Any:
    """Return the `x` with `P(Q > x) = alpha` (or `P(Q <= x) = alpha`): the critical value of a test at level `alpha`.

    Parameters
    ----------
    alpha : float or array
        The probability beyond `x`, in (0, 1).
    weights, degrees, noncentrality : array
        The law, as for `mixture_tails`; leading axes of `weights` are broadcast against `alpha`.
    tail : str
        On which side of `x` the probability lies.

    Returns
    -------
    float or array
        Relative error about 1e-13: the tail at the result is `alpha` to about 1e-12 of itself.

    Notes
    -----
    Bracketed by doubling or halving from the mean, then Brent's method on the logarithm of the smaller tail as a
    function of `log x`, which is nearly straight: about ten tails. If only a decision or a p-value is wanted, evaluate
    the tail at the statistic instead.

    Examples
    --------
    >>> print(f"{mixture_quantile(0.05, [3, 1, 0.5, 0.01]):.8f}")
    13.42154546
    >>> print(f"{mixture_quantile(0.05, [1], degrees=3):.9f}")
    7.814727903
    """
    check.choice("tail", tail, ("upper", "lower"))
    try:
        levels = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"alpha must be numbers, got a {type(alpha).__name__}") from None
    if not ((levels > 0) & (levels < 1)).all():
        wrong = levels[~((levels > 0) & (levels < 1))][0]
        raise InvalidParameter(f"alpha must be in (0, 1), got {wrong:g}")
    w, k, v = law_arrays(weights, degrees, noncentrality)
    try:
        shape = np.broadcast_shapes(levels.shape, w.shape[:-1])
    except ValueError:
        raise InvalidParameter(f"alpha of shape {levels.shape} does not fit weights of shape {w.shape}") from None
    if not shape:
        return _quantile(float(levels), w, k, v, tail)
    each = np.broadcast_to(levels, shape).reshape(-1)
    laws = [np.broadcast_to(a, (*shape, w.shape[-1])).reshape(each.size, w.shape[-1]) for a in (w, k, v)]
    found = [_quantile(float(a), w, k, v, tail) for a, w, k, v in zip(each, *laws, strict=True)]
    return np.array(found).reshape(shape)


def _quantile(alpha: float, w: Any, k: Any, v: Any, tail: str) -> float:
    scale = float(w.max())
    law = Mixture(w[None] / scale, k[None], v[None]).tidied(np.zeros(1))
    mean = float((law.weights * (law.degrees + law.noncentrality)).sum())

    def log_tails(x: float) -> tuple[float, float]:
        """Logarithms of the lower and the upper tail."""
        logs, upper = smaller_tail(np.array([x]), law)
        small = min(float(logs[0]), -1e-300)
        large = math.log1p(-math.exp(small))
        return (large, small) if upper[0] else (small, large)

    # Solve for the tail that is small at the answer: the other one has no digits left to tell points apart.
    below_mean = log_tails(mean)[0]
    log_lower = math.log(alpha) if tail == "lower" else math.log1p(-alpha)
    log_upper = math.log(alpha) if tail == "upper" else math.log1p(-alpha)
    right = log_lower > below_mean

    def excess(log_x: float) -> float:
        lower, upper = log_tails(math.exp(log_x))
        return log_upper - upper if right else lower - log_lower

    start = math.log(mean)
    step = math.log(2.0) if right else -math.log(2.0)
    near, far = start, start + step
    while (excess(far) < 0) if right else (excess(far) > 0):
        near, far, step = far, far + 2 * step, 2 * step
        if far < -700:  # a law with few degrees has quantiles below the smallest number
            return 0.0
    if excess(near) == 0:
        return scale * math.exp(near)
    from scipy.optimize import brentq

    return scale * math.exp(brentq(excess, near, far, xtol=1e-15, rtol=1e-15, maxiter=200))


def chi_square_power(alpha: float, degrees: float, noncentrality: npt.ArrayLike) -> Any:
    """Return the power of a chi-square test at level `alpha`: `P(chi2(degrees, noncentrality) > critical value)`.

    Exact for the noncentral chi-square law; a statistic follows that law only in the limit of local alternatives. About
    half a millisecond for one noncentrality; arrays go in one pass.

    Examples
    --------
    >>> print(f"{chi_square_power(0.05, 3, 50 / 7):.10f} {chi_square_power(0.05, 4, 50 / 7):.10f}")
    0.5992525589 0.5496057698
    """
    alpha = check.probability("alpha", alpha)
    degrees = check.real("degrees", degrees, at_least=LEAST_DEGREES)
    v = np.asarray(noncentrality, dtype=np.float64)
    return mixture_sf(chdtri(degrees, alpha), np.ones((*v.shape, 1)), degrees, v[..., None])


def noncentrality_for_power(power: float, alpha: float, degrees: float) -> float:
    """Return the noncentrality at which a chi-square test of level `alpha` has the given power.

    Most noncentralities are proportional to the sample size, so this is the heart of every sample-size plan.

    Examples
    --------
    >>> v = noncentrality_for_power(0.8, 0.05, 3)
    >>> print(f"{v:.6f} {chi_square_power(0.05, 3, v):.10f}")
    10.902563 0.8000000000
    """
    alpha = check.probability("alpha", alpha)
    power = check.real("power", power, at_least=alpha, below=1)
    degrees = check.real("degrees", degrees, at_least=LEAST_DEGREES)
    if power == alpha:
        return 0.0
    critical = float(chdtri(degrees, alpha))
    log_miss = math.log1p(-power)

    def excess(v: float) -> float:
        return log_miss - _log_lower(critical, degrees, v)

    from scipy.optimize import brentq

    high = 1.0
    while excess(high) < 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-14 * high, rtol=1e-14))


def _log_lower(x: float, degrees: float, noncentrality: float) -> float:
    law = Mixture(np.ones((1, 1)), np.array([[degrees]]), np.array([[noncentrality]]))
    logs, upper = smaller_tail(np.array([x]), law)
    return math.log1p(-math.exp(logs[0])) if upper[0] else float(logs[0])
