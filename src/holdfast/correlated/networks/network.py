"""Discrete networks of moderate width: Bayesian networks (directed) and Markov networks (undirected).

Quilts
------
Every quilt that is worth trying is the boundary of a connected set. Take the record with the nearby nodes: a connected
set `A`. The quilt must hold all neighbours of `A`; more nodes than these change nothing, since the neighbours already
separate them from the record. So listing connected sets by size lists all quilts, and the search can stop at the size
that could not win even with no influence at all.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.bounds.correlated.effective_size import effective_n_blocks
from holdfast.core import arguments
from holdfast.correlated.model import ZEROS, ListedModel, Quilt, Surcharge, check_record, check_surcharge
from holdfast.correlated.networks.factors import (
    CELLS,
    Factor,
    TooWide,
    bayesian_tables,
    marginal,
    markov_tables,
    records_first,
)
from holdfast.correlated.networks.graph import Graph, components, directed_cycle, graph_of, is_tree, reachable, spheres
from holdfast.correlated.networks.influence import largest_influence, set_influence, tree_bound
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

Node = int | str
"""A node by number or by name."""


class NetworkLaw:
    """A product of factors over named nodes; nodes 0 to `rows - 1` are rows of the database, the others are hidden.

    Parameters
    ----------
    names, sizes : sequences
        Name and number of values of each node.
    factors : sequence of Factor
        Their product is the distribution, up to a constant.
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
                f"network must be connected, got {len(self.parts)} parts with no edge between them "
                f"({shown}{'; ...' if len(self.parts) > 3 else ''}); if records of different parts really are "
                "independent, give independent_parts=True"
            )
        held: dict[tuple[int, ...], list[Factor]] = {part: [] for part in self.parts}
        for factor in self.factors:
            held[self.part_of[factor.variables[0]]].append(factor)
        self._held = {part: tuple(some) for part, some in held.items()}

    def of(self, node: int) -> tuple[Factor, ...]:
        """Return the factors of the node's part; the others are independent of it."""
        return self._held[self.part_of[node]]

    def check_possible(self, cells: int) -> None:
        """Refuse factors that rule everything out, as far as tables of that many cells can tell."""
        for part, factors in self._held.items():
            try:
                total = float(marginal(factors, (), self.sizes, cells).logs)
            except TooWide:
                continue  # only the trivial quilt is used then, which needs no distribution
            if np.isneginf(total):
                raise InvalidParameter(
                    f"factors must leave some combination of values possible, but around node {self.names[part[0]]} "
                    "none is"
                )

    def record(self, record: Any) -> int:
        """Return the number of a row of the database, given by number or name."""
        if isinstance(record, str):
            number = self._node("record", record)
            if number >= self.rows:
                raise InvalidParameter(f"record must be a row of the database, but the node {record!r} is hidden")
            return number
        return check_record(record, self.rows)

    def nodes(self, where: str, nodes: Collection[Node]) -> tuple[int, ...]:
        """Return the numbers of nodes, given by number or name."""
        return tuple(self._node(f"{where}[{j}]", node) for j, node in enumerate(nodes))

    def _node(self, where: str, node: Any) -> int:
        if isinstance(node, str):
            if node not in self._number:
                raise InvalidParameter(f"{where} must name nodes of the network, got {node!r}")
            return self._number[node]
        return arguments.whole(where, node, at_least=0, at_most=len(self.names) - 1)

    def _shown(self, part: Sequence[int]) -> str:
        return ", ".join(self.names[node] for node in part[:3]) + (", ..." if len(part) > 3 else "")


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
    """Return the cut that a quilt makes, with the least nearby set: what the record reaches without crossing the quilt.

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
    >>> from holdfast.correlated.networks.graph import graph_of
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
    >>> from holdfast.correlated.networks.graph import graph_of
    >>> cycle = graph_of(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> check_cut(cycle, 0, {1}, 4, remote={2})
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: quilt must separate record 0 from the remote nodes, but 2 can be reached ...
    """
    if record in quilt:
        raise InvalidParameter(f"quilt must not contain its own record, which is {record}")
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
    >>> from holdfast.correlated.networks.graph import graph_of
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
        effect = influence(cut, (epsilon - cut.size * level) / factor) if cut.quilt else 0.0
        if effect is None:
            continue
        quilt = Quilt(cut.record, cut.quilt, cut.nearby, effect, cut.size)
        here = quilt.epsilon_dp(epsilon, surcharge)
        if best is None or here > level:
            best, level = quilt, here
    assert best is not None, "every record has its trivial quilt"
    return best


def cheapest_cut(listed: Iterator[Cut], influence: Influence, epsilon_dp: float, surcharge: Surcharge) -> Quilt:
    """Return the cut with the least `size * epsilon_dp + surcharge`, found in the same way."""
    factor = _coefficient(surcharge)
    best, level = None, math.inf
    for cut in listed:
        if cut.size * epsilon_dp >= level:
            break
        effect = influence(cut, (level - cut.size * epsilon_dp) / factor) if cut.quilt else 0.0
        if effect is None:
            continue
        quilt = Quilt(cut.record, cut.quilt, cut.nearby, effect, cut.size)
        here = quilt.epsilon_bdp(epsilon_dp, surcharge)
        if best is None or here < level:
            best, level = quilt, here
    assert best is not None, "every record has its trivial quilt"
    return best


QUILTS = 256
"""Connected sets that the search lists for each record before it turns to spheres."""


class Network(ListedModel):
    """A declared joint distribution of discrete records, given as a product of tables.

    Make one with `Network.bayesian` or `Network.markov`. The nodes 0 to `n - 1` are the rows of the database, in the
    given order. Hidden nodes follow. Every influence is exact: it is the maximum over everything that an adversary may
    know nearby. If that maximum needs tables of more than `cells` cells, a tree uses Birkhoff's bound instead, and any
    other network leaves the Markov quilt out.

    Notes
    -----
    Quilts live in the moral graph. The search never uses a maximum over some sets only.

    Time: the search tries connected sets by size and stops at the size that cannot win. Each costs `prod(sizes of Q and
    i) * prod(1 + size)` over the nearby records, plus one elimination of the other nodes.

    Examples
    --------
    A leaky relay: the record reaches the quilt through `u`, and what is known at `w` raises the influence.

    >>> network = Network.bayesian({
    ...     "i": ((), [0.5, 0.5]),
    ...     "u": (("i",), [[0.98, 0.02], [0.8, 0.2]]),
    ...     "q": (("u",), [[0.9, 0.1], [0.1, 0.9]]),
    ...     "w": (("u",), [[0.95, 0.05], [0.05, 0.95]]),
    ... })
    >>> round(network.influence("i", ["q"]), 9), round(network.influence("i", ["q"], ["w"]), 9)
    (0.80709144, 1.039879815)
    >>> quilt = network.quilt("i", ["q"])
    >>> quilt.nearby, quilt.size, round(quilt.influence, 9)
    ((1, 3), 3, 1.039879815)
    >>> print(network.best_quilt("i", epsilon=4.0))
    record 0: quilt {}, 4 records at once, influence 0
    """

    def __init__(self, law: NetworkLaw, *, kind: str, cells: int, most_quilts: int, plain: Mapping[str, Any]) -> None:
        self._law = law
        self._kind = kind
        self._cells = arguments.whole("cells", cells, at_least=4)
        self._most_quilts = arguments.whole("most_quilts", most_quilts, at_least=0)
        self._plain = dict(plain)
        self._known: dict[Cut, tuple[float, bool]] = {}

    @classmethod
    def bayesian(
        cls,
        tables: Mapping[str, tuple[Sequence[str], npt.ArrayLike]],
        *,
        hidden: Collection[str] = (),
        independent_parts: bool = False,
        cells: int = CELLS,
        most_quilts: int = QUILTS,
    ) -> Network:
        """Return a directed network (Bayesian network), given the parents and the conditional table of each node.

        Parameters
        ----------
        tables : mapping
            `name: (parents, table)`. The table has one axis for each parent, in that order, and a last axis for the
            node's own values; along it the entries are probabilities that sum to 1 within 1e-12.
        hidden : collection of str
            Nodes that are no rows of the database: no adversary knows them and no quilt counts them.
        independent_parts : bool
            Say so if the network may fall into parts that share no edge. Otherwise that is an error, since it declares
            independence.
        cells : int
            Largest table that may be built.
        most_quilts : int
            Connected sets tried for each record.

        Raises
        ------
        InvalidParameter
            For a directed cycle (it is named), an unknown parent, rows that do not sum to 1, an unconnected network.

        Examples
        --------
        >>> Network.bayesian({"a": (("b",), [[0.5, 0.5]] * 2), "b": (("a",), [[0.5, 0.5]] * 2)})
        Traceback (most recent call last):
            ...
        holdfast.errors.InvalidParameter: tables must have no directed cycle, got a -> b -> a
        """
        names, rows = records_first(tables, hidden)
        parents, arrays, sizes = bayesian_tables(tables, names)
        cycle = directed_cycle(parents)
        if cycle is not None:
            around = " -> ".join(names[node] for node in [*cycle, cycle[0]])
            raise InvalidParameter(f"tables must have no directed cycle, got {around}")
        scopes = [(*parents[j], j) for j in range(len(names))]
        factors = [Factor.of(scope, table) for scope, table in zip(scopes, arrays, strict=True)]
        plain = {
            "hidden": list(names[rows:]),
            "tables": {m: [[names[p] for p in parents[j]], arrays[j].tolist()] for j, m in enumerate(names)},
        }
        law = NetworkLaw(names, sizes, factors, graph_of(len(names), scopes), rows, independent_parts)
        return cls(law, kind="Bayesian network", cells=cells, most_quilts=most_quilts, plain=plain)

    @classmethod
    def markov(
        cls,
        sizes: Mapping[str, int],
        factors: Iterable[tuple[Sequence[str], npt.ArrayLike]],
        *,
        hidden: Collection[str] = (),
        independent_parts: bool = False,
        cells: int = CELLS,
        most_quilts: int = QUILTS,
    ) -> Network:
        """Return an undirected network (Markov network), whose distribution is proportional to a product of
        non-negative tables.

        Parameters
        ----------
        sizes : mapping
            `name: number of values` of each node.
        factors : iterable
            Pairs `(names, table)`, the table having one axis for each name. Members of one factor are neighbours.
        hidden, independent_parts, cells, most_quilts
            As in `bayesian`.

        Examples
        --------
        >>> bond = np.exp([[0.2, -0.2], [-0.2, 0.2]])
        >>> ring = Network.markov({name: 2 for name in "abcd"}, [(pair, bond) for pair in ("ab", "bc", "cd", "da")])
        >>> round(ring.quilt(0, ring.blanket(0)).influence, 9), ring.blanket("a")
        (0.8, (1, 3))
        """
        names, rows = records_first(sizes, hidden)
        scopes, arrays, counts = markov_tables(sizes, factors, names)
        logs = [Factor.of(scope, table) for scope, table in zip(scopes, arrays, strict=True)]
        plain = {
            "hidden": list(names[rows:]),
            "sizes": dict(zip(names, counts, strict=True)),
            "factors": [[[names[v] for v in scope], t.tolist()] for scope, t in zip(scopes, arrays, strict=True)],
        }
        law = NetworkLaw(names, counts, logs, graph_of(len(names), scopes), rows, independent_parts)
        law.check_possible(arguments.whole("cells", cells, at_least=4))
        return cls(law, kind="Markov network", cells=cells, most_quilts=most_quilts, plain=plain)

    @property
    def n(self) -> int:
        """The number of records."""
        return self._law.rows

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes by number, the records first."""
        return self._law.names

    @property
    def graph(self) -> Graph:
        """The moral graph of the network. `graph[i]` are the neighbours of node `i`."""
        return self._law.graph

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        hidden = len(self.names) - self.n
        edges = sum(map(len, self.graph)) // 2
        extra = f" and {hidden} hidden nodes" if hidden else ""
        parts = f", {len(self._law.parts)} independent parts" if len(self._law.parts) > 1 else ""
        return f"{self._kind} of {self.n} records{extra}, {edges} edges in its moral graph{parts}"

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""
        return {"model": self._kind.lower(), "n": self.n} | self._plain

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def blanket(self, record: Node) -> tuple[int, ...]:
        """Return the Markov blanket of a record: its parents, its children and their other parents.

        In an undirected network it is the neighbours of the record.

        Examples
        --------
        >>> pair = {"a": ((), [0.5, 0.5]), "b": (("a",), [[0.9, 0.1], [0.2, 0.8]])}
        >>> Network.bayesian(pair).blanket("a")
        (1,)
        """
        return tuple(sorted(self.graph[self._law.record(record)]))

    def law(self, nodes: Sequence[Node]) -> npt.NDArray[np.float64]:
        """Return the joint distribution of a few nodes as a table, with one axis for each node in the given order."""
        wanted = self._law.nodes("nodes", nodes)
        if len(set(wanted)) != len(wanted):
            raise InvalidParameter("nodes must not have the same node twice")
        try:
            logs = marginal(self._law.factors, wanted, self._law.sizes, self._cells).logs
        except TooWide:
            raise _too_wide(self._cells) from None
        table = np.exp(logs - np.max(logs))
        return np.asarray(table / table.sum())

    def influence(self, record: Node, quilt: Collection[Node], known: Collection[Node] = ()) -> float:
        """Return the exact max-influence of `record` on the nodes of `quilt`, in nats, for an adversary who knows
        the records of `known`.

        The max-influence is the largest log ratio of the probabilities of what the quilt's nodes show, given two values
        of `record`. If one value rules another one out, it is infinite. The quilt may contain hidden nodes, but `known`
        may not.
        """
        i = self._law.record(record)
        q, k = set(self._law.nodes("quilt", quilt)), set(self._law.nodes("known", known))
        for name, group in (("quilt", q), ("known", k)):
            if i in group:
                raise InvalidParameter(f"{name} must not contain the record itself, which is {record}")
        if q & k:
            raise InvalidParameter("quilt and known must have no node in common")
        if any(node >= self.n for node in k):
            raise InvalidParameter("known must have records only, because nobody knows a hidden node")
        part = set(self._law.part_of[i])
        try:
            return set_influence(self._law.of(i), self._law.sizes, i, sorted(q & part), sorted(k & part), self._cells)
        except TooWide:
            raise _too_wide(self._cells) from None

    def quilt(self, record: Node, quilt: Collection[Node], remote: Collection[Node] = ()) -> Quilt:
        """Return a Markov quilt that you choose, after checking it, with its exact influence.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The set of nearby records is made as small as possible.

        Parameters
        ----------
        record, quilt
            The record and the nodes that are to separate it.
        remote : collection
            Nodes that the quilt is meant to separate from the record; it is an error if it does not.
        """
        i = self._law.record(record)
        nodes, far = self._law.nodes("quilt", quilt), self._law.nodes("remote", remote)
        cut = check_cut(self.graph, i, nodes, self.n, remote=far)
        influence = self._influence(cut)
        if influence is None:
            raise _too_wide(self._cells)
        return Quilt(i, cut.quilt, cut.nearby, influence, cut.size)

    def quilts(self, record: Node) -> Iterator[Quilt]:
        """Return all Markov quilts of `record` that the search may use, with their influences, by increasing size.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        """
        for cut in self._cuts(self._law.record(record)):
            influence = self._influence(cut) if cut.quilt else 0.0
            if influence is not None:
                yield Quilt(cut.record, cut.quilt, cut.nearby, influence, cut.size)

    def best_quilt(self, record: Node, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` with which the record needs the least noise.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach. The quilt maximises `(epsilon - surcharge) /
        size` among those listed. It is the best of all quilts if the record's component has at most `most_quilts`
        connected sets around it and every table is small enough. Otherwise the result is valid but may be more
        cautious.

        Notes
        -----
        No sharper surcharge than twice the influence is known off chains.
        """
        epsilon = arguments.real("epsilon", epsilon, above=0)
        return best_cut(self._cuts(self._law.record(record)), self._influence, epsilon, surcharge)

    def cheapest_quilt(self, record: Node, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` that proves the lowest level of Bayesian differential privacy for it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The mechanism is `epsilon_dp`-differentially private, and the level is `size * epsilon_dp + surcharge`.
        """
        epsilon_dp = arguments.real("epsilon_dp", epsilon_dp, above=0)
        return cheapest_cut(self._cuts(self._law.record(record)), self._influence, epsilon_dp, surcharge)

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        Parts of the network that have no edge between them count as independent blocks. Inside a part nothing is
        proved, so a connected network counts as a single row. For noisy answers, colour the quilts with `colour_quilts`
        instead.

        Notes
        -----
        3.9, row A.
        """
        return effective_n_blocks([k for part in self._law.parts if (k := sum(node < self.n for node in part))])

    def notes(self) -> tuple[str, ...]:
        """Return what a certificate must state: zero probabilities for which a record has infinite influence on its
        Markov blanket.

        Examples
        --------
        >>> copies = {"a": ((), [0.5, 0.5]), "b": (("a",), [[1.0, 0.0], [0.0, 1.0]])}
        >>> Network.bayesian(copies).notes()[0][:46]
        'some value of a record rules out a value of an'
        """
        if not any(np.isneginf(factor.logs).any() for factor in self._law.factors):
            return ()
        for record in range(self.n):
            try:
                if math.isinf(self.influence(record, self.blanket(record))):
                    return (ZEROS,)
            except GuaranteeUnavailable:  # too wide to say
                continue
        return ()

    def _cuts(self, record: int) -> Iterator[Cut]:
        return cuts(self.graph, record, self.n, self._most_quilts)

    def _influence(self, cut: Cut, limit: float = math.inf) -> float | None:
        """The influence of a cut; None where it is at least `limit`, or where no bound is known within the cap."""
        value, exact = self._known.get(cut, (0.0, False))
        if not exact and value < limit:  # known so far: only that it is at least `value`
            influence = self._exact_or_bound(cut, limit)
            value, exact = (limit, False) if influence is None else (influence, True)
            self._known[cut] = value, exact
        return value if exact and (value < limit or limit == math.inf) else None

    def _exact_or_bound(self, cut: Cut, limit: float) -> float | None:
        law = self._law.of(cut.record)
        known = [node for node in cut.nearby if node < self.n]
        try:
            return largest_influence(law, self._law.sizes, cut.record, cut.quilt, known, limit=limit, cells=self._cells)
        except TooWide:
            if not is_tree(self.graph, self._law.part_of[cut.record]):
                return None
            bound = tree_bound(law, self._law.sizes, self.graph, cut.record, cut.quilt)
            return bound if bound < limit or math.isinf(limit) else None


def _too_wide(cells: int) -> GuaranteeUnavailable:
    return GuaranteeUnavailable(
        f"this influence needs tables of more than {cells} cells; raise cells, choose a smaller quilt, or use the "
        "trivial quilt, which needs none"
    )
