"""The register of samples: files that move with their folder, rows that stay while they are guarded, and leftovers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import InvalidParameter, SampleUnavailable
from holdfast.guard.guard import Guard
from holdfast.server import samples
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem
from holdfast.server.records import GUARDS
from holdfast.server.running import first_token
from holdfast.server.settings import Settings
from holdfast.server.state import Server

ROWS = "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(200))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(Settings(folder=tmp_path / "here"))
    yield made
    made.close()


def upload(server: Server, name: str, rows: str = ROWS) -> dict[str, Any]:
    place = server.samples.fresh_upload("csv")
    place.write_text(rows)
    return server.samples.add(name, "upload", str(place))


def test_uploads_move_with_their_folder(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines that share a folder may have it under different names, and a relative name depends on where one is."""
    made = upload(server, "people")
    server.close()
    (tmp_path / "here").rename(tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    moved = Server(Settings(folder=Path("there")))
    with moved.samples.open(made["id"]) as rows:
        assert rows.n == 200
    moved.samples.remove(made["id"])
    assert not list((tmp_path / "there" / "uploads").iterdir())
    moved.close()


def test_an_uploads_record_leads_nowhere_else(server: Server, tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text(ROWS)
    assert server.samples.resolve("upload", str(outside))[0] == str(server.settings.uploads / "outside.csv")


def test_a_sample_that_is_forgotten_meanwhile_gets_no_guard(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made = upload(server, "people")
    real = Guard.open

    def slow(*args: Any, **kwargs: Any) -> Guard:
        guard = real(*args, **kwargs)
        server.samples.remove(made["id"])
        return guard

    monkeypatch.setattr(Guard, "open", slow)
    with pytest.raises(Problem, match="not-found"):
        server.guards.create("people", made["id"], {"questions": 5})
    assert server.guards.rows() == []
    monkeypatch.undo()
    again = upload(server, "people")
    server.guards.create("people", again["id"], {"questions": 5})
    with pytest.raises(Problem, match="ledger-conflict"):
        server.samples.remove(again["id"])
    assert [one["name"] for one in server.samples.list()] == ["people"]


@pytest.mark.parametrize("meanwhile", ["taken", "given up"])
def test_a_sample_whose_name_or_file_goes_while_its_rows_are_read_is_not_registered(
    server: Server, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    real, begun = samples.examine, []

    def slow(place: str, *rest: Any) -> dict[str, Any]:
        found = real(place, *rest)
        if not begun:
            begun.append(place)
            upload(server, "people") if meanwhile == "taken" else Path(place).unlink()
        return found

    monkeypatch.setattr(samples, "examine", slow)
    with pytest.raises(Problem, match="name-taken" if meanwhile == "taken" else "timed-out"):
        upload(server, "people")
    assert len(server.samples.list()) == (1 if meanwhile == "taken" else 0)


def test_a_guard_whose_name_is_taken_meanwhile_is_not_made(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = upload(server, "first"), upload(server, "second", ROWS + "7,7\n")
    real, begun = Guard.open, []

    def slow(*args: Any, **kwargs: Any) -> Guard:
        guard = real(*args, **kwargs)
        if not begun:
            begun.append(guard)
            server.guards.create("people", second["id"], {"questions": 5})
        return guard

    monkeypatch.setattr(Guard, "open", slow)
    with pytest.raises(Problem, match="name-taken") as refused:
        server.guards.create("people", first["id"], {"questions": 5})
    assert refused.value.detail == "a guard of that name, or of these rows, was made just now"
    assert [(row["name"], row["sample"]) for row in server.guards.rows()] == [("people", second["id"])]


def test_a_guard_whose_record_names_other_rows_is_not_opened(server: Server, tmp_path: Path) -> None:
    guard = server.guards.create("people", upload(server, "people")["id"], {"questions": 5})["id"]
    assert server.records.change(GUARDS, guard, dataset="another")
    server.close()
    again = Server(Settings(folder=tmp_path / "here"))
    try:
        with pytest.raises(SampleUnavailable, match="the data set no longer has the rows with which it was registered"):
            again.guards.guard(guard, Caller("1", "steward", "sam"))
    finally:
        again.close()


def test_what_is_wrong_with_a_file_is_said_to_the_steward_alone(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"^the file, line 203: there is 1 cell, and the header has 2 names$"):
        upload(server, "people", ROWS + "7,7\n7\n")
    with pytest.raises(InvalidParameter, match=r"^the file must have a name for every column, and column 1 has none"):
        upload(server, "people", "," + ROWS)
    made = upload(server, "people")
    Path(server.samples.resolve("upload", server.samples.row(made["id"])["place"])[0]).write_text(ROWS + "7\n")
    with pytest.raises(SampleUnavailable) as said:
        server.samples.open(made["id"])
    assert (
        str(said.value) == "the file of the data set is missing, or no longer has the rows with which it was registered"
    )


def test_leftovers_of_a_crash_are_deleted_and_nothing_else(tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path / "server")
    server = Server(settings)
    kept = Path(server.samples.resolve("upload", server.samples.row(upload(server, "people")["id"])["place"])[0])
    half, fresh = server.samples.fresh_upload("csv"), server.samples.fresh_upload("parquet")
    for path in (half, fresh):
        path.write_text("rows of somebody")
    long_ago = time.time() - 100_000
    for path in (half, kept):
        os.utime(path, (long_ago, long_ago))
    server.close()
    assert first_token(settings) is not None
    assert set(settings.uploads.iterdir()) == {kept, fresh}, "one that is still being written stays"
