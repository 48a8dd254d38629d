"""Mutual information: conversions on random laws, the dual against the primal, corrections of p-values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds import finite_law
from holdfast.bounds.lower_bound import compression_lower_bound
from holdfast.bounds.mutual_information import (
    from_max_information,
    from_mutual_information,
    mutual_information_approx_dp,
)
from holdfast.bounds.p_value_mutual_information import level_after_mutual_information, russo_zou_level
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from tests.bounds.exact_laws import leaky_response

quick = settings(max_examples=80, deadline=None, derandomize=True)


def random_joint(rng: np.random.Generator) -> np.ndarray:
    shape = tuple(rng.integers(2, 5, size=2))
    table = rng.dirichlet(np.full(shape[0] * shape[1], 10 ** rng.uniform(-1.5, 0.5))).reshape(shape)
    if rng.random() < 0.5:  # nearly independent, with a rare spike
        table = 0.98 * np.outer(table.sum(axis=1), table.sum(axis=0)) + 0.02 * table
    table = table + 1e-12
    return table / table.sum()


def test_both_conversions_on_random_laws() -> None:
    rng = np.random.default_rng(15)
    closest = 0.0
    for _ in range(3000):
        table = random_joint(rng)
        bits = finite_law.mutual_information(table)
        k = float(10 ** rng.uniform(-1, 1))
        exact = finite_law.beta_star(table, k)
        for method in ("best", "sharp", "paper"):
            assert exact <= from_mutual_information(bits, k, method) + 1e-12
        if exact > 1e-12:
            closest = max(closest, exact / from_mutual_information(bits, k))
        beta = float(rng.choice([0.0, 0.001, 0.01, 0.05]))
        k = max(finite_law.max_information(table, beta), 1e-6)
        size = math.log2(table.shape[0])
        assert bits <= from_max_information(k, beta, size).bits + 1e-9
        if beta <= 0.15 * (1 - 2**-k):
            assert bits <= from_max_information(k, beta, size, "bits").bits + 1e-9
            assert bits <= from_max_information(k, beta, size, "paper").bits + 1e-9
    assert closest > 0.5


def test_the_best_conversion_is_attained_by_a_binary_law() -> None:
    # an event of joint probability a and product probability b with kl(a || b) = m attains a - 2^k b
    for m, k in ((0.1, 20.0), (0.5, 6.0), (2.0, 3.0), (0.01, 1.0)):
        best = from_mutual_information(m, k)
        primal = 0.0
        for a in np.concatenate([np.geomspace(1e-4, 0.1, 3000), np.linspace(0.1, 1 - 1e-9, 3000)]):
            low, high = -k - 60.0 - (m + 1) / a, math.log2(a)
            for _ in range(60):
                middle = 0.5 * (low + high)
                b = 2.0**middle
                kl = a * (math.log2(a) - middle) + (1 - a) * (math.log1p(-a) - math.log1p(-b)) / math.log(2)
                low, high = (middle, high) if kl > m else (low, middle)
            primal = max(primal, a - 2.0 ** (k + high))
        assert primal <= best
        assert primal == pytest.approx(best, rel=1e-4)


@given(st.floats(0, 50), st.floats(0.01, 500), st.floats(1, 2))
@quick
def test_order_and_monotone(bits: float, k: float, factor: float) -> None:
    best, sharp, paper = (from_mutual_information(bits, k, m) for m in ("best", "sharp", "paper"))
    assert best <= sharp <= paper * (1 + 1e-9)
    assert from_mutual_information(bits * factor, k) >= best * (1 - 1e-9)
    assert from_mutual_information(bits, k * factor) <= best * (1 + 1e-9) + 1e-15


@given(st.floats(0.001, 0.999), st.floats(1e-6, 100), st.floats(1, 2))
@quick
def test_levels_after_mutual_information(alpha: float, bits: float, factor: float) -> None:
    levels = [
        level_after_mutual_information(alpha, bits, m).log2_level for m in ("best", "sharp", "optimised", "paper")
    ]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(levels))
    assert level_after_mutual_information(alpha, bits * factor).log2_level <= levels[0] + 1e-9
    assert level_after_mutual_information(alpha / factor, bits).log2_level <= levels[0] + 1e-9
    # the best level is at least what the exact conversion gives at any exponent
    for k in (1.0, 5.0, 20.0, 2 * (bits + 0.54) / alpha):
        beta = from_mutual_information(bits, k)
        if beta < alpha:
            assert math.log2(alpha - beta) - k <= levels[0] + 1e-6


def test_the_best_level_keeps_alpha_on_random_laws() -> None:
    # any rejection region: joint probability above alpha needs product probability above the level
    rng = np.random.default_rng(23)
    closest = math.inf
    for _ in range(3000):
        table = random_joint(rng)
        bits = finite_law.mutual_information(table)
        product = np.outer(table.sum(axis=1), table.sum(axis=0))
        region = table / product > np.quantile(table / product, rng.uniform(0.2, 0.95))
        hit, nominal = table[region].sum(), product[region].sum()
        if 0.001 < hit < 0.999 and nominal < hit:
            level = level_after_mutual_information(float(hit), bits).value
            assert nominal >= level * (1 - 1e-9)
            closest = min(closest, nominal / level)
    assert closest < 1.2


def test_russo_zou_is_inverted_exactly() -> None:
    for alpha, nats in ((0.05, 0.001), (0.05, 0.01), (0.5, 0.2), (0.9, 3.0)):
        level = russo_zou_level(alpha, nats).value
        assert level + math.sqrt(nats / math.log(1 / (2 * level))) <= alpha
        bigger = level * (1 + 1e-9)
        assert bigger + math.sqrt(nats / math.log(1 / (2 * bigger))) >= alpha - 1e-9
    assert russo_zou_level(0.05, 100.0).value == 0
    assert russo_zou_level(0.05, 100.0).log2_level < -40_000
    assert russo_zou_level(0.05, 0.0).value == pytest.approx(0.05)


def test_the_printed_ceiling_is_no_level() -> None:
    # T-20: the exact inversion exceeds alpha/2; elsewhere the printed ceiling is above what the bound allows
    assert russo_zou_level(0.05, 0.001).value > 0.025
    ceiling = russo_zou_level(0.05, 0.01, "paper").value
    assert ceiling + math.sqrt(0.01 / math.log(1 / (2 * ceiling))) > 0.05


def test_where_the_printed_correction_beats_russo_zou() -> None:
    # T-18: at alpha = 0.05 the crossing is 0.0720 bits, which is 0.0499 nats
    def gap(bits: float) -> float:
        ours = level_after_mutual_information(0.05, bits, "paper").log2_level
        return ours - russo_zou_level(0.05, bits * math.log(2), "paper").log2_level

    assert gap(0.0719) < 0 < gap(0.0721)
    assert gap(0.05) < 0  # so the printed "m >= 0.05" is wrong in bits
    assert gap(0.05 / math.log(2)) > 0  # and right in nats


def test_mutual_information_of_private_mechanisms() -> None:
    for epsilon, delta, n in ((0.3, 0.0, 50), (1.0, 0.0, 30), (0.1, 1e-4, 40)):
        probabilities, losses = leaky_response(epsilon, delta, n)
        exact = float(np.sum(probabilities * losses)) / math.log(2)
        assert exact <= mutual_information_approx_dp(epsilon, delta, n, 1.0).bits
    exact = float(np.sum(np.multiply(*leaky_response(0.05, 0.0, 2000)))) / math.log(2)
    assert exact > 0.9 * mutual_information_approx_dp(0.05, 0.0, 2000, 1.0).bits  # the drift is nearly tight


def test_the_cap_and_the_side_condition() -> None:
    assert mutual_information_approx_dp(0.1, 1e-3, 1000, 1.0).bits == 1000
    assert mutual_information_approx_dp(0.1, 1e-3, 1000, 1.0).is_vacuous
    with pytest.raises(GuaranteeUnavailable, match=r"Lemma 1\.5"):
        mutual_information_approx_dp(0.01, 1e-15, 1000, 1.0, "paper")
    with pytest.raises(InvalidParameter, match="beta"):
        from_max_information(1.0, 0.2, 10, "paper")
    with pytest.raises(InvalidParameter, match="s must"):
        from_max_information(5, 0.3, 20, s=0.1)
    assert from_max_information(5, 0.0, 20).bits == pytest.approx(5)
    assert from_max_information(500, 0.01, 20).bits == 20


def test_compression() -> None:
    table = np.eye(1024) / 1024
    assert finite_law.max_information(table, 0.05) == pytest.approx(compression_lower_bound(10, 0.05), abs=1e-9)
    assert compression_lower_bound(10, 0.05, "paper") <= compression_lower_bound(10, 0.05)
    assert compression_lower_bound(5000, 0.05, "paper") < 5000
