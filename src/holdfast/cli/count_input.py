"""Counts for `holdfast test`: typed, or columns of a CSV or Parquet file with declared categories."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from holdfast.data.fingerprint import Texts
from holdfast.data.sample import Sample
from holdfast.data.statistics.counts import parse_categories
from holdfast.data.tables import table
from holdfast.errors import InvalidParameter, SampleUnavailable


def one_budget(rho: float | None, epsilon: float | None) -> None:
    """Refuse both, or none, in the words of the command line.

    Examples
    --------
    >>> one_budget(0.1, 1.0)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: give a privacy budget, either --epsilon or --rho, and not both
    """
    if (rho is None) == (epsilon is None):
        raise InvalidParameter("give a privacy budget, either --epsilon or --rho, and not both")


def numbers(name: str, text: str) -> list[float]:
    """`10,20,30` as numbers; whole ones stay whole.

    Examples
    --------
    >>> numbers("--counts", "10, 20,1/6")
    [10, 20, 0.16666666666666666]
    """
    parsed: list[float] = []
    for part in text.split(","):
        top, slash, bottom = part.strip().partition("/")
        try:
            value = float(top) / float(bottom) if slash else float(top)
        except (ValueError, ZeroDivisionError):
            raise InvalidParameter(f"{name} must be numbers separated by commas, got {part.strip()!r}") from None
        parsed.append(int(value) if value.is_integer() else value)
    return parsed


def rows(name: str, text: str) -> list[list[float]]:
    """`255,193;301,251` as the rows of a table.

    Examples
    --------
    >>> rows("--counts", "255,193;301,251")
    [[255, 193], [301, 251]]
    """
    table = [numbers(name, part) for part in text.split(";")]
    if len(table) < 2 or len({len(row) for row in table}) != 1:
        raise InvalidParameter(f"{name} must be rows of equal length separated by semicolons, as in 10,20;30,40")
    return table


def words(name: str, text: str) -> list[str]:
    """`a,b,c`, or a JSON list, as categories that are compared with values as they print.

    Examples
    --------
    >>> words("--categories", "yes, no"), words("--categories", "[0, 1]")
    (['yes', 'no'], ['0', '1'])
    """
    categories = [str(value) for value in parse_categories(text, "text")] if text.strip() else []
    if len(categories) < 2 or len(set(categories)) != len(categories):
        raise InvalidParameter(f"{name} must be at least two different names separated by commas")
    return categories


def each_list(texts: Sequence[str]) -> list[str]:
    """Return the list of each column: every list given alone, or several in one text with semicolons between them.

    Examples
    --------
    >>> each_list(["a,b;x,y"]) == each_list(["a,b", "x,y"]) == ["a,b", "x,y"]
    True
    """
    return [part for text in texts for part in ([text] if text.strip().startswith("[") else text.split(";"))]


def one_of(name: str, text: str, categories: Sequence[str]) -> str:
    """Return a declared category.

    Examples
    --------
    >>> one_of("--other", " no", ["yes", "no"])
    'no'
    """
    choice = text.strip()
    if choice not in categories:
        raise InvalidParameter(f"{name} must be one of the declared categories {', '.join(categories)}, got {choice!r}")
    return choice


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
            f"{name} must be {len(categories)} categories separated by semicolons, one for each column (a column that "
            f"needs none has an empty place), got {text!r}"
        )
    return [one_of(name, part, known) if part.strip() else None for part, known in zip(parts, categories, strict=True)]


def declared(path: Path) -> dict[str, list[str]]:
    """Columns and their categories from a JSON file: `{"sex": ["Male", "Female"], ...}`."""
    try:
        categories = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise InvalidParameter(
            f"{path} must contain JSON: an object that maps each column to the list of its categories"
        ) from None
    if not isinstance(categories, dict) or not all(isinstance(v, list) and len(v) >= 2 for v in categories.values()):
        raise InvalidParameter(
            f"{path} must contain a JSON object that maps each column to a list of at least two categories"
        )
    return {name: [str(value) for value in values] for name, values in categories.items()}


def columns(paths: Sequence[Path], names: Sequence[str]) -> dict[str, list[str | None]]:
    """Columns of files, one after the other, as text; a missing value stays None.

    Files are opened by `data.table` (docs/data.md). Cells of a CSV file are taken as they are written, and values of a
    Parquet file as they print, so that the number 1 there is the category `1`.
    """
    values: dict[str, list[str | None]] = {name: [] for name in names}
    for path in paths:
        if not path.is_file():
            raise SampleUnavailable(f"the file {path} does not exist or cannot be read")
        written = path.suffix.lower() == ".csv"
        try:
            with table(path, schema=dict.fromkeys(names, "text") if written else None) as sample:
                for name in names:
                    if name not in sample.schema:
                        raise InvalidParameter(
                            f"{path.name} must have a column {name!r} of numbers, truth values or texts; it has "
                            f"{', '.join(map(repr, sample.schema.names[:50]))}"
                        )
                _add(values, sample)
        except SampleUnavailable as error:
            raise InvalidParameter(str(error)) from None
    return values


def _add(values: dict[str, list[str | None]], sample: Sample) -> None:
    for batch in sample.batches(list(values)):
        for name, (read, missing) in batch.items():
            texts = [read.distinct[code] for code in read.codes] if isinstance(read, Texts) else map(str, read.tolist())
            gone = [False] * len(read) if missing is None else missing.tolist()
            values[name] += [None if absent else text for text, absent in zip(texts, gone, strict=True)]
