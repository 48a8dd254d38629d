"""Copying rules: what may not be copied, what is shared by its copies, and what only its own process may use."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, NoReturn, Self

from holdfast.errors import QuestionRefused


class NoCopy:
    """Base of objects that are neither copied nor pickled. `_not_copied` is the error; `{name}` there is the class.

    Examples
    --------
    >>> import copy
    >>> class Rows(NoCopy):
    ...     _not_copied = "a {name} holds guarded rows and is not pickled"
    >>> copy.copy(Rows())
    Traceback (most recent call last):
        ...
    TypeError: a Rows holds guarded rows and is not pickled
    """

    __slots__ = ()
    _not_copied: ClassVar[str]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(self._not_copied.replace("{name}", type(self).__name__))


class SharedOnCopy(NoCopy):
    """Base of objects whose copies are the object itself, so that all of them spend from one budget.

    Search tools copy what they are given before every trial. A pickle would be a second budget in another process, so
    it is refused; `_not_copied` says what to do instead.

    Examples
    --------
    >>> import copy, pickle
    >>> class Scores(SharedOnCopy):
    ...     _not_copied = "scores are not pickled: open them there"
    >>> scores = Scores()
    >>> copy.copy(scores) is copy.deepcopy(scores) is scores
    True
    >>> pickle.dumps(scores)
    Traceback (most recent call last):
        ...
    TypeError: scores are not pickled: open them there
    """

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class OneOwner(NoCopy):
    """Base of runs of which no second copy may answer: two copies would answer twice what was paid for.

    Questions are answered under a lock. A forked child gets no answers. Pickling and copying are refused; the two
    methods that `_handed_over` names store a run explicitly and go on with it.

    Examples
    --------
    >>> import copy
    >>> class Budget(OneOwner):
    ...     def ask(self):
    ...         with self._alone():
    ...             return "answer"
    >>> Budget().ask()
    'answer'
    >>> copy.copy(Budget())
    Traceback (most recent call last):
        ...
    TypeError: a Budget cannot be pickled or copied, because two copies would each spend the same budget; use state()
    ...
    """

    __slots__ = ("_lock", "_owner")
    _handed_over: ClassVar[str] = "state() and from_state()"

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner = os.getpid()

    def _check_owner(self) -> None:
        """Refuse a forked child before the lock is asked for: a thread that is not there may hold it forever."""
        if os.getpid() != self._owner:
            raise QuestionRefused(
                "this run belongs to the process that created it, and this process is a forked copy, which may not "
                f"answer; ask in the first process, or transfer the run with {self._handed_over}"
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Answer one question: in the owner's process, one thread at a time."""
        self._check_owner()
        with self._lock:
            yield

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied, because two copies would each spend the same "
            f"budget; use {self._handed_over} instead"
        )
