"""Tails of sampling without replacement that the coherence theorems rest on."""

from __future__ import annotations

from holdfast import check
from holdfast.bounds.concentration import exp_up
from holdfast.bounds.registry import theorem


@theorem(
    "coherence.hypergeometric-tail",
    statement="probability that a hypergeometric count is off its mean by a deviation, each side",
    source="Hush-Scovel 2005; Enforcing Demographic Coherence, Theorem 4",
    conditions="deviation at least 2",
    unit="probability",
)
def hypergeometric_tail(rows: int, marked: int, sample: int, deviation: float) -> float:
    """Return `exp(-2 c (g^2 - 1))`, `c = max{1/(s+1) + 1/(b-s+1), 1/(a+1) + 1/(b-a+1)}`, for each tail.

    Parameters
    ----------
    rows : int
        Rows `b` in all.
    marked : int
        Rows `a` that count.
    sample : int
        Rows `s` drawn.
    deviation : float
        The deviation `g`, at least 2.

    Examples
    --------
    >>> round(hypergeometric_tail(100, 40, 50, 8.0), 12)
    0.005865048648
    """
    rows = check.whole("rows", rows, at_least=1)
    marked = check.whole("marked", marked, at_least=0, at_most=rows)
    sample = check.whole("sample", sample, at_least=0, at_most=rows)
    deviation = check.real("deviation", deviation, at_least=2)
    c = max(1 / (sample + 1) + 1 / (rows - sample + 1), 1 / (marked + 1) + 1 / (rows - marked + 1))
    return exp_up(-2 * c * (deviation - 1) * (deviation + 1))


@theorem(
    "coherence.sample-mean-tail",
    statement="probability that a mean of rows drawn without replacement exceeds the mean of all by a gap",
    source="Hoeffding 1963; Enforcing Demographic Coherence, Theorem 10",
    conditions="values in [0, 1], sample without replacement; one-sided",
    unit="probability",
)
def sample_mean_tail(sample: int, gap: float) -> float:
    """Return `exp(-2 m a^2)`.

    Parameters
    ----------
    sample : int
        Rows drawn.
    gap : float
        The gap, at least 0.

    Examples
    --------
    >>> round(sample_mean_tail(100, 0.1), 9)
    0.135335283
    """
    gap = check.real("gap", gap, at_least=0)
    return exp_up(-2 * check.whole("sample", sample, at_least=1) * gap * gap)


@theorem(
    "coherence.swap-tail",
    statement="probability that a function of a random sample of the rows exceeds its mean",
    source="Enforcing Demographic Coherence, Theorem 12",
    conditions="order-invariant function, sample without replacement, swapping one row moves it by at most sensitivity",
    unit="probability",
)
def swap_tail(deviation: float, sensitivity: float, sample: int, n: int) -> float:
    """Return `exp(-(2 t^2/(m D^2)) ((n - 1/2)/(n - m)) (1 - 1/(2 max(m, n - m))))`.

    The tail was re-proved in review: exposing the sample row by row, step i moves the conditional mean by at most
    `D (n - m)/(n - i)`. For `m = n/2` it is `exp(-4 kappa t^2/(n D^2))`; the paper uses `kappa = 1`.

    Parameters
    ----------
    deviation : float
        The deviation `t`, at least 0.
    sensitivity : float
        How far swapping a sampled row for another moves the function, above 0.
    sample : int
        Rows `m` drawn, at most `n - 1`.
    n : int
        Rows in all.

    Examples
    --------
    >>> round(swap_tail(5.0, 1.0, 50, 100), 10)
    0.1394429112
    """
    deviation = check.real("deviation", deviation, at_least=0)
    sensitivity = check.real("sensitivity", sensitivity, above=0)
    n = check.whole("n", n, at_least=2)
    m = check.whole("sample", sample, at_least=1, at_most=n - 1)
    ratio = deviation / sensitivity
    finite = ((n - 0.5) / (n - m)) * (1 - 1 / (2 * max(m, n - m)))
    return exp_up(-2 * ratio * ratio / m * finite)


__all__ = ["hypergeometric_tail", "sample_mean_tail", "swap_tail"]
