"""The mixture's tails against closed forms, 50-digit inversion, Imhof's integral, draws, and themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from holdfast.bounds.numerics import chi_square as contour
from holdfast.bounds.numerics.chi_square import (
    Tails,
    mixture_density,
    mixture_moments,
    mixture_sf,
    mixture_tails,
)
from holdfast.errors import InvalidParameter

MEASURED = 1e-12
"""The error allowed here, relative to the smaller tail; 1e-10 is promised."""

DECADES = np.logspace(0, -6, 7)


def smaller(tails: Tails) -> tuple[float, bool]:
    """The smaller tail, and whether it is the upper one."""
    return min(tails), tails.sf < tails.cdf


def inverted(x: float, w: Sequence[float], k: Sequence[float], v: Sequence[float], upper: bool, digits: int) -> Any:
    """Talbot's contour for the Laplace transform of the tail, in so many digits that its absolute error is nothing."""
    with mp.workdps(digits + 10):
        nodes = int(1.7 * digits)
        point = mp.mpf(x)
        radius = mp.mpf(2) * nodes / (5 * point)

        def transform(s: Any) -> Any:
            log = mp.mpf(0)
            for weight, degrees, noncentral in zip(map(mp.mpf, w), k, v, strict=True):
                factor = 1 + 2 * weight * s
                log -= mp.mpf(degrees) / 2 * mp.log(factor) + mp.mpf(noncentral) * weight * s / factor
            return (1 - mp.exp(log)) / s if upper else mp.exp(log) / s

        total = mp.exp(radius * point) * transform(radius) / 2
        for j in range(1, nodes):
            angle = j * mp.pi / nodes
            cot = mp.cot(angle)
            s = radius * angle * (cot + 1j)
            total += mp.re(mp.exp(s * point) * transform(s) * (1 + 1j * (angle + (angle * cot - 1) * cot)))
        return radius / nodes * total


def inversion_error(x: float, w: Any, k: Any = 1.0, v: Any = 0.0, digits: int = 50) -> float:
    w, k, v = (a.tolist() for a in np.broadcast_arrays(np.asarray(w, dtype=float), k, v))
    tail, upper = smaller(mixture_tails(x, w, k, v))
    return float(abs(tail / inverted(x, w, k, v, upper, digits) - 1))


# --- closed forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [1, 2, 3, 5, 10, 30, 99, 200, 300])
def test_one_weight_is_a_chi_square_down_to_1e_minus_250(degrees: int) -> None:
    tails = [1e-250, 1e-100, 1e-30, 1e-12, 1e-6, 0.01, 0.2, 0.5]
    points = np.r_[stats.chi2.isf(tails, degrees), stats.chi2.ppf(tails[1:], degrees)]
    for x in points:
        tail, upper = smaller(mixture_tails(x, [1.0], degrees))
        with mp.workdps(40):
            ends = (mp.mpf(x) / 2, mp.inf) if upper else (0, mp.mpf(x) / 2)
            exact = mp.gammainc(mp.mpf(degrees) / 2, *ends, regularized=True)
        assert abs(tail / exact - 1) < 2e-13, (x, tail)


def test_two_degrees_each_are_a_sum_of_exponentials() -> None:
    # P(Q > x) = sum_i prod_(j != i) w_i / (w_i - w_j) exp(-x / (2 w_i)) for different weights: exact, no inversion
    for weights in (DECADES, np.linspace(0.5, 2, 12), np.array([1.0, 1e-6])):
        for x in weights.sum() * np.array([0.3, 1, 2, 10, 40]):
            tail = mixture_sf(x, weights, 2)
            with mp.workdps(120):
                w = [mp.mpf(float(a)) for a in weights]
                exact = sum(mp.exp(-mp.mpf(x) / (2 * a)) * mp.fprod(a / (a - b) for b in w if b != a) for a in w)
            assert abs(tail / exact - 1) < MEASURED, (weights, x)


# --- 50-digit inversion ----------------------------------------------------------------------------------------------

PATTERNS: dict[str, tuple[Any, Any]] = {
    "one dominates": ([1, 1e-6], [1, 1]),
    "nine tiny ones": ([1, 1e-6], [1, 9]),
    "seven decades": (DECADES, [1] * 7),
    "one of a million, 199 of one": ([1e6, 1], [1, 199]),
    "many small, one large": ([1, 0.05], [1, 199]),
    "a thousand small, one large": ([1, 0.01], [1, 1000]),
    "nearly equal": ([1, 1 - 1e-9], [1, 1]),
    "a tiny cell": ([1e6, 5.8, 5.8, 2.0], [1, 1, 1, 1]),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_hard_weights_against_inversion(name: str) -> None:
    w, k = PATTERNS[name]
    mean = mixture_moments(w, k)[0]
    shares = (1e-6, 1e-3, 0.05, 0.5, 0.95, 1.05, 1.4, 3.0, 12.0, 40.0)
    for share in shares if max(k) < 1000 else shares[4::2]:  # a thousand degrees need 300 digits
        if min(mixture_tails(share * mean, w, k)) > 1e-30:
            assert inversion_error(share * mean, w, k, digits=50 + max(k) // 4) < MEASURED, share


@pytest.mark.parametrize("share", [0.6, 1.3, 1.9])
def test_two_hundred_different_weights(share: float) -> None:
    weights = np.linspace(0.5, 2, 200)
    assert inversion_error(share * weights.sum(), weights, digits=45) < MEASURED


@pytest.mark.parametrize(
    ("x", "w", "k", "v"),
    [
        (200.0, [1.0], 3, [200.0]),
        (420.0, [1.0], 3, [200.0]),
        (90.0, [1.0], 3, [200.0]),
        (5.0, [3, 1, 0.5, 0.01], 1, [1, 0.5, 0, 2]),
        # a large central weight and a small one with a large noncentrality: the steepest contour breaks here
        (20.0, [1, 0.08], 1, [0, 200]),
        (36.0, [1, 0.1], 1, [0, 200]),
        (60.0, [1, 0.1], 1, [0, 200]),
        (8.682274384563724, [0.21, 0.016, 0.00056, 0.093], [1, 1, 0.5, 2], [0, 200, 3, 0]),
        (23.84436658029798, [0.038, 0.162, 0.014], 1, [200, 0.1, 0.1]),
        (6e-5, [1, 1e-6], 1, [0.3, 5]),
    ],
)
def test_noncentral_against_inversion(x: float, w: list[float], k: Any, v: list[float]) -> None:
    assert inversion_error(x, w, k, v) < MEASURED


def test_an_approximation_by_moments_fails_the_same_test() -> None:
    # Satterthwaite's scaled chi-square has the right mean and variance and the wrong tail
    w = np.array([3, 1, 0.5, 0.01])
    mean, variance = mixture_moments(w)
    scale, degrees = variance / (2 * mean), 2 * mean**2 / variance
    for x, least in ((13.42, 0.01), (60.0, 0.2), (150.0, 0.7)):
        wrong = float(stats.chi2.sf(x / scale, degrees))
        exact = inverted(x, w.tolist(), [1] * 4, [0] * 4, True, 50)
        assert abs(wrong / exact - 1) > least
        assert abs(mixture_sf(x, w) / exact - 1) < MEASURED


# --- other oracles ---------------------------------------------------------------------------------------------------


def imhof(x: float, w: Any, v: Any) -> float:
    """Imhof 1961 (3.2) by adaptive quadrature: absolute accuracy only."""
    w, v = np.asarray(w, dtype=float), np.asarray(v, dtype=float)

    def integrand(u: float) -> float:
        a = w * u
        theta = 0.5 * (np.arctan(a) + v * a / (1 + a * a)).sum() - 0.5 * x * u
        log_rho = (0.25 * np.log1p(a * a) + 0.5 * v * a * a / (1 + a * a)).sum()
        return float(math.sin(theta) * math.exp(-log_rho) / u)

    value, _ = integrate.quad(integrand, 0, math.inf, epsabs=1e-11, limit=2000)
    return 0.5 + value / math.pi


@pytest.mark.parametrize(("scale", "share"), [(1.0, 0.5), (1.0, 1.2), (7.0, 2.0)])
def test_imhof(scale: float, share: float) -> None:
    w = scale * np.linspace(0.5, 2, 9)
    v = np.linspace(0, 2, 9)
    x = share * mixture_moments(w, 1, v)[0]
    assert mixture_sf(x, w, 1, v) == pytest.approx(imhof(x, w, v), abs=1e-9)


def test_draws() -> None:
    """400,000 draws; Dvoretzky-Kiefer-Wolfowitz with Massart's constant: fails by chance with probability 1e-6."""
    rng = np.random.default_rng(20240501)
    w, v = np.array([3, 1, 0.5, 0.01]), np.array([1, 0.5, 0, 2])
    draws = np.sort(((rng.standard_normal((400_000, 4)) + np.sqrt(v)) ** 2 * w).sum(axis=1))
    grid = draws[:: len(draws) // 400]
    empirical = np.searchsorted(draws, grid, side="right") / len(draws)
    limit = math.sqrt(math.log(2 / 1e-6) / (2 * len(draws)))
    assert np.abs(empirical - mixture_tails(grid, w, 1, v).cdf).max() < limit
    mean, variance = mixture_moments(w, 1, v)
    wrong = stats.chi2.cdf(grid * 2 * mean / variance, 2 * mean**2 / variance)
    assert np.abs(empirical - wrong).max() > limit


def test_every_contour_gives_the_same_integral(monkeypatch: pytest.MonkeyPatch) -> None:
    """600 distributions of all scales, degrees to 1e5, noncentralities to 1e4: another contour with other nodes
    agrees."""
    rng = np.random.default_rng(5)
    for _ in range(600):
        parts = int(rng.choice([1, 2, 3, 5, 11, 200]))
        w = 10 ** rng.uniform(-float(rng.choice([1, 3, 6])), 0, parts)
        k = rng.choice([0.5, 1, 1, 2, 5, 30, 199, 1e5], parts)
        v = rng.choice([0, 0, 0.1, 3, 50, 200, 1e4], parts) * rng.integers(0, 2)
        mean, variance = mixture_moments(w, k, v)
        x = max(mean + math.sqrt(variance) * rng.uniform(-5, 15), mean * 10 ** rng.uniform(-3, 0))
        tail, upper = smaller(mixture_tails(x, w, k, v))
        with monkeypatch.context() as patch:
            patch.setattr(contour, "_BEND", 0.6)
            patch.setattr(contour, "_NODES_A_WIDTH", 7.3)
            other = mixture_tails(x, w, k, v)[int(upper)]
        # rounding grows with the degrees, which the documentation says
        assert abs(tail - other) <= (MEASURED + 1e-14 * float((k + v).sum())) * tail, (x, w, k, v)


@pytest.mark.parametrize("bend", [2.0, 4.0, 10.0])
def test_a_contour_that_climbs_is_noticed(bend: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # with a steeper contour the first sums are of size 1e15 and more; the check must throw them away
    tried = []
    trapezoid = contour._trapezoid
    monkeypatch.setattr(contour, "_BEND", bend)
    monkeypatch.setattr(contour, "_trapezoid", lambda path: tried.append(1) or trapezoid(path))
    for x, w, k, v, exact in (
        (14, [1, 0.05], [1, 199], 0, 0.0541396694688),
        (36, [1, 0.1], 1, [0, 200], 2.45729528518e-4),
    ):
        assert mixture_sf(x, w, k, v) == pytest.approx(exact, rel=1e-11)
    assert len(tried) > 2


# --- properties ------------------------------------------------------------------------------------------------------

laws = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(laws, st.floats(-4, 1.3), st.floats(-200, 200))
def test_scale_order_and_merging(weights: list[float], log_share: float, log_scale: float) -> None:
    w = np.array(weights)
    x = w.sum() * 10**log_share
    tails = mixture_tails(x, w)
    scale = 10.0**log_scale
    assert mixture_tails(x * scale, w * scale) == pytest.approx(tails, rel=1e-11)
    assert mixture_tails(x, w[::-1]) == pytest.approx(tails, rel=1e-12)
    assert mixture_tails(x, np.repeat(w, 2)) == pytest.approx(mixture_tails(x, w, 2), rel=1e-12)
    assert tails.cdf + tails.sf == pytest.approx(1, abs=1e-15)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(laws, st.floats(-4, 1.3), st.floats(0.01, 3))
def test_monotone(weights: list[float], log_share: float, more: float) -> None:
    w = np.array(weights)
    x = w.sum() * 10**log_share
    tail = mixture_sf(x, w)
    slack = 1 - 1e-12
    assert mixture_sf(x * (1 + more), w) <= tail / slack
    for larger in (
        mixture_sf(x, w * (1 + more)),
        mixture_sf(x, np.append(w, 0.5 * more)),
        mixture_sf(x, w, 1 + more),
        mixture_sf(x, w, 1, more),
    ):
        assert larger >= tail * slack


@settings(deadline=None, derandomize=True, max_examples=30)
@given(laws, st.floats(-2, 1))
def test_density_is_the_slope(weights: list[float], log_share: float) -> None:
    w = np.array(weights)
    x = w.sum() * 10**log_share
    step = 1e-4 * x
    cdf = mixture_tails(x + step * np.array([-2, -1, 1, 2]), w).cdf
    slope = (cdf[0] - 8 * cdf[1] + 8 * cdf[2] - cdf[3]) / (12 * step)
    assert mixture_density(x, w) == pytest.approx(slope, rel=1e-6, abs=1e-10 / x)


@pytest.mark.parametrize("degrees", [1, 2, 7, 300])
def test_density_of_one_chi_square(degrees: int) -> None:
    x = np.r_[0.01, 0.5, 1, 3, 8] * degrees
    np.testing.assert_allclose(mixture_density(x, [2.0], degrees), stats.chi2.pdf(x / 2, degrees) / 2, rtol=2e-12)
    assert mixture_density(0, [1.0], degrees) == stats.chi2.pdf(0, degrees)
    assert mixture_density(-1, [1.0], degrees) == 0


def test_weights_that_are_rounding_are_harmless() -> None:
    w = np.array([1.0, 0.3, 0.02])
    noisy = np.r_[w, 3e-16, -2e-16, 0.0, 1e-17]
    for x in (1e-3, 0.5, 2.0, 60.0):
        assert mixture_tails(x, noisy) == pytest.approx(mixture_tails(x, w), rel=1e-12)
    # and a weight that matters for small x is kept, however small
    assert inversion_error(1e-13, [1, 1e-13]) < MEASURED
    assert mixture_tails(1e-13, [1, 1e-13]).cdf < 0.6 * mixture_tails(1e-13, [1]).cdf


# --- shapes, ends, errors --------------------------------------------------------------------------------------------


def test_many_laws_at_once_are_the_laws_one_by_one() -> None:
    rng = np.random.default_rng(3)
    w = 10 ** rng.uniform(-4, 0, (50, 6))
    k = rng.choice([1.0, 2, 9], (50, 6))
    v = rng.choice([0.0, 1, 30], (50, 6))
    x = rng.uniform(-0.1, 4, 50) * (w * (k + v)).sum(axis=1)
    many = mixture_tails(x, w, k, v)
    for i in range(50):
        one = mixture_tails(float(x[i]), w[i], k[i], v[i])
        np.testing.assert_allclose([many.cdf[i], many.sf[i]], one, rtol=1e-12)


def test_shapes() -> None:
    assert isinstance(mixture_sf(1, [1.0]), float)
    assert mixture_sf([[1, 2, 3]], [1.0, 2.0]).shape == (1, 3)
    assert mixture_sf(1.0, np.ones((5, 2))).shape == (5,)
    assert mixture_sf(np.ones((4, 1)), np.ones((5, 2))).shape == (4, 5)
    assert mixture_sf([], [1.0]).shape == (0,)
    assert mixture_sf(np.ones(5), np.ones((1, 2))).shape == (5,)
    assert mixture_density([1, 2], [1.0]).shape == (2,)


def test_ends() -> None:
    assert mixture_tails(0, [1, 2]) == (0.0, 1.0)
    assert mixture_tails(-3, [1, 2]) == (0.0, 1.0)
    assert mixture_tails(math.inf, [1, 2]) == (1.0, 0.0)
    assert mixture_tails(-math.inf, [1, 2]) == (0.0, 1.0)
    for x, w in ((1e300, [1.0]), (5e-5, [1e-300]), (5.0, [1e300, 1.0]), (1e-300, [1.0]), (1e-200, [1, 1e-200])):
        tails = mixture_tails(x, w)
        assert 0 <= tails.cdf <= 1
        assert tails.cdf + tails.sf == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, [0.0, 0.0]), "above 0"),
        ((1, [[1.0], [0.0]]), "above 0"),
        ((1, [1.0, -0.1]), "weights must be at least 0"),
        ((1, [1.0, math.nan]), "weights must be finite"),
        ((1, [1.0, math.inf]), "weights must be finite"),
        ((1, []), "at least one"),
        ((1, 3.0), "at least one"),
        ((1, "abc"), "weights must be numbers"),
        ((math.nan, [1.0]), "x must be numbers, not NaN"),
        ((1, [1.0], 0), "degrees"),
        ((1, [1.0], 1, -1), "noncentrality"),
        ((1, [1.0], 1, math.nan), "noncentrality"),
        ((1, [1.0, 2.0], [1, 2, 3]), "fit"),
        ((1, [1.0], [1, 2, 3]), "entries, but weights has"),
        (([1, 2, 3], np.ones((2, 2))), "fit"),
    ],
)
def test_wrong_input(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        mixture_tails(*arguments)


def test_no_adversarial_law_leaves_the_integral_unfinished() -> None:
    """Weight ratios to 1e14, up to 500 weights, noncentralities to 1e5, points from 1e-8 to 1e4 of the mean."""
    rng = np.random.default_rng(12)
    for _ in range(150):
        d, ratio = int(rng.choice([1, 2, 5, 20, 200, 500])), 10 ** rng.uniform(0, 14)
        shapes = (
            np.exp(rng.uniform(-np.log(ratio), 0, d)),
            np.r_[1.0, np.full(d - 1, 1 / ratio)],
            np.geomspace(1 / ratio, 1, d),
            np.r_[np.full(d, 1 + 1e-15), 1 / ratio],
        )
        w = shapes[rng.integers(4)]
        k = rng.choice([0.5, 1, 1, 3, 1e6])
        v = 10 ** rng.uniform(-6, 5, w.size) * (rng.random(w.size) < 0.3)
        mean, variance = mixture_moments(w, k, v)
        x = np.sort(np.abs(np.r_[mean * 10 ** rng.uniform(-8, 4, 5), mean + variance**0.5 * rng.uniform(-3, 9, 5)]))
        cdf, sf = mixture_tails(x, w, k, v)
        assert np.all(np.isfinite(cdf) & np.isfinite(sf))
        assert np.all(np.isfinite(mixture_density(x, w, k, v)))
        assert np.all(np.diff(sf) <= 1e-10 * sf[:-1])
        assert np.all(np.diff(cdf) >= -1e-10 * cdf[1:])


def test_a_law_that_is_nearly_a_constant_and_half_a_degree_is_finished() -> None:
    """A tiny weight of huge noncentrality is a shift; near it the rule takes the most nodes."""
    for x in (3.4, 3.5, 3.571, 3.58, 3.6, 3.7, 4.0, 7.0):
        shifted = mixture_tails(x, [7.7e-5, 1], 0.5, [46_000, 0])
        assert 0 < shifted.cdf < 1
        assert shifted.cdf + shifted.sf == pytest.approx(1, abs=1e-15)
    near = mixture_tails(13.542, [7.7e-5, 1], 0.5, [46_000, 0]).sf
    normal, weight = np.polynomial.hermite_e.hermegauss(40)
    shift = 7.7e-5 * (46_000.5 + np.sqrt(2 * 0.5 + 4 * 46_000) * normal)
    assert near == pytest.approx(float((weight * stats.chi2.sf(13.542 - shift, 0.5)).sum() / weight.sum()), rel=1e-4)
    with pytest.raises(InvalidParameter, match=r"degrees must be in \[0.5"):
        mixture_tails(1.0, [1.0], 0.49)


def test_many_small_weights_together_are_a_shift_that_is_not_left_out() -> None:
    """Two hundred weights of 5e-12 shift the distribution by 1e-9: 5e-8 of the lower tail at 0.01, and all of it
    counts."""
    found = mixture_tails(0.01, [1.0] + [5e-12] * 200).cdf
    assert found == pytest.approx(stats.chi2.cdf(0.01 - 1e-9, 1), rel=1e-11)
    assert abs(found / stats.chi2.cdf(0.01, 1) - 1) > 4e-8
