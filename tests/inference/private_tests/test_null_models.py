"""Null models and their weighted fit: derivatives, the minimum against general minimisers, the boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.goodness_of_fit import nonprojected_statistic, projected_statistic
from holdfast.inference.private_tests.minimum_chi_square import UserModel, degrees_of_freedom, fit_model
from holdfast.inference.private_tests.null_models import (
    HardyWeinberg,
    Homogeneity,
    Independence,
    NullModel,
    Simple,
    Symmetry,
)

MODELS = [Independence(2, 2), Independence(3, 4), Homogeneity(3, 4), HardyWeinberg(2), HardyWeinberg(3), Symmetry(3)]


def dense(x: NDArray[np.float64], p: Any, sizes: Any, variance: float, first: Any, projected: bool = True) -> float:
    """The statistic of Algorithm 15 with dense inverses, group by group."""
    value = 0.0
    for h, q, n, q1 in zip(x, p, sizes, first, strict=True):
        d = h.size
        inverse = np.linalg.inv(np.diag(q1) - np.outer(q1, q1) + variance / n * np.eye(d))
        centre = np.eye(d) - 1 / d if projected else np.eye(d)
        v = centre @ (h - n * q) / np.sqrt(n)
        value += float(v @ inverse @ v)
    return value


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_derivatives_starts_and_sums(model: NullModel) -> None:
    rng = np.random.default_rng(1)
    theta = model.project(rng.random((7, model.coordinates)))
    p = model.probabilities(theta)
    assert p.shape == (7, model.groups, model.cells)
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(model.start(1000 * p), theta, rtol=1e-10)
    step = 1e-6 * np.eye(model.coordinates)
    numeric = np.stack([(model.probabilities(theta + e) - model.probabilities(theta - e)) / 2e-6 for e in step], -1)
    np.testing.assert_allclose(model.jacobian(theta), numeric, atol=1e-8)
    assert np.linalg.matrix_rank(model.jacobian(theta)[0].reshape(-1, model.coordinates) @ model.tangent) == (
        model.parameters
    )


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_fit_is_the_minimum_that_a_general_minimiser_finds(model: NullModel) -> None:
    """Softmax coordinates, BFGS from the fit and from three other points; the dense statistic."""
    rng = np.random.default_rng(2)
    sizes = np.arange(1, model.groups + 1) * 1500.0
    theta = np.concatenate([rng.dirichlet(np.full(length, 20.0)) for length in model.simplices])
    h = np.array([rng.multinomial(int(n), q) for n, q in zip(sizes, model.probabilities(theta), strict=True)])
    noisy = h + rng.normal(0, 20, h.shape)
    found = fit_model(noisy, model, sizes=sizes, variance=400.0)
    first = model.probabilities(model.start(noisy))

    def objective(u: NDArray[np.float64]) -> float:
        parts, row = [], 0
        for length in model.simplices:
            e = np.exp(u[row : row + length] - u[row : row + length].max())
            parts.append(e / e.sum())
            row += length
        return dense(noisy, model.probabilities(np.concatenate(parts)), sizes, 400.0, first)

    starts = [np.log(found.theta), *rng.normal(0, 0.5, (3, model.coordinates))]
    best = min(optimize.minimize(objective, s, method="BFGS", options={"gtol": 1e-9}).fun for s in starts)
    assert found.projected == pytest.approx(best, rel=1e-8)
    assert dense(noisy, found.probabilities, sizes, 400.0, first) == pytest.approx(found.projected, rel=1e-9)
    full = dense(noisy, found.probabilities, sizes, 400.0, first, projected=False)
    assert full == pytest.approx(found.nonprojected, rel=1e-9)


def test_a_batch_is_its_tables_one_by_one() -> None:
    rng = np.random.default_rng(3)
    noisy = rng.multinomial(900, np.full(6, 1 / 6), size=50) + rng.normal(0, 15, (50, 6))
    model = Independence(2, 3)
    batch = fit_model(noisy[:, None, :], model, n=900, variance=225.0)
    for i in range(50):
        one = fit_model(noisy[i], model, n=900, variance=225.0)
        assert one.projected == pytest.approx(batch.projected[i], rel=1e-10)


def test_on_the_boundary_the_fit_is_the_constrained_minimum() -> None:
    """Tables whose unconstrained fit leaves the simplex, against SLSQP with the constraints."""
    rng = np.random.default_rng(4)
    model, checked = Independence(3, 3), 0
    noisy = rng.multinomial(60, np.full(9, 1 / 9), size=4000) + rng.normal(0, 12, (4000, 9))
    batch = fit_model(noisy[:, None, :], model, n=60, variance=144.0, minimum_expected=0)
    assert (batch.theta[batch.conclusive] >= -1e-12).all()
    np.testing.assert_allclose(batch.theta[batch.conclusive][:, :3].sum(axis=1), 1, rtol=1e-9)
    edge = np.flatnonzero(batch.conclusive & (batch.theta.min(axis=1) < 1e-9))
    for i in edge[:25]:
        first = model.probabilities(model.start(noisy[i][None, :]))

        def objective(t: NDArray[np.float64], i: int = i, first: Any = first) -> float:
            return dense(noisy[i][None, :], model.probabilities(t), [60.0], 144.0, first)

        sums = optimize.LinearConstraint(np.kron(np.eye(2), np.ones(3)), 1.0, 1.0)
        peer = optimize.minimize(
            objective,
            model.project(model.start(noisy[i][None, :])),
            method="SLSQP",
            bounds=[(0, 1)] * 6,
            constraints=sums,
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert batch.projected[i] <= peer.fun * (1 + 1e-6) + 1e-9
        checked += 1
    assert checked == 25


def test_a_simple_null_is_the_goodness_of_fit_statistic() -> None:
    p0 = np.array([0.5, 1 / 6, 1 / 6, 1 / 6])
    noisy = np.array([533.5, 122.75, 211.0, 151.25])
    found = fit_model(noisy, Simple(p0), n=1000, variance=800.0)
    assert found.projected == pytest.approx(projected_statistic(noisy, 1000, p0, 800.0), rel=1e-12)
    assert found.nonprojected == pytest.approx(nonprojected_statistic(noisy, 1000, p0, 800.0), rel=1e-10)


def test_a_simple_null_has_nothing_to_fit() -> None:
    model = Simple([0.5, 0.25, 0.25])
    theta = model.start(np.ones((7, 1, 3)))
    assert theta.shape == (7, 0)
    assert model.project(theta).shape == (7, 0)
    assert model.jacobian(theta).shape == (7, 1, 3, 0)
    np.testing.assert_array_equal(model.probabilities(theta), np.tile([0.5, 0.25, 0.25], (7, 1, 1)))


def test_degrees_of_freedom() -> None:
    expected = [(1, 2), (6, 7), (6, 9), (1, 2), (3, 4), (3, 4)]
    for model, pair in zip(MODELS, expected, strict=True):
        assert (degrees_of_freedom(model), degrees_of_freedom(model, projected=False)) == pair


@pytest.mark.parametrize("analytic", [True, False])
def test_a_users_independence_is_ours(analytic: bool) -> None:
    def law(t: Any) -> Any:
        return np.outer([t[0], 1 - t[0]], [t[1], 1 - t[1]]).ravel()

    def slope(t: Any) -> Any:
        a, b = t
        return np.array([[b, a], [1 - b, -a], [-b, 1 - a], [b - 1, a - 1]])

    user = UserModel(
        law,
        lambda h: [(h[0] + h[1]) / h.sum(), (h[0] + h[2]) / h.sum()],
        cells=4,
        parameters=2,
        bounds=(0, 1),
        jacobian=slope if analytic else None,
        more_starts=[[0.3, 0.3]],
    )
    noisy = [260.3, 198.1, 305.6, 255.2]
    mine = fit_model(noisy, Independence(2, 2), n=1000, variance=800.0)
    theirs = fit_model(noisy, user, n=1000, variance=800.0)
    assert theirs.projected == pytest.approx(mine.projected, rel=1e-9)
    np.testing.assert_allclose(theirs.theta, mine.theta[[0, 2]], rtol=1e-6)
    assert not fit_model([-50.0, 3.0, 4.0, 2.0], user, n=1000, variance=800.0).conclusive
    many = fit_model(np.array([[[noisy]], [[[-50.0, 3.0, 4.0, 2.0]]]]), user, n=1000, variance=800.0)
    assert many.theta.shape == (2, 1, 2)
    np.testing.assert_array_equal(many.conclusive, [[True], [False]])
    np.testing.assert_array_equal(many.projected, [[theirs.projected], [np.nan]])
    np.testing.assert_array_equal(many.probabilities[0, 0], theirs.probabilities)


def test_users_models_that_cannot_work_are_refused_before_any_release() -> None:
    def start(h: Any) -> Any:
        return [h[0] / h.sum()]

    good: dict[str, Any] = {"start": start, "cells": 4, "parameters": 1}
    for wrong in (
        {"probabilities": lambda t: [t[0], 0.1, 0.1, 0.1]},  # does not sum to one
        {"probabilities": lambda t: [t[0], 1 - t[0]]},
        {"probabilities": lambda t: [0.25] * 4, "start": lambda h: [0.1, 0.2]},
        {"probabilities": lambda t: [0.25] * 4, "parameters": 3},
        {"probabilities": lambda t: [0.25] * 4, "bounds": (1, 0)},
        {"probabilities": lambda t: [0.25] * 4, "jacobian": lambda t: np.zeros((3, 1))},
    ):
        with pytest.raises(InvalidParameter):
            UserModel(**(good | wrong))
