"""The workflows: alternatives are what they are said to be, jobs come out as they should, and goals can be missed."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from holdfast.bounds.one_question import clopper_pearson
from holdfast.cli.main import run
from holdfast_papers.real_data import DataAbsent, Right
from holdfast_papers.registry import experiments
from holdfast_papers.reuse import workflow_validation, workflows
from holdfast_papers.reuse.workflow_data import CONTEST, GRID, OTHER_GRID, adult_candidates, contest, mmlu_right
from holdfast_papers.reuse.workflow_jobs import (
    Job,
    by_bonferroni,
    by_holm,
    checks_jobs,
    contest_jobs,
    contest_limits,
    contest_rows,
    grid_jobs,
    grid_limits,
    pair_jobs,
)
from holdfast_papers.reuse.workflow_validation import line_of
from holdfast_papers.reuse.workflows import COLUMNS, SIZES, at_least, at_most, done, goals, part_of, times

CONTESTS = 8
"""Fewer do not show that weights from the true gaps are better than those that explored rows suggest."""


def drawn(accuracies: np.ndarray, rows: int, seed: int) -> Right:
    """Models whose errors go together, as those of real ones do."""
    rng = np.random.default_rng(seed)
    return rng.random((len(accuracies), rows)) < 0.4 * (rng.random(rows) < 0.9) + (accuracies[:, None] - 0.36)


@pytest.fixture(scope="module")
def grid() -> Right:
    return drawn(np.linspace(0.80, 0.87, 60), 13_500, 1)


@pytest.fixture(scope="module")
def models() -> Right:
    return drawn(np.linspace(0.40, 0.75, 29), 12_032, 2)


@pytest.fixture(scope="module")
def jobs(grid: Right, models: Right) -> list[Job]:
    """Every job of the experiment on drawn data, one split each."""
    found = [job for n in SIZES for job in grid_jobs(grid, n, 1, 3)]
    found += [job for n in workflows.PAIR_SIZES for job in pair_jobs(models, n, 1, 3)]
    found += [job for reserve in workflows.RESERVES for job in contest_jobs(CONTEST, reserve, CONTESTS, 3)]
    return found + checks_jobs(10_000, 0.85, 1_000, (0, 1, 3))


def named(jobs: list[Job]) -> dict[str, Job]:
    return {job.name: job for job in jobs}


def test_grids_are_sixty_candidates() -> None:
    assert len({tuple(one.items()) for one in GRID}) == len({tuple(one.items()) for one in OTHER_GRID}) == 60


def test_bonferroni_and_holm_are_exact_two_sided_tests_of_each_pair(models: Right) -> None:
    few = models[::3, :800]
    p_values = []
    for i, j in combinations(range(len(few)), 2):
        wins, losses = int((few[i] & ~few[j]).sum()), int((few[j] & ~few[i]).sum())
        p_values.append(float(binomtest(wins, wins + losses).pvalue))
    apart = sum(p <= 0.05 / len(p_values) for p in p_values)
    differ = 0
    while differ < len(p_values) and sorted(p_values)[differ] <= 0.05 / (len(p_values) - differ):
        differ += 1
    assert by_bonferroni(few) == apart
    assert by_holm(few) == differ
    assert 0 < apart < differ < len(p_values)
    assert by_holm(few[:1]) == 0


def test_every_goal_is_about_a_job_and_most_hold_on_drawn_data(jobs: list[Job]) -> None:
    known = named(jobs)
    assert set(goals()) <= set(known)
    relative = [name for name, goal in goals().items() if "alternative" in goal.words and "contest" not in name]
    assert [name for name in relative if not goals()[name].met(known[name])] == []
    assert sum(sum(job.ours) for job in jobs if "claims that are false" in job.name) == 0


def test_a_fixed_grid_beats_bonferroni_on_the_same_rows(grid: Right) -> None:
    (width, lost, *_) = grid_jobs(grid, 300, 2, 5)
    assert width.beside is not None
    for split in range(2):
        rows = np.random.default_rng([5, 300, split]).permutation(grid.shape[1])[:300]
        ones = int(grid[:, rows].sum(axis=1).max())
        low, high = clopper_pearson(ones, 300, float(np.log(0.05 / 60)))
        assert width.beside[split] == pytest.approx((high - low) / 2, rel=1e-12)
        assert width.ours[split] < width.beside[split]
    assert lost.ours == lost.beside


def test_many_checks_then_a_final_as_printed() -> None:
    """Nothing here is drawn: these are the lines of the full run."""
    found = checks_jobs(10_000, 0.85, 1_000, (0, 1, 3))
    assert [round(job.mean, 4) for job in found] == [0.009, 0.0172, 0.0264, 0.0114]
    assert all(goals()[job.name].met(job) for job in found)
    assert found[0].alternative == pytest.approx(0.00705, abs=1e-5)


def test_teams_climb_on_explored_rows_alone() -> None:
    explored = np.arange(0, CONTEST.rows, 2)
    played = contest(4, explored)
    assert played.right.shape == (43, 809)
    assert played.improvements > 10
    assert np.all(np.diff(CONTEST.accuracies) > 0)
    # On reserved rows what was chosen scores its truth; 5.5 standard errors of the mean of all teams' columns.
    reserved = np.setdiff1d(np.arange(CONTEST.rows), explored)
    gaps = played.right[:, reserved].mean(axis=1) - played.true
    assert abs(gaps.mean()) < 5.5 * 0.5 / np.sqrt(len(reserved))
    flattered = played.right[:, explored].mean(axis=1) - played.true
    assert flattered.mean() > gaps.mean()


def test_goals_can_be_missed() -> None:
    wide, few = Job("wide", (0.0921, 0.0921), (0.1, 0.1)), Job("few", (114.0, 112.0), (100.0, 100.0), larger=True)
    assert at_most(0.092, 3).met(wide)
    assert not at_most(0.091, 3).met(wide)
    assert not part_of(0.86).met(wide)
    assert at_least(113).met(few)
    assert not at_least(114).met(few)
    assert times(1.13).met(few)
    assert not times(1.15).met(few)
    assert not workflows.SAME.met(wide)


def test_the_outcome_has_the_rows_of_the_contract(jobs: list[Job]) -> None:
    played = [Job("an adversary", (0.02,), (0.05,))]
    outcome = workflows.outcome(jobs, played, 100, quick=True)
    assert outcome.tables[0].columns == COLUMNS == ("job", "ours", "alternative", "goal", "holds")
    assert len(outcome.tables[0].rows) == len(goals()) + 1
    assert all(isinstance(row["holds"], bool) for row in outcome.tables[0].rows)
    assert outcome.passed
    assert outcome.chart is not None
    outcome.chart().to_dict()
    caught = workflows.outcome(jobs, [Job("an adversary", (0.4,), (0.05,))], 100, quick=False)
    assert [check.name for check in caught.checks if "adversaries" in check.name and not check.passed]


def test_one_experiment_prints_its_first_table_as_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "coherence-table-1", "--quick", "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == found["experiments"][0]["tables"][0]["rows"]
    assert {"workflows", "workflows-validation", "workflow-adversaries"} <= set(experiments())


def test_work_gives_the_same_jobs_in_order(models: Right) -> None:
    few = models[:4, :1_600]
    told: list[float] = []
    found = done([(pair_jobs, (few, n, 1, 1)) for n in (300, 200)], 1, lambda part, what: told.append(part))
    assert found == pair_jobs(few, 300, 1, 1) + pair_jobs(few, 200, 1, 1)
    assert told == [0.5, 1.0]


def test_validation_compares_lines_and_sees_one_that_is_behind(jobs: list[Job], grid: Right) -> None:
    found = dict.fromkeys(("first data", "other splits", "other data", "further data"), jobs)
    some = grid_limits(grid, SIZES[0], 1, 3)
    some += [job for reserve in workflows.RESERVES for job in contest_limits(CONTEST, reserve, CONTESTS, 3)]
    some += [job for reserve in workflows.RESERVES for job in contest_rows(CONTEST, reserve, CONTESTS, 3)]
    limits = dict.fromkeys(("first data", "further data"), some)
    outcome = workflow_validation.outcome(found, limits, quick=False)
    assert outcome.passed
    # What is not to be had is better than what is: fewer pairs are ours, and no intervals that are noticeably shorter.
    assert [row["behind"] for row in outcome.tables[1].rows] == [0.0] * 7
    judged = {row["line"]: row["ratio"] for row in outcome.tables[0].rows}
    for row in outcome.tables[1].rows:
        better = (
            row["ratio"] < 1.005 * judged[row["line"]] if "grid" in row["line"] else row["ratio"] > judged[row["line"]]
        )
        assert better, row
    for row in outcome.tables[2].rows:  # a fifth more pairs take more than a fifth more rows
        assert 1.15 < row["ratio"] < 809 / 404
        assert row["behind"] == 0.0
    worse = [
        Job(job.name, tuple(1.06 * x for x in job.ours), job.beside, job.valid) if "winner's" in job.name else job
        for job in jobs
    ]
    behind = workflow_validation.outcome(found | {workflow_validation.DATA: worse}, limits, quick=False)
    failed = [check.name for check in behind.checks if not check.passed]
    assert failed == [f"fixed grid of 60: winner's half-width, n = {n:,}: other data" for n in SIZES]
    assert line_of("406 pairs in one batch: separated, n = 500") == "all pairs in one batch: separated, n = 500"


def test_real_models_on_one_split() -> None:
    """The lines of MMLU-Pro on one named split, and that no claim is contradicted by all questions."""
    try:
        right = mmlu_right()
    except DataAbsent as error:
        pytest.skip(str(error))
    assert right.shape == (29, 12_032)
    found = named(pair_jobs(right, 500, 1, 1))
    batch = found["406 pairs in one batch: separated, n = 500"]
    assert batch.beside is not None
    assert batch.ours[0] >= batch.beside[0]
    weighted = found["406 pairs in one batch, weights from 1,000 other rows: separated, n = 500"]
    assert weighted.ours[0] > batch.ours[0]
    listed = found["406 pairs one by one, in the order listed: separated, n = 500"]
    first = found["406 pairs one by one, likely ones first: separated, n = 500"]
    assert 80 < listed.ours[0] < first.ours[0]
    assert sum(sum(job.ours) for name, job in found.items() if "claims that are false" in name) == 0


def test_real_candidates_are_judged_on_rows_they_were_not_fitted_on() -> None:
    try:
        right = adult_candidates(fitted=400, judged=300)
    except DataAbsent as error:
        pytest.skip(str(error))
    assert right.shape == (60, 300)
    assert 0.7 < right.mean() < 0.87
