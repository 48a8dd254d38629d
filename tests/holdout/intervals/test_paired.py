"""Paired differences: the sign test, predictable bets, and a mixture of bets for rows that are not alike."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri_exp
from scipy.stats import binom, binomtest

import holdfast as hf
from holdfast.bounds.one_question import empirical_bernstein
from holdfast.holdout.intervals.betting import Bets
from holdfast.holdout.intervals.paired import MixtureBets, log_sign_p_value
from holdfast.holdout.questions import Signs, comparison_risk

HYPOTHESIS = settings(deadline=None, derandomize=True, max_examples=100)


# --- the sign test ----------------------------------------------------------------------------------------------------


@HYPOTHESIS
@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_test_is_that_of_scipy(wins, losses):
    """Half or fewer of the wins have no p-value below one: that is all the difference, and it is on the safe side."""
    found = math.exp(log_sign_p_value(wins, losses))
    if 2 * wins <= wins + losses:
        assert found == 1.0
    else:
        known = binomtest(wins, wins + losses, alternative="greater").pvalue
        assert found == pytest.approx(known, rel=1e-9)
        assert found >= known * (1 - 1e-12)


def test_the_sign_test_holds_its_level_exactly():
    """Given how many rows differ, wins are binomial with at most 1/2: the distribution of the test in rational
    numbers."""
    for differ in (1, 5, 12, 30):
        law = [Fraction(math.comb(differ, k), 2**differ) for k in range(differ + 1)]
        for level in (0.3, 0.05, 0.004):
            passes = [Signs(k, differ - k, 100).decide(math.log(level)).passed for k in range(differ + 1)]
            assert sum(chance for chance, passed in zip(law, passes, strict=True) if passed) <= Fraction(level)
            assert passes == sorted(passes)
    # The wrong version, a normal approximation without correction, is found out.
    normal = [(2 * k - 5) / math.sqrt(5) >= -ndtri_exp(math.log(0.15)) for k in range(6)]
    assert sum(math.comb(5, k) for k in range(6) if normal[k]) / 2**5 > 0.15


def test_compare_uses_the_sign_test_for_declared_values_and_margin_zero():
    n = 400
    b, a = np.arange(n) < 300, np.arange(n) < 280
    for how, family in (
        ({}, "sign-test"),
        ({"family": "sign-test"}, "sign-test"),
        ({"margin": 0.01}, "betting"),
        ({"family": "kl"}, "kl"),
    ):
        answer = hf.ReusableHoldout(n, questions=4).compare(b, a, **how)
        assert answer.guarantee.parameters["interval"] == family
    numbers = hf.ReusableHoldout(n, questions=4).compare(b * 1, a * 1)
    assert numbers.guarantee.parameters["interval"] == "betting"
    declared = hf.ReusableHoldout(n, questions=4).compare(b * 1, a * 1, binary=True)
    lists = hf.ReusableHoldout(n, questions=4).compare(b.tolist(), a.tolist())
    chunked = hf.ReusableHoldout(n, questions=4).compare(iter(np.split(b, 4)), iter(np.split(a, 4)), binary=True)
    assert declared == lists == chunked == hf.ReusableHoldout(n, questions=4).compare(b, a)
    assert (declared.passed, declared.interval) == (True, (0.0, 1.0))
    with pytest.raises(hf.errors.InvalidParameter, match="sign-test"):
        hf.ReusableHoldout(n, questions=4).compare(b * 1, a * 1, family="sign-test")
    with pytest.raises(hf.errors.InvalidParameter, match="0 or 1 for a sign test"):
        hf.ReusableHoldout(n, questions=4).compare(b * 0.5, a * 1, binary=True)


# --- the chance that a comparison fails -------------------------------------------------------------------------------


@pytest.mark.parametrize(("differ", "lead"), [(0.1, 0.01), (0.3, 0.05), (0.2, 0.03)])
def test_the_risk_of_a_comparison_is_about_how_often_it_fails(differ, lead):
    """Over worlds drawn around what the other rows said, up to rough agreement: it is a forecast and no bound."""
    rng = np.random.default_rng(5)
    n, others, level = 1500, 700, math.log(1e-3)
    risks, failed = [], []
    for _ in range(400):
        truth = (differ + lead) / 2, (differ - lead) / 2
        rest = 1 - sum(truth)
        other = rng.multinomial(others, [*truth, rest])
        held = rng.multinomial(n, [*truth, rest])
        gaps = np.repeat([1.0, -1.0, 0.0], other)
        risks.append(comparison_risk(gaps, n, 0.0, True, level))
        failed.append(log_sign_p_value(int(held[0]), int(held[1])) > level)
    assert float(np.mean(risks)) == pytest.approx(float(np.mean(failed)), abs=0.17)


def test_comparisons_that_come_out_as_expected_are_nearly_free():
    rng = np.random.default_rng(2)
    n = 2000
    base = rng.random((2, n)) < 0.6
    better = [rows | (rng.random(n) < 0.2) for rows in base]
    told, untold = hf.ReusableHoldout(n, questions=50), hf.ReusableHoldout(n, questions=50)
    for i in range(20):
        b, a = (better, base) if i % 2 else (base, better)
        told.compare(b[0], a[0], other=(b[1], a[1]))
        untold.compare(b[0], a[0])
    assert told.failed == untold.failed == 10
    assert told.log_prior > -1.5
    assert untold.log_prior < -10


def test_other_rows_say_how_far_off_a_guess_of_the_difference_may_be():
    """As `guess_rows` of a check does; the chance that a claim fails is another one, and is not used."""
    rng = np.random.default_rng(3)
    n = 3000
    b, a = rng.random((2, n)) < np.array([[0.7], [0.69]])
    other = b[:400], a[:400]
    plain, told = hf.ReusableHoldout(n, questions=9), hf.ReusableHoldout(n, questions=9)
    guess = float(other[0].mean() - other[1].mean())
    wide, narrow = told.compare(b, a, guess, other=other), plain.compare(b, a, guess)
    assert wide.half_width > narrow.half_width  # a guess from few rows has more room
    risk = told.state()["transcript"][0]["risk"]
    assert 0 < risk < 0.01
    assert comparison_risk(other[0].astype(float) - other[1], n, 0.0, False, told.log_share) > 0.5
    asked = told.compare(b, a, guess, other=other, risk=0.3)
    assert asked.passed
    assert told.state()["transcript"][1]["risk"] == 0.3


# --- a mixture of bets ------------------------------------------------------------------------------------------------


def capital(bets: MixtureBets, mean: float, log_tail: float) -> float:
    return math.exp(bets._log_capital(bets.values, mean, log_tail))


#: Rows of their own kind each: values and chances.
UNLIKE = {
    "wins first, losses then": [[(0.0, 0.5), (1.0, 0.5)]] * 3 + [[(0.5, 1.0)]] * 2 + [[(0.0, 0.9), (1.0, 0.1)]] * 4,
    "certain": [[(1.0, 1.0)]] * 4 + [[(0.0, 1.0)]] * 4,
    "alike": [[(0.0, 0.7), (1.0, 0.3)]] * 9,
    "three values": [[(0.0, 0.1), (0.5, 0.6), (1.0, 0.3)]] * 4 + [[(0.2, 0.5), (0.9, 0.5)]] * 3,
}


@pytest.mark.parametrize("law", UNLIKE.values(), ids=UNLIKE.keys())
@pytest.mark.parametrize("log_tail", [-1.0, -3.0, -8.0])
def test_the_mixture_is_fair_whatever_the_rows_are_drawn_from(law, log_tail):
    """Exact, over all samples: the expected capital against the mean of means is at most one, and so is the miss."""
    mean = math.fsum(value * chance for row in law for value, chance in row) / len(law)
    expected = best_bet = missed = 0.0
    for sample in itertools.product(*law):
        chance = math.prod(one for _, one in sample)
        rows = MixtureBets.on([value for value, _ in sample])
        expected += chance * capital(rows, mean, log_tail)
        first = 2 * math.sqrt(-2 * log_tail / len(law))
        each = [math.prod(1 + min(first * 2**k, 0.95 / mean) * (value - mean) for value, _ in sample) for k in range(4)]
        assert capital(rows, mean, log_tail) == pytest.approx(sum(each) / 4, rel=1e-9)
        best_bet += chance * max(each)
        low, high = rows.interval(log_tail)
        missed += chance * (not low <= mean <= high)
    assert expected <= 1 + 1e-9
    assert missed <= math.exp(log_tail)
    if log_tail == -1.0 and law is UNLIKE["alike"]:
        assert best_bet > 1  # the wrong version: the bet that did best, chosen afterwards, is not fair


def test_predictable_bets_are_not_for_rows_that_are_not_alike():
    """A hundred rows that only win before a hundred that only lose: they claim a gain in every run, and it is zero."""
    rng = np.random.default_rng(1)
    claimed = {"predictable": 0, "mixture": 0}
    for _ in range(40):
        wins = (rng.random(100) < 0.3).astype(float)
        losses = -(rng.random(100) < 0.3).astype(float)
        gaps = np.concatenate([wins, losses])
        claimed["predictable"] += Bets.on(gaps, -1.0, 1.0).interval(math.log(0.05), "lower")[0] > 0
        claimed["mixture"] += MixtureBets.on(gaps, -1.0, 1.0).interval(math.log(0.05), "lower")[0] > 0
    assert claimed["predictable"] == 40
    assert claimed["mixture"] <= binom.isf(1e-6, 40, 0.05)


@HYPOTHESIS
@given(
    st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=60),
    st.floats(-40, -0.2),
    st.sampled_from(["both", "lower", "upper"]),
    st.randoms(),
)
def test_counts_and_rows_in_any_order_give_one_interval(rows, log_share, side, dice):
    shuffled = list(rows)
    dice.shuffle(shuffled)
    counts = {value: rows.count(value) for value in (-1.0, 0.0, 1.0)}
    by_counts = MixtureBets.of_counts(counts, -1.0, 1.0).interval(log_share, side)
    assert MixtureBets.on(rows, -1.0, 1.0).interval(log_share, side) == pytest.approx(by_counts, abs=1e-6)
    assert MixtureBets.on(shuffled, -1.0, 1.0).interval(log_share, side) == pytest.approx(by_counts, abs=1e-6)
    mirrored = MixtureBets.on([-value for value in rows], -1.0, 1.0)
    other = {"both": "both", "lower": "upper", "upper": "lower"}[side]
    low, high = mirrored.interval(log_share, other)
    assert (-high, -low) == pytest.approx(by_counts, abs=1e-6)
    assert by_counts[0] <= np.mean(rows) + 1e-9
    assert np.mean(rows) <= by_counts[1] + 1e-9


@HYPOTHESIS
@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), st.floats(-30, -0.2), st.floats(0.001, 1), st.floats(0, 1))
def test_the_capital_falls_with_the_candidate(rows, log_tail, a, b):
    """So the candidates that are left out are those below one point, and bisection is right."""
    bets = MixtureBets.on(rows)
    low, high = sorted((max(a, 1e-3), max(b, 1e-3)))
    assert bets._log_capital(bets.values, low, log_tail) >= bets._log_capital(bets.values, high, log_tail) - 1e-6


def test_p_values_of_the_mixture_say_what_its_limits_say():
    rng = np.random.default_rng(4)
    for _ in range(30):
        gaps = rng.choice([-1.0, 0.0, 1.0], size=300, p=[0.1, 0.7, 0.2])
        bets = MixtureBets.on(gaps, -1.0, 1.0)
        level = float(rng.uniform(-15, -1))
        assert (bets.log_p_value(0.0, level) <= level) == (bets.interval(level, "lower")[0] > 0)
    assert MixtureBets.of_counts({}, -1.0, 1.0).log_p_value(0.0, -3.0) == 0.0
    assert MixtureBets.of_counts({}, -1.0, 1.0).interval(-3.0) == (-1.0, 1.0)


@pytest.mark.parametrize(("level", "widest"), [(0.05 / 60, 1.35), (1e-5, 1.32), (1e-9, 1.32)])
def test_widths_next_to_the_normal_one(level, widest):
    """On 3,000 rows of which 13% differ: betting near the normal width, the mixture 1.11 to 1.32, Bernstein far off."""
    rng = np.random.default_rng(7)
    gaps = rng.choice([1.0, -1.0, 0.0], size=3000, p=[0.078, 0.052, 0.87])
    log_share = math.log(level)
    normal = -ndtri_exp(log_share - math.log(2)) * gaps.std() / math.sqrt(3000)

    def ratio(ends: tuple[float, float]) -> float:
        return (ends[1] - ends[0]) / 2 / normal

    assert 1.0 < ratio(Bets.on(gaps, -1.0, 1.0).interval(log_share)) < 1.2
    assert 1.05 < ratio(MixtureBets.on(gaps, -1.0, 1.0).interval(log_share)) < widest
    found = empirical_bernstein(float(gaps.mean()), float(gaps.var(ddof=1)), 3000, log_share, -1.0, 1.0)
    assert ratio(tuple(found)) > 1.4


def test_what_holds_rows_does_not_show_them():
    assert repr(MixtureBets.on([0.123, 0.456])) == "MixtureBets(n=2, low=0, high=1)"
