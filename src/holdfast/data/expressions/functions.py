"""The fixed list of functions. Each gives the same bits on every engine; a property test holds them to it.

What is not here is not here for a reason: `exp`, `log`, `power` and the like differ in the last bit between libraries,
`round` rounds halves to even on one engine and away from zero on another, and letters beyond A to Z change case by
tables that differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Wanted = Literal["number", "text", "any", "literal number", "literal text"]


@dataclass(frozen=True, slots=True)
class Function:
    """What a function takes and gives.

    `takes` lists the kinds of its arguments; where `more` is set the last may be repeated. The kind `any` is one kind,
    the same for all arguments, and then that of the result.
    """

    name: str
    takes: tuple[Wanted, ...]
    gives: Literal["number", "text", "boolean", "any"]
    says: str
    more: bool = False


_ALL = (
    Function("abs", ("number",), "number", "size of a number"),
    Function("floor", ("number",), "number", "largest whole number not above it"),
    Function("ceil", ("number",), "number", "smallest whole number not below it"),
    Function("sign", ("number",), "number", "-1, 0 or 1"),
    Function("sqrt", ("number",), "number", "square root; NULL below zero"),
    Function("least", ("number", "number"), "number", "smallest; NULL if any argument is NULL", more=True),
    Function("greatest", ("number", "number"), "number", "largest; NULL if any argument is NULL", more=True),
    Function(
        "clip",
        ("number", "literal number", "literal number"),
        "number",
        "moved into the range between two written numbers; NULL stays NULL",
    ),
    Function("coalesce", ("any", "any"), "any", "first argument that is not NULL", more=True),
    Function("length", ("text",), "number", "number of Unicode code points"),
    Function("lower", ("text",), "text", "with A to Z as a to z; other letters stay"),
    Function("upper", ("text",), "text", "with a to z as A to Z; other letters stay"),
    Function("starts_with", ("text", "literal text"), "boolean", "whether it begins with a written text"),
    Function("ends_with", ("text", "literal text"), "boolean", "whether it ends with a written text"),
    Function("contains", ("text", "literal text"), "boolean", "whether a written text is part of it"),
    Function(
        "number",
        ("text",),
        "number",
        "the decimal number that the text spells, at most 15 digits before and after the point; NULL for other text",
    ),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _ALL}

__all__ = ["FUNCTIONS", "Function"]
