"""Answerers by name: each keeps the one small protocol, and says so when it certifies nothing."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from holdfast.bounds.holdout.sparse_validate import sparse_validate_width
from holdfast.core.guarantee import Guarantee
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter
from holdfast.mechanisms.answer import Answer
from holdfast.noise import Seeded
from holdfast.simulation.answerers import Answerer, Design, Naive, Reply, answerer, answerers
from holdfast.simulation.answerers.registry import CELLS, Validated, Wrapped, add

DESIGN = Design(n=3000, questions=12, failures=3)
BITS = np.random.default_rng(1).random((DESIGN.questions + 1, DESIGN.n)) < 0.6
NAMED = [name for name in answerers() if name != "thresholdout-certified"]


def _asked(name: str, seed: int = 7) -> tuple[Answerer, list[Reply | None]]:
    made = answerer(name).make(DESIGN, Seeded(seed))
    guesses = [0.6] * 10 + [0.2] * (DESIGN.questions - 10)
    return made, made.ask_many(BITS[:-1], guesses)


@pytest.mark.parametrize("name", NAMED)
def test_every_answerer_keeps_the_protocol(name: str) -> None:
    entry = answerer(name)
    tolerance = entry.make(DESIGN, Seeded(7)).tolerance
    made, replies = _asked(name)
    assert made.needs_guess == entry.needs_guess
    assert len(replies) == DESIGN.questions
    for reply in replies:
        assert reply is not None
        assert abs(reply.value - 0.6) <= (0.5 if name == "splitting" else 0.3)
        assert (reply.passed is None) == (not entry.needs_guess)
        if entry.certified:
            assert reply.interval is not None
        if reply.interval is not None:
            low, high = reply.interval
            assert 0 <= low <= 0.6 <= high <= 1
    if entry.needs_guess:
        assert made.failures == 2
        assert made.tolerance is None or name != "reusable-holdout"  # there is no next question
        assert tolerance is not None
        assert 0 < tolerance < 0.5
    else:
        assert made.failures == 0
        assert made.most_failures is None


@pytest.mark.parametrize("name", NAMED)
def test_a_certified_answerer_refuses_what_was_not_planned(name: str) -> None:
    made, _ = _asked(name)
    one_more = made.ask(BITS[-1], 0.6)
    if answerer(name).certified:
        assert one_more is None
    else:
        assert one_more is not None


@pytest.mark.parametrize("name", NAMED)
def test_the_same_source_gives_the_same_replies(name: str) -> None:
    assert _asked(name)[1] == _asked(name)[1]


@pytest.mark.parametrize("name", ["gaussian", "gaussian-constant", "filtered", "laplace"])
def test_another_source_gives_other_noise(name: str) -> None:
    assert _asked(name)[1] != _asked(name, seed=8)[1]


def test_thresholdout_is_certified_only_where_a_theorem_reaches() -> None:
    entry = answerer("thresholdout-certified")
    with pytest.raises(GuaranteeUnavailable, match="certifies nothing at 3000 rows"):
        entry.make(DESIGN, Seeded(1))
    large = Design(n=1_500_000, questions=20, failures=1)
    rows = np.arange(large.n) % 4 == 0
    made = entry.make(large, Seeded(1))
    agreed = made.ask(rows, 0.25)
    assert agreed is not None
    assert agreed.value == 0.25
    assert agreed.interval is not None
    assert 0 < agreed.interval[0] < 0.25 < agreed.interval[1] < 0.5
    refuted = made.ask(rows, 0.9)
    assert refuted is not None
    assert refuted.passed is False
    assert abs(refuted.value - 0.25) < 0.1
    assert made.ask(rows, 0.25) is None  # the budget of one overfit is gone


def test_splitting_needs_a_row_a_question() -> None:
    with pytest.raises(GuaranteeUnavailable, match="leave none"):
        answerer("splitting").make(Design(n=10, questions=20), Seeded(1))


def test_a_guess_at_the_tolerance_is_on_the_edge_of_passing() -> None:
    """What an attack places its guesses by: a sample a little nearer passes, one a little farther off fails."""
    half = np.arange(DESIGN.n) < DESIGN.n // 2
    for off, passed in ((0.97, True), (1.03, False)):
        made = answerer("reusable-holdout").make(DESIGN, Seeded(1))
        assert made.tolerance is not None
        reply = made.ask(half, 0.5 + off * made.tolerance)
        assert reply is not None
        assert reply.passed is passed


def test_failures_end_what_they_should_end() -> None:
    for name in ("reusable-holdout", "sparse-validate", "thresholdout"):
        made = answerer(name).make(DESIGN, Seeded(2))
        replies = [made.ask(BITS[0], 0.1) for _ in range(DESIGN.questions)]
        assert replies[0] is not None
        assert replies[-1] is None
        assert DESIGN.failures <= made.failures <= DESIGN.failures + 1
    naive = answerer("naive").make(DESIGN, Seeded(2))
    assert all(naive.ask(BITS[0], 0.1) == naive.ask(BITS[0], 0.9) for _ in range(3))


def test_validated_means_pass_within_the_tolerance_and_show_a_cell_beyond() -> None:
    width = sparse_validate_width(DESIGN.n, DESIGN.beta, DESIGN.questions, DESIGN.failures, CELLS)
    made = Validated(DESIGN)
    rows = np.arange(DESIGN.n) < 0.64 * DESIGN.n
    assert made.tolerance == width
    for guess, passed in ((0.64 + 0.99 * width, True), (0.64 + 1.01 * width, False)):
        reply = made.ask(rows, guess)
        assert reply is not None
        assert reply.passed is passed
        assert reply.interval is not None
        assert reply.interval[0] <= 0.64 - 0.9 * width
    assert reply.value == pytest.approx(0.65)
    assert reply.interval == pytest.approx((0.6 - width, 0.7 + width))
    fractions = made.ask(np.full(DESIGN.n, 0.64), 0.64)
    assert fractions is not None
    assert fractions.passed


def test_naive_means_of_any_values() -> None:
    naive = Naive(DESIGN)
    reply = naive.ask(np.full(DESIGN.n, 0.25), 0.0)
    assert reply is not None
    assert reply.value == 0.25
    assert reply.passed is None


def test_bottom_and_an_exhausted_budget_are_refusals() -> None:
    nothing = Answer(None, None, Guarantee("none"))
    only_a_bit = Answer(None, None, Guarantee("none"), passed=False)

    def raises(values: object, guess: float) -> Answer:
        raise BudgetExhausted("gone")

    assert Wrapped(lambda values, guess: nothing).ask(BITS[0], 0.5) is None
    assert Wrapped(raises).ask(BITS[0], 0.5) is None
    checked = Wrapped(lambda values, guess: only_a_bit, needs_guess=True)
    reply = checked.ask(BITS[0], 0.5)
    assert reply is not None
    assert np.isnan(reply.value)
    assert reply.passed is False
    assert checked.failures == 1
    assert checked.tolerance is None


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"n": 1}, "n "),
        ({"n": 10.5}, "n "),
        ({"questions": 1}, "questions "),
        ({"failures": 0}, "failures "),
        ({"failures": 13}, "failures "),
        ({"confidence": 1.0}, "confidence "),
        ({"confidence": 95}, "confidence "),
    ],
)
def test_designs_are_checked_at_the_door(given: dict[str, float], named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named}"):
        partial(Design, **({"n": 100, "questions": 12} | given))()


def test_unknown_names_and_double_names() -> None:
    with pytest.raises(InvalidParameter, match="reusable-holdout"):
        answerer("no such")
    with pytest.raises(ValueError, match="two methods"):
        add("naive", "again", answerer("naive").make)
