"""Online tests: the cost of one more test early and late in a stream, ours and the online-fdr package's."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from online_fdr.p_values.investing.saffron.saffron import Saffron as PeerSaffron

from benchmarks.timing import Row, at_least, at_most, best_of
from holdfast.inference.online import LordPlusPlus, Saffron, Stream

EARLY, LATE = 1_000, 100_000
FLAT = 2.0
"""A test at the end of a long stream may cost this many times what it costs early."""

_MANY = 2_000
_PEER_TESTS = 20


def rows() -> list[Row]:
    """One in five p-values is rejected, so the history holds 20,000 rejections at the end."""
    stream = np.random.default_rng(1).random(LATE + _MANY)
    stream[::5] *= 1e-7
    p_values = stream.tolist()
    measured = []
    for make in (Saffron, LordPlusPlus):
        early, late = _ours(make, p_values, EARLY), _ours(make, p_values, LATE)
        name = f"{make.__name__}: one test after {LATE:,} against one after {EARLY:,}"
        measured.append(at_most(name, FLAT, late, f"ours after {EARLY:,}", early))
        if make is Saffron:
            measured += _against_peer(p_values, early, late)
    return measured


def _ours(make: Callable[[float], Stream], p_values: list[float], start: int) -> float:
    stream = make(0.05)
    for p in p_values[:start]:
        stream.test(p)
    following = p_values[start : start + _MANY]
    before = stream.state()

    def run() -> None:
        again = type(stream).from_state(before)
        for p in following:
            again.test(p)

    setup = best_of(lambda: type(stream).from_state(before), repeats=7)
    return (best_of(run, repeats=7) - setup) / len(following)


def _against_peer(p_values: list[float], early: float, late: float) -> list[Row]:
    """The peer sums over all rejections at every test. Its history is put in place: running to it takes minutes."""
    theirs = [_peer(p_values, size) for size in (EARLY, LATE)]
    growth = f"online-fdr after {LATE:,}, {theirs[1] / theirs[0]:.0f}x its cost after {EARLY:,}"
    return [
        at_least(f"Saffron: one test after {EARLY:,}", 1.0, early, f"online-fdr after {EARLY:,}", theirs[0]),
        at_least(f"Saffron: one test after {LATE:,}", 100.0, late, growth, theirs[1]),
    ]


def _peer(p_values: list[float], start: int) -> float:
    ours = Saffron(0.05)
    decisions = [ours.test(p) for p in p_values[:start]]
    peer = PeerSaffron(0.05, 0.025, 0.5)
    candidates = [d.p <= 0.5 for d in decisions]
    peer.candidates = candidates
    peer._candidate_prefix = [0, *np.cumsum(candidates).tolist()]
    peer.reject_idx = [i for i, d in enumerate(decisions, 1) if d.rejected]
    peer._num_hypotheses = start
    begin = time.perf_counter()
    for p in p_values[start : start + _PEER_TESTS]:
        level = ours.level
        if peer.test_one(p) is not ours.test(p).rejected or abs(peer.last_test_level / level - 1) > 1e-12:
            raise AssertionError("ours and online-fdr disagree")
    return (time.perf_counter() - begin) / _PEER_TESTS
