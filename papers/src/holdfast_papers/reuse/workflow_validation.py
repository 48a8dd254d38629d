"""`workflows-validation`: the jobs of `workflows` on other splits and on other data, as ratios to their alternatives.

Some choices of the library, such as the weights of ranks, were made on the data of `workflows`. Other splits: Adult
with other rows fitted on and held out, MMLU-Pro and the contest with other seeds. Other data: sixty other candidates on
those of Census-Income who worked all year, and thirty published models on the CIFAR-10 test set. Further data: the same
candidates on all people of Census-Income, and a contest whose teams are spread evenly.

The further data came first. They were behind, so the others were looked for, and both are judged here. The contest
still is. The more pairs of teams are far apart, the fewer are left for a better procedure to separate: a sharper test,
better weights or a larger level gains more on the first contest than on this one, so that this one falls further
behind. A table of its own shows that with what cannot be had. Another counts rows in place of pairs: as many as
Bonferroni would need to separate as many pairs, which is the same gain on both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast_papers.binomial import exceeds
from holdfast_papers.real_data import CIFAR, MMLU, load_cifar
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment
from holdfast_papers.reuse.adult_data import ADULT
from holdfast_papers.reuse.workflow_data import (
    CENSUS,
    CONTEST,
    EVEN_CONTEST,
    adult_candidates,
    census_candidates,
    mmlu_right,
)
from holdfast_papers.reuse.workflow_jobs import (
    AS_MANY,
    BETA,
    FALSE,
    MID_P,
    ORACLE,
    SAME_LEVEL,
    Job,
    checks_jobs,
    contest_limits,
    contest_rows,
    grid_limits,
)
from holdfast_papers.reuse.workflows import (
    CONTESTS,
    PAIR_SIZES,
    PAIR_SPLITS,
    QUICK,
    QUICK_SPLITS,
    RESERVES,
    SIZES,
    Task,
    contest_tasks,
    done,
    grid_tasks,
    pair_tasks,
)

SPLITS = 30
BEHIND = 1.05
"""How far behind the same ratio on the first data a line may be."""
OTHER_SEEDS = 1_000
"""What is added to the seed for splits that `workflows` does not have."""
FIRST, SPLIT, DATA, FURTHER = "first data", "other splits", "other data", "further data"


@experiment(
    "workflows-validation",
    title="The workflows on other splits and other data: ratios to the same alternatives",
    source="Holdfast; data of Becker and Kohavi 1996, Wang et al. 2024, Recht et al. 2018 and the US Census Bureau",
    data=(ADULT, MMLU, CENSUS, CIFAR),
    spreads=True,
)
def run(settings: Settings) -> Outcome:
    """Measure the jobs on the first data, on other splits of these, and on other data."""
    splits, pairs, contests = (QUICK_SPLITS,) * 3 if settings.quick else (SPLITS, PAIR_SPLITS, CONTESTS)
    reduced: dict[str, Any] = dict(QUICK) if settings.quick else {}
    settings.progress(0.0, "four grids of sixty candidates are fitted")
    mmlu, cifar = mmlu_right(), load_cifar().old
    most = cifar.shape[1] - 1_000
    other = settings.seed + OTHER_SEEDS
    tasks: dict[str, list[Task]] = {
        FIRST: [
            *grid_tasks(adult_candidates(0, **reduced), SIZES, splits, settings.seed),
            *pair_tasks(mmlu, PAIR_SIZES, pairs, settings.seed),
            *contest_tasks(contests, settings.seed),
            (checks_jobs, (10_000, 0.85, 1_000, (0, 1, 3))),
        ],
        SPLIT: [
            *grid_tasks(adult_candidates(1, **reduced), SIZES, splits, other),
            *pair_tasks(mmlu, PAIR_SIZES, pairs, other),
            *contest_tasks(contests, other),
        ],
        DATA: [
            *grid_tasks(census_candidates(0, **reduced, all_year=True), SIZES, splits, settings.seed),
            *pair_tasks(cifar, (PAIR_SIZES[0], most), pairs, settings.seed),
            (checks_jobs, (4_000, 0.7, 1_000, (0, 1, 3))),
        ],
        FURTHER: [
            *grid_tasks(census_candidates(0, **reduced), SIZES, splits, settings.seed),
            *contest_tasks(contests, settings.seed, EVEN_CONTEST),
        ],
    }
    grids = {FIRST: tasks[FIRST][len(SIZES) - 1], FURTHER: tasks[FURTHER][len(SIZES) - 1]}
    limits = {
        name: done(
            [
                (grid_limits, grids[name][1]),
                *(
                    (work, (shape, reserve, contests, settings.seed))
                    for work in (contest_limits, contest_rows)
                    for reserve in RESERVES
                ),
            ],
            settings.processes,
            lambda part, what: settings.progress(0.1 + 0.1 * part, f"what could be gained at most: {what}"),
        )
        for name, shape in ((FIRST, CONTEST), (FURTHER, EVEN_CONTEST))
    }
    found = {}
    for place, (name, work) in enumerate(tasks.items()):
        told = f"{name}: "
        found[name] = done(
            work,
            settings.processes,
            lambda part, what, place=place, told=told: settings.progress(  # type: ignore[misc]
                0.3 + 0.7 * (place + part) / len(tasks), told + what
            ),
        )
    return outcome(found, limits, settings.quick)


def line_of(job: str) -> str:
    """The name that a job has on all data: the number of pairs and the largest size differ.

    Examples
    --------
    >>> line_of("435 pairs in one batch: separated, n = 9,000")
    'all pairs in one batch: separated, large n'
    """
    name = re.sub(r"^\d+ pairs", "all pairs", job)
    if name.startswith("all pairs"):
        name = re.sub(r"n = \d\d?,000$", "large n", name)
    return re.sub(r", n = [\d,]+, accuracy [\d.]+$", "", name)


def ratios(jobs: Sequence[Job]) -> dict[str, Job]:
    """The jobs that are a ratio, by the name of their line."""
    return {line_of(job.name): job for job in jobs if job.ratio is not None and FALSE not in job.name}


def outcome(found: Mapping[str, Sequence[Job]], limits: Mapping[str, Sequence[Job]], quick: bool) -> Outcome:
    """Ratios side by side; those to a valid alternative must not be far behind the first data's."""
    first = ratios(found[FIRST])
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for name in (SPLIT, DATA, FURTHER):
        for line, job in ratios(found[name]).items():
            ours, there = first[line].ratio, job.ratio
            assert ours is not None
            assert there is not None
            behind = _behind(ours, there, job.larger)
            judged = job.valid
            rows.append(
                {
                    "data": name,
                    "line": line,
                    "ratio": there,
                    "ratio on the first data": ours,
                    "behind": behind - 1,
                    "holds": behind <= BEHIND if judged else None,
                }
            )
            if judged and not quick:
                checks.append(Check(f"{line}: {name}", behind <= BEHIND, f"{there:.3f}, first {ours:.3f}"))
    said = [job for jobs in found.values() for job in jobs if FALSE in job.name]
    false, drawn = sum(sum(map(bool, job.ours)) for job in said), sum(len(job.ours) for job in said)
    checks.append(
        Check("claims about pairs are true", not exceeds(false, drawn, BETA), f"false in {false} of {drawn} runs")
    )
    judged_rows = [row for row in rows if row["holds"] is not None]
    worst = max(judged_rows, key=lambda row: row["behind"])
    columns = ("data", "line", "ratio", "ratio on the first data", "behind", "holds")
    return Outcome(
        tables=(
            Table(
                "validation",
                "Ours as a part of what stands next to it; without a verdict where that is not valid for the job",
                columns,
                tuple(rows),
            ),
            Table(
                "limits",
                "The same ratios on the further data with what is not to be had: how much a method could gain at most",
                ("line", "with", *columns[2:5]),
                tuple(_limit_rows(found, limits)),
            ),
            Table(
                "rows",
                "Rows that Bonferroni would need to tell as many pairs of a contest apart, as a multiple of ours",
                ("line", *columns[2:5]),
                tuple(_row_rows(found, limits)),
            ),
        ),
        checks=tuple(checks),
        finding=(
            f"{sum(row['holds'] for row in judged_rows)} of {len(judged_rows)} lines with a valid alternative are at "
            f"most 5% behind the same ratio on the first data; the worst is {100 * worst['behind']:+.1f}% "
            f"({worst['line']}, {worst['data']})."
        ),
        parameters={"splits": len(found[FIRST][0].ours)},
        chart=lambda: _chart(rows),
    )


def _behind(first: float, there: float, larger: bool) -> float:
    """How many times worse the ratio of a line is than on the first data."""
    if not first or not there:
        return 1.0
    return first / there if larger else there / first


def _limit_rows(found: Mapping[str, Sequence[Job]], limits: Mapping[str, Sequence[Job]]) -> list[dict[str, Any]]:
    """A grid of the smallest size, and the contest with each reserve: on the further data next to the first."""
    grid = f"fixed grid of 60: winner's half-width, n = {SIZES[0]}"
    names = [grid, *(line for line in _contest_lines(found) for _ in (ORACLE, MID_P, SAME_LEVEL))]
    some = [[job for job in limits[name] if job.name != AS_MANY] for name in (FIRST, FURTHER)]
    return [
        {"line": line, "with": there.name} | _next_to(first, there)
        for line, first, there in zip(names, *some, strict=True)
    ]


def _row_rows(found: Mapping[str, Sequence[Job]], limits: Mapping[str, Sequence[Job]]) -> list[dict[str, Any]]:
    """The contest with each reserve, in rows in place of pairs."""
    some = [[job for job in limits[name] if job.name == AS_MANY] for name in (FIRST, FURTHER)]
    return [
        {"line": line} | _next_to(first, there) for line, first, there in zip(_contest_lines(found), *some, strict=True)
    ]


def _contest_lines(found: Mapping[str, Sequence[Job]]) -> list[str]:
    return [line for line in ratios(found[FURTHER]) if line.startswith("contest")]


def _next_to(first: Job, there: Job) -> dict[str, Any]:
    behind = _behind(first.ratio or 0.0, there.ratio or 0.0, there.larger) - 1
    return {"ratio": there.ratio, "ratio on the first data": first.ratio, "behind": behind}


def _chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    import altair as alt

    return (
        alt.Chart({"values": list(rows)})
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("behind:Q", title="behind the first data's ratio", axis=alt.Axis(format="%")),
            y=alt.Y("line:N", title=None, sort=None, axis=alt.Axis(labelLimit=520)),
            color=alt.Color("data:N", title=None, legend=alt.Legend(orient="bottom")),
        )
        .properties(width=320)
    )


__all__ = ["BEHIND", "line_of", "outcome", "ratios"]
