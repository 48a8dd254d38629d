"""One door to the families of intervals for a mean, and what each would give: the choice is made before the data.

Choosing the narrower of two valid intervals after seeing both is not valid: the narrower of two 10% intervals can miss
with probability 0.197. So a family is picked from a guess of the mean and of the spread, which come from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from holdfast import check
from holdfast.bounds.one_question import inputs
from holdfast.bounds.one_question.binomial_exact import clopper_pearson
from holdfast.bounds.one_question.divergence_bound import kl
from holdfast.bounds.one_question.inputs import Side
from holdfast.bounds.one_question.limits import Limits
from holdfast.bounds.one_question.range_bound import hoeffding
from holdfast.bounds.one_question.variance_bound import empirical_bernstein
from holdfast.errors import InvalidParameter

Family = Literal["hoeffding", "kl", "clopper-pearson", "empirical-bernstein"]
"""A family of intervals for a mean. "clopper-pearson" is for 0/1 values, "empirical-bernstein" reads their variance."""

FAMILIES: tuple[Family, ...] = ("hoeffding", "kl", "clopper-pearson", "empirical-bernstein")
"""Every `Family`."""


def mean_interval(
    family: Family,
    mean: float,
    n: int,
    log_share: float,
    side: Side = "both",
    *,
    low: float = 0.0,
    high: float = 1.0,
    variance: float | None = None,
    slack: float = 0.0,
) -> Limits:
    """Interval of a mean by the named family.

    Parameters
    ----------
    family : str
        "hoeffding", "kl", "clopper-pearson" (0/1 values declared before the data) or "empirical-bernstein".
    mean : float
        Mean of the rows' values; for "clopper-pearson" the count is the whole number nearest to `n mean`.
    n : int
        Rows.
    log_share : float
        Natural logarithm of the probability with which the interval may miss the truth.
    side : str
        "both", "lower" or "upper".
    low, high : float
        Range that no value leaves.
    variance : float
        Unbiased sample variance; needed for "empirical-bernstein".
    slack : float
        How far `mean` may be from the exact mean because sums are rounded; the limits make up for it. A variance
        summed with the same care is off by at most eight times `slack` times the range.

    Returns
    -------
    Limits
        `(low, high)`.

    Examples
    --------
    >>> low, high = mean_interval("kl", 0.95, 10_000, -20.0, "lower")
    >>> round(low, 6), high
    (0.935006, 1.0)
    """
    family = check.choice("family", family, FAMILIES)  # type: ignore[assignment]
    low, high = check.value_range(low, high)
    mean = check.real("mean", mean, at_least=low, at_most=high)
    if family == "clopper-pearson":
        if (low, high) != (0.0, 1.0):
            raise InvalidParameter(f"low and high must be 0 and 1 for clopper-pearson, got [{low:g}, {high:g}]")
        n = inputs.rows(n)
        return clopper_pearson(round(mean * n), n, log_share, side)
    below, above = max(mean - slack, low), min(mean + slack, high)
    if family == "empirical-bernstein":
        if variance is None:
            raise InvalidParameter("variance must be a number in [0, inf) for empirical-bernstein, got None")
        variance += 8 * slack * (high - low)
        lower = empirical_bernstein(below, variance, n, log_share, low, high, side)
        return Limits(lower.low, empirical_bernstein(above, variance, n, log_share, low, high, side).high)
    interval = hoeffding if family == "hoeffding" else kl
    if slack == 0.0:
        return interval(mean, n, log_share, low, high, side)
    return Limits(
        interval(below, n, log_share, low, high, side).low, interval(above, n, log_share, low, high, side).high
    )


def expected_half_width(
    family: Family,
    guess: float,
    n: int,
    log_share: float,
    spread: float | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    side: Side = "both",
) -> float:
    """Half the length of the interval that a family would give if the rows came out as guessed. No data is needed.

    Parameters
    ----------
    family : str
        See `mean_interval`.
    guess : float
        The guessed mean.
    n : int
        Rows.
    log_share : float
        Natural logarithm of the failure probability.
    spread : float
        Guessed standard deviation of a value; without it the largest that the mean allows,
        `sqrt((guess - low)(high - guess))`, which 0/1 values have.
    low, high : float
        Range of a value.
    side : str
        With "lower" or "upper" the whole distance from the guess to that limit.

    Returns
    -------
    float
        Time: that of the family's interval.

    Examples
    --------
    >>> [round(expected_half_width(f, 0.95, 10_000, math.log(5e-5)), 5) for f in FAMILIES]
    [0.02302, 0.01004, 0.00889, 0.01279]
    >>> round(expected_half_width("empirical-bernstein", 0.5, 10_000, math.log(5e-5), spread=0.05), 5)
    0.00491
    """
    lower, upper = _at_guess(family, guess, n, log_share, spread, low, high, side)
    return guess - lower if side == "lower" else upper - guess if side == "upper" else (upper - lower) / 2


def least_tolerance(
    family: Family,
    guess: float,
    n: int,
    log_share: float,
    spread: float | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    side: Side = "both",
) -> float:
    """The smallest `tau` that a pass can certify at `guess` when the rows' mean is `guess` too.

    It is the least `tau` such that the interval lies inside `[guess - tau, guess + tau]`: the longer arm. Parameters
    are those of `expected_half_width`; a one-sided claim needs only its own arm.

    Examples
    --------
    At 10,000 rows, a thousandth of five per cent:

    >>> [round(least_tolerance(f, 0.95, 10_000, math.log(5e-5)), 5) for f in FAMILIES]
    [0.02302, 0.01067, 0.00941, 0.01279]
    """
    lower, upper = _at_guess(family, guess, n, log_share, spread, low, high, side)
    return guess - lower if side == "lower" else upper - guess if side == "upper" else max(guess - lower, upper - guess)


def tightest(
    families: Sequence[Family],
    guess: float,
    n: int,
    log_share: float,
    spread: float | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    side: Side = "both",
) -> Family:
    """The family among `families` whose interval would be shortest at the guess; the first of equals.

    It looks at no row, so the interval of the family that it picks is valid at the full share. List
    "clopper-pearson" only for values declared 0/1. Parameters are those of `expected_half_width`.

    Examples
    --------
    >>> tightest(["hoeffding", "kl", "empirical-bernstein"], 0.95, 10_000, -20.0)
    'kl'
    >>> tightest(["hoeffding", "kl", "empirical-bernstein"], 0.5, 10_000, -20.0, spread=0.1)
    'empirical-bernstein'
    """
    if isinstance(families, str) or len(families) == 0:
        raise InvalidParameter(f"families must be a list of at least one of {', '.join(FAMILIES)}")
    return min(
        families,
        key=lambda family: expected_half_width(family, guess, n, log_share, spread, low=low, high=high, side=side),
    )


def _at_guess(
    family: Family,
    guess: float,
    n: int,
    log_share: float,
    spread: float | None,
    low: float,
    high: float,
    side: Side,
) -> Limits:
    low, high = check.value_range(low, high)
    guess = check.real("guess", guess, at_least=low, at_most=high)
    n = inputs.rows(n)
    most = math.sqrt((guess - low) * (high - guess))
    if spread is not None:
        spread = min(check.real("spread", spread, at_least=0), most)
    variance = (most if spread is None else spread) ** 2 * n / max(n - 1, 1)
    return mean_interval(family, guess, n, log_share, side, low=low, high=high, variance=variance)


__all__ = ["FAMILIES", "Family", "expected_half_width", "least_tolerance", "mean_interval", "tightest"]
