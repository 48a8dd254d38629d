"""From which step on a chain's law is its long-run law to working precision."""

from __future__ import annotations

import numpy as np

from holdfast.correlated.network_factors import Array
from holdfast.correlated.transition import stationary_law
from holdfast.errors import InvalidParameter

_STEPS = 2000
_CLOSE = 1e-13


def settled_place(start: Array, transition: Array, n: int) -> tuple[int | None, list[Array]]:
    """The place from which on the law is stationary, and the laws of all places up to there.

    Two laws count as equal when they have one support and no probability differs by more than one part in 1e13. The
    place is None for a chain that does not get there within 2000 steps (a periodic one never does); the laws then end
    somewhere and must not be used beyond.

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


__all__ = ["settled_place"]
