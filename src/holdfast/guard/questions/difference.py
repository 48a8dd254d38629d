"""The kind `difference`: how far the means of two declared groups are apart.

The mean of each group has the interval of a mean among some rows at half of the share (`conditional_interval`). Where
both hold, which fails with at most the share, the difference lies between the lower limit of the one less the upper
limit of the other and the reverse. Two groups of one column share no row, so both pairs of noisy sums together cost
what one pair would at twice the noise (`groups.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.accounting import Cost
from holdfast.bounds.one_question.means import Side
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, Statistic
from holdfast.errors import InvalidParameter
from holdfast.guard.columns import declared_categories
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.expressions import BoundExpression, label_of, listed, rows_of
from holdfast.guard.questions.fields import (
    CategoriesInput,
    ColumnInput,
    Default,
    Expression,
    High,
    Low,
    NumberInput,
    Show,
    Spend,
    Tolerance,
    Where,
    WherePresent,
)
from holdfast.guard.questions.groups import GroupNoise, Groups, groups_of
from holdfast.guard.questions.noiseless import shown
from holdfast.guard.questions.noisy import about_rows, ratio_ends, spend_of
from holdfast.guard.questions.small_groups import too_few, unless_few
from holdfast.guard.questions.words import ends, expression_text, guess_sentence, number
from holdfast.holdout.intervals.conditional import conditional_interval, conditional_mean
from holdfast.holdout.intervals.procedure import OnRows
from holdfast.holdout.questions import Guess, MeanQuestion, check_procedure, checked_guess
from holdfast.holdout.transcript import Exact, Outcome

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy

_HALF = math.log(2) + 1e-12


@dataclass(frozen=True)
class Difference(Question):
    """Ask for the difference of the means of two declared groups. If you give a guess, it is checked without noise.
    Otherwise the answer has noise.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"sex": ["f", "m"] * 10_000, "left": [True, False, False, False] * 5_000})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.difference("left", "sex", ["f", "m"], guess=0.5)).passed
    True
    """

    kind: ClassVar[str] = "difference"
    title: ClassVar[str] = "Difference of two groups"
    purpose: ClassVar[str] = (
        "How far are the means of two groups apart? A right guess costs next to nothing; without one the answer has "
        "noise."
    )
    answered = "either"
    place: ClassVar[int] = 24
    added_later: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "difference",
        "expression": "age < 40",
        "by": "arm",
        "between": ["drug", "none"],
        "guess": 0.0,
        "tolerance": 0.8,
    }

    expression: Expression
    by: Annotated[str, ColumnInput(label="By the column", help="The column whose categories are the groups.")]
    between: Annotated[
        Sequence[Any],
        CategoriesInput(
            label="Between, with a comma",
            help="The two categories to compare. The answer is the mean of the first group minus the mean of the "
            "second.",
            of="by",
            metavar="A,B",
        ),
    ]
    low: Low = None
    high: High = None
    default: Default = None
    where_present: WherePresent = False
    where: Where = None
    guess: Annotated[
        float | None,
        NumberInput(
            label="Your guess of the difference",
            help="Your guess of the difference, from other rows. It is checked without noise. If no guess is given, "
            "the answer has noise.",
        ),
    ] = None
    tolerance: Annotated[
        Tolerance,
        "A guess that passes is certified to be within this distance of the population value (default: 2.5 "
        "half-widths of the interval, as if each group had a quarter of the rows).",
    ] = None
    show: Show = "value"
    spend: Spend = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy."""
        pair = listed("between", self.between)
        if len(pair) != 2:
            raise InvalidParameter(f"between must be two categories, got {len(pair)}")
        groups = groups_of(self.by, schema, policy.columns, [pair])
        declared = declared_categories(self.by, schema, policy.columns)
        unknown = [one for one in groups.categories[0] if declared is not None and one not in declared]
        if unknown:
            known = ", ".join(map(label_of, (declared or ())[:8])) + (", ..." if len(declared or ()) > 8 else "")
            raise InvalidParameter(
                f"between must be declared categories of {self.by!r}, which are {known}; got "
                f"{label_of(unknown[0])[:60]!r}; nothing was spent"
            )
        rows = rows_of(self, schema, policy)
        if self.guess is None:
            if self.tolerance is not None or self.show != "value":
                raise InvalidParameter(
                    "tolerance and show must be left out if no guess is given, because the answer then has noise"
                )
            return NoisyDifference(groups, rows, spend_of(self.spend, policy), n, schema)
        if self.spend is not None:
            raise InvalidParameter("spend must be left out if guess is given, because a guess is checked without noise")
        length = rows.high - rows.low
        asked = checked_guess(self.guess, self.tolerance, self.show, None, -length, length)
        return DifferenceCheck(groups, rows, asked, n, schema)

    @classmethod
    def asked_again(cls, stored: Mapping[str, Any]) -> Question | None:
        """Return the stored question again, with its guess. None if it was asked without a guess."""
        if "guess" not in stored:
            return None
        names = ("low", "high", "default", "where_present", "where", "guess", "tolerance")
        given = {name: stored[name] for name in names if stored.get(name) is not None}
        return cls(stored["expression"], stored["by"][0], stored["categories"][0], **given)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the expression, the two groups and the guess."""
        first, second = asked["categories"][0]
        what = f"mean of {expression_text(asked['expression'])}, {first} less {second}"
        what += f", among rows where {expression_text(asked['where'])}" if "where" in asked else ""
        return f"{what}: about {number(asked['guess'])}?" if "guess" in asked else what

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says whether the guess passed, or that gives the interval."""
        if "guess" in asked:
            return guess_sentence(asked, answer, whose)
        if small := answer["details"].get("not_reportable"):
            return f"Too few rows to report a difference: {'; '.join(small)}."
        return f"The difference is between {ends(answer['interval'])}. The value inside carries noise."

    @classmethod
    def axis(cls, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[float, float]:
        """Return the smallest and the largest possible difference."""
        length = float(asked["high"]) - float(asked["low"])
        return -length, length

    @classmethod
    def alternatives(cls, question: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the alternative to a refused guess: the difference with noise."""
        if question.get("guess") is not None:
            names = ("guess", "tolerance", "show")
            yield "Ask for the difference with noise instead", {k: v for k, v in question.items() if k not in names}


class NoisyDifference(BoundQuestion):
    """Two noisy sums for each group, and the interval of the difference of their quotients."""

    def __init__(self, groups: Groups, rows: BoundExpression, cost: Cost, n: int, schema: Schema) -> None:
        self.cost = cost
        self.question = {"kind": "difference", **rows.to_dict(), **groups.to_dict(), "spend": cost.to_dict()}
        self.statistics: tuple[Statistic, ...] = (groups.measure(rows.fixed_sum), groups.counted(rows))
        for statistic in self.statistics:
            statistic.plan(schema)
        self._groups, self._rows, self._noise = groups, rows, GroupNoise(cost, n)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the difference of the quotients; the interval is a function of the four noisy sums alone."""
        (first,), (second,) = self._groups.pick(prepared[0])
        (many,), (others,) = self._groups.pick(prepared[1])
        exact = (first, many * UNIT - first, second, others * UNIT - second)
        a, b, c, d = self._noise.release(exact, situation.source)
        off, near = (self._noise.off(part, 4) for part in (situation.noise_share, situation.rows_share))
        share, length = situation.log_share, self._rows.high - self._rows.low
        lower, upper = self._ends((a, b), (c, d), off, situation)
        one, two = ratio_ends(a, b, near), ratio_ends(c, d, near)
        rows = [length * (one[0] - two[1]), length * (one[1] - two[0])]
        pairs = zip(self._groups.labels, (a + b, c + d), strict=True)
        small = [label for label, count in pairs if too_few(count, 2 * off)]
        value = (lower + upper) / 2 if small else length * (_quotient(a, b) - _quotient(c, d))
        guarantee = situation.guarantee(
            "transfer.interleaved", log_share=round(share, 6), interval="kl, difference of two groups"
        )
        details: dict[str, Any] = {"about_rows": about_rows(situation, rows, "difference of means")}
        details |= {"not_reportable": small} if small else {}
        return Settled(min(max(value, lower), upper), [lower, upper], guarantee, details=details)

    def _ends(
        self, first: tuple[float, float], second: tuple[float, float], off: float, situation: Situation
    ) -> tuple[float, float]:
        n, share = situation.n, situation.log_share - _HALF
        one, two = (
            conditional_interval((above - off, above + off), (below - off, below + off), n, share)
            for above, below in (first, second)
        )
        most = self._rows.high - self._rows.low
        length = most * (1 + 1e-12)
        return max(-most, length * (one.low - two.high)), min(most, length * (one.high - two.low))

    def half_width(self, situation: Situation) -> float:
        """At the middle of the range, where each group has half of the rows."""
        quarter = situation.n / 4
        lower, upper = self._ends(
            (quarter, quarter), (quarter, quarter), self._noise.off(situation.noise_share, 4), situation
        )
        return (upper - lower) / 2


class DifferenceCheck(BoundQuestion):
    """A guess of the difference, decided by the intervals of both means."""

    def __init__(self, groups: Groups, rows: BoundExpression, asked: Guess, n: int, schema: Schema) -> None:
        self.cost = None
        self.question = {"kind": "difference", **rows.to_dict(), **groups.to_dict(), **asked.to_dict()}
        self.statistics: tuple[Statistic, ...] = (groups.measure(rows.fixed_sum), groups.counted(rows))
        for statistic in self.statistics:
            statistic.plan(schema)
        self._groups, self._rows, self._asked = groups, rows, asked
        self._sizes = MeanQuestion("check", "auto", None, rows.low, rows.high, rows.binary, max(1, n // 4))

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Decide pass or fail at this question's error allocation, and return what is shown."""
        share = situation.log_share
        return shown(self._decide(prepared, situation.n, share), share, situation)

    def reveal(self, prepared: Measured, n: int, log_share: float) -> Exact | None:
        """Return the exact difference and its interval; not where a group is too small to be shown."""
        counts = (part[0] for part in self._groups.pick(prepared[1]))
        return unless_few(counts, lambda: self._decide(prepared, n, log_share).exact)

    def _decide(self, measured: Measured, n: int, share: float) -> Outcome:
        procedure = self._procedure(measured, n)
        return check_procedure(procedure, self._asked, share, self._tolerance(share), procedure.description)

    def _procedure(self, measured: Measured, n: int) -> OnRows:
        sums, counts = (self._groups.pick(part) for part in measured)
        first, second = (
            conditional_mean(total / UNIT, present, n, self._rows.low, self._rows.high, whole=self._rows.binary)
            for (total,), (present,) in zip(sums, counts, strict=True)
        )
        length = self._rows.high - self._rows.low
        opposite: dict[Side, Side] = {"both": "both", "lower": "upper", "upper": "lower"}

        def limits(log_share: float, side: Side) -> tuple[float, float]:
            one = first.interval(log_share - _HALF, side)
            two = second.interval(log_share - _HALF, opposite[side])
            return max(-length, one[0] - two[1]), min(length, one[1] - two[0])

        value = None if first.value is None or second.value is None else first.value - second.value
        return OnRows(-length, length, n, "difference of two groups", limits, value)

    def _tolerance(self, share: float) -> float:
        if self._asked.tolerance is not None:
            return self._asked.tolerance
        middle = Guess((self._rows.low + self._rows.high) / 2, None, True)
        return 2 * self._sizes.tolerance(middle, share - _HALF)

    def half_width(self, situation: Situation) -> float:
        """Return how far the truth can be from a guess that passes: its tolerance."""
        return self._tolerance(situation.log_share)


def _quotient(above: float, below: float) -> float:
    most, rest = max(above, 0.0), max(below, 0.0)
    return most / (most + rest) if most + rest > 0 else 0.5
