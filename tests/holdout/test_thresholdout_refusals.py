"""Wrong input to Thresholdout changes nothing and draws nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.errors import InvalidParameter
from holdfast.holdout import Thresholdout
from tests.holdout.thresholdout_runs import make
from tests.mechanisms.test_sparse_run import Counting


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
