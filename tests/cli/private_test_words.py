"""What `holdfast test` says to a line of words, as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.cli.main import run

S4 = "1/2,1/6,1/6,1/6"


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run(["test", *words])
    out = capsys.readouterr()
    return status, out.out, out.err


def found(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    code, out, err = said(capsys, *words, "--json")
    assert code == status, err
    read: dict[str, Any] = json.loads(out)
    assert "NaN" not in out
    return read
