"""Synthetic rows whose population is known exactly: independent sign features and votes among them.

A row has `d` independent features; feature j agrees with the row's label with probability `p_j`, mostly 1/2. A question
is a weighted vote among features: does the vote agree with the label? A tie is settled by a fair coin that belongs to
the row, so every value is 0 or 1. The population mean of a vote is a sum of independent terms, so it is known exactly;
when no feature carries signal it is 1/2, because turning every sign over turns the answer over.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Scores = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Signs:
    """Rows of one sample: `bits[j, i]` says whether feature j of row i agrees with its label; `coin` settles ties."""

    bits: Bits
    coin: Bits

    def means(self) -> Floats:
        """Mean of every feature."""
        return np.array([np.count_nonzero(row) for row in self.bits]) / self.coin.size

    def scores(self, weights: Whole) -> Scores:
        """Weighted sum of the signs of every row.

        Time: O(d n). Single precision is exact here: every partial sum is a whole number far below 2**24.
        """
        chosen = np.flatnonzero(weights)
        signed = weights[chosen].astype(np.float32)
        counted = signed @ self.bits[chosen].view(np.uint8).astype(np.float32)
        return np.asarray(2 * counted - signed.sum(), dtype=np.int32)

    def moved(self, scores: Scores, feature: int, weight: int) -> Scores:
        """Return the scores after one more feature joins the vote."""
        return scores + np.where(self.bits[feature], np.int32(weight), np.int32(-weight))

    def settled(self, scores: Scores) -> Bits:
        """Return the rows with a positive score, and of those with score 0 the ones whose coin shows heads."""
        return np.asarray((scores > 0) | ((scores == 0) & self.coin))


@dataclass(frozen=True, eq=False)
class World:
    """A population of sign features, and two independent samples from it.

    `probabilities[j]` is the chance that feature j agrees with the label. The training rows are made when they are
    first looked at, after the guarded ones, so that the guarded rows do not depend on who asks.

    Examples
    --------
    >>> world = World(np.full(5, 0.5), n=100, rng=np.random.default_rng(1))
    >>> world.holdout.bits.shape, world.truth(np.array([1, -1, 1, 0, 0]))
    ((5, 100), 0.5)
    >>> round(World(np.array([0.6, 0.6, 0.6]), 1, np.random.default_rng(1)).truth(np.array([1, 1, 1])), 12)
    0.648
    """

    probabilities: Floats
    n: int
    rng: np.random.Generator

    @cached_property
    def holdout(self) -> Signs:
        """The guarded rows."""
        return self._draw()

    @cached_property
    def training(self) -> Signs:
        """Rows that the analyst owns."""
        _ = self.holdout
        return self._draw()

    def truth(self, weights: Whole) -> float:
        """Exact population mean of the weighted vote: the distribution of a sum of independent signs, ties counted
        half.
        """
        law = np.ones(1)
        for j in np.flatnonzero(weights):
            law = self.widened(law, int(j), int(weights[j]))
        return above(law)

    def widened(self, law: Floats, feature: int, weight: int) -> Floats:
        """The distribution of a vote's score after one more feature joins; entry i is score `2 i - (size - 1)`."""
        p = float(self.probabilities[feature])
        up = p if weight > 0 else 1 - p
        wider = np.zeros(law.size + abs(weight))
        wider[: law.size] = (1 - up) * law
        wider[abs(weight) :] += up * law
        return wider

    def _draw(self) -> Signs:
        shape = (self.probabilities.size + 1, self.n)
        size = shape[0] * shape[1]
        packed = np.frombuffer(self.rng.bytes(-(-size // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed, count=size).view(np.bool_).reshape(shape)
        for j in np.flatnonzero(self.probabilities != 0.5):
            bits[j] = self.rng.random(self.n) < self.probabilities[j]
        return Signs(bits[:-1], bits[-1])


def above(law: Floats) -> float:
    """Probability of a positive score plus half that of score 0.

    Examples
    --------
    >>> above(np.array([0.25, 0.5, 0.25]))
    0.5
    """
    half = law.size // 2
    if law.size % 2:
        return float(law[half + 1 :].sum() + law[half] / 2)
    return float(law[half:].sum())


@dataclass(frozen=True, eq=False)
class Ballot:
    """A vote that grows one feature at a time, scored on both samples and in the population.

    Time: O(n) a step, where scoring the whole vote afresh would take O(d n). `training` and `law` are None where
    nobody needs them: no guess is asked for, or no feature carries signal and the truth is 1/2.

    Examples
    --------
    >>> world = World(np.array([0.5, 0.7]), 1000, np.random.default_rng(1))
    >>> Ballot.empty(world, guess=True).joined(1, 1).truth
    0.7
    """

    world: World
    holdout: Scores
    training: Scores | None
    law: Floats | None

    @classmethod
    def empty(cls, world: World, *, guess: bool) -> Ballot:
        """Return the vote without voters: every row's coin decides."""
        nothing = np.zeros(world.n, dtype=np.int32)
        silent = bool(np.all(world.probabilities == 0.5))
        return cls(world, nothing, nothing if guess else None, None if silent else np.ones(1))

    def joined(self, feature: int, weight: int) -> Ballot:
        """Return the vote after `feature` has joined with `weight`."""
        world = self.world
        return Ballot(
            world,
            world.holdout.moved(self.holdout, feature, weight),
            None if self.training is None else world.training.moved(self.training, feature, weight),
            None if self.law is None else world.widened(self.law, feature, weight),
        )

    @property
    def values(self) -> Bits:
        """Which guarded rows the vote gets right."""
        return self.world.holdout.settled(self.holdout)

    @property
    def guess(self) -> float:
        """Share of the training rows it gets right; 1/2 where no training rows were asked for."""
        if self.training is None:
            return 0.5
        return int(np.count_nonzero(self.world.training.settled(self.training))) / self.world.n

    @property
    def truth(self) -> float:
        """Share of the population it gets right."""
        return 0.5 if self.law is None else above(self.law)
