"""The share of delta that an odometer with a range of V spends inside and outside of it."""

from __future__ import annotations

import math

from holdfast.bounds.exact import down

_LARGEST = math.nextafter(math.exp(-1), 0.0)


def printed_delta(slack: float, n: int) -> float:
    """Return the printed delta whose failure, `delta/2` inside the range and `delta/(4 log2 n)` outside, is the slack.

    The printed theorems keep another half of delta for the costs' own deltas; here that room is counted apart, so pure
    costs do not pay for it.

    Examples
    --------
    >>> delta = printed_delta(1e-6, 10_000)
    >>> round(delta, 9), delta / 2 + delta / (4 * math.log2(10_000)) <= 1e-6
    (1.927e-06, True)
    """
    return min(down(slack / (0.5 + 1 / (4 * math.log2(n))), 8), _LARGEST)


__all__ = ["printed_delta"]
