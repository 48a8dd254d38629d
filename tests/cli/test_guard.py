"""`holdfast guard` as a steward uses it: exit status, words and JSON."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from holdfast.cli.main import run
from holdfast.guard.ledger import open_store
from tests.guard.earlier import opened_earlier


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    rng = np.random.default_rng(2)
    pl.DataFrame({"age": rng.integers(18, 90, 3000), "sex": rng.choice(["f", "m"], 3000)}).write_parquet(path)
    return path


@pytest.fixture
def ledger(tmp_path: Path, rows: Path, capsys: Any) -> str:
    path = str(tmp_path / "ledger.db")
    assert run(["guard", "open", path, str(rows), "--privacy", "pure-dp:0.1", "--spend", "pure-dp:0.01"]) == 0
    capsys.readouterr()
    return path


def said(capsys: Any) -> Any:
    return json.loads(capsys.readouterr().out)


def test_open_says_what_is_guarded(tmp_path: Path, rows: Path, capsys: Any) -> None:
    path = str(tmp_path / "new.db")
    words = ["guard", "open", path, str(rows), "--questions", "50", "--failures", "3", "--confidence", "0.9"]
    assert run([*words, "--analyst", "ann=0.5", "--analyst", "bo=1", "--expires", "2099-01-01", "--json"]) == 0
    found = said(capsys)
    assert (found["n"], found["status"], found["policy"]["questions"]) == (3000, "open", 50)
    assert found["policy"]["analysts"] == {"ann": 0.5, "bo": 1.0}
    assert run(["guard", "open", path, str(rows)]) == 0  # again: it keeps its policy
    text = capsys.readouterr().out
    assert "3,000" in text
    assert "age integer" in text
    assert run(["guard", "open", path, str(rows), "--questions", "500"]) == 3
    assert "has a guard with another policy" in capsys.readouterr().err


def test_a_contest_is_opened_played_and_ended_by_options_alone(tmp_path: Path, capsys: Any) -> None:
    """What `holdfast plan --workflow contest` recommends, and what is left after the end."""
    rows, rng = tmp_path / "teams.parquet", np.random.default_rng(4)
    columns = {"a": rng.random(3000) < 0.9, "b": rng.random(3000) < 0.6}
    pl.DataFrame({"id": [f"row {k:x}" for k in range(3000)], **columns}).write_parquet(rows)
    path = str(tmp_path / "contest.db")
    words = ["guard", "open", path, str(rows), "--row-key", "id", "--questions", "9", "--final", "1"]
    assert run([*words, "--reserve", "0.3", "--reserve", "0.2"]) == 0
    printed = capsys.readouterr().out
    assert "100% of the failure probability" in printed
    assert "30% and 20% of the rows" in printed
    assert run(["ask", "check", path, str(rows), "a", "--guess", "0.9"]) == 3
    assert "keeps all of the failure probability" in capsys.readouterr().err
    pair = ["--candidate", "a=a", "--candidate", "b=b"]
    assert run(["ask", "best", path, str(rows), *pair, "--json"]) == 0
    assert said(capsys)["value"] == "a"
    for claims in ("ranks", "winner"):
        assert run(["ask", "final", path, str(rows), *pair, "--claims", claims]) == 0
    capsys.readouterr()
    assert run(["guard", "show", path, "--json"]) == 0
    shown = said(capsys)
    assert (shown["status"], shown["remaining"]["questions"]) == ("ended", 0)
    assert shown["analysts"]["analyst"]["questions"] == 0


def test_separate_histories_are_opened_by_an_option(tmp_path: Path, rows: Path, capsys: Any) -> None:
    words = ["guard", "open", str(tmp_path / "l.db"), str(rows), "--questions", "20", "--histories", "separate"]
    assert run(words) == 2
    assert "analysts must be given if histories are separate" in capsys.readouterr().err
    assert run([*words, "--analyst", "ann=0.5", "--analyst", "bo=0.5"]) == 0
    assert "separate: analysts do not share answers" in capsys.readouterr().out


def test_a_policy_file_and_options_on_top(tmp_path: Path, rows: Path, capsys: Any) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"questions": 20, "confidence": 0.99}))
    words = ["guard", "open", str(tmp_path / "l.db"), str(rows), "--policy", str(policy), "--questions", "30", "--json"]
    assert run(words) == 0
    assert said(capsys)["policy"]["questions"] == 30
    for wrong in (b"[1]", b"{", b"", b"\xff"):
        policy.write_bytes(wrong)
        assert run(words) == 2
        assert (
            capsys.readouterr().err
            == "holdfast: --policy must be a file that contains one JSON object, and policy.json does not\n"
        )


@pytest.mark.parametrize("share", ["ann", "ann=", "ann=half", "=0.5"])
def test_a_wrong_share_of_an_analyst_opens_nothing(tmp_path: Path, rows: Path, capsys: Any, share: str) -> None:
    path = tmp_path / "l.db"
    assert run(["guard", "open", str(path), str(rows), "--analyst", share]) == 2
    assert (
        capsys.readouterr().err
        == f"holdfast: --analyst must be NAME=QUOTA, where QUOTA is a number above 0 and at most 1, got {share!r}\n"
    )
    assert not path.exists()


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "none.db"
    assert run(["guard", "show", str(path)]) != 0
    assert "`holdfast guard open LEDGER DATA` makes a new ledger" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--privacy", "0.1"], 2, "--privacy"),
        (["--questions", "0"], 2, "questions"),
        (["--analyst", "ann"], 2, "--analyst must be NAME=QUOTA"),
        (["--accounting", "odo"], 2, "accounting must be one of"),
        ([], 2, "policy must be given"),
        (["--row-key", "name", "--questions", "5"], 2, "row_key"),
    ],
)
def test_wrong_usage_begins_nothing(
    tmp_path: Path, rows: Path, capsys: Any, options: list[str], status: int, words: str
) -> None:
    assert run(["guard", "open", str(tmp_path / "l.db"), str(rows), *options]) == status
    assert words in capsys.readouterr().err


def test_pause_resume_close_and_the_log(ledger: str, capsys: Any) -> None:
    assert run(["guard", "pause", ledger, "--reason", "an audit", "--json"]) == 0
    assert said(capsys)["status"] == "paused"
    assert run(["guard", "pause", ledger]) == 3
    assert "'paused' already" in capsys.readouterr().err
    assert run(["guard", "resume", ledger]) == 0
    assert run(["guard", "close", ledger, "--yes", "--reason", "done"]) == 0
    assert run(["guard", "resume", ledger]) == 3
    capsys.readouterr()
    assert run(["guard", "log", ledger, "--json", "--last", "3"]) == 0
    assert [one["kind"] for one in said(capsys)["entries"]] == ["paused", "resumed", "closed"]
    assert run(["guard", "log", ledger]) == 0
    assert "an audit" in capsys.readouterr().out
    assert run(["guard", "log", ledger, "--last", "0"]) == 2


def test_override_is_recorded(ledger: str, tmp_path: Path, capsys: Any) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"privacy": {"kind": "pure-dp", "epsilon": 0.5}}))
    assert run(["guard", "override", ledger, "--policy", str(policy)]) == 2  # a reason is required
    capsys.readouterr()
    assert run(["guard", "override", ledger, "--policy", str(policy), "--reason", "the board agreed", "--json"]) == 0
    found = said(capsys)
    assert (found["overrides"], found["remaining"]["epsilon"]) == (1, 0.5)


def test_several_data_sets_in_one_ledger(ledger: str, tmp_path: Path, capsys: Any) -> None:
    other = tmp_path / "other.csv"
    other.write_text("x\n" + "\n".join(str(i) for i in range(100)))
    assert run(["guard", "open", ledger, str(other), "--questions", "5", "--json"]) == 0
    name = said(capsys)["dataset"]
    assert run(["guard", "show", ledger, "--json"]) == 0
    assert len(said(capsys)["guards"]) == 2
    assert run(["guard", "show", ledger]) == 0
    assert "Guards" in capsys.readouterr().out
    assert run(["guard", "show", ledger, "--dataset", "zzz"]) == 2
    heard = capsys.readouterr().err
    for part in (
        "dataset must be the first characters of the fingerprint of exactly one data set",
        name[:12],
        "got 'zzz'",
    ):
        assert part in heard
    assert run(["guard", "show", ledger, "--dataset", name[:10], "--json"]) == 0
    assert said(capsys)["n"] == 100
    assert run(["guard", "pause", ledger]) == 2
    assert "because there are several data sets" in capsys.readouterr().err


def test_closing_asks_at_a_terminal_and_needs_yes_elsewhere(ledger: str, capsys: Any, monkeypatch: Any) -> None:
    def status() -> str:
        capsys.readouterr()
        assert run(["guard", "show", ledger, "--json"]) == 0
        return str(said(capsys)["status"])

    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))  # a pipe: its text is no answer to a question
    assert run(["guard", "close", ledger]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("holdfast: --yes must be given to close guard ")
    assert "Nothing was changed" in told.err
    assert told.out == ""
    assert status() == "open"
    for typed, closed in (("n\n", False), ("", False), ("y\n", True)):
        terminal = io.StringIO(typed)
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", terminal)
        assert run(["guard", "close", ledger, "--json"]) == (0 if closed else 1)
        told = capsys.readouterr()
        assert "It will never answer again. [y/N]" in told.err
        assert (json.loads(told.out)["status"] if closed else told.out.strip()) == ("closed" if closed else "")
        assert status() == ("closed" if closed else "open")


def test_swapped_arguments_are_recognised(tmp_path: Path, rows: Path, ledger: str, capsys: Any) -> None:
    before = rows.read_bytes()
    for words in (
        ["guard", "open", str(rows), ledger, "--questions", "5"],
        ["guard", "open", str(rows), str(tmp_path / "new.db"), "--questions", "5"],
        ["ask", "check", str(rows), ledger, "age < 40", "--guess", "0.3"],
        ["submit", str(rows), ledger, str(rows)],
        ["mcp", str(rows), ledger],
    ):
        assert run(words) == 2, words
        told = capsys.readouterr().err
        assert "the arguments look swapped: give the ledger first" in told
    for words in (["guard", "show"], ["guard", "log"], ["guard", "list"], ["guard", "pause"], ["leaderboard"]):
        assert run([*words, str(rows)]) == 2, words
        assert "LEDGER must be a ledger, and" in capsys.readouterr().err
    assert not rows.with_name(rows.name + ".key").exists()
    assert rows.read_bytes() == before
    assert not (tmp_path / "new.db").exists()


def test_what_is_not_there(tmp_path: Path, rows: Path, capsys: Any) -> None:
    for words in (["show"], ["list"], ["log"], ["pause"], ["close"]):
        assert run(["guard", *words, str(tmp_path / "none.db")]) == 1
        said = capsys.readouterr().err
        assert "there is no ledger at" in said
        assert "`holdfast guard open LEDGER DATA` makes a new ledger" in said
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "empty.db").touch()
    assert run(["guard", "show", str(tmp_path / "empty.db")]) == 1
    assert "`holdfast guard open LEDGER DATA` makes a new ledger" in capsys.readouterr().err
    assert (tmp_path / "empty.db").stat().st_size == 0
    assert run(["guard", "open", str(tmp_path / "l.db"), str(tmp_path / "no.parquet"), "--questions", "5"]) == 1
    assert "no.parquet" in capsys.readouterr().err
    assert run(["guard", "sing"]) == 2


def test_list_is_a_list_however_many_there_are(ledger: str, rows: Path, capsys: Any) -> None:
    assert run(["guard", "list", ledger, "--json"]) == 0
    (only,) = said(capsys)["guards"]
    assert only["n"] == 3000
    assert run(["guard", "list", ledger]) == 0
    assert only["dataset"][:12] in capsys.readouterr().out
    assert run(["guard", "open", ledger, str(rows), "--name", "people"]) == 2
    assert "--name must be left out" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["open", "list", "show", "log", "pause", "resume", "close", "override"])
def test_help(command: str, capsys: Any) -> None:
    assert run(["guard", command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--json" in shown
    assert "LEDGER" in shown.splitlines()[0]


def test_the_same_rows_again_get_no_fresh_budget_and_open_says_what_it_cannot_find(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(3)
    half = pl.DataFrame({"id": rng.permutation(10**6)[:500], "age": rng.integers(18, 90, 500)})
    files = {name: str(tmp_path / f"{name}.csv") for name in ("half", "more", "fewer", "numbered")}
    half.write_csv(files["half"])
    half.with_columns(one=pl.lit(1)).write_csv(files["more"])
    half.head(490).write_csv(files["fewer"])
    half.with_columns(row=pl.int_range(500) + 10**7, age=pl.lit(3)).drop("id").write_csv(files["numbered"])
    store = str(tmp_path / "k.db")

    def opened(name: str, *words: str) -> tuple[int, str, str]:
        status = run(["guard", "open", store, files[name], "--privacy", "pure-dp:1", *words])
        out, err = capsys.readouterr()
        return status, " ".join(out.split()), err

    warning = "No --row-key was given: a data set that shares only some of these rows, or has one changed"
    status, words, _ = opened("half", "--row-key", "id")
    assert status == 0
    assert warning not in words
    for key in ((), ("--row-key", "id"), ("--row-key", "age")):
        status, _, error = opened("more", *key)
        assert status == 3
        assert "shares rows with other data sets that have a guard in this store, 1 in all" in error
    assert opened("fewer", "--row-key", "id")[0] == 3
    assert opened("half")[0] == opened("half", "--row-key", "age")[0] == 0  # the same rows: their budget is returned
    status, words, _ = opened("fewer")
    assert status == 0
    assert warning in words
    status, words, _ = opened("numbered", "--row-key", "row")
    assert status == 0
    assert "The row key row is a running number: unrelated data sets that number their rows alike" in words
    assert opened("more", "--allow-overlap", "two teams")[0] == 0
    assert run(["guard", "show", store, "--json"]) == 0
    assert sorted(one["overlaps"] for one in said(capsys)["guards"]) == [0, 0, 1, 1]
    status, words, _ = opened("more")
    assert "shares rows with 1 other guarded data sets" in words
    assert run(["guard", "open", store, files["half"], "--json"]) == 0
    assert said(capsys)["notes"][0].startswith(warning)


def test_open_says_which_data_sets_could_not_be_compared(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(5)
    with open_store(tmp_path / "k.db") as store:
        opened_earlier(store, {"age": rng.integers(18, 90, 500)})
    rows = tmp_path / "rows.csv"
    pl.DataFrame({"age": rng.integers(18, 90, 500)}).write_csv(rows)
    words = ["guard", "open", str(tmp_path / "k.db"), str(rows), "--questions", "50"]
    assert run([*words, "--json"]) == 0
    found = said(capsys)
    assert found["not_compared"] == 1
    assert run(words) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "not compared with 1 guarded data set" in shown
    assert "open each once with its rows" in shown


def test_open_says_that_an_inferred_schema_is_outside_the_privacy_budget(tmp_path: Path, capsys: Any) -> None:
    """Which columns have missing values is counted when nobody declares it: a fact about the rows that is shown."""
    notes = {}
    for name, more in (("private", ["--privacy", "pure-dp:1"]), ("plain", ["--questions", "5"])):
        rows = tmp_path / f"{name}.csv"
        pl.DataFrame({"age": np.arange(500) ** 2 % 89, "id": np.arange(500) ** 2}).write_csv(rows)
        words = ["guard", "open", str(tmp_path / f"{name}.db"), str(rows), "--row-key", "id", "--json", *more]
        assert run(words) == 0
        notes[name] = said(capsys).get("notes", [])
    assert any("privacy budget does not cover" in note for note in notes["private"])
    assert notes["plain"] == []


@pytest.mark.parametrize(("more", "advised"), [([], True), (["--reserve", "0.5", "--reserve-by", "id"], False)])
def test_opening_recommends_a_reserve_where_a_privacy_budget_makes_a_final_wide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], advised: bool
) -> None:
    rows, ledger = tmp_path / "rows.csv", str(tmp_path / "p.db")
    rows.write_text("old,id\n" + "".join(f"{'true' if i % 2 else 'false'},p{i}\n" for i in range(4000)))
    assert (
        run(["guard", "open", ledger, str(rows), "--questions", "50", "--privacy", "zcdp:0.005", *more, "--json"]) == 0
    )
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any("A final on all rows would be within 0.26" in note for note in notes) is advised
    final = ["ask", "final", ledger, str(rows), "--candidate", "x=old", "--estimate"]
    assert run(final) == 0
    assert ("Reserve rows when a guard is opened" in " ".join(capsys.readouterr().out.split())) is advised


@pytest.mark.parametrize(("cap", "words"), [("0.2", "The cap of 0.2 is a ceiling"), ("0.01", "this is the whole cap")])
def test_a_guard_of_means_says_what_its_plan_spends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cap: str, words: str
) -> None:
    """Before, only a planned study did: at 10,000 rows 50 means are narrowest at a mu of 0.122."""
    rows, ledger = tmp_path / "rows.csv", str(tmp_path / "p.db")
    rows.write_text("old\n" + "true\nfalse\n" * 5000)
    options = ["--answers", "means", "--questions", "50", "--privacy", f"gdp:{cap}"]
    for command in (["guard", "open", ledger, str(rows), *options], ["guard", "show", ledger]):
        assert run(command) == 0
        assert words in " ".join(capsys.readouterr().out.split())
        assert run([*command, "--json"]) == 0
        planned = json.loads(capsys.readouterr().out)["planned"]
        assert planned["cap"] == float(cap)
        assert round(planned["mu"], 3) == min(0.122, float(cap))


@pytest.mark.parametrize(("cap", "spend", "names_another"), [("1", "0.05", True), ("0.1", "0.005", False)])
def test_opening_says_how_wide_noisy_means_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cap: str, spend: str, names_another: bool
) -> None:
    """The width is that of the first mean that is asked; a cap that makes it useless is told, with a better one."""
    rows = tmp_path / "rows.csv"
    rows.write_text("old\n" + "true\nfalse\n" * 16_000)
    options = ["--questions", "500", "--privacy", f"pure-dp:{cap}", "--spend", f"pure-dp:{spend}"]
    assert run(["guard", "open", str(tmp_path / "p.db"), str(rows), *options, "--json"]) == 0
    note = json.loads(capsys.readouterr().out)["notes"][0]
    assert run(["ask", "mean", str(tmp_path / "p.db"), str(rows), "old", "--estimate", "--json"]) == 0
    width = json.loads(capsys.readouterr().out)["half_width"]
    assert f"good to ±{width:.2g} of its range" in note
    assert ("would be good to" in note) is names_another
    if names_another:
        other = re.search(r"--privacy (\S+) --spend (\S+) would be good to ±(\S+):", note)
        assert other is not None
        options = ["--questions", "500", "--privacy", other[1], "--spend", other[2]]
        assert run(["guard", "open", str(tmp_path / "q.db"), str(rows), *options, "--json"]) == 0
        assert f"good to ±{other[3]} of" in json.loads(capsys.readouterr().out)["notes"][0]
        assert float(other[3]) < 0.5 * width
