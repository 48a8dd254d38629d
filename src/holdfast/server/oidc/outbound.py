"""The only way out to the issuer: to its hosts alone, encrypted, within time and size, and never where it redirects."""

from __future__ import annotations

import time
from collections.abc import Iterable
from urllib.parse import urlsplit

import httpx

from holdfast.server.oidc.settings import OidcSettings, secure_address

MOST_BYTES = 256 * 1024
"""Of one response. Real documents and key sets have some kilobytes."""


class Unavailable(Exception):
    """The issuer cannot be reached, or says what cannot be used."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


def allowed_origins(settings: OidcSettings) -> frozenset[str]:
    """The hosts, with their ports, that are asked.

    Examples
    --------
    >>> sorted(allowed_origins(OidcSettings(oidc_issuer="https://a.example/x", oidc_hosts=("keys.example:8443",))))
    ['https://a.example', 'https://keys.example:8443']
    """
    assert settings.oidc_issuer is not None
    named = (settings.oidc_issuer, *(f"https://{host}" for host in settings.oidc_hosts))
    return frozenset(origin(one) for one in named)


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
            raise Unavailable("it packs its answers, which could unfold into anything")
        return httpx.Response(response.status_code, headers=response.headers, content=body, request=request)

    def check(self, address: str) -> str:
        """The address again, if it may be asked."""
        try:
            secure_address("address", address.partition("?")[0])
        except ValueError:
            raise Unavailable("it names an address that is not encrypted") from None
        if origin(address) not in self._origins:
            raise Unavailable("it names another host, which oidc_hosts does not allow")
        return address

    def _read(self, response: httpx.Response, end: float) -> bytes:
        parts, size = [], 0
        for part in response.iter_raw():
            size += len(part)
            if size > MOST_BYTES:
                raise Unavailable("it answers with too much")
            if time.monotonic() > end:
                raise Unavailable("it answers too slowly")
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Let go of the connections."""
        self._inner.close()


__all__ = ["MOST_BYTES", "Outbound", "Unavailable", "allowed_origins", "origin"]
