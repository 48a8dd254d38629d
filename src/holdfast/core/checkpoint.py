"""Points where long work lets whoever runs it look in: to stop it, or to slow it down in favour of others.

A server sets a hook for the thread that works for a request. Without a hook a checkpoint does nothing. Checkpoints are
passed before anything is paid for, or inside a transaction that an error undoes; so work that is stopped at one has
changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_HOOK: ContextVar[Callable[[], None] | None] = ContextVar("holdfast_checkpoint", default=None)


def checkpoint() -> None:
    """Call the hook of this thread, if there is one; an error that it raises ends the work."""
    hook = _HOOK.get()
    if hook is not None:
        hook()


@contextmanager
def at_checkpoints(hook: Callable[[], None]) -> Iterator[None]:
    """Have a hook called at every checkpoint that this thread passes inside the block, after those set around it.

    Examples
    --------
    >>> passed = []
    >>> with at_checkpoints(lambda: passed.append("here")):
    ...     checkpoint()
    >>> checkpoint()
    >>> passed
    ['here']
    """
    outer = _HOOK.get()

    def both() -> None:
        if outer is not None:
            outer()
        hook()

    token = _HOOK.set(both)
    try:
        yield
    finally:
        _HOOK.reset(token)
