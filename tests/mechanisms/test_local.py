from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from holdfast.accounting.costs import ZCDP, PointwiseDP, PureDP
from holdfast.bounds import catalogue
from holdfast.bounds.mechanism import randomized_response_table
from holdfast.errors import InvalidParameter
from holdfast.mechanisms import BitFlip, LeakyResponse, LocalGaussian, LocalLaplace, RandomizedResponse, audit
from holdfast.noise import Seeded
from tests.mechanisms.statistics import fits

TRUTH = np.repeat([0, 1, 2], [30_000, 15_000, 5_000])
SHARES = np.array([0.6, 0.3, 0.1])


def true_errors(mechanism: Any) -> npt.NDArray[np.float64]:
    """The standard deviation of each estimated frequency, given the people, from the two chances to show it."""
    if isinstance(mechanism, BitFlip):
        lie = 1 / (1 + math.exp(0.5))
        truth, contrast = 1 - lie, 1 - 2 * lie
    else:
        truth, lie = (math.exp(x) / (math.e + 2) for x in (1, 0))
        contrast = truth - lie
    return np.sqrt((SHARES * truth * (1 - truth) + (1 - SHARES) * lie * (1 - lie)) / len(TRUTH)) / contrast


@pytest.mark.parametrize("mechanism", [RandomizedResponse(3, 1.0), BitFlip(3, 1.0)])
class TestCategories:
    def test_estimates_are_unbiased_with_the_stated_error(self, mechanism: Any) -> None:
        errors = []
        for seed in range(300):
            estimate = mechanism.estimate(mechanism.release(TRUTH, Seeded(seed)))
            errors.append((estimate.value - SHARES) / estimate.standard_error)
            assert np.abs(estimate.value - SHARES).max() < mechanism.half_width(len(TRUTH), 1e-6)
            assert estimate.standard_error == pytest.approx(true_errors(mechanism), rel=0.02)
        scaled = np.array(errors)
        assert np.abs(scaled.mean(axis=0)).max() < 5.3 / math.sqrt(300)
        # A standard deviation over 300 has relative error 1/sqrt(600): an error wrong by a factor of 1.3 is seen.
        assert np.abs(scaled.std(axis=0) - 1).max() < 5.3 / math.sqrt(600)

    def test_half_width_is_hoeffdings(self, mechanism: Any) -> None:
        # Two tails and three categories: exp(-2 n (width contrast)^2) is a sixth of beta.
        width = mechanism.half_width(1000, 0.05) * mechanism.contrast
        assert 6 * math.exp(-2 * 1000 * width**2) == pytest.approx(0.05, rel=1e-9)

    def test_half_width_is_not_slack(self, mechanism: Any) -> None:
        # Hoeffding loses a factor below three here; a half-width of a third would be crossed often.
        crossed = 0
        for seed in range(40):
            estimate = mechanism.estimate(mechanism.release(TRUTH, Seeded(100 + seed)))
            crossed += bool(np.abs(estimate.value - SHARES).max() > mechanism.half_width(len(TRUTH), 0.05) / 3)
        assert crossed > 8

    def test_says_what_it_is(self, mechanism: Any) -> None:
        assert mechanism.cost == PureDP(1.0)
        assert mechanism.guarantee.theorem in catalogue()
        assert "own value" in mechanism.guarantee.assumption
        for wrong in ([3], [-1], [0.5], ["0"]):
            with pytest.raises(InvalidParameter, match=r"whole numbers in \[0, 3\)"):
                mechanism.release(np.array(wrong))
        for wrong in ([], ["a", "b"], [[7, 9, 1]], [7], [[1, 0], [1]], [0.5]):
            with pytest.raises(InvalidParameter, match="answers"):
                mechanism.estimate(wrong)
        with pytest.raises(InvalidParameter, match="categories"):
            type(mechanism)(1, 1.0)
        with pytest.raises(InvalidParameter, match="epsilon"):
            type(mechanism)(3, 0)


def test_randomized_response_law() -> None:
    mechanism, source = RandomizedResponse(4, 1.5), Seeded(5)
    truth = math.exp(1.5) / (math.exp(1.5) + 3)
    law = {2: truth} | dict.fromkeys((0, 1, 3), (1 - truth) / 3)
    assert fits(mechanism.release(np.full(100_000, 2), source).tolist(), law)
    assert mechanism.release(2, source) in range(4)
    assert mechanism.contrast == pytest.approx(truth - (1 - truth) / 3)


def test_leaky_response_has_the_table_and_its_delta() -> None:
    mechanism, source = LeakyResponse(1, 0.1), Seeded(6)
    assert mechanism.cost == PointwiseDP(1.0, 0.1)
    table = randomized_response_table(1, 0.1)
    for bit, law in ((0, table), (1, tuple(reversed(table)))):
        outcomes = mechanism.release(np.full(100_000, bit), source).tolist()
        assert fits(outcomes, {code: p for code, p in enumerate(law) if p > 0})

    def simulate(bit: int, runs: int) -> Any:
        return mechanism.release(np.full(runs, bit), source)

    assert not audit(simulate, [(0, 1)], mechanism.cost).caught
    assert audit(simulate, [(0, 1)], 1.0, delta=0.09).caught
    with pytest.raises(InvalidParameter, match="delta"):
        LeakyResponse(1, 1)


@pytest.mark.parametrize("mechanism", [LocalLaplace(-1, 3, 0.5), LocalGaussian(-1, 3, 0.25)])
class TestNumbers:
    def test_mean_is_unbiased_with_the_stated_error_and_half_width(self, mechanism: Any) -> None:
        n = 200
        values = np.linspace(-1, 3, n)
        errors, crossed, tight = [], 0, 0
        for seed in range(800):
            estimate = mechanism.estimate(mechanism.release(values, Seeded(seed)))
            errors.append((estimate.value - values.mean()) / estimate.standard_error)
            crossed += abs(estimate.value - values.mean()) > mechanism.half_width(n, 0.05)
            tight += abs(estimate.value - values.mean()) > mechanism.half_width(n, 0.05) / 3
        assert abs(np.mean(errors)) < 5.3 / math.sqrt(800)
        # Laplace noise makes the variance of a squared error at most 2 + 3/n: an error wrong by 1.2 is seen.
        assert abs(np.std(errors) - 1) < 5.3 / math.sqrt(1600)
        assert crossed < 85  # Binomial(800, 0.05) but for a chance below 1e-9
        assert tight > 160

    def test_clips_to_the_public_range(self, mechanism: Any) -> None:
        low = mechanism.release(np.full(10, -1.0), Seeded(7))
        assert (mechanism.release(np.full(10, -50.0), Seeded(7)) == low).all()

    def test_says_what_it_is(self, mechanism: Any) -> None:
        assert mechanism.cost in (PureDP(0.5), ZCDP(0.25))
        assert mechanism.guarantee.theorem in catalogue()
        missing = mechanism.release([float("nan"), 0.0], Seeded(9))
        assert (missing == mechanism.release([1.0, 0.0], Seeded(9))).all()  # the middle of the range
        declared = type(mechanism)(-1, 3, 0.5, default=-0.5)
        assert (declared.release([None], Seeded(9)) == declared.release([-0.5], Seeded(9))).all()
        assert declared.to_dict()["default"] == -0.5
        with pytest.raises(InvalidParameter, match="values") as caught:
            mechanism.release(["secret-row-17"])
        assert "secret" not in str(caught.value)
        with pytest.raises(InvalidParameter, match="default"):
            type(mechanism)(-1, 3, 0.5, default=4)
        with pytest.raises(InvalidParameter, match="high"):
            type(mechanism)(1, 1, 0.5)
        for wrong in ([], ["a"], [math.nan], [[1.0], [1.0, 2.0]]):
            with pytest.raises(InvalidParameter, match="answers"):
                mechanism.estimate(wrong)


@pytest.mark.parametrize("n", [1, 30, 2000, 10**7, 10**12])
@pytest.mark.parametrize("beta", [0.3, 1e-6])
def test_half_widths_of_means(n: int, beta: float) -> None:
    """Chernoff's bound at both ends, so `log(2/beta)`, minimised over tilts by a search of its own."""
    gaussian = LocalGaussian(-1, 3, 0.25)
    step = float(gaussian.law.grid.step)
    width = gaussian.law.sigma * math.sqrt(2 * math.log(2 / beta) / n)
    assert gaussian.half_width(n, beta) == pytest.approx(width + step / 2, rel=1e-12)

    laplace = LocalLaplace(-1, 3, 0.5)
    scale, step = mpmath.mpf(laplace.law.scale_steps), float(laplace.law.grid.step)

    def bound(share: mpmath.mpf) -> mpmath.mpf:
        t, q = share / scale, mpmath.exp(-1 / scale)
        log_mgf = mpmath.log((1 - q) ** 2 / ((1 - q * mpmath.exp(t)) * (1 - q * mpmath.exp(-t))))
        return (log_mgf + mpmath.log(2 / mpmath.mpf(beta)) / n) / t

    with mpmath.workprec(200):
        low, high = mpmath.mpf(-40), mpmath.mpf(20)  # log-odds of the share; the bound has one minimum
        for _ in range(80):
            a, b = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (low, b) if bound(1 / (1 + mpmath.exp(-a))) < bound(1 / (1 + mpmath.exp(-b))) else (a, high)
        best = float(bound(1 / (1 + mpmath.exp(-low))))
    assert best * (1 - 1e-9) <= laplace.half_width(n, beta) / step - 0.5 <= best * 1.003


def test_estimates_convert() -> None:
    estimate = RandomizedResponse(2, 1).estimate([0, 1, 1])
    assert estimate.to_dict()["n"] == 3
    assert sum(estimate.to_dict()["value"]) == pytest.approx(1)
