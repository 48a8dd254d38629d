"""The reusable holdout's run: keys, states, copies and threads."""

from __future__ import annotations

import copy
import json
import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from holdfast.holdout.shares import Shares

import holdfast as hf
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.holdout.intervals.procedure import OnRows
from tests.holdout.reusable_rows import N, column


def test_a_key_returns_the_stored_answer_free_of_cost():
    """Rows are not even read: a repeated question must not be answered anew, and works after exhaustion."""
    holdout = hf.ReusableHoldout(N, questions=1)
    answer = holdout.check(column(0.5), 0.9, key="model 7")
    before = holdout.state()
    assert holdout.check(None, 0.9, key="model 7") is answer
    assert holdout.check(column(0.9), 0.9, key="model 7") is answer
    assert holdout.state() == before
    with pytest.raises(InvalidParameter, match="another question"):
        holdout.check(column(0.5), 0.8, key="model 7")
    with pytest.raises(InvalidParameter, match="another question"):
        holdout.claim(column(0.5), at_least=0.1, key="model 7")


def played() -> hf.ReusableHoldout:
    holdout = hf.ReusableHoldout(N, questions=20, failures=4, confidence=0.9, low=0, high=1)
    holdout.check(column(0.5), 0.9, key="a")
    holdout.check(column(0.5), 0.5)
    holdout.claim(column(0.5), at_least=0.4, key="b")
    holdout.compare(column(0.5), column(0.4), spread=0.3)
    holdout.check(column(0.5) * 0.5, 0.5, family="betting", key="c")
    return holdout


def test_a_state_is_plain_and_reads_back_exactly():
    holdout = played()
    text = json.dumps(holdout.state(), allow_nan=False)
    twin = hf.ReusableHoldout.from_state(json.loads(text))
    assert twin.state() == holdout.state()
    assert twin.transcript == holdout.transcript
    assert twin.log_share == holdout.log_share
    assert repr(twin) == repr(holdout)
    assert twin.check(None, 0.9, key="a") == holdout.transcript[0]
    assert twin.check(column(0.5), 0.77) == holdout.check(column(0.5), 0.77)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda state: state.pop("n"),
        lambda state: state.update(format=99),
        lambda state: state.update(questions=4),
        lambda state: state.update(transcript=3),
        lambda state: state["transcript"][0].pop("shown"),
        lambda state: state["transcript"][0].update(shown=0),
        lambda state: state["transcript"][0].update(passed="yes"),
        lambda state: state["transcript"][0].update(value="high"),
        lambda state: state["transcript"][0].update(interval=[0.5]),
        lambda state: state["transcript"][0].update(key=7),
        lambda state: state["transcript"][2].update(key="a"),
        lambda state: state["transcript"][0].update(question=None),
    ],
)
def test_broken_states_are_refused(break_it):
    state = json.loads(json.dumps(played().state()))
    break_it(state)
    with pytest.raises(InvalidParameter, match="state"):
        hf.ReusableHoldout.from_state(state)


def test_a_run_has_no_copies():
    """Copies would spend one confidence twice: copying gives the same run, pickling says what to do."""
    holdout = played()
    assert copy.copy(holdout) is holdout
    assert copy.deepcopy([holdout])[0] is holdout
    with pytest.raises(TypeError, match=r"state\(\) and from_state\(\)"):
        pickle.dumps(holdout)


def test_a_forked_copy_refuses(monkeypatch):
    holdout = played()
    monkeypatch.setattr("holdfast.core.copying.os.getpid", lambda: -1)
    with pytest.raises(QuestionRefused, match="fork"):
        holdout.check(column(0.5), 0.5)
    assert holdout.check(None, 0.9, key="a") == holdout.transcript[0]


def test_a_repr_says_the_plan_and_what_is_used():
    assert repr(hf.ReusableHoldout(100)) == "ReusableHoldout(n=100, confidence=0.95: 0 asked, 0 failed)"
    assert repr(played()) == "ReusableHoldout(n=10000, confidence=0.9: 5 of 20 asked, 2 of 4 failed)"
    ended = hf.ReusableHoldout(100, questions=9, failures=1)
    for _ in range(2):
        ended.check([False] * 100, 1.0)
    assert repr(ended).endswith(": 2 of 9 asked, ended by a failure after the 1 planned)")


def test_threads_share_one_budget():
    """Eight threads ask for more than there is: each planned question is given once, each share is the right one."""
    holdout = hf.ReusableHoldout(100, questions=300)
    start = threading.Barrier(8)
    right, wrong = column(0.5, 100), column(0.0, 100)

    def ask(worker: int) -> tuple[list, int]:
        start.wait()
        got, refused = [], 0
        for i in range(60):
            try:
                got.append(holdout.check(wrong if (i + worker) % 20 == 0 else right, 0.5, family="hoeffding"))
            except BudgetExhausted:
                refused += 1
        return got, refused

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(ask, range(8)))
    answers = [answer for got, _ in results for answer in got]
    assert sum(refused for _, refused in results) == 8 * 60 - 300
    assert sorted(a.guarantee.parameters["question"] for a in answers) == list(range(1, 301))
    plan, log_shown, failed = Shares(0.95, 300), 0.0, 0
    for t, entry in enumerate(holdout.state()["transcript"], 1):
        said = holdout.transcript[t - 1].guarantee.parameters
        assert said["failures"] == failed
        assert said["log_share"] == pytest.approx(plan.log_share(t, failed, log_shown), abs=1e-5)
        if not entry["passed"]:
            failed, log_shown = failed + 1, log_shown + math.log(entry["shown"])


def together(holdout: hf.ReusableHoldout, threads: int, key: str | None) -> list:
    """Every thread is reading its rows, past the first look at key and budget, before any of them is answered."""
    start = threading.Barrier(threads)

    def rows():
        start.wait()
        yield column(0.5, 100)

    def ask(_: int):
        try:
            return holdout.check(rows(), 0.5, key=key)
        except BudgetExhausted:
            return None

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(ask, range(threads)))


def test_threads_with_one_key_get_one_answer():
    holdout = hf.ReusableHoldout(100, questions=50)
    answers = together(holdout, 8, key="the same")
    assert all(answer is answers[0] for answer in answers)
    assert holdout.asked == 1


def test_threads_cannot_both_take_the_last_question():
    holdout = hf.ReusableHoldout(100, questions=1)
    answers = together(holdout, 8, key=None)
    assert sum(answer is not None for answer in answers) == 1
    assert holdout.asked == 1


def test_a_question_that_asks_while_it_is_decided_is_refused():
    """It would get the share of the question that it is part of: two questions for one share."""
    holdout = hf.ReusableHoldout(4, questions=5)
    inner: list[object] = []

    def limits(log_share, side):
        try:
            inner.append(holdout.check([0, 0, 1, 1], 0.5))
        except QuestionRefused as error:
            inner.append(error)
        return 0.4, 0.6

    before = holdout.log_share
    holdout.check_metric(OnRows(0.0, 1.0, 4, "nested", limits), 0.5, 0.2)
    assert isinstance(inner[0], QuestionRefused)
    assert holdout.asked == 1
    assert holdout.transcript[0].guarantee.parameters["log_share"] == round(before, 6)
    assert holdout.check([0, 0, 1, 1], 0.5, 1.0).passed  # and the next question is answered


def test_an_error_while_a_question_is_decided_leaves_the_holdout_open():
    holdout = hf.ReusableHoldout(4, questions=5)

    def limits(log_share, side):
        raise RuntimeError("a procedure's own trouble")

    with pytest.raises(RuntimeError, match="own trouble"):
        holdout.check_metric(OnRows(0.0, 1.0, 4, "broken", limits), 0.5, 0.2)
    assert holdout.asked == 0
    assert holdout.check([0, 0, 1, 1], 0.5, 1.0).passed


def test_a_state_is_plain_whatever_number_types_came_in():
    holdout = hf.ReusableHoldout(np.int64(100), questions=np.int32(5), low=np.float32(0), high=np.float32(1))
    holdout.check(column(0.5, 100), np.float32(0.5), np.float32(0.6), spread=np.float32(0.25), key="a")
    state = json.loads(json.dumps(holdout.state()))
    again = hf.ReusableHoldout.from_state(state)
    assert again.check(None, np.float32(0.5), np.float32(0.6), spread=np.float32(0.25), key="a").passed
