"""Correlated data for the experiments of Zhao (2017): attributes that go together, and records that go together.

The paper gives no sizes and no strengths. Its analyst is the one of Dwork et al. (2015), and so is the code: `analyse`
asks this sample. Attributes are made in the order of a series in which neighbours are correlated; the useful ones are
spread over it. Of a block only the columns that the analyst can choose are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from holdfast.bounds.correlated import variance_inflation
from holdfast.core import arguments
from holdfast_papers.dwork.analyst import KS, Floats, Indices, Part, Setting

BLOCK = 64
Single = NDArray[np.float32]


@dataclass(frozen=True)
class CorrelatedSetting(Setting):
    """The setting of Dwork et al. with an AR(1) over attributes, an AR(1) over records and labels that persist.

    Correlation at lag 1: `attributes` between neighbouring attributes, `records` between neighbouring records, `labels`
    between neighbouring labels. All variances stay 1.

    Examples
    --------
    >>> setting = CorrelatedSetting(records=0.7, labels=0.7)
    >>> round(setting.inflation, 6)
    2.921569
    """

    attributes: float = 0.0
    records: float = 0.0
    labels: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("attributes", "records", "labels"):
            arguments.real(name, getattr(self, name), at_least=0, below=1)

    @property
    def inflation(self) -> float:
        """How much larger the variance of a mean of `x y` is than for independent records."""
        return variance_inflation(self.records, self.labels)

    @property
    def places(self) -> Indices:
        """Where each attribute stands in the series: the useful ones, which come first, are spread over it."""
        useful = np.linspace(0, self.d, self.signal, endpoint=False).astype(np.intp) + self.d // (2 * self.signal or 1)
        useful = np.minimum(useful, self.d - 1)
        return np.concatenate([useful, np.setdiff1d(np.arange(self.d), useful)])

    def true_accuracy(self, chosen: Indices, signs: Floats) -> np.float64:
        """Accuracy in the population of the sign of the signed sum of the chosen attributes, exactly.

        The sum is normal with mean `bias` times the useful signs (times the label), whatever records do.
        """
        if not len(chosen):
            return np.float64(0.5)
        apart = np.abs(np.subtract.outer(self.places[chosen], self.places[chosen]))
        variance = float(signs @ (self.attributes ** apart.astype(float)) @ signs)
        return np.float64(ndtr(self.bias * float(signs[chosen < self.signal].sum()) / math.sqrt(variance)))


class CorrelatedSample:
    """One draw: labels and attributes on training and holdout records, in single precision.

    Fresh records are drawn anew for every classifier that is judged.
    """

    def __init__(self, setting: CorrelatedSetting, rng: np.random.Generator) -> None:
        self.setting: Setting = setting
        self._correlated = setting
        self._rng = rng
        n, d = setting.n, setting.d
        self._places = setting.places
        attribute_at = np.empty(d, dtype=np.intp)
        attribute_at[self._places] = np.arange(d)
        self._labels: dict[Part, Single] = {"train": self._new_labels(), "holdout": self._new_labels()}
        means: dict[Part, Floats] = {"train": np.empty(d), "holdout": np.empty(d)}
        self._columns: dict[Part, dict[int, Single]] = {"train": {}, "holdout": {}}
        before: dict[Part, Single | None] = {"train": None, "holdout": None}
        for start in range(0, d, BLOCK):
            here = attribute_at[start : start + BLOCK]
            blocks: dict[Part, Single] = {}
            for part in self._columns:
                noise = self._series(len(here))
                for row in range(len(here)):  # each attribute follows the one before it
                    last = before[part] if row == 0 else noise[row - 1]
                    if last is not None and setting.attributes:
                        noise[row] *= np.float32(math.sqrt(1 - setting.attributes**2))
                        noise[row] += np.float32(setting.attributes) * last
                before[part] = noise[-1].copy()
                noise[here < setting.signal] += np.float32(setting.bias) * self._labels[part]
                means[part][here] = noise @ self._labels[part] / n
                blocks[part] = noise
            for kept in np.flatnonzero(np.abs(means["train"][here]) >= setting.cut):
                for part, block in blocks.items():
                    self._columns[part][int(here[kept])] = block[kept].copy()
        self.train, self.holdout = means["train"], means["holdout"]

    def correct(self, part: Part, order: Indices, signs: Floats) -> Iterator[NDArray[np.bool_]]:
        """For each of `KS`, record by record, whether the sign of the classifier's sum is the label."""
        if part == "fresh":
            labels = self._new_labels()
            columns = self._fresh(order, labels)
        else:
            labels, columns = self._labels[part], self._columns[part]
        scores, used = np.zeros(self.setting.n, dtype=np.float32), 0
        for k in KS:
            upto = min(k, len(order))
            for i in range(used, upto):
                scores += np.float32(signs[i]) * columns[int(order[i])]
            used = max(used, upto)
            yield scores * labels > 0

    def holdout_columns(self, chosen: Indices) -> Single:
        """The chosen holdout columns times the labels."""
        return np.stack([self._columns["holdout"][int(i)] for i in chosen]) * self._labels["holdout"]

    def _fresh(self, order: Indices, labels: Single) -> dict[int, Single]:
        """New records of the chosen attributes alone: along the series, correlation falls with the distance."""
        singles: dict[int, Single] = {}
        place, column = -1, None
        for attribute in order[np.argsort(self._places[order])]:
            noise = self._series(1)[0]
            here = int(self._places[attribute])
            if column is not None:
                shared = self._correlated.attributes ** (here - place)
                noise = np.float32(math.sqrt(1 - shared**2)) * noise + np.float32(shared) * column
            place, column = here, noise
            singles[int(attribute)] = noise + np.float32(self.setting.bias * (attribute < self.setting.signal)) * labels
        return singles

    def _series(self, count: int) -> Single:
        """Independent stationary AR(1) series over the records, one a row."""
        from scipy.signal import lfilter

        noise = self._rng.standard_normal((count, self.setting.n), dtype=np.float32)
        phi = self._correlated.records
        if phi == 0:
            return noise
        scale = math.sqrt(1 - phi * phi)
        noise[:, 0] /= np.float32(scale)  # the first record has variance 1 too
        numerator, denominator = np.array([scale], dtype=np.float32), np.array([1, -phi], dtype=np.float32)
        return np.asarray(lfilter(numerator, denominator, noise, axis=1), dtype=np.float32)

    def _new_labels(self) -> Single:
        """Fair signs that keep their value from record to record with probability `(1 + labels)/2`."""
        turns = self._rng.random(self.setting.n) < (1 - self._correlated.labels) / 2
        turns[0] = self._rng.random() < 0.5
        return np.where(np.cumsum(turns) % 2, 1, -1).astype(np.float32)


__all__ = ["BLOCK", "CorrelatedSample", "CorrelatedSetting"]
