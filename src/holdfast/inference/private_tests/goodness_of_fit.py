"""What the goodness-of-fit tests share: the setting, what is known about its level, the one release, the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.accounting.costs import Cost
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import Counts, histogram, probabilities
from holdfast.inference.private_tests.monte_carlo import rejects
from holdfast.inference.private_tests.noise_law import NoiseLaw, noise_of
from holdfast.inference.private_tests.released import NoisyCounts
from holdfast.inference.private_tests.result import Level, TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

FEW = 5.0
"""Expected counts below this are small for a limit theorem."""

TINY = 1.0
"""Asymptotic tests say NULL below this expected count unless told otherwise (spec 10, row 41)."""


@dataclass(frozen=True)
class Setting:
    """A goodness-of-fit question, all of it public but the counts."""

    counts: Counts | NoisyCounts
    p0: NDArray[np.float64]
    noise: NoiseLaw
    alpha: float

    @property
    def n(self) -> int:
        """Number of records."""
        return self.counts.n

    @property
    def d(self) -> int:
        """Number of cells."""
        return int(self.p0.size)

    @property
    def c(self) -> float:
        """Noise-to-sample ratio."""
        return self.noise.c(self.n)

    @property
    def smallest_expected(self) -> float:
        """The smallest `n p0_i`; public."""
        return float(self.n * self.p0.min())

    @property
    def cost(self) -> Cost:
        """What the test spends: nothing more where the counts were released before."""
        return self.noise.nothing if isinstance(self.counts, NoisyCounts) else self.noise.cost

    def noisy(self, source: Source | None) -> NDArray[np.float64]:
        """The one place where a test touches the records."""
        if isinstance(self.counts, NoisyCounts):
            return self.counts.values.ravel()
        return self.noise.release(self.counts.values, source)

    def result(
        self,
        test: str,
        statistic: float,
        p_value: float,
        critical_value: float,
        level: Level,
        warnings: tuple[str, ...],
        details: Mapping[str, Any],
    ) -> TestResult:
        """A conclusive result; the decision is `p_value <= alpha`."""
        return TestResult(
            test=test,
            statistic=statistic,
            p_value=p_value,
            critical_value=critical_value,
            alpha=self.alpha,
            reject=bool(rejects(p_value, self.alpha)),
            null_returned=None,
            cost=self.cost,
            level=level,
            warnings=warnings,
            n=self.n,
            details={"noise": self.noise} | dict(details),
        )

    def null(self, test: str, reason: str, level: Level, warnings: tuple[str, ...]) -> TestResult:
        """An inconclusive result, known before the records are touched: nothing is spent."""
        return TestResult(
            test=test,
            statistic=None,
            p_value=None,
            critical_value=None,
            alpha=self.alpha,
            reject=None,
            null_returned=reason,
            cost=self.noise.nothing,
            level=level,
            warnings=warnings,
            n=self.n,
            details={"noise": self.noise},
        )


def setting(
    counts: Any,
    p0: Any,
    *,
    rho: Rational | None,
    epsilon: Rational | None,
    noise: NoiseLaw | None,
    alpha: float,
    n: int | None,
    neighbours: str,
) -> Setting:
    """Check everything before the records are touched."""
    level = check.probability("alpha", alpha)
    if isinstance(counts, NoisyCounts):
        if rho is not None or epsilon is not None or (noise is not None and noise != counts.noise):
            raise InvalidParameter("noisy counts bring their own noise; give neither rho, epsilon nor noise")
        if n is not None and n != counts.n:
            raise InvalidParameter(f"n must be that of the noisy counts, {counts.n}, got {n}")
        vector = probabilities("p0", p0, counts.values.size)
        return Setting(counts, vector, counts.noise, level)
    law = noise_of(rho=rho, epsilon=epsilon, noise=noise)
    checked = histogram(counts, n=n, neighbours=neighbours)
    return Setting(checked, probabilities("p0", p0, checked.cells), law, level)


def need_gaussian(found: Setting, test: str) -> None:
    """Refuse a threshold that is derived for Gaussian noise where the noise is another."""
    if not found.noise.is_gaussian:
        raise InvalidParameter(
            f"{test} needs Gaussian noise (rho), got Laplace noise: its threshold is derived for Gaussian noise and "
            "fails with Laplace, discrete or not (level .079 at d = 4, .133 at d = 50 for .05); use mc_gof, "
            "which is exact"
        )


def asymptotic_warnings(found: Setting) -> tuple[str, ...]:
    """Where the level of an asymptotic test is known to fail, with the worst levels that were measured (spec 5.8)."""
    said = []
    expected, variance = found.smallest_expected, found.noise.variance
    if expected < FEW:
        worst = "0.088 at expected counts of 1" if expected >= TINY else "0.21 to 0.56 at expected counts below 0.1"
        worst = "0.061 where the noise variance is at least 1" if found.noise.scale >= 1 else worst
        said.append(
            f"the smallest expected count is {expected:.3g}, below 5: the limit is rough (worst level measured for "
            f".05: {worst}); a Monte Carlo test is exact"
        )
    if found.alpha < 0.01:
        said.append(
            f"alpha = {found.alpha:g} is below .01: asymptotic thresholds were measured at two to three times the "
            "nominal level at .001; a Monte Carlo test is exact"
        )
    if found.noise.coarse:
        said.append(
            f"the noise is discrete and its variance {variance:.3g} is below 1: the statistic lies on a lattice that "
            "no continuous threshold follows (up to .071 for .05 at expected counts of 5, .091 at .5); "
            "noise=gaussian(rho) releases on a finer grid, and a Monte Carlo test is exact"
        )
    return tuple(said)


def too_few(found: Setting, minimum_expected: float) -> str | None:
    """The rule of thumb of the asymptotic tests, a function of public numbers only."""
    least = check.real("minimum_expected", minimum_expected, at_least=0)
    if found.smallest_expected >= least:
        return None
    return (
        f"the smallest expected count n p0 is {found.smallest_expected:.3g}, below {least:g}, where the limit law is "
        "known to fail; nothing was released or spent. mc_gof is exact here, and minimum_expected=0 runs the "
        "test regardless"
    )


__all__ = ["FEW", "TINY", "Setting", "asymptotic_warnings", "need_gaussian", "setting", "too_few"]
