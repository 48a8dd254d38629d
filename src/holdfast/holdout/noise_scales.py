"""The three noises of a Thresholdout run: as asked for, and as whole steps of a grid with their exact cost."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from holdfast import check
from holdfast.accounting.costs import PureDP
from holdfast.bounds.exact import decimal_fraction, float_up
from holdfast.bounds.sparse_vector import numeric_sparse_scales, sparse_vector_split
from holdfast.errors import InvalidParameter
from holdfast.noise.calibrate import laplace_on_grid
from holdfast.noise.grid import Grid
from holdfast.noise.integers import fits_vector

Variant = Literal["figure-1", "single-threshold", "numeric-sparse"]
VARIANTS = ("figure-1", "single-threshold", "numeric-sparse")


@dataclass(frozen=True)
class NoiseScales:
    """Laplace scales of threshold, comparison and released value, in the unit of the answers.

    `refresh` says whether every overfit draws a fresh threshold (Figure 1) or one threshold serves the whole run.

    Examples
    --------
    >>> NoiseScales.of("figure-1", sigma=0.01, budget=5, n=10_000)
    NoiseScales(threshold=0.02, comparison=0.04, release=0.01, refresh=True)
    >>> round(NoiseScales.of("single-threshold", sigma=0.01, budget=10, n=10_000).comparison, 5)
    0.02271
    """

    threshold: float
    comparison: float
    release: float
    refresh: bool = True

    def __post_init__(self) -> None:
        for name in ("threshold", "comparison", "release"):
            object.__setattr__(self, name, check.real(name, getattr(self, name), at_least=1e-100, at_most=1e100))
        if not isinstance(self.refresh, bool):
            raise InvalidParameter("refresh must be True or False")

    @classmethod
    def of(cls, variant: Variant, sigma: float, budget: int, n: int, unit: float = 1.0) -> NoiseScales:
        """Scales that spend what Figure 1 spends with this sigma and budget, `2B/(sigma n)`, in three divisions.

        - *figure-1*: `2 sigma`, `4 sigma`, `sigma`, a fresh threshold after each overfit (Dwork et al. 2015);
        - *single-threshold*: half of epsilon for the values, so that they keep their noise `sigma`; the other half is
          divided `1 : (2B)^(2/3)` between one threshold for the whole run and the comparisons (Lyu, Su, Li 2017;
          scales `D/e1` and `2BD/e2`). Less noise on every comparison at the same cost;
        - *numeric-sparse*: Dwork-Roth 2014, Algorithm 3: `9/8 sigma`, `9/4 sigma`, `9/2 sigma`. Comparisons are less
          noisy, released values noisier.

        Parameters
        ----------
        variant : str
            One of the three.
        sigma : float
            Figure 1's Laplace scale for answers of range 1.
        budget, n : int
            Overfits and holdout rows.
        unit : float
            Length of the range of the answers; all scales are multiplied by it.
        """
        kind = check.choice("variant", variant, VARIANTS)
        if kind == "figure-1":
            return cls(2 * sigma * unit, 4 * sigma * unit, sigma * unit)
        epsilon = 2 * budget / (sigma * n)
        if kind == "numeric-sparse":
            return cls(*numeric_sparse_scales(epsilon, budget, unit / n))
        share = sparse_vector_split(epsilon / 2, budget)
        return cls(unit / n / share.threshold, 2 * budget * unit / n / share.questions, sigma * unit, refresh=False)

    def times(self, factor: float) -> NoiseScales:
        """All three scales multiplied."""
        factor = check.real("factor", factor, above=0)
        return NoiseScales(self.threshold * factor, self.comparison * factor, self.release * factor, self.refresh)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class ScalesOnGrid:
    """Scales in whole steps, and what the discrete noise on the grid spends, exactly.

    A statistic that neighbours move by `D` moves its index by at most `sensitivity = ceil(D/step)` steps. Each scale is
    rounded up so that `sensitivity/scale` is at most `D/scale` as asked for: the grid never spends more than the
    continuous noise would, and pays with at most one part in a thousand more noise on the default grid.
    """

    grid: Grid
    sensitivity: int
    threshold: int
    comparison: int
    release: int
    refresh: bool

    @classmethod
    def of(
        cls, scales: NoiseScales, sensitivity: Fraction, slack: Fraction = Fraction(0), grid: Grid | None = None
    ) -> ScalesOnGrid:
        """Put scales on a grid; `slack` is how far floating-point sums may add to the sensitivity.

        Examples
        --------
        >>> on = ScalesOnGrid.of(NoiseScales(0.02, 0.04, 0.01), Fraction(1, 10_000))
        >>> on.run_cost(5), float(on.first), float(on.overfit)
        (PureDP(epsilon=0.1), 0.005, 0.015)
        """
        asked = [decimal_fraction(scale) for scale in (scales.threshold, scales.comparison, scales.release)]
        if grid is None:
            grid = Grid(min(laplace_on_grid(sensitivity, sensitivity / scale).grid.exponent for scale in asked))
        steps = grid.sensitivity_steps(sensitivity + slack)
        whole = [math.ceil(scale / sensitivity * steps) for scale in asked]
        for scale in whole:
            fits_vector("noise scale", scale)
        return cls(grid, steps, whole[0], whole[1], whole[2], scales.refresh)

    @property
    def first(self) -> Fraction:
        """Epsilon of the comparisons that say "no overfit": paid once for each threshold, whatever their number."""
        return Fraction(self.sensitivity, self.threshold)

    @property
    def overfit(self) -> Fraction:
        """Epsilon that an overfit adds: its comparison and its released value."""
        return 2 * Fraction(self.sensitivity, self.comparison) + Fraction(self.sensitivity, self.release)

    def run_cost(self, budget: int) -> PureDP:
        """What a whole run may spend."""
        thresholds = budget if self.refresh else 1
        return PureDP(float_up(thresholds * self.first + budget * self.overfit))

    @property
    def realised(self) -> NoiseScales:
        """The scales that are drawn, in the unit of the answers."""
        step = self.grid.step
        threshold, comparison, release = (float_up(w * step) for w in (self.threshold, self.comparison, self.release))
        return NoiseScales(threshold, comparison, release, self.refresh)


__all__ = ["VARIANTS", "NoiseScales", "ScalesOnGrid", "Variant"]
