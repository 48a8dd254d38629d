"""Power of the local tests in advance, for any randomizer and any null model, and the noncentralities behind it.

One quadratic form a randomizer, and the kernel that serves the central tests. The dissertation's formulas take the
covariance at the null (`at="null"`); at the alternative, the default, they are right for fixed alternatives too. To
solve for the number of people, hand these functions to `planning.sample_size`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.composite_power import minimum_chi_square_root
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.goodness_of_fit import FEW
from holdfast.inference.private_tests.local.channel import Channel, Randomizer, channel_of
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES
from holdfast.inference.private_tests.null_models import Independence, NullModel, Simple
from holdfast.inference.private_tests.power import Power, distribution
from holdfast.inference.private_tests.power_kernel import At, Quadratic, quadratic_power
from holdfast.inference.private_tests.result import Level
from holdfast.mechanisms.local import OneHotLaplace

Array = NDArray[np.float64]


def noncentrality(randomizer: Randomizer, p0: Any, p1: Any) -> float:
    """What one person adds to the noncentrality of `gof` when the truth is `p1`; multiply by n.

    Randomized response: `contrast^2 sum delta^2/pc0` (Theorem 8.2.6, printed). The others:
    `delta' Pi (Diag(p0) - p0 p0' + c I)^-1 Pi delta` with `c = 1/rho`, `8/epsilon^2`, or `a/(a - 1)^2` for bits
    (Theorem 7.2.10 with local noise, printed; bits derived and reviewed).

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
        raise InvalidParameter(f"p1 must have one entry a category, {channel.cells} in all, got {truth.size}")
    return channel.information(null, truth - null)


def model_noncentrality(randomizer: Randomizer, model: NullModel, p1: Any) -> float:
    """What one person adds to the noncentrality of `general` when the truth is `p1`.

    `delta' (N - N J (J'NJ)^-1 J'N) delta` with N the inverse covariance per person, J the Jacobian along the model, and
    `delta` the difference of `p1` to the law of the model that its first estimate gives: for independence, the one with
    the same margins (section 3 of the specification, derived and reviewed).

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
    """What one person adds to the noncentrality of `independence` when pairs follow the table `p`.

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
    """The chance that `gof` rejects `p0` when `n` people answer and the truth is `p1`, in the limit.

    Parameters
    ----------
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        What each person runs.
    p0, p1 : list
        The null and the truth; `p0` positive.
    n : int
        How many people answer.
    alpha : float
        The level.
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
    """The chance that `general` rejects the model when `n` people answer and the truth is `p1`; else as `power`.

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
    """The chance that `independence` rejects when `n` people answer and their pairs follow the table `p`; as `power`.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> round(independence_power(RandomizedResponse(4, 1), [[0.275, 0.225], [0.225, 0.275]], 5000).power, 2)
    0.57
    """
    truth = probability_table(p)
    return model_power(randomizer, Independence(*truth.shape), truth, n, alpha=alpha, m=m, at=at)


def probability_table(p: Any) -> Array:
    """A table of probabilities, at least 2 by 2, with positive margins."""
    try:
        table = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("p must be a table of probabilities: rows of equal length") from None
    if table.ndim != 2 or min(table.shape) < 2:
        raise InvalidParameter(f"p must be a table of at least 2 by 2 probabilities, got shape {table.shape}")
    found = distribution("p", table).reshape(table.shape)
    if min(found.sum(axis=0).min(), found.sum(axis=1).min()) <= 0:
        raise InvalidParameter("p must have positive margins: an empty row or column leaves nothing to test")
    return found


def _form(channel: Channel, model: NullModel, truth: Array, at: At) -> tuple[Quadratic, Array, Array]:
    """The statistic per person as a quadratic form, the difference to the null, and the covariance of an answer."""
    check.choice("at", at, ("alternative", "null"))
    if not isinstance(model, NullModel) or model.groups != 1:
        raise InvalidParameter("model must be a null model of one group")
    if not model.cells == channel.cells == truth.size:
        raise InvalidParameter(
            f"model, randomizer and p1 must have one number of categories, got {model.cells}, {channel.cells} and "
            f"{truth.size}"
        )
    theta = model.start(truth[None, :])
    null = model.probabilities(theta)
    root = minimum_chi_square_root(model, theta, channel.whitening(null, 1))
    covariance = channel.covariance(null[0])
    return Quadratic(root, covariance), truth - null[0], channel.covariance(truth) if at != "null" else covariance


def _power(what: str, randomizer: Randomizer, model: NullModel, p1: Any, n: int, alpha: float, m: int, at: At) -> Power:
    people, level = check.whole("n", n, at_least=1), check.probability("alpha", alpha)
    channel = channel_of(randomizer)
    truth = distribution("p1", p1)
    quadratic, delta, covariance = _form(channel, model, truth, at)
    drawn = isinstance(randomizer, OneHotLaplace)
    found, signal = quadratic_power(quadratic, math.sqrt(people) * delta, covariance, level, m=m if drawn else None)
    known: Level = "asymptotic" if not drawn else "exact" if model.parameters == 0 else "empirical"
    smallest = float(people * channel.scale(truth - delta).min())
    warnings: tuple[str, ...] = ()
    if smallest < FEW:
        warnings = (f"the smallest expected count of an answer is {smallest:.3g}, below 5: the limit is rough",)
    return Power(
        f"{what} ({channel.name})", found, people, level, randomizer.cost, signal, "limit", known, 0.0, warnings
    )


__all__ = [
    "independence_noncentrality",
    "independence_power",
    "model_noncentrality",
    "model_power",
    "noncentrality",
    "power",
    "probability_table",
]
