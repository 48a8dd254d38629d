"""What questions cost on a Spark cluster of two workers, by rows: `python -m benchmarks.spark_workers`.

Two worker processes of one core each and a driver, all on this machine. Printed are processor seconds of all of them
together, which other work on the machine disturbs little, and what one row more costs, from which docs/scale.md reckons
a billion rows.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.services.spark import session

from benchmarks.bench_engines import questions, rows_of
from holdfast.data import table
from holdfast.guard import Board
from holdfast.guard.scoring.tally import tally

ROWS = (500_000, 4_000_000)
ASKED = (1, 100, 1_000)


def main() -> None:
    """Print processor seconds for each number of rows, and what one row more costs."""
    os.environ["HOLDFAST_CACHE"] = ""
    running = session("-XX:+UseSerialGC")
    with tempfile.TemporaryDirectory() as folder:
        measured(running, Path(folder), ROWS[0])  # Java compiles what it has run often
        found = [measured(running, Path(folder), count) for count in ROWS]
    print(f"{'processor seconds':<44}" + "".join(f"{count:>14,}" for count in ROWS) + f"{'ns a row':>12}")
    for what in found[0]:
        seconds = [each[what] for each in found]
        slope = (seconds[-1] - seconds[0]) / (ROWS[-1] - ROWS[0])
        print(f"{what:<44}" + "".join(f"{one:>14.2f}" for one in seconds) + f"{slope * 1e9:>12.0f}")


def processor_seconds() -> float:
    """Of this process and all that it started, also those that have ended."""
    ticks, parents = dict[int, int](), dict[int, int]()
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                _, *fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(place.name)], ticks[int(place.name)] = int(fields[0]), sum(map(int, fields[10:14]))

    def is_ours(process: int) -> bool:
        return process == os.getpid() or (process in parents and is_ours(parents[process]))

    return sum(count for process, count in ticks.items() if is_ours(process)) / os.sysconf("SC_CLK_TCK")


def least(run: Callable[[], object], repeats: int) -> float:
    """The fewest processor seconds of some rounds."""
    best = float("inf")
    for _ in range(repeats):
        start = processor_seconds()
        run()
        best = min(best, processor_seconds() - start)
    return best


def measured(running: Any, folder: Path, count: int) -> dict[str, float]:
    """Processor seconds of each kind of work on so many rows of thirteen columns."""
    path = folder / f"{count}.parquet"
    frame = rows_of(count).with_columns(id=pl.int_range(count))
    frame.write_parquet(path, row_group_size=250_000)
    found: dict[str, float] = {}
    with table(path, engine="spark", session=running) as sample:
        for asked in ASKED:
            found[f"{asked:,} question{'s' * (asked > 1)}"] = least(
                lambda asked=asked: sample.measure(questions(asked)),  # type: ignore[misc]
                repeats=3 if asked < 1_000 else 1,
            )
        found["fingerprint of 13 columns"] = least(sample.fingerprint, repeats=1)
        board = Board("accuracy", key="id", label="k0", metric="accuracy")
        given = {"keys": np.arange(count), "predictions": np.random.default_rng(1).integers(0, 100, count)}
        counted = tally(board, sample.schema, given)
        found["a submission with a prediction for every row"] = least(
            lambda: sample.total(
                ("id", "k0"), counted.start, lambda before, batch: counted.add(before, batch["id"], batch["k0"])
            ),
            repeats=2,
        )
    return found


if __name__ == "__main__":
    main()
