"""What one analyst sees of a ledger where histories are separate: the own entries, counted and chained by themselves.

The number of an entry, the hash of the one before it and the digests of totals follow from what everybody was answered.
An analyst whose history is separate may learn nothing of the others, so each has a *seat*: a chain of the own answers
inside the ledger's chain. Its numbers and hashes are what this analyst is shown, in answers, receipts and histories.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from holdfast.guard.ledger.entry import SEAT, START, Entry, canonical, number_of, sha256, shown_body
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import Transaction

_PAGE = 1000


def seat_account(analyst: str) -> str:
    """Return the name of the account that holds where an analyst's chain ends.

    Examples
    --------
    >>> seat_account("ann")[:9], len(seat_account("ann" * 60))
    ('seat:4991', 37)
    """
    return f"seat:{hashlib.sha256(analyst.encode()).hexdigest()[:32]}"


def next_seat(before: Mapping[str, Any] | None, dataset: str, analyst: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the place of an answer in its analyst's chain, after where the chain ended before.

    Examples
    --------
    >>> first = next_seat(None, "d", "ann", {"digest": "q", "answer": 1})
    >>> second = next_seat(end_of(first), "d", "ann", {"digest": "q", "answer": 2})
    >>> first["sequence"], second["sequence"], second["previous"] == first["hash"]
    (1, 2, True)
    """
    held: Mapping[str, Any] = {"sequence": 0, "hash": START} if before is None else before
    place = {"sequence": held["sequence"] + 1, "previous": held["hash"]}
    stated = canonical("an entry", {"dataset": dataset, "analyst": analyst, "body": shown_body(body)} | place)
    return place | {"hash": sha256(stated)}


def end_of(seat: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the account of a seat holds after an entry."""
    return {"sequence": seat["sequence"], "hash": seat["hash"]}


def take_seat(transaction: Transaction, analyst: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an answer with its place in the analyst's chain, which is put down with it."""
    name = seat_account(analyst)
    seat = next_seat(transaction.account(name), transaction.dataset, analyst, body)
    transaction.put_account(name, end_of(seat))
    return {**body, SEAT: seat}


def seat_entries(ledger: Ledger, analyst: str) -> list[Entry]:
    """Return all answers of an analyst in order, as the ledger holds them; the number of each is its place here."""
    entries: list[Entry] = []
    first = 1
    while True:
        some = ledger.page(_PAGE, first=first, analyst=analyst, kind="answered")
        entries += [entry for entry in some if SEAT in entry.body]
        if len(some) < _PAGE:
            return entries
        first = some[-1].sequence + 1


def seat_page(
    ledger: Ledger, analyst: str, limit: int, *, first: int = 1, before: int | None = None
) -> tuple[list[Entry], int | None]:
    """`limit` answers of an analyst by their own numbers, and where the page after them begins if there is one.

    From `first` on, or with `before` the last ones before that number. Entries are as the ledger holds them.
    """
    every = seat_entries(ledger, analyst)
    if before is not None:
        earlier = every[: before - 1]
        shown = earlier[-limit:]
        return shown, number_of(shown[0]) if len(earlier) > limit else None
    later = every[first - 1 :]
    return later[:limit], number_of(later[limit]) if len(later) > limit else None
