"""Signing in with an identity provider: there, and back again into the same session that a token begins."""

from __future__ import annotations

from fastapi import Request, Response

from holdfast.server import observability
from holdfast.server.auth.oidc.service import Oidc
from holdfast.server.auth.oidc.settings import LOGIN_SECONDS
from holdfast.server.auth.session import over_tls, sessions_of, set_cookie
from holdfast.server.http import Problem, address_of, retry_after
from holdfast.server.pages.rendering import go, page_router, show
from holdfast.server.pages.welcome import after_sign_in
from holdfast.server.state import server_of

router = page_router()
COOKIE = "holdfast_oidc"
_PATH = "/sign-in/oidc"


@router.get(_PATH)
async def leave(request: Request) -> Response:
    """Send the browser to the provider."""
    oidc = _oidc(request)
    address = after_sign_in(request.query_params.get("next"))
    place, cookie = await oidc.run(oidc.begin, address)
    response = go(place)
    # Lax, because the browser comes back from another site; it is good for ten minutes and for one path.
    response.set_cookie(
        COOKIE, cookie, max_age=LOGIN_SECONDS, path=_PATH, httponly=True, samesite="lax", secure=over_tls(request)
    )
    return response


@router.get(_PATH + "/callback")
async def come_back(request: Request) -> Response:
    """Take what the provider sent along, and begin a session."""
    server, oidc, address = server_of(request), _oidc(request), address_of(request.scope)
    wait = server.failures.wait(address)
    if wait:
        raise Problem("rate-limited", "too many sign-ins from this address failed", headers=retry_after(wait))
    try:
        identity, page = await oidc.run(oidc.finish, request.cookies.get(COOKIE), dict(request.query_params))
    except Problem as problem:
        if problem.status < 500:
            server.failures.count(address)
        request.state.code = problem.code
        response: Response = show(request, "welcome.html", problem.status, next="/", problem=problem)
        response.headers.update(problem.headers)
    else:
        observability.say("signed-in", request_id=request.state.request_id, token=identity)
        # A page and no redirect: browsers keep strict cookies from whatever another site set in motion.
        response = show(request, "signed_in.html", next=page)
        set_cookie(request, response, await server.check(sessions_of(request).begin_for, identity))
    response.delete_cookie(COOKIE, path=_PATH, httponly=True, samesite="lax", secure=over_tls(request))
    return response


def _oidc(request: Request) -> Oidc:
    service = server_of(request).oidc
    assert service is not None  # these pages are there only where it is
    return service
