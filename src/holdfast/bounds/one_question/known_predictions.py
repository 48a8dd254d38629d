"""Intervals for predictions that are known when the labels are drawn: the AUC and the F1 score of fixed rows.

On a leaderboard analysts hold the rows and not the labels. They may fit their predictions to these very rows, so what
is random is the labels: independent given everything that is known, with a probability of their own in each row. What
an interval can hold then is the score with the labels drawn anew.
"""

from __future__ import annotations

import math
from typing import Annotated

from holdfast.bounds.numerics.exact import UNIT
from holdfast.bounds.one_question import means
from holdfast.bounds.one_question.means import Limits, Side, clopper_pearson, outwards
from holdfast.bounds.parameters import Domain, LogShare, Rows
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

_STEPS = 60
_ROOM = 1e-9  # far more than what rounding can take off a width, relatively


def unlike_rows(log_share: float) -> float:
    """Return the error probability at which to compute Clopper and Pearson's interval for labels that are not alike.

    The labels are independent 0/1 labels, each with a probability of its own, and the interval is for the mean of these
    probabilities. The result is smaller than the given error probability by a factor near one.

    Parameters
    ----------
    log_share : float
        Natural logarithm of the share that may be spent; below `ln(1/2)`, so that each tail is below 1/4.

    Notes
    -----
    Let 0/1 labels be independent with probabilities of mean `p`, and let a limit of tail `t < 1/4` be taken as if each
    had probability `p`. It misses where the count `S` is at most some `c` with binomial tail `P(B <= c) < t` (the other
    side is the same with labels turned round). If `c <= np - 1`, then `P(S <= c) <= P(B <= c)` by Hoeffding 1956,
    Theorem 4. A larger `c` is at least `np` rounded down. If `1 - p > 1/n`, a binomial is at most `np` with probability
    above 1/4 (Greenberg and Mohri 2014), so no such `c` has a tail below 1/4; nor at `1 - p = 1/n`, where
    `P(B <= n-1) = 1 - (1 - 1/n)^n > 1/4`. If `1 - p < 1/n`, `c` is `n - 1`, and `P(S <= n-1)` is at most
    `n (1-p) <= -ln(1 - P(B <= n-1)) < -ln(1 - t)`. So it suffices to compute with a `t'` for which `-ln(1-t') <= t`;
    `t' = t e^(-t/2)` will do, since `sinh(t/2) >= t/2`. Derived; the two theorems named are as printed.

    Examples
    --------
    >>> unlike_rows(math.log(0.04)) - math.log(0.04)
    -0.02...
    """
    log_share = means.share(log_share)
    if log_share >= -math.log(2):
        raise InvalidParameter(f"log_share must be below ln(1/2) for rows that are not alike, got {log_share:g}")
    return log_share - math.exp(log_share) / 2  # at one tail; more than enough where two share it


@theorem(
    "one-question.auc-known-scores",
    statement="Interval of all a with n1 n0 |AUC - a| <= (n-1) sqrt(ln(1/tail)/2 sum_i (|x_i - 1/2| + |a - 1/2|)^2), "
    "x_i the rank of score i over n-1; the value is half its length.",
    source="McDiarmid 1989 for the Mann-Whitney statistic",
    conditions="labels independent given the scores, each with a probability of its own; scores fixed before the "
    "labels are looked at; share and side fixed before the data",
    unit="half-width",
    provenance="derived",
)
def auc_known_scores(
    value: Annotated[float, Domain("The AUC of the sample, ties counted half.", at_least=0, at_most=1, typical=0.8)],
    n_positive: Annotated[Rows, "Rows of the positive class."],
    n_negative: Annotated[Rows, "Rows of the negative class."],
    log_share: LogShare,
    side: Side = "both",
    mean_distance: Annotated[
        float,
        Domain(
            "The mean of `|x_i - 1/2|`; by default that of scores that are all different.",
            at_least=0,
            at_most=0.500000001,
        ),
    ] = 0.25,
    mean_square: Annotated[
        float,
        Domain(
            "The mean of `(x_i - 1/2)^2`; by default that of scores that are all different.",
            at_least=0,
            at_most=0.250000001,
        ),
    ] = 1 / 12,
) -> Limits:
    """Interval of the AUC of fixed scores, where only the labels are random.

    The target is `sum p_i (1-p_j) h_ij / sum p_i (1-p_j)` over pairs of different rows. Here `p_i` is the probability
    that row `i` is positive, and `h_ij` is 1, 1/2 or 0 if score `i` is above, equal to or below score `j`. For rows
    that are drawn together with their scores, and for the AUC of their population, use `two_sample_u`.

    Returns
    -------
    Limits
        `(low, high)`, rounded outwards. Time: a hundred microseconds.

    Notes
    -----
    Proof. For a fixed `a` let `U(y) = sum y_i (1-y_j) (h_ij - a)` over pairs of different rows: the statistic is `n1
    n0 (AUC - a)`, and its expectation is 0 at the target. Turning label `i` from 0 to 1 changes `U` by `sum_j h_ij -
    (1-a) m1 - a m0`, where `m1 + m0 = n-1` are the other rows' labels, as `h_ij + h_ji = 1`. The last two terms lie
    between `a (n-1)` and `(1-a) (n-1)`, so the change is at most `(n-1) (|x_i - 1/2| + |a - 1/2|)`, whatever the
    other labels are. McDiarmid's inequality at the true `a` is the claim. The right side is convex in `a` and the
    left side straight on each side of the AUC. So where the condition fails at the end of the range it fails from
    one point on, which is the limit; where it holds there, the limit is the end, also if it fails somewhere between.

    Examples
    --------
    >>> low, high = auc_known_scores(0.8, 5_000, 5_000, math.log(0.05))
    >>> round(low, 4), round(high, 4)
    (0.7707, 0.8326)
    """
    ones, zeros = means.rows(n_positive, "n_positive"), means.rows(n_negative, "n_negative")
    distance = mean_distance
    square = mean_square
    below, above = means.tails(means.share(log_share), side)
    n = ones + zeros

    def far(a: float, tail: float) -> bool:
        """Return whether the statistic is farther from `a` than the tail allows."""
        off = abs(a - 0.5)
        spread = math.sqrt(-tail / 2 * n * (square + 2 * off * distance + off * off)) * (1 + _ROOM)
        return (ones / (n - 1)) * zeros * abs(value - a) > spread

    def end(a: float, tail: float) -> float:
        """Return the farthest point on the way from the value to `a` that the condition holds at."""
        if not far(a, tail):
            return a
        near, beyond = value, a
        for _ in range(_STEPS):
            middle = (near + beyond) / 2
            near, beyond = (near, middle) if far(middle, tail) else (middle, beyond)
        return beyond

    lower = 0.0 if below is None else end(0.0, below)
    upper = 1.0 if above is None else end(1.0, above)
    return outwards(lower, upper, 0.0, 1.0)


@theorem(
    "one-question.f1-known-predictions",
    statement="2 t / (t + m + predicted) at the Clopper-Pearson limits of the expected hits t among predicted rows and "
    "of the expected misses m among the others, each at half the tail; the value is half its length.",
    source="Clopper and Pearson 1934 with Hoeffding 1956, Theorem 4, for rows that are not alike",
    conditions="labels independent given the predictions, each with a probability of its own; predictions fixed before "
    "the labels are looked at; share below 1/2, share and side fixed before the data",
    unit="half-width",
    provenance="derived",
)
def f1_known_predictions(
    hits: Annotated[
        int, Domain("Positive labels among the rows predicted positive.", at_least=0, at_most=10**15, typical=100)
    ],
    missed: Annotated[
        int, Domain("Positive labels among the rows predicted negative.", at_least=0, at_most=10**15, typical=50)
    ],
    predicted: Annotated[int, Domain("Rows predicted positive.", at_least=0, at_most=10**15, typical=150)],
    n: Annotated[Rows, Domain(at_most=10**15)],
    log_share: Annotated[LogShare, "The natural logarithm of the failure probability; below `ln(1/2)`."],
    side: Side = "both",
) -> Limits:
    """Interval of the F1 score of fixed predictions, where only the labels are random.

    The target is `2 E[hits] / (E[hits] + E[missed] + predicted)`. The labels are independent, and each row may have a
    probability of its own. For rows that are drawn together with their predictions, and for the F1 score of their
    population, use `holdfast.holdout.metrics.classification`.

    Returns
    -------
    Limits
        `(low, high)`, rounded outwards. Time: two Clopper-Pearson intervals for each limit.

    Notes
    -----
    The score rises with the expected hits and falls with the expected misses. Both are sums of independent 0/1
    labels over rows that the predictions name, so a union of two limits at half the tail each gives a limit of the
    score. The rows need not be alike (`unlike_rows`).

    Examples
    --------
    >>> low, high = f1_known_predictions(1_000, 500, 1_500, 10_000, math.log(0.05))
    >>> round(low, 4), round(high, 4)
    (0.6368, 0.6954)
    """
    n = means.rows(n)
    unlike_rows(log_share)
    predicted = arguments.whole("predicted", predicted, at_least=0, at_most=n)
    hits = arguments.whole("hits", hits, at_least=0, at_most=predicted)
    missed = arguments.whole("missed", missed, at_least=0, at_most=n - predicted)
    below, above = means.tails(means.share(log_share), side)

    def score(right: float, wrong: float) -> float:
        whole = right + wrong + predicted
        return 0.0 if whole == 0 else 2 * right / whole

    def limit(count: int, rows: int, tail: float, which: Side) -> float:
        """Return a limit of the expected count at half of this tail."""
        if rows == 0:
            return 0.0
        ends = clopper_pearson(count, rows, unlike_rows(tail - math.log(2)), which)
        return rows * (ends.low * (1 - 2 * UNIT) if which == "lower" else ends.high * (1 + 2 * UNIT))

    rest = n - predicted
    lower, upper = 0.0, 1.0
    if below is not None:
        lower = score(limit(hits, predicted, below, "lower"), limit(missed, rest, below, "upper"))
    if above is not None:
        upper = score(limit(hits, predicted, above, "upper"), limit(missed, rest, above, "lower"))
    return outwards(lower, upper, 0.0, 1.0)
