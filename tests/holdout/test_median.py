from __future__ import annotations

import itertools
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.holdout import median_bits, median_rounds
from holdfast.errors import InvalidParameter
from holdfast.holdout import MedianMechanism
from holdfast.holdout.median import _histograms, _log_multinomials


def test_printed_radius_never_ends_and_the_corrected_one_does() -> None:
    # spec-reusable-holdout 2.7 and 6: X = {0, 1}, alpha = 0.1, size 100, mean 0.26, the same question 250 times
    rounds = {}
    for method in ("paper", "best"):
        mechanism = MedianMechanism([74, 26], 250, 0.3, method=method, size=100)  # type: ignore[arg-type]
        answers = [mechanism.query([0, 1]).value for _ in range(250)]
        rounds[method] = mechanism.private_rounds
        assert answers[0] == pytest.approx(0.3)
    assert rounds == {"paper": 250, "best": 1}
    assert mechanism.round_bound == 100


def test_histograms_are_all_databases() -> None:
    for size, universe in ((4, 2), (3, 3), (2, 4)):
        table = _histograms(size, universe)
        assert len(table) == math.comb(size + universe - 1, universe - 1)
        assert (table.sum(axis=1) == size).all()
        weights = np.exp(_log_multinomials(table) + math.lgamma(size + 1))
        counted = [
            tuple(np.bincount(rows, minlength=universe)) for rows in itertools.product(range(universe), repeat=size)
        ]
        for row, weight in zip(table, weights, strict=True):
            assert weight == pytest.approx(counted.count(tuple(int(x) for x in row)))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_accuracy_and_rounds_on_random_small_instances(data: st.DataObject) -> None:
    universe = data.draw(st.integers(2, 3))
    counts = data.draw(st.lists(st.integers(0, 30), min_size=universe, max_size=universe).filter(any))
    questions = data.draw(st.integers(2, 12))
    tau = data.draw(st.sampled_from([0.5, 0.6, 0.75, 0.9]))
    mechanism = MedianMechanism(counts, questions, tau)
    sample = np.array(counts) / sum(counts)
    for _ in range(questions):
        phi = data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=universe, max_size=universe))
        value = mechanism.query(phi).value
        assert value is not None
        assert abs(value - float(sample @ np.array(phi))) <= 2 * tau / 3 + 1e-11  # Lemma 36
    assert mechanism.private_rounds <= mechanism.round_bound
    assert mechanism._kept.any()
    assert mechanism.query(phi).value is None  # more than planned: bottom


def test_each_private_round_halves_the_databases() -> None:
    rng = np.random.default_rng(1)
    mechanism = MedianMechanism([1, 0, 40], 40, 0.6)
    left = np.exp(mechanism._weights)[mechanism._kept].sum()
    for _ in range(40):
        before = mechanism.private_rounds
        mechanism.query(rng.integers(0, 2, 3))
        now = np.exp(mechanism._weights)[mechanism._kept].sum()
        if mechanism.private_rounds > before:
            assert now <= left / 2 * (1 + 1e-9)
        left = now
    assert mechanism.private_rounds >= 1


def test_certified_with_enough_rows() -> None:
    small = MedianMechanism([10, 10], 2, 0.9)
    assert not small.query([0, 1]).guarantee.certified
    rows = MedianMechanism([10**6, 10**6], 2, 0.9)
    answer = rows.query([0, 1])
    assert answer.guarantee.certified
    assert answer.interval == (0.0, 1.0)
    assert not MedianMechanism([10**6, 10**6], 2, 0.9, method="paper").query([0, 1]).guarantee.certified
    assert not MedianMechanism([10**6, 10**6], 2, 0.9, size=3).query([0, 1]).guarantee.certified


def test_nearest_rounding_shows_more_values_than_the_floor() -> None:
    # alpha = 0.35/1: 1/alpha = 2.857, multiples 0, 0.35, 0.7, 1.05: four values, floor(1/alpha) + 1 = 3
    alpha = 0.35
    shown = {math.floor(x / alpha + 0.5) for x in np.linspace(0, 1, 1001)}
    assert len(shown) == math.floor(1 / alpha + 0.5) + 1 == math.floor(1 / alpha) + 2
    m, tau = 2, 3 * alpha - 0.06  # alpha = 0.33: 3.03 rounds down, no extra value
    assert math.floor(3 / tau + 0.5) == math.floor(3 / tau)
    tau = 0.85  # 1/alpha = 3.53
    rounds = int(median_rounds(2, m, tau))
    strings = sum(math.comb(m, j) * 5**j for j in range(rounds + 1))
    assert median_bits(2, m, tau) == pytest.approx(math.log2(strings))


def test_limit_wrong_input_and_secret() -> None:
    with pytest.raises(InvalidParameter, match="small universes"):
        MedianMechanism([1] * 6, 100, 0.3)
    for wrong in ([1], [0, 0], [-1, 2], [0.5, 0.5], [[1, 2]], "ab"):
        with pytest.raises(InvalidParameter, match="counts"):
            MedianMechanism(wrong, 2, 0.9)
    mechanism = MedianMechanism([3, 1], 4, 0.6)
    for wrong in ([0], [0, 2], [0, float("nan")], "ab", [[0, 1]]):
        with pytest.raises(InvalidParameter, match="values"):
            mechanism.query(wrong)
    assert mechanism.asked == 0
    with pytest.raises(TypeError, match="from_state"):
        pickle.dumps(mechanism)
    twin = MedianMechanism([3, 1], 4, 0.6)
    for phi in ([0, 1], [1, 0], [1, 1]):
        assert mechanism.query(phi) == twin.query(phi)
        twin = MedianMechanism.from_state(json.loads(json.dumps(twin.state())))
    assert twin.state() == mechanism.state()
    for broken in ({}, twin.state() | {"asked": 9}, twin.state() | {"removed": [10**6]}):
        with pytest.raises(InvalidParameter):
            MedianMechanism.from_state(broken)


def test_the_radius_always_removes_the_median() -> None:
    """Rounding may bring the answer to just over 3/2 alpha from the median: a wider radius would keep it."""
    mechanism = MedianMechanism([7281, 2719], 4, 0.3)
    question = [0.0, 0.92]  # the median is 0.46 and the sample's mean 0.2501, which is shown as 0.3
    first = mechanism.query(question)
    assert (first.passed, round(first.value or 0.0, 9)) == (False, 0.3)
    kept = mechanism._databases[mechanism._kept] @ np.array(question) / 200
    assert 0.4 < kept.max() < 0.46
    assert mechanism.query(question).passed
