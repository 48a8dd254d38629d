"""Two harmless looks that give the data away: the construction behind Theorem 3.9 of Rogers, Roth, Smith and Thakkar.

The rows are `n` fair bits. The first look, `A`, tells the coset of the data in a code: few bits. The second, `B`, is
told a coset and says the nearest word of it if a noisy distance is small: differentially private for every fixed
coset. Told the coset of the data, it says the data.

The paper's code exists but cannot be written down, and its decoder searches all codewords. Here the codes are real and
`B` keeps silent when no codeword lies within the decoder's radius `e`. Privacy survives that change: if two neighbours
decode to different words, or one to none, then both are at distance at least `e` from what they might say, because the
words of a coset differ in at least `2e + 1` places; so each says it with probability at most
`Pr[Lap(1/epsilon) < w - e]`. If both decode to one word, what they see is the Laplace mechanism on a distance that
changes by at most one. So `w >= ln(1/(2 delta))/epsilon` makes `B` useful and `e - w >= ln(1/(2 delta))/epsilon` makes
it private, for `delta < 1/2`. This argument is ours, not the paper's; a test checks it exactly on the Golay code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.lower_bound import acceptance, recovered_information
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast_papers.max_information.codes import Code, Words
from holdfast_papers.max_information.golay import golay


@dataclass(frozen=True)
class Looks:
    """The pair of looks for one code, privacy target and threshold.

    Examples
    --------
    >>> from holdfast.bounds.lower_bound import tight_threshold
    >>> from holdfast_papers.max_information.golay import golay
    >>> looks = Looks(golay(), 0.5, 0.25, tight_threshold(0.5, 0.25)[0])
    >>> round(looks.recovery, 10), round(looks.unprompted, 10)
    (0.75, 0.2453646801)
    """

    code: Code
    epsilon: float
    delta: float
    threshold: float

    def __post_init__(self) -> None:
        arguments.real("epsilon", self.epsilon, above=0)
        arguments.real("delta", self.delta, above=0, below=0.5)
        arguments.real("threshold", self.threshold, at_least=0)
        if self.divergence > self.delta * (1 + 1e-12):
            raise InvalidParameter(
                f"the radius {self.code.radius} is too small for delta {self.delta:g} at threshold {self.threshold:g}"
            )

    def first(self, rows: Words) -> Words:
        """`A`: the coset of the rows, `redundancy` bits (the remainder modulo the generator)."""
        return self.code.remainders(rows)

    def second(self, rows: Words, coset: Words, rng: np.random.Generator) -> tuple[Words, NDArray[np.bool_]]:
        """`B`: the word of the coset nearest to the rows, and whether it was said.

        The coset is the code shifted by the padded remainder, so one decoder serves every coset.
        """
        shift = np.zeros_like(rows)
        shift[:, : coset.shape[1]] = coset
        decoded = self.code.decode(rows ^ shift)
        noisy = decoded.distances + rng.laplace(scale=1 / self.epsilon, size=len(rows))
        answered = (decoded.distances >= 0) & (noisy < self.threshold)
        return decoded.codewords ^ shift, answered

    def says(self, distance: int) -> float:
        """`Pr[distance + Lap(1/epsilon) < threshold]`: the probability that `B` says a word at this distance."""
        return acceptance(distance, self.threshold, self.epsilon)

    @property
    def recovery(self) -> float:
        """The probability that the second look, after the first, says the rows: `1 - e^(-epsilon threshold) / 2`."""
        return self.says(0)

    @property
    def divergence(self) -> float:
        """The `delta` that neighbours with different decodings cost: `Pr[Lap(1/epsilon) < threshold - radius]`."""
        return self.says(self.code.radius)

    @property
    def unprompted(self) -> float:
        """The exact probability that the second look says anything when the rows are fair bits and the coset is fixed.

        Balls of the decoder's radius around the words of a coset do not meet, so the probability of lying at distance
        `d` from one is `C(n, d) / 2^redundancy`.
        """
        return math.exp(_log2_sum(self._log2_heard()) * math.log(2))

    def second_max_information(self, beta: float) -> float:
        """Exact `beta`-approximate max-information of the second look alone, in bits, for fair bits and any coset.

        Cells of the joint distribution fall into classes by the distance to the word said, or by the distance when
        silent; the supremum over events is attained by taking classes in order of their likelihood ratio
        (Neyman-Pearson).

        Examples
        --------
        >>> from holdfast.bounds.lower_bound import tight_threshold
        >>> from holdfast_papers.max_information.golay import golay
        >>> looks = Looks(golay(), 0.5, 0.25, tight_threshold(0.5, 0.25)[0])
        >>> [round(looks.second_max_information(beta), 4) for beta in (0, 0.1, 0.2, 0.25, 0.5)]
        [13.612, 11.2447, 9.5647, 0.0318, -0.5907]
        """
        beta = arguments.probability("beta", beta, zero=True)
        n, redundancy = self.code.n, self.code.redundancy
        heard = self._log2_heard()
        silence = 1 - self.unprompted
        log2_word = _log2_sum(heard) - (n - redundancy)  # the probability of one given word of the coset
        best, joint, log2_product = -math.inf, 0.0, -math.inf
        for distance, log2_joint in enumerate(heard):
            joint += 2.0**log2_joint
            log2_cells = _log2_choose(n, distance) - redundancy
            log2_product = _log2_sum([log2_product, log2_cells + log2_word])
            if joint > beta:
                best = max(best, math.log2(joint - beta) - log2_product)
        product = 2.0**log2_product
        near = [2.0 ** (_log2_choose(n, d) - redundancy) for d in range(len(heard))]
        classes = [(1.0, 1 - math.fsum(near))] + [(1 - self.says(d), near[d]) for d in reversed(range(len(heard)))]
        for silent, share in classes:
            joint += silent * share
            product += share * silence
            if joint > beta and product > 0:
                best = max(best, math.log2((joint - beta) / product))
        return best

    def both_max_information(self, beta: float) -> float:
        """Exact `beta`-approximate max-information of the second look after the first, in bits, for fair bits."""
        return recovered_information(self.code.n, beta, self.recovery)

    def _log2_heard(self) -> list[float]:
        """For each distance up to the radius: log2 of the probability of lying there and hearing the word."""
        n, redundancy = self.code.n, self.code.redundancy
        distances = range(self.code.radius + 1)
        return [_log2_choose(n, d) - redundancy + math.log2(self.says(d)) for d in distances]


def golay_divergence(looks: Looks) -> float:
    """The least `delta` at which the second look on the Golay code is `(epsilon, delta)`-private, over all neighbours.

    Shifting both neighbours by a codeword only shifts the answers, so the lightest words of the 2048 cosets with
    their 23 flips stand for all pairs. The answer is a codeword with probability `says(distance)`, or silence.

    Examples
    --------
    >>> from holdfast.bounds.lower_bound import tight_threshold
    >>> from holdfast_papers.max_information.golay import golay
    >>> round(golay_divergence(Looks(golay(), 0.5, 0.25, tight_threshold(0.5, 0.25)[0])), 10)
    0.2231301601
    """
    code = golay()
    flips = (code.leaders[:, None, :] ^ np.eye(code.n, dtype=np.uint8)[None]).reshape(-1, code.n)
    here, there = code.decode(np.repeat(code.leaders, code.n, axis=0)), code.decode(flips)
    says = np.array([looks.says(d) for d in range(code.radius + 1)])
    p, q = says[here.distances], says[there.distances]
    same = (here.codewords == there.codewords).all(axis=1)
    factor = math.exp(looks.epsilon)

    def hockey_stick(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        words = np.where(same, np.maximum(p - factor * q, 0), p)
        silence = np.maximum((1 - p) - factor * (1 - q), 0)
        return np.asarray(words + silence)

    return float(max(hockey_stick(p, q).max(), hockey_stick(q, p).max()))


def log2_agreement_p_values(n: int) -> NDArray[np.float64]:
    """log2 of the p-value of "at least `k` of `n` fair bits agree with a fixed word", for `k` from 0 to `n`.

    Sums of binomial coefficients in whole numbers, so nothing underflows.

    Examples
    --------
    >>> values = log2_agreement_p_values(4095)
    >>> float(values[4095]), float(values[0]), float(values[2048])
    (-4095.0, 0.0, -1.0)
    """
    n = arguments.whole("n", n, at_least=1)
    values = np.empty(n + 1)
    term = total = 1
    values[n] = -n
    for missing in range(1, n + 1):
        term = term * (n - missing + 1) // missing
        total += term
        values[n - missing] = _log2(total) - n
    return values


def _log2(value: int) -> float:
    shift = max(value.bit_length() - 60, 0)
    return math.log2(value >> shift) + shift


def _log2_choose(n: int, k: int) -> float:
    return _log2(math.comb(n, k))


def _log2_sum(logs: list[float]) -> float:
    largest = max(logs)
    return largest if largest == -math.inf else largest + math.log2(math.fsum(2.0 ** (x - largest) for x in logs))


__all__ = ["Looks", "golay_divergence", "log2_agreement_p_values"]
