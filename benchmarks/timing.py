"""How benchmarks measure and what a row of the report holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

LIMIT = "the limit"
"""The peer of a row that is held to a figure and not to something else that runs: its ratio is the machine's too."""
DISK = "bare INSERT and fsync"
"""The peer of a row that is held to a disk: an fsync takes 0.2 ms on one and 4 ms on another, and the ratio tells."""


@dataclass(frozen=True)
class Row:
    """One comparison: `ratio` is how many times the peer's time ours is divided into; `ok` is the claim.

    `name` is the same in every run, so that ratios can be recorded under it; `detail` is what else this run showed.
    """

    name: str
    ours_seconds: float
    peer: str
    peer_seconds: float
    claim: str
    ok: bool
    detail: str = ""

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


def in_turn(*runs: Callable[[], object], rounds: int = 9, number: int = 1) -> list[float]:
    """Processor seconds per call of each, the least of `rounds` taken in turn: what disturbs one disturbs all."""
    best = [float("inf")] * len(runs)
    for _ in range(rounds):
        for place, run in enumerate(runs):
            start = time.process_time()
            for _ in range(number):
                run()
            best[place] = min(best[place], (time.process_time() - start) / number)
    return best


def per_call(run: Callable[[], object], number: int) -> float:
    """Seconds per call of one round of `number` calls."""
    return best_of(run, repeats=1, number=number)


def by_clients(run: Callable[[], object], clients: int, each: int) -> float:
    """Seconds per call while `clients` threads make `each` calls."""

    def client() -> None:
        for _ in range(each):
            run()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - start) / (clients * each)


def at_least(name: str, factor: float, ours: float, peer: str, theirs: float) -> Row:
    """A row that claims ours is at least `factor` times faster than the peer."""
    return Row(name, ours, peer, theirs, f"at least {factor:g}x faster", theirs >= factor * ours)


def at_most(name: str, factor: float, ours: float, peer: str, theirs: float) -> Row:
    """A row that claims ours takes at most `factor` times the reference."""
    return Row(name, ours, peer, theirs, f"at most {factor:g}x the reference", ours <= factor * theirs)
