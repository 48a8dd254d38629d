"""The noise: exact cost, true variance, the same distribution in releases and in resamples."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from holdfast.accounting import ZCDP, PureDP
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import NoiseLaw, discrete_gaussian, discrete_laplace, gaussian, laplace
from holdfast.inference.private_tests.noise_law import Words, noise_of
from holdfast.noise import Seeded

LAWS = [gaussian(0.01), laplace(0.5), discrete_gaussian(0.01), discrete_laplace(0.5), gaussian(50), laplace(20)]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.floats(1e-12, 1e12))
def test_sigma_never_falls_short_of_rho(rho: float) -> None:
    for make in (gaussian, discrete_gaussian):
        law = make(rho)
        spent = 1 / law.scale**2  # two cells by one: 2 / (2 sigma^2), exactly
        assert spent <= Fraction(repr(rho))
        assert spent >= Fraction(repr(rho)) * (1 - Fraction(1, 2**38))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.floats(1e-6, 1e6))
def test_the_fine_grid_is_fine(parameter: float) -> None:
    for law in (gaussian(parameter), laplace(parameter)):
        assert law.step <= 1
        assert law.scale / Fraction(law.step) >= 2048
        assert math.frexp(law.step)[0] == 0.5  # a power of two, so whole counts lie on the grid
    assert discrete_gaussian(parameter).step == discrete_laplace(parameter).step == 1


def test_costs_and_scales() -> None:
    assert gaussian(0.1).cost == discrete_gaussian(0.1).cost == ZCDP(0.1)
    assert laplace(0.1).cost == discrete_laplace(0.1).cost == PureDP(0.1)
    assert laplace(0.1).scale == 20
    assert gaussian(0.01).scale == 10
    assert gaussian(0.00125).variance == pytest.approx(800, rel=1e-10)
    assert gaussian(0.1).nothing == ZCDP(0.0)
    assert laplace(0.1).nothing == PureDP(0.0)
    assert gaussian(1).c(100) == 0.01


def test_a_swap_moves_four_cells() -> None:
    assert laplace(0.1, unit="swap").scale == 40
    assert gaussian(0.5, unit="swap").variance == 4  # 2 / rho
    with pytest.raises(InvalidParameter, match="unit='swap'"):
        noise_of(noise=gaussian(1), unit="swap")


@pytest.mark.parametrize("law", LAWS, ids=[f"{law.kind}-{float(law.parameter):g}" for law in LAWS])
def test_release_and_resample_have_one_law(law: NoiseLaw) -> None:
    """Two-sample chi-square over 20 bins and a variance check; error rate 1e-7 each, power shown below."""
    draws = 40_000
    released = law.release(np.zeros(draws, dtype=np.int64), Seeded(3))
    simulated = law.resample(np.random.default_rng(4), draws)
    assert np.array_equal(released / law.step, np.round(released / law.step))
    assert np.array_equal(simulated / law.step, np.round(simulated / law.step))
    assert _same(released, simulated) > 1e-7
    assert _same(released, law.sample(np.random.default_rng(5), draws)) > 1e-7
    assert _same(released, 1.1 * simulated) < 1e-7  # power: a scale that is wrong by a tenth
    kurtosis = 3 if law.is_gaussian else 6
    assert abs(released.var() / law.variance - 1) < 5.4 * math.sqrt((kurtosis - 1) / draws)


def _same(first: np.ndarray, second: np.ndarray) -> float:
    edges = np.quantile(first, np.linspace(0, 1, 21)[1:-1]) + 1e-9
    table = [np.bincount(np.searchsorted(edges, sample), minlength=20) for sample in (first, second)]
    kept = np.array(table)[:, np.sum(table, axis=0) > 0]
    return float(stats.chi2_contingency(kept).pvalue)


def test_a_release_takes_whole_counts_and_a_source() -> None:
    with pytest.raises(InvalidParameter, match="whole"):
        gaussian(1).release(np.array([1.5, 2.0]))
    with pytest.raises(InvalidParameter, match="source"):
        gaussian(1).release(np.array([1, 2]), np.random.default_rng(1))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="would protect nobody"):
        gaussian(1).release(np.array([1, 2]), Words(np.random.default_rng(1)))
    with pytest.raises(InvalidParameter, match="Generator"):
        discrete_gaussian(1).resample(Seeded(1), 3)  # type: ignore[arg-type]


def test_releases_differ_without_a_seed() -> None:
    counts = np.zeros(64, dtype=np.int64)
    assert not np.array_equal(gaussian(0.01).release(counts), gaussian(0.01).release(counts))


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), None, "1", 1e-30])
def test_wrong_parameters(wrong: object) -> None:
    for make in (gaussian, discrete_gaussian, laplace, discrete_laplace):
        with pytest.raises(InvalidParameter, match=r"rho|epsilon"):
            make(wrong)  # type: ignore[arg-type]


def test_exactly_one_noise() -> None:
    for given_ in ({}, {"rho": 1, "epsilon": 1}, {"rho": 1, "noise": gaussian(1)}):
        with pytest.raises(InvalidParameter, match="exactly one"):
            noise_of(**given_)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="NoiseLaw"):
        noise_of(noise="gaussian")  # type: ignore[arg-type]


def test_words_are_those_of_the_generator() -> None:
    one, many, plain = (np.random.default_rng(3) for _ in range(3))
    wanted = plain.integers(0, 2**64, size=5, dtype=np.uint64).tolist()
    single = Words(one)
    assert [single.word() for _ in range(5)] == Words(many).words(5).tolist() == wanted
    with pytest.raises(InvalidParameter, match="rng must be a numpy Generator, got a int"):
        Words(3)  # type: ignore[arg-type]
