"""How curators and learners are called: plain callables, given as many of the arguments as they take."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import InvalidParameter


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


def learners_of(given: Any) -> dict[str, Any]:
    """Named learners from one or several: callables, names of built-in ones, scikit-learn estimators."""
    from holdfast.coherence.learners import learner_of

    if isinstance(given, Mapping):
        named = {str(name): learner_of(learner) for name, learner in given.items()}
    else:
        several = [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
        learners = [learner_of(learner) for learner in several]
        named = {}
        for learner in learners:
            name = getattr(learner, "name", None) or getattr(learner, "__name__", None) or type(learner).__name__
            if name in named:
                raise InvalidParameter(f"learners must have distinct names; {name!r} occurs twice (use a mapping)")
            named[str(name)] = learner
    if not named:
        raise InvalidParameter("learners must hold at least one learner")
    return named
