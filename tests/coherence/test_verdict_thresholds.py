"""Each threshold of the verdict decides alone: correction over groups and learners, beta, noise share, floor, ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.bounds.one_question import clopper_pearson
from holdfast.bounds.p_value import holm
from holdfast.coherence import significance as significances
from holdfast.coherence.significance import Significance, cross_test, mean_excess
from holdfast.coherence.verdict import (
    INCOHERENT,
    LEAK,
    NO_EVIDENCE,
    UNDERPOWERED,
    Verdict,
    judge,
)


def drafted(cross: np.ndarray, **fields: Any) -> dict[str, Any]:
    """A case before correction, from distances of predictor k under split j (splits x splits x groups)."""
    splits, _, groups = cross.shape
    known = mean_excess(cross)
    nothing = np.full(groups, np.nan)
    draft: dict[str, Any] = {"learner": "a", "lens": "b", "asked": splits, "splits": splits, "crossed": splits}
    draft |= {"mean": known.mean, "floor": known.floor, "excess": known.excess}
    draft |= {"excess_low": known.low, "excess_high": known.high, "membership": nothing, "least_p": 0.0005}
    draft |= {"distance": np.einsum("kkg->kg", cross), "cross": cross, "test": "cross-evaluation"}
    return draft | {"p_values": np.ones(groups), "omnibus": 1.0} | fields


def judged_drafts(drafts: list[dict[str, Any]], alpha: float, beta: float = 0.05) -> Verdict:
    cases = significances._corrected(drafts)
    names = tuple(f"g{g}" for g in range(drafts[0]["mean"].size))
    return judge(
        Significance(names, (500,) * len(names), cases, "repeated", "wasserstein", 1999, False, ()), alpha, beta
    )


def test_no_group_is_named_where_the_omnibus_sees_nothing() -> None:
    """Spikes in many groups drown the largest standardised sum; one group's own p-value survives Holm's method."""
    splits, groups = 12, 20
    for seed in range(40):
        rng = np.random.default_rng(seed)
        cross = rng.random((splits, splits, groups)) * 0.01
        for g in range(1, groups):
            cross[rng.integers(splits), rng.integers(splits), g] += 1.0
        cross[:, :, 0] = rng.random((splits, splits)) * 0.05 + np.eye(splits) * 0.02
        tested = cross_test(cross, rng, 1999)
        if min(holm(tested.p_values.tolist())) <= 0.05 and tested.omnibus > 0.2:
            break
    else:
        pytest.fail("no such case was drawn")
    draft = drafted(cross, p_values=tested.p_values, omnibus=tested.omnibus)
    (case,) = significances._corrected([draft])
    np.testing.assert_array_equal(case.p_adjusted, np.maximum(holm(tested.p_values.tolist()), tested.omnibus))
    judged = judged_drafts([draft], 1.5)
    assert judged.outcome == NO_EVIDENCE
    assert judged.offenders() == ()
    assert not any(f.depends or f.status == LEAK for f in judged.findings)


def test_the_omnibus_is_corrected_over_learners_and_lenses() -> None:
    """Ten learners, one of them with p = 0.02 by chance: no leak. With p = 0.004 it is one."""
    calm = np.full((20, 20, 2), 0.01)
    for p, outcome in ((0.02, NO_EVIDENCE), (0.004, LEAK)):
        drafts = [drafted(calm, learner=f"learner {i}", omnibus=p if i == 3 else 0.5) for i in range(10)]
        judged = judged_drafts(drafts, 0.2)
        assert judged.outcome == outcome
        assert [case.omnibus_adjusted for case in judged.cases][3] == pytest.approx(10 * p)
        allowed = clopper_pearson(0, 20, np.log(0.05 / 10), side="upper").high
        assert [case.upper for case in judged.cases] == pytest.approx([allowed] * 10)


def test_beta_noise_share_floor_and_a_tie_with_alpha_each_decide() -> None:
    cross = np.full((20, 20, 1), 0.01)
    cross[np.arange(12), np.arange(12)] = 0.5  # 12 of 20 splits above 0.2: at least 0.39 of them, with confidence 95%
    (found,) = judged_drafts([drafted(cross)], 0.2, 0.05).findings
    assert found.status == INCOHERENT
    assert found.lower == pytest.approx(clopper_pearson(12, 20, np.log(0.05), side="lower").low)
    assert judged_drafts([drafted(cross)], 0.2, found.lower - 0.01).outcome == INCOHERENT
    assert judged_drafts([drafted(cross)], 0.2, found.lower + 0.01).outcome == NO_EVIDENCE  # beta tolerates that often
    (tied,) = judged_drafts([drafted(cross)], 0.5, 0.05).findings
    assert (tied.above, tied.status) == (0, NO_EVIDENCE)  # above alpha, not at it
    for floor, status in ((0.099, NO_EVIDENCE), (0.101, UNDERPOWERED)):
        (found,) = judged_drafts([drafted(np.full((20, 20, 1), floor))], 0.2).findings
        assert found.status == status


@pytest.mark.parametrize(("tests", "needed"), [(1, 4), (82, 6)])
def test_failures_that_refute_beta(tests: int, needed: int) -> None:
    """Section 4.6: of 20 splits, at beta .05, 4 above alpha in one group, 6 where 82 groups are judged."""
    share = float(np.log(0.05 / tests))
    assert clopper_pearson(needed, 20, share, side="lower").low > 0.05
    assert clopper_pearson(needed - 1, 20, share, side="lower").low <= 0.05
