"""The experiments in their quick form with a fixed seed: what they find, and that they could find otherwise."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from holdfast.accounting import BasicOdometer, MixtureOdometer
from holdfast_papers.accounting import filter_comparison, odometer_attack
from holdfast_papers.accounting.odometer_attack import SETTINGS, Contender, Result, judge, readings
from holdfast_papers.accounting.walks import count_crossings, crossing_probability, crossing_thresholds
from holdfast_papers.max_information import lower_bound as max_information_lower_bound
from holdfast_papers.max_information.two_looks import Looks
from holdfast_papers.registry import Outcome, Settings, experiments


@cache
def _quick(name: str) -> Outcome:
    return experiments()[name].run(Settings(quick=True, seed=1))


def _rows(name: str, table: str) -> list[dict[str, Any]]:
    return next(t.to_dict()["rows"] for t in _quick(name).tables if t.name == table)


@pytest.mark.parametrize("name", ["filter-comparison", "max-information-lower-bound", "odometer-attack"])
def test_every_check_of_the_quick_run_passes(name: str) -> None:
    outcome = _quick(name)
    assert [c for c in outcome.checks if not c.passed] == []
    assert len(outcome.checks) >= 20
    assert outcome.finding.endswith(".")
    assert outcome.chart is not None
    outcome.chart().to_dict()


def test_every_source_names_what_a_reader_can_find() -> None:
    for found in experiments().values():
        assert found.source
        assert "spec-" not in found.source


def test_progress_grows_to_one() -> None:
    seen: list[float] = []
    filter_comparison.run(Settings(quick=True, progress=lambda fraction, what: seen.append(fraction)))
    assert seen == sorted(seen)
    assert seen[0] == 0.0
    assert seen[-1] == 1.0


def test_advanced_composition_fails_as_an_odometer() -> None:
    """About 19% at a nominal 5% over 100,000 rounds, 14.3% over 10,000; exactly, and in the runs."""
    rows = {(r["rounds"], r["odometer"]): r for r in _rows("odometer-attack", "failures")}
    for rounds, exact in ((100_000, 0.1879), (10_000, 0.1430)):
        row = rows[rounds, odometer_attack.MISUSED]
        assert row["nominal"] == 0.05
        assert row["exact"] == pytest.approx(exact, abs=5e-5)
        assert abs(row["measured"] - exact) < 5 * math.sqrt(exact / row["trials"])
        assert row["holds"] == "NO"
        assert rows[rounds, odometer_attack.LAST]["holds"] == "yes"
    assert rows[10_000, odometer_attack.TIGHTEST]["holds"] == "NO"


def test_odometers_keep_their_promise_at_the_exact_values_of_the_specification() -> None:
    """Confidence-and-composition, section 11: exact crossing probabilities at epsilon 0.01, 10,000 rounds, 0.05."""
    rows = {r["odometer"]: r for r in _rows("odometer-attack", "failures") if r["rounds"] == 10_000}
    for name, exact in {"line": 0.0317, "mixture": 0.0138, "stitched": 0.0021}.items():
        assert rows[name]["exact"] == pytest.approx(exact, abs=5e-5)
    for name in ("Rogers, printed", "line", "mixture", "stitched", "exact inversion", "default"):
        assert rows[name]["holds"] == "yes"
        assert rows[name]["exact, both sides"] <= 0.05


def _result(curve: np.ndarray, *, valid: bool) -> Result:
    setting = replace(SETTINGS[2], rounds=len(curve), trials=1000, reported={})
    thresholds = crossing_thresholds(setting.epsilon, curve)
    ever, _ = count_crossings(setting.epsilon, [thresholds], 1000, np.random.default_rng(15))
    contender = Contender("made up", curve, 0.05, valid=valid, two_sided=False)
    above = crossing_probability(setting.epsilon, thresholds)
    return Result(setting, contender, 1000, int(ever[0]), above, above)


def test_the_judge_has_power() -> None:
    """An odometer that reads half of what it should is caught; an impostor that never fails is not called a failure."""
    honest = readings(MixtureOdometer(0.05, gamma=0.005), 0.01, 1000)
    assert all(c.passed for c in judge(_result(honest, valid=True)))
    halved = {c.name: c.passed for c in judge(_result(honest / 2, valid=True))}
    assert not halved["made up (epsilon 0.01, delta 0.05): fails at most as often as it says"]
    assert halved["made up (epsilon 0.01, delta 0.05): simulation agrees with the exact probability"]
    sure = {c.name: c.passed for c in judge(_result(readings(BasicOdometer(), 0.01, 1000), valid=False))}
    assert not sure["made up (epsilon 0.01, delta 0.05): is seen to fail more often than it says"]
    wrong = replace(_result(honest, valid=True), caught=200)
    assert not judge(wrong)[0].passed, "a simulation that disagrees with the exact value is noticed"


def test_filters_of_the_issue() -> None:
    rows = {r["filter"]: r for r in _rows("filter-comparison", "rounds")}
    names = ("basic", "Rogers, printed", "Whitehouse et al.", "zCDP sum, tight conversion")
    assert [rows[name]["1 at 0.01"] for name in names] == [100, 147, 349, 487]


def test_no_adaptive_filter_allows_more_than_the_optimum() -> None:
    rows = {r["filter"]: r for r in _rows("filter-comparison", "rounds")}
    for label in (f"{b:g} at {e:g}" for b, e in filter_comparison.SETTINGS):
        best = rows["optimal composition"][label]
        assert all(row[label] <= best for row in rows.values())


def test_spending_down_notices_a_filter_that_is_off_by_one() -> None:
    allowance = filter_comparison.ALLOWANCES[0]
    right = [allowance.rounds(*setting) for setting in filter_comparison.SETTINGS]
    wrong = [k + 1 for k in right]
    assert all(c.passed for c in filter_comparison.compare(allowance, right, quick=True))
    assert not any(c.passed for c in filter_comparison.compare(allowance, wrong, quick=True))


def test_lower_bound_table() -> None:
    rows = {r["instance"]: r for r in _rows("max-information-lower-bound", "attack")}
    assert rows["Golay [23,12,7]"]["theory"] == 0.75
    assert rows["Golay [23,12,7]"]["theory alone"] == 0.2454
    assert rows["BCH m=12"]["recovered"] == 1.0
    assert rows["BCH m=8"]["spoke alone"] == 0.0
    composition = _rows("max-information-lower-bound", "composition")
    assert all(r["order rule"] == "refuses" for r in composition)
    assert all(r["both, exact"] > r["sum of bounds"] for r in composition)
    discoveries = {r["instance"]: r for r in _rows("max-information-lower-bound", "false-discoveries")}
    assert discoveries["BCH m=11"]["both looks at that level"] > 0.95
    assert discoveries["BCH m=11"]["log2 p-value once recovered"] == -2047


def test_lower_bound_fails_with_a_threshold_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: noise of half the scale is noticed by the exact binomial tests."""
    monkeypatch.setattr(max_information_lower_bound, "INSTANCES", max_information_lower_bound.INSTANCES[:2])
    monkeypatch.setattr(max_information_lower_bound, "_finding", lambda runs: "")
    right = max_information_lower_bound.run(Settings(quick=True, seed=16))
    assert right.passed

    class Quieter(Looks):
        def second(self, rows: Any, coset: Any, rng: Any) -> Any:
            return Looks(self.code, 2 * self.epsilon, self.delta, self.threshold).second(rows, coset, rng)

    monkeypatch.setattr(max_information_lower_bound, "Looks", Quieter)
    wrong = max_information_lower_bound.run(Settings(quick=True, seed=16))
    assert "the rows come back at the rate of theory" in " ".join(c.name for c in wrong.checks if not c.passed)
