from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.holdout import ladder_tail, ladder_width
from holdfast.errors import InvalidParameter
from holdfast.holdout import Ladder


class TestFixedStep:
    def test_moves_only_on_a_clear_improvement(self) -> None:
        ladder = Ladder(n=100, submissions=10, step=0.1)
        told = [ladder.submit(np.arange(100) < 100 * loss) for loss in (0.52, 0.45, 0.41, 0.39, 0.33, 0.0)]
        assert [a.value for a in told] == pytest.approx([0.5, 0.5, 0.5, 0.4, 0.4, 0.0])
        assert [a.passed for a in told] == [True, False, False, True, False, True]
        assert ladder.leader == 6
        assert told[0].remaining == {"submissions": 9}

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(losses=st.lists(st.floats(0, 1), min_size=1, max_size=30), cells=st.integers(1, 30))
    def test_invariants(self, losses: list[float], cells: int) -> None:
        ladder = Ladder(n=3, submissions=30, step=1 / cells)
        best, shown = math.inf, []
        for loss in losses:
            answer = ladder.submit([loss] * 3)
            best = min(best, loss)
            assert answer.value is not None
            shown.append(answer.value)
            # never more than a step above the best mean, never more than half a step below it
            assert best - 1 / cells / 2 - 1e-9 <= answer.value <= best + 1 / cells + 1e-9
        assert shown == sorted(shown, reverse=True)
        assert len(set(shown)) <= cells + 1

    def test_interval_is_the_theorem_s(self) -> None:
        n, m, beta = 10_000, 1000, 0.05
        width = ladder_width(n, beta, m)
        ladder = Ladder(n, m)
        assert ladder.step == width.step
        answer = ladder.submit(np.full(n, 0.4))
        assert answer.interval is not None
        assert answer.value is not None
        assert answer.value - answer.interval[0] == pytest.approx(width.value, rel=1e-6)
        assert answer.guarantee.certified
        error = answer.value - answer.interval[0] - ladder.step - 1e-12
        assert ladder_tail(n, error, ladder.step, m) <= beta * (1 + 1e-6)

    def test_accuracy(self) -> None:
        ladder = Ladder(n=10, submissions=5, step=0.1, scores="correctness")
        answer = ladder.submit([1] * 7 + [0] * 3)
        assert answer.value == pytest.approx(0.7)
        assert answer.interval is not None
        assert answer.interval[0] <= 0.7 <= answer.interval[1]
        assert ladder.submit([1] * 9 + [0]).value == pytest.approx(0.9)
        assert ladder.best == pytest.approx(0.9)

    def test_bottom_after_the_last_submission(self) -> None:
        ladder = Ladder(n=2, submissions=1, step=0.5)
        assert ladder.best is None
        assert ladder.submit([0, 1]).passed
        bottom = ladder.submit([0, 0])
        assert (bottom.value, bottom.passed, ladder.best) == (None, None, 0.5)

    def test_streams(self) -> None:
        for mode in ("fixed-step", "parameter-free"):
            ladder = Ladder(n=4, submissions=3, mode=mode)  # type: ignore[arg-type]
            assert ladder.submit(iter([[0.0, 1.0], [1.0, 1.0]])).passed

    def test_wrong_input_changes_nothing(self) -> None:
        for mode in ("fixed-step", "parameter-free"):
            ladder = Ladder(n=3, submissions=5, mode=mode)  # type: ignore[arg-type]
            ladder.submit([0, 1, 1])
            before = ladder.state()
            for wrong in ([0, 1], [0, 1, 2], [0, 1, float("nan")], [[0, 1, 1]], "abc", None, iter([[0.731], [9]])):
                with pytest.raises(InvalidParameter) as caught:
                    ladder.submit(wrong)  # type: ignore[arg-type]
                assert "731" not in str(caught.value)
            assert ladder.state() == before
        for wrong_settings in (
            {"n": 0},
            {"submissions": 0},
            {"step": 0},
            {"step": 2},
            {"confidence": 1},
            {"mode": "free"},
            {"scores": "auc"},
            {"mode": "parameter-free", "step": 0.1},
        ):
            with pytest.raises(InvalidParameter):
                Ladder(**({"n": 10, "submissions": 10} | wrong_settings))  # type: ignore[arg-type]


class TestParameterFree:
    def test_a_paired_difference_decides(self) -> None:
        n = 400
        rng = np.random.default_rng(1)
        base = (rng.random(n) < 0.5).astype(float)
        ladder = Ladder(n, 10, mode="parameter-free")
        ladder.submit(base)
        # one row better: the difference is one row, its deviation 1/sqrt(n) per row, so s/sqrt(n) = 1/n: not below it
        one = base.copy()
        one[np.flatnonzero(base)[0]] = 0
        assert not ladder.submit(one).passed
        four = base.copy()
        four[np.flatnonzero(base)[:4]] = 0  # four rows better against a deviation of two rows
        assert ladder.submit(four).passed
        # as many better as worse: no move
        swap = four.copy()
        swap[np.flatnonzero(four)[:50]] = 0
        swap[np.flatnonzero(four == 0)[:50]] = 1
        assert not ladder.submit(swap).passed

    def test_intervals_widen_with_moves_and_hold(self) -> None:
        n = 2000
        ladder = Ladder(n, 100, mode="parameter-free")
        widths = []
        for loss in (0.9, 0.9, 0.6, 0.3, 0.1):
            answer = ladder.submit(np.full(n, loss))
            assert answer.interval is not None
            widths.append(answer.half_width or 0.0)
            assert answer.interval[0] <= loss <= answer.interval[1]
        assert widths[2] <= widths[3]
        assert answer.guarantee.theorem == "holdout.error-allocation"

    @pytest.mark.parametrize("mode", ["fixed-step", "parameter-free"])
    def test_an_attack_on_the_leaderboard_stays_inside(self, mode: str) -> None:
        """Boosting: random guesses that took the lead are voted together. Every true loss is 1/2.

        The interval must contain 1/2 in every run (the claim allows one in twenty); the holdout mean itself, shown
        without a ladder, leads the same analyst to believe about 0.42.
        """
        n, submissions = 1000, 120
        rng = np.random.default_rng(7)
        naive = []
        for _ in range(15):
            labels = rng.integers(0, 2, n)
            ladder = Ladder(n, submissions, mode=mode)  # type: ignore[arg-type]
            for name, tell in (("ladder", ladder), ("naive", None)):
                kept: list[Any] = []
                best = math.inf
                for t in range(submissions):
                    guess = rng.integers(0, 2, n)
                    if t == submissions - 1 and kept:
                        guess = (np.mean(kept, axis=0) + rng.uniform(-0.01, 0.01, n) > 0.5).astype(int)
                    losses = (guess != labels).astype(float)
                    if tell is None:
                        best = min(best, losses.mean())
                        if losses.mean() < 0.5:
                            kept.append(guess)
                        continue
                    answer = tell.submit(losses)
                    assert answer.interval is not None
                    assert answer.interval[0] <= 0.5 <= answer.interval[1]
                    if answer.passed:
                        kept.append(guess)
                if name == "naive":
                    naive.append(best)
        assert max(naive) < 0.46
        assert float(np.mean(naive)) < 0.43


class TestSecret:
    @pytest.mark.parametrize("mode", ["fixed-step", "parameter-free"])
    def test_state_continues_exactly(self, mode: str) -> None:
        rng = np.random.default_rng(2)
        kept = Ladder(50, 20, mode=mode)  # type: ignore[arg-type]
        moved = Ladder(50, 20, mode=mode)  # type: ignore[arg-type]
        for i in range(20):
            losses = rng.random(50) * (1 - i / 30)
            assert kept.submit(losses) == moved.submit(losses)
            moved = Ladder.from_state(json.loads(json.dumps(moved.state())))
        assert kept.state() == moved.state()
        state = kept.state()
        for wrong in ({}, state | {"submitted": 21}, state | {"moves": -1}, state | {"losses": [0.5]}):
            with pytest.raises(InvalidParameter):
                Ladder.from_state(wrong)

    def test_repr_and_pickle(self) -> None:
        ladder = Ladder(4, 5, mode="parameter-free")
        ladder.submit([0.731, 0, 0, 0])
        assert "731" not in repr(ladder)
        with pytest.raises(TypeError, match="from_state"):
            pickle.dumps(ladder)


def test_never_spends_more_than_the_confidence_leaves() -> None:
    """What a confidence leaves to chance is rounded down, from the decimal that it prints as."""
    for confidence in (0.95, 0.9, 1 - 2.0**-53, 1e-12 / 3):
        left = 1 - Fraction(repr(confidence))
        ladder = Ladder(n=10, submissions=5, mode="parameter-free", confidence=confidence)
        assert Fraction(repr(ladder._budget.beta)) <= left
        assert Fraction(repr(Ladder(n=10, submissions=5, step=0.5, confidence=confidence)._beta)) <= left


def test_the_fixed_step_interval_is_what_the_proof_gives() -> None:
    """A step below the score, half a step above it, and the deviation that all transcripts together allow."""
    n, step, submissions, beta = 100_000, 0.1, 20, 0.05
    ladder = Ladder(n=n, submissions=submissions, step=step, confidence=1 - beta)
    error = math.sqrt(math.log(2 * math.comb(submissions + 11, 12) / beta) / (2 * n))
    low, high = ladder.submit(np.arange(n) < 0.5 * n).interval or (0.0, 0.0)
    assert low == pytest.approx(0.5 - step - error, rel=1e-9)
    assert high == pytest.approx(0.5 + step / 2 + error, rel=1e-9)


def test_the_parameter_free_interval_is_what_the_proof_gives() -> None:
    """A move is weighed as a failed check and by its place above the bar; the widest deviation so far counts."""
    n, submissions, beta = 100_000, 20, 0.05
    ladder = Ladder(n=n, submissions=submissions, mode="parameter-free", confidence=1 - beta)
    errors, moves, prior, bar, score = [], 0, 1.0, n + 1, 0.5
    for i, loss in enumerate((0.5, 0.5, 0.4, 0.45, 0.3, 0.3)):
        errors.append(math.sqrt(math.log(2 * submissions / (beta * prior)) / (2 * n)))
        answer = ladder.submit(np.arange(n) < loss * n)
        fails = (moves + 1) / (i + submissions)  # of a Beta mixture with one failure expected
        if answer.passed:
            place, bar = bar - round(loss * n), round(loss * n)
            prior *= fails / (place * (place + 1))
        else:
            prior *= 1 - fails
        moves += bool(answer.passed)
        score = min(score, loss)
        assert answer.value == pytest.approx(score)
        low, high = answer.interval or (0.0, 0.0)
        assert low == pytest.approx(score - 1 / math.sqrt(n - 1) - max(errors), rel=1e-9)
        assert high == pytest.approx(score + 1 / (2 * n) + max(errors), rel=1e-9)
    assert moves == 3


def test_the_tail_counts_every_transcript() -> None:
    for t, step, error in ((7, 0.25, 0.1), (100, 0.1, 0.08)):
        grid = math.floor(1 / step + 0.5) + 1
        exact = 2 * sum(math.comb(i + grid, grid) for i in range(t)) * math.exp(-2 * error**2 * 5000)
        assert ladder_tail(5000, error, step, t) == pytest.approx(min(1.0, exact), rel=1e-9)
        assert exact < 1


def test_a_stored_ladder_keeps_its_step_and_a_leader_that_was_submitted() -> None:
    ladder = Ladder(50, 20, step=0.125, mode="fixed-step")
    ladder.submit(np.full(50, 0.5))
    state = ladder.state()
    assert state["parameters"]["step"] == 0.125
    assert Ladder.from_state(state).state() == state
    assert Ladder(50, 20, mode="parameter-free").state()["parameters"]["step"] is None
    for leader in (-1, 2):
        with pytest.raises(InvalidParameter, match="leader"):
            Ladder.from_state(state | {"leader": leader})


def test_one_row_never_moves_a_parameter_free_ladder_by_less_than_everything() -> None:
    """The spread of one difference is not known: nothing short of the whole range counts as better."""
    ladder = Ladder(1, 5, mode="parameter-free")
    assert (ladder.n, ladder.submitted) == (1, 0)
    shown = [ladder.submit([loss]).value for loss in (0.9, 0.4, 0.1)]
    assert shown[1:] == shown[:1] * 2
    assert ladder.submitted == 3
