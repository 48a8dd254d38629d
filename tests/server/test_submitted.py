"""Files with predictions: what is read in the server and what is read apart from it follow the same rules."""

from __future__ import annotations

import asyncio
import io
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import holdfast as hf
from holdfast.data.schema import Kind
from holdfast.errors import InvalidParameter
from holdfast.guard.scoring import files
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.files import table_in
from holdfast.guard.scoring.predictions import predictions
from holdfast.server import submissions
from holdfast.server.settings import Settings
from holdfast.server.state import Server

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
    ("csv", "integer", "boolean", "id,prediction\n1,true\n\n2,false\n"),
    ("csv", "integer", "boolean", "id,prediction\n1,true\n2,false\n\n"),
    ("csv", "integer", "boolean", "id,prediction\n1,true,3\n"),
    ("csv", "integer", "boolean", "id,other,prediction\n1,2,true\n2,3\n"),
    ("csv", "integer", "boolean", "id,prediction,prediction\n1,true,false\n"),
    ("csv", "integer", "boolean", "id,id,prediction\n1,2,false\n"),
    ("csv", "integer", "boolean", "# mine\nid,prediction\n1,true\n"),
    ("csv", "text", "boolean", "id,prediction\n#1,true\n"),
    ("csv", "integer", "number", "id,prediction\n 1,2\n"),
    ("csv", "integer", "number", "id,prediction\n+1,+2\n"),
    ("csv", "integer", "number", "id,prediction\n1,inf\n"),
    ("csv", "text", "text", 'id,prediction\n"a"b,low\n'),
    ("csv", "text", "text", 'id,prediction\na"b,low\n'),
    ("csv", "text", "text", "\ufeffid,prediction\na,low\n"),
    ("csv", "text", "text", "id,prediction\ra,low\r"),
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
    return files.read(body, format_, "id", key, kind)


def apart(format_: str, key: Kind, kind: Kind, content: bytes, place: Path, most: int = 100) -> Any:
    import pyarrow as pa

    place.write_bytes(content)
    table = pa.ipc.open_stream(submissions._arrow(table_in(place, format_, "id", (key, kind), most))).read_all()
    return {"keys": submissions._column(table.column(0)), "predictions": submissions._column(table.column(1))}


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
    if "\n\n" in text or "# mine" in text or text.count("id") + text.count("prediction") > 2 or '"a"b' in text:
        assert said[0] == "refused"
    if (
        "#1" in text
        or "+1" in text
        or "\ufeff" in text
        or ", 0.25" in text
        or "01,True" in text
        or "1e-3" in text
        or '"" b' in text
        or '"a",' in text
    ):
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


def test_files_that_take_a_process_are_read_two_at_a_time_and_keep_no_question_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kilobyte of Parquet may unfold up to the limit of memory: analysts must not multiply that by the threads."""
    server = Server(Settings(folder=tmp_path / "server", threads=2))
    lock, inside, most, go = threading.Lock(), 0, 0, threading.Event()

    def slow(place: Path, *_: Any) -> str:
        nonlocal inside, most
        if place.suffix == ".parquet":
            with lock:
                inside += 1
                most = max(most, inside)
            go.wait(20)
            with lock:
                inside -= 1
        return place.name

    monkeypatch.setattr(submissions, "read_predictions", slow)
    files = [tmp_path / f"{i}.parquet" for i in range(6)]
    small = tmp_path / "small.csv"
    for file in (*files, small):
        file.write_bytes(b"x")

    async def main() -> None:
        given: Any = None
        waiting = [asyncio.create_task(submissions.read_on(server, f, "parquet", given, given, 5)) for f in files]
        async with asyncio.timeout(20):
            while inside < 2:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.1)  # a third one would begin now
        found = await asyncio.wait_for(submissions.read_on(server, small, "csv", given, given, 5), 10)
        assert found == small.name
        assert await asyncio.wait_for(server.work(lambda: 7), 10) == 7
        go.set()
        assert await asyncio.gather(*waiting) == [file.name for file in files]

    try:
        asyncio.run(main())
    finally:
        go.set()
        server.close()
    assert most == 2


def test_more_predictions_than_rows_could_have_are_refused_read_here_or_apart(tmp_path: Path) -> None:
    schema = hf.data.Schema.from_dict({"columns": [{"name": n, "kind": "integer"} for n in ("id", "y")]})
    board = Board.from_dict({"name": "b", "key": "id", "label": "y", "metric": "accuracy"})
    most = 4 * 5 + submissions._SPARE
    for size, right in ((most, True), (most + 1, False)):
        place = tmp_path / f"{size}.csv"
        place.write_text("id,prediction\n" + "".join(f"{i},{i % 2}\n" for i in range(size)))
        for settings in (Settings(folder=tmp_path, max_body=1 << 20), Settings(folder=tmp_path, max_body=1024)):
            if right:
                assert len(submissions.read_predictions(place, "csv", board, schema, 5, settings)["keys"]) == most
            else:
                with pytest.raises(InvalidParameter, match=f"at most {most}"):
                    submissions.read_predictions(place, "csv", board, schema, 5, settings)


def test_what_a_file_unfolds_to_does_not_fill_the_server(tmp_path: Path) -> None:
    """Texts that repeat are packed to nothing, and handed over they would be as long as they are."""
    place = tmp_path / "wide.parquet"
    pl.DataFrame({"id": [str(i) for i in range(40)], "prediction": ["x" * 100_000] * 40}).write_parquet(place)
    assert place.stat().st_size < 20_000
    schema = hf.data.Schema.from_dict({"columns": [{"name": n, "kind": "text"} for n in ("id", "y")]})
    board = Board.from_dict({"name": "b", "key": "id", "label": "y", "metric": "accuracy"})
    settings = Settings(folder=tmp_path, max_upload=1 << 20)
    with pytest.raises(InvalidParameter, match="bytes after decompression"):
        submissions.read_predictions(place, "parquet", board, schema, 40, settings)
    found = submissions.read_predictions(place, "parquet", board, schema, 40, Settings(folder=tmp_path))
    assert len(found["keys"]) == 40
