"""What an experiment leaves behind: tables as CSV, everything as JSON, the plot as SVG and PNG."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import __version__
from holdfast.cli.output import INSTALL_HINT, can_plot, draw
from holdfast.core.strict_json import to_json
from holdfast_papers.registry import Experiment, Outcome, Settings, Table


@dataclass(frozen=True)
class Written:
    """The files of one run, and a note when something was left out."""

    files: tuple[Path, ...]
    note: str = ""


def write(experiment: Experiment, outcome: Outcome, settings: Settings, out: Path) -> Written:
    """Write `out/<name>/` and say which files it holds.

    The first table is `table.csv`, any other `table-<its name>.csv`. `result.json` holds the whole outcome with the
    seed, the version and whether it was the quick run. `plot.svg` and `plot.png` need the `plots` extra; without it the
    rest is written and the note says how to install it; when the renderer fails, the note says so.
    """
    folder = out / experiment.name
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for i, table in enumerate(outcome.tables):
        path = folder / ("table.csv" if i == 0 else f"table-{table.name}.csv")
        _write_csv(table, path)
        files.append(path)
    result = folder / "result.json"
    result.write_text(to_json(result_dict(experiment, outcome, settings)) + "\n", encoding="utf-8")
    files.append(result)
    if outcome.chart is None:
        return Written(tuple(files))
    if not can_plot():
        return Written(tuple(files), INSTALL_HINT)
    note = ""
    try:
        chart = outcome.chart()
        for suffix in ("svg", "png"):
            path = folder / f"plot.{suffix}"
            draw(chart, path)
            files.append(path)
    except Exception as error:  # the renderer is foreign code, and its failure must not sink a run that is done
        note = f"no plot: the renderer failed ({type(error).__name__}: {' '.join(str(error).split())[:200]})"
    return Written(tuple(files), note)


def result_dict(experiment: Experiment, outcome: Outcome, settings: Settings) -> dict[str, Any]:
    """The outcome as plain data, with what it takes to run it again."""
    run = {"version": __version__, "quick": settings.quick, "seed": settings.seed}
    return experiment.to_dict() | {"run": run} | outcome.to_dict()


def _write_csv(table: Table, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        for row in table.rows:
            writer.writerow(["" if row.get(column) is None else row[column] for column in table.columns])


__all__ = ["Written", "result_dict", "write"]
