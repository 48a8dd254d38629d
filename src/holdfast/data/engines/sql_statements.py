"""Passes over rows as SQL statements, from the one Ibis definition of the language.

Ibis only writes the statement. Each engine runs it with its own driver, so that transactions, time limits and errors
are ours to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from holdfast.data.engines.passes import Pass
from holdfast.data.engines.sql_columns import Dialect, RawType, handed, ibis_type
from holdfast.data.expressions import ibis_columns
from holdfast.data.sample import CHANGED, Sums
from holdfast.data.schema import Column, Schema
from holdfast.data.statistics.request import Plan
from holdfast.errors import SampleUnavailable

_HANDED = "holdfast_handed"
"""What statements call the rows as they are handed over."""


@dataclass(frozen=True)
class Statements:
    """Writes passes over one table as SQL.

    Parameters
    ----------
    dialect : {"duckdb", "postgres", "pyspark"}
        As Ibis calls it.
    schema : Schema
        The declared columns.
    types : mapping
        What the table holds in each of them.
    name : str
        What the table is called, quoted as the engine wants it.

    Examples
    --------
    >>> from holdfast.data.statistics import Count
    >>> schema = Schema({"b": "boolean"})
    >>> statements = Statements("duckdb", schema, {"b": "boolean"}, "people")
    >>> statements.of([Pass(None, (Count("b").plan(schema),))])
    'with holdfast_handed as (select "b" from people) SELECT COUNT(*) FILTER(WHERE "t1"."b") AS "a0", ...'
    """

    dialect: Dialect
    schema: Schema
    types: Mapping[str, RawType]
    name: str

    def rows(self, columns: Iterable[str]) -> str:
        """A statement that hands some columns over."""
        listed = ", ".join(handed(self.dialect, self.schema[name], self.types[name]) for name in columns)
        return f"select {listed} from {self.name}"

    def of(self, some: Bundle) -> str:
        """One statement for some passes. Its rows are read by `gather`."""
        import ibis

        getattr(ibis, self.dialect)  # registers the options that its compiler looks up
        names = {name for one in some for name in one.columns}
        columns = [column for column in self.schema if column.name in names] or self.schema.columns[:1]
        raw = ibis.table({c.name: ibis_type(c, self.types[c.name]) for c in columns}, name=_HANDED)
        rows = ibis_columns.read(raw, Schema(columns))
        if len(some) == 1 and some[0].cell is None:
            totals = {f"a{at}": _total(plan, rows) for at, plan in enumerate(some[0].plans)}
            return self._written(rows.aggregate(**totals, rows=rows.count()), columns)
        cells = {f"c{at}": _cell(one, rows) for at, one in enumerate(some)}
        added = {f"a{at}": _added(plan, rows) for at, plan in enumerate(_plans(some))}
        inner = self._written(rows.select(**cells, **added), columns)
        # Ibis cannot write grouping sets, which is one reading of the rows for all groupings.
        listed = ", ".join([*cells, *(f"sum({name})" for name in added), "count(*)"])
        sets = ", ".join(f"({name})" for name in cells)
        return f"select {listed} from ({inner}) grouped group by grouping sets ({sets})"

    def _written(self, query: Any, columns: Iterable[Column]) -> str:
        import ibis

        written = str(ibis.to_sql(query, dialect=self.dialect, pretty=False))
        return f"with {_HANDED} as ({self.rows(column.name for column in columns)}) {written}"


Bundle = Sequence[Pass]
"""Passes that one statement does: one without cells, or some with cells."""


def bundles(work: Sequence[Pass], at_once: int) -> Iterator[Bundle]:
    """Passes with cells together, up to `at_once` plans in all; each other pass alone."""
    kept: list[Pass] = []
    for one in work:
        if one.cell is None:
            yield [one]
            continue
        if kept and sum(len(each.plans) for each in [*kept, one]) > at_once:
            yield kept
            kept = []
        kept.append(one)
    if kept:
        yield kept


def gather(sums: Sums, some: Bundle, found: Iterable[Sequence[Any]], n: int) -> None:
    """Put the rows that a statement gave into the sums of its plans; refuse where they are not of `n` rows."""
    counts = [0] * len(some)
    offsets = [0, *accumulate(len(one.plans) for one in some)]
    for plan in _plans(some):
        sums[plan] = [0] * plan.cells
    alone = some[0].cell is None
    for row in found:
        places, totals = ((0,), row) if alone else (row[: len(some)], row[len(some) :])
        # A row is of the one grouping whose cell is not NULL: cells never are.
        at = next(which for which, place in enumerate(places) if place is not None)
        counts[at] += int(totals[-1])
        for plan, total in zip(some[at].plans, totals[offsets[at] : offsets[at + 1]], strict=True):
            sums[plan][int(places[at])] = int(total or 0)
    if any(count != n for count in counts):
        raise SampleUnavailable(CHANGED)


def _plans(some: Bundle) -> list[Plan]:
    return [plan for one in some for plan in one.plans]


def _cell(one: Pass, rows: Any) -> Any:
    assert one.cell is not None
    return ibis_columns.compile(one.cell, rows).cast("int64")


def _total(plan: Plan, rows: Any) -> Any:
    where = None if plan.counted is None else ibis_columns.compile(plan.counted, rows)
    if plan.added is None:
        return rows.count(where=where)
    return ibis_columns.compile(plan.added, rows).cast("int64").sum(where=where)


def _added(plan: Plan, rows: Any) -> Any:
    """What a row adds, 0 where it does not count."""
    import ibis

    one, none = ibis.literal(1, type="int64"), ibis.literal(0, type="int64")
    amount = one if plan.added is None else ibis_columns.compile(plan.added, rows).cast("int64")
    if plan.counted is None:
        return amount
    return ibis.cases((ibis_columns.compile(plan.counted, rows), amount), else_=none)
