"""`workflows`: what each way of working with one holdout comes to, next to its best valid alternative on the same rows.

A fixed grid of sixty candidates, the same checked one by one, rounds of search, a contest with a reserve, all pairs of
29 models, many checks and then a final. Every line has a goal and says whether it is met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.core.processes import pool
from holdfast_papers.binomial import exceeds
from holdfast_papers.real_data import MMLU, Right
from holdfast_papers.registry import Check, Outcome, Progress, Settings, Table, experiment
from holdfast_papers.reuse import workflow_adversaries
from holdfast_papers.reuse.adult_data import ADULT
from holdfast_papers.reuse.adversaries import ADVERSARIES, BETA
from holdfast_papers.reuse.workflow_data import CONTEST, Shape, adult_candidates, mmlu_right
from holdfast_papers.reuse.workflow_jobs import FALSE, Job, checks_jobs, contest_jobs, grid_jobs, pair_jobs

SIZES = (300, 1_000, 3_000, 10_000)
PAIR_SIZES = (500, 11_000)
RESERVES = (0.5, 0.6)
SPLITS, PAIR_SPLITS, CONTESTS, ADVERSARY_RUNS = 60, 20, 60, 100
QUICK = {"fitted": 1_000, "judged": 13_500}
"""A reduced run fits its candidates on fewer rows, and judges them on as few as its splits need."""
QUICK_SPLITS = 2

# --- Goals ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """What a job must reach, in words, and whether it does."""

    words: str
    met: Callable[[Job], bool]


def at_most(value: float, digits: int) -> Goal:
    """A goal that is printed with so many digits, and compared with as many."""
    return Goal(f"at most {value:.{digits}f}", lambda job: round(job.mean, digits) <= value)


def at_least(value: float) -> Goal:
    """A count on average."""
    return Goal(f"at least {value:g}", lambda job: job.mean >= value)


def part_of(most: float) -> Goal:
    """A part of what the alternative needs."""
    return Goal(f"at most {most:g} of the alternative", lambda job: (job.ratio or math.inf) <= most)


def times(least: float) -> Goal:
    """More than the alternative by a factor."""
    return Goal(f"at least {least:g} times the alternative", lambda job: (job.ratio or 0.0) >= least)


SAME = Goal("that of the alternative", lambda job: job.ours == job.beside)


def goals() -> dict[str, Goal]:
    """The goal of every line by its name; jobs that are not named have none and are shown next to."""
    found = {f"fixed grid of 60: winner's half-width, n = {n:,}": part_of(0.86) for n in SIZES}
    found |= {f"fixed grid of 60: true accuracy lost by the choice, n = {n:,}": SAME for n in SIZES[2:]}
    for guess_rows, widths, failures in (
        (1000, (0.072, 0.040, 0.024, 0.018), (0.2, 1.7)),
        (3000, (0.072, 0.039, 0.023, 0.013), (0.0, 0.3)),
    ):
        job = f"the same 60 checked one by one, guesses from {guess_rows:,} rows"
        for n, most in zip(SIZES, widths, strict=True):
            found[f"{job}: mean half-width at the end, n = {n:,}"] = at_most(most, 3)
        for n, most in zip(SIZES[2:], failures, strict=True):
            found[f"{job}: failures, n = {n:,}"] = at_most(most, 1)
    for n, most in zip(SIZES[1:], (0.057, 0.033, 0.018), strict=True):
        job = "5 rounds of 12 by best, guesses from 3,000 rows, then final"
        found[f"{job}: winner's half-width, n = {n:,}"] = at_most(most, 3)
    for reserve in RESERVES:
        job = f"contest of {CONTEST.teams} teams, {CONTEST.rows} rows, {CONTEST.submissions} submissions"
        found[f"{job}: pairs separated, reserve {reserve:g}"] = times(1.15)
    weighted = "406 pairs in one batch, weights from 1,000 other rows"
    found |= {
        "406 pairs in one batch: separated, n = 500": at_least(261),
        f"{weighted}: separated, n = 500": at_least(280),
        "406 pairs in one batch: separated, n = 11,000": times(1.0),
        f"{weighted}: separated, n = 11,000": times(1.0),
        "406 pairs one by one, in the order listed: separated, n = 500": at_least(114),
        "406 pairs one by one, in the order listed: separated, n = 11,000": at_least(345),
        "406 pairs one by one, likely ones first: separated, n = 500": at_least(180),
        "406 pairs one by one, likely ones first: separated, n = 11,000": at_least(348),
    }
    rest = "then one final: half-width, n = 10,000, accuracy 0.85"
    found |= {
        f"1,000 checks without a failure, {rest}": at_most(0.0091, 4),
        f"1,000 checks with 1 failure, {rest}": at_most(0.0172, 4),
        f"1,000 checks with 3 failures, {rest}": at_most(0.0264, 4),
        f"1,000 checks with 3 failures, half of the rows reserved, {rest}": at_most(0.0114, 4),
    }
    return found


# --- Work -------------------------------------------------------------------------------------------------------------

Task = tuple[Callable[..., list[Job]], tuple[Any, ...]]
"""Jobs that are worked out together: a function, and what it is given."""


def grid_tasks(right: Right, sizes: Sequence[int], splits: int, seed: int) -> list[Task]:
    """A grid at several sizes, the longest first."""
    return [(grid_jobs, (right, n, splits, seed)) for n in sorted(sizes, reverse=True)]


def pair_tasks(right: Right, sizes: Sequence[int], splits: int, seed: int) -> list[Task]:
    """All pairs at several sizes."""
    return [(pair_jobs, (right, n, splits, seed)) for n in sizes]


def contest_tasks(splits: int, seed: int, shape: Shape = CONTEST) -> list[Task]:
    """The contest with reserves of several sizes."""
    return [(contest_jobs, (shape, reserve, splits, seed)) for reserve in RESERVES]


def done(tasks: Sequence[Task], processes: int, progress: Progress) -> list[Job]:
    """The jobs of all tasks, in their order, whatever the number of processes."""
    found: dict[int, list[Job]] = {}
    for place, jobs in _each(tasks, processes):
        found[place] = jobs
        progress(len(found) / len(tasks), jobs[0].name)
    return [job for place in range(len(tasks)) for job in found[place]]


def _each(tasks: Sequence[Task], processes: int) -> Iterator[tuple[int, list[Job]]]:
    if processes == 1:
        for place, (work, given) in enumerate(tasks):
            yield place, work(*given)
        return
    with pool(processes) as started:
        waiting = {started.submit(work, *given): place for place, (work, given) in enumerate(tasks)}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def adversary_jobs(adversaries: Sequence[int], runs: int, seed: int) -> list[Job]:
    """Some adversaries, a few runs each: the part of the runs in which something false was said."""
    right = workflow_adversaries.RIGHT
    return [
        Job(
            ADVERSARIES[place].name,
            (workflow_adversaries.false_runs(part, seed) / runs,),
            (ADVERSARIES[place].planned,),
        )
        for place in adversaries
        for part in [workflow_adversaries.Part(place, right, 0, runs)]
    ]


@experiment(
    "workflows",
    title="Each way of working with one holdout next to its best valid alternative on the same rows",
    source="Holdfast, docs/error-budget.md; data of Becker and Kohavi 1996 and of Wang et al. 2024",
    data=(ADULT, MMLU),
    spreads=True,
)
def run(settings: Settings) -> Outcome:
    """Measure every line."""
    quick = settings.quick
    splits, pair_splits, contests = (QUICK_SPLITS,) * 3 if quick else (SPLITS, PAIR_SPLITS, CONTESTS)
    settings.progress(0.0, "sixty candidates are fitted")
    right = adult_candidates(**QUICK if quick else {})
    tasks = [
        *grid_tasks(right, SIZES, splits, settings.seed),
        *pair_tasks(mmlu_right(), PAIR_SIZES, pair_splits, settings.seed),
        *contest_tasks(contests, settings.seed),
        (checks_jobs, (10_000, 0.85, 1_000, (0, 1, 3))),
    ]
    jobs = done(tasks, settings.processes, lambda part, what: settings.progress(0.1 + 0.7 * part, what))
    runs = 10 if quick else ADVERSARY_RUNS
    places = [place for place, one in enumerate(ADVERSARIES) if not quick or one.planned == BETA]
    adversaries = done(
        [(adversary_jobs, ([place], runs, settings.seed)) for place in places[:: 4 if quick else 1]],
        settings.processes,
        lambda part, what: settings.progress(0.8 + 0.2 * part, what),
    )
    return outcome(jobs, adversaries, runs, quick)


def outcome(jobs: Sequence[Job], adversaries: Sequence[Job], runs: int, quick: bool) -> Outcome:
    """The table of all lines that have a goal, everything that was measured, and what holds."""
    known = {job.name: job for job in jobs}
    rows = [_row(known[name], goal) for name, goal in goals().items()]
    rows.append(_adversaries(adversaries, runs))
    said = [job for job in jobs if FALSE in job.name]
    false = sum(sum(bool(count) for count in job.ours) for job in said)
    drawn = sum(len(job.ours) for job in said)
    checks = [
        Check("claims about pairs are true", not exceeds(false, drawn, BETA), f"false in {false} of {drawn} runs"),
        _searched(),
    ]
    if not quick:  # a reduced run has other candidates and too few splits for goals
        checks += [Check(row["job"], row["holds"], f"{row['ours']:g}; {row['goal']}") for row in rows]
    held = sum(row["holds"] for row in rows)
    grid, contest = rows[2], next(row for row in rows if "reserve 0.5" in row["job"])
    return Outcome(
        tables=(
            Table("workflows", "Ours next to the best valid alternative, means over splits", COLUMNS, tuple(rows)),
            Table("measured", "Everything that was measured", MEASURED, tuple(map(_measured, jobs))),
        ),
        checks=tuple(checks),
        finding=(
            f"{held} of {len(rows)} goals are met. A fixed grid of sixty on 3,000 rows has its winner certified to "
            f"{grid['ours']:.4f} where Bonferroni has {grid['alternative']:.4f}; the contest ends with "
            f"{contest['ours']:.0f} pairs told apart where rows kept apart and Bonferroni tell "
            f"{contest['alternative']:.0f}. `holdfast reproduce workflow-adversaries` plays the adversaries at length."
        ),
        parameters={"splits": len(jobs[0].ours), "confidence": 1 - BETA, "runs of each adversary": runs},
        chart=lambda: _chart(jobs),
    )


COLUMNS = ("job", "ours", "alternative", "goal", "holds")
MEASURED = ("job", "splits", "ours", "standard error", "beside", "valid for this job", "ratio")


def _row(job: Job, goal: Goal) -> dict[str, Any]:
    return {
        "job": job.name,
        "ours": job.mean,
        "alternative": job.alternative,
        "goal": goal.words,
        "holds": bool(goal.met(job)),
    }


def _measured(job: Job) -> dict[str, Any]:
    beside = None if job.beside is None else float(np.mean(job.beside))
    return {
        "job": job.name,
        "splits": len(job.ours),
        "ours": job.mean,
        "standard error": job.error,
        "beside": beside,
        "valid for this job": None if beside is None else job.valid,
        "ratio": job.ratio,
    }


def _adversaries(played: Sequence[Job], runs: int) -> dict[str, Any]:
    """All adversaries in one line; each alone, at length, is another experiment."""
    planned = [job.beside[0] for job in played if job.beside is not None]
    counts = [round(job.mean * runs) for job in played]
    return {
        "job": f"{len(played)} adversaries: part of the runs in which something false is said",
        "ours": sum(counts) / (runs * len(counts)),
        "alternative": None,
        "goal": "at most as planned, 5% or 2.5%, each of them (at length: workflow-adversaries)",
        "holds": not any(exceeds(count, runs, most) for count, most in zip(counts, planned, strict=True)),
    }


def _searched() -> Check:
    """A search by the scikit-learn integration certifies what a final on the same rows does."""
    from holdfast.holdout import ReusableHoldout
    from holdfast.integrations.sklearn import ReusableHoldoutSearch

    fitted, held = _example(0, 2000), _example(1, 1000)
    tree = _tree()
    search = ReusableHoldoutSearch(tree, {"max_depth": [1, 2, 3, 4, 5]}, random_state=0)
    search.fit(*fitted, X_holdout=held[0], y_holdout=held[1])
    columns = {f"max_depth={depth}": _tree(depth).fit(*fitted).predict(held[0]) == held[1] for depth in range(1, 6)}
    plain = ReusableHoldout(len(held[1]), final=1.0).final(columns, claims="winner")
    same = search.best_interval_ == plain.winner_interval
    return Check("a search certifies what a final does", bool(same), f"{search.best_interval_}")


def _tree(depth: int | None = None) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth, random_state=0)


def _example(seed: int, rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([7, seed])
    features = rng.normal(size=(rows, 4))
    return features, (features @ np.array([1.0, 1.0, 0.5, 0.0]) + rng.normal(size=rows)) > 0


def _chart(jobs: Sequence[Job]) -> Any:
    import altair as alt

    shown: list[Mapping[str, Any]] = [
        {"job": job.name, "ratio": job.ratio, "beside": "valid" if job.valid else "not valid for this job"}
        for job in jobs
        if job.ratio is not None and job.name in goals()
    ]
    return (
        alt.Chart({"values": shown})
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("ratio:Q", title="ours as a part of what stands next to it"),
            y=alt.Y("job:N", title=None, sort=None, axis=alt.Axis(labelLimit=520)),
            color=alt.Color("beside:N", title="the alternative is", legend=alt.Legend(orient="bottom")),
        )
        .properties(width=320)
    )


__all__ = ["COLUMNS", "Goal", "Task", "contest_tasks", "done", "goals", "grid_tasks", "outcome", "pair_tasks"]
