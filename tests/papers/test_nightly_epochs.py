"""The nightly evaluation over epochs: few false answers, and a version that forgets earlier answers fails the check."""

from __future__ import annotations

import pytest

from holdfast_papers.reuse import nightly_epochs
from holdfast_papers.reuse.nightly_epochs import MONTHS, Year, run_year


def test_years_hold_and_repeat() -> None:
    """The seeds are fixed, so nothing here is left to chance; the full run counts 1,000 years."""
    years = [run_year((7, index)) for index in range(3)]
    assert [year.months for year in years] == [()] * 3
    assert [year.all_months for year in years] == [()] * 3
    assert all(year.missed == 0 and year.intervals > MONTHS for year in years)
    assert run_year((7, 0)) == years[0]


def test_a_version_that_forgets_earlier_answers_fails_the_check() -> None:
    """A true rate of 5% gives 5 or more false years of 8 with probability 1.6e-5, and the check wants 1e-6."""
    forgetful = [run_year((7, index), forgets=True) for index in range(8)]
    false = sum(bool(year.all_months) for year in forgetful)
    assert nightly_epochs._certainly_above(false, len(forgetful), 1 - nightly_epochs.CONFIDENCE)


@pytest.mark.parametrize(("false", "years", "above"), [(0, 20, False), (1, 20, False), (8, 10, True), (3, 10, False)])
def test_the_check_can_fail(false: int, years: int, above: bool) -> None:
    assert nightly_epochs._certainly_above(false, years, 0.05) is above


def test_a_line_counts_what_is_false() -> None:
    years = [Year((1, 3), (6, 9), 30, 2), Year((), (), 31, 0)]
    line = nightly_epochs._line("guard", years)
    assert line["epochs"] == 2 * MONTHS
    assert line["epochs with a false answer"] == 2
    assert line["years with a false answer over all"] == 1
    assert (line["intervals"], line["intervals missed"]) == (61, 2)
