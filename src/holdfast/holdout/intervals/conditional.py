"""The mean of a value among some rows, those that have one or that meet a condition: how many they are is secret."""

from __future__ import annotations

import math

from holdfast.bounds.numerics.exact import up
from holdfast.bounds.one_question import means
from holdfast.bounds.one_question.means import Limits, Side, clopper_pearson, kl_lower, outwards
from holdfast.holdout.intervals.procedure import OnRows

Ends = tuple[float, float]
"""The least and the greatest that a sum can be; the same number twice where it is known exactly."""
_HAIR = 1e-12
"""More than a mean in [0, 1] is off by because its sums are rounded to doubles."""


def conditional_interval(above: Ends, below: Ends, n: int, log_share: float, side: Side = "both") -> Limits:
    """Interval of `E[v | c]`, the mean of a value in [0, 1] among rows that meet a condition, by Chernoff's bound.

    Rows are independent. Write `S` for the sum of the values over the rows that meet the condition, `T` for the sum of
    `1 - v` over them, so that `m = S + T` is their number and `q = S/m` their mean.

    *It holds where the sums are known.* Given which rows meet the condition, their values are independent draws from
    the conditional distribution, with mean `p`. So `kl` at `m` rows misses `p` with at most its share, whatever `m` is,
    and then also on average over `m`. Without a row nothing is refuted and the interval is [0, 1].

    *It holds where the sums are known up to noise.* The lower limit refutes the candidates `p < q` with
    `G = m kl(q || p) >= ln(1/tail)`. As `G = S ln(S/(m p)) + T ln(T/(m (1 - p)))`, its slope in `S` is
    `ln(q/p) > 0` and its slope in `T` is `ln((1 - q)/(1 - p)) < 0`: a candidate that is refuted at `(S, T)` lies below
    `q`, and is refuted at every larger `S` and every smaller `T` too. So the lower limit rises in `S` and falls in `T`,
    and over a box of sums it is least at the least `S` with the greatest `T`; the upper limit is the mirror image. The
    interval of a box therefore holds that of every pair of sums in it.

    Parameters
    ----------
    above, below : tuple of float
        Between which numbers `S` and `T` lie.
    n : int
        Rows of the sample, of which `S + T` is at most the number.
    log_share : float
        Natural logarithm of the probability with which the interval may miss the truth.
    side : str
        "both", "lower" or "upper".

    Returns
    -------
    Limits
        Time: about twenty microseconds.

    Examples
    --------
    >>> low, high = conditional_interval((400, 400), (400, 400), 1000, -5.0)     # 800 of 1,000 rows have a value
    >>> round(low, 3), round(high, 3)
    (0.441, 0.559)
    >>> low, high = conditional_interval((390, 410), (390, 410), 1000, -5.0)     # the same through noise
    >>> round(low, 3), round(high, 3)
    (0.428, 0.572)
    >>> conditional_interval((0, 0), (0, 0), 1000, -5.0)
    Limits(low=0.0, high=1.0)
    """
    first, second = means.tails(means.share(log_share), side)
    lower = 0.0 if first is None else _lower(above[0], min(below[1], n - max(above[0], 0.0)), first)
    upper = 1.0 if second is None else 1.0 - _lower(below[0], min(above[1], n - max(below[0], 0.0)), second)
    return outwards(lower, upper, 0.0, 1.0)


def conditional_counts(ones: Ends, zeros: Ends, n: int, log_share: float) -> Limits:
    """Exact binomial interval of the share of ones among rows that meet a condition, by counts known up to noise.

    The lower limit at `k` ones and `z` zeros is the `p` with `P(Bin(k + z, p) >= k) = tail`. A further zero makes that
    probability larger at every `p`, since `k` ones are then sought among more rows; a further one makes it smaller,
    since `P(Bin(m + 1, p) >= k + 1) <= P(Bin(m, p) >= k)`. So the limit falls with the zeros and rises with the ones,
    and over a box of counts it is least at the fewest ones with the most zeros; the upper limit is the mirror image.
    Never wider than `conditional_interval`.

    Examples
    --------
    >>> low, high = conditional_counts((390, 410), (390, 410), 1000, -5.0)
    >>> kl_low, kl_high = conditional_interval((390, 410), (390, 410), 1000, -5.0)
    >>> kl_low < low < high < kl_high
    True
    >>> conditional_counts((-3, 2), (-2, 5), 1000, -5.0)
    Limits(low=0.0, high=1.0)
    """
    hair = 1e-9 * (1 + n)  # counts are whole; the hair keeps those that a rounded end would cut off
    fewest = [max(0, math.ceil(end[0] - hair)) for end in (ones, zeros)]
    most = [min(n - fewest[1 - at], math.floor(end[1] + hair)) for at, end in enumerate((ones, zeros))]

    def lower(least: int, rest: int) -> float:
        rows = least + max(rest, 0)
        return clopper_pearson(least, rows, log_share).low if 0 < least <= rows <= n else 0.0

    return outwards(lower(fewest[0], most[1]), 1.0 - lower(fewest[1], most[0]), 0.0, 1.0)


def _lower(total: float, rest: float, log_tail: float) -> float:
    """The lower limit at sums `total` and `rest`; 0 where nothing is refuted."""
    if total <= 0:
        return 0.0
    rows = total + max(rest, 0.0)
    return kl_lower(max(min(total / rows, 1.0) - _HAIR, 0.0), up(-log_tail / rows, 4))


def conditional_mean(
    total: float, rows: int, n: int, low: float = 0.0, high: float = 1.0, *, whole: bool = False, name: str = "mean"
) -> OnRows:
    """Return the mean among `rows` of `n` rows whose values in [0, 1] add up to `total`, scaled to `[low, high]`.

    Secret but for `n`, the range and the name: `rows` is a statistic too. With `whole` the values are 0 or 1 and the
    interval is Clopper and Pearson's at `rows` rows, which holds for the same reason.

    Examples
    --------
    >>> question = conditional_mean(400.0, 800, 1000, low=0.0, high=100.0)
    >>> question
    OnRows(mean (kl), n=1000, low=0, high=100)
    >>> low, high = question.interval(-5.0)
    >>> round(low, 1), round(high, 1)
    (44.1, 55.9)
    """

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        if whole and rows:
            ends = clopper_pearson(round(total), rows, log_share, side)
        else:
            ends = conditional_interval((total, total), (rows - total, rows - total), n, log_share, side)
        return outwards(low + (high - low) * ends.low, low + (high - low) * ends.high, low, high)

    value = low + (high - low) * total / rows if rows else None
    return OnRows(low, high, n, f"{name} ({'clopper-pearson' if whole else 'kl'})", limits, value)
