"""`holdfast guard extend` and `holdfast ask --epoch`: epochs on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from holdfast.cli.main import run


def month(folder: Path, number: int) -> str:
    path = folder / f"month-{number}.parquet"
    right = np.random.default_rng(number).random(800) < 0.75
    pl.DataFrame({"right": right, "item": [f"{number}-{i}" for i in range(800)]}).write_parquet(path)
    return str(path)


@pytest.fixture
def ledger(tmp_path: Path, capsys: Any) -> str:
    path = str(tmp_path / "ledger.db")
    assert run(["guard", "open", path, month(tmp_path, 0), "--questions", "20", "--row-key", "item"]) == 0
    capsys.readouterr()
    return path


def test_extend_and_ask_one_epoch_or_all(tmp_path: Path, ledger: str, capsys: Any) -> None:
    first, second = month(tmp_path, 0), month(tmp_path, 1)
    assert run(["guard", "extend", ledger, second, "--row-key", "item", "--rows", first, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["epoch_number"], found["n"], found["remaining"]) == (2, 800, {"questions": 20})
    check = ["right", "--guess", "0.75", "--json"]
    assert run(["ask", "check", ledger, second, *check]) == 0
    assert json.loads(capsys.readouterr().out)["details"] == {}
    assert run(["ask", "check", ledger, first, *check]) == 1
    assert "epoch 2 was opened and this process does not have its rows" in capsys.readouterr().err
    assert run(["ask", "check", ledger, first, *check, "--epoch", "1"]) == 0
    capsys.readouterr()
    assert run(["ask", "check", ledger, second, *check, "--epoch", "all", "--rows", first]) == 0
    assert json.loads(capsys.readouterr().out)["details"] == {"epochs": 2, "rows": [800, 800]}
    assert run(["ask", "check", ledger, second, *check, "--epoch", "all", "--estimate", "--rows", first]) == 0
    assert json.loads(capsys.readouterr().out)["repeated"]
    assert run(["guard", "list", ledger]) == 0
    assert run(["guard", "show", ledger, "--dataset", found["dataset"][:12]]) == 0
    assert "epoch" in capsys.readouterr().out
    assert run(["verify", ledger]) == 0


def test_what_is_wrong(tmp_path: Path, ledger: str, capsys: Any) -> None:
    first, second = month(tmp_path, 0), month(tmp_path, 1)
    assert run(["guard", "extend", ledger, first, "--row-key", "item"]) == 3
    assert "these are the rows of epoch 1" in capsys.readouterr().err
    pl.DataFrame({"right": [True], "item": ["0-7"]}).write_parquet(tmp_path / "old.parquet")
    assert run(["guard", "extend", ledger, str(tmp_path / "old.parquet"), "--row-key", "item"]) == 3
    assert "1 of their row keys (item) is in epoch 1 already: 0-7" in capsys.readouterr().err
    assert run(["guard", "extend", ledger, second, "--row-key", "item", "--name", "x"]) == 2
    assert "--name must be left out with a ledger" in capsys.readouterr().err
    assert run(["ask", "check", ledger, first, "right", "--guess", "0.75", "--epoch", "two"]) == 2
    assert "epoch must be a whole number from 1, or 'all', got 'two'" in capsys.readouterr().err
    assert run(["ask", "check", ledger, first, "right", "--guess", "0.75", "--epoch", "2"]) == 2
    assert "epoch must be at most 1" in capsys.readouterr().err
    assert run(["guard", "extend", "http://127.0.0.1:1", second, "--rows", first]) == 2
    assert "--rows must be left out with a server" in capsys.readouterr().err
