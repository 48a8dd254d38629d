"""Rows in memory, or in files that are streamed, behind polars: many statistics in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from holdfast.core.checkpoint import checkpoint
from holdfast.data import csv_files, fingerprint
from holdfast.data.engines.numpy_sample import NumPySample
from holdfast.data.engines.sql_columns import kind_of
from holdfast.data.expressions import polars_columns
from holdfast.data.files import (
    CHANGED,
    Files,
    Held,
    check_texts,
    held_type,
    opened,
    parquet_raw,
    parquet_types,
    reading,
)
from holdfast.data.fingerprint import Batch
from holdfast.data.identity import Known, Memory
from holdfast.data.sample import Sample, Sums
from holdfast.data.schema import Declared, Kind, Schema, settled
from holdfast.data.statistics.request import Pass, Plan
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
ARRAYS = 1 << 15
"""Rows up to which numbers and truth values that are held are added up by NumPy: polars takes longer to begin."""
_PLAIN = ("number", "integer", "boolean")
"""The kinds of columns that NumPy adds up; texts are quicker in polars, whatever their number."""
_EXACT_AS_DOUBLE = 2**22
"""Up to this many rows sums of whole numbers up to 2**30 stay below 2**53, so doubles add them exactly, and faster."""


class PolarsSample(Sample):
    """Rows behind a polars frame. Files are streamed, so that they may exceed memory; small CSV files are held."""

    engine = "polars"
    quick = reopens = True
    at_once = 200

    def __init__(
        self,
        frame: pl.LazyFrame | None,
        schema: Schema,
        n: int,
        row_key: str | None = None,
        files: Files | None = None,
        memory: Memory | None = None,
        known: Known | None = None,
    ) -> None:
        super().__init__(schema, n, row_key, memory, known)
        self._frame, self._files = frame, files
        streamed = frame is not None and (n > SMALL or (files is not None and files.format == "parquet"))
        self._how: Literal["in-memory", "streaming"] = "streaming" if streamed else "in-memory"

    @classmethod
    def of_frame(cls, frame: pl.LazyFrame, declared: Declared = None, row_key: str | None = None) -> Self:
        """Return a sample of a frame that is held in memory."""
        import polars as pl

        frame = _whole_again(frame, declared)
        types = dict(frame.collect_schema())
        schema = settled({name: _kind(type_) for name, type_ in types.items()}, declared, types)
        return cls(_handed(frame, schema), schema, int(frame.select(pl.len()).collect().item()), row_key)

    @classmethod
    def of_files(
        cls, files: Files, declared: Declared = None, row_key: str | None = None, memory: Memory | None = None
    ) -> Self:
        """Return a sample of files: Parquet is scanned, CSV is read batch by batch, or once where it is small.

        Files whose content `memory` knows are not examined again.
        """
        import polars as pl

        known = memory.recall() if memory is not None else None
        with _reading(files):
            if files.format == "csv":
                schema, n = (known.schema, known.n) if known else csv_files.examine(files.path, declared)
                held = files.size <= HELD
                parts = list(_csv_frames(files.path, schema, schema.names)) if held and n else []
                return cls(pl.concat(parts).lazy() if parts else None, schema, n, row_key, files, memory, known)
            schema = known.schema if known else _examined(files, declared)
            scanned = _handed(_scan(files, schema), schema)
            n = known.n if known else int(scanned.select(pl.len()).collect(engine="streaming").item())
        return cls(scanned, schema, n, row_key, files, memory, known)

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        arrays = self._arrays
        if arrays is None or any(self.schema[name].kind not in _PLAIN for one in work for name in one.columns):
            return self._collected(work)
        with _reading(self._files):
            return arrays._add_up(work)

    @cached_property
    def _arrays(self) -> NumPySample | None:
        """Few rows that are held, for NumPy; it has the columns of numbers and truth values only."""
        if self._frame is None or self._how == "streaming" or self.n > ARRAYS:
            return None
        return NumPySample(_Arrays(self._frame, self.schema, self.n), self.schema, self.n)

    def _collected(self, work: Sequence[Pass]) -> Sums:
        import polars as pl

        sums: Sums = {plan: [0] * plan.cells for one in work for plan in one.plans}
        for start in range(0, len(work), GROUPINGS):
            checkpoint()
            some = work[start : start + GROUPINGS]
            counted = [0] * len(some)
            with _reading(self._files):
                for frame in self._frames({name for one in some for name in one.columns}):
                    collected = pl.collect_all([self._query(frame, one) for one in some], engine=self._how)
                    for at, (one, found) in enumerate(zip(some, collected, strict=True)):
                        counted[at] += sum(found["rows"].to_list())
                        _add(sums, one, found)
            if any(rows != self.n for rows in counted):
                raise SampleUnavailable(CHANGED)
        return sums

    def _frames(self, columns: set[str]) -> Iterator[pl.LazyFrame]:
        """Frames that hold all rows together: one, or one for each batch of a CSV file that is not held."""
        if self._frame is not None:
            yield self._frame
            return
        assert self._files is not None
        for frame in _csv_frames(self._files.path, self.schema, sorted(columns) or self.schema.names[:1]):
            yield frame.lazy()

    def _query(self, frame: pl.LazyFrame, one: Pass) -> pl.LazyFrame:
        import polars as pl

        columns = one.read(self.schema)
        if columns:
            frame = frame.select(polars_columns.read(Schema(columns)))
        totals = [_total(plan, self.n).alias(str(at)) for at, plan in enumerate(one.plans)]
        totals.append(pl.len().alias("rows"))
        if one.cell is None:
            return frame.select(totals)
        return frame.group_by(polars_columns.compile(one.cell).cast(pl.Int64).alias("cell")).agg(totals)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows some at a time, as they stream by."""
        with _reading(self._files):
            for part in self._parts(list(columns)):
                yield fingerprint.batch(self.schema, columns, part)

    def _parts(self, columns: list[str]) -> Iterator[Any]:
        import polars as pl
        import pyarrow.parquet as pq

        if self._frame is None:
            assert self._files is not None
            yield from csv_files.read(self._files.path, self.schema, columns)
            return
        if self._files is not None and self._files.format == "parquet":
            # Arrow reads a page after the other; polars would read ahead of us, up to the whole file.
            for name in self._files.names:
                named = {column: value for column, value in self._files.held.get(name, {}).items() if column in columns}
                inside = [column for column in columns if column not in named]
                texts = [column for column in inside if self.schema[column].kind == "text"]
                with pq.ParquetFile(opened(name), pre_buffer=False, read_dictionary=texts) as file:
                    for part in file.iter_batches(ROWS, columns=inside):
                        yield _with(part, named, self._files.types) if named else part
            return
        for part in self._frame.select(columns).collect_batches(
            chunk_size=ROWS, maintain_order=True, engine="streaming"
        ):
            yield part.to_arrow(compat_level=pl.CompatLevel.oldest())


class _Arrays(dict[str, Any]):
    """Columns of a frame as arrays, masked where values are missing; each is read when it is first asked about."""

    def __init__(self, frame: pl.LazyFrame, schema: Schema, n: int) -> None:
        super().__init__()
        self._frame, self._schema, self._n = frame, schema, n

    def __missing__(self, name: str) -> Any:
        held = self._frame.select(name).collect()[name]
        if len(held) != self._n:
            raise SampleUnavailable(CHANGED)
        filled = held.fill_null(False if self._schema[name].kind == "boolean" else 0)
        array = np.ma.array(filled.to_numpy(), mask=held.is_null().to_numpy()) if held.has_nulls() else held.to_numpy()
        return self.setdefault(name, array)


def _examined(files: Files, declared: Declared) -> Schema:
    """The columns of Parquet files, whose texts are read through."""
    types = parquet_types(files)
    schema = settled({name: kind_of(parquet_raw(type_)) for name, type_ in types.items()}, declared, types)
    check_texts(files, schema)
    return schema


def _scan(files: Files, schema: Schema) -> pl.LazyFrame:
    """A frame that streams Parquet files of one form."""
    import polars as pl

    if files.held:
        return pl.concat([_scan_named(replace(files, held={}), names, held, schema) for held, names in files.groups()])
    parts = [pl.scan_parquet([name], hive_partitioning=False, glob=False) for name in files.names]
    types = [part.collect_schema() for part in parts]
    if all(one[name] == types[0][name] for one in types for name in schema.names):
        return pl.scan_parquet(files.names, hive_partitioning=False, glob=False)
    # Some hold their texts as categories, or as other categories.
    texts = [pl.col(column.name).cast(pl.String) for column in schema if column.kind == "text"]
    return pl.concat([part.with_columns(texts).select(schema.names) for part in parts])


def _scan_named(files: Files, names: list[str], held: Held, schema: Schema) -> pl.LazyFrame:
    """The files below folders of one name, with the columns that the name holds."""
    import polars as pl

    inside = [column for column in schema if column.name not in held]
    some = replace(files, state=tuple(one for one in files.state if one[0] in names))
    frame = _scan(some, Schema(inside)) if inside else pl.scan_parquet(names, hive_partitioning=False, glob=False)
    named = [pl.lit(*_valued(value, files.types[column])).alias(column) for column, value in held.items()]
    return frame.with_columns(named).select(schema.names)


def _valued(value: str | None, type_: str) -> tuple[Any, Any]:
    """What a folder holds as polars has it, and its type."""
    import polars as pl
    import pyarrow as pa

    column = pl.Series(pl.from_arrow(pa.array([value], pa.string()).cast(held_type(type_))))
    return column.item(), column.dtype


def _with(part: Any, named: Held, types: Mapping[str, str]) -> Any:
    """A batch with the columns that the names of its folders hold."""
    import pyarrow as pa

    for column, value in named.items():
        held = pa.scalar(value, pa.string()).cast(held_type(types[column]))
        part = part.append_column(column, pa.repeat(held, part.num_rows))
    return part


def _csv_frames(path: Path, schema: Schema, columns: Iterable[str]) -> Iterator[pl.DataFrame]:
    """The rows of a CSV file, a frame for each batch."""
    import polars as pl
    import pyarrow as pa

    listed = list(columns)
    for part in csv_files.read(path, schema, listed):
        frame = pl.DataFrame(pl.from_arrow(pa.table(part)))
        yield _handed(frame.lazy(), Schema([schema[name] for name in listed])).collect()


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
    if type_ == pl.Date:
        return "date"
    if isinstance(type_, pl.Datetime):
        return "timestamp" if type_.time_zone is None else "timestamptz"
    if isinstance(type_, pl.Decimal):
        return "number"
    return "text" if type_ in (pl.String, pl.Categorical, pl.Enum) else None


def _whole_again(frame: pl.LazyFrame, declared: Declared) -> pl.LazyFrame:
    """The frame with columns of doubles as whole numbers where these are declared and all that is there is whole.

    pandas has no room for a missing whole number: it makes doubles of a column with one, and has NaN for it.
    """
    import polars as pl

    if declared is None:
        return frame
    wanted = {
        column.name
        for column in (declared if isinstance(declared, Schema) else Schema(declared))
        if column.kind == "integer"
    }
    doubles = [name for name, type_ in frame.collect_schema().items() if type_ == pl.Float64 and name in wanted]
    doubles_frame = frame.select([pl.col(name).fill_nan(None) for name in doubles]).collect()
    whole = [name for name in doubles if ((doubles_frame[name] % 1 == 0) & (doubles_frame[name].abs() < 2**53)).all()]
    return frame.with_columns([pl.col(name).fill_nan(None).cast(pl.Int64) for name in whole])


def _handed(frame: pl.LazyFrame, schema: Schema) -> pl.LazyFrame:
    """The declared columns as what is held of them."""
    types = frame.collect_schema()
    # Where the frame is that already it stays as it is: polars would plan the projection again for every question.
    if tuple(types) == schema.names and all(polars_columns.is_held(column, types[column.name]) for column in schema):
        return frame
    return frame.select([polars_columns.held(column, types[column.name]) for column in schema])


def _add(sums: Sums, one: Pass, found: pl.DataFrame) -> None:
    """Add what one query found in some rows to the sums of its plans."""
    places = [0] if one.cell is None else found["cell"].to_list()
    for at, plan in enumerate(one.plans):
        for place, total in zip(places, found[str(at)].to_list(), strict=True):
            sums[plan][place] += int(total or 0)


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
