"""Thresholdout's answers: the published figure, the specification's algorithm, and batches."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.accounting.costs import PureDP
from holdfast.errors import InvalidParameter
from holdfast.holdout import Thresholdout
from holdfast.holdout.thresholdout import ThresholdRules
from holdfast.noise import Grid, Seeded
from tests.holdout.tape import FINE, Tape, Tapes
from tests.holdout.thresholdout_runs import FUZZ, make
from tests.mechanisms.test_sparse_run import Counting


class TestFigure1:
    def test_golden_transcript(self) -> None:
        tape = Tape([0.010, -0.005, 0.020, -0.003, -0.020, 0.001, -0.010, 0.002, 0.0])
        holdout = Thresholdout(10_000, 0.05, 0.01, 2, grid=FINE, draws=tape)
        asked = [(0.70, 0.66), (0.80, 0.71), (0.60, 0.57), (0.50, 0.55)]
        answers = [holdout.query_means(train, mean) for train, mean in asked]
        values = [answer.value for answer in answers]
        np.testing.assert_allclose(np.array(values, dtype=float), [0.70, 0.707, 0.60, 0.552], atol=1e-12, rtol=0)
        assert [answer.passed for answer in answers] == [True, False, True, False]
        assert tape.left == 0
        bottom = holdout.query_means(0.9, 0.1)  # an empty tape would raise
        assert (bottom.value, bottom.passed, bottom.interval, bottom.cost) == (None, None, None, PureDP(0.0))
        assert (holdout.asked, holdout.left, holdout.exhausted) == (4, 0, True)

    def test_golden_transcript_as_a_batch(self) -> None:
        holdout = Thresholdout(10_000, 0.05, 0.01, 2, grid=FINE, draws=lambda *_: 0)
        scales = holdout.scales_on_grid
        notes = {
            scales.threshold: [0.010, -0.020, 0.0],
            scales.comparison: [-0.005, 0.020, 0.001, -0.010, 0.0],
            scales.release: [-0.003, 0.002],
        }
        tapes = Tapes({scale: [FINE.index(x) for x in noise] for scale, noise in notes.items()})
        holdout = Thresholdout(10_000, 0.05, 0.01, 2, grid=FINE, draws=tapes)
        answers = holdout.query_batch([0.70, 0.80, 0.60, 0.50, 0.9], [0.66, 0.71, 0.57, 0.55, 0.1])
        np.testing.assert_allclose(answers.values[:4], [0.70, 0.707, 0.60, 0.552], atol=1e-12, rtol=0)
        assert np.isnan(answers.values[4])
        assert (answers.answered, len(answers)) == (4, 5)
        assert [a.value for a in answers][4] is None
        assert answers.to_dict()["values"][4] is None

    def test_comparison_is_strict(self) -> None:
        grid = Grid(-20)
        step = float(grid.step)
        for gap, over in ((0.25, False), (0.25 + step, True)):
            holdout = Thresholdout(100, 0.25, 0.1, 1, grid=grid, draws=lambda *_: 0)
            assert holdout.query_means(0.5, 0.5 + gap).passed is not over

    def test_limits(self) -> None:
        # without noise and threshold every difference speaks; with a threshold beyond the range none does
        holdout = Thresholdout(100, 0.0, 0.1, 5, draws=lambda *_: 0)
        assert holdout.query_means(0.5, 0.25).value == 0.25
        assert holdout.query_means(0.5, 0.5).passed
        holdout = make(threshold=1e6)
        answers = holdout.query_batch(np.linspace(0, 1, 1000), np.linspace(1, 0, 1000))
        assert not answers.overfit.any()
        assert holdout.left == 3

    def test_released_value_is_the_holdout_mean_with_fresh_noise_and_a_candidate_stays_exact(self) -> None:
        holdout = make(budget=20_000, sigma=0.002)
        values = holdout.query_batch(np.full(20_000, 0.9), np.full(20_000, 0.3)).values
        assert abs(values.mean() - 0.3) < 5 * 0.002 * math.sqrt(2 / 20_000)
        assert abs(np.abs(values - 0.3).mean() - 0.002) < 5 * 0.002 / math.sqrt(20_000)
        assert make().query_means(0.1, 0.1).value == 0.1  # not rounded to the grid

    def test_sides(self) -> None:
        up, down = (0.5, 0.9), (0.9, 0.5)  # candidate, holdout mean
        caught = {
            side: [not make(side=side).query_means(*question).passed for question in (up, down)]
            for side in ("two-sided", "holdout_above", "train_above")
        }
        assert caught == {"two-sided": [True, True], "holdout_above": [True, False], "train_above": [False, True]}
        for side in caught:
            answers = make(side=side, budget=2).query_batch([0.5, 0.9], [0.9, 0.5])
            assert answers.overfit.tolist() == caught[side]

    def test_ranges_and_sensitivities_scale_the_noise(self) -> None:
        unit = make().scales_on_grid.realised
        wide = make(low=-2, high=3).scales_on_grid.realised
        low = make(sensitivity=Fraction(5, 10_000)).scales_on_grid.realised
        for name in ("threshold", "comparison", "release"):
            assert getattr(wide, name) == pytest.approx(5 * getattr(unit, name), rel=2e-3)
            assert getattr(low, name) == pytest.approx(5 * getattr(unit, name), rel=2e-3)
        assert make(low=-2, high=3).cost == make().cost
        assert make(low=-2, high=3).query_means(-1.5, 2.9).value == pytest.approx(2.9, abs=0.1)
        assert make(sensitivity=1e-3).query_means(17.0, 3.0).value == pytest.approx(3.0, abs=0.5)
        values = make(sigma=0.2, clamp=True, budget=300, threshold=0.0).query_batch([1.0] * 300, [0.0] * 300).values
        assert values[~np.isnan(values)].min() == 0.0
        with pytest.raises(InvalidParameter, match="clamp"):
            make(sensitivity=1e-3, clamp=True)

    def test_per_row_values(self) -> None:
        holdout = Thresholdout(n=4, threshold=0.3, sigma=1e-4, budget=5, source=Seeded(2))
        assert holdout.query([1, 1, 0], [True, True, False, True]).value == pytest.approx(2 / 3)
        assert holdout.query_values(0.1, iter([[1.0, 0.5], [1.0, 0.5]])).value == pytest.approx(0.75, abs=0.01)
        assert holdout.query(iter([[1.0], [0.0]]), [0.5] * 4, train_n=2).value == 0.5
        matrix = holdout.query_batch([0.5, 1.0], [[0, 1, 0, 1], [0, 0, 0, 0]])
        assert matrix.overfit.tolist() == [False, True]


class Reference:
    """The algorithm as the specification's appendix writes it, on whole steps."""

    def __init__(self, threshold: int, scales: Any, budget: int, noise: Any) -> None:
        self.threshold, self.scales, self.left, self.noise = threshold, scales, budget, noise
        self.noisy = threshold + noise(scales.threshold)

    def query(self, train: int, mean: int) -> tuple[str, int]:
        if self.left < 1:
            return "bottom", 0
        if abs(mean - train) > self.noisy + self.noise(self.scales.comparison):
            xi, gamma = self.noise(self.scales.release), self.noise(self.scales.threshold)
            self.left -= 1
            self.noisy = self.threshold + gamma
            return "holdout", mean + xi
        return "train", train


class TestReference:
    @FUZZ
    @given(
        noise=st.lists(st.integers(-9000, 9000), max_size=60),
        questions=st.lists(st.tuples(st.integers(0, 2**14), st.integers(0, 2**14)), max_size=20),
        budget=st.integers(1, 5),
    )
    def test_same_transcript_for_any_noise(
        self, noise: list[int], questions: list[tuple[int, int]], budget: int
    ) -> None:
        grid = Grid(-14)
        tapes = [list(noise)[::-1] for _ in range(2)]

        def play(stack: list[int]) -> Any:
            return lambda scale, size=None: stack.pop() if stack else 0

        holdout = Thresholdout(100, 0.25, 0.05, budget, grid=grid, draws=play(tapes[0]))
        reference = Reference(grid.index(0.25), holdout.scales_on_grid, budget, play(tapes[1]))
        for train, mean in questions:
            answer = holdout.query_means(grid.value(train), grid.value(mean))
            branch, steps = reference.query(train, mean)
            assert {None: "bottom", True: "train", False: "holdout"}[answer.passed] == branch
            assert answer.value == (None if branch == "bottom" else grid.value(steps))
            assert tapes[0] == tapes[1]  # the same draws, in the same order
            assert 0 <= holdout.left == reference.left


class TestBatch:
    @FUZZ
    @given(st.data())
    def test_is_the_loop_under_the_same_noise(self, data: Any) -> None:
        budget = data.draw(st.integers(1, 4))
        side = data.draw(st.sampled_from(["two-sided", "holdout_above", "train_above"]))
        variant = data.draw(st.sampled_from(["figure-1", "single-threshold", "numeric-sparse"]))
        sizes = data.draw(st.lists(st.integers(0, 6), max_size=4))
        grid = Grid(-16)
        keep: dict[str, Any] = {"grid": grid, "side": side, "variant": variant}
        scales = Thresholdout(100, 0.1, 0.05, budget, draws=lambda *_: 0, **keep).scales_on_grid
        steps = st.lists(st.integers(-20_000, 20_000), max_size=30)
        tapes = {scale: data.draw(steps) for scale in {scales.threshold, scales.comparison, scales.release}}
        one, many = (Thresholdout(100, 0.1, 0.05, budget, draws=Tapes(tapes), **keep) for _ in range(2))
        for size in sizes:
            values = st.lists(st.floats(0, 1), min_size=size, max_size=size)
            candidates, means = data.draw(values), data.draw(values)
            # a batch draws its comparisons before it knows where the budget ends, so only whole batches are compared
            if one.exhausted:
                break
            alone = [one.query_means(c, h) for c, h in zip(candidates, means, strict=True)]
            assert alone == list(many.query_batch(candidates, means))
            assert (one.asked, one.left, one.spent, one._secret) == (many.asked, many.left, many.spent, many._secret)
            if one.exhausted:
                break

    def test_after_the_budget_everything_is_bottom_and_nothing_is_drawn(self) -> None:
        source = Counting(3)
        holdout = make(budget=1, source=source)
        holdout.query_means(0.9, 0.1)
        drawn = source.count
        for _ in range(3):
            assert holdout.query_means(0.5, 0.5).value is None
            assert holdout.query([0.5], np.full(10_000, 0.5)).passed is None
        answers = holdout.query_batch([0.5, 0.6], [0.5, 0.6])
        assert answers.answered == 0
        assert np.isnan(answers.values).all()
        assert [a.remaining for a in answers] == [{"overfits": 0}] * 2
        assert source.count == drawn
        assert (holdout.asked, holdout.left) == (1, 0)

    def test_of_nothing(self) -> None:
        holdout = make()
        assert list(holdout.query_batch([], [])) == []
        assert holdout.asked == 0


def test_values_lie_between_0_and_1_unless_said_otherwise() -> None:
    rules = ThresholdRules(n=10_000, threshold=0.04, sigma=0.001, budget=3)
    assert (rules.low, rules.high, rules.side, rules.clamp, rules.variant) == (0.0, 1.0, "two-sided", False, "figure-1")
    assert rules == ThresholdRules(n=10_000, threshold=0.04, sigma=0.001, budget=3, low=0.0, high=1.0)
    assert rules != ThresholdRules(n=10_000, threshold=0.04, sigma=0.001, budget=3, low=0.0, high=2.0)
