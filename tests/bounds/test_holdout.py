"""What reusable holdouts promise: counts by enumeration, shares by Kraft sums, inverses, noise by simulation."""

from __future__ import annotations

import itertools
import json
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from holdfast.bounds import holdout, lookup
from holdfast.bounds.generalisation import pure_dp_event
from holdfast.errors import InvalidParameter

taus, betas = st.floats(0.01, 0.4), st.floats(1e-6, 0.5)


# SparseValidate


def _strings(length: int, budget: int, values: int) -> int:
    """Answer strings with at most `budget` nonzero entries, one by one."""
    return sum(sum(1 for a in word if a) <= budget for word in itertools.product(range(values + 1), repeat=length))


@pytest.mark.parametrize("values", [1, 2])
@pytest.mark.parametrize("budget", [1, 2, 4, 9])
def test_transcripts_by_enumeration(budget: int, values: int) -> None:
    for i in range(1, 9):
        assert holdout.sparse_validate_transcripts(i, budget, values) == _strings(i - 1, budget, values)
        assert holdout.sparse_validate_transcripts(i, budget, values, "paper") == _strings(i, budget, values)
        if budget > 1:
            assert holdout.sparse_validate_transcripts(i, budget, values, "answered") == _strings(
                i - 1, budget - 1, values
            )


def test_correct_count_is_at_most_m_to_the_b_and_the_printed_one_is_not() -> None:
    for m in (2, 5, 50):
        for b in range(1, 5):
            assert holdout.sparse_validate_transcripts(m, b) <= m**b
    assert holdout.sparse_validate_transcripts(7, 1, method="paper") > 7


def test_bits_agree_with_exact_integers() -> None:
    for i, b, values in [(1, 1, 1), (50, 50, 1), (1000, 5, 20), (3000, 2500, 3)]:
        exact = math.log2(holdout.sparse_validate_transcripts(i, b, values))
        assert holdout.sparse_validate_bits(i, b, values) == pytest.approx(exact, rel=1e-11, abs=1e-15)
        assert holdout.sparse_validate_bits(i, b, values) >= exact * (1 - 1e-15)


def test_bits_of_very_long_runs() -> None:
    """Beyond a million failures a geometric series takes over; it is an upper bound and close."""
    close = holdout.sparse_validate_bits(10**9, 10**6, 3)
    beyond = holdout.sparse_validate_bits(10**9, 10**6 + 1, 3)
    assert close < beyond < close * (1 + 1e-5)
    assert holdout.sparse_validate_bits(10**7, 9 * 10**6, 1) <= 10**7


def test_transcripts_that_cannot_be_printed_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="sparse-validate-bits"):
        holdout.sparse_validate_transcripts(10**6, 5000)
    assert len(str(holdout.sparse_validate_transcripts(14_000, 14_000))) < sys.get_int_max_str_digits()
    assert json.dumps(lookup("holdout.sparse-validate-transcripts").evaluate(questions=2000, budget=900).to_dict())


@settings(max_examples=30, deadline=None, derandomize=True)
@given(n=st.integers(50, 10**6), tau=taus, beta=betas, m=st.integers(1, 3000), values=st.integers(1, 30))
def test_sparse_validate_planner(n: int, tau: float, beta: float, m: int, values: int) -> None:
    b = holdout.sparse_validate_budget(n, tau, beta, m, values)
    assert 0 <= b <= m
    if b > 0:
        assert holdout.sparse_validate_size(tau, beta, m, b, values) <= n
    if b < m:
        assert holdout.sparse_validate_size(tau, beta, m, b + 1, values) > n


# Guess and check


def _kraft(depth: int, counts: tuple[int, ...], **fixed: int) -> Fraction | float:
    """Total share of all transcripts of `depth` questions, with a grid that depends on the path."""

    def total(t: int, shown: tuple[int, ...]) -> float:
        if "max_failures" in fixed and len(shown) > fixed["max_failures"]:
            return 0.0
        here = holdout.guess_and_check_share(1 - 1e-12, t, len(shown), shown, **fixed)
        if t == depth:
            return here
        k = counts[(t + len(shown)) % len(counts)]
        return here + total(t + 1, shown) + k * total(t + 1, (*shown, k))

    return total(1, ())


@pytest.mark.parametrize("counts", [(2,), (3, 7), (1, 5, 4)])
def test_shares_sum_to_at_most_beta(counts: tuple[int, ...]) -> None:
    assert 0.5 < _kraft(6, counts) <= 1
    assert 0.6 < _kraft(6, counts, questions=6) <= 1
    assert 0.4 < _kraft(6, counts, questions=6, max_failures=3) <= 1
    full = _kraft(6, counts, questions=6, max_failures=5)
    assert full == pytest.approx(sum(1 for t in range(6) for f in range(t + 1)) / 36, rel=1e-9)


def test_the_published_count_of_values_undercounts() -> None:
    """Rounding to the nearest multiple of 0.5 shows 3 values, not ceil(1/0.5) = 2: the shares then exceed beta."""

    def total(t: int, failures: int) -> float:
        here = holdout.guess_and_check_share(1 - 1e-12, t, failures, [2] * failures, questions=6)
        return here + (total(t + 1, failures) + 3 * total(t + 1, failures + 1) if t < 6 else 0.0)

    assert total(1, 0) > 1
    assert holdout.shown_values(0.5) == 1
    assert [holdout.shown_values(g) for g in (0.25, 0.1, 0.05, 0.03)] == [2, 5, 10, 17]
    assert holdout.shown_values(0.1, length=2.0) == 10


def test_width_agrees_with_share() -> None:
    for question, failures, grid in [(1, 0, None), (11, 2, 0.05), (1000, 30, 0.01)]:
        shown = [holdout.shown_values(grid)] * failures if grid else []
        share = holdout.guess_and_check_share(0.05, question, failures, shown)
        width = holdout.guess_and_check_width(5000, 0.05, question, failures, grid)
        assert width == pytest.approx(holdout.hoeffding_tolerance(5000, share), rel=1e-12)
    m, f = 1000, 4
    equal = holdout.guess_and_check_width(5000, 0.05, m, f, 0.02, questions=m)
    assert equal < holdout.guess_and_check_width(5000, 0.05, m, f, 0.02)
    assert holdout.guess_and_check_width(5000, 0.05, m, f, 0.02, questions=m, max_failures=f) < equal


def test_uniform_share_of_the_specification() -> None:
    """m = 1000, f = 0: the uniform share is 1645 times larger at t = 1000 and smaller only for t below 25."""
    series = [holdout.guess_and_check_share(0.05, t) for t in range(1, 1001)]
    uniform = holdout.guess_and_check_share(0.05, 1, questions=1000)
    assert uniform / series[-1] == pytest.approx(1645, abs=1)
    assert [t for t, s in enumerate(series, 1) if s > uniform] == list(range(1, 25))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(n=st.integers(1, 10**7), t=st.integers(1, 10**6), f=st.integers(0, 3000), grid=st.floats(1e-4, 0.5))
def test_width_rises_with_what_was_shown(n: int, t: int, f: int, grid: float) -> None:
    f = min(f, (t - 1) // 2)
    here = holdout.guess_and_check_width(n, 0.05, t, f, grid)
    assert holdout.guess_and_check_width(n + 1, 0.05, t, f, grid) <= here
    assert holdout.guess_and_check_width(n, 0.05, t + 1, f, grid) >= here * (1 - 1e-12)
    assert holdout.guess_and_check_width(n, 0.05, t, f, grid / 2) >= here * (1 - 1e-12)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"question": 3, "failures": 3, "grid": 0.1}, "failures"),
        ({"question": 3, "failures": 1}, "grid"),
        ({"question": 3, "questions": 2}, "questions"),
        ({"question": 3, "failures": 2, "grid": 0.1, "max_failures": 1}, "max_failures"),
        ({"question": 0}, "question"),
        ({"question": 1, "beta": 1.0}, "beta"),
        ({"question": 1, "grid": -1.0}, "grid"),
    ],
)
def test_guess_and_check_input(arguments: dict[str, float], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        holdout.guess_and_check_width(**({"n": 100, "beta": 0.05} | arguments))


# Thresholdout


@settings(max_examples=40, deadline=None, derandomize=True)
@given(n=st.integers(100, 10**13), tau=taus, beta=betas, m=st.integers(1, 10**7))
def test_theorem_25_inverts(n: int, tau: float, beta: float, m: int) -> None:
    for branch in ("pure", "exact", "paper"):
        b = holdout.theorem25_budget(n, tau, beta, m, branch)
        assert 0 <= b <= m
        if b > 0:
            assert holdout.theorem25_size(tau, beta, m, b, branch) <= n
        if b < m:
            assert holdout.theorem25_size(tau, beta, m, b + 1, branch) > n
    if 0 < (b := holdout.theorem25_budget(n, tau, beta, m)) < m:
        assert holdout.theorem25_accuracy(n, beta, m, b) <= tau * (1 + 1e-12)
        assert holdout.theorem25_questions(n, tau, beta, b) >= m * (1 - 1e-9)


def test_accuracy_of_the_exact_branch() -> None:
    tau = holdout.theorem25_accuracy(10**13, 0.05, 10**7, 10**6, "exact")
    assert holdout.theorem25_size(tau, 0.05, 10**7, 10**6, "exact") <= 10**13
    assert holdout.theorem25_size(tau * (1 - 1e-9), 0.05, 10**7, 10**6, "exact") > 10**13
    assert holdout.theorem25_accuracy(100, 0.05, 10, 1, "exact") == math.inf


def test_printed_lemma_24_is_too_small_at_ordinary_settings() -> None:
    """By 9% at the settings of vector 35 and 32% in vectors 30 and 31; from the stated beta on it is large enough."""
    assert holdout.lemma24_size(10, 0.01, 0.1, 0.05, "exact") > 1.3 * holdout.lemma24_size(10, 0.01, 0.1, 0.05, "paper")
    tau, sigma = 0.1, 1e-6  # so much privacy noise that the size condition does not bind
    beta = math.exp(-holdout.printed_constant_holds(tau)) / tau
    assert beta == pytest.approx(3.827052696e-13, rel=1e-8)
    assert holdout.lemma24_size(10, sigma, tau, beta, "exact") == pytest.approx(
        holdout.lemma24_size(10, sigma, tau, beta, "paper"), rel=1e-9
    )


def test_pure_constants_of_the_specification() -> None:
    for tau, beta, m, b in [(0.1, 0.05, 1000, 10), (0.3, 0.5, 5, 1), (0.05, 1e-6, 10**6, 10**4)]:
        explicit = max(1536 * b * math.log(4 * m / beta), 64 * math.log(12 * m / beta)) / tau**2
        assert holdout.theorem25_size(tau, beta, m, b) == pytest.approx(explicit, rel=1e-12)


@pytest.mark.parametrize(("m", "b"), [(1000, 10), (50, 50), (10**6, 1000)])
def test_tight_plan_meets_its_own_conditions(m: int, b: int) -> None:
    tau, beta = 0.1, 0.05
    plan = holdout.thresholdout_size(tau, beta, m, b)
    assert plan.branch == "tight"
    assert plan.sigma is not None
    room = tau / 8  # N and tau_g at theta = tau/2 and equal parts
    noise = m * holdout.noise_allowance(b) * math.exp(-room / (4 * plan.sigma)) + b * math.exp(
        -(tau - room) / plan.sigma
    )
    assert noise <= beta / 2 * (1 + 1e-12)
    assert noise > beta / 2 * (1 - 1e-9)
    failure = pure_dp_event(2 * b / (plan.sigma * plan.n), plan.n, math.log(2 * m) - 2 * room**2 * plan.n)
    assert failure.value <= beta / 2
    fewer = plan.n - 1
    assert pure_dp_event(2 * b / (plan.sigma * fewer), fewer, math.log(2 * m) - 2 * room**2 * fewer).value > beta / 2
    back = holdout.thresholdout_budget(plan.n, tau, beta, m)
    assert back.value == b
    assert holdout.split_size(tau, beta, m, b) < plan.n < holdout.theorem25_size(tau, beta, m, b)


def test_budget_methods() -> None:
    best, exact, paper = (
        holdout.thresholdout_budget(10**8, 0.1, 0.05, 1000, m) for m in ("best", "theorem-25", "paper")
    )
    assert best.value > 5 * exact.value
    assert exact.value == paper.value == 57
    assert (best.certified, exact.certified, paper.certified) == (True, True, True)
    none = holdout.thresholdout_budget(10_000, 0.1, 0.05, 1000)
    assert (none.value, none.sigma, none.threshold) == (0, None, None)
    assert "no parameters" in str(none)
    large = holdout.thresholdout_size(0.05, 0.01, 10**7, 10**6, "paper")
    assert large.branch == "paper"
    assert not large.certified
    assert "not certified" in str(large)
    assert json.loads(json.dumps(large.to_dict()))["value"] == large.n


def test_catalogue_parameters() -> None:
    for id, names in {
        "holdout.thresholdout-budget": ["n", "tau", "beta", "questions", "method"],
        "holdout.thresholdout-size": ["tau", "beta", "questions", "budget", "method"],
        "holdout.sparse-validate-transcripts": ["questions", "budget", "values", "method"],
        "holdout.guess-and-check-width": ["n", "beta", "question", "failures", "grid", "questions", "max_failures"],
    }.items():
        assert [p.name for p in lookup(id).parameters] == names


@pytest.mark.parametrize("bad", [{"tau": 0}, {"tau": 1}, {"beta": 0}, {"budget": 0}, {"budget": 11}, {"questions": 0}])
def test_thresholdout_input(bad: dict[str, float]) -> None:
    good = {"tau": 0.1, "beta": 0.05, "questions": 10, "budget": 3}
    for function in (holdout.thresholdout_size, holdout.plan_tight, holdout.split_size, holdout.theorem25_size):
        with pytest.raises(InvalidParameter, match=r"tau|beta|budget|questions"):
            function(**(good | bad))


def test_privacy_forms() -> None:
    with pytest.raises(InvalidParameter, match="delta"):
        holdout.thresholdout_epsilon(10, 0.01, 10_000, method="tight")
    for b in (1, 10, 1000):
        tight = holdout.thresholdout_epsilon(b, 0.01, 10_000, 1e-6, "tight")
        assert tight < holdout.thresholdout_epsilon(b, 0.01, 10_000, 1e-6, "paper")
        assert holdout.thresholdout_epsilon(b, 0.01, 10_000, method="zcdp") == pytest.approx(b / 100**2)


def test_noise_allowance_by_exact_products_and_its_tail() -> None:
    for b in (1, 2, 10, 500):
        exact = Fraction(4**b, math.comb(2 * b, b))
        assert holdout.noise_allowance(b) == pytest.approx(float(exact), rel=1e-12)
        assert holdout.noise_allowance(b) >= float(exact)
    assert holdout.noise_allowance(10_001) == pytest.approx(
        holdout.noise_allowance(10_000) * math.sqrt(1.0001), rel=1e-8
    )


def _noise_failures(m: int, b: int, limit: float, runs: int, seed: int) -> int:
    """Runs in which threshold and comparison noise leave their allowance; the analyst stays in the worst epoch.

    Thresholdout redraws its threshold at every overfit. This analyst sees the draws, makes the first `b - 1` epochs end
    at once, and asks its remaining questions in whichever epoch has the largest draw. Unit scale `sigma = 1`.
    """
    rng = np.random.default_rng(seed)
    worst = np.abs(rng.laplace(0, 2, (runs, b))).max(axis=1)
    comparison = np.abs(rng.laplace(0, 4, (runs, m))).max(axis=1)
    return int(np.sum(worst + comparison > limit))


def test_noise_allowance_covers_the_worst_analyst_and_the_per_question_formula_does_not() -> None:
    """Error rate 1e-6: failures stay below the binomial limit at the promised rate; without kappa they do not."""
    m, b, beta, runs = 200, 40, 0.05, 40_000
    limit = int(binom.isf(1e-6, runs, beta))
    allowed = 4 * math.log(m * holdout.noise_allowance(b) / beta)
    assert _noise_failures(m, b, allowed, runs, 7) <= limit
    naive = 4 * math.log(2 * m / beta)  # P(|gamma| + |eta| > N) <= 2 exp(-N/4) for a fresh pair
    assert _noise_failures(m, b, naive, runs, 7) > limit


# The others


def test_median_mechanism() -> None:
    assert holdout.median_rounds(2, 2, 0.9) == 2
    for universe, m, tau in [(2, 10, 0.3), (1024, 100, 0.1), (1e6, 10**5, 0.2)]:
        assert holdout.median_bits(universe, m, tau) < holdout.median_bits(universe, m, tau, "paper")
        assert holdout.median_size(universe, m, tau, 0.05) < holdout.median_size(universe, m, tau, 0.05, "paper")
        printed = 81 * math.log2(universe) * math.log2(m) * math.log(3 * m / tau) / (2 * tau**4)
        printed += 9 * math.log(2 * m / 0.05) / (2 * tau**2)
        assert holdout.median_size(universe, m, tau, 0.05, "paper") == pytest.approx(printed, rel=1e-12)
    with pytest.raises(InvalidParameter, match="questions"):
        holdout.median_rounds(2, 1, 0.1)


def _ladder_runs(length: int, step: float, losses: list[float]) -> set[tuple[float, ...]]:
    """All score sequences of the Ladder over sequences of the given losses."""
    found = set()
    for sequence in itertools.product(losses, repeat=length):
        r, scores = math.inf, []
        for loss in sequence:
            if loss < r - step:
                r = step * math.floor(loss / step + 0.5)
            scores.append(r)
        found.add(tuple(scores))
    return found


def test_ladder_counts_every_transcript() -> None:
    step = 0.25
    losses = [i / 16 for i in range(17)]
    grid = math.floor(1 / step + 0.5) + 1
    for length in (1, 2, 3):
        assert len(_ladder_runs(length, step, losses)) <= math.comb(length + grid, grid)
    for n, error, width, t in [(1000, 0.2, 0.1, 10), (50_000, 0.05, 0.05, 1000), (10**6, 0.03, 0.01, 10**5)]:
        assert holdout.ladder_tail(n, error, width, t) <= holdout.ladder_tail(n, error, width, t, "paper")
    assert holdout.ladder_tail(10, 0.01, 0.1, 10) == 1.0


def test_ladder_keeps_the_best_loss_within_a_step() -> None:
    """What the tail is about: without sampling error the score is within one step of the best loss."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        step, r, best = float(rng.uniform(0.02, 0.5)), math.inf, math.inf
        for loss in rng.random(20):
            best = min(best, loss)
            if loss < r - step:
                r = step * math.floor(loss / step + 0.5)
            assert abs(best - r) <= step + 1e-12


def test_information_width_by_simulation_of_its_noise() -> None:
    """The closed moments of the largest exponentials, and the order of the result."""
    rng = np.random.default_rng(11)
    q, b, sigma, threshold = 50, 4, 0.01, 0.05
    w = np.abs(rng.laplace(0, 4 * sigma, (200_000, q))).max(axis=1)
    y = np.abs(rng.laplace(0, 2 * sigma, (200_000, b))).max(axis=1)
    x = np.abs(rng.laplace(0, sigma, (200_000, b))).max(axis=1)
    noise = float(np.mean((threshold + w + y) ** 2) + np.mean(x**2))
    huge = 10**12  # no sampling error left
    found = holdout.thresholdout_information_width(huge, q, b, threshold, sigma, 0.05)
    assert found == pytest.approx(math.sqrt(noise / 0.05), rel=0.01)
    assert found >= threshold / math.sqrt(0.05)
    assert holdout.thresholdout_information_width(1000, q, b, threshold, sigma, 0.05) > found


def test_the_printed_tail_of_the_ladder() -> None:
    """Blum-Hardt: a union bound over `(4 t / step)^(1/step + 2)` transcripts, `e` for the rest, and Hoeffding."""
    n, error, step, t = 2000, 0.3, 0.1, 10
    log = (1 / step + 2) * math.log(4 * t / step) + 1 - 2 * n * error**2
    assert holdout.ladder_tail(n, error, step, t, "paper") == pytest.approx(math.exp(log), rel=1e-9, abs=0)
