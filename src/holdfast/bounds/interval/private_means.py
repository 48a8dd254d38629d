"""Widths under a privacy cap: noisy means whose answers together are at most `mu`-Gaussian differentially private."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np

from holdfast.bounds.interval.planning import best_noise
from holdfast.bounds.interval.posterior_shift import posterior_shift, scheduled
from holdfast.bounds.interval.signs import (
    Array,
    RowLaw,
    Shape,
    certified,
    power_scales,
    run_lengths,
    sign_estimate,
    sign_plan,
    sign_width,
)
from holdfast.bounds.interval.width import GaussianNoise, Width, gaussian_only
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import Domain, FailureProbability, Questions, Rows
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter

#: `(f, a)` of the power schedules that are tried: constant noise first, then noise that falls more and more.
_FALLING = ((1.0, 0.0), (0.3, 0.4), (0.1, 0.4), (0.1, 0.7), (0.3, 1.0), (0.1, 1.1))
#: Parts of the cap that are tried too: a plan for a smaller cap keeps a larger one, and may be narrower.
_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8)
#: Halvings of the search for Theorem B's horizon.
_HALVINGS = 16
#: Keeps the total below the cap whatever the last digits of the sum are.
_ROOM = 1 + 1e-9
#: Functions of the inverse of `n sigma^2` leave the floating range beyond these; such noise says nothing anyway.
_LEAST, _LARGEST = 1e-6, 1e6


def total_mu(width: Width) -> float:
    """Return the Gaussian differential privacy of all answers of a plan together, for replacing one row; rounded up.

    Replacing one row moves a mean by at most `1/n`, so an answer with noise `sigma` is `1/(n sigma)`-GDP. The squares
    of these numbers add up over the answers, even if questions depend on earlier answers.

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
    "leaves, interval.scheduled with a shorter horizon, and interval.best's own noise where it spends less",
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
    method: Annotated[
        Literal["best", "earlier"],
        "'best'; 'earlier': the first search, which stored plans go on with: fewer schedules, at the cap itself.",
    ] = "best",
) -> Width:
    """Half-width of `k` adaptive means of `n` rows whose answers together are at most `mu`-GDP.

    Gaussian noise already makes an answer private. With scales `sigma_j` all answers together are `mu`-GDP for
    replacing one row, where `mu^2 = sum_j 1/(n sigma_j)^2`. With constant noise `sigma = sqrt(k)/(n mu)` Theorem A
    gives::

        tau = sigma omega + kappa mu / 4.

    The first term is the noise of the answers. The second term is how far the answers can move the rows' posterior.
    `mu` is an upper limit: if the plan with the smallest half-width spends less than `mu`, the result is that plan. So
    a larger `mu` does not make an interval wider, except by a relative 2e-3. Which plan is chosen depends on the
    arguments alone, so choosing costs nothing.

    Returns
    -------
    Width
        The winner's. `tuning["mu"]` is what all answers together cost, at most the cap. Time: as `sign_comparison`.

    Notes
    -----
    Theorems B and D certify falling schedules of the same total; D is narrower from some hundreds of rows on. Below
    the cap, the plans are Theorem A, Theorem B with a shorter horizon, and Theorem D with the free plan's schedule
    and six power schedules, each scaled until it costs the cap, or .8, .85, .9 or .95 of it.

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
    return _private_means(n, questions, beta, mu, rows, method)


@lru_cache(maxsize=256)
def _private_means(n: int, questions: int, beta: float, mu: float, rows: RowLaw, method: str) -> Width:
    free = best_noise(n, questions, beta, rows)
    if total_mu(free) <= mu:
        return _with_total(free)
    if method == "earlier":
        plans = [_constant(n, questions, beta, mu)]
        if sign_estimate(n, questions, beta, rows) <= plans[0].half_width:
            plans += _signs(n, questions, beta, mu, rows, _power_shapes(questions), _SHARES[:1])
        return _with_total(min(plans, key=lambda width: width.half_width))
    plans = [_constant(n, questions, beta, share * mu) for share in _SHARES]
    narrowest = min(plan.half_width for plan in plans)
    # a cap does not make a schedule narrower than the free one, and one that nobody tuned is a few hundredths above it
    if sign_estimate(n, questions, beta, rows) <= 1.2 * narrowest:
        free_shape = n * np.array(sign_plan(n, questions, beta, rows).scales) ** 2
        plans += _signs(n, questions, beta, mu, rows, [*_power_shapes(questions), free_shape], _SHARES)
        narrowest = min(plan.half_width for plan in plans)
    if scheduled(n, questions, beta).half_width < narrowest:
        plans += _falling(n, questions, beta, mu)
    return _with_total(min(plans, key=lambda width: width.half_width))


def _constant(n: int, questions: int, beta: float, mu: float) -> Width:
    """Theorem A with the constant noise that costs `mu` in all."""
    return posterior_shift(n, questions, beta, sigma=math.sqrt(questions) / (n * mu) * _ROOM)


def _falling(n: int, questions: int, beta: float, mu: float) -> list[Width]:
    """Theorem B with a horizon so short that the schedule costs `mu` at most; its other numbers are the free ones.

    All answers move the clock by `mu^2/16`, so a shorter horizon costs less and is wider.
    """
    schedule = scheduled(n, questions, beta).schedule
    if schedule is None or schedule.boundary is None:
        return []
    free = schedule.boundary
    found: list[Width] = []
    low, high = 0.0, 1.0
    for turn in range(_HALVINGS):
        share = high if turn == 0 else (low + high) / 2
        parameters = (free.horizon * share * share, free.noise_level, free.noise_share, free.shift_level)
        try:
            width = scheduled(n, questions, beta, parameters=parameters)
        except InvalidParameter:  # no question fits into so short a horizon
            low = share
            continue
        if total_mu(width) <= mu:
            found, low = [*found, width], share
        else:
            high = share
    return found


def _power_shapes(questions: int) -> list[Array]:
    counts = run_lengths(questions)
    return [power_scales(counts, 1.0, *falling) for falling in _FALLING]


def _signs(
    n: int, questions: int, beta: float, mu: float, rows: RowLaw, shapes: list[Array], shares: tuple[float, ...]
) -> list[Width]:
    """Theorem D for the best of some schedules that cost a share of the cap; none where the noise is out of range."""
    counts = run_lengths(questions)
    excess = 0.05 if n >= 50_000 else 0.075 if n >= 5000 else 0.1
    shape = Shape(n, questions, beta, excess, rows)
    candidates = [(_capped(counts, n, mu, one), one) for one in shapes]
    tried = [(shape.least(counts, s2), s2, one) for s2, one in candidates if _in_range(s2)]
    tried = sorted((found for found in tried if math.isfinite(found[0])), key=lambda found: found[0])
    if not tried:
        return []
    a, best, _ = tried[0]
    for _, _, one in tried[:2]:
        for share in shares[1:]:
            s2 = _capped(counts, n, share * mu, one)
            # one certificate says whether it is narrower at all
            if _in_range(s2) and shape.certify(a, counts, s2).failure < beta:
                a, best = shape.least(counts, s2, a), s2
    name = "interval.sign-comparison" + ("" if rows == "identical" else "-independent")
    return [sign_width(certified(shape, counts, np.sqrt(best / n), a), name, "power")]


def _in_range(s2: Array) -> bool:
    return float(np.min(s2)) >= _LEAST and float(np.max(s2)) <= _LARGEST


def _capped(counts: Array, n: int, mu: float, shape: Array) -> Array:
    """`n sigma^2` in proportion to a shape, such that the answers cost `mu` in all, or a hair less."""
    return np.asarray(shape * (float(np.sum(counts / shape)) / (n * mu * mu) * _ROOM))


def _with_total(width: Width) -> Width:
    """The same width, which says what all answers cost."""
    return replace(width, tuning={**width.tuning, "mu": total_mu(width)})
