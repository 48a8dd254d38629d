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
    """A curator that releases the half of the rows unchanged, with all or with some of its columns.

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
    """A curator that releases one column with its values in random order (Theorem 9 in section 7 of the paper).

    Apart from the order the release is deterministic, so it is not differentially private for any epsilon. It still
    enforces coherence for large groups, because the report shows only how often each value occurs.

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
    """A curator that releases how many rows satisfy a rule (the count of Theorem 11 in section 7 of the paper).

    The rule is an expression as described in docs/expressions.md. The report is a mapping with the entries `rule`,
    `count` and `rows`.

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
    """A curator that releases `rows` rows of the half unchanged, drawn at random without replacement.

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
            raise InvalidParameter(
                f"rows must be at most {half.rows}, the number of rows in the half of the data that is released, got "
                f"{self.rows}"
            )
        return half.take(rng.permutation(half.rows)[: self.rows])


@dataclass(frozen=True)
class Bootstrap:
    """A curator that releases as many rows as the half has, drawn at random with replacement.

    Examples
    --------
    >>> Bootstrap()(Table.of({"age": [30, 41, 52]}), np.random.default_rng(1)).rows
    3
    """

    name: str = "bootstrap"

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        return half.take(rng.integers(half.rows, size=half.rows))
