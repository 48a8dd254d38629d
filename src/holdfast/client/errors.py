"""What can go wrong between a client and a server, and the library's own errors as they come back from one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.errors import (
    BudgetExhausted,
    GuaranteeUnavailable,
    HoldfastError,
    InvalidParameter,
    LedgerConflict,
    LedgerUnavailable,
    QuestionRefused,
    SampleUnavailable,
)

_LONGEST = 500


class ServerUnavailable(HoldfastError):
    """The server could not be reached, did not answer in time, or is overloaded.

    If a question was sent, `key` is its idempotency key. Ask it again with this key: it is then answered and charged
    only once, whether the first attempt arrived or not.
    """

    code = "server-unavailable"

    key: str | None = None


class NotAllowed(HoldfastError):
    """The access token is missing, wrong, expired or revoked, or it may not do this."""

    code = "not-allowed"


class NotFound(HoldfastError):
    """There is no guard, report or other object with this name that the token may use."""

    code = "not-found"


class ReceiptInvalid(HoldfastError):
    """A receipt was not signed with the pinned public key, or it does not fit its answer. Do not rely on the answer."""

    code = "receipt-invalid"


_KIND_OF: dict[str, type[HoldfastError]] = {
    "malformed-request": InvalidParameter,
    "unauthenticated": NotAllowed,
    "token-expired": NotAllowed,
    "token-revoked": NotAllowed,
    "forbidden": NotAllowed,
    "not-found": NotFound,
    "method-not-allowed": NotFound,
    "budget-exhausted": BudgetExhausted,
    "question-refused": QuestionRefused,
    "guarantee-unavailable": GuaranteeUnavailable,
    "ledger-conflict": LedgerConflict,
    "name-taken": LedgerConflict,
    "too-large": InvalidParameter,
    "unsupported-media-type": InvalidParameter,
    "invalid-parameter": InvalidParameter,
    "rate-limited": ServerUnavailable,
    "internal-error": ServerUnavailable,
    "ledger-unavailable": LedgerUnavailable,
    "sample-unavailable": SampleUnavailable,
    "provider-unavailable": ServerUnavailable,
    "overloaded": ServerUnavailable,
    "timed-out": ServerUnavailable,
}


def error_of(status: int, problem: Any) -> HoldfastError:
    """Return the error that a response is: by its `code` where it has one that is known, else by its status.

    Examples
    --------
    >>> error_of(409, {"code": "budget-exhausted", "detail": "all 5 questions were asked"})
    BudgetExhausted('all 5 questions were asked')
    >>> error_of(502, None)
    ServerUnavailable('the server answered with status 502')
    """
    members = problem if isinstance(problem, Mapping) else {}
    detail = members.get("detail")
    words = _clean(detail) if isinstance(detail, str) and detail else f"the server answered with status {status}"
    kind = _KIND_OF.get(str(members.get("code")))
    if kind is None:
        kind = NotAllowed if status in (401, 403) else NotFound if status == 404 else HoldfastError
        kind = ServerUnavailable if status >= 500 or status == 429 else kind
    fields = {name: members.get(name) for name in ("parameter", "value", "allowed")}
    clean = {name: _clean(field) if isinstance(field, str) else field for name, field in fields.items()}
    plain: dict[str, Any] = {name: field for name, field in clean.items() if isinstance(field, (str, int, float))}
    return kind(words, **plain)


def odd() -> ServerUnavailable:
    """Return what answers is no server of this version."""
    return ServerUnavailable("the server sent an answer that this version does not understand")


def member(found: Any, name: str) -> Any:
    """Return a member of an object that a server sent.

    Examples
    --------
    >>> member({"level": 0.01}, "level")
    0.01
    >>> member([], "level")
    Traceback (most recent call last):
        ...
    holdfast.client.errors.ServerUnavailable: the server sent an answer that this version does not understand
    """
    if not isinstance(found, Mapping) or name not in found:
        raise odd()
    return found[name]


def _clean(text: str) -> str:
    """One line that a terminal shows as it is, whoever wrote it."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:_LONGEST])
