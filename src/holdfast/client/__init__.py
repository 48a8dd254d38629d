"""The client of a server: `hf.connect(url, token)` has the verbs of `hf.Guard`, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.lazy import lazy

_HOMES = {
    "Connection": "connection",
    "NotAllowed": "errors",
    "NotFound": "errors",
    "ReceiptInvalid": "errors",
    "RemoteAnswer": "answers",
    "RemoteEstimate": "answers",
    "RemoteGuard": "remote_guard",
    "RemoteLeaderboard": "submissions",
    "RemoteSubmission": "submissions",
    "ServerUnavailable": "errors",
    "check_receipt": "receipts",
    "connect": "connection",
}

if TYPE_CHECKING:
    from holdfast.client.answers import RemoteAnswer, RemoteEstimate
    from holdfast.client.connection import Connection, connect
    from holdfast.client.errors import NotAllowed, NotFound, ReceiptInvalid, ServerUnavailable
    from holdfast.client.receipts import check_receipt
    from holdfast.client.remote_guard import RemoteGuard
    from holdfast.client.submissions import RemoteLeaderboard, RemoteSubmission

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
