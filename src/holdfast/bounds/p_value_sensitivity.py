"""How sensitive a p-value must be, which is why theorems about statistics of low sensitivity do not cover tests."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import down
from holdfast.bounds.registry import theorem


@theorem(
    "p-value.sensitivity-floor",
    statement="the least sensitivity that a p-value can have, uniform under some null",
    source="Rogers-Roth-Smith-Thakkar 2016 Lemma B.1",
    conditions="the p-value is uniform under some law of the null; discrete p-values are not covered",
    unit="sensitivity",
)
def sensitivity_floor(n: int, d: float = 0.08) -> float:
    """Return `(1/2 - d) / sqrt((n/2) ln(1/d))`: a uniform p-value has a larger sensitivity than this.

    With `d = 0.08` it is `0.3737/sqrt(n)`, printed as `0.37/sqrt(n)`; the best `d` is 0.08397. So theorems about
    statistics of sensitivity of order `1/n` do not cover tests.

    Parameters
    ----------
    n : int
        The number of rows.
    d : float
        The free parameter, in (0, 1/2).

    Examples
    --------
    >>> round(sensitivity_floor(100), 10)
    0.0373741172
    """
    n = check.whole("n", n, at_least=1)
    d = check.real("d", d, above=0, below=0.5)
    return down((0.5 - d) / math.sqrt(n / 2 * -math.log(d)))


__all__ = ["sensitivity_floor"]
