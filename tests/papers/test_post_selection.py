"""The two experiments on tests after looking, in their quick form."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from holdfast.inference.after_looking.selection import choose, products
from holdfast.noise import Seeded
from holdfast_papers.max_information import p_value_sensitivity, post_selection_type_one
from holdfast_papers.max_information.p_value_sensitivity import (
    sign_test_sensitivity,
    smallest_radius,
    uniform_sum_sensitivity,
)
from holdfast_papers.registry import Outcome, Settings, experiments


@cache
def _outcome(name: str) -> Outcome:
    return experiments()[name].run(Settings(quick=True, seed=1))


def _rows(name: str, table: str) -> list[dict[str, Any]]:
    return next(t.to_dict()["rows"] for t in _outcome(name).tables if t.name == table)


@pytest.mark.parametrize("name", ["post-selection-type-one", "p-value-sensitivity"])
def test_checks_pass_and_the_chart_is_made(name: str) -> None:
    outcome = _outcome(name)
    assert [c for c in outcome.checks if not c.passed] == []
    assert outcome.finding.endswith(".")
    assert outcome.chart is not None
    outcome.chart().to_dict()


def test_false_discoveries() -> None:
    rows = {row["choice"]: row for row in _rows("post-selection-type-one", "type-one")}
    assert rows["argmax, tested as if fixed in advance"]["at 0.05"] > 0.97
    assert rows["permute-and-flip, epsilon 0.05"]["corrected"] <= 0.05
    assert rows["noisy max, epsilon 0.02, printed level"]["corrected level"] == pytest.approx(0.012352, rel=1e-4)


def test_power_says_where_ours_loses() -> None:
    rows = _rows("post-selection-type-one", "power")
    weak = next(row for row in rows if (row["n"], row["candidates"], row["strength"]) == (1000, 100, 5.0))
    assert weak["ours, private"] < weak["splitting"] < weak["Bonferroni"] + 0.01
    assert weak["ours, nearly the best"] > weak["splitting"]


def test_near_equal_specifications_are_where_ours_wins() -> None:
    rows = _rows("post-selection-type-one", "specifications")
    row = next(r for r in rows if (r["n"], r["strength"]) == (1000, 2.5))
    ours = row["ours, epsilon sqrt(n) = 0.5"]
    assert row["Bonferroni"] < ours
    assert row["splitting"] < ours < row["fixed in advance"]


def test_a_wrong_correction_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pricing the private choice at a hundredth of its epsilon must be seen."""
    honest = post_selection_type_one.PureDP
    monkeypatch.setattr(post_selection_type_one, "PureDP", lambda epsilon: honest(epsilon / 100))
    outcome = post_selection_type_one.run(Settings(quick=True, seed=1))
    assert not outcome.passed


def test_simulated_choice_has_the_law_of_the_mechanism() -> None:
    """Exponential noise and the exact mechanism choose the real feature equally often: 1,500 runs each, error 1e-6."""
    n, d, epsilon, runs = 60, 3, 0.4, 1500
    rng = np.random.default_rng(4)
    label = np.ones(n)
    agree = np.array([40, 30, 35])
    features = np.where(np.arange(n)[:, None] < agree[None, :], 1.0, -1.0)
    scores = products(features, label)
    source = Seeded(6)
    exact = sum(choose(scores, epsilon, source=source).index == 0 for _ in range(runs))
    sums = np.abs(2.0 * agree - n)
    simulated = int((np.argmax(sums + rng.exponential(4 / epsilon, (runs, d)), axis=1) == 0).sum())
    spread = np.sqrt(2 * runs * 0.25)
    assert abs(exact - simulated) < 4.9 * spread


def test_sensitivities() -> None:
    assert uniform_sum_sensitivity(1) == pytest.approx(1.0)
    below, above = uniform_sum_sensitivity(59), uniform_sum_sensitivity(60)
    assert above == pytest.approx(below * np.sqrt(60 / 61), rel=1e-3)
    assert above == pytest.approx(np.sqrt(12 / (2 * np.pi * 61)), rel=1e-2)
    assert sign_test_sensitivity(1000) == pytest.approx(2 * np.sqrt(2 / (np.pi * 1000)), rel=1e-2)
    rng = np.random.default_rng(1)
    sums = rng.random((20_000, 9)).sum(axis=1)
    assert (abs(sums - 4.5) <= 0.5).mean() == pytest.approx(uniform_sum_sensitivity(9), abs=0.02)
    assert smallest_radius(10) == np.inf
    assert 11.09 < smallest_radius(10**6) < 11.3


def test_progress_grows_to_one() -> None:
    seen: list[float] = []
    p_value_sensitivity.run(Settings(quick=True, progress=lambda fraction, what: seen.append(fraction)))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
