"""Which columns of a source questions can use, and with what kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.data.schema import Kind, Schema
from holdfast.errors import InvalidParameter

Found = Mapping[str, Kind | None]
"""Columns of a source in order; None for a type that no kind stands for."""

Declared = Schema | Mapping[str, Kind] | None


def settled(found: Found, declared: Declared, types: Mapping[str, Any]) -> Schema:
    """The schema of a sample: what was declared, checked against what is there; by default all columns that fit.

    Parameters
    ----------
    found : mapping
        Kinds of the columns that the source has.
    declared : Schema or mapping, optional
        The columns that questions may use. A column of whole numbers may be declared a number.
    types : mapping
        What the source calls the types, for errors.

    Examples
    --------
    >>> settled({"age": "integer", "born": None}, None, {})
    Schema(age integer)
    >>> settled({"age": "integer", "born": None}, {"born": "text"}, {"born": "date"})
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: schema must leave out column 'born', which is a date; make it a double, ...
    """
    if declared is None:
        usable: dict[str, Kind] = {name: kind for name, kind in found.items() if kind is not None}
        if not usable:
            raise InvalidParameter("source must have a column of numbers, truth values or texts, and has none")
        return Schema(usable)
    schema = declared if isinstance(declared, Schema) else Schema(declared)
    for column in schema:
        if column.name not in found:
            raise InvalidParameter(f"schema must name columns of the source, got {column.name!r}")
        kind = found[column.name]
        if kind is None:
            raise InvalidParameter(
                f"schema must leave out column {column.name!r}, which is a {types.get(column.name)}; make it a double, "
                "a whole number of 64 bits, a truth value or a text where the data are kept"
            )
        if kind != column.kind and not (kind == "integer" and column.kind == "number"):
            raise InvalidParameter(f"schema must give column {column.name!r} the kind {kind}, got {column.kind}")
    return schema


__all__ = ["Declared", "Found", "settled"]
