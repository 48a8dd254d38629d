"""The reusable holdout under dependence: the same decisions as its parent, with the declared rows' intervals."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast.bounds.registry import catalogue
from holdfast.correlated import DependentHoldout, DependentRows
from holdfast.data.values import ValuesRefused
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.holdout.metrics import auc

FUZZ = settings(max_examples=30, deadline=None, derandomize=True)
FLIP = DependentRows.markov(400, [[0.95, 0.05], [0.05, 0.95]])


@FUZZ
@given(
    st.lists(st.booleans(), min_size=2, max_size=60),
    st.integers(1, 6),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_copied_rows_count_once(values: list[bool], copies: int, guesses: list[float]) -> None:
    """A holdout of blocks of copies answers as one of the blocks themselves, question by question."""
    blocks = DependentHoldout(DependentRows.blocks([copies] * len(values)), questions=5)
    alone = hf.ReusableHoldout(len(values), questions=5)
    column = np.array(values, dtype=float)
    for guess in guesses:
        one = blocks.check(np.repeat(column, copies), guess)
        other = alone.check(column, guess, family="kl")
        assert (one.passed, one.value) == (other.passed, other.value)
        assert one.interval == pytest.approx(other.interval)
        assert one.cost == other.cost


def test_every_answer_says_what_it_rests_on() -> None:
    holdout = DependentHoldout(FLIP, questions=4)
    answer = holdout.check([1, 0] * 200, 0.5)
    assert answer.guarantee.theorem in catalogue()
    assert answer.guarantee.certified
    assert "Markov chain" in answer.guarantee.assumption
    assert "independent and identically" not in answer.guarantee.assumption
    terms = answer.guarantee.parameters
    assert terms["interval"] in FLIP.routes
    assert terms["effective_n"] == pytest.approx(FLIP.routes[terms["interval"]].effective_n, abs=1e-5)
    assert (terms["start_ratio"], terms["bias"]) == (1.0, 0.0)
    independent = hf.ReusableHoldout(400, questions=4).check([1, 0] * 200, 0.5)
    assert "effective_n" not in independent.guarantee.parameters


def test_questions_of_every_kind() -> None:
    """A claim, a comparison, a range and a batch use the declared rows' width."""
    rows = DependentRows.stationary(4000, 0.5)
    holdout = DependentHoldout(rows, questions=20)
    ones = np.arange(4000) % 4 != 0
    assert holdout.claim(ones, at_least=0.6).passed
    assert not holdout.claim(ones, at_least=0.74).passed
    assert holdout.compare(ones, np.zeros(4000), margin=0.5).passed
    wide = holdout.check(10 * ones.astype(float), 7.5, low=0.0, high=10.0)
    assert wide.passed
    assert wide.half_width == pytest.approx(2.5 * 10 * _share_width(holdout, rows, back=1), rel=1e-3)
    assert [answer.passed for answer in holdout.check_batch([ones, ~ones], [0.75, 0.25])] == [True, True]
    assert holdout.least_tolerance() == pytest.approx(_share_width(holdout, rows), rel=1e-6)


def _share_width(holdout: DependentHoldout, rows: DependentRows, back: int = 0) -> float:
    share = holdout.log_share if not back else holdout.transcript[-back].guarantee.parameters["log_share"]
    return rows.narrowest(share).half_width(share)


def test_a_final_uses_the_declared_rows_width() -> None:
    """Intervals at an equal part of the level; the winner's upper limit is not divided; the loss is a paired limit."""
    rows = DependentRows.stationary(4000, 0.5)
    columns = {"a": np.arange(4000) % 4 != 0, "b": np.arange(4000) % 2 == 0, "c": np.arange(4000) % 5 == 0}
    found = DependentHoldout(rows, final=1.0).final(columns)
    assert found.values == {"a": 0.75, "b": 0.5, "c": 0.2}
    share = np.log(0.05 / 3)
    for low, high in found.interval.values():
        assert (high - low) / 2 == pytest.approx(rows.narrowest(share).half_width(share), rel=1e-6)
    found = DependentHoldout(rows, final=1.0).final(columns, "winner")
    part = np.log(0.9 * 0.05)
    lower, upper = (rows.narrowest(level).half_width(level, "lower") for level in (part - np.log(6), part - np.log(2)))
    assert found.winner_interval == pytest.approx((0.75 - lower, 0.75 + upper), abs=1e-6)
    level = np.log(0.1 * 0.05 / 2)
    gap = 2 * rows.narrowest(level).half_width(level, "upper")  # a difference has twice the range
    assert found.loss_at_most == pytest.approx(max(0.0, 0.5 - 0.75 + gap), abs=1e-6)


def test_ranks_of_dependent_rows_are_refused_and_end_nothing() -> None:
    holdout = DependentHoldout(FLIP, questions=4)
    holdout.check([1, 0] * 200, 0.5)
    columns = {"a": [1, 0] * 200, "b": [0, 1] * 200}
    with pytest.raises(QuestionRefused, match="independent rows only"):
        holdout.final(columns, "ranks")
    assert not holdout.ended
    assert holdout.best(columns).value == "a"
    (exact, winner) = holdout.close()
    assert (exact.value, winner.value) == (0.5, "a")
    share = exact.guarantee.parameters["log_share"]
    assert exact.half_width == pytest.approx(FLIP.narrowest(share).half_width(share), rel=1e-6)


def test_a_named_route_is_used() -> None:
    holdout = DependentHoldout(FLIP, questions=4)
    narrow, wide = (holdout.least_tolerance(0.5, family=name) for name in sorted(FLIP.routes, reverse=True))
    assert narrow < wide
    assert holdout.least_tolerance(0.5) == narrow
    with pytest.raises(InvalidParameter, match="family must be one of auto, chain by total variation"):
        holdout.check([1, 0] * 200, 0.5, family="clopper-pearson")
    with pytest.raises(InvalidParameter, match="spread"):
        holdout.check([1, 0] * 200, 0.5, spread=0.1)
    assert holdout.asked == 0


def test_metrics_are_refused_and_cost_nothing() -> None:
    holdout = DependentHoldout(FLIP, questions=4)
    question = auc([0, 1] * 200, np.linspace(0, 1, 400))
    for ask in (
        lambda: holdout.check_metric(question, 0.5, 0.2),
        lambda: holdout.claim(question, at_least=0.4),
        lambda: holdout.most_cost(0.5, 0.2, procedure=question),
    ):
        with pytest.raises(QuestionRefused, match="dependent rows"):
            ask()
    assert holdout.asked == 0


def test_state_round_trip() -> None:
    holdout = DependentHoldout(DependentRows.markov(400, FLIP_MATRIX, gap=2, last=1), questions=9, failures=2)
    holdout.check([1, 0] * 200, 0.5, key="half")
    holdout.check([1, 1] * 200, 0.1)
    plain = json.loads(json.dumps(holdout.state()))
    twin = DependentHoldout.from_state(plain)
    assert twin.rows == holdout.rows
    assert twin.transcript == holdout.transcript
    assert twin.log_share == holdout.log_share
    assert twin.check([1, 0] * 200, 0.5, key="half") == holdout.transcript[0]
    with pytest.raises(InvalidParameter):
        DependentHoldout.from_state({**plain, "n": 401})
    with pytest.raises(InvalidParameter):
        DependentHoldout.from_state({key: value for key, value in plain.items() if key != "rows"})
    with pytest.raises(InvalidParameter):
        DependentHoldout.from_state(hf.ReusableHoldout(400).state())


FLIP_MATRIX = [[0.95, 0.05], [0.05, 0.95]]


def test_one_copy() -> None:
    holdout = DependentHoldout(FLIP, questions=1)
    assert copy.deepcopy(holdout) is holdout
    with pytest.raises(TypeError, match="state"):
        pickle.dumps(holdout)
    holdout.check([1, 0] * 200, 0.5)
    with pytest.raises(BudgetExhausted):
        holdout.check([1, 0] * 200, 0.5)


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="rows must be DependentRows"):
        DependentHoldout(400)  # type: ignore[arg-type]
    holdout = DependentHoldout(FLIP, questions=3)
    with pytest.raises(InvalidParameter, match="400 in all, got 399"):
        holdout.check([1] * 399, 0.5)
    with pytest.raises(InvalidParameter, match="tolerance must be at least"):
        holdout.check([1, 0] * 200, 0.5, 0.001)
    assert holdout.asked == 0
    assert "400" in repr(holdout)


def test_missing_values_and_values_out_of_range_are_charged() -> None:
    """Of a mean over all rows, and of one over the rows that have a value, where only these have to be in range."""
    odd = [2.0, *[0.5] * 399]
    inside, outside = [True] * 400, [False, *[True] * 399]
    for ask in (
        lambda holdout: holdout.check(odd, 0.5),
        lambda holdout: holdout.check_present(odd, inside, 0.5),
        lambda holdout: holdout.claim_present([float("nan"), *odd[1:]], inside, at_least=0.5),
        lambda holdout: holdout.check_present([None, *odd[1:]], inside, 0.5),
        lambda holdout: holdout.check_present(["odd", *odd[1:]], inside, 0.5),
        lambda holdout: holdout.final({"a": odd}),
    ):
        holdout = DependentHoldout(FLIP, questions=3)
        with pytest.raises(ValuesRefused, match=r"costs 20\.8 nats"):
            ask(holdout)
        assert holdout.asked == 1
        assert holdout.log_prior == pytest.approx(-30 * math.log(2), abs=1e-9)
        assert DependentHoldout.from_state(holdout.state()).log_prior == holdout.log_prior
    holdout = DependentHoldout(FLIP, questions=3)
    for ask in (
        lambda: holdout.check_present([2.0] * 399, [True] * 399, 0.5),
        lambda: holdout.check_present([2.0] * 399, inside, 0.5),
        lambda: holdout.check_present(odd, inside, 0.5, 1e-6),
    ):
        with pytest.raises(InvalidParameter) as caught:
            ask()
        assert not isinstance(caught.value, ValuesRefused)
    assert holdout.asked == 0
    assert holdout.check_present(odd, outside, 0.5).passed
