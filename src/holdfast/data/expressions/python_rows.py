"""What an expression means: this interpreter, one row at a time. Every engine must agree with it bit for bit.

A value is a double, a text, a truth value or None, which is NULL. A double is finite. Minus zero and zero are one
number: no operation of the language tells them apart. A date is the number of days since 1970-01-01, a timestamp the
number of microseconds; what they mean is said by Python's own calendar.
"""

from __future__ import annotations

import hashlib
import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from holdfast.data.expressions import lowering, tree
from holdfast.data.expressions.checking import Expression, Facts
from holdfast.data.expressions.patterns import matcher
from holdfast.data.schema import Kind
from holdfast.errors import InvalidParameter

Value = float | str | bool | None

SPELT = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?\Z", re.ASCII)
UPPER, LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_TO_LOWER, _TO_UPPER = str.maketrans(UPPER, LOWER), str.maketrans(LOWER, UPPER)

_EPOCH, _START = date(1970, 1, 1).toordinal(), datetime(1970, 1, 1)

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expression: Expression, row: Mapping[str, Any]) -> Value:
    """Return the value of an expression in one row.

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
    return _Interpreter(values, expression.facts).value(expression.node)


def read(held: Any, kind: Kind) -> Value:
    """Return what the language sees of what a row holds.

    NaN, infinities and numbers beyond 2**100 in size are NULL; numbers below 2**-100 in size are zero; whole numbers
    become the nearest double, ties to even. A timestamp with a zone is seen in UTC. Parts of a microsecond are dropped.

    Examples
    --------
    >>> read(2**53 + 1, "integer"), read(float("nan"), "number"), read(1e-40, "number")
    (9007199254740992.0, None, 0.0)
    >>> read(date(1970, 2, 1), "date"), read(datetime(1970, 1, 1, 0, 0, 1), "timestamp")
    (31.0, 1000000.0)
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
    if kind == "date":
        return float(held.toordinal() - _EPOCH)
    if kind == "timestamp" or kind == "timestamptz":
        moment = held if held.tzinfo is None else held.astimezone(UTC).replace(tzinfo=None)
        return min(float((moment - _START) // timedelta(microseconds=1)), float(lowering.LAST_MOMENT))
    if not isinstance(held, str):
        raise InvalidParameter("a text column must hold texts")
    return str(held)


class _Interpreter:
    def __init__(self, row: Mapping[str, Value], facts: Mapping[tree.Node, Facts]) -> None:
        self.row, self.facts = row, facts

    def value(self, node: tree.Node) -> Value:
        match node:
            case tree.Name(column):
                return self.row[column]
            case tree.Number(value) | tree.Text(value) | tree.Truth(value):
                return value
            case tree.Null():
                return None
            case tree.Arithmetic(sign, left, right):
                number = _arithmetic(sign, self.value(left), self.value(right))
                is_moment = self.facts[left].kind in ("timestamp", "timestamptz")
                return number / 1e6 if is_moment and number is not None else number
            case tree.Minus(operand):
                negated: Any = self.value(operand)
                return None if negated is None else 0.0 - negated
            case tree.Comparison(sign, left, right):
                return _compare(sign, self.value(left), self.value(right))
            case tree.Between(operand, low, high):
                middle = self.value(operand)
                return _all([_compare("<=", self.value(low), middle), _compare("<=", middle, self.value(high))])
            case tree.In(operand, values):
                wanted = self.value(operand)
                return None if wanted is None else any(wanted == listed.value for listed in values)
            case tree.IsNull(operand):
                return self.value(operand) is None
            case tree.Bucket(operand, salt, below):
                return in_bucket(self.value(operand), salt, below)
            case tree.Not(operand):
                truth = self.value(operand)
                return None if truth is None else not truth
            case tree.And(operands):
                return _all([self.value(part) for part in operands])
            case tree.Or(operands):
                truths = [self.value(part) for part in operands]
                return True if True in truths else None if None in truths else False
            case tree.Case(branches, otherwise):
                for condition, result in branches:
                    if self.value(condition) is True:
                        return self.value(result)
                return self.value(otherwise)
            case tree.Call(name, arguments):
                given = [self.value(argument) for argument in arguments]
                kind = self.facts[arguments[0]].kind
                return _cast(given[0], kind, given[1]) if name == "cast" else evaluate_call(name, given, kind)
        raise AssertionError(
            "a checked expression has only nodes that are handled here, so this is a defect of Holdfast"
        )


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
    elif sign == "%":
        if max(abs(left), abs(right)) > lowering.WHOLE:
            return None
        number = math.fmod(left, right)
    else:
        number = left / right
    return float(number) + 0.0


def _compare(sign: str, left: Any, right: Any) -> bool | None:
    return None if left is None or right is None else _COMPARE[sign](left, right)


def _all(truths: list[Any]) -> bool | None:
    return False if False in truths else None if None in truths else True


def evaluate_call(name: str, arguments: list[Any], kind: Any = None) -> Value:
    """Return a function of the list, of values; `kind` is that of the first.

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
        case "like":
            return matcher(arguments[1]).fullmatch(first) is not None
        case "ilike":
            return matcher(arguments[1].translate(_TO_LOWER)).fullmatch(first.translate(_TO_LOWER)) is not None
        case "substring":
            start = int(arguments[1]) - 1
            return first[start : start + int(arguments[2])]  # type: ignore[no-any-return]
        case "trim":
            return first.strip(" ")  # type: ignore[no-any-return]
        case "concat":
            return "".join(arguments)
        case "number":
            return float(first) + 0.0 if SPELT.match(first) else None
        case "round":
            return _rounded(first, *arguments[1:])
        case "ln" | "log2" | "log10":
            return _logarithm(first, name)
        case "date":
            return float(lowering.days(first) if isinstance(first, str) else first // lowering.DAY)
        case "timestamp" | "timestamptz":
            return float(lowering.microseconds(first, name))
        case "days":
            return first  # type: ignore[no-any-return]
        case "seconds":
            return first / 1e6  # type: ignore[no-any-return]
    if kind is not None:
        return _part(name, first, kind)
    raise AssertionError(
        "a checked expression has only functions that are handled here, so this is a defect of Holdfast"
    )


def _part(name: str, held: float, kind: str) -> float:
    """A part of a date or timestamp."""
    moment = _START + (timedelta(days=held) if kind == "date" else timedelta(microseconds=int(held)))
    if name == "quarter":
        return float((moment.month + 2) // 3)
    return float(moment.isoweekday() if name == "weekday" else getattr(moment, name))


def _rounded(number: float, digits: float = 0.0) -> float:
    scaled = number * 10.0**digits if digits else number
    whole = math.floor(abs(scaled))
    whole += abs(scaled) - whole >= 0.5
    rounded = math.copysign(float(whole), scaled) + 0.0
    return rounded / 10.0**digits if digits else rounded


def _logarithm(number: float, name: str) -> float | None:
    """By definition ten roots and six terms of a series, in steps of 2**-40; see `lowering`."""
    if number <= 0.0:
        return None
    for _ in range(lowering.ROOTS):
        number = math.sqrt(number)
    ratio = (number - 1.0) / (number + 1.0)
    square, series = ratio * ratio, 0.0
    for term in range(lowering.LOG_TERMS, 0, -1):
        series = 1.0 / (2 * term - 1) + square * series
    value = 2.0 ** (lowering.ROOTS + 1) * lowering.LOG_SCALE[name] * ratio * series
    return math.floor(value * lowering.LOG_GRID + 0.5) / lowering.LOG_GRID


_ISO_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _cast(value: Any, kind: Any, wanted: Any) -> Value:
    if value is None or kind == wanted:
        return value  # type: ignore[no-any-return]
    match kind, wanted:
        case "text", "date":
            try:
                return float(date.fromisoformat(value).toordinal() - _EPOCH) if _ISO_DATE.fullmatch(value) else None
            except ValueError:
                return None
        case "text", _:
            number: Any = evaluate_call("number", [value])
            return None if number is None or (wanted == "integer" and number != math.floor(number)) else number
        case "boolean", _:
            return float(value)
        case "date", "timestamp":
            return value * lowering.DAY  # type: ignore[no-any-return]
        case _, "date":
            return float(value // lowering.DAY)
    raise AssertionError("a checked expression has only casts that are handled here, so this is a defect of Holdfast")


def in_bucket(value: Any, salt: str, below: int) -> bool:
    """Return whether a value is in the first `below` of 256 buckets: the first byte of an MD5 digest decides.

    Examples
    --------
    >>> in_bucket(17.0, "salt", 256), in_bucket("a", "salt", 0), in_bucket(None, "salt", 255)
    (True, False, False)
    """
    if value is None:
        return below > 255
    text = value if isinstance(value, str) else str(int(value))
    return hashlib.md5(f"{salt}:{text}".encode(), usedforsecurity=False).digest()[0] < below
