"""Shares of a guard's run: they add up to less than the whole, and nothing that was released makes them larger."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.p_value import level_after_pure_dp
from holdfast.errors import GuaranteeUnavailable
from holdfast.guard.belief import NOISE_PART, Belief
from holdfast.guard.policy import Policy
from holdfast.guard.progress import Progress
from holdfast.holdout.shares import Shares


def after(answers: str, shown: int) -> Progress:
    """The progress after a string of passes and failures."""
    progress = Progress()
    for answer in answers:
        progress = progress.admit().settle(answer == "p", shown)
    return progress


@pytest.mark.parametrize("policy", [Policy(questions=6), Policy(questions=6, failures=2), Policy()])
def test_shares_of_all_strings_add_up_to_at_most_beta(policy: Policy) -> None:
    """Over all questions and all strings that could lead to them, counted with what each failure could show."""
    belief, shown, total = Belief(1000, policy), 3, 0.0
    for length in range(6):
        for string in itertools.product("pf", repeat=length):
            if policy.failures is not None and string.count("f") > policy.failures:
                continue
            total += shown ** string.count("f") * math.exp(belief.log_share(after("".join(string), shown)))
    assert total <= 0.05


def test_without_privacy_it_is_the_reusable_holdouts_share() -> None:
    belief, progress = Belief(1000, Policy(questions=100)), after("ppfpp", 20)
    expected = Shares(0.95, 100).log_share(6, 1, math.log(20))
    assert belief.log_share(progress) == pytest.approx(expected, rel=1e-12)


@given(
    epsilon=st.floats(1e-4, 0.3),
    n=st.integers(100, 10**6),
    answers=st.text("pf", max_size=8),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_corrected_share_keeps_its_part_of_beta(epsilon: float, n: int, answers: str) -> None:
    """What it gives is never above what the theorem gives for the whole share, and close to it."""
    belief, progress = Belief(n, Policy(questions=100, privacy=PureDP(epsilon))), after(answers, 5)
    share = Shares(0.95, 100).log_share(progress.answered + 1, progress.failed, progress.log_shown)
    exact = level_after_pure_dp(math.exp(share) * (1 - NOISE_PART), epsilon, n).log2_level * math.log(2)
    assert belief.log_share(progress) <= exact
    coarse = level_after_pure_dp(math.exp(share) * (1 - NOISE_PART) * 0.7, epsilon, n).log2_level * math.log(2)
    assert belief.log_share(progress) >= coarse


def test_a_larger_cap_a_failure_and_a_later_question_all_leave_less() -> None:
    def at(epsilon: float, answers: str) -> float:
        return Belief(10_000, Policy(privacy=PureDP(epsilon))).log_share(after(answers, 10))

    assert at(0.02, "") < at(0.01, "")
    assert at(0.01, "p") < at(0.01, "")
    assert at(0.01, "f") < at(0.01, "p")


def test_noise_shares_add_up_to_their_part() -> None:
    planned = Belief(1000, Policy(questions=50, privacy=PureDP(0.1)))
    assert sum(planned.noise_share(after("p" * t, 1)) for t in range(50)) <= 0.05 * NOISE_PART
    open_ended = Belief(1000, Policy(privacy=PureDP(0.1)))
    assert sum(open_ended.noise_share(Progress(t, t)) for t in range(10_000)) <= 0.05 * NOISE_PART


def test_thresholds_that_outlast_questions_share_what_their_noise_may_miss() -> None:
    given = {"privacy": PureDP(0.1), "holdout": "thresholdout", "threshold": 0.1, "holdout_spend": PureDP(0.05)}
    belief = Belief(1000, Policy(questions=50, overfits=7, **given))
    fresh = sum(belief.noise_share(after("p" * t, 1)) for t in range(50))
    assert 0.04 * NOISE_PART < 7 * belief.threshold_share + fresh <= 0.05 * NOISE_PART


def test_p_values_invert_levels() -> None:
    for policy in (Policy(), Policy(privacy=PureDP(0.005)), Policy(questions=20, failures=3, privacy=PureDP(0.005))):
        belief, progress = Belief(10_000, policy), after("ppf", 12)
        level = belief.level(0.05, progress)
        assert 0 < level < 0.05
        assert belief.adjusted(level * 0.999, progress) <= 0.05
        assert belief.adjusted(level * 1.01, progress) > 0.05


def test_a_p_value_pays_more_than_doubles_hold() -> None:
    """Its price is above e^700 here: cut off there, a p-value of 1e-320 would still look significant."""
    belief, progress = Belief(10**6, Policy(questions=1000, failures=200)), after("f" * 100, 10**6)
    assert belief.adjusted(1e-320, progress) == 1.0
    assert belief.adjusted(0.0, progress) == 0.0
    assert belief.level(0.05, progress) == 0.0


def test_before_the_first_question_a_p_value_pays_for_the_cap_alone() -> None:
    assert Belief(100, Policy()).adjusted(0.01, Progress()) == 0.01
    belief = Belief(10_000, Policy(privacy=PureDP(0.005)))
    theorem = level_after_pure_dp(0.05, 0.005, 10_000).value
    assert theorem <= belief.level(0.05, Progress()) <= 1.02 * theorem


def test_an_odometer_pays_for_the_first_cap_that_holds_what_was_spent() -> None:
    odometer = Belief(10_000, Policy(privacy=PureDP(0.01), accounting="odometer", questions=100))
    fixed = [Belief(10_000, Policy(privacy=PureDP(0.01 * 2**j), questions=100)) for j in range(3)]
    for spent, j in ((0.0, 0), (0.01, 0), (0.0100001, 1), (0.02, 1), (0.03, 2)):
        share = odometer.log_share(Progress(), PureDP(spent))
        assert share < fixed[j].log_share(Progress())
        assert share > fixed[j].log_share(Progress()) * 1.6
    assert sum(1 / ((j + 1) * (j + 2)) for j in range(10_000)) < 1


def test_where_nothing_is_left_it_says_so() -> None:
    belief = Belief(1000, Policy(privacy=PureDP(0.1)))
    share = belief.log_share(Progress(300, 300, 250, 2000.0))
    assert share == -math.inf
    with pytest.raises(GuaranteeUnavailable, match="no interval is left"):
        belief.require(share)
    assert belief.level(0.05, Progress(300, 300, 250, 2000.0)) == 0.0


def test_a_concentrated_cap_is_sound_and_dearer() -> None:
    pure = Belief(10_000, Policy(privacy=PureDP(0.004), questions=10)).log_share(Progress())
    concentrated = Belief(10_000, Policy(privacy=ZCDP(0.004**2 / 2), questions=10)).log_share(Progress())
    assert concentrated < pure


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
    """Over every set of runs of which none begins another, path weights add up to at most one: the worst set is found
    from the leaves up. What a failure can show is multiplied in. The failure past the cap shows nothing and ends the
    answers, but a test may come after it too."""
    belief, shown, most, depth = Belief(1000, policy), 3, policy.failures, 9

    def worst(progress: Progress) -> float:
        here = math.exp(belief._log_path_weight(progress))
        if progress.answered == depth or (most is not None and progress.failed > most):
            return here
        many = 1 if progress.failed == most else shown
        return max(here, worst(progress.settle()) + many * worst(progress.settle(False, many)))

    assert 0.1 < worst(Progress()) <= 1 + 1e-9


def test_weights_that_forget_when_the_test_was_chosen_do_not_keep_alpha() -> None:
    """The weight of the run's class alone, which is right for a question whose number is fixed in advance, is not."""
    shares = Shares(0.95, 512)

    def weight(answers: str) -> float:
        progress = after(answers, 1)
        log_share = shares.log_share(len(answers) + 1, progress.failed, progress.log_shown)
        return math.exp(log_share - math.log(0.05) + math.log(512))

    # Test after 1, 8, 64 or 512 questions, as soon as something failed since the last of these times; at last anyway.
    total, before = weight("p" * 512), 0
    for length in (1, 8, 64, 512):
        fresh = length - before
        total += sum(math.comb(fresh, f) * weight("p" * (length - f) + "f" * f) for f in range(1, min(fresh, 60) + 1))
        before = length
    assert total > 1.2


def test_means_that_were_answered_with_noise_are_not_free_for_a_later_test() -> None:
    belief = Belief(10_000, Policy(answers="means", questions=100))
    assert belief.level(0.05, Progress()) < 0.04
    assert belief.adjusted(0.01, Progress()) > 0.01


@pytest.mark.parametrize("many", [0, 1, 2, 5])
def test_shares_of_a_concentrated_cap_are_fixed_within_a_class(many: int) -> None:
    """Runs with as many failures that showed about as much have one share, and the classes weigh at most one."""
    policy = Policy(privacy=ZCDP(1e-8), questions=20)
    belief = Belief(1000, policy)

    def share(shown: list[int]) -> float:
        progress = Progress()
        for one in shown:
            progress = progress.settle(False, one)
        return belief.log_share(progress)

    if many:
        assert share([4] * (many - 1) + [5]) == share([4] * (many - 1) + [8])
        assert share([5]) == share([7]) < share([4])  # of powers of two
    assert sum(math.exp(belief._classed(power * math.log(2))[1]) for power in range(5000)) <= 1


@pytest.mark.parametrize("epsilon", [0.02, 0.3])
def test_the_whole_bound_by_listing_every_sample(epsilon: float) -> None:
    """All 2**13 samples of 13 fair coins, one private answer, one failed look whose alphabet depends on that answer.

    Then the worst question of all: for each course of events it misses on the samples that the course makes likeliest,
    as many as its level allows. The exact probability that it misses stays within the share of its place; at a level
    that forgets what the look or its alphabet has shown it does not.
    """
    n = 13
    ones = np.array([bin(x).count("1") for x in range(2**n)])
    belief = Belief(n, Policy(confidence=0.05, privacy=PureDP(epsilon), questions=3, failures=1))
    likely = np.exp(epsilon) / (1 + np.exp(epsilon))
    answered_yes = np.where(ones > n / 2, likely, 1 - likely)
    whole = 0.95 * 0.9 / 3 / 2  # beta, the part for rows, the third question, one failure of at most one

    def missed(level: Callable[[int], float]) -> float:
        total = 0.0
        for yes in (True, False):
            shown = 2 if yes else 7
            given = (answered_yes if yes else 1 - answered_yes) / 2**n
            for cell in range(shown):
                course = np.sort(given[ones % shown == cell])[::-1]
                total += course[: math.floor(level(shown) * 2**n)].sum()
        return total

    def right(shown: int) -> float:
        return math.exp(belief.log_share(Progress().settle().settle(False, shown)))

    assert 0.05 * whole * (epsilon < 0.1) < missed(right) <= whole
    assert missed(lambda shown: whole / 2) > whole  # without the alphabet: only the two places of the failure
