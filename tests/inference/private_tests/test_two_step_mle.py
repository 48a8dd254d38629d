"""The two-step estimate: a projection whatever gamma is, a shortcut that loses nothing, NULL where the rule says so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.null_models import (
    independence_statistic,
    simplex_projection,
    two_step_mle,
)

vectors = st.lists(st.floats(-500, 1500), min_size=2, max_size=9)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(vectors, st.floats(1, 2000))
def test_projection_is_in_the_simplex_and_stays(values: list[float], total: float) -> None:
    found = simplex_projection(values, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, rel=1e-9)
    np.testing.assert_allclose(simplex_projection(found, total), found, atol=1e-9 * total)
    # Every positive cell moved by the same amount, and no clipped cell should have stayed positive.
    shift = (np.array(values) - found)[found > 0]
    assert np.ptp(shift) < 1e-8 * (total + 1500)
    assert (np.array(values)[found == 0] <= shift.mean() + 1e-8 * (total + 1500)).all()


def test_no_feasible_step_improves_the_printed_objective_for_any_gamma() -> None:
    rng = np.random.default_rng(1)

    def objective(h: NDArray[np.float64], y: NDArray[np.float64], gamma: float) -> float:
        return float((1 - gamma) * np.abs(y - h).sum() + gamma * np.square(y - h).sum())

    for _ in range(300):
        y = rng.normal(100, 120, 6)
        gamma = float(10 ** rng.uniform(-4, 0))
        best = simplex_projection(y, 600.0)
        value = objective(best, y, gamma)
        for _ in range(20):
            other = simplex_projection(best + rng.normal(0, 10 ** rng.uniform(-3, 1.5), 6), 600.0)
            assert objective(other, y, gamma) >= value * (1 - 1e-12)


def test_the_shortcut_without_projection_gives_the_projected_margins() -> None:
    rng = np.random.default_rng(2)
    tables = rng.normal(40, 40, (5000, 3, 2))
    short = two_step_mle(tables, 240)
    clean = simplex_projection(tables.reshape(-1, 6), 240.0).reshape(tables.shape)
    np.testing.assert_array_equal(short.conclusive, clean.min(axis=(1, 2)) >= 5)
    assert 0.05 < short.conclusive.mean() < 0.95
    good = short.conclusive
    np.testing.assert_allclose(short.rows[good], clean[good].sum(axis=2) / 240, rtol=1e-12)
    np.testing.assert_allclose(short.columns[good], clean[good].sum(axis=1) / 240, rtol=1e-12)


def test_without_a_minimum_only_an_empty_margin_is_null() -> None:
    assert two_step_mle([[612.4, -35.2], [180.9, 301.7]], 1000, minimum_count=0).conclusive
    assert not two_step_mle([[500.0, 500.0], [-80.0, -90.0]], 1000, minimum_count=0).conclusive
    assert np.isnan(independence_statistic([[500.0, 500.0], [-80.0, -90.0]], 1000, minimum_count=0))


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (6, 5)])
def test_a_batch_has_the_statistics_of_its_tables(shape: tuple[int, int]) -> None:
    rng, n = np.random.default_rng(4), 60 * shape[0] * shape[1]
    tables = rng.integers(0 if shape == (2, 2) else 20, 120, (500, *shape)).astype(float)
    tables[:3, 0, 0] = -40  # inconclusive
    many = independence_statistic(tables, n)
    one = np.array([independence_statistic(table, n) for table in tables])
    assert np.isnan(many[:3]).all()
    assert not np.isnan(many).all()
    np.testing.assert_allclose(many, one, rtol=1e-12, atol=1e-12)
    # the same table has the same statistic to the last bit, whatever lies next to it: ties count in a p-value
    pairs = np.array([independence_statistic(np.stack([table, table]), n)[0] for table in tables])
    np.testing.assert_array_equal(many, pairs)
    for wrong in (tables[:, :1], tables[:, :, :1]):
        with pytest.raises(InvalidParameter, match="2 by 2"):
            independence_statistic(wrong, n)


def test_noisy_tables_must_be_tables() -> None:
    for wrong in ([1.0, 2.0], [[1.0, 2.0]]):
        with pytest.raises(InvalidParameter, match="2 by 2"):
            two_step_mle(wrong, 10)
