"""Sample splitting: a fresh part of the rows for every question, no noise. And the reference that is not valid."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from holdfast.bounds.interval.width import UnusedNoise, Width
from holdfast.bounds.numerics.binomial import binary_kl
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import FailureProbability, PValue, Questions, Rows
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter


@theorem(
    "interval.splitting",
    statement="Half-width of k answers when each question gets its own n/k rows: sqrt(ln(2k/beta) / (2 floor(n/k))).",
    source="Hoeffding 1963; method paper: Rogers 2017 (thesis), section 3.1, binomial form, not rigorous",
    conditions="rows independent, and identically distributed where there are several parts; questions <= n; each "
    "question is asked of its own part only",
    unit="half-width",
    provenance="mixed",
)
def splitting(
    n: Rows,
    questions: Annotated[Questions, "The number of questions, fixed in advance; at most n."],
    beta: FailureProbability,
    noise: UnusedNoise = "gaussian",
    method: Annotated[
        Literal["best", "paper"], "'best' is Hoeffding's bound; 'paper' is a binomial form that is not certified."
    ] = "best",
) -> Width:
    """Half-width of exact means when each question is answered from its own part of the sample.

    Part `j` is independent of the questions and answers before it. So Hoeffding's inequality holds for each question as
    if the question had been fixed in advance. A union bound over `k` questions gives `tau = sqrt(ln(2k/beta) / (2m))`,
    with `m = floor(n/k)` rows in each part. `method="paper"` is not certified.

    Returns
    -------
    Width
        With `sigma` 0 and `noise` "none". Time: microseconds; `method="paper"` tens of microseconds.

    Notes
    -----
    The thesis computes a quantile of Binomial(m, 1/2) instead. One half is not the worst case (at m = 10 a mean of
    0.45 is missed by 0.55 with probability 3.4e-4, above the share 3.9e-5 of k = 640).

    Examples
    --------
    >>> round(splitting(100_000, 1000, 0.05).value, 10)
    0.2301807413
    >>> round(splitting(100_000, 1000, 0.05, method="paper").value, 10)
    0.2
    """
    rows = n // questions
    if rows < 1:
        raise InvalidParameter(
            f"questions is {questions}, but for splitting it must be a whole number that is at most the number of "
            f"rows, n = {n}"
        )
    if method == "paper":
        tau = _binomial(rows, beta / (2 * questions))
    else:
        tau = up(math.sqrt((math.log(2 * questions) - math.log(beta)) / (2 * rows)), 16)
    return Width(
        tau,
        0.0,
        "none",
        "interval.splitting",
        method,
        n,
        questions,
        beta,
        certified=method == "best",
        assumption="rows independent and identically distributed; each part of the rows answers one question"
        if questions > 1
        else "rows independent; the question was fixed before the rows were looked at",
        tuning={"rows_per_question": rows},
    )


def _binomial(rows: int, level: float) -> float:
    """`t/m - 1/2` for the smallest whole `t` with `P[Bin(m, 1/2) > t] <= level`."""
    from scipy.special import bdtrc

    low, high = rows // 2 - 1, rows
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if float(bdtrc(middle, rows, 0.5)) <= level else (middle, high)
    return high / rows - 0.5


@theorem(
    "interval.non-adaptive",
    statement="Half-width of k empirical means of questions fixed before looking: sqrt(ln(2k/beta) / (2n)).",
    source="Hoeffding 1963, union bound",
    conditions="rows independent; questions fixed in advance. A reference only: it fails when questions are adaptive",
    unit="half-width",
)
def non_adaptive(n: Rows, questions: Questions, beta: FailureProbability, noise: UnusedNoise = "gaussian") -> Width:
    """Half-width of plain empirical means for questions that are fixed in advance.

    It shows what adaptivity costs: compare other half-widths with it. It does not hold for adaptive questions, so the
    result is not certified. For example, an analyst with 640 adaptive questions on 6400 rows exceeds it in every run.

    Examples
    --------
    >>> round(non_adaptive(6400, 640, 0.05).value, 10)
    0.028160183
    """
    tau = up(math.sqrt((math.log(2 * questions) - math.log(beta)) / (2 * n)), 16)
    return Width(
        tau,
        0.0,
        "none",
        "interval.non-adaptive",
        "best",
        n,
        questions,
        beta,
        certified=False,
        assumption="rows independent; all questions fixed before the first answer",
    )


@theorem(
    "interval.kl-width",
    statement="One-sided width w of a [0,1] mean at population mean p: kl(p + w || p) = ln(1/beta) / n.",
    source="Chernoff 1952, Hoeffding 1963 (Theorem 1)",
    conditions="rows independent with values in [0, 1]; one question fixed in advance; one side",
    unit="width",
)
def kl_width(
    n: Rows,
    p: Annotated[PValue, "The population mean."],
    beta: Annotated[FailureProbability, "The probability of the one-sided event."],
) -> float:
    """Return how far above a population mean `p` an empirical mean lies with probability at most `beta`.

    The width `w` solves `kl(p + w || p) = ln(1/beta)/n`. If even `w = 1 - p` has a smaller divergence, the width is `1
    - p`. For the lower side give `1 - p` in place of `p`.

    Notes
    -----
    For values in [0, 1] the moment generating function is at most that of a 0/1 variable with the same mean, so
    `P(mean >= p + w) <= exp(-n kl(p + w || p))`.

    Examples
    --------
    >>> round(kl_width(5000, 0.1, 1e-6), 11)
    0.02301688728
    """
    target = -math.log(beta) / n
    if p in (0.0, 1.0) or binary_kl(1.0, p) <= target:
        return 1.0 - p
    low, high = 0.0, 1.0 - p
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if binary_kl(p + middle, p) < target else (low, middle)
    return min(up(high, 16), 1.0 - p)
