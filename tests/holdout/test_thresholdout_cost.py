"""What Thresholdout costs: its scales, its variants, and the sum over its answers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.accounting.costs import PureDP
from holdfast.bounds.holdout import thresholdout_epsilon
from holdfast.errors import InvalidParameter
from holdfast.holdout import NoiseScales
from tests.holdout.thresholdout_runs import FUZZ, make


class TestCost:
    @pytest.mark.parametrize("n", [100, 1024, 10_000, 999_983])
    @pytest.mark.parametrize("sigma", [1e-4, 0.003, 0.7])
    def test_never_above_lemma_23(self, n: int, sigma: float) -> None:
        holdout = make(n=n, sigma=sigma)
        claimed = thresholdout_epsilon(3, sigma, n)
        assert (1 - 2e-3) * claimed <= holdout.cost.epsilon <= claimed
        on_grid, asked = holdout.scales_on_grid, NoiseScales.of("figure-1", sigma, 3, n)
        for name in ("threshold", "comparison", "release"):
            assert 1 <= getattr(on_grid.realised, name) / getattr(asked, name) <= 1.001

    @FUZZ
    @given(
        n=st.integers(1, 10**8),
        sigma=st.floats(1e-4, 10),
        budget=st.integers(1, 10**6),
        low=st.floats(-1, 1),
        length=st.floats(1e-6, 1e6),
        variant=st.sampled_from(["figure-1", "single-threshold", "numeric-sparse"]),
    )
    def test_any_parameters(self, n: int, sigma: float, budget: int, low: float, length: float, variant: str) -> None:
        low, high = low * length, (low + 1) * length
        holdout = make(n=n, sigma=sigma, budget=budget, low=low, high=high, threshold=0.0, variant=variant)
        assert holdout.cost.epsilon <= thresholdout_epsilon(budget, sigma, n) * (1 + 1e-9)
        answer = holdout.query_means(low, high)
        assert answer.value is not None
        assert math.isfinite(answer.value)

    @pytest.mark.parametrize("variant", ["figure-1", "single-threshold", "numeric-sparse"])
    def test_answers_add_up(self, variant: str) -> None:
        holdout = make(variant=variant, budget=4)
        answers = [holdout.query_means(0.5, 0.5 if i % 3 else 0.9) for i in range(12)]
        charged = sum(Fraction(repr(a.cost.epsilon)) for a in answers if a.cost is not None)
        assert float(charged) == pytest.approx(holdout.spent.epsilon, rel=1e-12)
        assert holdout.exhausted
        assert holdout.spent == holdout.cost
        assert holdout.cost.epsilon == pytest.approx(thresholdout_epsilon(4, 0.001, 10_000), rel=2e-3)

    def test_an_open_epoch_is_paid_for(self) -> None:
        holdout = make()
        assert holdout.spent == PureDP(0.0)
        first = holdout.query_means(0.5, 0.5).cost
        assert first == holdout.spent
        assert first is not None
        assert first.epsilon == pytest.approx(0.05, rel=1e-3)  # D/(2 sigma)
        assert holdout.query_means(0.5, 0.5).cost == PureDP(0.0)

    def test_variants_divide_the_same_epsilon(self) -> None:
        # spec-reusable-holdout 6, rows 53 and 54: B = 10, sigma = 0.01, n = 10,000 spends 0.2
        figure, single, numeric = (
            NoiseScales.of(v, 0.01, 10, 10_000)  # type: ignore[arg-type]
            for v in ("figure-1", "single-threshold", "numeric-sparse")
        )
        assert (figure.threshold, figure.comparison, figure.release) == (0.02, 0.04, 0.01)
        assert single.threshold == pytest.approx(1e-4 / 0.01195019684, rel=1e-9)
        assert single.comparison == pytest.approx(20e-4 / 0.08804980316, rel=1e-9)
        assert (single.release, single.refresh) == (0.01, False)
        assert (numeric.threshold, numeric.comparison, numeric.release) == pytest.approx((0.01125, 0.0225, 0.045))
        assert figure.times(3) == NoiseScales(0.06, 0.12, 0.03)

    def test_a_single_threshold_stays(self) -> None:
        holdout = make(variant="single-threshold")
        before = holdout._secret
        assert holdout.query_means(0.1, 0.9).passed is False
        assert holdout._secret == before
        fresh = make()
        before = fresh._secret
        fresh.query_means(0.1, 0.9)
        assert fresh._secret != before

    def test_other_scales(self) -> None:
        scales = NoiseScales(0.01, 0.05, 0.002)
        holdout = make(scales=scales)
        assert holdout.cost.epsilon == pytest.approx(3 * 1e-4 * (1 / 0.01 + 2 / 0.05 + 1 / 0.002), rel=2e-3)
        with pytest.raises(InvalidParameter, match="comparison"):
            NoiseScales(0.1, 0, 0.1)
        with pytest.raises(InvalidParameter, match="refresh"):
            NoiseScales(0.1, 0.1, 0.1, 1)  # type: ignore[arg-type]
