"""The best point of a curve: no point of a fine grid is better, and the curve's own value is what is returned."""

from __future__ import annotations

import math

import numpy as np
import pytest

from holdfast.bounds.numerics.search import best_level, best_probability


def curve(slack: float) -> float:
    return 0.2 + 0.7 * math.sqrt(slack)


@pytest.mark.parametrize("alpha", [1e-6, 0.05, 0.7])
def test_best_level(alpha: float) -> None:
    point = best_level(curve, alpha)
    grid = [math.log(alpha - b) - curve(-math.log(b)) for b in alpha * np.geomspace(1e-9, 1 - 1e-6, 4000)]
    assert point.log_value >= max(grid) - 1e-12
    assert point.log_value == pytest.approx(max(grid), abs=1e-5)
    assert point.nats == curve(point.slack)
    assert point.log_value == pytest.approx(math.log(alpha - math.exp(-point.slack)) - point.nats, abs=1e-9)
    assert best_level(curve, alpha, 0.01).slack == math.inf  # the value at beta = 0 wins where it is small


@pytest.mark.parametrize("log_p", [-1e-3, -3.0, -25.0, -5000.0])
def test_best_probability(log_p: float) -> None:
    point = best_probability(curve, log_p)
    grid = [np.logaddexp(log_p + curve(s), -s) for s in np.linspace(1e-6, -log_p + 30, 20_000)]
    assert point.log_value <= min(0.0, *grid) + 1e-9
    assert point.log_value == pytest.approx(min(0.0, *grid), abs=1e-5 * max(1.0, -log_p))
    assert best_probability(curve, log_p, 1e-9).slack == math.inf
    assert best_probability(curve, 0.0).log_value == 0


@pytest.mark.parametrize("log_p", [-1e-3, -0.8, -3.0, -25.0, -5000.0, -1e300])
@pytest.mark.parametrize("steep", [0.0, 1e-6, 0.03, 0.7, 40.0, 1e6, math.inf])
def test_a_rising_curve_is_searched_sooner_with_the_same_result(log_p: float, steep: float) -> None:
    tried: list[float] = []

    def rising(slack: float) -> float:
        tried.append(slack)
        return steep * math.sqrt(slack) if steep else 0.3

    slowly = best_probability(rising, log_p, 0.9 * -log_p)
    before = len(tried)
    assert best_probability(rising, log_p, 0.9 * -log_p, rising=True) == slowly
    if 0.01 < steep < math.inf:
        assert len(tried) - before < 0.6 * before


def test_beyond_the_range_of_squares() -> None:
    point = best_probability(curve, -1e300)
    assert point.log_value == pytest.approx(-1e300)
