"""Is B better than A on the same rows? Only the rows on which they differ can tell."""

from __future__ import annotations

from typing import Any

from holdfast.holdout.metrics import rows
from holdfast.holdout.metrics.counted_share import counted_share
from holdfast.holdout.procedure import OnRows


def win_share(values_b: Any, values_a: Any) -> OnRows:
    """The probability that B beats A on a row on which they differ, `P(b > a | b != a)`.

    Among the rows on which they differ the wins of B are binomial; see `counted_share`. It is the sign test, and for
    0/1 values McNemar's exact test turned into an interval. For 0/1 values "the share is above 1/2" says exactly that
    the mean of B is above the mean of A. Rows on which both agree cost nothing, so for two good models it is much
    sharper than an interval of the mean difference, whose range is 2. If they never differ the interval is [0, 1].

    Parameters
    ----------
    values_b, values_a : array
        One number a row each, larger is better, e.g. whether each was right. No NaN.

    Returns
    -------
    OnRows
        Time: a few passes over the rows.

    Examples
    --------
    B wins 200 of the 300 rows out of 10,000 on which the two differ. That settles it, at a share of 1e-6:

    >>> import numpy as np
    >>> a = np.r_[np.zeros(200), np.ones(100), np.ones(9_700)]
    >>> b = np.r_[np.ones(200), np.zeros(100), np.ones(9_700)]
    >>> win_share(b, a).interval(np.log(1e-6), "lower")[0] > 0.5
    True
    """
    b = rows.ordered("values_b", values_b)
    a = rows.ordered("values_a", values_a, len(b))
    return counted_share(b > a, b != a, "share of wins of B over A")


__all__ = ["win_share"]
