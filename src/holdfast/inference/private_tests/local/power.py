"""Power of the local tests in advance, for any randomizer and any null model; and which randomizer to use.

One quadratic form a randomizer, and the kernel that serves the central tests. The dissertation's formulas take the
covariance at the null (`at="null"`); at the alternative, the default, they are right for fixed alternatives too. To
solve for the number of people, hand these functions to `planning.sample_size`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.local.channel import KINDS, Channel, Randomizer, channel_of, make_randomizer
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES
from holdfast.inference.private_tests.null_models import Independence, NullModel, Simple
from holdfast.inference.private_tests.power import (
    At,
    Power,
    Quadratic,
    distribution,
    minimum_chi_square_root,
    quadratic_power,
)
from holdfast.inference.private_tests.question import FEW
from holdfast.inference.private_tests.result import Level
from holdfast.mechanisms.local import OneHotLaplace
from holdfast.noise.inputs import Rational, rational

Array = NDArray[np.float64]


def noncentrality(randomizer: Randomizer, p0: Any, p1: Any) -> float:
    """Return what one person adds to the noncentrality of `gof` if the true probabilities are `p1`.

    Multiply the result by n to get the noncentrality of the whole test.

    Notes
    -----
    Randomized response: `contrast^2 sum delta^2/pc0` (Theorem 8.2.6, printed). The others: `delta' Pi (Diag(p0) -
    p0 p0' + c I)^-1 Pi delta` with `c = 1/rho`, `8/epsilon^2`, or `a/(a - 1)^2` for bits (Theorem 7.2.10 with
    local noise, printed; bits derived and reviewed).

    Examples
    --------
    >>> from holdfast.mechanisms.local import BitFlip, RandomizedResponse
    >>> p0, p1 = [1 / 2, 1 / 6, 1 / 6, 1 / 6], [0.51] + [0.49 / 3] * 3
    >>> for randomizer in (RandomizedResponse(4, 1), BitFlip(4, 1)):
    ...     print(f"{10_000 * noncentrality(randomizer, p0, p1):.8f}")
    0.41151517
    0.31364937
    """
    channel = channel_of(randomizer)
    null = probabilities("p0", p0, channel.cells)
    truth = distribution("p1", p1)
    if truth.size != channel.cells:
        raise InvalidParameter(f"p1 must have one entry per category, {channel.cells} in all, got {truth.size}")
    return channel.information(null, truth - null)


def model_noncentrality(randomizer: Randomizer, model: NullModel, p1: Any) -> float:
    """Return what one person adds to the noncentrality of `general` if the true probabilities are `p1`.

    Notes
    -----
    `delta' (N - N J (J'NJ)^-1 J'N) delta` with N the inverse covariance per person, J the Jacobian along the
    model, and `delta` the difference of `p1` to the distribution of the model that its first estimate gives: for
    independence, the one with the same margins (section 3 of the specification, derived and reviewed).

    Examples
    --------
    >>> from holdfast.inference.private_tests import Independence
    >>> from holdfast.inference.private_tests.local import make_randomizer
    >>> randomizer = make_randomizer("randomized-response", 4, epsilon=1)
    >>> round(model_noncentrality(randomizer, Independence(2, 2), [0.3, 0.2, 0.2, 0.3]), 6)
    0.003612
    """
    quadratic, delta, _ = _form(channel_of(randomizer), model, distribution("p1", p1), "null")
    return float(np.square(quadratic.root @ delta).sum())


def independence_noncentrality(randomizer: Randomizer, p: Any) -> float:
    """Return what one person adds to the noncentrality of `independence` if pairs follow the table `p`.

    Examples
    --------
    >>> from holdfast.mechanisms.local import OneHotGaussian
    >>> print(f"{5000 * independence_noncentrality(OneHotGaussian(4, 6.25), [[0.26, 0.24], [0.24, 0.26]]):.6f}")
    4.878049
    """
    truth = probability_table(p)
    return model_noncentrality(randomizer, Independence(*truth.shape), truth)


def power(
    randomizer: Randomizer,
    p0: Any,
    p1: Any,
    n: int,
    *,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
) -> Power:
    """Return the probability, in the limit of many people, that `gof` rejects `p0` if the true probabilities are
    `p1`.

    Parameters
    ----------
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        What each person runs.
    p0, p1 : list
        The null and the truth; `p0` positive.
    n : int
        How many people answer.
    alpha : float
        The significance level.
    m : int
        Replicates where the test is Monte Carlo by default, that is for Laplace noise.
    at : {"alternative", "null"}
        Where the covariance is taken; "null" as printed, for alternatives close by.

    Returns
    -------
    Power
        Time: one eigenvalue problem of d by d and one mixture tail.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> print(power(RandomizedResponse(4, 1), [0.25] * 4, [0.26, 0.24, 0.24, 0.26], 50_000))
    local GOF (randomized response): power 0.605 at n = 50000, alpha 0.05 (limit); cost PureDP(epsilon=1.0)
    """
    return _power("local GOF", randomizer, Simple(p0), p1, n, alpha, m, at)


def model_power(
    randomizer: Randomizer,
    model: NullModel,
    p1: Any,
    n: int,
    *,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
) -> Power:
    """Return the probability that `general` rejects the model if `n` people answer and the true probabilities are
    `p1`.

    Everything else is as in `power`.

    Examples
    --------
    >>> from holdfast.inference.private_tests import Independence
    >>> from holdfast.inference.private_tests.local import make_randomizer
    >>> randomizer = make_randomizer("randomized-response", 4, epsilon=1)
    >>> round(model_power(randomizer, Independence(2, 2), [0.3, 0.2, 0.2, 0.3], 5_000).power, 3)
    0.989
    """
    return _power("local minimum chi-square", randomizer, model, p1, n, alpha, m, at)


def independence_power(
    randomizer: Randomizer,
    p: Any,
    n: int,
    *,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
) -> Power:
    """Return the probability that `independence` rejects if `n` people answer and their pairs follow the table `p`.

    Everything else is as in `power`.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> round(independence_power(RandomizedResponse(4, 1), [[0.275, 0.225], [0.225, 0.275]], 5000).power, 2)
    0.57
    """
    truth = probability_table(p)
    return model_power(randomizer, Independence(*truth.shape), truth, n, alpha=alpha, m=m, at=at)


def probability_table(p: Any) -> Array:
    """Return a table of probabilities, at least 2 by 2, with positive margins."""
    try:
        table = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("p must be a table of probabilities: rows of equal length") from None
    if table.ndim != 2 or min(table.shape) < 2:
        raise InvalidParameter(f"p must be a table of at least 2 by 2 probabilities, got shape {table.shape}")
    law = distribution("p", table).reshape(table.shape)
    if min(law.sum(axis=0).min(), law.sum(axis=1).min()) <= 0:
        raise InvalidParameter(
            "every row and column of p must have a sum above 0, because an empty one leaves nothing to test"
        )
    return law


def _form(channel: Channel, model: NullModel, truth: Array, at: At) -> tuple[Quadratic, Array, Array]:
    """The statistic per person as a quadratic form, the difference to the null, and the covariance of an answer."""
    arguments.choice("at", at, ("alternative", "null"))
    if not isinstance(model, NullModel) or model.groups != 1:
        raise InvalidParameter("model must be a null model of one group")
    if not model.cells == channel.cells == truth.size:
        raise InvalidParameter(
            f"model, randomizer and p1 must have the same number of categories, got {model.cells}, {channel.cells} "
            f"and {truth.size}"
        )
    theta = model.start(truth[None, :])
    null = model.probabilities(theta)
    root = minimum_chi_square_root(model, theta, channel.whitening(null, 1))
    covariance = channel.covariance(null[0])
    return Quadratic(root, covariance), truth - null[0], channel.covariance(truth) if at != "null" else covariance


def _power(what: str, randomizer: Randomizer, model: NullModel, p1: Any, n: int, alpha: float, m: int, at: At) -> Power:
    people, level = arguments.whole("n", n, at_least=1), arguments.probability("alpha", alpha)
    channel = channel_of(randomizer)
    truth = distribution("p1", p1)
    quadratic, delta, covariance = _form(channel, model, truth, at)
    drawn = isinstance(randomizer, OneHotLaplace)
    predicted, signal = quadratic_power(quadratic, math.sqrt(people) * delta, covariance, level, m=m if drawn else None)
    known: Level = "asymptotic" if not drawn else "exact" if model.parameters == 0 else "empirical"
    smallest = float(people * channel.scale(truth - delta).min())
    warnings: tuple[str, ...] = ()
    if smallest < FEW:
        warnings = (f"the smallest expected count of an answer is {smallest:.3g}, below 5: the limit is rough",)
    return Power(
        f"{what} ({channel.name})", predicted, people, level, randomizer.cost, signal, "limit", known, 0.0, warnings
    )


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
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"kinds": list(self.kinds), "information": list(self.information), "people": list(self.people)}

    def __str__(self) -> str:
        width = max(map(len, self.kinds))
        return "\n".join(f"{kind:<{width}} {more:.3g}" for kind, more in zip(self.kinds, self.people, strict=True))


def which_randomizer(
    categories: int, epsilon: Rational, *, promise: Promise = "pure", p0: Any = None, delta: Any = None
) -> Ranking:
    """Rank the randomizers by their power in a goodness-of-fit test with `d` categories.

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
    d = arguments.whole("categories", categories, at_least=2)
    cost = rational("epsilon", epsilon, above=0)
    arguments.choice("promise", promise, ("pure", "zcdp"))
    null = np.full(d, 1 / d) if p0 is None else probabilities("p0", p0, d)
    direction = None if delta is None else _direction(delta, d)
    information = {}
    for kind in KINDS:
        if kind == "gaussian":
            if promise == "zcdp":
                information[kind] = _information(make_randomizer(kind, d, rho=cost * cost / 2), null, direction)
        else:
            information[kind] = _information(make_randomizer(kind, d, epsilon=cost), null, direction)
    order = sorted(information, key=lambda kind: -information[kind])
    return Ranking(tuple(order), tuple(information[kind] for kind in order))


def winners(
    categories: Sequence[int], epsilons: Sequence[float], *, promise: Promise = "pure"
) -> dict[float, tuple[str, ...]]:
    """Return the best randomizer at a uniform null, for each epsilon and each number of categories; see
    `which_randomizer`.

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
    """Return, for a uniform null and large n, the number of categories `d` from which randomized response is not the
    best.

    Randomized response is better than bit flipping for `d < e^(3 epsilon/2) + e^(epsilon/2) + 2`. It is better than
    Laplace noise for `d < 8 (e^epsilon - 1)^2/epsilon^2 - 2 (e^epsilon - 1)`. For Gaussian noise with `rho =
    epsilon^2/2`, whose privacy guarantee is weaker, the 8 in this formula is replaced by 2. Bit flipping is always
    better than Laplace noise. It is better than Gaussian noise only for epsilon above 5.966.

    Notes
    -----
    Derived and reviewed.

    Examples
    --------
    >>> crossovers(1)
    Crossovers(bit_flip=8.1304..., gaussian=2.4684..., laplace=20.183...)
    """
    x = float(rational("epsilon", epsilon, above=0))
    if x > 400:
        raise InvalidParameter(f"epsilon must be a number in (0, 400], got {x:g}: the formulas overflow above 400")
    grown = math.expm1(x)
    ratio = (grown / x) ** 2
    return Crossovers(math.exp(1.5 * x) + math.exp(0.5 * x) + 2, 2 * ratio - 2 * grown, 8 * ratio - 2 * grown)


def _information(randomizer: Randomizer, null: NDArray[np.float64], direction: NDArray[np.float64] | None) -> float:
    channel = channel_of(randomizer)
    if direction is not None:
        return channel.information(null, direction)
    d = null.size
    if np.all(null == null[0]):
        step = np.zeros(d)
        step[0], step[1] = math.sqrt(0.5), -math.sqrt(0.5)
        return channel.information(null, step)
    # The quadratic form on directions that sum to zero: its smallest eigenvalue but the zero along (1, ..., 1).
    root = channel.root(null) @ (np.eye(d) - 1 / d)
    return float(np.linalg.eigvalsh(root.T @ root)[1])


def _direction(delta: Any, d: int) -> NDArray[np.float64]:
    vector = np.array(arguments.reals("delta", delta))
    if vector.size != d:
        raise InvalidParameter(f"delta must have one entry per category, {d} in all, got {vector.size}")
    if abs(float(vector.sum())) > 1e-9 or not np.any(vector):
        raise InvalidParameter("delta must sum to zero, and it must have an entry that is not zero")
    return vector


def local_gof_power(
    p0: Any,
    p1: Any,
    n: int,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    randomizer: str | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
) -> Power:
    """Return the probability that `local.gof` rejects `p0` if `n` people answer and their categories follow `p1`.

    With `at="alternative"` the covariance of the answers is computed at `p1`.

    Parameters
    ----------
    p0, p1 : list
        The null and the truth, before randomizing.
    n : int
        Number of people.
    epsilon, rho
        Exactly one: epsilon for randomized response, bit flipping and Laplace noise, rho for Gaussian noise.
    randomizer : str, optional
        "randomized-response", "bit-flip", "laplace" or "gaussian"; None takes the best for d and epsilon.
    alpha, m, at
        As in `gof_power`. `m` counts where the test is Monte Carlo, that is for Laplace noise.

    Notes
    -----
    Noncentralities of Theorem 8.2.6 (randomized response) and 7.2.10 with local noise; see `local.power`.
    `at="alternative"` is derived here, as in `gof_power`.

    Examples
    --------
    >>> p0, p1 = [0.25] * 4, [0.26, 0.24, 0.24, 0.26]
    >>> print(local_gof_power(p0, p1, 50_000, epsilon=1))
    local GOF (randomized response): power 0.605 at n = 50000, alpha 0.05 (limit); cost PureDP(epsilon=1.0)
    """
    null = probabilities("p0", p0)
    return power(_randomizer(null.size, epsilon, rho, randomizer), null, p1, n, alpha=alpha, m=m, at=at)


def local_independence_power(
    p: Any,
    n: int,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    randomizer: str | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
) -> Power:
    """Return the probability that `local.independence` rejects if the pairs of `n` people follow the table `p`.

    Everything else is as in `local_gof_power`.

    Examples
    --------
    >>> table = [[0.275, 0.225], [0.225, 0.275]]
    >>> print(f"{local_independence_power(table, 5000, epsilon=1).power:.3f}")
    0.566
    """
    truth = probability_table(p)
    return independence_power(_randomizer(truth.size, epsilon, rho, randomizer), truth, n, alpha=alpha, m=m, at=at)


def _randomizer(cells: int, epsilon: Any, rho: Any, randomizer: str | None) -> Randomizer:
    if (epsilon is None) == (rho is None):
        raise InvalidParameter("exactly one of epsilon and rho must be given")
    if randomizer is None:
        randomizer = "gaussian" if rho is not None else which_randomizer(cells, epsilon).winner
    return make_randomizer(randomizer, cells, epsilon=epsilon, rho=rho)
