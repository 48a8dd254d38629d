"""Guards by their public ids: opened when they are first used, in each worker, and kept open."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, cast

from sqlalchemy import insert, update

from holdfast.accounting import Cost
from holdfast.errors import InvalidParameter, LedgerConflict, QuestionRefused, SampleUnavailable
from holdfast.guard import epochs, estimates, pipeline
from holdfast.guard.analyst import batch_keys
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.epochs import EpochName
from holdfast.guard.estimates import Estimate
from holdfast.guard.guard import Guard, practice_guard
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.store import Store
from holdfast.guard.pipeline import Batch, Request, Rows, Superseded
from holdfast.guard.policy import SCORE, Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.sql import Statement, compile_sql
from holdfast.guard.state import GuardState
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem
from holdfast.server.records import GUARDS, IDENTITY, TOKENS, Records, Taken, now
from holdfast.server.samples import Samples
from holdfast.server.scheduling import Coalescer, FreeWork

# --- Guards -----------------------------------------------------------------------------------------------------------

_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
"""Seconds until rows that are out of reach are looked for again: as long as looking took, and again, within these."""


class Guards:
    """The register of guards. What it knows of them is a name and a sample; all else is on their ledgers."""

    def __init__(self, records: Records, store: Store, samples: Samples) -> None:
        self._records, self._store, self._samples = records, store, samples
        self._rows: dict[str, Mapping[str, Any]] = {}
        self._open: dict[str, Guard] = {}
        self._mutex = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._lacking: dict[str, tuple[float, str]] = {}
        self._first: dict[str, str] = {}
        self._of_ledger: dict[str, str] = {}

    def create(
        self,
        name: str,
        sample: str,
        policy: Mapping[str, Any] | None,
        allow_overlap: str | None = None,
        caller: Caller | None = None,
    ) -> Mapping[str, Any]:
        """Put a sample behind a guard. `caller` must steward every guard that it is allowed to share rows with.

        A token that names guards names this one too from then on.
        """
        chosen = None if policy is None else Policy.from_dict(policy)
        known = self._samples.row(sample)
        for values, detail in (
            ({"name": name}, f"a guard is called {name!r} already"),
            (
                {"dataset": self._store.name_of(known["fingerprint"])},
                "a guard stands before these rows already, under whatever name",
            ),
        ):
            if self._records.get(GUARDS, **values) is not None:
                raise Problem("name-taken", detail)
        rows = self._samples.open(sample)
        try:
            rights = None if caller is None else partial(self._require_stewards, caller)
            guard = Guard.open(self._store, rows, chosen, allow_overlap=allow_overlap, rights=rights)
        except BaseException:
            rows.close()
            raise
        return self._register(guard, name, sample, caller)

    def _register(self, guard: Guard, name: str, sample: str, caller: Caller | None) -> Mapping[str, Any]:
        """Give an open guard an id; where the caller's token names guards, it names this one too from then on."""
        values = {
            "id": f"g_{secrets.token_hex(8)}",
            "name": name,
            "sample": sample,
            "dataset": guard.dataset,
            "created": now(),
        }
        try:
            with self._samples.held(sample) as connection:
                connection.execute(insert(GUARDS).values(values))
                if caller is not None and caller.guards is not None:
                    named = json.dumps(sorted({*caller.guards, values["id"]}))
                    connection.execute(update(TOKENS).where(TOKENS.c.id == caller.token).values(guards=named))
        except BaseException as error:
            guard.shut()
            if isinstance(error, Taken):
                raise Problem("name-taken", "a guard of that name, or of these rows, was made just now") from None
            raise
        with self._mutex:
            self._rows[values["id"]], self._open[values["id"]] = values, _pinned(guard)
        return values

    # --- Epochs -------------------------------------------------------------------------------------------------------
    # Each epoch of a guard is registered under an id and a name of its own. A token that reaches the first reaches all.

    def extend(self, identity: str, name: str, sample: str, caller: Caller) -> Mapping[str, Any]:
        """Open the next epoch of a guard over a registered sample, and register it under a name of its own."""
        self._samples.row(sample)
        if self._records.get(GUARDS, name=name) is not None:
            raise Problem("name-taken", f"a guard is called {name!r} already")
        known = [self._guard_of(ledger) for ledger in epochs.ledgers(self._store, self.chain(identity))]
        held = [rows for epoch in known if epoch is not None for rows in self.opened(epoch).samples]
        rows = self._samples.open(sample)
        try:
            rights = partial(self._require_stewards, caller)
            ledger = epochs.extend(self._store, self.chain(identity), rows, held, rights)
            guard = Guard(ledger, rows, None, self._store)
        except BaseException:
            rows.close()
            raise
        return self._register(guard, name, sample, None)

    def first(self, identity: str) -> str:
        """Return the id of the first epoch of a guard, which decides who reaches all of them."""
        if identity not in self._first:
            try:
                epoch = self.chain(identity).look(GuardState.of).epoch
            except (InvalidParameter, LedgerConflict):  # damaged: it belongs to nothing
                return identity
            row = None if epoch is None else self._records.get(GUARDS, dataset=epoch.first)
            self._first[identity] = identity if row is None else row["id"]
        return self._first[identity]

    def at_epoch(self, identity: str, epoch: EpochName | Literal["latest"]) -> tuple[str, tuple[str, ...]]:
        """Return the id that a question goes to, and those of the later epochs where it is about all of them.

        None is the epoch of the id itself. "latest" is the latest where the id is that of the first.
        """
        if epoch is None or (epoch == "latest" and self.first(identity) != identity):
            return identity, ()
        ledger = self.chain(identity)
        if epoch == "latest" and ledger.look(GuardState.of).successor is None:
            return identity, ()
        known = epochs.ledgers(self._store, ledger)
        if epoch == "latest":
            return self._registered(known[-1]), ()
        if epoch == epochs.ALL:
            first, *others = map(self._registered, known)
            return first, tuple(others)
        assert isinstance(epoch, int)
        return self._registered(epochs.at(self._store, ledger, epoch)), ()

    def epochs_of(self, identity: str) -> list[dict[str, Any]]:
        """Every epoch of a guard that was extended, with the id and the name that it has here; empty for one epoch."""
        listed = epochs.listed(self._store, self.chain(identity))
        rows = {row["dataset"]: row for row in self.rows()} if len(listed) > 1 else {}
        named = [(epoch, rows.get(epoch.dataset, {})) for epoch in listed if rows]
        return [epoch.to_dict() | {"id": row.get("id"), "name": row.get("name")} for epoch, row in named]

    def leader(self, identity: str) -> Ledger | None:
        """Return the ledger of the first epoch, for a later one; None for the first."""
        first = self.first(identity)
        return None if first == identity else self.chain(first)

    def with_rows(self, batch: Batch) -> Guard:
        """Return the guard that answers a batch, with the rows of all epochs that it is about."""
        guard, *others = (self.opened(self._registered(ledger)) for ledger in (batch.ledger, *batch.followers))
        return guard.together_with(others) if others else guard

    def _guard_of(self, ledger: Ledger) -> str | None:
        """The id of the guard of a ledger, which never changes."""
        identity = self._of_ledger.get(ledger.dataset)
        if identity is None and (row := self._records.get(GUARDS, dataset=ledger.dataset)) is not None:
            identity = self._of_ledger[ledger.dataset] = str(row["id"])
        return identity

    def _registered(self, ledger: Ledger) -> str:
        identity = self._guard_of(ledger)
        if identity is None:
            number = ledger.look(GuardState.of).number
            raise SampleUnavailable(
                f"epoch {number} was not opened on this server, so the server does not have its rows"
            )
        return identity

    def _require_stewards(self, caller: Caller, datasets: Sequence[str]) -> None:
        """Raise unless the caller may decide for the guards of these ledgers; which they are is not said."""
        known = {row["dataset"]: row["id"] for row in self.rows()}
        if not all(caller.stewards(known.get(dataset)) for dataset in datasets):
            raise Problem(
                "forbidden",
                "this data set shares rows with a guard that this token is no steward of; only a steward of both "
                "guards "
                "may allow that",
            )

    def row(self, identity: str) -> Mapping[str, Any]:
        """Return the record of a guard, which never changes."""
        if identity not in self._rows:
            row = self._records.get(GUARDS, id=identity) if IDENTITY.fullmatch(identity) else None
            if row is None:
                raise _absent()
            self._rows[identity] = row
        return self._rows[identity]

    def rows(self) -> list[Mapping[str, Any]]:
        """Return the records of all guards."""
        return [*self._records.all(GUARDS)]

    def ledger(self, identity: str, caller: Caller) -> Ledger:
        """Return the ledger of a guard that the caller reaches; no row of the sample is needed."""
        ledger = self.chain(identity)
        policy = None if caller.steward else ledger.look(GuardState.of).policy
        if not caller.reaches(self.first(identity), policy):
            raise _absent()
        return ledger

    def chain(self, identity: str) -> Ledger:
        """Return the ledger of a guard, for who asks by themselves whether a caller reaches it."""
        return self._store.ledger(self.row(identity)["dataset"])

    def guard(self, identity: str, caller: Caller) -> Guard:
        """Return a guard that the caller reaches, with its rows."""
        self.ledger(identity, caller)
        return self.opened(identity)

    def require(
        self, identity: str, caller: Caller, policy: Policy, question: Question | Mapping[str, Any] | None = None
    ) -> None:
        """Raise for a caller who does not reach a guard of this policy, or may not ask this question of it.

        What ends a run ends it for everybody, so it takes a steward; where histories are separate everybody ends their
        own, and a steward, who sees more than one of them, asks nothing.
        """
        if not caller.reaches(self.first(identity), policy):
            raise _absent()
        if policy.histories == "separate" and caller.steward and question is not None:
            raise QuestionRefused(
                "a steward cannot ask questions of this guard, because its analysts have separate histories and a "
                "steward sees all answers"
            )
        pipeline.require_may_end(policy, question, steward=caller.stewards(self.first(identity)))

    def slow(self, identity: str) -> bool:
        """Return whether the rows of a guard that this worker has opened take long to read."""
        guard = self._open.get(identity)
        return guard is not None and guard.slow

    def opened(self, identity: str) -> Guard:
        """Return a guard with its rows, opened if this worker has not yet."""
        guard = self._open.get(identity)
        if guard is not None:
            return guard
        with self._mutex:
            opening = self._opening.setdefault(identity, threading.Lock())
        with opening:
            guard = self._open.get(identity)
            if guard is None:
                guard = self._open[identity] = self._try(identity)
            return guard

    def _try(self, identity: str) -> Guard:
        """Open a guard. Where its rows are out of reach, those who ask next are told so without looking again.

        To look may mean to read all rows; who waits for it one after the other would hold every thread.
        """
        until, words = self._lacking.get(identity, (0.0, ""))
        if time.monotonic() < until:
            raise SampleUnavailable(words)
        begun = time.monotonic()
        try:
            row = self.row(identity)
            guard = _pinned(Guard.open(self._store, self._samples.open(row["sample"])))
            if guard.dataset != row["dataset"]:
                guard.shut()
                raise SampleUnavailable("the data set no longer has the rows with which it was registered")
        except SampleUnavailable as error:
            ended = time.monotonic()
            self._lacking[identity] = ended + min(max(2 * (ended - begun), _PAUSE), _LONGEST_PAUSE), str(error)
            raise
        self._lacking.pop(identity, None)
        return guard

    def renew(self, identity: str, failed: Guard) -> None:
        """Open a file's sample again when it is next asked: what was there may be there again.

        The one that failed is let go of and not shut: others may be reading it, and its files are closed with the last
        of them. One that was opened since stays. A database connects again by itself, and reading all of its rows once
        more would cost too much.
        """
        if failed.reopens:
            with self._mutex:
                if self._open.get(identity) is failed:
                    del self._open[identity]

    def close(self) -> None:
        """Let go of every sample."""
        with self._mutex:
            guards, self._open = list(self._open.values()), {}
        for guard in guards:
            guard.shut()


def _pinned(guard: Guard) -> Guard:
    """The guard of one epoch: an id means that epoch, whatever comes after it."""
    return guard.at(guard.number)


def _absent() -> Problem:
    return Problem("not-found", "there is no such guard for this token")


# --- Asking -----------------------------------------------------------------------------------------------------------
# Asking guards for callers: single questions that wait at the same moment go through the pipeline together.
#
# Each of them is decided by itself, as if it had come alone. Without load nobody waits for anybody.

GROUPS, HEAD_START = 2, 0.1
"""Groups of one guard at work, and seconds that one is alone: large ones cost less, a slow one holds nobody up."""

Outcomes = list[GuardedAnswer | Exception]


class Asking:
    """Asks guards. `work` calls something that blocks on one of the worker's threads, of which there are `threads`."""

    def __init__(self, guards: Guards, free: FreeWork, work: Callable[..., Awaitable[Any]], threads: int) -> None:
        self._guards, self._free, self._work, self._threads = guards, free, work, threads
        self._by_guard: dict[str, Coalescer[Request, GuardedAnswer]] = {}

    async def estimate(
        self, guard: str, caller: Caller, question: Mapping[str, Any], epoch: EpochName | Literal["latest"] = None
    ) -> Estimate:
        """What a question would cost and give; free, and so bounded by the caller's allowance."""

        def work() -> Estimate:
            self._guards.ledger(guard, caller)
            target, followers = self._guards.at_epoch(guard, epoch)
            others = tuple(map(self._guards.chain, followers))
            opened = self._guards.opened(target)
            return estimates.of_question(opened.ledger, Request(question, caller.name), others)

        light = self._free.is_light([question])
        return (await self._free.run(caller.name, light, work))[0]

    async def ask(
        self, guard: str, caller: Caller, question: Mapping[str, Any], key: str | None, epoch: EpochName = None
    ) -> GuardedAnswer:
        """Answer one question: with those of others, unless its expressions are large or it is a submission.

        Without an epoch the id of the first epoch of a guard means the latest.
        """
        self._free.require(caller.name)
        # Predictions are read against a column of the rows before they are paid for: that holds nobody else up.
        if epoch is not None or question.get("kind") == SCORE or not self._free.is_light([question]):
            named = "latest" if epoch is None else epoch
            return (await self.ask_all(guard, caller, [question], None if key is None else [key], named))[0]
        return await self.coalesced(guard, request_of(self._guards, guard, caller, question, key))

    async def coalesced(self, guard: str, request: Request) -> GuardedAnswer:
        """Answer a question with those of others that wait for the same guard."""
        coalescer = self._by_guard.get(guard)
        if coalescer is None:
            # Nothing is left behind when nobody asks any more: addresses that are no guard are for anybody to make up.
            coalescer = self._by_guard[guard] = Coalescer(
                partial(self._work, self.ask_each, guard), when_idle=lambda: self._by_guard.pop(guard, None)
            )
        # Slow rows are read by as many as there are threads; quick ones are better read for many at once.
        slow = self._guards.slow(guard)
        coalescer.at_once, coalescer.head_start = (self._threads, 0.0) if slow else (GROUPS, HEAD_START)
        return await coalescer(request)

    def ask_each(self, guard: str, requests: Sequence[Request]) -> Outcomes:
        """Answer questions of callers who know nothing of each other, on the thread that calls this.

        What is refused, or was answered before, is free work, and is charged to the allowance of who asked it.
        """
        begun = time.thread_time()
        outcomes = answer(self._guards, *self._checked(guard, requests))
        each = (time.thread_time() - begun) / len(requests)
        for request, outcome in zip(requests, outcomes, strict=True):
            if isinstance(outcome, Exception) or outcome.repeated:
                self._free.charge(request.analyst, each)
        return outcomes

    def _checked(self, guard: str, requests: Sequence[Request]) -> tuple[str, Batch]:
        """Check questions to the latest epoch of a guard. Most guards have one: whether there is another is seen while
        the questions are checked, and not before.
        """
        guards = self._guards
        if guards.first(guard) == guard:
            with suppress(Superseded):
                return guard, pipeline.check(guards.chain(guard), requests, together=False, latest=True)
        target, _ = guards.at_epoch(guard, "latest")
        return target, pipeline.check(guards.chain(target), requests, together=False, leader=guards.leader(target))

    async def explain(
        self, guard: str, caller: Caller, statement: str, spend: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """What a statement would cost and give; free, and so bounded by the caller's allowance."""

        def work() -> dict[str, Any]:
            cost = None if spend is None else Cost.from_dict(dict(spend))
            return self._guards.guard(guard, caller).explain(statement, analyst=caller.name, spend=cost).to_dict()

        return (await self._free.run(caller.name, False, work))[0]

    async def sql(
        self, guard: str, caller: Caller, statement: str, spend: Mapping[str, Any] | None, key: str | None
    ) -> tuple[Statement, list[GuardedAnswer]]:
        """Answer a statement: reading it is free work, and its questions are asked together."""

        def work() -> Statement:
            state = self._guards.ledger(guard, caller).look(GuardState.of)
            return compile_sql(statement, state.schema, state.policy, state.explored, spend)

        compiled = (await self._free.run(caller.name, False, work))[0]
        if not compiled.questions:
            return compiled, []
        return compiled, await self.ask_all(guard, caller, compiled.questions, batch_keys(key, len(compiled.questions)))

    async def practise_sql(
        self, guard: str, caller: Caller, statement: str, spend: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Answer a statement on practice rows, made from the declared schema: marked, kept nowhere, at no cost."""

        def work() -> dict[str, Any]:
            standing = self._guards.ledger(guard, caller).look(GuardState.of)
            practice = practice_guard(standing.schema, standing.policy, standing.explored)
            cost = None if spend is None else Cost.from_dict(dict(spend))
            compiled = compile_sql(statement, standing.schema, standing.policy, standing.explored, spend)
            table = practice.sql(statement, analyst=caller.name, spend=cost)
            return {"questions": list(compiled.questions), "practice": True} | table.to_dict()

        return (await self._free.run(caller.name, False, work))[0]

    async def ask_all(
        self,
        guard: str,
        caller: Caller,
        questions: Sequence[Question | Mapping[str, Any]],
        keys: Sequence[str] | None,
        epoch: EpochName | Literal["latest"] = None,
    ) -> list[GuardedAnswer]:
        """Answer questions of one caller that were chosen together. Where the rows are out of reach, from the ledger.

        Checking them is free work until they are paid for; what was paid for is given back. So is reading the rows for
        one that is refused.
        """
        light = self._free.is_light(questions)
        check = partial(check_all, self._guards, guard, caller, questions, keys, epoch)
        batch, seconds = await self._free.run(caller.name, light, check)

        def settle() -> list[GuardedAnswer]:
            with self._free.charging_refusals(caller.name):
                return cast(list[GuardedAnswer], answer(self._guards, guard, batch))

        answers: list[GuardedAnswer] = await self._work(settle)
        new = sum(not answer.repeated for answer in answers)
        self._free.charge(caller.name, -seconds * new / len(answers))
        return answers


def request_of(
    guards: Guards, guard: str, caller: Caller, question: Question | Mapping[str, Any], key: str | None
) -> Request:
    """A question under the name of a token; whether the token reaches the guard is decided by the guard's policy."""
    return Request(question, caller.name, key, partial(guards.require, guard, caller, question=question))


def check_all(
    guards: Guards,
    guard: str,
    caller: Caller,
    questions: Sequence[Question | Mapping[str, Any]],
    keys: Sequence[str] | None,
    epoch: EpochName | Literal["latest"] = None,
) -> Batch:
    """Check questions of one caller that were chosen together; they go to one epoch, or to all of them."""
    target, followers = guards.at_epoch(guard, epoch)
    each = [None] * len(questions) if keys is None else keys
    requests = [request_of(guards, guard, caller, *pair) for pair in zip(questions, each, strict=True)]
    others = [guards.chain(follower) for follower in followers]
    leader = guards.leader(target)
    return pipeline.check(guards.chain(target), requests, together=True, followers=others, leader=leader)


def answer(guards: Guards, guard: str, batch: Batch) -> Outcomes:
    """Answer questions that were checked; rows that turn out to be out of reach are opened again for the next ones."""
    opened: list[Guard] = []

    def rows_of(batch: Batch) -> Rows:
        opened.append(guards.with_rows(batch))
        return opened[0].rows_of(batch)

    outcomes: Outcomes = []
    try:
        outcomes = pipeline.answer(rows_of, batch)
        return outcomes
    except SampleUnavailable as lacking:
        outcomes = [lacking]
        raise
    finally:
        if opened and any(isinstance(outcome, SampleUnavailable) for outcome in outcomes):
            guards.renew(guard, opened[0])


def ask_all(
    guards: Guards,
    guard: str,
    caller: Caller,
    questions: Sequence[Question | Mapping[str, Any]],
    keys: Sequence[str] | None,
) -> list[GuardedAnswer]:
    """Answer questions of one caller on the thread that calls this: for those that hold no expression to check."""
    return cast(list[GuardedAnswer], answer(guards, guard, check_all(guards, guard, caller, questions, keys)))
