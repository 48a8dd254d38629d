"""Widths under a cap on privacy: the cap is kept and is a ceiling, and the width is proved for the noise in use."""

from __future__ import annotations

import math

import numpy as np
import pytest

from holdfast.bounds import interval
from holdfast.bounds.interval.signs import Shape
from holdfast.errors import InvalidParameter

N, K, BETA = 100_000, 50, 0.05
CAPS = (0.005, 0.01, 0.0275, 0.05, 0.2, 3.0)


def test_the_width_of_the_specification() -> None:
    """100,000 rows, 50 questions, mu = 0.0275: at most 0.026, which constant noise by Theorem A reaches already."""
    width = interval.private_means(N, K, BETA, 0.0275)
    constant = interval.posterior_shift(N, K, BETA, sigma=math.sqrt(K) / (N * 0.0275))
    assert width.half_width < 0.0159 < constant.half_width < 0.026
    assert width.tuning["mu"] == interval.total_mu(width) <= 0.0275


@pytest.mark.parametrize(("n", "questions"), [(N, K), (10_000, 20), (300, 5)])
def test_every_cap_is_kept_and_a_larger_one_is_never_wider(n: int, questions: int) -> None:
    widths = [interval.private_means(n, questions, BETA, mu) for mu in CAPS]
    assert all(interval.total_mu(width) <= mu for width, mu in zip(widths, CAPS, strict=True))
    half = [width.half_width for width in widths]
    assert half == sorted(half, reverse=True)
    free = interval.best_noise(n, questions, BETA)
    assert half[-1] == free.half_width
    assert interval.total_mu(widths[-1]) == interval.total_mu(free) < CAPS[-1]


@pytest.mark.parametrize(("n", "questions"), [(N, 1000), (100, 10)])
def test_a_cap_just_below_the_free_plan_costs_little_and_a_looser_one_nothing(n: int, questions: int) -> None:
    """The earlier search was wider at .999 of the free plan's privacy than at .85 of it, and than the free plan."""
    free = interval.best_noise(n, questions, BETA)
    mu = interval.total_mu(free)
    shares = (0.85, 0.88, 0.9, 0.92, 0.93, 0.95, 0.97, 0.985, 0.999)
    half = [interval.private_means(n, questions, BETA, c * mu).half_width for c in shares]
    half.append(free.half_width)
    assert all(later <= 1.002 * min(half[: place + 1]) for place, later in enumerate(half))
    before = [interval.private_means(n, questions, BETA, c * mu, method="earlier").half_width for c in (0.85, 0.999)]
    assert half[0] <= before[0]
    assert before[1] > 1.04 * free.half_width


def test_rows_of_different_laws_are_a_little_wider() -> None:
    alike = interval.private_means(N, K, BETA, 0.0275)
    other = interval.private_means(N, K, BETA, 0.0275, rows="independent")
    assert alike.half_width < other.half_width < 1.1 * alike.half_width
    assert other.method == "interval.sign-comparison-independent"


def test_the_certificate_is_that_of_the_schedule() -> None:
    """Theorem D holds at the width for the scales that are used; for a third less noise the same width is refused."""
    width = interval.private_means(N, K, BETA, 0.0275)
    schedule = width.schedule
    assert schedule is not None
    counts, s2 = np.array(schedule.counts, dtype=float), N * np.array(schedule.scales) ** 2
    shape, a = Shape(N, K, BETA, width.tuning["excess"]), width.half_width * math.sqrt(N)
    assert shape.certify(a, counts, s2).failure <= BETA
    assert shape.certify(a, counts, s2 * 4).failure > BETA
    assert shape.certify(a, counts, s2 / 30).failure > BETA


def test_wrong_input() -> None:
    for mu in (0, -1, math.nan, math.inf, "a lot"):
        with pytest.raises(InvalidParameter, match="mu"):
            interval.private_means(N, K, BETA, mu)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="noise"):
        interval.private_means(N, K, BETA, 0.1, noise="laplace")
