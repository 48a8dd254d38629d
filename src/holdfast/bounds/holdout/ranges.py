"""The ranges of what every holdout bound takes, checked on entry: inside them nothing leaves the floating range."""

from __future__ import annotations

from typing import Any

from holdfast.bounds.interval.width import MOST, failure_probability
from holdfast.core import arguments

#: Accuracies below this would need more rows than anybody has; squares and fourth powers stay numbers.
LEAST_TAU = 1e-50


def count(name: str, value: Any, *, at_least: int = 1, at_most: int = MOST) -> int:
    """Check a number of rows, questions, failures or values: whole, at most 10**18.

    Examples
    --------
    >>> count("n", 1e6)
    1000000
    """
    return arguments.whole(name, value, at_least=at_least, at_most=at_most)


def accuracy(tau: Any, *, one: bool = False) -> float:
    """Check `tau`, an error of a number in [0, 1]: at least 1e-50 and below 1, or 1 itself on request.

    Examples
    --------
    >>> accuracy(0.1)
    0.1
    """
    return arguments.real("tau", tau, at_least=LEAST_TAU, below=None if one else 1, at_most=1 if one else None)


def laplace_scale(sigma: Any) -> float:
    """Check `sigma`, a Laplace scale: any size that a double and its square can hold.

    Examples
    --------
    >>> laplace_scale(0.01)
    0.01
    """
    return arguments.real("sigma", sigma, at_least=1e-100, at_most=1e100)


__all__ = ["LEAST_TAU", "MOST", "accuracy", "count", "failure_probability", "laplace_scale"]
