"""Randomized response: a category that is noisy before it leaves its owner, and what many of them say together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.accounting.costs import PointwiseDP, PureDP
from holdfast.bounds.exact import float_up, up
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.base import LOCAL, LocalEstimate, plain
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational, plain_array, rational
from holdfast.noise.local import flip_bits, leaky_response, one_hot, randomized_response


@dataclass(frozen=True)
class RandomizedResponse:
    """One category of `d`, told truly with odds `e^epsilon` to 1 against each of the others.

    Warner 1965 for two categories; M_EXP of Gaboardi-Rogers 2018. epsilon-differentially private for the person who
    answers.

    Parameters
    ----------
    categories : int
        `d`, at least 2.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> mechanism = RandomizedResponse(categories=3, epsilon=1.0)
    >>> truth = np.repeat([0, 1, 2], [60_000, 30_000, 10_000])
    >>> estimate = mechanism.estimate(mechanism.release(truth, Seeded(1)))
    >>> bool(np.abs(estimate.value - [0.6, 0.3, 0.1]).max() < mechanism.half_width(100_000, 1e-6))
    True
    """

    categories: int
    epsilon: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", check.whole("categories", self.categories, at_least=2))
        rational("epsilon", self.epsilon, above=0)

    @property
    def cost(self) -> PureDP:
        """What one answer spends of its owner's privacy."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.randomized-response", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data."""
        return {"categories": self.categories, "epsilon": plain(self.epsilon)}

    @property
    def contrast(self) -> float:
        """How much likelier an answer is when true than when not: `(e^epsilon - 1) / (e^epsilon + d - 1)`."""
        epsilon = plain(self.epsilon)
        return -math.expm1(-epsilon) / (1 + (self.categories - 1) * math.exp(-epsilon))

    @overload
    def release(self, values: int, source: Source | None = ...) -> int: ...
    @overload
    def release(self, values: npt.NDArray[Any], source: Source | None = ...) -> npt.NDArray[np.int64]: ...
    def release(self, values: Any, source: Source | None = None) -> int | npt.NDArray[np.int64]:
        """Randomize one category, or an array of them, each for its own person.

        Parameters
        ----------
        values : int or array of int
            In [0, categories). They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        answers = randomized_response(values, self.categories, self.epsilon, source=source)
        return answers if answers.ndim else int(answers)

    def estimate(self, answers: npt.ArrayLike) -> LocalEstimate:
        """Estimate the frequencies of the categories among those who answered, without bias.

        Parameters
        ----------
        answers : array of int
            What was released.
        """
        counts = _counts(answers, self.categories)
        n = int(counts.sum())
        lie = (1 - self.contrast) / self.categories
        value = (counts / n - lie) / self.contrast
        # Given the people, those of the category show it with probability lie + contrast and the others with lie.
        share, truth = np.clip(value, 0, 1), lie + self.contrast
        variance = share * truth * (1 - truth) + (1 - share) * lie * (1 - lie)
        return LocalEstimate(value, np.sqrt(variance / n) / self.contrast, n)

    def half_width(self, n: int, beta: float) -> float:
        """How far any estimated frequency is from the one among the `n` people, except with probability `beta`.

        Hoeffding's inequality for the `n` independent answers, over all categories at once.
        """
        return _hoeffding(n, beta, self.categories, self.contrast)


@dataclass(frozen=True)
class BitFlip:
    """A category as a one-hot row whose bits are flipped one by one, each kept with odds `e^(epsilon/2)` to 1.

    M_FC of Gaboardi-Rogers 2018; Duchi-Jordan-Wainwright 2013. Two one-hot rows differ in two bits, so it is epsilon-
    differentially private. Less noisy than `RandomizedResponse` when there are many categories.

    Parameters
    ----------
    categories : int
        `d`, at least 2.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.

    Examples
    --------
    >>> BitFlip(categories=4, epsilon=2.0).release(np.array([0, 3])).shape
    (2, 4)
    """

    categories: int
    epsilon: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", check.whole("categories", self.categories, at_least=2))
        rational("epsilon", self.epsilon, above=0)

    @property
    def cost(self) -> PureDP:
        """What one answer spends of its owner's privacy."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost: two bits, each randomized response at half of epsilon."""
        return Guarantee("mechanism.randomized-response", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data."""
        return {"categories": self.categories, "epsilon": plain(self.epsilon), "bits": "flipped"}

    @property
    def contrast(self) -> float:
        """How much likelier a bit shows 1 when it is 1 than when it is 0: `tanh(epsilon/4)`."""
        return math.tanh(0.25 * plain(self.epsilon))

    def release(self, values: Any, source: Source | None = None) -> npt.NDArray[np.uint8]:
        """Randomize one category, or an array of them: a row of bits for each person.

        Parameters
        ----------
        values : int or array of int
            In [0, categories). They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return flip_bits(one_hot(values, self.categories)[0], self.epsilon, source=source)

    def estimate(self, answers: npt.ArrayLike) -> LocalEstimate:
        """Estimate the frequencies of the categories among those who answered, without bias.

        Parameters
        ----------
        answers : array of 0 and 1, one row a person
            What was released.
        """
        wanted = f"rows of {self.categories} bits, at least one"
        rows = plain_array("answers", answers, "iub", wanted)
        if rows.ndim != 2 or rows.shape[1] != self.categories or len(rows) == 0 or ((rows != 0) & (rows != 1)).any():
            raise InvalidParameter(f"answers must be {wanted}")
        shown, lie = rows.mean(axis=0), (1 - self.contrast) / 2
        error = math.sqrt(lie * (1 - lie) / len(rows)) / self.contrast  # given the people, every bit has this variance
        return LocalEstimate((shown - lie) / self.contrast, np.full(self.categories, error), len(rows))

    def half_width(self, n: int, beta: float) -> float:
        """How far any estimated frequency is from the one among the `n` people, except with probability `beta`."""
        return _hoeffding(n, beta, self.categories, self.contrast)


@dataclass(frozen=True)
class LeakyResponse:
    """The worst (epsilon, delta)-differentially private answer about a bit, for games and lower bounds.

    With probability `delta` the bit itself is shown (codes 0 and 3); otherwise randomized response (codes 1 and 2).
    The table is `holdfast.bounds.mechanism.randomized_response_table`. Every (epsilon, delta)-differentially private
    mechanism, on a fixed pair of neighbours, is a post-processing of it (Kairouz-Oh-Viswanath 2015).

    Parameters
    ----------
    epsilon, delta : Fraction, int or float
        Epsilon at least 0, delta in [0, 1).

    Examples
    --------
    >>> LeakyResponse(1.0, 0.1).cost
    PointwiseDP(epsilon=1.0, delta=0.1)
    """

    epsilon: Rational
    delta: Rational

    def __post_init__(self) -> None:
        rational("epsilon", self.epsilon, at_least=0)
        if rational("delta", self.delta, at_least=0) >= 1:
            raise InvalidParameter(f"delta must be a number in [0, 1), got {float(self.delta):g}")

    @property
    def cost(self) -> PointwiseDP:
        """What one answer spends: the loss is epsilon, up to a sign, except with probability exactly delta."""
        epsilon, delta = rational("epsilon", self.epsilon, at_least=0), rational("delta", self.delta, at_least=0)
        return PointwiseDP(float_up(epsilon), float_up(delta))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.randomized-response", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data."""
        return {"epsilon": plain(self.epsilon), "delta": plain(self.delta)}

    def release(self, bits: Any, source: Source | None = None) -> npt.NDArray[np.int64]:
        """Codes 0, 1, 2, 3 for each bit.

        Parameters
        ----------
        bits : array of 0 and 1
            They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return leaky_response(bits, self.epsilon, self.delta, source=source)


def _counts(answers: npt.ArrayLike, categories: int) -> npt.NDArray[np.int64]:
    array = plain_array("answers", answers, "iu", "a list of at least one whole number")
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameter("answers must be a list of at least one whole number")
    if array.min() < 0 or array.max() >= categories:
        raise InvalidParameter(f"answers must be in [0, {categories})")
    return np.bincount(array, minlength=categories)


def _hoeffding(n: int, beta: float, categories: int, contrast: float) -> float:
    n = check.whole("n", n, at_least=1)
    beta = check.probability("beta", beta)
    return up(math.sqrt(math.log(2 * categories / beta) / (2 * n)) / contrast, 8)


__all__ = ["BitFlip", "LeakyResponse", "RandomizedResponse"]
