"""Metrics of classes, of numbers and of one's own: values, coverage, and wrong versions that the same test rejects."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import cohen_kappa_score

import holdfast as hf
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard import Board, Guard, Policy, contest_final, score
from holdfast.guard.scoring.metrics import metric_of
from holdfast.guard.scoring.tally import tally

NAMES = ("cat", "dog", "bird")
SHARES = np.array([0.5, 0.35, 0.15])
CLASSES: dict[str, Any] = {"classes": NAMES}
RANGE: dict[str, Any] = {"low": 0.0, "high": 10.0}
BOARDS = {
    "balanced-accuracy": CLASSES,
    "macro-f1": CLASSES,
    "kappa": CLASSES,
    "top-k": {"k": 2},
    "rmse": RANGE,
    "r2": RANGE,
    "mean": {"low": 0.0, "high": 10.0, "expression": "abs(prediction - y)"},
    "ratio": {"low": 0.0, "high": 2.0, "expression": "abs(prediction - y)", "denominator": "y", "max_denominator": 10},
}
OF_TEXT = ("balanced-accuracy", "macro-f1", "kappa", "top-k")


def board(metric: str) -> Board:
    return Board("b", key="id", label="y", metric=metric, **BOARDS[metric])  # type: ignore[arg-type]


def drawn(metric: str, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Labels and predictions of one population."""
    if metric in OF_TEXT:
        labels = rng.choice(3, n, p=SHARES)
        predicted = np.where(rng.random(n) < 0.7, labels, rng.choice(3, n))
        if metric == "top-k":
            return np.array(NAMES)[labels], [f"{NAMES[one]}|{NAMES[(one + 1) % 3]}" for one in predicted]
        return np.array(NAMES)[labels], np.array(NAMES)[predicted]
    labels = 10 * rng.beta(2, 2, n)
    return labels, np.clip(labels + rng.normal(0, 1.5, n), 0, 10)


def measured(one: Board, labels: Any, predicted: Any) -> tuple[int, ...]:
    n = len(labels)
    kind = "text" if one.metric in OF_TEXT else "number"
    schema = Schema({"id": "integer not null", "y": f"{kind} not null"})
    made = tally(one, schema, {"keys": np.arange(n), "predictions": predicted})
    held = np.asarray(labels, dtype=object) if kind == "text" else np.asarray(labels)
    from holdfast.data.fingerprint import Texts

    sums = made.add(made.start(), (np.arange(n), None), (Texts.of(held) if kind == "text" else held, None))
    return tuple(sums.tolist()[:-1])


def by_hand(metric: str, labels: Any, predicted: Any) -> float:
    """The score by its definition."""
    y, p = np.asarray(labels), np.asarray(predicted)
    if metric == "top-k":
        return float(np.mean([one in named.split("|") for one, named in zip(y, p, strict=True)]))
    if metric == "balanced-accuracy":
        return float(np.mean([(p[y == name] == name).mean() for name in NAMES]))
    if metric == "macro-f1":
        pairs = [(2 * ((y == name) & (p == name)).sum(), (y == name).sum() + (p == name).sum()) for name in NAMES]
        return float(np.mean([twice / both for twice, both in pairs]))
    if metric == "kappa":
        chance = sum((y == one).mean() * (p == one).mean() for one in NAMES)
        return float(1 - (1 - (y == p).mean()) / (1 - chance))
    if metric == "rmse":
        return float(np.sqrt(((y - p) ** 2).mean()))
    if metric == "r2":
        return float(1 - ((y - p) ** 2).mean() / y.var())
    if metric == "mean":
        return float(np.abs(y - p).mean())
    return float(np.clip(np.abs(y - p), 0, 2 * y).sum() / y.sum())


@pytest.mark.parametrize("metric", BOARDS)
def test_the_score_is_the_one_by_its_definition(metric: str) -> None:
    labels, predicted = drawn(metric, 700, np.random.default_rng(1))
    one = board(metric)
    found = metric_of(one, 700).read(measured(one, labels, predicted))
    assert found.value == pytest.approx(by_hand(metric, labels, predicted), abs=1e-6)
    low, high = found.ends(math.log(0.05))
    assert low <= found.value <= high
    wider = found.ends(math.log(1e-6))
    assert wider[0] <= low
    assert high <= wider[1]


@pytest.mark.parametrize("n", [2, 3, 17, 1500])
def test_kappa_is_that_of_scikit_learn_and_in_its_interval(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        labels, predicted = (np.array(NAMES)[rng.choice(3, n, p=SHARES)] for _ in range(2))
        found = metric_of(board("kappa"), n).read(measured(board("kappa"), labels, predicted))
        if len({*labels, *predicted}) > 1:
            assert found.value == pytest.approx(cohen_kappa_score(labels, predicted), abs=1e-12)
        for share in (0.5, 1e-6):
            low, high = found.ends(math.log(share))
            assert -1 <= low <= found.value <= high <= 1


RUNS, SHARE = 250, 0.05


@pytest.mark.parametrize("metric", BOARDS)
def test_intervals_hold_the_truth_and_short_ones_do_not(metric: str) -> None:
    """More misses than a share of .05 gives with probability 1e-6 fail; intervals a fortieth as long are caught."""
    rng = np.random.default_rng(2)
    one, n = board(metric), 400
    true = by_hand(metric, *drawn(metric, 400_000, rng))
    most = int(binom.isf(1e-6, RUNS, SHARE))
    missed = short = 0
    for _ in range(RUNS):
        found = metric_of(one, n).read(measured(one, *drawn(metric, n, rng)))
        low, high = found.ends(math.log(SHARE))
        missed += not low <= true <= high
        part = (found.value - (found.value - low) / 40, found.value + (high - found.value) / 40)
        short += not part[0] <= true <= part[1]
    assert missed <= most
    assert short > most, f"{short} of {RUNS}"


def test_missing_predictions_and_other_labels_are_the_worst() -> None:
    n = 60
    labels = np.array([*["cat", "dog", "fish"] * 20])
    given = dict.fromkeys(range(30), "cat")
    one = board("macro-f1")
    schema = Schema({"id": "integer not null", "y": "text not null"})
    from holdfast.data.fingerprint import Texts

    made = tally(one, schema, given)
    square = made.add(made.start(), (np.arange(n), None), (Texts.of(labels), None))[:-1].reshape(4, 4)
    assert square[:, 3].sum() == 30
    assert square[3].sum() == 20
    assert square[0, 0] == 10


@pytest.mark.parametrize("metric", [*OF_TEXT[:3], "rmse", "mean"])
def test_a_final_by_each_metric_and_by_others_beside_it(metric: str) -> None:
    n = 2400
    labels, _ = drawn(metric, n, np.random.default_rng(3))
    also = {"kappa": ("accuracy", "macro-f1"), "rmse": ("mae", "r2")}.get(metric, ())
    settings = BOARDS[metric] | ({"also": also, "rule": "open"} if also else {"rule": "open"})
    one = Board("b", key="id", label="y", metric=metric, **settings)  # type: ignore[arg-type]
    guard = Guard.open(
        None, hf.data.table({"id": np.arange(n), "y": labels}), Policy(boards=[one], reserve=0.5, final=1.0)
    )
    rng = np.random.default_rng(4)
    for who, noise in {"ann": 0.1, "bob": 0.9}.items():
        if metric in OF_TEXT:
            sent = np.where(rng.random(n) < noise, np.array(NAMES)[rng.choice(3, n)], labels)
        else:
            sent = np.clip(labels + rng.normal(0, 4 * noise, n), 0, 10)
        answer = guard.ask(score("b", dict(enumerate(sent.tolist()))), analyst=who)
        assert answer.value == pytest.approx(by_hand(metric, labels, sent), abs=0.2)
    result = guard.ask(contest_final("b"))
    assert (result.details["winner"], result.details["better"]) == ("ann", [["ann", "bob"]])
    assert set(result.details["also"]) == set(also)
    for found in result.details["also"].values():
        for label, value in found["values"].items():
            low, high = found["interval"][label]
            assert low <= value <= high
    assert "By " in guard.contest("b").results[0].to_html() or not also


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"metric": "kappa"}, "classes must be given for"),
        ({"metric": "kappa", "classes": ["a"]}, "classes must be 2 to 200"),
        ({"metric": "kappa", "classes": ["a", "a"]}, "classes must be 2 to 200"),
        ({"metric": "accuracy", "classes": ["a", "b"]}, "classes must be left out"),
        ({"metric": "rmse"}, "low and high must be given for rmse"),
        ({"metric": "mean", "low": 0, "high": 1}, "expression must be given"),
        ({"metric": "accuracy", "expression": "y"}, "expression must be left out"),
        ({"metric": "ratio", "low": 0, "high": 1, "expression": "y"}, "denominator must be given"),
        ({"metric": "accuracy", "k": 3}, "k must be left out"),
        ({"metric": "accuracy", "also": ["accuracy"]}, "also must not contain the main metric of the board"),
        ({"metric": "accuracy", "also": "kappa"}, "also must be a list"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        Board("b", key="id", label="y", **settings)


def test_metrics_of_other_predictions_cannot_stand_beside_each_other() -> None:
    one = Board("b", key="id", label="y", metric="accuracy", also=("brier",))
    with pytest.raises(InvalidParameter, match="must have metrics of the same kind of prediction as the main metric"):
        one.check_schema(Schema({"id": "integer not null", "y": "boolean not null"}))


def test_a_board_reads_back() -> None:
    for metric in BOARDS:
        assert Board.from_dict(board(metric).to_dict()) == board(metric)
