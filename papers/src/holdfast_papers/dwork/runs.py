"""Repetitions of Dwork et al.'s experiment and the statistics of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast_papers.dwork.analyst import (
    PARTS,
    Floats,
    Part,
    Run,
    Sample,
    Setting,
    analyse,
    gaussian_thresholdout,
    shown_as_is,
)
from holdfast_papers.dwork.certified import Analyst, CertifiedRun, certify
from holdfast_papers.dwork.oracles import Arm
from holdfast_papers.registry import Progress

Maker = Callable[[Setting, np.random.Generator], Sample]
Curve = Part | Literal["told"]
CURVES: tuple[Curve, ...] = (*PARTS, "told")
ARMS: tuple[Arm, ...] = ("standard", "thresholdout")


@dataclass(frozen=True)
class Repetitions:
    """Runs of both arms on the same samples: `runs[arm][r]`."""

    setting: Setting
    runs: dict[Arm, tuple[Run, ...]]

    @property
    def count(self) -> int:
        """How many repetitions."""
        return len(self.runs["standard"])

    def curve(self, arm: Arm, curve: Curve) -> Floats:
        """One row a repetition, one column for each k: accuracy on a set, or what was told of the holdout."""
        return np.array([run.reported if curve == "told" else run.accuracy[curve] for run in self.runs[arm]])


@dataclass(frozen=True)
class Mean:
    """A mean over repetitions."""

    value: float
    spread: float
    count: int

    @property
    def error(self) -> float:
        """Standard error."""
        return self.spread / math.sqrt(self.count)

    @classmethod
    def of(cls, values: Sequence[float] | Floats) -> Mean:
        """Mean and standard deviation of at least two values.

        Examples
        --------
        >>> Mean.of([1.0, 2.0, 3.0])
        Mean(value=2.0, spread=1.0, count=3)
        """
        array = np.asarray(values, dtype=np.float64)
        return cls(float(array.mean()), float(array.std(ddof=1)), len(array))

    def distance(self, other: Mean | float) -> float:
        """How many standard errors away a number is, or another mean of runs with the same distribution and so one
        spread.

        Examples
        --------
        >>> round(Mean(0.5, 0.1, 100).distance(0.53), 2), round(Mean(0.5, 0.1, 100).distance(Mean(0.53, 0.1, 25)), 2)
        (3.0, 1.34)
        """
        if isinstance(other, Mean):
            at, freedom = other.value, self.count + other.count - 2
            pooled = ((self.count - 1) * self.spread**2 + (other.count - 1) * other.spread**2) / freedom
            error = math.sqrt(pooled * (1 / self.count + 1 / other.count))
        else:
            at, error = other, self.error
        return 0.0 if self.value == at else math.inf if error == 0 else abs(self.value - at) / error


def most_standard_errors(comparisons: int, count: int, error: float = 1e-6) -> float:
    """How many standard errors a true mean of `count` runs may be off in any of several comparisons.

    Student's t with an equal share of `error` for each comparison; runs' means are near enough to normal.

    Examples
    --------
    >>> round(most_standard_errors(1, 1000), 2), round(most_standard_errors(72, 100), 2)
    (4.92, 6.19)
    """
    from scipy.stats import t

    return float(t.isf(error / (2 * comparisons), count - 1))


def repeat(setting: Setting, count: int, seed: int, make: Maker, progress: Progress, what: str) -> Repetitions:
    """Run both arms `count` times. Every repetition has its own generator, so a longer run begins with the shorter."""
    runs: dict[Arm, list[Run]] = {arm: [] for arm in ARMS}
    for i, rng in enumerate(_generators(seed, setting, count)):
        progress(i / count, f"{what}, run {i + 1} of {count}")
        sample = make(setting, rng)
        runs["standard"].append(analyse(sample, shown_as_is))
        runs["thresholdout"].append(analyse(sample, gaussian_thresholdout(setting, rng)))
    return Repetitions(setting, {arm: tuple(found) for arm, found in runs.items()})


def repeat_certified(
    setting: Setting, count: int, seed: int, make: Maker, analyst: Analyst, progress: Progress
) -> tuple[CertifiedRun, ...]:
    """Put the analyst in front of the certified holdout `count` times."""
    repetitions = []
    for i, rng in enumerate(_generators(seed + 1, setting, count)):
        progress(i / count, f"certified holdout, run {i + 1} of {count}")
        repetitions.append(certify(make(setting, rng), analyst))
    return tuple(repetitions)


def _generators(seed: int, setting: Setting, count: int) -> list[np.random.Generator]:
    return [np.random.default_rng(s) for s in np.random.SeedSequence([seed, setting.signal]).spawn(count)]


__all__ = [
    "ARMS",
    "CURVES",
    "Curve",
    "Maker",
    "Mean",
    "Repetitions",
    "most_standard_errors",
    "repeat",
    "repeat_certified",
]
