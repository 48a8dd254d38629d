"""The row-expression language: small, total, and the same to the last bit on every engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.data.expressions import tree
from holdfast.data.expressions.checking import Expression, checked
from holdfast.data.expressions.parsing import parse, to_text
from holdfast.data.expressions.tree import from_json, to_json
from holdfast.data.schema import Schema


def expression(source: str | Mapping[str, Any] | float | tree.Node | Expression, schema: Schema) -> Expression:
    """Read an expression in any form and check it against a schema, before any row is touched.

    Parameters
    ----------
    source : str, JSON data, tree, or a checked expression
        Text such as `"income > 50000 and age < 30"`, the same in the JSON form, or a tree.
    schema : Schema
        The columns there are.

    Raises
    ------
    InvalidParameter
        Anything that is not an expression of the language over this schema.

    Examples
    --------
    >>> schema = Schema({"age": "integer", "income": "number"})
    >>> expression("income > 50000 and age < 30", schema).kind
    'boolean'
    >>> expression("read_text('/etc/passwd')", schema)
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: expression must use the functions abs, ..., year, got 'read_text'
    """
    if isinstance(source, Expression):
        return checked(source.node, schema)
    if isinstance(source, str):
        return checked(parse(source), schema)
    if isinstance(source, tree.Node):
        return checked(source, schema)
    return checked(from_json(source), schema)


__all__ = ["Expression", "checked", "expression", "from_json", "parse", "to_json", "to_text"]
