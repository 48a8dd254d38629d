"""Choosing before the data: expected widths, least tolerances, and what the issue asks of the sharper families."""

from __future__ import annotations

import math
from typing import get_args

import pytest

from holdfast.bounds.holdout import guess_and_check_share, guess_and_check_width, hoeffding_tolerance
from holdfast.bounds.one_question import SUMMARY_FAMILIES, expected_half_width, kl, least_tolerance, means, tightest
from holdfast.errors import InvalidParameter

N, QUESTIONS, BETA = 10_000, 1_000, 0.05


def share_after(failures: int) -> float:
    """The share of the last planned question, with ten failures allowed and fifty things shown by each."""
    counts = [50] * failures or None
    return math.log(guess_and_check_share(BETA, QUESTIONS, failures, counts, QUESTIONS, 10))


@pytest.mark.parametrize("failures", [0, 10])
def test_sharper_families_certify_at_most_six_tenths_of_hoeffding(failures: int) -> None:
    log_share = share_after(failures)
    plain = least_tolerance("hoeffding", 0.95, N, log_share)
    assert plain <= (0.026 if failures == 0 else 0.075)
    for family in ("kl", "clopper-pearson"):
        assert least_tolerance(family, 0.95, N, log_share) <= 0.6 * plain


def test_hoeffding_agrees_with_the_holdout_bounds() -> None:
    share = guess_and_check_share(BETA, QUESTIONS, 0, None, QUESTIONS)
    expected = expected_half_width("hoeffding", 0.5, N, math.log(share))
    assert expected == pytest.approx(hoeffding_tolerance(N, share), rel=1e-12)
    assert expected == pytest.approx(guess_and_check_width(N, BETA, QUESTIONS, 0, questions=QUESTIONS), rel=1e-12)


def test_the_tolerance_is_the_longer_arm() -> None:
    low, high = kl(0.95, N, -20.0)
    assert least_tolerance("kl", 0.95, N, -20.0) == max(0.95 - low, high - 0.95) == 0.95 - low
    assert expected_half_width("kl", 0.95, N, -20.0) == (high - low) / 2
    one_sided = kl(0.95, N, -20.0, side="upper")
    assert least_tolerance("kl", 0.95, N, -20.0, side="upper") == one_sided.high - 0.95


def test_the_choice_is_the_shortest_and_knows_no_row() -> None:
    families = list(SUMMARY_FAMILIES)
    for guess in (0.02, 0.5, 0.9):
        for spread in (None, 0.3, 0.01):
            chosen = tightest(families, guess, N, -20.0, spread)
            widths = {f: expected_half_width(f, guess, N, -20.0, spread) for f in families}
            assert widths[chosen] == min(widths.values())
    assert tightest(families, 0.9, N, -20.0) == "clopper-pearson"
    assert tightest(["hoeffding", "kl"], 0.5, N, -20.0) == "kl"
    assert tightest(["kl", "empirical-bernstein"], 0.0, N, -20.0, low=-1.0, spread=0.1) == "empirical-bernstein"


def test_a_spread_is_capped_at_what_the_mean_allows() -> None:
    most = expected_half_width("empirical-bernstein", 0.95, N, -20.0)
    assert expected_half_width("empirical-bernstein", 0.95, N, -20.0, spread=10.0) == most


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="families"):
        tightest([], 0.5, N, -20.0)
    with pytest.raises(InvalidParameter, match="family"):
        least_tolerance("student", 0.5, N, -20.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="guess"):
        expected_half_width("kl", 1.5, N, -20.0)
    with pytest.raises(InvalidParameter, match="low and high"):
        expected_half_width("clopper-pearson", 0.5, N, -20.0, low=-1.0)
    with pytest.raises(InvalidParameter, match="spread"):
        expected_half_width("empirical-bernstein", 0.5, N, -20.0, spread=-1.0)


def test_there_is_one_registry_of_families() -> None:
    assert get_args(means.FamilyName) == means.FAMILIES
    entries = means._REGISTRY
    assert tuple(entry.name for entry in entries if entry.reads != "rows") == SUMMARY_FAMILIES
    assert [entry.name for entry in entries if entry.reads == "mean"] == list(means.MEAN_FAMILIES)
