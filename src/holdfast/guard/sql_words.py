"""A part of a SQL statement as text of the row language, whose own parser then reads it again and decides what passes.

sqlglot writes a tree in a dialect of its own: `timestamp '2020-12-31'` becomes a cast, `log2(x)` becomes `LOG(2, x)`,
`cast(s as number)` becomes a decimal. Here each of these is written as the row language has it, and what SQL spells in
several ways (`extract`, `date_part`, `||`, `nullif`, `text::date`) in the one way that the row language has. Any other
form is written as sqlglot has it, and refused where the row language has no such form.

What stands between commas or `as` in SQL and comes next to an operator here is written in brackets, as the text is read
again by precedence.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import exp

_PARTS = {name: name for name in ("year", "quarter", "month", "day", "hour", "minute", "second")}
"""Parts of a date by the names that `extract` and `date_part` have for them."""
_PARTS |= {"isodow": "weekday", "dayofweekiso": "weekday", "epoch": "seconds"}


def row_words(node: exp.Expr) -> str:
    """The text of the row language for a part of a SQL tree.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> row_words(parse_one("extract(month from seen) = 3 and seen > timestamp '2020-12-31 00:00:00'"))
    "MONTH(seen) = 3 AND seen > timestamp '2020-12-31 00:00:00'"
    >>> row_words(parse_one("cast(code as int) + log2(x)"))
    'cast(code as integer) + log2(x)'
    """
    return str(_generator()().generate(node))


def is_unclear(node: exp.Expr) -> bool:
    """Whether a comparison stands next to an `is` without brackets: databases bind `=` tighter, sqlglot does not.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> [is_unclear(parse_one(text)) for text in ("a = b is null", "a = (b is null)", "(a = b) is null")]
    [True, False, False]
    """
    from sqlglot import exp

    compared = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
    distinct = (exp.NullSafeEQ, exp.NullSafeNEQ)
    if not isinstance(node, (*compared, *distinct)):
        return False
    if isinstance(node.this, distinct):
        return True
    last = node.expression.this if isinstance(node.expression, exp.Not) else node.expression
    return isinstance(last, distinct) or (isinstance(last, exp.Is) and isinstance(last.expression, exp.Null))


@cache
def _generator() -> Callable[[], Any]:
    from sqlglot import exp, generator
    from sqlglot.errors import ErrorLevel

    whole = {"TINYINT", "SMALLINT", "INT", "MEDIUMINT", "BIGINT"}
    numbers = {"FLOAT", "DOUBLE", "DECIMAL", "UDOUBLE", "BIGDECIMAL"}
    timed = {"DATE": "date", "TIMESTAMP": "timestamp", "DATETIME": "timestamp", "TIMESTAMPTZ": "timestamptz"}
    kinds = dict.fromkeys(whole, "integer") | dict.fromkeys(numbers, "number") | timed

    def cast(self: Any, node: Any) -> str:
        to = node.to
        kind = None if to.expressions else kinds.get(to.this.name if hasattr(to.this, "name") else str(to.this))
        if kind in timed.values() and isinstance(node.this, exp.Literal) and node.this.is_string:
            return f"{kind} {self.sql(node.this)}"
        return f"cast({self.sql(node.this)} as {self.sql(to).lower() if kind is None else kind})"

    def log(self: Any, node: Any) -> str:
        base = node.this.name if node.expression is not None and isinstance(node.this, exp.Literal) else ""
        if base in ("2", "10"):
            return f"log{base}({self.sql(node.expression)})"
        return str(self.function_fallback_sql(node))

    def extract(self: Any, node: Any) -> str:
        part = node.this.name.lower()
        return f"{_PARTS.get(part, part).upper()}({self.sql(node.expression)})"

    def other(self: Any, node: Any) -> str:
        given = node.expressions
        named = str(node.this).lower() in ("date_part", "datepart") and len(given) == 2
        if named and isinstance(given[0], exp.Literal) and given[0].is_string:
            part = given[0].name.lower()
            return f"{_PARTS.get(part, part).upper()}({self.sql(given[1])})"
        return str(self.anonymous_sql(node))

    def side(self: Any, node: Any) -> str:
        """An operand of an operator that SQL does not write: in brackets, unless nothing in it could be torn apart."""
        closed = isinstance(node, (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Paren))
        return self.sql(node) if closed else f"({self.sql(node)})"

    def nullif(self: Any, node: Any) -> str:
        one, two = side(self, node.this), side(self, node.expression)
        return f"CASE WHEN {one} = {two} THEN NULL ELSE {one} END"

    def distinct(self: Any, node: Any) -> str:
        """`a is distinct from b`: two missing values are not distinct, and one is distinct from any other value."""
        pair = node.this, node.expression
        one, two = (side(self, part) for part in pair)
        if any(isinstance(part, exp.Null) for part in pair):
            same = f"({two if isinstance(node.this, exp.Null) else one} IS NULL)"
        elif any(isinstance(part, exp.Literal) for part in pair):
            same = f"COALESCE({one} = {two}, FALSE)"
        else:
            same = f"COALESCE({one} = {two}, {one} IS NULL AND {two} IS NULL)"
        return same if isinstance(node, exp.NullSafeEQ) else f"(NOT {same})"

    def case(self: Any, node: Any) -> str:
        """`case x when 1 then` is `case when x = 1 then`."""
        given = None if node.this is None else f"({self.sql(node.this)})"
        tests = [
            self.sql(branch.this) if given is None else f"{given} = {side(self, branch.this)}"
            for branch in node.args["ifs"]
        ]
        pairs = zip(tests, node.args["ifs"], strict=True)
        branches = " ".join(f"WHEN {test} THEN {self.sql(branch.args['true'])}" for test, branch in pairs)
        otherwise = node.args.get("default")
        return f"CASE {branches}{'' if otherwise is None else f' ELSE {self.sql(otherwise)}'} END"

    class RowWords(generator.Generator):
        TRANSFORMS = generator.Generator.TRANSFORMS | {
            exp.Anonymous: other,
            exp.Case: case,
            exp.Cast: cast,
            exp.TryCast: cast,
            exp.DPipe: lambda self, node: f"CONCAT({self.sql(node.this)}, {self.sql(node.expression)})",
            exp.Extract: extract,
            exp.Log: log,
            exp.Nullif: nullif,
            exp.NullSafeEQ: distinct,
            exp.NullSafeNEQ: distinct,
        }

    def made() -> Any:
        return RowWords(comments=False, unsupported_level=ErrorLevel.IGNORE)

    return made
