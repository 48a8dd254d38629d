"""Discounted sums of a growing history, in constant time and memory.

An online level is `sum over earlier rewards of w_i * gamma(age_i)`. All rewards age together, one step at a time. The
recent ones, of age up to `2 B`, are kept by age and summed directly. Those beyond are kept as about 200 numbers: for
each exponential of `Discount.exponentials` the sum of `w_i exp(-rate age_i)`, which one multiplication ages.

Cost. A query is two dot products of fixed length, `2 B` and the number of exponentials. After every `B` steps of age
the older half of the recent rewards moves into the exponentials: one product of a `B` by 200 matrix, a constant share a
step. Nothing depends on how many tests there were or how many of them rejected. Accuracy: recent rewards are exact;
older ones are within 1e-12, relative and on either side, plus at most 5e-16 of rounding a block of age: 4e-12 more
after a million tests. A level that is larger by a factor `1 + x` makes the false discovery rate larger by at most that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.online.discount import Discount

Array = npt.NDArray[np.float64]
BLOCK = 128


class _Tables(NamedTuple):
    recent: Array  # gamma of ages 2B, ..., 1
    far: Array  # row q: weights * exp(-rates q)
    moving: Array  # row o: exp(-rates (B - o)), what a reward at place o becomes when its block moves
    block: Array  # exp(-rates B)


class Memory:
    """Rewards and their common age; `value` is what they are worth now.

    Examples
    --------
    >>> from holdfast.inference.online.discount import SAFFRON
    >>> memory = Memory(SAFFRON)
    >>> memory.add(0.025)
    >>> for _ in range(1000):
    ...     memory.age()
    >>> abs(memory.value / (0.025 * SAFFRON.value(1001)) - 1) < 1e-12
    True
    """

    def __init__(self, discount: Discount) -> None:
        self._tables = _tables(discount)
        self._recent = np.zeros(2 * BLOCK)
        self._far = np.zeros(self._tables.block.size)
        self._any_far = False
        self._place = 1

    @property
    def value(self) -> float:
        """The sum of rewards, each times the discount at its age; at least 0."""
        place, tables = self._place, self._tables
        worth = float(np.dot(self._recent[:place], tables.recent[2 * BLOCK - place :]))
        if self._any_far:
            worth += max(float(np.dot(tables.far[place], self._far)), 0.0)
        return worth

    def add(self, reward: float) -> None:
        """Add a reward of age 1 at the next query."""
        self._recent[self._place - 1] += reward

    def age(self) -> None:
        """Age every reward by one step."""
        self._place += 1
        if self._place > 2 * BLOCK:
            self._move()

    def _move(self) -> None:
        self._far = self._far * self._tables.block + self._recent[:BLOCK] @ self._tables.moving
        self._any_far = True
        self._recent[:BLOCK] = self._recent[BLOCK:]
        self._recent[BLOCK:] = 0.0
        self._place -= BLOCK

    def state(self) -> dict[str, Any]:
        """Plain data; exact."""
        return {"place": self._place, "recent": self._recent.tolist(), "far": self._far.tolist()}

    def restore(self, state: Any) -> None:
        """Read `state()` back."""
        if not isinstance(state, dict) or set(state) != {"place", "recent", "far"}:
            raise InvalidParameter("a stored memory must be a dict of place, recent and far")
        place = check.whole("place", state["place"], at_least=1, at_most=2 * BLOCK)
        recent = np.array(check.reals("recent", state["recent"], at_least=0))
        far = np.array(check.reals("far", state["far"], at_least=0))
        if recent.shape != self._recent.shape or far.shape != self._far.shape:
            raise InvalidParameter("a stored memory must have as many numbers as this discount needs")
        self._place, self._recent, self._far = place, recent, far
        self._any_far = bool(far.any())


@lru_cache(maxsize=16)
def _tables(discount: Discount) -> _Tables:
    weights, rates = discount.exponentials(BLOCK)
    recent = np.array([discount.value(age) for age in range(2 * BLOCK, 0, -1)])
    places = np.arange(2 * BLOCK + 1)
    far = weights * np.exp(-places[:, None] * rates)
    moving = np.exp(-(BLOCK - np.arange(BLOCK))[:, None] * rates)
    for table in (recent, far, moving):
        table.flags.writeable = False
    return _Tables(recent, far, moving, np.exp(-BLOCK * rates))


__all__ = ["BLOCK", "Memory"]
