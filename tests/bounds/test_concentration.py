"""Concentration: exact walks, and tails rounded up."""

from __future__ import annotations

import math

import mpmath
import pytest

from holdfast.bounds.concentration import azuma, exp_up, mcdiarmid


def test_azuma_on_an_exact_walk() -> None:
    # fair signs times a, exactly; the binomial tail stays below exp(-t^2/2)
    from scipy.stats import binom

    n = 50
    for t in (0.5, 1.0, 2.0, 3.0):
        level = azuma(n, 0.0, 1.0, t)
        assert binom.sf(math.floor((level + n) / 2), n, 0.5) <= math.exp(-t * t / 2)


@pytest.mark.parametrize("x", [-1e-17, -0.3, -12.5, -700.0, -744.0, -1e5, 3.0, 700.0])
def test_exponentials_are_rounded_up(x: float) -> None:
    with mpmath.workdps(50):
        exact = mpmath.exp(mpmath.mpf(x))
        assert mpmath.mpf(exp_up(x)) >= exact
        assert mpmath.mpf(exp_up(x)) <= exact * (1 + mpmath.mpf(10) ** -14 * max(1, abs(x))) + mpmath.mpf("1e-322")


def test_mcdiarmid_is_rounded_up() -> None:
    for tau, c, n in ((0.1, 0.01, 100), (0.37, 1 / 3, 7), (0.9, 1e-3, 4000), (1e308, 5e-324, 1)):
        with mpmath.workdps(50):
            assert mpmath.mpf(mcdiarmid(tau, c, n)) >= mpmath.exp(-2 * (mpmath.mpf(tau) / mpmath.mpf(c)) ** 2 / n)
    assert mcdiarmid(1e308, 5e-324, 1) == 5e-324  # an underflow is never a promise
    assert mcdiarmid(0.0, 1.0, 1) == 1


def test_azuma_is_rounded_up_where_its_terms_cancel() -> None:
    with mpmath.workdps(50):
        exact = 3 * mpmath.mpf(-0.1) + mpmath.mpf(0.3) * mpmath.sqrt(3) * mpmath.mpf(0.6)
        assert 0 <= mpmath.mpf(azuma(3, -0.1, 0.6, 0.3)) - exact <= 1e-15
    assert azuma(10**300, -1e300, 1e300, 1e300) == math.inf
