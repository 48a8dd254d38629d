"""The analyst of the textbooks: every question fixed before the data."""

from __future__ import annotations

import numpy as np

from holdfast.experiments.analysts.interview import Interview, Run
from holdfast.experiments.analysts.world import World
from holdfast.experiments.answerers.base import Answerer, Design


def honest(answerer: Answerer, design: Design, rng: np.random.Generator) -> Run:
    """Ask for every feature's mean, once each, in a fixed order; the means spread over (0, 1).

    The guess is the training mean. Against this analyst the naive answerer is right, which is the control.

    Examples
    --------
    >>> from holdfast.experiments.answerers import Naive
    >>> design = Design(n=500, questions=20)
    >>> honest(Naive(design), design, np.random.default_rng(1)).covered
    True
    """
    spread = (np.arange(design.questions) + 0.5) / design.questions
    world = World(spread, design.n, rng)
    interview = Interview(answerer, design)
    guesses = world.training.means() if answerer.needs_guess else np.full(spread.size, 0.5)
    interview.ask_many(world.holdout.bits, guesses, spread)
    return interview.done()


__all__ = ["honest"]
