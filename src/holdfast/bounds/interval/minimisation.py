"""Minimisation questions: which of several candidates has the least loss, and how far from the best it can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.interval.event_divergence import shift_by_divergence
from holdfast.bounds.interval.width import MOST, door
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import minimise


@dataclass(frozen=True)
class Excess:
    """How far the chosen candidates' population losses are above the least ones, all at once, and what buys it.

    `epsilon` is the privacy parameter of each selection by the exponential mechanism.

    Examples
    --------
    >>> Excess(0.1, 0.02, 1000, 5, 10, 0.05, 0.001).value
    0.1
    """

    half_width: float
    epsilon: float
    n: int
    questions: int
    candidates: int
    beta: float
    sensitivity: float
    certified: bool = True

    @property
    def value(self) -> float:
        """The excess."""
        return self.half_width

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind it."""
        return Guarantee("interval.minimisation", self.to_dict(), "rows independent; questions fixed in number")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": self.half_width,
            "epsilon": self.epsilon,
            "n": self.n,
            "questions": self.questions,
            "candidates": self.candidates,
            "beta": self.beta,
            "sensitivity": self.sensitivity,
        }


@theorem(
    "interval.minimisation",
    statement="Excess population loss of k adaptive selections among T candidates by the exponential mechanism.",
    source="Holdfast: definition of Bassily et al. 2016; mutual information with a quarter of the range",
    conditions="rows independent; replacing one row moves any loss by at most c; k, T, beta fixed in advance; "
    "exponential mechanism; nothing else computed from the rows is released, unless it is charged elsewhere",
    unit="excess",
    provenance="derived",
)
def minimisation(n: int, questions: int, candidates: int, beta: float, sensitivity: float | None = None) -> Excess:
    """Bound `max_j [L_j(D; choice_j) - min_t L_j(D; t)]` for `k` adaptive minimisation questions of `T` candidates.

    Each question is a loss `L_j(x; t)`, of sensitivity `c` in the rows for every candidate `t`; the answer is chosen by
    the exponential mechanism with parameter `epsilon`. With probability `1 - beta` all excesses are at most

        (2c/eps) ln((T-1) k/b2) + c sqrt(2 n y),   kl(b1 || e^-y) = n k eps^2/32,   b1 + b2 = beta,

    least over `eps` and the split. *Derivation* (ours). The first term bounds how far each choice is from the best on
    the sample. For the second, let `j*` be the worst question and `t*` its best candidate on the population: both
    are functions of the transcript, and `q = L_{j*}(.; choice) - L_{j*}(.; t*)` has sensitivity `2c`. On fresh rows it
    is `t` below its mean with probability at most `exp(-t^2/(2 n c^2))` (McDiarmid), and data processing bounds the
    probability on these rows by the information, as in `interval.russo-zou-kl`. *Information.* Given the other rows,
    each loss lies in an interval of length `c`; compare the choice with the one whose scores are the middles. Their
    log-ratio has a range of at most `eps/2`, so the divergence is at most `(eps/2)^2/8` (Hoeffding's lemma): in all
    `n k eps^2/32` nats.

    Parameters
    ----------
    n : int
        Rows in the sample.
    questions : int
        Number of adaptive minimisation questions, fixed in advance.
    candidates : int
        The largest number of candidates of a question, at least 2.
    beta : float
        Probability that any excess is larger.
    sensitivity : float
        How far replacing one row can move a loss; `1/n`, that of means of [0,1] losses, when not given.

    Returns
    -------
    Excess
        Time: about 10 ms.

    Examples
    --------
    >>> found = minimisation(100_000, 10, 50, 0.05)
    >>> round(found.value, 4)
    0.0597
    """
    n, questions, beta = door(n, questions, beta, "gaussian")
    candidates = check.whole("candidates", candidates, at_least=2, at_most=MOST)
    c = 1 / n if sensitivity is None else check.real("sensitivity", sensitivity, at_least=1e-100, at_most=1e100)

    def excess(epsilon: float, part: float) -> float:
        nats = n * questions * epsilon * epsilon / 32
        s = shift_by_divergence(n, nats, part * beta)  # sqrt((ln 2 + y)/(2 n)); one side needs no ln 2
        shift = math.sqrt(2 * n * max(2 * n * s * s - math.log(2), 0.0))
        return 2 / epsilon * math.log((candidates - 1) * questions / ((1 - part) * beta)) + shift

    start = [0.5 * math.log(32 * (1 + math.log(questions)) / (n * questions)), 1.0]
    value, point = minimise(lambda x: excess(math.exp(x[0]), 1 / (1 + math.exp(-x[1]))), [start])
    return Excess(up(c * value, 16), math.exp(point[0]), n, questions, candidates, beta, c)


__all__ = ["Excess", "minimisation"]
