"""The mean of per-row values by any family, betting included: the plainest question as a `Procedure`."""

from __future__ import annotations

from typing import Any, Literal

from holdfast import check
from holdfast.bounds.one_question.families import FAMILIES, mean_interval
from holdfast.data.values import summarise
from holdfast.errors import InvalidParameter
from holdfast.holdout.betting import Bets
from holdfast.holdout.metrics import rows
from holdfast.holdout.procedure import OnRows, Side

MeanFamily = Literal["hoeffding", "kl", "clopper-pearson", "empirical-bernstein", "betting"]
"""What an interval of a mean may be computed by; "clopper-pearson" declares the values to be 0/1."""

MEAN_FAMILIES = (*FAMILIES, "betting")


def mean(
    values: Any,
    family: MeanFamily = "kl",
    low: float = 0.0,
    high: float = 1.0,
    name: str = "mean",
    what: str = "values",
) -> OnRows:
    """The mean of one value a row, or of paired differences with `low=-1`.

    Parameters
    ----------
    values : array
        One number a row, in `[low, high]`. For "betting" their order may not depend on the values.
    family : str
        Chosen before the data; see `docs/one-question.md`. "clopper-pearson" needs 0/1 values.
    low, high : float
        Range that no value leaves, and that of the target.
    name, what : str
        Public words for the target; and for the values, in errors.

    Returns
    -------
    OnRows
        Time: a few passes over the rows now, microseconds an interval; "betting" reads the rows again for each.

    Examples
    --------
    >>> question = mean([1, 0, 1, 1] * 2_500, "clopper-pearson")
    >>> question
    OnRows(mean (clopper-pearson), n=10000, low=0, high=1)
    >>> low, high = question.interval(-10.0)
    >>> round(low, 3), round(high, 3)
    (0.732, 0.767)
    """
    family = check.choice("family", family, MEAN_FAMILIES)  # type: ignore[assignment]
    low, high = check.value_range(low, high)
    column = rows.bounded(what, values, low, high)
    words = f"{name} ({family})"
    if family == "betting":
        return OnRows(low, high, len(column), words, Bets.on(column, low, high, what).interval)
    binary = family == "clopper-pearson"
    if binary and (low, high) != (0.0, 1.0):
        raise InvalidParameter(f"low and high must be 0 and 1 for clopper-pearson, got [{low:g}, {high:g}]")
    summary = summarise(column, n=len(column), low=low, high=high, binary=binary, squares=True, name=what)

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        return mean_interval(
            family,
            summary.mean,
            summary.n,
            log_share,
            side,
            low=low,
            high=high,
            variance=summary.variance,
            slack=0.0 if binary else summary.slack,
        )

    return OnRows(low, high, summary.n, words, limits)


__all__ = ["MEAN_FAMILIES", "MeanFamily", "mean"]
