"""`adaptive-attack` at a reduced size, and that its judge can say no."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from holdfast.simulation.run import Simulated
from holdfast_papers.registry import Outcome, Settings, experiments
from holdfast_papers.widths import adaptive_attack
from holdfast_papers.widths.adaptive_attack import judge, judge_variant


@cache
def _small() -> Outcome:
    seen: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"ROWS": 1600, "QUESTIONS": 160, "QUICK_RUNS": 6, "QUICK_VARIANT_RUNS": 1}.items():
            patch.setattr(adaptive_attack, name, value)
        settings = Settings(quick=True, seed=1, progress=lambda share, what: seen.append(share))
        outcome = adaptive_attack.run(settings)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    return outcome


def test_it_is_registered() -> None:
    assert "adaptive-attack" in experiments()


def test_every_check_passes_at_a_reduced_size() -> None:
    outcome = _small()
    assert [check for check in outcome.checks if not check.passed] == []
    assert len(outcome.checks) > 25
    assert "certifies nothing" in outcome.finding
    assert outcome.chart is not None
    outcome.chart().to_dict()


def test_the_table_has_every_answerer() -> None:
    rows = {row["answerer"]: row for row in _small().tables[0].to_dict()["rows"]}
    assert rows["naive"]["inside"] == 0
    assert rows["naive"]["vote error"] == pytest.approx(0.0995, abs=0.03)
    assert rows["naive"]["shift"] > 0.07
    assert rows["gaussian"]["inside"] == rows["gaussian"]["runs"] == 6
    assert rows["gaussian"]["shift"] < 0.05
    assert rows["thresholdout"]["inside"] == "no interval"
    assert rows["thresholdout-certified"]["inside"] == "certifies nothing"


def _simulated(name: str, *, certified: bool, covered: int, vote: float = 0.0995) -> Simulated:
    return Simulated(
        answerer=name,
        certified=certified,
        runs=100,
        covered=covered,
        claimed=100,
        asked=640,
        refused=0,
        failures=0,
        mean_error=0.01,
        worst=0.1,
        largest=0.1,
        half_width=0.03,
        used=0.5,
        extra={"vote_error": vote, "shift": 0.1},
    )


def test_the_judge_has_power() -> None:
    good = _simulated("gaussian", certified=True, covered=100)
    assert all(check.passed for check in judge(good))
    assert judge_variant("adversarial-weighted", good).passed
    bad = replace(good, covered=99)
    assert not any(check.passed for check in judge(bad))
    assert not judge_variant("adversarial-weighted", bad).passed
    naive = _simulated("naive", certified=False, covered=0)
    assert [check.passed for check in judge(naive)] == [True, True]
    assert [check.passed for check in judge(replace(naive, covered=1))] == [True, False]
    assert not judge(_simulated("naive", certified=False, covered=0, vote=0.095))[0].passed
    assert judge(_simulated("thresholdout", certified=False, covered=0)) == []
