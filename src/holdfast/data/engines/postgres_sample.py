"""A table or view of a PostgreSQL database: read only, with a time limit, in one snapshot a question."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from threading import Lock
from typing import Any, Self, TypeVar

from holdfast.core import arguments
from holdfast.data import fingerprint
from holdfast.data.engines.sql_columns import RawType, kind_of
from holdfast.data.engines.sql_statements import Statements, bundles, gather
from holdfast.data.files import CHANGED
from holdfast.data.fingerprint import Batch, Sketch
from holdfast.data.identity import Known, Memory
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
select a.attname, a.attnum,
    case when t.typtype = 'e' then 'enumeration'
    else format_type(a.atttypid, null) end,
    coalesce(c.collisdeterministic, true),
    (select json_object_agg(e.oid, e.enumlabel) from pg_catalog.pg_enum e where e.enumtypid = t.oid)
from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
left join pg_catalog.pg_collation c on c.oid = a.attcollation
where a.attrelid = %s::oid and a.attnum > 0 and not a.attisdropped order by a.attnum
"""
_TABLE = """
select c.oid, n.nspname, c.relname, c.relkind::text, c.relkind in ('r', 'm', 'p') and not row_security_active(c.oid)
    and not exists (
        with recursive parts(part) as (
            select c.oid union select i.inhrelid from pg_catalog.pg_inherits i join parts on i.inhparent = part
        )
        select from parts join pg_catalog.pg_class p on p.oid = part where p.relkind = 'f'
    )
    and not exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attgenerated = 'v')
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid = to_regclass(%s) and c.relkind in ('r', 'v', 'm', 'p', 'f')
"""
"""Where a table is, and whether its rows say which transaction wrote what is seen of them: not where another server has
some of them, a rule decides who sees which, or a column is worked out anew whenever it is read."""
_PLACE = """
select extract(epoch from pg_postmaster_start_time())::text, oid::text
from pg_catalog.pg_database where datname = current_database()
"""
"""Which database of which server, since it was started: nobody puts other files under a server that runs."""
_VERSIONS = "select count(*), sum(hashint8extended(xmin::text::bigint, tableoid::bigint))::text from {table}"
"""How many rows there are, and what the transactions that wrote them add up to, each hashed with the part of the table
that it is in."""
_VALUES = "select count(*), sum(hashtextextended(read::text, 0))::text from (select {columns} from {table}) read"
"""The same of the values of whole rows."""


class PostgresSample(Sample):
    """Rows of a table or view. What it reads in one call of `measure` is one snapshot of the database.

    Every row of a table says which transaction wrote it. What these add up to, as a multiset, is read when the table is
    opened and again for a question, in the snapshot of the question, unless that snapshot sees the same transactions as
    the last one that was compared: so a row that was changed, exchanged or put back is found. Rows behind a view, in
    a foreign table or under row security do not say it: there their values are hashed row by row, once in each call of
    `measure`. What a row is read by is compared too: columns that were exchanged or made anew, and the words of
    enumerations.

    What is found out about a table is remembered while its server runs and its rows say the same.

    The connection can only read, is opened again once where it was lost, and gives up after `timeout` seconds.
    """

    engine = "postgres"
    at_once = 100
    """A row store reads whole rows: a thousand questions are ten scans."""

    def __init__(
        self,
        link: _Link,
        table: _Table,
        schema: Schema,
        versions: tuple[int, str],
        row_key: str | None = None,
        memory: Memory | None = None,
        known: Known | None = None,
    ) -> None:
        n, _ = versions
        super().__init__(schema, n, row_key, memory, known)
        self._link, self._table, self._versions = link, table, versions
        self._seen: tuple[object, str] | None = None
        types = {name: _TYPES[table.columns[name].type] for name in schema.names}
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
            raise InvalidParameter("table must be the name of the table with the rows")
        link = _Link(url, arguments.real("timeout", timeout, at_least=0.001, at_most=86_400))
        try:
            stored_table = link.run(lambda connection: _Table.find(connection, table))
            types = {name: column.type for name, column in stored_table.columns.items()}
            schema = settled({name: kind_of(_TYPES.get(type_)) for name, type_ in types.items()}, declared, types)

            def looked_at(connection: Any) -> tuple[tuple[int, str], Memory | None]:
                stored_table.check(connection, schema)
                versions = stored_table.versions(connection, schema)
                return versions, stored_table.memory(connection, schema, versions, declared)

            versions, memory = link.run(looked_at)
            known = memory.recall() if memory is not None else None
            return cls(link, stored_table, schema, versions, row_key, memory, known)
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
        # The same snapshot, seen by the same connection, has the same rows: no transaction ended in between.
        seen = (connection, _one(connection, "select txid_current_snapshot()::text"))
        if self._table.has_versions and self._seen == seen:
            return
        if self._table.versions(connection, self.schema) != self._versions:
            raise SampleUnavailable(CHANGED)
        self._seen = seen

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


@dataclass(frozen=True)
class _Column:
    """A column of a table as it was found.

    Parameters
    ----------
    number : int
        Its place in the table, which no later column has.
    type : str
        As PostgreSQL calls it.
    labels : mapping
        The words of an enumeration, by what rows hold in their place.
    """

    number: int
    type: str
    labels: Mapping[str, str]

    def is_in(self, other: _Column) -> bool:
        """Whether another column reads everything in rows as this one did: an enumeration may have more words."""
        return (self.number, self.type) == (other.number, other.type) and self.labels.items() <= other.labels.items()


@dataclass(frozen=True)
class _Table:
    """A table as it was found: where it is and what its columns are.

    Parameters
    ----------
    oid : int
        What PostgreSQL knows it by.
    database, name : str
        The schema that it is in, and what it is called there.
    kind : str
        `r` for a table, `p` for one in parts, `v` for a view and so on.
    has_versions : bool
        Whether its rows say which transaction wrote what is seen of them.
    columns : mapping
        The columns by name.
    """

    oid: int
    database: str
    name: str
    kind: str
    has_versions: bool
    columns: Mapping[str, _Column]

    @property
    def quoted(self) -> str:
        """What statements call it."""
        return f"{_quoted(self.database)}.{_quoted(self.name)}"

    @classmethod
    def find(cls, connection: Any, table: str) -> _Table:
        if _one(connection, "select current_setting('server_encoding')") != "UTF8":
            raise InvalidParameter(
                "the database must have the encoding UTF8, because in other encodings texts can have other lengths"
            )
        # A name is looked up where the owner's settings say, then nothing else is.
        named = ".".join(map(_quoted, table.split(".")))
        row = connection.execute(_TABLE, (named,)).fetchone()
        if row is None:
            raise SampleUnavailable(f"the database has no table {table} that this user may see")
        oid, database, name, kind, has_versions = row
        return cls(oid, database, name, kind, has_versions, cls._columns(connection, oid))

    @staticmethod
    def _columns(connection: Any, oid: int) -> dict[str, _Column]:
        rows = connection.execute(_COLUMNS, (oid,)).fetchall()
        return {
            name: _Column(number, type_ if plain else f"{type_} with a collation of its own", labels or {})
            for name, number, type_, plain, labels in rows
        }

    def check(self, connection: Any, schema: Schema) -> None:
        """Refuse to go on where the table is gone, or a declared column reads its rows in another way.

        Until the transaction ends only the system's own functions are found: someone else's `abs` in a schema on the
        path could see every row. And nobody changes the table's columns or parts.
        """
        import psycopg

        connection.execute("set local search_path = pg_catalog")
        if self.kind in ("r", "p"):
            try:
                connection.execute(f"lock table {self.quoted} in access share mode")
            except psycopg.errors.UndefinedTable:
                raise SampleUnavailable(CHANGED) from None
        row = connection.execute(_TABLE, (self.quoted,)).fetchone()
        columns = {} if row is None or row[0] != self.oid else self._columns(connection, self.oid)
        if not all(name in columns and self.columns[name].is_in(columns[name]) for name in schema.names):
            raise SampleUnavailable(CHANGED)

    def versions(self, connection: Any, schema: Schema) -> tuple[int, str]:
        """How many rows there are, and a digest that is another one where a row is; after `check`."""
        columns = ", ".join(_quoted(name) for name in schema.names)
        statement = _VERSIONS if self.has_versions else _VALUES
        n, digest = connection.execute(statement.format(columns=columns, table=self.quoted)).fetchone()
        return int(n), str(digest)

    def memory(self, connection: Any, schema: Schema, versions: tuple[int, str], declared: Declared) -> Memory | None:
        """Where what is found out about these rows is remembered; None where they do not say who wrote them."""
        if not self.has_versions:
            return None
        columns = [[name, *astuple(self.columns[name])] for name in schema.names]
        place = connection.execute(_PLACE).fetchone()
        return Memory.of_table("postgres", [*place, self.oid, *versions, columns], declared)


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
                raise SampleUnavailable(
                    f"the database took longer than the allowed {self._timeout:g} seconds for a query"
                ) from None
            except psycopg.errors.InsufficientPrivilege:
                raise SampleUnavailable("the database user has no permission to read the table") from None
            except (psycopg.OperationalError, psycopg.InterfaceError):
                if self._connection is not None:
                    self._connection.close()
                raise _Lost(_LOST) from None
            except psycopg.Error:
                raise SampleUnavailable(
                    "the database could not read the rows, because the table was changed after it was opened"
                ) from None

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
