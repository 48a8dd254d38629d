"""`holdfast test` on files of records: formats, declared categories, every pair of columns."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from holdfast.cli import count_input
from holdfast.errors import InvalidParameter, NotInstalled
from tests.cli.private_test_words import found, said


@pytest.fixture
def people(tmp_path: Path) -> tuple[Path, Path]:
    """The same records as CSV and as Parquet: colour and side depend on each other."""
    rng = np.random.default_rng(1)
    colour = rng.choice(["red", "green", "blue"], 4000, p=[0.5, 0.3, 0.2])
    side = np.where((colour == "red") ^ (rng.random(4000) < 0.3), "left", "right")
    frame = pl.DataFrame({"colour": colour, "side": side, "year": rng.integers(1994, 1996, 4000)})
    frame.write_csv(tmp_path / "people.csv")
    frame.write_parquet(tmp_path / "people.parquet")
    return tmp_path / "people.csv", tmp_path / "people.parquet"


def test_files(capsys: pytest.CaptureFixture[str], people: tuple[Path, Path]) -> None:
    for path in map(str, people):
        one = found(capsys, "gof", path, "--column", "colour", "--categories", "red,green,blue", "--rho", "1")
        assert one["n"] == 4000
        assert one["reject"] is True
        both = ["--columns", "colour,side", "--categories", "red,green,blue;left,right", "--rho", "1"]
        assert found(capsys, "independence", path, *both)["reject"] is True
        years = ["--columns", "year,side", "--categories", "1994,1995;left,right", "--epsilon", "1"]
        assert found(capsys, "independence", path, *years)["n"] == 4000
        assert found(capsys, "local-independence", path, *both[:-2], "--epsilon", "5")["n"] == 4000


def test_categories_are_declared_and_no_value_is_shown(
    capsys: pytest.CaptureFixture[str], people: tuple[Path, Path]
) -> None:
    for path in map(str, people):
        status, out, err = said(capsys, "gof", path, "--column", "colour", "--categories", "red,green", "--rho", "1")
        assert status == 2
        assert "declared categories only" in err
        assert "blue" not in out + err
        assert said(capsys, "gof", path, "--column", "colour", "--rho", "1")[0] == 2
        assert said(capsys, "gof", path, "--column", "shape", "--categories", "a,b", "--rho", "1")[0] == 2


def test_undeclared_values_count_in_a_declared_category(
    capsys: pytest.CaptureFixture[str], people: tuple[Path, Path], tmp_path: Path
) -> None:
    for path in map(str, people):  # blue is not declared, and no error tells that it occurs
        one = [path, "--column", "colour", "--categories", "red,rest", "--other", "rest"]
        assert found(capsys, "gof", *one, "--rho", "1")["n"] == 4000
        assert found(capsys, "local-gof", *one, "--epsilon", "5")["n"] == 4000
        both = [path, "--columns", "colour,side", "--categories", "red,rest;left,right", "--other", "rest;"]
        read = found(capsys, "independence", *both, "--rho", "1000")
        assert read["n"] == 4000
        assert read["reject"] is True
        assert found(capsys, "local-independence", *both, "--epsilon", "5")["n"] == 4000
        three = [path, "--columns", "colour,side", "--categories", "red,green,rest;left,others", "--other"]
        assert found(capsys, "gwas", *three, "rest;others", "--rho", "1")["n"] == 4000
    declared = tmp_path / "some.json"
    declared.write_text(json.dumps({"colour": ["red", "rest"], "side": ["left", "right"], "year": [1994, "rest"]}))
    words = ["all-pairs", str(people[0]), "--categories", str(declared), "--rho", "0.5", "--other"]
    assert found(capsys, *words, "rest")["n"] == 4000
    status, _, err = said(capsys, *words, "left")  # colour does not declare it, so blue is refused as ever
    assert status == 2
    assert "colour must have declared categories only" in err


def test_missing_values_count_in_a_declared_category(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("a,b\n" + "x,y\n" * 50 + "x,\n" * 50)
    words = ["gof", str(path), "--column", "b", "--categories", "y,unknown", "--rho", "1000"]
    assert said(capsys, *words)[0] == 2
    read = found(capsys, *words, "--other", "unknown")
    assert read["details"]["noisy_counts"] == pytest.approx([50, 50], abs=1)  # noise of deviation .03


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gof", "--column", "colour", "--categories", "red,green", "--other", "z"], "--other must be one of .* 'z'"),
        (["independence", "--columns", "colour,side", "--categories", "a,b;c,d", "--other", "b"], "2 categories"),
        (["independence", "--columns", "colour,side", "--categories", "a,b;c,d", "--other", ";"], "2 categories"),
        (["independence", "--columns", "colour,side", "--categories", "a,b;c,d", "--other", "c;b"], "'c'"),
        (["gof", "--counts", "5,9", "--other", "z"], "not both"),
        (["independence", "--counts", "5,9;9,5", "--other", "z"], "not both"),
    ],
)
def test_a_wrong_place_for_other_values(
    capsys: pytest.CaptureFixture[str], people: tuple[Path, Path], words: list[str], message: str
) -> None:
    import re

    file = [] if "--counts" in words else [str(people[0])]
    status, out, err = said(capsys, *words, *file, "--rho", "1")
    assert status == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert re.search(message, err), err


def test_files_that_are_not(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("nowhere.csv", "nowhere.parquet"):
        status, _, err = said(capsys, "gof", str(tmp_path / name), "--column", "a", "--categories", "x,y", "--rho", "1")
        assert status == 1
        assert err == f"holdfast: the file {tmp_path / name} does not exist or cannot be read\n"
    words = ["--categories", str(tmp_path / "nowhere.json"), "--rho", "1"]
    status, _, err = said(capsys, "all-pairs", "nowhere.csv", *words)
    assert status == 1
    assert err == f"holdfast: No such file or directory: {tmp_path / 'nowhere.json'}\n"
    for name, content in (("bad.parquet", b"secret"), ("bad.csv", b"a\n\xff\xfe\n")):
        path = tmp_path / name
        path.write_bytes(content)
        status, _, err = said(capsys, "gof", str(path), "--column", "a", "--categories", "x,y", "--rho", "1")
        assert status == 2
        assert "secret" not in err
    for content, why in (
        ("a,b\nx,y\nx\n", "line 3: there is 1 cell, and the header has 2 names"),
        ("a,b\nx,y\n\nx,y\n", "line 3: is blank"),
        ("a,b\nx,y\nx,x,y\n", "line 3: there are 3 cells"),
        ("b,b\nx,y\n", "columns 1 and 2 have the same"),
    ):
        (tmp_path / "odd.csv").write_text(content)
        words = ["gof", str(tmp_path / "odd.csv"), "--column", "b", "--categories", "x,y", "--other", "y", "--rho", "1"]
        status, _, err = said(capsys, *words)
        assert status == 2
        assert f"odd.csv, {why}" in err or why in err


def test_all_pairs(capsys: pytest.CaptureFixture[str], people: tuple[Path, Path], tmp_path: Path) -> None:
    declared = tmp_path / "categories.json"
    declared.write_text(
        json.dumps({"colour": ["red", "green", "blue"], "side": ["left", "right"], "year": [1994, 1995]})
    )
    for path in map(str, people):
        read = found(capsys, "all-pairs", path, "--categories", str(declared), "--rho", "0.5")
        assert read["n"] == 4000
        assert read["pairs_tested"] == 3
        assert read["spent"]["rho"] <= 0.5
        assert (read["pairs"][0]["first"], read["pairs"][0]["second"]) == ("colour", "side")
        assert read["pairs"][0]["reject"] is True
    both = [str(path) for path in people]
    status, out, _ = said(capsys, "all-pairs", *both, "--categories", str(declared), "--rho", "0.5", "--top", "2")
    assert status == 0
    assert "8000 records" in out
    assert "Holm over 3 pairs" in out
    assert "dependent" in out


@pytest.mark.parametrize("content", ["[]", "{", '{"colour": ["red"]}', '{"colour": ["red", "green", "blue"]}'])
def test_all_pairs_with_wrong_declarations(
    capsys: pytest.CaptureFixture[str], people: tuple[Path, Path], tmp_path: Path, content: str
) -> None:
    declared = tmp_path / "categories.json"
    declared.write_text(content)
    status, out, err = said(capsys, "all-pairs", str(people[0]), "--categories", str(declared), "--rho", "1")
    assert status == 2
    assert out == ""
    assert err.startswith("holdfast: ")


def test_all_pairs_with_a_rest_that_no_column_declares(
    capsys: pytest.CaptureFixture[str], people: tuple[Path, Path], tmp_path: Path
) -> None:
    declared = tmp_path / "categories.json"
    declared.write_text('{"colour": ["red", "green", "blue"], "side": ["left", "right"]}')
    words = ["all-pairs", str(people[0]), "--categories", str(declared), "--rho", "1", "--other", "none"]
    status, out, err = said(capsys, *words)
    assert (status, out) == (2, "")
    assert err == "holdfast: --other must be a declared category of some column, got 'none'\n"


@pytest.mark.parametrize(
    ("columns", "categories"),
    [("colour,side", "red,green"), ("colour,side,size", "a,b;c,d"), ("colour,side", "a,b;c,d;e,f")],
)
def test_a_table_has_two_columns_and_two_lists(
    capsys: pytest.CaptureFixture[str], people: tuple[Path, Path], columns: str, categories: str
) -> None:
    words = ["independence", str(people[0]), "--columns", columns, "--categories", categories, "--rho", "1"]
    status, out, err = said(capsys, *words)
    assert (status, out) == (2, "")
    assert "--columns must be two names, and --categories must be given twice, once per column" in err


def test_values_are_categories_as_they_are_written_or_print(tmp_path: Path) -> None:
    frame = pl.DataFrame({"n": [1, None, 3], "x": [0.5, 2.0, None], "b": [True, False, None], "t": ["01", None, "c"]})
    frame.write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("n,x,b,t\n1,0.50,True,01\n,2.0,False,\n3,,,c\n")
    printed = {"n": ["1", None, "3"], "x": ["0.5", "2.0", None], "b": ["True", "False", None], "t": ["01", None, "c"]}
    assert count_input.columns([tmp_path / "rows.parquet"], ["n", "x", "b", "t"]) == printed
    written = printed | {"x": ["0.50", "2.0", None]}
    assert count_input.columns([tmp_path / "rows.csv"], ["n", "x", "b", "t"]) == written
    both = count_input.columns([tmp_path / "rows.csv", tmp_path / "rows.parquet"], ["x"])
    assert both == {"x": written["x"] + printed["x"]}
    for name in ("rows.csv", "rows.parquet"):
        with pytest.raises(InvalidParameter, match="'nowhere'"):
            count_input.columns([tmp_path / name], ["n", "nowhere"])


def test_without_the_readers_the_extra_is_named(people: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    for path in people:
        with pytest.raises(NotInstalled, match=r"holdfast\[tables\]"):
            count_input.columns([path], ["colour"])
