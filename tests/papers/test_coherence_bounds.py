"""Table 1 and section 7: every claim holds in the quick runs, and the exact oracle is the enumeration of all splits."""

from __future__ import annotations

from itertools import combinations

import pytest

from holdfast.bounds.coherence import column_release_size
from holdfast_papers.coherence.section_7 import column_failure, worst_column_failure
from holdfast_papers.registry import Settings, experiments


@pytest.mark.parametrize("name", ["coherence-table-1", "coherence-section-7"])
def test_every_check_of_the_quick_run_passes(name: str) -> None:
    outcome = experiments()[name].run(Settings(quick=True, seed=1))
    assert [c for c in outcome.checks if not c.passed] == []
    if outcome.chart is not None:
        assert outcome.chart().to_dict()["layer"]


@pytest.mark.parametrize(("ones", "zeros", "alpha"), [(3, 3, 1.0), (1, 5, 0.5), (2, 6, 0.9), (5, 5, 0.39)])
def test_exact_law_of_the_column_is_the_enumeration(ones: int, zeros: int, alpha: float) -> None:
    n, m = 10, ones + zeros
    bad = total = 0
    for chosen in combinations(range(n), n // 2):
        a, b = sum(x < ones for x in chosen), sum(ones <= x < m for x in chosen)
        in_a, in_b = a + b, m - a - b
        total += 1
        bad += not in_a or not in_b or 2 * abs(a / in_a - (ones - a) / in_b) > alpha + 1e-12
    assert column_failure(n, ones, zeros, alpha) == pytest.approx(bad / total, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.6, 1.1, 1.6])
def test_no_share_of_ones_breaks_the_column_release_and_a_quarter_of_the_size_does(alpha: float) -> None:
    n, beta, groups = 1_000, 0.05, 4
    for mode in ("corrected", "sharp"):
        size = column_release_size(alpha, beta, groups, n, 2, mode).rows  # type: ignore[arg-type]
        assert size is not None
        for m in {size, min(n, size + 1), min(n, 2 * size)}:
            assert worst_column_failure(n, m, alpha, points=m + 1) <= beta / groups
    assert worst_column_failure(n, max(2, size // 4), alpha) > beta / groups
