"""Named steps of a question at which a test may pull the plug.

`reach(name)` does nothing unless a test has set a hook, in a process of its own. Every step is declared with `point`,
so that a test can list them all and kill a process at each.
"""

from __future__ import annotations

from collections.abc import Callable

POINTS: dict[str, str] = {}
"""Every declared step, with what has and has not happened there."""

_hook: Callable[[str], None] | None = None


def point(name: str, meaning: str) -> str:
    """Declare a step and return its name.

    Examples
    --------
    >>> "ledger.locked" in POINTS
    True
    """
    POINTS[name] = meaning
    return name


BEGIN = point("ledger.begin", "a group of questions was taken; nothing is locked")
LOCKED = point("ledger.locked", "the chain is locked for this process; nothing was decided")
WORKED = point("ledger.worked", "one question of the group was decided; nothing was written")
WRITTEN = point("ledger.written", "the group was written; nothing is durable")
COMMITTED = point("ledger.committed", "the group is durable; nobody has an answer")
RELEASED = point("ledger.released", "answers are on their way to those who asked")


def reach(name: str) -> None:
    """Say that a step was reached."""
    if _hook is not None:
        _hook(name)


def set_hook(hook: Callable[[str], None] | None) -> None:
    """Call `hook` with the name of each step from now on; None ends that. For tests only."""
    global _hook
    _hook = hook
