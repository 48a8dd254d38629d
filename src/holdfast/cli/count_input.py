"""Counts for `holdfast test`: typed, or columns of a CSV or Parquet file with declared categories."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError, InvalidParameter, NotInstalled, SampleUnavailable

READ_HINT = "reading Parquet needs polars or pyarrow: `pip install 'holdfast[frames]'`"


def one_budget(rho: float | None, epsilon: float | None) -> None:
    """Refuse both, or none, in the words of the command line.

    Examples
    --------
    >>> one_budget(0.1, 1.0)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: give exactly one of --epsilon and --rho
    """
    if (rho is None) == (epsilon is None):
        raise InvalidParameter("give exactly one of --epsilon and --rho")


def numbers(name: str, text: str) -> list[float]:
    """`10,20,30` as numbers; whole ones stay whole.

    Examples
    --------
    >>> numbers("--counts", "10, 20,1/6")
    [10, 20, 0.16666666666666666]
    """
    found: list[float] = []
    for part in text.split(","):
        top, slash, bottom = part.strip().partition("/")
        try:
            value = float(top) / float(bottom) if slash else float(top)
        except (ValueError, ZeroDivisionError):
            raise InvalidParameter(f"{name} must be numbers with commas between them, got {part.strip()!r}") from None
        found.append(int(value) if value.is_integer() else value)
    return found


def rows(name: str, text: str) -> list[list[float]]:
    """`255,193;301,251` as the rows of a table.

    Examples
    --------
    >>> rows("--counts", "255,193;301,251")
    [[255, 193], [301, 251]]
    """
    found = [numbers(name, part) for part in text.split(";")]
    if len(found) < 2 or len({len(row) for row in found}) != 1:
        raise InvalidParameter(f"{name} must be rows of equal length with semicolons between them, as in 10,20;30,40")
    return found


def words(name: str, text: str) -> list[str]:
    """`a,b,c` as categories.

    Examples
    --------
    >>> words("--categories", "yes, no")
    ['yes', 'no']
    """
    found = [part.strip() for part in text.split(",")]
    if len(found) < 2 or len(set(found)) != len(found) or "" in found:
        raise InvalidParameter(f"{name} must be at least two different names with commas between them")
    return found


def one_of(name: str, text: str, categories: Sequence[str]) -> str:
    """A declared category.

    Examples
    --------
    >>> one_of("--other", " no", ["yes", "no"])
    'no'
    """
    found = text.strip()
    if found not in categories:
        raise InvalidParameter(f"{name} must be one of the declared categories {', '.join(categories)}, got {found!r}")
    return found


def one_of_each(name: str, text: str | None, categories: Sequence[Sequence[str]]) -> list[str | None]:
    """`c;y` as a declared category of each column; an empty part is none.

    Examples
    --------
    >>> one_of_each("--other", ";y", [["a", "b"], ["x", "y"]])
    [None, 'y']
    """
    if text is None:
        return [None] * len(categories)
    parts = text.split(";")
    if len(parts) != len(categories) or not any(part.strip() for part in parts):
        raise InvalidParameter(
            f"{name} must be {len(categories)} categories with semicolons between them, one a column; a column that "
            f"needs none may be empty; got {text!r}"
        )
    return [one_of(name, part, known) if part.strip() else None for part, known in zip(parts, categories, strict=True)]


def declared(path: Path) -> dict[str, list[str]]:
    """Columns and their categories from a JSON file: `{"sex": ["Male", "Female"], ...}`."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise InvalidParameter(f"{path} must be JSON: an object from columns to lists of their categories") from None
    if not isinstance(found, dict) or not all(isinstance(v, list) and len(v) >= 2 for v in found.values()):
        raise InvalidParameter(f"{path} must be an object from columns to lists of at least two categories")
    return {name: [str(value) for value in values] for name, values in found.items()}


def columns(paths: Sequence[Path], names: Sequence[str]) -> dict[str, list[Any]]:
    """Columns of files, one after the other, as text; a missing value stays None.

    Values are compared with the declared categories as they print, so `1` in Parquet is the category `1`.
    """
    found: dict[str, list[Any]] = {name: [] for name in names}
    for path in paths:
        if not path.is_file():
            raise SampleUnavailable(f"there is no file {path}, or it cannot be read")
        part = _parquet(path, names) if path.suffix in (".parquet", ".pq") else _csv(path, names)
        for name in names:
            found[name] += part[name]
    return found


def text(value: Any) -> str | None:
    """A value as it prints."""
    return None if value is None else str(value)


def _csv(path: Path, names: Sequence[str]) -> dict[str, list[Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            places = [_place(path, header, name) for name in names]
            found: dict[str, list[Any]] = {name: [] for name in names}
            for row in reader:
                if not row:
                    continue
                for name, place in zip(names, places, strict=True):
                    found[name].append(row[place].strip() if place < len(row) else None)
    except (UnicodeDecodeError, csv.Error):
        raise InvalidParameter(f"{path} must be a CSV file in UTF-8 with a header") from None
    return found


def _parquet(path: Path, names: Sequence[str]) -> dict[str, list[Any]]:
    try:
        header, read = _reader(path)
    except (HoldfastError, OSError):
        raise
    except Exception:  # each reader has its own errors, and their texts may hold values
        raise InvalidParameter(f"{path} must be a Parquet file") from None
    for name in names:
        _place(path, header, name)
    return {name: [text(value) for value in read(name)] for name in names}


def _reader(path: Path) -> tuple[list[str], Any]:
    """The header, and a function that reads one column, by whichever package is there."""
    try:
        import polars
    except ImportError:
        pass
    else:
        frame = polars.scan_parquet(path)
        return frame.collect_schema().names(), lambda name: frame.select(name).collect()[name].to_list()
    try:
        import pyarrow.parquet as parquet  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise NotInstalled(READ_HINT, name="polars") from None
    return parquet.read_schema(path).names, lambda name: parquet.read_table(path, columns=[name])[name].to_pylist()


def _place(path: Path, header: Sequence[str], name: str) -> int:
    if name not in header:
        raise InvalidParameter(f"{path} has no column {name!r}; it has {', '.join(map(repr, header[:50]))}")
    return list(header).index(name)


__all__ = ["columns", "declared", "numbers", "one_of", "one_of_each", "rows", "text", "words"]
