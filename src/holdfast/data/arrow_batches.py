"""Arrow columns as fingerprints read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
    missing = pc.is_null(array).to_numpy(zero_copy_only=False) if array.null_count else None
    if column.kind == "text":
        if pa.types.is_dictionary(array.type):
            array = pc.cast(array, pa.large_string())
        coded = array.dictionary_encode()
        codes = coded.indices.fill_null(0) if array.null_count else coded.indices
        return Texts(codes.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist() or [""]), missing
    kinds = {"boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64()}
    # Not safe: whole numbers above 2**53 become the nearest double, as in questions.
    values = array.cast(kinds[column.kind], safe=column.kind == "integer")
    if array.null_count:
        values = values.fill_null(False if column.kind == "boolean" else 0)
    return np.asarray(values.to_numpy(zero_copy_only=False)), missing


__all__ = ["batch", "held"]
