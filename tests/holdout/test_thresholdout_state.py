"""Thresholdout's run: named questions, its secret, states, copies and threads."""

from __future__ import annotations

import copy
import json
import os
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.accounting.costs import PureDP
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.holdout import NoiseScales, Thresholdout
from holdfast.noise import Grid, Seeded
from tests.holdout.thresholdout_runs import FUZZ, make
from tests.mechanisms.test_sparse_run import Counting


class TestNamedQuestions:
    def test_the_same_name_gets_the_same_answer_free(self) -> None:
        source = Counting(5)
        holdout = make(budget=1, source=source)
        first = holdout.query_means(0.9, 0.1, key="model 1")
        drawn = source.count
        again = [
            holdout.query_means(0.9, 0.1, key="model 1"),
            holdout.query_values(0.9, np.full(10_000, 0.1), key="model 1"),
            holdout.query([0.9], np.full(10_000, 0.1), key="model 1"),
        ]
        assert all(a.value == first.value and a.passed is False for a in again)
        assert all(a.cost == PureDP(0.0) for a in again)
        assert (source.count, holdout.asked) == (drawn, 1)
        assert holdout.query_means(0.9, 0.1, key="model 2").value is None  # bottom is not kept
        with pytest.raises(InvalidParameter, match="key"):
            holdout.query_means(0.9, 0.1, key=7)  # type: ignore[arg-type]

    def test_names_are_saved(self) -> None:
        holdout = make()
        value = holdout.query_means(0.9, 0.1, key="a").value
        again = Thresholdout.from_state(json.loads(json.dumps(holdout.state())))
        assert again.query_means(0.0, 0.0, key="a").value == value
        assert again.state() == holdout.state()


class TestSecret:
    def test_repr_pickle_and_copies(self) -> None:
        holdout = make()
        text = repr(holdout) + str(holdout.query_means(0.9, 0.1234567))
        assert str(holdout._secret) not in text
        assert "1234567" not in text
        for leak in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"state\(\) and from_state\(\)"):
                leak(holdout)

    @FUZZ
    @given(
        questions=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=12),
        stop=st.integers(0, 12),
        variant=st.sampled_from(["figure-1", "single-threshold", "numeric-sparse"]),
    )
    def test_state_continues_exactly(self, questions: list[tuple[float, float]], stop: int, variant: str) -> None:
        kept = make(variant=variant, sigma=0.02)
        moved = make(variant=variant, sigma=0.02)
        for i, (candidate, mean) in enumerate(questions):
            if i == stop:
                moved = Thresholdout.from_state(json.loads(json.dumps(moved.state())))
            assert kept.query_means(candidate, mean) == moved.query_means(candidate, mean)
            assert kept.left >= 0
        assert kept.state() == moved.state()

    def test_state_of_every_parameter(self) -> None:
        for changes in (
            {"sensitivity": 0.3},
            {"sensitivity": Fraction(1, 3)},
            {"scales": NoiseScales(0.1, 0.2, 0.3, False)},
            {"low": -1, "high": 4, "clamp": True, "side": "train_above"},
            {"grid": Grid(-30)},
        ):
            holdout = make(**changes)
            again = Thresholdout.from_state(json.loads(json.dumps(holdout.state())))
            assert again.state() == holdout.state()
            assert again.cost == holdout.cost
        secure = Thresholdout(100, 0.1, 0.01, 1)
        assert secure.state()["source"] is None
        assert secure.state()["secret"] is True
        planned = Thresholdout.plan(0.5, 10, 1, source=Seeded(1))
        again = Thresholdout.from_state(planned.state())
        assert again.certified
        assert again.claim == planned.claim

    def test_states_that_no_run_has_are_refused(self) -> None:
        state = make().state()
        for wrong in (
            None,
            {},
            {**state, "kind": "ladder"},
            {**state, "left": 4},
            {**state, "left": -1},
            {**state, "left": 1, "asked": 1},
            {**state, "noisy_threshold": 0.5},
            {**state, "fresh": 1},
            {**state, "source": {"seed": 1}},
            {k: v for k, v in state.items() if k != "asked"},
        ):
            with pytest.raises(InvalidParameter):
                Thresholdout.from_state(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="given by hand"):
            make(draws=lambda *_: 0).state()
        with pytest.raises(InvalidParameter, match="Counting"):
            make(source=Counting(1)).state()

    def test_threads_share_one_budget(self) -> None:
        holdout = make(budget=50, source=None)
        spoke: list[bool] = []

        def ask() -> None:
            for _ in range(40):
                spoke.append(holdout.query_means(0.9, 0.1).passed is False)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (sum(spoke), len(spoke), holdout.left) == (50, 160, 0)

    def test_a_forked_child_gets_no_answer(self) -> None:
        holdout = make(source=None, threshold=0.5)
        pid = os.fork()
        if pid == 0:
            try:
                holdout.query_means(0.5, 0.5)
            except HoldfastError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        assert holdout.query_means(0.5, 0.5).value == 0.5


def test_two_threads_with_one_name_get_one_answer() -> None:
    """Both look before either has asked; the second look is inside the lock."""
    holdout = Thresholdout(n=4, threshold=0.1, sigma=0.1, budget=2)
    assert holdout._recall("a") is None
    first = holdout._ask(0.5, 0.5, "a")  # what the faster thread does
    second = holdout._ask(0.5, 0.5, "a")  # the slower one, after its own first look
    assert first.value == second.value
    assert holdout.asked == 1
