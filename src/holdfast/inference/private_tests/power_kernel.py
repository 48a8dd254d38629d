"""The power of a quadratic test of noisy proportions: one kernel for every chi-square test here.

Each statistic is, near the null, `|root v|^2` with `v` the noisy proportions less the null ones. In the limit `v` is
normal, so the statistic is a mixture of chi-squares under the null (its weights give the threshold) and a noncentral
one under an alternative. The dissertation's theorems take the covariance at the null in both (local alternatives). The
covariance at the alternative is what the central limit theorem says for a fixed one, and costs nothing more: where a
small cell changes by a large factor it is right within .003 and the printed form is off by .03 to .10 (derived here;
`tests/inference/private_tests/test_power.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from holdfast.bounds.chi_square_mixture import mixture_sf
from holdfast.bounds.chi_square_quantile import mixture_quantile
from holdfast.inference.private_tests.monte_carlo import rank

Array = NDArray[np.float64]
At = Literal["alternative", "null"]

#: Shares of the largest weight below which a weight is rounding error.
_NOTHING = 1e-11
#: Noncentralities from which the power is one to the last digit.
_CERTAIN = 1e6
#: Nodes over the law of a Monte Carlo threshold; 24 leave 1e-6.
_NODES = 24
#: Thresholds between which its power is interpolated.
_GRID = 257
#: Draws from the limit law where the noise is not normal. Power 1/2 has standard error .0018.
LIMIT_DRAWS = 80_000


@dataclass(frozen=True)
class Quadratic:
    """A statistic `|root v|^2 + chi2(extra)`, the second term independent and free of the alternative.

    Attributes
    ----------
    root : array
        `(k, cells)`, the groups of a stacked design one after the other.
    null : array
        Covariance `(cells, cells)` of `v` under the null, noise included.
    extra : int
        Degrees of freedom that only noise fills: 1 a group for the nonprojected statistics.
    threshold : tuple, optional
        Weights of the law that gives the critical value, where the test does not use the right one.
    """

    root: Array
    null: Array
    extra: int = 0
    threshold: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Law:
    """`constant + sum_j weight_j chi2(1, noncentrality_j)`."""

    weights: tuple[float, ...]
    noncentrality: tuple[float, ...]
    constant: float = 0.0

    def sf(self, x: float) -> float:
        """The probability beyond `x`."""
        return float(_upper(np.array([x]), self)[0])


def quadratic_law(test: Quadratic, shift: Array, covariance: Array) -> Law:
    """The law of the statistic where `v` is normal with mean `shift`.

    With eigenpairs `(l_j, u_j)` of `root covariance root'`, the weights are `l_j` and the noncentralities
    `(u_j . root shift)^2 / l_j`; a direction without variance adds a constant (spec 3, Theorem 6.1.11 simplified).
    """
    values, vectors = np.linalg.eigh(test.root @ covariance @ test.root.T)
    along = np.square(vectors.T @ (test.root @ shift))
    keep = values > _NOTHING * max(values[-1], 1e-300)
    weights = np.where(np.abs(values - 1) < 1e-9, 1.0, values)[keep]  # chi-squares, up to rounding
    # What is left where there is no variance is rounding error, unless the alternative empties a cell.
    constant = float(along[~keep].sum())
    constant = constant if constant > 1e-9 * float(along.sum()) else 0.0
    extra = np.ones(test.extra)
    return Law(
        tuple(np.concatenate([weights, extra]).tolist()),
        tuple(np.concatenate([along[keep] / values[keep], 0 * extra]).tolist()),
        constant,
    )


def quadratic_power(
    test: Quadratic, shift: Array, covariance: Array, alpha: float, *, m: int | None = None
) -> tuple[float, float]:
    """The power in the limit with Gaussian noise, and the noncentrality `sum weight nc` over the mean weight.

    With `m` the threshold is the order statistic of `m` replicates: its level is Beta distributed, and the power is the
    mean of the powers at those levels.
    """
    under = test.threshold or quadratic_law(test, np.zeros_like(shift), test.null).weights
    found = quadratic_law(test, shift, covariance)
    signal = float(np.dot(found.weights, found.noncentrality)) + found.constant
    size = signal * len(found.weights) / max(float(np.sum(found.weights)), 1e-300)
    if m is None:
        return found.sf(critical(under, alpha)), size
    levels, masses = threshold_levels(m, alpha)
    # One vectorised pass over a grid of thresholds; the power is smooth in the logarithm of the level.
    points = np.linspace(critical(under, float(levels.max())), critical(under, float(levels.min())), _GRID)
    reached = np.log(_upper(points, Law(under, (0.0,) * len(under))))
    powers = np.interp(np.log(levels), reached[::-1], _upper(points, found)[::-1])
    return float(masses @ powers), size


def limit_power(
    test: Quadratic,
    shift: Array,
    covariance: Array,
    noise: Array,
    alpha: float,
    *,
    m: int | None = None,
    seed: int = 1,
) -> float:
    """The power in the limit where the noise is Laplace: sampling error is normal, the noise keeps its own law.

    Simulated with `LIMIT_DRAWS` draws that are the same for every setting, so that the power moves smoothly with n and
    epsilon and a planner can solve for them.

    Parameters
    ----------
    test : Quadratic
        `test.null` and `covariance` here are without the noise.
    shift, covariance : array
        Of `v` under the alternative.
    noise : array
        Standard deviation of the noise on each cell of `v`.
    alpha, m
        As in `quadratic_power`.
    seed : int
        Of the simulation.
    """
    cells = shift.size
    normal, laplace = _draws(cells, seed)

    def values(at: Array, spread: Array) -> Array:
        size, vectors = np.linalg.eigh(spread)
        v = at + normal @ (vectors * np.sqrt(np.maximum(size, 0.0))).T + laplace * noise
        found: Array = np.square(v @ test.root.T).sum(axis=1)
        return found

    under = np.sort(values(np.zeros(cells), test.null))
    above = np.sort(values(shift, covariance))
    levels, masses = threshold_levels(m, alpha) if m is not None else (np.array([alpha]), np.ones(1))
    thresholds = np.quantile(under, 1 - levels)
    return float(masses @ (1 - np.searchsorted(above, thresholds, side="right") / above.size))


def _upper(points: Array, law: Law) -> Array:
    """The probability beyond each point, never outside [0, 1]."""
    if sum(law.noncentrality) > _CERTAIN:
        return np.ones(points.size)
    if not law.weights:
        return (points < law.constant).astype(np.float64)
    found = mixture_sf(np.maximum(points - law.constant, 0.0), law.weights, noncentrality=law.noncentrality)
    return np.asarray(np.clip(found, 0.0, 1.0))


@lru_cache(maxsize=4)
def _draws(cells: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, cells])
    draws = max(2000, min(LIMIT_DRAWS, 16_000_000 // cells))
    return rng.normal(size=(draws, cells)), rng.laplace(scale=np.sqrt(0.5), size=(draws, cells))


def threshold_levels(m: int, alpha: float) -> tuple[Array, Array]:
    """Nodes and masses of the true level of a Monte Carlo threshold: Beta(m + 1 - t, t), t its rank among `m`.

    Examples
    --------
    >>> levels, masses = threshold_levels(999, 0.05)
    >>> print(f"{levels @ masses:.4f}")                                  # the level is kept on average
    0.0500
    """
    t = rank(m, alpha)
    x, masses = np.polynomial.legendre.leggauss(_NODES)
    levels: Array = betaincinv(m + 1 - t, t, 0.5 * (x + 1))
    return levels, 0.5 * masses


@lru_cache(maxsize=4096)
def critical(weights: tuple[float, ...], alpha: float) -> float:
    """The upper `alpha` quantile of `sum weight chi2(1)`."""
    if all(w == 1.0 for w in weights):
        return float(mixture_quantile(alpha, [1.0], degrees=len(weights)))
    return float(mixture_quantile(alpha, weights))


def multinomial(p: Any) -> Array:
    """`Diag(p) - p p'`."""
    law = np.asarray(p, dtype=np.float64)
    return np.diag(law) - np.outer(law, law)


__all__ = [
    "LIMIT_DRAWS",
    "At",
    "Law",
    "Quadratic",
    "critical",
    "limit_power",
    "multinomial",
    "quadratic_law",
    "quadratic_power",
    "threshold_levels",
]
