from __future__ import annotations

import math
from typing import Any

import numpy as np
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


@pytest.mark.parametrize("mechanism", [RandomizedResponse(3, 1.0), BitFlip(3, 1.0)])
class TestCategories:
    def test_estimates_are_unbiased_with_the_stated_error(self, mechanism: Any) -> None:
        errors = []
        for seed in range(40):
            estimate = mechanism.estimate(mechanism.release(TRUTH, Seeded(seed)))
            errors.append((estimate.value - SHARES) / estimate.standard_error)
            assert np.abs(estimate.value - SHARES).max() < mechanism.half_width(len(TRUTH), 1e-6)
        scaled = np.array(errors)
        # Given the people, the stated error is an upper bound for randomized response and exact for bits.
        assert np.abs(scaled.mean(axis=0)).max() < 5.3 / math.sqrt(40)
        assert 0.4 < scaled.std() < 1.4

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
        with pytest.raises(InvalidParameter):
            mechanism.estimate([])
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
        n = 2000
        values = np.linspace(-1, 3, n)
        errors, crossed, tight = [], 0, 0
        for seed in range(200):
            estimate = mechanism.estimate(mechanism.release(values, Seeded(seed)))
            errors.append((estimate.value - values.mean()) / estimate.standard_error)
            crossed += abs(estimate.value - values.mean()) > mechanism.half_width(n, 0.05)
            tight += abs(estimate.value - values.mean()) > mechanism.half_width(n, 0.05) / 3
        assert abs(np.mean(errors)) < 5.3 / math.sqrt(200)
        assert 0.75 < np.std(errors) < 1.3
        assert crossed < 35  # Binomial(200, 0.05) but for a chance below 1e-9
        assert tight > 40

    def test_clips_to_the_public_range(self, mechanism: Any) -> None:
        low = mechanism.release(np.full(10, -1.0), Seeded(7))
        assert (mechanism.release(np.full(10, -50.0), Seeded(7)) == low).all()

    def test_says_what_it_is(self, mechanism: Any) -> None:
        assert mechanism.cost in (PureDP(0.5), ZCDP(0.25))
        assert mechanism.guarantee.theorem in catalogue()
        with pytest.raises(InvalidParameter, match="NaN"):
            mechanism.release([float("nan")])
        with pytest.raises(InvalidParameter, match="high"):
            type(mechanism)(1, 1, 0.5)
        with pytest.raises(InvalidParameter, match="answers"):
            mechanism.estimate([])


def test_estimates_convert() -> None:
    estimate = RandomizedResponse(2, 1).estimate([0, 1, 1])
    assert estimate.to_dict()["n"] == 3
    assert sum(estimate.to_dict()["value"]) == pytest.approx(1)
