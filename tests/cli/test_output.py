"""Tables on narrow terminals: no word is broken, no line is too long, nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from holdfast.cli import output
from holdfast.cli.main import _command, run

COLUMNS = ("method", "half-width", "a clean run", "sure pass", "needs", "remark", "how it is called in the paper")
ROWS = [
    ("splitting-by-failures", 0.0845, "", 0.338, "guess", "", "sample splitting"),
    ("thresholdout-tightened", 4.16, 1.23456789, 4.16, "guess, noise", "no guarantee", "Thresholdout, theorem 25"),
    ("non-adaptive", 0.023, "", "", "-", "limit, not adaptive", ""),
]


def _lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", [160, 80, 60, 40])
def test_a_table_breaks_between_words_and_fits(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    output.table("what a holdout certifies", COLUMNS, ROWS)
    lines = _lines(capsys)
    assert max(map(len, lines)) <= columns
    printed = " ".join(lines).split()
    for text in [*COLUMNS, *(str(cell) for row in ROWS for cell in row)]:
        for word in text.split():
            assert word in printed, word


def test_equally_wide_columns_give_alike() -> None:
    assert output._shrunk([10, 141, 141], [10, 15, 15], 160) == [10, 70, 70]
    assert output._shrunk([10, 170, 141], [10, 15, 15], 160) == [10, 70, 70]
    assert output._shrunk([10, 90, 20], [10, 40, 15], 79) == [10, 40, 20]
    assert output._shrunk([10, 90, 20], [10, 60, 15], 40) == [10, 10, 10]


def test_columns_that_do_not_fit_follow_in_a_part_that_repeats_the_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    output.table("what a holdout certifies", COLUMNS, ROWS)
    lines = _lines(capsys)
    parts = sum(line.split()[:1] == ["method"] or " method " in f" {line} " for line in lines)
    assert parts >= 2
    assert sum("thresholdout-tightened" in line for line in lines) == parts
    assert sum("what a holdout certifies" in line for line in lines) == 1


def test_a_wide_table_stays_whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    output.table("", COLUMNS, ROWS)
    assert sum("thresholdout-tightened" in line for line in _lines(capsys)) == 1


def test_a_word_longer_than_the_line_is_broken_not_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    output.table("", ("name", ""), [("x", "0123456789" * 4), ("", "")])
    lines = _lines(capsys)
    assert max(map(len, lines)) <= 20
    assert "".join("".join(lines).split()).count("0") == 4


@pytest.mark.parametrize("columns", [80, 60])
def test_the_plan_reads_on_a_narrow_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run(["plan", "--n", "10000", "--questions", "1000"]) == 0
    lines = _lines(capsys)
    table = lines[: next(i for i, line in enumerate(lines) if line.startswith("half-width: "))]
    assert max(map(len, table[1:])) <= columns  # the first line is the recommendation, a paragraph
    assert all(
        word in " ".join(table).split() for word in ("thresholdout-tightened", "0.0245", "guaranteed", "guarantee")
    )


@pytest.mark.parametrize("arguments", ["bound", "plan --n 10000 --questions 1000", "--help", "bound --json"])
def test_a_reader_who_stops_early_is_no_failure(arguments: str) -> None:
    command = [sys.executable, "-u", "-m", "holdfast.cli.main", *arguments.split()]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.close()
    assert (running.stderr.read(), running.wait()) == (b"", 0)
    running.stderr.close()


def test_a_number_that_does_not_parse_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--n", "1e4x"]) == 2
    said = capsys.readouterr().err
    assert "--n" in said
    assert "'1e4x'" in said


def test_rows_come_whole(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "bound holdout.split-size --tau 0.1 --beta 0.05 --questions 1000 --budget 10".split()
    assert run(asked) == 0
    assert "103194 rows" in capsys.readouterr().out.replace(",", "")
    assert run([*asked, "--json"]) == 0
    assert "103193.758" in capsys.readouterr().out


def test_the_plot_option_names_every_kind_of_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--help"]) == 0
    assert ".svg, .png, .html or .json" in " ".join(capsys.readouterr().out.split())


def test_the_list_of_commands_is_cut_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:")[2]
    assert "..." not in listed
    assert all(name in listed for name in ("audit", "guard", "verify"))


def test_commands_with_ten_options_or_more_list_them_in_groups() -> None:

    waiting: list[tuple[str, Any]] = [("holdfast", _command())]
    long_ones = []
    while waiting:
        words, command = waiting.pop()
        below = getattr(command, "commands", {})
        waiting += [(f"{words} {name}", one) for name, one in below.items() if not one.hidden]
        options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
        if len(options) >= 10:
            long_ones.append(words)
            text = command.get_help(command.make_context(words, [], resilient_parsing=True))
            ungrouped = text.split("\nOptions:\n")[1].split("\n\n")[0]
            assert ungrouped.split() == ["-h,", "--help", "Show", "this", "message", "and", "exit."] or (
                ungrouped.split()[:1] == ["--help"]
            ), words
    assert {"holdfast guard open", "holdfast ask check", "holdfast plan", "holdfast audit"} <= set(long_ones)
