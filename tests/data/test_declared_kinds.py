"""Columns that are declared: what they hold cannot change what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import holdfast as hf
from holdfast.data import table
from holdfast.data.statistics import Count
from holdfast.errors import InvalidParameter
from holdfast.guard import Guard, Policy, check
from holdfast.guard.ledger.opening import open_store


@pytest.mark.parametrize("engine", ["numpy", "polars"])
@pytest.mark.parametrize("kind", ["number", "integer", "boolean"])
def test_a_declared_column_that_has_no_value_keeps_its_kind(engine: Any, kind: str) -> None:
    """Whether it is refused would depend on the rows."""
    declared = {"v": f"{kind} null", "w": "integer"}
    sample = hf.data.table({"v": [None, None], "w": [1, 2]}, schema=declared, engine=engine)
    assert sample.schema["v"].kind == kind
    assert sample.measure([Count("v is null")]) == [(2,)]


def test_whole_numbers_that_pandas_made_doubles_are_declared_whole_again(tmp_path: Path) -> None:
    """`pd.read_parquet` gives doubles for a column of whole numbers with a missing one: the same rows, one budget."""
    import pandas as pd

    pl.DataFrame({"age": [31, None, 2**52 + 1], "x": [0.5, 1.0, 2.0]}).write_parquet(tmp_path / "a.parquet")
    frame = pd.read_parquet(tmp_path / "a.parquet")
    assert frame["age"].dtype == float
    there, here = table(tmp_path / "a.parquet"), table(frame, schema={"age": "integer", "x": "number"})
    assert here.fingerprint() == there.fingerprint() != table(frame).fingerprint()
    assert here.schema == there.schema
    store = open_store(None)
    guard = Guard.open(store, there, Policy(questions=5))
    guard.ask(check("x > 0.5", guess=0.5))
    assert Guard.open(store, here).remaining() == guard.remaining()
    for wrong in (0.5, 2.0**53, float("inf")):
        with pytest.raises(InvalidParameter, match="kind number"):
            table(pd.DataFrame({"age": [1.0, wrong]}), schema={"age": "integer"})
