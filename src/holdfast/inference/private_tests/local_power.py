"""The power of the local tests in the form that the planners take; `local.power` has the printed formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.composite_power import minimum_chi_square_root
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.goodness_of_fit import FEW
from holdfast.inference.private_tests.local.channel import Channel, MultinomialChannel, channel_of, make_randomizer
from holdfast.inference.private_tests.local.which_randomizer import which_randomizer
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES
from holdfast.inference.private_tests.null_models import Independence, NullModel, Simple
from holdfast.inference.private_tests.power import Power, distribution
from holdfast.inference.private_tests.power_kernel import At, Quadratic, multinomial, quadratic_power
from holdfast.mechanisms.local import OneHotLaplace
from holdfast.noise.inputs import Rational

Array = NDArray[np.float64]


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
    channel = _channel(null.size, epsilon, rho, randomizer)
    return _power(channel, Simple(null), distribution("p1", p1), n, alpha, m, at, "local GOF")


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
    truth = np.asarray(p, dtype=np.float64)
    if truth.ndim != 2 or min(truth.shape) < 2:
        raise InvalidParameter(f"p must be a table of at least 2 by 2 probabilities, got shape {truth.shape}")
    channel = _channel(truth.size, epsilon, rho, randomizer)
    return _power(
        channel, Independence(*truth.shape), distribution("p", truth), n, alpha, m, at, "local minimum chi-square"
    )


def _channel(cells: int, epsilon: Any, rho: Any, randomizer: str | None) -> Channel:
    if (epsilon is None) == (rho is None):
        raise InvalidParameter("give exactly one of epsilon and rho")
    if randomizer is None:
        randomizer = "gaussian" if rho is not None else which_randomizer(cells, epsilon).winner
    return channel_of(make_randomizer(randomizer, cells, epsilon=epsilon, rho=rho))


def _power(channel: Channel, model: NullModel, truth: Array, n: int, alpha: float, m: int, at: At, what: str) -> Power:
    size, alpha = check.whole("n", n, at_least=1), check.probability("alpha", alpha)
    check.choice("at", at, ("alternative", "null"))
    if truth.size != model.cells:
        raise InvalidParameter(f"p1 must have one entry a cell, {model.cells} in all, got {truth.size}")
    theta = model.start(truth[None] * size)
    fitted = model.probabilities(theta)
    if not np.all(fitted > 0):
        raise InvalidParameter("p must have positive margins: an empty row or column leaves nothing to test")
    root = minimum_chi_square_root(model, theta, channel.whitening(fitted, size))
    test = Quadratic(root, _spread(channel, fitted[0]) / size)
    spread = test.null if at == "null" else _spread(channel, truth) / size
    drawn = isinstance(channel.randomizer, OneHotLaplace)
    found, noncentrality = quadratic_power(test, truth - fitted[0], spread, alpha, m=m if drawn else None)
    smallest = float(size * channel.scale(fitted[0]).min())
    warnings: tuple[str, ...] = ()
    if smallest < FEW:
        warnings = (f"the smallest expected count of an answer is {smallest:.3g}, below 5: the limit is rough",)
    level = "asymptotic" if not drawn else "exact" if isinstance(model, Simple) else "empirical"
    name, cost = f"{what} ({channel.name})", channel.randomizer.cost
    return Power(name, found, size, alpha, cost, noncentrality, "limit", level, 0.0, warnings)  # type: ignore[arg-type]


def _spread(channel: Channel, p: Array) -> Array:
    """`n` times the covariance of the debiased proportions."""
    if isinstance(channel, MultinomialChannel):
        return multinomial(channel.shown(p)) / channel.contrast**2
    return multinomial(p) + np.eye(p.size) * channel.c  # type: ignore[attr-defined, no-any-return]


__all__ = ["local_gof_power", "local_independence_power"]
