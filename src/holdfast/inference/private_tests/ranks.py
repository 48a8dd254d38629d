"""Ranks for private tests: the door for samples, ties broken by chance, and arrangements under the null.

Group sizes are public and fixed; a neighbour replaces the value of one record and keeps it in its group. Ties are
broken by a random key that each place gets before the values are looked at. With the keys fixed the records are in
strict order and a neighbour moves one of them, so sensitivities that hold for different values hold with ties too.
Under the null (all values from one law, continuous or not) every arrangement is equally likely, so the null law of a
rank statistic is known exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.monte_carlo import blocks
from holdfast.noise.inputs import plain_array

#: Statistics of more records might leave 64-bit integers.
LARGEST_N = 1 << 26


def sample(name: str, values: Any) -> NDArray[np.float64]:
    """One value a record, finite; an error shows none of them.

    Examples
    --------
    >>> sample("x", [1.0, float("nan")])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: x must hold finite numbers only: give missing values a declared one first
    """
    wanted = "one column of numbers, one a record"
    array = plain_array(name, values, "iufb", wanted)
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameter(f"{name} must be {wanted}, at least one")
    clean: NDArray[np.float64] = array.astype(np.float64)
    if not np.isfinite(clean).all():
        raise InvalidParameter(f"{name} must hold finite numbers only: give missing values a declared one first")
    return clean


def pooled(samples: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All values in one array, sample after sample, and the public sizes."""
    sizes = np.array([part.size for part in samples])
    if sizes.sum() > LARGEST_N:
        raise InvalidParameter(f"samples must hold at most {LARGEST_N} records in all, got {sizes.sum()}")
    return np.concatenate(samples), sizes


def ranks(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Ranks 1 to n, ties broken by keys that are drawn before the values are looked at.

    Examples
    --------
    >>> ranks(np.array([5.0, 1.0, 3.0]), np.random.default_rng(1)).tolist()
    [3, 1, 2]
    """
    keys = rng.permutation(values.size)
    found = np.empty(values.size, dtype=np.int64)
    found[np.lexsort((keys, values))] = np.arange(1, values.size + 1)
    return found


def shuffled(
    statistic: Callable[[NDArray[np.int64]], NDArray[np.int64]], n: int, rng: np.random.Generator
) -> Callable[[int], NDArray[np.int64]]:
    """`null(k)`: the statistic of k random arrangements of the ranks 1 to n, in blocks of bounded memory."""

    def null(k: int) -> NDArray[np.int64]:
        found = np.empty(k, dtype=np.int64)
        order = np.arange(1, n + 1)
        for block in blocks(k, n):
            rows = block.stop - block.start
            found[block] = statistic(rng.permuted(np.broadcast_to(order, (rows, n)), axis=1))
        return found

    return null


__all__ = ["LARGEST_N", "pooled", "ranks", "sample", "shuffled"]
