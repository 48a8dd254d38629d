"""Which randomizer needs the fewest people, for d categories and a budget: their noncentralities side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.local.channel import KINDS, Randomizer, channel_of, make_randomizer
from holdfast.noise.inputs import Rational, rational

Promise = Literal["pure", "zcdp"]


@dataclass(frozen=True)
class Ranking:
    """Randomizers in the order of the people they need, fewest first.

    Attributes
    ----------
    kinds : tuple of str
        Names that `make_randomizer` takes.
    information : tuple of float
        The noncentrality each gets from one person: n times this is what the power depends on.
    people : tuple of float
        How many people each needs, as a multiple of the winner's.

    Examples
    --------
    >>> print(which_randomizer(4, 1))
    randomized-response 1
    bit-flip            1.51
    laplace             2.98
    """

    kinds: tuple[str, ...]
    information: tuple[float, ...]

    @property
    def winner(self) -> str:
        """The one that needs the fewest people."""
        return self.kinds[0]

    @property
    def people(self) -> tuple[float, ...]:
        """People needed, the winner's being 1."""
        return tuple(self.information[0] / each for each in self.information)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kinds": list(self.kinds), "information": list(self.information), "people": list(self.people)}

    def __str__(self) -> str:
        width = max(map(len, self.kinds))
        return "\n".join(f"{kind:<{width}} {more:.3g}" for kind, more in zip(self.kinds, self.people, strict=True))


def which_randomizer(
    categories: int, epsilon: Rational, *, promise: Promise = "pure", p0: Any = None, delta: Any = None
) -> Ranking:
    """Rank the randomizers for a goodness-of-fit test with `d` categories.

    Parameters
    ----------
    categories : int
        `d`, at least 2.
    epsilon : Fraction, int or float
        What each person may spend.
    promise : {"pure", "zcdp"}
        "pure": epsilon-differential privacy, which randomized response, bit flipping and Laplace noise give. "zcdp":
        only `epsilon^2/2`-zCDP, which all three imply; Gaussian noise with that rho competes too (Theorem 8.2.7). It is
        the weaker promise.
    p0 : list, optional
        The null; uniform if not given.
    delta : list, optional
        The difference to be found, summing to zero. None: the worst direction at `p0`, per unit of its length. At a
        uniform null all directions are alike.

    Returns
    -------
    Ranking
        By noncentrality (Theorems 7.2.10 and 8.2.6), so for large n. Time: one `eigvalsh` of d by d at most.

    Examples
    --------
    >>> [which_randomizer(d, 1).winner for d in (4, 8, 9, 100)]
    ['randomized-response', 'randomized-response', 'bit-flip', 'bit-flip']
    >>> which_randomizer(4, 1, promise="zcdp").winner
    'gaussian'
    """
    d = check.whole("categories", categories, at_least=2)
    cost = rational("epsilon", epsilon, above=0)
    check.choice("promise", promise, ("pure", "zcdp"))
    null = np.full(d, 1 / d) if p0 is None else probabilities("p0", p0, d)
    direction = None if delta is None else _direction(delta, d)
    found = {}
    for kind in KINDS:
        if kind == "gaussian":
            if promise == "zcdp":
                found[kind] = _information(make_randomizer(kind, d, rho=cost * cost / 2), null, direction)
        else:
            found[kind] = _information(make_randomizer(kind, d, epsilon=cost), null, direction)
    order = sorted(found, key=lambda kind: -found[kind])
    return Ranking(tuple(order), tuple(found[kind] for kind in order))


def winners(
    categories: Sequence[int], epsilons: Sequence[float], *, promise: Promise = "pure"
) -> dict[float, tuple[str, ...]]:
    """The winner at a uniform null for each epsilon and each number of categories; see `which_randomizer`.

    Examples
    --------
    >>> for epsilon, row in winners([2, 10, 100], [0.5, 2, 4]).items():
    ...     print(epsilon, *row)
    0.5 randomized-response bit-flip bit-flip
    2 randomized-response randomized-response bit-flip
    4 randomized-response randomized-response randomized-response
    """
    return {e: tuple(which_randomizer(d, e, promise=promise).winner for d in categories) for e in epsilons}


@dataclass(frozen=True)
class Crossovers:
    """At a uniform null, randomized response wins against each of the others for fewer than so many categories."""

    bit_flip: float
    gaussian: float
    laplace: float


def crossovers(epsilon: Rational) -> Crossovers:
    """Where randomized response stops winning, in closed form; uniform null, large n (derived and reviewed).

    Against bit flipping `d < e^(3 epsilon/2) + e^(epsilon/2) + 2`; against Laplace noise
    `d < 8 (e^epsilon - 1)^2/epsilon^2 - 2 (e^epsilon - 1)`; against Gaussian noise with `rho = epsilon^2/2`, a weaker
    promise, the same with 2 instead of 8. Bit flipping always beats Laplace noise, and Gaussian noise only for epsilon
    above 5.966.

    Examples
    --------
    >>> crossovers(1)
    Crossovers(bit_flip=8.1304..., gaussian=2.4684..., laplace=20.183...)
    """
    x = float(rational("epsilon", epsilon, above=0))
    if x > 400:
        raise InvalidParameter(f"epsilon must be a number in (0, 400], got {x:g}: the crossovers overflow")
    grown = math.expm1(x)
    ratio = (grown / x) ** 2
    return Crossovers(math.exp(1.5 * x) + math.exp(0.5 * x) + 2, 2 * ratio - 2 * grown, 8 * ratio - 2 * grown)


def _information(randomizer: Randomizer, null: NDArray[np.float64], direction: NDArray[np.float64] | None) -> float:
    channel = channel_of(randomizer)
    if direction is not None:
        return channel.information(null, direction)
    d = null.size
    if np.all(null == null[0]):
        one = np.zeros(d)
        one[0], one[1] = math.sqrt(0.5), -math.sqrt(0.5)
        return channel.information(null, one)
    # The quadratic form on directions that sum to zero: its smallest eigenvalue but the zero along (1, ..., 1).
    root = channel.root(null) @ (np.eye(d) - 1 / d)
    return float(np.linalg.eigvalsh(root.T @ root)[1])


def _direction(delta: Any, d: int) -> NDArray[np.float64]:
    vector = np.array(check.reals("delta", delta))
    if vector.size != d:
        raise InvalidParameter(f"delta must have one entry a category, {d} in all, got {vector.size}")
    if abs(float(vector.sum())) > 1e-9 or not np.any(vector):
        raise InvalidParameter("delta must sum to zero and not be zero")
    return vector


__all__ = ["Crossovers", "Ranking", "crossovers", "which_randomizer", "winners"]
