"""The same rows in every place that a sample can be opened from."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data import Schema
from holdfast.data.statistics import (
    Contingency,
    Count,
    FixedSum,
    GroupBy,
    Histogram,
    PowerSum,
    Present,
    QuantileCounts,
    Statistic,
)
from tests.data.expressions.odd_rows import INTEGERS, SCHEMA, TEXTS, expressions

Rows = list[dict[str, Any]]
ARROW = {"number": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "text": pa.string()}
KEYED = ("i", "j", "b", "c", "s", "select")


def arrow(rows: Rows, schema: Schema = SCHEMA) -> pa.Table:
    columns = {c.name: pa.array([row[c.name] for row in rows], ARROW[c.kind], from_pandas=False) for c in schema}
    return pa.table(columns)


def arrays(rows: Rows, schema: Schema = SCHEMA) -> dict[str, Any]:
    """Columns as NumPy users hold them: masked arrays, and objects for text."""
    blank: dict[str, Any] = {"number": 0.0, "integer": 0, "boolean": False}
    kinds: dict[str, Any] = {"number": np.float64, "integer": np.int64, "boolean": np.bool_}
    columns: dict[str, Any] = {}
    for c in schema:
        held = [row[c.name] for row in rows]
        if c.kind == "text":
            columns[c.name] = np.array([*held, None], dtype=object)[:-1]
        else:
            values = np.array([blank[c.kind] if value is None else value for value in held], dtype=kinds[c.kind])
            columns[c.name] = np.ma.array(values, mask=[value is None for value in held])
    return columns


def parquet(path: Path, rows: Rows, schema: Schema = SCHEMA) -> Path:
    import pyarrow.parquet as pq

    pq.write_table(arrow(rows, schema), path, row_group_size=max(1, len(rows) // 3))
    return path


def csv(path: Path, rows: Rows, schema: Schema = SCHEMA) -> Path:
    frame = pl.DataFrame(pl.from_arrow(arrow(rows, schema)))
    frame.write_csv(path, quote_style="non_numeric")
    return path


def duckdb(path: Path, rows: Rows, schema: Schema = SCHEMA) -> Path:
    import duckdb

    with duckdb.connect(str(path)) as connection:
        held = arrow(rows, schema)
        connection.register("held", held)
        connection.execute("create table rows as select * from held")
    return path


def postgres(url: str, rows: Rows, schema: Schema = SCHEMA, name: str = "rows") -> str:
    import psycopg

    kinds = {"number": "double precision", "integer": "bigint", "boolean": "boolean", "text": "text"}
    columns = ", ".join(f'"{c.name}" {kinds[c.kind]}' for c in schema)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create table {name} ({columns})")  # type: ignore[call-overload]
        with connection.cursor() as cursor, cursor.copy(f"copy {name} from stdin") as copy:  # type: ignore[call-overload]
            for row in rows:
                copy.write_row([row[c.name] for c in schema])
    return name


def questions(random: Random, count: int) -> list[Statistic]:
    """Random requests of every sort over random expressions."""
    made: list[Statistic] = []
    numbers = [one for one in expressions(random, 6 * count, depth=3) if one.kind == "number" and one.columns]
    truths = [one for one in expressions(random, 6 * count, depth=3) if one.kind == "boolean" and one.columns]
    while len(made) < count:
        made.append(_question(random, numbers, truths, nested=True))
    return made


def _question(random: Random, numbers: list[Any], truths: list[Any], nested: bool) -> Statistic:
    low = random.choice([0.0, -1.0, -7.5, 0.1, 1e-5, -1e9])
    high = low + random.choice([1.0, 0.3, 100.0, 12345.678, 1e12])
    match random.randrange(8 if nested else 6):
        case 0:
            return FixedSum(random.choice(numbers), low, high, random.choice([None, low, high, (low + high) / 2]))
        case 1:
            return FixedSum(random.choice(truths), *random.choice([(0, 1), (-1, 1), (0, 2), (0.25, 0.75)]))
        case 2:
            return random.choice([Count, Present])(random.choice(truths))
        case 3:
            null_as, gone = random.choice([None, 0, 1]), random.random() < 0.3
            return Histogram(random.choice(numbers), _edges(random), null_as, gone)
        case 4:
            return QuantileCounts(random.choice(numbers), _edges(random))
        case 5:
            second = random.choice([None, FixedSum(random.choice(truths + numbers), low, high)])
            return PowerSum(FixedSum(random.choice(numbers), low, high), random.randint(2, 4), second)
        case 6:
            names = random.sample(KEYED, random.randint(1, 2))
            categories = tuple(_categories(random, name) for name in names)
            null_as = random.choice([None, tuple(random.choice([None, 0]) for _ in names)])
            return Contingency(tuple(names), categories, null_as, where_present=random.random() < 0.3)
        case _:
            name = random.choice(KEYED)
            return GroupBy(name, _categories(random, name), _question(random, numbers, truths, nested=False))


def _edges(random: Random) -> tuple[float, ...]:
    return tuple(
        sorted(
            {random.choice([-100.0, -1.0, 0.0, 0.5, 1.0, 2.5, 3.0, 1e9, random.gauss(0, 9)]) for _ in range(4)}
            | {-1e12, 1e12}
        )
    )


def _categories(random: Random, name: str) -> Any:
    match SCHEMA[name].kind:
        case "boolean":
            return random.choice([None, (True,), (False, True)])
        case "integer":
            return tuple(random.sample([one for one in INTEGERS if abs(one) < 2**53], 3))
        case _:
            return tuple(random.sample(TEXTS, 4))
