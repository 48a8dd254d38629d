"""Whether two samples share rows, from small sketches of their row keys.

A key is hashed to 64 bits; a sketch keeps the `SIZE` smallest different hashes and the bound below which it kept all.
Below the smaller bound of two sketches both kept a key or one of the samples does not have it, so a hash that both
kept there is a shared key (or a coincidence of 64 bits, about `2**-40` for two samples).

What is found. The `SIZE` smallest hashes of the union of both samples lie below both bounds, and they are a random
`SIZE` of its `u` keys. So `s` shared keys are missed with probability at most `C(u - s, SIZE) / C(u, SIZE)`, which is
below `exp(-SIZE s / u)`: below 1.3e-9 where half a percent of the keys are shared. Samples of at most `SIZE` keys in
all are compared exactly. A sample that shares a dozen rows among millions is not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from holdfast.data.fingerprint import Batch, Held, Words, key_hashes
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

    hashes: tuple[int, ...] = field(default=(), repr=False)
    below: int = _EVERYTHING

    @classmethod
    def of(cls, column: Column, held: Held, size: int = SIZE) -> Self:
        """The sketch of one batch of keys. Missing keys are left out."""
        return cls._smallest(np.unique(key_hashes(column, held)), _EVERYTHING, size)

    def merged(self, other: Self, size: int = SIZE) -> Self:
        """The sketch of both batches together."""
        below = min(self.below, other.below)
        both = np.unique(np.array(self.hashes + other.hashes, dtype=np.uint64))
        return self._smallest(both[both <= np.uint64(below)], below, size)

    @classmethod
    def _smallest(cls, hashes: Words, below: int, size: int) -> Self:
        if hashes.size > size:
            hashes = hashes[:size]
            below = int(hashes[-1])
        return cls(tuple(hashes.tolist()), below)

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


def sketch(column: Column, batches: Iterable[Batch], size: int = SIZE) -> Sketch:
    """Sketch a column of keys as it streams by.

    Examples
    --------
    >>> people = [{"id": (np.arange(10), None)}, {"id": (np.arange(5, 15), None)}]
    >>> len(sketch(Column("id", "integer"), people).hashes)
    15
    """
    whole = Sketch()
    for batch in batches:
        whole = whole.merged(Sketch.of(column, batch[column.name], size), size)
    return whole


__all__ = ["SIZE", "Sketch", "sketch"]
