"""How curators and learners are called: plain callables, given as many of the arguments as they take."""

from __future__ import annotations

import inspect
from typing import Any


def call(function: Any, *arguments: Any) -> Any:
    """Call with as many of the arguments, from the left, as the function takes.

    So `lambda half: ...` and `def curator(half, rng)` are both curators.

    Examples
    --------
    >>> call(lambda a: a, 1, 2), call(lambda a, b, c=0: (a, b, c), 1, 2)
    (1, (1, 2, 0))
    """
    return function(*arguments[: accepts(function, len(arguments))])


def accepts(function: Any, most: int) -> int:
    """Return how many positional arguments the function takes, at most `most`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not say
        return 1
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return most
    return min(most, sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters))
