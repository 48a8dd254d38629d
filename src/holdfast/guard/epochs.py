"""Epochs of a guard: rows that came later, each lot under a budget of its own, in one linked history.

An epoch is a guard's ledger like every other: its rows find it, and its budget is never refilled. Its first entry names
the epoch before and where that one's chain ended; the ledger of the epoch before says which ledger follows. What was
asked of earlier epochs costs a new one nothing, because its rows are independent of theirs (docs/epochs.md).

The new ledger is opened first, in a transaction that runs alone among openings, so that there is one next epoch. Then
the one before says so. A crash in between is mended by the next `extend`, and `holdfast verify` notes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from holdfast.data.fingerprint import SIZE, Sketch, Texts, key_hashes
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.store import Store
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.opening import SKETCH, Rights, begin, epochs_of
from holdfast.guard.state import EpochLink, GuardState
from holdfast.guard.stewarding import find, guarded

ALL: Literal["all"] = "all"
"""What a question about all epochs names."""
EpochName = int | Literal["all"] | None
"""A number, counted from 1, "all", or None for the latest."""
OPENED = faults.point("opening.extended", "the next epoch is open; the one before does not say so")

_NAMED = 5
"""Row keys that an error names at most."""


@dataclass(frozen=True)
class Epoch:
    """One epoch of a guard, as a list of them shows it.

    Attributes
    ----------
    number : int
        Counted from 1.
    dataset : str
        The name of its ledger.
    n : int
        Its rows.
    opened : str
        When it was opened, UTC.
    status : str
        Whether it answers: "open", "paused" or "closed".
    """

    number: int
    dataset: str
    n: int
    opened: str
    status: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "number": self.number,
            "dataset": self.dataset,
            "n": self.n,
            "opened": self.opened,
            "status": self.status,
        }


def check_epoch(epoch: Any) -> EpochName:
    """Check the name of an epoch: a whole number from 1, "all", or None for the latest.

    Examples
    --------
    >>> check_epoch(2), check_epoch("all"), check_epoch("3"), check_epoch(None)
    (2, 'all', 3, None)
    """
    if epoch is None or epoch == ALL:
        return None if epoch is None else ALL
    if isinstance(epoch, str) and epoch.isascii() and epoch.isdigit():
        epoch = int(epoch)
    if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 1:
        raise InvalidParameter(f"epoch must be a whole number from 1, or 'all', got {str(epoch)[:40]!r}")
    return epoch


def ledgers(store: Store, ledger: Ledger) -> tuple[Ledger, ...]:
    """Return the ledgers of all epochs of the guard that a ledger belongs to, in order."""
    state = ledger.look(GuardState.of)
    if state.epoch is None and state.successor is None:
        return (ledger,)
    first = ledger.dataset if state.epoch is None else state.epoch.first
    return tuple(store.ledger(name) for name in epochs_of(store, first).values())


def listed(store: Store, ledger: Ledger) -> list[Epoch]:
    """Return all epochs of the guard that a ledger belongs to, in order."""
    return [_facts(one) for one in ledgers(store, ledger)]


def _facts(ledger: Ledger) -> Epoch:
    state, began = ledger.look(lambda view: (GuardState.of(view), view.entry(1)))
    return Epoch(state.number, ledger.dataset, state.n, "" if began is None else began.time, state.status)


def latest(store: Store, dataset: str | None = None) -> Ledger:
    """Return the latest epoch of the only guard in a store, or that of the ledger whose name begins like this."""
    if dataset is not None:
        return ledgers(store, find(store, dataset))[-1]
    firsts = {known[0].dataset: known for name in guarded(store) if (known := ledgers(store, store.ledger(name)))}
    if len(firsts) != 1:
        return find(store, None)  # which says what is missing
    return next(iter(firsts.values()))[-1]


def at(store: Store, ledger: Ledger, epoch: int) -> Ledger:
    """Return the ledger of one epoch of the guard that a ledger belongs to."""
    known = ledgers(store, ledger)
    if not 1 <= epoch <= len(known):
        many = "is one epoch" if len(known) == 1 else f"are {len(known)} epochs"
        raise InvalidParameter(f"epoch must be at most {len(known)}, because there {many} of this guard, got {epoch}")
    return known[epoch - 1]


# --- Opening the next epoch -------------------------------------------------------------------------------------------


def extend(
    store: Store, ledger: Ledger, new_rows: Sample, held: Sequence[Sample] = (), rights: Rights | None = None
) -> Ledger:
    """Open the next epoch of a guard over new rows, under the policy of its latest epoch and with a fresh budget.

    Parameters
    ----------
    store : Store
        Where the guard is.
    ledger : Ledger
        That of any of its epochs.
    new_rows : Sample
        Rows that no epoch of the guard has: compared by the row key where there is one, and by the digests of their
        columns.
    held : sequence of Sample
        The rows of earlier epochs that are at hand. Their row keys are compared one by one; those of the others by the
        sketches that their ledgers keep, which hold all keys of up to 4,096 rows.
    rights : callable, optional
        As for `Guard.open`.

    Raises
    ------
    InvalidParameter
        Other columns than the guard's, in whatever order, or no row key where the guard has one.
    LedgerConflict
        Some of the rows are not new, or have a guard already. Nothing was opened.
    """
    first = mended(store, ledger)
    states = [one.look(GuardState.of) for one in first]
    known = {one.dataset: state for one, state in zip(first, states, strict=True)}
    name = store.name_of(new_rows.fingerprint())
    if name in known:
        return _extended_before(store, first, known[name], name)
    if name in guarded(store):
        raise LedgerConflict(
            "new_rows must be rows that no guard has, and these rows have a guard of their own already; no epoch was "
            "opened"
        )
    schema = _common_schema(states[0].schema, new_rows.schema)
    _require_new(store, first, new_rows, held)
    previous = first[-1]
    end = previous.head()
    link = EpochLink(len(first) + 1, first[0].dataset, previous.dataset, end.sequence, end.hash)
    opened = begin(store, new_rows, states[-1].policy, None, rights, follows=(link, schema))
    if opened.look(GuardState.of).epoch != link:
        raise LedgerConflict(
            "new_rows must be rows that no guard has, and somebody has just opened a guard with these rows; call "
            "extend again"
        )
    faults.reach(OPENED)
    _announce(previous, opened)
    return opened


def mended(store: Store, ledger: Ledger) -> tuple[Ledger, ...]:
    """All epochs, found by the links of the later ones: the one before may not say yet that it has a next one."""
    state = ledger.look(GuardState.of)
    first = ledger.dataset if state.epoch is None else state.epoch.first
    ledgers_found = tuple(store.ledger(name) for name in epochs_of(store, first).values())
    for one, following in pairwise(ledgers_found):
        _announce(one, following)
    return ledgers_found


def _extended_before(store: Store, known: Sequence[Ledger], state: GuardState, name: str) -> Ledger:
    """The epoch of these rows, where it is the latest: the same call was made before."""
    if state.number == len(known) and state.number > 1:
        return store.ledger(name)
    raise LedgerConflict(
        f"new_rows must be rows that no epoch has, and these are the rows of epoch {state.number}; no epoch was opened"
    )


def _announce(previous: Ledger, opened: Ledger) -> None:
    """Have the ledger of one epoch say which follows."""

    def work(transaction: Transaction) -> None:
        state = GuardState.of(transaction)
        if state.successor is None:
            body = {"epoch": state.number + 1, "next": opened.dataset}
            replace(state, successor=opened.dataset).put(transaction, "extended", body)

    if previous.look(GuardState.of).successor is None:
        previous.submit(work)


def _common_schema(guards: Schema, given: Schema) -> Schema:
    """The schema of the guard, if the new rows fit it: the same columns and kinds, and no value is newly missing."""
    for before in guards:
        if before.name not in given:
            raise InvalidParameter(
                f"new_rows must have all columns of the guard, and column {before.name!r} ({before.kind}) is missing; "
                "no epoch was opened"
            )
    for before in guards:
        after = given[before.name]
        if after.kind != before.kind:
            raise InvalidParameter(
                f"new_rows must have columns of the same kinds as the guard: column {before.name!r} is of kind "
                f"{before.kind} in the guard, and of kind {after.kind} in new_rows; declare its kind in the schema, "
                "or change the column. No epoch was opened"
            )
        if after.may_be_missing and not before.may_be_missing:
            raise InvalidParameter(
                f"new_rows must have a value in every row of column {before.name!r}, because the first epoch of the "
                "guard has one in every row; no epoch was opened"
            )
    for column in given:
        if column.name not in guards:
            raise InvalidParameter(
                "new_rows must have the columns of the guard and no others, and the guard has no column "
                f"{column.name!r}; declare a schema without this column. No epoch was opened"
            )
    return guards


def _require_new(store: Store, known: Sequence[Ledger], new_rows: Sample, held: Sequence[Sample]) -> None:
    """Refuse rows whose keys an earlier epoch has, and name some of them."""
    sketches = [(number, one.look(lambda view: view.account(SKETCH))) for number, one in enumerate(known, 1)]
    key = new_rows.row_key
    if key is None:
        if any(sketch is not None for _, sketch in sketches):
            raise InvalidParameter(
                "new_rows must be opened with a row_key, because the guard has one and its keys are compared with "
                "those of the new rows"
            )
        return
    at_hand = _with_keys(store, held)
    for (number, plain), one in zip(sketches, known, strict=True):
        parts, least = _parts(plain), ""
        if one.dataset in at_hand:
            old = _all_hashes(at_hand[one.dataset])
        else:
            old = np.array([hash_ for part in parts for hash_ in part.hashes], dtype=np.uint64)
            least = "" if any(part.is_complete for part in parts) else "at least "
        count, named = _shared_keys(new_rows, old)
        if count:
            shown = ", ".join(named) + (", ..." if least or count > len(named) else "")
            rest = (
                "; leave these rows out"
                if not least
                else f". The rows of epoch {number} are not at hand, and its ledger has {SIZE:,} of their keys: give "
                "these rows too (`--rows`), so that all are found"
            )
            running = (
                " It is a running number: give each row a key of its own."
                if key in new_rows.identity().numbered
                else ""
            )
            raise LedgerConflict(
                f"new_rows must be rows that no earlier epoch has: {least}{count} of their row keys ({key}) "
                f"{'is' if count == 1 else 'are'} in epoch {number} already: {shown}{rest}. No epoch was "
                f"opened.{running}"
            )


def compared_in_part(store: Store, ledger: Ledger, held: Sequence[Sample]) -> list[int]:
    """Return the epochs before this one of whose row keys only some were compared with those of its rows.

    Their rows are not among those held, and their ledgers have a sketch that leaves keys out.
    """
    at_hand = _with_keys(store, held)
    earlier = [
        one for one in ledgers(store, ledger)[: ledger.look(GuardState.of).number - 1] if one.dataset not in at_hand
    ]
    return [
        one.look(GuardState.of).number
        for one in earlier
        if not any(part.is_complete for part in _parts(one.look(lambda view: view.account(SKETCH))))
    ]


def _with_keys(store: Store, held: Sequence[Sample]) -> dict[str, Sample]:
    return {store.name_of(one.fingerprint()): one for one in held if one.row_key is not None}


def _parts(plain: Mapping[str, Any] | None) -> list[Sketch]:
    return [] if plain is None else [Sketch.from_dict(part) for part in (plain, *plain.get("more", ()))]


def _all_hashes(sample: Sample) -> Any:
    assert sample.row_key is not None
    column = sample.schema[sample.row_key]
    parts = [np.unique(key_hashes(column, batch[column.name])) for batch in sample.batches([column.name])]
    return np.unique(np.concatenate(parts)) if parts else np.array([], dtype=np.uint64)


def _shared_keys(sample: Sample, old: Any) -> tuple[int, list[str]]:
    """How many of the keys are among the old ones, and some of them."""
    assert sample.row_key is not None
    column, count, named = sample.schema[sample.row_key], 0, list[str]()
    for batch in sample.batches([column.name]):
        values, missing = batch[column.name]
        places = np.flatnonzero(np.isin(key_hashes(column, (values, missing)), old))
        if not len(places):
            continue
        count += len(places)
        keys: Any
        if isinstance(values, Texts):  # hashes are those of the different texts that occur
            codes = values.codes if missing is None else values.codes[~missing]
            keys = [values.distinct[code] for code in np.unique(codes)]
        else:
            keys = values if missing is None else values[~missing]
            keys = keys[~np.isnan(keys)] if column.kind == "number" else keys
        named += [str(keys[int(place)])[:40] for place in places[: _NAMED - len(named)]]
    return count, named
