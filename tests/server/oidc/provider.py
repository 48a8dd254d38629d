"""A small OpenID provider for tests: real HTTP on the loopback interface, real keys, and faults to be switched on.

It has a discovery document, keys that can be rotated, an authorisation page where somebody picks who they are, and a
token endpoint that checks the code, its redirect address, the client's secret and the PKCE verifier.
"""

from __future__ import annotations

import asyncio
import html
import secrets
import threading
import time
import warnings
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import uvicorn
from fastapi import FastAPI, Request
from joserfc import jwt
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

CLIENT, SECRET = "holdfast-tests", "s3cret-of-the-client"
PEOPLE: dict[str, dict[str, Any]] = {
    "ann": {"sub": "u-1001", "email": "ann@example.org", "email_verified": True, "groups": ["staff"]},
    "sam": {"sub": "u-1002", "email": "sam@example.org", "email_verified": True, "groups": ["staff", "stewards"]},
    "eve": {"sub": "u-1003", "email": "ann@example.org", "email_verified": False, "groups": []},
}


@dataclass
class Code:
    """What a code stands for."""

    who: str
    redirect: str
    challenge: str
    nonce: str | None


@dataclass
class OpenID:
    """A running provider."""

    url: str = ""
    keys: list[Any] = field(default_factory=list, repr=False)
    codes: dict[str, Code] = field(default_factory=dict)
    handed: list[str] = field(default_factory=list, repr=False)
    """Every code, verifier and token that it gave or got: what no log may show."""
    asked: list[str] = field(default_factory=list)
    """Paths that were asked for."""
    faults: dict[str, Any] = field(default_factory=dict)

    def rotate(self, kind: str = "RSA") -> None:
        """Sign with a new key from now on; the old one is no longer published."""
        self.keys = [new_key(kind)]

    def token(self, who: str = "ann", **claims: Any) -> str:
        """A token that this provider signed; a claim that is None is left out."""
        return self.sign(self.claims(who) | claims)

    def claims(self, who: str) -> dict[str, Any]:
        now = int(time.time())
        return {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 600} | PEOPLE[who]

    def sign(self, claims: dict[str, Any], key: Any = None, **header: Any) -> str:
        key = self.keys[-1] if key is None else key
        usual = {"kid": key.kid, "alg": {"RSA": "RS256", "EC": "ES256", "OKP": "Ed25519"}.get(key.key_type, "HS256")}
        merged = {k: v for k, v in (usual | header).items() if v is not None}
        said = {k: v for k, v in claims.items() if v is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # tests sign what nobody should
            registry = JWSRegistry(algorithms=[merged["alg"]], strict_check_header=False)
            text = str(jwt.encode(merged, said, key, registry=registry))
        self.handed.append(text)
        return text


class Held:
    """A fault: what is asked waits, from when it is reached to when it may go."""

    def __init__(self) -> None:
        self.reached, self.go = threading.Event(), threading.Event()


def new_key(kind: str = "RSA") -> Any:
    """A fresh key with a name."""
    more = {"kid": secrets.token_hex(4)}
    if kind == "RSA":
        return RSAKey.generate_key(2048, more, private=True)
    return ECKey.generate_key("P-256", more, private=True) if kind == "EC" else OKPKey.generate_key("Ed25519", more)


def app_of(provider: OpenID) -> FastAPI:
    """Its pages."""
    app = FastAPI()

    @app.middleware("http")
    async def note(request: Request, call_next: Any) -> Response:
        provider.asked.append(request.url.path)
        if provider.faults.get("down"):
            return Response("down", 500)
        await asyncio.sleep(provider.faults.get("slow", 0.0))
        if (held := provider.faults.get("held")) is not None:
            held.reached.set()
            while not held.go.is_set():
                await asyncio.sleep(0.01)
        answer: Response = await call_next(request)
        return answer

    @app.get("/.well-known/openid-configuration")
    async def document() -> Response:
        said = {
            "issuer": provider.url,
            "authorization_endpoint": provider.url + "/authorize",
            "token_endpoint": provider.url + "/token",
            "jwks_uri": provider.url + "/keys",
            "authorization_response_iss_parameter_supported": True,
        }
        return JSONResponse(said | provider.faults.get("document", {}))

    @app.get("/keys")
    async def keys() -> Response:
        if "drips" in provider.faults:
            return StreamingResponse(_drops(provider.faults["drips"]), media_type="application/json")
        if "keys" in provider.faults:
            fault = provider.faults["keys"]
            return fault if isinstance(fault, Response) else JSONResponse(fault)
        return JSONResponse({"keys": [key.as_dict(private=False) for key in provider.keys]})

    @app.get("/authorize")
    async def authorize(request: Request) -> Response:
        query = dict(request.query_params)
        if query.get("client_id") != CLIENT or query.get("response_type") != "code":
            return Response("no such client", 400)
        if query.get("code_challenge_method") != "S256" or not query.get("code_challenge"):
            return Response("PKCE is needed", 400)
        if "openid" not in query.get("scope", "").split():
            return Response("openid is needed", 400)
        links = "".join(
            f'<p><a href="/choose?{html.escape(urlencode(query | {"who": who}))}">I am {who}</a></p>' for who in PEOPLE
        )
        return HTMLResponse(f"<!doctype html><title>Provider</title><h1>Who are you?</h1>{links}")

    @app.get("/choose")
    async def choose(request: Request) -> Response:
        query = dict(request.query_params)
        code = secrets.token_urlsafe(24)
        provider.codes[code] = Code(query["who"], query["redirect_uri"], query["code_challenge"], query.get("nonce"))
        provider.handed.append(code)
        back = {"code": code, "state": query["state"], "iss": provider.url}
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(back)}", 303)

    @app.post("/token")
    async def token(request: Request) -> Response:
        if "token" in provider.faults:
            return provider.faults["token"]()  # type: ignore[no-any-return]
        form = {k: str(v) for k, v in (await request.form()).items()}
        expected = "Basic " + _base64(f"{CLIENT}:{SECRET}".encode(), pad=True)
        if request.headers.get("authorization") != expected:
            return JSONResponse({"error": "invalid_client"}, 401)
        code = provider.codes.pop(form.get("code", ""), None)
        verifier = form.get("code_verifier", "")
        provider.handed.append(verifier)
        right = _base64(sha256(verifier.encode()).digest())
        if code is None or form.get("redirect_uri") != code.redirect or right != code.challenge:
            return JSONResponse({"error": "invalid_grant", "error_description": "no such code"}, 400)
        claims = {"nonce": code.nonce} | provider.faults.get("claims", {})
        made = provider.token(code.who, **claims)
        access = secrets.token_urlsafe(24)
        provider.handed.append(access)
        return JSONResponse({"id_token": made, "access_token": access, "token_type": "Bearer", "expires_in": 600})

    return app


@contextmanager
def openid() -> Iterator[OpenID]:
    """A provider for as long as the block lasts."""
    provider = OpenID(keys=[new_key()])
    server = uvicorn.Server(
        uvicorn.Config(app_of(provider), host="127.0.0.1", port=0, log_config=None, access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 30
    while not server.started:
        if not thread.is_alive() or time.monotonic() > end:
            raise RuntimeError("the provider did not start")
        time.sleep(0.01)
    provider.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield provider
    finally:
        server.should_exit = True
        thread.join(30)


async def _drops(pause: float) -> AsyncIterator[bytes]:
    """A letter at a time, each in time, all of them never."""
    for _ in range(1000):
        yield b" "
        await asyncio.sleep(pause)


def _base64(data: bytes, *, pad: bool = False) -> str:
    text = urlsafe_b64encode(data).decode()
    return text if pad else text.rstrip("=")


__all__ = ["CLIENT", "PEOPLE", "SECRET", "Code", "Held", "OpenID", "new_key", "openid"]
