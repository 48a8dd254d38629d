"""The epsilon-DP mechanism that leaks most under a small finite model, by linear programming.

What an output's probability can be, as a function of the database, is any positive function that changes by a factor of
at most `e^epsilon` between neighbours. For one adversary the best such function maximises a ratio of two averages,
a linear program after fixing the denominator. It is solved in a reduced form (derived):

- Only databases that agree with what the adversary knows matter: a function on them that respects the distances extends
  to all others.
- The value under the first record value may be put at `e^epsilon` times that under the second. So the answer is
  `epsilon` plus the log of the largest `sum p(u) g(u) / sum q(u) g(u)` over functions `g` of the unknown records alone,
  where `p` and `q` are their conditional laws.
- At a corner of that program `log g` moves in whole multiples of epsilon. The solver's answer is rounded to the nearest
  such function and evaluated exactly in logarithms, so that the reported value is the leakage of a real mechanism.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linprog

from holdfast import check
from holdfast.correlated.auditor import Array, adversaries, check_joint
from holdfast.correlated.network_factors import log_of, log_sum
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

MOST_DATABASES = 64
"""Largest linear program: six binary records."""
_AGREE = 1e-6


@dataclass(frozen=True)
class WorstMechanism:
    """The worst leakage over all mechanisms of a DP level.

    Attributes
    ----------
    value : float
        The largest Bayesian DP level, in nats.
    record, known : int, tuple of int
        The adversary who gains most.
    epsilon_dp : float
        The level of the mechanisms.
    programs : int
        Linear programs solved; the other adversaries could not have gained more.
    """

    value: float
    record: int
    known: tuple[int, ...]
    epsilon_dp: float
    programs: int


class _Case(NamedTuple):
    """One adversary with what he sees: log laws of the unknown records under two values of the record."""

    bound: float
    record: int
    known: tuple[int, ...]
    above: Array
    below: Array


def worst_mechanism(joint: npt.ArrayLike, epsilon_dp: float) -> WorstMechanism:
    """The largest Bayesian DP level of any `epsilon_dp`-DP mechanism under this law, exactly.

    The mechanism is DP between all databases of the full product domain, which is what conversions assume. Audits the
    surcharges of quilts: no bound may be below it.

    Parameters
    ----------
    joint : array
        The law of the records, one axis for each; at most 64 databases.
    epsilon_dp : float
        The DP level.

    Raises
    ------
    GuaranteeUnavailable
        If the solver fails, or its answer and the mechanism rounded from it disagree: nothing is reported then.

    Notes
    -----
    Adversaries are tried in order of an upper bound, `epsilon_dp * (1 + unknown records)` or `epsilon_dp` plus the
    largest log ratio of the two laws, until no other can gain more.

    Examples
    --------
    >>> step = np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> chain = np.einsum("ab,bc,cd->abcd", step / 2, step, step)
    >>> worst = worst_mechanism(chain, 6.0)
    >>> round(worst.value, 8), worst.record, worst.known
    (8.00173429, 1, (3,))
    """
    law = check_joint(joint)
    epsilon = check.real("epsilon_dp", epsilon_dp, above=0, at_most=500)
    if law.size > MOST_DATABASES:
        raise InvalidParameter(f"joint must have at most {MOST_DATABASES} databases, got {law.size}")
    best = WorstMechanism(-1.0, 0, (), epsilon, 0)
    programs = 0
    for case in sorted(_cases(law, epsilon), key=lambda c: (-c.bound, len(c.known), c.record, c.known)):
        if case.bound <= best.value + 1e-12:
            break
        programs += 1
        value = epsilon + largest_log_ratio(case.above, case.below, epsilon)
        if value > best.value + 1e-12:
            best = WorstMechanism(value, case.record, case.known, epsilon, 0)
    return WorstMechanism(best.value, best.record, best.known, epsilon, programs)


def _cases(law: Array, epsilon: float) -> list[_Case]:
    logs = log_of(law)
    cases = []
    for record, known in adversaries(law.ndim):
        unknown = [j for j in range(law.ndim) if j != record and j not in known]
        table = np.transpose(logs, (record, *known, *unknown)).reshape(
            law.shape[record], -1, *(law.shape[j] for j in unknown)
        )
        axes = tuple(range(2, table.ndim))
        weight = log_sum(table, axes, keep=True)
        for at in range(table.shape[1]):
            possible = [x for x in range(table.shape[0]) if not np.isneginf(weight[x, at]).any()]
            for x, y in itertools.permutations(possible, 2):
                above, below = table[x, at] - weight[x, at], table[y, at] - weight[y, at]
                with np.errstate(invalid="ignore"):
                    gap = float(np.max(np.where(np.isneginf(above), -np.inf, above - below), initial=0.0))
                bound = epsilon + min(gap, epsilon * len(unknown))
                cases.append(_Case(bound, record, known, above, below))
    return cases


def largest_log_ratio(above: Array, below: Array, epsilon: float) -> float:
    """`max ln sum p g / sum q g` over positive `g` with `|ln g(u) - ln g(u')| <= epsilon` between neighbours.

    Parameters
    ----------
    above, below : array
        Log laws `ln p` and `ln q` of the unknown records, one axis for each.
    epsilon : float
        How fast `ln g` may change.

    Examples
    --------
    >>> p, q = np.log([0.9, 0.1]), np.log([0.1, 0.9])
    >>> round(largest_log_ratio(p, q, 1.0), 9) == round(math.log((0.9 * math.e + 0.1) / (0.1 * math.e + 0.9)), 9)
    True
    """
    if above.ndim == 0 or np.array_equal(above, below):
        return 0.0
    places = np.array(list(itertools.product(*(range(k) for k in above.shape))))
    distance = (places[:, None, :] != places[None, :, :]).sum(axis=2)
    p, q = above.ravel(), below.ravel()
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isneginf(p), -np.inf, p - np.where(np.isneginf(q), -1e300, q))
    tried = 0
    for centre in np.argsort(-ratio, kind="stable"):
        tried += 1
        found = _solved(p, q, epsilon, distance, int(centre))
        if found is not None:
            return found
    raise GuaranteeUnavailable(
        f"the linear program for the worst mechanism at epsilon_dp = {epsilon:g} was not solved, after {tried} ways of "
        "scaling it; nothing is reported"
    )


def _solved(p: Array, q: Array, epsilon: float, distance: npt.NDArray[np.int64], centre: int) -> float | None:
    """The optimum, or None where solver and rounded mechanism disagree.

    Variables are `g(u) e^{epsilon d(u, centre)}`, near 1 when `g` peaks at the centre, as it does at the most telling
    place; unscaled, they would span `e^{epsilon n}`.
    """
    count = len(p)
    depth = distance[centre]
    first, second = np.nonzero(distance == 1)
    # g(u) <= e^eps g(v) reads h(u) <= e^{eps (1 + d(u) - d(v))} h(v): a factor of 1, e^eps or e^{2 eps}.
    power = epsilon * (1 + depth[first] - depth[second])
    small = np.exp(-power)  # divide each row by its larger entry
    rows = np.arange(len(first))
    matrix: Any = sparse.csr_array(
        (
            np.concatenate([small, -np.ones(len(first))]),
            (np.concatenate([rows, rows]), np.concatenate([first, second])),
        ),
        shape=(len(first), count),
    )
    weight_p, weight_q = p - epsilon * depth, q - epsilon * depth
    size = float(np.max(weight_q))
    goal = np.exp(weight_p - float(np.max(weight_p)))
    result = linprog(
        -goal,
        A_ub=matrix,
        b_ub=np.zeros(len(first)),
        A_eq=np.exp(weight_q - size)[None, :],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    if result.status != 0 or result.x is None or not (result.x > 0).all():
        return None
    logs = np.log(result.x) - epsilon * depth
    whole = np.rint((logs - logs[centre]) / epsilon).astype(int)
    if (np.abs(whole[first] - whole[second]) > 1).any():
        return None
    value = float(log_sum(p + epsilon * whole, (0,)) - log_sum(q + epsilon * whole, (0,)))
    solver = math.log(-float(result.fun or 0.0)) + float(np.max(weight_p)) - size
    return value if abs(value - solver) <= _AGREE * max(1.0, abs(value)) else None


__all__ = ["WorstMechanism", "largest_log_ratio", "worst_mechanism"]
