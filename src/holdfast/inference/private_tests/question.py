"""What the tests of counts share: the checked question, the one release, the result, and what is known of its level.

Composite nulls
---------------
Here the rule of thumb looks at noisy counts, so a NULL is known only after the release and the cost is spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting.costs import Cost
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import (
    Counts,
    Margins,
    NoisyCounts,
    histogram,
    probabilities,
    protected_unit,
    table,
)
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, Resampled, critical_value, p_value, rejects
from holdfast.inference.private_tests.noise_law import NoiseLaw, Unit, noise_of
from holdfast.inference.private_tests.result import Level, TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

ModelMethod = Literal["projected", "nonprojected", "monte-carlo-projected"]
NOT_AGAIN = "The release is spent; do not release again until it is conclusive: among such runs the level is not kept"


@dataclass(frozen=True)
class Question:
    """Counts or noisy counts, the distribution of the noise and the level; all public but the counts."""

    counts: Counts | NoisyCounts
    noise: NoiseLaw
    alpha: float

    @property
    def n(self) -> int:
        """Number of records."""
        return self.counts.n

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the counts."""
        return self.counts.shape

    @property
    def cost(self) -> Cost:
        """What the test spends: nothing more where the counts were released before."""
        return self.noise.nothing if isinstance(self.counts, NoisyCounts) else self.noise.cost

    def noisy(self, source: Source | None) -> NDArray[np.float64]:
        """Return the one place where a test touches the records."""
        if isinstance(self.counts, NoisyCounts):
            return self.counts.values
        return self.noise.release(self.counts.values, source)

    def result(
        self,
        test: str,
        statistic: float,
        p_value: float,
        critical_value: float | None,
        level: Level,
        warnings: tuple[str, ...],
        details: Mapping[str, Any],
    ) -> TestResult:
        """Return a conclusive result; the decision is `p_value <= alpha`."""
        return TestResult(
            test,
            statistic,
            p_value,
            critical_value,
            self.alpha,
            bool(rejects(p_value, self.alpha)),
            None,
            self.cost,
            level,
            warnings,
            self.n,
            {"noise": self.noise} | dict(details),
        )

    def null(
        self, test: str, reason: str, level: Level, warnings: tuple[str, ...], details: Mapping[str, Any]
    ) -> TestResult:
        """Return an inconclusive result, known only from the released counts."""
        known = {"noise": self.noise} | dict(details)
        why = f"{reason}. {NOT_AGAIN}"
        return TestResult(test, None, None, None, self.alpha, None, why, self.cost, level, warnings, self.n, known)

    def ranked(
        self,
        test: str,
        statistic: float,
        replicates: Resampled,
        m: int,
        level: Level,
        warnings: tuple[str, ...],
        details: Mapping[str, Any],
        slack: float = 0.0,
    ) -> TestResult:
        """The result of a Monte Carlo test with `m` resamples, of which some may have been inconclusive.

        Two tables whose statistics differ by less than a part `slack` count as ties.
        """
        known = dict(details) | {"drawn": replicates.drawn, "inconclusive": replicates.inconclusive}
        if replicates.failed is not None:
            return self.null(test, replicates.failed, level, warnings, known)
        values = replicates.values
        if values.size < m:  # skipped ones can leave too few to ever reject
            warnings += (f"{replicates.inconclusive} of {m} resamples were inconclusive and left out",)
        threshold = critical_value(values, self.alpha) if (values.size + 1) * self.alpha >= 1 else None
        return self.result(test, statistic, p_value(statistic * (1 - slack), values), threshold, level, warnings, known)


def question(
    counts: Any,
    *,
    rho: Rational | None,
    epsilon: Rational | None,
    noise: NoiseLaw | None,
    alpha: float,
    n: int | None = None,
    neighbours: str = "replace-one",
    as_table: bool = True,
    public_margins: Margins = "none",
    unit: Unit = "person",
) -> Question:
    """Check everything before the records are touched."""
    level = arguments.probability("alpha", alpha)
    unit = protected_unit(public_margins, unit)
    if isinstance(counts, NoisyCounts):
        _check_noisy(counts, rho, epsilon, noise, n)
        if as_table and (len(counts.shape) != 2 or min(counts.shape) < 2):
            raise InvalidParameter(f"counts must be a table of at least 2 by 2 cells, got shape {counts.shape}")
        if counts.noise.unit != unit:
            raise InvalidParameter(f"the noisy counts protect a {counts.noise.unit}, but the test is about a {unit}")
        return Question(counts, counts.noise, level)
    law = noise_of(rho=rho, epsilon=epsilon, noise=noise, unit=unit)
    checked = (table if as_table else histogram)(counts, n=n, neighbours=neighbours)
    return Question(checked, law, level)


def _check_noisy(
    counts: NoisyCounts, rho: Rational | None, epsilon: Rational | None, noise: NoiseLaw | None, n: int | None
) -> None:
    """Refuse what would contradict counts that were released before."""
    if rho is not None or epsilon is not None or (noise is not None and noise != counts.noise):
        raise InvalidParameter(
            "rho, epsilon and noise must be left out with noisy counts, which already have their noise"
        )
    if n is not None and n != counts.n:
        raise InvalidParameter(f"n must be the number of records of the noisy counts, {counts.n}, got {n}")


def default_method(counts: Any, epsilon: Rational | None, noise: NoiseLaw | None) -> ModelMethod:
    """The method of a test of counts where none is named: a limit with Gaussian noise, Monte Carlo with any other."""
    law = counts.noise if isinstance(counts, NoisyCounts) else noise
    is_gaussian = law.is_gaussian if isinstance(law, NoiseLaw) else epsilon is None
    return "projected" if is_gaussian else "monte-carlo-projected"


def need_gaussian(noise: NoiseLaw, test: str) -> None:
    """Refuse a threshold that is derived for Gaussian noise where the noise is another."""
    if not noise.is_gaussian:
        raise InvalidParameter(
            f"{test} needs Gaussian noise (rho), got Laplace noise: the threshold of this test does not hold for "
            "Laplace noise; use method='monte-carlo-projected' or 'monte-carlo'"
        )


def refuse_lattice(noise: NoiseLaw) -> None:
    """Refuse the nonprojected statistic where its noise term lies on a coarse lattice (spec 1.2, reviewed)."""
    if noise.coarse:
        raise InvalidParameter(
            f"nonprojected statistics need discrete noise of variance at least 1, got {noise.variance:.3g}: with less "
            "noise their level was measured at .130 in place of .05; use the projected statistic"
        )


def small_alpha(alpha: float, worst: str) -> tuple[str, ...]:
    """Return the warning for levels below .01."""
    if alpha >= 0.01:
        return ()
    return (f"alpha = {alpha:g} is below .01: asymptotic thresholds were measured at {worst} for .001",)


def few_replicates(m: int) -> tuple[str, ...]:
    """Return the warning for a small m."""
    return (f"m = {m} replicates: power is lost; 999 or more lose next to none",) if m < DEFAULT_REPLICATES else ()


FEW = 5.0
"""Expected counts below this are small for a limit theorem."""

TINY = 1.0
"""Asymptotic tests say NULL below this expected count unless told otherwise (spec 10, row 41)."""


@dataclass(frozen=True)
class Setting(Question):
    """A goodness-of-fit question, all of it public but the counts."""

    p0: NDArray[np.float64]

    @property
    def d(self) -> int:
        """The number of cells."""
        return int(self.p0.size)

    @property
    def c(self) -> float:
        """Noise-to-sample ratio."""
        return self.noise.c(self.n)

    @property
    def smallest_expected(self) -> float:
        """The smallest `n p0_i`; public."""
        return float(self.n * self.p0.min())

    def noisy(self, source: Source | None) -> NDArray[np.float64]:
        """Return the counts with their noise, one a cell."""
        return super().noisy(source).ravel()

    def refused(self, test: str, reason: str, level: Level, warnings: tuple[str, ...]) -> TestResult:
        """Return an inconclusive result, known before the records are touched: nothing is spent."""
        known, nothing = {"noise": self.noise}, self.noise.nothing
        return TestResult(test, None, None, None, self.alpha, None, reason, nothing, level, warnings, self.n, known)


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
    level = arguments.probability("alpha", alpha)
    if isinstance(counts, NoisyCounts):
        _check_noisy(counts, rho, epsilon, noise, n)
        vector = probabilities("p0", p0, counts.values.size)
        return Setting(counts, counts.noise, level, vector)
    law = noise_of(rho=rho, epsilon=epsilon, noise=noise)
    checked = histogram(counts, n=n, neighbours=neighbours)
    return Setting(checked, law, level, probabilities("p0", p0, checked.cells))


def need_gaussian_gof(found: Setting, test: str) -> None:
    """Refuse a threshold that is derived for Gaussian noise where the noise is another."""
    if not found.noise.is_gaussian:
        raise InvalidParameter(
            f"{test} needs Gaussian noise (rho), got Laplace noise: with Laplace noise its level was measured at .079 "
            "for 4 cells and .133 for 50 cells, in place of .05; use "
            'method="monte-carlo", which is exact'
        )


def asymptotic_warnings(found: Setting) -> tuple[str, ...]:
    """Where the level of an asymptotic test is known to fail, with the worst levels that were measured (spec 5.8)."""
    warnings = []
    expected, variance = found.smallest_expected, found.noise.variance
    if expected < FEW:
        worst = "0.088 at expected counts of 1" if expected >= TINY else "0.21 to 0.56 at expected counts below 0.1"
        worst = "0.061 where the noise variance is at least 1" if found.noise.scale >= 1 else worst
        warnings.append(
            f"the smallest expected count is {expected:.3g}, below 5: the limit is rough (worst level measured for "
            f".05: {worst}); a Monte Carlo test is exact"
        )
    if found.alpha < 0.01:
        warnings.append(
            f"alpha = {found.alpha:g} is below .01: asymptotic thresholds were measured at two to three times the "
            "nominal level at .001; a Monte Carlo test is exact"
        )
    if found.noise.coarse:
        warnings.append(
            f"the noise is discrete and its variance {variance:.3g} is below 1: the statistic lies on a lattice that "
            "no continuous threshold follows (up to .071 for .05 at expected counts of 5, .091 at .5); "
            "noise=gaussian(rho) releases on a finer grid, and a Monte Carlo test is exact"
        )
    return tuple(warnings)


def too_few(found: Setting, minimum_expected: float) -> str | None:
    """Return the rule of thumb of the asymptotic tests, a function of public numbers only."""
    least = arguments.real("minimum_expected", minimum_expected, at_least=0)
    if found.smallest_expected >= least:
        return None
    return (
        f"the smallest expected count n p0 is {found.smallest_expected:.3g}, below {least:g}, where the limit "
        f"distribution is "
        'known to fail; nothing was released or spent. method="monte-carlo" is exact here, and minimum_expected=0 runs '
        "the test regardless"
    )
