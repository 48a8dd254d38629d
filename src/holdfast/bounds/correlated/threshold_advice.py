"""A threshold for Algorithm 1 on correlated records: advice from the variance of an answer, not a guarantee.

The usual `4/sqrt(n)` is four standard errors of a mean over independent records. Where records are correlated a mean
varies more, the usual threshold lets overfitting through, and scaling it by the root of the variance inflation restores
it. The inflation must never be put into a width: `n` over it is no effective size (`correlated.effective-n` are).
"""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import count
from holdfast.bounds.registry import theorem


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
    statement="Threshold of Algorithm 1 scaled to the variance of its answers: 4 sqrt(inflation/n).",
    source="Holdfast; measured in the experiment zhao-figures",
    conditions="advice, not a guarantee: no theorem covers runs of this size",
    unit="threshold",
    provenance="derived",
)
def recommended_threshold(n: int, inflation: float = 1.0, multiple: float = 4.0) -> float:
    """Return `multiple sqrt(inflation/n)`.

    Parameters
    ----------
    n : int
        Records.
    inflation : float
        From `correlated.variance-inflation`; 1 for independent records.
    multiple : float
        Standard errors; 4 is the usual one.

    Examples
    --------
    >>> round(recommended_threshold(10_000, 1.49 / 0.51), 4)
    0.0684
    """
    inflation = check.real("inflation", inflation, above=0, at_most=1e18)
    return check.real("multiple", multiple, above=0, at_most=1e9) * math.sqrt(inflation / count("n", n))


__all__ = ["recommended_threshold", "variance_inflation"]
