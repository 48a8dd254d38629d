"""The client of a server: `hf.connect(url, token)` has the verbs of `hf.Guard`, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

_HOMES = {
    "Connection": "connection",
    "NotAllowed": "errors",
    "NotFound": "errors",
    "ReceiptInvalid": "errors",
    "RemoteAnswer": "answers",
    "RemoteEstimate": "answers",
    "RemoteGuard": "remote_guard",
    "RemoteLeaderboard": "remote_guard",
    "RemoteSubmission": "remote_guard",
    "ServerUnavailable": "errors",
    "check_receipt": "answers",
    "connect": "connection",
}

if TYPE_CHECKING:
    from holdfast.client.answers import RemoteAnswer, RemoteEstimate, check_receipt
    from holdfast.client.connection import Connection, connect
    from holdfast.client.errors import NotAllowed, NotFound, ReceiptInvalid, ServerUnavailable
    from holdfast.client.remote_guard import RemoteGuard, RemoteLeaderboard, RemoteSubmission

__getattr__, __dir__ = lazy(__name__, _HOMES)

__all__ = [
    "Connection",
    "NotAllowed",
    "NotFound",
    "ReceiptInvalid",
    "RemoteAnswer",
    "RemoteEstimate",
    "RemoteGuard",
    "RemoteLeaderboard",
    "RemoteSubmission",
    "ServerUnavailable",
    "check_receipt",
    "connect",
]
