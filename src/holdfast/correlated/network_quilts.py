"""Quilts of a network: which there are, whether a proposed one is one, and the search for the best.

Every quilt that is worth trying is the boundary of a connected set. Take the record with the nearby nodes: a connected
set `A`. The quilt must hold all neighbours of `A`; more nodes than these change nothing, since the neighbours already
separate them from the record. So listing connected sets by size lists all quilts, and the search can stop at the size
that could not win even with no influence at all.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from holdfast.correlated.graph import Graph, reachable, spheres
from holdfast.correlated.quilt import Quilt, Surcharge, check_surcharge
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Cut:
    """A separation of one record: the quilt, everything nearby, and how many rows of the database move together."""

    record: int
    quilt: tuple[int, ...]
    nearby: tuple[int, ...]
    size: int


Influence = Callable[[Cut, float], float | None]
"""Influence of a cut, maximised over what may be known nearby; None where it is at least the given limit."""


def cut_of(graph: Graph, record: int, quilt: Collection[int], rows: int) -> Cut:
    """The cut that a quilt makes, with the least nearby set: what the record reaches without crossing the quilt.

    A larger nearby set would separate too, but its records beyond the quilt may be known and then raise the influence
    (specification 2.4, reviewed). Quilt nodes that are not next to the record or to a nearby node are dropped.

    Parameters
    ----------
    graph : Graph
        The moral graph.
    record : int
        The record; nodes 0 to `rows - 1` are rows of the database, the others are hidden.
    quilt : collection of int
        Nodes that separate.
    rows : int
        How many nodes are rows.

    Examples
    --------
    >>> from holdfast.correlated.graph import graph_of
    >>> chain = graph_of(6, [(j, j + 1) for j in range(5)])
    >>> cut_of(chain, 2, {0, 4, 5}, 6)
    Cut(record=2, quilt=(0, 4), nearby=(1, 3), size=3)
    """
    inside = reachable(graph, record, set(quilt))
    boundary = {near for node in inside for near in graph[node]} - inside
    nearby = tuple(sorted(inside - {record}))
    return Cut(record, tuple(sorted(boundary)), nearby, 1 + sum(node < rows for node in nearby))


def check_cut(
    graph: Graph,
    record: int,
    quilt: Collection[int],
    rows: int,
    nearby: Collection[int] | None = None,
    remote: Collection[int] = (),
) -> Cut:
    """Check that a proposed quilt separates what it is said to separate, and shrink its nearby set.

    Raises
    ------
    InvalidParameter
        If the record is in the quilt, or a node called remote (or, with `nearby` given, not called nearby) can be
        reached from the record without crossing the quilt.

    Examples
    --------
    >>> from holdfast.correlated.graph import graph_of
    >>> cycle = graph_of(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> check_cut(cycle, 0, {1}, 4, remote={2})
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: quilt must separate record 0 from the remote nodes, but 2 can be reached ...
    """
    if record in quilt:
        raise InvalidParameter(f"quilt must not hold its own record, which is {record}")
    inside = reachable(graph, record, set(quilt)) - {record}
    wrong = inside & set(remote)
    if nearby is not None:
        wrong |= inside - set(nearby)
    if wrong:
        raise InvalidParameter(
            f"quilt must separate record {record} from the remote nodes, but {min(wrong)} can be reached from it "
            "without crossing the quilt"
        )
    return cut_of(graph, record, quilt, rows)


def cuts(graph: Graph, record: int, rows: int, most: int) -> Iterator[Cut]:
    """Cuts of a record by increasing size, the trivial one (no quilt, the whole component) last.

    The first `most` connected sets are listed in order of size, all of them where there are no more; where there are,
    the spheres of larger radius follow. Leaving quilts out is safe: the result is only more cautious.

    Examples
    --------
    >>> from holdfast.correlated.graph import graph_of
    >>> path = graph_of(4, [(0, 1), (1, 2), (2, 3)])
    >>> [(cut.quilt, cut.size) for cut in cuts(path, 1, 4, 100)]
    [((0, 2), 1), ((2,), 2), ((0, 3), 2), ((3,), 3), ((0,), 3), ((), 4)]
    >>> [(cut.quilt, cut.size) for cut in cuts(path, 0, 4, 1)]
    [((1,), 1), ((2,), 2), ((3,), 3), ((), 4)]
    """
    whole = cut_of(graph, record, (), rows)
    listed: set[tuple[int, ...]] = set()
    last = 0
    for inside in _connected_sets(graph, record, rows):
        if len(listed) == most or len(inside) == len(whole.nearby) + 1:
            break
        quilt = tuple(sorted({near for node in inside for near in graph[node]} - inside))
        last = sum(node < rows for node in inside)
        listed.add(quilt)  # a quilt has one connected set, so no two sets share one
        yield Cut(record, quilt, tuple(sorted(inside - {record})), last)
    if len(listed) == most:
        for sphere in spheres(graph, record):
            cut = cut_of(graph, record, sphere, rows)
            if cut.size >= last and cut.quilt and cut.quilt not in listed:
                yield cut
    yield whole


def _connected_sets(graph: Graph, record: int, rows: int) -> Iterator[frozenset[int]]:
    """Connected sets with the record in them, by the rows in them, then by all nodes in them, then by their names."""
    start = frozenset({record})
    heap: list[tuple[int, int, tuple[int, ...], frozenset[int]]] = [(1, 1, (record,), start)]
    seen = {start}
    while heap:
        size, total, _, inside = heapq.heappop(heap)
        yield inside
        for node in {near for member in inside for near in graph[member]} - inside:
            larger = inside | {node}
            if larger not in seen:
                seen.add(larger)
                heapq.heappush(heap, (size + int(node < rows), total + 1, tuple(sorted(larger)), larger))


def _coefficient(surcharge: Surcharge) -> float:
    return 4.0 if check_surcharge(surcharge) == "paper" else 2.0


def best_cut(listed: Iterator[Cut], influence: Influence, epsilon: float, surcharge: Surcharge) -> Quilt:
    """The cut with the largest `(epsilon - surcharge) / size`; ties go to the smaller size, then to the first listed.

    Exact: a cut is left as soon as its influence is seen to be too large to win, and the search ends at the size that
    could not win without any.
    """
    factor = _coefficient(surcharge)
    best, level = None, 0.0
    for cut in listed:
        if epsilon <= cut.size * level:
            break
        found = influence(cut, (epsilon - cut.size * level) / factor) if cut.quilt else 0.0
        if found is None:
            continue
        quilt = Quilt(cut.record, cut.quilt, cut.nearby, found, cut.size)
        here = quilt.epsilon_dp(epsilon, surcharge)
        if best is None or here > level:
            best, level = quilt, here
    assert best is not None, "every record has its trivial quilt"
    return best


def cheapest_cut(listed: Iterator[Cut], influence: Influence, epsilon_dp: float, surcharge: Surcharge) -> Quilt:
    """The cut with the least `size * epsilon_dp + surcharge`, found in the same way."""
    factor = _coefficient(surcharge)
    best, level = None, math.inf
    for cut in listed:
        if cut.size * epsilon_dp >= level:
            break
        found = influence(cut, (level - cut.size * epsilon_dp) / factor) if cut.quilt else 0.0
        if found is None:
            continue
        quilt = Quilt(cut.record, cut.quilt, cut.nearby, found, cut.size)
        here = quilt.epsilon_bdp(epsilon_dp, surcharge)
        if best is None or here < level:
            best, level = quilt, here
    assert best is not None, "every record has its trivial quilt"
    return best


__all__ = ["Cut", "best_cut", "cheapest_cut", "check_cut", "cut_of", "cuts"]
