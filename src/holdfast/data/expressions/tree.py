"""The nodes of a row expression: small, frozen, and nothing else is ever evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from holdfast.errors import InvalidParameter

# --- Tree -------------------------------------------------------------------------------------------------------------

ArithmeticSign = Literal["+", "-", "*", "/", "%"]
ComparisonSign = Literal["=", "<>", "<", "<=", ">", ">="]

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Each sign on columns of an engine that keep NULL. The interpreter has its own, so that tests compare two opinions."""


@dataclass(frozen=True, slots=True)
class Name:
    """The value of a column in this row."""

    column: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number written in the expression. Minus zero is zero."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value) + 0.0)


@dataclass(frozen=True, slots=True)
class Text:
    """A text written in the expression."""

    value: str


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false` written in the expression."""

    value: bool


@dataclass(frozen=True, slots=True)
class Null:
    """`null` as the result of a branch of `case`."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers joined by a sign."""

    sign: ArithmeticSign
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Minus:
    """The number with the other sign."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values of one kind compared."""

    sign: ComparisonSign
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Between:
    """`low <= operand and operand <= high`."""

    operand: Node
    low: Node
    high: Node


@dataclass(frozen=True, slots=True)
class In:
    """The operand is one of the values that are listed."""

    operand: Node
    values: tuple[Number | Text, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether there is no value. Never NULL itself."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Not:
    """Negation in three-valued logic."""

    operand: Node


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction in three-valued logic, of two or more."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction in three-valued logic, of two or more."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """The result of the first branch whose condition is true, else `otherwise`."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the fixed list."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Bucket:
    """Whether a row is in the first `below` of 256 buckets, by a hash of a column's value under a salt. Never NULL.

    It draws a random part of the rows that is the same on every engine, and keeps rows of one value together. It has no
    spelling: only a guard makes it. A row without a value is in the last bucket.
    """

    operand: Name
    salt: str
    below: int


@dataclass(frozen=True, slots=True)
class Retyped:
    """The double behind a date or a timestamp as a number, or a number as one of them. It has no spelling.

    A date is the number of days since 1970-01-01, a timestamp the number of microseconds.
    """

    operand: Node
    kind: Literal["number", "date", "timestamp", "timestamptz"]


Node = (
    Name
    | Number
    | Text
    | Truth
    | Null
    | Arithmetic
    | Minus
    | Comparison
    | Between
    | In
    | IsNull
    | Not
    | And
    | Or
    | Case
    | Call
    | Bucket
    | Retyped
)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below, in the order they are written.

    Examples
    --------
    >>> children(Arithmetic("+", Name("a"), Number(1)))
    (Name(column='a'), Number(value=1.0))
    """
    match node:
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return (left, right)
        case Minus(operand) | IsNull(operand) | Not(operand) | Bucket(operand) | Retyped(operand):
            return (operand,)
        case Between(operand, low, high):
            return (operand, low, high)
        case In(operand, values):
            return (operand, *values)
        case And(operands) | Or(operands):
            return operands
        case Case(branches, otherwise):
            return (*(part for branch in branches for part in branch), otherwise)
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Every node, the one given first; without recursion.

    Examples
    --------
    >>> [type(below).__name__ for below in walk(Not(IsNull(Name("a"))))]
    ['Not', 'IsNull', 'Name']
    """
    left = [node]
    while left:
        here = left.pop()
        yield here
        left.extend(reversed(children(here)))


# --- Limits -----------------------------------------------------------------------------------------------------------
# How large expressions and their numbers may be. Everything here is public and the same for every sample.
#
# The limits on numbers make every operation total: with them no sum, product or quotient of an accepted expression can
# overflow or underflow on any row, which the checker proves before a row is read (`sizes`).

LONGEST_TEXT = 20_000
"""Characters of an expression as text."""

MOST_TOKENS = 8_000
DEEPEST = 100
"""Nodes on the way from the root to a leaf. A sum of a hundred terms is as deep."""

MOST_BRACKETS = 30
"""Brackets, calls and cases inside each other in text, and signs before each other: the parser recurses there."""

MOST_NODES = 2_000
MOST_COPIES = 2_000
"""Nodes after compilation: some functions mention an argument twice in SQL, and so it doubles with each level."""

LARGEST_EXPONENT = 100
LARGEST = 2.0**LARGEST_EXPONENT
"""A number of a column that is larger in size, about 1.27e30, is NULL; a literal that is larger is refused."""

SMALLEST = 2.0**-LARGEST_EXPONENT
"""A number of a column that is smaller in size, about 7.9e-31, is zero; a literal that is smaller is refused."""

LARGEST_RESULT_EXPONENT = 1_000
"""No intermediate result may be able to exceed two to this power, nor to be nonzero below two to minus this."""


# --- Json form --------------------------------------------------------------------------------------------------------
# A tree as plain JSON data, for programs that build expressions and for the ledger.
#
# | data | means | |---|---| | `3.5`, `true`, `null` | a number, a truth value, NULL as a result of `case` | | `{"text":
# "abc"}` | a text | | `{"column": "age"}` | a column | | `{"+": [a, b]}` and `-`, `*`, `/`, `%`, `=`, `<>`, `<`, `<=`,
# `>`, `>=` | two joined by a sign; `{"-": [a]}` is minus a | | `{"and": [a, b, ...]}`, `{"or": [...]}`, `{"not":
# [a]}`, `{"is null": [a]}` | logic | | `{"between": [a, low, high]}`, `{"in": [a, value, ...]}` | ranges and lists | |
# `{"case": [condition, result, ..., otherwise]}` | branches | | `{"call": "abs", "with": [a]}` | a function of the
# list, and so are `like`, `ilike`, `cast` with the name of a kind as text, and `date` with a written date as text |

_ARITHMETIC: tuple[ArithmeticSign, ...] = ("+", "-", "*", "/", "%")
_COMPARISON: tuple[ComparisonSign, ...] = ("=", "<>", "<", "<=", ">", ">=")


def to_json(node: Node) -> Any:
    """Return the tree of an expression as plain data, which `from_json` reads back as the same tree.

    Examples
    --------
    >>> from holdfast.data.expressions.parsing import parse
    >>> to_json(parse("age between 18 and 30"))
    {'between': [{'column': 'age'}, 18.0, 30.0]}
    """
    match node:
        case Name(column):
            return {"column": column}
        case Number(value) | Truth(value):
            return value
        case Text(value):
            return {"text": value}
        case Null():
            return None
        case Arithmetic(sign, left, right) | Comparison(sign, left, right):
            return {sign: [to_json(left), to_json(right)]}
        case Minus(operand):
            return {"-": [to_json(operand)]}
        case Not(operand):
            return {"not": [to_json(operand)]}
        case IsNull(operand):
            return {"is null": [to_json(operand)]}
        case And(operands):
            return {"and": [to_json(part) for part in operands]}
        case Or(operands):
            return {"or": [to_json(part) for part in operands]}
        case Between() | In() | Case():
            word = type(node).__name__.lower()
            return {word: [to_json(part) for part in children(node)]}
        case Call(name, arguments):
            return {"call": name, "with": [to_json(argument) for argument in arguments]}


def from_json(data: Any) -> Node:
    """Return the tree of an expression that is given as plain data. It is not yet checked against a schema.

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


def _read(data: Any, depth: int) -> Node:
    if depth >= DEEPEST:
        raise InvalidParameter(f"expression must be at most {DEEPEST} levels deep")
    if data is None:
        return Null()
    if isinstance(data, bool):
        return Truth(data)
    if isinstance(data, (int, float)):
        try:
            return Number(float(data))
        except OverflowError as error:
            raise InvalidParameter(
                "expression must have numbers that are 0 or have a size between 2**-100 and 2**100"
            ) from error
    if not isinstance(data, Mapping):
        raise _refused()
    if set(data) == {"call", "with"} and isinstance(data["call"], str):
        return Call(data["call"], _all(data["with"], depth))
    if len(data) != 1:
        raise _refused()
    ((word, inside),) = data.items()
    if word in ("column", "text"):
        if not isinstance(inside, str):
            raise _refused()
        return Name(inside) if word == "column" else Text(inside)
    return _operation(word, _all(inside, depth))


def _all(inside: Any, depth: int) -> tuple[Node, ...]:
    if not isinstance(inside, (list, tuple)) or len(inside) > MOST_NODES:
        raise _refused()
    return tuple(_read(part, depth + 1) for part in inside)


def _operation(word: Any, parts: tuple[Node, ...]) -> Node:
    match word, parts:
        case "-", (operand,):
            # As in text, where a minus before a written number belongs to the number.
            return Number(-operand.value) if isinstance(operand, Number) else Minus(operand)
        case "not", (operand,):
            return Not(operand)
        case "is null", (operand,):
            return IsNull(operand)
        case "between", (operand, low, high):
            return Between(operand, low, high)
        case _, (left, right) if word in _ARITHMETIC:
            return Arithmetic(word, left, right)
        case _, (left, right) if word in _COMPARISON:
            return Comparison(word, left, right)
        case "and" | "or", (_, _, *_):
            return And(parts) if word == "and" else Or(parts)
        case "in", (operand, _, *_) if all(isinstance(value, (Number, Text)) for value in parts[1:]):
            return In(operand, parts[1:])  # type: ignore[arg-type]
        case "case", (_, _, _, *_) if len(parts) % 2 == 1:
            return Case(tuple(zip(parts[:-1:2], parts[1::2], strict=True)), parts[-1])
    raise _refused()


def _refused() -> InvalidParameter:
    return InvalidParameter("expression must have the JSON form of the row language; this data has another shape")
