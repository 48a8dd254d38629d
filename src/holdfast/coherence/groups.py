"""Groups of people, fixed before the split: declared rules, all values of columns, and their intersections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.distance import GroupDistances, Partition, Ranked, group_distances, rank
from holdfast.coherence.table import Table, missing, missing_column
from holdfast.coherence.target import decided
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

EVERYONE = "everyone"
SIZE_FLOOR = 80
"""The number of members below which every theorem is vacuous; the default of `min_size`."""
LARGEST_COLLECTION = 100_000
"""Groups beyond which a plan is refused."""
_MOST_VALUES = 200

Rule = str | Callable[[Table], Any] | Any
"""An expression (`"SEX = 2 and AGEP between 18 and 25"`), a function of the table, or one truth value per row."""


@dataclass(frozen=True)
class GroupPlan:
    """A description of the groups to audit. The members are found later, by `resolve`.

    Parameters
    ----------
    declared : mapping of name to rule
        A rule is a condition in the expression language of docs/expressions.md, a function of the table, or a list of
        truth values with one entry for each row of the data. A row for which a condition is NULL is not a member.
    columns : sequence of str
        Every value of each of these columns is a group; a missing value is a value of its own.
    depth : int
        Intersections of the values of up to this many columns are groups too.
    bins : mapping of column to edges
        Numbers to cut a column at: edges e_0 < e_1 < ... make the intervals below e_0, [e_0, e_1), ..., from the last.
    min_size : int
        Smaller groups are listed as too small and not measured. The default, 80, is the least size of any theorem.
    everyone : bool
        Whether all rows together are a group.

    Examples
    --------
    >>> plan = GroupPlan({"women": "SEX = 2"}, columns=["SEX"], min_size=2)
    >>> found = plan.resolve(Table.of({"SEX": [1, 2, 2, 2, 3, 3]}))
    >>> found.names, found.sizes.tolist(), found.too_small
    (('everyone', 'women', 'SEX=2', 'SEX=3'), [6, 3, 3, 2], (('SEX=1', 1),))
    """

    declared: Mapping[str, Rule] = field(default_factory=dict)
    columns: Sequence[str] = ()
    depth: int = 1
    bins: Mapping[str, Sequence[float]] = field(default_factory=dict)
    min_size: int = SIZE_FLOOR
    everyone: bool = True

    def __post_init__(self) -> None:
        columns = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        if len(set(columns)) != len(columns):
            raise InvalidParameter("columns must be distinct: name each column of groups once")
        if not self.everyone and not self.declared and not columns:
            raise InvalidParameter("groups must name at least one group, declared or by a column")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "depth", arguments.whole("depth", self.depth, at_least=1))
        object.__setattr__(self, "min_size", arguments.whole("min_size", self.min_size, at_least=1))
        for name, edges in self.bins.items():
            if list(edges) != sorted(set(arguments.reals(f"bins[{name!r}]", list(edges)))):
                raise InvalidParameter(f"the edges in bins of {name!r} must increase")

    def resolve(self, table: Table, rows: NDArray[np.int64] | None = None) -> Groups:
        """Find the members of every group among the given `rows` of the table (by default all rows)."""
        rows = np.arange(table.rows) if rows is None else rows
        for name in (*self.columns, *self.bins):
            if name not in table:
                raise missing_column(name, table.names)
        audited = table.take(rows)
        layers: list[_Layer] = []
        small: list[tuple[str, int]] = []
        if self.everyone:
            layers.append(_Layer.mask(EVERYONE, np.ones(audited.rows, dtype=bool)))
        for name, rule in self.declared.items():
            mask = _declared(str(name), rule, audited, table.rows, rows)
            size = int(mask.sum())
            if size == 0:
                raise InvalidParameter(f"group {name!r} has no member among the {audited.rows} rows of the audit")
            if size < self.min_size:
                small.append((str(name), size))
            else:
                layers.append(_Layer.mask(str(name), mask))
        coded = {name: _codes(name, audited, self.bins.get(name)) for name in self.columns}
        for size in range(1, min(self.depth, len(self.columns)) + 1):
            for chosen in combinations(self.columns, size):
                layer = _crossing([coded[name] for name in chosen], self.min_size, small)
                if layer.names:
                    layers.append(layer)
                if sum(len(layer.names) for layer in layers) > LARGEST_COLLECTION:
                    raise InvalidParameter(
                        f"there are more than {LARGEST_COLLECTION} groups, which is the limit; lower depth or raise "
                        "min_size"
                    )
        names = [name for layer in layers for name in layer.names]
        if not names:
            raise InvalidParameter(
                f"at least one of the groups must have min_size = {self.min_size} rows or more, but none has"
            )
        if len(set(names)) != len(names):
            again = next(name for name in names if names.count(name) > 1)
            raise InvalidParameter(f"groups must have distinct names, but {again!r} occurs twice")
        asked = tuple(name for name, _ in small if name in self.declared)
        return Groups(tuple(names), audited.rows, tuple(small), tuple(layers), asked)


@dataclass(frozen=True, eq=False)
class _Layer:
    """Disjoint groups: one mask of bits, or one code per row."""

    names: tuple[str, ...]
    bits: NDArray[np.uint8] | None
    partition: Partition | None

    @classmethod
    def mask(cls, name: str, members: NDArray[np.bool_]) -> _Layer:
        return cls((name,), np.packbits(members), None)


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Groups with their members, made by `GroupPlan.resolve` and fixed before any split.

    `too_small` has the names and sizes of the groups below the size limit. `unmeasured` has those among them that were
    declared by name.

    Examples
    --------
    >>> found = GroupPlan(columns=["SEX"], min_size=2).resolve(Table.of({"SEX": [1, 2, 2, 2, 3, 3]}))
    >>> found
    Groups(3 groups of 6 rows, 1 too small)
    >>> found.mask("SEX=2").tolist()
    [False, True, True, True, False, False]
    """

    names: tuple[str, ...]
    rows: int
    too_small: tuple[tuple[str, int], ...]
    layers: tuple[_Layer, ...]
    unmeasured: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Groups({len(self)} groups of {self.rows} rows, {len(self.too_small)} too small)"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of members of each group."""
        sizes: list[int] = []
        for layer in self.layers:
            if layer.partition is None:
                sizes.append(int(self._mask(layer).sum()))
            else:
                codes = layer.partition.codes
                sizes += np.bincount(codes[codes >= 0], minlength=layer.partition.groups).tolist()
        return np.array(sizes, dtype=np.int64)

    def mask(self, group: int | str) -> NDArray[np.bool_]:
        """Return a mask of the rows that are members of the group with this number or name."""
        number = (self.names.index(group) if group in self.names else -1) if isinstance(group, str) else group
        for layer in self.layers if number >= 0 else ():
            if number < len(layer.names):
                return self._mask(layer) if layer.partition is None else layer.partition.codes == number
            number -= len(layer.names)
        raise InvalidParameter(f"group must be the name or the number of one of the {len(self)} groups, got {group!r}")

    def masks(self) -> Iterator[NDArray[np.bool_]]:
        """The masks of all groups, in the order of `names`."""
        return (self.mask(number) for number in range(len(self)))

    def distances(
        self, predictions: Any, inside: Any, *, weights: Any = None, metric: str = "wasserstein"
    ) -> GroupDistances:
        """Return the distance of every group, in the order of `names`. See `distance.group_distances`.

        The predictions are sorted only once.
        """
        ranked = predictions if isinstance(predictions, Ranked) else rank(predictions)
        parts: list[GroupDistances] = []
        single: list[_Layer] = []

        def overlapping() -> None:
            if single:
                masks = (self._mask(layer) for layer in single)
                parts.append(group_distances(ranked, inside, masks, weights=weights, metric=metric))
                single.clear()

        for layer in self.layers:
            if layer.partition is None:
                single.append(layer)
            else:
                overlapping()
                parts.append(group_distances(ranked, inside, layer.partition, weights=weights, metric=metric))
        overlapping()
        return GroupDistances(
            np.concatenate([part.distance for part in parts]),
            np.concatenate([part.inside for part in parts]),
            np.concatenate([part.outside for part in parts]),
        )

    def zero_out_distances(self, predictions: Any, inside: Any, at: float) -> GroupDistances:
        """Return distances of an alternative definition, in which everyone outside the group gets the prediction `at`.

        `at` is the prediction for a record whose values are all missing. The paper mentions this alternative to
        Definition D4 and rejects it. It compares whole halves, so every group's distance is small in proportion to the
        group, and no half is ever empty.

        Notes
        -----
        Time O(n) a group after one sort.
        """
        where = np.append(np.asarray(inside), [True, False])
        ranked = rank(np.append(np.asarray(predictions, dtype=np.float64), [at, at]))
        n_in = int(where.sum()) - 1
        n_out = where.size - 2 - n_in
        parts = []
        for mask in self.masks():
            a = int((mask & where[:-2]).sum())
            b = int(mask.sum()) - a
            # One more row in each half stands for all who are not members, with their number as its weight.
            weights = np.append(mask, [n_in - a, n_out - b]).astype(np.float64)
            distances = group_distances(ranked, where, [np.ones(where.size, dtype=bool)], weights=weights)
            parts.append((float(distances.distance[0]), a, b))
        return GroupDistances(
            np.array([d for d, _, _ in parts]),
            np.array([a for _, a, _ in parts], dtype=np.int64),
            np.array([b for _, _, b in parts], dtype=np.int64),
        )

    def _mask(self, layer: _Layer) -> NDArray[np.bool_]:
        assert layer.bits is not None
        return np.unpackbits(layer.bits, count=self.rows).view(np.bool_)


def plan_of(groups: Any) -> GroupPlan:
    """Return a `GroupPlan` from one, from a mapping of declared groups, or from a list of columns."""
    if isinstance(groups, GroupPlan):
        return groups
    if groups is None:
        return GroupPlan()
    if isinstance(groups, Mapping):
        return GroupPlan(declared=groups)
    if isinstance(groups, Sequence):
        return GroupPlan(columns=(groups,) if isinstance(groups, str) else tuple(groups))
    raise InvalidParameter("groups must be a GroupPlan, a mapping of names to rules, or a list of columns")


def _declared(name: str, rule: Rule, audited: Table, total: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    if isinstance(rule, str):
        return decided(f"group {name!r}", rule, audited)
    mask = np.asarray(rule(audited) if callable(rule) else rule)
    if not callable(rule) and mask.shape == (total,):
        mask = mask[rows]
    if mask.dtype != np.bool_ or mask.shape != (audited.rows,):
        raise InvalidParameter(f"group {name!r} must have True or False for each row")
    return mask


def _codes(name: str, table: Table, edges: Sequence[float] | None) -> tuple[NDArray[np.int64], list[str]]:
    """A number for each distinct value, and the names of these groups."""
    values = table[name]
    gone = missing(values)
    if edges is not None:
        if values.dtype.kind == "O":
            raise InvalidParameter(f"bins are for columns of numbers, but column {name!r} holds text")
        cuts = [float(edge) for edge in edges]
        codes = np.searchsorted(cuts, values.astype(np.float64), side="right")
        middle = [f"{name} in [{a:g}, {b:g})" for a, b in pairwise(cuts)]
        labels = [f"{name} < {cuts[0]:g}", *middle, f"{name} >= {cuts[-1]:g}"]
    else:
        distinct, inverse = np.unique(
            values[~gone].astype(str) if values.dtype.kind == "O" else values[~gone], return_inverse=True
        )
        codes = np.zeros(values.size, dtype=np.int64)
        codes[~gone] = inverse
        number = values.dtype.kind == "f" and not table.is_boolean(name)
        shown = distinct.astype(bool) if table.is_boolean(name) else distinct
        labels = [f"{name}={value:g}" if number else f"{name}={value}" for value in shown]
        if len(labels) > _MOST_VALUES and values.dtype.kind != "O":
            raise InvalidParameter(
                f"column {name!r} has {len(labels)} different values, which is too many for groups; give in bins the "
                "numbers at which to cut it"
            )
    codes = np.where(gone, len(labels), codes)
    return codes, [*labels, f"{name} missing"]


def _crossing(coded: list[tuple[NDArray[np.int64], list[str]]], min_size: int, small: list[tuple[str, int]]) -> _Layer:
    """All cells of a crossing that are large enough, as one partition; the others go to `small`."""
    codes, labels = coded[0][0], [(label,) for label in coded[0][1]]
    for more, names in coded[1:]:
        cells, codes = np.unique(codes * len(names) + more, return_inverse=True)  # cells that occur only
        labels = [(*labels[cell // len(names)], names[cell % len(names)]) for cell in cells.tolist()]
    counts = np.bincount(codes, minlength=len(labels))
    large = counts >= min_size
    small += [
        (" & ".join(label), int(count)) for label, count in zip(labels, counts, strict=True) if 0 < count < min_size
    ]
    number = np.where(large, np.cumsum(large) - 1, -1)
    crossings = tuple(" & ".join(label) for label, keep in zip(labels, large, strict=True) if keep)
    return _Layer(crossings, None, Partition(number[codes].astype(np.int32), len(crossings)))
