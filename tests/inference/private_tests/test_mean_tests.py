"""Private permutation tests of means: privacy and sensitivity by brute force, exact level, wrong versions found out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from holdfast.accounting.costs import ZCDP, PureDP
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import statistic_noise, t_test
from holdfast.inference.private_tests.statistic_noise import RESOLUTION, StatisticNoise, whole_values
from holdfast.inference.private_tests.t_test import anova, anova_sensitivity, between_statistic, one_sample, two_sample
from holdfast.mechanisms.auditor import audit
from holdfast.noise.entropy import Seeded


def _neighbours(n: int, levels: int) -> Any:
    for row in itertools.product(range(levels), repeat=n):
        for place, other in itertools.product(range(n), range(levels)):
            yield row, (*row[:place], other, *row[place + 1 :])


@pytest.mark.parametrize("sizes", [(2, 3), (1, 4), (1, 2, 2)])
def test_between_sensitivity_by_brute_force(sizes: tuple[int, ...]) -> None:
    known = np.array(sizes)
    found = {row: int(between_statistic(np.array(row), known)) for row in itertools.product(range(3), repeat=5)}
    worst = max(abs(found[a] - found[b]) for a, b in _neighbours(5, 3))
    assert worst * RESOLUTION / 2 == anova_sensitivity(known)  # the values here go to 2, the library's to RESOLUTION


def _between(labels: Any, values: Any) -> float:
    mean = np.mean(values)
    sums = [sum(v - mean for g, v in zip(labels, values, strict=True) if g == k) for k in set(labels)]
    return float(sum(abs(s) for s in sums))


def _within(labels: Any, values: Any) -> float:
    total = 0.0
    for k in set(labels):
        group = np.array([v for g, v in zip(labels, values, strict=True) if g == k])
        total += float(np.abs(group - group.mean()).sum())
    return total


def test_sums_of_absolute_deviations_move_by_at_most_two_even_if_the_group_changes() -> None:
    """Values in [0, 1] at their ends, where a convex function of one value has its extremes, and in the middle."""
    widest = {"between": 0.0, "within": 0.0}
    n = 4
    for others in itertools.product(range(3), repeat=n - 1):
        labels = (0, *others)  # the names of the groups do not matter
        for values in itertools.product((0.0, 0.5, 1.0), repeat=n):
            before = _between(labels, values), _within(labels, values)
            for group, value in itertools.product(range(3), (0.0, 1.0)):
                after = (group, *labels[1:]), (value, *values[1:])
                widest["between"] = max(widest["between"], abs(before[0] - _between(*after)))
                widest["within"] = max(widest["within"], abs(before[1] - _within(*after)))
    assert max(widest.values()) <= 2 + 1e-12
    assert min(widest.values()) > 1.2  # and not by much less


def test_distance_to_the_threshold_moves_by_at_most_twice_the_sensitivity() -> None:
    """The step of the privacy proof: with rearrangements and other noise fixed, `T_0 - q` moves by at most 2 S."""
    rng = np.random.default_rng(2)
    sizes, worst = np.array([3, 4]), 0
    for _ in range(500):
        values = rng.choice([0, RESOLUTION // 3, RESOLUTION], 7)
        other = values.copy()
        other[rng.integers(7)] = rng.choice([0, RESOLUTION])
        orders = [rng.permutation(7) for _ in range(19)]
        noise = rng.integers(-RESOLUTION, RESOLUTION, 19)
        gaps = []
        for data in (values, other):
            copies = np.sort([int(between_statistic(data[order], sizes)) for order in orders] + noise)
            gaps.append(int(between_statistic(data, sizes)) - int(copies[18]))
        worst = max(worst, abs(gaps[0] - gaps[1]))
    assert worst <= 2 * anova_sensitivity(sizes)
    assert worst > anova_sensitivity(sizes)  # once the sensitivity would not do


TESTS: dict[str, Callable[..., Any]] = {
    "anova": lambda v, **k: anova(v[:3], v[3:8], v[8:], low=0, high=1, **k),
    "two-sample": lambda v, **k: two_sample(v[:4], v[4:], low=0, high=1, **k),
    "one-sample": lambda v, **k: one_sample(v, center=0.5, half_range=0.5, **k),
}
RUNS = 2_000


def _rate(test: Callable[..., Any], seed: int, **more: Any) -> float:
    rng, source = np.random.default_rng(seed), Seeded(seed)
    draws = rng.beta(0.3, 0.3, (RUNS, 12))  # far from normal, symmetric about one half
    return float(np.mean([test(v, alpha=0.1, m=19, source=source, rng=rng, **more).reject for v in draws]))


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": 8}])
def test_level_is_alpha(name: str, budget: dict[str, float]) -> None:
    """Exact up to 5 standard errors (1e-6): neither above nor below."""
    assert abs(_rate(TESTS[name], 3, **budget) - 0.1) < 5 * math.sqrt(0.09 / RUNS)


@pytest.mark.parametrize("name", TESTS)
def test_copies_without_noise_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatisticNoise, "resample", lambda self, rng, size: np.zeros(size, dtype=np.int64))
    assert _rate(TESTS[name], 3, epsilon=1) > 0.1 + 5 * math.sqrt(0.09 / RUNS)


def test_audit_of_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 decisions on each neighbour; at epsilon 0.25 noise for a twentieth of the sensitivity is found out."""
    first, second = np.zeros(8), np.zeros(8)
    second[0] = 1.0

    def simulate(values: Any, runs: int) -> Any:
        rng, source = np.random.default_rng(int(values.sum())), Seeded(int(values.sum()))
        found = [two_sample(values[:2], values[2:], low=0, high=1, epsilon=0.25, alternative="greater", alpha=0.2, m=4,
                            source=source, rng=rng).reject for _ in range(runs)]  # fmt: skip
        return np.array(found, dtype=np.int64)

    assert not audit(simulate, [(first, second)], 0.25, runs=2_000).caught

    class Weak(StatisticNoise):
        def __init__(self, anova_sensitivity: int, epsilon: Any, rho: Any) -> None:
            super().__init__(anova_sensitivity // 20, epsilon, rho)

    monkeypatch.setattr(t_test, "StatisticNoise", Weak)
    assert audit(simulate, [(first, second)], 0.25, runs=2_000).caught


def test_power_and_direction() -> None:
    rng, source = np.random.default_rng(9), Seeded(9)
    common: dict[str, Any] = {"epsilon": 1, "m": 99, "source": source, "rng": rng}

    def rate(test: Callable[[], Any]) -> float:
        return float(np.mean([test().reject for _ in range(60)]))

    def draw(shift: float) -> Any:
        return rng.normal(shift, 1, 150)

    wide: dict[str, Any] = {"low": -3, "high": 3}
    assert rate(lambda: anova(draw(0), draw(0), draw(1), **wide, **common)) > 0.8
    assert rate(lambda: two_sample(draw(1), draw(0), **wide, **common)) > 0.8
    assert rate(lambda: two_sample(draw(1), draw(0), alternative="less", **wide, **common)) < 0.05
    assert rate(lambda: one_sample(draw(1), half_range=3, **common)) > 0.8
    assert rate(lambda: one_sample(draw(1), half_range=3, alternative="less", **common)) < 0.05
    assert rate(lambda: one_sample(draw(1), center=1, half_range=3, **common)) < 0.3


def test_result_shows_the_decision_only() -> None:
    result = two_sample([0.0] * 50, [1.0] * 50, low=0, high=1, epsilon=5, source=Seeded(1))
    assert (result.reject, result.p_value, result.statistic, result.critical_value) == (True, 0.05, None, None)
    assert result.level == "exact"
    assert result.cost == PureDP(5.0)
    kept = anova([0.0] * 5, [0.0] * 5, low=0, high=1, rho=0.1, source=Seeded(1))
    assert (kept.reject, kept.p_value, kept.cost) == (False, 1.0, ZCDP(0.1))


def test_whole_values() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=1000)
    found = whole_values("x", values, -1, 1)
    assert found.min() == 0
    assert found.max() == RESOLUTION
    assert np.all(np.abs(found / RESOLUTION * 2 - 1 - np.clip(values, -1, 1)) <= 1.01 / RESOLUTION)
    # Statistics are exact in 64 bits at the largest n.
    assert 2 * statistic_noise.LARGEST_PERMUTED_N**2 * RESOLUTION < 2**62


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: two_sample([1.0], [2.0], low=1, high=1, epsilon=1), "high"),
        (lambda: two_sample([1.0], [2.0], low=0, high=float("inf"), epsilon=1), "high"),
        (lambda: two_sample([1.0], [2.0], low=-1.7e308, high=1.7e308, epsilon=1), "high"),
        (lambda: two_sample([float("nan")], [2.0], low=0, high=1, epsilon=1), "x must"),
        (lambda: two_sample([1.0], [], low=0, high=1, epsilon=1), "y must"),
        (lambda: two_sample([1.0], [2.0], low=0, high=1), "exactly one"),
        (lambda: two_sample([1.0], [2.0], low=0, high=1, epsilon=1, m=5), "m must"),
        (lambda: two_sample([1.0], [2.0], low=0, high=1, epsilon=1, alternative="x"), "alternative"),  # type: ignore[arg-type]
        (lambda: one_sample([1.0], half_range=0, epsilon=1), "half_range"),
        (lambda: one_sample([1.0], half_range=1, epsilon=-1), "epsilon"),
        (lambda: anova([1.0], low=0, high=1, epsilon=1), "at least two"),
        (lambda: anova([1.0], "ab", low=0, high=1, epsilon=1), r"samples\[1\]"),
        (lambda: anova([1.0], [2.0], low=0, high=1, epsilon=1, alpha=2), "alpha"),
    ],
)
def test_wrong_input(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()
