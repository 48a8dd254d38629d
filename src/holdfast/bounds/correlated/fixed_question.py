"""The width of one fixed question on dependent rows: Hoeffding's, with the effective number of rows.

This is all that guess and check needs under dependence. Given the transcript before it a question is fixed, so a tail
bound for a fixed question at the transcript's share of the failure probability is enough. No privacy, no quilt and no
colouring enters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import count
from holdfast.bounds.one_question import inputs
from holdfast.bounds.registry import theorem


@theorem(
    "correlated.fixed-question-width",
    statement="Half-width of a fixed question on dependent rows: bias + sqrt(ln(2c/p) / (2 n_eff)).",
    source="Holdfast; the sub-Gaussian bounds of the correlated.effective-n entries",
    conditions="mean of [0, 1] values, the i-th a function of row i; model, effective_n, start_ratio and bias fixed "
    "before the data; two-sided",
    unit="half-width",
    provenance="derived",
)
def fixed_question_width(effective_n: float, share: float, start_ratio: float = 1.0, bias: float = 0.0) -> float:
    """Return `bias + sqrt(ln(2 c/p)/(2 n_eff))`, valid for every `p`. Derived, reviewed.

    Parameters
    ----------
    effective_n : float
        From one of the `correlated.effective-n` entries. Several may apply; take the largest, which depends on the
        declared model only.
    share : float
        The probability `p` with which the interval may miss.
    start_ratio : float
        `c`, at least 1: how much likelier a state may be at the start than under the stationary law. 1 unless
        `effective_n` is that of a stationary chain which starts elsewhere.
    bias : float
        How far the expectation given the training rows may be from the target (`correlated.time-split-bias`).

    Returns
    -------
    float
        Rounded up; from 0.5 on it says nothing. Time: microseconds.

    Examples
    --------
    >>> round(fixed_question_width(210.5263158, 1e-6), 7), round(fixed_question_width(4000, 1e-6), 7)
    (0.1856288, 0.0425862)
    """
    share = check.probability("share", share)
    return fixed_question_half_width(effective_n, math.log(share), start_ratio, bias)


def fixed_question_half_width(
    effective_n: float, log_share: float, start_ratio: float = 1.0, bias: float = 0.0
) -> float:
    """`fixed_question_width` at the natural logarithm of the share, for shares below the floating range.

    Examples
    --------
    >>> round(fixed_question_half_width(1000.0, -100.0), 7)
    0.2243804
    """
    effective_n = check.real("effective_n", effective_n, above=0, at_most=1e18)
    log_share = inputs.share(log_share)
    start_ratio = check.real("start_ratio", start_ratio, at_least=1, infinite=True)
    bias = check.real("bias", bias, at_least=0)
    return up(bias + up(math.sqrt((math.log(2) + math.log(start_ratio) - log_share) / (2 * effective_n)), 16))


@theorem(
    "correlated.beta-mixing-width",
    statement="Half-width of a fixed question on beta-mixing rows: sqrt(a ln(4/p)/(2n)) at the least a with "
    "n beta(a) <= p/2.",
    source="Berbee 1979 (coupling); Hoeffding 1963",
    conditions="beta(a) bounds the mixing coefficient between the past and what comes a rows later, for every row; "
    "values in [0, 1]",
    unit="half-width",
    provenance="derived",
)
def beta_mixing_width(n: int, share: float, coefficients: Sequence[float]) -> float:
    """Half-width from declared beta-mixing coefficients `beta(1), beta(2), ...`; `inf` where none is small enough.

    Rows `a` apart form `a` classes. Berbee's coupling replaces each row of a class by a copy that is independent of the
    class's earlier rows, at a price of `beta(a)` a row, `n beta(a)` in all; every class then has independent rows, and
    `a` colours have `n_eff = n/a`. Half the share pays for the coupling, half for the tail. Derived. Alpha-mixing alone
    is refused: no explicit constant is known to us.

    Parameters
    ----------
    n : int
        Rows.
    share : float
        The probability `p` with which the interval may miss.
    coefficients : sequence of float
        Bounds on `beta(1), beta(2), ...`.

    Returns
    -------
    float
        Rounded up.

    Examples
    --------
    >>> round(beta_mixing_width(10**6, 0.05, [2.0**-a for a in range(60)]), 7)
    0.0076914
    >>> beta_mixing_width(10**6, 0.05, [0.1])
    inf
    """
    n, share = count("n", n), check.probability("share", share)
    declared = check.reals("coefficients", coefficients, at_least=0, at_most=1)
    for apart, coefficient in enumerate(declared, start=1):
        if up(n * coefficient) <= share / 2:
            if apart >= n:
                break
            return up(math.sqrt(apart * (math.log(4) - math.log(share)) / (2 * n)), 16)
    return math.inf


__all__ = ["beta_mixing_width", "fixed_question_half_width", "fixed_question_width"]
