"""p-values after a release of which only the mutual information is known."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds import finite_law
from holdfast.bounds.mutual_information import from_mutual_information
from holdfast.bounds.p_value import level_after_mutual_information, russo_zou_level
from tests.bounds.test_mutual_information import random_joint

quick = settings(max_examples=80, deadline=None, derandomize=True)


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


@pytest.mark.parametrize("alpha", [1e-9, 0.0115, 0.3, 0.5, 0.999])
@pytest.mark.parametrize("bits", [4.5e-18, 1e-12, 1e-6, 0.01, 1.0, 30.0])
def test_the_best_level_in_sixty_digits(alpha: float, bits: float) -> None:
    # kl(alpha || level) must not be below m: however small m is, and by a rounding error at most above it
    level = level_after_mutual_information(alpha, bits)
    with mpmath.workdps(60):
        a = mpmath.mpf(alpha)
        log_g = mpmath.mpf(level.log2_level) * mpmath.log(2)
        exact = a * (mpmath.log(a) - log_g) + (1 - a) * (mpmath.log1p(-a) - mpmath.log1p(-mpmath.exp(log_g)))
        target = mpmath.mpf(bits) * mpmath.log(2)
        assert exact >= target
        # one unit in the last place of alpha is worth this much divergence
        steepness = max(abs(mpmath.log(a)), 1) * (mpmath.log(a) - log_g + 1e-16) / (1 - a)
        assert exact <= target * (1 + 1e-12) + 100 * steepness * 2.0**-52
        if level.value:
            assert mpmath.mpf(level.value) <= mpmath.exp(log_g)


@pytest.mark.parametrize("method", ["paper", "optimised", "sharp"])
def test_other_levels_are_rounded_down(method: str) -> None:
    for alpha, bits in ((0.05, 1.0), (0.3, 0.001), (1e-5, 1e16), (0.9, 7.0), (1e-300, 0.0)):
        level = level_after_mutual_information(alpha, bits, method)
        with mpmath.workdps(700):
            a, m = mpmath.mpf(alpha), mpmath.mpf(bits)
            printed = m + mpmath.mpf("0.54")
            if method == "paper":
                exact = mpmath.log(a / 2, 2) - 2 * printed / a
            elif method == "optimised":
                c = printed * mpmath.log(2)
                k = (c + mpmath.sqrt(c * c + 4 * a * c)) / (2 * a * mpmath.log(2))
                exact = mpmath.log(a - printed / k, 2) - k
            else:
                beta = mpmath.mpf(level.beta)
                exact = mpmath.log(a - beta, 2) - (m - (1 - beta) * mpmath.log1p(-beta) / mpmath.log(2)) / beta
            assert level.log2_level <= exact
            assert level.log2_level >= exact - abs(exact) * mpmath.mpf("1e-8" if method == "sharp" else "1e-14")
