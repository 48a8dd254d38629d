"""What the reusable holdout refuses: questions beyond its plan and wrong input, neither at a cost.

Missing values and values out of range are another matter: `test_charged_refusals.py`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import holdfast as hf
from holdfast.errors import BudgetExhausted, InvalidParameter
from tests.holdout.reusable_rows import N, column

# --- plans are enforced --------------------------------------------------------------------------------------------


def test_questions_beyond_the_plan_are_refused():
    holdout = hf.ReusableHoldout(N, questions=2)
    holdout.check(column(0.5), 0.5)
    assert holdout.check(column(0.5), 0.5).remaining == {"questions": 0, "failures": math.inf}
    before = holdout.state()
    with pytest.raises(BudgetExhausted, match="all 2 planned questions"):
        holdout.check(column(0.5), 0.5)
    with pytest.raises(BudgetExhausted):
        holdout.check_batch([column(0.5)], [0.5])
    assert holdout.state() == before


def test_the_failure_after_the_last_planned_one_shows_nothing_and_ends_the_run():
    holdout = hf.ReusableHoldout(N, questions=10, failures=1)
    first = holdout.check(column(0.5), 0.9)
    assert first.value is not None
    assert first.remaining == {"questions": 9, "failures": 0}
    assert holdout.check(column(0.5), 0.5).passed
    last = holdout.check(column(0.5), 0.9)
    assert (last.passed, last.value, last.interval) == (False, None, None)
    assert last.remaining == {"questions": 0, "failures": 0}
    before = holdout.state()
    with pytest.raises(BudgetExhausted, match="limits failures to 1"):
        holdout.check(column(0.5), 0.5)
    assert holdout.state() == before


def test_a_batch_is_answered_as_a_whole_or_not_at_all():
    """Its questions were fixed together; the cap on failures ends the run after it, and shows nothing beyond it."""
    holdout = hf.ReusableHoldout(N, questions=10, failures=1)
    answers = holdout.check_batch([column(0.5)] * 5, [0.5, 0.9, 0.5, 0.9, 0.5])
    assert [answer.passed for answer in answers] == [True, False, True, False, True]
    assert [answer.value is None for answer in answers] == [False, False, False, True, False]
    assert holdout.remaining == {"questions": 0, "failures": 0}
    twin = hf.ReusableHoldout.from_state(holdout.state())
    for run in (holdout, twin):
        with pytest.raises(BudgetExhausted, match="limits failures to 1"):
            run.check(column(0.5), 0.5)
    with pytest.raises(BudgetExhausted, match="4 questions do not fit: 3"):
        hf.ReusableHoldout(N, questions=3).check_batch([column(0.5)] * 4, [0.5] * 4)


def test_a_batch_whose_first_question_is_refused_costs_nothing():
    holdout = hf.ReusableHoldout(N, questions=10)
    before = holdout.state()
    with pytest.raises(InvalidParameter, match=r"tolerance must be at least .*; nothing was spent"):
        holdout.check_batch([column(0.5)] * 2, [0.5, 0.5], tolerance=1e-6)
    with pytest.raises(InvalidParameter, match="guesses must have one entry per question, 2, got 1"):
        holdout.check_batch([column(0.5)] * 2, [0.5])
    assert holdout.state() == before


def test_a_run_without_a_plan_never_ends_and_gets_harder():
    holdout = hf.ReusableHoldout(N)
    widths = []
    for _ in range(50):
        widths.append(holdout.least_tolerance(family="hoeffding"))
        holdout.check(column(0.5), 0.5)
    assert widths == sorted(widths)
    assert holdout.remaining == {"questions": math.inf, "failures": math.inf}


# --- wrong input spends nothing ------------------------------------------------------------------------------------

WRONG = {
    "wrong length": ({"holdout_values": np.zeros(N - 1)}, "10000 in all, got 9999"),
    "changed n": ({"holdout_values": np.zeros(N + 1)}, "10000 in all, got more"),
    "text": ({"holdout_values": ["a"] * N}, "numbers"),
    "guess outside the range": ({"guess": 1.01}, "guess must be a number in"),
    "guess is NaN": ({"guess": math.nan}, "guess"),
    "guess is text": ({"guess": "0.5"}, "guess"),
    "tolerance is nothing": ({"tolerance": 0.0}, "tolerance"),
    "tolerance too small": ({"tolerance": 0.01}, r"tolerance must be at least 0\.0\d+ .* nothing was spent"),
    "tolerance too small for bernstein": ({"tolerance": 1e-5, "family": "empirical-bernstein"}, "at least"),
    "unknown family": ({"family": "student"}, "family must be one of auto, hoeffding"),
    "unknown show": ({"show": "all"}, "show must be one of value, bit"),
    "binary elsewhere": ({"low": -1, "binary": True}, "binary"),
    "binary not a truth value": ({"binary": 1}, "binary"),
    "clopper-pearson elsewhere": ({"low": -1, "family": "clopper-pearson"}, "low and high"),
    "low above high": ({"low": 2}, "high"),
    "spread too large": ({"spread": 0.6}, "spread"),
    "grid is nothing": ({"grid": 0.0}, "grid"),
    "key is a number": ({"key": 3}, "key must be a text"),
    "weights": ({"weights": np.ones(N)}, "weights must be None"),
}


@pytest.mark.parametrize(("wrong", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_input_changes_nothing(wrong, message):
    """Every mistake is named, the state stays as it was, and the run goes on."""
    holdout = hf.ReusableHoldout(N, questions=3)
    holdout.check(column(0.5), 0.9, key="first")
    before, share = holdout.state(), holdout.log_share
    with pytest.raises(InvalidParameter, match=message):
        holdout.check(**({"holdout_values": column(0.5) * 1.0, "guess": 0.5} | wrong))
    assert holdout.state() == before
    assert holdout.log_share == share
    assert holdout.check(column(0.5), 0.5).passed


def test_a_stream_that_breaks_costs_nothing():
    def broken():
        yield np.zeros(10)
        raise OSError("disk")

    holdout = hf.ReusableHoldout(N, questions=3)
    with pytest.raises(OSError, match="disk"):
        holdout.check(broken(), 0.5)
    assert holdout.asked == 0


def test_wrong_batches_spend_nothing():
    holdout = hf.ReusableHoldout(4, questions=5)
    for values, guesses in (
        ([[0, 0, 1, 7], [0, 0, 1]], [0.5, 0.5]),
        ([[0, 0, 1, 1]], [0.5, 0.5]),
        ([[0, 0, 1, 1]] * 2, [0.5, 1.5]),
    ):
        with pytest.raises(InvalidParameter):
            holdout.check_batch(values, guesses)
    assert holdout.asked == 0


@pytest.mark.parametrize(
    "wrong",
    [{"n": 0}, {"n": 1.5}, {"questions": 0}, {"confidence": 1.0}, {"failures": -1}, {"low": 1.0}, {"high": math.inf}],
)
def test_wrong_plans_are_refused(wrong):
    with pytest.raises(InvalidParameter, match=next(iter(wrong)) if "low" not in wrong else "high"):
        hf.ReusableHoldout(**({"n": 10} | wrong))


def test_one_of_at_least_and_at_most():
    for both in ({}, {"at_least": 0.1, "at_most": 0.9}):
        with pytest.raises(InvalidParameter, match="at_least and at_most"):
            hf.ReusableHoldout(4).claim([0, 0, 1, 1], **both)


def test_a_tolerance_error_does_not_depend_on_the_rows():
    """Below the least tolerance every row pattern gives the same error; from there on, none."""
    n, questions = 40, 5
    least = hf.ReusableHoldout(n, questions=questions).least_tolerance(0.3, binary=True)
    for tolerance, refused in ((least * 0.999, True), (least, False)):
        messages = set()
        for k in range(n + 1):
            try:
                hf.ReusableHoldout(n, questions=questions).check(column(k / n, n), 0.3, tolerance)
            except InvalidParameter as error:
                messages.add(str(error))
        assert len(messages) == (1 if refused else 0)


def test_the_named_tolerance_works():
    with pytest.raises(InvalidParameter) as caught:
        hf.ReusableHoldout(N, questions=3).check(column(0.5), 0.5, 0.001)
    named = float(str(caught.value).split("at least ")[1].split(" ")[0])
    assert hf.ReusableHoldout(N, questions=3).check(column(0.5), 0.5, named).passed


def test_more_failures_than_questions_are_refused():
    with pytest.raises(InvalidParameter, match="failures must be at most the number of questions, 1000, got 2000"):
        hf.ReusableHoldout(N, questions=1000, failures=2000)
    assert hf.ReusableHoldout(N, questions=10, failures=10).failures == 10
    assert hf.ReusableHoldout(N, failures=2000).failures == 2000
