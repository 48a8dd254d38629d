"""Which plans an engine adds up in one pass over the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.data.expressions import Expression
from holdfast.data.schema import Column, Schema
from holdfast.data.statistics.request import Plan


@dataclass(frozen=True)
class Pass:
    """Plans whose rows fall into the same cells, so that one grouping serves them all.

    Examples
    --------
    >>> from holdfast.data.statistics import Count
    >>> schema = Schema({"b": "boolean"})
    >>> plans = [Count("b").plan(schema), Count("not b").plan(schema), Plan()]
    >>> [(len(one.plans), one.cells) for one in passes(plans, 2)]
    [(2, 1), (1, 1)]
    """

    cell: Expression | None
    plans: tuple[Plan, ...]

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.plans[0].cells

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are read, in order of the alphabet."""
        return tuple(sorted({name for plan in self.plans for name in plan.columns}))

    def read(self, schema: Schema) -> tuple[Column, ...]:
        """Return the columns that are read."""
        return tuple(schema[name] for name in self.columns)


def passes(plans: Sequence[Plan], at_once: int) -> Iterator[Pass]:
    """Group different plans by their cells, at most `at_once` plans a pass."""
    shared: dict[tuple[Expression | None, int], list[Plan]] = {}
    for plan in dict.fromkeys(plans):
        shared.setdefault((plan.cell, plan.cells), []).append(plan)
    for (cell, _), grouped in shared.items():
        for start in range(0, len(grouped), at_once):
            yield Pass(cell, tuple(grouped[start : start + at_once]))
