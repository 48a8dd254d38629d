"""One expression with its declared range: what a question says about each row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from holdfast import check
from holdfast.data.expressions import Expression, expression, to_json
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, FixedSum
from holdfast.data.values import Summary
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Spelled:
    """An expression checked against a schema, with the range and the default that it is read with.

    What is asked about is the value rounded down to `2**-30` of the range: that is a function of the row too, and every
    engine computes the same.
    """

    expression: Expression
    low: float
    high: float
    default: float
    binary: bool

    @property
    def fixed_sum(self) -> FixedSum:
        """What to measure."""
        return FixedSum(self.expression, self.low, self.high, self.default)

    def in_unit(self, share: float) -> float:
        """A share of the range in the unit of the values."""
        return min(max(self.low + (self.high - self.low) * share, self.low), self.high)

    def outward(self, lower: float, upper: float) -> list[float]:
        """Two shares of the range in the unit of the values, rounded apart."""
        hair = 0.0 if self.binary else 4 * math.ulp(max(abs(self.low), abs(self.high)))
        return [max(self.low, self.in_unit(lower) - hair), min(self.high, self.in_unit(upper) + hair)]

    def summary(self, total: int, n: int) -> Summary:
        """The sum over the rows as the holdouts take it. Secret."""
        if self.binary:
            return Summary(n, 0.0, 1.0, float(total // UNIT), float(total // UNIT), True)
        return Summary(n, self.low, self.high, self.low * n + (self.high - self.low) * (total / UNIT), math.nan, False)

    def to_dict(self) -> dict[str, Any]:
        """The question's rows as plain data, in one spelling."""
        return {
            "expression": to_json(self.expression.node),
            "low": self.low,
            "high": self.high,
            "default": self.default,
        }


def spelled(source: Any, schema: Schema, low: Any, high: Any, default: Any) -> Spelled:
    """Check an expression, its range and its default."""
    parsed = expression(source, schema)
    if parsed.kind == "boolean":
        if (low, high) not in ((None, None), (0, 1)):
            raise InvalidParameter("low and high must be left out for a condition, whose values are 0 and 1")
        filled = 0.0 if default is None else check.real("default", default, at_least=0, at_most=1)
        if filled not in (0.0, 1.0):
            raise InvalidParameter(f"default must be 0 or 1 for a condition, got {filled:g}")
        return Spelled(parsed, 0.0, 1.0, filled, True)
    if parsed.kind == "text":
        raise InvalidParameter("expression must be a condition or a number, got a text")
    if low is None or high is None:
        raise InvalidParameter("low and high must be given for a number: values are clipped to them row by row")
    low, high = check.value_range(low, high)
    filled = low if default is None else check.real("default", default, at_least=low, at_most=high)
    return Spelled(parsed, low, high, filled, False)


__all__ = ["Spelled", "spelled"]
