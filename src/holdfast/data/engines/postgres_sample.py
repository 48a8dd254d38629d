"""A table or view of a PostgreSQL database: read only, with a time limit, in one snapshot a question."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Self, TypeVar

from holdfast.core import arguments
from holdfast.data import fingerprint
from holdfast.data.engines.sql_columns import RawType, kind_of
from holdfast.data.engines.sql_statements import Statements, bundles, gather
from holdfast.data.files import CHANGED
from holdfast.data.fingerprint import Batch, Sketch
from holdfast.data.sample import Read, Sample, Sums
from holdfast.data.schema import Column, Declared, Schema, settled
from holdfast.data.statistics.request import Pass
from holdfast.errors import InvalidParameter, SampleUnavailable

T = TypeVar("T")

_BLOCK = 1 << 20
"""Bytes that are parsed at a time."""
_TYPES: dict[str, RawType] = {
    **dict.fromkeys(["smallint", "integer", "bigint"], "int64"),
    "real": "float32",
    "double precision": "float64",
    "numeric": "decimal",
    "boolean": "boolean",
    "text": "string",
    "character varying": "string",
    "enumeration": "string",
    "date": "date",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
}
_LOST = "the database could not be reached, or ended the connection; nothing was released"
_COLUMNS = """
select a.attname,
    case when t.typtype = 'e' then 'enumeration'
    else format_type(a.atttypid, null) end,
    coalesce(c.collisdeterministic, true)
from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
left join pg_catalog.pg_collation c on c.oid = a.attcollation
where a.attrelid = %s::oid and a.attnum > 0 and not a.attisdropped order by a.attnum
"""
_TABLE = """
select c.oid, n.nspname, c.relname, c.relkind in ('r', 'm', 'p')
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid = to_regclass(%s) and c.relkind in ('r', 'v', 'm', 'p', 'f')
"""
_VERSIONS = "select count(*), sum(hashint8extended(xmin::text::bigint, 0)) from {table}"
"""How many rows there are, and what the transactions that wrote them add up to, each hashed."""
_VALUES = "select count(*), sum(hashtextextended(read::text, 0)) from (select {columns} from {table}) read"
"""The same of the values of whole rows."""


class PostgresSample(Sample):
    """Rows of a table or view. What it reads in one call of `measure` is one snapshot of the database.

    Every row of a table says which transaction wrote it. What these add up to, as a multiset, is read when the table is
    opened and again for a question, in the snapshot of the question, unless that snapshot sees the same transactions as
    the last one that was compared: so a row that was changed, exchanged or put back is found. Rows behind a view or in
    a foreign table do not say it: there their values are hashed row by row, once in each call of `measure`.

    The connection can only read, is opened again once where it was lost, and gives up after `timeout` seconds.
    """

    engine = "postgres"
    at_once = 100
    """A row store reads whole rows: a thousand questions are ten scans."""

    def __init__(self, link: _Link, table: _Table, schema: Schema, n: int, row_key: str | None = None) -> None:
        super().__init__(schema, n, row_key)
        self._link, self._table = link, table
        self._versions: tuple[Any, ...] | None = None
        self._seen: tuple[object, str] | None = None
        types = {name: _TYPES[table.types[name]] for name in schema.names}
        self._statements = Statements("postgres", schema, types, table.quoted, n=n)

    @classmethod
    def open(
        cls, url: str, table: str, declared: Declared = None, row_key: str | None = None, timeout: float = 600.0
    ) -> Self:
        """Return a sample of a table.

        Parameters
        ----------
        url : str
            Address as libpq reads it, such as `postgresql://reader@host/database`. Errors and reprs never show it.
        table : str
            Name of a table, view, or materialized view: `"people"` or `"census.people"`.
        declared : Schema or mapping, optional
            The columns that questions may use.
        row_key : str, optional
            The column that names the person behind a row.
        timeout : float
            Seconds after which a statement is ended.
        """
        if not isinstance(table, str) or not table.strip() or "\0" in table:
            raise InvalidParameter("table must name the table that holds the rows")
        link = _Link(url, arguments.real("timeout", timeout, at_least=0.001, at_most=86_400))
        try:
            found = link.run(lambda connection: _Table.find(connection, table))
            kinds = {name: kind_of(_TYPES.get(type_)) for name, type_ in found.types.items()}
            schema = settled(kinds, declared, found.types)
            n = link.run(lambda connection: _one(connection, f"select count(*) from {found.quoted}"))
            sample = cls(link, found, schema, int(n), row_key)
            link.run(sample._compare)
            return sample
        except BaseException:
            link.close()
            raise

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        statements = [(some, self._statements.of(some)) for some in bundles(work, self.at_once)]

        def added(connection: Any) -> Sums:
            sums: Sums = {}
            self._compare(connection)
            for some, statement in statements:
                gather(sums, some, connection.execute(statement).fetchall(), self.n)
            return sums

        return self._link.run(added)

    def _compare(self, connection: Any) -> None:
        """Refuse to go on where the table, a column or a row is not what it was when the sample was opened."""
        self._table.check(connection, self.schema)
        if not self._table.has_versions:
            columns = ", ".join(_quoted(name) for name in self.schema.names)
            self._require(connection.execute(_VALUES.format(columns=columns, table=self._table.quoted)).fetchone())
            return
        # The same snapshot, seen by the same connection, has the same rows: no transaction ended in between.
        seen = (connection, _one(connection, "select txid_current_snapshot()::text"))
        if self._seen is not None and self._seen[0] is connection and self._seen[1] == seen[1]:
            return
        self._require(connection.execute(_VERSIONS.format(table=self._table.quoted)).fetchone())
        self._seen = seen

    def _require(self, versions: tuple[Any, ...]) -> None:
        if self._versions is None:
            self._versions = versions
        if versions != self._versions or versions[0] != self.n:
            raise SampleUnavailable(CHANGED)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows as a stream of text that Arrow reads into columns."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = {"number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
        convert = arrow_csv.ConvertOptions(
            column_types={name: types.get(self.schema[name].kind, pa.int64()) for name in columns},
            null_values=[""],
            true_values=["t"],
            false_values=["f"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        with self._link.connected() as connection, connection.transaction():
            self._compare(connection)
            with (
                connection.cursor() as cursor,
                cursor.copy(f"copy ({self._statements.rows(columns)}) to stdout (format csv)") as copy,
            ):
                source = pa.PythonFile(_Copied(copy), mode="r")
                reading = arrow_csv.ReadOptions(column_names=list(columns), block_size=_BLOCK, use_threads=False)
                parsing = arrow_csv.ParseOptions(newlines_in_values=True)
                for part in arrow_csv.open_csv(source, reading, parsing, convert):
                    yield fingerprint.batch(self.schema, columns, part)

    def _again(self, work: Callable[[], T]) -> T:
        return self._link.again(work)

    def _read_all(self) -> Read:
        return self._again(super()._read_all)

    def _key_sketch(self, column: Column) -> Sketch:
        return self._again(lambda: super(PostgresSample, self)._key_sketch(column))

    def close(self) -> None:
        """End the connection."""
        super().close()
        self._link.close()


class _Copied(io.RawIOBase):
    """The bytes that PostgreSQL copies out, as a file that is read once."""

    def __init__(self, copy: Any) -> None:
        self._copy, self._rest = copy, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            part = self._copy.read()
            if not part:
                return 0
            self._rest = memoryview(part)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


class _Table:
    """A table as it was found: where it is and what its columns are."""

    def __init__(self, oid: int, database: str, name: str, has_versions: bool, types: Mapping[str, str]) -> None:
        self.oid, self.database, self.name, self.types = oid, database, name, types
        self.has_versions = has_versions
        self.quoted = f"{_quoted(database)}.{_quoted(name)}"

    @classmethod
    def find(cls, connection: Any, table: str) -> _Table:
        if _one(connection, "select current_setting('server_encoding')") != "UTF8":
            raise InvalidParameter("the database must have the encoding UTF8, so that text has the same length there")
        # A name is looked up where the owner's settings say, then nothing else is.
        named = ".".join(map(_quoted, table.split(".")))
        row = connection.execute(_TABLE, (named,)).fetchone()
        if row is None:
            raise SampleUnavailable(f"there is no table {table} that this user may see")
        return cls(row[0], row[1], row[2], row[3], cls._types(connection, row[0]))

    @staticmethod
    def _types(connection: Any, oid: int) -> dict[str, str]:
        rows = connection.execute(_COLUMNS, (oid,)).fetchall()
        return {name: type_ if plain else f"{type_} with a collation of its own" for name, type_, plain in rows}

    def check(self, connection: Any, schema: Schema) -> None:
        """Refuse to go on where the table or a declared column is gone or has changed its type.

        Until the transaction ends only the system's own functions are found: someone else's `abs` in a schema on the
        path could see every row.
        """
        connection.execute("set local search_path = pg_catalog")
        row = connection.execute(_TABLE, (self.quoted,)).fetchone()
        types = {} if row is None or row[0] != self.oid else self._types(connection, self.oid)
        if any(types.get(name) != self.types[name] for name in schema.names):
            raise SampleUnavailable(CHANGED)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _Link:
    """One connection that threads take turns with; opened again once where it was lost."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url, self._timeout = url, timeout
        self._lock = Lock()
        self._connection: Any = None

    def run(self, work: Callable[[Any], T]) -> T:
        """Run work in one snapshot of the database, twice where the connection was lost."""

        def once() -> T:
            with self.connected() as connection, connection.transaction():
                return work(connection)

        return self.again(once)

    def again(self, work: Callable[[], T]) -> T:
        """Do work that uses the connection; once more, with a new connection, where it was lost."""
        try:
            return work()
        except _Lost:
            pass
        try:
            return work()
        except _Lost:
            raise SampleUnavailable(_LOST) from None

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """The connection, for one caller at a time; every error of the database becomes one without rows."""
        import psycopg

        with self._lock:
            fresh = self._connection is None or self._connection.closed
            try:
                if fresh:
                    self._connection = self._connect()
                yield self._connection
            except psycopg.errors.QueryCanceled:
                raise SampleUnavailable(f"the database took longer than {self._timeout:g} seconds") from None
            except psycopg.errors.InsufficientPrivilege:
                raise SampleUnavailable("the database user may not read the table") from None
            except (psycopg.OperationalError, psycopg.InterfaceError):
                if self._connection is not None:
                    self._connection.close()
                raise _Lost(_LOST) from None
            except psycopg.Error:
                raise SampleUnavailable("the database could not read the rows: the table has changed") from None

    def _connect(self) -> Any:
        import psycopg

        try:
            connection = psycopg.connect(self._url, autocommit=True, connect_timeout=10, application_name="holdfast")
        except psycopg.ProgrammingError:
            raise InvalidParameter("source must be an address such as postgresql://user@host/database") from None
        connection.execute(f"set statement_timeout = {max(1, int(self._timeout * 1000))}")
        connection.execute("set default_transaction_read_only = on")
        connection.execute("set default_transaction_isolation = 'repeatable read'")
        connection.execute("set standard_conforming_strings = on")
        # To compile a statement with a hundred sums takes longer than it saves.
        connection.execute("set jit = off")
        return connection

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def __del__(self) -> None:
        if self._connection is not None:
            self._connection.close()


class _Lost(SampleUnavailable):
    """The connection was lost; it is worth one more try."""


def _one(connection: Any, statement: str) -> Any:
    return connection.execute(statement).fetchone()[0]
