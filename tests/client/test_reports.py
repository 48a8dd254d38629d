"""Audit reports over the client and the command line: from `holdfast audit` to what an analyst reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.client import NotAllowed
from holdfast.coherence.report import html, read
from holdfast.errors import HoldfastError, InvalidParameter
from tests.server.live import Live
from tests.server.test_reports import file_of


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes."""
    folder = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(2)
    lines = [f"{i},{rng.integers(1, 3)},{rng.integers(0, 2)}" for i in range(400)]
    (folder / "people.csv").write_text("id,sex,ill\n" + "\n".join(lines) + "\n")
    page = folder / "May release.html"
    words = ["--target", "ill=1", "--curator", "clear", "--splits", "6", "--seed", "1", "--out", str(page)]
    assert run(["audit", str(folder / "people.csv"), *words]) in (0, 1, 2, 3)
    return page


def test_what_an_audit_wrote_is_read_by_an_analyst(
    live: Live, audit: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", live.steward_token)
    file = audit.with_suffix(".json")
    capsys.readouterr()
    assert run(["report", "upload", live.url, str(file), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["name"] == "May release"
    assert run(["report", "upload", live.url, str(file), "--publish"]) == 0, "again is the same"
    assert "every analyst" in capsys.readouterr().out
    with hf.connect(live.url, live.steward_token) as steward, live.analyst("reading") as client:
        token = client.headers["Authorization"].removeprefix("Bearer ")
        with hf.connect(live.url, token) as analyst:
            assert [one["id"] for one in analyst.reports()] == [made["id"]]
            assert html(read(analyst.report(made["id"]))) == audit.read_text(encoding="utf-8")
            with pytest.raises(NotAllowed):
                analyst.upload_report("mine", file)
            with pytest.raises(NotAllowed):
                analyst.remove_report(made["id"])
            assert steward.publish_report(made["id"], False)["published"] is None
            assert analyst.reports() == []
        assert run(["report", "list", live.url]) == 0
        assert "May release" in capsys.readouterr().out
        steward.remove_report(made["id"])
        assert made["id"] not in str(steward.reports())


def test_wrong_files_and_addresses(
    live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", live.steward_token)
    (tmp_path / "x.json").write_bytes(file_of(alpha=7))
    assert run(["report", "upload", live.url, str(tmp_path / "x.json")]) == 2
    assert "alpha must be a number from" in capsys.readouterr().err
    assert run(["report", "upload", "ledger.db", str(tmp_path / "x.json")]) == 2
    assert run(["report", "upload", live.url, str(tmp_path / "no.json")]) == 1
    with hf.connect(live.url, live.steward_token) as steward:
        with pytest.raises(InvalidParameter, match=r"the \.json file that `holdfast audit` wrote"):
            steward.upload_report("page", tmp_path / "x.html")
        with pytest.raises(InvalidParameter, match="must be an id"):
            steward.remove_report("../tokens")
        (tmp_path / "x.json").write_bytes(b"{")
        with pytest.raises(HoldfastError):
            steward.upload_report("broken", tmp_path / "x.json")
