"""What holds at every argument: monotone in the share, around the mean, equivariant, honest about sides and input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.interval.sample_splitting import kl_width
from holdfast.bounds.numerics.binomial import binary_kl, binary_kl_at_least
from holdfast.bounds.one_question import (
    SUMMARY_FAMILIES,
    Limits,
    clopper_pearson,
    empirical_bernstein,
    hoeffding,
    kl,
    mean_interval,
    means,
    two_sample_u,
)
from holdfast.bounds.registry import lookup
from holdfast.errors import InvalidParameter

CASES: dict[str, Callable[..., Limits]] = {
    "hoeffding": lambda k, n, log_share, side="both": hoeffding(k / n, n, log_share, side=side),
    "kl": lambda k, n, log_share, side="both": kl(k / n, n, log_share, side=side),
    "clopper-pearson": lambda k, n, log_share, side="both": clopper_pearson(k, n, log_share, side),
    "empirical-bernstein": lambda k, n, log_share, side="both": empirical_bernstein(
        k / n, k * (n - k) / (n * max(n - 1, 1)), n, log_share, side=side
    ),
    "two-sample-u": lambda k, n, log_share, side="both": two_sample_u(k / n, n, 2 * n, log_share, side),
}

counts = st.integers(1, 20_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
log_shares = st.floats(-2_000, -1e-6)
calm = settings(deadline=None, derandomize=True, max_examples=60)


@pytest.mark.parametrize("family", CASES)
@calm
@given(count=counts, log_share=log_shares, less=st.floats(0, 500))
def test_smaller_shares_give_wider_intervals_around_the_mean(
    family: str, count: tuple[int, int], log_share: float, less: float
) -> None:
    k, n = count
    inner, outer = CASES[family](k, n, log_share), CASES[family](k, n, log_share - less)
    assert 0 <= outer.low <= inner.low + 1e-12
    assert inner.high - 1e-12 <= outer.high <= 1
    assert inner.low <= k / n <= inner.high


@pytest.mark.parametrize("family", ["hoeffding", "kl", "clopper-pearson", "two-sample-u"])
@calm
@given(count=counts, log_share=st.floats(-500, -1.0))
def test_one_side_at_half_the_share_is_one_arm_of_both(family: str, count: tuple[int, int], log_share: float) -> None:
    k, n = count
    low, high = CASES[family](k, n, log_share)
    half = log_share - math.log(2)
    assert CASES[family](k, n, half, "lower") == (low, 1.0)
    assert CASES[family](k, n, half, "upper") == (0.0, high)


@pytest.mark.parametrize("family", ["hoeffding", "kl", "empirical-bernstein"])
@calm
@given(
    mean=st.floats(0, 1),
    n=st.integers(2, 10**6),
    log_share=st.floats(-500, -0.01),
    shift=st.floats(-100, 100),
    scale=st.floats(0.01, 100),
)
def test_other_ranges_are_scaled(
    family: Any, mean: float, n: int, log_share: float, shift: float, scale: float
) -> None:
    variance = mean * (1 - mean) / 2
    plain = mean_interval(family, mean, n, log_share, variance=variance)
    moved_mean = min(max(shift + scale * mean, shift), shift + scale)
    moved = mean_interval(
        family, moved_mean, n, log_share, low=shift, high=shift + scale, variance=variance * scale * scale
    )
    near = 1e-11 * (abs(shift) + scale) + (1e-6 * scale if family == "kl" else 0.0)  # kl is steep at its ends
    assert moved.low == pytest.approx(shift + scale * plain.low, abs=near)
    assert moved.high == pytest.approx(shift + scale * plain.high, abs=near)


@calm
@given(mean=st.floats(0, 1), n=st.integers(1, 10**6), log_share=st.floats(-500, -0.01))
def test_slack_only_widens(mean: float, n: int, log_share: float) -> None:
    for family in SUMMARY_FAMILIES:
        plain = mean_interval(family, mean, n, log_share, variance=0.1)
        loose = mean_interval(family, mean, n, log_share, variance=0.1, slack=1e-6)
        assert loose.low <= plain.low + 1e-15  # both are rounded outwards, each by itself
        assert plain.high <= loose.high + 1e-15


@calm
@given(q=st.floats(0, 1), p=st.floats(1e-9, 1 - 1e-9))
def test_divergence_is_non_negative_and_its_floor_is_near(q: float, p: float) -> None:
    assert binary_kl(q, p) >= 2 * (q - p) ** 2 * (1 - 1e-9) - 1e-15
    assert binary_kl(q, p) - 1e-13 <= binary_kl_at_least(q, p) <= binary_kl(q, p)


@calm
@given(p=st.floats(0.01, 0.98), n=st.integers(100, 10**6), beta=st.floats(1e-50, 0.5))
def test_the_interval_inverts_the_width_at_a_population_mean(p: float, n: int, beta: float) -> None:
    """A sample mean at the edge of what the truth `p` allows has its lower limit at `p`."""
    edge = p + kl_width(n, p, beta)
    if edge < 1:
        assert kl(edge, n, math.log(beta), side="lower").low == pytest.approx(p, abs=1e-7)


GOOD: dict[str, dict[str, Any]] = {
    "one-question.hoeffding": {"mean": 0.5, "n": 100, "log_share": -3.0},
    "one-question.kl": {"mean": 0.5, "n": 100, "log_share": -3.0},
    "one-question.blaker": {"ones": 50, "n": 100, "log_share": -3.0},
    "one-question.clopper-pearson": {"ones": 50, "n": 100, "log_share": -3.0},
    "one-question.empirical-bernstein": {"mean": 0.5, "variance": 0.1, "n": 100, "log_share": -3.0},
    "one-question.two-sample-u": {"value": 0.5, "n_positive": 10, "n_negative": 90, "log_share": -3.0},
}
BAD: dict[str, list[Any]] = {
    "mean": [-0.1, 1.1, math.nan, "x", None, True],
    "value": [-0.1, 1.1, math.nan, None],
    "variance": [-1e-9, math.nan, math.inf, None],
    "ones": [-1, 101, 0.5, None],
    "n": [0, 0.5, 10**400, None],
    "n_positive": [0, 1.5],
    "n_negative": [0, -3],
    "log_share": [0.0, 0.5, -math.inf, math.nan, -1e16, None],
    "low": [math.nan, 1.0, -math.inf],
    "high": [0.0, math.inf, None],
    "side": ["left", None, 3],
}


@pytest.mark.parametrize("id", GOOD)
def test_the_catalogue_evaluates_and_refuses(id: str) -> None:
    entry = lookup(id)
    found = entry.evaluate(**GOOD[id])
    assert 0 < found.value < 0.5
    assert found.details["lower"] < found.details["upper"]
    for parameter in entry.parameters:
        for bad in BAD[parameter.name]:
            with pytest.raises(InvalidParameter, match=parameter.name):
                entry.evaluate(**GOOD[id] | {parameter.name: bad})


def test_values_lie_between_0_and_1_unless_said_otherwise() -> None:
    for family in SUMMARY_FAMILIES:
        variance = 0.2 if family == "empirical-bernstein" else None
        by_default = mean_interval(family, 0.3, 1000, math.log(0.05), variance=variance)
        assert by_default == mean_interval(
            family, 0.3, 1000, math.log(0.05), "both", low=0.0, high=1.0, variance=variance, slack=0.0
        )


@pytest.mark.parametrize(("times", "holds"), [(1.0, True), (0.99, False)])
def test_newton_starts_beyond_the_root_and_near_it(times, holds):
    """Jensen's distance is never short of the limit, and hardly more than it; one that is 1% shorter fails here."""
    for q in (1e-6, 0.003, 0.2, 0.5, 0.86, 0.999):
        for nats in (1e-9, 1e-5, 0.003, 0.05):
            distance = times * means._gap_beyond(q, nats)
            if distance < q:
                beyond = binary_kl(q, q - distance) >= nats * (1 - 1e-12) - 1e-15
                assert beyond or not holds
                if nats < 1e-3 * q * (1 - q):
                    assert beyond == holds
                    assert distance <= 1.001 * (q - means.kl_lower(q, nats))
