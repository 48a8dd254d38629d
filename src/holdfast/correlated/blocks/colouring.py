"""Colourings: classes of records in which nobody is nearby anybody else (Theorem 1-R of the specification)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.correlated.blocks.blocks import Blocks
from holdfast.correlated.model import ZEROS, Quilt
from holdfast.errors import GuaranteeUnavailable, InvalidParameter


@dataclass(frozen=True, eq=False)
class Colouring:
    """A division of the records into classes (colours). No two records of one class are nearby each other.

    The bound for noisy answers uses the actual sizes of the classes, above all the smallest size, and not just `n /
    colours`.

    Attributes
    ----------
    classes : array of int
        The colour of each record, from 0.
    influence : float
        The largest influence of the quilts that were used, in nats.

    Examples
    --------
    >>> found = Colouring(np.array([0, 1, 0, 1, 0]))
    >>> found.colours, found.sizes.tolist()
    (2, [3, 2])
    """

    classes: NDArray[np.int64]
    influence: float = 0.0

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of records of each colour."""
        return np.bincount(self.classes).astype(np.int64)

    @property
    def colours(self) -> int:
        """The number of colours."""
        return len(self.sizes)

    @property
    def smallest(self) -> int:
        """The size of the smallest class."""
        return int(self.sizes.min())

    @property
    def effective_n(self) -> float:
        """The effective number of records for noisy answers to show to users, `n / colours`."""
        return len(self.classes) / self.colours

    @property
    def equal_colours(self) -> int:
        """The number of colours to give to `QuiltTerms`, which assumes classes of `floor(n / colours)` records.

        If the classes are unequal, the smallest one must count. So this is the smallest number, at least `colours`, for
        which `floor(n / equal_colours)` is at most `smallest`.

        Examples
        --------
        >>> found = Colouring(np.array([0] * 8 + [1] * 2))
        >>> found.colours, found.smallest, found.equal_colours, 10 // found.equal_colours
        (2, 2, 4, 2)
        """
        return max(self.colours, len(self.classes) // (self.smallest + 1) + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the colour of each record."""
        return {
            "colours": self.colours,
            "smallest": self.smallest,
            "largest": int(self.sizes.max()),
            "equal_colours": self.equal_colours,
            "effective_n": self.effective_n,
            "influence": self.influence,
        }


def colour_chain(n: int, left: int, right: int, influence: float = 0.0) -> Colouring:
    """Return the colouring of a chain for the Markov quilt `{i - left, i + right}`: record number modulo the larger
    lag.

    Two records of one class are at least `max(left, right)` apart, so neither is nearby the other. This is also true at
    the ends of the chain. The sizes of the classes differ by at most one.

    Notes
    -----
    At the ends a quilt loses a side and everything on that side becomes nearby, but no record there is that far
    away.

    Examples
    --------
    >>> found = colour_chain(1000, 6, 6)
    >>> found.colours, found.smallest, round(found.effective_n, 3)
    (6, 166, 166.667)
    """
    n = arguments.whole("n", n, at_least=1, at_most=10**9)
    step = max(arguments.whole("left", left, at_least=1), arguments.whole("right", right, at_least=1))
    return Colouring(np.arange(n, dtype=np.int64) % min(step, n), _finite(influence))


def colour_blocks(blocks: Blocks) -> Colouring:
    """Return a colouring in which each class has at most one record of each block.

    There are as many colours as the largest block has records. The records of each block get the colours that were used
    least so far, so the sizes of the classes differ by at most one.

    Notes
    -----
    So the smallest has at least `floor(n / k_max)` (specification 3.6, as corrected in its review).

    Examples
    --------
    >>> colour_blocks(Blocks([3, 1, 1, 1, 2])).sizes.tolist()
    [3, 3, 2]
    """
    colours = int(blocks.sizes.max())
    used = np.zeros(colours, dtype=np.int64)
    classes = np.empty(blocks.n, dtype=np.int64)
    seen: set[int] = set()
    for record in range(blocks.n):
        number = blocks.number(record)
        if number in seen:
            continue
        seen.add(number)
        members = np.asarray(blocks.block(record))
        free = np.argsort(used, kind="stable")[: len(members)]
        classes[members] = free
        used[free] += 1
    return Colouring(classes)


def colour_quilts(quilts: Sequence[Quilt]) -> Colouring:
    """Return a colouring for one Markov quilt per record, found greedily. Records of one class are not nearby each
    other.

    The record with most conflicts is coloured first. Each record gets the least used colour that no conflicting record
    has. The number of colours may be a little larger than the smallest possible one, so use the class sizes that come
    out.

    Parameters
    ----------
    quilts : sequence of Quilt
        One for every record, in order.

    Notes
    -----
    Greedy colouring of the conflict graph: `i` and `j` conflict if either is nearby the other. At most `2 max
    size - 1` colours are needed in the best order. Time: the sum of the sizes.

    Examples
    --------
    >>> from holdfast.correlated import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], n=60)
    >>> found = colour_quilts([chain.best_quilt(record, 1.0) for record in range(60)])
    >>> found.colours <= 2 * 11 - 1, int(found.sizes.sum())
    (True, 60)
    """
    n = len(quilts)
    if [quilt.record for quilt in quilts] != list(range(n)) or not n:
        raise InvalidParameter("quilts must have one quilt for each record, in order")
    conflicts: list[set[int]] = [set() for _ in range(n)]
    for quilt in quilts:
        for j in quilt.nearby:
            if 0 <= j < n:  # hidden variables are no records
                conflicts[quilt.record].add(j)
                conflicts[j].add(quilt.record)
    classes = np.full(n, -1, dtype=np.int64)
    used: list[int] = []
    for record in sorted(range(n), key=lambda i: -len(conflicts[i])):
        taken = {int(classes[j]) for j in conflicts[record]}
        free = [colour for colour in range(len(used)) if colour not in taken]
        if not free:
            used.append(0)
            free = [len(used) - 1]
        colour = min(free, key=lambda c: used[c])
        classes[record] = colour
        used[colour] += 1
    return Colouring(classes, _finite(max(quilt.influence for quilt in quilts)))


def _finite(influence: float) -> float:
    influence = arguments.real("influence", influence, at_least=0, infinite=True)
    if influence == float("inf"):
        raise GuaranteeUnavailable(ZEROS)
    return influence
