"""The adaptive linear attack: learn which way each feature leans in the sample, then ask for the vote of all of them.

Rows are independent fair signs, so every question has truth 1/2. Exact means lean by about `sqrt(2 / (pi n))` each, and
the vote of `d` of them signed by their answers has the sample mean `Phi(sqrt(2 d / (pi n)))`: with n = 6400 rows and
d = 639 features 0.0995 above the truth, three and a half times what a union bound over fixed questions allows.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from holdfast.experiments.analysts.interview import Interview, Run
from holdfast.experiments.analysts.world import Ballot, Floats, World
from holdfast.experiments.answerers.base import Answerer, Design

Variant = Literal["last", "weighted", "quarter", "feedback", "probe"]
ROUND = 5
"""The feedback variant asks for the vote once in so many questions."""
LEVELS = 8
"""The weighted variant rounds weights to whole numbers up to this."""


def adversarial(answerer: Answerer, design: Design, rng: np.random.Generator, variant: Variant = "last") -> Run:
    """Attack an answerer whose sample means 1/2 on every question.

    Parameters
    ----------
    answerer, design, rng
        Whom to attack, what was planned, and where the rows come from.
    variant : str
        ``last``: one question a feature, then the majority vote signed by the answers. ``weighted``: the same, each
        vote weighted by how far its answer lies from 1/2. ``quarter``: the last quarter of the questions ask growing
        votes, strongest features first. ``feedback``: every fifth question asks for the vote so far, and features that
        made it look worse are thrown out. ``probe``: for answerers that check guesses; each guess is placed so that
        passing or failing says on which side of 1/2 the sample lies, and the last failure is kept for the vote.
        Against an answerer without guesses it is ``last``.

    Examples
    --------
    >>> from holdfast.experiments.answerers import Naive
    >>> design = Design(n=1000, questions=500)
    >>> run = adversarial(Naive(design), design, np.random.default_rng(1))
    >>> run.covered, abs(run.worst - expected_error(1000, 499)) < 0.06
    (False, True)
    """
    if variant == "probe" and answerer.tolerance is None:
        variant = "last"
    votes = max(1, {"quarter": design.questions // 4, "feedback": design.questions // ROUND}.get(variant, 1))
    features = design.questions - votes
    world = World(np.full(features, 0.5), design.n, rng)
    interview = Interview(answerer, design)
    if variant == "feedback":
        _feedback(world, interview)
    elif variant == "probe":
        _probe(world, interview)
    else:
        leaning = interview.ask_many(world.holdout.bits, _guesses(world, answerer), np.full(features, 0.5)) - 0.5
        if variant == "quarter":
            _growing(world, interview, leaning, votes)
        else:
            _vote(world, interview, leaning, LEVELS if variant == "weighted" else 1)
    return interview.done()


def expected_error(n: int, features: int) -> float:
    """How far the last question's exact sample mean is from the truth, for many features: `Phi(sqrt(2d/(pi n))) - 1/2`.

    Examples
    --------
    >>> round(expected_error(6400, 639), 4)
    0.0995
    """
    return math.erf(math.sqrt(features / (math.pi * n))) / 2


def _guesses(world: World, answerer: Answerer) -> Floats:
    if answerer.needs_guess:
        return world.training.means()
    return np.full(world.probabilities.size, 0.5)


def _vote(world: World, interview: Interview, leaning: Floats, levels: int) -> None:
    """Ask for the vote of all features, signed by what was told."""
    told = np.nan_to_num(leaning)
    top = np.abs(told).max()
    weights = np.sign(told).astype(np.int64)
    if levels > 1 and top > 0:
        weights = np.rint(told / top * levels).astype(np.int64)
    guess = 0.5
    if interview.answerer.needs_guess:
        guess = np.count_nonzero(world.training.settled(world.training.scores(weights))) / world.n
    interview.ask(world.holdout.settled(world.holdout.scores(weights)), guess, 0.5)


def _growing(world: World, interview: Interview, leaning: Floats, votes: int) -> None:
    """Ask for votes of the strongest features, each larger than the one before, the last of all features."""
    order = [int(j) for j in np.argsort(-np.abs(leaning)) if abs(leaning[j]) > 0]
    ballot = Ballot.empty(world, guess=interview.answerer.needs_guess)
    for block in np.array_split(np.array(order, dtype=np.int64), votes):
        for j in block:
            ballot = ballot.joined(int(j), 1 if leaning[j] > 0 else -1)
        if interview.ask(ballot.values, ballot.guess, 0.5) is None:
            return


def _feedback(world: World, interview: Interview) -> None:
    """Ask for the vote after every few features, and take those back that made it look worse."""
    guesses = _guesses(world, interview.answerer)
    kept = Ballot.empty(world, guess=interview.answerer.needs_guess)
    best, j = 0.5, 0
    while interview.left > 0:
        candidate = kept
        for _ in range(min(ROUND - 1, interview.left - 1)):
            reply = interview.ask(world.holdout.bits[j], float(guesses[j]), 0.5)
            if reply is None:
                return
            if abs(reply.value - 0.5) > 0:  # not for NaN, a failure that shows only its bit
                candidate = candidate.joined(j, 1 if reply.value > 0.5 else -1)
            j += 1
        reply = interview.ask(candidate.values, candidate.guess, 0.5)
        if reply is None:
            return
        if reply.value >= best or interview.left <= ROUND:
            kept, best = candidate, reply.value


def _probe(world: World, interview: Interview) -> None:
    """Place each guess at the edge of its tolerance, so that pass or fail is one bit about the sample."""
    leaning = np.zeros(world.probabilities.size)
    for j in range(leaning.size):
        most, edge = interview.answerer.most_failures, interview.answerer.tolerance
        if edge is None or (most is not None and interview.answerer.failures >= most - 1):
            break
        reply = interview.ask(world.holdout.bits[j], min(0.5 + edge, 1.0), 0.5)
        if reply is None:
            break
        leaning[j] = 1.0 if reply.passed else -1.0
    weights = np.sign(leaning).astype(np.int64)
    claimed = 0.5 + expected_error(world.n, max(1, int(np.count_nonzero(weights))))
    interview.ask(world.holdout.settled(world.holdout.scores(weights)), claimed, 0.5)


__all__ = ["LEVELS", "ROUND", "Variant", "adversarial", "expected_error"]
