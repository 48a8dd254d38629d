"""GWAS output perturbation: the sensitivity by brute force over every table, the tail, the level, the refusals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from holdfast.accounting import ZCDP
from holdfast.errors import InvalidParameter
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests.gwas import sensitivity, shifted_tail, statistic, tail, threshold
from holdfast.noise import Seeded


def _columns(total: int, rows: int) -> list[tuple[int, ...]]:
    return [c for c in product(range(total + 1), repeat=rows) if sum(c) == total]


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("design", [(2, 2), (3, 3), (4, 4), (1, 4), (5, 1), (2, 5), (4, 3), (1, 1)])
def test_sensitivity_is_attained_and_never_exceeded(design: tuple[int, int], rows: int) -> None:
    """Every table with these public totals, every replacement of one genotype, empty rows included; exact fractions."""
    values = {
        (a, b): statistic(list(zip(a, b, strict=True)))
        for a in _columns(design[0], rows)
        for b in _columns(design[1], rows)
    }
    worst = Fraction(0)
    for (a, b), value in values.items():
        for i, j in product(range(rows), repeat=2):
            for side in (0, 1):
                moved = [list(a), list(b)]
                moved[side][i] -= 1
                moved[side][j] += 1
                if i != j and moved[side][i] >= 0:
                    worst = max(worst, abs(values[tuple(moved[0]), tuple(moved[1])] - value))
    assert worst == sensitivity(*design)


def test_each_step_of_the_proof() -> None:
    """One more case in a row adds `1 - b^2/(N(N+1))`, which lies in `[1/(n2+1), 1]`; the printed form when balanced."""
    for a, b in product(range(12), repeat=2):
        before = Fraction(a * a, a + b) if a + b else Fraction(0)
        added = Fraction((a + 1) ** 2, a + 1 + b) - before
        assert added == (1 - Fraction(b * b, (a + b) * (a + b + 1)) if a + b else 1)
        assert Fraction(1, b + 1) <= added <= 1
    for n in (4, 10, 1000, 10**6):
        assert sensitivity(n // 2, n // 2) == Fraction(4 * n, n + 2)


def test_a_private_label_would_break_the_bound() -> None:
    """Why labels must be fixed: 6 cases, 3 controls, one label changed; the specification's 3.995 against 3.857."""
    worst = Fraction(0)
    for a, b in product(_columns(6, 3), _columns(3, 3)):
        here = statistic(list(zip(a, b, strict=True)))
        for i, j, side in product(range(3), range(3), (0, 1)):
            moved = [list(a), list(b)]
            moved[side][i] -= 1
            moved[1 - side][j] += 1
            if moved[side][i] >= 0:
                worst = max(worst, abs(statistic(list(zip(*moved, strict=True))) - here))
    assert float(worst) == pytest.approx(3.995, abs=5e-4)
    assert worst > sensitivity(6, 3)


def test_tail_against_quadrature_and_its_limits() -> None:
    for sd in (0.05, 1.0, 12.6, 80.0, 4000.0):
        for t in (-2 * sd, 0.0, 1.0, 7.0, 3 * sd):
            exact, _ = integrate.quad(
                lambda w, t=t, sd=sd: 0.5 * math.exp(-w / 2) * stats.norm.sf((t - w) / sd),
                0,
                120,
                points=[min(max(t, 0.0), 119.0)],
                epsabs=1e-13,
                limit=400,
            )
            assert tail(t, sd) == pytest.approx(exact, abs=2e-10)
    assert tail(-1e9, 3.0) == 1
    assert tail(1e9, 3.0) == 0
    assert tail(40.0, 1e-3) == pytest.approx(math.exp(-20), rel=1e-5)
    for sd in (1e-3, 1.0, 1e5):
        for alpha in (0.2, 0.05, 1e-6):
            assert tail(threshold(sd, alpha), sd) == pytest.approx(alpha, rel=1e-9)


def test_the_tail_of_a_shifted_law_far_below_zero_is_the_normal_one() -> None:
    assert shifted_tail(-50.0, 1.0, 3.0) == 1
    for t in (-9.5, -8.0, -7.0):
        assert shifted_tail(t, 1.0, 0.0) == pytest.approx(tail(t, 1.0), abs=1e-12)


def test_level_holds_and_ignoring_the_noise_does_not() -> None:
    """Balanced 3 by 2, n = 1,000, rho = .05, 40,000 runs of the continuous distribution, 5.2 standard errors: below
    1e-6."""
    rng, trials = np.random.default_rng(3), 40_000
    law = np.full(3, 1 / 3)
    a, b = rng.multinomial(500, law, trials), rng.multinomial(500, law, trials)
    chi = 4 * ((a * a / (a + b)).sum(axis=1) - 250)
    sd = float(sensitivity(500, 500)) / math.sqrt(2 * 0.05)
    released = chi + rng.normal(0, sd, trials)
    limit = 0.0523 + 5.2 * math.sqrt(0.05 * 0.95 / trials)
    assert 0.05 - 5.2 * math.sqrt(0.05 * 0.95 / trials) < (tail(released, sd) <= 0.05).mean() < limit
    assert (stats.chi2.sf(released, 2) <= 0.05).mean() > 0.3


def test_power_is_that_of_the_figure() -> None:
    """Figure 23 (spec 5.6): .673 at n = 1,000, rho = .05, theirs of 10,000 runs; and .685 with 25 times less budget."""
    rng, trials = np.random.default_rng(4), 20_000
    a, b = rng.multinomial(500, [1 / 2, 1 / 4, 1 / 4], trials), rng.multinomial(500, np.full(3, 1 / 3), trials)
    chi = 4 * ((a * a / (a + b)).sum(axis=1) - 250)
    sd = float(sensitivity(500, 500)) / math.sqrt(2 * 0.05)
    power = (tail(chi + rng.normal(0, sd, trials), sd) <= 0.05).mean()
    slack = 5.2 * math.sqrt(0.22 * (1 / trials + 1 / 10_000)) + 5e-4
    assert abs(power - 0.673) < slack
    law = pt.gaussian(0.002)
    noisy = np.stack([a, b], axis=2) + law.sample(rng, (trials, 3, 2))
    assert abs(pt.independence_batch(noisy, 1000, law).rate - 0.685) < slack


def test_result_and_refusals() -> None:
    found = pt.gwas([[250, 167], [125, 167], [125, 166]], rho=0.5, source=Seeded(1))
    assert found.cost == ZCDP(0.5)
    assert found.details["sd"] == pytest.approx(float(sensitivity(500, 500)) / 1.0, rel=2e-3)
    assert found.level == "asymptotic"
    empty = pt.gwas([[0, 0], [3, 4], [7, 6]], rho=1)  # an empty row is no NULL here: it contributes nothing
    assert 0 <= empty.p_value <= 1  # type: ignore[operator]
    few = pt.gwas([[1, 2], [1, 2], [1, 1]], rho=1, source=Seeded(1))
    assert "n = 8 is below 10, where the level was not measured" in few.warnings
    assert not any("below 10" in warning for warning in empty.warnings)
    for wrong in ([[1, 2], [3, 4]], [[1, -2], [3, 4], [5, 6]], [[1, 0.5], [3, 4], [5, 6]], [[1, 0], [3, 0], [5, 0]]):
        with pytest.raises(InvalidParameter):
            pt.gwas(wrong, rho=1)
    for rho in (0, -1, float("nan")):
        with pytest.raises(InvalidParameter):
            pt.gwas([[1, 2], [3, 4], [5, 6]], rho=rho)
    with pytest.raises(InvalidParameter, match="labels"):
        pt.gwas([[1, 2], [3, 4], [5, 6]], rho=1, labels="private")
