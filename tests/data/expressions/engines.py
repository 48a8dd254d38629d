"""The same rows in every engine, and the values of expressions there: one list an expression, in row order.

Rows are held as each engine holds such columns: dates as dates, decimals as decimals, and are handed over by the code
that samples use.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data.engines.sql_columns import RawType, handed, ibis_type
from holdfast.data.expressions import ibis_columns, numpy_columns, polars_columns, python_rows
from holdfast.data.expressions.checking import Expression
from holdfast.data.schema import Schema
from tests.data.expressions import timed_rows
from tests.data.expressions.odd_rows import SCHEMA
from tests.data.expressions.timed_rows import KEYS, SCALES

Rows = list[dict[str, Any]]
Values = list[list[Any]]
_ARROW = {
    "number": pa.float64(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
_RAW: dict[str, RawType] = {
    "number": "float64",
    "integer": "int64",
    "boolean": "boolean",
    "text": "string",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
}


def _is_timed(schema: Schema) -> bool:
    return schema is timed_rows.SCHEMA


def _raw(schema: Schema, name: str) -> RawType:
    if _is_timed(schema) and name in SCALES:
        return "decimal"
    return _RAW["integer" if _is_timed(schema) and name in KEYS else schema[name].kind]


def _arrow_type(schema: Schema, name: str) -> pa.DataType:
    if _is_timed(schema) and name in SCALES:
        return pa.decimal128(*SCALES[name])
    return pa.int64() if _raw(schema, name) == "int64" else _ARROW[schema[name].kind]


def arrow(rows: Rows, schema: Schema = SCHEMA) -> pa.Table:
    """The rows with their number, `row`."""
    columns = {
        c.name: pa.array([row[c.name] for row in rows], _arrow_type(schema, c.name), from_pandas=False) for c in schema
    }
    return pa.table({"row": pa.array(range(len(rows)), pa.int64()), **columns})


def by_python(rows: Rows, expressions: list[Expression], schema: Schema = SCHEMA) -> Values:
    if _is_timed(schema):
        rows = [{name: timed_rows.seen(name, value) for name, value in row.items()} for row in rows]
    return [[python_rows.evaluate(expression, row) for row in rows] for expression in expressions]


def by_numpy(rows: Rows, expressions: list[Expression], schema: Schema = SCHEMA) -> Values:
    from holdfast.data import table

    columns = {}
    if _is_timed(schema):
        sample: Any = table({c.name: [row[c.name] for row in rows] for c in schema}, engine="numpy", schema=schema)
        columns = {c.name: sample._read(c.name, slice(0, len(rows))) for c in schema}
    else:
        blank: dict[str, Any] = {"number": 0.0, "integer": 0, "boolean": False, "text": None}
        kinds: dict[str, Any] = {"number": np.float64, "integer": np.int64, "boolean": np.bool_, "text": object}
        for c in schema:
            held = [row[c.name] for row in rows]
            array = np.array([blank[c.kind] if value is None else value for value in held], dtype=kinds[c.kind])
            columns[c.name] = numpy_columns.read(c, array, [value is None for value in held])
    found = []
    for expression in expressions:
        values = numpy_columns.evaluate(expression, columns, len(rows))
        null = np.zeros(len(rows), bool) if values.null is None else values.null
        found.append([None if missing else value for value, missing in zip(values.array.tolist(), null, strict=True)])
    return found


def by_polars(rows: Rows, expressions: list[Expression], engine: Any = "auto", schema: Schema = SCHEMA) -> Values:
    frame = pl.DataFrame(pl.from_arrow(arrow(rows, schema)))
    types = frame.schema
    read = (
        frame.lazy().select([polars_columns.held(c, types[c.name]) for c in schema]).select(polars_columns.read(schema))
    )
    compiled = {f"v{at}": polars_columns.compile(expression) for at, expression in enumerate(expressions)}
    values = read.with_columns(**compiled).collect(engine=engine)
    return [values[name].to_list() for name in compiled]


def handed_over(dialect: Any, schema: Schema, name: str) -> str:
    """A statement that hands the rows of a table over as samples do."""
    listed = ", ".join(handed(dialect, c, _raw(schema, c.name)) for c in schema)
    return f"select row, {listed} from {name}"


def by_ibis(
    backend: Any, name: str, expressions: list[Expression], schema: Schema, at_once: int = 8, keep: Any = None
) -> Values:
    """Through Ibis, a few expressions a statement, over a table that is handed over; `keep` reads it once for all."""
    import ibis

    types = {"row": "int64", **{c.name: ibis_type(c, _raw(schema, c.name)) for c in schema}}
    table = ibis.table(types, name=name)
    numbered = table.select("row", **{c.name: ibis_columns._read(table, c, ibis_columns._number) for c in schema})
    if keep is not None:
        keep(ibis.to_sql(numbered, dialect=backend.name), "kept")
        numbered = ibis.table(numbered.schema(), name="kept")
    found: Values = []
    for start in range(0, len(expressions), at_once):
        some = expressions[start : start + at_once]
        compiled = {f"v{at}": ibis_columns.compile(expression, numbered) for at, expression in enumerate(some)}
        got = backend.to_pyarrow(numbered.select("row", **compiled)).sort_by("row")
        found += [got[f"v{at}"].to_pylist() for at in range(len(some))]
    return found


def fill_postgres(url: str, rows: Rows, schema: Schema = SCHEMA) -> None:
    """A table `rows` in a PostgreSQL database, and a view `seen` that hands it over."""
    import psycopg

    kinds = {"float64": "double precision", "int64": "bigint", "string": "text"}

    def held(name: str) -> str:
        raw = _raw(schema, name)
        return "numeric({}, {})".format(*SCALES[name]) if raw == "decimal" else kinds.get(raw, raw)

    columns = ", ".join(f'"{c.name}" {held(c.name)}' for c in schema)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create table rows (row bigint, {columns})")  # type: ignore[call-overload]
        with connection.cursor() as cursor, cursor.copy("copy rows from stdin") as copy:
            for at, row in enumerate(rows):
                copy.write_row([at, *(row[c.name] for c in schema)])
        connection.execute(f"create view seen as {handed_over('postgres', schema, 'rows')}")  # type: ignore[call-overload]


def by_postgres(url: str, rows: Rows, expressions: list[Expression], schema: Schema = SCHEMA) -> Values:
    import ibis

    fill_postgres(url, rows, schema)
    backend = ibis.connect(url)
    try:
        return by_ibis(backend, "seen", expressions, schema)
    finally:
        backend.disconnect()


def by_spark(
    session: Any, rows: Rows, expressions: list[Expression], schema: Schema = SCHEMA, whole_stage: bool = True
) -> Values:
    """Through Spark; where it need not compile whole stages, long expressions take a tenth of the time."""
    import ibis

    session.createDataFrame(arrow(rows, schema)).createOrReplaceTempView("odd_rows")
    session.sql(handed_over("pyspark", schema, "odd_rows")).createOrReplaceTempView("seen")
    backend = ibis.pyspark.connect(session)

    def keep(statement: str, name: str) -> None:
        # Else Spark writes how a column is read wherever an expression mentions the column, and plans for minutes.
        session.sql(statement).localCheckpoint().createOrReplaceTempView(name)

    if not whole_stage:
        session.conf.set("spark.sql.codegen.wholeStage", "false")
    try:
        found = by_ibis(backend, "seen", expressions, schema, at_once=40 if whole_stage else 20, keep=keep)
    finally:
        session.conf.unset("spark.sql.codegen.wholeStage")
    gc.collect()  # pyspark leaves a socket for each answer, which says so when it is collected: here, not elsewhere
    return found


def by_duckdb(rows: Rows, expressions: list[Expression], schema: Schema = SCHEMA) -> Values:
    import ibis

    backend = ibis.duckdb.connect()
    try:
        backend.create_table("rows", arrow(rows, schema))
        backend.raw_sql(f"create view seen as {handed_over('duckdb', schema, 'rows')}")
        return by_ibis(backend, "seen", expressions, schema)
    finally:
        backend.disconnect()


def by_numpy_dates(days: list[Any], expressions: list[Expression]) -> Values:
    """Expressions of one column of dates, `d`."""
    from holdfast.data.schema import Column

    column = numpy_columns.read(Column("d", "date"), np.array(days, dtype="datetime64[D]"))
    return [numpy_columns.evaluate(one, {"d": column}, len(days)).array.tolist() for one in expressions]
