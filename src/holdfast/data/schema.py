"""What columns a sample has: names, kinds, and whether values may be missing. Public, and known before any question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, get_args

import numpy as np

from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Schema -----------------------------------------------------------------------------------------------------------

Kind = Literal["number", "integer", "boolean", "text", "date", "timestamp", "timestamptz"]
"""`number` is a double, also for decimals, `integer` a whole number of 64 bits; a `timestamptz` has a time zone."""

KINDS: tuple[Kind, ...] = get_args(Kind)
LONGEST_NAME = 200
LONGEST_VALUE = 1_000
MOST_VALUES = 10_000
MOST_COLUMNS = 10_000


@dataclass(frozen=True)
class Column:
    """One column of a schema: its name, its kind, and what is declared about its values.

    Parameters
    ----------
    name : str
        As questions spell it, letter for letter. Printable, without quotes, backslashes and backticks, so that it can
        be quoted in every SQL dialect.
    kind : {"number", "integer", "boolean", "text", "date", "timestamp", "timestamptz"}
        What its values are. A `timestamp` is a day and a time without a zone, a `timestamptz` a moment, seen in UTC.
    values : tuple of str or int, optional
        The categories that are declared in public; text for a text column, whole numbers for an integer one. A row may
        hold others: they count as "other".
    nullable : bool, optional
        Whether some row may have no value here. False is checked when the sample is opened, and a question about the
        column need not say what a missing value means. None where it was not declared: it is found out when the sample
        is opened, by counting, and until then values may be missing.

    Examples
    --------
    >>> Column("sex", "text", values=("female", "male")).values
    ('female', 'male')
    >>> Column("age", "integer", nullable=False).may_be_missing, Column("age", "integer").may_be_missing
    (False, True)
    >>> Column("age", "float")
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: kind of column 'age' must be one of number, integer, boolean, text, date, ...
    """

    name: str
    kind: Kind
    values: tuple[str, ...] | tuple[int, ...] | None = None
    nullable: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= LONGEST_NAME:
            raise InvalidParameter(f"name of a column must be a text of 1 to {LONGEST_NAME} characters")
        if not self.name.isprintable() or self.name != self.name.strip() or set(self.name) & set("\"'`\\"):
            raise InvalidParameter(
                f"name of a column must be printable, without outer spaces, quotes and backslashes, got {self.name!r}"
            )
        arguments.choice(f"kind of column {self.name!r}", self.kind, KINDS)
        if self.nullable not in (None, True, False):
            raise InvalidParameter(f"nullable of column {self.name!r} must be true, false or left out")
        if self.values is not None:
            object.__setattr__(self, "values", self._checked_values(self.values))

    def _checked_values(self, values: Any) -> tuple[Any, ...]:
        what = f"values of column {self.name!r}"
        if self.kind not in ("text", "integer"):
            raise InvalidParameter(f"{what} must be left out: only text and integer columns declare categories")
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise InvalidParameter(f"{what} must be a list")
        listed = tuple(values)
        if not 0 < len(listed) <= MOST_VALUES:
            raise InvalidParameter(f"{what} must be a list of 1 to {MOST_VALUES}, got {len(listed)}")
        checked = tuple(category(what, value, self.kind) for value in listed)
        if len(set(checked)) != len(checked):
            raise InvalidParameter(f"{what} must be different from each other")
        return checked

    @property
    def may_be_missing(self) -> bool:
        """Whether rows may have no value in this column. This is assumed unless the schema says `not null`."""
        return self.nullable is not False

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain data."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind}
        plain |= {} if self.values is None else {"values": list(self.values)}
        return plain if self.nullable is None else {**plain, "nullable": self.nullable}


def _declared(name: str, words: Any) -> Column:
    """A column as a mapping declares it: its kind, and after it `null` or `not null` as in SQL."""
    parts = words.split(" ", 1) if isinstance(words, str) else [words]
    stated = {"null": True, "not null": False}.get(" ".join(parts[1].split()).lower()) if len(parts) == 2 else None
    if len(parts) == 2 and stated is None:
        raise InvalidParameter(
            f"kind of column {name!r} must be one of {', '.join(KINDS)}, which `null` or `not null` may follow, got "
            f"{words[:60]!r}"
        )
    return Column(name, parts[0], nullable=stated)  # type: ignore[arg-type]  # the column checks its kind


def column_words(plain: Mapping[str, Any]) -> str:
    """Return a column as `to_dict` wrote it, in words: its name, its kind, and whether values may be missing.

    Examples
    --------
    >>> column_words(Column("age", "integer", nullable=False).to_dict()), column_words({"name": "sex", "kind": "text"})
    ('age integer', 'sex text (nullable)')
    """
    return f"{plain['name']} {plain['kind']}{'' if plain.get('nullable') is False else ' (nullable)'}"


def category(what: str, value: Any, kind: Kind) -> str | int | bool:
    """Return a declared category, checked: what a text, integer or boolean column may be compared with.

    Whole numbers end below 2**53, so that no other whole number becomes the same double.

    Examples
    --------
    >>> category("categories", 3, "integer"), category("categories", "a", "text")
    (3, 'a')
    """
    if kind == "text":
        return plain_text(what, value)
    if kind == "boolean":
        if not isinstance(value, bool):
            raise InvalidParameter(f"{what} must be true or false for a boolean column")
        return value
    if kind != "integer":
        raise InvalidParameter(f"{what} must be left out for a column of kind {kind}")
    return arguments.whole(what, value, at_least=1 - 2**53, at_most=2**53 - 1)


def plain_text(what: str, value: Any) -> str:
    """A text that every engine can hold: Unicode without the character 0 and without lone surrogates, not too long.

    Examples
    --------
    >>> plain_text("text", "Zürich")
    'Zürich'
    """
    if not isinstance(value, str) or len(value) > LONGEST_VALUE:
        raise InvalidParameter(f"{what} must be a text of at most {LONGEST_VALUE} characters")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidParameter(f"{what} must be a text in valid Unicode without the character 0")
    return value


class Schema:
    """The columns of a data set, in order. Schemas with equal columns are equal and have the same hash.

    Parameters
    ----------
    columns : mapping of name to kind, or a list of columns
        In a mapping a kind may be followed by `not null`, where every row has a value, or by `null`, where some may
        have none, as in SQL: `"integer not null"`.

    Examples
    --------
    >>> schema = Schema({"age": "integer not null", "income": "number null", "sex": "text"})
    >>> schema["age"].kind, "height" in schema, len(schema)
    ('integer', False, 3)
    >>> schema
    Schema(age integer, income number (nullable), sex text)
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    __slots__ = ("_by_name", "columns")

    columns: tuple[Column, ...]
    _by_name: dict[str, Column]

    def __init__(self, columns: Mapping[str, str] | Iterable[Column]) -> None:
        listed = (
            tuple(_declared(name, kind) for name, kind in columns.items())
            if isinstance(columns, Mapping)
            else tuple(columns)
        )
        if not 0 < len(listed) <= MOST_COLUMNS or not all(isinstance(column, Column) for column in listed):
            raise InvalidParameter(f"columns must be a list of 1 to {MOST_COLUMNS} columns")
        by_name = {column.name: column for column in listed}
        if len(by_name) != len(listed):
            raise InvalidParameter("columns must have different names")
        object.__setattr__(self, "columns", listed)
        object.__setattr__(self, "_by_name", by_name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a schema cannot be changed; make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a schema cannot be changed; make a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema, (self.columns,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> Column:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash(self.columns)

    def __repr__(self) -> str:
        columns = (f"{c.name} {c.kind}{' (nullable)' if c.nullable else ''}" for c in self.columns)
        return f"Schema({', '.join(columns)})"

    def with_nulls(self, nullable: Mapping[str, bool]) -> Schema:
        """Return the same schema, with the given facts about missing values filled in for columns that do not declare
        them.

        Examples
        --------
        >>> Schema({"age": "integer", "sex": "text"}).with_nulls({"age": False, "sex": True})
        Schema(age integer, sex text (nullable))
        """
        return Schema([replace(c, nullable=nullable.get(c.name, c.nullable)) for c in self.columns])

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data."""
        return {"columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Schema:
        """Make a schema from the plain data that `to_dict` returned, and check it."""
        try:
            columns = [
                Column(
                    entry["name"],
                    entry["kind"],
                    None if entry.get("values") is None else tuple(entry["values"]),
                    entry.get("nullable"),
                )
                for entry in plain["columns"]
            ]
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidParameter(
                "schema must be an object with a list of columns, each with a name and a kind"
            ) from error
        return cls(columns)


# --- Kinds ------------------------------------------------------------------------------------------------------------
# Which columns of a source questions can use, and with what kind.

Found = Mapping[str, Kind | None]
"""Columns of a source in order; None for a type that no kind stands for."""

Declared = Schema | Mapping[str, str] | None
_NAMED = 20
"""Columns that an error names at most."""


_WIDER: Mapping[Kind, tuple[Kind, ...]] = {"integer": ("number", "text"), "timestamp": ("timestamptz",)}
"""What else a column of a kind may be declared to be."""


def settled(found: Found, declared: Declared, types: Mapping[str, Any]) -> Schema:
    """Return the schema of a sample: what was declared, checked against what is there; by default all columns that fit.

    Parameters
    ----------
    found : mapping
        Kinds of the columns that the source has.
    declared : Schema or mapping, optional
        The columns that questions may use. A column of whole numbers may be declared a number, or a text, which keeps
        the digits that a double has no room for; a timestamp without a zone may be declared one of UTC.
    types : mapping
        What the source calls the types, for errors.

    Examples
    --------
    >>> settled({"age": "integer", "born": None}, None, {})
    Schema(age integer)
    >>> settled({"age": "integer", "stay": None}, {"stay": "text"}, {"stay": "interval"})
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: schema must not have column 'stay', whose type interval cannot be
    read; leave it out, ...
    """
    if declared is None:
        usable: dict[str, Kind] = {name: kind for name, kind in found.items() if kind is not None}
        if not usable:
            raise InvalidParameter("source must have a column of numbers, truth values, texts or dates, and has none")
        return Schema(usable)
    schema = declared if isinstance(declared, Schema) else Schema(declared)
    for column in schema:
        if column.name not in found:
            names = ", ".join(map(repr, list(found)[:_NAMED])) + (", ..." if len(found) > _NAMED else "")
            raise InvalidParameter(
                f"schema must name columns of the source, got {column.name!r}; the source has {names}"
            )
        kind = found[column.name]
        if kind is None:
            raise InvalidParameter(
                f"schema must not have column {column.name!r}, whose type {types.get(column.name)} cannot be read; "
                "leave it out, or change the data so that the column is a double, a whole number of 64 bits, a "
                "decimal, a truth value, a text, a date, or a timestamp in microseconds"
            )
        if kind != column.kind and column.kind not in _WIDER.get(kind, ()):
            raise InvalidParameter(
                f"schema must declare column {column.name!r} with the kind {kind}, which it has in the source, got "
                f"{column.kind}"
            )
    return schema


def of_one_kind(name: str, values: Any) -> Any:
    """Return a column as it was given; where it is a list, so that every engine takes it for the same: None is missing.

    Whole numbers among others become numbers, and so do decimals; timestamps with a zone are moved to UTC.

    Examples
    --------
    >>> of_one_kind("x", [1, 2.5, None])
    [1.0, 2.5, None]
    >>> of_one_kind("x", [1, "a"])
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: column 'x' must have only numbers, only truth values or only texts, and has
    several of these
    """
    listed = values
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "OU":
        listed = values.tolist()  # None where it is masked
    elif isinstance(values, np.ndarray) and values.dtype.kind == "O":
        listed = values.tolist()
    if not isinstance(listed, (list, tuple)):
        return values
    types = {type(value) for value in listed} - {type(None)}
    kinds = {_kind_of(type_) for type_ in types}
    if None in kinds:
        return values
    if "timestamp" in kinds:
        listed = [_without_local_zone(value) for value in listed]
        zoned = {value.tzinfo is not None for value in listed if isinstance(value, datetime)}
        if len(zoned) > 1:
            raise InvalidParameter(
                f"column {name!r} must have either only timestamps with a time zone or only timestamps without one, "
                "and has both"
            )
    if Decimal in types:
        return [None if value is None else float(value) for value in listed]
    if any(issubclass(type_, np.generic) for type_ in types):
        listed = [value.item() if isinstance(value, np.generic) else value for value in listed]
    if kinds == {"integer"} and not all(value is None or -(2**63) <= value < 2**63 for value in listed):
        raise InvalidParameter(f"column {name!r} must have whole numbers that fit into 64 bits")
    if len(kinds) < 2:
        return listed
    if kinds != {"integer", "number"}:
        raise InvalidParameter(
            f"column {name!r} must have only numbers, only truth values or only texts, and has several of these"
        )
    try:
        return [None if value is None else float(value) for value in listed]
    except OverflowError:
        raise InvalidParameter(
            f"column {name!r} must have numbers that fit into a double-precision floating-point number"
        ) from None


def _without_local_zone(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value


def _kind_of(type_: type) -> Kind | None:
    """The kind of a value of Python or NumPy; None for anything else, which is for the engine to refuse."""
    kinds: tuple[tuple[Kind, tuple[type, ...]], ...] = (
        ("boolean", (bool, np.bool_)),
        ("integer", (int, np.integer)),
        ("number", (float, np.floating, Decimal)),
        ("text", (str,)),
        ("timestamp", (datetime,)),
        ("date", (date,)),
    )
    return next((kind for kind, types in kinds if issubclass(type_, types)), None)
