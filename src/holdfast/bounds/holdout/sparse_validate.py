"""SparseValidate: exact pass/fail answers with few failures make a short transcript, which a union bound covers."""

from __future__ import annotations

import math
import sys
from typing import Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import accuracy, count, failure_probability
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter

Count = Literal["best", "answered", "paper"]
_EXACT_TERMS = 2000
_MOST_TERMS = 10**6


@theorem(
    "holdout.sparse-validate-transcripts",
    statement="Number of answer strings that can precede question i when at most B answers are nonzero.",
    source="Dwork et al. 2015, Theorem 27, corrected: sum over j <= B of C(i-1, j) values^j",
    conditions="any distribution of the sample; nonzero answers take `values` values; method answered: only questions "
    "that are still answered matter",
    unit="transcripts",
    provenance="mixed",
)
def sparse_validate_transcripts(questions: int, budget: int, values: int = 1, method: Count = "best") -> int:
    """Return the factor by which a bound for a fixed question grows for the `questions`-th adaptive one.

    If for every fixed validation `P[psi(S) = 1] <= beta`, then for the adaptively chosen `i`-th one
    `P[psi_i(S) = 1] <= ell_i beta`, and the same for any bad event about the `i`-th *question*, such as
    `|E_S[phi_i] - P[phi_i]| >= tau`. Given the answers so far the question is fixed; so count answer strings:

    - *best*: `ell_i = sum_{j=0}^{min(i-1, B)} C(i-1, j) L^j`, for every question asked (corrected; reviewed);
    - *answered*: the same up to `B - 1`, enough when only questions that are still answered matter (derived);
    - *paper*: prints `C(i, j)` although the proof counts strings of length `i - 1`; larger, so harmless.

    Parameters
    ----------
    questions : int
        Number of the question, counted from 1; the last one of a run covers them all.
    budget : int
        Nonzero answers after which the run stops.
    values : int
        Nonzero answers that are possible, 1 for pass/fail; a corrected value to precision tau has about 1/tau.
    method : str
        "best", "answered" or "paper".

    Returns
    -------
    int
        Exact, of any size up to what Python prints (`sys.get_int_max_str_digits()`, 4300 digits unless changed);
        beyond that `InvalidParameter` points to `sparse_validate_bits`.

    Examples
    --------
    >>> sparse_validate_transcripts(10, 3), sparse_validate_transcripts(10, 3, method="paper")
    (130, 176)
    >>> sparse_validate_transcripts(1000, 5)
    8250457418200
    """
    length, most, values = _door(questions, budget, values, method)
    limit = sys.get_int_max_str_digits() or 10**9
    digits = _log(length, most, values) / math.log(10)
    if digits >= limit - 1:
        raise InvalidParameter(
            f"questions, budget and values must give a count of at most {limit} digits, got about {digits:.0f}; "
            "holdout.sparse-validate-bits gives its logarithm"
        )
    return _exact(length, most, values)


@theorem(
    "holdout.sparse-validate-bits",
    statement="Base-2 logarithm of the number of answer strings that can precede question i.",
    source="Dwork et al. 2015, Theorem 27, corrected",
    conditions="as for holdout.sparse-validate-transcripts",
    unit="bits",
    provenance="mixed",
)
def sparse_validate_bits(questions: int, budget: int, values: int = 1, method: Count = "best") -> float:
    """Return `log2` of `sparse_validate_transcripts`, for counts of any size.

    Parameters
    ----------
    questions : int
        Number of the question, counted from 1.
    budget : int
        Nonzero answers after which the run stops.
    values : int
        Nonzero answers that are possible, 1 for pass/fail.
    method : str
        "best", "answered" or "paper".

    Examples
    --------
    >>> round(sparse_validate_bits(1000, 5), 6)
    42.907611
    """
    return up(_log(*_door(questions, budget, values, method)) / math.log(2), 16)


@theorem(
    "holdout.sparse-validate-size",
    statement="Rows at which SparseValidate answers m questions with B failures to tolerance tau.",
    source="Holdfast: Theorem 27 (corrected) with Hoeffding's inequality",
    conditions="rows independent; means of [0,1] values; questions and budget fixed in advance",
    unit="rows",
    provenance="derived",
)
def sparse_validate_size(tau: float, beta: float, questions: int, budget: int, values: int = 1) -> float:
    """Return `(ln(2m/beta) + ln ell_m)/(2 tau^2)`: all `m` empirical means are within `tau` of the truth.

    Parameters
    ----------
    tau : float
        Tolerance of the comparison on the holdout.
    beta : float
        Probability that any of the questions is off by more.
    questions : int
        Number of questions, fixed in advance.
    budget : int
        Failures after which the run stops.
    values : int
        Values that a failure may show, 1 for pass/fail only.

    Returns
    -------
    float
        Rows, not rounded to a whole number.

    Examples
    --------
    >>> round(sparse_validate_size(0.05, 0.05, 1000, 5), 6)
    8067.584898
    """
    tau, beta = accuracy(tau, one=True), failure_probability(beta)
    length, most, values = _door(questions, budget, values, "best")
    return up((math.log(2 * (length + 1) / beta) + _log(length, most, values)) / (2 * tau * tau), 16)


@theorem(
    "holdout.sparse-validate-budget",
    statement="Failures that SparseValidate affords on n rows for m questions to tolerance tau.",
    source="Holdfast: inverse of holdout.sparse-validate-size; method paper: floor(tau^2 n / ln m)",
    conditions="rows independent; means of [0,1] values; questions fixed in advance",
    unit="failures",
    provenance="mixed",
)
def sparse_validate_budget(
    n: int, tau: float, beta: float, questions: int, values: int = 1, method: Literal["best", "paper"] = "best"
) -> int:
    """Return the largest budget with `sparse_validate_size(...) <= n`; 0 when none.

    *paper*: `floor(tau^2 n/ln m)`, the simplified form whose failure probability is `2 exp(-tau^2 n)` per question
    and not `beta`.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    tau : float
        Tolerance of the comparison on the holdout.
    beta : float
        Probability that any of the questions is off by more; unused by "paper".
    questions : int
        Number of questions, fixed in advance.
    values : int
        Values that a failure may show, 1 for pass/fail only.
    method : str
        "best" or "paper".

    Examples
    --------
    >>> sparse_validate_budget(10_000, 0.05, 0.05, 1000)
    6
    """
    n, tau = count("n", n), accuracy(tau, one=True)
    beta, m = failure_probability(beta), count("questions", questions)
    values = check.whole("values", values, at_least=1)
    if check.choice("method", method, ("best", "paper")) == "paper":
        return min(m, math.floor(tau * tau * n / math.log(m))) if m > 1 else m
    low, high = 0, m + 1
    if sparse_validate_size(tau, beta, m, m, values) <= n:
        return m
    while high - low > 1:
        middle = min(2 * low + 1, (low + high) // 2)  # small budgets are the usual answer and the cheap ones
        low, high = (middle, high) if sparse_validate_size(tau, beta, m, middle, values) <= n else (low, middle)
    return low


def _door(questions: int, budget: int, values: int, method: str) -> tuple[int, int, int]:
    """The length of the strings, the most nonzero entries, and the number of nonzero symbols."""
    i = count("questions", questions, at_least=1, at_most=10**15)
    b = count("budget", budget)
    values = check.whole("values", values, at_least=1)
    check.choice("method", method, ("best", "answered", "paper"))
    length = i if method == "paper" else i - 1
    return length, min(length, b - 1 if method == "answered" else b), values


def _exact(length: int, most: int, values: int) -> int:
    if most == length:
        return int((1 + values) ** length)
    term = total = 1
    for j in range(most):
        term = term * (length - j) * values // (j + 1)
        total += term
    return total


def _log(length: int, most: int, values: int) -> float:
    """The natural logarithm of the count: exact integers while they are short, log-gamma beyond, rounded up."""
    if most == length:
        return length * math.log1p(values)
    if most <= _EXACT_TERMS:
        return math.log(_exact(length, most, values))
    import numpy as np
    from scipy.special import gammaln

    size, whole = float(length), length * math.log1p(values)
    slack = 1e-14 * math.lgamma(size + 1)  # log-gamma is good to a few units in the last place of its largest term
    if most > _MOST_TERMS:
        # terms grow by at least 1/ratio up to the last one, so a geometric series bounds the sum
        last = math.lgamma(size + 1) - math.lgamma(most + 1.0) - math.lgamma(size - most + 1) + most * math.log(values)
        ratio = most / ((length - most + 1) * values)
        return min(whole, last - math.log1p(-ratio) + slack) if ratio < 1 else whole
    j = np.arange(most + 1, dtype=float)
    terms = gammaln(size + 1) - gammaln(j + 1) - gammaln(size - j + 1) + j * math.log(values)
    peak = float(terms.max())
    return min(whole, peak + math.log(float(np.exp(terms - peak).sum())) + slack)


__all__ = [
    "sparse_validate_bits",
    "sparse_validate_budget",
    "sparse_validate_size",
    "sparse_validate_transcripts",
]
