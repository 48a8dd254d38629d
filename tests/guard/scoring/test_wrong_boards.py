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
from holdfast.guard.scoring.predictions import predictions

PLAIN: dict[str, Any] = {"name": "income", "key": "id", "label": "rich", "metric": "accuracy"}


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        (None, "a board must be a mapping with name, key, label, metric"),
        ("income", "a board must be a mapping with name, key, label, metric"),
        (PLAIN | {"colour": "red"}, "a board must be a mapping with name, key, label, metric"),
        ({}, "a board must have name, key, label, metric"),
        ({"name": "income", "metric": "accuracy"}, "a board must have key, label"),
        (PLAIN | {"models": 1}, "models must be true or false"),
        (PLAIN | {"models": None}, "models must be true or false"),
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
        (7, "predictions must be a mapping of keys to predictions, or a frame, got a int"),
        (pl.DataFrame({"id": [1], "guess": [True]}), "predictions must have the columns 'id' and 'prediction'"),
        (pl.DataFrame({"prediction": [True]}), "predictions must have the columns 'id' and 'prediction'"),
        ({}, "predictions must be 1 to"),
        ({"keys": [1, 1], "predictions": [True, False]}, "keys must name each row once, and some occur twice"),
    ],
)
def test_what_is_no_submission_spends_nothing(given: Any, said: str) -> None:
    rows = {"id": list(range(400)), "rich": [i % 4 == 0 for i in range(400)]}
    guard = hf.Guard.open(None, hf.data.table(rows), Policy(questions=5, boards=[PLAIN]))  # type: ignore[list-item]
    head = guard.ledger.head()
    with pytest.raises(InvalidParameter, match=said):
        guard.ask(hf.guard.score("income", given, 0.75))
    assert (guard.ledger.head(), guard.remaining()["whole"]["questions"]) == (head, 5)


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
