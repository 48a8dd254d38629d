"""SparseValidate: exact pass/fail answers with few failures make a short transcript, which a union bound covers."""

from __future__ import annotations

import math
import sys
from typing import Annotated, Any, Literal

from holdfast.bounds.inverse import solve
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import (
    MOST,
    Accuracy,
    AnswerValues,
    Budget,
    Domain,
    FailureProbability,
    Questions,
    Rows,
    checked,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

# --- Sparse validate --------------------------------------------------------------------------------------------------

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
def sparse_validate_transcripts(
    questions: Annotated[Questions, Domain("The number of the question, counted from 1.", at_most=10**15)],
    budget: Annotated[Budget, "The number of nonzero answers after which the run stops."],
    values: AnswerValues = 1,
    method: Count = "best",
) -> int:
    """Return how many answer strings can precede the last of `questions` adaptive questions when at most `B` fail.

    A bound on the failure probability of a fixed question, multiplied by this number, holds for the `i`-th adaptively
    chosen question. `L = values` is the number of different nonzero answers, and the method selects the count `ell_i`:

    - *best*: `ell_i = sum_{j=0}^{min(i-1, B)} C(i-1, j) L^j`, for every question asked.
    - *answered*: the same sum up to `B - 1`. It is enough if only the questions that still get an answer matter.
    - *paper*: the published form with `C(i, j)`. It is larger than needed and therefore valid.

    Returns
    -------
    int
        Exact, of any size up to what Python prints (`sys.get_int_max_str_digits()`, 4300 digits unless changed);
        beyond that `InvalidParameter` points to `sparse_validate_bits`.

    Notes
    -----
    *best* is corrected and reviewed, *answered* derived. If for every fixed validation `P[psi(S) = 1] <= beta`, then
    for the adaptively chosen `i`-th one `P[psi_i(S) = 1] <= ell_i beta`, and the same for any bad event about the
    `i`-th *question*, such as `|E_S[phi_i] - P[phi_i]| >= tau`. Given the answers so far the question is fixed, so
    count answer strings. The paper prints `C(i, j)` although its proof counts strings of length `i - 1`.

    Examples
    --------
    >>> sparse_validate_transcripts(10, 3), sparse_validate_transcripts(10, 3, method="paper")
    (130, 176)
    >>> sparse_validate_transcripts(1000, 5)
    8250457418200
    """
    length, most, values = _inputs(questions, budget, values, method)
    limit = sys.get_int_max_str_digits() or 10**9
    digits = _log(length, most, values) / math.log(10)
    if digits >= limit - 1:
        raise InvalidParameter(
            f"the count for these questions, budget and values has about {digits:.0f} digits, more than the limit of "
            f"{limit}; use holdout.sparse-validate-bits, which returns its logarithm"
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
def sparse_validate_bits(
    questions: Annotated[Questions, Domain("The number of the question, counted from 1.", at_most=10**15)],
    budget: Annotated[Budget, "The number of nonzero answers after which the run stops."],
    values: AnswerValues = 1,
    method: Count = "best",
) -> float:
    """Return the base-2 logarithm of `sparse_validate_transcripts`, for counts of any size.

    Examples
    --------
    >>> round(sparse_validate_bits(1000, 5), 6)
    42.907611
    """
    return up(_log(*_inputs(questions, budget, values, method)) / math.log(2), 16)


@theorem(
    "holdout.sparse-validate-size",
    statement="Rows at which SparseValidate answers m questions with B failures to tolerance tau.",
    source="Holdfast: Theorem 27 (corrected) with Hoeffding's inequality",
    conditions="rows independent; means of [0,1] values; questions and budget fixed in advance",
    unit="rows",
    provenance="derived",
)
def sparse_validate_size(
    tau: Annotated[Accuracy, Domain("The tolerance of the comparison on the holdout.", at_most=1)],
    beta: FailureProbability,
    questions: Annotated[Questions, Domain(at_most=10**15)],
    budget: Budget,
    values: AnswerValues = 1,
) -> float:
    """Return the number of rows at which SparseValidate answers `m` questions to tolerance `tau`.

    It is `(ln(2m/beta) + ln ell_m)/(2 tau^2)`, where `ell_m` is the result of `sparse_validate_transcripts`. With this
    many rows all `m` empirical means are within `tau` of the population means with probability at least `1 - beta`.

    Returns
    -------
    float
        Rows, not rounded to a whole number.

    Examples
    --------
    >>> round(sparse_validate_size(0.05, 0.05, 1000, 5), 6)
    8067.584898
    """
    length, most, values = _inputs(questions, budget, values, "best")
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
    n: Rows,
    tau: Annotated[Accuracy, Domain("The tolerance of the comparison on the holdout.", at_most=1)],
    beta: Annotated[FailureProbability, "The probability with which the bound may fail; unused by 'paper'."],
    questions: Annotated[Questions, Domain(at_most=10**15)],
    values: AnswerValues = 1,
    method: Literal["best", "paper"] = "best",
) -> int:
    """Return the largest number of failed questions that SparseValidate affords on `n` rows; 0 if there is none.

    It is the largest budget with `sparse_validate_size(...) <= n`. The method *paper* returns `floor(tau^2 n/ln m)`, a
    simplified form. Its failure probability is `2 exp(-tau^2 n)` for each question, not `beta`.

    Examples
    --------
    >>> sparse_validate_budget(10_000, 0.05, 0.05, 1000)
    6
    """
    m = questions
    if method == "paper":
        return min(m, math.floor(tau * tau * n / math.log(m))) if m > 1 else m
    if sparse_validate_size(tau, beta, m, m, values) <= n:
        return m
    at: dict[str, Any] = {"tau": tau, "beta": beta, "questions": m, "values": values}
    try:
        # small budgets are the usual answer and the cheap ones
        return int(solve(sparse_validate_size, for_="budget", target=n, near=2, **at))
    except GuaranteeUnavailable:
        return 0


@theorem(
    "holdout.sparse-validate-width",
    statement="How far any of m holdout means is from the truth when only pass/fail answers were shown.",
    source="Holdfast: Theorem 27 of Dwork et al. 2015 (corrected) with Hoeffding's inequality",
    conditions="rows independent; means of [0,1] values; questions and budget fixed in advance",
    unit="half-width",
    provenance="derived",
)
def sparse_validate_width(
    n: Rows,
    beta: FailureProbability,
    questions: Annotated[Questions, Domain(at_most=10**15)],
    budget: Annotated[Budget, Domain("The number of failures after which the run still goes on.", at_least=0)],
    values: AnswerValues = 1,
) -> float:
    """Return how far any of `m` holdout means may be from the population mean when only passes and failures were shown.

    It is `sqrt((ln(2m/beta) + ln ell_m)/(2n))`, the inverse of `sparse_validate_size`. With a budget of 0 the first
    failed question ends the run. Nothing is learned before the last question in that case, so the result is the width
    for questions fixed in advance.

    Examples
    --------
    >>> round(sparse_validate_width(10_000, 0.05, 1000, 10), 5)
    0.0568
    """
    m = questions
    log_strings = 0.0 if budget == 0 else sparse_validate_bits(m, budget, values) * math.log(2)
    return up(math.sqrt((math.log(2 * m) - math.log(beta) + log_strings) / (2 * n)), 16)


def _inputs(questions: int, budget: int, values: int, method: str) -> tuple[int, int, int]:
    """The length of the strings, the most nonzero entries, and the number of nonzero symbols."""
    i = arguments.whole("questions", questions, at_least=1, at_most=10**15)
    b = checked("budget", Budget, budget)
    values = arguments.whole("values", values, at_least=1)
    arguments.choice("method", method, ("best", "answered", "paper"))
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


# --- Median -----------------------------------------------------------------------------------------------------------
# The median mechanism: rounds that touch the data, the bits they show and the rows they need (Theorem 34).


def median_rounds(universe: float, questions: int, tau: float, method: Literal["best", "paper"] = "best") -> float:
    """Return how many rounds of the median mechanism can give a private answer from the data.

    Each such round removes at least half of the databases that are still consistent with the answers. The set starts
    with `|X|^t` databases and never becomes empty. So there are at most `t log2 |X|` such rounds, with `t =
    log2(m)/alpha^2` and `alpha = tau/3` (Lemma 37), for `m` questions and `|X|` possible rows. The method *best* rounds
    `t` up to a whole number and never counts more than `m` rounds.

    Notes
    -----
    This is for the corrected algorithm: answers rounded to the nearest multiple of `alpha`, radius `3 alpha/2`. With
    the printed radius the set need not shrink at all.

    Examples
    --------
    >>> round(median_rounds(1024, 100, 0.1, method="paper"), 5), median_rounds(1024, 100, 0.1)
    (59794.70571, 100)
    """
    bits, m, alpha = _median_inputs(universe, questions, tau, method)
    if method == "paper":
        return bits * math.log2(m) / alpha**2
    return min(m, math.floor(math.ceil(math.log2(m) / alpha**2) * bits))


def median_bits(universe: float, questions: int, tau: float, method: Literal["best", "paper"] = "best") -> float:
    """Return the base-2 logarithm of the number of transcripts that a run of the median mechanism can have.

    The method *paper* (Lemma 38) uses `rounds (log2 m + log2(1/alpha))`, which counts one value too few for each
    answer. The method *best* counts at most `sum_{j <= rounds} C(m, j) K^j` transcripts. A private answer has `K =
    floor(1/alpha + 1/2) + 1` possible values: the nearest multiples of `alpha` of numbers in [0, 1].

    Notes
    -----
    *best* is derived.

    Examples
    --------
    >>> round(median_bits(1024, 100, 0.1, method="paper"), 4)
    690673.5047
    """
    _, m, alpha = _median_inputs(universe, questions, tau, method)
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
    universe: Annotated[float, Domain("The number of possible rows.", above=1, typical=1024)],
    questions: Annotated[Questions, Domain(at_least=2)],
    tau: Accuracy,
    beta: FailureProbability,
    method: Literal["best", "paper"] = "best",
) -> float:
    """Return the number of rows at which the median mechanism answers `m` questions within `tau`.

    It is `9 (bits ln 2 + ln(2m/beta)) / (2 tau^2)`, where `bits` is the result of `median_bits`. With this many rows
    all answers are within `2 tau/3` of the sample means, and the sample means are within `tau/3` of the population
    means.

    Notes
    -----
    The printed form is `81 log2|X| log2(m) ln(3m/tau)/(2 tau^4) + 9 ln(2m/beta)/(2 tau^2)`.

    Examples
    --------
    >>> round(median_size(1024, 100, 0.1, 0.05, method="paper"), 1)
    215436008.9
    """
    _, m, alpha = _median_inputs(universe, questions, tau, method)
    bits = median_bits(universe, m, tau, method)
    return up((bits * math.log(2) + math.log(2 * m / beta)) / (2 * alpha**2), 16)


def _median_inputs(universe: float, questions: int, tau: float, method: str) -> tuple[float, int, float]:
    bits = math.log2(arguments.real("universe", universe, above=1))
    m, tau = arguments.whole("questions", questions, at_least=2, at_most=MOST), checked("tau", Accuracy, tau)
    arguments.choice("method", method, ("best", "paper"))
    return bits, m, tau / 3
