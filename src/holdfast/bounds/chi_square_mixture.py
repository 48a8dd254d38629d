"""Tails of a positive mixture of chi-squares, `Q = sum_j weight_j chi2(degrees_j, noncentrality_j)`.

This is the limit law of every quadratic statistic of noisy counts: a p-value is a tail of `Q`. The smaller of the two
tails comes with a small *relative* error, however deep it lies, so that p-values of 1e-12 may be corrected for many
tests.

How. With `K` the cumulant function of `Q`, both tails are the integral of `exp(K(s) - s x) / s` along a line to the
right (upper tail) or left (lower tail) of the pole at 0. The line is bent to a parabola that runs through the saddle
point along the path of steepest descent and opens round the cut of `K`. There the integrand does not oscillate, it is
analytic in a strip, and the trapezoid rule converges geometrically for every pattern of weights. Derived here (the
ideas are Rice's and Helstrom's saddle-point contours); checked against exact chi-squares and 50-digit inversion.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.bounds._chi_square_contour import Mixture, density, smaller_tail
from holdfast.errors import InvalidParameter

Array = npt.NDArray[np.float64]

ROUNDING = 1e-12
"""A negative weight above minus this share of the largest is an eigenvalue's rounding error and counts as zero."""

LEAST_DEGREES = 0.5
"""Degrees begin here: below, the integral takes so many nodes that it may not end."""

LARGEST = 1e8
"""Degrees and noncentralities end here: rounding costs about 2e-16 times their sum, relative to the tail."""

NEGLIGIBLE = 1e-15
"""A weight is left out where its share of the mean is at most this part of `x` and of the largest weight."""


class Tails(NamedTuple):
    """Both tails of a law at a point; the smaller one has full relative accuracy."""

    cdf: Any
    sf: Any


def mixture_tails(
    x: npt.ArrayLike, weights: npt.ArrayLike, degrees: npt.ArrayLike = 1, noncentrality: npt.ArrayLike = 0
) -> Tails:
    """Return `(P(Q <= x), P(Q > x))` for `Q = sum_j weights_j chi2(degrees_j, noncentrality_j)`.

    Parameters
    ----------
    x : float or array
        Where; at or below 0 the first tail is 0 and the second 1. Infinity is allowed.
    weights : array
        Not negative, not all zero, along the last axis. One axis: the same weights for every `x`. More axes: the
        leading ones are broadcast against `x`, so `(m,)` points and `(m, d)` weights give `m` tails of `m` laws.
    degrees, noncentrality : float or array
        Degrees of freedom (from 0.5, need not be whole) and noncentralities (sums of squared means, not negative),
        broadcast against `weights`.

    Returns
    -------
    Tails
        `cdf` and `sf`, floats for a scalar `x` and one weight vector, else arrays. The smaller has relative error below
        1e-10 for weight ratios to 1e6, 200 weights and tails to 1e-12; the tests hold it to 1e-12, and single
        chi-squares to 2e-13 down to tails of 1e-250.

    Raises
    ------
    ArithmeticError
        If the integral does not settle. Every call checks itself: the integrand must fall along the contour, and the
        rule with half of the nodes must agree to 1e-7; the error of the whole rule is about the square of that. Where
        either fails, a finer rule on a straighter contour is tried. None of 19,000 adversarial laws ended here; with
        degrees below 0.5, which are refused, some did.

    Notes
    -----
    Equal weights are merged. A weight is left out only if its part of the mean of `Q` is at most 1e-15 of `x` and of
    the largest weight, in every row. For central chi-squares with `D` degrees in all, `P(Q <= c x) >= c^(D/2) P(Q <=
    x)` for `c < 1` (substitute in the Gaussian integral), so leaving out a part with mean `r` changes the cdf by at
    most the share `D r / (2 x)` of itself: 2e-11 at worst with 200 weights, next to nothing in practice.

    Time: about half a millisecond for one tail of 20 weights, 0.7 s for 10,000 tails of 10,000 such laws
    (`benchmarks/bench_private_tests.py`).

    Examples
    --------
    >>> tails = mixture_tails(15, [3, 1, 0.5, 0.01])
    >>> print(f"{tails.cdf:.10f} {tails.sf:.11f}")
    0.9634952305 0.03650476954
    >>> print(f"{mixture_tails(300, [3, 1, 0.5, 0.01]).sf:.10e}")
    2.0551835049e-23
    """
    points, law, shape, _ = _prepared(x, weights, degrees, noncentrality)
    cdf, sf = _tails(points, law)
    if not shape:
        return Tails(float(cdf[0]), float(sf[0]))
    return Tails(cdf.reshape(shape), sf.reshape(shape))


def mixture_sf(
    x: npt.ArrayLike, weights: npt.ArrayLike, degrees: npt.ArrayLike = 1, noncentrality: npt.ArrayLike = 0
) -> Any:
    """Return `P(Q > x)`: the p-value of a statistic with this null law. See `mixture_tails`.

    Examples
    --------
    >>> print(f"{mixture_sf(40, [3, 1, 0.5, 0.01]):.13f}")
    0.0003593377976
    """
    return mixture_tails(x, weights, degrees, noncentrality).sf


def mixture_cdf(
    x: npt.ArrayLike, weights: npt.ArrayLike, degrees: npt.ArrayLike = 1, noncentrality: npt.ArrayLike = 0
) -> Any:
    """Return `P(Q <= x)`. See `mixture_tails`.

    Examples
    --------
    >>> print(f"{mixture_cdf(40, [3, 1, 0.5, 0.01]):.10f}")
    0.9996406622
    """
    return mixture_tails(x, weights, degrees, noncentrality).cdf


def mixture_density(
    x: npt.ArrayLike, weights: npt.ArrayLike, degrees: npt.ArrayLike = 1, noncentrality: npt.ArrayLike = 0
) -> Any:
    """Return the density of `Q` at `x`, 0 below 0; the same contour without the pole, the same relative accuracy.

    At `x = 0` it is the limit from the right: infinite below two degrees of freedom in all, 0 above.

    Examples
    --------
    >>> print(f"{mixture_density(5, [3, 1, 0.5, 0.01]):.8f}")
    0.07554199
    """
    points, law, shape, scale = _prepared(x, weights, degrees, noncentrality)
    values = np.zeros(points.size)
    inside = (points > 0) & (points < math.inf)
    if inside.any():
        values[inside] = density(points[inside], law.rows(inside))
    origin = points == 0
    if origin.any():
        values[origin] = _density_at_zero(law.rows(origin), int(origin.sum()))
    values /= scale
    return values.reshape(shape) if shape else float(values[0])


def mixture_moments(
    weights: npt.ArrayLike, degrees: npt.ArrayLike = 1, noncentrality: npt.ArrayLike = 0
) -> tuple[float, float]:
    """Return mean and variance of `Q` for one weight vector: `sum w (k + v)` and `2 sum w^2 (k + 2 v)`.

    Examples
    --------
    >>> mixture_moments([3, 1], noncentrality=[1, 0])
    (7.0, 56.0)
    """
    w, k, v = law_arrays(weights, degrees, noncentrality)
    if w.ndim != 1:
        raise InvalidParameter(f"weights must be one list of numbers, got an array of shape {w.shape}")
    return float((w * (k + v)).sum()), float(2 * (w * w * (k + 2 * v)).sum())


def law_arrays(weights: npt.ArrayLike, degrees: npt.ArrayLike, noncentrality: npt.ArrayLike) -> tuple[Array, ...]:
    """Return weights, degrees and noncentralities of one common shape, checked; rounding below zero becomes zero."""
    w = _numbers("weights", weights)
    if w.ndim == 0 or w.shape[-1] == 0:
        raise InvalidParameter("weights must be a list of at least one number")
    k, v = _numbers("degrees", degrees), _numbers("noncentrality", noncentrality)
    for name, values, low in (("degrees", k, LEAST_DEGREES), ("noncentrality", v, 0.0)):
        inside = (values >= low) & (values <= LARGEST)
        if not inside.all():
            wrong = values[~inside].flat[0]
            raise InvalidParameter(f"{name} must be in [{low:g}, {LARGEST:g}], got {wrong:g}")
    try:
        shape = np.broadcast_shapes(w.shape, k.shape, v.shape)
    except ValueError:
        raise InvalidParameter(
            f"degrees {k.shape} and noncentrality {v.shape} do not fit weights of shape {w.shape}"
        ) from None
    if w.size and shape[-1] != w.shape[-1]:
        raise InvalidParameter(f"degrees or noncentrality list {shape[-1]} parts, weights list {w.shape[-1]}")
    largest = w.max(axis=-1, keepdims=True)
    if not (largest > 0).all():
        raise InvalidParameter("weights must have at least one above 0 in every law")
    if (w < -ROUNDING * largest).any():
        raise InvalidParameter(f"weights must be at least 0, got {w.min():g}")
    return _spread(np.maximum(w, 0.0), shape), _spread(k, shape), _spread(v, shape)


def _spread(array: Array, shape: tuple[int, ...]) -> Array:
    """`array` in the given shape; nothing is called where it has it already."""
    if array.shape == shape:
        return array
    return np.full(shape, array) if array.ndim == 0 else np.broadcast_to(array, shape)


def _numbers(name: str, values: npt.ArrayLike, infinite: bool = False) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{name} must be numbers, got a {type(values).__name__}") from None
    if not np.isfinite(array).all() and (not infinite or np.isnan(array).any()):
        raise InvalidParameter(f"{name} must be {'numbers, not NaN' if infinite else 'finite numbers'}")
    return array


def _prepared(
    x: npt.ArrayLike, weights: npt.ArrayLike, degrees: npt.ArrayLike, noncentrality: npt.ArrayLike
) -> tuple[Array, Mixture, tuple[int, ...], Array]:
    """The points as one axis, in units of the largest weight; the law in that unit, row by row; the shape; the unit."""
    points = _numbers("x", x, infinite=True)
    w, k, v = law_arrays(weights, degrees, noncentrality)
    batch = w.shape[:-1]
    try:
        shape = np.broadcast_shapes(points.shape, batch)
    except ValueError:
        raise InvalidParameter(f"x of shape {points.shape} does not fit weights of shape {w.shape}") from None
    flat = _spread(points, shape).reshape(-1)
    parts = w.shape[-1]
    one_law = math.prod(batch) == 1
    w, k, v = (a.reshape(1, parts) if one_law else _spread(a, (*shape, parts)).reshape(-1, parts) for a in (w, k, v))
    scale = w.max(axis=1) if w.size else np.ones(1)
    law = Mixture(w / scale[:, None], k, v)
    scaled = flat / scale
    floor = np.where(scaled > 0, np.minimum(scaled, 1.0), 1.0)
    floor = floor.min(initial=1.0, keepdims=True) if one_law else floor
    return scaled, law.tidied(NEGLIGIBLE * floor), shape, scale


def _tails(points: Array, law: Mixture) -> tuple[Array, Array]:
    cdf, sf = np.zeros(points.size), np.ones(points.size)
    beyond = points == math.inf
    cdf[beyond], sf[beyond] = 1.0, 0.0
    inside = (points > 0) & ~beyond
    if inside.any():
        log_tail, upper = smaller_tail(points[inside], law.rows(inside))
        tail = np.minimum(np.exp(log_tail), 1.0)
        cdf[inside] = np.where(upper, 1.0 - tail, tail)
        sf[inside] = np.where(upper, tail, 1.0 - tail)
    return cdf, sf


def _density_at_zero(law: Mixture, count: int) -> Array:
    present = law.weights > 0
    total = np.where(present, law.degrees, 0.0).sum(axis=1)
    logs = np.where(present, -0.5 * law.degrees * np.log(np.where(present, law.weights, 1.0)), 0.0).sum(axis=1)
    at_two = 0.5 * np.exp(logs - 0.5 * np.where(present, law.noncentrality, 0.0).sum(axis=1))
    return np.broadcast_to(np.where(total < 2, math.inf, np.where(total > 2, 0.0, at_two)), (count,))
