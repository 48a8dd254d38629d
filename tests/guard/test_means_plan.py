"""A guard of means goes on with the plan it began with: earlier ledgers knew no Theorem D."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.guard import Guard, Policy
from holdfast.guard.questions.planned import planned_answers
from holdfast.inference import GaussianAnswers

MEANS = Policy(answers="means", questions=30)


def _sample() -> hf.data.Sample:
    return hf.data.table({"age": [20 + i % 50 for i in range(4000)]})


def test_a_policy_of_before_the_theorem_keeps_its_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored policy of an earlier release has no plan; here it is written as that release wrote it."""
    now = Policy.to_dict

    def before(self: Policy) -> Mapping[str, Any]:
        return {name: value for name, value in now(self).items() if name != "plan"}

    ledger = tmp_path / "ledger.db"
    monkeypatch.setattr(Policy, "to_dict", before)
    Guard.open(ledger, _sample(), MEANS)
    monkeypatch.setattr(Policy, "to_dict", now)
    again = Guard.open(ledger, _sample(), MEANS)
    assert again.policy.plan == "earlier"
    answer = again.ask(hf.mean("age < 40"))
    assert answer.guarantee.theorem in ("interval.scheduled", "interval.posterior-shift")
    old = GaussianAnswers(4000, 30, 0.95, method="earlier").half_width
    assert answer.half_width == pytest.approx(old, rel=1e-3)


def test_a_new_guard_has_the_narrower_plan_and_another_is_refused(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    guard = Guard.open(ledger, _sample(), MEANS)
    answer = guard.ask(hf.mean("age < 40"))
    assert answer.guarantee.theorem == "interval.sign-comparison"
    with pytest.raises(LedgerConflict):
        Guard.open(ledger, _sample(), Policy(answers="means", questions=30, plan="independent"))
    with pytest.raises(InvalidParameter, match="plan"):
        Policy(plan="other")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="plan"):
        guard.override(Policy(answers="means", questions=40, plan="independent"), "more")


def test_the_three_plans() -> None:
    widths = [planned_answers(10_000, 100, 0.95, plan).half_width for plan in ("identical", "independent", "earlier")]
    assert widths == sorted(widths)
    assert Policy.stored({"answers": "means", "questions": 3}).plan == "earlier"
    assert Policy.from_dict(MEANS.to_dict()) == MEANS


def test_states_of_answers_keep_their_plan() -> None:
    new = GaussianAnswers(1000, 50, 0.95)
    assert GaussianAnswers.from_state(new.state()).width == new.width
    old = {"kind": "gaussian", "n": 1000, "questions": 50, "confidence": 0.95, "method": "best", "asked": 7}
    restored = GaussianAnswers.from_state(old)
    assert restored.method == "interval.scheduled"
    assert restored.asked == 7
    assert GaussianAnswers.from_state(restored.state()).width == restored.width


def test_rounds_are_whole() -> None:
    answers = GaussianAnswers(1000, 10, 0.95, rounds=3)
    assert (answers.batch, answers.half_width < GaussianAnswers(1000, 10, 0.95).half_width) == (4, True)
    table = np.zeros((1000, 10))
    with pytest.raises(InvalidParameter, match="whole round"):
        answers.mean(table[:, 0])
    with pytest.raises(InvalidParameter, match="whole round"):
        answers.means(table[:, :3])
    for size in (4, 4, 2):
        assert len(answers.means(table[:, :size])) == size
    assert answers.asked == 10
    restored = GaussianAnswers.from_state(answers.state())
    assert (restored.rounds, restored.asked) == (3, 10)
    with pytest.raises(InvalidParameter, match="rounds"):
        GaussianAnswers(1000, 10, 0.95, rounds=11)


def test_mu_is_stated() -> None:
    answers = GaussianAnswers(1000, 20, 0.95)
    total = sum(answers.cost(question).mu ** 2 for question in range(1, 21)) ** 0.5
    assert answers.mu == pytest.approx(total, rel=1e-12)
