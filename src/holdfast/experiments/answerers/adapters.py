"""Every answerer of the library, by name: one function and one `add` line each.

Where an answerer has parameters beyond the design, they are the plain choice that its own documentation makes.
"""

from __future__ import annotations

from holdfast.experiments.answerers.base import Answerer, Design
from holdfast.experiments.answerers.naive import Naive
from holdfast.experiments.answerers.registry import add
from holdfast.experiments.answerers.wrapped import Wrapped
from holdfast.noise import Source


def _naive(design: Design, source: Source) -> Answerer:
    return Naive(design)


def _reusable(design: Design, source: Source) -> Answerer:
    from holdfast.holdout import ReusableHoldout

    holdout = ReusableHoldout(design.n, design.questions, design.confidence, design.failures)
    return Wrapped(holdout.check, needs_guess=True)


def _gaussian(design: Design, source: Source) -> Answerer:
    from holdfast.inference import GaussianAnswers

    answers = GaussianAnswers(design.n, design.questions, design.confidence, source=source)
    return Wrapped(lambda values, guess: answers.mean(values))


add("naive", "the exact sample mean every time", _naive, certified=False)
add("reusable-holdout", "guess and check by transcript coding, the default", _reusable, needs_guess=True)
add("gaussian", "Gaussian noise, scheduled where that is tighter", _gaussian)
