"""Each metric against scikit-learn, and against its own definition where rows or predictions are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from holdfast.data import Schema, table
from holdfast.data.sample import Sample
from holdfast.data.schema import Kind
from holdfast.errors import InvalidParameter
from holdfast.guard import Board, Policy, score
from holdfast.guard.questions.score import Scored
from holdfast.guard.scoring.metrics import HiddenScore

N = 1500


def rows(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    chance = rng.random(N)
    return {
        "id": rng.permutation(N) - 700,
        "code": np.array([f"r{i:04d}" for i in rng.permutation(N)], dtype=object),
        "rich": rng.random(N) < chance,
        "band": rng.integers(0, 4, N),
        "sort": np.array(["low", "mid", "high"], dtype=object)[rng.integers(0, 3, N)],
        "pay": rng.normal(50, 30, N),
        "chance": np.round(chance, 2),
    }


HELD = rows()
SCHEMA: dict[str, Kind] = {
    "id": "integer",
    "code": "text",
    "rich": "boolean",
    "band": "integer",
    "sort": "text",
    "pay": "number",
}


def sample(engine: Any = "numpy") -> Sample:
    return table({name: HELD[name] for name in SCHEMA}, engine=engine)


def found(board: Board, predictions: Any, on: Sample | None = None) -> HiddenScore:
    """The secret score, without a guard."""
    on = on or sample()
    low, high = board.range
    guess = None if board.rule == "ladder" else (low + high) / 2
    bound = score(board.name, predictions, guess).bind(on.schema, on.n, Policy(boards=[board]))
    assert isinstance(bound, Scored)
    return bound.prepare(bound.gather(on), on.n)


def by_key(values: Any, key: str = "id") -> dict[str, Any]:
    return {"keys": HELD[key].tolist(), "predictions": np.asarray(values).tolist()}


def test_accuracy() -> None:
    guess = np.where(HELD["band"] < 2, HELD["band"], 3)
    board = Board("b", key="code", label="band", metric="accuracy")
    assert found(board, by_key(guess, "code")).value == sk.accuracy_score(HELD["band"], guess)
    words = np.where(HELD["sort"] == "low", "low", "high").astype(object)
    board = Board("b", key="id", label="sort", metric="accuracy")
    assert found(board, by_key(words)).value == sk.accuracy_score(HELD["sort"], words)


@pytest.mark.parametrize("eps", [0.01, 1e-6])
def test_log_loss(eps: float) -> None:
    board = Board("b", key="id", label="rich", metric="log-loss", eps=eps)
    clipped = np.clip(HELD["chance"], eps, 1 - eps)
    assert found(board, by_key(HELD["chance"])).value == pytest.approx(sk.log_loss(HELD["rich"], clipped), abs=2e-8)


def test_brier() -> None:
    board = Board("b", key="id", label="rich", metric="brier")
    right = sk.brier_score_loss(HELD["rich"], HELD["chance"])
    assert found(board, by_key(HELD["chance"])).value == pytest.approx(right, abs=2e-9)


def test_brier_of_one_class_of_several() -> None:
    board = Board("b", key="id", label="sort", metric="brier", positive="mid")
    right = sk.brier_score_loss(HELD["sort"] == "mid", HELD["chance"])
    assert found(board, by_key(HELD["chance"])).value == pytest.approx(right, abs=2e-9)


def test_mae() -> None:
    board = Board("b", key="id", label="pay", metric="mae", low=0, high=100)
    guess = HELD["chance"] * 200 - 50
    right = sk.mean_absolute_error(np.clip(HELD["pay"], 0, 100), np.clip(guess, 0, 100))
    assert found(board, by_key(guess)).value == pytest.approx(right, abs=2e-7)


def test_auc_with_ties() -> None:
    board = Board("b", key="id", label="rich", metric="auc")
    scores = np.round(HELD["chance"], 1)
    assert found(board, by_key(scores)).value == pytest.approx(sk.roc_auc_score(HELD["rich"], scores), abs=1e-12)


def test_f1() -> None:
    guess = HELD["chance"] > 0.7
    board = Board("b", key="id", label="rich", metric="f1")
    assert found(board, by_key(guess)).value == pytest.approx(sk.f1_score(HELD["rich"], guess), abs=1e-15)
    bands = (HELD["band"] + (HELD["chance"] > 0.5)) % 4
    board = Board("b", key="id", label="band", metric="f1", positive=2)
    assert found(board, by_key(bands)).value == pytest.approx(sk.f1_score(HELD["band"] == 2, bands == 2), abs=1e-15)


ALL = [
    (Board("b", key="id", label="rich", metric="accuracy"), HELD["chance"] > 0.5),
    (Board("b", key="id", label="rich", metric="log-loss"), HELD["chance"]),
    (Board("b", key="id", label="rich", metric="brier"), HELD["chance"]),
    (Board("b", key="id", label="pay", metric="mae", low=0, high=100), HELD["chance"] * 100),
    (Board("b", key="id", label="rich", metric="auc"), HELD["chance"]),
    (Board("b", key="id", label="rich", metric="f1"), HELD["chance"] > 0.5),
]


@pytest.mark.parametrize(("board", "values"), ALL, ids=lambda one: getattr(one, "metric", ""))
def test_what_is_not_predicted_is_the_worst_and_what_is_not_there_is_nothing(board: Board, values: Any) -> None:
    """A submission of part of the rows is never better than the whole with any prediction in the missing places."""
    whole = dict(zip(HELD["id"].tolist(), values.tolist(), strict=True))
    stranger = {10**6 + i: values[0].item() for i in range(50)}
    assert found(board, whole | stranger).value == found(board, whole).value
    part = {key: value for key, value in whole.items() if key % 3}
    least, most = min(whole.values()), max(whole.values())
    for filled in (least, most):
        full = {key: part.get(key, filled) for key in whole}
        worse, better = (part, full) if board.rising else (full, part)
        if board.metric in ("auc", "f1"):  # no prediction ranks below all others, and is none of the positive class
            continue
        assert found(board, worse).value <= found(board, better).value


@pytest.mark.parametrize(("board", "values"), ALL, ids=lambda one: getattr(one, "metric", ""))
def test_rows_without_labels(board: Board, values: Any) -> None:
    """No error and no difference in kind: a row without a label is a row on which nobody is right."""
    held: dict[str, Any] = {name: HELD[name] for name in SCHEMA}
    mask = np.arange(N) % 5 == 0
    held[board.label] = np.ma.array(held[board.label], mask=mask)
    on = table(held, engine="numpy")
    value = found(board, by_key(values), on).value
    if board.metric == "accuracy":
        assert value == np.mean((values == HELD["rich"]) & ~mask)
    if board.metric == "brier":
        losses = np.where(mask, 1.0, (values - HELD["rich"]) ** 2)
        assert value == pytest.approx(losses.mean(), abs=2e-9)
    if board.metric == "auc":
        assert value == pytest.approx(sk.roc_auc_score(HELD["rich"] & ~mask, values), abs=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_an_interval_holds_its_score_and_narrows_with_the_share(data: st.DataObject) -> None:
    board, values = data.draw(st.sampled_from(ALL))
    share = data.draw(st.floats(-300, -1))
    one = found(board, by_key(values))
    low, high = one.ends(share)
    wider = one.ends(share * 1.5)
    assert board.range[0] <= wider[0] <= low <= one.value + 1e-9
    assert one.value - 1e-9 <= high <= wider[1] <= board.range[1]


def test_secrets_are_not_shown() -> None:
    one = found(ALL[0][0], by_key(ALL[0][1]))
    assert str(one.value) not in repr(one)
    import pickle

    with pytest.raises(TypeError):
        pickle.dumps(one)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({}, "1 to"),
        ({"keys": [1, 1], "predictions": [True, False]}, "twice"),
        ({"keys": [1], "predictions": [True, False]}, "predictions must have one prediction for each key"),
        ({1.5: True}, "whole numbers"),
        ({"01": True}, "whole numbers"),
        ({2**70: True}, "whole numbers"),
        ({True: True}, "whole numbers"),
        ({1: "maybe"}, "true or false"),
        ({1: None}, "true or false"),
        ([1, 2], "mapping"),
        ("text", "mapping"),
    ],
)
def test_wrong_predictions_are_refused_by_the_file_alone(given_: Any, words: str) -> None:
    board = Board("b", key="id", label="rich", metric="accuracy")
    with pytest.raises(InvalidParameter, match=words):
        score("b", given_, 0.5).bind(Schema(SCHEMA), N, Policy(boards=[board]))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.5", None, True, 1.5, -0.1])
def test_a_probability_must_be_one(value: Any) -> None:
    board = Board("b", key="id", label="rich", metric="brier")
    with pytest.raises(InvalidParameter, match="predictions must be"):
        score("b", {1: value}, 0.5).bind(Schema(SCHEMA), N, Policy(boards=[board]))


def test_one_submission_has_one_digest() -> None:
    import pandas as pd
    import polars as pl

    from holdfast.guard.scoring.predictions import predictions

    keys, values = [3, 1, 2], [0.5, 0.25, 1.0]
    forms: list[Any] = [
        dict(zip(keys, values, strict=True)),
        {"keys": np.array(keys), "predictions": np.array(values)},
        {"keys": ["1", "2", "3"], "predictions": [0.25, 1, 0.5]},
        pl.DataFrame({"id": keys, "prediction": values}),
        pd.DataFrame({"prediction": values, "id": keys, "other": 0}),
    ]
    assert len({predictions(form, "id", "integer", "number").digest for form in forms}) == 1
    other = predictions({3: 0.5, 1: 0.25, 2: 0.9999}, "id", "integer", "number")
    assert other.digest != predictions(forms[0], "id", "integer", "number").digest


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"metric": "jaccard"}, "metric"),
        ({"rule": "all"}, "rule"),
        ({"metric": "mae"}, "low and high"),
        ({"low": 0, "high": 1}, "left out"),
        ({"step": 0.1}, "step"),
        ({"rule": "ladder", "step": 2}, "step"),
        ({"eps": 0.5}, "eps"),
        ({"label": "id"}, "two different columns"),
        ({"name": ""}, "printable"),
        ({"name": "a:b"}, "colon"),
        ({"positive": [1]}, "positive"),
        ({"best": "me"}, "best"),
    ],
)
def test_wrong_boards_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Board(**{"name": "b", "key": "id", "label": "rich", "metric": "accuracy"} | wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": "nobody"},
        {"key": "pay", "label": "rich"},
        {"label": "sort", "metric": "brier"},
        {"label": "sort", "metric": "mae", "low": 0, "high": 1},
        {"label": "band", "metric": "f1", "positive": "one"},
        {"label": "band", "metric": "f1", "positive": True},
    ],
)
def test_boards_must_fit_the_sample(wrong: dict[str, Any]) -> None:
    import holdfast as hf

    board = Board(**{"name": "b", "key": "id", "label": "rich", "metric": "accuracy"} | wrong)
    with pytest.raises(InvalidParameter, match="board"):
        hf.Guard.open(None, sample(), Policy(boards=[board]))
