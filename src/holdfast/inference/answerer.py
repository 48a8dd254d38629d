"""What all answerers of many means share: a plan fixed in advance, a count of questions, and a refusal at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from holdfast import check
from holdfast.bounds.exact import left_to_chance
from holdfast.bounds.interval.width import LEAST_BETA, MOST
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.mechanisms.one_copy import OneCopy
from holdfast.noise.entropy import Secure, Source, resolve

_REGISTRY: dict[str, type[Answerer]] = {}


class Answerer(OneCopy, ABC):
    """A plan, and how many of its questions have been asked. Holds no rows.

    Attributes
    ----------
    n, questions : int
        Rows of the sample, and how many questions may be asked in all.
    confidence, beta : float
        Probability that all intervals hold at once, and what is left of 1.
    asked : int
        Questions answered so far.
    """

    kind: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.kind:
            _REGISTRY[cls.kind] = cls

    def __init__(self, n: int, questions: int, confidence: float, source: Source | None) -> None:
        super().__init__()
        self.n = check.whole("n", n, at_least=1, at_most=MOST)
        self.questions = check.whole("questions", questions, at_least=1, at_most=MOST)
        self.confidence = check.real("confidence", confidence, above=0, below=1)
        self.beta = max(left_to_chance(self.confidence), LEAST_BETA)
        self.asked = 0
        self._source = resolve(source)

    @property
    def remaining(self) -> dict[str, float]:
        """What may still be asked."""
        return {"questions": self.questions - self.asked}

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that make this plan again, as plain data."""

    def state(self) -> dict[str, Any]:
        """Plan and progress as plain data, for `from_state`. It holds nothing about rows.

        An answerer restored twice answers twice as many questions, and the promise is about one of them: keep one copy.
        """
        return {"kind": self.kind, **self.parameters(), "asked": self.asked}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], source: Source | None = None) -> Self:
        """The answerer that `state()` was taken from. The plan is computed again and is the same."""
        if not isinstance(state, Mapping) or not isinstance(state.get("kind"), str):
            raise InvalidParameter("state must be what state() returned")
        made = _REGISTRY.get(state["kind"])
        if made is None or not issubclass(made, cls):
            raise InvalidParameter(f"state must be that of a {cls.__name__}, got kind {state['kind']!r}")
        plan = {k: v for k, v in state.items() if k not in ("kind", *made._progress())}
        try:
            answerer = made(**plan, source=source)
        except TypeError:
            raise InvalidParameter("state must be what state() returned") from None
        answerer._restore(state)
        return answerer

    @classmethod
    def _progress(cls) -> tuple[str, ...]:
        """The entries of the state that say how far it has come."""
        return ("asked",)

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.asked = check.whole("asked", state.get("asked"), at_least=0, at_most=self.questions)

    def _take(self, count: int = 1) -> int:
        """Reserve `count` questions and return the number of the first, from 1; refuse when they do not fit."""
        with self._alone():
            return self._count(count)

    def _count(self, count: int = 1) -> int:
        """`_take` for a caller that holds the lock."""
        left = self.questions - self.asked
        if count > left:
            more = "1 more question does" if count == 1 else f"{count} more questions do"
            raise BudgetExhausted(f"{more} not fit: {left} of {self.questions} planned left")
        first = self.asked + 1
        self.asked += count
        return first

    def __repr__(self) -> str:
        plan = ", ".join(f"{k}={v!r}" for k, v in self.parameters().items())
        source = "" if isinstance(self._source, Secure) else ", simulated noise"
        return f"{type(self).__name__}({plan}; {self.asked} asked{source})"


__all__ = ["Answerer"]
