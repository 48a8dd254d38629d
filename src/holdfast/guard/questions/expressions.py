"""What a question says about each row: an expression with its declared range, and what a missing value means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.core import arguments
from holdfast.data.expressions import Expression, checked, expression, to_json, to_text, tree
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, FixedSum, Present, Statistic
from holdfast.data.values import Summary
from holdfast.errors import InvalidParameter
from holdfast.guard.columns import DeclaredColumn, bounds_of, is_two_valued

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy
    from holdfast.guard.questions.base import Question


@dataclass(frozen=True)
class BoundExpression:
    """An expression checked against a schema, with the range and the default that it is read with.

    What is asked about is the value rounded down to `2**-30` of the range: that is a function of the row too, and every
    engine computes the same. `default` is what a row counts as where the expression is null, and None where such rows
    do not count: the question is then about the mean among the rows that have a value.

    Where there is a condition `where`, the `expression` is null on every row that does not meet it, so only rows that
    meet it count. `binary` says that the values are those of a condition; `two_valued` that every value counts as one
    of the ends of the range, as those of a condition and of `case when c then 1 else 0 end` do, so that their sum is a
    number of rows. `asked` is then the expression without the condition, and `filled` its default, where it has one.
    """

    expression: Expression
    low: float
    high: float
    default: float | None
    binary: bool
    two_valued: bool
    where: Expression | None = None
    asked: Expression | None = None
    filled: float | None = None

    @property
    def where_present(self) -> bool:
        """Whether only rows with a value count."""
        return self.default is None

    @property
    def fixed_sum(self) -> FixedSum:
        """What to measure: the sum over the rows, to which a row that does not count adds nothing."""
        return FixedSum(self.expression, self.low, self.high, self.default)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The sum, and how many rows count where not all of them do."""
        return (self.fixed_sum, Present(self.expression)) if self.where_present else (self.fixed_sum,)

    def in_unit(self, share: float) -> float:
        """Return a share of the range in the unit of the values."""
        return min(max(self.low + (self.high - self.low) * share, self.low), self.high)

    def outward(self, lower: float, upper: float) -> list[float]:
        """Two shares of the range in the unit of the values, rounded apart."""
        hair = 0.0 if self.binary else 4 * math.ulp(max(abs(self.low), abs(self.high)))
        return [max(self.low, self.in_unit(lower) - hair), min(self.high, self.in_unit(upper) + hair)]

    def summary(self, total: int, n: int) -> Summary:
        """Return the sum over the rows as the holdouts take it. Secret."""
        if self.binary:
            return Summary(n, 0.0, 1.0, float(total // UNIT), float(total // UNIT), True)
        return Summary(n, self.low, self.high, self.low * n + (self.high - self.low) * (total / UNIT), math.nan, False)

    def to_dict(self) -> dict[str, Any]:
        """Return the question's rows as plain data, in one spelling."""
        if self.where is not None and self.asked is not None:
            named = {"expression": to_json(self.asked.node), "low": self.low, "high": self.high}
            named |= {"where": to_json(self.where.node)}
            if not self.asked.nullable:
                return named
            return {**named, "where_present": True} if self.filled is None else {**named, "default": self.filled}
        plain = {"expression": to_json(self.expression.node), "low": self.low, "high": self.high}
        return {**plain, "where_present": True} if self.where_present else {**plain, "default": self.default}


def spelled(
    source: Any,
    schema: Schema,
    low: Any,
    high: Any,
    default: Any,
    where_present: Any = False,
    *,
    ratios: bool = True,
    where: Any = None,
    columns: Mapping[str, DeclaredColumn] | None = None,
) -> BoundExpression:
    """Check an expression, its range, what its nulls mean and which rows it is about.

    An expression that cannot be null by the schema needs no meaning for nulls: `where_present` then changes nothing.
    `ratios` is False for questions that cannot be about some of the rows alone. `columns` are the policy's
    declarations: an expression that is one column has its declared range where none is given.

    Raises
    ------
    InvalidParameter
        Among others: an expression that can be null, and nothing says what that means. It depends on the expression and
        the schema, and on no row.
    """
    parsed = expression(source, schema)
    if where is not None:
        if not ratios:
            raise InvalidParameter(
                "where must be left out, because this kind of question has no interval for a part of the rows; "
                "instead, ask for the proportion of rows that meet both conditions"
            )
        plain = spelled(source, schema, low, high, default, where_present, columns=columns)
        return _among(plain, parsed, where, schema)
    if low is None and high is None:
        low, high = bounds_of(parsed, columns) or (None, None)
    if not isinstance(where_present, bool):
        raise InvalidParameter(f"where_present must be true or false, got a {type(where_present).__name__}")
    if where_present and default is not None:
        raise InvalidParameter(
            "default and where_present must not both be given: rows without a value are either counted as the "
            "default or left out"
        )
    if where_present and not ratios:
        raise InvalidParameter(
            "where_present must be left out, because this kind of question has no interval for a part of the rows; "
            "instead, give default, the value that is used for rows with null"
        )
    if not parsed.nullable:
        where_present = False
    elif default is None and not where_present and parsed.kind != "text":
        raise InvalidParameter(_unsaid(parsed, schema, ratios))
    if parsed.kind == "boolean":
        if (low, high) not in ((None, None), (0, 1)):
            raise InvalidParameter("low and high must be left out for a condition, whose values are 0 and 1")
        filled = 0.0 if default is None else arguments.real("default", default, at_least=0, at_most=1)
        if filled not in (0.0, 1.0):
            raise InvalidParameter(f"default must be 0 or 1 for a condition, got {filled:g}")
        return BoundExpression(parsed, 0.0, 1.0, None if where_present else filled, True, True)
    if parsed.kind == "text":
        raise InvalidParameter("expression must be a condition or a number, got a text")
    if low is None or high is None:
        raise InvalidParameter(
            "low and high must be given for a number, because each row's value is clipped to them; a policy can "
            "declare them for a column (Policy.columns)"
        )
    low, high = arguments.value_range(low, high)
    filled = low if default is None else arguments.real("default", default, at_least=low, at_most=high)
    counted = filled in (low, high) and is_two_valued(parsed, low, high)
    return BoundExpression(parsed, low, high, None if where_present else filled, False, counted)


USUAL = ("expression", "low", "high", "default", "where_present", "where")
"""The fields of a question about one expression, which say what it asks of each row."""


def rows_of(question: Question, schema: Schema, policy: Policy, *, ratios: bool = True) -> BoundExpression:
    """What a question with the usual fields says about each row; ranges may come from the policy's declarations."""
    source, low, high, default, where_present, where = (getattr(question, name) for name in USUAL)
    columns = policy.columns
    return spelled(source, schema, low, high, default, where_present, ratios=ratios, where=where, columns=columns)


def noisy_mean_of(question: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The noisy mean of the same rows, to offer where a question about their mean is refused."""
    same = {name: question[name] for name in USUAL if name in question}
    return "Ask for the mean with noise instead", {"kind": "mean"} | same


def _among(plain: BoundExpression, parsed: Expression, where: Any, schema: Schema) -> BoundExpression:
    """The same expression among the rows that meet a condition: it is null on all others."""
    condition = expression(where, schema)
    if condition.kind != "boolean" or not condition.columns:
        raise InvalidParameter("where must be a condition that uses columns, such as `age < 40`")
    value, filled = parsed.node, plain.default if parsed.nullable else None
    if filled is not None:
        other = tree.Truth(filled == 1) if plain.binary else tree.Number(filled)
        value = tree.Call("coalesce", (value, other))
    among = checked(tree.Case(((condition.node, value),), tree.Null()), schema)
    return BoundExpression(
        among, plain.low, plain.high, None, plain.binary, plain.two_valued, condition, parsed, filled
    )


def _unsaid(parsed: Expression, schema: Schema, ratios: bool) -> str:
    """The error for an expression that can be null without a word about what that means."""
    whole, number = to_text(parsed.node), "0 or 1" if parsed.kind == "boolean" else "NUMBER"
    ways = ["where_present=true (only the rows that have a value count)"] if ratios else []
    ways.append(f"default={number} (what the other rows count as)")
    ways.append(f"coalesce({whole if len(whole) <= 60 else '...'}, ...) in the expression")
    choices = f"{', '.join(ways[:-1])}, or {ways[-1]}"
    return f"expression can be null: {why_null(parsed, schema)}; say what null means: {choices}; nothing was spent"


def why_null(parsed: Expression, schema: Schema) -> str:
    """Why an expression can be null: columns with missing values, or how it is made."""
    names = [name for name in parsed.columns if schema[name].may_be_missing]
    if not names:
        return (
            "a `case` without `else`, a division by what may be 0, a remainder of numbers that may be beyond 2^53, or "
            "a function without a value on some numbers"
        )
    listed = ", ".join(map(repr, names[:3])) + (" and others" if len(names) > 3 else "")
    return f"the schema lets values of {listed} be missing"


def listed(name: str, values: Any) -> Sequence[Any]:
    """Values that came as a list, or an error: a text is no list of letters here."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise InvalidParameter(f"{name} must be a list")
    return values


def label_of(category: Any) -> str:
    """Return what a declared category is called."""
    return str(category).lower() if isinstance(category, bool) else str(category)
