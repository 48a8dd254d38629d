"""States of methods: they round-trip, and wrong ones are refused."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from holdfast.errors import InvalidParameter
from holdfast.inference import (
    FilteredAnswers,
    GaussianAnswers,
    SplitAnswers,
)
from holdfast.inference.answers.answerer import Answerer
from holdfast.noise import Seeded
from tests.inference.answers.answerers import ALL, K, N, ask


@pytest.mark.parametrize("name", ALL)
def test_state_round_trips_and_pickle_is_refused(name: str) -> None:
    answerer = ALL[name](Seeded(1))
    ask(answerer)
    ask(answerer)
    state = json.loads(json.dumps(answerer.state()))
    for restored in (Answerer.from_state(state, Seeded(4)), type(answerer).from_state(state, Seeded(4))):
        assert type(restored) is type(answerer)
        assert restored.state() == answerer.state()
        assert restored.remaining == answerer.remaining
        ask(restored)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="from_state"):
            copied(answerer)
    assert "simulated" in repr(answerer) or name == "split"
    assert "Seeded" not in repr(answerer)


@pytest.mark.parametrize(
    "state", [None, {}, {"kind": "nothing"}, {"kind": "gaussian"}, {"kind": "gaussian", "asked": 0}]
)
def test_wrong_state(state: Any) -> None:
    with pytest.raises(InvalidParameter):
        Answerer.from_state(state)


def test_state_of_another_kind_or_too_far_is_refused() -> None:
    state = GaussianAnswers(N, K, 0.95).state()
    with pytest.raises(InvalidParameter):
        SplitAnswers.from_state(state)
    with pytest.raises(InvalidParameter, match="asked"):
        GaussianAnswers.from_state(state | {"asked": K + 1})
    filtered = FilteredAnswers(N, K, 0.95).state()
    for spent in ("9", "-1", "x", None):
        with pytest.raises(InvalidParameter, match="state"):
            FilteredAnswers.from_state(filtered | {"spent": spent})
