"""Thresholdout on planned noisy means: what is shown, its accuracy, and that the threshold is needed in it."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.bounds.holdout import coded_plan, coded_threshold_accuracy, planned_threshold_accuracy
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


# Few failures: one part of the rows decides, the other is shown.


def test_few_failures_are_narrower() -> None:
    few = ThresholdAnswers(10_000, 1000, 0.95, failures=10)
    assert few.coded
    assert coded_threshold_accuracy(10_000, 1000, 10, 0.05, 0.04) <= few.accuracy < 0.0985
    many = ThresholdAnswers(1000, 100, 0.95, failures=60)
    assert not many.coded  # the form without a budget is narrower, and counts no failures
    assert many.accuracy == ThresholdAnswers(1000, 100, 0.95).accuracy
    assert many.remaining == {"questions": 100}
    forced = ThresholdAnswers(1000, 100, 0.95, failures=60, method="coded")
    assert forced.coded
    assert forced.accuracy > many.accuracy
    assert not ThresholdAnswers(1000, 100, 0.95, failures=1, rows="independent").coded


def _coded(seed: int = 5, **more: float) -> ThresholdAnswers:
    return ThresholdAnswers(2000, 40, 0.95, failures=3, method="coded", source=Seeded(seed), **more)  # type: ignore[arg-type]


def test_each_part_of_the_rows_has_one_use() -> None:
    """Reserved rows do not change what passes, and explored rows do not change the value of a failure.

    The reserved rows of a state are known here; with the roles of the parts exchanged on purpose both claims fail.
    """
    random = np.random.default_rng(2)
    reserve = _coded()._reserve
    assert int(reserve.sum()) == 2000 - coded_plan(2000, 40, 3, 0.05, 4 / np.sqrt(2000)).explored  # type: ignore[union-attr]
    values = random.random(2000) < 0.4
    for part, same_bit, same_value in ((reserve, True, False), (~reserve, False, True)):
        changed = np.where(part, random.random(2000) < 0.6, values)
        first, second = (_coded().check(table, 0.4) for table in (values, changed))
        assert (first.passed is True, second.passed is True) == (True, same_bit)
        first, second = (_coded().check(table, 0.95) for table in (values, changed))
        assert (first.passed, second.passed) == (False, False)
        assert (first.value == second.value) is same_value


def test_a_run_ends_with_its_last_failure() -> None:
    answers, values = _coded(), np.arange(2000) % 2 == 0
    passed = answers.check(values, 0.5)
    assert passed.passed
    assert passed.value == 0.5
    assert passed.interval is not None
    assert passed.interval[1] - 0.5 <= answers.accuracy + 1e-9
    assert passed.guarantee.theorem == "holdout.coded-threshold-accuracy"
    for left in (2, 1, 0):
        failed = answers.check(values, 0.9)
        assert failed.passed is False
        assert failed.interval is not None
        assert failed.interval[0] < 0.5 < failed.interval[1]
        assert failed.remaining == {"questions": 36 + left, "failures": left}
        state = answers.state()
        again = ThresholdAnswers.from_state(state, Seeded(8))
        assert again.state() == state
        assert again.remaining == answers.remaining
        assert (again._reserve == answers._reserve).all()
    with pytest.raises(BudgetExhausted, match="3 of 3 planned failures"):
        answers.check(values, 0.5)
    for wrong in ({"failed": 5}, {"failed": -1}, {"order": "x"}, {"order": None}):
        with pytest.raises(InvalidParameter):
            ThresholdAnswers.from_state(state | wrong)


def test_wrong_input_with_failures() -> None:
    answers = _coded()
    for call in (
        lambda: answers.mean(np.zeros(2000)),
        lambda: answers.means(np.zeros((2000, 1))),
        lambda: answers.cost(1),
    ):
        with pytest.raises(InvalidParameter, match="failures"):
            call()
    with pytest.raises(InvalidParameter, match="values"):
        answers.check(np.zeros(1999), 0.5)
    assert answers.mu == np.inf
    assert answers.asked == 0
    # an error about values would tell of rows: they are moved into the range, on either side
    outside = np.where(answers._reserve, np.nan, 0.0)
    assert answers.check(outside, 0.9).passed is False
    assert answers.check(np.where(answers._reserve, 0.0, 2.0), 1.0).passed is True
    assert answers.check([None if row else 0.0 for row in answers._reserve], 0.0).passed is True
    assert answers.asked == 3
    for wrong in ({"failures": 0}, {"failures": 41}, {"failures": 3, "method": "scheduled"}, {"method": "coded"}):
        with pytest.raises(InvalidParameter, match="failures"):
            ThresholdAnswers(2000, 40, 0.95, **wrong)
    with pytest.raises(InvalidParameter, match="independent"):
        ThresholdAnswers(2000, 40, 0.95, failures=3, method="coded", rows="independent")
    with pytest.raises(InvalidParameter, match="n must"):
        ThresholdAnswers(1, 1, 0.95, failures=1, method="coded")


def _wrong_passes(counted: bool, runs: int) -> int:
    """Runs in which a guess passes that is further from the truth than the threshold and the deviation together.

    Fair bits; a guess fails where its mean is about two deviations low, which nine of 400 are. A vote of these nine,
    each against its direction, has the mean one half and is high on the explored rows. The last guess is just so far
    above one half that passing it is an error. With `counted` the deviation is the proved one, over all patterns of
    passes and failures; without, the one of 400 questions that were fixed in advance.
    """
    n, k, failures, threshold = 1200, 400, 10, 0.25
    plan = coded_plan(n, k, failures, 0.05, threshold)
    assert plan is not None
    fixed = np.sqrt(np.log(k * 2 / 0.05) / (2 * plan.explored))
    deviation, low = (plan.deviation if counted else float(fixed)), 2.0 * 0.5 / np.sqrt(plan.explored)
    wrong = 0
    for run in range(runs):
        bits = np.random.default_rng(run).random((n, k)) < 0.5
        answers = ThresholdAnswers(
            n, k, 0.95, threshold=threshold, failures=failures, method="coded", source=Seeded(run)
        )
        found: list[int] = []
        for j in range(k - 1):
            if len(found) == failures - 1:
                break
            if not answers.check(bits[:, j], 0.5 - low + threshold).passed:
                found.append(j)
        found = found[: len(found) - (len(found) + 1) % 2]  # an odd number of votes
        vote = (0.5 - bits[:, found]).sum(axis=1) > 0
        wrong += bool(answers.check(vote, 0.5 + deviation + threshold + 1e-6).passed)
    return wrong


def test_an_attack_on_the_bits() -> None:
    """At most 5% of runs may be wrong: 11 of 25 have probability below 1e-7. Without the patterns most are."""
    assert _wrong_passes(counted=True, runs=25) < 11
    assert _wrong_passes(counted=False, runs=25) > 15
