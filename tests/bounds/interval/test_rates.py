"""Theorem D': its clock by enumeration, its conditions one by one, the specification's table, and an attack."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.bounds import interval
from holdfast.bounds.interval import rates, signs
from holdfast.errors import InvalidParameter


def _exceedance(factor: float, cases: int) -> float:
    """The largest P(Gamma > factor g/8 | rows)/e^-slack over random small populations, exactly."""
    random, worst = np.random.default_rng(4), 0.0
    for _ in range(cases):
        points, n = int(random.integers(2, 5)), int(random.integers(1, 5))
        law = random.dirichlet(np.full(points, random.choice([0.2, 1.0, 4.0])))
        values = random.random(points) if random.random() < 0.5 else random.integers(0, 2, points).astype(float)
        rows = random.integers(0, points, n)
        p = min(max(float(law @ values), 0.0), 1.0)
        level = abs(float(values[rows].mean()) - p)
        sums, chance = np.zeros(1), np.ones(1)
        for row in rows:
            sums = np.add.outer(sums, (values[row] - values) ** 2 / 4).ravel()
            chance = np.multiply.outer(chance, law).ravel()
        q = min(p, 1 - p)
        for slack in (0.5, 1.5, 4.0):
            g = float(rates.spread_factor(q, q, level, n, slack))
            worst = max(worst, float(chance[sums / n > factor * g / 8 + 1e-12].sum()) / math.exp(-slack))
    return worst


def test_the_step_of_the_clock_covers_what_a_question_adds() -> None:
    """Bernstein's inequality with the mean of Theorem D'; half of the factor is exceeded far more often."""
    assert _exceedance(1.0, 600) <= 1
    assert _exceedance(0.5, 200) > 1.5


def test_the_factor_of_the_specification_and_its_direction() -> None:
    slack = math.log(2_000_000)
    found = [float(rates.spread_factor(p, p, u, n, slack)) for p, u, n in [(0.05, 0.022, 10**5), (0.1, 0.03, 10**4)]]
    assert [round(g, 6) for g in found] == [0.241240, 0.457627]
    low, high = 0.2, 0.45
    inside = [float(rates.spread_factor(p, p, 0.3, 1000, slack)) for p in np.linspace(low, high, 60)]
    assert max(inside) <= float(rates.spread_factor(low, high, 0.3, 1000, slack)) <= max(inside) * (1 + 1e-3)


@dataclass
class Term:
    """`delta + log kappa` of one question."""

    s2: float
    clock: float
    asked: int
    share: float

    def __call__(self, t: float, g: float, theta: float) -> float:
        value = signs.log_kappa(t, self.s2, g / 2, self.clock, self.asked, theta)
        return value + self.share * (self.clock + g / (2 * self.s2))


@pytest.mark.parametrize(("n", "k", "rate"), [(100_000, 1000, 0.01), (2000, 60, 0.1), (100, 20, 0.3)])
def test_every_condition_holds_and_narrower_widths_break_one(n: int, k: int, rate: float) -> None:
    """Both conditions of the odometer form for every cell, with kappa computed one question at a time."""
    plan = interval.rate_plan(n, k, 0.05, rate)
    second = signs.second_sample(n, plan.excess)
    parts = float(np.exp(plan.log_parts) @ np.array(plan.counts)) + k * math.exp(plan.log_far) + 0.01 * 0.05
    assert 0.99 * second * 0.05 <= parts <= second * 0.05
    random, root, loosest = np.random.default_rng(1), math.sqrt(n), -math.inf
    for question in (1, k // 2, k):
        clock = plan.planned_clock(question) * random.uniform(0.3, 1.5)
        a, reach, factors = plan._solved(question, clock, plan._start(question))
        run, s2 = plan.run(question), n * plan.scale(question) ** 2
        before = sum(1 / (n * plan.scale(j) ** 2) for j in range(1, question))
        v = (before / 4 + 1 / s2) / n
        share = float(signs.sign_excess_rate(np.array([v]))[0])

        term = Term(s2, clock, question - 1, share)
        for cell in random.integers(0, a.size, 8):
            low, high = rates._EDGES[cell], rates._EDGES[cell + 1]

            def g(u: float, low: float = low, high: float = high) -> float:
                return float(rates.spread_factor(low, high, min(u / root, 1.0), n, plan.slack))

            width = float(a[cell])
            if not math.isfinite(width):
                continue
            levels = [min(width + step * math.sqrt(g(width)) * reach[cell], root) for step in rates._STEPS] + [root]
            main = term(width - plan.excess, g(levels[0]), plan.thetas[run]) - plan.log_parts[run]
            assert main <= 1e-9
            assert g(levels[0]) <= factors[cell]
            far = [
                math.log(2) + term(u - plan.excess, g(above), plan.far_thetas[run])
                for u, above in itertools.pairwise(levels)
                if u < root
            ]
            assert np.logaddexp.reduce([-math.inf, *far]) <= plan.log_far
            if 0.97 * width > plan.excess:
                narrow = min(0.97 * width + rates._STEPS[0] * math.sqrt(g(0.97 * width)) * reach[cell], root)
                loosest = max(
                    loosest, term(0.97 * width - plan.excess, g(narrow), plan.thetas[run]) - plan.log_parts[run]
                )
    assert loosest > 0


@pytest.mark.parametrize(
    ("n", "rate", "width", "high"),
    [
        (100_000, 0.01, 0.0093, None),
        (100_000, 0.05, 0.0159, 0.0680),
        (10_000, 0.1, 0.0808, 0.1985),
    ],
)
def test_the_table_of_the_specification(n: int, rate: float, width: float, high: float | None) -> None:
    """Within 2% of its half-widths; its upper ends, which are what counts, within 0.2%."""
    found = interval.sign_comparison_rates(n, 1000, 0.05, rate)
    assert found.tuning["at_rate"] == pytest.approx(width, rel=0.02)
    if high is not None:
        assert found.tuning["high"] <= high * 1.002
    theorem_c = interval.small_variance_plan(n, 1000, 0.05, math.sqrt(rate * (1 - rate))).interval(rate)
    assert found.tuning["high"] < theorem_c[1]
    assert found.tuning["low"] >= theorem_c[0]


def test_rates_of_one_half_cost_hardly_more_than_theorem_d() -> None:
    plan = interval.rate_plan(10_000, 100, 0.05, 0.5)
    assert 1 < plan.width / interval.sign_comparison(10_000, 100, 0.05).half_width < 1.015


def test_directions() -> None:
    plan = interval.rate_plan(5000, 80, 0.05, 0.05)
    half = [plan.widths(40, clock)[0] for clock in (0.5 * plan.planned_clock(40), 3 * plan.planned_clock(40))]
    assert np.all(half[0] < half[1])
    assert np.all(np.diff(half[0][rates._EDGES[1:] < 0.4][::10]) > 0)  # wider towards 1/2; g falls a little at its end
    width = interval.sign_comparison_rates
    slack = 1 + 2e-3
    assert width(5000, 80, 0.05, 0.05).value <= width(5000, 100, 0.05, 0.05).value * slack
    assert width(6000, 80, 0.05, 0.05).value <= width(5000, 80, 0.05, 0.05).value * slack
    assert width(5000, 80, 0.1, 0.05).value <= width(5000, 80, 0.05, 0.05).value * slack


def test_an_answer_leaves_possible_what_is_within_its_own_width() -> None:
    plan = interval.rate_plan(5000, 80, 0.05, 0.05)
    clock = plan.planned_clock(30)
    widths, factors = plan.widths(30, clock)
    for answer in (0.0, 0.03, 0.2, 0.49, 0.9, 1.0):
        low, high, step = plan.read(answer, 30, clock, 0.0)
        p = np.linspace(0, 1, 5001)
        cell = np.clip(np.searchsorted(rates._EDGES, np.minimum(p, 1 - p)) - 1, 0, widths.size - 1)
        inside = np.abs(answer - p) <= widths[cell]
        assert low <= p[inside].min() <= low + 3e-4
        assert high - 3e-4 <= p[inside].max() <= high
        assert step >= factors[cell[inside]].max() / (8 * 5000 * plan.scale(30) ** 2)
        wider = plan.read(answer, 30, clock, 0.001)
        assert wider[0] <= low
        assert wider[1] >= high
        assert wider[2] >= step
        mirrored = plan.read(1 - answer, 30, clock, 0.0)
        assert mirrored == pytest.approx((1 - high, 1 - low, step), abs=1e-12)


def test_the_last_interval_is_not_shorter_than_that_of_a_run_at_the_rate() -> None:
    for n, k, rate in ((2000, 40, 0.05), (100_000, 20, 0.001)):
        plan, clock = interval.rate_plan(n, k, 0.05, rate), 0.0
        for question in range(1, k + 1):
            low, high, step = plan.read(rate, question, clock, 0.0)
            clock += step
        assert plan.last()[0] <= low
        assert plan.last()[1] >= high
        assert clock <= plan.horizon


def test_the_attack_along_the_posterior_mean_stays_inside() -> None:
    """Bits of rate .1: 14 of 40 runs miss with probability below 1e-6. A sixth of the interval is left in most runs."""
    n, k, runs, rate = 500, 20, 40, 0.1
    plan, random, missed, outside = interval.rate_plan(n, k, 0.05, rate), np.random.default_rng(6), 0, 0
    for _ in range(runs):
        bits, clock, score, bad, far = random.random((n, k - 1)) < rate, 0.0, np.zeros(n), False, False
        weights = np.zeros(k - 1)
        for question in range(1, k + 1):
            last = question == k
            cut = float(np.quantile(score, 0.9)) if last else 0.0
            values = score > cut if last else bits[:, question - 1]
            # the truth of the last question, on many fresh rows with the same weights
            truth = float(np.mean((random.random((4000, k - 1)) < rate) @ weights > cut)) if last else rate
            answer = min(max(float(values.mean()) + plan.scale(question) * random.standard_normal(), 0.0), 1.0)
            low, high, step = plan.read(answer, question, clock, 0.0)
            clock += step
            if not last:
                weights[question - 1] = answer - rate
                score = score + weights[question - 1] * values
            bad |= not low <= truth <= high
            far |= abs(answer - truth) > (high - low) / 6
        missed, outside = missed + bad, outside + far
    assert missed <= int(binom.isf(1e-6, runs, 0.05))
    assert outside > 30


def test_wrong_input_is_refused_by_name() -> None:
    for name, value in (("rate", 0.0), ("rate", 0.6), ("questions", 0), ("noise", "laplace")):
        arguments = {"n": 1000, "questions": 5, "beta": 0.05, "rate": 0.1} | {name: value}
        with pytest.raises(InvalidParameter, match=name):
            interval.sign_comparison_rates(**arguments)  # type: ignore[arg-type]


def test_cells_whose_far_levels_never_fit_have_no_width() -> None:
    """With next to nothing left to the far levels and 10**18 rows, 80 steps outwards do not reach a level of 1."""
    plan = replace(rates.rate_plan(10**18, 3, 0.05, 1e-6), log_far=-1e30)
    start = np.full(240, 10.0), np.ones(240)
    widths, _, factors = plan._solved(1, 0.0, start)
    assert np.isinf(widths).all()
    assert np.isfinite(factors).all()
    fits, _, _ = replace(plan, log_far=-60.0)._solved(1, 0.0, start)
    assert np.isfinite(fits).all()
