"""The joint law of a discrete network: its factors, its moral graph, its independent parts and its nodes' names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from holdfast import check
from holdfast.correlated.elimination import TooWide, marginal
from holdfast.correlated.graph import Graph, components
from holdfast.correlated.model import check_record
from holdfast.correlated.network_factors import Factor
from holdfast.errors import InvalidParameter

Node = int | str
"""A node by number or by name."""


class NetworkLaw:
    """A product of factors over named nodes; nodes 0 to `rows - 1` are rows of the database, the others are hidden.

    Parameters
    ----------
    names, sizes : sequences
        Name and number of values of each node.
    factors : sequence of Factor
        Their product is the law, up to a constant.
    graph : Graph
        The moral graph: members of one factor are neighbours.
    rows : int
        How many nodes are rows of the database.
    independent_parts : bool
        Whether the graph may fall into parts.

    Examples
    --------
    >>> NetworkLaw(["a", "b"], [2, 2], [], (frozenset(), frozenset()), 2, False)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: network must be connected, got 2 parts with no edge between them (a; b); if ...
    """

    def __init__(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        factors: Sequence[Factor],
        graph: Graph,
        rows: int,
        independent_parts: bool,
    ) -> None:
        self.names = tuple(names)
        self.sizes = tuple(sizes)
        self.factors = tuple(factors)
        self.graph = graph
        self.rows = rows
        self.parts = [tuple(part) for part in components(graph)]
        self.part_of = {node: part for part in self.parts for node in part}
        self._number = {name: j for j, name in enumerate(self.names)}
        if len(self.parts) > 1 and not independent_parts:
            shown = "; ".join(self._shown(part) for part in self.parts[:3])
            raise InvalidParameter(
                f"network must be connected, got {len(self.parts)} parts with no edge between them ({shown}"
                f"{'; ...' if len(self.parts) > 3 else ''}); if records of different parts really are independent, "
                "say independent_parts=True"
            )
        held: dict[tuple[int, ...], list[Factor]] = {part: [] for part in self.parts}
        for factor in self.factors:
            held[self.part_of[factor.variables[0]]].append(factor)
        self._held = {part: tuple(some) for part, some in held.items()}

    def of(self, node: int) -> tuple[Factor, ...]:
        """The factors of the node's part; the others are independent of it."""
        return self._held[self.part_of[node]]

    def check_possible(self, cells: int) -> None:
        """Refuse factors that rule everything out, as far as tables of that many cells can tell."""
        for part, factors in self._held.items():
            try:
                total = float(marginal(factors, (), self.sizes, cells).logs)
            except TooWide:
                continue  # only the trivial quilt is used then, which needs no law
            if np.isneginf(total):
                raise InvalidParameter(
                    f"factors must leave something possible, but around node {self.names[part[0]]} nothing is"
                )

    def record(self, record: Any) -> int:
        """The number of a row of the database, given by number or name."""
        if isinstance(record, str):
            number = self._node("record", record)
            if number >= self.rows:
                raise InvalidParameter(f"record must be a row of the database, but {record!r} is hidden")
            return number
        return check_record(record, self.rows)

    def nodes(self, where: str, nodes: Collection[Node]) -> tuple[int, ...]:
        """The numbers of nodes, given by number or name."""
        return tuple(self._node(f"{where}[{j}]", node) for j, node in enumerate(nodes))

    def _node(self, where: str, node: Any) -> int:
        if isinstance(node, str):
            if node not in self._number:
                raise InvalidParameter(f"{where} must name nodes of the network, got {node!r}")
            return self._number[node]
        return check.whole(where, node, at_least=0, at_most=len(self.names) - 1)

    def _shown(self, part: Sequence[int]) -> str:
        return ", ".join(self.names[node] for node in part[:3]) + (", ..." if len(part) > 3 else "")


__all__ = ["NetworkLaw", "Node"]
