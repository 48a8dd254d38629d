"""What could not be measured or judged is never a pass."""

from __future__ import annotations

import numpy as np

from holdfast.bounds.one_question import clopper_pearson
from holdfast.coherence import Audit, GroupPlan, Target, curators, learners, run
from holdfast.coherence.failures import Failure
from holdfast.coherence.verdict import (
    INCOHERENT,
    NOT_MEASURED,
    TOO_SMALL,
    UNDERPOWERED,
    Verdict,
    judge,
)
from tests.coherence.made_trials import ROWS, finding, made, quick, splits_of


def test_small_groups_are_not_a_pass() -> None:
    rng = np.random.default_rng(5)
    inside = splits_of(20, rng)
    h = rng.choice([-1.0, 1.0], inside.shape)
    judged = judge(quick(made(h, inside, {"small": np.arange(ROWS) < 60})), alpha=0.3)
    small = finding(judged, "small")
    assert small.status in (TOO_SMALL, UNDERPOWERED)
    assert small.size_needed is not None
    assert small.size_needed > 60
    assert judged.exit_status == 3
    assert "could not be judged" in judged.paragraph


def test_too_few_splits_are_not_a_pass() -> None:
    rng = np.random.default_rng(6)
    inside = splits_of(3, rng)
    judged = judge(quick(made(0.01 * rng.uniform(-1, 1, inside.shape), inside, {})), alpha=0.5)
    assert (judged.outcome, judged.exit_status) == (UNDERPOWERED, 3)
    assert "So few splits" in judged.cases[0].sentence


def test_partial_results_say_so_and_never_pass() -> None:
    rng = np.random.default_rng(7)
    inside = splits_of(20, rng)
    h = rng.uniform(-1, 1, inside.shape)
    h[3] = np.nan
    failed = (Failure(3, "given", "everything", "learner-crashed", "it crashed"),)
    judged = judge(quick(made(h, inside, {"half": np.arange(ROWS) < 1000}, failures=failed)), alpha=0.3)
    assert (judged.outcome, judged.exit_status, judged.partial) == (UNDERPOWERED, 3, True)
    assert judged.paragraph.startswith("PARTIAL")
    assert any("crashed" in message for message in judged.messages)
    half = finding(judged, "half")
    assert (half.measured, half.asked, half.above) == (19, 20, 0)
    # The missing split counts as above alpha in the upper limit.
    share = float(np.log(0.05 / 2))
    assert half.upper == clopper_pearson(1, 20, share, side="upper").high
    assert "PARTIAL" in repr(judged)


def test_nothing_measured_is_not_a_pass() -> None:
    rng = np.random.default_rng(8)
    inside = splits_of(5, rng)
    failed = tuple(Failure(k, None, None, "curator-hung", "it hung") for k in range(5))
    judged = judge(quick(made(np.full(inside.shape, np.nan), inside, {}, failures=failed)), alpha=0.3)
    assert (judged.outcome, judged.exit_status, judged.partial) == (UNDERPOWERED, 3, True)
    assert {found.status for found in judged.findings} == {NOT_MEASURED}
    assert "no test was possible" in judged.cases[0].sentence


def test_a_partial_leak_is_still_a_leak() -> None:
    rng = np.random.default_rng(9)
    inside = splits_of(12, rng)
    h = 0.5 * inside + 0.1 * rng.uniform(-1, 1, inside.shape)
    h[0] = np.nan
    failed = (Failure(0, None, None, "curator-crashed", "it crashed"),)
    judged = judge(quick(made(h, inside, {}, failures=failed)), alpha=0.3)
    assert (judged.outcome, judged.exit_status, judged.partial) == (INCOHERENT, 1, True)
    assert judged.paragraph.startswith("PARTIAL")


def test_nothing_measured_is_said_as_such() -> None:
    rng = np.random.default_rng(16)
    inside = splits_of(6, rng)
    failed = (Failure(0, None, None, "curator-crashed", "it crashed"),)
    judged = judge(quick(made(np.full(inside.shape, np.nan), inside, {}, failures=failed)), alpha=0.3)
    assert judged.exit_status == 3
    assert judged.paragraph.endswith("UNDERPOWERED: nothing was measured, so nothing is known about any group.")


def test_a_declared_group_that_is_too_small_to_measure_is_no_pass() -> None:
    rng = np.random.default_rng(21)
    people = {"row": np.arange(400), "part": np.arange(400) // 20, "ill": rng.integers(0, 2, 400)}

    def judged(plan: GroupPlan) -> Verdict:
        trials = run(Audit(people, curators.Clear(), learners.CoinFlip(), Target("ill = 1"), plan, splits=8))
        return judge(quick(trials), alpha=1.0)

    asked = judged(GroupPlan({"few": np.arange(400) < 30}))
    assert (asked.outcome, asked.exit_status) == (UNDERPOWERED, 3)
    assert any("'few' was asked for and not measured" in said for said in asked.messages)
    assert judged(GroupPlan(columns=["part"])).exit_status == 0  # values that occur are listed, and nobody asked


def test_no_raw_distance_without_a_floor() -> None:
    """One split has no other to be measured on, so there is no floor: then the largest distance is not told either."""
    rng = np.random.default_rng(22)
    for splits in (1, 3):
        h = rng.uniform(-1, 1, (splits, ROWS))
        judged = judge(quick(made(h, splits_of(splits, rng), {"part": np.arange(ROWS) < 300})), alpha=0.2)
        assert judged.exit_status == 3
        for found in judged.findings:
            assert (found.largest is None) == (found.floor is None) == (splits == 1)
            assert found.status == NOT_MEASURED or splits > 1
