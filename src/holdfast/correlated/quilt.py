"""A Markov quilt of one record: what separates it from the rest, what is near it, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, overload

from holdfast import check
from holdfast.bounds.exact import down, up

Surcharge = Literal["sharp", "two", "paper"]
"""How the influence of a quilt is charged: 3.3 of the specification on chains, twice, or four times as printed."""

SURCHARGES: tuple[Surcharge, ...] = ("sharp", "two", "paper")
_SHOWN = 8


@dataclass(frozen=True)
class Between(Sequence[int]):
    """The records from `start` up to but not including `stop`, without one of them; no list of them is made.

    Examples
    --------
    >>> near = Between(3, 8, without=5)
    >>> list(near), len(near), 5 in near, near[-1]
    ([3, 4, 6, 7], 4, False, 7)
    """

    start: int
    stop: int
    without: int

    def __len__(self) -> int:
        return max(self.stop - self.start - (self.start <= self.without < self.stop), 0)

    def __contains__(self, item: object) -> bool:
        return isinstance(item, Integral) and self.start <= int(item) < self.stop and int(item) != self.without

    def __iter__(self) -> Iterator[int]:
        return (j for j in range(self.start, self.stop) if j != self.without)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...

    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError("no such record nearby")
        j = self.start + place
        return j + 1 if self.start <= self.without <= j else j


@dataclass(frozen=True)
class Quilt:
    """A quilt of one record, with its influence.

    The other records fall into three parts: the `quilt` itself, the records `nearby` and the remote rest. Every path
    of the moral graph from the record to a remote one meets the quilt. Records count from 0.

    Parameters
    ----------
    record : int
        The record that is protected.
    quilt : sequence of int
        What separates; empty for the trivial quilt, which costs no surcharge.
    nearby : sequence of int
        The other records that can be reached from `record` without crossing the quilt.
    influence : float
        Max-influence of the record on the quilt in nats, maximised over what is known nearby: the largest of
        `I(X_Q <- X_i | X_L)` over `L` inside `nearby`. Never below the true one; it may be infinite.
    size : int
        How many records of the database one change can drag along: the nearby ones that are rows of it, plus 1.
        (Hidden variables may sit nearby and do not count.)
    sharp : float, optional
        A surcharge below `2 * influence` that is proved for this quilt (specification 3.3 on chains), or None.

    Examples
    --------
    >>> quilt = Quilt(record=7, quilt=(2, 12), nearby=Between(3, 12, without=7), influence=0.3, size=9)
    >>> quilt.surcharge("two"), quilt.surcharge("paper"), round(quilt.epsilon_bdp(0.02, "two"), 9)
    (0.6, 1.2, 0.78)
    >>> round(quilt.epsilon_dp(0.78, "two"), 9)
    0.02
    """

    record: int
    quilt: Sequence[int]
    nearby: Sequence[int]
    influence: float
    size: int
    sharp: float | None = None

    def surcharge(self, rule: Surcharge = "sharp") -> float:
        """What the dependence costs once, in nats.

        `"two"` is `2 * influence` (L2-R of the specification, derived and reviewed), `"paper"` is `4 * influence`
        (Zhao 2017, Lemma 2: safe and loose), `"sharp"` the smallest that is proved for this quilt; where none is
        known it is `2 * influence`. One times the influence is the price under another notion of privacy, so it is
        not offered here: see `conversion.markov_quilt_noise`.
        """
        rule = check_surcharge(rule)
        if rule == "paper":
            return 4 * self.influence
        if rule == "sharp" and self.sharp is not None:
            return min(self.sharp, 2 * self.influence)
        return 2 * self.influence

    def epsilon_bdp(self, epsilon_dp: float, rule: Surcharge = "sharp") -> float:
        """The Bayesian level of this record when the mechanism is `epsilon_dp`-DP: `size * epsilon_dp + surcharge`."""
        return up(self.size * epsilon_dp + self.surcharge(rule))

    def epsilon_dp(self, epsilon_bdp: float, rule: Surcharge = "sharp") -> float:
        """The DP level at which this record has `epsilon_bdp`: `(epsilon_bdp - surcharge) / size`, or 0 if none has."""
        left = epsilon_bdp - self.surcharge(rule)
        return down(left / self.size) if left > 0 else 0.0

    def score(self, epsilon_bdp: float, rule: Surcharge = "sharp") -> float:
        """The noise scale for sensitivity 1: `size / (epsilon_bdp - surcharge)`; infinite where nothing is left."""
        level = self.epsilon_dp(epsilon_bdp, rule)
        return up(1 / level) if level > 0 else math.inf

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.quilt[:_SHOWN])) + (", ..." if len(self.quilt) > _SHOWN else "")
        return f"record {self.record}: quilt {{{inside}}}, {self.size} records at once, influence {self.influence:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; of the nearby records only how many count."""
        plain = {"record": self.record, "quilt": list(self.quilt), "size": self.size, "influence": self.influence}
        return plain | ({"sharp": self.sharp} if self.sharp is not None else {})


def check_surcharge(rule: Any) -> Surcharge:
    """Return a known rule; one times the influence is refused with the reason.

    Examples
    --------
    >>> check_surcharge("one")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: surcharge must be one of sharp, two, paper, got 'one'
    """
    rule = check.choice("surcharge", rule, SURCHARGES)
    return next(known for known in SURCHARGES if known == rule)


__all__ = ["SURCHARGES", "Between", "Quilt", "Surcharge", "check_surcharge"]
