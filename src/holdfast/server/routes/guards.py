"""Guards: making and listing them, what is left, and the steward's acts."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response

from holdfast.guard import estimates, stewarding
from holdfast.guard.policy import Policy
from holdfast.guard.state import Status
from holdfast.server import shapes
from holdfast.server.auth.tokens import Anyone, Caller, Steward
from holdfast.server.http import StrictJSON
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.state import Server, server_of
from holdfast.server.views import described, listed

router = make_router("guards")


@router.post("/guards", status_code=201, responses=answers(shapes.GuardFacts, "name-taken", status=201))
async def create(request: Request, body: shapes.NewGuard, caller: Steward) -> Response:
    """Put a sample behind a guard. Rows that were guarded before meet the policy and the budget they had.

    A sample that shares rows with that of another guard is refused, unless `allow_overlap` gives the reason and the
    token stewards both guards. Then no later answer of either is certified.
    """
    server = server_of(request)

    def work() -> dict[str, Any]:
        row = server.guards.create(body.name, body.sample, body.policy, body.allow_overlap, caller)
        return described(server, row, caller)

    return StrictJSON(await server.work(work), 201)


@router.post("/guards/{guard}/extend", status_code=201, responses=answers(shapes.GuardFacts, "name-taken", status=201))
async def extend(request: Request, guard: str, body: shapes.NewEpoch, caller: Steward) -> Response:
    """Open the next epoch of a guard over new rows: the same policy, a fresh budget, one history.

    It is a guard with an id of its own, which the tokens of the first epoch reach.
    """
    server = server_of(request)

    def work() -> dict[str, Any]:
        server.guards.ledger(guard, caller)
        return described(server, server.guards.extend(guard, body.name, body.sample, caller), caller)

    return StrictJSON(await server.work(work), 201)


@router.get("/guards", responses=answers(shapes.Guards))
async def guards(request: Request, caller: Anyone) -> Response:
    """Every guard that the token reaches; one whose ledger is damaged by its name, with `status` "damaged"."""
    server = server_of(request)
    return StrictJSON({"guards": await server.work(listed, server, caller)})


@router.get("/guards/{guard}", responses=answers(shapes.GuardFacts))
async def show(request: Request, guard: str, caller: Anyone) -> Response:
    """One guard: schema, policy, status, progress, what is left."""
    server = server_of(request)
    return StrictJSON(await server.work(_show, server, guard, caller))


@router.get("/guards/{guard}/remaining", responses=answers(shapes.Remaining))
async def remaining(request: Request, guard: str, caller: Anyone) -> Response:
    """What the caller, and all together, may still ask."""
    server = server_of(request)
    return StrictJSON(await server.work(lambda: server.guards.guard(guard, caller).remaining(caller.name)))


@router.get("/guards/{guard}/level", responses=answers(shapes.Level, "guarantee-unavailable"))
async def level(
    request: Request,
    guard: str,
    caller: Anyone,
    alpha: Annotated[float, Query(gt=0, lt=1, description="The error that is allowed")] = 0.05,
) -> Response:
    """At what level a further p-value from these rows must reject, after all answers so far."""
    server = server_of(request)
    level, _ = await server.free.run(
        caller.name, False, lambda: estimates.level(server.guards.ledger(guard, caller), alpha, _who(caller))
    )
    return StrictJSON({"alpha": alpha, "level": level})


@router.get("/guards/{guard}/adjusted", responses=answers(shapes.Adjusted, "guarantee-unavailable"))
async def adjusted(
    request: Request, guard: str, caller: Anyone, p: Annotated[float, Query(ge=0, le=1, description="The p-value")]
) -> Response:
    """What a further p-value from these rows is worth after all answers so far; never below itself."""
    server = server_of(request)
    p_value, _ = await server.free.run(
        caller.name, False, lambda: estimates.adjusted(server.guards.ledger(guard, caller), p, _who(caller))
    )
    return StrictJSON({"p": p, "adjusted": p_value})


@router.post("/guards/{guard}/pause", responses=answers(shapes.GuardFacts))
async def pause(request: Request, guard: str, body: shapes.WithReason, caller: Steward) -> Response:
    """Answer nothing until it is resumed; recorded."""
    return await _set(request, guard, caller, "paused", body.reason)


@router.post("/guards/{guard}/resume", responses=answers(shapes.GuardFacts))
async def resume(request: Request, guard: str, body: shapes.WithReason, caller: Steward) -> Response:
    """Let a paused guard answer again. The ledger records it."""
    return await _set(request, guard, caller, "open", body.reason)


@router.post("/guards/{guard}/close", responses=answers(shapes.GuardFacts))
async def close(request: Request, guard: str, body: shapes.WithReason, caller: Steward) -> Response:
    """Close the guard forever. The ledger records it."""
    return await _set(request, guard, caller, "closed", body.reason)


@router.post("/guards/{guard}/override", responses=answers(shapes.GuardFacts))
async def override(request: Request, guard: str, body: shapes.NewPolicy, caller: Steward) -> Response:
    """Put another policy in place; recorded, and answers after it say that they are not certified."""
    server = server_of(request)

    def work() -> dict[str, Any]:
        stewarding.override(server.guards.ledger(guard, caller), Policy.from_dict(body.policy), body.reason)
        return _show(server, guard, caller)

    return StrictJSON(await server.work(work))


def _who(caller: Caller) -> str | None:
    """Whose answers a level goes by where histories are separate; a steward sees them all and has no level there."""
    return None if caller.steward else caller.name


async def _set(request: Request, guard: str, caller: Caller, status: Status, reason: str) -> Response:
    server = server_of(request)

    def work() -> dict[str, Any]:
        stewarding.set_status(server.guards.ledger(guard, caller), status, reason)
        return _show(server, guard, caller)

    return StrictJSON(await server.work(work))


def _show(server: Server, guard: str, caller: Caller) -> dict[str, Any]:
    server.guards.ledger(guard, caller)
    return described(server, server.guards.row(guard), caller)
