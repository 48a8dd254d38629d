"""The goodness-of-fit tests: vectors through the front, algebra against dense matrices, refusals, one release."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.accounting import ZCDP, PureDP
from holdfast.bounds.numerics.chi_square import mixture_sf
from holdfast.errors import InvalidParameter
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests import classical, goodness_of_fit
from holdfast.inference.private_tests.goodness_of_fit import METHODS
from holdfast.noise import Seeded
from holdfast.noise.entropy import Source

U4, S4 = [0.25] * 4, [0.5, 1 / 6, 1 / 6, 1 / 6]
Z = np.array([13.5, -27.25, 41, -8.75])
LAW = pt.gaussian(0.00125)
NOISY_A = pt.NoisyCounts(np.array([240, 262, 238, 260]) + Z, 1000, LAW)
NOISY_B = pt.NoisyCounts(np.array([520, 150, 170, 160]) + Z, 1000, LAW)


class Untouchable(Source):
    """A source that must not be asked: nothing may be drawn before the input is checked."""

    __slots__ = ()

    def word(self) -> int:
        raise AssertionError("noise was drawn")

    def words(self, count: int) -> Any:
        raise AssertionError("noise was drawn")


@pytest.mark.parametrize(
    ("noisy", "p0", "method", "statistic", "p", "critical"),
    [
        (NOISY_A, U4, "asymptotic", 4.3495, 0.8931630733, 37.61305391),
        (NOISY_A, U4, "projected", 0.9541071429, 0.8123546901, 7.814727903),
        (NOISY_A, U4, "nonprojected", 1.061060268, 0.9004001838, 9.487729037),
        (NOISY_B, S4, "asymptotic", 27.03525, None, 46.65304757),
        (NOISY_B, S4, "projected", 5.17758177, 0.1592460983, 7.814727903),
        (NOISY_B, S4, "nonprojected", 5.284534895, 0.259328149, 9.487729037),
    ],
)
def test_vectors_through_the_front(
    noisy: pt.NoisyCounts, p0: list[float], method: Any, statistic: float, p: float | None, critical: float
) -> None:
    found = pt.gof(noisy, p0, method=method)
    assert found.statistic == pytest.approx(statistic, rel=1e-8)
    assert found.critical_value == pytest.approx(critical, rel=1e-8)
    if p is not None:
        assert found.p_value == pytest.approx(p, abs=1e-9)
    assert found.cost == ZCDP(0.0)  # the release was paid before
    assert found.level == "asymptotic"
    assert found.reject is False
    assert found.warnings == ()


def test_the_total_noise_is_what_projection_removes() -> None:
    both = [pt.gof(NOISY_A, U4, method=m).statistic or 0.0 for m in ("nonprojected", "projected")]
    assert both[0] - both[1] == pytest.approx(0.106953125, rel=1e-9)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.integers(2, 12), st.integers(0, 10**6), st.floats(1e-3, 1e5), st.integers(5, 10**6))
def test_statistics_against_dense_inverses(d: int, seed: int, variance: float, n: int) -> None:
    rng = np.random.default_rng(seed)
    p0 = rng.dirichlet(np.full(d, 2.0)) * 0.9 + 0.1 / d
    p0 /= p0.sum()
    noisy = rng.multinomial(n, p0) + rng.normal(0, math.sqrt(variance), d)
    v, c = (noisy - n * p0) / math.sqrt(n), variance / n
    inverse = np.linalg.inv(np.diag(p0) - np.outer(p0, p0) + c * np.eye(d))
    projection = np.eye(d) - 1 / d
    rtol = 1e-9 + 1e-14 / c  # the dense inverse loses 1/c digits; the closed form does not
    plain = goodness_of_fit.nonprojected_statistic(noisy, n, p0, variance)
    projected = goodness_of_fit.projected_statistic(noisy, n, p0, variance)
    assert plain == pytest.approx(v @ inverse @ v, rel=rtol)
    u = projection @ v
    assert projected == pytest.approx(u @ inverse @ u, rel=10 * rtol, abs=10 * rtol * plain)
    assert plain >= projected >= 0


def test_projected_tends_to_pearson_of_recentred_counts() -> None:
    noisy = np.array([523.25, 148.5, 170.75, 160.5])
    p0 = np.array(S4)
    recentred = noisy - (noisy.sum() - 1000) / 4
    limit = classical.pearson(recentred, 1000, p0)
    assert goodness_of_fit.projected_statistic(noisy, 1000, p0, 1e-12) == pytest.approx(limit, rel=1e-12)
    assert goodness_of_fit.projected_statistic(noisy, 1000, p0, 0.0) == pytest.approx(limit, rel=1e-14)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(2, 8), st.integers(0, 10**6), st.floats(1e-2, 1e4))
def test_weights_are_those_of_the_printed_form(d: int, seed: int, variance: float) -> None:
    n = 1000
    p0 = np.random.default_rng(seed).dirichlet(np.full(d, 3.0)) * 0.9 + 0.1 / d
    p0 /= p0.sum()
    sigma = np.eye(d) - np.outer(np.sqrt(p0), np.sqrt(p0))
    _, vectors = np.linalg.eigh(sigma)
    root = vectors[:, 1:]  # B with B B' = Sigma, since Sigma is a projection of rank d - 1
    big = np.block([[root, np.zeros((d, d))], [np.zeros((d, d - 1)), np.eye(d)]])
    noise = np.diag(np.sqrt(variance / n / p0))
    form = np.block([[np.eye(d), noise], [noise, noise @ noise]])
    printed = np.sort(np.linalg.eigvalsh(big.T @ form @ big))[-d:]
    found = goodness_of_fit.asymptotic_weights(p0, n, variance)
    np.testing.assert_allclose(found, printed, rtol=1e-8, atol=1e-10 * printed[-1])
    assert found.sum() == pytest.approx(d - 1 + variance / n * (1 / p0).sum(), rel=1e-10)  # E T


def test_p_values_decide_as_critical_values_do() -> None:
    for method in ("projected", "nonprojected", "asymptotic"):
        found = pt.gof(NOISY_B, S4, method=method, alpha=0.2)  # type: ignore[arg-type]
        assert found.reject == (found.statistic > found.critical_value)  # type: ignore[operator]
        assert found.reject == (found.p_value <= 0.2)  # type: ignore[operator]


def test_one_release_and_two_streams() -> None:
    counts = [5200, 1500, 1700, 1600]
    expected = pt.discrete_gaussian(0.1).release(np.array(counts), Seeded(5))
    for method in METHODS:
        found = pt.gof(counts, S4, rho=0.1, method=method, source=Seeded(5), rng=np.random.default_rng(6))
        assert np.array_equal(found.details["noisy_counts"], expected)
        assert found.cost == ZCDP(0.1)
    # the Monte Carlo stream changes the p-value's grid point, never the release
    others = [
        goodness_of_fit.monte_carlo_gof(counts, S4, rho=0.1, m=99, source=Seeded(5), rng=np.random.default_rng(s))
        for s in range(8)
    ]
    assert len({tuple(o.details["noisy_counts"]) for o in others}) == 1
    assert len({o.critical_value for o in others}) > 1


def test_default_methods() -> None:
    counts = [520, 150, 170, 160]
    assert pt.gof(counts, S4, rho=1).test == "projected GOF"
    assert pt.gof(counts, S4, epsilon=1).test == "MCGOF (projected)"
    assert pt.gof(counts, S4, noise=pt.laplace(1)).level == "exact"
    assert pt.gof(counts, S4, noise=pt.gaussian(1)).level == "asymptotic"
    assert pt.gof(pt.NoisyCounts(np.array(counts), 1000, pt.laplace(1)), S4).test == "MCGOF (projected)"
    assert pt.gof(counts, S4, epsilon=1).cost == PureDP(1.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"counts": [3, -1, 2, 1]},
        {"counts": [3, 1.5, 2, 1]},
        {"counts": [7], "p0": [1.0]},
        {"p0": [0.5, 0.4, 0.05, 0.04]},
        {"p0": [0.5, 0.5, 0, 0]},
        {"p0": [0.5, 0.5]},
        {"rho": 0},
        {"rho": -1},
        {"rho": float("inf")},
        {"rho": None},
        {"epsilon": 1},
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": float("nan")},
        {"n": 999},
        {"n": "unknown"},
        {"neighbours": "add-remove"},
    ],
    ids=lambda w: "-".join(f"{k}={v}" for k, v in w.items()),
)
def test_wrong_input_draws_nothing(method: Any, wrong: dict[str, Any]) -> None:
    given_: dict[str, Any] = {"counts": [520, 150, 170, 160], "p0": S4, "rho": 1} | wrong
    with pytest.raises(InvalidParameter):
        pt.gof(given_.pop("counts"), given_.pop("p0"), method=method, source=Untouchable(), **given_)


@pytest.mark.parametrize("method", ["projected", "nonprojected", "asymptotic"])
@pytest.mark.parametrize("noise", [pt.laplace(1), pt.discrete_laplace(1)])
def test_limits_refuse_laplace_noise(method: Any, noise: pt.NoiseLaw) -> None:
    with pytest.raises(InvalidParameter, match=r'\.079.*method="monte-carlo"'):
        pt.gof([520, 150, 170, 160], S4, noise=noise, method=method, source=Untouchable())


def test_nonprojected_refuses_a_lattice() -> None:
    with pytest.raises(InvalidParameter, match="variance at least 1"):
        pt.gof([520, 150, 170, 160], S4, rho=2, method="nonprojected", source=Untouchable())
    assert pt.gof([520, 150, 170, 160], S4, noise=pt.gaussian(2), method="nonprojected").p_value is not None
    assert pt.gof([520, 150, 170, 160], S4, rho=0.9, method="nonprojected").p_value is not None


def test_monte_carlo_needs_enough_replicates() -> None:
    with pytest.raises(InvalidParameter, match="at least 19"):
        pt.gof([520, 150, 170, 160], S4, rho=1, method="monte-carlo", m=18, source=Untouchable())
    assert "power" in goodness_of_fit.monte_carlo_gof([520, 150, 170, 160], S4, rho=1, m=19).warnings[0]
    assert goodness_of_fit.monte_carlo_gof([520, 150, 170, 160], S4, rho=1).warnings == ()


@pytest.mark.parametrize("method", ["projected", "nonprojected", "asymptotic"])
def test_three_records_are_null_and_spend_nothing(method: Any) -> None:
    found = pt.gof([1, 1, 1], [0.2, 0.4, 0.4], rho=0.1, method=method, source=Untouchable())
    assert found.inconclusive
    assert found.p_value is None
    assert found.reject is None
    assert found.decision == "inconclusive"
    assert found.cost == ZCDP(0.0)
    assert "0.6, below 1" in (found.null_returned or "")
    assert "inconclusive, so not rejected" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["null_returned"] == found.null_returned
    anyway = pt.gof([1, 1, 1], [0.2, 0.4, 0.4], rho=0.1, method=method, minimum_expected=0)
    assert 0 <= (anyway.p_value or 0) <= 1
    assert any("below 5" in warning for warning in anyway.warnings)


def test_three_records_are_exact_with_monte_carlo() -> None:
    for law in (pt.discrete_laplace(0.5), pt.laplace(0.5), pt.discrete_gaussian(1), pt.gaussian(1)):
        found = goodness_of_fit.monte_carlo_gof([1, 2, 0], [0.2, 0.4, 0.4], noise=law, m=99)
        assert found.level == "exact"
        assert 0 < (found.p_value or 0) <= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rho": 1, "alpha": 0.001}, "below .01"),
        ({"rho": 2}, "discrete and its variance"),
        ({"rho": 0.1, "p0": [0.992, 0.004, 0.004]}, "smallest expected count is 4"),
        ({"rho": 100, "p0": [0.992, 0.004, 0.004]}, "0.088"),
    ],
)
def test_the_result_says_where_its_level_is_known_to_fail(arguments: dict[str, Any], words: str) -> None:
    given_ = {"p0": [0.5, 0.25, 0.25]} | arguments
    for method in ("projected", "asymptotic"):
        found = pt.gof([500, 250, 250], given_["p0"], **{k: v for k, v in given_.items() if k != "p0"}, method=method)  # type: ignore[arg-type]
        assert any(words in warning for warning in found.warnings), found.warnings
    exact = pt.gof(
        [500, 250, 250],
        given_["p0"],
        **{k: v for k, v in given_.items() if k != "p0"},
        method="monte-carlo",
    )  # type: ignore[arg-type]
    assert exact.warnings == ()


def test_noisy_counts_bring_their_noise() -> None:
    for wrong in ({"rho": 1}, {"epsilon": 1}, {"noise": pt.gaussian(1)}, {"n": 999}):
        with pytest.raises(InvalidParameter, match="noisy counts"):
            pt.gof(NOISY_A, U4, **wrong)  # type: ignore[arg-type]
    released = pt.release([520, 150, 170, 160], rho=0.01)
    assert pt.gof(released, S4).cost == ZCDP(0.0)
    assert pt.gof(released, S4, method="monte-carlo", m=99).level == "exact"


def test_exact_counts_never_show() -> None:
    counts = [52163, 15219, 17541, 16377]
    for method in METHODS:
        # Seeded throughout: five digits are among the many of a simulated critical value once in a thousand runs.
        found = pt.gof(counts, S4, rho=1e-4, method=method, source=Seeded(9), rng=np.random.default_rng(9))
        text = str(found) + repr(found) + json.dumps(found.to_dict())
        assert not any(str(cell) in text for cell in counts)
        assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_p_values_are_never_nan_at_the_ends() -> None:
    cases = [([10**9, 0], [0.5, 0.5]), ([0, 10**15], [1e-9, 1 - 1e-9]), ([1, 1], [0.5, 0.5]), ([0, 5], [0.9, 0.1])]
    for counts, p0 in cases:
        for law in (
            pt.discrete_gaussian(1e-12),
            pt.gaussian(1e6),
            pt.discrete_gaussian(1e6),
            pt.discrete_gaussian(1.0),
        ):
            for method in METHODS:
                if method == "nonprojected" and not law.continuous and law.variance < 1:
                    continue
                found = pt.gof(counts, p0, noise=law, method=method, m=19)
                assert found.inconclusive or 0 <= (found.p_value or 0.0) <= 1


def test_two_cells_d_200_and_a_zero_statistic() -> None:
    assert 0 <= (pt.gof([60, 40], [0.5, 0.5], rho=1, method="asymptotic").p_value or 0) <= 1
    p0 = np.arange(1, 201) / np.arange(1, 201).sum()
    assert goodness_of_fit.asymptotic_gof(np.full(200, 500), p0, rho=1).reject is True
    zero = pt.NoisyCounts(np.array([25.0] * 4), 100, pt.discrete_gaussian(1))
    assert goodness_of_fit.asymptotic_gof(zero, U4).p_value == 1.0
    assert goodness_of_fit.monte_carlo_gof(zero, U4, m=19).p_value == 1.0


def test_classical_tests() -> None:
    assert classical.gof([240, 262, 238, 260], U4).cost is None
    assert classical.gof([900, 50, 25, 25], U4).reject is True
    empty = classical.independence([[0, 0], [30, 31]], minimum_count=0)
    assert empty.null_returned == "a row or a column is empty"
    assert classical.independence([[4, 6], [7, 8]]).inconclusive
    assert classical.independence([[4, 6], [7, 8]], minimum_count=4).p_value is not None
    with pytest.raises(InvalidParameter, match="at least two rows"):
        classical.independence([[4, 6]])


def test_batch_and_single_agree() -> None:
    rng = np.random.default_rng(11)
    noisy = pt.simulate_noisy(1000, S4, LAW, 40, rng)
    for method in ("projected", "nonprojected", "asymptotic"):
        many = pt.gof_batch(noisy, 1000, S4, LAW, method=method)  # type: ignore[arg-type]
        for i in range(40):
            one = pt.gof(pt.NoisyCounts(noisy[i], 1000, LAW), S4, method=method)  # type: ignore[arg-type]
            assert many.statistic[i] == pytest.approx(one.statistic, rel=1e-12)
            assert many.p_value is not None
            assert many.p_value[i] == pytest.approx(one.p_value, rel=1e-9)
            assert many.reject[i] == one.reject
    weights = goodness_of_fit.asymptotic_weights(S4, 1000, LAW.variance)
    assert pt.gof(NOISY_B, S4, method="asymptotic").p_value == pytest.approx(mixture_sf(27.03525, weights), rel=1e-12)
    with pytest.raises(InvalidParameter, match="shape"):
        pt.gof_batch(noisy[:, :3], 1000, S4, LAW)


def test_errata_of_the_uniform_formulas() -> None:
    """docs/errata/private-tests.md: (7.20) and the variance after it, printed and right."""
    d, rho = 4, 2.5
    ones = np.ones((d, d))
    inverse = np.linalg.inv(np.eye(d) / d - ones / d**2 + np.eye(d) / rho)
    printed = (rho / (rho + d)) * (d * np.eye(d) + rho**2 / (rho + d) * ones)
    right = (rho / (rho + d)) * (d * np.eye(d) + rho / d * ones)
    assert np.abs(inverse - printed).max() == pytest.approx(0.129, abs=5e-4)
    assert np.abs(inverse - right).max() < 1e-15
    weights = goodness_of_fit.asymptotic_weights([0.25] * d, 1, 1 / rho)  # n = 1: the ratio is 1/rho
    assert 2 * np.square(weights).sum() == pytest.approx(45.68, rel=1e-12)


def test_a_table_is_a_histogram_and_so_is_a_series() -> None:
    flat = pt.gof([520, 150, 170, 160], S4, rho=0.1, source=Seeded(3))
    table = pt.gof(pt.table([[520, 150], [170, 160]]), [[0.5, 1 / 6], [1 / 6, 1 / 6]], rho=0.1, source=Seeded(3))
    series = pt.gof(pd.Series([520, 150, 170, 160]), pd.Series(S4), rho=0.1, source=Seeded(3))
    records = ["a"] * 520 + ["b"] * 150 + ["c"] * 170 + ["d"] * 160
    tallied = pt.gof(pt.tally(records, ["a", "b", "c", "d"]), S4, rho=0.1, source=Seeded(3))
    assert flat.statistic == table.statistic == series.statistic == tallied.statistic
