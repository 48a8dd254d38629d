"""Undirected graphs of dependence: cliques joined, blanket, reachability, components.

A graph is a tuple of frozensets: `graph[i]` are the neighbours of node `i`. Separation in the moral graph is used
everywhere and d-separation nowhere: the adversary of Bayesian differential privacy may know any set of records, also
descendants of a collider, and undirected separation survives whatever else is known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations

Graph = tuple[frozenset[int], ...]


def graph_of(count: int, cliques: Iterable[Collection[int]]) -> Graph:
    """Return the graph on `count` nodes in which the members of each clique are joined.

    Examples
    --------
    >>> [sorted(near) for near in graph_of(4, [(0, 1), (1, 2)])]
    [[1], [0, 2], [1], []]
    """
    near: list[set[int]] = [set() for _ in range(count)]
    for clique in cliques:
        for u, v in combinations(clique, 2):
            near[u].add(v)
            near[v].add(u)
    return tuple(frozenset(nodes) for nodes in near)


def directed_cycle(parents: Sequence[Collection[int]]) -> list[int] | None:
    """Return a directed cycle, each node a parent of the next and the last of the first; None where there is none.

    Examples
    --------
    >>> directed_cycle([(), (0,), (1,)]), directed_cycle([(1,), (0,)])
    (None, [0, 1])
    """
    left = {node: set(above) for node, above in enumerate(parents)}
    while free := [node for node, above in left.items() if not above & left.keys()]:
        for node in free:
            del left[node]
    if not left:
        return None
    path = [min(left)]
    while True:
        above = min(parent for parent in left[path[-1]] if parent in left)
        if above in path:  # walked against the arrows, so turn the walk round
            cycle = path[path.index(above) :][::-1]
            start = cycle.index(min(cycle))
            return cycle[start:] + cycle[:start]
        path.append(above)


def reachable(graph: Graph, start: int, blocked: Collection[int] = ()) -> set[int]:
    """Nodes that `start` reaches without entering a blocked one; `start` itself is among them.

    Examples
    --------
    >>> sorted(reachable(graph_of(4, [(0, 1), (1, 2), (2, 3)]), 1, {2}))
    [0, 1]
    """
    seen = {start}
    stack = [start]
    while stack:
        for node in graph[stack.pop()]:
            if node not in seen and node not in blocked:
                seen.add(node)
                stack.append(node)
    return seen


def components(graph: Graph) -> list[list[int]]:
    """Return the connected parts, each sorted, in the order of their smallest nodes.

    Examples
    --------
    >>> components(graph_of(5, [(0, 3), (1, 2)]))
    [[0, 3], [1, 2], [4]]
    """
    seen: set[int] = set()
    parts: list[list[int]] = []
    for node in range(len(graph)):
        if node not in seen:
            part = reachable(graph, node)
            seen |= part
            parts.append(sorted(part))
    return parts


def spheres(graph: Graph, centre: int) -> Iterator[frozenset[int]]:
    """The nodes at distance 1, 2, ... from `centre`, as long as there are any.

    Examples
    --------
    >>> [sorted(s) for s in spheres(graph_of(4, [(0, 1), (1, 2), (1, 3)]), 0)]
    [[1], [2, 3]]
    """
    seen = {centre}
    last = {centre}
    while last := {node for inner in last for node in graph[inner]} - seen:
        seen |= last
        yield frozenset(last)


def path_between(graph: Graph, start: int, end: int) -> list[int]:
    """Return a shortest path, ends included; the empty list where there is none.

    Examples
    --------
    >>> path_between(graph_of(4, [(0, 1), (1, 2)]), 0, 2), path_between(graph_of(2, []), 0, 1)
    ([0, 1, 2], [])
    """
    before: dict[int, int] = {start: start}
    queue = deque([start])
    while queue and end not in before:
        node = queue.popleft()
        for other in sorted(graph[node]):
            if other not in before:
                before[other] = node
                queue.append(other)
    if end not in before:
        return []
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]


def is_tree(graph: Graph, nodes: Collection[int]) -> bool:
    """Return whether a connected part is a tree: one edge fewer than nodes.

    Examples
    --------
    >>> is_tree(graph_of(3, [(0, 1), (1, 2)]), [0, 1, 2]), is_tree(graph_of(3, [(0, 1, 2)]), [0, 1, 2])
    (True, False)
    """
    return sum(len(graph[node]) for node in nodes) == 2 * (len(nodes) - 1)
