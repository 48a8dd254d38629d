"""Tests of tables: the specification's numbers end to end, refusals, NULLs, costs, streams that never mix."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.accounting import ZCDP, PureDP
from holdfast.errors import InvalidParameter
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests import independence_tests
from holdfast.inference.private_tests.independence_tests import INDEPENDENCE_METHODS
from holdfast.inference.private_tests.null_models import two_step_mle
from holdfast.noise import Seeded

Y = pt.NoisyCounts(np.array([[260.3, 198.1], [305.6, 255.2]]), 1000, pt.gaussian(0.00125))
TABLE = [[300, 200], [150, 350]]


@pytest.mark.parametrize(
    ("method", "statistic", "p_value", "critical"),
    [
        ("asymptotic-printed", 0.9238889903, 0.9918572761, 33.81324732),  # TV-23
        ("asymptotic", 0.9238889903, 0.8848885317, 22.96346527),  # TV-24
        ("projected", 0.1280502401, 0.7204622444, 3.841458821),  # TV-28
        ("nonprojected", 0.2432502401, 0.8854802551, 5.991464547),
    ],
)
def test_vectors_end_to_end(method: Any, statistic: float, p_value: float, critical: float) -> None:
    found = pt.independence(Y, method=method)
    assert found.statistic == pytest.approx(statistic, rel=1e-8)
    assert found.p_value == pytest.approx(p_value, abs=1e-9)
    assert found.critical_value == pytest.approx(critical, rel=1e-8)
    assert found.reject is False
    assert found.cost == ZCDP(0.0)  # the release was paid before
    assert found.level == "asymptotic"


def test_vector_29_end_to_end() -> None:
    z = np.array([[352.7, 418.2], [391.5, 240.1], [270.8, 331.6]])
    noisy = pt.NoisyCounts(z, 2000, pt.gaussian(0.0025))
    assert pt.independence(noisy).p_value == pytest.approx(2.343215008e-05, rel=1e-8)
    assert pt.independence(noisy, method="nonprojected").p_value == pytest.approx(8.978256729e-05, rel=1e-8)


def test_critical_values_25_and_27() -> None:
    from holdfast.bounds.numerics.chi_square import mixture_quantile

    cases: list[tuple[Any, Any, int, int, Any, float]] = [
        ([0.5, 0.5], [2 / 3, 1 / 3], 2000, 800, "printed", 20.31982596),
        ([0.5, 0.5], [2 / 3, 1 / 3], 2000, 800, "corrected", 14.61419685),
        ([0.2, 0.3, 0.5], [0.6, 0.4], 5000, 100, "printed", 7.536169397),
        ([0.2, 0.3, 0.5], [0.6, 0.4], 5000, 100, "corrected", 7.097879614),
    ]
    for rows, columns, n, variance, kind, tau in cases:
        lam = independence_tests.weights(rows, columns, n, variance, kind)
        assert mixture_quantile(0.05, lam) == pytest.approx(tau, rel=1e-8)


def test_printed_weights_are_those_of_the_printed_block_matrix() -> None:
    """Eigenvalues of `B' LL B` with `B B' = blockdiag(Sigma_ind, I)`; Sigma_ind with the printed Jacobian."""
    a, b, n, variance = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.4]), 5000, 100.0
    p = np.outer(a, b).ravel()
    jacobian = np.zeros((6, 3))
    for i in range(3):
        for j in range(2):
            for k in range(2):
                jacobian[2 * i + j, k] = b[j] * ((i == k) - (i == 2))
            jacobian[2 * i + j, 2] = a[i] * ((j == 0) - (j == 1))
    g = jacobian / np.sqrt(p)[:, None]
    sigma = np.eye(6) - np.outer(np.sqrt(p), np.sqrt(p)) - g @ np.linalg.inv(g.T @ g) @ g.T
    np.testing.assert_allclose(independence_tests.residual_covariance(a, b), sigma, atol=1e-14)
    block = np.block([[sigma, np.zeros((6, 6))], [np.zeros((6, 6)), np.eye(6)]])
    scale = np.diag(1 / np.sqrt(p)) * math.sqrt(variance / n)
    whole = np.block([[np.eye(6), scale], [scale, scale @ scale]])
    found = np.sort(np.linalg.eigvals(whole @ block).real)[-6:]
    np.testing.assert_allclose(independence_tests.weights(a, b, n, variance, "printed"), found, rtol=1e-9)


def test_corrected_weights_are_the_delta_method() -> None:
    """The covariance of the residuals through the numerical Jacobian of the residual map at the null."""
    for r, c in ((2, 2), (3, 2), (3, 4)):
        rng = np.random.default_rng(r * c)
        a, b = rng.dirichlet(np.full(r, 8.0)), rng.dirichlet(np.full(c, 8.0))
        p, n, variance = np.outer(a, b), 1000, 300.0

        def residual(x: Any, shape: tuple[int, int] = (r, c), n: int = n) -> Any:
            table = n * x.reshape(shape)
            return (table - n * two_step_mle(table, n, minimum_count=1e-9).probabilities).ravel() / n

        step = 1e-6 * np.eye(r * c)
        k = np.stack([(residual(p.ravel() + e) - residual(p.ravel() - e)) / 2e-6 for e in step], -1)
        flat = p.ravel()
        covariance = np.diag(flat + variance / n) - np.outer(flat, flat)
        scale = np.diag(1 / np.sqrt(flat))
        expected = np.linalg.eigvalsh(scale @ k @ covariance @ k.T @ scale)
        keep = (r - 1) * (c - 1) + 1
        assert np.abs(expected[:-keep]).max() < 1e-7
        np.testing.assert_allclose(independence_tests.weights(a, b, n, variance), expected[-keep:], rtol=1e-6)


@pytest.mark.parametrize("method", INDEPENDENCE_METHODS)
def test_every_method_rejects_and_spends_what_it_says(method: Any) -> None:
    found = pt.independence(TABLE, rho=0.1, method=method, source=Seeded(1), rng=np.random.default_rng(1))
    assert found.reject is True
    assert found.cost == ZCDP(0.1)
    assert 0 < found.p_value <= 0.01  # type: ignore[operator]
    assert json.loads(json.dumps(found.to_dict()))["reject"] is True
    assert pickle.loads(pickle.dumps(found)).p_value == found.p_value
    assert method.split("-")[0] in found.test.lower() or "indep" in found.test.lower()
    again = pt.independence(TABLE, rho=0.1, method=method, source=Seeded(1), rng=np.random.default_rng(1))
    assert again.p_value == found.p_value


def test_laplace_noise_takes_monte_carlo_and_nothing_else() -> None:
    assert pt.independence(TABLE, epsilon=1).test == "MC projected independence"
    assert pt.independence(TABLE, epsilon=1).cost == PureDP(1.0)
    for method in ("projected", "nonprojected", "asymptotic", "asymptotic-printed"):
        with pytest.raises(InvalidParameter, match="Gaussian"):
            pt.independence(TABLE, epsilon=1, method=method)


WRONG: list[Any] = [
    [[3, -1], [4, 5]],
    [[3, 1.5], [4, 5]],
    [[3, float("nan")], [4, 5]],
    [[1, 2, 3]],
    [[1], [2]],
    [1, 2, 3, 4],
    [[0, 0], [0, 0]],
    [[1, 2], [3]],
    "table",
    None,
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_tables_are_refused(wrong: Any) -> None:
    for run in (
        pt.independence,
        pt.homogeneity,
        independence_tests.monte_carlo_independence,
        independence_tests.asymptotic_independence,
    ):
        with pytest.raises(InvalidParameter):
            run(wrong, rho=0.1)


def test_wrong_parameters_are_refused_before_anything_is_drawn() -> None:
    class Never(Seeded):
        def words(self, count: int) -> Any:
            raise AssertionError("noise was drawn")

    calls: list[dict[str, Any]] = [
        {"rho": 0},
        {"rho": -1},
        {},
        {"rho": 1, "epsilon": 1},
        {"rho": 0.1, "alpha": 0},
        {"rho": 0.1, "alpha": 1},
        {"rho": 0.1, "method": "best"},
        {"rho": 0.1, "method": "monte-carlo", "m": 5},
        {"rho": 0.1, "method": "monte-carlo", "on_null": "minus-infinity"},
        {"rho": 0.1, "method": "monte-carlo-projected", "rng": 7},
        {"rho": 0.1, "minimum": -1},
        {"rho": 0.1, "method": "asymptotic", "minimum": 0},
        {"rho": 0.1, "n": 999},
        {"rho": 0.1, "neighbours": "add-remove"},
        {"rho": 0.1, "public_margins": "both"},
        {"rho": 0.1, "unit": "swap"},
        {"rho": 4, "method": "nonprojected"},  # discrete noise of variance .25
    ]
    for call in calls:
        with pytest.raises(InvalidParameter):
            pt.independence(TABLE, source=Never(1), **call)
    with pytest.raises(InvalidParameter):
        pt.symmetry([[1, 2, 3], [4, 5, 6]], rho=1)
    with pytest.raises(InvalidParameter):
        pt.hardy_weinberg([10, 20], rho=1)
    with pytest.raises(InvalidParameter, match="sizes"):
        pt.homogeneity(pt.NoisyCounts(np.full((2, 2), 250.0), 1000, pt.gaussian(0.1)))


def test_both_margins_public_protects_a_swap_with_twice_the_variance() -> None:
    found = pt.independence(TABLE, rho=0.1, public_margins="both", unit="swap")
    assert found.details["noise"].variance == pytest.approx(20, rel=1e-9)
    assert pt.independence(TABLE, rho=0.1, public_margins="rows").details["noise"].variance == pytest.approx(10)


@pytest.mark.parametrize("method", INDEPENDENCE_METHODS)
def test_an_empty_row_and_three_records_are_null_and_paid_for(method: Any) -> None:
    for table in ([[500, 500], [0, 0]], [[2, 0], [0, 1]]):
        found = pt.independence(table, rho=1, method=method, source=Seeded(3))
        assert found.inconclusive
        assert found.p_value is None
        assert found.reject is None
        assert found.cost == ZCDP(1.0)
        assert "spent" in str(found.null_returned)
        assert "inconclusive" in str(found)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.lists(st.floats(-300, 3000), min_size=3, max_size=3), min_size=2, max_size=2),
    st.sampled_from(INDEPENDENCE_METHODS),
    st.sampled_from([0.0, 1e-6, 5.0]),
)
def test_never_a_nan(values: list[list[float]], method: Any, minimum: float) -> None:
    noisy = pt.NoisyCounts(np.array(values), 2000, pt.gaussian(0.01))
    if method.startswith("asymptotic"):
        minimum = max(minimum, 1e-6)
    found = pt.independence(noisy, method=method, minimum=minimum, m=39, rng=np.random.default_rng(1))
    if found.inconclusive:
        assert found.p_value is None
    else:
        assert 0 <= found.p_value <= 1  # type: ignore[operator]
        assert math.isfinite(found.statistic)  # type: ignore[arg-type]
        assert found.statistic >= 0  # type: ignore[operator]


def test_warnings_name_the_settings_where_levels_fail() -> None:
    assert pt.independence(TABLE, rho=0.1).warnings == ()
    assert any("alpha" in w for w in pt.independence(TABLE, rho=0.1, alpha=0.001).warnings)
    assert any("minimum" in w for w in pt.independence(TABLE, rho=0.1, minimum=1).warnings)
    assert any("printed" in w for w in pt.independence(TABLE, rho=0.1, method="asymptotic-printed").warnings)
    assert any("m = 59" in w for w in pt.independence(TABLE, epsilon=1, m=59).warnings)


def test_resampling_never_touches_the_stream_of_the_release() -> None:
    """Another generator for replicates leaves the released counts alone, and the other way round."""
    counts = [
        pt.independence(TABLE, epsilon=1, source=Seeded(5), rng=np.random.default_rng(seed)).details["noisy_counts"]
        for seed in (1, 2)
    ]
    np.testing.assert_array_equal(*counts)
    rng = np.random.default_rng(9)
    before = rng.bit_generator.state
    pt.independence(TABLE, rho=0.1, rng=rng)
    assert rng.bit_generator.state == before


def test_one_test_and_a_batch_agree() -> None:
    law, rng = pt.gaussian(0.00125), np.random.default_rng(11)
    noisy = pt.simulate_tables(2000, np.outer([0.4, 0.6], [0.2, 0.3, 0.5]), law, 30, rng)
    for method in ("projected", "nonprojected", "asymptotic", "asymptotic-printed"):
        batch = pt.independence_batch(noisy, 2000, law, method=method)
        for i in range(30):
            one = pt.independence(pt.NoisyCounts(noisy[i], 2000, law), method=method)
            assert one.inconclusive == (not batch.conclusive[i])
            if not one.inconclusive:
                assert one.p_value == pytest.approx(batch.p_value[i], rel=1e-8)
    # Bootstrap p-values: the same distribution, so means of many agree; m = 999 has s.d. at most .016 in one.
    for method in ("monte-carlo", "monte-carlo-projected"):
        batch = pt.independence_batch(noisy[:6], 2000, law, method=method, rng=rng)  # type: ignore[arg-type]
        for i in np.flatnonzero(batch.conclusive[:6]).tolist():
            one = pt.independence(pt.NoisyCounts(noisy[i], 2000, law), method=method, rng=rng)  # type: ignore[arg-type]
            assert abs(one.p_value - batch.p_value[i]) < 0.13  # six standard errors


def test_what_an_inconclusive_resample_does() -> None:
    near = pt.NoisyCounts(np.array([[60.0, 40.0], [55.0, 45.0]]), 200, pt.gaussian(1 / 900))
    failed = independence_tests.monte_carlo_independence(near, on_null="fail", rng=np.random.default_rng(1))
    assert failed.inconclusive
    redrawn = independence_tests.monte_carlo_independence(near, rng=np.random.default_rng(1))
    assert not redrawn.inconclusive
    assert redrawn.details["drawn"] - redrawn.details["inconclusive"] >= 999
    skipped = independence_tests.monte_carlo_independence(near, on_null="skip", rng=np.random.default_rng(1))
    assert any("left out" in w for w in skipped.warnings)


def test_homogeneity_uses_public_sizes_and_symmetry_its_pairs() -> None:
    table = [[250, 167], [125, 167], [125, 166]]
    by_column = pt.homogeneity(table, rho=0.5, source=Seeded(2))
    by_row = pt.homogeneity(np.transpose(table), groups="rows", rho=0.5, source=Seeded(2))
    assert by_column.p_value == by_row.p_value
    np.testing.assert_array_equal(by_column.details["noisy_counts"], by_row.details["noisy_counts"].T)
    assert by_column.details["fitted"].shape == (3, 2)
    with pytest.raises(InvalidParameter, match="n must"):
        pt.hardy_weinberg(pt.NoisyCounts(np.array([9.0, 9.0, 9.0]), 30, pt.gaussian(1)), n=40)
    assert by_column.details["degrees"] == 2
    noisy = pt.NoisyCounts(np.array(table) + 0.5, 1000, pt.gaussian(0.5))
    assert pt.homogeneity(noisy, sizes=[500, 500]).reject
    with pytest.raises(InvalidParameter, match="sizes"):
        pt.homogeneity(noisy, sizes=[500, 400])
    with pytest.raises(InvalidParameter, match="sizes"):
        pt.homogeneity(table, sizes=[400, 600], rho=0.5)
    with pytest.raises(InvalidParameter, match="group"):
        pt.homogeneity([[3, 0], [4, 0]], rho=0.5)
    assert pt.symmetry([[400, 200], [200, 200]], rho=0.5, source=Seeded(1)).details["degrees"] == 1
    assert pt.hardy_weinberg([250, 500, 250], epsilon=1, m=99).level == "empirical"


def test_noise_that_rounds_to_nothing_leaves_pearsons_test() -> None:
    """Discrete noise at rho = 1e6 is zero and so is its variance; the statistics must not divide by it."""
    classical = pt.classical.independence(TABLE).p_value
    for method in ("projected", "asymptotic", "asymptotic-printed"):
        assert pt.independence(TABLE, rho=10**6, method=method).p_value == pytest.approx(classical, rel=1e-9)
    assert pt.independence(TABLE, epsilon=10**4, m=99).p_value == 0.01


def test_counts_of_a_billion() -> None:
    table = [[10**9, 10**9], [10**9, 10**9 + 10**6]]
    exact = pt.classical.independence(table)
    found = pt.independence(table, rho=10**6)
    assert found.statistic == pytest.approx(exact.statistic, rel=1e-6)


def test_what_is_shown_has_the_shape_of_the_table() -> None:
    for method in INDEPENDENCE_METHODS:
        found = pt.independence(TABLE, rho=0.1, method=method, m=39)
        assert found.details["noisy_counts"].shape == (2, 2)
    assert pt.symmetry(TABLE, rho=0.1).details["fitted"].shape == (2, 2)
    assert pt.hardy_weinberg([250, 500, 250], rho=0.1).details["fitted"].shape == (3,)


def test_a_given_law_with_public_small_counts_is_refused_before_the_release() -> None:
    with pytest.raises(InvalidParameter, match="gof"):
        pt.minimum_chi_square([3, 4, 5], pt.Simple([0.2, 0.3, 0.5]), rho=1)
    assert pt.mc_minimum_chi_square([3, 4, 5], pt.Simple([0.2, 0.3, 0.5]), rho=1, m=39).level == "exact"


def test_a_users_model_without_an_estimate_is_null() -> None:
    def start(h: Any) -> Any:
        return [h[0] / h.sum() if h.min() > 0 else math.nan]

    model = pt.UserModel(lambda t: [t[0], (1 - t[0]) / 2, (1 - t[0]) / 2], start, cells=3, parameters=1, bounds=(0, 1))
    assert pt.minimum_chi_square([500, 250, 250], model, rho=1).p_value is not None
    noisy = pt.NoisyCounts(np.array([500.0, 510.0, -10.0]), 1000, pt.gaussian(0.01))
    assert pt.minimum_chi_square(noisy, model).inconclusive
