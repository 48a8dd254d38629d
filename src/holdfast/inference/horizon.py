"""A horizon that questions charge by what they do: what is charged so far, and how it is stored."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.inference.answerer import Answerer
from holdfast.noise.entropy import Source


class HorizonAnswerer(Answerer):
    """An answerer whose questions do not all charge alike. The sum of charges is exact and never passes the horizon."""

    def __init__(self, n: int, questions: int, confidence: float, source: Source | None) -> None:
        super().__init__(n, questions, confidence, source)
        self._spent = Fraction(0)

    @property
    @abstractmethod
    def horizon(self) -> float:
        """What all charges together may come to."""

    def state(self) -> dict[str, Any]:
        """Plan and progress as plain data, for `from_state`."""
        return super().state() | {"spent": str(self._spent)}

    @classmethod
    def _progress(cls) -> tuple[str, ...]:
        return ("asked", "spent")

    def _restore(self, state: Mapping[str, Any]) -> None:
        try:
            spent = Fraction(state["spent"])
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise InvalidParameter("state must be what state() returned") from None
        if not 0 <= spent <= Fraction(self.horizon):
            raise InvalidParameter("state must be what state() returned: spent is outside the horizon")
        super()._restore(state)
        self._spent = spent


__all__ = ["HorizonAnswerer"]
