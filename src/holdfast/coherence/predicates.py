"""Predicates in words: `SEX == 2 and AGEP in 18..25`. Parsed here, never evaluated as code.

    rule  := all ("or" all)*          all := one ("and" one)*
    one   := "not" one | "(" rule ")" | column test
    test  := (== | != | < | <= | > | >=) value | "in" low..high | "in" {value, ...} | "is missing" | "is present"

A range includes both ends. A comparison with a missing value is false. Column names and values with other characters
than letters, digits, `_`, `.` and `-` are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.table import Column, Table, equal, missing
from holdfast.errors import InvalidParameter

Predicate = Callable[[Table], NDArray[np.bool_]]

_TOKEN = re.compile(
    r"""\s*(?:(?P<range>(?P<low>-?\d+(?:\.\d+)?)\.\.(?P<high>-?\d+(?:\.\d+)?))
    |(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w]))
    |(?P<quoted>'[^']*'|"[^"]*")
    |(?P<word>[^\W]+[\w.\-]*)
    |(?P<mark>==|!=|<=|>=|<|>|\(|\)|\{|\}|,))""",
    re.VERBOSE,
)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def predicate(text: str) -> Predicate:
    """Read a predicate; returns a function from a table to one truth value a row.

    Examples
    --------
    >>> people = Table.of({"SEX": [1, 2, 2], "AGEP": [20, 20, 40], "TOWN": ["A", "B", None]})
    >>> predicate("SEX == 2 and AGEP in 18..25")(people).tolist()
    [False, True, False]
    >>> predicate("not (TOWN in {A, B}) or AGEP < 0")(people).tolist()
    [False, False, True]
    >>> predicate("TOWN is missing")(people).tolist()
    [False, False, True]
    >>> predicate("SEX = 2")
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: predicate 'SEX = 2' cannot be read at '= 2'; equality is written ==
    """
    reader = _Reader(text)
    found = reader.any_of()
    if reader.kind:
        raise reader.error()
    return found


class _Reader:
    """Recursive descent over the tokens of one predicate."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.start = text, 0, 0
        self.advance()

    def advance(self) -> None:
        self.start = self.place
        if not self.text[self.place :].strip():
            self.kind, self.token, self.match = "", "", None
            return
        self.match = _TOKEN.match(self.text, self.place)
        if self.match is None:
            raise self.error()
        self.place = self.match.end()
        self.kind = next(k for k in ("range", "number", "quoted", "word", "mark") if self.match[k] is not None)
        self.token = self.match[self.kind]

    def error(self) -> InvalidParameter:
        rest = self.text[self.start :].strip()
        if not rest:
            hint = "; one looks like `sex == F and age >= 65`"
        else:
            hint = "; equality is written ==" if rest.startswith("=") and not rest.startswith("==") else ""
        return InvalidParameter(f"predicate {self.text!r} cannot be read at {repr(rest) if rest else 'its end'}{hint}")

    def take(self, token: str) -> bool:
        if self.kind in ("word", "mark") and self.token == token:
            self.advance()
            return True
        return False

    def need(self, token: str) -> None:
        if not self.take(token):
            raise self.error()

    def any_of(self) -> Predicate:
        found = self.all_of()
        while self.take("or"):
            found = _joined(np.logical_or, found, self.all_of())
        return found

    def all_of(self) -> Predicate:
        found = self.one()
        while self.take("and"):
            found = _joined(np.logical_and, found, self.one())
        return found

    def one(self) -> Predicate:
        if self.take("not"):
            inner = self.one()
            return lambda table: ~inner(table)
        if self.take("("):
            found = self.any_of()
            self.need(")")
            return found
        if self.kind not in ("word", "quoted"):
            raise self.error()
        column = self.value()
        return self.test(str(column))

    def test(self, column: str) -> Predicate:
        if self.take("is"):
            if self.take("missing"):
                return lambda table: missing(table[column])
            self.need("present")
            return lambda table: ~missing(table[column])
        if self.take("in"):
            if self.kind == "range":
                assert self.match is not None
                low, high = float(self.match["low"]), float(self.match["high"])
                self.advance()
                return lambda table: _within(table[column], column, low, high)
            self.need("{")
            values = [self.value()]
            while self.take(","):
                values.append(self.value())
            self.need("}")
            return lambda table: np.any([equal(table[column], value) for value in values], axis=0)
        if self.take("=="):
            value = self.value()
            return lambda table: equal(table[column], value)
        if self.take("!="):
            value = self.value()
            return lambda table: ~equal(table[column], value) & ~missing(table[column])
        if self.kind == "mark" and self.token in _COMPARE:
            compare = _COMPARE[self.token]
            self.advance()
            if self.kind != "number":
                raise self.error()
            limit = float(self.token)
            self.advance()
            return lambda table: _compared(compare, _numbers(table[column], column), limit)
        raise self.error()

    def value(self) -> Any:
        if self.kind not in ("number", "quoted", "word"):
            raise self.error()
        token = self.token
        if self.kind == "quoted":
            value: Any = token[1:-1]
        elif self.kind == "number":
            value = int(token) if re.fullmatch(r"-?\d+", token) else float(token)
        else:
            value = token
        self.advance()
        return value


def _joined(join: Any, left: Predicate, right: Predicate) -> Predicate:
    return lambda table: np.asarray(join(left(table), right(table)))


def _numbers(values: Column, column: str) -> Column:
    if values.dtype.kind == "O":
        raise InvalidParameter(f"column {column!r} holds text and cannot be compared with a number")
    return values


def _compared(compare: Callable[[Any, Any], Any], values: Column, limit: float) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return np.asarray(compare(values, limit), dtype=bool)


def _within(values: Column, column: str, low: float, high: float) -> NDArray[np.bool_]:
    numbers = _numbers(values, column)
    return _compared(np.greater_equal, numbers, low) & _compared(np.less_equal, numbers, high)


__all__ = ["Predicate", "predicate"]
