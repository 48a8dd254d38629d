"""Odometers for a variance inside a declared range, and what is left of delta outside it (Rogers et al.)."""

from __future__ import annotations

import math
import sys
from typing import Literal, NamedTuple

from holdfast import check
from holdfast.bounds.exact import UNIT, down, up
from holdfast.bounds.filters_left_side import rogers_left_side
from holdfast.bounds.odometers_boundary import totals
from holdfast.bounds.registry import theorem

_LOG_48E = math.log(48) + 1
_BELOW_INVERSE_E = math.nextafter(math.exp(-1), 0.0)


class DeltaSplit(NamedTuple):
    """How an odometer's delta is used: for the point-wise deltas, for V inside its range, and for V outside."""

    sum: float
    inside: float
    outside: float


def delta_split(n: int, delta: float, method: Literal["best", "paper"] = "best") -> DeltaSplit:
    """Return how delta is divided by the odometers with a range (`rogers`, `rruv16`, `inversion`).

    Inside the range `delta/2`, outside it `delta/(4 log2 n)`. The dissertation leaves another `delta/2` for the sum of
    the delta_i ("paper"), which together is more than delta; "best" leaves what remains, so that the total is delta.

    Parameters
    ----------
    n : int
        Sets the range of V, `[1/n^2, 1]`; at least 6.
    delta : float
        In (0, 1/e).
    method : str
        "best" (default) or "paper".

    Examples
    --------
    >>> sum(delta_split(10_000, 1e-6)) <= 1e-6 < sum(delta_split(10_000, 1e-6, "paper"))
    True
    """
    n, delta = _range(n, delta)
    outside = delta / (4 * math.log2(n))
    if check.choice("method", method, ("best", "paper")) == "paper":
        return DeltaSplit(delta / 2, delta / 2, outside)
    return DeltaSplit(down(delta / 2 - outside), delta / 2, outside)


def printed_delta(slack: float, n: int) -> float:
    """Return the printed delta whose failure, `delta/2` inside the range and `delta/(4 log2 n)` outside, is the slack.

    The printed theorems keep another half of delta for the costs' own deltas. Where that room is counted apart, or the
    rounds are pure, this delta uses the whole slack.

    Parameters
    ----------
    slack : float
        The failure probability, in (0, 1).
    n : int
        Sets the range of V, `[1/n^2, 1]`; at least 6.

    Examples
    --------
    >>> delta = printed_delta(1e-6, 10_000)
    >>> round(delta, 9), delta / 2 + delta / (4 * math.log2(10_000)) <= 1e-6
    (1.927e-06, True)
    """
    slack = check.probability("slack", slack)
    return min(down(slack / (0.5 + 1 / (4 * math.log2(range_of(n)))), 8), _BELOW_INVERSE_E)


@theorem(
    "odometer.rogers",
    statement="the loss so far, from the sums of drifts and of squared epsilons, as printed",
    source="Rogers' dissertation Theorem 5.6.5, (5.17) and (5.18)",
    conditions="pure or point-wise rounds; n >= 6, delta < 1/e; two-sided, time-uniform",
    unit="epsilon",
)
def rogers_reading(drift: float, squares: float, n: int, delta: float) -> float:
    """Return the odometer of Rogers et al. as the dissertation prints it (Theorem 5.6.5).

    `drift + sqrt(2 V (log(48 e) + 2 log(log(n)/delta)))` while `1/n^2 <= V <= 1` (5.17), otherwise
    `drift + sqrt(2 (1/n^2 + V) (1 + log(1 + n^2 V)/2) log(4 log2(n)/delta))` (5.18). Printed; the constant holds for
    `n >= 6`. Two-sided, time-uniform. Fails with at most `delta/2 + delta/(4 log2 n)`; see `delta_split` for the
    point-wise deltas. `inversion_reading` solves for the constant and is smaller.

    Parameters
    ----------
    drift, squares : float
        Running totals; the paper's drift is `loss_drift(epsilon, "paper")`.
    n : int
        At least 6.
    delta : float
        In (0, 1/e).

    Examples
    --------
    >>> from holdfast.bounds.filters import loss_drift
    >>> round(rogers_reading(50 * loss_drift(0.1, "paper"), 50 * 0.1**2, 10_000, 1e-6), 9)
    6.340992426
    """
    n, delta = _range(n, delta)
    drift, squares = totals(drift, squares)
    if not _inside(squares, n):
        return _outside(drift, squares, n, delta)
    return up(drift + math.sqrt(2 * squares * (_LOG_48E + 2 * (math.log(math.log(n)) - math.log(delta)))), 8)


@theorem(
    "odometer.rruv16",
    statement="the loss so far, from the sums of drifts and of squared epsilons, conference version",
    source="Rogers-Roth-Ullman-Vadhan 2016",
    conditions="pure or point-wise rounds; n >= 6, delta < 1/e; two-sided, time-uniform",
    unit="epsilon",
)
def rruv16_reading(drift: float, squares: float, n: int, delta: float) -> float:
    """Return the odometer of the conference version (Rogers-Roth-Ullman-Vadhan 2016).

    Inside the range `drift + 2 sqrt(V (1 + log sqrt 3) log(4 log2(n)/delta))`, outside as in `rogers_reading`. Printed.
    Two-sided, time-uniform. Larger than `rogers_reading`; kept for comparison.

    Parameters
    ----------
    drift, squares : float
        Running totals.
    n : int
        At least 6.
    delta : float
        In (0, 1/e).

    Examples
    --------
    >>> from holdfast.bounds.filters import loss_drift
    >>> round(rruv16_reading(50 * loss_drift(0.1, "paper"), 50 * 0.1**2, 10_000, 1e-6), 9)
    7.687219376
    """
    n, delta = _range(n, delta)
    drift, squares = totals(drift, squares)
    if not _inside(squares, n):
        return _outside(drift, squares, n, delta)
    log_term = math.log(4 * math.log2(n)) - math.log(delta)
    return up(drift + 2 * math.sqrt(squares * (1 + 0.5 * math.log(3)) * log_term), 8)


def inversion_factor(n: int, slack: float, method: Literal["reviewed", "sharp"] = "reviewed") -> float:
    """Return the s such that `|M| >= s sqrt(V)` ever happens with `1/n^2 <= V <= 1` with probability at most `slack`.

    "reviewed" solves `2 sqrt(e) (1 + 2 s log n) e^(-s^2/2) = slack` (the dissertation, after de la Peña, Klass and Lai
    2004). "sharp" solves `2 sqrt(e) (1 + (s/2) log n) e^(-s^2/2) = slack`. Proof of the sharp form: cut `[1/n, 1]` into
    cells `[a, a (s+1)/(s-1)]`, at most `1 + (s/2) log n` of them since `log((s+1)/(s-1)) >= 2/s`. In a cell take `x = s
    (1 - 1/s)/a`; if `M >= s C`, `C = sqrt(V)` in the cell, then `x C/s` is within `1/s` of 1, so `x M - x^2 V/2 >=
    s^2/2 - 1/2`, which the supermartingale ever reaches with probability at most `sqrt(e) e^(-s^2/2)`. Twice for both
    signs.

    Parameters
    ----------
    n : int
        At least 2.
    slack : float
        In (0, 1).
    method : str
        "reviewed" (default) or "sharp".

    Examples
    --------
    >>> round(inversion_factor(10_000, 5e-7), 9), round(inversion_factor(10_000, 5e-7, "sharp"), 9)
    (6.400003753, 6.178113258)
    """
    n = check.whole("n", n, at_least=2, at_most=10**18)
    slack = check.probability("slack", slack)
    cells = 2.0 if check.choice("method", method, ("reviewed", "sharp")) == "reviewed" else 0.5
    log_n = math.log(n)

    def log_failure(s: float) -> float:
        return math.log(2) + 0.5 + math.log1p(cells * s * log_n) - 0.5 * s * s

    target = math.log(slack) - 8 * UNIT * (abs(math.log(slack)) + 8)
    s = max(math.sqrt(-2 * math.log(slack)), 2.0)  # below the root, or where it is falling
    while log_failure(s) > target:
        s += 1
    low = max(s - 1, 1.0)
    if log_failure(low) <= target:
        return low
    for _ in range(60):
        middle = 0.5 * (low + s)
        low, s = (middle, s) if log_failure(middle) > target else (low, middle)
    return up(s)


@theorem(
    "odometer.inversion",
    statement="the loss so far, with the factor of Rogers' odometer solved for instead of bounded",
    source="Rogers' dissertation, the inequality behind Theorem 5.6.5, inverted; sharp form proved in the docstring",
    conditions="pure or point-wise rounds; n >= 6, delta < 1/e; two-sided, time-uniform",
    unit="epsilon",
    provenance="derived",
)
def inversion_reading(
    drift: float, squares: float, n: int, delta: float, method: Literal["reviewed", "sharp"] = "reviewed"
) -> float:
    """Return `drift + s sqrt(V)` with s solved for instead of bounded, inside the range; outside it as (5.18).

    Derived and reviewed: the same inequality as in `rogers_reading`, inverted exactly at `delta/2`. Two-sided,
    time-uniform. Fails with at most `delta/2 + delta/(4 log2 n)`, like `rogers_reading`. `accounting.InversionOdometer`
    takes the sharp form by default, at `printed_delta`, so it reads less at the same delta.

    Parameters
    ----------
    drift, squares : float
        Running totals.
    n : int
        At least 6.
    delta : float
        In (0, 1/e).
    method : str
        Which `inversion_factor`: "reviewed" (default) or "sharp".

    Examples
    --------
    >>> from holdfast.bounds.filters import loss_drift
    >>> round(inversion_reading(50 * loss_drift(0.1, "paper"), 50 * 0.1**2, 10_000, 1e-6), 9)
    4.788413349
    """
    n, delta = _range(n, delta)
    return factor_reading(drift, squares, n, delta, inversion_factor(n, delta / 2, method))


def factor_reading(drift: float, squares: float, n: int, delta: float, factor: float) -> float:
    """Return `inversion_reading` for a `factor` that was solved for before; the solving takes most of its time.

    Parameters
    ----------
    drift, squares : float
        Running totals.
    n : int
        At least 6.
    delta : float
        In (0, 1/e); used outside the range.
    factor : float
        `inversion_factor(n, delta / 2, method)`; used inside.

    Examples
    --------
    >>> factor = inversion_factor(10_000, 1e-6 / 2)
    >>> factor_reading(0.3, 0.5, 10_000, 1e-6, factor) == inversion_reading(0.3, 0.5, 10_000, 1e-6)
    True
    """
    n, delta = _range(n, delta)
    drift, squares = totals(drift, squares)
    factor = check.real("factor", factor, above=0)
    if not _inside(squares, n):
        return _outside(drift, squares, n, delta)
    return up(drift + factor * math.sqrt(squares))


@theorem(
    "odometer.zcdp",
    statement="the loss so far, from the sum of zCDP parameters",
    source="Rogers' dissertation Theorem 5.7.5, with a corrected proof (docs/errata/composition.md)",
    conditions="rho_i-zCDP rounds; n >= 6, delta < 1/e; one-sided, time-uniform",
    unit="epsilon",
    provenance="mixed",
)
def zcdp_reading(rho: float, n: int, delta: float) -> float:
    """Return the zCDP odometer, `R + sqrt(4 R (log(48 e) + 2 log(log(n)/delta)))` while `1/n^2 <= 2R <= 1`.

    Dissertation Theorem 5.7.5 with `V = 2R`; outside the range (5.18) at `V = 2R`. Corrected: the dissertation derives
    it from a moment bound for all real x that plain zCDP does not give ("zCDP+" as defined does not give it either).
    The upper tail needs `x >= 0` only: (5.17) then counts one sign instead of two, and for (5.18) the
    half-normal mixture over `x >= 0` is, where `M > 0`, at least the Gaussian one. So the printed number holds,
    time-uniform, for plain rho_i-zCDP, as a bound on the loss from above. The lower tail is not stated: for (5.18) we
    have no proof of it.

    Parameters
    ----------
    rho : float
        R, the sum of the rho_i; for a pure round add `pure_to_zcdp(epsilon)`.
    n : int
        At least 6.
    delta : float
        In (0, 1/e).

    Examples
    --------
    >>> round(zcdp_reading(100 * 1e-3, 10_000, 1e-6), 9)
    3.944105916
    """
    rho = check.real("rho", rho, at_least=0)
    return rogers_reading(rho, min(2 * rho, sys.float_info.max), n, delta)


def range_of(n: int) -> int:
    """Check the `n` of a range `[1/n^2, 1]`: the constant of Theorem 5.6.5 is right from 6 on.

    Examples
    --------
    >>> range_of(10_000)
    10000
    """
    return check.whole("n", n, at_least=6, at_most=10**18)


def _range(n: int, delta: float) -> tuple[int, float]:
    """The conditions of Theorem 5.6.5: n >= 6 and delta < 1/e."""
    return range_of(n), check.real("delta", delta, above=0, below=math.exp(-1))


def _inside(squares: float, n: int) -> bool:
    """Whether V is in `[1/n^2, 1]`; a V that rounding moved out of it by a few units counts as inside."""
    return (1 - 8 * UNIT) / n**2 <= squares <= 1 + 8 * UNIT


def _outside(drift: float, squares: float, n: int, delta: float) -> float:
    """(5.18): the free-offset bound at `x = 1/n^2` and slack `delta/(4 log2 n)`."""
    return rogers_left_side(drift, squares, 1 / n**2, delta / (4 * math.log2(n)))


__all__ = [
    "DeltaSplit",
    "delta_split",
    "factor_reading",
    "inversion_factor",
    "inversion_reading",
    "printed_delta",
    "range_of",
    "rogers_reading",
    "rruv16_reading",
    "zcdp_reading",
]
