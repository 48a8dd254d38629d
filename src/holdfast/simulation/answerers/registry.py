"""Every method of the library by name, behind one interface, so that one attack can be run against all of them.

Where a method has parameters beyond the design, they are the plain choice that its own documentation makes. Modules
are imported when a method is made, so that listing them costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from holdfast.bounds.holdout.sparse_validate import sparse_validate_width
from holdfast.bounds.interval import non_adaptive
from holdfast.core import arguments
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable
from holdfast.mechanisms.answer import Answer
from holdfast.noise import Source
from holdfast.simulation.answerers.base import Answerer, Design, Reply, Values, sample_mean

if TYPE_CHECKING:
    from holdfast.holdout import Thresholdout
    from holdfast.inference.answers.noisy import LaplaceMethod


class Naive(Answerer):
    """Answers with the exact mean and the interval that would hold had every question been fixed beforehand.

    The interval is Hoeffding's with a union over all questions, so against an honest analyst it covers.

    Examples
    --------
    >>> reply = Naive(Design(n=4, questions=2, failures=1)).ask(np.array([True, False, True, True]), 0.5)
    >>> reply.value
    0.75
    """

    def __init__(self, design: Design) -> None:
        self._half = non_adaptive(design.n, design.questions, design.beta).half_width

    def ask(self, values: Values, guess: float) -> Reply | None:
        """Return the mean of the values."""
        return self._reply(sample_mean(values))

    def ask_many(self, values: Values, guesses: Sequence[float] | npt.NDArray[np.float64]) -> list[Reply | None]:
        """Return the mean of every row of values."""
        return [self._reply(sample_mean(row)) for row in values]

    def _reply(self, mean: float) -> Reply:
        return Reply(mean, (max(0.0, mean - self._half), min(1.0, mean + self._half)))


CELLS = 10
"""Cells of [0, 1] that a failure may show."""


class Validated(Answerer):
    """Checks guesses with `SparseValidate` and `CELLS` cells.

    All sample means of the run lie within `width` of the truth at once (Theorem 27, corrected, with a union over the
    questions). A guess within `width` of its sample mean passes, and then the truth is within twice that of the guess;
    a failure shows the cell of the sample mean, and the truth is within `width` of that cell.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(100_000) < 60_000
    >>> validated = Validated(Design(100_000, 100))
    >>> validated.ask(rows, 0.6).passed, round(validated.ask(rows, 0.8).value, 12)
    (True, 0.65)
    """

    needs_guess = True

    def __init__(self, design: Design) -> None:
        from holdfast.holdout import SparseValidate

        self._validate = SparseValidate(None, design.questions, design.failures, values=CELLS)
        self._width = sparse_validate_width(design.n, design.beta, design.questions, design.failures, CELLS)
        self.failures, self.most_failures = 0, design.failures

    @property
    def tolerance(self) -> float:
        """How far a guess may be from the sample mean."""
        return self._width

    def ask(self, values: Values, guess: float) -> Reply | None:
        """Return the guess if it passes, the middle of the sample mean's cell if not."""

        def validation(_: object) -> int:
            mean = sample_mean(values)
            return 0 if abs(mean - guess) <= self._width else 1 + min(CELLS - 1, math.floor(mean * CELLS))

        answer = self._validate.query(validation)
        if answer.value is None:
            return None
        if answer.passed:
            return Reply(guess, _around(guess, 2 * self._width), True)
        self.failures += 1
        middle = (answer.value - 0.5) / CELLS
        return Reply(middle, _around(middle, self._width + 0.5 / CELLS), False)


def _around(value: float, half: float) -> tuple[float, float]:
    return max(0.0, value - half), min(1.0, value + half)


class Wrapped(Answerer):
    """Turns `Answer` into `Reply`, an exhausted budget or bottom into a refusal, and counts the guesses that failed.

    Parameters
    ----------
    question : callable
        `question(values, guess)` returns an `Answer`.
    needs_guess : bool
        Whether it looks at the guess.
    most_failures : int, optional
        How many guesses may fail.
    tells_best : bool
        Whether an answer is about the best question so far.
    tolerance : callable, optional
        How far a guess may be off at the next question, where the analyst is told.

    Examples
    --------
    >>> from holdfast.inference import GaussianAnswers
    >>> answers = GaussianAnswers(1000, 1, 0.95)
    >>> wrapped = Wrapped(lambda values, guess: answers.mean(values))
    >>> wrapped.ask(np.ones(1000, dtype=bool), 0.5) is None, wrapped.ask(np.ones(1000, dtype=bool), 0.5) is None
    (False, True)
    """

    def __init__(
        self,
        question: Callable[[Values, float], Answer],
        *,
        needs_guess: bool = False,
        most_failures: int | None = None,
        tells_best: bool = False,
        tolerance: Callable[[], float] | None = None,
    ) -> None:
        self._question = question
        self._tolerance = tolerance
        self.needs_guess = needs_guess
        self.most_failures = most_failures
        self.tells_best = tells_best
        self.failures = 0

    def ask(self, values: Values, guess: float) -> Reply | None:
        """Return the answer; None once the budget is spent."""
        try:
            answer = self._question(values, guess)
        except BudgetExhausted:
            return None
        if answer.value is None and answer.passed is None:  # bottom
            return None
        passed = answer.passed if self.needs_guess else None
        self.failures += passed is False
        return Reply(np.nan if answer.value is None else answer.value, answer.interval, passed)

    @property
    def tolerance(self) -> float | None:
        """How far a guess may be off at the next question; None where it is vacuous, or there is no next one."""
        try:
            return None if self._tolerance is None else self._tolerance()
        except BudgetExhausted:
            return None


Make = Callable[[Design, Source], Answerer]
_REGISTRY: dict[str, Entry] = {}


@dataclass(frozen=True)
class Entry:
    """One method: its name, what it does, what it needs, and whether a theorem backs its intervals.

    `make(design, source)` builds a fresh one. It raises `GuaranteeUnavailable` where the design buys nothing.
    """

    name: str
    title: str
    certified: bool
    needs_guess: bool
    make: Make

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for listings."""
        return {
            "name": self.name,
            "title": self.title,
            "certified": self.certified,
            "needs_guess": self.needs_guess,
        }


def add(name: str, title: str, make: Make, *, certified: bool = True, needs_guess: bool = False) -> None:
    """Register a method under the name that users type."""
    if name in _REGISTRY:
        raise ValueError(f"two methods are registered as {name}")
    _REGISTRY[name] = Entry(name, title, certified, needs_guess, make)


def answerers() -> dict[str, Entry]:
    """Return every method by name, in the order in which tables show them.

    Examples
    --------
    >>> "naive" in answerers()
    True
    """
    return dict(_REGISTRY)


def answerer(name: str) -> Entry:
    """Return the method called `name`.

    Examples
    --------
    >>> answerer("naive").certified
    False
    """
    known = answerers()
    return known[arguments.choice("against", name, known)]


def _naive(design: Design, source: Source) -> Answerer:
    return Naive(design)


def _reusable(design: Design, source: Source) -> Answerer:
    from holdfast.holdout import ReusableHoldout
    from holdfast.holdout.intervals.mean import ROOM

    holdout = ReusableHoldout(design.n, design.questions, design.confidence, design.failures)
    # By default a pass certifies the guess to some half-widths, of which one is left to the interval of the sample.
    return Wrapped(
        holdout.check,
        needs_guess=True,
        most_failures=design.failures,
        tolerance=lambda: ROOM * holdout.least_tolerance(family="kl") - holdout.least_tolerance(binary=True),
    )


def _sparse_validate(design: Design, source: Source) -> Answerer:
    return Validated(design)


def _thresholdout(design: Design, source: Source) -> Answerer:
    """Figure 1 with the threshold of the paper's experiments and noise that leaves it room; no theorem reaches it."""
    from holdfast.holdout import Thresholdout

    root = math.sqrt(design.n)
    return _thresholds(Thresholdout(design.n, 4 / root, 1 / (4 * root), design.failures, source=source, clamp=True))


def _thresholdout_certified(design: Design, source: Source) -> Answerer:
    from holdfast.holdout import Thresholdout

    tau = _thresholdout_accuracy(design)
    if not tau < 0.5:
        raise GuaranteeUnavailable(
            f"Thresholdout certifies nothing at {design.n} rows, {design.questions} questions and {design.failures} "
            "overfits: no accuracy below 0.5 is proved"
        )
    return _thresholds(
        Thresholdout.plan(
            tau,
            design.questions,
            design.failures,
            confidence=design.confidence,
            n=design.n,
            source=source,
            clamp=True,
        )
    )


def _thresholds(holdout: Thresholdout) -> Answerer:
    return Wrapped(
        lambda values, guess: holdout.query_values(guess, values),
        needs_guess=True,
        most_failures=holdout.budget,
        tolerance=lambda: holdout.threshold,
    )


@lru_cache(maxsize=32)
def _thresholdout_accuracy(design: Design) -> float:
    from holdfast.bounds.holdout.thresholdout import thresholdout_accuracy

    # The planner keeps a part in 512 of the rows for the grid, and the accuracy falls at most as fast as the rows grow.
    return thresholdout_accuracy(design.n, design.beta, design.questions, design.failures) * (1 + 2**-8)


def _gaussian_thresholdout(design: Design, source: Source) -> Answerer:
    from holdfast.holdout import GaussianThresholdout

    holdout = GaussianThresholdout(design.n, source=source)
    return Wrapped(
        lambda values, guess: holdout.query_values(guess, values),
        needs_guess=True,
        tolerance=lambda: holdout.threshold,
    )


def _ladder(design: Design, source: Source) -> Answerer:
    from holdfast.holdout import Ladder

    ladder = Ladder(design.n, design.questions, confidence=design.confidence, scores="correctness")
    return Wrapped(lambda values, guess: ladder.submit(values), tells_best=True)


def _gaussian(design: Design, source: Source) -> Answerer:
    from holdfast.inference.answers.noisy import GaussianAnswers

    answers = GaussianAnswers(design.n, design.questions, design.confidence, source=source)
    return Wrapped(lambda values, guess: answers.mean(values))


def _gaussian_constant(design: Design, source: Source) -> Answerer:
    from holdfast.inference.answers.noisy import GaussianAnswers

    answers = GaussianAnswers(design.n, design.questions, design.confidence, method="posterior-shift", source=source)
    return Wrapped(lambda values, guess: answers.mean(values))


def _filtered(design: Design, source: Source) -> Answerer:
    from holdfast.inference.answers.horizon import FilteredAnswers

    # Room for every question at half the variance, so that the scale may follow the answers: sharper after a high one.
    answers = FilteredAnswers(
        design.n, design.questions, design.confidence, full=2.0 * design.questions + 1, source=source
    )
    sharp = answers.largest_sigma / math.sqrt(2)
    last = 0.0

    def question(values: Values, guess: float) -> Answer:
        nonlocal last
        answer = answers.mean(values, sigma=sharp if last > 0.5 else None)
        last = answer.value or 0.0
        return answer

    return Wrapped(question)


def _laplace(design: Design, source: Source) -> Answerer:
    from holdfast.inference.answers.noisy import LaplaceAnswers

    method = _laplace_method(design)
    answers = LaplaceAnswers(design.n, design.questions, design.confidence, method=method, source=source)
    return Wrapped(lambda values, guess: answers.mean(values))


@lru_cache(maxsize=32)
def _laplace_method(design: Design) -> LaplaceMethod:
    """The theorem that wins at this design, so that only its width is computed again for every run."""
    from holdfast.inference.answers.noisy import LaplaceAnswers

    best = LaplaceAnswers(design.n, design.questions, design.confidence).method.removeprefix("interval.")
    return cast("LaplaceMethod", best)


def _splitting(design: Design, source: Source) -> Answerer:
    from holdfast.inference.answers.splitting import SplitAnswers

    if design.questions > design.n:
        raise GuaranteeUnavailable(
            f"splitting cannot be used here, because {design.n} rows leave none for some of the {design.questions} "
            "questions"
        )
    answers = SplitAnswers(design.n, design.questions, design.confidence, source=source)
    return Wrapped(lambda values, guess: answers.mean(values))


add("naive", "the exact sample mean every time", _naive, certified=False)
add("reusable-holdout", "guess and check by transcript coding, the default", _reusable, needs_guess=True)
add("sparse-validate", "pass or a corrected value from SparseValidate", _sparse_validate, needs_guess=True)
add(
    "thresholdout-certified",
    "Thresholdout at the least accuracy that is proved",
    _thresholdout_certified,
    needs_guess=True,
)
add("gaussian", "Gaussian noise on the falling schedule of Theorem B", _gaussian)
add("gaussian-constant", "Gaussian noise of one scale, Theorem A", _gaussian_constant)
add("filtered", "Gaussian noise that follows the answers, under the filter", _filtered)
add("laplace", "Laplace noise", _laplace)
add("splitting", "fresh rows for every question, no noise", _splitting)
add("ladder", "a leaderboard: only the best score so far is shown", _ladder)
add(
    "thresholdout",
    "Figure 1 of Dwork et al. at threshold 4/sqrt(n), scale 1/(4 sqrt(n))",
    _thresholdout,
    certified=False,
    needs_guess=True,
)
add(
    "gaussian-thresholdout",
    "Thresholdout as the paper's figures ran it",
    _gaussian_thresholdout,
    certified=False,
    needs_guess=True,
)
