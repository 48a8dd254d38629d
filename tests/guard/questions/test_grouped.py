"""Widths and coverage of grouped answers: reduced runs of `benchmarks.grouped_widths` and `grouped_coverage`."""

from __future__ import annotations

import pytest
from benchmarks.grouped_coverage import misses
from benchmarks.grouped_widths import against_bonferroni, against_opendp
from scipy.stats import binom

RUNS = 16


def test_revealed_tables_are_about_as_narrow_as_bonferroni() -> None:
    assert against_bonferroni(2, 1) < 1.01
    assert against_bonferroni(6, 2) < 1.1 < 1.3


@pytest.mark.parametrize("groups", [1, 4])
def test_the_interval_about_the_rows_is_that_of_the_noise_alone(groups: int) -> None:
    pytest.importorskip("opendp")
    assert 0.9 < against_opendp(groups, 0.5) <= 1.05


def test_every_kind_covers_and_an_interval_about_the_rows_does_not() -> None:
    """More than `most` of 16 runs miss with probability below 1e-6 where each does with 0.05."""
    most = int(binom.isf(1e-6, RUNS, 0.05))
    found = misses(RUNS)
    missed, wrong, _, narrow = found["all together"]
    assert missed <= most < min(wrong, narrow)
    assert len(found) == 9
    kinds = [one for name, one in found.items() if name != "all together"]
    assert max(of_rows for _, _, of_rows, _ in kinds) <= most  # each answer by itself
