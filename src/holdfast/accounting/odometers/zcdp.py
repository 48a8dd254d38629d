"""The dissertation's odometer for concentrated costs, repaired."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from holdfast.accounting.account import State
from holdfast.accounting.costs import GDP, ZCDP, PointwiseDP, PureDP
from holdfast.accounting.increments import gaussian_rho, pure_rho
from holdfast.accounting.odometers.base import Odometer
from holdfast.accounting.split import split
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, charged, double_down, double_up, exact, plus
from holdfast.bounds.odometers import pointwise_drift, printed_delta, range_of, rogers_reading


class ZCDPOdometer(Tally, Odometer):
    """Read `R + sqrt(4R (log(48e) + 2 log(log(n)/d)))`, with `R` the sum of rho; one-sided.

    Dissertation, Theorem 5.7.5, for plain rho-zCDP. The dissertation defines "zCDP+" and claims a moment bound for
    all real arguments, which is false; the upper tail needs the bound for positive arguments only, and plain zCDP has
    that. Beyond `2R = 1` it is (5.18) at `V = 2R`; below `2R = 1/n^2` the boundary is read ahead (`LossOdometer`).

    Pure costs count `epsilon tanh(epsilon/2)`, Gaussian ones `mu^2/2`. A point-wise cost counts as a pure one of
    `epsilon + d` and a certain loss of `d = log(1/(1 - delta))`: given the good outputs its two laws are that close.
    `RenyiOdometer` takes the same costs and reads about a third less; this one is the dissertation's.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    n : int
        Sets the range of 2R, `[1/n^2, 1]`; at least 6.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.

    Examples
    --------
    >>> from holdfast.accounting import ZCDP, ZCDPOdometer
    >>> odometer = ZCDPOdometer(1e-6, n=10_000)
    >>> for _ in range(100):
    ...     odometer.record(ZCDP(1e-3))
    >>> round(odometer.reading(), 6)
    3.87...
    """

    name = "zcdp"
    totals = ("rho", "certain", "delta")
    accepts = (PureDP, PointwiseDP, ZCDP, GDP)
    two_sided = False

    def __init__(self, delta: float, n: int = 10_000, *, delta_sum: float = 0.0) -> None:
        super().__init__()
        self.n = range_of(n)
        self._slack, self._room = split(delta, delta_sum)
        self._printed = printed_delta(double_down(self._slack), self.n)

    def parameters(self) -> dict[str, Any]:
        """The failure probability and the range."""
        return {"delta": self.delta, "delta_sum": self.delta_sum, "n": self.n}

    def _increments(self, cost: PureDP | PointwiseDP | ZCDP | GDP) -> tuple[Decimal, ...]:
        if isinstance(cost, ZCDP):
            return exact(cost.rho), ZERO, ZERO
        if isinstance(cost, GDP):
            return gaussian_rho(cost.mu), ZERO, ZERO
        if isinstance(cost, PureDP) or not cost.delta:
            return pure_rho(cost.epsilon), ZERO, ZERO
        certain = charged(pointwise_drift(cost.delta), cost.delta)
        epsilon = double_up(plus(exact(cost.epsilon), certain))
        return pure_rho(epsilon), certain, exact(cost.delta)

    def _read(self, state: State) -> float:
        rho, certain, delta = state
        if delta > self._room:
            return math.inf
        if not rho and not certain:
            return 0.0
        drift, squares = double_up(plus(rho, certain)), double_up(plus(rho, rho))
        if squares == math.inf or drift == math.inf:
            return math.inf
        return rogers_reading(drift, max(squares, 1 / self.n**2), self.n, self._printed)


__all__ = ["ZCDPOdometer"]
