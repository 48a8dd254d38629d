"""What `holdfast audit` is told: a wrong value ends with 2 and a line that names its option; right ones are kept."""

from __future__ import annotations

import csv
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.cli.audit import curator_of, groups_of, target_of
from holdfast.cli.main import run
from holdfast.coherence import Table, Target, curators
from holdfast.errors import InvalidParameter

ILL = ["--target", "ill=1", "--learner", "linkage", "--splits", "4"]
PRIVATE = ["--epsilon", "1", "--domain", "sex=1,2", "--domain", "ill=0,1"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    path = tmp_path / "people.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "age", "sex", "town", "ill"])
        for i in range(400):
            row = [i, int(rng.integers(20, 80)), int(rng.integers(1, 3)), "AB"[i % 2], int(rng.random() < 0.4)]
            writer.writerow(row)
    return path


def _audit(people: Path, *words: str) -> tuple[int, Path]:
    page = people.parent / "out" / "report.html"
    return run(["audit", str(people), "--out", str(page), *words]), page


def _refused(people: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    """The one line said; nothing was written."""
    status, page = _audit(people, *words)
    errors = capsys.readouterr().err
    assert (status, errors.count("\n")) == (2, 1), errors
    assert not page.parent.exists()
    assert "unforeseen" not in errors
    return errors


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--group", ""], "such as 'women: sex = 1', got ''"),
        (["--group", "women:"], "such as 'women: sex = 1', got 'women:'"),
        (["--group", ": sex = 2"], "such as 'women: sex = 1', got ': sex = 2'"),
        (
            ["--group", "a: sex = 1", "--group", "a: sex = 2"],
            "--group must have a different name for each group, and the name",
        ),
        (["--group", "ill = 1: sex = 1"], "--group must have a different name for each group, and the name"),
        (["--by", "age", "--bins", "age"], "--bins must be NAME=VALUE, got 'age'"),
        (["--by", "age", "--bins", "=40"], "--bins must be NAME=VALUE, got '=40'"),
        (["--by", "age", "--bins", "age= , "], "--bins must be NAME=VALUE, got 'age= , '"),
        (["--by", "age", "--bins", "age=40,old"], "--bins must be finite numbers, got 'old'"),
        (["--by", "age", "--bins", "age=nan"], "--bins must be finite numbers, got 'nan'"),
        (
            ["--by", "age", "--bins", "age=60,40"],
            "--bins must be increasing numbers, and those of column 'age' are not",
        ),
        (
            ["--by", "age", "--bins", "age=40,40"],
            "--bins must be increasing numbers, and those of column 'age' are not",
        ),
        (["--by", "age", "--bins", "age=40", "--bins", "age=50"], "--bins must be given once for each name"),
        (["--with", "columns"], "--with must be NAME=VALUE, got 'columns'"),
        (["--with", "columns=,"], "--with must be NAME=VALUE, got 'columns=,'"),
        (["--with", "columns=age", "--with", "columns=sex"], "--with must be given once for each name"),
        (["--with", "columns=age,years"], "--with: column 'years' is not in the table"),
        (
            ["--curator", "random-subset"],
            "curator 'random-subset' needs --with rows=NUMBER, where NUMBER is a whole number",
        ),
        (["--curator", "random-subset", "--with", "rows=many"], "needs --with rows=NUMBER"),
        (["--curator", "random-subset", "--with", "rows=\u00b2"], "needs --with rows=NUMBER"),
        (["--curator", "random-subset", "--with", "rows=0"], "needs --with rows=NUMBER"),
        (["--curator", "random-subset", "--with", "rows=-3"], "needs --with rows=NUMBER"),
        (
            ["--curator", "cart", "--with", "leaf=2.5"],
            "curator 'cart' needs --with leaf=NUMBER, where NUMBER is a whole number",
        ),
        (["--curator", "cart", "--with", "leaf=" + "9" * 5000], "curator 'cart' needs --with leaf=NUMBER"),
        (
            ["--curator", "cp {train} {release}", "--with", "rows=3"],
            "--with, --domain and --epsilon must be left out if --curator is a command",
        ),
        (
            ["--curator", "cp {train} {release}", "--epsilon", "1"],
            "--with, --domain and --epsilon must be left out if --curator is a command",
        ),
        (["--curator", "noisy-histogram", *PRIVATE[2:], "--epsilon", "one"], "--epsilon must be finite numbers"),
        (["--curator", "noisy-histogram", *PRIVATE[2:], "--epsilon", "inf"], "--epsilon must be finite numbers"),
        (["--curator", "noisy-histogram", *PRIVATE, "--domain", "age"], "--domain must be NAME=VALUE, got 'age'"),
        (["--curator", "noisy-histogram", *PRIVATE, "--domain", "age=,"], "--domain must be NAME=VALUE, got 'age=,'"),
        (["--curator", "noisy-histogram", *PRIVATE, "--domain", "sex=3"], "--domain must be given once for each name"),
        (["--curator", "noisy-histogram", *PRIVATE, "--domain", "pay=1"], "--domain: column 'pay' is not in the table"),
        (["--curator", "noisy-marginals", *PRIVATE, "--with", "marginals=sex+sex"], "must name a column only once"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_option(
    people: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert said in _refused(people, capsys, [*ILL, *words])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "ill>=many"], "--target must be a condition on one column"),
        (["--target", "ill>="], "--target: expression must be one expression of the row language"),
        (["--target", "==1"], "--target: expression must be one expression of the row language"),
        (["--target", "ill is missing"], "--target: write ill is null in place of ill is missing"),
        (["--target", "town == A"], "names A and town; write town = 'A' for a text"),
        (["--target", "ill=1", "--not-applicable", "9"], "--not-applicable must be a condition on"),
        (["--target", "town>=3"], "target: expression must compare values of the same kind"),
        (["--target", "ill=7"], "target 'ill = 7' must be true of some rows and false of others"),
        (["--not-applicable", "9"], "--not-applicable must be left out if no --target is given"),
        (["--where-present"], "--where-present must be left out if no --target is given"),
        (["--target", "ill=1", "--null-as", "2"], "--null-as must be true or false"),
        (["--curator", "count"], "curator 'count' needs --with rule=RULE"),
        (["--curator", "shuffled-column"], "curator 'shuffled-column' needs --with column=COLUMN"),
        (["--curator", "shuffled-column", "--with", "column=pay"], "--with: column 'pay' is not in the table"),
        (
            ["--curator", "private-naive-bayes", *PRIVATE],
            "curator 'private-naive-bayes' predicts a target and needs --target",
        ),
    ],
)
def test_a_wrong_target_or_none_where_one_is_needed(
    people: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert said in _refused(people, capsys, words)


@pytest.mark.parametrize(("name", "said"), [("rows.csv", "is not UTF-8"), ("rows.parquet", "could not be read")])
def test_a_file_of_another_kind_is_refused_and_its_bytes_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"secret,\xff\xfe\x00\n1,2\n")
    errors = _refused(path, capsys, [])
    assert f"FILE {name}" in errors
    assert said in errors
    assert "secret" not in errors


@pytest.mark.parametrize("text", ["ill>=1", "ill = 1", "ill=1", "ill = 1.0", "ill in (1, 2)"])
def test_a_target_is_the_same_rows_however_it_is_written(text: str) -> None:
    rows = Table.of({"ill": [0, 1, 1, 9]})
    found = target_of(text, ["ill = 9"])
    assert found is not None
    assert (found.truth(rows) & found.applies(rows)).tolist() == [False, True, True, False]
    assert found.applies(rows).tolist() == [True, True, True, False]


def test_values_are_numbers_where_they_can_be_and_text_where_not() -> None:
    found = curator_of("noisy-histogram", [], ["a=1,2.5,x y"], "0.5", 1.0, None)
    assert found.domains == {"a": [1, 2.5, "x y"]}
    assert found.epsilon == 0.5


@pytest.mark.parametrize(
    ("text", "options", "made"),
    [
        ("clear", ["columns=age, sex"], curators.Clear(["age", "sex"])),
        ("bootstrap", [], curators.Bootstrap()),
        ("random-subset", ["rows=30"], curators.RandomSubset(30)),
        ("cart", [], curators.Cart(5)),
        ("cart", ["leaf=9"], curators.Cart(9)),
        ("shuffled-column", [], curators.ShuffledColumn("ill")),
        ("count", ["rule=town = 'A'"], curators.Count("town = 'A'")),
        ("count", [], curators.Count("ill = 1")),
    ],
)
def test_a_curator_by_name_gets_its_options(text: str, options: list[str], made: Any) -> None:
    assert curator_of(text, options, [], None, 1.0, Target("ill = 1")) == made


def test_a_curator_of_a_library_gets_its_options_as_values(monkeypatch: pytest.MonkeyPatch) -> None:
    there = types.ModuleType("ctgan")
    there.__spec__ = types.SimpleNamespace(name="ctgan")  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "ctgan", there)
    made = curator_of("ctgan.CTGAN", ["epochs=3", "rate=0.5", "mode=fast"], [], None, 1.0, None)
    assert made == curators.Library("ctgan", "CTGAN", {"epochs": 3, "rate": 0.5, "mode": "fast"})


def test_groups_of_a_target_are_those_it_applies_to() -> None:
    rows = Table.of({"ill": [0, 1, 1, 9], "age": [10, 30, 50, 70]})
    plan = groups_of(["age >= 40"], ["age"], 1, ["age=20,60"], 1, target_of("ill=1", ["ill = 9", "ill < 0"]))
    found = plan.resolve(rows)
    members = {name: np.flatnonzero(found.mask(name)).tolist() for name in found.names}
    assert members == {
        "everyone": [0, 1, 2, 3],
        "ill = 1": [1, 2],
        "not ill = 1": [0],
        "age >= 40": [2, 3],
        "age < 20": [0],
        "age in [20, 60)": [1, 2],
        "age >= 60": [3],
    }


def test_options_are_refused_before_a_command_is_made() -> None:
    with pytest.raises(InvalidParameter, match="left out if --curator is a command"):
        curator_of("cp {train} {release}", [], ["sex=1"], None, 1.0, None)


def test_a_release_made_before_needs_its_columns_and_its_rows(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = people.with_name("other.csv")
    other.write_text("height,weight\n180,80\n")
    single = ["--target", "ill=1", "--inside"]
    for words, said in [
        ([*single, "sex"], "--inside must be given together with --release"),
        (
            [*single, "age", "--predictions", "sex"],
            "--inside must name a column that has 1 (row in the release), 0 (row held out)",
        ),
        ([*single, "sex", "--release", str(other)], "--release must be a file with some of the columns of FILE"),
        (
            [*single, "sex", "--release", str(people), "--predictions", "age"],
            "--inside must be given together with --release",
        ),
    ]:
        assert said in _refused(people, capsys, words)
    folder = people.with_name("report.html")
    folder.mkdir()
    assert run(["audit", str(people), "--out", str(folder)]) == 2
    assert "--out must be a file that ends in .html" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_who_was_inside_may_be_a_column_of_truth_values(people: Path) -> None:
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(9)
    where = rng.permutation(400) < 200
    found: list[dict[str, Any]] = []
    for place, column in enumerate((where, where.astype(int))):
        path = people.with_name(f"more{place}.parquet")
        guess = np.where(where, 0.9, -0.9) * np.random.default_rng(3).random(400)
        polars.DataFrame({"age": np.arange(400), "in": column, "guess": guess}).write_parquet(path)
        status, page = _audit(path, "--inside", "in", "--predictions", "guess")
        assert status == 1
        found.append(json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["findings"])
    assert found[0] == found[1]


def test_a_column_of_a_kind_that_has_no_values_is_left_out_and_the_report_says_so(people: Path) -> None:
    polars = pytest.importorskip("polars")
    path = people.with_suffix(".parquet")
    frame = polars.read_csv(people)
    frame.with_columns(took=polars.duration(days=1)).write_parquet(path)
    _, page = _audit(path, *ILL)
    setting = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["setting"]
    (left,) = [value for name, value in setting.items() if name.startswith("columns left out")]
    assert left.startswith("took (duration")
    assert "took" not in setting["lenses"]
