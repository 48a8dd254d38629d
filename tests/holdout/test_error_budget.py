"""The error budget: priors that weigh at most one, spendings that add up to at most beta, and Theorem E as one sum.

The reference here is written from the specification in rational numbers, next to which the logarithms are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.holdout.error_allocation import (
    error_allocation,
    log_course_weight,
    log_rank_weight,
    log_series_weight,
    pass_prior,
)
from holdfast.bounds.one_question import clopper_pearson
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout.error_budget import (
    Course,
    ErrorBudget,
    Message,
    log_cell_weight,
    log_ends_weight,
    log_place_weight,
    log_winner_weight,
    reserve_parts,
)
from holdfast.holdout.reusable import ReusableHoldout
from holdfast.holdout.transcript import Ask, Outcome, Transcript

HYPOTHESIS = settings(deadline=None, derandomize=True, max_examples=120)
PLANS = [(None, 1.0), (1, 1.0), (2, 1.0), (7, 1.0), (7, 3.0), (40, 0.5), (40, 39.5)]


def beta_weight(passed: tuple[bool, ...], questions: int | None, expected: float) -> Fraction:
    """The prior weight of a course of passes and failures, factor by factor."""
    a = b = Fraction(1, 2)
    if questions is not None:
        a, b = Fraction(1), max(Fraction(questions) / Fraction(expected) - 1, Fraction(1))
    weight, failed = Fraction(1), 0
    for t, ok in enumerate(passed):
        fails = (failed + a) / (t + a + b)
        weight *= 1 - fails if ok else fails
        failed += not ok
    return weight


def risk_weight(passed: tuple[bool, ...], risks: list[float | None], questions: int | None, expected: float) -> float:
    """The weight by the stated risks, and by the mixture where none was stated."""
    weight = Fraction(1)
    for t, (ok, risk) in enumerate(zip(passed, risks, strict=True)):
        if risk is None:
            weight *= beta_weight(passed[: t + 1], questions, expected) / beta_weight(passed[:t], questions, expected)
        else:
            weight *= 1 - Fraction(risk) if ok else Fraction(risk)
    return float(weight)


# --- pass or fail -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("questions", "expected"), PLANS)
def test_the_weights_of_all_courses_add_up_to_one(questions, expected):
    budget = ErrorBudget(0.95, questions, expected_failures=expected)
    for depth in (1, 2, 7):
        total = 0.0
        for passed in product([True, False], repeat=depth):
            exact = beta_weight(passed, questions, expected)
            course = budget.after(Course(), map(Message, passed))
            assert math.exp(budget.log_prior(course)) <= exact
            assert math.exp(budget.log_prior(course)) == pytest.approx(float(exact), rel=1e-10)
            assert log_course_weight(depth, passed.count(False), pass_prior(questions, expected)) == pytest.approx(
                math.log(exact), abs=1e-10
            )
            total += math.exp(budget.log_prior(course))
        assert 1 - 1e-9 < total <= 1


@pytest.mark.parametrize(
    ("questions", "expected", "weights"),
    [
        (1000, 1.0, [-0.7, -8.3, -21.7, -61.6]),
        (1000, 10.0, [-2.4, -9.4, -21.6, -57.3]),
        (None, 1.0, [-4.0, -11.6, -24.1, -59.7]),
    ],
)
def test_the_weights_that_the_specification_prints(questions, expected, weights):
    budget = ErrorBudget(0.95, questions, expected_failures=expected)
    found = [budget.log_prior(Course(1000, 1000, failed)) for failed in (0, 1, 3, 10)]
    assert [round(weight, 1) for weight in found] == weights


def test_the_order_of_failures_does_not_matter():
    budget = ErrorBudget(0.95, 30)
    for passed in ([True] * 9 + [False], [False] + [True] * 9):
        assert budget.log_prior(budget.after(Course(), map(Message, passed))) == budget.log_prior(Course(10, 10, 1))


# --- risks ------------------------------------------------------------------------------------------------------------

RISKS: dict[str, Callable[[tuple[bool, ...]], float | None]] = {
    "sure to pass, always": lambda path: 1e-9,
    "sure to fail, always": lambda path: 1 - 1e-9,
    "the opposite of the last": lambda path: 0.999 if path and path[-1] else 0.001,
    "now and then": lambda path: None if len(path) % 2 else 0.3,
    "right": lambda path: 0.2,
}


@pytest.mark.parametrize("questions", [None, 6, 100])
@pytest.mark.parametrize("risk", RISKS.values(), ids=RISKS.keys())
def test_risks_are_mixed_over_the_run_and_cost_at_most_ln_two(risk, questions):
    """Whoever states them: weights of all courses add up to at most one, and no course loses more than half."""
    budget, total, depth = ErrorBudget(0.95, questions), 0.0, 7
    for passed in product([True, False], repeat=depth):
        risks = [risk(passed[:t]) for t in range(depth)]
        course = budget.after(Course(), [Message(ok, 0.0, r) for ok, r in zip(passed, risks, strict=True)])
        weight = math.exp(budget.log_prior(course))
        plain, stated = float(beta_weight(passed, questions, 1.0)), risk_weight(passed, risks, questions, 1.0)
        assert weight == pytest.approx((plain + stated) / 2, rel=1e-9)
        assert weight <= (plain + stated) / 2 * (1 + 1e-12)
        assert weight >= max(plain, stated) / 2 * (1 - 1e-9)
        total += weight
    assert 1 - 1e-6 < total <= 1 + 1e-12


def test_wrong_ways_to_use_risks_are_found_out():
    """The better of both forecasters weighs more than one in all; half and half anew at each question costs much."""
    budget, depth = ErrorBudget(0.95, 100), 7
    best_of_both = 0.0
    for passed in product([True, False], repeat=depth):
        risks = [0.3] * depth
        best_of_both += max(float(beta_weight(passed, 100, 1.0)), risk_weight(passed, risks, 100, 1.0))
    assert best_of_both > 1.2
    course, anew = Course(), 0.0
    for _ in range(20):  # passes that were called sure failures
        anew += math.log((math.exp(budget.log_message_weight(Course(), Message(True))) + 1e-9) / 2)
        course = budget.after(course, [Message(True, 0.0, 1 - 1e-9)])
    assert budget.log_prior(course) >= log_course_weight(20, 0, (1, 99)) - math.log(2) - 1e-9
    assert anew < -20 * math.log(2)


# --- cells, ends, winners, places -------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["both", "below", "above"])
def test_cells_weigh_at_most_one(side):
    """The inner cell stands for one on each side."""
    far = 100_000
    total = math.fsum(math.exp(log_cell_weight(j, side)) for j in range(-far, far + 1) if j)
    assert 1 - 1e-4 < total + 2 * math.exp(log_cell_weight(0, side)) <= 1
    assert log_cell_weight(0) == math.log(1 / 128)
    expected = {"both": [1.4, 1.4], "below": [0.7, 4.9], "above": [4.9, 0.7]}[side]
    assert [round(-log_cell_weight(j, side), 1) for j in (-1, 1)] == expected


def test_ends_winners_and_places_weigh_at_most_one():
    most = 300
    ends = math.fsum(
        math.exp(log_ends_weight(lower, length - lower)) for length in range(1, most) for lower in range(-most, most)
    )
    assert 0.4 < ends <= 1
    for candidates in (1, 2, 12, 1000):
        weights = [math.exp(log_winner_weight(rank, candidates)) for rank in range(1, candidates + 1)]
        assert 1 - 1e-9 < math.fsum(weights) <= 1 + 1e-12
        assert log_winner_weight(1, candidates) >= -math.log(2)
        assert log_winner_weight(candidates, candidates) >= -2 * math.log(max(candidates, 2))
        assert log_rank_weight(1, candidates) == log_winner_weight(1, candidates)
    places = math.fsum(math.exp(log_place_weight(j)) for j in range(1, 10_000))
    assert 0.999 < places <= 1
    assert log_place_weight(3) == log_series_weight(3) == pytest.approx(math.log(1 / 12))


# --- spending ---------------------------------------------------------------------------------------------------------


def asked(budget: ErrorBudget, run: Transcript, asks: list[Ask]) -> list[float]:
    """The spendings of a batch, as the run used them: share over beta and the prior from before the batch."""
    prior, spent = budget.log_prior(run.course), []

    def watch(ask: Ask) -> Ask:
        def decide(log_share: float) -> Outcome:
            spent.append(math.exp(log_share - budget.log_beta - prior))
            return ask.decide(log_share)

        return replace(ask, decide=decide)

    run.ask_batch([watch(ask) for ask in asks])
    return spent


@HYPOTHESIS
@given(
    st.sampled_from([None, 1, 3, 12]),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.integers(0, 2),
    st.lists(
        st.tuples(
            st.integers(1, 4),  # questions of the batch
            st.sampled_from([None, 0.05, 0.5, 1.0]),  # a stake for the first, as a part of what is left
            st.sampled_from([True, False, None]),  # what happens
            st.sampled_from([None, 0.0, 0.5, 1.0]),  # risk
        ),
        max_size=14,
    ),
)
def test_the_spendings_of_every_path_add_up_to_at_most_one(questions, final, phases, steps):
    """With stakes, series and plans, batches, and questions that spend nothing; at the end the final takes the rest."""
    if phases and not final:
        return
    budget = ErrorBudget(0.95, questions, final, phases)
    run, total = Transcript(budget), 0.0
    for size, part, passed, risk in steps:
        left = budget.left(run.course)
        stake = None if part is None or left <= 0 else part * left
        if passed is None:
            asks = [Ask({}, lambda share: Outcome(None, "a", None, "best", -0.5), spends=False)]
        else:
            outcome = Outcome(passed, None, None, "kl", 0.0 if passed else -1.4)
            asks = [
                Ask({}, lambda share, o=outcome: o, None, risk, stake if i == 0 else None, True) for i in range(size)
            ]
        before, known = run.course, run.asked
        try:
            spent = asked(budget, run, asks)
        except BudgetExhausted:
            assert (run.course, run.asked) == (before, known)
            continue
        assert all(one > 0 for one in spent if passed is not None)
        total += sum(spent) if passed is not None else 0.0
        assert total <= budget.explore * (1 + 1e-9)
        assert total + budget.left(run.course) <= budget.explore * (1 + 1e-9)
    assert total + budget.final_spending(run.course) + phases * budget.reserve_spending <= 1 + 1e-9
    assert budget.reserve_spending == (final / phases if phases else 0.0)


def test_a_stake_takes_from_the_turns_that_are_left():
    budget = ErrorBudget(0.95, questions=10)
    run = Transcript(budget)

    def ask(stake: float | None = None) -> float:
        (spent,) = asked(budget, run, [Ask({}, lambda share: Outcome(True, None, None, ""), stake=stake)])
        return spent

    assert ask() == pytest.approx(0.05)
    assert ask(0.3) == pytest.approx(0.3)
    assert budget.left(run.course) == pytest.approx(0.15)
    assert run.left()["questions"] == 3
    with pytest.raises(BudgetExhausted, match=r"at most what is left for exploring, 0\.15"):
        ask(0.16)
    assert [ask(), ask(), ask()] == pytest.approx([0.05] * 3)
    with pytest.raises(BudgetExhausted, match="too little of the failure probability is left"):
        ask()


@pytest.mark.parametrize("questions", [None, 2])
def test_what_stakes_leave_over_is_never_asked_with_nothing(questions):
    """A turn that stakes have cut short is refused; it once came as a share of zero."""
    budget = ErrorBudget(0.95, questions)
    run = Transcript(budget)
    turn = budget.spending(Course())
    stake = budget.left(Course()) if questions is None else turn * (1 + 1e-7)
    run.ask(Ask({}, lambda share: Outcome(True, None, None, ""), stake=stake))
    assert run.left()["questions"] == 0
    assert run.log_share == -math.inf
    with pytest.raises(BudgetExhausted, match="too little"):
        run.ask(Ask({}, lambda share: pytest.fail("it was decided")))
    batch = Transcript(budget)
    with pytest.raises(BudgetExhausted, match="too little"):
        batch.ask_batch([Ask({}, lambda share: Outcome(True, None, None, ""), stake=stake), Ask({}, pytest.fail)])
    assert (batch.asked, batch.course) == (0, Course())


def test_constants_are_constant():
    """Condition 6: what a final on a reserve may spend, and what one on all rows has for itself, move with nothing."""
    courses = [Course(), Course(5, 5, 3, -2.0, -9.0, 0.1), Course(20, 9, 0)]
    for phases in (1, 2, 5):
        budget = ErrorBudget(0.95, 20, 0.6, phases)
        assert budget.reserve_spending == pytest.approx(0.6 / phases)
        assert [budget.final_spending(course) for course in courses] == pytest.approx(
            [budget.left(course) for course in courses]
        )
    alone = ErrorBudget(0.95, 20, 0.6)
    assert alone.reserve_spending == 0
    assert alone.final_spending(courses[0]) == pytest.approx(1)
    assert alone.final_spending(courses[2]) == pytest.approx(0.6)


# --- the theorem as one sum -------------------------------------------------------------------------------------------

Path = tuple[tuple[int, ...], ...]
"""What each batch so far showed: the number of each message."""


def batch_at(path: Path) -> list[tuple[list[Outcome], float | None, float | None, bool]]:
    """The next batch, by a rule that looks at the path alone: messages, risk, stake and spending of each question."""
    turn = sum(sum(one) for one in path) + len(path)
    cells = [Outcome(False, j, None, "", log_cell_weight(j, "below")) for j in (-1, 1, -2)]
    inner = [Outcome(False, side, None, "", log_cell_weight(0)) for side in ("l", "u")]
    check = [Outcome(True, 0, None, ""), *cells, *inner]
    bit = [Outcome(True, 0, None, ""), Outcome(False, None, None, "")]
    winners = [Outcome(None, name, None, "", log_winner_weight(rank, 3)) for rank, name in enumerate("bca", 1)]
    valued = [replace(one, log_weight=one.log_weight + log_winner_weight(1, 2)) for one in check]
    valued += [replace(one, value=f"other {one.value}", log_weight=one.log_weight - math.log(4)) for one in check]
    return [
        [(check, None, None, True)],
        [(bit, 0.9, None, True), (bit, 1e-9, None, True)],
        [(winners, None, None, False)],
        [(bit, 0.25, 0.2, True)],
        [(valued, 0.01, None, True)],
    ][turn % 5]


def shares(budget: ErrorBudget, depth: int, failures: int | None = None) -> Iterator[tuple[Path, float, Course]]:
    """Every history, the share of each question there, and its course: what the real run gives."""

    def walk(path: Path) -> Iterator[tuple[Path, float, Course]]:
        run = Transcript(budget, failures)
        seen: list[float] = []
        for place, messages in enumerate((*path, None)):
            batch = batch_at(path[:place])
            seen.clear()

            def decide(share: float, outcome: Outcome, seen: list[float] = seen) -> Outcome:
                seen.append(share)
                return outcome

            chosen = messages or (0,) * len(batch)
            asks = [
                Ask({}, lambda share, o=found[k], d=decide: d(share, o), None, risk, stake, spends)
                for k, (found, risk, stake, spends) in zip(chosen, batch, strict=True)
            ]
            before = run.course
            try:
                run.ask_batch(asks)
            except BudgetExhausted:
                return
        yield from ((path, share, before) for share in seen if share > -math.inf)
        if len(path) + 1 < depth:
            for following in product(*(range(len(found)) for found, *_ in batch)):
                yield from walk((*path, following))

    yield from walk(())


@pytest.mark.parametrize(
    ("budget", "failures"),
    [
        (ErrorBudget(0.95, 6), None),
        (ErrorBudget(0.95, 6, 0.0), 1),
        (ErrorBudget(0.95), None),
        (ErrorBudget(0.95, 4, 0.25, factor=0.5), None),
    ],
    ids=str,
)
def test_the_shares_of_all_histories_add_up_to_at_most_what_is_kept_for_exploring(budget, failures):
    """The whole proof in one sum: batches, bits, cells, winners, risks and stakes that depend on the path."""
    whole = math.fsum(math.exp(share) for _, share, _ in shares(budget, 4, failures))
    assert 0.2 * budget.explore < whole / (budget.beta * budget.factor) <= budget.explore


class CellsFree(ErrorBudget):
    """Wrong on purpose: what a message shows besides pass and fail is not charged."""

    def log_prior(self, course: Course) -> float:
        return super().log_prior(replace(course, log_shown=0.0))


class NothingCharged(ErrorBudget):
    """Wrong on purpose: messages are free."""

    def log_prior(self, course: Course) -> float:
        return 0.0


class StakesFree(ErrorBudget):
    """Wrong on purpose: stakes take nothing."""

    def extra(self, course: Course, spending: float) -> float:
        return 0.0


@pytest.mark.parametrize("wrong", [CellsFree, NothingCharged])
def test_messages_that_are_not_charged_are_found_out(wrong):
    budget = wrong(0.95, 6, 0.0)
    assert math.fsum(math.exp(share) for _, share, _ in shares(budget, 4)) > budget.beta


def test_stakes_that_take_nothing_are_found_out():
    budget = StakesFree(0.95, 8, 0.0)
    run, total = Transcript(budget), 0.0
    for _ in range(4):
        total += asked(budget, run, [Ask({}, lambda share: Outcome(True, None, None, ""), stake=0.5)])[0]
    assert total > 1


# --- the figures of the specification ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "questions", "printed"),
    [
        (500, 100, ["0.032", "0.041", "0.070", "0.102"]),
        (2000, 300, ["0.0159", "0.0202", "0.0366", "0.0551"]),
        (10_000, 1000, ["0.0070", "0.0090", "0.0172", "0.0264"]),
    ],
)
def test_the_half_widths_of_a_final(rows, questions, printed):
    """Accuracy .85, one finalist, half of beta kept, one failure planned, failures that show a near cell."""
    budget = ErrorBudget(0.95, questions)

    def half_width(log_share: float) -> str:
        low, high = clopper_pearson(round(0.85 * rows), rows, log_share)
        return f"{(high - low) / 2:.{len(printed[0]) - 2}f}"

    found = [half_width(math.log(0.05))]
    for failed in (0, 1, 3):
        course = Course(questions, questions, failed, 0.0, failed * log_cell_weight(1))
        level = budget.log_share(course, budget.final_spending(course))
        found.append(half_width(level))
        theorem = error_allocation(0.05, 0.5, questions, failed, failed * log_cell_weight(1), questions)
        assert level == pytest.approx(math.log(theorem), abs=1e-9)
    assert found == printed


def test_what_halving_beta_costs():
    """10,000 rows, 1,000 questions, accuracy .85: a question of its own has .0151, with half kept for a final .0156."""
    widths = []
    for final in (0.0, 0.5):
        low, high = clopper_pearson(8500, 10_000, ErrorBudget(0.95, 1000, final).log_share(Course(999, 999)))
        widths.append((high - low) / 2)
    assert [f"{width:.4f}" for width in widths] == ["0.0151", "0.0156"]


# --- plain things -----------------------------------------------------------------------------------------------------


@HYPOTHESIS
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), max_size=30))
def test_a_weight_that_is_remembered_is_the_weight(steps):
    """The last weights are kept with the course they belong to; equal courses and other budgets do not mix them up."""
    budgets = [ErrorBudget(0.95, 20), ErrorBudget(0.95), ErrorBudget(0.9, 20, expected_failures=3)]
    courses = [Course()] * 3
    for passed, which in steps:
        courses[which] = budgets[which].after(courses[which], [Message(passed, -0.5 * (not passed))])
        for budget in budgets:
            for course in (*courses, replace(courses[which])):
                fresh = ErrorBudget(budget.confidence, budget.questions, expected_failures=budget.expected_failures)
                assert budget.log_prior(course) == fresh.log_prior(course)


def test_long_runs_stay_numbers():
    """A million questions and a thousand failures leave the floating range, not the logarithms; time is constant."""
    budget = ErrorBudget(0.95, 10**6)
    share = budget.log_share(Course(10**6 - 1, 10**6 - 1, 1000, 0.0, 1000 * log_cell_weight(3)))
    assert -13_000 < share < -10_000
    assert error_allocation(0.05, 1e-6, 10**6, 1000, -3000.0, 10**6) == 0.0


def test_confidence_is_read_as_the_decimal_it_prints_as():
    """1 - 0.95 in doubles is a little more than a twentieth; the plan does not spend that."""
    assert ErrorBudget(0.95).beta == 0.05
    assert ErrorBudget(0.9).beta == 0.1


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 0},
        {"confidence": 1},
        {"questions": 0},
        {"questions": 1.5},
        {"final": -0.1},
        {"final": 1.1},
        {"phases": -1},
        {"expected_failures": 0},
        {"factor": 0},
    ],
)
def test_wrong_plans_are_refused(wrong):
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        ErrorBudget(**({"confidence": 0.95} | wrong))


def test_a_reserve_needs_a_part_for_finals():
    with pytest.raises(InvalidParameter, match="final must be above 0"):
        ErrorBudget(0.95, final=0.0, phases=1)
    for wrong in (1.0, -0.1, [0.5, 0.5], "half"):
        with pytest.raises(InvalidParameter, match="reserve"):
            reserve_parts(wrong)


def test_courses_are_plain_data():
    course = Course(3, 2, 1, -0.5, -1.4, 0.25)
    assert Course.from_dict(course.to_dict()) == course
    for wrong in ({}, course.to_dict() | {"failed": 3}, course.to_dict() | {"log_shown": 0.1}, None):
        with pytest.raises(InvalidParameter):
            Course.from_dict(wrong)


def test_a_transcript_adds_the_terms_of_its_interval_to_what_it_promises():
    """Where rows are not independent, an answer names the numbers that its interval rests on."""
    run = Transcript(ErrorBudget(0.95, 5), None, "rows of a chain", lambda family: {"effective_n": 12.5, "of": family})
    answer = run.ask(Ask({"kind": "any"}, lambda log_share: Outcome(True, 0.5, (0.4, 0.6), "hoeffding")))
    assert answer.guarantee.parameters["effective_n"] == 12.5
    assert answer.guarantee.parameters["of"] == "hoeffding"
    assert answer.guarantee.assumption == "rows of a chain"


def test_the_cost_of_an_answer_is_the_length_of_its_message():
    """Kraft: over what a question can show, and so over whole runs, 2^-length adds up to at most 1."""
    budget = ErrorBudget(0.95, 1000)
    for course in (Course(), Course(7, 7, 3, 0.4, -5.0), Course(999, 999, 10)):
        lengths = [-budget.log_message_weight(course, Message(True, 0.0, 0.1))]
        lengths += [-budget.log_message_weight(course, Message(False, log_cell_weight(j), 0.1)) for j in range(1, 200)]
        lengths += [-budget.log_message_weight(course, Message(False, log_cell_weight(-j), 0.1)) for j in range(1, 200)]
        assert 0.9 < math.fsum(math.exp(-length) for length in lengths) <= 1
    run = Transcript(budget)
    bits = sum(run.ask(Ask({}, lambda share: Outcome(True, None, None, ""))).cost.bits for _ in range(1000))
    assert bits == pytest.approx(1, abs=0.01)  # a thousand passes cost one bit, not a thousand


# --- The price --------------------------------------------------------------------------------------------------------


def _widths_after(failures: int) -> tuple[float, float, list[float | None], list[float | None]]:
    """Half-widths of a check and of a final after so many failures of the plan in the README, and prices told."""
    right = [True] * 8_040 + [False] * 1_960
    holdout = ReusableHoldout(10_000, questions=1_000)
    holdout.check(right, guess=0.81)
    failed = [holdout.check(right, guess=0.95 - 0.001 * k) for k in range(failures)]
    check = holdout.check(right, guess=0.80).half_width
    low, high = holdout.final({"mine": right}).interval["mine"]
    assert check is not None
    return check, (high - low) / 2, [one.widening for one in failed], [one.final_widening for one in failed]


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_the_price_of_failures_is_what_later_checks_and_the_final_pay(failures: int) -> None:
    check, final, _, _ = _widths_after(0)
    wider, final_wider, checks, finals = _widths_after(failures)
    assert math.prod(1 + part for part in checks if part) == pytest.approx(wider / check, rel=0.02)
    assert math.prod(1 + part for part in finals if part) == pytest.approx(final_wider / final, rel=0.02)
    assert math.prod(1 + part for part in checks if part) < 0.75 * final_wider / final, "a check's price is no final's"


def test_the_price_before_asking_is_that_of_the_answer() -> None:
    right = [True] * 8_500 + [False] * 1_500
    holdout = ReusableHoldout(10_000, questions=1_000)
    before = holdout.failure_price
    answer = holdout.check(right, guess=0.89)
    assert answer.passed is False
    assert (answer.widening, answer.final_widening) == pytest.approx((before.questions, before.final))
    assert answer.to_dict()["final_widening"] == answer.final_widening


def test_a_final_on_reserved_rows_and_after_the_last_budget_has_no_price() -> None:
    reserved = ReusableHoldout(10_000, questions=100, reserve=0.5)
    assert reserved.failure_price.final == 0.0
    assert reserved.failure_price.questions > 0.2
    only = ErrorBudget(0.95, questions=1, final=0.0).price(Course(), Message(False))
    assert only.final is None
    assert "a final's" not in reserved.check([False] * 10_000, guess=0.5).price
