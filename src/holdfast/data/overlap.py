"""Whether two samples share rows, from small sketches of their row keys.

A key is hashed to 64 bits; a sketch keeps the smallest hashes, up to `SIZE` of them, and the bound below which it kept
all. A key that both samples hold has one hash, so below the smaller of the two bounds both sketches kept it or neither
sample has it. With `SIZE` hashes of `n` keys each, `s` shared keys are missed with probability about
`exp(-SIZE s/n)`: from 0.5% of the rows on that is below 1e-8. Samples of at most `SIZE` keys are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from holdfast.data.fingerprint import Batch, mixed, words
from holdfast.data.schema import Column
from holdfast.errors import InvalidParameter

SIZE = 4096
_EVERYTHING = 2**64 - 1


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of a sample's keys, in order; `below` is the bound up to which all are kept.

    Examples
    --------
    >>> Sketch((1, 5), 9).overlaps(Sketch((5, 7), 8)), Sketch((1, 5), 9).overlaps(Sketch((5, 7), 4))
    (True, False)
    """

    hashes: tuple[int, ...] = field(repr=False)
    below: int = _EVERYTHING

    def overlaps(self, other: Sketch) -> bool:
        """Whether a key is seen in both."""
        limit = min(self.below, other.below)
        return any(one <= limit for one in set(self.hashes) & set(other.hashes))

    def to_dict(self) -> dict[str, Any]:
        """Plain data. Hashes of keys can be guessed back where keys can: it is as public as the list of keys."""
        return {"hashes": [f"{one:016x}" for one in self.hashes], "below": f"{self.below:016x}"}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read a sketch back."""
        try:
            return cls(tuple(int(one, 16) for one in plain["hashes"]), int(plain["below"], 16))
        except (KeyError, TypeError, ValueError):
            raise InvalidParameter("a stored sketch must have hashes and below") from None


def sketch(column: Column, batches: Iterable[Batch]) -> Sketch:
    """Sketch a column of keys as it streams by. Missing keys are left out."""
    kept, below = np.zeros(0, dtype=np.uint64), _EVERYTHING
    for batch in batches:
        values, missing = batch[column.name]
        hashed = mixed(words(column, (values, None)) ^ np.uint64(0xD1B54A32D192ED03))
        if missing is not None:
            hashed = hashed[~missing]
        kept = np.unique(np.concatenate([kept, hashed[hashed <= np.uint64(below)]]))
        if kept.size > SIZE:
            kept = kept[:SIZE]
            below = int(kept[-1])
    return Sketch(tuple(int(one) for one in kept), below)


__all__ = ["SIZE", "Sketch", "sketch"]
