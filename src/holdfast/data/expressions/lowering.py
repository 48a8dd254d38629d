"""Forms that are written in other forms of the language before they are compiled: dates, roundings, logarithms, casts.

No engine's own function is asked, so none can differ. A date is a number of days and a timestamp a number of
microseconds, and their parts are whole-number arithmetic; `%` and `round` are exact arithmetic too; a logarithm is ten
square roots and a short series, which are the same double operations everywhere. The interpreter does not come here: it
has Python's own calendar, remainder and logarithm, so that tests compare two opinions.

Every rule mentions its operand a bounded number of times; the checker counts what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from holdfast.data.expressions import tree
from holdfast.errors import InvalidParameter

DAY = 86_400_000_000
"""Microseconds of a day."""
_EPOCH = date(1970, 1, 1).toordinal()
_START = datetime(1970, 1, 1)

FIRST_DAY, LAST_DAY = date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH
"""Days since 1970 of 0001-01-01 and of 9999-12-31; what a column holds beyond them is NULL."""
FIRST_MOMENT, AFTER_MOMENTS = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY
LAST_MOMENT = AFTER_MOMENTS - 32
"""The last double below the year 10000; what rounds up to that year is moved back to it."""

WHOLE = 2.0**53
"""Up to here every whole number is a double."""

Timed = Literal["date", "timestamp", "timestamptz"]
TIMED: tuple[Timed, ...] = ("date", "timestamp", "timestamptz")


# --- Written dates ----------------------------------------------------------------------------------------------------


def days(written: str) -> int:
    """Days since 1970-01-01 of a written date.

    Examples
    --------
    >>> days("1970-01-31")
    30
    """
    try:
        if len(written) != 10:
            raise ValueError
        return date.fromisoformat(written).toordinal() - _EPOCH
    except ValueError:
        raise InvalidParameter(
            f"expression must have a date in the form date '2020-12-31', got {written[:40]!r}"
        ) from None


def microseconds(written: str, kind: str) -> int:
    """Microseconds since 1970-01-01 of a written timestamp; with a zone, and then in UTC, for `timestamptz`.

    Examples
    --------
    >>> microseconds("1970-01-01 00:00:01", "timestamp"), microseconds("1970-01-01 01:00:00+01:00", "timestamptz")
    (1000000, 0)
    """
    try:
        moment = datetime.fromisoformat(written)
        if len(written) < 19 or (moment.tzinfo is not None) != (kind == "timestamptz"):
            raise ValueError
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        zone = "+00:00" if kind == "timestamptz" else ""
        raise InvalidParameter(
            f"expression must have a {kind} in the form {kind} '2020-12-31 23:59:59{zone}', with its time, got "
            f"{written[:40]!r}"
        ) from None
    return (moment - _START) // timedelta(microseconds=1)


# --- Small parts ------------------------------------------------------------------------------------------------------


def _n(value: float) -> tree.Number:
    return tree.Number(value)


def _floor(node: tree.Node) -> tree.Node:
    return tree.Call("floor", (node,))


def _plus(left: tree.Node, right: tree.Node) -> tree.Node:
    return tree.Arithmetic("+", left, right)


def _minus(left: tree.Node, right: tree.Node) -> tree.Node:
    return tree.Arithmetic("-", left, right)


def _times(left: float, right: tree.Node) -> tree.Node:
    return tree.Arithmetic("*", _n(left), right)


def _over(left: tree.Node, right: float) -> tree.Node:
    return tree.Arithmetic("/", left, _n(right))


def _whole_over(left: tree.Node, right: float) -> tree.Node:
    """The whole part of a quotient of whole numbers: below 2**53 a rounded quotient never reaches the next one."""
    return _floor(_over(left, right))


def _where(condition: tree.Node, then: tree.Node, otherwise: tree.Node) -> tree.Node:
    return tree.Case(((condition, then),), otherwise)


def _at_least(left: tree.Node, right: float) -> tree.Node:
    return tree.Comparison(">=", left, _n(right))


def plain(node: tree.Node) -> tree.Node:
    """Return the number behind a date or a timestamp."""
    return tree.Retyped(node, "number")


# --- The calendar -----------------------------------------------------------------------------------------------------
# Neri and Schneider, "Euclidean affine functions and their application to calendar algorithms" (2023), in doubles: all
# numbers are whole and below 2**31, so every operation is exact. Days are counted from 0000-03-01, so that the day that
# leap years add is the last of a year.


def _day_number(node: tree.Node, kind: str) -> tree.Node:
    return plain(node) if kind == "date" else _whole_over(plain(node), DAY)


def _century_and_rest(day: tree.Node) -> tuple[tree.Node, tree.Node]:
    quarters = _plus(_times(4, _plus(day, _n(719_468))), _n(3))
    century = _whole_over(quarters, 146_097)
    in_century = _whole_over(_minus(quarters, _times(146_097, century)), 4)
    return century, _plus(_times(4, in_century), _n(3))


def _day_of_year(day: tree.Node) -> tree.Node:
    """From 0, the first of March."""
    _, rest = _century_and_rest(day)
    return _whole_over(_minus(rest, _times(1_461, _whole_over(rest, 1_461))), 4)


def _year(day: tree.Node) -> tree.Node:
    century, rest = _century_and_rest(day)
    year = _plus(_times(100, century), _whole_over(rest, 1_461))
    return _where(_at_least(_day_of_year(day), 306), _plus(year, _n(1)), year)


def _month(day: tree.Node) -> tree.Node:
    month = _whole_over(_plus(_times(2_141, _day_of_year(day)), _n(197_913)), 65_536)
    return _where(_at_least(_day_of_year(day), 306), _minus(month, _n(12)), month)


def _day(day: tree.Node) -> tree.Node:
    scaled = _plus(_times(2_141, _day_of_year(day)), _n(197_913))
    left = _minus(scaled, _times(65_536, _whole_over(scaled, 65_536)))
    return _plus(_whole_over(left, 2_141), _n(1))


def _weekday(day: tree.Node) -> tree.Node:
    since = _plus(day, _n(-FIRST_DAY))  # 0001-01-01 was a Monday
    return _plus(_minus(since, _times(7, _whole_over(since, 7))), _n(1))


def _of_day(node: tree.Node) -> tree.Node:
    return _minus(plain(node), _times(DAY, _whole_over(plain(node), DAY)))


_DATE_PARTS: dict[str, Callable[[tree.Node], tree.Node]] = {
    "year": _year,
    "quarter": lambda day: _whole_over(_plus(_month(day), _n(2)), 3),
    "month": _month,
    "day": _day,
    "weekday": _weekday,
    "days": lambda day: day,
}
_CLOCK: dict[str, tuple[int, int | None]] = {
    "hour": (3_600_000_000, None),
    "minute": (60_000_000, 3_600_000_000),
    "second": (1_000_000, 60_000_000),
}


def _clock(node: tree.Node, name: str) -> tree.Node:
    unit, above = _CLOCK[name]
    ticks = _whole_over(_of_day(node), unit)
    return ticks if above is None else _minus(ticks, _times(above // unit, _whole_over(_of_day(node), above)))


# --- Numbers ----------------------------------------------------------------------------------------------------------


def remainder(left: tree.Node, right: tree.Node) -> tree.Node:
    """`left % right` of whole numbers, with the sign of `left`; NULL by zero and beyond 2**53.

    Up to 2**53 the whole part of the rounded quotient is that of the exact one, and what follows is exact.
    """
    quotient = tree.Arithmetic("/", left, right)
    whole = _where(_at_least(quotient, 0), _floor(quotient), tree.Call("ceil", (quotient,)))
    difference = _minus(left, tree.Arithmetic("*", right, whole))
    small = tuple(tree.Between(part, _n(-WHOLE), _n(WHOLE)) for part in (left, right))
    return _where(tree.And(small), difference, tree.Null())


def rounded(operand: tree.Node, digits: int) -> tree.Node:
    """The nearest whole number, halves away from zero; of `x * 10**digits`, divided again, where there are digits.

    `x - floor(x)` is exact, so that 0.49999999999999994 is not taken for a half.
    """
    scaled = tree.Arithmetic("*", operand, _n(10.0**digits)) if digits else operand
    down, up = _floor(scaled), tree.Call("ceil", (scaled,))
    above = _where(_at_least(_minus(scaled, down), 0.5), _plus(down, _n(1)), down)
    below = _where(_at_least(_minus(up, scaled), 0.5), _minus(up, _n(1)), up)
    nearest = _where(_at_least(scaled, 0), above, below)
    return _over(nearest, 10.0**digits) if digits else nearest


ROOTS = 10
LOG_TERMS = 6
LOG_GRID = 2.0**40
LOG_SCALE = {"ln": 1.0, "log2": 1.4426950408889634, "log10": 0.4342944819032518}
"""One over the natural logarithm of each base."""


def logarithm(operand: tree.Node, name: str) -> tree.Node:
    """Return a logarithm in steps of 2**-40, within 1e-12 of the true one; NULL at zero and below.

    Ten square roots bring a number between 2**-100 and 2**100 to `y` with `|log y| < 0.068`, then
    `log y = 2 (s + s**3 / 3 + s**5 / 5 + ...)` with `s = (y - 1) / (y + 1)`. Roots and quotients are correctly rounded
    on every engine. Roots err by less than 2**-52 of `y`, which 1024 makes 2.3e-13: less than half a step also for the
    base 2, so that powers of the base have the logarithm that they should.
    """
    positive = tree.Comparison(">", operand, _n(0))
    root: tree.Node = tree.Call("abs", (tree.Call("coalesce", (_where(positive, operand, tree.Null()), _n(1))),))
    for _ in range(ROOTS):
        root = tree.Call("sqrt", (root,))
    # Neither clip changes a value: they tell the checker what it cannot see.
    ratio = tree.Arithmetic("/", _minus(root, _n(1)), tree.Call("clip", (_plus(root, _n(1)), _n(1), _n(4))))
    square = tree.Arithmetic("*", ratio, ratio)
    series: tree.Node = _n(1 / (2 * LOG_TERMS - 1))
    for term in range(LOG_TERMS - 1, 0, -1):
        series = _plus(_n(1 / (2 * term - 1)), tree.Arithmetic("*", square, series))
    value = tree.Arithmetic("*", _times(2.0 ** (ROOTS + 1) * LOG_SCALE[name], ratio), series)
    steps = _floor(_plus(_times(LOG_GRID, tree.Call("clip", (value, _n(-128), _n(128)))), _n(0.5)))
    return _where(positive, _times(1 / LOG_GRID, steps), tree.Null())


# --- Casts ------------------------------------------------------------------------------------------------------------


def _digits(numbers: range) -> tuple[tree.Text, ...]:
    return tuple(tree.Text(f"{number:02d}") for number in numbers)


_MONTHS, _DAYS, _FOURTHS = _digits(range(1, 13)), _digits(range(1, 32)), _digits(range(0, 100, 4))
_NEVER = tuple(tree.Text(day) for day in ("02-30", "02-31", "04-31", "06-31", "09-31", "11-31"))


def _from_text_to_date(text: tree.Node) -> tree.Node:
    """`YYYY-MM-DD` of a day that there is; NULL for any other text.

    Which texts these are is looked up in lists of texts, which mention the text less often than arithmetic would.
    """

    def part(start: int, length: int) -> tree.Node:
        return tree.Call("substring", (text, _n(start), _n(length)))

    def number(start: int, length: int) -> tree.Node:
        # Where it is no number the test fails; here it is one, and small, so that what follows is short.
        parsed = tree.Call("coalesce", (tree.Call("number", (part(start, length),)), _n(1)))
        return tree.Call("clip", (parsed, _n(0), _n(9_999)))

    whole_century = tree.Comparison("=", part(3, 2), tree.Text("00"))
    leap = tree.In(_where(whole_century, part(1, 2), part(3, 2)), _FOURTHS)
    there = tree.And(
        (
            tree.Call("like", (text, tree.Text("____-__-__"))),
            tree.Not(tree.Call("contains", (part(1, 4), tree.Text("+")))),
            tree.Not(tree.Call("contains", (part(1, 4), tree.Text(".")))),
            _at_least(tree.Call("number", (part(1, 4),)), 1),
            tree.In(part(6, 2), _MONTHS),
            tree.In(part(9, 2), _DAYS),
            tree.Not(tree.In(part(6, 5), _NEVER)),
            tree.Or((tree.Comparison("<>", part(6, 5), tree.Text("02-29")), leap)),
        )
    )
    # Counted from the first of March, as above: January and February belong to the year before.
    late = tree.In(part(6, 2), _MONTHS[:2])
    year = _where(late, _minus(number(1, 4), _n(1)), number(1, 4))
    month = _where(late, _plus(number(6, 2), _n(9)), _minus(number(6, 2), _n(3)))
    leaps = _minus(_whole_over(year, 400), _whole_over(year, 100))
    before = _plus(_whole_over(_times(1_461, year), 4), leaps)
    days = _plus(_plus(before, _whole_over(_plus(_times(153, month), _n(2)), 5)), _minus(number(9, 2), _n(719_469)))
    # The clip changes nothing; it tells the checker how large a date can be.
    clipped = tree.Call("clip", (_floor(days), _n(FIRST_DAY), _n(LAST_DAY)))
    return tree.Retyped(_where(there, clipped, tree.Null()), "date")


def _from_text_to_integer(text: tree.Node) -> tree.Node:
    number = tree.Call("number", (text,))
    return _where(tree.Comparison("=", _floor(number), number), number, tree.Null())


_CASTS: dict[tuple[str, str], Callable[[tree.Node], tree.Node]] = {
    ("text", "number"): lambda text: tree.Call("number", (text,)),
    ("text", "integer"): _from_text_to_integer,
    ("text", "date"): _from_text_to_date,
    ("number", "number"): lambda node: node,
    ("boolean", "number"): lambda node: tree.Case(((node, _n(1)), (tree.Not(node), _n(0))), tree.Null()),
    ("boolean", "integer"): lambda node: tree.Case(((node, _n(1)), (tree.Not(node), _n(0))), tree.Null()),
    ("date", "timestamp"): lambda node: tree.Retyped(_times(DAY, plain(node)), "timestamp"),
    **{(kind, "date"): lambda node: _date_of(node) for kind in ("timestamp", "timestamptz")},
    **{(kind, kind): lambda node: node for kind in ("boolean", "text", *TIMED)},
}
_INSTEAD: dict[tuple[str, str], str] = {
    ("number", "integer"): "write round(x), floor(x) or ceil(x), which say how",
    ("number", "boolean"): "write x <> 0",
    ("text", "boolean"): "write s = 'true'",
    ("number", "text"): "declare the column as text in the schema, which keeps its digits",
    ("date", "text"): "compare dates, or take year(d), month(d) and day(d)",
    ("date", "number"): "write days(d), the days since 1970-01-01",
    ("timestamp", "number"): "write seconds(t), the seconds since 1970-01-01",
    ("timestamptz", "number"): "write seconds(t), the seconds since 1970-01-01",
    ("text", "timestamp"): "declare the column as timestamp in the schema",
    ("text", "timestamptz"): "declare the column as timestamptz in the schema",
    ("timestamp", "timestamptz"): "declare the column with the zone that it has where the data are kept",
    ("timestamptz", "timestamp"): "date(t), hour(t) and the other parts are those of UTC",
}
_OTHER_NAMES = {
    **dict.fromkeys(["double", "float", "real", "double precision", "decimal", "numeric"], "number"),
    **dict.fromkeys(["int", "bigint", "smallint"], "integer"),
    **dict.fromkeys(["varchar", "string", "char"], "text"),
    "bool": "boolean",
}


def _date_of(node: tree.Node) -> tree.Node:
    return tree.Retyped(_whole_over(plain(node), DAY), "date")


def cast_of(node: tree.Node, kind: str, wanted: str) -> tree.Node:
    """`cast(node as wanted)` for a node of a kind; a refusal names what to write instead."""
    rule = _CASTS.get((kind, wanted))
    if rule is not None:
        return rule(node)
    if near := _OTHER_NAMES.get(wanted.lower()):
        hint = f"write cast(... as {near})"
    else:
        hint = _INSTEAD.get((kind, wanted), "casts are to number, integer, date and timestamp")
    raise InvalidParameter(f"expression must not convert a {kind} to {wanted[:40]!r} with cast; {hint}")


# --- All together -----------------------------------------------------------------------------------------------------

LOWERED = frozenset(
    {*_DATE_PARTS, *_CLOCK, *LOG_SCALE, "date", "timestamp", "timestamptz", "seconds", "round", "ilike", "cast"}
)
"""Functions that no compiler knows."""


def lowered(node: tree.Node, kind_of: Callable[[tree.Node], Any]) -> tree.Node | None:
    """Return the node in other forms of the language; None where it is one that compilers know.

    Parameters
    ----------
    node : Node
        Its parts are of the kinds that it takes.
    kind_of : callable
        The kind of a part.

    Examples
    --------
    >>> lowered(tree.Call("date", (tree.Text("1970-01-02"),)), lambda part: "text")
    Retyped(operand=Number(value=1.0), kind='date')
    """
    match node:
        case tree.Arithmetic("%", left, right):
            return remainder(left, right)
        case tree.Arithmetic("-", left, right) if (kind := kind_of(left)) in TIMED:
            difference = _minus(plain(left), plain(right))
            return difference if kind == "date" else _over(difference, 1e6)
        case tree.Call(name, (first, *others)) if name in LOWERED:
            return _call(name, first, others, kind_of(first))
        case _:
            return None


def _call(name: str, first: tree.Node, others: list[tree.Node], kind: Any) -> tree.Node:
    match name:
        case "date" if isinstance(first, tree.Text):
            return tree.Retyped(_n(days(first.value)), "date")
        case "date":
            return _date_of(first)
        case "timestamp" | "timestamptz":
            assert isinstance(first, tree.Text)
            return tree.Retyped(_n(microseconds(first.value, name)), name)
        case "seconds":
            return _over(plain(first), 1e6)
        case "round":
            return rounded(first, int(getattr(others[0], "value", 0)) if others else 0)
        case "ilike":
            pattern = str(getattr(others[0], "value", ""))
            small = "".join(letter.lower() if letter.isascii() else letter for letter in pattern)
            return tree.Call("like", (tree.Call("lower", (first,)), tree.Text(small)))
        case "cast":
            return cast_of(first, str(kind), str(getattr(others[0], "value", "")))
        case _ if name in LOG_SCALE:
            return logarithm(first, name)
        case _ if name in _CLOCK:
            return _clock(first, name)
    return _DATE_PARTS[name](_day_number(first, str(kind)))
