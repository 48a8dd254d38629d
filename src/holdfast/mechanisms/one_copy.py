"""One run, one copy: what everything that answers under a budget shares, one lock, one owner, no pickles."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from holdfast.errors import QuestionRefused


class OneCopy:
    """Base of runs of which no second copy may answer: two copies would answer twice what was paid for.

    Questions are answered under a lock. A forked child gets no answers. Pickling and copying are refused; what stores
    a run explicitly (`state()` and `from_state()`) hands it over.

    Examples
    --------
    >>> import copy
    >>> class Door(OneCopy):
    ...     def ask(self):
    ...         with self._alone():
    ...             return "answer"
    >>> Door().ask()
    'answer'
    >>> copy.copy(Door())
    Traceback (most recent call last):
        ...
    TypeError: a Door is not pickled or copied, since two copies would answer twice what was paid for; use state() ...
    """

    __slots__ = ("_lock", "_owner")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner = os.getpid()

    def _check_owner(self) -> None:
        """Before the lock is asked for: in a forked child it may be held for ever by a thread that is not there."""
        if os.getpid() != self._owner:
            raise QuestionRefused(
                "this run belongs to the process that made it, and a forked copy must not answer; "
                f"ask there, or hand the run over with {self._handed_over()}"
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Answer one question: in the owner's process, one thread at a time."""
        self._check_owner()
        with self._lock:
            yield

    @staticmethod
    def _handed_over() -> str:
        """The two methods that store a run and go on with it."""
        return "state() and from_state()"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} is not pickled or copied, since two copies would answer twice what was paid for; "
            f"use {self._handed_over()}"
        )


__all__ = ["OneCopy"]
