"""Rows behind Spark: more than one machine holds, added up where they are."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from holdfast.core.extras import named_extras
from holdfast.data import fingerprint
from holdfast.data.engines.sql_columns import RawType, handed, kind_of
from holdfast.data.engines.sql_statements import Statements, Watch, bundles
from holdfast.data.files import CHANGED, Files, check_texts, is_elsewhere, parquet_raw, parquet_types, parts_differ
from holdfast.data.fingerprint import Batch, ColumnSummary, Content, Sketch, added, summaries
from holdfast.data.identity import Known, Memory
from holdfast.data.sample import Numbers, Read, Sample, Sums
from holdfast.data.schema import Column, Declared, Schema, settled
from holdfast.data.statistics.request import Pass
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
_FIELDS, _MOST_FIELDS = "spark.sql.codegen.maxFields", 1_000
"""Spark compiles statements with at most a hundred columns unless it is told otherwise: it interprets wider ones, which
takes twice as long."""
MOST_GROUPINGS = 64
"""Spark refuses statements with more grouping sets."""
_NO_WORKER = (
    *("Cannot run program", "PYTHON_VERSION_MISMATCH", "ModuleNotFoundError", "ImportError", "PACKAGE_NOT_INSTALLED"),
    *("Python worker exited unexpectedly", "Python worker failed to connect back", "No module named"),
)
"""What Spark's errors say where workers have another Python, or one without Holdfast or Arrow."""


class SparkSample(Sample):
    """Rows of a Spark data frame, or of Parquet files that Spark's workers can reach.

    Fingerprints and key sketches are made by the workers, so Holdfast must be installed there too. Where no file of
    this machine can be watched, every statement adds up a digest of rows in the columns that it reads, so that changed
    rows are found.
    """

    engine = "spark"
    at_once = 100
    """A thousand questions are ten scans."""

    def __init__(
        self,
        frame: DataFrame,
        statements: Statements,
        n: int,
        row_key: str | None = None,
        paths: Sequence[str] = (),
        files: Files | None = None,
        memory: Memory | None = None,
        known: Known | None = None,
    ) -> None:
        super().__init__(statements.schema, n, row_key, memory, known)
        self._frame, self._statements, self._paths, self._files = frame, statements, paths, files
        self._watch = Watch(statements, n)

    @classmethod
    def open(
        cls,
        source: Any,
        declared: Declared = None,
        row_key: str | None = None,
        session: SparkSession | str | None = None,
        table: str | None = None,
    ) -> Self:
        """Return a sample of a data frame, or of Parquet files at a path that Spark can read.

        Parameters
        ----------
        source : DataFrame, str or Path
            The rows; with `table` the address of a cluster, `spark://host:7077` or `sc://host:15002`.
        declared : Schema or mapping, optional
            The columns that questions may use.
        row_key : str, optional
            The column that names the person behind a row.
        session : SparkSession or str, optional
            By default the one that is active, or a new one; an address makes a session there.
        table : str, optional
            A table of the cluster's catalog: `"people"` or `"census.people"`.
        """
        with _reading():
            files, watched, paths, frame = None, None, [], source
            if table is not None:
                frame = _session(str(source)).table(table)
            elif isinstance(source, (str, Path, list, tuple)):
                running = _session(session)
                files, watched = _local(source, running)
                given = [source] if isinstance(source, (str, Path)) else source
                paths = [str(one) for one in given] if files is None else files.names
                if files is None:
                    _check_no_table(running, paths)
                frame = _read(running, paths, files)
            types: dict[str, Any] = dict(frame.dtypes)
            raw = {name: _TYPES.get(type_.partition("(")[0]) for name, type_ in types.items()}
            if files is not None:  # the types are what they are for the other engines
                types = parquet_types(files)
                raw = {name: r if parquet_raw(types[name]) else None for name, r in raw.items()}
            elif paths:
                _check_parts(frame)
        schema = settled({name: kind_of(r) for name, r in raw.items()}, declared, types)
        used = {name: r for name, r in raw.items() if r is not None and name in schema}
        memory = None if files is None else Memory.of(files, cls.engine, declared)
        known = None if memory is None else memory.recall()
        with _reading(watched):
            if files is not None and known is None:
                check_texts(files, schema)
            selected = frame.select([f"`{name}`" for name in used])
            n = known.n if known is not None else int(selected.count())
        view = f"holdfast_rows_{token_hex(8)}"
        digest = _digest if watched is None else None
        statements = Statements("pyspark", schema, used, view, digest=digest)
        sample = cls(selected, statements, n, row_key, paths, watched, memory, known)
        sample._watch.begin(sample._run)
        return sample

    def _rows(self, statements: Sequence[str]) -> list[list[Any]]:
        """The rows that statements give: sums, a row for each cell, and never rows of the sample."""
        with _reading(self._files):
            frame, view = self._current(), self._statements.name
            if int(frame.sparkSession.conf.get(_FIELDS) or 0) < _MOST_FIELDS:
                frame.sparkSession.conf.set(_FIELDS, str(_MOST_FIELDS))
            frame.createOrReplaceTempView(view)
            try:
                return [list(frame.sparkSession.sql(statement).collect()) for statement in statements]
            finally:
                frame.sparkSession.catalog.dropTempView(view)

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        sums: Sums = {}
        bundled = list(bundles(work, self.at_once, groupings=MOST_GROUPINGS))
        for some, rows in zip(bundled, self._rows([self._watch.statement(some) for some in bundled]), strict=True):
            self._watch.gather(sums, some, rows)
        return sums

    def _current(self) -> DataFrame:
        """The rows; files are looked at again, so that other types under the same path are found."""
        if not self._paths:
            return self._frame
        again = _read(self._frame.sparkSession, self._paths, self._files)
        types = {name: type_ for name, type_ in again.dtypes if name in self.schema}
        if types != dict(self._frame.dtypes):
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
        self._watch.check(self._run)

    def _read_all(self) -> Read:
        """Each worker adds up its own rows; numbers come back, not rows."""
        with _reading(self._files):
            counted = functools.partial(_contents, self.schema.to_dict())
            parts = self._handed(self._statements.types).mapInArrow(counted, "part string").collect()
        self._watch.check(self._run)
        content, columns = Content(), dict[str, ColumnSummary]()
        for part in parts:
            plain = json.loads(part[0])
            content = content + Content(tuple(plain["sums"]), plain["n"])
            columns = added(columns, {name: ColumnSummary.from_dict(one) for name, one in plain["columns"].items()})
        return content, columns

    def total(
        self, columns: Sequence[str], start: Callable[[], Numbers], add: Callable[[Numbers, Batch], Numbers]
    ) -> Numbers:
        """Each worker adds up its own rows; whole numbers come back, not rows."""
        self._check_open()
        with _reading(self._files):
            frame = self._handed(columns)
            work = functools.partial(_totals, self.schema.to_dict(), tuple(columns), start, add)
            parts = frame.mapInArrow(work, "part array<bigint>").collect()
        self._watch.check(self._run)
        return sum((np.array(part[0], dtype=np.int64) for part in parts), start())

    def _run(self, statement: str) -> list[Any]:
        return self._rows([statement])[0]

    def _key_sketch(self, column: Column) -> Sketch:
        sketched = functools.partial(_sketches, column.to_dict())
        with _reading(self._files):
            frame = self._handed([column.name])
            parts = frame.mapInArrow(sketched, "hashes array<string>, below string").collect()
        self._watch.check(self._run)
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
    contents = {
        "sums": content.sums,
        "n": content.n,
        "columns": {name: summary.to_dict() for name, summary in columns.items()},
    }
    yield pa.record_batch({"part": [json.dumps(contents)]})


def _totals(
    plain: dict[str, Any],
    columns: tuple[str, ...],
    start: Callable[[], Numbers],
    add: Callable[[Numbers, Batch], Numbers],
    parts: Any,
) -> Any:
    """On a worker: what its rows add up to."""
    import pyarrow as pa

    schema, numbers = Schema.from_dict(plain), start()
    for part in parts:
        numbers = add(numbers, fingerprint.batch(schema, columns, part))
    yield pa.record_batch({"part": pa.array([numbers.tolist()], pa.list_(pa.int64()))})


def _sketches(plain: dict[str, Any], parts: Any) -> Any:
    """On a worker: the sketch of its keys."""
    import pyarrow as pa

    column, whole = Schema.from_dict({"columns": [plain]}).columns[0], Sketch()
    for part in parts:
        whole = whole.merged(Sketch.of(column, fingerprint.held(column, part.column(0))))
    sketched = whole.to_dict()
    hashes = pa.array([sketched["hashes"]], pa.list_(pa.string()))
    yield pa.record_batch({"hashes": hashes, "below": [sketched["below"]]})


def _local(source: str | Path | Sequence[str | Path], session: SparkSession) -> tuple[Files | None, Files | None]:
    """Where Spark reads this machine's files: those that the other engines would read, and all that are watched.

    Both are None where the files are elsewhere; the first is None for folders of folders, which Spark alone reads.
    """
    settings = getattr(session, "_jsc", None)
    if (
        is_elsewhere(source)
        or settings is None
        or not str(settings.hadoopConfiguration().get("fs.defaultFS")).startswith("file:")
    ):
        return None, None
    if not isinstance(source, (str, Path)):
        files = Files.at(source)
    elif (found := Files.at_or_none(source)) is not None:
        files = found
    else:
        return None, Files.below(Path(source))
    return files, files


def _check_no_table(session: SparkSession, paths: Sequence[str]) -> None:
    """Refuse a table of Delta Lake or Iceberg that Spark alone can see: as Parquet it has the rows of all versions."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    for path in paths:
        for format, log in (("delta", "_delta_log"), ("iceberg", "metadata/*.metadata.json")):
            with suppress(PySparkException, Py4JError):  # there is none, or a file that has nothing below it
                _ = session.read.text(f"{path.rstrip('/')}/{log}").schema
                raise InvalidParameter(
                    f"source must not be the folder of a table of {format}, because Spark would read the files of all "
                    f"versions of the table; give the table as a data frame: session.read.format({format!r}).load(...)"
                )


def _read(session: SparkSession, paths: Sequence[str], files: Files | None) -> DataFrame:
    """Parquet files; those of this machine with the columns that the names of their folders hold, as elsewhere."""
    if files is None or not files.held:
        return session.read.parquet(*paths)
    from pyspark.sql import functions

    parts = []
    for held, names in files.groups():
        part = session.read.parquet(*names)
        for column, value in held.items():
            part = part.withColumn(column, functions.lit(value).cast(files.types[column]))
        parts.append(part)
    return functools.reduce(lambda one, other: one.unionByName(other), parts)


def _check_parts(frame: DataFrame) -> None:
    """Refuse files whose columns or types differ: Spark would cast some and fill others with nothing."""
    first: dict[str, str] = {}
    for at, name in enumerate(frame.inputFiles()):
        types = dict(frame.sparkSession.read.parquet(name).dtypes)
        first = first if at else types
        for column in {**first, **types}:
            if first.get(column) != types.get(column):
                raise parts_differ("that Spark reads", column, first.get(column), types.get(column))


def _digest(value: Any) -> Any:
    """A value as a whole number below 2**30 in size, in Spark's own words."""
    import ibis

    # Spark's hashes have 32 bits, and so would all that is made of them without a number that has more.
    return ibis.coalesce((value.hash() + (1 << 40)) % (1 << 30), ibis.literal(7, type="int64"))


def _session(given: SparkSession | str | None) -> SparkSession:
    """The session that is given or active, or a new one; its workers on this machine run this Python."""
    from pyspark.sql import SparkSession

    if isinstance(given, str):
        builder = SparkSession.builder.appName("holdfast")
        scheme = given.partition("://")[0]
        if scheme == "sc":
            with named_extras("spark-connect"):
                return builder.remote(given).getOrCreate()
        if scheme not in ("spark", "yarn", "k8s") and not given.startswith("local"):
            raise InvalidParameter(
                "session must be a Spark session, or an address such as spark://host:7077 or sc://host:15002, got one "
                f"that begins with {scheme[:20]!r}"
            )
        made = builder.master(given).getOrCreate()
        if made.sparkContext.master != given:
            raise InvalidParameter(
                "session must belong to the same cluster as the Spark session that already runs in this process, "
                "because a process can have only one session; stop the running session first"
            )
        given = made
    session = given or SparkSession.getActiveSession() or SparkSession.builder.appName("holdfast").getOrCreate()
    if getattr(session, "_jsc", None) is not None:
        context = session.sparkContext
        named = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
        if not named and str(context.master).partition("[")[0] in ("local", "local-cluster"):
            context.pythonExec = sys.executable  # else it would be whatever is called python3
    return session


@contextmanager
def _reading(files: Files | None = None) -> Iterator[None]:
    """The files as they were opened, before and after; every error of Spark as one that reveals nothing about rows."""
    import pyarrow as pa
    from py4j.protocol import Py4JError
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
                "Spark's workers could not run Holdfast; install Holdfast on the workers, and set PYSPARK_PYTHON to "
                "the Python that has it before the session starts"
            ) from None
        raise SampleUnavailable(
            "Spark could not read the rows: a file or column is missing or damaged, or the session has ended"
        ) from None
