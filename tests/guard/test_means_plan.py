"""A guard of means goes on with the plan it began with: earlier ledgers knew no Theorem D."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import GDP
from holdfast.errors import InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard import Guard, Policy
from holdfast.guard.ledger.verify import verify
from holdfast.guard.questions.planned import planned_answers
from holdfast.guard.replay import GuardReplay
from holdfast.inference import GaussianAnswers, OpenAnswers

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


def test_a_guard_of_the_first_search_under_a_cap_keeps_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its stored policy does not say which search made the plan; here it is written as that version wrote it."""
    free = GaussianAnswers(4000, 30, 0.95)
    capped = replace(MEANS, privacy=GDP(0.97 * free.mu))
    now = Policy.to_dict

    def before(self: Policy) -> Mapping[str, Any]:
        return {name: value for name, value in now(self).items() if name != "cap"}

    ledger, fresh = tmp_path / "ledger.db", tmp_path / "fresh.db"
    monkeypatch.setattr(Policy, "to_dict", before)
    Guard.open(ledger, _sample(), capped)
    monkeypatch.setattr(Policy, "to_dict", now)
    again = Guard.open(ledger, _sample(), capped)
    assert again.policy.cap == "earlier"
    widths = [
        guard.ask(hf.mean("age < 40")).half_width or 0.0 for guard in (again, Guard.open(fresh, _sample(), capped))
    ]
    for width, method in zip(widths, ("earlier", "best"), strict=True):
        plan = GaussianAnswers(4000, 30, 0.95, method=method, privacy=capped.privacy)  # type: ignore[arg-type]
        assert width == pytest.approx(plan.half_width, rel=1e-6)
        assert GaussianAnswers.from_state(plan.state()).width == plan.width
    assert widths[1] < widths[0]
    with pytest.raises(InvalidParameter, match="cap"):
        again.override(capped, "another search")
    assert verify(ledger, replay=GuardReplay).ok
    state = {name: value for name, value in plan.state().items() if name != "search"}
    assert GaussianAnswers.from_state(state).half_width == pytest.approx(widths[0], rel=1e-6)
    assert Policy.stored(capped.to_dict()) == capped
    with pytest.raises(InvalidParameter, match="cap"):
        Policy(cap="other")  # type: ignore[arg-type]


@pytest.mark.parametrize("plan", ["identical", "independent"])
def test_answers_assume_of_the_rows_what_the_plan_does(tmp_path: Path, plan: Any) -> None:
    """The guarantee of every kind of answer names the law that the plan was made for, and no stronger one."""
    guard = Guard.open(tmp_path / "ledger.db", _sample(), replace(MEANS, plan=plan))
    for question in (hf.mean("age < 40"), hf.guard.check("age < 30", 0.2), hf.guard.claim("age < 40", at_least=0.1)):
        said = guard.ask(question).guarantee.assumption
        assert ("identically distributed" in said) == (plan == "identical")
        assert "rows independent" in said
        assert "not looked at except through this guard" in said


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


def test_an_open_end_needs_no_number_of_questions(tmp_path: Path) -> None:
    """Each answer has the width of its number, after a second opening too, and the narrow ones come first."""
    policy = Policy(answers="means", plan="open")
    assert (policy.questions, policy.kinds) == (100_000, ("mean",))
    assert Policy.from_dict(policy.to_dict()) == policy
    guard, plan = Guard.open(tmp_path / "ledger.db", _sample(), policy), OpenAnswers(4000, 0.95)
    halves = []
    for question in range(1, 6):
        if question == 4:
            guard = Guard.open(tmp_path / "ledger.db", _sample(), policy)
        answer = guard.ask(hf.mean(f"age < {40 + question}"))
        assert answer.guarantee.theorem == "interval.sign-comparison-open"
        assert answer.guarantee.parameters["questions"] == question
        assert answer.interval is not None
        halves.append(answer.half_width)
        assert halves[-1] == pytest.approx(plan.half_width_of(question), rel=1e-6)
    assert halves == sorted(halves)
    assert halves[0] < halves[-1]
    assert verify(tmp_path / "ledger.db", replay=GuardReplay).ok


def test_an_open_end_is_for_means_alone(tmp_path: Path) -> None:
    policy = Policy(answers="means", plan="open")
    guard = Guard.open(tmp_path / "ledger.db", _sample(), policy)
    with pytest.raises(QuestionRefused, match="it allows mean"):
        guard.ask(hf.guard.check("age < 40", guess=0.4))
    wrong: list[Mapping[str, Any]] = [
        {"plan": "open"},
        {"answers": "means", "plan": "open", "privacy": hf.accounting.GDP(0.1)},
        {"answers": "means", "plan": "open", "questions": 10**6},
        {"answers": "means"},
    ]
    for fields in wrong:
        with pytest.raises(InvalidParameter, match="plan"):
            Policy(**fields)


def test_a_guard_says_what_its_plan_spends_under_the_cap() -> None:
    """Before, only a planned study did; at 4,000 rows the narrowest plan spends much less than mu 1."""
    wide = Guard.open(None, _sample(), Policy(answers="means", questions=30, privacy=hf.accounting.GDP(1.0)))
    planned = wide.describe()["planned"]
    assert planned["cap"] == 1.0
    assert planned["mu"] < 0.5
    assert planned["half_width"] == pytest.approx(wide.estimate(hf.mean("age < 40")).half_width)
    tight = Guard.open(None, _sample(), Policy(answers="means", questions=30, privacy=hf.accounting.GDP(0.05)))
    assert tight.describe()["planned"]["mu"] == pytest.approx(0.05, rel=1e-3)
    assert "planned" not in Guard.open(None, _sample(), MEANS).describe()
    assert "planned" not in Guard.open(None, _sample(), Policy(questions=5)).describe()
