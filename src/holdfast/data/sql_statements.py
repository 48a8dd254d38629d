"""A pass over rows as one SQL statement, from the one Ibis definition of the language.

Ibis only writes the statement. Each engine runs it with its own driver, so that transactions, time limits and errors
are ours to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from holdfast.data.expressions import Expression, ibis_columns
from holdfast.data.passes import Pass
from holdfast.data.sample import CHANGED, Sums
from holdfast.data.schema import Kind, Schema
from holdfast.errors import SampleUnavailable

RawType = Literal["int64", "float32", "float64", "boolean", "string"]
"""What Ibis is told that a column is: so that it writes the casts to doubles that are needed, and only those."""

KIND_OF: Mapping[RawType, Kind] = {
    "int64": "integer",
    "float32": "number",
    "float64": "number",
    "boolean": "boolean",
    "string": "text",
}


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
    name, database : str
        Where the table is; `database` is what PostgreSQL calls a schema.

    Examples
    --------
    >>> from holdfast.data.statistics import Count
    >>> schema = Schema({"b": "boolean"})
    >>> statements = Statements("duckdb", schema, {"b": "boolean"}, "people")
    >>> statements.of(Pass(None, (Count("b").plan(schema),)))
    'SELECT COUNT(*) FILTER(WHERE "t1"."b") AS "a0", COUNT(*) AS "rows" FROM (SELECT * FROM "people" ...'
    """

    dialect: str
    schema: Schema
    types: Mapping[str, RawType]
    name: str
    database: str | None = None

    def of(self, one: Pass) -> str:
        """The statement of a pass. Its rows are read by `gather`."""
        import ibis

        columns = one.read(self.schema) or self.schema.columns[:1]
        raw = ibis.table({c.name: self.types[c.name] for c in columns}, name=self.name, database=self.database)
        rows = ibis_columns.read(raw, Schema(columns))

        def total(counted: Expression | None, added: Expression | None) -> Any:
            where = None if counted is None else ibis_columns.compile(counted, rows)
            if added is None:
                return rows.count(where=where)
            return ibis_columns.compile(added, rows).cast("int64").sum(where=where)

        totals = {f"a{at}": total(plan.counted, plan.added) for at, plan in enumerate(one.plans)}
        totals["rows"] = rows.count()
        if one.cell is None:
            query = rows.aggregate(**totals)
        else:
            query = rows.group_by(cell=ibis_columns.compile(one.cell, rows).cast("int64")).aggregate(**totals)
        getattr(ibis, self.dialect)  # registers the options that its compiler looks up
        return str(ibis.to_sql(query, dialect=self.dialect, pretty=False))


def gather(sums: Sums, one: Pass, found: Iterable[Sequence[Any]], n: int) -> None:
    """Put the rows that a statement gave into the sums of its plans; refuse where they are not of `n` rows."""
    rows = 0
    for plan in one.plans:
        sums[plan] = [0] * plan.cells
    for row in found:
        place, *totals = (0, *row) if one.cell is None else row
        *totals, here = totals
        rows += int(here)
        for plan, total in zip(one.plans, totals, strict=True):
            sums[plan][int(place)] = int(total or 0)
    if rows != n:
        raise SampleUnavailable(CHANGED)


__all__ = ["KIND_OF", "RawType", "Statements", "gather"]
