"""The mean of a value within a declared group of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from holdfast import check
from holdfast.holdout.metrics import rows
from holdfast.holdout.metrics.mean import MEAN_FAMILIES, MeanFamily, mean
from holdfast.holdout.procedure import OnRows


def group_mean(
    values: Any, members: Any, family: MeanFamily = "kl", low: float = 0.0, high: float = 1.0, name: str = "group mean"
) -> OnRows:
    """The mean of a value among the rows of a group, `E[v | member]`.

    Given which rows are members, the members' values are independent draws from the group's law. So every family holds
    with the group's realised size, and then also on average over it. A group without rows gives the whole range.

    Parameters
    ----------
    values : array
        One number a row; those of members in `[low, high]`, the others are not looked at.
    members : array
        0 or 1 a row: whether it belongs to the group. What makes a member may not depend on the values beyond what the
        question says, e.g. a column of the row.
    family : str
        As for `mean`.
    low, high : float
        Range that no value leaves.
    name : str
        Public words for the target.

    Returns
    -------
    OnRows
        Its `n` counts all rows. Time: that of `mean` on the members.

    Examples
    --------
    >>> question = group_mean([1, 0, 1, 1] * 2_500, [1, 1, 0, 0] * 2_500)
    >>> low, high = question.interval(-5.0)
    >>> question.n, round(low, 2), round(high, 2)
    (10000, 0.48, 0.52)
    """
    low, high = check.value_range(low, high)
    family = check.choice("family", family, MEAN_FAMILIES)  # type: ignore[assignment]
    inside = rows.flags("members", members)
    column = rows.numbers("values", values, len(inside))[inside]
    if column.size == 0:
        return OnRows(low, high, len(inside), f"{name} ({family})", lambda log_share, side: (low, high))
    return replace(mean(np.asarray(column), family, low, high, name), n=len(inside))


__all__ = ["group_mean"]
