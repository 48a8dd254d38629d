"""A weighted mean, `E[w v] / E[w]`, where the weights are bounded and say so."""

from __future__ import annotations

from typing import Any

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.holdout.metrics import rows
from holdfast.holdout.metrics.ratio import RatioFamily, from_parts
from holdfast.holdout.procedure import OnRows


def weighted_mean(
    values: Any,
    weights: Any,
    max_weight: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    family: RatioFamily = "kl",
) -> OnRows:
    """The mean of a value where each row weighs what its weight says, `E[w v] / E[w]`.

    It is a ratio of two means (see `ratio`): the values `w (v - c)` lie in an interval of length `max_weight` times the
    range of `v`. Without a declared bound on the weights nothing can be certified, because one heavy row may decide
    everything; so the bound is asked for, and never read off the rows.

    Parameters
    ----------
    values : array
        One number a row, in `[low, high]`.
    weights : array
        One number a row, in `[0, max_weight]`.
    max_weight : float
        Declared bound on the weights, above 0.
    low, high : float
        Range that no value leaves.
    family : str
        "kl" or "empirical-bernstein", chosen before the data.

    Returns
    -------
    OnRows
        Time: a few passes over the rows, then about a hundred microseconds an interval.

    Examples
    --------
    >>> low, high = weighted_mean([1, 0, 1, 1] * 2_500, [1, 2, 3, 2] * 2_500, 4).interval(-5.0)
    >>> round(low, 3), round(high, 3)
    (0.72, 0.778)
    >>> weighted_mean([1, 0], [1, 2])
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: max_weight must be declared: without a bound on the weights nothing is certified
    """
    if max_weight is None:
        raise InvalidParameter("max_weight must be declared: without a bound on the weights nothing is certified")
    low, high = check.value_range(low, high)
    most = check.real("max_weight", max_weight, at_least=1e-100, at_most=1e100)
    weight = rows.bounded("weights", weights, 0.0, most)
    value = rows.bounded("values", values, low, high, len(weight))
    return from_parts(weight * ((value - low) / (high - low)), weight, most, low, high, family, "weighted mean")


__all__ = ["weighted_mean"]
