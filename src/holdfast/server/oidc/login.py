"""Signing in on the page: the authorisation code flow with PKCE, state and nonce (OpenID Connect Core, RFC 7636, 9207).

What has to be known when the browser comes back travels with it, sealed, in a cookie of ten minutes; so any worker can
finish what another began. The address to come back to follows from `public_url`, never from a request.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from authlib.oauth2.rfc6749.parameters import (
    prepare_grant_uri,
    prepare_token_request,
)
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from holdfast.errors import HoldfastError
from holdfast.server.errors import Problem
from holdfast.server.oidc.claims import check_claims, check_login, signed_claims
from holdfast.server.oidc.outbound import Unavailable
from holdfast.server.oidc.provider import Provider, json_object
from holdfast.server.oidc.settings import LOGIN_SECONDS, OidcSettings

CALLBACK = "/sign-in/oidc/callback"
_DOMAIN = b"holdfast oidc: the key that seals sign-ins, version 1"
_KEPT = 10_000


@dataclass(frozen=True)
class Flow:
    """A sign-in that was begun. Its repr shows nothing."""

    state: str
    nonce: str
    verifier: str
    next: str
    begun: int

    def __repr__(self) -> str:
        return "Flow(...)"


class Login:
    """Begins sign-ins and finishes them."""

    def __init__(self, settings: OidcSettings, public_url: str, provider: Provider, base: bytes) -> None:
        self._settings, self._provider = settings, provider
        self._back = public_url.rstrip("/") + CALLBACK
        self._key = hmac.digest(base, _DOMAIN, "sha256")
        self._secret = _read(settings.oidc_client_secret_file)
        self._used: OrderedDict[str, None] = OrderedDict()
        self._mutex = threading.Lock()

    def begin(self, address: str) -> tuple[str, str]:
        """Where to send the browser, and the cookie that it takes along."""
        place = self._provider.endpoint("authorization_endpoint")
        state, nonce, verifier = (secrets.token_urlsafe(48) for _ in range(3))
        url = prepare_grant_uri(
            place,
            client_id=self._settings.oidc_client_id,
            response_type="code",
            redirect_uri=self._back,
            scope=self._settings.oidc_scope,
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return str(url), self._seal(Flow(state, nonce, verifier, address, int(time.time())))

    def finish(self, cookie: str | None, query: Mapping[str, str]) -> tuple[dict[str, Any], str]:
        """The checked claims of whoever comes back, and the page that they wanted; `Problem` if it does not add up."""
        flow = self._open(cookie)
        state = query.get("state", "")
        if flow is None or not hmac.compare_digest(state.encode(), flow.state.encode()):
            raise Problem("forbidden", "this sign-in was not begun here, is too old, or was used; begin again")
        self._use(flow.state)
        said, known = query.get("iss"), self._provider.known().document
        needs = known.get("authorization_response_iss_parameter_supported") is True
        if (said is None and needs) or said not in (None, self._provider.issuer):
            raise Problem("forbidden", "this answer came from another provider; begin again")
        code = query.get("code", "")
        if "error" in query or not 0 < len(code) <= 4096:
            raise Problem("forbidden", "your identity provider did not let you in")
        claims = signed_claims(self._exchange(code, flow), self._provider, self._settings)
        check_claims(claims, self._settings, [str(self._settings.oidc_client_id)])
        check_login(claims, self._settings, flow.nonce, flow.begun)
        return claims, flow.next

    def _exchange(self, code: str, flow: Flow) -> str:
        """The ID token for a code, straight from the issuer; by Basic where it takes that, as it must."""
        client, secret = str(self._settings.oidc_client_id), self._secret
        methods = self._provider.known().document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        basic = secret is not None and isinstance(methods, list) and "client_secret_basic" in methods
        own = {} if basic else {"client_id": client} | ({} if secret is None else {"client_secret": secret})
        body = prepare_token_request(
            "authorization_code", code=code, redirect_uri=self._back, code_verifier=flow.verifier, **own
        )
        status, content = self._provider.post(
            self._provider.endpoint("token_endpoint"),
            body,
            (quote(client), quote(secret)) if basic and secret else None,
        )
        if status in (400, 401):
            raise Problem("forbidden", "your identity provider refused this sign-in; begin again")
        if status != 200:
            raise Unavailable(f"its token endpoint answers with status {status}")
        found = json_object(content).get("id_token")
        if not isinstance(found, str):
            raise Unavailable("its answer has no id_token")
        return found

    def _use(self, state: str) -> None:
        """Each sign-in is finished once by this process; by another, the issuer's code is good once."""
        with self._mutex:
            if state in self._used:
                raise Problem("forbidden", "this sign-in was not begun here, is too old, or was used; begin again")
            self._used[state] = None
            while len(self._used) > _KEPT:
                self._used.popitem(last=False)

    def _seal(self, flow: Flow) -> str:
        said = urlsafe_b64encode(json.dumps(asdict(flow)).encode()).decode()
        return f"{said}.{hmac.digest(self._key, said.encode(), 'sha256').hex()}"

    def _open(self, cookie: str | None) -> Flow | None:
        said, _, seal = (cookie or "").rpartition(".")
        right = hmac.digest(self._key, said.encode(), "sha256").hex()
        if not hmac.compare_digest(right.encode(), seal.encode()):
            return None
        flow = Flow(**json.loads(urlsafe_b64decode(said)))
        return flow if 0 <= time.time() - flow.begun <= LOGIN_SECONDS else None


def _read(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        found = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise HoldfastError("oidc_client_secret_file cannot be read") from None
    if not found:
        raise HoldfastError("oidc_client_secret_file is empty")
    return found


__all__ = ["CALLBACK", "Flow", "Login"]
