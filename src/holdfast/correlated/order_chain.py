"""Chains of higher order: each record depends on the `r` before it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.bounds.correlated.effective_size import effective_n_chain
from holdfast.correlated.model import ZEROS
from holdfast.correlated.network_factors import Array, Factor, log_of
from holdfast.correlated.network_influence import path_bound, projective_diameter
from holdfast.correlated.row_chain import RowChain
from holdfast.correlated.settled_place import settled_place
from holdfast.correlated.transition import check_law, stationary_law
from holdfast.correlated.window_model import Lags, Stretch, WindowModel
from holdfast.errors import InvalidParameter

CELLS = 2**18
MOST_TUPLES = 1024


class OrderChain(WindowModel):
    """A homogeneous chain of order `r` with `k` states.

    The quilt of a record is `r` consecutive records on each side; `r` of them separate, fewer do not. What is known in
    between can raise the influence (unlike on chains of order 1), so it is maximised over all of it. Long windows use
    Birkhoff's bound with the kernels between blocks of `r` records. One-step kernels of blocks have structural zeros
    and bound nothing (specification 2.5, derived and reviewed).

    Parameters
    ----------
    kernel : array
        `kernel[x_1, ..., x_r, y]`: probability of `y` after `x_1, ..., x_r`, the latest last; `r + 1` axes of length
        `k`, sums over the last axis 1 within 1e-12. At most 1024 tuples.
    n : int
        Records, at least `r`.
    start : "stationary" or array
        Joint law of the first `r` records.
    cells : int
        Cap on the tables of one exact window.

    Examples
    --------
    >>> kernel = [[[0.6, 0.4], [0.45, 0.55]], [[0.55, 0.45], [0.4, 0.6]]]
    >>> series = OrderChain(kernel, n=100_000)
    >>> quilt = series.worst_quilt(1.0)
    >>> quilt.size, len(quilt.quilt), quilt.influence < 0.5
    (5, 4, True)
    >>> round(series.epsilon_dp(1.0), 6)
    0.164804
    """

    def __init__(
        self, kernel: npt.ArrayLike, n: int, start: npt.ArrayLike = "stationary", *, cells: int = CELLS
    ) -> None:
        self._kernel = _check_kernel(kernel)
        self._order, self._states = self._kernel.ndim - 1, self._kernel.shape[-1]
        tuples = self._states**self._order
        self._tuple_matrix = _tuple_matrix(self._kernel)
        count = check.whole("n", n, at_least=self._order, at_most=10**15)
        self._stationary = isinstance(start, str)
        if isinstance(start, str):
            check.choice("start", start, ("stationary",))
            law = stationary_law(self._tuple_matrix)
        else:
            law = check_law("start", np.asarray(start, dtype=float).reshape(-1), tuples)
        settled, self._laws = settled_place(law, self._tuple_matrix, count)
        super().__init__(count, settled, cells)
        block = np.linalg.matrix_power(self._tuple_matrix, self._order)
        self._diameter = projective_diameter(log_of(block))

    @property
    def order(self) -> int:
        """How many records back a record depends on."""
        return int(self._order)

    @property
    def states(self) -> int:
        """How many states."""
        return int(self._states)

    def describe(self) -> str:
        """One line that says what is declared."""
        start = "stationary start" if self._stationary else "given start"
        return f"chain of order {self.order} of {self.n} records, {self.states} states, {start}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain data."""
        start: Any = "stationary" if self._stationary else self._laws[0].reshape((self.states,) * self.order).tolist()
        return {"model": "order chain", "n": self.n, "kernel": self._kernel.tolist(), "start": start}

    def notes(self) -> tuple[str, ...]:
        """What a certificate must say: zeros that make Birkhoff's bound infinite."""
        return () if math.isfinite(self._diameter) else (ZEROS,)

    def effective_n(self) -> float:
        """Rows that the check of a fixed mean question is worth: 3.9, row C, for the chain of `r`-tuples.

        With a given start the first `r - 1` records have no full tuple before them, so each lag is taken `r - 1` steps
        later, which only raises its coefficient.
        """
        deltas = RowChain(self._tuple_matrix).coefficients(self.n)
        if deltas is None:
            return 1.0
        late = 0 if self._stationary else self.order - 1
        return effective_n_chain(self.n, [1.0] * late + deltas)

    def _side_bound(self, record: int, lag: int, after: bool) -> float:
        # The block that starts `lag` steps away is reached through this many kernels between whole blocks; steps that
        # are left over only mix the rows of the last one. A given start may tie the first r records in any way, so the
        # first block is theirs and ends later than the record.
        if after and not self._stationary:
            lag -= max(0, self.order - 1 - record)
        return path_bound([self._diameter] * ((lag - 1) // self.order + 1)) if lag > 0 else math.inf

    def _room(self, record: int) -> tuple[int, int]:
        # Fewer than r records beyond a quilt may end the sequence: a stationary one goes on unseen on both sides, so
        # the bound for whole blocks covers what is left of them. A given start may tie the first r in any way.
        return record if self._stationary else max(0, record - self.order + 1), self.n - 1 - record

    def _nodes(self, record: int, lags: Lags) -> tuple[int, ...]:
        low, high = self._span(record, lags)
        left = range(low, record - lags.before + 1) if lags.before is not None else ()
        right = range(record + lags.after, high + 1) if lags.after is not None else ()
        return (*left, *right)

    def _span(self, record: int, lags: Lags) -> tuple[int, int]:
        r = self.order
        low = 0 if lags.before is None else max(0, record - lags.before - r + 1)
        high = self.n - 1 if lags.after is None else min(self.n - 1, record + lags.after + r - 1)
        return low, high

    def _stretch(self, low: int, high: int) -> Stretch:
        r, k = self.order, self.states
        low = min(low, self.n - r)
        high = max(high, low + r - 1)
        law = self._laws[min(low, len(self._laws) - 1)].reshape((k,) * r)
        factors = [Factor.of(range(r), law)]
        logs = log_of(self._kernel)
        factors += [Factor(tuple(range(j - r, j + 1)), logs) for j in range(r, high - low + 1)]
        return Stretch(tuple(factors), (k,) * (high - low + 1), {low + j: j for j in range(high - low + 1)})


def _check_kernel(kernel: Any) -> Array:
    try:
        found = np.array(kernel, dtype=float)
    except (TypeError, ValueError, OverflowError):
        found = np.array(math.nan)
    if found.ndim < 2 or len(set(found.shape)) != 1 or found.size == 0:
        raise InvalidParameter("kernel must have r + 1 axes of one length: r earlier records and the next")
    if found.size // found.shape[-1] > MOST_TUPLES:
        raise InvalidParameter(f"kernel must have at most {MOST_TUPLES} tuples of earlier records")
    if not np.isfinite(found).all() or (found < 0).any():
        raise InvalidParameter("kernel must hold probabilities in [0, 1]")
    sums = found.sum(axis=-1, keepdims=True)
    worst = float(sums.flat[int(np.argmax(np.abs(sums - 1)))])
    if abs(worst - 1) > 1e-12:
        raise InvalidParameter(f"kernel must sum to 1 within 1e-12 over its last axis, got {worst:.15g}")
    return np.asarray(found / sums)


def _tuple_matrix(kernel: Array) -> Array:
    """One step of the chain of r-tuples: `(x_1..x_r)` goes to `(x_2..x_r, y)`."""
    k, r = kernel.shape[-1], kernel.ndim - 1
    tuples = k**r
    matrix = np.zeros((tuples, tuples))
    rows = np.arange(tuples)
    for y in range(k):
        matrix[rows, (rows * k + y) % tuples] += kernel.reshape(tuples, k)[:, y]
    return matrix


__all__ = ["OrderChain"]
