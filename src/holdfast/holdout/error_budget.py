"""The error budget of a run: how much of the failure probability each question may use.

One object for everything that is answered without noise on the same rows: checks, claims, comparisons, searches,
boards, p-values and finals. A question may use `beta * spending * Q(h)`, where `Q(h)` is the prior weight of everything
that was shown before it. Theorem E, its proof and the weights of single messages are in
`bounds/holdout/error_allocation.py`; this module adds up a run: it knows the plan, what was shown and which share comes
next. Messages that could have been predicted cost
next to nothing; surprising ones make later intervals wider. Everything here is public: a function of the plan and of
what was shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from scipy.special import zeta

from holdfast.bounds.holdout.error_allocation import (
    FAR_SIDE,
    INNER,
    log_course_weight,
    log_failure_weight,
    log_pass_weight,
    log_rank_weight,
    log_series_weight,
    pass_prior,
)
from holdfast.bounds.numerics.exact import left_to_chance, up
from holdfast.bounds.parameters import MOST
from holdfast.core import arguments
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout.intervals.mean import deviations

LEAST_RISK = 1e-9
"""A risk below this, or as near to one, is read as this: nobody knows better."""
REFUSED = 2.0**-30
"""The prior weight, at every question, that some of its values are missing or out of range and it is refused."""
LOG_REFUSED = math.log(REFUSED)
LOG_ANSWERED = math.log1p(-REFUSED) * (1 + 1e-9)
"""What that leaves for all other messages of the question, rounded down."""
_LN_2 = math.log(2)
_HAIR = 1e-12
"""More than what rounding does to a logarithm here."""
_COUNTS = ("asked", "checks", "failed")
_LOGARITHMS = ("log_risk", "log_shown")


@dataclass(frozen=True)
class Course:
    """A summary of what a run has shown so far, with everything on which the levels of later questions depend.

    Its size does not grow with the run, and it is public.

    Attributes
    ----------
    asked : int
        Questions that had a spending: all that claim something, private ones included.
    checks : int
        Messages that were a pass or a failure.
    failed : int
        How many of them failed.
    log_risk : float
        `ln` of how much better the stated risks have forecast passes and failures than the plan's prior has.
    log_shown : float
        `ln` of the prior weight of everything else that was shown: cells of corrected values, winners, places.
    staked : float
        The part of the failure probability that questions with a stake have spent beyond the spending of their turn.

    Examples
    --------
    >>> Course().to_dict()
    {'asked': 0, 'checks': 0, 'failed': 0, 'log_risk': 0.0, 'log_shown': 0.0, 'staked': 0.0}
    """

    asked: int = 0
    checks: int = 0
    failed: int = 0
    log_risk: float = 0.0
    log_shown: float = 0.0
    staked: float = 0.0

    def spent(self, asked: int, extra: float = 0.0) -> Course:
        """Return the summary after `asked` more questions that spent a part of the failure probability.

        `extra` is what questions with a stake took in addition to the spending planned for them.
        """
        staked = up(self.staked + extra) if extra else self.staked
        return Course(self.asked + asked, self.checks, self.failed, self.log_risk, self.log_shown, staked)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        return {name: getattr(self, name) for name in (*_COUNTS, *_LOGARITHMS, "staked")}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the summary that was stored as plain data."""
        if not isinstance(plain, Mapping) or set(plain) != {*_COUNTS, *_LOGARITHMS, "staked"}:
            raise InvalidParameter(
                f"a stored course must have the entries {', '.join((*_COUNTS, *_LOGARITHMS))} and staked"
            )
        counts: dict[str, Any] = {name: arguments.whole(name, plain[name], at_least=0) for name in _COUNTS}
        if counts["failed"] > counts["checks"]:
            raise InvalidParameter("a stored course must not have more failures than checks")
        rest = {
            "log_risk": arguments.real("log_risk", plain["log_risk"]),
            "log_shown": arguments.real("log_shown", plain["log_shown"], at_most=0),
            # Of several analysts with separate histories, whose stakes one account adds up, it may be more than 1.
            "staked": arguments.real("staked", plain["staked"], at_least=0),
        }
        return cls(**counts | rest)


@dataclass(frozen=True)
class Message:
    """What one question showed, in the form in which the prior weighs it.

    `passed` is None for a question that neither passes nor fails. `log_weight` is the natural logarithm of the prior
    weight of what was shown in addition to the pass or failure; it is 0 if nothing was. `risk` is the analyst's own
    probability that the question fails.

    Examples
    --------
    >>> budget = ErrorBudget(0.95, questions=1000)
    >>> surprising, expected = Message(False), Message(False, risk=0.9)      # a failure, and one that was foreseen
    >>> [round(-budget.log_message_weight(Course(), message), 2) for message in (surprising, expected)]
    [6.91, 0.8]
    """

    passed: bool | None
    log_weight: float = 0.0
    risk: float | None = None


@dataclass(frozen=True)
class Price:
    """By what part intervals are wider because of what was shown: those of later questions, and that of a final.

    None where there is no later interval. A final is decided at a far larger level than a question, so the same message
    makes its interval wider by a larger part. Intervals of checks follow Chernoff's bound, whose width goes by the root
    of the level's logarithm; a final has the exact interval, whose width goes by normal quantiles.

    Examples
    --------
    >>> widths = final_width(math.log(0.05)), final_width(math.log(0.05) - 11.5)
    >>> price = Price.of(math.log(0.025 / 1000), 11.5, *widths)
    >>> round(price.questions, 2), round(price.final, 2)
    (0.42, 1.56)
    """

    questions: float | None
    final: float | None

    @classmethod
    def of(cls, log_share: float, nats: float, before: float, after: float) -> Self:
        """From the share of a question, the length of the message, and how wide a final is before and after it."""
        depth = _LN_2 - log_share
        return cls(
            None if depth == math.inf else math.sqrt((depth + nats) / depth) - 1,
            None if after == math.inf else max(0.0, after / before - 1),
        )

    def to_dict(self) -> dict[str, float | None]:
        """Plain data, named as an answer names its price."""
        return {"widening": self.questions, "final_widening": self.final}


@dataclass(frozen=True)
class ErrorBudget:
    """The plan for the failure probability of a run, `beta = 1 - confidence`, and the parts of it that questions may
    use.

    Parameters
    ----------
    confidence : float
        Probability that everything that the run says is true.
    questions : int, optional
        Planned number of questions while exploring: each may spend the same. Without it spendings follow a series,
        `6/(pi^2 t^2)`, and never end.
    final : float
        Part of beta that is kept for one terminal batch. The rest is for exploring. A final may also spend what
        exploring has left.
    phases : int
        How many reserves of rows there are, each with a final of its own. Then the part for finals is a constant for
        each of them, since what holds given the explored rows adds up under the real distribution and not under the
        prior.
    expected_failures : float
        Failed checks that the prior expects in all planned questions.
    factor : float
        The part of beta that this budget has, where several budgets share one confidence.

    Examples
    --------
    >>> budget = ErrorBudget(0.95, questions=1000)
    >>> start = Course()
    >>> round(math.exp(budget.log_share(start)), 8)                       # half of beta over a thousand questions
    2.5e-05
    >>> passed = budget.after(start, [Message(True)])
    >>> failed = budget.after(start, [Message(False, log_weight=-1.4)])
    >>> round(budget.log_prior(passed), 4), round(budget.log_prior(failed), 2)
    (-0.001, -8.31)
    """

    confidence: float = 0.95
    questions: int | None = None
    final: float = 0.5
    phases: int = 0
    expected_failures: float = 1.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "confidence", arguments.probability("confidence", self.confidence))
        if self.questions is not None:
            put(self, "questions", arguments.whole("questions", self.questions, at_least=1, at_most=MOST))
        put(self, "final", arguments.real("final", self.final, at_least=0, at_most=1))
        put(self, "phases", arguments.whole("phases", self.phases, at_least=0, at_most=100))
        put(self, "expected_failures", arguments.real("expected_failures", self.expected_failures, above=0))
        put(self, "factor", arguments.real("factor", self.factor, above=0, at_most=1))
        if self.phases and not self.final:
            raise InvalidParameter(
                "final must be above 0 if rows are reserved, because the final on those rows spends it"
            )

    @cached_property
    def beta(self) -> float:
        """The failure probability of the whole run, one minus the confidence."""
        return left_to_chance(self.confidence)

    @cached_property
    def log_beta(self) -> float:
        """The natural logarithm of the failure probability, for the part of it that this budget has."""
        return math.log(self.beta) + math.log(self.factor)

    @cached_property
    def _prior(self) -> tuple[float, float]:
        return pass_prior(self.questions, self.expected_failures)

    @cached_property
    def explore(self) -> float:
        """The part of beta that is for the questions before a final."""
        return 1.0 - self.final

    # --- Spending -----------------------------------------------------------------------------------------------------

    def turn(self, number: int) -> float:
        """Return the part of beta that is planned for question `number`, counted from 1.

        It is 0 for numbers beyond the planned number of questions.
        """
        if self.questions is not None:
            return self._equal_turn if number <= self.questions else 0.0
        return self._whole_turn(number) * (1 - _HAIR)

    @cached_property
    def _equal_turn(self) -> float:
        return self._whole_turn(1) * (1 - _HAIR)

    def _whole_turn(self, number: int) -> float:
        """What a question takes of what is left: its spending before that is rounded down."""
        if self.questions is None:
            return self.explore * 6 / math.pi**2 / (float(number) * number)
        return self.explore / self.questions if number <= self.questions else 0.0

    def spending(self, course: Course) -> float:
        """Return the part of beta that the next question may spend if it names no stake; 0 if too little is left.

        This part depends on the number of the question alone. Stakes are taken from the parts of the questions that are
        still to come. When stakes have used up these parts, no more questions can be asked.
        """
        part = self.turn(course.asked + 1)
        return part if not course.staked or part <= self.left(course) else 0.0

    def left(self, course: Course) -> float:
        """Return the part of beta that is left for questions before a final."""
        if self.questions is not None:
            turns = self.explore * max(0, self.questions - course.asked) / self.questions
        else:
            turns = self.explore * float(zeta(2, course.asked + 1)) * 6 / math.pi**2
        return max(0.0, turns - course.staked)

    def questions_left(self, course: Course) -> float:
        """Return how many more questions can be asked with the planned spending; infinite if no number was planned.

        It is 0 exactly when `spending` is 0.
        """
        if self.questions is not None and not course.staked:
            return max(0, self.questions - course.asked) if self.explore else 0
        if self.spending(course) <= 0:
            return 0
        if self.questions is None:
            return math.inf
        return min(self.questions - course.asked, math.floor(self.left(course) / self.turn(1)))

    def final_spending(self, course: Course) -> float:
        """Return the part of beta that one batch of questions at the end may spend on the rows that were explored.

        If rows are reserved, the part planned for finals belongs to the reserved rows. Then the result is what is left
        of the part for exploring.
        """
        return (0.0 if self.phases else self.final) + self.left(course) * (1 - _HAIR)

    def log_final_share(self, course: Course) -> float:
        """Return the natural logarithm of the level of the next final.

        If the final is about reserved rows the level is a constant. If no final is possible the result is minus
        infinity.
        """
        spending = self.reserve_spending if self.phases else self.final_spending(course)
        if spending <= 0:
            return -math.inf
        return self.log_beta + math.log(spending) - _HAIR + (0.0 if self.phases else self.log_prior(course))

    @property
    def reserve_spending(self) -> float:
        """The part of beta that each final on reserved rows may spend. It is fixed when the run begins."""
        return self.final / self.phases if self.phases else 0.0

    def require_stake(self, course: Course, stake: float) -> float:
        """Check the stake, a part of beta that a question names for itself, against what is left for exploring, and
        return it.
        """
        stake = arguments.real("stake", stake, above=0, at_most=1)
        left = self.left(course)
        if stake > left:
            raise BudgetExhausted(
                f"stake must be at most what is left for exploring, {left:.6g} of the failure probability, got "
                f"{stake:g}; nothing was spent"
            )
        return stake

    def extra(self, course: Course, spending: float) -> float:
        """Return how much more than its planned part a question with this stake takes from what is left."""
        return max(0.0, spending - self._whole_turn(course.asked + 1))

    # --- Prior --------------------------------------------------------------------------------------------------------

    def log_prior(self, course: Course) -> float:
        """Return the natural logarithm of the prior weight `Q(h)` of everything that was shown; rounded down.

        The prior is a mixture, half and half, of two forecasts of passes and failures: the Beta mixture of the plan,
        and the risks that questions stated. Therefore wrong risks cost at most `ln 2` in the whole run.
        """
        recent: tuple[tuple[Course, float], ...] = self.__dict__.get("_recent", ())
        for known, weight in recent:  # an answer needs the weights before and after it several times
            if known is course:
                return weight
        passes = log_course_weight(course.checks, course.failed, self._prior)
        weight = passes + _log_mixture(course.log_risk) + course.log_shown
        self.__dict__["_recent"] = ((course, weight), *recent[:1])
        return weight

    def log_share(self, course: Course, spending: float | None = None) -> float:
        """Return the natural logarithm of the level of the next question.

        The question may be decided at this level as if it had been fixed in advance. If nothing is left to spend, the
        result is minus infinity.
        """
        part = self.spending(course) if spending is None else spending
        if part <= 0:
            return -math.inf
        return self.log_beta + math.log(part) + self.log_prior(course) - _HAIR

    def after(
        self, course: Course, messages: Iterable[Message], *, asked: int | None = None, extra: float = 0.0
    ) -> Course:
        """Return the state of the run after a batch of messages. Each message is weighed given the messages before
        it.

        `asked` is how many of the messages belong to questions that spent a part of beta (by default all). `extra` is
        what questions with a stake took in addition to the spending planned for them.
        """
        count = 0
        for message in messages:
            course, count = self._after(course, message, asked is None), count + 1
        return course.spent(asked or 0, extra) if asked or extra else course

    def _after(self, course: Course, message: Message, spends: bool = False) -> Course:
        shown = course.log_shown
        if message.log_weight:
            shown = shown + message.log_weight - _HAIR * (1 + abs(shown))
        if message.passed is None:
            return replace(course, asked=course.asked + spends, log_shown=shown)
        gained = course.log_risk
        if message.risk is not None:
            risk = min(max(message.risk, LEAST_RISK), 1 - LEAST_RISK)
            stated = math.log1p(-risk) if message.passed else math.log(risk)
            weight = log_pass_weight if message.passed else log_failure_weight
            gained += stated - weight(course.checks, course.failed, self._prior) - _HAIR
        failed = course.failed + (not message.passed)
        return Course(course.asked + spends, course.checks + 1, failed, gained, shown, course.staked)

    def log_message_weight(self, course: Course, message: Message) -> float:
        """Return the natural logarithm of the prior weight of one message at this point, which is minus its code
        length in nats.
        """
        return self.log_prior(self._after(course, message)) - self.log_prior(course)

    def price(self, course: Course, message: Message) -> Price:
        """Return how a question that shows this message would change the intervals after it. Call it before the
        question is asked.

        Examples
        --------
        >>> budget = ErrorBudget(0.95, questions=1000)
        >>> price = budget.price(Course(), Message(False, log_cell_weight(1)))       # a failure near the guess
        >>> round(price.questions, 2), round(price.final, 2)
        (0.32, 1.23)
        """
        return self.price_between(course, self.after(course, [message]))

    def price_between(self, before: Course, after: Course, log_share: float | None = None) -> Price:
        """Return how what was shown between two points of a run changed the intervals of a question with this share
        of beta.
        """
        nats = max(0.0, self.log_prior(before) - self.log_prior(after))
        share = self.log_share(before) if log_share is None else log_share
        width = self._final_width(before)
        return Price.of(share, nats, width, self._final_width(after))

    def _final_width(self, course: Course) -> float:
        known: tuple[Course, float] | None = self.__dict__.get("_recent_width")
        if known is not None and known[0] is course:  # a question begins where the one before it ended
            return known[1]
        width = final_width(self.log_final_share(course))
        self.__dict__["_recent_width"] = (course, width)
        return width

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "confidence": self.confidence,
            "questions": self.questions,
            "final": self.final,
            "phases": self.phases,
            "expected_failures": self.expected_failures,
        }


def final_width(log_level: float) -> float:
    """Return how wide a final's interval is at a level, in standard deviations; infinite where nothing is left for it.

    Examples
    --------
    >>> round(final_width(math.log(0.05)), 2), final_width(-math.inf)
    (1.96, inf)
    """
    return math.inf if log_level == -math.inf else deviations(log_level)


def _log_mixture(gained: float) -> float:
    """`ln (1/2 + exp(gained)/2)`, rounded down; 0 where no risk was ever stated."""
    if gained == 0:
        return 0.0
    larger = max(gained, 0.0)
    return larger + math.log1p(math.exp(-abs(gained))) - math.log(2) - _HAIR * (1 + larger)


def reserve_parts(reserve: Any) -> tuple[float, ...]:
    """Return the parts of the rows that are reserved: none, one, or one for each phase.

    Examples
    --------
    >>> reserve_parts(0.0), reserve_parts(0.5), reserve_parts([0.3, 0.3])
    ((), (0.5,), (0.3, 0.3))
    """
    given = reserve if isinstance(reserve, (list, tuple)) else [reserve]
    parts = tuple(arguments.real("reserve", part, at_least=0, below=1) for part in given)
    positive = tuple(part for part in parts if part > 0)
    if sum(positive) >= 1:
        raise InvalidParameter(f"the parts in reserve must add up to less than 1, got {sum(positive):g}")
    return positive


# --- Priors of what is shown besides pass and fail --------------------------------------------------------------------


def log_cell_weight(cell: int, side: str = "both") -> float:
    """`ln` of the prior weight of a cell of corrected values.

    Cells are numbered outwards from the edge of what passes, `1, 2, ...` above the guess and `-1, -2, ...` below it;
    `0` is the inner cell of either side. The j-th has weight `1/(j (j + 1))`, half of it for two sides. `side="below"`
    says that the guess is expected to be too high, which saves `ln 2` where it is.

    Examples
    --------
    >>> round(-log_cell_weight(1), 2), round(-log_cell_weight(-2), 2), round(-log_cell_weight(-1, "below"), 2)
    (1.4, 2.5, 0.72)
    >>> total = 2 * INNER + sum(math.exp(log_cell_weight(j)) for j in range(-2000, 2001) if j)
    >>> 0.99 < total <= 1
    True
    """
    if cell == 0:
        return math.log(INNER)
    if side == "both":
        part = 0.5 - INNER
    else:
        expected = (cell < 0) == (side == "below")
        part = 1 - 2 * INNER - FAR_SIDE if expected else FAR_SIDE
    return math.log(part) + log_series_weight(abs(cell))


def log_ends_weight(lower: int, upper: int) -> float:
    """`ln` of the prior weight of a pair of ends, in steps of a grid counted outwards from the guess.

    `lower` and `upper` count how many steps the two ends lie from the guess, down and up: at least one of them is
    positive. The middle of the pair may be on either side of the guess. The weight is that of twice its distance in
    steps, on one of two sides, times that of its length: `1/(j (j + 1))` each.

    Examples
    --------
    >>> round(-log_ends_weight(1, 1), 2), round(-log_ends_weight(-2, 5), 2)
    (2.48, 7.45)
    >>> sums = (math.exp(log_ends_weight(a, b)) for a in range(-60, 60) for b in range(1 - a, 60))
    >>> sum(sums) <= 1
    True
    """
    off = abs(upper - lower)
    half = -math.log(2) if off else 0.0
    return log_series_weight(off + 1) + half + log_series_weight(lower + upper)


def log_winner_weight(rank: int, candidates: int) -> float:
    """`ln` of the prior weight that the candidate of this rank by its guess is the best of a batch."""
    return log_rank_weight(rank, candidates)


def log_place_weight(place: int) -> float:
    """`ln` of the prior weight of an improvement by `place` steps beyond the bar of a ladder, counted from 1."""
    return log_series_weight(place)
