"""Wrong input to methods and questions beyond their plan spend nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference import (
    FilteredAnswers,
    GaussianAnswers,
    LaplaceAnswers,
    LowSensitivityAnswers,
    MinimisationAnswers,
    SmallVarianceAnswers,
    SplitAnswers,
)
from holdfast.noise import Seeded
from tests.inference.answers.answerers import ALL, MEANS, K, N, ask


@pytest.mark.parametrize("name", ALL)
def test_one_question_too_many_is_refused_and_changes_nothing(name: str) -> None:
    answerer = ALL[name](Seeded(1))
    for j in range(K):
        assert answerer.remaining["questions"] == K - j
        ask(answerer)
    before = answerer.state()
    with pytest.raises(BudgetExhausted):
        ask(answerer)
    assert answerer.state() == before
    assert answerer.asked == K


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize(
    "values",
    [np.full(N, 1.5), np.full(N, np.nan), np.zeros(N - 1), np.zeros((N, 1)), ["a"] * N, np.full(N, -0.1), None, "abc"],
)
def test_wrong_values_spend_nothing(name: str, values: Any) -> None:
    answerer = MEANS[name](Seeded(1))
    with pytest.raises(InvalidParameter) as caught:
        answerer.mean(values)
    assert "1.5" not in str(caught.value)
    assert answerer.asked == 0


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize(("low", "high"), [(1.0, 0.0), (0.5, 0.5), (np.nan, 1.0), (0.0, np.inf), ("a", 1.0)])
def test_wrong_ranges_spend_nothing(name: str, low: Any, high: Any) -> None:
    answerer = MEANS[name](Seeded(1))
    with pytest.raises(InvalidParameter):
        answerer.mean(np.zeros(N), low=low, high=high)
    assert answerer.asked == 0


@pytest.mark.parametrize("make", [GaussianAnswers, LaplaceAnswers, FilteredAnswers, SplitAnswers])
@pytest.mark.parametrize(
    "bad",
    [
        {"n": 0},
        {"n": 2.5},
        {"questions": 0},
        {"questions": -3},
        {"confidence": 0},
        {"confidence": 1},
        {"confidence": 95},
        {"confidence": float("nan")},
        {"source": 3},
    ],
)
def test_wrong_plans(make: Any, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(bad))):
        make(**({"n": 100, "questions": 10, "confidence": 0.95} | bad))


def test_wrong_choices() -> None:
    for make in (
        lambda: GaussianAnswers(N, K, 0.95, method="splitting"),  # type: ignore[arg-type]
        lambda: LaplaceAnswers(N, K, 0.95, method="scheduled"),  # type: ignore[arg-type]
        lambda: SplitAnswers(N, K, 0.95, family="normal"),  # type: ignore[arg-type]
        lambda: SplitAnswers(10, 11, 0.95),
        lambda: SmallVarianceAnswers(N, K, 0.95, 0.6),
        lambda: FilteredAnswers(N, K, 0.95, largest_sigma=-1.0),
        lambda: LowSensitivityAnswers(N, K, 0.95, 0.0),
        lambda: MinimisationAnswers(N, K, 1, 0.95),
    ):
        with pytest.raises(InvalidParameter):
            make()


def test_statistic_input() -> None:
    answers = LowSensitivityAnswers(N, K, 0.95, 1 / N)
    for wrong in (np.nan, "0.123", None, 2.0):
        with pytest.raises(InvalidParameter) as caught:
            answers.statistic(wrong, low=0, high=1)  # type: ignore[arg-type]
        assert "0.123" not in str(caught.value)
    with pytest.raises(InvalidParameter, match="low"):
        answers.statistic(0.5, low=1, high=0)
    assert answers.asked == 0
    answer = answers.statistic(0.999, low=0, high=1)
    assert answer.interval is not None
    assert answer.interval[1] <= 1
    assert LowSensitivityAnswers(N, K, 0.95, 1 / N, method="posterior-shift").statistic(3.0).cost is not None


def test_what_does_not_fit_is_said_in_whole_sentences() -> None:
    answers = GaussianAnswers(N, 3, 0.95)
    for _ in range(3):
        answers.mean(np.zeros(N))
    with pytest.raises(BudgetExhausted, match="1 more question does not fit: 0 of the 3 planned questions are left"):
        answers.mean(np.zeros(N))
    with pytest.raises(InvalidParameter, match="1 to 5 numbers, got 6 of type float64"):
        MinimisationAnswers(N, K, 5, 0.95).minimise(np.zeros(6))
