"""Rows in memory, or in files that are streamed, behind polars: many statistics in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.data.expressions import polars_columns
from holdfast.data.fingerprint import Batch
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.data.statistics import Statistic
from holdfast.data.statistics.plan import Exact, Plan
from holdfast.errors import SampleUnavailable

if TYPE_CHECKING:
    import polars as pl

AT_ONCE = 200
"""Plans in one polars query: more would only make the query's own plan large."""
ROWS = 1 << 18
"""Rows in one batch for fingerprints."""


class PolarsSample(Sample):
    """Rows behind a polars frame, eager or lazy. A lazy one is streamed, so that it may be larger than memory."""

    engine = "polars"

    def __init__(self, frame: pl.LazyFrame, schema: Schema, n: int, row_key: str | None = None) -> None:
        super().__init__(schema, n, row_key)
        self._frame = frame

    def measure(self, statistics: Sequence[Statistic]) -> list[Exact]:
        """Every plan of a chunk in one streamed pass."""
        plans = [statistic.plan(self.schema) for statistic in statistics]
        results: list[Exact] = []
        for start in range(0, len(plans), AT_ONCE):
            results += self._pass(plans[start : start + AT_ONCE])
        return results

    def _pass(self, plans: list[Plan]) -> list[Exact]:
        import polars as pl

        columns = sorted({name for plan in plans for name in plan.columns})
        read = [
            one
            for one, column in zip(polars_columns.read(self.schema), self.schema, strict=True)
            if column.name in columns
        ]
        frame = self._frame.select(read) if read else self._frame.select(pl.lit(0.0).alias(""))
        whole = [i for i, plan in enumerate(plans) if plan.cell is None]
        sums: dict[int, list[int]] = {}
        found = self._collect(frame.select([_total(plans[i]).alias(str(i)) for i in whole] + [pl.len().alias("rows")]))
        if int(found["rows"][0]) != self.n:
            raise SampleUnavailable("the sample no longer has the number of rows it was opened with")
        for i in whole:
            sums[i] = [int(found[str(i)][0] or 0)]
        for i, plan in enumerate(plans):
            if plan.cell is not None:
                cell = polars_columns.compile(plan.cell).cast(pl.Int64).alias("cell")
                counted = frame.group_by(cell).agg(_total(plan).alias("sum"))
                cells = [0] * plan.cells
                for place, total in self._collect(counted).iter_rows():
                    cells[place] = int(total or 0)
                sums[i] = cells
        return [plan.finish(sums[i]) for i, plan in enumerate(plans)]

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Slices of the frame, as NumPy arrays."""
        import polars as pl

        for start in range(0, self.n, ROWS):
            part = self._collect(self._frame.select(list(columns)).slice(start, ROWS))
            batch: dict[str, Any] = {}
            for name in columns:
                series = part[name]
                null = series.is_null().to_numpy() if series.null_count() else None
                if series.dtype == pl.String:
                    values = np.array(series.to_list(), dtype=object)
                else:
                    values = series.fill_null(False if series.dtype == pl.Boolean else 0).to_numpy()
                batch[name] = (values, null)
            yield batch

    def _collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        import polars as pl

        try:
            return frame.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError):
            raise SampleUnavailable(
                "the rows could not be read: the file or a column of the sample is missing or has changed its type"
            ) from None


def _total(plan: Plan) -> Any:
    import polars as pl

    counted = None if plan.counted is None else polars_columns.compile(plan.counted).fill_null(False)
    if plan.added is None:
        return pl.len().cast(pl.Int64) if counted is None else counted.cast(pl.Int64).sum()
    added = polars_columns.compile(plan.added).cast(pl.Int64)
    return added.sum() if counted is None else added.filter(counted).sum()


__all__ = ["PolarsSample"]
