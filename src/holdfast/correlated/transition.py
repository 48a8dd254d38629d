"""Transition matrices: checks at the door, the stationary law, supports and matrix powers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROW_SUM = 1e-12
"""Rows may miss 1 by this much; they are then divided by their sum."""


def check_transition(name: str, matrix: Any) -> Array:
    """Return a square matrix of probabilities whose rows sum to one, read-only.

    Examples
    --------
    >>> check_transition("transition", [[0.9, 0.2], [0.4, 0.6]])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: transition: row 0 must sum to 1 within 1e-12, got 1.1
    """
    found = check_numbers(name, matrix)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not len(found):
        raise InvalidParameter(f"{name} must be a square matrix, got shape {found.shape}")
    return _laws(name, found)


def check_numbers(name: str, matrix: Any) -> Array:
    """Real numbers as an array of doubles, a copy.

    Examples
    --------
    >>> check_numbers("low", [[0.5], [1, 2]])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: low must be a square matrix of numbers, got a list
    """
    try:
        found = np.array(matrix)
        if found.dtype.kind != "c":
            return found.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidParameter(f"{name} must be a square matrix of numbers, got a {type(matrix).__name__}")


def check_law(name: str, law: Any, states: int) -> Array:
    """Return a probability vector over `states` states, read-only.

    Examples
    --------
    >>> check_law("start", [0.25, 0.25, 0.5], 3).tolist()
    [0.25, 0.25, 0.5]
    """
    try:
        found = np.array(law, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{name} must be a list of probabilities, got a {type(law).__name__}") from None
    if found.shape != (states,):
        raise InvalidParameter(f"{name} must hold {states} probabilities, one a state, got shape {found.shape}")
    clean: Array = _laws(name, found[None])[0]
    return clean


def _laws(name: str, rows: Array) -> Array:
    for x, row in enumerate(rows):
        where = f"{name}: row {x}" if len(rows) > 1 else name
        if not np.isfinite(row).all() or (row < 0).any() or (row > 1 + ROW_SUM).any():
            raise InvalidParameter(f"{where} must hold probabilities in [0, 1]")
        if abs(row.sum() - 1) > ROW_SUM:
            raise InvalidParameter(f"{where} must sum to 1 within {ROW_SUM:g}, got {row.sum():.15g}")
    clean: Array = rows / rows.sum(axis=1, keepdims=True)
    clean.setflags(write=False)
    return clean


def stationary_law(transition: Array) -> Array:
    """The stationary law of a chain that has exactly one.

    A chain has one stationary law if and only if it has one closed class; others raise `InvalidParameter`. Computed by
    elimination without subtraction (Grassmann, Taksar and Heyman 1985), so that small probabilities keep their digits,
    and checked by one multiplication. Time `O(k^3)`.

    Examples
    --------
    >>> stationary_law(np.array([[0.9, 0.1], [0.4, 0.6]])).round(12).tolist()
    [0.8, 0.2]
    """
    states = len(transition)
    reach = reachability(transition > 0)
    # a state is recurrent if all it reaches reach it back; one closed class: recurrent states reach each other
    recurrent = np.array([all(reach[y, x] for y in np.flatnonzero(reach[x])) for x in range(states)])
    inside = np.flatnonzero(recurrent)
    if not reach[np.ix_(inside, inside)].all():
        raise InvalidParameter(
            "transition must have one closed class for a stationary start: this chain has several, so it has many "
            "stationary laws; give the start law itself"
        )
    work = np.array(transition[np.ix_(inside, inside)])
    size = len(inside)
    for s in range(size - 1, 0, -1):
        leave = work[s, :s].sum()
        work[:s, s] /= leave
        work[:s, :s] += np.outer(work[:s, s], work[s, :s])
    weights = np.zeros(size)
    weights[0] = 1.0
    for s in range(1, size):
        weights[s] = weights[:s] @ work[:s, s]
    law = np.zeros(states)
    law[inside] = weights / weights.sum()
    if np.abs(law @ transition - law).max() > 1e-10:
        raise InvalidParameter("transition: no stationary law was found to working precision; give the start law")
    return law


def reachability(edges: Mask) -> Mask:
    """Which states can be reached from which, in any number of steps, none included.

    Examples
    --------
    >>> reachability(np.array([[False, True], [False, False]])).tolist()
    [[True, True], [False, True]]
    """
    reach: Mask = edges | np.eye(len(edges), dtype=bool)
    for _ in range(max(len(edges), 2).bit_length()):
        reach = (reach.astype(np.float64) @ reach.astype(np.float64)) > 0
    return reach


class Powers:
    """Powers of one transition matrix with their exact supports; a batch of lags costs `O(m k^3 log t)`.

    Rows are divided by their sums. The support says which entries are positive in exact arithmetic, so that a product
    too small for a double is not mistaken for an impossible one.
    """

    def __init__(self, transition: Array) -> None:
        self.transition = transition
        self._squares: list[Array] = [transition]
        self._support_squares: list[Array] = [(transition > 0).astype(np.float64)]

    @cached_property
    def positive(self) -> bool:
        """Whether every entry is positive; then so is every power's."""
        return bool((self.transition > 0).all())

    def at(self, lags: Sequence[int] | NDArray[np.int64]) -> tuple[Array, Mask]:
        """The powers at `lags` (each at least 1) and their supports, both of shape `(m, k, k)`."""
        wanted = np.asarray(lags, dtype=np.int64)
        states = len(self.transition)
        values = np.broadcast_to(np.eye(states), (len(wanted), states, states)).copy()
        supports = values.copy()
        for bit in range(int(wanted.max()).bit_length() if len(wanted) else 0):
            if bit == len(self._squares):
                square = self._squares[-1] @ self._squares[-1]
                self._squares.append(square / square.sum(axis=1, keepdims=True))
                support = self._support_squares[-1]
                self._support_squares.append((support @ support > 0).astype(np.float64))
            on = (wanted >> bit) & 1 == 1
            product = values[on] @ self._squares[bit]
            values[on] = product / product.sum(axis=2, keepdims=True)
            if not self.positive:
                supports[on] = (supports[on] @ self._support_squares[bit] > 0).astype(np.float64)
        return values, np.ones(values.shape, dtype=bool) if self.positive else supports > 0


__all__ = [
    "ROW_SUM",
    "Array",
    "Mask",
    "Powers",
    "check_law",
    "check_numbers",
    "check_transition",
    "reachability",
    "stationary_law",
]
