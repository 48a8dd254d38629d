"""Arrow columns as fingerprints read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.fingerprint import Batch, Held, Texts
from holdfast.data.schema import Column, Schema

if TYPE_CHECKING:
    import pyarrow as pa


def batch(schema: Schema, columns: Any, part: pa.RecordBatch) -> Batch:
    """The named columns of an Arrow batch or table, each as its declared kind."""
    return {name: held(schema[name], part.column(name)) for name in columns}


def held(column: Column, array: Any) -> Held:
    """One Arrow column; texts are hashed once for each different one, so they come as codes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> values, missing = held(Column("s", "text"), pa.array(["a", None, "a"]))
    >>> values.codes, values.distinct, missing
    (array([0, 0, 0], dtype=int32), ['a'], array([False,  True, False]))
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    missing = _numpy(pc.is_null(array), np.bool_) if array.null_count else None
    if column.kind == "text":
        if pa.types.is_dictionary(array.type):
            array = pc.cast(array, pa.large_string())
        coded = array.dictionary_encode()
        return Texts(_numpy(coded.indices, np.int32, missing), coded.dictionary.to_pylist() or [""]), missing
    type_, kind = _TYPES[column.kind]
    # Not safe: whole numbers above 2**53 become the nearest double, as in questions.
    return _numpy(array.cast(type_, safe=column.kind == "integer"), kind, missing), missing


_TYPES: dict[str, tuple[str, Any]] = {
    "boolean": ("bool", np.bool_),
    "integer": ("int64", np.int64),
    "number": ("double", np.float64),
}


def _numpy(array: Any, kind: Any, missing: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """The values of an Arrow array, 0 where they are missing. Arrow's own ways to NumPy import pandas first."""
    first, size = array.offset, len(array)
    if not size:
        return np.empty(0, kind)
    if kind is np.bool_:
        bits = np.frombuffer(array.buffers()[1], np.uint8)
        values = np.unpackbits(bits, count=first + size, bitorder="little")[first:].astype(np.bool_)
    else:
        values = np.frombuffer(array.buffers()[1], kind, first + size)[first:]
    return values if missing is None else np.where(missing, np.zeros(1, kind), values)


__all__ = ["batch", "held"]
