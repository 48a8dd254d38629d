"""The page of samples: what the server allows is registered there, the demo's rows once, and what is free forgotten."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.live import PEOPLE, Live, fresh_rows, running
from tests.server.pages.test_session import issue
from tests.server.pages.visiting import Visitor


@pytest.fixture(scope="module")
def allowing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server that allows a folder, a table, and a file that is not there."""
    import duckdb

    folder, secret = tmp_path_factory.mktemp("allowed"), tmp_path_factory.mktemp("kept-apart")
    (folder / "people.csv").write_text(PEOPLE)
    (secret / "people.csv").write_text(fresh_rows("outside"))
    with duckdb.connect(str(secret / "people.duckdb")) as made:
        made.execute("CREATE TABLE visits AS SELECT i AS id, i % 7 AS day FROM range(500) t(i)")
    sources = {"visits": f"{secret / 'people.duckdb'}#visits", "gone": str(secret / "gone.csv")}
    with running(allow_folder=(folder,), allow_source=sources, failures=10_000) as server:
        yield server


@pytest.fixture(scope="module")
def steward(allowing: Live) -> Iterator[Visitor]:
    with Visitor(allowing.url, allowing.steward_token) as visitor:
        yield visitor


def listed(live: Live) -> dict[str, dict[str, Any]]:
    with live.client() as api:
        return {one["name"]: one for one in api.get("/api/v1/samples").json()["samples"]}


@pytest.mark.parametrize(
    ("name", "place", "origin", "rows"),
    [("from a folder", "people.csv", "path", 2000), ("from a table", "visits", "source", 500)],
)
def test_what_is_allowed_is_registered_and_leads_to_its_guard(
    allowing: Live, steward: Visitor, name: str, place: str, origin: str, rows: int
) -> None:
    page = steward.fill("/samples/register", name=name, place=place, row_key="id")
    assert page.status_code == 200, page.text
    made = listed(allowing)[name]
    assert (made["origin"], made["n"], made["row_key"]) == (origin, rows, "id")
    assert page.url.path == "/guards/new"
    assert page.url.params["sample"] == made["id"]
    assert "kept-apart" not in steward.get("/samples").text + str(made), "where rows lie is not shown"
    again = steward.fill("/samples/register", name=name, place=place)
    assert again.status_code == 409
    assert "is called" in again.text
    assert listed(allowing)[name] == made


@pytest.mark.parametrize(
    ("name", "place", "status", "words"),
    [
        ("outside", "../kept-apart0/people.csv", 403, "not told to allow a file at that path"),
        ("nothing", "nothing.csv", 403, "not told to allow a file at that path"),
        ("empty", "", 403, "not told to allow a file at that path"),
        ("<b>", "people.csv", 422, "name must begin with a letter or digit"),
        ("gone", "gone", 503, "cannot be read"),
        ("key", "people.csv", 422, "row_key"),
    ],
)
def test_what_is_not_allowed_or_not_there_is_not_registered(
    allowing: Live, steward: Visitor, name: str, place: str, status: int, words: str
) -> None:
    before = listed(allowing)
    done = steward.fill("/samples/register", name=name, place=place, row_key="nobody" if name == "key" else "")
    assert done.status_code == status, done.text
    assert words.lower() in done.text.lower()
    assert "kept-apart" not in done.text
    assert listed(allowing) == before


def test_the_demo_rows_are_registered_once_and_not_at_all_where_they_cannot_be_stored(
    allowing: Live, steward: Visitor
) -> None:
    uploads = allowing.folder / "uploads"
    shutil.rmtree(uploads)
    failed = steward.fill("/samples/demo")
    assert failed.status_code == 503
    assert "could not be stored on the server; its disk may be full" in failed.text
    assert "demo customers" not in listed(allowing)
    uploads.mkdir()
    first, again = (steward.fill("/samples/demo") for _ in range(2))
    assert first.status_code == again.status_code == 200
    assert first.url.params["sample"] == again.url.params["sample"] == listed(allowing)["demo customers"]["id"]
    assert len(list(uploads.iterdir())) == 1


def test_a_free_sample_is_forgotten_and_a_guarded_one_stays(allowing: Live, steward: Visitor) -> None:
    free = allowing.sample("free", fresh_rows("free"))["id"]
    allowing.guard("guarded")
    kept = listed(allowing)["guarded"]["id"]
    page = steward.get("/samples").text
    assert f"/samples/{free}/remove" in page
    assert f"/samples/{kept}/remove" not in page
    done = steward.fill(f"/samples/{free}/remove")
    assert (done.status_code, done.url.path) == (200, "/samples")
    assert "free" not in listed(allowing)
    for identity, status, words in (
        (free, 404, "there is no such sample"),
        ("s_nothing", 404, "there is no such sample"),
        (kept, 409, "a guard stands before this sample"),
    ):
        refused = steward.fill(f"/samples/{identity}/remove")
        assert refused.status_code == status
        assert words in refused.text.lower()
    assert listed(allowing)["guarded"]["id"] == kept


def test_an_analyst_neither_registers_nor_forgets(allowing: Live) -> None:
    free = allowing.sample("not theirs", fresh_rows("not theirs"))["id"]
    before = listed(allowing)
    with Visitor(allowing.url, issue(allowing, "ann")["token"]) as ann:
        for address in ("/samples/register", "/samples/demo", f"/samples/{free}/remove"):
            assert ann.fill(address, name="x", place="people.csv").status_code == 403
    assert listed(allowing) == before
