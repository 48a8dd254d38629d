"""Columns that are declared: what they hold cannot change what they are."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast as hf
from holdfast.data.statistics import Count


@pytest.mark.parametrize("engine", ["numpy", "polars"])
@pytest.mark.parametrize("kind", ["number", "integer", "boolean"])
def test_a_declared_column_that_has_no_value_keeps_its_kind(engine: Any, kind: str) -> None:
    """Whether it is refused would depend on the rows."""
    declared = {"v": f"{kind} null", "w": "integer"}
    sample = hf.data.table({"v": [None, None], "w": [1, 2]}, schema=declared, engine=engine)
    assert sample.schema["v"].kind == kind
    assert sample.measure([Count("v is null")]) == [(2,)]
