"""The kind `mean`: the mean of an expression, answered with noise. No guess is needed, and it is private too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast.accounting import Cost
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.expressions import BoundExpression, rows_of
from holdfast.guard.questions.fields import Default, Expression, High, Low, Spend, Where, WherePresent
from holdfast.guard.questions.noisy import (
    about_rows,
    count_interval,
    noise_for,
    ratio_ends,
    spend_of,
    unit_interval,
)
from holdfast.guard.questions.planned import PlannedMean, answers_of
from holdfast.guard.questions.small_groups import too_few
from holdfast.guard.questions.words import ends, rows_text
from holdfast.holdout.intervals.conditional import conditional_counts, conditional_interval
from holdfast.holdout.intervals.mean import MeanInterval

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy


@dataclass(frozen=True)
class Mean(Question):
    """Ask for the mean of an expression over the rows. The answer has noise, and each row's value is clipped to a
    declared range.

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
    title: ClassVar[str] = "Ask for a mean"
    purpose: ClassVar[str] = "No guess needed. The answer carries noise and spends from the privacy budget."
    answered = "private"
    place: ClassVar[int] = 20
    under_means: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "mean",
        "expression": "income",
        "low": 0,
        "high": 100000,
        "spend": {"kind": "pure-dp", "epsilon": 0.01},
    }

    expression: Expression
    low: Low = None
    high: High = None
    default: Default = None
    spend: Spend = None
    where_present: WherePresent = False
    where: Where = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy, and return it in the form in which it is answered."""
        planned = policy.answers == "means"
        rows = rows_of(self, schema, policy, ratios=not planned)
        if planned:
            if self.spend is not None:
                raise InvalidParameter(
                    "spend must be left out, because the plan of this guard fixes the noise of every answer"
                )
            return PlannedMean(rows, answers_of(policy, n))
        bound_class = NoisyPresentMean if rows.where_present else NoisyMean
        return bound_class(rows, spend_of(self.spend, policy), n)

    @classmethod
    def without_noise(cls, question: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the check that replaces a noisy mean if the question has a guess; otherwise None."""
        return None if question.get("guess") is None else {**question, "kind": "check"}

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return the question in words: the expression whose mean is asked for."""
        return f"mean of {rows_text(asked)[0]}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return the answer in words: the interval, or the statement that too few rows count."""
        if answer["details"].get("too_few_rows"):
            return "Too few rows count to report their mean. The value is the middle of its range."
        return f"The mean is between {ends(answer['interval'])}. The value in the middle carries noise."

    @classmethod
    def alternatives(cls, question: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Return a question that could be asked instead: a check of a guess of the same mean, which adds no noise."""
        rows = {name: value for name, value in question.items() if name not in ("kind", "spend")}
        middle = (float(rows.get("low") or 0.0) + float(rows.get("high") or 1.0)) / 2
        yield "Guess it instead, and have the guess checked", {"kind": "check", **rows, "guess": middle}


class NoisyMean(BoundQuestion):
    """A mean under a mixed policy: fresh noise, and an interval at the share that the run leaves.

    The mean of a condition, or of a number with two values, is a count of rows over `n`, so its interval is the exact
    binomial one over all counts that the noise leaves possible.
    """

    def __init__(self, rows: BoundExpression, cost: Cost, n: int) -> None:
        self.rows = rows
        self.cost = cost
        self.question = {"kind": "mean", **rows.to_dict(), "spend": cost.to_dict()}
        self.statistics = (rows.fixed_sum,)
        self._noise = noise_for(cost, n)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the exact mean plus noise; the interval is a function of the noisy value alone."""
        log_share, off = situation.log_share, self._noise.half_width(situation.noise_share)
        exact = Fraction(prepared[0][0], situation.n * UNIT)
        noisy = self._noise.release(exact, situation.source)  # type: ignore[call-overload]
        ends = self._interval(situation.n).over(noisy - off, noisy + off, log_share)
        value = self.rows.in_unit(min(max(noisy, 0.0), 1.0))
        near = self._noise.half_width(situation.rows_share)
        rows = self.rows.outward(noisy - near, noisy + near)
        name = self._interval(situation.n).family.name
        guarantee = situation.guarantee("transfer.interleaved", log_share=round(log_share, 6), interval=name)
        details = {"about_rows": about_rows(situation, rows, "mean")}
        return Settled(value, self.rows.outward(*ends), guarantee, details=details)

    def _interval(self, n: int) -> MeanInterval:
        """Exact binomial tails for two values, Chernoff's bound for any other value."""
        return count_interval(n) if self.rows.two_valued else unit_interval(n)

    def half_width(self, situation: Situation) -> float:
        """At the middle of the range, where it is largest."""
        off = self._noise.half_width(situation.noise_share)
        lower, upper = self._interval(situation.n).over(0.5 - off, 0.5 + off, situation.log_share)
        return (self.rows.high - self.rows.low) * (upper - lower) / 2


class NoisyPresentMean(BoundQuestion):
    """A mean among some rows: two noisy sums over them, of the values and of what they lack to the top.

    The rows are those that have a value, or that meet a condition. Such a row adds `(v, 1 - v)` for its value `v` in
    [0, 1], and any other row adds nothing.

    *Price.* A replaced row moves each of the two sums by at most one, whether it meets the condition before, after,
    both times or never. Each sum is released at half of the cost, and the two compose to it.

    *Interval.* Write `S` and `T` for the exact sums and `s`, `t` for the released ones. Except with the share for
    noise, `|s - S| <= off` and `|t - T| <= off`, by a union bound over two draws. Given which rows count, their values
    are independent draws from the distribution of the value given the condition, so the interval of the exact pair `(S,
    T)` misses `E[v | condition]` with at most its share, for every number of such rows and hence on average over it.
    The interval that is shown is that of the whole box of pairs that the noise leaves possible, and it contains the
    interval of each pair in the box (`conditional_interval` proves that its limits are monotone in both sums). So what
    is shown misses with at most the two shares together, and it is a function of the released sums alone.
    """

    def __init__(self, rows: BoundExpression, cost: Cost, n: int) -> None:
        self.rows = rows
        self.cost = cost
        self.question = {"kind": "mean", **rows.to_dict(), "spend": cost.to_dict()}
        self.statistics = rows.statistics
        self._noise = noise_for(cost, n, means=2)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the quotient of the noisy sums; the interval is a function of them alone."""
        n, (total,), (present,) = situation.n, *prepared
        off = self._noise.half_width(situation.noise_share / 2)
        above, below = (
            self._noise.release(Fraction(exact, n * UNIT), situation.source)  # type: ignore[call-overload]
            for exact in (total, present * UNIT - total)
        )
        ends = self._ends(above, below, off, situation)
        most, rest = max(above, 0.0), max(below, 0.0)
        few = too_few(n * (above + below), 2 * n * off)
        value = self.rows.in_unit(0.5 if few else most / (most + rest))
        share = round(situation.log_share, 6)
        name = "clopper-pearson" if self.rows.two_valued else "kl"
        guarantee = situation.guarantee("transfer.interleaved", log_share=share, interval=f"{name}, rows with a value")
        near = self._noise.half_width(situation.rows_share / 2)
        ends_of_rows = self.rows.outward(*ratio_ends(above, below, near))
        details: dict[str, Any] = {"about_rows": about_rows(situation, ends_of_rows, "mean")}
        details |= {"too_few_rows": True} if few else {}
        return Settled(value, self.rows.outward(*ends), guarantee, details=details)

    def half_width(self, situation: Situation) -> float:
        """At the middle of the range if every row has a value; it is wider where values are missing, by how many."""
        lower, upper = self._ends(0.5, 0.5, self._noise.half_width(situation.noise_share / 2), situation)
        return (self.rows.high - self.rows.low) * (upper - lower) / 2

    def _ends(self, above: float, below: float, off: float, situation: Situation) -> tuple[float, float]:
        n, room = situation.n, off + 1e-12
        first, second = ((n * (mean - room), n * (mean + room)) for mean in (above, below))
        interval = conditional_counts if self.rows.two_valued else conditional_interval
        return interval(first, second, n, situation.log_share)
