"""Forms as questions and policies, what a glance shows, and the words for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import holdfast as hf
from holdfast.data.expressions import parse, to_json
from holdfast.data.schema import Schema
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.guard import Guard, Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.questions.words import expression_text
from holdfast.holdout.planning.plan import plan
from holdfast.server.auth.tokens import Caller
from holdfast.server.pages import asking, pictures, words
from holdfast.server.pages.asking import question_of
from holdfast.server.pages.policy_form import DEFAULTS, comparison, policy_of

N = 4000
SCHEMA = Schema({"age": "integer not null", "town": "text not null", "member": "boolean not null"})
PRIVATE = {
    "questions": 40,
    "privacy": {"kind": "pure-dp", "epsilon": 0.2},
    "spend": {"kind": "pure-dp", "epsilon": 0.05},
    "analysts": {"ann": 0.5, "bob": 0.5},
}


@pytest.fixture
def guard(tmp_path: Path) -> Any:
    rows = {
        "age": [20 + i % 50 for i in range(N)],
        "town": [("north", "south", "west")[i % 3] for i in range(N)],
        "member": [i % 2 == 0 for i in range(N)],
    }
    opened = Guard.open(tmp_path / "ledger.db", hf.data.table(rows), PRIVATE)
    yield opened
    opened.shut()


FORMS: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    (
        "check",
        {"expression": "age < 40", "guess": "0.4", "show": "bit"},
        {"expression": "age < 40", "guess": 0.4, "show": "bit"},
    ),
    (
        "check",
        {"expression": "age", "guess": "44", "tolerance": "20", "low": "0", "high": "100", "default": "40"},
        {"expression": "age", "guess": 44.0, "tolerance": 20.0, "low": 0.0, "high": 100.0, "default": 40.0},
    ),
    (
        "claim",
        {"expression": "age < 40", "at_most": "0.9"},
        {"expression": "age < 40", "at_most": 0.9},
    ),
    (
        "mean",
        {"expression": "age / 2", "low": "0", "high": "50", "where_present": "yes"},
        {"expression": "age / 2", "low": 0.0, "high": 50.0, "where_present": True},
    ),
    (
        "histogram",
        {"column": "town", "categories": "north, south", "null_as": "other"},
        {"column": "town", "categories": ["north", "south"], "null_as": "other"},
    ),
    (
        "test",
        {"name": "gof", "columns": "town", "categories": "north, west", "p0": "0.5, 0.5", "null_as": "west"},
        {"name": "gof", "columns": ["town"], "categories": [["north", "west"]], "p0": [0.5, 0.5], "null_as": ["west"]},
    ),
    ("validate", {"condition": "age < 70", "at_least": "0.9"}, {"condition": "age < 70", "at_least": 0.9}),
    (
        "compare",
        {"b": "member", "a": "age < 40", "guess": "0.1"},
        {"b": "member", "a": "age < 40", "guess": 0.1},
    ),
    (
        "compare",
        {"b": "member", "a": "age < 40", "margin": "0"},
        {"b": "member", "a": "age < 40", "margin": 0.0},
    ),
    (
        "mean",
        {"expression": "member", "spend": "0.01"},
        {"expression": "member", "spend": {"kind": "pure-dp", "epsilon": 0.01}},
    ),
    (
        "histogram",
        {"column": "town", "categories": "north, south"},
        {"column": "town", "categories": ["north", "south"]},
    ),
    (
        "histogram",
        {"column": "age", "categories": "20, 40"},
        {"column": "age", "categories": [20, 40]},
    ),
    ("histogram", {"column": "member"}, {"column": "member"}),
    (
        "histogram",
        {"column": "age", "edges": "20, 40.5, 70"},
        {"column": "age", "edges": [20.0, 40.5, 70.0]},
    ),
    ("select", {"candidates": "a: age < 30\n\n b : member "}, {"candidates": {"a": "age < 30", "b": "member"}}),
    (
        "test",
        {
            "name": "independence",
            "columns": "town",
            "categories": "north, south, west",
            "columns_2": "member",
            "allow_powerless": "yes",
        },
        {
            "name": "independence",
            "columns": ["town", "member"],
            "categories": [["north", "south", "west"], None],
            "allow_powerless": True,
        },
    ),
    (
        "test",
        {"name": "gof", "columns": "town", "categories": "north, south, west", "p0": "0.4, 0.3, 0.3", "alpha": "0.01"},
        {
            "name": "gof",
            "columns": ["town"],
            "categories": [["north", "south", "west"]],
            "p0": [0.4, 0.3, 0.3],
            "alpha": 0.01,
        },
    ),
]


@pytest.mark.parametrize(
    ("kind", "fields", "expected"), FORMS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_form_is_a_question_that_is_answered(
    guard: Guard, kind: str, fields: dict[str, str], expected: dict[str, Any]
) -> None:
    made = question_of(kind, fields, guard.policy, SCHEMA)
    assert made == {"kind": kind} | expected
    answer = guard.ask(made, analyst="ann")
    (item,), _ = words.history(guard.ledger, Caller("t", "analyst", "ann"))
    assert item["sequence"] == answer.sequence
    said = words.question(item["asked"]), words.sentence(item["answer"], item["asked"]), words.value(item["answer"])
    assert all(said)
    assert "{" not in "".join(said)
    assert len(words.strip_points([item])) == 1
    Question.from_dict(made)


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [one for one in FORMS if one[0] in ("mean", "histogram", "select", "test")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_link_to_the_form_fills_in_the_whole_question(
    guard: Guard, kind: str, fields: dict[str, str], expected: dict[str, Any]
) -> None:
    """What a refusal offers is such a link: nothing of the question may be lost on the way."""
    cheaper = {"kind": kind} | expected | {"spend": {"kind": "pure-dp", "epsilon": 0.02}}
    query = parse_qs(urlsplit(asking._address("g_1", cheaper)).query)
    filled = {name: values[0] for name, values in query.items()}
    assert question_of(kind, filled, guard.policy, SCHEMA) == cheaper


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("nothing", {}),
        ("check", {"expression": "age", "guess": ""}),
        ("check", {"expression": "age", "guess": "1" * 50}),
        ("select", {"candidates": "age < 30"}),
        ("histogram", {"column": "age", "categories": "a, b"}),
        ("test", {"name": "gof", "columns": "town", "p0": "x"}),
    ],
)
def test_forms_that_are_wrong(kind: str, fields: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter):
        question_of(kind, fields, Policy(), SCHEMA)


def test_a_refusal_names_only_what_is_admitted(guard: Guard) -> None:
    question = {"kind": "mean", "expression": "member", "spend": {"kind": "pure-dp", "epsilon": 0.15}}
    with pytest.raises(BudgetExhausted):
        guard.ask(question, analyst="ann")
    assert words.plain(guard, question, "ann") == "It would spend ε 0.15. You have ε 0.1 left, and all together ε 0.2."
    found = words.alternatives(guard, question, "ann")
    assert [one.question["kind"] for one in found] == ["mean", "check"]
    for one in found:
        assert guard.estimate(one.question, analyst="ann").admitted
        guard.ask(one.question, analyst="ann")
    assert guard.remaining("ann")["yours"]["epsilon"] == 0
    assert [one.question["kind"] for one in words.alternatives(guard, question, "ann")] == ["check"]
    narrow = {"kind": "check", "expression": "member", "guess": 0.5, "tolerance": 1e-6}
    assert "Leave the tolerance to the guard" in [one.title for one in words.alternatives(guard, narrow, "ann")]
    guard.pause()
    assert [one.words for one in words.alternatives(guard, question, "ann")] == [
        "It was answered before: the stored answer is free."
    ]


def test_the_picker_promises_what_a_guard_gives(guard: Guard) -> None:
    fields = DEFAULTS | {
        "shape": "mixed",
        "questions": "40",
        "epsilon": "0.2",
        "spend": "0.05",
        "analysts": "ann 50%\nbob 0.5",
    }
    assert policy_of(fields) == {"confidence": 0.95} | PRIVATE
    lines, failed = comparison(N, fields)
    promised = {line.name: line.half_width for line in lines if line.kind == "this"}
    given = dict(words.sharpness(guard.ledger))
    assert promised == {"This guard: a check": given["A check"], "This guard: a noisy mean": given["A noisy mean"]}
    check = {"kind": "check", "expression": "member", "guess": 0.5}
    assert guard.estimate(check, analyst="ann").half_width == promised["This guard: a check"]
    others = [line.half_width for line in lines if line.kind != "this"]
    assert others == [row.half_width for row in plan(N, 40, failed, 0.95).methods]
    for shape, kinds in (("looks", ["This guard: a check"]), ("means", ["This guard: a noisy mean"])):
        lines, _ = comparison(N, DEFAULTS | {"shape": shape})
        assert [line.name for line in lines if line.kind == "this"] == kinds


def test_gauges_and_history(guard: Guard) -> None:
    for limit in range(21, 54):
        guard.ask(
            {"kind": "check", "expression": f"age < {limit}", "guess": 0.5}, analyst="bob" if limit % 2 else "ann"
        )
    facts = guard.describe()
    whole = words.gauges(facts["policy"], facts["remaining"])
    assert [one.words for one in whole] == ["7 of 40 left", "ε 0.2 of 0.2 left"]
    assert words.verdict(whole, "open") == "Questions are left."
    assert words.verdict([words.Gauge("Questions", 1, 20, "", "")], "open") == "Nearly used up: questions."
    assert words.verdict([words.Gauge("Questions", 0, 20, "", "")], "open") == "Used up: questions."
    assert words.verdict(whole, "paused").startswith("Paused")
    assert "accurate to ±0.3" in words.verdict(whole, "open", [("A check", 0.3), ("A noisy mean", 0.6)])
    assert "would give no guarantee" in words.verdict(whole, "open", [("A check", 0.69)])
    refused = words.refused({"kinds": ["check", "mean"], "answers": "mixed"}, [("A check", 0.05)])
    assert refused == ["A noisy mean"]
    assert words.verdict(whole, "open", [("A check", 0.05)], refused).endswith("; a noisy mean would be refused.")
    steward, ann = Caller("t", "steward", "sam"), Caller("t", "analyst", "ann")
    first, older = words.history(guard.ledger, steward)
    rest, end = words.history(guard.ledger, steward, older)
    sequences = [item["sequence"] for item in [*first, *rest]]
    # On a busy machine rows that took long to read are paid for before they are read, in entries that are not shown.
    shown = [entry.sequence for entry in guard.ledger.entries() if entry.kind != "reserved"]
    assert sequences == shown[::-1]
    assert len(shown) == 34
    assert end is None
    own, _ = words.history(guard.ledger, ann)
    assert {item["analyst"] for item in own} == {"ann"}
    assert "the latest 25 answers" in pictures.strip(words.strip_points(first))
    capped = words.failures({"failures": 10}, {"failed": 12})
    assert capped is not None
    assert (capped.left, capped.words) == (0, "0 of 10 left")


def test_words_do_not_fail_on_odd_things() -> None:
    assert expression_text({"no": "expression"}) == "an expression"
    text = "town = 'St. 4.0 x' and age > 4"
    assert expression_text(to_json(parse(text))) == text
    assert words.question({"kind": "new"}) == "new"
    assert words.act("new") == "new"
    assert words.cost({"kind": "gdp", "mu": 1}) == "μ 1"
    assert words.cost({"kind": "bits", "bits": 1}) == "bits"
    assert [words.width(one) for one in (0.0301, 0.03, 12.01, 123.0)] == ["0.031", "0.03", "13", "130"]
    assert words.example([{"name": "a b", "kind": "text"}]) == "\"a b\" = 'x'"


def test_drawings_hold_no_markup_of_others() -> None:
    drawn = (
        pictures.gauge(1, 2, '"><script>') + pictures.bar(0.5, "this", "<b>") + pictures.interval(0.5, [0.4, 0.6], 0, 1)
    )
    assert "<script>" not in drawn
    assert "<b>" not in drawn
    assert pictures.interval(None, None, 0, 1) == ""
    assert pictures.interval(0.5, [0, 1], 1, 1) == ""
