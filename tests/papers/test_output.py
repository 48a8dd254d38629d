"""The registry and what a run leaves behind."""

from __future__ import annotations

import csv
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.cli import output as cli_output
from holdfast.errors import InvalidParameter
from holdfast_papers import output
from holdfast_papers.registry import (
    Check,
    Experiment,
    Outcome,
    Settings,
    Table,
    experiment,
    experiments,
    select,
    silent,
)

ROWS = ({"name": "a, b", "value": math.inf}, {"name": "c"})
TABLES = (Table("first", "First", ("name", "value"), ROWS), Table("second", "Second", ("x",), ({"x": 1},)))


def _chart() -> object:
    import altair as alt

    return alt.Chart(alt.InlineData(values=[{"x": 1, "y": 2}])).mark_point().encode(x="x:Q", y="y:Q")


def _experiment(*, passed: bool = True, chart: bool = True) -> tuple[Experiment, Outcome]:
    outcome = Outcome(TABLES, (Check("holds", passed, "why"),), "A finding.", {"n": 3}, _chart if chart else None)
    return Experiment("made-up", "Made up", "nowhere", lambda settings: outcome), outcome


def test_files_hold_the_outcome(tmp_path: Path) -> None:
    made, outcome = _experiment()
    written = output.write(made, outcome, Settings(quick=True, seed=7), tmp_path)
    folder = tmp_path / "made-up"
    assert [path.name for path in written.files] == [
        "table.csv",
        "table-second.csv",
        "result.json",
        "plot.svg",
        "plot.png",
    ]
    assert all(path.parent == folder and path.stat().st_size for path in written.files)
    with (folder / "table.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["name", "value"], ["a, b", "inf"], ["c", ""]]
    result = json.loads((folder / "result.json").read_text())
    assert result["run"]["seed"] == 7
    assert result["run"]["quick"] is True
    assert result["passed"] is True
    assert result["tables"][0]["rows"] == [{"name": "a, b", "value": math.inf}, {"name": "c", "value": None}]
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "plot.svg").read_text().startswith("<svg")


def test_without_the_extra_everything_but_the_plot_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(cli_output, "_PACKAGES", ("a_package_nobody_has",))
    made, outcome = _experiment()
    written = output.write(made, outcome, Settings(), tmp_path)
    assert [path.name for path in written.files] == ["table.csv", "table-second.csv", "result.json"]
    assert "pip install 'holdfast[plots]'" in written.note


class _Broken:
    def save(self, path: str, **options: object) -> None:
        raise OSError("bad file descriptor")


def test_a_renderer_that_fails_does_not_sink_the_run(tmp_path: Path) -> None:
    made, outcome = _experiment()
    written = output.write(made, replace(outcome, chart=_Broken), Settings(), tmp_path)
    assert [path.name for path in written.files] == ["table.csv", "table-second.csv", "result.json"]
    assert written.note == "no plot: the renderer failed (OSError: bad file descriptor)"


def test_an_experiment_without_a_chart_needs_no_note(tmp_path: Path) -> None:
    made, outcome = _experiment(chart=False)
    assert output.write(made, outcome, Settings(), tmp_path).note == ""


def test_a_table_refuses_a_column_it_does_not_have() -> None:
    with pytest.raises(ValueError, match="no column typo"):
        Table("t", "T", ("x",), ({"typo": 1},))


def test_outcome_passes_only_if_every_check_does() -> None:
    assert _experiment()[1].passed
    assert not _experiment(passed=False)[1].passed


def test_two_experiments_cannot_share_a_name() -> None:
    taken = next(iter(experiments().values()))
    with pytest.raises(ValueError, match="two experiments"):
        experiment(taken.name, title="", source="")(lambda settings: _experiment()[1])
    assert experiments()[taken.name] is taken


def test_selection() -> None:
    everything = tuple(experiments())
    assert everything == tuple(sorted(everything))
    assert {"filter-comparison", "max-information-lower-bound", "odometer-attack"} <= set(everything)
    assert tuple(e.name for e in select(["all"])) == everything
    assert next(e.name for e in select(["odometer-attack", "all"])) == "odometer-attack"
    assert len(select(["odometer-attack", "all", "odometer-attack"])) == len(everything)
    with pytest.raises(
        InvalidParameter, match=r"no experiment is called 'odometer'; there are .*odometer-attack, .* and all"
    ):
        select(["odometer"])


def test_silence() -> None:
    assert silent(0.5, "half") is None
