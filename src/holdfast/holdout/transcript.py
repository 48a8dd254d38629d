"""The public transcript of a guess-and-check run: what was asked, what was shown, and what that leaves.

Nothing in it is secret. One lock makes each question take its share alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast import check
from holdfast.accounting.costs import Bits
from holdfast.bounds.exact import up
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.holdout.shares import Shares
from holdfast.mechanisms.answer import Answer
from holdfast.mechanisms.one_copy import OneCopy

ASSUMPTION = "rows independent and identically distributed; the holdout was not used before"


@dataclass(frozen=True)
class Outcome:
    """What one question shows. `shown` counts what this failure could have shown; 1 for a pass."""

    passed: bool
    value: float | None
    interval: tuple[float, float] | None
    shown: int
    family: str


@dataclass(frozen=True)
class Entry:
    """One question as it was put, what it showed, and the answer made of that."""

    question: Mapping[str, Any]
    key: str | None
    outcome: Outcome
    answer: Answer


class Transcript(OneCopy):
    """A run of questions, each given its share of the failure probability by the transcript before it.

    `assumption` is what the intervals rest on, in words, and `terms` gives the public numbers that an interval's name
    stands for. Both are given where rows are not independent.
    """

    def __init__(
        self, shares: Shares, assumption: str = ASSUMPTION, terms: Callable[[str], Mapping[str, Any]] | None = None
    ) -> None:
        super().__init__()
        self.shares = shares
        self._assumption, self._terms = assumption, terms
        self.entries: list[Entry] = []
        self.failed = 0
        self._log_shown = 0.0
        self._keys: dict[str, int] = {}
        self._deciding = False

    @property
    def asked(self) -> int:
        """Questions so far."""
        return len(self.entries)

    @property
    def log_share(self) -> float:
        """Logarithm of the share that the next question gets."""
        with self._lock:
            return self.shares.log_share(self.asked + 1, self.failed, self._log_shown)

    def left(self) -> dict[str, float]:
        """Questions and failures that are left."""
        with self._lock:
            return self.shares.left(self.asked, self.failed)

    def most_bits(self, shown: int) -> float:
        """Length of the next answer if it fails and could show `shown` things, or passes, whichever is longer."""
        with self._lock:
            t, f = self.asked + 1, self.failed
            last = self.shares.failures is not None and f >= self.shares.failures
            return max(description_bits(t, f, True, 1), description_bits(t, f, False, 1 if last else shown))

    def stored(self, question: Mapping[str, Any], key: str | None) -> Answer | None:
        """The answer that was released under `key`; a key stands for one question."""
        if key is None:
            return None
        if not isinstance(key, str):
            raise InvalidParameter(f"key must be a text, got a {type(key).__name__}")
        with self._lock:
            index = self._keys.get(key)
            if index is None:
                return None
            if self.entries[index].question != question:
                raise InvalidParameter(f"key {key!r} was used for another question: {self.entries[index].question}")
            return self.entries[index].answer

    def open(self) -> None:
        """Raise unless one more question may be asked."""
        self._check_owner()
        plan = self.shares
        with self._lock:
            if plan.failures is not None and self.failed > plan.failures:
                raise BudgetExhausted(
                    f"failures were capped at {plan.failures} and one more came: this holdout answers nothing further"
                )
            if plan.questions is not None and self.asked >= plan.questions:
                raise BudgetExhausted(f"all {plan.questions} planned questions were asked")

    def ask(self, question: Mapping[str, Any], key: str | None, decide: Callable[[float], Outcome]) -> Answer:
        """Give `decide` this question's share and record what it shows; if it raises, nothing has changed."""
        with self._lock:
            known = self.stored(question, key)
            if known is not None:
                return known
            self.open()
            if self._deciding:  # it sees the rows and would get the share of the question that it is part of
                raise QuestionRefused("a question must not ask questions itself while it is decided")
            self._deciding = True
            try:
                outcome = decide(self.log_share)
            finally:
                self._deciding = False
            return self._record(question, key, outcome)

    def _record(self, question: Mapping[str, Any], key: str | None, outcome: Outcome) -> Answer:
        t, f, plan = self.asked + 1, self.failed, self.shares
        log_share = self.log_share
        if not outcome.passed and plan.failures is not None and f >= plan.failures:
            # The cap is passed: the run ends here and shows nothing more than that.
            outcome = Outcome(False, None, None, 1, outcome.family)
        failed = f + (not outcome.passed)
        parameters = {
            "confidence": plan.confidence,
            "question": t,
            "failures": f,
            "log_share": round(log_share, 6),
            "interval": outcome.family,
        }
        if self._terms is not None:
            parameters |= self._terms(outcome.family)
        answer = Answer(
            outcome.value,
            outcome.interval,
            Guarantee("holdout.guess-and-check-share", parameters, self._assumption),
            Bits(description_bits(t, f, outcome.passed, outcome.shown)),
            plan.left(t, failed),
            outcome.passed,
        )
        self.entries.append(Entry(dict(question), key, outcome, answer))
        self.failed = failed
        if not outcome.passed:
            self._log_shown = up(self._log_shown + up(math.log(outcome.shown)))
        if key is not None:
            self._keys[key] = t - 1
        return answer

    def state(self) -> list[dict[str, Any]]:
        """What was asked and shown, in order; everything else follows from it."""
        with self._lock:
            return [
                {
                    "question": dict(entry.question),
                    "key": entry.key,
                    "passed": entry.outcome.passed,
                    "value": entry.outcome.value,
                    "interval": None if entry.outcome.interval is None else list(entry.outcome.interval),
                    "shown": entry.outcome.shown,
                    "family": entry.outcome.family,
                }
                for entry in self.entries
            ]

    def replay(self, entries: list[dict[str, Any]]) -> None:
        """Record what `state()` gave, in order, without asking anything."""
        for entry in entries:
            self.open()
            key = entry["key"]
            if not isinstance(entry["question"], Mapping) or not (key is None or isinstance(key, str)):
                raise InvalidParameter("a question in the state must be a dict, and its key a text or None")
            if key in self._keys:
                raise InvalidParameter(f"a key in the state must stand for one question, got {key!r} twice")
            self._record(entry["question"], key, _outcome(entry))


def _outcome(entry: Mapping[str, Any]) -> Outcome:
    """Read back what one question showed."""
    if not isinstance(entry["passed"], bool) or not isinstance(entry["family"], str):
        raise InvalidParameter("an answer in the state must say whether it passed, and by which family")
    value = None if entry["value"] is None else check.real("value in the state", entry["value"])
    interval = None
    if entry["interval"] is not None:
        ends = check.reals("interval in the state", entry["interval"])
        if len(ends) != 2:
            raise InvalidParameter(f"interval in the state must have two ends, got {len(ends)}")
        interval = (ends[0], ends[1])
    shown = check.whole("shown in the state", entry["shown"], at_least=1)
    return Outcome(entry["passed"], value, interval, shown, entry["family"])


def description_bits(question: int, failures: int, passed: bool, shown: int) -> float:
    """Length of what a question showed, in the prefix-free code that the past fixes; rounded up.

    A failure at question `t` after `f` failures has code probability `(f + 1/2)/t` (Krichevsky and Trofimov 1981),
    split evenly over what it could show, and a pass the rest. So the lengths of a run add up to the logarithm of the
    number of transcripts with as many failures, plus about half a logarithm of the number of questions; passes are
    nearly free once passes are the rule. By Kraft's inequality at most `2^b` transcripts have total length at most
    `b`. The length depends on the answer, so a filter must first admit the length of a failure.

    Examples
    --------
    >>> round(description_bits(1, 0, True, 40), 6), round(description_bits(100, 0, True, 40), 6)
    (1.0, 0.007232)
    >>> round(description_bits(100, 0, False, 40), 3)
    12.966
    """
    if passed:
        return up(math.log2(question) - math.log2(question - failures - 0.5), 16) + 1e-15
    return up(math.log2(question) - math.log2(failures + 0.5) + math.log2(shown), 16) + 1e-15


__all__ = ["ASSUMPTION", "Entry", "Outcome", "Transcript", "description_bits"]
