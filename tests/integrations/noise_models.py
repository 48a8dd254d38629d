"""Models that know nothing, picked greedily: what an evaluation harness is used for when nobody is careful.

Every item's label is a fair coin, so every model's accuracy on fresh items is one half, whatever it was made from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

TRUE = 0.5
ALARM = 1e-6
"""How often a guard that keeps its promise fails these tests."""
MODELS = 200


class NoiseModels:
    """Labels of `n` items, and models that are coins."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._labels = self._rng.random(n) < 0.5
        self.n = n

    def greedy(self, score: Callable[[npt.NDArray[np.bool_]], float]) -> npt.NDArray[np.bool_]:
        """Which items the majority of the models has right, each turned round if its score was not above one half."""
        votes: Any = np.zeros(self.n)
        for _ in range(MODELS):
            model = self._rng.random(self.n) < 0.5
            votes += np.where(model, 1, -1) * (1 if score(model == self._labels) > TRUE else -1)
        return (votes > 0) == self._labels


def plain_interval(mean: float, n: int) -> tuple[float, float]:
    """What somebody would believe who takes the last of the scores for the only one, at the same error."""
    width = math.sqrt(math.log(2 * (MODELS + 1) / ALARM) / (2 * n))
    return mean - width, mean + width
