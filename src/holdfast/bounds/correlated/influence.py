"""Max-influence in closed form: two-state chains, reversible chains by their gap, kernels by Birkhoff, Ising blankets.

Influence is in nats: the largest log ratio of the probabilities of what a quilt shows under two values of a record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import count
from holdfast.bounds.registry import theorem

Start = Literal["stationary", "any"]


class LogRatios(NamedTuple):
    """Largest log ratio of what a row shows given state 0 over state 1 at an earlier row, and the other way round."""

    zero_over_one: float
    one_over_zero: float


def two_state_log_ratios(p: float, q: float, lag: int) -> LogRatios:
    """`F_t(0,1)` and `F_t(1,0)` of the chain that leaves state 0 with probability `p` and state 1 with `q`.

    With `lam = 1 - p - q` and `pi = (q, p)/(p+q)`, `P^t(0,0) = pi_0 + pi_1 lam^t` and so on; for `0 < lam < 1` the
    ratios are `1 + lam^t/(pi_0 (1 - lam^t))` and `1 + lam^t/(pi_1 (1 - lam^t))`. Derived. Infinite where a state
    rules another out.

    Examples
    --------
    >>> [round(r, 9) for r in two_state_log_ratios(0.1, 0.4, 1)]
    [0.810930216, 1.791759469]
    """
    p, q, lag = _probability("p", p), _probability("q", q), count("lag", lag)
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
def two_state_influence(p: float, q: float, before: int | None = None, after: int | None = None) -> float:
    """Return `max(F_a(0,1) + F_b(0,1), F_a(1,0) + F_b(1,0))`; one side alone keeps its term, none gives 0.

    Past and future are independent given the row, hence the sum inside the maximum; two-state chains are reversible, so
    the backward ratios are the forward ones. Nothing that an adversary knows between raises it: a known row cuts its
    side off, and one on the other side changes nothing. Derived, reviewed; compared with matrix powers and enumeration.

    Parameters
    ----------
    p : float
        Probability of leaving state 0.
    q : float
        Probability of leaving state 1.
    before : int
        How many rows back the quilt reaches; left out for a quilt on one side.
    after : int
        How many rows ahead the quilt reaches; left out for a quilt on one side.

    Returns
    -------
    float
        Rounded up; infinite where a state rules another out.

    Examples
    --------
    >>> round(two_state_influence(0.1, 0.4, 5, 5), 10), round(two_state_influence(0.1, 0.4, after=5), 10)
    (0.2990634679, 0.149531734)
    """
    _probability("p", p), _probability("q", q)
    sides = [
        two_state_log_ratios(p, q, count(name, lag))
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
    gap: float,
    rarest: float,
    before: int | None = None,
    after: int | None = None,
    start: Start = "stationary",
    method: Literal["sharp", "paper"] = "sharp",
) -> float:
    """Return `h(b) + s h(a)`, `h(t) = ln((1 + D)/(1 - D))`, `D = (1 - gap)^t/rho`, `s = 1` or 2 for any start.

    For a reversible chain `|P^t(x,y)/pi(y) - 1| <= (1 - gap)^t/sqrt(pi(x) pi(y)) <= D`, so two rows of `P^t` have
    ratios within `(1 + D)/(1 - D)`. Backwards, Bayes' rule adds the ratio of the row's own law, which is stationary or
    within the same bounds, as it has come at least `a` steps. Derived. `D >= 1` gives infinity.

    Parameters
    ----------
    gap : float
        One minus the largest absolute value of the other eigenvalues, in (0, 1].
    rarest : float
        Stationary probability of the rarest state.
    before : int
        How many rows back the quilt reaches.
    after : int
        How many rows ahead the quilt reaches.
    start : str
        "stationary" or "any".
    method : str
        "sharp", or "paper" with `exp(-gap t)`.

    Returns
    -------
    float
        Rounded up.

    Examples
    --------
    >>> round(spectral_influence(0.5, 0.2, 8, 8), 11), round(spectral_influence(0.5, 0.2, 8, 8, "any", "paper"), 10)
    (0.07813493638, 0.5510129957)
    """
    gap, rarest = check.real("gap", gap, above=0, at_most=1), check.real("rarest", rarest, above=0, at_most=1)
    check.choice("start", start, ("stationary", "any"))
    check.choice("method", method, ("sharp", "paper"))
    total = 0.0
    for name, lag, times in (("before", before, 1 if start == "stationary" else 2), ("after", after, 1)):
        if lag is None:
            continue
        steps = count(name, lag)
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
def birkhoff_influence(diameters: Sequence[float]) -> float:
    """Return `Delta_1 prod_{s >= 2} tanh(Delta_s/4)`, `Delta` the projective diameters of the kernels along the path.

    Evidence on any row multiplies columns by positive numbers, which leaves projective distances as they are; mixing
    rows cannot enlarge them; every further kernel contracts them by `tanh(Delta/4)`. Two laws at projective distance
    `d` have log ratios of at most `d`. Derived from the recalled contraction theorem; checked against enumeration.

    Parameters
    ----------
    diameters : sequence of float
        `max ln K(x,u) K(x',u')/(K(x',u) K(x,u'))` of each kernel, from the record on.

    Returns
    -------
    float
        Rounded up.

    Examples
    --------
    >>> round(birkhoff_influence([math.log(0.98 * 0.2 / (0.02 * 0.8)), math.log(81)]), 8)
    2.00442075
    """
    sizes = check.reals("diameters", diameters, at_least=0)
    return up(sizes[0] * math.prod(math.tanh(size / 4) for size in sizes[1:]), 8 * len(sizes))


@theorem(
    "correlated.ising-influence",
    statement="Max-influence of a spin on its neighbours in an Ising model without field: 2 sum |J|.",
    source="Holdfast",
    conditions="spins +1 and -1, no external field; the quilt is the Markov blanket",
    unit="nats",
    provenance="derived",
)
def ising_influence(couplings: Sequence[float]) -> float:
    """Return `2 sum_j |J_ij|`.

    Without a field both values of a spin have probability one half, so the ratio of the neighbours' probabilities given
    the two values is the ratio of the two values given the neighbours, `exp(2 sum_j J_ij x_j)`. Derived, exact.

    Parameters
    ----------
    couplings : sequence of float
        The couplings of the spin to its neighbours.

    Examples
    --------
    >>> ising_influence([0.2, 0.2])
    0.8000...
    """
    return up(2 * math.fsum(abs(value) for value in check.reals("couplings", couplings)))


def _probability(name: str, value: float) -> float:
    return check.probability(name, value, zero=True, one=True)


__all__ = [
    "LogRatios",
    "Start",
    "birkhoff_influence",
    "ising_influence",
    "spectral_influence",
    "two_state_influence",
    "two_state_log_ratios",
]
