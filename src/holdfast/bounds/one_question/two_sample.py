"""Interval of a two-sample U-statistic such as the area under the ROC curve."""

from __future__ import annotations

from holdfast import check
from holdfast.bounds.exact import UNIT
from holdfast.bounds.one_question import inputs
from holdfast.bounds.one_question.families import mean_interval
from holdfast.bounds.one_question.inputs import Side
from holdfast.bounds.one_question.limits import Limits
from holdfast.bounds.registry import theorem


@theorem(
    "one-question.two-sample-u",
    statement="Interval of all p with m kl(U || p) <= ln(1/tail) on either side, m the smaller sample's size; the "
    "value is half its length.",
    source="Hoeffding 1963, section 5b with Theorem 1",
    conditions="two independent samples, each of independent and identically distributed rows; kernel of one row of "
    "each, with values in [0, 1]; question, share and side fixed before the data",
    unit="half-width",
    provenance="derived",
)
def two_sample_u(value: float, n_positive: int, n_negative: int, log_share: float, side: Side = "both") -> Limits:
    """Interval of `E h(X, Y)` from `U`, the mean of `h(X_i, Y_j)` over all pairs.

    Proof. Let `m` be the smaller of the two sizes. Pair the rows by a random permutation of each sample and take the
    mean `W` of the first `m` kernel values: `U` is the average of `W` over all permutations. For each permutation `W`
    is a mean of `m` independent [0,1] values with expectation `E h`. By convexity
    `E exp(t U) <= E exp(t W)` for every `t`, and the Chernoff bound of `kl` uses nothing but that moment generating
    function. So `kl` holds with `n = m`, and with it Hoeffding's interval (1963, section 5b), which is never narrower.

    Parameters
    ----------
    value : float
        The statistic, in [0, 1]; a rounding of up to four units is made up for.
    n_positive, n_negative : int
        Sizes of the two samples.
    log_share : float
        Natural logarithm of the probability with which the interval may miss the truth.
    side : str
        "both" spends half the share on each limit, "lower" or "upper" all of it on that one.

    Returns
    -------
    Limits
        `(low, high)`, rounded outwards. Time: about fifty microseconds.

    Examples
    --------
    >>> import math
    >>> low, high = two_sample_u(0.9, 2_000, 8_000, math.log(0.05))
    >>> round(low, 4), round(high, 4)
    (0.8808, 0.9172)
    """
    value = check.probability("value", value, zero=True, one=True)
    smaller = min(inputs.rows(n_positive, "n_positive"), inputs.rows(n_negative, "n_negative"))
    return mean_interval("kl", value, smaller, log_share, side, slack=4 * UNIT)


__all__ = ["two_sample_u"]
