"""The epsilon-DP mechanism that leaks most under a small finite model: a linear program, solved exactly.

What an output's probability can be, as a function of the database, is any positive function that changes by a factor of
at most `e^epsilon` between neighbours. For one adversary the best such function maximises a ratio of two averages, a
linear program after fixing the denominator. Its variables span `e^{n epsilon}`, beyond the tolerance of solvers, so it
is solved by its structure (derived; compared with a solver and with all corners in the tests):

- Only databases that agree with what the adversary knows matter: a function on them that respects the distances extends
  to all others.
- The value under the first record value may be put at `e^epsilon` times that under the second. So the answer is
  `epsilon` plus the log of the largest `sum p(u) g(u) / sum q(u) g(u)` over functions `g` of the unknown records alone,
  where `p` and `q` are their conditional laws.
- At a corner of that program `log g` moves in whole multiples of epsilon. From a corner with ratio `R` a better one is
  reached by raising a set of databases one step, if any is better at all: a set that is closed under "cannot rise
  without" and on which `sum (p - R q) g` is positive. That is a minimum cut. When there is none, the corner is best.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.correlated.auditor import Array, adversaries, check_joint
from holdfast.correlated.closed_set import best_closed_set
from holdfast.correlated.network_factors import log_of, log_sum
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

MOST_DATABASES = 64
"""Largest model: six binary records."""
_STEPS = 1000
_EQUAL = 1e-13


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
        Programs solved; the other adversaries could not have gained more.
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


def worst_mechanism(joint: npt.ArrayLike, epsilon_dp: float, record: int | None = None) -> WorstMechanism:
    """The largest Bayesian DP level of any `epsilon_dp`-DP mechanism under this law, exactly.

    The mechanism is DP between all databases of the full product domain, which is what conversions assume. Audits the
    surcharges of quilts: no bound may be below it.

    Parameters
    ----------
    joint : array
        The law of the records, one axis for each; at most 64 databases.
    epsilon_dp : float
        The DP level.
    record : int, optional
        Only adversaries who ask about this record.

    Raises
    ------
    GuaranteeUnavailable
        If the best corner is not reached in 1000 steps (a few are usual): nothing is reported then.

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
    epsilon = check.real("epsilon_dp", epsilon_dp, above=0, at_most=100)
    if law.size > MOST_DATABASES:
        raise InvalidParameter(f"joint must have at most {MOST_DATABASES} databases, got {law.size}")
    wanted = range(law.ndim) if record is None else [check.whole("record", record, at_least=0, at_most=law.ndim - 1)]
    cases = [case for case in _cases(law, epsilon) if case.record in wanted]
    best = WorstMechanism(-1.0, wanted[0], (), epsilon, 0)
    programs = 0
    for case in sorted(cases, key=lambda c: (-c.bound, len(c.known), c.record, c.known)):
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
    ratio = np.where(np.isneginf(p), -np.inf, p - np.where(np.isneginf(q), -1e300, q))

    def value(levels: npt.NDArray[np.int64]) -> float:
        return float(log_sum(p + epsilon * levels, (0,)) - log_sum(q + epsilon * levels, (0,)))

    # Start from the best function that falls off with the distance from a set of telling databases.
    starts = [-distance[ratio >= cut].min(axis=0) for cut in np.unique(ratio[~np.isneginf(ratio)])]
    levels = max(starts, key=value)
    first, second = np.nonzero(distance == 1)
    best, seen = -math.inf, set()
    for _ in range(_STEPS):
        now = value(levels)
        best = max(best, now)
        seen.add(tuple(levels.tolist()))
        worth = np.exp(p + epsilon * levels) - np.exp(q + epsilon * levels + now)
        worth[np.abs(ratio - now) < _EQUAL] = 0.0
        steep = levels[first] - levels[second] == 1  # the first cannot rise without the second
        risen = best_closed_set(worth.tolist(), zip(first[steep].tolist(), second[steep].tolist(), strict=True))
        levels = levels.copy()
        levels[risen] += 1
        levels -= levels.max()
        if tuple(levels.tolist()) in seen:  # nothing rose, or only what is worth 0 up to rounding
            return best
    raise GuaranteeUnavailable(
        f"the worst mechanism at epsilon_dp = {epsilon:g} was not found in {_STEPS} steps; nothing is reported"
    )


__all__ = ["WorstMechanism", "largest_log_ratio", "worst_mechanism"]
