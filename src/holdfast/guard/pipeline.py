"""The ask pipeline: bind, look up, admit, prepay, measure, settle, release.

Every question takes these steps, whether it was asked alone, in a batch that was chosen together, or at the same time
as the questions of strangers:

1. *Bind* it to the guard's schema and policy. No row is touched.
2. *Look up* whether the ledger has its answer. A stored answer is free.
3. *Admit* it if its cost fits into what is left; refuse it otherwise.
4. *Prepay*: where reading the rows takes long, the ledger takes payment first, so that a crash meanwhile cannot repeat
   the reading unpaid.
5. *Measure* the exact statistics, outside of the ledger's lock. The rows are read once for all questions at hand.
6. *Settle*: alone on the ledger, admit again by what is true now, make the answer and store it with its cost. Answer
   and payment become durable in one commit.
7. *Release* what is durable.

`check` takes the first three steps and spends nothing; `answer` takes the others. The ledger decides again in `settle`:
what `check` finds saves work, and decides nothing.

Questions that were *chosen together* are one transaction: if their costs do not fit together, none is answered. The
questions of strangers are decided one by one, in order, as if each had come alone: an error belongs to its question and
touches no other. They share a reading of the rows and a commit.

A question about all epochs of a guard takes the same steps on the ledger of the first epoch, with the rows of all. The
ledgers of the other epochs are prepaid before the rows are read, and record the answer before it is released.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from holdfast.core.checkpoint import checkpoint
from holdfast.core.guarantee import Guarantee
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.data.statistics.request import Plan
from holdfast.errors import (
    BudgetExhausted,
    GuaranteeUnavailable,
    HoldfastError,
    InvalidParameter,
    LedgerConflict,
    LedgerUnavailable,
    QuestionRefused,
    SampleUnavailable,
)
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.guard_budget import budget_of
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.entry import Entry, check_name, number_of
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.ledger.seats import take_seat
from holdfast.guard.ledger.transaction import Keys, Questions, Transaction, View
from holdfast.guard.policy import PRIVATE, Policy
from holdfast.guard.questions.base import BoundQuestion, Hidden, Question, Settled, Situation
from holdfast.guard.questions.reveal import exact_name
from holdfast.guard.scoring import ladder
from holdfast.guard.state import FORMAT, Accounts, GuardState, PooledState, Progress, read_account
from holdfast.holdout.error_budget import Course, Message, Price
from holdfast.noise.entropy import Source

MEASURED = faults.point("guard.measured", "the statistic was computed; nothing was paid, or it was prepaid")
PREPAID = faults.point("guard.reserved", "a slow question was paid for; nothing was computed")
SETTLED = faults.point("guard.settled", "the answer is durable; it was not released")

PATIENCE = 10.0
"""Seconds for reading the rows once more for each question alone, after reading them for all has failed."""

_CHECKED_AT_ONCE = 16
"""Questions of a batch that are bound before the ledger is asked whether they still fit."""
_SLOW_SECONDS = 0.25
_SHOWS_NOTHING = "shows_nothing"
"""What an entry says of a submission or a choice that was taken for a final and that showed nothing of the rows."""
_REFUSALS = (BudgetExhausted, GuaranteeUnavailable, InvalidParameter, LedgerConflict, QuestionRefused)


# --- What goes through the pipeline -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """A question, who asks it, and the key that makes a retry the same question.

    `allowed` takes the policy and raises where the asker may not ask. It is called before anything else is said.
    """

    question: Question | Mapping[str, Any]
    analyst: str
    key: str | None = None
    allowed: Callable[[Policy], None] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class BoundRequest:
    """A request whose question was bound to the schema and the policy of a guard.

    `overrides` is how often the policy had been changed when the question was bound to it. `owner` is whose stored
    answer comes back, free: the analyst's own, or with None anybody's (`Policy.repeats`). `earlier` is the digest that
    earlier versions gave the same words, where it was another: a retry with the key of then finds its answer.
    `followers` are the ledgers of the later epochs, for a question about all of them.
    """

    bound: BoundQuestion
    analyst: str
    key: str | None = None
    overrides: int = 0
    owner: str | None = None
    earlier: str | None = None
    followers: tuple[Ledger, ...] = field(default=(), repr=False)

    @property
    def identity(self) -> tuple[str | None, str]:
        """What the ledger looks it up by: two requests of one identity are one question, answered once."""
        return self.owner, self.bound.digest


@dataclass(frozen=True)
class StoredAnswer:
    """The entry that answers a question, and whether it was there before.

    Whoever writes an entry decides alone that it is new. So of all who get one entry, one is told that it is.
    """

    entry: Entry
    repeated: bool


@dataclass(eq=False)
class _Item:
    """One question of a batch: what it is, what it is answered from, and what became of it."""

    request: Request
    checked: BoundRequest | None = None
    prepaid: Entry | None = None
    prepared: Any = field(default=None, repr=False)
    stored: StoredAnswer | None = None
    error: Exception | None = None

    @property
    def bound(self) -> BoundRequest:
        """The bound request, once there is one."""
        assert self.checked is not None
        return self.checked

    @property
    def open(self) -> bool:
        """Whether it has neither an answer nor an error."""
        return self.stored is None and self.error is None


@dataclass(eq=False)
class Batch:
    """Questions on their way through the pipeline of one ledger.

    `together` says that one analyst chose them together: all are admitted or none is, and an error is raised. Otherwise
    each is decided by itself, and an error is kept with its question. `followers` are the ledgers of the later epochs,
    for a question about all of them; `ledger` is then that of the first.
    """

    ledger: Ledger
    items: list[_Item]
    together: bool
    followers: tuple[Ledger, ...] = ()

    @property
    def open(self) -> list[_Item]:
        """The questions that have neither an answer nor an error: those that the rows are needed for."""
        return [item for item in self.items if item.open]

    def attempt(self, item: _Item, step: Callable[[], object]) -> None:
        """Take one step with one question; a ledger that is out of reach is so for all of them."""
        try:
            step()
        except LedgerUnavailable:
            raise
        except Exception as error:
            if self.together:
                raise
            item.error = error

    @property
    def leaders(self) -> list[_Item]:
        """The first open item of each question: it pays, and those that follow are free."""
        first: dict[tuple[str | None, str], _Item] = {}
        for item in self.open:
            first.setdefault(item.bound.identity, item)
        return list(first.values())


@dataclass(eq=False)
class _Lookup:
    """What was found of the questions of a batch so far: those before in the line, and what they will be charged."""

    identities: set[tuple[str | None, str]] = field(default_factory=set)
    keys: set[tuple[str, str | None]] = field(default_factory=set)
    charged: Accounts | None = None


class Rows:
    """A sample that questions are measured on. It remembers how long the last reading took."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.slow_seconds = _SLOW_SECONDS
        self._seconds = 0.0

    @property
    def slow(self) -> bool:
        """Whether reading takes so long that questions are prepaid: a crash meanwhile should not repeat it unpaid."""
        return not self.sample.quick or self._seconds > self.slow_seconds

    def check(self, request: BoundRequest) -> None:
        """Refuse, before anything is paid, what these rows or their engine cannot be asked."""
        request.bound.check_public(self.sample)
        self.sample.check_plans([statistic.plan(self.sample.schema) for statistic in request.bound.statistics])

    def measure(self, requests: Sequence[BoundRequest]) -> list[Any]:
        """Read the rows once for all of these, and prepare what each will be answered from. Secret."""
        begun = time.monotonic()
        statistics = [statistic for request in requests for statistic in request.bound.statistics]
        measured = self.sample.measure(statistics) if statistics else []
        gathered = [request.bound.gather(self.sample) for request in requests]
        self._seconds = time.monotonic() - begun
        faults.reach(MEASURED)
        prepared: list[Any] = []
        place = 0
        for request, rows in zip(requests, gathered, strict=True):
            end = place + len(request.bound.statistics)
            prepared.append(request.bound.prepare([*measured[place:end], *rows], self.sample.n))
            place = end
        return prepared


class SeveralRows(Rows):
    """The rows of all epochs as one sample: exact statistics add up.

    Every part is read by itself, one after the other.
    """

    def __init__(self, parts: Sequence[Rows]) -> None:
        super().__init__(parts[0].sample)
        self._parts = tuple(parts)

    @property
    def slow(self) -> bool:
        """Whether reading takes so long that questions are prepaid."""
        return any(part.slow for part in self._parts)

    def measure(self, requests: Sequence[BoundRequest]) -> list[Any]:
        """Read the rows of every epoch, add up what was measured, and prepare what is answered from it. Secret."""
        statistics = [statistic for request in requests for statistic in request.bound.statistics]
        planned: dict[Schema, list[Plan]] = {}  # most epochs have one schema, and to plan takes longer than to add up
        read = []
        for part in self._parts:
            schema = part.sample.schema
            if schema not in planned:
                planned[schema] = [statistic.plan(schema) for statistic in statistics]
            read.append(part.sample.add_up(planned[schema]))
        sums = iter([tuple(map(sum, zip(*parts, strict=True))) for parts in zip(*read, strict=True)])
        n = sum(part.sample.n for part in self._parts)
        faults.reach(MEASURED)
        return [request.bound.prepare([next(sums) for _ in request.bound.statistics], n) for request in requests]


class Superseded(Exception):
    """Questions to the latest epoch came to one that is not the latest any more; nothing was done with them."""


# --- The pipeline -----------------------------------------------------------------------------------------------------


def check(
    ledger: Ledger,
    requests: Sequence[Request],
    *,
    together: bool,
    followers: Sequence[Ledger] = (),
    leader: Ledger | None = None,
    latest: bool = False,
) -> Batch:
    """Bind, look up and admit questions; no row is read and nothing is spent.

    A batch that was chosen together ends at the first question that does not fit, so that one that is far too large is
    refused early. Its expressions may be large: they are bound while no view of the ledger is open.

    `followers` are the ledgers of the later epochs, for one question about all epochs. `leader` is the ledger of the
    first epoch, where `ledger` is that of a later one. `latest` raises `Superseded` where strangers' questions come to
    an epoch that has a successor.
    """
    batch, lookup = Batch(ledger, [_Item(request) for request in requests], together, tuple(followers)), _Lookup()
    for follower in followers if leader is None else (ledger,):
        record_shared(ledger if leader is None else leader, follower)
    if together:
        _require_alone(requests)
        if followers and len(requests) > 1:
            raise InvalidParameter("questions must be asked one at a time if epoch is 'all'; nothing was spent")
        state = ledger.look(partial(state_of, followers=batch.followers))
        for first in range(0, len(batch.items), _CHECKED_AT_ONCE):
            some = batch.items[first : first + _CHECKED_AT_ONCE]
            for item in some:
                _bind(batch, item, state, ledger.look)
            is_last = first + _CHECKED_AT_ONCE >= len(batch.items)
            ledger.look(partial(_look_up, batch=batch, items=some, lookup=lookup, warm=is_last))
    elif batch.items:
        ledger.look(lambda view: _check_each(view, batch, lookup, latest))
    return batch


def answer(rows_of: Callable[[Batch], Rows], batch: Batch) -> list[GuardedAnswer | Exception]:
    """Answer questions that were checked: prepay where the rows are slow, measure, settle and release.

    In the place of a question that is not answered stands its error; a batch that was chosen together raises it.
    `rows_of` is called where a question needs the rows. If it raises `SampleUnavailable`, what was answered before
    comes from the ledger alone, and a new question gets that error.
    """
    if not batch.open:
        return release(batch)
    try:
        rows = rows_of(batch)
    except SampleUnavailable as lacking:
        for item in batch.open:
            if batch.together:
                raise
            item.error = SampleUnavailable(*lacking.args)
        return release(batch)
    for item in batch.open:
        batch.attempt(item, partial(rows.check, item.bound))
        if item.open and item.bound.bound.ends_run:
            batch.attempt(item, partial(_read_history, batch.ledger, item.bound))
    if batch.open:
        if batch.followers:
            _prepay_followers(batch)
        if rows.slow:
            _prepay(batch)
            faults.reach(PREPAID)
        _measure(rows, batch)
        if not any(item.prepaid for item in batch.open):  # what was prepaid is finished, so that a retry finds it
            checkpoint()
        _settle(batch)
        for follower in batch.followers:
            record_shared(batch.ledger, follower)
    return release(batch)


def release(batch: Batch) -> list[GuardedAnswer | Exception]:
    """Return the stored answer or the error of each question, once all of them have one."""
    repeated = [item.stored.entry for item in batch.items if item.stored is not None and item.stored.repeated]
    now = batch.ledger.look(lambda view: _what_is_true_now(view, repeated)) if repeated else {}
    outcomes: list[GuardedAnswer | Exception] = []
    for item in batch.items:
        if item.error is not None:
            outcomes.append(item.error)
        else:
            assert item.stored is not None
            outcomes.append(_released(batch.ledger, item.stored, now))
    return outcomes


_Now = dict[int, tuple[bool, str]]
"""Of stored answers by their numbers: whether a better submission came since, and what makes them doubtful."""


def _what_is_true_now(view: View, entries: Sequence[Entry]) -> _Now:
    state = GuardState.of(view)
    return {entry.sequence: (ladder.beaten(view, entry), state.doubt(entry.sequence)) for entry in entries}


def _released(ledger: Ledger, stored: StoredAnswer, now: _Now) -> GuardedAnswer:
    """What an entry answers, with its receipt where the ledger is signed; a repeat says what is true of it now."""
    entry, body = stored.entry, stored.entry.body
    receipt = None if ledger.key is None else Receipt.of(entry, ledger.key, body).to_dict()
    answer = GuardedAnswer.stored(body["answer"], number_of(entry), stored.repeated, receipt, body["question"])
    if not stored.repeated:
        return answer
    beaten, doubt = now[entry.sequence]
    return (answer.beaten() if beaten else answer).doubted(doubt)


def _read_history(ledger: Ledger, request: BoundRequest) -> None:
    """Have a question that ends the run read what it will reveal."""
    state = ledger.look(GuardState.of)
    accounts = ledger.look(lambda view: Accounts.of(view, state.policy, request.analyst))
    request.bound.read_history(ledger, accounts.acting(state.policy).progress)


# --- The steps of a batch ---------------------------------------------------------------------------------------------


def _check_each(view: View, batch: Batch, lookup: _Lookup, latest: bool) -> None:
    """Bind, look up and admit the questions of strangers in one view of the ledger."""
    state = GuardState.of(view)
    if latest and state.successor is not None:
        raise Superseded
    for item in batch.items:
        _bind(batch, item, state, lambda read: read(view))
    _look_up(view, batch, batch.items, lookup)


def require_may_end(policy: Policy, question: Question | Mapping[str, Any] | None, *, steward: bool) -> None:
    """Refuse what ends the run for everybody to all but stewards; where histories are separate, everybody ends theirs.

    Examples
    --------
    >>> require_may_end(Policy(), {"kind": "close"}, steward=False)
    Traceback (most recent call last):
        ...
    holdfast.errors.QuestionRefused: only a steward of this guard may ask a close, because it ends the run for all ...
    """
    kind = _kind_of(question)
    if policy.histories == "together" and not steward and kind is not None and kind.ends_run:
        raise QuestionRefused(
            f"only a steward of this guard may ask a {kind.kind}, because it ends the run for all analysts; nothing "
            "was spent"
        )


def _kind_of(question: Question | Mapping[str, Any] | None) -> type[Question] | None:
    """The kind of a question, where there is one of its name."""
    kind = question.get("kind") if isinstance(question, Mapping) else getattr(question, "kind", None)
    return Question.kinds().get(kind) if isinstance(kind, str) else None


def _require_alone(requests: Sequence[Request]) -> None:
    """Refuse a batch with a question that ends the run: it reveals all others, and so has to come after them."""
    for request in requests if len(requests) > 1 else ():
        kind = _kind_of(request.question)
        if kind is not None and kind.ends_run:
            raise QuestionRefused(f"a {kind.kind} must be asked alone, after all other questions; nothing was spent")


_Look = Callable[[Callable[[View], Any]], Any]
"""Reads in a view of the ledger."""


def _bind(batch: Batch, item: _Item, state: GuardState, look: _Look) -> None:
    """Bind a question; one that is refused by now, and was answered under its key, has that answer."""

    def step() -> None:
        checkpoint()
        try:
            item.checked = look(partial(in_phase, state=state, request=bind(item.request, state)))
        except (InvalidParameter, QuestionRefused):
            entry = look(partial(find_retried, state=state, request=item.request))
            if entry is None:
                raise
            item.stored = StoredAnswer(entry, repeated=True)

    batch.attempt(item, step)


def _look_up(view: View, batch: Batch, items: Sequence[_Item], lookup: _Lookup, *, warm: bool = True) -> None:
    """Find the questions that were answered before, and refuse those that do not fit; warm what is left at the end."""
    view.expect(*_wanted(items))
    state = state_of(view, batch.followers)

    def step(item: _Item) -> None:
        checkpoint()
        entry = find_answer(view, item.bound)
        if entry is not None:
            item.stored = StoredAnswer(entry, repeated=True)
        # One that follows the same question will cost nothing if that is answered: the ledger says.
        elif item.bound.identity not in lookup.identities and find_prepayment(view, item.bound) is None:
            item.checked, charged = admit_somehow(view, state, item.bound, lookup.charged)
            lookup.charged = charged if batch.together else None

    for item in items:
        if not item.open:
            continue
        name = item.request.analyst, item.request.key
        # A key that somebody before in the line will have used may stand for another question then: the ledger says.
        if item.request.key is None or name not in lookup.keys:
            batch.attempt(item, partial(step, item))
        if item.open:  # one that was refused leads nobody
            lookup.identities.add(item.bound.identity)
            lookup.keys.add(name)
    if warm:
        _warm(view, batch)


def _warm(view: View, batch: Batch) -> None:
    """Compute the error allocations that the questions will most likely have, outside of the ledger's lock.

    Others may ask meanwhile. Then the run stands elsewhere, mostly in the same cell of the grid that allocations are
    rounded to, and what was computed here still serves. Once the questions were measured, only those kinds are warmed
    again whose allocation depends on it.
    """
    state, leaders = state_of(view, batch.followers), batch.leaders
    if not leaders:
        return
    accounts = Accounts.of(view, state.policy, leaders[0].bound.analyst)
    warmed: set[object] = set()

    def step(bound: BoundQuestion, prepared: Any) -> None:
        checkpoint()
        bound.warm(situation_of(state, accounts), prepared)

    for item in leaders:
        bound = item.bound.bound
        if accounts.analyst != item.bound.analyst and state.policy.histories == "separate":
            accounts = Accounts.of(view, state.policy, item.bound.analyst)
        if bound.cost is not None and accounts.whole.spent is not None:
            accounts = replace(accounts, whole=accounts.whole.charge(bound.cost, None, ""))
        # Most kinds need the allocation alone, which questions of one cost share for a while.
        late = item.prepared is not None
        cell: object = item
        if type(bound).warm is BoundQuestion.warm:
            cell = bound.cost, item.bound.owner, round(8 * math.log2(accounts.whole.progress.answered + 1))
        if cell not in warmed and (bound.warms_late or not late):
            warmed.add(cell)
            batch.attempt(item, partial(step, bound, item.prepared))
        if state.policy.histories == "together" and item is not leaders[-1]:
            accounts = accounts.settle(state.policy, None if bound.cost is not None else Message(True))


def _prepay(batch: Batch) -> None:
    """Have the ledger take payment for the open questions; one that several ask is paid for by the first of them."""
    items = batch.leaders
    keys, questions = _wanted(items)
    works = [partial(prepay, request=item.bound) for item in items]
    entries: Sequence[Entry | Exception]
    if batch.together:
        entries = batch.ledger.submit(
            lambda transaction: [work(transaction) for work in works], keys=keys, questions=questions
        )
    else:
        entries = batch.ledger.submit_each(works, keys=keys, questions=questions)
    for item, entry in zip(items, entries, strict=True):
        if isinstance(entry, Exception):
            item.error = entry
        else:
            item.prepaid = entry


def _measure(rows: Rows, batch: Batch) -> None:
    """Read the rows for all open questions at once.

    Where that fails for strangers, the rows are read for each of them alone, so that nobody bears another's error. Rows
    that take long to fail are not tried again for everybody who waits: a thread would be held for minutes.
    """
    items = batch.open
    if not items:
        return
    # What one analyst asks twice in a batch is measured once.
    requests = {(item.bound.analyst, item.bound.identity): item.bound for item in items}
    try:
        prepared = dict(zip(requests, rows.measure(list(requests.values())), strict=True))
        for item in items:
            item.prepared = prepared[item.bound.analyst, item.bound.identity]
    except Exception:
        if batch.together:
            raise
        end = time.monotonic() + PATIENCE

        def alone(item: _Item) -> None:
            if time.monotonic() > end:
                raise SampleUnavailable("the rows could not be read in time; ask again with the same key")
            (item.prepared,) = rows.measure([item.bound])

        for item in items:
            batch.attempt(item, partial(alone, item))
    if any(item.bound.bound.warms_late for item in batch.open):
        batch.ledger.look(lambda view: _warm(view, batch))


def _settle(batch: Batch) -> None:
    """Have the ledger answer the open questions."""
    items = batch.open
    keys, questions = _wanted(items)
    works = [partial(settle, request=item.bound, prepared=item.prepared, prepaid=item.prepaid) for item in items]
    stopped: HoldfastError | None = None
    outcomes: Sequence[StoredAnswer | Exception]
    if batch.together:
        unpaid = [item.bound for item in batch.leaders if item.prepaid is None]
        analyst = items[0].bound.analyst
        work = partial(_settle_together, works=works, unpaid=unpaid if len(items) > 1 else (), analyst=analyst)
        outcomes, stopped = batch.ledger.submit(work, keys=keys, questions=questions)
    else:
        outcomes = batch.ledger.submit_each(works, keys=keys, questions=questions)
    faults.reach(SETTLED)
    if stopped is not None:
        many = len({outcome.entry.sequence for outcome in outcomes if isinstance(outcome, StoredAnswer)})
        raise type(stopped)(
            f"{stopped}; the {many} questions before this one in the batch were answered, and asking them again is free"
        )
    for item, outcome in zip(items, outcomes, strict=True):
        if isinstance(outcome, Exception):
            item.error = outcome
        else:
            item.stored = outcome


def _settle_together(
    transaction: Transaction,
    works: Sequence[Callable[..., StoredAnswer]],
    unpaid: Sequence[BoundRequest],
    analyst: str,
) -> tuple[list[StoredAnswer], HoldfastError | None]:
    """Answer questions that were chosen together; how many there were room for, and why the next one was refused.

    Whether the costs of all that were not prepaid fit together is public and decided first: if not, nothing happens.
    Whether a later one can be answered may also depend on how the noiseless questions before it came out. Then those
    answers must stand: to take them back, and say why, would tell about the rows for nothing.
    """
    _admit_all(transaction, unpaid)
    state = GuardState.of(transaction)
    prior = Accounts.of(transaction, state.policy, analyst).acting(state.policy).progress
    answers: list[StoredAnswer] = []
    for work in works:
        try:
            answers.append(work(transaction, prior=prior.course))
        except _REFUSALS as refusal:
            if not answers:
                raise
            return answers, refusal
    return answers, None


def _wanted(items: Sequence[_Item]) -> tuple[Keys, Questions]:
    """The keys and questions that the ledger will be asked for, to be fetched at once."""
    requests = [item.bound for item in items if item.open]
    keys = [(request.analyst, request.key) for request in requests if request.key is not None]
    return keys, [request.identity for request in requests]


# --- The steps of one question, on one moment of the ledger -----------------------------------------------------------


def bind(request: Request, state: GuardState) -> BoundRequest:
    """Check a question and who asks it against the policy and the schema; nothing of the sample is touched."""
    policy, analyst = state.policy, request.analyst
    _require_asker(policy, request)
    if request.key is not None:
        check_name("key", request.key)  # before it is looked up together with those of others
    question = request.question
    question = question if isinstance(question, Question) else Question.from_dict(question)
    if question.kind not in (policy.kinds or ()) and not _steward_may(policy, question):
        allowed = ", ".join(policy.kinds or ())
        mixed = policy.privacy is None and policy.answers == "mixed"
        why = "; noise needs `privacy` in a policy" if mixed and question.kind in PRIVATE else ""
        raise QuestionRefused(f"the policy of this guard does not allow a {question.kind}; it allows {allowed}{why}")
    if policy.all_private and question.answered == "either" and not question.is_private(question.to_dict()):
        raise QuestionRefused(
            "guess must be left out, because the policy answers only with noise (all_private), and a guess would be "
            f"checked without noise; ask for the {question.kind} without a guess. Nothing was spent"
        )
    bound = question.bind(state.schema, state.explored, policy).by(analyst)
    owner = analyst if policy.repeats == "asker" else None
    before = None if request.key is None else question.as_earlier()
    earlier = None if before is None else before.bind(state.schema, state.explored, policy).by(analyst).digest
    followers: tuple[Ledger, ...] = ()
    if isinstance(state, PooledState):
        if not bound.pools:
            raise QuestionRefused(
                f"this {question.kind} cannot be asked about all epochs together; only a check, claim or validate "
                "about one mean of all rows can. Ask about one epoch. Nothing was spent"
            )
        bound, earlier, followers = bound.over(len(state.rows)), None, state.followers
    return BoundRequest(bound, analyst, request.key, state.overrides, owner, earlier, followers)


def in_phase(view: View, state: GuardState, request: BoundRequest) -> BoundRequest:
    """Return the question in the phase that is under way, or in the one that its key stands for.

    A retry with its key gets the stored answer, also where that one has ended a phase. After the last phase it is that
    of the last one.
    """
    phases = request.bound.phases()
    if len(phases) == 1:
        return request if phases[0] is request.bound else replace(request, bound=phases[0])
    entry = None if request.key is None else view.find_key(request.analyst, request.key)
    for one in phases if entry is not None else ():
        if entry is not None and one.digest == entry.body["digest"]:
            return replace(request, bound=one)
    finals = Accounts.of(view, state.policy, request.analyst).acting(state.policy).progress.finals
    return replace(request, bound=phases[min(finals, len(phases) - 1)])


def _steward_may(policy: Policy, question: Question) -> bool:
    """Whether it is a steward's to ask, whatever the kinds: where nothing but checks without noise would be shown."""
    shared = policy.histories == "together" and policy.holdout == "guess-and-check"
    return question.steward_may and shared and policy.has_looks


def _require_asker(policy: Policy, request: Request) -> None:
    """Raise for whoever may not ask; a steward who ends the run for everybody need not be among the analysts."""
    if request.allowed is not None:
        request.allowed(policy)
    kind = _kind_of(request.question)
    by_steward = request.allowed is not None and policy.histories == "together"  # who may end it was decided there
    if kind is None or not kind.ends_run or not by_steward:
        policy.share(request.analyst)


def find_answer(view: View, request: BoundRequest) -> Entry | None:
    """Return the entry that answers this question already: by its key, or because it was asked before; else None.

    Raises `LedgerConflict` if the key stands for another question.
    """
    if request.key is not None:
        entry = view.find_key(request.analyst, request.key)
        if entry is not None:
            if entry.body["digest"] not in (request.bound.digest, request.earlier):
                raise LedgerConflict(
                    f"key {request.key!r} was already used for another question; give this question another key"
                )
            if entry.kind == "answered":
                return entry
            if entry.body["digest"] == request.earlier:
                raise LedgerConflict(
                    f"key {request.key!r} was used for this question under an earlier version, which read the "
                    "question in another way; give another key"
                )
    return None if request.bound.is_act else view.find_question(request.bound.digest, request.owner)


def find_retried(view: View, state: GuardState, request: Request) -> Entry | None:
    """Return the entry that answered this question under this key, for a question that today's rules refuse; else None.

    Rules change: a steward overrides the policy, and earlier versions counted a missing value as the lowest one.
    Whoever lost the answer on its way asks again with the key, and it must come back as it was. An analyst whom the
    policy no longer names, or who may not ask at all, gets nothing.
    """
    if request.key is None:
        return None
    _require_asker(state.policy, request)
    check_name("key", request.key)
    entry = view.find_key(request.analyst, request.key)
    if entry is None or entry.kind != "answered":
        return None
    for question, schema in _as_earlier(request.question, state.schema):
        with suppress(HoldfastError):
            bound = question.bind(schema, state.explored, state.policy).by(request.analyst)
            if any(one.digest == entry.body["digest"] for one in bound.phases()):
                return entry
    return None


def _as_earlier(question: Question | Mapping[str, Any], schema: Schema) -> Iterator[tuple[Question, Schema]]:
    """The question as it is, and as earlier versions read it, which counted what is missing as the lowest value."""
    asked = question if isinstance(question, Question) else Question.from_dict(question)
    without_nulls = schema.with_nulls(dict.fromkeys(schema.names, False))
    otherwise = asked.as_earlier()
    yield asked, schema
    if otherwise is not None:
        yield otherwise, schema
        yield otherwise, without_nulls
    yield asked, without_nulls
    given = {field.name: getattr(asked, field.name) for field in fields(asked)}  # type: ignore[arg-type]
    if given.get("default", 0) is None and not given.get("where_present"):
        low = given.get("low")
        yield replace(asked, default=0.0 if low is None else low), without_nulls  # type: ignore[type-var]


def find_prepayment(view: View, request: BoundRequest) -> Entry | None:
    """Return the entry that paid for this question under this key without answering it: a crash came between."""
    entry = None if request.key is None else view.find_key(request.analyst, request.key)
    return entry if entry is not None and entry.kind == "reserved" else None


def admit(view: View, state: GuardState, request: BoundRequest, before: Accounts | None = None) -> Accounts:
    """Return the accounts after the question; `BudgetExhausted` or `QuestionRefused` where it is not admitted.

    `before` are the accounts of questions that are admitted with it; without them, those of the ledger.
    """
    charged = charge(view, state, request, before)
    request.bound.require_useful(situation_of(state, charged))
    return charged


def admit_somehow(
    view: View, state: GuardState, request: BoundRequest, before: Accounts | None = None
) -> tuple[BoundRequest, Accounts]:
    """Admit a question, or where there is no room to show anything what takes its place (its `without_score`).

    Whether there is room is public: it depends on the policy and on what was shown before.
    """
    instead = request.bound.without_score()
    if instead is None:
        return request, admit(view, state, request, before)
    try:
        charged = admit(view, state, request, before)
        request.bound.half_width(situation_of(state, charged))
    except (BudgetExhausted, GuaranteeUnavailable):
        request = replace(request, bound=instead)
        return request, admit(view, state, request, before)
    return request, charged


def charge(view: View, state: GuardState, request: BoundRequest, before: Accounts | None = None) -> Accounts:
    """Return the accounts after the question, whether or not its answer could be useful."""
    before = Accounts.of(view, state.policy, request.analyst) if before is None else before
    progress = before.acting(state.policy).progress
    _require_open(view, state, request, progress)
    request.bound.require_new(progress)
    return before.charge(request.bound.cost, state.policy, counts=request.bound.counts)


def _require_open(view: View, state: GuardState, request: BoundRequest, progress: Progress) -> None:
    """Raise where no question is answered now, paid for or not; everything this depends on is public."""
    state.require_open()
    if request.overrides != state.overrides:
        raise LedgerConflict("the steward changed the policy while the question was being answered; ask it again")
    on_reserve = request.bound.ends_run or not request.bound.shows_rows
    if on_reserve and progress.finals < len(state.policy.reserve_parts):  # what failed on explored rows does not matter
        request.bound.require(view)
        return
    if progress.finals and (not request.bound.ends_run or state.ended(progress)):
        raise BudgetExhausted(
            "this guard answers no more questions, because a final or `close` has shown exact values of its rows; "
            "ask a guard with rows that no analysis has seen. Nothing was spent"
        )
    if state.ended(progress) and (progress.finals or not request.bound.ends_run):
        raise BudgetExhausted(
            f"the policy allows {state.policy.failures} failed checks, and one more check has failed; only `final` "
            "and `close`, which end the run, can still be asked. Nothing was spent"
        )
    request.bound.require(view)


def _admit_all(view: View, requests: Sequence[BoundRequest]) -> None:
    """Raise unless all new questions of one analyst fit together, as far as that is known before they are answered."""
    charged: Accounts | None = None
    for request in requests:
        if find_answer(view, request) is None and find_prepayment(view, request) is None:
            _, charged = admit_somehow(view, state_of(view, request.followers), request, charged)


def prepay(transaction: Transaction, request: BoundRequest) -> Entry:
    """Pay for a question before it is measured. Repeated with its key, it pays once."""
    entry = find_answer(transaction, request) or find_prepayment(transaction, request)
    if entry is not None:
        return entry
    request, charged = admit_somehow(transaction, state_of(transaction, request.followers), request)
    charged.put(transaction)
    return transaction.append("reserved", _body(request, charged), analyst=request.analyst, key=request.key)


def settle(
    transaction: Transaction,
    request: BoundRequest,
    prepared: Any,
    prepaid: Entry | None = None,
    source: Source | None = None,
    prior: Course | None = None,
) -> StoredAnswer:
    """Answer a question, charge it unless it was prepaid, and store the answer; or return the entry that answered it.

    `source` is for tests: a guard draws from the operating system. `prior` is the course at the beginning of the batch
    that the question is part of: what the others of the batch show is charged to later questions only.
    """
    entry = find_answer(transaction, request)
    if entry is not None:
        return StoredAnswer(entry, repeated=True)
    state = state_of(transaction, request.followers)
    prepaid = find_prepayment(transaction, request) or prepaid
    if prepaid is None:
        request, charged = admit_somehow(transaction, state, request)
    else:
        charged = Accounts.of(transaction, state.policy, request.analyst)
        request = _as_prepaid(transaction, state, request, prepaid, charged.acting(state.policy).progress)
    before = situation_of(state, charged)
    situation = replace(before, prior=prior, source=source, hidden=Hidden(transaction))
    settled = request.bound.settle(prepared, situation)
    if isinstance(state, PooledState):
        settled = replace(settled, details={**settled.details, "epochs": len(state.rows), "rows": list(state.rows)})
    charged = charged.settle(state.policy, settled.message, settled.asked, settled.extra)
    if settled.finishes:
        charged = charged.finish()
    charged.put(transaction)
    price = _price(situation, charged.acting(state.policy).progress.course, settled)
    answer = GuardedAnswer(
        settled.value,
        settled.interval,
        _certified(state, settled.guarantee),
        settled.passed,
        request.bound.cost,
        charged.remaining(state.policy),
        settled.details,
        widening=price.questions,
        final_widening=price.final,
    )
    body = _body(request, charged) | {"answer": answer.released(), "message": _weighed(settled)}
    if prepaid is not None:
        body["paid"] = prepaid.sequence
    key, digest = request.key, request.bound.digest
    if state.policy.histories == "separate":
        body = take_seat(transaction, request.analyst, body)
    if settled.secret is not None:
        transaction.put_secret(exact_name(request.analyst, digest), settled.secret)
    entry = transaction.append("answered", body, analyst=request.analyst, key=key, question=digest)
    return StoredAnswer(entry, repeated=False)


def _as_prepaid(
    view: View, state: GuardState, request: BoundRequest, prepaid: Entry, progress: Progress
) -> BoundRequest:
    """The question that was paid for, where it can still be answered; a submission shows nothing where it cannot."""
    instead = request.bound.without_score()
    if instead is not None and prepaid.body.get(_SHOWS_NOTHING):
        request, instead = replace(request, bound=instead), None
    try:
        _require_open(view, state, request, progress)
    except BudgetExhausted:
        if instead is None:
            raise
        request = replace(request, bound=instead)
        _require_open(view, state, request, progress)
    return request


# --- Questions about all epochs ---------------------------------------------------------------------------------------
# The ledger of the first epoch decides; those of the others are prepaid before, and record the answer after.

SHARED = "shared"
"""The account of a later epoch that lists the questions about all epochs that it has paid for and not yet recorded."""


def state_of(view: View, followers: tuple[Ledger, ...] = ()) -> GuardState:
    """Return the state of a guard; with the ledgers of later epochs, that of all of them as one sample.

    What was shown of the later epochs is read now. A question that was chosen before owes nothing to what came since;
    to count it makes its interval wider, never wrong.

    Raises
    ------
    QuestionRefused
        Their policies differ, or do not allow questions about several epochs.
    """
    first = GuardState.of(view)
    if not followers:
        return first
    policy = first.policy
    if policy.histories == "separate":
        raise QuestionRefused(
            "epoch must be a number, not 'all', because this guard keeps a separate history for each analyst; ask "
            "each epoch by itself"
        )
    if policy.privacy is not None and policy.accounting != "filter":
        raise QuestionRefused(
            "epoch must be a number, not 'all', because the policy counts privacy with an odometer, without a limit; "
            "ask each epoch by itself"
        )
    read = [ledger.look(lambda later: (GuardState.of(later), _course(later))) for ledger in followers]
    states = [first, *(state for state, _ in read)]
    if any(state.policy != policy for state in states):
        raise QuestionRefused(
            "epoch must be a number, not 'all', because the policies of the epochs differ; ask each epoch by itself"
        )
    plain = {each.name: getattr(first, each.name) for each in fields(first)}
    plain |= {
        "n": sum(state.n for state in states),
        "sizes": (),
        "overrides": max(state.overrides for state in states),
        "overlaps": tuple(dict.fromkeys(other for state in states for other in state.overlaps)),
    }
    return PooledState(
        **plain,
        rows=tuple(state.explored for state in states),
        others=tuple(course for _, course in read),
        followers=followers,
    )


def _course(view: View) -> Course:
    return read_account(view.account, GuardState.of(view).policy)[1].progress.course


def _prepay_followers(batch: Batch) -> None:
    """Have every later epoch take payment for the question; nothing is paid where one of them refuses."""
    for item in batch.leaders:
        admit_followers(item.bound)
        for ledger in batch.followers:
            ledger.submit(partial(_prepay_shared, request=item.bound))
    faults.reach(PREPAID)


def admit_followers(request: BoundRequest) -> None:
    """Raise where a later epoch does not admit a question about all of them; nothing is paid."""
    for ledger in request.followers:
        try:
            ledger.look(partial(_admit_shared, request=request))
        except (BudgetExhausted, QuestionRefused) as refusal:
            number = ledger.look(GuardState.of).number
            raise type(refusal)(f"epoch {number}: {refusal}") from None


def _admit_shared(view: View, request: BoundRequest) -> Accounts:
    state = GuardState.of(view)
    return charge(view, state, replace(request, overrides=state.overrides))


def _prepay_shared(transaction: Transaction, request: BoundRequest) -> None:
    """Pay for a question about all epochs on the ledger of a later one, once however often it is tried."""
    waiting = _shared(transaction)
    if any((analyst, digest) == (request.analyst, request.bound.digest) for analyst, digest, _ in waiting):
        return
    charged = _admit_shared(transaction, request)
    charged.put(transaction)
    waiting.append([request.analyst, request.bound.digest, transaction.head.sequence + 1])
    transaction.put_account(SHARED, {"waiting": waiting})
    transaction.append("reserved", _body(request, charged), analyst=request.analyst)


def _shared(view: View) -> list[list[Any]]:
    """Analyst, digest and prepayment of the questions about all epochs that are not recorded yet."""
    return [list(waiting) for waiting in (view.account(SHARED) or {"waiting": []})["waiting"]]


def record_shared(leader: Ledger, follower: Ledger) -> None:
    """Record on a later epoch's ledger what was answered about all epochs, so that its next answers are charged for it.

    The answer is released after that. Where a crash came between, whoever asks this epoch next records it first: a
    question that was prepaid and not answered has shown nothing.
    """
    for analyst, digest, _ in follower.look(_shared):
        entry = leader.look(partial(View.find_question, question=digest, analyst=analyst))
        if entry is not None:
            follower.submit(partial(_record_shared, entry=entry))


def _record_shared(transaction: Transaction, entry: Entry) -> None:
    waiting, body = _shared(transaction), entry.body
    paid = [number for analyst, digest, number in waiting if (analyst, digest) == (entry.analyst, entry.question)]
    if not paid or entry.analyst is None:
        return
    policy, told = GuardState.of(transaction).policy, body["message"]
    charged = Accounts.of(transaction, policy, entry.analyst)
    message = Message(told["passed"], told["log_weight"], told["risk"])
    charged.settle(policy, message, told["asked"], told["extra"]).put(transaction)
    left = [one for one in waiting if one[2] != paid[0]]
    transaction.put_account(SHARED, {"waiting": left})
    shared = {"dataset": entry.dataset, "sequence": entry.sequence, "hash": entry.hash}
    stored = {name: body[name] for name in ("question", "digest", "cost", "accounts", "format", "answer", "message")}
    recorded = stored | {"paid": paid[0], "shared": shared}
    transaction.append("answered", recorded, analyst=entry.analyst, question=entry.question)


def situation_of(state: GuardState, charged: Accounts) -> Situation:
    """Return where the run stands for a question that was charged, as far as that is public."""
    acting = charged.acting(state.policy)
    return Situation(budget_of(state, charged.analyst), acting.progress, acting.spent)


def _price(before: Situation, after: Course, settled: Settled) -> Price:
    """By what part later intervals are wider because of what this answer showed.

    Nothing is known of it where noise has paid for it, and there is none where no interval can come later.
    """
    if settled.message is None or settled.finishes or settled.details.get("ended"):
        return Price(None, None)
    return before.budget.price_between(before.course, after, before.spent)


def _weighed(settled: Settled) -> dict[str, Any]:
    """How the prior weighed what was shown, as a replay needs it."""
    message = settled.message
    plain: dict[str, Any] = {"asked": settled.asked, "extra": settled.extra, "finishes": settled.finishes}
    plain["log_share"] = settled.log_share
    if message is None:
        return plain | {"noisy": True}
    return plain | {"passed": message.passed, "log_weight": message.log_weight, "risk": message.risk}


def _certified(state: GuardState, guarantee: Guarantee) -> Guarantee:
    """The guarantee of an answer given now; not certified where something that the ledger records contradicts it."""
    caveats = state.caveats
    return replace(guarantee, assumption=guarantee.assumption + caveats, certified=False) if caveats else guarantee


def _body(request: BoundRequest, charged: Accounts) -> dict[str, Any]:
    cost, bound = request.bound.cost, request.bound
    return (
        {
            "question": request.bound.question,
            "digest": request.bound.digest,
            "cost": None if cost is None else cost.to_dict(),
            "accounts": list(charged.names),
            "format": FORMAT,
        }
        | ({} if bound.counts else {"counts": False})
        | ({} if bound.shows_rows else {_SHOWS_NOTHING: True})
    )
