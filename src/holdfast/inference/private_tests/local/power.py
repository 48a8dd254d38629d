"""Power of the local tests in advance: noncentralities, power, and how many people a target power needs.

One quadratic form a randomizer, and the kernel that serves the central tests. The dissertation's formulas take the
covariance at the null (`at="null"`); at the alternative, the default, they are right for fixed alternatives too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.local.channel import Channel, Randomizer, channel_of
from holdfast.inference.private_tests.null_models import Independence, NullModel
from holdfast.inference.private_tests.power import Power
from holdfast.inference.private_tests.power_kernel import At, Quadratic, quadratic_power

Array = NDArray[np.float64]
_SUM_SLACK = 1e-9
#: More people than this are not a plan.
_MOST = 2.0**53


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
    return channel.information(null, _law("p1", p1, channel.cells) - null)


def power(
    randomizer: Randomizer,
    p0: Any,
    p1: Any,
    n: int,
    *,
    alpha: float = 0.05,
    at: At = "alternative",
    m: int | None = None,
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
    at : {"alternative", "null"}
        Where the covariance is taken; "null" as printed, for alternatives close by.
    m : int, optional
        Replicates of a Monte Carlo threshold; None for the limit's.

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
    channel, quadratic, shift, covariance = _simple(randomizer, p0, p1, at)
    people = check.whole("n", n, at_least=1)
    level = check.probability("alpha", alpha)
    return _power(f"local GOF ({channel.name})", randomizer, quadratic, shift, covariance, people, level, m)


def sample_size(
    randomizer: Randomizer, p0: Any, p1: Any, target: float, *, alpha: float = 0.05, at: At = "alternative"
) -> int:
    """How many people `gof` needs to reject `p0` with probability `target` when the truth is `p1`.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> vote, p0, p1 = RandomizedResponse(4, 1), [0.25] * 4, [0.26, 0.24, 0.24, 0.26]
    >>> n = sample_size(vote, p0, p1, 0.8)
    >>> power(vote, p0, p1, n - 1).power < 0.8 <= power(vote, p0, p1, n).power
    True
    """
    _, quadratic, shift, covariance = _simple(randomizer, p0, p1, at)
    return _people(quadratic, shift, covariance, target, alpha)


def model_noncentrality(randomizer: Randomizer, model: NullModel, theta: Any, deviation: Any) -> float:
    """What one person adds to the noncentrality of `general` when the truth is `p(theta) + deviation`.

    `delta' (N - N J (J'NJ)^-1 J'N) delta` with N the inverse covariance per person and J the Jacobian along the model
    (section 3 of the specification, derived and reviewed). `theta` is where the model is fitted to the truth: for
    independence, its margins.
    """
    quadratic, shift, _ = _composite(randomizer, model, theta, deviation, "null")
    return float(np.square(quadratic.root @ shift).sum())


def independence_noncentrality(randomizer: Randomizer, rows: Any, columns: Any, deviation: Any) -> float:
    """What one person adds to the noncentrality of `independence` at `p = rows columns' + deviation`.

    Examples
    --------
    >>> from holdfast.mechanisms.local import OneHotGaussian
    >>> half, D = [0.5, 0.5], [[0.01, -0.01], [-0.01, 0.01]]
    >>> print(f"{5000 * independence_noncentrality(OneHotGaussian(4, 6.25), half, half, D):.6f}")
    4.878049
    """
    first, second, table = deviation_table(rows, columns, deviation)
    theta = np.concatenate([first, second])
    return model_noncentrality(randomizer, Independence(*table.shape), theta, table.ravel())


def independence_power(
    randomizer: Randomizer,
    rows: Any,
    columns: Any,
    deviation: Any,
    n: int,
    *,
    alpha: float = 0.05,
    at: At = "alternative",
    m: int | None = None,
) -> Power:
    """The chance that `independence` rejects when `n` people answer and `p = rows columns' + deviation`, in the limit.

    Parameters
    ----------
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        Of pairs, with `r c` categories.
    rows, columns : list
        The margins.
    deviation : table
        From independence, with row and column sums of zero.
    n, alpha, at, m
        As in `power`.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> half, D = [0.5, 0.5], [[0.025, -0.025], [-0.025, 0.025]]
    >>> round(independence_power(RandomizedResponse(4, 1), half, half, D, 5000).power, 2)
    0.57
    """
    first, second, table = deviation_table(rows, columns, deviation)
    theta = np.concatenate([first, second])
    model = Independence(*table.shape)
    quadratic, shift, covariance = _composite(randomizer, model, theta, table, at)
    people = check.whole("n", n, at_least=1)
    level = check.probability("alpha", alpha)
    name = f"local independence ({channel_of(randomizer).name})"
    return _power(name, randomizer, quadratic, shift, covariance, people, level, m)


def independence_sample_size(
    randomizer: Randomizer,
    rows: Any,
    columns: Any,
    deviation: Any,
    target: float,
    *,
    alpha: float = 0.05,
    at: At = "alternative",
) -> int:
    """How many people `independence` needs to reject with probability `target` at `p = rows columns' + deviation`.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> half, D = [0.5, 0.5], [[0.025, -0.025], [-0.025, 0.025]]
    >>> independence_sample_size(RandomizedResponse(4, 1), half, half, D, 0.8) < 10_000
    True
    """
    first, second, table = deviation_table(rows, columns, deviation)
    theta = np.concatenate([first, second])
    quadratic, shift, covariance = _composite(randomizer, Independence(*table.shape), theta, table, at)
    return _people(quadratic, shift, covariance, target, alpha)


def deviation_table(rows: Any, columns: Any, deviation: Any) -> tuple[Array, Array, Array]:
    """Margins and a deviation from independence that keeps them, checked."""
    first, second = probabilities("rows", rows), probabilities("columns", columns)
    try:
        table = np.asarray(deviation, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("deviation must be a table of numbers") from None
    if table.shape != (first.size, second.size) or not np.all(np.isfinite(table)):
        raise InvalidParameter(f"deviation must be a table of {first.size} by {second.size} finite numbers")
    if max(np.abs(table.sum(axis=0)).max(), np.abs(table.sum(axis=1)).max()) > _SUM_SLACK:
        raise InvalidParameter("deviation must have row and column sums of zero, so that the margins are as given")
    if np.min(np.outer(first, second) + table) < -_SUM_SLACK:
        raise InvalidParameter("rows columns' + deviation must be probabilities, and some are negative")
    return first, second, table


def _simple(randomizer: Randomizer, p0: Any, p1: Any, at: At) -> tuple[Channel, Quadratic, Array, Array]:
    check.choice("at", at, ("alternative", "null"))
    channel = channel_of(randomizer)
    null = probabilities("p0", p0, channel.cells)
    truth = _law("p1", p1, channel.cells)
    quadratic = Quadratic(channel.root(null), channel.covariance(null))
    return channel, quadratic, truth - null, channel.covariance(truth if at == "alternative" else null)


def _composite(
    randomizer: Randomizer, model: NullModel, theta: Any, deviation: Any, at: At
) -> tuple[Quadratic, Array, Array]:
    """The statistic as a quadratic form: the root less its projection on the tangent space of the model."""
    check.choice("at", at, ("alternative", "null"))
    if not isinstance(model, NullModel) or model.groups != 1:
        raise InvalidParameter("model must be a null model of one group")
    channel = channel_of(randomizer)
    if model.cells != channel.cells:
        raise InvalidParameter(f"randomizer must have {model.cells} categories, got {channel.cells}")
    place = np.asarray(theta, dtype=np.float64)
    delta = np.asarray(deviation, dtype=np.float64).ravel()
    if delta.size != model.cells or abs(float(delta.sum())) > _SUM_SLACK:
        raise InvalidParameter(f"deviation must have {model.cells} entries that sum to zero")
    null = model.probabilities(place)[0]
    root = channel.root(null)
    slopes = root @ model.jacobian(place)[0] @ model.tangent
    base, _ = np.linalg.qr(slopes)
    quadratic = Quadratic(root - base @ (base.T @ root), channel.covariance(null))
    truth = np.maximum(null + delta, 0.0) if at == "alternative" else null
    return quadratic, delta, channel.covariance(truth)


def _power(
    name: str,
    randomizer: Randomizer,
    quadratic: Quadratic,
    shift: Array,
    covariance: Array,
    n: int,
    alpha: float,
    m: int | None,
) -> Power:
    found, _ = quadratic_power(quadratic, math.sqrt(n) * shift, covariance, alpha, m=m)
    signal = n * float(np.square(quadratic.root @ shift).sum())
    return Power(name, found, n, alpha, randomizer.cost, signal, "limit", "asymptotic" if m is None else "exact")


def _people(quadratic: Quadratic, shift: Array, covariance: Array, target: float, alpha: float) -> int:
    wanted, level = check.probability("target", target), check.probability("alpha", alpha)
    if wanted <= level:
        raise InvalidParameter(f"target must be above alpha = {level:g}, got {wanted:g}")
    if not float(np.square(quadratic.root @ shift).sum()) > 0:
        raise InvalidParameter("the alternative must differ from the null: no number of people tells them apart")
    return smallest_n(lambda n: quadratic_power(quadratic, math.sqrt(n) * shift, covariance, level)[0] >= wanted)


def smallest_n(enough: Callable[[int], bool]) -> int:
    """The smallest whole number that is enough, for a condition that stays true once it is."""
    high = 1
    while not enough(high):
        high *= 4
        if high > _MOST:
            raise InvalidParameter("the alternative is so close to the null that more than 2**53 people are needed")
    low = high // 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _law(name: str, values: Any, cells: int) -> Array:
    """A probability vector that may have zeros."""
    vector = np.array(check.reals(name, np.asarray(values).ravel().tolist(), at_least=0))
    if vector.size != cells:
        raise InvalidParameter(f"{name} must have one entry a category, {cells} in all, got {vector.size}")
    if abs(float(vector.sum()) - 1) > _SUM_SLACK:
        raise InvalidParameter(f"{name} must sum to 1, got {float(vector.sum()):.10g}")
    law: Array = vector / vector.sum()
    return law


__all__ = [
    "deviation_table",
    "independence_noncentrality",
    "independence_power",
    "independence_sample_size",
    "model_noncentrality",
    "noncentrality",
    "power",
    "sample_size",
]
