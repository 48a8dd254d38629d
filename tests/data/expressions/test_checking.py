"""Kinds and sizes: what is refused before a row is read, and that the proofs about sizes hold on odd rows."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest

from holdfast.data.expressions import checked, checking, expression, python_rows, tree
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from tests.data.expressions.odd_rows import SCHEMA, expressions, rows

SMALL = Schema({"x": "number", "i": "integer", "b": "boolean", "s": "text"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("height > 1", "columns of the schema, got 'height'"),
        ("X > 1", "there is 'x'"),
        ("x + s", "a number as operand of +, got a text"),
        ("x and b", "a boolean as operand of and, got a number"),
        ("not x", "a boolean as operand of not"),
        ("'b' < 'a'", "write the result of the comparison instead, or compare a column with"),
        (
            "case when s = 'a' then 'b' else 'c' end < 'a'",
            "write the result of the comparison instead, or compare a column with",
        ),
        ("b > true", "expression must have numbers, texts, dates or timestamps on both sides"),
        ("x = s", "values of the same kind"),
        ("x = null", "expression must not compare a value with null; write `is null` to find"),
        ("null is null", "expression must not contain `null is null`, which is always true"),
        ("null", "must not be null in every row"),
        ("case when b then null end", "nothing but null"),
        ("case when b then 1 else 'a' end", "number and text"),
        ("case when x then 1 end", "a boolean as operand of when"),
        ("x in ('a')", "a list of only numbers or only texts"),
        ("s in (1)", "a list of only numbers or only texts"),
        ("b in (1)", "a list of only numbers or only texts"),
        ("exp(x)", "got 'exp'; write case when"),
        ("lenght(s) > 3", "there is length"),
        ("median(x)", "about one row"),
        ("current_date > d", "write the date: date '2020-12-31'"),
        ("x ** 2", "write x * x"),
        ("system('ls')", "must use the functions abs"),
        ("abs(x, x)", "call abs with 1 arguments, got 2"),
        ("least(x)", "2 or more arguments"),
        ("abs(s)", "call abs with a number"),
        ("starts_with(s, s)", "a written text"),
        ("starts_with(s, '')", "not empty"),
        ("clip(x, 0, i)", "a written number"),
        ("clip(x, 1, 1)", "expression must call clip with a smallest value that is below the"),
        ("coalesce(x, s)", "call coalesce with a number"),
        ("coalesce(null, x)", "call coalesce with a value, got null"),
        ("*".join(["x"] * 11), "1000 for all values of its columns with sizes between 2"),
        ("/".join(["(x - i)"] * 8), "1000 for all values of its columns with sizes between 2"),
        ("sign(" * 7 + "x" + ")" * 7, "after it is compiled"),
        ("ln(ln(x))", "after it is compiled"),
    ],
)
def test_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words.replace("+", r"\+").replace("*", r"\*")):
        expression(text, SMALL)


def test_a_plain_clip_makes_long_products_safe() -> None:
    assert expression("*".join(["clip(x, -1000, 1000)"] * 6), SMALL).kind == "number"


def test_no_value_leaves_its_size_and_only_what_may_be_null_is() -> None:
    random = Random(9)
    held = rows(random, 60)
    seen = 0
    for one in expressions(random, 400):
        for node in set(tree.walk(one.node)):
            if isinstance(node, tree.Null):
                continue
            facts, part = one.facts[node], checked(node, SCHEMA)
            for row in held:
                value = python_rows.evaluate(part, row)
                assert value is not None or facts.nullable
                if isinstance(value, float):
                    assert math.isfinite(value)
                    assert facts.size is not None
                    _inside(value, facts.size)
                    seen += 1
    assert seen > 30_000


def _inside(value: float, size: checking.Size) -> None:
    assert value == 0.0 or 2.0**size.least <= abs(value) <= 2.0**size.top
    assert (Fraction(value) / Fraction(2) ** size.grain).denominator == 1


def test_a_rule_that_forgets_a_sum_doubles_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "of_sum", lambda one, other: checking.of_any(one, other))
    with pytest.raises(AssertionError):
        test_no_value_leaves_its_size_and_only_what_may_be_null_is()


@pytest.mark.parametrize(
    ("held", "kind", "seen"),
    [
        (math.nan, "number", None),
        (math.inf, "number", None),
        (-(2.0**100), "number", -(2.0**100)),
        (math.nextafter(2.0**100, math.inf), "number", None),
        (2.0**-100, "number", 2.0**-100),
        (math.nextafter(2.0**-100, 0.0), "number", 0.0),
        (5e-324, "number", 0.0),
        (3, "number", 3.0),
        (2**53 + 1, "integer", 2.0**53),
        (2**53 + 3, "integer", 2.0**53 + 4),
        (2**63 - 1, "integer", 2.0**63),
        (True, "boolean", True),
        ("ß", "text", "ß"),
        (None, "text", None),
    ],
)
def test_reading(held: object, kind: str, seen: object) -> None:
    assert python_rows.read(held, kind) == seen  # type: ignore[arg-type]


def test_three_valued_logic() -> None:
    schema = Schema({"p": "boolean", "q": "boolean"})
    both, either = expression("p and q", schema), expression("p or q", schema)
    for p in (True, False, None):
        for q in (True, False, None):
            row = {"p": p, "q": q}
            wanted_both = False if False in (p, q) else None if None in (p, q) else True
            wanted_either = True if True in (p, q) else None if None in (p, q) else False
            assert python_rows.evaluate(both, row) is wanted_both
            assert python_rows.evaluate(either, row) is wanted_either


def test_a_checked_expression_prints_no_rows_and_compares_by_what_it_says() -> None:
    one, same = expression("x > 1", SMALL), expression("(x > 1.0)", SMALL)
    assert one == same
    assert hash(one) == hash(same)
    assert "facts" not in repr(one)
