"""One question, chosen after any part of a run of Algorithm 1, on dependent records (Theorem 1 of Zhao 2017, repaired).

The printed quilt form, eq. (8), is false: privacy of the answers cannot make the records concentrate, and for a coin
copied a thousand times it promises what cannot be. The repair colours the records so that no two of a colour are nearby
one another. Write `k` for the smallest class, `t = tanh(b/4)` for the drift, `eps = K 9B/(4 sigma n) + w`.

1. Within a class the other members lie in the quilt of a record or beyond it, so they move its law by at most `t` in
   total variation. A sum over the class is a martingale with steps in intervals of length 1 plus a drift of at most `t`
   a step: a fixed question is off by `tau` on the class with probability at most `2 exp(-2k(tau - t)^2)`.
2. The transcript is `eps`-Bayesian private, also as a function of the class alone. Reveal the class record by record:
   the log ratio `Z` of the output's probability given the records to its own moves, at each record, in an interval of
   length `eps`, and `E[exp(-Z_i)] = 1` given the output and the past. So the drift of `Z` is at most `eps^2/8` a
   record (Hoeffding's lemma), and `P[Z > k eps^2/8 + eps sqrt(k s/2)] <= e^-s` (Azuma), for every joint law.
3. Choosing the question after the transcript therefore costs a factor `exp(k eps^2/8 + eps sqrt(k s/2))` and `e^-s`.
   At `s = 2k(tau - t - eps/4)^2` the exponents are equal and the sum is `3 exp(-2k(tau - t - eps/4)^2)`.
4. If the mean over all records is off by `tau`, the mean over some class is: sum over the classes.

So the price of adaptivity is a quarter of epsilon in accuracy. This is `method="sharp"`. `method="repaired"` takes the
weaker max-information bound `eps^2 k/2 + eps sqrt(k ln(2/beta)/2)` in step 2 (Theorem 1-R of the specification,
reviewed): `4 exp(-r k tau^2)`. `method="paper"` is the printed theorem.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from holdfast import check
from holdfast.bounds.correlated.algorithm1 import run_epsilon
from holdfast.bounds.correlated.quilt_terms import METHODS, Method, QuiltTerms, declared_quilt
from holdfast.bounds.exact import down, up
from holdfast.bounds.holdout.ranges import accuracy, count, failure_probability, laplace_scale


def log_failure(n: int, budget: int, sigma: float, tau: float, quilt: QuiltTerms, method: Method = "sharp") -> float:
    """Natural logarithm of the failure probability of one question, rounded up; 0 where nothing is promised.

    Arguments are not checked. Falls in `n` and `tau`, rises in `budget`.

    Examples
    --------
    >>> round(log_failure(100_000, 10, 0.01, 0.1, QuiltTerms()), 3)
    -1780.23
    """
    epsilon = quilt.epsilon_bdp(run_epsilon(budget, sigma, n), method)
    if method == "paper":
        return min(0.0, up(math.log(4) - n * tau * tau / 9)) if epsilon <= tau / 3 else 0.0
    smallest = n // quilt.classes
    if not math.isfinite(epsilon) or smallest == 0:
        return 0.0
    root = _root(down(tau - quilt.drift), epsilon, method)  # what cancels next must not be too large by a rounding
    if root <= 0:
        return 0.0
    copies = quilt.classes * (3 if method == "sharp" else 4)
    return min(0.0, up(math.log(copies) - smallest * down(root, 16) ** 2, 4))


def _root(room: float, epsilon: float, method: str) -> float:
    """The square root of the exponent a record: `sqrt(2)(room - eps/4)`, or the root of `r tau^2` of Theorem 1-R."""
    if room <= 0:
        return 0.0
    if method == "sharp":
        return math.sqrt(2) * (room - epsilon / 4)
    inside = 8 * room * room - 1.5 * epsilon * epsilon
    return 0.5 * (math.sqrt(inside) - epsilon / math.sqrt(2)) if inside > 0 else 0.0


def rate(alpha: float, room: float = 2.0, method: Method = "repaired") -> float:
    """Theorem 1-R's `r(alpha, u)`: the exponent is `r k tau^2` when `eps = alpha tau` and `u = 2 (1 - t/tau)^2`.

    "sharp" is `(sqrt(u) - alpha/sqrt(8))^2`; "repaired" is `((sqrt(4u - 3 alpha^2/2) - alpha/sqrt(2))/2)^2`. 0 where
    nothing is promised.

    Examples
    --------
    >>> round(rate(1 / 3), 9), round(rate(1), 10), round(rate(1, method="sharp"), 10)
    (1.642379386, 0.8486121811, 1.125)
    """
    alpha, room = check.real("alpha", alpha, at_least=0), check.real("room", room, at_least=0, at_most=2)
    check.choice("method", method, ("sharp", "repaired"))
    return max(_root(math.sqrt(room / 2), alpha, method), 0.0) ** 2


class Terms(NamedTuple):
    """The two sample sizes of Theorem 1 at a fixed `alpha`; infinite where it is infeasible.

    Examples
    --------
    >>> round(terms(10, 0.01, 0.1, 0.05, QuiltTerms(9, 0.002), method="paper").concentration, 6)
    3943.823971
    """

    concentration: float
    privacy: float


def terms(
    budget: int,
    sigma: float,
    tau: float,
    beta: float,
    quilt: QuiltTerms,
    alpha: float = 1 / 3,
    method: Method = "repaired",
) -> Terms:
    """The two requirements on `n` when `eps <= alpha tau` is asked for.

    "repaired" and "sharp": `chi ceil(ln(a chi/beta)/(r tau^2))` with `a` 4 or 3, and `9 B K/(4 sigma (alpha tau -
    w))`. "paper": the printed `9 ln(4/beta)/tau^2` and `9 B K/(4 sigma (tau/3 - 4 b))`, eqs. (7) and (8). A
    denominator that is not positive means infeasible, and is infinity; read literally a negative one would win the
    minimum of (8) and lose the maximum of (7).

    Examples
    --------
    >>> [round(term, 6) for term in terms(10, 0.01, 0.1, 0.05, QuiltTerms(9, 0.002), method="paper")]
    [3943.823971, 799342.105263]
    >>> terms(10, 0.01, 0.1, 0.05, QuiltTerms(9, 0.01), method="paper").privacy
    inf
    """
    budget, sigma, tau, beta = _door(budget, sigma, tau, beta)
    alpha = check.real("alpha", alpha, above=0)
    check.choice("method", method, METHODS)
    if method == "paper":
        left = tau / 3 - 4 * quilt.influence
        first = up(9 * math.log(4 / beta) / tau**2, 8)
    else:
        assert quilt.surcharge is not None
        left = alpha * tau - quilt.surcharge
        room = max(0.0, 1 - quilt.drift / tau)
        exponent = down(rate(alpha, 2 * room * room, method), 32) * tau**2
        copies = quilt.classes * (3 if method == "sharp" else 4)
        size = up(math.log(copies / beta), 8) / exponent if exponent > 0 else math.inf
        first = quilt.classes * math.ceil(size) if math.isfinite(size) else math.inf
    return Terms(first, up(9 * budget * quilt.size / (4 * sigma * left), 16) if left > 0 else math.inf)


def printed_terms(
    budget: int, sigma: float, tau: float, beta: float, blanket: int = 1, influence: float = 0.0
) -> Terms:
    """The two requirements of the printed Theorem 1: eq. (7) with `blanket` 1, eq. (8), which is false, otherwise.

    Examples
    --------
    >>> round(printed_terms(10, 0.01, 0.1, 0.05, influence=0.005).privacy, 6)
    168750.0
    """
    return terms(budget, sigma, tau, beta, declared_quilt(blanket, influence), method="paper")


def _door(budget: int, sigma: float, tau: float, beta: float) -> tuple[int, float, float, float]:
    return count("budget", budget), laplace_scale(sigma), accuracy(tau), failure_probability(beta)


__all__ = ["Terms", "log_failure", "printed_terms", "rate", "terms"]
