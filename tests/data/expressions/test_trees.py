"""Trees that no text spells: whoever builds them by hand meets the same limits, and nothing is evaluated."""

from __future__ import annotations

import pytest

from holdfast.data.expressions import expression, parse, tree
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter

SCHEMA = Schema({"x": "number", "b": "boolean"})
X, B = tree.Name("x"), tree.Name("b")


def deep(levels: int) -> tree.Node:
    made: tree.Node = B
    for _ in range(levels):
        made = tree.Not(made)
    return made


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (deep(tree.DEEPEST), f"expression must be at most {tree.DEEPEST} levels deep"),
        (tree.And(()), "expression must join at least two conditions with and"),
        (tree.And((B,)), "expression must join at least two conditions with and"),
        (tree.Or((B,)), "expression must join at least two conditions with or"),
        (tree.Case((), X), "expression must have at least one `when"),
        (tree.Arithmetic("%", X, X), "expression must have whole numbers on both sides of"),
        (tree.Arithmetic("**", X, X), "expression must have one of "),  # type: ignore[arg-type]
        (tree.Not("b"), "expression must be a text, or a tree of the node types that holdfast"),  # type: ignore[arg-type]
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_what_no_text_can_say_is_refused(node: tree.Node, said: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        expression(node, SCHEMA)
    assert str(caught.value).startswith(said)


def test_a_tree_as_deep_as_allowed_is_taken() -> None:
    assert expression(deep(tree.DEEPEST - 1), SCHEMA).kind == "boolean"


@pytest.mark.parametrize(
    "text",
    [
        "case end",
        "case else 1 end",
        "case when b then 1 when end",
        "x = $$a$$",
        "x = e'a'",
        "`x` > 1",
        "[x] > 1",
        'b"x" > 1',
        "x in ()",
        "x between 1",
        "not",
        "x +",
        "(select x)",
        "x.*",
        "*",
        "x::text",
        "@x > 1",
        "{x}",
        "x -> 'a'",
        '"x"."y" > 1',
        "x is not",
        "x is distinct from 1",
    ],
)
def test_texts_that_are_nearly_expressions(text: str) -> None:
    with pytest.raises(InvalidParameter, match="expression"):
        expression(text, SCHEMA)


def test_quoted_names_are_names() -> None:
    assert parse('"x" > 1') == parse("x > 1")
