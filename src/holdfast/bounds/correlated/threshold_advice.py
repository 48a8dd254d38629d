"""A threshold for Algorithm 1 on correlated records: advice from the variance of an answer, not a guarantee.

Every overruling shows something of the holdout, so it should be spent on overfitting and not on chance. Two means of
`n` values with variance 1, training and holdout, differ by chance with standard deviation `sqrt(2 inflation/n)`. The
usual threshold `4/sqrt(n)` is 2.8 of these on independent records, and 1.7 at an inflation of 2.9: there chance
overrules a tenth of all questions, and the analyst picks what chance told her. The inflation must never be put into a
width: `n` over it is no effective size (`correlated.effective-n` are).
"""

from __future__ import annotations

import math

from scipy.special import log_ndtr, ndtr

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import count
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import first_at_least


@theorem(
    "correlated.variance-inflation",
    statement="How much larger the variance of a mean of products x y is when both series are autocorrelated.",
    source="Holdfast; sum of the autocorrelations (phi r)^k",
    conditions="x and y independent stationary series with autocorrelations phi^k and r^k; advice, not a guarantee",
    unit="factor",
    provenance="derived",
)
def variance_inflation(records: float, labels: float = 1.0) -> float:
    """Return `(1 + phi r)/(1 - phi r)`; with `labels` 1 it is the inflation of the mean of x itself.

    The variance of a mean of `n` such products is `1/n` times `1 + 2 sum_k (1 - k/n) (phi r)^k`, whose limit is this
    (and its bound when `phi r >= 0`). If only one of the two is autocorrelated the products are white and nothing
    changes. Derived.

    Parameters
    ----------
    records : float
        Autocorrelation `phi` of the values at lag 1, in (-1, 1).
    labels : float
        Autocorrelation `r` of what they are multiplied with, in [-1, 1].

    Examples
    --------
    >>> round(variance_inflation(0.7, 0.7), 9)
    2.921568627
    """
    product = check.real("records", records, above=-1, below=1) * check.real("labels", labels, at_least=-1, at_most=1)
    return up((1 + product) / (1 - product), 8)


@theorem(
    "correlated.recommended-threshold",
    statement="Threshold of Algorithm 1: 4 sqrt(inflation/n), or the one that chance does not pass in m questions.",
    source="Holdfast; measured in the experiment zhao-figures",
    conditions="advice, not a guarantee: means taken as normal, values of variance 1; no theorem covers such runs",
    unit="threshold",
    provenance="derived",
)
def recommended_threshold(
    n: int,
    inflation: float = 1.0,
    multiple: float = 4.0,
    questions: int | None = None,
    false_alarms: float = 0.05,
    sigma: float | None = None,
) -> float:
    """Return `multiple sqrt(inflation/n)`; with `questions` the least threshold with few enough false alarms.

    A false alarm overrules a training mean that was not overfitted: training and holdout are independent, and their
    difference, normal with variance `2 inflation/n`, plus the noise of comparison and threshold exceeds `T`. For `m`
    such questions the returned `T` solves `2 m P[N + Lap(2 sigma) + Lap(sigma) > T] = false_alarms`, a union bound over
    questions and signs, so that chance overrules anything in the whole run with at most that probability. Then what the
    holdout says is about questions that were overfitted. Derived; the two Laplace variables together have the law
    `(4 Lap(2 sigma) - Lap(sigma))/3`, so the tail is a closed form.

    The usual multiple 4 lets chance overrule, and what it reveals is in units of the standard error: on correlated
    records as many false alarms add up to more points (`holdfast reproduce zhao-figures` measures it). The price of the
    larger threshold is that a training value may pass that is off by `T`.

    Parameters
    ----------
    n : int
        Records.
    inflation : float
        From `correlated.variance-inflation`; 1 for independent records.
    multiple : float
        Standard errors; 4 is the usual one. Not used with `questions`.
    questions : int
        Questions in all, fixed in advance.
    false_alarms : float
        Probability that chance overrules any of them.
    sigma : float
        Laplace scale of Algorithm 1; `1/(4 sqrt(n))`, the usual one, by default. Used with `questions` only.

    Examples
    --------
    >>> round(recommended_threshold(10_000, 1.49 / 0.51), 4)
    0.0684
    >>> round(recommended_threshold(10_000, 1.49 / 0.51, questions=10_012), 4)
    0.1182
    """
    inflation = check.real("inflation", inflation, above=0, at_most=1e18)
    multiple = check.real("multiple", multiple, above=0, at_most=1e9)
    n, false_alarms = count("n", n), check.probability("false_alarms", false_alarms)
    sigma = check.real("sigma", 0.25 / math.sqrt(n) if sigma is None else sigma, above=0, at_most=1e9)
    if questions is None:
        return multiple * math.sqrt(inflation / n)
    deviation = math.sqrt(2 * inflation / n)
    share = false_alarms / (2 * count("questions", questions))
    # a tail is at most that of its two parts, each beyond half of the threshold
    top = 2 * (deviation * math.sqrt(-2 * math.log(share / 2)) - 6 * sigma * math.log(share / 8))
    return first_at_least(lambda threshold: -chance_overrules(threshold, deviation, sigma), -share, 0.0, top)


def chance_overrules(threshold: float, deviation: float, sigma: float) -> float:
    """`P[N + Lap(2 sigma) + Lap(sigma) > threshold]`, `N` normal with this deviation: a false alarm on one side.

    Examples
    --------
    >>> chance_overrules(0.0, 1.0, 0.1)
    0.5
    >>> f"{chance_overrules(0.0684, 0.0242, 0.0025):.4f}"
    '0.0037'
    """
    wide, narrow = (_one_laplace(threshold, deviation, scale) for scale in (2 * sigma, sigma))
    return (4 * wide - narrow) / 3


def _one_laplace(t: float, deviation: float, scale: float) -> float:
    """`P[N + Lap(scale) > t]`: the normal tail, moved by the two exponential halves."""
    z, ratio = t / deviation, deviation / scale
    near = math.exp(ratio**2 / 2 - t / scale + float(log_ndtr(z - ratio)))
    far = math.exp(ratio**2 / 2 + t / scale + float(log_ndtr(-z - ratio)))
    return float(ndtr(-z)) + (near - far) / 2


__all__ = ["chance_overrules", "recommended_threshold", "variance_inflation"]
