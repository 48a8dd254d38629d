"""Coherence of what has already been released, read off its costs: where the audit and the accounting meet.

Every differential-privacy cost in Holdfast is for neighbours that replace one row, which is what the coherence theorems
ask for. Costs of steps that were fixed in advance add up; where they were chosen on the way, a filter's promise counts
and its present position does not.

Looks and private steps may be mixed and interleaved. Fix the string of all looked-at values: with those values wired
in, the private steps are a private computation, and the real run agrees with one of the `K` wired ones. A union over
the strings therefore multiplies the failure probability by `K`: it adds `ln K` to `ln(groups/beta)`, and nothing else
changes. Derived.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.accounting import (
    GDP,
    ZCDP,
    ApproxDP,
    Bits,
    BitsFilter,
    Cost,
    Filter,
    GDPFilter,
    IndividualFilter,
    PointwiseDP,
    PureDP,
    ZCDPFilter,
)
from holdfast.bounds.coherence import MODES, POPULATIONS, GroupSize, Mode, Population, group_size, log_ratio
from holdfast.bounds.coherence import max_information as information
from holdfast.bounds.coherence.group_size import SHARE, size_at, tolerance
from holdfast.bounds.coherence.planning import smallest_alpha
from holdfast.bounds.coherence.release import approx_nats_at, log_delta_max, release_size_at
from holdfast.bounds.conversions import pure_to_zcdp, zcdp_delta
from holdfast.bounds.numerics.exact import decimal_fraction, decimal_sum, digits_up, float_up
from holdfast.bounds.numerics.search import first_at_least, smallest, spaced
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

_LN2 = math.log(2)
_ORDER = "the release does not depend on the order of the rows; they are a uniform half of twice as many people"


@dataclass(frozen=True)
class Spent:
    """The totals of privacy costs, one for each kind of cost. Each total is added exactly and then rounded up.

    Examples
    --------
    >>> from holdfast.accounting import PureDP
    >>> spent = totals([PureDP(0.1), PureDP(0.2)])
    >>> spent.pure, spent.only_pure
    (0.3, True)
    """

    epsilon: float = 0.0
    delta: float = 0.0
    rho: float = 0.0
    bits: float = 0.0
    pure: float = 0.0

    @property
    def private(self) -> bool:
        """Whether any private step has a cost above 0."""
        return self.epsilon > 0 or self.delta > 0 or self.rho > 0 or self.pure > 0

    @property
    def only_pure(self) -> bool:
        """Whether every private step is purely differentially private."""
        return self.delta == 0 and self.rho == 0

    def to_dict(self) -> dict[str, float]:
        """Return plain data. `pure` is the part of the total epsilon that comes from costs without a delta."""
        return {
            "pure_epsilon": self.pure,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "bits": self.bits,
        }


def totals(costs: Iterable[Cost]) -> Spent:
    """Add up privacy costs that were fixed in advance, one total for each kind of cost.

    The kinds are epsilon, delta, rho (a Gaussian cost counts as `mu^2/2`) and bits.

    Examples
    --------
    >>> from holdfast.accounting import GDP, PureDP
    >>> totals([PureDP(0.1), PureDP(0.2), GDP(0.2)])
    Spent(epsilon=0.0, delta=0.0, rho=0.02, bits=0.0, pure=0.3)
    """
    pure: list[float] = []
    epsilons: list[float] = []
    deltas: list[float] = []
    rhos = decimal_fraction(0)
    bits: list[float] = []
    for cost in costs:
        match cost:
            case PureDP(epsilon):
                pure.append(epsilon)
            case ApproxDP(epsilon, delta) | PointwiseDP(epsilon, delta):
                epsilons.append(epsilon)
                deltas.append(delta)
            case ZCDP(rho):
                rhos += decimal_fraction(rho)
            case GDP(mu):
                rhos += decimal_fraction(mu) ** 2 / 2
            case Bits(amount):
                bits.append(amount)
            case _:
                raise InvalidParameter(
                    f"a cost must be PureDP, ApproxDP, ZCDP, GDP or Bits, got a {type(cost).__name__}; "
                    "convert a Renyi curve first"
                )
    return Spent(_sum(epsilons), _sum(deltas), float_up(rhos), _sum(bits), _sum(pure))


def _sum(values: Sequence[float]) -> float:
    return float_up(decimal_sum(values)) if values else 0.0


def promised(budget: Filter | IndividualFilter) -> Spent:
    """Return what a filter guarantees about all answers together, whatever costs were chosen one after the other.

    Examples
    --------
    >>> from holdfast.accounting import ZCDPFilter
    >>> promised(ZCDPFilter(0.01)).rho
    0.01
    """
    if isinstance(budget, IndividualFilter):
        raise GuaranteeUnavailable(
            "an individual filter guarantees privacy for adding or removing a row, but coherence needs privacy for "
            "replacing a row; so nothing is guaranteed about groups"
        )
    stated = budget.guarantee().parameters
    if isinstance(budget, BitsFilter):
        return totals([Bits(stated["bits"])])
    if isinstance(budget, GDPFilter):
        return totals([GDP(budget.mu)])
    if isinstance(budget, ZCDPFilter):
        return totals([ZCDP(budget.rho), ApproxDP(0.0, budget.delta_sum)])
    if "epsilon" in stated and "delta" in stated:
        epsilon, delta = float(stated["epsilon"]), float(stated["delta"])
        return totals([ApproxDP(epsilon, delta) if delta else PureDP(epsilon)])
    raise GuaranteeUnavailable(
        f"the guarantee of the {budget.name} filter has no (epsilon, delta), rho, mu or bits, so nothing follows for "
        "groups"
    )


@dataclass(frozen=True)
class ReleasedCoherence:
    """What privacy costs that were already spent guarantee about groups.

    `size(alpha)` is the smallest group size at which a tolerance is kept, and `alpha(size)` the smallest tolerance that
    is kept at a group size. The size of a group counts its members in the audited data set, which has twice as many
    rows as the release saw.

    Examples
    --------
    >>> from holdfast.accounting import PureDP
    >>> found = released([PureDP(0.02)], rows=500_000, beta=0.01, groups=20)
    >>> found.n, found.size(0.2).rows
    (1000000, 18000)
    """

    spent: Spent
    rows: int
    beta: float
    groups: int
    mode: Mode
    population: Population
    nats: float
    route: str
    assumption: str = field(default=_ORDER)

    @property
    def n(self) -> int:
        """The number of rows of the audited data set: twice the number of rows that the release saw."""
        return 2 * self.rows

    @property
    def log_ratio(self) -> float:
        """The logarithm `ln(groups/beta)`, increased for the number of different reports that the noiseless answers
        could have given.
        """
        return log_ratio(self.beta, self.groups) + self.spent.bits * _LN2

    def size(self, alpha: float) -> GroupSize:
        """Return the smallest group size at which the tolerance `alpha` is kept; `inf` if there is no guarantee."""
        alpha = tolerance(alpha, self.mode)
        if math.isinf(self.nats):
            return GroupSize(math.inf, self.mode, self.n)
        return self._size(alpha, self.mode)

    def _size(self, alpha: float, mode: str) -> GroupSize:
        if not self.spent.private:
            return release_size_at(alpha, self.log_ratio, 0.0, self.n, mode)
        return size_at(alpha, self.log_ratio, self.nats, self.n, mode)

    def alpha(self, size: int) -> float:
        """Return the smallest tolerance that is kept for groups of `size` rows; `inf` if there is none."""
        size = arguments.whole("size", size, at_least=1, at_most=self.n)
        if math.isinf(self.nats):
            return math.inf

        def kept(alpha: float) -> float:
            if self.mode == "sharp":
                spare = 0.0 if not self.spent.private else math.log1p(-SHARE)
                target = spare - self.log_ratio - self.nats
                if target < 0 and group_size.holds_beyond(self.n, size, alpha / 2, target):
                    return 1.0
                return float(self._size(alpha, "corrected").size <= size)
            return float(self._size(alpha, self.mode).size <= size)

        return smallest_alpha(kept, self.mode)

    def words(self, sizes: Sequence[int]) -> list[str]:
        """Return one sentence for each of the given group sizes."""
        sentences = []
        for size in sizes:
            alpha = digits_up(self.alpha(size), 3)
            promise = (
                f"no predictor separates its released half from the other by more than {alpha:.3g} "
                f"({50 * alpha:.3g}% of the group flipped)"
                if alpha < 2
                else "nothing is promised"
            )
            sentences.append(f"A group of {size:,} of {self.n:,} people: {promise}.")
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "spent": self.spent.to_dict(),
            "rows": self.rows,
            "n": self.n,
            "beta": self.beta,
            "groups": self.groups,
            "mode": self.mode,
            "population": self.population,
            "nats": self.nats,
            "route": self.route,
            "assumption": self.assumption,
        }


def released(
    what: Filter | IndividualFilter | Cost | Iterable[Cost],
    rows: int,
    beta: float,
    groups: int,
    mode: Mode = "sharp",
    population: Population = "finite",
) -> ReleasedCoherence:
    """Return what privacy costs that were already spent, or a filter that limited them, guarantee about groups.

    Pure costs are added up and used in Theorem 7. Noiseless answers whose number of bits is known enter by a union
    bound over the possible reports. Costs with a delta, and concentrated costs (rho, mu) after conversion to (epsilon,
    delta), are used in Theorem 8 or, in the modes other than "paper", in Theorem 15 with both of its parameters
    optimised. These theorems need deltas of about 1e-50. Therefore Gaussian noise gives much smaller guarantees here
    than Laplace noise of the same strength.

    Parameters
    ----------
    what : Filter, Cost or list of Cost
        A filter: its promise holds however the costs were chosen. Costs: of steps fixed in advance. A filter that
        states neither (epsilon, delta), rho, mu nor bits for replace-one neighbours raises `GuaranteeUnavailable`.
    rows : int
        Rows that the release saw. The audited data set has twice as many.
    beta : float
        Failure probability, in (0, 1].
    groups : int
        How many groups are judged at once.
    mode : str
        "sharp" (default), "corrected" or "paper".
    population : str
        "finite" (default) or "large"; for pure costs.

    Examples
    --------
    >>> from holdfast.accounting import BasicFilter, PureDP
    >>> found = released([PureDP(0.005)] * 4, rows=500_000, beta=0.01, groups=20)
    >>> found.size(0.2).rows, round(found.alpha(200_000), 4)
    (18000, 0.0608)
    >>> released(BasicFilter(0.02), rows=500_000, beta=0.01, groups=20).size(0.2).rows
    18000
    """
    rows = arguments.whole("rows", rows, at_least=2)
    arguments.choice("mode", mode, MODES)
    arguments.choice("population", population, POPULATIONS)
    lam = log_ratio(beta, groups)
    if isinstance(what, Filter | IndividualFilter):
        spent = promised(what)
    elif isinstance(what, Iterable):
        spent = totals(what)
    elif isinstance(what, Cost):
        spent = totals([what])
    else:
        raise InvalidParameter(f"what must be a filter, a cost or a list of costs, got a {type(what).__name__}")
    lam += spent.bits * _LN2
    nats, route = _nats(spent, lam, 2 * rows, mode, population)
    return ReleasedCoherence(spent, rows, float(beta), int(groups), mode, population, nats, route)


def _nats(spent: Spent, lam: float, n: int, mode: Mode, population: Population) -> tuple[float, str]:
    """Max-information of the private steps at slack `exp(-lam)/2`, and by which theorem."""
    if not spent.private:
        return 0.0, "union over reports"
    if spent.only_pure:
        epsilon = _sum([spent.pure, spent.epsilon])
        if mode != "sharp" and epsilon > 1:
            return math.inf, "Theorem 7 ends at epsilon 1"
        return information.pure_nats(epsilon, n, lam + _LN2, population), "Theorem 7"
    ways = [(spent.pure, spent.rho)]
    if spent.pure and spent.rho:
        ways.append((0.0, float_up(decimal_sum([spent.rho, pure_to_zcdp(spent.pure)]))))
    best = (math.inf, "no theorem covers deltas or concentrated costs of this size")
    for pure, rho in ways:
        given = _sum([pure, spent.epsilon])
        closed = _closed_epsilon(given, spent.delta, rho, lam, n)
        if closed is not None:
            best = min(best, (approx_nats_at(lam, n, closed, mode), "Theorem 8"))
        if mode != "paper" and lam < 600:
            best = min(best, (_free_nats(given, spent.delta, rho, lam, n), "Theorem 15"))
    return best


def _log_delta(rho: float, epsilon: float, delta: float) -> float:
    """`ln` of the delta that comes with converting rho at epsilon, the costs' own added."""
    whole = (zcdp_delta(rho, epsilon) if rho else 0.0) + delta
    return math.log(whole) if whole else -math.inf


def _closed_epsilon(given: float, delta: float, rho: float, lam: float, n: int) -> float | None:
    """The smallest total epsilon whose delta Theorem 8 accepts; None if there is none up to one half."""

    def accepted(extra: float) -> float:
        whole = given + extra
        if whole <= 0:
            return 0.0
        return float(_log_delta(rho, extra, delta) <= log_delta_max(lam, n, whole))

    room = 0.5 - given
    if room < 0 or not accepted(room):
        return None
    return given + first_at_least(accepted, 1.0, 0.0 if not rho else 1e-300, room)


def _free_nats(given: float, delta: float, rho: float, lam: float, n: int) -> float:
    eta = math.exp(-lam - _LN2)

    def at(log_extra: float) -> float:
        extra = math.exp(log_extra) if rho else 0.0
        whole, log_delta = given + extra, _log_delta(rho, extra, delta)
        if not 0 < whole <= 0.5 or log_delta >= math.log(whole):
            return math.inf
        return information.optimised(whole, math.exp(max(log_delta, -700.0)), n // 2, eta).nats

    if not rho:
        return at(0.0)
    return smallest(at, spaced(math.log(1e-9), math.log(0.5), 41))[1]


__all__ = ["ReleasedCoherence", "Spent", "promised", "released", "totals"]
