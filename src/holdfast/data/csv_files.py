"""What a CSV file means: one grammar, checked once when a file is opened, and one reader behind every engine.

docs/data.md states the rules. `examine` reads a file through and refuses whatever they do not allow; `read` hands the
rows to an engine as Arrow batches. No engine parses CSV by itself, so none can read a file in a way of its own.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from holdfast.data.schema import Column, Declared, Kind, Schema, settled
from holdfast.errors import InvalidParameter, SampleUnavailable

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 1 << 22
"""Bytes that are worked on at a time, and the most that one row may have."""

TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_ARROW = {"number": "double", "integer": "int64", "boolean": "bool", "text": "string", "date": "date32"}
_WHOLE = b"0123456789-"
_NUMBER = _WHOLE + b"+.eE" + b"nNaAiIfFtTyY"
"""Characters of numbers, of `nan`, `inf` and `infinity`. Arrow alone would also take `0x1F` and `nan(1)`."""
WHOLE = re.compile("-?[0-9]+")
NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE)
"""How whole and other numbers are written, for readers of single cells."""
_WIDER: Mapping[Kind | None, tuple[Kind, ...]] = {
    None: ("boolean", "integer", "number", "text"),
    "boolean": ("boolean", "text"),
    "integer": ("integer", "number", "text"),
    "number": ("number", "text"),
    "text": ("text",),
}
"""What a column may be after more cells of it were seen, the narrowest first."""

_BOM = b"\xef\xbb\xbf"
_LF, _CR, _COMMA, _QUOTE = b'\n\r,"'
_BLANK = "is blank; leave blank lines out"
_LONE_CR = "has a carriage return without a line feed; end lines with LF or CRLF"
_STRAY = (
    "has a quotation mark where none can be; put the whole cell between quotation marks and write those inside twice"
)


def examine(path: Path, declared: Declared) -> tuple[Schema, int]:
    """Read a file through: its schema and its number of rows.

    Raises
    ------
    InvalidParameter
        The header, or a declared schema that does not fit it.
    SampleUnavailable
        A line that is not what it should be. The message names the line, and the column where it is about one cell,
        and shows nothing of what is there.
    """
    names = names_in(path)
    wanted = None if declared is None else declared if isinstance(declared, Schema) else Schema(declared)
    if wanted is None:
        kinds, n = _guessed(path, names)
        return Schema(kinds), n
    schema = settled({name: wanted[name].kind if name in wanted else None for name in names}, wanted, {})
    n = 0
    for part in texts(path, schema.names, len(names)):
        for column in schema:
            written = part.column(column.name)
            if not _fits(column.kind, written):
                line = _line(path, n + _first_unfit(column.kind, written))
                raise _refused(path.name, line, f"column {column.name!r} must hold {_MEANT[column.kind]} there")
        n += part.num_rows
    return schema, n


def read(path: Path, schema: Schema, columns: Iterable[str]) -> pa.RecordBatchReader:
    """Some columns of a file that was examined, a batch of rows after the other, in order."""
    from pyarrow import csv as arrow_csv

    types = {name: _type(schema[name].kind) for name in columns}
    return arrow_csv.open_csv(
        str(path),
        arrow_csv.ReadOptions(block_size=BLOCK),
        arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=TRUE,
            false_values=FALSE,
        ),
    )


def _type(kind: Kind) -> pa.DataType:
    import pyarrow as pa

    if kind in _ARROW:
        return pa.type_for_alias(_ARROW[kind])
    return pa.timestamp("us", "UTC" if kind == "timestamptz" else None)


def _guessed(path: Path, names: list[str]) -> tuple[dict[str, Kind], int]:
    """The narrowest kind that fits every cell of a column, and the number of rows."""
    kinds: dict[str, Kind | None] = dict.fromkeys(names)
    fractional: set[str] = set()
    n = 0
    for part in texts(path, names, len(names)):
        for name in names:
            written, kind = part.column(name), kinds[name]
            if kind == "text" or written.null_count == len(written):
                continue
            kinds[name] = next(wider for wider in _WIDER[kind] if _fits(wider, written))
            if kinds[name] == "number" and not _is_spelled_with(_WHOLE, written):
                fractional.add(name)
        n += part.num_rows
    # Whole numbers that 64 bits do not hold would lose digits as doubles: they are names of things, kept as text.
    return {
        name: "text" if kind is None or (kind == "number" and name not in fractional) else kind
        for name, kind in kinds.items()
    }, n


def texts(path: Path, columns: Sequence[str], width: int) -> Iterator[pa.RecordBatch]:
    """Some of the `width` columns as they are written, batch by batch; missing where nothing is between the commas."""
    import pyarrow as pa

    try:
        yield from read(path, Schema([Column(name, "text") for name in columns]), columns)
    except pa.ArrowInvalid:
        raise _unequal(path, width) from None


def cells(name: str, file: BinaryIO) -> Iterator[list[str]]:
    r"""The rows as lists of texts, the names of the columns first, by the same rules and without Arrow.

    Examples
    --------
    >>> list(cells("rows.csv", io.BytesIO(b"a,b\n1,\n")))
    [['a', 'b'], ['1', '']]
    >>> list(cells("rows.csv", io.BytesIO(b"a,b\n1\n")))
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: rows.csv, line 2: there is 1 cell, and the header has 2 names
    """
    try:
        _check_form(name, file)
        file.seek(0)
        wrapped = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            reader = csv.reader(wrapped, strict=True)
            names = checked_names(name, next(reader, []))
            yield names
            before = reader.line_num
            for row in reader:
                if len(row) != len(names):
                    raise _uneven(name, before + 1, len(row), len(names))
                before = reader.line_num
                yield row
        finally:
            wrapped.detach()
    except SampleUnavailable as error:
        raise InvalidParameter(str(error)) from None
    except csv.Error:
        raise InvalidParameter(f"{name} must have no cell with more than {csv.field_size_limit()} characters") from None


def _unequal(path: Path, width: int) -> SampleUnavailable:
    """The refusal of rows that Arrow could not cut into cells: Arrow shows the row, so it is looked for once more."""
    try:
        with _opened(path) as file:
            reader, before = csv.reader(file, strict=True), 0
            for row in reader:
                if len(row) != width:
                    return _uneven(path.name, before + 1, len(row), width)
                before = reader.line_num
    except csv.Error:
        pass
    return SampleUnavailable(f"{path.name} cannot be read: a row may have {BLOCK} bytes at most")


def _uneven(name: str, line: int, given: int, width: int) -> SampleUnavailable:
    there = "is 1 cell" if given == 1 else f"are {given} cells"
    return _refused(name, line, f"there {there}, and the header has {width} name{'s' if width > 1 else ''}")


_MEANT: Mapping[Kind, str] = {
    "integer": "a whole number of 64 bits such as -12",
    "number": "a number such as -1.5e3",
    "boolean": "true or false",
    "text": "text",
    "date": "a date such as 2020-12-31",
    "timestamp": "a timestamp such as 2020-12-31 23:59:59",
    "timestamptz": "a timestamp with its zone such as 2020-12-31 23:59:59+01:00",
}
_TIMES: Mapping[Kind, str] = {
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "timestamp": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$",
    "timestamptz": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})$",
}


def _fits(kind: Kind, written: pa.Array) -> bool:
    """Whether all cells that are not missing are of a kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "text":
        return True
    if kind == "boolean":
        words = pc.is_in(written, pa.array([*TRUE, *FALSE]))
        return bool((words.true_count + written.null_count) == len(written))
    if kind in _TIMES:
        spelt = pc.match_substring_regex(written, _TIMES[kind])
        if spelt.true_count + written.null_count != len(written):
            return False
    elif not _is_spelled_with(_WHOLE if kind == "integer" else _NUMBER, written):
        return False
    try:
        pc.cast(written, _type(kind))
    except pa.ArrowInvalid:
        return False
    return True


def _is_spelled_with(letters: bytes, written: pa.Array) -> bool:
    if not len(written):
        return True
    first = written.offset
    offsets = np.frombuffer(written.buffers()[1], np.int32, first + len(written) + 1)[first:]
    held = written.buffers()[2]
    return held is None or not bytes(held[int(offsets[0]) : int(offsets[-1])]).translate(None, letters)


def _first_unfit(kind: Kind, written: pa.Array) -> int:
    """The first cell that is not of a kind, of which there is one."""
    low, high = 0, len(written)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _fits(kind, written.slice(low, middle - low)) else (low, middle)
    return low


def _line(path: Path, row: int) -> int | None:
    """The line that a row begins on, counted from 1; a row may go over several."""
    before = 0
    try:
        with _opened(path) as file:
            reader = csv.reader(file, strict=True)
            for at, _ in enumerate(reader):
                if at == row + 1:
                    return before + 1
                before = reader.line_num
    except csv.Error:  # a cell that is longer than that module takes
        pass
    return None


def _opened(path: Path) -> io.TextIOWrapper:
    return path.open(encoding="utf-8-sig", newline="")


def _refused(name: str, line: int | None, what: str) -> SampleUnavailable:
    return SampleUnavailable(f"{name}, line {line}: {what}" if line else f"{name}: {what}")


def names_in(path: Path) -> list[str]:
    """Return the names of the columns of a file, whose bytes are looked through: all rules but those for cells."""
    with path.open("rb") as file:
        _check_form(path.name, file)
        file.seek(0)
        head = file.read(BLOCK)
    text = head.removeprefix(_BOM).decode("utf-8", errors="ignore")  # a letter may be cut at the end
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), strict=True), [])
    except csv.Error:
        names = []
    return checked_names(path.name, names)


def checked_names(file: str, names: list[str]) -> list[str]:
    """Names of columns as every engine can tell them apart: at least one, none empty, none twice.

    Errors say which columns, and no name: where the header is missing, its names are a row.

    Examples
    --------
    >>> checked_names("people.csv", ["age", "Age"])
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: people.csv must have a different name for every column (upper and lower case ...
    """
    if not names:
        raise InvalidParameter(f"{file} must have a header line with the names of the columns as its first line")
    places: dict[str, int] = {}
    for at, name in enumerate(names, 1):
        if not name:
            raise InvalidParameter(
                f"{file} must have a name for every column, and column {at} has none; name this column, or leave it out"
            )
        before = places.setdefault(name.lower(), at)
        if before != at:
            raise InvalidParameter(
                f"{file} must have a different name for every column (upper and lower case count as equal), and "
                f"columns {before} and {at} have the same name"
            )
    return names


def _check_form(name: str, file: BinaryIO) -> None:
    """Refuse what is not UTF-8, blank lines, quotation marks inside cells, odd ends of lines: by the bytes alone.

    The number of cells is left to the reader. Two neighbouring bytes, and whether they are between quotation marks,
    decide each rule, so that blocks can be looked at one after the other; the start counts as the start of a line.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    last, inside = b"\n", False
    if file.read(len(_BOM)) != _BOM:
        file.seek(0)
    before = file.tell()

    def refused(position: int, what: str) -> SampleUnavailable:
        return _refused(name, _line_at(file, position), what)

    while block := file.read(BLOCK):
        try:
            decoder.decode(block)
        except UnicodeDecodeError as error:
            raise refused(before + error.start, "is not UTF-8") from None
        if b"\0" in block:
            raise refused(before + block.index(b"\0"), "has the character 0; save the file in UTF-8")
        if problem := _first_problem(last + block, inside):
            raise refused(before + problem[0], problem[1])
        inside ^= bool(block.count(b'"') % 2)
        last = block[-1:]
        before += len(block)
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise refused(before, "is not UTF-8") from None
    if inside:
        raise _refused(name, None, "a quotation mark is opened and never closed")
    if last == b"\r":
        raise refused(before, _LONE_CR)


def _first_problem(data: bytes, inside: bool) -> tuple[int, str] | None:
    """Where bytes behind a first one break a rule, and which; `inside`: between quotation marks after the first."""
    if not inside and b'"' not in data and b"\n\n" not in data and b"\n\r" not in data:
        carriage_returns = data.count(b"\r") - data.endswith(b"\r")
        if not carriage_returns or carriage_returns == data.count(b"\r\n"):
            return None
    every = np.frombuffer(data, np.uint8)
    previous, this = every[:-1], every[1:]
    quotes = np.flatnonzero(this == _QUOTE)
    opening = (np.arange(len(quotes)) + inside) % 2 == 0
    stray = quotes[opening & ~np.isin(previous[quotes], (_LF, _COMMA, _QUOTE))]
    behind = quotes[~opening] + 1
    if not inside and data[0] == _QUOTE:
        behind = np.append(behind, 0)
    behind = behind[behind < len(this)]
    trailing = behind[~np.isin(this[behind], (_LF, _CR, _COMMA, _QUOTE))]

    def outside(places: Any) -> Any:
        where = np.flatnonzero(places)
        return where[(np.searchsorted(quotes, where) + inside) % 2 == 0]

    blank = outside((previous == _LF) & ((this == _LF) | (this == _CR)))
    lone = outside((previous == _CR) & (this != _LF))
    problems = [
        (int(where.min()), what)
        for where, what in ((stray, _STRAY), (trailing, _STRAY), (blank, _BLANK), (lone, _LONE_CR))
        if len(where)
    ]
    return min(problems, default=None)


def _line_at(file: BinaryIO, position: int) -> int:
    """The number of the line that a byte is in."""
    lines = 1
    file.seek(0)
    while position > 0 and (block := file.read(min(position, BLOCK))):
        lines += block.count(b"\n")
        position -= len(block)
    return lines
