"""Algorithm 1 of Zhao 2017: Thresholdout with noise scales sigma (threshold), 2 sigma (comparison), 4 sigma (release).

Its cost in differential privacy, its scales and threshold in Theorem 2, and the probability that its noise misbehaves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from holdfast import check
from holdfast.bounds.exact import down, up
from holdfast.bounds.holdout.ranges import accuracy, count, failure_probability, laplace_scale
from holdfast.bounds.registry import theorem


class NoiseRatios(NamedTuple):
    """Laplace scales of threshold, comparison and release, in units of `sigma`.

    Examples
    --------
    >>> NoiseRatios(1.0, 2.0, 4.0).cost
    2.25
    """

    threshold: float
    comparison: float
    release: float

    @property
    def cost(self) -> float:
        """Privacy cost of one overruling in units of sensitivity over `sigma`."""
        return 1 / self.threshold + 2 / self.comparison + 1 / self.release


ZHAO = NoiseRatios(1.0, 2.0, 4.0)
"""Algorithm 1 of Zhao 2017: 9/4 an overruling."""
DWORK = NoiseRatios(2.0, 4.0, 1.0)
"""Thresholdout of Dwork et al. 2015: 2 an overruling."""


@theorem(
    "correlated.algorithm-1-epsilon",
    statement="Differential privacy of a whole run of Algorithm 1 with at most B overrulings.",
    source="Zhao 2017, section 3 (9 B Delta/(4 sigma))",
    conditions="neighbours replace one record; every question has at most the declared sensitivity; the analyst knows "
    "the holdout through the answers only",
    unit="epsilon",
)
def algorithm_1_epsilon(
    budget: int,
    sigma: float,
    n: int | None = None,
    sensitivity: float | None = None,
    threshold: float = 1.0,
    comparison: float = 2.0,
    release: float = 4.0,
) -> float:
    """Return `B Delta (1/s1 + 2/s2 + 1/s3)/sigma`, with the default ratios `9 B Delta/(4 sigma)`.

    One overruling is one run of above-threshold: its noisy threshold costs `Delta/s1`, its comparison `2 Delta/s2`
    however many questions pass, its release `Delta/s3`. Printed, verified. This is differential privacy; under
    dependent records it must be converted before it says anything about one record.

    Parameters
    ----------
    budget : int
        Overrulings after which the run stops.
    sigma : float
        Laplace scale that the ratios multiply.
    n : int
        Records; the sensitivity of a mean of [0, 1] values is `1/n`.
    sensitivity : float
        How far one record moves a question, instead of `1/n`.
    threshold, comparison, release : float
        Ratios of the three scales to `sigma`. 2, 4, 1 are those of Dwork et al. 2015.

    Returns
    -------
    float
        Rounded up.

    Examples
    --------
    >>> round(algorithm_1_epsilon(10, 0.01, 5000), 10)
    0.45
    >>> round(algorithm_1_epsilon(10, 0.01, 5000, threshold=2, comparison=4, release=1), 10)
    0.4
    """
    budget, sigma = count("budget", budget), laplace_scale(sigma)
    ratios = NoiseRatios(
        check.real("threshold", threshold, at_least=1e-9, at_most=1e9),
        check.real("comparison", comparison, at_least=1e-9, at_most=1e9),
        check.real("release", release, at_least=1e-9, at_most=1e9),
    )
    if sensitivity is None:
        delta = 1 / count("n", n)
    else:
        delta = check.real("sensitivity", sensitivity, above=0, at_most=1e100)
        if n is not None:
            count("n", n)
    return up(budget * delta * ratios.cost / sigma, 8)


def run_epsilon(budget: int, sigma: float, n: int) -> float:
    """`9 B/(4 sigma n)`, rounded up. Arguments are not checked.

    Examples
    --------
    >>> round(run_epsilon(10, 0.01, 5000), 10)
    0.45
    """
    return up(9 * budget / (4 * sigma * n), 8)


class RunParameters(NamedTuple):
    """What Theorem 2 sets: scale, threshold, and what each question must keep.

    Examples
    --------
    >>> round(run_parameters(0.1, 0.05, 1000, 10).threshold, 9)
    0.075
    """

    sigma: float
    threshold: float
    tau: float
    beta: float


def run_parameters(tau: float, beta: float, questions: int, budget: int, split: float = 0.5) -> RunParameters:
    """`sigma = (1-c) tau/(12 ln(4m/beta))`, `T = (1+c) tau/2`, and what is left for each question.

    Each question must generalise to `tau' = (1-c) tau/4` except with probability `beta'`. The paper spends `beta/2` on
    noise and takes `beta' = beta/(2m)`; its noise bound writes a maximum where a sum is needed. The exact union bound
    (`noise_failure`) is at most `beta/2` up to `B = m - 1`, and `beta' = (beta - noise)/m` is what it leaves, also at
    `B = m`. Derived, reviewed.

    Examples
    --------
    >>> found = run_parameters(0.1, 0.05, 1000, 10)
    >>> round(found.sigma, 13), round(found.threshold, 9), round(found.tau, 9), round(found.beta * 1000, 9)
    (0.0003690652927, 0.075, 0.0125, 0.037375)
    """
    tau, beta, m = accuracy(tau), failure_probability(beta), count("questions", questions)
    budget = count("budget", budget, at_least=1, at_most=m)
    split = check.probability("split", split)
    sigma = (1 - split) * tau / (12 * math.log(4 * m / beta))
    left = down((beta - noise_failure(beta, m, budget, split)) / m, 8)
    return RunParameters(sigma, (1 + split) * tau / 2, down((1 - split) * tau / 4), left)


@theorem(
    "correlated.noise-failure",
    statement="Probability that some Laplace draw of Algorithm 1 exceeds its allowance in Theorem 2.",
    source="Zhao 2017, eqs. (18)-(27), with the sum of the events in place of their maximum",
    conditions="sigma and threshold of Theorem 2; at most B overrulings and m questions",
    unit="probability",
    provenance="derived",
)
def noise_failure(beta: float, questions: int, budget: int, split: float = 0.5) -> float:
    """Return `(B + m) beta/(4m) + B (beta/(4m))^((3/4)(3+c)/(1-c))`.

    A threshold draw exceeds `(1-c) tau/12` with probability `beta/(4m)` and at most `B` of them are in use; the same
    for a comparison draw at `(1-c) tau/6`, `m` of them; a release draw exceeds `(3+c) tau/4` with probability
    `exp(-(3+c) tau/(16 sigma))`, `B` of them. Derived, reviewed. At most `beta/2` up to `B = m - 1`.

    Parameters
    ----------
    beta : float
        Failure probability of the whole run.
    questions : int
        Number of questions `m`.
    budget : int
        Overrulings `B`, at most `m`.
    split : float
        The constant `c` in (0, 1).

    Returns
    -------
    float
        Rounded up.

    Examples
    --------
    >>> round(noise_failure(0.05, 1000, 10), 12)
    0.012625
    """
    beta, m = failure_probability(beta), count("questions", questions)
    budget = count("budget", budget, at_least=1, at_most=m)
    split = check.probability("split", split)
    each = beta / (4 * m)
    release = math.exp(min(0.75 * (3 + split) / (1 - split), 1e9) * math.log(each))
    return up((budget + m) * each + budget * release, 32)


__all__ = [
    "DWORK",
    "ZHAO",
    "NoiseRatios",
    "RunParameters",
    "algorithm_1_epsilon",
    "noise_failure",
    "run_epsilon",
    "run_parameters",
]
