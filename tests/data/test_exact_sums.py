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


def test_a_lazy_frame_whose_rows_become_fewer_is_not_answered_from(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    pl.DataFrame({"x": [0.25, 0.5, 0.75]}).write_csv(path)
    sample = hf.data.table(pl.scan_csv(path))
    assert [tuple(one) for one in sample.measure([FixedSum("x", 0.0, 1.0)])] == [(3 * UNIT // 2,)]
    pl.DataFrame({"x": [0.25, 0.5]}).write_csv(path)
    with pytest.raises(SampleUnavailable, match="open it again"):
        sample.measure([FixedSum("x", 0.0, 1.0)])
