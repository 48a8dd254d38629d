"""The only way out to the issuer: to its hosts alone, encrypted, within time and size, and never where it redirects."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from holdfast.server.auth.oidc.settings import OidcSettings, secure_address
from holdfast.server.http import Problem, strict_loads

# --- Outbound ---------------------------------------------------------------------------------------------------------

MOST_BYTES = 256 * 1024
"""Of one response. Real documents and key sets have some kilobytes."""


class Unavailable(Exception):
    """The issuer cannot be reached, or says what cannot be used."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


def allowed_origins(settings: OidcSettings) -> frozenset[str]:
    """Return the hosts, with their ports, that are asked.

    Examples
    --------
    >>> sorted(allowed_origins(OidcSettings(oidc_issuer="https://a.example/x", oidc_hosts=("keys.example:8443",))))
    ['https://a.example', 'https://keys.example:8443']
    """
    assert settings.oidc_issuer is not None
    named = (settings.oidc_issuer, *(f"https://{host}" for host in settings.oidc_hosts))
    return frozenset(origin(address) for address in named)


def origin(address: str) -> str:
    """Scheme, host and port of an address."""
    parts = urlsplit(address)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if parts.port in (None, usual) else f":{parts.port}")


class Outbound(httpx.BaseTransport):
    """A transport for httpx. `Unavailable` for whatever it does not do.

    Proxies named in the environment are not used; `SSL_CERT_FILE` names certificates to trust.
    """

    def __init__(self, origins: Iterable[str], seconds: float) -> None:
        self._origins, self._seconds = frozenset(origins), seconds
        self._inner = httpx.HTTPTransport(verify=httpx.create_ssl_context(), trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request, read to its end here."""
        self.check(str(request.url))
        end = time.monotonic() + self._seconds
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), self._seconds)
        request.headers["Accept-Encoding"] = "identity"
        try:
            response = self._inner.handle_request(request)
            try:
                body = self._read(response, end)
            finally:
                response.close()
        except (httpx.TransportError, OSError) as error:
            raise Unavailable(type(error).__name__) from None
        if response.headers.get("content-encoding", "identity") != "identity":
            raise Unavailable(
                "the identity provider compresses its answers, and this server reads only uncompressed ones"
            )
        return httpx.Response(response.status_code, headers=response.headers, content=body, request=request)

    def check(self, address: str) -> str:
        """Return the address again, if it may be asked."""
        try:
            secure_address("address", address.partition("?")[0])
        except ValueError:
            raise Unavailable("the identity provider gives an address that does not begin with https://") from None
        if origin(address) not in self._origins:
            raise Unavailable("the identity provider gives an address on another host, which oidc_hosts does not allow")
        return address

    def _read(self, response: httpx.Response, end: float) -> bytes:
        parts, size = [], 0
        for part in response.iter_raw():
            size += len(part)
            if size > MOST_BYTES:
                raise Unavailable("the identity provider's answer is too large")
            if time.monotonic() > end:
                raise Unavailable("the identity provider answers too slowly")
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


# --- Provider ---------------------------------------------------------------------------------------------------------
# The issuer as this process knows it: its document and its keys, fetched when needed and kept for a while.
#
# Keys are believed for an hour. After half of it the next token has them fetched again; so does a token with a key that
# is not known, which is how a rotated key is found. Neither happens more often than every ten seconds, whoever asks.

Key = RSAKey | ECKey | OKPKey
KEPT_SECONDS = 3600.0
PAUSE_SECONDS = 10.0
_MOST_KEYS = 64
_LEAST_RSA_BITS = 2048
_LEAST_RSA_LETTERS = _LEAST_RSA_BITS // 6
"""Of a modulus in base64; a shorter one is not even read."""
_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "Ed25519", "Ed25519": "Ed25519"}
_KINDS: dict[str, type[Key]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
_PUBLIC = ("kty", "n", "e", "crv", "x", "y")


@dataclass(frozen=True)
class Published:
    """One key, and what its owner says that it is for."""

    kid: str | None
    alg: str | None
    kind: str
    curve: str | None
    key: Key

    def fits(self, kid: str | None, alg: str) -> bool:
        """Return whether a token with this header may have been signed by it."""
        if (kid is not None and kid != self.kid) or self.alg not in (None, alg):
            return False
        if alg in _CURVES:
            return self.curve == _CURVES[alg]
        return self.kind == "RSA"


@dataclass(frozen=True)
class Known:
    """What was fetched, and when."""

    document: Mapping[str, Any]
    keys: tuple[Published, ...]
    fetched: float

    def key(self, kid: str | None, alg: str) -> Key | None:
        """Return the one key that a token's header can mean; None where there is none, or no way to tell."""
        fitting = [public_key.key for public_key in self.keys if public_key.fits(kid, alg)]
        return fitting[0] if len(fitting) == 1 else None


class Provider:
    """Fetches, keeps, and says when it cannot. Safe to share between threads."""

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.monotonic) -> None:
        assert settings.oidc_issuer is not None
        self.issuer = settings.oidc_issuer
        self.outbound = Outbound(allowed_origins(settings), settings.oidc_timeout)
        self._http = httpx.Client(transport=self.outbound, trust_env=False)
        self._clock = clock
        self._mutex = threading.Lock()
        self._known: Known | None = None
        self._tried, self._failed, self._why = float("-inf"), False, "it was not asked yet"

    def known(self, *, newer: bool = False) -> Known:
        """Return the document and the keys; `Unavailable` if there are none that may be believed now.

        With `newer` they are fetched again unless that was tried just now; if it fails, `Unavailable` too, because
        what was asked about cannot be decided.
        """
        known = self._known
        # Where the keys at hand are good enough, nobody waits for somebody else who fetches newer ones.
        waits = newer or not self._good(known)
        if self._mutex.acquire(blocking=waits):
            try:
                self._renew(newer)
                known = self._known
                if newer and self._failed:
                    raise Unavailable(self._why)
            finally:
                self._mutex.release()
        if known is None or not self._good(known):
            raise Unavailable(self._why)
        return known

    def key(self, kid: str | None, alg: str) -> Key | None:
        """Return the key that a token's header names, looked for again where it is not known."""
        return self.known().key(kid, alg) or self.known(newer=True).key(kid, alg)

    def endpoint(self, name: str) -> str:
        """Return an address of the document, at one of the issuer's hosts."""
        address = self.known().document.get(name)
        if not isinstance(address, str):
            raise Unavailable(f"the identity provider's configuration document has no {name}")
        return self.outbound.check(address)

    def post(self, address: str, form: str, client: tuple[str, str] | None) -> tuple[int, bytes]:
        """Send a form, as a client with a secret if it has one: the status and the body of the answer."""
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        done = self._http.post(address, content=form, headers=headers, auth=client or httpx.USE_CLIENT_DEFAULT)
        return done.status_code, done.content

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _good(self, known: Known | None) -> bool:
        return known is not None and self._clock() - known.fetched < KEPT_SECONDS

    def _renew(self, newer: bool) -> None:
        age = float("inf") if self._known is None else self._clock() - self._known.fetched
        if not (newer or age >= KEPT_SECONDS / 2) or self._clock() - self._tried < PAUSE_SECONDS:
            return
        try:
            self._known, self._failed = self._fetch(), False
        except Unavailable as error:
            self._failed, self._why = True, error.why
        finally:
            self._tried = self._clock()

    def _fetch(self) -> Known:
        document = self._object(self.issuer.rstrip("/") + "/.well-known/openid-configuration")
        if document.get("issuer") != self.issuer:
            raise Unavailable("the identity provider's configuration document is of another issuer than oidc_issuer")
        place = document.get("jwks_uri")
        if not isinstance(place, str):
            raise Unavailable("the identity provider's configuration document has no jwks_uri")
        keys = self._object(place).get("keys")
        if not isinstance(keys, list) or len(keys) > _MOST_KEYS:
            raise Unavailable("the identity provider's set of keys cannot be used")
        read = tuple(public_key for public_key in map(published, keys) if public_key is not None)
        return Known(document, read, self._clock())

    def _object(self, address: str) -> dict[str, Any]:
        response = self._http.get(address)
        if response.status_code != 200:
            raise Unavailable(f"the identity provider answers with status {response.status_code}")
        return json_object(response.content)


def json_object(content: bytes) -> dict[str, Any]:
    """Return an object in JSON that everybody reads alike; `Unavailable` for anything else."""
    try:
        members = strict_loads(content)
    except Problem:
        raise Unavailable("the identity provider's answer is not JSON") from None
    if not isinstance(members, dict):
        raise Unavailable("the identity provider's answer is JSON, but not an object")
    return members


def published(data: Any) -> Published | None:
    """Return a key of a key set that may check signatures; None for secrets, keys for other uses, weak and odd ones.

    Examples
    --------
    >>> published({"kty": "oct", "k": "c2VjcmV0", "kid": "1"}) is None
    True
    """
    if not isinstance(data, dict) or data.get("use", "sig") != "sig":
        return None
    operations = data.get("key_ops", ["verify"])
    kid, alg, kind, curve = (data.get(name) for name in ("kid", "alg", "kty", "crv"))
    texts = all(text is None or isinstance(text, str) for text in (kid, alg, curve))
    if not texts or not isinstance(kind, str) or kind not in _KINDS or "d" in data:
        return None
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    if kind == "RSA" and (not isinstance(data.get("n"), str) or len(data["n"]) < _LEAST_RSA_LETTERS):
        return None
    try:
        key = _KINDS[kind].import_key({name: data[name] for name in _PUBLIC if name in data})
        size = key.public_key.key_size if isinstance(key, RSAKey) else _LEAST_RSA_BITS
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return Published(kid, alg, kind, curve, key) if size >= _LEAST_RSA_BITS else None
