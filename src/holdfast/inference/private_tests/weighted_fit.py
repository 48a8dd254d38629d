"""Fit a null model to noisy counts by minimum chi-square, for many datasets at once.

The statistic of Algorithm 15 is `T(theta) = sum_g n_g v' N v`, `v = h~_g / n_g - p_g(theta)`, with
`N = Pi (Diag(p) - p p' + c I)^-1 Pi` at the first estimate `p = p(phi)` and `Pi` the centring. In closed form

    v' N w = sum u_i x_i / a_i + (c / lam) (g . u)(g . x),      u = v - mean(v),  x = w - mean(w),
    a_i = p_i + c,   g_i = mean(1/a) - 1/a_i,   lam = sum p_i / a_i,

which has no cancellation as `c -> 0` (derived, reviewed: spec, Algorithm 14). So `T` is the squared length of a vector
that is linear in `v`, and the fit is a least-squares problem.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.inference.private_tests.monte_carlo import blocks
from holdfast.inference.private_tests.null_models import NullModel

Array = NDArray[np.float64]

#: A search ends where the statistic falls by less than this part of itself, or of one: below lies rounding.
_CONVERGED = 1e-13
_STEPS = 200
_HALVINGS = 30


class Fit(NamedTuple):
    """A fitted null model; with a batch each field has its leading axes.

    Attributes
    ----------
    projected : float or array
        The minimum of the projected statistic; NaN where the rule of thumb fired.
    excess : float or array
        `sum_g (sum h~_g - n_g)^2 / (cells variance)`: what the nonprojected statistic has in addition.
    theta : array
        The minimiser.
    probabilities : array
        Cell probabilities there, `(..., groups, cells)`.
    conclusive : bool or array
        Whether every expected count at the first estimate exceeded the minimum.
    """

    projected: Any
    excess: Any
    theta: Array
    probabilities: Array
    conclusive: Any

    @property
    def nonprojected(self) -> Any:
        """The minimum of the nonprojected statistic, which has the same minimiser (both laws sum to one)."""
        return self.projected + self.excess


class Whitening(NamedTuple):
    """The square root of `N` at a first estimate, for residuals of shape `(..., groups, cells)`."""

    root: Array  # sqrt(n_g / a)
    tilt: Array  # sqrt(n_g c_g / lam) g

    def apply(self, v: Array) -> Array:
        """A vector of length `groups (cells + 1)` whose squared length is `sum_g n_g v' N v`."""
        u = v - v.mean(axis=-1, keepdims=True)
        whole = np.concatenate([u * self.root, (u * self.tilt).sum(axis=-1, keepdims=True)], axis=-1)
        return whole.reshape(*whole.shape[:-2], -1)

    def columns(self, jacobian: Array) -> Array:
        """The same for each column of a Jacobian `(..., groups, cells, k)`."""
        return np.moveaxis(self.apply(np.moveaxis(jacobian, -1, 0)), 0, -1)

    def rows(self, keep: Any) -> Whitening:
        """Some of a batch."""
        return Whitening(self.root[keep], self.tilt[keep])


def whitening(p: Array, sizes: Array, variance: float) -> Whitening:
    """The whitening at cell probabilities `p` `(..., groups, cells)` for groups of public `sizes`."""
    n = sizes[:, None]
    c = variance / n
    inverse = 1 / (p + c)
    lam = (p * inverse).sum(axis=-1, keepdims=True)
    tilt = (inverse.mean(axis=-1, keepdims=True) - inverse) * np.sqrt(n * c / lam)
    return Whitening(np.sqrt(n * inverse), tilt)


def fit(noisy: Array, sizes: Array, variance: float, model: NullModel, minimum_expected: float) -> Fit:
    """Minimise the statistic over the model for noisy counts of shape `(..., groups, cells)`.

    Gauss-Newton from the first estimate with step halving, batched; where it leaves the parameter space, spectral
    projected gradient inside it. NULL where an expected count `n_g p(phi)` is at most `minimum_expected`, which at 0
    still refuses what is not a positive law.
    """
    batch = noisy.shape[:-2]
    flat = noisy.reshape(-1, *noisy.shape[-2:])
    total = flat.sum(axis=(-2, -1))
    known = total > 0
    first = model.start(np.where(known[:, None, None], flat, 1.0))
    p = model.probabilities(first)
    conclusive = known & ((p * sizes[:, None]).min(axis=(-2, -1)) > minimum_expected)
    theta, projected = first.copy(), np.full(total.size, np.nan)
    good = np.flatnonzero(conclusive)
    for part in blocks(good.size, model.groups * model.cells * (model.coordinates + 4)):
        rows = good[part]
        white = whitening(p[rows], sizes, variance)
        theta[rows], projected[rows] = _minimise(flat[rows] / sizes[:, None], first[rows], white, model)
        if not batch:  # the statistic is flat where it is least; an estimate that is shown gets its last digits
            theta[rows] = _polish(flat[rows] / sizes[:, None], theta[rows], white, model)
    excess = total_excess(flat, sizes, variance)
    fitted = model.probabilities(theta)
    if not batch:
        return Fit(float(projected[0]), float(excess[0]), theta[0], fitted[0], bool(conclusive[0]))
    return Fit(
        projected.reshape(batch),
        excess.reshape(batch),
        theta.reshape(*batch, -1),
        fitted.reshape(*batch, *fitted.shape[1:]),
        conclusive.reshape(batch),
    )


def total_excess(noisy: Array, sizes: Array, variance: float) -> Array:
    """`sum_g (sum h~_g - n_g)^2 / (cells variance)`; without noise 0 where the totals fit, else infinite."""
    off = np.square(noisy.sum(axis=-1) - sizes).sum(axis=-1)
    if variance == 0:
        return np.where(off > 0, np.inf, 0.0)
    found: Array = off / (noisy.shape[-1] * variance)
    return found


def _minimise(x: Array, theta: Array, white: Whitening, model: NullModel) -> tuple[Array, Array]:
    theta, value = gauss_newton(x, theta, white, model)
    outside = np.flatnonzero(theta.min(axis=-1, initial=0.0) < 0)
    if outside.size:
        inside = model.project(theta[outside])
        theta[outside], value[outside] = _spectral(x[outside], inside, white.rows(outside), model)
    return theta, value


def gauss_newton(x: Array, theta: Array, white: Whitening, model: NullModel) -> tuple[Array, Array]:
    """Minimise `|white(x - p(theta))|^2` with sums of one and no sign constraint, from `theta`; batched.

    Returns the minimisers, whose entries may be negative, and the minima. The local tests want exactly this: a sign
    constraint that binds adds to the statistic what its chi-square limit does not know.
    """
    theta = theta.copy()
    residual = white.apply(x - model.probabilities(theta))
    value = np.square(residual).sum(axis=-1)
    if model.parameters == 0:
        return theta, value
    active = np.arange(len(theta))
    for _ in range(_STEPS):
        part, here = white.rows(active), theta[active]
        slopes = part.columns(model.jacobian(here) @ model.tangent)
        move = _least_squares(slopes, residual[active]) @ model.tangent.T
        length, before = np.ones(active.size), value[active]
        slack = _CONVERGED * (1 + before)
        for _ in range(_HALVINGS):
            trial = here + length[:, None] * move
            r = part.apply(x[active] - model.probabilities(trial))
            now = np.square(r).sum(axis=-1)
            worse = now > before + slack
            if not worse.any():
                break
            length = np.where(worse, length / 2, length)
        better = now < before
        gained = active[better]
        theta[gained], residual[gained], value[gained] = trial[better], r[better], now[better]
        active = active[before - now > slack]
        if not active.size:
            break
    return theta, value


def _polish(x: Array, theta: Array, white: Whitening, model: NullModel) -> Array:
    """A few full steps at the minimum, where the statistic no longer sees them. Not on the boundary."""
    if model.parameters == 0 or theta.min() <= 0:
        return theta
    for _ in range(8):
        slopes = white.columns(model.jacobian(theta) @ model.tangent)
        move = _least_squares(slopes, white.apply(x - model.probabilities(theta))) @ model.tangent.T
        if np.abs(move).max() > 1e-5:
            return theta
        theta = theta + move
    return theta


def _least_squares(slopes: Array, residual: Array) -> Array:
    """The Gauss-Newton step by normal equations; a speck of ridge keeps a degenerate one solvable."""
    gram = np.swapaxes(slopes, -1, -2) @ slopes
    size = gram.shape[-1]
    ridge = 1e-14 * np.trace(gram, axis1=-2, axis2=-1)[:, None, None] * np.eye(size)
    right = np.swapaxes(slopes, -1, -2) @ residual[..., None]
    step: Array = np.linalg.solve(gram + ridge, right)[..., 0]
    return step


def _spectral(x: Array, theta: Array, white: Whitening, model: NullModel) -> tuple[Array, Array]:
    """Spectral projected gradient (Barzilai and Borwein's step, Armijo's rule) on the product of simplices."""

    def evaluate(at: Array, part: Whitening, data: Array) -> tuple[Array, Array]:
        r = part.apply(data - model.probabilities(at))
        slope = part.columns(model.jacobian(at))
        return np.square(r).sum(axis=-1), -2 * (np.swapaxes(slope, -1, -2) @ r[..., None])[..., 0]

    theta = theta.copy()
    value, gradient = evaluate(theta, white, x)
    pace = 1 / np.maximum(np.abs(gradient).max(axis=-1), 1e-300)
    active = np.arange(len(theta))
    for _ in range(_STEPS):
        part, data, here = white.rows(active), x[active], theta[active]
        move = model.project(here - pace[active, None] * gradient[active]) - here
        fall = (gradient[active] * move).sum(axis=-1)
        length = np.ones(active.size)
        for _ in range(_HALVINGS):
            now, slope = evaluate(here + length[:, None] * move, part, data)
            short = now > value[active] + 1e-4 * length * fall
            if not short.any():
                break
            length = np.where(short, length / 2, length)
        better = now < value[active]
        gained, step = active[better], (length[:, None] * move)[better]
        turned = ((slope[better] - gradient[gained]) * step).sum(axis=-1)
        curved = turned > 0
        pace[gained[curved]] = np.square(step[curved]).sum(axis=-1) / turned[curved]
        done = ~better | (value[active] - now <= _CONVERGED * (1 + value[active]))
        theta[gained], value[gained], gradient[gained] = here[better] + step, now[better], slope[better]
        active = active[~done]
        if not active.size:
            break
    return theta, value


__all__ = ["Fit", "Whitening", "fit", "gauss_newton", "total_excess", "whitening"]
