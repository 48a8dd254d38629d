"""Theorem A on cases small enough to compute: an adaptive analyst who plays the best second question, by quadrature.

Rows are coins of known bias. The first question is "the row"; the second is any multiple of it, chosen for each first
answer so that the probability of a violation is largest. The distribution of the number of ones given the first answer
is exact.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import binom

from holdfast.bounds import interval
from holdfast.bounds.interval.posterior_shift import shift_bound

FACTORS = (0.03, 0.3, 1.0, 3.0, 30.0)


def violation(n: int, p: float, sigma: float, tau: float) -> float:
    """Exact probability that one of two answers is off by more than `tau`, for the worst second question."""
    ones = np.arange(n + 1)
    prior = binom.pmf(ones, n, p)
    answers = np.linspace(-9 * sigma, 1 + 9 * sigma, 6001)
    joint = np.exp(-0.5 * ((answers[:, None] - ones / n) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)) * prior
    density = joint.sum(axis=1)
    first = np.abs(answers - p) > tau
    worst = np.zeros_like(answers)
    for weight in (0.0, 0.25, 0.5, 0.75, 1.0):
        off = weight * (ones / n - p)
        outside = ndtr((-tau - off) / sigma) + ndtr((off - tau) / sigma)
        worst = np.maximum(worst, joint @ outside)
    return float(np.trapezoid(np.where(first, density, worst), answers))


@pytest.mark.parametrize("beta", [0.5, 0.2, 0.05, 0.01])
def test_two_adaptive_questions(beta: float) -> None:
    ratios = []
    for n in (1, 2, 3, 10):
        best = interval.posterior_shift(n, 2, beta).sigma
        for factor in FACTORS:
            tau = interval.posterior_shift(n, 2, beta, sigma=factor * best).half_width
            ratios += [violation(n, p, factor * best, tau) / beta for p in (0.5, 0.2, 0.02)]
    assert max(ratios) <= 1.0
    assert max(ratios) > 0.3  # the noise alone makes a third of it


def test_the_computation_has_power() -> None:
    """Without the shift term, noise too small for its width is refuted."""
    n, beta = 1, 0.05
    sigma = interval.posterior_shift(n, 2, beta).sigma / 30
    only_noise = interval.posterior_shift(n, 2, beta, sigma=sigma).tuning["omega"] * sigma
    assert violation(n, 0.5, sigma, only_noise) > beta


# A statistic that is not a mean, asked once: the exact shortfall of its shift against n c kappa sqrt(V). The rows are
# fair coins, so that a statistic is a table of 2**n numbers.


def _shift_ratio(table: np.ndarray, sensitivity: float, sigma: float, beta: float) -> float:
    n = int(np.log2(table.size))
    a = np.linspace(table.min() - 9 * sigma, table.max() + 9 * sigma, 20_001)
    weight = np.exp(-0.5 * ((a[:, None] - table) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi)) / table.size
    density = weight.sum(axis=1)
    # any statistic of the same sensitivity may be asked about afterwards; take the one that was asked
    shift = np.abs(weight @ table / density - table.mean())
    order = np.argsort(-shift)
    mass = density[order] * (a[1] - a[0])
    taken = np.minimum(np.maximum(beta - (np.cumsum(mass) - mass), 0), mass)
    shortfall = float(np.sum(taken * shift[order]) / beta)
    return shortfall / (n * sensitivity * shift_bound((sensitivity / (4 * sigma)) ** 2, beta))


def _statistics(n: int) -> list[np.ndarray]:
    rows = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    parity = rows.sum(axis=1) % 2
    return [parity.astype(float), rows.max(axis=1).astype(float), (rows.sum(axis=1) > n / 2).astype(float)]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_statistics_that_are_not_means(n: int) -> None:
    ratios = [
        _shift_ratio(table, 1.0, sigma, beta)
        for table in _statistics(n)
        for sigma in (0.1, 0.5, 2.0, 20.0)
        for beta in (0.5, 0.05, 0.001)
    ]
    assert max(ratios) <= 1.0
    if n == 1:  # one row is where the bound is nearly attained
        assert max(ratios) > 0.95


def test_low_sensitivity_is_a_multiple_of_the_mean() -> None:
    mean = interval.scheduled(5000, 30, 0.05)
    found = interval.low_sensitivity(5000, 30, 0.05, 4e-4)
    assert found.half_width == pytest.approx(2 * mean.half_width, rel=1e-12)
    assert mean.schedule is not None
    assert found.schedule is not None
    np.testing.assert_allclose(found.schedule.sigmas(), 2 * mean.schedule.sigmas(), rtol=1e-12)


def test_low_sensitivity_beats_the_published_routes() -> None:
    """The same Gaussian noise through max-information, for one release: what the library offered before."""
    from holdfast.bounds.conversions import gdp_delta
    from holdfast.bounds.low_sensitivity import radius_after_dp
    from holdfast.bounds.numerics.maxima import normal_quantile

    n, k, beta = 100_000, 100, 0.05
    ours = interval.low_sensitivity(n, k, beta, 1 / n).half_width
    for sigma in (0.005, 0.01, 0.02):
        mu = np.sqrt(k) / (n * sigma)
        theirs = [
            radius_after_dp(epsilon, n, 1 / n, beta / 2, gdp_delta(mu, epsilon)) for epsilon in (3 * mu, 6 * mu, 9 * mu)
        ]
        assert ours < min(theirs) + sigma * normal_quantile(k, beta / 2)


def test_a_selection_tells_at_most_a_quarter() -> None:
    """KL between the exponential mechanism and the one with middle scores is at most eps^2/32; eps^2/40 is refuted."""
    rng = np.random.default_rng(8)
    worst = 0.0
    for _ in range(4000):
        candidates = int(rng.integers(2, 6))
        epsilon = float(rng.choice([0.01, 0.1, 1.0]))
        middle = rng.normal(0, rng.choice([0.0, 1.0, 3.0]), candidates)  # in units of the sensitivity
        scores = middle + (rng.integers(0, 2, candidates) - 0.5 if rng.random() < 0.7 else rng.random(candidates) - 0.5)
        chosen, centre = (np.exp(epsilon / 2 * (u - u.max())) for u in (scores, middle))
        chosen, centre = chosen / chosen.sum(), centre / centre.sum()
        divergence = float(np.sum(chosen * np.log(chosen / centre)))
        assert divergence <= epsilon**2 / 32 * (1 + 1e-9) + 1e-15
        worst = max(worst, divergence / epsilon**2)
    assert worst > 1 / 40


def test_minimisation_terms() -> None:
    found = interval.minimisation(100_000, 10, 50, 0.05)
    assert interval.minimisation(100_000, 20, 50, 0.05).value > found.value
    assert interval.minimisation(100_000, 10, 500, 0.05).value > found.value
    assert interval.minimisation(200_000, 10, 50, 0.05).value < found.value
    assert interval.minimisation(100_000, 10, 50, 0.001).value > found.value
    assert interval.minimisation(100_000, 10, 50, 0.05, 2e-5).value == pytest.approx(2 * found.value, rel=1e-9)


def test_best_is_the_smallest_of_its_parts() -> None:
    """Five (questions, beta) by three n."""
    settings = [(1, 0.2), (2, 0.01), (7, 0.2), (40, 0.01), (300, 0.2)]
    rows = np.array([300, 20_000, 10**7])
    for k, beta in settings:
        for n in map(int, rows):
            best = interval.best(n, k, beta)
            parts = [
                f(n, k, beta).half_width
                for f in (interval.splitting, interval.posterior_shift, interval.scheduled, interval.sign_comparison)
            ]
            assert best.half_width == min(parts)
            assert best.certified


@pytest.mark.parametrize(("n", "k", "beta"), [(1000, 40, 0.2), (10**6, 300, 0.01)])
def test_best_is_not_above_the_published_bounds(n: int, k: int, beta: float) -> None:
    others = (interval.jung, interval.bns, interval.russo_zou_kl, interval.xu_raginsky, interval.dfh)
    assert all(interval.best(n, k, beta).half_width <= other(n, k, beta).half_width for other in others)


@pytest.mark.parametrize(("k", "beta", "tau"), [(3, 0.05, 0.02), (40, 0.2, 0.1)])
def test_forward_and_inverse_of_best_agree(k: int, beta: float, tau: float) -> None:
    n = interval.required_n(k, tau, beta).value
    assert interval.best(n, k, beta).half_width <= tau
    assert interval.best(int(0.99 * n), k, beta).half_width > tau
    assert interval.max_questions(n, tau, beta).value >= int(0.98 * k)


def _choices(rng: np.random.Generator, rows: np.ndarray[Any, Any], candidates: int, epsilon: float) -> Any:
    """The distribution of a choice for every sample: among means, or statistics of sensitivity 1/n that are not
    means."""
    n = rows.shape[1]
    if rng.random() < 0.5:
        losses = rng.integers(0, 2, (candidates, 2))[:, rows].mean(axis=2).T
    else:
        kinds = (rows.sum(axis=1) % 2, rows.max(axis=1), 0 * rows[:, 0])
        losses = np.stack([kinds[rng.integers(3)] / n for _ in range(candidates)], axis=1)
    weights = np.exp(-epsilon * n * losses / 2)
    return weights / weights.sum(axis=1, keepdims=True)


def test_information_of_adaptive_selections_is_a_quarter() -> None:
    """Exact information of one or two adaptive choices about up to five rows; n k eps^2/32 is nearly reached."""
    rng = np.random.default_rng(6)
    largest = 0.0
    for _ in range(800):
        n, candidates, rounds = int(rng.integers(1, 6)), int(rng.integers(2, 5)), int(rng.integers(1, 3))
        epsilon, p = float(10 ** rng.uniform(-2, 1)), float(rng.choice([0.5, rng.uniform(0.05, 0.95)]))
        rows = np.array(list(itertools.product((0, 1), repeat=n)))
        law = np.prod(np.where(rows, p, 1 - p), axis=1)
        seen = _choices(rng, rows, candidates, epsilon)
        if rounds == 2:
            again = [_choices(rng, rows, candidates, epsilon) for _ in range(candidates)]
            seen = np.concatenate([seen[:, [y]] * again[y] for y in range(candidates)], axis=1)
        nats = float((law[:, None] * seen * np.log(seen / (law @ seen))).sum())
        bound = n * rounds * epsilon**2 / 32
        assert nats <= bound * (1 + 1e-9) + 1e-12
        largest = max(largest, nats / bound)
    assert largest > 0.99


@pytest.mark.parametrize(
    ("n", "k", "t", "beta"), [(100_000, 10, 50, 0.05), (2000, 3, 2, 0.3), (10**7, 200, 1000, 1e-4)]
)
def test_minimisation_is_the_least_value_of_its_formula(n: int, k: int, t: int, beta: float) -> None:
    found = interval.minimisation(n, k, t, beta)
    assert found.sensitivity == 1 / n

    def excess(epsilon: float, part: float) -> float:
        b1, nats = part * beta, n * k * epsilon**2 / 32

        def gap(y: float) -> float:  # kl(b1 || e^-y) - nats
            return b1 * (math.log(b1) + y) + (1 - b1) * (math.log1p(-b1) - math.log1p(-math.exp(-y))) - nats

        y = brentq(gap, -math.log(b1) * (1 + 1e-12), 1e9, xtol=1e-13, rtol=1e-13)
        return (2 / epsilon * math.log((t - 1) * k / (beta - b1)) + math.sqrt(2 * n * y)) / n

    here = min(excess(found.epsilon, part) for part in np.linspace(0.01, 0.99, 99))
    assert found.value <= here * (1 + 1e-9)
    assert found.value >= here * (1 - 1e-3)  # between the shares tried
    for factor in (0.7, 1.4):
        assert min(excess(found.epsilon * factor, part) for part in np.linspace(0.01, 0.99, 99)) > found.value
