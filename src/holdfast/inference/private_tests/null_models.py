"""Null models of counts: the probability vectors that a null allows, and the two-step estimate of independent margins.

Every model here maps one or more probability vectors (a product of simplices) to cell probabilities, in closed form and
for many datasets at once. For other models see `UserModel`.

The two-step estimate
---------------------
The dissertation denoises by minimising `(1 - g) |h~ - h|_1 + g |h~ - h|_2^2` over tables with total n and no negative
cell. For every `g` in (0, 1] the minimiser is the Euclidean projection on that simplex: in a positive cell the
optimality condition equates a strictly increasing map of `h_i - h~_i` with one multiplier, so all positive cells move
by the same amount (derived and reviewed, spec section 2). So there is nothing to choose and nothing to iterate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import probabilities as checked_probabilities

Array = NDArray[np.float64]

MINIMUM_COUNT = 5.0
"""The printed rule of thumb: an estimate from a table with a denoised cell below this is NULL."""


def simplex_projection(values: Any, total: float) -> Array:
    """Return the nearest point with sum `total` and no negative entry, over the last axis; leading axes are a batch.

    `max(values - t, 0)` with `t` fixed by the sum. O(d log d) each.

    Examples
    --------
    >>> simplex_projection([612.4, -35.2, 180.9, 301.7], 1000).round(4).tolist()
    [580.7333, 0.0, 149.2333, 270.0333]
    """
    y = np.asarray(values, dtype=np.float64)
    down = -np.sort(-y, axis=-1)
    excess = np.cumsum(down, axis=-1) - total
    size = np.arange(1, y.shape[-1] + 1)
    # The last place where the sorted value still exceeds the shift of its prefix; there the prefix is the support.
    last = y.shape[-1] - 1 - np.argmax((down - excess / size > 0)[..., ::-1], axis=-1)[..., None]
    projected: Array = np.maximum(y - np.take_along_axis(excess, last, -1) / (last + 1), 0.0)
    return projected


class TwoStep(NamedTuple):
    """Margins of a denoised table; `conclusive` is False where the rule of thumb fired (the margins are then unused).

    With a batch of tables each field has its leading axes.
    """

    rows: Array
    columns: Array
    conclusive: Any

    @property
    def probabilities(self) -> Array:
        """`rows_i columns_j`, shape `(..., r, c)`."""
        product: Array = self.rows[..., :, None] * self.columns[..., None, :]
        return product


def two_step_mle(noisy: Any, n: int, *, minimum_count: float = MINIMUM_COUNT) -> TwoStep:
    """Margins of independence from noisy tables of shape `(..., r, c)` (Algorithm 11, 2MLE).

    Parameters
    ----------
    noisy : array
        Noisy counts; may be negative.
    n : int
        The public number of records.
    minimum_count : float
        NULL where a denoised cell is below this; 5 as printed. With 0 only an empty row or column is NULL.

    Returns
    -------
    TwoStep
        `rows` and `columns` sum to one each.

    Notes
    -----
    With a positive `minimum_count` a table with a clipped cell is NULL whatever the rest, so the shift
    `(sum - n) / d` without clipping decides and no sort is needed (exact; spec 7.3, reviewed).

    Examples
    --------
    >>> found = two_step_mle([[260.3, 198.1], [305.6, 255.2]], 1000)
    >>> found.rows.round(4).tolist(), found.columns.round(4).tolist(), found.conclusive
    ([0.4488, 0.5512], [0.5563, 0.4437], True)
    >>> two_step_mle([[612.4, -35.2], [180.9, 301.7]], 1000).conclusive
    False
    """
    table = np.asarray(noisy, dtype=np.float64)
    if table.ndim < 2 or min(table.shape[-2:]) < 2:
        raise InvalidParameter(f"noisy must be tables of at least 2 by 2 cells, got shape {table.shape}")
    n = arguments.whole("n", n, at_least=1)
    least = arguments.real("minimum_count", minimum_count, at_least=0)
    cells = table.shape[-2] * table.shape[-1]
    if least > 0:
        clean = table - ((np.einsum("...ij->...", table) - n) / cells)[..., None, None]
    else:
        clean = simplex_projection(table.reshape(*table.shape[:-2], cells), float(n)).reshape(table.shape)
    rows, columns = np.einsum("...ij->...i", clean) / n, np.einsum("...ij->...j", clean) / n
    # Cells first: many short reductions over a last axis cost far more than one long one over the first.
    conclusive = clean.reshape(-1, cells).T.min(axis=0).reshape(table.shape[:-2]) >= least
    if least == 0:
        conclusive = conclusive & (rows.min(axis=-1) > 0) & (columns.min(axis=-1) > 0)
    return TwoStep(rows, columns, bool(conclusive) if np.ndim(conclusive) == 0 else conclusive)


def independence_statistic(noisy: Any, n: int, *, minimum_count: float = MINIMUM_COUNT) -> Any:
    """Pearson's statistic (6.18) of noisy tables against the independent fit of `two_step_mle`; NaN where NULL.

    Examples
    --------
    >>> round(independence_statistic([[260.3, 198.1], [305.6, 255.2]], 1000), 10)
    0.923888990...
    """
    table = np.asarray(noisy, dtype=np.float64)
    least = arguments.real("minimum_count", minimum_count, at_least=0)
    if least > 0 and table.ndim > 2 and table.size > 0 and min(table.shape[-2:]) > 1:
        return _many_statistics(table, arguments.whole("n", n, at_least=1), least)
    statistic = residual_statistic(table, n, two_step_mle(table, n, minimum_count=minimum_count))
    return float(statistic) if np.ndim(statistic) == 0 else statistic


def _many_statistics(tables: Array, n: int, least: float) -> Array:
    """`independence_statistic` of a batch, four times faster: cells first, so that every loop is over the tables."""
    r, c = tables.shape[-2:]
    cells = np.ascontiguousarray(tables.reshape(-1, r * c).T).reshape(r, c, -1)
    clean = cells - (cells.sum(axis=(0, 1)) - n) / (r * c)
    good = clean.min(axis=(0, 1)) >= least
    expected = clean.sum(axis=1)[:, None] * clean.sum(axis=0) / n
    if not good.all():
        expected = np.where(good, expected, 1.0)
    residual = cells - expected
    statistic = (residual * residual / expected).sum(axis=(0, 1))
    return np.where(good, statistic, np.nan).reshape(tables.shape[:-2])


def residual_statistic(table: Array, n: int, fitted: TwoStep) -> Array:
    """`sum (h~ - n p)^2 / (n p)` at the fitted `p`; NaN where the fit is NULL."""
    good = np.asarray(fitted.conclusive)
    expected = n * fitted.probabilities
    if not good.all():
        expected = np.where(good[..., None, None], expected, 1.0)
    residual = table - expected
    statistic = np.einsum("...ij,...ij->...", residual, residual / expected)
    return np.where(good, statistic, np.nan)


class NullModel(ABC):
    """Cell probabilities of `groups` independent samples over `cells` cells each, from probability vectors.

    Attributes
    ----------
    name : str
        For people.
    groups, cells : int
        Counts have shape `(groups, cells)`; one group unless sizes of several are fixed by design.
    simplices : tuple of int
        Lengths of the probability vectors that are the parameters, written one after the other in `theta`.
    """

    name: str
    groups: int = 1
    cells: int
    simplices: tuple[int, ...]

    @property
    def parameters(self) -> int:
        """The dimension `s` of the model: the number of free parameters, `sum(length - 1)` over its probability
        vectors.
        """
        return sum(length - 1 for length in self.simplices)

    @property
    def coordinates(self) -> int:
        """The length of the parameter vector `theta`, `sum(length)` over its probability vectors."""
        return sum(self.simplices)

    @cached_property
    def tangent(self) -> Array:
        """The directions in which the parameters can move while every probability vector keeps its sum.

        It is an array of shape `(coordinates, parameters)`. Each direction is a unit vector minus the last unit vector
        of the same probability vector.
        """
        basis = np.zeros((self.coordinates, self.parameters))
        row = column = 0
        for length in self.simplices:
            basis[row : row + length - 1, column : column + length - 1] = np.eye(length - 1)
            basis[row + length - 1, column : column + length - 1] = -1.0
            row, column = row + length, column + length - 1
        return basis

    def project(self, theta: Array) -> Array:
        """Return the nearest parameter vector whose entries are non-negative and whose probability vectors sum to
        one.
        """
        parts, row = [], 0
        for length in self.simplices:
            parts.append(simplex_projection(theta[..., row : row + length], 1.0))
            row += length
        return np.concatenate(parts, axis=-1) if parts else theta

    @abstractmethod
    def probabilities(self, theta: Array) -> Array:
        """Return the cell probabilities, shape `(..., groups, cells)`, for parameters `theta`, shape `(...,
        coordinates)`.

        The probabilities of each group sum to one.
        """

    @abstractmethod
    def jacobian(self, theta: Array) -> Array:
        """Return the derivatives of `probabilities`, an array of shape `(..., groups, cells, coordinates)`."""

    @abstractmethod
    def start(self, noisy: Array) -> Array:
        """Return a consistent estimate of the parameters from noisy counts with a positive total.

        The noisy counts have the shape `(..., groups, cells)`. The estimate is the `phi` of Algorithm 15.
        """

    def __repr__(self) -> str:
        return self.name


class Simple(NullModel):
    """The null model with one given probability vector and no parameters (`s = 0`): goodness of fit.

    Examples
    --------
    >>> Simple([0.5, 0.25, 0.25]).cells, Simple([0.5, 0.25, 0.25]).parameters
    (3, 0)
    """

    simplices = ()

    def __init__(self, p0: Any) -> None:
        self._p0 = checked_probabilities("p0", p0)
        self.cells = int(self._p0.size)
        self.name = f"a given distribution on {self.cells} cells"

    def probabilities(self, theta: Array) -> Array:
        """Return the given probability vector."""
        return np.broadcast_to(self._p0, (*theta.shape[:-1], 1, self.cells))

    def jacobian(self, theta: Array) -> Array:
        """Return an empty array: the model has no parameter."""
        return np.zeros((*theta.shape[:-1], 1, self.cells, 0))

    def start(self, noisy: Array) -> Array:
        """Return an empty array: the model has no parameter."""
        return np.zeros((*noisy.shape[:-2], 0))


class Independence(NullModel):
    """The null model of independence, `p_ij = rows_i columns_j`, on an `r` by `c` table that is read row by row.

    It has `s = r + c - 2` free parameters.

    Examples
    --------
    >>> Independence(3, 2).parameters, Independence(3, 2).cells
    (3, 6)
    """

    def __init__(self, r: int, c: int) -> None:
        self.r, self.c = arguments.whole("r", r, at_least=2), arguments.whole("c", c, at_least=2)
        self.cells = self.r * self.c
        self.simplices = (self.r, self.c)
        self.name = f"independence in a {self.r} by {self.c} table"

    def probabilities(self, theta: Array) -> Array:
        """Return the products of the margins."""
        product = theta[..., : self.r, None] * theta[..., None, self.r :]
        return product.reshape(*theta.shape[:-1], 1, self.cells)

    def jacobian(self, theta: Array) -> Array:
        """Return the derivatives of the cell probabilities. Each cell depends on one row and one column."""
        slopes = np.zeros((*theta.shape[:-1], self.r, self.c, self.r + self.c))
        i, j = np.arange(self.r), np.arange(self.c)
        slopes[..., i, :, i] = np.broadcast_to(theta[..., self.r :], (self.r, *theta.shape[:-1], self.c))
        slopes[..., :, j, self.r + j] = np.broadcast_to(theta[..., : self.r, None], (*theta.shape[:-1], self.r, self.c))
        return slopes.reshape(*theta.shape[:-1], 1, self.cells, self.r + self.c)

    def start(self, noisy: Array) -> Array:
        """Return the noisy margins divided by the noisy total, as a first estimate."""
        table = noisy.reshape(*noisy.shape[:-2], self.r, self.c)
        total = table.sum(axis=(-2, -1))[..., None]
        return np.concatenate([table.sum(axis=-1) / total, table.sum(axis=-2) / total], axis=-1)


class Homogeneity(NullModel):
    """The null model in which several samples of fixed sizes share one distribution.

    It has `s = cells - 1` free parameters. The counts have the shape `(groups, cells)`.

    Examples
    --------
    >>> Homogeneity(2, 3).cells, Homogeneity(2, 3).parameters
    (3, 2)
    """

    def __init__(self, groups: int, cells: int) -> None:
        self.groups = arguments.whole("groups", groups, at_least=2)
        self.cells = arguments.whole("cells", cells, at_least=2)
        self.simplices = (self.cells,)
        self.name = f"homogeneity of {self.groups} groups over {self.cells} cells"

    def probabilities(self, theta: Array) -> Array:
        """Return the same probabilities for every group."""
        return np.broadcast_to(theta[..., None, :], (*theta.shape[:-1], self.groups, self.cells))

    def jacobian(self, theta: Array) -> Array:
        """Return the identity matrix for every group, which is the derivative of its probabilities."""
        return np.broadcast_to(np.eye(self.cells), (*theta.shape[:-1], self.groups, self.cells, self.cells))

    def start(self, noisy: Array) -> Array:
        """Return the pooled proportions as a first estimate."""
        pooled: Array = noisy.sum(axis=-2) / noisy.sum(axis=(-2, -1))[..., None]
        return pooled


class HardyWeinberg(NullModel):
    """The null model in which genotypes are random pairs of alleles (Hardy-Weinberg equilibrium).

    It has `s = alleles - 1` free parameters. The cells are the unordered pairs of alleles in the order (1,1), (1,2),
    ..., (2,2), ...: AA, Aa, aa for two alleles.

    Examples
    --------
    >>> model = HardyWeinberg()
    >>> model.cells, model.parameters
    (3, 1)
    """

    def __init__(self, alleles: int = 2) -> None:
        self.alleles = arguments.whole("alleles", alleles, at_least=2)
        self._first, self._second = np.triu_indices(self.alleles)
        self._times = np.where(self._first == self._second, 1.0, 2.0)
        self.cells = self._first.size
        self.simplices = (self.alleles,)
        self.name = f"Hardy-Weinberg equilibrium of {self.alleles} alleles"

    def probabilities(self, theta: Array) -> Array:
        """Return the genotype probabilities, `q_i^2` and `2 q_i q_j` for the allele probabilities `q`."""
        law: Array = (self._times * theta[..., self._first] * theta[..., self._second])[..., None, :]
        return law

    def jacobian(self, theta: Array) -> Array:
        """Return the derivatives of the genotype probabilities."""
        slopes = np.zeros((*theta.shape[:-1], self.cells, self.alleles))
        cell = np.arange(self.cells)
        slopes[..., cell, self._first] += self._times * theta[..., self._second]
        slopes[..., cell, self._second] += self._times * theta[..., self._first]
        return slopes[..., None, :, :]

    def start(self, noisy: Array) -> Array:
        """Return the allele proportions of the noisy genotypes as a first estimate."""
        counts = noisy[..., 0, :]
        alleles = np.zeros((*counts.shape[:-1], self.alleles))
        for a in range(self.alleles):
            holds = (self._first == a).astype(float) + (self._second == a)
            alleles[..., a] = counts @ holds
        shares: Array = alleles / (2 * counts.sum(axis=-1)[..., None])
        return shares


class Symmetry(NullModel):
    """The null model of symmetry, `p_ij = p_ji`, on a `k` by `k` table that is read row by row.

    In paired data it means that the marginals do not change. It has `s = k(k + 1)/2 - 1` free parameters.

    Examples
    --------
    >>> Symmetry(3).cells, Symmetry(3).parameters
    (9, 5)
    """

    def __init__(self, k: int) -> None:
        self.k = arguments.whole("k", k, at_least=2)
        first, second = np.triu_indices(self.k)
        self.cells = self.k * self.k
        self.simplices = (first.size,)
        share = np.zeros((self.cells, first.size))
        pair = np.arange(first.size)
        half = np.where(first == second, 1.0, 0.5)
        share[first * self.k + second, pair] = half
        share[second * self.k + first, pair] = half
        self._share = share
        self.name = f"symmetry of a {self.k} by {self.k} table"

    def probabilities(self, theta: Array) -> Array:
        """Return the cell probabilities. The probability of each unordered pair is divided equally between its two
        cells.
        """
        law: Array = (theta @ self._share.T)[..., None, :]
        return law

    def jacobian(self, theta: Array) -> Array:
        """Return the derivatives of the cell probabilities, which are constant because the model is linear."""
        return np.broadcast_to(self._share, (*theta.shape[:-1], 1, *self._share.shape))

    def start(self, noisy: Array) -> Array:
        """Return the proportions of the unordered pairs as a first estimate."""
        counts = noisy[..., 0, :]
        shares: Array = counts @ (self._share > 0) / counts.sum(axis=-1)[..., None]
        return shares
