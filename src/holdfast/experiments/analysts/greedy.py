"""The hill climber: keeps a candidate when its score looks better, as people do with a validation set."""

from __future__ import annotations

import numpy as np

from holdfast.experiments.analysts.interview import Interview, Run
from holdfast.experiments.analysts.world import Ballot, World
from holdfast.experiments.answerers.base import Answerer, Design

SIGNAL = 3
"""How many features carry signal, so that climbing is not hopeless."""
STRENGTH = 0.55
"""How often such a feature agrees with the label."""


def greedy(answerer: Answerer, design: Design, rng: np.random.Generator) -> Run:
    """Score every feature on its own, then add them in the order of their scores where the vote looks better.

    Two thirds of the questions look at single features, the rest at candidates: the vote kept so far and the next two
    features (two, because a vote of an odd number has no ties), turned the way their own scores said. A candidate is
    kept when its score is the best so far. Guesses are training scores. The analyst believes every value told and stops
    at a refusal. `extra["believed"]` and `extra["true"]` are the score of the vote kept in the end, as told and in the
    population.

    Examples
    --------
    >>> from holdfast.experiments.answerers import Naive
    >>> design = Design(n=1000, questions=200)
    >>> run = greedy(Naive(design), design, np.random.default_rng(1))
    >>> run.covered, run.extra["believed"] > run.extra["true"] + 0.05
    (False, True)
    """
    singles = 2 * design.questions // 3
    probabilities = np.full(singles, 0.5)
    probabilities[:SIGNAL] = STRENGTH
    world = World(probabilities, design.n, rng)
    interview = Interview(answerer, design)
    guesses = world.training.means() if answerer.needs_guess else np.full(singles, 0.5)
    told = interview.ask_many(world.holdout.bits, guesses, probabilities) - 0.5
    order = [int(j) for j in np.argsort(-np.abs(told)) if abs(told[j]) > 0]  # a refused score is NaN and drops out
    kept, best = Ballot.empty(world, guess=answerer.needs_guess), 0.5
    for pair in [order[:1], *(order[i : i + 2] for i in range(1, len(order) - 1, 2))][: interview.left]:
        candidate = kept
        for j in pair:
            candidate = candidate.joined(j, 1 if told[j] > 0 else -1)
        reply = interview.ask(candidate.values, candidate.guess, candidate.truth)
        if reply is None:
            break
        if reply.value > best:
            kept, best = candidate, reply.value
    interview.extra |= {"believed": best, "true": kept.truth}
    return interview.done()


__all__ = ["SIGNAL", "STRENGTH", "greedy"]
