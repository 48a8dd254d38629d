"""Exact binomial tests for counts that a simulation produced."""

from __future__ import annotations

ERROR = 1e-6
"""How often a check may fail although what it checks is true."""


def agrees(count: int, trials: int, probability: float, error: float = ERROR) -> bool:
    """Whether a count is compatible with a probability: neither exact tail is below `error / 2`.

    If `probability` is the truth, the answer is no with probability at most `error`.

    Examples
    --------
    >>> agrees(507, 1000, 0.5), agrees(700, 1000, 0.5)
    (True, False)
    """
    from scipy.stats import binom

    below, above = binom.cdf(count, trials, probability), binom.sf(count - 1, trials, probability)
    return bool(min(below, above) >= error / 2)


def exceeds(count: int, trials: int, level: float, error: float = ERROR) -> bool:
    """Whether a count shows that its probability is above `level`.

    If the truth is at most `level`, the answer is yes with probability at most `error`.

    Examples
    --------
    >>> exceeds(194, 1000, 0.05), exceeds(60, 1000, 0.05)
    (True, False)
    """
    from scipy.stats import binom

    return bool(binom.sf(count - 1, trials, level) < error)


__all__ = ["ERROR", "agrees", "exceeds"]
