"""The verdict: each group by its own numbers, and the words say what was tested."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.bounds.one_question import clopper_pearson
from holdfast.coherence import Audit, Target, curators, learners, run, single_shot
from holdfast.coherence import significance as significances
from holdfast.coherence.audit import half_split
from holdfast.coherence.significance import assess
from holdfast.coherence.verdict import (
    EXIT_STATUS,
    INCOHERENT,
    LEAK,
    LEAK_ONCE,
    NO_EVIDENCE,
    TOO_SMALL,
    UNDERPOWERED,
    judge,
)
from holdfast.errors import InvalidParameter
from tests.coherence.made_trials import ROWS, finding, made, quick, splits_of


def test_a_leak_in_one_group_and_noise_above_alpha_in_another_are_never_joined() -> None:
    """The large group leaks a little, the tiny one exceeds alpha by chance: neither is incoherent."""
    rng = np.random.default_rng(1)
    inside = splits_of(20, rng)
    tiny, large = np.arange(ROWS) < 20, np.arange(ROWS) >= 1000
    h = rng.choice([-1.0, 1.0], inside.shape)
    h[:, large] = 0.05 * rng.standard_normal((20, 1000)) + 0.1 * inside[:, large]
    judged = judge(quick(made(h, inside, {"tiny": tiny, "large": large})), alpha=0.3)
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
    judged = judge(quick(made(h, inside, {"part": part})), alpha=0.3)
    found = finding(judged, "part")
    assert (judged.outcome, judged.exit_status, found.status) == (INCOHERENT, 1, INCOHERENT)
    assert found.noise_share == 0
    assert found.lower > 0.05
    assert judged.findings[0] is found
    assert finding(judged, "everyone").status == LEAK
    assert finding(judged, "everyone").depends
    assert [f.group for f in judged.offenders()] == ["part", "everyone"]
    assert {point.alpha: point.outcome for point in judged.sensitivity}[1.2] == LEAK
    assert {point.alpha: point.incoherent for point in judged.sensitivity}[0.3] == ("part",)


def test_no_evidence_and_its_words() -> None:
    rng = np.random.default_rng(3)
    inside = splits_of(20, rng)
    judged = judge(quick(made(rng.uniform(-1, 1, inside.shape), inside, {"half": np.arange(ROWS) < 1000})), 0.3)
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
        judged = judge(assess(trials, permutations=199, membership=False), alpha=0.3)
        claims += judged.outcome in (INCOHERENT, LEAK)
        naive += int((trials.bits(0.3) == 0).any())
    assert claims <= binom.isf(1e-6, runs, 0.05) < naive


def test_the_bit_of_the_definition_stands_beside_its_noise_share() -> None:
    rng = np.random.default_rng(15)
    inside = splits_of(20, rng)
    h = rng.choice([-1.0, 1.0], inside.shape)
    trials = made(h, inside, {str(g): np.arange(ROWS) // 40 == g for g in range(10)})
    case = judge(quick(trials), alpha=0.3).cases[0]
    share = float(np.log(0.05))
    assert case.above == int((trials.bits(0.3) == 0).sum()) > 15
    assert case.lower == clopper_pearson(case.above, 20, share, side="lower").low > 0.05
    assert case.upper == clopper_pearson(case.above, 20, share, side="upper").high
    assert case.noise_share is not None
    assert case.noise_share > 0.8
    assert case.outcome == UNDERPOWERED  # the definition fails here by chance alone, so nothing is claimed
    assert "chance alone does that" in case.sentence


def test_one_split_never_says_incoherent() -> None:
    rng = np.random.default_rng(10)
    people = {"id": np.arange(600), "ill": rng.integers(0, 2, 600)}
    where = half_split(600, rng)
    release = {name: values[where] for name, values in people.items()}
    trials = single_shot(people, release, where, learners.Linkage(), target=Target("ill = 1"))
    judged = judge(quick(trials), alpha=0.5)
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
    quiet = single_shot(people, release, where, learners.Constant(), target=Target("ill = 1"))
    assert judge(quick(quiet), alpha=0.5).exit_status == 0


def test_the_paragraph_reads_a_distance_as_people_and_names_who_was_not_judged() -> None:
    rng = np.random.default_rng(15)
    inside = splits_of(12, rng)
    h = np.where(inside, 0.5, -0.5)
    judged = judge(quick(made(h, inside, {})), alpha=0.3)
    worst = judged.findings[0]
    assert worst.excess is not None
    assert f"turned the prediction for {worst.excess / 2:.1%} of its members" in judged.paragraph
    noise = rng.choice([-1.0, 1.0], inside.shape)
    small = judge(quick(made(noise, inside, {"few": np.arange(ROWS) < 40})), alpha=0.2)
    assert "could not be judged at alpha = 0.2 ('few')" in small.paragraph


def test_a_real_audit_end_to_end() -> None:
    rng = np.random.default_rng(11)
    people = {"id": np.arange(800), "ill": rng.integers(0, 2, 800)}
    audit = Audit(people, curators.Clear(), [learners.Linkage(), learners.Constant()], Target("ill = 1"), splits=10)
    found = quick(run(audit))
    judged = judge(found, alpha=0.5)
    assert judged.exit_status == 1
    assert {case.learner: case.outcome for case in judged.cases}["constant"] == NO_EVIDENCE
    assert found.to_dict() == quick(run(audit, workers=2)).to_dict()
    for result in (found.to_dict(), judged.to_dict()):
        assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert found.case("constant", found.cases[0].lens).omnibus == 1
    with pytest.raises(InvalidParameter, match="there are no tests of learner"):
        found.case("constant", "nowhere")


def test_a_distance_is_never_shown_without_its_floor() -> None:
    rng = np.random.default_rng(12)
    inside = splits_of(8, rng)
    judged = judge(quick(made(rng.choice([-1.0, 1.0], inside.shape), inside, {"a": np.arange(ROWS) < 100})), 0.2)
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
    assert judge(found, 0.5).findings[0].measured == 15


def test_wrong_input_is_named() -> None:
    rng = np.random.default_rng(14)
    inside = splits_of(4, rng, 100)
    trials = made(rng.uniform(-1, 1, inside.shape), inside, {})
    found = quick(trials)
    for options, name in (({"alpha": 0}, "alpha"), ({"alpha": 0.2, "beta": 1.5}, "beta"), ({"alpha": 3}, "alpha")):
        with pytest.raises(InvalidParameter, match=name):
            judge(found, **options)
    with pytest.raises(InvalidParameter, match="permutations"):
        assess(trials, permutations=3)
    people = {"id": np.arange(100), "ill": np.tile([0, 1], 50)}
    audit = Audit(people, curators.Clear(), learners.Constant(), Target("ill = 1"), keep_predictions=False)
    with pytest.raises(InvalidParameter, match="keep_predictions"):
        assess(run(audit))


def test_exit_statuses_are_those_of_the_specification() -> None:
    assert EXIT_STATUS == {NO_EVIDENCE: 0, LEAK: 1, LEAK_ONCE: 1, INCOHERENT: 1, UNDERPOWERED: 3}


def test_one_split_spends_all_its_permutations_on_naming_groups() -> None:
    rng = np.random.default_rng(23)
    people = {"row": np.arange(400), "ill": rng.integers(0, 2, 400)}
    inside = half_split(400, rng)
    release = {name: values[inside] for name, values in people.items()}
    trials = single_shot(people, release, inside, learners.Membership(), target=Target("ill = 1"))
    (case,) = assess(trials, permutations=1999).cases
    assert case.p_values == pytest.approx(1 / 2000)
    assert case.omnibus == pytest.approx(1 / 200)  # max-T splits all rows again for each: a tenth
