"""Precision and recall of fixed 0/1 predictions."""

from __future__ import annotations

from typing import Any

from holdfast.holdout.metrics import rows
from holdfast.holdout.metrics.counted_share import counted_share
from holdfast.holdout.procedure import OnRows


def precision(labels: Any, predictions: Any) -> OnRows:
    """The probability that a row predicted positive is positive.

    Among the rows predicted positive the correct ones are binomial; see `counted_share`. No row predicted positive
    gives [0, 1].

    Parameters
    ----------
    labels, predictions : array
        0 or 1 a row.

    Returns
    -------
    OnRows
        Time: a few passes over the rows.

    Examples
    --------
    >>> low, high = precision([1, 1, 0, 0] * 500, [1, 1, 1, 0] * 500).interval(-5.0)
    >>> round(low, 2), round(high, 2)
    (0.63, 0.7)
    """
    positive = rows.flags("labels", labels)
    predicted = rows.flags("predictions", predictions, len(positive))
    return counted_share(positive & predicted, predicted, "precision")


def recall(labels: Any, predictions: Any) -> OnRows:
    """The probability that a positive row is predicted positive.

    Among the positive rows the found ones are binomial; see `counted_share`. No positive row gives [0, 1].

    Parameters
    ----------
    labels, predictions : array
        0 or 1 a row.

    Returns
    -------
    OnRows
        Time: a few passes over the rows.

    Examples
    --------
    >>> low, high = recall([1, 1, 0, 0] * 500, [1, 0, 1, 0] * 500).interval(-5.0)
    >>> round(low, 2), round(high, 2)
    (0.46, 0.54)
    """
    positive = rows.flags("labels", labels)
    predicted = rows.flags("predictions", predictions, len(positive))
    return counted_share(positive & predicted, positive, "recall")


__all__ = ["precision", "recall"]
