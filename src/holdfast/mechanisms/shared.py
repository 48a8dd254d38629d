"""What is passed around by tools that copy what they are given, while there is one budget behind it."""

from __future__ import annotations

from typing import ClassVar, NoReturn, Self


class Shared:
    """Base of objects whose copies are the object itself, so that all of them spend from one budget.

    Search tools copy what they are given before every trial. A pickle would be a second budget in another process and
    is refused; `_not_pickled` says what to do instead.

    Examples
    --------
    >>> import copy, pickle
    >>> class Scores(Shared):
    ...     _not_pickled = "scores are not pickled: open them there"
    >>> scores = Scores()
    >>> copy.copy(scores) is copy.deepcopy(scores) is scores
    True
    >>> pickle.dumps(scores)
    Traceback (most recent call last):
        ...
    TypeError: scores are not pickled: open them there
    """

    __slots__ = ()
    _not_pickled: ClassVar[str]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(self._not_pickled.replace("{name}", type(self).__name__))


__all__ = ["Shared"]
