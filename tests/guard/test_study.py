"""A study is planned with the widths that a guard under the planned policy gives at its last question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import GDP, PureDP
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard import Guard, Policy, Study, plan_study
from holdfast.guard.questions.base import Question

N = 20_000
COLUMNS = {"age": {"low": 0, "high": 120}, "sex": {"categories": ["f", "m"]}}
GUESSED = {"kind": "check", "expression": "age < 60", "guess": 0.5, "count": 10}


def study(*questions: dict[str, Any], **more: Any) -> Study:
    return Study.from_dict({"n": N, "columns": COLUMNS, "questions": list(questions)} | more)


@pytest.fixture(scope="module")
def rows() -> hf.data.Sample:
    rng = np.random.default_rng(1)
    return hf.data.table({"age": rng.integers(0, 121, N).astype(float), "sex": rng.choice(["f", "m"], N).tolist()})


@pytest.mark.parametrize(
    ("made", "name", "last"),
    [
        (study(GUESSED), "checks of guesses", hf.guard.check("age < 60.5", guess=0.5)),
        (study({"kind": "mean", "expression": "age < 60", "count": 10}), "planned means", hf.mean("age < 60")),
        (
            study({"kind": "mean", "expression": "age", "count": 3}, {"kind": "table", "by": ["sex"]}),
            "checks and private answers",
            hf.mean("age"),
        ),
    ],
    ids=["checks", "means", "mixed"],
)
def test_the_planned_width_is_that_of_a_guard_at_its_last_question(
    rows: hf.data.Sample, made: Study, name: str, last: Any
) -> None:
    plan = plan_study(made, changes=False)
    assert plan.name == name
    guard = Guard.open(None, rows, plan.policy)
    for place in range(made.count - 1):
        other = f"age < {1 + place}" if name != "checks of guesses" else f"age < {60 + place / 1000}"
        guard.ask(hf.guard.check(other, guess=0.5) if name == "checks of guesses" else hf.mean(other))
    found = guard.estimate(last)
    assert found.half_width == pytest.approx(plan.widths[0].while_asking, rel=0.02)
    if found.least_tolerance is not None:
        assert found.least_tolerance == pytest.approx(plan.widths[0].at_the_end, rel=0.02)
    assert plan.feasible


def test_questions_that_are_all_fixed_in_advance_are_one_final(rows: hf.data.Sample) -> None:
    fixed = study({"kind": "mean", "expression": "age < 60", "count": 4, "adaptive": 0})
    plan = plan_study(fixed, changes=False)
    assert plan.name == "a final of fixed questions"
    guard = Guard.open(None, rows, plan.policy)
    answer = guard.ask(hf.guard.final({f"below {limit}": f"age < {limit}" for limit in (58, 60, 62, 64)}))
    low, high = answer.interval["below 60"]
    assert (high - low) / 2 == pytest.approx(plan.widths[0].at_the_end, rel=0.01)
    later = plan_study(study({"kind": "mean", "expression": "age < 60", "count": 4, "adaptive": 1}), changes=False)
    assert later.name == "planned means"
    assert later.score > plan.score


def test_a_cap_is_a_ceiling_and_decides_what_can_be_asked() -> None:
    asked = {"kind": "mean", "expression": "age", "count": 10}
    small, large = (plan_study(study(asked, privacy=f"gdp:{mu}"), changes=False) for mu in (0.01, 5))
    assert (small.policy.privacy, large.policy.privacy) == (GDP(0.01), GDP(5.0))
    assert small.score > large.score == plan_study(study(asked), changes=False).score
    assert "spending more would only widen" in large.remarks[0]
    assert "spending more" not in small.remarks[0]
    pure = plan_study(study(asked, privacy="pure-dp:3"), changes=False)
    assert isinstance(pure.policy.privacy, PureDP)
    assert pure.policy.privacy.epsilon < 3
    assert pure.others["planned means"].startswith("Gaussian noise needs a privacy budget gdp:MU")  # type: ignore[union-attr]
    assert plan_study(study(GUESSED, privacy="gdp:0.1"), changes=False).name == "planned means"


PRIVATE_STUDY = study(
    {"kind": "mean", "expression": "age < 60", "guess": 0.5}, {"kind": "table", "by": ["sex"]}, privacy="pure-dp:0.2"
)


def test_a_private_study_gets_a_policy_that_answers_nothing_without_noise(rows: hf.data.Sample) -> None:
    """The cap is on everything that is released: a check, a guess or an end of the run would show exact values."""
    plan = plan_study(PRIVATE_STUDY, changes=False)
    assert plan.policy.all_private
    assert not any("close" in remark for remark in plan.remarks)
    assert Policy.from_dict(plan.policy.to_dict()) == plan.policy
    released = [kind for kind in plan.policy.kinds or () if Question.kinds()[kind].answered == "noiseless"]
    assert released == []
    guard = Guard.open(None, rows, plan.policy)
    quantile = hf.guard.quantile("age", 0.5, guess=60, tolerance=20)
    table = hf.guard.table(["sex"], "age", guesses={"f": 60}, tolerance=40)
    difference = hf.guard.difference("age", "sex", ["f", "m"], guess=0)
    correlation = hf.guard.correlation("age", "age * age", guess=0.9, tolerance=0.5, second_low=0, second_high=14400)
    for question in (quantile, table, difference, correlation):
        with pytest.raises(QuestionRefused, match="guess must be left out"):
            guard.ask(question)
        with pytest.raises(QuestionRefused, match="Nothing was spent"):
            guard.estimate(question)
    for other in (hf.guard.check("age < 60", guess=0.5), hf.guard.close(), hf.guard.final({"a": "age < 60"})):
        with pytest.raises(QuestionRefused, match="does not allow a"):
            guard.ask(other)
    answer = guard.ask(hf.guard.table(["sex"]))
    assert answer.cost == plan.policy.spend
    assert guard.ask(hf.mean("age < 60")).half_width == pytest.approx(plan.widths[0].while_asking, rel=0.02)


def test_all_private_needs_a_privacy_budget() -> None:
    with pytest.raises(InvalidParameter, match="all_private must be given together with privacy"):
        Policy(all_private=True)
    wrong: Any = "yes"
    with pytest.raises(InvalidParameter, match="all_private must be true or false"):
        Policy(privacy=PureDP(1.0), all_private=wrong)


def test_what_would_change_it_goes_the_right_way() -> None:
    plan = plan_study(study(GUESSED, {"kind": "quantile", "expression": "age", "q": 0.5}, failures=1))
    assert plan.changes["twice the rows"] < plan.score < plan.changes["one wrong guess more"]
    assert plan.changes["half the questions"] < plan.score < plan.changes["confidence 0.99"]
    quantile = plan.widths[1]
    assert quantile.while_asking is None
    assert quantile.at_the_end is not None
    assert json.loads(json.dumps(plan.to_dict()))["widths"][1]["count"] == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"questions": []}, "questions must be a list"),
        ({"questions": [{"kind": "mode"}]}, "questions, number 1: kind must be one of"),
        ({"questions": [{"kind": "close"}]}, "questions, number 1: a close cannot be part of a study"),
        ({"questions": [GUESSED | {"count": 0}]}, "questions, number 1: count"),
        ({"questions": [GUESSED | {"adaptive": 11}]}, "questions, number 1: adaptive"),
        ({"questions": [{"kind": "mean", "expression": "age", "sharp": 1}]}, "questions, number 1"),
        ({"n": 1}, "n must be"),
        ({"n": None}, "n must be given"),
        ({"privacy": "bits:3"}, "privacy must be pure-dp"),
        ({"privacy": "a little"}, "privacy"),
        ({"columns": {"age": {"low": 5, "high": 1}}}, "columns"),
        ({"columns": {"age": 3}}, "columns, at 'age'"),
        ({"columns": {"age": {"kind": 3}}}, "columns, at 'age'"),
        ({"colour": "red"}, "a study has no field colour"),
        ({"questions": [{"kind": "mean", "expression": "height", "low": 0, "high": 1}]}, "height"),
        ({"privacy": "gdp:0.1", "questions": [{"kind": "table", "by": ["sex"]}]}, "one policy can answer together"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_study_is_refused_with_what_is_wrong(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        plan_study(Study.from_dict({"n": N, "columns": COLUMNS, "questions": [GUESSED]} | wrong))


def test_a_study_is_read_from_toml_and_json(tmp_path: Path) -> None:
    columns = "[columns.age]\nlow = 0\nhigh = 120\n"
    text = "n = 20000\n" + columns + '[[questions]]\nkind = "mean"\nexpression = "age"\ncount = 5\n'
    (tmp_path / "plan.toml").write_text(text)
    plain = {"n": 20_000, "columns": {"age": {"low": 0, "high": 120}}}
    plain["questions"] = [{"kind": "mean", "expression": "age", "count": 5}]
    (tmp_path / "plan.json").write_text(json.dumps(plain))
    assert Study.read(tmp_path / "plan.toml") == Study.read(tmp_path / "plan.json") == Study.from_dict(plain)
    for content, said in (("n = ", "study must be a file in valid TOML"), ("n = 3", "questions must be a list")):
        (tmp_path / "wrong.toml").write_text(content)
        with pytest.raises(InvalidParameter, match=said):
            Study.read(tmp_path / "wrong.toml")
    with pytest.raises(InvalidParameter, match="study must be a file that can be read"):
        Study.read(tmp_path / "nowhere.toml")
