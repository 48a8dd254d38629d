"""The Optuna callback: which trials are checked, where answers go, and when a study stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest

from holdfast.errors import InvalidParameter
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


def test_pruned_trials_are_left_alone() -> None:
    def prune(trial: Any) -> float:
        raise optuna.TrialPruned

    callback, study = HoldoutCallback(ReusableHoldout(2000, questions=5), _values, when="all"), _study()
    study.optimize(prune, n_trials=3, callbacks=[callback])
    assert callback.holdout.asked == 0


def test_wrong_when_is_named() -> None:
    with pytest.raises(InvalidParameter, match="holdout must be a ReusableHoldout, got a int"):
        HoldoutCallback(2000, _values)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="when must be one of"):
        HoldoutCallback(ReusableHoldout(2000, questions=5), _values, when="never")  # type: ignore[arg-type]
