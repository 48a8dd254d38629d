"""Precision matrices of Gaussian fields: validation, narrow-band order, solving, diagonal inverse, autoregressions.

A long autoregression has a precision matrix with a few diagonals, a map of sensors a sparse one. Both are reordered to
a narrow band (reverse Cuthill-McKee) and factored there, so a series of a million steps costs about a second, not a
table of a million squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from holdfast.core import arguments
from holdfast.errors import InvalidParameter

Array = npt.NDArray[np.float64]
ROUNDING = 1e-10
"""Ties below this part of the diagonal are taken for rounding errors of the inversion of a covariance."""
_DENSE_BAND = 128


class Precision:
    """A symmetric positive definite matrix, factored once.

    Parameters
    ----------
    matrix : array or scipy sparse matrix
        The precision matrix `J`, the inverse of the covariance.

    Notes
    -----
    Time `O(n b^2)` for band width `b` after reordering; memory `O(n b)`.

    Examples
    --------
    >>> field = Precision([[2.0, -1.0], [-1.0, 2.0]])
    >>> field.solve(np.array([1.0, 1.0])).round(9).tolist(), field.inverse_diagonal.round(9).tolist()
    ([1.0, 1.0], [0.666666667, 0.666666667])
    """

    def __init__(self, matrix: Any, name: str = "precision") -> None:
        self.matrix = _symmetric(name, matrix)
        self.n: int = self.matrix.shape[0]
        self._order = self._narrow()
        coo = self.matrix[self._order][:, self._order].tocoo() if self._order is not None else self.matrix.tocoo()
        lower = coo.row >= coo.col
        row, col, values = coo.row[lower], coo.col[lower], coo.data[lower]
        self.band = int((row - col).max(initial=0))
        self._bands = np.zeros((self.band + 1, self.n))
        self._bands[row - col, col] = values
        self._factor(name)

    @property
    def in_order(self) -> bool:
        """Whether the band is that of the given order of the records."""
        return self._order is None

    def _narrow(self) -> npt.NDArray[np.int64] | None:
        coo = self.matrix.tocoo()
        if np.abs(coo.row - coo.col).max(initial=0) <= 1:
            return None  # as narrow as it gets
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        order = np.asarray(reverse_cuthill_mckee(self.matrix, symmetric_mode=True), dtype=np.int64)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        new = np.abs(place[coo.row] - place[coo.col]).max()
        return order if new < np.abs(coo.row - coo.col).max() else None

    def _factor(self, name: str) -> None:
        from scipy.linalg import LinAlgError, cholesky_banded, lapack

        if self.band <= 1:
            side = self._bands[1, :-1] if self.band else np.zeros(max(self.n - 1, 1))
            self._pivots, self._steps, failed = lapack.dpttrf(self._bands[0], side)
            failed = bool(failed) or not (self._pivots > 0).all()
        else:
            try:
                self._lower = cholesky_banded(self._bands, lower=True, check_finite=False)
                failed = False
            except LinAlgError:
                failed = True
        if failed:
            raise InvalidParameter(
                f"{name} must be positive definite, but this matrix is not, so no Gaussian distribution has it"
            )

    def solve(self, right: Array) -> Array:
        """`J^-1 right`, for one right-hand side or one in each column."""
        right = np.asarray(right, dtype=float)
        order = self._order
        inside = right if order is None else right[order]
        if self.band <= 1:
            from scipy.linalg import lapack

            two = inside.reshape(self.n, -1)
            solution = lapack.dpttrs(self._pivots, self._steps, two)[0].reshape(inside.shape)
        else:
            from scipy.linalg import cho_solve_banded

            solution = cho_solve_banded((self._lower, True), inside, check_finite=False)
        if order is None:
            return np.asarray(solution)
        result = np.empty_like(solution)
        result[order] = solution
        return np.asarray(result)

    @cached_property
    def inverse_diagonal(self) -> Array:
        """The diagonal of `J^-1`: the variances."""
        if self.band <= 1:
            inside = self._tridiagonal()
        elif self.band > _DENSE_BAND and self.n <= 40 * _DENSE_BAND:
            return np.asarray(np.diag(self.solve(np.eye(self.n))).copy())
        else:
            inside = self._by_columns()
        if self._order is None:
            return inside
        result = np.empty_like(inside)
        result[self._order] = inside
        return result

    def _tridiagonal(self) -> Array:
        """Pivots from the left and from the right meet at each node; they count its own entry twice."""
        from scipy.linalg import lapack

        side = self._bands[1, :-1] if self.band else np.zeros(max(self.n - 1, 1))
        back = lapack.dpttrf(self._bands[0][::-1], side[::-1])[0][::-1]
        return np.asarray(1.0 / (self._pivots + back - self._bands[0]))

    def _by_columns(self) -> Array:
        """Takahashi's recursion: entries of the inverse inside the band, from the last column to the first."""
        b, n = self.band, self.n
        diagonal = np.empty(n)
        window = np.zeros((b, b))  # inverse at rows and columns j+1 .. j+b
        for j in range(n - 1, -1, -1):
            pivot = self._lower[0, j]
            step = self._lower[1:, j] / pivot
            side = -(window @ step)
            diagonal[j] = 1.0 / pivot**2 - step @ side
            window[1:, 1:] = window[:-1, :-1].copy()
            window[0, 0] = diagonal[j]
            window[0, 1:] = window[1:, 0] = side[:-1]
        return diagonal

    def sub(self, keep: npt.NDArray[np.int64]) -> Precision:
        """Return the field given the values of every other node: rows and columns of `J` are dropped, nothing else."""
        return Precision(self.matrix[keep][:, keep])


def _symmetric(name: str, matrix: Any) -> Any:
    """The matrix as compressed rows, checked for shape, numbers and symmetry."""
    try:
        given: Any = matrix if sparse.issparse(matrix) else np.array(matrix, dtype=float, ndmin=2)
        rows: Any = sparse.csr_array(given).astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{name} must be a square symmetric matrix of numbers") from None
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1] or rows.shape[0] == 0:
        raise InvalidParameter(f"{name} must be a square symmetric matrix, got shape {rows.shape}")
    rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        raise InvalidParameter(f"{name} must be a matrix of finite numbers")
    gap = abs(rows - rows.T)
    if gap.nnz and gap.max() > 1e-12 * abs(rows).max():
        raise InvalidParameter(f"{name} must be symmetric within 1e-12 of its largest entry")
    diagonal = rows.diagonal()
    if not (diagonal > 0).all():
        raise InvalidParameter(f"{name} must be positive definite, but a diagonal entry is not above 0")
    rows.eliminate_zeros()
    return rows


def precision_of(covariance: Any) -> Precision:
    """Return the precision of a covariance matrix.

    Examples
    --------
    >>> precision_of([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: covariance must be positive definite, but this matrix is not, so no Gaussian ...
    """
    checked = Precision(covariance, "covariance")
    inverse = checked.solve(np.eye(checked.n))
    inverse = (inverse + inverse.T) / 2
    size = np.sqrt(np.diagonal(inverse))
    return Precision(np.where(np.abs(inverse) > ROUNDING * np.outer(size, size), inverse, 0.0))


def autoregression_precision(n: int, coefficients: Sequence[float], deviation: float = 1.0) -> Any:
    """Return the precision of `X_t = a_1 X_{t-1} + ... + a_p X_{t-p} + noise`, `n` steps long, as sparse rows.

    The density is that of the first `p` records, which have their stationary distribution, times that of the noise of
    each later step. So the matrix is the sum of the squares of these noises, as a quadratic form, plus the inverse
    covariance of the first `p`. Time `O(n p^2)`.

    Parameters
    ----------
    n : int
        Length, at least the order.
    coefficients : sequence of float
        `a_1, ..., a_p`, stationary.
    deviation : float
        Standard deviation of a record.

    Examples
    --------
    >>> autoregression_precision(3, [0.5]).toarray().round(6).tolist()
    [[1.333333, -0.666667, 0.0], [-0.666667, 1.666667, -0.666667], [0.0, -0.666667, 1.333333]]
    """
    a = np.array(arguments.reals("coefficients", coefficients))
    p = len(a)
    n = arguments.whole("n", n, at_least=p, at_most=10**8)
    deviation = arguments.real("deviation", deviation, above=0)
    companion = np.zeros((p, p))
    companion[0] = a
    companion[np.arange(1, p), np.arange(p - 1)] = 1.0
    if np.abs(np.linalg.eigvals(companion)).max() >= 1:
        raise InvalidParameter(
            "coefficients must make a stationary autoregression, which means that all roots are inside the unit circle"
        )
    from scipy.linalg import solve_discrete_lyapunov

    noise = np.zeros((p, p))
    noise[0, 0] = 1.0
    start = solve_discrete_lyapunov(companion, noise)  # covariance of p neighbours when the noise has variance 1
    head = np.linalg.inv(start)
    step = np.concatenate(([1.0], -a))
    bands = [np.zeros(n - d) for d in range(min(p, n - 1) + 1)]
    for d, band in enumerate(bands):
        for m in range(p + 1 - d):
            band[p - m - d : n - m - d] += step[m] * step[m + d]
        if d < p:
            band[: p - d] += np.diagonal(head, d)
    both: list[Any] = [*bands[:0:-1], *bands]
    offsets = [*range(-len(bands) + 1, len(bands))]
    return sparse.diags_array(both, offsets=offsets, shape=(n, n)).tocsr() * (float(start[0, 0]) / deviation**2)
