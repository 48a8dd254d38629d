"""Do two tables lie in the same memory? Then rows of one are rows of the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def overlap(a: Any, b: Any) -> bool:
    """Whether two tables share memory, as slices of one table do; False where that cannot be seen.

    It catches the mistake that is easy to make: a guess or a fit on the very array, frame or slice that is held out.
    Rows that were copied (picked by a list, shuffled, split by `train_test_split`) leave no trace, so False proves
    nothing.

    Examples
    --------
    >>> table = np.zeros((6, 2))
    >>> overlap(table, table[4:]), overlap(table[:4], table[4:]), overlap(table, table.copy())
    (True, False, False)
    """
    if a is b:
        return True
    first, second = _memory(a), _memory(b)
    if first is None or second is None:
        return False
    most: Any = 10_000  # numpy's types know the two special values only
    try:
        return np.shares_memory(first, second, max_work=most)
    except np.exceptions.TooHardError:
        return False


def _memory(table: Any) -> npt.NDArray[Any] | None:
    """An array in the table's own memory: itself, a frame's first column, or the entries of a sparse matrix."""
    if hasattr(table, "iloc"):
        try:
            table = np.asarray(table.iloc[:, 0] if getattr(table, "ndim", 1) == 2 else table)
        except (TypeError, ValueError, IndexError):
            return None
    elif hasattr(table, "tocsr"):
        table = getattr(table, "data", None)
    return table if isinstance(table, np.ndarray) else None


__all__ = ["overlap"]
