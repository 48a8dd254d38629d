"""An analyst who builds the last question from the answers to the first ones, against metrics in a reusable holdout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import bdtrc

import holdfast as hf
from holdfast.holdout.intervals.procedure import OnRows
from holdfast.holdout.metrics import auc, f1, precision

ROWS, QUESTIONS, RUNS, BETA = 200, 100, 20, 0.05
TRUTH = 0.5  # labels and predictions are independent fair coins, whatever the analyst builds from predictions alone


def _auc(labels: np.ndarray, predictions: np.ndarray) -> OnRows:
    return auc(labels, predictions.astype(float))


def _analysis(rng: np.random.Generator, metric: Callable[..., OnRows], certified: bool) -> tuple[bool, bool]:
    """One analysis: whether every released interval holds, and whether that of the last question does."""
    labels = rng.random(ROWS) < 0.5
    columns = rng.random((QUESTIONS - 1, ROWS)) < 0.5
    holdout = hf.ReusableHoldout(ROWS, questions=QUESTIONS, confidence=1 - BETA)

    def ask(predictions: np.ndarray) -> tuple[float, float]:
        question = metric(labels, predictions)
        if not certified:
            return question.interval(np.log(BETA))
        # the guess is set so that a failure is likely where the sample is low: as much is learnt as can be
        answer = holdout.check_metric(question, guess=0.65, tolerance=0.3)
        return answer.interval or (0.0, 1.0)

    intervals = [ask(column) for column in columns]
    signs = np.array([np.sign(low + high - 2 * TRUTH) for low, high in intervals])
    last = ask(signs @ (2.0 * columns - 1) > 0)
    held = [low <= TRUTH <= high for low, high in [*intervals, last]]
    return all(held), held[-1]


@pytest.mark.parametrize("metric", [precision, f1, _auc])
def test_metrics_hold_against_an_adaptive_analyst(metric: Callable[..., OnRows]) -> None:
    """Error rate at most 1e-6; the last of the intervals without a holdout fails the same test by itself."""
    rng = np.random.default_rng(17)
    missed = sum(not _analysis(rng, metric, certified=True)[0] for _ in range(RUNS))
    assert _p_value(missed) > 1e-6
    missed = sum(not _analysis(rng, metric, certified=False)[1] for _ in range(RUNS))
    assert _p_value(missed) <= 1e-6


def _p_value(missed: int) -> float:
    """Probability of at least so many misses if each analysis misses with probability at most BETA."""
    return float(bdtrc(missed - 1, RUNS, BETA)) if missed else 1.0
