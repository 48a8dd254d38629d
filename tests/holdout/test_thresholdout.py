from __future__ import annotations

import copy
import json
import math
import os
import pickle
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.accounting.costs import PureDP
from holdfast.bounds.holdout import thresholdout_epsilon
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.holdout import NoiseScales, Thresholdout
from holdfast.noise import Grid, Seeded
from tests.holdout.tape import FINE, Tape, Tapes
from tests.mechanisms.test_sparse_run import Counting

FUZZ = settings(max_examples=60, deadline=None, derandomize=True)


def make(**changes: Any) -> Thresholdout:
    settings_ = {"n": 10_000, "threshold": 0.05, "sigma": 0.001, "budget": 3, "source": Seeded(1)}
    return Thresholdout(**(settings_ | changes))


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


class TestNamedQuestions:
    def test_the_same_name_gets_the_same_answer_free(self) -> None:
        source = Counting(5)
        holdout = make(budget=1, source=source)
        first = holdout.query_means(0.9, 0.1, key="model 1")
        drawn = source.count
        again = [
            holdout.query_means(0.9, 0.1, key="model 1"),
            holdout.query_values(0.9, np.full(10_000, 0.1), key="model 1"),
            holdout.query([0.9], np.full(10_000, 0.1), key="model 1"),
        ]
        assert all(a.value == first.value and a.passed is False for a in again)
        assert all(a.cost == PureDP(0.0) for a in again)
        assert (source.count, holdout.asked) == (drawn, 1)
        assert holdout.query_means(0.9, 0.1, key="model 2").value is None  # bottom is not kept
        with pytest.raises(InvalidParameter, match="key"):
            holdout.query_means(0.9, 0.1, key=7)  # type: ignore[arg-type]

    def test_names_are_saved(self) -> None:
        holdout = make()
        value = holdout.query_means(0.9, 0.1, key="a").value
        again = Thresholdout.from_state(json.loads(json.dumps(holdout.state())))
        assert again.query_means(0.0, 0.0, key="a").value == value
        assert again.state() == holdout.state()


class TestWrongInput:
    @pytest.mark.parametrize(
        "ask",
        [
            lambda h: h.query_means(0.5, float("nan")),
            lambda h: h.query_means(float("inf"), 0.5),
            lambda h: h.query_means(1.2, 0.5),
            lambda h: h.query_means(0.5, 0.731731e3),
            lambda h: h.query_means("0.5", 0.5),
            lambda h: h.query_values(0.5, np.full(9_999, 0.5)),
            lambda h: h.query_values(0.5, np.full(10_001, 0.5)),
            lambda h: h.query_values(0.5, np.full(10_000, 731.731)),
            lambda h: h.query_values(0.5, np.append(np.full(9_999, 0.5), np.nan)),
            lambda h: h.query_values(-0.1, np.full(10_000, 0.5)),
            lambda h: h.query([0.5, 2.0], np.full(10_000, 0.5)),
            lambda h: h.query([], np.full(10_000, 0.5)),
            lambda h: h.query(iter([[0.5]]), np.full(10_000, 0.5)),
            lambda h: h.query(None, np.full(10_000, 0.5)),
            lambda h: h.query_batch([0.5, 0.5], [0.5]),
            lambda h: h.query_batch([0.5, 1.5], [0.5, 0.5]),
            lambda h: h.query_batch([0.5, 0.5], [0.5, float("nan")]),
            lambda h: h.query_batch(["a"], [0.5]),
            lambda h: h.query_batch([[0.5]], [[0.5]]),
            lambda h: h.query_batch([0.5], [[0.5] * 9]),
            lambda h: h.query_batch([0.5], [[0.5], [0.5, 0.5]]),
        ],
    )
    def test_changes_nothing_and_draws_nothing(self, ask: Any) -> None:
        source = Counting(4)
        holdout = make(source=source)
        before = (holdout._secret, holdout.asked, holdout.left, holdout.spent, source.count)
        with pytest.raises(InvalidParameter) as caught:
            ask(holdout)
        assert "731" not in str(caught.value)
        assert before == (holdout._secret, holdout.asked, holdout.left, holdout.spent, source.count)

    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            ({"n": 0}, "n must"),
            ({"threshold": -0.1}, "threshold"),
            ({"threshold": float("nan")}, "threshold"),
            ({"sigma": 0}, "sigma"),
            ({"budget": 0}, "budget"),
            ({"budget": 2.5}, "budget"),
            ({"side": "both"}, "side"),
            ({"variant": "svt"}, "variant"),
            ({"low": 1, "high": 1}, "low"),
            ({"clamp": "yes"}, "clamp"),
            ({"sensitivity": 0}, "sensitivity"),
            ({"grid": -20}, "grid"),
            ({"source": 7}, "source"),
            ({"sigma": 1e12}, "2\\*\\*48"),
        ],
    )
    def test_construction(self, changes: dict[str, Any], named: str) -> None:
        with pytest.raises(InvalidParameter, match=named):
            make(**changes)

    def test_declared_sensitivity_takes_no_rows(self) -> None:
        with pytest.raises(InvalidParameter, match="query_means"):
            make(sensitivity=0.1).query([0.5], np.full(10_000, 0.5))


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


class TestSecret:
    def test_repr_pickle_and_copies(self) -> None:
        holdout = make()
        text = repr(holdout) + str(holdout.query_means(0.9, 0.1234567))
        assert str(holdout._secret) not in text
        assert "1234567" not in text
        for leak in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"state\(\) and from_state\(\)"):
                leak(holdout)

    @FUZZ
    @given(
        questions=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=12),
        stop=st.integers(0, 12),
        variant=st.sampled_from(["figure-1", "single-threshold", "numeric-sparse"]),
    )
    def test_state_continues_exactly(self, questions: list[tuple[float, float]], stop: int, variant: str) -> None:
        kept = make(variant=variant, sigma=0.02)
        moved = make(variant=variant, sigma=0.02)
        for i, (candidate, mean) in enumerate(questions):
            if i == stop:
                moved = Thresholdout.from_state(json.loads(json.dumps(moved.state())))
            assert kept.query_means(candidate, mean) == moved.query_means(candidate, mean)
            assert kept.left >= 0
        assert kept.state() == moved.state()

    def test_state_of_every_parameter(self) -> None:
        for changes in (
            {"sensitivity": 0.3},
            {"sensitivity": Fraction(1, 3)},
            {"scales": NoiseScales(0.1, 0.2, 0.3, False)},
            {"low": -1, "high": 4, "clamp": True, "side": "train_above"},
            {"grid": Grid(-30)},
        ):
            holdout = make(**changes)
            again = Thresholdout.from_state(json.loads(json.dumps(holdout.state())))
            assert again.state() == holdout.state()
            assert again.cost == holdout.cost
        secure = Thresholdout(100, 0.1, 0.01, 1)
        assert secure.state()["source"] is None
        assert secure.state()["secret"] is True
        planned = Thresholdout.plan(0.5, 0.05, 10, 1, source=Seeded(1))
        again = Thresholdout.from_state(planned.state())
        assert again.certified
        assert again.claim == planned.claim

    def test_states_that_no_run_has_are_refused(self) -> None:
        state = make().state()
        for wrong in (
            None,
            {},
            {**state, "kind": "ladder"},
            {**state, "left": 4},
            {**state, "left": -1},
            {**state, "left": 1, "asked": 1},
            {**state, "noisy_threshold": 0.5},
            {**state, "fresh": 1},
            {**state, "source": {"seed": 1}},
            {k: v for k, v in state.items() if k != "asked"},
        ):
            with pytest.raises(InvalidParameter):
                Thresholdout.from_state(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="injected"):
            make(draws=lambda *_: 0).state()
        with pytest.raises(InvalidParameter, match="Counting"):
            make(source=Counting(1)).state()

    def test_threads_share_one_budget(self) -> None:
        holdout = make(budget=50, source=None)
        spoke: list[bool] = []

        def ask() -> None:
            for _ in range(40):
                spoke.append(holdout.query_means(0.9, 0.1).passed is False)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (sum(spoke), len(spoke), holdout.left) == (50, 160, 0)

    def test_a_forked_child_gets_no_answer(self) -> None:
        holdout = make(source=None)
        pid = os.fork()
        if pid == 0:
            try:
                holdout.query_means(0.5, 0.5)
            except HoldfastError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        assert holdout.query_means(0.5, 0.5).value == 0.5


def test_masked_values_are_refused() -> None:
    holdout = Thresholdout(n=4, threshold=0.1, sigma=0.1, budget=2)
    masked = np.ma.MaskedArray([0.0, 1.0, 1.0, 0.0], mask=[0, 0, 1, 0])
    for ask in (
        lambda: holdout.query_values(0.5, masked),
        lambda: holdout.query_batch([0.5], np.ma.stack([masked])),
        lambda: holdout.query_batch([0.5] * 4, masked),
        lambda: holdout.query_batch(masked, [0.5] * 4),
    ):
        with pytest.raises(InvalidParameter, match="masked"):
            ask()
    assert holdout.asked == 0


def test_two_threads_with_one_name_get_one_answer() -> None:
    """Both look before either has asked; the second look is inside the lock."""
    holdout = Thresholdout(n=4, threshold=0.1, sigma=0.1, budget=2)
    assert holdout._recall("a") is None
    first = holdout._ask(0.5, 0.5, "a")  # what the faster thread does
    second = holdout._ask(0.5, 0.5, "a")  # the slower one, after its own first look
    assert first.value == second.value
    assert holdout.asked == 1
