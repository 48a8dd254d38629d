"""Cell bounds are bounds: above the exact tails, never too short an interval for a margin, never too often a rejection.

Rates are compared with their limits by exact binomial tails; every comparison errs with probability below 1e-6.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.inference.private_tests import (
    discrete_gaussian,
    discrete_laplace,
    gof,
    independence,
    laplace,
    release,
    simulate_noisy,
    simulate_tables,
)
from holdfast.inference.private_tests.cell_bounds import (
    _log_lower,
    _log_upper,
    _margins,
    _tilts,
    gof_least_p,
    gof_log_p,
    independence_least_p,
    independence_log_p,
)
from holdfast.inference.private_tests.noise_law import NoiseLaw

LAWS = [discrete_laplace(1), discrete_laplace(0.1), discrete_gaussian(0.5), discrete_gaussian(0.005)]


def exact_tail(n: int, p: float, law: NoiseLaw, x: int) -> float:
    """`P(Binomial(n, p) + noise >= x)` by summing the exact distributions."""
    scale = float(law.scale)
    reach = math.ceil(60 * scale)
    steps = np.arange(-reach, reach + 1)
    mass = np.exp(-np.abs(steps) / scale) if not law.is_gaussian else np.exp(-(steps**2) / (2 * scale**2))
    counts = np.arange(n + 1)
    above = np.cumsum((mass / mass.sum())[::-1])[::-1]  # P(noise >= step)
    place = np.clip(x - counts + reach, 0, 2 * reach + 1)
    return float(binom.pmf(counts, n, p) @ np.append(above, 0.0)[place])


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("p", [0.02, 0.3, 0.8])
def test_a_bound_is_above_the_exact_tail_and_not_far_above(law: NoiseLaw, p: float) -> None:
    n, grid = 400, _tilts(400, law, 1)
    sd = math.sqrt(n * p * (1 - p) + law.variance)
    for off in (1, 3, 6, 12):
        x = math.ceil(n * p + off * sd)
        upper = float(_log_upper(np.array([x]), n, np.array([p]), *grid)[0])
        exact = math.log(exact_tail(n, p, law, x))
        assert exact <= upper <= 0.8 * exact + 3
        lower = float(_log_lower(np.array([n - x]), n, np.array([1 - p]), *grid)[0])
        assert lower == pytest.approx(upper, abs=1e-6)  # the same tail, told from the other side


@pytest.mark.parametrize("law", [*LAWS, laplace(0.1)], ids=str)
def test_log_mgf_is_that_of_the_released_noise(law: NoiseLaw) -> None:
    noise = law.resample(np.random.default_rng(1), 200_000)
    t = 0.2 * min(1 / math.sqrt(law.variance), law.steepest)
    drawn = np.exp(t * noise)
    off = 6 * drawn.std() / math.sqrt(drawn.size)
    assert float(np.exp(law.log_mgf(np.array([t])))[0]) == pytest.approx(drawn.mean(), abs=off + 1e-3)


def too_many(rejections: int, trials: int, rate: float) -> bool:
    """Whether so many would come with probability below 1e-6 if each had at most this rate."""
    return bool(binom.sf(rejections - 1, trials, rate) < 1e-6)


@pytest.mark.parametrize(
    ("law", "wrong"),
    [(discrete_laplace(0.05), discrete_laplace(1)), (discrete_gaussian(0.001), discrete_gaussian(0.4))],
    ids=["laplace", "gaussian"],
)
def test_rejections_under_the_null_keep_their_level(law: NoiseLaw, wrong: NoiseLaw) -> None:
    """The same comparison sees bounds for twenty times less noise than there is."""
    n, trials, rng, p0 = 200, 80, np.random.default_rng(5), np.array([0.1, 0.2, 0.7])
    tables = simulate_tables(n, [[0.35, 0.35], [0.15, 0.15]], law, trials, rng)
    counts = simulate_noisy(n, p0, law, trials, rng)

    def rejections(assumed: NoiseLaw) -> tuple[int, int]:
        log_level = math.log(0.05)
        fitted = sum(gof_log_p(row, n, p0, assumed) <= log_level for row in counts)
        return fitted, sum(independence_log_p(table, n, assumed) <= log_level for table in tables)

    assert not any(too_many(found, trials, 0.05) for found in rejections(law))
    assert all(too_many(found, trials, 0.05) for found in rejections(wrong))


def test_margins_lie_in_their_intervals() -> None:
    n, p, law, trials, share = 500, 0.2, discrete_laplace(0.1), 2000, 0.02
    rng = np.random.default_rng(3)
    sums = rng.binomial(n, p, trials) + law.sample(rng, (trials, 3)).sum(axis=1)

    def missed(assumed: NoiseLaw) -> int:
        low, high = _margins(sums, n, math.log(share), *_tilts(n, assumed, 3))
        return int(np.count_nonzero((low > p) | (high < p)))

    assert not too_many(missed(law), trials, 2 * share)
    assert too_many(missed(discrete_laplace(1)), trials, 2 * share)


def test_a_margin_of_everybody_is_no_proof() -> None:
    """Noise may put both margins at one: the tail there is that of n plus noise, and not impossible."""
    law, n = discrete_gaussian(0.0005), 200
    tail = _log_lower(np.array([150.0]), n, np.array([1.0]), *_tilts(n, law, 1))
    assert -2 < float(tail[0]) < 0


def test_the_p_value_is_the_smallest_level_that_rejects_and_pruning_changes_nothing() -> None:
    law = discrete_laplace(0.5)
    table = np.full((4, 5), 20.0)
    table[0, 0], table[1, 1], table[0, 1] = 200.0, 190.0, -3.0
    n = int(table.sum())
    whole = independence_log_p(table, n, law)
    turned = independence_log_p(np.ascontiguousarray(table.T), n, law)
    assert whole == pytest.approx(turned, abs=1e-5)
    assert whole < math.log(0.05)
    same = np.zeros((4, 4))
    same[0, 0] = same[1, 1] = 500.0
    assert math.log(independence_least_p(1000, (4, 4), law)) == pytest.approx(independence_log_p(same, 1000, law))


def test_no_counts_without_noise_are_farther_off_than_the_least_p_value() -> None:
    law, p0 = discrete_laplace(0.2), np.array([0.5, 0.3, 0.2])
    least = math.log(gof_least_p(300, p0, law))
    rng = np.random.default_rng(1)
    counts = [rng.multinomial(300, rng.dirichlet([0.2] * 3)).astype(float) for _ in range(200)]
    assert all(gof_log_p(one, 300, p0, law) >= least for one in counts)
    assert gof_log_p(np.array([0.0, 0.0, 300.0]), 300, p0, law) == pytest.approx(least, abs=1e-6)
    smallest = math.log(independence_least_p(300, (2, 2), law))
    tables = [rng.multinomial(300, rng.dirichlet([0.2] * 4)).reshape(2, 2).astype(float) for _ in range(100)]
    assert all(independence_log_p(one, 300, law) >= smallest - 1e-6 for one in tables)


def test_it_rejects_where_replicates_never_do() -> None:
    """A planted association of moderate size, at a level of 1e-20; the default simulates and stops at 1e-3."""
    rng = np.random.default_rng(7)
    table = rng.multinomial(50_000, [0.32, 0.18, 0.18, 0.32]).reshape(2, 2)
    found = independence(table, epsilon=0.1, method="cell-bounds", alpha=1e-20)
    assert (found.reject, found.level, found.inconclusive) == (True, "exact", False)
    assert independence(table, epsilon=0.1).p_value == 1e-3
    noisy = release(table.ravel(), epsilon=0.1)
    again = gof(noisy, [0.25] * 4, method="cell-bounds", alpha=1e-20)
    assert (again.reject, again.level) == (True, "exact")
    assert again.cost is not None
    assert again.cost.is_zero
