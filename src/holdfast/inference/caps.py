"""Caps on what may be run, fixed before the data, so that the steps themselves may be chosen along the way.

A correction is a function of the amounts it charges. If those depend on the answers, the theorem for fixed amounts does
not apply; if the caps are charged from the start and every step must still fit, it does. Each kind of cost has its cap:

- bits: the alphabets of the looks multiply to at most `2**bits` on every path, as `transfer.interleaved` asks;
- pure and approximate privacy: sums of epsilon and of delta, which is the basic filter (Rogers, Roth, Ullman and Vadhan
  2016);
- zCDP and GDP: sums of rho and of mu squared (Feldman and Zrnic 2021; Smith and Thakurta 2022).

The kinds may be interleaved. The loss of a transcript is the sum of the losses of its kinds: the pure part is at most
its cap on every path, and the concentrated part keeps its moment bound given the past, because steps of other kinds
leave it unchanged. So the parts add up as fixed ones do. A Gaussian cap beside caps of other private kinds is read as
zCDP, whose moments this argument needs; alone it keeps its own, tighter conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from holdfast.accounting.costs import GDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.bounds.exact import decimal_fraction, float_up
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference.spent import Entry, spell, supported


def check_caps(caps: Any) -> tuple[Cost, ...]:
    """Return the caps: at most one of each kind."""
    if isinstance(caps, Cost):
        caps = (caps,)
    if isinstance(caps, (str, bytes)) or not isinstance(caps, Sequence) or not caps:
        raise InvalidParameter(f"caps must be a list of costs, one of each kind, got a {type(caps).__name__}")
    found = tuple(supported(cap) for cap in caps)
    kinds = [cap.kind for cap in found]
    if len(set(kinds)) < len(kinds):
        raise InvalidParameter(f"caps must have at most one cost of each kind, got {', '.join(kinds)}")
    return found


def charged(caps: Sequence[Cost]) -> tuple[Entry, ...]:
    """What is charged from the start: the caps, a Gaussian one as zCDP where it is mixed with other private kinds.

    Examples
    --------
    >>> [spell(entry.cost) for entry in charged([GDP(0.2), PureDP(0.1)])]
    ['zcdp:0.02', 'pure-dp:0.1']
    """
    mixed = sum(not isinstance(cap, Bits) for cap in caps) > 1
    as_zcdp = [ZCDP(float_up(decimal_fraction(c.mu) ** 2 / 2)) if mixed and isinstance(c, GDP) else c for c in caps]
    return tuple(Entry(cap) for cap in as_zcdp)


def require_room(caps: Sequence[Cost], entries: Sequence[Entry], cost: Cost) -> None:
    """Refuse a step whose kind has no cap, or that does not fit with those before it; exact in decimals.

    Examples
    --------
    >>> require_room([Bits(3)], [Entry(Bits(2))], Bits(1))
    >>> require_room([Bits(3)], [Entry(Bits(2))], Bits(1.5))
    Traceback (most recent call last):
        ...
    holdfast.errors.BudgetExhausted: bits:1.5 does not fit under the cap bits:3 after what was recorded
    """
    cap = next((cap for cap in caps if cap.kind == cost.kind), None)
    if cap is None:
        allowed = ", ".join(spell(cap) for cap in caps)
        raise BudgetExhausted(f"there is no cap for {spell(cost)}; the caps are {allowed}")
    used = [entry.cost for entry in entries if entry.cost.kind == cost.kind] + [cost]
    totals = [sum(column, Fraction(0)) for column in zip(*map(_amounts, used), strict=True)]
    if any(total > limit for total, limit in zip(totals, _amounts(cap), strict=True)):
        raise BudgetExhausted(f"{spell(cost)} does not fit under the cap {spell(cap)} after what was recorded")


def _amounts(cost: Cost) -> tuple[Fraction, ...]:
    """What adds up: mu by its square."""
    match cost:
        case PureDP(epsilon):
            return (decimal_fraction(epsilon),)
        case ApproxDP(epsilon, delta) | PointwiseDP(epsilon, delta):
            return decimal_fraction(epsilon), decimal_fraction(delta)
        case ZCDP(rho):
            return (decimal_fraction(rho),)
        case GDP(mu):
            return (decimal_fraction(mu) ** 2,)
        case Bits(bits):
            return (decimal_fraction(bits),)
    raise InvalidParameter(f"a {type(cost).__name__} has no cap")


__all__ = ["charged", "check_caps", "require_room"]
