"""A share of rows among those that count, `P(hit) / P(counts)` with every hit a row that counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from holdfast.bounds.one_question.binomial_exact import clopper_pearson
from holdfast.bounds.one_question.limits import outwards
from holdfast.holdout.procedure import OnRows, Side


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

    return OnRows(0.0, 1.0, hits.size, f"{name} (Clopper-Pearson given the rows that count)", limits)


__all__ = ["counted_share"]
