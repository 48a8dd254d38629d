from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.accounting.costs import ZCDP, PureDP
from holdfast.bounds import catalogue
from holdfast.bounds.numerics.exact import decimal_fraction, float_up
from holdfast.errors import InvalidParameter
from holdfast.mechanisms import (
    BitFlip,
    Gaussian,
    Laplace,
    LeakyResponse,
    LocalGaussian,
    LocalLaplace,
    Mechanism,
    RandomizedResponse,
    Selection,
    sparse,
)
from holdfast.noise import Grid, Seeded
from tests.mechanisms.statistics import fits
from tests.mechanisms.zoo import pmf

BOTH = [Laplace(0.01, 0.5), Gaussian(0.01, rho=0.02), Gaussian(0.01, sigma=0.05)]


class TestCost:
    @settings(max_examples=100, deadline=None, derandomize=True)
    @given(st.floats(1e-9, 1e6), st.floats(1e-6, 1e3), st.integers(1, 50))
    def test_the_sampled_law_never_spends_more_than_declared(
        self, sensitivity: float, parameter: float, dimension: int
    ) -> None:
        declared = decimal_fraction(parameter)
        laplace = Laplace(sensitivity, parameter, dimension)
        assert laplace.cost == PureDP(parameter)
        assert declared * Fraction(998, 1000) <= laplace.law.epsilon <= declared
        gaussian = Gaussian(sensitivity, rho=parameter, dimension=dimension)
        assert gaussian.cost == ZCDP(parameter)
        assert declared * Fraction(998, 1000) <= gaussian.law.rho <= declared

    def test_gaussian_from_sigma(self) -> None:
        mechanism = Gaussian(1, sigma=5)
        assert mechanism.cost == ZCDP(0.02)
        assert mechanism.law.sigma >= 5
        odd = Gaussian(1 / 3, sigma=0.7)
        assert decimal_fraction(odd.cost.rho) >= odd.law.rho

    @pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(1, 10), Fraction(3, 10), Fraction(10**20, 3), Fraction(0)])
    def test_costs_are_rounded_up_as_decimals(self, x: Fraction) -> None:
        assert decimal_fraction(float_up(x)) >= x
        assert float_up(x) <= math.nextafter(math.nextafter(float(x), math.inf), math.inf)

    def test_exact_laws(self) -> None:
        # Discrete Laplace: the largest log-ratio of the sampled distribution is its epsilon, not less and not more.
        mechanism = Laplace(4, 0.5, grid=Grid(0))
        k = np.arange(-200, 201)
        ratio = np.log(pmf(mechanism.law.scale_steps, k) / pmf(mechanism.law.scale_steps, k - 4))
        assert np.abs(ratio).max() == pytest.approx(float(mechanism.law.epsilon), rel=1e-9)
        # Discrete Gaussian: its Renyi divergences are at most rho times the order, with near equality.
        gaussian = Gaussian(4, rho=0.1, grid=Grid(0))
        sigma = gaussian.law.sigma_steps
        k = np.arange(-40 * sigma, 40 * sigma + 1)
        logs, moved = -(k**2) / (2 * sigma**2), -((k - 4) ** 2) / (2 * sigma**2)
        norm = np.logaddexp.reduce(logs)
        for order in (1.5, 2.0, 8.0):
            divergence = (np.logaddexp.reduce(order * logs + (1 - order) * moved) - norm) / (order - 1)
            assert divergence == pytest.approx(order * float(gaussian.law.rho), rel=1e-6)
            assert divergence <= order * float(gaussian.law.rho) * (1 + 1e-9)


class TestRelease:
    def test_law(self) -> None:
        mechanism = Laplace(1, 0.5, grid=Grid(0))
        k = np.arange(-300, 301)
        law = dict(zip((7 + k).astype(float).tolist(), pmf(2, k).tolist(), strict=True))
        source = Seeded(1)
        assert fits((mechanism.release(7, source) for _ in range(20_000)), law)
        wrong = dict(zip((7 + k).astype(float).tolist(), pmf(Fraction(13, 5), k).tolist(), strict=True))
        assert not fits((mechanism.release(7, source) for _ in range(20_000)), wrong)

    @pytest.mark.parametrize("mechanism", BOTH)
    def test_answers_lie_on_the_grid_and_within_the_half_width(self, mechanism: Any) -> None:
        beta, runs = 0.05, 4000
        source = Seeded(2)
        answers = np.array([mechanism.release(0.3712345, source) for _ in range(runs)])
        steps = answers / float(mechanism.grid.step)
        assert (steps == np.round(steps)).all()
        outside = (np.abs(answers - 0.3712345) > mechanism.half_width(beta)).sum()
        # Binomial(4000, 0.05) lies in [120, 290] but for a chance below 1e-7: the half-width holds and is not slack.
        assert 120 < outside < 290

    def test_half_width_of_a_vector_holds_for_all_coordinates(self) -> None:
        single, many = Laplace(1, 1), Laplace(1, 1, dimension=100)
        assert many.half_width(0.05) == pytest.approx(single.half_width(0.05, draws=100), rel=0.1)
        assert many.half_width(0.05, draws=1) < many.half_width(0.05)

    def test_vectors(self) -> None:
        mechanism = Laplace(1, 1, dimension=3)
        assert mechanism.release(np.zeros(3), Seeded(3)).shape == (3,)
        assert mechanism.release([0.0, 1.0, 2.0], Seeded(3)).shape == (3,)  # type: ignore[call-overload]
        with pytest.raises(InvalidParameter, match="value must be a number or an array"):
            mechanism.release([[0.731], [0.731, 0.731]])  # type: ignore[call-overload]
        with pytest.raises(InvalidParameter, match="masked"):
            mechanism.release(np.ma.masked_array([0.0, 1.0, 2.0], [False, True, False]))
        for wrong in (np.zeros(2), 0.731, [0.731]):
            with pytest.raises(InvalidParameter, match="one release has 3 numbers") as caught:
                mechanism.release(wrong)  # type: ignore[arg-type]
            assert "0.731" not in str(caught.value)
        with pytest.raises(InvalidParameter, match="one release has 1 number, got 2"):
            Gaussian(1, rho=1).release(np.zeros(2))

    def test_half_width_on_a_coarse_grid_counts_the_rounding(self) -> None:
        # Steps of 8 and noise of scale 1: it is 0 with probability 0.46, and the answer to 4 is then 8.
        mechanism = Laplace(8, 1, grid=Grid(3))
        assert mechanism.law.scale_steps == 1
        assert mechanism.half_width(0.54) == 4
        assert mechanism.half_width(0.53) == 12
        assert Gaussian(8, rho=0.5, grid=Grid(3)).half_width(0.54) == 12

    @pytest.mark.parametrize("mechanism", BOTH)
    def test_clipping_is_after_the_noise(self, mechanism: Any) -> None:
        answers = [mechanism.release(0.999, Seeded(i), clip=(0, 1)) for i in range(200)]
        assert max(answers) == 1
        assert min(answers) < 0.999
        plain = [mechanism.release(0.999, Seeded(i)) for i in range(200)]
        assert answers == [min(max(a, 0.0), 1.0) for a in plain]
        with pytest.raises(InvalidParameter, match="clip"):
            mechanism.release(0.5, clip=(1, 0))
        with pytest.raises(InvalidParameter, match="clip must be a pair"):
            mechanism.release(0.5, clip=(1,))

    @pytest.mark.parametrize("mechanism", BOTH)
    @pytest.mark.parametrize("wrong", [float("nan"), float("inf"), "0.731", None])
    def test_errors_show_no_value(self, mechanism: Any, wrong: Any) -> None:
        with pytest.raises(InvalidParameter) as caught:
            mechanism.release(wrong)
        assert "731" not in str(caught.value)
        assert "nan" not in str(caught.value).lower()


def test_what_is_shown_is_never_below_the_truth() -> None:
    third = Fraction(1, 3)
    for mechanism, name in (
        (Laplace(third, third), "epsilon"),
        (Gaussian(third, rho=third), "rho"),
        (LocalLaplace(0, 1, third), "epsilon"),
        (LocalGaussian(0, 1, third), "rho"),
        (RandomizedResponse(3, third), "epsilon"),
        (BitFlip(3, third), "epsilon"),
        (Selection(third, third), "epsilon"),
        (sparse(0, third, third, 1), "epsilon"),
        (LeakyResponse(third, third), "delta"),
    ):
        shown = mechanism.to_dict()
        for key in {name, "sensitivity"} & set(shown):
            assert decimal_fraction(shown[key]) >= third
        assert mechanism.guarantee.parameters[name] == getattr(mechanism.cost, name)


@pytest.mark.parametrize("mechanism", BOTH)
def test_says_what_it_is(mechanism: Any) -> None:
    assert isinstance(mechanism, Mechanism)
    assert mechanism.guarantee.theorem in catalogue()
    assert mechanism.guarantee.assumption == "neighbours replace one row, n public"
    assert mechanism.to_dict()["grid_exponent"] == mechanism.grid.exponent
    assert mechanism == type(mechanism)(**{f: getattr(mechanism, f) for f in mechanism.__dataclass_fields__})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Laplace(0, 1), "sensitivity must be a number in"),
        (lambda: Laplace(1, -1), "epsilon must be a number in"),
        (lambda: Laplace(1, 1, 0), "dimension must be a whole number"),
        (lambda: Laplace(1, 1, grid=2), "grid must be a noise.Grid"),  # type: ignore[arg-type]
        (lambda: Gaussian(1), "exactly one of rho and sigma"),
        (lambda: Gaussian(1, rho=1, sigma=1), "exactly one of rho and sigma"),
        (lambda: Gaussian(1, rho=0), "rho must be a number in"),
        (lambda: Gaussian(1, sigma=float("nan")), "sigma must be a number in"),
    ],
)
def test_wrong_parameters(build: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        build()
