"""What every request has in common: its parts, checked when it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from holdfast import check
from holdfast.data.expressions import Expression, checked, from_json, limits, parse, tree
from holdfast.data.schema import Schema
from holdfast.data.statistics.plan import Plan
from holdfast.errors import InvalidParameter

MOST_EDGES = 500

Row = Mapping[str, Any]
Added = Callable[[Row], Iterable[tuple[int, int]]]
"""Which results a row adds to, and what."""


@runtime_checkable
class Statistic(Protocol):
    """A request. Frozen; equal requests are the same question.

    Examples
    --------
    >>> from holdfast.data.statistics import Count
    >>> isinstance(Count("age < 30"), Statistic), Count("age < 30") == Count("age<30")
    (True, True)
    """

    def plan(self, schema: Schema) -> Plan:
        """What an engine adds up."""

    def adds(self, schema: Schema) -> Added:
        """The definition, row by row."""

    def size(self, schema: Schema) -> int:
        """Length of the result."""

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data."""


def to_node(source: Any) -> tree.Node:
    """An expression in any form as a tree, not yet checked against a schema."""
    if isinstance(source, Expression):
        return source.node
    if isinstance(source, str):
        return parse(source)
    return source if isinstance(source, tree.Node) else from_json(source)


def checked_kind(node: tree.Node, schema: Schema, *kinds: str) -> Expression:
    """The expression checked against a schema, and to be of one of these kinds."""
    inner = checked(node, schema)
    if inner.kind not in kinds:
        wanted = " or a ".join("truth value" if kind == "boolean" else kind for kind in kinds)
        raise InvalidParameter(f"expression must be a {wanted}, got a {inner.kind}")
    if not inner.columns:
        raise InvalidParameter("expression must read at least one column: what it asks has one answer for all samples")
    return inner


def branch(node: tree.Node, sign: tree.ComparisonSign, edge: float, cell: int) -> tuple[tree.Node, tree.Node]:
    """A branch of `case` that leads from a comparison with an edge to a cell."""
    return tree.Comparison(sign, node, tree.Number(edge)), tree.Number(cell)


def rising(name: str, values: Any, fewest: int) -> tuple[float, ...]:
    """Edges, checked: numbers that an expression may hold, each above the one before."""
    numbers = check.reals(name, values)
    numbers = tuple(end(f"{name}[{at}]", value) for at, value in enumerate(numbers))
    if not fewest <= len(numbers) <= MOST_EDGES or any(a >= b for a, b in pairwise(numbers)):
        raise InvalidParameter(f"{name} must be {fewest} to {MOST_EDGES} numbers, each above the one before")
    return numbers


def end(name: str, value: Any, *, at_least: float = -limits.LARGEST, at_most: float = limits.LARGEST) -> float:
    """A number that an expression may hold: 0, or between 2**-100 and 2**100 in size."""
    number = check.real(name, value, at_least=at_least, at_most=at_most) + 0.0
    if number != 0.0 and abs(number) < limits.SMALLEST:
        raise InvalidParameter(f"{name} must be 0 or at least 2**-100 in size, got {number:g}")
    return number


def set_fields(request: Any, **values: Any) -> None:
    """Set checked fields of a frozen request while it is made."""
    for name, value in values.items():
        object.__setattr__(request, name, value)


__all__ = [
    "Added",
    "Row",
    "Statistic",
    "branch",
    "checked_kind",
    "end",
    "rising",
    "set_fields",
    "to_node",
]
