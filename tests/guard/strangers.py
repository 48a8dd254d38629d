"""Questions that came at the same time from people who know nothing of each other, as a server has them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.guard import Guard, GuardedAnswer
from holdfast.guard.pipeline import Request, check


def ask_each(guard: Guard, requests: Sequence[Request]) -> list[GuardedAnswer | Exception]:
    """Answer each as if it had been asked alone, in this order; an error stands in the place of its question."""
    return guard.answer(check(guard.ledger, requests, together=False))
