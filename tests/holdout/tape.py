"""Injected noise for Thresholdout: floats become whole steps of a grid, handed out in order or by kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from holdfast.noise import Grid

FINE = Grid(-42)
"""Steps of 2e-13: injected floats stay what they are to 1e-12."""


class Tape:
    """One list in the order of the figure."""

    def __init__(self, noise: Iterable[float], grid: Grid = FINE) -> None:
        self._left = [grid.index(value) for value in noise][::-1]

    @property
    def left(self) -> int:
        return len(self._left)

    def __call__(self, scale: int, size: int | None = None, /) -> Any:
        if size is None:
            return self._left.pop()
        return np.array([self._left.pop() for _ in range(size)], dtype=np.int64)


class Tapes:
    """One list a scale, so that a batch, which draws in another order, meets the same noise; zero when it runs out."""

    def __init__(self, by_scale: dict[int, Sequence[int]]) -> None:
        self._left = {scale: list(values)[::-1] for scale, values in by_scale.items()}

    def __call__(self, scale: int, size: int | None = None, /) -> Any:
        stack = self._left[scale]
        if size is None:
            return stack.pop() if stack else 0
        return np.array([stack.pop() if stack else 0 for _ in range(size)], dtype=np.int64)
