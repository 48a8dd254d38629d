"""Means with an open end: each answer has the width of its number, and a stored run goes on where it was."""

from __future__ import annotations

import math

import numpy as np
import pytest

from holdfast.bounds.interval import sign_comparison_open
from holdfast.errors import InvalidParameter
from holdfast.inference import OpenAnswers
from holdfast.noise import Seeded


def test_each_answer_has_the_width_of_its_number() -> None:
    answers = OpenAnswers(2000, 0.95, tuned_for=20, source=Seeded(3))
    values = np.arange(2000) % 2 == 0
    for question in range(1, 90):
        answer = answers.mean(values, low=-1.0, high=1.0)
        assert answer.interval is not None
        assert answer.interval[0] <= 0.5 <= answer.interval[1]
        planned = sign_comparison_open(2000, question, 0.05, 20).value
        assert 2 * planned <= answer.half_width <= 2 * planned + 1e-6
        assert answer.guarantee.parameters["questions"] == question
    assert answers.asked == 89
    assert answers.half_width == answers.half_width_of(90)


def test_noise_is_that_of_the_plan() -> None:
    """The variance of 4,000 draws is within six standard errors of the plan's; half of the noise is not."""
    answers = OpenAnswers(2000, 0.95, tuned_for=20, source=Seeded(4))
    values = np.arange(2000) % 2 == 0
    errors = np.array([answers.mean(values).value - 0.5 for _ in range(4000)])
    room = 6 * math.sqrt(2 / 4000)
    assert abs(np.mean(errors**2) / answers.plan.sigma**2 - 1) < room
    assert abs(np.mean((errors / 2) ** 2) / answers.plan.sigma**2 - 1) > room


def test_state_and_wrong_input() -> None:
    answers = OpenAnswers(500, 0.9, tuned_for=30)
    answers.mean(np.zeros(500))
    again = OpenAnswers.from_state(answers.state())
    assert (again.asked, again.half_width, again.remaining) == (1, answers.half_width, {})
    with pytest.raises(InvalidParameter, match="values"):
        answers.mean(np.full(500, 2.0))
    assert answers.asked == 1
    for name, value in (("n", 0), ("confidence", 1.0), ("tuned_for", 0), ("tuned_for", 10**6)):
        with pytest.raises(InvalidParameter, match=name):
            OpenAnswers(**{"n": 500, "confidence": 0.9} | {name: value})  # type: ignore[arg-type]
