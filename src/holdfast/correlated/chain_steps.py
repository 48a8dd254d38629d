"""A Markov chain whose transition matrix changes from record to record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.bounds.correlated.effective_size import effective_n_chain
from holdfast.correlated.chain_influence import columns, forward, prior_odds
from holdfast.correlated.chain_model import ChainModel, Charge
from holdfast.correlated.chain_quilts import TIE, Found, Lags, Objective
from holdfast.correlated.transition import Array, Mask, check_law, check_transition
from holdfast.errors import InvalidParameter

#: Mixing coefficients are computed until they are this small, or this many; sub-multiplicativity goes on from there.
_ENOUGH, _MOST = 1e-6, 4096
_ROUNDING = 1e-11


class InhomogeneousChain(ChainModel):
    """A chain of `len(steps) + 1` records; `steps[j]` leads from record `j` to record `j + 1`.

    Everything stands as for `MarkovChain` with ordered products in place of powers (specification 2.5, derived). Every
    record has its own products: time `O(n l k^3)` with `l` the length of the best quilt; records that an earlier
    record's lags already price low enough are not searched.

    Parameters
    ----------
    steps : sequence of matrices
        One fewer than records, all of the same size.
    start : list of float
        The law of the first record.

    Examples
    --------
    Constant steps are the homogeneous chain:

    >>> chain = InhomogeneousChain([[[0.9, 0.1], [0.4, 0.6]]] * 59, [0.8, 0.2])
    >>> chain.n, round(chain.noise_scale(1.0), 8)
    (60, 13.29039734)
    """

    def __init__(self, steps: Sequence[npt.ArrayLike], start: npt.ArrayLike) -> None:
        if isinstance(steps, str) or not hasattr(steps, "__len__") or not len(steps):
            raise InvalidParameter("steps must be a list of at least one transition matrix")
        self._steps = [check_transition(f"steps[{j}]", step) for j, step in enumerate(steps)]
        sizes = {len(step) for step in self._steps}
        if len(sizes) > 1:
            raise InvalidParameter(f"steps must all have as many states, got {sorted(sizes)}")
        laws = [check_law("start", start, sizes.pop())]
        supports = [laws[0] > 0]
        for step in self._steps:
            law = laws[-1] @ step
            laws.append(law / law.sum())
            supports.append((supports[-1].astype(float) @ (step > 0).astype(float)) > 0)
        self._laws, self._supports = np.array(laws), np.array(supports)
        self._record = -1
        self._ahead: list[tuple[Array, Mask]] = []
        self._back: list[tuple[Array, Mask]] = []

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    @property
    def n(self) -> int:
        """How many records."""
        return len(self._steps) + 1

    @property
    def states(self) -> int:
        """How many states."""
        return len(self._steps[0])

    def describe(self) -> str:
        """One line."""
        return f"inhomogeneous Markov chain of {self.n} records, {self.states} states"

    def law(self, record: int) -> Array:
        """The law of a record."""
        return np.where(self._supports[record], np.maximum(self._laws[record], 5e-324), 0.0)

    def product(self, low: int, high: int) -> tuple[Array, Mask]:
        """The ordered product of the steps from one record to another."""
        value, can = np.eye(self.states), np.eye(self.states, dtype=bool)
        for step in self._steps[low:high]:
            value, can = _times(value, can, step, step > 0)
        return value, can

    def _products(self, record: int, lag: int, ahead: bool) -> tuple[Array, Mask]:
        """The product between a record and the one `lag` away; those of one record are kept."""
        if record != self._record:
            self._record, self._ahead, self._back = record, [], []
        kept = self._ahead if ahead else self._back
        unit = np.eye(self.states), np.eye(self.states, dtype=bool)
        while len(kept) < lag:
            value, can = kept[-1] if kept else unit
            if ahead:
                step = self._steps[record + len(kept)]
                kept.append(_times(value, can, step, step > 0))
            else:
                step = self._steps[record - len(kept) - 1]
                kept.append(_times(step, step > 0, value, can))
        return kept[lag - 1]

    def left(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Left sides at many lags."""
        odds = prior_odds(self._laws[record][None], self._supports[record][None])[0]
        sides = np.where(np.isneginf(odds), -np.inf, 0.0)[None].repeat(len(lags), axis=0)
        for j, lag in enumerate(lags):
            if lag > record:
                continue
            prior = odds
            if sharp and lag < record:
                prior = np.maximum(odds, self._column(record, int(lag) + 1).T)
            with np.errstate(invalid="ignore"):
                sides[j] = np.where(np.isneginf(odds), -np.inf, self._column(record, int(lag)) + prior)
        return sides

    def _column(self, record: int, lag: int) -> Array:
        value, can = self._products(record, lag, ahead=False)
        table: Array = columns(value[None], can[None], self._supports[record - lag])[0]
        return table

    def right(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Right sides at many lags."""
        room = self.n - 1 - record
        sides = np.zeros((len(lags), self.states, self.states))
        for j, lag in enumerate(lags):
            if lag <= room:
                sides[j] = self._row(record, int(lag))
            if sharp and lag < room:
                sides[j] += self._row(record, int(lag) + 1).T
        return sides

    def _row(self, record: int, lag: int) -> Array:
        value, can = self._products(record, lag, ahead=True)
        table: Array = forward(value[None], can[None])[0]
        return table

    def _worst(self, price: Objective, charge: Charge) -> Found:
        """From the first record to the last; the lags that the last searched record liked are tried first."""
        dearest = lags = self._search(0, price, charge)
        for record in range(1, self.n):
            if self._price(record, lags, price, charge) <= dearest.price * (1 + TIE):
                continue
            lags = self._search(record, price, charge)
            if lags.price > dearest.price:
                dearest = lags
        return dearest

    def _price(self, record: int, lags: Found, price: Objective, charge: Charge) -> float:
        if not self._pairs(record):
            return 0.0
        a, b = np.array([min(lags.left, record + 1)]), np.array([min(lags.right, self.n - record)])
        w = self._surcharges(record, charge == "sharp")(a, b) * self.times(charge)
        return float(price((a + b - 1).astype(np.float64), w)[0])

    def effective_n(self) -> float:
        """Rows that the check of a fixed mean question is worth: C of 3.9, coefficients over all start times."""
        steps = np.array(self._steps)
        products, found = steps, [_spread(steps)]
        while found[-1] > _ENOUGH and len(found) < min(self.n - 1, _MOST):
            products = products[:-1] @ steps[len(found) :]
            found.append(min(found[-1], _spread(products)))
        return effective_n_chain(self.n, found) if found[-1] < 1 else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "model": "inhomogeneous chain",
            "n": self.n,
            "steps": [step.tolist() for step in self._steps],
            "start": self._laws[0].tolist(),
        }


def _times(value: Array, can: Mask, other: Array, other_can: Mask) -> tuple[Array, Mask]:
    product = value @ other
    return product / product.sum(axis=1, keepdims=True), (can.astype(float) @ other_can.astype(float)) > 0


def _spread(products: Array) -> float:
    """The largest total variation distance between two rows of one matrix, rounded up."""
    states = products.shape[1]
    worst = max(float(np.abs(products - products[:, x : x + 1, :]).sum(axis=2).max()) for x in range(states)) / 2
    return 0.0 if worst == 0 else min(1.0, worst + _ROUNDING)


__all__ = ["InhomogeneousChain"]
