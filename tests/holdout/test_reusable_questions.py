"""Claims, comparisons and metrics put to the reusable holdout."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import holdfast as hf
from holdfast.bounds.one_question import clopper_pearson
from holdfast.data.values import ValuesRefused
from holdfast.errors import InvalidParameter
from holdfast.holdout.intervals.procedure import OnRows
from holdfast.holdout.questions import MeanQuestion, checked_guess
from tests.holdout.reusable_rows import N, column


def test_claims_spend_their_share_on_one_tail():
    """A claim reaches beyond the two-sided interval and shows a bit."""
    holdout = hf.ReusableHoldout(N, questions=100)
    passed = holdout.claim(column(0.8), at_least=0.784)
    assert (passed.passed, passed.value, passed.interval) == (True, None, (0.784, 1.0))
    failed = holdout.claim(column(0.8), at_least=0.8)
    assert (failed.passed, failed.value, failed.interval) == (False, None, None)
    assert holdout.claim(column(0.8), at_most=0.82).interval == (0.0, 0.82)
    assert hf.ReusableHoldout(N, questions=100).check(column(0.8), 0.8, family="clopper-pearson").interval[0] < 0.784
    with pytest.raises(InvalidParameter, match=r"at_least must be at most 0\.999"):
        hf.ReusableHoldout(N, questions=100).claim(column(1.0), at_least=1.0)
    with pytest.raises(InvalidParameter, match="at_most must be at least"):
        hf.ReusableHoldout(N, questions=100).claim(column(0.0), at_most=0.0)


def test_comparisons_are_about_differences_on_the_same_rows():
    """B gains a point on A: visible with a guess of the spread of differences, also when streamed."""
    a, b = column(0.8), column(0.83)
    holdout = hf.ReusableHoldout(N, questions=100)
    assert holdout.compare(b, a, margin=0.0, spread=0.17).passed
    assert not holdout.compare(a, b, margin=0.0, spread=0.17).passed
    value = holdout.compare(b, a, 0.03)
    assert value.passed
    assert value.interval[0] < 0.03 < value.interval[1]
    parts = holdout.compare(iter(np.split(b, 4)), iter(np.split(a, 4)), margin=0.0, spread=0.17)
    assert parts.passed
    with pytest.raises(InvalidParameter, match="same rows"):
        holdout.compare(b[:-1], a)
    with pytest.raises(InvalidParameter, match="chunks of the same lengths"):
        holdout.compare(iter(np.split(b, 4)), iter(np.split(a, 2)))
    with pytest.raises(InvalidParameter, match="margin"):
        holdout.compare(b, a, margin=1.5)
    assert holdout.asked == 4
    with pytest.raises(ValuesRefused, match="values must lie in"):
        holdout.compare(b * 2, a)
    assert holdout.asked == 5


def test_any_procedure_may_be_checked_and_claimed():
    """A metric brings its interval; a failure shows it rounded outward."""
    metric = OnRows(-1.0, 1.0, N, "a correlation", lambda log_share, side: (0.31, 0.47))
    holdout = hf.ReusableHoldout(N, questions=10)
    assert holdout.check_metric(metric, 0.4, 0.1).interval == (0.30000000000000004, 0.5)
    failed = holdout.check_metric(metric, 0.0, 0.4)
    assert failed.interval == pytest.approx((0.2, 0.6))
    assert failed.guarantee.parameters["interval"] == "a correlation"
    assert holdout.claim(metric, at_least=0.3).passed
    assert not holdout.claim(metric, at_most=0.4).passed
    assert holdout.check_metric(metric, 0.0, 0.4, show="bit").interval is None
    with pytest.raises(InvalidParameter, match="computed from 5 rows"):
        holdout.check_metric(OnRows(0.0, 1.0, 5, "short", lambda log_share, side: (0, 1)), 0.5, 0.1)
    with pytest.raises(InvalidParameter, match="procedure"):
        holdout.check_metric(0.5, 0.5, 0.1)


@pytest.mark.parametrize("mean", [0.3, 0.8])
def test_a_claim_reaches_exactly_its_one_sided_limit(mean):
    """The whole share is on the tail that the claim needs: half of it would refuse these."""
    rows, ones = column(mean), round(mean * N)
    share = hf.ReusableHoldout(N, questions=100).log_share
    below, above = clopper_pearson(ones, N, share, "lower").low, clopper_pearson(ones, N, share, "upper").high
    assert below > clopper_pearson(ones, N, share).low + 1e-5
    for claim, passed in (
        ({"at_least": below}, True),
        ({"at_least": math.nextafter(below, 2)}, False),
        ({"at_most": above}, True),
        ({"at_most": math.nextafter(above, -1)}, False),
    ):
        assert hf.ReusableHoldout(N, questions=100).claim(rows, **claim).passed is passed


@pytest.mark.parametrize("way", ["at_least", "at_most"])
def test_a_claim_is_refused_only_where_no_rows_could_pass(way):
    """The number in the message is the best that rows can show: they do, and other rows fail, they do not raise."""
    best = column(1.0 if way == "at_least" else 0.0)
    for rows in (best, column(0.5), 1 - best):
        holdout = hf.ReusableHoldout(N, questions=100)
        with pytest.raises(InvalidParameter, match=way) as caught:
            holdout.claim(rows.astype(bool), **{way: float(best[0])})
        named = float(re.search(r"at (?:most|least) ([0-9.e-]+) at this point", str(caught.value))[1])
        assert abs(named - best[0]) < 0.002
        answer = holdout.claim(rows.astype(bool), **{way: named})
        assert answer.passed is bool((rows == best).all())


def test_limits_that_cross_are_shown_in_order():
    """They missed, so nothing is promised; but an interval must still be one."""
    answer = hf.ReusableHoldout(N).check_metric(OnRows(0.0, 1.0, N, "crossed", lambda *_: (0.72, 0.31)), 0.9, 0.1)
    assert not answer.passed
    assert answer.interval[0] <= 0.31 < 0.72 <= answer.interval[1]


def test_a_one_sided_procedure_says_nothing_about_the_other_side():
    question = OnRows(0.0, 1.0, N, "both at once", lambda *_: (0.3, 0.6))
    assert question.interval(-3.0, "upper") == (0.0, 0.6)
    assert question.interval(-3.0, "lower") == (0.3, 1.0)


def test_what_a_claim_a_comparison_and_a_metric_may_cost_is_known_before():
    holdout = hf.ReusableHoldout(N, questions=20)
    metric = OnRows(-1.0, 1.0, N, "a correlation", lambda *_: (0.31, 0.47))
    for _ in range(3):
        most = holdout.most_cost(0.9, 0.1, procedure=metric)
        assert holdout.check_metric(metric, 0.9, 0.1).cost.bits <= most.bits
        most = holdout.most_cost(0.9, 0.1, procedure=metric, show="bit")
        assert holdout.check_metric(metric, 0.9, 0.1, show="bit").cost.bits <= most.bits
        most = holdout.most_cost(0.5, show="bit")
        assert holdout.claim(column(0.2), at_least=0.5).cost.bits <= most.bits
        most = holdout.most_cost(0.5, low=-1, high=1, family="betting")
        assert holdout.compare(column(0.2), column(0.2), 0.5).cost.bits <= most.bits
    with pytest.raises(InvalidParameter, match="tolerance"):
        holdout.most_cost(0.9, procedure=metric)


def test_a_spread_is_at_most_half_the_range() -> None:
    for low, high in ((0.0, 1.0), (-1.0, 3.0)):
        half = (high - low) / 2
        assert MeanQuestion("mean", "auto", half, low, high, False, 100).spread == half
        for spread in (1.01 * half, -0.1):
            with pytest.raises(InvalidParameter, match="spread"):
                MeanQuestion("mean", "auto", spread, low, high, False, 100)


def test_the_finest_grid_is_a_billionth_of_the_range() -> None:
    for low, high in ((0.0, 1.0), (-1.0, 1.0), (5.0, 7.0)):
        finest = (high - low) * 1e-9
        assert checked_guess(low, None, "value", finest, low, high).grid == finest
        with pytest.raises(InvalidParameter, match="grid"):
            checked_guess(low, None, "value", 0.99 * finest, low, high)
