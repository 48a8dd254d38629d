"""The guard: sample, policy and ledger behind one door.

A question's way: it is checked, priced, let in by the filters, paid for durably, answered, stored, and only then
released. Where the statistic is quick, all of this is one durable commit. Where it is slow, a reservation is committed
first, so that nobody waits for the ledger's lock while rows are read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from holdfast.data.sample import Sample
from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.guard import ahead, settling, stewarding, together
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.estimate import Estimate
from holdfast.guard.leaderboard import Leaderboard, leaderboard
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.store import Store, open_store
from holdfast.guard.opening import begin
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.settling import Asked, bind
from holdfast.guard.standing import Standing
from holdfast.guard.together import Request

MEASURED = faults.point("guard.measured", "the statistic was computed; nothing was paid, or it was reserved")
RESERVED = faults.point("guard.reserved", "a slow question was paid for; nothing was computed")
SETTLED = faults.point("guard.settled", "the answer is durable; it was not released")

_SLOW_SECONDS = 0.25
_SLOW_ENGINES = ("postgres", "spark")
DEFAULT_ANALYST = "analyst"


class Guard:
    """A sample behind a door that keeps count.

    Questions come from any number of analysts, threads and processes; the ledger decides alone which fit. With
    probability `policy.confidence` every interval that the guard ever gives holds, as `docs/guard-proof.md` proves.
    Every call is safe to repeat with the same `key`.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": [23, 35, 47, 59] * 2500, "income": [1.0, 2.0, 3.0, 9.0] * 2500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=100))
    >>> answer = guard.ask(hf.guard.check("age < 40", guess=0.5))
    >>> answer.passed, answer.value, answer.half_width < 0.05
    (True, 0.5, True)
    >>> guard.ask(hf.guard.check("age<40", guess=0.5)).repeated      # the same question, spelled otherwise: free
    True
    """

    def __init__(self, ledger: Ledger, sample: Sample, store: Store | None = None) -> None:
        self._ledger, self._sample, self._store = ledger, sample, store
        self._seconds = 0.0
        standing = ledger.look(Standing.of)
        if sample.n != standing.n:
            raise LedgerConflict("the sample has another number of rows than this ledger was opened for")

    @classmethod
    def open(
        cls,
        ledger: str | Path | Store | None,
        sample: Sample,
        policy: Policy | Mapping[str, Any] | None = None,
        *,
        allow_overlap: str | None = None,
        **store_options: Any,
    ) -> Self:
        """Open the guard of a sample: begin its ledger, or go on where it stands.

        Parameters
        ----------
        ledger : str, path, Store or None
            A SQLite file, a `postgresql://` address, an open store, or None for memory.
        sample : Sample
            What `hf.data.table` returns. Its fingerprint finds its ledger: a renamed, reloaded or registered-again
            sample meets the budget it has left.
        policy : Policy, optional
            For a sample seen for the first time. One that was opened before keeps its policy; another is refused.
        allow_overlap : str, optional
            The steward's reason to open a sample that shares rows with one in the same store; it is recorded.
        store_options
            For `open_store`: `key`, `new_key`, `timeout`.
        """
        store = ledger if isinstance(ledger, Store) else open_store(ledger, **store_options)
        if isinstance(policy, Mapping):
            policy = Policy.from_dict(policy)
        chain = begin(store, sample, policy, allow_overlap)
        return cls(chain, sample, None if isinstance(ledger, Store) else store)

    @property
    def policy(self) -> Policy:
        """What is allowed now."""
        return self._ledger.look(Standing.of).policy

    @property
    def dataset(self) -> str:
        """The name of the sample's ledger: a salted hash of its content, which tells nothing about the rows."""
        return self._ledger.dataset

    @property
    def engine(self) -> str:
        """What reads the rows."""
        return self._sample.engine

    @property
    def ledger(self) -> Ledger:
        """The chain of everything that went through this door."""
        return self._ledger

    def ask(
        self, question: Question | Mapping[str, Any], *, analyst: str = DEFAULT_ANALYST, key: str | None = None
    ) -> GuardedAnswer:
        """Answer one question.

        Parameters
        ----------
        question : Question, or its plain data
            See `hf.mean`, and `check`, `claim`, `compare`, `validate`, `histogram`, `select`, `test`, `score` in
            `hf.guard`.
        analyst : str
            Who asks; the policy may give each a share.
        key : str, optional
            Makes a retry after a lost connection or a crash the same question: it is answered and paid once.

        Raises
        ------
        InvalidParameter
            Wrong input. Nothing was touched.
        QuestionRefused, BudgetExhausted
            Not allowed, or it does not fit any more. Nothing was spent.
        SampleUnavailable, LedgerUnavailable
            The rows or the ledger could not be reached. Nothing was released; ask again with the same key.
        """
        return self.ask_all([question], analyst=analyst, keys=None if key is None else [key])[0]

    def ask_all(
        self,
        questions: Sequence[Question | Mapping[str, Any]],
        *,
        analyst: str = DEFAULT_ANALYST,
        keys: Sequence[str] | None = None,
    ) -> list[GuardedAnswer]:
        """Answer several questions that were chosen together: the rows are read once, and one commit pays for all.

        They are answered in order. If they do not fit together, none is answered and nothing is spent. If failed checks
        among them leave no room for a later one, those before it stay answered and stored, and the error says so.
        """
        if keys is not None and len(keys) != len(questions):
            raise InvalidParameter(f"keys must have one entry a question, {len(questions)}, got {len(keys)}")
        standing = self._ledger.look(Standing.of)
        asked = [
            bind(question, standing, analyst, None if keys is None else keys[i]) for i, question in enumerate(questions)
        ]
        if not asked:
            return []
        before = self._ledger.look(lambda view: ahead.look_up(view, asked))
        new = {one.bound.digest: one for one, entry in zip(asked, before, strict=True) if entry is None}
        entries = dict(zip(new, self._answer(list(new.values())), strict=True))
        return [
            self._released(entries[one.bound.digest] if entry is None else entry, repeated=entry is not None)
            for one, entry in zip(asked, before, strict=True)
        ]

    def ask_each(
        self, requests: Sequence[Request], allowed: Callable[[Request, Policy], None] | None = None
    ) -> list[GuardedAnswer | Exception]:
        """Answer questions that came at the same time from people who know nothing of each other, as a server has them.

        Each is let in or refused, paid for and answered as if it had been asked alone, in this order; an error stands
        in the place of its question and touches no other. They share one reading of the rows and one commit.
        `allowed` may raise for a request that the policy does not let in, before anything else is said about it.
        """
        return together.ask_each(self, requests) if allowed is None else together.ask_each(self, requests, allowed)

    def estimate(self, question: Question | Mapping[str, Any], *, analyst: str = DEFAULT_ANALYST) -> Estimate:
        """What a question would cost and how wide its answer would be, if it were asked next. Spends nothing."""
        standing = self._ledger.look(Standing.of)
        asked = bind(question, standing, analyst)
        return self._ledger.look(lambda view: ahead.estimate(view, asked))

    def level(self, alpha: float = 0.05) -> float:
        """The level at which a further p-value from these rows must reject to keep `alpha` after all answers so far.

        `GuaranteeUnavailable` after an override: no cap was kept that a level could rest on.
        """
        return self._ledger.look(lambda view: ahead.level(view, alpha))

    def adjusted(self, p: float) -> float:
        """What a further p-value from these rows is worth after all that was released; never below `p`.

        `GuaranteeUnavailable` after an override: no cap was kept that it could rest on.
        """
        return self._ledger.look(lambda view: ahead.adjusted(view, p))

    def remaining(self, analyst: str = DEFAULT_ANALYST) -> dict[str, Any]:
        """What an analyst, and all together, may still ask."""
        standing = self._ledger.look(Standing.of)
        held = self._ledger.look(lambda view: settling.accounts(view, standing, analyst))
        policy = standing.policy
        return {
            "status": "expired" if policy.expired() else standing.status,
            "yours": held.own.remaining(policy.most_questions(analyst)),
            "whole": held.whole.remaining(policy.most_questions()),
        }

    def leaderboard(self, board: str, *, every: bool = False) -> Leaderboard:
        """Who is where on a board, as far as the intervals tell; see `holdfast.guard.leaderboard`."""
        return leaderboard(self._ledger, board, every=every)

    def describe(self) -> dict[str, Any]:
        """Everything about the guard that may be shown: schema, rows, policy, status, progress, what is left."""
        return stewarding.describe(self._ledger) | {"engine": self.engine}

    def pause(self, reason: str = "") -> None:
        """Answer nothing until `resume`; recorded."""
        stewarding.set_status(self._ledger, "paused", reason)

    def resume(self, reason: str = "") -> None:
        """Answer again; recorded."""
        stewarding.set_status(self._ledger, "open", reason)

    def close(self, reason: str = "") -> None:
        """Answer nothing any more; recorded, and for good."""
        stewarding.set_status(self._ledger, "closed", reason)

    def override(self, policy: Policy, reason: str) -> None:
        """Put another policy in the place of the one the ledger was opened with: the steward's act, recorded.

        What was spent stays spent. The intervals before it keep their promise; those after it say that they are not
        certified, because a cap that is raised after answers were seen is not a cap.
        """
        stewarding.override(self._ledger, policy, reason)

    def shut(self) -> None:
        """Let go of the sample and, if this guard opened it, of the store."""
        self._sample.close()
        if self._store is not None:
            self._store.close()

    def _answer(self, asked: Sequence[Asked]) -> list[Entry]:
        """Answer new questions; the rows are read outside the ledger's lock."""
        if not asked:
            return []
        paid: list[Entry | None] = [None] * len(asked)
        if self.slow:
            paid = list(self._ledger.submit(lambda transaction: [settling.reserve(transaction, one) for one in asked]))
            faults.reach(RESERVED)
        parts = self._measure(asked)
        keys, questions = settling.looked_up(asked)
        batch = self._ledger.submit(
            lambda transaction: settling.settle_all(transaction, asked, parts, paid), keys=keys, questions=questions
        )
        faults.reach(SETTLED)
        if batch.stopped is not None:
            many = len(batch.entries)
            raise type(batch.stopped)(
                f"{batch.stopped}; the {many} before it in the batch were answered, and asking them again is free"
            )
        return list(batch.entries)

    def _measure(self, asked: Sequence[Asked]) -> list[Any]:
        """Read the rows once for all of these, and prepare what each will be answered from. Secret."""
        begun = time.monotonic()
        statistics = [statistic for one in asked for statistic in one.bound.statistics]
        measured = self._sample.measure(statistics) if statistics else []
        gathered = [one.bound.gather(self._sample) for one in asked]
        self._seconds = time.monotonic() - begun
        faults.reach(MEASURED)
        parts: list[Any] = []
        place = 0
        for one, rows in zip(asked, gathered, strict=True):
            found = [*measured[place : place + len(one.bound.statistics)], *rows]
            parts.append(one.bound.prepare(found, self._sample.n))
            place += len(one.bound.statistics)
        if any(one.bound.warms_late for one in asked):
            self._ledger.look(lambda view: ahead.warm(view, asked, parts))
        return parts

    @property
    def slow(self) -> bool:
        """Whether the rows take so long to read that questions are paid for before."""
        return self._slow()

    def _slow(self) -> bool:
        """Whether reading the rows takes so long that a crash meanwhile should not repeat it unpaid."""
        return self._sample.engine in _SLOW_ENGINES or self._seconds > _SLOW_SECONDS

    def _released(self, entry: Entry, repeated: bool) -> GuardedAnswer:
        return together.released(self._ledger, entry, repeated)

    def __repr__(self) -> str:
        return f"Guard({self.dataset[:16]}..., n={self._sample.n}, engine={self._sample.engine})"

    def __reduce__(self) -> Any:
        raise TypeError("a guard is not pickled; open it again from its ledger and its sample")


__all__ = ["Guard"]
