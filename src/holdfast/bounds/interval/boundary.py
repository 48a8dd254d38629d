"""The boundary of scheduled noise: how much a shift may have grown by the time `v`, and the noise it leaves room for.

Everything is in units of the half-width (`tau = 1`). With `c = z^2 V`, `C(x, r) = E[((x + sqrt(r) Z)^2 - c)_+]`,
`U_v(x) = l C(x, V - v)` and `D_v(x) = c_w + (1 - U_v(x))/lam`, the allowed scale is the least `(1 - x)/D_v(x)` over
`0 <= x <= x1(v)`, `U_v(x1) = 1`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from holdfast.bounds.interval.maxima import normal_excess

Array = NDArray[np.float64]
_DENSITY = 1 / math.sqrt(2 * math.pi)
#: Taken off every computed scale: a search returns a value at or above the true least one.
_SHAVE = 1e-9
#: Beyond these levels `C` and `E(W - c_w)_+` come near the end of the floating range, or lose more digits to
#: cancellation (a relative 1e-16 z^4) than the shave covers; a schedule there could come out too narrow.
_LARGEST_SHIFT_LEVEL = 30.0
_LARGEST_NOISE_LEVEL = 36.0


def excess(x: Array, r: Array, c: float) -> tuple[Array, Array, Array]:
    """`C(x, r)` and its first two derivatives in `x`, for `r > 0`.

    Examples
    --------
    >>> value, _, _ = excess(np.array([0.3]), np.array([0.05]), 0.2)
    >>> round(float(value[0]), 10)
    0.0383837687
    """
    s, root = np.sqrt(r), math.sqrt(c)
    near, far = (root - x) / s, (root + x) / s
    tail_near, tail_far = ndtr(-near), ndtr(-far)
    bump_near, bump_far = _DENSITY * np.exp(-near * near / 2), _DENSITY * np.exp(-far * far / 2)
    square = x * x - c
    value = (
        (square + r) * (tail_near + tail_far) + s * bump_near * (2 * x + s * near) + s * bump_far * (-2 * x + s * far)
    )
    slope = 2 * (x * (tail_near + tail_far) + s * (bump_near - bump_far))
    bend = 2 * (tail_near + tail_far + root / s * (bump_near + bump_far))
    return np.maximum(value, 0.0), slope, bend


@dataclass(frozen=True)
class Boundary:
    """The four free numbers of a schedule, with what follows from them for `questions` and `beta`.

    Any values give a valid schedule; they only change its width. `horizon` is `V`, `noise_level` `c_w`,
    `noise_share` `h` and `shift_level` `z`, all in units of the half-width.
    """

    questions: int
    beta: float
    horizon: float
    noise_level: float
    noise_share: float
    shift_level: float

    @property
    def threshold(self) -> float:
        """`c = z^2 V`."""
        return self.shift_level**2 * self.horizon

    @cached_property
    def noise_weight(self) -> float:
        """`lam = h beta / E(W - c_w)_+`; the expectation is rounded up, which is the safe side."""
        return self.noise_share * self.beta / (normal_excess(self.questions, self.noise_level) * (1 + 1e-12))

    @cached_property
    def shift_weight(self) -> float:
        """`l = (1 - h) beta / C(0, V)`; `C` is rounded up by more than cancellation can have cost it."""
        value, _, _ = excess(np.zeros(1), np.array([self.horizon]), self.threshold)
        return (1 - self.noise_share) * self.beta / (float(value[0]) * (1 + 1e-9))

    @property
    def usable(self) -> bool:
        """Whether both weights are numbers that can be trusted; far-off parameters underflow or cancel."""
        if self.shift_level > _LARGEST_SHIFT_LEVEL or self.noise_level > _LARGEST_NOISE_LEVEL:
            return False
        try:
            return 0 < self.noise_weight < math.inf and 0 < self.shift_weight < math.inf
        except ZeroDivisionError:
            return False

    def crossing(self, v: Array) -> Array:
        """`x1(v)`, where the whole failure probability is used up: the root of `U_v(x) = 1`."""
        rest, weight = self._rest(v), self.shift_weight
        # U_v(x) >= l (x^2 - c), so this start is at or right of the root; U is convex and Newton descends.
        x = np.full_like(rest, math.sqrt(self.threshold + 1 / weight))
        open_ = rest > 0
        for _ in range(60):
            value, slope, _ = excess(x[open_], rest[open_], self.threshold)
            step = (weight * value - 1) / (weight * slope)
            x[open_] = x[open_] - step
            if step.size == 0 or float(np.max(np.abs(step) / x[open_])) <= 1e-12:  # right of the root is the safe side
                break
        return x

    def scale(self, v: Array) -> Array:
        """`sigma(v)`, shaved by a relative 1e-9 and 0 where the boundary leaves no room (then refuse)."""
        rest, weight, lam = self._rest(v), self.shift_weight, self.noise_weight
        end = self.crossing(v)
        x = np.empty_like(rest)
        open_ = rest > 0
        x[open_] = self._least(rest[open_], np.minimum(end[open_], 1.0), weight, lam)
        x[~open_] = self._least_at_end(float(min(end[~open_].min(initial=1.0), 1.0)), weight, lam)
        used = np.empty_like(rest)
        value, _, _ = excess(x[open_], rest[open_], self.threshold)
        used[open_] = weight * value
        used[~open_] = weight * np.maximum(x[~open_] ** 2 - self.threshold, 0.0)
        room = self.noise_level + (1 - np.minimum(used, 1.0)) / lam
        return np.where(end >= 1.0, 0.0, np.maximum(1 - x, 0.0) / room * (1 - _SHAVE))

    def _rest(self, v: Array) -> Array:
        return np.maximum(self.horizon - np.asarray(v, dtype=float), 0.0)

    def _least(self, rest: Array, end: Array, weight: float, lam: float) -> Array:
        """Where `(1 - x)/D(x)` is least: the root of `(1-x) U'/lam - D`, which rises in `x`, kept below `end`."""
        low, high = np.zeros_like(rest), end.copy()
        x = 0.7 * end

        def rise(at: Array) -> tuple[Array, Array]:
            value, slope, bend = excess(at, rest, self.threshold)
            sign = (1 - at) * weight * slope - lam * self.noise_level - (1 - weight * value)
            return sign, (1 - at) * weight * bend

        falling = rise(end)[0] <= 0  # still falling at the end: the least value is there, exactly
        for _ in range(60):
            sign, change = rise(x)
            low, high = np.where(sign < 0, x, low), np.where(sign < 0, high, x)
            with np.errstate(over="ignore", invalid="ignore"):  # a step out of range is replaced by a bisection
                newton = x - sign / np.maximum(change, 1e-300)
            inside = (newton >= low) & (newton <= high)  # a step of 0 has arrived: halving would lead away again
            following = np.where(inside, newton, (low + high) / 2)
            following = np.where(falling, end, following)
            # the minimand is flat to second order, so 1e-8 in x is far below the shave in its value
            if following.size == 0 or float(np.max(np.abs(following - x))) <= 1e-8:
                x = following
                break
            x = following
        return x

    def _least_at_end(self, end: float, weight: float, lam: float) -> float:
        """The same at `v = V`, where `U(x) = l (x^2 - c)_+`: the kink, the root of a quadratic, or `end`."""
        c, kink = self.threshold, math.sqrt(self.threshold)
        # (1-x) 2 l x - lam c_w - 1 + l (x^2 - c) = 0, that is l x^2 - 2 l x + (1 + lam c_w + l c) = 0
        inside = 1 - (1 + lam * self.noise_level + weight * c) / weight
        root = 1 - math.sqrt(inside) if inside >= 0 else 1.0
        return min(max(root, kink), end)


__all__ = ["Boundary", "excess"]
