"""The winner's interval: valid by an exact sum over all counts, and never wider than Bonferroni's."""

from __future__ import annotations

import itertools
import math

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
    plain = winner._Division.parts

    def parts(division, p, loss):
        below, above = plain(division, p, loss)
        if wrong == "upper limit":
            return below, division.whole
        if wrong == "lower limit":
            return division.whole - math.log(division.count), above
        return plain(division, p, False)

    monkeypatch.setattr(winner._Division, "parts", parts)
    assert worst(150, 12, 0.5 if wrong == "loss" else 1.0) > LEVEL * 1.2


@pytest.mark.parametrize("n", [30, 59, 100, 299, 301, 1000, 3000, 10_000])
def test_it_is_never_wider_than_bonferroni_s(n):
    """To half a thousandth, at any count, for 1 to 200 candidates, also where a tenth of the level is for the loss."""
    counts = sorted({*range(0, n + 1, max(1, n // 12)), *range(max(0, n - 80), n + 1, 5), 1, n - 2, n - 1, n})
    for count, ones in itertools.product((1, 2, 3, 4, 5, 12, 60, 200), counts):
        each = blaker(ones, n, math.log(LEVEL / count))
        for part in (1.0, 0.9):
            log_loss = math.log(LEVEL * (1 - part)) if part < 1 else -math.inf
            ours = winner_limits(ones, n, count, math.log(LEVEL * part), log_loss)
            assert ours.low <= ones / n <= ours.high
            assert ours.high - ours.low <= (each.high - each.low) * 1.0005


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
