"""A plan and its public transcript: what every question of a run shares, and how a run is handed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from holdfast import check
from holdfast.bounds.interval.width import MOST
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout.shares import Shares
from holdfast.holdout.transcript import Transcript
from holdfast.mechanisms.answer import Answer
from holdfast.mechanisms.shared import Shared

_FORMAT = 1


class Run(Shared):
    """The plan, what was asked, and what is left. Nothing in it is secret."""

    _not_pickled = (
        "a {name} is not pickled: two copies would spend one confidence twice; "
        "hand the run over with state() and from_state()"
    )

    def __init__(
        self, n: int, questions: int | None, confidence: float, failures: int | None, low: float, high: float
    ) -> None:
        self._n = check.whole("n", n, at_least=1, at_most=MOST)
        self._low, self._high = check.value_range(low, high)
        shares = Shares(confidence, questions, failures)
        if shares.questions is not None and shares.failures is not None and shares.failures > shares.questions:
            raise InvalidParameter(f"failures must be at most the questions, {shares.questions}, got {shares.failures}")
        self._run = self._transcript(shares)

    def _transcript(self, shares: Shares) -> Transcript:
        """An empty transcript; a holdout whose rows are not independent says here what its intervals rest on."""
        return Transcript(shares)

    @property
    def n(self) -> int:
        """Rows of the holdout."""
        return self._n

    @property
    def low(self) -> float:
        """Least value unless a question names another."""
        return self._low

    @property
    def high(self) -> float:
        """Greatest value unless a question names another."""
        return self._high

    @property
    def confidence(self) -> float:
        """Probability that all answers hold."""
        return self._run.shares.confidence

    @property
    def questions(self) -> int | None:
        """Planned number of questions."""
        return self._run.shares.questions

    @property
    def failures(self) -> int | None:
        """Planned number of failures that may show a value."""
        return self._run.shares.failures

    @property
    def asked(self) -> int:
        """Questions asked so far."""
        return self._run.asked

    @property
    def failed(self) -> int:
        """Failures so far."""
        return self._run.failed

    @property
    def remaining(self) -> dict[str, float]:
        """Questions and failures that are left; infinite where the plan has no limit."""
        return self._run.left()

    @property
    def log_share(self) -> float:
        """Natural logarithm of the share of the failure probability that the next question gets. Public."""
        return self._run.log_share

    @property
    def transcript(self) -> tuple[Answer, ...]:
        """Every answer that was released, in order."""
        return tuple(entry.answer for entry in self._run.entries)

    def state(self) -> dict[str, Any]:
        """The plan and the transcript as plain data for JSON; `from_state` reads it back exactly.

        Everything in it was released or is public: no rows, no sums. Whoever goes on from a state must be the only
        one who does.
        """
        plan = self._run.shares
        return {
            "format": _FORMAT,
            "n": self._n,
            "questions": plan.questions,
            "confidence": plan.confidence,
            "failures": plan.failures,
            "low": self._low,
            "high": self._high,
            "transcript": self._run.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The holdout that `state()` described, ready for its next question.

        Examples
        --------
        >>> from holdfast.holdout import ReusableHoldout
        >>> holdout = ReusableHoldout(4, questions=10)
        >>> answer = holdout.check([0, 1, 1, 1], guess=0.5, key="first")
        >>> twin = ReusableHoldout.from_state(holdout.state())
        >>> twin.transcript == holdout.transcript, twin.log_share == holdout.log_share
        (True, True)
        """
        try:
            if state["format"] != _FORMAT:
                raise InvalidParameter(f"state must have format {_FORMAT}, got {state['format']!r}")
            holdout = cls._planned(state)
            holdout._run.replay(state["transcript"])
        except (KeyError, TypeError, AttributeError, BudgetExhausted) as error:
            raise InvalidParameter(f"state must be what state() returned: {error}") from error
        return holdout

    @classmethod
    def _planned(cls, state: Mapping[str, Any]) -> Self:
        """The holdout of a state's plan, before anything was asked."""
        return cls(**{name: state[name] for name in ("n", "questions", "confidence", "failures", "low", "high")})

    def __repr__(self) -> str:
        plan = self._run.shares
        questions = f"{self.asked} asked" if plan.questions is None else f"{self.asked} of {plan.questions} asked"
        failures = f"{self.failed} failed" if plan.failures is None else f"{self.failed} of {plan.failures} failed"
        if plan.failures is not None and self.failed > plan.failures:
            failures = f"ended by a failure after the {plan.failures} planned"
        return f"{type(self).__name__}(n={self._n}, confidence={plan.confidence:g}: {questions}, {failures})"


__all__ = ["Run"]
