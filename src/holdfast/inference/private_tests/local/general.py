"""Any null model from randomized answers: LocalGeneral (Algorithm 19), the same for bits and noise, independence."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.classical import chi_square_critical, chi_square_sf
from holdfast.inference.private_tests.goodness_of_fit import TINY
from holdfast.inference.private_tests.local.channel import Randomizer, channel_of
from holdfast.inference.private_tests.local.fit import LocalFit, Model, fit
from holdfast.inference.private_tests.local.gof import (
    Method,
    as_collected,
    chosen,
    inconclusive,
    outcome,
    rough,
)
from holdfast.inference.private_tests.monte_carlo import (
    DEFAULT_REPLICATES,
    critical_value,
    generator,
    p_value,
    rank,
)
from holdfast.inference.private_tests.null_models import Independence, NullModel
from holdfast.inference.private_tests.question import few_replicates, small_alpha
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.user_model import UserModel

Denominator = Literal["fitted", "first"]


def general(
    answers: Any,
    model: Model,
    *,
    randomizer: Randomizer | None = None,
    alpha: float = 0.05,
    method: Method | None = None,
    denominator: Denominator = "fitted",
    m: int = DEFAULT_REPLICATES,
    minimum_expected: float = TINY,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test from randomized answers whether the categories of `n` people follow some law of a model.

    Randomized response: minimise `n sum (h/n - pc(theta))^2 / pc(phi)` and compare
    `sum (h - n pc(theta))^2 / (n pc(theta))` with chi-square of `d - 1 - s` degrees (Algorithm 19, Theorem 8.2.8; the
    square and "minimise" are missing in print). Bit flipping and noise: the projected statistic of Algorithm 15 on
    debiased counts, with the variance of the sum (derived and reviewed; the composite bit-flip test).

    The fit keeps sums of one and drops the signs of the parameters, which the printed search keeps: see `fit` and the
    errata.

    Parameters
    ----------
    answers : Collected, or an array of answers
        See `received`, `collect_pairs`; an array needs `randomizer`.
    model : NullModel or UserModel
        `Independence`, `HardyWeinberg`, `Symmetry`, or your own; of one group.
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        What each person ran, where `answers` does not say it.
    alpha : float
        The level.
    method : {"asymptotic", "monte-carlo"}, optional
        "monte-carlo" draws `m` collections at the fitted law and fits each again: a parametric bootstrap, whose level
        is measured and not proved. None: Monte Carlo for Laplace noise, as in section 8.2.2, asymptotic else.
    denominator : {"fitted", "first"}
        For randomized response, where expected counts are taken: at the fit, as Algorithm 19 prints, or at the first
        estimate, which is the minimised objective. Equal in the limit.
    m : int
        Replicates.
    minimum_expected : float
        The asymptotic test is NULL where the smallest fitted `n pc`, or `n (p + c)`, is below this.
    rng : numpy Generator, optional
        Of the replicates.

    Returns
    -------
    TestResult
        Level asymptotic, or empirical for Monte Carlo. `details["estimate"]` has the fitted parameters.

    Examples
    --------
    >>> from holdfast.inference.private_tests.local import Collected
    >>> from holdfast.inference.private_tests.null_models import HardyWeinberg
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> answers = Collected([4000, 2000, 4000], 10_000, RandomizedResponse(3, 2))
    >>> result = general(answers, HardyWeinberg())
    >>> result.reject, result.details["degrees"], result.cost
    (True, 1, PureDP(epsilon=2.0))
    """
    found = as_collected(answers, randomizer)
    if not isinstance(model, (NullModel, UserModel)):
        raise InvalidParameter(f"model must be a null model, got a {type(model).__name__}")
    if model.groups != 1 or model.cells != found.sums.size:
        raise InvalidParameter(
            f"model must be of one group over {found.sums.size} categories, got {model.groups} over {model.cells}"
        )
    level = check.probability("alpha", alpha)
    check.choice("denominator", denominator, ("fitted", "first"))
    least = check.real("minimum_expected", minimum_expected, at_least=0)
    how = chosen(method, found)
    if how == "monte-carlo":
        rank(m, level)
    stream = generator(rng)
    degrees = model.cells - 1 - model.parameters
    if degrees < 1:
        raise InvalidParameter(f"{model.name} leaves no degree of freedom: every histogram fits it")
    channel, n = found.channel, found.n
    name = f"local minimum chi-square ({channel.name})"
    fitted = fit(found.sums.ravel(), n, channel, model)
    details = {
        "model": model.name,
        "degrees": degrees,
        "estimate": fitted.theta,
        "first_estimate": fitted.first,
        "fitted": fitted.law.reshape(found.shape),
    }
    statistic = _value(fitted, denominator)
    if how == "monte-carlo":
        draws = channel.draw(stream, n, fitted.law, m)
        values = _value(fit(draws, n, channel, model), denominator)
        warnings = few_replicates(m)
        p, threshold = p_value(statistic, values), critical_value(values, level)
        return outcome(found, name, statistic, p, threshold, level, "empirical", warnings, details | {"m": m})
    smallest = float(n * channel.scale(fitted.law).min())
    warnings = rough(smallest) + small_alpha(level, "about twice the nominal level")
    if smallest < least:
        reason = f"the smallest expected count of an answer is {smallest:.3g} at the fit, below {least:g}"
        return inconclusive(found, name, reason, level, "asymptotic", warnings, details)
    p, threshold = chi_square_sf(statistic, degrees), chi_square_critical(degrees, level)
    return outcome(found, name, statistic, p, threshold, level, "asymptotic", warnings, details)


def independence(
    answers: Any,
    *,
    randomizer: Randomizer | None = None,
    shape: tuple[int, int] | None = None,
    alpha: float = 0.05,
    method: Method | None = None,
    denominator: Denominator = "fitted",
    m: int = DEFAULT_REPLICATES,
    minimum_expected: float = TINY,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test independence of two variables from randomized answers about the pair, one of `r c` categories.

    Both variables are hidden by one randomizer. Where people randomize the two variables one by one, see
    `separate_independence`.

    Parameters
    ----------
    answers : Collected of a table, or an array of answers
        See `collect_pairs`; an array needs `randomizer` and `shape`.
    shape : (r, c), optional
        Where `answers` does not say it; pairs are numbered row by row.
    randomizer, alpha, method, denominator, m, minimum_expected, rng
        As in `general`.

    Returns
    -------
    TestResult
        `(r - 1)(c - 1)` degrees.

    Examples
    --------
    >>> from holdfast.inference.private_tests.local import Collected
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> answers = Collected([[2700, 2480], [2390, 2430]], 10_000, RandomizedResponse(4, 1))
    >>> found = independence(answers)
    >>> round(found.statistic, 6), round(found.p_value, 6)
    (5.64429, 0.017512)
    """
    found = as_collected(answers, randomizer, shape)
    if len(found.shape) != 2 or min(found.shape) < 2:
        raise InvalidParameter("independence needs answers about pairs: give shape=(r, c), at least 2 by 2")
    return general(
        found,
        Independence(*found.shape),
        alpha=alpha,
        method=method,
        denominator=denominator,
        m=m,
        minimum_expected=minimum_expected,
        rng=rng,
    )


def general_batch(
    sums: Any, n: int, model: Model, randomizer: Randomizer, *, alpha: float = 0.05, denominator: Denominator = "fitted"
) -> Any:
    """Whether the asymptotic test rejects, for each row of `sums` (trials, d); for simulations of level and power.

    Examples
    --------
    >>> from holdfast.inference.private_tests.local import simulate_sums
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> vote = RandomizedResponse(4, 1)
    >>> sums = simulate_sums(5000, [0.25] * 4, vote, 4000, np.random.default_rng(1))
    >>> print(f"{general_batch(sums, 5000, Independence(2, 2), vote).mean():.2f}")
    0.05
    """
    degrees = model.cells - 1 - model.parameters
    values = _value(fit(np.asarray(sums), n, channel_of(randomizer), model), denominator)
    return values > chi_square_critical(degrees, check.probability("alpha", alpha))


def _value(fitted: LocalFit, denominator: Denominator) -> Any:
    return fitted.statistic if denominator == "fitted" else fitted.objective


__all__ = ["Denominator", "general", "general_batch", "independence"]
