"""Who is signed in: a sealed cookie that names a token's id, and in every form a CSRF token that only we can make.

The cookie does not hold the token. Its seal is made with a key that follows from the server's signing key and from the
token's stored hash, so that all workers agree without keeping anything, and a copy of the database alone is no way in.
The token's row is read at every request: a session ends with its token. Where a ledger has no signing key (PostgreSQL
without `--signing-key`) the seal depends on the stored hash alone.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request, Response

from holdfast.server.auth.tokens import FOREIGN, TOKEN, Caller
from holdfast.server.http import Problem, address_of, retry_after
from holdfast.server.records import TOKENS, now
from holdfast.server.state import Server, server_of

COOKIE = "holdfast_session"
SECONDS = 12 * 3600
"""How long a session lasts at most."""

_FORM = re.compile(r"([0-9a-f]{16})\.([0-9]{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})", re.ASCII)
_DOMAIN = b"holdfast pages: the key that seals sessions, version 1"


@dataclass(frozen=True)
class SignedIn:
    """Whoever a page is for, and the CSRF token that their forms carry."""

    caller: Caller
    csrf_token: str


class Sessions:
    """Makes and reads cookies."""

    def __init__(self, server: Server) -> None:
        self._server = server
        key = server.store.key
        # A signature of a fixed text is known to holders of the signing key only, and always the same.
        self._base = b"unsigned" if key is None else bytes.fromhex(key.sign(_DOMAIN))

    def begin(self, token: str, address: str) -> str:
        """The cookie for a token's text; `Problem` for one that is not good. Wrong ones count against an address."""
        server = self._server
        try:
            caller = server.tokens.verify(token, server.failures.wait(address))
        except Problem as problem:
            if problem.code == "unauthenticated":
                server.failures.count(address)
            raise
        return self.begin_for(caller.token)

    def begin_for(self, identity: str) -> str:
        """Return the cookie for the row of somebody who has shown already who they are."""
        row = self._server.records.get(TOKENS, id=identity)
        assert row is not None
        content = f"{identity}.{int(time.time())}.{secrets.token_hex(16)}"
        return f"{content}.{self._seal(row['hash'], 'session ' + content)}"

    def read(self, cookie: str | None) -> SignedIn | None:
        """Return who a cookie signs in now; None for one that is old, forged, or whose token has ended."""
        parts = _FORM.fullmatch(cookie or "")
        row = None if parts is None else self._server.records.get(TOKENS, id=parts[1])
        if parts is None or row is None or cookie is None:
            return None
        if row["hash"].startswith(FOREIGN) and self._server.oidc is None:  # the provider is no longer believed
            return None
        content = cookie.rpartition(".")[0]
        if not hmac.compare_digest(self._seal(row["hash"], "session " + content), parts[4]):
            return None
        if time.time() - int(parts[2]) > SECONDS or row["revoked"] is not None or row["expires"] <= now():
            return None
        guards = None if row["guards"] is None else frozenset(json.loads(row["guards"]))
        caller = Caller(row["id"], row["role"], row["name"], guards, row["expires"])
        return SignedIn(caller, self._seal(row["hash"], "form " + content))

    def _seal(self, stored: str, said: str) -> str:
        key = hmac.digest(self._base, stored.encode(), "sha256")
        return hmac.digest(key, said.encode(), "sha256").hex()


def sessions_of(request: Request) -> Sessions:
    """Return the worker's sessions."""
    sessions = request.app.state.sessions
    assert isinstance(sessions, Sessions)
    return sessions


async def signed_in(request: Request) -> SignedIn | None:
    """Who is signed in, kept to the rate of their token; None for a visitor."""
    server = server_of(request)
    session = await server.check(sessions_of(request).read, request.cookies.get(COOKIE))
    if session is not None:
        request.state.caller = session.caller
        wait = server.rates.take(session.caller.token)
        if wait:
            raise Problem("rate-limited", "this token asks too often", headers=retry_after(wait))
    return session


async def sign_in(request: Request, token: str) -> str:
    """The cookie for a token that was typed in, blanks around it forgiven."""
    token_text = TOKEN.search(token)
    text = token_text[0] if token_text else token.strip()
    return await server_of(request).hash(sessions_of(request).begin, text, address_of(request.scope))


def set_cookie(request: Request, response: Response, cookie: str) -> None:
    """Hand the cookie over: not for scripts, and not sent along by other sites."""
    response.set_cookie(COOKIE, cookie, max_age=SECONDS, httponly=True, samesite="strict", secure=over_tls(request))


def clear_cookie(request: Request, response: Response) -> None:
    """Take it back."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=over_tls(request))


def require_same_site(request: Request) -> None:
    """Refuse a form that another site sent; browsers say where one came from."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = site is not None and site not in ("same-origin", "none")
    if origin is not None and site is None:
        foreign = urlsplit(origin).netloc != request.headers.get("host")
    if foreign:
        raise Problem("forbidden", "this form came from another site")


def require_csrf_token(session: SignedIn, sent: object) -> None:
    """Refuse a form that does not carry the CSRF token of the session."""
    if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), session.csrf_token.encode()):
        raise Problem("forbidden", "this form is older than the session; load the page again and repeat it")


def over_tls(request: Request) -> bool:
    """Return whether the browser's side is encrypted: as a proxy that we believe says, or as the settings say."""
    public = server_of(request).settings.public_url or ""
    return request.url.scheme == "https" or public.startswith("https:")
