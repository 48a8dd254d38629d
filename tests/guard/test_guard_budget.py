"""Shares of a guard's run: they add up to less than the whole, and nothing that was released makes them larger."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.p_value import level_after_pure_dp
from holdfast.data.schema import Schema
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.guard import check
from holdfast.guard.guard_budget import NOISE_PART, GuardBudget
from holdfast.guard.policy import Policy
from holdfast.holdout.error_budget import Course, Message

BETA = Fraction(5, 100)


def after(budget: GuardBudget, answers: str, shown: int) -> Course:
    """The course after passes (p), failures (f) that show one of `shown` things, and answers through noise (n)."""
    course = Course()
    for answer in answers:
        messages = [] if answer == "n" else [Message(answer == "p", 0.0 if answer == "p" else -math.log(shown))]
        course = budget.budget.after(course, messages, asked=1)
    return course


def weight(answers: str, shown: int, questions: int | None) -> Fraction:
    """The prior weight of a course by the specification: the next failure has weight `(f + a)/(t + a + b)`."""
    a, b = (Fraction(1, 2), Fraction(1, 2)) if questions is None else (Fraction(1), Fraction(max(questions - 1, 1)))
    failed, product = 0, Fraction(1)
    for number, answer in enumerate(answers.replace("n", "")):
        failure = (failed + a) / (number + a + b)
        product *= failure / shown if answer == "f" else 1 - failure
        failed += answer == "f"
    return product


def turn(number: int, questions: int | None) -> float:
    """The part of beta that a question spends by the specification: half of it is kept for the final."""
    return 0.5 / questions if questions is not None else 0.5 * 6 / (math.pi * number) ** 2


# --- Theorem E --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", ["", "p", "f", "ppfpp", "nnfpn", "fffff"])
@pytest.mark.parametrize("questions", [1, 6, 100, None])
def test_without_privacy_it_is_the_share_of_theorem_e(answers: str, questions: int | None) -> None:
    if questions is not None and len(answers) >= questions:
        return
    budget = GuardBudget(1000, Policy(questions=questions))
    share = float(BETA) * turn(len(answers) + 1, questions) * float(weight(answers, 20, questions))
    assert budget.log_share(after(budget, answers, 20)) == pytest.approx(math.log(share), abs=1e-8)
    assert budget.log_share(after(budget, answers, 20)) <= math.log(share) + 1e-12


@pytest.mark.parametrize("policy", [Policy(questions=6), Policy(questions=6, failures=2), Policy(), Policy(final=0.0)])
def test_shares_of_all_courses_add_up_to_at_most_beta(policy: Policy) -> None:
    """Over all questions, all courses that lead to them with all that failures show, and a final below the last."""
    budget, shown, asked, finals, forgetful, depth = GuardBudget(1000, policy), 3, 0.0, 0.0, 0.0, 6
    most = depth if policy.failures is None else policy.failures
    for length in range(depth + 1):
        for string in itertools.product("pf", repeat=length):
            many, answers = shown ** string.count("f"), "".join(string)
            course = after(budget, answers, shown)
            ended = string.count("f") > most
            if string[:-1].count("f") > most:
                continue
            if length < depth and not ended:
                asked += many * math.exp(budget.log_share(course))
                forgetful += many * 0.05 * budget.budget.spending(course)
            elif policy.final:
                finals += many * math.exp(budget.final_log_share(course))
    assert 0.2 * 0.05 < asked + finals <= 0.05
    assert forgetful > 0.05  # without the prior weights they do not


def test_the_questions_of_a_batch_have_the_prior_from_before_it_and_their_own_turns() -> None:
    budget = GuardBudget(1000, Policy())
    before = after(budget, "pf", 4)
    within = budget.budget.after(before, [Message(False, -3.0), Message(True)])
    share = math.log(0.05 * turn(5, None)) + math.log(weight("pf", 4, None))
    assert budget.log_share(within, prior=before) == pytest.approx(share, abs=1e-8)
    assert budget.log_share(within) < share - 3


def test_a_final_spends_its_part_and_what_exploring_has_left() -> None:
    budget = GuardBudget(1000, Policy(questions=10))
    course = after(budget, "pppp", 1)
    share = math.log(0.05 * (0.5 + 0.5 * 6 / 10)) + math.log(weight("pppp", 1, 10))
    assert budget.final_log_share(course) == pytest.approx(share, abs=1e-8)
    nothing = GuardBudget(1000, Policy(questions=10, final=0.0))
    assert nothing.log_share(Course()) == pytest.approx(math.log(0.05 / 10), abs=1e-8)


def test_analysts_with_separate_histories_have_parts_that_add_up() -> None:
    policy = Policy(questions=100, privacy=PureDP(0.01), histories="separate", analysts={"ann": 0.5, "bo": 0.3})
    plain = Policy(questions=100, histories="separate", analysts={"ann": 0.5, "bo": 0.3})
    for name, part, questions in (("ann", 0.5, 50), ("bo", 0.3, 30)):
        budget = GuardBudget(1000, plain, name)
        assert budget.log_share(Course()) == pytest.approx(math.log(0.05 * part * 0.5 / questions), abs=1e-8)
        assert budget.log_share(after(budget, "f", 2)) == pytest.approx(
            math.log(0.05 * part * 0.5 / questions / questions / 2), abs=1e-8
        )
        private = GuardBudget(1000, policy, name)
        alone = level_after_pure_dp(0.9 * 0.05 * part * 0.5 / questions, 0.01 * part, 1000).log2_level * math.log(2)
        assert alone - 0.4 < private.log_share(Course()) <= alone
        assert private.to_dict()["privacy"] == PureDP(0.01 * part).to_dict()


# --- Private answers in between ---------------------------------------------------------------------------------------


@given(
    epsilon=st.floats(1e-4, 0.3),
    n=st.integers(100, 10**6),
    answers=st.text("pfn", max_size=8),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_corrected_share_keeps_its_part_of_beta(epsilon: float, n: int, answers: str) -> None:
    """What it gives is never above what the theorem gives for the whole share, and close to it."""
    budget = GuardBudget(n, Policy(questions=100, privacy=PureDP(epsilon)))
    share = 0.05 * turn(1, 100) * float(weight(answers, 5, 100)) * (1 - NOISE_PART)
    exact = level_after_pure_dp(share, epsilon, n).log2_level * math.log(2)
    course = after(budget, answers, 5)
    assert budget.log_share(course) <= exact
    coarse = level_after_pure_dp(share * 0.7, epsilon, n).log2_level * math.log(2)
    assert budget.log_share(course) >= coarse


def test_a_larger_cap_a_failure_and_a_later_question_all_leave_less() -> None:
    def at(epsilon: float, answers: str) -> float:
        budget = GuardBudget(10_000, Policy(privacy=PureDP(epsilon)))
        return budget.log_share(after(budget, answers, 10))

    assert at(0.02, "") < at(0.01, "")
    assert at(0.01, "p") < at(0.01, "")
    assert at(0.01, "n") < at(0.01, "")
    assert at(0.01, "f") < at(0.01, "p")


def test_noise_shares_add_up_to_their_part() -> None:
    planned = GuardBudget(1000, Policy(questions=50, privacy=PureDP(0.1)))
    total = sum(planned.noise_share(Course(asked=t)) for t in range(50))
    assert 0.024 * NOISE_PART < total <= 0.025 * NOISE_PART  # half of beta is kept for the final
    assert planned.noise_share(Course(asked=50)) == 0
    open_ended = GuardBudget(1000, Policy(privacy=PureDP(0.1)))
    assert sum(open_ended.noise_share(Course(asked=t)) for t in range(10_000)) <= 0.025 * NOISE_PART


@pytest.mark.parametrize("more", [{}, {"final": 0.0}, {"kinds": ["check", "mean"]}])
def test_thresholds_that_outlast_questions_share_what_their_noise_may_miss(more: dict[str, Any]) -> None:
    """Rows and noise together use at most beta with thresholds; no final shows exact values of what is private."""
    given = {"privacy": PureDP(0.1), "holdout": "thresholdout", "threshold": 0.1, "holdout_spend": PureDP(0.05)}
    budget = GuardBudget(1000, Policy(questions=50, overfits=7, **given, **more))
    explore = budget.budget.explore
    assert explore == 1.0
    fresh = sum(budget.noise_share(Course(asked=t)) for t in range(50))
    thresholds = 7 * budget.threshold_share
    assert 0.04 * NOISE_PART * explore < thresholds + fresh <= 0.05 * NOISE_PART * explore
    assert thresholds + fresh + 0.05 * (1 - NOISE_PART) * explore <= 0.05
    with pytest.raises(InvalidParameter, match="final must be above 0"):
        Policy(questions=50, overfits=7, reserve=0.4, **given)


def test_an_odometer_pays_for_the_first_cap_that_holds_what_was_spent() -> None:
    odometer = GuardBudget(10_000, Policy(privacy=PureDP(0.01), accounting="odometer", questions=100))
    fixed = [GuardBudget(10_000, Policy(privacy=PureDP(0.01 * 2**j), questions=100)) for j in range(3)]
    for spent, j in ((0.0, 0), (0.01, 0), (0.0100001, 1), (0.02, 1), (0.03, 2)):
        share = odometer.log_share(Course(), PureDP(spent))
        assert share < fixed[j].log_share(Course())
        assert share > fixed[j].log_share(Course()) * 1.6
    assert sum(1 / ((j + 1) * (j + 2)) for j in range(10_000)) < 1


def test_where_nothing_is_left_it_says_so() -> None:
    budget, course = GuardBudget(1000, Policy(privacy=PureDP(0.1))), Course(300, 300, 250, 0.0, -2000.0)
    share = budget.log_share(course)
    assert share == -math.inf
    with pytest.raises(GuaranteeUnavailable, match="no interval is possible"):
        budget.require(share)
    assert budget.level(0.05, course) == 0.0
    final = GuardBudget(1000, Policy(questions=3, final=1.0))
    with pytest.raises(GuaranteeUnavailable, match="keeps all of the failure probability for the final"):
        final.require(final.log_share(Course()))
    spent = GuardBudget(1000, Policy(questions=3))
    assert spent.log_share(Course(asked=3, checks=3)) == -math.inf


def test_a_concentrated_cap_is_sound_and_more_expensive() -> None:
    pure = GuardBudget(10_000, Policy(privacy=PureDP(0.004), questions=10)).log_share(Course())
    concentrated = GuardBudget(10_000, Policy(privacy=ZCDP(0.004**2 / 2), questions=10)).log_share(Course())
    assert concentrated < pure


@pytest.mark.parametrize("power", [0, 1, 2, 5])
def test_shares_of_a_concentrated_cap_are_fixed_within_a_class(power: int) -> None:
    """Courses whose weights have one power of two have one share, and the classes weigh at most one together."""
    budget = GuardBudget(1000, Policy(privacy=ZCDP(1e-8), questions=20))

    def share(log2_weight: float, asked: int = 3) -> float:
        return budget.log_share(Course(asked=asked, log_shown=-log2_weight * math.log(2)))

    assert share(power) == share(power - 0.99 if power else 0.0)
    assert share(power + 1e-6) == share(power + 1) < share(power)
    assert share(power, 2) == share(power, 17)  # it is the plan that says what a question spends, not the run
    expected = -power * math.log(2) - math.log((power + 1) * (power + 2))
    assert budget.log_prior(Course(log_shown=-power * math.log(2))) == pytest.approx(expected, abs=1e-9)
    assert sum(1 / ((c + 1) * (c + 2)) for c in range(5000)) <= 1


def test_what_must_be_constant_under_a_concentrated_cap_does_not_follow_the_run() -> None:
    policy = Policy(privacy=ZCDP(1e-8), questions=20)
    budget = GuardBudget(1000, policy)
    assert budget.final_log_share(Course(asked=1)) == budget.final_log_share(Course(asked=19))
    pure = GuardBudget(1000, Policy(privacy=PureDP(1e-4), questions=20))
    assert pure.final_log_share(Course(asked=1)) > pure.final_log_share(Course(asked=19))  # what was left is added
    with pytest.raises(InvalidParameter, match="stake must be left out if the privacy budget is a ZCDP"):
        check("x > 0", guess=0.5, stake=0.1).bind(Schema({"x": "number not null"}), 1000, policy)


@pytest.mark.parametrize("epsilon", [0.02, 0.3])
def test_the_whole_bound_by_listing_every_sample(epsilon: float) -> None:
    """All 2**13 samples of 13 fair coins, one private answer, one failed look whose alphabet depends on that answer.

    Then the worst question of all: for each course of events it misses on the samples that the course makes likeliest,
    as many as its level allows. The exact probability that it misses stays within the share of its place; at a level
    that forgets what the look or its alphabet has shown it does not.
    """
    n = 13
    ones = np.array([bin(x).count("1") for x in range(2**n)])
    budget = GuardBudget(n, Policy(confidence=0.05, privacy=PureDP(epsilon), questions=3, final=0.0))
    likely = np.exp(epsilon) / (1 + np.exp(epsilon))
    answered_yes = np.where(ones > n / 2, likely, 1 - likely)
    whole = 0.95 * 0.9 / 3 / 3  # beta, the part for rows, the third question, the weight of a failure as first of three

    def missed(level: Callable[[int], float]) -> float:
        total = 0.0
        for yes in (True, False):
            shown = 2 if yes else 7
            course_given = (answered_yes if yes else 1 - answered_yes) / 2**n
            for cell in range(shown):
                course = np.sort(course_given[ones % shown == cell])[::-1]
                total += course[: math.floor(level(shown) * 2**n)].sum()
        return total

    def right(shown: int) -> float:
        return math.exp(budget.log_share(after(budget, "nf", shown)))

    assert 0.05 * whole * (epsilon < 0.1) < missed(right) <= whole
    assert missed(lambda shown: whole) > whole  # without the alphabet


@pytest.mark.parametrize("epsilon", [0.02, 0.3])
def test_whoever_stops_by_a_private_answer_pays_for_no_length(epsilon: float) -> None:
    """The same samples; whether one or two looks are taken goes by the private answer, and then comes the worst test.

    The looks alone, "one cell" and "two cells", would not exclude each other; with the private answer they do. Stopping
    early where the first cell is the likely one, which has nearly all the weight, is what a stop can make most of.
    """
    n, alpha = 13, 0.3
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    ones = bits.sum(axis=1)
    budget = GuardBudget(n, Policy(privacy=PureDP(epsilon)))
    likely = np.exp(epsilon) / (1 + np.exp(epsilon))
    answered_yes = np.where(ones > n / 2, likely, 1 - likely)
    first = ones % 3
    second = bits[:, 0] + 2 * bits[:, 1]

    def missed(level: Callable[[int], float]) -> float:
        total = 0.0
        for yes in (True, False):
            course_given = (answered_yes if yes else 1 - answered_yes) / 2**n
            cells = first if yes else 4 * first + second
            for cell in np.unique(cells):
                course = np.sort(course_given[cells == cell])[::-1]
                total += course[: math.floor(level(1 if yes else 2) * 2**n)].sum()
        return total

    def right(looks: int) -> float:
        shown = Course(log_shown=-math.log(3) - (looks - 1) * math.log(4))
        return budget.level(alpha, shown)

    assert 0.05 * alpha * (epsilon < 0.1) < missed(right) <= alpha
    assert missed(lambda looks: alpha) > alpha


# --- P-values ---------------------------------------------------------------------------------------------------------


def test_p_values_invert_levels() -> None:
    for policy in (Policy(), Policy(privacy=PureDP(0.005)), Policy(questions=20, failures=3, privacy=PureDP(0.005))):
        budget = GuardBudget(10_000, policy)
        course = after(budget, "ppf", 12)
        level = budget.level(0.05, course)
        assert 0 < level < 0.05
        assert budget.adjusted(level * 0.999, course) <= 0.05
        assert budget.adjusted(level * 1.01, course) > 0.05


@pytest.mark.parametrize("answers", ["", "p", "ppf", "ffpfp"])
@pytest.mark.parametrize("questions", [20, None])
def test_a_test_rejects_at_alpha_times_the_prior_weight(answers: str, questions: int | None) -> None:
    budget = GuardBudget(10_000, Policy(questions=questions))
    course, expected = after(budget, answers, 6), 0.05 * float(weight(answers, 6, questions))
    assert budget.level(0.05, course) == pytest.approx(expected, rel=1e-8)
    assert budget.adjusted(1e-9, course) == pytest.approx(1e-9 * 0.05 / expected, rel=1e-8)
    assert math.exp(-budget.transcript(course)[1]) == pytest.approx(expected / 0.05, rel=1e-8)


def test_a_p_value_pays_more_than_doubles_hold() -> None:
    """Its price is above e^700 here: cut off there, a p-value of 1e-320 would still look significant."""
    budget = GuardBudget(10**6, Policy(questions=1000, failures=200))
    course = after(budget, "f" * 100, 10**6)
    assert budget.adjusted(1e-320, course) == 1.0
    assert budget.adjusted(0.0, course) == 0.0
    assert budget.level(0.05, course) == 0.0


def test_before_the_first_question_a_p_value_pays_for_the_cap_alone() -> None:
    assert GuardBudget(100, Policy()).adjusted(0.01, Course()) == 0.01
    budget = GuardBudget(10_000, Policy(privacy=PureDP(0.005)))
    theorem = level_after_pure_dp(0.05, 0.005, 10_000).value
    # Both take the best order; they round differently in the last digit.
    assert (1 - 1e-12) * theorem <= budget.level(0.05, Course()) <= 1.02 * theorem


@pytest.mark.parametrize(
    "policy",
    [
        Policy(),
        Policy(failures=0),
        Policy(failures=3),
        Policy(privacy=ZCDP(1e-6)),
        Policy(questions=9, failures=1),
    ],
)
def test_tests_at_times_chosen_from_the_answers_keep_alpha(policy: Policy) -> None:
    """Over every set of runs of which none begins another, prior weights add up to at most one: the worst set is found
    from the leaves up. What a failure can show is multiplied in. The failure past the cap shows nothing and ends the
    answers, but a test may come after it too."""
    budget, shown, most, depth = GuardBudget(1000, policy), 3, policy.failures, 9

    def worst(course: Course) -> float:
        here = math.exp(budget.log_prior(course))
        if course.asked == depth or (most is not None and course.failed > most):
            return here
        many = 1 if course.failed == most else shown
        passed = budget.budget.after(course, [Message(True)])
        failed = budget.budget.after(course, [Message(False, -math.log(many))])
        return max(here, worst(passed) + many * worst(failed))

    assert 0.1 < worst(Course()) <= 1 + 1e-9


def test_weights_that_forget_when_the_test_was_chosen_do_not_keep_alpha() -> None:
    """A weight that goes by the number of failures alone adds up at each length, and not over lengths; the prior does.

    `c_f/C(t, f)` with `c_f` proportional to `1/(f + 1)^2` is right for a question whose number is fixed in advance.
    """
    depth, series = 200, 6 / math.pi**2
    budget = GuardBudget(1000, Policy())

    def worst(weight_of: Callable[[int, int], float]) -> float:
        @cache
        def below(number: int, failed: int) -> float:
            here = weight_of(number, failed)
            if number == depth:
                return here
            return max(here, below(number + 1, failed) + below(number + 1, failed + 1))

        for number in range(depth, 0, -20):  # so that no recursion is deep
            for failed in range(number + 1):
                below(number, failed)
        return below(0, 0)

    def by_number(number: int, failed: int) -> float:
        return series / (failed + 1) ** 2 / math.comb(number, failed)

    def by_prior(number: int, failed: int) -> float:
        return math.exp(budget.log_prior(Course(number, number, failed)))

    assert worst(by_number) > 1.2
    assert worst(by_prior) <= 1 + 1e-9


def test_means_that_were_answered_with_noise_are_not_free_for_a_later_test() -> None:
    budget = GuardBudget(10_000, Policy(answers="means", questions=100))
    assert budget.level(0.05, Course()) < 0.04
    assert budget.adjusted(0.01, Course()) > 0.01


@pytest.mark.parametrize(("epsilon", "holm"), [(1e-5, 0.073), (1e-4, 0.065), (2e-4, 0.057)])
def test_holm_on_adjusted_p_values_of_tests_chosen_one_after_the_other_does_not_keep_alpha(
    epsilon: float, holm: float
) -> None:
    """T-27: test a true null; if its adjusted p is at most alpha, choose a null that is obviously false, else a true
    one. Levels fixed in advance keep alpha whatever is chosen."""
    alpha = 0.05
    budget = GuardBudget(10**6, Policy(privacy=PureDP(epsilon), kinds=["mean", "test"]))

    def level(share: float) -> float:
        return budget.level(share, Course())

    assert budget.adjusted(level(alpha), Course()) == pytest.approx(alpha, rel=1e-6)
    errs = level(alpha) + (1 - level(alpha)) * level(alpha / 2)
    assert round(errs, 3) == holm
    assert errs > alpha
    assert level(alpha / 2) + (1 - level(alpha / 2)) * level(alpha / 2) <= alpha
    spending = [alpha / 2**k for k in range(1, 11)]
    assert 1 - math.prod(1 - level(share) for share in spending) <= alpha
