"""A tree as plain JSON data, for programs that build expressions and for the ledger.

| data | means |
|---|---|
| `3.5`, `true`, `null` | a number, a truth value, NULL as a result of `case` |
| `{"text": "abc"}` | a text |
| `{"column": "age"}` | a column |
| `{"+": [a, b]}` and `-`, `*`, `/`, `=`, `<>`, `<`, `<=`, `>`, `>=` | two joined by a sign; `{"-": [a]}` is minus a |
| `{"and": [a, b, ...]}`, `{"or": [...]}`, `{"not": [a]}`, `{"is null": [a]}` | logic |
| `{"between": [a, low, high]}`, `{"in": [a, value, ...]}` | ranges and lists |
| `{"case": [condition, result, ..., otherwise]}` | branches |
| `{"call": "abs", "with": [a]}` | a function of the list |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.data.expressions import limits, tree
from holdfast.errors import InvalidParameter

_ARITHMETIC: tuple[tree.ArithmeticSign, ...] = ("+", "-", "*", "/")
_COMPARISON: tuple[tree.ComparisonSign, ...] = ("=", "<>", "<", "<=", ">", ">=")


def to_json(node: tree.Node) -> Any:
    """Plain data that `from_json` reads back as the same tree.

    Examples
    --------
    >>> from holdfast.data.expressions.parsing import parse
    >>> to_json(parse("age between 18 and 30"))
    {'between': [{'column': 'age'}, 18.0, 30.0]}
    """
    match node:
        case tree.Name(column):
            return {"column": column}
        case tree.Number(value) | tree.Truth(value):
            return value
        case tree.Text(value):
            return {"text": value}
        case tree.Null():
            return None
        case tree.Arithmetic(sign, left, right) | tree.Comparison(sign, left, right):
            return {sign: [to_json(left), to_json(right)]}
        case tree.Minus(operand):
            return {"-": [to_json(operand)]}
        case tree.Not(operand):
            return {"not": [to_json(operand)]}
        case tree.IsNull(operand):
            return {"is null": [to_json(operand)]}
        case tree.And(operands):
            return {"and": [to_json(part) for part in operands]}
        case tree.Or(operands):
            return {"or": [to_json(part) for part in operands]}
        case tree.Between() | tree.In() | tree.Case():
            word = type(node).__name__.lower()
            return {word: [to_json(part) for part in tree.children(node)]}
        case tree.Call(name, arguments):
            return {"call": name, "with": [to_json(argument) for argument in arguments]}


def from_json(data: Any) -> tree.Node:
    """The tree of plain data, not yet checked against a schema.

    Raises
    ------
    InvalidParameter
        Data of any other shape.

    Examples
    --------
    >>> from_json({">": [{"column": "age"}, 30]})
    Comparison(sign='>', left=Name(column='age'), right=Number(value=30.0))
    """
    return _read(data, 0)


def _read(data: Any, depth: int) -> tree.Node:
    if depth >= limits.DEEPEST:
        raise InvalidParameter(f"expression must be at most {limits.DEEPEST} levels deep")
    if data is None:
        return tree.Null()
    if isinstance(data, bool):
        return tree.Truth(data)
    if isinstance(data, (int, float)):
        try:
            return tree.Number(float(data))
        except OverflowError as error:
            raise InvalidParameter(
                "expression must have numbers that are 0 or between 2**-100 and 2**100 in size"
            ) from error
    if not isinstance(data, Mapping):
        raise _refused()
    if set(data) == {"call", "with"} and isinstance(data["call"], str):
        return tree.Call(data["call"], _all(data["with"], depth))
    if len(data) != 1:
        raise _refused()
    ((word, inside),) = data.items()
    if word in ("column", "text"):
        if not isinstance(inside, str):
            raise _refused()
        return tree.Name(inside) if word == "column" else tree.Text(inside)
    return _operation(word, _all(inside, depth))


def _all(inside: Any, depth: int) -> tuple[tree.Node, ...]:
    if not isinstance(inside, (list, tuple)) or len(inside) > limits.MOST_NODES:
        raise _refused()
    return tuple(_read(part, depth + 1) for part in inside)


def _operation(word: Any, parts: tuple[tree.Node, ...]) -> tree.Node:
    match word, parts:
        case "-", (operand,):
            # As in text, where a minus before a written number belongs to the number.
            return tree.Number(-operand.value) if isinstance(operand, tree.Number) else tree.Minus(operand)
        case "not", (operand,):
            return tree.Not(operand)
        case "is null", (operand,):
            return tree.IsNull(operand)
        case "between", (operand, low, high):
            return tree.Between(operand, low, high)
        case _, (left, right) if word in _ARITHMETIC:
            return tree.Arithmetic(word, left, right)
        case _, (left, right) if word in _COMPARISON:
            return tree.Comparison(word, left, right)
        case "and" | "or", (_, _, *_):
            return tree.And(parts) if word == "and" else tree.Or(parts)
        case "in", (operand, _, *_) if all(isinstance(value, (tree.Number, tree.Text)) for value in parts[1:]):
            return tree.In(operand, parts[1:])  # type: ignore[arg-type]
        case "case", (_, _, _, *_) if len(parts) % 2 == 1:
            return tree.Case(tuple(zip(parts[:-1:2], parts[1::2], strict=True)), parts[-1])
    raise _refused()


def _refused() -> InvalidParameter:
    return InvalidParameter("expression must have the JSON form of the row language; this data has another shape")


__all__ = ["from_json", "to_json"]
