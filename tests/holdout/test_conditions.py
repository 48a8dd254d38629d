"""The conditions of Theorem E, one by one: what a run must keep so that its shares may be added up.

1. All that is seen is the message. 2. What is shown follows from it, and holds the exact interval of every sample with
that message. 3. The winner is no fixed question. 4. Batches are whole. 5. The last message is free, and nothing is
asked after it. 6. Parts that add up under the real distribution are constants.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.bounds.one_question.means import MEAN_FAMILIES
from holdfast.data.values import Summary
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout import metrics
from holdfast.holdout.error_budget import Course, log_cell_weight
from holdfast.holdout.intervals.conditional import conditional_mean
from holdfast.holdout.intervals.mean import MeanInterval
from holdfast.holdout.intervals.procedure import OnRows
from holdfast.holdout.questions import Guess, MeanQuestion, check_mean, check_winner
from holdfast.mechanisms.answer import Answer
from tests.holdout.reusable_rows import column

N = 150


def rows(k: int, n: int = N) -> np.ndarray:
    return np.arange(n) < k


# --- 1. all that is seen is the message -------------------------------------------------------------------------------

ASKS: dict[str, Callable[[hf.ReusableHoldout, np.ndarray], Any]] = {
    "check": lambda h, x: h.check(x, 0.6),
    "check, own tolerance": lambda h, x: h.check(x, 0.6, 0.4),
    "check, bit": lambda h, x: h.check(x, 0.1, show="bit"),
    "check, kl": lambda h, x: h.check(x * 1.0, 0.9, family="kl"),
    "check, bernstein": lambda h, x: h.check(x * 1.0, 0.5, 0.45, family="empirical-bernstein"),
    "check, betting": lambda h, x: h.check(x[::-1] * 1.0, 0.5, 0.4, family="betting"),
    "claim": lambda h, x: h.claim(x, at_least=0.4),
    "compare": lambda h, x: h.compare(x, ~x),
    "compare, guess": lambda h, x: h.compare(x, ~x, 0.2, 0.6),
    "metric": lambda h, x: h.check_metric(metrics.mean(x, "clopper-pearson"), 0.5, 0.3),
    "best": lambda h, x: h.best({"a": x, "b": ~x}),
    "best with its value": lambda h, x: h.best({"a": x, "b": ~x}, {"a": 0.3, "b": 0.6}, show="value"),
    "batch": lambda h, x: h.check_batch([x, ~x], [0.6, 0.3]),
}


def seen(answer: Any) -> str:
    """Everything of an answer that an analyst may look at."""
    found = answer if isinstance(answer, list) else [answer]
    return str([(one.to_dict(), str(one), repr(one)) for one in found])


@pytest.mark.parametrize("name", ASKS)
def test_an_answer_says_no_more_than_its_message(name):
    """Rows with one message (pass, value or name, and interval) give one answer, one state, and one next share."""
    found: dict[str, set[str]] = defaultdict(set)
    for k in range(0, N + 1, 3):
        holdout = hf.ReusableHoldout(N, questions=9)
        answers = ASKS[name](holdout, rows(k))
        several = answers if isinstance(answers, list) else [answers]
        message = str([(one.passed, one.value, one.interval) for one in several])
        after = (holdout.log_share, holdout.log_prior, holdout.state(), repr(holdout), holdout.remaining)
        found[message].add(seen(answers) + str(after))
    assert len(found) > 1
    assert all(len(same) == 1 for same in found.values())


@pytest.mark.parametrize("name", ASKS)
def test_a_message_was_weighed_before_and_all_of_them_weigh_at_most_one(name):
    weights: dict[str, float] = {}
    for k in range(0, N + 1, 3):
        holdout = hf.ReusableHoldout(N, questions=9)
        answers = ASKS[name](holdout, rows(k))
        several = answers if isinstance(answers, list) else [answers]
        weights[str([(one.passed, one.value, one.interval) for one in several])] = math.exp(holdout.log_prior)
    assert sum(weights.values()) <= 1


@pytest.mark.parametrize(
    "refused",
    [
        lambda h, x: h.check(x, 0.6, 1e-6),
        lambda h, x: h.check(x * 1.0, 0.6, 1e-6, family="empirical-bernstein"),
        lambda h, x: h.check(x, 0.6, stake=0.9),
        lambda h, x: h.check_batch([x, x], [0.6, 0.6], 1e-6),
        lambda h, x: h.claim(x, at_least=1.0),
        lambda h, x: h.claim(x, at_most=0.0),
        lambda h, x: h.compare(x, ~x, 0.2, 1e-6, family="kl"),
        lambda h, x: h.compare(x, ~x, margin=2.0),
        lambda h, x: h.best({"a": x, "b": ~x}, {"a": 0.2}, show="value"),
        lambda h, x: h.final({"a": x}, claims="all"),
        lambda h, x: h.final({"a": x, "b": x}, claims="ranks", other={"a": x}),
    ],
)
def test_a_refusal_is_the_same_for_all_rows_and_changes_nothing(refused):
    words = set()
    for k in range(0, N + 1, 10):
        holdout = hf.ReusableHoldout(N, questions=9)
        holdout.check(rows(20), 0.9)
        before, share = holdout.state(secrets=True), holdout.log_share
        with pytest.raises((InvalidParameter, BudgetExhausted)) as caught:
            refused(holdout, rows(k))
        words.add(f"{type(caught.value)} {caught.value}")
        assert (holdout.state(secrets=True), holdout.log_share) == (before, share)
    assert len(words) == 1


def test_a_metric_without_rows_is_no_refusal():
    """Whether some rows meet a condition depends on the rows, so it is shown at the end and refused nowhere."""
    for yes in (np.zeros(N, dtype=bool), rows(3)):
        made = {
            "a": _among(rows(10), yes),
            "b": _among(rows(10), np.ones(N, dtype=bool)),
        }
        assert hf.ReusableHoldout(N).best(made).value in made
        result = hf.ReusableHoldout(N).final(made)
        assert result.interval["a"] == (0.0, 1.0) or yes.any()
        assert math.isnan(result.values["a"]) is not bool(yes.any())
        assert (result.to_dict()["values"]["a"] is None) is not bool(yes.any())
        assert result.winner == ("a" if yes.any() else "b")


def _among(values: np.ndarray, where: np.ndarray) -> OnRows:
    return conditional_mean(float(values[where].sum()), int(where.sum()), len(values), whole=True)


# --- 2. what is shown follows from the message ------------------------------------------------------------------------


def summary(k: int, n: int, low: float = 0.0, high: float = 1.0, binary: bool = True) -> Summary:
    total = k / n * (high - low) * n + low * n
    return Summary(n, low, high, total, math.nan, binary)


GUESSES = [0.0, 0.004, 0.03, 0.2, 0.5, 0.77, 0.95, 0.996, 1.0]


@pytest.mark.parametrize("family", MEAN_FAMILIES.values(), ids=lambda family: family.name)
@pytest.mark.parametrize("n", [7, 61])
@pytest.mark.parametrize("guess", GUESSES)
def test_what_is_shown_holds_the_exact_interval_of_every_mean_with_that_message(family, n, guess):
    """Exhaustive over counts, with tolerances from the least one up, grids, and sides; inner cells included."""
    interval = MeanInterval(family, n, 0.0, 1.0)
    inner = 0
    for log_share in (-2.0, -9.0):
        least = interval.least_tolerance(guess, log_share)
        for tolerance, grid in ((None, None), (least, None), (1.1 * least, 0.01), (0.45, None)):
            if tolerance is not None and tolerance < least:
                continue
            shown = defaultdict(set)
            for k in range(n + 1):
                outcome = check_mean(summary(k, n), interval, Guess(guess, tolerance, True, grid), log_share)
                low, high = outcome.exact.interval
                assert outcome.interval[0] <= low <= high <= outcome.interval[1]
                shown[outcome.passed, outcome.value, outcome.log_weight].add(outcome.interval)
                inner += not outcome.passed and outcome.log_weight == log_cell_weight(0)
            assert all(len(intervals) == 1 for intervals in shown.values())
    if family.name == "clopper-pearson" and n == 61 and guess in (0.03, 0.95):
        assert inner  # intervals are not symmetric there: a mean inside the edge fails


def test_without_inner_cells_some_interval_would_stick_out():
    """The wrong version, where a mean that fails inside the edge is put into the first cell outside, is found out."""
    sticks_out = 0
    for n, guess in itertools.product((40, 133), GUESSES):
        interval = MeanInterval(MEAN_FAMILIES["clopper-pearson"], n, 0.0, 1.0)
        for log_share in (-2.0, -6.0, -30.0):
            tolerance = interval.default_tolerance(guess, log_share)
            for scale in (0.45, 0.6, 1.0):
                cells = interval.cells(guess, scale * tolerance, log_share)
                for k in range(n + 1):
                    low, high = interval.at(k / n, log_share)
                    passes = guess - scale * tolerance <= low and high <= guess + scale * tolerance
                    if passes or cells.index(k / n) != 0:
                        continue
                    sign = 1 if k / n > guess else -1
                    near, far = guess + sign * cells.edge, guess + sign * (cells.edge + cells.length)
                    shown = interval.over(min(near, far), max(near, far), log_share)
                    sticks_out += not (shown[0] <= low and high <= shown[1])
    assert sticks_out > 0


@pytest.mark.parametrize("name", ["kl", "hoeffding"])
@pytest.mark.parametrize("greater", [True, False])
@pytest.mark.parametrize("among", [2, 9])
def test_the_same_holds_for_winners_of_bounded_values(name, greater, among):
    question = MeanQuestion("best", "auto", None, -2.0, 3.0, False, 60)
    assert question.chosen(0.0, -3.0, False) == "kl"
    chosen = MeanQuestion("best", name, None, -2.0, 3.0, False, 60)
    for guess in (-2.0, -1.9, 0.4, 2.9):
        shown = defaultdict(set)
        for k in range(301):
            outcome = check_winner(chosen, summary(k, 300, -2.0, 3.0, False), guess, among, greater, -5.0)
            low, high = outcome.exact.interval
            assert outcome.interval[0] <= low <= high <= outcome.interval[1]
            shown[outcome.passed, outcome.value, outcome.log_weight].add(outcome.interval)
        assert all(len(intervals) == 1 for intervals in shown.values())


@pytest.mark.parametrize("family", ["empirical-bernstein", "betting"])
def test_pairs_of_ends_hold_the_exact_interval(family):
    """For intervals that are more than a mean's both ends are rounded outward, whatever the rows."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        values = rng.random(40) ** rng.uniform(0.1, 8)
        for guess, tolerance in ((0.0, None), (0.5, 0.6), (0.97, 0.7)):
            holdout = hf.ReusableHoldout(40, questions=3)
            answer = holdout.check(values, guess, tolerance, family=family)
            (exact,) = holdout.close()
            assert answer.interval[0] <= exact.interval[0] <= exact.interval[1] <= answer.interval[1]


def played(n: int, seed: int) -> tuple[hf.ReusableHoldout, list[Answer]]:
    """A run of all verbs on some rows."""
    rng = np.random.default_rng(seed)
    holdout = hf.ReusableHoldout(n, questions=20)
    for _ in range(2):
        x, y = rng.random((2, n)) < rng.random((2, 1))
        for name, ask in ASKS.items():
            if name != "check, own tolerance" and holdout.remaining["questions"] > 2:
                ask(holdout, x if rng.random() < 0.5 else y)
    return holdout, list(holdout.transcript)


@pytest.mark.parametrize("ending", ["close", "final"])
@pytest.mark.parametrize("seed", range(12))
def test_the_reveal_is_inside_what_was_shown(ending, seed):
    holdout, shown = played(600, seed)
    revealed = holdout.close() if ending == "close" else holdout.final({"a": rows(10, 600)}).revealed
    assert len(revealed) == len(shown) > 10
    for before, after in zip(shown, revealed, strict=True):
        assert (before.passed, before.guarantee, before.cost) == (after.passed, after.guarantee, after.cost)
        if before.interval is not None and after.interval is not None:
            assert before.interval[0] <= after.interval[0] <= after.interval[1] <= before.interval[1]
    assert any(isinstance(after.value, str) for after in revealed)
    assert any(isinstance(after.value, float) for after in revealed)


def test_a_pass_and_a_failure_are_revealed_with_one_half_width():
    """Whatever the guess: the first question of two runs ends with the same exact interval."""
    ends = set()
    for guess in (0.8, 0.1):
        holdout = hf.ReusableHoldout(1000, questions=100)
        holdout.check(column(0.8, 1000), guess)
        ends.add(holdout.close()[0].interval)
    assert len(ends) == 1


# --- 3. the winner is no fixed question -------------------------------------------------------------------------------


def test_a_winner_without_a_cell_has_no_interval_and_spends_nothing():
    holdout = hf.ReusableHoldout(N, questions=3)
    left = holdout.budget.left(holdout._run.course)
    answer = holdout.best({"a": rows(10), "b": rows(20)})
    assert (answer.interval, answer.passed) == (None, None)
    assert holdout.close()[0].interval is None
    assert holdout.budget.left(holdout._run.course) == left


def test_a_mixed_batch_has_one_interval_for_all():
    """The limit that does not pay for the choice must be the same function of the mean for all candidates."""
    mixed = {"a": rows(20), "b": rows(10) * 1.0}
    guesses = {"a": 0.6, "b": 0.3}
    one = hf.ReusableHoldout(N, questions=3)
    other = hf.ReusableHoldout(N, questions=3)
    assert one.best(mixed, guesses, show="value").guarantee.parameters["interval"] == "kl"
    plain = {name: values * 1.0 for name, values in mixed.items()}
    assert one.transcript == (other.best(plain, guesses, show="value"),)
    both = {name: values > 0 for name, values in mixed.items()}
    exact = hf.ReusableHoldout(N, questions=3).best(both, guesses, show="value")
    assert exact.guarantee.parameters["interval"] == "clopper-pearson"
    # A question that is not declared 0/1 does not become so by the winner's own column.
    question = MeanQuestion("best", "auto", None, 0.0, 1.0, False, N)
    assert check_winner(question, summary(20, N), 0.6, 2, True, -4.0).family == "kl"


# --- 4. batches are whole ---------------------------------------------------------------------------------------------


def test_a_batch_is_refused_as_a_whole_and_before_its_rows_are_read():
    holdout = hf.ReusableHoldout(N, questions=3)

    def unread() -> Iterator[np.ndarray]:
        raise AssertionError("rows were read")
        yield rows(1)

    with pytest.raises(BudgetExhausted, match="4 questions do not fit: 3 are left"):
        holdout.check_batch([unread()] * 4, [0.5] * 4)
    for broken in ([rows(10) * 7.0, rows(9, N - 1)], [rows(10), rows(9, N - 1)]):
        with pytest.raises(InvalidParameter, match="150 in all, got 149"):
            holdout.check_batch(broken, [0.5, 0.5])
    assert holdout.asked == 0


def test_the_messages_of_a_batch_are_charged_to_later_questions_only():
    far = [0.0] * 6
    holdout = hf.ReusableHoldout(200, questions=20)
    before = holdout.log_share
    answers = holdout.check_batch([rows(100 + k, 200) for k in range(6)], far)
    shares = {answer.guarantee.parameters["log_share"] for answer in answers}
    assert shares == {round(before, 6)}
    assert holdout.failed == 6
    assert holdout.log_share < before - 6
    one_by_one = hf.ReusableHoldout(200, questions=20)
    for k in range(6):
        one_by_one.check(rows(100 + k, 200), 0.0)
    assert one_by_one.transcript[-1].half_width > answers[-1].half_width


def test_a_batch_in_a_state_stays_a_batch():
    holdout = hf.ReusableHoldout(200, questions=20, failures=2)
    holdout.check(rows(100, 200), 0.5)
    holdout.check_batch([rows(100, 200)] * 6, [0.0] * 6)
    assert [entry["joined"] for entry in holdout.state()["transcript"]] == [False, False, *[True] * 5]
    twin = hf.ReusableHoldout.from_state(holdout.state())
    assert twin.transcript == holdout.transcript
    assert twin.log_share == holdout.log_share


# --- 5. the last message is free, and nothing is asked after it -------------------------------------------------------

UNREAD: Any = iter(())  # nothing is read where nothing may be asked
VERBS: dict[str, Callable[[hf.ReusableHoldout], Any]] = {
    "check": lambda h: h.check(UNREAD, 0.5),
    "check_batch": lambda h: h.check_batch([UNREAD], [0.5]),
    "claim": lambda h: h.claim(UNREAD, at_least=0.5),
    "compare": lambda h: h.compare(UNREAD, UNREAD),
    "compare signs": lambda h: h.compare(UNREAD, UNREAD, binary=True),
    "compare guess": lambda h: h.compare(UNREAD, UNREAD, 0.1),
    "check_metric": lambda h: h.check_metric(metrics.mean(rows(10), "clopper-pearson"), 0.5, 0.4),
    "claim a metric": lambda h: h.claim(metrics.mean(rows(10), "clopper-pearson"), at_least=0.4),
    "best": lambda h: h.best({"a": UNREAD, "b": UNREAD}),
    "best with value": lambda h: h.best({"a": UNREAD, "b": UNREAD}, {"a": 0.5, "b": 0.5}, show="value"),
    "final": lambda h: h.final({"a": UNREAD}),
    "close": lambda h: h.close(),
}


@pytest.mark.parametrize("ending", ["close", "final", "final without questions"])
@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_asked_after_the_end(ending, verb):
    holdout = hf.ReusableHoldout(N)
    first = holdout.check(rows(10), 0.9, key="k") if ending != "final without questions" else None
    if ending == "close":
        holdout.close()
    else:
        holdout.final({"a": rows(10), "b": rows(12)})
    before = holdout.state(secrets=True)
    assert holdout.ended
    assert holdout.remaining == {"questions": 0, "failures": 0}
    with pytest.raises(BudgetExhausted, match="exact values were shown"):
        VERBS[verb](holdout)
    assert holdout.state(secrets=True) == before
    if first is not None:  # what was said stays said
        assert holdout.check(None, 0.9, key="k") is first


def test_the_run_goes_on_after_a_cap_only_to_its_end():
    holdout = hf.ReusableHoldout(N, questions=9, failures=0)
    holdout.check(rows(10), 0.95)
    for verb in VERBS:
        if verb not in ("final", "close"):
            with pytest.raises(BudgetExhausted, match="limits failures to 0"):
                VERBS[verb](holdout)
    prior = holdout.log_prior
    result = holdout.final({"a": rows(10)})
    assert result.guarantee.parameters["log_share"] == pytest.approx(
        math.log(0.05) + math.log(0.5 + 0.5 * 8 / 9) + prior, abs=1e-6
    )
    assert result.revealed[0].interval is not None  # it was certified all along


# --- 6. constants where constants are needed --------------------------------------------------------------------------


def test_a_final_on_a_reserve_has_the_same_level_whatever_was_shown():
    levels = set()
    for guesses in ([], [0.3] * 3, [0.99] * 5, [0.0, 0.5, 0.99]):
        holdout = hf.ReusableHoldout(100, questions=9, reserve=[0.3, 0.2], seed=3)
        for guess in guesses:
            holdout.check(rows(30, 100), guess)
        for _ in range(2):
            levels.add(holdout.final({"a": rows(30, 100)}).guarantee.parameters["log_share"])
    assert levels == {round(math.log(0.05 * 0.25), 6)}


def test_the_level_of_a_final_on_all_rows_follows_what_was_shown():
    levels = []
    for guesses in ([], [0.3] * 3, [0.99] * 3):
        holdout = hf.ReusableHoldout(100, questions=9)
        for guess in guesses:
            holdout.check(rows(30, 100), guess)
        course, budget = holdout._run.course, holdout.budget
        found = holdout.final({"a": rows(30, 100)}).guarantee.parameters["log_share"]
        assert found == pytest.approx(budget.log_share(course, budget.final_spending(course)), abs=1e-6)
        levels.append(found)
    assert levels == sorted(levels, reverse=True)
    assert levels[0] == pytest.approx(math.log(0.05), abs=1e-6)
    assert Course() == hf.ReusableHoldout(100)._run.course
