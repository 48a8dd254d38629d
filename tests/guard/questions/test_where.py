"""Means among the rows that meet a condition, and the columns that a policy declares.

Simulations compare the number of runs with a wrong interval against its mean plus `sqrt(runs ln(10**6) / 2)`, which a
right version exceeds with probability at most 1e-6 (Hoeffding). Seeds are fixed. Each has a version that is wrong on
purpose, and that it rejects.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, of_rows
from holdfast.errors import BudgetExhausted, InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard import Guard, Policy
from holdfast.guard.columns import DeclaredColumn
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.questions.base import Question, Situation
from holdfast.guard.questions.noisy import unit_interval
from holdfast.guard.questions.reveal import revealed_words
from holdfast.guard.state import Progress
from holdfast.noise.entropy import Seeded

SCHEMA = Schema({"age": "integer not null", "income": "number not null", "gap": "number null", "sex": "text not null"})
COLUMNS = {"income": {"low": 0, "high": 100}, "sex": {"categories": ["f", "m"]}}
PRIVATE = Policy(questions=10, privacy=PureDP(0.1), spend=PureDP(0.05), columns=COLUMNS)
ROWS: list[dict[str, Any]] = [
    {"age": 20, "income": 10.0, "gap": 30.0, "sex": "f"},
    {"age": 30, "income": 50.0, "gap": None, "sex": "m"},
    {"age": 50, "income": 90.0, "gap": 70.0, "sex": "f"},
]


def most_misses(runs: int, share: float) -> float:
    """More runs than this miss with probability at most 1e-6 if each does with probability at most `share`."""
    return runs * share + math.sqrt(runs * math.log(1e6) / 2)


def bound(asked: Question, policy: Policy = PRIVATE, n: int = 1000) -> Any:
    return asked.bind(SCHEMA, n, policy)


# What is counted


def test_only_rows_that_meet_the_condition_count() -> None:
    made = bound(hf.guard.mean("income", where="age < 40"))
    total, present = (of_rows(statistic, ROWS, SCHEMA) for statistic in made.statistics)
    assert tuple(present) == (2,)
    assert Fraction(total[0], UNIT) == pytest.approx(Fraction(60, 100), abs=1e-8)


@pytest.mark.parametrize(
    ("given", "counted", "total"),
    [({"where_present": True}, 1, 0.3), ({"default": 40}, 2, 0.7), ({"default": 0}, 2, 0.3)],
)
def test_a_missing_value_among_them_means_what_was_said(given: dict[str, Any], counted: int, total: float) -> None:
    made = bound(hf.guard.mean("gap", low=0, high=100, where="age < 40", **given))
    found = [tuple(of_rows(statistic, ROWS, SCHEMA)) for statistic in made.statistics]
    assert found[1] == (counted,)
    assert found[0][0] / UNIT == pytest.approx(total, abs=1e-8)


def test_a_condition_that_is_null_is_not_met() -> None:
    made = bound(hf.guard.mean("age < 40", where="gap > 20"))
    assert [tuple(of_rows(one, ROWS, SCHEMA)) for one in made.statistics] == [(UNIT,), (2,)]


def test_where_is_the_same_question_as_a_case_in_value_and_not_in_words() -> None:
    made = bound(hf.guard.mean("income", where="age<40"))
    again = bound(hf.guard.mean("income", where=" age < 40.0", low=0, high=100))
    assert made.digest == again.digest
    assert made.question["where"] == {"<": [{"column": "age"}, 40.0]}
    assert hf.guard.mean.question_words(made.question) == "mean of income, among rows where age < 40"


@pytest.mark.parametrize(
    "question",
    [
        hf.guard.compare("income", "gap", default=0),
        hf.guard.best({"one": "income", "two": "gap"}, default=0),
        hf.guard.select({"one": "income", "two": "gap"}, default=0),
    ],
    ids=lambda question: str(question.kind),
)
def test_a_kind_with_several_expressions_has_the_declared_ranges_too(question: Question) -> None:
    declared = replace(PRIVATE, columns={**COLUMNS, "gap": {"low": 0, "high": 100}})
    given = Question.from_dict(question.to_dict() | {"low": 0, "high": 100})
    assert bound(question, declared).digest == bound(given, PRIVATE).digest
    with pytest.raises(InvalidParameter, match="low and high must be given for a number"):
        bound(question, PRIVATE)
    with pytest.raises(InvalidParameter, match="the same range"):
        bound(question, replace(declared, columns={**COLUMNS, "gap": {"low": 0, "high": 90}}))


# Answers


def people(n: int = 40_000) -> hf.data.Sample:
    rng = np.random.default_rng(7)
    age = rng.integers(18, 80, n)
    return hf.data.table({"age": age.tolist(), "income": (age * 1.0).tolist(), "sex": ["f", "m"] * (n // 2)})


def test_the_answers_are_about_the_rows_that_meet_the_condition() -> None:
    guard = Guard.open(None, people(), Policy(questions=20, privacy=PureDP(0.5), spend=PureDP(0.1), columns=COLUMNS))
    young = 28.5  # the mean of 18 to 39
    noisy = guard.ask(hf.guard.mean("income", where="age < 40"))
    assert noisy.interval[0] < young < noisy.interval[1]
    assert abs(noisy.value - young) < 2
    guard = Guard.open(None, people(), Policy(questions=20, columns=COLUMNS))
    right = guard.ask(hf.guard.check("income", guess=young, where="age < 40"))
    assert (right.passed, right.value, right.guarantee.theorem) == (True, young, "holdout.error-allocation")
    wrong = guard.ask(hf.guard.check("income", guess=80, where="age < 40"))
    assert not wrong.passed
    assert wrong.interval[0] <= young <= wrong.interval[1]
    assert guard.ask(hf.guard.claim("income", at_least=20, where="age < 40")).passed
    assert not guard.ask(hf.guard.claim("income", at_least=40, where="age < 40")).passed
    middle = guard.ask(hf.guard.quantile("income", 0.5, guess=28, tolerance=8, where="age < 40"))
    assert middle.passed


def test_the_end_of_a_run_reveals_them() -> None:
    guard = Guard.open(None, people(), Policy(questions=20, columns=COLUMNS))
    guard.ask(hf.guard.check("income", guess=28, where="age < 40"))
    (line,) = guard.ask(hf.guard.close()).details["revealed"]
    assert line["value"] == pytest.approx(28.5, abs=0.2)
    assert line["interval"][0] < 28.5 < line["interval"][1]


@pytest.mark.parametrize("ending", [hf.guard.close(), hf.guard.final({"young": "id < 40"})], ids=["close", "final"])
def test_an_end_does_not_show_the_value_of_a_few_rows(ending: Any) -> None:
    """The mean of one row is the row: each question below is about nine rows at most, and its twin about ten."""
    n = 4000
    columns = {"id": list(range(n)), "x": [float(at % 97) for at in range(n)], "g": ["a", "b"] * (n // 2)}
    declared = {"x": {"low": 0, "high": 100}, "id": {"low": 0, "high": n}, "g": {"categories": ["a", "b"]}}
    guard = Guard.open(None, hf.data.table(columns), Policy(questions=50, columns=declared))
    wide: dict[str, Any] = {"tolerance": 100}
    asked = [
        (hf.guard.check("x", guess=50, where="id = 17"), hf.guard.check("x", guess=50, where="id < 10")),
        (
            hf.guard.check("case when id < 9 then x end", guess=50, where_present=True),
            hf.guard.check("case when id < 10 then x end", guess=50, where_present=True),
        ),
        (hf.guard.claim("x", at_least=0.5, where="id = 17"), hf.guard.claim("x", at_least=0.5, where="id < 10")),
        (
            hf.guard.difference("x", "g", ["a", "b"], where="id < 19", guess=0, **wide),
            hf.guard.difference("x", "g", ["a", "b"], where="id < 20", guess=0, **wide),
        ),
        (
            hf.guard.correlation("x", "id", guess=0, tolerance=1, where="id < 9"),
            hf.guard.correlation("x", "id", guess=0, tolerance=1, where="id < 10"),
        ),
    ]
    answers = [guard.ask(question) for pair in asked for question in pair]
    done = guard.ask(ending)
    revealed = {line["sequence"]: line for line in done.details["revealed"]}
    for at, answer in enumerate(answers):
        line = revealed[answer.sequence]
        if at % 2:
            assert "too_few_rows" not in line
            assert line["value"] not in (answer.value, None)
        else:
            assert line["too_few_rows"]
            assert (line["value"], line["interval"]) == (answer.value, answer.interval)
    assert revealed_words(done.details["revealed"]).endswith(
        "5 earlier answers are about too few rows to be shown exactly."
    )
    assert "5 earlier answers are about too few rows" in str(done)
    with pytest.raises(BudgetExhausted, match="this guard answers no more questions"):
        guard.ask(hf.guard.check("x", guess=50))


def test_the_default_tolerance_goes_by_the_part_that_is_expected_to_meet_it() -> None:
    guard = Guard.open(None, people(), Policy(questions=20, columns=COLUMNS))
    asked = {"guess": 28.5, "where": "age < 40"}
    quarter = guard.estimate(hf.guard.check("income", **asked)).half_width
    all_rows = guard.estimate(hf.guard.check("income", **asked, where_share=1)).half_width
    plain = guard.estimate(hf.guard.check("income", guess=28.5)).half_width
    assert plain is not None
    assert all_rows == pytest.approx(plain, rel=0.015), "7/8 of the share shows a check about all rows"
    assert quarter == pytest.approx(2 * plain, rel=0.1)
    few = guard.ask(hf.guard.check("income", guess=18.0, where="age < 19", where_share=0.01))
    assert few.passed
    assert few.interval[0] <= 18 <= few.interval[1]


def test_without_rows_that_meet_it_nothing_is_claimed() -> None:
    guard = Guard.open(
        None, people(2000), Policy(questions=20, privacy=PureDP(0.1), spend=PureDP(0.1), columns=COLUMNS)
    )
    assert guard.ask(hf.guard.mean("income", where="age > 200")).interval == [0.0, 100.0]
    failed = guard.ask(hf.guard.check("income", guess=50, tolerance=40, where="age > 200"))
    assert (failed.passed, failed.interval) == (False, [0.0, 100.0])


# What is refused


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (hf.guard.mean("income", where="age"), "where must be a condition"),
        (hf.guard.mean("income", where="true"), "where must be a condition"),
        (hf.guard.mean("income", where="height > 3"), "height"),
        (hf.guard.mean("gap", low=0, high=1, where="age < 40"), "null"),
        (hf.guard.mean("age", where="age < 40"), "Policy.columns"),
        (hf.guard.check("income", guess=3, where_share=0.2), "where_share"),
        (hf.guard.check("income", guess=3, tolerance=30, where="age < 40", where_share=0.2), "where_share"),
        (hf.guard.check("income", guess=3, where="age < 40", where_share=1.5), "where_share"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_the_schema(asked: Question, words: str) -> None:
    with pytest.raises((InvalidParameter, QuestionRefused), match=words):
        bound(asked)


def test_a_plan_of_means_has_no_interval_for_some_of_the_rows() -> None:
    with pytest.raises(InvalidParameter, match="where must be left out"):
        bound(hf.guard.mean("income", where="age < 40"), Policy(questions=10, answers="means", columns=COLUMNS))


# Coverage

RUNS, N, SHARE, LEVEL = 3000, 1000, 0.3, 0.05


def noisy_misses(runs: int, *, wrong: bool) -> int:
    """Runs in which the interval misses the mean of a Bernoulli value among the rows that meet a condition.

    The wrong version takes all rows for the sample that the mean is of, as if nobody had been left out.
    """
    policy = Policy(confidence=0.6, questions=1, final=0, kinds=("mean",), privacy=PureDP(1.0), spend=PureDP(1.0))
    made = bound(hf.guard.mean("sex = 'f'", where="age < 40"), policy, N)
    situation = Situation(GuardBudget(N, policy), Progress(), source=Seeded(5))
    # The share of the interval without the correction for privacy, so that misses are frequent enough to be counted.
    object.__setattr__(situation.budget, "_memory", _Fixed(math.log(LEVEL)))
    rng, missed, truth = np.random.default_rng(11), 0, 0.35
    for _ in range(runs):
        meets = rng.random(N) < SHARE
        ones = int((rng.random(N) < truth)[meets].sum())
        settled = made.settle([(ones * UNIT,), (int(meets.sum()),)], situation)
        low, high = settled.interval
        if wrong:
            low, high = unit_interval(N).over(settled.value, settled.value, math.log(LEVEL))
        missed += not low <= truth <= high
    return missed


class _Fixed(dict[Any, float]):
    """A memory of corrected shares that has one share for all."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: Any) -> float:
        return self.share


def test_the_interval_of_the_ratio_covers_and_that_of_all_rows_does_not() -> None:
    allowed = most_misses(RUNS, LEVEL + 0.04)
    assert noisy_misses(RUNS, wrong=False) <= allowed
    assert noisy_misses(RUNS, wrong=True) > allowed


# What a policy declares


def test_declared_columns_are_part_of_the_policy() -> None:
    assert Policy.from_dict(PRIVATE.to_dict()) == PRIVATE
    assert "columns" not in Policy().to_dict()
    assert PRIVATE.columns is not None
    assert PRIVATE.columns["income"] == DeclaredColumn(0, 100)
    guard = Guard.open(None, people(2000), Policy(questions=3, columns=COLUMNS))
    assert guard.describe()["policy"]["columns"]["sex"] == {"categories": ["f", "m"]}


@pytest.mark.parametrize(
    "columns",
    [
        [],
        {},
        {"age": {}},
        {"age": {"low": 0}},
        {"age": {"low": 3, "high": 1}},
        {"age": {"low": 0, "high": float("nan")}},
        {"age": {"most": 3}},
        {"sex": {"categories": "fm"}},
        {"sex": {"categories": []}},
        {"sex": {"categories": [None]}},
    ],
)
def test_wrong_declarations_are_refused(columns: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"columns|categories|low|high"):
        Policy(columns=columns)


@pytest.mark.parametrize(
    "columns",
    [{"height": {"low": 0, "high": 1}}, {"sex": {"low": 0, "high": 1}}, {"income": {"categories": [1]}}],
)
def test_declarations_that_do_not_fit_the_schema_are_refused_when_a_guard_is_opened(columns: Any) -> None:
    with pytest.raises(InvalidParameter):
        Guard.open(None, people(2000), Policy(questions=3, columns=columns))
    guard = Guard.open(None, people(2000), Policy(questions=3))
    with pytest.raises(InvalidParameter):
        guard.override(Policy(questions=4, columns=columns), "more")


def test_another_declaration_is_another_policy(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Guard.open(path, people(2000), Policy(questions=3, columns=COLUMNS)).shut()
    with pytest.raises(LedgerConflict):
        Guard.open(path, people(2000), Policy(questions=3))
