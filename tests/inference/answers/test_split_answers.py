"""Splitting: each question on its own part of the rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.errors import InvalidParameter
from holdfast.inference import (
    SplitAnswers,
)
from holdfast.noise import Seeded
from tests.inference.answers.answerers import K, N


def test_split_looks_at_its_own_part_only() -> None:
    values = np.linspace(0, 1, N)
    answers, seen = SplitAnswers(N, K, 0.95), np.zeros(N, dtype=int)
    for _ in range(K):
        rows = answers.rows
        seen[rows] += 1
        bad = np.full(N, np.nan)  # rows of other parts are not looked at, not even to check them
        bad[rows] = values[rows]
        assert answers.mean(bad).value == pytest.approx(values[rows].mean())
    assert (seen == 1).all()
    assert answers.rows.size == 0
    answers = SplitAnswers(N, K, 0.95)
    assert answers.mean(values[answers.rows]).interval is not None


def test_split_parts_are_restored_and_differ_between_plans() -> None:
    answers, other = SplitAnswers(N, K, 0.95), SplitAnswers(N, K, 0.95)
    assert (answers.rows.tolist() == other.rows.tolist()) is False
    assert SplitAnswers(N, K, 0.95, source=Seeded(3)).rows.tolist() == [23, 48, 137, 183, 242, 270, 272, 274, 296, 308]
    answers.mean(np.zeros(N))
    state = json.loads(json.dumps(answers.state()))
    again = SplitAnswers.from_state(state)
    assert again.rows.tolist() == answers.rows.tolist()
    for order in (None, 7, "7", "g" * 32, state["order"] + "0"):
        with pytest.raises(InvalidParameter, match="order"):
            SplitAnswers.from_state(state | {"order": order})


def test_split_holds_on_a_sorted_file_and_parts_in_file_order_do_not() -> None:
    runs, n, k = 200, 2000, 10
    rng = np.random.default_rng(5)
    missed = in_file_order = 0
    for run in range(runs):
        values = np.sort(rng.random(n) < 0.3)
        answers = SplitAnswers(n, k, 0.95, source=Seeded(run))
        held = True
        for j in range(k):
            low, high = answers.mean(values).interval or (0.0, 1.0)
            held &= low <= 0.3 <= high
            in_file_order += j == 0 and not values[: n // k].mean() >= 0.3 - answers.half_width
        missed += not held
    assert missed <= binom.isf(1e-6, runs, 0.05)
    assert in_file_order == runs


def test_split_families() -> None:
    kl, hoeffding = (SplitAnswers(4000, 4, 0.95, family=f) for f in ("kl", "hoeffding"))  # type: ignore[arg-type]
    values = np.arange(1000) % 20 == 0  # of the part alone
    first, second = kl.mean(values), hoeffding.mean(values)
    assert second.half_width is not None
    assert first.half_width is not None
    assert first.half_width < 0.6 * second.half_width
    assert second.interval == pytest.approx((max(0.05 - hoeffding.half_width, 0), 0.05 + hoeffding.half_width))
