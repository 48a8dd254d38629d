"""Files that a sample reads: what they are, what Parquet files may hold, and whether they are still the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.data.csv_files import checked_names
from holdfast.data.engines.sql_columns import RawType
from holdfast.data.sample import CHANGED
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, SampleUnavailable

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "csv")
MOST_DIGITS = 38
"""Digits of a decimal in Parquet files: Spark reads no more."""
_ROWS = 1 << 16


@dataclass(frozen=True)
class Files:
    """One file, or a folder of Parquet files, as it was when the sample was opened.

    Whoever replaces, rewrites or removes a file while it is guarded is found before and after every question, so that
    no answer mixes two contents: by its size, its inode, the time it was modified, and the time its inode changed,
    which cannot be set back as the other can. The name is not part of the sample's identity.
    """

    path: Path
    format: str
    state: tuple[tuple[str, tuple[int, ...]], ...]
    pattern: str = "*.parquet"

    @classmethod
    def at(cls, path: Path) -> Files:
        """What is there now."""
        suffix = "parquet" if os.path.isdir(path) else path.suffix.lower().lstrip(".")
        if suffix not in FORMATS:
            raise InvalidParameter(f"source must be a .parquet or .csv file or a folder of Parquet files: {path.name}")
        state = _state(path)
        if not state:
            raise SampleUnavailable(f"there is no file {path.name}, or it cannot be read")
        return cls(path, suffix, state)

    @classmethod
    def below(cls, path: Path) -> Files | None:
        """Every file in a folder and the folders in it, for an engine that reads those too; None if there is none."""
        state = _state(path, "**/*")
        return cls(path, "parquet", state, "**/*") if state else None

    @property
    def names(self) -> list[str]:
        """The paths of the files."""
        return [name for name, _ in self.state]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(facts[0] for _, facts in self.state)

    def check(self) -> None:
        """Refuse to go on where the files are not those that were opened."""
        if _state(self.path, self.pattern) != self.state:
            raise SampleUnavailable(CHANGED)


@contextmanager
def reading(files: Files | None, *errors: type[BaseException]) -> Iterator[None]:
    """The files as they were opened, before and after; an engine's errors as one that says nothing about rows."""
    hidden: tuple[type[BaseException], ...] = (*errors, OSError, UnicodeDecodeError)
    try:
        if files is not None:
            files.check()
        yield
        if files is not None:
            files.check()
    except hidden:
        raise SampleUnavailable(
            "the rows could not be read: a file or table is missing, damaged, in use or not what it was declared to be"
        ) from None


def parquet_types(files: Files) -> dict[str, pa.DataType]:
    """The columns of Parquet files in order, as Arrow types.

    Raises
    ------
    InvalidParameter
        Names that not every engine can tell apart, or files whose columns or types differ: engines would cast the
        values of one file to the types of another, or fill a column that is not there.
    """
    import pyarrow.parquet as pq

    first: dict[str, pa.DataType] = {}
    for at, name in enumerate(files.names):
        schema = pq.read_schema(name)
        checked_names(files.path.name, schema.names)
        types = {field.name: _plain(field.type) for field in schema}
        if not at:
            first = types
        for column in {**first, **types}:
            if first.get(column) != types.get(column):
                raise parts_differ(f"in {files.path.name}", column, first.get(column), types.get(column))
    return first


def parts_differ(where: str, column: str, *types: object) -> InvalidParameter:
    """The refusal of Parquet files that are not of one form.

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
    """What a column of a Parquet file holds: the same for every engine, None for a type that no kind stands for.

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

    texts = [column.name for column in schema if column.kind == "text"]
    if not texts:
        return
    # A column of whole numbers that is declared as text is always UTF-8, and passes.
    for name in files.names:
        with pq.ParquetFile(name, pre_buffer=False) as file:
            for part in file.iter_batches(_ROWS, columns=texts):
                for column in texts:
                    try:
                        part.column(column).validate(full=True)
                    except pa.ArrowInvalid:
                        raise SampleUnavailable(
                            f"{Path(name).name}: column {column!r} must hold texts in UTF-8, and has other bytes"
                        ) from None


def _plain(type_: pa.DataType) -> pa.DataType:
    """One type for all texts: files store them alike, and say besides what the writer's memory held."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(type_):
        type_ = type_.value_type
    return pa.string() if types.is_large_string(type_) or types.is_string_view(type_) else type_


def _state(path: Path, pattern: str = "*.parquet") -> tuple[tuple[str, tuple[int, ...]], ...]:
    try:
        listed = sorted(path.glob(pattern)) if path.is_dir() else [path]
        stats = [(str(name), name.stat()) for name in listed if name.is_file()]
    except OSError:
        return ()
    return tuple((name, (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev)) for name, s in stats)
