"""Rows in declared groups: their labels, what is measured in each, and the noise that one price buys for all of them.

A row is in at most one group. Groups are the combinations of the declared categories of one or several columns, so
which there are is public and depends on no row. Rows with any other value are in no group.

*One price for all groups.* A row with value `v` in [0, 1] adds `(v, 1 - v)` to the two sums of its group, and nothing
to all others. Replacing a row takes one such pair away and adds another. If both are in one group, each of its two sums
moves by `|v - v'| <= 1`; if they are in two groups, the pairs that change have a sum of absolute changes of
`v + (1 - v) = 1` each. So all sums of all groups together move by at most 2 in the sum of absolute values, and their
squares by at most 2. Noise of scale `2 / epsilon`, or of variance `1 / rho`, on every sum therefore costs `epsilon`, or
`rho`, in all, however many groups there are. Counts of rows are the same with `v = 1` and one sum a group.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from holdfast.accounting import Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.numerics.exact import decimal_fraction
from holdfast.data.expressions import tree
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, Count, GroupBy, Present, Statistic
from holdfast.data.statistics.counts import Categories, categories_of
from holdfast.errors import InvalidParameter
from holdfast.guard.columns import DeclaredColumn, categories_for
from holdfast.guard.questions.expressions import BoundExpression, label_of, listed
from holdfast.mechanisms.additive import Gaussian, Laplace
from holdfast.noise.entropy import Source
from holdfast.noise.grid import Grid
from holdfast.noise.inputs import fits_vector

_MOST_BY = 4
_MOST_GROUPS = 2_000
_MOST_ROWS = 2**31
"""Rows for which sums in steps of 2**-30 stay within the range of the noise, whatever the rows hold."""


@dataclass(frozen=True)
class Groups:
    """The declared groups of a table: columns, their categories, and a label for each combination.

    Examples
    --------
    >>> groups = Groups(("sex", "member"), (("f", "m"), (False, True)))
    >>> groups.labels
    ('f, false', 'f, true', 'm, false', 'm, true')
    """

    columns: tuple[str, ...]
    categories: tuple[Categories, ...]

    @property
    def cells(self) -> list[tuple[Any, ...]]:
        """Every combination of categories, in order; the last column fastest."""
        return list(itertools.product(*self.categories))

    @property
    def labels(self) -> tuple[str, ...]:
        """What each combination is called: its categories with commas, or as a JSON list where that is ambiguous."""
        plain = tuple(", ".join(label_of(one) for one in cell) for cell in self.cells)
        if len(set(plain)) == len(plain):
            return plain
        return tuple(json.dumps([label_of(one) for one in cell]) for cell in self.cells)

    @property
    def places(self) -> list[int]:
        """Where each combination stands in what `GroupBy` measures, which has a place for "other" in each column."""
        sizes = [len(categories) + 1 for categories in self.categories]
        return [
            reduce(lambda place, pair: place * pair[1] + pair[0], zip(at, sizes, strict=True), 0)
            for at in itertools.product(*(range(len(categories)) for categories in self.categories))
        ]

    def measure(self, inner: Statistic) -> Statistic:
        """Return a statistic for the rows of each group."""
        pairs = list(zip(self.columns, self.categories, strict=True))
        grouped = inner
        for column, categories in reversed(pairs):
            grouped = GroupBy(column, categories, grouped)
        return grouped

    def counted(self, rows: BoundExpression | None, where: tree.Node | None = None) -> Statistic:
        """How many rows count in each group: those with a value, those that meet a condition, or all of the group."""
        if rows is not None and rows.where_present:
            return self.measure(Present(rows.expression))
        if where is not None:
            return self.measure(Count(where))
        return self.measure(Present(tree.Name(self.columns[0])))  # a row of a declared category has a value there

    def pick(self, measured: Sequence[int], length: int = 1) -> list[Sequence[int]]:
        """Return what was measured in each group, in order; `length` numbers each."""
        return [measured[place * length : (place + 1) * length] for place in self.places]

    def condition(self, label: str) -> tree.Node:
        """Return the condition that the rows of a group meet."""
        cell = self.cells[self.labels.index(label)]
        parts = tuple(_is(name, value) for name, value in zip(self.columns, cell, strict=True))
        return parts[0] if len(parts) == 1 else tree.And(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"by": list(self.columns), "categories": [list(categories) for categories in self.categories]}


def groups_of(by: Any, schema: Schema, columns: Mapping[str, DeclaredColumn] | None, categories: Any = None) -> Groups:
    """Return the groups of some columns by their declared categories.

    `categories` may have a list for each column, in order; None takes those of the policy or of the schema.

    Raises
    ------
    InvalidParameter
        A column without declared categories, no column, too many of them, or too many groups. It depends on no row.
    """
    names = tuple([by] if isinstance(by, str) else listed("by", by))
    if not 0 < len(names) <= _MOST_BY or len(set(map(str, names))) != len(names):
        raise InvalidParameter(f"by must be 1 to {_MOST_BY} different columns")
    lists: Sequence[Any] = (None,) * len(names) if categories is None else listed("categories", categories)
    if len(lists) != len(names):
        raise InvalidParameter(f"categories must have one list for each of the {len(names)} columns, got {len(lists)}")
    groups = Groups(
        names,
        tuple(
            categories_for(name, schema, columns)
            if given is None
            else categories_of(schema, name, tuple(listed("categories", given)))
            for name, given in zip(names, lists, strict=True)
        ),
    )
    if len(groups.cells) > _MOST_GROUPS:
        raise InvalidParameter(
            f"by must be columns whose categories make at most {_MOST_GROUPS} groups, got {len(groups.cells)}"
        )
    return groups


def _is(name: str, value: str | int | bool) -> tree.Node:
    column = tree.Name(name)
    if isinstance(value, bool):
        return column if value else tree.Not(column)
    return tree.Comparison("=", column, tree.Text(value) if isinstance(value, str) else tree.Number(value))


class GroupNoise:
    """Noise on every sum of every group, at one price for all (see the top of this file).

    Sums are whole numbers of steps, so nothing is rounded and the noise does not grow with the groups. `unit` is how
    many steps make one row.

    Examples
    --------
    >>> noise = GroupNoise(PureDP(0.5), 10_000, unit=1)
    >>> round(noise.off(0.05, 1), 1)                                   # scale 2 / 0.5
    12.5
    """

    def __init__(self, cost: Cost, n: int, unit: int = UNIT) -> None:
        if n > _MOST_ROWS:
            raise InvalidParameter(f"a table can be computed from at most {_MOST_ROWS} rows of data, got {n}")
        self.unit = unit
        match cost:
            case PureDP(epsilon):
                pure = Laplace(sensitivity=unit, epsilon=decimal_fraction(epsilon) / 2, grid=Grid(0))
                fits_vector("scale", pure.law.scale_steps)
                self._noise: Laplace | Gaussian = pure
            case ZCDP(rho):
                normal = Gaussian(sensitivity=unit, rho=decimal_fraction(rho) / 2, grid=Grid(0))
                fits_vector("sigma", normal.law.sigma_steps)
                self._noise = normal
            case _:
                raise InvalidParameter(f"spend must be a PureDP or ZCDP, got {cost!r}")

    def release(self, exact: Sequence[int], source: Source | None) -> list[float]:
        """Return the noisy sums, in rows."""
        noisy = self._noise.law.release(np.array(exact, dtype=np.int64), source=source)
        return [float(one) / self.unit for one in noisy]

    def off(self, share: float, draws: int) -> float:
        """Return how far any of some sums can be off, in rows, except with probability `share`."""
        return self._noise.half_width(share, draws) / self.unit * (1 + 1e-12)
