"""The sum of a clipped value over rows, in whole steps: what every mean is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from holdfast.data.expressions import Expression, python_rows, to_json, tree
from holdfast.data.expressions.checking import node_of
from holdfast.data.schema import Schema
from holdfast.data.statistics.request import (
    MOST_ADDED,
    Added,
    Plan,
    Row,
    built,
    built_whole,
    checked_kind,
    end,
    set_fields,
)
from holdfast.errors import InvalidParameter

UNIT: int = MOST_ADDED
"""A fixed sum counts in steps of 1/UNIT of the declared range."""


@dataclass(frozen=True)
class FixedSum:
    """The sum over all rows of a value that is clipped to a range, counted in whole steps of 2**-30 of the range.

    A row with value `x` adds `floor((clip(x) - low) * scale)`, where `scale` is the double nearest to `2**30 / (high -
    low)` and each operation is one in double precision. NULL counts as `default`, and a truth value as 1 or 0. So each
    row adds a whole number from 0 to 2**30, and a sum over up to 2**32 rows is exact in 64 bits, in any order. The
    formula multiplies instead of dividing, because some engines divide by multiplying with a rounded reciprocal.

    Parameters
    ----------
    expression : str, JSON data or tree
        A number or a truth value.
    low, high : float
        The declared range; each 0 or between 2**-100 and 2**100 in size.
    default : float, optional
        What NULL counts as, inside the range; `low` unless given.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> schema = Schema({"age": "integer"})
    >>> wanted = FixedSum("age", 0, 100)
    >>> float(wanted.mean(of_rows(wanted, [{"age": 25}, {"age": 50}, {"age": None}], schema)[0], 3))
    25.0
    """

    expression: Any
    low: float = 0.0
    high: float = 1.0
    default: float | None = None
    _given: Expression | None = field(default=None, init=False, repr=False, compare=False)
    _planned: tuple[Schema, Plan] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = self.expression
        set_fields(self, expression=node_of(given), _given=given if isinstance(given, Expression) else None)
        low, high = end("low", self.low), end("high", self.high)
        if not low < high:
            raise InvalidParameter(f"low must be below high, got [{low:g}, {high:g}]")
        if UNIT / (high - low) > tree.LARGEST:
            raise InvalidParameter("high must be at least 2**-70 above low")
        default = low if self.default is None else end("default", self.default, at_least=low, at_most=high)
        set_fields(self, low=low, high=high, default=default)

    @property
    def width(self) -> float:
        """`high - low` in double precision."""
        return self.high - self.low

    @property
    def scale(self) -> float:
        """The number of steps for one unit of the value."""
        return UNIT / self.width

    def steps(self, value: float | None) -> int:
        """Return the number of steps that a row with this value adds to the sum."""
        number = self.default if value is None else float(value)
        assert number is not None
        return math.floor((min(max(number, self.low), self.high) - self.low) * self.scale)

    def mean(self, total: int, n: int) -> Fraction:
        """Return the mean of the values, given the sum of the steps of `n` rows.

        This mean is below the mean of the clipped values by less than `(1 + 2**-20) * 2**-30 * width`, and above it by
        at most `2**-50 * width`. The reason is that rounding down costs each row less than one step, and that each of
        three further roundings costs 2**-53 of the width.
        """
        return Fraction(self.low) + Fraction(self.width) * Fraction(int(total), n * UNIT)

    def plan(self, schema: Schema) -> Plan:
        """Return the sums that an engine computes. `InvalidParameter` if the expression does not fit the schema.

        What was planned for a schema is remembered: a question is checked before its rows are read.
        """
        if self._planned is None or self._planned[0] is not schema:
            set_fields(self, _planned=(schema, self._plan(schema)))
        assert self._planned is not None
        return self._planned[1]

    def _plan(self, schema: Schema) -> Plan:
        inner = checked_kind(self.expression if self._given is None else self._given, schema, "number", "boolean")
        if inner.kind == "boolean":
            return self._plan_truth(inner, schema)
        return Plan(added=built(self.steps_of(inner), schema))

    def steps_of(self, inner: Expression) -> tree.Node:
        """Return the expression (as a tree) of the number of steps that a row adds: a whole number from 0 to `UNIT`,
        never NULL.
        """
        assert self.default is not None
        value = self.expression
        if inner.kind == "boolean":
            yes, no, missing = self.steps(1.0), self.steps(0.0), self.steps(None)
            branches = ((self.expression, tree.Number(yes)), (tree.Not(self.expression), tree.Number(no)))
            return tree.Case(branches, tree.Number(missing))
        if inner.nullable:
            value = tree.Call("coalesce", (value, tree.Number(self.default)))
        value = tree.Call("clip", (value, tree.Number(self.low), tree.Number(self.high)))
        if self.low != 0.0:
            value = tree.Arithmetic("-", value, tree.Number(self.low))
        return tree.Call("floor", (tree.Arithmetic("*", value, tree.Number(self.scale)),))

    def _plan_truth(self, inner: Expression, schema: Schema) -> Plan:
        yes, no, missing = self.steps(1.0), self.steps(0.0), self.steps(None)
        if no == 0 and missing in (yes, no):
            # The usual case, and quicker: count rows, then multiply.
            if missing != yes or not inner.nullable:
                return Plan(counted=inner, times=yes)
            present = tree.Call("coalesce", (self.expression, tree.Truth(True)))
            return Plan(counted=built(present, schema), times=yes)
        return Plan(added=built_whole(self.steps_of(inner), schema, UNIT))

    def adds(self, schema: Schema) -> Added:
        """Return what each row adds to the sums. This defines the statistic."""
        inner = checked_kind(self.expression, schema, "number", "boolean")
        return lambda row: [(0, self.steps(python_rows.evaluate(inner, row)))]  # type: ignore[arg-type]

    def size(self, schema: Schema) -> int:
        """The length of the result, which is 1."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain data."""
        ends = {"low": self.low, "high": self.high, "default": self.default}
        return {"statistic": "fixed-sum", "expression": to_json(self.expression), **ends}


@dataclass(frozen=True)
class PowerSum:
    """The sum over all rows of a power of `x`, counted in whole steps of 2**-30.

    `x` is a clipped value scaled to [0, 1]: `x = q/2**30`, where `q` is the number of steps that the row adds to the
    `FixedSum` of the value. With a second `FixedSum`, `x` is the difference of the two values scaled to [0, 1], `(q -
    q2 + 2**30)/2**31`, which is 1/2 if they agree. A row adds `floor(x**power * 2**30)`. The power is computed by
    multiplying `x` by itself from left to right in double precision. So a sum over up to 2**32 rows is exact in 64
    bits, in any order. The value of each row is rounded down by less than one step plus a floating-point rounding
    error.

    Parameters
    ----------
    first : FixedSum
        The value, and its range.
    power : int
        From 2 to 4.
    second : FixedSum, optional
        What is taken off it, of the same range.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> schema = Schema({"age": "integer"})
    >>> of_rows(PowerSum(FixedSum("age", 0, 100), 2), [{"age": 50}, {"age": 100}], schema)[0] / UNIT
    1.25
    """

    first: FixedSum
    power: int
    second: FixedSum | None = None

    def __post_init__(self) -> None:
        if self.power not in (2, 3, 4):
            raise InvalidParameter(f"power must be 2, 3 or 4, got {self.power!r}")

    def plan(self, schema: Schema) -> Plan:
        """Return the plan of the sums that an engine computes. `InvalidParameter` is raised if an expression does not
        fit the schema.
        """
        parts = [part for part in (self.first, self.second) if part is not None]
        steps = [part.steps_of(checked_kind(part.expression, schema, "number", "boolean")) for part in parts]
        value = steps[0]
        if len(steps) > 1:
            value = tree.Arithmetic("+", tree.Arithmetic("-", value, steps[1]), tree.Number(UNIT))
        value = tree.Arithmetic("*", value, tree.Number(1 / (len(steps) * UNIT)))
        product: tree.Node = value
        for _ in range(self.power - 1):
            product = tree.Arithmetic("*", product, value)
        whole = tree.Call("floor", (tree.Arithmetic("*", product, tree.Number(UNIT)),))
        return Plan(added=built(whole, schema))

    def adds(self, schema: Schema) -> Added:
        """Return what each row adds to the sums. This defines the statistic."""
        own = [part.adds(schema) for part in (self.first, self.second) if part is not None]

        def added(row: Row) -> list[tuple[int, int]]:
            steps = [sum(amount for _, amount in one(row)) for one in own]
            whole = steps[0] if len(steps) == 1 else steps[0] - steps[1] + UNIT
            value = product = whole / (len(steps) * UNIT)
            for _ in range(self.power - 1):
                product *= value
            return [(0, math.floor(product * UNIT))]

        return added

    def size(self, schema: Schema) -> int:
        """The length of the result, which is 1."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain data."""
        second = None if self.second is None else self.second.to_dict()
        return {"statistic": "power-sum", "first": self.first.to_dict(), "power": self.power, "second": second}
