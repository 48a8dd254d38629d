"""An expression checked against a schema: kinds fit, sizes are safe, and so it has a value or NULL on every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from holdfast.data.expressions import limits, sizes, tree
from holdfast.data.expressions.functions import FUNCTIONS
from holdfast.data.schema import Kind, Schema, plain_text
from holdfast.errors import InvalidParameter

ValueKind = Literal["number", "boolean", "text"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a node on every row, before any is read.

    `nullable` says whether it can be NULL, `size` how large a number can get, `copies` how many nodes it has once it
    is compiled, `depth` how deep it is.
    """

    kind: ValueKind | None
    nullable: bool
    size: sizes.Size | None
    copies: int
    depth: int


@dataclass(frozen=True)
class Expression:
    """A checked expression. Compilers and the interpreter take nothing else.

    Examples
    --------
    >>> from holdfast.data.expressions import expression
    >>> from holdfast.data.schema import Schema
    >>> rule = expression("income / age > 1000", Schema({"age": "integer", "income": "number"}))
    >>> rule.kind, rule.columns, rule.nullable
    ('boolean', ('age', 'income'), True)
    """

    node: tree.Node
    kind: ValueKind
    kinds: Mapping[str, Kind] = field(hash=False)
    facts: Mapping[tree.Node, Facts] = field(repr=False, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it reads, in order of the alphabet."""
        return tuple(sorted(self.kinds))

    @property
    def nullable(self) -> bool:
        """Whether it can be NULL on some row."""
        return self.facts[self.node].nullable


def checked(node: tree.Node, schema: Schema, most_nodes: int = limits.MOST_NODES) -> Expression:
    """Check a tree against a schema.

    `most_nodes` is for trees that the library builds around an expression, such as the cells of a histogram.

    Raises
    ------
    InvalidParameter
        An unknown column or function, a value of the wrong kind, or a limit of `limits` passed. The message
        speaks of the expression and the schema only.

    Examples
    --------
    >>> from holdfast.data.expressions import parse
    >>> from holdfast.data.schema import Schema
    >>> checked(parse("age + 1 < 30"), Schema({"age": "integer"})).kind
    'boolean'
    """
    # Size and depth first and without recursion, so that what follows may recurse.
    nodes, depths = 0, [(node, 1)]
    while depths:
        here, depth = depths.pop()
        nodes += 1
        if depth > limits.DEEPEST:
            raise InvalidParameter(f"expression must be at most {limits.DEEPEST} levels deep")
        if nodes > most_nodes:
            raise InvalidParameter(f"expression must have at most {most_nodes} parts")
        depths.extend((below, depth + 1) for below in tree.children(here))
    checker = _Checker(schema, limits.MOST_COPIES if most_nodes <= limits.MOST_NODES else most_nodes)
    top = checker.facts_of(node)
    if top.kind is None:
        raise InvalidParameter("expression must have a value, got null")
    return Expression(node, top.kind, checker.kinds, checker.facts)


class _Checker:
    def __init__(self, schema: Schema, most_copies: int) -> None:
        self.schema, self.most_copies = schema, most_copies
        self.kinds: dict[str, Kind] = {}
        self.facts: dict[tree.Node, Facts] = {}

    def facts_of(self, node: tree.Node) -> Facts:
        known = self.facts.get(node)
        if known is None:
            known = self.facts[node] = self._find(node)
            if known.size is not None and not known.size.safe:
                raise InvalidParameter(
                    "expression must stay between 2**-1000 and 2**1000 in size on every row that columns between "
                    "2**-100 and 2**100 allow; clip its parts to smaller ranges"
                )
            if known.copies > self.most_copies:
                raise InvalidParameter(f"expression must have at most {self.most_copies} parts once it is compiled")
        return known

    def _find(self, node: tree.Node) -> Facts:
        match node:
            case tree.Name(column):
                return self._name(column)
            case tree.Number(value):
                if not (value == 0.0 or limits.SMALLEST <= abs(value) <= limits.LARGEST):
                    raise InvalidParameter(
                        "expression must have numbers that are 0 or between 2**-100 and 2**100 in size"
                    )
                return Facts("number", False, sizes.of_literal(value), 1, 1)
            case tree.Text(value):
                plain_text("text in an expression", value)
                return Facts("text", False, None, 1, 1)
            case tree.Truth():
                return Facts("boolean", False, None, 1, 1)
            case tree.Null():
                return Facts(None, True, None, 1, 1)
            case tree.Arithmetic(sign, left, right):
                return self._arithmetic(sign, left, right)
            case tree.Minus(operand):
                return self._joined("number", [inner := self._wants("number", operand, "-")], inner.size)
            case tree.Comparison(sign, left, right):
                return self._comparison(sign, left, right)
            case tree.Between(operand, low, high):
                return self._joined(
                    "boolean", [self._wants("number", part, "between") for part in (operand, low, high)]
                )
            case tree.In(operand, values):
                return self._in(operand, values)
            case tree.IsNull(operand):
                inner = self.facts_of(operand)
                if inner.kind is None:
                    raise InvalidParameter("expression must not ask whether null is null")
                times = 2 if inner.kind == "boolean" else 1
                return Facts("boolean", False, None, times * inner.copies + 1, inner.depth + 1)
            case tree.Not(operand):
                return self._joined("boolean", [self._wants("boolean", operand, "not")])
            case tree.And(operands) | tree.Or(operands):
                word = "and" if isinstance(node, tree.And) else "or"
                if len(operands) < 2:
                    raise InvalidParameter(f"expression must join at least two with {word}")
                return self._joined("boolean", [self._wants("boolean", part, word) for part in operands])
            case tree.Case(branches, otherwise):
                return self._case(branches, otherwise)
            case tree.Call(name, arguments):
                return self._call(name, arguments)
            case _:
                raise InvalidParameter("expression must be made of the nodes of the row language")

    def _name(self, column: str) -> Facts:
        if not isinstance(column, str) or column not in self.schema:
            alike = {name.lower(): name for name in self.schema.names}
            near = get_close_matches(str(column).lower()[:60], alike, n=1)
            hint = f"; there is {alike[near[0]]!r}" if near else ""
            raise InvalidParameter(f"expression must name columns of the schema, got {str(column)[:60]!r}{hint}")
        kind = self.kinds[column] = self.schema[column].kind
        if kind == "text" or kind == "boolean":
            return Facts(kind, True, None, 1, 1)
        return Facts("number", True, sizes.INTEGER if kind == "integer" else sizes.NUMBER, 1, 1)

    def _wants(self, kind: ValueKind, node: tree.Node, where: str) -> Facts:
        facts = self.facts_of(node)
        if facts.kind != kind:
            raise InvalidParameter(f"expression must have a {kind} with {where}, got {_called(facts.kind)}")
        return facts

    def _joined(self, kind: ValueKind, parts: list[Facts], size: sizes.Size | None = None, times: int = 1) -> Facts:
        return Facts(
            kind,
            any(part.nullable for part in parts),
            size,
            times * sum(part.copies for part in parts) + 1,
            max(part.depth for part in parts) + 1,
        )

    def _arithmetic(self, sign: str, numerator: tree.Node, divisor: tree.Node) -> Facts:
        left, right = self._wants("number", numerator, sign), self._wants("number", divisor, sign)
        assert left.size is not None
        assert right.size is not None
        if sign in "+-":
            return self._joined("number", [left, right], sizes.of_sum(left.size, right.size))
        if sign == "*":
            return self._joined("number", [left, right], sizes.of_product(left.size, right.size))
        if sign != "/":
            raise InvalidParameter("expression must have one of + - * / between numbers")
        facts = self._joined("number", [left, right], sizes.of_quotient(left.size, right.size))
        known = isinstance(divisor, tree.Number) and divisor.value != 0.0
        return facts if known else Facts("number", True, facts.size, facts.copies + 1, facts.depth)

    def _comparison(self, sign: str, left: tree.Node, right: tree.Node) -> Facts:
        one, other = self.facts_of(left), self.facts_of(right)
        if one.kind is None or other.kind is None:
            raise InvalidParameter("expression must compare values; write is null to ask for null")
        if one.kind != other.kind:
            raise InvalidParameter(f"expression must compare values of one kind, got {one.kind} {sign} {other.kind}")
        if sign not in ("=", "<>") and (one.kind != "number" or sign not in ("<", "<=", ">", ">=")):
            # Engines order text by collations that differ, and booleans by rules that need not agree.
            raise InvalidParameter(f"expression must order numbers only, got {one.kind} {sign} {other.kind}")
        return self._joined("boolean", [one, other], times=2 if one.kind == "boolean" else 1)

    def _in(self, operand: tree.Node, values: tuple[tree.Node, ...]) -> Facts:
        inner = self.facts_of(operand)
        listed = [self.facts_of(value) for value in values]
        if inner.kind not in ("number", "text") or not listed or any(value.kind != inner.kind for value in listed):
            raise InvalidParameter("expression must have numbers in a list of numbers, or text in a list of texts")
        return self._joined("boolean", [inner, inner, *listed])

    def _case(self, branches: tuple[tuple[tree.Node, tree.Node], ...], otherwise: tree.Node) -> Facts:
        if not branches:
            raise InvalidParameter("expression must have a branch in case")
        conditions = [self._wants("boolean", condition, "when") for condition, _ in branches]
        results = [self.facts_of(result) for _, result in branches] + [self.facts_of(otherwise)]
        found = {result.kind for result in results} - {None}
        if len(found) != 1:
            shown = "nothing but null" if not found else " and ".join(sorted(str(kind) for kind in found))
            raise InvalidParameter(f"expression must have results of one kind in case, got {shown}")
        joined = self._joined(found.pop(), conditions + results, _any_size(results))  # type: ignore[arg-type]
        return Facts(joined.kind, any(r.nullable for r in results), joined.size, joined.copies, joined.depth)

    def _call(self, name: str, arguments: tuple[tree.Node, ...]) -> Facts:
        function = FUNCTIONS.get(name) if isinstance(name, str) else None
        if function is None:
            raise InvalidParameter(
                f"expression must use the functions {', '.join(sorted(FUNCTIONS))}, got {str(name)[:40]!r}"
            )
        least = len(function.takes)
        if len(arguments) < least or (len(arguments) > least and not function.more):
            wanted = f"{least} or more" if function.more else str(least)
            raise InvalidParameter(f"expression must give {wanted} arguments to {name}, got {len(arguments)}")
        parts = [self.facts_of(argument) for argument in arguments]
        for position, (argument, part) in enumerate(zip(arguments, parts, strict=True)):
            takes = function.takes[min(position, least - 1)]
            if takes == "any":
                takes = parts[0].kind or "any"  # type: ignore[assignment]
            literal = {"literal number": tree.Number, "literal text": tree.Text}.get(takes)
            if (literal is not None and not isinstance(argument, literal)) or part.kind != takes.split()[-1]:
                wanted = takes.replace("literal", "written").replace("any", "value")
                raise InvalidParameter(f"expression must give a {wanted} to {name}, got {_called(part.kind)}")
        return self._result(name, arguments, parts)

    def _result(self, name: str, arguments: tuple[tree.Node, ...], parts: list[Facts]) -> Facts:
        first, nullable = parts[0], any(part.nullable for part in parts)
        match name:
            case "abs":
                return self._joined("number", parts, first.size)
            case "floor" | "ceil":
                assert first.size is not None
                return self._joined("number", parts, sizes.of_whole(first.size), 1 if first.size.small_whole else 3)
            case "sign":
                return self._joined("number", parts, sizes.SIGN, 3)
            case "sqrt":
                assert first.size is not None
                facts = self._joined("number", parts, sizes.of_root(first.size), 2)
                return Facts("number", True, facts.size, facts.copies, facts.depth)
            case "least" | "greatest":
                return self._joined("number", parts, _any_size(parts), 2 if nullable else 1)
            case "clip":
                low, high = arguments[1], arguments[2]
                assert isinstance(low, tree.Number)
                assert isinstance(high, tree.Number)
                if not low.value < high.value:
                    raise InvalidParameter("expression must clip to a range whose first number is below the second")
                assert first.size is not None
                size = sizes.of_clipped(first.size, sizes.of_literal(low.value), sizes.of_literal(high.value))
                return self._joined("number", parts, size, 3 if nullable else 1)
            case "coalesce":
                facts = self._joined(first.kind, parts, _any_size(parts))  # type: ignore[arg-type]
                some = all(part.nullable for part in parts)
                return Facts(facts.kind, some, facts.size, facts.copies, facts.depth)
            case "length":
                return self._joined("number", parts, sizes.LENGTH)
            case "lower" | "upper":
                return self._joined("text", parts)
            case "number":
                facts = self._joined("number", parts, sizes.SPELT, 3)
                return Facts("number", True, facts.size, facts.copies, facts.depth)
            case _:
                if not getattr(arguments[1], "value", ""):
                    raise InvalidParameter(f"expression must give a text that is not empty to {name}")
                return self._joined("boolean", parts)


def _any_size(parts: list[Facts]) -> sizes.Size | None:
    known = [part.size for part in parts if part.size is not None]
    return sizes.of_any(*known) if known else None


def _called(kind: Any) -> str:
    return "null" if kind is None else f"a {kind}"


__all__ = ["Expression", "Facts", "ValueKind", "checked"]
