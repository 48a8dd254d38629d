"""Every numeric vector of the specifications, read from tests/vectors/."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

VECTORS = Path(__file__).parent / "vectors"


def _rows() -> list[Any]:
    rows = []
    for path in sorted(VECTORS.glob("*.json")):
        for number, row in enumerate(json.loads(path.read_text())):
            rows.append(pytest.param(row, id=f"{path.stem}-{number}-{row['row']}"))
    return rows


def _function(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _take(result: Any, step: str | int) -> Any:
    by_name = isinstance(step, str) and not isinstance(result, Mapping)
    return getattr(result, str(step)) if by_name else result[step]


@pytest.mark.parametrize("row", _rows())
def test_vector(row: dict[str, Any]) -> None:
    result = _function(row["function"])(**row["arguments"])
    result = reduce(_take, row.get("take", []), result)
    expected = np.asarray(row["expected"], dtype=float)
    np.testing.assert_allclose(np.asarray(result, dtype=float), expected, rtol=row.get("rtol", 1e-9), atol=0)


def test_vectors_name_their_place() -> None:
    names = {param.id.split("-")[0] for param in _rows()}
    assert names
    for param in _rows():
        row = param.values[0]
        assert row["row"].startswith("spec-"), row
        assert row.get("rtol", 1e-9) <= 1e-4, row
