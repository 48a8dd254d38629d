"""How benchmarks measure and what a row of the report holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One comparison: `ratio` is how many times the peer's time ours is divided into; `ok` is the claim."""

    name: str
    ours_seconds: float
    peer: str
    peer_seconds: float
    claim: str
    ok: bool

    @property
    def ratio(self) -> float:
        """The peer's time over ours: above 1 we are faster."""
        return self.peer_seconds / self.ours_seconds


def best_of(run: Callable[[], object], repeats: int = 5, number: int = 1) -> float:
    """Seconds per call: the fastest of `repeats` rounds of `number` calls, which is least disturbed by other work."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(number):
            run()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def at_least(name: str, factor: float, ours: float, peer: str, theirs: float) -> Row:
    """A row that claims ours is at least `factor` times faster than the peer."""
    return Row(name, ours, peer, theirs, f"at least {factor:g}x faster", theirs >= factor * ours)


def at_most(name: str, factor: float, ours: float, peer: str, theirs: float) -> Row:
    """A row that claims ours takes at most `factor` times the reference."""
    return Row(name, ours, peer, theirs, f"at most {factor:g}x the reference", ours <= factor * theirs)
