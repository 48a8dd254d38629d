"""Independent blocks of records with anything inside: families, households, users, repeated measures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.correlated.effective_size import effective_n_blocks
from holdfast.bounds.correlated.influence import QuiltTerms
from holdfast.core import arguments
from holdfast.correlated.model import (
    Between,
    ListedModel,
    Quilt,
    Surcharge,
    check_record,
    check_records,
    check_surcharge,
)
from holdfast.errors import InvalidParameter


class Blocks(ListedModel):
    """A dependence model of blocks that are independent of each other. Inside a block records may depend on each
    other in any way.

    Changing a record may change its whole block. So a mechanism with the DP level `epsilon_dp` has the Bayesian level
    `epsilon_bdp = k_max * epsilon_dp`, where `k_max` is the size of the largest block. Use this model if another model
    cannot be used because it has zero probabilities.

    Parameters
    ----------
    sizes : sequence of int
        How many records each block has; the records of a block stand together. Use `Blocks.of` for labels.

    Notes
    -----
    A quilt of a record is empty and all of its block is nearby, so the influence is 0 and a change drags at most
    the block along (specification 2.7, derived).

    Examples
    --------
    >>> families = Blocks([4, 3, 4, 2])
    >>> families.n, families.epsilon_dp(1.0), families.epsilon_bdp(0.25), families.noise_scale(1.0)
    (13, 0.24..., 1.0..., 4.0...)
    >>> round(families.effective_n(), 6)
    3.755556
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        if not hasattr(sizes, "__len__") or not len(sizes):
            raise InvalidParameter("sizes must be a list with the size of at least one block")
        self._sizes = np.array([arguments.whole(f"sizes[{j}]", size, at_least=1) for j, size in enumerate(sizes)])
        self._members: NDArray[np.int64] | None = None
        self._places: NDArray[np.int64] | None = None
        self._ends = np.cumsum(self._sizes)
        self._starts = self._ends - self._sizes

    @classmethod
    def of(cls, labels: Iterable[Any]) -> Blocks:
        """Return the blocks that are given by one label for each record. Records with equal labels are one block, in
        any order.

        Examples
        --------
        >>> homes = Blocks.of(["a", "b", "a", "c", "a"])
        >>> homes.sizes.tolist(), homes.block(0)
        ([3, 1, 1], (0, 2, 4))
        """
        codes: dict[Any, int] = {}
        masked = isinstance(labels, np.ma.MaskedArray) and bool(np.ma.getmaskarray(labels).any())
        try:
            numbers = np.array([codes.setdefault(label, len(codes)) for label in labels], dtype=np.int64)
            # a missing label equals no other, so that its relatives would count as independent records
            missing = masked or any(label is None or bool(label != label) for label in codes)
        except TypeError:
            raise InvalidParameter(
                "labels must have one label per record, such as a text or a number, with none missing"
            ) from None
        if missing:
            raise InvalidParameter(
                "labels must have no missing values, because a record without a label could belong to any block"
            )
        if not len(numbers):
            raise InvalidParameter("labels is empty, but it must have the label of at least one record")
        blocks = cls(np.bincount(numbers).tolist())
        blocks._members = np.argsort(numbers, kind="stable")
        blocks._places = numbers
        return blocks

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self._ends[-1])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of records in each block."""
        return self._sizes.copy()

    def number(self, record: int) -> int:
        """Return the number of the block that a record is in."""
        record = check_record(record, self.n)
        if self._places is not None:
            return int(self._places[record])
        return int(np.searchsorted(self._ends, record, side="right"))

    def block(self, record: int) -> Sequence[int]:
        """Return the records of the block that a record is in."""
        number = self.number(record)
        low, high = int(self._starts[number]), int(self._ends[number])
        if self._members is None:
            return range(low, high)
        return tuple(self._members[low:high].tolist())

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        return f"{len(self._sizes)} independent blocks of at most {int(self._sizes.max())} records, {self.n} in all"

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Return the max-influence of `record` on the records of `quilt`.

        It is 0 if the quilt is in other blocks, and infinite if it has a record of the same block.
        """
        number = self.number(record)
        marked = check_records("quilt", quilt, self.n)
        check_records("known", known, self.n)
        return float("inf") if any(self.number(j) == number for j in marked) else 0.0

    def quilts(self, record: int) -> Iterable[Quilt]:
        """Return the Markov quilts of `record`. In this model it is only the empty set, because blocks are
        independent of each other.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        """
        block = self.block(record)
        if isinstance(block, range):
            nearby: Sequence[int] = Between(block.start, block.stop, record)
        else:
            nearby = tuple(j for j in block if j != record)
        return (Quilt(record, (), nearby, 0.0, len(block), 0.0),)

    def _largest(self) -> Quilt:
        number = int(np.argmax(self._sizes))
        first = int(self._starts[number])
        record = first if self._members is None else int(self._members[first])
        (quilt,) = self.quilts(record)
        return quilt

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the empty Markov quilt. It is the only one in this model, because blocks are independent of each
        other.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The result is for a record of a largest block, which needs the most noise.
        """
        arguments.real("epsilon", epsilon, above=0)
        check_surcharge(surcharge)
        return self._largest()

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the empty Markov quilt. It is the only one in this model, because blocks are independent of each
        other.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The result is for a record of a largest block, which needs the most noise.
        """
        arguments.real("epsilon_dp", epsilon_dp, above=0)
        check_surcharge(surcharge)
        return self._largest()

    def markov_quilt(self, epsilon: float) -> Quilt:
        """Return the empty Markov quilt. It is the only one in this model, because blocks are independent of each
        other.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The result is for a record of a largest block, which needs the most noise.
        """
        return self.worst_quilt(epsilon)

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        It is `n^2 / sum k^2`, for blocks of `k` rows.
        """
        return effective_n_blocks(self._sizes.tolist())

    def terms(self) -> QuiltTerms:
        """Return the four numbers about this model that the theorems on Thresholdout with dependent records need.

        They are the size of the largest block, an influence and a surcharge of 0, and as many colours as the largest
        block has records.
        """
        largest = int(self._sizes.max())
        return QuiltTerms(largest, 0.0, 0.0, largest)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"model": "blocks", "n": self.n, "sizes": self._sizes.tolist()}
