"""The check of ratios: it finds a real regression, is not fooled by a busy machine, and holds for the quick modules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import cast

import pytest
from benchmarks import __main__ as bench
from benchmarks import regression, timing
from benchmarks.report import Report
from benchmarks.timing import DISK, LIMIT, Row

QUICK = ("composition", "holdout", "thresholdout")
"""Modules that measure processor time in turn: steady on a busy machine, and done in seconds."""


def row(name: str, ratio: float, ok: bool = True) -> Row:
    return Row(name, 1.0, "a peer", ratio, "none: shown only", ok)


def measuring(ratios: Iterator[float]) -> regression.Measure:
    return lambda module: [row("one", next(ratios))]


def test_a_real_regression_is_found() -> None:
    found = regression.regressions("m", [row("one", 6.2)], {"one": 10.0}, measuring(iter([6.5, 6.6, 6.4, 6.1, 6.3])))
    assert [(one.name, one.best) for one in found] == [("one", 6.6)]
    assert str(found[0]) == "m: one: ratio 6.6 at best, recorded 10 (1.5x worse; 1.5x is allowed)"


def test_a_busy_machine_is_not_a_regression() -> None:
    busy = iter([0.5, 3.0, 9.0])
    assert regression.regressions("m", [row("one", 1.0)], {"one": 10.0}, measuring(busy)) == []
    assert next(busy, None) is None  # it went on until the row was well, and no further


def test_rows_that_were_never_recorded_are_not_judged() -> None:
    assert regression.regressions("m", [row("new", 0.001)], {"one": 10.0}, measuring(iter([]))) == []


def test_the_median_is_recorded_and_other_modules_stay(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    regression.write({"a": [[row("one", 1.0)], [row("one", 3.0)], [row("one", 2.0)]]}, path)
    regression.write({"b": [[row("two", 5.0)]]}, path)
    assert regression.read(path) == {"a": {"one": 2.0}, "b": {"two": 5.0}}


def test_limits_and_disks_are_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    held = Row("a million", 0.1, LIMIT, 1.0, "at most 1x the reference", True)
    disk = Row("an entry", 0.1, DISK, 1.0, "at least 0.3 of its rate", True)
    regression.write({"a": [[row("one", 1.0), held, disk]]}, path)
    assert regression.read(path) == {"a": {"one": 1.0}}


def test_every_module_is_recorded() -> None:
    folder = Path(bench.__file__).parent
    modules = {path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py")}
    assert set(regression.read()) == modules


def test_the_report_names_machine_versions_and_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report.of({"m": [row("a | b", 2.0), row("two", 0.5, ok=False)]})
    page = report.markdown()
    assert "| a \\| b | 1 | a peer | 2 | 2 | none: shown only | yes |" in page
    assert "NO |" in page
    for word in ("UTC", "processors", "opendp", "Python"):
        assert word in report.subtitle
    assert json.loads(json.dumps(report.to_dict()))["modules"]["m"][1]["ratio"] == 0.5


def test_what_a_run_showed_beside_is_told_and_no_part_of_the_name() -> None:
    shown = Row("memory", 2.0, "before", 2.0, "at most 1.1x", True, "512 MiB after 1,000")
    assert "| memory: 512 MiB after 1,000 | 2 |" in Report.of({"m": [shown]}).markdown()
    assert regression.regressions("m", [shown], {"memory": 1.0}, measuring(iter([]))) == []


def test_unknown_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["nonsense", "--chek"]) == 2
    assert "nonsense, --chek is none of" in capsys.readouterr().err


@pytest.mark.parametrize("module", QUICK)
def test_ratios_hold(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer rounds than `make bench` takes: a row that looks worse for it is measured again."""
    monkeypatch.setitem(cast("FunctionType", timing.in_turn).__kwdefaults__, "rounds", 3)
    recorded = regression.read()[module]
    rows = bench.measure(module)
    assert {one.name for one in rows if one.peer not in (LIMIT, DISK)} == set(recorded)
    assert all(one.ok for one in rows if one.peer == LIMIT)
    assert regression.regressions(module, rows, recorded, bench.measure) == []
