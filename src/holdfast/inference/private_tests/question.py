"""What the tests of a composite null share: the checked question, the one release, the result, what is known of levels.

Here the rule of thumb looks at noisy counts, so a NULL is known only after the release and the cost is spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.accounting.costs import Cost
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import Counts, Margins, histogram, protected_unit, table
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, rejects
from holdfast.inference.private_tests.noise_law import NoiseLaw, Unit, noise_of
from holdfast.inference.private_tests.released import NoisyCounts
from holdfast.inference.private_tests.result import Level, TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

NOT_AGAIN = "The release is spent; do not release again until it is conclusive: among such runs the level is not kept"


@dataclass(frozen=True)
class Question:
    """Counts or noisy counts, the law of the noise and the level; all public but the counts."""

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
        """The one place where a test touches the records."""
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
        """A conclusive result; the decision is `p_value <= alpha`."""
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
        """An inconclusive result, known only from the released counts."""
        known = {"noise": self.noise} | dict(details)
        why = f"{reason}. {NOT_AGAIN}"
        return TestResult(test, None, None, None, self.alpha, None, why, self.cost, level, warnings, self.n, known)


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
    level = check.probability("alpha", alpha)
    unit = protected_unit(public_margins, unit)
    if isinstance(counts, NoisyCounts):
        if rho is not None or epsilon is not None or (noise is not None and noise != counts.noise):
            raise InvalidParameter("noisy counts bring their own noise; give neither rho, epsilon nor noise")
        if n is not None and n != counts.n:
            raise InvalidParameter(f"n must be that of the noisy counts, {counts.n}, got {n}")
        if as_table and (len(counts.shape) != 2 or min(counts.shape) < 2):
            raise InvalidParameter(f"counts must be a table of at least 2 by 2 cells, got shape {counts.shape}")
        if counts.noise.unit != unit:
            raise InvalidParameter(f"the noisy counts protect a {counts.noise.unit}, but the test is about a {unit}")
        return Question(counts, counts.noise, level)
    law = noise_of(rho=rho, epsilon=epsilon, noise=noise, unit=unit)
    checked = (table if as_table else histogram)(counts, n=n, neighbours=neighbours)
    return Question(checked, law, level)


def need_gaussian(noise: NoiseLaw, test: str) -> None:
    """Refuse a threshold that is derived for Gaussian noise where the noise is another."""
    if not noise.is_gaussian:
        raise InvalidParameter(
            f"{test} needs Gaussian noise (rho), got Laplace noise: its threshold is derived for Gaussian noise and "
            "fails with Laplace, discrete or not; use method='monte-carlo-projected' or 'monte-carlo'"
        )


def refuse_lattice(noise: NoiseLaw) -> None:
    """Refuse the nonprojected statistic where its noise term lies on a coarse lattice (spec 1.2, reviewed)."""
    if noise.coarse:
        raise InvalidParameter(
            f"nonprojected statistics need discrete noise of variance at least 1, got {noise.variance:.3g}: the "
            "squared noise total is then a coarse lattice variable (level .130 for .05); use the projected statistic"
        )


def small_alpha(alpha: float, worst: str) -> tuple[str, ...]:
    """The warning for levels below .01."""
    if alpha >= 0.01:
        return ()
    return (f"alpha = {alpha:g} is below .01: asymptotic thresholds were measured at {worst} for .001",)


def few_replicates(m: int) -> tuple[str, ...]:
    """The warning for a small m."""
    return (f"m = {m} replicates: power is lost; 999 or more lose next to none",) if m < DEFAULT_REPLICATES else ()


__all__ = ["Question", "few_replicates", "need_gaussian", "question", "refuse_lattice", "small_alpha"]
