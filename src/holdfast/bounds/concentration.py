"""Concentration of sums and of statistics that are fixed in advance, and tails rounded up."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.registry import theorem


@theorem(
    "concentration.azuma",
    statement="level that a sum of bounded steps exceeds with probability at most exp(-t^2/2)",
    source="Azuma 1967, Hoeffding 1963; Rogers et al. 2016 Theorem A.8 (t sqrt(n) a, not under the root)",
    conditions="steps in [-a, a], conditional means at most g",
    unit="level",
)
def azuma(n: int, g: float, a: float, t: float) -> float:
    """Return `n g + t sqrt(n) a`.

    Parameters
    ----------
    n : int
        The number of steps.
    g : float
        A bound on the conditional means.
    a : float
        A bound on the size of a step, at least 0.
    t : float
        At least 0; the sum exceeds the level with probability at most `exp(-t^2/2)`.

    Examples
    --------
    >>> azuma(100, 0.01, 0.5, 2.0)
    11.0...
    """
    n = check.whole("n", n, at_least=1)
    drift = n * check.real("g", g)
    deviation = check.real("t", t, at_least=0) * math.sqrt(n) * check.real("a", a, at_least=0)
    if math.isinf(drift) or math.isinf(deviation):
        return drift if deviation < math.inf and drift < 0 else math.inf
    return drift + deviation + 4 * math.ulp(max(abs(drift), deviation))


@theorem(
    "concentration.mcdiarmid",
    statement="probability that a statistic of sensitivity c, fixed in advance, exceeds its mean by tau",
    source="McDiarmid 1989; Dwork et al. 2015 Lemma 1, Rogers et al. 2016 Theorem A.9",
    conditions="rows independent, statistic fixed before the data; one-sided",
    unit="probability",
)
def mcdiarmid(tau: float, sensitivity: float, n: int) -> float:
    """Return `exp(-2 tau^2 / (n c^2))`, one-sided.

    Parameters
    ----------
    tau : float
        The deviation, at least 0.
    sensitivity : float
        How far replacing one row can move the statistic, above 0.
    n : int
        The number of rows.

    Examples
    --------
    >>> round(mcdiarmid(0.1, 0.01, 100), 9)
    0.135335283
    """
    tau = check.real("tau", tau, at_least=0)
    sensitivity = check.real("sensitivity", sensitivity, above=0)
    return min(1.0, exp_up(mcdiarmid_log(tau, sensitivity, check.whole("n", n, at_least=1))))


def mcdiarmid_log(tau: float, sensitivity: float, n: int) -> float:
    """Return `-2 tau^2/(n c^2)`, the logarithm of McDiarmid's tail. Arguments are not checked.

    Examples
    --------
    >>> round(mcdiarmid_log(0.1, 0.01, 100), 9)
    -2.0
    """
    ratio = tau / sensitivity / math.sqrt(n)
    return -2 * ratio * ratio


def exp_up(x: float) -> float:
    """Return `exp(x)` rounded up, for an `x` that is right to eight units in its last place; never 0.

    An error of one unit in the last place of `x` is a relative error of `|x|` units in the result, so `x` is rounded
    first.

    Examples
    --------
    >>> exp_up(-1.0) > math.exp(-1.0), exp_up(-1e6)
    (True, 5e-324)
    """
    if x > 709:
        return math.inf
    return max(up(math.exp(up(x, 8) if x else x)), 5e-324) if x else 1.0


__all__ = ["azuma", "exp_up", "mcdiarmid", "mcdiarmid_log"]
