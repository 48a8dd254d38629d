"""Thousands of tests of independence at once, for simulations of level and power. Not for releases: its noise comes
from numpy, which protects nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.bounds.chi_square_mixture import mixture_sf
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.asympt_indep import Weights, weights
from holdfast.inference.private_tests.classical import chi_square_sf
from holdfast.inference.private_tests.independence_methods import INDEPENDENCE_METHODS
from holdfast.inference.private_tests.minimum_chi_square import degrees_of_freedom
from holdfast.inference.private_tests.monte_carlo import (
    DEFAULT_REPLICATES,
    blocks,
    generator,
    rank,
    rejects,
)
from holdfast.inference.private_tests.noise_law import NoiseLaw
from holdfast.inference.private_tests.null_models import Independence, NullModel
from holdfast.inference.private_tests.two_step_mle import (
    MINIMUM_COUNT,
    independence_statistic,
    residual_statistic,
    two_step_mle,
)
from holdfast.inference.private_tests.weighted_fit import fit

Array = NDArray[np.float64]
SimulatedIndependence = Literal[
    "classical",
    "projected",
    "nonprojected",
    "asymptotic",
    "asymptotic-printed",
    "monte-carlo",
    "monte-carlo-projected",
]
OnNullStudied = Literal["redraw", "skip", "fail", "minus-infinity"]
#: Rounds of redrawing every resample that is still inconclusive.
_ROUNDS = 100


@dataclass(frozen=True)
class TestBatch:
    """One entry a test; statistic and p-value are NaN where it was inconclusive, which is not rejected."""

    __test__ = False

    statistic: Array
    p_value: Array
    reject: NDArray[np.bool_]
    conclusive: NDArray[np.bool_]

    @property
    def rate(self) -> float:
        """Share of rejections among all tests: level under the null, power under an alternative."""
        return float(self.reject.mean())


def simulate_tables(
    n: int, p: Any, noise: NoiseLaw, trials: int, rng: np.random.Generator, *, noisy: bool = True
) -> Array:
    """`trials` noisy tables of `n` records from cell probabilities `p` `(r, c)`; exact counts with `noisy=False`.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gaussian
    >>> simulate_tables(1000, [[0.25, 0.25], [0.25, 0.25]], gaussian(0.00125), 3, np.random.default_rng(1)).shape
    (3, 2, 2)
    """
    law = np.asarray(p, dtype=np.float64)
    if law.ndim != 2 or not np.all(law >= 0) or abs(law.sum() - 1) > 1e-9:
        raise InvalidParameter("p must be a table of probabilities that sum to one")
    size, count = check.whole("n", n, at_least=1), check.whole("trials", trials, at_least=1)
    tables = generator(rng).multinomial(size, (law / law.sum()).ravel(), size=count).reshape(count, *law.shape)
    return tables + noise.sample(rng, tables.shape) if noisy else tables.astype(np.float64)


def independence_batch(
    noisy: Array,
    n: int,
    noise: NoiseLaw,
    *,
    method: SimulatedIndependence = "projected",
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    on_null: OnNullStudied = "redraw",
    minimum: float = MINIMUM_COUNT,
    rng: np.random.Generator | None = None,
) -> TestBatch:
    """Test every table of `noisy`, shape `(trials, r, c)`.

    Parameters
    ----------
    noisy : array
        From `simulate_tables`.
    n, noise
        The setting, one for all.
    method : str
        As in `independence`; also "classical": statistic (6.18) against Pearson's threshold, which loses its level.
    alpha, m, minimum
        As in `independence`; replicates are fresh for every table.
    on_null : str
        As in `independence`; also "minus-infinity", the rule that loses its level, for showing that it does.
    rng : numpy Generator
        Needed by the Monte Carlo methods.

    Returns
    -------
    TestBatch
        Time for 10,000 tables of 2 by 2: .1 s "projected", .4 s "asymptotic", 1 s "monte-carlo" and 5 s
        "monte-carlo-projected" at m = 59.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gaussian
    >>> rng, law = np.random.default_rng(1), gaussian(0.00125)
    >>> noisy = simulate_tables(5000, [[0.25, 0.25], [0.25, 0.25]], law, 10_000, rng)
    >>> rates = [independence_batch(noisy, 5000, law, method=name).rate for name in ("projected", "classical")]
    >>> [rate < 0.06 for rate in rates]
    [True, False]
    """
    check.choice("method", method, ("classical", *INDEPENDENCE_METHODS))
    alpha, n = check.probability("alpha", alpha), check.whole("n", n, at_least=1)
    tables = np.asarray(noisy, dtype=np.float64)
    if tables.ndim != 3 or min(tables.shape[1:]) < 2:
        raise InvalidParameter(f"noisy must have shape (trials, r, c), got {tables.shape}")
    trials, r, c = tables.shape
    model = Independence(r, c)
    sizes, flat = np.array([float(n)]), tables.reshape(trials, 1, r * c)
    if method == "monte-carlo":
        fitted = two_step_mle(tables, n, minimum_count=minimum)
        statistic = independence_statistic(tables, n, minimum_count=minimum)  # as that of the replicates, ties included
        law = fitted.probabilities.reshape(flat.shape)
        return bootstrap(statistic, law, sizes, noise, _pearson(n, r, c, minimum), alpha, m, on_null, rng)
    if method in ("asymptotic", "asymptotic-printed", "classical"):
        fitted = two_step_mle(tables, n, minimum_count=minimum)
        statistic = residual_statistic(tables, n, fitted)
        good = np.asarray(fitted.conclusive)
        p = np.full(trials, np.nan)
        if method == "classical":
            p[good] = chi_square_sf(statistic[good], (r - 1) * (c - 1))
        elif good.any():
            kind: Weights = "corrected" if method == "asymptotic" else "printed"
            lam = weights(fitted.rows[good], fitted.columns[good], n, noise.variance, kind)
            p[good] = np.clip(mixture_sf(statistic[good], lam), 0.0, 1.0)
        return _decided(statistic, p, alpha)
    found = fit(flat, sizes, noise.variance, model, minimum)
    if method == "monte-carlo-projected":
        general = _minimum(model, sizes, noise.variance, minimum)
        return bootstrap(found.projected, found.probabilities, sizes, noise, general, alpha, m, on_null, rng)
    statistic = found.projected if method == "projected" else np.where(found.conclusive, found.nonprojected, np.nan)
    p = np.full(trials, np.nan)
    degrees = degrees_of_freedom(model, method == "projected")
    p[found.conclusive] = chi_square_sf(statistic[found.conclusive], degrees)
    return _decided(statistic, p, alpha)


def bootstrap(
    observed: Array,
    law: Array,
    sizes: Array,
    noise: NoiseLaw,
    statistic: Callable[[Array], Array],
    alpha: float,
    m: int,
    on_null: OnNullStudied = "redraw",
    rng: np.random.Generator | None = None,
) -> TestBatch:
    """Rank `observed` statistics `(trials,)` among `m` of tables drawn from each trial's own fitted law.

    Parameters
    ----------
    observed : array
        NaN where inconclusive.
    law : array
        Fitted cell probabilities, `(trials, groups, cells)`.
    sizes, noise
        Public sizes of the groups, and the law of the noise.
    statistic : callable
        From tables `(k, groups, cells)` to `(k,)`, NaN where inconclusive.
    alpha, m, on_null, rng
        As in `independence_batch`.
    """
    rank(m, alpha)
    check.choice("on_null", on_null, ("redraw", "skip", "fail", "minus-infinity"))
    stream = generator(rng)
    p_values = np.full(observed.size, np.nan)
    good = np.flatnonzero(~np.isnan(observed))
    shape = law.shape[1:]
    for part in blocks(good.size, m * int(np.prod(shape))):
        rows = good[part]
        p = np.maximum(law[rows], 0.0)
        p = p / p.sum(axis=-1, keepdims=True)
        owner = np.repeat(np.arange(rows.size), m)
        values = _draw(stream, p[owner], sizes, noise, statistic)
        for _ in range(_ROUNDS if on_null == "redraw" else 0):
            empty = np.flatnonzero(np.isnan(values))
            if not empty.size:
                break
            values[empty] = _draw(stream, p[owner[empty]], sizes, noise, statistic)
        values = values.reshape(rows.size, m)
        known = ~np.isnan(values)
        above = np.count_nonzero(values >= observed[rows, None], axis=1)
        count = known.sum(axis=1) if on_null == "skip" else np.full(rows.size, m)
        usable = known.any(axis=1) if on_null == "skip" else known.all(axis=1) | (on_null == "minus-infinity")
        p_values[rows] = np.where(usable, (1 + above) / (count + 1), np.nan)
    return _decided(np.where(np.isnan(p_values), np.nan, observed), p_values, alpha)


def _draw(
    rng: np.random.Generator, p: Array, sizes: Array, noise: NoiseLaw, statistic: Callable[[Array], Array]
) -> Array:
    """The statistic of one fresh noisy table from each law `(k, groups, cells)`."""
    tables = rng.multinomial(sizes.astype(np.int64), p, size=p.shape[:-1]) + noise.sample(rng, p.shape)
    return statistic(tables)


def _pearson(n: int, r: int, c: int, minimum: float) -> Callable[[Array], Array]:
    def statistic(tables: Array) -> Array:
        found: Array = independence_statistic(tables.reshape(-1, r, c), n, minimum_count=minimum)
        return found

    return statistic


def _minimum(model: NullModel, sizes: Array, variance: float, minimum: float) -> Callable[[Array], Array]:
    def statistic(tables: Array) -> Array:
        found: Array = fit(tables, sizes, variance, model, minimum).projected
        return found

    return statistic


def _decided(statistic: Array, p: Array, alpha: float) -> TestBatch:
    conclusive = ~np.isnan(p)
    reject = np.zeros(p.size, dtype=bool)
    reject[conclusive] = rejects(p[conclusive], alpha)
    return TestBatch(statistic, p, reject, conclusive)


__all__ = [
    "OnNullStudied",
    "SimulatedIndependence",
    "TestBatch",
    "bootstrap",
    "independence_batch",
    "simulate_tables",
]
