"""Refusals that depend on rows: missing values and values out of range are messages of a run, recorded and charged.

Everything else that is wrong with a call is found before any value is looked at, and costs nothing.
"""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.bounds.one_question import blaker
from holdfast.data.values import ValuesRefused
from holdfast.errors import BudgetExhausted, HoldfastError, InvalidParameter
from holdfast.holdout.error_budget import LOG_ANSWERED, LOG_REFUSED, REFUSED

N = 150
Ask = Callable[[hf.ReusableHoldout, Any, Any], Any]
"""A question about two columns."""

ASKS: dict[str, Ask] = {
    "check": lambda h, a, b: h.check(a, 0.5),
    "check with a stake": lambda h, a, b: h.check(a, 0.5, stake=0.2),
    "check by betting": lambda h, a, b: h.check(a, 0.5, family="betting"),
    "check of 0/1": lambda h, a, b: h.check(a, 0.5, binary=True),
    "batch": lambda h, a, b: h.check_batch([b, a], [0.5, 0.5]),
    "claim": lambda h, a, b: h.claim(a, at_least=0.5),
    "compare": lambda h, a, b: h.compare(b, a),
    "compare by signs": lambda h, a, b: h.compare(b, a, binary=True),
    "compare with a guess": lambda h, a, b: h.compare(b, a, 0.1),
    "best": lambda h, a, b: h.best({"b": b, "a": a}),
    "best with values": lambda h, a, b: h.best({"b": b, "a": a}, {"b": 0.5, "a": 0.5}, show="value"),
    "final": lambda h, a, b: h.final({"b": b, "a": a}),
    "final by ranks": lambda h, a, b: h.final({"b": b, "a": a}, claims="ranks"),
}
HALF = np.tile([0.0, 1.0], N // 2)


def with_bad(row: int, value: Any) -> np.ndarray:
    found = HALF.astype(object)
    found[row] = value
    return found.astype(np.float64)


def listed(row: int, value: Any) -> list[Any]:
    found = HALF.tolist()
    found[row] = value
    return found


BAD: dict[str, Any] = {
    "missing": with_bad(7, math.nan),
    "above": with_bad(7, 1.5),
    "infinite": with_bad(7, -math.inf),
    "last": with_bad(N - 1, 2.0),
    "None in a list": listed(7, None),
    "text in a list": listed(7, "odd"),
    "a list in a list": listed(7, [1.0]),
    "a truth value in a list": listed(7, True),
    "too large for an array": listed(7, 2**70),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ASKS)
def test_a_refusal_is_one_message_whatever_is_wrong_with_the_values(name):
    """It says what it cost, and neither which column it was nor which row or value, in its words or its chain."""
    words, states = set(), set()
    for bad in BAD.values():
        for columns in ((bad, HALF), (HALF, bad), (bad, bad)):
            if columns[0] is HALF and name.startswith(("check", "claim")):
                continue
            holdout = hf.ReusableHoldout(N, questions=9)
            with pytest.raises(ValuesRefused) as refused:
                ASKS[name](holdout, *columns)
            assert refused.value.__cause__ is refused.value.__context__ is None
            assert "odd" not in "".join(traceback.format_exception(refused.value)).split("ValuesRefused")[-1]
            words.add(str(refused.value))
            states.add(json.dumps(holdout.state()))
            assert holdout.log_prior == pytest.approx(LOG_REFUSED, abs=1e-9)
            assert not holdout.ended
    assert len(words) == len(states) == 1
    assert "costs 20.8 nats: later intervals are" in words.pop()


@pytest.mark.parametrize("name", ASKS)
def test_a_refusal_counts_as_a_question_and_survives_a_state(name):
    holdout = hf.ReusableHoldout(N, questions=9, failures=3)
    holdout.check(HALF, 0.5)
    with pytest.raises(ValuesRefused):
        ASKS[name](holdout, BAD["missing"], HALF)
    questions = {"batch": 2, "best": 0, "final": 0, "final by ranks": 0}.get(name, 1)
    assert holdout.asked == 1 + max(questions, 1)
    left = 4 if name == "check with a stake" else 8 - questions
    assert (holdout.remaining["questions"], holdout.remaining["failures"]) == (left, 3)
    last = holdout.transcript[-1]
    assert (last.passed, last.value, last.interval) == (None, None, None)
    twin = hf.ReusableHoldout.from_state(json.loads(json.dumps(holdout.state())))
    assert (twin.log_prior, twin.log_share, twin.remaining) == (holdout.log_prior, holdout.log_share, holdout.remaining)
    assert twin.transcript == holdout.transcript
    result, other = (run.final({"a": HALF}, binary=True) for run in (holdout, twin))
    assert result.interval == other.interval
    assert result.revealed[-1].interval is None


STRUCTURE: dict[str, Callable[[hf.ReusableHoldout, Any], Any]] = {
    "too few rows": lambda h, x: h.check(x[:-1], 0.5),
    "too few rows in the last chunk": lambda h, x: h.check(iter([x[:50], x[50:-1]]), 0.5),
    "a chunk of two dimensions": lambda h, x: h.check(iter([x[:50], x[50:].reshape(2, -1)]), 0.5),
    "a guess out of range": lambda h, x: h.check(x, 1.5),
    "a tolerance that no rows reach": lambda h, x: h.check(x, 0.5, 1e-6),
    "a tolerance in a batch": lambda h, x: h.check_batch([x, x], [0.5, 0.5], 1e-6),
    "a guess too few": lambda h, x: h.check_batch([x, x], [0.5]),
    "a second column too short": lambda h, x: h.check_batch([x, HALF[:-1]], [0.5, 0.5]),
    "a bound that no rows show": lambda h, x: h.claim(x, at_least=1.0),
    "a stake of more than is left": lambda h, x: h.check(x, 0.5, stake=0.9),
    "other lengths": lambda h, x: h.compare(x, HALF[:-1]),
    "a margin that no rows show": lambda h, x: h.compare(x, HALF, margin=1.0, family="kl"),
    "wrong rows of the analyst": lambda h, x: h.compare(x, HALF, other=([7.0], [0.5])),
    "a second candidate too short": lambda h, x: h.best({"a": x, "b": HALF[:-1]}),
    "a candidate of two dimensions": lambda h, x: h.best({"a": x, "b": HALF.reshape(2, -1)}),
    "equal names": lambda h, x: h.best({1: x, "1": HALF}),
    "a guess of nobody": lambda h, x: h.best({"a": x, "b": HALF}, {"c": 0.5}),
    "a finalist too short": lambda h, x: h.final({"a": x, "b": iter([HALF[:50], HALF[50:-1]])}),
    "a finalist of texts": lambda h, x: h.final({"a": x, "b": ["a"] * N}),
    "wrong claims": lambda h, x: h.final({"a": x}, claims="all"),
    "other rows of nobody": lambda h, x: h.final({"a": x, "b": x}, claims="ranks", other={"a": [0.5]}),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_what_does_not_depend_on_values_is_found_first_and_is_free(name):
    """The same error for every column, with missing values, out of range or right, in every order."""
    words = set()
    for column in (HALF, BAD["missing"], BAD["above"], BAD["last"]):
        holdout = hf.ReusableHoldout(N, questions=9)
        before = holdout.state()
        with pytest.raises(HoldfastError) as caught:
            STRUCTURE[name](holdout, column)
        assert not isinstance(caught.value, ValuesRefused)
        assert holdout.state() == before
        words.add(str(caught.value))
    assert len(words) == 1


def test_all_messages_of_a_question_weigh_at_most_one():
    """With the refusal: what a check with a bit and a search by name may show, added up."""
    asks: tuple[Ask, ...] = (lambda h, a, b: h.best({"a": a, "b": b}), lambda h, a, b: h.check(a, 0.5, show="bit"))
    for ask in asks:
        weights = []
        for columns in ((HALF, HALF * 0), (HALF * 0, HALF), (BAD["missing"], HALF)):
            holdout = hf.ReusableHoldout(N, questions=9)
            try:
                ask(holdout, *columns)
            except ValuesRefused:
                assert holdout.log_prior == pytest.approx(LOG_REFUSED, abs=1e-9)
            weights.append(math.exp(holdout.log_prior))
        assert 1 - 1e-8 < math.fsum(weights) <= 1
    assert math.exp(LOG_ANSWERED) + REFUSED <= 1


def test_finals_that_are_refused_spend_the_part_of_one():
    """Exact: level of the k-th final, after k - 1 refusals of weight w each: together at most the part for finals."""
    holdout = hf.ReusableHoldout(N, confidence=0.9)
    weight, total = 1.0, 0.0
    for _ in range(5):
        level = math.exp(holdout._run.log_final_share)  # beta times spending times Q(h)
        total += level
        weight *= REFUSED
        with pytest.raises(ValuesRefused):
            holdout.final({"a": BAD["missing"]})
        assert math.exp(holdout.log_prior) == pytest.approx(weight, rel=1e-9)
    assert 0.1 * (1 - 1e-6) < total <= 0.1


def test_a_reserve_pays_for_refusals_of_any_kind():
    """Whether a list has nothing but numbers shows of reserved rows too, so their constant level pays for it."""
    made = {"reserve": 0.5, "seed": 3, "confidence": 0.9}
    plain = hf.ReusableHoldout(N, **made)
    level = plain._run.log_final_share
    assert level == pytest.approx(math.log(0.1 / 2), abs=1e-8)
    row = int(plain._split.reserved[0][0])
    for ask in (lambda h: h.check(listed(row, None), 0.5), lambda h: h.final({"a": with_bad(row, math.nan)})):
        holdout = hf.ReusableHoldout(N, **made)
        with pytest.raises(ValuesRefused, match=r"a final's \d+%"):
            ask(holdout)
        for run in (holdout, hf.ReusableHoldout.from_state(holdout.state())):
            assert run._run.log_final_share == pytest.approx(level + LOG_REFUSED, abs=1e-8)
    holdout = hf.ReusableHoldout(N, **made)
    holdout.check(with_bad(row, math.nan), 0.5)  # values of reserved rows are not looked at
    assert holdout.failed == 0
    result = holdout.final({"a": HALF}, binary=True)
    tested = HALF[holdout._split.reserved[0]]
    exact = blaker(int(tested.sum()), tested.size, level)
    assert result.interval["a"] == pytest.approx((exact.low, exact.high), abs=1e-8)


def test_a_second_final_may_be_refused_too():
    holdout = hf.ReusableHoldout(N, reserve=[0.3, 0.3], seed=3)
    holdout.final({"a": HALF})
    level = holdout._run.log_final_share
    with pytest.raises(ValuesRefused):
        holdout.final({"a": BAD["missing"] * np.nan})
    assert holdout._run.log_final_share == pytest.approx(level + LOG_REFUSED, abs=1e-8)
    holdout.final({"a": HALF})
    with pytest.raises(BudgetExhausted, match="ended"):
        holdout.final({"a": HALF})


def test_a_refusal_keeps_no_key_and_a_stored_answer_reads_no_rows():
    holdout = hf.ReusableHoldout(N, questions=9)
    with pytest.raises(ValuesRefused):
        holdout.check(BAD["missing"], 0.5, key="a")
    answer = holdout.check(HALF, 0.5, key="a")
    assert holdout.check(BAD["missing"], 0.5, key="a") == answer
    assert holdout.asked == 2


def test_a_final_after_the_cap_on_failures_may_be_refused_and_stored():
    holdout = hf.ReusableHoldout(N, questions=9, failures=0)
    holdout.check(HALF, 0.99)
    with pytest.raises(ValuesRefused):
        holdout.final({"a": BAD["missing"]})
    twin = hf.ReusableHoldout.from_state(holdout.state())
    assert twin.final({"a": HALF}).interval == holdout.final({"a": HALF}).interval


def test_grouped_rows_are_charged_too():
    holdout = hf.ReusableHoldout(N, groups=np.arange(N) // 2, questions=9)
    with pytest.raises(ValuesRefused):
        holdout.check(BAD["missing"], 0.5)
    with pytest.raises(ValuesRefused):
        holdout.best({"a": BAD["None in a list"], "b": HALF})
    assert holdout.log_prior == pytest.approx(2 * LOG_REFUSED, abs=1e-8)
    with pytest.raises(InvalidParameter, match="150 in all, got 149"):
        holdout.check(BAD["missing"][:-1], 0.5)
    assert holdout.asked == 2


def test_runs_of_before_are_read():
    """Entries of an earlier version go on as they were; what is new is a hair of the prior."""
    holdout = hf.ReusableHoldout(N, questions=9)
    holdout.check(HALF, 0.5)
    holdout.check(HALF, 0.99)
    state = holdout.state(secrets=True)
    assert {entry["family"] for entry in state["transcript"]} <= {"kl", "clopper-pearson"}
    assert hf.ReusableHoldout.from_state(state).close() == holdout.close()
