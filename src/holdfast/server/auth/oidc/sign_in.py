"""Checking a token of the issuer, and signing in on the page: authorisation code with PKCE, state and nonce."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import secrets
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from authlib.oauth2.rfc6749.parameters import (
    prepare_grant_uri,
    prepare_token_request,
)
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry

from holdfast.errors import HoldfastError
from holdfast.server.auth.oidc.provider import Provider, Unavailable, json_object
from holdfast.server.auth.oidc.settings import LOGIN_SECONDS, OidcSettings
from holdfast.server.http import Problem, strict_loads

# --- Claims -----------------------------------------------------------------------------------------------------------
# Checking a token of the issuer: its signature first, then what it says.

_MOST = 16 * 1024
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*", re.ASCII)
_TYPES = (None, "jwt", "at+jwt", "application/at+jwt", "id_token")


class _Registry(JWSRegistry):
    """Headers as providers write them: some carry certificates and names of their own, which are not looked at."""

    max_header_length = 8192


_Registry.algorithms = dict(JWSRegistry.algorithms)
# Providers still write `EdDSA`, the name from before RFC 9864. It leaves the curve open, which is what the warning is
# about; keys are held to Ed25519 in `provider`.
_Registry.algorithms["EdDSA"] = copy(JWSRegistry.algorithms["EdDSA"])
_Registry.algorithms["EdDSA"].security_warning = None


def looks_like_one(text: str) -> bool:
    """Return whether a text has the form of a signed token: three parts with dots between.

    Examples
    --------
    >>> looks_like_one("eyJhbGciOiJub25lIn0.e30."), looks_like_one("hf_00_11")
    (True, False)
    """
    return len(text) <= _MOST and _FORM.fullmatch(text) is not None


def signed_claims(text: str, provider: Provider, settings: OidcSettings) -> dict[str, Any]:
    """Return what a token says, if a key of the issuer signed it with an allowed algorithm.

    The key is one that the issuer publishes, for the algorithm that the header names; keys and addresses of keys in
    the header are not looked at.
    """
    header = _header(text)
    alg, kid = header.get("alg"), header.get("kid")
    if not isinstance(alg, str) or alg not in settings.oidc_algorithms:
        raise unknown()
    if (kid is not None and not isinstance(kid, str)) or "crit" in header:
        raise unknown()
    kind = header.get("typ")
    if (kind.lower() if isinstance(kind, str) else kind) not in _TYPES:
        raise unknown()
    key = provider.key(kid, alg)
    if key is None:
        raise unknown()
    try:
        return jwt.decode(text, key, registry=_Registry(algorithms=[alg], strict_check_header=False)).claims
    except (JoseError, ValueError, TypeError, RecursionError):
        raise unknown() from None


def check_claims(
    claims: dict[str, Any], settings: OidcSettings, audience: Collection[str], now: float | None = None
) -> None:
    """Refuse a token that is another issuer's, for somebody else, too early, over, or no way in at all."""
    moment, leeway = time.time() if now is None else now, settings.oidc_leeway
    if claims.get("iss") != settings.oidc_issuer:
        raise refused("it was made by another issuer than oidc_issuer")
    if not audiences(claims) & set(audience):
        raise refused("it was made for another audience than this server")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise refused("it names nobody")
    if "events" in claims or "cnf" in claims:
        raise refused("it is not a bearer token, so it is not valid merely because somebody presents it")
    issued, ends = _moment(claims, "iat"), _moment(claims, "exp")
    if issued > moment + leeway or ("nbf" in claims and _moment(claims, "nbf") > moment + leeway):
        raise refused("it is not valid yet")
    if ends <= moment - leeway:
        raise Problem("token-expired", "this token has expired; get another from your identity provider")


def check_life(claims: dict[str, Any], settings: OidcSettings) -> None:
    """Refuse a token that lives too long: until it ends, only a block here can stop it."""
    if _moment(claims, "exp") - _moment(claims, "iat") > settings.oidc_max_seconds:
        raise refused(f"it is valid for longer than the {settings.oidc_max_seconds} seconds that this server allows")


def check_login(claims: dict[str, Any], settings: OidcSettings, nonce: str, begun: float) -> None:
    """Refuse an ID token that does not belong to this sign-in."""
    claimed = claims.get("nonce")
    if not isinstance(claimed, str) or not hmac.compare_digest(claimed.encode(), nonce.encode()):
        raise refused("it was made for another sign-in than this one")
    if len(audiences(claims)) > 1 and claims.get("azp") is None:
        raise refused("it names several audiences and does not say for which of them it was made")
    if claims.get("azp", settings.oidc_client_id) != settings.oidc_client_id:
        raise refused("it was made for another client than this server")
    if _moment(claims, "iat") < begun - settings.oidc_leeway:
        raise refused("it was made before this sign-in began")


def audiences(claims: dict[str, Any]) -> set[str]:
    """Whom a token is for."""
    audience = claims.get("aud")
    if isinstance(audience, str):
        return {audience}
    if isinstance(audience, list) and all(isinstance(name, str) for name in audience):
        return set(audience)
    return set()


def unknown() -> Problem:
    """Return the refusal of a token that no key of the issuer signed; it gives no other reason."""
    return Problem("unauthenticated", "this token is not known here")


def refused(why: str) -> Problem:
    """Return the refusal of a token that the issuer did sign."""
    return Problem("unauthenticated", f"this token is not taken here: {why}")


def _header(text: str) -> dict[str, Any]:
    if not looks_like_one(text):
        raise unknown()
    first = text.partition(".")[0]
    try:
        header = strict_loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)))
    except (binascii.Error, ValueError, Problem):
        raise unknown() from None
    if not isinstance(header, dict):
        raise unknown()
    return header


def _moment(claims: dict[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e12:
        raise refused(f"its field {name} is missing or is not a time")
    return float(value)


# --- Login ------------------------------------------------------------------------------------------------------------
# Signing in on the page: the authorisation code flow with PKCE, state and nonce (OpenID Connect Core, RFC 7636, 9207).
#
# What has to be known when the browser comes back travels with it, sealed, in a cookie of ten minutes; so any worker
# can finish what another began. The address to come back to follows from `public_url`, never from a request.

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
        """Return where to send the browser, and the cookie that it takes along."""
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
        issuer, known = query.get("iss"), self._provider.known().document
        needs = known.get("authorization_response_iss_parameter_supported") is True
        if (issuer is None and needs) or issuer not in (None, self._provider.issuer):
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
            raise Unavailable(f"the identity provider's token endpoint answers with status {status}")
        token = json_object(content).get("id_token")
        if not isinstance(token, str):
            raise Unavailable("the identity provider's answer has no id_token")
        return token

    def _use(self, state: str) -> None:
        """Each sign-in is finished once by this process; by another, the issuer's code is good once."""
        with self._mutex:
            if state in self._used:
                raise Problem("forbidden", "this sign-in was not begun here, is too old, or was used; begin again")
            self._used[state] = None
            while len(self._used) > _KEPT:
                self._used.popitem(last=False)

    def _seal(self, flow: Flow) -> str:
        encoded = urlsafe_b64encode(json.dumps(asdict(flow)).encode()).decode()
        return f"{encoded}.{hmac.digest(self._key, encoded.encode(), 'sha256').hex()}"

    def _open(self, cookie: str | None) -> Flow | None:
        encoded, _, seal = (cookie or "").rpartition(".")
        right = hmac.digest(self._key, encoded.encode(), "sha256").hex()
        if not hmac.compare_digest(right.encode(), seal.encode()):
            return None
        flow = Flow(**json.loads(urlsafe_b64decode(encoded)))
        return flow if 0 <= time.time() - flow.begun <= LOGIN_SECONDS else None


def _read(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        secret = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise HoldfastError("the file that oidc_client_secret_file names cannot be read") from None
    if not secret:
        raise HoldfastError("the file that oidc_client_secret_file names is empty")
    return secret
