"""The public transcript of a run: what was asked, what was shown, and what that leaves of the error budget.

What a reveal will show, the exact value and interval of each question, is kept next to it and is secret until then. One
lock makes each question take its share alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from holdfast.accounting.costs import Bits
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.core.copying import OneOwner
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import ValuesRefused
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.holdout.error_budget import (
    LOG_ANSWERED,
    LOG_REFUSED,
    Course,
    ErrorBudget,
    Message,
    Price,
    final_width,
)
from holdfast.mechanisms.answer import Answer, price_words

ASSUMPTION = "rows independent and identically distributed; the holdout was not used before"
THEOREM = "holdout.error-allocation"
REFUSAL = "refused"
"""The family of a question whose values were missing or out of range: it claims nothing."""
_LN_2 = math.log(2)
ENDED = (
    "this run has ended: exact values were shown, so nothing more is certified on these rows; ask on fresh rows, with "
    "a holdout of their own"
)


@dataclass(slots=True)
class Exact:
    """What a reveal shows of one question: its exact value, and the interval that was certified all along.

    The value of a `best` question stays the winner's name.
    """

    value: float | str | None
    interval: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. Secret until the run ends."""
        return {"value": self.value, "interval": None if self.interval is None else list(self.interval)}


@dataclass(slots=True)
class Outcome:
    """What one question shows. `log_weight` is `ln` of the prior weight of what is shown besides pass and fail.

    `value` is a number, or for a `best` batch the name of its winner. `exact` is secret until the run ends.
    """

    passed: bool | None
    value: Any
    interval: tuple[float, float] | None
    family: str
    log_weight: float = 0.0
    exact: Exact | None = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class Ask:
    """One question of a batch: its public description, what decides it at a share, and how it is weighed.

    `risk` is the analyst's probability that it fails, or a function of the share that says so. `stake` is a spending of
    its own. A question that claims nothing (`spends` False) spends nothing.
    """

    question: Mapping[str, Any]
    decide: Callable[[float], Outcome] = field(repr=False)
    key: str | None = None
    risk: float | Callable[[float], float | None] | None = None
    stake: float | None = None
    spends: bool = True


@dataclass(slots=True)
class Entry:
    """One question as it was put, what it showed, how that was weighed, and the answer made of it.

    `joined` says that it was asked in one batch with the question before it.
    """

    question: Mapping[str, Any]
    key: str | None
    outcome: Outcome
    answer: Answer
    log_share: float
    extra: float
    risk: float | None
    spends: bool
    joined: bool = False


class Transcript(OneOwner):
    """A run of questions, each given its share of the failure probability by the course before it.

    `assumption` is what the intervals depend on, in words, and `terms` gives the public numbers that an interval's name
    stands for. Both are given where rows are not independent.
    """

    def __init__(
        self,
        budget: ErrorBudget,
        failures: int | None = None,
        assumption: str = ASSUMPTION,
        terms: Callable[[str], Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__()
        self.budget, self.failures = budget, failures
        self._assumption, self._terms = assumption, terms
        self.course = Course()
        self.entries: list[Entry] = []
        self.ended = False
        self._keys: dict[str, int] = {}
        self._log_reserve = 0.0  # what questions may have shown of reserved rows: whether they were refused
        self._deciding = False

    @property
    def asked(self) -> int:
        """Questions so far, those that claim nothing included."""
        return len(self.entries)

    @property
    def failed(self) -> int:
        """Failed checks so far."""
        return self.course.failed

    @property
    def log_share(self) -> float:
        """Logarithm of the share that the next question gets; minus infinity where nothing is left."""
        with self._lock:
            return self.budget.log_share(self.course)

    @property
    def log_final_share(self) -> float:
        """`ln` of the level of the next final.

        A final that is refused for its values does not end the run, and another may follow. All of them together spend
        the part for finals: `(1 - w) + w ((1 - w) + w (...)) = 1`, where `w` is the prior weight of a refusal. For
        reserved rows refusals, which may be about these rows too, are all that was shown.
        """
        with self._lock:
            about_reserve = self._log_reserve if self.budget.phases else 0.0
            return self.budget.log_final_share(self.course) + about_reserve + LOG_ANSWERED

    def left(self) -> dict[str, float]:
        """Questions and failures that are left."""
        with self._lock:
            return self._left()

    def _left(self) -> dict[str, float]:
        if self.ended or self._capped:
            return {"questions": 0, "failures": 0}
        course = self.course
        return {
            "questions": self.budget.questions_left(course),
            "failures": math.inf if self.failures is None else self.failures - course.failed,
        }

    @property
    def _capped(self) -> bool:
        return self.failures is not None and self.course.failed > self.failures

    def stored(self, question: Mapping[str, Any], key: str | None) -> Answer | None:
        """Return the answer that was released under `key`; a key stands for one question."""
        if key is None:
            return None
        if not isinstance(key, str):
            raise InvalidParameter(f"key must be a text, got a {type(key).__name__}")
        with self._lock:
            index = self._keys.get(key)
            if index is None:
                return None
            if self.entries[index].question != question:
                raise InvalidParameter(
                    f"the key {key!r} was already used for another question, {self.entries[index].question}; give "
                    "this question a new key"
                )
            return self.entries[index].answer

    def open(self, questions: int = 1) -> None:
        """Raise unless so many more questions may be asked."""
        self._check_owner()
        with self._lock:
            if self.ended:
                raise BudgetExhausted(ENDED)
            if self._capped:
                raise BudgetExhausted(
                    f"the plan limits failures to {self.failures}, and another check failed; this holdout answers "
                    "nothing further"
                )
            left = self.budget.questions_left(self.course)
            if questions > left:
                few = f"all {self.budget.questions} planned questions were asked" if left <= 0 else f"{left} are left"
                if left <= 0 and self.course.asked < (self.budget.questions or math.inf):
                    few = "too little of the failure probability is left for exploring; ask for the final"
                raise BudgetExhausted(few if questions == 1 else f"{questions} questions do not fit: {few}")

    def ask(self, ask: Ask) -> Answer:
        """Give a question its share and record what it shows; if it raises, nothing has changed."""
        with self._lock:
            known = self.stored(ask.question, ask.key)
            if known is not None:
                return known
            self.open(ask.spends)
            self._begin()
            try:
                decided = self._decide(ask, self.course, self.budget.log_prior(self.course))
            finally:
                self._deciding = False
            return self._record(ask, *decided)

    def ask_batch(self, asks: Sequence[Ask]) -> list[Answer]:
        """Decide questions that were fixed together: each at the prior from before the batch.

        Their messages are charged to later questions only.
        """
        with self._lock:
            self.open(sum(ask.spends for ask in asks))
            self._begin()
            try:
                course, log_prior, decided = self.course, self.budget.log_prior(self.course), []
                for ask in asks:
                    decided.append(self._decide(ask, course, log_prior))
                    course = course.spent(ask.spends, decided[-1][2])
            finally:
                self._deciding = False
            pairs = enumerate(zip(asks, decided, strict=True))
            return [self._record(ask, *decision, joined=place > 0) for place, (ask, decision) in pairs]

    def refuse(
        self, questions: Sequence[Mapping[str, Any]], said: str, spends: bool = True, stake: float | None = None
    ) -> ValuesRefused:
        """Record that questions were refused for their values, all of them together, and return the error.

        It depends on rows, so it is a message like any other. Its prior weight is what other messages leave over.
        """
        with self._lock:
            extra = 0.0
            if stake is not None:
                extra = self.budget.extra(self.course, self.budget.require_stake(self.course, stake))
            fits = spends and len(questions) <= self.budget.questions_left(self.course)
            before, final_before = self.course, self.log_final_share
            for place, question in enumerate(questions):
                outcome = Outcome(None, None, None, REFUSAL, LOG_REFUSED if place == 0 else 0.0)
                ask = Ask(question, partial(_as_it_was, outcome), spends=fits)
                self._record(ask, outcome, -math.inf, extra, None, joined=place > 0)
            widening = self.budget.price_between(before, self.course).questions
            widths = final_width(final_before), final_width(self.log_final_share)
            price = price_words(widening, Price.of(0.0, 0.0, *widths).final)
            return ValuesRefused(
                f"{said}; this refusal depends on rows, so it was recorded"
                + (" as a question" if fits else "")
                + f" and costs {-LOG_REFUSED:.1f} nats"
                + (f": {price}" if price and not self.ended else "")
            )

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Look at rows alone: nothing else is asked meanwhile, by another thread or by what is being decided."""
        with self._alone():
            self._begin()
            try:
                yield
            finally:
                self._deciding = False

    def _begin(self) -> None:
        if self._deciding:  # it sees the rows and would get the share of the question that it is part of
            raise QuestionRefused("a question must not ask this holdout another question while it is being decided")
        self._deciding = True

    def _decide(self, ask: Ask, course: Course, log_prior: float) -> tuple[Outcome, float, float, float | None]:
        """The outcome, share, extra spending and risk of a question. Nothing is recorded."""
        budget, spent, extra = self.budget, 0.0, 0.0
        if ask.spends:
            spent = budget.spending(course) if ask.stake is None else budget.require_stake(course, ask.stake)
            if spent <= 0:  # stakes of the same batch have taken what was left
                raise BudgetExhausted(
                    "too little of the failure probability is left for this batch; ask fewer questions at once"
                )
            extra = 0.0 if ask.stake is None else budget.extra(course, spent)
        share = -math.inf if spent <= 0 else budget.log_beta + math.log(spent) + log_prior - 1e-12
        risk = ask.risk(share) if callable(ask.risk) else ask.risk
        return ask.decide(share), share, extra, risk

    def _record(
        self, ask: Ask, outcome: Outcome, log_share: float, extra: float, risk: float | None, *, joined: bool = False
    ) -> Answer:
        budget, before = self.budget, self.course
        if outcome.passed is False and self.failures is not None and before.failed >= self.failures:
            # The cap is passed: the run ends here and shows nothing more than that.
            outcome = replace(outcome, value=None, interval=None, log_weight=0.0)
        refused = outcome.family == REFUSAL
        message = Message(outcome.passed, outcome.log_weight + (0.0 if refused else LOG_ANSWERED), risk)
        self._log_reserve += outcome.log_weight if refused else LOG_ANSWERED
        self.course = budget.after(before, [message], asked=None if ask.spends else 0, extra=extra)
        nats = max(0.0, budget.log_prior(before) - budget.log_prior(self.course))
        # What claims nothing has no share of its own: its price is to the question that might have been asked instead.
        price = budget.price_between(before, self.course, log_share if ask.spends else None)
        answer = Answer(
            outcome.value,
            outcome.interval,
            self.guarantee(log_share, outcome.family, before),
            Bits(up(nats / _LN_2)),
            self._left(),
            outcome.passed,
            widening=price.questions,
            final_widening=price.final,
        )
        entry = Entry(dict(ask.question), ask.key, outcome, answer, log_share, extra, risk, ask.spends, joined)
        self.entries.append(entry)
        if ask.key is not None:
            self._keys[ask.key] = len(self.entries) - 1
        return answer

    def guarantee(self, log_share: float, family: str, course: Course) -> Guarantee:
        """Return what a claim at a share depends on."""
        parameters: dict[str, Any] = {
            "confidence": self.budget.confidence,
            "question": course.asked + 1,
            "failures": course.failed,
            "interval": family,
        }
        if log_share > -math.inf:  # a question that claims nothing has no share
            parameters["log_share"] = round(log_share, 6)
        if self._terms is not None:
            parameters |= self._terms(family)
        return Guarantee(THEOREM, parameters, self._assumption)

    def most_bits(self, log_weight: float, risk: float | None = None) -> float:
        """Length of the next answer if it passes, or fails and shows what has this weight, whichever is longer."""
        with self._lock:
            last = self.failures is not None and self.course.failed >= self.failures
            shown = 0.0 if last else log_weight
            messages = (Message(True, LOG_ANSWERED, risk), Message(False, shown + LOG_ANSWERED, risk))
            nats = max(-self.budget.log_message_weight(self.course, message) for message in messages)
            return up(max(0.0, nats) / math.log(2))

    def reveal(self) -> tuple[Answer, ...]:
        """End the run, and show every earlier answer with the exact interval of its own share."""
        with self._lock:
            self._check_owner()
            self.ended = True
            return tuple(self._revealed(entry) for entry in self.entries)

    def _revealed(self, entry: Entry) -> Answer:
        exact = entry.outcome.exact
        if exact is None:
            return entry.answer
        return replace(entry.answer, value=exact.value, interval=exact.interval, widening=None, final_widening=None)

    # --- Stored form --------------------------------------------------------------------------------------------------

    def state(self, secrets: bool) -> list[dict[str, Any]]:
        """Return what was asked and shown, in order; with `secrets`, also what a reveal would show."""
        with self._lock:
            lines = []
            for entry in self.entries:
                outcome = entry.outcome
                line = {
                    "question": dict(entry.question),
                    "key": entry.key,
                    "passed": outcome.passed,
                    "value": outcome.value,
                    "interval": None if outcome.interval is None else list(outcome.interval),
                    "family": outcome.family,
                    "log_weight": outcome.log_weight,
                    "log_share": entry.log_share if entry.log_share > -math.inf else None,
                    "extra": entry.extra,
                    "risk": entry.risk,
                    "spends": entry.spends,
                    "joined": entry.joined,
                }
                if secrets and outcome.exact is not None:
                    line["exact"] = outcome.exact.to_dict()
                lines.append(line)
            return lines

    def replay(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Record what `state()` gave, in order, without asking anything."""
        for entry in entries:
            key = entry["key"]
            if not isinstance(entry["question"], Mapping) or not (key is None or isinstance(key, str)):
                raise InvalidParameter("each question in the state must be a dict, and its key must be a text or None")
            if key in self._keys:
                raise InvalidParameter(f"each key in the state must belong to one question, but {key!r} occurs twice")
            extra = arguments.real("extra in the state", entry["extra"], at_least=0, at_most=1)
            share = entry["log_share"]
            log_share = -math.inf if share is None else arguments.real("log_share in the state", share, at_most=0)
            risk = None if entry["risk"] is None else arguments.real("risk in the state", entry["risk"])
            outcome = _outcome(entry)
            ask = Ask(entry["question"], partial(_as_it_was, outcome), key, spends=bool(entry["spends"]))
            joined = bool(entry.get("joined", False)) and bool(self.entries)
            # A batch is answered as a whole, also where the cap comes inside it; a refused final may follow the cap.
            if not (self._capped and (joined or outcome.family == REFUSAL)):
                self.open(int(ask.spends))
            self._record(ask, outcome, log_share, extra, risk, joined=joined)


def _as_it_was(outcome: Outcome, _: float) -> Outcome:
    """What was decided before is not decided again."""
    return outcome


def _outcome(entry: Mapping[str, Any]) -> Outcome:
    """Read back what one question showed."""
    if entry["passed"] not in (True, False, None) or not isinstance(entry["family"], str):
        raise InvalidParameter(
            "each answer in the state must say whether it passed and which family of intervals decided it"
        )
    if entry["question"].get("kind") != "best" and isinstance(entry["value"], str):
        raise InvalidParameter(f"value in the state must be a number, got {entry['value']!r}")
    value = _value("value", entry["value"])
    weight = arguments.real("log_weight in the state", entry["log_weight"], at_most=0)
    exact = entry.get("exact")
    known = None
    if exact is not None:
        known = Exact(_value("exact value", exact["value"]), _ends("exact interval", exact["interval"]))
    return Outcome(entry["passed"], value, _ends("interval", entry["interval"]), entry["family"], weight, known)


def _value(name: str, value: Any) -> float | str | None:
    """A number, or for a `best` batch the name of its winner."""
    return value if value is None or isinstance(value, str) else arguments.real(f"{name} in the state", value)


def _ends(name: str, interval: Any) -> tuple[float, float] | None:
    if interval is None:
        return None
    ends = arguments.reals(f"{name} in the state", interval)
    if len(ends) != 2:
        raise InvalidParameter(f"{name} in the state must have two ends, got {len(ends)}")
    return ends[0], ends[1]
