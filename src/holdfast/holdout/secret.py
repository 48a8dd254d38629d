"""What every holdout with secret state shares: one lock, one owner, no pickles, nothing in the repr."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.noise.entropy import Seeded, Source


class Secret:
    """Base of holdouts that hold something no analyst may see.

    Questions are answered under a lock. A forked child gets no answers, because two copies of one run would answer
    twice what was paid for. Pickling and copying are refused for the same reason; `state()` and `from_state()` are
    explicit about it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner = os.getpid()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Answer one question: the owner's process, one thread at a time."""
        # Before the lock is asked for: in a forked child it may be held for ever by a thread that is not there.
        if os.getpid() != self._owner:
            raise HoldfastError("this holdout belongs to the process that made it; a forked copy must not answer")
        with self._lock:
            yield

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} holds secret state and is not pickled or copied; use state() and from_state()"
        )


def source_state(source: Source) -> dict[str, Any] | None:
    """What must be saved of a source: nothing of `Secure`, the generator of `Seeded`."""
    if source.secure:
        return None
    if isinstance(source, Seeded):
        return source.state()
    raise InvalidParameter(
        f"source must be Secure or Seeded for its state to be saved, this one is a {type(source).__name__}"
    )


def read_state(state: Any, kind: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """A stored state of the right kind with the right fields; no message shows what it holds.

    Examples
    --------
    >>> read_state({"kind": "ladder", "secret": True, "asked": 3}, "ladder", ("asked",))["asked"]
    3
    >>> read_state({"kind": "ladder"}, "thresholdout", ())
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: state must be what thresholdout.state() gave
    """
    if not isinstance(state, dict) or state.get("kind") != kind or set(state) != {"kind", "secret", *fields}:
        raise InvalidParameter(f"state must be what {kind}.state() gave")
    return state


__all__ = ["Secret", "read_state", "source_state"]
