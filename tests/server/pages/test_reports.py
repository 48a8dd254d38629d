"""Audit reports on the pages: uploading, publishing, reading, deleting; texts of a report are texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.server.live import Live
from tests.server.pages.test_session import issue
from tests.server.pages.visiting import Visitor
from tests.server.test_reports import NASTY, file_of, nasty_file


@pytest.fixture(scope="module")
def steward(live: Live) -> Iterator[Visitor]:
    with Visitor(live.url, live.steward_token) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def reader(live: Live) -> Iterator[Visitor]:
    with Visitor(live.url, issue(live, "page reader")["token"]) as visitor:
        yield visitor


def up(who: Visitor, name: str, body: bytes, file: str = "audit.json", **more: str) -> httpx.Response:
    return who.post("/reports", data={"csrf_token": who.csrf_token, "name": name} | more, files={"file": (file, body)})


def test_from_upload_to_deletion(steward: Visitor, reader: Visitor) -> None:
    page = up(steward, "pages", file_of("people of May"), "../../etc/passwd")
    assert page.status_code == 200
    at = page.url.path
    assert re.fullmatch(r"/reports/r_[0-9a-f]{16}", at)
    assert "people of May" in page.text
    assert "Only stewards see it." in page.text
    assert reader.get(at).status_code == 404
    assert at not in reader.get("/reports").text
    assert "All analysts can read it" in steward.fill(f"{at}/publish").text
    seen = reader.get(at)
    assert "Read the whole report" in seen.text
    assert "Steward's acts" not in seen.text.replace("&#39;", "'")
    assert at in reader.get("/reports").text
    full = reader.get(f"{at}/full")
    assert "sandbox" in full.headers["content-security-policy"]
    assert "form-action 'none'" in full.headers["content-security-policy"]
    kept = reader.get(f"{at}/file")
    assert kept.content == file_of("people of May")
    assert kept.headers["content-disposition"].startswith('attachment; filename="report-r_')
    for act in ("publish", "withdraw", "delete"):
        assert reader.fill(f"{at}/{act}", sure="yes").status_code == 403
    assert up(reader, "mine", file_of()).status_code == 403
    assert steward.post(f"{at}/withdraw", data={"csrf_token": "0" * 64}).status_code == 403
    assert "Only stewards see it." in steward.fill(f"{at}/withdraw").text
    assert steward.fill(f"{at}/delete").status_code == 422, "a box says that it is meant"
    assert steward.get(at).status_code == 200
    assert at not in steward.fill(f"{at}/delete", sure="yes").text
    assert steward.get(at).status_code == 404
    assert steward.fill(f"{at}/nothing").status_code == 404


def test_published_at_once(steward: Visitor, reader: Visitor) -> None:
    at = up(steward, "at once", file_of(), publish="yes").url.path
    assert reader.get(at).status_code == 200


def test_wrong_files_are_said_on_the_page(steward: Visitor) -> None:
    for name, body, status, words in (
        ("a", b"{", 400, "cannot be read"),
        ("a", b"{}", 422, "must have the members that"),
        ("a", b"", 422, "Choose the .json file"),
        ("<b>", file_of(), 422, "Name must begin"),
        ("a", b"<!doctype html><script>alert(1)</script>", 400, "cannot be read"),
        ("a", b" " * ((8 << 20) + 1), 413, "at most"),
    ):
        done = up(steward, name, body)
        assert done.status_code == status, (name, body[:20])
        assert words in done.text
        assert "<script>alert" not in done.text


def test_texts_of_a_report_are_texts(steward: Visitor) -> None:
    page = up(steward, "nasty page", nasty_file())
    assert page.status_code == 200
    for text in (page.text, steward.get("/reports").text):
        assert NASTY not in text
        assert "<img" not in text
        assert "&lt;script&gt;alert(1)" in text
    assert page.text.count("{{7*7}}") >= 3, "no text is a template"
