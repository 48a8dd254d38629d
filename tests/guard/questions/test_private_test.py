"""Tests in a guard: certified where their own level is proved, refused where no rows could make them reject."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard import Guard, Policy, check
from holdfast.guard import test as ask_test
from holdfast.guard.guard_budget import GuardBudget
from holdfast.server.agents.tools import answer_words, estimate_words
from tests.guard.strangers import ask_each

N = 50_000
PAIR: list[list[Any]] = [["a", "b"], [0, 1]]


@pytest.fixture(scope="module")
def rows() -> hf.data.Sample:
    """Sides that agree with `y` in 94 of 100 rows, near enough to a perfect association."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, N)
    side = np.where(rng.random(N) < 0.94, y, 1 - y)
    return hf.data.table({"side": np.array(["a", "b"])[side].tolist(), "y": y.tolist()})


def opened(rows: hf.data.Sample, cap: Cost, spend: Cost | None = None) -> Guard:
    return Guard.open(None, rows, Policy(questions=100, privacy=cap, spend=spend or cap))


def independence(**more: Any) -> Any:
    return ask_test("independence", ["side", "y"], categories=PAIR, **more)


@pytest.mark.parametrize(
    ("question", "cost", "level"),
    [
        (ask_test("gof", ["side"], categories=[["a", "b"]], p0=[0.5, 0.5]), PureDP(0.01), "exact"),
        (ask_test("gof", ["side"], categories=[["a", "b"]], p0=[0.5, 0.5]), ZCDP(1e-7), "exact"),
        (independence(), PureDP(0.01), "empirical"),
        (independence(), ZCDP(2e-7), "asymptotic"),
        (independence(), PureDP(0.1), "exact"),
    ],
    ids=["gof-pure", "gof-zcdp", "independence-simulated", "independence-limit", "independence-bounded"],
)
def test_a_test_is_certified_where_its_own_level_is_proved(
    rows: hf.data.Sample, question: Any, cost: Cost, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(cost, ZCDP):  # correcting a tiny p-value for a concentrated cap takes seconds, and is not looked at
        monkeypatch.setattr(GuardBudget, "adjusted", lambda self, p, *_: p)
    guard = opened(rows, cost)
    said = guard.estimate(question)
    assert said.test is not None
    assert (said.admitted, said.test["can_reject"]) == (True, True)
    assert (said.test["proved"], said.test["certified"]) == (level, level == "exact")
    answer = guard.ask(question)
    test = answer.details["test"]
    assert test["level"] == level
    assert answer.guarantee.certified is (level == "exact")
    assert answer.to_dict()["guarantee"]["certified"] is answer.guarantee.certified
    assert str(answer.guarantee).endswith("not certified") is not answer.guarantee.certified
    words = answer_words(answer, 0.95)
    assert ("NOT certified" in words) is not answer.guarantee.certified
    assert ("will not be certified" in estimate_words(said)) is not answer.guarantee.certified
    if level != "exact":
        assert f"the test's own level is {level}" in answer.guarantee.assumption
        assert f"the test's own level is {level}" in words


def test_a_planted_association_is_rejected_under_a_cap_that_no_replicates_reach(rows: hf.data.Sample) -> None:
    """The level is 4.7e-41, where a simulated p-value stopped at 1e-3 and the answer was 1."""
    guard = opened(rows, PureDP(0.1))
    said = guard.estimate(independence()).test
    assert said is not None
    assert said["level"] == pytest.approx(4.7e-41, rel=0.02)
    assert said["least_p_value"] < said["level"]
    answer = guard.ask(independence())
    assert answer.details["rejected"] is True
    assert answer.value < 0.05
    assert answer.guarantee.certified


@pytest.mark.parametrize("cap", [PureDP(0.1), ZCDP(0.001)])
def test_a_test_that_can_reject_nothing_is_refused_and_spends_nothing(rows: hf.data.Sample, cap: Any) -> None:
    spend = type(cap)(cap.to_dict().get("epsilon", cap.to_dict().get("rho")) / 10)
    guard = opened(rows, cap, spend)
    before, entries = guard.remaining(), guard.describe()["entries"]
    said = guard.estimate(independence())
    assert not said.admitted
    assert said.test is not None
    assert said.test["can_reject"] is False
    assert said.test["least_p_value"] > said.test["level"]
    with pytest.raises(QuestionRefused, match="could not reject, whatever the rows are") as refused:
        guard.ask(independence())
    assert str(refused.value) == said.reason
    assert "allow_powerless" in said.reason
    assert said.reason.endswith("nothing was spent")
    assert isinstance(ask_each(guard, [hf.guard.pipeline.Request(independence(), "ann")])[0], QuestionRefused)
    assert (guard.remaining(), guard.describe()["entries"]) == (before, entries)
    allowed = guard.ask(independence(allow_powerless=True))
    assert (allowed.value, allowed.details["rejected"]) == (1.0, False)
    assert guard.ask(independence()).repeated, "the flag is a permission, no part of the question"
    assert guard.estimate(independence(allow_powerless=True)).repeated


def test_the_level_follows_the_run(rows: hf.data.Sample) -> None:
    """Failed checks shrink the level, and the replicates grow with what it needs."""
    guard = Guard.open(None, rows, Policy(questions=20, privacy=PureDP(0.01), spend=PureDP(0.01)))
    question = ask_test("gof", ["side"], categories=[["a", "b"]], p0=[0.5, 0.5])
    first = guard.estimate(question).test
    assert not guard.ask(check("y = 1", guess=0.9, show="bit")).passed
    then = guard.estimate(question).test
    assert first is not None
    assert then is not None
    assert then["level"] < first["level"] / 19  # a failure has prior weight 1/20 as the first of twenty questions
    assert then["least_p_value"] <= then["level"] / 9
    answer = guard.ask(question).details["test"]
    assert answer["details"]["m"] == then["replicates"] > first["replicates"]


def test_questions_without_the_flag_keep_the_digests_they_had() -> None:
    policy = Policy(questions=10, privacy=PureDP(1.0), spend=PureDP(0.1))
    schema = Schema({"a": "text not null", "y": "integer not null"})
    gof = ask_test("gof", ["a"], categories=[["x", "z"]], p0=[0.25, 0.75])
    pair = ask_test("independence", ["a", "y"], categories=[["x", "z"], [0, 1]], allow_powerless=True)
    digests = [one.bind(schema, 1000, policy).digest for one in (gof, pair)]
    assert digests == [
        "771d7d68fe39411acaaeab900a96ee3fca8087d8c28047a60782fdc3a256c600",
        "922cae1798d6bfa21ccb1fadcd756ed57982b7456fa1e8ded2377f21afd2c45e",
    ]
    with pytest.raises(InvalidParameter, match="allow_powerless must be true or false, got 'yes'"):
        ask_test("gof", ["a"], p0=[0.5, 0.5], categories=[["x", "z"]], allow_powerless="yes").bind(schema, 10, policy)  # type: ignore[arg-type]


def test_small_cells_are_told_before_they_cost() -> None:
    """Nine cells of 530 rows under noise of standard deviation 57: the figure is in every form of the estimate."""
    n = 530
    few = hf.data.table({"a": [i % 3 for i in range(n)], "b": [i // 3 % 3 for i in range(n)]})
    question = ask_test("independence", ["a", "b"], categories=[[0, 1, 2]] * 2)
    said = Guard.open(None, few, Policy(questions=10, privacy=PureDP(0.05), spend=PureDP(0.05))).estimate(question)
    assert said.test is not None
    assert said.admitted
    assert 0.2 < said.test["inconclusive"] < 0.36
    assert said.to_dict()["test"] == said.test
    for text in ("2 by 2", "times the epsilon", "times the rows", f"about {said.test['inconclusive']:.3g}"):
        assert text in estimate_words(said)
    assert f"inconclusive with probability {said.test['inconclusive']:.2g}" in str(said)
    wide = opened(few, PureDP(0.02)).estimate(ask_test("independence", ["a", "b"], categories=[list(range(9))] * 2))
    assert not wide.admitted
    assert "its rule of thumb fires on every noisy table" in wide.reason
