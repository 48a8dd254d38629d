"""The reusable holdout's door: what a check answers, how sharply, and what it shows and costs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import Cost
from holdfast.bounds.holdout.error_allocation import INNER, log_course_weight
from holdfast.bounds.registry import lookup
from holdfast.holdout.error_budget import Course, Message, log_cell_weight
from tests.holdout.reusable_rows import N, column

# --- the figures that the holdout is for --------------------------------------------------------------------------


def test_before_any_failure_a_pass_is_nearly_as_tight_as_without_adaptivity():
    """10,000 rows, 1,000 questions, 95%: at most 0.026 at every question; the non-adaptive limit is 0.023.

    Half of the failure probability is kept for a final, and a thousand passes halve the prior weight.
    """
    holdout = hf.ReusableHoldout(N, questions=1000)
    first = holdout.least_tolerance(family="hoeffding")
    holdout.check_batch([column(0.5)] * 999, [0.5] * 999, family="hoeffding")
    assert holdout.failed == 0
    last = holdout.least_tolerance(family="hoeffding")
    assert first == pytest.approx(math.sqrt(math.log(2 * 2000 / 0.05) / (2 * N)), abs=1e-9)
    assert last == pytest.approx(math.sqrt(math.log(2 * 2000 * (1998 / 999) / 0.05) / (2 * N)), abs=1e-9)
    assert last <= 0.026
    assert math.sqrt(math.log(2 * 1000 / 0.05) / (2 * N)) == pytest.approx(0.0230, abs=5e-5)
    near_the_end = holdout.least_tolerance(0.95, binary=True)
    assert near_the_end <= 0.6 * last
    assert holdout.least_tolerance(0.95, family="kl") <= 0.6 * last


@pytest.mark.parametrize("early", [True, False])
def test_after_ten_failures_with_values_a_pass_still_certifies(early):
    """At most 0.07 at the last question, wherever the ten failures came, of guesses that were not far off."""
    holdout = hf.ReusableHoldout(N, questions=1000)
    bad, good = [0.44] * 10, [0.5] * 989
    answers = holdout.check_batch([column(0.5)] * 999, bad + good if early else good + bad, family="hoeffding")
    assert holdout.failed == 10
    assert all(answer.value is not None for answer in answers)
    assert holdout.log_prior == pytest.approx(log_course_weight(999, 10, (1, 999)) + 10 * log_cell_weight(1), abs=1e-6)
    assert holdout.least_tolerance(family="hoeffding") <= 0.07
    assert holdout.least_tolerance(0.95, binary=True) <= 0.6 * holdout.least_tolerance(family="hoeffding")


# --- answers -------------------------------------------------------------------------------------------------------


def test_a_pass_shows_the_guess_and_nothing_of_the_rows():
    """Rows that pass give one and the same answer, down to cost and guarantee."""
    answers = {str(hf.ReusableHoldout(N, questions=10).check(column(m), 0.8)) for m in (0.795, 0.8, 0.801, 0.806)}
    assert len(answers) == 1
    answer = hf.ReusableHoldout(N, questions=10).check(column(0.795), 0.8, 0.05)
    assert (answer.passed, answer.value, answer.interval) == (True, 0.8, (0.8 - 0.05, 0.8 + 0.05))
    assert answer.cost == Cost.from_dict(answer.cost.to_dict())


@pytest.mark.parametrize("side", ["both", "below", "above"])
def test_the_messages_of_a_check_weigh_at_most_one(side):
    """Over all possible rows: a pass, and every value that a failure shows, each with the weight it was charged."""
    shown: dict[tuple[float, tuple[float, float]], float] = {}
    for k in range(0, 201):
        holdout = hf.ReusableHoldout(200, questions=5)
        answer = holdout.check(column(k / 200, 200), 0.5, 0.3, side=side)
        shown.setdefault((answer.value, answer.interval), math.exp(holdout.log_prior))
        assert shown[answer.value, answer.interval] == math.exp(holdout.log_prior)
        assert answer.interval[0] <= k / 200 <= answer.interval[1]
        assert answer.interval[0] <= answer.value <= answer.interval[1]
    assert len(shown) > 3
    assert 0.9 < sum(shown.values()) <= 1


@pytest.mark.parametrize("family", ["empirical-bernstein", "betting"])
def test_families_beyond_the_mean_show_pairs_on_a_grid(family):
    """Whatever the rows' spread, a failure shows a pair of ends in steps counted from the guess, and it is charged."""
    shown = {}
    for k in range(60):
        rng = np.random.default_rng(k)
        values = rng.random(300) * rng.random()
        holdout = hf.ReusableHoldout(300, questions=5)
        answer = holdout.check(values, 0.9, 0.2, family=family)
        if not answer.passed:
            shown.setdefault(answer.interval, math.exp(holdout.log_prior))
            assert shown[answer.interval] == math.exp(holdout.log_prior)
    assert all(round(10 * end, 9).is_integer() for interval in shown for end in interval)  # steps of 0.1
    assert len(shown) > 5
    assert sum(shown.values()) <= 1


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
    assert values.log_share == pytest.approx(bits.log_share + values.state()["transcript"][0]["log_weight"])


def test_a_smaller_grid_shows_more_and_costs_more():
    fine, coarse = hf.ReusableHoldout(N, questions=100), hf.ReusableHoldout(N, questions=100)
    assert abs(fine.check(column(0.5), 0.9, grid=0.001).value - 0.5) <= 0.0011
    coarse.check(column(0.5), 0.9, grid=0.1)
    assert fine.log_share < coarse.log_share


@pytest.mark.parametrize("family", ["hoeffding", "kl", "clopper-pearson", "empirical-bernstein", "betting"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"tolerance": 0.2},
        {"show": "bit"},
        {"grid": 0.05},
        {"side": "above"},
        {"guess_rows": 500},
        {"risk": 0.001},
    ],
)
def test_what_a_check_may_cost_is_known_before(family, how):
    """No answer costs more than was announced, and the last failure of a cap exactly its bit."""
    holdout = hf.ReusableHoldout(2000, questions=9, failures=2)
    for guess in (0.5, 0.9, 0.5, 0.9, 0.9):
        most = holdout.most_cost(guess, family=family, **how)
        answer = holdout.check(np.arange(2000) % 2 == 0, guess, family=family, **how)  # bets need a fair order
        assert answer.passed == (guess == 0.5)
        assert answer.cost.bits <= most.bits + 1e-9
    assert answer.cost.bits == pytest.approx(most.bits)


@pytest.mark.parametrize("family", ["hoeffding", "kl", "clopper-pearson"])
def test_the_announced_cost_is_reached_by_some_rows(family):
    for guess, tolerance in ((0.3, 0.25), (0.6, None), (1.0, 0.4)):
        costs, fresh = [], hf.ReusableHoldout(100, questions=9)
        for k in range(101):
            answer = hf.ReusableHoldout(100, questions=9).check(column(k / 100, 100), guess, tolerance, family=family)
            costs.append(answer.cost.bits)
        most = fresh.most_cost(guess, tolerance, family=family, binary=True).bits  # n is small, so cells are few
        assert max(costs) <= most + 1e-9
        # The inner cells have the smallest weight of those near by, and few rows or none are in one.
        assert max(costs) == pytest.approx(most) or most == pytest.approx(
            fresh.budget.log_message_weight(Course(), Message(False, math.log(INNER))) / -math.log(2)
        )


def test_guarantees_name_a_theorem_that_gives_their_share():
    """What an answer rests on can be recomputed from the catalogue."""
    holdout = hf.ReusableHoldout(N, questions=50, failures=3)
    holdout.check(column(0.5), 0.9)
    answer = holdout.check(column(0.5), 0.5)
    said = answer.guarantee.parameters
    shown = sum(entry["log_weight"] for entry in holdout.state()["transcript"])
    share = lookup(answer.guarantee.theorem).evaluate(
        beta=0.05,
        spending=0.5 / 50,
        checks=said["question"] - 1,
        failures=said["failures"],
        log_shown=shown,
        questions=50,
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


def test_each_question_of_a_batch_is_answered_as_if_it_were_the_first():
    """With equal spendings a batch costs its own members nothing; what they showed is charged afterwards."""
    rng = np.random.default_rng(5)
    matrix = rng.random((30, 200)) < rng.random((30, 1))
    batch, later = hf.ReusableHoldout(200, questions=31), hf.ReusableHoldout(200, questions=31)
    answers = batch.check_batch(matrix, [0.5] * 30)
    for answer, values in zip(answers, matrix, strict=True):
        alone = hf.ReusableHoldout(200, questions=31).check(values, 0.5)
        assert (answer.passed, answer.value, answer.interval) == (alone.passed, alone.value, alone.interval)
    one_by_one = [later.check(values, 0.5) for values in matrix]
    assert batch.failed > 5
    assert one_by_one[-1].half_width > answers[-1].half_width
    shown = sum(entry["log_weight"] for entry in batch.state()["transcript"])
    assert batch.log_prior == pytest.approx(log_course_weight(30, batch.failed, (1, 30)) + shown, abs=1e-7)


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
