"""Levels of the local tests, each simulation with an error rate of 1e-6, and versions wrong on purpose that fail it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.inference.private_tests import local
from holdfast.inference.private_tests.classical import chi_square_critical, pearson
from holdfast.inference.private_tests.local.fit import fit
from holdfast.inference.private_tests.minimum_chi_square import UserModel
from holdfast.inference.private_tests.null_models import HardyWeinberg, Independence, Symmetry
from holdfast.mechanisms.local import BitFlip, OneHotLaplace, RandomizedResponse
from tests.inference.private_tests.local.levels import BOUNDARY, printed_minimum, randomizers, search, two_by_two

ALPHA, ERROR = 0.05, 1e-6
TRIALS = 20_000


def holds(rejected: Any, level: float = 0.0515) -> bool:
    """Whether so many rejections are compatible with a level of at most `level`, but for a chance of `ERROR`.

    An asymptotic test is allowed .0015 above .05; a Monte Carlo test of a simple null nothing.
    """
    return int(np.sum(rejected)) <= binom.isf(ERROR, np.size(rejected), level)


@pytest.mark.parametrize(
    ("p0", "epsilon"),
    [
        ([0.25] * 4, 0.5),
        ([0.25] * 4, 4.0),
        ([0.5, 1 / 6, 1 / 6, 1 / 6], 0.5),
        ([0.5, 1 / 6, 1 / 6, 1 / 6], 1.0),
        ([0.5, 1 / 6, 1 / 6, 1 / 6], 4.0),
        ([1 / 40] * 40, 1.0),
    ],
    ids=["U4-low", "U4-high", "S4-low", "S4-middle", "S4-high", "U40-middle"],
)
def test_gof_keeps_its_level(p0: list[float], epsilon: float) -> None:
    n, rng = 10_000, np.random.default_rng(1)
    for randomizer in randomizers(len(p0), epsilon):
        sums = local.simulate_sums(n, p0, randomizer, TRIALS, rng)
        rejected = local.gof_batch(sums, n, p0, randomizer)
        assert holds(rejected)
        assert holds(~rejected, 0.9525)  # nor is it idle: the level is at least .0475


def test_wrong_versions_are_refused() -> None:
    n, p0, rng = 10_000, np.array([0.5, 1 / 6, 1 / 6, 1 / 6]), np.random.default_rng(2)
    vote, flips = RandomizedResponse(4, 1), BitFlip(4, 1)
    sums = local.simulate_sums(n, p0, vote, TRIALS, rng)
    threshold = chi_square_critical(3, ALPHA)
    assert not holds(pearson(sums, n, p0) > threshold)  # the answers taken for the truth
    debiased = local.channel_of(vote).debiased(sums, n)
    assert not holds(pearson(debiased, n, p0) > threshold)  # the noise of randomizing forgotten
    bits = local.simulate_sums(n, p0, flips, TRIALS, rng)
    debiased = local.channel_of(flips).debiased(bits, n)
    assert not holds(pearson(debiased, n, p0) > threshold)
    # The unit of n: one epsilon more or less than the clients ran.
    assert not holds(local.gof_batch(sums, n, p0, RandomizedResponse(4, 1.2)))


def test_monte_carlo_is_exact_where_the_limit_fails() -> None:
    n, p0 = 100, [0.003, 0.003, 0.003, 0.991]
    vote, rng = RandomizedResponse(4, 8), np.random.default_rng(3)
    sums = local.simulate_sums(n, p0, vote, 5000, rng)
    assert not holds(local.gof_batch(sums, n, p0, vote))
    answers = [local.Collected(row, n, vote) for row in sums]
    exact = [local.gof(a, p0, method="monte-carlo", m=59, rng=rng).reject for a in answers]
    assert holds(exact, ALPHA)
    asked = local.gof(answers[0], p0)
    assert asked.inconclusive
    assert "monte-carlo" in str(asked.null_returned)
    loud = local.gof(answers[0], p0, minimum_expected=0)
    assert loud.warnings
    assert ".258" in loud.warnings[0]


@pytest.mark.parametrize("kind", [0, 1, 2, 3], ids=["response", "bits", "gaussian", "laplace"])
def test_monte_carlo_of_a_simple_null(kind: int) -> None:
    randomizer = randomizers(3, 1.0)[kind]
    n, p0, rng = 12, [0.2, 0.3, 0.5], np.random.default_rng(4)
    sums = local.simulate_sums(n, p0, randomizer, 4000, rng)
    found = [local.gof(local.Collected(s, n, randomizer), p0, method="monte-carlo", m=39, rng=rng) for s in sums]
    assert holds([f.reject for f in found], ALPHA)
    assert {f.level for f in found} == {"exact"}
    # Wrong on purpose: ties and the observed value itself not counted.
    wrong = [f.p_value is not None and f.p_value - 1 / 40 <= ALPHA for f in found]
    assert not holds(wrong, ALPHA)


@pytest.mark.parametrize(("margins", "n"), BOUNDARY, ids=["middle", "side", "corner", "edge"])
def test_independence_keeps_its_level_up_to_the_boundary(margins: tuple[float, float], n: int) -> None:
    p, rng, model = two_by_two(margins), np.random.default_rng(5), Independence(2, 2)
    for randomizer in randomizers(4, 1.0):
        sums = local.simulate_sums(n, p, randomizer, 10_000, rng)
        assert holds(local.general_batch(sums, n, model, randomizer))


def test_the_printed_search_does_not() -> None:
    """A search among margins of non-negative entries only, as printed: at the edge its level is .155."""
    n, vote, model = 2000, RandomizedResponse(4, 1), Independence(2, 2)
    sums = local.simulate_sums(n, two_by_two((0.001, 0.001)), vote, 10_000, np.random.default_rng(6))
    printed = printed_minimum(sums, n, vote, model)
    assert np.all(fit(sums, n, local.channel_of(vote), model).objective <= printed + 1e-9)
    level = np.mean(printed > chi_square_critical(1, ALPHA))
    assert 0.13 < level < 0.18
    assert not holds(printed > chi_square_critical(1, ALPHA))


def test_a_search_for_high_levels_finds_none() -> None:
    for found, setting in search(10, 1000, 20_000):
        assert holds(np.arange(20_000) < round(20_000 * found), 0.0545), setting


@pytest.mark.parametrize("shape", [(3, 4), (5, 2)])
def test_larger_tables(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(7)
    p = np.outer(rng.dirichlet(np.full(shape[0], 2.0)), rng.dirichlet(np.full(shape[1], 2.0))).ravel()
    for randomizer in randomizers(p.size, 2.0):
        sums = local.simulate_sums(5000, p, randomizer, 4000, rng)
        assert holds(local.general_batch(sums, 5000, Independence(*shape), randomizer))


def test_other_models() -> None:
    rng = np.random.default_rng(8)
    cases = ((HardyWeinberg(), [0.49, 0.42, 0.09]), (Symmetry(2), [0.3, 0.2, 0.2, 0.3]))
    for model, p in cases:
        for randomizer in randomizers(len(p), 1.0):
            sums = local.simulate_sums(4000, p, randomizer, 5000, rng)
            assert holds(local.general_batch(sums, 4000, model, randomizer))
            other = local.simulate_sums(
                40_000, [0.6, 0.2, 0.2] if len(p) == 3 else [0.3, 0.3, 0.1, 0.3], randomizer, 50, rng
            )
            assert local.general_batch(other, 40_000, model, randomizer).mean() > 0.5


def test_a_users_model() -> None:
    coins = UserModel(
        probabilities=lambda t: np.outer([t[0], 1 - t[0]], [t[0], 1 - t[0]]).ravel(),
        start=lambda h: [(2 * h[0] + h[1] + h[2]) / (2 * h.sum())],
        cells=4,
        parameters=1,
        bounds=(0, 1),
        name="two coins of one bias",
    )
    rng = np.random.default_rng(9)
    p = np.outer([0.6, 0.4], [0.6, 0.4]).ravel()
    for randomizer in (RandomizedResponse(4, 1), BitFlip(4, 1)):
        sums = local.simulate_sums(5000, p, randomizer, 200, rng)
        assert holds(local.general_batch(sums, 5000, coins, randomizer))
        unlike = local.simulate_sums(50_000, [0.5, 0.1, 0.1, 0.3], randomizer, 1, rng)[0]
        assert local.general(local.Collected(unlike, 50_000, randomizer), coins).reject


def test_bootstrap_of_independence_with_laplace_noise() -> None:
    noise, rng = OneHotLaplace(4, 1), np.random.default_rng(10)
    p = np.outer([0.5, 0.5], [0.7, 0.3]).ravel()
    sums = local.simulate_sums(2000, p, noise, 300, rng)
    found = [local.independence(local.Collected(s.reshape(2, 2), 2000, noise), m=39, rng=rng) for s in sums]
    assert {f.level for f in found} == {"empirical"}
    assert holds([f.reject for f in found], 0.055)


def test_two_randomized_responses() -> None:
    n, rng = 4000, np.random.default_rng(11)
    rows, columns = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.4])
    one, two = RandomizedResponse(3, 1), RandomizedResponse(2, 2)
    a, b = (local.channel_of(r) for r in (one, two))
    shown = np.outer(a.shown(rows), b.shown(columns)).ravel()  # type: ignore[attr-defined]
    tables = rng.multinomial(n, shown, size=3000).reshape(-1, 3, 2)
    results = [local.separate_independence(t, one, two) for t in tables]
    assert holds([r.reject for r in results])
    assert results[0].cost.epsilon == 3.0  # type: ignore[union-attr]
