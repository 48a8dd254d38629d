"""The F1 score of fixed 0/1 predictions, and its weighted forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast import check
from holdfast.holdout.metrics import rows
from holdfast.holdout.metrics.counted_share import counted_share
from holdfast.holdout.metrics.ratio import RatioFamily, ratio
from holdfast.holdout.procedure import OnRows


def f1(labels: Any, predictions: Any) -> OnRows:
    """The F1 score of the population, `2 P(both) / (P(label) + P(prediction))`.

    Let `J` be the share of rows that are positive *and* predicted positive among those that are one or the other.
    `F1 = 2J/(1 + J)`, which rises with `J`. And `J` is a share of rows that count, for which Clopper-Pearson holds
    given how many count (`counted_share`). So no more is lost than for a plain accuracy. If no row is positive or
    predicted positive the interval is [0, 1].

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
    >>> low, high = f1([1, 1, 0, 0] * 500, [1, 1, 1, 0] * 500).interval(-5.0)
    >>> round(low, 2), round(high, 2)
    (0.78, 0.82)
    """
    positive = rows.flags("labels", labels)
    predicted = rows.flags("predictions", predictions, len(positive))
    return counted_share(positive & predicted, positive | predicted, "F1", _from_jaccard)


def f_beta(labels: Any, predictions: Any, beta: float, family: RatioFamily = "kl") -> OnRows:
    """The F-beta score, `(1 + b^2) P(both) / ((1 + b^2) P(both) + b^2 P(missed) + P(false alarm))`.

    Rows that count weigh differently unless `beta` is 1, so it goes through `ratio` with denominators in
    `[0, 1 + b^2]`; at `beta` 1 `f1` is narrower and is used.

    Parameters
    ----------
    labels, predictions : array
        0 or 1 a row.
    beta : float
        How much more recall weighs than precision, from 0.01 to 100.
    family : str
        What `ratio` tests candidates by, chosen before the data.

    Returns
    -------
    OnRows
        Time: a few passes over the rows.

    Examples
    --------
    >>> low, high = f_beta([1, 1, 0, 0] * 500, [1, 1, 1, 0] * 500, 2.0).interval(-5.0)
    >>> round(low, 2), round(high, 2)
    (0.86, 0.94)
    """
    square = check.real("beta", beta, at_least=0.01, at_most=100) ** 2
    check.choice("family", family, ("kl", "empirical-bernstein"))
    if square == 1.0:
        return f1(labels, predictions)
    positive = rows.flags("labels", labels)
    predicted = rows.flags("predictions", predictions, len(positive))
    both = (1 + square) * (positive & predicted)
    other = np.where(positive & ~predicted, square, 0.0) + np.where(predicted & ~positive, 1.0, 0.0)
    return ratio(both, both + other, 1 + square, family=family, name=f"F{beta:g}")


def _from_jaccard(share: float) -> float:
    return 2 * share / (1 + share)


__all__ = ["f1", "f_beta"]
