"""A defect of ours: the caller learns that there is one and its number, the log where it is, and nobody its words."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from typer.testing import CliRunner

from holdfast.cli.main import build
from holdfast.cli.main import run as holdfast
from holdfast.errors import HoldfastError
from holdfast.server import Settings, create_app
from holdfast.server.auth.tokens import caller_of
from holdfast.server.http import Problem, problem_of
from holdfast.server.observability import JSONLines, hide
from holdfast.server.running import first_token, to_environment


def test_a_defect_says_nothing_about_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(Settings(folder=tmp_path / "server"))
    server = app.state.server
    token = server.tokens.issue_for("steward", "sam", 1)

    def fail() -> None:
        raise RuntimeError("row 42 is zanzibar")

    monkeypatch.setattr(server.samples, "list", fail)
    with caplog.at_level(logging.INFO, "holdfast.server"):
        client = TestClient(app, headers={"Authorization": f"Bearer {token}"})
        done = client.get("/api/v1/samples")
    assert (done.status_code, done.json()["code"]) == (500, "internal-error")
    lines = [json.loads(JSONLines().format(record)) for record in caplog.records]
    said = done.text + json.dumps(lines)
    assert "zanzibar" not in said
    defect = next(line for line in lines if line["event"] == "unforeseen")
    assert (defect["error"], defect["request_id"]) == ("RuntimeError", done.json()["request_id"])
    assert defect["where"][-1].endswith(" fail")
    server.close()


def test_an_error_of_a_kind_that_is_not_foreseen_keeps_its_words_to_itself() -> None:
    found = problem_of(HoldfastError("row 42 is zanzibar"))
    assert (found.status, found.code) == (500, "internal-error")
    assert found.detail == "an unforeseen error; nothing was released"


def test_a_logged_error_says_where_it_was_and_not_what_it_said() -> None:
    try:
        raise RuntimeError("row 42 is zanzibar")
    except RuntimeError:
        facts = logging.LogRecord("holdfast", logging.ERROR, __file__, 1, "failed", None, sys.exc_info())
    line = JSONLines().format(facts)
    assert "zanzibar" not in line
    said = json.loads(line)
    assert (said["event"], said["level"], said["error"]) == ("failed", "error", "RuntimeError")
    assert said["where"][-1].endswith("test_a_logged_error_says_where_it_was_and_not_what_it_said")


def test_a_request_that_no_door_has_checked_has_no_caller() -> None:
    with pytest.raises(Problem, match="unauthenticated"):
        caller_of(Request({"type": "http", "state": {"caller": "somebody"}}))


def test_parts_of_tokens_are_hidden() -> None:
    token = "hf_" + "ab" * 8 + "_" + "cd" * 32
    for text in (token, token[:-5], token + "x", f"/guards/{token}/ask", token[:20]):
        assert "cd" not in hide(text).replace("/ask", "")


def test_settings_reach_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(
        folder=tmp_path,
        allow_folder=(tmp_path, tmp_path / "b"),
        allow_source={"a": "x.duckdb#t"},
        workers=3,
        signing_key=tmp_path / "k",
    )
    for name, value in to_environment(settings).items():
        monkeypatch.setenv(name, value)
    assert Settings() == settings


def test_the_first_steward_is_made_once(tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path / "server")
    first = first_token(settings)
    assert first is not None
    assert first_token(settings) is None
    assert first_token(settings, another=True) not in (None, first)
    assert (tmp_path / "server").stat().st_mode & 0o077 == 0, "the folder is its owner's"


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["--port", "70000"], "port"),
        (["--allow-source", "people"], "NAME=PLACE"),
        (["--ledger", "mysql://x", "--folder", str(tmp_path)], "postgresql://"),
    ):
        assert holdfast(["serve", *arguments]) == 2
        assert words in capsys.readouterr().err
    said = CliRunner().invoke(build(), ["serve", "--help"])
    assert "--workers" in said.output
