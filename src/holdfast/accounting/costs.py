"""Costs: what a mechanism promises for one answer. How costs add up is the work of filters and odometers.

All privacy costs are for neighbours that replace one of `n` rows, `n` public. A mechanism certified under
add/remove neighbours must be converted first.

A float is the decimal that it prints as; any other number, such as a `Fraction`, is rounded up to one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, Self

from holdfast.bounds.numerics.exact import float_down, float_up, up
from holdfast.core import arguments
from holdfast.errors import InvalidParameter


def spent(name: str, value: Any) -> float:
    """Return a cost's amount, at least 0; a float stays, any other number is rounded up.

    Examples
    --------
    >>> from fractions import Fraction
    >>> Fraction(repr(spent("epsilon", Fraction(1, 3)))) > Fraction(1, 3), spent("epsilon", Fraction(1, 10))
    (True, 0.1)
    """
    number = arguments.real(name, value, at_least=0)
    return number if type(value) is float else arguments.real(name, _rounded(number, value, float_up), at_least=0)


def spent_delta(name: str, value: Any) -> float:
    """Return a cost's delta, in [0, 1); a float stays, any other number is rounded up.

    Examples
    --------
    >>> spent_delta("delta", 0)
    0.0
    """
    return arguments.probability(
        name, _rounded(arguments.probability(name, value, zero=True), value, float_up), zero=True
    )


def budget(name: str, value: Any, *, above: float | None = None) -> float:
    """Return a budget, at least 0 or above `above`; a float stays, any other number is rounded down.

    Examples
    --------
    >>> from fractions import Fraction
    >>> Fraction(repr(budget("epsilon", Fraction(2, 3)))) < Fraction(2, 3)
    True
    """
    low = 0 if above is None else None
    number = arguments.real(name, value, above=above, at_least=low)
    return arguments.real(name, _rounded(number, value, float_down), above=above, at_least=low)


def budget_delta(name: str, value: Any, *, zero: bool = False, below: float = 1) -> float:
    """Return a budget's delta, in (0, `below`); a float stays, any other number is rounded down.

    Examples
    --------
    >>> budget_delta("delta", 1e-6)
    1e-06
    """
    low, least = (None, 0) if zero else (0, None)
    number = arguments.real(name, value, above=low, at_least=least, below=below)
    return arguments.real(name, _rounded(number, value, float_down), above=low, at_least=least, below=below)


def orders_of(values: Any) -> tuple[float, ...]:
    """Return a grid of Renyi orders: above 1, strictly increasing.

    Examples
    --------
    >>> orders_of([2, 3.5])
    (2.0, 3.5)
    """
    orders = arguments.reals("orders", values, above=1)
    if any(b <= a for a, b in pairwise(orders)):
        raise InvalidParameter("orders must be strictly increasing numbers")
    return orders


def flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False.

    Examples
    --------
    >>> flag("two_sided", True)
    True
    """
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} must be True or False, got {value!r}")
    return value


def _rounded(number: float, value: Any, rounding: Callable[[Fraction], float]) -> float:
    if isinstance(value, float):
        return number
    exact = Fraction(int(value)) if isinstance(value, Integral) else Fraction(*value.as_integer_ratio())
    return number if Fraction(number) == exact else rounding(exact)


@dataclass(frozen=True)
class Cost:
    """The privacy cost of one answer: the base class of all kinds of cost. Costs cannot be changed and can be compared,
    and `to_dict()` is exact.
    """

    kind: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"kind": self.kind} | {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @property
    def is_zero(self) -> bool:
        """Whether all amounts of this cost are 0. The Renyi orders of a cost are not amounts."""
        values = (getattr(self, f.name) for f in fields(self) if f.name != "orders")
        return all(not any(v) if isinstance(v, tuple) else v == 0 for v in values)

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> Cost:
        """Make a cost from the plain data that `to_dict()` returned.

        Examples
        --------
        >>> Cost.from_dict({"kind": "zcdp", "rho": 0.1})
        ZCDP(rho=0.1)
        """
        kinds = {cls.kind: cls for cls in (PureDP, PointwiseDP, ApproxDP, ZCDP, GDP, RDP, Bits)}
        if not isinstance(plain, dict):
            raise InvalidParameter(
                f"a stored cost must be a dict as to_dict() returns it, got a {type(plain).__name__}"
            )
        arguments.choice("kind", plain.get("kind"), kinds)
        values = {k: v for k, v in plain.items() if k != "kind"}
        try:
            return kinds[plain["kind"]](**values)
        except TypeError:
            raise InvalidParameter(f"a stored {plain['kind']} cost has wrong fields: {', '.join(values)}") from None


@dataclass(frozen=True)
class PureDP(Cost):
    """A cost in pure differential privacy, with the given `epsilon`.

    Examples
    --------
    >>> PureDP(0.1)
    PureDP(epsilon=0.1)
    >>> PureDP(-1)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: epsilon must be a number in [0, inf), got -1
    """

    epsilon: float
    kind: ClassVar[str] = "pure-dp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", spent("epsilon", self.epsilon))


@dataclass(frozen=True)
class ApproxDP(Cost):
    """A cost in `(epsilon, delta)`-differential privacy. Filters accept it. Odometers need `PointwiseDP` instead.

    Examples
    --------
    >>> ApproxDP(0.5, 1e-6)
    ApproxDP(epsilon=0.5, delta=1e-06)
    >>> ApproxDP(0.5, 1e-6).to_dict()
    {'kind': 'approx-dp', 'epsilon': 0.5, 'delta': 1e-06}
    """

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approx-dp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", spent("epsilon", self.epsilon))
        object.__setattr__(self, "delta", spent_delta("delta", self.delta))


@dataclass(frozen=True)
class PointwiseDP(Cost):
    """A cost that bounds the privacy loss itself: for each of two neighbouring data sets, the loss lies outside
    `[-epsilon, epsilon]` with probability at most `delta`.

    This is stronger than `ApproxDP`. An odometer needs it, because an odometer bounds the privacy loss itself.

    Examples
    --------
    >>> PointwiseDP(0.5, 1e-6)
    PointwiseDP(epsilon=0.5, delta=1e-06)
    """

    epsilon: float
    delta: float
    kind: ClassVar[str] = "pointwise-dp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", spent("epsilon", self.epsilon))
        object.__setattr__(self, "delta", spent_delta("delta", self.delta))


@dataclass(frozen=True)
class ZCDP(Cost):
    """A cost in `rho`-zero-concentrated differential privacy (zCDP).

    Examples
    --------
    >>> from holdfast.accounting import ZCDPFilter
    >>> budget = ZCDPFilter(0.5)
    >>> budget.spend(ZCDP(0.2))
    >>> budget.admits(ZCDP(0.4))
    False
    """

    rho: float
    kind: ClassVar[str] = "zcdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", spent("rho", self.rho))


@dataclass(frozen=True)
class GDP(Cost):
    """A cost in `mu`-Gaussian differential privacy (GDP).

    Examples
    --------
    >>> GDP(0.3)
    GDP(mu=0.3)
    >>> GDP(0.3).to_dict()
    {'kind': 'gdp', 'mu': 0.3}
    """

    mu: float
    kind: ClassVar[str] = "gdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", spent("mu", self.mu))


@dataclass(frozen=True)
class RDP(Cost):
    """A cost in Rényi differential privacy (RDP) at several orders: at order `orders[i]` the divergence is at most
    `epsilons[i]` nats.

    Examples
    --------
    >>> RDP((2, 4), (0.1, 0.2))
    RDP(orders=(2.0, 4.0), epsilons=(0.1, 0.2))
    """

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]
    kind: ClassVar[str] = "rdp"

    def __post_init__(self) -> None:
        orders = orders_of(self.orders)
        given = arguments.reals("epsilons", self.epsilons, at_least=0)
        epsilons = tuple(spent(f"epsilons[{i}]", self.epsilons[i]) for i in range(len(given)))
        if len(orders) != len(epsilons):
            raise InvalidParameter(
                f"orders and epsilons must have the same length, got {len(orders)} and {len(epsilons)}"
            )
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "epsilons", epsilons)


@dataclass(frozen=True)
class Bits(Cost):
    """A cost as a description length: the answer is one of at most `2**bits` values, where errors and refusals count as
    values.

    The cost can also be the length of the answer in a prefix-free code that the earlier answers determine. By Kraft's
    inequality, at most `2**b` transcripts have lengths that add up to at most `b`, so such lengths add up in the same
    way. The length depends on the answer, so a filter must admit the longest one before the answer is known.

    Examples
    --------
    >>> Bits(3)
    Bits(bits=3.0)
    """

    bits: float
    kind: ClassVar[str] = "bits"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", spent("bits", self.bits))

    @classmethod
    def of_values(cls, count: int) -> Self:
        """Return the cost of an answer that takes one of `count` values: `log2(count)`, rounded up.

        Examples
        --------
        >>> Bits.of_values(8), Bits.of_values(3).bits > math.log2(3)
        (Bits(bits=3.0), True)
        """
        count = arguments.whole("count", count, at_least=1)
        whole = (count - 1).bit_length()
        return cls(float(whole) if count == 1 << whole else up(math.log2(count)))
