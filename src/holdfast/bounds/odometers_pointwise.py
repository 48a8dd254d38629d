"""What a point-wise delta does to the loss that an odometer reads."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.registry import theorem


@theorem(
    "odometer.pointwise-drift",
    statement="what a point-wise delta adds to the drift of the privacy loss",
    source="Holdfast; proof in the docstring",
    conditions="a point-wise (epsilon, delta) round, any epsilon; delta itself goes to the failure probability",
    unit="epsilon",
    provenance="derived",
)
def pointwise_drift(delta: float) -> float:
    """Return what a point-wise delta adds to the drift of the loss: `log(1/(1 - delta))`, rounded up.

    Derived here; without it the bound is false. Let the loss be within
    `[-epsilon, epsilon]` on a set of outputs that has probability `p >= 1 - delta` under the first law and
    `q >= 1 - delta` under the second. Given that set, the loss averages `e^-L` to `q/p`, so its mean is at most
    `epsilon tanh(epsilon/2) + delta epsilon/sinh(epsilon)` and at least `log(p/q)`: delta moves it by at most
    `log(1/(1 - delta))` either way. Around its mean the bounded loss has variance proxy `epsilon^2` as before.

    Why it matters: a mechanism that says "a" on one neighbour, and on the other "b" with probability delta, is
    point-wise `(log(1/(1 - delta)), delta)`, and its loss is that epsilon **surely**. A hundred rounds at delta 0.001
    lose 0.1, while the best pure reading at a slack of 0.1 is 0.022.

    Parameters
    ----------
    delta : float
        In [0, 1).

    Examples
    --------
    >>> round(pointwise_drift(0.001), 9)
    0.0010005
    """
    return up(-math.log1p(-check.probability("delta", delta, zero=True)))


__all__ = ["pointwise_drift"]
