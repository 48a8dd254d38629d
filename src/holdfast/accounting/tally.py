"""An account that is a few running totals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar, Self

from holdfast.accounting.account import Account, State
from holdfast.accounting.totals import ZERO, parse_total, plus
from holdfast.errors import InvalidParameter


class Tally(Account):
    """The state is one exact total for each of `totals`, and every cost adds something to each.

    A subclass sets `name`, `accepts` and `totals`, and says in `_increments` what a cost adds. Where the totals are a
    curve, one for each order, `listed` stores them as a list instead of by name.
    """

    totals: tuple[str, ...] = ()
    listed: ClassVar[bool] = False

    @abstractmethod
    def _increments(self, cost: Any) -> tuple[Decimal, ...]:
        """What `cost`, of an accepted kind, adds to each of `totals`."""

    def _blank(self) -> State:
        return (ZERO,) * len(self.totals)

    def _is_blank(self, state: State) -> bool:
        return not any(state)

    def _next(self, state: State, cost: Any) -> State:
        return tuple(map(plus, state, self._increments(cost)))

    def _plain(self, state: State) -> dict[str, Any]:
        texts = [str(total) for total in state]
        totals = texts if self.listed else dict(zip(self.totals, texts, strict=True))
        return {self.role: self.name} | self.parameters() | {"totals": totals}

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        stored = plain.pop("totals", None)
        account = cls._made(plain)
        if account.listed and isinstance(stored, list) and len(stored) == len(account.totals):
            stored = dict(zip(account.totals, stored, strict=True))
        elif account.listed or not isinstance(stored, Mapping) or set(stored) != set(account.totals):
            names = ", ".join(account.totals)
            raise InvalidParameter(f"a stored {cls.name} {cls.role} must have the totals {names}")
        account._take(tuple(parse_total(name, stored[name]) for name in account.totals))
        return account


__all__ = ["Tally"]
