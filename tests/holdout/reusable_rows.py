"""Rows for the reusable holdout: 0/1 columns with a chosen mean."""

from __future__ import annotations

import numpy as np

N = 10_000


def column(mean: float, n: int = N) -> np.ndarray:
    """0/1 values with this mean."""
    return np.arange(n) < round(mean * n)
