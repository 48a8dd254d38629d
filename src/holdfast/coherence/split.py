"""The uniform half split: which rows the curator sees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter


def half_split(n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A uniformly random half of `n` rows, n even: True for the rows that the curator sees.

    Definition D8 of the coherence specification (Figure 1 of the paper): every subset of n/2 rows is equally likely.

    Examples
    --------
    >>> inside = half_split(10, np.random.default_rng(1))
    >>> int(inside.sum()), inside.size
    (5, 10)
    """
    n = check.whole("n", n, at_least=2)
    if n % 2:
        raise InvalidParameter(f"n must be even, got {n}; drop one row at random with even_rows")
    inside = np.zeros(n, dtype=bool)
    inside[rng.permutation(n)[: n // 2]] = True
    return inside


def even_rows(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All of `n` rows if n is even, otherwise all but a uniformly random one, in order.

    Examples
    --------
    >>> even_rows(4, np.random.default_rng(1)).tolist(), even_rows(5, np.random.default_rng(1)).size
    ([0, 1, 2, 3], 4)
    """
    n = check.whole("n", n, at_least=2)
    return np.delete(np.arange(n), rng.integers(n)) if n % 2 else np.arange(n)


def cluster_split(clusters: Any, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Half of the clusters, drawn uniformly; every cluster stays whole. An odd cluster falls to either side.

    No theorem of coherence covers this split (members of a group move in clumps), and a re-split or permutation test
    must move whole clusters too.

    Examples
    --------
    >>> homes = np.array([0, 0, 1, 2, 2, 3])
    >>> inside = cluster_split(homes, np.random.default_rng(1))
    >>> all(len(set(inside[homes == home])) == 1 for home in range(4))
    True
    """
    _, which = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(which.max()) + 1 if which.size else 0
    if count < 2:
        raise InvalidParameter(f"clusters must be at least 2 to be split, got {count}")
    chosen = np.zeros(count, dtype=bool)
    chosen[rng.permutation(count)[: count // 2 + int(count % 2 and rng.integers(2))]] = True
    return np.asarray(chosen[which])


__all__ = ["cluster_split", "even_rows", "half_split"]
