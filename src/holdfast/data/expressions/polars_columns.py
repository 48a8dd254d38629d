"""Row expressions as polars expressions, which polars evaluates a batch at a time in one pass."""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

from holdfast.data.expressions import lowering, tree
from holdfast.data.expressions.checking import Expression, never_negative, never_zero
from holdfast.data.expressions.patterns import regex
from holdfast.data.expressions.python_rows import LOWER, UPPER, in_bucket
from holdfast.data.schema import Column, Schema

if TYPE_CHECKING:
    import polars as pl

_SPELT = r"^[+-]?[0-9]{1,15}(\.[0-9]{1,15})?$"


def read(schema: Schema) -> list[pl.Expr]:
    """Expressions that turn raw columns into what the language sees, each under its own name.

    Apply them once, with `select`, before anything from `compile`. A column must already have a polars type of its
    kind: any integer or float type or a decimal for numbers, Boolean, String, Date, Datetime.

    Examples
    --------
    >>> import polars as pl
    >>> from holdfast.data.schema import Schema
    >>> frame = pl.DataFrame({"x": [1.0, float("nan"), 1e40]})
    >>> frame.select(read(Schema({"x": "number"})))["x"].to_list()
    [1.0, None, None]
    """
    return [_read(column) for column in schema]


def held(column: Column, type_: Any) -> pl.Expr:
    """Return a raw column of a polars type as what is held of it: days, microseconds, whole numbers, doubles, texts.

    A decimal is the double nearest to its digits, as on every engine; parts of a microsecond are dropped.

    Examples
    --------
    >>> import polars as pl
    >>> from datetime import date
    >>> frame = pl.DataFrame({"d": [date(1970, 1, 3)]})
    >>> frame.select(held(Column("d", "date"), pl.Date()))["d"].to_list()
    [2]
    """
    import polars as pl

    raw = pl.col(column.name)
    if column.kind in ("timestamp", "timestamptz"):
        unit = getattr(type_, "time_unit", "us")
        whole = raw.to_physical().cast(pl.Int64)
        return whole * 1_000 if unit == "ms" else whole // 1_000 if unit == "ns" else whole
    if column.kind == "number" and isinstance(type_, pl.Decimal):
        return raw.cast(pl.String).cast(pl.Float64)
    return raw.to_physical().cast(pl.Int64) if column.kind == "date" else raw.cast(_type(column.kind))


def is_held(column: Column, type_: Any) -> bool:
    """Whether a raw column of a polars type is already what is held of it.

    Examples
    --------
    >>> import polars as pl
    >>> is_held(Column("d", "date"), pl.Date()), is_held(Column("x", "number"), pl.Float64())
    (False, True)
    """
    return column.kind in ("number", "boolean", "text", "integer") and type_ == _type(column.kind)


def _type(kind: str) -> Any:
    """The polars type that values of a kind are held in: whole numbers but for numbers, truth values and texts."""
    import polars as pl

    return {"number": pl.Float64, "boolean": pl.Boolean, "text": pl.String}.get(kind, pl.Int64)


def _read(column: Column) -> pl.Expr:
    import polars as pl

    raw = pl.col(column.name)
    if column.kind == "integer":
        return raw.cast(pl.Float64)
    if column.kind in lowering.TIMED:
        is_date = column.kind == "date"
        low, high = (
            (lowering.FIRST_DAY, lowering.LAST_DAY) if is_date else (lowering.FIRST_MOMENT, lowering.AFTER_MOMENTS)
        )
        clipped = pl.when(raw.is_between(low, high)).then(raw).cast(pl.Float64)
        return clipped if is_date else clipped.clip(upper_bound=float(lowering.LAST_MOMENT))
    if column.kind == "number":
        number = raw.cast(pl.Float64)
        smallest, largest = _number(repr(tree.SMALLEST)), _number(repr(tree.LARGEST))
        inside = pl.when(number.abs() <= largest).then(number)
        return pl.when(number.abs() < smallest).then(_number("0.0")).otherwise(inside).alias(column.name)
    return raw.cast(pl.Boolean if column.kind == "boolean" else pl.String)


@lru_cache(maxsize=1 << 12)
def _number(written: str) -> pl.Expr:
    """A double; kept because questions have many numbers in common, and polars takes long to take one over."""
    import polars as pl

    return pl.lit(float(written), dtype=pl.Float64)


def compile(expression: Expression) -> pl.Expr:
    """Return a polars expression over columns that `read` has been through.

    Examples
    --------
    >>> import polars as pl
    >>> from holdfast.data.expressions import expression
    >>> from holdfast.data.schema import Schema
    >>> rule = expression("x / 2 > 1", Schema({"x": "number"}))
    >>> pl.DataFrame({"x": [1.0, 4.0, None]}).select(compile(rule).alias("rule"))["rule"].to_list()
    [False, True, None]
    """
    return _Compiler(expression).of(expression.node)


class _Compiler:
    def __init__(self, expression: Expression) -> None:
        self.facts = expression.facts

    def of(self, node: tree.Node) -> pl.Expr:
        import polars as pl

        if (form := lowering.lowered(node, lambda part: self.facts[part].kind)) is not None:
            return self.of(form)
        match node:
            case tree.Retyped(operand):
                return self.of(operand)
            case tree.Name(column):
                return pl.col(column)
            case tree.Number(value):
                return _number(repr(value))
            case tree.Text(value):
                return pl.lit(value, dtype=pl.String)
            case tree.Truth(value):
                return pl.lit(value, dtype=pl.Boolean)
            case tree.Null():
                return pl.lit(None)
            case tree.Arithmetic("/", left, right):
                above, below = self.of(left), self.of(right)
                if not never_zero(right):
                    below = pl.when(below != 0.0).then(below)
                # By one number for all rows polars multiplies with its reciprocal, which rounds twice; and a column
                # can turn out to be one number in a batch. Adding zero times a column makes it a column again.
                return above / (below + above * 0.0)
            case tree.Arithmetic(sign, left, right):
                one, other = self.of(left), self.of(right)
                return one + other if sign == "+" else one - other if sign == "-" else one * other
            case tree.Minus(operand):
                return 0.0 - self.of(operand)
            case tree.Comparison(sign, left, right):
                compared: pl.Expr = tree.COMPARE[sign](self.of(left), self.of(right))
                return compared
            case tree.Between(operand, low, high):
                middle = self.of(operand)
                return (self.of(low) <= middle) & (middle <= self.of(high))
            case tree.In(operand, values):
                kind = pl.Float64 if isinstance(values[0], tree.Number) else pl.String
                listed = pl.Series([value.value for value in values], dtype=kind).implode()
                return self.of(operand).is_in(pl.lit(listed))
            case tree.IsNull(operand):
                return self.of(operand).is_null()
            case tree.Bucket(operand, salt, below):
                return self.of(operand).map_batches(
                    lambda values: _drawn(values, salt, below), return_dtype=pl.Boolean, is_elementwise=True
                )
            case tree.Not(operand):
                return ~self.of(operand)
            case tree.And(operands):
                return reduce(and_, [self.of(part) for part in operands])
            case tree.Or(operands):
                return reduce(or_, [self.of(part) for part in operands])
            case tree.Case(branches, otherwise):
                chain: Any = pl
                for condition, result in branches:
                    chain = chain.when(self.of(condition)).then(self.of(result))
                return chain.otherwise(self.of(otherwise))  # type: ignore[no-any-return]
            case tree.Call(name, arguments):
                return self._call(name, arguments)
        raise AssertionError(
            "a checked expression has only nodes that are handled here, so this is a defect of Holdfast"
        )

    def _call(self, name: str, arguments: tuple[tree.Node, ...]) -> pl.Expr:
        import polars as pl

        parts = [self.of(argument) for argument in arguments]
        first, written = parts[0], getattr(arguments[-1], "value", None)
        match name:
            case "abs":
                return first.abs()
            case "floor":
                return first.floor()
            case "ceil":
                return first.ceil()
            case "sign":
                return pl.when(first > 0.0).then(1.0).when(first < 0.0).then(-1.0).when(first == 0.0).then(0.0)
            case "sqrt":
                return first.sqrt() if never_negative(arguments[0]) else pl.when(first >= 0.0).then(first).sqrt()
            case "least" | "greatest":
                extreme = pl.min_horizontal(*parts) if name == "least" else pl.max_horizontal(*parts)
                nullable = [p for p, a in zip(parts, arguments, strict=True) if self.facts[a].nullable]
                # polars skips NULL here; in the language it stays NULL.
                return (
                    pl.when(~pl.any_horizontal(*(p.is_null() for p in nullable))).then(extreme) if nullable else extreme
                )
            case "clip":
                _, low, high = parts
                if self.facts[arguments[0]].nullable:
                    return first.clip(low, high)
                # These two take a third of the time of `clip`, but skip NULL.
                return pl.min_horizontal(pl.max_horizontal(first, low), high)
            case "coalesce":
                return pl.coalesce(*parts)
            case "length":
                return first.str.len_chars().cast(pl.Float64)
            case "lower":
                return first.str.replace_many(list(UPPER), list(LOWER))
            case "upper":
                return first.str.replace_many(list(LOWER), list(UPPER))
            case "starts_with":
                return first.str.starts_with(str(written))
            case "ends_with":
                return first.str.ends_with(str(written))
            case "contains":
                return first.str.contains(str(written), literal=True)
            case "like":
                return first.str.contains(rf"(?s)\A{regex(str(written))}\z")
            case "substring":
                start, length = (int(getattr(argument, "value", 0)) for argument in arguments[1:])
                return first.str.slice(start - 1, length)
            case "trim":
                return first.str.strip_chars(" ")
            case "concat":
                return pl.concat_str(parts)
            case "number":
                return pl.when(first.str.contains(_SPELT)).then(first).cast(pl.Float64, strict=False)
        raise AssertionError(
            "a checked expression has only functions that are handled here, so this is a defect of Holdfast"
        )


def _drawn(values: pl.Series, salt: str, below: int) -> pl.Series:
    """Which values are in the first buckets."""
    import polars as pl

    known: dict[Any, bool] = {}
    shares = []
    for value in values.to_list():
        if value not in known:
            known[value] = in_bucket(value, salt, below)
        shares.append(known[value])
    return pl.Series(shares, dtype=pl.Boolean)
