"""How the time that an engine takes depends on hidden rows: `python -m benchmarks.engine_timing`.

Samples that differ in values only, measured in turn, on a million rows; the medians of their times, and their ratio.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import holdfast as hf
from holdfast.data.statistics import Count, FixedSum, Statistic

ROWS = 1_000_000
ROUNDS = 25


def main() -> None:
    """Print a line for each kind of question, engine and pair of samples."""
    rng = np.random.default_rng(1)
    spread = rng.permutation(ROWS)
    pairs: dict[str, tuple[pl.Series, pl.Series, Statistic]] = {
        "a condition: no row true, half of them": (
            pl.Series(np.zeros(ROWS)),
            pl.Series((spread % 2).astype(float)),
            Count("x > 0.5"),
        ),
        "a mean: all 0.5, random": (pl.Series(np.full(ROWS, 0.5)), pl.Series(rng.random(ROWS)), FixedSum("x", 0, 1)),
        "a mean: none missing, half": (
            pl.Series(np.full(ROWS, 0.5)),
            pl.Series(np.full(ROWS, 0.5)).set(pl.Series(spread % 2 == 0), None),
            FixedSum("x", 0, 1),
        ),
        "a quotient: no division by 0, half": (
            pl.Series(np.ones(ROWS)),
            pl.Series((spread % 2).astype(float)),
            FixedSum("1 / x", 0, 1),
        ),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (first, second, wanted) in pairs.items():
            for engine in ("numpy", "polars", "parquet", "csv"):
                samples = [_sample(engine, Path(folder), values) for values in (first, second)]
                times: list[list[float]] = [[], []]
                for _ in range(ROUNDS):
                    for sample, taken in zip(samples, times, strict=True):
                        begun = time.perf_counter()
                        sample.measure([wanted])
                        taken.append(time.perf_counter() - begun)
                a, b = (statistics.median(taken) * 1e3 for taken in times)
                print(f"{name:40} {engine:8} {a:8.2f} ms {b:8.2f} ms  ratio {b / a:.2f}", flush=True)


def _sample(engine: str, folder: Path, values: pl.Series) -> hf.data.Sample:
    frame = pl.DataFrame({"x": values})
    if engine in ("parquet", "csv"):
        path = folder / f"{time.monotonic_ns()}.{engine}"
        frame.write_parquet(path) if engine == "parquet" else frame.write_csv(path)
        return hf.data.table(path)
    if engine == "numpy":
        held = values.to_numpy()
        return hf.data.table({"x": np.ma.array(np.nan_to_num(held, nan=0.5), mask=np.isnan(held))}, engine="numpy")
    return hf.data.table(frame)


if __name__ == "__main__":
    main()
