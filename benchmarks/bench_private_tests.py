"""Private tests: the tail of a chi-square mixture against Imhof's integral by adaptive quadrature."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate

from benchmarks.timing import Row, at_least, at_most, best_of
from holdfast.bounds.chi_square_mixture import mixture_sf

ONE_TAIL = 1e-3
"""Seconds that one tail of 20 different weights may take."""

MANY_TAILS = 2.0
"""Seconds that 10,000 tails of 10,000 different laws of 20 weights may take."""

_LAWS = 10_000
_PEER_LAWS = 20


def rows() -> list[Row]:
    """One tail and 10,000; the peer gives about ten digits of absolute accuracy, ours thirteen relative ones."""
    return _mixture()


def _mixture() -> list[Row]:
    weights = np.linspace(0.5, 2, 20)
    ours = best_of(lambda: mixture_sf(45.0, weights), repeats=7, number=50)
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
    many = "mixture tails: 10,000 laws of 20 weights"
    peer_many = f"quadrature, {_PEER_LAWS} laws times {_LAWS // _PEER_LAWS}"
    return [
        at_most("mixture tail: 20 weights, one tail", 1, ours, "the limit", ONE_TAIL),
        at_least("mixture tail: 20 weights, one tail", 1.5, ours, "Imhof's integral by scipy quad", theirs),
        at_most(many, 1, ours_many, "the limit", MANY_TAILS),
        at_least(many, 10, ours_many, peer_many, theirs_many),
    ]


def _imhof(x: float, weights: NDArray[np.float64]) -> float:
    def integrand(u: float) -> float:
        a = weights * u
        theta = 0.5 * float(np.arctan(a).sum()) - 0.5 * x * u
        return math.sin(theta) * math.exp(-0.25 * float(np.log1p(a * a).sum())) / u

    value, _ = integrate.quad(integrand, 0, math.inf, epsabs=1e-11, limit=500)
    return 0.5 + value / math.pi
