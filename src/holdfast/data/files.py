"""Files that a sample reads: what they are, what Parquet files may hold, and whether they are still the same."""

from __future__ import annotations

import fnmatch
import glob
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from holdfast.core.extras import named_extras
from holdfast.data.csv_files import checked_names
from holdfast.data.engines.sql_columns import RawType
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, SampleUnavailable

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "csv")
STORES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "http", "https")
"""What addresses of files elsewhere begin with."""
MOST_DIGITS = 38
"""Digits of a decimal in Parquet files: Spark reads no more."""
_ROWS = 1 << 16
_BESIDE = (".wal", "-wal", "-journal")
"""What the names of files end with in which DuckDB and SQLite keep changes that are not in the database yet."""
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")
_NONE, _OTHERS = "there is no file", "source must be a .parquet or .csv file or a folder of Parquet files"
CHANGED = "the sample no longer has the rows it was opened with; open it again to guard what is there now"


class FileState(NamedTuple):
    """What tells whether a file is still the same: bytes, times in nanoseconds, and where it lies."""

    size: int
    modified: int
    changed: int = 0
    """When the inode changed, which cannot be set back as the time of a modification can."""
    inode: int = 0
    device: int = 0
    tag: str = ""
    """What a store says of the content, and its version."""


State = tuple[tuple[str, FileState], ...]
"""Each file and what tells it from another one of its name, in the order of names."""
Held = dict[str, str | None]
"""The columns that a file's folders hold, their values as text."""


@dataclass(frozen=True)
class Files:
    """A file, or Parquet files that hold the rows together, as they were when the sample was opened.

    Whoever replaces, rewrites or removes a file while it is guarded, or adds one, is found before and after every
    question, so that no answer mixes two contents: by its size, its inode, the time it was modified, and the time its
    inode changed, which cannot be set back as the other can; elsewhere by its size, tag, version and time. The name is
    not part of the sample's identity.

    Parameters
    ----------
    given : tuple of str
        Files, folders, patterns with `*`, or addresses, as they were given.
    format : {"parquet", "csv", "database"}
        What they hold.
    state : State
        The files as they were.
    deep : bool
        Whether folders are read with the folders in them.
    held : mapping
        For each file what the names of its folders say: `year=2024` is a column `year` that holds 2024.
    types : mapping
        The types of these columns, by the names that Delta Lake and Spark have for them: `long`, `string`, `date`.
    """

    given: tuple[str, ...]
    format: str
    state: State
    deep: bool = False
    held: Mapping[str, Held] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def at(cls, source: str | Path | Sequence[str | Path]) -> Files:
        """Return what is there now.

        Parameters
        ----------
        source : str, Path, or a list of them
            A file; a folder of Parquet files, or of folders that are called `column=value`; a pattern such as
            `parts/*.parquet` or `parts/**/*.parquet`; or an address such as `s3://bucket/people/`. A folder that is a
            table of Delta Lake or Iceberg is that table as it is now.
        """
        given = tuple(_absolute(str(one)) for one in ([source] if isinstance(source, (str, Path)) else source))
        if not given:
            raise InvalidParameter("source must name at least one file, got an empty list")
        for one in given:
            _check_address(one)
        tabled = _of_table(given[0]) if len(given) == 1 else None
        if tabled is not None:
            given, deep = tabled.files, False
        else:
            deep = any(not _is_pattern(one) and _is_hive(one) for one in given)
        state = _state(given, deep)
        label = _label(given)
        if not state:
            if all(_is_elsewhere(one) or _is_pattern(one) or Path(one).suffix.lower()[1:] in FORMATS for one in given):
                raise SampleUnavailable(f"{_NONE} {label}, or the file cannot be read")
            raise InvalidParameter(f"{_OTHERS}: {label}")
        formats = {"csv" if name.lower().endswith(".csv") else "parquet" for name, _ in state}
        wrong = [name for name, _ in state if _suffix(name) not in FORMATS]
        if wrong and (tabled is None or len(given) == 1):
            raise InvalidParameter(f"{_OTHERS}: {_last(wrong[0])}")
        if "csv" in formats and (len(state) > 1 or _is_elsewhere(state[0][0])):
            raise InvalidParameter(
                f"source must be one CSV file on this machine, or Parquet files: {label}; copy it here, or write the "
                "rows as Parquet, for example with polars.scan_csv(...).sink_parquet(...)"
            )
        _check_once(state)
        names = [name for name, _ in state]
        held, types = _hive_columns(names, _base(given, names)) if tabled is None else (tabled.held, tabled.types)
        return cls(given, formats.pop(), state, deep, held, types)

    @classmethod
    def at_or_none(cls, source: str | Path | Sequence[str | Path]) -> Files | None:
        """The same, and None where no Parquet or CSV files are found: another engine may know others."""
        try:
            return cls.at(source)
        except (InvalidParameter, SampleUnavailable) as error:
            if str(error).startswith((_NONE, _OTHERS)):
                return None
            raise

    @classmethod
    def below(cls, path: Path) -> Files | None:
        """Every file in a folder and the folders in it, for an engine that reads those too; None if there is none."""
        given = (_absolute(str(path / "**" / "*")),)
        state = _state(given, False)
        return cls(given, "parquet", state) if state else None

    @classmethod
    def database(cls, path: Path) -> Files:
        """The file of a database, which its engine reads, to find that it was replaced or written over."""
        given = (_absolute(str(path)),)
        return cls(given, "database", _state(given, False))

    @property
    def path(self) -> Path:
        """The one file, where it is one on this machine."""
        return Path(self.state[0][0])

    @property
    def label(self) -> str:
        """What errors call them: the end of the name that was given."""
        return _label(self.given)

    @property
    def names(self) -> list[str]:
        """The paths or addresses of the files."""
        return [name for name, _ in self.state]

    @property
    def elsewhere(self) -> bool:
        """Whether some of them are not on this machine."""
        return any(_is_elsewhere(name) for name in self.names)

    @property
    def is_told_apart(self) -> bool:
        """Whether what is known of every file tells its content from any other: elsewhere by a tag that is not weak.

        A database whose latest changes are in a file next to it is not.
        """
        if self.format == "database" and any(os.path.exists(self.given[0] + end) for end in _BESIDE):
            return False
        return not any(_is_elsewhere(name) and facts.tag.startswith(("None", "W/")) for name, facts in self.state)

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(facts.size for _, facts in self.state)

    def groups(self) -> list[tuple[Held, list[str]]]:
        """Return the files by what the names of their folders hold."""
        grouped: dict[tuple[Any, ...], tuple[Held, list[str]]] = {}
        for name in self.names:
            held = self.held.get(name, {})
            grouped.setdefault(tuple(held.items()), (held, []))[1].append(name)
        return list(grouped.values())

    def check(self) -> None:
        """Refuse to go on where the files are not those that were opened."""
        if _state(self.given, self.deep) != self.state:
            raise SampleUnavailable(CHANGED)


def opened(name: str) -> Any:
    """Return what pyarrow reads a Parquet file from: its path, or a file elsewhere of which parts are fetched."""
    import pyarrow as pa

    return pa.PythonFile(_Elsewhere(name), mode="r") if _is_elsewhere(name) else name


class _Elsewhere(io.RawIOBase):
    """A file in an object store, of which parts are fetched as they are asked for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        import obstore

        self._store, self._path = _store(name)
        self._size = int(obstore.head(self._store, self._path)["size"])
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        import obstore

        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        part = obstore.get_range(self._store, self._path, start=self._at, end=end)
        self._at = end
        return bytes(part)


# --- Names ------------------------------------------------------------------------------------------------------------


def is_elsewhere(source: Any) -> bool:
    """Return whether a source names files in a store that is not on this machine.

    Examples
    --------
    >>> is_elsewhere("s3://bucket/people.parquet"), is_elsewhere("people.parquet"), is_elsewhere(["gs://bucket/people/"])
    (True, False, True)
    """
    if isinstance(source, (list, tuple)):
        return any(is_elsewhere(one) for one in source)
    return isinstance(source, (str, Path)) and _is_elsewhere(str(source))


def _is_elsewhere(name: str) -> bool:
    return name.partition("://")[0] in STORES and "://" in name


def _absolute(name: str) -> str:
    """A name that means the same in whatever folder the process is later."""
    return name if not name or _is_elsewhere(name) else str(Path(name).absolute())


def _check_address(name: str) -> None:
    """Refuse an address that was signed in advance, which allows one kind of request only."""
    if name.startswith(("http://", "https://")) and "?" in name:
        raise InvalidParameter(
            f"source must be an address without a query (a part after ?), and the address of {_last(name)} has one: "
            "addresses that were signed in advance do not allow reading the size, the tag and parts of a file; "
            "download the file, or give its address as s3://, gs:// or az:// with credentials in the environment"
        )


def _check_once(state: State) -> None:
    """Refuse a file that is named twice, by links or other spellings: its rows would count twice."""
    seen: dict[tuple[object, ...], str] = {}
    for name, facts in state:
        if _is_elsewhere(name):
            parts = urlsplit(name)
            key: tuple[object, ...] = (parts.scheme[:2], parts.netloc, parts.path)  # s3 and s3a are one store
        else:
            key = (facts.device, facts.inode) if facts.inode else (name,)
        if key in seen:
            raise InvalidParameter(
                f"source must name each file once, and {_last(seen[key])} and {_last(name)} are two names of the "
                "same file; leave one of them out"
            )
        seen[key] = name


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[") and not (not _is_elsewhere(name) and os.path.exists(name))


def _suffix(name: str) -> str:
    return Path(urlsplit(name).path if _is_elsewhere(name) else name).suffix.lower()[1:]


def _last(name: str) -> str:
    """The end of a name, without what an address may hold in secret."""
    return (urlsplit(name).path if _is_elsewhere(name) else name).rstrip("/").rpartition("/")[2]


def _label(given: Sequence[str]) -> str:
    return _last(given[0]) if len(given) == 1 else f"{_last(given[0])} and {len(given) - 1} more"


def _is_hive(name: str) -> bool:
    """Whether a folder has no Parquet files but folders that are called `column=value`."""
    if _is_elsewhere(name):
        return not _suffix(name)
    if not os.path.isdir(name):
        return False
    inside = [one for one in os.scandir(name) if not _is_hidden(one.name + "/" * one.is_dir())]
    return not any(one.name.lower().endswith(".parquet") for one in inside) and any(
        one.is_dir() and "=" in one.name for one in inside
    )


def _base(given: Sequence[str], names: Sequence[str]) -> str:
    """The folder below which the names of folders count as columns: that which was named, or that all files share."""
    if len(given) == 1 and _is_pattern(given[0]):
        return _before(given[0])
    if len(given) == 1:
        return given[0].rstrip("/") if not _suffix(given[0]) else given[0].rpartition("/")[0]
    folders = [name.split("/")[:-1] for name in names]
    return "/".join(part[0] for part in takewhile(lambda part: len(set(part)) == 1, zip(*folders, strict=False)))


def _before(pattern: str) -> str:
    """The folder that a pattern begins with."""
    return re.split(r"[*?\[]", pattern)[0].rpartition("/")[0]


def _hive_columns(names: Sequence[str], base: str) -> tuple[dict[str, Held], dict[str, str]]:
    """What the names of the folders hold, for each file, and its types: whole numbers where all are, else texts."""
    written = {name: dict(_pairs(name.removeprefix(base))) for name in names}
    columns = {tuple(pairs) for pairs in written.values()}
    if columns == {()}:
        return {}, {}
    if len(columns) > 1:
        raise InvalidParameter(
            "source must have the same columns in the folder names of all files, such as year=2024/month=1, and has "
            f"{' and '.join(sorted('/'.join(names) or 'none' for names in columns))}"
        )
    types = {}
    for column in columns.pop():
        values = [value for pairs in written.values() if (value := pairs[column]) is not None]
        types[column] = "long" if values and all(map(_WHOLE.fullmatch, values)) else "string"
    return written, types


def _pairs(path: str) -> Iterator[tuple[str, str | None]]:
    for part in path.split("/")[:-1]:
        column, equals, value = part.partition("=")
        if equals and column:
            yield unquote(column), None if value == _NO_VALUE else unquote(value)


# --- State ------------------------------------------------------------------------------------------------------------


def _state(given: Sequence[str], deep: bool) -> State:
    """The files that are there now, or none where one that was named is not."""
    states: dict[str, FileState] = {}
    for one in given:
        listed = dict(_elsewhere(one) if _is_elsewhere(one) else _here(one, deep))
        if not listed:
            return ()
        states |= listed
    return tuple(sorted(states.items()))


def _here(name: str, deep: bool) -> State:
    try:
        if _is_pattern(name):
            base = _before(name)
            listed = [path for path in glob.glob(name, recursive=True) if not _is_hidden(path.removeprefix(base))]
        elif os.path.isdir(name):
            paths = [path for path in Path(name).glob("**/*" if deep else "*") if path.suffix.lower() == ".parquet"]
            listed = [str(path) for path in paths if not _is_hidden(str(path.relative_to(name)))]
        else:
            listed = [name]
        stats = [(path, os.stat(path)) for path in sorted(listed) if os.path.isfile(path)]
    except OSError:
        return ()
    return tuple((path, FileState(s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev)) for path, s in stats)


def _is_hidden(path: str) -> bool:
    """Whether a path below a folder is what writers leave behind that is no row: `_SUCCESS`, `_temporary/0/...`.

    A folder that holds a column, as `_year=2024` does, is none.
    """
    *folders, name = path.split("/")
    return name.startswith((".", "_")) or any(one.startswith((".", "_")) and "=" not in one for one in folders)


def _elsewhere(name: str) -> State:
    """The same of files in a store."""
    import obstore

    base = ""

    def hidden(path: str) -> bool:
        return _is_hidden(path.removeprefix(base))

    try:
        store, path = _store(name)
        if _is_pattern(name):
            base, wanted = _before(path), re.compile(_regex(path))
            listed = [one for part in obstore.list(store, prefix=base or None) for one in part]
            listed = [one for one in listed if wanted.fullmatch(one["path"]) and not hidden(one["path"])]
        elif _suffix(name):
            listed = [obstore.head(store, path)]
        else:
            listed = [one for part in obstore.list(store, prefix=path or None) for one in part]
            base = path
            listed = [one for one in listed if _suffix(one["path"]) == "parquet" and not hidden(one["path"])]
    except (obstore.exceptions.BaseError, OSError, ValueError):
        return ()
    root = name.partition("://")[0] + "://" + urlsplit(name).netloc + "/"
    facts = []
    for one in listed:
        modified = int(one["last_modified"].timestamp() * 1e9)
        tag = f"{one['e_tag']} {one['version']}"
        facts.append((root + one["path"], FileState(int(one["size"]), modified, tag=tag)))
    return tuple(sorted(facts))


def _regex(pattern: str) -> str:
    """A pattern of paths as a regular expression: `**` may be any folders, `*` none."""
    parts = pattern.split("/")
    expression = ""
    for at, part in enumerate(parts):
        end = "" if at == len(parts) - 1 else "/"
        expression += "(?:.*/)?" if part == "**" else fnmatch.translate(part)[4:-3].replace(".*", "[^/]*") + end
    return expression


def _store(name: str) -> tuple[Any, str]:
    """The store of an address, set up by the usual variables of the environment, and the path in it."""
    parts = urlsplit(name)
    return _store_at(f"{parts.scheme}://{parts.netloc}"), parts.path.lstrip("/").rstrip("/")


@cache
def _store_at(root: str) -> Any:
    with named_extras("stores"):
        from obstore.store import from_url
    if root.startswith("http://"):
        return from_url(root, client_options={"allow_http": True})
    return from_url(root)


# --- Tables -----------------------------------------------------------------------------------------------------------
# Folders that are tables of Delta Lake or Iceberg: the files of their latest version, which no later one changes.


class _Table(NamedTuple):
    """The files of a table, and the columns that are not in them, as `Files` holds these."""

    files: tuple[str, ...]
    held: Mapping[str, Held]
    types: Mapping[str, str]


def _of_table(name: str) -> _Table | None:
    """The files of a table; None where it is none."""
    if _is_pattern(name) or _suffix(name) in FORMATS or name.startswith(("http://", "https://")):
        return None
    if _has(name, "_delta_log"):
        return _delta(name)
    return _iceberg(name) if _has(name, "metadata") else None


def _has(name: str, folder: str) -> bool:
    if not _is_elsewhere(name):
        return os.path.isdir(os.path.join(name, folder))
    import obstore

    store, path = _store(name)
    try:
        return any(part for part in obstore.list(store, prefix=f"{path}/{folder}".lstrip("/")))
    except obstore.exceptions.BaseError:
        return False


def _delta(name: str) -> _Table:
    import pyarrow as pa

    with named_extras():
        import deltalake
    try:
        table = deltalake.DeltaTable(name)
        features = set(table.protocol().reader_features or ())
        mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
        added = pa.table(table.get_add_actions(flatten=True))
        partitioned = table.metadata().partition_columns
        types = {one.name: str(getattr(one.type, "type", "")) for one in table.schema().fields}
    except (deltalake.exceptions.DeltaError, OSError):
        raise SampleUnavailable(f"{_last(name)} cannot be read as a Delta Lake table") from None
    except Exception as error:
        if type(error).__module__.startswith("deltalake") or type(error).__name__ == "DeltaProtocolError":
            raise SampleUnavailable(f"{_last(name)} cannot be read as a Delta Lake table") from None
        raise
    if "deletionVectors" in features or mapped:
        what = "columns under other names" if mapped else "deletion vectors"
        raise InvalidParameter(
            f"source must not be a Delta Lake table with {what}, and {_last(name)} may have them; write the table "
            "anew without them, or copy its rows to Parquet"
        )
    if not added.num_rows:
        raise InvalidParameter(f"source must have at least one row, and the Delta Lake table {_last(name)} has none")
    # Paths in the log are written as in an address; one of a file of another table, of which this is a copy, is whole.
    paths = [unquote(path) for path in added.column("path").to_pylist()]
    files = [path.removeprefix("file://") if "://" in path else f"{name.rstrip('/')}/{path}" for path in paths]
    values = {column: added.column(f"partition.{column}").cast(pa.string()).to_pylist() for column in partitioned}
    held = {file: {column: values[column][at] for column in partitioned} for at, file in enumerate(files)}
    return _Table(tuple(sorted(files)), held if partitioned else {}, {column: types[column] for column in partitioned})


def _iceberg(name: str) -> _Table | None:
    documents = _state((f"{name.rstrip('/')}/metadata/*.metadata.json",), False)
    if not documents:
        return None
    with named_extras():
        from pyiceberg.exceptions import NoSuchTableError
        from pyiceberg.table import StaticTable
    latest = max((one for one, _ in documents), key=lambda one: (_number(_last(one)), one))
    try:
        table = StaticTable.from_metadata(latest)
        tasks = list(table.scan().plan_files())
        columns = {(column.field_id, column.name) for column in table.schema().columns}
    except (OSError, ValueError, NoSuchTableError):
        raise SampleUnavailable(f"{_last(name)} cannot be read as an Iceberg table") from None
    files = tuple(sorted(task.file.file_path.removeprefix("file://") for task in tasks))
    if any(task.delete_files for task in tasks):
        raise InvalidParameter(
            f"source must not be an Iceberg table with delete files, and {_last(name)} has some; compact the table "
            "first, or copy its rows to Parquet"
        )
    if not files:
        raise InvalidParameter(f"source must have at least one row, and the Iceberg table {_last(name)} has none")
    if any(_numbered_columns(one) != columns for one in files):
        raise InvalidParameter(
            "source must be an Iceberg table whose files all have the table's columns with the same numbers and "
            f"names, and columns of {_last(name)} were renamed, added or dropped; write the table anew, or copy its "
            "rows to Parquet"
        )
    return _Table(files, {}, {})  # they hold every column, whatever their folders are called


def _numbered_columns(name: str) -> set[tuple[int, str]]:
    """The columns of a file of Iceberg with the numbers that tell them apart: a name may pass to another column."""
    import pyarrow.parquet as pq

    return {
        (int((column.metadata or {}).get(b"PARQUET:field_id", -1)), column.name)
        for column in pq.read_schema(opened(name))
    }


def _number(document: str) -> int:
    """The version in the name of a document: `00003-...` or `v3...`."""
    digits = re.match("v?([0-9]+)", document)
    return int(digits[1]) if digits else -1


# --- Parquet ----------------------------------------------------------------------------------------------------------


@contextmanager
def reading(files: Files | None, *errors: type[BaseException]) -> Iterator[None]:
    """The files as they were opened, before and after; an engine's errors as one that reveals nothing about rows."""
    hidden: tuple[type[BaseException], ...] = (*errors, OSError, UnicodeDecodeError)
    try:
        if files is not None:
            files.check()
        yield
        if files is not None:
            files.check()
    except hidden:
        raise SampleUnavailable(
            "the rows could not be read: a file or table is missing, damaged or in use, or its content does not have "
            "the declared form"
        ) from None


def parquet_types(files: Files) -> dict[str, pa.DataType]:
    """Return the columns of Parquet files in order, as Arrow types.

    Raises
    ------
    InvalidParameter
        Names that not every engine can tell apart, or files whose columns or types differ: engines would cast the
        values of one file to the types of another, or fill a column that is not there.
    """
    import pyarrow.parquet as pq

    first: dict[str, pa.DataType] = {}
    for at, name in enumerate(files.names):
        schema = pq.read_schema(opened(name))
        held = {column: held_type(type_) for column, type_ in files.types.items()}
        checked_names(files.label, [*schema.names, *held])
        types = {field.name: _plain(field.type) for field in schema} | held
        if not at:
            first = types
        for column in {**first, **types}:
            if first.get(column) != types.get(column):
                raise parts_differ(f"in {files.label}", column, first.get(column), types.get(column))
    return first


def held_type(name: str) -> pa.DataType:
    """Return the Arrow type of a column that the names of folders hold.

    Examples
    --------
    >>> [str(held_type(name)) for name in ("long", "decimal(10,2)", "timestamp")]
    ['int64', 'decimal128(10, 2)', 'timestamp[us, tz=UTC]']
    """
    import pyarrow as pa

    if name.startswith("decimal("):
        digits, places = name.removeprefix("decimal(").rstrip(")").split(",")
        return pa.decimal128(int(digits), int(places))
    names = {"byte": "int8", "short": "int16", "integer": "int32", "long": "int64", "boolean": "bool", "date": "date32"}
    if name in ("timestamp", "timestamp_ntz"):
        return pa.timestamp("us", "UTC" if name == "timestamp" else None)
    return pa.type_for_alias(names.get(name, name))


def parts_differ(where: str, column: str, *types: object) -> InvalidParameter:
    """Return the refusal of Parquet files that are not of one form.

    Examples
    --------
    >>> parts_differ("in people", "age", "int64", None)
    InvalidParameter("the Parquet files in people must have the same columns of the same types, and column 'age' is ...
    """
    held = " and ".join("not there" if type_ is None else str(type_) for type_ in types)
    return InvalidParameter(
        f"the Parquet files {where} must have the same columns of the same types, and column {column!r} is {held} in "
        "two of them; write all with one type"
    )


def parquet_raw(type_: pa.DataType) -> RawType | None:
    """Return what a column of a Parquet file holds: the same for every engine, None for a type that no kind stands for.

    Examples
    --------
    >>> import pyarrow as pa
    >>> [parquet_raw(type_) for type_ in (pa.int8(), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.date32())]
    ['int64', 'timestamptz', None, 'date']
    """
    from pyarrow import types

    if types.is_integer(type_):
        return None if types.is_uint64(type_) else "int64"
    if types.is_float32(type_) or types.is_float64(type_):
        return "float32" if types.is_float32(type_) else "float64"
    if types.is_timestamp(type_):  # Spark does not read nanoseconds
        return None if type_.unit == "ns" else "timestamp" if type_.tz is None else "timestamptz"
    if types.is_decimal(type_):
        return "decimal" if type_.precision <= MOST_DIGITS else None
    if types.is_date32(type_):
        return "date"
    return "boolean" if types.is_boolean(type_) else "string" if types.is_string(type_) else None


def check_texts(files: Files, schema: Schema) -> None:
    """Refuse Parquet files with bytes that are not UTF-8 in a column of texts, which every engine takes differently."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    named = {column for held in files.held.values() for column in held}
    texts = [column.name for column in schema if column.kind == "text" and column.name not in named]
    if not texts:
        return
    # A column of whole numbers that is declared as text is always UTF-8, and passes.
    for name in files.names:
        with pq.ParquetFile(opened(name), pre_buffer=False) as file:
            for part in file.iter_batches(_ROWS, columns=texts):
                for column in texts:
                    try:
                        part.column(column).validate(full=True)
                    except pa.ArrowInvalid:
                        raise SampleUnavailable(
                            f"{_last(name)}: column {column!r} must have texts in UTF-8, and some are not"
                        ) from None


def _plain(type_: pa.DataType) -> pa.DataType:
    """One type for all texts: files store them alike, and say besides what the writer's memory held."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(type_):
        type_ = type_.value_type
    return pa.string() if types.is_large_string(type_) or types.is_string_view(type_) else type_
