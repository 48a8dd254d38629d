"""Rows and random expressions over the columns that people have: dates, timestamps, decimals, long numbers, texts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any

from holdfast.data.expressions import checked, tree
from holdfast.data.expressions.checking import Expression
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from tests.data.expressions.odd_rows import INTEGERS, NUMBERS, TEXTS

SCHEMA = Schema(
    {
        "d": "date null",
        "born": "date null",
        "t": "timestamp null",
        "u": "timestamp null",
        "z": "timestamptz null",
        "price": "number null",
        "tiny": "number null",
        "x": "number null",
        "i": "integer null",
        "key": "text null",
        "s": "text null",
        "odd name-%s": "text null",
        "b": "boolean null",
    }
)
SCALES = {"price": (15, 2), "tiny": (30, 20)}
"""Columns of numbers that are held as decimals: digits, and how many of them are behind the point."""
KEYS = ("key",)
"""Columns of text that are held as whole numbers."""

_ZONES = [UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-8))]
DATES = [
    *(date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(1969, 12, 31), date(2000, 2, 29), date(1900, 3, 1)),
    *(date(2024, 2, 29), date(2023, 12, 31), date(2024, 1, 1), date(2020, 12, 31), date(4, 2, 29), date(1582, 10, 10)),
]
MOMENTS = [
    *(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999), datetime(1970, 1, 1), datetime(1969, 12, 31, 23)),
    *(
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime(2024, 2, 29, 12, 30, 0, 1),
        datetime(2255, 6, 6, 0, 0, 0, 1),
    ),
    *(
        datetime(1684, 7, 27, 1, 2, 3, 999_999),
        datetime(2024, 3, 31, 2, 30),
        datetime(2024, 10, 27, 2, 30, 59, 500_000),
    ),
]
DAY_TEXTS = [
    *("2020-02-29", "2021-02-29", "1900-02-29", "2000-02-29", "2020-04-31", "2020-4-31", "0000-01-01", "0001-01-01"),
    *("9999-12-31", "2020-12-31 ", " 2020-12-31", "+020-12-31", "20.0-12-31", "2020/12/31", "2020-13-01", "2020-00-10"),
    *("2020-01-00", "2020-01-32", "2020-12-31\n", "２０２０-12-31", "-020-12-31", "2020-1 -01", "1582-10-10"),
    *("a b  ", "  a b", "\ta\t", "!", "a!", "!a ", "a\nb", "ab\n", "Zürich", "ZÜRICH", "zürich", "100%", "a_b", "A_B"),
]
ALL_TEXTS = [*TEXTS, *DAY_TEXTS]
PATTERNS = [
    *(
        "a%",
        "%a",
        "%a%",
        "_",
        "__",
        "a_b",
        "a\\_b",
        "%\\%",
        "100\\%",
        "",
        "%",
        "%%",
        "_%_",
        "A%",
        "%ü%",
        "\\\\",
        "%\\\\n",
    ),
    *(
        "a.c",
        "[a]%",
        "(a|b)",
        "^a$",
        "%\n",
        "ab_",
        "%'%",
        '"q"',
        "$%",
        "{x}",
        "*",
        "+_",
        "20__-%-__",
        "%!",
        "!%",
        "日_",
    ),
]


def rows(random: Random, count: int) -> list[dict[str, Any]]:
    """Rows of odd values; every column is NULL in about an eighth of them."""
    return [
        {c.name: None if random.random() < 0.12 else _held(random, c.name, c.kind) for c in SCHEMA}
        for _ in range(count)
    ]


def _held(random: Random, name: str, kind: str) -> Any:
    if name in SCALES:
        digits, scale = SCALES[name]
        size = min(digits, random.choice([2, 6, 18, digits]))
        return Decimal(random.choice([-1, 0, 1]) * random.randrange(10**size)).scaleb(-scale)
    if name in KEYS:
        return random.choice([*INTEGERS, random.randint(-50, 50)])
    match kind:
        case "date":
            near = date(2020, 1, 1) + timedelta(days=random.randint(-40_000, 3_000))
            return random.choice([random.choice(DATES), near])
        case "timestamp":
            near = datetime(2020, 1, 1) + timedelta(microseconds=random.randint(-(10**15), 10**15))
            return random.choice([random.choice(MOMENTS), near])
        case "timestamptz":
            moment = random.choice([*MOMENTS[2:], datetime(2020, 1, 1) + timedelta(seconds=random.randint(0, 10**8))])
            return moment.replace(tzinfo=random.choice(_ZONES))
        case "number":
            return random.choice([random.choice(NUMBERS), random.gauss(0, 1) * 10 ** random.randint(-4, 4)])
        case "integer":
            return random.choice([random.choice(INTEGERS), random.randint(-50, 50)])
        case "boolean":
            return random.random() < 0.5
    return random.choice(ALL_TEXTS)


def seen(name: str, held: Any) -> Any:
    """What the interpreter is given: it knows nothing of how engines hold a column."""
    if held is None:
        return None
    return float(held) if name in SCALES else str(held) if name in KEYS else held


LARGEST = 600
"""Nodes of a drawn expression once it is compiled, so that engines spend their time on many rather than on few."""


def expressions(random: Random, count: int) -> list[Expression]:
    """Random checked expressions, each with a date, a decimal or a function of text; too large ones are drawn again."""
    found: list[Expression] = []
    while len(found) < count:
        node = random.choice((_number, _number, _number, _truth, _truth, _truth, _text, _timed))(
            random, random.randint(1, 3)
        )
        try:
            one = checked(node, SCHEMA)
        except InvalidParameter as refused:
            known = (
                "1000 for all values of its columns with sizes between 2",
                "after it is compiled",
                "must have whole numbers",
                "write the result of the comparison instead, or compare a column with",
            )
            if not any(words in str(refused) for words in known):
                raise
            continue
        if set(one.columns) & {"d", "born", "t", "u", "z", "price", "tiny", "s", "odd name-%s", "key"}:
            found += [one] * (one.facts[one.node].copies <= LARGEST)
    return found


def _call(name: str, *arguments: tree.Node) -> tree.Node:
    return tree.Call(name, arguments)


def _timed(random: Random, depth: int, kind: str | None = None) -> tree.Node:
    kind = kind or random.choice(["date", "date", "timestamp", "timestamptz"])
    columns = {"date": ["d", "born"], "timestamp": ["t", "u"], "timestamptz": ["z"]}[kind]
    pick = random.randrange(8 if depth else 2)
    inner = depth - 1
    if pick == 1:
        moment = random.choice(MOMENTS[2:]).isoformat(sep=random.choice("T "))
        written = {"date": random.choice(DATES).isoformat(), "timestamp": moment, "timestamptz": f"{moment}+05:45"}
        return _call(kind, tree.Text(written[kind]))
    if pick == 2:
        name = random.choice(["least", "greatest", "coalesce"])
        return _call(name, _timed(random, inner, kind), _timed(random, inner, kind))
    if pick == 3:
        return _case(random, inner, lambda drawn, below: _timed(drawn, below, kind))
    if pick == 4 and kind == "date":
        return _call("date", _timed(random, inner, random.choice(["timestamp", "timestamptz"])))
    if pick == 5 and kind == "date":
        return _call("cast", _text(random, 0), tree.Text("date"))
    if pick == 5 and kind == "timestamp":
        return _call("cast", _timed(random, inner, "date"), tree.Text("timestamp"))
    return tree.Name(random.choice(columns))


def _literal(random: Random) -> tree.Number:
    return tree.Number(random.choice([0.0, 1.0, -1.0, 2.5, 0.1, 12.34, 1e6, -7.0, 100.0, 0.5, random.gauss(0, 100)]))


def _number(random: Random, depth: int) -> tree.Node:
    if depth == 0:
        return random.choice([tree.Name(random.choice(["price", "tiny", "x", "i"])), _literal(random)])
    inner, pick = depth - 1, random.randrange(13)
    if pick < 3:
        part = random.choice(["year", "quarter", "month", "day", "weekday", "days"])
        return _call(part, _timed(random, inner, "date" if part == "days" else None))
    if pick == 3:
        kind = random.choice(["timestamp", "timestamptz"])
        return _call(random.choice(["hour", "minute", "second", "seconds", "year"]), _timed(random, inner, kind))
    if pick == 4:
        kind = random.choice(["date", "timestamp", "timestamptz"])
        return tree.Arithmetic("-", _timed(random, inner, kind), _timed(random, inner, kind))
    if pick == 5:
        digits = random.choice([None, 0, 1, 2, 5])
        return _call("round", _number(random, inner), *([] if digits is None else [tree.Number(digits)]))
    if pick == 6:
        return _call(random.choice(["ln", "log2", "log10"]), _number(random, 0))
    if pick == 7:
        whole = random.choice([tree.Name("i"), _call("floor", _number(random, inner)), _call("length", tree.Name("s"))])
        return tree.Arithmetic("%", whole, random.choice([tree.Number(7), tree.Number(-3), tree.Name("i")]))
    if pick == 8:
        return _call("cast", _text(random, inner), tree.Text(random.choice(["number", "integer"])))
    if pick == 9:
        return _call("length", _text(random, inner))
    if pick == 10:
        return _case(random, inner, _number)
    if pick == 11:
        return _call("sqrt", _number(random, inner))
    return tree.Arithmetic(random.choice("+-*/"), _number(random, inner), _number(random, inner))  # type: ignore[arg-type]


def _truth(random: Random, depth: int) -> tree.Node:
    if depth == 0:
        return tree.Name("b")
    inner, pick = depth - 1, random.randrange(10)
    sign: Any = random.choice(["=", "<>", "<", "<=", ">", ">="])
    if pick < 2:
        kind = random.choice(["date", "timestamp", "timestamptz"])
        return tree.Comparison(sign, _timed(random, inner, kind), _timed(random, inner, kind))
    if pick == 2:
        kind = random.choice(["date", "timestamp", "timestamptz"])
        return tree.Between(_timed(random, inner, kind), _timed(random, 0, kind), _timed(random, 0, kind))
    if pick == 3:
        return tree.Comparison(sign, _text(random, inner), _text(random, inner))
    if pick < 6:
        return _call(random.choice(["like", "ilike"]), _text(random, inner), tree.Text(random.choice(PATTERNS)))
    if pick == 6:
        return tree.Comparison(sign, _number(random, inner), _number(random, inner))
    if pick == 7:
        return tree.IsNull(random.choice([_number, _text, _timed, _truth])(random, inner))
    if pick == 8:
        return tree.In(_text(random, inner), tuple(tree.Text(random.choice(ALL_TEXTS)) for _ in range(4)))
    return random.choice([tree.And, tree.Or])((_truth(random, inner), tree.Not(_truth(random, inner))))


def _text(random: Random, depth: int) -> tree.Node:
    if depth == 0 or random.random() < 0.2:
        written = tree.Text(random.choice(ALL_TEXTS))
        return random.choice([tree.Name("s"), tree.Name("odd name-%s"), tree.Name("key"), written])
    inner, pick = depth - 1, random.randrange(6)
    if pick < 2:
        start, length = random.choice([1, 1, 2, 4, 50]), random.choice([0, 1, 2, 3, 100])
        return _call("substring", _text(random, inner), tree.Number(start), tree.Number(length))
    if pick == 2:
        return _call("trim", _text(random, inner))
    if pick == 3:
        return _call("concat", *(_text(random, inner) for _ in range(random.randint(2, 3))))
    if pick == 4:
        return _call(random.choice(["lower", "upper"]), _text(random, inner))
    return _case(random, inner, _text)


def _case(random: Random, depth: int, maker: Any) -> tree.Node:
    otherwise = tree.Null() if random.random() < 0.4 else maker(random, depth)
    return tree.Case(((_truth(random, depth), maker(random, depth)),), otherwise)
