"""Which of several candidates is best: its name for next to nothing, and its value by a check of its guess."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.bounds.one_question import clopper_pearson
from holdfast.data.values import Summary
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.holdout.error_budget import Course, Message, log_cell_weight, log_winner_weight
from holdfast.holdout.questions import MeanQuestion, check_winner

N = 40
SHARE = 0.05


def sums(ones: int, n: int = N) -> Summary:
    """A 0/1 column with so many ones, as the decision sees it."""
    return Summary(n, 0.0, 1.0, float(ones), float(ones), True)


def question(n: int = N) -> MeanQuestion:
    return MeanQuestion("best", "auto", None, 0.0, 1.0, True, n)


def columns(counts: dict[str, int], n: int = N) -> dict[str, np.ndarray]:
    return {name: np.arange(n) < ones for name, ones in counts.items()}


def test_the_name_spends_nothing_and_costs_what_its_rank_says():
    holdout = ReusableHoldout(N, questions=3)
    guesses = {"a": 0.9, "b": 0.5, "c": 0.7}
    before = holdout.log_share
    answer = holdout.best(columns({"a": 10, "b": 20, "c": 30}), guesses)
    assert (answer.value, answer.interval, answer.passed) == ("c", None, None)
    assert holdout.remaining["questions"] == 3
    # c was expected second of three: 1/(2 * 3), normalised by 3/4.
    assert holdout.log_prior == pytest.approx(math.log(1 / 6 / (3 / 4)), abs=1e-9)
    assert holdout.log_share == pytest.approx(before + holdout.log_prior, abs=1e-9)
    assert answer.cost.bits == pytest.approx(-holdout.log_prior / math.log(2), abs=1e-9)


@pytest.mark.parametrize("final", [0.0, 0.5, 1.0])
def test_the_price_of_a_name_is_what_it_does_to_the_next_question_and_to_the_final(final):
    """It claims nothing and so has no share of its own, but later intervals are wider all the same."""
    holdout = ReusableHoldout(N, questions=3, final=final)
    before = holdout.log_share
    answer = holdout.best(columns({"a": 10, "b": 20, "c": 30}))
    assert answer.final_widening > 0.1
    if final == 1.0:  # no question before the final has an interval
        assert answer.widening is None
        assert answer.price == f"later intervals are {answer.final_widening:.0%} wider"
        return
    depth = math.log(2) - before
    assert answer.widening == pytest.approx(math.sqrt((depth - holdout.log_prior) / depth) - 1, abs=1e-9)
    assert answer.price.startswith(f"later intervals are {answer.widening:.0%} wider, a final's")


@pytest.mark.parametrize("candidates", [2, 3, 12, 100])
def test_the_prior_of_winners_and_cells_sums_to_at_most_one(candidates):
    winners = sum(math.exp(log_winner_weight(rank, candidates)) for rank in range(1, candidates + 1))
    assert winners == pytest.approx(1, abs=1e-12)
    # 0 stands for the inner cell of either side, so it counts twice.
    cells = 2 * math.exp(log_cell_weight(0)) + sum(math.exp(log_cell_weight(j)) for j in range(-500, 501) if j)
    assert cells <= 1


def test_ties_go_to_the_first_and_order_by_guess_is_the_order_of_the_mapping_without_guesses():
    holdout = ReusableHoldout(N)
    answer = holdout.best(columns({"a": 20, "b": 20}))
    assert answer.value == "a"
    assert holdout.log_prior == pytest.approx(math.log(0.5 / (2 / 3)), abs=1e-9)


@pytest.mark.parametrize("greater", [True, False])
@pytest.mark.parametrize("among", [2, 7])
@pytest.mark.parametrize("guess", [0.0, 0.05, 0.5, 0.93, 1.0])
def test_what_is_shown_follows_from_the_message_and_holds_the_exact_interval(greater, among, guess):
    shown_by_message = defaultdict(set)
    for ones in range(N + 1):
        outcome = check_winner(question(), sums(ones), guess, among, greater, math.log(SHARE))
        assert outcome.interval[0] <= outcome.exact.interval[0] <= outcome.exact.interval[1] <= outcome.interval[1]
        # A failure's cell is told by its midpoint and its weight; a pass shows the guess alone.
        shown_by_message[outcome.passed, outcome.value, outcome.log_weight].add(outcome.interval)
    assert all(len(intervals) == 1 for intervals in shown_by_message.values())


@pytest.mark.parametrize("greater", [True, False])
@pytest.mark.parametrize("among", [2, 7])
def test_the_limit_that_pays_for_the_choice_is_divided_and_the_other_is_not(greater, among):
    exact = check_winner(question(), sums(25), 0.6, among, greater, math.log(SHARE)).exact.interval
    paid, free = math.log(SHARE / 2 / among), math.log(SHARE / 2)
    below, above = (paid, free) if greater else (free, paid)
    assert exact[0] == pytest.approx(clopper_pearson(25, N, below, "lower").low, abs=1e-12)
    assert exact[1] == pytest.approx(clopper_pearson(25, N, above, "upper").high, abs=1e-12)


def miss(among: int, truth: float, lower_share: float) -> float:
    """The exact probability that the winner's interval misses, for equal and independent candidates."""
    ones = np.arange(N + 1)
    winner = np.diff(np.concatenate([[0.0], binom.cdf(ones, N, truth) ** among]))
    missed = [
        clopper_pearson(k, N, math.log(lower_share), "lower").low > truth
        or clopper_pearson(k, N, math.log(SHARE / 2), "upper").high < truth
        for k in range(N + 1)
    ]
    return float(winner[missed].sum())


@pytest.mark.parametrize("among", [2, 7, 60])
def test_the_winner_s_interval_misses_at_most_as_often_as_its_share_says(among):
    # Computed from the distribution of the largest of equal binomial counts: no draw is involved.
    truths = np.linspace(0.02, 0.98, 49)
    assert max(miss(among, truth, SHARE / 2 / among) for truth in truths) <= SHARE
    if among > 2:  # the wrong version, which forgets the choice, is found out
        assert max(miss(among, truth, SHARE / 2) for truth in truths) > SHARE


def test_a_guess_that_stands_and_one_that_does_not_are_weighed_as_checks():
    guesses = {"a": 0.2, "b": 0.5}
    n = 400
    for b, passed in ((200, True), (360, False)):
        holdout = ReusableHoldout(n, questions=4)
        answer = holdout.best(columns({"a": 80, "b": b}, n), guesses, show="value")
        assert (answer.value, answer.passed) == ("b", passed)
        assert answer.interval[0] <= b / n <= answer.interval[1]
        assert holdout.remaining["questions"] == 3
        outcome = check_winner(question(n), sums(b, n), 0.5, 2, True, math.log(0.05 * 0.5 / 4))
        message = Message(passed, outcome.log_weight + log_winner_weight(1, 2))
        budget = holdout.budget
        assert holdout.log_prior == pytest.approx(budget.log_prior(budget.after(Course(), [message])), abs=1e-9)


def test_the_end_shows_the_exact_interval_beside_the_name():
    holdout = ReusableHoldout(1000, questions=10)
    shown = holdout.best(columns({"a": 500, "b": 750}, 1000), {"a": 0.5, "b": 0.74}, show="value")
    named = holdout.best(columns({"a": 500, "b": 750}, 1000))
    exact, name = holdout.close()
    assert exact.value == shown.value == named.value == name.value == "b"
    assert exact.half_width < shown.half_width / 2
    assert name.interval is None
    with pytest.raises(BudgetExhausted):
        holdout.best(columns({"a": 500, "b": 750}, 1000))


def test_a_run_with_values_is_handed_over():
    holdout = ReusableHoldout(N, questions=4)
    asked = (columns({"a": 8, "b": 36}), {"a": 0.2, "b": 0.5})
    answer = holdout.best(*asked, show="value", key="round 1")
    twin = ReusableHoldout.from_state(holdout.state())
    assert twin.log_prior == holdout.log_prior
    assert twin.best(*asked, show="value", key="round 1") == answer
    with pytest.raises(InvalidParameter, match="another question"):
        twin.best(*asked, key="round 1")


@pytest.mark.parametrize(
    ("guesses", "show", "says"),
    [
        (None, "value", "guesses must have one guess for each candidate"),
        ({"a": 0.5}, "value", "'b' has none"),
        ({"a": 0.5, "b": 1.5}, "value", "guess of 'b' must be"),
        ({"a": 0.5, "c": 0.5}, "name", "guesses must be for candidates only, but 'c' is not a candidate"),
        (None, "rank", "show must be one of"),
    ],
)
def test_wrong_input_costs_nothing(guesses, show, says):
    holdout = ReusableHoldout(N, questions=4)
    before = holdout.state()
    with pytest.raises(InvalidParameter, match=says):
        holdout.best(columns({"a": 8, "b": 36}), guesses, show=show)
    assert holdout.state() == before


def test_reserved_rows_are_not_read():
    holdout = ReusableHoldout(N, questions=4, reserve=0.5, seed=7)
    rows = columns({"a": 10, "b": 30})
    explored = ReusableHoldout(N, questions=4, reserve=0.5, seed=7)._split.explored
    poisoned = {name: np.where(np.isin(np.arange(N), explored), values, np.nan) for name, values in rows.items()}
    assert holdout.best(poisoned).value == "b"
