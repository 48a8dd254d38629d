"""Theorem D read a second time: everything computed from the statement alone, one question at a time, then compared.

Nothing of the library is used but the numbers that are compared: `Delta` and the supremum in kappa by a bounded search,
theta by a search of its own, every sum over questions and levels written out. Small cases are computed exactly, by
enumeration of the rows or quadrature of the answers.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, log_ndtr, ndtr

from holdfast.bounds import interval
from holdfast.bounds.holdout.coded_threshold import coded_plan, log_patterns
from holdfast.bounds.interval import signs
from holdfast.bounds.interval.open_end import open_plan
from holdfast.bounds.interval.width import Width

Array = NDArray[np.float64]


def least(function, low: float, high: float, points: int) -> float:  # type: ignore[no-untyped-def]
    grid = np.linspace(low, high, points)
    place = int(np.argmin([function(x) for x in grid]))
    ends = grid[max(place - 1, 0)], grid[min(place + 1, points - 1)]
    return float(minimize_scalar(function, bounds=ends, method="bounded", options={"xatol": 1e-7}).fun)


@lru_cache(maxsize=10_000)
def excess(kappa: float) -> float:
    def negative(a: float) -> float:
        return -(a + math.log1p(math.exp(-2 * a)) - math.log(2) - a * a / (2 * (1 + kappa)))

    top = minimize_scalar(negative, bounds=(0, 2 * (1 + kappa)), method="bounded", options={"xatol": 1e-10}).fun
    return max(-float(top), 0.0) - kappa / 2 + math.log1p(kappa) / 2


def rate(v: float) -> float:
    """`rho(v)`; Delta(x)/x rises up to where it is largest."""
    return v / 2 if v < 1e-3 else max(excess(v * share) / (v * share) for share in (0.25, 0.5, 0.75, 0.9, 1.0))


def log_kappa(t: float, s2: float, r2: float, clock: float, asked: int, theta: float) -> float:
    s, b = math.sqrt(s2), math.sqrt(r2 / theta)
    w = np.linspace(0, t / b + 2, 400)
    values = log_ndtr((b * w - t) / s) - w * w / 2
    place = int(np.argmax(values))
    top = minimize_scalar(
        lambda x: -(log_ndtr((b * x - t) / s) - x * x / 2),
        bounds=(w[max(place - 1, 0)], w[min(place + 1, 399)]),
        method="bounded",
        options={"xatol": 1e-8},
    )
    spread = asked * math.log1p(theta / (1 - theta) * clock / (asked + clock)) if clock > 0 else 0.0
    return float(np.logaddexp(-top.fun, log_ndtr(-t / math.sqrt(s2 + r2)))) + spread / 2


def log_kappa_least(t: float, s2: float, r2: float, clock: float, asked: int) -> float:
    return least(lambda x: log_kappa(t, s2, r2, clock, asked, float(expit(x))), -9, 9, 25)


def second_sample(n: int, e: float, constant: float = 0.469) -> float:
    def gap(log_v: float) -> float:
        v = math.exp(log_v)
        return float(ndtr(2 * e)) - constant / math.sqrt(v * n) - e * e / (v + e * e)

    v = math.exp(float(brentq(gap, math.log(1e-9), math.log(0.25)))) if gap(math.log(0.25)) > 0 else 0.25
    return e * e / (v + e * e)


def test_kappa_is_that_of_the_statement() -> None:
    random = np.random.default_rng(23)
    for _ in range(25):
        t, s2, r2 = random.uniform(0.3, 14), math.exp(random.uniform(-4, 2.5)), random.uniform(0.02, 1)
        clock, asked = random.uniform(0, 80), int(random.integers(1, 1500))
        found = signs.log_kappa(t, s2, r2, clock, asked)
        assert -1e-6 < found - log_kappa_least(t, s2, r2, clock, asked) < 1e-5
    assert [round(excess(x), 6) for x in (0.1, 0.5, 1, 4)] == [0.004344, 0.067927, 0.173097, 0.611617]
    for n, e in ((100_000, 0.05), (10_000, 0.075), (1000, 0.1)):
        assert signs.second_sample(n, e) == pytest.approx(second_sample(n, e), rel=1e-9)


def failure(width: Width, narrower: float = 1.0) -> float:
    """The bound of Theorem D on the failure probability of a plan, at its half-width times a factor."""
    assert width.schedule is not None
    n, k, beta = width.n, width.questions, width.beta
    e, s2, root = width.tuning["excess"], n * width.schedule.sigmas() ** 2, math.sqrt(n)
    a = narrower * width.half_width * root
    levels = [u for u in (a + step for step in (1.5, 3, 5.5, 9, 14, 22, 36, 60, 100)) if u < root] + [root]
    slack = math.sqrt(2 * math.log(k / (0.01 * beta)) / n)
    g = [min(2.0, 1 + u * u / n + slack) for u in levels]
    total, clock, inverse = 0.01 * beta, 0.0, 0.0
    for j in range(k):
        rho = rate((inverse / 4 + 1 / s2[j]) / n)
        for m, t in enumerate([a, *levels[:-1]]):
            delta = rho * (clock + g[m] / (2 * s2[j]))
            total += (2 if m else 1) * math.exp(delta + log_kappa_least(t - e, s2[j], g[m] / 2, clock, j))
        inverse, clock = inverse + 1 / s2[j], clock + g[0] / (8 * s2[j])
    return total / second_sample(n, e)


def test_the_certificate_is_that_of_the_statement() -> None:
    """Every question and every level of the plan for 200 rows and 20 questions, and of a schedule 5% narrower."""
    width = interval.sign_comparison(200, 20, 0.05)
    assert failure(width) == pytest.approx(width.tuning["failure"], rel=2e-4)
    assert failure(width, 0.95) > 1.2 * width.beta


def test_the_two_parts_of_a_coded_threshold() -> None:
    """10,000 rows, 1,000 questions, 10 failures: patterns counted in whole numbers, values by the sums above.

    Both failure probabilities together are at most beta, and with either width 5% smaller they are not.
    """
    n, k, failures, beta, threshold = 10_000, 1000, 10, 0.05, 0.04
    plan = coded_plan(n, k, failures, beta, threshold)
    assert plan is not None
    assert plan.explored + plan.reserved == n
    assert (plan.values.n, plan.values.questions) == (plan.reserved, failures)
    places = sum(math.comb(k, i) for i in range(1, failures + 1))

    def passes(narrower: float) -> float:
        return places * math.exp(-2 * plan.explored * (narrower * plan.deviation) ** 2)

    assert passes(1) + failure(plan.values) <= beta * (1 + 1e-4)
    assert passes(1) + failure(plan.values) > 0.99 * beta
    assert passes(0.95) > beta
    assert failure(plan.values, 0.95) > plan.values.beta
    assert plan.accuracy == max(threshold + plan.deviation, plan.values.half_width) < 0.099


def test_where_questions_are_asked_by_enumeration() -> None:
    """Walk through every transcript: a run goes on after a pass, and after a failure unless it was the last one."""

    def walk(left: int, failures: int) -> int:
        return 0 if left == 0 or failures == 0 else 1 + walk(left - 1, failures) + walk(left - 1, failures - 1)

    for k, failures in itertools.product(range(1, 9), range(1, 9)):
        assert math.exp(log_patterns(k, failures)) == pytest.approx(walk(k, failures), rel=1e-7)
    for k, failures in ((10**7, 10**6), (10**7, 2 * 10**6)):  # added up, and bounded
        near = failures * math.log(k / failures) + (k - failures) * math.log(k / (k - failures))
        assert near - 10 < log_patterns(k, failures) < 1.4 * near


def test_the_open_end_keeps_within_its_parts() -> None:
    """Main, far and clock parts of 40 questions, each within its share of `p_eps beta/(j (j + 1))`."""
    plan = open_plan(1000, 0.05, 100)
    root, second = math.sqrt(plan.n), second_sample(plan.n, plan.excess)
    clock = inverse = 0.0
    for j in range(1, 41):
        a, part = plan.half_width(j) * root, second * plan.beta / (j * (j + 1))
        slack, rho = -math.log(0.01 * part), rate((inverse / 4 + 1 / plan.s2) / plan.n)
        levels = [min(a + step, root) for step in (2, 3.5, 6, 10, 16, 26, 42, 72)] + [root]
        g = [min(2.0, 1 + u * u / plan.n + math.sqrt(2 * slack / plan.n)) for u in levels]
        main = log_kappa_least(a - plan.excess, plan.s2, g[0] / 2, clock, j - 1) + rho * (clock + g[0] / (2 * plan.s2))
        assert math.exp(main) <= 0.96 * part * (1 + 1e-5)
        at = levels, g, rho, clock, j - 1
        if j % 8 == 1:

            def far(logit: float, at: tuple[list[float], list[float], float, float, int] = at) -> float:
                levels, g, rho, clock, asked = at
                theta = float(expit(logit))
                terms = (
                    log_kappa(u - plan.excess, plan.s2, above / 2, clock, asked, theta)
                    + rho * (clock + above / (2 * plan.s2))
                    for (u, above) in zip(levels, g[1:], strict=False)
                    if u < root
                )
                return 2 * sum(map(math.exp, terms))

            assert least(far, -9, 9, 13) <= 0.03 * part
        inverse, clock = inverse + 1 / plan.s2, clock + g[0] / (8 * plan.s2)


def test_the_clock_by_enumeration() -> None:
    """`E Gamma` given the rows, identically distributed or not, and how often Hoeffding's slack is exceeded."""
    random = np.random.default_rng(24)
    for _ in range(300):
        points, n = int(random.integers(2, 5)), int(random.integers(1, 5))
        values = random.random(points) if random.random() < 0.5 else random.integers(0, 2, points).astype(float)
        same = random.random() < 0.5
        laws = random.dirichlet(np.full(points, 0.6), n)
        laws = np.tile(laws[0], (n, 1)) if same else laws
        rows, means = random.integers(0, points, n), laws @ values
        squares = (values[rows][:, None] - values) ** 2 / 4
        expected = float(np.mean(np.sum(laws * squares, axis=1)))
        deviation = float(np.mean((1 - 2 * means) * (values[rows] - means)))
        assert expected <= (1 + 2 * deviation) / 8 + 1e-12
        if same:
            assert expected <= (1 + float(np.mean(values[rows] - means)) ** 2) / 8 + 1e-12
        sums, chance = np.zeros(1), np.ones(1)
        for law, row in zip(laws, squares, strict=True):
            sums, chance = np.add.outer(sums, row).ravel(), np.multiply.outer(chance, law).ravel()
        for slack in (0.5, 1.5, 4.0):
            beyond = chance[sums / n > expected + math.sqrt(slack / (32 * n)) + 1e-12].sum()
            assert beyond <= math.exp(-slack)


def _worst_case(random: np.random.Generator, k: int) -> float:
    """P(an answer is off by tau)/bound: rows on 4 points, a first question, then the best of all 14 later ones.

    By dynamic programming over the answers of two or three questions.
    """
    questions = np.array(list(itertools.product([0.0, 1.0], repeat=4)))[1:-1]
    n, law = int(random.integers(2, 9)), random.dirichlet(np.full(4, random.choice([0.5, 2.0, 10.0])))
    sigma, eps = math.exp(random.uniform(math.log(0.08), 0.0)), random.uniform(0.05, 0.3)
    tau = random.uniform(0.3, 1.0) + eps + sigma * random.uniform(0, 2.5)
    counts = np.array([c for c in itertools.product(range(n + 1), repeat=4) if sum(c) == n])
    ways = np.array([math.factorial(n) / math.prod(map(math.factorial, c)) for c in counts.tolist()])
    chance = ways * np.prod(np.maximum(law, 1e-300) ** counts, axis=1)
    means, truth = counts @ questions.T / n, questions @ law
    off = means - truth
    second = min(
        float(min(chance @ (off[:, i] <= eps + 1e-12), chance @ (off[:, i] >= -eps - 1e-12))) for i in range(14)
    )
    bad = ndtr((off - tau) / sigma) + ndtr((-off - tau) / sigma)
    worst = 0.0
    answers = np.linspace(-8 * sigma, 1 + 8 * sigma, 300 if k == 2 else 90)
    step = answers[1] - answers[0]
    # the density of an answer at each sample, 0 where the answer is off already
    densities = np.exp(-(((answers[:, None, None] - means) / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi))
    densities *= np.abs(answers[:, None, None] - truth) <= tau

    def rest(weights: Array, left: int) -> Array:
        """For each row of weights of the samples, how likely the best of the questions left are to go wrong."""
        best = weights @ bad
        if left > 1:
            for i in range(14):
                later = rest((weights[:, None, :] * densities[:, :, i]).reshape(-1, chance.size), left - 1)
                best[:, i] += later.reshape(len(weights), -1).sum(axis=1) * step
        return np.asarray(best.max(axis=1))

    for i in random.permutation(14)[: 5 - k]:
        later = rest(chance * densities[:, :, i], k - 1)
        worst = max(worst, float(bad[:, i] @ chance) + float(later.sum()) * step)
    s2, total, clock = n * sigma * sigma, 0.0, 0.0
    for j in range(k):
        log = log_kappa_least((tau - eps) * math.sqrt(n), s2, 1.0, clock, j)
        total += math.exp(min(log + rate((j / (4 * s2) + 1 / s2) / n) * (clock + 1 / s2), 50.0))
        clock += 1 / (4 * s2)
    bound = total / second
    return worst / bound if bound < 1 else 0.0


@pytest.mark.parametrize(("k", "cases"), [(2, 40), (3, 15)])
def test_the_whole_bound_on_exact_adaptive_cases(k: int, cases: int) -> None:
    """With `g = 2`, no levels and the exact `p_eps` of the case, as in the simplest form of the theorem."""
    random = np.random.default_rng(25)
    ratios = [_worst_case(random, k) for _ in range(cases)]
    assert 0.05 < max(ratios) < 1
