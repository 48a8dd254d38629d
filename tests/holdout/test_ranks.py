"""Ranks: Holm with transitivity, how many hypotheses can be true at once, weights, and the level for equal models."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import binom

from holdfast.errors import InvalidParameter
from holdfast.holdout import ranks as module
from holdfast.holdout.final import Finalists
from holdfast.holdout.intervals.paired import log_sign_p_value
from holdfast.holdout.ranks import (
    Forecast,
    Passing,
    Ranks,
    forecast_from,
    most_true,
    names_of,
    pair_statistics,
    rank,
    sign_p_values,
)

LEVEL = 0.05
HYPOTHESIS = settings(deadline=None, derandomize=True, max_examples=60)


def weighted(weights: np.ndarray) -> Forecast:
    """Weights that expect nothing of any pair."""
    return Forecast(weights, np.zeros_like(weights))


def closed(better: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """What follows by transitivity, pair by pair."""
    while True:
        further = better | {(i, last) for i, j in better for k, last in better if j == k}
        if further == better:
            return better
        better = further


def plain_holm(p: np.ndarray, level: float, weights: np.ndarray) -> set[tuple[int, int]]:
    """Weighted Holm one hypothesis at a time, with transitivity, from the definition."""
    count = len(p)
    every = {(i, j) for i in range(count) for j in range(count) if i != j}
    better: set[tuple[int, int]] = set()
    while True:
        left = sum(weights[pair] for pair in every - better)
        found = [pair for pair in every - better if p[pair] <= level * weights[pair] / left * (1 - 1e-12)]
        if not found:
            return better
        better = closed(better | {found[0]})


def p_values(seed: int, count: int) -> np.ndarray:
    """Many small ones in one direction, as of models that differ, and noise."""
    rng = np.random.default_rng(seed)
    order = rng.random(count)
    z = 4 * (order[:, None] - order[None, :]) + rng.normal(size=(count, count))
    return np.clip(np.exp(-(np.maximum(z, 0.0) ** 2)), 1e-12, 1.0)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("uneven", [False, True])
def test_holm_is_holm_where_nothing_is_known_about_how_many_can_be_true(monkeypatch, seed, uneven):
    count = 3 + seed % 5
    p = p_values(seed, count)
    weights = np.random.default_rng(seed).uniform(0.1, 5, (count, count)) if uneven else np.ones((count, count))
    forecast = weighted(weights) if uneven else None
    monkeypatch.setattr(module, "_EVENLY", 1.0)  # the whole level is for all at large
    plain = plain_holm(p, LEVEL, weights)
    full = rank(np.log(p), math.log(LEVEL), forecast).better
    assert plain <= full  # a sharper count of what can be true only adds
    monkeypatch.setattr(module, "_MOST_EXACT", 0)
    assert rank(np.log(p), math.log(LEVEL), forecast).better == plain
    assert closed(set(full)) == full


def test_ranges_are_what_the_claims_leave():
    """Against every order of the candidates that agrees with the claims."""
    for seed in range(12):
        found = rank(np.log(p_values(seed, 5)), math.log(LEVEL))
        possible: list[set[int]] = [set() for _ in range(5)]
        for order in itertools.permutations(range(5)):
            place = {one: position for position, one in enumerate(order, 1)}
            if all(place[i] < place[j] for i, j in found.better):
                for one in range(5):
                    possible[one].add(place[one])
        assert found.ranges == tuple((min(one), max(one)) for one in possible)
        assert found.separated == len(found.better)


# --- how many can be true ---------------------------------------------------------------------------------------------


def weak_orders(count: int) -> Iterator[tuple[int, ...]]:
    """Every way to rank candidates with ties, as a level for each."""
    for levels in itertools.product(range(count), repeat=count):
        if set(levels) == set(range(max(levels) + 1)):
            yield levels


ORDERS = {count: np.array(list(weak_orders(count))) for count in (2, 3, 4, 5)}


def truly_most(weights: np.ndarray, better: np.ndarray) -> float:
    """The largest weight of hypotheses "i is no better than j" over all weak orders that agree with the claims."""
    levels = ORDERS[len(weights)]
    above = levels[:, :, None] > levels[:, None, :]
    agree = ~(better[None] & ~above).any(axis=(1, 2))
    return float((weights[None] * ~above)[agree].sum(axis=(1, 2)).max())


def some_claims(rng: np.random.Generator, count: int) -> np.ndarray:
    """Claims that agree with some order, closed under transitivity."""
    order = rng.permutation(count)
    better = np.zeros((count, count), dtype=np.bool_)
    for i, j in itertools.combinations(range(count), 2):
        better[order[i], order[j]] = rng.random() < rng.uniform(0, 0.8)
    return module._closed(better)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_bound_of_what_can_be_true_is_a_bound(count):
    """Against all weak orders, for equal and for random weights; never more than all that is left, and often less."""
    assert len(ORDERS[count]) == {2: 3, 3: 13, 4: 75, 5: 541}[count]
    rng = np.random.default_rng(count)
    sharper = reached = 0
    for case in range(150):
        better = some_claims(rng, count)
        weights = np.ones((count, count)) if case % 2 else rng.exponential(size=(count, count)) ** 3
        weights *= 1 - np.eye(count)
        exact, bound, left = truly_most(weights, better), most_true(weights, better), weights[~better].sum()
        assert exact - 1e-9 <= bound <= left + 1e-9
        sharper += bound < left - 1e-9
        reached += bound < exact * (1 + 1e-9)
    assert reached > 20
    assert sharper > 20 or count == 2


def test_bounds_that_are_too_small_are_found_out():
    """Two wrong versions: of a pair that is not told apart at most one is true; the lightest ones are equal."""
    rng = np.random.default_rng(1)
    one_of_two = lightest = 0
    for _ in range(60):
        better = some_claims(rng, 4)
        weights = rng.exponential(size=(4, 4)) ** 3 * (1 - np.eye(4))
        free = ~(better | better.T) & ~np.eye(4, dtype=np.bool_)
        lighter = np.where(free, np.minimum(weights, weights.T), 0.0)
        left = weights[~better].sum()
        exact = truly_most(weights, better)
        one_of_two += left - lighter.sum() / 2 < exact - 1e-9
        equal = 0.0
        for i in range(4):
            others = np.flatnonzero(free[i])
            most = module._most_apart_from_none(better[np.ix_(others, others)])
            equal += np.sort(lighter[i, others])[:most].sum() / 2
        lightest += left - lighter.sum() / 2 + equal < exact - 1e-9
    assert one_of_two > 0
    assert lightest > 0


def test_the_largest_set_that_is_not_told_apart():
    """Dilworth, against all subsets."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        better = some_claims(rng, 6)
        largest = max(
            len(some)
            for size in range(1, 7)
            for some in itertools.combinations(range(6), size)
            if not better[np.ix_(some, some)].any()
        )
        assert module._most_apart_from_none(better) == largest


# --- weights ----------------------------------------------------------------------------------------------------------


@HYPOTHESIS
@given(st.integers(2, 7), st.integers(10, 5000), st.integers(10, 5000), st.floats(-30, -0.5), st.integers(0, 99))
def test_weights_are_positive_and_add_up_to_one(count, n, others, log_level, seed):
    rng = np.random.default_rng(seed)
    columns = rng.random((count, 200)) < rng.random((count, 1))
    weights = forecast_from(pair_statistics(columns), n, others, log_level).weights
    off = ~np.eye(count, dtype=np.bool_)
    assert (weights[off] > 0).all()
    assert weights[off].sum() == pytest.approx(1)
    assert (weights[~off] == 0).all()


def test_forecast_from_other_rows_find_more():
    rng = np.random.default_rng(8)
    truth = np.linspace(0.5, 0.72, 12)
    more = []
    for _ in range(12):
        shared = rng.random(500)
        tested = (0.5 * shared + 0.5 * rng.random((12, 500))) < truth[:, None]
        shared = rng.random(1000)
        other = (0.5 * shared + 0.5 * rng.random((12, 1000))) < truth[:, None]
        finalists = Finalists.of_columns(tested.astype(float), 0.0, 1.0, True)
        forecast = forecast_from(pair_statistics(other), 500, 1000, math.log(LEVEL))
        plain = finalists.ranks(math.log(LEVEL), None, True).separated
        more.append(finalists.ranks(math.log(LEVEL), forecast, True).separated - plain)
    assert sum(more) > 0


def test_the_p_values_of_many_pairs_are_those_of_each_and_never_below_the_exact_ones():
    rng = np.random.default_rng(8)
    wins = rng.integers(0, 60, (30, 30))
    wins[0, 1:] = wins[1:, 0] = 0
    wins[0, 1], wins[0, 2] = 1, 50
    logs = sign_p_values(wins)
    for i, j in itertools.permutations(range(30), 2):
        won, lost = int(wins[i, j]), int(wins[j, i])
        assert logs[i, j] == pytest.approx(log_sign_p_value(won, lost), rel=1e-12, abs=1e-12)
        ways = sum(math.comb(won + lost, k) for k in range(won, won + lost + 1))
        exact = min(0.0, math.log(ways) - (won + lost) * math.log(2))
        assert logs[i, j] >= exact if won > lost else logs[i, j] == 0
    large = np.array([[0, 51_000_000, 70_000], [50_000_000, 0, 900], [69_000, 800, 0]])
    assert sign_p_values(large)[0, 1:] == pytest.approx(
        [log_sign_p_value(51_000_000, 50_000_000), log_sign_p_value(70_000, 69_000)], rel=1e-12
    )


# --- where a level goes -----------------------------------------------------------------------------------------------


def nested_claims(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Some claims, and the same with more of them; both closed under transitivity, in any order of the candidates."""
    order, places = rng.permutation(count), rng.random((count, count))
    few, many = np.zeros((count, count), dtype=np.bool_), np.zeros((count, count), dtype=np.bool_)
    for i, j in itertools.combinations(range(count), 2):
        few[order[i], order[j]], many[order[i], order[j]] = places[i, j] < 0.3, places[i, j] < 0.7
    return module._closed(few), module._closed(few | many)


def handed_on(self: Passing, claimed: np.ndarray, parts: int = 2) -> tuple[np.ndarray, float]:
    """The definition: one pair after the other, from the one that is furthest apart on."""
    pairs = list(zip(*(ends.tolist() for ends in self._pairs), strict=True))
    level, outside = self._initial.tolist(), len(pairs)
    for place, (i, j) in enumerate(pairs):
        if claimed[i, j]:
            later = range(place + 1, outside)
            mine = next((at for at in later if pairs[at][0] == i), None)
            other = next((at for at in later if pairs[at][1] == j), None)
            closer = [at for at in (mine, other) if at is not None] or [outside]
            given, level[place] = level[place], 0.0
            for at in closer:
                level[at] += given if parts == 1 else given / len(closer)
    found = np.zeros(claimed.shape)
    found[self._pairs] = level[:outside]
    return found, level[outside]


def test_levels_are_those_that_are_handed_on_one_after_the_other():
    rng = np.random.default_rng(6)
    for count in (2, 3, 9, 30):
        for part in (0.0, 0.2, 0.7, 1.0):
            passing = Passing(forecast_from(pair_statistics(rng.random((count, 9)).round(1)), 50, 9, math.log(LEVEL)))
            claimed = rng.random((count, count)) < part
            (levels, outside), (right, at_large) = passing.levels(claimed), handed_on(passing, claimed)
            assert np.allclose(levels, right, rtol=1e-12, atol=1e-300)
            assert outside == pytest.approx(at_large, rel=1e-9)


def handed_on_twice(self: Passing, claimed: np.ndarray) -> tuple[np.ndarray, float]:
    """Wrong on purpose: both of the closer pairs get all of a level."""
    return handed_on(self, claimed, parts=1)


def settled_either_way(self: Passing, claimed: np.ndarray) -> tuple[np.ndarray, float]:
    """Wrong on purpose: a pair that is claimed the other way round hands on its level too."""
    return right_levels(self, claimed | claimed.T)


right_levels = Passing.levels


@pytest.mark.parametrize("how", ["right", "handed on twice", "settled either way"])
def test_levels_do_not_fall_and_add_up_to_the_whole(monkeypatch, how):
    """Both conditions of the proof, for any forecast and any claims; each of two wrong versions breaks one of them."""
    wrong = {"handed on twice": handed_on_twice, "settled either way": settled_either_way}
    monkeypatch.setattr(Passing, "levels", wrong.get(how, right_levels))
    rng = np.random.default_rng(5)
    more_than_all = fallen = moved = 0
    for _ in range(200):
        count = int(rng.integers(2, 9))
        passing = Passing(forecast_from(pair_statistics(rng.random((count, 40))), 100, 40, math.log(LEVEL)))
        few, many = nested_claims(rng, count)
        (before, outside), (after, further) = passing.levels(few), passing.levels(many)
        more_than_all += any(
            parts[~claims].sum() + out > 1 + 1e-9
            for parts, claims, out in ((before, few, outside), (after, many, further))
        )
        fallen += bool((before > after + 1e-12)[~many].any() or outside > further + 1e-12)
        moved += bool((after > before + 1e-6).any())
    assert moved > 100
    assert (more_than_all > 0) == (how == "handed on twice")
    assert (fallen > 0) == (how == "settled either way")


def test_handing_levels_to_closer_pairs_tells_more_apart(monkeypatch):
    """As many rows and teams as in a small contest; against the same weights by Holm's method."""
    rng = np.random.default_rng(21)
    truth, gained = np.linspace(0.45, 0.7, 20), []
    for _ in range(6):
        rows = rng.normal(size=800)
        columns = (rows + rng.normal(size=(20, 800))) / math.sqrt(2) < ndtri(truth)[:, None]
        finalists = Finalists.of_columns(columns[:, :400].astype(float), 0.0, 1.0, True)
        forecast = forecast_from(pair_statistics(columns[:, 400:]), 400, 400, math.log(LEVEL))
        passed = finalists.ranks(math.log(LEVEL), forecast, True).separated
        with monkeypatch.context() as patch:
            patch.setattr(module, "_EVENLY", 1.0)
            gained.append(passed - finalists.ranks(math.log(LEVEL), forecast, True).separated)
    assert sum(gained) > 10


@pytest.mark.parametrize("wrong", [np.ones((2, 3)), np.zeros((3, 3)), np.full((3, 3), -1.0)])
def test_wrong_weights_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="weights"):
        rank(np.zeros((3, 3)), math.log(LEVEL), weighted(wrong))


def test_a_part_of_the_pairs_may_be_the_family():
    p = np.full((3, 3), 1.0)
    p[0, 1] = 0.49 * LEVEL
    counted = np.zeros((3, 3), dtype=np.bool_)
    counted[0, 1] = counted[1, 0] = True
    assert rank(np.log(p), math.log(LEVEL), counted=counted).better == {(0, 1)}
    assert rank(np.log(p), math.log(LEVEL)).better == set()


# --- the level --------------------------------------------------------------------------------------------------------

RUNS = 250


def too_many(runs: int = RUNS) -> int:
    """A binomial exceeds this with probability at most 1e-6."""
    return int(binom.isf(1e-6, runs, LEVEL))


def false_claims(truth: np.ndarray, how: str, seed: int, n: int = 120) -> int:
    """In how many runs is some claim about models with these accuracies false?"""
    rng = np.random.default_rng(seed)
    wrong, log_level, count = 0, math.log(LEVEL), len(truth)
    for _ in range(RUNS):
        columns = (rng.random((count, n)) < truth[:, None]).astype(float)
        finalists = Finalists.of_columns(columns, 0.0, 1.0, True)
        assert finalists.wins is not None
        if how == "each at the level":
            apart = {(i, j) for i, j in zip(*np.nonzero(sign_p_values(finalists.wins) <= log_level), strict=True)}
        else:
            forecast = None
            if how == "weights from the tested rows":
                forecast = forecast_from(pair_statistics(columns), n, 20 * n, log_level)
            elif how in ("weights from other rows", "weights from misleading rows"):
                other = rng.random((count, 2 * n)) < (truth if how.endswith("other rows") else 1 - truth)[:, None]
                forecast = forecast_from(pair_statistics(other), n, 2 * n, log_level)
            apart = set(finalists.ranks(log_level, forecast, how != "not alike").better)
        wrong += any(truth[i] <= truth[j] for i, j in apart)
    return wrong


EQUAL, STAIRS = np.full(8, 0.5), np.array([0.2, 0.2, 0.2, 0.55, 0.55, 0.9, 0.9, 0.9])


@pytest.mark.parametrize("truth", [EQUAL, STAIRS], ids=["equal", "three groups"])
@pytest.mark.parametrize("how", ["plain", "weights from other rows", "weights from misleading rows", "not alike"])
def test_false_claims_are_as_rare_as_the_level_says(truth, how):
    """Also where some are told apart, which is where fewer hypotheses can be true and the thresholds grow."""
    assert false_claims(truth, how, seed=11) <= too_many()


def test_wrong_ways_to_rank_are_found_out():
    assert false_claims(EQUAL, "each at the level", seed=12) > too_many()
    assert false_claims(EQUAL, "weights from the tested rows", seed=12) > too_many()


@pytest.mark.parametrize("how", ["even", "by the rows that differ"])
def test_how_many_rows_differ_says_who_won(how):
    """Wrong on purpose: weights from the numbers of tested rows on which two differ, which one pair's test may know.

    Five times two equal models and a third one that is right wherever they differ. It differs from the second where the
    first has won, so that the three numbers together tell the winner, and the largest lead.
    """
    rng, wrong = np.random.default_rng(13), 0
    pairs = [(3 * group, 3 * group + 1) for group in range(5)]
    for _ in range(RUNS):
        columns = np.empty((15, 120))
        for i, j in pairs:
            differ, first = rng.random((2, 120)) < [[0.3], [0.5]]
            columns[i], columns[j] = np.where(differ, first, 1), np.where(differ, ~first, 1)
            columns[j + 1] = 1
        finalists = Finalists.of_columns(columns, 0.0, 1.0, True)
        assert finalists.wins is not None
        differ = finalists.wins + finalists.wins.T
        weights = np.ones((15, 15))
        if how != "even":
            i, j = max(pairs, key=lambda pair: abs(differ[pair[0], pair[1] + 1] - differ[pair[1], pair[1] + 1]))
            weights[(i, j) if differ[j, j + 1] > differ[i, j + 1] else (j, i)] = 1e6
        claims = rank(sign_p_values(finalists.wins), math.log(LEVEL), Forecast(weights, weights - weights.T)).better
        wrong += any((i, j) in claims or (j, i) in claims for i, j in pairs)
    assert (wrong > too_many()) == (how != "even")


def test_names():
    ranges, better = names_of(Ranks(frozenset({(0, 1)}), 2), ["x", "y"])
    assert ranges == {"x": (1, 1), "y": (2, 2)}
    assert better == {("x", "y")}
