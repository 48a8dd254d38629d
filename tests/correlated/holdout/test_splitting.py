"""Splits keep dependent rows on one side, and those that do not are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.correlated import DependentRows, check_split, split_groups, split_time
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.noise import Seeded

FUZZ = settings(max_examples=60, deadline=None, derandomize=True)
LABELS = st.lists(st.integers(0, 9), min_size=2, max_size=80).filter(lambda labels: len(set(labels)) > 1)


@FUZZ
@given(LABELS, st.floats(0.01, 0.99), st.integers(0, 99))
def test_groups_stay_together(labels: list[int], share: float, seed: int) -> None:
    split = split_groups(labels, share, source=Seeded(seed))
    column = np.array(labels)
    assert sorted([*split.train, *split.holdout]) == list(range(len(labels)))
    assert not set(column[split.train]) & set(column[split.holdout])
    assert len(split.train)
    assert split.sizes is not None
    assert sum(split.sizes) == len(split.holdout)
    assert len(split.sizes) == min(max(round(share * len(set(labels))), 1), len(set(labels)) - 1)
    assert check_split(split.train, split.holdout, groups=labels).sizes == split.sizes


@FUZZ
@given(st.lists(st.integers(0, 40), min_size=4, max_size=80), st.floats(0.05, 0.6), st.integers(1, 4))
def test_time_is_cut_once(times: list[int], share: float, gap: int) -> None:
    distinct = sorted(set(times))
    held = max(round(share * len(distinct)), 1)
    if len(distinct) - held < gap:
        with pytest.raises(InvalidParameter, match="gap"):
            split_time(times, share, gap=gap)
        return
    split = split_time(times, share, gap=gap)
    when = np.array([distinct.index(t) for t in times])
    assert when[split.holdout].min() - when[split.train].max() == gap == split.gap
    assert len(set(when[split.holdout])) == held
    assert np.all(np.diff(when[split.train]) >= 0)
    again = check_split(split.train, split.holdout, time=times)
    assert (again.kind, again.gap) == ("time", gap)


def test_the_deal_is_fair() -> None:
    """Each of ten groups lies in the holdout in half of 4,000 deals: beyond 5.3 deviations with probability 1e-6."""
    held = np.zeros(10)
    for seed in range(4000):
        split = split_groups(np.arange(10), 0.5, source=Seeded(seed))
        held[split.holdout] += 1
    assert np.abs(held - 2000).max() <= 5.3 * np.sqrt(1000)


def test_a_random_split_is_refused() -> None:
    groups, time = np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50)
    rng = np.random.default_rng(1)
    mixed = rng.permutation(200)
    with pytest.raises(GuaranteeUnavailable, match=r"both sides.*voids every guarantee"):
        check_split(mixed[:100], mixed[100:], groups=groups)
    with pytest.raises(GuaranteeUnavailable, match="not all earlier"):
        check_split(mixed[:100], mixed[100:], time=np.arange(200))
    with pytest.raises(GuaranteeUnavailable, match="not all earlier"):
        check_split([0, 1], [2, 3], time=[1, 2, 2, 3])
    with pytest.raises(GuaranteeUnavailable, match="both sides and training rows"):
        check_split(mixed[:100], mixed[100:], groups=groups, time=time)
    accepted = check_split(mixed[:100], mixed[100:], groups=groups, accept_random=True)
    assert accepted.kind == "random"
    with pytest.raises(GuaranteeUnavailable, match="only a split by groups"):
        accepted.blocks()


def test_a_panel_cut_in_time() -> None:
    groups, time = np.repeat(np.arange(5), 4), np.tile(np.arange(4), 5)
    split = check_split(np.flatnonzero(time < 2), np.flatnonzero(time >= 2), groups=groups, time=time)
    assert (split.kind, split.gap, split.sizes) == ("time", 1, None)


def test_blocks_of_the_holdout() -> None:
    split = split_groups(["a", "a", "b", "b", "c", "c", "d", "d"], 0.5)
    assert split.blocks() == DependentRows.blocks([2, 2])
    assert repr(split) == "Split(groups: 4 training rows, 4 holdout rows)"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: split_groups([]), "groups"),
        (lambda: split_groups([[1, 2]]), "groups"),
        (lambda: split_groups([1.0, float("nan")]), "missing"),
        (lambda: split_groups([1, None, "a"]), "sort"),
        (lambda: split_groups([1, 2], 1.0), "share"),
        (lambda: split_time(np.array(["2001", "NaT"], dtype="datetime64[Y]")), "missing"),
        (lambda: split_time([1, 2], gap=0), "gap"),
        (lambda: check_split([0], [1]), "groups or time"),
        (lambda: check_split([0], [0], groups=[1, 2]), "must not share a row"),
        (lambda: check_split([0], [2], groups=[1, 2]), "row numbers"),
        (lambda: check_split([0.5], [1], groups=[1, 2]), "row numbers"),
        (lambda: check_split([0], [1], groups=[1, 2], time=[1]), "one entry per row"),
        (lambda: check_split([0], [1], groups=[1, 2], accept_random=1), "accept_random"),
    ],
)
def test_refusals(ask: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        ask()


def test_one_group_cannot_be_split() -> None:
    with pytest.raises(GuaranteeUnavailable, match="at least two"):
        split_groups(["a", "a"])
