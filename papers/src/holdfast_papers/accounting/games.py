"""The composition games: an adversary chooses mechanisms round by round, and the privacy loss is kept.

Rogers' thesis, Algorithms 2 to 5. In each game a bit `b`, unknown to the adversary, says which of two neighbouring
records every mechanism gets. The privacy loss of a view is `ln Pr[view | b=0] / Pr[view | b=1]`; it is the sum of the
rounds' losses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from holdfast.accounting.costs import ApproxDP, Cost, PureDP
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast_papers.accounting.finite import Mechanism, RandomizedResponse, behind, loss, spent_delta


@dataclass(frozen=True)
class Move:
    """What the adversary hands over in a round: two neighbouring records and a mechanism for them."""

    neighbours: tuple[Hashable, Hashable]
    mechanism: Mechanism

    @property
    def cost(self) -> Cost:
        """What the round costs, as the mechanism declares it."""
        epsilon, delta = self.mechanism.epsilon, self.mechanism.delta
        return ApproxDP(epsilon, delta) if delta > 0 else PureDP(epsilon)


@dataclass(frozen=True)
class Round:
    """One round of a view. `total` is the privacy loss up to and with it, so that looking back is cheap."""

    move: Move
    output: int
    loss: float
    total: float


@dataclass(frozen=True)
class View:
    """A finished game as the adversary saw it; `halted` when the filter refused its last move."""

    rounds: tuple[Round, ...]
    halted: bool = False

    @property
    def loss(self) -> float:
        """The privacy loss of the whole view, in nats."""
        return self.rounds[-1].total if self.rounds else 0.0


class Adversary(Protocol):
    """Chooses the next move from everything seen so far; None stops the game.

    In the thesis an adversary stops by asking with `epsilon = delta = 0` forever; that is the same game.
    """

    def move(self, history: Sequence[Round]) -> Move | None:
        """The next move."""


class Gate(Protocol):
    """What a game needs of a filter; every filter of `holdfast.accounting` fits."""

    def admits(self, cost: Cost) -> bool:
        """Whether this cost may still be spent."""

    def spend(self, cost: Cost) -> object:
        """Spend it."""


def fixed_parameters(
    adversary: Adversary, parameters: Sequence[tuple[float, float]], bit: int, rng: np.random.Generator
) -> View:
    """`FixedParamComp`, Algorithm 2: the privacy parameters of all rounds are fixed, the mechanisms are not.

    Round `i` must be private with `parameters[i]`, whatever its mechanism declares.

    Examples
    --------
    >>> from holdfast_papers.accounting.adversaries import Repeat
    >>> view = fixed_parameters(Repeat(RandomizedResponse(0.1)), [(0.1, 0.0)] * 3, 0, np.random.default_rng(1))
    >>> len(view.rounds)
    3
    """

    def allowed(move: Move, i: int) -> bool:
        epsilon, delta = parameters[i]
        if not _is_private(move, epsilon, delta):
            raise InvalidParameter(f"move {i + 1} must be ({epsilon:g}, {delta:g})-private, the fixed parameters")
        return True

    return _play(adversary, len(parameters), bit, rng, allowed, _release)


def adaptive_parameters(adversary: Adversary, rounds: int, bit: int, rng: np.random.Generator) -> View:
    """`AdaptParamComp`, Algorithm 3: the adversary chooses each round's privacy parameters too.

    Examples
    --------
    >>> from holdfast_papers.accounting.adversaries import TwoSpeeds
    >>> adversary = TwoSpeeds(ahead=RandomizedResponse(0.5), behind=RandomizedResponse(0.1))
    >>> view = adaptive_parameters(adversary, 20, 0, np.random.default_rng(1))
    >>> sorted({r.move.mechanism.epsilon for r in view.rounds})
    [0.1, 0.5]
    """
    return _play(adversary, rounds, bit, rng, _as_declared, _release)


def filtered(adversary: Adversary, rounds: int, bit: int, gate: Gate, rng: np.random.Generator) -> View:
    """`PrivacyFilterComp`, Algorithm 4: before a round runs the filter is asked, with the round's cost included.

    As in the thesis the first refusal ends the game. (A filter of Holdfast would stay open for smaller costs.)

    Examples
    --------
    >>> from holdfast.accounting import BasicFilter
    >>> from holdfast_papers.accounting.adversaries import Repeat
    >>> view = filtered(Repeat(RandomizedResponse(0.1)), 100, 0, BasicFilter(1.0), np.random.default_rng(1))
    >>> len(view.rounds), view.halted
    (10, True)
    """

    def allowed(move: Move, i: int) -> bool:
        _as_declared(move, i)
        if not gate.admits(move.cost):
            return False
        gate.spend(move.cost)
        return True

    return _play(adversary, rounds, bit, rng, allowed, _release)


def simulated(adversary: Adversary, rounds: int, bit: int, rng: np.random.Generator) -> View:
    """`SimulatedComp`, Algorithm 5: each mechanism is replaced by randomised response and a channel that knows no bit.

    The adversary sees the channel's outputs, whose distribution is that of `AdaptParamComp`. The loss that is kept is
    that of the randomised-response symbols, which say at least as much.

    Examples
    --------
    >>> from holdfast_papers.accounting.adversaries import Repeat
    >>> view = simulated(Repeat(RandomizedResponse(0.1)), 5, 0, np.random.default_rng(1))
    >>> [round(abs(r.loss), 12) for r in view.rounds]
    [0.1, 0.1, 0.1, 0.1, 0.1]
    """
    return _play(adversary, rounds, bit, rng, _as_declared, _release_simulated)


def _play(
    adversary: Adversary,
    rounds: int,
    bit: int,
    rng: np.random.Generator,
    allowed: Callable[[Move, int], bool],
    release: Callable[[Move, int, np.random.Generator], tuple[int, float]],
) -> View:
    arguments.whole("rounds", rounds, at_least=0)
    arguments.whole("bit", bit, at_least=0, at_most=1)
    history: list[Round] = []
    total = 0.0
    for i in range(rounds):
        move = adversary.move(history)
        if move is None:
            break
        if not allowed(move, i):
            return View(tuple(history), halted=True)
        output, gained = release(move, bit, rng)
        total += gained
        history.append(Round(move, output, gained, total))
    return View(tuple(history))


def _as_declared(move: Move, i: int) -> bool:
    epsilon, delta = move.mechanism.epsilon, move.mechanism.delta
    if not _is_private(move, epsilon, delta):
        raise InvalidParameter(f"move {i + 1} is not ({epsilon:g}, {delta:g})-private, as its mechanism declares")
    return True


def _is_private(move: Move, epsilon: float, delta: float) -> bool:
    p, q = (move.mechanism.law(record) for record in move.neighbours)
    return spent_delta(p, q, epsilon) <= delta + 1e-12


def _release(move: Move, bit: int, rng: np.random.Generator) -> tuple[int, float]:
    p, q = (move.mechanism.law(record) for record in move.neighbours)
    output = _draw((p, q)[bit], rng)
    return output, loss(p, q, output)


def _release_simulated(move: Move, bit: int, rng: np.random.Generator) -> tuple[int, float]:
    mechanism = move.mechanism
    p, q = (mechanism.law(record) for record in move.neighbours)
    response = RandomizedResponse(mechanism.epsilon, mechanism.delta)
    symbol = _draw(response.law(bit), rng)
    output = _draw(behind(p, q, mechanism.epsilon, mechanism.delta)[symbol], rng)
    return output, loss(response.law(0), response.law(1), symbol)


def _draw(law: np.ndarray[tuple[int], np.dtype[np.float64]], rng: np.random.Generator) -> int:
    return int(np.searchsorted(np.cumsum(law), rng.random() * law.sum(), side="right"))


__all__ = [
    "Adversary",
    "Gate",
    "Move",
    "Round",
    "View",
    "adaptive_parameters",
    "filtered",
    "fixed_parameters",
    "simulated",
]
