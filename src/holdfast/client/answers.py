"""Answers and estimates from a server: the guard's own, with a display for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.accounting import Cost
from holdfast.client import display
from holdfast.client.errors import odd
from holdfast.errors import InvalidParameter
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.estimate import Estimate


@dataclass(frozen=True)
class RemoteAnswer(GuardedAnswer):
    """A `GuardedAnswer` that came over the wire.

    Examples
    --------
    >>> from holdfast.bounds.guarantee import Guarantee
    >>> answer = RemoteAnswer(0.81, [0.78, 0.84], Guarantee("transfer.interleaved"), sequence=3)
    >>> "0.81" in answer._repr_html_()
    True
    """

    def _repr_html_(self) -> str:
        title = "Stored answer, free" if self.repeated else "Answer"
        title += "" if self.passed is None else ": passed" if self.passed else ": failed"
        rows: list[tuple[object, object]] = []
        if isinstance(self.value, Mapping):
            for label, one in self.value.items():
                ends = self.interval.get(label) if isinstance(self.interval, Mapping) else None
                rows.append((label, display.short(one) + display.ends(ends)))
        elif self.value is not None:
            rows.append(("value", display.short(self.value) + display.ends(self.interval)))
        if self.cost is not None:
            rows.append(("cost", "nothing" if self.repeated else str(self.cost)))
        if not self.repeated:  # what was left when it was stored may have been somebody else's
            rows += display.remaining_rows(self.remaining)
        rows += [("rests on", str(self.guarantee)), ("entry", self.sequence)]
        return display.card(title, rows, display.interval_picture(self.value, self.interval))


@dataclass(frozen=True)
class RemoteEstimate(Estimate):
    """An `Estimate` that came over the wire.

    Examples
    --------
    >>> print(RemoteEstimate(None, 0.02, True))
    admitted, within 0.02
    """

    def _repr_html_(self) -> str:
        rows: list[tuple[object, object]] = [("would be", str(self))]
        return display.card("Estimate", [*rows, *display.remaining_rows(self.remaining)])


def read_answer(plain: Any) -> RemoteAnswer:
    """An answer as the server sent it."""
    try:
        return RemoteAnswer.stored(plain, plain["sequence"], plain["repeated"], plain["receipt"])
    except (InvalidParameter, KeyError, TypeError):
        raise odd() from None


def read_estimate(plain: Any) -> RemoteEstimate:
    """An estimate as the server sent it."""
    try:
        cost = None if plain["cost"] is None else Cost.from_dict(plain["cost"])
        told = ("half_width", "admitted", "repeated", "reason", "remaining", "least_tolerance")
        return RemoteEstimate(cost, **{name: plain[name] for name in told})
    except (InvalidParameter, KeyError, TypeError):
        raise odd() from None


__all__ = ["RemoteAnswer", "RemoteEstimate", "read_answer", "read_estimate"]
