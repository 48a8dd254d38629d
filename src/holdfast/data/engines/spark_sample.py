"""Rows behind Spark: more than one machine holds, added up where they are."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

from holdfast.data import fingerprint
from holdfast.data.engines.passes import Pass
from holdfast.data.engines.sql_columns import RawType, handed, kind_of
from holdfast.data.engines.sql_statements import Statements, bundles, gather
from holdfast.data.files import Files, check_texts, parquet_raw, parquet_types, parts_differ
from holdfast.data.fingerprint import Batch, ColumnSummary, Content, Sketch, added, summaries
from holdfast.data.sample import CHANGED, Read, Sample, Sums
from holdfast.data.schema import Column, Declared, Schema, settled
from holdfast.errors import InvalidParameter, SampleUnavailable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES: dict[str, RawType] = {
    **dict.fromkeys(["tinyint", "smallint", "int", "bigint"], "int64"),
    "float": "float32",
    "double": "float64",
    "decimal": "decimal",
    "boolean": "boolean",
    "string": "string",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
_NO_WORKER = ("Cannot run program", "PYTHON_VERSION_MISMATCH", "ModuleNotFoundError", "ImportError")
"""What Spark's errors say where workers have another Python, or one without Holdfast or Arrow."""


class SparkSample(Sample):
    """Rows of a Spark data frame, or of Parquet files that Spark's workers can reach.

    Fingerprints and key sketches are made by the workers, so Holdfast must be installed there too.
    """

    engine = "spark"
    at_once = 16

    def __init__(
        self,
        frame: DataFrame,
        statements: Statements,
        n: int,
        row_key: str | None = None,
        paths: Sequence[str] = (),
        files: Files | None = None,
    ) -> None:
        super().__init__(statements.schema, n, row_key)
        self._frame, self._statements, self._paths, self._files = frame, statements, paths, files

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
        with _reading():
            files, watched, paths, frame = None, None, [], source
            if isinstance(source, (str, Path)):
                running = _session(session)
                files, watched = _local(source, running)
                paths = [str(source)] if files is None else files.names
                frame = running.read.parquet(*paths)
            types: dict[str, Any] = dict(frame.dtypes)
            raw = {name: _TYPES.get(type_.partition("(")[0]) for name, type_ in types.items()}
            if files is not None:  # the types are what they are for the other engines
                types = parquet_types(files)
                raw = {name: r if parquet_raw(types[name]) else None for name, r in raw.items()}
            elif paths:
                _check_parts(frame)
        schema = settled({name: kind_of(r) for name, r in raw.items()}, declared, types)
        used = {name: r for name, r in raw.items() if r is not None and name in schema}
        with _reading(watched):
            if files is not None:
                check_texts(files, schema)
            kept = frame.select([f"`{name}`" for name in used])
            n = int(kept.count())
        view = f"holdfast_rows_{token_hex(8)}"
        return cls(kept, Statements("pyspark", schema, used, view), n, row_key, paths, watched)

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        sums: Sums = {}
        with _reading(self._files):
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
        if not self._paths:
            return self._frame
        again = self._frame.sparkSession.read.parquet(*self._paths)
        found = {name: type_ for name, type_ in again.dtypes if name in self.schema}
        if found != dict(self._frame.dtypes):
            raise SampleUnavailable(CHANGED)
        return again.select([f"`{name}`" for name in self._statements.types])

    def _handed(self, columns: Iterable[str]) -> DataFrame:
        types = self._statements.types
        return self._current().selectExpr(*(handed("pyspark", self.schema[name], types[name]) for name in columns))

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows of one partition after the other, here: for data that one machine can read through."""
        import pyarrow as pa

        with _reading(self._files):
            frame = self._handed(columns)
            for row in frame.mapInArrow(_packed, "part binary").toLocalIterator(prefetchPartitions=True):
                for part in pa.ipc.open_stream(bytes(row[0])):
                    yield fingerprint.batch(self.schema, columns, part)

    def _read_all(self) -> Read:
        """Each worker adds up its own rows; numbers come back, not rows."""
        with _reading(self._files):
            counted = functools.partial(_contents, self.schema.to_dict())
            parts = self._handed(self._statements.types).mapInArrow(counted, "part string").collect()
        content, columns = Content(), dict[str, ColumnSummary]()
        for part in parts:
            plain = json.loads(part[0])
            content = content + Content(tuple(plain["sums"]), plain["n"])
            columns = added(columns, {name: ColumnSummary.from_dict(one) for name, one in plain["columns"].items()})
        return content, columns

    def _key_sketch(self, column: Column) -> Sketch:
        sketched = functools.partial(_sketches, column.to_dict())
        with _reading(self._files):
            frame = self._handed([column.name])
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

    schema, content, columns = Schema.from_dict(plain), Content(), dict[str, ColumnSummary]()
    for part in parts:
        batch = fingerprint.batch(schema, schema.names, part)
        content, columns = content + Content.of(schema, batch), added(columns, summaries(schema, batch))
    found = {
        "sums": content.sums,
        "n": content.n,
        "columns": {name: summary.to_dict() for name, summary in columns.items()},
    }
    yield pa.record_batch({"part": [json.dumps(found)]})


def _sketches(plain: dict[str, Any], parts: Any) -> Any:
    """On a worker: the sketch of its keys."""
    import pyarrow as pa

    column, whole = Schema.from_dict({"columns": [plain]}).columns[0], Sketch()
    for part in parts:
        whole = whole.merged(Sketch.of(column, fingerprint.held(column, part.column(0))))
    sketched = whole.to_dict()
    hashes = pa.array([sketched["hashes"]], pa.list_(pa.string()))
    yield pa.record_batch({"hashes": hashes, "below": [sketched["below"]]})


def _local(source: str | Path, session: SparkSession) -> tuple[Files | None, Files | None]:
    """Where Spark reads this machine's files: those that the other engines would read, and all that are watched.

    Both are None where the files are elsewhere; the first is None for folders of folders, which Spark alone reads.
    """
    settings = getattr(session, "_jsc", None)
    if settings is None or not str(settings.hadoopConfiguration().get("fs.defaultFS")).startswith("file:"):
        return None, None
    try:
        files = Files.at(Path(source))
    except (InvalidParameter, SampleUnavailable):
        return None, Files.below(Path(source))
    return files, files


def _check_parts(frame: DataFrame) -> None:
    """Refuse files whose columns or types differ: Spark would cast some and fill others with nothing."""
    first: dict[str, str] = {}
    for at, name in enumerate(frame.inputFiles()):
        types = dict(frame.sparkSession.read.parquet(name).dtypes)
        first = first if at else types
        for column in {**first, **types}:
            if first.get(column) != types.get(column):
                raise parts_differ("that Spark reads", column, first.get(column), types.get(column))


def _session(given: SparkSession | None) -> SparkSession:
    from pyspark.sql import SparkSession

    return given or SparkSession.getActiveSession() or SparkSession.builder.appName("holdfast").getOrCreate()


@contextmanager
def _reading(files: Files | None = None) -> Iterator[None]:
    """The files as they were opened, before and after; every error of Spark as one that says nothing about rows."""
    import pyarrow as pa
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        if files is not None:
            files.check()
        yield
        if files is not None:
            files.check()
    except (PySparkException, Py4JError, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if any(words in str(error) for words in _NO_WORKER):
            raise SampleUnavailable(
                "Spark's workers could not run Holdfast; install it for them, and set PYSPARK_PYTHON to the Python "
                "that has it before the session starts"
            ) from None
        raise SampleUnavailable(
            "Spark could not read the rows: a file or column is missing or damaged, or the session has ended"
        ) from None
