"""What was run on the data before a test: one entry a step, and the totals that a theorem needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from holdfast import check
from holdfast.accounting.costs import GDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.bounds.exact import decimal_fraction, decimal_sum, float_up
from holdfast.errors import InvalidParameter

_MOST_READINGS = 6  # entries that may be read two ways are tried in every combination up to here

KINDS: dict[str, tuple[type[Cost], int]] = {
    "pure-dp": (PureDP, 1),
    "approx-dp": (ApproxDP, 2),
    "zcdp": (ZCDP, 1),
    "gdp": (GDP, 1),
    "bits": (Bits, 1),
}
"""Costs a correction understands, by the name that the command line uses, and how many numbers each takes."""


@dataclass(frozen=True)
class Entry:
    """One step: its cost, how many values its output could take if that is known, and what it was.

    A private choice among `values` candidates is also a look with that many outcomes. Both readings are true, so the
    better one may be used, and a correction for it is never worse than Bonferroni's.
    """

    cost: Cost
    values: int | None = None
    what: str = ""

    def __str__(self) -> str:
        among = "" if self.values is None else f", one of {self.values:,} values"
        return f"{spell(self.cost)}{among}" + (f" ({self.what})" if self.what else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"cost": self.cost.to_dict(), "values": self.values, "what": self.what}

    @staticmethod
    def from_dict(plain: Any) -> Entry:
        """Read an entry back."""
        if not isinstance(plain, dict) or set(plain) != {"cost", "values", "what"}:
            raise InvalidParameter("a stored entry must be a dict of cost, values and what")
        values = plain["values"]
        what = plain["what"]
        if not isinstance(what, str):
            raise InvalidParameter("a stored entry's what must be a text")
        cost = supported(Cost.from_dict(plain["cost"]))
        return Entry(cost, None if values is None else check.whole("values", values, at_least=1), what)


@dataclass(frozen=True)
class Totals:
    """Totals of one reading of the entries: bits of all looks, and the private steps by kind, each added exactly."""

    bits: float
    pure: tuple[float, ...]
    approx: tuple[tuple[float, float], ...]
    rho: float
    mus: tuple[float, ...]

    @property
    def private(self) -> bool:
        """Whether any private step spends anything."""
        return any(self.pure) or any(e or d for e, d in self.approx) or self.rho > 0 or any(self.mus)

    @property
    def only_pure(self) -> bool:
        """Whether every private step is purely private."""
        return not (any(d for _, d in self.approx) or self.rho or any(self.mus))

    @property
    def epsilon(self) -> float:
        """Sum of all epsilons, pure and approximate."""
        return _sum([*self.pure, *(e for e, _ in self.approx)])

    @property
    def delta(self) -> float:
        """Sum of all deltas."""
        return _sum([d for _, d in self.approx])

    @property
    def mu_rho(self) -> float:
        """The Gaussian steps as zCDP: half the sum of squares."""
        return float_up(sum((decimal_fraction(mu) ** 2 for mu in self.mus), decimal_fraction(0)) / 2)


def readings(entries: Sequence[Entry]) -> Iterator[Totals]:
    """Every useful reading: an entry with a known number of values is a private step or a look."""
    both = [i for i, entry in enumerate(entries) if entry.values is not None and not isinstance(entry.cost, Bits)]
    choices: Iterable[frozenset[int]]
    if len(both) <= _MOST_READINGS:
        marks = product((False, True), repeat=len(both))
        choices = [frozenset(i for i, mark in zip(both, m, strict=True) if mark) for m in marks]
    else:  # the cheapest looks first
        order = sorted(both, key=lambda i: entries[i].values or 0)
        choices = [frozenset(order[:k]) for k in range(len(order) + 1)]
    for looks in choices:
        yield _totals(entries, looks)


def _totals(entries: Sequence[Entry], looks: frozenset[int]) -> Totals:
    bits: list[float] = []
    pure: list[float] = []
    approx: list[tuple[float, float]] = []
    rhos: list[float] = []
    mus: list[float] = []
    for i, entry in enumerate(entries):
        match entry.cost:
            case Bits(amount):
                # the declared bits or the number of values, whichever is less
                bits.append(min(amount, Bits.of_values(entry.values).bits) if entry.values is not None else amount)
            case _ if i in looks and entry.values is not None:
                bits.append(Bits.of_values(entry.values).bits)
            case PureDP(epsilon):
                pure.append(epsilon)
            case ApproxDP(epsilon, delta) | PointwiseDP(epsilon, delta):
                approx.append((epsilon, delta))
            case ZCDP(rho):
                rhos.append(rho)
            case GDP(mu):
                mus.append(mu)
    return Totals(_sum(bits), tuple(pure), tuple(approx), _sum(rhos), tuple(mus))


def _sum(values: Iterable[float]) -> float:
    return float_up(decimal_sum(values))


def supported(cost: Any) -> Cost:
    """Return the cost if a correction understands it."""
    if isinstance(cost, (PureDP, ApproxDP, PointwiseDP, ZCDP, GDP, Bits)):
        return cost
    hint = "; convert a Renyi curve to ApproxDP or ZCDP first" if isinstance(cost, Cost) else ""
    raise InvalidParameter(
        f"a step's cost must be PureDP, ApproxDP, ZCDP, GDP or Bits, got a {type(cost).__name__}{hint}"
    )


def parse(text: str) -> Cost:
    """Read a cost as the command line writes it: `pure-dp:0.1`, `approx-dp:0.1,1e-9`, `zcdp:0.01`, `gdp:0.2`, `bits:5`.

    Examples
    --------
    >>> parse("approx-dp:0.1,1e-9")
    ApproxDP(epsilon=0.1, delta=1e-09)
    """
    kind, colon, numbers = text.partition(":")
    forms = "pure-dp:EPSILON, approx-dp:EPSILON,DELTA, zcdp:RHO, gdp:MU or bits:BITS"
    if not colon or kind not in KINDS:
        raise InvalidParameter(f"a cost must be written as {forms}, got {text[:60]!r}")
    make, count = KINDS[kind]
    words = numbers.split(",")
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise InvalidParameter(f"a cost must be written as {forms}, got {text[:60]!r}") from None
    if len(values) != count:
        raise InvalidParameter(f"a cost must be written as {forms}, got {text[:60]!r}")
    return make(*values)


def spell(cost: Cost) -> str:
    """Write a cost as `parse` reads it.

    Examples
    --------
    >>> spell(PureDP(0.1)), spell(Bits(5))
    ('pure-dp:0.1', 'bits:5')
    """
    values = [v for k, v in cost.to_dict().items() if k != "kind"]
    return f"{cost.kind}:" + ",".join(f"{v:.12g}" for v in values)


__all__ = ["KINDS", "Entry", "Totals", "parse", "readings", "spell", "supported"]
