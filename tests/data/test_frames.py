"""Data frames of every kind behind one set of names."""

from __future__ import annotations

import polars

from holdfast.data.frames import Frame


def test_only_the_column_that_is_asked_for_is_collected() -> None:
    """Another may be large, or fail."""
    frame = polars.LazyFrame({"age": [31, 45], "town": ["A", "B"]}).with_columns(polars.col("town").cast(polars.Int64))
    assert Frame(frame).column("age").tolist() == [31, 45]
