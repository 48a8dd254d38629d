"""The how-to pages whose commands form one story: every command runs, in the order of the page."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from holdfast.cli.main import run

ROOT = Path(__file__).parent.parent.parent


def blocks(page: str, kind: str) -> list[str]:
    """The blocks of one kind on a page, those in lists included."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return [re.sub(r"(?m)^ +", "", found) for found in re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)]


def test_a_leaderboard_is_moved_from_its_policy_to_the_verified_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (policy,) = blocks("howto/move-a-leaderboard.md", "json")
    Path("policy.json").write_text(policy)
    assert json.loads(policy)["reserve"], "without one there is no final, and a policy cannot get one later"
    Path("labels.csv").write_text("id,y\n" + "".join(f"{i},{i % 2}\n" for i in range(3000)))
    Path("predictions.csv").write_text(
        "id,prediction\n" + "".join(f"{i},{i % 2 if i % 5 else 1}\n" for i in range(3000))
    )
    lines = [line for block in blocks("howto/move-a-leaderboard.md", "sh") for line in block.splitlines() if line]
    assert len(lines) >= 6
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "holdfast"
        assert run(words) == 0, (line, capsys.readouterr().err)
    assert json.loads(Path("result.json").read_text())["places"][0]["label"] == "ann"
    assert "fit each other" in capsys.readouterr().out
