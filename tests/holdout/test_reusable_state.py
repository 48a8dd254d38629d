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

import holdfast as hf
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.holdout.error_budget import Course, ErrorBudget, Message
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
        lambda state: state["transcript"][0].pop("log_weight"),
        lambda state: state["transcript"][0].update(log_weight=0.1),
        lambda state: state["transcript"][0].update(log_share=1.0),
        lambda state: state["transcript"][0].update(extra=-0.1),
        lambda state: state["transcript"][0].update(risk="high"),
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
    budget, course = ErrorBudget(0.95, 300), Course()
    for entry, answer in zip(holdout.state()["transcript"], holdout.transcript, strict=True):
        said = answer.guarantee.parameters
        assert said["failures"] == course.failed
        assert said["log_share"] == pytest.approx(budget.log_share(course), abs=1e-5)
        course = budget.after(course, [Message(entry["passed"], entry["log_weight"], entry["risk"])])


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


def every_kind() -> hf.ReusableHoldout:
    """A run with every kind of question, stakes, risks and a batch."""
    holdout = hf.ReusableHoldout(1000, questions=20, expected_failures=2.0)
    right, wrong = column(0.7, 1000), column(0.4, 1000)
    holdout.check(right, 0.7, guess_rows=300, stake=0.1, key="staked")
    holdout.check(right, 0.2, side="below", risk=0.5)
    holdout.check_batch([right, wrong], [0.7, 0.9])
    holdout.claim(right, at_least=0.6)
    holdout.compare(right, wrong)
    holdout.compare(right, wrong, 0.3)
    holdout.best({"a": right, "b": wrong}, key="named")
    holdout.best({"a": right, "b": wrong}, {"a": 0.2, "b": 0.4}, show="value", key="with its value")
    return holdout


def test_a_state_with_secrets_reveals_what_the_run_would_have():
    holdout = every_kind()
    twin = hf.ReusableHoldout.from_state(json.loads(json.dumps(holdout.state(secrets=True), allow_nan=False)))
    without = hf.ReusableHoldout.from_state(json.loads(json.dumps(holdout.state())))
    assert twin.log_share == without.log_share == holdout.log_share
    assert twin.budget == holdout.budget
    assert "exact" not in str(holdout.state())
    revealed = holdout.close()
    assert twin.close() == revealed
    assert without.close() == holdout.transcript  # it was closed without what it could have shown
    for run in (twin, without, hf.ReusableHoldout.from_state(holdout.state())):
        assert run.ended
        with pytest.raises(BudgetExhausted):
            run.check(column(0.7, 1000), 0.7)


def test_a_question_that_asks_while_a_final_is_decided_is_refused():
    """Its spending would be counted twice: the final takes what exploring has left."""
    holdout = hf.ReusableHoldout(4, questions=5)
    inner: list[object] = []

    def limits(log_share, side):
        try:
            inner.append(holdout.check([0, 0, 1, 1], 0.5))
        except QuestionRefused as error:
            inner.append(error)
        return 0.4, 0.6

    holdout.final({"nested": OnRows(0.0, 1.0, 4, "nested", limits, 0.5)})
    assert isinstance(inner[0], QuestionRefused)
    assert holdout.ended


@pytest.mark.parametrize("end", ["close", "final"])
def test_a_run_is_not_ended_by_a_question_that_is_being_decided(end):
    """Exact values would be out before its answer was made."""
    holdout = hf.ReusableHoldout(4, questions=5)

    def limits(log_share, side):
        with pytest.raises(QuestionRefused, match="while it is being decided"):
            holdout.close() if end == "close" else holdout.final({"a": [0, 0, 1, 1]})
        return 0.4, 0.6

    assert holdout.check_metric(OnRows(0.0, 1.0, 4, "nested", limits), 0.5, 0.2).passed
    assert not holdout.ended


def test_names_of_winners_are_not_among_the_planned_questions():
    holdout = hf.ReusableHoldout(4, questions=2)
    for _ in range(5):
        holdout.best({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1]})
    assert holdout.asked == 5
    assert "0 of 2 asked" in repr(holdout)
    assert holdout.remaining["questions"] == 2


def test_threads_get_one_final_and_no_question_after_it():
    """All of them have read their rows before the first is decided."""
    for reserve in (0.0, [0.25, 0.25]):
        holdout = hf.ReusableHoldout(100, questions=50, reserve=reserve, seed=1)
        start = threading.Barrier(8)

        def rows(start=start):
            start.wait()
            yield column(0.5, 100)

        def ask(worker: int, holdout=holdout, rows=rows):
            try:
                return holdout.final({"a": rows()}) if worker % 2 else holdout.check(rows(), 0.5)
            except BudgetExhausted:
                return None

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, range(8)))
        finals = [one for one in found[1::2] if one is not None]
        assert len(finals) == 1
        assert len(finals[0].revealed) == len(holdout.transcript) == sum(one is not None for one in found[::2])


def test_a_state_of_an_earlier_version_goes_on_by_the_prior_of_this_one():
    """Question t had spent 1/questions then, whatever was shown, so that is what it has spent; nothing is kept."""
    asked = {"kind": "check", "low": 0.0, "high": 1.0, "family": "auto", "spread": None, "binary": False}
    asked |= {"guess": 0.9, "tolerance": None, "value": True, "grid": None}
    entry = {"question": asked, "key": "a", "passed": False, "value": 0.5, "interval": [0.4, 0.6], "family": "kl"}
    plan = {"format": 1, "n": 1000, "questions": 20, "confidence": 0.95, "failures": 4, "low": 0.0, "high": 1.0}
    passed = entry | {"key": None, "passed": True, "value": 0.9, "shown": 1}
    holdout = hf.ReusableHoldout.from_state(plan | {"transcript": [entry | {"shown": 12}, passed]})
    assert (holdout.asked, holdout.failed, holdout.budget.final) == (2, 1, 0.0)
    exact = math.log(0.05 / 20) + math.log(1 / 20 * 19 / 21 / 12)
    assert holdout.log_share == pytest.approx(exact, abs=1e-8)
    assert holdout.check(None, 0.9, key="a").value == 0.5
    assert hf.ReusableHoldout.from_state(holdout.state()).state() == holdout.state()
    assert holdout.budget.final_spending(holdout._run.course) == pytest.approx(18 / 20)  # what exploring has left
    assert holdout.close() == holdout.transcript
