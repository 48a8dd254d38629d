"""Transition matrices: validation, stationary distributions, supports, powers and mixing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
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
    numbers = check_numbers(name, matrix)
    if numbers.ndim != 2 or numbers.shape[0] != numbers.shape[1] or not len(numbers):
        raise InvalidParameter(f"{name} must be a square matrix, got shape {numbers.shape}")
    return _laws(name, numbers)


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
        numbers = np.array(matrix)
        if numbers.dtype.kind != "c":
            return numbers.astype(np.float64)
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
        numbers = np.array(law, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{name} must be a list of probabilities, got a {type(law).__name__}") from None
    if numbers.shape != (states,):
        raise InvalidParameter(
            f"{name} must have {states} probabilities, one for each state, got the shape {numbers.shape}"
        )
    clean: Array = _laws(name, numbers[None])[0]
    return clean


def _laws(name: str, rows: Array) -> Array:
    for x, row in enumerate(rows):
        where = f"{name}: row {x}" if len(rows) > 1 else name
        if not np.isfinite(row).all() or (row < 0).any() or (row > 1 + ROW_SUM).any():
            raise InvalidParameter(f"{where} must have probabilities in [0, 1]")
        if abs(row.sum() - 1) > ROW_SUM:
            raise InvalidParameter(f"{where} must sum to 1 within {ROW_SUM:g}, got {row.sum():.15g}")
    clean: Array = rows / rows.sum(axis=1, keepdims=True)
    clean.setflags(write=False)
    return clean


def stationary_law(transition: Array) -> Array:
    """Return the stationary distribution of a chain that has exactly one.

    A chain has one stationary distribution if and only if it has one closed class; others raise `InvalidParameter`.
    Computed by elimination without subtraction (Grassmann, Taksar and Heyman 1985), so that small probabilities keep
    their digits, and checked by one multiplication. Time `O(k^3)`.

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
            "transition must have one closed class for a stationary start, but this chain has several, and therefore "
            "many stationary distributions; give the start distribution itself"
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
        raise InvalidParameter(
            "transition: no stationary distribution was found to working precision; give the start distribution itself"
        )
    return law


def reachability(edges: Mask) -> Mask:
    """Return which states can be reached from which, in any number of steps, none included.

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
        """Return the powers at `lags` (each at least 1) and their supports, both of shape `(m, k, k)`."""
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


#: Coefficients are computed up to this lag, or until they have fallen to `_ENOUGH`; sub-multiplicativity goes on.
_LAGS, _ENOUGH = 4096, 1e-3
#: Rounding of products of stochastic matrices, with a wide margin; every coefficient is raised by it.
_ROUNDING = 1e-11


class RowChain:
    """The transition matrix of complete rows."""

    def __init__(self, matrix: npt.ArrayLike) -> None:
        self.matrix: Array = check_transition("matrix", matrix)

    def coefficients(self, n: int) -> list[float] | None:
        """`delta_1, delta_2, ...`, rounded up: total variation between two lines of `P^t`; None if none is below 1."""
        power, spreads = self.matrix, [self._spread(self.matrix)]
        while len(spreads) < min(n, _LAGS) and spreads[-1] > _ENOUGH:
            power = power @ self.matrix
            power = power / power.sum(axis=1, keepdims=True)
            spreads.append(min(spreads[-1], self._spread(power)))
        return spreads if spreads[-1] < 1 else None

    @staticmethod
    def _spread(power: Array) -> float:
        worst = max(float(np.abs(power - line).sum(axis=1).max()) for line in power) / 2
        return 0.0 if worst == 0 else min(1.0, worst + _ROUNDING)

    @cached_property
    def stationary(self) -> Array:
        """The stationary distribution; the chain must have one only."""
        return stationary_law(self.matrix)

    @cached_property
    def operator_norm(self) -> float:
        """Norm on mean-zero functions of L2(pi): the second largest singular value of `D^(1/2) P D^(-1/2)`, rounded up.

        States that the stationary distribution never visits are left out.
        """
        law = self.stationary
        positive = law > 0
        root = np.sqrt(law[positive])
        if len(root) == 1:
            return 0.0
        scaled = root[:, None] * self.matrix[np.ix_(positive, positive)] / root
        centred = scaled - np.outer(root, root)  # the constant function's part, with singular value 1
        norm = float(np.linalg.svd(centred, compute_uv=False)[0])
        return min(1.0, norm + 1e-9)

    def start_ratio(self, last: int, gap: int) -> float:
        """`max_y P^g(x, y) / pi(y)`: how likely a state is `g` steps after `x`, over how likely it is in the long run.

        Examples
        --------
        >>> round(RowChain([[0.95, 0.05], [0.05, 0.95]]).start_ratio(0, 1), 6)
        1.9
        """
        last = arguments.whole("last", last, at_least=0, at_most=len(self.matrix) - 1)
        gap = arguments.whole("gap", gap, at_least=1, at_most=10**9)
        line, law = np.linalg.matrix_power(self.matrix, gap)[last], self.stationary
        reached = line > 0
        if np.any(law[reached] == 0):
            return float("inf")
        return max(1.0, up(float((line[reached] / law[reached]).max()) * (1 + _ROUNDING)))


_STEPS = 2000
_CLOSE = 1e-13


def settled_place(start: Array, transition: Array, n: int) -> tuple[int | None, list[Array]]:
    """Return the place from which on the distribution is stationary, and the distributions of all places up to there.

    Two distributions count as equal when they have one support and no probability differs by more than one part in
    1e13. The place is None for a chain that does not get there within 2000 steps (a periodic one never does); the
    distributions then end somewhere and must not be used beyond.

    Examples
    --------
    >>> step = np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> place, laws = settled_place(np.array([0.8, 0.2]), step, 10)
    >>> place, len(laws)
    (0, 1)
    >>> settled_place(np.array([1.0, 0.0]), step, 1000)[0] < 60
    True
    """
    try:
        goal = stationary_law(transition)
    except InvalidParameter:  # several closed classes: the long run depends on the start
        goal = None
    laws = [np.asarray(start, dtype=float)]
    while True:
        law = laws[-1]
        if goal is not None and ((law > 0) == (goal > 0)).all() and (np.abs(law - goal) <= _CLOSE * goal).all():
            return len(laws) - 1, laws
        if len(laws) >= min(n, _STEPS):
            return None, laws
        law = law @ transition
        laws.append(law / law.sum())
