"""Questions answered without noise: a guess checked, a claim, a comparison, a yes or no. Failures are what is dear.

They are the reusable holdout's questions, decided at the share that the guard's run leaves (`Belief`). Everything but
the sums of the rows is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from holdfast import check
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT
from holdfast.data.values import Summary
from holdfast.errors import InvalidParameter
from holdfast.guard.policy import Policy
from holdfast.guard.questions import threshold_check
from holdfast.guard.questions.base import Bound, Measured, Question, Settled, Situation
from holdfast.guard.questions.rows import Spelled, spelled
from holdfast.holdout.decisions import Guess, OneSided
from holdfast.holdout.mean_question import MeanQuestion

Show = Literal["value", "bit"]


@dataclass(frozen=True)
class Check(Question):
    """Check a guess of a mean; a pass costs next to nothing, a failure shows a corrected value.

    Parameters
    ----------
    expression, low, high, default
        As in `Mean`.
    guess : float
        The guess; it must not come from the sample.
    tolerance : float, optional
        A pass certifies the truth within this of the guess; by default twice the half-width at the guess.
    show : str
        "value", or "bit": a failure then shows nothing else.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.check("age < 30", guess=0.25)).passed
    True
    """

    kind: ClassVar[str] = "check"

    expression: str | Mapping[str, Any]
    guess: float
    tolerance: float | None = None
    show: Show = "value"
    low: float | None = None
    high: float | None = None
    default: float | None = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check against the schema."""
        rows = spelled(self.expression, schema, self.low, self.high, self.default)
        question = MeanQuestion(self.kind, "auto", None, rows.low, rows.high, rows.binary, n)
        asked = question.guess(self.guess, self.tolerance, self.show, None)
        rules = threshold_check.run_of(policy, n)
        if rules is None:
            return Look(self.kind, (rows,), question, asked)
        if self.tolerance is not None or self.show != "value":
            raise InvalidParameter("tolerance and show must be left out here: the policy's holdout has a threshold")
        return threshold_check.ThresholdCheck(rows, asked.guess, rules)


@dataclass(frozen=True)
class Claim(Question):
    """Claim that a mean is at least, or at most, a number. Shows a bit; a failure says nothing against the claim.

    Parameters
    ----------
    expression, low, high, default
        As in `Mean`.
    at_least, at_most : float, optional
        Exactly one of them.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.claim("age", at_least=35, low=0, high=100)).passed
    True
    """

    kind: ClassVar[str] = "claim"

    expression: str | Mapping[str, Any]
    at_least: float | None = None
    at_most: float | None = None
    low: float | None = None
    high: float | None = None
    default: float | None = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check against the schema."""
        if (self.at_least is None) == (self.at_most is None):
            raise InvalidParameter("at_least or at_most must be given, and not both")
        rows = spelled(self.expression, schema, self.low, self.high, self.default)
        question = MeanQuestion(self.kind, "auto", None, rows.low, rows.high, rows.binary, n)
        name = "at_least" if self.at_least is not None else "at_most"
        return Look(self.kind, (rows,), question, question.claim(name, getattr(self, name)))


@dataclass(frozen=True)
class Validate(Question):
    """Ask whether a condition holds for at least a share of the population: yes, or not shown.

    Parameters
    ----------
    condition : str or mapping
        A row expression that is true or false.
    at_least : float
        The share, in (0, 1).

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.validate("age < 50", at_least=0.7)).passed
    True
    """

    kind: ClassVar[str] = "validate"

    condition: str | Mapping[str, Any]
    at_least: float

    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check against the schema."""
        rows = spelled(self.condition, schema, 0, 1, None)  # a number is let through here, to be refused by name
        if not rows.binary:
            raise InvalidParameter("condition must be true or false of each row, as `age < 30` is, got a number")
        question = MeanQuestion(self.kind, "auto", None, 0.0, 1.0, True, n)
        share = check.probability("at_least", self.at_least)
        return Look(self.kind, (rows,), question, question.claim("at_least", share))


@dataclass(frozen=True)
class Compare(Question):
    """Compare two expressions on the same rows: the mean of `b` minus `a`.

    Parameters
    ----------
    b, a : str or mapping
        Two row expressions with one range.
    margin : float, optional
        Claim that `b` is larger by at least this; shows a bit.
    guess, tolerance
        Without a margin: check a guess of the difference, 0 if not given.
    low, high, default
        As in `Mean`, for each of the two.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.compare("age < 50", "age < 30", margin=0.4)).passed
    True
    """

    kind: ClassVar[str] = "compare"

    b: str | Mapping[str, Any]
    a: str | Mapping[str, Any]
    margin: float | None = None
    guess: float = 0.0
    tolerance: float | None = None
    show: Show = "value"
    low: float | None = None
    high: float | None = None
    default: float | None = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check against the schema."""
        second = spelled(self.b, schema, self.low, self.high, self.default)
        first = spelled(self.a, schema, self.low, self.high, self.default)
        if (first.low, first.high) != (second.low, second.high):
            raise InvalidParameter("a and b must have one range: two conditions, or two numbers")
        length = first.high - first.low
        question = MeanQuestion(self.kind, "auto", None, -length, length, False, n)
        asked: Guess | OneSided = (
            question.guess(self.guess, self.tolerance, self.show, None)
            if self.margin is None
            else question.claim("at_least", self.margin, "margin")
        )
        return Look(self.kind, (second, first), question, asked)


class Look(Bound):
    """A question about one mean, or the difference of two, decided by an interval and shown as little as possible."""

    def __init__(self, kind: str, rows: tuple[Spelled, ...], question: MeanQuestion, asked: Guess | OneSided) -> None:
        self.cost = None
        self.question = {"kind": kind, "rows": [one.to_dict() for one in rows]} | asked.to_dict()
        self.statistics = tuple(one.fixed_sum for one in rows)
        self._rows, self._question, self._asked = rows, question, asked

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Pass or fail at this question's share, and what that shows."""
        share, sums = situation.log_share, self._sums(prepared, situation.n)
        asked = self._asked
        outcome = (
            self._question.decide_check(sums, asked, share)
            if isinstance(asked, Guess)
            else self._question.decide_claim(sums, asked, share)
        )
        most = situation.belief.policy.failures
        ended = not outcome.passed and most is not None and situation.progress.failed >= most
        guarantee = situation.guarantee(
            "holdout.guess-and-check-share", log_share=round(share, 6), interval=outcome.family
        )
        if ended:  # the failure after the last planned one shows nothing more than that
            return Settled(None, None, guarantee, False, 1, {"ended": True})
        interval = None if outcome.interval is None else list(outcome.interval)
        return Settled(outcome.value, interval, guarantee, outcome.passed, outcome.shown)

    def half_width(self, situation: Situation) -> float | None:
        """How far the truth can be from a guess that stands: its tolerance. None for a claim."""
        if not isinstance(self._asked, Guess):
            return None
        return self._question.tolerance(self._asked, situation.log_share)

    def least_tolerance(self, situation: Situation) -> float | None:
        """The least tolerance that the guess could pass with; None for a claim."""
        if not isinstance(self._asked, Guess):
            return None
        return self._question.least_tolerance(self._asked.guess, situation.log_share)

    def _sums(self, measured: Measured, n: int) -> Summary:
        if len(self._rows) == 1:
            return self._rows[0].summary(measured[0][0], n)
        length = self._question.high
        total = length * ((measured[0][0] - measured[1][0]) / UNIT)
        return Summary(n, -length, length, total, float("nan"), False)


__all__ = ["Check", "Claim", "Compare", "Look", "Validate"]
