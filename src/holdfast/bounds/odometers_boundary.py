"""Odometers that are one boundary for the centred loss, valid for every variance."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import UNIT, up
from holdfast.bounds.filters_left_side import rogers_left_side
from holdfast.bounds.registry import theorem


@theorem(
    "odometer.free-offset",
    statement="the loss so far, with an offset fixed in advance",
    source="Rogers' dissertation Lemma 5.6.4",
    conditions="pure or point-wise rounds; slack <= 1/e; two-sided, time-uniform",
    unit="epsilon",
)
def free_offset_reading(drift: float, squares: float, offset: float, slack: float) -> float:
    """Return Lemma 5.6.4's reading, `drift + sqrt(2 (V + x) (1 + log(V/x + 1)/2) log(1/slack))`.

    Printed with `slack = delta/2`. Two-sided, time-uniform. `mixture_reading` is tighter at the same offset and slack.

    Parameters
    ----------
    drift, squares : float
        Running totals.
    offset : float
        x, fixed in advance, for instance the first round's `epsilon^2`.
    slack : float
        The failure probability, in (0, 1/e].

    Examples
    --------
    >>> from holdfast.bounds.filters import loss_drift
    >>> round(free_offset_reading(50 * loss_drift(0.1, "paper"), 50 * 0.1**2, 0.01, 1e-6 / 2), 9)
    6.888034254
    """
    return rogers_left_side(drift, squares, offset, slack)


def line_point(target: float, slack: float) -> float:
    """Return `(sqrt(2L + 2 target) - sqrt(2L))^2`, `L = log(1/slack)`: the V at which the line touches the target.

    Examples
    --------
    >>> round(line_point(1.0, 1e-6), 11)
    0.03493780954
    """
    target = check.real("target", target, above=0)
    spread = -2 * math.log(check.probability("slack", slack))
    target = min(target, 1e300)
    root = 2 * target / (math.sqrt(spread + 2 * target) + math.sqrt(spread))
    return max(root * root, 1e-300)


@theorem(
    "odometer.line",
    statement="the loss so far, by a boundary that is straight in the sum of squares",
    source="Whitehouse-Ramdas-Rogers-Wu 2023",
    conditions="pure or point-wise rounds; one-sided, time-uniform",
    unit="epsilon",
)
def line_reading(drift: float, squares: float, slack: float, target: float = 1.0) -> float:
    """Return `drift + sqrt(y L/2) + V sqrt(L/(2y))`, a boundary that is straight in V and sharp at `V = y`.

    Whitehouse-Ramdas-Rogers-Wu 2023, re-derived by Ville's inequality at one x. `L = log(1/slack)` and `y` is
    `line_point(target, slack)`, where it equals advanced composition. One-sided (halve the slack for the absolute
    loss), time-uniform.

    Parameters
    ----------
    drift, squares : float
        Running totals.
    slack : float
        The failure probability, in (0, 1).
    target : float
        The epsilon near which the reading should be sharp; fixed in advance.

    Examples
    --------
    >>> round(line_reading(0.02 / 2, 0.02, 1e-6), 10)
    0.7824884143
    """
    drift, squares = totals(drift, squares)
    y = line_point(target, slack)
    log_term = -math.log(slack)
    return up(drift + math.sqrt(y * log_term / 2) + squares * math.sqrt(log_term / (2 * y)), 8)


@theorem(
    "odometer.mixture",
    statement="the loss so far, by the Gaussian mixture boundary",
    source="Robbins 1970; Whitehouse-Ramdas-Rogers-Wu 2023",
    conditions="pure or point-wise rounds; gamma fixed in advance; two-sided, time-uniform",
    unit="epsilon",
)
def mixture_reading(drift: float, squares: float, slack: float, gamma: float = 0.005) -> float:
    """Return `drift + sqrt(2 (V + g) log(sqrt((V + g)/g)/slack))`, the Gaussian mixture boundary.

    Robbins 1970; Whitehouse-Ramdas-Rogers-Wu 2023; re-derived: mixing x over `N(0, 1/g)` turns the supermartingales
    into `sqrt(g/(V+g)) exp(M^2 / (2(V+g)))`, and Ville's inequality bounds it. Two-sided, time-uniform, no range for V.

    Parameters
    ----------
    drift, squares : float
        Running totals.
    slack : float
        The failure probability, in (0, 1).
    gamma : float
        g, fixed in advance; sharpest where V is some ten to twenty times as large.

    Examples
    --------
    >>> round(mixture_reading(0.02 / 2, 0.02, 1e-6), 9)
    0.864992091
    """
    drift, squares = totals(drift, squares)
    slack = check.probability("slack", slack)
    gamma = check.real("gamma", gamma, above=0)
    total = squares + gamma
    return up(drift + math.sqrt(2 * total * (0.5 * math.log1p(squares / gamma) - math.log(slack))), 8)


@theorem(
    "odometer.stitched",
    statement="the loss so far, by the stitched boundary",
    source="Howard-Ramdas-McAuliffe-Sekhon 2021; Whitehouse-Ramdas-Rogers-Wu 2023",
    conditions="pure or point-wise rounds; start fixed in advance; one-sided, time-uniform",
    unit="epsilon",
)
def stitched_reading(drift: float, squares: float, slack: float, start: float = 1e-4) -> float:
    """Return `drift + 1.7 sqrt(V (log log(2V/v0) + 0.72 log(5.2/slack)))` for `V >= v0`, infinity before.

    Howard-Ramdas-McAuliffe-Sekhon 2021, equation (10), as used by Whitehouse et al. 2023. Printed constants, tested
    against exact crossing probabilities but not re-derived. One-sided (halve the slack for the absolute loss),
    time-uniform.

    Parameters
    ----------
    drift, squares : float
        Running totals.
    slack : float
        The failure probability, in (0, 1).
    start : float
        v0, fixed in advance: no reading before V reaches it.

    Examples
    --------
    >>> round(stitched_reading(0.02 / 2, 0.02, 1e-6, start=0.001), 10)
    0.8579413418
    """
    drift, squares = totals(drift, squares)
    slack = check.probability("slack", slack)
    start = check.real("start", start, above=0)
    if squares < start * (1 - 8 * UNIT):  # a sum of squares that only rounding keeps below counts as having arrived
        return math.inf
    iterated = math.log(math.log(2 * max(squares / start, 1.0)))
    return up(drift + 1.7 * math.sqrt(squares * (iterated + 0.72 * (math.log(5.2) - math.log(slack)))), 8)


def totals(drift: float, squares: float) -> tuple[float, float]:
    """Check the running totals that every odometer of the loss takes."""
    return check.real("drift", drift, at_least=0), check.real("squares", squares, at_least=0)


__all__ = ["free_offset_reading", "line_point", "line_reading", "mixture_reading", "stitched_reading", "totals"]
