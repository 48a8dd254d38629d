"""What filters and odometers share: fixed parameters, a small immutable state, and an exact JSON form.

An account is its parameters, which cannot be assigned to once it is made, and its state, a tuple that is replaced as a
whole. Every step is first computed on the side, so a step that raises leaves the account exactly as it was. One lock
makes "look, then charge" a single step for threads; between processes the ledger takes that part. The state of a
`Tally` is a few totals, that of a `Joint` the states of several accounts.
"""

from __future__ import annotations

import threading
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Generic, Self, TypeVar

from holdfast.accounting.costs import GDP, RDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.accounting.totals import ZERO, parse_total, plus
from holdfast.core.strict_json import to_canonical_json
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
        account = super().__call__(*arguments, **options)
        account._sealed = True
        return account


class Fixed(metaclass=_Sealing):
    """Public attributes are parameters: a budget that could be assigned to would not be a budget."""

    _sealed: bool = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._sealed and not name.startswith("_"):
            raise AttributeError(
                f"{name} cannot be changed after the {type(self).__name__} was made; make a new {type(self).__name__} "
                "instead"
            )
        object.__setattr__(self, name, value)


class Account(Fixed):
    """Base of filters and odometers: a `Tally` of its own totals, or a `Joint` of other accounts."""

    role: ClassVar[str] = ""
    name: ClassVar[str] = ""
    accepts: tuple[type[Cost], ...] = ()
    _registry: ClassVar[dict[tuple[str, str], type[Account]]] = {}
    _state: State
    _written: tuple[State | None, str] = (None, "")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.name:
            Account._registry[cls.role, cls.name] = cls

    def __init__(self) -> None:
        self._state = self._blank()
        self._lock = threading.Lock()

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which this account was made. They do not include what was spent."""

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
        """Return the account as plain data for JSON, which `from_dict` reads back exactly. Totals are texts with
        decimal numbers.
        """
        return self._plain(self._state)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Make an account from the plain data that `to_dict()` returned. Other data raises `InvalidParameter`."""
        if not isinstance(plain, Mapping):
            raise InvalidParameter(
                f"a stored {cls.role} must be a mapping as to_dict() returns it, got a {type(plain).__name__}"
            )
        name = plain.get(cls.role)
        kind = Account._registry.get((cls.role, name)) if isinstance(name, str) else None
        if kind is None or not issubclass(kind, cls):
            fitting = (k for (r, k), known in Account._registry.items() if r == cls.role and issubclass(known, cls))
            raise InvalidParameter(f"{cls.role} must be one of {', '.join(sorted(fitting))}, got {shown(name)}")
        return kind._restored({k: v for k, v in plain.items() if k != cls.role})

    def copy(self) -> Self:
        """Return an independent copy of the account in the same state. What is later spent on one of them is not spent
        on the other.
        """
        account = object.__new__(type(self))
        account.__dict__.update(self.__dict__)
        account._lock = threading.Lock()
        return account

    def to_text(self) -> str:
        """Return `to_dict()` as canonical JSON. The text is cached until something is spent."""
        state, text = self._written
        if state is not self._state:
            state = self._state
            text = to_canonical_json(self._plain(state))
            self._written = state, text
        return text

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


Part = TypeVar("Part", bound=Account)


class Joint(Account, Generic[Part]):
    """The state is one state for each part. The parts themselves are left alone; only their rules are used.

    A subclass sets `kind`, the base class of its parts, and `parts_name`, their parameter.
    """

    kind: ClassVar[type[Account]]
    parts_name: ClassVar[str]
    _parts: tuple[Part, ...]

    def __init__(self, parts: Sequence[Part]) -> None:
        name = self.parts_name
        if not isinstance(parts, (list, tuple)) or not all(isinstance(part, self.kind) for part in parts):
            raise InvalidParameter(f"{name} must be a list of {name}")
        if len(parts) < 2:
            raise InvalidParameter(f"{name} must be a list with at least two entries, got {len(parts)}")
        self._parts = tuple(parts)
        super().__init__()

    def _require_fresh(self) -> None:
        """Refuse parts with a history, for combinations that are sound only if all parts saw every cost."""
        for part in self._parts:
            if not part._is_blank(part._state):
                raise InvalidParameter(
                    f"{self.parts_name} must be new, without recorded costs, and the {part.name} {part.role} has "
                    "recorded some; the costs that the others did not see would be missing from a joint guarantee"
                )

    def _shared_kinds(self) -> tuple[type[Cost], ...]:
        """The kinds of cost that all parts account for."""
        first, *others = self._parts
        return tuple(kind for kind in first.accepts if all(kind in part.accepts for part in others))

    def parameters(self) -> dict[str, Any]:
        """Return the accounts that were combined, as they were given."""
        return {self.parts_name: [{part.role: part.name} | part.parameters() for part in self._parts]}

    def _blank(self) -> State:
        return tuple(part._blank() for part in self._parts)

    def _is_blank(self, state: State) -> bool:
        return all(held is not None and part._is_blank(held) for part, held in zip(self._parts, state, strict=True))

    def _next(self, state: State, cost: Any) -> State:
        return tuple(part._after(held, cost) for part, held in zip(self._parts, state, strict=True))

    def _plain(self, state: State) -> dict[str, Any]:
        parts = [part._plain(held) for part, held in zip(self._parts, state, strict=True)]
        return {self.role: self.name, self.parts_name: parts}

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        stored = plain.pop(cls.parts_name, None)
        if plain or not isinstance(stored, list):
            raise InvalidParameter(
                f"a stored {cls.name} {cls.role} must have a list {cls.parts_name} and no other fields"
            )
        parts = [cls.kind.from_dict(part) for part in stored]
        states = tuple(part._state for part in parts)
        for part in parts:
            part._state = part._blank()
        account = cls._made({cls.parts_name: parts})
        account._take(states)
        return account

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._parts)!r})"


def named(parts: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Gather amounts by the parts' names; a second part of the same name becomes `name-2`.

    Examples
    --------
    >>> named([("renyi-curve", {"epsilon": 0}), ("renyi", {"epsilon": 1}), ("renyi", {"epsilon": 2})])
    {'renyi-curve': {'epsilon': 0}, 'renyi': {'epsilon': 1}, 'renyi-2': {'epsilon': 2}}
    """
    gathered: dict[str, Any] = {}
    for i, (name, values) in enumerate(parts):
        count = 1 + sum(earlier == name for earlier, _ in parts[:i])
        gathered[name if count == 1 else f"{name}-{count}"] = values
    return gathered
