"""The end of a guard's run: every earlier answer without noise, shown with its exact value and interval.

An answer about fewer than ten rows stays as it was shown, and its line says so: a mean of one row is the row
(`small_groups`).

Theorem E has certified these intervals all along; only showing them was put off, and after the last question a message
costs nothing. The columns are read again, by the questions that the ledger holds; a submission's score was kept as a
secret, because its predictions are not there any more. Nothing may be asked of the rows after that.

What ends the run goes by the entries that the ledger has when it begins. Others may be answered while it is computed:
they are part of the course that its level is computed from, and of what is revealed, as they were answered. So nobody
can put off the end by asking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.data.statistics import Statistic
from holdfast.errors import HoldfastError, LedgerConflict
from holdfast.guard.ledger.entry import Entry, number_of
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Situation

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy
    from holdfast.guard.state import Progress

_BY_POWERS = 3
"""The first format of an entry in which questions about numbers are decided by more than their sums."""
_ROUNDED = 2e-6
"""Earlier versions kept a share to six digits: a little less is on the safe side."""


@dataclass(frozen=True)
class Past:
    """One earlier answer: its entry, the question bound again where its columns can be read, and its share."""

    entry: Entry
    bound: BoundQuestion | None
    log_share: float

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """What must be read for it."""
        return () if self.bound is None else self.bound.statistics


class Ending(BoundQuestion):
    """A question that ends the run and reveals what was answered before."""

    ends_run = True
    counts = False

    def __init__(self, schema: Schema, n: int, policy: Policy) -> None:
        self.cost = None
        self.statistics = ()
        self._schema, self._n, self._policy = schema, n, policy
        self._past: list[Past] = []
        self._until, self._finals = 0, 0
        self._analyst: str | None = None

    def by(self, analyst: str) -> BoundQuestion:
        """Return where histories are separate everybody ends their own."""
        self._analyst = analyst if self._policy.histories == "separate" else None
        return self

    def read_history(self, ledger: Ledger, progress: Progress) -> None:
        """Find the answers that will be revealed, up to the last one that the ledger has now.

        They are revealed by the first final. Where histories are separate, `progress` is that of the analyst alone, and
        so are the answers.
        """
        self._finals = progress.finals
        self._look_back(ledger.entries(1))

    def _look_back(self, entries: Iterable[Entry]) -> None:
        """Read what the entries say. They are read once, so that all that follows goes by one moment."""
        self._until, self._past = 0, []
        for entry in entries:
            self._until = entry.sequence
            if not self._finals and self._is_revealed(entry):
                self._past.append(self._of(entry, self._schema))

    def _is_revealed(self, entry: Entry) -> bool:
        if entry.kind != "answered" or (self._analyst is not None and entry.analyst != self._analyst):
            return False
        question = entry.body["question"]
        kind = Question.kinds().get(question["kind"])
        return kind is not None and not kind.is_private(question) and entry.body["answer"].get("passed") is not None

    def _of(self, entry: Entry, schema: Schema) -> Past:
        body = entry.body
        told = body.get("message", {}).get("log_share")
        share = body["answer"]["guarantee"]["parameters"].get("log_share")
        log_share = told if told is not None else None if share is None else share - _ROUNDED
        if log_share is None or not self._same_procedure(body):
            return Past(entry, None, 0.0)
        try:
            again = Question.kinds()[body["question"]["kind"]].asked_again(body["question"])
            bound = None if again is None else again.bind(schema, self._n, self._policy)
            if bound is not None and bound.digest != body["digest"]:  # another question than the one that was paid for
                bound = None
            if bound is not None and body.get("format", 1) < _BY_POWERS:
                bound = bound.by_range()  # the share has paid for the procedure of then
        except (HoldfastError, KeyError, TypeError):  # rules have changed since: it stays as it was answered
            bound = None
        return Past(entry, bound, log_share)

    def _same_procedure(self, body: Mapping[str, Any]) -> bool:
        """Whether the question would be decided now by what decided it then: the share pays for one procedure.

        Earlier versions decided comparisons of two conditions by another interval. Such an answer stays as it was, and
        so does one about several epochs.
        """
        if "epochs" in body["question"]:  # the rows of one epoch do not say
            return False
        return "format" in body or body["question"]["kind"] != "compare"

    def gather(self, sample: Sample) -> Any:
        """Read the columns of all earlier questions once."""
        statistics = [statistic for past in self._past for statistic in past.statistics]
        return tuple(sample.measure(statistics)) if statistics else ()

    def since(self, situation: Situation) -> list[Entry]:
        """Return the answers that came in while this one was computed; `LedgerConflict` where another end was."""
        assert situation.hidden is not None
        view = situation.hidden.transaction
        if situation.progress.finals != self._finals:
            raise LedgerConflict(
                "somebody else ended the run with another final or close while this one was computed; nothing was spent"
            )
        numbers = range(self._until + 1, view.head.sequence + 1)
        return [entry for entry in map(view.entry, numbers) if entry is not None and entry.kind == "answered"]

    def revealed(self, measured: Measured, situation: Situation) -> list[dict[str, Any]]:
        """Return every earlier answer with its exact value and interval.

        The columns of answers that came in while this one was computed were not read: they stay as they were answered.
        """
        late = self.since(situation)
        assert situation.hidden is not None
        transaction = situation.hidden.transaction
        lines, place = [], 0
        for past in self._past:
            end = place + len(past.statistics)
            lines.append(self._line(past, measured[place:end], transaction))
            place = end
        if not self._finals:
            lines += [self._line(Past(one, None, 0.0), (), transaction) for one in late if self._is_revealed(one)]
        return lines

    def _line(self, past: Past, measured: Measured, transaction: Any) -> dict[str, Any]:
        answer, entry = past.entry.body["answer"], past.entry
        line: dict[str, Any] = {"sequence": number_of(entry), "value": answer["value"], "interval": answer["interval"]}
        if answer["guarantee"]["parameters"].get("interval") == "sign-test":  # the interval is one side of the range
            line["direction_only"] = True
        exact: Mapping[str, Any] | None = None
        if past.bound is not None:
            found = past.bound.reveal(past.bound.prepare(list(measured), self._n), self._n, past.log_share)
            exact = None if found is None else found.to_dict()
        else:
            name = exact_name(entry.analyst or "", entry.body["digest"])
            exact = transaction.secret(name)
        shown = ("value", "interval", "too_few_rows")
        return line | {name: value for name, value in (exact or {}).items() if name in shown}

    def half_width(self, situation: Situation) -> float | None:
        """None: how wide the intervals of the end are depends on the rows."""
        return None


def exact_name(analyst: str, digest: str) -> str:
    """Return the name of the secret that keeps what a reveal shows of a question whose columns cannot be read again."""
    return f"exact:{hashlib.sha256(f'{analyst}:{digest}'.encode()).hexdigest()[:32]}"


def revealed_words(revealed: Sequence[Mapping[str, Any]]) -> str:
    """Return how many earlier answers were revealed, in words."""
    few = sum(bool(line.get("too_few_rows")) for line in revealed)
    count = len(revealed) - few
    if not revealed:
        return "There were no earlier answers to reveal."
    sentences = [f"{count} earlier answer{'s are' if count > 1 else ' is'} shown with exact values."] if count else []
    if few:
        sentences.append(f"{few} earlier answer{'s are' if few > 1 else ' is'} about too few rows to be shown exactly.")
    return " ".join(sentences)
