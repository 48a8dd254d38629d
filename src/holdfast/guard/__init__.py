"""The guard: a data set behind a policy, and a ledger of everything that was asked about it.

Every question kind is a name of this package: `hf.guard.mean("age < 30")` makes a question of the kind `mean`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from holdfast.core.lazy import lazy

_HOMES = {
    "AnalystGuard": "analyst",
    "Board": "scoring.board",
    "Estimate": "estimates",
    "Guard": "guard",
    "GuardedAnswer": "answer",
    "Policy": "policy",
    "Question": "questions",
    "Study": "study",
    "plan_study": "study",
}
_PACKAGES = ("coherence", "leaderboard", "ledger", "questions")
_get, _names = lazy(__name__, _HOMES, _PACKAGES)

if TYPE_CHECKING:
    from holdfast.guard import coherence, leaderboard, ledger
    from holdfast.guard.analyst import AnalystGuard
    from holdfast.guard.answer import GuardedAnswer
    from holdfast.guard.estimates import Estimate
    from holdfast.guard.guard import Guard
    from holdfast.guard.policy import Policy
    from holdfast.guard.questions import Question
    from holdfast.guard.scoring.board import Board
    from holdfast.guard.study import Study, plan_study

    __all__ = [
        "AnalystGuard",
        "Board",
        "Estimate",
        "Guard",
        "GuardedAnswer",
        "Policy",
        "Question",
        "Study",
        "coherence",
        "leaderboard",
        "ledger",
        "plan_study",
    ]

    def __getattr__(name: str) -> Any: ...

else:

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return sorted([*_HOMES, "coherence", "leaderboard", "ledger", *_kinds()])
        if name in _HOMES or name in _PACKAGES or name.startswith("_"):
            return _get(name)
        return _kinds().get(name) or _get(name)

    def __dir__() -> list[str]:
        return sorted({*_names(), *_kinds(), "__all__"})


def _kinds() -> dict[str, type[Question]]:
    """Every kind of question; loaded when one is first asked for."""
    known: type[Question] = importlib.import_module("holdfast.guard.questions").Question
    return known.kinds()
