"""Composition with parameters fixed in advance: closed forms, and the notions that simply add.

The mechanisms may be chosen adaptively; their parameters may not. Where the analyst chooses parameters as she goes,
these numbers are wrong (an advanced composition read as an odometer failed in 14% of runs at a nominal 5%): use
`filters` and `odometers` there. The optimal bounds are in `composition_optimal`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.conversions import DP, pure_to_zcdp
from holdfast.bounds.numerics.exact import UNIT, decimal_fraction, decimal_sum, float_up, total, up
from holdfast.bounds.numerics.privacy_loss import Loss, exact_loss, lattice_loss, tilt_for_delta, tilt_for_epsilon
from holdfast.bounds.parameters import (
    Delta,
    Deltas,
    DeltaSlack,
    DeltaTotal,
    Domain,
    Epsilon,
    Epsilons,
    EpsilonTotal,
    Rounds,
)
from holdfast.bounds.registry import theorem
from holdfast.bounds.zcdp import zcdp_to_dp
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Composition ------------------------------------------------------------------------------------------------------

Form = Literal["best", "paper"]


@theorem(
    "composition.basic",
    statement="mechanisms with (epsilon_i, delta_i) compose to (sum of epsilon_i, sum of delta_i)",
    source="Dwork-Kenthapadi-McSherry-Mironov-Naor 2006; Dwork-Roth 2014 Theorem 3.16",
    conditions="parameters fixed in advance; also sound as a filter; as an odometer only for point-wise delta_i",
    unit="epsilon",
)
def basic(
    epsilons: Annotated[Epsilons, "The epsilon of each mechanism, read as a decimal and added exactly."],
    deltas: Deltas | None = None,
) -> DP:
    """Add epsilons and deltas.

    Two-sided. Holds for adaptive parameters too where the totals are capped in advance (a filter); with pure mechanisms
    it holds at every time (an odometer).

    Returns
    -------
    DP
        The pair, delta capped at 1.

    Examples
    --------
    >>> basic([0.1, 0.2, 0.3], [0, 1e-6, 1e-6])
    DP(epsilon=0.6, delta=2e-06)
    """
    epsilons, deltas = paired(epsilons, deltas)
    return DP(float_up(decimal_sum(epsilons)), min(1.0, float_up(decimal_sum(deltas))))


@theorem(
    "composition.advanced",
    statement="rounds mechanisms, each (epsilon, delta)-DP, compose to this epsilon at the cost of delta_slack",
    source="Dwork-Rothblum-Vadhan 2010 Theorem III.3 (printed); Kairouz-Oh-Viswanath 2015 Theorem 3.5 (default)",
    conditions="parameters fixed in advance; neither a filter nor an odometer; total delta in the details",
    unit="epsilon",
    provenance="mixed",
)
def advanced(
    epsilon: Annotated[Epsilon, "Each mechanism's epsilon."],
    rounds: Rounds,
    delta_slack: DeltaSlack,
    delta: Annotated[Delta, "Each mechanism's delta."] = 0.0,
    method: Form = "best",
) -> DP:
    """Compose `rounds` mechanisms with equal parameters.

    - "best": the smallest of `k epsilon`, `m + sqrt(2 V log(e + sqrt(V)/s))` and `m + sqrt(2 V log(1/s))` with
      `m = k epsilon tanh(epsilon/2)`, `V = k epsilon^2`, `s = delta_slack`; delta `1 - (1-s)(1-delta)^k`.
    - "paper": `k epsilon (e^epsilon - 1) + epsilon sqrt(2 k log(1/s))`; delta `k delta + s`.

    Two-sided. Not time-uniform. The deltas may be those of ordinary (epsilon, delta)-DP. Why the second form of "best"
    holds: the loss is sub-Gaussian around at most `m` with variance `V`, so delta at `m + a` is at most
    `e^(-a^2/2V) / (1 + a/V)`, and at `a = sqrt(2 V l)`, `l = log(e + sqrt(V)/s)`, that is at most `s / sqrt(2 l) < s`.

    Returns
    -------
    DP
        Epsilon and the total delta, both rounded up.

    Examples
    --------
    >>> advanced(0.1, 100, 1e-6).epsilon < advanced(0.1, 100, 1e-6, method="paper").epsilon
    True
    >>> round(advanced(0.1, 100, 1e-6, method="paper").epsilon, 9)
    6.308230951
    """
    if method == "paper":
        drift = rounds * epsilon * math.expm1(epsilon) if epsilon < 700 else math.inf
        spread = epsilon * math.sqrt(-2 * rounds * math.log(delta_slack))
        return DP(up(drift + spread), min(1.0, up(rounds * delta + delta_slack)))
    drift = rounds * pure_to_zcdp(epsilon)
    summed = float_up(rounds * decimal_fraction(epsilon))
    return DP(
        _closed_form(summed, drift, rounds * epsilon * epsilon, delta_slack), _joint([delta], delta_slack, rounds)
    )


@theorem(
    "composition.advanced-heterogeneous",
    statement="mechanisms with (epsilon_i, delta_i) compose to this epsilon at the cost of delta_slack",
    source="Kairouz-Oh-Viswanath 2015 Theorem 3.5 (default); Rogers' dissertation Theorem 2.1.5 (printed)",
    conditions="parameters fixed in advance; neither a filter nor an odometer; total delta in the details",
    unit="epsilon",
)
def advanced_heterogeneous(
    epsilons: Epsilons, delta_slack: DeltaSlack, deltas: Deltas | None = None, method: Form = "best"
) -> DP:
    """Compose mechanisms with different parameters by the closed forms of Kairouz, Oh and Viswanath.

    - "best": their Theorem 3.5, the smallest of the three forms described at `advanced`, with
      `m = sum epsilon_i tanh(epsilon_i/2)` and `V = sum epsilon_i^2`.
    - "paper": `m + sqrt(2 V log(1/delta_slack))` alone, as the dissertation prints it.

    The total delta is `1 - (1 - delta_slack) prod(1 - delta_i)`. Two-sided, not time-uniform, ordinary deltas.

    Examples
    --------
    >>> round(advanced_heterogeneous([0.01] * 30, 1e-2).epsilon, 10)
    0.1138455115
    """
    epsilons, deltas = paired(epsilons, deltas)
    drift = total(map(pure_to_zcdp, epsilons))
    variance = total(e * e for e in epsilons)
    delta = _joint(deltas, delta_slack)
    if method == "paper":
        return DP(up(drift + math.sqrt(-2 * variance * math.log(delta_slack))), delta)
    return DP(_closed_form(float_up(decimal_sum(epsilons)), drift, variance, delta_slack), delta)


@theorem(
    "composition.zcdp",
    statement="mechanisms that are rho_i-zCDP compose to (sum of rho_i)-zCDP",
    source="Bun-Steinke 2016 Lemma 1.7",
    conditions="as a filter also for adaptively chosen rho_i under a cap fixed in advance (Feldman-Zrnic 2021)",
    unit="rho",
)
def zcdp(
    rhos: Annotated[Sequence[float], Domain("The rho of each mechanism.", at_least=0, typical=(0.0, 0.0))],
) -> float:
    """Add the rhos of zCDP mechanisms, exactly, and round up.

    Two-sided (every order, both directions); fixed parameters, or adaptive ones under a filter's cap.

    Examples
    --------
    >>> zcdp([0.1, 0.2])
    0.3
    """
    return float_up(decimal_sum(rhos))


@theorem(
    "composition.gdp",
    statement="mechanisms that are mu_i-GDP compose to sqrt(sum of mu_i^2)-GDP",
    source="Dong-Roth-Su 2022 Corollary 3.3",
    conditions="as a filter also for adaptively chosen mu_i under a cap fixed in advance",
    unit="mu",
)
def gdp(mus: Annotated[Sequence[float], Domain("The mu of each mechanism.", at_least=0, typical=(0.3, 0.4))]) -> float:
    """Compose Gaussian differential privacy: the root of the sum of squares, rounded up.

    Two-sided; fixed parameters, or adaptive ones under a filter's cap.

    Examples
    --------
    >>> round(gdp([0.3, 0.4]), 12)
    0.5
    """
    return up(math.hypot(*mus))


def rdp(curves: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Add Renyi curves order by order, each sum rounded up (Mironov 2017 Proposition 1).

    All curves list their divergences, in nats, at the same orders. Two-sided; fixed parameters. At one order fixed in
    advance the sum is also a filter (Feldman-Zrnic 2021); at several, see `filters.renyi_curve_left_side`.

    Parameters
    ----------
    curves : sequence of sequences of float
        One curve a mechanism.

    Examples
    --------
    >>> rdp([[0.1, 0.2], [0.2, 0.4]])
    (0.3, 0.6)
    """
    if isinstance(curves, str) or not isinstance(curves, Sequence) or len(curves) == 0:
        raise InvalidParameter("curves must be a list of at least one curve")
    rows = [arguments.reals(f"curves[{i}]", curve, at_least=0) for i, curve in enumerate(curves)]
    if len({len(row) for row in rows}) > 1:
        raise InvalidParameter("curves must all have the same length: one divergence per order")
    return tuple(float_up(decimal_sum(column)) for column in zip(*rows, strict=True))


def paired(epsilons: Sequence[float], deltas: Sequence[float] | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Check a list of epsilons and a list of deltas, one each a mechanism; no deltas means zeros."""
    clean = arguments.reals("epsilons", epsilons, at_least=0)
    if deltas is None:
        return clean, (0.0,) * len(clean)
    clean_deltas = arguments.reals("deltas", deltas, at_least=0, below=1)
    if len(clean_deltas) != len(clean):
        raise InvalidParameter(
            f"epsilons and deltas must have the same length, got {len(clean)} and {len(clean_deltas)}"
        )
    return clean, clean_deltas


def _closed_form(summed: float, drift: float, variance: float, slack: float) -> float:
    """The smallest of the three forms of Kairouz, Oh and Viswanath's Theorem 3.5."""
    log_term = min(-math.log(slack), math.log(math.e + math.sqrt(variance) / slack))
    return min(summed, up(drift + math.sqrt(2 * variance * log_term), 8))


def _joint(deltas: Sequence[float], slack: float, times: int = 1) -> float:
    """`1 - (1 - slack) prod(1 - delta_i)^times`, rounded up."""
    terms = [math.log1p(-slack), *(times * math.log1p(-d) for d in deltas)]
    return min(1.0, up(-math.expm1(math.fsum(terms) * (1 + 8 * UNIT)), 8))


# --- Composition optimal ----------------------------------------------------------------------------------------------
# Optimal composition: the smallest epsilon that (epsilon_i, delta_i) fixed in advance can guarantee.
#
# Kairouz, Oh and Viswanath solved it for equal parameters, Murtagh and Vadhan for different ones. Both are the
# hockey-stick divergence of composed randomized responses. Different parameters make the exact number hard to compute,
# so beyond two million atoms the loss is put on a lattice that overstates it, and the result says by how much it may be
# too large.


@dataclass(frozen=True)
class OptimalEpsilon:
    """The optimal epsilon, never too small: the exact number lies in `[value - slack, value]`."""

    value: float
    slack: float
    exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return asdict(self)


@theorem(
    "composition.optimal",
    statement="the smallest epsilon that rounds mechanisms, each (epsilon, delta)-DP, guarantee at delta_total",
    source="Kairouz-Oh-Viswanath 2015 Theorem 3.3",
    conditions="parameters fixed in advance; neither a filter nor an odometer; inf if delta_total cannot cover delta",
    unit="epsilon",
)
def optimal(
    epsilon: Annotated[Epsilon, Domain("Each mechanism's epsilon.", at_most=1e6)],
    delta: Annotated[Delta, "Each mechanism's delta."],
    rounds: Annotated[Rounds, Domain(at_most=10**9)],
    delta_total: DeltaTotal,
) -> float:
    """Compose `rounds` mechanisms with equal parameters optimally.

    The smallest `g` in `[0, rounds * epsilon]` with `1 - (1-delta)^k (1 - d(g)) <= delta_total`, where
    `d(g) = sum over j of P[J = j] (1 - e^(g - (2j-k) epsilon))_+` and J is binomial with k trials and success
    probability `e^epsilon/(1+e^epsilon)`. No smaller number holds for every choice of mechanisms.

    Two-sided, not time-uniform, ordinary deltas.

    Returns
    -------
    float
        Epsilon, rounded up; `inf` if `1 - (1-delta)^k > delta_total`.

    Notes
    -----
    Time and memory grow with the square root of `rounds`: about 20 milliseconds for 100,000 rounds.

    Examples
    --------
    >>> round(optimal(0.1, 0.0, 30, 1e-6), 9)
    2.345887693
    """
    left = _left_over(delta_total, rounds * math.log1p(-delta))
    top = float_up(rounds * decimal_fraction(epsilon))
    if left < 0:
        return math.inf
    if left == 0 or top == 0:
        return top
    loss = exact_loss_of_equal(epsilon, rounds)
    return _smallest(loss.log_delta, math.log(left), top)


@theorem(
    "composition.optimal-delta",
    statement="the smallest delta that rounds mechanisms, each (epsilon, delta)-DP, guarantee at epsilon_total",
    source="Kairouz-Oh-Viswanath 2015 Theorem 3.3",
    conditions="parameters fixed in advance; neither a filter nor an odometer",
    unit="probability",
)
def optimal_delta(
    epsilon: Annotated[Epsilon, Domain("Each mechanism's epsilon.", at_most=1e6)],
    rounds: Annotated[Rounds, Domain(at_most=10**9)],
    epsilon_total: EpsilonTotal,
    delta: Annotated[Delta, "Each mechanism's delta."] = 0.0,
) -> float:
    """Return the delta of the optimal composition at `epsilon_total`; see `optimal`.

    Examples
    --------
    >>> round(optimal_delta(0.1, 100, 2.0), 11)
    0.02014017843
    """
    loss = exact_loss_of_equal(epsilon, rounds)
    return _joined(loss, epsilon_total, float_up(rounds * decimal_fraction(epsilon)), rounds * math.log1p(-delta))


@theorem(
    "composition.heterogeneous",
    statement="the smallest epsilon that mechanisms with (epsilon_i, delta_i) guarantee at delta_total",
    source="Murtagh-Vadhan 2016 Theorem 1.5",
    conditions="parameters fixed in advance; neither a filter nor an odometer; at most `slack` too large",
    unit="epsilon",
    provenance="mixed",
)
def heterogeneous(
    epsilons: Annotated[Epsilons, Domain(at_most=1e6)], delta_total: DeltaTotal, deltas: Deltas | None = None
) -> OptimalEpsilon:
    """Compose mechanisms with different parameters optimally.

    The smallest `g` with `E (1 - e^(g - L))_+ <= 1 - (1 - delta_total)/prod(1 - delta_i)`, where L sums independent
    losses of randomized response. Exact while the loss has at most two million atoms: any 20 mechanisms, or many with
    few different epsilons. Beyond that the loss is discretised upwards (`privacy_loss.lattice_loss`), so the answer is
    still an upper bound, and `slack` bounds its distance from the optimum by the same computation rounded downwards.

    Two-sided, not time-uniform, ordinary deltas.

    Returns
    -------
    OptimalEpsilon
        `value`, `slack` and whether the number is `exact`.

    Notes
    -----
    The theorem is printed; the lattice and its error bounds are derived. At most about a second.

    Examples
    --------
    >>> round(heterogeneous([0.1, 0.2, 0.3, 0.05, 0.15], 1e-3, [1e-8] * 5).value, 10)
    0.7778617648
    """
    epsilons, deltas = paired(epsilons, deltas)
    left = _left_over(delta_total, math.fsum(math.log1p(-d) for d in deltas))
    top = float_up(decimal_sum(epsilons))
    if left < 0:
        return OptimalEpsilon(math.inf, 0.0, True)
    if left == 0 or top == 0:
        return OptimalEpsilon(top, 0.0, True)
    counts = Counter(epsilons)
    loss = exact_loss(counts)
    if loss is not None:
        return OptimalEpsilon(_smallest(loss.log_delta, math.log(left), top), 0.0, True)
    tilt = tilt_for_delta(counts, left)
    value = _smallest(lattice_loss(counts, tilt, upper=True).log_delta, math.log(left), top)
    value = min(value, zcdp_to_dp(math.fsum(map(pure_to_zcdp, epsilons)), left))
    low = _reached(lattice_loss(counts, tilt, upper=False).log_delta, math.log(left), value)
    return OptimalEpsilon(value, up(value - low), False)


@theorem(
    "composition.heterogeneous-delta",
    statement="the smallest delta that mechanisms with (epsilon_i, delta_i) guarantee at epsilon_total",
    source="Murtagh-Vadhan 2016 Theorem 1.5",
    conditions="parameters fixed in advance; neither a filter nor an odometer",
    unit="probability",
    provenance="mixed",
)
def heterogeneous_delta(
    epsilons: Annotated[Epsilons, Domain(at_most=1e6)], epsilon_total: EpsilonTotal, deltas: Deltas | None = None
) -> float:
    """Return the delta of the optimal composition at `epsilon_total`; see `heterogeneous`. Never too small.

    Examples
    --------
    >>> round(heterogeneous_delta([0.2] * 20, 1.5, [1e-7] * 20), 11)
    0.03330102491
    """
    epsilons, deltas = paired(epsilons, deltas)
    counts = Counter(epsilons)
    loss = exact_loss(counts) or lattice_loss(counts, tilt_for_epsilon(counts, epsilon_total), upper=True)
    top = float_up(decimal_sum(epsilons))
    return _joined(loss, epsilon_total, top, math.fsum(math.log1p(-d) for d in deltas))


def exact_loss_of_equal(epsilon: float, rounds: int) -> Loss:
    """Return the loss of `rounds` equal randomized responses; its atoms always fit."""
    loss = exact_loss(Counter({epsilon: rounds}))
    assert loss is not None
    return loss


def _left_over(delta_total: float, log_kept: float) -> float:
    """`1 - (1 - delta_total) / prod(1 - delta_i)`, rounded down: what is left for the losses."""
    if log_kept == 0:
        return delta_total
    exponent = math.log1p(-delta_total) - log_kept
    exponent += 8 * UNIT * (abs(math.log1p(-delta_total)) + abs(log_kept))
    return -math.expm1(exponent) * (1 - 8 * UNIT) if exponent <= 0 else -1.0


def _joined(loss: Loss, epsilon_total: float, top: float, log_kept: float) -> float:
    """`1 - prod(1 - delta_i) (1 - d)`, rounded up."""
    d = math.exp(loss.log_delta(epsilon_total)) if epsilon_total < top else 0.0
    if log_kept == 0:
        return min(1.0, up(d))
    return min(1.0, up(-math.expm1(log_kept * (1 + 4 * UNIT) + math.log1p(-min(d, 1.0))) if d < 1 else 1.0, 8))


def _smallest(log_delta: Callable[[float], float], target: float, top: float) -> float:
    """The smallest epsilon in [0, top] whose log-delta is at most `target`, rounded up; `top` always qualifies."""
    from scipy.optimize import brentq

    floor = target - 50.0  # where the loss never reaches, log-delta is -inf; a finite value keeps the root finder going

    def gap(epsilon: float) -> float:
        return max(log_delta(epsilon), floor) - target

    if gap(0.0) <= 0:
        return 0.0
    if gap(top) >= 0:
        return top
    root, step = float(brentq(gap, 0.0, top, xtol=1e-300, rtol=8 * UNIT, maxiter=500)), 2 * UNIT
    while root < top and gap(root) > 0:
        root = math.nextafter(root * (1 + step), math.inf)
        step *= 2
    return min(root, top)


def _reached(log_delta: Callable[[float], float], target: float, value: float) -> float:
    """An epsilon below `value`, as large as can be shown, at which even an understated delta is above the target."""
    low, high, gap = 0.0, value, 1e-9
    while gap < 1:
        if log_delta(value * (1 - gap)) > target:
            low = value * (1 - gap)
            break
        high, gap = value * (1 - gap), 2 * gap
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_delta(middle) > target else (low, middle)
    return low
