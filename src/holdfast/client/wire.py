"""Requests that are sent again where that is safe: lost connections, timeouts, 429 and 503.

Reading is always safe to repeat. So is a question, because it carries an idempotency key. Anything else is repeated
only where the server said, or the connection shows, that nothing was done.
"""

from __future__ import annotations

import email.utils
import ipaddress
import json
import random
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from holdfast import __version__
from holdfast.client.errors import ServerUnavailable, error_of
from holdfast.core.copying import NoCopy
from holdfast.core.extras import named_extras
from holdfast.core.strict_json import to_json
from holdfast.errors import HoldfastError, InvalidParameter

API = "/api/v1"
_NOTHING_DONE = ("rate-limited", "overloaded")
_MAYBE_DONE = (502, 503, 504)
_LONGEST_PAUSE = 8.0
_KEY = re.compile(r"[!-~]{1,180}", re.ASCII)
_TOKEN = re.compile(r"[!-~]{1,16384}", re.ASCII)
# Below what servers keep idle connections for, so that a request seldom meets one that was just closed.
_IDLE_SECONDS = 3.0


class Wire(NoCopy):
    """A server's address, a token, and how patient to be. Safe to share between threads.

    Parameters
    ----------
    url : str
        Where the server is. `http://` is for servers on this machine, unless `insecure` is True.
    token : str
        What is sent with every request, and shown nowhere.
    timeout : float
        Seconds to wait for one response.
    patience : float
        Seconds to keep trying, all attempts of one request together.
    insecure : bool
        Whether the token may be sent unencrypted to another machine.
    ca : str, optional
        A file with certificates to trust instead of the usual ones.
    """

    _not_copied = "a connection holds a token and is not pickled; connect again where it is needed"

    def __init__(
        self, url: str, token: str, *, timeout: float, patience: float, insecure: bool, ca: str | None = None
    ) -> None:
        with named_extras():
            import httpx
        self._errors = httpx
        self.url, local = address(url, insecure)
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise InvalidParameter(
                "token must be the access token that a steward gave you, a text that begins with hf_"
            )
        self._patience = patience
        self._http = httpx.Client(
            base_url=self.url,
            headers={
                "Authorization": f"Bearer {token}",
                "User-Agent": f"holdfast/{__version__}",
                "Accept-Encoding": "identity",
            },
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0)),
            limits=httpx.Limits(keepalive_expiry=_IDLE_SECONDS),
            verify=_trusted(ca),
            trust_env=not local,
        )

    def get(self, path: str, **query: Any) -> Any:
        """Read something."""
        return self._send("GET", path, safe=True, params={k: v for k, v in query.items() if v is not None})

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None, safe: bool = False) -> Any:
        """Send plain data. With a `key` it is a question, which is safe to repeat."""
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = check_key(key)
        return self._send("POST", path, safe=safe or key is not None, key=key, content=_json(body), headers=headers)

    def put_file(self, path: str, content: bytes, kind: str, *, key: str | None = None, **query: Any) -> Any:
        """Send a file. With a `key` it is a question, which is safe to repeat."""
        given = {k: v for k, v in query.items() if v is not None}
        headers = {"Content-Type": kind} | ({} if key is None else {"Idempotency-Key": check_key(key)})
        return self._send("POST", path, safe=key is not None, key=key, params=given, content=content, headers=headers)

    def delete(self, path: str, *, safe: bool = False) -> Any:
        """Remove something."""
        return self._send("DELETE", path, safe=safe)

    def lines(self, path: str, body: Mapping[str, Any], key: str) -> Iterator[Any]:
        """Send questions and hand over every line of the answer as it comes. One attempt, which may be lost."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": check_key(key)}
        try:
            with self._http.stream("POST", API + path, content=_json(body), headers=headers) as response:
                if not response.is_success:
                    response.read()
                    raise _keyed(error_of(response.status_code, _body(response)), key)
                for line in response.iter_lines():
                    if line:
                        yield _line(line, self.url, key)
        except self._errors.TransportError:
            raise _lost(self.url, True, key) from None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, method: str, path: str, *, safe: bool, key: str | None = None, **request: Any) -> Any:
        end, attempt = time.monotonic() + self._patience, 0
        while True:
            error, wait = self._once(method, path, safe, request)
            if error is None:
                return wait
            pause = min(_LONGEST_PAUSE, 0.1 * 2**attempt) * random.uniform(0.5, 1.0)
            pause = pause if wait is None else max(pause, wait)
            if wait == float("inf") or time.monotonic() + pause > end:
                raise _keyed(error, key)
            time.sleep(pause)
            attempt += 1

    def _once(self, method: str, path: str, safe: bool, request: Mapping[str, Any]) -> tuple[Any, Any]:
        """One attempt: (None, what came back), or the error and how long to wait at least; infinity for: never."""
        never = float("inf")
        try:
            response = self._http.request(method, API + path, **request)
        except self._errors.TransportError as error:
            unsent = isinstance(
                error, (self._errors.ConnectError, self._errors.ConnectTimeout, self._errors.PoolTimeout)
            )
            hopeless = isinstance(error, self._errors.UnsupportedProtocol) or "CERTIFICATE" in str(error)
            if hopeless:
                return ServerUnavailable(f"{self.url} does not show a certificate that is trusted here"), never
            return _lost(self.url, unsent or safe), None if unsent or safe else never
        problem = _body(response)
        if response.is_success:
            if response.status_code != 204 and problem is None:
                return ServerUnavailable(f"{self.url} does not answer as a Holdfast server does"), never
            return None, problem
        if response.is_redirect:
            return ServerUnavailable(f"{self.url} points elsewhere, and the token is not sent there"), never
        code = problem.get("code") if isinstance(problem, Mapping) else None
        again = response.status_code == 429 or code in _NOTHING_DONE
        again = again or (safe and response.status_code in _MAYBE_DONE)
        return error_of(response.status_code, problem), _retry_after(response) if again else never

    def __repr__(self) -> str:
        return f"Wire({self.url!r})"


def address(url: Any, insecure: bool = False) -> tuple[str, bool]:
    """Return a server's address without what may follow it, and whether it is on this machine.

    Examples
    --------
    >>> address("http://127.0.0.1:8321/")
    ('http://127.0.0.1:8321', True)
    >>> address("http://example.org")
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: url must begin with https://, because the server is on another machine; ...
    """
    import httpx

    try:
        parsed = httpx.URL(url.strip() if isinstance(url, str) else url)
        host = parsed.host
    except (httpx.InvalidURL, TypeError, ValueError):  # ValueError: a name that no rule for international names allows
        raise InvalidParameter("url must be the address of a server, such as https://holdfast.example.org") from None
    if parsed.scheme not in ("http", "https") or not host or parsed.userinfo or parsed.query or parsed.fragment:
        raise InvalidParameter("url must be the address of a server, such as https://holdfast.example.org")
    local = _local(host)
    if parsed.scheme == "http" and not local and not insecure:
        raise InvalidParameter(
            "url must begin with https://, because the server is on another machine; with insecure=True the token is "
            "sent over http:// without encryption"
        )
    return str(parsed).rstrip("/"), local


def check_key(key: Any) -> str:
    """Return an idempotency key: printable ASCII without spaces."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InvalidParameter("key must have 1 to 180 printable ASCII characters and no space")
    return key


def _trusted(ca: str | None) -> Any:
    """What certificates are checked against: `ca`, else the file that `SSL_CERT_FILE` names, else the usual ones."""
    import ssl

    import httpx

    try:
        # httpx by itself reads the variable only where it reads those of proxies, which are not for this machine.
        return httpx.create_ssl_context() if ca is None else ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError):
        name = "ca" if ca is not None else "the environment variable SSL_CERT_FILE"
        raise InvalidParameter(f"{name} must be a file with certificates in PEM format") from None


def _local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return to_json(body).encode("utf-8")
    except (TypeError, ValueError):
        raise InvalidParameter(
            "what is sent to the server must be plain data: texts, numbers (without NaN), truth values, lists and "
            "mappings"
        ) from None


def _body(response: Any) -> Any:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        return None
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def _line(line: str, url: str, key: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise _lost(url, True, key) from None


def _retry_after(response: Any) -> float | None:
    """Seconds that the server asks to wait; None where it does not say."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:6])
    try:
        when = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _lost(url: str, harmless: bool, key: str | None = None) -> HoldfastError:
    words = "" if harmless else "; whether it was done is not known: look before you do it again"
    return _keyed(ServerUnavailable(f"{url} cannot be reached, or did not answer in time{words}"), key)


def _keyed(error: HoldfastError, key: str | None) -> HoldfastError:
    if key is not None and isinstance(error, ServerUnavailable):
        error.key = key
    return error
