"""The reusable holdout's door: what it answers, what it refuses, and that refusals cost nothing."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import Cost
from holdfast.bounds.one_question import clopper_pearson
from holdfast.bounds.registry import lookup
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.holdout.procedure import OnRows
from holdfast.holdout.shares import Shares

N = 10_000


def column(mean: float, n: int = N) -> np.ndarray:
    """0/1 values with this mean."""
    return np.arange(n) < round(mean * n)


# --- the figures that the holdout is for --------------------------------------------------------------------------


def test_before_any_failure_a_pass_is_nearly_as_tight_as_without_adaptivity():
    """10,000 rows, 1,000 questions, 95%: at most 0.026 at every question; the non-adaptive limit is 0.023."""
    holdout = hf.ReusableHoldout(N, questions=1000)
    first = holdout.least_tolerance(family="hoeffding")
    holdout.check_batch([column(0.5)] * 999, [0.5] * 999, family="hoeffding")
    assert holdout.failed == 0
    last = holdout.least_tolerance(family="hoeffding")
    assert first == last == pytest.approx(0.02355, abs=5e-6)
    assert last <= 0.026
    assert math.sqrt(math.log(2 * 1000 / 0.05) / (2 * N)) == pytest.approx(0.0230, abs=5e-5)
    near_the_end = holdout.least_tolerance(0.95, binary=True)
    assert near_the_end <= 0.6 * last
    assert holdout.least_tolerance(0.95, family="kl") <= 0.6 * last


@pytest.mark.parametrize("early", [True, False])
def test_after_ten_failures_with_values_a_pass_still_certifies(early):
    """At most 0.075 at the last question, wherever the ten failures came."""
    holdout = hf.ReusableHoldout(N, questions=1000)
    bad, good = [0.0] * 10, [0.5] * 989
    answers = holdout.check_batch([column(0.5)] * 999, bad + good if early else good + bad, family="hoeffding")
    assert holdout.failed == 10
    assert all(answer.value is not None for answer in answers)
    assert holdout.least_tolerance(family="hoeffding") <= 0.075
    assert holdout.least_tolerance(0.95, binary=True) <= 0.6 * holdout.least_tolerance(family="hoeffding")


# --- answers -------------------------------------------------------------------------------------------------------


def test_a_pass_shows_the_guess_and_nothing_of_the_rows():
    """Rows that pass give one and the same answer, down to cost and guarantee."""
    answers = {str(hf.ReusableHoldout(N, questions=10).check(column(m), 0.8)) for m in (0.795, 0.8, 0.801, 0.806)}
    assert len(answers) == 1
    answer = hf.ReusableHoldout(N, questions=10).check(column(0.795), 0.8, 0.05)
    assert (answer.passed, answer.value, answer.interval) == (True, 0.8, (0.8 - 0.05, 0.8 + 0.05))
    assert answer.cost == Cost.from_dict(answer.cost.to_dict())


def test_a_failure_shows_one_of_the_counted_values():
    """Over all possible rows, a failure shows no more different answers than its count says."""
    shown: dict[tuple[float, tuple[float, float]], int] = {}
    for k in range(0, 201):
        holdout = hf.ReusableHoldout(200, questions=5)
        answer = holdout.check(column(k / 200, 200), 0.5, 0.3)
        if not answer.passed:
            shown[answer.value, answer.interval] = holdout.state()["transcript"][0]["shown"]
            assert answer.interval[0] <= k / 200 <= answer.interval[1]
            assert answer.interval[0] <= answer.value <= answer.interval[1]
    assert len(set(shown.values())) == 1
    assert 1 < len(shown) <= next(iter(shown.values()))


@pytest.mark.parametrize("family", ["empirical-bernstein", "betting"])
def test_families_beyond_the_mean_show_pairs_on_a_grid(family):
    """Whatever the rows' spread, a failure shows one of the counted pairs."""
    shown = {}
    for k in range(60):
        rng = np.random.default_rng(k)
        values = rng.random(300) * rng.random()
        holdout = hf.ReusableHoldout(300, questions=5)
        answer = holdout.check(values, 0.9, 0.2, family=family)
        if not answer.passed:
            shown[answer.interval] = holdout.state()["transcript"][0]["shown"]
    assert set(shown.values()) == {55}  # steps of 0.1
    assert all(round(10 * end, 9).is_integer() for interval in shown for end in interval)


def test_values_near_a_spread_guess_are_certified_more_sharply():
    """Where values vary little, the family chosen by `spread` beats KL several times."""
    values = np.tile([0.48, 0.52], N // 2)
    holdout = hf.ReusableHoldout(N, questions=1000)
    sharp = holdout.check(values, 0.5, spread=0.02)
    assert sharp.passed
    assert sharp.guarantee.parameters["interval"] == "empirical-bernstein"
    assert sharp.half_width < 0.2 * holdout.check(values, 0.5).half_width
    # values that vary more than was guessed are no harm to validity: the check fails, and shows a wider interval
    assert not holdout.check(column(0.5).astype(float), 0.5, spread=0.02).passed


def test_the_family_is_chosen_before_the_data():
    """Declared type, spread and share decide; the values do not."""
    for values in (column(0.5).astype(float), np.full(N, 0.5)):
        holdout = hf.ReusableHoldout(N, questions=3)
        families = [
            holdout.check(values, 0.5).guarantee.parameters["interval"],
            holdout.check(values, 0.5, 0.3, spread=0.01).guarantee.parameters["interval"],
        ]
        assert families == ["kl", "empirical-bernstein"]
    assert hf.ReusableHoldout(N).check(column(0.5), 0.5).guarantee.parameters["interval"] == "clopper-pearson"
    assert hf.ReusableHoldout(N).check(column(0.5) * 1, 0.5).guarantee.parameters["interval"] == "kl"


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
    with pytest.raises(InvalidParameter, match="values_b"):
        holdout.compare(b * 2, a)
    with pytest.raises(InvalidParameter, match="margin"):
        holdout.compare(b, a, margin=1.5)
    assert holdout.asked == 4


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
    with pytest.raises(InvalidParameter, match="10000 rows, got 5"):
        holdout.check_metric(OnRows(0.0, 1.0, 5, "short", lambda log_share, side: (0, 1)), 0.5, 0.1)
    with pytest.raises(InvalidParameter, match="procedure"):
        holdout.check_metric(0.5, 0.5, 0.1)


def test_other_ranges_scale():
    """A question may name its range; a money value passes like its share of the range."""
    holdout = hf.ReusableHoldout(N, questions=10, low=0, high=1)
    answer = holdout.check(column(0.5) * 400.0 - 100, 100.0, low=-100, high=300, family="hoeffding")
    unit = hf.ReusableHoldout(N, questions=10).check(column(0.5) * 1.0, 0.5, family="hoeffding")
    assert answer.passed
    assert answer.half_width == pytest.approx(400 * unit.half_width)


def test_bits_cost_later_questions_less_than_values():
    """Failures that show a bit leave a larger share; the default grid keeps values affordable too."""
    bits, values = hf.ReusableHoldout(N, questions=100), hf.ReusableHoldout(N, questions=100)
    assert bits.check(column(0.5), 0.9, show="bit").value is None
    values.check(column(0.5), 0.9)
    assert bits.log_share > values.log_share
    assert values.log_share == pytest.approx(bits.log_share - math.log(values.state()["transcript"][0]["shown"]))


def test_a_smaller_grid_shows_more_and_costs_more():
    fine, coarse = hf.ReusableHoldout(N, questions=100), hf.ReusableHoldout(N, questions=100)
    assert abs(fine.check(column(0.5), 0.9, grid=0.001).value - 0.5) <= 0.0011
    coarse.check(column(0.5), 0.9, grid=0.1)
    assert fine.log_share < coarse.log_share


@pytest.mark.parametrize("family", ["hoeffding", "kl", "clopper-pearson", "empirical-bernstein", "betting"])
@pytest.mark.parametrize("how", [{}, {"tolerance": 0.2}, {"show": "bit"}, {"grid": 0.05}])
def test_what_a_check_may_cost_is_known_before(family, how):
    """A failure costs exactly what was announced, a pass no more, and the last failure of a cap only its bit."""
    holdout = hf.ReusableHoldout(2000, questions=9, failures=2)
    for guess in (0.5, 0.9, 0.5, 0.9, 0.9):
        most = holdout.most_cost(guess, family=family, **how)
        answer = holdout.check(np.arange(2000) % 2 == 0, guess, family=family, **how)  # bets need a fair order
        assert answer.passed == (guess == 0.5)
        assert answer.cost.bits <= most.bits
        assert answer.passed or answer.cost == most


def test_guarantees_name_a_theorem_that_gives_their_share():
    """What an answer rests on can be recomputed from the catalogue."""
    holdout = hf.ReusableHoldout(N, questions=50, failures=3)
    holdout.check(column(0.5), 0.9)
    answer = holdout.check(column(0.5), 0.5)
    said = answer.guarantee.parameters
    shown = [entry["shown"] for entry in holdout.state()["transcript"] if not entry["passed"]]
    share = lookup(answer.guarantee.theorem).evaluate(
        beta=0.05, question=said["question"], failures=said["failures"], counts=shown, questions=50, max_failures=3
    )
    assert math.log(share.value) == pytest.approx(said["log_share"], abs=1e-5)
    assert "not used before" in answer.guarantee.assumption


def test_streams_and_arrays_give_one_answer():
    values = np.random.default_rng(3).random(N)
    for family in ("kl", "hoeffding", "empirical-bernstein", "betting"):
        for guess in (0.5, 0.1):
            whole = hf.ReusableHoldout(N, questions=9).check(values, guess, family=family)
            parts = hf.ReusableHoldout(N, questions=9).check(iter(np.array_split(values, 7)), guess, family=family)
            listed = hf.ReusableHoldout(N, questions=9).check(values.tolist(), guess, family=family)
            assert whole == parts == listed


def test_batches_answer_like_one_by_one():
    rng = np.random.default_rng(5)
    matrix = rng.random((30, 200)) < rng.random((30, 1))
    guesses = [0.5] * 30
    batch = hf.ReusableHoldout(200, questions=30)
    single = hf.ReusableHoldout(200, questions=30)
    assert batch.check_batch(matrix, guesses) == [single.check(v, g) for v, g in zip(matrix, guesses, strict=True)]
    assert batch.state() == single.state()


@pytest.mark.parametrize("family", ["hoeffding", "kl", "clopper-pearson"])
@pytest.mark.parametrize("truth", [0.5, 0.8, 0.95])
def test_by_default_a_right_guess_fails_no_more_often_than_an_interval_misses(family, truth):
    """Exact binomial: with the default tolerance only wrong guesses use up failures."""
    from scipy.stats import binom

    n = 1000
    share = math.exp(hf.ReusableHoldout(n, questions=100).log_share)
    passes = [
        hf.ReusableHoldout(n, questions=100).check(column(k / n, n), truth, family=family, binary=True).passed
        for k in range(n + 1)
    ]
    inside = np.flatnonzero(passes)
    assert passes[inside[0] : inside[-1] + 1] == [True] * (inside[-1] - inside[0] + 1)
    assert 1 - (binom.cdf(inside[-1], n, truth) - binom.cdf(inside[0] - 1, n, truth)) <= share


@pytest.mark.parametrize("family", ["empirical-bernstein", "betting"])
@pytest.mark.parametrize("guess", [0.0, 0.02, 0.5, 1.0])
def test_default_tolerances_can_pass(family, guess):
    """Also where nothing is known about the spread."""
    values = np.full(2000, guess)
    assert hf.ReusableHoldout(2000, questions=100).check(values, guess, family=family).passed


@pytest.mark.parametrize("n", [1, 2, 7])
def test_tiny_holdouts_say_honestly_that_they_know_nothing(n):
    """With a handful of rows every answer is true and wide."""
    holdout = hf.ReusableHoldout(n, questions=10)
    for family in ("auto", "hoeffding", "kl", "clopper-pearson", "empirical-bernstein", "betting"):
        answer = holdout.check(np.zeros(n), 0.5, family=family)
        assert answer.interval[0] == 0.0
        assert answer.interval[1] >= 0.5


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
    with pytest.raises(BudgetExhausted, match="capped at 1"):
        holdout.check(column(0.5), 0.5)
    assert holdout.state() == before


def test_a_batch_ends_where_the_run_ends():
    holdout = hf.ReusableHoldout(N, questions=10, failures=0)
    answers = holdout.check_batch([column(0.5)] * 4, [0.5, 0.9, 0.5, 0.5])
    assert [answer.passed for answer in answers] == [True, False]
    with pytest.raises(BudgetExhausted, match="4 questions do not fit: 3"):
        hf.ReusableHoldout(N, questions=3).check_batch([column(0.5)] * 4, [0.5] * 4)


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
    "values outside the range": ({"holdout_values": np.full(N, 1.5)}, "lie in"),
    "NaN": ({"holdout_values": np.full(N, np.nan)}, "lie in"),
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
    "not 0/1": ({"holdout_values": np.full(N, 0.5), "binary": True}, "0 or 1"),
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
        ([[0, 0, 1, 1], [0, 0, 1, 7]], [0.5, 0.5]),
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
        with pytest.raises(InvalidParameter, match="at_least or at_most"):
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


# --- keys, states, copies, threads ---------------------------------------------------------------------------------


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
    monkeypatch.setattr("holdfast.mechanisms.one_copy.os.getpid", lambda: -1)
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


def test_more_failures_than_questions_are_refused():
    with pytest.raises(InvalidParameter, match="failures must be at most the questions, 1000, got 2000"):
        hf.ReusableHoldout(N, questions=1000, failures=2000)
    assert hf.ReusableHoldout(N, questions=10, failures=10).failures == 10
    assert hf.ReusableHoldout(N, failures=2000).failures == 2000


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
        assert holdout.check_metric(metric, 0.9, 0.1).cost == most
        most = holdout.most_cost(0.9, 0.1, procedure=metric, show="bit")
        assert holdout.check_metric(metric, 0.9, 0.1, show="bit").cost.bits <= most.bits
        most = holdout.most_cost(0.5, show="bit")
        assert holdout.claim(column(0.2), at_least=0.5).cost.bits <= most.bits
        most = holdout.most_cost(0.5, low=-1, high=1)
        assert holdout.compare(column(0.2), column(0.2), 0.5).cost.bits <= most.bits
    with pytest.raises(InvalidParameter, match="tolerance"):
        holdout.most_cost(0.9, procedure=metric)
