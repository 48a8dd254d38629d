"""The betting interval: monotone capital, exact coverage on short runs, simulated coverage with power, narrowness."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import bdtrc

from holdfast.bounds.one_question import empirical_bernstein, kl
from holdfast.errors import InvalidParameter
from holdfast.holdout.intervals import betting
from holdfast.holdout.intervals.betting import Bets, betting_interval
from holdfast.holdout.intervals.procedure import OnRows, Procedure
from holdfast.holdout.metrics import mean


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    rows=st.lists(st.floats(0, 1), min_size=1, max_size=30),
    log_tail=st.floats(-200, -0.1),
    a=st.floats(1e-6, 1),
    b=st.floats(1e-6, 1),
)
def test_capital_falls_with_the_candidate(rows: list[float], log_tail: float, a: float, b: float) -> None:
    x = np.array(rows)
    bets = betting._bets(x, log_tail)
    below, above = (np.cumsum(np.log1p(np.minimum(bets, betting._CAP / m) * (x - m))) for m in (min(a, b), max(a, b)))
    assert (below >= above - 1e-9).all()


def test_bets_look_back_only() -> None:
    rng = np.random.default_rng(5)
    x, changed = rng.random(50), None
    for i in range(50):
        changed = x.copy()
        changed[i:] = rng.random(50 - i)
        assert np.array_equal(betting._bets(x, -3.0)[: i + 1], betting._bets(changed, -3.0)[: i + 1])


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.2, 0.7)])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_every_sequence_of_ten_rows_is_covered(values: tuple[float, float], share: float) -> None:
    """Exact: all 1,024 orders of two-valued rows."""
    n = 10
    sequences = np.array(list(itertools.product((0, 1), repeat=n)))
    found = np.array([betting_interval(np.take(values, s), math.log(share)) for s in sequences])
    ones = sequences.sum(axis=1)
    for p in np.linspace(0.01, 0.99, 99):
        truth = values[0] + p * (values[1] - values[0])
        mass = p**ones * (1 - p) ** (n - ones)
        assert mass[(truth < found[:, 0]) | (truth > found[:, 1])].sum() <= share


def _misses(share: float, runs: int, law: str) -> int:
    rng = np.random.default_rng(20)
    missed = 0
    for _ in range(runs):
        x = rng.beta(8, 2, 300) if law == "beta" else rng.binomial(1, 0.9, 300) * 1.0
        truth = 0.8 if law == "beta" else 0.9
        low, high = betting_interval(x, math.log(share))
        missed += not low <= truth <= high
    return missed


def _most_misses(share: float, runs: int) -> int:
    """More misses than this have probability at most 1e-6 if the interval holds."""
    return next(k for k in range(runs) if bdtrc(k, runs, share) <= 1e-6)


@pytest.mark.parametrize("law", ["beta", "coin"])
def test_simulated_coverage(law: str) -> None:
    assert _misses(0.1, 1_000, law) <= _most_misses(0.1, 1_000)


def test_bets_that_peek_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test rejects bets that know the sign of the row they are placed on."""
    honest = betting._bets

    def peeking(x: np.ndarray, log_tail: float) -> np.ndarray:
        return honest(x, log_tail) * (1 + 0.5 * (x > np.median(x)))

    monkeypatch.setattr(betting, "_bets", peeking)
    assert _misses(0.1, 1_000, "beta") > _most_misses(0.1, 1_000)


@pytest.mark.parametrize("log_share", [math.log(5e-5), -108.0])
def test_narrower_than_empirical_bernstein(log_share: float) -> None:
    n = 10_000
    x = np.random.default_rng(2).beta(10, 10, n)
    low, high = betting_interval(x, log_share)
    bernstein = empirical_bernstein(float(x.mean()), float(x.var(ddof=1)), n, log_share)
    assert low <= x.mean() <= high
    assert (high - low) / 2 < 0.7 * bernstein.value < kl(float(x.mean()), n, log_share).value


def test_ranges_sides_and_symmetry() -> None:
    x = np.random.default_rng(3).beta(2, 5, 500)
    low, high = betting_interval(x, -4.0)
    mirrored = betting_interval(1 - x, -4.0)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=3e-7)
    assert betting_interval(2 * x - 1, -4.0, -1.0, 1.0) == pytest.approx((2 * low - 1, 2 * high - 1), abs=5e-7)
    half = -4.0 - math.log(2)
    assert betting_interval(x, half, side="lower") == (low, 1.0)
    assert betting_interval(x, half, side="upper") == (0.0, high)


@pytest.mark.parametrize("rows", [[0.0] * 50, [1.0] * 50, [0.5], [0.0, 1.0]])
def test_extreme_rows(rows: list[float]) -> None:
    for log_share in (-0.5, -10.0, -2_000.0):
        low, high = betting_interval(rows, log_share)
        assert 0 <= low <= np.mean(rows) <= high <= 1


def test_wrong_input_is_refused_and_rows_are_not_shown() -> None:
    for wrong in ([0.1, 1.2], [0.1, math.nan], [[0.1]], ["a"], []):
        with pytest.raises(InvalidParameter, match="values") as caught:
            mean(wrong, "betting")
        assert "1.2" not in str(caught.value)
    with pytest.raises(InvalidParameter, match="log_share"):
        betting_interval([0.5], 0.5)
    with pytest.raises(InvalidParameter, match="side"):
        betting_interval([0.5], -1.0, side="left")  # type: ignore[arg-type]
    assert "0.123" not in repr(Bets.on([0.123]))


def test_a_procedure_keeps_its_rows_to_itself() -> None:
    question = mean([0.123, 0.456], "betting")
    assert isinstance(question, Procedure)
    assert isinstance(question, OnRows)
    assert "0.123" not in repr(question)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(question)
