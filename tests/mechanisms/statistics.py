"""Helpers for statistical tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
from scipy.special import chdtrc

LEVEL = 1e-6
"""Error rate of every statistical test here."""


def fits(outcomes: Iterable[Hashable], law: Mapping[Hashable, float]) -> bool:
    """Pearson's chi-square test at `LEVEL` that the outcomes follow the distribution; rare outcomes are taken
    together."""
    counts = Counter(outcomes)
    n = sum(counts.values())
    if any(outcome not in law for outcome in counts):
        return False
    cells = sorted(law, key=lambda outcome: law[outcome])
    expected = np.array([n * law[outcome] for outcome in cells])
    observed = np.array([counts[outcome] for outcome in cells], dtype=float)
    rare = int(np.searchsorted(np.cumsum(expected), 20.0)) + 1  # the rarest cells until they are twenty together
    expected = np.array([expected[:rare].sum(), *expected[rare:]])
    observed = np.array([observed[:rare].sum(), *observed[rare:]])
    if len(expected) < 2:
        return True
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return bool(chdtrc(len(expected) - 1, statistic) > LEVEL)
