"""Thresholdout on planned noisy means: what is shown, its accuracy, and that the threshold is needed in it."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.bounds.holdout import planned_threshold_accuracy
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference import GaussianAnswers, ThresholdAnswers
from holdfast.noise import Seeded


def test_what_is_shown_is_a_function_of_the_noisy_mean_and_the_guess() -> None:
    """The same seed gives the same noisy means, so the bit and the value follow from them and from nothing else."""
    random = np.random.default_rng(1)
    plain = GaussianAnswers(1000, 50, 0.95, source=Seeded(7))
    checked = ThresholdAnswers(1000, 50, 0.95, threshold=0.03, source=Seeded(7))
    seen = set()
    for _ in range(50):
        values, guess = random.random(1000) < 0.4, float(random.uniform(0.3, 0.5))
        noisy, shown = plain.mean(values), checked.check(values, guess)
        assert shown.passed is (abs(noisy.value - guess) <= 0.03)
        assert shown.value == (guess if shown.passed else noisy.value)
        assert shown.interval is not None
        assert noisy.interval is not None
        if shown.passed:
            assert shown.interval[0] <= noisy.interval[0]
            assert shown.interval[1] >= noisy.interval[1]
        else:
            assert shown.interval == noisy.interval
        seen.add(shown.passed)
    assert seen == {True, False}
    with pytest.raises(BudgetExhausted):
        checked.check(values, 0.4)


def test_the_accuracy_of_the_issue() -> None:
    answers = ThresholdAnswers(10_000, 1000, 0.95)
    assert answers.threshold == 0.04
    assert planned_threshold_accuracy(10_000, 1000, 0.05, 0.04) <= answers.accuracy < 0.15
    assert round(answers.accuracy, 3) == 0.142


def _misses(width: str, runs: int) -> int:
    """Runs of 200 rows and 8 questions in which a shown value is off by more than `width`; guesses are off by .3.

    Two bits of a row that point the same way choose the later questions, so that the sample is overfitted.
    """
    missed = 0
    for run in range(runs):
        random = np.random.default_rng(run)
        answers = ThresholdAnswers(200, 8, 0.95, threshold=0.3, source=Seeded(run))
        rows, score, errors = random.random((200, 7)) < 0.5, np.zeros(200), []
        for j in range(8):
            values = rows[:, j] if j < 7 else score > 0
            shown = answers.check(values, 0.799)
            errors.append(abs(shown.value - 0.5))
            if j < 7:
                score += (shown.value - 0.65) * (rows[:, j] - 0.5)
        missed += max(errors) > (answers.accuracy if width == "accuracy" else answers.half_width)
    return missed


def test_the_threshold_is_part_of_the_accuracy() -> None:
    """At most 5% of runs may miss: 24 of 100 have probability below 1e-10. Without the threshold nearly all miss."""
    assert _misses("accuracy", 100) < 24
    assert _misses("half-width", 100) > 60


def test_state_and_wrong_input() -> None:
    answers = ThresholdAnswers(200, 5, 0.9, threshold=0.1)
    answers.check(np.zeros(200), 0.0)
    again = ThresholdAnswers.from_state(answers.state())
    assert (again.threshold, again.asked, again.accuracy) == (0.1, 1, answers.accuracy)
    for guess in (-0.1, 1.1, float("nan"), "half"):
        with pytest.raises(InvalidParameter, match="guess"):
            answers.check(np.zeros(200), guess)  # type: ignore[arg-type]
    assert answers.asked == 1
    for threshold in (-0.1, 1.0, float("nan")):
        with pytest.raises(InvalidParameter, match="threshold"):
            ThresholdAnswers(200, 5, 0.9, threshold=threshold)
    assert ThresholdAnswers(4, 2, 0.9).threshold == 0.5
