"""Bets on power sums: valid by an exact oracle, and nearly as narrow as predictable bets in a fixed order."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from holdfast.holdout.intervals import power_sums
from holdfast.holdout.intervals.betting import Bets
from holdfast.holdout.intervals.power_sums import LARGE_PART, SMALL_PART, NumberMean, PowerBets, meet, rest

UNIT = 2**30


def sums_of(x: Any) -> list[int]:
    """What an engine adds up for values in [0, 1]."""
    steps = np.floor(np.asarray(x) * UNIT)
    unit = steps / UNIT
    return [int(steps.sum()), *(int(np.floor(unit**power * UNIT).sum()) for power in (2, 3, 4))]


def power_bets(x: Any, low: float = 0.0, high: float = 1.0) -> PowerBets:
    return PowerBets.of(sums_of(x), len(x), low, high)


def test_the_polynomial_is_below_the_logarithm():
    for part in np.linspace(0.01, 0.99, 99):
        y = np.concatenate([np.linspace(-part, 3, 4001), [-part, 0.0]])
        bound = y - y**2 / 2 + y**3 / 3 - rest(np.array(part)) * y**4
        assert np.all(bound <= np.log1p(y) + 1e-12)
        assert bound[-2] == pytest.approx(math.log1p(-part), abs=1e-7), "equal where a row loses most"


def capital(n: int, values: tuple[float, ...], weights: tuple[float, ...], log_tail: float) -> float:
    """The expected capital against the truth, added up over all samples: at most 1 where the bets are valid."""
    mu, total = float(np.dot(values, weights)), 0.0
    for drawn in combinations_with_replacement(range(len(values)), n):
        counts = np.bincount(drawn, minlength=len(values))
        ways = math.factorial(n) / math.prod(math.factorial(c) for c in counts)
        rows = power_bets([values[i] for i in drawn])
        log = rows._log_capital(np.array([rows.mean - mu]), log_tail)[0]
        total += ways * math.prod(w**c for w, c in zip(weights, counts, strict=True)) * math.exp(log)
    return total


CASES = [
    (8, (0.0, 1.0), (0.5, 0.5), -1.0),
    (8, (0.0, 1.0), (0.97, 0.03), -2.0),
    (8, (0.0, 1.0), (0.1, 0.9), -3.0),
    (8, (0.0, 0.25, 1.0), (0.2, 0.7, 0.1), -2.0),
    (30, (0.0, 0.5), (0.02, 0.98), -3.0),
    (30, (0.0, 0.9, 1.0), (0.03, 0.9, 0.07), -5.0),
]


@pytest.mark.parametrize("case", CASES)
def test_the_expected_capital_is_at_most_one(case: Any):
    assert capital(*case) <= 1.0


@pytest.mark.parametrize("wrong", ["fourth power", "mixture", "squares"])
def test_a_version_that_is_wrong_is_caught_by_the_exact_expectation(wrong: str, monkeypatch: pytest.MonkeyPatch):
    if wrong == "fourth power":  # as if no row could lose much
        monkeypatch.setattr(power_sums, "rest", lambda part: 0.0 * part)
    elif wrong == "squares":  # as if the values were known to vary less than they do
        true = PowerBets.of.__func__  # type: ignore[attr-defined]

        def narrow(cls: Any, *given: Any) -> PowerBets:
            rows = true(cls, *given)
            return PowerBets(rows.n, rows.mean, (rows.central[0] / 2, *rows.central[1:]), 0.0, rows.low, rows.high)

        monkeypatch.setattr(PowerBets, "of", classmethod(narrow))
    else:  # every bet has all of the capital
        true_log = PowerBets._log_capital
        monkeypatch.setattr(
            PowerBets,
            "_log_capital",
            lambda self, d, tail: true_log(self, d, tail) + math.log(len(power_sums.bets(self.n, tail))),
        )
    assert max(capital(*case) for case in CASES) > 1.0


def test_rows_that_are_not_alike_keep_the_expectation():
    """Rows that only win before rows that only lose: the sum over both orders of what predictable bets get wrong."""
    n, log_tail = 10, -2.0
    p = [0.9] * 5 + [0.1] * 5
    total = 0.0
    for ones in range(2**n):
        x = [(ones >> i) & 1 for i in range(n)]
        rows = power_bets(x)
        chance = math.prod(q if v else 1 - q for q, v in zip(p, x, strict=True))
        total += chance * math.exp(rows._log_capital(np.array([rows.mean - 0.5]), log_tail)[0])
    assert total <= 1.0


def columns(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {
        "0/1": (rng.random(n) < 0.3).astype(float),
        "even": rng.random(n),
        "sd .1": np.clip(rng.normal(0.5, 0.1, n), 0, 1),
        "sd .01": np.clip(rng.normal(0.5, 0.01, n), 0, 1),
        "skewed": np.clip(rng.gamma(2, 0.04, n), 0, 1),
    }


@pytest.mark.parametrize("n", [500, 4000, 40000])
def test_the_intervals_are_nearly_those_of_predictable_bets_in_a_fixed_order(n: int):
    """Ratios of widths; those of the interval by the range alone are 5 to 40 where values vary little."""
    rng = np.random.default_rng(n)
    for name, x in columns(rng, n).items():
        for log_share in (math.log(0.05), math.log(1e-6)):
            low, high = NumberMean(power_bets(x)).interval(log_share)
            first, last = Bets.on(x).interval(log_share)
            ratio = (high - low) / (last - first)
            print(f"{n} rows, {name}, share {math.exp(log_share):.0e}: {ratio:.2f}")
            assert low <= x.mean() <= high
            assert ratio < 1.7, name


def test_misses_are_rare_and_a_version_without_the_spread_of_the_rows_is_caught():
    """2,000 runs at a share of 5%: more than 160 misses have probability below 1e-8 if at most 5% are expected."""
    rng, missed, wrong, share = np.random.default_rng(5), 0, 0, math.log(0.05)
    for _ in range(2000):
        x = np.where(rng.random(300) < 0.02, 1.0, 0.3)  # rare large values
        rows, mu = power_bets(x), 0.02 + 0.98 * 0.3
        low, high = NumberMean(rows).interval(share)
        missed += not low <= mu <= high
        flat = PowerBets(rows.n, rows.mean, (1e-6, 0.0, 1e-6), 0.0, 0.0, 1.0)
        low, high = flat.interval(share)
        wrong += not low <= mu <= high
    assert missed <= 160
    assert wrong > 160


def test_limits_are_ordered_and_inside_the_range():
    for x in ([0.0] * 50, [1.0] * 50, [0.5] * 50, [0.0] * 49 + [1.0], [0.25], [1.0]):
        for log_share in (-0.7, -5.0, -400.0):
            rows = NumberMean(power_bets(x, -2.0, 6.0))
            low, high = rows.interval(log_share)
            assert -2.0 <= low <= rows.value <= high <= 6.0
            assert rows.interval(log_share, "lower")[0] >= low - 1e-9
            assert rows.interval(log_share, "upper")[1] <= high + 1e-9


def test_a_p_value_agrees_with_the_limit_at_its_level():
    rng = np.random.default_rng(2)
    rows, level = power_bets(np.clip(rng.normal(0.53, 0.1, 2000), 0, 1), -1.0, 1.0), math.log(1e-4)
    low = rows.interval(level, "lower")[0]
    assert rows.log_p_value(low - 1e-5, level) <= level < rows.log_p_value(low + 1e-3, level)
    assert rows.log_p_value(rows.value + 0.01, level) == 0.0


def test_both_parts_of_a_share_add_up_to_it():
    assert math.exp(-SMALL_PART) + math.exp(-LARGE_PART) <= 1.0
    assert math.exp(-SMALL_PART) + math.exp(-LARGE_PART) == pytest.approx(1.0)
    assert meet((0.2, 0.3), (0.1, 0.25)) == (0.2, 0.25)


def test_nothing_about_rows_is_printed():
    assert repr(power_bets([0.1, 0.9])) == "PowerBets(n=2, low=0, high=1)"
    assert repr(NumberMean(power_bets([0.1, 0.9]))) == "NumberMean(n=2, low=0, high=1)"
