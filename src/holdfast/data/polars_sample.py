"""Rows in memory, or in files that are streamed, behind polars: many statistics in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Self

from holdfast.data import arrow_batches
from holdfast.data.expressions import polars_columns
from holdfast.data.files import Files, reading
from holdfast.data.fingerprint import Batch
from holdfast.data.kinds import Declared, settled
from holdfast.data.passes import Pass
from holdfast.data.sample import CHANGED, Sample, Sums
from holdfast.data.schema import Kind, Schema
from holdfast.data.statistics.plan import Plan
from holdfast.errors import SampleUnavailable

if TYPE_CHECKING:
    import polars as pl

ROWS = 1 << 17
"""Rows in one batch for fingerprints."""
GROUPINGS = 16
"""Passes with cells of their own that share one reading of the rows."""
HELD = 1 << 20
"""Bytes of a CSV file up to which it is parsed once and held: in memory it may take many times as much."""
SMALL = 1 << 17
"""Rows up to which what is held is not streamed: to set a stream up takes longer than to add them up."""
_EXACT_AS_DOUBLE = 2**22
"""Up to this many rows sums of whole numbers up to 2**30 stay below 2**53, so doubles add them exactly, and faster."""


class PolarsSample(Sample):
    """Rows behind a polars frame. Files are streamed, so that they may exceed memory; small CSV files are held."""

    engine = "polars"
    at_once = 200

    def __init__(
        self, frame: pl.LazyFrame, schema: Schema, n: int, row_key: str | None = None, files: Files | None = None
    ) -> None:
        super().__init__(schema, n, row_key)
        self._frame, self._files = frame, files
        held = files is None or _is_held(files)
        self._how: Literal["in-memory", "streaming"] = "in-memory" if held and n <= SMALL else "streaming"

    @classmethod
    def open(
        cls, frame: pl.LazyFrame, declared: Declared = None, row_key: str | None = None, files: Files | None = None
    ) -> Self:
        """A sample of a frame that is held in memory or scans files."""
        import polars as pl

        with _reading(files):
            types = dict(frame.collect_schema())
        schema = settled({name: _kind(type_) for name, type_ in types.items()}, declared, types)
        with _reading(files):
            counted: list[Any] = [pl.len().alias("")]
            if files is not None and files.format == "csv":
                # Every cell is read once, so that one that is not of its kind is found now and not by a question.
                counted += [pl.col(name).null_count() for name in schema.names]
            n = int(frame.select(counted).collect(engine="streaming")[""][0])
            if files is not None and _is_held(files):
                frame = frame.select(schema.names).collect().lazy()
        return cls(frame, schema, n, row_key, files)

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        sums: Sums = {}
        for start in range(0, len(work), GROUPINGS):
            some = work[start : start + GROUPINGS]
            for one, found in zip(some, self._collect([self._query(one) for one in some]), strict=True):
                if sum(found["rows"].to_list()) != self.n:
                    raise SampleUnavailable(CHANGED)
                places = [0] if one.cell is None else found["cell"].to_list()
                for at, plan in enumerate(one.plans):
                    cells = sums[plan] = [0] * plan.cells
                    for place, total in zip(places, found[str(at)].to_list(), strict=True):
                        cells[place] = int(total or 0)
        return sums

    def _query(self, one: Pass) -> pl.LazyFrame:
        import polars as pl

        columns = one.read(self.schema)
        frame = self._frame.select(polars_columns.read(Schema(columns))) if columns else self._frame
        totals = [_total(plan, self.n).alias(str(at)) for at, plan in enumerate(one.plans)]
        totals.append(pl.len().alias("rows"))
        if one.cell is None:
            return frame.select(totals)
        return frame.group_by(polars_columns.compile(one.cell).cast(pl.Int64).alias("cell")).agg(totals)

    def _collect(self, queries: list[pl.LazyFrame]) -> list[pl.DataFrame]:
        import polars as pl

        with _reading(self._files):
            return pl.collect_all(queries, engine=self._how)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows some at a time, as they stream by."""
        with _reading(self._files):
            for part in self._parts(list(columns)):
                yield arrow_batches.batch(self.schema, columns, part)

    def _parts(self, columns: list[str]) -> Iterator[Any]:
        import polars as pl
        import pyarrow.parquet as pq

        if self._files is not None and self._files.format == "parquet":
            # Arrow reads a page after the other; polars would read ahead of us, up to the whole file.
            for name in self._files.names:
                with pq.ParquetFile(name, pre_buffer=False) as file:
                    yield from file.iter_batches(ROWS, columns=columns, use_threads=False)
            return
        frame = self._frame.select([_handed(self.schema[name].kind, name) for name in columns])
        for part in frame.collect_batches(chunk_size=ROWS, maintain_order=False, engine="streaming"):
            yield part.to_arrow(compat_level=pl.CompatLevel.oldest())


def scan(files: Files, declared: Declared) -> pl.LazyFrame:
    """A frame that streams files. CSV columns are read as what they are declared to be."""
    import polars as pl

    if files.format == "parquet":
        return pl.scan_parquet(files.names, hive_partitioning=False, glob=False)
    kinds = {} if declared is None else {c.name: c.kind for c in Schema(declared)}
    types = {"number": pl.Float64, "integer": pl.Int64, "boolean": pl.Boolean, "text": pl.String}
    overrides = {name: types[kind] for name, kind in kinds.items()}
    return pl.scan_csv(files.path, infer_schema_length=None, schema_overrides=overrides, glob=False)


def _is_held(files: Files) -> bool:
    return files.format == "csv" and files.size <= HELD


def _reading(files: Files | None) -> AbstractContextManager[None]:
    import polars as pl
    import pyarrow as pa

    return reading(files, pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException)


def _kind(type_: Any) -> Kind | None:
    import polars as pl

    if type_ in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32):
        return "integer"
    if type_ in (pl.Float32, pl.Float64):
        return "number"
    if type_ == pl.Boolean:
        return "boolean"
    return "text" if type_ in (pl.String, pl.Categorical, pl.Enum) else None


def _handed(kind: Kind, name: str) -> Any:
    import polars as pl

    types = {"number": pl.Float64, "integer": pl.Int64, "boolean": pl.Boolean, "text": pl.String}
    return pl.col(name).cast(types[kind])


def _total(plan: Plan, n: int) -> Any:
    import polars as pl

    counted = None if plan.counted is None else polars_columns.compile(plan.counted)
    if plan.added is None:
        # A sum of truth values skips NULL, which is not true.
        return pl.len() if counted is None else counted.sum()
    added = polars_columns.compile(plan.added)
    if n > _EXACT_AS_DOUBLE:
        added = added.cast(pl.Int64)
    return added.sum() if counted is None else added.filter(counted).sum()


__all__ = ["PolarsSample", "scan"]
