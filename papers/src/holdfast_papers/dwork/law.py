"""The experiment of Dwork et al. without its data: the distributions of what the analyst looks at, sampled exactly.

With Gaussian attributes the mean of a column is independent of its deviations from that mean. So the d means are drawn
directly, and given them the signed sum of q columns has, row by row, the distribution of

    sum of signed means + sqrt(q) * (g - mean of g),    g standard normal in n dimensions.

On the fresh set, which nobody looked at, it is the sum of signed population means + sqrt(q) * g. The classifiers are
nested in k, so one g for each step of k is enough: O(d + n * steps) normal draws instead of O(n * d).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from holdfast_papers.dwork.analyst import KS, Floats, Indices, Part, Setting


class LawSample:
    """One draw. Two calls of `correct` are independent given the means: each has the right distribution, not the pair.

    `centred=False` leaves the mean of g in, which is wrong on purpose: tests use it to see that they would notice.
    """

    def __init__(self, setting: Setting, rng: np.random.Generator, *, centred: bool = True) -> None:
        self.setting = setting
        self._rng = rng
        self._centred = centred
        self._means = setting.means
        root = math.sqrt(setting.n)
        self.train: Floats = self._means + rng.standard_normal(setting.d) / root
        self.holdout: Floats = self._means + rng.standard_normal(setting.d) / root

    def correct(self, part: Part, order: Indices, signs: Floats) -> Iterator[NDArray[np.bool_]]:
        """For each of `KS`, row by row, whether the classifier is right. Time O(n) a step."""
        means = {"train": self.train, "holdout": self.holdout, "fresh": self._means}[part][order] * signs
        deviations = np.zeros(self.setting.n, dtype=np.float32)
        used, margin = 0, 0.0
        for k in KS:
            upto = min(k, len(order))
            if upto > used:
                deviations += np.float32(math.sqrt(upto - used)) * self._deviations(1, part)[0]
                margin += float(means[used:upto].sum())
                used = upto
            yield deviations > -margin if used else np.zeros(self.setting.n, dtype=np.bool_)

    def holdout_columns(self, chosen: Indices) -> NDArray[np.float32]:
        """The chosen holdout columns of `x * y`, drawn given their means."""
        return self._deviations(len(chosen), "holdout") + self.holdout[chosen, None].astype(np.float32)

    def _deviations(self, columns: int, part: Part) -> NDArray[np.float32]:
        g = self._rng.standard_normal((columns, self.setting.n), dtype=np.float32)
        if part != "fresh" and self._centred:
            g -= g.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
        return g


__all__ = ["LawSample"]
