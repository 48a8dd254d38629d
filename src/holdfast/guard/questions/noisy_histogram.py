"""A noisy histogram over declared categories or thresholds: one cost for all cells, an interval for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from holdfast.accounting import Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.exact import decimal_fraction
from holdfast.data.schema import Schema
from holdfast.data.statistics import Statistic
from holdfast.errors import InvalidParameter
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Bound, Measured, Question, Settled, Situation
from holdfast.guard.questions.cells import Cells, cells_of
from holdfast.guard.questions.spending import spend_of
from holdfast.guard.questions.unit_interval import unit_interval
from holdfast.mechanisms.gaussian import Gaussian
from holdfast.mechanisms.laplace import Laplace
from holdfast.noise.grid import Grid
from holdfast.noise.integers import fits_vector


@dataclass(frozen=True)
class Histogram(Question):
    """How the rows spread over declared cells: shares of the population, each with its interval.

    Parameters
    ----------
    column : str
        A column of text, whole numbers or truth values with `categories`, or a column of numbers with `edges`.
    categories : sequence, optional
        The declared categories; the schema's if not given. Rows with anything else count in a last cell, "other", or
        "any other" where that is the name of a category.
    edges : sequence of float, optional
        Increasing numbers; the cells are between each two, the last one with both its ends. Rows outside all of them
        count in a last cell, "other".
    spend : PureDP or ZCDP, optional
        What the answer may cost; the policy's `spend` if not given.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> one = hf.accounting.PureDP(1.0)
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10, privacy=one, spend=one))
    >>> sorted(guard.ask(hf.guard.histogram("age", edges=[20, 40, 60])).value)
    ['[20, 40)', '[40, 60]', 'other']
    """

    kind: ClassVar[str] = "histogram"

    column: str
    categories: Sequence[Any] | None = None
    edges: Sequence[float] | None = None
    spend: Cost | None = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check against the schema and the policy."""
        return NoisyHistogram(cells_of(self.column, self.categories, self.edges, schema), spend_of(self.spend, policy))


class NoisyHistogram(Bound):
    """Counts with noise; every interval is a function of its noisy count alone."""

    def __init__(self, cells: Cells, cost: Cost) -> None:
        self.cost = cost
        self.question = {"kind": "histogram", **cells.to_dict(), "spend": cost.to_dict()}
        self.statistics: tuple[Statistic, ...] = (cells.statistic,)
        self._cells, self._noise = cells, _noise(cost)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Noise for every cell; the share is split evenly over the cells."""
        n, many = situation.n, len(self._cells.labels)
        share, off = self._parts(situation)
        exact = np.array(prepared[0], dtype=np.int64)
        noisy = self._noise.law.release(exact, source=situation.source)
        interval = unit_interval(n)
        ends = [list(interval.over((one - off) / n, (one + off) / n, share)) for one in noisy.tolist()]
        value = {
            label: min(max(one / n, 0.0), 1.0) for label, one in zip(self._cells.labels, noisy.tolist(), strict=True)
        }
        guarantee = situation.guarantee("transfer.interleaved", log_share=round(share, 6), interval="kl", cells=many)
        return Settled(value, dict(zip(self._cells.labels, ends, strict=True)), guarantee)

    def half_width(self, situation: Situation) -> float:
        """Of a cell that holds half of the rows, where it is largest."""
        share, off = self._parts(situation)
        lower, upper = unit_interval(situation.n).over(0.5 - off / situation.n, 0.5 + off / situation.n, share)
        return (upper - lower) / 2

    def _parts(self, situation: Situation) -> tuple[float, float]:
        many = len(self._cells.labels)
        return situation.log_share - math.log(many) - 1e-12, self._noise.half_width(situation.noise_share, many)


def _noise(cost: Cost) -> Laplace | Gaussian:
    """Noise on one count: a replaced row moves two of them by one, so each is worth half of the cost.

    Counts are whole numbers on a grid of ones. Nothing is rounded, and so the noise does not grow with the cells, as
    it must where a vector of any numbers is rounded.
    """
    match cost:
        case PureDP(epsilon):
            pure = Laplace(sensitivity=1, epsilon=decimal_fraction(epsilon) / 2, grid=Grid(0))
            fits_vector("scale", pure.law.scale_steps)
            return pure
        case ZCDP(rho):
            normal = Gaussian(sensitivity=1, rho=decimal_fraction(rho) / 2, grid=Grid(0))
            fits_vector("scale", normal.law.sigma_steps)
            return normal
    raise InvalidParameter(f"spend must be a PureDP or ZCDP, got {cost!r}")


__all__ = ["Histogram", "NoisyHistogram"]
