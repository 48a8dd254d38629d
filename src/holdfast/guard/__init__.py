"""The guard: one door to a sample, and a ledger of everything that went through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.lazy import lazy

_HOMES = {
    "Board": "scoring.board",
    "Estimate": "estimate",
    "Guard": "guard",
    "GuardedAnswer": "answer",
    "Policy": "policy",
    "Question": "questions",
    "check": "questions",
    "claim": "questions",
    "compare": "questions",
    "histogram": "questions",
    "mean": "questions",
    "score": "questions",
    "select": "questions",
    "test": "questions",
    "validate": "questions",
}

if TYPE_CHECKING:
    from holdfast.guard import coherence, leaderboard, ledger
    from holdfast.guard.answer import GuardedAnswer
    from holdfast.guard.estimate import Estimate
    from holdfast.guard.guard import Guard
    from holdfast.guard.policy import Policy
    from holdfast.guard.questions import Question, check, claim, compare, histogram, mean, score, select, test, validate
    from holdfast.guard.scoring.board import Board

__getattr__, __dir__ = lazy(__name__, _HOMES, ("coherence", "leaderboard", "ledger", "questions"))

__all__ = [
    "Board",
    "Estimate",
    "Guard",
    "GuardedAnswer",
    "Policy",
    "Question",
    "check",
    "claim",
    "coherence",
    "compare",
    "histogram",
    "leaderboard",
    "ledger",
    "mean",
    "score",
    "select",
    "test",
    "validate",
]
