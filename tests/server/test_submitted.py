"""Files with predictions: what is read in the server and what is read apart from it follow the same rules."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from holdfast.data.schema import Kind
from holdfast.errors import InvalidParameter
from holdfast.guard.scoring import texts
from holdfast.guard.scoring.files import table_in
from holdfast.guard.scoring.predictions import predictions
from holdfast.server import submitted

CASES: list[tuple[str, Kind, Kind, str]] = [
    ("csv", "integer", "boolean", "id,prediction\n01,True\n2,0\n"),
    ("csv", "integer", "boolean", 'id,other,prediction\n"1","a,b",true\n2,,false\n'),
    ("csv", "integer", "boolean", "id,prediction\n1,yes\n"),
    ("csv", "integer", "boolean", "id,prediction\n1,\n"),
    ("csv", "integer", "boolean", "id,prediction\n1\n"),
    ("csv", "integer", "boolean", "id,guess\n1,true\n"),
    ("csv", "integer", "boolean", "id,prediction\n1.5,true\n"),
    ("csv", "integer", "boolean", "id,prediction\n99999999999999999999,true\n"),
    ("csv", "integer", "number", "id,prediction\n1,1e-3\n2,.5\n3,-7\n"),
    ("csv", "integer", "number", "id,prediction\n1,1_0\n"),
    ("csv", "integer", "number", "id,prediction\n1,nan\n"),
    ("csv", "integer", "number", "id,prediction\n1,1e999\n"),
    ("csv", "text", "text", 'id,prediction\n"a ""b""",low\nc,high\n'),
    ("csv", "text", "text", 'id,prediction\n"",low\n'),
    ("csv", "text", "text", "id,prediction\n,low\n"),
    ("json", "integer", "boolean", '{"keys": [1, 2], "predictions": [true, false]}'),
    ("json", "integer", "number", '{"keys": [1, 2], "predictions": [1, 0.25]}'),
    ("json", "integer", "number", '{"keys": [1, 2], "predictions": [1, "a"]}'),
    ("json", "integer", "number", '{"1": 2, "2": 3.5}'),
    ("json", "integer", "number", '{"1": "2"}'),
    ("json", "integer", "number", '{"1": null}'),
    ("json", "text", "text", '[{"id": "a", "prediction": "low"}]'),
    ("json", "text", "text", '[{"id": 1, "prediction": "low"}]'),
    ("json", "text", "text", "[1, 2]"),
]


def here(format_: str, key: Kind, kind: Kind, text: str) -> Any:
    body = text.encode()
    return texts.read(body, format_, "id", key, kind)


def apart(format_: str, key: Kind, kind: Kind, content: bytes, place: Path, most: int = 100) -> Any:
    import pyarrow as pa

    place.write_bytes(content)
    table = pa.ipc.open_stream(submitted._arrow(table_in(place, format_, "id", (key, kind), most))).read_all()
    return {"keys": submitted._column(table.column(0)), "predictions": submitted._column(table.column(1))}


def digest(read: Any, key: Kind, kind: Kind) -> str:
    return predictions(read(), "id", key, kind).digest


@pytest.mark.parametrize(("format_", "key", "kind", "text"), CASES)
def test_small_and_large_texts(format_: str, key: Kind, kind: Kind, text: str, tmp_path: Path) -> None:
    said = []
    for read in (
        lambda: here(format_, key, kind, text),
        lambda: apart(format_, key, kind, text.encode(), tmp_path / "file"),
    ):
        try:
            said.append(digest(read, key, kind))
        except InvalidParameter:
            said.append("refused")
    assert said[0] == said[1]
    if ", 0.25" in text or "01,True" in text or "1e-3" in text or '"" b' in text or '"a",' in text:
        assert said[0] != "refused"


@pytest.mark.parametrize(
    ("columns", "key", "kind", "right"),
    [
        ({"id": [1, 2], "prediction": [True, False]}, "integer", "boolean", True),
        ({"id": pl.Series([1, 2], dtype=pl.UInt64), "prediction": [True, False]}, "integer", "boolean", True),
        ({"id": [1.0, 2.0], "prediction": [1, 0]}, "integer", "number", True),
        ({"id": [1, 2], "prediction": pl.Series([0.5, 1], dtype=pl.Float32)}, "integer", "number", True),
        ({"id": ["a", "b"], "prediction": pl.Series(["x", "y"], dtype=pl.Categorical)}, "text", "text", True),
        ({"id": [1, 2], "prediction": [[1], [2]]}, "integer", "number", False),
        ({"id": [1, None], "prediction": [1, 2]}, "integer", "number", False),
        ({"id": [b"a", b"b"], "prediction": [1, 2]}, "text", "number", False),
        ({"id": ["a", "b"], "prediction": [1, 2]}, "integer", "number", False),
        ({"id": list(range(200)), "prediction": [0.5] * 200}, "integer", "number", False),
        ({"id": [1]}, "integer", "number", False),
    ],
)
def test_parquet(columns: Any, key: Kind, kind: Kind, right: bool, tmp_path: Path) -> None:
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    if right:
        assert digest(lambda: apart("parquet", key, kind, out.getvalue(), tmp_path / "file"), key, kind)
    else:
        with pytest.raises(InvalidParameter):
            digest(lambda: apart("parquet", key, kind, out.getvalue(), tmp_path / "file"), key, kind)
