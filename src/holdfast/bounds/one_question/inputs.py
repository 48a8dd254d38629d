"""What every interval for one fixed question takes: how unlikely it is to miss, and which side it watches.

The failure probability comes as its natural logarithm, `log_share`. A question late in a run with ten failures gets a
share near 1e-47, and a long run with fine grids leaves the floating range, but its logarithm stays an ordinary number.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from holdfast import check
from holdfast.bounds.interval.width import MOST

Side = Literal["both", "lower", "upper"]
"""Which limits are wanted: "both" gives each tail half of the share; "lower" and "upper" spend it all on one limit."""

SIDES = ("both", "lower", "upper")

#: Logarithms of shares below this mean nothing and leave no digits in `log_share / n`.
LEAST_LOG_SHARE = -1e15


def share(log_share: Any) -> float:
    """Check `log_share`, the natural logarithm of a failure probability: below 0 and at least -1e15.

    Examples
    --------
    >>> share(-100.0)
    -100.0
    """
    return check.real("log_share", log_share, at_least=LEAST_LOG_SHARE, below=0)


def tails(log_share: float, side: Any) -> tuple[float | None, float | None]:
    """Logarithms of what the lower and the upper limit may spend; None for the limit that is not wanted.

    Examples
    --------
    >>> tails(-2.0, "lower")
    (-2.0, None)
    >>> tails(-2.0, "both")[1] == -2.0 - math.log(2)
    True
    """
    side = check.choice("side", side, SIDES)
    if side == "both":
        half = log_share - math.log(2)
        return half, half
    return (log_share, None) if side == "lower" else (None, log_share)


def rows(n: Any, name: str = "n") -> int:
    """Check a number of rows: whole, from 1 to 10**18.

    Examples
    --------
    >>> rows(1e4)
    10000
    """
    return check.whole(name, n, at_least=1, at_most=MOST)


__all__ = ["LEAST_LOG_SHARE", "SIDES", "Side", "rows", "share", "tails"]
