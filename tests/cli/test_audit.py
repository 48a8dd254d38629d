"""`holdfast audit` on real files: curators that are clean, leak, crash and hang; what it writes; its exit status."""

from __future__ import annotations

import csv
import json
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from sklearn.neighbors import KNeighborsClassifier

from holdfast.cli.main import run
from holdfast.coherence.report import SECTIONS
from holdfast.errors import HoldfastError

#: The same release whatever half it gets: a curator that cannot leak.
CLEAN = r"printf 'id,age,sex,ill\n1,30,1,0\n2,40,2,1\n' > {release} # {train}"
FAST = ["--target", "ill=1", "--learner", "linkage", "--splits", "8"]


class Page(HTMLParser):
    """Sections, words and everything that could load something from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.words = ""
        self.style = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        named = dict(attrs)
        if tag == "section":
            self.sections.append(named["id"] or "")
        self.loads += [f"{name}={value}" for name, value in attrs if name in ("src", "href", "srcset", "xlink:href")]
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.words += data


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    path = tmp_path / "people.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "age", "sex", "ill"])
        for i in range(400):
            writer.writerow([i, int(rng.integers(20, 80)), int(rng.integers(1, 3)), int(rng.random() < 0.4)])
    return path


def _audit(people: Path, *words: str) -> tuple[int, Path]:
    page = people.parent / "out" / "report.html"
    return run(["audit", str(people), "--out", str(page), *words]), page


def _page(page: Path) -> Page:
    return Page(page.read_text(encoding="utf-8"))


def _numbers(page: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def test_a_leak_is_found_named_and_told_in_every_file(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, page = _audit(people, *FAST, "--curator", "cp {train} {release}", "--by", "sex")
    assert status == 1
    said = capsys.readouterr().out
    assert said.startswith("INCOHERENT: ")
    assert "ill = 1" in said
    assert str(page) in said
    shown, numbers = _page(page), _numbers(page)
    assert shown.open == []
    assert shown.sections == [key for key, _ in SECTIONS]
    assert numbers["outcome"] == "INCOHERENT"
    assert numbers["paragraph"] in shown.words
    assert not numbers["partial"]
    with open(page.with_suffix(".csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["group"] for row in rows] == [finding["group"] for finding in numbers["findings"]]
    for row, finding in zip(rows, numbers["findings"], strict=True):
        assert float(row["mean"]) == finding["mean"]
        assert float(row["floor"]) == finding["floor"]
        assert row["status"] == finding["status"]
        assert f"{finding['excess']:.3f}" in shown.words
    with open(page.with_name("report-splits.csv"), newline="") as file:
        long = list(csv.DictReader(file))
    assert len(long) == 8 * len(rows)
    for finding in numbers["findings"]:
        found = [float(row["distance"]) for row in long if row["group"] == finding["group"]]
        assert np.mean(found) == pytest.approx(finding["mean"])
        assert {float(row["floor"]) for row in long if row["group"] == finding["group"]} == {finding["floor"]}


def test_the_page_loads_nothing_and_runs_nothing(people: Path) -> None:
    _, page = _audit(people, *FAST)
    shown = _page(page)
    assert shown.loads == []
    assert not shown.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    text = page.read_text(encoding="utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in shown.style
    assert shown.style.count("url(") == 0


def test_no_evidence_is_success_and_never_called_safe(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, page = _audit(people, *FAST, "--curator", CLEAN, "--lens", "street=age,sex", "--alpha", "0.5")
    assert status == 0, capsys.readouterr()
    said = capsys.readouterr().out
    assert said.startswith("NO EVIDENCE: ")
    numbers = _numbers(page)
    assert numbers["outcome"] == "NO EVIDENCE"
    assert " is safe" not in numbers["paragraph"]
    assert "That a release is safe." in _page(page).words


def test_a_crashing_curator_gives_a_partial_report_and_no_pass(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, page = _audit(people, *FAST, "--curator", "echo secret'-'row >&2; exit 9 # {train} {release}")
    assert status == 3
    said = capsys.readouterr()
    assert "PARTIAL" in said.out
    assert "status 9" in said.out
    shown = _page(page)
    assert "This report is partial." in shown.words
    assert "status 9" in shown.words
    assert shown.sections == [key for key, _ in SECTIONS]
    for path in page.parent.iterdir():
        assert "secret-row" not in path.read_text()
    assert "secret-row" not in said.out + said.err


def test_one_crash_marks_the_report_partial_and_keeps_the_finding(people: Path) -> None:
    once = f"test -e {people.parent}/seen && cp {{train}} {{release}}; touch {people.parent}/seen"
    status, page = _audit(people, *FAST, "--curator", once)
    numbers = _numbers(page)
    assert numbers["partial"]
    assert len(numbers["failures"]) == 1
    assert (status, numbers["outcome"]) == (1, "INCOHERENT")
    assert "INCOHERENT, PARTIAL" in _page(page).words


def test_a_partial_pass_is_no_pass(people: Path) -> None:
    once = f"test -e {people.parent}/seen && {CLEAN}\ntouch {people.parent}/seen"
    words = [*FAST, "--curator", once, "--lens", "street=age,sex", "--alpha", "0.5"]
    status, page = _audit(people, *words)
    assert _numbers(page)["partial"]
    assert status == 3


def test_a_command_that_is_not_found_says_where_it_ran(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people.with_name("generator.py").write_text("")
    status, _ = _audit(people, *FAST, "--curator", "./generator.py {train} {release}")
    assert status == 3
    assert "no such program; it runs in an empty folder of its own" in capsys.readouterr().out


def test_a_release_that_is_no_table_is_said_to_be_none(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _ = _audit(people, *FAST, "--curator", "count")
    assert status == 3
    assert "a report that is a table of rows" in capsys.readouterr().out
    status, page = _audit(people, "--curator", "shuffled-column", "--with", "column=sex", "--splits", "8")
    assert status == 0
    assert _numbers(page)["setting"]["lenses"] == "everything released (sex)"


def test_a_hanging_curator_is_ended(people: Path) -> None:
    status, page = _audit(people, *FAST, "--curator", "sleep 60; cp {train} {release}", "--time-limit", "0.2")
    assert status == 3
    assert "ran past its limit of 0.2 s" in _page(page).words
    assert {failure["kind"] for failure in _numbers(page)["failures"]} == {"curator-hung", "not-run"}


def test_a_hanging_learner_is_ended(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KNeighborsClassifier, "fit", lambda self, x, y: time.sleep(60))
    words = ["--target", "ill=1", "--learner", "nearest-neighbour", "--splits", "1", "--learner-time-limit", "0.3"]
    status, page = _audit(people, *words)
    assert status == 3
    assert "the learner ran past its limit of 0.3 s and was ended" in _page(page).words
    assert _numbers(page)["failures"][0]["kind"] == "learner-hung"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", "race"], "column 'race' is not in the table"),
        (["--group", "old: years > 60"], "column 'years' is not in the table"),
        (["--group", "old"], "column 'old' is not in the table"),
        (["--lens", "a=age,ill"], "must not show the target column"),
        (["--target", "ill"], "a condition must be true or false for each row"),
        (["--target", "illness=1"], "column 'illness' is not in the table"),
        (["--curator", "nothing"], "--curator must be one of clear"),
        (["--curator", "cp {train} x"], "{release}"),
        (["--curator", "noisy-histogram"], "needs --epsilon, and --domain"),
        (["--curator", "clear", "--with", "leaf=3"], "which has no option 'leaf'"),
        (["--curator", "clear", "--epsilon", "1"], "adds no noise"),
        (["--curator", "sdv.CTGAN"], "needs the library 'sdv', which is not installed here"),
        (["--group", "women: sex in {2}"], "write sex in (2) in place of sex in {2}"),
        (["--by", "sex", "--bins", "age=40"], "add --by age"),
        (["--learner", "oracle"], "learner must be one of"),
        (["--learner", "sklearn.nothing.Here"], "cannot be imported"),
        (["--learner", "sklearn.linear_model.LinearRegression"], "must be a classifier"),
        (
            ["--learner", "linkage", "--learner", "linkage"],
            "--learner must name different learners, and one learner is named twice",
        ),
        (["--alpha", "3"], "--alpha must be"),
        (["--splits", "0"], "--splits must be"),
        (["--seed", "-1"], "--seed must be"),
        (["--workers", "0"], "--workers must be"),
        (["--workers", "300"], "--workers must be"),
        (["--beta", "1.5"], "--beta must be"),
        (["--splits", "many"], "--splits"),
        (["--learner-time-limit", "0"], "--learner-time-limit must be"),
        (["--release", "x.csv"], "need --inside"),
        (["--inside", "sex", "--release", "x.csv", "--curator", "cart"], "--curator must be left out with --inside"),
        (["--min-size", "5"], "--min-size must be at least as large as --min-cell, which is"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_wrong_usage_ends_with_2_and_writes_nothing(
    people: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    given = {"--target": [], "--splits": [], "--learner": FAST[:2], "--inside": FAST[:2]}.get(words[0], FAST)
    status, page = _audit(people, *given, *words)
    errors = capsys.readouterr().err
    assert (status, errors.count("\n")) == (2, 1), errors
    assert said in errors
    assert not page.exists()


def test_wrong_files(people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", str(tmp_path / "none.csv")]) == 2
    assert "there is no file at" in capsys.readouterr().err
    assert run(["audit", str(people), "--out", str(tmp_path / "report.txt")]) == 2
    assert "must end in .html" in capsys.readouterr().err
    assert run(["audit", str(people), "--out", str(people / "x" / "report.html")]) == 2
    assert "written to" in capsys.readouterr().err


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), HoldfastError("it failed"), KeyError("x")])
def test_a_failure_ends_with_1_and_writes_no_report(
    people: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("holdfast.cli.audit._run", fails)
    status, page = _audit(people, *FAST)
    assert (status, page.exists()) == (1, False)
    assert capsys.readouterr().err.startswith("holdfast: ")


@pytest.mark.parametrize("row", ["39,Private,77516,13", "A11 6 A34 A43", "39;Private;77516"])
def test_a_file_without_a_header_is_refused_and_its_first_row_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{row}\n" * 3)
    assert run(["audit", str(path)]) == 2
    errors = capsys.readouterr().err
    assert "header line" in errors
    assert not any(value in errors for value in ("77516", "A34", "Private"))


def test_names_that_are_years_are_names(tmp_path: Path) -> None:
    path = tmp_path / "years.csv"
    path.write_text("person,2019,2020\n" + "".join(f"{i},{i % 3},{i % 5}\n" for i in range(400)))
    assert run(["audit", str(path), "--splits", "4", "--out", str(tmp_path / "r.html")]) == 1


def _with_columns(people: Path, scale: float) -> Path:
    """The same people with who was in a release, drawn at random, and predictions that follow it."""
    rng = np.random.default_rng(9)
    with open(people, newline="") as file:
        rows = list(csv.reader(file))
    path = people.with_name("more.csv")
    where = rng.permutation(400) < 200
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*rows[0], "released", "guess"])
        for row, one in zip(rows[1:], where, strict=True):
            writer.writerow([*row, int(one), scale * (0.9 if one else -0.9) * rng.random()])
    with open(people.with_name("release.csv"), "w", newline="") as file:
        csv.writer(file).writerows([rows[0], *(row for row, one in zip(rows[1:], where, strict=True) if one)])
    return path


def test_the_report_never_overwrites_what_it_reads(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = people.read_bytes()
    other = people.with_name("other-splits.csv")
    other.write_bytes(before)
    same = ["audit", str(people), *FAST]
    assert run([*same, "--out", str(people.with_suffix(".html"))]) == 2
    assert "which the audit reads" in capsys.readouterr().err
    single = ["--release", str(other), "--inside", "sex", "--out", str(people.with_name("other.html"))]
    assert run([*same, *single]) == 2
    linked = people.with_name("linked.csv")
    linked.symlink_to(people)
    assert run([*same, "--out", str(linked.with_suffix(".html"))]) == 2
    assert people.read_bytes() == other.read_bytes() == before
    assert not list(people.parent.glob("*.html"))


def test_a_release_already_made_is_judged_as_one_split(people: Path) -> None:
    more = _with_columns(people, 1.0)
    release = str(people.with_name("release.csv"))
    status, page = _audit(
        more, "--target", "ill=1", "--inside", "released", "--release", release, "--learner", "linkage"
    )
    numbers = _numbers(page)
    assert (status, numbers["mode"], numbers["outcome"]) == (1, "single", "LEAK")
    assert numbers["splits"] == 1
    assert numbers["curves"] == []
    words = _page(page).words
    assert "uniformly random" in words
    assert "one split and no probability" in words


def test_predictions_already_made(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, page = _audit(_with_columns(people, 1.0), "--inside", "released", "--predictions", "guess")
    assert status == 1
    assert _numbers(page)["cases"][0]["learner"] == "column guess"
    capsys.readouterr()
    status, _ = _audit(_with_columns(people, 3.0), "--inside", "released", "--predictions", "guess")
    assert status == 2
    said = capsys.readouterr().err
    assert "--predictions 'guess'" in said
    assert "must lie in [-1, 1]" in said


def test_one_json_object_with_the_files(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, page = _audit(people, *FAST, "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["exit_status"], found.pop("files")["html"]) == (status, str(page))
    assert found == _numbers(page)


def test_the_same_numbers_for_any_number_of_workers(people: Path) -> None:
    _, page = _audit(people, *FAST)
    first = _numbers(page)
    _audit(people, *FAST, "--workers", "3")
    assert _numbers(page) == first


def test_names_from_users_are_text(people: Path) -> None:
    name = "<script>alert(1)</script>&\"'"
    status, page = _audit(people, *FAST, "--group", f"{name}: sex = 1", "--lens", "<b>=id")
    assert status == 1
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<b>" not in text
    assert name in _page(page).words


def test_parquet(people: Path) -> None:
    path = people.with_suffix(".parquet")
    polars.read_csv(people).write_parquet(path)
    _, page = _audit(people, *FAST)
    first = _numbers(page)
    _audit(path, *FAST)
    assert _numbers(page)["findings"] == first["findings"]


def test_private_curators_by_name(people: Path) -> None:
    domains = ["--domain", "sex=1,2", "--domain", "ill=0,1", "--epsilon", "1"]
    for name in ("noisy-histogram", "noisy-marginals", "private-naive-bayes"):
        status, page = _audit(people, *FAST, "--curator", name, *domains, "--alpha", "0.5")
        found = _numbers(page)
        assert not found["partial"]
        assert status in (0, 1)
        assert found["setting"]["lenses"] == "everything released but the target (sex)"
