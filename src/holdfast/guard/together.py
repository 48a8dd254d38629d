"""Questions that came at the same time from different people: read and paid for together, decided one by one.

A server under load has many questions at hand. Each alone would cost a reading of the rows and a commit. Together they
cost one of each, and nobody notices: every question is let in or refused, charged and answered by itself, in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.errors import SampleUnavailable
from holdfast.guard import ahead, settling
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.ledger.transaction import Transaction, View
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Bound, Question
from holdfast.guard.settling import Asked
from holdfast.guard.standing import Standing

if TYPE_CHECKING:
    from holdfast.guard.guard import Guard

PATIENCE = 10.0
"""Seconds for reading the rows once more for each question alone, after reading them for all has failed."""


@dataclass(frozen=True)
class Request:
    """A question, who asks it, and the key that makes a retry the same question."""

    question: Question | Mapping[str, Any]
    analyst: str
    key: str | None = None


Allowed = Callable[[Request, Policy], None]
"""Raises where a request may not be made under a policy."""


def _anyone(_: Request, __: Policy) -> None:
    pass


@dataclass(eq=False)
class _Place:
    """What is known of one question so far: what it is, what it is answered from, and what became of it."""

    request: Request
    checked: Asked | None = None
    prepared: Any = field(default=None, repr=False)
    paid: Entry | None = None
    entry: Entry | None = None
    repeated: bool = False
    error: Exception | None = None

    @property
    def asked(self) -> Asked:
        """The question, once it was checked."""
        assert self.checked is not None
        return self.checked

    @property
    def open(self) -> bool:
        """Whether it has neither an answer nor a refusal."""
        return self.entry is None and self.error is None

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step; whatever goes wrong is this question's own."""
        try:
            step()
        except Exception as error:
            self.error = error


def ask_each(guard: Guard, requests: Sequence[Request], allowed: Allowed = _anyone) -> list[GuardedAnswer | Exception]:
    """Answer each question, or say why not; see `Guard.ask_each`."""
    from holdfast.guard.guard import RESERVED, SETTLED

    places = [_Place(request) for request in requests]
    guard.ledger.look(lambda view: _look(view, places, allowed))
    if guard.slow:
        # A question that several ask at once is paid for by the first of them, and free for the others.
        reserving = [place for place, follows in _with_leaders(places) if not follows]
        _submit(guard, reserving, lambda place: partial(settling.reserve, asked=place.asked), "paid")
        faults.reach(RESERVED)
    _measure(guard, [place for place in places if place.open])
    _submit(guard, [place for place in places if place.open], _settle, "entry")
    faults.reach(SETTLED)
    first: set[int] = set()
    for place in places:
        if place.entry is not None:
            place.repeated = place.repeated or place.entry.sequence in first  # asked twice in the same moment
            first.add(place.entry.sequence)
    return [_outcome(guard.ledger, place) for place in places]


def recall_each(
    ledger: Ledger, requests: Sequence[Request], lacking: SampleUnavailable, allowed: Allowed = _anyone
) -> list[GuardedAnswer | Exception]:
    """Answer from the ledger alone, where the rows cannot be reached: what was answered before is no question to them.

    A question that is new gets an error as `lacking` says, unless it is refused anyway.
    """
    places = [_Place(request) for request in requests]
    ledger.look(lambda view: _look(view, places, allowed))
    for place in places:
        if place.open:
            place.error = SampleUnavailable(*lacking.args)
    return [_outcome(ledger, place) for place in places]


def _with_leaders(places: Iterable[_Place]) -> Iterator[tuple[_Place, bool]]:
    """The open questions, and whether somebody before in the line asks the same."""
    asked: set[str] = set()
    for place in places:
        if place.open:
            digest = place.asked.bound.digest
            yield place, digest in asked
            if place.open:  # one that was refused meanwhile leads nobody
                asked.add(digest)


def _look(view: View, places: Sequence[_Place], allowed: Allowed) -> None:
    """Check every question, and find those that were answered before or would be refused now: no row need be read.

    The ledger decides again, alone; beyond the check this saves work and decides nothing.
    """
    standing = Standing.of(view)

    def check(place: _Place) -> None:
        request = place.request
        allowed(request, standing.policy)
        place.checked = settling.bind(request.question, standing, request.analyst, request.key)

    def look_up(place: _Place, follows: bool) -> None:
        place.entry = settling.known(view, place.asked)
        place.repeated = place.entry is not None
        # One that follows the same question will cost nothing if that is answered: the ledger says.
        if place.entry is None and not follows and settling.reservation(view, place.asked) is None:
            settling.admit(view, standing, place.asked)

    for place in places:
        place.attempt(partial(check, place))
    view.expect(*settling.looked_up([place.asked for place in places if place.open]))
    for place, follows in _with_leaders(places):
        place.attempt(partial(look_up, place, follows))
    warmed: set[object] = set()
    for place in places:
        if place.open:
            bound = place.asked.bound
            # Most kinds need the share alone, which is that of the first of them for all.
            name: object = bound.cost if type(bound).warm is Bound.warm else place
            if name not in warmed:
                warmed.add(name)
                place.attempt(partial(ahead.warm, view, [place.asked]))


def _measure(guard: Guard, places: Sequence[_Place]) -> None:
    """Read the rows for all at once; where that fails, for each alone, so that nobody bears another's error.

    Rows that take long to fail are not tried again for everybody who waits: a thread would be held for minutes.
    """
    if not places:
        return

    def alone(place: _Place) -> None:
        if time.monotonic() > end:
            raise SampleUnavailable("the rows could not be read in time; ask again with the same key")
        (place.prepared,) = guard._measure([place.asked])

    try:
        for place, part in zip(places, guard._measure([place.asked for place in places]), strict=True):
            place.prepared = part
    except Exception:
        end = time.monotonic() + PATIENCE
        for place in places:
            place.attempt(partial(alone, place))


def _settle(place: _Place) -> Callable[[Transaction], Entry]:
    return partial(settling.settle, asked=place.asked, prepared=place.prepared, paid=place.paid)


def _submit(
    guard: Guard, places: Sequence[_Place], work: Callable[[_Place], Callable[[Transaction], Entry]], name: str
) -> None:
    """Have the ledger decide questions that are open, and keep the entry that each gets under `name`."""
    keys, questions = settling.looked_up([place.asked for place in places])
    done = guard.ledger.submit_each([work(place) for place in places], keys=keys, questions=questions)
    for place, found in zip(places, done, strict=True):
        if isinstance(found, Exception):
            place.error = found
        else:
            setattr(place, name, found)


def _outcome(ledger: Ledger, place: _Place) -> GuardedAnswer | Exception:
    if place.error is not None:
        return place.error
    assert place.entry is not None
    return released(ledger, place.entry, place.repeated)


def released(ledger: Ledger, entry: Entry, repeated: bool) -> GuardedAnswer:
    """What an entry answered, with its receipt where the ledger is signed."""
    receipt = None if ledger.key is None else Receipt.of(entry, ledger.key).to_dict()
    return settling.stored_answer(entry, repeated, receipt)


__all__ = ["Request", "ask_each", "recall_each", "released"]
