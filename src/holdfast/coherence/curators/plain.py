"""Curators without noise: the data in the clear, part of it, or a count. None is differentially private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.coherence.table import Table
from holdfast.coherence.target import decided, parsed
from holdfast.core import arguments
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Clear:
    """Releases the half as it is, or only some of its columns.

    Examples
    --------
    >>> Clear(["age"])(Table.of({"age": [30, 41], "ill": [0, 1]}))
    Table(2 rows: age)
    """

    columns: Sequence[str] | None = None
    name: str = "clear"

    def __call__(self, half: Table) -> Table:
        """The report on this half."""
        return half if self.columns is None else half.select(self.columns)


@dataclass(frozen=True)
class ShuffledColumn:
    """Releases one column in random order: the single-column release of the paper's section 7 (Theorem 9).

    Deterministic up to order, so no epsilon holds; still it enforces coherence for large groups, since the report says
    only how often each value occurs.

    Examples
    --------
    >>> report = ShuffledColumn("ill")(Table.of({"age": [30, 41], "ill": [0, 1]}), np.random.default_rng(1))
    >>> report, sorted(report["ill"].tolist())
    (Table(2 rows: ill), [0, 1])
    """

    column: str
    name: str = "shuffled-column"

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        column = half.select([self.column])
        return column.take(rng.permutation(half.rows))


@dataclass(frozen=True)
class Count:
    """Releases how many rows follow a rule: the count of the paper's section 7 (Theorem 11).

    The rule is an expression of docs/expressions.md. The report is a mapping with the entries `rule`, `count` and
    `rows`.

    Examples
    --------
    >>> Count("ill = 1")(Table.of({"ill": [0, 1, 1]}))
    {'rule': 'ill = 1', 'count': 2, 'rows': 3}
    """

    rule: str
    name: str = "count"

    def __post_init__(self) -> None:
        parsed("rule", self.rule)

    def __call__(self, half: Table) -> dict[str, Any]:
        """The report on this half."""
        count = int(decided("rule", self.rule, half).sum())
        return {"rule": self.rule, "count": count, "rows": half.rows}


@dataclass(frozen=True)
class RandomSubset:
    """Releases `rows` rows of the half, drawn without replacement, in the clear.

    Examples
    --------
    >>> RandomSubset(2)(Table.of({"age": [30, 41, 52]}), np.random.default_rng(1)).rows
    2
    """

    rows: int
    name: str = "random-subset"

    def __post_init__(self) -> None:
        arguments.whole("rows", self.rows, at_least=1)

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        if self.rows > half.rows:
            raise InvalidParameter(f"rows must be at most the {half.rows} rows of the half, got {self.rows}")
        return half.take(rng.permutation(half.rows)[: self.rows])


@dataclass(frozen=True)
class Bootstrap:
    """Releases as many rows as the half has, drawn with replacement.

    Examples
    --------
    >>> Bootstrap()(Table.of({"age": [30, 41, 52]}), np.random.default_rng(1)).rows
    3
    """

    name: str = "bootstrap"

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        return half.take(rng.integers(half.rows, size=half.rows))
