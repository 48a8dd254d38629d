"""The contour behind `chi_square_mixture`: saddle point, parabola, trapezoid rule, for many laws at once.

Everything is in units of the largest weight, so the nearest singularity of the cumulant function

    K(s) = sum_j -(k_j/2) log(1 - 2 w_j s) + v_j w_j s / (1 - 2 w_j s)

is at `s = 1/2`. The saddle is written `s0 = 1/2 - gap` and everything else in units of `gap`: the factors `1 - 2 w_j s`
then come without cancellation however close to the singularity a deep tail pushes the saddle, and nothing overflows
however far from it a small `x` does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

AGREEMENT = 1e-7
"""Half of the nodes must give the same integral up to this share; the whole rule then errs by about its square."""

_NODES = 48  # nodes a block; a block ends when its last node no longer counts
_BLOCK = 1 << 17  # complex numbers a block holds at once: it stays in the cache
_LEAST = 1e-18  # a node below this share of the first one no longer counts
_NEAR = 0.05  # how far from the saddle, in standard deviations, the contour may cross the axis
_MOST_BLOCKS = 4096  # a few do for whole degrees; half a degree beside a large noncentrality takes hundreds
_REFINEMENTS = 6
_NODES_A_WIDTH = 6  # the error of the rule is about exp(-2 pi times this)
_BEND = 1.0  # factor of the curvature; any other gives the same integral, with more nodes
_UPHILL = 99.0  # a node that lies this far above the saddle must not overflow; it is never used
_SAME = 2e-15  # weights nearer than this are one: eigenvalues carry that much rounding
_SMALLEST, _LARGEST = 1e-290, 1e200  # x in units of the largest weight; beyond them a tail is read at them


@dataclass(frozen=True)
class Mixture:
    """Laws in rows, their parts in columns; a single row stands for every point."""

    weights: Array
    degrees: Array
    noncentrality: Array

    def rows(self, chosen: Flags | slice) -> Mixture:
        """The laws of the chosen points."""
        if len(self.weights) == 1:
            return self
        return Mixture(self.weights[chosen], self.degrees[chosen], self.noncentrality[chosen])

    def tidied(self, negligible: Array) -> Mixture:
        """Without parts whose mean is negligible in every row, and with equal weights merged into one."""
        w, k, v = self.weights, self.degrees, self.noncentrality
        if not w.size:
            return self
        if len(w) == 1:  # plain indexing: for a single law the overhead of calls is what takes the time
            one = np.argsort(w[0])
            w, k, v = w[:, one], k[:, one], v[:, one]
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
        """The rows that are not finished yet."""
        pull = None if self.pull is None else self.pull[chosen]
        pole = None if self.pole is None else self.pole[chosen]
        parts = (a[chosen] for a in (self.bend, self.step))
        return _Path(self.x[chosen], self.ratio[chosen], self.degrees[chosen], pull, pole, *parts)

    def finer(self, chosen: Flags) -> _Path:
        """The chosen rows with half the step and a straighter path, on which the integrand cannot rise as much."""
        path = self.rows(chosen)
        return replace(path, step=0.5 * path.step, bend=0.25 * path.bend)

    def values(self, first: int, count: int) -> npt.NDArray[np.complex128]:
        """The integrand at nodes `first`, `first + 1`, ... of every row."""
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
    laws, converges from the right without overshooting. A step that leaves the bracket is replaced by a bisection.
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
