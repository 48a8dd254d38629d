"""Errors as `application/problem+json` (RFC 9457): a stable `code`, a status, and a sentence that shows no row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.errors import (
    BudgetExhausted,
    GuaranteeUnavailable,
    HoldfastError,
    InvalidParameter,
    LedgerConflict,
    LedgerUnavailable,
    NotInstalled,
    QuestionRefused,
    SampleUnavailable,
)

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

_CODE_OF: tuple[tuple[type[HoldfastError], str], ...] = (
    (InvalidParameter, "invalid-parameter"),
    (BudgetExhausted, "budget-exhausted"),
    (QuestionRefused, "question-refused"),
    (GuaranteeUnavailable, "guarantee-unavailable"),
    (LedgerConflict, "ledger-conflict"),
    (LedgerUnavailable, "ledger-unavailable"),
    (SampleUnavailable, "sample-unavailable"),
    (NotInstalled, "sample-unavailable"),  # what a server needs itself is there, and models are asked about before
)


@dataclass(eq=False)
class Problem(Exception):
    """An error to be sent. `more` are further members; `headers` go with it."""

    code: str
    detail: str
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return CODES[self.code][0]

    def to_dict(self, request_id: str | None = None) -> dict[str, Any]:
        """The body.

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
    """The header that says when to come back, in whole seconds.

    Examples
    --------
    >>> retry_after(0.2)
    {'Retry-After': '1'}
    """
    return {"Retry-After": str(max(1, math.ceil(seconds)))}


def problem_of(error: HoldfastError) -> Problem:
    """The problem that one of the library's errors is.

    Examples
    --------
    >>> problem_of(BudgetExhausted("all 5 questions were asked")).code
    'budget-exhausted'
    >>> problem_of(NotInstalled("psycopg is not installed: `pip install 'holdfast[postgres]'`")).code
    'sample-unavailable'
    """
    for kind, code in _CODE_OF:
        if isinstance(error, kind):
            wait = {"Retry-After": "1"} if CODES[code][0] == 503 else {}
            return Problem(code, _short(str(error)), headers=wait)
    return Problem("internal-error", "an unforeseen error; nothing was released")


def _short(words: str) -> str:
    """Words that repeat what was sent, but not all of it."""
    return words if len(words) <= _LONGEST else words[:_LONGEST] + " ..."


__all__ = ["CODES", "MEDIA_TYPE", "Problem", "problem_of", "retry_after"]
