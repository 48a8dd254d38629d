"""Predicted power: spec values, simulations of whole tests, planners as inverses, wrong input.

Simulations have 40,000 tests or more, so a standard error of at most .0025; they must agree with the prediction within
5.2 standard errors (error rate 2e-7 each) plus the bias stated, which is what a limit may miss at a finite n.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests import goodness_of_fit, independence_tests, local
from holdfast.inference.private_tests.gwas import shifted_tail, tail
from holdfast.inference.private_tests.power import (
    Quadratic,
    _residual,
    critical,
    multinomial,
    quadratic_law,
    threshold_levels,
)

U4, S4 = [0.25] * 4, [0.5, 1 / 6, 1 / 6, 1 / 6]
U4_TRUE, S4_TRUE = [0.26, 0.24, 0.24, 0.26], [0.51, 0.49 / 3, 0.49 / 3, 0.49 / 3]
TRIALS, SIGMAS = 40_000, 5.2
SETTING_A = np.full((2, 2), 0.25) + 0.01 * np.outer([1, -1], [1, -1])
SETTING_B = np.outer([2 / 3, 1 / 3], [0.5, 0.5]) + 0.01 * np.array([[1, 0], [-1, 0]])


def agrees(predicted: float, simulated: pt.Power, bias: float) -> bool:
    return abs(predicted - simulated.power) <= bias + SIGMAS * simulated.standard_error


@pytest.mark.parametrize(
    ("method", "budget", "spec"),
    [
        ("projected", {"rho": 0.00125}, 0.599),
        ("asymptotic", {"rho": 0.00125}, 0.564),
        ("nonprojected", {"rho": 0.00125}, 0.548),
        ("monte-carlo", {"rho": 0.00125}, 0.56),
    ],
)
def test_power_that_the_issue_names(method: Any, budget: dict[str, float], spec: float) -> None:
    for at in ("null", "alternative"):
        assert pt.gof_power(S4, S4_TRUE, 20_000, method=method, at=at, **budget).power == pytest.approx(spec, abs=0.01)  # type: ignore[arg-type]


def test_independence_power_that_the_issue_names() -> None:
    assert pt.independence_power(SETTING_B, 20_000, rho=0.00125).power == pytest.approx(0.790, abs=0.01)


@pytest.mark.parametrize(
    ("p0", "p1", "rho", "n", "spec"),
    [
        # spec 5.5: MCGOF Gaussian and Laplace, Monte Carlo projected with Laplace; m = 59, 10,000 trials
        (U4, U4_TRUE, 5e-5, 20_000, (0.490, 0.324, 0.403)),
        (U4, U4_TRUE, 3.125e-4, 10_000, (0.556, 0.454, 0.508)),
        (U4, U4_TRUE, 1.25e-3, 10_000, (0.819, 0.805, 0.814)),
        (S4, S4_TRUE, 5e-5, 40_000, (0.345, 0.233, 0.430)),
        (S4, S4_TRUE, 1.25e-3, 20_000, (0.540, 0.531, 0.565)),
    ],
)
def test_monte_carlo_and_laplace_power_of_the_spec(
    p0: list[float], p1: list[float], rho: float, n: int, spec: tuple[float, float, float]
) -> None:
    epsilon = math.sqrt(8 * rho)
    found = (
        pt.gof_power(p0, p1, n, rho=rho, method="monte-carlo", m=59).power,
        pt.gof_power(p0, p1, n, epsilon=epsilon, method="monte-carlo", m=59).power,
        pt.gof_power(p0, p1, n, epsilon=epsilon, m=59).power,
    )
    assert found == pytest.approx(spec, abs=0.02)  # 4 standard errors of theirs


@pytest.mark.parametrize(
    ("table", "rho", "n", "spec"),
    [
        # spec 5.5: AsymptIndep, corrected, MCIndep Gaussian, MCIndep Laplace, nonprojected, projected; 4,000 trials
        (SETTING_A, 5e-5, 20_000, (0.434, 0.637, 0.609, 0.543, 0.603, 0.704)),
        (SETTING_A, 1.25e-3, 5_000, (0.483, 0.593, 0.564, 0.522, 0.493, 0.602)),
        (SETTING_B, 3.125e-4, 20_000, (0.484, 0.593, 0.570, 0.531, 0.497, 0.605)),
        (SETTING_B, 1.25e-3, 20_000, (0.761, 0.785, 0.769, 0.766, 0.695, 0.790)),
    ],
)
def test_independence_power_of_the_spec(table: Any, rho: float, n: int, spec: tuple[float, ...]) -> None:
    found = [
        pt.independence_power(table, n, rho=rho, method="asymptotic-printed"),
        pt.independence_power(table, n, rho=rho, method="asymptotic"),
        pt.independence_power(table, n, rho=rho, method="monte-carlo", m=59),
        pt.independence_power(table, n, epsilon=math.sqrt(8 * rho), method="monte-carlo", m=59),
        pt.independence_power(table, n, rho=rho, method="nonprojected"),
        pt.independence_power(table, n, rho=rho),
    ]
    assert [one.power for one in found] == pytest.approx(spec, abs=0.03)


@pytest.mark.parametrize("method", ["projected", "nonprojected", "asymptotic"])
@pytest.mark.parametrize(
    ("p0", "p1", "n", "rho"),
    [
        (S4, S4_TRUE, 20_000, 0.00125),
        ([0.02, 0.08, 0.9], [0.005, 0.095, 0.9], 400, 0.25),
        ([0.05, 0.05, 0.9], [0.1, 0.05, 0.85], 300, 0.1),
        ([0.25] * 4, [0.35, 0.15, 0.15, 0.35], 200, 0.02),
    ],
)
def test_prediction_agrees_with_whole_tests(p0: Any, p1: Any, n: int, rho: float, method: Any) -> None:
    noise = pt.gaussian(rho)
    simulated = pt.gof_power(p0, p1, n, noise=noise, method=method, trials=TRIALS, rng=np.random.default_rng(1))
    assert agrees(pt.gof_power(p0, p1, n, noise=noise, method=method).power, simulated, bias=0.004)


def test_the_same_comparison_rejects_the_printed_form_far_from_the_null() -> None:
    p0, p1, noise = [0.05, 0.05, 0.9], [0.1, 0.05, 0.85], pt.gaussian(0.1)
    simulated = pt.gof_power(p0, p1, 300, noise=noise, trials=TRIALS, rng=np.random.default_rng(1))
    printed = pt.gof_power(p0, p1, 300, noise=noise, at="null").power
    assert not agrees(printed, simulated, bias=0.004)
    assert printed - simulated.power > 0.03


@pytest.mark.parametrize(
    ("table", "n", "rho", "bias"),
    [(SETTING_B, 20_000, 0.00125, 0.004), (np.array([[0.3, 0.1], [0.2, 0.4]]), 60, 0.2, 0.015)],
)
def test_independence_prediction_agrees_with_whole_tests(table: Any, n: int, rho: float, bias: float) -> None:
    for method in ("projected", "nonprojected"):
        options: dict[str, Any] = {"noise": pt.gaussian(rho), "method": method}
        simulated = pt.independence_power(table, n, trials=TRIALS, rng=np.random.default_rng(2), **options)
        assert agrees(pt.independence_power(table, n, **options).power, simulated, bias=bias)


def test_a_three_by_four_table_and_the_mixtures() -> None:
    rng = np.random.default_rng(3)
    table = np.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1])
    table = table + 0.012 * np.outer([1, -1, 0], [1, 0, -1, 0])
    for method in ("projected", "asymptotic", "asymptotic-printed"):
        options: dict[str, Any] = {"noise": pt.gaussian(0.01), "method": method}
        simulated = pt.independence_power(table, 3000, trials=TRIALS // 4, rng=rng, **options)
        assert agrees(pt.independence_power(table, 3000, **options).power, simulated, bias=0.006)


def test_homogeneity_and_output_perturbation_against_figure_23() -> None:
    cases, controls = [1 / 2, 1 / 4, 1 / 4], [1 / 3] * 3
    for n, output, weak, strong, open_ in ((500, 0.315, 0.229, 0.878, 0.932), (1000, 0.673, 0.685, 0.998, 0.999)):
        assert pt.gwas_power(cases, controls, n, rho=0.05, method="output-perturbation").power == pytest.approx(
            output, abs=0.02
        )
        assert pt.gwas_power(cases, controls, n, rho=0.002).power == pytest.approx(weak, abs=0.03)
        assert pt.gwas_power(cases, controls, n, rho=0.05).power == pytest.approx(strong, abs=0.02)
        assert pt.gwas_power(cases, controls, n, method="classical").power == pytest.approx(open_, abs=0.02)


def test_homogeneity_prediction_agrees_with_whole_tests() -> None:
    rng, noise, trials = np.random.default_rng(4), pt.gaussian(0.02), 20_000
    p, sizes = np.array([[0.5, 0.3, 0.2], [0.4, 0.35, 0.25]]), np.array([400, 300])
    tables = rng.multinomial(sizes, p, size=(trials, 2)) + noise.sample(rng, (trials, 2, 3))
    from holdfast.inference.private_tests.classical import chi_square_critical
    from holdfast.inference.private_tests.minimum_chi_square import fit_model

    fitted = fit_model(tables, pt.Homogeneity(2, 3), sizes=sizes, variance=noise.variance)
    rate = float((fitted.projected > chi_square_critical(2, 0.05)).mean())
    predicted = pt.homogeneity_power(p, sizes, noise=noise).power
    assert abs(rate - predicted) <= 0.006 + SIGMAS * math.sqrt(rate * (1 - rate) / trials)


def test_output_perturbation_tail_against_simulation_and_closed_form() -> None:
    for t, sd in ((3.0, 0.5), (10.0, 12.6), (-5.0, 4.0), (60.0, 12.0)):
        assert shifted_tail(t, sd, 0.0) == pytest.approx(tail(t, sd), rel=1e-9, abs=1e-14)
    rng = np.random.default_rng(5)
    draws = rng.noncentral_chisquare(2, 9.0, 400_000) + rng.normal(0, 4.0, 400_000)
    rate = float((draws > 14.0).mean())
    assert abs(shifted_tail(14.0, 4.0, 9.0) - rate) <= SIGMAS * math.sqrt(rate * (1 - rate) / 400_000)


@pytest.mark.parametrize("kind", ["randomized-response", "bit-flip", "laplace", "gaussian"])
def test_local_prediction_agrees_with_whole_tests(kind: str) -> None:
    budget: dict[str, Any] = {"rho": 0.5} if kind == "gaussian" else {"epsilon": 1}
    p0, p1, n = S4, [0.54, 0.46 / 3, 0.46 / 3, 0.46 / 3], 5000
    made = local.make_randomizer(kind, 4, **budget)
    sums = local.simulate_sums(n, p1, made, TRIALS, np.random.default_rng(6))
    rate = float(local.gof_batch(sums, n, p0, made).mean())
    # Replicates of the Monte Carlo test cost a little power; the batch has the limit's threshold.
    predicted = pt.local_gof_power(p0, p1, n, randomizer=kind, m=10**7, **budget).power
    assert abs(predicted - rate) <= 0.004 + SIGMAS * math.sqrt(rate * (1 - rate) / TRIALS)


def test_local_power_is_that_of_the_local_module() -> None:
    flips, vote = (local.make_randomizer(kind, 4, epsilon=1) for kind in ("bit-flip", "randomized-response"))
    table = [[0.275, 0.225], [0.225, 0.275]]
    for at in ("null", "alternative"):
        here = pt.local_gof_power(S4, S4_TRUE, 50_000, epsilon=1, randomizer="bit-flip", at=at)  # type: ignore[arg-type]
        assert here.power == pytest.approx(local.power(flips, S4, S4_TRUE, 50_000, at=at).power, rel=1e-9)  # type: ignore[arg-type]
        here = pt.local_independence_power(table, 5000, epsilon=1, at=at)  # type: ignore[arg-type]
        assert here.power == pytest.approx(local.independence_power(vote, table, 5000, at=at).power, rel=1e-9)  # type: ignore[arg-type]


def test_under_the_null_power_is_the_level() -> None:
    for method in ("projected", "nonprojected", "asymptotic", "monte-carlo", "monte-carlo-projected", "classical"):
        budget = {} if method == "classical" else {"rho": 0.01}
        assert pt.gof_power(S4, S4, 5000, method=method, alpha=0.03, m=99, **budget).power == pytest.approx(  # type: ignore[arg-type]
            0.03, rel=1e-3
        )
    product = np.outer([0.6, 0.4], [0.3, 0.7])
    for method in ("projected", "nonprojected", "asymptotic"):
        assert pt.independence_power(product, 5000, rho=0.01, method=method).power == pytest.approx(0.05, rel=1e-6)
    assert pt.independence_power(product, 5000, rho=0.0001, method="asymptotic-printed").power < 0.03
    assert pt.gof_power(S4, S4, 5000, epsilon=0.5).power == pytest.approx(0.05, abs=0.006)
    assert pt.local_gof_power(S4, S4, 5000, epsilon=0.5).power == pytest.approx(0.05, rel=1e-6)


def test_kernel_has_the_weights_of_the_tests() -> None:
    null, n, variance = np.array(S4), 1000, 800.0
    test = Quadratic(np.diag(np.sqrt(n / null)), multinomial(null) / n + np.eye(4) * variance / n**2)
    law = quadratic_law(test, np.zeros(4), test.null)
    np.testing.assert_allclose(law.weights, goodness_of_fit.asymptotic_weights(S4, n, variance), rtol=1e-10)
    assert critical(law.weights, 0.05) == pytest.approx(
        goodness_of_fit.asymptotic_critical_value(S4, n, variance), rel=1e-10
    )
    rows, columns = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.4])
    p = np.outer(rows, columns).ravel()
    root = np.sqrt(5000 / p)[:, None] * _residual(rows, columns)
    spread = multinomial(p) / 5000 + np.eye(6) * 100 / 5000**2
    law = quadratic_law(Quadratic(root, spread), np.zeros(6), spread)
    np.testing.assert_allclose(law.weights, independence_tests.weights(rows, columns, 5000, 100), rtol=1e-9)


def test_an_alternative_that_empties_a_cell() -> None:
    p0, p1 = [0.1, 0.4, 0.5], [0.0, 0.5, 0.5]
    simulated = pt.gof_power(p0, p1, 60, noise=pt.gaussian(10), trials=TRIALS, rng=np.random.default_rng(7))
    assert agrees(pt.gof_power(p0, p1, 60, noise=pt.gaussian(10)).power, simulated, bias=0.02)
    assert pt.gof_power(p0, p1, 10**9, rho=1).power == 1.0


def test_threshold_levels_are_the_beta_law() -> None:
    for m, alpha in ((19, 0.05), (59, 0.05), (999, 0.01)):
        levels, masses = threshold_levels(m, alpha)
        assert masses.sum() == pytest.approx(1)
        assert levels @ masses == pytest.approx(math.floor(alpha * (m + 1) + 1e-9) / (m + 1), rel=1e-3)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    st.lists(st.floats(0.05, 1), min_size=2, max_size=6),
    st.floats(0.01, 0.2),
    st.integers(200, 10**5),
    st.floats(-4, 1),
)
def test_power_grows_with_records_budget_and_level(raw: list[float], effect: float, n: int, log_rho: float) -> None:
    p0 = np.array(raw) / sum(raw)
    p1, rho = pt.alternative(p0, effect), 10.0**log_rho
    for method in ("projected", "asymptotic"):
        base = pt.gof_power(p0, p1, n, rho=rho, method=method, at="null").power
        assert 0.05 - 1e-9 <= base <= 1
        assert pt.gof_power(p0, p1, 2 * n, rho=rho, method=method, at="null").power >= base - 1e-9
        assert pt.gof_power(p0, p1, n, rho=2 * rho, method=method, at="null").power >= base - 1e-9
        assert pt.gof_power(p0, p1, n, rho=rho, method=method, at="null", alpha=0.1).power >= base - 1e-9
    projected = pt.gof_power(p0, p1, n, rho=rho, at="null").power
    assert projected >= pt.gof_power(p0, p1, n, rho=rho, method="nonprojected", at="null").power - 1e-9
    assert projected <= pt.gof_power(p0, p1, n, method="classical", at="null").power + 1e-9


@pytest.mark.parametrize(
    ("setting", "expected"),
    [  # spec TV-41, rounded up
        ({"rho": 5e-5}, 56303),
        ({"rho": 3.125e-4}, 34780),
        ({"rho": 1.25e-3}, 29476),
        ({"method": "classical"}, 27257),
        ({"rho": 1.25e-3, "method": "asymptotic"}, 30765),
    ],
)
def test_sample_sizes_of_the_spec(setting: dict[str, Any], expected: int) -> None:
    assert pt.sample_size(pt.gof_power, 0.8, p0=S4, p1=S4_TRUE, at="null", **setting).value == expected


CASES: list[tuple[Any, dict[str, Any]]] = [
    (pt.gof_power, {"p0": S4, "p1": [0.6, 0.4 / 3, 0.4 / 3, 0.4 / 3], "rho": 0.01}),
    (pt.gof_power, {"p0": S4, "p1": [0.6, 0.4 / 3, 0.4 / 3, 0.4 / 3], "rho": 0.01, "method": "monte-carlo", "m": 99}),
    (pt.gof_power, {"p0": S4, "p1": [0.6, 0.4 / 3, 0.4 / 3, 0.4 / 3], "epsilon": 0.2}),
    (pt.independence_power, {"p": [[0.3, 0.2], [0.2, 0.3]], "rho": 0.01}),
    (pt.independence_power, {"p": [[0.3, 0.2], [0.2, 0.3]], "rho": 0.01, "method": "asymptotic-printed"}),
    (pt.gwas_power, {"cases": [0.5, 0.25, 0.25], "controls": [1 / 3] * 3, "rho": 0.05}),
    (
        pt.gwas_power,
        {"cases": [0.5, 0.25, 0.25], "controls": [1 / 3] * 3, "rho": 0.05, "method": "output-perturbation"},
    ),
    (pt.local_gof_power, {"p0": U4, "p1": [0.3, 0.2, 0.2, 0.3], "epsilon": 1}),
    (pt.local_independence_power, {"p": [[0.3, 0.2], [0.2, 0.3]], "epsilon": 1, "randomizer": "bit-flip"}),
]


@pytest.mark.parametrize(("predict", "setting"), CASES)
def test_planners_invert_every_prediction(predict: Any, setting: dict[str, Any]) -> None:
    found = pt.sample_size(predict, 0.8, **setting)
    n = int(found.value)
    assert predict(n=n, **setting).power >= 0.8 > predict(n=n - 1, **setting).power - 0.002
    spend = "epsilon" if "epsilon" in setting else "rho"
    others = {key: value for key, value in setting.items() if key != spend}
    wanted = pt.budget(predict, 0.8, spend=spend, n=n, **others)
    assert wanted.value <= setting[spend] * 1.001
    assert predict(n=n, **{spend: wanted.value}, **others).power >= 0.8
    assert predict(n=n, **{spend: wanted.value * 0.995}, **others).power < 0.8
    assert json.loads(json.dumps(wanted.to_dict()))["what"] == spend
    assert f"{spend} = " in str(wanted)


def test_planners_say_when_nothing_is_enough() -> None:
    with pytest.raises(GuaranteeUnavailable, match="no n up to"):
        pt.sample_size(pt.gof_power, 0.8, p0=S4, p1=S4, rho=0.1, at_most=10**6)
    with pytest.raises(GuaranteeUnavailable, match="not even exact counts"):
        pt.budget(pt.gof_power, 0.8, p0=S4, p1=S4_TRUE, n=100)


def test_a_null_setting_has_no_power_and_says_why() -> None:
    found = pt.gof_power([0.01, 0.99], [0.02, 0.98], 50, rho=1)
    assert found.power == 0.0
    assert "NULL" in found.warnings[0]
    assert pt.gof_power([0.01, 0.99], [0.02, 0.98], 50, rho=1, method="monte-carlo").power > 0
    assert "inconclusive" in pt.independence_power(np.outer([0.02, 0.98], [0.03, 0.97]), 1000, rho=1).warnings[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p0": [0.5, 0.4], "p1": [0.5, 0.5]}, "p0 must sum to 1"),
        ({"p0": [0.5, 0.5], "p1": [0.5, 0.6]}, "p1 must be at least two numbers that sum to 1"),
        ({"p0": [0.5, 0.5], "p1": [0.2, 0.3, 0.5]}, "p1 must have one entry per cell"),
        ({"p0": [0.5, 0.5], "p1": [-0.5, 1.5]}, "p1"),
        ({"n": 0}, "n must be"),
        ({"rho": 0}, "rho must be"),
        ({"rho": None}, "exactly one of rho, epsilon and noise"),
        ({"alpha": 1.5}, "alpha"),
        ({"rho": None, "epsilon": 1, "method": "projected"}, "needs Gaussian noise"),
        ({"method": "unheard"}, "method"),
        ({"method": "classical"}, "not private"),
        ({"method": "classical", "rho": None, "trials": 100}, "only private tests are simulated"),
        ({"at": "nowhere"}, "at must be"),
        ({"method": "monte-carlo", "m": 3}, "m must be at least 19"),
    ],
)
def test_wrong_input(arguments: dict[str, Any], message: str) -> None:
    given_: dict[str, Any] = {"p0": U4, "p1": U4_TRUE, "n": 1000, "rho": 0.1}
    with pytest.raises(InvalidParameter, match=message):
        pt.gof_power(**(given_ | arguments))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pt.independence_power([0.5, 0.5], 100, rho=1), "table"),
        (lambda: pt.independence_power([[0.5, 0.5], [0, 0]], 100, rho=1), "have a sum above 0"),
        (lambda: pt.independence_power(SETTING_A, 100, epsilon=1, method="asymptotic"), "Gaussian"),
        (lambda: pt.independence_power(SETTING_A, 100, rho=1, method="classical"), "not private"),
        (
            lambda: pt.homogeneity_power([[0.5, 0.5], [0.4, 0.6]], [10], rho=1),
            "sizes must have one entry for each of 2",
        ),
        (lambda: pt.gwas_power([0.5, 0.5], [0.5, 0.5], 100, rho=1), "three probabilities, one for each genotype"),
        (lambda: pt.gwas_power([1 / 3] * 3, [1 / 3] * 3, 100, rho=1, share=0), "share"),
        (lambda: pt.local_gof_power(U4, U4_TRUE, 100), "exactly one of epsilon and rho"),
        (lambda: pt.local_gof_power(U4, U4_TRUE, 100, rho=1, randomizer="bit-flip"), "epsilon"),
        (lambda: pt.local_independence_power([0.5, 0.5], 100, epsilon=1), "table"),
        (lambda: pt.model_power(pt.Homogeneity(2, 2), [0.5, 0.5], 100, rho=1), "one group"),
        (lambda: pt.sample_size(pt.gof_power, 1.0, p0=U4, p1=U4_TRUE, rho=1), "power"),
        (lambda: pt.budget(pt.gof_power, 0.8, spend="gold", p0=U4, p1=U4_TRUE, n=10), "spend"),  # type: ignore[arg-type]
    ],
)
def test_wrong_input_elsewhere(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        call()


def test_results_are_plain_data_and_print() -> None:
    found = pt.gof_power(U4, U4_TRUE, 1000, rho=0.1)
    assert json.loads(json.dumps(found.to_dict()))["power"] == found.power
    assert float(found) == found.power
    assert "not private" in str(pt.gof_power(U4, U4_TRUE, 1000, method="classical"))
    assert "+-" in str(pt.gof_power(U4, U4_TRUE, 1000, epsilon=1))


def test_repeated_predictions_are_equal() -> None:
    first, second = (pt.gof_power(U4, U4_TRUE, 5000, epsilon=0.1).power for _ in range(2))
    assert first == second
