"""Samples: engines side by side, memory of a large file, fingerprints value by value."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.bench_engines import by_hand, questions, rows_of
from benchmarks.timing import Row, best_of
from holdfast.data import Sample, Schema, table
from holdfast.data.fingerprint import Content, Texts, summaries
from holdfast.data.statistics import FixedSum

FEW, FEW_ROWS = 16, 1_000_000
LARGE_ROWS, LARGE_MB = 10_000_000, 450
"""A Parquet file of eight columns of doubles, 640 million bytes; and the most memory that a process may use."""

NUMBER_NS, TEXT_NS = 200.0, 400.0
"""What a fingerprint may take for a number, and for a text of which a batch has few different ones."""


def rows() -> list[Row]:
    return [*_engines(), *_memory(), *_fingerprints()]


def _engines() -> list[Row]:
    """A few means on each engine, against hand-written polars on the same rows in memory."""
    frame, asked, hand = rows_of(FEW_ROWS), questions(FEW), by_hand(FEW)
    theirs = best_of(lambda: frame.select(hand), repeats=5)
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        frame.write_parquet(path)
        arrays = {name: frame[name].to_numpy() for name in frame.columns}
        opened: dict[str, Callable[[], Sample]] = {
            "NumPy arrays": lambda: table(arrays, engine="numpy"),
            "polars, in memory": lambda: table(frame),
            "polars, Parquet streamed": lambda: table(path),
            "DuckDB, Parquet": lambda: table(path, engine="duckdb"),
        }
        for name, opening in opened.items():
            with opening() as sample:
                measured.append((name, best_of(lambda one=sample: one.measure(asked), repeats=3)))  # type: ignore[misc]
        measured.append(("PostgreSQL", _postgres(frame, asked)))
    what, peer = f"{FEW} exact means over {FEW_ROWS:,} rows", "polars by hand, in memory"
    return [Row(f"{what}: {name}", ours, peer, theirs, "recorded", True) for name, ours in measured]


def _postgres(frame: pl.DataFrame, asked: list[FixedSum]) -> float:
    import psycopg
    from tests.services.postgres import running

    kinds = {pl.Float64: "double precision", pl.Int64: "bigint"}
    columns = ", ".join(f"{name} {kinds[type(type_)]}" for name, type_ in frame.schema.items())
    with running() as server:
        with psycopg.connect(server.url(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(f"create table rows ({columns})")  # type: ignore[call-overload]
            with cursor.copy("copy rows from stdin (format csv)") as copy:
                copy.write(frame.write_csv(include_header=False))
            cursor.execute("analyze rows")
        with table(server.url(), table="rows") as sample:
            return best_of(lambda: sample.measure(asked), repeats=2)


_READER = """
import json, sys, time
from holdfast.data import table
from holdfast.data.statistics import FixedSum, Histogram
path, engine = sys.argv[1], sys.argv[2]
sample = table(path, engine=engine)
sample.measure([FixedSum("x0")])
start = time.perf_counter()
sample.measure([FixedSum(f"x{at} * x{(at + 1) % 8}", -1, 1) for at in range(8)] + [Histogram("x3", (-1, 0, 1))])
answered = time.perf_counter() - start
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
print(json.dumps({"peak": peak, "seconds": answered, "n": sample.n}))
"""


def peak_of(path: Path, engine: str) -> dict[str, Any]:
    """Peak memory in bytes and seconds of a process of its own that answers nine questions over a file."""
    done = subprocess.run([sys.executable, "-c", _READER, path, engine], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write_large(path: Path, count: int) -> None:
    """A Parquet file of eight columns of random doubles, which do not compress, a million rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random, kinds = np.random.default_rng(2), pa.schema([(f"x{at}", pa.float64()) for at in range(8)])
    with pq.ParquetWriter(path, kinds, compression="none", use_dictionary=False) as writer:
        for start in range(0, count, 250_000):
            part = {name: random.normal(size=min(250_000, count - start)) for name in kinds.names}
            writer.write_table(pa.table(part, kinds))


def _memory() -> list[Row]:
    """10 million rows that are larger than the memory that answering may use."""
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.parquet"
        write_large(path, LARGE_ROWS)
        size = path.stat().st_size
        for engine in ("polars", "duckdb"):
            found = peak_of(path, engine)
            name = f"nine questions over {LARGE_ROWS:,} rows of Parquet, {engine}"
            shown = f"{found['peak'] / 1e6:.0f} MB at most"
            claim = f"in less memory than {LARGE_MB} MB, the file's {size / 1e6:.0f} MB"
            ok = found["peak"] < LARGE_MB * 1_000_000 <= size
            start = time.perf_counter()
            pl.scan_parquet(path).select(pl.all().mean()).collect(engine="streaming")
            by_hand = time.perf_counter() - start
            measured.append(Row(name, found["seconds"], "polars, eight float means", by_hand, claim, ok, shown))
    return measured


def _fingerprints() -> list[Row]:
    """Nanoseconds a value, against SHA-256 over the same bytes."""
    import hashlib

    count, random = 200_000, np.random.default_rng(3)
    numbers, codes = random.normal(size=count), random.integers(0, 50, count)
    few, people = [f"category {at}" for at in range(50)], [f"person {at}" for at in range(count)]

    def batch() -> Any:  # anew each time: a batch remembers the hashes of its texts
        return {"x": (numbers, None), "s": (Texts(codes, few), None)}

    def keys() -> Any:
        return {"s": (Texts(np.arange(count), people), None)}

    cases: list[tuple[str, Schema, Any, float]] = [
        ("a number", Schema({"x": "number"}), batch, NUMBER_NS),
        ("a text, 50 different ones", Schema({"s": "text"}), batch, TEXT_NS),
        ("a text, all different", Schema({"s": "text"}), keys, float("inf")),
    ]
    raw = numbers.tobytes()
    theirs = best_of(lambda: hashlib.sha256(raw).digest(), repeats=5) / count
    found = []
    for what, schema, held, most in cases:
        ours = best_of(lambda s=schema, h=held: Content.of(s, h()), repeats=5) / count  # type: ignore[misc]
        claim = "recorded" if most == float("inf") else f"at most {most:g} ns"
        name, shown = f"fingerprint of {what}", f"{ours * 1e9:.0f} ns"
        found.append(Row(name, ours, "SHA-256 of 8 bytes in bulk", theirs, claim, ours * 1e9 <= most, shown))

        def with_columns(schema: Schema = schema, held: Any = held) -> None:
            read = held()
            Content.of(schema, read)
            summaries(schema, read)

        both = best_of(with_columns, repeats=5) / count
        times = f"{both / ours:.2f} times"
        found.append(Row(f"and digests of {what}", both, "the fingerprint alone", ours, "recorded", True, times))
    return found
