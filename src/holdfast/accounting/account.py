"""What filters and odometers share: fixed parameters, a small immutable state, and an exact JSON form.

An account is its parameters, which cannot be assigned to once it is made, and its state, a tuple that is replaced as a
whole. Every step is first computed on the side, so a step that raises leaves the account exactly as it was. One lock
makes "look, then charge" a single step for threads; between processes the ledger takes that part.
"""

from __future__ import annotations

import threading
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from holdfast.accounting.costs import GDP, RDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.errors import InvalidParameter

State = tuple[Any, ...]
_SHOWN = 160

_CONVERSIONS: dict[type[Cost], tuple[tuple[type[Cost], str], ...]] = {
    PureDP: ((ZCDP, "pure_to_zcdp"), (RDP, "pure_to_rdp"), (GDP, "pure_to_gdp")),
    ApproxDP: ((PointwiseDP, "approx_to_pointwise"),),
    PointwiseDP: (),
    ZCDP: ((ApproxDP, "zcdp_to_dp"),),
    GDP: ((ZCDP, "gdp_to_zcdp"), (ApproxDP, "gdp_to_dp")),
    RDP: ((ApproxDP, "rdp_to_dp"),),
    Bits: (),
}


class _Sealing(ABCMeta):
    """Seals an object when its constructor has returned."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        made = super().__call__(*arguments, **options)
        made._sealed = True
        return made


class Fixed(metaclass=_Sealing):
    """Public attributes are parameters: a budget that could be assigned to would not be a budget."""

    _sealed: bool = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._sealed and not name.startswith("_"):
            raise AttributeError(f"{name} is fixed once the {type(self).__name__} is made; make a new one")
        object.__setattr__(self, name, value)


class Account(Fixed):
    """Base of filters and odometers: a `Tally` of its own totals, or a `Joint` of other accounts."""

    role: ClassVar[str] = ""
    name: ClassVar[str] = ""
    accepts: tuple[type[Cost], ...] = ()
    _registry: ClassVar[dict[tuple[str, str], type[Account]]] = {}
    _state: State

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.name:
            Account._registry[cls.role, cls.name] = cls

    def __init__(self) -> None:
        self._state = self._blank()
        self._lock = threading.Lock()

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that make this account anew, without what was spent."""

    @abstractmethod
    def _blank(self) -> State:
        """The state before the first cost."""

    @abstractmethod
    def _is_blank(self, state: State) -> bool:
        """Whether `state` holds nothing but costs of zero."""

    @abstractmethod
    def _next(self, state: State, cost: Any) -> State:
        """The state after `cost`, which is of an accepted kind."""

    @abstractmethod
    def _plain(self, state: State) -> dict[str, Any]:
        """Plain data of the account in `state`."""

    @classmethod
    @abstractmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        """The account of `_plain`, its role taken away."""

    def _take(self, state: State) -> None:
        """Begin at a state that comes from elsewhere; filters refuse one that does not fit."""
        self._state = state

    def _after(self, state: State, cost: Cost) -> State:
        """The state after `cost`; computed on the side, nothing changes."""
        if not isinstance(cost, self.accepts):
            raise self._unaccepted(cost)
        return self._next(state, cost)

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

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read an account back from `to_dict()`; what does not fit raises `InvalidParameter`."""
        if not isinstance(plain, Mapping):
            raise InvalidParameter(f"a stored {cls.role} must be a mapping, got a {type(plain).__name__}")
        name = plain.get(cls.role)
        kind = Account._registry.get((cls.role, name)) if isinstance(name, str) else None
        if kind is None or not issubclass(kind, cls):
            fitting = (k for (r, k), known in Account._registry.items() if r == cls.role and issubclass(known, cls))
            raise InvalidParameter(f"{cls.role} must be one of {', '.join(sorted(fitting))}, got {shown(name)}")
        return kind._restored({k: v for k, v in plain.items() if k != cls.role})

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


def shown(value: Any) -> str:
    """Write what somebody gave, in one line and no longer than a message should be.

    Examples
    --------
    >>> len(shown("x" * 1000))
    163
    """
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


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


__all__ = ["Account", "Fixed", "State", "amounts", "shown"]
