"""What the basic mechanisms spend and how far their answers can be off: closed forms, exact for noise on a grid.

Sensitivities and scales are in one unit, whatever it is. On a grid that unit is the step, and the noise is the discrete
Laplace distribution, `P(X = k)` proportional to `exp(-|k|/scale)`, or the discrete Gaussian distribution, proportional
to `exp(-k^2/(2 sigma^2))`, on the integers.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple

from scipy.special import erfcinv, ndtri_exp

from holdfast.bounds.numerics.exact import decimal_fraction, float_up, up
from holdfast.bounds.numerics.search import first_whole
from holdfast.bounds.parameters import (
    Candidates,
    Domain,
    Draws,
    NoiseScale,
    OpenFailureProbability,
    PositiveEpsilon,
    Sensitivity,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments

_COUNTABLE = 2.0**50


@theorem(
    "mechanism.laplace",
    statement="the epsilon of Laplace noise of a given scale",
    source="Dwork-McSherry-Nissim-Smith 2006; discrete form Ghosh-Roughgarden-Sundararajan 2009",
    conditions="continuous noise, or discrete noise and the sensitivity a whole number of steps; L1 norm for vectors",
    unit="epsilon",
)
def laplace_epsilon(
    sensitivity: Annotated[
        Sensitivity,
        Domain("How far the answer moves, in the sum of absolute changes, when one row is replaced.", at_least=0),
    ],
    scale: NoiseScale,
) -> float:
    """Return `sensitivity / scale`.

    The probability of a value changes by a factor `exp(|d|/scale)` at most when the noise has to move by `d`. On the
    integers the same holds for whole `d`, with equality far from 0.

    Examples
    --------
    >>> laplace_epsilon(1, 2)
    0.5
    """
    return float_up(decimal_fraction(sensitivity) / decimal_fraction(scale))


@theorem(
    "mechanism.laplace-width",
    statement="the steps that the largest of several discrete Laplace noises exceeds with probability at most beta",
    source="closed form of the discrete Laplace tail, `P(|X| > k) = 2 q^(k+1)/(1 + q)`, `q = exp(-1/scale)`; derived",
    conditions="independent noises; exact below 2^50 steps: one step less fails; beyond, within a relative 1e-14",
    unit="steps",
    provenance="derived",
)
def laplace_width(
    scale: Annotated[NoiseScale, Domain("The scale of the noise in steps.", at_most=1e300)],
    beta: OpenFailureProbability,
    draws: Draws = 1,
) -> int:
    """Return the smallest whole `k` such that all `draws` noises lie in `[-k, k]` except with probability `beta`.

    Examples
    --------
    >>> laplace_width(10.0, 0.05), laplace_width(10.0, 0.05, draws=1000)
    (30, 99)
    """
    log_beta = _log_share(beta, draws)

    def log_tail(k: int) -> float:
        return math.log(2) - (k + 1) / scale - math.log1p(math.exp(-1 / scale))

    width = scale * (math.log(2) - math.log1p(math.exp(-1 / scale)) - log_beta)
    if width > _COUNTABLE:  # a step is less than a rounding error
        return math.ceil(up(width, 16))
    k = max(math.ceil(width) - 2, 0)
    while log_tail(k) > log_beta:
        k += 1
    return k


@theorem(
    "mechanism.gaussian",
    statement="the rho of Gaussian noise of a given standard deviation",
    source="Bun-Steinke 2016 Proposition 1.6; discrete form Canonne-Kamath-Steinke 2020 Theorem 4",
    conditions="continuous noise, or discrete noise and every change a whole number of steps; L2 norm for vectors",
    unit="rho",
)
def gaussian_rho(
    sensitivity: Annotated[
        Sensitivity, Domain("How far the answer moves, in the Euclidean norm, when one row is replaced.", at_least=0)
    ],
    sigma: NoiseScale,
) -> float:
    """Return `sensitivity^2 / (2 sigma^2)`.

    For the discrete distribution `sigma` is the parameter in `exp(-k^2/(2 sigma^2))`, at least its standard deviation.

    Examples
    --------
    >>> gaussian_rho(1, 5)
    0.02
    """
    ratio = decimal_fraction(sensitivity) / decimal_fraction(sigma)
    return float_up(ratio * ratio / 2)


@theorem(
    "mechanism.gaussian-width",
    statement="steps that the largest of several discrete Gaussian noises exceeds with probability at most beta",
    source="Canonne-Kamath-Steinke 2020 Proposition 25: `P(X >= k) <= P(N(0, sigma^2) >= k - 1)`",
    conditions="independent noises; at most one step too many",
    unit="steps",
)
def gaussian_width(
    sigma: Annotated[NoiseScale, Domain("The scale of the noise in steps.", at_most=1e300)],
    beta: OpenFailureProbability,
    draws: Draws = 1,
) -> int:
    """Return a whole `k` such that all `draws` noises lie in `[-k, k]` except with probability at most `beta`.

    `k = ceil(sigma z)`, `z` the upper quantile of a standard normal's absolute value at `1 - (1 - beta)^(1/draws)`.

    Examples
    --------
    >>> gaussian_width(10.0, 0.05), gaussian_width(10.0, 0.05, draws=1000)
    (20, 41)
    """
    log_share = _log_share(beta, draws)
    if log_share > -700:
        quantile = math.sqrt(2) * float(erfcinv(math.exp(log_share)))
    else:  # below the doubles: from the logarithm of one tail
        quantile = -float(ndtri_exp(log_share - math.log(2)))
    return math.ceil(up(sigma * quantile, 16))


@theorem(
    "mechanism.selection",
    statement="the epsilon of selecting by score with scale b: exponential, permute-and-flip, report noisy max",
    source="McSherry-Talwar 2007; McKenna-Sheldon 2020; Dwork-Roth 2014 Claim 3.9; re-proved in docs/mechanisms.md",
    conditions="only the selected candidate is released; discrete noise needs the sensitivity in whole steps",
    unit="epsilon",
)
def selection_epsilon(
    sensitivity: Annotated[Sensitivity, Domain(at_least=0)],
    scale: NoiseScale,
    scores: Annotated[
        Literal["any", "monotone"], "'monotone' only if replacing a row moves all scores in one direction."
    ] = "any",
) -> float:
    """Return `2 sensitivity/scale`, or `sensitivity/scale` for monotone scores.

    The scale `b` is that of the noise, or of the weights `exp(score/b)` of the exponential mechanism, or of the coins
    `exp(-gap/b)` of permute-and-flip.

    Examples
    --------
    >>> selection_epsilon(1, 20), selection_epsilon(1, 20, "monotone")
    (0.1, 0.05)
    """
    shifts = 1 if scores == "monotone" else 2
    return laplace_epsilon(shifts * sensitivity, scale)


@theorem(
    "mechanism.selection-gap",
    statement="how far the selected candidate's score falls short of the best, except with probability beta",
    source="McSherry-Talwar 2007 (exponential); McKenna-Sheldon 2020 (permute-and-flip); re-derived",
    conditions="exponential mechanism, permute-and-flip, or the largest score after geometric noise",
    unit="score",
    provenance="mixed",
)
def selection_gap(
    sensitivity: Sensitivity, epsilon: PositiveEpsilon, candidates: Candidates, beta: OpenFailureProbability
) -> float:
    """Return `t` such that the selected score is at least the best score minus `t` except with probability `beta`.

    `t = (2 sensitivity/epsilon) log((m - 1)/beta)` for `m` candidates. A candidate that is worse than the best by `t`
    or more is selected with probability at most `exp(-epsilon t/(2 sensitivity))`, and there are at most `m - 1` of
    them. For monotone scores halve the sensitivity.

    Examples
    --------
    >>> round(selection_gap(1, 1.0, 100, 0.05), 6)
    15.181704
    """
    scale = 2 * sensitivity / epsilon
    others = candidates - 1
    return up(scale * (math.log(others) - math.log(beta)), 8) if others > beta else 0.0


@theorem(
    "mechanism.noisy-max-gap",
    statement="how far the score that is largest after Laplace noise falls short of the best, but for probability beta",
    source="Dwork-Roth 2014 section 3.3 (mechanism); exact tail of a difference of discrete Laplace noises, derived",
    conditions="independent discrete Laplace noise on whole scores",
    unit="steps",
    provenance="derived",
)
def noisy_max_gap(
    scale: Annotated[NoiseScale, Domain("The scale of the noise in steps.", at_most=1e300)],
    candidates: Candidates,
    beta: OpenFailureProbability,
) -> int:
    """Return a whole `t`: the selected score is at least the best minus `t` except with probability `beta`.

    A candidate wins against the best only if the difference of their noises reaches the gap between them. With
    `q = exp(-1/scale)`, `P(X - Y >= k) = ((1-q)/(1+q))^2 q^k ((k + (1+q^2)/(1-q^2))/(1-q) + q/(1-q)^2)` for `k >= 0`;
    union bound over the other candidates.

    Examples
    --------
    >>> noisy_max_gap(2.0, 100, 0.05)
    17
    """
    others = candidates - 1
    if others == 0:
        return 0
    gap = -math.expm1(-1 / scale)  # 1 - q
    q = 1 - gap

    def log_failure(k: int) -> float:
        tail = ((k + (1 + q * q) / (gap * (1 + q))) * gap + q) / (1 + q) ** 2
        return math.log(others) + math.log(tail) - k / scale

    # Worse by so much or more fails with probability at most beta, so the gap is at most one less.
    return first_whole(lambda k: log_failure(k) <= math.log(beta)) - 1


class ResponseTable(NamedTuple):
    """Probabilities of leaky randomized response on input 0: `0`, `top`, `bottom`, `1`; mirrored on input 1."""

    zero: float
    top: float
    bottom: float
    one: float


def randomized_response_table(epsilon: float, delta: float) -> ResponseTable:
    """Return the distribution of `RR_{epsilon, delta}` on input 0.

    With probability `delta` the input is shown ("0" or "1"). Otherwise `top` and `bottom` come out with odds
    `e^epsilon` to 1 on input 0 and 1 to `e^epsilon` on input 1. Every `(epsilon, delta)`-differentially private
    mechanism, on a fixed pair of neighbours, is a post-processing of it (Kairouz-Oh-Viswanath 2015; Rogers'
    dissertation, Definition 5.2.1 and Theorem 5.2.2).

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In [0, 1).

    Examples
    --------
    >>> [round(p, 10) for p in randomized_response_table(1.0, 0.1)]
    [0.1, 0.6579527208, 0.2420472792, 0.0]
    """
    epsilon = arguments.real("epsilon", epsilon, at_least=0)
    delta = arguments.probability("delta", delta, zero=True)
    lie = 1 / (1 + math.exp(epsilon)) if epsilon < 700 else math.exp(-epsilon)
    return ResponseTable(delta, (1 - delta) * (1 - lie), (1 - delta) * lie, 0.0)


@theorem(
    "mechanism.randomized-response",
    statement="the epsilon of telling one of d categories truly with a given probability, else another at random",
    source="Warner 1965; the largest ratio of two probabilities of one answer",
    conditions="the other categories are equally likely; truth at least as likely as each of them",
    unit="epsilon",
)
def randomized_response_epsilon(
    truth: Annotated[
        float, Domain("The probability of the true category; at least `1/categories`.", above=0, below=1, typical=0.75)
    ],
    categories: Annotated[int, Domain("The number of categories.", at_least=2)] = 2,
) -> float:
    """Return `log(truth (d - 1)/(1 - truth))`: `truth = e^epsilon/(e^epsilon + d - 1)` inverted.

    Examples
    --------
    >>> round(randomized_response_epsilon(0.75), 10)
    1.0986122887
    """
    truth = arguments.real("truth", truth, at_least=1 / categories, below=1)
    return up(max(math.log(truth) - math.log1p(-truth) + math.log(categories - 1), 0.0), 8)


def _log_share(beta: float, draws: int) -> float:
    """Log of the failure probability of each of several independent draws."""
    beta = arguments.probability("beta", beta)
    draws = arguments.whole("draws", draws, at_least=1)
    each = math.log1p(-beta) / draws
    # The share is at least beta/draws, so where it underflows that will do.
    return math.log(-math.expm1(each)) if each < -1e-290 else math.log(beta) - math.log(draws)
