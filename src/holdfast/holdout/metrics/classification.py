"""Metrics of fixed predictions as procedures: precision, recall, F scores, the area under the ROC curve, win shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.bounds.one_question.means import Side, clopper_pearson, outwards, two_sample_u
from holdfast.core import arguments
from holdfast.holdout.intervals.procedure import OnRows
from holdfast.holdout.metrics import means
from holdfast.holdout.metrics.means import RatioFamily, ratio


def counted_share(
    hits: npt.NDArray[np.bool_],
    counts: npt.NDArray[np.bool_],
    name: str,
    transform: Callable[[float], float] | None = None,
) -> OnRows:
    """The conditional probability of a hit given that a row counts, by Clopper-Pearson given how many rows count.

    Rows are independent, so given *which* rows count the hits among them are independent with the same probability
    `P(hit) / P(counts)`: their number is binomial. The interval therefore covers given the number that counts, and
    then also on average over it. If no row counts it is [0, 1].

    Parameters
    ----------
    hits, counts : array of bool
        One a row; a hit must count.
    name : str
        Public words for the target.
    transform : callable
        A rising map of [0, 1] onto [0, 1] to apply to the share: an interval of the share maps to one of the target.
        Its rounding, up to 4 units in the last place of 1, is made up for.

    Returns
    -------
    OnRows
        Time: three passes over the rows, then tens of microseconds an interval.

    Examples
    --------
    >>> hits, counts = np.array([True, False, False] * 900), np.array([True, True, False] * 900)
    >>> low, high = counted_share(hits, counts, "precision").interval(-5.0)
    >>> round(low, 2), round(high, 2)
    (0.47, 0.53)
    """
    hit, total = int(np.count_nonzero(hits & counts)), int(np.count_nonzero(counts))

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        if total == 0:
            return 0.0, 1.0
        share = clopper_pearson(hit, total, log_share, side)
        return share if transform is None else outwards(transform(share.low), transform(share.high), 0.0, 1.0)

    rate = hit / total if total else 0.0
    value = rate if transform is None else transform(rate)
    return OnRows(0.0, 1.0, hits.size, f"{name} (Clopper-Pearson given the rows that count)", limits, value)


def precision(labels: Any, predictions: Any) -> OnRows:
    """Return the precision as a metric: the probability that a row that is predicted positive is positive.

    If no row is predicted positive, the interval is [0, 1].

    Parameters
    ----------
    labels, predictions : array
        0 or 1 a row.

    Returns
    -------
    OnRows
        Time: a few passes over the rows.

    Notes
    -----
    Among the rows predicted positive the correct ones are binomial; see `counted_share`.

    Examples
    --------
    >>> low, high = precision([1, 1, 0, 0] * 500, [1, 1, 1, 0] * 500).interval(-5.0)
    >>> round(low, 2), round(high, 2)
    (0.63, 0.7)
    """
    positive = means.flags("labels", labels)
    predicted = means.flags("predictions", predictions, len(positive))
    return counted_share(positive & predicted, predicted, "precision")


def recall(labels: Any, predictions: Any) -> OnRows:
    """Return the recall as a metric: the probability that a positive row is predicted positive.

    If no row is positive, the interval is [0, 1].

    Parameters
    ----------
    labels, predictions : array
        0 or 1 a row.

    Returns
    -------
    OnRows
        Time: a few passes over the rows.

    Notes
    -----
    Among the positive rows the found ones are binomial; see `counted_share`.

    Examples
    --------
    >>> low, high = recall([1, 1, 0, 0] * 500, [1, 0, 1, 0] * 500).interval(-5.0)
    >>> round(low, 2), round(high, 2)
    (0.46, 0.54)
    """
    positive = means.flags("labels", labels)
    predicted = means.flags("predictions", predictions, len(positive))
    return counted_share(positive & predicted, positive, "recall")


def f1(labels: Any, predictions: Any) -> OnRows:
    """Return the F1 score of the population as a metric, `2 P(both) / (P(label) + P(prediction))`.

    `P(both)` is the probability that a row is positive and predicted positive. The interval is an exact binomial
    interval. If no row is positive or predicted positive, the interval is [0, 1].

    Parameters
    ----------
    labels, predictions : array
        0 or 1 a row.

    Returns
    -------
    OnRows
        Time: a few passes over the rows.

    Notes
    -----
    Let `J` be the share of rows that are positive *and* predicted positive among those that are one or the other.
    `F1 = 2J/(1 + J)`, which rises with `J`. And `J` is a share of rows that count, for which Clopper-Pearson
    holds given how many count (`counted_share`). So no more is lost than for a plain accuracy.

    Examples
    --------
    >>> low, high = f1([1, 1, 0, 0] * 500, [1, 1, 1, 0] * 500).interval(-5.0)
    >>> round(low, 2), round(high, 2)
    (0.78, 0.82)
    """
    positive = means.flags("labels", labels)
    predicted = means.flags("predictions", predictions, len(positive))
    return counted_share(positive & predicted, positive | predicted, "F1", _from_jaccard)


def f_beta(labels: Any, predictions: Any, beta: float, family: RatioFamily = "kl") -> OnRows:
    """Return the F-beta score as a metric, with `b = beta`.

    The score is `(1 + b^2) P(both) / ((1 + b^2) P(both) + b^2 P(missed) + P(false alarm))`. For `beta` 1 the narrower
    interval of `f1` is used.

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

    Notes
    -----
    Rows that count weigh differently unless `beta` is 1, so it goes through `ratio` with denominators in `[0, 1 +
    b^2]`.

    Examples
    --------
    >>> low, high = f_beta([1, 1, 0, 0] * 500, [1, 1, 1, 0] * 500, 2.0).interval(-5.0)
    >>> round(low, 2), round(high, 2)
    (0.86, 0.94)
    """
    square = arguments.real("beta", beta, at_least=0.01, at_most=100) ** 2
    arguments.choice("family", family, ("kl", "empirical-bernstein"))
    if square == 1.0:
        return f1(labels, predictions)
    positive = means.flags("labels", labels)
    predicted = means.flags("predictions", predictions, len(positive))
    both = (1 + square) * (positive & predicted)
    other = np.where(positive & ~predicted, square, 0.0) + np.where(predicted & ~positive, 1.0, 0.0)
    return ratio(both, both + other, 1 + square, family=family, name=f"F{beta:g}")


def _from_jaccard(share: float) -> float:
    return 2 * share / (1 + share)


def auc(labels: Any, scores: Any) -> OnRows:
    """Return the AUC of a fixed score as a metric: `P(score of a positive > score of a negative) + P(equal)/2`.

    The interval is that of `one-question.two-sample-u`, with the smaller class count as its sample size. If a class has
    no row, the interval is [0, 1].

    Parameters
    ----------
    labels : array
        0 or 1 a row.
    scores : array
        One number per row, larger for more likely positive; ties count half. No NaN.

    Returns
    -------
    OnRows
        Time: a sort of the negative scores and a search for each positive one; then microseconds an interval.

    Notes
    -----
    Given the labels, the scores of the positive rows are independent draws from one distribution and those of the
    negative rows from another. So the interval holds whatever the class counts came out as, and then also before
    the labels are known.

    Examples
    --------
    >>> question = auc([0, 1] * 5_000, [0.2, 0.8, 0.8, 0.9] * 2_500)
    >>> low, high = question.interval(-10.0)
    >>> question.description, round(low, 3), round(high, 3)
    ('AUC (two-sample U-statistic)', 0.852, 0.896)
    """
    positive = means.flags("labels", labels)
    column = means.ordered("scores", scores, len(positive))
    ones, zeros = column[positive], column[~positive]
    value = _area(ones, zeros)

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        return (0.0, 1.0) if value is None else two_sample_u(value, ones.size, zeros.size, log_share, side)

    return OnRows(0.0, 1.0, len(positive), "AUC (two-sample U-statistic)", limits, 0.5 if value is None else value)


def _area(ones: npt.NDArray[np.float64], zeros: npt.NDArray[np.float64]) -> float | None:
    """The mean over all pairs, from whole numbers; None where there is no pair."""
    if ones.size == 0 or zeros.size == 0:
        return None
    zeros = np.sort(zeros)
    below = int(np.searchsorted(zeros, ones, "left").sum(dtype=np.int64))
    up_to = int(np.searchsorted(zeros, ones, "right").sum(dtype=np.int64))
    return (below + up_to) / (2 * ones.size * zeros.size)


def win_share(values_b: Any, values_a: Any) -> OnRows:
    """Return, as a metric, the probability that B beats A on a row on which they differ, `P(b > a | b != a)`.

    This is the sign test, and for 0/1 values McNemar's exact test, in the form of an interval. For 0/1 values the
    probability is above 1/2 exactly if the mean of B is above the mean of A. Rows on which both agree do not matter.
    Therefore, for two good models, it is much sharper than an interval of the mean difference. If A and B never differ,
    the interval is [0, 1].

    Parameters
    ----------
    values_b, values_a : array
        One number per row each, larger is better, e.g. whether each was right. No NaN.

    Returns
    -------
    OnRows
        Time: a few passes over the rows.

    Notes
    -----
    Among the rows on which they differ the wins of B are binomial; see `counted_share`. The range of the mean
    difference is 2.

    Examples
    --------
    B wins 200 of the 300 rows out of 10,000 on which the two differ. That settles it, at a share of 1e-6:

    >>> import numpy as np
    >>> a = np.r_[np.zeros(200), np.ones(100), np.ones(9_700)]
    >>> b = np.r_[np.ones(200), np.zeros(100), np.ones(9_700)]
    >>> win_share(b, a).interval(np.log(1e-6), "lower")[0] > 0.5
    True
    """
    b = means.ordered("values_b", values_b)
    a = means.ordered("values_a", values_a, len(b))
    return counted_share(b > a, b != a, "share of wins of B over A")
