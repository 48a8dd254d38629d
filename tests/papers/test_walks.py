"""Crossing probabilities: the forward recursion, the simulation and the games must agree."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from holdfast.errors import InvalidParameter
from holdfast_papers.accounting import games
from holdfast_papers.accounting.adversaries import StoppingTime
from holdfast_papers.accounting.walks import (
    count_crossings,
    crossing_probability,
    crossing_thresholds,
    last_round_probability,
)
from holdfast_papers.binomial import agrees, exceeds


def _advanced(epsilon: float, rounds: int, delta: float) -> np.ndarray:
    i = np.arange(1, rounds + 1)
    return i * epsilon * math.tanh(epsilon / 2) + epsilon * np.sqrt(2 * i * math.log(1 / delta))


@pytest.mark.parametrize("two_sided", [False, True])
def test_recursion_matches_enumeration(two_sided: bool) -> None:
    epsilon, rounds = 0.8, 9
    up = 1 / (1 + math.exp(-epsilon))
    curve = np.array([0.9, 1.0, 1.7, 1.7, 2.5, 2.5, 2.5, 3.3, 1.5])
    total = 0.0
    for signs in itertools.product((1, -1), repeat=rounds):
        losses = epsilon * np.cumsum(signs)
        if (losses > curve).any() or (two_sided and (losses < -curve).any()):
            tops = signs.count(1)
            total += up**tops * (1 - up) ** (rounds - tops)
    found = crossing_probability(epsilon, crossing_thresholds(epsilon, curve), two_sided=two_sided)
    assert found.probability == pytest.approx(total, rel=1e-12)
    assert found.error < 1e-15


def test_numbers_of_the_specification() -> None:
    """Confidence-and-composition, section 11: exact crossing probability of advanced composition, 0.1430."""
    found = crossing_probability(1e-2, crossing_thresholds(1e-2, _advanced(1e-2, 10_000, 0.05)))
    assert found.probability == pytest.approx(0.1430, abs=5e-5)
    assert found.error < 1e-12


def test_a_tie_is_not_a_failure() -> None:
    for epsilon in (0.1, 0.3, 1e-3):
        basic = epsilon * np.arange(1, 200)
        assert crossing_probability(epsilon, crossing_thresholds(epsilon, basic)).probability == 0


def test_infinite_readings_never_fail() -> None:
    assert crossing_probability(0.1, crossing_thresholds(0.1, np.full(50, math.inf))).probability == 0


def test_simulation_agrees_with_recursion_and_has_power() -> None:
    """Exact binomial test at error 1e-6; the same test rejects a nominal 5% and a curve with 1.2 times the slack."""
    epsilon, rounds, trials = 0.03, 1_000, 4_000
    curves = [_advanced(epsilon, rounds, d) for d in (0.05, 0.01)]
    thresholds = [crossing_thresholds(epsilon, curve) for curve in curves]
    ever, at_end = count_crossings(epsilon, thresholds, trials, np.random.default_rng(11))
    for j, threshold in enumerate(thresholds):
        assert agrees(int(ever[j]), trials, crossing_probability(epsilon, threshold).probability)
        assert agrees(int(at_end[j]), trials, last_round_probability(epsilon, threshold))
    assert exceeds(int(ever[0]), trials, 0.05)
    wider = crossing_thresholds(epsilon, curves[0] * 1.2)
    assert not agrees(int(ever[0]), trials, crossing_probability(epsilon, wider).probability)


def test_games_agree_with_the_fast_path() -> None:
    """Algorithm 6 played in Algorithm 3, round by round; exact binomial test at error 1e-6."""
    epsilon, rounds, trials = 0.2, 60, 600
    curve = _advanced(epsilon, rounds, 0.2)
    adversary = StoppingTime(epsilon, lambda i: float(curve[i - 1]))
    rng = np.random.default_rng(12)
    caught = 0
    for _ in range(trials):
        view = games.adaptive_parameters(adversary, rounds, 0, rng)
        caught += view.loss > curve[len(view.rounds) - 1] * (1 + 1e-12)
    exact = crossing_probability(epsilon, crossing_thresholds(epsilon, curve)).probability
    assert agrees(caught, trials, exact)
    assert not agrees(caught, trials, exact / 2), "power"


def test_epsilon_is_checked() -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        crossing_thresholds(0.0, np.ones(3))
    with pytest.raises(InvalidParameter, match="epsilon"):
        crossing_probability(math.nan, np.ones(3, dtype=np.int64))
