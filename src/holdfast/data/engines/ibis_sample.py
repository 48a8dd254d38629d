"""A table of any database that Ibis speaks to, admitted once a probe has shown that it computes as the others do."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from struct import Struct
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import unquote, urlsplit
from zlib import crc32

from holdfast.core.checkpoint import checkpoint
from holdfast.data.engines.probe import Probed, probe
from holdfast.data.engines.sql_columns import RawType, kind_of
from holdfast.data.engines.sql_statements import Statements, Watch, bundles, by_hash
from holdfast.data.files import CHANGED, Files
from holdfast.data.fingerprint import Batch, held
from holdfast.data.identity import Known, Memory
from holdfast.data.sample import Sample, Sums
from holdfast.data.schema import Declared, Kind, Schema, settled
from holdfast.data.statistics.request import Pass, Plan
from holdfast.errors import InvalidParameter, NotInstalled, SampleUnavailable

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

_ROWS = 1 << 15
_NO_GROUPING_SETS = ("mysql", "sqlite")
_OWN_DIGEST = "holdfast_digest"
"""A function of our own in SQLite, which has no hash."""
_bits = Struct("<d").pack
"""The bits of a double."""
_LOST = "the database could not be reached, or could not read the rows: the table may be gone or changed"
_SQLITE_TYPES: Mapping[RawType, str] = {
    "int64": "typeof({0}) not in ('integer', 'null')",
    "float64": "typeof({0}) not in ('real', 'integer', 'null')",
    "boolean": "{0} is not null and {0} not in (0, 1)",
    "string": "typeof({0}) not in ('text', 'null') or instr({0}, char(0))",
    "date": "{0} is not null and (typeof({0}) <> 'text' or length({0}) <> 10 or date({0}, '+0 days') is not {0})",
}
"""What a value of a column of SQLite must not be, which may hold anything."""
_EMBEDDED = ("duckdb", "sqlite")
"""Databases that work in this process."""


class IbisSample(Sample):
    """Rows of a table of a database behind an Ibis connection. `engine` is what Ibis calls the database.

    Every statement adds up a digest of rows in the columns that it reads, so that changed rows are noticed; of a table
    in a file, SQLite says by itself that somebody wrote to it.
    """

    at_once = 100
    """Row stores read whole rows: a thousand questions are ten scans, where the database knows grouping sets."""

    def __init__(
        self,
        link: _Link,
        statements: Statements,
        n: int,
        probed: Probed,
        row_key: str | None = None,
        memory: Memory | None = None,
        known: Known | None = None,
    ) -> None:
        super().__init__(statements.schema, n, row_key, memory, known)
        self.engine = statements.dialect
        self.quick = statements.dialect in _EMBEDDED
        self._link, self._statements, self._probed = link, statements, probed
        self._watch = Watch(statements, n)

    @classmethod
    def of_address(cls, address: str, table: str, declared: Declared = None, row_key: str | None = None) -> Self:
        """Return a sample of a table at an address as Ibis reads it, such as `mysql://reader@host/census`.

        Parameters
        ----------
        address : str
            Errors and reprs never show it.
        table : str
            Name of a table or view: `"people"` or `"census.people"`.
        declared : Schema or mapping, optional
            The columns that questions may use.
        row_key : str, optional
            The column that names the person behind a row.
        """
        if not isinstance(table, str) or not table.strip() or "\0" in table:
            raise InvalidParameter("table must be the name of the table with the rows")
        link = _Link(lambda: _connected(address))
        *database, name = table.split(".")
        try:
            stored_table = link.run(lambda backend: backend.table(name, database=tuple(database) or None))
        except SampleUnavailable:
            link.close()
            raise SampleUnavailable(
                f"the database at this address cannot be reached, or it has no table {table} that this user may see"
            ) from None
        return cls._opened(link, stored_table, declared, row_key, table)

    @classmethod
    def of_table(cls, table: Any, declared: Declared = None, row_key: str | None = None) -> Self:
        """Return a sample of an Ibis table or expression, read through the connection that it came from."""
        from ibis.backends.sql import SQLBackend

        backend = table.get_backend()
        if not isinstance(backend, SQLBackend):
            raise InvalidParameter(
                f"source must be an Ibis table of a database that reads SQL, and {backend.name} does not; give the "
                "rows as a data frame, for example with table.to_pyarrow()"
            )
        return cls._opened(_Link(None, backend), table, declared, row_key)

    @classmethod
    def _opened(
        cls, link: _Link, table: Any, declared: Declared, row_key: str | None, named: str | None = None
    ) -> Self:
        try:
            backend = link.backend
            dialect = backend.name
            types = dict(table.schema().items())
            raw = {name: _raw(type_, dialect) for name, type_ in types.items()}
            if dialect == "mysql":  # a truth value is a whole number there: declared, it is one
                wanted = () if declared is None else declared if isinstance(declared, Schema) else Schema(declared)
                raw |= {c.name: "boolean" for c in wanted if c.kind == "boolean" and raw.get(c.name) == "int64"}
            schema = settled({name: kind_of(r) for name, r in raw.items()}, declared, types)
            used = {name: r for name, r in raw.items() if r is not None and name in schema}
            written = link.run(lambda backend: _compiled(backend, table.select(*used)))
            link.run(_made_ready)
            stored = link.run(lambda backend: _is_stored(backend, table))
            sets = dialect not in _NO_GROUPING_SETS
            probed = probe(dialect, used.values(), link.rows, sets=sets)
            digest = None if stored else _digest(dialect, link)
            statements = Statements(dialect, schema, used, f"({written}) holdfast_rows", sets, probed.others, digest)
            link.state = link.run(_state)
            memory = _memory(link.state, named, declared) if named and stored else None
            known = None if memory is None else memory.recall()
            if known is None:
                _check_values(link, statements)
            ((n,),) = link.rows(f"select count(*) from {statements.name}")
            sample = cls(link, statements, int(n), probed, row_key, memory, known)
            sample._watch.begin(link.rows)
            return sample
        except BaseException:
            link.close()
            raise

    def check_plans(self, plans: Sequence[Plan]) -> None:
        """Refuse the forms of expressions that this database does otherwise."""
        self._probed.check(each for plan in plans for each in (plan.cell, plan.counted, plan.added) if each is not None)

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        sums: Sums = {}
        with self._link.one_state():
            for some in bundles(work, self.at_once, self._statements.sets):
                checkpoint()
                self._watch.gather(sums, some, self._link.rows(self._watch.statement(some)))
        return sums

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows, some thousands at a time, each with its digest, whose sum is compared at the end."""
        import pyarrow.compute as pc

        with self._link.one_state():
            statement, digests = self._watch.rows(columns)
            n, added = 0, [0] * digests
            for part in self._link.parts(statement):
                n += len(part[0])
                hashes = [_array(values, "integer") for values in part[len(columns) :]]
                added = [one + (pc.sum(these).as_py() or 0) for one, these in zip(added, hashes, strict=True)]
                kinds = [self.schema[name] for name in columns]
                yield {c.name: held(c, _array(values, c.kind)) for c, values in zip(kinds, part, strict=False)}
            self._watch.check_rows(columns, n, added)

    def close(self) -> None:
        """Let go of the connection, where it was opened for this sample."""
        super().close()
        self._link.close()


class _Link:
    """A connection that threads take turns with. One that was opened here is opened again once where it was lost."""

    def __init__(self, connect: Callable[[], Any] | None, backend: Any = None) -> None:
        self._connect, self._lock = connect, RLock()
        self.state: Any = None
        self.backend = backend if connect is None else connect()

    def run(self, work: Callable[[Any], T]) -> T:
        """Do work with the connection; every error of the database as one that reveals nothing about rows."""
        with self._lock:
            try:
                return work(self.backend)
            except (InvalidParameter, SampleUnavailable):
                raise
            except Exception:
                if self._connect is None or self.state is not None:
                    raise SampleUnavailable(_LOST) from None
            with suppress(Exception):
                self.backend.disconnect()
            try:
                self.backend = self._connect()
                _made_ready(self.backend)
                return work(self.backend)
            except Exception:
                raise SampleUnavailable(_LOST) from None

    def rows(self, statement: str) -> list[Sequence[Any]]:
        """Return all rows that a statement gives."""
        return self.run(lambda backend: [row for part in _fetched(backend, statement, 0) for row in part])

    def parts(self, statement: str) -> Iterator[list[Any]]:
        """The columns that a statement gives, some thousands of rows at a time."""
        with self._lock:
            try:
                if self.backend.name == "duckdb":
                    for part in self.backend.con.sql(statement).to_arrow_reader(_ROWS):
                        yield part.columns
                    return
                for rows in _fetched(self.backend, statement, _ROWS):
                    if rows:
                        yield list(zip(*rows, strict=True))
            except (InvalidParameter, SampleUnavailable):
                raise
            except Exception:
                raise SampleUnavailable(_LOST) from None

    def one_state(self) -> _OneState:
        """The rows as they were when the sample was opened, from here to there, where the database can say so."""
        return _OneState(self)

    def close(self) -> None:
        """Let go of a connection that was opened here."""
        if self._connect is not None:
            with self._lock, suppress(Exception):
                self.backend.disconnect()


class _OneState:
    """Holds the turn of one caller, and compares the state of the database before and after."""

    def __init__(self, link: _Link) -> None:
        self._link = link

    def __enter__(self) -> None:
        self._link._lock.acquire()
        try:
            self._check()
        except BaseException:
            self._link._lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._check()
        finally:
            self._link._lock.release()

    def _check(self) -> None:
        if self._link.run(_state) != self._link.state:
            raise SampleUnavailable(CHANGED)


def _connected(address: str) -> Any:
    """A connection; what is missing is named, and the address is not."""
    import ibis

    scheme, _, rest = address.partition("://")
    if scheme == "mariadb":  # which speaks as MySQL does
        scheme, address = "mysql", f"mysql://{rest}"
    try:
        if scheme == "sqlite":
            return _sqlite(address)
        if scheme == "mysql":
            _use_pymysql()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MySQL without names of time zones: it is set below
            return ibis.connect(address)
    except ImportError as error:
        extra = "holdfast[mysql]" if scheme == "mysql" else f"ibis-framework[{scheme}]"
        missing = error.name or f"that reads {scheme}://"
        raise NotInstalled(
            f"the package {missing} is needed here and is not installed; install it with `pip install '{extra}'`",
            name=error.name,
        ) from None
    except (SampleUnavailable, InvalidParameter):
        raise
    except (ValueError, AttributeError, TypeError, KeyError):
        raise InvalidParameter(
            "source must be an address that Ibis can read, such as mysql://reader@host/database, and this "
            f"{scheme[:20]}:// address is not"
        ) from None
    except Exception:
        raise SampleUnavailable("the database could not be reached") from None


def _use_pymysql() -> None:
    """Have Ibis find PyMySQL where it looks for the driver that must be compiled."""
    if find_spec("MySQLdb") is None:
        import pymysql

        pymysql.install_as_MySQLdb()


def _is_stored(backend: Any, table: Any) -> bool:
    """Whether SQLite holds the rows of a table in a file: it tells by itself when somebody writes there.

    A view and an expression may show other rows of the same file, a virtual table rows from anywhere, a table in memory
    is changed by this connection alone, and what was not committed yet may be taken back.
    """
    from ibis.expr.operations import DatabaseTable

    node = table.op()
    if backend.name != "sqlite" or not isinstance(node, DatabaseTable) or backend.con.in_transaction:
        return False
    places = {name: path for _, name, path in backend.con.execute("pragma database_list")}
    wanted = node.namespace.database
    for name in ["temp", *(name for name in places if name != "temp")]:  # the order in which SQLite looks for a name
        if wanted is None or name.lower() == wanted.lower():
            of = "select type, sql from {}.sqlite_master where lower(name) = lower(?) and type in ('table', 'view')"
            rows = backend.con.execute(of.format(_quoted(name)), [node.name]).fetchall()
            if rows:
                ((kind, sql),) = rows
                return bool(kind == "table" and not str(sql).lower().startswith("create virtual") and places.get(name))
    return False


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _memory(state: Any, table: str, declared: Declared) -> Memory | None:
    """Where what is found out about a table in a file of SQLite is remembered."""
    files = next(files for name, _, _, files in state[1] if name == "main")
    return Memory.of(Files((files[0][0],), "database", files), "sqlite", declared, table) if files else None


def _sqlite_file(address: str) -> Path:
    """The file of a database of SQLite."""
    path = Path(unquote(urlsplit(address).path))
    if not path.is_file():
        path = Path(str(path).removeprefix("/"))
    if not path.is_file():
        raise SampleUnavailable(f"the database file {path.name} does not exist")
    return path.resolve()


def _sqlite(address: str) -> Any:
    """A connection that can only read, and that any thread may use in its turn."""
    import ibis

    uri = _sqlite_file(address).as_uri() + "?mode=ro"
    return ibis.sqlite.from_connection(sqlite3.connect(uri, uri=True, check_same_thread=False))


def _made_ready(backend: Any) -> None:
    """Settings of the session without which statements would mean something else."""
    if backend.name == "mysql":
        for setting in ("time_zone = '+00:00'", "names utf8mb4", "sql_mode = 'TRADITIONAL'"):
            backend.raw_sql(f"set {setting}").close()
    elif backend.name == "sqlite":
        from hashlib import md5

        backend.con.create_function(_OWN_DIGEST, 1, _own_digest, deterministic=True)
        backend.con.create_function(
            "md5",
            1,
            lambda text: None if text is None else md5(text.encode(), usedforsecurity=False).hexdigest(),
            deterministic=True,
        )
    elif backend.name == "duckdb":  # see `duckdb_sample`
        backend.raw_sql("set disabled_optimizers = 'statistics_propagation'")


def _own_digest(value: Any) -> int:
    """A value of SQLite as a whole number below 2**30; doubles by their bits, since their digits take long to find."""
    return crc32(_bits(value) if isinstance(value, float) else repr(value).encode()) % (1 << 30)


def _compiled(backend: Any, table: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Ibis' own, of DuckDB's functions
        backend._run_pre_execute_hooks(table)
    return str(backend.compile(table, pretty=False))


def _fetched(backend: Any, statement: str, size: int) -> Iterator[list[Sequence[Any]]]:
    """Rows of a statement as the drivers behind Ibis give them: a cursor, a result, an iterator."""
    cursor = backend.raw_sql(statement)
    if not hasattr(cursor, "fetchmany"):
        rows = (
            cursor.result_rows
            if hasattr(cursor, "result_rows")
            else cursor.collect()
            if hasattr(cursor, "collect")
            else cursor
        )
        yield [tuple(row) for row in rows]
        return
    try:
        while rows := cursor.fetchmany(size) if size else cursor.fetchall():
            yield list(rows)
            if not size:
                return
    finally:
        if backend.name != "duckdb":  # whose cursor is the connection
            cursor.close()


def _array(values: Any, kind: Kind) -> pa.Array:
    """A column that a driver gave as an Arrow array; value by value only where Python holds it as something else."""
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return values
    types = {"number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
    casts: dict[Kind, Callable[[Any], Any]] = {"number": float, "boolean": bool, "text": str}
    type_, cast = types.get(kind, pa.int64()), casts.get(kind, int)
    try:
        return pa.array(values, type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # a decimal, or a whole number beyond 2**53
        return pa.array([None if value is None else cast(value) for value in values], type_)


def _raw(type_: Any, dialect: str) -> RawType | None:
    """What an Ibis type holds; None for one that no kind stands for."""
    if type_.is_integer():
        return None if type_.is_unsigned_integer() and type_.nbytes == 8 else "int64"
    if type_.is_floating():
        if type_.is_float32() and dialect != "sqlite":  # which has doubles only, whatever it calls them
            return "float32"
        return None if type_.is_float16() else "float64"
    if type_.is_decimal():
        # A column of decimals in SQLite holds doubles, whole numbers and texts.
        return None if dialect == "sqlite" else "decimal"
    if type_.is_timestamp():
        # SQLite has none: texts in many forms.
        return None if dialect == "sqlite" else "timestamp" if type_.timezone is None else "timestamptz"
    if type_.is_date():
        return "date"
    return "boolean" if type_.is_boolean() else "string" if type_.is_string() else None


def _digest(dialect: str, link: _Link) -> Callable[[Any], Any] | None:
    """What turns a value into a whole number below 2**30 in size, in the words of the database."""
    import ibis

    if dialect == "sqlite":
        return lambda value: ibis.udf.scalar.builtin(
            lambda value: None, name=_OWN_DIGEST, signature=((value.type(),), "int64")
        )(value)

    @ibis.udf.scalar.builtin(name="crc32", signature=(("string",), "int64"))
    def crc32(text):  # type: ignore[no-untyped-def]
        """Compiled to the database's own."""

    def by_text(value: Any) -> Any:
        return ibis.coalesce(crc32(value.cast("string")) % (1 << 30), ibis.literal(7, type="int64"))

    for way in (by_hash, by_text):
        try:
            texts = [ibis.literal(text).name("s").as_table() for text in ("a", "b", "b")]
            parts = [
                link.rows(str(ibis.to_sql(text.select(v=way(text.s)), dialect=dialect, pretty=False)))[0][0]
                for text in texts
            ]
            if parts[0] != parts[1] == parts[2]:
                return way
        except Exception:
            continue
    raise InvalidParameter(
        "source must be in a database with a hash function with which Holdfast can notice changed rows, and Holdfast "
        f"knows none for {dialect}; copy the rows to a Parquet file"
    )


def _state(backend: Any) -> Any:
    """What SQLite says of the content of its databases: how much it changed itself, and of each of them, also attached
    ones, whether others have written to it and whether its tables are the same.

    Next to it what the file system says, since SQLite does not look whether somebody wrote over the whole file.
    """
    if backend.name != "sqlite":
        return None

    def said(name: str, what: str) -> Any:
        return backend.con.execute(f"pragma {_quoted(name)}.{what}").fetchall()

    return backend.con.total_changes, tuple(
        (
            name,
            said(name, "data_version"),
            said(name, "schema_version"),
            Files.database(Path(path)).state if path else (),
        )
        for _, name, path in backend.con.execute("pragma database_list").fetchall()
    )


def _check_values(link: _Link, statements: Statements) -> None:
    """Refuse columns that hold values of another kind than they are declared to, where the database does not look."""
    names = list(statements.schema.names)
    if statements.dialect == "sqlite":
        tests = [_SQLITE_TYPES[statements.types[name]].format(f'"{name}"') for name in names]
    elif statements.dialect == "mysql":
        names = [name for name in names if statements.types[name] == "boolean"]
        tests = [f"`{name}` not in (0, 1)" for name in names]
    else:
        names = tests = []
    if not names:
        return
    listed = ", ".join(f"sum({test})" for test in tests)
    (counts,) = link.rows(f"select {listed} from {statements.name}")
    for name, wrong in zip(names, counts, strict=True):
        if wrong:
            raise SampleUnavailable(
                f"column {name!r} must have values of its declared type in every row, and some rows have other values "
                f"({statements.dialect} does not check types); correct these values, or leave the column out of the "
                "schema"
            )
