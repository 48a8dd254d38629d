"""Adversaries for the composition games."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.core import arguments
from holdfast_papers.accounting.finite import Mechanism, RandomizedResponse
from holdfast_papers.accounting.games import Move, Round

_TIE = 1e-9  # losses are sums of rounded steps; a billionth of a step is no step


@dataclass(frozen=True)
class Repeat:
    """Plays one mechanism on the same two records forever."""

    mechanism: Mechanism
    neighbours: tuple[int, int] = (0, 1)

    def move(self, history: Sequence[Round]) -> Move | None:
        """The one move."""
        return Move(self.neighbours, self.mechanism)


@dataclass(frozen=True)
class StoppingTime:
    """Plays randomised response and stops as soon as the privacy loss is above a boundary.

    Algorithm 6 of the thesis, used there to prove Theorem 5.6.1. `boundary(i)` is the loss at which to stop after round
    `i`; `thesis_boundary` is the printed one. Taken against an odometer, the worst boundary is its own reading. (The
    printed rule also stops on the boundary; here a loss equal to a reading is no failure, so it goes on.)

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast_papers.accounting.games import adaptive_parameters
    >>> eager = StoppingTime(0.5, lambda i: 0.25)
    >>> view = adaptive_parameters(eager, 1000, 0, np.random.default_rng(1))
    >>> view.loss > 0.25
    True
    """

    epsilon: float
    boundary: Callable[[int], float]

    def move(self, history: Sequence[Round]) -> Move | None:
        """Randomised response, until the boundary is passed."""
        if history and history[-1].total > self.boundary(len(history)) + _TIE * self.epsilon:
            return None
        return Move((0, 1), RandomizedResponse(self.epsilon))


def thesis_boundary(epsilon: float, delta: float, c: float, rounds: int) -> Callable[[int], float]:
    """The boundary of Algorithm 6: the mean loss plus `c epsilon sqrt(i ln(ln(rounds) / delta))`.

    With `c = sqrt(2 ln(1/delta) / ln(ln(rounds)/delta))` it is the advanced composition bound of `i` rounds, so that
    this adversary is the worst one against advanced composition read as an odometer.

    Examples
    --------
    >>> boundary = thesis_boundary(0.01, 0.05, 1.0, 10_000)
    >>> round(boundary(100), 6)
    0.233387
    """
    epsilon = arguments.real("epsilon", epsilon, above=0)
    delta = arguments.probability("delta", delta)
    rounds = arguments.whole("rounds", rounds, at_least=3)
    c = arguments.real("c", c, above=0)
    mean = epsilon * math.tanh(epsilon / 2)
    spread = c * epsilon * math.sqrt(math.log(math.log(rounds) / delta))
    return lambda i: i * mean + spread * math.sqrt(i)


@dataclass(frozen=True)
class TwoSpeeds:
    """Chooses between two randomised responses by whether the loss so far is ahead of its mean.

    Parameters depend on the outputs, which fixed-parameter composition theorems do not allow and filters must survive.
    """

    ahead: RandomizedResponse
    behind: RandomizedResponse

    def move(self, history: Sequence[Round]) -> Move | None:
        """The response for an adversary who is ahead, or the other."""
        spent = math.fsum(r.move.mechanism.epsilon * math.tanh(r.move.mechanism.epsilon / 2) for r in history)
        lucky = bool(history) and history[-1].total > spent
        return Move((0, 1), self.ahead if lucky else self.behind)


__all__ = ["Repeat", "StoppingTime", "TwoSpeeds", "thesis_boundary"]
