"""The guard: the gateway to a sample, with its policy and its ledger.

A question's way: it is checked, priced, let in by the filters, paid for durably, answered, stored, and only then
released. Where the statistic is quick, all of this is one durable commit. Where it is slow, a prepayment is committed
first, so that nobody waits for the ledger's lock while rows are read. `guard/pipeline.py` has these steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from holdfast.accounting import Cost
from holdfast.data.sample import Sample
from holdfast.data.schema import Column, Schema
from holdfast.data.tables import table
from holdfast.errors import BudgetExhausted, InvalidParameter, LedgerConflict, QuestionRefused, SampleUnavailable
from holdfast.guard import epochs, estimates, pipeline, stewarding
from holdfast.guard.analyst import QuestionLike, batch_keys
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.columns import DeclaredColumn
from holdfast.guard.contest import Contest, contest, revealed
from holdfast.guard.epochs import Epoch, EpochName
from holdfast.guard.estimates import Estimate
from holdfast.guard.leaderboard import Leaderboard, leaderboard
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.store import Store
from holdfast.guard.ledger.transaction import View
from holdfast.guard.opening import Rights, begin, explored
from holdfast.guard.pipeline import Batch, Request, Rows, SeveralRows
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.questions.planned import plan_facts
from holdfast.guard.questions.words import plain_words
from holdfast.guard.scoring.board import chosen
from holdfast.guard.scoring.predictions import columns_of
from holdfast.guard.sql import SqlAnswer, SqlEstimate, Statement, assemble, compile_sql
from holdfast.guard.state import Accounts, GuardState

DEFAULT_ANALYST = "analyst"


class Guard:
    """A gateway to a data set: it answers questions about the data and records each of them in a ledger.

    Any number of analysts, threads and processes can ask questions. The ledger alone decides which questions fit into
    the remaining budget. With probability `policy.confidence`, all intervals that the guard ever returns together
    contain the population values; `docs/guard-proof.md` has the proof. A call can be repeated safely with the same
    `key`.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": [23, 35, 47, 59] * 2500, "income": [1.0, 2.0, 3.0, 9.0] * 2500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=100))
    >>> answer = guard.ask(hf.guard.check("age < 40", guess=0.5))
    >>> answer.passed, answer.value, answer.half_width < 0.06
    (True, 0.5, True)
    >>> guard.ask(hf.guard.check("age<40", guess=0.5)).repeated      # the same question, spelled otherwise: free
    True
    """

    def __init__(self, ledger: Ledger, sample: Sample, store: Store | None = None, home: Store | None = None) -> None:
        if sample.n != ledger.look(GuardState.of).n:
            raise LedgerConflict("the data set does not have the number of rows with which this ledger was opened")
        self._store, self._home, self._pinned = store, home, False
        self._parts: dict[str, _Part] = {}
        self._hold(ledger, sample)

    def _hold(self, ledger: Ledger, sample: Sample) -> None:
        """Have the rows of an epoch at hand; questions go to the latest one of those."""
        self._parts[ledger.dataset] = _Part(ledger, sample, Rows(explored(ledger, sample)))
        latest = max(self._parts.values(), key=lambda part: part.ledger.look(GuardState.of).number)
        self._ledger, self._rows = latest.ledger, latest.rows

    @classmethod
    def open(
        cls,
        ledger: str | Path | Store | None,
        sample: Sample | Sequence[Sample],
        policy: Policy | Mapping[str, Any] | None = None,
        *,
        allow_overlap: str | None = None,
        rights: Rights | None = None,
        **store_options: Any,
    ) -> Self:
        """Open the guard of a data set. If the data set has no ledger yet, a new one is begun; otherwise the guard
        continues from the state of its ledger.

        Parameters
        ----------
        ledger : str, path, Store or None
            A SQLite file, a `postgresql://` address, an open store, or None for memory.
        sample : Sample, or a sequence of them
            What `hf.data.table` returns. Its fingerprint finds its ledger: a renamed, reloaded or registered-again
            sample meets the budget it has left. Of a guard that was extended, the rows of one epoch or of several.
        policy : Policy, optional
            For a sample seen for the first time. One that was opened before keeps its policy; another is refused.
        allow_overlap : str, optional
            The steward's reason to open a sample that shares rows with one in the same store; it is recorded on the
            ledgers of both, and no later answer of either is certified.
        rights : callable, optional
            Takes the ledgers of the guards that share rows, and raises where who allows that has no rights over them.
        store_options
            For `open_store`: `key`, `new_key`, `timeout`.
        """
        samples = _samples(ledger, sample, policy)
        store = ledger if isinstance(ledger, Store) else open_store(ledger, **store_options)
        if isinstance(policy, Mapping):
            policy = Policy.from_dict(policy)
        if not samples:
            raise InvalidParameter("sample must be the rows of at least one epoch, got an empty list")
        chain = begin(store, samples[0], policy, allow_overlap, rights)
        guard = cls(chain, samples[0], None if isinstance(ledger, Store) else store, store)
        for later in samples[1:]:
            known = epochs.ledgers(store, chain)
            fitting = [one for one in known if one.dataset == store.name_of(later.fingerprint())]
            if not fitting:
                raise LedgerConflict(
                    "sample must be a list of data sets that are epochs of one guard, and one of them is not; "
                    "`extend` adds new rows as the next epoch"
                )
            guard._hold(fitting[0], later)
        return guard

    @property
    def policy(self) -> Policy:
        """The policy that is in force: the rules about what may be asked."""
        return self._ledger.look(GuardState.of).policy

    @property
    def dataset(self) -> str:
        """The name of the data set in its ledger: a salted hash of the rows' content, which reveals nothing about the
        rows.
        """
        return self._ledger.dataset

    @property
    def engine(self) -> str:
        """The name of the engine that reads the rows, such as polars."""
        return self._rows.sample.engine

    @property
    def reopens(self) -> bool:
        """Whether rows that went away come back only where the sample is opened again, as those of a file do."""
        return self._rows.sample.reopens

    @property
    def ledger(self) -> Ledger:
        """The ledger: the chained record of all questions and answers of this guard."""
        return self._ledger

    # --- Epochs -------------------------------------------------------------------------------------------------------

    def extend(self, new_rows: Sample, *, rights: Rights | None = None) -> Self:
        """Add new rows to the guard as its next epoch, with the same policy and a full budget of their own.

        From now on, questions go to this epoch unless they name another one. Earlier questions do not widen the
        intervals of the new epoch, because its rows are independent of the rows of earlier epochs; `docs/epochs.md` has
        the theorem.

        Parameters
        ----------
        new_rows : Sample
            Other rows with the same columns. Row keys that an earlier epoch has are refused and named.
        rights : callable, optional
            As for `open`.

        Returns
        -------
        Guard
            This guard, whose questions go to the new epoch.

        Examples
        --------
        >>> import holdfast as hf
        >>> months = [hf.data.table({"right": [True, True, False, True] * 500, "item": list(range(at, at + 2000))},
        ...     row_key="item") for at in (0, 2000)]
        >>> guard = hf.Guard.open(None, months[0], hf.guard.Policy(questions=100))
        >>> _ = guard.ask(hf.guard.check("right", guess=0.75))
        >>> _ = guard.extend(months[1])
        >>> guard.remaining()["total"], guard.at(1).remaining()["total"]
        ({'questions': 100}, {'questions': 99})
        >>> answer = guard.ask(hf.guard.check("right", guess=0.75), epoch="all")
        >>> answer.passed, answer.details["rows"]
        (True, [2000, 2000])
        """
        ledger = epochs.extend(self._require_home(), self._ledger, new_rows, self.samples, rights)
        if ledger.dataset not in self._parts:
            self._hold(ledger, new_rows)
        return self

    def at(self, epoch: int) -> Self:
        """Return one epoch as a guard of its own. Every method of the returned guard is about that epoch.

        Raises
        ------
        InvalidParameter
            There is no epoch of this number.
        SampleUnavailable
            Its rows are not at hand: the guard was opened without them.
        """
        number = epochs.check_epoch(epoch)
        if not isinstance(number, int):
            raise InvalidParameter(f"epoch must be a whole number from 1, got {epoch!r}")
        part = self._part(epochs.at(self._require_home(), self._ledger, number))
        pinned = object.__new__(type(self))
        pinned.__dict__ |= self.__dict__
        pinned._store, pinned._pinned = None, True
        pinned._ledger, pinned._rows = part.ledger, part.rows
        return pinned

    @property
    def number(self) -> int:
        """The number of the epoch that questions go to, counted from 1."""
        return self._ledger.look(GuardState.of).number

    @property
    def samples(self) -> list[Sample]:
        """The data sets (one for each epoch) whose rows this process has."""
        return [part.sample for part in self._parts.values()]

    def together_with(self, others: Sequence[Guard]) -> Self:
        """Return this guard with the rows of other epochs added, so that it can answer questions about all epochs
        together.
        """
        joined = object.__new__(type(self))
        joined.__dict__ |= self.__dict__
        joined._store, joined._parts = None, dict(self._parts)
        for other in others:
            joined._parts |= other._parts
        return joined

    def epochs(self) -> list[Epoch]:
        """Return all epochs of the guard, in order, beginning with the first."""
        return epochs.listed(self._require_home(), self._ledger)

    def _require_home(self) -> Store:
        if self._home is None:
            raise InvalidParameter(
                "this guard must be opened with `Guard.open`, because only then its epochs can be found in the store"
            )
        return self._home

    def _part(self, ledger: Ledger) -> _Part:
        part = self._parts.get(ledger.dataset)
        if part is None:
            number = ledger.look(GuardState.of).number
            raise SampleUnavailable(
                f"this process does not have the rows of epoch {number}; open the guard with the rows of all epochs "
                "that are asked"
            )
        return part

    def _target(self, epoch: EpochName) -> tuple[Ledger, tuple[Ledger, ...], Ledger | None]:
        """The ledger that decides a question, those of the later epochs it is about, and that of the first epoch."""
        epoch, state = epochs.check_epoch(epoch), self._ledger.look(GuardState.of)
        if epoch is None and state.successor is not None and not self._pinned:
            number = state.number
            raise SampleUnavailable(
                f"epoch {number + 1} of this guard was opened, and this process does not have its rows; open the "
                f"guard with them, or ask epoch {number}"
            )
        if epoch is None and state.epoch is None:
            return self._ledger, (), None
        if epoch is not None and self._home is None and epoch in (1, epochs.ALL) and state.epoch is None:
            return self._ledger, (), None
        known = epochs.ledgers(self._require_home(), self._ledger)
        if epoch == epochs.ALL:
            return known[0], known[1:], None
        ledger = self._ledger if epoch is None else epochs.at(self._require_home(), self._ledger, epoch)
        return ledger, (), None if ledger is known[0] else known[0]

    def rows_of(self, batch: Batch) -> Rows:
        """Return the rows from which a batch of questions is answered: the rows of one epoch, or of all epochs."""
        parts = [self._part(ledger).rows for ledger in (batch.ledger, *batch.followers)]
        return parts[0] if len(parts) == 1 else SeveralRows(parts)

    # --- Asking -------------------------------------------------------------------------------------------------------

    def ask(
        self,
        question: Question | Mapping[str, Any],
        *,
        analyst: str = DEFAULT_ANALYST,
        key: str | None = None,
        epoch: EpochName = None,
    ) -> GuardedAnswer:
        """Answer one question. The ledger records the question, its cost and its answer.

        Parameters
        ----------
        question : Question, or its plain data
            A question of any kind of `hf.guard`, such as `hf.guard.mean` or `hf.guard.check`; see
            `hf.guard`.
        analyst : str
            Who asks; the policy may give each a share.
        key : str, optional
            Makes a retry after a lost connection or a crash the same question: it is answered and paid once.
        epoch : int or "all", optional
            Of a guard that was extended: which epoch, or all of them as one sample; the latest if not given.

        Raises
        ------
        InvalidParameter
            Wrong input. Nothing was touched.
        QuestionRefused, BudgetExhausted
            Not allowed, or it does not fit any more. Nothing was spent.
        SampleUnavailable, LedgerUnavailable
            The rows or the ledger could not be reached. Nothing was released; ask again with the same key.
        """
        return self.ask_all([question], analyst=analyst, keys=None if key is None else [key], epoch=epoch)[0]

    def ask_all(
        self,
        questions: Sequence[Question | Mapping[str, Any]],
        *,
        analyst: str = DEFAULT_ANALYST,
        keys: Sequence[str] | None = None,
        epoch: EpochName = None,
    ) -> list[GuardedAnswer]:
        """Answer several questions that were chosen together. The rows are read once, and all questions are charged in
        one commit.

        The questions are answered in order. If the budget does not cover all of them, none is answered and nothing is
        spent. If failed checks among the questions use up the budget for a later question, the questions before that
        one stay answered and stored, and the error says so.
        """
        return self._ask_all(questions, analyst, keys, steward=True, epoch=epoch)

    def _ask_all(
        self,
        questions: Sequence[QuestionLike],
        analyst: str,
        keys: Sequence[str] | None,
        *,
        steward: bool,
        epoch: EpochName = None,
    ) -> list[GuardedAnswer]:
        """The same for a steward, who may end the run, or for an analyst, who may not where histories are together."""
        if keys is not None and len(keys) != len(questions):
            raise InvalidParameter(f"keys must have one entry per question, {len(questions)}, got {len(keys)}")
        requests = [
            Request(
                question,
                analyst,
                None if keys is None else keys[i],
                partial(pipeline.require_may_end, question=question, steward=steward),
            )
            for i, question in enumerate(questions)
        ]
        # Errors were raised: what was chosen together has no other outcome than answers.
        ledger, followers, leader = self._target(epoch)
        batch = pipeline.check(ledger, requests, together=True, followers=followers, leader=leader)
        return cast(list[GuardedAnswer], self.answer(batch))

    def answer(self, batch: Batch) -> list[GuardedAnswer | Exception]:
        """Answer questions that `pipeline.check` has checked. This is the second half of `ask_all`, which reads the
        rows.

        If a question fails, its error is returned in the place of its answer. For questions that were chosen together
        the error is raised instead.
        """
        return pipeline.answer(self.rows_of, batch)

    def estimate(
        self,
        question: Question | Mapping[str, Any],
        *,
        analyst: str = DEFAULT_ANALYST,
        epoch: EpochName = None,
    ) -> Estimate:
        """Return what a question would cost, and how wide its interval would be, if it were asked next. Nothing is
        spent.
        """
        ledger, followers, _ = self._target(epoch)
        return estimates.of_question(ledger, Request(question, analyst), followers)

    def sql(
        self, statement: str, *, analyst: str = DEFAULT_ANALYST, key: str | None = None, spend: Cost | None = None
    ) -> SqlAnswer:
        """Answer an SQL statement. The statement is translated into questions of the guard's own kinds, which are asked
        together.

        Parameters
        ----------
        statement : str
            One `select` with averages, counts, sums, medians, quantiles or correlations, a `where` and a `group by`.
            Ranges and categories are those that `Policy.columns` declares. It is never sent to an engine.
        analyst, key
            As in `ask`.
        spend : PureDP or ZCDP, optional
            What each of its questions may cost; the policy's `spend` if not given.

        Examples
        --------
        >>> import holdfast as hf
        >>> sample = hf.data.table({"age": [23, 35, 47, 59] * 5000, "member": [True, False] * 10_000})
        >>> policy = hf.guard.Policy(questions=9, privacy=hf.accounting.PureDP(0.1), spend=hf.accounting.PureDP(0.05),
        ...     columns={"age": {"low": 0, "high": 100}})
        >>> guard = hf.Guard.open(None, sample, policy)
        >>> answer = guard.sql("select member, avg(age) from people group by member")
        >>> answer.columns, len(answer.rows), answer.cost
        (('member', 'avg(age)'), 2, PureDP(epsilon=0.05))
        """
        compiled = self._compiled(statement, spend)
        keys = batch_keys(key, len(compiled.questions))
        return assemble(
            compiled, self.ask_all(compiled.questions, analyst=analyst, keys=keys) if compiled.questions else []
        )

    def explain(self, statement: str, *, analyst: str = DEFAULT_ANALYST, spend: Cost | None = None) -> SqlEstimate:
        """Return the total cost that an SQL statement would have, and how wide its intervals would be. Nothing is
        spent.
        """
        compiled = self._compiled(statement, spend)
        estimates = [self.estimate(question, analyst=analyst) for question in compiled.questions]
        refused = [pair for pair in zip(compiled.questions, estimates, strict=True) if not pair[1].admitted]
        reason = refused[0][1].reason if refused else ""
        if len(estimates) > 1 and refused:
            reason = f"{plain_words(refused[0][0])}: {reason}"
        if not reason and compiled.questions:
            try:  # whether they fit together; no row is read
                pipeline.check(self._ledger, [Request(one, analyst) for one in compiled.questions], together=True)
            except (BudgetExhausted, QuestionRefused) as refusal:
                reason = str(refusal)
        return SqlEstimate(list(compiled.questions), estimates, not reason, reason, compiled.totals(estimates))

    def _compiled(self, statement: str, spend: Cost | None) -> Statement:
        state = self._ledger.look(GuardState.of)
        return compile_sql(statement, state.schema, state.policy, state.explored, spend)

    def practice(self, variant: int = 0) -> Guard:
        """Return a guard with the same schema and policy but made-up rows, on which questions can be tried at no cost.

        The made-up rows use only what is declared publicly about the columns (`practice_rows`). Every answer is marked
        with `details["practice"]` and is not certified.
        """
        state = self._ledger.look(GuardState.of)
        return practice_guard(state.schema, state.policy, state.explored, variant)

    def level(self, alpha: float = 0.05, *, analyst: str | None = None) -> float:
        """Return the level for the next p-value from these rows: a test that rejects at this level keeps `alpha`, even
        though it was chosen after all answers so far.

        If analysts have separate histories, the level depends on the answers of one `analyst`, who must be named and
        must be the one who chooses the test. `GuaranteeUnavailable` is raised after an override, or if another guard
        has some of the rows, because then no limit covers everything that was released.
        """
        return estimates.level(self._ledger, alpha, analyst)

    def adjusted(self, p: float, *, analyst: str | None = None) -> float:
        """Return the p-value `p` of a test on these rows, adjusted for everything that was released before; never below
        `p`.

        The adjusted value is valid for one test. For several tests that are chosen one after the other, fix a level for
        each in advance (Bonferroni, or alpha spending); Holm's method is not valid for them. The parameter `analyst` is
        as for `level`. `GuaranteeUnavailable` is raised after an override, or if another guard has some of the rows,
        because then no limit covers everything that was released.
        """
        return estimates.adjusted(self._ledger, p, analyst)

    def remaining(self, analyst: str = DEFAULT_ANALYST) -> dict[str, Any]:
        """Return the budget that is left for an analyst and for all analysts together, and whether the guard answers at
        all.

        `status` is "open", "paused", "closed", "expired", or "ended" (if more checks have failed than the policy's
        `failures`). The entry `whole` is about all analysts and has the number of checks that may still fail.
        """

        def work(view: View) -> dict[str, Any]:
            state = GuardState.of(view)
            accounts = Accounts.of(view, state.policy, analyst)
            status = stewarding.status_of(state, accounts.acting(state.policy).progress)
            return {"status": status} | accounts.remaining(state.policy)

        return self._ledger.look(work)

    def leaderboard(self, board: str, *, every: bool = False) -> Leaderboard:
        """Return a leaderboard. Submissions whose intervals overlap count as tied; see `holdfast.guard.leaderboard`."""
        return leaderboard(self._ledger, board, every=every)

    def contest(self, board: str | None = None) -> Contest:
        """Return the state of a contest, warnings for its host, and the results of its finals; see
        `holdfast.guard.contest`.
        """
        return contest(self._ledger, board)

    def revealed(self, board: str | None = None) -> list[dict[str, Any]]:
        """Return every answer that was given before the first final of a contest, with its exact value.

        Only stewards may see it, because it shows more about submissions than the leaderboard did, and it shows the
        questions of all analysts.

        Examples
        --------
        >>> import holdfast as hf
        >>> rows = {"id": list(range(4000)), "rich": [i % 4 == 0 for i in range(4000)]}
        >>> board = hf.guard.Board("income", key="id", label="rich", metric="accuracy", rule="ladder", baseline=0.5)
        >>> guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(boards=[board], reserve=0.5, questions=50))
        >>> _ = guard.ask(hf.guard.score("income", dict.fromkeys(range(4000), False)), analyst="ann")
        >>> result = guard.ask(hf.guard.contest_final("income"), analyst="host")
        >>> result.details["reveals"], [one["sequence"] for one in guard.revealed("income")]
        (1, [2])
        """
        return revealed(self._ledger, board)

    def for_analyst(self, analyst: str = DEFAULT_ANALYST, *, steward: bool = False) -> LocalAnalystGuard:
        """Return this guard for one analyst, with the same methods as the HTTP client (`holdfast.guard.AnalystGuard`).

        If analysts share one history, an analyst may not ask `final` or `close`, because these end the run for all
        analysts. With `steward=True` they may be asked under this name.

        Raises
        ------
        InvalidParameter
            The policy does not know the name.

        Examples
        --------
        >>> import holdfast as hf
        >>> sample = hf.data.table({"age": [23, 35, 47, 59] * 2500})
        >>> ann = hf.Guard.open(None, sample, hf.guard.Policy(questions=100)).for_analyst("ann")
        >>> ann.ask(hf.guard.check("age < 40", guess=0.5)).passed, ann.remaining()["yours"]
        (True, {'questions': 99})
        """
        self.policy.share(analyst)
        return LocalAnalystGuard(self, analyst, steward)

    def describe(self) -> dict[str, Any]:
        """Return everything about the guard that is public: schema, number of rows, policy, status, progress and
        remaining budget.

        For a guard that answers only noisy means under a privacy limit, `planned` is the total cost of the planned
        noise, which may be less than the limit.
        """
        facts = stewarding.describe(self._ledger) | {"engine": self.engine}
        planned = plan_facts(self.policy, facts["n"])
        return facts if planned is None else facts | {"planned": planned}

    def pause(self, reason: str = "") -> None:
        """Pause the guard: it answers no question until `resume` is called. The ledger records the pause."""
        stewarding.set_status(self._ledger, "paused", reason)

    def resume(self, reason: str = "") -> None:
        """Let a paused guard answer questions again. The ledger records this."""
        stewarding.set_status(self._ledger, "open", reason)

    def close(self, reason: str = "") -> None:
        """Close the guard forever: it never answers a question again. The ledger records this."""
        stewarding.set_status(self._ledger, "closed", reason)

    def override(self, policy: Policy, reason: str) -> None:
        """Replace the policy with which the ledger was opened. Only a steward may do this, and the ledger records it.

        The budget that was spent stays spent. Intervals from before the override keep their guarantee. Later answers
        are marked as not certified, because a limit that is changed after answers were seen is no limit.
        """
        stewarding.override(self._ledger, policy, reason)

    def shut(self) -> None:
        """Close the connection to the rows. If this guard opened the store of ledgers, close the store too."""
        for part in self._parts.values():
            part.rows.sample.close()
        if self._store is not None:
            self._store.close()

    @property
    def slow(self) -> bool:
        """Whether reading the rows takes so long that questions are charged before the rows are read."""
        return self._rows.slow

    def __repr__(self) -> str:
        return f"Guard({self.dataset[:16]}..., n={self._rows.sample.n}, engine={self._rows.sample.engine})"

    def __reduce__(self) -> Any:
        raise TypeError("a guard cannot be pickled or copied; open the guard again with its ledger and its data set")


@dataclass(frozen=True)
class _Part:
    """An epoch whose rows are at hand: its ledger, its sample, and the rows of it that questions read."""

    ledger: Ledger
    sample: Sample
    rows: Rows


_ORDER = "the order is Guard.open(ledger, sample, policy)"


def _samples(ledger: Any, sample: Any, policy: Any) -> list[Sample]:
    """The rows of each epoch; an error where the arguments are swapped, or rows are not read yet."""
    if not (ledger is None or isinstance(ledger, (str, Path, Store))):
        what = "a sample" if isinstance(ledger, Sample) else f"a {type(ledger).__name__}"
        raise InvalidParameter(
            f"ledger must be a path, a postgresql:// address, a store, or None for memory, got {what}; {_ORDER}"
        )
    given = list(sample) if isinstance(sample, (list, tuple)) else [sample]
    for rows in given:
        if not isinstance(rows, Sample):
            path = repr(str(rows)[:60]) if isinstance(rows, (str, Path)) else "..."
            what = "None" if rows is None else f"a {type(rows).__name__}"
            then = _ORDER if rows is None or isinstance(rows, Policy) else f"write hf.data.table({path})"
            raise InvalidParameter(f"sample must be what hf.data.table returns, got {what}; {then}")
    if not (policy is None or isinstance(policy, (Policy, Mapping))):
        raise InvalidParameter(f"policy must be a Policy or its mapping, got a {type(policy).__name__}; {_ORDER}")
    return given


# --- Practice ---------------------------------------------------------------------------------------------------------
# The same questions at no cost, on rows made from the declared schema alone.
#
# Code, dashboards and agents are debugged on them before anything is spent. Nothing about the guarded rows enters: the
# columns, their kinds, declared ranges and categories, and the number of rows are public, and all values are drawn
# evenly from them. Every answer is marked, and none is certified.

MOST_ROWS = 200_000
"""Practice rows at most: more would only take longer to make."""
PRACTICE = "practice rows, made from the declared schema: the answer is not about the guarded rows"
_MISSING = 0.1
_FIRST_DAY = date(1930, 1, 1)
_DAYS = 36_525
"""Practice dates are of these hundred years: no range of dates is declared."""


def marked(answer: GuardedAnswer) -> GuardedAnswer:
    """Return the same answer, marked as one from practice rows."""
    guarantee = replace(answer.guarantee, assumption=PRACTICE, certified=False)
    return replace(answer, guarantee=guarantee, details={**answer.details, "practice": True})


def practice_rows(schema: Schema, policy: Policy, n: int, variant: int = 0) -> tuple[Sample, Policy]:
    """Practice rows, and the policy that they are asked under.

    Parameters
    ----------
    schema : Schema
        The columns of the real rows.
    policy : Policy
        The real policy. Boards and reserved rows are left out: they need the rows that they are about.
    n : int
        The number of real rows, which is public; the widths of intervals follow from it. At most 200,000 are made.
    variant : int
        The same number makes the same rows; another one makes others.

    Examples
    --------
    >>> schema = Schema({"age": "integer not null", "sex": "text not null"})
    >>> rows, policy = practice_rows(schema, Policy(questions=5, columns={"age": {"low": 0, "high": 100}}), 5000)
    >>> rows.n, policy.questions
    (5000, 5)
    """
    rng, size = np.random.default_rng(variant), min(n, MOST_ROWS)
    declared = policy.columns or {}
    # Every column says whether values may be missing, so that nothing about it is read off the practice rows.
    columns = [replace(column, nullable=column.may_be_missing) for column in schema]
    rows = {column.name: _values(column, declared.get(column.name), size, rng) for column in columns}
    known = Question.kinds()
    kinds = tuple(kind for kind in policy.kinds or () if not known[kind].needs_board and not known[kind].needs_contest)
    plain = replace(policy, boards=None, kinds=kinds, reserve=0.0, reserve_by=None, expires=None)
    return table(rows, schema=Schema(columns)), plain


def _values(column: Column, declared: DeclaredColumn | None, n: int, rng: np.random.Generator) -> list[Any]:
    """Values of one column, drawn evenly from what is declared."""
    categories = column.values if declared is None or declared.categories is None else declared.categories
    bounds = (0.0, 1.0) if declared is None or declared.bounds is None else declared.bounds
    values: list[Any]
    if column.kind == "boolean":
        values = (rng.random(n) < 0.5).tolist()
    elif categories:
        values = [categories[at] for at in rng.integers(0, len(categories), n)]
    elif column.kind == "integer":
        low, high = (0, 100) if declared is None or declared.bounds is None else (int(bounds[0]), int(bounds[1]))
        values = rng.integers(low, high + 1, n).tolist()
    elif column.kind == "number":
        values = rng.uniform(*bounds, n).tolist()
    elif column.kind == "text":
        values = [f"practice {at}" for at in rng.integers(0, 10, n)]
    elif column.kind == "date":
        values = [_FIRST_DAY + timedelta(days=days) for days in rng.integers(0, _DAYS, n).tolist()]
    else:
        start = datetime(_FIRST_DAY.year, 1, 1, tzinfo=UTC if column.kind == "timestamptz" else None)
        values = [start + timedelta(seconds=second) for second in rng.integers(0, _DAYS * 86_400, n).tolist()]
    if column.may_be_missing:
        gone = rng.random(n) < _MISSING
        values = [None if missing else value for value, missing in zip(values, gone, strict=True)]
    return values


class PracticeGuard(Guard):
    """A guard over practice rows: it prices, refuses and answers as the real one would, and marks every answer."""

    def answer(self, batch: Batch) -> list[GuardedAnswer | Exception]:
        """Answer as a guard does, and mark what is answered."""
        return [one if isinstance(one, Exception) else marked(one) for one in super().answer(batch)]


def practice_guard(schema: Schema, policy: Policy, n: int, variant: int = 0) -> PracticeGuard:
    """Return a guard in memory over practice rows, under the same policy.

    Examples
    --------
    >>> import holdfast as hf
    >>> policy = Policy(questions=5, columns={"age": {"low": 0, "high": 100}})
    >>> answer = practice_guard(Schema({"age": "integer not null"}), policy, 5000).ask(hf.guard.check("age", guess=50))
    >>> answer.passed, answer.details["practice"], answer.guarantee.certified
    (True, True, False)
    """
    return PracticeGuard.open(None, *practice_rows(schema, policy, n, variant))


# --- One analyst ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LocalAnalystGuard:
    """A guard of this process, asked under one name. `Guard.for_analyst` makes it; it is an `AnalystGuard`.

    Attributes
    ----------
    guard : Guard
        Who answers.
    analyst : str
        Who asks.
    steward : bool
        Whether they may end the run for everybody.
    """

    guard: Guard
    analyst: str
    steward: bool = False

    @property
    def dataset(self) -> str:
        """The name of the data set in its ledger."""
        return self.guard.dataset

    @property
    def policy(self) -> Policy:
        """What is allowed now. It holds no other analyst's quota."""
        return Policy.stored(self.describe()["policy"])

    def describe(self) -> dict[str, Any]:
        """Return everything about the guard that this analyst may see, without the budgets and quotas of other
        analysts.
        """
        return stewarding.describe(self.guard.ledger, self.analyst) | {"engine": self.guard.engine}

    def ask(self, question: QuestionLike, *, key: str | None = None, epoch: EpochName = None) -> GuardedAnswer:
        """Answer one question, as `Guard.ask` does."""
        keys = None if key is None else [key]
        return self.guard._ask_all([question], self.analyst, keys, steward=self.steward, epoch=epoch)[0]

    def ask_all(
        self, questions: Sequence[QuestionLike], *, key: str | None = None, epoch: EpochName = None
    ) -> list[GuardedAnswer]:
        """Answer several questions that were chosen together, as `Guard.ask_all` does. One `key` covers all of them."""
        keys = batch_keys(key, len(questions))
        return self.guard._ask_all(questions, self.analyst, keys, steward=self.steward, epoch=epoch)

    def estimate(self, question: QuestionLike, *, epoch: EpochName = None) -> Estimate:
        """Return what a question would cost, and how wide its interval would be, if it were asked next. Nothing is
        spent.
        """
        return self.guard.estimate(question, analyst=self.analyst, epoch=epoch)

    def sql(self, statement: str, *, key: str | None = None, spend: Cost | None = None) -> SqlAnswer:
        """Answer a question in SQL, as `Guard.sql` does."""
        return self.guard.sql(statement, analyst=self.analyst, key=key, spend=spend)

    def practice(self, variant: int = 0) -> LocalAnalystGuard:
        """Return the same guard over made-up rows, as `Guard.practice` makes it."""
        return LocalAnalystGuard(self.guard.practice(variant), self.analyst)

    def explain(self, statement: str, *, spend: Cost | None = None) -> SqlEstimate:
        """Return what a statement would cost in all. Spends nothing."""
        return self.guard.explain(statement, analyst=self.analyst, spend=spend)

    def submit(
        self,
        given: Any,
        *,
        board: str | None = None,
        keys: Any = None,
        guess: float | None = None,
        tolerance: float | None = None,
        name: str = "",
        output: str | None = None,
        entry: int | None = None,
        key: str | None = None,
    ) -> GuardedAnswer:
        """Have predictions, or a model, scored against the hidden labels, as `AnalystGuard.submit` describes."""
        from holdfast.guard.questions.score import Score

        state = self.guard.ledger.look(GuardState.of)
        scored_on = chosen(state.policy.boards, board)
        file = Path(given) if isinstance(given, (str, Path)) else None
        is_model = file is not None and file.suffix.lower() == ".onnx"
        if not is_model and (output is not None or entry is not None):
            raise InvalidParameter("output and entry must be left out unless a model is submitted")
        submission: Any
        if file is None:
            submission = columns_of(given, keys, scored_on.key)
        elif is_model:
            from holdfast.guard.scoring.onnx.model import model_in

            submission = model_in(file, state.schema, state.explored, state.policy, output, entry)
        else:
            from holdfast.guard.scoring.files import predictions_in

            submission = predictions_in(file, scored_on, state.schema)
        return self.ask(Score(scored_on.name, submission, guess, tolerance, name), key=key)

    def leaderboard(self, board: str | None = None) -> Leaderboard:
        """Who is where on a board, as far as the intervals show. The name may be left out where there is one board."""
        return self.guard.leaderboard(chosen(self.guard.policy.boards, board).name)

    def remaining(self) -> dict[str, Any]:
        """Return what this analyst, and all together, may still ask."""
        return self.guard.remaining(self.analyst)

    def level(self, alpha: float = 0.05) -> float:
        """Return the level for the next p-value from these rows: a test that rejects at this level keeps `alpha` after
        all answers so far.
        """
        return self.guard.level(alpha, analyst=self.analyst)

    def adjusted(self, p: float) -> float:
        """Return the p-value `p` of a test on these rows, adjusted for everything that was released before; never below
        `p`.
        """
        return self.guard.adjusted(p, analyst=self.analyst)
