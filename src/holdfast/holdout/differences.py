"""Differences of two columns on the same rows, streamed, each column checked against its own range."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.data.values import Rows, chunks, summarise
from holdfast.errors import InvalidParameter

_BLOCK = 1 << 16


def differences(values_b: Rows, values_a: Rows, low: float, high: float) -> Iterator[npt.NDArray[np.float64]]:
    """Chunks of `b - a`, in row order.

    Both columns are arrays of one length, or iterators whose chunks match in length.

    Examples
    --------
    >>> [chunk.tolist() for chunk in differences([1, 0, 1], [True, True, False], 0.0, 1.0)]
    [[0.0, -1.0, 1.0]]
    """
    for b, a in zip_longest(_blocks(values_b, "values_b"), _blocks(values_a, "values_a")):
        if b is None or a is None or b.shape != a.shape:
            raise InvalidParameter("values_b and values_a must have the same rows, in chunks of the same lengths")
        for name, column in (("values_b", b), ("values_a", a)):
            summarise(column, n=len(column), low=low, high=high, name=name)
        yield b.astype(np.float64) - a.astype(np.float64)


def _blocks(values: Rows, name: str) -> Iterator[npt.NDArray[Any]]:
    """The chunks of an iterator, or an array in blocks."""
    for chunk in chunks(values, name):
        if isinstance(values, Iterator):
            yield chunk
        else:
            yield from (chunk[start : start + _BLOCK] for start in range(0, len(chunk), _BLOCK))


__all__ = ["differences"]
