"""The same rows in every engine, and the values of expressions there: one list an expression, in row order."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data.expressions import ibis_columns, numpy_columns, polars_columns, python_rows
from holdfast.data.expressions.checking import Expression
from tests.data.expressions.odd_rows import SCHEMA

Rows = list[dict[str, Any]]
Values = list[list[Any]]
_ARROW = {"number": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "text": pa.string()}


def arrow(rows: Rows) -> pa.Table:
    """The rows with their number, `row`."""
    columns = {c.name: pa.array([row[c.name] for row in rows], _ARROW[c.kind], from_pandas=False) for c in SCHEMA}
    return pa.table({"row": pa.array(range(len(rows)), pa.int64()), **columns})


def by_python(rows: Rows, expressions: list[Expression]) -> Values:
    return [[python_rows.evaluate(expression, row) for row in rows] for expression in expressions]


def by_numpy(rows: Rows, expressions: list[Expression]) -> Values:
    blank: dict[str, Any] = {"number": 0.0, "integer": 0, "boolean": False, "text": None}
    kinds: dict[str, Any] = {"number": np.float64, "integer": np.int64, "boolean": np.bool_, "text": object}
    columns = {}
    for c in SCHEMA:
        held = [row[c.name] for row in rows]
        array = np.array([blank[c.kind] if value is None else value for value in held], dtype=kinds[c.kind])
        columns[c.name] = numpy_columns.read(c, array, [value is None for value in held])
    found = []
    for expression in expressions:
        values = numpy_columns.evaluate(expression, columns, len(rows))
        null = np.zeros(len(rows), bool) if values.null is None else values.null
        found.append([None if missing else value for value, missing in zip(values.array.tolist(), null, strict=True)])
    return found


def by_polars(rows: Rows, expressions: list[Expression], engine: Any = "auto") -> Values:
    frame = pl.DataFrame(pl.from_arrow(arrow(rows))).lazy().select(polars_columns.read(SCHEMA))
    compiled = {f"v{at}": polars_columns.compile(expression) for at, expression in enumerate(expressions)}
    values = frame.with_columns(**compiled).collect(engine=engine)
    return [values[name].to_list() for name in compiled]


def by_ibis(backend: Any, table: Any, expressions: list[Expression], at_once: int = 8) -> Values:
    """Through Ibis, a few expressions a statement."""
    numbered = table.select("row", **{c.name: ibis_columns._read(table, c) for c in SCHEMA})
    found: Values = []
    for start in range(0, len(expressions), at_once):
        some = expressions[start : start + at_once]
        compiled = {f"v{at}": ibis_columns.compile(expression, numbered) for at, expression in enumerate(some)}
        got = backend.to_pyarrow(numbered.select("row", **compiled)).sort_by("row")
        found += [got[f"v{at}"].to_pylist() for at in range(len(some))]
    return found


def fill_postgres(url: str, rows: Rows) -> None:
    """A table `rows` in a PostgreSQL database."""
    import psycopg

    kinds = {"number": "double precision", "integer": "bigint", "boolean": "boolean", "text": "text"}
    columns = ", ".join(f'"{c.name}" {kinds[c.kind]}' for c in SCHEMA)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create table rows (row bigint, {columns})")  # type: ignore[call-overload]
        with connection.cursor() as cursor, cursor.copy("copy rows from stdin") as copy:
            for at, row in enumerate(rows):
                copy.write_row([at, *(row[c.name] for c in SCHEMA)])


def by_postgres(url: str, rows: Rows, expressions: list[Expression]) -> Values:
    import ibis

    fill_postgres(url, rows)
    backend = ibis.connect(url)
    try:
        return by_ibis(backend, backend.table("rows"), expressions)
    finally:
        backend.disconnect()


def by_spark(session: Any, rows: Rows, expressions: list[Expression]) -> Values:
    import ibis

    session.createDataFrame(arrow(rows)).createOrReplaceTempView("odd_rows")
    backend = ibis.pyspark.connect(session)
    found = by_ibis(backend, backend.table("odd_rows"), expressions, at_once=40)
    gc.collect()  # pyspark leaves a socket for each answer, which says so when it is collected: here, not elsewhere
    return found


def by_duckdb(rows: Rows, expressions: list[Expression]) -> Values:
    import ibis

    backend = ibis.duckdb.connect()
    try:
        return by_ibis(backend, backend.create_table("rows", arrow(rows)), expressions)
    finally:
        backend.disconnect()
