"""What the text form reads, what it refuses, and that a fuzzer finds no way round it."""

from __future__ import annotations

import inspect
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from holdfast.data.expressions import (
    checked,
    expression,
    from_json,
    numpy_columns,
    parse,
    parsing,
    polars_columns,
    python_rows,
    to_json,
    to_text,
    tree,
)
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from tests.data.expressions import engines
from tests.data.expressions.odd_rows import SCHEMA, TEXTS, expressions, rows

A, B, C = tree.Name("a"), tree.Name("b"), tree.Name("c")
ONE, TWO = tree.Number(1), tree.Number(2)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a + b * c", tree.Arithmetic("+", A, tree.Arithmetic("*", B, C))),
        ("a - b - c", tree.Arithmetic("-", tree.Arithmetic("-", A, B), C)),
        ("a / b * c", tree.Arithmetic("*", tree.Arithmetic("/", A, B), C)),
        ("- a * b", tree.Arithmetic("*", tree.Minus(A), B)),
        ("a - -1", tree.Arithmetic("-", A, tree.Number(-1))),
        ("- - 1", ONE),
        ("a or b and not c", tree.Or((A, tree.And((B, tree.Not(C)))))),
        ("a and b and c", tree.And((A, B, C))),
        ("a and (b and c)", tree.And((A, tree.And((B, C))))),
        ("not a = 1", tree.Not(tree.Comparison("=", A, ONE))),
        ("a != 1", tree.Comparison("<>", A, ONE)),
        ("a <> 1", tree.Comparison("<>", A, ONE)),
        ("a between 1 and 2 and b", tree.And((tree.Between(A, ONE, TWO), B))),
        ("a not between 1 and 2", tree.Not(tree.Between(A, ONE, TWO))),
        ("a in (1, -2)", tree.In(A, (ONE, tree.Number(-2)))),
        ("a not in ('x')", tree.Not(tree.In(A, (tree.Text("x"),)))),
        ("a is null", tree.IsNull(A)),
        ("a is not null", tree.Not(tree.IsNull(A))),
        ("CASE WHEN a THEN 1 END", tree.Case(((A, ONE),), tree.Null())),
        ("case when a then 1 when b then 2 else c end", tree.Case(((A, ONE), (B, TWO)), C)),
        ("a = 'it''s'", tree.Comparison("=", A, tree.Text("it's"))),
        ("a = '\\'", tree.Comparison("=", A, tree.Text("\\"))),
        ("a = '-- /* ; */'", tree.Comparison("=", A, tree.Text("-- /* ; */"))),
        ('"select" = 1', tree.Comparison("=", tree.Name("select"), ONE)),
        ('"größe" = 1', tree.Comparison("=", tree.Name("größe"), ONE)),
        ("date - interval", tree.Arithmetic("-", tree.Name("date"), tree.Name("interval"))),
        ("ABS(a)", tree.Call("abs", (A,))),
        ("1e3", tree.Number(1000)),
        ("1.", ONE),
        ("a\n+\t1", tree.Arithmetic("+", A, ONE)),
    ],
)  # fmt: skip
def test_reads(text: str, meaning: tree.Node) -> None:
    assert parse(text) == meaning
    assert parse(to_text(meaning)) == meaning
    assert from_json(to_json(meaning)) == meaning


REFUSED = (Path(__file__).parent / "refused.txt").read_text(encoding="utf-8").splitlines()
"""SQL of many dialects, and what is none: an expression a line."""


@pytest.mark.parametrize("text", REFUSED)
def test_refuses(text: str) -> None:
    with pytest.raises(InvalidParameter):
        expression(text, Schema({"a": "number", "b": "boolean", "c": "text"}))


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "a\x00b", "a\u00a0= 1", "\u200ba", "a\u2028= 1", "\ufeffa", "a = 'x\x00y'", "a = '\ud800'"),
        *("(" * 31 + "a" + ")" * 31, "not " * 31 + "a", "- " * 31 + "a", "case when " * 31 + "a", "(" * 15_000),
        *("abs(" * 31 + "a" + ")" * 31, "a" * 20_001, "+".join(["a"] * 102), " and ".join(["a"] * 3_000), "1" * 400),
        *(
            "1e999",
            "1e31",
            "1e-31",
            "a in (" + ",".join(["1"] * 2_001) + ")",
            "'" + "x" * 1_001 + "' = c",
            "9" * 15_000,
        ),
    ],
)
def test_refuses_what_is_too_much(text: str) -> None:
    with pytest.raises(InvalidParameter):
        expression(text, Schema({"a": "number", "c": "text"}))


@pytest.mark.parametrize("text", [None, 1, b"a", ["a"], ("a",)])
def test_parse_takes_text_only(text: object) -> None:
    with pytest.raises(InvalidParameter):
        parse(text)  # type: ignore[arg-type]


def test_nesting_at_the_limit_is_read_from_deep_inside_a_program() -> None:
    text = "(" * tree.MOST_BRACKETS + "a" + ")" * tree.MOST_BRACKETS

    def below(frames: int) -> tree.Node:
        return parse(text) if frames == 0 else below(frames - 1)

    room = sys.getrecursionlimit() - len(inspect.stack(0))
    assert below(min(150, room // 4)) == A
    with pytest.raises(InvalidParameter):  # refused, not broken, where no room is left
        below(room - 200)


def test_random_trees_survive_text_and_json() -> None:
    for checked_one in expressions(Random(7), 1_000):
        assert parse(to_text(checked_one.node)) == checked_one.node
        assert from_json(to_json(checked_one.node)) == checked_one.node


@pytest.mark.parametrize(
    "data",
    [
        *(["a"], {"a": 1}, {}, {"+": [1]}, {"+": [1, 2, 3]}, {"+": 1}, {"column": 1}, {"text": 1}, {"text": None}),
        *({"call": "abs"}, {"call": 1, "with": []}, {"call": "abs", "with": 1}, {"call": "abs", "with": [1], "x": 1}),
        *({"and": [True]}, {"in": [1]}, {"in": [1, {"column": "a"}]}, {"case": [True, 1]}, {"case": []}, {"not": []}),
        *({"sql": ["drop table"]}, {"column": "a", "text": "b"}, {1: 2}, {"": []}, {None: []}, {"between": [1, 2]}),
        *(float("nan"), float("inf"), 10**400, object(), b"a", {"text": "\x00"}, {"text": "x" * 1_001}, 1e31),
    ],
)
def test_json_of_another_shape_is_refused(data: object) -> None:
    with pytest.raises(InvalidParameter):
        expression(data, Schema({"a": "number"}))  # type: ignore[arg-type]


def test_deep_json_is_refused() -> None:
    data: object = 1
    for _ in range(100_000):
        data = {"-": [data]}
    with pytest.raises(InvalidParameter):
        from_json(data)


_WORDS = [
    *"a x y i j b c s select from where union all case when then else end and or not in is null true false".split(),
    *"between like abs floor ceil sqrt least greatest coalesce length lower upper number clip starts_with".split(),
    *"contains read_csv pg_read_file system cast try_cast count sum exists any over partition date interval".split(),
    *"array map struct current_user pg_sleep ( ) , , + - * / = <> < > <= >= || :: ; -- /* */ . [ ] { } $1 ?".split(),
    *": := -> => @ # % ^ & | ! ~ ` ' \" '' 'a' 'it''s' \"x\" 0 1 2.5 1e5 1e400 0x1f .5 'x N'a' \\".split(),
    *("\x00", "\u00a0", "\u200b", "é", "ｘ", "\n", '"odd name-%s"'),
]


def test_a_fuzzer_finds_no_escape() -> None:
    """Soup of words and signs, and expressions with a few characters changed: refused, or harmless on every row."""
    random = Random(8)
    held = rows(random, 30)
    good = [to_text(one.node) for one in expressions(random, 200, depth=2)]
    accepted = []
    for trial in range(8_000):
        if trial % 2:
            text = " ".join(random.choices(_WORDS, k=random.randint(1, 9)))
        else:
            letters = list(random.choice(good))
            at = random.randrange(len(letters))
            letters[at : at + random.randint(0, 2)] = random.choice([*_WORDS, *TEXTS[:20], " "])
            text = "".join(letters)
        try:
            accepted.append(expression(text, SCHEMA))
        except InvalidParameter:
            continue
    assert len(accepted) > 300
    allowed = {kind.__name__ for kind in tree.Node.__args__}
    for one in accepted:
        assert {type(node).__name__ for node in tree.walk(one.node)} <= allowed
    wanted = [[python_rows.evaluate(one, row) for row in held] for one in accepted]
    assert engines.by_numpy(held, accepted) == wanted
    assert engines.by_polars(held, accepted) == wanted


def test_the_short_way_reads_plain_comparisons_as_the_grammar_does() -> None:
    """Spellings of `column sign number`, some joined, right and nearly right: both ways read them alike."""
    random = Random(3)
    names = ["age", "Age", "_x", "a1", "null", "NOT", "case", "select", "current_date", "e1", "call", "SHOW"]
    signs = ["=", "<>", "!=", "<", "<=", ">", ">=", "==", "=<", "< ="]
    numbers = ["0", "-0", "-0.0", "00", "7", "-7", "1.5", "-1.50", "1.", ".5", "1e5", "- 3", "9" * 400, "1_0", "0x1"]
    joints = [" and ", " or ", "\n AND\t", " Or ", " and", "and ", " and not ", ") or (", " and and ", " xor "]
    read: Counter[str] = Counter()
    for _ in range(8_000):
        parts = [random.choice(some) for some in (names, ["", " ", "\n"], signs, ["", " ", "\t"], numbers)]
        text = random.choice(["", " ", "\f"]) + "".join(parts) + random.choice(["", " ", "\v", " and a = 1", " -- x"])
        for _ in range(random.choice([0, 0, 1, 2, 3])):
            odd = random.random() < 0.2
            text += random.choice(joints if odd else joints[:4])
            text += random.choice(["b = 'x and c = 3'", "null > 1"] if odd else ["b<2", "c >= -1.5"])
        short = parsing._plain_comparisons(text)
        if short is not None:
            read[type(short).__name__] += 1
            assert repr(parsing._parsed(text)) == repr(short), text
    assert read["Comparison"] > 200
    assert read["And"] > 30
    assert read["Or"] > 30


def test_parts_are_counted_without_parsing_and_never_too_few() -> None:
    random = Random(5)
    for node in (drawn.node for drawn in expressions(random, 300)):
        text = to_text(node)
        assert parsing.count_parts(text, 10**9) >= len(parsing._tokens(text))
        assert parsing.count_parts(to_json(node), 10**9) >= len(list(_nodes(node)))
    many = " or ".join(["age<1"] * 2000)
    assert parsing.count_parts({"a": many}, 10**9) == 4 * 2000
    assert parsing.count_parts([many] * 1000, 100) == 4 * 2000 - 1, "it ends with the text that was too much"
    assert parsing.count_parts("x " * tree.LONGEST_TEXT, 100) == 1, "it is refused for its length, by the parser"


def _nodes(node: tree.Node) -> Iterator[tree.Node]:
    yield node
    for part in tree.children(node):
        yield from _nodes(part)


def test_many_joined_comparisons_have_the_limits_of_the_grammar() -> None:
    many = " or ".join(["a<1"] * (tree.MOST_TOKENS // 4 + 1))
    assert len(many) <= tree.LONGEST_TEXT
    with pytest.raises(InvalidParameter, match="words and signs"):
        parse(many)


def test_the_short_way_takes_no_longer_text_than_the_grammar() -> None:
    text = "age < 3"
    begun = time.thread_time()
    assert parse(text.rjust(tree.LONGEST_TEXT)) == parse(text)
    assert time.thread_time() - begun < 1, "white space is looked through once"
    with pytest.raises(InvalidParameter, match="characters"):
        parse(text.rjust(tree.LONGEST_TEXT + 1))
    with pytest.raises(InvalidParameter, match="must be a text"):
        parse(b"age < 3")  # type: ignore[arg-type]


def test_words_that_begin_commands_elsewhere_are_names_here() -> None:
    """In SQL all that follows such a word is its own business; here a column may be called so."""
    for word in ("call", "execute", "EXPLAIN", "fetch", "optimize", "prepare", "rename", "Show", "vacuum"):
        left = tree.Comparison("=", tree.Name(word), tree.Number(1.0))
        assert parse(f"{word} = 1") == parsing._parsed(f"{word} = 1") == left
        assert parse(f"{word} = 1 and not {word} > 2").operands[0] == left  # type: ignore[attr-defined]
        with pytest.raises(InvalidParameter):
            parse(f"{word} age = 1")


def test_compilers_take_checked_expressions_of_the_schema_only() -> None:
    with pytest.raises(InvalidParameter):
        checked(tree.Call("system", (tree.Text("ls"),)), SCHEMA)
    with pytest.raises(InvalidParameter):
        checked(tree.Name("row"), SCHEMA)
    for compiler in (polars_columns.compile, numpy_columns.evaluate):
        assert "expression" in inspect.signature(compiler).parameters


@pytest.mark.parametrize("text", ["a == 1", "a == b", "s == 'x' or not a == 2", "a==1 and b == 2"])
def test_python_s_sign_of_equality_is_the_same_expression(text: str) -> None:
    assert parse(text) == parse(text.replace("==", "="))
    assert "==" not in to_text(parse(text)), "one spelling in ledgers"
