"""Numbers as people type them, the policies that forms make of them, and what is said of a policy and its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard import Guard, Policy, Study, plan_study
from holdfast.server.pages import pictures, policy_form, words
from holdfast.server.pages.asking import question_of
from holdfast.server.pages.policy_form import (
    DEFAULTS,
    comparison,
    filled_by,
    number_of,
    policy_of,
    promised,
    shares_of,
)

COLUMNS = {"age": [20 + i % 50 for i in range(4000)], "member": [i % 2 == 0 for i in range(4000)]}
BOARD = policy_form.BOARD_DEFAULTS | {
    "board": "members",
    "board_key": "age",
    "board_label": "member",
    "board_metric": "auc",
}


@pytest.mark.parametrize(
    ("text", "number"),
    [("500", 500), ("1,000", 1000), (" 12,345,678.5 ", 12345678.5), ("-1,000", -1000), ("0.05", 0.05), ("1e-3", 0.001)],
)
def test_numbers_as_they_are_typed(text: str, number: float) -> None:
    found = number_of("budget", text)
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize(
    "text",
    ["", "many", "nan", "inf", "-inf", "1e999", "0,05", "0,050", "1,5", "1,50", "1,0000", ",5", "1,,000", "1" * 41],
)
def test_what_is_no_number_or_might_be_another_is_refused(text: str) -> None:
    """A comma groups thousands or nothing: a privacy budget of `0,05` is not 5."""
    with pytest.raises(InvalidParameter) as error:
        number_of("privacy budget", text)
    assert str(error.value) == f"privacy budget must be a number, got {text[:40]!r}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": "anything"}, "plan must be one of looks, mixed, private, means"),
        ({"shape": "mixed", "epsilon": "0,05"}, "privacy budget must be a number, got '0,05'"),
        ({"shape": "mixed", "spend": "a little"}, "cost of a question must be a number"),
        ({"questions": "2.5"}, "questions must be a whole number"),
        ({"analysts": "ann"}, "analysts must be given in lines with a name and a quota each, such as"),
        ({"analysts": "ann half"}, "share must be a number"),
        ({"expires": "soon"}, "expires"),
    ],
)
def test_a_form_that_is_wrong_makes_no_policy(change: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        policy_of(DEFAULTS | change)


def test_a_form_may_name_an_end() -> None:
    made = policy_of(DEFAULTS | {"expires": "2100-01-01T00:00:00+00:00"})
    assert made["expires"] == "2100-01-01T00:00:00+00:00"
    assert policy_of(DEFAULTS | {"shape": "means", "failures": "7"}) == {
        "confidence": 0.95,
        "questions": 500,
        "answers": "means",
    }
    assert shares_of("ann b 50%\n\n  bob 0.25 ") == {"ann b": 0.5, "bob": 0.25}
    with pytest.raises(InvalidParameter, match="analysts must each be named once, and"):
        shares_of("ann 50%\nbob 20%\nann 5%")


def test_what_a_policy_promises_without_a_cap_or_a_cost() -> None:
    """Without a cap there is no last question to speak of; without a cost of a mean there is no width of one."""
    (check,) = promised(4000, Policy.from_dict({"questions": None}))
    assert (check.name, check.remark) == ("This guard: a check", "")
    private = Policy.from_dict({"questions": 40, "privacy": {"kind": "pure-dp", "epsilon": 0.2}})
    assert [line.name for line in promised(4000, private)] == ["This guard: a check"]
    lines, failed = comparison(4000, DEFAULTS | {"questions": "7"})
    assert failed == 7
    assert lines[0].remark == "±0.074 at the last, if no check fails"  # passes cost next to nothing


@pytest.mark.parametrize("answers", ["mixed", "means"])
def test_the_form_promises_what_the_new_guard_says_of_its_next_answer(answers: str) -> None:
    """One rule decides which kinds are named and how wide they are: before there is a guard, and on its page."""
    privacy = {"kind": "pure-dp", "epsilon": 0.2}
    plain = {"privacy": privacy, "spend": privacy | {"epsilon": 0.01}, "confidence": 0.95} if answers == "mixed" else {}
    policy = Policy.from_dict({"questions": 40, "answers": answers, **plain})
    guard = Guard.open(None, hf.data.table({"age": list(range(4000))}), policy)
    shown = {name.lower(): width for name, width in words.sharpness(guard.ledger)}
    promises = {line.name.removeprefix("This guard: "): line.half_width for line in promised(4000, policy)}
    assert list(promises) == list(shown) == (["a check", "a noisy mean"] if answers == "mixed" else ["a noisy mean"])
    assert promises == pytest.approx(shown)


@pytest.mark.parametrize("budget", ["0.4", "0,4"])
def test_an_override_changes_the_budget_in_its_own_unit(budget: str) -> None:
    before = Policy.from_dict({"questions": 5, "privacy": {"kind": "zcdp", "rho": 0.2}}).to_dict()
    fields = policy_form.filled(before) | {"budget": budget, "reason": "more rows are coming", "sure": "yes"}
    if "," in budget:
        with pytest.raises(InvalidParameter, match="privacy budget must be a number, got '0,4'"):
            policy_form.overriding_policy(fields, before)
    else:
        changed = policy_form.overriding_policy(fields, before).to_dict()
        assert changed["privacy"] == before["privacy"] | {"rho": 0.4}
        assert {name for name in changed if changed[name] != before[name]} == {"privacy"}


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False)])
def test_the_positive_label_has_the_kind_of_its_column(text: str, value: bool) -> None:
    made = policy_form.board_of(BOARD | {"board_positive": text}, {"member": "boolean"})
    assert made is not None
    assert made["positive"] is value
    with pytest.raises(InvalidParameter, match="the positive label must be true or false"):
        policy_form.board_of(BOARD | {"board_positive": "yes"}, {"member": "boolean"})


def test_categories_have_the_kind_of_their_column() -> None:
    fields = {"column": "member", "categories": "True, no, 1"}
    schema = Schema({"member": "boolean not null"})
    assert question_of("histogram", fields, Policy(), schema)["categories"] == [True, False, True]


def test_a_policy_in_words() -> None:
    plain = Policy.from_dict({"questions": 1000, "failures": 30, "expires": "2100-01-01T00:00:00+00:00"}).to_dict()
    said = dict(words.policy(plain))
    assert said["Questions"] == "at most 1,000"
    assert said["Failed checks"] == "at most 30"
    assert said["Until"] == "2100-01-01 00:00 UTC"
    means = dict(words.policy(Policy.from_dict({"questions": 10, "answers": "means"}).to_dict()))
    assert means["Answers"].startswith("noisy means only")
    assert words.cost({"kind": "zcdp", "rho": 0.25}) == "ρ 0.25"


@pytest.mark.parametrize(("kind", "word"), [("check", "guess"), ("score", "score")])
def test_a_failure_that_shows_a_bit_says_nothing_more(kind: str, word: str) -> None:
    answer = {"passed": False, "interval": None, "value": None, "details": {}}
    asked = {"kind": kind, "guess": 0.5, "rule": "intervals"}
    assert words.sentence(answer, asked) == f"Your {word} of 0.5 failed. Nothing more is shown."


@pytest.mark.parametrize(
    ("kind", "passed", "begins"),
    [
        ("check", False, "Later intervals are a little wider, for everybody"),
        ("claim", True, "Claims that hold"),
        ("mean", None, "The noise was drawn once"),
        ("claim", False, ""),
        ("test", None, ""),
    ],
)
def test_what_else_to_know_of_an_answer(kind: str, passed: bool | None, begins: str) -> None:
    said = words.aside({"passed": passed}, {"kind": kind})
    assert said.startswith(begins)
    assert bool(said) is bool(begins)


@pytest.fixture
def guard(tmp_path: Path) -> Any:
    policy = {"questions": 40, "privacy": {"kind": "pure-dp", "epsilon": 0.2}}
    opened = Guard.open(tmp_path / "ledger.db", hf.data.table(COLUMNS), policy)
    yield opened
    opened.shut()


def test_a_mean_without_a_cost_has_no_width_and_a_question_that_fits_no_refusal(guard: Guard) -> None:
    assert [name for name, _ in words.sharpness(guard.ledger)] == ["A check"]
    fits = {"kind": "mean", "expression": "member", "spend": {"kind": "pure-dp", "epsilon": 0.05}}
    assert words.plain(guard, fits, "ann") == ""
    assert "It would spend ε 0.3." in words.plain(guard, fits | {"spend": {"kind": "pure-dp", "epsilon": 0.3}}, "ann")


def test_a_paler_bar_lies_behind_and_never_leaves_its_picture() -> None:
    plain, behind, over = (str(pictures.bar(0.25, "this", "a bar", to)) for to in (None, 0.5, 7.0))
    assert "behind" not in plain
    assert behind.index("behind") < behind.index("fill"), "what is drawn first lies below"
    assert over == str(pictures.bar(0.25, "this", "a bar", 1.0))


def test_a_width_is_shown_only_of_what_would_be_admitted(tmp_path: Path) -> None:
    """A noisy mean that does not fit into what is left, of all or of the analyst, is good to nothing."""
    policy = Policy(questions=40, privacy=PureDP(0.2), spend=PureDP(0.15), analysts={"ann": 1.0, "bob": 0.5})
    opened = Guard.open(tmp_path / "ledger.db", hf.data.table(COLUMNS), policy)
    both = ["A check", "A noisy mean"]
    assert [name for name, _ in words.sharpness(opened.ledger)] == both
    assert [name for name, _ in words.sharpness(opened.ledger, "ann")] == both
    assert [name for name, _ in words.sharpness(opened.ledger, "bob")] == ["A check"]
    opened.ask({"kind": "mean", "expression": "member"}, analyst="ann")
    assert not opened.estimate({"kind": "mean", "expression": "not member"}, analyst="ann").admitted
    assert [name for name, _ in words.sharpness(opened.ledger)] == ["A check"]
    opened.shut()


def test_a_form_of_private_answers_only() -> None:
    """What a study with privacy fills in comes back as the policy that answers nothing without noise."""
    asked = [{"kind": "table", "by": ["sex"]}]
    columns = {"sex": {"categories": ["f", "m"]}}
    made = Study.from_dict({"n": 9_000, "columns": columns, "questions": asked, "privacy": "pure-dp:0.2"})
    plan = plan_study(made, changes=False)
    read = Policy.from_dict(policy_of(DEFAULTS | filled_by(plan)))
    assert (read.all_private, read.kinds, read.privacy) == (True, plan.policy.kinds, plan.policy.privacy)
    assert dict(words.policy(read.to_dict()))["Questions without noise"].startswith("none")
