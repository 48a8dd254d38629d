"""How a guard begins: the sample's content finds its ledger, and a budget is never refilled by a new name.

Rows that two samples share are spent twice, and what one guard releases about them is not on the other's ledger. So a
sample that shares rows with one of the same store is refused; and where the steward allows it, no later answer of
either is certified. The order makes that safe against a crash and against another process: the ledgers of the others
are marked first, one durable entry each; then the new one is opened, in a transaction that runs alone among openings
and looks at all the others once more. Whatever is repeated after a crash finds the marks that are there already.

Overlaps are not passed on. Where A shares rows with B and B with C, all three say so by themselves. A guard D that
shares no row with any of them stays certified, whoever asks it and whatever they saw elsewhere: the other answers are a
function of other rows and of D's own answers, so to D they are an analyst's own random choices.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self, TypeVar

from holdfast.data.fingerprint import Sketch
from holdfast.data.restricted import drawn
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.guard.columns import check_declared
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.store import StateKind, StateRow, Store
from holdfast.guard.ledger.transaction import Transaction, View
from holdfast.guard.policy import Policy, has_final
from holdfast.guard.questions import check
from holdfast.guard.questions.base import Hidden, Question
from holdfast.guard.scoring.grouped import with_group_counts
from holdfast.guard.state import ACCOUNT, WHOLE, Account, EpochLink, GuardState

T = TypeVar("T")
SKETCH = "row-keys"
"""The account that holds sketches of the sample's row keys."""
COLUMNS = "columns"
"""The secret that holds salted digests of the sample's informative columns."""
MARKED = faults.point("opening.marked", "the guards that share rows with a new one say so; it is not open")
_EARLIER = "an earlier version recorded this overlap on the other ledger alone"
_FOUND = "found when the sample was opened again"

RESERVE = "reserve"
"""The secret that decides which rows are reserved."""
PLACE = "place"
"""The secret that says which file the rows were read from, for commands that leave it out."""
_DRAWS = 20

Rights = Callable[[Sequence[str]], None]
"""Raises where whoever opens a guard has no rights over the guards of these ledgers."""


def begin(
    store: Store,
    sample: Sample,
    policy: Policy | None,
    allow_overlap: str | None,
    rights: Rights | None = None,
    *,
    follows: tuple[EpochLink, Schema] | None = None,
) -> Ledger:
    """Return the ledger of a sample, begun under `policy` if it is new; refused where its rows are guarded already.

    `follows` is for the next epoch of a guard: where it follows the one before, and the schema that all epochs have.

    Raises
    ------
    InvalidParameter
        A new sample without a policy.
    LedgerConflict
        A known sample with another policy, or one that shares rows with another in this store.
    """
    if allow_overlap is not None and (not isinstance(allow_overlap, str) or not allow_overlap.strip()):
        raise InvalidParameter("allow_overlap must be a text with the reason, which the ledger records")
    name = store.name_of(sample.fingerprint())
    if policy is None and name not in store.datasets():  # looked up first: a ledger of rows without a guard is nobody's
        raise InvalidParameter(_not_guarded(store, sample))
    ledger = store.ledger(name)
    search = _Search(store, sample, ledger.dataset, allow_overlap, rights)
    if ledger.head().sequence == 0:
        if policy is None:
            raise InvalidParameter(_not_guarded(store, sample))
        if follows is None:
            policy.require_contest()
        for board in policy.boards or ():
            board.check_sample(sample)
        check_declared(policy.columns, sample.schema)
        sizes = search.draw(policy)
        policy = with_group_counts(policy, (search.explored, *search.explored.reserves))
        epoch, schema = (None, sample.schema) if follows is None else follows
        search.open(ledger, GuardState(policy, schema, sample.n, sizes=sizes, epoch=epoch))
    else:
        search.renew(ledger)
    held, began = ledger.look(lambda view: (GuardState.of(view), view.entry(1)))
    if policy is not None and began is not None and "repeats" not in began.body["policy"]:
        policy = replace(policy, repeats=held.policy.repeats)  # a policy of before there was a choice leaves it open
    if policy is not None and began is not None and "plan" not in began.body["policy"]:
        policy = replace(policy, plan=held.policy.plan)  # a guard of before Theorem D goes on with the plan it had
    if policy is not None and began is not None and "cap" not in began.body["policy"]:
        policy = replace(policy, cap=held.policy.cap)  # and one of the first search under a cap with that one
    if policy is not None:
        policy = _without_later_kinds(policy, held.policy)
    if policy is not None and policy != held.policy:
        raise LedgerConflict(
            "this data set has a guard with another policy, which is still in force; leave out policy to open that "
            "guard, or let the steward replace its policy with an override, which the ledger records"
        )
    return ledger


def epochs_of(store: Store, first: str) -> dict[int, str]:
    """Return the ledgers of the epochs of a guard by their numbers; `first` is that of the first epoch."""
    later: dict[int, str] = {}
    for name, row in store.states("account", ACCOUNT, {}).items():
        with suppress(AttributeError, KeyError, TypeError, ValueError):  # a damaged ledger is no epoch of anything
            epoch = json.loads(row.text).get("epoch")
            if epoch is not None and epoch["first"] == first:
                later[epoch["number"]] = name
    return {1: first} | dict(sorted(later.items()))


def require_next(store: Store, link: EpochLink) -> None:
    """Raise unless this is the number that the next epoch of the guard has."""
    if max(epochs_of(store, link.first)) != link.number - 1:
        raise LedgerConflict(f"somebody else has just opened epoch {link.number} of this guard; call extend again")


def explored(ledger: Ledger, sample: Sample) -> Sample:
    """Return the rows that questions before a final read: all, or those that the ledger's draw has not reserved."""
    secret, parts = ledger.look(lambda view: (view.secret(RESERVE), GuardState.of(view).policy.reserve_parts))
    return sample if secret is None else drawn(sample, secret["key"], secret["salt"], parts)


def not_comparable(store: Store) -> list[str]:
    """The ledgers of guards without column digests: those of earlier versions, until they are opened with their rows.

    A new sample that has the rows of one of them under other columns is not recognised.
    """
    return sorted(set(store.states("account", ACCOUNT, {})) - set(store.states("secret", COLUMNS, {})))


def naming(store: Store, name: str) -> list[str]:
    """Return the ledgers that name this one as sharing rows: earlier versions recorded an overlap on one side only.

    Nothing is changed. A damaged ledger is passed over: `holdfast verify` names it.
    """
    names = []
    for other in store.datasets():
        with suppress(LedgerConflict, InvalidParameter):  # damaged, or no guard has opened it
            if name in store.ledger(other).look(GuardState.of).overlaps:
                names.append(other)
    return names


def _without_later_kinds(policy: Policy, stored: Policy) -> Policy:
    """The policy without the kinds that ledgers of before did not know, where the stored one does not allow them.

    Nothing is kept for a final that cannot be asked.
    """
    known = Question.kinds()
    kinds = [kind for kind in policy.kinds or () if not known[kind].added_later or kind in (stored.kinds or ())]
    if not kinds:
        return policy
    lost = has_final(policy.kinds) and not has_final(kinds)
    return replace(policy, kinds=tuple(kinds), final=stored.final if lost else policy.final)


def carry_over(store: Store) -> None:
    """Mark the ledgers that others name as sharing rows: earlier versions recorded that on one side only.

    Opening a guard with its rows does the same for that guard. This is for a server, which answers from ledgers whose
    rows it has not read yet; who only reads a ledger uses `naming`. A damaged ledger is passed over: `holdfast verify`
    names it, and nobody can ask it.
    """
    standings: dict[str, GuardState] = {}
    for name in store.datasets():
        with suppress(LedgerConflict, InvalidParameter):
            standings[name] = store.ledger(name).look(GuardState.of)
    for name, standing in standings.items():
        for other in standing.overlaps:
            if other in standings and name not in standings[other].overlaps:
                with suppress(LedgerConflict):  # it reads and cannot be written, so that nobody can ask it either
                    _mark(store, other, name, _EARLIER, late=True)


@dataclass(frozen=True)
class _Traces:
    """What finds the rows of a sample in another one: sketches of its row keys, salted digests of its columns."""

    keys: tuple[Sketch, ...]
    columns: frozenset[str] | None
    """None on the ledger of an earlier version, which did not keep them."""

    @classmethod
    def of(cls, view: View) -> Self:
        keys, columns = view.account(SKETCH), view.secret(COLUMNS)
        return cls(() if keys is None else _read_keys(keys), None if columns is None else _read_columns(columns))

    def put(self, transaction: Transaction) -> None:
        if self.keys:
            first, *more = (sketch.to_dict() for sketch in self.keys)
            transaction.put_account(SKETCH, first | ({"more": more} if more else {}))
        transaction.put_secret(COLUMNS, {"digests": sorted(self.columns or ())})


def _read_keys(plain: Mapping[str, Any]) -> tuple[Sketch, ...]:
    return tuple(Sketch.from_dict(one) for one in (plain, *plain.get("more", ())))


def _read_columns(plain: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(plain["digests"])


def _not_guarded(store: Store, sample: Sample) -> str:
    """Why a sample without a policy has no guard here: most often its file is another one, or was changed.

    Where a store has several guards, whoever meets one need not know of the others.
    """
    names = [name for name in store.datasets() if store.ledger(name).head().sequence]
    if not names:
        return "policy must be given: this data set has no guard yet; pass Policy(questions=500), for example"
    known = f"{len(names):,} guards"
    if len(names) == 1:
        state = store.ledger(names[0]).look(GuardState.of)
        known = f"a guard of {state.n:,} rows ({_listed(state.schema.names)})"
    return (
        f"sample must be rows that this ledger was opened for: it has {known}, and none of these {sample.n:,} rows "
        f"({_listed(sample.schema.names)}); was the file changed? Nothing was spent. A policy would open a guard of "
        "these rows too"
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


class _Search:
    """One opening of a sample, and the guards in the store that share rows with it."""

    def __init__(
        self, store: Store, sample: Sample, name: str, allow_overlap: str | None, rights: Rights | None
    ) -> None:
        self._store, self._sample, self._name = store, sample, name
        self._reason, self._rights = allow_overlap, rights
        sketch = sample.key_sketch()
        self._keys = () if sketch is None else (sketch,)
        self._columns = {column: store.name_of(digest) for column, digest in sample.identity().column_digests.items()}
        self._others_keys: dict[str, tuple[int, tuple[Sketch, ...]]] = {}
        self._others_columns: dict[str, tuple[int, frozenset[str]]] = {}
        self._unread: set[str] = set()
        self._reserve: dict[str, Any] | None = None
        self.explored = sample

    def draw(self, policy: Policy) -> tuple[int, ...]:
        """Draw the rows that are reserved, before any row is asked about; how many there are on each side is public.

        A draw that leaves a side empty is repeated: with few keys that happens.
        """
        if not policy.reserve_parts:
            return ()
        boards = policy.boards or ()
        groups = next((board.groups for board in boards if board.groups is not None), None)
        key = policy.reserve_by or groups or self._sample.row_key or (boards[0].key if boards else None)
        if key is None:
            raise InvalidParameter(
                "reserve must be given together with reserve_by, with boards, or with a data set that has a row key"
            )
        for attempt in range(_DRAWS):
            self._reserve = {"key": key, "salt": secrets.token_hex(16)}
            try:
                part = drawn(self._sample, key, self._reserve["salt"], policy.reserve_parts)
            except InvalidParameter:
                if attempt == _DRAWS - 1:
                    raise
                continue
            self.explored = part
            return (part.n, *(reserve.n for reserve in part.reserves))
        raise AssertionError(
            "the last attempt to reserve rows returns or raises an error, so this is a defect of Holdfast"
        )

    def open(self, ledger: Ledger, standing: GuardState) -> None:
        """Begin the ledger of a sample that has none."""
        self._find_not_compared()
        while True:
            overlaps = self._sharing(self._keys)
            if overlaps:
                self._require_allowed(overlaps)
                for other in overlaps:
                    standing = standing.with_overlap(other, 1)
                with suppress(_CouldBeOpened):  # first: what cannot be opened must mark nobody
                    ledger.submit(partial(self._try_open, standing=standing))
                self._mark_all(overlaps, self._reason or "")
            outcome = ledger.submit(partial(self._open, standing=standing))
            if outcome == "opened":
                return
            if outcome == "known":
                self.renew(ledger)  # another process was first, perhaps without the row key that this one has
                return

    def renew(self, ledger: Ledger) -> None:
        """Record what this opening knows of a guard's rows and its ledger does not: other row keys, column digests.

        Both guards are there already, and what the store knows must not be certified: shared rows are recorded on both
        ledgers, whoever found them. If a row key that is declared anew found them, the steward is told by an error,
        unless there is a reason to record. A running number is no such finding, because unrelated samples have the
        same numbers: it is refused, and recorded with a reason only.
        """
        held = ledger.look(_Traces.of)
        is_old = held.columns is None
        new_keys = tuple(sketch for sketch in self._keys if sketch not in held.keys)
        if not is_old and not new_keys:
            return
        self._find_not_compared()
        declared = () if is_old and held.keys else new_keys
        while True:
            standing = ledger.look(GuardState.of)
            silent = self._sharing(() if declared else self._keys)
            by_key = [other for other in self._sharing(declared) if other not in {*silent, *standing.overlaps}]
            if by_key and self._key_is_numbered():
                self._require_allowed(by_key)
            named = naming(self._store, self._name) if is_old else []
            overlaps = list(dict.fromkeys([*standing.overlaps, *silent, *by_key, *named]))
            self._mark_all(overlaps, self._reason or (_EARLIER if is_old else _FOUND), late=True)
            if ledger.submit(partial(self._renew, overlaps=overlaps)):
                break
        if by_key:
            self._require_allowed(by_key, recorded=True)

    def _try_open(self, transaction: Transaction, standing: GuardState) -> None:
        """Raise what opening the guard would raise; else an error of its own, so that nothing is kept."""
        if transaction.head.sequence == 0:
            self._begin(transaction, standing)
        raise _CouldBeOpened

    def _open(self, transaction: Transaction, standing: GuardState) -> Literal["opened", "known", "again"]:
        """Open it, unless a guard that shares its rows was opened meanwhile, or another process has opened it."""
        if transaction.head.sequence:  # its policy stands
            return "known"
        transaction.lock_store()
        if standing.epoch is not None:
            require_next(self._store, standing.epoch)
        if set(self._sharing(self._keys)) - set(standing.overlaps):
            return "again"
        self._begin(transaction, standing)
        return "opened"

    def _begin(self, transaction: Transaction, standing: GuardState) -> None:
        if self._reserve is not None:
            transaction.put_secret(RESERVE, self._reserve)
        if self._sample.place is not None:
            transaction.put_secret(PLACE, {"file": self._sample.place})
        _open(transaction, self._with_not_compared(standing), self._traces(()), self._reason)

    def _renew(self, transaction: Transaction, overlaps: Sequence[str]) -> bool:
        transaction.lock_store()
        if set(self._sharing(self._keys)) - set(overlaps):
            return False
        standing = self._with_not_compared(GuardState.of(transaction))
        self._traces(_Traces.of(transaction).keys).put(transaction)
        for other in overlaps:
            standing = standing.with_overlap(other, _since(self._store, transaction, other))
        body: dict[str, Any] = {"overlaps": list(standing.overlaps)}
        if standing.shared_since is not None:
            body["since"] = standing.shared_since
        if standing.not_compared:
            body["not_compared"] = list(standing.not_compared)
        standing.put(transaction, "refreshed", body)
        return True

    def _with_not_compared(self, standing: GuardState) -> GuardState:
        return replace(standing, not_compared=tuple(sorted(self._unread)))

    def _traces(self, held: tuple[Sketch, ...]) -> _Traces:
        keys = (*held, *(sketch for sketch in self._keys if sketch not in held))
        return _Traces(keys, frozenset(self._columns.values()))

    def _sharing(self, keys: Sequence[Sketch]) -> list[str]:
        """Ledgers of guarded samples that share row keys or a column's values with this one, as they are now."""
        for name, row in self._states("secret", COLUMNS, self._others_columns).items():
            self._others_columns[name] = row.sequence, self._readable(name, row, _read_columns) or frozenset()
        mine = frozenset(self._columns.values())
        sharing = {name for name, (_, theirs) in self._others_columns.items() if mine & theirs}
        if keys:
            for name, row in self._states("account", SKETCH, self._others_keys).items():
                self._others_keys[name] = row.sequence, self._readable(name, row, _read_keys) or ()
            for name, (_, sketches) in self._others_keys.items():
                if any(one.overlaps(theirs) for one in keys for theirs in sketches):
                    sharing.add(name)
        return sorted(sharing)

    def _find_not_compared(self) -> None:
        """Note the ledgers that contradict themselves or have no column digests: their rows cannot be compared."""
        self._unread.update(other for other in not_comparable(self._store) if other != self._name)
        for other in self._store.datasets():
            try:
                self._store.ledger(other).look(lambda view: view.account(SKETCH))
            except LedgerConflict:
                self._unread.add(other)

    def _readable(self, name: str, row: StateRow, read: Callable[[Mapping[str, Any]], T]) -> T | None:
        """What another ledger has stored; None where it is damaged: it cannot be compared, and holds nobody up."""
        try:
            return read(json.loads(row.text))
        except (AttributeError, InvalidParameter, KeyError, TypeError, ValueError):
            self._unread.add(name)
            return None

    def _states(self, kind: StateKind, name: str, seen: Mapping[str, tuple[int, Any]]) -> dict[str, StateRow]:
        """What other ledgers have stored since they were seen."""
        states = self._store.states(kind, name, {other: sequence for other, (sequence, _) in seen.items()})
        return {other: row for other, row in states.items() if other != self._name}

    def _key_is_numbered(self) -> bool:
        key = self._sample.row_key
        return key in self._sample.identity().numbered

    def _require_allowed(self, overlaps: Sequence[str], recorded: bool = False) -> None:
        if self._reason is None:
            ways = (
                "this is recorded on the ledgers of all of them, and no later answer of any of them is certified; open "
                "it again to go on without certificates"
                if recorded
                else "guard the union, or give allow_overlap a reason to record, and then no later answer of any of "
                "them is certified"
            )
            raise LedgerConflict(
                f"this data set shares rows with other data sets that have a guard in this store, {len(overlaps)} in "
                f"all ({self._why(overlaps)}), so its answers would use the same rows twice; {ways}"
            )
        if self._rights is not None:
            self._rights(overlaps)

    def _why(self, overlaps: Sequence[str]) -> str:
        """What this sample and the others have in common, by the names of this sample's own columns."""
        digests = frozenset[str]().union(
            *(theirs for name, (_, theirs) in self._others_columns.items() if name in overlaps)
        )
        if same := sorted(column for column, digest in self._columns.items() if digest in digests):
            return f"column {same[0]!r} has the same values there"
        key = self._sample.row_key
        if self._key_is_numbered():
            return (
                f"by row key {key!r}, which is a running number that unrelated samples have too: leave row_key out if "
                "these are other people, and columns are compared all the same"
            )
        return f"by row key {key!r}"

    def _mark_all(self, overlaps: Sequence[str], reason: str, late: bool = False) -> None:
        for other in overlaps:
            _mark(self._store, other, self._name, reason, late)
            faults.reach(MARKED)


class _CouldBeOpened(Exception):
    """Ends a transaction that was tried and is not kept."""


def _mark(store: Store, ledger: str, other: str, reason: str, late: bool = False) -> None:
    """Record on a ledger that its rows are shared with those of another; nothing where it says so already.

    A closed guard is marked too: its ledger is where an auditor looks. `late` says that the other guard has answered
    before this was found; then answers from its opening on are in doubt, and not only those that follow.
    """

    def work(transaction: Transaction) -> None:
        if transaction.account_text(ACCOUNT) is None:  # not a guard's
            return
        standing = GuardState.of(transaction)
        if other not in standing.overlaps:
            since = _since(store, transaction, other) if late else transaction.head.sequence + 1
            body = {"with": other, "reason": reason, "since": since}
            standing.with_overlap(other, since).put(transaction, "overlapped", body)

    store.ledger(ledger).submit(work)


def _since(store: Store, view: View, other: str) -> int:
    """The number of the first entry of a ledger that is not older than the other's opening."""
    opened = store.ledger(other).look(lambda theirs: theirs.entry(1))
    first, last = 1, view.head.sequence + 1
    while opened is not None and first < last:
        middle = (first + last) // 2
        entry = view.entry(middle)
        first, last = (first, middle) if entry is None or entry.time >= opened.time else (middle + 1, last)
    return first


def _open(transaction: Transaction, standing: GuardState, traces: _Traces, reason: str | None) -> None:
    transaction.put_account(WHOLE, Account.fresh(standing.policy).to_dict())
    transaction.put_account(ACCOUNT, standing.to_dict())
    traces.put(transaction)
    check.begin(standing.policy, standing.explored, Hidden(transaction))
    body: dict[str, Any] = standing.to_dict()
    if standing.policy.holdout_spend is not None:
        body["cost"] = standing.policy.holdout_spend.to_dict()
    if standing.overlaps:
        body["allowed_because"] = reason
    transaction.append("opened", body)
