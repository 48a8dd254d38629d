"""Cells of a histogram have names of their own, or counts would be lost from the answer."""

from __future__ import annotations

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard import Guard, Policy, histogram
from holdfast.guard.questions import Question
from holdfast.guard.questions.histogram import cells_of


def test_a_category_called_other_keeps_its_count() -> None:
    sample = hf.data.table({"job": ["other"] * 600 + ["cook"] * 300 + ["smith"] * 100})
    guard = Guard.open(None, sample, Policy(privacy=PureDP(60.0), spend=PureDP(30.0)))
    answer = guard.ask(histogram("job", categories=["cook", "other"]))
    assert answer.value == pytest.approx({"cook": 0.3, "other": 0.6, "any other": 0.1}, abs=0.01)
    assert set(answer.interval) == set(answer.value)
    labels = cells_of("job", ["other", "any other"], None, Schema({"job": "text not null"})).labels
    assert labels == ("other", "any other", "any any other")


def test_edges_that_are_close_together_have_different_names() -> None:
    edges = [0.1, np.nextafter(0.1, 1), 0.12345671, 0.12345679, 3.0]
    labels = cells_of("x", None, edges, Schema({"x": "number not null"})).labels
    assert len(set(labels)) == 5
    assert labels[0] == "[0.1, 0.10000000000000002)"
    assert labels[-2] == "[0.12345679, 3]"


@pytest.mark.parametrize(
    "wrong",
    [
        {"categories": 3},
        {"categories": "ab"},
        {"categories": ["ab"]},
        {"categories": [5]},
        {"p0": 0.5},
        {"p0": "ab"},
        {"categories": [["a", "b"], []]},
    ],
)
def test_a_test_whose_lists_are_none_is_refused_at_the_door(wrong: dict[str, object]) -> None:
    plain = {"kind": "test", "name": "gof", "columns": ["t"], "categories": [["a", "b"]], "p0": [0.5, 0.5]} | wrong
    with pytest.raises(InvalidParameter):
        Question.from_dict(plain).bind(
            Schema({"t": "text not null"}), 10, Policy(privacy=PureDP(1.0), spend=PureDP(0.1))
        )
