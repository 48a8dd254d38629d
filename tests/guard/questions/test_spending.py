"""What a private question costs: its own spend or the policy's, of a kind that the cap can hold; else it is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast import guard as ask
from holdfast.accounting import GDP, ApproxDP, Bits, Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.accounting.totals import pure_rho
from holdfast.data.schema import Schema
from holdfast.errors import BudgetExhausted, HoldfastError, InvalidParameter, QuestionRefused
from holdfast.guard import Guard, Policy
from holdfast.guard.ledger import open_store
from holdfast.guard.ledger.verify import verify_store
from holdfast.guard.questions.histogram import _noise
from holdfast.guard.questions.noisy import amount, noise_for, spend_of
from holdfast.guard.replay import GuardReplay
from holdfast.guard.state import Account

N = 2000
PRIVATE_QUESTIONS = [
    hf.mean("age < 40"),
    ask.histogram("sex", categories=["f", "m"]),
    ask.select({"young": "age < 40", "old": "age > 60"}),
    ask.test("gof", ["sex"], [["f", "m"]], p0=[0.5, 0.5]),
]
CAPS = [Policy(privacy=PureDP(1.0)), Policy(privacy=PureDP(1.0), accounting="odometer"), Policy(privacy=ZCDP(1.0))]


def named(question: Any) -> str:
    return str(question.kind)


@pytest.fixture
def sample() -> hf.data.Sample:
    rng = np.random.default_rng(2)
    return hf.data.table({"age": rng.integers(18, 90, N), "sex": rng.choice(["f", "m"], N)}, engine="numpy")


def refused(guard: Guard, question: Any, error: type[HoldfastError], said: str) -> bool:
    """The question is refused in these words, asked or estimated; whether ledger and budget are as before."""
    head, left = guard.ledger.head(), guard.remaining()
    for what in (guard.ask, guard.estimate):
        with pytest.raises(error, match=said):
            what(question)
    return (guard.ledger.head(), guard.remaining()) == (head, left)


@pytest.mark.parametrize("question", PRIVATE_QUESTIONS, ids=named)
def test_without_a_privacy_cap_nothing_private_is_answered(sample: hf.data.Sample, question: Any) -> None:
    policy = Policy(questions=5)
    assert refused(Guard.open(None, sample, policy), question, QuestionRefused, "noise needs `privacy` in a policy")
    with pytest.raises(
        QuestionRefused, match="does not answer questions with noise, because its policy has no privacy budget"
    ):
        question.bind(sample.schema, N, policy)  # nor is it priced where nobody has looked at the policy before


def test_a_spend_of_its_own_does_not_stand_in_for_a_cap() -> None:
    with pytest.raises(QuestionRefused, match="its policy has no privacy budget"):
        spend_of(PureDP(0.1), Policy(questions=5))


@pytest.mark.parametrize("question", PRIVATE_QUESTIONS, ids=named)
@pytest.mark.parametrize("policy", CAPS, ids=str)
def test_a_question_without_a_spend_needs_one_from_the_policy(
    sample: hf.data.Sample, policy: Policy, question: Any
) -> None:
    said = "spend must be given, because neither the question nor the policy gives a privacy cost"
    assert refused(Guard.open(None, sample, policy), question, InvalidParameter, said)


@pytest.mark.parametrize("policy", CAPS, ids=str)
@pytest.mark.parametrize(
    "spend", [GDP(0.5), ApproxDP(0.1, 1e-6), Bits(3), PureDP(0.0), ZCDP(0.0), 0.1, "0.1"], ids=repr
)
def test_a_spend_of_another_kind_is_refused(sample: hf.data.Sample, policy: Policy, spend: Any) -> None:
    guard = Guard.open(None, sample, policy)
    assert refused(
        guard, hf.mean("age < 40", spend=spend), InvalidParameter, "spend must be a positive PureDP or ZCDP, got"
    )


def test_under_a_pure_cap_a_concentrated_spend_is_refused(sample: hf.data.Sample) -> None:
    for policy in CAPS[:2]:
        question = hf.mean("age < 40", spend=ZCDP(0.1))
        assert refused(
            Guard.open(None, sample, policy),
            question,
            InvalidParameter,
            "spend must be a PureDP if the privacy budget is a PureDP",
        )


def test_a_selection_is_paid_in_pure_privacy_under_any_cap(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, Policy(privacy=ZCDP(1.0), spend=ZCDP(0.1)))
    question = ask.select({"young": "age < 40", "old": "age > 60"})
    assert refused(guard, question, InvalidParameter, "spend must be a PureDP, because the cost of a selection")
    paid = guard.ask(ask.select({"young": "age < 40", "old": "age > 60"}, spend=PureDP(1.0)))
    assert paid.cost == PureDP(1.0)
    assert paid.remaining["total"]["rho"] == pytest.approx(1 - float(pure_rho(1.0)), abs=1e-12)


@pytest.mark.parametrize("cost", [GDP(0.5), ApproxDP(0.1, 1e-6), Bits(3)], ids=repr)
@pytest.mark.parametrize("buys", [lambda cost: noise_for(cost, N), amount, _noise], ids=["mean", "test", "histogram"])
def test_no_noise_is_made_for_another_kind(buys: Callable[[Cost], object], cost: Cost) -> None:
    with pytest.raises(InvalidParameter, match="spend must be a PureDP or ZCDP, got"):
        buys(cost)


@pytest.mark.parametrize(("cost", "said"), [(PureDP(0.2), {"epsilon": 0.2}), (ZCDP(0.02), {"rho": 0.02})])
def test_the_noise_costs_what_the_question_spends(cost: Cost, said: dict[str, float]) -> None:
    assert noise_for(cost, N).cost == cost
    assert amount(cost) == said


def test_a_concentrated_test_costs_its_spend(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, Policy(privacy=ZCDP(0.004), spend=ZCDP(0.001), questions=10))
    answer = guard.ask(ask.test("gof", ["sex"], [["f", "m"]], p0=[0.99, 0.01]))
    assert (answer.cost, answer.remaining["total"]["rho"]) == (ZCDP(0.001), 0.003)
    assert answer.details["rejected"]  # half of the rows against one in a hundred: thirty times the noise


def test_an_odometer_of_concentrated_privacy_adds_both_kinds_and_rounds_up(sample: hf.data.Sample) -> None:
    store = open_store()
    guard = Guard.open(store, sample, Policy(privacy=ZCDP(0.01), accounting="odometer", questions=10))
    first = guard.ask(hf.mean("age < 50", spend=ZCDP(0.02)))
    assert first.remaining["total"]["spent"] == {"kind": "zcdp", "rho": 0.02}
    guard.ask(hf.mean("age < 51", spend=ZCDP(0.07)))
    pure = guard.ask(hf.mean("age < 52", spend=PureDP(0.3)))
    exact = Fraction("0.09") + Fraction(pure_rho(0.3))
    spent = pure.remaining["total"]["spent"]["rho"]
    assert exact <= Fraction(spent) <= exact * (1 + Fraction(1, 2**50))
    assert guard.level(0.05) < 0.05
    assert verify_store(store, replay=GuardReplay).ok


def test_a_wider_cap_of_the_series_widens_the_intervals_of_a_concentrated_odometer(sample: hf.data.Sample) -> None:
    """The noise is the same; only the cap that was passed differs."""
    policy = Policy(privacy=ZCDP(0.001), accounting="odometer", spend=ZCDP(0.001), questions=10)
    guard = Guard.open(None, sample, policy)
    widths = [guard.estimate(hf.mean("age < 50")).half_width]
    guard.ask(hf.mean("age < 50", spend=ZCDP(0.1)))
    widths.append(guard.estimate(hf.mean("age < 60")).half_width)
    assert widths[0] < widths[1]


@pytest.mark.parametrize(("unit", "cost"), [(PureDP(0.1), ZCDP(0.1)), (PureDP(0.1), GDP(0.1)), (ZCDP(0.1), GDP(0.1))])
def test_an_odometer_does_not_count_what_its_unit_cannot_hold(unit: Cost, cost: Cost) -> None:
    account = Account.fresh(Policy(privacy=unit, accounting="odometer"))
    before = account.to_dict()
    with pytest.raises(BudgetExhausted, match=f"an odometer that counts costs of kind {unit.kind} cannot count"):
        account.charge(cost, None, "ann")
    assert account.to_dict() == before


def test_what_a_question_may_cost_is_settled_before_the_rows_are_known() -> None:
    schema = Schema({"age": "integer not null"})
    assert hf.mean("age < 40").bind(schema, N, Policy(privacy=PureDP(1.0), spend=PureDP(0.1))).cost == PureDP(0.1)
    own = hf.mean("age < 40", spend=PureDP(0.2)).bind(schema, N, Policy(privacy=PureDP(1.0), spend=PureDP(0.1)))
    assert own.cost == PureDP(0.2)
