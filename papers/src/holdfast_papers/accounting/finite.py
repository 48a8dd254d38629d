"""Private mechanisms with finitely many outputs: their distributions, how private they are, and randomised response
behind each.

With finite distributions nothing has to be believed: the games check that a mechanism is as private as it says, losses
are exact, and a whole game can be enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.finite_law import hockey_stick
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

Law = NDArray[np.float64]
_SLACK = 1e-12


class Mechanism(Protocol):
    """An `(epsilon, delta)`-private mechanism whose output is a number from 0 to some m - 1."""

    @property
    def epsilon(self) -> float:
        """The privacy parameter."""

    @property
    def delta(self) -> float:
        """The failure probability; 0 for pure privacy."""

    def law(self, record: Hashable) -> Law:
        """The distribution of the output on this record."""


@dataclass(frozen=True)
class RandomizedResponse:
    """Randomised response (Definition 5.2.1 of the thesis): outputs 0 reveals 0, 1 top, 2 bottom, 3 reveals 1.

    On input 0 their probabilities are `delta`, `(1-delta) e^eps/(1+e^eps)`, `(1-delta)/(1+e^eps)` and 0; on input 1
    they are mirrored.

    Examples
    --------
    >>> RandomizedResponse(math.log(3)).law(0)
    array([0.  , 0.75, 0.25, 0.  ])
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        arguments.real("epsilon", self.epsilon, at_least=0)
        arguments.probability("delta", self.delta, zero=True)

    def law(self, record: Hashable) -> Law:
        """The distribution of the output on bit 0 or 1."""
        if record not in (0, 1):
            raise InvalidParameter("record must be the bit 0 or 1")
        likely = 1 / (1 + math.exp(-self.epsilon))
        on_zero = np.array([self.delta, (1 - self.delta) * likely, (1 - self.delta) * (1 - likely), 0.0])
        return on_zero if record == 0 else on_zero[::-1].copy()


@dataclass(frozen=True)
class Tabled:
    """A mechanism given by the distribution of its output on each record.

    Examples
    --------
    >>> coin = Tabled(math.log(2), 0.0, {"a": (2 / 3, 1 / 3), "b": (1 / 3, 2 / 3)})
    >>> round(spent_delta(coin.law("a"), coin.law("b"), coin.epsilon), 12)
    0.0
    """

    epsilon: float
    delta: float
    laws: Mapping[Hashable, tuple[float, ...]] = field(hash=False)

    def __post_init__(self) -> None:
        arguments.real("epsilon", self.epsilon, at_least=0)
        arguments.probability("delta", self.delta, zero=True)
        for law in self.laws.values():
            if min(law) < 0 or abs(math.fsum(law) - 1) > 1e-9:
                raise InvalidParameter("laws must hold probabilities that sum to 1")

    def law(self, record: Hashable) -> Law:
        """The distribution of the output on this record."""
        if record not in self.laws:
            raise InvalidParameter("record must be one that the mechanism has a distribution for")
        return np.array(self.laws[record])


def spent_delta(p: Law, q: Law, epsilon: float) -> float:
    """The least `delta` at which two distributions are `(epsilon, delta)`-indistinguishable: the larger hockey-stick
    divergence.

    Examples
    --------
    >>> round(spent_delta(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0), 12)
    0.5
    """
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


def loss(p: Law, q: Law, output: int) -> float:
    """The privacy loss of an output in nats: `ln p/q`, infinite where only one distribution allows it.

    Examples
    --------
    >>> loss(np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.0, 0.5]), 1)
    inf
    """
    if p[output] == 0 or q[output] == 0:
        return math.inf if p[output] > 0 else -math.inf
    return math.log(p[output] / q[output])


def behind(p: Law, q: Law, epsilon: float, delta: float) -> NDArray[np.float64]:
    """Row `s` is the distribution of the output given that randomised response said `s`: a simulation of the pair `p`,
    `q`.

    Randomised response on bit 0, then this channel, has distribution `p`; on bit 1 distribution `q`. That such a
    channel exists for every `(epsilon, delta)`-indistinguishable pair is Theorem 5.2.2 of the thesis (Kairouz, Oh and
    Viswanath).

    The construction is ours. Take off `p` what exceeds `e^epsilon q`, and the same from `q`: at most `delta` each, and
    what is left has ratios within `e^epsilon`. Bring the heavier remainder to the mass of the lighter one by moving it
    towards `e^-epsilon` times the lighter, which keeps the ratios; scale both to mass `1 - delta`. The parts `p' , q'`
    are then mixtures of two distributions with weights `e^epsilon : 1` and `1 : e^epsilon`, namely of the distributions
    proportional to `e^epsilon p' - q'` and `e^epsilon q' - p'`. What was taken off is said by the two revealing
    symbols.

    Examples
    --------
    >>> p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3])
    >>> channel = behind(p, q, 0.5, 0.0)
    >>> response = RandomizedResponse(0.5)
    >>> np.allclose(response.law(0) @ channel, p), np.allclose(response.law(1) @ channel, q)
    (True, True)
    """
    if spent_delta(p, q, epsilon) > delta + _SLACK:
        raise InvalidParameter("the two distributions must be as close as epsilon and delta say")
    factor = math.exp(epsilon)
    core_p, core_q = np.minimum(p, factor * q), np.minimum(q, factor * p)
    if core_p.sum() > core_q.sum():
        core_p = _lowered(core_p, core_q / factor, float(core_q.sum()))
    else:
        core_q = _lowered(core_q, core_p / factor, float(core_p.sum()))
    scale = min((1 - delta) / float(core_p.sum()), 1.0) if core_p.any() else 0.0
    core_p, core_q = core_p * scale, core_q * scale
    common = core_p if core_p.any() else p
    top, bottom = np.maximum(factor * core_p - core_q, 0), np.maximum(factor * core_q - core_p, 0)
    return np.array([_normal(p - core_p, p), _normal(top, common), _normal(bottom, common), _normal(q - core_q, q)])


def _lowered(heavy: Law, floor: Law, target: float) -> Law:
    """`heavy` moved towards `floor` (which lies below it) until its mass is `target`."""
    excess, room = float(heavy.sum()) - target, float(heavy.sum() - floor.sum())
    share = excess / room if room > 0 else 0.0
    return (1 - share) * heavy + share * floor


def _normal(weights: Law, otherwise: Law) -> Law:
    """Weights as a distribution. No weight is left for a symbol that never occurs, where any distribution will do, and
    for the middle symbols at epsilon 0, where the two cores coincide and are the distribution.
    """
    weights = np.maximum(weights, 0)
    total = float(weights.sum())
    return weights / total if total > _SLACK else otherwise / otherwise.sum()


__all__ = ["Law", "Mechanism", "RandomizedResponse", "Tabled", "behind", "loss", "spent_delta"]
