"""Questions answered without noise: a mean, or the difference of two, decided by an interval. Failures are expensive.

They are the reusable holdout's questions, decided at the share that the guard's run leaves (`GuardBudget`). Everything
but the sums of the rows is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from holdfast.accounting.costs import ZCDP
from holdfast.bounds.one_question.means import MEAN_FAMILIES, Side
from holdfast.core import arguments
from holdfast.data.expressions import tree
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, Count, FixedSum, PowerSum, Present, Statistic
from holdfast.data.values import Summary
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import BoundQuestion, Measured, Settled, Situation
from holdfast.guard.questions.expressions import BoundExpression
from holdfast.guard.questions.small_groups import unless_few
from holdfast.holdout.error_budget import Message, log_cell_weight
from holdfast.holdout.intervals.conditional import conditional_mean
from holdfast.holdout.intervals.paired import MixtureBets
from holdfast.holdout.intervals.power_sums import LARGE_PART, POWERS, SMALL_PART, NumberMean, PowerBets, meet
from holdfast.holdout.intervals.procedure import OnRows
from holdfast.holdout.questions import Guess, MeanQuestion, OneSided, Signs, refuse_unreachable
from holdfast.holdout.transcript import THEOREM, Exact, Outcome

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy


def look(
    kind: str, rows: tuple[BoundExpression, ...], question: MeanQuestion, asked: Guess | OneSided, schema: Schema
) -> Look:
    """Return the question over all rows, or over those with a value where it is about them."""
    sign_test = isinstance(asked, OneSided) and asked.at_least and asked.bound == 0
    if len(rows) == 2 and all(one.binary for one in rows) and (sign_test or not any(one.where_present for one in rows)):
        return PairLook(kind, rows, question, asked, schema)
    if any(one.where_present for one in rows):
        return PresentLook(kind, rows, question, asked, schema)
    if all(one.binary for one in rows):
        return Look(kind, rows, question, asked)
    return NumberLook(kind, rows, question, asked, schema)


def shown(
    outcome: Outcome,
    log_share: float,
    situation: Situation,
    risk: float | None = None,
    stake: float | None = None,
    details: Mapping[str, Any] | None = None,
) -> Settled:
    """Return what the outcome of a noiseless question shows, with what it depends on."""
    most = situation.budget.policy.failures
    ended = outcome.passed is False and most is not None and situation.progress.failed >= most
    guarantee = situation.guarantee(THEOREM, log_share=round(log_share, 6), interval=outcome.family)
    details_shown = dict(details or {})
    extra = 0.0 if stake is None else situation.budget.budget.extra(situation.course, stake)
    if ended:  # the failure after the last planned one shows nothing more than that
        return Settled(
            None,
            None,
            guarantee,
            False,
            Message(False, 0.0, risk),
            details_shown | {"ended": True},
            extra=extra,
            log_share=log_share,
        )
    interval = None if outcome.interval is None else list(outcome.interval)
    message = Message(outcome.passed, outcome.log_weight, risk)
    return Settled(
        outcome.value, interval, guarantee, outcome.passed, message, details_shown, extra=extra, log_share=log_share
    )


class Look(BoundQuestion):
    """A question about one mean, or the difference of two, decided by an interval and shown as little as possible."""

    risk: float | None = None
    stake: float | None = None
    pools = True

    def __init__(
        self, kind: str, rows: tuple[BoundExpression, ...], question: MeanQuestion, asked: Guess | OneSided
    ) -> None:
        self.cost = None
        self.question = {"kind": kind, "rows": [one.to_dict() for one in rows]} | asked.to_dict()
        self.statistics: tuple[Statistic, ...] = tuple(one.fixed_sum for one in rows)
        self._rows, self._question, self._asked = rows, question, asked

    def weighed(self, risk: float | None, stake: float | None) -> Self:
        """Return the same question with the analyst's risk that it fails, and a spending of its own."""
        self.risk, self.stake = risk, stake
        named = {"risk": risk, "stake": stake}
        self.question = {**self.question, **{name: value for name, value in named.items() if value is not None}}
        return self

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Decide pass or fail at this question's error allocation, and return what is shown."""
        share = situation.staked_share(self.stake)
        risk = self._question.risk(self._asked, self._shown_share(share)) if self.risk is None else self.risk
        return shown(self._decide(prepared, situation.n, share), share, situation, risk, self.stake)

    def reveal(self, prepared: Measured, n: int, log_share: float) -> Exact | None:
        """Return the exact value and interval at the share that the question had."""
        return self._decide(prepared, n, log_share).exact

    def _decide(self, measured: Measured, n: int, share: float) -> Outcome:
        sums, asked = self._sums(measured, n), self._asked
        if isinstance(asked, Guess):
            return self._question.decide_check(sums, asked, share)
        return self._question.decide_claim(sums, asked, share)

    def half_width(self, situation: Situation) -> float | None:
        """Return how far the truth can be from a guess that passes: its tolerance. None for a claim."""
        if not isinstance(self._asked, Guess):
            return None
        return self._question.tolerance(self._asked, self._share_of(situation))

    def least_tolerance(self, situation: Situation) -> float | None:
        """Return the least tolerance that the guess could pass with; None for a claim."""
        if not isinstance(self._asked, Guess):
            return None
        return self._question.least_tolerance(self._asked.guess, self._share_of(situation))

    def passes_within(self, situation: Situation) -> tuple[float, float] | None:
        """By the interval, which is a function of the mean."""
        if not isinstance(self._asked, Guess):
            return None
        return self._question.passes_within(self._asked, self._share_of(situation))

    def near_failure(self, situation: Situation) -> Message | None:
        """The cell next to what passes, on the side where the truth is expected; None for a claim."""
        asked, share = self._asked, self._share_of(situation)
        if not isinstance(asked, Guess):
            return None
        weight = log_cell_weight(1 if asked.side == "above" else -1, asked.side) if asked.show_value else 0.0
        return Message(False, weight, self._question.risk(asked, share) if self.risk is None else self.risk)

    def _share_of(self, situation: Situation) -> float:
        return self._shown_share(situation.staked_share(self.stake))

    def _shown_share(self, share: float) -> float:
        """The part of a share at which is decided what is shown before the end."""
        return share

    def _sums(self, measured: Measured, n: int) -> Summary:
        if len(self._rows) == 1:
            return self._rows[0].summary(measured[0][0], n)
        length = self._question.high
        total = length * ((measured[0][0] - measured[1][0]) / UNIT)
        return Summary(n, -length, length, total, float("nan"), False)


class NumberLook(Look):
    """The same about numbers: besides their sum, what their powers add up to decides.

    A comparison and a claim are decided by bets (`PowerBets`) that need no order of the rows, cut by the interval that
    knows the range alone. A check shows what follows from the mean alone, by the interval of that, at 7/8 of the share;
    the bets have the rest, and what is revealed at the end lies inside both.
    """

    def __init__(
        self,
        kind: str,
        rows: tuple[BoundExpression, ...],
        question: MeanQuestion,
        asked: Guess | OneSided,
        schema: Schema,
    ) -> None:
        super().__init__(kind, rows, question, asked)
        self._by_mean = len(rows) == 1 and isinstance(asked, Guess)
        if not self._by_mean:
            self._question = replace(question, family="betting")
        self.statistics = (*self.statistics, *power_sums([one.fixed_sum for one in rows]))
        for statistic in self.statistics:
            statistic.plan(schema)  # an expression whose powers are too large is refused here

    def by_range(self) -> BoundQuestion:
        """Return the question as versions decided it that knew the sum alone."""
        asked, question = self._asked, replace(self._question, family="auto")
        return Look(self.kind, self._rows, question, asked).weighed(self.risk, self.stake)

    def _shown_share(self, share: float) -> float:
        return share - LARGE_PART if self._by_mean else share

    def _decide(self, measured: Measured, n: int, share: float) -> Outcome:
        bets = power_bets(self._rows, measured, n)
        if not self._by_mean:
            return self._decide_by_bets(NumberMean(bets), share)
        outcome = super()._decide(measured, n, self._shown_share(share))
        assert outcome.exact is not None
        assert outcome.exact.interval is not None
        exact = meet(outcome.exact.interval, bets.interval(share - SMALL_PART))
        return replace(outcome, exact=Exact(outcome.exact.value, exact))

    def _decide_by_bets(self, rows: NumberMean, share: float) -> Outcome:
        asked, question = self._asked, self._question
        if isinstance(asked, Guess):
            return question.decide_check(rows, asked, share)
        refuse_unreachable(question.interval(MEAN_FAMILIES["kl"]), asked, share)
        return question.decide_claim(rows, asked, share)


def power_sums(sums: Sequence[FixedSum]) -> tuple[PowerSum, ...]:
    """The powers of a number, or of the difference of two, that bets need next to the sums."""
    first, second = sums[0], sums[1] if len(sums) > 1 else None
    return tuple(PowerSum(first, power, second) for power in range(2, POWERS + 1))


def power_bets(rows: Sequence[BoundExpression], measured: Measured, n: int) -> PowerBets:
    """Bets on a number or on the difference of two, from their sums and what `power_sums` asked for."""
    low, high = rows[0].low, rows[0].high
    sums, powers = [total for (total,) in measured[: len(rows)]], [total for (total,) in measured[len(rows) :]]
    if len(rows) == 1:
        return PowerBets.of([sums[0], *powers], n, low, high)
    return PowerBets.of([Fraction(sums[0] - sums[1] + n * UNIT, 2), *powers], n, low - high, high - low)


class PresentLook(Look):
    """The same among the rows with a value: of both expressions where there are two. How many they are is secret.

    Everything that is public before the rows are read, `half_width` and `least_tolerance` included, is that of a sample
    whose rows all have a value: with fewer of them the interval is wider, and a guess passes less easily.
    """

    pools = False  # the mean among those present is not the mean of the epochs' means

    def __init__(
        self,
        kind: str,
        rows: tuple[BoundExpression, ...],
        question: MeanQuestion,
        asked: Guess | OneSided,
        schema: Schema,
    ) -> None:
        super().__init__(kind, rows, question, asked)
        nodes = [one.expression.node for one in rows]
        null = [tree.IsNull(one.expression.node) for one in rows if one.where_present]
        if len(rows) == 2:  # a row without a value of one counts for neither
            gone = null[0] if len(null) == 1 else tree.Or(tuple(null))
            nodes = [tree.Case(((gone, tree.Null()),), node) for node in nodes]
        sums = tuple(FixedSum(node, one.low, one.high) for node, one in zip(nodes, rows, strict=True))
        self._schema = schema
        self._by_powers = not all(one.binary for one in rows)
        powers = power_sums(sums) if self._by_powers else ()
        self.statistics = (*sums, Present(nodes[0]), *powers)
        for statistic in self.statistics:
            statistic.plan(schema)  # an expression that is too large once it is joined is refused here

    def passes_within(self, situation: Situation) -> tuple[float, float] | None:
        """None: more than the mean decides."""
        return None

    def reveal(self, prepared: Measured, n: int, log_share: float) -> Exact | None:
        """Return the exact value and interval; not where too few rows count."""
        return unless_few(prepared[len(self._rows)], lambda: super(PresentLook, self).reveal(prepared, n, log_share))

    def _decide(self, measured: Measured, n: int, share: float) -> Outcome:
        count = len(self._rows)
        sums, (present,) = [total for (total,) in measured[:count]], measured[count]
        total = Fraction(sums[0]) if len(sums) == 1 else Fraction(sums[0] - sums[1] + present * UNIT, 2)
        question = self._question
        low, high, name = question.low, question.high, "rows with a value"
        procedure = conditional_mean(float(total / UNIT), present, n, low, high, whole=question.binary, name=name)
        if self._by_powers:
            # A row that does not count adds the power of 0; where two are compared, that of 1/2, which is taken off.
            absent = n - present if count > 1 else 0
            powers = [added - (absent * UNIT >> power) for power, (added,) in enumerate(measured[count + 1 :], 2)]
            procedure = _among(PowerBets.of([total, *powers], present, low, high), procedure) if present else procedure
        return question.decide_among(procedure, self._asked, share)

    def by_range(self) -> BoundQuestion:
        """Return the question as versions decided it that knew the sums alone."""
        same_question = PresentLook(self.kind, self._rows, self._question, self._asked, self._schema)
        same_question._by_powers, same_question.statistics = False, self.statistics[: len(self._rows) + 1]
        same_question.question = self.question
        return same_question


class PairLook(Look):
    """The difference of two conditions on the same rows, decided by how often each beats the other.

    For "B is better than A" it is the exact sign test on the rows where the two differ. For a margin or a guess of the
    difference it is mixture bets, which need no order: the counts do not know that of the rows, and one that is made up
    for them misses far too often.
    """

    pools = False  # the sign test is for rows that are alike

    def __init__(
        self,
        kind: str,
        rows: tuple[BoundExpression, ...],
        question: MeanQuestion,
        asked: Guess | OneSided,
        schema: Schema,
    ) -> None:
        super().__init__(kind, rows, question, asked)
        if isinstance(asked, Guess) and asked.tolerance is not None:
            # Bets decide, and may reach a tolerance that the interval of the mean alone never does.
            self._question = replace(question, family="betting")
        second, first = (with_default(one) for one in rows)
        self.statistics = (Count(tree.And((second, tree.Not(first)))), Count(tree.And((first, tree.Not(second)))))
        for statistic in self.statistics:
            statistic.plan(schema)

    def passes_within(self, situation: Situation) -> tuple[float, float] | None:
        """None: more than the mean decides."""
        return None

    def _decide(self, measured: Measured, n: int, share: float) -> Outcome:
        (won,), (lost,) = measured
        if isinstance(self._asked, OneSided) and self._asked.at_least and self._asked.bound == 0:
            return Signs(won, lost, n).decide(share)
        return self._question.decide_among(_pair_procedure(won, lost, n), self._asked, share)


def _among(bets: PowerBets, by_range: OnRows) -> OnRows:
    """The interval of bets on the rows with a value, cut by that of their mean and the range; `NumberMean`'s parts."""

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        ends = by_range.interval(log_share - SMALL_PART, side)
        return meet(bets.interval(log_share - LARGE_PART, side), ends)

    name = "rows with a value (betting)"
    return OnRows(by_range.low, by_range.high, by_range.n, name, limits, by_range.value)


def _pair_procedure(won: int, lost: int, n: int) -> OnRows:
    """The interval of a difference of two conditions, from how often each beats the other."""

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        counts = {1.0: won, -1.0: lost, 0.0: n - won - lost}
        return MixtureBets.of_counts(counts, -1.0, 1.0).interval(log_share, side)

    return OnRows(-1.0, 1.0, n, "betting", limits, (won - lost) / n)


def with_default(one: BoundExpression) -> tree.Node:
    """Return a condition in which a missing value is the default, where it has one."""
    node = one.expression.node
    if one.default is None or not one.expression.nullable:
        return node
    return tree.Case(((tree.IsNull(node), tree.Truth(one.default == 1)),), node)


def weighed(risk: Any, stake: Any, policy: Policy) -> tuple[float | None, float | None]:
    """Return the analyst's risk and stake, checked; a stake is refused where shares must not follow the run."""
    risk = None if risk is None else arguments.real("risk", risk, at_least=0, at_most=1)
    stake = None if stake is None else arguments.real("stake", stake, above=0, at_most=1)
    if stake is not None and isinstance(policy.privacy, ZCDP):
        raise InvalidParameter(
            "stake must be left out if the privacy budget is a ZCDP, because the proof for such a budget needs "
            "failure probabilities that depend only on the number of the question"
        )
    return risk, stake


def stored_rows(stored: Mapping[str, Any], at: int = 0) -> dict[str, Any]:
    """Return the fields of one expression of a stored question: its range, and what missing values mean.

    A condition has no range of its own.
    """
    plain = dict(stored["rows"][at])
    named = {name: plain[name] for name in ("low", "high", "default", "where") if name in plain}
    return named | ({"where_present": True} if plain.get("where_present") else {})


def stored_guess(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a guess of a stored question."""
    names = ("guess", "tolerance", "side", "guess_rows", "risk", "stake", "where_share")
    named = {name: stored[name] for name in names if stored.get(name) is not None}
    return named | {"show": "value" if stored.get("value", True) else "bit"}
