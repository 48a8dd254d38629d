"""Rejection compressor: an output with little max-information becomes a short message given public coins."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.bounds.finite_law import max_divergence, total_variation
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.noise.coins import bernoulli, uniform_below
from holdfast.noise.entropy import Seeded, Source, resolve

_MOST_DRAWS = 10**7


class RejectionCompressor:
    """Sends a draw from a distribution `p` in few bits, if sender and receiver share random draws from a
    distribution `q`.

    This is Lemma 31 of Dwork et al. 2015. Both sides draw the same `t` outcomes from the reference `q`. The sender
    accepts one of them, so that the accepted outcome has the target distribution `p`, and sends its place. The message
    has `log2 t` bits, with `t = ceil(2**k ln(1/beta))` and `k` the smallest number with `p <= 2**k q`. The distribution
    of what the receiver reads is within `beta` of `p`.

    With `truncate > 0` outcomes of a total probability of at most `truncate` may exceed `2**k q`. Then the distance is
    at most `truncate + beta`. To compress the output of an algorithm (Theorems 32 and 33), let `p` be the distribution
    of its output on the sample and `q` the distribution of its output on an independent or a fixed sample.

    Parameters
    ----------
    target, reference : array of float
        Two distributions on the same finite set.
    beta : float
        Distance that the rejection may cost.
    truncate : float
        Distance that the truncation may cost.

    Notes
    -----
    Everybody draws `y_1, ..., y_t` from `q` with public coins. The sender accepts `y_i` with probability
    `p(y_i)/(2**k q(y_i))` and sends the place of the first that is accepted, or the first place if none is. Each
    draw is accepted with probability `2**-k`, so none is with probability `(1 - 2**-k)**t <= beta`, and what the
    receiver reads is within `beta` of `p`. The printed lemma has `e^(t/2^k)` for `e^(-t/2^k)` and forgets that
    `t` is whole.

    With `truncate > 0` only the `truncate`-approximate divergence is bounded. The target is first replaced by a
    distribution that is dominated: `min(p, 2**k q)`, and the missing mass, at most `truncate`, spread over the room
    that is left.

    Distributions are taken as the binary numbers that they are, normalised; every draw and every acceptance is exact.

    Examples
    --------
    >>> compressor = RejectionCompressor([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], beta=0.01)
    >>> round(compressor.divergence_bits, 6), compressor.draws, round(compressor.failure, 12)
    (1.321928, 12, 0.002176782336)
    >>> message = compressor.send(coins=7)
    >>> 0 <= message < 12, compressor.receive(message, coins=7) in (0, 1, 2)
    (True, True)
    """

    def __init__(self, target: npt.ArrayLike, reference: npt.ArrayLike, beta: float, *, truncate: float = 0.0) -> None:
        self._beta = arguments.real("beta", beta, at_least=1e-300, below=1)
        self._truncate = arguments.probability("truncate", truncate, zero=True)
        divergence = max_divergence(target, reference, self._truncate)  # checks both distributions
        p, q = _exact(target), _exact(reference)
        if not math.isfinite(divergence) or divergence > 60:
            raise GuaranteeUnavailable(
                "the reference distribution gives no or almost no probability to outcomes of the target, so no short "
                "message exists; choose another reference"
            )
        if self._truncate == 0:
            self._ratio = max(a / b for a, b in zip(p, q, strict=True) if a > 0)
        else:
            self._ratio = max(Fraction(1), Fraction(up(2.0**divergence, 64)))
        self._reference = q
        self._target = p if self._truncate == 0 else _dominated(p, q, self._ratio)
        self._draws = max(1, math.ceil(up(float(self._ratio) * -math.log(self._beta), 8)))
        if self._draws > _MOST_DRAWS:
            raise GuaranteeUnavailable(
                f"{self._draws} public draws would be needed, but the limit is {_MOST_DRAWS}; choose a reference "
                "nearer to the target"
            )
        common = math.lcm(*(weight.denominator for weight in q))
        self._heights = np.cumsum([int(weight * common) for weight in q], dtype=object)

    @property
    def divergence_bits(self) -> float:
        """The (approximate) max-divergence of the target from the reference, in bits: the `k` of the lemma."""
        return math.log2(self._ratio)

    @property
    def draws(self) -> int:
        """The number `t` of public draws from the reference."""
        return self._draws

    @property
    def bits(self) -> float:
        """The length of the message in bits: `log2 t`."""
        return up(math.log2(self._draws)) if self._draws > 1 else 0.0

    @property
    def failure(self) -> float:
        """The probability that no draw is accepted."""
        return float((1 - 1 / self._ratio) ** self._draws) if self._ratio > 1 else 0.0

    @cached_property
    def output_law(self) -> npt.NDArray[np.float64]:
        """The distribution of the outcome that the receiver reads, computed exactly.

        Outcome `y` has the probability `(1 - f) p(y) + (q(y) - p(y)/2**k)(1 - 2**-k)**(t-1)`, where `f` is the
        probability that no draw is accepted. An accepted draw has the distribution `p`. If none is accepted, the
        receiver reads the first draw.
        """
        p, q = (np.array([float(w) for w in law]) for law in (self._target, self._reference))
        rejected = float((1 - 1 / self._ratio) ** (self._draws - 1))
        law = (1 - self.failure) * p + (q - p / float(self._ratio)) * rejected
        return np.asarray(np.maximum(law, 0.0))

    @property
    def truncated(self) -> npt.NDArray[np.float64]:
        """The distribution that the message approximates: the target, or with `truncate` the distribution that
        replaces it.
        """
        return np.array([float(weight) for weight in self._target])

    @property
    def distance(self) -> float:
        """The statistical distance between what the receiver reads and the distribution that the message
        approximates.
        """
        return self.distance_to(self.truncated / self.truncated.sum())

    def distance_to(self, law: npt.ArrayLike) -> float:
        """Return the statistical distance between what the receiver reads and another distribution, such as the
        original target.
        """
        return total_variation(self.output_law / self.output_law.sum(), law)

    def send(self, coins: int, *, source: Source | None = None) -> int:
        """Return the message: the place of the first public draw that is accepted, or the first place if none is.

        Parameters
        ----------
        coins : int
            Seed of the public coins; the receiver uses the same. It must not depend on the data.
        source : noise.Source, optional
            Private randomness of the sender.
        """
        private = resolve(source)
        public = Seeded(coins)
        for place in range(self._draws):
            outcome = self._draw(public)
            if bernoulli(self._target[outcome] / (self._ratio * self._reference[outcome]), source=private):
                return place
        return 0

    def receive(self, message: int, coins: int) -> int:
        """Return the outcome that a message names, as an index into the distributions."""
        place = arguments.whole("message", message, at_least=0, at_most=self._draws - 1)
        public = Seeded(coins)
        for _ in range(place):
            self._draw(public)
        return self._draw(public)

    def _draw(self, source: Source) -> int:
        at = uniform_below(int(self._heights[-1]), source=source)
        return int(np.searchsorted(self._heights, at, side="right"))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "divergence_bits": self.divergence_bits,
            "draws": self._draws,
            "bits": self.bits,
            "failure": self.failure,
            "beta": self._beta,
            "truncate": self._truncate,
        }

    def __repr__(self) -> str:
        return f"RejectionCompressor(outcomes={len(self._target)}, bits={self.bits:.6g}, beta={self._beta:g})"


def _exact(law: npt.ArrayLike) -> list[Fraction]:
    """A distribution as exact fractions that sum to 1."""
    weights = [Fraction(float(weight)) for weight in np.asarray(law).ravel()]
    total = sum(weights)
    if total <= 0:
        raise InvalidParameter("a distribution must have an outcome with a probability above 0")
    return [weight / total for weight in weights]


def _dominated(p: list[Fraction], q: list[Fraction], ratio: Fraction) -> list[Fraction]:
    """The distribution nearest to `p` in statistical distance, up to choice, among those below `ratio` times `q`."""
    capped = [min(a, ratio * b) for a, b in zip(p, q, strict=True)]
    room = [ratio * b - a for a, b in zip(capped, q, strict=True)]
    missing, total = 1 - sum(capped), sum(room)
    return capped if missing == 0 else [a + missing * r / total for a, r in zip(capped, room, strict=True)]
