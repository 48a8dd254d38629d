"""The first odometer: Rogers, Roth, Ullman and Vadhan 2016, as the dissertation prints it."""

from __future__ import annotations

import math
from typing import Any, Literal

from holdfast.accounting.amount import budget_delta
from holdfast.accounting.odometers.loss import LossOdometer
from holdfast.accounting.totals import above, exact
from holdfast.bounds.exact import up
from holdfast.bounds.odometers import delta_split, range_of, rogers_reading


class RogersOdometer(LossOdometer):
    """Read Theorem 5.6.5 of the dissertation as printed, (5.17) inside its range and (5.18) outside; two-sided.

    The printed `delta` is nominal: `delta/2` for the costs' deltas, `delta/2` inside the range of V and
    `delta/(4 log2 n)` outside it add up to a little more. The `delta` attribute states the true total. Below
    `V = 1/n^2` the printed reading is larger than just above it. `InversionOdometer` repairs both and reads less.

    Not as printed: a point-wise delta also adds `log(1/(1 - delta))` to the drift (`bounds.odometers.pointwise_drift`),
    without which the printed reading is false for such costs.

    Parameters
    ----------
    delta : float
        The printed delta, in (0, 1/e).
    n : int
        Sets the range of V, `[1/n^2, 1]`; at least 6.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, RogersOdometer
    >>> odometer = RogersOdometer(1e-6, n=10_000)
    >>> for _ in range(50):
    ...     odometer.record(PureDP(0.1))
    >>> round(odometer.reading(), 9)
    6.340992426
    """

    name = "rogers"
    _drift: Literal["tight", "paper"] = "paper"

    def __init__(self, delta: float, n: int = 10_000) -> None:
        self.n = range_of(n)
        self.nominal_delta = budget_delta("delta", delta, below=math.exp(-1))
        parts = delta_split(self.n, self.nominal_delta, "paper")
        super().__init__(above(up(parts.inside + parts.outside)), exact(parts.sum))

    def parameters(self) -> dict[str, Any]:
        """The printed parameters."""
        return {"delta": self.nominal_delta, "n": self.n}

    def _bound(self, drift: float, squares: float) -> float:
        return rogers_reading(drift, squares, self.n, self.nominal_delta)


__all__ = ["RogersOdometer"]
