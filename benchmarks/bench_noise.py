"""Secure noise against OpenDP's: one draw, a million, and the first draw at a new scale."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count

import opendp.prelude as dp

from benchmarks.timing import Row, at_least, at_most, best_of
from holdfast.noise import discrete_gaussian, discrete_laplace

ONE, MILLION = 8.0, 10.0
"""How many times faster than OpenDP we claim to be, for one draw and for a million."""

NEW_SCALE = 5.0
"""A scale that is used once pays for its tables; it may cost this many times OpenDP's measurement and draw."""

_SCALES = (1, 1000)
_PEER_DRAWS = 50_000


def rows() -> list[Row]:
    """Both distributions at a small and a large scale; the entropy is the operating system's on both sides."""
    dp.enable_features("contrib")
    measured = []
    for scale in _SCALES:
        measured += _law("Laplace", discrete_laplace, dp.m.make_laplace, dp.l1_distance, int, scale)
        measured += _law("Gaussian", discrete_gaussian, dp.m.make_gaussian, dp.l2_distance, float, scale)
    return measured


def _law(
    name: str,
    ours: Callable[..., object],
    make: Callable[..., Callable[[object], object]],
    vector_distance: Callable[..., object],
    distance: type,
    scale: int,
) -> list[Row]:
    whole = dp.atom_domain(T=int)
    one = make(whole, dp.absolute_distance(T=distance), scale=float(scale))
    many = make(dp.vector_domain(whole), vector_distance(T=distance), scale=float(scale))
    zeros = [0] * _PEER_DRAWS
    ours(scale)  # the tables of a scale are made once
    our_one = best_of(lambda: ours(scale), repeats=7, number=2000)
    our_million = best_of(lambda: ours(scale, 1_000_000), repeats=5)
    their_one = best_of(lambda: one(0), repeats=7, number=500)
    their_million = best_of(lambda: many(zeros), repeats=2) * 1_000_000 / _PEER_DRAWS
    peer = f"OpenDP, {_PEER_DRAWS:,} draws times {1_000_000 // _PEER_DRAWS}"
    fresh = count(1)
    our_first = best_of(lambda: ours(scale + Fraction(next(fresh), 10**6)), repeats=5, number=50)
    their_first = best_of(
        lambda: make(whole, dp.absolute_distance(T=distance), scale=scale + next(fresh) * 1e-6)(0), repeats=5, number=50
    )
    return [
        at_least(f"{name}, scale {scale}: one secure draw", ONE, our_one, "OpenDP", their_one),
        at_least(f"{name}, scale {scale}: a million secure draws", MILLION, our_million, peer, their_million),
        at_most(f"{name}, scale {scale}: the first draw at a new scale", NEW_SCALE, our_first, "OpenDP", their_first),
    ]
