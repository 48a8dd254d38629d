"""The intervals that a check may use, each valid for a fixed question; one is chosen before the data are looked at."""

from __future__ import annotations

import math
from typing import Literal, Protocol

from holdfast.bounds.exact import up
from holdfast.data.values import Summary

Side = Literal["both", "lower", "upper"]


class Family(Protocol):
    """An interval for the mean of bounded values at a share given by its logarithm."""

    name: str
    mean_only: bool

    def at(self, mean: float, n: int, log_share: float, low: float, high: float, side: Side) -> tuple[float, float]:
        """The interval as a public function of the mean; for families with `mean_only`."""

    def of(self, rows: Summary, log_share: float, side: Side) -> tuple[float, float]:
        """The interval of these rows, widened by what floating-point sums lose."""


class Hoeffding:
    """`mean ± (high - low) sqrt(ln(tails/share)/(2n))`, within the range."""

    name = "hoeffding"
    mean_only = True

    def at(self, mean: float, n: int, log_share: float, low: float, high: float, side: Side) -> tuple[float, float]:
        """The interval as a public function of the mean."""
        tails = math.log(2) if side == "both" else 0.0
        width = up((high - low) * math.sqrt((tails - log_share) / (2 * n)), 8)
        lower = low if side == "upper" else max(low, mean - width)
        return lower, high if side == "lower" else min(high, mean + width)

    def of(self, rows: Summary, log_share: float, side: Side) -> tuple[float, float]:
        """The interval of these rows."""
        lower, upper = self.at(rows.mean, rows.n, log_share, rows.low, rows.high, side)
        return max(rows.low, lower - rows.slack), min(rows.high, upper + rows.slack)


FAMILIES: dict[str, Family] = {"hoeffding": Hoeffding()}

__all__ = ["FAMILIES", "Family", "Side"]
