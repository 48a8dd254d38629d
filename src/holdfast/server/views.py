"""Guards, ledgers, boards and reports as a caller may see them: the API and the pages show the same."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from fastapi import Request
from starlette.responses import HTMLResponse

from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard import stewarding
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.leaderboard import Scores, place_of
from holdfast.guard.ledger.entry import Entry, as_seen
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.seats import seat_page
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateRow
from holdfast.guard.ledger.verify import verify_snapshot
from holdfast.guard.policy import SCORE, Policy
from holdfast.guard.questions.score import Score
from holdfast.guard.replay import GuardReplay
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.board import chosen as chosen_board
from holdfast.guard.state import GuardState
from holdfast.server.auth.tokens import Caller
from holdfast.server.guards import ask_all
from holdfast.server.http import Problem
from holdfast.server.state import Server, server_of

# --- Guards -----------------------------------------------------------------------------------------------------------
# A guard and its ledger, as a caller may see them.


def described(server: Server, row: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Return what a caller may see of a guard. An analyst sees the whole's totals and no other analyst's."""
    ledger = server.store.ledger(row["dataset"])
    facts = stewarding.describe(ledger, None if caller.steward else caller.name)
    facts_shown = {name: row[name] for name in ("id", "name", "sample", "created")} | facts
    facts_shown["epochs"] = (
        server.guards.epochs_of(row["id"]) if facts["epoch_number"] > 1 or "successor" in facts else []
    )
    if not caller.steward:
        facts_shown["sample"] = None
    return facts_shown


def listed(server: Server, caller: Caller) -> list[dict[str, Any]]:
    """What a caller may see of every guard that is reached; of one whose ledger is damaged, its name and that it is.

    Whom a damaged guard's policy names may not be known. Then it is listed for stewards, and for tokens that name it.
    """
    guards = []
    for row in server.guards.rows():
        first = server.guards.first(row["id"])
        if not caller.reaches(first):
            continue
        reached = caller.steward or caller.guards is not None
        try:
            policy = server.store.ledger(row["dataset"]).look(GuardState.of).policy
            reached = caller.reaches(first, policy)
            if reached:
                guards.append(described(server, row, caller))
        except (LedgerConflict, InvalidParameter) as error:
            if reached:
                problem = str(error) if caller.steward else "its ledger is damaged; tell the stewards of this server"
                known = {name: row[name] for name in ("id", "name", "created")}
                guards.append(known | stewarding.damaged(row["dataset"], problem))
    return guards


def page_of(
    ledger: Ledger, caller: Caller, limit: int, *, first: int = 1, before: int | None = None, analyst: str | None = None
) -> tuple[list[Entry], int | None]:
    """`limit` entries that a caller may see, and where the page after them begins if there is one.

    From `first` on, or with `before` the last ones before that number; those of one analyst where one is named. An
    analyst sees the own ones alone, and where histories are separate by numbers of their own.
    """
    whose = analyst if caller.steward else caller.name
    if not caller.steward and analyst not in (None, caller.name):
        raise Problem("forbidden", "an analyst sees the own entries alone; leave analyst out")
    if not caller.steward and has_seats(ledger):
        some, following = seat_page(ledger, caller.name, limit, first=first, before=before)
        return [as_seen(entry) for entry in some], following
    newest = before is not None
    entries = ledger.page(limit + 1, first=first, before=before, newest=newest, analyst=whose)
    if len(entries) <= limit:
        return entries, None
    if newest:
        return entries[1:], entries[1].sequence
    return entries[:-1], entries[-1].sequence


def has_seats(ledger: Ledger) -> bool:
    """Return whether analysts see their own entries by numbers of their own (`holdfast.guard.ledger.seats`)."""
    return ledger.look(GuardState.of).policy.histories == "separate"


def entry_for(ledger: Ledger, caller: Caller, number: int) -> Entry | None:
    """Return the entry that a caller knows by this number, if it is for this caller to see."""
    if not caller.steward and has_seats(ledger):
        entries, _ = seat_page(ledger, caller.name, 1, first=number)
    else:
        entries = list(ledger.entries(number, number))
    return entries[0] if entries and caller.sees(entries[0].analyst) else None


def verified(server: Server, guard: str, caller: Caller) -> dict[str, Any]:
    """Return what `holdfast verify` says about one guard's chain."""
    ledger = server.guards.ledger(guard, caller)
    key = None if ledger.key is None else ledger.key.public
    with server.store.snapshot() as rows:
        chain = _One(rows, ledger.dataset)
        return verify_snapshot(chain, public_key=key, replay=GuardReplay, key=ledger.key, epochs=False).to_dict()


class _One:
    """The rows of one chain of a store."""

    def __init__(self, rows: Snapshot, dataset: str) -> None:
        self._rows, self._dataset = rows, dataset

    def problems(self) -> list[str]:
        return self._rows.problems()

    def heads(self) -> list[HeadRow]:
        return [row for row in self._rows.heads() if row.dataset == self._dataset]

    def entries(self, name: Any, first: int = 1) -> Iterator[Entry]:
        return self._rows.entries(name, first)

    def accounts(self, name: Any) -> list[StateRow]:
        return self._rows.accounts(name)

    def secrets(self, name: Any) -> list[StateRow] | None:
        return self._rows.secrets(name)


# --- Boards -----------------------------------------------------------------------------------------------------------
# Boards and what was submitted to them, as a caller may see them.

_KEPT: WeakKeyDictionary[Server, dict[str, Scores]] = WeakKeyDictionary()


def scores_of(server: Server, ledger: Ledger) -> Scores:
    """Return what a guard's ledger says about its boards; each worker keeps what it has read of a ledger."""
    scores = _KEPT.setdefault(server, {})
    return scores.setdefault(ledger.dataset, Scores(ledger))


def facts_of(entry: Entry, state: GuardState) -> dict[str, Any]:
    """Return what may be shown of an answered submission to whoever made it."""
    question, place = entry.body["question"], place_of(entry)
    stored = GuardedAnswer.stored(entry.body["answer"], entry.sequence, repeated=True)
    answer = stored.doubted(state.doubt(entry.sequence))
    names = ("board", "metric", "rule", "name", "predictions", "count", "guess", "tolerance")
    return {
        "sequence": place.sequence,
        "time": place.time,
        "analyst": place.analyst,
        **{name: question[name] for name in names},
        **answer.released(),
        "improved": place.improved,
        "confirmed": place.confirmed,
        "certified": answer.guarantee.certified,
        "finished": place.finished,
    }


def board_of(policy: Policy, name: str | None) -> Board:
    """Return the board that a request names, or the only one."""
    return chosen_board(policy.boards, name)


def wanted(server: Server, guard: str, caller: Caller, board: str | None) -> tuple[Board, Schema, int]:
    """Return the board, and what its columns are: everything that the file is read by."""
    standing = server.guards.ledger(guard, caller).look(GuardState.of)
    if SCORE not in (standing.policy.kinds or ()):
        raise QuestionRefused(
            "this guard does not score predictions, because its policy has no leaderboard or does not allow scores"
        )
    standing.require_open()
    return board_of(standing.policy, board), standing.schema, standing.explored


def scored(server: Server, guard: str, caller: Caller, question: Score, key: str | None) -> Mapping[str, Any]:
    """Ask, and say what the ledger holds of it. A submission that is refused or was made before is free work."""
    server.free.require(caller.name)
    begun = time.thread_time()
    with server.free.charging_refusals(caller.name):
        (answer,) = ask_all(server.guards, guard, caller, [question], None if key is None else [key])
    if answer.repeated:
        server.free.charge(caller.name, time.thread_time() - begun)
    ledger = server.guards.chain(guard)
    (entry,) = ledger.entries(answer.sequence, answer.sequence)
    now = {"details": dict(answer.details), "improved": answer.details.get("improved")}
    return facts_of(entry, ledger.look(GuardState.of)) | now | {"repeated": answer.repeated, "receipt": answer.receipt}


# --- Reports ----------------------------------------------------------------------------------------------------------
# The page of an audit report.


async def whole_report(request: Request, report: str, caller: Caller) -> HTMLResponse:
    """The library's own page of a report. Only its own style applies, by its hash; nothing else does anything."""
    server = server_of(request)
    page = await server.work(_page, server, report, caller)
    from holdfast.coherence.report.page import STYLE

    return HTMLResponse(page, headers=view_headers(STYLE))


def view_headers(style: str) -> dict[str, str]:
    """What a page of its own is sent with: no script, no form, no frame, no address, and a sandbox around the rest."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
    return {
        "Content-Security-Policy": policy + "frame-ancestors 'none'; sandbox allow-top-navigation-by-user-activation",
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def _page(server: Server, report: str, caller: Caller) -> str:
    from holdfast.coherence.report import html

    return html(server.reports.report(report, caller))
