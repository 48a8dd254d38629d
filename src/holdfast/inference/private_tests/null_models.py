"""Null models of counts: which probability vectors the null allows. Parameters are probability vectors themselves.

Every model here maps one or more probability vectors (a product of simplices) to cell probabilities, in closed form and
for many datasets at once. For other models see `UserModel`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.inference.private_tests.counts import probabilities as checked_probabilities
from holdfast.inference.private_tests.two_step_mle import simplex_projection

Array = NDArray[np.float64]


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
        """The dimension `s` of the model: `sum(length - 1)`."""
        return sum(length - 1 for length in self.simplices)

    @property
    def coordinates(self) -> int:
        """Length of `theta`: `sum(length)`."""
        return sum(self.simplices)

    @cached_property
    def tangent(self) -> Array:
        """Directions that keep every sum, `(coordinates, parameters)`: a unit vector less the last one, per simplex."""
        basis = np.zeros((self.coordinates, self.parameters))
        row = column = 0
        for length in self.simplices:
            basis[row : row + length - 1, column : column + length - 1] = np.eye(length - 1)
            basis[row + length - 1, column : column + length - 1] = -1.0
            row, column = row + length, column + length - 1
        return basis

    def project(self, theta: Array) -> Array:
        """The nearest parameter with non-negative entries and sums of one."""
        parts, row = [], 0
        for length in self.simplices:
            parts.append(simplex_projection(theta[..., row : row + length], 1.0))
            row += length
        return np.concatenate(parts, axis=-1) if parts else theta

    @abstractmethod
    def probabilities(self, theta: Array) -> Array:
        """Cell probabilities `(..., groups, cells)` of `theta` `(..., coordinates)`; each group sums to one."""

    @abstractmethod
    def jacobian(self, theta: Array) -> Array:
        """Derivatives `(..., groups, cells, coordinates)` of the polynomial that `probabilities` evaluates."""

    @abstractmethod
    def start(self, noisy: Array) -> Array:
        """A consistent estimate from noisy counts `(..., groups, cells)` with a positive total: `phi` of Alg. 15."""

    def __repr__(self) -> str:
        return self.name


class Simple(NullModel):
    """One probability vector and nothing to fit: goodness of fit as a case of the general test (`s = 0`).

    Examples
    --------
    >>> Simple([0.5, 0.25, 0.25]).cells, Simple([0.5, 0.25, 0.25]).parameters
    (3, 0)
    """

    simplices = ()

    def __init__(self, p0: Any) -> None:
        self._p0 = checked_probabilities("p0", p0)
        self.cells = int(self._p0.size)
        self.name = f"a given law on {self.cells} cells"

    def probabilities(self, theta: Array) -> Array:
        """The given vector."""
        return np.broadcast_to(self._p0, (*theta.shape[:-1], 1, self.cells))

    def jacobian(self, theta: Array) -> Array:
        """Empty."""
        return np.zeros((*theta.shape[:-1], 1, self.cells, 0))

    def start(self, noisy: Array) -> Array:
        """Empty."""
        return np.zeros((*noisy.shape[:-2], 0))


class Independence(NullModel):
    """`p_ij = rows_i columns_j` on an `r` by `c` table read row by row (`s = r + c - 2`).

    Examples
    --------
    >>> Independence(3, 2).parameters, Independence(3, 2).cells
    (3, 6)
    """

    def __init__(self, r: int, c: int) -> None:
        self.r, self.c = check.whole("r", r, at_least=2), check.whole("c", c, at_least=2)
        self.cells = self.r * self.c
        self.simplices = (self.r, self.c)
        self.name = f"independence in a {self.r} by {self.c} table"

    def probabilities(self, theta: Array) -> Array:
        """Products of the margins."""
        product = theta[..., : self.r, None] * theta[..., None, self.r :]
        return product.reshape(*theta.shape[:-1], 1, self.cells)

    def jacobian(self, theta: Array) -> Array:
        """Each cell depends on one row and one column."""
        found = np.zeros((*theta.shape[:-1], self.r, self.c, self.r + self.c))
        i, j = np.arange(self.r), np.arange(self.c)
        found[..., i, :, i] = np.broadcast_to(theta[..., self.r :], (self.r, *theta.shape[:-1], self.c))
        found[..., :, j, self.r + j] = np.broadcast_to(theta[..., : self.r, None], (*theta.shape[:-1], self.r, self.c))
        return found.reshape(*theta.shape[:-1], 1, self.cells, self.r + self.c)

    def start(self, noisy: Array) -> Array:
        """Noisy margins over the noisy total."""
        table = noisy.reshape(*noisy.shape[:-2], self.r, self.c)
        total = table.sum(axis=(-2, -1))[..., None]
        return np.concatenate([table.sum(axis=-1) / total, table.sum(axis=-2) / total], axis=-1)


class Homogeneity(NullModel):
    """Several samples of sizes fixed by design share one law (`s = cells - 1`). Counts have shape `(groups, cells)`.

    Examples
    --------
    >>> Homogeneity(2, 3).cells, Homogeneity(2, 3).parameters
    (3, 2)
    """

    def __init__(self, groups: int, cells: int) -> None:
        self.groups = check.whole("groups", groups, at_least=2)
        self.cells = check.whole("cells", cells, at_least=2)
        self.simplices = (self.cells,)
        self.name = f"homogeneity of {self.groups} groups over {self.cells} cells"

    def probabilities(self, theta: Array) -> Array:
        """The same for every group."""
        return np.broadcast_to(theta[..., None, :], (*theta.shape[:-1], self.groups, self.cells))

    def jacobian(self, theta: Array) -> Array:
        """The identity in every group."""
        return np.broadcast_to(np.eye(self.cells), (*theta.shape[:-1], self.groups, self.cells, self.cells))

    def start(self, noisy: Array) -> Array:
        """The pooled proportions."""
        pooled: Array = noisy.sum(axis=-2) / noisy.sum(axis=(-2, -1))[..., None]
        return pooled


class HardyWeinberg(NullModel):
    """Genotypes of `alleles` alleles that pair at random (`s = alleles - 1`).

    Cells are the unordered pairs in the order (1,1), (1,2), ..., (2,2), ...: AA, Aa, aa for two alleles.

    Examples
    --------
    >>> model = HardyWeinberg()
    >>> model.cells, model.parameters
    (3, 1)
    """

    def __init__(self, alleles: int = 2) -> None:
        self.alleles = check.whole("alleles", alleles, at_least=2)
        self._first, self._second = np.triu_indices(self.alleles)
        self._times = np.where(self._first == self._second, 1.0, 2.0)
        self.cells = self._first.size
        self.simplices = (self.alleles,)
        self.name = f"Hardy-Weinberg equilibrium of {self.alleles} alleles"

    def probabilities(self, theta: Array) -> Array:
        """`q_i^2` and `2 q_i q_j`."""
        found: Array = (self._times * theta[..., self._first] * theta[..., self._second])[..., None, :]
        return found

    def jacobian(self, theta: Array) -> Array:
        """Of the same products."""
        found = np.zeros((*theta.shape[:-1], self.cells, self.alleles))
        cell = np.arange(self.cells)
        found[..., cell, self._first] += self._times * theta[..., self._second]
        found[..., cell, self._second] += self._times * theta[..., self._first]
        return found[..., None, :, :]

    def start(self, noisy: Array) -> Array:
        """Allele proportions of the noisy genotypes."""
        counts = noisy[..., 0, :]
        alleles = np.zeros((*counts.shape[:-1], self.alleles))
        for a in range(self.alleles):
            holds = (self._first == a).astype(float) + (self._second == a)
            alleles[..., a] = counts @ holds
        found: Array = alleles / (2 * counts.sum(axis=-1)[..., None])
        return found


class Symmetry(NullModel):
    """`p_ij = p_ji` on a `k` by `k` table read row by row (`s = k(k + 1)/2 - 1`): marginal change in paired data.

    Examples
    --------
    >>> Symmetry(3).cells, Symmetry(3).parameters
    (9, 5)
    """

    def __init__(self, k: int) -> None:
        self.k = check.whole("k", k, at_least=2)
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
        """Half of each pair's probability in each of its cells."""
        found: Array = (theta @ self._share.T)[..., None, :]
        return found

    def jacobian(self, theta: Array) -> Array:
        """Constant: the model is linear."""
        return np.broadcast_to(self._share, (*theta.shape[:-1], 1, *self._share.shape))

    def start(self, noisy: Array) -> Array:
        """Proportions of the unordered pairs."""
        counts = noisy[..., 0, :]
        found: Array = counts @ (self._share > 0) / counts.sum(axis=-1)[..., None]
        return found


__all__ = ["HardyWeinberg", "Homogeneity", "Independence", "NullModel", "Simple", "Symmetry"]
