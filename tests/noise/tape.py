"""A source that plays given words, so that tests can steer a sampler or walk through all its branches."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from holdfast.noise import Source


class TapeEnd(Exception):
    """The sampler asked for more words than the tape holds."""


class Tape(Source):
    def __init__(self, words: Iterable[int]) -> None:
        self._words = list(words)[::-1]

    @property
    def left(self) -> int:
        return len(self._words)

    def word(self) -> int:
        if not self._words:
            raise TapeEnd
        return self._words.pop()

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([self.word() for _ in range(count)], dtype=np.uint64)
