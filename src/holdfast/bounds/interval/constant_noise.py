"""The posterior-shift bound: an error is a conditional mean of the noise plus a shift of the rows' posteriors."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.interval.maxima import normal_shortfall, square_shortfall
from holdfast.bounds.interval.width import MOST, Noise, Width, door, failure_probability, gaussian_only
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter

_ASSUMPTION = (
    "rows independent; questions, beta and noise fixed before the first answer; fresh noise; "
    "nothing else computed from these rows reaches the analyst"
)


@theorem(
    "interval.posterior-shift",
    statement="Half-width of k adaptive means with constant Gaussian noise: sqrt(omega kappa sqrt(k) / n).",
    source="Holdfast: Theorem A of the posterior-shift bound (docs/posterior-shift.md), reviewed",
    conditions="rows independent; k, sigma, beta fixed in advance; Gaussian noise; means of [0,1] values; nothing else "
    "computed from the rows is released",
    unit="half-width",
    provenance="derived",
)
def posterior_shift(
    n: int, questions: int, beta: float, noise: Noise = "gaussian", sigma: float | None = None
) -> Width:
    """Half-width of `k` adaptive means answered with Gaussian noise of one deviation.

    **Theorem A** (ours, reviewed). Rows independent (not necessarily alike), questions `phi_j` with values in [0,1]
    chosen from earlier answers and coins independent of rows and noise, answers `phi_j(X) + sigma Z_j` with fresh
    normals. For every `beta` in (0, 1), with probability at least `1 - beta`, for all `j <= k` at once::

        |a_j - phi_j(D)| <= sigma omega + kappa sqrt(k) / (4 n sigma),

    `omega = ES_beta(max_{j<=k} |Z_j|)` and `kappa^2 = ES_beta(Z^2)`, with `ES_beta` the mean of the worst `beta` part.
    The least value is `sqrt(omega kappa sqrt(k)/n)`, at `sigma = sqrt(sqrt(k) kappa/(4 n omega))`.

    *Why.* Take conditional expectations given the transcript: the error is `sigma E[Z_j|a]` plus the average over rows
    of how far a row's posterior mean of `phi_j` is from the prior's. The first has shortfall at most `omega`.
    For the second, tell an observer every other row; in his posterior the squared Hellinger-type distance `S` is
    dominated in convex order by `V Z^2`, `V = k/(16 n^2 sigma^2)`, and the total variation is at most `sqrt(S)`.
    Expected shortfall is subadditive, does not grow under conditional expectations, and bounds the quantile.

    Clipping answers to [0,1] keeps the guarantee; rounding a released answer to a grid adds half a step. Fewer than
    `k` questions are covered. Not covered: dependent rows, other noise, `k` or `sigma` changed after looking.

    Parameters
    ----------
    n : int
        Rows in the sample.
    questions : int
        Number of adaptive questions, fixed in advance.
    beta : float
        Probability that any answer is off by more than the half-width.
    noise : str
        "gaussian"; Laplace noise is refused, the proof is about Gaussian noise.
    sigma : float
        Standard deviation of the noise, fixed in advance; the best one when not given.

    Returns
    -------
    Width
        Time: tens of microseconds.

    Examples
    --------
    >>> width = posterior_shift(100_000, 1000, 0.05)
    >>> round(width.value, 12), round(width.sigma, 13)
    (0.056520381876, 0.0066093719622)
    >>> posterior_shift(100_000, 1000, 0.05, sigma=0.01).value > width.value
    True
    """
    n, questions, beta = door(n, questions, beta, noise)
    gaussian_only("interval.posterior-shift", noise)
    omega, kappa = normal_shortfall(questions, beta), square_shortfall(beta)
    if sigma is None:
        scale = math.sqrt(math.sqrt(questions) * kappa / (4 * n * omega))
    else:
        scale = check.real("sigma", sigma, at_least=1e-100, at_most=1e100)
    tau = scale * omega + math.sqrt(questions) * kappa / (4 * n * scale)
    return Width(
        up(tau, 16),
        scale,
        "gaussian",
        "interval.posterior-shift",
        "best",
        n,
        questions,
        beta,
        assumption=_ASSUMPTION,
        tuning={"omega": omega, "kappa": kappa, "horizon": questions / (16 * (n * scale) ** 2)},
    )


def posterior_shift_rows(questions: int, half_width: float, beta: float) -> int:
    """The least `n` at which `posterior_shift` gives `half_width`: `omega kappa sqrt(k) / tau^2`, rounded up.

    Examples
    --------
    >>> posterior_shift_rows(1000, 0.05, 0.05)
    127783
    """
    _, questions, beta = door(1, questions, beta, "gaussian")
    half_width = check.real("half_width", half_width, at_least=1e-50, at_most=1e50)
    needed = normal_shortfall(questions, beta) * square_shortfall(beta) * math.sqrt(questions) / half_width**2
    if not needed < MOST / 2:
        raise InvalidParameter(f"half_width must be large enough for fewer than 10**18 rows, got {half_width}")
    n = max(1, math.floor(needed))
    while posterior_shift(n, questions, beta).half_width > half_width:
        n += max(1, math.floor(n * 1e-15))
    return n


def shift_bound(horizon: float, beta: float) -> float:
    """`kappa sqrt(V)`: how far the transcript can have moved the expected mean of any question chosen after it.

    Noise scales may be chosen adaptively as long as `sum_j r_j^2/(16 n^2 sigma_j^2) <= V`, `V` fixed in advance and
    `r_j` the length of an interval known beforehand to hold the values of question `j`. Then for any [0,1] question
    chosen after the transcript `a`, `P(|E[q(X)|a] - q(D)| > kappa sqrt(V)) <= beta`. This is about the conditional
    mean, not about a released answer; see `filtered_width` for those. Derived, reviewed.

    Examples
    --------
    >>> round(shift_bound(1e-4, 0.05), 8)
    0.02362628
    """
    horizon = check.real("horizon", horizon, at_least=0)
    return up(square_shortfall(failure_probability(beta)) * math.sqrt(horizon), 16)


def filtered_width(questions: int, beta: float, largest_sigma: float, horizon: float) -> float:
    """Half-width when noise scales are chosen adaptively under caps fixed in advance.

    At most `questions` answers, every `sigma_j <= largest_sigma`, and `sum_j 1/(16 n^2 sigma_j^2) <= horizon`: then
    with probability `1 - beta` all errors are at most `largest_sigma omega + kappa sqrt(horizon)`. Derived, reviewed.

    Examples
    --------
    >>> v = 1000 / (16 * (100_000 * 0.0066) ** 2)
    >>> round(filtered_width(1000, 0.05, 0.0066, v), 5)
    0.05652
    """
    _, questions, beta = door(1, questions, beta, "gaussian")
    largest_sigma = check.real("largest_sigma", largest_sigma, above=0)
    return up(largest_sigma * normal_shortfall(questions, beta), 16) + shift_bound(horizon, beta)


__all__ = ["filtered_width", "posterior_shift", "posterior_shift_rows", "shift_bound"]
