"""The extended monitor: Bassily, Nissim, Smith, Steinke, Stemmer, Ullman 2016, as the thesis's appendix states it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.interval.posterior_sensitivity import posterior_gap
from holdfast.bounds.interval.privacy import noise_bound, run_delta, start_sigma
from holdfast.bounds.interval.width import Noise, Width, door
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import minimise

Point = tuple[float, ...]


@theorem(
    "interval.bns",
    statement="Half-width of k adaptive means from privacy by the extended monitor over s copies of the data.",
    source="Bassily et al. 2016, as (A.1) of Rogers 2017 (thesis), appendix A.2; default: all parameters free, gap "
    "tanh(eps/4)",
    conditions="rows i.i.d.; k and noise fixed in advance; answers clipped to [0,1]; means of [0,1] values",
    unit="half-width",
    provenance="mixed",
)
def bns(
    n: int,
    questions: int,
    beta: float,
    noise: Noise = "gaussian",
    method: Literal["best", "optimised", "paper"] = "best",
) -> Width:
    """Half-width `[sigma q + ...] / (1 - (1-beta)^s)` of the extended monitor.

    Run the whole interaction on `s` independent copies and take the worst error of all. If one run fails with
    probability above `beta`, this worst error has mean above `tau (1 - (1-beta)^s)`. Its mean is also at most the
    sample error plus the gap that privacy allows, so for every whole `s >= 1`, every sample failure `b` and every
    (eps, delta) of the run:

    - *paper*, (A.1) with `s = floor(1/beta)`, `b = delta/2`: the numerator is `e^eps - 1 + 2 s delta` plus
      `ln(2k/delta)/(n e)` for Laplace noise of scale `1/(n e)` with
      `eps = k e tanh(e/2) + e sqrt(2 k ln(1/delta))`, or plus `sqrt(ln(4k/delta)/r)/n` for Gaussian noise of
      deviation `1/(n sqrt(2r))` with `eps = k r + 2 sqrt(k r ln(sqrt(pi k r)/delta))`. The thesis's main text
      prints other logarithms, which are too small; only the appendix form is offered.
    - *optimised*: numerator `sigma q(b) + 2 s b + e^eps - 1 + s delta`, with `s`, `b`, `sigma` and the point of the
      exact privacy curve all free, and still the sub-Gaussian `q(b) = sqrt(2 ln(2k/b))`.
    - *best*: numerator `sigma q(b) + s b + tanh(eps/4) + s delta`, with the exact tail of one normal in `q`.

    *Why the last holds* (re-derived): with clipped answers a failed sample costs at most 1, once, hence `s b`. For the
    gap, apply (*) of `posterior_sensitivity.posterior_gap` to each copy `t` and the transcripts that pick it, keeping
    those whose gap exceeds `u = tanh(eps/4)` by some `e_w > 0`. Summed over copies,
    `(1 - tanh(eps/2)) sum P(w) e_w <= s (1 - tanh(eps/2)) delta`, so the mean gap is at most `u + s delta`.

    Parameters
    ----------
    n : int
        Rows in the sample.
    questions : int
        Number of adaptive questions, fixed in advance.
    beta : float
        Probability that any answer is off by more than the half-width.
    noise : str
        "gaussian" or "laplace".
    method : str
        "best", "optimised" or "paper"; all three hold.

    Returns
    -------
    Width
        With `clip` True. Time: a few tenths of a second; "paper" tens of ms.

    Examples
    --------
    >>> round(bns(6400, 640, 0.05, method="paper").value, 9)
    0.908171401
    >>> round(bns(6400, 640, 0.05, noise="laplace", method="paper").value, 8)
    1.61843279
    """
    n, questions, beta = door(n, questions, beta, noise)
    variant = check.choice("method", method, ("best", "optimised", "paper"))
    if variant == "paper":
        tau, sigma, tuning = _paper(n, questions, beta, noise)
    else:
        tau, sigma, tuning = _free(n, questions, beta, noise, sharp=variant == "best")
    return Width(
        up(tau, 16),
        sigma,
        noise,
        "interval.bns",
        variant,
        n,
        questions,
        beta,
        clip=True,
        assumption="rows i.i.d.; questions, beta and noise fixed before the first answer; answers clipped to [0, 1]",
        tuning=tuning,
    )


def _chance(beta: float, copies: int) -> float:
    """`1 - (1-beta)^s`, the probability that at least one of `s` runs fails."""
    return -math.expm1(copies * math.log1p(-beta))


def _paper(n: int, k: int, beta: float, noise: Noise) -> tuple[float, float, dict[str, float]]:
    copies = math.floor(1 / beta)
    chance = _chance(beta, copies)

    def laplace(x: Sequence[float]) -> float:
        e, delta = math.exp(x[0]), math.exp(x[1])
        epsilon = e * k * math.tanh(e / 2) + e * math.sqrt(2 * k * -math.log(delta))
        return math.expm1(epsilon) + 2 * copies * delta + math.log(2 * k / delta) / (e * n)

    def gaussian(x: Sequence[float]) -> float:
        r, delta = math.exp(x[0]), math.exp(x[1])
        inside = max(0.0, 0.5 * math.log(math.pi * k * r) - math.log(delta))
        epsilon = k * r + 2 * math.sqrt(k * r * inside)
        return math.expm1(epsilon) + 2 * copies * delta + math.sqrt(math.log(4 * k / delta) / r) / n

    first = math.log(1 / (n * math.sqrt(k)))
    starts = [[first, math.log(1e-3 * beta)], [math.log(1e-8), math.log(1e-6)]]
    bracket, (log_each, log_delta) = minimise(laplace if noise == "laplace" else gaussian, starts)
    each = math.exp(log_each)
    sigma = 1 / (n * each) if noise == "laplace" else 1 / (n * math.sqrt(2 * each))
    name = "epsilon_per_question" if noise == "laplace" else "rho_per_question"
    return bracket / chance, sigma, {"copies": copies, "delta": math.exp(log_delta), name: each}


def _free(n: int, k: int, beta: float, noise: Noise, *, sharp: bool) -> tuple[float, float, dict[str, float]]:
    def numerator(copies: int) -> Callable[[Sequence[float]], float]:
        def of(x: Sequence[float]) -> float:
            sigma, failure, epsilon = math.exp(x[0]), math.exp(x[1]), math.exp(x[2])
            delta = run_delta(n, k, sigma, noise)(epsilon)
            gap = posterior_gap(epsilon, "best" if sharp else "paper")
            if sharp or noise == "laplace":
                quantile = noise_bound(k, failure, noise)
            else:
                quantile = math.sqrt(2 * math.log(2 * k / failure))
            return sigma * quantile + (1 if sharp else 2) * copies * failure + gap + copies * delta

        return of

    sigma = start_sigma(n, k, noise) * (1.0 if sharp else 1.5)
    mu = math.sqrt(k) / (n * sigma)
    known: dict[int, tuple[float, Point]] = {}
    latest: Point = (math.log(sigma), math.log(beta * 1e-3 * min(1.0, sigma)), math.log(5 * mu + mu * mu / 2))

    def at(copies: int) -> float:
        nonlocal latest
        if copies not in known:
            value, latest = minimise(numerator(copies), [latest], tolerance=1e-11, restarts=0)
            known[copies] = (value / _chance(beta, copies), latest)
        return known[copies][0]

    copies = _best_copies(at, math.ceil(4 / beta))
    value, point = minimise(numerator(copies), [known[copies][1]])
    tau = min(value / _chance(beta, copies), known[copies][0])
    sigma, failure, epsilon = (math.exp(v) for v in point)
    tuning = {
        "copies": copies,
        "epsilon": epsilon,
        "delta": run_delta(n, k, sigma, noise)(epsilon),
        "sample_failure": failure,
    }
    return tau, sigma, tuning


def _best_copies(at: Callable[[int], float], start: int) -> int:
    """A whole number near the least value: steps that shrink from a factor of 1.5 to about 1%.

    Around the optimum the width is flat to second order, so a finer search would change the seventh digit.
    """
    copies, factor = max(1, start), 1.5
    while factor > 1.005:
        for other in (math.ceil(copies * factor), max(1, math.floor(copies / factor))):
            if other != copies and at(other) < at(copies):
                copies = other
                break
        else:
            factor = math.sqrt(factor)
    return copies


__all__ = ["bns"]
