"""What a randomizer does to a histogram of `n` people: the distribution of the sum of their answers, and how to undo
it.

`RandomizedResponse` turns `Multinomial(n, p)` into `Multinomial(n, pc)`, `pc = lie + contrast p` (Lemma 8.2.3). The
other three give each cell noise of its own: after debiasing, the proportions have mean `p` and covariance
`(Diag(p) - p p' + c I) / n` with one number `c` a randomizer (Theorem 8.2.10 for bits; derived and reviewed in the
debiased form), so one statistic serves them all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.classical import pearson
from holdfast.inference.private_tests.goodness_of_fit import projected_statistic
from holdfast.inference.private_tests.minimum_chi_square import Whitening, whitening
from holdfast.inference.private_tests.power import multinomial
from holdfast.mechanisms.local import BitFlip, OneHotGaussian, OneHotLaplace, RandomizedResponse
from holdfast.noise.grid import GridLaplace
from holdfast.noise.inputs import Rational

Array = NDArray[np.float64]
Randomizer = RandomizedResponse | BitFlip | OneHotLaplace | OneHotGaussian
KINDS = {
    "randomized-response": RandomizedResponse,
    "bit-flip": BitFlip,
    "laplace": OneHotLaplace,
    "gaussian": OneHotGaussian,
}


class Channel(ABC):
    """The public distribution of the summed answers of `n` people, and everything a test needs of it."""

    name: str
    randomizer: Randomizer

    @property
    def cells(self) -> int:
        """Number of categories."""
        return self.randomizer.categories

    @abstractmethod
    def debiased(self, sums: Array, n: int) -> Array:
        """Unbiased counts from summed answers, over the last axis; they may be negative."""

    @abstractmethod
    def statistic(self, sums: Array, n: int, p0: Array) -> Any:
        """The statistic of a simple null, over the last axis of `sums`; tends to chi-square with d - 1 degrees."""

    @abstractmethod
    def scale(self, p: Array) -> Array:
        """The variance of one cell per person, in the unit in which it is an expected count where noise is absent."""

    @abstractmethod
    def information(self, p0: Array, delta: Array) -> float:
        """Return the noncentrality that `delta`, which sums to zero, gives per person at `p0`."""

    @abstractmethod
    def covariance(self, p: Array) -> Array:
        """Return the covariance of one person's debiased answer where categories follow `p`; `(d, d)`."""

    def root(self, p: Array) -> Array:
        """A matrix with `|root v|^2` the statistic per person of debiased proportions that differ by `v` from `p`."""
        return self.whitening(p[None, :], 1).columns(np.eye(p.size)[None, :, :])

    @abstractmethod
    def whitening(self, p: Array, n: int) -> Whitening:
        """Return the square root of the inverse covariance of debiased proportions at `p` `(..., 1, d)`."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, n: int, p: Array, size: int) -> Array:
        """`size` sums of the answers of `n` people with categories from `p`, shape `(size, d)`; for a simulation.

        Drawn as sums, never person by person. `p` is one distribution `(d,)` or one a draw `(size, d)`.
        """


class MultinomialChannel(Channel):
    """Randomized response: the answers are categories again.

    Examples
    --------
    >>> channel = MultinomialChannel(RandomizedResponse(4, 1.0))
    >>> channel.shown(np.array([1 / 2, 1 / 6, 1 / 6, 1 / 6])).round(10).tolist()
    [0.3251222955, 0.2249592348, 0.2249592348, 0.2249592348]
    """

    name = "randomized response"

    def __init__(self, randomizer: RandomizedResponse) -> None:
        self.randomizer = randomizer
        falls = math.exp(-float(randomizer.epsilon))
        self.contrast = randomizer.contrast
        self.lie = falls / (1 + (randomizer.categories - 1) * falls)

    def shown(self, p: Array) -> Array:
        """Return the distribution of one answer: `(e^epsilon p + 1 - p) / (e^epsilon + d - 1)`."""
        return self.lie + self.contrast * p

    def debiased(self, sums: Array, n: int) -> Array:
        """`(sums - n lie) / contrast`."""
        return (sums - n * self.lie) / self.contrast

    def statistic(self, sums: Array, n: int, p0: Array) -> Any:
        """Pearson's statistic of the answers (Algorithm 18; the square is missing in print)."""
        return pearson(sums, n, self.shown(p0))

    def scale(self, p: Array) -> Array:
        """Return the distribution of one answer: its expected count is what Pearson's limit depends on."""
        return self.shown(p)

    def information(self, p0: Array, delta: Array) -> float:
        """`contrast^2 sum delta^2 / pc` (Theorem 8.2.6)."""
        return float(self.contrast**2 * (np.square(delta) / self.shown(p0)).sum())

    def covariance(self, p: Array) -> Array:
        """That of the answer over the squared contrast."""
        return multinomial(self.shown(p)) / self.contrast**2

    def whitening(self, p: Array, n: int) -> Whitening:
        """`sqrt(n) contrast / sqrt(pc)`: answers and fits both sum to n, so nothing is projected."""
        root = math.sqrt(n) * self.contrast / np.sqrt(self.shown(p))
        return Whitening(root, np.zeros_like(root))

    def draw(self, rng: np.random.Generator, n: int, p: Array, size: int) -> Array:
        """One multinomial each."""
        shown = self.shown(p)
        return rng.multinomial(n, shown / shown.sum(axis=-1, keepdims=True), size=size).astype(np.float64)


class NoisyCellsChannel(Channel):
    """Each cell has noise of its own: bit flipping, or noise on a one-hot row.

    Attributes
    ----------
    c : float
        Variance that the randomizer adds to a debiased proportion, per person: `1/rho` (Gaussian), `8/epsilon^2`
        (Laplace), `a/(a - 1)^2` with `a = e^(epsilon/2)` (bits). On a grid, the true variance there.

    Examples
    --------
    >>> round(NoisyCellsChannel(BitFlip(4, 1.0)).c, 9)
    3.917698089
    """

    def __init__(self, randomizer: BitFlip | OneHotLaplace | OneHotGaussian) -> None:
        self.randomizer = randomizer
        self._law = None if isinstance(randomizer, BitFlip) else randomizer.law
        if isinstance(randomizer, BitFlip):
            self.name = "bit flipping"
            falls = -0.5 * float(randomizer.epsilon)
            self.c = math.exp(falls) / math.expm1(falls) ** 2
            self.contrast, self.lie = randomizer.contrast, math.exp(falls) / (1 + math.exp(falls))
        else:
            self.name = "Laplace noise" if isinstance(randomizer, OneHotLaplace) else "Gaussian noise"
            self.c, self.contrast, self.lie = randomizer.law.variance, 1.0, 0.0

    def debiased(self, sums: Array, n: int) -> Array:
        """`(sums - n lie) / contrast`; noise of mean zero needs nothing."""
        return (sums - n * self.lie) / self.contrast

    def statistic(self, sums: Array, n: int, p0: Array) -> Any:
        """Return the projected statistic (Algorithm 14) of the debiased counts; equal to the printed one for bits."""
        return projected_statistic(self.debiased(sums, n), n, p0, n * self.c)

    def scale(self, p: Array) -> Array:
        """Proportion plus noise."""
        return p + self.c

    def information(self, p0: Array, delta: Array) -> float:
        """`delta' Pi (Diag(p0) - p0 p0' + c I)^-1 Pi delta` (Theorem 7.2.10; for bits derived and reviewed)."""
        return float(projected_statistic(p0 + delta, 1, p0, self.c))

    def covariance(self, p: Array) -> Array:
        """`Diag(p) - p p' + c I`."""
        return multinomial(p) + self.c * np.eye(p.size)

    def whitening(self, p: Array, n: int) -> Whitening:
        """Of the general test (Algorithm 15) with variance `n c`."""
        return whitening(p, np.array([float(n)]), n * self.c)

    def draw(self, rng: np.random.Generator, n: int, p: Array, size: int) -> Array:
        """Return a multinomial, then: two binomials a cell (bits), or the sum of n noises in one draw.

        A sum of n discrete Laplace noises is the difference of two negative binomials. A sum of n discrete Gaussians of
        so many steps (`2**30`, or as many in 1) is a rounded normal but for a part in the square of that.
        """
        counts = rng.multinomial(n, p, size=size)
        if self._law is None:
            unchanged, turned = rng.binomial(counts, 1 - self.lie), rng.binomial(n - counts, self.lie)
            return (unchanged + turned).astype(np.float64)
        law = self._law
        assert law is not None
        step = float(law.grid.step)
        if isinstance(law, GridLaplace):
            stop = -math.expm1(-1 / law.scale_steps)
            noise = rng.negative_binomial(n, stop, counts.shape) - rng.negative_binomial(n, stop, counts.shape)
            return counts + step * noise
        return counts + step * np.rint(rng.normal(0.0, math.sqrt(n) * law.sigma_steps, counts.shape))


def channel_of(randomizer: Any) -> Channel:
    """Return the channel of a randomizer: the distribution of the sum of its answers.

    Examples
    --------
    >>> channel_of(make_randomizer("bit-flip", 4, epsilon=1)).cells
    4
    """
    if isinstance(randomizer, RandomizedResponse):
        return MultinomialChannel(randomizer)
    if isinstance(randomizer, (BitFlip, OneHotLaplace, OneHotGaussian)):
        return NoisyCellsChannel(randomizer)
    raise InvalidParameter(
        "randomizer must be a RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian, got a "
        f"{type(randomizer).__name__}"
    )


def make_randomizer(
    kind: str, categories: int, *, epsilon: Rational | None = None, rho: Rational | None = None
) -> Randomizer:
    """Return the randomizer with the given name.

    "randomized-response", "bit-flip" and "laplace" need epsilon, and "gaussian" needs rho.

    Examples
    --------
    >>> make_randomizer("bit-flip", 4, epsilon=1)
    BitFlip(categories=4, epsilon=1)
    >>> make_randomizer("gaussian", 4, epsilon=1)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: a gaussian randomizer needs rho and no epsilon, because its guarantee is zCDP
    """
    arguments.choice("kind", kind, KINDS)
    if kind == "gaussian":
        if rho is None or epsilon is not None:
            raise InvalidParameter("a gaussian randomizer needs rho and no epsilon, because its guarantee is zCDP")
        return OneHotGaussian(categories, rho)
    if epsilon is None or rho is not None:
        raise InvalidParameter(f"a {kind} randomizer needs epsilon and no rho")
    if kind == "laplace":
        return OneHotLaplace(categories, epsilon)
    return RandomizedResponse(categories, epsilon) if kind == "randomized-response" else BitFlip(categories, epsilon)
