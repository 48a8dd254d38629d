"""Linear reconstruction: recover every row's secret bit from answers about random groups of rows.

The attack of Dinur and Nissim (2003) as a population question: a row has a public name and a secret fair bit, and a
question assigns a random bit to every name and asks how often the two agree. Exact answers to about n questions
determine the bits of all n rows. Then "does my table have this row's bit?" is 1 on the sample and 1/2 in the
population, because a fresh row is not in the table: no mean of the sample is further from the truth.
"""

from __future__ import annotations

import numpy as np

from holdfast.experiments.analysts.interview import Interview, Run
from holdfast.experiments.analysts.world import Bits, Floats
from holdfast.experiments.answerers.base import Answerer, Design

_RIDGE = 1e-6


def bit_recovery(answerer: Answerer, design: Design, rng: np.random.Generator) -> Run:
    """Ask about random groups, solve for the bits, and ask for the agreement with what was solved for.

    Every question has truth 1/2. The bits are the signs of the least-squares solution of smallest norm. Guesses are
    1/2, and for the last question what the analyst hopes for, 1. `extra["recovered"]` is the share of secret bits that
    were found; one half is what guessing finds.

    Examples
    --------
    >>> from holdfast.experiments.answerers import Naive
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
    told = interview.ask_many(assigned == secret, np.full(groups, 0.5), np.full(groups, 0.5))
    table = _solve(assigned, told)
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
        found = signs.T @ np.linalg.solve(gram, sums)
    else:
        gram = signs.T @ signs
        gram[np.diag_indices_from(gram)] += _RIDGE * assigned.shape[1]
        found = np.linalg.solve(gram, signs.T @ sums)
    return np.asarray(found > 0)


__all__ = ["bit_recovery"]
