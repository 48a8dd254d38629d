"""Practice rows: the same questions at no cost, marked, and made from what is public alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.cli.main import run
from holdfast.data.schema import Schema
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.guard import Guard, Policy
from holdfast.guard.guard import PRACTICE, practice_guard

N = 4000
COLUMNS: dict[str, Any] = {"age": {"low": 18, "high": 90}, "sex": {"categories": ["f", "m"]}}
POLICY = Policy(questions=6, privacy=PureDP(0.4), spend=PureDP(0.2), columns=COLUMNS)


def rows(value: int) -> dict[str, list[Any]]:
    return {
        "age": [value] * N,
        "sex": ["f"] * N,
        "gap": [None, 0.5] * (N // 2),
        "member": [True] * N,
        "town": ["x"] * N,
    }


def test_practice_spends_nothing_and_is_marked() -> None:
    guard = Guard.open(None, hf.data.table(rows(20)), POLICY)
    practice = guard.practice()
    answer = practice.ask(hf.guard.mean("age"))
    assert answer.details["practice"] is True
    assert not answer.guarantee.certified
    assert answer.guarantee.assumption == PRACTICE
    assert answer.interval[0] < 54 < answer.interval[1]
    assert practice.sql("select sex, avg(age) from t group by sex").answers[0].details["practice"] is True
    assert guard.remaining()["total"] == {"questions": 6, "epsilon": 0.4}
    assert practice.remaining()["total"]["questions"] == 4


def test_practice_rows_do_not_depend_on_the_rows() -> None:
    found = []
    for value in (20, 80):
        practice = Guard.open(None, hf.data.table(rows(value)), POLICY).practice()
        found.append(practice.ask(hf.guard.check("age", guess=20)).interval)
        assert practice.dataset
    assert found[0] == found[1]


def test_practice_refuses_what_the_guard_refuses() -> None:
    practice = Guard.open(None, hf.data.table(rows(20)), POLICY).practice()
    with pytest.raises(InvalidParameter, match="null"):
        practice.ask(hf.guard.mean("gap", low=0, high=1))
    with pytest.raises(BudgetExhausted):
        practice.ask(hf.guard.mean("age", spend=PureDP(0.5)))


def test_every_kind_of_column_is_made() -> None:
    kinds = {"a": "number null", "b": "integer", "c": "text not null", "d": "boolean null"}
    schema = Schema(kinds | {"born": "date not null", "seen": "timestamp", "at": "timestamptz not null"})
    practice = practice_guard(schema, Policy(questions=9), 1000)
    for condition in ("born > date '1800-01-01'", "at < timestamptz '2100-01-01 00:00:00+00:00'"):
        assert practice.ask(hf.guard.check(condition, guess=1.0)).passed
    assert practice.ask(hf.guard.check("hour(seen) < 12", guess=0.5, where_present=True)).passed
    assert practice.ask(hf.guard.check("a > 0.5", guess=0.5, where_present=True)).passed
    assert practice.ask(hf.guard.check("coalesce(b, 0) >= 0", guess=1.0)).passed
    assert practice.describe()["n"] == 1000


def test_practice_from_the_command_line(tmp_path: Path, capsys: Any) -> None:
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "sex"], *([30, "f"] for _ in range(N))])
    policy = {"questions": 5, "columns": COLUMNS}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    at = [str(tmp_path / "ledger.db"), str(tmp_path / "rows.csv")]
    assert run(["guard", "open", *at, "--policy", str(tmp_path / "policy.json")]) == 0
    capsys.readouterr()
    assert run(["ask", "check", *at, "age", "--guess", "54", "--practice"]) == 0
    assert "PRACTICE" in capsys.readouterr().out
    assert run(["ask", "check", *at, "age", "--guess", "54", "--practice", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["details"]["practice"] is True
    assert run(["guard", "show", at[0], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["progress"]["answered"] == 0
