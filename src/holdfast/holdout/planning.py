"""`plan`: what every kind of holdout certifies for a given use, side by side, before any data is touched."""

from __future__ import annotations

import math
from typing import Any

from holdfast import check
from holdfast.bounds.interval.width import LEAST_BETA
from holdfast.errors import InvalidParameter
from holdfast.holdout.planning_inverse import LIMIT, least_rows, most_failures, most_questions
from holdfast.holdout.planning_methods import METHODS
from holdfast.holdout.planning_result import HoldoutPlan, PlannedMethod
from holdfast.holdout.planning_use import Found, Method, Use


def plan(
    n: int | None = None,
    questions: int = 1000,
    failures: int | None = None,
    confidence: float = 0.95,
    half_width: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    guess: float | bool | None = None,
    binary: bool = False,
) -> HoldoutPlan:
    """Compare every method's guaranteed half-width for a use of a holdout, best first.

    All answers of a run are within the half-width of the truth at once, with the given confidence, against any analyst
    who chooses questions after seeing earlier answers. Give `n` to see widths, `half_width` to see the rows that each
    method needs, both to see also how many questions and failures fit.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    questions : int
        Questions in all, fixed in advance.
    failures : int
        Failures (overfits) after which the run shall still go on; 10 unless given, or `questions` if that is less.
    confidence : float
        Probability with which every certified answer is right.
    half_width : float
        Wanted half-width.
    low, high : float
        Range of the per-row values.
    guess : float or bool
        Where the means are expected, e.g. 0.95 for accuracies near 95%: adds intervals that are narrower there.
        False: no guesses will be available, so methods that need one are not recommended.
    binary : bool
        Whether every value is `low` or `high`, e.g. right or wrong; with a `guess`, adds exact binomial intervals.

    Returns
    -------
    HoldoutPlan
        Prints as a table; `to_dict()`, `plot()`, `curve()`. Time: below a second, a second or two more with both `n`
        and `half_width`.

    Notes
    -----
    Widths come from the theorems that each row names; `holdfast bound ID` has their statements. For `guess-and-check`
    the half-width is the least tolerance that a pass can certify at the last question after `failures` failures that
    showed corrected values; a guess passes only if it is closer to the holdout mean than tolerance minus half-width.
    Thresholdout's theorems promise more: a guess that is off by at most half of the half-width passes. `sure_pass` puts
    all methods on that footing. Thresholdout's budget is `failures`, counted as its paper does: it ends with that
    failure, while the other methods go on after it, so the comparison favours Thresholdout.

    Examples
    --------
    >>> found = plan(10_000, questions=1000, failures=10)
    >>> found.recommended, round(found["guess-and-check"].half_width, 3)
    ('guess-and-check', 0.071)
    >>> found["thresholdout-paper"].vacuous
    True
    """
    use, length = _use(questions, failures, confidence, low, high, guess, binary)
    n = None if n is None else check.whole("n", n, at_least=1, at_most=LIMIT)
    if n is None and half_width is None:
        raise InvalidParameter("n must be a whole number, at least 1, or half_width must be given, got neither")
    if half_width is not None:
        # below 1e-9 not even 10**15 rows suffice, from half of the range on a width says nothing
        half_width = check.real("half_width", half_width, at_least=1e-9 * length, below=length / 2)
    rows = [_row(method, n, use, half_width, length) for method in METHODS.values() if method.applies(use)]
    return HoldoutPlan(
        n=n,
        questions=use.questions,
        failures=use.failures,
        confidence=use.confidence,
        half_width=half_width,
        low=float(low),
        high=float(high),
        guess=guess,
        binary=binary,
        methods=tuple(sorted(rows, key=lambda row: _rank(row, by_rows=n is None))),
    )


def _use(
    questions: Any, failures: Any, confidence: Any, low: Any, high: Any, guess: Any, binary: Any
) -> tuple[Use, float]:
    questions = check.whole("questions", questions, at_least=1, at_most=LIMIT)
    if failures is None:
        failures = min(10, questions)
    failures = check.whole("failures", failures, at_least=0, at_most=questions)
    confidence = check.real("confidence", confidence, above=0, below=1)
    if not 1 - confidence >= LEAST_BETA:
        raise InvalidParameter(f"confidence must leave at least {LEAST_BETA:g} to chance, got {confidence}")
    low, high = check.value_range(low, high)
    if not isinstance(binary, bool):
        raise InvalidParameter("binary must be True or False")
    length = high - low
    near = None
    if not (guess is None or isinstance(guess, bool)):
        near = (check.real("guess", guess, at_least=low, at_most=high) - low) / length
    return Use(questions, failures, confidence, near, binary), length


def _row(method: Method, n: int | None, use: Use, half_width: float | None, length: float) -> PlannedMethod:
    tau = None if half_width is None else half_width / length
    required = None if tau is None else least_rows(method, use, tau)
    at = n if n is not None else required
    found = method.width(at, use) if at is not None else Found(math.inf)
    vacuous = not found.half_width < 0.5
    if tau is None and vacuous:
        required = least_rows(method, use, math.nextafter(0.5, 0))
    both = n is not None and tau is not None
    return PlannedMethod(
        name=method.name,
        half_width=found.half_width * length,
        certified=found.certified,
        vacuous=vacuous,
        n_required=required,
        max_questions=most_questions(method, n, use, tau) if both else None,  # type: ignore[arg-type]
        max_failures=most_failures(method, n, use, tau) if both else None,  # type: ignore[arg-type]
        sure_pass=None if found.sure_pass is None else found.sure_pass * length,
        needs=method.needs,
        answers=method.answers,
        reference=method.reference,
        theorem=method.theorem,
        says=method.says,
        extra={name: value * length for name, value in found.extra.items()},
    )


def _rank(row: PlannedMethod, by_rows: bool) -> tuple[bool, bool, float]:
    """Adaptive before the limit, proved before not, then the narrower, or the one that needs fewer rows."""
    rows = math.inf if row.n_required is None else float(row.n_required)
    return row.reference, not row.certified, rows if by_rows else row.half_width


__all__ = ["plan"]
