"""A width for Thresholdout's answers from the mutual information of a run; weak for small beta, instance-free."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import count, failure_probability, laplace_scale
from holdfast.bounds.interval.mutual_information import second_moment_factor
from holdfast.bounds.registry import theorem


@theorem(
    "holdout.thresholdout-information-width",
    statement="Half-width of all Thresholdout answers from the mutual information of the run, by Chebyshev.",
    source="Rogers et al. 2020, formula re-derived with the release noise added",
    conditions="holdout rows i.i.d.; Laplace noise 2 sigma, 4 sigma, sigma; at most `budget` overfits",
    unit="half-width",
    provenance="mixed",
)
def thresholdout_information_width(
    n: int, questions: int, budget: int, threshold: float, sigma: float, beta: float
) -> float:
    """Return `sqrt(MSE/beta)`, `MSE = (sqrt(F(I)/(4n)) + sqrt(E))^2`, for the worst answer of the run.

    The run reveals `I = B/(sigma^2 n)` nats, so the worst question's holdout mean has second moment at most `F(I)/(4n)`
    about the truth (`interval.russo-zou`). Its answer is within `T + W + Y` of the holdout mean, or within `X` when
    released: `W`, `Y`, `X` the largest of `questions` draws of `|Lap(4 sigma)|`, of `budget` draws of
    `|Lap(2 sigma)|` and of `budget` draws of `|Lap(sigma)|`. So `E = E(T + W + Y)^2 + E X^2`, in closed form:
    the largest of `q` exponentials has mean `H_q` and variance `H_q^(2)`, the harmonic sums. The published formula
    omits `X`. At least `T/sqrt(beta)`, hence weak for small `beta`.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    questions : int
        Number of questions.
    budget : int
        Most overfits.
    threshold : float
        Threshold `T`.
    sigma : float
        Laplace scale.
    beta : float
        Probability that any answer is off by more.

    Examples
    --------
    >>> round(thresholdout_information_width(100_000, 100, 5, 0.02, 0.002, 0.05), 4)
    0.3591
    """
    n, q = count("n", n), count("questions", questions)
    b = count("budget", budget, at_least=1, at_most=q)
    threshold, sigma = (
        check.real("threshold", threshold, at_least=0, at_most=1),
        laplace_scale(sigma),
    )
    beta = failure_probability(beta)
    shift = second_moment_factor(b / (sigma * sigma * n)) / (4 * n)
    mean_w, var_w = _largest_exponential(q)
    mean_y, var_y = _largest_exponential(b)
    centre = threshold + sigma * (4 * mean_w + 2 * mean_y)
    noise = centre**2 + sigma**2 * (16 * var_w + 4 * var_y) + sigma**2 * (mean_y**2 + var_y)
    return up((math.sqrt(shift) + math.sqrt(noise)) / math.sqrt(beta), 16)


def _largest_exponential(q: int) -> tuple[float, float]:
    """Mean and variance of the largest of `q` independent unit exponentials."""
    from scipy.special import digamma, polygamma

    return float(digamma(q + 1.0)) - float(digamma(1.0)), math.pi**2 / 6 - float(polygamma(1, q + 1.0))


__all__ = ["thresholdout_information_width"]
