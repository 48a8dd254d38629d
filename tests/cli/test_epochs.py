"""`holdfast guard extend` and `holdfast ask --epoch`: epochs on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
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
    assert "of this guard was opened, and this process does not have its rows; open" in capsys.readouterr().err
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


def csv(path: Path, first: int, last: int, day: str = "2026-01-{:02d}", names: str = "k,day,x") -> str:
    """Rows whose days are texts to whoever does not declare them, and that have a column which is not declared."""
    rows = [{"k": f"k{i}", "day": day.format(i % 28 + 1), "x": f"{(i * 37 % 100) / 100}"} for i in range(first, last)]
    lines = [",".join(row[name] for name in names.split(",")) + f",{i}" for i, row in enumerate(rows)]
    path.write_text("\n".join([f"{names},spare", *lines]) + "\n")
    return str(path)


def test_new_rows_are_read_as_the_guard_declares_them(tmp_path: Path, capsys: Any) -> None:
    """Before, days were texts again, a column too many was refused, and so was another order of columns."""
    ledger = str(tmp_path / "days.db")
    january = csv(tmp_path / "january.csv", 0, 300)
    declared = ["--schema", "k text, day date, x number not null"]
    assert run(["guard", "open", ledger, january, "--questions", "20", "--row-key", "k", *declared]) == 0
    february = csv(tmp_path / "february.csv", 300, 600, names="x,k,day")
    assert run(["guard", "extend", ledger, february, "--row-key", "k", "--rows", january]) == 0
    march = csv(tmp_path / "march.csv", 600, 900)
    assert run(["guard", "extend", ledger, march, "--row-key", "k", *declared]) == 0
    capsys.readouterr()
    question = ["day < date '2026-01-15'", "--guess", "0.5", "--json"]
    assert run(["ask", "check", ledger, march, *question]) == 0
    assert json.loads(capsys.readouterr().out)["passed"]
    assert run(["ask", "check", ledger, march, *question, "--epoch", "all", "--rows", january, "--rows", february]) == 0
    assert json.loads(capsys.readouterr().out)["details"]["rows"] == [300, 300, 300]
    wrong = csv(tmp_path / "wrong.csv", 900, 1000, day="day {}")
    assert run(["guard", "extend", ledger, wrong, "--row-key", "k", *declared[:1], "k text, day text, x number"]) == 2
    assert "column 'day' is of kind date in the guard, and of kind text in new_rows" in capsys.readouterr().err
    short = csv(tmp_path / "short.csv", 900, 1000, names="k,day")
    assert run(["guard", "extend", ledger, short, "--row-key", "k"]) == 2
    assert "column 'x' (number) is missing" in " ".join(capsys.readouterr().err.split())
    assert run(["guard", "extend", "http://127.0.0.1:1", short, "--schema", "k text"]) == 2
    assert "--engine, --table and --schema must be left out with a server" in capsys.readouterr().err


def test_the_table_of_a_database_extends_a_guard(tmp_path: Path, capsys: Any) -> None:
    ledger, january = str(tmp_path / "l.db"), csv(tmp_path / "january.csv", 0, 300)
    declared = ["--schema", "k text, day date, x number"]
    assert run(["guard", "open", ledger, january, "--questions", "20", "--row-key", "k", *declared]) == 0
    february = csv(tmp_path / "february.csv", 300, 600)
    database = tmp_path / "rows.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"create table february as select * from read_csv('{february}')")
    again = ["guard", "extend", ledger, str(database), "--row-key", "k", "--table", "february", "--engine", "duckdb"]
    assert run([*again, "--json"]) == 0
    capsys.readouterr()
    assert run(["ask", "check", ledger, f"{database}#february", "x < 0.5", "--guess", "0.5"]) == 0


def test_a_refused_extension_does_not_hinder_the_next(tmp_path: Path, ledger: str, capsys: Any) -> None:
    pl.DataFrame({"right": [True], "item": ["0-7"]}).write_parquet(tmp_path / "old.parquet")
    pl.DataFrame({"wrong": [True], "item": ["2-7"]}).write_parquet(tmp_path / "other.parquet")
    for file, status in (("old", 3), ("other", 2)):
        assert run(["guard", "extend", ledger, str(tmp_path / f"{file}.parquet"), "--row-key", "item"]) == status
    assert run(["guard", "extend", ledger, month(tmp_path, 1), "--row-key", "item"]) == 0


def test_rows_are_compared_with_the_file_that_the_ledger_remembers(tmp_path: Path, capsys: Any) -> None:
    ledger, january = str(tmp_path / "l.db"), csv(tmp_path / "january.csv", 0, 6000)
    assert run(["guard", "open", ledger, january, "--questions", "20", "--row-key", "k"]) == 0
    extend = ["guard", "extend", ledger]
    assert run([*extend, csv(tmp_path / "old.csv", 5990, 7000), "--row-key", "k"]) == 3
    assert "10 of their row keys (k) are in epoch 1" in " ".join(capsys.readouterr().err.split())
    Path(january).rename(tmp_path / "moved.csv")
    assert run([*extend, csv(tmp_path / "old.csv", 5000, 7000), "--row-key", "k"]) == 3
    assert "at least" in capsys.readouterr().err
    assert run([*extend, csv(tmp_path / "new.csv", 6000, 7000), "--row-key", "k"]) == 0
    found = capsys.readouterr()
    assert "The rows of epoch 1 were not at hand" in " ".join((found.out + found.err).split())
    csv(tmp_path / "january.csv", 0, 6000)
    assert run([*extend, csv(tmp_path / "next.csv", 7000, 8000), "--row-key", "k", "--json"]) == 0
    assert "notes" not in json.loads(capsys.readouterr().out)
