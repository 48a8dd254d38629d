"""Finished experiments are kept whole, found again under the same conditions only, and the same for any workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.cli.main import run as command
from holdfast.errors import GuaranteeUnavailable
from holdfast_papers import kept, registry
from holdfast_papers.registry import Check, Experiment, Outcome, Settings, Table, select
from holdfast_papers.running import run_all

QUICK = Settings(quick=True)
FAST = ["coherence-table-1", "rogers-figure-15", "p-value-sensitivity"]  # the second one draws at random


def _counted(runs: list[int], data: tuple[str, ...] = ()) -> Experiment:
    def play(settings: Settings) -> Outcome:
        runs.append(settings.seed)
        table = Table("t", "A table", ("what", "number"), ({"what": "x", "number": float("inf")}, {"what": None}))
        return Outcome((table,), (Check("it holds", True, "yes"),), "Found.", {"n": 3})

    return Experiment("counted", "Made up", "nowhere", play, data, home="holdfast_papers.max_information.golay")


def test_a_finished_run_is_found_again_and_is_the_same(tmp_path: Path) -> None:
    runs: list[int] = []
    made = _counted(runs)
    assert kept.find(made, QUICK, tmp_path) is None
    first = kept.run(made, QUICK, tmp_path)
    again = kept.find(made, QUICK, tmp_path)
    assert again == first
    assert again.outcome.to_dict() == made.run(QUICK).to_dict()
    assert again.outcome.tables[0].rows[0]["number"] == float("inf")
    copied = again.copy_to(tmp_path / "counted")
    assert [path.name for path in copied] == ["table.csv", "result.json"]
    assert json.loads(copied[1].read_text())["run"]["seed"] == 1


def test_another_seed_size_data_or_code_is_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data"))
    made = _counted([], ("people",))
    kept.run(made, QUICK, tmp_path)
    assert kept.find(made, replace(QUICK, workers=7), tmp_path) is not None, "no number depends on the workers"
    assert kept.find(made, replace(QUICK, seed=2), tmp_path) is None
    assert kept.find(made, replace(QUICK, quick=False), tmp_path) is None
    assert kept.find(replace(made, home="holdfast_papers.max_information.bch"), QUICK, tmp_path) is None
    (tmp_path / "data" / "people").mkdir(parents=True)
    (tmp_path / "data" / "people" / "rows.csv").write_text("1\n")
    assert kept.find(made, QUICK, tmp_path) is None
    kept.run(made, QUICK, tmp_path)
    (tmp_path / "data" / "people" / "rows.csv").write_text("2\n")
    assert kept.find(made, QUICK, tmp_path) is None
    assert len(list((tmp_path / kept.FOLDER).glob("counted-quick-1-*"))) == 1, "the superseded run is let go"


def test_quick_and_full_runs_are_kept_beside_each_other(tmp_path: Path) -> None:
    runs: list[int] = []
    made = _counted(runs)
    for settings in (QUICK, Settings(), QUICK, Settings()):
        list(run_all([made], settings, tmp_path))
    assert len(runs) == 2


def test_a_damaged_or_half_written_run_is_run_again(tmp_path: Path) -> None:
    made = _counted([])
    entry = kept.run(made, QUICK, tmp_path)
    (entry.folder / "table.csv").unlink()
    assert kept.find(made, QUICK, tmp_path) is None
    entry = kept.run(made, QUICK, tmp_path)
    (entry.folder / "run.json").write_text('{"files": [')
    assert kept.find(made, QUICK, tmp_path) is None


def test_nothing_is_kept_of_a_run_that_failed(tmp_path: Path) -> None:
    def fail(settings: Settings) -> Outcome:
        raise GuaranteeUnavailable("the rows are not here")

    made = replace(_counted([]), run=fail)
    (one,) = run_all([made], QUICK, tmp_path)
    assert one.entry is None
    assert str(one.absent) == "the rows are not here"
    assert not list((tmp_path).glob(f"{kept.FOLDER}/*"))


def test_progress_of_many_is_one_share(tmp_path: Path) -> None:
    seen: list[float] = []
    made = [replace(_counted([]), name=name) for name in ("a", "b", "c")]
    settings = Settings(quick=True, progress=lambda fraction, what: seen.append(fraction))
    list(run_all(made, settings, tmp_path))
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0.0, 1.0)


def test_results_are_the_same_for_any_number_of_workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for workers in ("1", "2"):
        words = ["reproduce", *FAST, "--quick", "--workers", workers, "--json", "--out", str(tmp_path / workers)]
        assert command(words) == 0
        told = json.loads(capsys.readouterr().out)
        assert [entry["name"] for entry in told["experiments"]] == FAST, "in the order asked for"
        assert not any(entry["kept"] for entry in told["experiments"])
    files = sorted(p.relative_to(tmp_path / "1") for p in (tmp_path / "1").glob("*/*") if p.suffix in {".json", ".csv"})
    assert len(files) >= 6
    for file in files:
        assert (tmp_path / "1" / file).read_bytes() == (tmp_path / "2" / file).read_bytes()
    alone = ["--quick", "--workers", "1", "--json", "--out", str(tmp_path / "2"), "--fresh"]
    assert command(["reproduce", FAST[0], *alone]) == 0
    assert not any(entry["kept"] for entry in json.loads(capsys.readouterr().out)["experiments"])
    assert command(words) == 0
    assert all(entry["kept"] for entry in json.loads(capsys.readouterr().out)["experiments"])


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_killed_run_goes_on_where_it_was_and_leaves_no_process(tmp_path: Path) -> None:
    names = ["coherence-table-1", "posterior-shift-gap", "zhao-figures", "correlated-coverage"]
    words = [sys.executable, "-m", "holdfast", "reproduce", *names, "--quick", "--workers", "2", "--out", str(tmp_path)]
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 600
        while not list(tmp_path.glob(f"{kept.FOLDER}/*/run.json")):
            assert time.monotonic() < until
            assert started.poll() is None
            time.sleep(0.02)
        below = _children(started.pid)
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
    assert below
    until = time.monotonic() + 120
    while any(_alive(pid) for pid in below):
        assert time.monotonic() < until, "workers outlive the run that started them"
        time.sleep(0.05)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob(f"{kept.FOLDER}/*/run.json")}
    assert 1 <= len(before) < len(names)
    first = next(iter(before)).parent.name.partition("-quick")[0]
    (again,) = run_all(select([first]), QUICK, tmp_path, workers=2)
    assert again.reused
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in before.items())


def _children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_registry_passes_what_a_run_needs() -> None:
    assert {name for name, e in registry.experiments().items() if e.data} == {
        "coherence-predictors",
        "coherence-section-5",
        "real-reuse-adult",
        "real-reuse-cifar10",
        "real-reuse-mmlu-pro",
        "workflows",
        "workflows-validation",
    }
    assert "private-test-levels" in {name for name, e in registry.experiments().items() if e.spreads}
