"""Rows and random expressions that look for trouble: edges of ranges, odd numbers, odd text, NULL."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from holdfast.data.expressions import checked, tree
from holdfast.data.expressions.checking import Expression
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter

SCHEMA = Schema(
    {
        "x": "number null",
        "y": "number null",
        "odd name-%s": "number null",
        "i": "integer null",
        "j": "integer null",
        "b": "boolean null",
        "c": "boolean null",
        "s": "text null",
        "select": "text null",
    }
)

NUMBERS = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 0.1, 1 / 3, -7.25, 1e-5, 12345.678, 0.1234567890123456, 1e16 + 2),
    *(math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308),
    *(2.0**100, math.nextafter(2.0**100, math.inf), -(2.0**100), 2.0**-100, math.nextafter(2.0**-100, 0.0)),
    *(2.0**52 + 0.5, 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30, 1e-30),
    *(0.49999999999999994, 4503599627370497.5, 9007199254740991.0, 3.0, 100.0, 1e9 + 0.5),
]
INTEGERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    40,
    100,
    -5,
    2**31,
    2**53 - 1,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**63 - 1,
    -(2**63),
    10**15,
]
TEXTS = [
    *("", " ", "a", "A", "abc", "ABC", "aBc", "abc ", " abc", "it's", '"q"', "\\", "\\n", "\\'", "a\\", "\n", "12\n"),
    *("%", "_", "a%", "é", "e\u0301", "ß", "ẞ", "İ", "ı", "ﬀ", "日本", "👩\u200d👧", "\U0001f600", "\u00a0", "\u2028"),
    *("12", "-12.5", "+3", "0012", "1e5", "1_0", " 7", ".5", "5.", "--5", "0x10", "inf", "nan", "1,5", "1.2.3", "٣"),
    *("123456789012345", "1234567890123456", "0.123456789012345", "0.1234567890123456", "12\r\n", "12\u0085"),
    *("'; drop table rows; --", "$1", ":p", "{x}", "{{x}}", "?", "%s", "NULL", "null", "true", "\t", "/*", "--", "`"),
]


def rows(random: Random, count: int) -> list[dict[str, Any]]:
    """Rows of odd values; every column is NULL in about an eighth of them."""
    pools: dict[str, list[Any]] = {"number": NUMBERS, "integer": INTEGERS, "boolean": [True, False], "text": TEXTS}
    return [
        {c.name: None if random.random() < 0.12 else _draw(random, pools[c.kind], c.kind) for c in SCHEMA}
        for _ in range(count)
    ]


def _draw(random: Random, pool: list[Any], kind: str) -> Any:
    if kind == "number" and random.random() < 0.4:
        return random.gauss(0, 1) * 10 ** random.randint(-4, 4)
    if kind == "integer" and random.random() < 0.4:
        return random.randint(-50, 50)
    return random.choice(pool)


def expressions(random: Random, count: int, depth: int = 4) -> list[Expression]:
    """Random checked expressions; those whose numbers could leave the safe range are drawn again."""
    found: list[Expression] = []
    while len(found) < count:
        maker = random.choice((_number, _number, _truth, _truth, _text))
        try:
            found.append(checked(maker(random, random.randint(1, depth)), SCHEMA))
        except InvalidParameter as refused:
            if not (
                "1000 for all values of its columns with sizes between 2" in str(refused)
                or "after it is compiled" in str(refused)
            ):
                raise
    return found


def _literal(random: Random) -> tree.Number:
    while True:
        value = _draw(random, NUMBERS, "number")
        if value == 0 or 2.0**-100 <= abs(value) <= 2.0**100:
            return tree.Number(value)


def _number(random: Random, depth: int) -> tree.Node:
    if depth == 0:
        return random.choice([tree.Name(random.choice(["x", "y", "odd name-%s", "i", "j"])), _literal(random)])
    inner = depth - 1
    pick = random.randrange(14)
    if pick < 6:
        return tree.Arithmetic(random.choice("+-*/"), _number(random, inner), _number(random, inner))  # type: ignore[arg-type]
    if pick == 6:
        # Text and JSON give the minus of a written number to the number, so the tree has none before one.
        operand = _number(random, inner)
        return tree.Number(-operand.value) if isinstance(operand, tree.Number) else tree.Minus(operand)
    if pick == 7:
        return tree.Call(
            random.choice(["least", "greatest"]), tuple(_number(random, inner) for _ in range(random.randint(2, 3)))
        )
    if pick == 8:
        low, high = sorted([_literal(random).value, _literal(random).value])
        if low < high:
            return tree.Call("clip", (_number(random, inner), tree.Number(low), tree.Number(high)))
    if pick == 9:
        return tree.Call("coalesce", (_number(random, inner), _number(random, inner)))
    if pick == 10:
        return tree.Call(random.choice(["length", "number"]), (_text(random, inner),))
    if pick == 11:
        return _case(random, inner, _number)
    return tree.Call(random.choice(["abs", "floor", "ceil", "sign", "sqrt"]), (_number(random, inner),))


def _truth(random: Random, depth: int) -> tree.Node:
    if depth == 0:
        return random.choice([tree.Name("b"), tree.Name("c"), tree.Name("b"), tree.Truth(random.random() < 0.5)])
    inner = depth - 1
    pick = random.randrange(12)
    if pick < 3:
        sign = random.choice(["=", "<>", "<", "<=", ">", ">="])
        return tree.Comparison(sign, _number(random, inner), _number(random, inner))  # type: ignore[arg-type]
    if pick == 3:
        maker = random.choice([_text, _truth])
        return tree.Comparison(random.choice(["=", "<>"]), maker(random, inner), maker(random, inner))  # type: ignore[arg-type]
    if pick == 4:
        return tree.Between(_number(random, inner), _number(random, 0), _number(random, inner))
    if pick == 5:
        values = tuple(_literal(random) for _ in range(random.choice([1, 3, 20])))
        return tree.In(_number(random, inner), values)
    if pick == 6:
        return tree.In(
            _text(random, inner), tuple(tree.Text(random.choice(TEXTS)) for _ in range(random.choice([1, 3, 20])))
        )
    if pick == 7:
        return tree.IsNull(random.choice([_number, _truth, _text])(random, inner))
    if pick == 8:
        return tree.Not(_truth(random, inner))
    if pick == 9:
        name = random.choice(["starts_with", "ends_with", "contains"])
        return tree.Call(name, (_text(random, inner), tree.Text(random.choice([text for text in TEXTS if text]))))
    if pick == 10:
        return random.choice(
            [_case(random, inner, _truth), tree.Call("coalesce", (_truth(random, inner), _truth(random, inner)))]
        )
    operands = tuple(_truth(random, inner) for _ in range(random.randint(2, 3)))
    return random.choice([tree.And, tree.Or])(operands)


def _text(random: Random, depth: int) -> tree.Node:
    if depth == 0 or random.random() < 0.4:
        return random.choice([tree.Name("s"), tree.Name("select"), tree.Text(random.choice(TEXTS))])
    inner = depth - 1
    if random.random() < 0.4:
        return tree.Call(random.choice(["lower", "upper"]), (_text(random, inner),))
    if random.random() < 0.5:
        return tree.Call("coalesce", (_text(random, inner), _text(random, inner)))
    return _case(random, inner, _text)


def _case(random: Random, depth: int, maker: Any) -> tree.Node:
    branches = tuple((_truth(random, depth), maker(random, depth)) for _ in range(random.randint(1, 2)))
    otherwise = tree.Null() if random.random() < 0.4 else maker(random, depth)
    return tree.Case(branches, otherwise)
