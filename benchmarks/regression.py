"""Ratios that were recorded, and whether a new run is worse than they allow.

A ratio is ours against a peer in one run, so a slow machine alone does not move it; a busy one may. A row that looks
worse is therefore measured again, several times, and only its best showing counts: noise is gone in one of a few tries,
and a real regression is in all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.timing import DISK, LIMIT, Row

FACTOR = 1.5
"""How many times worse than the recorded ratio is a regression."""
TRIES = 6
"""How often a row is measured before it is called a regression."""
RECORD = Path(__file__).parent / "recorded.json"

Measure = Callable[[str], list[Row]]
Ratios = Mapping[str, float]


@dataclass(frozen=True)
class Regression:
    """A row whose best ratio of several measurements is worse than the recorded one allows."""

    module: str
    name: str
    recorded: float
    best: float

    def __str__(self) -> str:
        return (
            f"{self.module}: {self.name}: ratio {self.best:.3g} at best, recorded {self.recorded:.3g} "
            f"({self.recorded / self.best:.2g}x worse; {FACTOR:g}x is allowed)"
        )


def regressions(module: str, rows: Iterable[Row], recorded: Ratios, measure: Measure) -> list[Regression]:
    """The rows of one module that are worse than recorded in every one of `TRIES` measurements."""
    best = {row.name: row.ratio for row in rows}

    def suspects() -> list[Regression]:
        found = [Regression(module, name, recorded[name], best[name]) for name in best if name in recorded]
        return [one for one in found if one.best * FACTOR < one.recorded]

    for _ in range(TRIES - 1):
        if not suspects():
            return []
        for row in measure(module):
            best[row.name] = max(best.get(row.name, 0.0), row.ratio)
    return suspects()


def read(path: Path = RECORD) -> dict[str, dict[str, float]]:
    """The recorded ratios: a mapping for each module."""
    found: dict[str, dict[str, float]] = json.loads(path.read_text())
    return found


def write(runs: Mapping[str, list[list[Row]]], path: Path = RECORD) -> None:
    """Record the median ratio of several runs of each module; modules that were not run keep theirs.

    Rows that are held to a limit or to a disk are not recorded: a slower machine comes nearer to a limit, a quicker
    disk is harder to keep up with, and neither is a regression.
    """
    recorded = read(path) if path.is_file() else {}
    for module, repeats in runs.items():
        names = [row.name for row in repeats[0] if row.peer not in (LIMIT, DISK)]
        ratios = {name: [row.ratio for rows in repeats for row in rows if row.name == name] for name in names}
        recorded[module] = {name: float(f"{median(found):.3g}") for name, found in ratios.items()}
    path.write_text(json.dumps(dict(sorted(recorded.items())), indent=2, ensure_ascii=False) + "\n")
