"""The tour: what `make run` shows."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.cli import demo
from holdfast.cli.main import run
from holdfast.server.demo import analysts, serving


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
    assert "Greg's best rule was right for 75% of his own 60 rows. The guard says 42% to 63%" in said
    assert "The winner of 60 candidates is certified" in said
    ended = said.partition("5. The end of the run")[2]
    assert "customers who are gone   0.226 to 0.358     0.295 in 0.27 to 0.32" in ended
    assert "has shown exact values" in _refused(tmp_path / "demo" / "ledger.db", capsys)
    assert len((tmp_path / "demo" / "answers.csv").read_text().splitlines()) == 40
    assert f"`holdfast verify {tmp_path / 'demo' / 'ledger.db'}`" in " ".join(said.split())
    assert run(["verify", str(tmp_path / "demo" / "ledger.db")]) == 0


def _refused(ledger: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said to somebody who asks after the end."""
    rows = ledger.parent / "rows.csv"
    rows.write_text(analysts.rows_csv())
    capsys.readouterr()
    assert run(["ask", "check", str(ledger), str(rows), "age < 30", "--guess", "0.2", "--analyst", "ann"]) == 3
    return capsys.readouterr().err


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


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_demo_that_is_killed_leaves_no_rows_behind(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []

    def prepare(folder: Path, port: int) -> SimpleNamespace:
        folders.append(folder)
        (folder / "rows.parquet").touch()
        return SimpleNamespace(address=f"http://127.0.0.1:{port}", link=lambda who: who)

    def serve(_: SimpleNamespace) -> None:
        assert folders[0].is_dir()
        signal.raise_signal(getattr(signal, name))

    monkeypatch.setattr(serving, "prepare", prepare)
    monkeypatch.setattr(serving, "serve", serve)
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with pytest.raises(SystemExit) as ended:
            demo._serve(8321)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert ended.value.code == 0
    assert [folder.exists() for folder in folders] == [False]


def test_without_the_server_s_parts_there_is_the_tour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(_: int) -> None:
        raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")

    monkeypatch.setattr(demo, "_serve", missing)
    monkeypatch.setattr(demo, "_tour", lambda _: 0)
    monkeypatch.setattr(demo, "_prompt", lambda: print("prompt"))
    assert run(["demo", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "The web page needs fastapi: `pip install 'holdfast[server]'`" in said
    assert "prompt" in said
    assert run(["demo", "--terminal"]) == 0
