"""What `holdfast serve` prints before it serves."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli import serve
from holdfast.server import Settings

TOKEN = "hf_" + "0123456789abcdef" + "_" + 4 * "0123456789abcdef"


@pytest.mark.parametrize("columns", [200, 80, 40])
def test_the_token_is_printed_whole(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is shown once: folded at the edge of the terminal, it could not be copied."""
    monkeypatch.setenv("COLUMNS", str(columns))
    serve._show(Settings(), TOKEN, None, False)
    assert TOKEN in capsys.readouterr().out.splitlines()


def test_a_token_in_a_file_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    serve._show(Settings(), TOKEN, Path("token.txt"), False)
    told = capsys.readouterr().out
    assert "token.txt" in told
    assert TOKEN not in told
