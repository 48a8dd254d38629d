"""Algorithm 1: the replay of V36, its cost, and that nothing is called certified which is not."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from holdfast.bounds.correlated.influence import QuiltTerms
from holdfast.bounds.correlated.thresholdout import algorithm_1_epsilon, noise_failure
from holdfast.bounds.registry import catalogue
from holdfast.correlated import CorrelatedThresholdout, MarkovChain
from holdfast.correlated.holdout.thresholdout import CorrelatedRules
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.holdout import Claim, NoiseScales, Thresholdout
from holdfast.noise import Grid, Seeded

FINE = Grid(-42)


class ByScale:
    """Injected noise, one list a scale, in the order of drawing."""

    def __init__(self, scales: Any, lists: dict[str, list[float]]) -> None:
        self._left = {getattr(scales, kind): [FINE.index(x) for x in draws][::-1] for kind, draws in lists.items()}

    def __call__(self, scale: int, size: int | None = None, /) -> Any:
        if size is None:
            return self._left[scale].pop()
        return np.array([self._left[scale].pop() for _ in range(size)], dtype=np.int64)

    @property
    def left(self) -> int:
        return sum(map(len, self._left.values()))


QX, QD = (0.50, 0.60, 0.55, 0.40, 0.52), (0.52, 0.45, 0.56, 0.80, 0.51)
THRESHOLD, COMPARISON, RELEASE = [0.003, -0.001, 0.002], [-0.002, 0.001, 0.0005, -0.004], [0.012, -0.02]


def replayed() -> tuple[CorrelatedThresholdout, ByScale]:
    bare = CorrelatedThresholdout(n=5000, threshold=0.075, sigma=0.01, budget=2, grid=FINE)
    # gamma is printed on the statistic's side and drawn on the threshold's: the sign turns
    noise = ByScale(
        bare.scales_on_grid,
        {"threshold": THRESHOLD, "comparison": [-g for g in COMPARISON], "release": RELEASE},
    )
    run = CorrelatedThresholdout(n=5000, threshold=0.075, sigma=0.01, budget=2, grid=FINE, draws=noise)
    return run, noise


def test_replay() -> None:
    """V36: answers .52, .612, .56, .38, bottom; the final noisy threshold .077; nothing left; every draw used."""
    run, noise = replayed()
    answers = [run.query_means(d, x) for x, d in zip(QX, QD, strict=True)]
    assert [a.value for a in answers[:4]] == pytest.approx([0.52, 0.612, 0.56, 0.38], abs=1e-11)
    assert [a.passed for a in answers] == [True, False, True, False, None]
    assert answers[4].value is None
    assert FINE.value(run._secret) == pytest.approx(0.077, abs=1e-11)
    assert (run.left, run.asked, noise.left) == (0, 4, 0)


def test_scales_and_cost() -> None:
    """Ratios 1, 2, 4 and 9B/(4 sigma n): V1 at B = 10, sigma = .01, n = 5000; the other profile is Figure 1's."""
    run = CorrelatedThresholdout(n=5000, threshold=0.075, sigma=0.01, budget=10)
    assert run.rules.scales == NoiseScales(0.01, 0.02, 0.04)
    assert run.cost.epsilon == pytest.approx(0.45, rel=1e-12)
    assert run.cost.epsilon <= algorithm_1_epsilon(10, 0.01, 5000)
    dwork = CorrelatedThresholdout(n=5000, threshold=0.075, sigma=0.01, budget=10, profile="dwork")
    figure = Thresholdout(n=5000, threshold=0.075, sigma=0.01, budget=10)
    assert dwork.cost == figure.cost
    assert dwork.scales_on_grid == figure.scales_on_grid
    wide = CorrelatedThresholdout(n=5000, threshold=0.75, sigma=0.01, budget=10, low=0, high=10)
    assert wide.rules.scales == NoiseScales(0.1, 0.2, 0.4)
    assert wide.cost == run.cost
    own = CorrelatedThresholdout(5000, 0.1, 0.01, 10, scales=NoiseScales(0.1, 0.1, 0.1))
    assert own.cost.epsilon == pytest.approx(10 * 4 / (5000 * 0.1))


def test_bayesian_privacy_is_that_of_the_quilts() -> None:
    quilt = QuiltTerms(9, 0.002)
    run = CorrelatedThresholdout(5000, 0.075, 0.01, 10, quilt=quilt)
    assert run.epsilon_bdp == pytest.approx(9 * 0.45 + 0.004)
    assert math.isinf(CorrelatedThresholdout(5000, 0.075, 0.01, 10).epsilon_bdp)
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], 5000)
    terms = chain.terms(7, 7)
    assert CorrelatedThresholdout(5000, 0.075, 0.01, 10, quilt=terms).epsilon_bdp <= 13 * 0.45 + 2 * terms.influence


def test_heuristic_runs_say_so() -> None:
    """The paper's own settings, and a claim that the theorem does not cover: no interval, not certified."""
    for run in (
        CorrelatedThresholdout(10_000, 0.04, 0.0025, 100),
        CorrelatedThresholdout(10_000, 0.04, 0.0025, 10, quilt=QuiltTerms(), claim=Claim(0.1, 0.05, 1000)),
    ):
        answer = run.query_means(0.6, 0.6)
        assert not run.certified
        assert not answer.guarantee.certified
        assert answer.interval is None
        assert answer.guarantee.assumption.startswith("heuristic")
        assert answer.guarantee.theorem in catalogue()


def test_what_independent_rows_would_certify_is_not_certified_here() -> None:
    """What holds for i.i.d. rows does not under strong influence; without a quilt no claim is taken."""
    plan = Thresholdout.plan(tau=0.1, questions=1000, budget=10)
    assert plan.certified
    run = CorrelatedThresholdout(
        plan.n, plan.threshold, plan.sigma, 10, quilt=QuiltTerms(1, 3.58), claim=Claim(0.1, 0.05, 1000)
    )
    assert (run.certified, run.failure) == (False, 1.0)
    enough = CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=QuiltTerms())
    printed = CorrelatedThresholdout(
        enough.n, 0.075, enough.sigma, 10, quilt=QuiltTerms(), claim=Claim(0.1, 0.05, 1000, certified=False)
    )
    assert (enough.certified, printed.certified) == (True, False)
    with pytest.raises(InvalidParameter, match="quilt"):
        CorrelatedThresholdout(plan.n, plan.threshold, plan.sigma, 10, claim=Claim(0.1, 0.05, 1000))


@pytest.mark.parametrize("quilt", [QuiltTerms(), QuiltTerms(27, 3e-4), QuiltTerms(4, 0.0)])
def test_plans_are_certified_and_nearly_tight(quilt: QuiltTerms) -> None:
    run = CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=quilt)
    assert run.certified
    assert 0.75 * 0.05 <= run.failure <= 0.05
    assert run.threshold == pytest.approx(0.075)
    assert run.sigma == pytest.approx(0.0003690652927, rel=2e-3)  # V6, less the room of the grid
    answer = run.query_means(0.7, 0.72)
    assert answer.interval == pytest.approx((0.6, 0.8))
    assert answer.guarantee.theorem in catalogue()
    assert answer.guarantee.certified
    assert answer.guarantee.parameters["blanket"] == quilt.size
    with pytest.raises(GuaranteeUnavailable, match=r"needs about \d+"):
        CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=quilt, n=int(0.9 * run.n))


def test_with_rows_without_end_only_noise_can_fail() -> None:
    """At a billion records the failure is the union bound of Theorem 2's noise (V9), less the room of the grid."""
    run = CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=QuiltTerms(), n=10**9)
    assert 0.95 * noise_failure(0.05, 1000, 10) <= run.failure <= noise_failure(0.05, 1000, 10)


def test_the_best_of_several_quilts_is_taken() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], 10**9)
    quilts = [chain.terms(lag, lag) for lag in (5, 12, 13, 14, 40)]
    run = CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=quilts)
    assert run.quilt in quilts[1:4]
    assert run.n <= 73_685_824  # V35, which the sharper theorem undercuts


def test_infeasible_is_said_plainly() -> None:
    with pytest.raises(GuaranteeUnavailable, match="no number of records"):
        CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=QuiltTerms(9, 0.3))


def test_claims_hold_under_the_worst_generalisation() -> None:
    """Holdout values as far from the truth as the theorem allows, training values just too far on the same side.

    The noise may fail with probability at most 0.05 a run: more than 8 of 20 runs fail with probability below 1e-6.
    With eight times the noise the same test sees failures (power).
    """
    plan = CorrelatedThresholdout.plan(0.1, 200, 20, quilt=QuiltTerms(), source=Seeded(3))
    room = (0.1 - plan.threshold) / 2

    def misses(scale: float, seed: int) -> int:
        run = CorrelatedThresholdout(
            plan.n, plan.threshold, plan.sigma * scale, 20, quilt=QuiltTerms(), source=Seeded(seed)
        )
        rng, missed = np.random.default_rng(seed), 0
        for _ in range(200):
            truth, side = rng.uniform(0.3, 0.7), rng.choice([-1, 1])
            train = truth + side * (0.101 if rng.random() < 0.3 else 0.0)  # just too far: it must be overruled
            answer = run.query_means(train, truth + side * room)
            missed += answer.value is not None and abs(answer.value - truth) > 0.1
        return missed

    assert sum(misses(1.0, seed) > 0 for seed in range(20)) <= 8
    assert sum(misses(8.0, seed) > 0 for seed in range(20)) > 10


@pytest.mark.parametrize(
    ("quilt", "claim"),
    [
        (None, None),
        (QuiltTerms(), None),
        (QuiltTerms(), Claim(0.03, 0.05, 1000)),  # tau below the threshold
        (QuiltTerms(), Claim(0.1, 0.05, 5)),  # fewer questions than the budget
    ],
)
def test_what_no_theorem_covers_may_fail_for_certain(quilt: QuiltTerms | None, claim: Claim | None) -> None:
    rules = CorrelatedRules(10**9, 0.04, 0.0025, 10, quilt=quilt, claim=claim)
    again = CorrelatedRules.from_dict(json.loads(json.dumps(rules.to_dict())))
    for one in (rules, again):
        assert one.failure == 1.0
        assert not one.certified
    assert again.to_dict() == rules.to_dict()


def test_state_round_trip() -> None:
    run = CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=QuiltTerms(4, 0.0), source=Seeded(1))
    run.query_means(0.9, 0.5)
    plain = json.loads(json.dumps(run.state()))
    twin = CorrelatedThresholdout.from_state(plain)
    assert twin.state() == run.state()
    assert (twin.certified, twin.quilt, twin.left) == (True, QuiltTerms(4, 0.0), 9)
    assert twin.query_means(0.9, 0.5).value == run.query_means(0.9, 0.5).value
    with pytest.raises(InvalidParameter):
        Thresholdout.from_state(plain)
    with pytest.raises(InvalidParameter):
        CorrelatedThresholdout.from_state(Thresholdout(100, 0.1, 0.01, 2).state())
    with pytest.raises(TypeError, match="state"):
        pickle.dumps(run)
    assert str(FINE.value(run._secret)) not in repr(run)
    assert repr(run).startswith("CorrelatedThresholdout(")


@pytest.mark.parametrize(
    "changes",
    [
        {"quilt": 3},
        {"profile": "other"},
        {"budget": 0},
        {"sigma": 0.0},
        {"claim": Claim(0.1, 0.05, 10), "quilt": QuiltTerms(), "sensitivity": 0.1},
        {"claim": Claim(0.1, 0.05, 10), "quilt": QuiltTerms(), "draws": lambda scale, size=None: 0},
    ],
)
def test_refusals(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        CorrelatedThresholdout(**({"n": 100, "threshold": 0.1, "sigma": 0.01, "budget": 2} | changes))


def test_plan_refusals() -> None:
    for changes in ({"quilt": 4}, {"quilt": []}, {"questions": 5}, {"tau": 0.0}, {"confidence": 1.0}, {"split": 1.0}):
        settings = {"tau": 0.1, "questions": 1000, "budget": 10, "quilt": QuiltTerms()} | changes
        with pytest.raises((InvalidParameter, TypeError)):
            CorrelatedThresholdout.plan(**settings)  # type: ignore[arg-type]
