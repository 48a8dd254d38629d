"""Questions on their way: batches, reservations, and what happens when the guard changes meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import holdfast as hf
from holdfast import guard as ask
from holdfast.accounting import PureDP
from holdfast.errors import BudgetExhausted, InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard import Guard, Policy
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.ledger import faults
from holdfast.holdout.error_budget import Course
from tests.guard.test_guard import mixed, rows


@pytest.fixture
def sample() -> hf.data.Sample:
    return hf.data.table(rows())


def test_a_batch_does_not_take_back_what_a_failure_in_it_has_told(sample: hf.data.Sample) -> None:
    """If a failure inside a batch ends the run, its answers stand: else every batch would be a free bit about rows."""
    guard = Guard.open(None, sample, Policy(questions=20, failures=0))
    with pytest.raises(BudgetExhausted, match="questions before this one in the batch were answered, and asking them"):
        guard.ask_all([ask.check("age < 40", guess=0.9), ask.check("age < 41", guess=0.3)])
    assert guard.describe()["progress"]["failed"] == 1
    assert guard.ask(ask.check("age < 40", guess=0.9)).repeated
    with pytest.raises(BudgetExhausted, match="the policy allows 0 failed checks"):
        guard.ask(ask.check("age < 42", guess=0.3))


def test_a_failure_makes_a_tolerance_too_small_for_later_questions_and_not_for_the_rest_of_its_batch(
    sample: hf.data.Sample,
) -> None:
    guard, alone = (Guard.open(None, sample, Policy(questions=20)) for _ in range(2))
    least = guard.estimate(ask.check("age < 40", guess=0.3)).least_tolerance
    assert least is not None
    small = ask.check("age < 40", guess=0.3, tolerance=least * 1.01)
    failed, beside = guard.ask_all([ask.check("age < 41", guess=0.9), small])
    assert (failed.passed, guard.describe()["progress"]["answered"]) == (False, 2)
    expected = alone.ask(small)
    assert (beside.passed, beside.value, beside.interval) == (expected.passed, expected.value, expected.interval)
    with pytest.raises(InvalidParameter, match="tolerance"):
        guard.ask(ask.check("age < 42", guess=0.3, tolerance=least * 1.01))
    assert guard.describe()["progress"]["answered"] == 2


def test_a_question_on_its_way_is_not_answered_while_paused_or_after_the_end(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, Policy(questions=20, failures=0))
    guard._rows.slow_seconds = -1.0
    faults.set_hook(lambda name: guard.pause() if name == "guard.measured" else None)
    try:
        with pytest.raises(QuestionRefused, match="paused"):
            guard.ask(ask.check("age < 40", guess=0.3), key="k")
    finally:
        faults.set_hook(None)
    guard.resume()
    assert guard.remaining()["total"]["questions"] == 19
    assert guard.ask(ask.check("age < 40", guess=0.3), key="k").remaining["total"]["questions"] == 19
    other = Guard(guard.ledger, guard._rows.sample)
    faults.set_hook(lambda name: other.ask(ask.check("age < 41", guess=0.9)) if name == "guard.reserved" else None)
    try:
        with pytest.raises(BudgetExhausted, match="one more check has failed"):
            guard.ask(ask.check("age < 42", guess=0.3), key="late")
    finally:
        faults.set_hook(None)


def test_a_question_checked_against_a_policy_that_was_changed_is_asked_again(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed())
    faults.set_hook(lambda name: guard.override(mixed(), "same again") if name == "guard.measured" else None)
    try:
        with pytest.raises(LedgerConflict, match="changed the policy while the question was being answered"):
            guard.ask(hf.mean("age < 40"))
    finally:
        faults.set_hook(None)
    assert guard.remaining()["total"]["epsilon"] == 0.1
    assert not guard.ask(hf.mean("age < 40")).guarantee.certified


def test_one_question_twice_in_a_slow_batch_is_reserved_once(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, mixed())
    guard._rows.slow_seconds = -1.0
    first, second = guard.ask_all([hf.mean("age < 40"), hf.mean("age<40")], keys=["a", "b"])
    assert first.sequence == second.sequence
    assert guard.remaining()["total"]["epsilon"] == 0.09


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9, 1e10])
def test_a_tolerance_is_refused_for_all_rows_or_for_none(offset: float) -> None:
    """A refusal costs nothing, so it must not depend on rows: also not far from zero, where much is lost to rounding.

    There a tolerance between what some rows pass with and what the refusal names let anyone find a mean for nothing.
    """
    low, high, guess = offset, offset + 1.0, offset + 0.5
    samples = [np.arange(20_000) < share * 20_000 for share in (0.5, 0.501, 0.52, 0.0)]

    def said(tolerance: float) -> set[bool]:
        """Whether it was refused, over samples."""
        refused = set()
        for held in samples:
            guard = Guard.open(None, hf.data.table({"b": held}), Policy(questions=5))
            text = f"case when b then {high:.1f} else {low:.1f} end"
            try:
                guard.ask(ask.check(text, guess=guess, tolerance=tolerance, low=low, high=high))
                refused.add(False)
            except InvalidParameter:
                assert guard.describe()["progress"]["answered"] == 0
                refused.add(True)
        return refused

    hair = 1e-12 * high
    guard = Guard.open(None, hf.data.table({"b": samples[0]}), Policy(questions=5))
    least = guard.estimate(ask.check("case when b then 1 else 0 end", guess=0.5, low=0, high=1)).least_tolerance
    assert least is not None
    for tolerance in (least + step * hair for step in (-3.0, -0.5, 0.0, 0.5, 0.9, 1.1, 1.5, 1.95, 2.5, 4.0)):
        assert len(said(tolerance)) == 1, tolerance
    assert said(least * 0.9 - 2 * hair) == {True}


def test_a_batch_is_let_in_whole_or_not_at_all_when_another_was_quicker(sample: hf.data.Sample) -> None:
    """It fitted when it was looked up; while its rows were read someone else spent what it needs."""
    guard = Guard.open(None, sample, mixed(privacy=PureDP(0.03)))
    asked = [hf.mean("age < 40"), hf.mean("age < 50"), hf.mean("age < 60")]

    def spend_first(name: str) -> None:
        if name == "guard.measured":
            faults.set_hook(None)
            guard.ask(hf.mean("age < 70"))

    faults.set_hook(spend_first)
    try:
        with pytest.raises(BudgetExhausted):
            guard.ask_all(asked)
    finally:
        faults.set_hook(None)
    assert guard.remaining()["total"]["epsilon"] == 0.02
    assert guard.describe()["progress"]["answered"] == 1


def test_an_odometers_interval_pays_for_the_cap_that_holds_its_own_cost(sample: hf.data.Sample) -> None:
    policy = mixed(privacy=PureDP(0.001), accounting="odometer")
    guard = Guard.open(None, sample, policy)
    answer = guard.ask(hf.mean("age < 40", spend=PureDP(0.007)))
    budget = GuardBudget(sample.n, policy)
    used = answer.guarantee.parameters["log_share"]
    assert used == pytest.approx(budget.log_share(Course(), PureDP(0.007)), abs=1e-5)
    assert used < budget.log_share(Course()) - 1
