"""Theorems 1 and 2 on dependent records: vectors, inverses, and attacks on every step of the proof."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.correlated import (
    QuiltTerms,
    bayesian_max_information,
    drift,
    holdout_accuracy,
    holdout_budget,
    holdout_size,
    log_failure,
    noise_failure,
    plan_run,
    question_accuracy,
    question_budget,
    question_failure,
    question_size,
    run_parameters,
    terms,
    two_state_influence,
)
from holdfast.bounds.correlated.influence import Method
from holdfast.errors import InvalidParameter
from tests.bounds.correlated_laws import enumerated_influence, joint_law, law_of_sum, random_chain, stationary, tails

quiet = settings(deadline=None, derandomize=True, max_examples=60)
METHODS: tuple[Method, ...] = ("sharp", "repaired", "paper")
SHARP_AND_REPAIRED: tuple[Method, ...] = ("sharp", "repaired")


def _quilts(coefficient: float) -> list[QuiltTerms]:
    """Symmetric quilts of the chain with p = .1, q = .4 of the specification's vectors; residue classes modulo a."""
    found = []
    for a in range(1, 40):
        influence = two_state_influence(0.1, 0.4, a, a)
        found.append(QuiltTerms(2 * a - 1, influence, coefficient * influence, a))
    return found


def _best(alpha: float) -> tuple[float, QuiltTerms]:
    each = run_parameters(0.1, 0.05, 1000, 10)
    sizes = [(max(terms(10, each.sigma, 0.0125, 0.05 / 2000, q, alpha)), q) for q in _quilts(2.0)]
    size, quilt = min(sizes, key=lambda pair: pair[0])
    return size, quilt


class TestVectors:
    def test_v32_paper(self) -> None:
        plan = plan_run(0.1, 0.05, 1000, 10, _quilts(4.0), method="paper")
        assert (plan.n, plan.quilt.size) == (521000147, 33)
        assert plan.quilt.influence == pytest.approx(7.629307222e-5, rel=1e-9)
        assert not plan.certified
        assert "does not hold" in plan.note

    def test_v33_alpha_third(self) -> None:
        size, quilt = _best(1 / 3)
        assert (math.ceil(size), quilt.size) == (489423938, 31)
        assert quilt.influence == pytest.approx(1.525843983e-4, rel=1e-9)

    def test_v34_alpha_one(self) -> None:
        size, quilt = _best(1.0)
        assert quilt.size == 27
        assert quilt.drift == pytest.approx(1.525739221e-4, rel=1e-9)
        each = run_parameters(0.1, 0.05, 1000, 10)
        first, second = terms(10, each.sigma, 0.0125, 0.05 / 2000, quilt, 1.0)
        assert first == 1610196
        assert second == pytest.approx(145934087.4, rel=1e-9)
        assert size == second

    def test_v35_best_alpha(self) -> None:
        sizes = {k / 100: _best(k / 100) for k in range(120, 200)}
        alpha = min(sizes, key=lambda alpha: sizes[alpha][0])
        size, quilt = sizes[alpha]
        assert (alpha, math.ceil(size), quilt.size) == (1.85, 73685824, 25)
        # with alpha free, and not on a grid, the same theorem asks for a little less; the sharp one for half of it
        repaired = plan_run(0.1, 0.05, 1000, 10, _quilts(2.0), method="repaired").n
        assert 0.99 * size < repaired <= size
        assert plan_run(0.1, 0.05, 1000, 10, _quilts(2.0)).n < 0.65 * repaired

    def test_v7_v8_wrong_substitution(self) -> None:
        assert holdout_size(0.1, 0.05, 1000, 10, method="paper").n == 14631558
        assert holdout_size(0.1, 0.05, 1000, 10, method="paper").certified

    def test_noise_failure_is_half_of_beta_up_to_one_less_than_the_questions(self) -> None:
        for m in (2, 10, 1000):
            assert noise_failure(0.05, m, m - 1) <= 0.025
            assert noise_failure(0.05, m, m) > 0.025
            assert run_parameters(0.1, 0.05, m, m).beta > 0


quilts = st.builds(
    QuiltTerms, st.integers(1, 30), st.floats(0, 0.02), st.none(), st.one_of(st.none(), st.integers(1, 60))
)


class TestInverses:
    @quiet
    @given(quilts, st.floats(0.01, 0.9), st.floats(1e-6, 0.5), st.integers(1, 50), st.floats(1e-4, 1.0))
    def test_one_question(self, quilt: QuiltTerms, tau: float, beta: float, budget: int, sigma: float) -> None:
        flat = (quilt.size, quilt.influence, quilt.surcharge, quilt.colours)
        for method in METHODS:
            n = question_size(budget, sigma, tau, beta, *flat, method)
            if math.isinf(n):
                assert question_budget(10**18, sigma, tau, beta, *flat, method) < budget
                continue
            rows = int(n)
            assert question_failure(rows, budget, sigma, tau, *flat, method) <= beta * (1 + 1e-9)
            assert rows == 1 or log_failure(rows - 1, budget, sigma, tau, quilt, method) > math.log(beta)
            assert question_budget(rows, sigma, tau, beta, *flat, method) >= budget
            assert question_accuracy(rows, budget, sigma, beta, *flat, method) <= tau
            best = question_accuracy(rows, budget, sigma, beta, *flat, method)
            assert question_size(budget, sigma, best, beta, *flat, method) <= rows
            most = question_budget(rows, sigma, tau, beta, *flat, method)
            assert question_size(most, sigma, tau, beta, *flat, method) <= rows
            if most < 10**18:
                assert question_size(most + 1, sigma, tau, beta, *flat, method) > rows

    @quiet
    @given(
        quilts,
        st.floats(0.05, 0.9),
        st.floats(1e-6, 0.5),
        st.integers(1, 10**5),
        st.integers(1, 50),
        st.floats(0.1, 0.9),
    )
    def test_whole_run(
        self, quilt: QuiltTerms, tau: float, beta: float, questions: int, budget: int, split: float
    ) -> None:
        budget = min(budget, questions)
        flat = (quilt.size, quilt.influence, quilt.surcharge, quilt.colours, split)
        for method in METHODS:
            plan = holdout_size(tau, beta, questions, budget, *flat, method)
            assert plan.n > 0
            assert plan.feasible == math.isfinite(plan.n) == (not plan.reason)
            if not plan.feasible:
                assert "must be below" in plan.reason or "10^18" in plan.reason
                continue
            n = int(plan.n)
            assert holdout_accuracy(n, beta, questions, budget, *flat, method) <= tau
            most = holdout_budget(n, tau, beta, questions, *flat, method)
            assert budget <= most <= questions
            assert holdout_size(tau, beta, questions, most, *flat, method).n <= n
            if most < questions:
                assert holdout_size(tau, beta, questions, most + 1, *flat, method).n > n
            best = holdout_accuracy(n, beta, questions, budget, *flat, method)
            assert holdout_size(best, beta, questions, budget, *flat, method).n <= n

    @quiet
    @given(quilts, st.floats(0.05, 0.5), st.floats(1e-6, 0.2), st.integers(2, 10**4), st.integers(1, 20))
    def test_monotone(self, quilt: QuiltTerms, tau: float, beta: float, questions: int, budget: int) -> None:
        budget = min(budget, questions - 1)
        for method in METHODS:

            def size(t: float, b: float, m: int, budget: int, q: QuiltTerms, method: Method = method) -> float:
                return plan_run(t, b, m, budget, [q], method=method).n

            here = size(tau, beta, questions, budget, quilt)
            assert size(1.5 * tau, beta, questions, budget, quilt) <= here
            assert size(tau, 2 * beta, questions, budget, quilt) <= here
            assert size(tau, beta, 2 * questions, budget, quilt) >= here
            assert size(tau, beta, questions, budget + 1, quilt) >= here
            more = QuiltTerms(quilt.size + 1, quilt.influence, quilt.surcharge, quilt.colours)
            assert size(tau, beta, questions, budget, more) >= here
            more = QuiltTerms(quilt.size, 1.5 * quilt.influence, None, quilt.colours)
            assert size(tau, beta, questions, budget, more) >= here
            more = QuiltTerms(quilt.size, quilt.influence, quilt.surcharge, quilt.classes + 1)
            assert size(tau, beta, questions, budget, more) >= here

    @quiet
    @given(quilts, st.floats(0.05, 0.5), st.floats(1e-6, 0.2), st.integers(2, 10**4), st.integers(1, 20))
    def test_sharp_never_asks_for_more(
        self, quilt: QuiltTerms, tau: float, beta: float, questions: int, budget: int
    ) -> None:
        budget = min(budget, questions - 1)
        sharp = plan_run(tau, beta, questions, budget, [quilt]).n
        assert sharp <= plan_run(tau, beta, questions, budget, [quilt], method="repaired").n
        if quilt.size == 1:
            blanket = QuiltTerms(1, quilt.influence, 4 * quilt.influence, 1)
            repaired = plan_run(tau, beta, questions, budget, [blanket], method="repaired").n
            assert repaired <= plan_run(tau, beta, questions, budget, [blanket], method="paper").n, "eq. (7) holds"


def test_infeasible_is_said_and_never_negative() -> None:
    plan = holdout_size(0.1, 0.05, 1000, 10, blanket=9, influence=0.1)
    assert plan.n == math.inf
    assert "influence is too large" in plan.reason
    assert "no run is covered" in str(plan)
    assert plan.to_dict()["feasible"] is False
    # read literally eq. (8) would have a negative term, and a minimum would take it
    assert terms(10, 0.01, 0.1, 0.05, QuiltTerms(9, 0.02), method="paper").privacy == math.inf
    assert holdout_accuracy(100, 0.05, 1000, 10) == math.inf
    assert holdout_budget(100, 0.1, 0.05, 1000) == 0
    assert plan_run(0.1, 0.05, 1000, 10, [QuiltTerms(3, math.inf)]).n == math.inf
    with pytest.raises(InvalidParameter, match="budget"):
        holdout_size(0.1, 0.05, 10, 11)


class TestCounterexamples:
    def test_a_coin_copied_a_thousand_times(self) -> None:
        copies = QuiltTerms(1000, 0.0)
        assert max(terms(1, 17.0, 0.4, 0.05, copies, method="paper")) <= 1000
        assert question_failure(1000, 1, 17.0, 0.4, 1000, method="paper") <= 0.05, "claimed; the truth is 1"
        for method in SHARP_AND_REPAIRED:
            assert question_failure(1000, 1, 17.0, 0.4, 1000, method=method) == 1.0
            assert question_size(1, 17.0, 0.4, 0.05, 1000, method=method) > 1000

    def test_blocks_of_equal_coins(self) -> None:
        from scipy.stats import binom

        blocks = 675
        true = 2 * binom.cdf(math.floor(0.4 * blocks), blocks, 0.5)
        assert true == pytest.approx(2.29e-7, rel=0.01)
        # the printed requirement is met with equality at sigma = 0.1; a hair more noise settles rounding
        assert question_failure(67_500, 1, 0.100001, 0.1, 100, method="paper") < 1.1e-32
        for method in SHARP_AND_REPAIRED:
            assert question_failure(67_500, 1, 0.100001, 0.1, 100, method=method) >= true


class TestSteps:
    def test_drift_bounds_what_a_class_tells_of_a_record(self) -> None:
        rng = np.random.default_rng(4)
        close = broken = 0
        for _ in range(40):
            matrix = random_chain(rng)
            start = stationary(matrix) if rng.random() < 0.5 else rng.dirichlet(np.ones(len(matrix)))
            law = joint_law(matrix, start, 5)
            record, others = 2, (0, 4)
            influence = enumerated_influence(law, record, others)
            found = 0.0
            values = range(len(matrix))
            own = np.array([sum(p for path, p in law.items() if path[record] == x) for x in values])
            for shown in itertools.product(values, repeat=2):
                joint = np.array(
                    [
                        sum(p for path, p in law.items() if path[record] == x and (path[0], path[4]) == shown)
                        for x in values
                    ]
                )
                if joint.sum() > 0:
                    found = max(found, 0.5 * float(np.abs(joint / joint.sum() - own).sum()))
            assert found <= drift(influence) + 1e-12
            close += found > 0.8 * drift(influence)
            broken += found > math.tanh(influence / 8)
        assert close > 3
        assert broken > 10, "half of the drift must be seen to fail"

    def test_a_class_concentrates_and_the_whole_chain_does_not(self) -> None:
        broken = 0
        for flip in (0.05, 0.1, 0.2, 0.3):
            matrix = np.array([[1 - flip, flip], [flip, 1 - flip]])
            for thin in (2, 4, 8):
                k = 60
                step = np.linalg.matrix_power(matrix, thin)
                law = law_of_sum(step, np.array([0.5, 0.5]), np.tile([0, 1], (k, 1)))
                moved = drift(two_state_influence(flip, flip, thin, thin))
                for t, p in tails(law, k, 1):
                    if t > moved:
                        assert p <= 2 * math.exp(-2 * k * (t - moved) ** 2) * (1 + 1e-9)
            n = 120
            law = law_of_sum(matrix, np.array([0.5, 0.5]), np.tile([0, 1], (n, 1)))
            broken += sum(p > 2 * math.exp(-2 * n * t * t) * (1 + 1e-9) for t, p in tails(law, n, 1))
        assert broken > 50, "without colours and drift the step must be seen to fail"

    def test_max_information_never_exceeded(self) -> None:
        rng = np.random.default_rng(8)
        largest = 0.0
        for _ in range(40):
            matrix, n = random_chain(rng), 3
            k = len(matrix)
            law = joint_law(matrix, stationary(matrix), n)
            outputs = 2
            # a random mechanism, log-linear in the counts so that its leakage is moderate
            logits = {path: rng.normal(0, 0.7, outputs) for path in law}
            mechanism = {path: np.exp(v) / np.exp(v).sum() for path, v in logits.items()}
            epsilon = _bayesian_epsilon(law, mechanism, n, k)
            for beta in (0.001, 0.05, 0.3):
                exact = _max_information(law, mechanism, beta)
                bound = bayesian_max_information(epsilon, n, beta)
                assert exact <= bound + 1e-9
                assert bound <= bayesian_max_information(epsilon, n, beta, "repaired") + 1e-9
                assert bound <= bayesian_max_information(epsilon, n, beta, "paper") + 1e-9
                largest = max(largest, exact / bound)
        assert largest > 0.2

    def test_max_information_at_the_level_of_dp_is_wrong(self) -> None:
        # 100 copies of a fair coin and a mechanism that is 0.01-DP: group privacy makes it 1-Bayesian-DP
        n, epsilon = 100, 0.01
        told = math.exp(n * epsilon) / (1 + math.exp(n * epsilon))
        exact = math.log2((told - 0.05) / 0.5)
        assert exact <= bayesian_max_information(n * epsilon, n, 0.05)
        assert exact > bayesian_max_information(epsilon, n, 0.05), "DP in place of Bayesian DP must be seen to fail"

    def test_a_quarter_of_epsilon_is_the_price_and_an_eighth_is_not_enough(self) -> None:
        # Independent coins; the release is every coin through randomized response, which is epsilon-DP. The question
        # chosen from it, "agrees with its own answer", is off by tanh(epsilon/2)/2: to first order epsilon/4. Error
        # rate of the test: 3 exp(-2n (slack)^2) = 1e-9 by the theorem.
        rng = np.random.default_rng(3)
        n = 200_000
        slack = math.sqrt(math.log(3e9) / (2 * n))
        for epsilon in (0.2, 1.0):
            coins = rng.random(n) < 0.5
            shown = coins ^ (rng.random(n) > math.exp(epsilon) / (1 + math.exp(epsilon)))
            off = abs(float(np.mean(coins == shown)) - 0.5)
            assert off <= epsilon / 4 + slack
            assert off > epsilon / 8 + slack, "half of the price must be seen to fail"

    def test_an_attacker_who_smooths_a_chain_stays_inside(self) -> None:
        # The same release of a chain; the attacker runs forward-backward, then asks about her best guess of each row.
        flip, n, epsilon, runs = 0.3, 4000, 0.05, 20
        rng = np.random.default_rng(5)
        best = min(
            drift(b := two_state_influence(flip, flip, a, a))
            + ((2 * a - 1) * epsilon + 2 * b) / 4
            + math.sqrt(math.log(3 * a / 1e-8) / (2 * (n // a)))
            for a in range(1, 30)
        )
        worst = 0.0
        for _ in range(runs):
            flips = rng.random(n) < flip
            flips[0] = rng.random() < 0.5
            states = np.cumsum(flips) % 2
            shown = states ^ (rng.random(n) > 1 / (1 + math.exp(-epsilon)))
            worst = max(worst, abs(float(np.mean(states == _smoothed(shown, flip, epsilon))) - 0.5))
        assert worst <= best < 0.5
        assert worst > math.sqrt(math.log(runs) / (2 * n)), "the attack must gain something"


def _smoothed(shown: np.ndarray, flip: float, epsilon: float) -> np.ndarray:
    """The likelier state of every row given all answers."""
    like = np.array([[math.exp(epsilon * (x == y)) for x in (0, 1)] for y in (0, 1)])
    matrix = np.array([[1 - flip, flip], [flip, 1 - flip]])
    n = len(shown)
    forward, backward = np.ones((n, 2)), np.ones((n, 2))
    forward[0] = like[shown[0]]
    for i in range(1, n):
        forward[i] = (forward[i - 1] @ matrix) * like[shown[i]]
        forward[i] /= forward[i].sum()
        j = n - 1 - i
        backward[j] = matrix @ (backward[j + 1] * like[shown[j + 1]])
        backward[j] /= backward[j].sum()
    return np.asarray(np.argmax(forward * backward, axis=1))


def _bayesian_epsilon(
    law: dict[tuple[int, ...], float], mechanism: dict[tuple[int, ...], np.ndarray], n: int, k: int
) -> float:
    """Bayesian DP of a finite mechanism, over every record and every set of known records."""
    worst = 0.0
    for record in range(n):
        rest = [j for j in range(n) if j != record]
        for size in range(n):
            for known in itertools.combinations(rest, size):
                given: dict[tuple[int, ...], dict[int, np.ndarray]] = {}
                weight: dict[tuple[int, ...], dict[int, float]] = {}
                for path, p in law.items():
                    key, x = tuple(path[j] for j in known), path[record]
                    given.setdefault(key, {}).setdefault(x, np.zeros(len(mechanism[path])))
                    weight.setdefault(key, {}).setdefault(x, 0.0)
                    given[key][x] = given[key][x] + p * mechanism[path]
                    weight[key][x] += p
                for key, by_value in given.items():
                    rows = [out / weight[key][x] for x, out in by_value.items() if weight[key][x] > 0]
                    for a, b in itertools.permutations(rows, 2):
                        worst = max(worst, float(np.log(a / b).max()))
    return worst


def _max_information(
    law: dict[tuple[int, ...], float], mechanism: dict[tuple[int, ...], np.ndarray], beta: float
) -> float:
    """Exact approximate max-information in bits: cells by falling ratio, every prefix."""
    marginal = sum((p * mechanism[path] for path, p in law.items()), np.zeros(1))
    cells = [
        (float(mechanism[path][y] / marginal[y]), p * float(mechanism[path][y]), p * float(marginal[y]))
        for path, p in law.items()
        for y in range(len(marginal))
        if p > 0
    ]
    best, joint, product = 0.0, 0.0, 0.0
    for _, p, q in sorted(cells, reverse=True):
        joint, product = joint + p, product + q
        if joint > beta:
            best = max(best, math.log2((joint - beta) / product))
    return best
