"""The smallest proved width. Which theorem wins depends on n, k and beta only, so choosing costs nothing."""

from __future__ import annotations

from holdfast.bounds.interval.constant_noise import posterior_shift
from holdfast.bounds.interval.extended_monitor import bns
from holdfast.bounds.interval.posterior_sensitivity import jung
from holdfast.bounds.interval.sample_splitting import splitting
from holdfast.bounds.interval.scheduled_noise import scheduled
from holdfast.bounds.interval.width import Noise, Width, door
from holdfast.bounds.registry import theorem


@theorem(
    "interval.best",
    statement="The smallest proved half-width of k adaptive means: splitting, posterior shift or scheduled noise.",
    source="Holdfast: minimum over interval.splitting, interval.posterior-shift, interval.scheduled (Gaussian) or "
    "interval.splitting, interval.jung, interval.bns (Laplace)",
    conditions="those of the winner, which the result names; the choice looks at n, questions and beta only",
    unit="half-width",
    provenance="derived",
)
def best(n: int, questions: int, beta: float, noise: Noise = "gaussian") -> Width:
    """The smallest certified half-width for `k` adaptive means, with the noise that gives it.

    The choice among theorems is made before any data is seen, so the winner's guarantee holds unchanged.

    Parameters
    ----------
    n : int
        Rows in the sample.
    questions : int
        Number of adaptive questions, fixed in advance.
    beta : float
        Probability that any answer is off by more than the half-width.
    noise : str
        "gaussian", or "laplace" for those who must use it (its widths are about twice as large).

    Returns
    -------
    Width
        The winner's; `method` names it. Time: as `scheduled`.

    Examples
    --------
    >>> best(100_000, 1000, 0.05).method
    'interval.scheduled'
    >>> best(100_000, 1, 0.05).method
    'interval.splitting'
    """
    n, questions, beta = door(n, questions, beta, noise)
    candidates = [splitting(n, questions, beta)] if questions <= n else []
    if noise == "laplace":
        candidates += [jung(n, questions, beta, noise), bns(n, questions, beta, noise)]
    else:
        candidates += [posterior_shift(n, questions, beta), scheduled(n, questions, beta)]
    return min(candidates, key=lambda width: width.half_width)


__all__ = ["best"]
