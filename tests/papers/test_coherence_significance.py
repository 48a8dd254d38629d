"""The quick run of the audit's simulations: every claim holds. Counts and tails are in tests/coherence."""

from __future__ import annotations

from holdfast_papers.registry import Settings, experiments


def test_every_check_of_the_quick_run_passes() -> None:
    outcome = experiments()["coherence-significance"].run(Settings(quick=True, seed=1))
    assert all(check.passed for check in outcome.checks), [c.detail for c in outcome.checks if not c.passed]
    rows = outcome.tables[0].to_dict()["rows"]
    assert {row["hypothesis"] for row in rows} == {"true", "nearly true", "false"}
    assert all(row["rejected"] == 1 for row in rows if row["predictor"] == "1-NN, labels noise")
