"""Dependent rows: a reduced run of both experiments, and that their analysts notice what they should."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.correlated import DependentHoldout, DependentRows
from holdfast_papers.binomial import exceeds
from holdfast_papers.correlated import coverage as correlated_coverage
from holdfast_papers.correlated import panel as correlated_panel
from holdfast_papers.correlated.coverage import COLUMNS, KINDS, ROWS, adaptive, coverage
from holdfast_papers.registry import Settings


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_coverage(kind: correlated_coverage.Rows) -> None:
    """40 runs: the certified holdout is never wrong beyond 5%, the other is on dependent rows. Test error 1e-6."""
    for row in coverage(kind, 40, seed=3):
        fails = kind.dependent and row["holdout"] != "certified"
        assert exceeds(row["runs with a wrong answer"], 40, 0.05) == fails, row


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.dependent], ids=lambda kind: kind.name)
def test_a_declaration_that_is_too_proud_is_caught(kind: correlated_coverage.Rows) -> None:
    """Power: the adaptive analyst sees through a declaration that takes the rows for worth ten times what they are."""
    rng = np.random.default_rng(4)
    proud = DependentRows.coloured(ROWS, ROWS / (10 * kind.declared.effective_n))
    wrong = sum(adaptive(DependentHoldout(proud, questions=COLUMNS + 1), kind.draw(rng)) for _ in range(40))
    assert exceeds(wrong, 40, 0.05)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_columns_are_fair_and_as_dependent_as_declared(kind: correlated_coverage.Rows) -> None:
    """Means are 1/2 and the variance of a mean is between that of independent rows and the declared bound."""
    rng = np.random.default_rng(5)
    means = np.array([kind.draw(rng).mean(axis=1) for _ in range(150)]).ravel()
    spread = means.var()
    assert abs(means.mean() - 0.5) < 5.5 * np.sqrt(spread / len(means))
    noise = 1 + 5.5 * np.sqrt(2 / len(means))
    assert 0.25 / ROWS / noise <= spread <= 0.25 / kind.declared.effective_n * noise


def test_panel() -> None:
    pytest.importorskip("statsmodels")
    outcome = correlated_panel.run(Settings(quick=True, seed=2))
    assert outcome.passed, [check.to_dict() for check in outcome.checks if not check.passed]
    asked = outcome.tables[0].rows
    assert len(asked) == len(correlated_panel.QUESTIONS)


def test_families_hold_whole_contracts() -> None:
    pytest.importorskip("statsmodels")
    table = correlated_panel.families()
    assert len(table) == 20_190
    assert table.groupby("contract")[list(correlated_panel.CONTRACT)].nunique().max().max() == 1
    assert table["contract"].nunique() == 2259
    population = correlated_panel.Population.of(table)
    means = sum(population.expected[int(k)] for k in population.size) / len(table)
    np.testing.assert_allclose(means, population.values.mean(axis=0), rtol=1e-12)
