"""Leaderboards: who is where, as far as the intervals tell.

`GET /guards/{id}/leaderboard?board=&every=` gives

    {"board": {the board as the policy declares it}, "rising": true, "range": [0.0, 1.0], "confidence": 0.95,
     "submissions": 12, "places": [{"sequence": 7, "time": "...", "analyst": "ann", "name": "forest", "value": 0.8,
     "interval": [0.76, 0.84], "improved": null, "confirmed": true, "rank": [1, 2], "tied": [5], "certified": true}]}

`GET /guards/{id}/contest?board=` says where a contest stands, with what the host should know in time and the result of
each final, as `holdfast.guard.contest` has them. Warnings are the steward's. `GET /guards/{id}/contest/revealed?board=`
has the exact value of every answer before the first final, and is the steward's.

`GET /guards/{id}/boards` gives `{"boards": [...]}`. Both are for everyone who reaches the guard: a leaderboard shows
the names of all who are on it. `every` lists every submission, and is the steward's.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response

from holdfast.guard.contest import contest, revealed
from holdfast.guard.state import GuardState
from holdfast.server import shapes as shapes
from holdfast.server.auth.tokens import Anyone, Steward
from holdfast.server.http import Problem, StrictJSON
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.routes.submissions import BoardName
from holdfast.server.state import server_of
from holdfast.server.views import board_of, scores_of

router = make_router("submissions")


@router.get("/guards/{guard}/leaderboard", responses=answers(shapes.LeaderboardFacts))
async def leaderboard(
    request: Request,
    guard: str,
    caller: Anyone,
    board: BoardName = None,
    every: Annotated[bool, Query(description="Every submission, not the best of each analyst: a steward's")] = False,
) -> Response:
    """Places with their intervals, ranks and ties. Nothing on it is exact."""
    server = server_of(request)
    if every and not caller.steward:
        raise Problem("forbidden", "every submission of everybody is shown to stewards")

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        name = board_of(ledger.look(GuardState.of).policy, board).name
        return scores_of(server, ledger).leaderboard(name, every=every).to_dict()

    return StrictJSON(await server.work(work))


@router.get("/guards/{guard}/boards", responses=answers(shapes.Boards))
async def boards(request: Request, guard: str, caller: Anyone) -> Response:
    """The boards that predictions are scored on here."""
    server = server_of(request)

    def work() -> list[dict[str, Any]]:
        policy = server.guards.ledger(guard, caller).look(GuardState.of).policy
        return [board.to_dict() for board in policy.boards or ()]

    return StrictJSON({"boards": await server.work(work)})


@router.get("/guards/{guard}/contest", responses=answers(shapes.ContestFacts))
async def contest_facts(request: Request, guard: str, caller: Anyone, board: BoardName = None) -> Response:
    """Where a contest stands, and the results of its finals."""
    server = server_of(request)

    def work() -> Response:
        facts = contest(server.guards.ledger(guard, caller), board).to_dict()
        return StrictJSON(facts if caller.steward else facts | {"warnings": []})

    return await server.work(work)


@router.get("/guards/{guard}/contest/revealed", responses=answers(shapes.Revealed))
async def contest_revealed(request: Request, guard: str, caller: Steward, board: BoardName = None) -> Response:
    """Every answer before the first final with its exact value: for stewards, because it tells of everybody's."""
    server = server_of(request)

    def work() -> Response:
        return StrictJSON({"revealed": revealed(server.guards.ledger(guard, caller), board)})

    return await server.work(work)
