"""Files and tables behind DuckDB, embedded in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from holdfast.core import arguments
from holdfast.core.checkpoint import checkpoint
from holdfast.data import csv_files, fingerprint
from holdfast.data.engines.sql_columns import RawType, kind_of
from holdfast.data.engines.sql_statements import Statements, Watch, bundles, by_hash
from holdfast.data.files import Files, check_texts, parquet_raw, parquet_types, reading
from holdfast.data.fingerprint import Batch
from holdfast.data.identity import Known, Memory
from holdfast.data.sample import Sample, Sums
from holdfast.data.schema import Declared, Kind, settled
from holdfast.data.statistics.request import Pass
from holdfast.errors import InvalidParameter, SampleUnavailable

if TYPE_CHECKING:
    import duckdb

_ROWS = 1 << 17
_TYPES: dict[str, RawType] = {
    **dict.fromkeys(["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"], "int64"),
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "BOOLEAN": "boolean",
    "VARCHAR": "string",
    "DATE": "date",
    **dict.fromkeys(["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"], "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
}
_RAW: Mapping[Kind, RawType] = {
    "integer": "int64",
    "number": "float64",
    "boolean": "boolean",
    "text": "string",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
}
_NAMES = {
    "byte": "tinyint",
    "short": "smallint",
    "long": "bigint",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
"""Of types of columns that folders hold, where Delta Lake and Spark have others."""
_CSV, _SOURCE = "holdfast_rows", "holdfast_source"
_OTHERS = frozenset({"clip"})
"""DuckDB takes three times as long for the least and greatest of two numbers as for `case when`."""


class DuckDBSample(Sample):
    """Rows in a file or in a table of a DuckDB database, which is opened to be read only.

    DuckDB keeps writers away from a database that it reads, but nobody from writing over the file: it is watched too.
    A view may show other rows of the same file each time: every statement adds up a digest of the rows that it reads.
    """

    engine = "duckdb"
    quick = reopens = True
    at_once = 100
    """Measured (`python -m benchmarks engines`): fewer read the columns more often, and from 128 on it is slower."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        statements: Statements,
        n: int,
        row_key: str | None = None,
        files: Files | None = None,
        memory: Memory | None = None,
        known: Known | None = None,
    ) -> None:
        super().__init__(statements.schema, n, row_key, memory, known)
        self._connection, self._statements, self._files = connection, statements, files
        self._csv = files.path if files is not None and files.format == "csv" else None
        self._watch = Watch(statements, n)

    @classmethod
    def open(
        cls,
        source: Files | Path,
        table: str | None = None,
        declared: Declared = None,
        row_key: str | None = None,
        memory_mb: int | None = None,
        memory: Memory | None = None,
    ) -> Self:
        """Return a sample of files, or of a table in a database file.

        Parameters
        ----------
        source : Files or Path
            Parquet or CSV files; or a database file, with `table`.
        table : str, optional
            Name of the table or view, `"people"` or `"census.people"`.
        declared : Schema or mapping, optional
            The columns that questions may use.
        row_key : str, optional
            The column that names the person behind a row.
        memory_mb : int, optional
            The most memory that DuckDB may use, in millions of bytes.
        memory : Memory, optional
            Where earlier openings of the files are remembered. Files that it knows are not examined again. That of a
            database is found here.
        """
        files = source if isinstance(source, Files) else None
        if files is None and table is None:
            raise InvalidParameter("table must be the name of the table with the rows in the database")
        watched = files if files is not None else Files.database(Path(str(source)))
        with _reading(files):
            connection = _connect(source, memory_mb)
        try:
            with _reading(watched):
                stored = files is not None or _holds(connection, str(table))
                if files is None and stored:
                    memory = Memory.of(watched, cls.engine, declared, table)
                known = memory.recall() if memory is not None else None
                if files is not None and files.format == "csv":
                    schema, n = (known.schema, known.n) if known else csv_files.examine(files.path, declared)
                    held = {column.name: _RAW[column.kind] for column in schema}
                    statements = Statements("duckdb", schema, held, _CSV, others=_OTHERS, n=n)
                    return cls(connection, statements, n, row_key, watched, memory, known)
                rows, types, raw = _parquet(files) if files is not None else _table(connection, str(table))
                schema = settled({name: kind_of(r) for name, r in raw.items()}, declared, types)
                if files is not None and known is None:
                    check_texts(files, schema)
                used = {name: r for name, r in raw.items() if r is not None and name in schema}
                n = int(connection.execute(f"select count(*) from {rows}").fetchall()[0][0])
                digest = None if stored else by_hash
                statements = Statements("duckdb", schema, used, rows, others=_OTHERS, digest=digest, n=n)
                sample = cls(connection, statements, n, row_key, watched, memory, known)
                sample._watch.begin(lambda statement: connection.execute(statement).fetchall())
                return sample
        except BaseException:
            connection.close()
            raise

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        sums: Sums = {}
        with _reading(self._files), self._cursor() as cursor:
            cursor.execute("begin transaction")
            for some in bundles(work, self.at_once):
                checkpoint()
                if self._csv is not None:
                    columns = {name for one in some for name in one.columns} or self.schema.names[:1]
                    cursor.register(_CSV, csv_files.read(self._csv, self.schema, columns))
                self._watch.gather(sums, some, cursor.execute(self._watch.statement(some)).fetchall())
        return sums

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows as Arrow batches."""
        with _reading(self._files), self._cursor() as cursor:
            statement, digests = self._watch.rows(columns)
            parts = (
                cursor.sql(statement).to_arrow_reader(_ROWS)
                if self._csv is None
                else csv_files.read(self._csv, self.schema, columns)
            )
            n, added = 0, [0] * digests
            for part in parts:
                n += part.num_rows
                added = [one + _added(part.column(f"h{at}")) for at, one in enumerate(added)]
                yield fingerprint.batch(self.schema, columns, part)
            self._watch.check_rows(columns, n, added)

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own for each caller: they may be threads."""
        cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    def close(self) -> None:
        """Let go of the database."""
        super().close()
        self._connection.close()


def _connect(source: Files | Path, memory_mb: int | None) -> duckdb.DuckDBPyConnection:
    import duckdb

    settings: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    if memory_mb is not None:
        settings["memory_limit"] = f"{arguments.whole('memory_mb', memory_mb, at_least=50)}MB"
    connection = duckdb.connect(":memory:", config=settings)
    if isinstance(source, Files):
        listed = ", ".join(_literal(name) for name in source.names)
        connection.execute(f"set allowed_paths = [{listed}]")
    else:
        if not source.is_file():
            raise SampleUnavailable(f"the database file {source.name} does not exist")
        connection.execute(f"attach {_literal(str(source))} as {_SOURCE} (read_only)")
    connection.execute("set preserve_insertion_order = false")
    # DuckDB 2.0 believes the least and greatest value that a Parquet file states, which leave NaN out, and takes
    # "between" to be true of every row. Without that step it reads NaN as what it is.
    # And what it knows of a filter is not for the reader of a CSV file, to whom NaN is less than nothing.
    connection.execute("set disabled_optimizers = 'statistics_propagation,filter_pushdown'")
    # Questions are checked long before; should one ever get past, there is nothing to reach from here.
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _parquet(files: Files) -> tuple[str, Mapping[str, Any], dict[str, RawType | None]]:
    """How statements name the rows of Parquet files, what the types of their columns are, and what Ibis is told."""
    types = parquet_types(files)
    raw = {name: parquet_raw(type_) for name, type_ in types.items()}
    parts = []
    for held, names in files.groups():
        listed = ", ".join(_literal(name) for name in names)
        rows = f"read_parquet([{listed}], hive_partitioning = false)"
        named = [
            f'cast({_written(value)} as {_NAMES.get(files.types[c], files.types[c])}) as "{c}"'
            for c, value in held.items()
        ]
        parts.append(f"select *, {', '.join(named)} from {rows}" if named else rows)
    return parts[0] if not files.held else f"({' union all by name '.join(parts)})", types, raw


def _table(
    connection: duckdb.DuckDBPyConnection, table: str
) -> tuple[str, Mapping[str, Any], dict[str, RawType | None]]:
    """The same for a table of a database."""
    rows = _quoted(table)
    types = {name: str(type_) for name, type_, *_ in connection.execute(f"describe select * from {rows}").fetchall()}
    return rows, types, {name: _raw(type_) for name, type_ in types.items()}


def _holds(connection: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether the file of a database holds the rows of a table.

    A view may show other ones from the same file, and so may a column that is computed whenever it is read.
    """
    *above, name = table.split(".")
    rows = connection.execute(
        "select 1 from duckdb_tables() where database_name = ? and lower(schema_name) = lower(?) "
        "and lower(table_name) = lower(?) and not contains(lower(sql), 'generated always')",
        [_SOURCE, above[-1] if above else "main", name],
    )
    return bool(rows.fetchall())


def _added(digests: Any) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(digests).as_py() or 0)


def _written(value: str | None) -> str:
    return "null" if value is None else _literal(value)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(table: str) -> str:
    if not table.strip() or '"' in table or "\0" in table:
        raise InvalidParameter("table must be a name such as people or census.people, without quotes")
    parts = table.split(".")
    return ".".join(f'"{part}"' for part in (_SOURCE, *(["main"] if len(parts) == 1 else []), *parts))


def _raw(type_: str) -> RawType | None:
    if type_.startswith("DECIMAL("):
        return "decimal"
    return "string" if type_.startswith("ENUM(") else _TYPES.get(type_)


def _reading(files: Files | None) -> AbstractContextManager[None]:
    import duckdb
    import pyarrow as pa

    return reading(files, duckdb.Error, pa.ArrowException)
