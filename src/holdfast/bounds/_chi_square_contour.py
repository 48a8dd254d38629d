"""The contour behind `chi_square_mixture`: saddle point, parabola, trapezoid rule, for many laws at once.

Everything is in units of the largest weight, so the nearest singularity of the cumulant function

    K(s) = sum_j -(k_j/2) log(1 - 2 w_j s) + v_j w_j s / (1 - 2 w_j s)

is at `s = 1/2`. Points of the contour are written `s0 + t` with `s0 = 1/2 - gap`: the factors `1 - 2 w_j s` are then
computed from `gap` and `t`, without cancellation however close to the singularity a deep tail pushes the saddle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

AGREEMENT = 1e-6
"""Half of the nodes must give the same integral up to this share; the whole rule then errs by about its square."""

_NODES = 32  # nodes a block; a block ends when its last node no longer counts
_BLOCK = 1 << 17  # complex numbers a block holds at once: it stays in the cache
_LEAST = 1e-18  # a node below this share of the first one no longer counts
_NEAR = 0.05  # how far from the saddle, in standard deviations, the contour may cross the axis
_MOST_BLOCKS = 640
_REFINEMENTS = 6
_SAME = 2e-15


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
        order = np.argsort(w, axis=1)
        w, k, v = (np.take_along_axis(a, order, axis=1) for a in (w, k, v))
        keep = (w * (k + v) > negligible[:, None]).any(axis=0)
        keep[-1] = True
        if not keep.all():
            w, k, v = w[:, keep], k[:, keep], v[:, keep]
        new = np.r_[True, (w[:, 1:] - w[:, :-1] > _SAME * w[:, 1:]).any(axis=0)]
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
    pole = upper is not None
    b = 2.0 * law.weights
    gap = _saddle(x, law, upper)
    s0 = 0.5 - gap
    w = (1.0 - law.weights) + b * gap[:, None]
    _, second, third = _derivatives(x, law, gap, pole)
    deviation = second**-0.5
    bend = np.maximum(third / (6 * second), 0.05 / deviation)
    room = np.minimum(gap, 2 * deviation)
    step = (np.minimum(room, np.abs(s0)) if pole else room) / 6
    peak = (-0.5 * law.degrees * np.log(w) + 0.5 * law.noncentrality * (1 / w - 1)).sum(axis=1) - x * s0

    total = np.empty(x.size)
    rows = np.arange(x.size)
    half, pull = -0.5 * law.degrees, 0.5 * law.noncentrality / w
    ratio = b / w
    if len(half) == 1:
        half = np.broadcast_to(half, ratio.shape)
    for _ in range(_REFINEMENTS):
        full, sparse = _trapezoid(
            x[rows], s0[rows] if pole else None, ratio[rows], half[rows], pull[rows], bend[rows], step[rows]
        )
        total[rows] = full
        rows = rows[~(np.abs(full - sparse) <= AGREEMENT * np.abs(full))]
        if not rows.size:
            return peak + np.log(np.abs(total) / np.pi)
        step = step / 2
    raise ArithmeticError("the integral of a chi-square mixture did not settle; please report the weights")


def _trapezoid(
    x: Array, s0: Array | None, ratio: Array, half: Array, pull: Array, bend: Array, step: Array
) -> tuple[Array, Array]:
    """Real parts of the integral over the upper half of the contour, with all nodes and with every other node."""
    even, odd = np.zeros(x.size), np.zeros(x.size)
    noncentral = bool(pull.any())
    active = np.arange(x.size)
    for block in range(_MOST_BLOCKS):
        y = step[active, None] * np.arange(block * _NODES, (block + 1) * _NODES)
        t = bend[active, None] * y * y + 1j * y
        u = ratio[active, :, None] * t[:, None, :]
        exponent = np.einsum("ij,ijn->in", half[active], np.log(1 - u)) - x[active, None] * t
        if noncentral:
            exponent += np.einsum("ij,ijn->in", pull[active], u / (1 - u))
        value = np.exp(exponent) * (1 - 2j * bend[active, None] * y)
        if s0 is not None:
            value /= s0[active, None] + t
        if block == 0:
            value[:, 0] *= 0.5
            first = np.abs(value[:, 0])
        even[active] += value.real[:, ::2].sum(axis=1)
        odd[active] += value.real[:, 1::2].sum(axis=1)
        active = active[~(np.abs(value[:, -1]) < _LEAST * first[active])]
        if not active.size:
            return step * (even + odd), 2 * step * even
    raise ArithmeticError("the integral of a chi-square mixture did not end; please report the weights")


def _derivatives(x: Array, law: Mixture, gap: Array, pole: bool) -> tuple[Array, Array, Array]:
    """First three derivatives of `K(s) - s x - log|s|` (without the logarithm for the density) at `1/2 - gap`."""
    r = 2.0 * law.weights / ((1.0 - law.weights) + 2.0 * law.weights * gap[:, None])
    k, v = law.degrees, law.noncentrality
    pull = v * (r / np.where(law.weights > 0, 2.0 * law.weights, 1.0)) if v.any() else v
    first = (0.5 * (k + pull) * r).sum(axis=1) - x
    square = r * r
    second = ((0.5 * k + pull) * square).sum(axis=1)
    third = ((k + 3 * pull) * square * r).sum(axis=1)
    if not pole:
        return first, second, third
    inverse = 1 / (0.5 - gap)
    return first - inverse, second + inverse**2, third - 2 * inverse**3


def _saddle(x: Array, law: Mixture, upper: Flags | None) -> Array:
    """The distance from 1/2 to the saddle point, to a small part of the width of the integrand.

    Brackets come from `w_j <= 1`; in them Newton's step on `gap * (derivative)`, which is concave for central laws,
    converges from the right without overshooting. A step that leaves the bracket is replaced by a bisection.
    """
    k, v = law.degrees, law.noncentrality
    mean_k, mean_v = (law.weights * k).sum(axis=1), (law.weights * v).sum(axis=1)
    top = np.where(law.weights >= 1.0, k, 0.0).sum(axis=1)
    above = (mean_k + np.sqrt(mean_k**2 + 4 * mean_v * x)) / (4 * x)
    most = (1 + 0.5 * k.sum(axis=1) + 0.125 * v.sum(axis=1)) / x
    if upper is None:
        low, high = np.minimum(0.5 * top / x, above), above
        gap = high
    else:
        low = np.where(upper, np.minimum(0.25, 0.5 * top / (x + 4)), 0.5 + 1 / x)
        high = np.where(upper, np.minimum(above, 0.5 * (1 - 1e-9)), 0.5 + most)
        low = np.minimum(low, high)
        gap = np.where(upper, np.minimum(high, 0.5 - 0.25 / (x + 1)), high)
    for _ in range(200):
        first, second, _ = _derivatives(x, law, gap, upper is not None)
        if (first * first <= _NEAR**2 * second).all():
            return gap
        low, high = np.where(first > 0, gap, low), np.where(first > 0, high, gap)
        slope = first - gap * second  # of gap * first, by gap
        moved = gap - gap * first / np.where(slope == 0, 1.0, slope)
        gap = np.where((moved > low) & (moved < high), moved, 0.5 * (low + high))
    raise ArithmeticError("the saddle point of a chi-square mixture was not found; please report the weights")
