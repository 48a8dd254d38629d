"""What filters and odometers share: fixed parameters, a small immutable state, and an exact JSON form.

An account is its parameters, which never change, and its state, a tuple that is replaced as a whole. Every step is
first computed on the side, so a step that raises leaves the account exactly as it was. One lock makes "look, then
charge" a single step for threads; between processes the ledger takes that part.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar, Self

from holdfast.accounting.costs import GDP, RDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.accounting.totals import ZERO, parse_total, plus
from holdfast.errors import InvalidParameter

State = tuple[Any, ...]

_CONVERSIONS: dict[type[Cost], tuple[tuple[type[Cost], str], ...]] = {
    PureDP: ((ZCDP, "pure_to_zcdp"), (RDP, "pure_to_rdp"), (GDP, "pure_to_gdp")),
    ApproxDP: ((PointwiseDP, "approx_to_pointwise"),),
    PointwiseDP: (),
    ZCDP: ((ApproxDP, "zcdp_to_dp"),),
    GDP: ((ZCDP, "gdp_to_zcdp"), (ApproxDP, "gdp_to_dp")),
    RDP: ((ApproxDP, "rdp_to_dp"),),
    Bits: (),
}


class Account(ABC):
    """Base of filters and odometers.

    A subclass sets `name`, `accepts` and `totals`, and says in `_increments` what a cost adds to each total.
    """

    role: ClassVar[str] = ""
    name: ClassVar[str] = ""
    totals: ClassVar[tuple[str, ...]] = ()
    accepts: tuple[type[Cost], ...] = ()
    _registry: ClassVar[dict[tuple[str, str], type[Account]]] = {}
    _state: State

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.name:
            Account._registry[cls.role, cls.name] = cls

    def __init__(self) -> None:
        self._state = (ZERO,) * len(self.totals)
        self._lock = threading.Lock()

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that make this account anew, without what was spent."""

    def _increments(self, cost: Any) -> tuple[Decimal, ...]:
        """What `cost`, of an accepted kind, adds to each of `totals`."""
        raise NotImplementedError

    def _after(self, state: State, cost: Cost) -> State:
        """The state after `cost`; computed on the side, nothing changes."""
        if not isinstance(cost, self.accepts):
            raise self._unaccepted(cost)
        return tuple(map(plus, state, self._increments(cost)))

    def _unaccepted(self, cost: Any) -> InvalidParameter:
        kinds = ", ".join(kind.__name__ for kind in self.accepts)
        if not isinstance(cost, Cost):
            shown = repr(cost) if isinstance(cost, (int, float)) else f"a {type(cost).__name__}"
            return InvalidParameter(f"cost must be one of {kinds}, got {shown}")
        text = f"the {self.name} {self.role} cannot account for {type(cost).__name__}; it accepts {kinds}"
        for target, function in _CONVERSIONS.get(type(cost), ()):
            if target in self.accepts:
                return InvalidParameter(f"{text}; convert with bounds.conversions.{function} to {target.__name__}")
        return InvalidParameter(text)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON, that `from_dict` reads back exactly; the totals are decimal texts."""
        return self._plain(self._state)

    def _plain(self, state: State) -> dict[str, Any]:
        totals = {name: str(total) for name, total in zip(self.totals, state, strict=True)}
        return {self.role: self.name} | self.parameters() | {"totals": totals}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read an account back from `to_dict()`; what does not fit raises `InvalidParameter`."""
        if not isinstance(plain, Mapping):
            raise InvalidParameter(f"a stored {cls.role} must be a mapping, got a {type(plain).__name__}")
        name = plain.get(cls.role)
        kind = Account._registry.get((cls.role, name)) if isinstance(name, str) else None
        if kind is None or not issubclass(kind, cls):
            known = ", ".join(sorted(k for r, k in Account._registry if r == cls.role))
            raise InvalidParameter(f"{cls.role} must be one of {known}, got {name!r}")
        return kind._restored({k: v for k, v in plain.items() if k != cls.role})

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        stored = plain.pop("totals", None)
        account = cls._made(plain)
        if not isinstance(stored, Mapping) or set(stored) != set(cls.totals):
            raise InvalidParameter(f"a stored {cls.name} {cls.role} must have the totals {', '.join(cls.totals)}")
        account._state = tuple(parse_total(name, stored[name]) for name in cls.totals)
        return account

    @classmethod
    def _made(cls, parameters: dict[str, Any]) -> Self:
        try:
            return cls(**parameters)
        except TypeError as error:
            raise InvalidParameter(f"a stored {cls.name} {cls.role} has wrong parameters: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self.parameters().items())
        return f"{type(self).__name__}({inside})"


def amounts(values: Mapping[str, Any]) -> str:
    """Write amounts in one line for people.

    Examples
    --------
    >>> amounts({"epsilon": 0.25, "delta": 0.0})
    'epsilon=0.25, delta=0'
    """
    parts = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            parts.append(f"{name} ({amounts(value)})")
        elif isinstance(value, (list, tuple)):
            parts.append(f"{name}=[{', '.join(f'{v:.10g}' for v in value)}]")
        else:
            parts.append(f"{name}={value:.10g}" if isinstance(value, float) else f"{name}={value}")
    return ", ".join(parts)


__all__ = ["Account", "State", "amounts"]
