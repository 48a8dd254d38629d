"""Sums are exact where a double is not, and of the rows that were opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.data.statistics import UNIT, FixedSum
from holdfast.errors import SampleUnavailable


@pytest.mark.parametrize("engine", ["polars", "numpy"])
def test_a_sum_beyond_what_a_double_holds(engine: Any) -> None:
    n = 2**23 + 3
    exact = n * (UNIT - 1)
    assert int(float(exact)) != exact
    sample = hf.data.table({"x": np.full(n, (UNIT - 1) / UNIT)}, engine=engine)
    assert [tuple(one) for one in sample.measure([FixedSum("x", 0.0, 1.0)])] == [(exact,)]


@pytest.mark.parametrize("later", [[0.25, 0.5], [0.75, 0.75, 0.75]])
def test_a_lazy_frame_is_the_rows_that_it_had(tmp_path: Path, later: list[float]) -> None:
    """Collected again, it would have those of the file as it is by then, behind a fingerprint of others."""
    path = tmp_path / "rows.csv"
    pl.DataFrame({"x": [0.25, 0.5, 0.75]}).write_csv(path)
    sample = hf.data.table(pl.scan_csv(path))
    before = sample.fingerprint()
    pl.DataFrame({"x": later}).write_csv(path)
    assert [tuple(one) for one in sample.measure([FixedSum("x", 0.0, 1.0)])] == [(3 * UNIT // 2,)]
    assert sample.fingerprint() == before


def test_a_lazy_frame_that_cannot_be_collected_says_nothing_of_its_rows(tmp_path: Path) -> None:
    asked = pl.LazyFrame({"x": ["a secret"]}).with_columns(pl.col("x").cast(pl.Int64))
    for frame in (asked, pl.scan_csv(tmp_path / "absent.csv")):
        with pytest.raises(SampleUnavailable, match="the rows of the lazy frame could not be computed"):
            hf.data.table(frame)
