"""The interval of each metric is that of its theorem, at the share and on the counts that the theorem needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

import holdfast as hf
from holdfast.bounds.one_question import (
    auc_known_scores,
    clopper_pearson,
    f1_known_predictions,
    two_sample_u,
    unlike_rows,
)
from holdfast.data import Schema, table
from holdfast.data.fingerprint import Texts
from holdfast.data.schema import Kind
from holdfast.data.statistics import UNIT
from holdfast.errors import SampleUnavailable
from holdfast.guard import Board, Policy, score
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.questions.base import MIXED
from holdfast.guard.questions.score import ASSUMPTION
from holdfast.guard.scoring.metrics import _area, metric_of
from holdfast.guard.scoring.predictions import predictions
from holdfast.guard.scoring.tally import tally
from holdfast.holdout.error_budget import Course

SHARE = -9.0


def found(metric: Any, labels: Any, given: dict[int, Any]) -> Any:
    board = Board("b", key="id", label="y", metric=metric)
    on = table({"id": np.arange(len(labels)), "y": np.asarray(labels, dtype=bool)}, engine="numpy")
    bound: Any = score("b", given, 0.5).bind(on.schema, on.n, Policy(boards=[board]))
    return bound.prepare(bound.gather(on), on.n)


def rank_moments(scores: Any) -> tuple[float, float]:
    """Means of the distance of a score's rank from the middle and of its square, by comparing all pairs."""
    n = len(scores)
    above = (scores[:, None] > scores).sum(1) + ((scores[:, None] == scores).sum(1) - 1) / 2
    away = np.abs(above / (n - 1) - 0.5)
    return float(away.mean()), float((away**2).mean())


@pytest.mark.parametrize("positive", [0.02, 0.3, 0.5, 0.95])
@pytest.mark.parametrize("values", [2, 7, 2000])
def test_an_auc_holds_both_readings(positive: float, values: int) -> None:
    """Rare classes make the interval of drawn rows the wider one at an end, and ties that of known scores."""
    rng = np.random.default_rng([round(100 * positive), values])
    labels = rng.random(2000) < positive
    scores = np.floor((rng.random(2000) + 0.5 * labels) / 1.5 * values)
    given = dict(enumerate(scores.tolist()))
    for i in range(0, 2000, 9):  # no prediction: below all
        del given[i]
        scores[i] = -1
    ones, value = int(labels.sum()), sk.roc_auc_score(labels, scores)
    one = found("auc", labels, given)
    assert one.value == pytest.approx(value, abs=1e-12)
    drawn = two_sample_u(value, ones, 2000 - ones, SHARE)
    known = auc_known_scores(value, ones, 2000 - ones, SHARE, "both", *rank_moments(scores))
    hull = min(drawn.low, known.low), max(drawn.high, known.high)
    assert one.ends(SHARE) == pytest.approx(hull, abs=1e-9)


def test_each_reading_of_an_auc_is_the_wider_one_somewhere() -> None:
    """Else dropping one of them would change nothing above."""
    square, distance = 1 / 12, 0.25
    common = two_sample_u(0.5, 1000, 1000, SHARE), auc_known_scores(0.5, 1000, 1000, SHARE)
    sharp = two_sample_u(0.999, 1000, 1000, SHARE), auc_known_scores(0.999, 1000, 1000, SHARE, "both", distance, square)
    assert common[0].low < common[1].low
    assert sharp[0].low > sharp[1].low


@pytest.mark.parametrize(("predicted", "hits", "missed"), [(400, 300, 100), (50, 1, 900), (0, 0, 10), (1000, 990, 0)])
def test_an_f1_holds_both_readings(predicted: int, hits: int, missed: int) -> None:
    n = 1000
    said = np.arange(n) < predicted
    labels = np.zeros(n, dtype=bool)
    labels[:hits] = True
    labels[predicted : predicted + missed] = True
    given = dict.fromkeys(range(predicted), True) | dict.fromkeys(range(predicted, n, 2), False)
    one = found("f1", labels, given)
    assert one.value == pytest.approx(sk.f1_score(labels, said, zero_division=0.0), abs=1e-12)
    jaccard = clopper_pearson(hits, predicted + missed, SHARE)
    known = f1_known_predictions(hits, missed, predicted, n, SHARE)
    drawn = [2 * end / (1 + end) for end in jaccard]
    hull = min(drawn[0], known.low), max(drawn[1], known.high)
    assert one.ends(SHARE) == pytest.approx(hull, abs=1e-12)


def test_each_reading_of_an_f1_is_the_wider_one_somewhere() -> None:
    wider = set()
    for predicted, hits, missed in ((400, 300, 100), (50, 1, 900), (1000, 990, 0), (3, 3, 900)):
        known = f1_known_predictions(hits, missed, predicted, 1000, SHARE)
        drawn = [2 * end / (1 + end) for end in clopper_pearson(hits, predicted + missed, SHARE)]
        wider |= {drawn[0] < known.low, drawn[1] > known.high}
    assert wider == {True, False}


@pytest.mark.parametrize("metric", ["auc", "f1"])
def test_a_class_without_rows_leaves_everything_open(metric: str) -> None:
    assert found(metric, [False] * 50, {-1: True} if metric == "f1" else {1: 0.5}).ends(SHARE) == (0.0, 1.0)


def test_an_auc_of_very_many_rows_does_not_overflow() -> None:
    """Counts whose products leave 64 bits: two classes of 2**31 rows in the right order, and in the wrong one."""
    first, second = np.array([2**31, 0]), np.array([0, 2**31])
    assert (_area(first, second), _area(second, first)) == (1.0, 0.0)


def test_the_moments_of_ranks_are_those_of_all_rows() -> None:
    """They are means over rows; half of one would narrow the interval."""
    board = Board("b", key="id", label="y", metric="auc")
    for ties in (1, 4, 50):
        sums = tuple([ties] * (200 // ties) * 2)
        n = 2 * 200
        low, high = metric_of(board, n).read(sums).ends(SHARE)
        scores = np.repeat(np.arange(200 // ties), 2 * ties)
        known = auc_known_scores(0.5, 200, 200, SHARE, "both", *rank_moments(scores))
        drawn = two_sample_u(0.5, 200, 200, SHARE)
        assert (low, high) == pytest.approx((min(known.low, drawn.low), max(known.high, drawn.high)), abs=1e-9)


def test_a_row_without_a_key_has_no_prediction() -> None:
    keys, missing = np.array([1, 2, 3]), np.array([False, True, False])
    one = predictions({1: 1, 2: 1, 3: 1}, "id", "integer", "integer")
    assert one.places((keys, missing)).tolist() == [0, 3, 2]
    texts = predictions({"a": 1, "b": 1}, "id", "text", "integer")
    assert texts.places((Texts.of(["b", None, "a"]), np.array([False, True, False]))).tolist() == [1, 2, 0]


def test_accuracies_are_computed_at_the_share_for_rows_that_are_not_alike() -> None:
    board = Board("b", key="id", label="y", metric="accuracy")
    policy = Policy(confidence=0.6, questions=1, failures=0, boards=[board])
    plain = GuardBudget(100, policy).log_share(Course())
    assert metric_of(board, 100).share(plain) == unlike_rows(plain) < plain
    guard = hf.Guard.open(None, table({"id": np.arange(100), "y": np.arange(100) % 2}), policy)
    answer = guard.ask(score("b", dict.fromkeys(range(100), 1), guess=0.5))
    assert answer.guarantee.parameters["log_share"] == round(unlike_rows(plain), 6)
    brier = Board("b", key="id", label="y", metric="brier")
    assert metric_of(brier, 100).share(plain) == plain  # Hoeffding's inequality needs no rows that are alike
    assert math.exp(plain) < 0.5


def test_what_an_interval_rests_on_is_said() -> None:
    board = Board("b", key="id", label="y", metric="accuracy")
    guard = hf.Guard.open(None, table({"id": np.arange(100), "y": np.arange(100) % 2}), Policy(boards=[board]))
    answer = guard.ask(score("b", dict.fromkeys(range(100), 1), guess=0.5))
    assert answer.guarantee.assumption == ASSUMPTION != MIXED


def test_rows_that_went_away_while_they_were_read_are_noticed() -> None:
    board = Board("b", key="id", label="y", metric="accuracy")
    on = table({"id": np.arange(100), "y": np.arange(100) % 2}, engine="numpy")
    bound: Any = score("b", {1: 1}, 0.5).bind(on.schema, 100, Policy(boards=[board]))

    class Fewer:
        n, schema = 101, on.schema
        total = staticmethod(on.total)

    with pytest.raises(SampleUnavailable):
        bound.gather(Fewer())


def test_the_same_predictions_for_other_rows_are_another_submission() -> None:
    """Else the stored answer to one would be given for the other."""
    ones = [predictions({i: 1, i + 1: 0}, "id", "integer", "integer").digest for i in range(3)]
    texts = [predictions({name: 1}, "id", "text", "integer").digest for name in ("a", "b")]
    assert len({*ones, *texts}) == 5


@pytest.mark.parametrize("metric", ["mae", "brier", "log-loss", "accuracy", "auc", "f1"])
def test_a_label_that_is_no_number_is_none(metric: Any) -> None:
    ends: dict[str, Any] = {"low": 0.0, "high": 2.0} if metric == "mae" else {}
    board = Board("b", key="id", label="y", metric=metric, positive=1.0, **ends)
    kinds: dict[str, Kind] = {"id": "integer", "y": "number"}
    one = tally(board, Schema(kinds), {0: 1.0, 1: 1.0})
    keys = np.array([0, 1]), None
    nan = one.add(one.start(), keys, (np.array([np.nan, 1.0]), None))
    gone = one.add(one.start(), keys, (np.array([1.0, 1.0]), np.array([True, False])))
    assert nan.tolist() == gone.tolist()
    if metric in ("mae", "brier", "log-loss"):  # the row without a label is the worst; the other one is nearly right
        assert UNIT <= nan[0] < 1.01 * UNIT
