"""Checked arrays for the metrics: one number a row, of one length, and no message that shows a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.data.values import column, summarise
from holdfast.errors import InvalidParameter


def bounded(name: str, values: Any, low: float, high: float, n: int | None = None) -> npt.NDArray[np.float64]:
    """One number a row inside `[low, high]`.

    Examples
    --------
    >>> bounded("values", [0, 1], 0.0, 1.0)
    array([0., 1.])
    """
    rows = _column(name, values, n)
    summarise(rows, n=len(rows), low=low, high=high, name=name)
    return rows.astype(np.float64)


def flags(name: str, values: Any, n: int | None = None) -> npt.NDArray[np.bool_]:
    """One 0 or 1 (or truth value) a row.

    Examples
    --------
    >>> flags("labels", [0, 1, 1])
    array([False,  True,  True])
    """
    rows = _column(name, values, n)
    summarise(rows, n=len(rows), binary=True, name=name)
    return rows.astype(np.bool_)


def numbers(name: str, values: Any, n: int | None = None) -> npt.NDArray[np.float64]:
    """One number a row, of any size; the caller looks at what is in it.

    Examples
    --------
    >>> numbers("values", [1, 2], 2)
    array([1., 2.])
    """
    return _column(name, values, n).astype(np.float64)


def ordered(name: str, values: Any, n: int | None = None) -> npt.NDArray[np.float64]:
    """One number a row; infinities are numbers here, NaN is not.

    Examples
    --------
    >>> ordered("scores", [0.5, float("inf")])
    array([0.5, inf])
    """
    rows = numbers(name, values, n)
    if np.isnan(rows).any():
        raise InvalidParameter(f"{name} must be one number a row, and some are not")
    return rows


def _column(name: str, values: Any, n: int | None) -> npt.NDArray[Any]:
    rows = column(values, name)
    if rows.size == 0:
        raise InvalidParameter(f"{name} must have one number a row and at least one row")
    if n is not None and rows.size != n:
        raise InvalidParameter(f"{name} must have one number a row, {n} in all, got {rows.size}")
    return rows


__all__ = ["bounded", "flags", "numbers", "ordered"]
