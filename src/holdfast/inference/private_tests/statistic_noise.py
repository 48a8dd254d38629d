"""Private tests of one whole-numbered statistic of a sample: exact integer noise, ranks, and permutation tests.

The noisy statistic is released once. Under the null its distribution is known, so as many copies of it as wanted are
simulated, noise included, and the plus-one p-value is exact at every n.

Ranks
-----
Group sizes are public and fixed; a neighbour replaces the value of one record and keeps it in its group. Ties are
broken by a random key that each place gets before the values are looked at. With the keys fixed the records are in
strict order and a neighbour moves one of them, so sensitivities that hold for different values hold with ties too.
Under the null (all values from one distribution, continuous or not) every arrangement is equally likely, so the null
distribution of a rank statistic is known exactly.

Permutation tests
-----------------
A statistic of values, not of ranks, has a null distribution that depends on the records. So its noisy value alone is no
test. The statistic T_0 and its values T_1 ... T_B under random rearrangements all get noise, and the test rejects if
the first is among the largest: `M_i = T_i + Z_i`, reject if `(1 + #{i: M_i >= M_0}) / (B + 1) <= alpha`.

Level (exact). Under the null T_0 ... T_B are exchangeable, so are M_0 ... M_B, and the rank of M_0 is uniform.

Privacy of the decision (derived here). Fix the rearrangements and Z_1 ... Z_B. The test rejects
if `T_0 + Z_0 > q`, q the rank-th smallest of M_1 ... M_B. A neighbour moves every T_i by at most S, hence every order
statistic too, so `T_0 - q` by at most 2 S. Noise Z_0 for a sensitivity of 2 S makes the decision private: epsilon-DP
with discrete Laplace noise of scale `2 S / epsilon`, rho-zCDP with the Gaussian one. Only Z_0 protects, and only Z_0
comes from the secure source.

The rank of M_0 itself is *not* covered by that argument: the gap between two order statistics may close when a record
is replaced. So no finer p-value is released: the result has `alpha` for a rejection and 1 otherwise, which is a valid
p-value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting.costs import ZCDP, Cost, PureDP
from holdfast.bounds.numerics.exact import float_up
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.monte_carlo import blocks, critical_value, p_value, rank, rejects
from holdfast.inference.private_tests.noise_law import Words, unprotected
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.gaussian import discrete_gaussian
from holdfast.noise.grid import Grid, GridGaussian, GridLaplace, gaussian_on_grid, laplace_on_grid
from holdfast.noise.inputs import Rational, fits_vector, plain_array, rational
from holdfast.noise.laplace import discrete_laplace

Alternative = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True)
class StatisticNoise:
    """Discrete Laplace noise for epsilon-DP, or discrete Gaussian noise for rho-zCDP, on one whole number.

    Parameters
    ----------
    sensitivity : int
        How far neighbours move the statistic.
    epsilon, rho : Fraction, int or float
        Exactly one; a float means the decimal it prints as.

    Examples
    --------
    >>> StatisticNoise(50, epsilon=1).law.scale_steps, StatisticNoise(50, epsilon=1).cost
    (50, PureDP(epsilon=1.0))
    """

    sensitivity: int
    epsilon: Rational | None = None
    rho: Rational | None = None

    def __post_init__(self) -> None:
        arguments.whole("sensitivity", self.sensitivity, at_least=1)
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidParameter("exactly one of epsilon and rho must be given")
        fits_vector("the scale of the noise", self._steps)

    @cached_property
    def law(self) -> GridLaplace | GridGaussian:
        """The distribution, in whole steps, with its exact cost."""
        if self.epsilon is not None:
            return laplace_on_grid(self.sensitivity, self.epsilon, Grid(0))
        return gaussian_on_grid(self.sensitivity, rho=self.rho, grid=Grid(0))

    @property
    def _steps(self) -> int:
        return self.law.scale_steps if isinstance(self.law, GridLaplace) else self.law.sigma_steps

    @property
    def cost(self) -> Cost:
        """The privacy cost of releasing the statistic once."""
        if self.epsilon is not None:
            return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))
        return ZCDP(float_up(rational("rho", self.rho, above=0)))

    def release(self, statistic: int, source: Source | None = None) -> int:
        """Return the one private release."""
        if isinstance(source, Words):
            raise InvalidParameter(
                "source must not be the generator of a simulation, because such noise cannot protect a release"
            )
        return statistic + int(self._draw(1, source)[0])

    def resample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Noise of the same distribution for simulated statistics. Never for a release."""
        return self._draw(size, Words(rng))

    def _draw(self, size: int, source: Source | None) -> NDArray[np.int64]:
        draw = discrete_laplace if isinstance(self.law, GridLaplace) else discrete_gaussian
        return draw(self._steps, size, source=source)


def simulated_test(
    name: str,
    observed: int,
    null: Callable[[int], NDArray[np.int64]],
    noise: StatisticNoise,
    *,
    n: int,
    alpha: float,
    m: int,
    rng: np.random.Generator,
    source: Source | None,
    alternative: Alternative = "greater",
    twice_centre: int = 0,
    details: dict[str, Any] | None = None,
) -> TestResult:
    """Release `observed`, simulate `m` noisy copies under the null, and rank.

    Parameters
    ----------
    name : str
        Of the test.
    observed : int
        The exact statistic; secret.
    null : callable
        `null(k)` draws k exact statistics under the null.
    noise, n, alpha, m, rng, source
        As everywhere.
    alternative : {"greater", "less", "two-sided"}
        Which noisy statistics speak against the null: large ones, small ones, or those far from the centre.
    twice_centre : int
        Twice the middle of the null distribution, where the test is two-sided.
    details : dict
        What else is public.
    """
    rank(m, alpha)  # refuses too few replicates before anything is spent
    noisy = noise.release(observed, source)
    copies = null(m) + noise.resample(rng, m)
    values = _against(np.concatenate([[noisy], copies]), alternative, twice_centre).astype(np.float64)
    p, far = p_value(values[0], values[1:]), critical_value(values[1:], alpha)
    public = {"m": m, "noise": noise.law.to_dict(), **(details or {})}
    if alternative == "two-sided":
        public["critical_values"] = [(twice_centre - far) / 2, (twice_centre + far) / 2]
    return TestResult(
        test=name,
        statistic=float(noisy),
        p_value=p,
        critical_value={"greater": far, "less": -far}.get(alternative),
        alpha=alpha,
        reject=rejects(p, alpha),
        null_returned=None,
        cost=noise.cost,
        level="exact",
        warnings=unprotected(source),
        n=n,
        details=public,
    )


def checked(alternative: Alternative) -> Alternative:
    """Return the alternative, refused before anything is spent if it is none."""
    arguments.choice("alternative", alternative, ("two-sided", "greater", "less"))
    return alternative


def _against(noisy: NDArray[np.int64], alternative: Alternative, twice_centre: int) -> NDArray[np.int64]:
    if alternative == "two-sided":
        return np.abs(2 * noisy - twice_centre)
    return noisy if alternative == "greater" else -noisy


#: Statistics of more records might leave 64-bit integers.
LARGEST_N = 1 << 26


def sample(name: str, values: Any) -> NDArray[np.float64]:
    """One value per record, finite; an error shows none of them.

    Examples
    --------
    >>> sample("x", [1.0, float("nan")])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: x must have finite numbers only; replace missing values by a declared number first
    """
    wanted = "one column of numbers, one a record"
    array = plain_array(name, values, "iufb", wanted)
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameter(f"{name} must be {wanted}, at least one")
    clean: NDArray[np.float64] = array.astype(np.float64)
    if not np.isfinite(clean).all():
        raise InvalidParameter(
            f"{name} must have finite numbers only; replace missing values by a declared number first"
        )
    return clean


def pooled(samples: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return all values in one array, sample after sample, and the public sizes."""
    sizes = np.array([part.size for part in samples])
    if sizes.sum() > LARGEST_N:
        raise InvalidParameter(f"samples must hold at most {LARGEST_N} records in all, got {sizes.sum()}")
    return np.concatenate(samples), sizes


def ranks(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Ranks 1 to n, ties broken by keys that are drawn before the values are looked at.

    Examples
    --------
    >>> ranks(np.array([5.0, 1.0, 3.0]), np.random.default_rng(1)).tolist()
    [3, 1, 2]
    """
    keys = rng.permutation(values.size)
    places = np.empty(values.size, dtype=np.int64)
    places[np.lexsort((keys, values))] = np.arange(1, values.size + 1)
    return places


def shuffled(
    statistic: Callable[[NDArray[np.int64]], NDArray[np.int64]], n: int, rng: np.random.Generator
) -> Callable[[int], NDArray[np.int64]]:
    """`null(k)`: the statistic of k random arrangements of the ranks 1 to n, in blocks of bounded memory."""

    def null(k: int) -> NDArray[np.int64]:
        statistics = np.empty(k, dtype=np.int64)
        order = np.arange(1, n + 1)
        for block in blocks(k, n):
            rows = block.stop - block.start
            statistics[block] = statistic(rng.permuted(np.broadcast_to(order, (rows, n)), axis=1))
        return statistics

    return null


RESOLUTION = 1 << 16
"""Values become whole numbers, this many to their range, so that statistics are exact and sensitivities are theirs."""

LARGEST_PERMUTED_N = 1 << 20


def whole_values(name: str, values: Any, low: float, high: float) -> NDArray[np.int64]:
    """Values clipped to `[low, high]`, record by record, as whole numbers from 0 to `RESOLUTION`.

    Examples
    --------
    >>> whole_values("x", [-5.0, 0.5, 1.0], 0, 1).tolist()
    [0, 32768, 65536]
    """
    low, high = arguments.real("low", low), arguments.real("high", high)
    if not high > low or not np.isfinite(high - low):
        raise InvalidParameter(
            f"high must be above low = {low:g}, and the width of the range must be finite, got {high:g}"
        )
    clipped = np.clip(sample(name, values), low, high)
    return np.clip(np.rint((clipped - low) / (high - low) * RESOLUTION), 0, RESOLUTION).astype(np.int64)


def permutation_decision(
    name: str,
    observed: int,
    rearranged: Callable[[int], NDArray[np.int64]],
    noise: StatisticNoise,
    *,
    n: int,
    alpha: float,
    m: int,
    rng: np.random.Generator,
    source: Source | None,
    details: dict[str, Any],
) -> TestResult:
    """Decide by a noisy permutation test; the module's notes have the proofs.

    Parameters
    ----------
    name : str
        Of the test.
    observed : int
        The exact statistic; secret, and not released even with noise.
    rearranged : callable
        `rearranged(k)` computes the statistic of k random rearrangements of the records; secret too.
    noise : StatisticNoise
        For a sensitivity of twice the statistic's.
    n, alpha, m, rng, source
        As everywhere.
    details : dict
        What is public.
    """
    place = rank(m, alpha) - 1  # refuses too few rearrangements before anything is spent
    others = rearranged(m) + noise.resample(rng, m)
    # Whole numbers throughout: a threshold rounded to a float could move by more than the proof allows.
    reject = noise.release(observed, source) > int(np.partition(others, place)[place])
    return TestResult(
        test=name,
        statistic=None,
        p_value=alpha if reject else 1.0,
        critical_value=None,
        alpha=alpha,
        reject=reject,
        null_returned=None,
        cost=noise.cost,
        level="exact",
        warnings=("only the decision is private, so the p-value is alpha or 1", *unprotected(source)),
        n=n,
        details={"m": m, "noise": noise.law.to_dict(), **details},
    )
