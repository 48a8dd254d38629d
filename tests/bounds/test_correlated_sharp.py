"""Theorems 1 and 2 as they are used by default, against the same formulas in 50 digits, and against exact attacks."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

from holdfast.bounds import correlated
from holdfast.bounds.correlated.influence import QuiltTerms, drift
from holdfast.bounds.correlated.thresholdout import log_failure, run_parameters


def failure(n: int, budget: int, sigma: object, tau: object, quilt: QuiltTerms) -> mp.mpf:
    """`3 chi exp(-2 floor(n/chi) (tau - tanh(b/4) - eps/4)^2)` with `eps = K 9B/(4 sigma n) + w`."""
    assert quilt.surcharge is not None
    epsilon = mp.mpf(quilt.size) * 9 * budget / (4 * mp.mpf(sigma) * n) + mp.mpf(quilt.surcharge)
    room = mp.mpf(tau) - mp.tanh(mp.mpf(quilt.influence) / 4) - epsilon / 4
    classes = n // quilt.classes
    if room <= 0 or not classes:
        return mp.mpf(1)
    return min(mp.mpf(1), 3 * quilt.classes * mp.exp(-2 * classes * room**2))


def whole_run(n: int, tau: float, beta: float, questions: int, budget: int, quilt: QuiltTerms, split: float) -> mp.mpf:
    """Noise and questions of Theorem 2 together, with its own sigma."""
    c, each = mp.mpf(split), mp.mpf(beta) / (4 * questions)
    sigma = (1 - c) * mp.mpf(tau) / (-12 * mp.log(each))
    noise = (budget + questions) * each + budget * mp.exp(-(3 + c) * mp.mpf(tau) / (16 * sigma))
    return noise + questions * failure(n, budget, sigma, (1 - c) * mp.mpf(tau) / 4, quilt)


def cases(count: int) -> list[tuple[int, float, float, float, QuiltTerms]]:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(count):
        size = int(rng.integers(1, 40))
        influence = float(rng.choice([0.0, 10 ** rng.uniform(-5, -1)]))
        surcharge = None if rng.random() < 0.5 else 1.5 * influence
        quilt = QuiltTerms(size, influence, surcharge, int(rng.integers(1, 2 * size)))
        numbers = 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-2, -0.1), 10 ** rng.uniform(-9, -0.3)
        found.append((int(rng.integers(1, 50)), *map(float, numbers), quilt))
    return found


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(50):
        yield


class TestOneQuestion:
    def test_twice_the_influence_is_the_default(self) -> None:
        assert QuiltTerms(9, 0.25).surcharge == 0.5

    def test_failure_is_the_formula_rounded_up(self) -> None:
        rng = np.random.default_rng(4)
        informative = 0
        for budget, sigma, tau, _, quilt in cases(300):
            n = int(10 ** rng.uniform(2, 7))
            exact = failure(n, budget, sigma, tau, quilt)
            found = math.exp(log_failure(n, budget, sigma, tau, quilt))
            logged = mp.mpf(log_failure(n, budget, sigma, tau, quilt))
            assert logged >= mp.log(exact)
            assert logged <= mp.log(exact) + mp.mpf(10) ** -9 * max(1, -mp.log(exact))
            informative += 0 < found < 1
        assert informative > 40

    def test_where_everything_cancels_it_still_rounds_up(self) -> None:
        # room and epsilon/4 agree in their first twelve digits
        for influence in (0.01, 0.0123, 0.3):
            for step in range(1, 40):
                tau = drift(influence) + influence / 2 + step * 1e-13
                quilt = QuiltTerms(1, influence)
                n = 10**18
                exact = failure(n, 1, 1e9, tau, quilt)
                assert log_failure(n, 1, 1e9, tau, quilt) >= mp.log(exact)

    def test_size_is_the_least(self) -> None:
        finite = 0
        for budget, sigma, tau, beta, quilt in cases(120):
            n = correlated.question_size(
                budget, sigma, tau, beta, quilt.size, quilt.influence, quilt.surcharge, quilt.colours
            )
            if math.isinf(n):
                assert failure(10**18, budget, sigma, tau, quilt) > beta * (1 - 1e-9)
                continue
            finite += 1
            assert failure(int(n), budget, sigma, tau, quilt) <= beta
            assert n == 1 or failure(int(n) - 1, budget, sigma, tau, quilt) > beta * (1 - 1e-9)
        assert finite > 60


class TestWholeRun:
    def test_noise_and_questions_use_all_of_beta_and_no_more(self) -> None:
        rng = np.random.default_rng(6)
        finite = 0
        for budget, _, tau, beta, quilt in cases(120):
            questions, split = budget + int(rng.integers(0, 500)), float(rng.uniform(0.05, 0.9))
            plan = correlated.plan_run(tau, beta, questions, budget, [quilt], split)
            if not plan.feasible:
                continue
            finite += 1
            assert whole_run(int(plan.n), tau, beta, questions, budget, quilt, split) <= beta
            assert whole_run(int(plan.n) - 1, tau, beta, questions, budget, quilt, split) > beta * (1 - 1e-9)
        assert finite > 50

    @pytest.mark.parametrize("split", [0.05, 0.5, 0.9])
    @pytest.mark.parametrize(("questions", "budget"), [(1, 1), (7, 7), (1000, 10)])
    def test_what_noise_leaves(self, split: float, questions: int, budget: int) -> None:
        found = run_parameters(0.1, 0.05, questions, budget, split)
        tail = mp.exp(-(3 + mp.mpf(split)) * mp.mpf(0.1) / (16 * mp.mpf(found.sigma)))
        draws = budget * mp.exp(-(1 - mp.mpf(split)) * mp.mpf(0.1) / (12 * mp.mpf(found.sigma)))  # Lap(sigma)
        compared = questions * mp.exp(
            -(1 - mp.mpf(split)) * mp.mpf(0.1) / (6 * 2 * mp.mpf(found.sigma))
        )  # Lap(2 sigma)
        noise = draws + compared + budget * tail
        assert noise + questions * mp.mpf(found.beta) <= mp.mpf(0.05) * (1 + mp.mpf(10) ** -12)
        assert noise + questions * mp.mpf(found.beta) >= mp.mpf(0.05) * (1 - mp.mpf(10) ** -9)
        # the three allowances and the question's make up tau, and what is left of the threshold is c tau
        assert found.threshold + (1 - split) * 0.1 * (1 / 12 + 1 / 6) + found.tau == pytest.approx(0.1)
        assert found.threshold - (1 - split) * 0.1 * (1 / 12 + 1 / 6 + 1 / 4) == pytest.approx(split * 0.1)

    def test_repaired_takes_no_more_than_half_of_beta(self) -> None:
        # Theorem 1-R as reviewed: beta/(2m) a question, although noise leaves more
        for n in (2_611_228, 2_611_227):
            each = 4 * math.exp(-n * rate_exponent(n)) if rate_exponent(n) > 0 else 1.0
            assert (each <= 0.05 / 2000) == (n == 2_611_228)
        assert correlated.plan_run(0.1, 0.05, 1000, 10, method="repaired").n == 2_611_228


def rate_exponent(n: int) -> float:
    """`r tau'^2` of Theorem 1-R at the epsilon that `n` gives, written as in the specification."""
    tau, sigma = 0.0125, 0.5 * 0.1 / (12 * math.log(4000 / 0.05))
    alpha = 9 * 10 / (4 * sigma * n) / tau
    inside = 4 * 2 - 3 * alpha**2 / 2
    return ((math.sqrt(inside) - alpha / math.sqrt(2)) / 2) ** 2 * tau**2 if inside > 0 else 0.0


class TestExactAttacks:
    @pytest.mark.parametrize("price", [4.0, 5.0])
    def test_randomized_response_pays_a_quarter_of_epsilon_and_not_a_fifth(self, price: float) -> None:
        """Exact distribution: the question "agrees with its own answer" on independent coins."""
        broken = 0
        for k, epsilon in itertools.product((50, 5000, 10**6), (0.01, 0.1, 0.5, 1.0)):
            agree = 1 / (1 + math.exp(-epsilon))
            for tau in np.linspace(0.001, 0.49, 200):
                exact = float(binom.sf(math.ceil(k * (0.5 + tau) - 1e-9) - 1, k, agree))
                room = tau - epsilon / price
                broken += room > 0 and exact > 3 * math.exp(-2 * k * room**2)
        assert (broken > 0) == (price != 4.0)

    def test_no_question_about_a_chain_beats_the_theorem(self) -> None:
        """Every row through randomized response, the likeliest value of each row asked for; all by enumeration."""
        tightest = 0.0
        for n, flip, level in itertools.product((4, 6), (0.5, 0.49, 0.45), (0.05, 0.5, 1.0)):
            x = np.array(list(itertools.product((0, 1), repeat=n)))
            law = 0.5 * np.prod(np.where(np.diff(x, axis=1) == 0, 1 - flip, flip), axis=1)
            hit = 1 / (1 + math.exp(-level))
            shown = np.prod(np.where(x[:, None] == x[None], hit, 1 - hit), axis=2)
            joint = law[:, None] * shown
            guess = (x.T @ joint) / joint.sum(axis=0) > 0.5
            off = np.abs((x[:, None] == guess.T[None]).mean(axis=2) - 0.5)
            epsilon = _bayesian_level(x, law, shown)
            t = drift(2 * math.log((1 - flip) / flip))
            for tau in np.arange(1, n + 1) / (2 * n):
                exact, room = joint[off >= tau - 1e-12].sum(), tau - t - epsilon / 4
                bound = 3 * math.exp(-2 * n * room**2) if room > 0 else 1.0
                assert exact <= min(1.0, bound) + 1e-12
                tightest = max(tightest, exact / bound) if bound < 1 else tightest
        assert tightest > 0.1


def _bayesian_level(x: np.ndarray, law: np.ndarray, shown: np.ndarray) -> float:
    """Bayesian differential privacy by its definition, over every record and everything known."""
    n, level = x.shape[1], 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for known in itertools.chain.from_iterable(itertools.combinations(others, m) for m in range(n)):
            keys = x[:, known] @ (1 << np.arange(len(known))) if known else np.zeros(len(x), dtype=int)
            for key in range(1 << len(known)):
                zero, one = (law * ((keys == key) & (x[:, i] == value)) for value in (0, 1))
                ratio = np.log((zero @ shown / zero.sum()) / (one @ shown / one.sum()))
                level = max(level, float(np.abs(ratio).max()))
    return level


def test_a_plan_is_printed_in_one_line() -> None:
    text = str(correlated.plan_run(0.1, 0.05, 1000, 10))
    assert text == "1,000 questions within 0.1 at 95% with 10 overrulings: 1,448,054 records (sharp)"
