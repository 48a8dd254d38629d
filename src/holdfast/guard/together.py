"""Questions that came at the same time from different people: read and paid for together, decided one by one.

A server under load has many questions at hand. Each alone would cost a reading of the rows and a commit. Together they
cost one of each, and nobody notices: every question is let in or refused, charged and answered by itself, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.guard import ahead, settling
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.transaction import Transaction, View
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Bound, Question
from holdfast.guard.settling import Asked
from holdfast.guard.standing import Standing

if TYPE_CHECKING:
    from holdfast.guard.guard import Guard


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
        _submit(guard, places, lambda place: partial(settling.reserve, asked=place.asked), "paid")
        faults.reach(RESERVED)
    _measure(guard, [place for place in places if place.open])
    _submit(guard, places, _settle, "entry")
    faults.reach(SETTLED)
    first: set[int] = set()
    for place in places:
        if place.entry is not None:
            place.repeated = place.repeated or place.entry.sequence in first  # asked twice in the same moment
            first.add(place.entry.sequence)
    return [_outcome(guard, place) for place in places]


def _look(view: View, places: Sequence[_Place], allowed: Allowed) -> None:
    """Check every question, and find those that were answered before or would be refused now: no row need be read.

    The ledger decides again, alone; beyond the check this saves work and decides nothing.
    """
    standing = Standing.of(view)

    def check(place: _Place) -> None:
        request = place.request
        allowed(request, standing.policy)
        place.checked = settling.bind(request.question, standing, request.analyst, request.key)

    def look_up(place: _Place) -> None:
        place.entry = settling.known(view, place.asked)
        place.repeated = place.entry is not None
        if place.entry is None and settling.reservation(view, place.asked) is None:
            settling.admit(view, standing, place.asked)

    for place in places:
        place.attempt(partial(check, place))
    view.expect(*settling.looked_up([place.asked for place in places if place.open]))
    for place in places:
        if place.open:
            place.attempt(partial(look_up, place))
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
    """Read the rows for all at once; where that fails, for each alone, so that nobody bears another's error."""
    if not places:
        return

    def alone(place: _Place) -> None:
        (place.prepared,) = guard._measure([place.asked])

    try:
        for place, part in zip(places, guard._measure([place.asked for place in places]), strict=True):
            place.prepared = part
    except Exception:
        for place in places:
            place.attempt(partial(alone, place))


def _settle(place: _Place) -> Callable[[Transaction], Entry]:
    return partial(settling.settle, asked=place.asked, prepared=place.prepared, paid=place.paid)


def _submit(
    guard: Guard, places: Sequence[_Place], work: Callable[[_Place], Callable[[Transaction], Entry]], name: str
) -> None:
    """Have the ledger decide every question that is open, and keep the entry it gets under `name`."""
    rest = [place for place in places if place.open]
    keys, questions = settling.looked_up([place.asked for place in rest])
    done = guard.ledger.submit_each([work(place) for place in rest], keys=keys, questions=questions)
    for place, found in zip(rest, done, strict=True):
        if isinstance(found, Exception):
            place.error = found
        else:
            setattr(place, name, found)


def _outcome(guard: Guard, place: _Place) -> GuardedAnswer | Exception:
    if place.error is not None:
        return place.error
    assert place.entry is not None
    return guard._released(place.entry, place.repeated)


__all__ = ["Request", "ask_each"]
