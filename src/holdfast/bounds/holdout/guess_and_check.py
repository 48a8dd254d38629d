"""Guess and check: a guess is checked against the holdout, a pass shows nothing, a failure shows a rounded value.

Rogers, Roth, Smith, Srebro, Thakkar, Woodworth 2020, with the number of shown values corrected and general weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from holdfast.bounds.numerics.binomial import log_choose
from holdfast.bounds.numerics.exact import down
from holdfast.bounds.one_question.means import hoeffding_half_width
from holdfast.bounds.parameters import MOST, Domain, FailureProbability, QuestionNumber, Questions, Rows, checked
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Guess and check --------------------------------------------------------------------------------------------------

_SERIES = 6 / math.pi**2


def shown_values(grid: float, length: float = 1.0) -> int:
    """Return how many cells of half-width `grid` cover an interval of the given length: `ceil(length/(2 grid))`.

    A failed check shows the midpoint of one of these cells, so the shown value is off by at most `grid`.

    Notes
    -----
    The published `ceil(1/grid)` undercounts rounding to the nearest multiple of `grid` (0.5 gives three values, not
    two).

    Examples
    --------
    >>> shown_values(0.1), shown_values(0.03)
    (5, 17)
    """
    grid = arguments.real("grid", grid, at_least=1e-300)
    ratio = arguments.real("length", length, above=0) / (2 * grid)
    return max(1, math.ceil(ratio * (1 - 1e-12)))


@theorem(
    "holdout.guess-and-check-share",
    statement="Failure probability that question t may spend after f failures of guess and check.",
    source="Rogers et al. 2020 (Guess and Check), number of shown values corrected; weights derived, reviewed",
    conditions="any interval that holds for a fixed question at this share; a pass shows nothing but pass; failure i "
    "shows one of counts[i] things fixed before the data; questions and max_failures, when given, are fixed in advance "
    "and enforced",
    unit="probability",
    provenance="mixed",
)
def guess_and_check_share(
    beta: FailureProbability,
    question: QuestionNumber,
    failures: Annotated[int, Domain("The number of failures before the question.", at_least=0, at_most=MOST)] = 0,
    counts: Annotated[
        Sequence[float], Domain("How many things each of those failures could have shown.", at_least=1, empty=True)
    ]
    | None = None,
    questions: Annotated[Questions, "The number of questions if it is fixed in advance."] | None = None,
    max_failures: Annotated[
        int, Domain("The largest number of failures if it is fixed in advance.", at_least=0, at_most=MOST)
    ]
    | None = None,
) -> float:
    """Return the failure probability that question number `t` of Guess and Check may use after `f` failed checks.

    It is `beta_t = beta a_t c_f / (C(t-1, f) prod K_i)`. `K_i = counts[i]` is how many different things failed check
    `i` could have shown. The other two factors are:

    - `a_t = 6/(pi^2 t^2)`. If the number of questions is fixed in advance and enforced, `a_t = 1/questions`.
    - `c_f = 6/(pi^2 (f+1)^2)`. If the number of failed checks is limited to `max_failures`, `c_f = 1/(max_failures +
      1)`. Then the run stops at the next failed check without showing a value.

    With these probabilities all intervals of the run hold together with probability at least `1 - beta`.

    Returns
    -------
    float
        Rounded down; 0 where it leaves the floating range.

    Notes
    -----
    Derived, reviewed. Given the transcript before it a question is fixed, so a bad event of probability `beta_t`
    happens together with that transcript with probability at most `beta_t`; the sum over all transcripts and
    questions is `beta sum_t a_t sum_f c_f <= beta`, also when the grids depend on the path.

    Examples
    --------
    >>> round(guess_and_check_share(0.05, 1), 11)
    0.01847876806
    >>> f"{guess_and_check_share(0.05, 11, 2, [10, 34]):.9e}"
    '1.109056582e-09'
    """
    return down(math.exp(_log_share(beta, question, failures, counts, questions, max_failures)), 16)


def _log_share(
    beta: float,
    question: int,
    failures: int,
    counts: Sequence[float] | None,
    questions: int | None,
    max_failures: int | None,
) -> float:
    f = failures if failures < question else arguments.whole("failures", failures, at_least=0, at_most=question - 1)
    shown = counts or ()
    if len(shown) != f:
        raise InvalidParameter(f"counts must have one entry per failure, {f}, got {len(shown)}")
    return _log_weights(beta, question, f, questions, max_failures) - math.fsum(math.log(k) for k in shown)


def _log_weights(beta: float, t: int, f: int, questions: int | None, max_failures: int | None) -> float:
    """`ln(beta a_t c_f / C(t-1, f))`."""
    if questions is None:
        when = math.log(_SERIES) - 2 * math.log(t)
    else:
        when = -math.log(arguments.whole("questions", questions, at_least=t, at_most=MOST))
    if max_failures is None:
        often = math.log(_SERIES) - 2 * math.log(f + 1)
    else:
        often = -math.log(arguments.whole("max_failures", max_failures, at_least=f, at_most=MOST) + 1)
    return math.log(beta) + when + often - log_choose(t - 1, f)


def hoeffding_tolerance(n: int, share: float) -> float:
    """Return the half-width of Hoeffding's interval for one fixed question: `sqrt(ln(2/share)/(2n))`.

    The mean of `n` values in [0, 1] is further than this from the population mean with probability at most `share`.

    Examples
    --------
    >>> round(hoeffding_tolerance(5000, 1.109056582e-09), 11)
    0.04616590007
    """
    n, share = checked("n", Rows, n), arguments.probability("share", share)
    return hoeffding_half_width(n, math.log(share) - math.log(2))


@theorem(
    "holdout.guess-and-check-width",
    statement="Half-width of the Hoeffding interval at question t after f failures of guess and check.",
    source="Rogers et al. 2020 (Guess and Check), number of shown values corrected; weights derived, reviewed",
    conditions="holdout rows independent; means of [0,1] values; a pass shows nothing but pass; a failure shows one "
    "cell midpoint; questions and max_failures, when given, are fixed in advance and enforced",
    unit="half-width",
    provenance="mixed",
)
def guess_and_check_width(
    n: Rows,
    beta: FailureProbability,
    question: QuestionNumber,
    failures: Annotated[int, Domain("The number of failures before the question.", at_least=0, at_most=MOST)] = 0,
    grid: Annotated[
        float,
        Domain("The half-width of the cells whose midpoints failures showed; needed after a failure.", at_least=1e-300),
    ]
    | None = None,
    questions: Annotated[Questions, "The number of questions if it is fixed in advance."] | None = None,
    max_failures: Annotated[
        int, Domain("The largest number of failures if it is fixed in advance.", at_least=0, at_most=MOST)
    ]
    | None = None,
) -> float:
    """Return the half-width of Hoeffding's interval for question number `t` of Guess and Check after `f` failed checks.

    It is `sqrt(ln(2/beta_t)/(2n))`, with `beta_t` from `guess_and_check_share` and `K = ceil(1/(2 grid))` things that
    each failed check could have shown. A guess passes with tolerance `tau` if it is within `tau` minus this half-width
    of the holdout mean.

    Returns
    -------
    float
        A value of 0.5 or more is vacuous. Time: microseconds.

    Examples
    --------
    >>> round(guess_and_check_width(10_000, 0.05, 1000, 3, 0.02, questions=1000), 6)
    0.04607
    >>> round(guess_and_check_width(10_000, 0.05, 1000, 3, 0.02), 6)
    0.049927
    """
    t = question
    f = arguments.whole("failures", failures, at_least=0, at_most=t - 1)
    log_share = _log_weights(beta, t, f, questions, max_failures)
    if f > 0:
        if grid is None:
            raise InvalidParameter("grid must be a number of at least 1e-300 when there were failures, got None")
        log_share -= f * math.log(shown_values(grid))
    return hoeffding_half_width(n, log_share - math.log(2))
