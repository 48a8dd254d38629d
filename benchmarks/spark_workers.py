"""What questions cost on a Spark cluster of two workers, by rows: `python -m benchmarks.spark_workers`.

Two worker processes of one core each and a driver, all on this machine. The last lines are what a row, a value and a
question cost one core, from which docs/scale.md reckons a billion rows.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.services.spark import session

from benchmarks.bench_engines import questions, rows_of
from benchmarks.timing import best_of
from holdfast.data import table
from holdfast.guard import Board
from holdfast.guard.scoring.tally import tally

ROWS = (1_000_000, 4_000_000)
ASKED = (1, 100, 1_000)
CORES = 2


def main() -> None:
    """Print seconds for each number of rows, and what one row more costs."""
    os.environ["HOLDFAST_CACHE"] = ""
    running = session("-XX:+UseSerialGC")
    with tempfile.TemporaryDirectory() as folder:
        found = [measured(running, Path(folder), count) for count in ROWS]
    print(f"{'seconds on two workers':<44}" + "".join(f"{count:>14,}" for count in ROWS) + f"{'ns a row and core':>20}")
    for what in found[0]:
        seconds = [each[what] for each in found]
        slope = (seconds[-1] - seconds[0]) / (ROWS[-1] - ROWS[0]) * CORES
        print(f"{what:<44}" + "".join(f"{one:>14.2f}" for one in seconds) + f"{slope * 1e9:>20.0f}")


def measured(running: Any, folder: Path, count: int) -> dict[str, float]:
    """Seconds of each kind of work on so many rows of twelve columns."""
    path = folder / f"{count}.parquet"
    frame = rows_of(count).with_columns(id=pl.int_range(count))
    frame.write_parquet(path, row_group_size=250_000)
    found: dict[str, float] = {}
    with table(path, engine="spark", session=running) as sample:
        for asked in ASKED:
            found[f"{asked:,} question{'s' * (asked > 1)}"] = best_of(
                lambda asked=asked: sample.measure(questions(asked)),  # type: ignore[misc]
                repeats=2 if asked < 1_000 else 1,
            )
        found["fingerprint of 13 columns"] = best_of(sample.fingerprint, repeats=1)
        board = Board("accuracy", key="id", label="k0", metric="accuracy")
        given = {"keys": np.arange(count), "predictions": np.random.default_rng(1).integers(0, 100, count)}
        counted = tally(board, sample.schema, given)
        found["a submission with a prediction for every row"] = best_of(
            lambda: sample.total(
                ("id", "k0"), counted.start, lambda before, batch: counted.add(before, batch["id"], batch["k0"])
            ),
            repeats=2,
        )
    return found


if __name__ == "__main__":
    main()
