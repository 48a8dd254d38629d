"""Correlated data under the reused holdout, and the counterexamples; the spec's acceptance limits at small size."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from holdfast_papers.correlated.zhao_counterexamples import chain_tail
from holdfast_papers.correlated.zhao_data import CorrelatedSample, CorrelatedSetting
from holdfast_papers.correlated.zhao_figures import ADJUSTED, SCALED, SCENARIOS, STANDARD, USUAL, repeat, threshold_of
from holdfast_papers.registry import Settings, experiments
from tests.bounds.correlated_laws import law_of_sum


def test_counterexamples_all_hold() -> None:
    seen: list[float] = []
    run = experiments()["zhao-counterexamples"].run
    outcome = run(Settings(quick=True, progress=lambda fraction, what: seen.append(fraction)))
    assert [c for c in outcome.checks if not c.passed] == []
    assert len(outcome.checks) == 14
    assert seen == sorted(seen)
    tables = {table.name: table.to_dict()["rows"] for table in outcome.tables}
    assert [row["value"] for row in tables["theorem-3"][:2]] == [3.980396998, 4.700438139]
    assert [row["Bayesian privacy"] for row in tables["composition"]] == [1.156455851, 2.445103723, 7.672179685]
    assert [row["records"] for row in tables["theorem-2"]][:2] == [1828945, 14631558]


def test_chain_tail_against_dynamic_programming() -> None:
    for flip, n, tau in ((0.05, 12, 0.25), (0.4, 9, 0.3)):
        matrix = np.array([[1 - flip, flip], [flip, 1 - flip]])
        law = law_of_sum(matrix, np.array([0.5, 0.5]), np.tile([0, 1], (n, 1)))
        off = np.abs(np.arange(n + 1) / n - 0.5) >= tau - 1e-12
        assert chain_tail(flip, n, tau) == pytest.approx(law[off].sum(), rel=1e-12)


def test_independent_records_overfit_and_algorithm_1_does_not() -> None:
    """S0 at n = d = 2000: 13 points and less than 5."""
    found = repeat(SCENARIOS[0], replace(SCENARIOS[0].setting, n=2000, d=2000), 3, Settings(seed=1), 0.0)
    assert found.excess(STANDARD, "holdout").value > 8
    assert found.excess(USUAL, "holdout").value < 5
    assert found.excess(ADJUSTED, "holdout").value < 2.5
    assert SCALED not in found.runs


def test_correlated_records_need_the_adjusted_threshold() -> None:
    """S3 at n = d = 4000: the usual threshold fails the limits that the scaled and the adjusted one pass."""
    found = repeat(SCENARIOS[3], replace(SCENARIOS[3].setting, n=4000, d=4000), 3, Settings(seed=2), 0.6)
    assert found.excess(STANDARD, "holdout").value > 15
    assert found.excess(USUAL, "holdout").value > 6
    assert found.excess(SCALED, "holdout").value < 5.5
    assert found.excess(SCALED, "holdout").value < found.excess(USUAL, "holdout").value / 2
    assert found.excess(ADJUSTED, "holdout").value < 2
    thresholds = [threshold_of(arm, found.setting) for arm in (USUAL, SCALED, ADJUSTED)]
    assert thresholds == sorted(thresholds)
    over = [float(np.mean([run.over for run in found.runs[arm]])) for arm in (USUAL, SCALED, ADJUSTED)]
    assert over[0] > 300 > 100 > over[1] > 5 > 1 > over[2]  # chance overrules a tenth, a hundredth, nothing


def test_the_data_are_as_correlated_as_they_say() -> None:
    setting = CorrelatedSetting(n=4000, d=300, signal=5, attributes=0.5, records=0.7, labels=0.7)
    sample = CorrelatedSample(setting, np.random.default_rng(1))
    labels = sample._labels["train"]
    assert np.mean(labels[1:] * labels[:-1]) == pytest.approx(0.7, abs=0.06)
    columns = list(sample._columns["train"].values())
    lagged = np.mean([np.mean(column[1:] * column[:-1]) for column in columns[6:]])
    assert lagged == pytest.approx(0.7, abs=0.05)
    assert np.mean([np.var(column) for column in columns[6:]]) == pytest.approx(1.0, abs=0.05)
    # neighbours in the series; the useful attributes are spread over it
    by_place = {int(setting.places[a]): column for a, column in sample._columns["holdout"].items() if a >= 5}
    pairs = [np.mean(by_place[p] * by_place[p + 1]) for p in by_place if p + 1 in by_place]
    assert np.mean(pairs) == pytest.approx(0.5, abs=0.05)
    assert sorted(setting.places.tolist()) == list(range(300))
    assert min(b - a for a, b in itertools.pairwise(sorted(setting.places[:5].tolist()))) >= 50


def test_products_vary_as_the_inflation_says() -> None:
    setting = CorrelatedSetting(n=2000, d=2000, records=0.7, labels=0.7)
    sample = CorrelatedSample(setting, np.random.default_rng(7))
    # given the labels the means are normal, so their square is chi-square: 2000 of them, five standard errors
    spread = float(np.mean(sample.holdout**2)) * setting.n
    assert spread == pytest.approx(setting.inflation, rel=0.35)
    assert abs(spread - 1) > 1


def test_population_accuracy_is_what_fresh_records_show() -> None:
    setting = CorrelatedSetting(n=40_000, d=60, signal=10, attributes=0.6)
    setting = replace(setting)
    sample = CorrelatedSample(setting, np.random.default_rng(3))
    order, signs = np.arange(60), np.where(np.arange(60) % 3, 1.0, -1.0)
    fresh = [float(right.mean()) for right in sample.correct("fresh", order, signs)]
    true = [float(setting.true_accuracy(order[:k], signs[:k])) for k in (10, 20)]
    assert fresh[:2] == pytest.approx(true, abs=5 * 0.5 / 200)
