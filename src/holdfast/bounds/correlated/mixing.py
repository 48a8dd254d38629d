"""How fast a chain forgets: the sums of its mixing coefficients, and what an earlier row leaves behind.

`delta_t` is the largest total variation distance between the laws of row `i + t` given two values of row `i` (over all
values and start times; the state is the whole row). For a process that is no Markov chain the two values are two
pasts. `G = sum_{t >= 1} delta_t` is what the widths for chains need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import count
from holdfast.bounds.registry import theorem

Tail = Literal["markov", "hold"]
TAILS = ("markov", "hold")
#: Coefficients are written out up to this lag; beyond it their sum is bounded in closed form.
HORIZON = 1_000_000


@theorem(
    "correlated.mixing-sum",
    statement="Bound on G, the sum over lags of the mixing coefficients of a chain, from one declared number.",
    source="Holdfast; sub-multiplicativity of the coefficients (Dobrushin)",
    conditions="Markov chain of complete rows, any start, also inhomogeneous; the number holds for every start time",
    unit="rows",
    provenance="derived",
)
def mixing_sum(lag: int, coefficient: float = 0.5) -> float:
    """Return `l - 1 + l d/(1 - d)` where `d` bounds `delta_l` at one lag `l`.

    Derived, reviewed. Coefficients are at most 1 and `delta_{s+t} <= delta_s delta_t`, so lags 1 to `l - 1` add at most
    `l - 1`, and the `l` lags from `j l` on add at most `l d^j` each round. At `l = 1` this is Dobrushin's
    `d/(1 - d)`. A mixing time (distance 1/4 to the stationary law, from every start) is a lag with `d = 1/2`, the
    default here: `G <= 2 t_mix - 1`.

    Parameters
    ----------
    lag : int
        The lag `l`, at least 1; a mixing time with the default coefficient.
    coefficient : float
        A bound on `delta_l`; at 1 there is no bound.

    Returns
    -------
    float
        Rounded up; `inf` at coefficient 1.

    Examples
    --------
    >>> mixing_sum(10), round(mixing_sum(1, 0.9), 9)
    (19.0..., 9.0)
    """
    lag = count("lag", lag)
    coefficient = check.probability("coefficient", coefficient, zero=True, one=True)
    if coefficient == 1:
        return math.inf
    return up(lag - 1 + lag * coefficient / (1 - coefficient), 8)


def mixing_coefficients(deltas: Sequence[float], lags: int, tail: Tail = "markov") -> NDArray[np.float64]:
    """The coefficients of lags 1 to `lags`, beyond the declared ones by an upper bound.

    "markov" uses `delta_{j l + r} <= delta_l^j delta_r`, which needs a Markov chain; "hold" repeats the last declared
    coefficient, which needs only that they do not increase. Both are bounds; a coefficient is never padded with 0.
    Time and memory `O(lags)`.

    Examples
    --------
    >>> mixing_coefficients([0.5, 0.2], 5).round(6).tolist()
    [0.5, 0.2, 0.1, 0.04, 0.02]
    >>> mixing_coefficients([0.5, 0.2], 4, "hold").tolist()
    [0.5, 0.2, 0.2, 0.2]
    """
    declared = declared_coefficients(deltas)
    lags = check.whole("lags", lags, at_least=0, at_most=100 * HORIZON)
    check.choice("tail", tail, TAILS)
    length = len(declared)
    if lags <= length:
        return declared[:lags]
    if tail == "hold":
        return np.concatenate([declared, np.full(lags - length, declared[-1])])
    rounds, rest = np.divmod(np.arange(1, lags + 1), length)
    with np.errstate(under="ignore"):
        extended: NDArray[np.float64] = declared[-1] ** rounds * np.concatenate([[1.0], declared])[rest]
    # rounding of powers is upwards enough: coefficients count for their sum, which callers raise
    return np.minimum(np.minimum.accumulate(extended), 1.0)


def declared_coefficients(deltas: Sequence[float]) -> NDArray[np.float64]:
    """Check declared coefficients: in [0, 1], and made non-increasing, which true coefficients are.

    Examples
    --------
    >>> declared_coefficients([0.5, 0.25]).tolist()
    [0.5, 0.25]
    """
    values = np.array(check.reals("deltas", deltas, at_least=0, at_most=1))
    return np.minimum.accumulate(values)


def tail_sum(deltas: Sequence[float], tail: Tail = "markov") -> float:
    """Bound on `sum_{t >= 1} delta_t` from declared coefficients; `inf` where they do not vanish.

    Examples
    --------
    >>> round(tail_sum([0.9]), 9), tail_sum([0.9], "hold"), round(tail_sum([1.0, 0.5]), 9)
    (9.0, inf, 3.0)
    """
    declared = declared_coefficients(deltas)
    check.choice("tail", tail, TAILS)
    last = float(declared[-1])
    total = math.fsum(declared.tolist())
    if last == 0:
        return up(total)
    if last == 1 or tail == "hold":
        return math.inf
    before = total - last  # the lags 1 to l - 1; each later round of l lags is at most `last` times 1 plus these
    return up(before + (1 + before) * last / (1 - last), 16)


def lags_that_count(deltas: Sequence[float], tail: Tail = "markov") -> int:
    """Lags after which the coefficients add less than a double shows; at most a million, and at least the declared.

    Examples
    --------
    >>> lags_that_count([0.5]), lags_that_count([0.5], "hold")
    (61, 1000000)
    """
    declared = declared_coefficients(deltas)
    last, length = float(declared[-1]), len(declared)
    if last == 0:
        return min(length, HORIZON)
    if last == 1 or tail == "hold":
        return HORIZON
    return max(length, min(HORIZON, length * math.ceil(1 - 41 / math.log(last))))


@theorem(
    "correlated.time-split-bias",
    statement="How far the mean of a question given earlier training rows of the same series is from its mean.",
    source="Holdfast; definition of the mixing coefficients",
    conditions="all training rows lie before the holdout; values in [0, 1]; Markov chain for tail markov",
    unit="bias",
    provenance="derived",
)
def time_split_bias(n: int, gap: int, deltas: Sequence[float], tail: Tail = "markov") -> float:
    """Return `(1/n) sum_{t=0}^{n-1} delta_{g+t}`.

    Derived, reviewed. Given the training rows, holdout row number `t` (from 0) has a law within `delta_{g+t}` of its
    own law in total variation, and a value in [0, 1] moves by at most that. So a gap shrinks the bias and is not needed
    for validity. Beyond a million lags the rest is bounded by the sum of the coefficients.

    Parameters
    ----------
    n : int
        Rows of the holdout.
    gap : int
        Index of the first holdout row minus index of the last training row: 1 when they are adjacent.
    deltas : sequence of float
        Bounds on `delta_1, delta_2, ...`.
    tail : str
        "markov": later coefficients by sub-multiplicativity; "hold": the last one for ever.

    Examples
    --------
    >>> f"{time_split_bias(4000, 20, [0.9]):.9e}"
    '3.039416365e-04'
    """
    n, gap = count("n", n), check.whole("gap", gap, at_least=1, at_most=HORIZON)
    lags = min(n, HORIZON)
    coefficients = mixing_coefficients(deltas, gap - 1 + lags, tail)
    total = math.fsum(coefficients[gap - 1 :].tolist())
    if lags < n:
        rest = tail_sum(deltas, tail) - math.fsum(coefficients.tolist())
        total += min(max(rest, 0.0) + 1e-9, (n - lags) * float(coefficients[-1]))
    return up(min(total * (1 + 1e-13) / n, 1.0))


def autoregressive_start_ratio(last: float, coefficient: float, gap: int = 1) -> float:
    """Return `c = exp(x^2/2)/sqrt(1 - phi^(2g))`: how much likelier a state is given the last training row.

    For a standardised Gaussian AR(1): given `x`, the row `g` steps later is normal with mean `phi^g x` and variance
    `1 - phi^(2g)`; its density over the standard normal one is largest at `x/phi^g`, with this value. Derived. The
    stationary width with this `c` needs the last training row to be public.

    Examples
    --------
    >>> round(autoregressive_start_ratio(0.0, 0.5), 9)
    1.154700538
    """
    last = check.real("last", last, at_least=-1e6, at_most=1e6)
    coefficient = check.real("coefficient", coefficient, above=-1, below=1)
    gap = count("gap", gap)
    exponent = last * last / 2 - 0.5 * math.log1p(-math.exp(2 * gap * math.log(abs(coefficient)))) if coefficient else 0
    return up(math.exp(exponent), 64) if exponent < 700 else math.inf


def two_state_coefficients(p: float, q: float, lags: int) -> NDArray[np.float64]:
    """`delta_t = |1 - p - q|^t` of the two-state chain that leaves state 0 with probability `p` and 1 with `q`.

    Examples
    --------
    >>> two_state_coefficients(0.05, 0.05, 2).round(9).tolist()
    [0.9, 0.81]
    """
    p, q = check.probability("p", p, zero=True, one=True), check.probability("q", q, zero=True, one=True)
    lags = check.whole("lags", lags, at_least=1, at_most=HORIZON)
    with np.errstate(under="ignore"):
        powers: NDArray[np.float64] = abs(1 - p - q) ** np.arange(1.0, lags + 1)
    return powers


__all__ = [
    "HORIZON",
    "TAILS",
    "Tail",
    "autoregressive_start_ratio",
    "declared_coefficients",
    "lags_that_count",
    "mixing_coefficients",
    "mixing_sum",
    "tail_sum",
    "time_split_bias",
    "two_state_coefficients",
]
