"""Rows as NumPy arrays: needs nothing but NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from holdfast.core.checkpoint import checkpoint
from holdfast.data.expressions import Expression, numpy_columns
from holdfast.data.fingerprint import Batch, Held, Texts
from holdfast.data.sample import Sample, Sums
from holdfast.data.schema import Declared, Kind, Schema, of_one_kind, settled
from holdfast.data.statistics.request import Pass, Plan
from holdfast.errors import InvalidParameter

_ROWS = 1 << 16
"""Rows that are worked on together: few enough for the cache, and 2**16 times 2**30 is exact as a double."""


class NumPySample(Sample):
    """A copy of one-dimensional arrays, one a column: the sample stays as it was opened whatever the owner does."""

    engine = "numpy"
    quick = True

    def __init__(self, columns: Mapping[str, NDArray[Any]], schema: Schema, n: int, row_key: str | None = None) -> None:
        super().__init__(schema, n, row_key)
        self._columns = columns

    @classmethod
    def open(cls, source: Mapping[str, Any], declared: Declared = None, row_key: str | None = None) -> Self:
        """Return a sample of arrays; None in an array of objects and masked entries are missing.

        Examples
        --------
        >>> NumPySample.open({"age": np.array([23, 35]), "sex": ["f", None]})
        NumPySample(n=2, Schema(age integer, sex text))
        """
        arrays = {name: _array(name, of_one_kind(str(name), values)) for name, values in source.items()}
        types = {name: array.dtype for name, array in arrays.items()}
        kinds = {name: "timestamptz" if _has_zone(source[name]) else _kind(array) for name, array in arrays.items()}
        schema = settled(kinds, declared, types)
        for column in schema:
            if column.kind == "text" and arrays[column.name].dtype.kind in "iu":
                arrays[column.name] = _spelt(arrays[column.name])
        lengths = {array.shape[0] for array in arrays.values()}
        if len(lengths) != 1:
            raise InvalidParameter("source must have columns that all have the same length")
        return cls({name: arrays[name] for name in schema.names}, schema, lengths.pop(), row_key)

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        sums: Sums = {plan: [0] * plan.cells for one in work for plan in one.plans}
        names = sorted({name for one in work for name in one.columns})
        for start in range(0, self.n, _ROWS):
            checkpoint()
            rows = min(_ROWS, self.n - start)
            columns = {name: self._read(name, slice(start, start + rows)) for name in names}
            for one in work:
                checkpoint()
                cell = None if one.cell is None else _numbers(one.cell, columns, rows).astype(np.intp)
                for plan in one.plans:
                    _add(sums[plan], plan, cell, columns, rows)
        return sums

    def _read(self, name: str, part: slice) -> numpy_columns.Values:
        values, missing = _held(self._columns[name][part])
        return numpy_columns.read(self.schema[name], values, missing)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Slices of the arrays."""
        for start in range(0, self.n, _ROWS):
            parts = {name: _held(self._columns[name][start : start + _ROWS]) for name in columns}
            yield {name: _handed(self.schema[name].kind, *part) for name, part in parts.items()}

    def close(self) -> None:
        """Let go of the rows."""
        super().close()
        self._columns = {}


def _add(cells: list[int], plan: Plan, cell: NDArray[Any] | None, columns: Any, rows: int) -> None:
    counted = None if plan.counted is None else _true(plan.counted, columns, rows)
    if plan.added is None:
        weights = None
    else:
        weights = _numbers(plan.added, columns, rows)
        if counted is not None:
            weights = weights[counted]
    if cell is None:
        total = weights.sum() if weights is not None else rows if counted is None else np.count_nonzero(counted)
        cells[0] += int(total)
        return
    sums = np.bincount(cell if counted is None else cell[counted], weights, minlength=plan.cells)
    for place in np.flatnonzero(sums).tolist():
        cells[place] += int(sums[place])


def _true(expression: Expression, columns: Any, rows: int) -> NDArray[np.bool_]:
    evaluated = numpy_columns.evaluate(expression, columns, rows)
    return evaluated.array if evaluated.null is None else evaluated.array & ~evaluated.null


def _numbers(expression: Expression, columns: Any, rows: int) -> NDArray[Any]:
    """Values of an expression that is proved never to be NULL."""
    return numpy_columns.evaluate(expression, columns, rows).array


def _array(name: str, values: Any) -> NDArray[Any]:
    """A copy that nobody can write to; missing values are None among objects, masked among others."""
    try:
        array = np.ma.array(values, copy=True) if isinstance(values, np.ma.MaskedArray) else np.array(values)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise InvalidParameter(f"column {name!r} must be a one-dimensional array")
    if array.dtype.kind in "OUT":
        array = _unwrapped(array.astype(object))
        if not all(_is_unicode(value) for value in array if isinstance(value, str)):
            raise InvalidParameter(
                f"column {name!r} must have texts in valid Unicode, without half of a surrogate pair"
            )
    array.flags.writeable = False
    return array


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unwrapped(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers and truth values with None among them as a masked array; texts and anything else stay objects."""
    missing = np.array([value is None for value in array], dtype=np.bool_)
    some = next((value for value in array if value is not None), None)
    if isinstance(some, date):  # a timestamp is a date to Python
        naive = [value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in array]
        return np.array(naive, dtype="datetime64[us]" if isinstance(some, datetime) else "datetime64[D]")
    try:
        present = np.array(array[~missing].tolist())
    except (TypeError, ValueError):  # lists of different lengths, for one
        return array
    if present.ndim != 1 or present.size == 0 or present.dtype.kind not in "bif":
        return array
    filled = np.zeros(len(array), dtype=present.dtype)
    filled[~missing] = present
    return np.ma.array(filled, mask=missing)


def _spelt(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as texts, None where they are missing."""
    spelt: NDArray[Any] = np.empty(len(array), dtype=object)
    spelt[:] = [None if value is None else str(value) for value in array.tolist()]
    return spelt


def _has_zone(given: Any) -> bool:
    """Whether values are timestamps with a zone, which arrays of NumPy cannot say."""
    if not isinstance(given, (list, tuple)) and getattr(given, "dtype", None) != np.dtype(object):
        return False
    first = next((value for value in given if value is not None), None)
    return isinstance(first, datetime) and first.tzinfo is not None


def _handed(kind: Kind, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Held:
    if kind == "text":
        return Texts.of(values), missing
    if kind in ("date", "timestamp", "timestamptz"):
        return numpy_columns.times(values, kind), missing
    return values, missing


def _held(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    if isinstance(array, np.ma.MaskedArray):
        gone = np.ma.getmaskarray(array)
        return array.data, gone | np.isnat(array.data) if array.dtype.kind == "M" else gone
    if array.dtype.kind == "M":
        missing = np.isnat(array)
        return array, missing if missing.any() else None
    if array.dtype.kind == "O":
        missing = np.array([value is None for value in array], dtype=np.bool_)
        return array, missing if missing.any() else None
    return array, None


def _kind(array: NDArray[Any]) -> Kind | None:
    match array.dtype.kind:
        case "b":
            return "boolean"
        case "i":
            return "integer"
        case "u":
            return "integer" if array.dtype.itemsize < 8 else None
        case "f":
            return "number" if array.dtype.itemsize in (4, 8) else None
        case "M":
            return "date" if np.datetime_data(array.dtype)[0] == "D" else "timestamp"
        case "O":
            return "text" if all(value is None or isinstance(value, str) for value in array) else None
    return None
