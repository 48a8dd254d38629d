"""Level and power of the tests of composite nulls, with the rules that lose the level failing next to them.

Every simulation has a fixed seed; limits allow an error rate below 1e-6 for each test function.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests.classical import chi_square_sf
from holdfast.inference.private_tests.independence_tests import bootstrap
from holdfast.inference.private_tests.minimum_chi_square import degrees_of_freedom, fit_model
from holdfast.inference.private_tests.null_models import NullModel

MARGINS = ((0.5, 0.5), (2 / 3, 0.5), (0.9, 0.9))
RHOS = (5e-5, 3.125e-4, 1.25e-3)


def margins(first: float, second: float) -> NDArray[np.float64]:
    return np.outer([first, 1 - first], [second, 1 - second])


def limit(level: float, trials: int, sigmas: float) -> float:
    return level + sigmas * math.sqrt(level * (1 - level) / trials)


def test_levels_over_the_54_settings_and_the_classical_test_broken() -> None:
    """Spec 5.4: three margins, three rho, six n, against the worst levels that the review confirmed.

    4,000 runs each, 1,000 where tails of mixtures are needed. 216 one-sided limits at 5.8 standard errors (3.4e-9
    each): an error rate below 1e-6.
    """
    trials, rng = 4_000, np.random.default_rng(1)
    worst = {"projected": 0.0528, "nonprojected": 0.0529, "asymptotic": 0.0519, "asymptotic-printed": 0.051}
    broken, highest = 0, 0.0
    for (a, b), rho, n in product(MARGINS, RHOS, (500, 1000, 2000, 5000, 10_000, 50_000)):
        law = pt.gaussian(rho)
        noisy = pt.simulate_tables(n, margins(a, b), law, trials, rng)
        for method, level in worst.items():
            some = 1_000 if method.startswith("asymptotic") else trials  # mixture tails take their time
            rate = pt.independence_batch(noisy[:some], n, law, method=method).rate  # type: ignore[arg-type]
            assert rate < limit(level, some, 5.8), (method, a, b, rho, n, rate)
        classical = pt.independence_batch(noisy, n, law, method="classical").rate
        broken += classical > limit(0.0529, trials, 5.8)
        highest = max(highest, classical)
    # Power: the same limit refuses the classical threshold on the same tables, by far, wherever noise matters.
    assert broken >= 40
    assert highest > 0.85


def test_the_printed_weights_are_conservative_and_the_corrected_are_not() -> None:
    """Spec 5.4: .015 printed and .046 corrected at n = 2,000, rho = 1.25e-3; 40,000 runs, 5.2 standard errors."""
    trials, rng, law = 40_000, np.random.default_rng(2), pt.gaussian(1.25e-3)
    noisy = pt.simulate_tables(2000, margins(0.5, 0.5), law, trials, rng)
    assert pt.independence_batch(noisy, 2000, law, method="asymptotic-printed").rate < 0.025
    rate = pt.independence_batch(noisy, 2000, law, method="asymptotic").rate
    assert 0.042 < rate < limit(0.0519, trials, 5.2)


def test_power_at_the_specifications_setting() -> None:
    """Spec 5.5 (b): margins 2/3 and 1/2, D = .01 (1,-1)'(1,0), rho = 1.25e-3, n = 20,000; within .02 as required.

    40,000 runs have a standard error of .002, so .02 is eight of them around the asymptotic .786; the two mixtures
    take 15,000 (.0034).
    """
    law, rng = pt.gaussian(1.25e-3), np.random.default_rng(3)
    p = margins(2 / 3, 0.5) + 0.01 * np.outer([1, -1], [1, 0])
    noisy = pt.simulate_tables(20_000, p, law, 40_000, rng)
    expected = {"projected": 0.790, "nonprojected": 0.695, "asymptotic": 0.785, "asymptotic-printed": 0.761}
    power = {
        name: pt.independence_batch(noisy[: 15_000 if "asym" in name else None], 20_000, law, method=name).rate  # type: ignore[arg-type]
        for name in expected
    }
    print(power)  # `pytest -s` prints the figure that the issue asks for
    for name, value in expected.items():
        assert abs(power[name] - value) < 0.02, (name, power[name])
    assert power["asymptotic"] > power["asymptotic-printed"] > power["nonprojected"]
    few = pt.independence_batch(noisy[:3000], 20_000, law, method="monte-carlo", m=999, rng=rng).rate
    assert abs(few - power["asymptotic"]) < 6 * math.sqrt(0.17 / 3000)


@pytest.mark.parametrize(
    ("method", "shape", "n", "law", "worst"),
    [
        # The worst settings of the review: 4 by 4, n = 200, Laplace of variance 100; margins .9, rho = 5e-5, n = 2,000.
        ("monte-carlo-projected", 4, 200, pt.laplace(math.sqrt(8 / 100)), 0.057),
        ("monte-carlo", 2, 2000, pt.gaussian(5e-5), 0.057),
    ],
)
def test_inconclusive_resamples_are_drawn_again_never_ranked_as_minus_infinity(
    method: Any, shape: int, n: int, law: pt.NoiseLaw, worst: float
) -> None:
    """Review: .134 and .090 when they rank below everything; .053 with redraw. Limits at 5.6 standard errors, beyond
    which the binomial distribution of 700 runs has 2e-7 and that of 6,000 less."""
    trials, rng = (700, np.random.default_rng(4)) if shape == 4 else (6000, np.random.default_rng(5))
    p = np.full((4, 4), 1 / 16) if shape == 4 else margins(0.9, 0.9)
    noisy = pt.simulate_tables(n, p, law, trials, rng)
    rates = {
        rule: pt.independence_batch(noisy, n, law, method=method, m=59, on_null=rule, rng=rng).rate
        for rule in ("redraw", "skip", "fail", "minus-infinity")
    }
    assert rates["redraw"] < limit(worst, trials, 5.6)
    assert rates["skip"] < limit(worst, trials, 5.6)
    assert rates["fail"] < limit(worst, trials, 5.6)
    assert rates["minus-infinity"] > limit(worst, trials, 5.6), rates


@pytest.mark.parametrize(
    ("model", "theta", "sizes", "variance"),
    [
        (pt.Homogeneity(2, 3), [0.5, 0.3, 0.2], [400, 900], 200.0),
        (pt.HardyWeinberg(2), [0.3, 0.7], [1000], 200.0),
        (pt.HardyWeinberg(3), [0.3, 0.3, 0.4], [3000], 200.0),
        (pt.Symmetry(3), [0.2, 0.15, 0.15, 0.2, 0.15, 0.15], [2000], 200.0),
        (pt.Independence(3, 4), [0.3, 0.3, 0.4, 0.25, 0.25, 0.25, 0.25], [3000], 800.0),
    ],
    ids=str,
)
def test_levels_of_the_other_models(model: NullModel, theta: list[float], sizes: list[int], variance: float) -> None:
    """Both statistics and the bootstrap; 10,000 runs (1,500), 5.2 standard errors; without the noise they fail."""
    trials, rng, law = 10_000, np.random.default_rng(6), pt.gaussian(1 / variance)
    p = model.probabilities(np.array(theta))
    tables = rng.multinomial(np.array(sizes), p, size=(trials, model.groups))
    noisy = tables + law.sample(rng, tables.shape)
    found = fit_model(noisy, model, sizes=sizes, variance=variance)
    assert found.conclusive.mean() > 0.97
    for projected, statistic in ((True, found.projected), (False, found.nonprojected)):
        p_values = chi_square_sf(np.where(found.conclusive, statistic, 0.0), degrees_of_freedom(model, projected))
        rate = float(((p_values <= 0.05) & found.conclusive).mean())
        assert 0.05 - 5.2 * math.sqrt(0.05 * 0.95 / trials) - 0.002 < rate < limit(0.0529, trials, 5.2), (model, rate)
    # Wrong on purpose: the same fit told that there is no noise.
    naive = fit_model(noisy, model, sizes=sizes, variance=1e-9).projected
    naive_p = chi_square_sf(np.where(found.conclusive, naive, 0.0), degrees_of_freedom(model))
    assert ((naive_p <= 0.05) & found.conclusive).mean() > limit(0.0529, trials, 5.2)
    some = slice(0, 1500)

    def statistic_of(t: NDArray[np.float64]) -> Any:
        return fit_model(t, model, sizes=sizes, variance=variance).projected

    batch = bootstrap(
        found.projected[some], found.probabilities[some], np.array(sizes, float), law, statistic_of, 0.05, 19, rng=rng
    )
    assert batch.rate < limit(0.057, 1500, 5.2)


def test_exact_level_of_the_general_test_for_a_simple_null_on_a_lattice() -> None:
    """Discrete noise, few records, ties: the Monte Carlo level is a theorem. 1,500 runs, 5.2 standard errors."""
    rng, p0, n, trials = np.random.default_rng(7), np.array([0.2, 0.3, 0.5]), 12, 1500
    law = pt.discrete_laplace(2)
    rejected = 0
    for h in rng.multinomial(n, p0, trials):
        noisy = pt.NoisyCounts(h + law.sample(rng, 3), n, law)
        rejected += bool(pt.mc_minimum_chi_square(noisy, pt.Simple(p0), m=19, rng=rng).reject)
    assert rejected / trials < limit(0.05, trials, 5.2)
    assert rejected > 10


def test_whole_number_noise_of_small_variance_breaks_only_the_refused_statistic() -> None:
    """Discrete Gaussian of variance .12 (spec 1.2): the projected and corrected tests keep .05, the nonprojected is at
    .12, which is why it is refused. 20,000 runs, 5.2 standard errors: an error rate below 1e-6."""
    trials, rng, law = 20_000, np.random.default_rng(8), pt.discrete_gaussian(1 / 0.12)
    noisy = pt.simulate_tables(1000, margins(0.5, 0.5), law, trials, rng)
    for method in ("projected", "asymptotic"):
        assert pt.independence_batch(noisy, 1000, law, method=method).rate < limit(0.0528, trials, 5.2)
    assert pt.independence_batch(noisy, 1000, law, method="nonprojected").rate > 0.1
    with pytest.raises(InvalidParameter, match="variance at least 1"):
        pt.independence([[250, 250], [250, 250]], rho=1 / 0.12, method="nonprojected")
