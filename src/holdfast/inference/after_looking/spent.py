"""What was run on the data before a test: an entry for each step, the totals that a theorem needs, and caps on them.

Neighbours
----------
Everything in Holdfast is about neighbours that replace one of `n` rows, `n` public. Replacing is removing, then adding,
so a certificate for add/remove neighbours reaches a replacement in two steps, through a data set of `n - 1` rows.

Caps
----
A correction is a function of the amounts it charges. If those depend on the answers, the theorem for fixed amounts does
not apply; if the caps are charged from the start and every step must still fit, it does. Each kind of cost has its cap:

- bits: the alphabets of the noiseless steps multiply to at most `2**bits` on every path, as `transfer.interleaved`
  asks;
- pure and approximate privacy: sums of epsilon and of delta, which is the basic filter (Rogers, Roth, Ullman and Vadhan
  2016);
- zCDP and GDP: sums of rho and of mu squared (Feldman and Zrnic 2021; Smith and Thakurta 2022).

The kinds may be interleaved. The loss of a transcript is the sum of the losses of its kinds: the pure part is at most
its cap on every path, and the concentrated part keeps its moment bound given the past, because steps of other kinds
leave it unchanged. So the parts add up as fixed ones do. A Gaussian cap next to caps of other private kinds is read as
zCDP, whose moments this argument needs; alone it keeps its own, tighter conversion.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from holdfast.accounting.costs import GDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.bounds.numerics.exact import decimal_fraction, decimal_sum, float_up, up
from holdfast.core import arguments
from holdfast.errors import BudgetExhausted, InvalidParameter

NEIGHBOURS = ("replace-one", "add-remove")


def from_add_remove(cost: Cost) -> Cost:
    """Convert a cost that was certified for adding or removing one row to a cost for replacing one row.

    `epsilon` becomes `2 epsilon`, `(epsilon, delta)` becomes `(2 epsilon, (1 + e^epsilon) delta)`, `rho` becomes `4
    rho`, and `mu` becomes `2 mu`. Bits do not depend on this and stay unchanged. The certificate must hold for data
    sets of every size. A mechanism whose noise depends on a number of rows that it takes as known must be certified
    again.

    Parameters
    ----------
    cost : Cost
        `PureDP`, `ApproxDP`, `ZCDP`, `GDP` or `Bits`.

    Notes
    -----
    Group privacy for two rows: Dwork and Roth (2014) Theorem 2.2, Bun and Steinke (2016) Proposition 1.9, Dong,
    Roth and Su (2022). The certificate must hold at `n - 1` rows too.

    Examples
    --------
    >>> from_add_remove(PureDP(0.05)), from_add_remove(GDP(0.1))
    (PureDP(epsilon=0.1), GDP(mu=0.2))
    """
    match cost:
        case PureDP(epsilon):
            return PureDP(_times(2, epsilon))
        case ApproxDP(epsilon, delta):
            grown = math.exp(epsilon) if epsilon < 700 else math.inf
            doubled = up((1 + grown) * delta) if delta else 0.0
            if not doubled < 1:
                raise InvalidParameter(
                    f"for replacing a row, delta becomes (1 + e^{epsilon:g}) {delta:g}, but it must stay below 1; "
                    "give a smaller delta"
                )
            return ApproxDP(_times(2, epsilon), doubled)
        case ZCDP(rho):
            return ZCDP(_times(4, rho))
        case GDP(mu):
            return GDP(_times(2, mu))
        case Bits():
            return cost
        case PointwiseDP():
            raise InvalidParameter(
                "a point-wise cost cannot be converted from add/remove to replace-one neighbours; declare it as "
                "ApproxDP first"
            )
    raise InvalidParameter(f"cost must be a PureDP, ApproxDP, ZCDP, GDP or Bits cost, got a {type(cost).__name__}")


def _times(factor: int, amount: float) -> float:
    """A multiple of the decimal that an amount prints as, rounded up."""
    return float_up(factor * decimal_fraction(amount))


def require_replace_one(neighbours: str, cost: Cost) -> None:
    """Refuse a cost that was certified for another relation, and say what would make it valid."""
    arguments.choice("neighbours", neighbours, NEIGHBOURS)
    if neighbours == "replace-one" or isinstance(cost, Bits):
        return
    raise InvalidParameter(
        f"neighbours must be replace-one, got add-remove: {cost} bounds what adding or removing a row changes, but "
        "every correction here is about replacing one of n rows, which is both. If the certificate holds for data "
        f"sets of every size, record from_add_remove({cost}) = {from_add_remove(cost)} instead"
    )


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

    A private choice among `values` candidates is also a noiseless step with that many outcomes. Both readings are
    true, so the better one may be used, and a correction for it is never worse than Bonferroni's.
    """

    cost: Cost
    values: int | None = None
    what: str = ""

    def __str__(self) -> str:
        among = "" if self.values is None else f", one of {self.values:,} values"
        return f"{spell(self.cost)}{among}" + (f" ({self.what})" if self.what else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"cost": self.cost.to_dict(), "values": self.values, "what": self.what}

    @staticmethod
    def from_dict(plain: Any) -> Entry:
        """Read an entry back."""
        if not isinstance(plain, dict) or set(plain) != {"cost", "values", "what"}:
            raise InvalidParameter("a stored entry must be a dict with cost, values and what")
        values = plain["values"]
        what = plain["what"]
        if not isinstance(what, str):
            raise InvalidParameter("the member what of a stored entry must be a text")
        cost = supported(Cost.from_dict(plain["cost"]))
        return Entry(cost, None if values is None else arguments.whole("values", values, at_least=1), what)


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
        """Whether every private step is purely differentially private."""
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
    """Every useful reading: an entry with a known number of values is a private step or a noiseless step.

    Of two readings with the same private steps the one with fewer bits of looks is the better in every theorem.
    """
    both = [i for i, entry in enumerate(entries) if entry.values is not None and not isinstance(entry.cost, Bits)]
    choices: Iterable[frozenset[int]]
    if len(both) <= _MOST_READINGS:
        marks = product((False, True), repeat=len(both))
        choices = [frozenset(i for i, mark in zip(both, m, strict=True) if mark) for m in marks]
    else:  # the cheapest looks first
        order = sorted(both, key=lambda i: entries[i].values or 0)
        choices = [frozenset(order[:k]) for k in range(len(order) + 1)]
    useful: dict[tuple[Any, ...], Totals] = {}
    for looks in choices:
        totals = _totals(entries, looks)
        private = tuple(sorted(totals.pure)), tuple(sorted(totals.approx)), totals.rho, tuple(sorted(totals.mus))
        if private not in useful or totals.bits < useful[private].bits:
            useful[private] = totals
    yield from useful.values()


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


def check_caps(caps: Any) -> tuple[Cost, ...]:
    """Return the caps: at most one of each kind."""
    if isinstance(caps, Cost):
        caps = (caps,)
    if isinstance(caps, (str, bytes)) or not isinstance(caps, Sequence) or not caps:
        raise InvalidParameter(f"caps must be a list of costs, one of each kind, got a {type(caps).__name__}")
    costs = tuple(supported(cap) for cap in caps)
    kinds = [cap.kind for cap in costs]
    if len(set(kinds)) < len(kinds):
        raise InvalidParameter(f"caps must have at most one cost of each kind, got the kinds {', '.join(kinds)}")
    return costs


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
    holdfast.errors.BudgetExhausted: the cost bits:1.5 exceeds what the recorded steps have left of the cap bits:3
    """
    cap = next((cap for cap in caps if cap.kind == cost.kind), None)
    if cap is None:
        allowed = ", ".join(spell(cap) for cap in caps)
        raise BudgetExhausted(f"there is no cap for the cost {spell(cost)}; the caps are {allowed}")
    used = [entry.cost for entry in entries if entry.cost.kind == cost.kind] + [cost]
    totals = [sum(column, Fraction(0)) for column in zip(*map(_amounts, used), strict=True)]
    if any(total > limit for total, limit in zip(totals, _amounts(cap), strict=True)):
        raise BudgetExhausted(
            f"the cost {spell(cost)} exceeds what the recorded steps have left of the cap {spell(cap)}"
        )


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
