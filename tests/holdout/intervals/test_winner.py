"""The winner's interval: valid by an exact sum over all counts, and never wider than Bonferroni's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest
from scipy.stats import binom

import holdfast as hf
from holdfast.bounds.one_question.means import blaker
from holdfast.holdout.intervals import winner
from holdfast.holdout.intervals.winner import WinnerLimits, winner_limits

LEVEL = 0.05


def limits_of(n: int, count: int, part: float) -> list[WinnerLimits]:
    """The limits of each count, with a level for the loss where that is a part of it."""
    log_loss = math.log(LEVEL * (1 - part)) if part < 1 else -math.inf
    return [winner_limits(ones, n, count, math.log(LEVEL * part), log_loss) for ones in range(n + 1)]


def worst(n: int, count: int, part: float) -> float:
    """The largest sum, over the mean of the truly best one, of what may go wrong: exactly, from the counts' laws.

    Where the best one's mean is `p`: its upper limit misses, its own lower limit misses, each other one's lower limit
    misses at the mean up to `p` where it does so most often, and the loss fails at its level, where that is claimed by
    more than the length of the interval.
    """
    found = limits_of(n, count, part)
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    assert (np.diff(high) >= 0).all()
    paid = max((one.high for one in found if not one.near), default=0.0)  # up to here pairs bound the loss
    turns = np.concatenate([low, high, np.linspace(0, 1, 4001)[1:-1]])
    means = np.unique(np.clip(np.concatenate([turns - 1e-12, turns, turns + 1e-12]), 1e-12, 1 - 1e-12))
    counts = binom.pmf(np.arange(n + 1)[:, None], n, means)
    below = (counts * (low[:, None] > means)).sum(axis=0)
    above = (counts * (high[:, None] < means)).sum(axis=0)
    loss = np.where(means <= paid, LEVEL * (1 - part), 0.0) if part < 1 else 0.0
    return float((above + below + (count - 1) * np.maximum.accumulate(below) + loss).max())


@pytest.mark.parametrize("part", [1.0, 0.9, 0.5])
@pytest.mark.parametrize(("n", "count"), [(40, 7), (60, 5), (90, 12), (110, 3), (150, 60), (320, 2), (400, 4)])
def test_what_may_go_wrong_adds_up_to_the_level(n, count, part):
    assert worst(n, count, part) <= LEVEL * (1 + 1e-6)


@pytest.mark.parametrize("wrong", ["upper limit", "lower limit", "loss"])
def test_versions_that_divide_too_little_are_found_out(wrong, monkeypatch):
    """Each part without what another one has taken."""
    plain, part = winner._Division.parts, 0.5 if wrong == "loss" else 1.0
    assert worst(150, 12, part) <= LEVEL * (1 + 1e-6)  # the divisions that the wrong versions start from

    def parts(division, p, loss):
        below, above = plain(division, p, loss)
        if wrong == "upper limit":
            return below, division.whole
        if wrong == "lower limit":
            return division.whole - math.log(division.count), above
        return plain(division, p, False)

    monkeypatch.setattr(winner._Division, "parts", parts)
    assert worst(150, 12, part) > LEVEL * 1.2


def attacked(found: list[WinnerLimits], n: int, count: int, seed: int, runs: int = 40_000) -> int:
    """In how many runs the interval misses where counts with binomial laws depend on each other as badly as can be.

    All means are the one at which most can go wrong. With the probability of the upper limit's failure all counts are
    low at once; and of all other runs no two have the high count of the same candidate.
    """
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    means = np.linspace(0.3, 0.999, 2000)
    laws = binom.pmf(np.arange(n + 1)[:, None], n, means)
    above = (laws * (high[:, None] < means)).sum(axis=0)
    place = int(np.argmax(above + count * (laws * (low[:, None] > means)).sum(axis=0)))
    mean, both = means[place], above[place]
    draws = np.random.default_rng(seed).random(runs)[:, None]
    turned = both + (draws - both + np.arange(count) * (1 - both) / count) % (1 - both)
    counts = np.searchsorted(binom.cdf(np.arange(n + 1), n, mean), np.where(draws < both, draws, turned))
    best = np.minimum(counts.max(axis=1), n)
    return int(((low[best] > mean) | (high[best] < mean)).sum())


@pytest.mark.parametrize("wrong", [False, True])
def test_the_worst_dependence_of_the_counts_misses_no_more_than_planned(wrong, monkeypatch):
    """A version whose upper limit keeps what lower limits have taken is found out."""
    plain, most = winner._Division.parts, binom.isf(1e-6, 40_000, LEVEL)
    missed = attacked(limits_of(150, 12, 1.0), 150, 12, seed=5)
    assert 0.8 * LEVEL * 40_000 < missed <= most
    if wrong:
        monkeypatch.setattr(winner._Division, "parts", lambda own, p, loss: (plain(own, p, loss)[0], own.whole))
        assert attacked(limits_of(150, 12, 1.0), 150, 12, seed=5) > most


def wider(n: int, count: int, counts: Iterable[int], part: float) -> list[int]:
    """The counts at which the interval is wider than Bonferroni's, beyond rounding."""
    log_loss = math.log(LEVEL * (1 - part)) if part < 1 else -math.inf
    found = []
    for ones in counts:
        each = blaker(ones, n, math.log(LEVEL / count))
        ours = winner_limits(ones, n, count, math.log(LEVEL * part), log_loss)
        assert ours.low <= ones / n <= ours.high
        if ours.high - ours.low > (each.high - each.low) * (1 + 2e-6):
            found.append(ones)
    return found


@pytest.mark.parametrize("n", [30, 59, 100, 299, 301, 1000, 3000, 10_000])
def test_it_is_never_wider_than_bonferroni_s(n):
    """At any count, for 1 to 200 candidates, also where a tenth of the level is for the loss."""
    counts = sorted({*range(0, n + 1, max(1, n // 12)), *range(max(0, n - 80), n + 1, 5), 1, n - 2, n - 1, n})
    for count, part in itertools.product((1, 2, 3, 4, 5, 12, 60, 200), (1.0, 0.9)):
        assert wider(n, count, counts, part) == []


def test_half_of_the_level_for_each_limit_is_found_to_be_wider(monkeypatch):
    """Wrong on purpose: not compared with Bonferroni's interval, near 1 it is longer than that."""
    monkeypatch.setattr(winner, "_PARTS", (0.5,))
    monkeypatch.setattr(winner, "_COMPARED", -1000)
    winner._division.cache_clear()
    assert 300 in wider(300, 60, range(290, 301), 0.9)
    winner._division.cache_clear()


def test_near_the_end_the_upper_limit_gains_from_what_bonferroni_leaves():
    """Sixty candidates on 300 rows, the best right on 19 of 20. With Bonferroni's upper limit it would be 0.995."""
    for ones, most in ((283, 0.905), (286, 0.915), (290, 0.925), (294, 0.945)):
        ours = winner_limits(ones, 300, 60, math.log(0.9 * LEVEL), math.log(0.1 * LEVEL))
        each = blaker(ones, 300, math.log(LEVEL / 60))
        assert (ours.high - ours.low) / (each.high - each.low) < most


def test_for_a_long_list_it_is_clearly_shorter():
    for n, most in ((300, 0.88), (1000, 0.85), (3000, 0.83), (10_000, 0.82)):
        ones = round(0.85 * n)
        ours = winner_limits(ones, n, 60, math.log(0.9 * LEVEL), math.log(0.1 * LEVEL))
        each = blaker(ones, n, math.log(LEVEL / 60))
        assert (ours.high - ours.low) / (each.high - each.low) < most


@pytest.mark.parametrize("n", [30, 500])
def test_of_one_finalist_it_is_the_interval_of_that_one(n):
    for ones in (0, n // 3, n):
        columns = {"a": np.arange(n) < ones}
        one, other = (hf.ReusableHoldout(n).final(columns, claims=claims) for claims in ("winner", "intervals"))
        assert one.winner_interval == other.winner_interval
        assert one.loss_at_most == 0.0


def test_where_the_least_is_best_it_is_the_mirror_image():
    columns = {f"{k}": np.arange(400) < 60 + k for k in range(9)}
    up = hf.ReusableHoldout(400).final({name: ~column for name, column in columns.items()}, claims="winner")
    down = hf.ReusableHoldout(400).final(columns, claims="winner", greater_is_better=False)
    assert down.winner == up.winner == "0"
    assert down.winner_interval == pytest.approx([1 - up.winner_interval[1], 1 - up.winner_interval[0]], abs=1e-12)
    assert down.loss_at_most == pytest.approx(up.loss_at_most)


def test_near_the_end_the_loss_is_at_most_the_length():
    near = hf.ReusableHoldout(300).final({f"{k}": np.arange(300) < 298 - k for k in range(5)}, claims="winner")
    assert near.loss_at_most == near.winner_interval[1] - near.winner_interval[0]
    far = hf.ReusableHoldout(3000).final({f"{k}": np.arange(3000) < 2500 - k for k in range(5)}, claims="winner")
    assert far.loss_at_most < (far.winner_interval[1] - far.winner_interval[0]) / 2
