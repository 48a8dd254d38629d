"""Posterior sensitivity: the sharper gap against a linear program over all mechanisms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from holdfast.bounds.interval.posterior_shift import posterior_shift
from holdfast.bounds.interval.published import jung, posterior_gap

Outcome = tuple[int, ...]


def worst_probability(rows: int, p: float, epsilon: float, delta: float, gap: float) -> float:
    """The largest probability, over all (epsilon, delta)-private mechanisms, that the posterior mean moves by `gap`.

    Rows are Bernoulli(p), the question is the row itself. Three outputs suffice: posterior too high, too low, neither
    (outputs on the same side can be merged). Privacy is imposed on every set of outputs and both directions.
    """
    samples = list(itertools.product((0, 1), repeat=rows))
    weight = {x: math.prod(p if v else 1 - p for v in x) for x in samples}
    index = {(x, w): i for i, (x, w) in enumerate(itertools.product(samples, range(3)))}
    upper: list[np.ndarray] = []
    limits: list[float] = []
    for x, y in itertools.permutations(samples, 2):
        if sum(a != b for a, b in zip(x, y, strict=True)) != 1:
            continue
        for size in (1, 2):
            for outputs in itertools.combinations(range(3), size):
                line = np.zeros(len(index))
                for w in outputs:
                    line[index[x, w]] += 1
                    line[index[y, w]] -= math.exp(epsilon)
                upper.append(line)
                limits.append(delta)
    for w, sign in ((0, 1.0), (1, -1.0)):
        line = np.zeros(len(index))
        for x in samples:  # sum P(x) K_x(w) (sign (mean - p) - gap) >= 0
            line[index[x, w]] = -weight[x] * (sign * (sum(x) / rows - p) - gap)
        upper.append(line)
        limits.append(0.0)
    equal = np.zeros((len(samples), len(index)))
    for row, x in enumerate(samples):
        for w in range(3):
            equal[row, index[x, w]] = 1
    goal = np.zeros(len(index))
    for x in samples:
        goal[index[x, 0]] = goal[index[x, 1]] = -weight[x]
    found = linprog(goal, np.array(upper), np.array(limits), equal, np.ones(len(samples)), bounds=(0, 1))
    assert found.status == 0
    return -float(found.fun)


SETTINGS = [
    (rows, p, epsilon, delta, d)
    for rows in (1, 2)
    for p in (0.5, 0.35, 0.1)
    for epsilon in (0.2, 1.0, 2.5)
    for delta, d in ((0.01, 0.03), (0.05, 0.08), (0.1, 0.4))
]


def test_no_mechanism_beats_the_bound() -> None:
    for rows, p, epsilon, delta, d in SETTINGS:
        assert worst_probability(rows, p, epsilon, delta, posterior_gap(epsilon) + d) <= delta / d + 1e-9


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_pure_constant_is_attained_and_a_smaller_one_is_refuted(epsilon: float) -> None:
    """Above tanh(eps/4) nothing moves the posterior; just below something does, so tanh(eps/5) would be wrong."""
    gap = posterior_gap(epsilon)
    p = (1 - gap) / 2
    assert worst_probability(1, p, epsilon, 0.0, gap * 1.0001) < 1e-9
    assert worst_probability(1, p, epsilon, 0.0, gap * 0.999) > 0.05
    assert math.tanh(epsilon / 5) < gap * 0.999


def test_gap_is_never_above_the_printed_one() -> None:
    for epsilon in (1e-6, 0.1, 1.0, 5.0):
        assert posterior_gap(epsilon) <= posterior_gap(epsilon, "paper") / 4 * (1 + 1e-12)


def test_best_over_r_is_the_tanh() -> None:
    for epsilon in (0.1, 1.0, 4.0):
        t, r = math.tanh(epsilon / 2), np.linspace(-1, 1, 200_001)
        assert np.max(t * (1 - r * r) / (2 * (1 - t * r))) == pytest.approx(posterior_gap(epsilon), rel=1e-9)


def test_parameters_reproduce_the_width() -> None:
    from holdfast.bounds.conversions import gdp_delta
    from holdfast.bounds.interval.published import noise_bound

    width = jung(6400, 640, 0.05)
    epsilon, delta, b = (width.tuning[name] for name in ("epsilon", "delta", "sample_failure"))
    assert delta >= gdp_delta(math.sqrt(640) / (6400 * width.sigma), epsilon) * (1 - 1e-12)
    rebuilt = width.sigma * noise_bound(640, b, "gaussian") + math.tanh(epsilon / 4) + (b**0.5 + delta**0.5) ** 2 / 0.05
    assert width.half_width == pytest.approx(rebuilt, rel=1e-12)


def test_posterior_shift_is_smaller_still() -> None:
    for n, k, beta in [(1000, 10, 0.3), (6400, 640, 0.05), (10**5, 1000, 1e-4), (10**6, 10**5, 0.01)]:
        assert posterior_shift(n, k, beta).half_width < jung(n, k, beta).half_width
