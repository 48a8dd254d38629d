"""Independence where people randomize the two variables one by one: Pearson's test of the randomized table is right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.accounting.costs import PureDP
from holdfast.bounds.exact import float_up
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.classical import chi_square_critical, chi_square_sf, pearson
from holdfast.inference.private_tests.counts import table
from holdfast.inference.private_tests.local.channel import MultinomialChannel
from holdfast.inference.private_tests.local.power import probability_table
from holdfast.inference.private_tests.monte_carlo import rejects
from holdfast.inference.private_tests.question import small_alpha
from holdfast.inference.private_tests.result import TestResult
from holdfast.mechanisms.local import RandomizedResponse
from holdfast.noise.inputs import rational


def separate_independence(
    answers: Any,
    row_randomizer: RandomizedResponse,
    column_randomizer: RandomizedResponse,
    *,
    alpha: float = 0.05,
    minimum_expected: float = 5.0,
) -> TestResult:
    """Test independence of two variables that each person randomized one by one, with randomized response.

    Randomizing the two by themselves maps a law `p` of pairs to `A p B'` with invertible `A` and `B`. So the answers
    are independent exactly when the variables are, and Pearson's test of the table of answers has the level that it
    has anywhere (derived; no hidden parameters are fitted). It is the test for answers that were collected one by one.
    Where one can choose, compare `separate_noncentrality` with `independence_noncentrality` of a randomized pair.

    Parameters
    ----------
    answers : table of whole numbers, or a pair of arrays
        How often each pair was answered, `r` by `c`; or the two answers of each person, rows first.
    row_randomizer, column_randomizer : RandomizedResponse
        With `r` and `c` categories.
    alpha : float
        The level.
    minimum_expected : float
        NULL where an expected count of the answers is below this.

    Returns
    -------
    TestResult
        Cost: the sum of the two epsilons. Level asymptotic, `(r - 1)(c - 1)` degrees.

    Examples
    --------
    >>> coin = RandomizedResponse(2, 1)
    >>> found = separate_independence([[2620, 2410], [2390, 2580]], coin, coin)
    >>> found.reject, found.cost
    (True, PureDP(epsilon=2.0))
    """
    for name, given in (("row_randomizer", row_randomizer), ("column_randomizer", column_randomizer)):
        if not isinstance(given, RandomizedResponse):
            raise InvalidParameter(f"{name} must be a RandomizedResponse, got a {type(given).__name__}")
    level = check.probability("alpha", alpha)
    least = check.real("minimum_expected", minimum_expected, at_least=0)
    counts = _table(answers, row_randomizer, column_randomizer)
    r, c = counts.shape
    n = int(counts.sum())
    amount = rational("epsilon", row_randomizer.epsilon, above=0) + rational(
        "epsilon", column_randomizer.epsilon, above=0
    )
    cost = PureDP(float_up(amount))
    p = np.outer(counts.sum(axis=1) / n, counts.sum(axis=0) / n)
    degrees, name = (r - 1) * (c - 1), "local independence (two randomized responses)"
    details = {"local": True, "degrees": degrees, "sums": counts}
    warnings = small_alpha(level, "about twice the nominal level")
    smallest = float(n * p.min())
    if smallest < least or smallest == 0:
        reason = f"the smallest expected count of an answer is {smallest:.3g}, below {max(least, 1e-300):g}"
        return TestResult(name, None, None, None, level, None, reason, cost, "asymptotic", warnings, n, details)
    statistic = float(pearson(counts.ravel(), n, p.ravel()))
    p_value, critical = chi_square_sf(statistic, degrees), chi_square_critical(degrees, level)
    reject = bool(rejects(p_value, level))
    return TestResult(name, statistic, p_value, critical, level, reject, None, cost, "asymptotic", warnings, n, details)


def separate_noncentrality(row_randomizer: RandomizedResponse, column_randomizer: RandomizedResponse, p: Any) -> float:
    """What one person adds to the noncentrality of `separate_independence` when pairs follow the table `p`.

    `(k1 k2)^2 sum D_ij^2 / (a_i b_j)` with the contrasts `k`, the margins `a` and `b` of the answers, and
    `D = p - rows columns'`. Derived: the answers' table is `A p B'`, and `A D B' = k1 k2 D` where rows and columns of D
    sum to zero.

    Examples
    --------
    >>> coin = RandomizedResponse(2, 1)
    >>> print(f"{separate_noncentrality(coin, coin, [[0.275, 0.225], [0.225, 0.275]]):.6f}")
    0.000456
    """
    truth = probability_table(p)
    if (row_randomizer.categories, column_randomizer.categories) != truth.shape:
        raise InvalidParameter("the randomizers must have as many categories as p has rows and columns")
    rows, columns = truth.sum(axis=1), truth.sum(axis=0)
    a, b = MultinomialChannel(row_randomizer), MultinomialChannel(column_randomizer)
    moved = a.contrast * b.contrast * (truth - np.outer(rows, columns))
    return float((np.square(moved) / np.outer(a.shown(rows), b.shown(columns))).sum())


def _table(
    answers: Any, row_randomizer: RandomizedResponse, column_randomizer: RandomizedResponse
) -> NDArray[np.int64]:
    r, c = row_randomizer.categories, column_randomizer.categories
    if isinstance(answers, tuple) and len(answers) == 2:
        row_randomizer.estimate(answers[0])  # checks the answers
        column_randomizer.estimate(answers[1])
        first, second = np.asarray(answers[0]), np.asarray(answers[1])
        if first.shape != second.shape:
            raise InvalidParameter("answers must be two arrays of one length: two answers a person")
        return np.bincount(first * c + second, minlength=r * c).reshape(r, c)
    counts = table(answers).values
    if counts.shape != (r, c):
        raise InvalidParameter(f"answers must be a table of {r} by {c}, as the randomizers have, got {counts.shape}")
    return counts


__all__ = ["separate_independence", "separate_noncentrality"]
