"""Boards that everybody may see, without a token: the places, the results of finals, and all of it as JSON and CSV.

The policy says which boards are public. What is here is what every participant sees; nothing is anybody's own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request, Response

from holdfast.errors import InvalidParameter
from holdfast.guard.contest import Contest, contest
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.policy import Policy
from holdfast.guard.scoring.board import Board
from holdfast.guard.state import GuardState
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem, StrictJSON
from holdfast.server.pages.boards import METRICS, chosen_result, contest_times, exported, result_response, view
from holdfast.server.pages.rendering import page_router, show, visitor
from holdfast.server.state import Server, server_of
from holdfast.server.views import board_of, scores_of

router = page_router()
NOBODY = Caller("", "analyst", "")
"""Whoever looks: sees nobody's own."""
FRESH = 2.0
"""Seconds for which what was read for one visitor is shown to others: the page costs little, however many look."""
_MOST_KEPT = 64
_KEPT: dict[tuple[int, str, str, str], tuple[float, Any]] = {}
_MUTEX = threading.Lock()
T = TypeVar("T")


def _kept(server: Server, guard: str, board: str, what: str, make: Callable[[], T]) -> T:
    """What was made a moment ago for the same board, or made now."""
    name, moment = (id(server), guard, board, what), time.monotonic()
    with _MUTEX:
        made, value = _KEPT.get(name, (-FRESH, None))
    if moment - made < FRESH:
        return value  # type: ignore[no-any-return]
    found = make()
    with _MUTEX:
        _KEPT[name] = time.monotonic(), found
        while len(_KEPT) > _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
    return found


def _found(server: Server, guard: str, board: str | None) -> tuple[Ledger, Policy, Board]:
    """A public board; one that is not public is not there."""
    ledger = server.guards.chain(guard)
    policy = ledger.look(GuardState.of).policy
    shown = [one for one in policy.boards or () if one.public and board in (None, "", one.name)]
    if not shown:
        raise Problem("not-found", "there is no public board here")
    return ledger, policy, board_of(policy, shown[0].name)


def _contest(server: Server, guard: str, ledger: Ledger, policy: Policy, board: Board) -> Contest | None:
    if not policy.has_contest:
        return None
    return _kept(server, guard, board.name, "contest", lambda: contest(ledger, board.name))


@router.get("/public/{guard}")
async def public_board(request: Request, guard: str) -> Response:
    """The board as everybody may see it, `?board=`, or the first public one."""
    await visitor(request)
    server = server_of(request)

    def work() -> dict[str, Any]:
        ledger, policy, board = _found(server, guard, request.query_params.get("board"))
        stands = _contest(server, guard, ledger, policy, board)
        seen = _kept(
            server, guard, board.name, "view", lambda: view(scores_of(server, ledger), ledger, board.name, NOBODY)
        )
        return seen | {
            "guard": {"id": guard, "name": server.guards.row(guard)["name"]},
            "board": board,
            "boards": [one.name for one in policy.boards or () if one.public],
            "contest": stands,
            "times": contest_times(board, stands),
        }

    values = await server.work(work)
    return show(request, "public.html", **values, metrics=METRICS, shown_at=f"/public/{guard}")


@router.get("/public/{guard}/leaderboard.{kind}")
async def public_leaderboard(request: Request, guard: str, kind: str) -> Response:
    """The places as `json` or `csv`."""
    server = server_of(request)

    def work() -> Response:
        ledger, _, board = _found(server, guard, request.query_params.get("board"))
        standings = _kept(
            server,
            guard,
            board.name,
            "leaderboard",
            lambda: scores_of(server, ledger).leaderboard(board.name, most=5_000),
        )
        return exported(standings, kind, f"leaderboard of {board.name}")

    return await server.work(work)


@router.get("/public/{guard}/head")
async def public_head(request: Request, guard: str) -> Response:
    """The signed head of the ledger, to be kept: nothing in it can be changed unnoticed after that."""
    server = server_of(request)

    def work() -> Response:
        ledger, _, _ = _found(server, guard, None)
        return StrictJSON(_kept(server, guard, "", "head", lambda: ledger.tree_head().to_dict()))

    return await server.work(work)


@router.get("/public/{guard}/proof")
async def public_proof(request: Request, guard: str) -> Response:
    """The path from the result of a final, `?board=&phase=`, to the head of `size` entries, all if not given."""
    server, asked = server_of(request), request.query_params

    def work() -> Response:
        ledger, policy, board = _found(server, guard, asked.get("board"))
        result = chosen_result(_contest(server, guard, ledger, policy, board), asked.get("phase"))
        size = asked.get("size")
        if size is not None and not (size.isascii() and size.isdigit() and len(size) < 16):
            raise InvalidParameter("size must be the number of entries that a published head of the ledger covers")
        return StrictJSON(ledger.inclusion(result.sequence, None if size is None else int(size)).to_dict())

    return await server.work(work)


@router.get("/public/{guard}/result")
async def public_result(request: Request, guard: str) -> Response:
    """The result of a final, `?board=&phase=&as=`: a page of its own, `json` or `csv`."""
    server, asked = server_of(request), request.query_params

    def work() -> Response:
        ledger, policy, board = _found(server, guard, asked.get("board"))
        result = chosen_result(_contest(server, guard, ledger, policy, board), asked.get("phase"))
        return result_response(result, asked.get("as"))

    return await server.work(work)
