"""`holdfast bound` as a person runs it: a real process."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

from holdfast.cli.main import run
from tests.bounds.test_registry import CONTRACT

Result = subprocess.CompletedProcess[str]


def holdfast(*words: str) -> Result:
    return subprocess.run([sys.executable, "-m", "holdfast", *words], capture_output=True, text=True, timeout=120)


def test_listing_has_every_contract_id() -> None:
    done = holdfast("bound", "--json")
    assert done.returncode == 0
    listed = json.loads(done.stdout)["theorems"]
    assert set(CONTRACT) <= {entry["id"] for entry in listed}
    for entry in listed:
        assert {"id", "theorem", "source", "conditions", "unit", "parameters"} <= set(entry)


def test_value_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = "bound max-information.pure-dp --epsilon 0.01 --n 1000 --beta 0.05 --scope any --json".split()
    assert run(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["value"] == pytest.approx(14.42695041, rel=1e-9)
    assert {"id", "value", "unit", "theorem", "conditions"} <= set(said)
    assert said["unit"] == "bits"


@pytest.mark.parametrize(("name", "rounds"), [("basic", 100), ("rogers", 147), ("whitehouse", 349), ("zcdp", 487)])
def test_filter_rounds_of_the_issue(name: str, rounds: int, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"bound filter.rounds --name {name} --epsilon 0.01 --budget-epsilon 1 --budget-delta 1e-6 --json".split()
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out)["value"] == rounds


def test_no_bound_is_infinity_and_success(capsys: pytest.CaptureFixture[str]) -> None:
    words = "bound max-information.approx-dp --epsilon 0.1 --delta 0.01 --n 100000 --beta 0.05 --json".split()
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out)["value"] == math.inf


def test_method_paper_differs(capsys: pytest.CaptureFixture[str]) -> None:
    words = "bound max-information.pure-dp --epsilon=0.02 --n=1000 --beta=0.01 --json".split()
    assert run(words) == 0
    best = json.loads(capsys.readouterr().out)["value"]
    assert run([*words, "--method", "paper"]) == 0
    printed = json.loads(capsys.readouterr().out)["value"]
    assert best < printed == pytest.approx(1.773648662, rel=1e-9)


def test_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bound composition.zcdp-to-dp --rho 0.1 --delta 1e-6".split()) == 0
    said = capsys.readouterr().out
    assert "2.141938928" in said
    assert "source" in said


@pytest.mark.parametrize(
    "words", ["bound", "bound --help", "bound filter.rounds --help", "bound filter.rounds --help --json"]
)
def test_help_and_listing_succeed(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words.split()) == 0
    assert capsys.readouterr().out.strip()


WRONG = {
    "negative epsilon": ("bound max-information.pure-dp --epsilon -1 --n 1000 --beta 0.05", "epsilon"),
    "delta of one": ("bound composition.zcdp-to-dp --rho 0.1 --delta 1", "delta"),
    "nan": ("bound composition.zcdp-to-dp --rho nan --delta 1e-6", "rho"),
    "a list": ("bound composition.zcdp-to-dp --rho 0.1,0.2 --delta 1e-6", "rho"),
    "a bracketed list": ("bound composition.zcdp-to-dp --rho [0.1] --delta 1e-6", "rho"),
    "unknown id": ("bound no.such", "no.such"),
    "unknown option": ("bound composition.zcdp-to-dp --rho 0.1 --sigma 2", "--sigma"),
    "missing value": ("bound composition.zcdp-to-dp --rho", "--rho"),
    "missing option": ("bound composition.zcdp-to-dp --rho 0.1", "delta"),
    "given twice": ("bound composition.zcdp-to-dp --rho 0.1 --rho 0.2 --delta 1e-6", "--rho"),
    "unknown choice": ("bound max-information.pure-dp --epsilon 1 --n 10 --beta 0.05 --scope all", "scope"),
    "fraction of a row": ("bound max-information.pure-dp --epsilon 1 --n 10.5 --beta 0.05", "n "),
    "unknown area": ("bound compositon", "composition"),
    "options of an area": ("bound composition --n 3", "composition"),
    "options before the id": ("bound --epsilon 1 composition.zcdp-to-dp", "before a theorem's id, got '--epsilon'"),
    "unknown command": ("frobnicate", "frobnicate"),
    "unknown root option": ("--frobnicate", "--frobnicate"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line_and_status_two(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, named = WRONG[case]
    assert run(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert named in said.err
    assert "Traceback" not in said.err


def test_wrong_input_in_a_real_process() -> None:
    done = holdfast("bound", "max-information.pure-dp", "--epsilon", "-1", "--n", "1000", "--beta", "0.05")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "holdfast: epsilon must be a number in [0, inf), got -1\n"


def test_one_area_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bound", "composition", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["theorems"]
    assert listed
    assert all(entry["id"].startswith("composition.") for entry in listed)


def test_narrow_and_wide_listings_keep_ids_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for columns in ("60", "100", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        assert run(["bound"]) == 0
        said = capsys.readouterr().out
        assert all(id.split(".")[0] in said for id in CONTRACT)
        for area in {id.split(".")[0] for id in CONTRACT}:
            assert run(["bound", area]) == 0
            listed = capsys.readouterr().out
            assert all(id in listed for id in CONTRACT if id.startswith(area + "."))
            said += listed
        assert max(len(line) for line in said.splitlines()) <= int(columns)
        assert not any(line != line.rstrip() for line in said.splitlines())


def test_a_closed_stream_is_no_traceback() -> None:
    line = f"{sys.executable} -m holdfast bound composition.zcdp --rhos 0.1 >&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr


def test_a_defect_is_one_line_and_status_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("row 17 is 0.25")

    monkeypatch.setattr("holdfast.cli.bound.lookup", broken)
    assert run(["bound", "filter.rounds"]) == 1
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said
    assert "row 17" not in said
    monkeypatch.setenv("HOLDFAST_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run(["bound", "filter.rounds"])


def test_defaults_are_listed_beside_the_tightest_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bound", "--defaults", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["forms"]
    assert all(row["excess"] == 0 for row in listed)
    (row, _) = (row for row in listed if row["theorem"] == "max-information.pure-dp")
    assert row["value"] == row["forms"]["best"] < row["forms"]["plus"] < row["forms"]["paper"]
    assert run(["bound", "--defaults", "interval.best"]) == 2
