"""Holm's method: many p-values, one probability of any false rejection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: reject those at most alpha, and any false rejection has probability at most alpha.

    Holm (1979); valid whatever the dependence between the p-values.

    Examples
    --------
    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.5])]
    [0.03, 0.08, 0.5]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.minimum(values[order] * np.arange(values.size, 0, -1), 1.0)
    found = np.empty(values.size)
    found[order] = np.maximum.accumulate(stepped)
    return [float(p) for p in found]


__all__ = ["holm"]
