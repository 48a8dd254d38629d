"""The most valuable closed set of a small directed graph, by a minimum cut in floating point.

Values may span many orders of magnitude; every capacity is judged against its own size, so that a gain of 1e-20 beside
one of 1 is still found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

_RELATIVE = 1e-12


def best_closed_set(values: Sequence[float], arcs: Iterable[tuple[int, int]]) -> list[int]:
    """The smallest set of largest total value among sets that with `u` hold `v` for every arc `(u, v)`.

    Picard's reduction: a source feeds nodes of positive value, nodes of negative value drain, arcs have no limit; what
    the source still reaches after a maximum flow (Edmonds-Karp) is the set. Empty where no closed set is worth more
    than nothing.

    Examples
    --------
    >>> best_closed_set([3.0, -1.0, -5.0, 2.0], [(0, 1), (3, 2)])
    [0, 1]
    >>> best_closed_set([1.0, -1.0, 1e-20], [(0, 1)])
    [2]
    """
    source, sink = len(values), len(values) + 1
    room: list[dict[int, float]] = [{} for _ in range(len(values) + 2)]
    least: list[dict[int, float]] = [{} for _ in range(len(values) + 2)]
    for node, value in enumerate(values):
        if value:
            u, v = (source, node) if value > 0 else (node, sink)
            room[u][v], room[v][u] = abs(value), 0.0
            least[u][v] = least[v][u] = _RELATIVE * abs(value)
    for u, v in arcs:
        room[u][v] = float("inf")
        room[v].setdefault(u, 0.0)
        least[u][v] = 0.0
        least[v].setdefault(u, 0.0)
    while True:
        before = _reached(room, least, source)
        if sink not in before:
            return sorted(node for node in before if node < source)
        path = [sink]
        while path[-1] != source:
            path.append(before[path[-1]])
        steps = list(zip(path[1:], path[:-1], strict=True))
        flow = min(room[u][v] for u, v in steps)
        for u, v in steps:
            room[u][v] -= flow
            room[v][u] += flow


def _reached(room: list[dict[int, float]], least: list[dict[int, float]], source: int) -> dict[int, int]:
    """Nodes with room from the source, each with the node before it."""
    before = {source: source}
    queue = deque([source])
    while queue:
        u = queue.popleft()
        for v, left in room[u].items():
            if v not in before and left > least[u][v]:
                before[v] = u
                queue.append(v)
    return before


__all__ = ["best_closed_set"]
