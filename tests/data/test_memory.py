"""A file that is larger than the memory that answering may use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS, COLUMNS = 8_000_000, 8

_READER = """
import json, sys, threading, time
import polars as pl, pyarrow, duckdb, ibis
from holdfast.data import table
from holdfast.data.statistics import FixedSum, Histogram

def now():
    # Pages of a file that is mapped are not counted: the system takes them back whenever it needs them.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))

def watch():
    global peak
    while True:
        peak = max(peak, now())
        time.sleep(0.001)

table({"x0": [1.0]}).measure([FixedSum("x0")])
before = peak = now()
threading.Thread(target=watch, daemon=True).start()
path, way = sys.argv[1:]
if way == "whole":
    frame = pl.read_parquet(path, memory_map=False)
    frame.sum()
    peak = max(peak, now())
elif way == "fingerprint":
    table(path).fingerprint()
else:
    sample = table(path, engine=way, memory_mb=120 if way == "duckdb" else None)
    asked = [FixedSum(f"x{at} * x{(at + 1) % 8}", -1, 1) for at in range(8)] + [Histogram("x3", (-1, 0, 1))]
    assert sample.n == sum(sample.measure(asked)[-1])
print(json.dumps(peak - before))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """512 million bytes that do not compress."""
    path, random = tmp_path_factory.mktemp("large") / "large.parquet", np.random.default_rng(1)
    kinds = pa.schema([(f"x{at}", pa.float64()) for at in range(COLUMNS)])
    with pq.ParquetWriter(path, kinds, compression="none", use_dictionary=False) as writer:
        for _ in range(ROWS // 200_000):
            writer.write_table(pa.table({name: random.normal(size=200_000) for name in kinds.names}, kinds))
    return path


def added(path: Path, way: str) -> Any:
    """Memory that a process adds to what it has once everything is imported, in bytes at its peak."""
    done = subprocess.run([sys.executable, "-c", _READER, path, way], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_answers_take_less_memory_than_the_file(large: Path) -> None:
    limit = int(0.8 * large.stat().st_size)
    assert limit > 400_000_000
    for way in ("polars", "duckdb", "fingerprint"):
        assert added(large, way) < limit, way
    assert added(large, "whole") > limit  # what the test would say of an engine that reads the file at once
