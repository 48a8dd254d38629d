"""Intervals for predictions that are known when labels are drawn: exact oracles, and labels that are not alike."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from holdfast.bounds.one_question import auc_known_scores, clopper_pearson, f1_known_predictions, unlike_rows
from holdfast.errors import InvalidParameter


def counts(chances: np.ndarray) -> np.ndarray:
    """The distribution of the number of ones among independent labels that are not alike, exactly by convolution."""
    law = np.array([1.0])
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    return law


def missed(chances: np.ndarray, log_share: float) -> float:
    """With what probability Clopper-Pearson misses the mean of chances that are not alike."""
    n, law, truth = len(chances), counts(chances), float(np.mean(chances))
    limits = [clopper_pearson(k, n, log_share) for k in range(n + 1)]
    return float(sum(p for p, (low, high) in zip(law, limits, strict=True) if not low <= truth <= high))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.999, 0.001, 0.5])), min_size=1, max_size=25),
    st.floats(-12, -0.7),
)
def test_clopper_pearson_holds_for_rows_that_are_not_alike(chances: list[float], log_share: float) -> None:
    """An exact oracle: no randomness, so no error rate."""
    assert missed(np.array(chances), unlike_rows(log_share)) <= math.exp(log_share) * (1 + 1e-9)


def test_without_the_correction_it_does_not() -> None:
    """One row that may be wrong among rows that never are: the number of ones has a heavier tail than a binomial's."""
    tail, n = 0.2, 5
    upper = (1 - tail) ** (1 / n)
    chances = np.array([1 - n * (1 - upper) * (1 - 1e-9), 1.0, 1.0, 1.0, 1.0])
    assert missed(chances, math.log(2 * tail)) > tail * 1.05
    assert missed(chances, unlike_rows(math.log(2 * tail))) <= 2 * tail


def test_hoeffding_1956_theorem_4() -> None:
    """The printed theorem that is relied on, at random chances: one below the mean a binomial has the heavier tail."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        chances = rng.beta(0.4, 0.4, rng.integers(2, 30))
        law, mean = counts(chances), float(chances.sum())
        for c in range(math.floor(mean - 1) + 1):
            assert law[: c + 1].sum() <= binom.cdf(c, len(chances), mean / len(chances)) + 1e-12


def test_greenberg_and_mohri_2014() -> None:
    """A binomial is at least its mean with probability above 1/4 where the chance is above 1/n."""
    for n in range(2, 200):
        chances = np.linspace(1 / n + 1e-9, 1, 200)
        least = binom.sf(np.ceil(chances * n - 1e-12) - 1, n, chances)
        assert (least > 0.25).all()


def area(scores: np.ndarray, labels: np.ndarray) -> float:
    ones, zeros = scores[labels], scores[~labels]
    return float(((ones[:, None] > zeros) + (ones[:, None] == zeros) / 2).mean())


def target(scores: np.ndarray, chances: np.ndarray) -> float:
    above = (scores[:, None] > scores) + (scores[:, None] == scores) / 2
    weight = chances[:, None] * (1 - chances)
    np.fill_diagonal(weight, 0)
    return float((above * weight).sum() / weight.sum())


def spread(scores: np.ndarray) -> tuple[float, float]:
    n = len(scores)
    ranks = ((scores[:, None] > scores).sum(1) + ((scores[:, None] == scores).sum(1) - 1) / 2) / (n - 1)
    away = np.abs(ranks - 0.5)
    return float(away.mean()), float((away**2).mean())


@pytest.mark.parametrize("seed", range(6))
def test_auc_of_known_scores_holds_where_labels_are_not_alike(seed: int) -> None:
    """Exact over all labels of 11 rows: the probability that the interval misses, at a share of 1/5."""
    rng = np.random.default_rng(seed)
    n, log_share = 11, math.log(0.2)
    scores = rng.integers(0, 6 + seed, n).astype(float)
    chances = np.clip(rng.random(n), 0.02, 0.98) if seed % 2 else np.clip(scores / scores.max(), 0.1, 0.9)
    truth, (distance, square) = target(scores, chances), spread(scores)
    wrong = 0.0
    for code in range(2**n):
        labels = np.array([code >> i & 1 for i in range(n)], dtype=bool)
        if labels.all() or not labels.any():
            continue
        ends = auc_known_scores(
            area(scores, labels), int(labels.sum()), int((~labels).sum()), log_share, "both", distance, square
        )
        if not ends.low <= truth <= ends.high:
            wrong += float(np.prod(np.where(labels, chances, 1 - chances)))
    assert wrong <= 0.2


def test_auc_with_a_quarter_of_its_width_misses() -> None:
    """Power: 400 draws of 300 labels; a bound that is four times too narrow misses often."""
    rng = np.random.default_rng(1)
    n = 300
    scores = rng.random(n)
    chances = np.where(scores > 0.5, 0.7, 0.3)
    truth, (distance, square) = target(scores, chances), spread(scores)
    missed = narrow = 0
    for _ in range(400):
        labels = rng.random(n) < chances
        value = area(scores, labels)
        sizes = int(labels.sum()), int((~labels).sum())
        low, high = auc_known_scores(value, *sizes, math.log(0.2), "both", distance, square)
        missed += not low <= truth <= high
        narrow += not value - (value - low) / 4 <= truth <= value + (high - value) / 4
    most = binom.isf(1e-6, 400, 0.2)  # a bound that misses one time in five does so more often with this probability
    assert missed <= most < narrow


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 12), st.integers(0, 12), st.lists(st.floats(0, 1), min_size=24, max_size=24), st.floats(-6, -0.8))
def test_f1_of_known_predictions_holds(predicted: int, rest: int, chances: list[float], log_share: float) -> None:
    """An exact oracle: hits and misses are independent, with distributions found by convolution."""
    if predicted + rest == 0:
        return
    first, second = np.array(chances[:predicted]), np.array(chances[12 : 12 + rest])
    expected = first.sum(), second.sum()
    whole = expected[0] + expected[1] + predicted
    truth = 0.0 if whole == 0 else 2 * expected[0] / whole
    wrong = 0.0
    for hits, p in enumerate(counts(first)):
        for misses, q in enumerate(counts(second)):
            low, high = f1_known_predictions(hits, misses, predicted, predicted + rest, log_share)
            wrong += 0.0 if low - 1e-12 <= truth <= high + 1e-12 else p * q
    assert wrong <= math.exp(log_share) * (1 + 1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.floats(0, 1), st.integers(1, 10**6), st.integers(1, 10**6), st.floats(-200, -1))
def test_properties(value: float, ones: int, zeros: int, log_share: float) -> None:
    low, high = auc_known_scores(value, ones, zeros, log_share)
    wide = auc_known_scores(value, ones, zeros, log_share - 5)
    more = auc_known_scores(value, 4 * ones, 4 * zeros, log_share)
    assert 0 <= wide.low <= low <= more.low + 1e-12 <= value + 1e-9
    assert value - 1e-9 <= more.high - 1e-12 <= high <= wide.high <= 1
    one = auc_known_scores(value, ones, zeros, log_share, "lower")
    assert low <= one.low <= value + 1e-9
    assert one.high == 1
    turned = auc_known_scores(1 - value, zeros, ones, log_share)
    assert turned.low == pytest.approx(1 - high, abs=1e-9)


def test_a_share_of_a_half_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="log_share"):
        unlike_rows(-0.6)
    with pytest.raises(InvalidParameter, match="log_share"):
        f1_known_predictions(1, 1, 2, 4, -0.6)
