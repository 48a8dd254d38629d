"""Null models that a user writes: any smooth map from parameters to cell probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.weighted_fit import Fit, Whitening, total_excess, whitening

Array = NDArray[np.float64]
_SUM_SLACK = 1e-9


@dataclass(frozen=True)
class UserModel:
    """A null model on `cells` cells with `parameters` free parameters.

    Attributes
    ----------
    probabilities : callable
        From `parameters` numbers to `cells` positive numbers that sum to one; continuously differentiable, one to one,
        with a Jacobian of full rank (Assumption 7.1.1 of the dissertation).
    start : callable
        From noisy counts to a consistent estimate of the parameters. Noisy counts may be negative; give NaN where
        there is no estimate, which makes the test NULL.
    cells, parameters : int
        `parameters` at most `cells - 2`, so that something is left to test.
    bounds : (lower, upper), optional
        Numbers or lists; the estimate is clipped to them and the fit stays inside.
    jacobian : callable, optional
        `cells` by `parameters`; finite differences if None.
    more_starts : sequence, optional
        Other points to begin the search from. The best fit counts.
    name : str
        For people.

    Examples
    --------
    Two independent coins with one bias:

    >>> coins = UserModel(
    ...     probabilities=lambda t: np.outer([t[0], 1 - t[0]], [t[0], 1 - t[0]]).ravel(),
    ...     start=lambda h: [(2 * h[0] + h[1] + h[2]) / (2 * h.sum())],
    ...     cells=4, parameters=1, bounds=(0, 1), name="two coins of one bias",
    ... )
    >>> coins
    two coins of one bias
    """

    probabilities: Callable[[Array], Any]
    start: Callable[[Array], Any]
    cells: int
    parameters: int
    bounds: tuple[Any, Any] = (-np.inf, np.inf)
    jacobian: Callable[[Array], Any] | None = None
    more_starts: Sequence[Any] = ()
    name: str = "a user's model"

    groups = 1

    def __post_init__(self) -> None:
        d = check.whole("cells", self.cells, at_least=3)
        s = check.whole("parameters", self.parameters, at_least=1, at_most=d - 2)
        try:
            low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), (s,)) for b in self.bounds)
        except (TypeError, ValueError):
            raise InvalidParameter(f"bounds must be a pair of numbers or of lists of {s} numbers") from None
        if not np.all(low < high):
            raise InvalidParameter("bounds must have every lower end below its upper end")
        object.__setattr__(self, "bounds", (low, high))
        # A model that cannot be evaluated must fail here, before a release is spent on it.
        theta = self.first(np.full(d, 1000.0))
        if not np.isfinite(theta).all():
            raise InvalidParameter("start must give finite numbers for equal counts")
        self.law(theta)
        if self.jacobian is not None and np.shape(self.jacobian(theta)) != (d, s):
            raise InvalidParameter(f"jacobian must give an array of shape ({d}, {s})")

    def __repr__(self) -> str:
        return self.name

    def first(self, noisy: Array) -> Array:
        """The first estimate, inside the bounds."""
        theta = np.asarray(self.start(noisy), dtype=np.float64).reshape(-1)
        if theta.shape != (self.parameters,):
            raise InvalidParameter(f"start must give {self.parameters} numbers")
        return np.clip(theta, *self.bounds)

    def law(self, theta: Array) -> Array:
        """Cell probabilities, checked to sum to one: without that projection and centring disagree (spec, Alg. 15)."""
        p = np.asarray(self.probabilities(theta), dtype=np.float64).reshape(-1)
        if p.shape != (self.cells,) or not abs(p.sum() - 1) <= _SUM_SLACK:
            raise InvalidParameter(f"probabilities must give {self.cells} numbers that sum to one")
        return p


def fit_user(noisy: Array, n: int, variance: float, model: UserModel, minimum_expected: float) -> Fit:
    """Fit a user's model to noisy counts `(..., 1, cells)`, one after the other, by bounded nonlinear least squares.

    Time: a few milliseconds each.
    """
    batch = noisy.shape[:-2]
    flat = noisy.reshape(-1, model.cells)
    size = len(flat)
    projected, conclusive = np.full(size, np.nan), np.zeros(size, dtype=bool)
    theta, fitted = np.full((size, model.parameters), np.nan), np.full((size, 1, model.cells), np.nan)
    for i, counts in enumerate(flat):
        if counts.sum() > 0:
            first = model.first(counts)
            if not np.isfinite(first).all():  # no estimate from such counts: NULL, not an error after the release
                continue
            p = model.law(first)
            conclusive[i] = n * p.min() > minimum_expected
            if conclusive[i]:
                white = whitening(p[None, :], np.array([float(n)]), variance)
                theta[i], projected[i] = minimise_user(counts / n, first, white, model)
                fitted[i, 0] = model.law(theta[i])
    excess = total_excess(flat[:, None, :], np.array([float(n)]), variance)
    if not batch:
        return Fit(float(projected[0]), float(excess[0]), theta[0], fitted[0], bool(conclusive[0]))
    shaped = (a.reshape(*batch, *a.shape[1:]) for a in (projected, excess, theta, fitted, conclusive))
    return Fit(*shaped)


def minimise_user(x: Array, first: Array, white: Whitening, model: UserModel) -> tuple[Array, float]:
    """Minimise `|white(x - p(theta))|^2` inside the bounds, from `first` and the model's other starts."""
    from scipy.optimize import least_squares

    slope = model.jacobian

    def residual(theta: Array) -> Array:
        return white.apply((x - model.law(theta))[None, :])

    def derivative(theta: Array) -> Array:
        assert slope is not None
        return -white.columns(np.asarray(slope(theta), dtype=np.float64)[None, :, :])

    best: tuple[Array, float] | None = None
    for begin in (first, *(np.asarray(s, dtype=np.float64).reshape(-1) for s in model.more_starts)):
        found = least_squares(
            residual,
            np.clip(begin, *model.bounds),
            jac="3-point" if slope is None else derivative,
            bounds=model.bounds,
            x_scale="jac",
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        )
        if best is None or 2 * found.cost < best[1]:
            best = found.x, float(2 * found.cost)
    assert best is not None
    return best


__all__ = ["UserModel", "fit_user", "minimise_user"]
