"""The files of a report: the page, JSON with every number, and two CSV tables, side by side."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from holdfast.coherence.experiment import Trials
from holdfast.coherence.report.content import Report
from holdfast.coherence.report.page import html
from holdfast.coherence.verdict import GroupFinding
from holdfast.core.strict_json import to_json
from holdfast.errors import InvalidParameter

FINDINGS = tuple(field.name for field in fields(GroupFinding) if field.name != "sentences")
"""Columns of the table of findings."""
SPLITS = ("split", "learner", "lens", "group", "inside", "outside", "distance", "floor", "kolmogorov", "mean_shift")
"""Columns of the long table."""


def places(path: str | Path) -> dict[str, Path]:
    """Return the paths of the report's files. They are next to the page and begin with its name.

    Examples
    --------
    >>> {kind: path.name for kind, path in places("audit.html").items()}
    {'html': 'audit.html', 'json': 'audit.json', 'csv': 'audit.csv', 'splits': 'audit-splits.csv'}
    """
    page = Path(path)
    if page.suffix.lower() not in (".html", ".htm"):
        raise InvalidParameter(f"the report is an HTML file, so its name must end in .html, got {page.name!r}")
    return {
        "html": page,
        "json": page.with_suffix(".json"),
        "csv": page.with_suffix(".csv"),
        "splits": page.with_name(page.stem + "-splits.csv"),
    }


def write(report: Report, trials: Trials, path: str | Path, min_cell: int = 1) -> dict[str, Path]:
    """Write the report's page at `path` and its JSON and CSV files next to it. Return the path of each file.

    The long table has one line for each split, learner, lens and group. If a half has fewer than `min_cell` members,
    their number is written as `<min_cell`. Each distance is next to the floor of its group, the distance that chance
    alone gives.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.coherence.significance import assess
    >>> from holdfast.coherence.verdict import judge
    >>> from holdfast.coherence.report import build
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=12, seed=1))
    >>> tested = assess(trials, permutations=999)
    >>> report = build(trials, tested, judge(tested, 0.5), title="people")
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     sorted(path.name for path in write(report, trials, f"{folder}/audit.html").values() if path.exists())
    ['audit-splits.csv', 'audit.csv', 'audit.html', 'audit.json']
    """
    paths = places(path)
    paths["html"].parent.mkdir(parents=True, exist_ok=True)
    paths["html"].write_text(html(report), encoding="utf-8")
    paths["json"].write_text(to_json(report.to_dict()) + "\n", encoding="utf-8")
    lines = ([_cell(getattr(finding, name)) for name in FINDINGS] for finding in report.verdict.findings)
    _write_csv(paths["csv"], FINDINGS, lines)
    floors = {(f.learner, f.lens, f.group): f.floor for f in report.verdict.findings}
    _write_csv(paths["splits"], SPLITS, _long(trials, floors, min_cell))
    return paths


def _long(trials: Trials, floors: Mapping[tuple[str, str, str], float | None], min_cell: int) -> Iterable[list[str]]:
    def count(number: int) -> str:
        return f"<{min_cell}" if number < min_cell else str(number)

    for k in range(trials.splits):
        for i, learner in enumerate(trials.learners):
            for j, lens in enumerate(trials.lenses):
                more = [[None] * len(trials.groups)] * 2
                if trials.predictions is not None and trials.done[k, i, j]:
                    values, where = trials.predictions[k, i, j], trials.inside[k]
                    more = [
                        trials.groups.distances(values, where, weights=trials.weights, metric=metric).distance.tolist()
                        for metric in ("kolmogorov", "mean")
                    ]
                for g, group in enumerate(trials.groups.names):
                    inside, outside = int(trials.inside_count[k, g]), int(trials.outside_count[k, g])
                    floor = floors[learner, lens.name, group]
                    numbers: Sequence[Any] = (float(trials.distance[k, i, j, g]), floor, more[0][g], more[1][g])
                    yield [str(k), learner, lens.name, group, count(inside), count(outside), *map(_cell, numbers)]


def _cell(value: Any) -> str:
    """A cell; empty where nothing is known."""
    if value is None or value != value:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _write_csv(path: Path, heading: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(heading)
        writer.writerows([_harmless(cell) for cell in row] for row in rows)


def _harmless(cell: str) -> str:
    """Names come from users: one that a spreadsheet would run as a formula gets an apostrophe before it.

    Examples
    --------
    >>> _harmless("=1+1"), _harmless("-0.25"), _harmless("SEX=2")
    ("'=1+1", '-0.25', 'SEX=2')
    """
    if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(cell)
        except ValueError:
            return "'" + cell
    return cell
