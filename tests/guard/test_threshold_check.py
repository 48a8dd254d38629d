"""Thresholdout behind the guard: its threshold is secret state in the ledger, and its whole run was paid at opening."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.errors import BudgetExhausted, InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard import Guard, Policy, check, claim, mean
from holdfast.guard.ledger.verify import verify
from holdfast.guard.questions.check import NAME, rules_of
from holdfast.guard.replay import GuardReplay

N = 200_000


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return {"x": np.random.default_rng(4).random(N)}


@pytest.fixture
def sample(rows: dict[str, Any]) -> hf.data.Sample:
    return hf.data.table(rows, engine="numpy")


def policy(**options: Any) -> Policy:
    given = {"privacy": PureDP(0.05), "spend": PureDP(0.01), "holdout": "thresholdout", "threshold": 0.05}
    return Policy(**(given | {"overfits": 2, "holdout_spend": PureDP(0.03)} | options))


def secret_of(guard: Guard) -> dict[str, Any]:
    found = guard.ledger.look(lambda view: view.secret(NAME))
    assert found is not None
    return found


def test_the_run_is_paid_at_opening_and_answers_until_its_overfits_are_gone(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, policy())
    assert guard.remaining()["total"]["epsilon"] == 0.02
    near = guard.ask(check("x < 0.5", 0.51))
    assert (near.passed, near.value, near.cost) == (True, 0.51, PureDP(0.0))
    assert near.interval[0] < 0.5 < near.interval[1]
    assert near.guarantee.certified
    first = secret_of(guard)["noisy_threshold"]
    assert guard.ask(check("x < 0.4", 0.4)).passed
    assert secret_of(guard)["noisy_threshold"] == first  # kept until an overfit
    for number, guess in enumerate((0.9, 0.1)):
        far = guard.ask(check("x < 0.6", guess))
        assert (far.passed, far.details["overfits_left"]) == (False, 1 - number)
        assert far.value == pytest.approx(0.6, abs=0.02)
        assert far.interval[0] < 0.6 < far.interval[1]
    assert secret_of(guard)["noisy_threshold"] != first
    assert not guard.estimate(check("x < 0.7", 0.7)).admitted
    with pytest.raises(BudgetExhausted, match="allows 2 overfits"):
        guard.ask(check("x < 0.7", 0.7))
    assert guard.remaining()["total"]["epsilon"] == 0.02  # nothing of this was charged again
    progress = guard.describe()["progress"]
    assert (progress["answered"], progress["failed"]) == (4, 0)  # noise has paid, not the looks
    guard.ask(mean("x < 0.7"))
    guard.ask(claim("x < 0.7", at_least=0.1))


def test_it_goes_on_after_a_restart(rows: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    guard = Guard.open(path, hf.data.table(rows, engine="numpy"), policy())
    guard.ask(check("x < 0.5", 0.5))
    before = secret_of(guard)
    guard.shut()
    again = Guard.open(path, hf.data.table(rows, engine="numpy"))
    assert secret_of(again) == before
    assert again.ask(check("x < 0.5", 0.5)).repeated
    again.ask(check("x < 0.3", 0.3))
    assert secret_of(again)["asked"] == 2
    again.shut()
    found = verify(path, replay=GuardReplay)
    assert found.ok, found.findings


def test_a_lost_threshold_is_drawn_anew_at_the_price_of_an_overfit(rows: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    guard = Guard.open(path, hf.data.table(rows, engine="numpy"), policy())
    guard.ask(check("x < 0.5", 0.5))
    guard.shut()
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM secrets")
    connection.commit()
    assert not verify(path, replay=GuardReplay).ok  # the loss does not go unseen
    again = Guard.open(path, hf.data.table(rows, engine="numpy"))
    assert again.ask(check("x < 0.4", 0.4)).details["overfits_left"] == 1
    again.shut()
    connection.execute("DELETE FROM secrets")
    connection.commit()
    again = Guard.open(path, hf.data.table(rows, engine="numpy"))
    with pytest.raises(BudgetExhausted, match="no overfit is left to draw a new one"):
        again.ask(check("x < 0.3", 0.3))
    again.shut()
    connection.execute("DELETE FROM accounts WHERE name = ?", (NAME,))
    connection.commit()
    connection.close()
    again = Guard.open(path, hf.data.table(rows, engine="numpy"))
    with pytest.raises(LedgerConflict, match="run `holdfast verify`"):
        again.ask(check("x < 0.3", 0.3))
    again.shut()


def test_a_threshold_lost_before_anything_was_asked_is_drawn_anew_too(rows: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    quiet = policy(overfits=3, privacy=PureDP(0.2), holdout_spend=PureDP(0.1))  # right guesses pass, whatever the draw
    Guard.open(path, hf.data.table(rows, engine="numpy"), quiet).shut()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM secrets")
    connection.close()
    again = Guard.open(path, hf.data.table(rows, engine="numpy"))
    assert again.ask(check("x < 0.4", 0.4)).details["overfits_left"] == 2
    assert again.ask(check("x < 0.6", 0.9)).details["overfits_left"] == 1
    again.shut()
    assert verify(path, replay=GuardReplay).ok


def test_it_shows_nothing_of_its_threshold(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, policy())
    shown = [str(guard.ask(check("x < 0.5", 0.5)).to_dict()), str(guard.describe()), repr(guard)]
    shown += [json.dumps(entry.to_dict()) for entry in guard.ledger.entries()]
    hidden = str(secret_of(guard)["noisy_threshold"])
    assert len(hidden) > 4
    whole = re.compile(rf"(?<![\w.]){hidden}(?!\w)")  # its digits may be part of a hash or of a longer number
    assert whole.search(f'{{"noisy_threshold": {hidden}}}')
    assert not any(whole.search(text) for text in shown)


def test_intervals_hold_and_would_not_without_the_noise_in_them() -> None:
    """3,000 guesses at the edge of the threshold; the sample's own mean must lie within the noise's reach.

    Each may miss with probability 1e-3, so more than 20 misses have probability below 1e-9; without the noise's part
    hundreds miss.
    """
    from holdfast.guard.guard_budget import NOISE_PART, GuardBudget
    from holdfast.guard.questions.base import Situation
    from holdfast.guard.questions.check import ThresholdCheck
    from holdfast.guard.state import Progress
    from holdfast.holdout import Thresholdout
    from holdfast.holdout.error_budget import Course

    declared = policy(confidence=0.96, questions=1, overfits=1, privacy=PureDP(1.0), holdout_spend=PureDP(1.0))
    rules = rules_of(1000, 0.05, 1, 1.0)
    bound = check("x < 1", 0.5).bind(hf.data.Schema({"x": "number not null"}), 1000, declared)
    assert isinstance(bound, ThresholdCheck)
    budget = GuardBudget(1000, declared)
    assert budget.threshold_share + budget.noise_share(Course()) <= 0.04 * NOISE_PART
    _, near, off = bound._parts(Situation(budget, Progress()))
    wide = plain = 0
    for _ in range(3000):
        holdout = Thresholdout(1000, rules.threshold, rules.sigma, 1)
        answer = holdout.query_means(0.5, 0.56)
        assert answer.value is not None
        wide += abs(answer.value - 0.56) > (near if answer.passed else off)
        plain += abs(answer.value - 0.56) > 0.05
    assert wide <= 20
    assert plain > 200


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"threshold": None}, "threshold must be given if holdout"),
        ({"overfits": None}, "overfits must be given"),
        ({"holdout_spend": ZCDP(0.01)}, "holdout_spend must be a positive PureDP"),
        ({"holdout_spend": PureDP(0.06)}, "privacy must be a PureDP of at least holdout_spend"),
        ({"privacy": ZCDP(0.1), "spend": None}, "privacy must be a PureDP"),
        ({"holdout": "guess-and-check"}, "threshold must be left out unless"),
        ({"holdout": "ladder"}, "holdout must be one of"),
        ({"threshold": 2.0}, "threshold"),
    ],
)
def test_refuses(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        policy(**wrong)


def test_what_a_steward_and_an_analyst_cannot_do(sample: hf.data.Sample) -> None:
    guard = Guard.open(None, sample, policy())
    with pytest.raises(InvalidParameter, match="policy must have the same holdout"):
        guard.override(policy(overfits=3), "more")
    guard.override(policy(privacy=PureDP(0.1)), "more privacy")
    assert guard.remaining()["total"]["epsilon"] == 0.07
    with pytest.raises(InvalidParameter, match="tolerance, show, risk and stake must be left out"):
        guard.ask(check("x < 0.5", 0.5, tolerance=0.1))
    looks = Guard.open(None, sample, policy(kinds=("check",)))
    with pytest.raises(QuestionRefused, match="does not allow a claim"):
        looks.ask(claim("x < 0.5", at_least=0.1))
    assert not looks.policy.has_looks
