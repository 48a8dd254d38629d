"""Conversions against 50-digit arithmetic, against another library, and against the distributions they describe."""

from __future__ import annotations

import math
import warnings
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.conversions import (
    approx_to_pointwise,
    gaussian_sigma,
    gdp_budget,
    gdp_delta,
    gdp_to_dp,
    gdp_to_zcdp,
    pure_to_gdp,
    pure_to_rdp,
    pure_to_zcdp,
    rdp_to_dp,
    zcdp_budget,
    zcdp_delta,
    zcdp_to_dp,
)
from holdfast.errors import InvalidParameter

RHOS = [1e-12, 1e-8, 1e-4, 0.01, 0.3, 1.0, 30.0, 1e4]
DELTAS = [1e-300, 1e-40, 1e-10, 1e-6, 1e-3, 0.1, 0.6, 0.99]
SETTINGS = settings(deadline=None, max_examples=100, derandomize=True)
rhos = st.floats(-12, 4).map(lambda x: 10.0**x)
deltas = st.floats(-300, -0.005).map(lambda x: 10.0**x)
epsilons = st.floats(-9, 3).map(lambda x: 10.0**x)


@pytest.fixture(autouse=True)
def _fifty_digits() -> Any:
    with mp.workdps(50):
        yield


def cks(rho: float, delta: float) -> Any:
    """The optimised conversion in 50 digits, by bisection for the order."""
    r, slack = mp.mpf(rho), -mp.log(mp.mpf(delta))
    low, high = mp.mpf(-800), mp.mpf(800)
    for _ in range(200):
        u = (low + high) / 2
        low, high = (u, high) if r * mp.exp(2 * u) + mp.log1p(mp.exp(u)) < slack else (low, u)
    t = mp.exp(low)
    return max(mp.mpf(0), r * (1 + t) - mp.log1p(1 / t) + (slack - mp.log1p(t)) / t)


def gaussian_delta(mu: float, epsilon: float) -> Any:
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)


def relative(value: float, truth: Any) -> float:
    return float((mp.mpf(value) - truth) / truth)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_zcdp_forms_to_fifty_digits(rho: float, delta: float) -> None:
    r, d = mp.mpf(rho), mp.mpf(delta)
    simple = r + 2 * mp.sqrt(r * -mp.log(d))
    pi = r + 2 * mp.sqrt(r * max(mp.log(mp.sqrt(mp.pi * r) / d), 0))
    assert 0 <= relative(zcdp_to_dp(rho, delta, "simple"), simple) < 1e-14
    assert 0 <= relative(zcdp_to_dp(rho, delta, "pi"), pi) < 1e-13
    assert zcdp_to_dp(rho, delta, "paper") == zcdp_to_dp(rho, delta, "pi")
    truth = cks(rho, delta)
    value = zcdp_to_dp(rho, delta, "cks")
    if truth > 0:
        assert 0 <= relative(value, truth) < 1e-13
        assert zcdp_delta(rho, value) <= delta * (1 + 1e-9)
    else:
        assert value < 1e-13 * (1 + rho)
    assert zcdp_to_dp(rho, delta) <= min(value, float(simple), float(pi)) * (1 + 1e-14)


@pytest.mark.parametrize("mu", [math.sqrt(2 * r) for r in RHOS])
@pytest.mark.parametrize("delta", DELTAS)
def test_gdp_to_fifty_digits(mu: float, delta: float) -> None:
    epsilon = gdp_to_dp(mu, delta)
    if epsilon == 0:
        assert gaussian_delta(mu, 0.0) <= mp.mpf(delta)
        return
    truth = gaussian_delta(mu, epsilon)
    assert truth <= mp.mpf(delta)
    assert truth >= mp.mpf(delta) * (1 - mp.mpf("1e-11"))
    assert 0 <= relative(gdp_delta(mu, epsilon), truth) < 1e-11


@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 0.01, 0.5, 1.0, 3.0, 30.0, 500.0])
def test_pure_conversions_to_fifty_digits(epsilon: float) -> None:
    mp.mp.dps = 500  # the oracle subtracts numbers that agree in hundreds of digits
    e = mp.mpf(epsilon)
    assert 0 <= relative(pure_to_zcdp(epsilon), e * mp.tanh(e / 2)) < 2e-15
    for order in (1 + 1e-9, 1.1, 2.0, 10.0, 1e3, 1e9):
        a = mp.mpf(order)
        truth = (mp.log(mp.cosh((a - 0.5) * e)) - mp.log(mp.cosh(e / 2))) / (a - 1)
        assert 0 <= relative(pure_to_rdp(epsilon, order), truth) < 1e-14
    assert pure_to_rdp(epsilon, math.inf) == epsilon
    assert pure_to_rdp(epsilon, 1) == pure_to_zcdp(epsilon)
    if epsilon <= 30:
        truth = 2 * mp.sqrt(2) * mp.erfinv(mp.tanh(e / 2))
        assert 0 <= relative(pure_to_gdp(epsilon), truth) < 1e-13


def test_pure_conversions_are_the_smallest_that_cover_randomized_response() -> None:
    """The claim holds for randomized response at every order; with a constant 0.1% smaller the same check fails."""
    for epsilon in (0.01, 0.5, 2.0, 6.0):
        top = 1 / (1 + math.exp(-epsilon))

        def covered(rho: float, epsilon: float = epsilon) -> bool:
            orders = np.concatenate([1 + np.logspace(-6, 0, 60), np.logspace(0.5, 4, 60)])
            return all(pure_to_rdp(epsilon, float(a)) <= rho * a for a in orders)

        def dominated(mu: float, epsilon: float = epsilon, top: float = top) -> bool:
            # hockey stick of randomized response against that of the Gaussian, at every level
            levels = np.linspace(0, epsilon, 200)
            return all(top - math.exp(x) * (1 - top) <= gdp_delta(mu, float(x)) * (1 + 1e-12) for x in levels)

        assert covered(pure_to_zcdp(epsilon))
        assert not covered(0.999 * pure_to_zcdp(epsilon))
        assert dominated(pure_to_gdp(epsilon))
        assert not dominated(0.999 * pure_to_gdp(epsilon))


@SETTINGS
@given(rhos, deltas, st.sampled_from(["best", "cks", "pi", "simple"]))
def test_zcdp_budget_is_the_inverse(rho: float, delta: float, method: Any) -> None:
    epsilon = zcdp_to_dp(rho, delta, method)
    budget = zcdp_budget(epsilon, delta, method)
    assert zcdp_to_dp(budget, delta, method) <= epsilon
    assert budget >= rho * (1 - 1e-9)
    assert zcdp_to_dp(budget * 1.0001, delta, method) >= epsilon


@SETTINGS
@given(rhos, deltas)
def test_gdp_budget_is_the_inverse_and_gdp_is_never_worse(rho: float, delta: float) -> None:
    mu = math.sqrt(2 * rho)
    epsilon = gdp_to_dp(mu, delta)
    budget = gdp_budget(epsilon, delta)
    assert gdp_to_dp(budget, delta) <= epsilon
    assert budget >= mu * (1 - 1e-9)
    assert gdp_delta(mu, epsilon) <= delta * (1 + 1e-12)
    assert epsilon <= zcdp_to_dp(rho, delta) * (1 + 1e-12) + 1e-15
    assert gdp_to_zcdp(mu) >= rho * (1 - 1e-15)


@SETTINGS
@given(epsilons, deltas)
def test_budgets_fit_what_they_are_asked_for(epsilon: float, delta: float) -> None:
    for method in ("best", "cks", "pi", "simple"):
        assert zcdp_to_dp(zcdp_budget(epsilon, delta, method), delta, method) <= epsilon  # type: ignore[arg-type]
    assert gdp_to_dp(gdp_budget(epsilon, delta), delta) <= epsilon
    assert gdp_budget(epsilon, delta) ** 2 / 2 >= zcdp_budget(epsilon, delta, "cks") * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e8, 1e300, 1.7e308])
@pytest.mark.parametrize("delta", [5e-324, 1e-9, 1 - 2.0**-53])
def test_a_gdp_budget_fits_also_where_numbers_end(epsilon: float, delta: float) -> None:
    assert gdp_to_dp(gdp_budget(epsilon, delta), delta) <= epsilon


@SETTINGS
@given(rhos, deltas, st.floats(1.001, 100))
def test_more_rho_costs_more_and_more_delta_costs_less(rho: float, delta: float, factor: float) -> None:
    mu = math.sqrt(2 * rho)
    slack = 1 + 1e-12
    assert zcdp_to_dp(rho, delta) <= zcdp_to_dp(rho * factor, delta) * slack
    assert gdp_to_dp(mu, delta) <= gdp_to_dp(mu * factor, delta) * slack
    smaller = delta / factor
    if smaller > 1e-305:
        assert zcdp_to_dp(rho, delta) <= zcdp_to_dp(rho, smaller) * slack
        assert gdp_to_dp(mu, delta) <= gdp_to_dp(mu, smaller) * slack


def test_zcdp_conversion_never_undercuts_the_gaussian_mechanism() -> None:
    """The Gaussian is rho-zCDP exactly, so no valid conversion is below its true epsilon; one with half of rho is."""

    def valid(halve: float) -> bool:
        return all(
            zcdp_to_dp(rho * halve, delta) >= gdp_to_dp(math.sqrt(2 * rho), delta) * (1 - 1e-12)
            for rho in (1e-4, 0.01, 0.3, 3.0)
            for delta in (1e-9, 1e-5, 0.01, 0.2)
        )

    assert valid(1.0)
    assert not valid(0.5)


def test_total_variation_alone_can_be_enough() -> None:
    for delta in (1e-6, 0.01, 0.3, 0.9):
        rho = max(2 * delta**2, -math.log1p(-(delta**2)))
        assert zcdp_to_dp(rho * (1 - 1e-12), delta) == 0
        assert zcdp_delta(rho * (1 - 1e-12), 0.0) <= delta * (1 + 1e-12)
        assert gdp_to_dp(math.sqrt(2 * rho), delta) == 0  # the Gaussian's own distance is smaller still
    assert zcdp_to_dp(1e-4, 0.00708) == 0 < zcdp_to_dp(1e-4, 0.0085, "cks")
    assert zcdp_to_dp(1e-4, 0.00858, "cks") == 0


def test_against_dp_accounting() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dp_accounting.pld import privacy_loss_distribution
        from dp_accounting.rdp import compute_epsilon

        orders = [1.5, 2, 4, 8, 16, 32, 64]
        curve = [0.1 * a for a in orders]
        theirs, _ = compute_epsilon(orders, curve, 1e-6)
        assert rdp_to_dp(orders, curve, 1e-6) == pytest.approx(theirs, rel=1e-12)
        loss = privacy_loss_distribution.from_gaussian_mechanism(2.0, value_discretization_interval=1e-4)
        for delta in (1e-3, 1e-6):
            assert gdp_to_dp(0.5, delta) == pytest.approx(loss.get_epsilon_for_delta(delta), rel=1e-4)


def test_rdp_to_dp_is_the_zcdp_conversion_on_a_fine_grid() -> None:
    orders = [1 + 10 ** (x / 100) for x in range(-200, 400)]
    value = rdp_to_dp(orders, [0.1 * a for a in orders], 1e-6)
    assert zcdp_to_dp(0.1, 1e-6, "cks") <= value * (1 + 1e-14)
    assert value == pytest.approx(zcdp_to_dp(0.1, 1e-6, "cks"), rel=1e-4)


def test_pointwise_parameters_cover_random_laws() -> None:
    """Random pairs of distributions never break the converted claim, and often break the unconverted one."""
    rng = np.random.default_rng(20240501)
    broken = {"converted": 0, "unconverted": 0}
    for _ in range(2000):
        p = rng.dirichlet(np.ones(6))
        q = p * np.exp(rng.normal(0, 0.6, 6))
        q /= q.sum()
        epsilon = float(rng.uniform(0.05, 1.0))
        ratio = math.exp(epsilon)
        delta = float(max(np.maximum(p - ratio * q, 0).sum(), np.maximum(q - ratio * p, 0).sum()))
        claims = {"converted": approx_to_pointwise(epsilon, delta), "unconverted": (epsilon, delta)}
        for name, (wide, claimed) in claims.items():
            outside = np.abs(np.log(p / q)) > wide
            broken[name] += float(p[outside].sum()) > claimed + 1e-12 or float(q[outside].sum()) > claimed + 1e-12
    assert broken["converted"] == 0
    assert broken["unconverted"] > 1000


def test_ordinary_deltas_are_not_pointwise() -> None:
    """A Gaussian with mu 0.5 is (1, 0.0068)-DP, yet loses more than 1 four times in 100."""
    exceeds = float(mp.ncdf(-(1 - 0.125) / 0.5))
    assert exceeds > 5.8 * gdp_delta(0.5, 1.0)
    assert exceeds <= approx_to_pointwise(0.5, gdp_delta(0.5, 0.5)).delta


def test_ends() -> None:
    assert zcdp_to_dp(0, 0) == 0
    assert zcdp_to_dp(0.1, 0) == math.inf
    assert gdp_to_dp(0, 0) == 0
    assert gdp_to_dp(0.1, 0) == math.inf
    assert zcdp_budget(1, 0) == 0 == gdp_budget(1, 0)
    assert zcdp_delta(0, 1) == 0 == gdp_delta(0, 1)
    assert zcdp_delta(1e-12, 5.0) > 0
    assert gdp_delta(1e-6, 5.0) > 0
    assert zcdp_delta(1e4, 0.0) == 1
    assert rdp_to_dp([2, 4], [0, 0], 1e-6) == 0
    assert rdp_to_dp([2, 4], [0.1, 0.1], 0) == math.inf
    assert pure_to_zcdp(0) == pure_to_gdp(0) == pure_to_rdp(0, 3) == 0
    assert approx_to_pointwise(0.3, 0.0) == (0.3, 0.0)
    assert approx_to_pointwise(0.0, 0.1) == (0.0, 1.0)
    assert gaussian_sigma(0.5, 3.0) == pytest.approx(3.0, rel=1e-14)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: zcdp_to_dp(-1, 1e-6), "rho"),
        (lambda: zcdp_to_dp(math.nan, 1e-6), "rho"),
        (lambda: zcdp_to_dp([0.1], 1e-6), "rho"),
        (lambda: zcdp_to_dp(0.1, 1.0), "delta"),
        (lambda: zcdp_to_dp(0.1, 1e-6, "none"), "method"),
        (lambda: zcdp_budget(-1, 1e-6), "epsilon"),
        (lambda: gdp_to_dp("0.1", 1e-6), "mu"),
        (lambda: gdp_budget(1, 1), "delta"),
        (lambda: pure_to_rdp(1, 0.5), "order"),
        (lambda: rdp_to_dp([1.0], [0.1], 1e-6), "orders"),
        (lambda: rdp_to_dp([2.0, 3.0], [0.1], 1e-6), "orders and epsilons"),
        (lambda: gaussian_sigma(0, 1), "rho"),
        (lambda: approx_to_pointwise(1, 1), "delta"),
    ],
)
def test_wrong_input_is_named(call: Any, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()


def test_the_epsilon_of_gdp_passes_its_own_test() -> None:
    rng = np.random.default_rng(13)
    for mu, delta in zip(10.0 ** rng.uniform(-3, 1.5, 400), 10.0 ** rng.uniform(-12, -1, 400), strict=True):
        assert gdp_delta(float(mu), gdp_to_dp(float(mu), float(delta))) <= float(delta)
