"""Pearson's tests without privacy: the reference that the private ones are measured against. They spend no budget
because they protect nobody; on noisy counts their level is lost (up to .995 for .05, spec 5.2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, chdtri

from holdfast.core import arguments
from holdfast.inference.private_tests.counts import histogram, probabilities, table
from holdfast.inference.private_tests.result import TestResult

NOT_PRIVATE = "not private: the exact counts decide; publish nothing of it"


def pearson(counts: npt.ArrayLike, n: int, p: npt.ArrayLike) -> Any:
    """`sum_i (h_i - n p_i)^2 / (n p_i)` over the last axis; `counts` may be noisy and have leading axes. O(d) each.

    Examples
    --------
    >>> round(float(pearson([520, 150, 170, 160], 1000, [0.5, 1 / 6, 1 / 6, 1 / 6])), 10)
    2.8
    """
    expected = n * np.asarray(p)
    return (np.square(np.asarray(counts) - expected) / expected).sum(axis=-1)


def chi_square_sf(statistic: Any, degrees: float) -> Any:
    """`P(chi2(degrees) > statistic)`."""
    tail = chdtrc(degrees, np.maximum(statistic, 0.0))
    return float(tail) if np.ndim(tail) == 0 else tail


def chi_square_critical(degrees: float, alpha: float) -> float:
    """Return the upper `alpha` quantile of chi-square.

    Examples
    --------
    >>> round(chi_square_critical(3, 0.05), 9)
    7.814727903
    """
    return float(chdtri(degrees, alpha))


def gof(counts: Any, p0: Any, *, alpha: float = 0.05, n: int | None = None) -> TestResult:
    """Pearson's goodness-of-fit test (Algorithm 7). Not private.

    Parameters
    ----------
    counts : Counts or list of whole numbers
        The exact counts.
    p0 : list
        The null probabilities, positive, summing to one.
    alpha : float
        The significance level.
    n : int, optional
        The number of records, if it is to be checked.

    Returns
    -------
    TestResult
        `cost` is None. Level asymptotic: `T -> chi2(d - 1)` (Theorem 6.1.1).

    Examples
    --------
    >>> print(gof([240, 262, 238, 260], [0.25] * 4))
    classical GOF: fail to reject at 0.05 (p = 0.5824)
      statistic 1.952, critical value 7.81473; n = 1000
      level asymptotic; not private
      warning: not private: the exact counts decide; publish nothing of it
    """
    alpha = arguments.probability("alpha", alpha)
    checked = histogram(counts, n=n)
    vector = probabilities("p0", p0, checked.cells)
    statistic = float(pearson(checked.values, checked.n, vector))
    degrees = checked.cells - 1
    warnings = [NOT_PRIVATE]
    smallest = checked.n * vector.min()
    if smallest < 5:
        warnings.append(f"the smallest expected count is {smallest:.3g}, below 5: the limit is rough")
    return _result("classical GOF", statistic, degrees, alpha, checked.n, tuple(warnings))


def independence(counts: Any, *, alpha: float = 0.05, minimum_count: float = 5, n: int | None = None) -> TestResult:
    """Pearson's test of independence with the rule of thumb on observed counts (Algorithm 10). Not private.

    Parameters
    ----------
    counts : Counts or a table of whole numbers
        `r` by `c`, at least 2 by 2.
    alpha : float
        The significance level.
    minimum_count : float
        The test is NULL where a cell holds fewer; 5 as printed. An empty row or column is NULL in any case.
    n : int, optional
        The number of records, if it is to be checked.

    Examples
    --------
    >>> round(independence([[255, 193], [301, 251]]).p_value, 10)
    0.4492575288
    >>> independence([[0, 0], [30, 31]]).null_returned
    'a cell holds fewer than 5 records'
    """
    alpha = arguments.probability("alpha", alpha)
    least = arguments.real("minimum_count", minimum_count, at_least=0)
    checked = table(counts, n=n)
    values, total = checked.values, checked.n
    r, c = checked.shape
    rows, columns = values.sum(axis=1), values.sum(axis=0)
    reason = None
    if values.min() < least:
        reason = f"a cell holds fewer than {least:g} records"
    elif min(rows.min(), columns.min()) == 0:
        reason = "a row or a column is empty"
    name = "classical independence"
    if reason is not None:
        return TestResult(
            name, None, None, None, alpha, None, reason, None, "asymptotic", (NOT_PRIVATE,), total, {"shape": (r, c)}
        )
    p = np.outer(rows / total, columns / total).ravel()
    statistic = float(pearson(values.ravel(), total, p))
    return _result(name, statistic, (r - 1) * (c - 1), alpha, total, (NOT_PRIVATE,))


def _result(name: str, statistic: float, degrees: int, alpha: float, n: int, warnings: tuple[str, ...]) -> TestResult:
    p = chi_square_sf(statistic, degrees)
    critical = chi_square_critical(degrees, alpha)
    return TestResult(
        name, statistic, p, critical, alpha, p <= alpha, None, None, "asymptotic", warnings, n, {"degrees": degrees}
    )
