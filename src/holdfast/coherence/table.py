"""Named NumPy columns of equal length: what curators release and predictors see.

Rows keep their order. Numbers and truth values stay as they are (NaN means missing); anything else becomes text (None
means missing). Files are read by `holdfast.data` (docs/data.md), and conditions on rows are its expressions
(docs/expressions.md).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data import schema as schemas
from holdfast.data.expressions import expression, numpy_columns, tree
from holdfast.data.fingerprint import Texts
from holdfast.data.sample import Sample
from holdfast.data.schema import Kind, Schema
from holdfast.errors import InvalidParameter

Column = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table of named columns of equal length. Make one with `Table.of`.

    Examples
    --------
    >>> people = Table.of({"age": [30, 41], "town": ["A", None]})
    >>> people
    Table(2 rows: age, town)
    >>> people["age"].tolist(), people.select(["town"]).names
    ([30, 41], ('town',))
    >>> people["income"]
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: column 'income' is not in the table, which has age, town
    """

    columns: Mapping[str, Column]
    rows: int
    booleans: frozenset[str] = frozenset()
    """Columns of truth values of which some are missing: they are held as 1, 0 and NaN."""

    @classmethod
    def of(cls, data: Any, name: str = "data") -> Table:
        """Make a table from a `data.Sample`, a mapping of columns, a data frame, a structured array or a Table."""
        if isinstance(data, Table):
            return data
        if isinstance(data, Sample):
            return cls._of_sample(data)
        if isinstance(data, np.ndarray) and data.dtype.names:
            given = {str(c): data[c] for c in data.dtype.names}
        elif isinstance(data, Mapping) or (hasattr(data, "columns") and hasattr(data, "__getitem__")):
            keys = list(data) if isinstance(data, Mapping) else list(data.columns)
            given = {str(c): data[c] for c in keys}
        else:
            raise InvalidParameter(
                f"{name} must be a table: a sample of holdfast.data, a mapping of columns, a data frame or a "
                f"structured array, got a {type(data).__name__}"
            )
        columns = {key: column(values) for key, values in given.items()}
        lengths = {len(values) for values in columns.values()}
        if len(lengths) != 1:
            raise InvalidParameter(f"{name} must have at least one column, and columns of equal length")
        truth = frozenset(key for key, values in columns.items() if values.dtype.kind == "f" and _has_truth(given[key]))
        return cls(columns, lengths.pop(), truth)

    @classmethod
    def read(cls, path: str | Path, like: Table | None = None) -> Table:
        """Read a .csv or .parquet file with `data.table`, following the rules of docs/data.md.

        A column of a CSV file is read as text if the same column of `like` is text, whatever its cells contain.
        """
        from holdfast.data.tables import table

        with table(path) as sample:
            kinds = {column.name: column.kind for column in sample.schema}
            text = [name for name, kind in kinds.items() if like is not None and like.is_text(name) and kind != "text"]
            if not text or Path(path).suffix.lower() != ".csv":
                return cls._of_sample(sample)
        declared: dict[str, str] = {**kinds, **dict.fromkeys(text, "text")}
        with table(path, schema=declared) as sample:
            return cls._of_sample(sample)

    @classmethod
    def _of_sample(cls, sample: Sample) -> Table:
        """Read every column of a sample once, in the order in which its engine hands over the rows."""
        names = sample.schema.names

        def add(parts: dict[str, list[Column]], batch: Any) -> dict[str, list[Column]]:
            for name in names:
                parts[name].append(_held(*batch[name]))
            return parts

        def start() -> dict[str, list[Column]]:
            return {name: [] for name in names}

        read = sample.fold(names, start, add)
        columns = {name: np.concatenate(parts) for name, parts in read.items()}
        truth = (c.name for c in sample.schema if c.kind == "boolean" and columns[c.name].dtype.kind == "f")
        return cls(columns, sample.n, frozenset(truth))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    def __getitem__(self, name: str) -> Column:
        try:
            return self.columns[name]
        except KeyError:
            raise missing_column(name, self.names) from None

    def __len__(self) -> int:
        return self.rows

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def take(self, index: Any) -> Table:
        """Return a copy of the rows that `index` names, by numbers or by truth values."""
        taken = {name: values[index] for name, values in self.columns.items()}
        return Table(taken, len(next(iter(taken.values()))), self.booleans)

    def copy(self) -> Table:
        """Return a copy of the table whose columns share no memory with it."""
        return Table({name: values.copy() for name, values in self.columns.items()}, self.rows, self.booleans)

    def select(self, names: Iterable[str]) -> Table:
        """Return a table of only these columns, in this order."""
        return Table({name: self[name] for name in names}, self.rows, self.booleans)

    def with_column(self, name: str, values: Any) -> Table:
        """Return a table with one column added or replaced."""
        added = Table.of({name: values})
        if added.rows != self.rows:
            raise InvalidParameter(f"column {name!r} must have {self.rows} values, got {added.rows}")
        return Table({**self.columns, **added.columns}, self.rows, (self.booleans - {name}) | added.booleans)

    def hide(self, seen: Iterable[str]) -> Table:
        """Return the table as seen through a lens: all values are missing in every column that is not in `seen`."""
        keep = set(seen)
        columns = {c: values if c in keep else blank(values) for c, values in self.columns.items()}
        return Table(columns, self.rows, self.booleans)

    def is_text(self, name: str) -> bool:
        """Return whether there is a column with this name that holds text."""
        return name in self.columns and self.columns[name].dtype.kind == "O"

    def is_boolean(self, name: str) -> bool:
        """Return whether there is a column with this name that holds truth values."""
        return name in self.columns and (name in self.booleans or self.columns[name].dtype.kind == "b")

    def schema(self) -> Schema:
        """Return the columns that expressions can name, each with its kind.

        Examples
        --------
        >>> Table.of({"age": [30, 41], "ill": [True, None], "town": ["A", None]}).schema()
        Schema(age integer, ill boolean, town text)
        """
        columns = []
        for name in self.columns:
            try:
                columns.append(schemas.Column(name, self._kind(name)))
            except InvalidParameter:  # a name that no expression can spell
                continue
        return Schema(columns)

    def where(self, rule: str | tree.Node) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Evaluate a condition, written as an expression, for each row: where it is true, and where it is NULL.

        Examples
        --------
        >>> people = Table.of({"sex": ["f", "m", None], "age": [70, 30, 20]})
        >>> [mask.tolist() for mask in people.where("sex = 'f' and age >= 65")]
        [[True, False, False], [False, False, False]]
        >>> [mask.tolist() for mask in people.where("sex = 'f'")]
        [[True, False, False], [False, False, True]]
        """
        checked = expression(rule, self.schema())
        if checked.kind != "boolean":
            raise InvalidParameter(
                f"a condition must be true or false for each row, but this expression gives a {checked.kind}"
            )
        read = {name: self._values(name) for name in checked.columns}
        truth = numpy_columns.evaluate(checked, read, self.rows)
        null = np.zeros(self.rows, dtype=bool) if truth.null is None else np.asarray(truth.null)
        return truth.array & ~null, null

    def _kind(self, name: str) -> Kind:
        if self.is_boolean(name):
            return "boolean"
        kinds: dict[str, Kind] = {"O": "text", "f": "number"}
        return kinds.get(self.columns[name].dtype.kind, "integer")

    def _values(self, name: str) -> numpy_columns.Values:
        values = self.columns[name]
        column = schemas.Column(name, self._kind(name))
        if name in self.booleans:
            return numpy_columns.read(column, values == 1, np.isnan(values))
        return numpy_columns.read(column, values)

    def to_pandas(self) -> Any:
        """Return the table as a pandas data frame."""
        import pandas

        return pandas.DataFrame(dict(self.columns))

    def write_csv(self, path: str | Path) -> None:
        """Write a CSV file that `data.table` can read back.

        The file has a header line. Truth values are written as `true` and `false`, and missing values as empty cells.
        """
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.names)
            cells = [_texts(values, self.is_boolean(name)) for name, values in self.columns.items()]
            writer.writerows(zip(*cells, strict=True))

    def __repr__(self) -> str:
        return f"Table({self.rows} rows: {', '.join(self.names)})"


def missing_column(name: str, names: Iterable[str]) -> InvalidParameter:
    """Return the error for a column that is not there."""
    return InvalidParameter(f"column {name!r} is not in the table, which has {', '.join(names)}")


def column(values: Any) -> Column:
    """One column: numbers as they are, anything else as text with None for missing."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidParameter("each column must be a list of values, one for each row")
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind in "US":
        return array.astype(str).astype(object)
    if array.dtype.kind in "mM":
        items = [None if v == "NaT" else v for v in array.astype(str).tolist()]
        return np.array([*items, None], dtype=object)[:-1]
    items = [None if _gone(v) else v for v in array.tolist()]
    types = {type(v) for v in items} - {type(None)}
    if types == {bool} and None not in items:
        return np.array(items, dtype=np.bool_)
    if types == {bool} or (types and all(issubclass(t, (int, float)) and t is not bool for t in types)):
        return np.array([np.nan if v is None else v for v in items], dtype=np.float64)
    out = np.empty(len(items), dtype=object)
    out[:] = [None if v is None else str(v) for v in items]
    return out


def missing(values: Column) -> NDArray[np.bool_]:
    """Return which values are missing."""
    if values.dtype.kind == "O":
        return np.array([v is None for v in values], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def blank(values: Column) -> Column:
    """Return a column of the same kind in which everything is missing."""
    if values.dtype.kind == "O":
        return np.full(len(values), None, dtype=object)
    return np.full(len(values), np.nan)


def _gone(value: Any) -> bool:
    return (
        value is None
        or value is np.ma.masked
        or (isinstance(value, float) and value != value)
        or (type(value).__name__ in ("NAType", "NaTType"))
    )


def _has_truth(given: Any) -> bool:
    """Whether a column that became numbers was given as truth values with some missing."""
    return any(isinstance(v, (bool, np.bool_)) for v in np.asarray(given).tolist() if not _gone(v))


def _held(values: NDArray[Any] | Texts, gone: NDArray[np.bool_] | None) -> Column:
    """One column of one batch of a sample as it is held here."""
    if isinstance(values, Texts):
        held: Column = np.array([*values.distinct, None], dtype=object)[:-1][values.codes]
        if gone is not None:
            held[gone] = None
        return held
    if gone is None or not gone.any():
        return values
    return np.where(gone, np.nan, values.astype(np.float64))


def _texts(values: Column, boolean: bool) -> list[str]:
    gone = missing(values)
    if boolean:
        values = np.array(["false", "true"], dtype=object)[np.where(gone, 0, values).astype(np.intp)]
    return ["" if g else str(v) for v, g in zip(values.tolist(), gone.tolist(), strict=True)]
