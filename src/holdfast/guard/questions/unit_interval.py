"""The interval of a share in [0, 1] that was seen only through noise: one rule for every noisy question."""

from __future__ import annotations

from functools import lru_cache

from holdfast.holdout.families import MEAN_FAMILIES
from holdfast.holdout.mean_interval import MeanInterval


@lru_cache(maxsize=64)
def unit_interval(n: int) -> MeanInterval:
    """Kullback-Leibler intervals for a mean of `n` values in [0, 1]; `over` takes the ends that noise leaves possible.

    Examples
    --------
    >>> low, high = unit_interval(1000).over(0.49, 0.51, log_share=-3.0)
    >>> 0.44 < low < 0.49 < 0.51 < high < 0.56
    True
    """
    return MeanInterval(MEAN_FAMILIES["kl"], n, 0.0, 1.0)


__all__ = ["unit_interval"]
