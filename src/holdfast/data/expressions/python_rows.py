"""What an expression means: this interpreter, one row at a time. Every engine must agree with it bit for bit.

A value is a double, a text, a truth value or None, which is NULL. A double is finite. Minus zero and zero are one
number: no operation of the language tells them apart.
"""

from __future__ import annotations

import hashlib
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.data.expressions import tree
from holdfast.data.expressions.checking import Expression
from holdfast.data.schema import Kind
from holdfast.errors import InvalidParameter

Value = float | str | bool | None

SPELT = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?\Z", re.ASCII)
UPPER, LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_TO_LOWER, _TO_UPPER = str.maketrans(UPPER, LOWER), str.maketrans(LOWER, UPPER)

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expression: Expression, row: Mapping[str, Any]) -> Value:
    """The value of an expression in one row.

    Parameters
    ----------
    expression : Expression
        Checked against the schema of the row.
    row : mapping
        Column names and what the row holds there; None is NULL.

    Examples
    --------
    >>> from holdfast.data.expressions import expression
    >>> from holdfast.data.schema import Schema
    >>> ratio = expression("income / age", Schema({"age": "integer", "income": "number"}))
    >>> evaluate(ratio, {"age": 40, "income": 1000.0}), evaluate(ratio, {"age": 0, "income": 1000.0})
    (25.0, None)
    """
    values = {name: read(row[name], kind) for name, kind in expression.kinds.items()}
    return _value(expression.node, values)


def read(held: Any, kind: Kind) -> Value:
    """What the language sees of what a row holds.

    NaN, infinities and numbers beyond 2**100 in size are NULL; numbers below 2**-100 in size are zero; whole numbers
    become the nearest double, ties to even.

    Examples
    --------
    >>> read(2**53 + 1, "integer"), read(float("nan"), "number"), read(1e-40, "number")
    (9007199254740992.0, None, 0.0)
    """
    if held is None:
        return None
    if kind == "number":
        number = float(held)
        if not -tree.LARGEST <= number <= tree.LARGEST:
            return None
        return number if abs(number) >= tree.SMALLEST else 0.0
    if kind == "integer":
        return float(int(held))
    if kind == "boolean":
        return bool(held)
    if not isinstance(held, str):
        raise InvalidParameter("a text column must hold texts")
    return str(held)


def _value(node: tree.Node, row: Mapping[str, Value]) -> Value:
    match node:
        case tree.Name(column):
            return row[column]
        case tree.Number(value) | tree.Text(value) | tree.Truth(value):
            return value
        case tree.Null():
            return None
        case tree.Arithmetic(sign, left, right):
            return _arithmetic(sign, _value(left, row), _value(right, row))
        case tree.Minus(operand):
            number: Any = _value(operand, row)
            return None if number is None else 0.0 - number
        case tree.Comparison(sign, left, right):
            return _compare(sign, _value(left, row), _value(right, row))
        case tree.Between(operand, low, high):
            middle = _value(operand, row)
            return _all([_compare("<=", _value(low, row), middle), _compare("<=", middle, _value(high, row))])
        case tree.In(operand, values):
            wanted = _value(operand, row)
            return None if wanted is None else any(wanted == listed.value for listed in values)
        case tree.IsNull(operand):
            return _value(operand, row) is None
        case tree.Bucket(operand, salt, below):
            return in_bucket(_value(operand, row), salt, below)
        case tree.Not(operand):
            truth = _value(operand, row)
            return None if truth is None else not truth
        case tree.And(operands):
            return _all([_value(part, row) for part in operands])
        case tree.Or(operands):
            truths = [_value(part, row) for part in operands]
            return True if True in truths else None if None in truths else False
        case tree.Case(branches, otherwise):
            for condition, result in branches:
                if _value(condition, row) is True:
                    return _value(result, row)
            return _value(otherwise, row)
        case tree.Call(name, arguments):
            return evaluate_call(name, [_value(argument, row) for argument in arguments])
    raise AssertionError("a checked expression has no other nodes")


def _arithmetic(sign: str, left: Any, right: Any) -> float | None:
    if left is None or right is None:
        return None
    if sign == "+":
        number = left + right
    elif sign == "-":
        number = left - right
    elif sign == "*":
        number = left * right
    elif right == 0.0:
        return None
    else:
        number = left / right
    return float(number) + 0.0


def _compare(sign: str, left: Any, right: Any) -> bool | None:
    return None if left is None or right is None else _COMPARE[sign](left, right)


def _all(truths: list[Any]) -> bool | None:
    return False if False in truths else None if None in truths else True


def evaluate_call(name: str, arguments: list[Any]) -> Value:
    """A function of the list, of values.

    Examples
    --------
    >>> evaluate_call("length", ["Zürich"]), evaluate_call("number", ["1e5"])
    (6.0, None)
    """
    if name == "coalesce":
        return next((argument for argument in arguments if argument is not None), None)
    if any(argument is None for argument in arguments):
        return None
    first = arguments[0]
    match name:
        case "abs":
            return abs(first)  # type: ignore[no-any-return]
        case "floor":
            return float(math.floor(first))
        case "ceil":
            return float(math.ceil(first))
        case "sign":
            return float((first > 0) - (first < 0))
        case "sqrt":
            return math.sqrt(first) if first >= 0 else None
        case "least":
            return min(arguments)  # type: ignore[no-any-return]
        case "greatest":
            return max(arguments)  # type: ignore[no-any-return]
        case "clip":
            return min(max(first, arguments[1]), arguments[2])  # type: ignore[no-any-return]
        case "length":
            return float(len(first))
        case "lower":
            return first.translate(_TO_LOWER)  # type: ignore[no-any-return]
        case "upper":
            return first.translate(_TO_UPPER)  # type: ignore[no-any-return]
        case "starts_with":
            return first.startswith(arguments[1])  # type: ignore[no-any-return]
        case "ends_with":
            return first.endswith(arguments[1])  # type: ignore[no-any-return]
        case "contains":
            return arguments[1] in first
        case "number":
            return float(first) + 0.0 if SPELT.match(first) else None
    raise AssertionError("a checked expression has no other functions")


def in_bucket(value: Any, salt: str, below: int) -> bool:
    """Whether a value is in the first `below` of 256 buckets: the first byte of an MD5 digest decides.

    Examples
    --------
    >>> in_bucket(17.0, "salt", 256), in_bucket("a", "salt", 0), in_bucket(None, "salt", 255)
    (True, False, False)
    """
    if value is None:
        return below > 255
    text = value if isinstance(value, str) else str(int(value))
    return hashlib.md5(f"{salt}:{text}".encode(), usedforsecurity=False).digest()[0] < below
