"""What it costs that real noise lives on a grid: the theorems are about the continuous normal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.interval.width import MOST
from holdfast.bounds.registry import theorem

#: Integrals of |phi''| and |phi'''| for the standard normal density: 4 phi(1), and 2 (phi(0) + 4 phi(sqrt 3)).
_SECOND = 4 * math.exp(-0.5) / math.sqrt(2 * math.pi)
_THIRD = 2 * (1 + 4 * math.exp(-1.5)) / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class GridCost:
    """What to add to `beta` and to the half-width; the headline is the addition to `beta`.

    Examples
    --------
    >>> GridCost(1e-9, 1e-6).to_dict()
    {'value': 1e-09, 'half_width': 1e-06}
    """

    value: float
    half_width: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"value": self.value, "half_width": self.half_width}


@theorem(
    "interval.discrete-noise",
    statement="What to add to beta when k Gaussian noises are replaced by discrete Gaussian noise on a grid.",
    source="Holdfast: total variation between a rounded and a discrete normal, summed over answers",
    conditions="values rounded row by row so that the exact mean lies on the grid; discrete Gaussian with the stated "
    "parameter sigma (smallest of a run)",
    unit="probability",
    provenance="derived",
)
def discrete_noise_cost(questions: int, sigma: float, grid: float) -> GridCost:
    """Return the additions `k b` to `beta` and `grid/2` to the half-width, `b = (g/s)^2 (0.0404 + 0.063 g/s)`.

    The posterior-shift theorems are proved for continuous normal noise, mechanisms add discrete normal noise. Let the
    exact mean be a multiple of the grid step `g` (values are rounded row by row). Then rounding the ideal answer to the
    grid adds the *rounded* normal to the mean; it is post-processing and moves an answer by at most `g/2`. The rounded
    and the discrete normal of parameter `s` differ in total variation by at most
    `b = (g^2/24) (c2/s^2 + c3 g/s^3)`, with `c2 = 0.9679` and `c3 = 1.5100` the integrals of `|phi''|` and
    `|phi'''|`: on each cell the midpoint rule is off by at most `g^3/24` times the largest `|phi''|` there, the sum of
    these is a Riemann sum, and normalising costs no more than that again, which the factor 1/2 of total variation
    undoes. Given rows, coins and past, answers can be exchanged one by one, so a run differs by at most `k b`.

    Parameters
    ----------
    questions : int
        Number of answers.
    sigma : float
        Parameter of the discrete Gaussian, the smallest one of the run.
    grid : float
        Grid step.

    Examples
    --------
    >>> cost = discrete_noise_cost(1000, 0.001, 2**-30)
    >>> f"{cost.value:.1e}", f"{cost.half_width:.1e}"
    ('3.5e-11', '4.7e-10')
    """
    k = check.whole("questions", questions, at_least=1, at_most=MOST)
    sigma, grid = (
        check.real("sigma", sigma, at_least=1e-100, at_most=1e100),
        check.real("grid", grid, at_least=1e-100, at_most=1e50),
    )
    ratio = grid / sigma
    each = ratio * ratio / 24 * (_SECOND + _THIRD * ratio)
    return GridCost(min(1.0, up(k * each, 16)), grid / 2)


__all__ = ["GridCost", "discrete_noise_cost"]
