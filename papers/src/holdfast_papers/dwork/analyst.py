"""The experiment of Dwork et al. (2015), section 5: who the data are, what the analyst does, and what a run records.

The analyst is written once, against `Sample`. `dwork_law` samples the distributions of what she looks at; `dwork_data`
makes the whole data set and computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from holdfast.core import arguments
from holdfast.holdout.gaussian_thresholdout import GaussianThresholdout
from holdfast.noise import Seeded

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Part = Literal["train", "holdout", "fresh"]
PARTS: tuple[Part, ...] = ("train", "holdout", "fresh")

KS = (10, 20, 30, 45, 70, 100, 150, 200, 250, 300, 400, 500)
"""How many variables the classifiers use. The published figures also draw k = 0, where the accuracy is one half."""


@dataclass(frozen=True)
class Setting:
    """`n` rows in each of training, holdout and fresh set, `d` attributes, the first `signal` of them of use.

    Labels are fair signs. Attributes are normal with variance 1 and mean 0, the useful ones with mean `bias` times the
    label, `bias = 6/sqrt(n)`.

    Examples
    --------
    >>> Setting(signal=20).bias, Setting(signal=20).true_accuracy(np.arange(20), np.ones(20)).round(6)
    (0.06, np.float64(0.605777))
    """

    n: int = 10_000
    d: int = 10_000
    signal: int = 0

    def __post_init__(self) -> None:
        arguments.whole("n", self.n, at_least=2)
        arguments.whole("d", self.d, at_least=1)
        arguments.whole("signal", self.signal, at_least=0, at_most=self.d)

    @property
    def bias(self) -> float:
        """Mean of `x * y` for a useful attribute."""
        return 6 / math.sqrt(self.n)

    @property
    def cut(self) -> float:
        """The least weight in absolute value, on both sets, of an attribute that the analyst takes."""
        return 1 / math.sqrt(self.n)

    @property
    def means(self) -> Floats:
        """Mean of `x * y` of each attribute."""
        means = np.zeros(self.d)
        means[: self.signal] = self.bias
        return means

    def true_accuracy(self, chosen: Indices, signs: Floats) -> np.float64:
        """Accuracy in the population of the sign of the signed sum of the chosen attributes, exactly."""
        margin = self.bias * float(signs[chosen < self.signal].sum()) / math.sqrt(len(chosen)) if len(chosen) else 0.0
        return np.float64(ndtr(margin))


class Sample(Protocol):
    """One draw of the data, as far as an analyst looks at it. `train` and `holdout` are the means of `x_i * y`."""

    setting: Setting
    train: Floats
    holdout: Floats

    def correct(self, part: Part, order: Indices, signs: Floats) -> Iterator[NDArray[np.bool_]]:
        """For each of `KS`, row by row, whether the classifier of the first k attributes of `order` is right."""
        ...

    def holdout_columns(self, chosen: Indices) -> NDArray[np.float32]:
        """`x_i * y` on the holdout, one row an attribute."""
        ...


Answerer = Callable[[Floats, Floats], Floats]
"""What stands between analyst and holdout: training and holdout values to answers; NaN where it says nothing."""


@dataclass(frozen=True)
class Run:
    """What one analyst found in one run: accuracies at each of `KS`, and what the method told her of the holdout."""

    accuracy: dict[Part, Floats]
    reported: Floats
    true: Floats
    selected: int
    useful: int
    over: int
    over_accuracy: int


def shown_as_is(train: Floats, holdout: Floats) -> Floats:
    """The standard holdout: it tells what it holds."""
    return holdout


def gaussian_thresholdout(setting: Setting, rng: np.random.Generator) -> Answerer:
    """The answers of the published figures: Gaussian noise of one size, no threshold noise kept, no budget.

    Neither the paper's theorems nor ours cover it: it stands here because the figures were drawn with it.
    """
    holdout = GaussianThresholdout(setting.n, source=Seeded(int(rng.integers(2**63))))
    return lambda train, means: holdout.query_batch(train, means).values


def selected(train: Floats, answers: Floats, cut: float) -> Indices:
    """The attributes whose weights agree in sign and reach `cut` on both sides, the largest training weight first.

    Examples
    --------
    >>> selected(np.array([0.3, -0.4, 0.5, 0.2]), np.array([0.2, -0.2, -0.5, 0.05]), 0.1)
    array([1, 0])
    """
    kept = np.flatnonzero((train * answers > 0) & (np.abs(train) >= cut) & (np.abs(answers) >= cut))
    return kept[np.argsort(-np.abs(train[kept]), kind="stable")]


def analyse(sample: Sample, answerer: Answerer) -> Run:
    """Ask for every attribute, build the classifiers, then ask for the accuracy of each.

    Where the method tells nothing (NaN) an attribute is not taken.
    """
    setting, train, holdout = sample.setting, sample.train, sample.holdout
    answers = answerer(train, holdout)
    taken = selected(train, answers, setting.cut)
    order = taken[: max(KS)]
    signs = np.sign(train[order])
    accuracy = {
        part: np.array([np.count_nonzero(right) / setting.n for right in sample.correct(part, order, signs)])
        for part in PARTS
    }
    reported = answerer(accuracy["train"], accuracy["holdout"])
    true = np.array([setting.true_accuracy(order[:k], signs[:k]) for k in KS])
    return Run(
        accuracy,
        reported,
        true,
        selected=len(taken),
        useful=int(np.count_nonzero(order < setting.signal)),
        over=_spoken(train, answers),
        over_accuracy=_spoken(accuracy["train"], reported),
    )


def _spoken(train: Floats, answers: Floats) -> int:
    """How often the holdout spoke: something was told, and not the training value."""
    return int(np.count_nonzero((answers != train) & ~np.isnan(answers)))


__all__ = [
    "KS",
    "PARTS",
    "Answerer",
    "Floats",
    "Indices",
    "Part",
    "Run",
    "Sample",
    "Setting",
    "analyse",
    "gaussian_thresholdout",
    "selected",
    "shown_as_is",
]
