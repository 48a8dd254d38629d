"""Exact statistics are in nothing that a server says, told apart from noisy answers that happen to look like them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def require_untold(text: str, exact: Iterable[tuple[str, float]], ledger: list[dict[str, Any]]) -> None:
    """No exact statistic, by its first digits, is in a text.

    Real noise may be so small that an answer begins with those very digits: about one in 2,500 does where six decimals
    of a share are looked for, one in 8,000 where three of an income are. That is no leak, and for that one statistic
    nothing can be told. Of two it happens with probability below 1e-6, so that two mean answers without noise.
    """
    given = [number for one in ledger for number in _numbers(one["body"].get("answer") or {})]
    alike = 0
    for digits, number in exact:
        near = 2 * 10.0 ** -len(digits.partition(".")[2])
        if any(abs(one - number) < near for one in given):
            alike += 1
        else:
            assert digits not in text, "an exact statistic"
    assert alike <= 1, "answers without noise"


def _numbers(answer: dict[str, Any]) -> Iterator[float]:
    """What an answer released: its values and the ends of its intervals."""
    waiting: list[Any] = [answer.get("value"), answer.get("interval")]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, (int, float)):
            yield float(one)


__all__ = ["require_untold"]
