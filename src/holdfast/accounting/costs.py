"""What an answer spends. A cost says what a mechanism promises, not how promises add up: that is the filters' work.

All privacy costs are for neighbours that replace one of `n` rows, `n` public. A mechanism certified under
add/remove neighbours must be converted first.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from holdfast import check
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Cost:
    """Base of all costs; frozen, comparable, and exact in its `to_dict()` form."""

    kind: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back exactly."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"kind": self.kind} | {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @property
    def is_zero(self) -> bool:
        """Whether nothing is spent: every amount is 0. Orders are not amounts."""
        values = (getattr(self, f.name) for f in fields(self) if f.name != "orders")
        return all(not any(v) if isinstance(v, tuple) else v == 0 for v in values)

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> Cost:
        """Read a cost back from `to_dict()`.

        Examples
        --------
        >>> Cost.from_dict({"kind": "zcdp", "rho": 0.1})
        ZCDP(rho=0.1)
        """
        kinds = {cls.kind: cls for cls in (PureDP, PointwiseDP, ApproxDP, ZCDP, GDP, RDP, Bits)}
        if not isinstance(plain, dict):
            raise InvalidParameter(f"a stored cost must be a dict, got a {type(plain).__name__}")
        check.choice("kind", plain.get("kind"), kinds)
        values = {k: v for k, v in plain.items() if k != "kind"}
        try:
            return kinds[plain["kind"]](**values)
        except TypeError:
            raise InvalidParameter(f"a stored {plain['kind']} cost has wrong fields: {', '.join(values)}") from None


@dataclass(frozen=True)
class PureDP(Cost):
    """`epsilon`-differential privacy."""

    epsilon: float
    kind: ClassVar[str] = "pure-dp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check.real("epsilon", self.epsilon, at_least=0))


@dataclass(frozen=True)
class ApproxDP(Cost):
    """`(epsilon, delta)`-differential privacy. Fine for filters; odometers need `PointwiseDP`."""

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approx-dp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check.real("epsilon", self.epsilon, at_least=0))
        object.__setattr__(self, "delta", check.probability("delta", self.delta, zero=True))


@dataclass(frozen=True)
class PointwiseDP(Cost):
    """On either neighbour, the privacy loss leaves `[-epsilon, epsilon]` with probability at most `delta`.

    Stronger than `ApproxDP`, and what an odometer needs, since it bounds the loss itself.
    """

    epsilon: float
    delta: float
    kind: ClassVar[str] = "pointwise-dp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check.real("epsilon", self.epsilon, at_least=0))
        object.__setattr__(self, "delta", check.probability("delta", self.delta, zero=True))


@dataclass(frozen=True)
class ZCDP(Cost):
    """`rho`-zero-concentrated differential privacy."""

    rho: float
    kind: ClassVar[str] = "zcdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", check.real("rho", self.rho, at_least=0))


@dataclass(frozen=True)
class GDP(Cost):
    """`mu`-Gaussian differential privacy."""

    mu: float
    kind: ClassVar[str] = "gdp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", check.real("mu", self.mu, at_least=0))


@dataclass(frozen=True)
class RDP(Cost):
    """A Rényi curve: at order `orders[i]` the divergence is at most `epsilons[i]` (nats)."""

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]
    kind: ClassVar[str] = "rdp"

    def __post_init__(self) -> None:
        orders = check.reals("orders", self.orders, above=1)
        if any(b <= a for a, b in itertools.pairwise(orders)):
            raise InvalidParameter("orders must increase strictly")
        epsilons = check.reals("epsilons", self.epsilons, at_least=0)
        if len(orders) != len(epsilons):
            raise InvalidParameter(f"orders and epsilons must have one length, got {len(orders)} and {len(epsilons)}")
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "epsilons", epsilons)


@dataclass(frozen=True)
class Bits(Cost):
    """Description length: the answer is one of at most `2**bits` values, errors and refusals included."""

    bits: float
    kind: ClassVar[str] = "bits"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", check.real("bits", self.bits, at_least=0))


__all__ = ["GDP", "RDP", "ZCDP", "ApproxDP", "Bits", "Cost", "PointwiseDP", "PureDP"]
