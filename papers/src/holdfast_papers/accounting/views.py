"""Every view of a short composition game with its two probabilities: claims about games, checked without sampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.accounting.costs import Cost
from holdfast_papers.accounting.finite import loss
from holdfast_papers.accounting.games import Adversary, Gate, Round, View


@dataclass(frozen=True)
class Weighed:
    """A view with its probability when the bit is 0 and when it is 1."""

    view: View
    on_zero: float
    on_one: float


def all_views(adversary: Adversary, rounds: int, gate: Callable[[], Gate] | None = None) -> list[Weighed]:
    """Enumerate the views of an adversary without coins of its own, against a fresh filter from `gate` if given.

    Time and memory grow as outputs to the power `rounds`.

    Examples
    --------
    >>> from holdfast_papers.accounting.adversaries import Repeat
    >>> from holdfast_papers.accounting.finite import RandomizedResponse
    >>> views = all_views(Repeat(RandomizedResponse(0.5)), 3)
    >>> len(views), round(sum(v.on_zero for v in views), 12)
    (8, 1.0)
    """
    views: list[Weighed] = []
    _extend((), 1.0, 1.0, adversary, rounds, gate, views)
    return views


def game_delta(views: list[Weighed], epsilon: float) -> float:
    """The least `delta` at which the game is `(epsilon, delta)`-private for this adversary.

    Examples
    --------
    >>> from holdfast_papers.accounting.adversaries import Repeat
    >>> from holdfast_papers.accounting.finite import RandomizedResponse
    >>> round(game_delta(all_views(Repeat(RandomizedResponse(0.5)), 2), 1.0), 12)
    0.0
    """
    factor = math.exp(epsilon)
    forth = math.fsum(max(v.on_zero - factor * v.on_one, 0.0) for v in views)
    back = math.fsum(max(v.on_one - factor * v.on_zero, 0.0) for v in views)
    return max(forth, back)


def _extend(
    history: tuple[Round, ...],
    on_zero: float,
    on_one: float,
    adversary: Adversary,
    left: int,
    gate: Callable[[], Gate] | None,
    found: list[Weighed],
) -> None:
    move = adversary.move(history) if left else None
    refused = move is not None and gate is not None and not _admitted(history, move.cost, gate)
    if move is None or refused:
        found.append(Weighed(View(history, halted=refused), on_zero, on_one))
        return
    p, q = (move.mechanism.law(record) for record in move.neighbours)
    for output in range(len(p)):
        if p[output] or q[output]:
            gained = loss(p, q, output)
            total = gained + (history[-1].total if history else 0.0)
            extended = (*history, Round(move, output, gained, total))
            weights = on_zero * float(p[output]), on_one * float(q[output])
            _extend(extended, *weights, adversary, left - 1, gate, found)


def _admitted(history: tuple[Round, ...], cost: Cost, gate: Callable[[], Gate]) -> bool:
    """Filters are state; replay the path on a fresh one rather than copy it."""
    fresh = gate()
    for earlier in history:
        fresh.spend(earlier.move.cost)
    return fresh.admits(cost)


__all__ = ["Weighed", "all_views", "game_delta"]
