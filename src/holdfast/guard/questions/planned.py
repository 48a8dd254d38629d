"""Answers under a policy of means: noise and width are those of a plan that was fixed when the guard opened.

Every question of such a guard is one noisy mean. A check, a claim and a comparison are read off it afterwards, which
costs nothing more: they are functions of what is released anyway. So the noisy value and its interval are shown with
each of them, and no failed check makes a later interval wider.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from holdfast.accounting import GDP
from holdfast.core.guarantee import Guarantee
from holdfast.data.statistics import UNIT
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import MIXED, MIXED_INDEPENDENT, BoundQuestion, Measured, Settled, Situation
from holdfast.guard.questions.expressions import BoundExpression
from holdfast.guard.questions.noisy import about_rows
from holdfast.holdout.intervals.mean import deviations
from holdfast.holdout.questions import Guess, MeanQuestion, OneSided, around
from holdfast.inference.answers.noisy import GaussianAnswers
from holdfast.inference.answers.open_end import OpenAnswers

if TYPE_CHECKING:
    from holdfast.guard.policy import Cap, Policy

PLANNED = "planned"
"""What a stored check, claim or comparison says of its noise where a plan decided it."""
PlannedAnswers = GaussianAnswers | OpenAnswers


def answers_of(policy: Policy, n: int) -> PlannedAnswers:
    """Return the method of a policy of means over `n` rows.

    Examples
    --------
    >>> from holdfast.guard import Policy
    >>> capped = Policy(answers="means", questions=50, privacy=GDP(0.0275))
    >>> answers = answers_of(capped, 100_000)
    >>> round(answers.half_width, 4), answers.mu <= 0.0275
    (0.0158, True)
    """
    mu = policy.privacy.mu if isinstance(policy.privacy, GDP) else None
    return planned_answers(n, policy.questions or 1, policy.confidence, policy.plan, mu, policy.cap)


def plan_facts(policy: Policy, n: int) -> dict[str, Any] | None:
    """Return what a plan under a privacy cap spends in all, and its half-width, as plain data; None without a cap.

    The cap is a ceiling: where the narrowest plan spends less, spending more would only widen the intervals.

    Examples
    --------
    >>> from holdfast.guard import Policy
    >>> facts = plan_facts(Policy(answers="means", questions=50, privacy=GDP(0.2)), 10_000)
    >>> round(facts["mu"], 3), facts["cap"], round(facts["half_width"], 3)
    (0.122, 0.2, 0.05)
    """
    if policy.answers != "means" or not isinstance(policy.privacy, GDP):
        return None
    answers = answers_of(policy, n)
    return {"mu": answers.mu, "cap": policy.privacy.mu, "half_width": answers.half_width}


@lru_cache(maxsize=64)
def planned_answers(
    n: int, questions: int, confidence: float, plan: str, mu: float | None = None, cap: Cap = "best"
) -> PlannedAnswers:
    """Return the method of a policy of means; a guard of an earlier version keeps the plan it began with.

    Examples
    --------
    >>> planned_answers(1000, 100, 0.95, "identical").method, planned_answers(1000, 100, 0.95, "earlier").method
    ('interval.sign-comparison', 'interval.scheduled')
    """
    if plan == "open":
        return OpenAnswers(n, confidence)
    if plan == "earlier":
        return GaussianAnswers(n, questions, confidence, method="earlier")
    law: Any = "independent" if plan == "independent" else "identical"
    if mu is None:
        return GaussianAnswers(n, questions, confidence, rows=law)
    return GaussianAnswers(n, questions, confidence, method=cap, rows=law, privacy=GDP(mu))


class PlannedMean(BoundQuestion):
    """A mean under a policy of means alone: the noise and the width are those of the plan."""

    def __init__(self, rows: BoundExpression, answers: PlannedAnswers) -> None:
        self.cost = None
        self.question = {"kind": "mean", **rows.to_dict()}
        self.statistics = (rows.fixed_sum,)
        self._answers = answers
        self._low, self._high = rows.low, rows.high

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the planned noise of this question's number."""
        turn = situation.progress.answered + 1
        answers = self._answers
        if situation.source is not None:  # a test's noise; plans are cheap next to the rows
            answers = type(answers).from_state(answers.state(), source=situation.source)
        answer = answers.answer_to(turn, self._exact(prepared, situation.n), self._low, self._high)
        assert answer.interval is not None
        independent = isinstance(answers, GaussianAnswers) and answers.rows == "independent"
        assumption = MIXED_INDEPENDENT if independent else MIXED
        guarantee = Guarantee(answer.guarantee.theorem, answer.guarantee.parameters, assumption)
        cost = answer.cost if isinstance(answer.cost, GDP) else GDP(0.0)
        # Clipping a noisy value to the range brings it nearer to the exact mean, so the noise bounds its distance too.
        width = deviations(math.log(situation.rows_share)) * answers.sigma(turn) + float(answers.grid.step)
        length = self._high - self._low
        rows = [max(self._low, answer.value - length * width), min(self._high, answer.value + length * width)]
        details = {"privacy": cost.to_dict(), "about_rows": about_rows(situation, rows, "mean")}
        return Settled(answer.value, answer.interval, guarantee, self._verdict(answer.interval), details=details)

    def half_width(self, situation: Situation) -> float:
        """Return the plan's half-width for the next question, in the unit of the answer."""
        last = self._answers.questions
        return (self._high - self._low) * self._answers.half_width_of(min(situation.progress.answered + 1, last))

    def _exact(self, measured: Measured, n: int) -> Fraction:
        """The exact mean as a share of the range. Secret."""
        return Fraction(measured[0][0], n * UNIT)

    def _verdict(self, interval: Sequence[float]) -> bool | None:
        """Whether what was asked about the mean is shown; None where nothing was."""
        return None


class PlannedLook(PlannedMean):
    """A check, a claim or a comparison under a policy of means: decided by the interval of one noisy mean.

    By default a guess passes within two half-widths, and then a guess that is the truth passes whenever the interval
    holds.
    """

    def __init__(
        self,
        kind: str,
        rows: tuple[BoundExpression, ...],
        question: MeanQuestion,
        asked: Guess | OneSided,
        answers: PlannedAnswers,
    ) -> None:
        super().__init__(rows[0], answers)
        self._low, self._high = question.low, question.high
        self.statistics = tuple(one.fixed_sum for one in rows)
        width = (self._high - self._low) * answers.half_width
        self._bounds = _shown_within(asked, question, width)
        self.question = {"kind": kind, "rows": [one.to_dict() for one in rows], **asked.to_dict(), "noise": PLANNED}

    def least_tolerance(self, situation: Situation) -> float:
        """Half of the width of an interval, which has to fit."""
        return self.half_width(situation)

    def _exact(self, measured: Measured, n: int) -> Fraction:
        if len(measured) == 1:
            return super()._exact(measured, n)
        (second,), (first,) = measured
        return Fraction(second - first + n * UNIT, 2 * n * UNIT)

    def _verdict(self, interval: Sequence[float]) -> bool:
        return self._bounds[0] <= interval[0] and interval[1] <= self._bounds[1]


def _shown_within(asked: Guess | OneSided, question: MeanQuestion, width: float) -> tuple[float, float]:
    """Where the interval has to lie for a pass; refused where none of that half-width could."""
    if isinstance(asked, Guess):
        _require_plain(asked)
        tolerance = 2.001 * width if asked.tolerance is None else asked.tolerance
        name, given, limit, needed = "tolerance", tolerance, f"at least {width:.3g}", tolerance >= width
        bounds = around(asked.guess, tolerance, question.low, question.high)
    elif asked.at_least:
        most = question.high - width
        name, given, limit, needed = "at_least", asked.bound, f"at most {most:.3g}", asked.bound <= most
        bounds = (asked.bound, question.high)
    else:
        least = question.low + width
        name, given, limit, needed = "at_most", asked.bound, f"at least {least:.3g}", asked.bound >= least
        bounds = (question.low, asked.bound)
    if not needed:
        raise InvalidParameter(
            f"{name} must be {limit}, because the interval of this guard reaches {width:.3g} to each side of the "
            f"noisy mean, got {given:g}; nothing was spent"
        )
    return bounds


def require_plain(risk: Any, stake: Any) -> None:
    """Refuse what only questions without noise have: nothing is weighed or staked where noise has paid."""
    if risk is not None or stake is not None:
        raise InvalidParameter(
            "risk and stake must be left out, because this guard answers every question with the noise of its plan"
        )


def _require_plain(asked: Guess) -> None:
    if not asked.show_value or asked.side != "both" or asked.guess_rows is not None:
        raise InvalidParameter(
            "show, side and guess_rows must be left out, because this guard always shows the noisy mean"
        )
