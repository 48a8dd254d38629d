"""Nothing is imputed silently: a question whose expression can be null says what null means, or is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast import guard as g
from holdfast.accounting import ZCDP, PureDP
from holdfast.data import Column, Schema, table
from holdfast.data.statistics import UNIT
from holdfast.errors import InvalidParameter
from holdfast.guard import Guard, Policy
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.questions.base import Question, Situation
from holdfast.guard.questions.noisy import amount
from holdfast.guard.scoring.board import Board
from holdfast.guard.state import GuardState, Progress
from holdfast.noise.entropy import Seeded

N = 100_000
SPEND = PureDP(0.01)
POLICY = Policy(questions=50, privacy=PureDP(0.1), spend=SPEND)
OLD = Schema({"age": "integer", "income": "number", "sex": "text", "member": "boolean"})
"""A schema as ledgers hold it that were begun before nullability was part of it."""


@pytest.fixture(scope="module")
def guard() -> Guard:
    """The rows of the finding: 20% missing, and a mean of about 50 among the others."""
    rng = np.random.default_rng(1)
    v = np.clip(rng.normal(50, 15, N), 0, 100)
    v[rng.random(N) < 0.2] = np.nan
    group = np.where(rng.random(N) < 0.4, "a", "b").astype(object)
    group[rng.random(N) < 0.1] = None
    return Guard.open(None, table({"v": v, "y": rng.random(N) < 0.3, "g": group.tolist()}), POLICY)


REFUSED: Mapping[str, Question] = {
    "mean": g.mean("v", low=0, high=100),
    "check": g.check("v", guess=50, low=0, high=100),
    "claim": g.claim("v", at_least=40, low=0, high=100),
    "validate": g.validate("v < 90", at_least=0.5),
    "compare": g.compare("v < 50", "y"),
    "select": g.select({"a": "v < 50", "b": "y"}),
    "case without else": g.mean("case when y then 1 end", low=0, high=1),
    "division by what may be 0": g.check("1 / (case when y then 1 else 0 end)", guess=0.5, low=0, high=1),
    "histogram": g.histogram("g", categories=["a", "b"]),
    "bins": g.histogram("v", edges=[0, 50, 100]),
    "test": g.test("gof", ["g"], categories=[["a", "b"]], p0=[0.5, 0.5]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_question_that_can_be_null_is_refused_and_told_the_ways(guard: Guard, name: str) -> None:
    before = guard.remaining()
    with pytest.raises(
        InvalidParameter,
        match=r"((say|choose) what null means|such rows are counted|missing values are counted).*nothing was spent",
    ) as refusal:
        guard.ask(REFUSED[name])
    words = str(refusal.value)
    assert ("default=" in words and "coalesce(" in words) or "null_as" in words
    assert ("where_present" in words) == (name not in ("select", "test"))
    assert guard.remaining() == before


@pytest.mark.parametrize("name", REFUSED)
def test_no_refusal_depends_on_rows(name: str) -> None:
    """The same refusal for the same schema, whatever the rows hold."""
    schema = {"v": "number null", "y": "boolean not null", "g": "text null"}
    full = table({"v": [1.0, 2.0] * 500, "y": [True] * 1000, "g": ["a"] * 1000}, schema=schema)
    gaps = table({"v": [None, 2.0] * 500, "y": [False] * 1000, "g": [None, "b"] * 500}, schema=schema)
    said = []
    for sample in (full, gaps):
        with pytest.raises(InvalidParameter) as refusal:
            Guard.open(None, sample, POLICY).ask(REFUSED[name])
        said.append(str(refusal.value))
    assert said[0] == said[1]


def test_the_mean_among_present_rows_is_what_the_interval_holds(guard: Guard) -> None:
    """The finding: a certified [37.3, 41.6] for a mean of 49.98. Now the interval is about the rows with a value."""
    answer = guard.ask(g.mean("v", low=0, high=100, where_present=True))
    assert answer.guarantee.certified
    assert answer.interval[0] < 49.98 < answer.interval[1]
    passed = guard.ask(g.check("v", guess=50, low=0, high=100, where_present=True))
    assert passed.passed
    assert passed.value == 50
    failed = guard.ask(g.check("v", guess=40, low=0, high=100, where_present=True))
    assert not failed.passed
    assert failed.interval[0] < 49.98 < failed.interval[1]
    assert guard.ask(g.claim("v", at_least=40, low=0, high=100, where_present=True)).passed
    assert guard.ask(g.validate("v < 60", at_least=0.6, where_present=True)).passed
    share = guard.ask(g.mean("case when g = 'a' then y end", where_present=True))
    assert share.interval[0] < 0.3 < share.interval[1]  # and not the product of two rates


def test_a_default_is_what_it_says(guard: Guard) -> None:
    answer = guard.ask(g.check("v", guess=40, low=0, high=100, default=0))
    assert answer.passed
    assert guard.ask(g.check("coalesce(v, 0)", guess=40, low=0, high=100)).passed


def test_a_comparison_counts_rows_that_have_both() -> None:
    """Where `a` is missing `b` would be another mean: 0.25 among all rows, 0.5 among those that have both."""
    rows = {"a": [1.0, None] * 5000, "b": [0.5, 0.0] * 5000}
    guard = Guard.open(None, table(rows), Policy(questions=10))
    answer = guard.ask(g.compare("b", "a", guess=-0.5, low=0, high=1, where_present=True))
    assert answer.passed
    assert not guard.ask(g.compare("b", "a", guess=-0.25, tolerance=0.1, low=0, high=1, where_present=True)).passed


@pytest.mark.parametrize("spend", [PureDP(0.05), ZCDP(0.001)])
def test_a_histogram_says_where_missing_values_count(spend: PureDP | ZCDP) -> None:
    side = ["left"] * 3 + ["right"] * 3 + [None] * 4
    sample = table({"side": side * 10_000, "x": [0.0, 1.0, 2.0, 3.0, None] * 20_000})
    guard = Guard.open(
        None, sample, Policy(questions=20, privacy=type(spend)(10 * next(iter(vars(spend).values()))), spend=spend)
    )
    cells = {"categories": ["left", "right"]}

    def shares(**how: Any) -> dict[str, float]:
        answer = guard.ask(g.histogram("side", **cells, **how))
        for label, value in answer.value.items():
            assert answer.interval[label][0] <= value <= answer.interval[label][1]
        return {label: round(value, 1) for label, value in answer.value.items()}

    assert shares(null_as="other") == {"left": 0.3, "right": 0.3, "other": 0.4}
    assert shares(null_as="right") == {"left": 0.3, "right": 0.7, "other": 0.0}
    assert shares(where_present=True) == {"left": 0.5, "right": 0.5, "other": 0.0}
    bins = guard.ask(g.histogram("x", edges=[0, 2, 4], where_present=True)).value
    assert [round(one, 1) for one in bins.values()] == [0.5, 0.5, 0.0]
    bins = guard.ask(g.histogram("x", edges=[0, 2, 4], null_as="[0, 2)")).value
    assert [round(one, 1) for one in bins.values()] == [0.6, 0.4, 0.0]


def test_a_test_counts_missing_values_where_it_is_told() -> None:
    sample = table({"side": (["left"] * 5 + ["right"] * 3 + [None] * 2) * 2_000})
    some = PureDP(0.02)
    guard = Guard.open(None, sample, Policy(questions=10, privacy=some, spend=some))
    question = g.test("gof", ["side"], categories=[["left", "right"]], p0=[0.5, 0.5], null_as=["right"])
    assert guard.ask(question).details["rejected"] is False


WRONG: Sequence[tuple[Question, str]] = [
    (g.mean("income", low=0, high=1, default=0, where_present=True), "must not both be given"),
    (g.mean("income", low=0, high=1, where_present="yes"), "where_present must be true or false"),  # type: ignore[arg-type]
    (g.histogram("sex", categories=["f"], null_as="x"), "null_as must be one of the cells"),
    (g.histogram("sex", categories=["f"], null_as="f", where_present=True), "must not both be given"),
    (g.test("gof", ["sex"], categories=[["f", "m"]], p0=[0.5, 0.5], null_as=["x"]), "null_as must be a category"),
    (g.test("gof", ["sex"], categories=[["f", "m"]], p0=[0.5, 0.5], null_as=["f", "m"]), "one entry for each"),
]


@pytest.mark.parametrize(("question", "words"), WRONG)
def test_what_nulls_mean_is_checked(question: Question, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        question.bind(OLD, 10_000, POLICY)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(questions=10, answers="means"),
        Policy(
            questions=10,
            privacy=PureDP(0.5),
            holdout="thresholdout",
            threshold=0.04,
            overfits=3,
            holdout_spend=PureDP(0.4),
        ),
    ],
    ids=["means", "thresholdout"],
)
def test_runs_that_have_no_interval_for_it_refuse_where_present(policy: Policy) -> None:
    made = g.mean if policy.answers == "means" else g.check
    given: dict[str, Any] = {"low": 0, "high": 1} | ({} if made is g.mean else {"guess": 0.5})
    with pytest.raises(InvalidParameter, match="where_present must be left out, because this kind of question has no"):
        made("income", where_present=True, **given).bind(OLD, 10_000, policy)
    with pytest.raises(InvalidParameter, match="default=NUMBER") as refusal:
        made("income", **given).bind(OLD, 10_000, policy)
    assert "where_present" not in str(refusal.value)


DIGESTS = {
    "mean": "0efe6b24dbbfcef1f7940f945b733020be749b3862396149744cfbae959ce9b5",
    "condition": "74cdcf0531cfc99a4614b4aa29581d38ef65e320e5dba8954696d6e6fa235028",
    "default": "0eb5206232bd3a496189d4229764ffc7eec88cc79644188d6e4daf62ca901748",
    "check": "5b2ab02118a1b4bb12210607fd382ee7c775f2ed86cb38e9a7afeee16f67d620",
    "check of a number": "979ae6c12d0a74827ea4a4402424235fc6b5679c6f69df9633dc0264d902490a",
    "claim": "20f40408117d6412b625f66c5046d3bed70d085e9e20adf6e5f57dd0c330634b",
    "validate": "7163f504af14e4d1b9081a54f8a55bc5ca40b2487bb5194291355879f5a95ff9",
    "compare": "5b8e87ce83c0404ba661d28f540571c8c90946feb19c61cf78e8c5abc63ad569",
    "select": "44ca23e1b6c43b70e39c31ba3f5f1203fa9a42ea00fc9c5bb2bb451de3d8d488",
    "histogram": "a84ce1a827d70aa163c1a62b1207382d935b369b47051cfa407efae1e370095b",
    "bins": "69c90dbd1479c42b400b71ffc28842af323118deb1b5825a222824787489d8b3",
    "test": "d7fc37f3d68e1f60b3e3d5155947cf2f9ae94b25f4fb93c8140ed9e25e0ec4db",
    "independence": "be4aba4ecf07eace2a57fbc2383a66d4251f0fb127323158e7ae241fe767b66e",
}
"""Identities of questions, written down before nullability was part of a schema: what old ledgers hold."""

SAME: Mapping[str, tuple[type[Question], dict[str, Any], dict[str, Any]]] = {
    "mean": (g.mean, {"expression": "income", "low": 0, "high": 100}, {"default": 0}),
    "condition": (g.mean, {"expression": "age < 30"}, {"default": 0}),
    "default": (g.mean, {"expression": "income", "low": 0, "high": 100, "default": 50}, {}),
    "check": (g.check, {"expression": "age < 30", "guess": 0.25}, {"default": 0}),
    "check of a number": (
        g.check,
        {"expression": "income", "guess": 25, "low": 0, "high": 100, "tolerance": 5},
        {"default": 0},
    ),
    "claim": (g.claim, {"expression": "income", "at_least": 20, "low": 0, "high": 100}, {"default": 0}),
    "validate": (g.validate, {"condition": "age < 30", "at_least": 0.1}, {"default": 0}),
    "compare": (g.compare, {"b": "age < 50", "a": "member", "margin": 0.4}, {"default": 0}),
    "select": (g.select, {"candidates": {"a": "age < 30", "b": "member"}}, {"default": 0}),
    "histogram": (g.histogram, {"column": "sex", "categories": ["f", "m"]}, {"null_as": "other"}),
    "bins": (g.histogram, {"column": "age", "edges": [20, 40, 60]}, {"null_as": "other"}),
    "test": (
        g.test,
        {"name": "gof", "columns": ["sex"], "categories": [["f", "m"]], "p0": [0.5, 0.5]},
        {"null_as": ["m"]},
    ),
    "independence": (
        g.test,
        {"name": "independence", "columns": ["sex", "member"], "categories": [["f", "m"], None]},
        {"null_as": ["m", True]},
    ),
}


@pytest.mark.parametrize("name", DIGESTS)
def test_old_ledgers_find_their_answers_again(name: str) -> None:
    """Said in words, or needless because nothing can be missing: the canonical form is what it always was."""
    kind, fields, said = SAME[name]
    policy = Policy(questions=10, privacy=PureDP(1.0), spend=PureDP(0.1))
    full = Schema([Column(column.name, column.kind, nullable=False) for column in OLD])
    assert kind(**fields, **said).bind(OLD, 10_000, policy).digest == DIGESTS[name]
    assert kind(**fields).bind(full, 10_000, policy).digest == DIGESTS[name]
    if hasattr(kind, "where_present") and "default" not in fields:
        assert kind(**fields, where_present=True).bind(full, 10_000, policy).digest == DIGESTS[name]
        assert kind(**fields, where_present=True).bind(OLD, 10_000, policy).digest != DIGESTS[name]


def test_a_question_with_where_present_is_plain_data_and_back() -> None:
    question = g.check("income", guess=1, low=0, high=2, where_present=True)
    assert Question.from_dict(question.to_dict()) == question


def test_what_is_shown_of_where_present_is_public_but_for_the_message() -> None:
    """Samples that pass the same check are told the same, however many rows have a value; failures show a grid."""
    shown = set()
    for missing in (0, 200, 1000):
        v = [0.0, 1.0] * 5000
        rows = [None if i < missing else one for i, one in enumerate(v)]
        guard = Guard.open(None, table({"v": rows}, schema={"v": "number null"}), Policy(questions=10))
        question = g.check("v", guess=0.5, low=0, high=1, where_present=True)
        estimate, answer = guard.estimate(question), guard.ask(question)
        assert answer.half_width == pytest.approx(estimate.half_width)
        shown.add((answer.passed, answer.value, tuple(answer.interval), estimate.half_width, estimate.least_tolerance))
        failed = guard.ask(g.check("v", guess=0.9, low=0, high=1, tolerance=0.2, where_present=True))
        assert not failed.passed
        assert all((end * 10) % 1 == pytest.approx(0, abs=1e-9) for end in failed.interval)  # steps of half a tolerance
    assert len(shown) == 1


def test_a_tolerance_that_no_rows_reach_is_refused_before_they_are_looked_at() -> None:
    guard = Guard.open(None, table({"v": [0.0, None] * 500}), Policy(questions=10))
    before = guard.remaining()
    with pytest.raises(InvalidParameter, match=r"tolerance must be at least .* nothing was spent"):
        guard.ask(g.check("v", guess=0.5, low=0, high=1, tolerance=0.001, where_present=True))
    with pytest.raises(InvalidParameter, match=r"at_least must be at most .* nothing was spent"):
        guard.ask(g.claim("v", at_least=0.9999, low=0, high=1, where_present=True))
    assert guard.remaining() == before


@pytest.mark.parametrize("spend", [PureDP(0.1), ZCDP(0.01)])
def test_a_private_mean_among_present_rows_costs_what_it_says_and_holds(spend: PureDP | ZCDP) -> None:
    """Two sums at half of the price each: the promised noise tails are left at most as often as promised (1e-6)."""
    n, runs = 4000, 300
    policy = Policy(questions=10, privacy=type(spend)(1.0), spend=spend)
    schema = Schema({"v": "number null"})
    bound = g.mean("v", low=0, high=100, where_present=True).bind(schema, n, policy)
    assert bound.cost == spend
    ((name, price),) = amount(spend).items()
    assert amount(bound._noise.cost) == {name: price / 2}  # type: ignore[attr-defined]
    rng, misses = np.random.default_rng(5), 0
    situation = Situation(GuardBudget(n, policy), Progress())
    for _ in range(runs):
        present = int(rng.binomial(n, 0.4))
        total = int(rng.binomial(present, 0.3)) * UNIT
        settled = bound.settle([(total,), (present,)], replace(situation, source=Seeded(int(rng.integers(2**60)))))
        misses += not settled.interval[0] <= 30 <= settled.interval[1]
        assert settled.interval[0] <= settled.value <= settled.interval[1]
    assert misses == 0  # all are to hold at once with 95%: even one in 300 has a chance far below 1e-6 for each


def test_an_old_ledger_reopens_and_its_columns_count_as_nullable() -> None:
    """A standing without nullability, as older versions wrote it: reopening works, and questions must speak."""
    sample = table({"v": [0.0, 1.0] * 500})
    store = open_store(None)
    guard = Guard.open(store, sample, Policy(questions=10))

    def strip(transaction: Transaction) -> None:
        standing = GuardState.of(transaction)
        old = Schema([Column(column.name, column.kind) for column in standing.schema])
        transaction.put_account("guard", replace(standing, schema=old).to_dict())
        transaction.append("paused", {})

    guard.ledger.submit(strip)
    again = Guard.open(store, table({"v": [0.0, 1.0] * 500}))
    assert again.describe()["schema"] == {"columns": [{"name": "v", "kind": "number"}]}
    with pytest.raises(InvalidParameter, match="say what null means"):
        again.ask(g.check("v", guess=0.5, low=0, high=1))
    assert again.ask(g.check("v", guess=0.5, low=0, high=1, default=0)).passed


def test_a_board_refuses_rows_without_a_label_or_key() -> None:
    rows = {"id": [1, 2, 3, None], "y": [True, None, False, True], "z": [True] * 4, "key": [1, 2, 3, 4]}
    for key, label in (("key", "y"), ("id", "z")):
        board = Board("b", key=key, label=label, metric="accuracy")
        with pytest.raises(InvalidParameter, match="must have a value in every row, and some are missing"):
            Guard.open(None, table(rows), Policy(questions=10, boards=(board,)))
