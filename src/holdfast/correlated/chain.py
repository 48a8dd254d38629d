"""A finite-state Markov chain with a known transition matrix."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.bounds.correlated.effective_size import effective_n_chain, effective_n_stationary
from holdfast.bounds.correlated.quilt_terms import QuiltTerms
from holdfast.correlated.chain_model import TIMES, ChainModel, Charge
from holdfast.correlated.chain_quilts import TIE, Found, Lags, Objective, worst_of
from holdfast.correlated.chain_tables import SETTLED, ChainTables
from holdfast.correlated.model import ZEROS
from holdfast.correlated.row_chain import RowChain
from holdfast.correlated.transition import Array, Mask, check_law, check_transition

_LONGEST = 10**15


class MarkovChain(ChainModel):
    """A time-homogeneous chain of `n` records with finitely many states.

    Parameters
    ----------
    transition : matrix
        Row `x` is the law of the next record given `x`; rows sum to one within 1e-12.
    n : int
        Records.
    start : "stationary" or list of float
        The law of the first record.
    respect_support : bool
        Whether values that an earlier record cannot have are left out of a maximum. They should be; False is the
        convention behind the published score 13.0219 of Song, Wang and Chaudhuri (2017), and is never less noisy.

    Notes
    -----
    Zhao 2017, Lemma 2, with surcharges as in specification 3.2 and 3.3. For a stationary start the best quilt of a
    record in the middle bounds every record's: cut to the room that a record has, it is no larger and no more
    influenced. So planning does not depend on `n` once `n` exceeds twice the best quilt. Otherwise records are scanned
    until their law is stationary to working precision.

    Examples
    --------
    An energy meter that is off (0) or on (1), a million readings, Bayesian level 1:

    >>> meter = MarkovChain([[0.9, 0.1], [0.4, 0.6]], n=1_000_000)
    >>> quilt = meter.worst_quilt(1.0)
    >>> quilt.size, round(quilt.score(1.0), 8), round(meter.epsilon_dp(1.0), 10)
    (11, 13.29039734, 0.0752422952)
    >>> round(meter.epsilon_bdp(meter.epsilon_dp(1.0)), 9)
    1.0
    >>> round(meter.effective_n())
    333333
    """

    def __init__(
        self, transition: npt.ArrayLike, n: int, start: npt.ArrayLike = "stationary", respect_support: bool = True
    ) -> None:
        self._matrix = check_transition("transition", transition)
        self._n = check.whole("n", n, at_least=1, at_most=_LONGEST)
        self._start: Array | None = None
        if isinstance(start, str):
            check.choice("start", start, ("stationary",))
        else:
            self._start = check_law("start", start, len(self._matrix))
        self._respect_support = bool(respect_support)
        _ = self.tables.settled  # a chain without the law it asks for is refused here

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    @cached_property
    def tables(self) -> ChainTables:
        """Log ratios, each computed once."""
        return ChainTables(self._matrix, self._start, self._n, self._respect_support)

    @property
    def n(self) -> int:
        """How many records."""
        return self._n

    @property
    def matrix(self) -> Array:
        """The transition matrix, read-only."""
        return self._matrix

    @property
    def states(self) -> int:
        """How many states."""
        return len(self.matrix)

    @property
    def stationary(self) -> bool:
        """Whether the chain starts from its stationary law."""
        return self._start is None

    def describe(self) -> str:
        """One line."""
        start = "stationary start" if self.stationary else "given start"
        return f"Markov chain of {self.n} records, {self.states} states, {start}"

    def law(self, record: int) -> Array:
        """The law of a record."""
        settled = self.tables.settled
        where = min(record, len(settled.laws) - 1)
        return np.where(settled.supports[where], np.maximum(settled.laws[where], 5e-324), 0.0)

    def left(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Left sides at many lags."""
        return self.tables.left(record, lags, sharp)

    def right(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Right sides at many lags."""
        return self.tables.right(record, lags, sharp)

    def product(self, low: int, high: int) -> tuple[Array, Mask]:
        """The matrix power between two records."""
        values, can = self.tables.powers.at([high - low])
        return values[0], can[0]

    def _guard(self, record: int, lags: int) -> float:
        settled = self.tables.settled
        drift = 0.0 if settled.exact or record <= settled.since else 4 * SETTLED
        return super()._guard(record, lags) + drift

    def _worst(self, price: Objective, charge: Charge) -> Found:
        """Search the middle, then only the records that the middle's quilt does not cover."""
        middle = (self.n - 1) // 2
        ceiling = float(price(np.array([float(self.n)]), np.array([0.0]))[0])
        found = self._search(middle, price, charge)
        if found.price >= ceiling * (1 - TIE):
            return found
        since, widest = self.tables.settled.since, price.largest_size(found.price)
        if middle >= since and middle + 1 > widest and self.n - middle > widest:
            # From `since + left + 2` on, a record's tables are the middle's, and cutting lags to its room only helps.
            records = np.arange(min(self.n, since + found.left + 2 if since else 0))
        else:
            records = np.arange(self.n)
        times, sharp = TIMES[charge], charge == "sharp"

        def prices(some: Lags, left: int, right: int) -> Array:
            sizes = np.minimum(left, some + 1) + np.minimum(right, self.n - some) - 1
            return price(sizes.astype(np.float64), times * self.tables.at_all(some, left, right, sharp))

        return worst_of(records, found, prices, lambda record: self._search(record, price, charge), ceiling)

    def effective_n(self) -> float:
        """Rows that the check of a fixed mean question is worth: the better of C and, if stationary, D of 3.9.

        The state must be the whole row, or the question must use only columns that form this chain.
        """
        row = RowChain(self.matrix)
        deltas = row.coefficients(self.n)
        values = [1.0] if deltas is None else [effective_n_chain(self.n, deltas)]
        if self.stationary and row.operator_norm < 1:
            values.append(effective_n_stationary(self.n, row.operator_norm))
        return max(values)

    def terms(self, left: int, right: int) -> QuiltTerms:
        """One pair of lags for every record, cut to its room: the four numbers that Theorems 1 and 2 need.

        Records of one residue class modulo the larger lag are never nearby one another, the ends included
        (specification 3.6), so that lag is the number of colours. They hold for this chain of `n` records; a longer one
        has the same only if some record here has both sides and a law that has settled (`run_terms` sees to that).
        """
        left = check.whole("left", left, at_least=1, at_most=self.n)
        right = check.whole("right", right, at_least=1, at_most=self.n)
        # later records have the tables of the last one here, and no more room on the right
        records = np.arange(min(self.n, self.tables.settled.since + left + 3))
        guard = self._guard(self.n - 1, left + right)
        plain, sharp = (
            float(self.tables.at_all(records, left, right, sharp).max()) * (1 + 1e-12) + guard
            for sharp in (False, True)
        )
        size = min(left + right - 1, self.n)
        return QuiltTerms(size, plain, min(sharp, 2 * plain), min(max(left, right), self.n))

    def notes(self) -> tuple[str, ...]:
        """What a certificate must say: zeros that no lag overcomes."""
        if self.tables.powers.positive:
            return ()
        possible = self.tables.settled.supports.any(axis=0)
        rows = self.tables.powers.at([self.states**2 + 1])[1][0][possible]
        return () if (rows == rows[0]).all() else (ZEROS,)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        start = "stationary" if self._start is None else self._start.tolist()
        return {"model": "chain", "n": self.n, "transition": self.matrix.tolist(), "start": start} | (
            {} if self._respect_support else {"respect_support": False}
        )


__all__ = ["MarkovChain"]
