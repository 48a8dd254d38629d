"""Adversaries of the error budget: reduced runs of all of them, and wrong versions that are caught."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast_papers.binomial import exceeds
from holdfast_papers.reuse.adversaries import ADVERSARIES, BETA, RUNS, misses, noise, vote
from holdfast_papers.reuse.workflow_adversaries import RIGHT, Part, false_runs, outcome, parts, runs_of

PLACE = {adversary.name: place for place, adversary in enumerate(ADVERSARIES)}
CAUGHT_SOON = {
    "12 bits, vote to the final": 40,
    "12 failed checks with cells, vote to the final, everything revealed": 40,
    "60 bits, vote to the final on a reserve": 20,
    "sixty equal candidates, winner's interval": 40,
    "sixty equal candidates, winner by name to the final": 40,
    "eight equal models far above eight equal ones, ranks": 30,
    "four rounds of best with values, vote of the winners": 20,
    "12 bits, every one announced as sure to fail": 40,
    "12 bits announced as sure to fail, after 20 failures that were foreseen": 40,
    "two phases: 30 exact values, vote to the second final": 20,
    "rows that are not alike, ranks and intervals": 20,
    "100 labels from refusals for missing values, prediction to the final": 20,
    "100 labels of reserved rows from refusals, prediction to the final on the reserve": 20,
    "finals that are refused unless they would be false": 20,
    "finals on a reserve that are refused unless they would be false": 20,
}


def test_names_are_different_and_every_kind_is_there() -> None:
    assert len(PLACE) == len(ADVERSARIES)
    kinds = ("bits", "cells", "reserve", "sixty equal", "sixteen equal", "best with values", "sure to fail", "private")
    for word in (*kinds, "p-value", "two phases", "keep apart", "share answers", "not alike", "stakes", "refused"):
        assert any(word in name for name in PLACE), word
    assert {adversary.planned for adversary in ADVERSARIES} == {BETA, BETA / 2}


@pytest.mark.parametrize("place", range(len(ADVERSARIES)), ids=list(PLACE))
def test_a_few_runs_hold(place: int) -> None:
    """Not all of five runs are false: that has a probability below 4e-7 where 5% are planned."""
    runs = 5
    assert false_runs(Part(place, RIGHT, 0, runs), seed=11) < runs


@pytest.mark.parametrize("name", CAUGHT_SOON)
def test_versions_that_leave_out_a_charge_are_caught(name: str) -> None:
    """The same exact test, at an error of 1e-6, in a few runs; the library as it is passes it in as many."""
    place, runs = PLACE[name], CAUGHT_SOON[name]
    planned = ADVERSARIES[place].planned
    for version in range(len(ADVERSARIES[place].wrong)):
        assert exceeds(false_runs(Part(place, version, 0, runs), seed=12), runs, planned)
    assert not exceeds(false_runs(Part(place, RIGHT, 0, runs), seed=12), runs, planned)


def test_parts_are_all_runs_once_and_no_count_depends_on_them() -> None:
    found = parts(quick=False)
    for place, adversary in enumerate(ADVERSARIES):
        mine = [part for part in found if (part.adversary, part.version) == (place, RIGHT)]
        assert sorted(number for part in mine for number in range(part.first, part.first + part.runs)) == list(
            range(RUNS)
        )
        assert {part.version for part in found if part.adversary == place} == {RIGHT, *range(len(adversary.wrong))}
    whole = false_runs(Part(0, 0, 0, 30), 1)
    assert whole == false_runs(Part(0, 0, 0, 10), 1) + false_runs(Part(0, 0, 10, 20), 1)


def test_the_outcome_sees_too_many_failures_and_a_wrong_version_that_is_not_caught() -> None:
    counts = {
        (place, version): 0 if version == RIGHT else runs_of(place, version, quick=False)
        for place, adversary in enumerate(ADVERSARIES)
        for version in range(RIGHT, len(adversary.wrong))
    }
    good = outcome(counts, quick=False)
    assert good.passed
    assert good.finding.endswith("were caught.")
    assert good.chart is not None
    good.chart().to_dict()
    bad = outcome(counts | {(0, RIGHT): 200, (1, 0): 5}, quick=False)
    assert len([check for check in bad.checks if not check.passed]) == 2


def test_the_truth_of_a_vote_is_one_half() -> None:
    """With weights that owe nothing to the rows: 200,000 rows, 5.5 standard errors, so an error below 4e-8."""
    rng = np.random.default_rng(3)
    columns = noise(rng, 7, 200_000)
    assert abs(vote(columns, rng.normal(size=7), rng).mean() - 0.5) < 5.5 * 0.5 / np.sqrt(200_000)
    assert vote(columns, columns.mean(axis=1) - 0.5, rng).mean() > 0.5
    assert misses((0.51, 0.6))
    assert not misses((0.5, 0.6))
    assert not misses(None)
