"""Local tests of any null model and of independence: fits to the sums of randomized answers, and the tests on them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting.costs import PureDP
from holdfast.bounds.numerics.exact import float_up
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.classical import chi_square_critical, chi_square_sf, pearson
from holdfast.inference.private_tests.counts import table
from holdfast.inference.private_tests.local.channel import Channel, MultinomialChannel, Randomizer, channel_of
from holdfast.inference.private_tests.local.gof import Method, as_collected, chosen, inconclusive, outcome, rough
from holdfast.inference.private_tests.local.power import probability_table
from holdfast.inference.private_tests.minimum_chi_square import UserModel, gauss_newton, minimise_user
from holdfast.inference.private_tests.monte_carlo import (
    DEFAULT_REPLICATES,
    blocks,
    critical_value,
    generator,
    p_value,
    rank,
    rejects,
)
from holdfast.inference.private_tests.null_models import Independence, NullModel, simplex_projection
from holdfast.inference.private_tests.question import TINY, few_replicates, small_alpha
from holdfast.inference.private_tests.result import TestResult
from holdfast.mechanisms.local import RandomizedResponse
from holdfast.noise.inputs import rational

Array = NDArray[np.float64]
Model = NullModel | UserModel


class LocalFit(NamedTuple):
    """A fitted null model; with a batch each field has its leading axis.

    Attributes
    ----------
    objective : float or array
        The minimised quadratic form, with its covariance at the first estimate.
    statistic : float or array
        For randomized response the same with expected counts at the fit, as Algorithm 19 prints; else the objective.
    theta : array
        The minimiser. Entries may be negative: see `fit`.
    first : array
        The first estimate `phi`, moved into the parameter space.
    law : array
        Cell probabilities at the minimiser moved into the parameter space, `(..., d)`: a distribution to draw from.
    """

    objective: Any
    statistic: Any
    theta: Array
    first: Array
    law: Array


def fit(sums: Array, n: int, channel: Channel, model: Model) -> LocalFit:
    """Minimise the quadratic form of the debiased proportions over the model, for sums of shape `(..., d)`.

    The search keeps sums of one and drops the signs. Where noise dominates, a sign constraint binds often, and each one
    that binds adds a squared normal to the statistic: at a margin of zero the printed search has level .155 instead
    of .05 (two parameters, both at the boundary). Without signs the minimum is never larger, and the chi-square limit
    holds up to the boundary. The covariance is taken at the first estimate moved into the parameter space, so that it
    is one.

    Time: batched, about 20 microseconds a 2 by 2 table. A user's model: milliseconds each, inside its bounds.
    """
    flat = np.asarray(sums, dtype=np.float64).reshape(-1, channel.cells)
    counts = channel.debiased(flat, n)
    x = counts / n
    # The projected statistic does not see the total, which is n; an estimate should not see its noise either.
    centred = x + ((1 - x.sum(axis=-1)) / channel.cells)[:, None]
    if isinstance(model, UserModel):
        first = np.array([model.first(n * row) for row in centred])
        start = np.array([model.law(t) for t in first])
        theta, objective = np.empty_like(first), np.empty(len(flat))
        for i in range(len(flat)):
            white = channel.whitening(_inside(start[i])[None, :], n)
            theta[i], objective[i] = minimise_user(x[i], first[i], white, model)
        law = np.array([_inside(model.law(t)) for t in theta])
        fitted = np.array([model.law(t) for t in theta])
    else:
        first = model.project(model.start(n * centred[:, None, :]))
        theta, objective = np.empty_like(first), np.empty(len(flat))
        for part in blocks(len(flat), model.cells * (model.coordinates + 4)):
            white = channel.whitening(model.probabilities(first[part]), n)
            theta[part], objective[part] = gauss_newton(x[part][:, None, :], first[part], white, model)
        law = model.probabilities(model.project(theta))[:, 0, :]
        fitted = model.probabilities(theta)[:, 0, :]
    statistic = objective
    if isinstance(channel, MultinomialChannel):
        expected = n * channel.shown(law)
        statistic = (np.square(flat - n * channel.shown(fitted)) / expected).sum(axis=-1)
    if np.ndim(sums) == 1:
        return LocalFit(float(objective[0]), float(statistic[0]), theta[0], first[0], law[0])
    return LocalFit(objective, statistic, theta, first, law)


def _inside(p: Array) -> Array:
    """The nearest distribution."""
    return simplex_projection(p, 1.0)


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
    """Test from randomized answers whether the categories of `n` people follow some distribution of a model.

    For randomized response the statistic compares the answers with the best fitting distribution of the model; its
    limit is chi-square with `d - 1 - s` degrees of freedom, for `d` categories and `s` parameters. For bit flipping and
    for noise it is the projected statistic of the debiased counts.

    Parameters
    ----------
    answers : Collected, or an array of answers
        See `received`, `collect_pairs`; an array needs `randomizer`.
    model : NullModel or UserModel
        `Independence`, `HardyWeinberg`, `Symmetry`, or your own; of one group.
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        What each person ran, where `answers` does not say it.
    alpha : float
        The significance level.
    method : {"asymptotic", "monte-carlo"}, optional
        "monte-carlo" draws `m` collections at the fitted distribution and fits each again: a parametric bootstrap,
        whose level is measured and not proved. None: Monte Carlo for Laplace noise, as in section 8.2.2, asymptotic
        else.
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

    Notes
    -----
    Randomized response: minimise `n sum (h/n - pc(theta))^2 / pc(phi)` and compare `sum (h - n pc(theta))^2 / (n
    pc(theta))` with chi-square of `d - 1 - s` degrees (Algorithm 19, Theorem 8.2.8; the square and "minimise" are
    missing in print). Bit flipping and noise: the projected statistic of Algorithm 15 on debiased counts, with
    the variance of the sum (derived and reviewed; the composite bit-flip test).

    The fit keeps sums of one and drops the signs of the parameters, which the printed search keeps: see `fit` and the
    errata.

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
    collected = as_collected(answers, randomizer)
    if not isinstance(model, (NullModel, UserModel)):
        raise InvalidParameter(f"model must be a null model, got a {type(model).__name__}")
    if model.groups != 1 or model.cells != collected.sums.size:
        raise InvalidParameter(
            f"model must be for one group and {collected.sums.size} categories, got {model.groups} groups and "
            f"{model.cells} categories"
        )
    level = arguments.probability("alpha", alpha)
    arguments.choice("denominator", denominator, ("fitted", "first"))
    least = arguments.real("minimum_expected", minimum_expected, at_least=0)
    how = chosen(method, collected)
    if how == "monte-carlo":
        rank(m, level)
    stream = generator(rng)
    degrees = model.cells - 1 - model.parameters
    if degrees < 1:
        raise InvalidParameter(
            f"{model.name} leaves no degree of freedom, because every histogram fits it, so there is nothing to test"
        )
    channel, n = collected.channel, collected.n
    name = f"local minimum chi-square ({channel.name})"
    fitted = fit(collected.sums.ravel(), n, channel, model)
    details = {
        "model": model.name,
        "degrees": degrees,
        "estimate": fitted.theta,
        "first_estimate": fitted.first,
        "fitted": fitted.law.reshape(collected.shape),
    }
    statistic = _value(fitted, denominator)
    if how == "monte-carlo":
        draws = channel.draw(stream, n, fitted.law, m)
        values = _value(fit(draws, n, channel, model), denominator)
        warnings = few_replicates(m)
        p, threshold = p_value(statistic, values), critical_value(values, level)
        return outcome(collected, name, statistic, p, threshold, level, "empirical", warnings, details | {"m": m})
    smallest = float(n * channel.scale(fitted.law).min())
    warnings = rough(smallest) + small_alpha(level, "about twice the nominal level")
    if smallest < least:
        reason = f"the smallest expected count of an answer is {smallest:.3g} at the fit, below {least:g}"
        return inconclusive(collected, name, reason, level, "asymptotic", warnings, details)
    p, threshold = chi_square_sf(statistic, degrees), chi_square_critical(degrees, level)
    return outcome(collected, name, statistic, p, threshold, level, "asymptotic", warnings, details)


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
    """Test the independence of two variables from randomized answers about the pair, which is one of `r c`
    categories.

    One randomizer hides both variables. If people randomize the two variables one by one, use `separate_independence`.

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
    collected = as_collected(answers, randomizer, shape)
    if len(collected.shape) != 2 or min(collected.shape) < 2:
        raise InvalidParameter("independence needs answers about pairs; give shape=(r, c), at least 2 by 2")
    return general(
        collected,
        Independence(*collected.shape),
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
    """Return for each row of `sums` whether the asymptotic test rejects. Use it to simulate level and power.

    `sums` has the shape (trials, d).

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
    return values > chi_square_critical(degrees, arguments.probability("alpha", alpha))


def _value(fitted: LocalFit, denominator: Denominator) -> Any:
    return fitted.statistic if denominator == "fitted" else fitted.objective


def separate_independence(
    answers: Any,
    row_randomizer: RandomizedResponse,
    column_randomizer: RandomizedResponse,
    *,
    alpha: float = 0.05,
    minimum_expected: float = 5.0,
) -> TestResult:
    """Test the independence of two variables that each person randomized one by one, with randomized response.

    The randomized answers are independent exactly when the variables are. Therefore Pearson's test of the table of
    answers has its usual level. Use this test for answers that were collected one by one. If you can still choose,
    compare `separate_noncentrality` with the `independence_noncentrality` of a randomized pair.

    Parameters
    ----------
    answers : table of whole numbers, or a pair of arrays
        How often each pair was answered, `r` by `c`; or the two answers of each person, rows first.
    row_randomizer, column_randomizer : RandomizedResponse
        With `r` and `c` categories.
    alpha : float
        The significance level.
    minimum_expected : float
        NULL where an expected count of the answers is below this.

    Returns
    -------
    TestResult
        Cost: the sum of the two epsilons. Level asymptotic, `(r - 1)(c - 1)` degrees.

    Notes
    -----
    Randomizing the two by themselves maps a distribution `p` of pairs to `A p B'` with invertible `A` and `B`
    (derived; no hidden parameters are fitted).

    Examples
    --------
    >>> coin = RandomizedResponse(2, 1)
    >>> found = separate_independence([[2620, 2410], [2390, 2580]], coin, coin)
    >>> found.reject, found.cost
    (True, PureDP(epsilon=2.0))
    """
    for name, given in (("row_randomizer", row_randomizer), ("column_randomizer", column_randomizer)):
        if not isinstance(given, RandomizedResponse):
            raise InvalidParameter(f"{name} must be a RandomizedResponse, got a {type(given).__name__}")
    level = arguments.probability("alpha", alpha)
    least = arguments.real("minimum_expected", minimum_expected, at_least=0)
    counts = _table(answers, row_randomizer, column_randomizer)
    r, c = counts.shape
    n = int(counts.sum())
    amount = rational("epsilon", row_randomizer.epsilon, above=0) + rational(
        "epsilon", column_randomizer.epsilon, above=0
    )
    cost = PureDP(float_up(amount))
    p = np.outer(counts.sum(axis=1) / n, counts.sum(axis=0) / n)
    degrees, name = (r - 1) * (c - 1), "local independence (two randomized responses)"
    details = {"local": True, "degrees": degrees, "sums": counts}
    warnings = small_alpha(level, "about twice the nominal level")
    smallest = float(n * p.min())
    if smallest < least or smallest == 0:
        reason = f"the smallest expected count of an answer is {smallest:.3g}, below {max(least, 1e-300):g}"
        return TestResult(name, None, None, None, level, None, reason, cost, "asymptotic", warnings, n, details)
    statistic = float(pearson(counts.ravel(), n, p.ravel()))
    p_value, critical = chi_square_sf(statistic, degrees), chi_square_critical(degrees, level)
    reject = bool(rejects(p_value, level))
    return TestResult(name, statistic, p_value, critical, level, reject, None, cost, "asymptotic", warnings, n, details)


def separate_noncentrality(row_randomizer: RandomizedResponse, column_randomizer: RandomizedResponse, p: Any) -> float:
    """Return what one person adds to the noncentrality of `separate_independence` if pairs follow the table `p`.

    It is `(k1 k2)^2 sum D_ij^2 / (a_i b_j)`, where `k1` and `k2` are the contrasts of the randomizers, `a` and `b` the
    margins of the answers, and `D = p - rows columns'` the difference of `p` from the product of its margins.

    Notes
    -----
    Derived: the answers' table is `A p B'`, and `A D B' = k1 k2 D` where rows and columns of D sum to zero.

    Examples
    --------
    >>> coin = RandomizedResponse(2, 1)
    >>> print(f"{separate_noncentrality(coin, coin, [[0.275, 0.225], [0.225, 0.275]]):.6f}")
    0.000456
    """
    truth = probability_table(p)
    if (row_randomizer.categories, column_randomizer.categories) != truth.shape:
        raise InvalidParameter("the randomizers must have as many categories as p has rows and columns")
    rows, columns = truth.sum(axis=1), truth.sum(axis=0)
    a, b = MultinomialChannel(row_randomizer), MultinomialChannel(column_randomizer)
    moved = a.contrast * b.contrast * (truth - np.outer(rows, columns))
    return float((np.square(moved) / np.outer(a.shown(rows), b.shown(columns))).sum())


def _table(
    answers: Any, row_randomizer: RandomizedResponse, column_randomizer: RandomizedResponse
) -> NDArray[np.int64]:
    r, c = row_randomizer.categories, column_randomizer.categories
    if isinstance(answers, tuple) and len(answers) == 2:
        row_randomizer.estimate(answers[0])  # checks the answers
        column_randomizer.estimate(answers[1])
        first, second = np.asarray(answers[0]), np.asarray(answers[1])
        if first.shape != second.shape:
            raise InvalidParameter("answers must be two arrays of the same length, two answers for each person")
        return np.bincount(first * c + second, minlength=r * c).reshape(r, c)
    counts = table(answers).values
    if counts.shape != (r, c):
        raise InvalidParameter(f"answers must be a table of {r} by {c}, as the randomizers have, got {counts.shape}")
    return counts
