"""Widths under a privacy cap: noisy means whose answers together are at most `mu`-Gaussian differentially private."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Annotated

import numpy as np

from holdfast.bounds.interval.planning import best_noise
from holdfast.bounds.interval.posterior_shift import posterior_shift
from holdfast.bounds.interval.signs import (
    Array,
    RowLaw,
    Shape,
    certified,
    power_scales,
    run_lengths,
    sign_estimate,
    sign_width,
)
from holdfast.bounds.interval.width import GaussianNoise, Width, gaussian_only
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import Domain, FailureProbability, Questions, Rows
from holdfast.bounds.registry import theorem

#: `(f, a)` of the power schedules that are tried: constant noise first, then noise that falls more and more.
_FALLING = ((1.0, 0.0), (0.3, 0.4), (0.1, 0.4), (0.1, 0.7), (0.3, 1.0), (0.1, 1.1))
#: Keeps the total below the cap whatever the last digits of the sum are.
_ROOM = 1 + 1e-9
#: Functions of the inverse of `n sigma^2` leave the floating range beyond these; such noise says nothing anyway.
_LEAST, _LARGEST = 1e-6, 1e6


def total_mu(width: Width) -> float:
    """Return the Gaussian differential privacy of all answers of a plan together, for replacing one row; rounded up.

    Replacing one row moves a mean by at most `1/n`, so an answer with noise `sigma` is `1/(n sigma)`-GDP, and the
    squares add up, whatever was asked because of earlier answers.

    Examples
    --------
    >>> round(total_mu(best_noise(100_000, 50, 0.05)), 3)
    0.039
    """
    schedule = width.schedule
    runs = [(width.questions, width.sigma)]
    runs = runs if schedule is None else list(zip(schedule.counts, schedule.scales, strict=True))
    return up(math.sqrt(math.fsum(count / (width.n * sigma) ** 2 for count, sigma in runs)), 16)


@theorem(
    "interval.private-means",
    statement="Half-width of k adaptive means with Gaussian noise that is mu-GDP in all; the cap is a ceiling.",
    source="Holdfast: minimum over interval.posterior-shift and interval.sign-comparison at the noise that a cap "
    "leaves, and interval.best's own noise where it spends less than the cap",
    conditions="those of the winner, which the result names; rows independent and identically distributed unless rows "
    "is independent; the choice looks at n, questions, beta and the cap only",
    unit="half-width",
    provenance="derived",
)
def private_means(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    mu: Annotated[
        float,
        Domain(
            "What all answers together may cost, as Gaussian differential privacy.",
            at_least=1e-30,
            at_most=1e30,
            typical=0.05,
        ),
    ],
    noise: GaussianNoise = "gaussian",
    rows: RowLaw = "identical",
) -> Width:
    """Half-width of `k` adaptive means of `n` rows whose answers together are at most `mu`-GDP.

    Gaussian noise makes an answer private already: with scales `sigma_j` all answers together are `mu`-GDP for
    replacing one row, `mu^2 = sum_j 1/(n sigma_j)^2`. With constant noise `sigma = sqrt(k)/(n mu)` Theorem A reads::

        tau = sigma omega + kappa mu / 4,

    the noise of the answers and the shift of the rows' posterior. Theorem D certifies schedules of the same total, and
    is narrower from some hundreds of rows on. The cap is a ceiling: where the narrowest plan of all spends less than
    `mu`, it is that plan, since spending more would only widen the intervals. Which theorem wins depends on the
    arguments alone, so choosing costs nothing.

    Returns
    -------
    Width
        The winner's. `tuning["mu"]` is what all answers together cost, at most the cap. Time: as `sign_comparison`.

    Examples
    --------
    >>> width = private_means(100_000, 50, 0.05, 0.0275)
    >>> round(width.value, 3), width.tuning["mu"] <= 0.0275, width.method
    (0.016, True, 'interval.sign-comparison')
    >>> round(posterior_shift(100_000, 50, 0.05, sigma=math.sqrt(50) / (100_000 * 0.0275)).value, 4)  # Theorem A
    0.0254
    >>> private_means(100_000, 50, 0.05, 1.0).tuning["mu"] < 0.04                 # a ceiling: less is narrower
    True
    """
    gaussian_only("interval.private-means", noise)
    return _private_means(n, questions, beta, mu, rows)


@lru_cache(maxsize=256)
def _private_means(n: int, questions: int, beta: float, mu: float, rows: RowLaw) -> Width:
    free = best_noise(n, questions, beta, rows)
    if total_mu(free) <= mu:
        return _with_total(free)
    sigma = math.sqrt(questions) / (n * mu) * _ROOM
    constant = posterior_shift(n, questions, beta, sigma=sigma)
    if sign_estimate(n, questions, beta, rows) > constant.half_width:  # no schedule is narrower than the free one
        return _with_total(constant)
    return min((_with_total(constant), *_signs(n, questions, beta, mu, rows)), key=lambda width: width.half_width)


def _signs(n: int, questions: int, beta: float, mu: float, rows: RowLaw) -> list[Width]:
    """Theorem D for the best of some schedules that cost just the cap; none where the noise is out of its range."""
    counts = run_lengths(questions)
    excess = 0.05 if n >= 50_000 else 0.075 if n >= 5000 else 0.1
    shape = Shape(n, questions, beta, excess, rows)
    schedules = [_capped(counts, n, mu, *falling) for falling in _FALLING]
    tried = [s2 for s2 in schedules if float(np.min(s2)) >= _LEAST and float(np.max(s2)) <= _LARGEST]
    if not tried:
        return []
    a, best = min(((shape.least(counts, s2), s2) for s2 in tried), key=lambda found: found[0])
    if not math.isfinite(a):
        return []
    name = "interval.sign-comparison" + ("" if rows == "identical" else "-independent")
    return [sign_width(certified(shape, counts, np.sqrt(best / n), a), name, "power")]


def _capped(counts: Array, n: int, mu: float, floor: float, exponent: float) -> Array:
    """A power schedule `n sigma^2` whose answers cost `mu` in all, or a hair less."""
    shape = power_scales(counts, 1.0, floor, exponent)
    return np.asarray(shape * (float(np.sum(counts / shape)) / (n * mu * mu) * _ROOM))


def _with_total(width: Width) -> Width:
    """The same width, which says what all answers cost."""
    return replace(width, tuning={**width.tuning, "mu": total_mu(width)})
