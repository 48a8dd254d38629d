"""Gaussian fields in closed form: how far one record moves a sum, and what a bounded window shows.

For a linear query plus Laplace noise on a Gaussian field, the Bayesian leakage about record `i` against an adversary
who knows `S` is `M_i shift(i, S)/scale`, exactly. Where the precision matrix has no positive entry off its diagonal and
the weights are not negative, the adversary who knows nothing learns most; both fields here are such.
"""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import count
from holdfast.bounds.registry import theorem


@theorem(
    "correlated.autoregressive-shift",
    statement="How far the sum of a Gaussian AR(1) series moves when one record moves by 1, the rest following.",
    source="Holdfast; Yang et al. 2015 setting (sum query, positively correlated Gaussian field)",
    conditions="stationary Gaussian AR(1) with coefficient in [0, 1); sum query; Laplace noise",
    unit="units",
    provenance="derived",
)
def autoregressive_shift(n: int, coefficient: float, position: int | None = None) -> float:
    """Return `(1 + phi - phi^i - phi^(n-i+1))/(1 - phi)`, by default at the middle, where it is largest.

    The conditional mean of record `j` given record `i` has slope `phi^|i-j|`; the sum of the slopes is this. The
    precision matrix has `-phi` beside its diagonal, so no adversary sees more. Derived, reviewed. The Laplace scale for
    records that move by at most `M` is `M shift/epsilon`.

    Parameters
    ----------
    n : int
        Records.
    coefficient : float
        `phi`, in [0, 1).
    position : int
        The record, from 1; the middle one by default.

    Examples
    --------
    >>> round(autoregressive_shift(10, 0.5), 9)
    2.90625
    """
    n = count("n", n)
    phi = check.real("coefficient", coefficient, at_least=0, below=1)
    at = (n + 1) // 2 if position is None else check.whole("position", position, at_least=1, at_most=n)
    return up((1 + phi - phi ** min(at, 10**6) - phi ** min(n - at + 1, 10**6)) / (1 - phi), 16)


@theorem(
    "correlated.equicorrelation-shift",
    statement="How far the sum of an equicorrelated Gaussian field moves when one record moves by 1: 1 + (n-1) rho.",
    source="Holdfast; Yang et al. 2015 setting",
    conditions="Gaussian field of unit variances, every pair correlated by rho in [0, 1); sum query; Laplace noise",
    unit="units",
    provenance="derived",
)
def equicorrelation_shift(n: int, correlation: float) -> float:
    """Return `1 + (n - 1) rho`. Derived, reviewed.

    Parameters
    ----------
    n : int
        Records.
    correlation : float
        `rho`, in [0, 1).

    Examples
    --------
    >>> round(equicorrelation_shift(5, 0.3), 9)
    2.2
    """
    return up(1 + (count("n", n) - 1) * check.real("correlation", correlation, at_least=0, below=1))


def windowed_influence(coefficient: float, lag: int, radius: float) -> float:
    """Log ratio of a Gaussian AR(1) record given another `lag` away, both within `radius`: `2 R^2 phi^t/(1-phi^(2t))`.

    A diagnostic, no guarantee: on the whole line the influence is infinite. Derived.

    Examples
    --------
    >>> round(windowed_influence(0.5, 10, 3.0), 11)
    0.01757814176
    """
    phi = check.real("coefficient", coefficient, above=-1, below=1)
    lag, radius = count("lag", lag), check.real("radius", radius, at_least=0, at_most=1e100)
    power = math.exp(lag * math.log(abs(phi))) if phi else 0.0
    return up(2 * radius * radius * power / (1 - power * power), 32)


__all__ = ["autoregressive_shift", "equicorrelation_shift", "windowed_influence"]
