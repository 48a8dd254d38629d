"""Goodness of fit from randomized answers: LocalGOF (Algorithm 18), bit flipping (Theorem 8.2.11), local noise."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.classical import chi_square_critical, chi_square_sf
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.local.channel import Randomizer, channel_of
from holdfast.inference.private_tests.local.collected import Collected, received, shaped
from holdfast.inference.private_tests.monte_carlo import (
    DEFAULT_REPLICATES,
    critical_value,
    generator,
    p_value,
    rank,
    rejects,
)
from holdfast.inference.private_tests.question import FEW, TINY, few_replicates, small_alpha
from holdfast.inference.private_tests.result import Level, TestResult
from holdfast.mechanisms.local import OneHotLaplace

Method = Literal["asymptotic", "monte-carlo"]


def gof(
    answers: Any,
    p0: Any,
    *,
    randomizer: Randomizer | None = None,
    alpha: float = 0.05,
    method: Method | None = None,
    m: int = DEFAULT_REPLICATES,
    minimum_expected: float = TINY,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test from randomized answers whether the categories of `n` people follow the probabilities `p0`.

    For randomized response the statistic is Pearson's statistic of the answers. For bit flipping and for noise it is
    the projected statistic of the debiased counts. In the limit each has a chi-square distribution with d - 1 degrees
    of freedom.

    Parameters
    ----------
    answers : Collected, or an array of answers
        See `received`, `collect`; an array needs `randomizer`.
    p0 : list
        The null probabilities of the categories, before randomizing; positive, summing to one.
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        What each person ran, where `answers` does not say it.
    alpha : float
        The significance level.
    method : {"asymptotic", "monte-carlo"}, optional
        "monte-carlo" draws the sums of `m` groups of `n` people under the null and keeps the level exactly, at every n
        and for every randomizer (the proof of Theorem 6.1.5). None: Monte Carlo for Laplace noise, as in section 8.2.2,
        asymptotic else.
    m : int
        Replicates.
    minimum_expected : float
        The asymptotic test is NULL where `n pc` (randomized response) or `n (p0 + c)` (the others) is below this.
    rng : numpy Generator, optional
        Of the replicates.

    Returns
    -------
    TestResult
        `cost` is what each person spent when they answered; testing the same answers again spends nothing.

    Notes
    -----
    Randomized response: Pearson's statistic of the answers against `pc = (e^epsilon p0 + 1 - p0)/(e^epsilon + d -
    1)` (Algorithm 18, LocalGOF). Bit flipping: `T_FC` (Theorem 8.2.11), computed as the projected statistic of
    the debiased counts, which it equals (derived and reviewed). Noise on one-hot rows: the projected statistic
    with the variance of the sum (section 8.2).

    With Laplace noise the chi-square limit holds in the local model, where each cell has a sum of n noises, and not in
    the central one. Time: O(d); Monte Carlo `m` multinomials.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> answers = Collected([2900, 2350, 2420, 2330], 10_000, RandomizedResponse(4, 1))
    >>> print(gof(answers, [1 / 2, 1 / 6, 1 / 6, 1 / 6]))
    local GOF (randomized response): reject at 0.05 (p = 1.42e-12)
      statistic 58.2059, critical value 7.81473; n = 10000
      level asymptotic; cost PureDP(epsilon=1.0)
    """
    collected = as_collected(answers, randomizer)
    level = arguments.probability("alpha", alpha)
    vector = probabilities("p0", p0, collected.sums.size)
    least = arguments.real("minimum_expected", minimum_expected, at_least=0)
    how = chosen(method, collected)
    if how == "monte-carlo":
        rank(m, level)
    stream = generator(rng)
    channel, n = collected.channel, collected.n
    name = f"local GOF ({channel.name})"
    sums = collected.sums.ravel()
    if how == "monte-carlo":
        draws = channel.draw(stream, n, vector, m)
        # One call for all, so that equal sums give equal floats and ties are counted as ties.
        values = channel.statistic(np.vstack([sums, draws]), n, vector)
        p = p_value(float(values[0]), values[1:])
        threshold = critical_value(values[1:], level)
        warnings = few_replicates(m)
        return outcome(collected, name, float(values[0]), p, threshold, level, "exact", warnings, {"m": m})
    smallest = float(n * channel.scale(vector).min())
    warnings = rough(smallest) + small_alpha(level, "two to three times the nominal level")
    degrees = vector.size - 1
    if smallest < least:
        reason = (
            f"the smallest expected count of an answer is {smallest:.3g}, below {least:g}, where the limit "
            f"distribution is "
            "known to fail; method='monte-carlo' is exact here, and minimum_expected=0 runs the test regardless"
        )
        return inconclusive(collected, name, reason, level, "asymptotic", warnings, {"degrees": degrees})
    statistic = float(channel.statistic(sums, n, vector))
    threshold = chi_square_critical(degrees, level)
    p = chi_square_sf(statistic, degrees)
    return outcome(collected, name, statistic, p, threshold, level, "asymptotic", warnings, {"degrees": degrees})


def gof_batch(
    sums: NDArray[np.float64],
    n: int,
    p0: Any,
    randomizer: Randomizer,
    *,
    alpha: float = 0.05,
) -> NDArray[np.bool_]:
    """Return for each row of `sums` whether the asymptotic test rejects. Use it to simulate level and power.

    `sums` has the shape (trials, d).

    Examples
    --------
    >>> from holdfast.mechanisms.local import BitFlip
    >>> flips, u4 = BitFlip(4, 1), np.full(4, 0.25)
    >>> sums = simulate_sums(10_000, u4, flips, 20_000, np.random.default_rng(1))
    >>> print(f"{gof_batch(sums, 10_000, u4, flips).mean():.2f}")
    0.05
    """
    vector = probabilities("p0", p0, randomizer.categories)
    statistic = channel_of(randomizer).statistic(sums, n, vector)
    return np.asarray(statistic > chi_square_critical(vector.size - 1, arguments.probability("alpha", alpha)))


def simulate_sums(n: int, p: Any, randomizer: Randomizer, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return `trials` simulated sums of the answers of `n` people whose categories follow the probabilities `p`.

    Notes
    -----
    They are drawn as sums, so in time O(d) each, whatever n.

    Examples
    --------
    >>> from holdfast.mechanisms.local import OneHotLaplace
    >>> simulate_sums(10**6, [0.25] * 4, OneHotLaplace(4, 1), 3, np.random.default_rng(1)).shape
    (3, 4)
    """
    channel = channel_of(randomizer)
    vector = probabilities("p", p, channel.cells)
    people, size = arguments.whole("n", n, at_least=1), arguments.whole("trials", trials, at_least=1)
    return channel.draw(generator(rng), people, vector, size)


def as_collected(answers: Any, randomizer: Randomizer | None, shape: tuple[int, int] | None = None) -> Collected:
    """Answers of any allowed kind as sums."""
    if isinstance(answers, Collected):
        if randomizer is not None and randomizer != answers.randomizer:
            raise InvalidParameter(
                "the answers were made with another randomizer than the one given; leave randomizer out"
            )
        if shape is None or answers.shape == tuple(shape):
            return answers
        if len(answers.shape) == 2:
            raise InvalidParameter(
                f"the answers have the shape {answers.shape}, but the shape {tuple(shape)} was given; leave shape out"
            )
        return Collected(shaped(answers.sums, shape), answers.n, answers.randomizer)
    if randomizer is None:
        raise InvalidParameter(
            "randomizer was not given; give the one that each person used, because without it the answers cannot be "
            "interpreted"
        )
    return received(answers, randomizer, shape=shape)


def chosen(method: Method | None, found: Collected) -> Method:
    """Return the method asked for, or the dissertation's for the randomizer."""
    if method is None:
        return "monte-carlo" if isinstance(found.randomizer, OneHotLaplace) else "asymptotic"
    arguments.choice("method", method, ("asymptotic", "monte-carlo"))
    return method


def rough(smallest: float) -> tuple[str, ...]:
    """Return the warning for small expected counts of the answers (spec 5.8, reviewed)."""
    if smallest >= FEW:
        return ()
    return (
        f"the smallest expected count of an answer is {smallest:.3g}, below 5: the limit is rough (levels up to .258 "
        "for .05 were measured below 1, .067 near 1); a Monte Carlo test of a simple null is exact",
    )


def outcome(
    found: Collected,
    test: str,
    statistic: float,
    p: float,
    critical: float,
    alpha: float,
    level: Level,
    warnings: tuple[str, ...],
    details: dict[str, Any],
) -> TestResult:
    """Return a conclusive result; the decision is `p <= alpha`."""
    known = described(found) | details
    reject = bool(rejects(p, alpha))
    return TestResult(test, statistic, p, critical, alpha, reject, None, found.cost, level, warnings, found.n, known)


def inconclusive(
    found: Collected,
    test: str,
    reason: str,
    alpha: float,
    level: Level,
    warnings: tuple[str, ...],
    details: dict[str, Any],
) -> TestResult:
    """Return a NULL result."""
    known = described(found) | details
    return TestResult(test, None, None, None, alpha, None, reason, found.cost, level, warnings, found.n, known)


def described(found: Collected) -> dict[str, Any]:
    """Return what every local result shows of the answers, all of it private already."""
    return {
        "local": True,
        "randomizer": found.randomizer,
        "sums": found.sums,
        "proportions": found.proportions,
    }
