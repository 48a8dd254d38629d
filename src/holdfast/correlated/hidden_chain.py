"""Hidden Markov models: the records are noisy readings of a chain that nobody sees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.correlated.chain import MarkovChain
from holdfast.correlated.model import ZEROS
from holdfast.correlated.network_factors import Array, Factor, log_of
from holdfast.correlated.network_influence import path_bound, projective_diameter
from holdfast.correlated.network_tables import SUM_TOLERANCE
from holdfast.correlated.settled_place import settled_place
from holdfast.correlated.transition import check_law, check_transition, stationary_law
from holdfast.correlated.window_model import Lags, Stretch, WindowModel
from holdfast.errors import InvalidParameter

CELLS = 2**18
_READINGS = 4


class HiddenChain(WindowModel):
    """A chain of hidden states, each read through a noisy emission; the readings are the records.

    Hidden states may sit anywhere: nobody knows them, they are never changed, and they do not count (specification
    2.5). A quilt lies on each side of the record, from some distance on: a few readings and then a hidden state, which
    separates all that follows. The more readings before the hidden state, the less the quilt hears of the record
    (derived: they and what follows are a noisy reading of the hidden state at their edge), so up to four are taken if
    the tables bear it. What may be known in between is readings, over which the influence is maximised. The surcharge
    is twice the influence.

    Parameters
    ----------
    transition : matrix
        Of the hidden chain.
    emission : matrix
        Row `h` is the law of a reading in hidden state `h`.
    n : int
        Records.
    start : "stationary" or list of float
        Law of the first hidden state.
    cells : int
        Cap on the tables of one exact window.

    Notes
    -----
    Hidden states have the numbers `n` to `2n - 1` in quilts.

    Examples
    --------
    >>> sensor = HiddenChain([[0.8, 0.2], [0.2, 0.8]], [[0.7, 0.3], [0.3, 0.7]], n=10_000)
    >>> quilt = sensor.worst_quilt(1.0)
    >>> quilt.size, len(quilt.quilt), round(quilt.influence, 6)
    (5, 10, 0.246352)
    >>> round(sensor.epsilon_dp(1.0), 6), round(sensor.effective_n())
    (0.101459, 2500)
    """

    def __init__(
        self,
        transition: npt.ArrayLike,
        emission: npt.ArrayLike,
        n: int,
        start: npt.ArrayLike = "stationary",
        *,
        cells: int = CELLS,
    ) -> None:
        self._transition = check_transition("transition", transition)
        self._emission = _check_emission(emission, len(self._transition))
        count = check.whole("n", n, at_least=1, at_most=10**15)
        self._stationary = isinstance(start, str)
        if isinstance(start, str):
            check.choice("start", start, ("stationary",))
            law = stationary_law(self._transition)
        else:
            law = check_law("start", start, len(self._transition))
        settled, self._laws = settled_place(law, self._transition, count)
        super().__init__(count, settled, cells)
        self._step = projective_diameter(log_of(self._transition))
        self._reading = projective_diameter(log_of(self._emission))

    def describe(self) -> str:
        """One line that says what is declared."""
        hidden, seen = self._emission.shape
        start = "stationary start" if self._stationary else "given start"
        return f"hidden chain of {self.n} records, {hidden} hidden states, {seen} readings, {start}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain data."""
        return {
            "model": "hidden chain",
            "n": self.n,
            "transition": self._transition.tolist(),
            "emission": self._emission.tolist(),
            "start": "stationary" if self._stationary else self._laws[0].tolist(),
        }

    def notes(self) -> tuple[str, ...]:
        """What a certificate must say: zeros that make Birkhoff's bound infinite."""
        return () if math.isfinite(self._step) and math.isfinite(self._reading) else (ZEROS,)

    def effective_n(self) -> float:
        """Rows that the check of a fixed mean question is worth: that of the hidden chain (specification 3.9).

        State and reading together form a chain whose coefficients and operator norm are at most the hidden chain's.
        """
        start: Any = "stationary" if self._stationary else self._laws[0]
        return MarkovChain(self._transition, self.n, start).effective_n()

    def _side_bound(self, record: int, lag: int, after: bool) -> float:
        # Of the hidden state at this lag; readings and states beyond it say less.
        return path_bound([self._reading] + [self._step] * lag)

    def _room(self, record: int) -> tuple[int, int]:
        return record, self.n - 1 - record

    def _margin(self, record: int, lags: Lags) -> int:
        """How many readings on each side come before the hidden state: what the tables bear, at most 4."""
        hidden, seen = self._emission.shape
        used = math.log(hidden * hidden * seen) + (self._size(record, lags) - 1) * math.log1p(seen)
        left = math.log(self._cells) - used
        return min(_READINGS, int(left / (2 * math.log(seen)))) if seen > 1 and left > 0 else 0

    def _side(self, edge: int, far: int) -> tuple[int, ...]:
        """Readings from `edge` outwards and the hidden state at `far`; at an end of the sequence just the readings."""
        step = 1 if far >= edge else -1
        readings = tuple(j for j in range(edge, far, step) if 0 <= j < self.n)
        return (*readings, self.n + far) if 0 <= far < self.n else readings

    def _nodes(self, record: int, lags: Lags) -> tuple[int, ...]:
        margin = self._margin(record, lags)
        left = () if lags.before is None else self._side(record - lags.before, record - lags.before - margin)
        right = () if lags.after is None else self._side(record + lags.after, record + lags.after + margin)
        return tuple(sorted(left + right))

    def _span(self, record: int, lags: Lags) -> tuple[int, int]:
        margin = self._margin(record, lags)
        low = 0 if lags.before is None else max(0, record - lags.before - margin)
        high = self.n - 1 if lags.after is None else min(self.n - 1, record + lags.after + margin)
        return low, high

    def _stretch(self, low: int, high: int) -> Stretch:
        hidden, seen = self._emission.shape
        count = high - low + 1
        step, reading = log_of(self._transition), log_of(self._emission)
        factors = [Factor.of((0,), self._laws[min(low, len(self._laws) - 1)])]
        factors += [Factor((j, j + 1), step) for j in range(count - 1)]
        factors += [Factor((j, count + j), reading) for j in range(count)]
        place = {self.n + low + j: j for j in range(count)} | {low + j: count + j for j in range(count)}
        return Stretch(tuple(factors), (hidden,) * count + (seen,) * count, place)

    def _node_count(self) -> int:
        return 2 * self.n


def _check_emission(emission: Any, states: int) -> Array:
    try:
        found = np.array(emission, dtype=float)
    except (TypeError, ValueError, OverflowError):
        found = np.array(math.nan)
    if found.ndim != 2 or found.shape[0] != states or found.shape[1] == 0:
        raise InvalidParameter(f"emission must be a matrix with one row for each of the {states} hidden states")
    if not np.isfinite(found).all() or (found < 0).any():
        raise InvalidParameter("emission must hold probabilities in [0, 1]")
    sums = found.sum(axis=1, keepdims=True)
    worst = float(sums.flat[int(np.argmax(np.abs(sums - 1)))])
    if abs(worst - 1) > SUM_TOLERANCE:
        raise InvalidParameter(f"emission must have rows that sum to 1 within {SUM_TOLERANCE:g}, got {worst:.15g}")
    return np.asarray(found / sums)


__all__ = ["HiddenChain"]
