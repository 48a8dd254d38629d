"""Private tests: mixture tails against Imhof's integral, many tests at once against one call each."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate

from benchmarks.timing import LIMIT, Row, at_least, at_most, best_of
from holdfast.bounds.numerics.chi_square import mixture_sf
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests import independence_tests

ONE_TAIL = 1e-3
"""Seconds that one tail of 20 different weights may take."""

MANY_TAILS = 2.0
"""Seconds that 10,000 tails of 10,000 different distributions of 20 weights may take."""

TESTS = 10_000
VECTORISED, VECTORISED_TAILS = 100.0, 5.0
"""How many times faster than one call each a batch is: with chi-square tails, and with one mixture tail a test."""

REPLICATES = 50.0
"""How many times faster than a loop over replicates MCIndep must be."""

_LAWS = 10_000
_PEER_LAWS = 20
_LOOPED = 200
_P0 = [1 / 2, 1 / 6, 1 / 6, 1 / 6]
_N = 20_000


def rows() -> list[Row]:
    """One tail and 10,000; the peer gives about ten digits of absolute accuracy, ours thirteen relative ones."""
    return _mixture() + _goodness_of_fit() + _independence()


def _mixture() -> list[Row]:
    weights = np.linspace(0.5, 2, 20)
    ours = best_of(lambda: mixture_sf(45.0, weights), repeats=400, number=1)  # short: a busy core interrupts
    theirs = best_of(lambda: _imhof(45.0, weights), repeats=3, number=3)
    rng = np.random.default_rng(0)
    laws = rng.uniform(0.1, 2, (_LAWS, 20))
    points = rng.uniform(0.5, 2, _LAWS) * laws.sum(axis=1)
    ours_many = best_of(lambda: mixture_sf(points, laws), repeats=3)
    theirs_many = (
        best_of(lambda: [_imhof(x, w) for x, w in zip(points[:_PEER_LAWS], laws, strict=False)], repeats=1)
        * _LAWS
        / _PEER_LAWS
    )
    many = "mixture tails: 10,000 distributions of 20 weights"
    peer_many = f"quadrature, {_PEER_LAWS} distributions times {_LAWS // _PEER_LAWS}"
    return [
        at_most("mixture tail: 20 weights, one tail", 1, ours, LIMIT, ONE_TAIL),
        at_least("mixture tail: 20 weights, one tail", 1.5, ours, "Imhof's integral by scipy quad", theirs),
        at_most(many, 1, ours_many, LIMIT, MANY_TAILS),
        at_least(many, 10, ours_many, peer_many, theirs_many),
    ]


def _imhof(x: float, weights: NDArray[np.float64]) -> float:
    def integrand(u: float) -> float:
        a = weights * u
        theta = 0.5 * float(np.arctan(a).sum()) - 0.5 * x * u
        return math.sin(theta) * math.exp(-0.25 * float(np.log1p(a * a).sum())) / u

    value, _ = integrate.quad(integrand, 0, math.inf, epsabs=1e-11, limit=500)
    return 0.5 + value / math.pi


def _goodness_of_fit() -> list[Row]:
    law = pt.gaussian(0.00125)
    rng = np.random.default_rng(1)
    noisy = pt.simulate_noisy(_N, _P0, law, TESTS, rng)
    few = [pt.NoisyCounts(row, _N, law) for row in noisy[:_LOOPED]]
    measured = []
    methods: list[tuple[pt.goodness_of_fit.Method, float]] = [
        ("projected", VECTORISED),
        ("asymptotic", VECTORISED_TAILS),
    ]
    for method, factor in methods:
        ours = best_of(lambda m=method: pt.gof_batch(noisy, _N, _P0, law, method=m))  # type: ignore[misc]
        loop = best_of(lambda m=method: [pt.gof(one, _P0, method=m) for one in few], 3) * TESTS / _LOOPED  # type: ignore[misc]
        measured.append(at_least(f"{TESTS:,} {method} GOF tests, p-values", factor, ours, "one call each", loop))
    return measured


def _independence() -> list[Row]:
    """MCIndep with m = 999 on one 2 by 2 table; the loop draws, denoises and ranks one replicate at a time."""
    noisy = pt.NoisyCounts(np.array([[2510.0, 2480.0], [2530.0, 2490.0]]), 10_000, pt.gaussian(0.00125))
    rng = np.random.default_rng(0)
    ours = best_of(lambda: independence_tests.monte_carlo_independence(noisy, rng=rng), repeats=10, number=5)
    theirs = best_of(lambda: _bootstrap_loop(noisy.values, noisy.n, 800**0.5, 999, rng), repeats=5)
    return [at_least("MCIndep: 2 by 2, m = 999", REPLICATES, ours, "one replicate at a time", theirs)]


def _bootstrap_loop(noisy: NDArray[np.float64], n: int, sigma: float, m: int, rng: np.random.Generator) -> float:
    observed, p = _fitted_statistic(noisy, n)
    at_least_as_large = done = 0
    while done < m:
        table = rng.multinomial(n, p.ravel()).reshape(p.shape) + rng.normal(0, sigma, p.shape)
        value, _ = _fitted_statistic(table, n)
        if not math.isnan(value):
            done += 1
            at_least_as_large += value >= observed
    return (1 + at_least_as_large) / (m + 1)


def _fitted_statistic(table: NDArray[np.float64], n: int) -> tuple[float, NDArray[np.float64]]:
    """The projection as Algorithm 11 asks for it, by sorting; Pearson's statistic at the fitted margins."""
    flat = table.ravel()
    down = np.sort(flat)[::-1]
    excess = np.cumsum(down) - n
    last = np.flatnonzero(down - excess / np.arange(1, flat.size + 1) > 0)[-1]
    clean = np.maximum(flat - excess[last] / (last + 1), 0).reshape(table.shape)
    p = np.outer(clean.sum(axis=1), clean.sum(axis=0)) / n**2
    if clean.min() < 5:
        return math.nan, p
    return float((np.square(table - n * p) / (n * p)).sum()), p
