"""The shares of a run add up to at most the whole over all transcripts, whatever the grids; wrong shares do not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from holdfast.holdout.shares import Shares
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.holdout.guess_and_check import guess_and_check_share
from holdfast.errors import InvalidParameter
from holdfast.holdout.transcript import Outcome, Transcript, description_bits

PLANS = [Shares(0.95, *plan) for plan in ((None, None), (7, None), (None, 3), (7, 3), (7, 0))]
Path = tuple[tuple[bool, int, int], ...]  # passed, what was shown, out of how many


def grid(path: Path) -> int:
    """How many things the next failure may show: a function of the path, from 1 to 4."""
    return 1 + (sum(3 * shown + 2 * passed for passed, shown, _ in path) + len(path)) % 4


def nodes(plan: Shares, questions: int) -> Iterator[tuple[Path, float]]:
    """Every transcript before each of `questions` questions, with the share that the real run gives there."""

    def walk(path: Path) -> Iterator[tuple[Path, float]]:
        run = Transcript(plan)
        for passed, _, count in path:
            run.ask({}, None, lambda share, p=passed, k=count: Outcome(p, None, None, 1 if p else k, ""))
        if run.left()["questions"] <= 0:
            return
        yield path, run.log_share
        if len(path) + 1 < questions:
            count = grid(path)
            yield from walk((*path, (True, 0, count)))
            for shown in range(count):
                yield from walk((*path, (False, shown, count)))

    yield from walk(())


def total(plan: Shares, questions: int, share: Callable[[Path, float], float]) -> float:
    return math.fsum(share(path, log_share) for path, log_share in nodes(plan, questions))


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_shares_of_all_transcripts_add_up_to_at_most_the_whole(plan):
    """The whole proof in one sum: seven questions, every transcript, grids that depend on the path."""
    whole = total(plan, 6 if plan.failures is None else 7, lambda path, log_share: math.exp(log_share))
    assert 0.3 * plan.beta < whole <= plan.beta


def test_equal_shares_fill_the_whole_exactly_in_rational_arithmetic():
    """With both numbers planned, the shares that remain unused are those of failures that cannot have happened yet."""
    plan, m, cap = Shares(0.95, 6, 5), 6, 5
    whole = Fraction(0)
    for path, log_share in nodes(plan, m):
        failed = [count for passed, _, count in path if not passed]
        exact = Fraction(1, 20) / (m * (cap + 1) * math.comb(len(path), len(failed)) * math.prod(failed))
        assert math.exp(log_share) <= exact
        assert math.exp(log_share) == pytest.approx(float(exact), rel=1e-12)
        whole += exact
    # question t can follow 0, ..., t - 1 failures: 1 + ... + 6 of the 36 equal parts
    assert whole == Fraction(1, 20) * Fraction(21, 36)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda path, share: share + sum(math.log(k) for p, _, k in path if not p), id="K not counted"),
        pytest.param(
            lambda path, share: share + math.log(math.comb(len(path), sum(not p for p, _, _ in path))),
            id="not divided by C(t-1, f)",
        ),
        pytest.param(
            lambda path, share: share + sum(math.log(k / (k - 1)) for p, _, k in path if not p and k > 1),
            id="one value too few counted",
        ),
    ],
)
def test_wrong_shares_add_up_to_more(wrong):
    """Each way of paying too little is visible in the same sum."""
    plan = Shares(0.95, 7, 6)
    assert total(plan, 7, lambda path, share: math.exp(wrong(path, share))) > plan.beta


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    st.integers(1, 400),
    st.data(),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
    st.booleans(),
    st.booleans(),
)
def test_shares_agree_with_the_theorem(t, data, confidence, planned, capped):
    """The run's logarithms are those of `holdout.guess-and-check-share`, rounded down."""
    f = data.draw(st.integers(0, min(t - 1, 8)))
    counts = data.draw(st.lists(st.integers(1, 100), min_size=f, max_size=f))
    questions, cap = (t + 5 if planned else None), (f + 2 if capped else None)
    plan = Shares(confidence, questions, cap)
    log_share = plan.log_share(t, f, math.fsum(map(math.log, counts)))
    theorem = guess_and_check_share(plan.beta, t, f, counts or None, questions, cap)
    assert math.exp(log_share) == pytest.approx(theorem, rel=1e-11)


def test_long_runs_stay_numbers():
    """A million questions and a thousand failures leave the floating range, not the logarithms; time is constant."""
    plan = Shares(0.95, 10**6)
    log_share = plan.log_share(10**6, 1000, 1000 * math.log(50))
    assert -13_000 < log_share < -11_000
    exact = (
        math.log(plan.beta)
        - math.log(10**6)
        + math.log(6 / math.pi**2)
        - 2 * math.log(1001)
        - math.log(math.comb(10**6 - 1, 1000))
        - 1000 * math.log(50)
    )
    assert exact - 1e-6 < log_share <= exact


def test_confidence_is_read_as_the_decimal_it_prints_as():
    """1 - 0.95 in doubles is a little more than a twentieth; the plan does not spend that."""
    assert Shares(0.95).beta == 0.05
    assert Shares(0.9).beta == 0.1


@pytest.mark.parametrize("wrong", [{"confidence": 0}, {"confidence": 1}, {"confidence": 1.5}, {"questions": 0}])
def test_wrong_plans_are_refused(wrong):
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        Shares(**({"confidence": 0.95} | wrong))


def test_description_lengths_form_a_prefix_free_code():
    """Kraft: over what a question can show, and so over whole transcripts, 2^-length adds up to at most 1."""
    for t, f, shown in [(1, 0, 1), (1, 0, 40), (7, 3, 12), (1000, 10, 30), (5, 4, 3)]:
        lengths = [description_bits(t, f, True, 1)] + [description_bits(t, f, False, shown)] * shown
        assert 1 - 1e-12 < math.fsum(2.0**-length for length in lengths) <= 1
    run = math.fsum(description_bits(t, 0, True, 1) for t in range(1, 1001))
    assert run == pytest.approx(
        math.log2(math.pi * 1000) / 2, abs=0.001
    )  # a thousand passes cost six bits, not a thousand


def test_a_transcript_adds_the_terms_of_its_interval_to_what_it_promises() -> None:
    """Where rows are not independent, an answer names the numbers that its interval rests on."""
    shares = Shares(0.95, questions=5)
    run = Transcript(shares, "rows of a chain", lambda family: {"effective_n": 12.5, "of": family})
    answer = run.ask({"kind": "any"}, None, lambda log_share: Outcome(True, 0.5, (0.4, 0.6), 1, "hoeffding"))
    assert answer.guarantee.parameters["effective_n"] == 12.5
    assert answer.guarantee.parameters["of"] == "hoeffding"
    assert answer.guarantee.assumption == "rows of a chain"
