"""What every request and response is held to: strict JSON both ways, rate limits, and errors as problems (RFC 9457)."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse
from starlette.types import Scope

from holdfast.core.strict_json import read_json, to_json
from holdfast.errors import (
    HoldfastError,
    InvalidParameter,
    NotInstalled,
)

# --- Errors -----------------------------------------------------------------------------------------------------------
# Errors as `application/problem+json` (RFC 9457): a stable `code`, a status, and a sentence that shows no row.

MEDIA_TYPE = "application/problem+json"
_LONGEST = 2000

CODES: dict[str, tuple[int, str]] = {
    "malformed-request": (400, "The request cannot be read"),
    "unauthenticated": (401, "A valid token is needed"),
    "token-expired": (401, "The token has expired"),
    "token-revoked": (401, "The token was revoked"),
    "forbidden": (403, "This token may not do that"),
    "not-found": (404, "There is nothing here for this token"),
    "method-not-allowed": (405, "This address does not take that method"),
    "budget-exhausted": (409, "The cost does not fit into what is left"),
    "question-refused": (409, "The question may not be asked here"),
    "guarantee-unavailable": (409, "No theorem covers what was asked for"),
    "ledger-conflict": (409, "The ledger says otherwise"),
    "name-taken": (409, "The name is in use"),
    "too-large": (413, "The request is too large"),
    "unsupported-media-type": (415, "The body is of a kind that is not taken here"),
    "invalid-parameter": (422, "A parameter is outside its range"),
    "rate-limited": (429, "Too many requests"),
    "internal-error": (500, "An unforeseen error, which is a defect"),
    "ledger-unavailable": (503, "The ledger cannot be reached"),
    "sample-unavailable": (503, "The rows cannot be read"),
    "provider-unavailable": (503, "The identity provider cannot be reached"),
    "overloaded": (503, "The server has too much to do"),
    "timed-out": (504, "The request took too long"),
}
"""Every code, its status and its title. Clients may rely on codes; sentences may change."""


@dataclass(eq=False)
class Problem(Exception):
    """An error to be sent. `more` are further members; `headers` go with it; it is held back for `delay` seconds."""

    code: str
    detail: str
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0

    @property
    def status(self) -> int:
        """The HTTP status."""
        return CODES[self.code][0]

    def to_dict(self, request_id: str | None = None) -> dict[str, Any]:
        """Return the body.

        Examples
        --------
        >>> Problem("forbidden", "this takes a steward's token").to_dict()["type"]
        'urn:holdfast:problem:forbidden'
        """
        status, title = CODES[self.code]
        plain = {
            "type": f"urn:holdfast:problem:{self.code}",
            "title": title,
            "status": status,
            "detail": self.detail,
            "code": self.code,
        }
        return plain | dict(self.more) | ({} if request_id is None else {"request_id": request_id})


def retry_after(seconds: float) -> dict[str, str]:
    """Return the header that says when to come back, in whole seconds.

    Examples
    --------
    >>> retry_after(0.2)
    {'Retry-After': '1'}
    """
    return {"Retry-After": str(max(1, math.ceil(seconds)))}


def problem_of(error: Problem | HoldfastError) -> Problem:
    """Return the problem that one of the library's errors is; a problem as it is.

    Examples
    --------
    >>> from holdfast.errors import BudgetExhausted
    >>> problem_of(BudgetExhausted("all 5 questions were asked")).code
    'budget-exhausted'
    >>> problem_of(InvalidParameter("n must be a whole number, got 2.5")).more
    {'parameter': 'n', 'value': '2.5', 'allowed': 'a whole number'}
    >>> problem_of(NotInstalled("psycopg is not installed: `pip install 'holdfast[postgres]'`")).code
    'sample-unavailable'
    """
    if isinstance(error, Problem):
        return error
    # What a server needs itself is installed, and models are asked about before.
    code = "sample-unavailable" if isinstance(error, NotInstalled) else error.code
    if code not in CODES:
        return Problem("internal-error", "an unforeseen error; nothing was released")
    fields = {name: field for name, field in error.to_dict().items() if name in ("parameter", "value", "allowed")}
    more = {name: _short(field) if isinstance(field, str) else _finite(field) for name, field in fields.items()}
    return Problem(code, _short(str(error)), more, {"Retry-After": "1"} if CODES[code][0] == 503 else {})


def problem_of_form(error: RequestValidationError) -> Problem:
    """Return the problem that a request of a wrong form is: where it is wrong, and how."""
    mistakes = [
        {"where": ".".join(map(str, mistake["loc"]))[:200], "what": _what(mistake)} for mistake in error.errors()[:20]
    ]
    detail = "; ".join(f"{mistake['where']}: {mistake['what']}" for mistake in mistakes[:3])
    return Problem("invalid-parameter", detail[:500], more={"errors": mistakes})


def _what(error: Mapping[str, Any]) -> str:
    """What is wrong with one value, in words that say what would be right."""
    if error["type"] == "string_pattern_mismatch" and error["loc"][-1] == "name":
        return "must be letters, digits, spaces and _.@+()-, beginning with a letter or digit"
    return str(error["msg"])


def _finite(number: Any) -> Any:
    """A number that JSON has; what it has not goes as text."""
    return str(number) if isinstance(number, float) and not math.isfinite(number) else number


def _short(words: str) -> str:
    """Words that repeat what was sent, but not all of it."""
    return words if len(words) <= _LONGEST else words[:_LONGEST] + " ..."


# --- Limits -----------------------------------------------------------------------------------------------------------
# Rates of tokens and addresses, and what limits need to know of a request.
#
# Refusals say when to come back (`Retry-After`) and change nothing: no question was asked, no budget spent.

UPLOADS = ("/samples", "/submissions", "/reports")
"""How the paths end that take files: their routes read the body piece by piece, up to `max_upload`."""
FREE = ("/healthz", "/readyz", "/metrics")
"""What machines read, whatever else is under way."""
_KEPT = 10_000
API = "/api/"


class Rates:
    """A token bucket for each token: `burst` at once, `rate` a second after that."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, float(burst)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._mutex = threading.Lock()

    def take(self, name: str, now: float | None = None) -> float:
        """Take one; 0 if there was one, else the seconds until there is.

        Examples
        --------
        >>> rates = Rates(rate=2.0, burst=1)
        >>> rates.take("ann", now=0.0), rates.take("ann", now=0.0), rates.take("ann", now=0.5)
        (0.0, 0.5, 0.0)
        """
        with self._mutex:
            level = self._level(name, now)
            wait = 0.0 if level >= 1 else (1 - level) / self._rate
            if not wait:
                self._buckets[name] = (level - 1, self._buckets[name][1])
        return wait

    def wait(self, name: str, now: float | None = None) -> float:
        """Return the seconds until there is anything in the bucket; 0 while there is.

        Examples
        --------
        >>> allowances = Rates(rate=0.5, burst=2.0)
        >>> allowances.charge("ann", 3.0, now=0.0)
        >>> allowances.wait("ann", now=0.0), allowances.wait("ann", now=3.0), allowances.wait("bob", now=0.0)
        (2.0, 0.0, 0.0)
        """
        with self._mutex:
            level = self._level(name, now)
        return 0.0 if level > 0 else max(-level / self._rate, 1e-3)

    def charge(self, name: str, amount: float, now: float | None = None) -> None:
        """Take an amount that is known only now, even where there is less; a negative one is given back."""
        with self._mutex:
            level = self._level(name, now)
            self._buckets[name] = (min(self._burst, level - amount), self._buckets[name][1])

    def _level(self, name: str, now: float | None) -> float:
        """What a bucket holds now, with the mutex held; the least recently used buckets are forgotten."""
        moment = time.monotonic() if now is None else now
        level, before = self._buckets.pop(name, (self._burst, moment))
        level = min(self._burst, level + (moment - before) * self._rate)
        self._buckets[name] = (level, moment)
        while len(self._buckets) > _KEPT:
            self._buckets.popitem(last=False)
        return level


class Failures:
    """Wrong tokens by address: beyond so many a minute an address has to wait, and no hash is computed for it."""

    def __init__(self, most: int) -> None:
        self._rates = Rates(most / 60.0, most)
        self._blocked: OrderedDict[str, float] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds that an address still has to wait."""
        return max(0.0, self._blocked.get(address, 0.0) - time.monotonic())

    def count(self, address: str) -> None:
        """One more wrong token."""
        wait = self._rates.take(address)
        if wait:
            self._blocked[address] = time.monotonic() + wait
            self._blocked.move_to_end(address)
            while len(self._blocked) > _KEPT:
                self._blocked.popitem(last=False)


def part_of(scope: Scope) -> str:
    """Return whether a request is to the API or to the pages."""
    return "api" if scope["path"].startswith(API) else "pages"


def says_json(content_type: str) -> bool:
    """Return whether a header says that a body is JSON.

    Examples
    --------
    >>> says_json("application/json; charset=utf-8"), says_json("Application/x+JSON"), says_json("text/csv")
    (True, True, False)
    """
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def too_large(most: int) -> Problem:
    """Return the refusal of a body."""
    return Problem("too-large", f"the body must have at most {most} bytes", headers={"Connection": "close"})


def address_of(scope: Scope) -> str:
    """Return where a request came from, as far as the transport knows."""
    client: Any = scope.get("client")
    return str(client[0]) if client else "unknown"


# --- Responses --------------------------------------------------------------------------------------------------------
# Strict JSON both ways: what comes in is refused where parsers differ, what goes out is what every parser reads.


class StrictJSON(JSONResponse):
    """A response in strict JSON; an infinite number is written `1e999`, as everywhere in Holdfast."""

    def render(self, content: Any) -> bytes:
        """Return the bytes."""
        return to_json(content).encode()


def problem_response(problem: Problem, request_id: str | None = None) -> StrictJSON:
    """Return a problem as a response."""
    return StrictJSON(problem.to_dict(request_id), problem.status, headers=dict(problem.headers), media_type=MEDIA_TYPE)


class StrictRequest(Request):
    """A request whose JSON has no NaN, no name twice, no half characters and no NUL, which databases refuse."""

    async def json(self) -> Any:
        """The body, read once; a large one was read before, in its analyst's turn."""
        if not hasattr(self, "_read"):
            read = self.scope.get("state", {})
            self._read = read["json"] if "json" in read else strict_loads(await self.body())
        return self._read


def strict_loads(body: bytes) -> Any:
    """Parse JSON that means the same to everybody; `Problem` otherwise.

    Examples
    --------
    >>> strict_loads(b'{"a": 1}')
    {'a': 1}
    >>> strict_loads(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    holdfast.server.http.Problem: ...
    """
    try:
        return read_json(body)
    except InvalidParameter as error:
        raise Problem("malformed-request", f"the body cannot be read: {error}") from None


class StrictRoute(APIRoute):
    """A route that reads JSON strictly, and takes nothing else where it wants JSON; a mistyped parameter is refused."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the route's own handler."""
        inner, wants_body = super().get_route_handler(), self.body_field is not None
        known = frozenset(_query_names(self.dependant))

        async def handle(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            check_query(strict, known)
            if wants_body:
                await check_body(strict)
            return await inner(strict)

        return handle


def check_query(request: Request, known: frozenset[str] = frozenset()) -> None:
    """Refuse a parameter of the address that is not known, such as a mistyped one."""
    if request.scope["query_string"] and not known.issuperset(request.query_params):
        names = ", ".join(sorted(known)) or "none"
        raise Problem("invalid-parameter", f"the address has a parameter that is not known here; known: {names}")


async def check_body(request: StrictRequest) -> bool:
    """Read a body, and say whether there was one; refuse one that is no JSON."""
    if not await request.body():
        return False
    if not says_json(request.headers.get("content-type", "")):
        raise Problem("unsupported-media-type", "send application/json")
    await request.json()
    return True


def _query_names(dependant: Any) -> Iterator[str]:
    """The parameters that a route and what it depends on take from the address."""
    yield from (parameter.alias for parameter in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)
