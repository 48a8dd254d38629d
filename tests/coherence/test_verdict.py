"""The verdict: each group by its own numbers, partial results never pass, and the words say what was tested."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.bounds.holm import holm
from holdfast.bounds.one_question import clopper_pearson
from holdfast.coherence import Audit, GroupPlan, Table, Target, Trials, curators, learners, run, single_shot
from holdfast.coherence import significance as significances
from holdfast.coherence.failures import Failure
from holdfast.coherence.lenses import Lens
from holdfast.coherence.significance import Significance, significance
from holdfast.coherence.significance_cross import cross_test, mean_excess
from holdfast.coherence.split import half_split
from holdfast.coherence.verdict import (
    EXIT_STATUS,
    INCOHERENT,
    LEAK,
    LEAK_ONCE,
    NO_EVIDENCE,
    NOT_MEASURED,
    TOO_SMALL,
    UNDERPOWERED,
    GroupFinding,
    Verdict,
    verdict,
)
from holdfast.errors import InvalidParameter

ROWS = 2000


def made(
    predictions: np.ndarray,
    inside: np.ndarray,
    masks: dict[str, np.ndarray],
    *,
    failures: tuple[Failure, ...] = (),
    mode: str = "repeated",
) -> Trials:
    """Trials of one learner and lens from predictions (splits x rows); NaN rows are splits that failed."""
    splits, rows = predictions.shape
    groups = GroupPlan(masks, min_size=2).resolve(Table.of({"row": np.arange(rows)}))
    distance = np.full((splits, 1, 1, len(groups)), np.nan)
    counts = []
    for k in range(splits):
        known = np.nan_to_num(predictions[k])
        found = groups.distances(known, inside[k])
        counts.append((found.inside, found.outside))
        if np.isfinite(predictions[k]).all():
            distance[k, 0, 0] = found.distance
    return Trials(
        groups=groups,
        lenses=(Lens("everything", ("row",)),),
        learners=("given",),
        rows=np.arange(rows),
        inside=inside,
        distance=distance,
        inside_count=np.array([a for a, _ in counts]),
        outside_count=np.array([b for _, b in counts]),
        predictions=predictions[:, None, None, :],
        failures=failures,
        notes=(),
        mode=mode,
        metric="wasserstein",
        digests=(None,) * splits,
    )


def splits_of(count: int, rng: np.random.Generator, rows: int = ROWS) -> np.ndarray:
    return np.array([half_split(rows, rng) for _ in range(count)])


def finding(judged: Verdict, group: str) -> GroupFinding:
    return next(found for found in judged.findings if found.group == group)


def quick(trials: Trials, **options: Any) -> Significance:
    return significance(trials, permutations=999, **options)


def test_a_leak_in_one_group_and_noise_above_alpha_in_another_are_never_joined() -> None:
    """The large group leaks a little, the tiny one exceeds alpha by chance: neither is incoherent."""
    rng = np.random.default_rng(1)
    inside = splits_of(20, rng)
    tiny, large = np.arange(ROWS) < 20, np.arange(ROWS) >= 1000
    h = rng.choice([-1.0, 1.0], inside.shape)
    h[:, large] = 0.05 * rng.standard_normal((20, 1000)) + 0.1 * inside[:, large]
    judged = verdict(quick(made(h, inside, {"tiny": tiny, "large": large})), alpha=0.3)
    assert judged.outcome == LEAK
    assert judged.exit_status == 1
    assert finding(judged, "tiny").status == TOO_SMALL
    assert finding(judged, "tiny").above > 5
    assert not finding(judged, "tiny").depends
    assert finding(judged, "large").status == LEAK
    assert finding(judged, "large").above == 0
    # The paragraph names the leaking group with its own numbers, and the tiny group's distances nowhere.
    assert "'large'" in judged.paragraph
    assert f"{finding(judged, 'tiny').mean:.3g}" not in judged.paragraph


def test_incoherent_needs_more_than_chance_and_more_than_beta() -> None:
    rng = np.random.default_rng(2)
    inside = splits_of(20, rng)
    part = np.arange(ROWS) < 400
    h = 0.1 * rng.standard_normal(inside.shape).clip(-3, 3)
    h[:, part] += np.where(inside[:, part], 0.6, 0.0)
    judged = verdict(quick(made(h, inside, {"part": part})), alpha=0.3)
    found = finding(judged, "part")
    assert (judged.outcome, judged.exit_status, found.status) == (INCOHERENT, 2, INCOHERENT)
    assert found.noise_share == 0
    assert found.lower > 0.05
    assert judged.findings[0] is found
    assert finding(judged, "everyone").status == LEAK
    assert finding(judged, "everyone").depends
    assert [f.group for f in judged.offenders()] == ["part", "everyone"]
    assert {point.alpha: point.outcome for point in judged.sensitivity}[1.2] == LEAK
    assert {point.alpha: point.incoherent for point in judged.sensitivity}[0.3] == ("part",)


@pytest.mark.parametrize(("tests", "needed"), [(1, 4), (82, 6)])
def test_failures_that_refute_beta(tests: int, needed: int) -> None:
    """Section 4.6: of 20 splits, at beta .05, 4 above alpha in one group, 6 where 82 groups are judged."""
    share = float(np.log(0.05 / tests))
    assert clopper_pearson(needed, 20, share, side="lower").low > 0.05
    assert clopper_pearson(needed - 1, 20, share, side="lower").low <= 0.05


def test_no_evidence_and_its_words() -> None:
    rng = np.random.default_rng(3)
    inside = splits_of(20, rng)
    judged = verdict(quick(made(rng.uniform(-1, 1, inside.shape), inside, {"half": np.arange(ROWS) < 1000})), 0.3)
    assert (judged.outcome, judged.exit_status, judged.partial) == (NO_EVIDENCE, 0, False)
    assert "no proof" in judged.paragraph
    assert "safe" not in str(judged).lower()
    assert repr(judged) == "Verdict(NO EVIDENCE, exit status 0)"


def test_false_claims_are_rare_and_the_naive_bit_is_not() -> None:
    """Coin flips in 6 groups of 100: at most 5% of verdicts claim anything, but with probability 1e-6; the raw maximum
    over groups exceeds alpha in nearly all.
    """
    rng = np.random.default_rng(4)
    runs, claims, naive = 60, 0, 0
    masks = {str(g): np.arange(600) // 100 == g for g in range(6)}
    for _ in range(runs):
        inside = splits_of(10, rng, 600)
        trials = made(rng.choice([-1.0, 1.0], inside.shape), inside, masks)
        judged = verdict(significance(trials, permutations=199, membership=False), alpha=0.3)
        claims += judged.outcome in (INCOHERENT, LEAK)
        naive += int((trials.bits(0.3) == 0).any())
    assert claims <= binom.isf(1e-6, runs, 0.05) < naive


def test_the_bit_of_the_definition_stands_beside_its_noise_share() -> None:
    rng = np.random.default_rng(15)
    inside = splits_of(20, rng)
    h = rng.choice([-1.0, 1.0], inside.shape)
    trials = made(h, inside, {str(g): np.arange(ROWS) // 40 == g for g in range(10)})
    case = verdict(quick(trials), alpha=0.3).cases[0]
    share = float(np.log(0.05))
    assert case.above == int((trials.bits(0.3) == 0).sum()) > 15
    assert case.lower == clopper_pearson(case.above, 20, share, side="lower").low > 0.05
    assert case.upper == clopper_pearson(case.above, 20, share, side="upper").high
    assert case.noise_share is not None
    assert case.noise_share > 0.8
    assert case.outcome == UNDERPOWERED  # the definition fails here by chance alone, so nothing is claimed
    assert "chance alone does that" in case.sentence


def test_small_groups_are_not_a_pass() -> None:
    rng = np.random.default_rng(5)
    inside = splits_of(20, rng)
    h = rng.choice([-1.0, 1.0], inside.shape)
    judged = verdict(quick(made(h, inside, {"small": np.arange(ROWS) < 60})), alpha=0.3)
    small = finding(judged, "small")
    assert small.status in (TOO_SMALL, UNDERPOWERED)
    assert small.size_needed is not None
    assert small.size_needed > 60
    assert judged.exit_status == 3
    assert "could not be judged" in judged.paragraph


def test_too_few_splits_are_not_a_pass() -> None:
    rng = np.random.default_rng(6)
    inside = splits_of(3, rng)
    judged = verdict(quick(made(0.01 * rng.uniform(-1, 1, inside.shape), inside, {})), alpha=0.5)
    assert (judged.outcome, judged.exit_status) == (UNDERPOWERED, 3)
    assert "So few splits" in judged.cases[0].sentence


def test_partial_results_say_so_and_never_pass() -> None:
    rng = np.random.default_rng(7)
    inside = splits_of(20, rng)
    h = rng.uniform(-1, 1, inside.shape)
    h[3] = np.nan
    failed = (Failure(3, "given", "everything", "learner-crashed", "it crashed"),)
    judged = verdict(quick(made(h, inside, {"half": np.arange(ROWS) < 1000}, failures=failed)), alpha=0.3)
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
    judged = verdict(quick(made(np.full(inside.shape, np.nan), inside, {}, failures=failed)), alpha=0.3)
    assert (judged.outcome, judged.exit_status, judged.partial) == (UNDERPOWERED, 3, True)
    assert {found.status for found in judged.findings} == {NOT_MEASURED}
    assert "no test was possible" in judged.cases[0].sentence


def test_a_partial_leak_is_still_a_leak() -> None:
    rng = np.random.default_rng(9)
    inside = splits_of(12, rng)
    h = 0.5 * inside + 0.1 * rng.uniform(-1, 1, inside.shape)
    h[0] = np.nan
    failed = (Failure(0, None, None, "curator-crashed", "it crashed"),)
    judged = verdict(quick(made(h, inside, {}, failures=failed)), alpha=0.3)
    assert (judged.outcome, judged.exit_status, judged.partial) == (INCOHERENT, 2, True)
    assert judged.paragraph.startswith("PARTIAL")


def test_one_split_never_says_incoherent() -> None:
    rng = np.random.default_rng(10)
    people = {"id": np.arange(600), "ill": rng.integers(0, 2, 600)}
    where = half_split(600, rng)
    release = {name: values[where] for name, values in people.items()}
    trials = single_shot(people, release, where, learners.Linkage(), target=Target("ill", equals=1))
    judged = verdict(quick(trials), alpha=0.5)
    assert (judged.outcome, judged.exit_status) == (LEAK_ONCE, 1)
    assert "One split only" in judged.paragraph
    worst = judged.findings[0]
    assert worst.mean is not None
    assert worst.mean > 0.5
    assert judged.paragraph.startswith("LEAK: ")  # the distance is above alpha: it must not be called a leak below it
    assert "On this split it is above alpha = 0.5" in judged.paragraph
    assert not any("measured on one another" in message for message in judged.messages)
    assert {(found.lower, found.upper) for found in judged.findings} == {(0.0, 1.0)}
    assert all("random re-assignments" in " ".join(found.sentences) for found in judged.findings)
    quiet = single_shot(people, release, where, learners.Constant(), target=Target("ill", equals=1))
    assert verdict(quick(quiet), alpha=0.5).exit_status == 0


def test_the_paragraph_reads_a_distance_as_people_and_names_who_was_not_judged() -> None:
    rng = np.random.default_rng(15)
    inside = splits_of(12, rng)
    h = np.where(inside, 0.5, -0.5)
    judged = verdict(quick(made(h, inside, {})), alpha=0.3)
    worst = judged.findings[0]
    assert worst.excess is not None
    assert f"turned the prediction for {worst.excess / 2:.1%} of its members" in judged.paragraph
    noise = rng.choice([-1.0, 1.0], inside.shape)
    small = verdict(quick(made(noise, inside, {"few": np.arange(ROWS) < 40})), alpha=0.2)
    assert "could not be judged at alpha = 0.2 ('few')" in small.paragraph


def test_nothing_measured_is_said_as_such() -> None:
    rng = np.random.default_rng(16)
    inside = splits_of(6, rng)
    failed = (Failure(0, None, None, "curator-crashed", "it crashed"),)
    judged = verdict(quick(made(np.full(inside.shape, np.nan), inside, {}, failures=failed)), alpha=0.3)
    assert judged.exit_status == 3
    assert judged.paragraph.endswith("UNDERPOWERED: nothing was measured, so nothing is known about any group.")


def test_a_real_audit_end_to_end() -> None:
    rng = np.random.default_rng(11)
    people = {"id": np.arange(800), "ill": rng.integers(0, 2, 800)}
    audit = Audit(
        people, curators.Clear(), [learners.Linkage(), learners.Constant()], Target("ill", equals=1), splits=10
    )
    found = quick(run(audit))
    judged = verdict(found, alpha=0.5)
    assert judged.exit_status == 2
    assert {case.learner: case.outcome for case in judged.cases}["constant"] == NO_EVIDENCE
    assert found.to_dict() == quick(run(audit, workers=2)).to_dict()
    for result in (found.to_dict(), judged.to_dict()):
        assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert found.case("constant", found.cases[0].lens).omnibus == 1
    with pytest.raises(InvalidParameter, match="no case"):
        found.case("constant", "nowhere")


def test_a_distance_is_never_shown_without_its_floor() -> None:
    rng = np.random.default_rng(12)
    inside = splits_of(8, rng)
    judged = verdict(quick(made(rng.choice([-1.0, 1.0], inside.shape), inside, {"a": np.arange(ROWS) < 100})), 0.2)
    for found in judged.findings:
        assert found.floor is not None
        assert f"chance alone gives {found.floor:.3g}" in found.sentences[0]
        assert "largest" not in " ".join(found.sentences)
    assert "maximum" not in judged.paragraph


def test_only_the_first_splits_are_crossed_and_all_count_for_beta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significances, "MOST_CROSSED", 6)
    rng = np.random.default_rng(13)
    inside = splits_of(15, rng, 400)
    found = quick(made(rng.uniform(-1, 1, inside.shape), inside, {}))
    assert (found.cases[0].crossed, found.cases[0].splits) == (6, 15)
    assert any("measured on one another" in message for message in found.messages)
    assert verdict(found, 0.5).findings[0].measured == 15


def test_wrong_input_is_named() -> None:
    rng = np.random.default_rng(14)
    inside = splits_of(4, rng, 100)
    trials = made(rng.uniform(-1, 1, inside.shape), inside, {})
    found = quick(trials)
    for options, name in (({"alpha": 0}, "alpha"), ({"alpha": 0.2, "beta": 1.5}, "beta"), ({"alpha": 3}, "alpha")):
        with pytest.raises(InvalidParameter, match=name):
            verdict(found, **options)
    with pytest.raises(InvalidParameter, match="permutations"):
        significance(trials, permutations=3)
    people = {"id": np.arange(100), "ill": np.tile([0, 1], 50)}
    audit = Audit(people, curators.Clear(), learners.Constant(), Target("ill", equals=1), keep_predictions=False)
    with pytest.raises(InvalidParameter, match="keep_predictions"):
        significance(run(audit))


def test_exit_statuses_are_those_of_the_specification() -> None:
    assert EXIT_STATUS == {NO_EVIDENCE: 0, LEAK: 1, LEAK_ONCE: 1, INCOHERENT: 2, UNDERPOWERED: 3}


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


def judge(drafts: list[dict[str, Any]], alpha: float, beta: float = 0.05) -> Verdict:
    cases = significances._corrected(drafts)
    names = tuple(f"g{g}" for g in range(drafts[0]["mean"].size))
    return verdict(
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
    judged = judge([draft], 1.5)
    assert judged.outcome == NO_EVIDENCE
    assert judged.offenders() == ()
    assert not any(f.depends or f.status == LEAK for f in judged.findings)


def test_a_declared_group_that_is_too_small_to_measure_is_no_pass() -> None:
    rng = np.random.default_rng(21)
    people = {"row": np.arange(400), "part": np.arange(400) // 20, "ill": rng.integers(0, 2, 400)}

    def judged(plan: GroupPlan) -> Verdict:
        trials = run(Audit(people, curators.Clear(), learners.CoinFlip(), Target("ill", equals=1), plan, splits=8))
        return verdict(quick(trials), alpha=1.0)

    asked = judged(GroupPlan({"few": np.arange(400) < 30}))
    assert (asked.outcome, asked.exit_status) == (UNDERPOWERED, 3)
    assert any("'few' was asked for and not measured" in said for said in asked.messages)
    assert judged(GroupPlan(columns=["part"])).exit_status == 0  # values that occur are listed, and nobody asked


def test_no_raw_distance_without_a_floor() -> None:
    """One split has no other to be measured on, so there is no floor: then the largest distance is not told either."""
    rng = np.random.default_rng(22)
    for splits in (1, 3):
        h = rng.uniform(-1, 1, (splits, ROWS))
        judged = verdict(quick(made(h, splits_of(splits, rng), {"part": np.arange(ROWS) < 300})), alpha=0.2)
        assert judged.exit_status == 3
        for found in judged.findings:
            assert (found.largest is None) == (found.floor is None) == (splits == 1)
            assert found.status == NOT_MEASURED or splits > 1


def test_one_split_spends_all_its_permutations_on_naming_groups() -> None:
    rng = np.random.default_rng(23)
    people = {"row": np.arange(400), "ill": rng.integers(0, 2, 400)}
    inside = half_split(400, rng)
    release = {name: values[inside] for name, values in people.items()}
    trials = single_shot(people, release, inside, learners.Membership(), target=Target("ill", equals=1))
    (case,) = significance(trials, permutations=1999).cases
    assert case.p_values == pytest.approx(1 / 2000)
    assert case.omnibus == pytest.approx(1 / 200)  # max-T splits all rows again for each: a tenth


def test_the_omnibus_is_corrected_over_learners_and_lenses() -> None:
    """Ten learners, one of them with p = 0.02 by chance: no leak. With p = 0.004 it is one."""
    calm = np.full((20, 20, 2), 0.01)
    for p, outcome in ((0.02, NO_EVIDENCE), (0.004, LEAK)):
        drafts = [drafted(calm, learner=f"learner {i}", omnibus=p if i == 3 else 0.5) for i in range(10)]
        judged = judge(drafts, 0.2)
        assert judged.outcome == outcome
        assert [case.omnibus_adjusted for case in judged.cases][3] == pytest.approx(10 * p)
        allowed = clopper_pearson(0, 20, np.log(0.05 / 10), side="upper").high
        assert [case.upper for case in judged.cases] == pytest.approx([allowed] * 10)


def test_beta_noise_share_floor_and_a_tie_with_alpha_each_decide() -> None:
    cross = np.full((20, 20, 1), 0.01)
    cross[np.arange(12), np.arange(12)] = 0.5  # 12 of 20 splits above 0.2: at least 0.39 of them, with confidence 95%
    (found,) = judge([drafted(cross)], 0.2, 0.05).findings
    assert found.status == INCOHERENT
    assert found.lower == pytest.approx(clopper_pearson(12, 20, np.log(0.05), side="lower").low)
    assert judge([drafted(cross)], 0.2, found.lower - 0.01).outcome == INCOHERENT
    assert judge([drafted(cross)], 0.2, found.lower + 0.01).outcome == NO_EVIDENCE  # beta tolerates that often
    (tied,) = judge([drafted(cross)], 0.5, 0.05).findings
    assert (tied.above, tied.status) == (0, NO_EVIDENCE)  # above alpha, not at it
    for floor, status in ((0.099, NO_EVIDENCE), (0.101, UNDERPOWERED)):
        (found,) = judge([drafted(np.full((20, 20, 1), floor))], 0.2).findings
        assert found.status == status
