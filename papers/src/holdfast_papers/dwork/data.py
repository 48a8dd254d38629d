"""The experiment of Dwork et al. with its data: labels and attributes are made, and everything is computed from them.

Attributes come in blocks, so the full size needs about 0.4 GiB instead of 1.2: of a block only the columns that the
analyst can possibly choose are kept, those with a training weight of at least the cut; about a third of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from holdfast_papers.dwork.analyst import KS, Floats, Indices, Part, Setting

BLOCK = 64
"""Attributes made at once: 2.5 MB at 10,000 rows, which stays in a processor's cache until it has been summed."""


class DataSample:
    """One data set in single precision: labels `y` and attributes `x` on training, holdout and fresh rows.

    Fresh columns are made when the first classifier that uses them is judged.
    """

    def __init__(self, setting: Setting, rng: np.random.Generator) -> None:
        self.setting = setting
        self._rng = rng
        n, d = setting.n, setting.d
        self._labels = {
            part: rng.choice(np.array([-1, 1], dtype=np.float32), n) for part in ("train", "holdout", "fresh")
        }
        self.train: Floats = np.empty(d)
        self.holdout: Floats = np.empty(d)
        self._place = np.full(d, -1, dtype=np.intp)  # where a kept attribute lies in the arrays below
        parts: dict[str, list[NDArray[np.float32]]] = {"train": [], "holdout": []}
        count = 0
        for start in range(0, d, BLOCK):
            here = slice(start, min(start + BLOCK, d))
            train, holdout = self._block("train", here), self._block("holdout", here)
            self.train[here] = train @ self._labels["train"] / n
            self.holdout[here] = holdout @ self._labels["holdout"] / n
            able = np.flatnonzero(np.abs(self.train[here]) >= setting.cut)
            self._place[start + able] = count + np.arange(len(able))
            count += len(able)
            parts["train"].append(train[able])
            parts["holdout"].append(holdout[able])
        self._columns = {"train": parts["train"], "holdout": parts["holdout"]}
        self._starts = np.cumsum([0, *(len(part) for part in parts["train"])])
        self._fresh: dict[int, NDArray[np.float32]] = {}

    def correct(self, part: Part, order: Indices, signs: Floats) -> Iterator[NDArray[np.bool_]]:
        """For each of `KS`, row by row, whether the sign of the classifier's sum is the label. Sums grow with k."""
        labels, used = self._labels[part], 0
        scores = np.zeros(self.setting.n, dtype=np.float32)
        for k in KS:
            upto = min(k, len(order))
            for i in range(used, upto):
                scores += np.float32(signs[i]) * self._column(part, int(order[i]))
            used = max(used, upto)
            yield scores * labels > 0

    def holdout_columns(self, chosen: Indices) -> NDArray[np.float32]:
        """The chosen holdout columns times the labels."""
        columns = np.stack([self._column("holdout", int(i)) for i in chosen])
        columns *= self._labels["holdout"]
        return columns

    def _block(self, part: Part, here: slice) -> NDArray[np.float32]:
        block = self._rng.standard_normal((here.stop - here.start, self.setting.n), dtype=np.float32)
        useful = max(0, self.setting.signal - here.start)
        block[:useful] += np.float32(self.setting.bias) * self._labels[part]
        return block

    def _column(self, part: Part, attribute: int) -> NDArray[np.float32]:
        if part == "fresh":
            if attribute not in self._fresh:
                self._fresh[attribute] = self._block("fresh", slice(attribute, attribute + 1))[0]
            return self._fresh[attribute]
        place = self._place[attribute]
        block = int(np.searchsorted(self._starts, place, side="right")) - 1
        column: NDArray[np.float32] = self._columns[part][block][place - self._starts[block]]
        return column


__all__ = ["BLOCK", "DataSample"]
