"""Every answerer of the library, by name: one function and one `add` line each.

Where an answerer has parameters beyond the design, they are the plain choice that its own documentation makes. Modules
are imported when an answerer is made, so that listing them costs nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from holdfast.errors import GuaranteeUnavailable
from holdfast.experiments.answerers.base import Answerer, Design, Values
from holdfast.experiments.answerers.naive import Naive
from holdfast.experiments.answerers.registry import add
from holdfast.experiments.answerers.validated import Validated
from holdfast.experiments.answerers.wrapped import Wrapped
from holdfast.mechanisms.answer import Answer
from holdfast.noise import Source

if TYPE_CHECKING:
    from holdfast.holdout import Thresholdout
    from holdfast.inference.laplace_answers import LaplaceMethod


def _naive(design: Design, source: Source) -> Answerer:
    return Naive(design)


def _reusable(design: Design, source: Source) -> Answerer:
    from holdfast.holdout import ReusableHoldout

    holdout = ReusableHoldout(design.n, design.questions, design.confidence, design.failures)
    # By default a guess passes when the sample lies within about one interval's half-width of it.
    return Wrapped(
        holdout.check,
        needs_guess=True,
        most_failures=design.failures,
        tolerance=lambda: holdout.least_tolerance(binary=True),
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
    from holdfast.bounds.holdout.accuracy import thresholdout_accuracy

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
    from holdfast.inference.gaussian_answers import GaussianAnswers

    answers = GaussianAnswers(design.n, design.questions, design.confidence, source=source)
    return Wrapped(lambda values, guess: answers.mean(values))


def _gaussian_constant(design: Design, source: Source) -> Answerer:
    from holdfast.inference.gaussian_answers import GaussianAnswers

    answers = GaussianAnswers(design.n, design.questions, design.confidence, method="posterior-shift", source=source)
    return Wrapped(lambda values, guess: answers.mean(values))


def _filtered(design: Design, source: Source) -> Answerer:
    from holdfast.inference.filtered_answers import FilteredAnswers

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
    from holdfast.inference.laplace_answers import LaplaceAnswers

    method = _laplace_method(design)
    answers = LaplaceAnswers(design.n, design.questions, design.confidence, method=method, source=source)
    return Wrapped(lambda values, guess: answers.mean(values))


@lru_cache(maxsize=32)
def _laplace_method(design: Design) -> LaplaceMethod:
    """The theorem that wins at this design, so that only its width is computed again for every run."""
    from holdfast.inference.laplace_answers import LaplaceAnswers

    best = LaplaceAnswers(design.n, design.questions, design.confidence).method.removeprefix("interval.")
    return cast("LaplaceMethod", best)


def _splitting(design: Design, source: Source) -> Answerer:
    from holdfast.inference.split_answers import SplitAnswers

    if design.questions > design.n:
        raise GuaranteeUnavailable(f"splitting {design.n} rows leaves none for some of {design.questions} questions")
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
