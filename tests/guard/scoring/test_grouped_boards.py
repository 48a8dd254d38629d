"""Boards whose rows come in groups: each group counts once, in scores, intervals, the reserve and the final."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import InvalidParameter
from holdfast.guard import Board, Guard, Policy, contest_final, score
from holdfast.guard.ledger import open_store
from holdfast.guard.scoring.grouped import group_values
from holdfast.guard.scoring.metrics import metric_of
from holdfast.guard.scoring.tally import RowTally, tally
from tests.guard.questions.ends import adds_up

GROUPS = 600
_RNG = np.random.default_rng(31)
WHO = np.repeat(np.arange(GROUPS), _RNG.integers(1, 9, GROUPS))
N = len(WHO)
LABELS = _RNG.random(N) < 0.5
ROWS: dict[str, Any] = {"id": _RNG.permutation(N), "y": LABELS, "who": [f"p{one:04}" for one in WHO], "z": WHO}


def board(**more: Any) -> Board:
    return Board("b", key="id", label="y", **{"metric": "accuracy", "rule": "open", "groups": "who"} | more)


def opened(where: Any = None, engine: str = "numpy", **more: Any) -> Guard:
    plan: dict[str, Any] = {"boards": [board()], "reserve": 0.5, "final": 1.0} | more
    return Guard.open(where, hf.data.table(ROWS, engine=engine), Policy(**plan))


def right_on(part: float, seed: int) -> dict[int, bool]:
    right = np.random.default_rng(seed).random(N) < part
    return dict(zip(ROWS["id"].tolist(), np.where(right, LABELS, ~LABELS).tolist(), strict=True))


def rows_of(guard: Guard, phase: int | None = None) -> Any:
    """Which rows are explored, or in a reserve."""
    explored = guard._rows.sample
    part = explored if phase is None else explored.reserves[phase]
    keys = part.fold(["id"], set, lambda before, batch: before | set(batch["id"][0].tolist()))
    return np.isin(ROWS["id"], list(keys))


def by_groups(predicted: dict[int, bool], inside: Any) -> np.ndarray[Any, Any]:
    """The mean of each group's hits, by hand."""
    hit = np.array([predicted[int(key)] for key in ROWS["id"]]) == LABELS
    return np.array([hit[inside & (one == WHO)].mean() for one in np.unique(WHO[inside])])


@pytest.mark.parametrize("engine", ["numpy", "polars"])
def test_each_group_counts_once_and_is_reserved_whole(engine: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "ledger.db") as store:
        guard = opened(store, engine, boards=[board(also=["mean"], expression="prediction = y", low=0, high=1)])
        explored, reserve = rows_of(guard), rows_of(guard, 0)
        assert not set(WHO[explored]) & set(WHO[reserve])
        (held,) = guard.policy.boards or ()
        assert held.group_counts == (len(set(WHO[explored])), len(set(WHO[reserve])))
        sent = {"ann": right_on(0.9, 1), "bob": right_on(0.6, 2)}
        for who, predicted in sent.items():
            answer = guard.ask(score("b", predicted), analyst=who)
            assert answer.value == pytest.approx(by_groups(predicted, explored).mean(), abs=1e-4)
            assert "groups of rows independent" in answer.guarantee.assumption
        result = guard.ask(contest_final("b"), analyst="host")
        assert result.details["n"] == held.group_counts[1]
        for who, predicted in sent.items():
            assert result.value[who] == pytest.approx(by_groups(predicted, reserve).mean(), abs=1e-8)
            assert result.details["also"]["mean"]["values"][who] == pytest.approx(result.value[who], abs=1e-8)
        assert result.details["better"] == [["ann", "bob"]]
        assert "groups of reserved rows" in result.guarantee.assumption
        assert "reserved groups of rows by who" in guard.contest().results[0].summary
        assert adds_up(store)
        again = opened(store, engine, boards=[board(also=["mean"], expression="prediction = y", low=0, high=1)])
        assert again.policy.boards == guard.policy.boards


@pytest.mark.parametrize("rule", ["ladder", "checked"])
def test_claims_and_ladders_go_by_groups(rule: str) -> None:
    guard = opened(boards=[board(rule=rule, groups="z", baseline=0.5)], final=0.5, reserve=0.0, questions=10)
    predicted = right_on(0.5, 3)
    inside = np.ones(N, dtype=np.bool_)
    answer = guard.ask(score("b", predicted), analyst="ann")
    low, high = answer.interval
    assert low < by_groups(predicted, inside).mean() < high
    fine = guard.estimate(score("b", right_on(0.5, 4)), analyst="bob").half_width
    plain = opened(boards=[board(rule=rule, groups=None, baseline=0.5)], final=0.5, reserve=0.0, questions=10)
    by_rows = plain.estimate(score("b", right_on(0.5, 4)), analyst="bob").half_width
    assert fine is not None
    assert by_rows is not None
    assert fine > 1.3 * by_rows, "there are four times as many rows as groups"


def test_intervals_hold_for_rows_that_are_alike_in_a_group_and_those_by_rows_do_not() -> None:
    """All rows of a group are right or wrong together. Misses at a share of .05, with an error rate of 1e-6; to take
    rows for independent is caught."""
    rng, runs, share, true = np.random.default_rng(9), 300, 0.05, 0.6
    sizes = np.full(80, 10)
    who = np.repeat(np.arange(80), sizes)
    names = hf.data.table({"id": np.arange(800), "y": np.ones(800, dtype=bool), "who": who}, engine="numpy")
    one = Board("b", key="id", label="y", metric="accuracy", groups="who", group_counts=[80])
    plain = Board("b", key="id", label="y", metric="accuracy")
    most = int(binom.isf(1e-6, runs, share))
    missed = by_rows = 0
    for _ in range(runs):
        right = (rng.random(80) < true)[who]
        made = tally(one, names.schema, {"keys": np.arange(800), "predictions": right})
        assert isinstance(made, RowTally)
        total = int(group_values(names, one, [made], 80).sum())
        low, high = metric_of(one, 80).read((total,)).ends(math.log(share))
        missed += not low <= true <= high
        low, high = metric_of(plain, 800).read((int(right.sum()),)).ends(math.log(share))
        by_rows += not low <= true <= high
    assert missed <= most
    assert by_rows > most, f"{by_rows} of {runs}"


def test_what_groups_are_not_defined_for_is_refused() -> None:
    for more, words in (
        ({"metric": "auc"}, "groups must be left out for auc"),
        ({"also": ["f1"]}, "groups must be left out for f1"),
        ({"groups": "y"}, "groups must be a different column from the label"),
        ({"groups": "none"}, "must use columns of the data set, got"),
        ({"models": True}, "if the board accepts models"),
        ({"groups": None, "group_counts": [3]}, "group_counts must be left out"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            opened(boards=[board(**more)])
    with pytest.raises(InvalidParameter, match="reserve_by must be 'who'"):
        opened(reserve_by="z")
    with pytest.raises(InvalidParameter, match="privacy must be left out"):
        opened(privacy=PureDP(1.0), final=0.5)
    guard = opened(reserve=0.0, final=0.5, boards=[Board("plain", key="id", label="y", metric="accuracy")])
    plan = Policy(boards=[Board("plain", key="id", label="y", metric="accuracy"), board(rule="checked")])
    with pytest.raises(InvalidParameter, match="must be in the policy with which a guard is opened"):
        guard.override(plan, "another board")
