"""Tails of a positive mixture of chi-squares, `Q = sum_j weight_j chi2(degrees_j, noncentrality_j)`.

This is the limit distribution of every quadratic statistic of noisy counts: a p-value is a tail of `Q`. The smaller of
the two tails comes with a small *relative* error, however deep it lies, so that p-values of 1e-12 may be corrected for
many tests.

How. With `K` the cumulant function of `Q`, both tails are the integral of `exp(K(s) - s x) / s` along a line to the
right (upper tail) or left (lower tail) of the pole at 0. The line is bent to a parabola that runs through the saddle
point along the path of steepest descent and opens round the cut of `K`. There the integrand does not oscillate, it is
analytic in a strip, and the trapezoid rule converges geometrically for every pattern of weights. Derived here (the
ideas are Rice's and Helstrom's saddle-point contours); checked against exact chi-squares and 50-digit inversion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Chi square contour -----------------------------------------------------------------------------------------------
# The contour behind `chi_square_mixture`: saddle point, parabola, trapezoid rule, for many distributions at once.
#
# Everything is in units of the largest weight, so the nearest singularity of the cumulant function
#
#     K(s) = sum_j -(k_j/2) log(1 - 2 w_j s) + v_j w_j s / (1 - 2 w_j s)
#
# is at `s = 1/2`. The saddle is written `s0 = 1/2 - gap` and everything else in units of `gap`: the factors `1 - 2 w_j
# s` then come without cancellation however close to the singularity a deep tail pushes the saddle, and nothing
# overflows however far from it a small `x` does.

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

AGREEMENT = 1e-7
"""Half of the nodes must give the same integral up to this share; the whole rule then errs by about its square."""

_NODES = 48  # nodes a block; a block ends when its last node no longer counts
_BLOCK = 1 << 17  # complex numbers a block holds at once: it stays in the cache
_LEAST = 1e-18  # a node below this share of the first one no longer counts
_NEAR = 0.05  # how far from the saddle, in standard deviations, the contour may cross the axis
_MOST_BLOCKS = 4096  # a few do for whole degrees; half a degree next to a large noncentrality takes hundreds
_REFINEMENTS = 6
_NODES_A_WIDTH = 6  # the error of the rule is about exp(-2 pi times this)
_BEND = 1.0  # factor of the curvature; any other gives the same integral, with more nodes
_UPHILL = 99.0  # a node that lies this far above the saddle must not overflow; it is never used
_SAME = 2e-15  # weights nearer than this are one: eigenvalues carry that much rounding
_SMALLEST, _LARGEST = 1e-290, 1e200  # x in units of the largest weight; beyond them a tail is read at them


@dataclass(frozen=True)
class Mixture:
    """Distributions in rows, their parts in columns; a single row stands for every point."""

    weights: Array
    degrees: Array
    noncentrality: Array

    def rows(self, chosen: Flags | slice) -> Mixture:
        """Return the distributions of the chosen points."""
        if len(self.weights) == 1:
            return self
        return Mixture(self.weights[chosen], self.degrees[chosen], self.noncentrality[chosen])

    def tidied(self, negligible: Array) -> Mixture:
        """Without parts whose mean is negligible in every row, and with equal weights merged into one."""
        w, k, v = self.weights, self.degrees, self.noncentrality
        if not w.size:
            return self
        if len(w) == 1:  # plain indexing: for a single distribution the overhead of calls is what takes the time
            order = np.argsort(w[0])
            w, k, v = w[:, order], k[:, order], v[:, order]
        else:
            order = np.argsort(w, axis=1)
            w, k, v = (np.take_along_axis(a, order, axis=1) for a in (w, k, v))
        keep: Flags = np.any(w * (k + v) > negligible[:, None], axis=0)
        keep[-1] = True
        if not keep.all():
            w, k, v = w[:, keep], k[:, keep], v[:, keep]
        new = np.ones(w.shape[1], dtype=np.bool_)
        new[1:] = (w[:, 1:] - w[:, :-1] > _SAME * w[:, 1:]).any(axis=0)
        if not new.all():
            starts = np.flatnonzero(new)
            merged = np.add.reduceat(k, starts, axis=1)
            w = np.add.reduceat(k * w, starts, axis=1) / merged
            k, v = merged, np.add.reduceat(v, starts, axis=1)
            w[:, -1] = 1.0
        return Mixture(w, k, v)


def smaller_tail(x: Array, law: Mixture) -> tuple[Array, Flags]:
    """Return the logarithm of the upper tail where `x` is above the mean, of the lower tail elsewhere; and where."""
    upper = x > (law.weights * (law.degrees + law.noncentrality)).sum(axis=1)
    return _in_chunks(x, law, upper), upper


def density(x: Array, law: Mixture) -> Array:
    """Return the density, in the units of the caller's scaled `x`."""
    return np.exp(_in_chunks(x, law, None))


def _in_chunks(x: Array, law: Mixture, upper: Flags | None) -> Array:
    step = max(1, _BLOCK // (_NODES * law.weights.shape[1]))
    logs = np.empty(x.size)
    for start in range(0, x.size, step):
        part = slice(start, start + step)
        logs[part] = _log_integral(x[part], law.rows(part), None if upper is None else upper[part])
    return logs


def _log_integral(x: Array, law: Mixture, upper: Flags | None) -> Array:
    """The logarithm of `1/(2 pi) |integral of exp(K(s) - s x) / s|`; without `1/s`, the density, if `upper` is None."""
    x = np.clip(x, _SMALLEST, _LARGEST)
    gap, ratio, pull, slope, total, second, third = _saddle(x, law, upper)
    from_pole = None if upper is None else 0.5 / gap - 1.0
    factors = (1.0 - law.weights) + 2.0 * law.weights * gap[:, None]
    peak = 0.5 * (pull - law.noncentrality - law.degrees * np.log(factors)).sum(axis=1) - x * (0.5 - gap)
    if upper is None:
        peak += np.log(gap)
    # At most the curvature of the steepest descent of K(s) - s x (the pole bends that path only near itself), and so
    # small that the path stays clear of the singularities of small weights with many degrees of freedom, far to the
    # right. The factor exp(-s x) alone still ends the integrand within a few of its widths.
    bend = np.minimum(third / (6 * second), second / (4 * slope)) * _BEND
    room = np.minimum(1.0, 2 * total**-0.5)
    if from_pole is not None:  # a path that bends away from the pole on its left is nearer to it in the strip
        room = np.minimum(room, np.abs(from_pole) * 2 / (1 + np.sqrt(1 + 4 * bend * np.maximum(from_pole, 0.0))))
    path = _Path(
        x=x * gap,
        ratio=ratio,
        degrees=np.broadcast_to(law.degrees, ratio.shape),
        pull=0.5 * pull if law.noncentrality.any() else None,
        pole=from_pole,
        bend=bend,
        step=room / _NODES_A_WIDTH,
    )
    integral = np.empty(x.size)
    rows = np.arange(x.size)
    for _ in range(_REFINEMENTS):
        full, sparse = _trapezoid(path)
        integral[rows] = np.abs(full)
        unsettled = ~(np.abs(full - sparse) <= AGREEMENT * np.abs(full))
        if not unsettled.any():
            logs: Array = peak + np.log(integral / np.pi)
            return logs
        rows, path = rows[unsettled], path.finer(unsettled)
    raise ArithmeticError("the integral of a chi-square mixture did not settle; please report the weights")


@dataclass(frozen=True)
class _Path:
    """What the trapezoid rule needs of each row: the integrand relative to its value at the saddle, and the path."""

    x: Array  # times the gap, like all that has the unit of x; what has the unit of s is divided by it
    ratio: Array  # of 2 w_j gap to the factor 1 - 2 w_j s0, in [0, 1]
    degrees: Array
    pull: Array | None  # of the noncentralities; None where all are zero
    pole: Array | None  # where the saddle lies, seen from the pole; None for the density
    bend: Array
    step: Array

    def rows(self, chosen: Flags) -> _Path:
        """Return the rows that are not finished yet."""
        pull = None if self.pull is None else self.pull[chosen]
        pole = None if self.pole is None else self.pole[chosen]
        parts = (a[chosen] for a in (self.bend, self.step))
        return _Path(self.x[chosen], self.ratio[chosen], self.degrees[chosen], pull, pole, *parts)

    def finer(self, chosen: Flags) -> _Path:
        """The chosen rows with half the step and a straighter path, on which the integrand cannot rise as much."""
        path = self.rows(chosen)
        return replace(path, step=0.5 * path.step, bend=0.25 * path.bend)

    def values(self, first: int, count: int) -> npt.NDArray[np.complex128]:
        """Return the integrand at nodes `first`, `first + 1`, ... of every row."""
        y = self.step[:, None] * np.arange(first, first + count)
        bent = self.bend[:, None] * y
        t = bent * y + 1j * y
        # In real arithmetic: logarithm and angle of 1 - ratio t, which lies in the lower half plane.
        down = self.ratio[:, :, None] * y[:, None, :]
        right = down * bent[:, None, :]
        left = 1.0 - right
        square = left * left
        square += down * down
        degrees = self.degrees[:, None, :]
        exponent = np.empty(y.shape, dtype=np.complex128)
        exponent.real = -0.25 * np.matmul(degrees, np.log(square))[:, 0]
        exponent.imag = 0.5 * np.matmul(degrees, np.arctan2(down, left))[:, 0]
        exponent -= self.x[:, None] * t
        if self.pull is not None:
            pull = self.pull[:, None, :]
            exponent.real += np.matmul(pull, (right * left - down * down) / square)[:, 0]
            exponent.imag += np.matmul(pull, down / square)[:, 0]
        np.minimum(exponent.real, _UPHILL, out=exponent.real)
        value: npt.NDArray[np.complex128] = np.exp(exponent) * (1 - 2j * bent)
        if self.pole is not None:
            value /= self.pole[:, None] + t
        return value


def _trapezoid(path: _Path) -> tuple[Array, Array]:
    """Real parts of the integral over the upper half of the contour, with all nodes and with every other node."""
    step = path.step
    even, odd = np.zeros(step.size), np.zeros(step.size)
    active = np.arange(step.size)
    first = np.ones(step.size) if path.pole is None else 1 / np.abs(path.pole)
    lowest = first.copy()
    for block in range(_MOST_BLOCKS):
        value = path.values(block * _NODES, _NODES)
        # Beyond the first node that does not count the path may come near a far singularity: nothing there counts.
        size = np.abs(value)
        ended = np.logical_or.accumulate(size < _LEAST * first[active, None], axis=1)
        least = np.minimum.accumulate(np.minimum(size, lowest[active, None]), axis=1)
        uphill = np.any(~ended & (size > 2 * least), axis=1)
        lowest[active] = least[:, -1]
        real = np.where(ended, 0.0, value.real)
        if block == 0:
            real[:, 0] *= 0.5
        even[active] += real[:, ::2].sum(axis=1)
        odd[active] += real[:, 1::2].sum(axis=1)
        even[active[uphill]] = np.nan  # the path is no good: the caller takes a straighter one
        more = ~(ended[:, -1] | uphill)
        if not more.any():
            return step * (even + odd), 2 * step * even
        active, path = active[more], path.rows(more)
    raise ArithmeticError("the integral of a chi-square mixture did not end; please report the weights")


def _derivatives(x: Array, law: Mixture, gap: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return the ratios, the pulls, and `gap^i` times the derivatives `i = 1, 2, 3` of `K(s) - s x` at `1/2 - gap`."""
    twice = 2.0 * law.weights * gap[:, None]
    factor = (1.0 - law.weights) + twice
    ratio = twice / factor
    pull = law.noncentrality / factor
    square = ratio * ratio
    first = 0.5 * ((law.degrees + pull) * ratio).sum(axis=1) - x * gap
    second = ((0.5 * law.degrees + pull) * square).sum(axis=1)
    third = ((law.degrees + 3 * pull) * square * ratio).sum(axis=1)
    return ratio, pull, first, second, third


def _saddle(x: Array, law: Mixture, upper: Flags | None) -> tuple[Array, ...]:
    """Find the zero of the derivative of `K(s) - s x - log|s|` (without the logarithm for the density).

    Returns the gap and, there, the ratios, the pulls, the slope of `K`, the second derivative with and without the
    logarithm, and the third without. A small part of the width of the integrand is near enough, because any contour
    gives the same integral.

    The brackets follow from `0 <= w_j <= 1`. In them Newton's step on `gap * derivative`, which is concave for central
    distributions, converges from the right without overshooting. A step that leaves the bracket is replaced by a
    bisection.
    """
    k, v = law.degrees, law.noncentrality
    mean_k, mean_v = (law.weights * k).sum(axis=1), (law.weights * v).sum(axis=1)
    top = np.where(law.weights >= 1.0, k, 0.0).sum(axis=1)
    right_high = (mean_k + np.sqrt(mean_k**2 + 4 * mean_v * x)) / (4 * x)
    if upper is None:
        left_high = np.maximum(0.5, 0.5 * (k + v).sum(axis=1) / x)
        low, high = 0.5 * top / x, np.where(x > mean_k + mean_v, right_high, left_high)
        low = np.minimum(low, high)
        gap = high
    else:
        left_high = 0.5 + (1 + (0.5 * k + 0.125 * v).sum(axis=1)) / x
        low = np.where(upper, np.minimum(0.25, 0.5 * top / (x + 4)), 0.5 + 1 / x)
        high = np.where(upper, 0.5, left_high)
        gap = np.where(upper, np.minimum(right_high, 0.5 - 0.25 / (x + 1)), left_high)
    for _ in range(200):
        ratio, pull, first, second, third = _derivatives(x, law, gap)
        slope, total = first + x * gap, second
        if upper is not None:
            inverse = gap / (0.5 - gap)
            first, total = first - inverse, second + inverse * inverse
        if (first * first <= _NEAR**2 * total).all():
            return gap, ratio, pull, slope, total, second, third
        low, high = np.where(first > 0, gap, low), np.where(first > 0, high, gap)
        moved = gap * (1 - first / np.where(first < total, first - total, -total))
        middle = np.where(high > 4 * low, np.sqrt(low) * np.sqrt(high), 0.5 * (low + high))
        gap = np.where((moved > low) & (moved < high), moved, middle)
    raise ArithmeticError("the saddle point of a chi-square mixture was not found; please report the weights")


# --- Chi square mixture -----------------------------------------------------------------------------------------------

ROUNDING = 1e-12
"""A negative weight above minus this share of the largest is an eigenvalue's rounding error and counts as zero."""

LEAST_DEGREES = 0.5
"""Degrees begin here: below, the integral takes so many nodes that it may not end."""

LARGEST = 1e8
"""Degrees and noncentralities end here: rounding costs about 2e-16 times their sum, relative to the tail."""

NEGLIGIBLE = 1e-15
"""A weight is left out where its share of the mean is at most this part of `x` and of the largest weight."""


class Tails(NamedTuple):
    """Both tails of a distribution at a point; the smaller one has full relative accuracy."""

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
        leading ones are broadcast against `x`, so `(m,)` points and `(m, d)` weights give `m` tails of `m`
        distributions.
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
        either fails, a finer rule on a straighter contour is tried. None of 19,000 adversarial distributions ended
        here; with degrees below 0.5, which are refused, some did.

    Notes
    -----
    Equal weights are merged. A weight is left out only if its part of the mean of `Q` is at most 1e-15 of `x` and of
    the largest weight, in every row. For central chi-squares with `D` degrees in all, `P(Q <= c x) >= c^(D/2) P(Q <=
    x)` for `c < 1` (substitute in the Gaussian integral), so leaving out a part with mean `r` changes the cdf by at
    most the share `D r / (2 x)` of itself: 2e-11 at worst with 200 weights, next to nothing in practice.

    Time: about half a millisecond for one tail of 20 weights, 0.7 s for 10,000 tails of 10,000 such distributions
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
    """Return `P(Q > x)`: the p-value of a statistic with this null distribution. See `mixture_tails`.

    Examples
    --------
    >>> print(f"{mixture_sf(40, [3, 1, 0.5, 0.01]):.13f}")
    0.0003593377976
    """
    return mixture_tails(x, weights, degrees, noncentrality).sf


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
            f"degrees of shape {k.shape} and noncentrality of shape {v.shape} do not fit weights of shape {w.shape}"
        ) from None
    if w.size and shape[-1] != w.shape[-1]:
        raise InvalidParameter(f"degrees or noncentrality has {shape[-1]} entries, but weights has {w.shape[-1]}")
    largest = w.max(axis=-1, keepdims=True)
    if not (largest > 0).all():
        raise InvalidParameter("weights must have at least one weight above 0 in every distribution")
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
    """The points as one axis, in units of the largest weight; the distribution in that unit, row by row; the shape; the
    unit.
    """
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


# --- Chi square quantile ----------------------------------------------------------------------------------------------
# Critical values of chi-square mixtures, and the power of chi-square tests: the tails read backwards.


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
        The distribution, as for `mixture_tails`; leading axes of `weights` are broadcast against `alpha`.
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
    arguments.choice("tail", tail, ("upper", "lower"))
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
    quantiles = [_quantile(float(a), w, k, v, tail) for a, w, k, v in zip(each, *laws, strict=True)]
    return np.array(quantiles).reshape(shape)


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
        if far < -700:  # a distribution with few degrees has quantiles below the smallest number
            return 0.0
    if excess(near) == 0:
        return scale * math.exp(near)
    from scipy.optimize import brentq

    return scale * math.exp(brentq(excess, near, far, xtol=1e-15, rtol=1e-15, maxiter=200))


def chi_square_power(alpha: float, degrees: float, noncentrality: npt.ArrayLike) -> Any:
    """Return the power of a chi-square test at level `alpha`: `P(chi2(degrees, noncentrality) > critical value)`.

    Exact for the noncentral chi-square distribution; a statistic follows that distribution only in the limit of local
    alternatives. About half a millisecond for one noncentrality; arrays go in one pass.

    Examples
    --------
    >>> print(f"{chi_square_power(0.05, 3, 50 / 7):.10f} {chi_square_power(0.05, 4, 50 / 7):.10f}")
    0.5992525589 0.5496057698
    """
    alpha = arguments.probability("alpha", alpha)
    degrees = arguments.real("degrees", degrees, at_least=LEAST_DEGREES)
    v = np.asarray(noncentrality, dtype=np.float64)
    return mixture_sf(chdtri(degrees, alpha), np.ones((*v.shape, 1)), degrees, v[..., None])
