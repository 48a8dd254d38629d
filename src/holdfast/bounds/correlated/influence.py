"""How much one record says about the others: max-influence in closed form, and what theorems need of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.parameters import MOST, Domain, Epsilon, PValue, Rows, RowsAhead, RowsBack
from holdfast.bounds.registry import theorem
from holdfast.core import arguments

# --- Influence --------------------------------------------------------------------------------------------------------
# Max-influence in closed form: two-state chains, reversible chains by their gap, kernels by Birkhoff, Ising blankets.
#
# Influence is in nats: the largest log ratio of the probabilities of what a quilt shows under two values of a record.

Start = Annotated[Literal["stationary", "any"], "The distribution of the first record."]


class LogRatios(NamedTuple):
    """Largest log ratio of what a row shows given state 0 over state 1 at an earlier row, and the other way round."""

    zero_over_one: float
    one_over_zero: float


def two_state_log_ratios(p: float, q: float, lag: int) -> LogRatios:
    """Return how strongly a row of a two-state chain reveals the state of the row `lag` steps before it.

    Each of the two results is the largest log ratio, over the states that the later row may show, of its probability
    given one state at the earlier row to its probability given the other. The chain leaves state 0 with probability `p`
    and state 1 with probability `q`. A ratio is infinite where a state rules another one out.

    Notes
    -----
    Derived. With `lam = 1 - p - q` and `pi = (q, p)/(p+q)`, `P^t(0,0) = pi_0 + pi_1 lam^t` and so on; for `0 < lam <
    1` the ratios are `1 + lam^t/(pi_0 (1 - lam^t))` and `1 + lam^t/(pi_1 (1 - lam^t))`.

    Examples
    --------
    >>> [round(r, 9) for r in two_state_log_ratios(0.1, 0.4, 1)]
    [0.810930216, 1.791759469]
    """
    p, q, lag = _probability("p", p), _probability("q", q), arguments.whole("lag", lag, at_least=1, at_most=MOST)
    if p + q == 0:
        return LogRatios(math.inf, math.inf)
    zero, one = q / (p + q), p / (p + q)
    lam = 1 - p - q
    if lam == 0:
        return LogRatios(0.0, 0.0)
    decay = lag * math.log(abs(lam))
    negative = lam < 0 and lag % 2 == 1
    return LogRatios(_log_ratio(decay, negative, zero, one), _log_ratio(decay, negative, one, zero))


def _log_ratio(decay: float, negative: bool, mine: float, other: float) -> float:
    """`ln` of the larger of `P^t(x,x)/P^t(y,x)` and `P^t(x,y)/P^t(y,y)`, where `lam^t` is `exp(decay)` up to its sign.

    The first is `1 + l/(pi_x (1 - l))` and wins when `l = lam^t` is positive, the second is `1 - l/(pi_y + pi_x l)`.
    """
    below = other - mine * math.exp(decay) if negative else -mine * math.expm1(decay)
    return up(math.log1p(math.exp(decay) / below), 16) if below > 0 else math.inf


@theorem(
    "correlated.two-state-influence",
    statement="Max-influence of a row of a stationary two-state chain on the rows a before and b after it.",
    source="Holdfast; closed form of matrix powers",
    conditions="stationary time-homogeneous two-state Markov chain; the nearby records are those strictly between",
    unit="nats",
    provenance="derived",
)
def two_state_influence(
    p: Annotated[PValue, "Probability of leaving state 0."],
    q: Annotated[float, Domain("Probability of leaving state 1.", at_least=0, at_most=1, typical=0.4)],
    before: Annotated[RowsBack, "How many rows back the quilt reaches; left out for a quilt on one side."]
    | None = None,
    after: Annotated[RowsAhead, "How many rows ahead the quilt reaches; left out for a quilt on one side."]
    | None = None,
) -> float:
    """Return the max-influence of a row of a stationary two-state chain on the row `a` before it and the row `b` after
    it.

    Max-influence, in nats, is the largest log ratio of the probabilities of what these two rows show, given two values
    of the row between them. It is `max(F_a(0,1) + F_b(0,1), F_a(1,0) + F_b(1,0))`, where `F` are the log ratios of
    `two_state_log_ratios`. If only one of the two rows is given, the sum has only its term. If none is given the result
    is 0.

    Returns
    -------
    float
        Rounded up; infinite where a state rules another out.

    Notes
    -----
    Derived, reviewed; compared with matrix powers and enumeration. Past and future are independent given the row,
    hence the sum inside the maximum. Two-state chains are reversible, so the backward ratios are the forward ones.
    No knowledge that an adversary has of the rows between raises the influence: a known row cuts its side off, and a
    known row on the other side changes nothing.

    Examples
    --------
    >>> round(two_state_influence(0.1, 0.4, 5, 5), 10), round(two_state_influence(0.1, 0.4, after=5), 10)
    (0.2990634679, 0.149531734)
    """
    _probability("p", p), _probability("q", q)
    sides = [
        two_state_log_ratios(p, q, arguments.whole(name, lag, at_least=1, at_most=MOST))
        for name, lag in (("before", before), ("after", after))
        if lag is not None
    ]
    return up(max((sum(side) for side in zip(*sides, strict=True)), default=0.0))


@theorem(
    "correlated.spectral-influence",
    statement="Bound on the max-influence of a row of a reversible chain from its spectral gap and rarest state.",
    source="Zhao 2017, Lemma 4 and its proof; (1 - gap)^t in place of exp(-gap t) (Holdfast)",
    conditions="reversible, irreducible, aperiodic chain on finitely many states; absolute spectral gap",
    unit="nats",
    provenance="mixed",
)
def spectral_influence(
    gap: Annotated[
        float, Domain("One minus the largest absolute value of the other eigenvalues.", above=0, at_most=1, typical=0.5)
    ],
    rarest: Annotated[float, Domain("Stationary probability of the rarest state.", above=0, at_most=1, typical=0.2)],
    before: RowsBack | None = None,
    after: RowsAhead | None = None,
    start: Start = "stationary",
    method: Literal["sharp", "paper"] = "sharp",
) -> float:
    """Bound the max-influence of a row of a reversible chain on the row `a` before it and the row `b` after it.

    The bound is `h(b) + s h(a)` nats, with `h(t) = ln((1 + D)/(1 - D))` and `D = (1 - gap)^t/rho`. Here `gap` is the
    spectral gap and `rho` the stationary probability of the rarest state. `s` is 1 for a chain that starts in its
    stationary distribution and 2 for any other start. `D >= 1` gives infinity.

    Returns
    -------
    float
        Rounded up.

    Notes
    -----
    Derived. For a reversible chain `|P^t(x,y)/pi(y) - 1| <= (1 - gap)^t/sqrt(pi(x) pi(y)) <= D`, so two rows of
    `P^t` have ratios within `(1 + D)/(1 - D)`. Backwards, Bayes' rule adds the ratio of the row's own distribution,
    which is stationary or within the same bounds, as it has come at least `a` steps.

    Examples
    --------
    >>> round(spectral_influence(0.5, 0.2, 8, 8), 11), round(spectral_influence(0.5, 0.2, 8, 8, "any", "paper"), 10)
    (0.07813493638, 0.5510129957)
    """
    total = 0.0
    for name, lag, times in (("before", before, 1 if start == "stationary" else 2), ("after", after, 1)):
        if lag is None:
            continue
        steps = arguments.whole(name, lag, at_least=1, at_most=MOST)
        log_decay = -gap * steps if method == "paper" else steps * math.log1p(-gap) if gap < 1 else -math.inf
        share = up(math.exp(log_decay) / rarest, 16)
        total += times * 2 * math.atanh(share) if share < 1 else math.inf
    return up(total, 16)


@theorem(
    "correlated.birkhoff-influence",
    statement="Bound on the influence of a record at the end of a path of kernels, whatever else is known.",
    source="Birkhoff 1957, Hopf 1963 (contraction of the projective metric by tanh(Delta/4))",
    conditions="Markov path from the record to the quilt; kernels of order r > 1: those between blocks of r rows",
    unit="nats",
    provenance="derived",
)
def birkhoff_influence(
    diameters: Annotated[
        Sequence[float],
        Domain(
            "`max ln K(x,u) K(x',u')/(K(x',u) K(x,u'))` of each kernel, from the record on.",
            at_least=0,
            typical=(2.51, 4.39),
        ),
    ],
) -> float:
    """Bound the influence of a record on the last record of a path, whatever else an adversary knows.

    The bound is `Delta_1 prod_{s >= 2} tanh(Delta_s/4)`. `Delta_s` is the projective diameter of the s-th transition
    kernel along the path (the parameter `diameters`).

    Returns
    -------
    float
        Rounded up.

    Notes
    -----
    Evidence on any row multiplies columns by positive numbers, which leaves projective distances as they are; mixing
    rows cannot enlarge them; every further kernel contracts them by `tanh(Delta/4)`. Two distributions at projective
    distance `d` have log ratios of at most `d`. Derived from the recalled contraction theorem; checked against
    enumeration.

    Examples
    --------
    >>> round(birkhoff_influence([math.log(0.98 * 0.2 / (0.02 * 0.8)), math.log(81)]), 8)
    2.00442075
    """
    sizes = diameters
    return up(sizes[0] * math.prod(math.tanh(size / 4) for size in sizes[1:]), 8 * len(sizes))


@theorem(
    "correlated.ising-influence",
    statement="Max-influence of a spin on its neighbours in an Ising model without field: 2 sum |J|.",
    source="Holdfast",
    conditions="spins +1 and -1, no external field; the quilt is the Markov blanket",
    unit="nats",
    provenance="derived",
)
def ising_influence(
    couplings: Annotated[Sequence[float], Domain("The couplings of the spin to its neighbours.", typical=(0.2, 0.2))],
) -> float:
    """Return the max-influence of a spin on its neighbours in an Ising model without an external field: `2 sum_j
    |J_ij|`.

    `J_ij` are the couplings of the spin `i` to its neighbours `j`.

    Notes
    -----
    Derived, exact. Without a field both values of a spin have probability one half, so the ratio of the neighbours'
    probabilities given the two values is the ratio of the two values given the neighbours, `exp(2 sum_j J_ij x_j)`.

    Examples
    --------
    >>> ising_influence([0.2, 0.2])
    0.8000...
    """
    return up(2 * math.fsum(abs(value) for value in couplings))


def _probability(name: str, value: float) -> float:
    return arguments.probability(name, value, zero=True, one=True)


# --- Quilt terms ------------------------------------------------------------------------------------------------------
# What the theorems on dependent records need to know of a model: four numbers that hold for every record.

Method = Literal["sharp", "repaired", "paper"]
METHODS = ("sharp", "repaired", "paper")


@dataclass(frozen=True)
class QuiltTerms:
    """Four bounds that describe how strongly the records of a data set depend on each other.

    A Markov quilt is a set of records that separates one record and the records nearby from the rest. The bounds hold
    for the quilts of all records at once:

    - `size` is the number of records nearby, the record itself included. It is 1 for Markov blankets and independent
      records.
    - `influence` bounds the max-influence, in nats, of every record on its quilt.
    - `surcharge` is what the conversion from differential privacy to Bayesian differential privacy adds. It is twice
      the influence unless a smaller one is known.
    - `colours` is the number of classes into which the records can be divided so that no two records of a class are
      nearby each other and the class sizes differ by at most one record. The default is `size`, which is right for
      chains and for blocks. A general graph may need up to `2 size - 1` classes, and its class sizes must be checked.

    Examples
    --------
    >>> QuiltTerms(9, 0.01)
    QuiltTerms(size=9, influence=0.01, surcharge=0.02, colours=9)
    """

    size: int = 1
    influence: float = 0.0
    surcharge: float | None = None
    colours: int | None = None

    def __post_init__(self) -> None:
        influence = arguments.real("influence", self.influence, at_least=0, infinite=True)
        surcharge = 2 * influence if self.surcharge is None else self.surcharge
        object.__setattr__(self, "size", arguments.whole("blanket", self.size, at_least=1, at_most=MOST))
        object.__setattr__(self, "influence", influence)
        object.__setattr__(self, "surcharge", arguments.real("surcharge", surcharge, at_least=0, infinite=True))
        object.__setattr__(
            self,
            "colours",
            arguments.whole("colours", self.size if self.colours is None else self.colours, at_least=1, at_most=MOST),
        )

    @property
    def classes(self) -> int:
        """The number of classes (`colours`) into which the records are divided."""
        assert self.colours is not None
        return self.colours

    @property
    def drift(self) -> float:
        """How far, in total variation, the other records of a class can move the distribution of any record.

        It is the function `drift` at the influence of the quilts.
        """
        return drift(self.influence)

    def epsilon_bdp(self, epsilon_dp: float, method: Method = "sharp") -> float:
        """Return the level of Bayesian differential privacy of a release that is `epsilon_dp`-differentially private.

        The level is `K epsilon + w`, rounded up, with `K = size` and `w = surcharge`. The method "paper" uses `w = 4
        b`, where `b` is the influence.
        """
        surcharge = 4 * self.influence if method == "paper" else self.surcharge
        assert surcharge is not None
        return up(self.size * epsilon_dp + surcharge)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "size": self.size,
            "influence": self.influence,
            "surcharge": self.surcharge,
            "colours": self.colours,
        }


def drift(influence: float) -> float:
    """Bound how far, in total variation, the other records of a class can move the distribution of a record.

    The bound is `tanh(influence/4)`, rounded up. `influence` is the max-influence of the record on its quilt.

    Notes
    -----
    Derived, reviewed. By Bayes' rule the distribution of the record given the rest has a likelihood ratio to its own
    distribution with mean 1 whose largest and smallest values are at most a factor `e^influence` apart. Among such
    ratios the distance is largest for one with two values, `e^(b/2)` and `e^(-b/2)`, where it is `tanh(b/4)`.

    Examples
    --------
    >>> round(drift(0.02), 12)
    0.004999958334
    """
    return up(math.tanh(arguments.real("influence", influence, at_least=0, infinite=True) / 4))


def declared_quilt(
    blanket: int, influence: float = 0.0, surcharge: float | None = None, colours: int | None = None
) -> QuiltTerms:
    """`QuiltTerms` from the parameters of a catalogue entry, which must be finite.

    Examples
    --------
    >>> declared_quilt(1)
    QuiltTerms(size=1, influence=0.0, surcharge=0.0, colours=1)
    """
    influence = arguments.real("influence", influence, at_least=0)
    if surcharge is not None:
        surcharge = arguments.real("surcharge", surcharge, at_least=0)
    return QuiltTerms(blanket, influence, surcharge, colours)


# --- Gaussian ---------------------------------------------------------------------------------------------------------
# Gaussian fields in closed form: how far one record moves a sum, and what a bounded window shows.
#
# For a linear query plus Laplace noise on a Gaussian field, the Bayesian leakage about record `i` against an adversary
# who knows `S` is `M_i shift(i, S)/scale`, exactly. Where the precision matrix has no positive entry off its diagonal
# and the weights are not negative, the adversary who knows nothing learns most; both fields here are such.


@theorem(
    "correlated.autoregressive-shift",
    statement="How far the sum of a Gaussian AR(1) series moves when one record moves by 1, the rest following.",
    source="Holdfast; Yang et al. 2015 setting (sum query, positively correlated Gaussian field)",
    conditions="stationary Gaussian AR(1) with coefficient in [0, 1); sum query; Laplace noise",
    unit="units",
    provenance="derived",
)
def autoregressive_shift(
    n: Rows,
    coefficient: Annotated[float, Domain("The coefficient `phi`.", at_least=0, below=1, typical=0.5)],
    position: Annotated[int, Domain("The record, from 1; the middle one by default.", at_least=1)] | None = None,
) -> float:
    """Return how far the expected sum of a Gaussian AR(1) series moves when one of its `n` records moves by 1.

    With coefficient `phi` and the record at position `i` the shift is `(1 + phi - phi^i - phi^(n-i+1))/(1 - phi)`. The
    default position is the middle, where the shift is largest. For records that move by at most `M`, Laplace noise on
    the sum needs the scale `M shift/epsilon`.

    Notes
    -----
    Derived, reviewed. The conditional mean of record `j` given record `i` has slope `phi^|i-j|`; the sum of the
    slopes is this. The precision matrix has `-phi` next to its diagonal, so no adversary sees more.

    Examples
    --------
    >>> round(autoregressive_shift(10, 0.5), 9)
    2.90625
    """
    phi = coefficient
    at = (n + 1) // 2 if position is None else arguments.whole("position", position, at_least=1, at_most=n)
    return up((1 + phi - phi ** min(at, 10**6) - phi ** min(n - at + 1, 10**6)) / (1 - phi), 16)


@theorem(
    "correlated.equicorrelation-shift",
    statement="How far the sum of an equicorrelated Gaussian field moves when one record moves by 1: 1 + (n-1) rho.",
    source="Holdfast; Yang et al. 2015 setting",
    conditions="Gaussian field of unit variances, every pair correlated by rho in [0, 1); sum query; Laplace noise",
    unit="units",
    provenance="derived",
)
def equicorrelation_shift(
    n: Rows, correlation: Annotated[float, Domain("The correlation `rho`.", at_least=0, below=1, typical=0.3)]
) -> float:
    """Return how far the expected sum of `n` equally correlated Gaussian records moves when one moves by 1.

    With correlation `rho` between every two records the shift is `1 + (n - 1) rho`.

    Notes
    -----
    Derived, reviewed.

    Examples
    --------
    >>> round(equicorrelation_shift(5, 0.3), 9)
    2.2
    """
    return up(1 + (n - 1) * correlation)


def windowed_influence(coefficient: float, lag: int, radius: float) -> float:
    """Return the largest log ratio with which one record of a Gaussian AR(1) series reveals another, inside a window.

    Both records lie within `radius` `R` of the mean and are `t = lag` steps apart. The log ratio is `2 R^2
    phi^t/(1-phi^(2t))`. This number is a diagnostic and guarantees nothing, because without the window the influence is
    infinite.

    Notes
    -----
    Derived.

    Examples
    --------
    >>> round(windowed_influence(0.5, 10, 3.0), 11)
    0.01757814176
    """
    phi = arguments.real("coefficient", coefficient, above=-1, below=1)
    lag, radius = (
        arguments.whole("lag", lag, at_least=1, at_most=MOST),
        arguments.real("radius", radius, at_least=0, at_most=1e100),
    )
    power = math.exp(lag * math.log(abs(phi))) if phi else 0.0
    return up(2 * radius * radius * power / (1 - power * power), 32)


# --- Chain level ------------------------------------------------------------------------------------------------------
# Lemma 4 of Zhao 2017: the privacy level of a chain from its spectral gap and its rarest state alone.

_STEP = 0.0005  # of the grid on which the free constant is chosen


@dataclass(frozen=True)
class ChainLevel:
    """A level of differential privacy that gives the requested Bayesian privacy on a chain of at least `rows` records.

    Examples
    --------
    >>> found = chain_level(1.0, 0.5, 0.2)
    >>> found.rows == 2 * found.d, found.value == found.epsilon_dp
    (True, True)
    """

    epsilon_dp: float
    d: int
    s: int
    first: float
    second: float
    constant: float

    @property
    def value(self) -> float:
        """The level of differential privacy."""
        return self.epsilon_dp

    @property
    def rows(self) -> int:
        """The smallest number of records that the lemma covers, `2d`."""
        return 2 * self.d

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "value": self.epsilon_dp,
            "rows": self.rows,
            "d": self.d,
            "s": self.s,
            "first": self.first,
            "second": self.second,
            "constant": self.constant,
        }


@theorem(
    "correlated.chain-level",
    statement="Level of differential privacy that makes any mechanism epsilon-Bayesian-private on a reversible chain.",
    source="Zhao 2017, Lemma 4, with s supplied from the proof of Theorem 2; the first term alone (Holdfast)",
    conditions="reversible, irreducible, aperiodic chain, any start; at least 2d records; differential privacy "
    "between all databases",
    unit="epsilon",
    provenance="mixed",
)
def chain_level(
    epsilon: Annotated[Epsilon, Domain("The Bayesian privacy level to reach.", at_least=1e-9, at_most=100)],
    gap: Annotated[float, Domain("The absolute spectral gap.", at_least=1e-12, at_most=1, typical=0.5)],
    rarest: Annotated[float, Domain("Stationary probability of the rarest state.", above=0, at_most=1, typical=0.2)],
    constant: Annotated[float, Domain("`c` in (0, 1/6); by default the best on a grid.", above=0, below=1 / 6)]
    | None = None,
    method: Literal["sharp", "paper"] = "sharp",
) -> ChainLevel:
    """Return the level of differential privacy that makes any mechanism epsilon-Bayesian-private on a reversible chain.

    The level is `(1 - 6c) epsilon/(2d - 1)` with `d = ceil((1/gap) ln((e^(c eps) + 1)/(rho (e^(c eps) - 1))))`. `gap`
    is the spectral gap, `rho` the stationary probability of the rarest state, and `c` the parameter `constant`. The
    chain must have at least `2d` records. If the exact influence of the chain can be computed, exact quilts allow a
    level that is four to five times larger.

    Returns
    -------
    ChainLevel
        Its value is the level, rounded down.

    Notes
    -----
    Derived. At lag `d` every log ratio is at most `c epsilon`. Interior rows take the quilt `d` back and `d` ahead:
    influence at most `3 c epsilon` (backward counted twice), surcharge twice that, `2d - 1` records nearby. With at
    least `2d` records the rows near an end have a quilt on one side with no more records nearby. "paper" keeps the
    printed minimum with `(1/3 - 2c) epsilon/(d + s)`, which is not needed.

    Examples
    --------
    >>> found = chain_level(1.0, 0.5, 0.2, 0.1, "paper")
    >>> found.d, found.s, round(found.first, 11), round(found.second, 12), round(found.value, 12)
    (10, 9, 0.02105263158, 0.00701754386, 0.00701754386)
    >>> best = chain_level(1.0, 0.5, 0.2)
    >>> round(best.constant, 4), round(best.value, 6)
    (0.025, 0.036957)
    """
    if constant is not None:
        return _level(epsilon, gap, rarest, constant, method)
    grid = (_level(epsilon, gap, rarest, step * _STEP, method) for step in range(1, 334))
    return max(grid, key=lambda level: level.epsilon_dp)


def _level(epsilon: float, gap: float, rarest: float, c: float, method: str) -> ChainLevel:
    d, s = _lag(c * epsilon, gap, rarest), _lag(epsilon / 6, gap, rarest)
    first, second = down((1 - 6 * c) * epsilon / (2 * d - 1)), down((1 / 3 - 2 * c) * epsilon / (d + s))
    return ChainLevel(min(first, second) if method == "paper" else first, d, s, first, second, c)


def _lag(nats: float, gap: float, rarest: float) -> int:
    """The least lag at which the printed bound on a log ratio is at most `nats`."""
    return max(1, math.ceil((-math.log(math.tanh(nats / 2)) - math.log(rarest)) / gap * (1 + 1e-13)))
