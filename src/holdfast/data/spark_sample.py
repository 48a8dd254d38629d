"""Rows behind Spark: more than one machine holds, added up where they are."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

from holdfast.data import arrow_batches
from holdfast.data.fingerprint import LANES, Batch, Content
from holdfast.data.kinds import Declared, settled
from holdfast.data.overlap import Sketch
from holdfast.data.passes import Pass
from holdfast.data.sample import CHANGED, Sample, Sums
from holdfast.data.schema import Column, Schema
from holdfast.data.sql_statements import KIND_OF, RawType, Statements, bundles, gather
from holdfast.errors import SampleUnavailable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES: dict[str, RawType] = {
    **dict.fromkeys(["tinyint", "smallint", "int", "bigint"], "int64"),
    "float": "float32",
    "double": "float64",
    "boolean": "boolean",
    "string": "string",
}


class SparkSample(Sample):
    """Rows of a Spark data frame, or of Parquet files that Spark's workers can reach.

    Fingerprints and key sketches are made by the workers, so Holdfast must be installed there too.
    """

    engine = "spark"
    at_once = 16

    def __init__(
        self, frame: DataFrame, statements: Statements, n: int, row_key: str | None = None, path: str | None = None
    ) -> None:
        super().__init__(statements.schema, n, row_key)
        self._frame, self._statements, self._path = frame, statements, path

    @classmethod
    def open(
        cls,
        source: Any,
        declared: Declared = None,
        row_key: str | None = None,
        session: SparkSession | None = None,
    ) -> Self:
        """A sample of a data frame, or of Parquet files at a path that Spark can read.

        Parameters
        ----------
        source : DataFrame, str or Path
            The rows.
        declared : Schema or mapping, optional
            The columns that questions may use.
        row_key : str, optional
            The column that names the person behind a row.
        session : SparkSession, optional
            By default the one that is active, or a new one.
        """
        path = str(source) if isinstance(source, (str, Path)) else None
        with _reading():
            frame = _session(session).read.parquet(path) if path is not None else source
            types = dict(frame.dtypes)
        raw = {name: _TYPES.get(type_) for name, type_ in types.items()}
        schema = settled({name: KIND_OF[r] if r else None for name, r in raw.items()}, declared, types)
        used: dict[str, RawType] = {name: r for name, r in raw.items() if r is not None and name in schema}
        with _reading():
            kept = frame.select([f"`{name}`" for name in used])
            n = int(kept.count())
        view = f"holdfast_rows_{token_hex(8)}"
        return cls(kept, Statements("pyspark", schema, used, view), n, row_key, path)

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        sums: Sums = {}
        with _reading():
            frame, view = self._current(), self._statements.name
            frame.createOrReplaceTempView(view)
            try:
                for some in bundles(work, self.at_once):
                    gather(sums, some, frame.sparkSession.sql(self._statements.of(some)).collect(), self.n)
            finally:
                frame.sparkSession.catalog.dropTempView(view)
        return sums

    def _current(self) -> DataFrame:
        """The rows; files are looked at again, so that other types under the same path are found."""
        if self._path is None:
            return self._frame
        again = self._frame.sparkSession.read.parquet(self._path)
        found = {name: type_ for name, type_ in again.dtypes if name in self.schema}
        if found != dict(self._frame.dtypes):
            raise SampleUnavailable(CHANGED)
        return again.select([f"`{name}`" for name in self._statements.types])

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows of one partition after the other, here: for data that one machine can read through."""
        import pyarrow as pa

        with _reading():
            frame = self._current().select([f"`{name}`" for name in columns])
            for row in frame.mapInArrow(_packed, "part binary").toLocalIterator(prefetchPartitions=True):
                for part in pa.ipc.open_stream(bytes(row[0])):
                    yield arrow_batches.batch(self.schema, columns, part)

    def _content(self) -> Content:
        """Each worker adds up its own rows; numbers come back, not rows."""
        counted = functools.partial(_contents, self.schema.to_dict())
        kinds = ", ".join(["rows bigint", *(f"lane{at} string" for at in range(LANES))])
        with _reading():
            parts = self._current().mapInArrow(counted, kinds).collect()
        return sum((Content(tuple(int(one) for one in part[1:]), int(part[0])) for part in parts), Content())

    def _key_sketch(self, column: Column) -> Sketch:
        sketched = functools.partial(_sketches, column.to_dict())
        with _reading():
            frame = self._current().select(f"`{column.name}`")
            parts = frame.mapInArrow(sketched, "hashes array<string>, below string").collect()
        whole = Sketch()
        for part in parts:
            whole = whole.merged(Sketch.from_dict({"hashes": part[0], "below": part[1]}))
        return whole


def _packed(parts: Any) -> Any:
    """On a worker: Arrow batches as bytes."""
    import pyarrow as pa

    for part in parts:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, part.schema) as writer:
            writer.write_batch(part)
        yield pa.record_batch({"part": pa.array([sink.getvalue().to_pybytes()], pa.binary())})


def _contents(plain: dict[str, Any], parts: Any) -> Any:
    """On a worker: what its rows add up to."""
    import pyarrow as pa

    schema, content = Schema.from_dict(plain), Content()
    for part in parts:
        content = content + Content.of(schema, arrow_batches.batch(schema, schema.names, part))
    lanes = {f"lane{at}": [str(one)] for at, one in enumerate(content.sums)}
    yield pa.record_batch({"rows": pa.array([content.n], pa.int64()), **lanes})


def _sketches(plain: dict[str, Any], parts: Any) -> Any:
    """On a worker: the sketch of its keys."""
    import pyarrow as pa

    column, whole = Schema.from_dict({"columns": [plain]}).columns[0], Sketch()
    for part in parts:
        whole = whole.merged(Sketch.of(column, arrow_batches.held(column, part.column(0))))
    sketched = whole.to_dict()
    hashes = pa.array([sketched["hashes"]], pa.list_(pa.string()))
    yield pa.record_batch({"hashes": hashes, "below": [sketched["below"]]})


def _session(given: SparkSession | None) -> SparkSession:
    from pyspark.sql import SparkSession

    return given or SparkSession.getActiveSession() or SparkSession.builder.appName("holdfast").getOrCreate()


@contextmanager
def _reading() -> Iterator[None]:
    """Every error of Spark as one that says nothing about rows."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, OSError):
        raise SampleUnavailable(
            "Spark could not read the rows: a file or column is missing or damaged, or the session has ended"
        ) from None


__all__ = ["SparkSample"]
