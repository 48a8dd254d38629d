"""An account that is several others, each with its own totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

from holdfast.accounting.account import Account, State
from holdfast.accounting.costs import Cost
from holdfast.errors import InvalidParameter

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
            raise InvalidParameter(f"{name} must be a list of at least two {name}, got {len(parts)}")
        self._parts = tuple(parts)
        super().__init__()

    def _require_fresh(self) -> None:
        """Refuse parts with a history, for combinations that are sound only if all parts saw every cost."""
        for part in self._parts:
            if not part._is_blank(part._state):
                raise InvalidParameter(
                    f"{self.parts_name} must be fresh: the {part.name} {part.role} has a history that the others have"
                    " not seen, and what they say together would be about different interactions"
                )

    def _shared_kinds(self) -> tuple[type[Cost], ...]:
        """The kinds of cost that all parts account for."""
        first, *others = self._parts
        return tuple(kind for kind in first.accepts if all(kind in part.accepts for part in others))

    def parameters(self) -> dict[str, Any]:
        """The parts, as made."""
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
            raise InvalidParameter(f"a stored {cls.name} {cls.role} must have {cls.parts_name} and nothing else")
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


__all__ = ["Joint", "named"]
