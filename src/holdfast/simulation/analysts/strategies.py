"""Analysts by name: honest, greedy, Freedman's, and the attackers who reconstruct rows or climb by votes.

Freedman's paradox
------------------
Freedman (1983) regresses noise on noise and keeps the variables that look significant; the second regression then looks
convincing. The analyst here is that of Dwork et al. (2015, section 5) on sign features: screen on training and holdout,
keep what both agree on, and ask for the accuracy of votes among the kept features.

Linear reconstruction
---------------------
The attack of Dinur and Nissim (2003) as a population question: a row has a public name and a secret fair bit, and a
question assigns a random bit to every name and asks how often the two agree. Exact answers to about n questions
determine the bits of all n rows. Then "does my table have this row's bit?" is 1 on the sample and 1/2 in the
population, because a fresh row is not in the table: no mean of the sample is further from the truth.

The adaptive linear attack
--------------------------
Rows are independent fair signs, so every question has truth 1/2. Exact means lean by about `sqrt(2 / (pi n))` each, and
the vote of `d` of them signed by their answers has the sample mean `Phi(sqrt(2 d / (pi n)))`: with n = 6400 rows and
d = 639 features 0.0995 above the truth, three and a half times what a union bound over fixed questions allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from holdfast.core import arguments
from holdfast.simulation.analysts.interview import Interview, Run
from holdfast.simulation.analysts.world import Ballot, Bits, Floats, World
from holdfast.simulation.answerers.base import Answerer, Design


def honest(answerer: Answerer, design: Design, rng: np.random.Generator) -> Run:
    """Ask for every feature's mean, once each, in a fixed order; the means spread over (0, 1).

    The guess is the training mean. Against this analyst the naive method is right, which is the control.

    Examples
    --------
    >>> from holdfast.simulation.answerers import Naive
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
    >>> from holdfast.simulation.answerers import Naive
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
    answers = interview.ask_many(world.holdout.bits, guesses, probabilities) - 0.5
    order = [
        int(j) for j in np.argsort(-np.abs(answers)) if abs(answers[j]) > 0
    ]  # a refused score is NaN and drops out
    ballot, best = Ballot.empty(world, guess=answerer.needs_guess), 0.5
    for pair in [order[:1], *(order[i : i + 2] for i in range(1, len(order) - 1, 2))][: interview.left]:
        candidate = ballot
        for j in pair:
            candidate = candidate.joined(j, 1 if answers[j] > 0 else -1)
        reply = interview.ask(candidate.values, candidate.guess, candidate.truth)
        if reply is None:
            break
        if reply.value > best:
            ballot, best = candidate, reply.value
    interview.extra |= {"believed": best, "true": ballot.truth}
    return interview.done()


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
    >>> from holdfast.simulation.answerers import Naive
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
    answers = interview.ask_many(world.holdout.bits, training + 0.5, np.full(features, 0.5)) - 0.5
    least = LOOKS / (2 * math.sqrt(design.n))
    looks = (
        (np.abs(training) >= least)
        & (np.nan_to_num(np.abs(answers)) >= least)
        & (np.nan_to_num(answers) * training > 0)
    )
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


_RIDGE = 1e-6


def bit_recovery(answerer: Answerer, design: Design, rng: np.random.Generator) -> Run:
    """Ask about random groups, solve for the bits, and ask for the agreement with what was solved for.

    Every question has truth 1/2. The bits are the signs of the least-squares solution of smallest norm. Guesses are
    1/2, and for the last question what the analyst hopes for, 1. `extra["recovered"]` is the share of secret bits that
    were found; one half is what guessing finds.

    Examples
    --------
    >>> from holdfast.simulation.answerers import Naive
    >>> design = Design(n=100, questions=200)
    >>> run = bit_recovery(Naive(design), design, np.random.default_rng(1))
    >>> run.extra["recovered"], run.worst
    (1.0, 0.5)
    """
    groups = design.questions - 1
    packed = np.frombuffer(rng.bytes(-(-(groups + 1) * design.n // 8)), dtype=np.uint8)
    drawn = np.unpackbits(packed, count=(groups + 1) * design.n).view(np.bool_).reshape(groups + 1, design.n)
    secret, assigned = drawn[-1], drawn[:-1]
    interview = Interview(answerer, design)
    answers = interview.ask_many(assigned == secret, np.full(groups, 0.5), np.full(groups, 0.5))
    table = _solve(assigned, answers)
    agrees = table == secret
    interview.ask(agrees, 1.0, 0.5)
    interview.extra["recovered"] = float(agrees.mean())
    return interview.done()


def _solve(assigned: Bits, told: Floats) -> Bits:
    """The bits that fit the answers best."""
    got = ~np.isnan(told)
    if not got.any():
        return np.zeros(assigned.shape[1], dtype=np.bool_)
    signs = 2.0 * assigned[got] - 1
    sums = (2 * told[got] - 1) * assigned.shape[1]
    if len(signs) <= assigned.shape[1]:
        gram = signs @ signs.T
        gram[np.diag_indices_from(gram)] += _RIDGE * assigned.shape[1]
        estimates = signs.T @ np.linalg.solve(gram, sums)
    else:
        gram = signs.T @ signs
        gram[np.diag_indices_from(gram)] += _RIDGE * assigned.shape[1]
        estimates = np.linalg.solve(gram, signs.T @ sums)
    return np.asarray(estimates > 0)


Variant = Literal["last", "weighted", "quarter", "feedback", "probe"]
ROUND = 5
"""The feedback variant asks for the vote once in so many questions."""
LEVELS = 8
"""The weighted variant rounds weights to whole numbers up to this."""


def adversarial(answerer: Answerer, design: Design, rng: np.random.Generator, variant: Variant = "last") -> Run:
    """Attack a method whose sample means 1/2 on every question.

    Parameters
    ----------
    answerer, design, rng : what is attacked, planned and drawn from
        Whom to attack, what was planned, and where the rows come from.
    variant : str
        ``last``: one question a feature, then the majority vote signed by the answers. ``weighted``: the same, each
        vote weighted by how far its answer lies from 1/2. ``quarter``: the last quarter of the questions ask growing
        votes, strongest features first. ``feedback``: every fifth question asks for the vote so far, and features that
        made it look worse are thrown out. ``probe``: for methods that check guesses; each guess is placed so that
        passing or failing says on which side of 1/2 the sample lies, and the last failure is kept for the vote.
        Against a method without guesses it is ``last``.

    Examples
    --------
    >>> from holdfast.simulation.answerers import Naive
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
    leanings = np.nan_to_num(leaning)
    top = np.abs(leanings).max()
    weights = np.sign(leanings).astype(np.int64)
    if levels > 1 and top > 0:
        weights = np.rint(leanings / top * levels).astype(np.int64)
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
    ballot = Ballot.empty(world, guess=interview.answerer.needs_guess)
    best, j = 0.5, 0
    while interview.left > 0:
        candidate = ballot
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
            ballot, best = candidate, reply.value


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


Analyse = Callable[[Answerer, Design, np.random.Generator], Run]


@dataclass(frozen=True)
class Analyst:
    """An analyst: `run(answerer, design, rng)` is one whole analysis of a fresh sample."""

    name: str
    title: str
    run: Analyse

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for listings."""
        return {"name": self.name, "title": self.title}


ANALYSTS: dict[str, Analyst] = {
    entry.name: entry
    for entry in (
        Analyst("honest", "every question fixed before the data", honest),
        Analyst("greedy", "scores features, then grows a vote while its score looks better", greedy),
        Analyst("adversarial", "asks every feature, then the vote signed by the answers", adversarial),
        Analyst("adversarial-weighted", "the same, votes weighted", partial(adversarial, variant="weighted")),
        Analyst("adversarial-quarter", "the last quarter asks growing votes", partial(adversarial, variant="quarter")),
        Analyst("adversarial-feedback", "asks for the vote as it goes", partial(adversarial, variant="feedback")),
        Analyst("adversarial-probe", "guesses at the edge of the tolerance", partial(adversarial, variant="probe")),
        Analyst("freedman", "screens noise, refits with what looks significant, asks again", freedman),
        Analyst("bit-recovery", "solves for the rows' secret bits from answers about random groups", bit_recovery),
    )
}


def analyst(name: str) -> Analyst:
    """Return the analyst called `name`.

    Examples
    --------
    >>> analyst("greedy").name
    'greedy'
    """
    return ANALYSTS[arguments.choice("analyst", name, ANALYSTS)]
