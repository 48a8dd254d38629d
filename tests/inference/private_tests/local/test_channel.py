"""Sums drawn at once have the distribution of people who answer one by one, and debiasing undoes every randomizer
exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import local
from holdfast.inference.private_tests.local.channel import MultinomialChannel, channel_of
from holdfast.mechanisms.local import BitFlip, LocalLaplace, OneHotGaussian, OneHotLaplace, RandomizedResponse
from holdfast.noise import Seeded

P = np.array([0.5, 0.3, 0.15, 0.05])
Z = 5.3  # of a standard normal, beyond with probability 1.2e-7: sixteen entries stay below 2e-6 together


def randomizers(d: int, epsilon: float) -> list[Any]:
    return [
        RandomizedResponse(d, epsilon),
        BitFlip(d, epsilon),
        OneHotLaplace(d, epsilon),
        OneHotGaussian(d, epsilon**2 / 2),
    ]


def agrees(sums: np.ndarray, randomizer: Any, n: int, p: np.ndarray) -> bool:
    """Mean and covariance of debiased sums against theory, at about 1e-6."""
    channel = channel_of(randomizer)
    x = channel.debiased(sums, n) / math.sqrt(n)
    size, covariance = len(x), channel.covariance(p)
    deviation = np.sqrt(np.diag(covariance))
    mean_fits = np.abs(x.mean(axis=0) - math.sqrt(n) * p) <= Z * deviation / math.sqrt(size)
    # The variance of a product of two near-normal variables is at most the product of variances plus the square.
    spread = np.sqrt((np.outer(deviation, deviation) ** 2 + covariance**2) / size)
    covariance_fits = np.abs(np.cov(x.T) - covariance) <= 1.05 * Z * spread
    return bool(mean_fits.all() and covariance_fits.all())


@pytest.mark.parametrize("randomizer", randomizers(4, 1.5), ids=lambda r: type(r).__name__)
def test_sums_have_the_law_of_people(randomizer: Any) -> None:
    n, collections = 400, 1500
    rng = np.random.default_rng(1)
    people = rng.choice(4, size=n * collections, p=P)
    answers = randomizer.release(people, Seeded(2))
    if answers.ndim == 1:
        answers = np.eye(4)[answers]
    one_by_one = answers.reshape(collections, n, 4).sum(axis=1)
    at_once = local.simulate_sums(n, P, randomizer, 20_000, rng)
    assert agrees(one_by_one, randomizer, n, P)
    assert agrees(at_once, randomizer, n, P)
    # Wrong on purpose: the right distribution at another p, and noise of the right mean with nine tenths of the spread.
    assert not agrees(local.simulate_sums(n, [0.48, 0.32, 0.15, 0.05], randomizer, 20_000, rng), randomizer, n, P)
    shrunk = at_once.mean(axis=0) + 0.9 * (at_once - at_once.mean(axis=0))
    assert not agrees(shrunk, randomizer, n, P)


def test_one_law_a_draw() -> None:
    laws = np.repeat([[0.9, 0.1], [0.1, 0.9]], 2000, axis=0)
    for randomizer in randomizers(2, 4.0):
        channel = channel_of(randomizer)
        shares = channel.debiased(channel.draw(np.random.default_rng(1), 100, laws, 4000), 100) / 100
        assert shares[:2000].mean(axis=0) == pytest.approx([0.9, 0.1], abs=0.02)
        assert shares[2000:].mean(axis=0) == pytest.approx([0.1, 0.9], abs=0.02)


@given(
    d=st.integers(2, 12),
    epsilon=st.floats(1e-6, 30),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_debiasing_is_exact(d: int, epsilon: float, seed: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(d))
    for randomizer in (RandomizedResponse(d, epsilon), BitFlip(d, epsilon)):
        channel: Any = channel_of(randomizer)
        expected = channel.lie + channel.contrast * p
        assert channel.debiased(1000 * expected, 1000) == pytest.approx(1000 * p, rel=1e-9, abs=1e-9 / epsilon)
        if isinstance(channel, MultinomialChannel):
            assert expected.sum() == pytest.approx(1, rel=1e-12)
            assert expected * (math.exp(epsilon) + d - 1) == pytest.approx(math.exp(epsilon) * p + 1 - p, rel=1e-9)
    noisy = OneHotGaussian(d, 0.5)
    assert channel_of(noisy).debiased(p, 1) == pytest.approx(p)


@pytest.mark.parametrize("randomizer", randomizers(5, 1.0), ids=lambda r: type(r).__name__)
def test_the_quadratic_form_inverts_the_covariance(randomizer: Any) -> None:
    channel = channel_of(randomizer)
    p = np.array([0.4, 0.25, 0.2, 0.1, 0.05])
    delta = np.array([0.03, -0.01, 0.02, -0.02, -0.02])
    centre = np.eye(5) - 0.2
    dense = float(delta @ np.linalg.pinv(centre @ channel.covariance(p) @ centre) @ delta)
    assert channel.information(p, delta) == pytest.approx(dense, rel=1e-9)
    assert np.square(channel.root(p) @ delta).sum() == pytest.approx(dense, rel=1e-9)
    # The statistic is the same form: n people whose debiased proportions are p + delta.
    n = 1000
    shown: Any = channel.lie + channel.contrast * (p + delta)  # type: ignore[attr-defined]
    assert channel.statistic(n * shown, n, p) == pytest.approx(n * dense, rel=1e-9)


def test_at_little_privacy_and_at_much() -> None:
    p0, p1 = np.full(4, 0.25), np.array([0.26, 0.24, 0.24, 0.26])
    classical = np.square(p1 - p0).sum() / 0.25
    for randomizer in randomizers(4, 60.0):
        assert local.noncentrality(randomizer, p0, p1) == pytest.approx(classical, rel=0.01)
    for epsilon in (1e-3, 1e-5):
        square = np.square(p1 - p0).sum()
        vote, flips, laplace, gauss = (local.noncentrality(r, p0, p1) for r in randomizers(4, epsilon))
        # epsilon^2/d, epsilon^2/4, epsilon^2/8 and epsilon^2/2 of the squared distance, as epsilon tends to 0
        limits = np.array([1 / 4, 1 / 4, 1 / 8, 1 / 2]) * epsilon**2 * square
        assert [vote, flips, laplace, gauss] == pytest.approx(limits, rel=2e-3)
    for randomizer in randomizers(4, 1e-3):
        assert local.power(randomizer, p0, p1, 1000).power == pytest.approx(0.05, abs=1e-4)
        sums = local.simulate_sums(1000, p0, randomizer, 4000, np.random.default_rng(5))
        assert np.isfinite(local.channel_of(randomizer).statistic(sums, 1000, p0)).all()


def test_wrong_randomizers() -> None:
    with pytest.raises(InvalidParameter, match="randomizer must be"):
        channel_of(LocalLaplace(0, 1, 1))
    with pytest.raises(InvalidParameter, match="needs epsilon"):
        local.make_randomizer("bit-flip", 4, rho=1)
    with pytest.raises(InvalidParameter, match="needs rho"):
        local.make_randomizer("gaussian", 4)
    with pytest.raises(InvalidParameter, match="kind"):
        local.make_randomizer("hadamard", 4, epsilon=1)
    assert local.make_randomizer("laplace", 4, epsilon=1) == OneHotLaplace(4, 1)
    assert local.make_randomizer("gaussian", 4, rho=1) == OneHotGaussian(4, 1)
    assert local.make_randomizer("randomized-response", 4, epsilon=1) == RandomizedResponse(4, 1)
