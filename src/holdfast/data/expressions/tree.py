"""The nodes of a row expression: small, frozen, and nothing else is ever evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

ArithmeticSign = Literal["+", "-", "*", "/"]
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
)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, in the order they are written.

    Examples
    --------
    >>> children(Arithmetic("+", Name("a"), Number(1)))
    (Name(column='a'), Number(value=1.0))
    """
    match node:
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return (left, right)
        case Minus(operand) | IsNull(operand) | Not(operand):
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


__all__ = [
    "COMPARE",
    "And",
    "Arithmetic",
    "ArithmeticSign",
    "Between",
    "Call",
    "Case",
    "Comparison",
    "ComparisonSign",
    "In",
    "IsNull",
    "Minus",
    "Name",
    "Node",
    "Not",
    "Null",
    "Number",
    "Or",
    "Text",
    "Truth",
    "children",
    "walk",
]
