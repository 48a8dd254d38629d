"""`workflow-adversaries`: every adversary of the error budget, thousands of times, and every version wrong on purpose.

The library may say something false in as many runs as were planned and no more; a version that leaves out one charge
must be caught by the same test. Both are exact binomial tests at an error of one in a million.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.core.processes import pool
from holdfast_papers.binomial import ERROR, exceeds
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment
from holdfast_papers.reuse.adversaries import ADVERSARIES, RUNS

RIGHT = -1
"""The version of an adversary that meets the library as it is."""
PART = 100
"""Runs of a part: the unit of work."""
QUICK_RUNS, QUICK_CAUGHT = 40, 60


@dataclass(frozen=True)
class Part:
    """Some runs of one adversary, against the library or against one of the wrong versions."""

    adversary: int
    version: int
    first: int
    runs: int


def false_runs(part: Part, seed: int) -> int:
    """In how many of these runs something false was said; each run has a stream of its own."""
    adversary = ADVERSARIES[part.adversary]
    play = adversary.run if part.version == RIGHT else adversary.wrong[part.version][1]
    found = 0
    for number in range(part.first, part.first + part.runs):
        found += play(np.random.default_rng([seed, part.adversary, part.version + 1, number]))
    return found


def runs_of(adversary: int, version: int, quick: bool) -> int:
    """How many runs a version gets."""
    if version == RIGHT:
        return QUICK_RUNS if quick else RUNS
    most = ADVERSARIES[adversary].caught_in
    return min(most, QUICK_CAUGHT) if quick else most


def parts(quick: bool) -> list[Part]:
    """All the work, in parts of equal size."""
    found = []
    for place, adversary in enumerate(ADVERSARIES):
        for version in range(RIGHT, len(adversary.wrong)):
            runs = runs_of(place, version, quick)
            found += [Part(place, version, first, min(PART, runs - first)) for first in range(0, runs, PART)]
    return found


def _played(work: list[Part], settings: Settings) -> Iterator[tuple[Part, int]]:
    """Each part with its count, as it is done."""
    if settings.processes == 1:
        for part in work:
            yield part, false_runs(part, settings.seed)
        return
    with pool(settings.processes) as started:
        waiting = {started.submit(false_runs, part, settings.seed): part for part in work}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


@experiment(
    "workflow-adversaries",
    title="Analysts who learn the rows from answers: how often something false is said, charged and not charged",
    source="Holdfast, docs/error-budget.md",
    spreads=True,
)
def run(settings: Settings) -> Outcome:
    """Play every adversary against the library and against the versions that are wrong on purpose."""
    work = parts(settings.quick)
    counts: dict[tuple[int, int], int] = {}
    total, done = sum(part.runs for part in work), 0
    for part, count in _played(work, settings):
        version = (part.adversary, part.version)
        counts[version] = counts.get(version, 0) + count
        done += part.runs
        settings.progress(done / total, ADVERSARIES[part.adversary].name)
    return outcome(counts, settings.quick)


def outcome(counts: dict[tuple[int, int], int], quick: bool) -> Outcome:
    """The table and the statements; `counts` are the runs of each version in which something false was said."""
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for place, adversary in enumerate(ADVERSARIES):
        for version in range(RIGHT, len(adversary.wrong)):
            count, runs = counts[place, version], runs_of(place, version, quick)
            more = exceeds(count, runs, adversary.planned)
            name = "as it is" if version == RIGHT else adversary.wrong[version][0]
            rows.append(
                {
                    "adversary": adversary.name,
                    "version": name,
                    "runs": runs,
                    "false": count,
                    "part": count / runs,
                    "planned": adversary.planned,
                    "verdict": ("too many" if more else "holds")
                    if version == RIGHT
                    else ("caught" if more else "not caught"),
                }
            )
            said = f"{count} of {runs} runs, planned {adversary.planned:.1%}"
            if version == RIGHT:
                checks.append(Check(f"{adversary.name}: at most as planned", not more, said))
            elif not quick:  # a reduced run is too short to catch all of them
                checks.append(Check(f"{adversary.name}; {name}: caught", more, said))
    right = [row for row in rows if row["version"] == "as it is"]
    wrong = [row for row in rows if row["version"] != "as it is"]
    worst = max(right, key=lambda row: row["part"] / row["planned"])
    caught = sum(row["verdict"] == "caught" for row in wrong)
    columns = ("adversary", "version", "runs", "false", "part", "planned", "verdict")
    return Outcome(
        tables=(Table("adversaries", "Runs in which something false was said", columns, tuple(rows)),),
        checks=tuple(checks),
        finding=(
            f"{len(right)} adversaries, {right[0]['runs']:,} runs each: something false was said in at most "
            f"{worst['part']:.1%} of the runs where {worst['planned']:.1%} were planned ({worst['adversary']}). "
            f"{caught} of {len(wrong)} versions that leave out a charge were caught."
        ),
        parameters={"runs": right[0]["runs"], "error of each test": ERROR},
        chart=lambda: _chart(rows),
    )


def _chart(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    marked = [row | {"kind": "as it is" if row["version"] == "as it is" else "wrong on purpose"} for row in rows]
    return (
        alt.Chart({"values": marked})
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("part:Q", title="part of the runs in which something false was said", axis=alt.Axis(format="%")),
            y=alt.Y("adversary:N", title=None, sort=None, axis=alt.Axis(labelLimit=460)),
            color=alt.Color("kind:N", title=None, legend=alt.Legend(orient="bottom")),
        )
        .properties(width=360)
    )


__all__ = ["PART", "RIGHT", "Part", "false_runs", "outcome", "parts", "runs_of"]
