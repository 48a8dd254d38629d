"""The methods that a plan compares: one small function each, from rows and use to a half-width.

To add one, write a function of `n` and `Use` that returns `Found` and put `@method` on it; the plan, its inverses, the
plot and the command line find it in the list.
"""

from __future__ import annotations

import math
from typing import Literal

from holdfast.bounds.holdout.accuracy import (
    ladder_width,
    sparse_validate_width,
    split_width,
    thresholdout_accuracy,
    tight_spare,
)
from holdfast.bounds.holdout.design import thresholdout_size
from holdfast.bounds.holdout.single_threshold import (
    single_threshold_accuracy,
    single_threshold_size,
    single_threshold_spare,
)
from holdfast.bounds.holdout.theorem25 import theorem25_size
from holdfast.bounds.interval import max_questions, non_adaptive, posterior_shift, required_n, scheduled, splitting
from holdfast.holdout import planning_guess_and_check  # noqa: F401  (its methods join the list)
from holdfast.holdout.planning_use import METHODS, Found, Use, method


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
    found = (required_n(use.questions, tau, use.beta, name).value for name in ("scheduled", "posterior-shift"))
    return min(found)


def _gaussian_questions(n: int, use: Use, tau: float) -> int:
    return max_questions(n, tau, use.beta, "scheduled").value


@method(
    "gaussian-answers",
    theorem="interval.scheduled",
    needs=("Gaussian noise",),
    counts_failures=False,
    says="Every mean with Gaussian noise and our posterior-shift interval; no guess, nothing can fail.",
    rows=_gaussian_rows,
    most_questions=_gaussian_questions,
)
def gaussian_answers(n: int, use: Use) -> Found:
    """The better of noise on a schedule and constant noise."""
    found = min(
        (scheduled(n, use.questions, use.beta), posterior_shift(n, use.questions, use.beta)),
        key=lambda width: width.half_width,
    )
    return Found(found.half_width, found.certified, None, {"noise": found.sigma})


@method(
    "ladder",
    theorem="holdout.ladder-width",
    answers="best score",
    counts_failures=False,
    says="Ladder: a leaderboard that shows only clear improvements; the best score is certified, others are not shown.",
)
def ladder(n: int, use: Use) -> Found:
    """The fixed-step Ladder at its best step."""
    found = ladder_width(n, use.beta, use.questions)
    return Found(found.value, True, None, {"step": found.step})


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


__all__ = ["METHODS"]
