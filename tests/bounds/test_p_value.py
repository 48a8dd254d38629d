"""p-values after looking: algebra, optimised curves, planning, and the global null with private selection."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.max_information import pure_dp
from holdfast.bounds.p_value import (
    Level,
    adjusted,
    adjusted_after_approx_dp,
    adjusted_after_pure_dp,
    corrected_level,
    level_after_approx_dp,
    level_after_pure_dp,
)
from holdfast.bounds.registry import lookup
from holdfast.errors import InvalidParameter
from tests.bounds.exact_laws import leaky_response

quick = settings(max_examples=100, deadline=None, derandomize=True)
alphas = st.floats(1e-4, 0.9)


@given(alphas, st.floats(0, 2000), st.floats(0, 1), st.floats(1, 3), st.floats(0, 1))
@quick
def test_corrected_and_adjusted_are_inverse(alpha: float, k: float, share: float, factor: float, x: float) -> None:
    beta = alpha * share
    level = corrected_level(alpha, k, beta)
    assert corrected_level(min(alpha * factor, 0.99), k, beta).value >= level.value
    assert corrected_level(alpha, k * factor, beta).value <= level.value
    assert corrected_level(alpha, k, beta * factor).value <= level.value
    assert adjusted(level.value, k, beta) <= alpha * (1 + 1e-12)
    p = min(1.0, level.value * (1 + 1e-9) + 1e-300)
    if level.value > 1e-280 and beta < 0.99 * alpha:
        assert adjusted(p, k, beta) > alpha * (1 - 1e-12)
    assert adjusted(x, k, beta) >= x


def test_levels_below_the_floating_range() -> None:
    level = corrected_level(0.05, 2012.135027, 0.004254777207)
    assert level.value == 0
    assert level.log2_level == pytest.approx(-2016.585262, rel=1e-9)
    assert not level.is_vacuous
    found = lookup("p-value.level-after-pure-dp").evaluate(alpha=0.05, epsilon=1.0, n=100_000)
    assert found.value == 0
    assert -1e6 < found.details["log2_level"] < -1074
    assert corrected_level(0.05, math.inf, 0.0).is_vacuous
    assert corrected_level(0.05, 0, 0).value == 0.05


@given(
    alphas, st.floats(1e-6, 2), st.integers(1, 10**6), st.floats(1.01, 2), st.sampled_from(["best", "paper", "sharp"])
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_pure_levels_are_monotone(alpha: float, epsilon: float, n: int, factor: float, method: str) -> None:
    here = level_after_pure_dp(alpha, epsilon, n, method).log2_level
    slack = 1e-9 * (1 + abs(here))
    assert level_after_pure_dp(alpha, epsilon * factor, n, method).log2_level <= here + slack
    assert level_after_pure_dp(alpha, epsilon, math.ceil(n * factor), method).log2_level <= here + slack
    assert level_after_pure_dp(alpha / factor, epsilon, n, method).log2_level <= here + slack
    assert here <= math.log2(alpha)
    assert here >= math.log2(alpha) - epsilon * n / math.log(2) - slack  # never below the general line
    assert level_after_pure_dp(alpha, epsilon, n).log2_level >= here - slack


@given(alphas, st.floats(1e-4, 1), st.integers(10, 10**5), st.floats(1e-6, 0.9))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_single_beta_beats_the_optimum(alpha: float, epsilon: float, n: int, share: float) -> None:
    level = level_after_pure_dp(alpha, epsilon, n)
    beta = alpha * share
    single = corrected_level(alpha, pure_dp(epsilon, n, beta).bits, beta)
    assert single.log2_level <= level.log2_level + 1e-7
    # and the optimum is an instance
    again = corrected_level(alpha, level.bits, level.beta)
    assert again.log2_level == pytest.approx(level.log2_level, abs=1e-9)


@given(alphas, st.floats(1e-4, 1), st.floats(-14, -1), st.integers(10, 10**5), st.floats(1.05, 2))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_approximate_levels_are_monotone(
    alpha: float, epsilon: float, log10_rate: float, n: int, factor: float
) -> None:
    delta = alpha / n * 10**log10_rate / 4
    level = level_after_approx_dp(alpha, epsilon, delta, n)
    here = level.log2_level + 1e-8 * (1 + abs(level.log2_level))
    assert level_after_approx_dp(alpha, epsilon * factor, delta, n).log2_level <= here
    assert level_after_approx_dp(alpha, epsilon, delta * factor, n).log2_level <= here
    assert level_after_approx_dp(alpha, epsilon, delta, math.ceil(n * factor)).log2_level <= here
    assert level_after_approx_dp(alpha / factor, epsilon, delta, n).log2_level <= here
    assert level.log2_level <= level_after_approx_dp(alpha, epsilon, 0.0, n).log2_level
    assert corrected_level(alpha, level.bits, level.beta).log2_level == pytest.approx(level.log2_level, abs=1e-8)


def test_the_table_of_the_specification() -> None:
    # spec-max-information 3.3: alpha = 0.05, n = 10^4; printed at delta 1e-20, Theorem S at 1e-12, pure, pure sharper
    table = {
        0.05: (0.02037, 0.03569, 0.04469, 0.04493),
        0.10: (0.00705, 0.02954, 0.04019, 0.0407),
        0.20: (4.351e-04, 0.02046, 0.03254, 0.03365),
        0.30: (1.053e-05, 0.01423, 0.02628, 0.02797),
        0.50: (3.413e-10, 0.006865, 0.01684, 0.01944),
        1.00: (6.973e-29, 0.001019, 0.004856, 0.007855),
        2.00: (1.392e-98, 1.277e-05, 2.099e-04, 0.001178),
        3.00: (1.555e-211, 6.651e-08, 3.571e-06, 1.480e-04),
    }
    for steepness, (printed, plain, pure, sharp) in table.items():
        epsilon, n = steepness / 100, 10_000
        assert level_after_approx_dp(0.05, epsilon, 1e-20, n, "paper").value == pytest.approx(printed, rel=5e-4)
        assert level_after_approx_dp(0.05, epsilon, 1e-12, n, "plain").value == pytest.approx(plain, rel=5e-4)
        assert level_after_pure_dp(0.05, epsilon, n, "paper").value == pytest.approx(pure, rel=5e-4)
        assert level_after_pure_dp(0.05, epsilon, n, "sharp").value == pytest.approx(sharp, rel=5e-4)
    # 2.5: pure with the excess factor
    for steepness, level in ((0.1, 0.0441), (0.5, 0.0261), (1.0, 0.01278), (2.0, 0.00255)):
        assert level_after_pure_dp(0.05, steepness / 100, 10_000, "plus").value == pytest.approx(level, rel=2e-3)


@given(st.floats(1e-12, 1), st.floats(1e-5, 1), st.integers(1, 10**5))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_adjusted_after_pure_is_the_inverse_of_the_level(p: float, epsilon: float, n: int) -> None:
    p_adjusted = adjusted_after_pure_dp(p, epsilon, n)
    assert p <= p_adjusted <= 1
    if 1e-300 < p_adjusted < 0.99:
        assert level_after_pure_dp(min(p_adjusted * (1 + 1e-6), 0.999), epsilon, n).value >= p
        assert level_after_pure_dp(p_adjusted * (1 - 1e-6), epsilon, n).value <= p


def test_adjusted_after_approximate_is_the_inverse_of_the_level() -> None:
    p_adjusted = adjusted_after_approx_dp(0.001, 0.01, 1e-10, 1000)
    assert level_after_approx_dp(p_adjusted, 0.01, 1e-10, 1000).value >= 0.001
    assert level_after_approx_dp(p_adjusted * (1 - 1e-6), 0.01, 1e-10, 1000).value < 0.001
    assert adjusted_after_approx_dp(0.9, 0.1, 1e-6, 1000) == 1
    assert adjusted_after_approx_dp(0.0, 0.01, 1e-10, 1000) == pytest.approx(1e-7)
    assert adjusted_after_approx_dp(0.001, 0.01, 0.0, 1000) == adjusted_after_pure_dp(0.001, 0.01, 1000)
    assert adjusted_after_pure_dp(0.0, 0.01, 1000) == 0


def test_every_attainable_level_on_an_exact_law() -> None:
    # A worst selection: after the output, reject the samples with the largest ratio, up to the level. The
    # false-discovery probability at level g is the largest joint probability of an event of product probability g.
    for epsilon, n in ((0.05, 400), (0.3, 60), (1.0, 12)):
        probabilities, losses = leaky_response(epsilon, 0.0, n)
        order = np.argsort(-losses)
        joint, product = np.cumsum(probabilities[order]), np.cumsum((probabilities * np.exp(-losses))[order])
        for alpha in (0.01, 0.05, 0.3):
            level = level_after_pure_dp(alpha, epsilon, n).value
            assert np.interp(level, np.append(0, product), np.append(0, joint)) <= alpha
        # the nominal level itself is not enough: the same check rejects it
        assert np.interp(0.05, np.append(0, product), np.append(0, joint)) > 0.05


def false_discoveries(seed: int, runs: int, epsilon: float | None, level: float) -> int:
    """False discoveries under the global null when the feature most correlated with the label is selected and tested.

    spec-max-information 3.4 G: 1000 rows, 100 independent features; the score of a feature is a sum of 1000 fair
    signs, of sensitivity 2, so report-noisy-max adds Laplace noise of scale 4/epsilon. One-sided exact binomial
    p-value.
    """
    from scipy.stats import binom

    rng = np.random.default_rng(seed)
    scores = 2.0 * rng.binomial(1000, 0.5, size=(runs, 100)) - 1000
    noise = rng.laplace(0, 4 / epsilon, size=scores.shape) if epsilon else 0.0
    chosen = scores[np.arange(runs), np.argmax(scores + noise, axis=1)]
    return int(np.sum(binom.sf((chosen + 1000) / 2 - 1, 1000, 0.5) <= level))


def test_global_null_with_private_selection() -> None:
    # Error rate: with 4000 runs at a true rate of 0.05 more than `most` discoveries have probability below 1e-6.
    from scipy.stats import binom

    runs, alpha = 4000, 0.05
    most = int(binom.isf(1e-6, runs, alpha))
    for epsilon, method in ((0.02, "best"), (0.02, "paper"), (0.05, "best"), (0.2, "best")):
        level = level_after_pure_dp(alpha, epsilon, 1000, method).value
        assert false_discoveries(34, runs, epsilon, level) <= most
    # power: without correction after a private selection, and with correction after a plain one, the test rejects
    assert false_discoveries(34, runs, 0.05, alpha) > most
    assert false_discoveries(34, runs, None, level_after_pure_dp(alpha, 0.02, 1000, "paper").value) > most
    assert false_discoveries(34, runs, None, alpha) / runs == pytest.approx(0.99, abs=0.01)


def test_levels_are_rounded_down_in_sixty_digits() -> None:
    rng = np.random.default_rng(35)
    for _ in range(100):
        alpha, epsilon, n = (
            float(10 ** rng.uniform(-6, -0.01)),
            float(10 ** rng.uniform(-4, 0.5)),
            int(10 ** rng.uniform(0, 5)),
        )
        level = level_after_pure_dp(alpha, epsilon, n, "sharp")
        with mpmath.workdps(60):
            e, general = mpmath.mpf(epsilon), mpmath.mpf(epsilon) * n
            beta = mpmath.mpf(level.beta)
            nats = general if not beta else min(general, e**2 * n / 8 + e * mpmath.sqrt(-n * mpmath.log(beta) / 2))
            exact = mpmath.log(mpmath.mpf(alpha) - beta, 2) - nats / mpmath.log(2)
            assert level.log2_level <= exact
            assert level.log2_level >= exact - abs(exact) * mpmath.mpf("1e-11") - mpmath.mpf("1e-11")
            assert mpmath.mpf(level.value) <= mpmath.mpf(2) ** mpmath.mpf(level.log2_level)
        k, share = float(rng.uniform(0, 1000)), float(rng.uniform(0, 1)) * alpha
        level = corrected_level(alpha, k, share)
        with mpmath.workdps(60):
            exact = (mpmath.mpf(alpha) - mpmath.mpf(share)) / mpmath.mpf(2) ** mpmath.mpf(k)
            assert mpmath.mpf(level.value) <= exact
            assert mpmath.mpf(level.log2_level) <= mpmath.log(exact, 2)
            assert mpmath.mpf(level.value) >= exact * (1 - mpmath.mpf("1e-14")) - mpmath.mpf("5e-323")


def test_subnormal_levels() -> None:
    assert corrected_level(1e-323, 0.0, 5e-324).value == 5e-324
    assert corrected_level(1e-323, 0.5, 5e-324).value == 0
    assert corrected_level(1e-323, 0.5, 5e-324).log2_level == pytest.approx(-1074.5)


def test_everything_is_checked_at_every_p() -> None:
    for p in (0.0, 0.5, 1.0):
        for bad in ({"epsilon": -1}, {"delta": 1.5}, {"n": 0}, {"method": "sharp"}, {"epsilon": math.nan}):
            arguments = {"epsilon": 0.1, "delta": 1e-9, "n": 10} | bad
            with pytest.raises(InvalidParameter, match=next(iter(bad))):
                adjusted_after_approx_dp(p, **arguments)
        with pytest.raises(InvalidParameter, match="epsilon"):
            adjusted_after_approx_dp(p, 0.6, 1e-9, 10, "paper")


def test_plain_has_no_excess_factor_without_delta_either() -> None:
    plain, sharp = level_after_approx_dp(0.05, 0.02, 0.0, 1000, "plain"), level_after_pure_dp(0.05, 0.02, 1000, "sharp")
    assert plain == sharp
    assert plain.value < level_after_approx_dp(0.05, 0.02, 0.0, 1000).value
    assert adjusted_after_approx_dp(0.001, 0.02, 0.0, 1000, "plain") == adjusted_after_pure_dp(
        0.001, 0.02, 1000, "sharp"
    )


def test_no_pair_no_field() -> None:
    assert Level(0.1, -3.3).bits is None
    assert "bits" not in Level(0.1, -3.3).to_dict()
