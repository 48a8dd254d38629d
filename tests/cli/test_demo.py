"""The tour: what `make run` shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli import demo
from holdfast.cli.main import run


def test_once_plays_the_tour_and_says_where_its_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quicker = ("reproduce", "filter-comparison", "--quick", "--brief")  # the figure is tested with the experiments
    monkeypatch.setattr(demo, "FIGURE", quicker)
    monkeypatch.setattr(demo, "ATTACK", (*demo.ATTACK[:-1], "2"))
    assert run(["demo", "--once", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for part in ("A plan", "guess-and-check", "reusable-holdout", "theorems", str(tmp_path)):
        assert part in said
    assert (tmp_path / "filter-comparison" / "table.csv").exists()
    assert (tmp_path / "filter-comparison" / "plot.svg").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("help", ["--help"]),
        ("holdfast bound filter.rounds --name basic", ["filter.rounds", "--name", "basic"]),
        ('filter.rounds --epsilon "0.01', ["filter.rounds", "--epsilon", '"0.01']),
    ],
)
def test_what_is_typed_at_the_prompt(line: str, words: list[str]) -> None:
    assert demo._words(line) == words


class _Terminal:
    def isatty(self) -> bool:
        return True


def test_the_prompt_survives_mistakes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter(["no.such", "composition.zcdp-to-dp --rho 0.1 --delta 1e-6", "quit"])
    monkeypatch.setattr("sys.stdin", _Terminal())
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    demo._prompt()
    said = capsys.readouterr()
    assert "no.such" in said.err
    assert "2.141938928" in said.out
