"""The final of a run: exact values, what is claimed about them at which level, and that all of it holds at once."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest
from scipy.stats import binom

import holdfast as hf
from holdfast.bounds.one_question import blaker, clopper_pearson
from holdfast.bounds.one_question.known_predictions import unlike_rows
from holdfast.core.guarantee import Guarantee
from holdfast.core.strict_json import to_json
from holdfast.errors import InvalidParameter
from holdfast.holdout import metrics
from holdfast.holdout.final import CLAIMS, Finalists, decide_final, split_of
from holdfast.holdout.intervals.betting import Bets
from holdfast.holdout.intervals.paired import MixtureBets
from holdfast.holdout.intervals.procedure import order
from holdfast.holdout.intervals.winner import winner_limits

BETA = 0.05


def grid(n: int, candidates: int = 60, seed: int = 0, best: float = 0.86) -> dict[str, np.ndarray]:
    """Candidates as a search has them: nearly as good as each other, and mostly right on the same rows."""
    rng = np.random.default_rng(seed)
    hard = rng.random(n)
    return {
        f"m{k}": np.where(rng.random(n) < 0.8, hard, rng.random(n)) < accuracy
        for k, accuracy in enumerate(np.linspace(best - 0.03, best, candidates))
    }


def half(ends: tuple[float, float]) -> float:
    return (ends[1] - ends[0]) / 2


# --- values and intervals ---------------------------------------------------------------------------------------------


def test_a_run_that_is_only_a_final_is_bonferroni_with_exact_intervals():
    n, columns = 800, grid(800, 7)
    result = hf.ReusableHoldout(n).final(columns)
    assert result.values == {name: values.mean() for name, values in columns.items()}
    assert result.n == n
    for name, values in columns.items():
        low, high = result.interval[name]
        assert (low, high) == pytest.approx(tuple(blaker(int(values.sum()), n, math.log(BETA / 7))), abs=1e-9)
        classical = clopper_pearson(int(values.sum()), n, math.log(BETA / 7))
        assert classical.low < low < high < classical.high
    assert result.winner_interval == result.interval[result.winner]
    assert result.claims == {"intervals": 1.0}


def test_the_winner_is_the_best_and_the_first_of_equals():
    columns = {"a": [True, False] * 50, "b": [True, True] * 50, "c": [True, True] * 50, "d": [False] * 100}
    assert hf.ReusableHoldout(100).final(columns).winner == "b"
    assert hf.ReusableHoldout(100).final(columns, greater_is_better=False).winner == "d"


@pytest.mark.parametrize("n", [300, 1000, 3000, 10_000])
def test_the_winner_of_a_fixed_grid_is_certified_more_narrowly_than_bonferroni(n):
    """Also where a tenth of the level is for the loss; `test_winner.py` has the limits themselves."""
    columns = grid(n)
    result = hf.ReusableHoldout(n).final(columns, claims="winner")
    ones = int(columns[result.winner].sum())
    found = winner_limits(ones, n, 60, math.log(BETA * 0.9), math.log(BETA * 0.1))
    assert result.winner_interval == pytest.approx((found.low, found.high), abs=1e-9)
    alone = hf.ReusableHoldout(n).final(columns, claims={"winner": 1})
    each = clopper_pearson(ones, n, math.log(BETA / 60))
    assert each[0] <= alone.winner_interval[0] + 1e-9
    assert alone.winner_interval[1] <= each[1]
    assert half(alone.winner_interval) <= 0.86 * half(each)
    assert half(result.winner_interval) <= 0.87 * half(each)
    assert result.interval is None
    assert 0 < result.loss_at_most < 0.2


def test_the_smallest_is_the_mirror_image_of_the_largest():
    n, columns = 500, grid(500, 12)
    turned = {name: ~values for name, values in columns.items()}
    for claims in ("winner", "ranks", {"intervals": 1, "winner": 1, "loss": 1, "ranks": 1}):
        one = hf.ReusableHoldout(n).final(columns, claims=claims)
        other = hf.ReusableHoldout(n).final(turned, claims=claims, greater_is_better=False)
        assert one.winner == other.winner
        assert one.better == other.better
        assert one.ranks == other.ranks
        if one.winner_interval is not None:
            assert other.winner_interval == pytest.approx(tuple(1 - end for end in one.winner_interval[::-1]), abs=1e-9)
        if one.loss_at_most is not None:
            assert other.loss_at_most == pytest.approx(one.loss_at_most, abs=1e-6)


# --- claims -----------------------------------------------------------------------------------------------------------


def test_the_level_is_split_over_the_claims_and_nothing_else_is_said():
    n, columns = 500, grid(500, 6)
    fields = {"intervals": "interval", "winner": "winner_interval", "loss": "loss_at_most", "ranks": "ranks"}
    for claim, field in fields.items():
        result = hf.ReusableHoldout(n).final(columns, claims={claim: 2.0})
        assert result.claims == {claim: 1.0}
        others = [name for name in fields if name != claim and not (claim == "intervals" and name == "winner")]
        assert getattr(result, field) is not None
        assert all(getattr(result, fields[name]) is None for name in others)
        assert (result.better is None) == (claim != "ranks")
    everything = dict.fromkeys(CLAIMS, 1)
    result = hf.ReusableHoldout(n).final(columns, claims=everything)
    assert result.claims == dict.fromkeys(CLAIMS, 0.25)
    ones = int(columns["m0"].sum())
    assert result.interval["m0"] == pytest.approx(tuple(blaker(ones, n, math.log(BETA / 4 / 6))), abs=1e-9)
    # Claims together are no sharper than each by itself with all of the level.
    alone = hf.ReusableHoldout(n).final(columns, claims={"loss": 1})
    assert alone.loss_at_most < result.loss_at_most
    assert hf.ReusableHoldout(n).final(columns, claims="ranks").better >= result.better


@pytest.mark.parametrize("wrong", ["all", [], {}, {"winner": 0}, {"winner": -1}, {"best": 1}, ["ranks", "best"], 7])
def test_wrong_claims_are_refused_and_end_nothing(wrong):
    holdout = hf.ReusableHoldout(10)
    with pytest.raises(InvalidParameter, match="claims"):
        holdout.final({"a": [True] * 10}, claims=wrong)
    assert not holdout.ended
    assert sum(split_of(["winner", "ranks"]).values()) == 1


@pytest.mark.parametrize(
    ("candidates", "says"),
    [
        ({}, "candidates must map 1 to 2000 names"),
        ([[0, 1]], "candidates must map"),
        ({"a": [0.5] * 9}, "a must have one number per row, 10 in all, got 9"),
        ({"a": [2.0] * 10}, "candidates must lie in"),
        ({"a": [math.nan] * 10}, "candidates must lie in"),
        ({1: [True] * 10, "1": [True] * 10}, "different names"),
        ({"a": [True] * 10, "b": metrics.mean([True] * 10, "clopper-pearson")}, "procedure"),
    ],
)
def test_wrong_finalists_are_refused_and_end_nothing(candidates, says):
    holdout = hf.ReusableHoldout(10)
    with pytest.raises(InvalidParameter, match=says):
        holdout.final(candidates)
    assert not holdout.ended
    assert holdout.final({"a": [True] * 10}).winner == "a"


def test_one_finalist():
    result = hf.ReusableHoldout(100).final({"a": [True, False] * 50}, claims=dict.fromkeys(CLAIMS, 1))
    assert result.loss_at_most == 0.0
    assert result.ranks == {"a": (1, 1)}
    assert result.better == frozenset()


def test_nothing_left_for_a_final():
    holdout = hf.ReusableHoldout(100, questions=1, final=0.0)
    holdout.check([True, False] * 50, 0.5)
    with pytest.raises(hf.errors.BudgetExhausted, match="plan one with final="):
        holdout.final({"a": [True, False] * 50})
    assert not holdout.ended
    assert len(holdout.close()) == 1


# --- bounded values and metrics ---------------------------------------------------------------------------------------


def bounded(n: int, count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(np.linspace(2, 3, count)[:, None], 1.5, (count, n)), -5, 10)


def test_bounded_values_have_betting_intervals():
    n, columns = 300, bounded(300, 4)
    named = dict(zip("abcd", columns, strict=True))
    result = hf.ReusableHoldout(n, low=-5, high=10).final(named, claims=dict.fromkeys(CLAIMS, 1))
    level = math.log(BETA / 4)
    best = "abcd".index(result.winner)
    for name, values in named.items():
        own = Bets.on(values[order(n)], -5, 10).interval(level - math.log(4))
        assert result.interval[name] == pytest.approx(own, abs=1e-6)
    lower = Bets.on(columns[best][order(n)], -5, 10).interval(level - math.log(8), "lower")[0]
    upper = max(Bets.on(one[order(n)], -5, 10).interval(level - math.log(2), "upper")[1] for one in columns)
    assert result.winner_interval == pytest.approx((lower, upper), abs=1e-6)
    losses = [
        Bets.on((one - columns[best])[order(n)], -15, 15).interval(level - math.log(3), "upper")[1]
        for place, one in enumerate(columns)
        if place != best
    ]
    assert result.loss_at_most == pytest.approx(max(0.0, *losses), abs=1e-6)


def test_the_order_of_the_rows_is_not_that_of_a_sorted_file():
    n = 400
    values = np.sort(np.random.default_rng(1).random(n))
    low, high = hf.ReusableHoldout(n).final({"a": values}).interval["a"]
    assert low < values.mean() < high
    assert high - low < 0.25


def test_metrics_bring_their_own_intervals():
    n = 600
    rng = np.random.default_rng(4)
    labels = rng.random(n) < 0.5
    made = {
        f"s{k}": metrics.auc(labels.astype(int), labels * gap + rng.normal(size=n)) for k, gap in enumerate((0.3, 2.5))
    }
    result = hf.ReusableHoldout(n).final(made, claims=dict.fromkeys(CLAIMS, 1))
    level = math.log(BETA / 4)
    for name, metric in made.items():
        assert result.interval[name] == pytest.approx(metric.interval(level - math.log(2)), abs=1e-9)
        assert result.values[name] == metric.value
    assert result.better == {("s1", "s0")}
    lower = made["s1"].interval(level - math.log(4), "lower")[0]
    assert result.winner_interval[0] == pytest.approx(lower, abs=1e-9)
    assert result.loss_at_most < 0.2


# --- forms ------------------------------------------------------------------------------------------------------------


def test_a_result_is_plain_data_and_prints():
    n = 300
    holdout = hf.ReusableHoldout(n, questions=5)
    columns = grid(n, 3)
    holdout.check(columns["m0"], 0.2)
    result = holdout.final(columns, claims=dict.fromkeys(CLAIMS, 1))
    plain = json.loads(to_json(result.to_dict()))
    assert plain["winner"] == result.winner
    assert len(plain["revealed"]) == 1
    assert plain["guarantee"]["theorem"] == "holdout.error-allocation"
    text = str(result)
    assert "below the truly best one" in text
    assert text.count("rank") == 3
    assert repr(Finalists.of_columns(np.eye(3), 0, 1, True)) == "Finalists(3 of 3 rows)"


# --- rows that are not alike ------------------------------------------------------------------------------------------


def test_rows_that_are_not_alike_have_wider_limits_and_mixture_bets():
    columns = np.array(list(grid(500, 4).values()), dtype=float)
    finalists = Finalists.of_columns(columns, 0.0, 1.0, True)
    counted = Finalists(500, 0.0, 1.0, True, finalists.ones, finalists.wins)
    share = math.log(0.01)
    ones = int(finalists.ones[0])
    assert finalists.limits(0, share, "both", False) == tuple(clopper_pearson(ones, 500, unlike_rows(share)))
    gap = MixtureBets.on(columns[1] - columns[0], -1.0, 1.0).interval(share, "upper")[1]
    assert finalists.gap_at_most(1, 0, share, False) == pytest.approx(gap, abs=1e-6)
    assert counted.gap_at_most(1, 0, share, True) == pytest.approx(gap, abs=1e-6)  # counts have no order to bet in
    # Beyond one quarter for a tail nothing is proved, so a larger share is not used.
    for side, tail in (("both", 0.5), ("lower", 0.25), ("upper", 0.25)):
        capped = finalists.limits(0, math.log(0.9), side, False)
        assert capped == pytest.approx(finalists.limits(0, math.log(tail) - 1e-8, side, False), abs=1e-6)


# --- all of it holds at once ------------------------------------------------------------------------------------------

RUNS = 150


def too_many(runs: int = RUNS, chance: float = BETA) -> int:
    """A binomial exceeds this with probability at most 1e-6."""
    return int(binom.isf(1e-6, runs, chance))


def equal_candidates(how: str, seed: int = 5, count: int = 15, n: int = 60) -> int:
    """In how many runs is something false said about fair coins?"""
    rng = np.random.default_rng(seed)
    wrong, nothing = 0, Guarantee("none")
    for _ in range(RUNS):
        columns = (rng.random((count, n)) < 0.5).astype(float)
        finalists = Finalists.of_columns(columns, 0.0, 1.0, how != "bounded")
        names = [str(k) for k in range(count)]
        if how == "lower limit not divided":
            best = int(np.argmax(finalists.means))
            low = finalists.limits(best, math.log(BETA / 2), "lower", True)[0]
            wrong += low > 0.5
            continue
        claims = split_of("winner" if how != "intervals" else "intervals")
        found = decide_final(finalists, names, math.log(BETA), claims, nothing, greater_is_better=how != "smallest")
        held = found.winner_interval[0] <= 0.5 <= found.winner_interval[1]
        wrong += not held or (found.loss_at_most is not None and found.loss_at_most < 0)
    return wrong


@pytest.mark.parametrize("how", ["winner", "smallest", "bounded", "intervals"])
def test_the_winner_of_equal_candidates_is_held(how):
    assert equal_candidates(how) <= too_many()


def test_a_lower_limit_that_does_not_pay_for_the_choice_is_found_out():
    assert equal_candidates("lower limit not divided") > too_many()


def choices(divided: bool, seed: int = 6, n: int = 80) -> int:
    """In how many runs is the loss more than what is said, where many are a little worse than the best one?"""
    rng = np.random.default_rng(seed)
    truth = np.array([0.52] + [0.4] * 15)
    wrong = 0
    for _ in range(RUNS):
        columns = (rng.random((16, n)) < truth[:, None]).astype(float)
        finalists = Finalists.of_columns(columns, 0.0, 1.0, True)
        counted = Finalists(n, 0.0, 1.0, True, finalists.ones, finalists.wins)
        if divided:
            loss = decide_final(
                counted, list(map(str, range(16))), math.log(BETA), {"loss": 1.0}, Guarantee("none")
            ).loss_at_most
        else:  # wrong on purpose: what the sample says, as if the winner had been fixed
            best = int(np.argmax(finalists.means))
            loss = max(0.0, float(finalists.means[0] - finalists.means[best]))
        best = int(np.argmax(finalists.means))
        wrong += truth[0] - truth[best] > loss
    return wrong


def test_what_the_choice_may_have_lost_is_held():
    assert choices(True) <= too_many()
    assert choices(False) > too_many()


def test_a_final_of_many_columns_is_quick():
    """Sixty columns of 10,000 rows with winner and loss, and all ranks of 29 models: about a second each, with room."""
    columns = grid(10_000)
    began = time.process_time()
    hf.ReusableHoldout(10_000).final(columns, claims="winner")
    models = grid(12_032, 29, seed=2)
    hf.ReusableHoldout(12_032).final(models, claims="ranks")
    assert time.process_time() - began < 10


def test_one_finalist_loses_nothing_by_the_choice_and_has_the_whole_level():
    """Its interval is that of one fixed question; the loss of a choice among one takes no part of the level."""
    right = {"only": np.arange(1000) < 850}
    result = hf.ReusableHoldout(1000, final=1.0).final(right, claims="winner")
    fixed = blaker(850, 1000, math.log(BETA))
    assert result.loss_at_most == 0.0
    assert result.winner_interval == pytest.approx((fixed.low, fixed.high), abs=1e-9)


def test_a_revealed_sign_test_is_shown_in_direction_only():
    """What it certified is on which side of 0 the difference lies: one half of the range says no more."""
    holdout = hf.ReusableHoldout(1000, questions=5)
    holdout.compare(np.arange(1000) < 800, np.arange(1000) < 650)
    (exact,) = holdout.close()
    assert exact.interval == (0.0, 1.0)
    assert str(exact).startswith("passed: 0.15 in direction only (holdout.error-allocation")
