"""Pages from templates: every text escaped, strict headers, and errors that are pages too."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse

from holdfast import __version__
from holdfast.errors import HoldfastError
from holdfast.guard.questions.words import number
from holdfast.server.auth.session import SignedIn, require_csrf_token, require_same_site, signed_in
from holdfast.server.demo.analysts import STORY
from holdfast.server.http import API, CODES, FREE, Problem, problem_of
from holdfast.server.pages import pictures, words

# --- Assets -----------------------------------------------------------------------------------------------------------
# The two files that pages load, and the icon. A change of a file changes its address, so that they may be kept.

router = APIRouter()
_FOLDER = Path(__file__).parent / "static"
_KINDS = {
    "holdfast.css": "text/css; charset=utf-8",
    "holdfast.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@lru_cache(maxsize=8)
def _read(name: str) -> tuple[bytes, str]:
    content = (_FOLDER / name).read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:16]


def address_of_asset(name: str) -> str:
    """Return where a file is, with a mark of what is in it.

    Examples
    --------
    >>> address_of_asset("holdfast.css").startswith("/assets/holdfast.css?")
    True
    """
    return f"/assets/{name}?{_read(name)[1]}"


@router.get("/assets/{name}")
async def asset(request: Request, name: str) -> Response:
    """One of our files; no other name is looked up."""
    if name not in _KINDS:
        raise Problem("not-found", "there is nothing at this address")
    content, mark = _read(name)
    if request.headers.get("if-none-match") == f'"{mark}"':
        return Response(status_code=304)
    caching = "public, max-age=31536000, immutable" if request.url.query == mark else "no-cache"
    headers = {"ETag": f'"{mark}"', "Cache-Control": caching, "Cross-Origin-Resource-Policy": "same-origin"}
    return Response(content, headers=headers, media_type=_KINDS[name])


# --- Pages ------------------------------------------------------------------------------------------------------------

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""What every page is sent with: nothing runs or loads but our own two files."""

_MOST_FIELDS = 100


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the templates and what they may call."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {
        "pictures": pictures,
        "words": words,
        "version": __version__,
        "asset": address_of_asset,
        "story": STORY,
    }
    templates.filters |= {"day": day, "moment": moment, "number": number, "width": words.width}
    return templates


def day(text: str) -> str:
    """Return the date of a stored time.

    Examples
    --------
    >>> day("2030-01-31T12:00:00+00:00")
    '31 Jan 2030'
    """
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%-d %b %Y")


def moment(text: str) -> str:
    """Return a stored time as people read it, in UTC.

    Examples
    --------
    >>> moment("2030-01-31T12:00:07.123456+00:00")
    '31 Jan 2030, 12:00:07'
    """
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%-d %b %Y, %H:%M:%S")


def show(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page, or with a template whose name begins with `part_` a part of one."""
    session: SignedIn | None = getattr(request.state, "session", None)
    base = {
        "request": request,
        "me": None if session is None else session.caller,
        "csrf_token": "" if session is None else session.csrf_token,
        "tour": request.app.state.tour,
        "provider": _provider(request),
    }
    return HTMLResponse(environment().get_template(template).render(base | values), status)


def _provider(request: Request) -> str | None:
    """What the button says that signs in with an identity provider; None where there is none."""
    settings = request.app.state.server.settings
    return settings.oidc_label if settings.oidc_client_id is not None else None


def go(address: str) -> RedirectResponse:
    """See another page, by GET."""
    return RedirectResponse(address, 303)


class PageRoute(APIRoute):
    """A route whose errors are pages, and whose answers carry the headers of pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the route's own handler."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                response = await inner(request)
            except (Problem, HoldfastError) as error:
                response = refused(request, error)
            except HTTPException:  # a form that cannot be read
                response = refused(request, Problem("malformed-request", "the form cannot be read"))
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return handle


def wants_page(request: Request) -> bool:
    """Return whether a person asks: a browser, outside the API and what machines read."""
    path: str = request.scope["path"]
    return not path.startswith(API) and path not in FREE and "text/html" in request.headers.get("accept", "")


def problem_page(request: Request, problem: Problem) -> Response:
    """Return a problem that came up outside the pages, such as an address that is not there, as a page."""
    page = refused(request, problem)
    page.headers.update(HEADERS)
    return page


def noted(request: Request, error: Problem | HoldfastError | None) -> Problem | None:
    """Return what a page has to say of an error, with its code in the log; None where there was none."""
    if error is None:
        return None
    problem = problem_of(error)
    request.state.code = problem.code
    return problem


def refused(request: Request, error: Problem | HoldfastError) -> Response:
    """Return an error as a page; a visitor who needs a token is sent to sign in."""
    problem = problem_of(error)
    request.state.code = problem.code
    if problem.code == "unauthenticated" and request.method == "GET":
        return go(f"/sign-in?next={quote(request.url.path)}")
    title = CODES[problem.code][1]
    if problem.code == "not-found" and request.url.path.startswith("/public/"):  # nobody has a token there
        title = "There is nothing public here"
    page = show(request, "problem.html", problem.status, title=title, problem=problem)
    page.headers.update(problem.headers)
    return page


def page_router() -> APIRouter:
    """Return a router for pages."""
    return APIRouter(route_class=PageRoute, default_response_class=HTMLResponse)


async def visitor(request: Request) -> SignedIn | None:
    """Whoever looks at a page, signed in or not."""
    session = request.state.session = await signed_in(request)
    return session


async def member(request: Request) -> SignedIn:
    """Whoever looks at a page that needs a token."""
    session = await visitor(request)
    if session is None:
        raise Problem("unauthenticated", "sign in with a token")
    return session


async def steward(request: Request) -> SignedIn:
    """The steward that a page is for."""
    session = await member(request)
    if not session.caller.steward:
        raise Problem("forbidden", "this page is for stewards")
    return session


async def form_of(request: Request, session: SignedIn) -> FormData:
    """A form that came from a page of this session. Nothing is read of one that another site sent."""
    require_same_site(request)
    form = await request.form(max_files=1, max_fields=_MOST_FIELDS)
    require_csrf_token(session, form.get("csrf_token"))
    return form


def field(form: FormData | Any, name: str) -> str:
    """Return a field's text without blanks around it; empty where it is missing."""
    value = form.get(name)
    return "" if value is None or isinstance(value, UploadFile) else str(value).strip()
