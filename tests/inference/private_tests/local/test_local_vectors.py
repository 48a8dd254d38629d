"""The specification's vectors for local tests: TV-31 to TV-37, TV-42, TV-46, and the printed forms behind them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.inference.private_tests import local
from holdfast.inference.private_tests.classical import chi_square_sf
from holdfast.inference.private_tests.local.channel import MultinomialChannel, NoisyCellsChannel, Randomizer
from holdfast.inference.private_tests.local.fit import fit
from holdfast.inference.private_tests.null_models import Independence
from holdfast.mechanisms.local import BitFlip, OneHotGaussian, OneHotLaplace, RandomizedResponse

S4 = np.array([1 / 2, 1 / 6, 1 / 6, 1 / 6])
P1 = S4 + 0.01 * np.array([1, -1 / 3, -1 / 3, -1 / 3])


@pytest.mark.parametrize(
    ("epsilon", "first", "others"), [(1, 0.3251222955, 0.2249592348), (0.1, 0.2564047831, 0.2478650723)]
)
def test_31_law_of_a_randomized_response(epsilon: float, first: float, others: float) -> None:
    shown = MultinomialChannel(RandomizedResponse(4, epsilon)).shown(S4)
    assert shown == pytest.approx([first, others, others, others], abs=1e-10)


def test_32_local_gof() -> None:
    vote = RandomizedResponse(4, 1)
    found = local.gof(local.Collected([2900, 2350, 2420, 2330], 10_000, vote), S4)
    assert found.statistic == pytest.approx(58.20594747, rel=1e-8)
    assert found.p_value == pytest.approx(1.420498473e-12, rel=1e-8)
    assert local.noncentrality(vote, S4, P1) * 10_000 == pytest.approx(0.4115151696, rel=1e-8)
    assert local.power(vote, S4, P1, 10_000, at="null").power == pytest.approx(0.07534786437, abs=1e-9)


def test_33_local_general_for_independence() -> None:
    sums = local.Collected([[2700, 2480], [2390, 2430]], 10_000, RandomizedResponse(4, 1))
    fitted = fit(sums.sums.ravel(), 10_000, sums.channel, Independence(2, 2))
    assert fitted.first[[0, 2]] == pytest.approx([0.5599023229, 0.5299511614], rel=1e-8)
    assert fitted.theta[[0, 2]] == pytest.approx([0.5618301832, 0.5334048849], rel=1e-8)
    as_printed, first = local.independence(sums), local.independence(sums, denominator="first")
    assert first.statistic == pytest.approx(5.641134136, rel=1e-8)
    assert first.p_value == pytest.approx(0.0175438549, abs=1e-9)
    assert as_printed.statistic == pytest.approx(5.644289729, rel=1e-8)


def test_34_35_bit_flipping() -> None:
    a = np.exp(0.5)
    mean = ((a - 1) * S4 + 1) / (1 + a)
    assert mean == pytest.approx([0.5, *[0.4183604459] * 3], rel=1e-8)
    assert (a - 1) ** 2 * S4 + a == pytest.approx([1.859140914, *[1.718861152] * 3], rel=1e-8)
    flips = BitFlip(4, 1)
    answers = local.Collected([5010, 4180, 4230, 4150], 10_000, flips)
    channel = answers.channel
    assert isinstance(channel, NoisyCellsChannel)
    assert channel.lie + channel.contrast * S4 == pytest.approx(mean, rel=1e-12)
    found = local.gof(answers, S4)
    assert found.statistic == pytest.approx(1.34748342, rel=1e-8)
    assert found.p_value == pytest.approx(0.7178897247, abs=1e-9)
    assert answers.proportions == pytest.approx([0.5040829882, 0.1651949705, 0.1856099113, 0.152946006], rel=1e-8)
    assert channel.c == pytest.approx(3.917698089, rel=1e-9)
    assert 1 / channel.c == pytest.approx(4 * np.sinh(0.25) ** 2, rel=1e-12)
    assert 1 / channel.c == pytest.approx(0.2552519304, rel=1e-9)


@pytest.mark.parametrize(
    ("randomizer", "expected"),
    [(BitFlip(4, 1), 0.3136493714), (OneHotGaussian(4, 0.5), 0.5714285714), (OneHotLaplace(4, 1), 0.16)],
)
def test_36_noncentralities(randomizer: Randomizer, expected: float) -> None:
    assert 10_000 * local.noncentrality(randomizer, S4, P1) == pytest.approx(expected, rel=1e-8)


def test_37_local_gaussian() -> None:
    # The noise is drawn on a grid of 2**30 steps in its sigma, so its variance is 1/rho to one part in a billion.
    noise = OneHotGaussian(4, 0.5)
    found = local.gof(local.Collected([5150, 1480, 1790, 1420], 10_000, noise), S4)
    assert found.statistic == pytest.approx(5.702857143, rel=1e-8)
    assert found.p_value == pytest.approx(chi_square_sf(5.702857143, 3), rel=1e-8)


def test_42_independence_noncentrality() -> None:
    table = [[0.26, 0.24], [0.24, 0.26]]
    noise = OneHotGaussian(4, 6.25)  # c = .16, as n = 5000 and rho = .00125 have centrally
    assert 5000 * local.independence_noncentrality(noise, table) == pytest.approx(4.87804878, rel=1e-8)


def test_46_crossovers() -> None:
    found = local.crossovers(1)
    assert (found.bit_flip, found.gaussian, found.laplace) == pytest.approx((8.130410341, 2.468421227, 20.18337588))


def printed_bit_flip_statistic(sums: np.ndarray, n: int, p0: np.ndarray, epsilon: float) -> float:
    """Theorem 8.2.11 letter by letter, with dense matrices."""
    a, d = np.exp(epsilon / 2), p0.size
    mean, q = ((a - 1) * p0 + 1) / (1 + a), (a - 1) ** 2 * p0 + a
    centre = np.eye(d) - 1 / d
    inner = np.diag(1 / q) + np.outer(p0 / q, p0 / q) / (1 / (a - 1) ** 2 - (p0**2 / q).sum())
    v = centre @ (sums / n - mean)
    return float(n * (a + 1) ** 2 * v @ inner @ v)


@given(
    weights=st.lists(st.floats(0.05, 1), min_size=2, max_size=8),
    epsilon=st.floats(0.05, 8),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_bit_flip_statistic_is_the_printed_one(weights: list[float], epsilon: float, seed: int) -> None:
    p0 = np.array(weights) / sum(weights)
    flips = BitFlip(p0.size, epsilon)
    sums = local.simulate_sums(1000, p0, flips, 1, np.random.default_rng(seed))[0]
    ours = local.channel_of(flips).statistic(sums, 1000, p0)
    assert ours == pytest.approx(printed_bit_flip_statistic(sums, 1000, p0, epsilon), rel=1e-8, abs=1e-9)


def test_results_are_plain_data() -> None:
    for randomizer in (RandomizedResponse(4, 1), BitFlip(4, 1), OneHotGaussian(4, 0.5), OneHotLaplace(4, 1)):
        sums = local.simulate_sums(1000, S4, randomizer, 1, np.random.default_rng(1)).reshape(2, 2)
        answers = local.Collected(sums, 1000, randomizer)
        for found in (local.gof(answers, S4), local.independence(answers)):
            again = json.loads(json.dumps(found.to_dict()))
            assert again["details"]["local"] is True
            assert again["cost"] == randomizer.cost.to_dict()
            assert np.asarray(again["details"]["sums"]) == pytest.approx(sums)
