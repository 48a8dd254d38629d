"""The power of the local tests in the form that the planners take: the randomizer by its name and budget."""

from __future__ import annotations

from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.local.channel import Randomizer, make_randomizer
from holdfast.inference.private_tests.local.power import independence_power, power, probability_table
from holdfast.inference.private_tests.local.which_randomizer import which_randomizer
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES
from holdfast.inference.private_tests.power import Power
from holdfast.inference.private_tests.power_kernel import At
from holdfast.noise.inputs import Rational


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
    """The probability that `local.gof` rejects `p0` when `n` people answer and their categories follow `p1`.

    Noncentralities of Theorem 8.2.6 (randomized response) and 7.2.10 with local noise; see `local.power`. With
    `at="alternative"` the covariance of the answers is taken at `p1` (derived here, as in `gof_power`).

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
    """The probability that `local.independence` rejects when people's pairs follow the table `p`. As `local_gof_power`.

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
        raise InvalidParameter("give exactly one of epsilon and rho")
    if randomizer is None:
        randomizer = "gaussian" if rho is not None else which_randomizer(cells, epsilon).winner
    return make_randomizer(randomizer, cells, epsilon=epsilon, rho=rho)


__all__ = ["local_gof_power", "local_independence_power"]
