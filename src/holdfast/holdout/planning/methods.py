"""The methods that a plan compares: from rows and use to a half-width, and its inverses.

To add one, write a function of `n` and `Use` that returns `Found` and put `@method` on it; the plan, its inverses, the
plot and the command line find it in the list.

Guess and check
---------------
The numbers come from the holdout's own shares, intervals and cells, so that a plan and a run cannot disagree.

Inverses
--------
All are searches on the forward width, or on a quicker test that agrees with it, so forward and inverse cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from holdfast.bounds.holdout.ladder import ladder_width
from holdfast.bounds.holdout.single_threshold import (
    single_threshold_accuracy,
    single_threshold_size,
    single_threshold_spare,
)
from holdfast.bounds.holdout.sparse_validate import sparse_validate_width
from holdfast.bounds.holdout.thresholdout import (
    split_width,
    theorem25_size,
    thresholdout_accuracy,
    thresholdout_size,
    tight_spare,
)
from holdfast.bounds.interval import best_noise, max_questions, non_adaptive, required_n, splitting
from holdfast.bounds.interval.planning import Method as IntervalMethod
from holdfast.bounds.numerics.search import turning_point
from holdfast.bounds.one_question.means import LEAST_LOG_SHARE, MEAN_FAMILIES, Family, MeanFamily, least_tolerance
from holdfast.errors import InvalidParameter
from holdfast.holdout.error_budget import Course, ErrorBudget, log_cell_weight
from holdfast.holdout.intervals.mean import MeanInterval

Answers = Literal["values", "bits", "best score"]
"""What a method shows: a value for every question, only pass or fail, or only the best score so far."""


@dataclass(frozen=True)
class Use:
    """How a holdout will be used, in units of the range: `questions` in all, going on after `failures` failures.

    `guess` is where the means are expected, for the intervals that are narrower near the ends; `binary` says that
    every value is 0 or 1.

    Examples
    --------
    >>> use = Use(1000, 10, 0.95)
    >>> use.beta, use.budget, use.asking(5).budget
    (0.05, 10, 5)
    """

    questions: int
    failures: int
    confidence: float
    guess: float | None = None
    binary: bool = False

    @cached_property
    def budget_plan(self) -> ErrorBudget:
        """The error budget of guess and check, as the holdout itself has it."""
        return ErrorBudget(self.confidence, self.questions)

    @property
    def beta(self) -> float:
        """Probability that anything certified is wrong."""
        return self.budget_plan.beta

    @property
    def budget(self) -> int:
        """Overfits for the methods whose budget is at least one and at most the number of questions."""
        return max(1, min(self.failures, self.questions))

    def asking(self, questions: int) -> Use:
        """Return the same use with another number of questions."""
        return replace(self, questions=questions)

    def failing(self, failures: int) -> Use:
        """Return the same use with another number of failures."""
        return replace(self, failures=failures)


@dataclass(frozen=True)
class Found:
    """A method's half-width in units of the range, whether it is proved, and what else is worth knowing about it.

    `sure_pass` is the half-width at which a guess that is off by at most half of it is sure to pass: Thresholdout's
    own theorem promises that, so it is the number to compare with it. `extra` holds lengths in units of the range.
    """

    half_width: float
    certified: bool = True
    sure_pass: float | None = None
    extra: Mapping[str, float] = field(default_factory=dict)


Width = Callable[[int, Use], Found]


@dataclass(frozen=True)
class Method:
    """One row of a plan. Only `width` is needed; the rest makes its inverses quick or exact.

    `spare(n, use, tau)` is at least 0 exactly where `width(n, use).half_width <= tau`, for methods whose width is slow.
    `rows(use, tau)` is the least `n`; `most_questions(n, use, tau)` the most questions. `counts_failures` says whether
    the width depends on them.
    """

    name: str
    width: Width
    theorem: str
    says: str
    needs: tuple[str, ...] = ()
    answers: Answers = "values"
    reference: bool = False
    counts_failures: bool = True
    applies: Callable[[Use], bool] = lambda use: True
    spare: Callable[[int, Use, float], float] | None = None
    rows: Callable[[Use, float], int] | None = None
    most_questions: Callable[[int, Use, float], int] | None = None


METHODS: dict[str, Method] = {}
_NEAR = log_cell_weight(1)
"""`ln` of the prior weight of the cell next to what passes."""


def method(name: str, **about: Any) -> Callable[[Width], Width]:
    """Register a width as a row of every plan: `@method("my-method", theorem="area.id", says="One sentence.")`."""

    def add(width: Width) -> Width:
        METHODS[name] = Method(name, width, **about)
        return width

    return add


class PlannedRun:
    """A run on `n` rows with one family, in units of the range; without a guess at the middle, the worst place.

    The family may be one of those for independent rows, by name, or the interval of dependent ones.

    Hoeffding's width is the same everywhere but at the very ends, so it is always taken at the middle. Failures are
    taken to show the cell next to what passes, which is what guesses do that are a little off; one that is far off
    costs more, and its answer says how much.
    """

    def __init__(self, n: int, use: Use, family: Family | MeanFamily) -> None:
        self.use, self.family = use, family
        known = family if isinstance(family, MeanFamily) else MEAN_FAMILIES[family]
        self.interval = MeanInterval(known, n, 0.0, 1.0)
        self.guess = use.guess if known.curved and use.guess is not None else 0.5

    @property
    def worst(self) -> int:
        """The number of failures, at most those planned, that leaves the last question the smallest share.

        It is the largest: where one failure is expected in `m` questions, failure `f + 1` of fewer than `m` has at most
        the weight `(f + 1)/(2m - f - 3) <= 1` relative to a pass, and what it shows weighs less than one.
        """
        return min(self.use.failures, self.use.questions - 1)

    def log_share(self, failures: int) -> float:
        """Of the last question after this many failures."""
        last = self.use.questions - 1
        budget = self.use.budget_plan
        course = Course(last, last, failures, 0.0, failures * _NEAR)
        return budget.log_share(course)

    def tolerance(self, failures: int) -> float:
        """The least tolerance with which the last question passes, after this many failures, if the mean is the guess.

        A holdout's own `least_tolerance` asks for some mean that passes: the same for Hoeffding, a little less near the
        ends of the range, where it may be a mean far from the guess.
        """
        share = self.log_share(failures)
        if share < LEAST_LOG_SHARE:  # nothing is left that an interval could be made of
            return max(self.guess, 1 - self.guess)
        if isinstance(self.family, MeanFamily):
            return self.interval.half_width(self.guess, share)
        return least_tolerance(self.family, self.guess, self.interval.n, share)

    def corrected(self, failures: int) -> float:
        """Return how far the truth can be from what the last question shows if it fails, at the default tolerance."""
        share = max(self.log_share(failures), LEAST_LOG_SHARE)
        cells = self.interval.cells(self.guess, self.interval.default_tolerance(self.guess, share), share)
        first, last = cells.ends(min(self.guess + cells.edge + cells.length / 2, 1.0))
        lower, upper = self.interval.over(first, last, share)
        middle = (first + last) / 2
        return max(middle - lower, upper - middle)


def _found(n: int, use: Use, family: Family) -> Found:
    run = PlannedRun(n, use, family)
    clean = run.tolerance(0)
    extra = {"before_failures": clean}
    if run.worst > 0:
        extra["corrected"] = run.corrected(run.worst - 1)
    after = run.tolerance(run.worst) if run.worst > 0 else clean
    # with tolerance 4w, a guess within 2w of the truth is within 3w of the holdout mean; for one width w everywhere
    return Found(after, True, None if run.interval.family.curved else 4 * after, extra)


def _spare(n: int, use: Use, tau: float, family: Family) -> float:
    run = PlannedRun(n, use, family)
    after = run.tolerance(run.worst)
    return math.log(tau / after) if after <= tau else min(math.log(tau / after), -5e-324)


@method(
    "guess-and-check",
    theorem="holdout.error-allocation",
    needs=("a guess",),
    says="ReusableHoldout: a pass certifies the guess to this tolerance, a failure shows a rounded corrected value.",
    spare=lambda n, use, tau: _spare(n, use, tau, "hoeffding"),
)
def guess_and_check(n: int, use: Use) -> Found:
    """Hoeffding's interval at the share of the transcript."""
    return _found(n, use, "hoeffding")


@method(
    "guess-and-check-kl",
    theorem="one-question.kl",
    needs=("a guess",),
    says="ReusableHoldout with intervals that are narrower near the ends of the range, for means near the given guess.",
    applies=lambda use: use.guess is not None,
    spare=lambda n, use, tau: _spare(n, use, tau, "kl"),
)
def guess_and_check_kl(n: int, use: Use) -> Found:
    """The Chernoff-Hoeffding interval at the share of the transcript."""
    return _found(n, use, "kl")


@method(
    "guess-and-check-binary",
    theorem="one-question.clopper-pearson",
    needs=("a guess", "values declared binary"),
    says="ReusableHoldout with exact binomial intervals, for means near the guess (the middle, if none is given).",
    applies=lambda use: use.binary,
    spare=lambda n, use, tau: _spare(n, use, tau, "clopper-pearson"),
)
def guess_and_check_binary(n: int, use: Use) -> Found:
    """Clopper and Pearson's interval at the share of the transcript."""
    return _found(n, use, "clopper-pearson")


@method(
    "sparse-validate",
    theorem="holdout.sparse-validate-width",
    needs=("a guess",),
    answers="bits",
    says="SparseValidate: as guess-and-check, but a failure says no and shows no value.",
)
def sparse_validate(n: int, use: Use) -> Found:
    """All transcripts weigh the same, and a failure shows one bit."""
    width = sparse_validate_width(n, use.beta, use.questions, use.failures)
    return Found(width, True, 4 * width)


def _thresholdout(n: int, use: Use, variant: Literal["best", "theorem-25", "paper"]) -> Found:
    tau = thresholdout_accuracy(n, use.beta, use.questions, use.budget, variant)
    certified = True
    if variant == "paper" and tau < 1:  # the printed approximate branch has no proof, the pure one has
        certified = theorem25_size(tau, use.beta, use.questions, use.budget) <= n
    return Found(tau, certified, tau)


@method(
    "thresholdout-paper",
    theorem="holdout.thresholdout-accuracy",
    needs=("a guess", "Laplace noise"),
    says="Thresholdout with the constants that its paper prints (Theorem 25).",
    rows=lambda use, tau: thresholdout_size(tau, use.beta, use.questions, use.budget, "paper").value,
)
def thresholdout_paper(n: int, use: Use) -> Found:
    """Theorem 25 as printed."""
    return _thresholdout(n, use, "paper")


@method(
    "thresholdout-exact",
    theorem="holdout.thresholdout-accuracy",
    needs=("a guess", "Laplace noise"),
    says="Thresholdout by the same theorem with every constant that its proof needs.",
    rows=lambda use, tau: thresholdout_size(tau, use.beta, use.questions, use.budget, "theorem-25").value,
)
def thresholdout_exact(n: int, use: Use) -> Found:
    """Theorem 25 with exact constants."""
    return _thresholdout(n, use, "theorem-25")


def _tightened_spare(n: int, use: Use, tau: float) -> float:
    exact = thresholdout_accuracy(n, use.beta, use.questions, use.budget, "theorem-25")
    return max(tau - exact, tight_spare(n, tau, use.beta, use.questions, use.budget)) if tau < 1 else tau - exact


@method(
    "thresholdout-tightened",
    theorem="holdout.thresholdout-accuracy",
    needs=("a guess", "Laplace noise"),
    says="Thresholdout with free constants and our sharper transfer from privacy.",
    spare=_tightened_spare,
    rows=lambda use, tau: thresholdout_size(tau, use.beta, use.questions, use.budget).value,
)
def thresholdout_tightened(n: int, use: Use) -> Found:
    """The proof's constants chosen freely."""
    return _thresholdout(n, use, "best")


@method(
    "thresholdout-single",
    theorem="holdout.single-threshold-size",
    needs=("a guess", "Laplace noise"),
    says="Thresholdout with one noisy threshold for the whole run.",
    spare=lambda n, use, tau: single_threshold_spare(n, tau, use.beta, use.questions, use.budget),
    rows=lambda use, tau: single_threshold_size(tau, use.beta, use.questions, use.budget).value,
)
def thresholdout_single(n: int, use: Use) -> Found:
    """One threshold draw."""
    tau = single_threshold_accuracy(n, use.beta, use.questions, use.budget)
    return Found(tau, True, tau)


def _gaussian_rows(use: Use, tau: float) -> int:
    names: tuple[IntervalMethod, ...] = ("sign-comparison", "scheduled", "posterior-shift")
    return min(required_n(use.questions, tau, use.beta, name).value for name in names)


def _gaussian_questions(n: int, use: Use, tau: float) -> int:
    names: tuple[IntervalMethod, ...] = ("sign-comparison", "scheduled")
    return max(max_questions(n, tau, use.beta, name).value for name in names)


@method(
    "gaussian-answers",
    theorem="interval.sign-comparison",
    needs=("Gaussian noise",),
    counts_failures=False,
    says="Every mean with Gaussian noise on a schedule (Theorem D or B); no guess, nothing can fail.",
    rows=_gaussian_rows,
    most_questions=_gaussian_questions,
)
def gaussian_answers(n: int, use: Use) -> Found:
    """The plan of `GaussianAnswers`: the narrowest of Theorems A, B and D."""
    noise = best_noise(n, use.questions, use.beta)
    return Found(noise.half_width, noise.certified, None, {"noise": noise.sigma})


@method(
    "ladder",
    theorem="holdout.ladder-width",
    answers="best score",
    counts_failures=False,
    says="Ladder: a leaderboard that shows only clear improvements; the best score is certified, others are not shown.",
)
def ladder(n: int, use: Use) -> Found:
    """The fixed-step Ladder at its best step."""
    width = ladder_width(n, use.beta, use.questions)
    return Found(width.value, True, None, {"step": width.step})


@method(
    "splitting-by-failures",
    theorem="holdout.split-width",
    needs=("a guess",),
    says="A fresh part of the rows after every failure, exact comparisons.",
)
def splitting_by_failures(n: int, use: Use) -> Found:
    """One part of the rows for each failure, and one to go on with after the last."""
    width = split_width(n, use.beta, use.questions, min(use.failures + 1, use.questions))
    return Found(width, True, 4 * width)


@method(
    "splitting",
    theorem="interval.splitting",
    counts_failures=False,
    says="A fresh part of the rows for every question, exact means.",
)
def splitting_by_questions(n: int, use: Use) -> Found:
    """One part of the rows for each question."""
    return Found(splitting(n, use.questions, use.beta).half_width if use.questions <= n else math.inf)


@method(
    "non-adaptive",
    theorem="interval.non-adaptive",
    reference=True,
    counts_failures=False,
    says="The limit: what the same rows give when every question is written down before looking. Not for adaptive use.",
)
def limit(n: int, use: Use) -> Found:
    """What adaptivity is measured against."""
    return Found(non_adaptive(n, use.questions, use.beta).half_width, False)


#: No search goes beyond this many rows or questions.
LIMIT = 10**15


def _excess(method: Method, n: int, use: Use, tau: float) -> float:
    """At most 0 exactly where the half-width is at most `tau`."""
    if method.spare is not None:
        return -method.spare(n, use, tau)
    width = method.width(n, use).half_width
    if width <= tau:
        return min(0.0, math.log(width / tau))
    return max(math.log(width / tau), 5e-324)


def reaches(method: Method, n: int, use: Use, tau: float) -> bool:
    """Return whether `n` rows give the method a half-width of at most `tau`."""
    return _excess(method, n, use, tau) <= 0


def least_rows(method: Method, use: Use, tau: float) -> int | None:
    """Return the least number of rows with a half-width of at most `tau`; None beyond 10**15."""
    if method.rows is not None:
        try:
            rows = method.rows(use, tau)
        except InvalidParameter:  # more rows than the theorem's own search allows
            return None
        return rows if rows <= LIMIT else None
    few = max(1, math.ceil(math.log(2 * use.questions / use.beta) / (2 * tau * tau)))

    def spare(n: int) -> float:
        excess = _excess(method, n, use, tau)
        return -excess if excess > 0 else max(-excess, 5e-324)

    rows = 1 + turning_point(spare, min(few, LIMIT), LIMIT)
    return rows if rows <= LIMIT else None


def most_questions(method: Method, n: int, use: Use, tau: float) -> int:
    """The most questions with a half-width of at most `tau` at these failures, at most 10**15; 0 when none fits."""
    if method.most_questions is not None:
        return method.most_questions(n, use, tau)
    return turning_point(lambda m: _excess(method, n, use.asking(m), tau), use.questions, LIMIT)


def most_failures(method: Method, n: int, use: Use, tau: float) -> int | None:
    """Return the most failures that still leave a half-width of at most `tau`; None when not even none does.

    A method that cannot fail allows as many as there are questions.
    """
    if not reaches(method, n, use.failing(0), tau):
        return None
    if not method.counts_failures:
        return use.questions
    return turning_point(lambda f: _excess(method, n, use.failing(f), tau), max(1, use.failures), use.questions)
