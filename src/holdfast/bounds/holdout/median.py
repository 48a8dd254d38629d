"""The median mechanism: rounds that touch the data, the bits they show and the rows they need (Theorem 34)."""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import accuracy, count, failure_probability
from holdfast.bounds.holdout.sparse_validate import sparse_validate_bits
from holdfast.bounds.registry import theorem


def median_rounds(universe: float, questions: int, tau: float, method: Literal["best", "paper"] = "best") -> float:
    """How many rounds can take the private branch: each halves the set of databases that are still consistent.

    The set starts with `|X|^t` databases and never becomes empty, so there are at most `t log2 |X|` such rounds, with
    `t = log2(m)/alpha^2` and `alpha = tau/3` (Lemma 37). *best* uses a whole `t` and never counts more than `m`
    rounds. For the corrected algorithm: answers rounded to the nearest multiple of `alpha`, radius `3 alpha/2`; with
    the printed radius the set need not shrink at all.

    Examples
    --------
    >>> round(median_rounds(1024, 100, 0.1, method="paper"), 5), median_rounds(1024, 100, 0.1)
    (59794.70571, 100)
    """
    bits, m, alpha = _door(universe, questions, tau, method)
    if method == "paper":
        return bits * math.log2(m) / alpha**2
    return min(m, math.floor(math.ceil(math.log2(m) / alpha**2) * bits))


def median_bits(universe: float, questions: int, tau: float, method: Literal["best", "paper"] = "best") -> float:
    """Base-2 logarithm of the number of transcripts.

    *paper* (Lemma 38): `rounds (log2 m + log2(1/alpha))`, one value short per answer. *best* (derived): at most
    `sum_{j <= rounds} C(m, j) K^j` transcripts with `K = floor(1/alpha + 1/2) + 1` values for a private answer, the
    nearest multiples of `alpha` of numbers in [0, 1].

    Examples
    --------
    >>> round(median_bits(1024, 100, 0.1, method="paper"), 4)
    690673.5047
    """
    _, m, alpha = _door(universe, questions, tau, method)
    rounds = median_rounds(universe, m, tau, method)
    if method == "paper":
        return rounds * (math.log2(m) + math.log2(1 / alpha))
    return sparse_validate_bits(m + 1, max(1, int(rounds)), math.floor(1 / alpha + 0.5) + 1)


@theorem(
    "holdout.median-size",
    statement="Rows at which the (corrected) median mechanism answers m questions within tau.",
    source="Dwork et al. 2015, Theorem 34 (paper); transcripts counted exactly (best)",
    conditions="rows i.i.d.; finite universe; questions fixed in advance, at least 2; corrected algorithm",
    unit="rows",
    provenance="mixed",
)
def median_size(
    universe: float, questions: int, tau: float, beta: float, method: Literal["best", "paper"] = "best"
) -> float:
    """Return `9 (bits ln 2 + ln(2m/beta)) / (2 tau^2)`: answers within `2 tau/3` of the sample, that within `tau/3`.

    The printed form is `81 log2|X| log2(m) ln(3m/tau)/(2 tau^4) + 9 ln(2m/beta)/(2 tau^2)`.

    Parameters
    ----------
    universe : float
        Number of possible rows.
    questions : int
        Number of questions, at least 2.
    tau : float
        Accuracy.
    beta : float
        Probability that any answer is off by `tau` or more.
    method : str
        "best" or "paper".

    Examples
    --------
    >>> round(median_size(1024, 100, 0.1, 0.05, method="paper"), 1)
    215436008.9
    """
    beta = failure_probability(beta)
    _, m, alpha = _door(universe, questions, tau, method)
    bits = median_bits(universe, m, tau, method)
    return up((bits * math.log(2) + math.log(2 * m / beta)) / (2 * alpha**2), 16)


def _door(universe: float, questions: int, tau: float, method: str) -> tuple[float, int, float]:
    bits = math.log2(check.real("universe", universe, above=1))
    m, tau = count("questions", questions, at_least=2), accuracy(tau)
    check.choice("method", method, ("best", "paper"))
    return bits, m, tau / 3


__all__ = ["median_bits", "median_rounds", "median_size"]
