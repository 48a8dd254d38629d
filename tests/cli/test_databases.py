"""`holdfast guard open` and `ask` on tables of databases, and with declared columns."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run


@pytest.fixture
def address(tmp_path: Path) -> str:
    path = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table people (age integer, pay real, town text)")
        held = [(20 + at % 60, 100.0 * at, "a" if at % 3 else None) for at in range(2000)]
        connection.executemany("insert into people values (?, ?, ?)", held)
        connection.commit()
    return f"sqlite://{path}"


def said(capsys: Any) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_table_is_opened_and_asked_with_its_declared_columns(address: str, tmp_path: Path, capsys: Any) -> None:
    ledger = str(tmp_path / "ledger.db")
    words = ["--table", "people", "--schema", "age integer, pay number not null", "--questions", "50", "--json"]
    assert run(["guard", "open", ledger, address, *words]) == 0
    opened = said(capsys)
    assert [(one["name"], one["kind"]) for one in opened["schema"]["columns"]] == [
        ("age", "integer"),
        ("pay", "number"),
    ]
    assert run(["ask", "check", ledger, f"{address}#people", "age > 49", "--guess", "0.5", "--json"]) == 0
    assert said(capsys)["passed"] is True
    assert run(["ask", "check", ledger, f"{address}#people", "town = 'a'", "--guess", "0.5"]) == 2
    assert "town" in capsys.readouterr().err
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as connection:
        connection.execute("update people set pay = pay + 1 where age = 30")
        connection.commit()
    assert run(["ask", "check", ledger, f"{address}#people", "age > 48", "--guess", "0.5"]) != 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--schema", "age blob"], "--schema must be columns with their types, such as"),
        (["--schema", "height number", "--table", "people"], "schema must name columns of the source, got 'height'"),
        ([], "table must be the name of the table with the rows in the database"),
        (["--table", "nobody"], "or it has no table nobody that this user may see"),
        (["--engine", "duckdb", "--table", "people"], "engine must be ibis for this source, got 'duckdb'"),
    ],
)
def test_what_is_refused(words: list[str], problem: str, address: str, tmp_path: Path, capsys: Any) -> None:
    assert run(["guard", "open", str(tmp_path / "ledger.db"), address, *words, "--questions", "5"]) in (1, 2)
    assert problem in " ".join(capsys.readouterr().err.split())


def test_one_table_is_named_once(address: str, tmp_path: Path, capsys: Any) -> None:
    words = ["guard", "open", str(tmp_path / "ledger.db"), f"{address}#people", "--table", "others"]
    assert run(words) == 2
    assert "--table must be left out, because the address names the table 'people' after its #" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_server_is_told_no_table(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert run(["guard", "open", "https://holdfast.example.org", str(tmp_path / "a.csv"), "--table", "people"]) == 2
    assert "--engine, --table and --schema must be left out with a server" in " ".join(capsys.readouterr().err.split())
