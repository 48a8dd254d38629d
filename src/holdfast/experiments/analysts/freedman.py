"""Freedman's paradox: screen features, keep what looks significant, refit, and find that everything is significant.

Freedman (1983) regresses noise on noise and keeps the variables that look significant; the second regression then looks
convincing. The analyst here is that of Dwork et al. (2015, section 5) on sign features: screen on training and holdout,
keep what both agree on, and ask for the accuracy of votes among the kept features.
"""

from __future__ import annotations

import math

import numpy as np

from holdfast.experiments.analysts.interview import Interview, Run
from holdfast.experiments.analysts.world import Ballot, World
from holdfast.experiments.answerers.base import Answerer, Design

REFITS = 10
"""At most so many refits, of growing size."""
LOOKS = 1.0
"""Standard errors from 1/2 at which a feature looks worth keeping, as in Dwork et al."""


def freedman(answerer: Answerer, design: Design, rng: np.random.Generator) -> Run:
    """Screen features that carry no signal, refit with those that look significant, and ask for the refits' accuracy.

    A feature is kept when its training mean and the answer lie on the same side of 1/2, each by `LOOKS` standard errors
    or more. The refits are votes of the strongest third, two thirds and so on, in training order. The truth is 1/2
    throughout. `extra["kept"]` is the share of features that looked significant, `extra["believed"]` the accuracy told
    for the last refit.

    Examples
    --------
    >>> from holdfast.experiments.answerers import Naive
    >>> design = Design(n=1000, questions=500)
    >>> run = freedman(Naive(design), design, np.random.default_rng(1))
    >>> run.covered, run.extra["believed"] > 0.56
    (False, True)
    """
    refits = min(REFITS, design.questions // 2)
    features = design.questions - refits
    world = World(np.full(features, 0.5), design.n, rng)
    interview = Interview(answerer, design)
    training = world.training.means() - 0.5
    told = interview.ask_many(world.holdout.bits, training + 0.5, np.full(features, 0.5)) - 0.5
    least = LOOKS / (2 * math.sqrt(design.n))
    looks = (np.abs(training) >= least) & (np.nan_to_num(np.abs(told)) >= least) & (np.nan_to_num(told) * training > 0)
    order = [j for j in np.argsort(-np.abs(training)) if looks[j]]
    ballot, believed = Ballot.empty(world, guess=True), 0.5
    for block in np.array_split(np.array(order, dtype=np.int64), refits):
        for j in block:
            ballot = ballot.joined(int(j), 1 if training[j] > 0 else -1)
        reply = interview.ask(ballot.values, ballot.guess, 0.5)
        if reply is None:
            break
        believed = reply.value
    interview.extra |= {"kept": float(looks.mean()), "believed": believed}
    return interview.done()


__all__ = ["LOOKS", "REFITS", "freedman"]
