"""`holdfast ask` as an analyst uses it: every kind of question, estimates, retries, refusals."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer

from holdfast.cli.main import build, run
from holdfast.guard.questions import Question

N = 4000


@pytest.fixture
def place(tmp_path: Path, capsys: Any) -> list[str]:
    """The two words that every question begins with: the ledger and the rows."""
    rows = tmp_path / "people.parquet"
    rng = np.random.default_rng(2)
    frame = {
        "age": rng.integers(18, 90, N),
        "sex": rng.choice(["f", "m"], N),
        "old": rng.random(N) < 0.3,
        "income": rng.random(N) * 100,
    }
    pl.DataFrame(frame).write_parquet(rows)
    ledger = str(tmp_path / "ledger.db")
    assert run(["guard", "open", ledger, str(rows), "--privacy", "pure-dp:0.5", "--spend", "pure-dp:0.05"]) == 0
    capsys.readouterr()
    return [ledger, str(rows)]


def said(capsys: Any) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("mean", ["age < 40"]),
        ("mean", ["income", "--low", "0", "--high", "100", "--default", "5", "--spend", "pure-dp:0.1"]),
        ("check", ["age < 40", "--guess", "0.3"]),
        ("check", ["age < 40", "--guess", "0.9", "--show", "bit"]),
        ("claim", ["age", "--at-least", "40", "--low", "0", "--high", "100"]),
        ("compare", ["age < 60", "age < 40", "--margin", "0.05"]),
        ("compare", ["age < 60", "age < 40", "--guess", "0.2"]),
        ("compare", ["age < 60", "age < 40"]),
        ("best", ["--candidate", "young=age < 40", "--candidate", "old=age > 60", "--guess", "young=0.3"]),
        ("validate", ["age > 17", "--at-least", "0.5"]),
        ("histogram", ["sex", "--categories", "f,m"]),
        ("histogram", ["age", "--edges", "18,40,65"]),
        ("select", ["--candidate", "young=age < 40", "--candidate", "old=age > 60"]),
        ("test", ["gof", "--column", "sex", "--categories", "f,m", "--p0", "0.5,0.5", "--allow-powerless"]),
        (
            "test",
            [
                "independence",
                "--column",
                "sex",
                "--column",
                "old",
                "--categories",
                "f,m",
                "--categories",
                "[true, false]",
                "--allow-powerless",
            ],
        ),
    ],
)
def test_every_kind(place: list[str], capsys: Any, kind: str, words: list[str]) -> None:
    whole = ["ask", kind, *place, *words]
    assert run([*whole, "--estimate", "--json"]) == 0
    assert said(capsys)["admitted"]
    assert run([*whole, "--json"]) == 0
    first = said(capsys)
    assert not first["repeated"]
    assert first["receipt"]["sequence"] == first["sequence"] == 2
    assert first["guarantee"]["theorem"]
    assert run(whole) == 0
    printed = capsys.readouterr().out
    assert "Stored answer, free" in printed
    assert "left (" not in printed, "what was left when it was stored is not what is left now"
    assert run([*whole, "--estimate"]) == 0


def test_what_null_means_is_said_in_words(tmp_path: Path, capsys: Any) -> None:
    rows, ledger = tmp_path / "gaps.parquet", str(tmp_path / "gaps.db")
    pl.DataFrame({"income": [None, 40.0, 50.0, 60.0] * 500, "sex": ["f", "m", None, "f"] * 500}).write_parquet(rows)
    assert run(["guard", "open", ledger, str(rows), "--privacy", "pure-dp:0.5", "--spend", "pure-dp:0.05"]) == 0
    assert "income number (nullable)" in capsys.readouterr().out
    place = [ledger, str(rows)]
    number = ["income", "--guess", "50", "--low", "0", "--high", "100"]
    assert run(["ask", "check", *place, *number]) == 2
    assert "--where-present (only the rows that have a value count)" in capsys.readouterr().err
    assert run(["ask", "check", *place, *number, "--where-present", "--json"]) == 0
    assert said(capsys)["passed"]
    number[2] = "37.5"
    assert run(["ask", "check", *place, *number, "--default", "0", "--json"]) == 0
    assert said(capsys)["passed"]
    cells = ["sex", "--categories", "f,m"]
    assert run(["ask", "histogram", *place, *cells]) == 2
    for words in (["--null-as", "other"], ["--null-as", "m"], ["--where-present"]):
        assert run(["ask", "histogram", *place, *cells, *words]) == 0
    test = ["gof", "--column", "sex", "--categories", "f,m", "--p0", "0.5,0.5"]
    assert run(["ask", "test", *place, *test]) == 2
    assert run(["ask", "test", *place, *test, "--null-as", "m", "--allow-powerless"]) == 0
    assert run(["ask", "validate", *place, "income > 1", "--at-least", "0.5", "--where-present"]) == 0


def test_a_key_is_paid_once(place: list[str], capsys: Any) -> None:
    words = ["ask", "mean", *place, "age < 40", "--key", "k1", "--json"]
    assert run(words) == 0
    first = said(capsys)
    assert run(words) == 0
    assert said(capsys)["value"] == first["value"]
    assert run(["ask", "mean", *place, "age < 41", "--key", "k1"]) == 3
    assert "key 'k1' was already used for another question" in capsys.readouterr().err


def test_questions_from_a_file_and_from_standard_input(
    place: list[str], tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [{"kind": "mean", "expression": "age < 30"}, {"kind": "check", "expression": "age < 40", "guess": 0.3}]
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(listed))
    assert run(["ask", "question", *place, str(path), "--key", "batch", "--json"]) == 0
    assert [one["sequence"] for one in said(capsys)["answers"]] == [2, 3]
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(listed[0])))
    assert run(["ask", "question", *place, "-", "--json"]) == 0
    assert said(capsys)["repeated"]
    path.write_text("{")
    assert run(["ask", "question", *place, str(path)]) == 2
    assert run(["ask", "question", *place, str(tmp_path / "none.json")]) == 1


def test_the_honest_no(place: list[str], capsys: Any) -> None:
    words = ["ask", "mean", *place, "age < 40", "--spend", "pure-dp:0.6"]
    assert run([*words, "--estimate", "--json"]) == 3
    captured = capsys.readouterr()
    assert not json.loads(captured.out)["admitted"]
    assert "refuses" in captured.err
    assert run(words) == 3
    assert "all analysts together" in capsys.readouterr().err
    assert run(["guard", "pause", place[0]]) == 0
    assert run(["ask", "mean", *place, "age < 40"]) == 3
    assert "paused" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mean", "age"], "low and high must be given"),
        (["mean", "(select 1)"], "expression"),
        (["mean", "age < 40", "--spend", "much"], "--spend"),
        (["claim", "age < 40"], "at_least or at_most"),
        (
            ["select", "--candidate", "age < 40", "--candidate", "=3"],
            "--candidate must be LABEL=EXPRESSION, got 'age < 40'",
        ),
        (["final", "--candidate", "old = age"], "did you mean 'NAME=old = age'? Nothing was spent"),
        (["final", "--candidate", "old=not old and age < 9"], "did you mean 'NAME=old=not old and age < 9'"),
        (["final", "--candidate", "age <= 30"], "would be the label 'age <' with the expression '30'"),
        (["best", "--candidate", "a == b", "--candidate", "c=old"], "would be the label 'a' with the expression"),
        (["validate", "age", "--at-least", "0.5"], "condition must be true or false in each row"),
        (["histogram", "age"], "categories or edges must be given for column 'age'"),
        (
            ["histogram", "sex", "--categories", "[f"],
            "--categories must be names with commas between them, or",
        ),
        (["check", "age < 40", "--guess", "2"], "guess"),
        (["check", "age < 40"], "--guess"),
    ],
)
def test_wrong_usage_spends_nothing(place: list[str], capsys: Any, words: list[str], message: str) -> None:
    assert run(["ask", words[0], *place, *words[1:]]) == 2
    assert message in capsys.readouterr().err
    assert run(["guard", "show", place[0], "--json"]) == 0
    assert said(capsys)["entries"] == 1


def test_what_is_not_there(place: list[str], tmp_path: Path, capsys: Any) -> None:
    assert run(["ask", "mean", str(tmp_path / "none.db"), place[1], "age < 40"]) == 1
    assert run(["ask", "mean", place[0], str(tmp_path / "none.parquet"), "age < 40"]) == 1
    other = tmp_path / "other.csv"
    other.write_text("age\n" + "\n".join(str(i) for i in range(50)))
    capsys.readouterr()
    assert run(["ask", "mean", place[0], str(other), "age < 40"]) == 2  # never opened, so it has no policy
    error = " ".join(capsys.readouterr().err.split())
    assert re.search(r"it has a guard of [\d,]+ rows \(age, \w+.*\), and none of these 50 rows \(age\)", error), error
    assert "was the file changed? Nothing was spent" in error


@pytest.mark.parametrize(
    "kind", ["mean", "check", "claim", "compare", "validate", "histogram", "select", "test", "question"]
)
def test_help(kind: str, capsys: Any) -> None:
    assert run(["ask", kind, "--help"]) == 0
    assert "--estimate" in capsys.readouterr().out


@pytest.mark.parametrize("spelled", ["0,1", "0, 1", "[0, 1]"])
def test_categories_of_whole_numbers_are_spelt_one_way_everywhere(
    place: list[str], tmp_path: Path, capsys: Any, spelled: str
) -> None:
    rows = tmp_path / "y.csv"
    rows.write_text("y,side,old\n" + "0,a,true\n1,b,false\n" * 10_000)
    ledger = str(tmp_path / "y.db")
    assert run(["guard", "open", ledger, str(rows), "--privacy", "pure-dp:0.02", "--spend", "pure-dp:0.006"]) == 0
    # The counts are 27 scales of the noise from this null, and 8 are enough: it is missed with probability below 1e-8.
    gof = ["ask", "test", ledger, str(rows), "gof", "--column", "y", "--categories", spelled, "--p0", "0.95,0.05"]
    assert run([*gof, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["details"]["rejected"] is True
    assert run(["ask", "histogram", ledger, str(rows), "y", "--categories", spelled, "--json"]) == 0
    assert set(said(capsys)["value"]) == {"0", "1", "other"}
    both = ["--column", "y", "--column", "old", "--categories", spelled, "--categories", "true,false"]
    assert run(["ask", "test", ledger, str(rows), "independence", *both, "--allow-powerless", "--json"]) == 0
    capsys.readouterr()
    counted = ["--column", "y", "--categories", spelled, "--epsilon", "1", "--p0", "0.7,0.3", "--json"]
    assert run(["test", "gof", str(rows), *counted]) == 0
    assert said(capsys)["reject"] is True
    table = ["test", "independence", str(rows), "--columns", "y,side", "--epsilon", "1", "--json"]
    assert run([*table, "--categories", spelled, "--categories", "a,b"]) == 0
    assert said(capsys)["reject"] is True
    assert run([*table, "--categories", "0,1;a,b"]) == 0


def test_categories_that_are_not_of_their_columns_kind(place: list[str], capsys: Any) -> None:
    assert run(["ask", "histogram", *place, "age", "--categories", "20,old"]) == 2
    assert "--categories must be whole numbers for a column of kind integer, got 'old'" in capsys.readouterr().err
    assert run(["ask", "histogram", *place, "old", "--categories", "true,maybe"]) == 2
    assert "--categories must be true or false for a column of kind boolean, got 'maybe'" in capsys.readouterr().err


def test_a_test_that_can_reject_nothing(place: list[str], capsys: Any) -> None:
    """Under a cap of 0.5 the p-value of 4,000 rows must reach 4e-73."""
    words = ["ask", "test", *place, "gof", "--column", "sex", "--categories", "f,m", "--p0", "0.5,0.5"]
    assert run([*words, "--estimate"]) == 3
    shown = capsys.readouterr()
    assert re.search(r"its p-value must reach +4.02e-73\n", shown.out)
    assert re.search(r"smallest it can give +about 7.36e-20\n", shown.out)
    assert "no, whatever the rows hold" in shown.out
    assert "this test could not reject" in shown.err
    assert run([*words, "--json"]) == 3
    assert "nothing was spent" in capsys.readouterr().err
    assert run([*words, "--allow-powerless", "--json"]) == 0
    assert said(capsys)["details"]["rejected"] is False
    assert run([*words, "--json"]) == 0
    assert said(capsys)["repeated"]


def _checked(place: list[str], capsys: Any) -> list[dict[str, Any]]:
    """Two checks, one of which fails."""
    found = []
    for words in (["age < 40", "--guess", "0.3"], ["old", "--guess", "0.9"]):
        assert run(["ask", "check", *place, *words, "--json"]) == 0
        found.append(said(capsys))
    assert [one["passed"] for one in found] == [True, False]
    return found


FINALISTS = ["--candidate", "young=age < 40", "--candidate", "old=old"]


@pytest.mark.parametrize("end", [["close"], ["final", *FINALISTS]])
def test_the_end_reveals_every_check(place: list[str], capsys: Any, end: list[str]) -> None:
    """With exact values, within what was shown before; and then nothing more is answered."""
    checks = _checked(place, capsys)
    rows = pl.read_parquet(place[1])
    exact = [float((rows["age"] < 40).mean()), float(rows["old"].mean())]
    assert run(["ask", end[0], *place, *end[1:], "--json"]) == 0
    revealed = said(capsys)["details"]["revealed"]
    for line, before, value in zip(revealed, checks, exact, strict=True):
        assert line["value"] == pytest.approx(value, abs=1e-12)
        assert before["interval"][0] <= line["interval"][0] <= value <= line["interval"][1] <= before["interval"][1]
    assert run(["ask", end[0], *place, *end[1:]]) == 0
    assert "Stored answer, free" in capsys.readouterr().out
    for words in (["check", "age < 50", "--guess", "0.4"], ["mean", "age < 50"], ["final", "--candidate", "a=old"]):
        assert run(["ask", words[0], *place, *words[1:]]) == 3
        assert "has shown exact values" in capsys.readouterr().err


def test_an_estimate_of_a_check_says_when_it_passes_and_what_a_failure_costs(place: list[str], capsys: Any) -> None:
    assert run(["ask", "check", *place, "age < 40", "--guess", "0.3", "--estimate"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"passes if +the rows give a value in \[0\.?\d*, 0\.\d+\]", shown), shown
    assert re.search(r"if it just fails +later intervals are \d+% wider", shown), shown


def test_an_estimate_and_an_end_show_what_each_label_stands_for(place: list[str], capsys: Any) -> None:
    """A column's own name is a good label for it, and so is any for a condition about it."""
    for words in (["--estimate"], []):
        assert run(["ask", "final", *place, *FINALISTS, "--candidate", "age=age >= 18 and old", *words]) == 0
        shown = capsys.readouterr().out
        assert re.search(r"candidate old +old", shown)
        assert re.search(r"candidate age +age >= 18 and old", shown)


@pytest.mark.parametrize(
    ("claims", "shown"),
    [
        ("intervals", r"young +0\.\d+ in \[0\.\d+, 0\.\d+\]"),
        ("winner", r"“young” is best with 0\.\d+\. The truth is between 0\.\d+[\s\S]*loss at most +0"),
        ("ranks", r"“young” is best [\s\S]*rank of old +1 to 2\n +rank of young +1 to 2"),
        ("winner=2,ranks=1", r"“young” is best with 0\.\d+\. The truth[\s\S]*rank of old +1 to 2"),
    ],
)
def test_a_final_shows_what_was_claimed(place: list[str], capsys: Any, claims: str, shown: str) -> None:
    _checked(place, capsys)
    assert run(["ask", "final", *place, *FINALISTS, "--claims", claims]) == 0
    told = capsys.readouterr().out
    assert re.search(shown, told), told
    assert re.search(r"n +4000", told)
    assert len(re.findall(r"entry \d exactly", told)) == 2


def test_a_final_names_what_can_be_claimed(place: list[str], capsys: Any) -> None:
    assert run(["ask", "final", *place, *FINALISTS, "--claims", "everything"]) == 2
    assert "claims must be one of intervals, winner, ranks" in capsys.readouterr().err
    assert run(["ask", "final", "--help"]) == 0
    assert "--claims [intervals|winner|ranks|CLAIM=WEIGHT,...]" in capsys.readouterr().out
    assert run(["ask", "close", *place]) == 0  # the refusal has changed nothing


def _commands(command: Any) -> Iterator[Any]:
    yield command
    for within in getattr(command, "commands", {}).values():
        yield from _commands(within)


def test_every_help_text_is_whole_sentences() -> None:
    """A help text that is cut ends in the middle of a sentence."""
    told: list[str | None] = [kind.summary() for kind in Question.kinds().values()]
    for command in _commands(typer.main.get_command(build())):
        told += [command.help, command.short_help, *(getattr(option, "help", None) for option in command.params)]
    cut = [text for text in told if text and not re.search(r"[.:]\)?( +\[default: [^]]*\])?$", text.strip())]
    assert len(told) > 500
    assert cut == []
    assert re.search("a corrected\n", Question.kinds()["check"].__doc__ or ""), "what a first line alone would be"
