"""Boards and predictions that are none: refused in words, before anything is scored or spent."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.errors import InvalidParameter
from holdfast.guard import Board, Policy
from holdfast.guard.leaderboard import Leaderboard, Place
from holdfast.guard.pipeline import Request, Rows
from holdfast.guard.scoring.predictions import predictions
from tests.guard.strangers import ask_each

PLAIN: dict[str, Any] = {"name": "income", "key": "id", "label": "rich", "metric": "accuracy"}


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        (None, "a board must be a mapping with no other fields than name, key, label, metric"),
        ("income", "a board must be a mapping with no other fields than name, key, label, metric"),
        (PLAIN | {"colour": "red"}, "a board must be a mapping with no other fields than name, key, label, metric"),
        ({}, "and this one has no name, key, label, metric"),
        ({"name": "income", "metric": "accuracy"}, "and this one has no key, label"),
        (PLAIN | {"models": 1}, "models must be true or false"),
        (PLAIN | {"models": None}, "models must be true or false"),
        (PLAIN | {"public_keys": "yes"}, "public_keys must be true or false"),
        (PLAIN | {"name": "a:b"}, "name of a board must have no colon"),
    ],
)
def test_what_is_no_board(plain: Any, said: str) -> None:
    assert Board.from_dict(PLAIN).to_dict().items() >= PLAIN.items()
    with pytest.raises(InvalidParameter, match=said):
        Board.from_dict(plain)


@pytest.mark.parametrize(
    "boards", [[], "income", PLAIN, 7, [PLAIN] * 101], ids=["none", "text", "one", "number", "many"]
)
def test_a_policy_has_a_list_of_boards(boards: Any) -> None:
    with pytest.raises(InvalidParameter, match="boards must be a list of 1 to 100 boards"):
        Policy(questions=5, boards=boards)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (7, "predictions must be a mapping from row keys to predictions, or a frame, got a int"),
        (pl.DataFrame({"id": [1], "guess": [True]}), "predictions must have the columns 'id' and 'prediction'"),
        (pl.DataFrame({"prediction": [True]}), "predictions must have the columns 'id' and 'prediction'"),
        ({}, "predictions must be a list of 1 to"),
        (
            {"keys": [1, 1], "predictions": [True, False]},
            "keys must be different from each other, and some occur twice",
        ),
    ],
)
def test_what_is_no_submission_spends_nothing(given: Any, said: str) -> None:
    rows = {"id": list(range(400)), "rich": [i % 4 == 0 for i in range(400)]}
    guard = hf.Guard.open(None, hf.data.table(rows), Policy(questions=5, boards=[PLAIN]))  # type: ignore[list-item]
    head = guard.ledger.head()
    with pytest.raises(InvalidParameter, match=said):
        guard.ask(hf.guard.score("income", given, 0.75))
    assert (guard.ledger.head(), guard.remaining()["total"]["questions"]) == (head, 5)


def test_predictions_in_any_form_are_the_same_submission() -> None:
    truths = [True, False, True]
    first = predictions(dict(enumerate(truths)), "id", "integer", "boolean")
    given = np.array(truths)
    second = predictions({"keys": np.arange(3), "predictions": given}, "id", "integer", "boolean")
    assert second.digest == first.digest
    given[:] = False  # what its owner does to the array afterwards changes nothing
    assert second.values.tolist() == truths
    numbers = predictions({"keys": [0, 1], "predictions": [1, 2]}, "id", "integer", "number")
    other = np.array([1, 2], dtype=object)
    assert predictions({"keys": [0, 1], "predictions": other}, "id", "integer", "number").digest == numbers.digest


@pytest.mark.parametrize(
    "values", [np.array([1, "a"], dtype=object), np.array([[1.0], [2.0]]), [10**400, 1], [1, None]]
)
def test_predictions_that_are_no_numbers(values: Any) -> None:
    with pytest.raises(InvalidParameter, match="predictions must be finite numbers, and some are not"):
        predictions({"keys": [0, 1], "predictions": values}, "id", "integer", "number")


def test_predictions_show_their_number_alone() -> None:
    made = predictions({"ann": "a secret label"}, "id", "text", "text")
    assert repr(made) == f"Predictions(1 keys, {made.digest[:12]}...)"


def test_a_place_that_shows_nothing_is_not_listed() -> None:
    shown = Place(2, "2030-01-01", "ann", "forest", 0.8, (0.7, 0.9), True, None, rank=(1, 1))
    hidden = Place(3, "2030-01-02", "bob", "tree", None, None, False, None)
    text = str(Leaderboard(Board.from_dict(PLAIN), 0.95, (shown, hidden), 2))
    assert "2 submissions" in text
    assert "ann" in text
    assert "bob" not in text


# Labels of more than two classes, and what metrics are called.


@pytest.mark.parametrize("engine", ["polars", "numpy"])
@pytest.mark.parametrize("metric", ["f1", "auc", "log-loss", "brier"])
def test_labels_of_several_classes_need_the_one_that_a_score_is_about(metric: Any, engine: Any) -> None:
    """It scored label 1 against the rest: true micro-F1 0.017, and the board showed 0.745."""
    board = Board("b", key="id", label="y", metric=metric)
    rows = {"id": list(range(60)), "y": [i % 3 for i in range(60)]}
    sample = hf.data.table(rows, engine=engine)
    with pytest.raises(InvalidParameter, match=f"positive of board 'b' must be given.*{metric} needs one of them"):
        hf.Guard.open(None, sample, Policy(questions=5, boards=[board]))
    named = Board("b", key="id", label="y", metric=metric, positive=2)
    assert hf.Guard.open(None, sample, Policy(questions=5, boards=[named])).policy.board("b") == named
    two = hf.data.table({"id": list(range(60)), "y": [i % 2 for i in range(60)]}, engine=engine)
    assert hf.Guard.open(None, two, Policy(questions=5, boards=[board])).policy.board("b") == board


def test_an_override_reads_no_labels_and_asks_for_the_positive_one() -> None:
    rows = {"id": list(range(60)), "y": [i % 2 for i in range(60)], "sure": [True] * 60}
    policy = Policy(questions=5, kinds=("check",))
    guard = hf.Guard.open(None, hf.data.table(rows), policy)
    for label, more, refused in (("y", {}, True), ("y", {"positive": 0}, False), ("sure", {}, False)):
        board = Board(f"b {label} {refused}", key="id", label=label, metric="f1", **more)  # type: ignore[arg-type]
        changed = Policy(questions=5, kinds=("check", "score"), boards=[*(guard.policy.boards or ()), board])
        if refused:
            with pytest.raises(InvalidParameter, match="must be given, because an override does not read"):
                guard.override(changed, "a board")
        else:
            guard.override(changed, "a board")
            assert guard.policy.board(board.name) == board


@pytest.mark.parametrize(
    ("named", "metric"),
    [
        ("accuracy_score", "accuracy"),
        ("f1_score", "f1"),
        ("roc_auc_score", "auc"),
        ("roc_auc", "auc"),
        ("neg_log_loss", "log-loss"),
        ("log_loss", "log-loss"),
        ("neg_brier_score", "brier"),
        ("Brier Score Loss", "brier"),
        ("f1_micro", "accuracy"),
        ("top_k_accuracy_score", "top-k"),
    ],
)
def test_names_of_scikit_learn_are_understood(named: Any, metric: str) -> None:
    board = Board("b", key="id", label="y", metric=named)
    assert board.metric == metric
    assert board == Board("b", key="id", label="y", metric=metric)
    assert Board("b", key="id", label="y", metric="mean_absolute_error", low=0, high=1).metric == "mae"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("named", "nearest"),
    [
        ("f1_weighted", "f1"),
        ("roc_auc_ovr", "auc"),
        ("average_precision", "auc"),
        ("precision", "f1"),
        ("neg_mean_squared_error", "rmse"),
        ("acuracy", "accuracy"),
    ],
)
def test_what_is_not_here_names_the_nearest(named: Any, nearest: str) -> None:
    with pytest.raises(InvalidParameter, match=f"got '{named}'; the nearest to it is '{nearest}'$"):
        Board("b", key="id", label="y", metric=named)


def test_what_is_like_nothing_names_none() -> None:
    with pytest.raises(InvalidParameter, match=r"got .zzz.$"):
        Board("b", key="id", label="y", metric="zzz")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"got 7$"):
        Board("b", key="id", label="y", metric=7)  # type: ignore[arg-type]


# Keys that name no row.


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("kind", ["integer", "text"])
def test_predictions_that_name_no_row_are_refused_where_keys_are_public(
    kind: str, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is charged, also where rows are read after a question was paid for, alone and among others."""
    monkeypatch.setattr(Rows, "slow", property(lambda _: slow))
    keys: list[Any] = [f"r{i}" if kind == "text" else i for i in range(400)]
    strangers = [f"s{i}" if kind == "text" else 1000 + i for i in range(400)]
    rows = {"id": keys, "rich": [i % 4 == 0 for i in range(400)]}
    board = Board("income", key="id", label="rich", metric="accuracy", public_keys=True)
    guard = hf.Guard.open(None, hf.data.table(rows), Policy(questions=5, boards=[board]))
    head = guard.ledger.head()
    unknown = hf.guard.score("income", dict.fromkeys(strangers, True), 0.75)
    said = "none of the 400 keys that were sent is in its column 'id'; nothing was spent"
    with pytest.raises(InvalidParameter, match=said):
        guard.ask(unknown)
    (error, answer) = ask_each(
        guard, [Request(unknown, "ann"), Request(hf.guard.score("income", dict.fromkeys(keys, False), 0.75), "bob")]
    )
    assert isinstance(error, InvalidParameter)
    assert said in str(error)
    assert isinstance(answer, hf.guard.GuardedAnswer)
    assert answer.passed
    assert guard.ledger.head().sequence == head.sequence + (2 if slow else 1)
    assert guard.remaining("ann")["yours"]["questions"] == 5
    some = dict.fromkeys([*strangers, keys[0]], True)
    assert not guard.ask(hf.guard.score("income", some, 0.75), analyst="ann").repeated  # one that is known is enough


def test_predictions_that_name_no_row_are_scored_where_keys_are_secret() -> None:
    """To refuse them would tell that no row has these keys."""
    rows = {"id": list(range(400)), "rich": [i % 4 == 0 for i in range(400)]}
    guard = hf.Guard.open(None, hf.data.table(rows), Policy(questions=5, boards=[PLAIN]))  # type: ignore[list-item]
    answer = guard.ask(hf.guard.score("income", {1000: True}, 0.05))
    assert answer.interval[0] == 0
    assert guard.remaining()["yours"]["questions"] == 4


LABELS = {"id": list(range(400)), "label": ["yes" if i % 4 else "no" for i in range(400)]}


@pytest.mark.parametrize(
    ("board", "policy"),
    [
        ({"metric": "accuracy"}, {"columns": {"label": {"categories": ["yes", "no"]}}}),
        ({"metric": "macro-f1", "classes": ["yes", "no"]}, {}),
    ],
)
@pytest.mark.parametrize(("sent", "said"), [("1", "the predictions are '1'"), ("yes ", "with blanks around them")])
def test_predictions_of_which_none_is_a_declared_label_are_refused_for_free(
    board: dict[str, Any], policy: dict[str, Any], sent: str, said: str
) -> None:
    declared = Board("b", key="id", label="label", **board)
    guard = hf.Guard.open(None, hf.data.table(LABELS), Policy(questions=9, boards=[declared], **policy))
    with pytest.raises(InvalidParameter, match=f"must be labels of the board 'b', which are 'no', 'yes'.*{said}"):
        guard.ask(hf.guard.score("b", dict.fromkeys(range(400), sent), 0.7))
    assert guard.remaining()["total"]["questions"] == 9
    assert guard.ask(hf.guard.score("b", dict.fromkeys(range(400), "yes"), 0.7)).passed is not None


def test_predictions_of_other_labels_are_scored_where_labels_are_not_declared() -> None:
    """A refusal would tell which labels the hidden rows have."""
    board = Board("b", key="id", label="label", metric="accuracy")
    guard = hf.Guard.open(None, hf.data.table(LABELS), Policy(questions=9, boards=[board]))
    assert guard.ask(hf.guard.score("b", dict.fromkeys(range(400), "1"), 0.7)).passed is False
