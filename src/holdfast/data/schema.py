"""What columns a sample has: names and kinds, declared before the first question and public."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from holdfast import check
from holdfast.errors import InvalidParameter

Kind = Literal["number", "integer", "boolean", "text"]
"""`number` is a double, `integer` a whole number of 64 bits; dates and decimals are none of these."""

KINDS: tuple[Kind, ...] = get_args(Kind)
LONGEST_NAME = 200
LONGEST_VALUE = 1_000
MOST_VALUES = 10_000
MOST_COLUMNS = 10_000


@dataclass(frozen=True)
class Column:
    """One column.

    Parameters
    ----------
    name : str
        As questions spell it, letter for letter. Printable, without quotes, backslashes and backticks, so that it can
        be quoted in every SQL dialect.
    kind : {"number", "integer", "boolean", "text"}
        What its values are.
    values : tuple of str or int, optional
        The categories that are declared in public; text for a text column, whole numbers for an integer one. A row may
        hold others: they count as "other".

    Examples
    --------
    >>> Column("sex", "text", values=("female", "male")).values
    ('female', 'male')
    >>> Column("age", "float")
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: kind of column 'age' must be one of number, integer, boolean, text, got 'float'
    """

    name: str
    kind: Kind
    values: tuple[str, ...] | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= LONGEST_NAME:
            raise InvalidParameter(f"name of a column must be a text of 1 to {LONGEST_NAME} characters")
        if not self.name.isprintable() or self.name != self.name.strip() or set(self.name) & set("\"'`\\"):
            raise InvalidParameter(
                f"name of a column must be printable, without outer spaces, quotes and backslashes, got {self.name!r}"
            )
        check.choice(f"kind of column {self.name!r}", self.kind, KINDS)
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

    def to_dict(self) -> dict[str, Any]:
        """The column as plain data."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind}
        return plain if self.values is None else {**plain, "values": list(self.values)}


def category(what: str, value: Any, kind: Kind) -> str | int | bool:
    """A declared category, checked: what a text, integer or boolean column may be compared with.

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
        raise InvalidParameter(f"{what} cannot be declared for a column of kind {kind}")
    return check.whole(what, value, at_least=1 - 2**53, at_most=2**53 - 1)


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
        raise InvalidParameter(f"{what} must be Unicode text without the character 0")
    return value


class Schema:
    """The columns of a sample in order. Compares and hashes by its columns.

    Parameters
    ----------
    columns : Column, mapping of name to kind, or a list of columns

    Examples
    --------
    >>> schema = Schema({"age": "integer", "income": "number", "sex": "text"})
    >>> schema["age"].kind, "height" in schema, len(schema)
    ('integer', False, 3)
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    __slots__ = ("_by_name", "columns")

    columns: tuple[Column, ...]
    _by_name: dict[str, Column]

    def __init__(self, columns: Mapping[str, Kind] | Iterable[Column]) -> None:
        listed = (
            tuple(Column(name, kind) for name, kind in columns.items())
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
        raise AttributeError("a schema does not change")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a schema does not change")

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema, (self.columns,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order."""
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
        return f"Schema({', '.join(f'{column.name} {column.kind}' for column in self.columns)})"

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain data."""
        return {"columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Schema:
        """The schema that `to_dict` wrote, checked."""
        try:
            columns = [
                Column(entry["name"], entry["kind"], None if entry.get("values") is None else tuple(entry["values"]))
                for entry in plain["columns"]
            ]
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidParameter("schema must have a list of columns, each with name and kind") from error
        return cls(columns)


__all__ = ["KINDS", "Column", "Kind", "Schema", "category", "plain_text"]
