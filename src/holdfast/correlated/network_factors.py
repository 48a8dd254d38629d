"""Tables of a discrete network, kept as logarithms.

A factor is a non-negative function of a few variables. Products of many factors leave the range of doubles; their
logarithms do not. An impossible cell is minus infinity and stays so exactly, which matters: an impossible cell makes an
influence infinite, a very small one does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Factor:
    """Logarithms of a table; axis `j` runs over the values of variable `variables[j]`."""

    variables: tuple[int, ...]
    logs: Array

    @classmethod
    def of(cls, variables: Sequence[int], table: npt.ArrayLike) -> Factor:
        """The factor of a table of non-negative numbers.

        Examples
        --------
        >>> Factor.of((0,), [1.0, 0.0]).logs.tolist()
        [0.0, -inf]
        """
        return cls(tuple(variables), log_of(np.asarray(table, dtype=float)))


def log_of(table: Array) -> Array:
    """Logarithms with `log 0 = -inf` and no warning.

    Examples
    --------
    >>> log_of(np.array([0.0, 1.0])).tolist()
    [-inf, 0.0]
    """
    with np.errstate(divide="ignore"):
        return np.log(table)


def log_sum(logs: Array, axes: tuple[int, ...], keep: bool = False) -> Array:
    """Logarithm of the sum of `exp(logs)` over some axes; a sum of impossible cells is impossible.

    Examples
    --------
    >>> log_sum(np.log([[0.25, 0.75], [1.0, 3.0]]), (1,)).round(6).tolist()
    [0.0, 1.386294]
    >>> log_sum(np.array([-np.inf, -np.inf]), (0,)).tolist()
    -inf
    """
    if not axes:
        return logs
    top = np.max(logs, axis=axes, keepdims=True)
    shift = np.where(np.isneginf(top), 0.0, top)
    sums = log_of(np.sum(np.exp(logs - shift), axis=axes, keepdims=True)) + shift
    return sums if keep else np.squeeze(sums, axis=axes)


def product(factors: Iterable[Factor], variables: Sequence[int], sizes: Sequence[int]) -> Factor:
    """The product of factors as one table over `variables`, which holds every variable of theirs.

    Examples
    --------
    >>> joint = product([Factor.of((0,), [0.5, 0.5]), Factor.of((0, 1), [[0.9, 0.1], [0.4, 0.6]])], (1, 0), [2, 2])
    >>> np.exp(joint.logs).round(6).tolist()
    [[0.45, 0.2], [0.05, 0.3]]
    """
    place = {variable: axis for axis, variable in enumerate(variables)}
    result = np.zeros(tuple(sizes[variable] for variable in variables))
    for factor in factors:
        order = sorted(range(len(factor.variables)), key=lambda axis, f=factor: place[f.variables[axis]])  # type: ignore[misc]
        shape = [1] * len(variables)
        for variable, size in zip(factor.variables, factor.logs.shape, strict=True):
            shape[place[variable]] = size
        result = result + np.transpose(factor.logs, order).reshape(shape)
    return Factor(tuple(variables), result)


__all__ = ["Factor", "log_of", "log_sum", "product"]
