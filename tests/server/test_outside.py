"""What comes from outside a request's body: disks that are full, folders with links, times past the end of time."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from holdfast.errors import InvalidParameter
from holdfast.guard.policy import Policy
from holdfast.server import Settings, create_app
from holdfast.server.samples import Samples
from tests.server.live import PEOPLE, Live


@pytest.fixture
def steward(tmp_path: Path) -> Iterator[TestClient]:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    app = create_app(Settings(folder=tmp_path / "server", allow_folder=(allowed,)))
    token = app.state.server.tokens.issue_for("steward", "sam", days=1)
    yield TestClient(app, headers={"Authorization": f"Bearer {token}"}, raise_server_exceptions=False)
    app.state.server.close()


def test_a_folder_of_files_has_no_link_that_leads_out(steward: TestClient, tmp_path: Path) -> None:
    """A folder of Parquet files is one sample. A link inside of it is as good as a path."""
    import polars as pl

    rows = pl.DataFrame({"salary": [1, 2, 3]})
    for name in ("parts", "links", "inner"):
        (tmp_path / "allowed" / name).mkdir()
    rows.write_parquet(tmp_path / "secret.parquet")
    rows.write_parquet(tmp_path / "allowed" / "parts" / "1.parquet")
    (tmp_path / "allowed" / "links" / "1.parquet").symlink_to(tmp_path / "secret.parquet")
    (tmp_path / "allowed" / "inner" / "1.parquet").symlink_to(tmp_path / "allowed" / "parts" / "1.parquet")
    for path, status in (("parts", 201), ("links", 403), ("inner", 201), ("links/1.parquet", 403)):
        done = steward.post("/api/v1/samples/register", json={"name": path.replace("/", "-"), "path": path})
        assert done.status_code == status, (path, done.text)


@pytest.mark.parametrize("form", [False, True])
def test_a_disk_that_takes_no_file_is_said_and_nothing_stays(
    steward: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: bool
) -> None:
    full = tmp_path / "no such folder" / "rows.csv"  # writing there fails as on a disk that is full
    monkeypatch.setattr(Samples, "fresh_upload", lambda *_: full)
    if form:
        token = steward.headers.pop("authorization").removeprefix("Bearer ")
        page = steward.post("/sign-in", data={"token": token}).text
        mark = page.partition('name="csrf_token" value="')[2][:64]
        done = steward.post(
            "/samples", data={"csrf_token": mark, "name": "x"}, files={"file": ("x.csv", PEOPLE.encode())}
        )
        assert done.status_code == 503, done.text
        return
    done = steward.post(
        "/api/v1/samples", params={"name": "x"}, content=PEOPLE.encode(), headers={"Content-Type": "text/csv"}
    )
    assert (done.status_code, done.json()["code"]) == (503, "sample-unavailable"), done.text


def test_somebody_who_hangs_up_is_no_defect(live: Live) -> None:
    host, port = live.url.removeprefix("http://").split(":")
    before, earlier = set((live.folder / "uploads").iterdir()), len(live.logged().splitlines())
    with socket.create_connection((host, int(port)), timeout=10) as line:
        line.sendall(
            f"POST /api/v1/samples?name=gone HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {live.steward_token}\r\n"
            "Content-Type: text/csv\r\nContent-Length: 100000\r\n\r\na,b\n1,2\n".encode()
        )
        end = time.monotonic() + 60
        while set((live.folder / "uploads").iterdir()) == before:
            assert time.monotonic() < end, "nothing arrived"
            time.sleep(0.02)
    gone: list[dict[str, Any]] = []
    while not gone:  # the line comes when all is done
        assert time.monotonic() < end, "it is not in the log"
        time.sleep(0.02)
        logged = [json.loads(line) for line in live.logged().splitlines()[earlier:]]
        gone = [one for one in logged if one.get("status") == 499]
    assert set((live.folder / "uploads").iterdir()) == before, "nothing stays of what did not arrive"
    assert [one["route"] for one in gone] == ["/api/v1/samples"]
    assert {one["level"] for one in gone} == {"info"}
    assert not [one for one in logged if one.get("error") == "ClientDisconnect"]


@pytest.mark.parametrize("when", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2999-01-01T00:00:00Z"])
def test_times_past_the_end_of_time_are_refused(steward: TestClient, when: str) -> None:
    done = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "ann", "expires": when})
    assert (done.status_code, done.json()["code"]) == (422, "invalid-parameter"), done.text
    if "2999" not in when:
        with pytest.raises(InvalidParameter, match="expires must be a time"):
            Policy(expires=when)


def test_a_token_lives_ten_years_at_most(steward: TestClient) -> None:
    from datetime import UTC, datetime, timedelta

    tokens = steward.app.state.server.tokens  # type: ignore[attr-defined]
    tokens.issue("analyst", "ann", datetime.now(UTC) + timedelta(days=3649))
    with pytest.raises(InvalidParameter, match="3650 days"):
        tokens.issue("analyst", "ann", datetime.now(UTC) + timedelta(days=3651))


def test_settings_are_shown_without_passwords() -> None:
    settings = Settings(
        ledger="postgresql://bob:hunter2@db/holdfast", allow_source={"people": "postgresql://bob:hunter3@db/x#people"}
    )
    assert "hunter" not in repr(settings)
    assert "hunter" not in str(settings)
