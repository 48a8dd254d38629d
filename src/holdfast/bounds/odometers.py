"""Privacy odometers as functions of running totals: what has been lost so far, readable at any time.

With probability at least `1 - delta` the privacy loss is at most the reading **at every moment at once**, although the
analyst chooses parameters, and when to look, from the answers. Each function says whether it bounds the loss from above
(one-sided; what a privacy promise needs, once for each order of the neighbours) or its absolute value (two-sided).

What goes in. `drift` is the sum of `filters.loss_drift(epsilon_i)`, `squares` is `V`, the sum of `epsilon_i^2`, `rho`
the sum of zCDP parameters. The rounds are pure. A delta_i is allowed only if it is point-wise (the loss exceeds
epsilon_i with probability at most delta_i); ordinary (epsilon, delta)-DP is not enough, and
`conversions.approx_to_pointwise` converts. Point-wise deltas add to the failure probability and, slightly, to the
drift (`pointwise_drift`); that is the accountant's work.

What they depend on. The loss minus its drift is dominated by a process `M` for which `exp(x M - x^2 V/2)` is a
supermartingale for every real x. Each odometer is one boundary that `M` crosses with small probability.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from holdfast.bounds.filters import loss_drift, rogers_left_side
from holdfast.bounds.numerics.exact import UNIT, decimal_fraction, down, float_up, up
from holdfast.bounds.parameters import (
    Delta,
    Divergences,
    Domain,
    Epsilon,
    LossDrift,
    OdometerDelta,
    OdometerSize,
    Orders,
    Rho,
    Rounds,
    Slack,
    SquaredEpsilons,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Odometers pointwise ----------------------------------------------------------------------------------------------
# What a point-wise delta does to the loss that an odometer reads.


@theorem(
    "odometer.pointwise-drift",
    statement="what a point-wise delta adds to the drift of the privacy loss",
    source="Holdfast; proof in the docstring",
    conditions="a point-wise (epsilon, delta) round, any epsilon; delta itself goes to the failure probability",
    unit="epsilon",
    provenance="derived",
)
def pointwise_drift(delta: Delta) -> float:
    """Return what a point-wise delta adds to the drift of the loss: `log(1/(1 - delta))`, rounded up.

    Derived here; without it the bound is false. Let the loss be within
    `[-epsilon, epsilon]` on a set of outputs that has probability `p >= 1 - delta` under the first distribution and
    `q >= 1 - delta` under the second. Given that set, the loss averages `e^-L` to `q/p`, so its mean is at most
    `epsilon tanh(epsilon/2) + delta epsilon/sinh(epsilon)` and at least `log(p/q)`: delta moves it by at most
    `log(1/(1 - delta))` either way. Around its mean the bounded loss has variance proxy `epsilon^2` as before.

    Why it matters: a mechanism that says "a" on one neighbour, and on the other "b" with probability delta, is
    point-wise `(log(1/(1 - delta)), delta)`, and its loss is that epsilon **surely**. A hundred rounds at delta 0.001
    lose 0.1, while the best pure reading at a slack of 0.1 is 0.022.

    Examples
    --------
    >>> round(pointwise_drift(0.001), 9)
    0.0010005
    """
    return up(-math.log1p(-delta))


# --- Odometers renyi --------------------------------------------------------------------------------------------------
# Odometers of a Renyi curve.


class RenyiReading(NamedTuple):
    """A reading and the order that gives it."""

    value: float
    order: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"value": self.value, "order": self.order}


@theorem(
    "odometer.renyi",
    statement="the loss so far, from running Renyi divergences on a grid of orders",
    source="Ville's inequality, one order at a time; proof in the docstring",
    conditions="orders and weights fixed in advance; one-sided, time-uniform",
    unit="epsilon",
    provenance="derived",
)
def renyi_reading(
    orders: Orders,
    epsilons: Divergences,
    slack: Slack,
    weights: Annotated[
        Sequence[float],
        Domain("Parts of the slack, fixed in advance, with a sum of at most 1; equal if left out.", above=0),
    ]
    | None = None,
) -> RenyiReading:
    """Return `min over a of S(a) + log(1/(w_a slack))/(a - 1)`, the odometer of a Renyi curve by Ville's inequality.

    Derived: `exp((a-1)(L_t - S_t(a)))` is a supermartingale for each order, so it ever exceeds `1/(w_a slack)` with
    probability at most `w_a slack`; the weights sum to at most 1. Uses no doubling and no restarts, unlike
    `lecuyer_reading`, and is smaller. One-sided, time-uniform.

    Examples
    --------
    >>> orders = [1.5, 2, 3, 4, 6, 8, 16, 32, 64]
    >>> value, order = renyi_reading(orders, [0.05 * a for a in orders], 1e-6)
    >>> round(value, 9), order
    (1.867515676, 16.0)
    """
    orders, epsilons = _curve(orders, epsilons)
    shares = (1 / len(orders),) * len(orders) if weights is None else weights
    if len(shares) != len(orders) or math.fsum(shares) > 1 + 8 * UNIT:
        raise InvalidParameter("weights must have one entry per order and sum to at most 1")
    log_slack = math.log(slack)
    values = [up(s - (math.log(w) + log_slack) / (a - 1), 8) for a, s, w in zip(orders, epsilons, shares, strict=True)]
    best = min(range(len(values)), key=values.__getitem__)
    return RenyiReading(values[best], orders[best])


@theorem(
    "odometer.lecuyer",
    statement="the loss so far, from running Renyi divergences, by doubling budgets",
    source="Lecuyer 2021, as in the author's code",
    conditions="orders fixed in advance; one-sided, time-uniform",
    unit="epsilon",
)
def lecuyer_reading(orders: Orders, epsilons: Divergences, slack: Slack) -> RenyiReading:
    """Return Lecuyer's odometer of a Renyi curve, by doubling budgets.

    Lecuyer 2021: with `g(a) = log(2 |A|/slack)/(4(a-1))` and `f = ceil(log2(max(S(a), g)/g))`, the smallest over orders
    of `g 2^f + log(2 |A| (f+1)^2/slack)/(a-1)`. As in the author's code; valid because the sum of `1/(f+1)^2` is below
    2. One-sided, time-uniform. `renyi_reading` is simpler and smaller.

    Examples
    --------
    >>> orders = [1.5, 2, 3, 4, 6, 8, 16, 32, 64]
    >>> value, order = lecuyer_reading(orders, [0.05 * a for a in orders], 1e-6)
    >>> round(value, 9), order
    (2.373932614, 16.0)
    """
    orders, epsilons = _curve(orders, epsilons)
    log_term = math.log(2 * len(orders)) - math.log(slack)
    values = []
    for a, s in zip(orders, epsilons, strict=True):
        grain = max(log_term / (4 * (a - 1)), sys.float_info.min)
        ratio = max(s / grain, 1.0)
        doublings = math.ceil(math.log2(ratio * (1 + 4 * UNIT))) if ratio < 1e300 else 0
        budget = grain * 2.0**doublings if ratio < 1e300 else math.inf
        values.append(up(budget + (log_term + 2 * math.log(doublings + 1)) / (a - 1), 8))
    best = min(range(len(values)), key=values.__getitem__)
    return RenyiReading(values[best], orders[best])


def _curve(orders: Sequence[float], epsilons: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    clean = arguments.reals("orders", orders, above=1)
    totals = arguments.reals("epsilons", epsilons, at_least=0)
    if len(clean) != len(totals):
        raise InvalidParameter(f"orders and epsilons must have the same length, got {len(clean)} and {len(totals)}")
    return clean, totals


# --- Odometers boundary -----------------------------------------------------------------------------------------------
# Odometers that are one boundary for the centred loss, valid for every variance.


@theorem(
    "odometer.free-offset",
    statement="the loss so far, with an offset fixed in advance",
    source="Rogers' dissertation Lemma 5.6.4",
    conditions="pure or point-wise rounds; slack <= 1/e; two-sided, time-uniform",
    unit="epsilon",
)
def free_offset_reading(
    drift: LossDrift,
    squares: SquaredEpsilons,
    offset: Annotated[
        float,
        Domain("The offset x, fixed in advance, for instance the first round's `epsilon^2`.", above=0, typical=0.01),
    ],
    slack: Annotated[Slack, Domain(at_most=1 / math.e)],
) -> float:
    """Return Lemma 5.6.4's reading, `drift + sqrt(2 (V + x) (1 + log(V/x + 1)/2) log(1/slack))`.

    Printed with `slack = delta/2`. Two-sided, time-uniform. `mixture_reading` is tighter at the same offset and slack.

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
    target = arguments.real("target", target, above=0)
    spread = -2 * math.log(arguments.probability("slack", slack))
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
def line_reading(
    drift: LossDrift,
    squares: SquaredEpsilons,
    slack: Slack,
    target: Annotated[
        float, Domain("The epsilon near which the reading should be sharp; fixed in advance.", above=0)
    ] = 1.0,
) -> float:
    """Return `drift + sqrt(y L/2) + V sqrt(L/(2y))`, a boundary that is straight in V and sharp at `V = y`.

    Whitehouse-Ramdas-Rogers-Wu 2023, re-derived by Ville's inequality at one x. `L = log(1/slack)` and `y` is
    `line_point(target, slack)`, where it equals advanced composition. One-sided (halve the slack for the absolute
    loss), time-uniform.

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
def mixture_reading(
    drift: LossDrift,
    squares: SquaredEpsilons,
    slack: Slack,
    gamma: Annotated[
        float, Domain("The constant g, fixed in advance; sharpest where V is ten to twenty times as large.", above=0)
    ] = 0.005,
) -> float:
    """Return `drift + sqrt(2 (V + g) log(sqrt((V + g)/g)/slack))`, the Gaussian mixture boundary.

    Robbins 1970; Whitehouse-Ramdas-Rogers-Wu 2023; re-derived: mixing x over `N(0, 1/g)` turns the supermartingales
    into `sqrt(g/(V+g)) exp(M^2 / (2(V+g)))`, and Ville's inequality bounds it. Two-sided, time-uniform, no range for V.

    Examples
    --------
    >>> round(mixture_reading(0.02 / 2, 0.02, 1e-6), 9)
    0.864992091
    """
    drift, squares = totals(drift, squares)
    total = squares + gamma
    return up(drift + math.sqrt(2 * total * (0.5 * math.log1p(squares / gamma) - math.log(slack))), 8)


@theorem(
    "odometer.stitched",
    statement="the loss so far, by the stitched boundary",
    source="Howard-Ramdas-McAuliffe-Sekhon 2021; Whitehouse-Ramdas-Rogers-Wu 2023",
    conditions="pure or point-wise rounds; start fixed in advance; one-sided, time-uniform",
    unit="epsilon",
)
def stitched_reading(
    drift: LossDrift,
    squares: SquaredEpsilons,
    slack: Slack,
    start: Annotated[
        float, Domain("The start v0, fixed in advance: there is no reading before V reaches it.", above=0)
    ] = 1e-4,
) -> float:
    """Return `drift + 1.7 sqrt(V (log log(2V/v0) + 0.72 log(5.2/slack)))` for `V >= v0`, infinity before.

    Howard-Ramdas-McAuliffe-Sekhon 2021, equation (10), as used by Whitehouse et al. 2023. Printed constants, tested
    against exact crossing probabilities but not re-derived. One-sided (halve the slack for the absolute loss),
    time-uniform.

    Examples
    --------
    >>> round(stitched_reading(0.02 / 2, 0.02, 1e-6, start=0.001), 10)
    0.8579413418
    """
    drift, squares = totals(drift, squares)
    if squares < start * (1 - 8 * UNIT):  # a sum of squares that only rounding keeps below counts as having arrived
        return math.inf
    iterated = math.log(math.log(2 * max(squares / start, 1.0)))
    return up(drift + 1.7 * math.sqrt(squares * (iterated + 0.72 * (math.log(5.2) - math.log(slack)))), 8)


def totals(drift: float, squares: float) -> tuple[float, float]:
    """Check the running totals that every odometer of the loss takes."""
    return arguments.real("drift", drift, at_least=0), arguments.real("squares", squares, at_least=0)


# --- Odometers range --------------------------------------------------------------------------------------------------
# Odometers for a variance inside a declared range, and what is left of delta outside it (Rogers et al.).

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
    if arguments.choice("method", method, ("best", "paper")) == "paper":
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
    slack = arguments.probability("slack", slack)
    return min(down(slack / (0.5 + 1 / (4 * math.log2(range_of(n)))), 8), _BELOW_INVERSE_E)


@theorem(
    "odometer.rogers",
    statement="the loss so far, from the sums of drifts and of squared epsilons, as printed",
    source="Rogers' dissertation Theorem 5.6.5, (5.17) and (5.18)",
    conditions="pure or point-wise rounds; n >= 6, delta < 1/e; two-sided, time-uniform",
    unit="epsilon",
)
def rogers_reading(drift: LossDrift, squares: SquaredEpsilons, n: OdometerSize, delta: OdometerDelta) -> float:
    """Return the odometer of Rogers et al. as the dissertation prints it (Theorem 5.6.5).

    `drift + sqrt(2 V (log(48 e) + 2 log(log(n)/delta)))` while `1/n^2 <= V <= 1` (5.17), otherwise
    `drift + sqrt(2 (1/n^2 + V) (1 + log(1 + n^2 V)/2) log(4 log2(n)/delta))` (5.18). Printed; the constant holds for
    `n >= 6`. Two-sided, time-uniform. Fails with at most `delta/2 + delta/(4 log2 n)`; see `delta_split` for the
    point-wise deltas. `inversion_reading` solves for the constant and is smaller.

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
def rruv16_reading(drift: LossDrift, squares: SquaredEpsilons, n: OdometerSize, delta: OdometerDelta) -> float:
    """Return the odometer of the conference version (Rogers-Roth-Ullman-Vadhan 2016).

    Inside the range `drift + 2 sqrt(V (1 + log sqrt 3) log(4 log2(n)/delta))`, outside as in `rogers_reading`. Printed.
    Two-sided, time-uniform. Larger than `rogers_reading`; kept for comparison.

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


def inversion_factor(n: int, slack: float, method: Literal["reviewed", "sharp"] = "sharp") -> float:
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
        "sharp" (default) or "reviewed".

    Examples
    --------
    >>> round(inversion_factor(10_000, 5e-7, "reviewed"), 9), round(inversion_factor(10_000, 5e-7), 9)
    (6.400003753, 6.178113258)
    """
    n = arguments.whole("n", n, at_least=2, at_most=10**18)
    slack = arguments.probability("slack", slack)
    cells = 2.0 if arguments.choice("method", method, ("reviewed", "sharp")) == "reviewed" else 0.5
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
    drift: LossDrift,
    squares: SquaredEpsilons,
    n: OdometerSize,
    delta: OdometerDelta,
    method: Annotated[Literal["reviewed", "sharp"], "Which `inversion_factor`."] = "sharp",
) -> float:
    """Return `drift + s sqrt(V)` with s solved for instead of bounded, inside the range; outside it as (5.18).

    Derived and reviewed: the same inequality as in `rogers_reading`, inverted exactly at `delta/2`. Two-sided,
    time-uniform. Fails with at most `delta/2 + delta/(4 log2 n)`, like `rogers_reading`. `accounting.InversionOdometer`
    reads it at `printed_delta`, so it reads less at the same delta.

    Examples
    --------
    >>> from holdfast.bounds.filters import loss_drift
    >>> round(inversion_reading(50 * loss_drift(0.1, "paper"), 50 * 0.1**2, 10_000, 1e-6), 9)
    4.631513075
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
    factor = arguments.real("factor", factor, above=0)
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
def zcdp_reading(
    rho: Annotated[Rho, "The sum of the rho_i; a pure round adds `pure_to_zcdp(epsilon)`."],
    n: OdometerSize,
    delta: OdometerDelta,
) -> float:
    """Return the zCDP odometer, `R + sqrt(4 R (log(48 e) + 2 log(log(n)/delta)))` while `1/n^2 <= 2R <= 1`.

    Dissertation Theorem 5.7.5 with `V = 2R`; outside the range (5.18) at `V = 2R`. Corrected: the dissertation derives
    it from a moment bound for all real x that plain zCDP does not give ("zCDP+" as defined does not give it either).
    The upper tail needs `x >= 0` only: (5.17) then counts one sign instead of two, and for (5.18) the
    half-normal mixture over `x >= 0` is, where `M > 0`, at least the Gaussian one. So the printed number holds,
    time-uniform, for plain rho_i-zCDP, as a bound on the loss from above. The lower tail is not stated: for (5.18) we
    have no proof of it.

    Examples
    --------
    >>> round(zcdp_reading(100 * 1e-3, 10_000, 1e-6), 9)
    3.944105916
    """
    return rogers_reading(rho, min(2 * rho, sys.float_info.max), n, delta)


def range_of(n: int) -> int:
    """Check the `n` of a range `[1/n^2, 1]`: the constant of Theorem 5.6.5 is right from 6 on.

    Examples
    --------
    >>> range_of(10_000)
    10000
    """
    return arguments.whole("n", n, at_least=6, at_most=10**18)


def _range(n: int, delta: float) -> tuple[int, float]:
    """The conditions of Theorem 5.6.5: n >= 6 and delta < 1/e."""
    return range_of(n), arguments.real("delta", delta, above=0, below=math.exp(-1))


def _inside(squares: float, n: int) -> bool:
    """Whether V is in `[1/n^2, 1]`; a V that rounding moved out of it by a few units counts as inside."""
    return (1 - 8 * UNIT) / n**2 <= squares <= 1 + 8 * UNIT


def _outside(drift: float, squares: float, n: int, delta: float) -> float:
    """(5.18): the free-offset bound at `x = 1/n^2` and slack `delta/(4 log2 n)`."""
    return rogers_left_side(drift, squares, 1 / n**2, delta / (4 * math.log2(n)))


# --- Odometers --------------------------------------------------------------------------------------------------------

Name = Literal[
    "basic",
    "rogers",
    "inversion",
    "mixture",
    "rruv16",
    "inversion-sharp",
    "free-offset",
    "zcdp",
    "line",
    "stitched",
    "combined",
]


@theorem(
    "odometer.reading",
    statement="the bound on the privacy loss after rounds of epsilon-DP, valid at every moment at once",
    source="Rogers-Roth-Ullman-Vadhan 2016; Rogers' dissertation 5.6; Whitehouse-Ramdas-Rogers-Wu 2023",
    conditions="pure rounds; n >= 6 and delta < 1/e where there is a range; line, stitched and zcdp are one-sided",
    unit="epsilon",
    provenance="mixed",
)
def reading(
    name: Annotated[Name, "The odometer."],
    epsilon: Annotated[Epsilon, "Each round's epsilon."],
    rounds: Annotated[Rounds, "The number of rounds so far."],
    n: OdometerSize,
    delta: OdometerDelta,
    gamma: Annotated[float, Domain("The mixture's constant.", above=0)] = 0.005,
    start: Annotated[float, Domain("Where the stitched boundary begins.", above=0)] = 1e-4,
    target: Annotated[float, Domain("The epsilon near which the line is sharp.", above=0)] = 1.0,
) -> float:
    """Return what the odometer `name` reads after `rounds` rounds of pure epsilon.

    - "basic": the sum; holds surely.
    - "rogers": the dissertation's Theorem 5.6.5 as printed, with its drift; "rruv16": the conference version;
      "free-offset": Lemma 5.6.4 at the first round's `epsilon^2`.
    - "inversion": the same inequality solved exactly, with the tight drift; "inversion-sharp": with the sharper count.
    - "zcdp": the zCDP odometer at `rounds * epsilon tanh(epsilon/2)`.
    - "mixture", "line", "stitched": boundaries with their constants `gamma`, `target`, `start` fixed in advance.
    - "combined": the smallest of basic, inversion-sharp and mixture, the last two at half of delta each. Valid, because
      the failure probabilities add and basic has none; what to report when in doubt, and what
      `accounting.default_odometer` reads. The rounds are pure, so its inversion uses the whole half (`printed_delta`)
      and is read ahead below `V = 1/n^2`.

    The others keep what is printed: "inversion" and "inversion-sharp" leave half of delta for point-wise deltas, as
    "rogers" does, so `accounting.InversionOdometer`, which counts that room apart, reads less at the same delta.

    Any single one of them may exceed the basic reading; `min(reading, basic)` is valid too. Two-sided except "line" and
    "stitched" (pass `delta/2` there for the absolute loss) and "zcdp". All are time-uniform.

    Examples
    --------
    >>> [round(reading(name, 0.01, 1000, 10_000, 1e-6), 4) for name in ("basic", "rogers", "inversion", "mixture")]
    [10.0, 2.7684, 2.0739, 1.8447]
    """
    total = float_up(rounds * decimal_fraction(epsilon))
    if total == 0 or name == "basic":
        return total
    largest = sys.float_info.max
    squares = min(float_up(rounds * decimal_fraction(epsilon) ** 2), largest)
    drift = min(rounds * loss_drift(epsilon), largest)
    printed = min(rounds * loss_drift(epsilon, "paper"), largest)
    offset = min(max(epsilon * epsilon, sys.float_info.min), largest)
    readings: dict[str, Callable[[], float]] = {
        "rogers": lambda: rogers_reading(printed, squares, n, delta),
        "rruv16": lambda: rruv16_reading(printed, squares, n, delta),
        "free-offset": lambda: free_offset_reading(printed, squares, offset, delta / 2),
        "inversion": lambda: inversion_reading(drift, squares, n, delta, "reviewed"),
        "inversion-sharp": lambda: inversion_reading(drift, squares, n, delta, "sharp"),
        "zcdp": lambda: zcdp_reading(drift, n, delta),
        "line": lambda: line_reading(drift, squares, delta, target),
        "mixture": lambda: mixture_reading(drift, squares, delta, gamma),
        "stitched": lambda: stitched_reading(drift, squares, delta, start),
        "combined": lambda: min(
            total,
            inversion_reading(drift, max(squares, 1 / n**2), n, printed_delta(delta / 2, n), "sharp"),
            mixture_reading(drift, squares, delta / 2, gamma),
        ),
    }
    return readings[name]()


__all__ = [
    "DeltaSplit",
    "Name",
    "RenyiReading",
    "delta_split",
    "factor_reading",
    "free_offset_reading",
    "inversion_factor",
    "inversion_reading",
    "lecuyer_reading",
    "line_point",
    "line_reading",
    "mixture_reading",
    "pointwise_drift",
    "printed_delta",
    "range_of",
    "reading",
    "renyi_reading",
    "rogers_reading",
    "rruv16_reading",
    "stitched_reading",
    "zcdp_reading",
]
