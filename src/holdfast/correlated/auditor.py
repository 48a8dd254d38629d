"""Exact Bayesian leakage of small finite models: of a given mechanism, and of the worst that is epsilon-DP.

For an adversary who knows the records `S` and asks about record `i`, the leakage is the largest log ratio of the
output's probabilities under two values of the record, the unknown rest being averaged with its conditional
distribution. These functions compute it without sampling, over every `i` and `S`, so they audit conversions between DP
and Bayesian DP. Conditioning events of probability zero are excluded, in which the definition leaves no choice.

Closed sets
-----------
Values may span many orders of magnitude; every capacity is judged against its own size, so that a gain of 1e-20 next to
one of 1 is still found.

The worst mechanism
-------------------
What an output's probability can be, as a function of the database, is any positive function that changes by a factor of
at most `e^epsilon` between neighbours. For one adversary the best such function maximises a ratio of two averages, a
linear program after fixing the denominator. Its variables span `e^{n epsilon}`, beyond the tolerance of solvers, so it
is solved by its structure (derived; compared with a solver and with all corners in the tests):

- Only databases that agree with what the adversary knows matter: a function on them that respects the distances extends
  to all others.
- The value under the first record value may be put at `e^epsilon` times that under the second. So the answer is
  `epsilon` plus the log of the largest `sum p(u) g(u) / sum q(u) g(u)` over functions `g` of the unknown records alone,
  where `p` and `q` are their conditional distributions.
- At a corner of that program `log g` moves in whole multiples of epsilon. From a corner with ratio `R` a better one is
  reached by raising a set of databases one step, if any is better at all: a set that is closed under "cannot rise
  without" and on which `sum (p - R q) g` is positive. That is a minimum cut. When there is none, the corner is best.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.core import arguments
from holdfast.correlated.networks.factors import log_of, log_sum
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

Array = npt.NDArray[np.float64]
MOST_CELLS = 2**20
MOST_WORK = 2**31
"""Cells that an audit may touch, over all adversaries: about half a minute."""


@dataclass(frozen=True)
class Leakage:
    """The largest leakage found and where.

    Attributes
    ----------
    value : float
        Nats; infinite where an output is possible under one value and impossible under the other.
    record : int
        Whose value leaks.
    known : tuple of int
        The records that the worst adversary knows.
    """

    value: float
    record: int
    known: tuple[int, ...]


def check_joint(joint: Any) -> Array:
    """Return a joint distribution as a table: one axis for each record, entries that sum to 1.

    Examples
    --------
    >>> check_joint([[0.5, 0.5], [0.5, 0.5]])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: joint must be a table of probabilities that sum to 1 within 1e-9, got sum 2
    """
    try:
        table = np.array(joint, dtype=float)
    except (TypeError, ValueError):
        table = np.array(math.nan)
    if table.ndim == 0 or table.size == 0 or not np.isfinite(table).all() or (table < 0).any():
        raise InvalidParameter("joint must be a table of non-negative numbers with one axis for each record")
    total = float(table.sum())
    if abs(total - 1) > 1e-9:
        raise InvalidParameter(
            f"joint must be a table of probabilities that sum to 1 within 1e-9, got sum {total:.12g}"
        )
    if table.size > MOST_CELLS:
        raise InvalidParameter(
            f"joint must have at most {MOST_CELLS} cells, got {table.size}, because an exact audit is only possible "
            "for small tables"
        )
    return table / total


def adversaries(n: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every record with every set of others, the smaller sets first.

    Examples
    --------
    >>> list(adversaries(2))
    [(0, ()), (0, (1,)), (1, ()), (1, (0,))]
    """
    for record in range(n):
        others = [j for j in range(n) if j != record]
        for size in range(n):
            for known in itertools.combinations(others, size):
                yield record, known


def mechanism_leakage(joint: npt.ArrayLike, mechanism: npt.ArrayLike) -> Leakage:
    """Return the exact level of Bayesian differential privacy of a mechanism with finitely many outputs.

    Parameters
    ----------
    joint : array
        The distribution of the records, one axis for each.
    mechanism : array
        `mechanism[y, x_1, ..., x_n]` is the probability of output `y` on that database.

    Returns
    -------
    Leakage
        The largest over every adversary. Single outputs suffice: the ratio of an event is at most that of one of them.

    Notes
    -----
    Time `O(outputs * 2^n * cells)`.

    Examples
    --------
    One run of a mechanism on a short chain leaks 1.156, two runs more than twice as much: Bayesian levels do not add.

    >>> chain = np.array([[0.43 * 0.85, 0.43 * 0.15], [0.15 * 0.43, 0.15 * 0.57]]) / 0.58
    >>> one = np.array([[0.87, 0.77], [0.80, 0.39]])
    >>> answers = np.stack([1 - one, one])
    >>> round(mechanism_leakage(chain, answers).value, 9)
    1.156455851
    >>> twice = np.stack([a * b for a in answers for b in answers])
    >>> round(mechanism_leakage(chain, twice).value, 9)
    2.445103723
    """
    law = check_joint(joint)
    table = _mechanism(mechanism, law.shape)
    return _worst(law, log_of(table))


def laplace_sum_leakage(joint: npt.ArrayLike, scores: Any, scale: float) -> Leakage:
    """Return the exact level of Bayesian differential privacy of a sum with Laplace noise, `sum_i score_i(x_i) +
    Lap(scale)`.

    Parameters
    ----------
    joint : array
        The distribution of the records.
    scores : sequence
        What each value of a record adds to the sum: one list for all records, or one list a record.
    scale : float
        Of the Laplace noise.

    Notes
    -----
    Between neighbouring values of the sum both output densities are `A e^{y/s} + B e^{-y/s}`, so their ratio is
    monotone there and constant in the tails: its supremum is reached at a value of the sum.

    Examples
    --------
    >>> step, start = np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0.8, 0.2])
    >>> chain = np.einsum("a,ab,bc->abc", start, step, step)
    >>> leak = laplace_sum_leakage(chain, [0, 1], scale=2.0)
    >>> round(leak.value, 9), leak.record, leak.known
    (1.031793804, 1, ())
    """
    law = check_joint(joint)
    scale = arguments.real("scale", scale, above=0)
    lists = _scores(scores, law.shape)
    total = np.zeros(law.shape)
    for axis, values in enumerate(lists):
        total = total + values.reshape([-1 if j == axis else 1 for j in range(law.ndim)])
    points = np.unique(total)
    # Log densities up to a constant, which cancels in every ratio.
    return _worst(law, -np.abs(points.reshape((-1,) + (1,) * law.ndim) - total) / scale)


def _worst(law: Array, logs: Array) -> Leakage:
    """The largest leakage over every adversary; `logs[y, ...]` are log probabilities (or densities) of output `y`."""
    n = law.ndim
    if n * 2 ** (n - 1) * logs.size > MOST_WORK:
        raise InvalidParameter(
            "joint is too large: an exact audit tries every record together with every set of known records; give a "
            "smaller table"
        )
    weights = log_of(law)
    joint = weights + logs
    best = Leakage(-1.0, 0, ())
    for record, known in adversaries(n):
        unknown = tuple(j for j in range(n) if j != record and j not in known)
        weight = log_sum(weights, unknown, keep=True)
        possible = ~np.isneginf(weight)
        given = log_sum(joint, tuple(j + 1 for j in unknown), keep=True) - np.where(possible, weight, 0.0)
        high = np.max(np.where(possible, given, -np.inf), axis=record + 1)
        low = np.min(np.where(possible, given, np.inf), axis=record + 1)
        seen = ~np.isneginf(high)
        value = float(np.max(high[seen] - low[seen], initial=0.0))
        if value > best.value + 1e-12:  # of equal ones, the adversary who knows least
            best = Leakage(value, record, known)
    return best


def _mechanism(mechanism: Any, shape: tuple[int, ...]) -> Array:
    try:
        table = np.array(mechanism, dtype=float)
    except (TypeError, ValueError):
        table = np.array(math.nan)
    if table.shape[1:] != shape or table.ndim != len(shape) + 1 or not (table >= 0).all():
        wanted = ", ".join(map(str, shape))
        raise InvalidParameter(f"mechanism must be a table of probabilities of shape (outputs, {wanted})")
    if not np.allclose(table.sum(axis=0), 1, rtol=0, atol=1e-9):
        raise InvalidParameter("mechanism must have, for every database, probabilities of the outputs that sum to 1")
    return table


def _scores(scores: Any, shape: tuple[int, ...]) -> list[Array]:
    try:
        nested = not np.isscalar(scores[0])
        lists = [np.array(values, dtype=float) for values in (scores if nested else [scores] * len(shape))]
    except (TypeError, ValueError, IndexError):
        lists = []
    if [v.shape for v in lists] != [(k,) for k in shape] or not all(np.isfinite(v).all() for v in lists):
        raise InvalidParameter("scores must have one finite number for each value of each record")
    return lists


_RELATIVE = 1e-12


def best_closed_set(values: Sequence[float], arcs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the smallest set of largest total value among sets that with `u` hold `v` for every arc `(u, v)`.

    Picard's reduction: a source feeds nodes of positive value, nodes of negative value drain, arcs have no limit; what
    the source still reaches after a maximum flow (Edmonds-Karp) is the set. Empty where no closed set is worth more
    than nothing.

    Examples
    --------
    >>> best_closed_set([3.0, -1.0, -5.0, 2.0], [(0, 1), (3, 2)])
    [0, 1]
    >>> best_closed_set([1.0, -1.0, 1e-20], [(0, 1)])
    [2]
    """
    source, sink = len(values), len(values) + 1
    room: list[dict[int, float]] = [{} for _ in range(len(values) + 2)]
    least: list[dict[int, float]] = [{} for _ in range(len(values) + 2)]
    for node, value in enumerate(values):
        if value:
            u, v = (source, node) if value > 0 else (node, sink)
            room[u][v], room[v][u] = abs(value), 0.0
            least[u][v] = least[v][u] = _RELATIVE * abs(value)
    for u, v in arcs:
        room[u][v] = float("inf")
        room[v].setdefault(u, 0.0)
        least[u][v] = 0.0
        least[v].setdefault(u, 0.0)
    while True:
        before = _reached(room, least, source)
        if sink not in before:
            return sorted(node for node in before if node < source)
        path = [sink]
        while path[-1] != source:
            path.append(before[path[-1]])
        steps = list(zip(path[1:], path[:-1], strict=True))
        flow = min(room[u][v] for u, v in steps)
        for u, v in steps:
            room[u][v] -= flow
            room[v][u] += flow


def _reached(room: list[dict[int, float]], least: list[dict[int, float]], source: int) -> dict[int, int]:
    """Nodes with room from the source, each with the node before it."""
    before = {source: source}
    queue = deque([source])
    while queue:
        u = queue.popleft()
        for v, left in room[u].items():
            if v not in before and left > least[u][v]:
                before[v] = u
                queue.append(v)
    return before


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
    """One adversary with what he sees: log distributions of the unknown records under two values of the record."""

    bound: float
    record: int
    known: tuple[int, ...]
    above: Array
    below: Array


def worst_mechanism(joint: npt.ArrayLike, epsilon_dp: float, record: int | None = None) -> WorstMechanism:
    """Return the largest level of Bayesian differential privacy that any `epsilon_dp`-DP mechanism has under this
    distribution.

    The result is exact. The mechanism is DP between all databases of the full product domain, as the conversions
    assume. Use the result to test conversions from differential privacy to Bayesian differential privacy: no valid
    bound may be below it.

    Parameters
    ----------
    joint : array
        The distribution of the records, one axis for each; at most 64 databases.
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
    largest log ratio of the two distributions, until no other can gain more.

    Examples
    --------
    >>> step = np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> chain = np.einsum("ab,bc,cd->abcd", step / 2, step, step)
    >>> worst = worst_mechanism(chain, 6.0)
    >>> round(worst.value, 8), worst.record, worst.known
    (8.00173429, 1, (3,))
    """
    law = check_joint(joint)
    epsilon = arguments.real("epsilon_dp", epsilon_dp, above=0, at_most=100)
    if law.size > MOST_DATABASES:
        raise InvalidParameter(f"joint must have at most {MOST_DATABASES} databases, got {law.size}")
    wanted = (
        range(law.ndim) if record is None else [arguments.whole("record", record, at_least=0, at_most=law.ndim - 1)]
    )
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
        Log distributions `ln p` and `ln q` of the unknown records, one axis for each.
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
        f"the worst mechanism at epsilon_dp = {epsilon:g} was not found in {_STEPS} steps, so there is no result"
    )
