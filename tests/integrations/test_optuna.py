"""The Optuna callback: which trials are checked, where answers go, and when a study stops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
import pytest
from scipy.stats import beta

from holdfast.data.values import ValuesRefused
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.optuna import HoldoutCallback

optuna.logging.set_verbosity(optuna.logging.WARNING)
ROWS = np.arange(2000) / 2000


def _objective(trial: Any) -> float:
    return float(0.6 + trial.suggest_float("x", 0, 0.2))


def _values(study: Any, trial: Any) -> Any:
    return 0.6 + trial.params["x"] > ROWS


def _study() -> Any:
    return optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))


def test_only_the_best_so_far_are_asked() -> None:
    callback, study = HoldoutCallback(ReusableHoldout(2000, questions=50), _values), _study()
    study.optimize(_objective, n_trials=30, callbacks=[callback])
    records, best = [], -np.inf
    for trial in study.trials:
        if trial.value > best:
            records.append(trial.number)
            best = trial.value
    assert (
        sorted(callback.answers)
        == records
        == sorted(int(name.split(":")[1]) for name in study.user_attrs if name.startswith("holdfast:"))
    )
    assert all(answer.passed for answer in callback.answers.values())


def test_the_study_stops_when_questions_are_used_up() -> None:
    callback, study = HoldoutCallback(ReusableHoldout(2000, questions=5), _values, when="all"), _study()
    study.optimize(_objective, n_trials=30, callbacks=[callback])
    assert len(study.trials) == 5
    assert "used up" in study.user_attrs["holdfast:stopped"]
    study.optimize(_objective, n_trials=30, callbacks=[callback])
    assert len(study.trials) == 6
    assert callback.holdout.asked == 5


@pytest.mark.parametrize("fails", [True, False])
def test_values_that_cannot_be_computed_or_leave_the_range_are_charged(fails: bool) -> None:
    """One message of 30 bits and a hair, in words that quote no row, and nothing is chained to it."""

    def values(study: Any, trial: Any) -> Any:
        if fails:
            raise RuntimeError("row 7 is odd")
        return ROWS + 0.5

    callback = HoldoutCallback(ReusableHoldout(2000, questions=5), values)
    with pytest.raises(ValuesRefused, match=r"missing values.* costs 20\.8 nats") as refused:
        _study().optimize(_objective, n_trials=1, callbacks=[callback])
    assert refused.value.__context__ is refused.value.__cause__ is None
    assert callback.holdout.asked == 1
    assert callback.holdout.log_prior == pytest.approx(-30 * math.log(2), abs=1e-6)


def test_pruned_trials_are_left_alone() -> None:
    def prune(trial: Any) -> float:
        raise optuna.TrialPruned

    callback, study = HoldoutCallback(ReusableHoldout(2000, questions=5), _values, when="all"), _study()
    study.optimize(prune, n_trials=3, callbacks=[callback])
    assert callback.holdout.asked == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_checked_trial_is_exact_after_the_end(jobs: int) -> None:
    """While the study runs trials are checked; the end gives the exact value and the interval of its own share."""

    def too_high(trial: Any) -> float:
        return _objective(trial) + (0.15 if trial.number == 4 else 0.0)

    callback, study = HoldoutCallback(ReusableHoldout(2000, questions=10), _values, when="all"), _study()
    study.optimize(too_high, n_trials=8, callbacks=[callback], n_jobs=jobs)
    before = callback.answers
    assert sorted(number for number, answer in before.items() if not answer.passed) == [4]
    exact = callback.close()
    assert sorted(exact) == sorted(before) == list(range(8))
    for trial in study.trials:
        was, now = before[trial.number], exact[trial.number]
        hits = int(np.sum(_values(study, trial)))
        share = math.exp(was.guarantee.parameters["log_share"])
        assert now.value == pytest.approx(hits / 2000, abs=1e-12)
        limits = beta.ppf(share / 2, hits, 2001 - hits), beta.isf(share / 2, hits + 1, 2000 - hits)
        assert now.interval == pytest.approx(limits, abs=1e-5)
        assert was.interval is not None
        assert was.interval[0] <= now.interval[0] <= now.interval[1] <= was.interval[1]
        assert now.half_width < was.half_width
    first = max(before.values(), key=lambda answer: answer.remaining["questions"])
    assert math.exp(first.guarantee.parameters["log_share"]) == pytest.approx(0.05 / 2 / 10, rel=1e-4)
    study.optimize(_objective, n_trials=3, callbacks=[callback])
    assert "exact values were shown" in study.user_attrs["holdfast:stopped"]
    assert len(study.trials) == 9
    with pytest.raises(BudgetExhausted):
        callback.close()


def test_a_callback_gives_its_own_trials_of_a_plan_that_others_ask_too() -> None:
    plan = ReusableHoldout(2000, questions=10)
    callback, study = HoldoutCallback(plan, _values, when="all"), _study()
    plan.check(ROWS < 0.3, 0.3)
    study.optimize(_objective, n_trials=2, callbacks=[callback])
    plan.check(ROWS < 0.4, 0.4)
    exact = callback.close()
    assert {number: answer.value for number, answer in exact.items()} == {
        trial.number: float(np.mean(_values(study, trial))) for trial in study.trials
    }


def test_wrong_when_is_named() -> None:
    with pytest.raises(InvalidParameter, match="holdout must be a ReusableHoldout, got a int"):
        HoldoutCallback(2000, _values)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="when must be one of"):
        HoldoutCallback(ReusableHoldout(2000, questions=5), _values, when="never")  # type: ignore[arg-type]
