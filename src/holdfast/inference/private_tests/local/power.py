"""Power of the local tests in advance: noncentralities, power, and how many people a target power needs.

The formulas are local: the covariance is taken at the null. They were within .012 of simulation while no cell changes
by more than a tenth, and say too much where an alternative empties or fills a small cell (spec section 3, reviewed).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chndtr, chndtrinc

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.classical import chi_square_critical
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.local.channel import Randomizer, channel_of
from holdfast.inference.private_tests.null_models import Independence, NullModel

Array = NDArray[np.float64]
_SUM_SLACK = 1e-9


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


def power(randomizer: Randomizer, p0: Any, p1: Any, n: int, *, alpha: float = 0.05) -> float:
    """The chance that `gof` rejects `p0` when `n` people answer and the truth is `p1`, in the limit.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> p1 = [0.26, 0.24, 0.24, 0.26]
    >>> round(power(RandomizedResponse(4, 1), [0.25] * 4, p1, 50_000), 3)
    0.605
    """
    each = noncentrality(randomizer, p0, p1)
    return chi_square_power(check.whole("n", n, at_least=1) * each, randomizer.categories - 1, alpha)


def sample_size(randomizer: Randomizer, p0: Any, p1: Any, target: float, *, alpha: float = 0.05) -> int:
    """How many people `gof` needs to reject `p0` with probability `target` when the truth is `p1`.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> p1 = [0.26, 0.24, 0.24, 0.26]
    >>> n = sample_size(RandomizedResponse(4, 1), [0.25] * 4, p1, 0.8)
    >>> [round(power(RandomizedResponse(4, 1), [0.25] * 4, p1, k), 5) for k in (n - 1, n)]
    [0.79999, 0.8...]
    """
    each = noncentrality(randomizer, p0, p1)
    return people_needed(each, randomizer.categories - 1, target, alpha)


def model_noncentrality(randomizer: Randomizer, model: NullModel, theta: Any, deviation: Any) -> float:
    """What one person adds to the noncentrality of `general` when the truth is `p(theta) + deviation`.

    `delta' (N - N J (J'NJ)^-1 J'N) delta` with N the inverse covariance per person and J the Jacobian along the model
    (section 3 of the specification, derived and reviewed). `theta` is where the model is fitted to the truth: for
    independence, its margins.
    """
    if not isinstance(model, NullModel) or model.groups != 1:
        raise InvalidParameter("model must be a null model of one group")
    channel = channel_of(randomizer)
    if model.cells != channel.cells:
        raise InvalidParameter(f"randomizer must have {model.cells} categories, got {channel.cells}")
    at = np.asarray(theta, dtype=np.float64)
    delta = np.asarray(deviation, dtype=np.float64).reshape(1, -1)
    if delta.shape[1] != model.cells or abs(float(delta.sum())) > _SUM_SLACK:
        raise InvalidParameter(f"deviation must have {model.cells} entries that sum to zero")
    white = channel.whitening(model.probabilities(at), 1)
    v = white.apply(delta)
    slopes = white.columns(model.jacobian(at) @ model.tangent)
    along, *_ = np.linalg.lstsq(slopes, v, rcond=None)
    return float(np.square(v - slopes @ along).sum())


def independence_noncentrality(randomizer: Randomizer, rows: Any, columns: Any, deviation: Any) -> float:
    """What one person adds to the noncentrality of `independence` at `p = rows columns' + deviation`.

    Examples
    --------
    >>> from holdfast.mechanisms.local import OneHotGaussian
    >>> half, D = [0.5, 0.5], [[0.01, -0.01], [-0.01, 0.01]]
    >>> print(f"{5000 * independence_noncentrality(OneHotGaussian(4, 6.25), half, half, D):.4f}")
    4.8780
    """
    first, second, table = deviation_table(rows, columns, deviation)
    theta = np.concatenate([first, second])
    return model_noncentrality(randomizer, Independence(*table.shape), theta, table.ravel())


def independence_power(
    randomizer: Randomizer, rows: Any, columns: Any, deviation: Any, n: int, *, alpha: float = 0.05
) -> float:
    """The chance that `independence` rejects when `n` people answer and `p = rows columns' + deviation`, in the limit.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> half, D = [0.5, 0.5], [[0.025, -0.025], [-0.025, 0.025]]
    >>> round(independence_power(RandomizedResponse(4, 1), half, half, D, 5000), 3)
    0.565
    """
    each = independence_noncentrality(randomizer, rows, columns, deviation)
    r, c = np.shape(deviation)
    return chi_square_power(check.whole("n", n, at_least=1) * each, (r - 1) * (c - 1), alpha)


def independence_sample_size(
    randomizer: Randomizer, rows: Any, columns: Any, deviation: Any, target: float, *, alpha: float = 0.05
) -> int:
    """How many people `independence` needs to reject with probability `target` at `p = rows columns' + deviation`."""
    each = independence_noncentrality(randomizer, rows, columns, deviation)
    r, c = np.shape(deviation)
    return people_needed(each, (r - 1) * (c - 1), target, alpha)


def chi_square_power(total: float, degrees: int, alpha: float) -> float:
    """`P(chi2(degrees, noncentrality) > upper alpha quantile)`."""
    threshold = chi_square_critical(degrees, check.probability("alpha", alpha))
    return float(min(1.0, max(0.0, 1.0 - chndtr(threshold, degrees, total))))


def people_needed(each: float, degrees: int, target: float, alpha: float) -> int:
    """The smallest n whose power is at least `target` where one person adds `each` to the noncentrality."""
    wanted = check.probability("target", target)
    if wanted <= check.probability("alpha", alpha):
        return 1
    if not each > 0:
        raise InvalidParameter("the alternative must differ from the null: no number of people tells them apart")
    threshold = chi_square_critical(degrees, alpha)
    total = float(chndtrinc(threshold, degrees, 1 - wanted))
    if not math.isfinite(total) or total / each > 2**53:
        raise InvalidParameter("the alternative is so close to the null that more than 2**53 people are needed")
    n = max(1, math.ceil(total / each))
    while n > 1 and chi_square_power((n - 1) * each, degrees, alpha) >= wanted:
        n -= 1
    while chi_square_power(n * each, degrees, alpha) < wanted:
        n += 1
    return n


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
    if np.min(np.outer(first, second) + table) < 0:
        raise InvalidParameter("rows columns' + deviation must be probabilities, and some are negative")
    return first, second, table


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
    "chi_square_power",
    "deviation_table",
    "independence_noncentrality",
    "independence_power",
    "independence_sample_size",
    "model_noncentrality",
    "noncentrality",
    "people_needed",
    "power",
    "sample_size",
]
