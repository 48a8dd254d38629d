"""What all online tests share: a level before each p-value, a decision after it, and a state that can be stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.online.discount import Discount
from holdfast.inference.online.memory import Memory


class Decision(NamedTuple):
    """One test of a stream: the p-value, the level that it met, and whether it was rejected.

    Examples
    --------
    >>> Decision(p=0.001, level=0.01, rejected=True)
    Decision(p=0.001, level=0.01, rejected=True)
    """

    p: float
    level: float
    rejected: bool


class Stream(ABC):
    """An online test. `level` is the next test's level, known before its p-value; `test` decides and moves on.

    Examples
    --------
    >>> from holdfast.inference.online import Saffron
    >>> stream = Saffron(0.05)
    >>> round(stream.level, 6), stream.test(0.001).rejected, round(stream.level, 6)
    (0.005469, True, 0.010937)
    """

    kind: ClassVar[str]
    controls: ClassVar[str]

    def __init__(self, alpha: float, discount: Discount) -> None:
        self._alpha = check.probability("alpha", alpha)
        if not isinstance(discount, Discount):
            raise InvalidParameter(f"discount must be a Discount, got a {type(discount).__name__}")
        self._discount = discount
        self._tests = 0
        self._rejections = 0
        self._spent = 0.0
        self._next: float | None = None

    @property
    def alpha(self) -> float:
        """What the stream keeps."""
        return self._alpha

    @property
    def tests(self) -> int:
        """How many p-values there were."""
        return self._tests

    @property
    def rejections(self) -> int:
        """How many were rejected."""
        return self._rejections

    @property
    def level(self) -> float:
        """The level of the next test. It depends on what came before, never on the p-value that it will meet."""
        if self._next is None:
            self._next = self._level()
        return self._next

    @property
    @abstractmethod
    def wealth(self) -> float:
        """What is left to spend; never negative."""

    def test(self, p: float) -> Decision:
        """Test the next p-value, in [0, 1]; a wrong one raises and changes nothing. Constant time."""
        p = check.probability("p", p, zero=True, one=True)
        level = self.level
        rejected = p <= level
        self._after(p, level, rejected)
        self._tests += 1
        self._rejections += rejected
        self._next = None
        return Decision(p, level, rejected)

    def test_all(self, p_values: Iterable[float]) -> list[Decision]:
        """Test p-values one after the other; all are checked first."""
        checked = [check.probability(f"p_values[{i}]", p, zero=True, one=True) for i, p in enumerate(p_values)]
        return [self.test(p) for p in checked]

    def state(self) -> dict[str, Any]:
        """Everything as plain data; `from_state` reads it back exactly."""
        return {
            "version": 1,
            "kind": self.kind,
            "parameters": self._parameters(),
            "discount": {
                "kind": self._discount.kind,
                "constant": self._discount.constant,
                "exponent": self._discount.exponent,
            },
            "tests": self._tests,
            "rejections": self._rejections,
            "spent": self._spent,
            "memory": self._memory_state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Read a stream of this class back from `state()`."""
        wanted = {"version", "kind", "parameters", "discount", "tests", "rejections", "spent", "memory"}
        if not isinstance(state, Mapping) or set(state) != wanted or state["version"] != 1 or state["kind"] != cls.kind:
            raise InvalidParameter(f"a stored stream must be a dict of version 1 and kind {cls.kind}")
        if not isinstance(state["parameters"], Mapping) or not isinstance(state["discount"], Mapping):
            raise InvalidParameter("a stored stream's parameters and discount must be dicts")
        try:
            made = cls(**state["parameters"], discount=Discount(**state["discount"]))
        except TypeError:
            raise InvalidParameter(f"a stored {cls.kind} stream has wrong parameters") from None
        made._tests = check.whole("tests", state["tests"], at_least=0)
        made._rejections = check.whole("rejections", state["rejections"], at_least=0, at_most=made._tests)
        made._spent = check.real("spent", state["spent"], at_least=0)
        made._restore(state["memory"])
        return made

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value:g}" for name, value in self._parameters().items())
        return f"{type(self).__name__}({inside}; tests={self._tests}, rejections={self._rejections})"

    @abstractmethod
    def _level(self) -> float: ...

    @abstractmethod
    def _after(self, p: float, level: float, rejected: bool) -> None: ...

    @abstractmethod
    def _parameters(self) -> dict[str, float]: ...

    def _memory_state(self) -> Any:
        return None

    def _restore(self, memory: Any) -> None:
        if memory is not None:
            raise InvalidParameter(f"a stored {self.kind} stream has no memory")


class RewardedStream(Stream):
    """A stream that earns wealth back with every rejection: the first earns `alpha - wealth`, later ones `alpha`."""

    def __init__(self, alpha: float, wealth: float | None, discount: Discount) -> None:
        super().__init__(alpha, discount)
        start = self._alpha / 2 if wealth is None else check.real("wealth", wealth, above=0, below=self._alpha)
        self._start = start
        self._memory = Memory(discount)
        self._memory.add(start)

    @property
    def wealth(self) -> float:
        """What was earned less what was spent; never negative."""
        first = min(self._rejections, 1) * (self._alpha - self._start)
        earned = self._start + first + max(self._rejections - 1, 0) * self._alpha
        return max(earned - self._spent, 0.0)

    def _reward(self) -> None:
        self._memory.add(self._alpha if self._rejections else self._alpha - self._start)

    def _memory_state(self) -> Any:
        return self._memory.state()

    def _restore(self, memory: Any) -> None:
        self._memory.restore(memory)


__all__ = ["Decision", "RewardedStream", "Stream"]
