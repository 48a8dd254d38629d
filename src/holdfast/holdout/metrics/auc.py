"""The area under the ROC curve: how often a positive row outscores a negative one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.bounds.one_question.two_sample import two_sample_u
from holdfast.holdout.metrics import rows
from holdfast.holdout.procedure import OnRows, Side


def auc(labels: Any, scores: Any) -> OnRows:
    """The AUC of a fixed score, `P(score of a positive > score of a negative) + P(equal)/2`.

    Given the labels, the scores of the positive rows are independent draws from one law and those of the negative rows
    from another. So `one-question.two-sample-u` holds whatever the class counts came out as, with the smaller count as
    its sample size, and then also before the labels are known. With a class that has no row the interval is [0, 1].

    Parameters
    ----------
    labels : array
        0 or 1 a row.
    scores : array
        One number a row, larger for more likely positive; ties count half. No NaN.

    Returns
    -------
    OnRows
        Time: a sort of the negative scores and a search for each positive one; then microseconds an interval.

    Examples
    --------
    >>> question = auc([0, 1] * 5_000, [0.2, 0.8, 0.8, 0.9] * 2_500)
    >>> low, high = question.interval(-10.0)
    >>> question.description, round(low, 3), round(high, 3)
    ('AUC (two-sample U-statistic)', 0.852, 0.896)
    """
    positive = rows.flags("labels", labels)
    column = rows.ordered("scores", scores, len(positive))
    ones, zeros = column[positive], column[~positive]
    value = _area(ones, zeros)

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        return (0.0, 1.0) if value is None else two_sample_u(value, ones.size, zeros.size, log_share, side)

    return OnRows(0.0, 1.0, len(positive), "AUC (two-sample U-statistic)", limits)


def _area(ones: npt.NDArray[np.float64], zeros: npt.NDArray[np.float64]) -> float | None:
    """The mean over all pairs, from whole numbers; None where there is no pair."""
    if ones.size == 0 or zeros.size == 0:
        return None
    zeros = np.sort(zeros)
    below = int(np.searchsorted(zeros, ones, "left").sum(dtype=np.int64))
    up_to = int(np.searchsorted(zeros, ones, "right").sum(dtype=np.int64))
    return (below + up_to) / (2 * ones.size * zeros.size)


__all__ = ["auc"]
