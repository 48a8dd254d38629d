"""The mean of an expression, answered with noise: no guess is needed, and it is private at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from holdfast.accounting import GDP, Cost
from holdfast.bounds.guarantee import Guarantee
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import MIXED, Bound, Measured, Question, Settled, Situation
from holdfast.guard.questions.rows import Spelled, spelled
from holdfast.guard.questions.spending import noise_for, spend_of
from holdfast.guard.questions.unit_interval import unit_interval
from holdfast.inference.gaussian_answers import GaussianAnswers


@dataclass(frozen=True)
class Mean(Question):
    """The mean of an expression over the rows, clipped to a declared range row by row.

    Parameters
    ----------
    expression : str or mapping
        A row expression. A condition is 1 where it holds and 0 where it does not.
    low, high : float, optional
        The declared range; [0, 1] for a condition, and required otherwise.
    default : float, optional
        What a row counts as where the expression has no value; `low` if not given.
    spend : PureDP or ZCDP, optional
        What the answer may cost; the policy's `spend` if not given.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> one = hf.accounting.PureDP(1.0)
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10, privacy=one, spend=one))
    >>> low, high = guard.ask(hf.guard.mean("age < 30")).interval
    >>> low < 0.25 < high
    True
    """

    kind: ClassVar[str] = "mean"

    expression: str | Mapping[str, Any]
    low: float | None = None
    high: float | None = None
    default: float | None = None
    spend: Cost | None = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check against the schema and the policy."""
        rows = spelled(self.expression, schema, self.low, self.high, self.default)
        if policy.answers == "means":
            return PlannedMean(rows, _answers(n, policy.questions or 1, policy.confidence))
        return NoisyMean(rows, spend_of(self.spend, policy), n)


class NoisyMean(Bound):
    """A mean under a mixed policy: fresh noise, and an interval at the share that the run leaves."""

    def __init__(self, rows: Spelled, cost: Cost, n: int) -> None:
        self.rows = rows
        self.cost = cost
        self.question = {"kind": "mean", **rows.to_dict(), "spend": cost.to_dict()}
        self.statistics = (rows.fixed_sum,)
        self._noise = noise_for(cost, n)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """The exact mean plus noise; the interval is a function of the noisy value alone."""
        log_share, off = situation.log_share, self._noise.half_width(situation.noise_share)
        exact = Fraction(prepared[0][0], situation.n * UNIT)
        noisy = self._noise.release(exact, situation.source)  # type: ignore[call-overload]
        ends = unit_interval(situation.n).over(noisy - off, noisy + off, log_share)
        value = self.rows.in_unit(min(max(noisy, 0.0), 1.0))
        guarantee = situation.guarantee("transfer.interleaved", log_share=round(log_share, 6), interval="kl")
        return Settled(value, self.rows.outward(*ends), guarantee)

    def half_width(self, situation: Situation) -> float:
        """At the middle of the range, where it is largest."""
        off = self._noise.half_width(situation.noise_share)
        lower, upper = unit_interval(situation.n).over(0.5 - off, 0.5 + off, situation.log_share)
        return (self.rows.high - self.rows.low) * (upper - lower) / 2


class PlannedMean(Bound):
    """A mean under a policy of means alone: the noise and the width are those of the plan."""

    def __init__(self, rows: Spelled, answers: GaussianAnswers) -> None:
        self.rows = rows
        self.cost = None
        self.question = {"kind": "mean", **rows.to_dict()}
        self.statistics = (rows.fixed_sum,)
        self._answers = answers

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """The planned noise of this question's number."""
        turn = situation.progress.answered + 1
        answers = self._answers
        if situation.source is not None:  # a test's noise; plans are cheap beside the rows
            answers = GaussianAnswers(answers.n, answers.questions, answers.confidence, source=situation.source)
        exact = Fraction(prepared[0][0], situation.n * UNIT)
        answer = answers.answer_to(turn, exact, self.rows.low, self.rows.high)
        guarantee = Guarantee(answer.guarantee.theorem, answer.guarantee.parameters, MIXED)
        cost = answer.cost if isinstance(answer.cost, GDP) else GDP(0.0)
        return Settled(answer.value, answer.interval, guarantee, details={"privacy": cost.to_dict()})

    def half_width(self, situation: Situation) -> float:
        """The plan's, in the unit of the answer."""
        return (self.rows.high - self.rows.low) * self._answers.half_width


@lru_cache(maxsize=64)
def _answers(n: int, questions: int, confidence: float) -> GaussianAnswers:
    return GaussianAnswers(n, questions, confidence)


__all__ = ["Mean", "NoisyMean", "PlannedMean"]
