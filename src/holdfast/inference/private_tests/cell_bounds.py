"""Tests whose level is proved at every n and however small: bounds on the tails of single cells.

A noisy count is a binomial plus noise of a known distribution, so `P(count >= x) <= exp(n ln(1 - p + p e^t) + ln M(t) -
t x)` for every `t > 0` in the range of the noise's moment generating function `M` (Chernoff), and likewise below. Here
`t` runs over a fixed grid: each `t` gives a bound, so the smallest of them is one.

Goodness of fit: `p` is given, and the smallest of the `2 d` tails, times `2 d`, is a p-value.

Independence: the margins are not known. The same bounds, solved for `p`, give an interval for every margin from the
noisy sums of rows and columns. Where all margins lie in their intervals, a cell's probability lies between the products
of their ends, and its tail is at most the tail there, because tails are monotone in `p`. With `K = 2 (r + c + r c)`
events at `l / K` each, the test rejects at level `l` where some cell's tail at the worse end is at most `l / K`: under
the null that has probability at most `l`. A larger `l` means shorter intervals and a larger threshold, so rejections
are nested, and the smallest `l` that rejects is a p-value. No nuisance is estimated, no limit is taken, and nothing is
simulated.

The price is power: at .05 an association must be several times as large as for a chi-square test. It is for the levels
that no simulation reaches and no limit distribution is known at, as after a large privacy cap.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.inference.private_tests.counts import Margins, source_warnings
from holdfast.inference.private_tests.noise_law import NoiseLaw, Unit
from holdfast.inference.private_tests.question import question, setting
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

Array = NDArray[np.float64]

#: `ln` of the smallest ordinary double, below which no p-value is told.
_LEAST = math.log(sys.float_info.min)
#: Larger tilts gain nothing: a binomial tail at its end is within `exp(-50)` of its bound.
_STEEPEST = 50.0
_GRID = 160
_CLOSE = 30
_HALVINGS = 30
#: More than the rounding of the sums below, relatively.
_ROUNDING = 1e-9
_BLOCK = 1 << 21


def gof(
    counts: Any,
    p0: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    alpha: float = 0.05,
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
) -> TestResult:
    """Test `counts ~ Multinomial(n, p0)` privately by the tail of each cell; the level is proved at every n.

    Parameters
    ----------
    counts, p0, rho, epsilon, noise, alpha, n, neighbours, source
        As in `goodness_of_fit.gof`; any distribution of the noise.

    Returns
    -------
    TestResult
        The statistic is `-ln` of the p-value before it is cut off at 1.

    Examples
    --------
    >>> found = gof([6200, 1300, 1200, 1300], [0.25] * 4, epsilon=0.1)
    >>> found.level, found.reject, found.p_value < 1e-60
    ('exact', True, True)
    """
    problem = setting(counts, p0, rho=rho, epsilon=epsilon, noise=noise, alpha=alpha, n=n, neighbours=neighbours)
    warnings = source_warnings(problem.counts, source)
    noisy = problem.noisy(source)
    log_p = gof_log_p(noisy, problem.n, problem.p0, problem.noise)
    known = {"noisy_counts": noisy}
    return problem.result("cell bounds GOF", -log_p, _plain(log_p), -math.log(problem.alpha), "exact", warnings, known)


def independence(
    counts: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    alpha: float = 0.05,
    n: int | None = None,
    neighbours: str = "replace-one",
    public_margins: Margins = "none",
    unit: Unit = "person",
    source: Source | None = None,
) -> TestResult:
    """Test privately whether rows and columns of a table are independent; the level is proved at every n.

    Parameters
    ----------
    counts, rho, epsilon, noise, alpha, n, neighbours, public_margins, unit, source
        As in `independence_tests.independence`; any distribution of the noise. Margins that are public by design are
        not used: under "rows" or "columns" the null is still that all records are independent of each other.

    Returns
    -------
    TestResult
        Never inconclusive. The statistic is `-ln` of the p-value.

    Examples
    --------
    >>> found = independence([[3900, 1100], [1200, 3800]], epsilon=0.1)
    >>> found.level, found.reject, found.p_value < 1e-10
    ('exact', True, True)
    """
    problem = question(
        counts,
        rho=rho,
        epsilon=epsilon,
        noise=noise,
        alpha=alpha,
        n=n,
        neighbours=neighbours,
        public_margins=public_margins,
        unit=unit,
    )
    warnings = source_warnings(problem.counts, source)
    noisy = problem.noisy(source)
    log_p = independence_log_p(noisy, problem.n, problem.noise)
    known = {"noisy_counts": noisy}
    threshold = -math.log(problem.alpha)
    return problem.result("cell bounds independence", -log_p, _plain(log_p), threshold, "exact", warnings, known)


def gof_log_p(noisy: Array, n: int, p0: Array, noise: NoiseLaw) -> float:
    """`ln` of the p-value of noisy counts `(d,)` against `p0`; above 0 where nothing is seen.

    Examples
    --------
    >>> from holdfast.inference.private_tests.noise_law import discrete_laplace
    >>> round(gof_log_p(np.array([700.0, 300.0]), 1000, np.array([0.5, 0.5]), discrete_laplace(1)))
    -64
    """
    tilts, log_m = _tilts(n, noise, 1)
    tails = np.minimum(_log_upper(noisy, n, p0, tilts, log_m), _log_lower(noisy, n, p0, tilts, log_m))
    return float(tails.min() + math.log(2 * noisy.size) + _ROUNDING)


def independence_log_p(noisy: Array, n: int, noise: NoiseLaw) -> float:
    """`ln` of the p-value of a noisy table `(r, c)`; 0 where nothing is seen.

    Examples
    --------
    >>> from holdfast.inference.private_tests.noise_law import discrete_laplace
    >>> round(independence_log_p(np.array([[400.0, 100.0], [100.0, 400.0]]), 1000, discrete_laplace(1)))
    -13
    """
    rows, columns = np.indices(noisy.shape).reshape(2, -1)
    sums = noisy.sum(axis=1), noisy.sum(axis=0)
    return _smallest_level(noisy.ravel(), rows, columns, sums, noisy.shape, n, noise)


def _smallest_level(
    cells: Array, rows: Any, columns: Any, sums: tuple[Array, Array], shape: tuple[int, ...], n: int, noise: NoiseLaw
) -> float:
    """`ln` of the smallest level at which one of these cells of a table of that shape rejects.

    A cell that does not reject at some level rejects at none below it and is left out from there on.
    """
    r, c = shape
    log_events = math.log(2 * (r + c + r * c))
    cell, row, column = _tilts(n, noise, 1), _tilts(n, noise, c), _tilts(n, noise, r)

    def rejecting(log_level: float, among: Any) -> Any:
        log_share = log_level - log_events
        row_low, row_high = _margins(sums[0], n, log_share, *row)
        column_low, column_high = _margins(sums[1], n, log_share, *column)
        x, i, j = cells[among], rows[among], columns[among]
        above = _log_upper(x, n, row_high[i] * column_high[j], *cell)
        below = _log_lower(x, n, row_low[i] * column_low[j], *cell)
        return among[np.minimum(above, below) + _ROUNDING <= log_share]

    low, high = _LEAST, 0.0
    left = rejecting(high, np.arange(cells.size))
    if not left.size:
        return 0.0
    if rejecting(low, left).size:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rejected = rejecting(middle, left)
        low, high, left = (low, middle, rejected) if rejected.size else (middle, high, left)
    return high


def gof_least_p(n: int, p0: Array, noise: NoiseLaw) -> float:
    """Return the p-value of the records that fit worst, all in one category, where the noise happens to be zero.

    Examples
    --------
    >>> from holdfast.inference.private_tests.noise_law import discrete_laplace
    >>> gof_least_p(5000, np.array([0.5, 0.5]), discrete_laplace(0.1)) < 1e-40
    True
    """
    tilts, log_m = _tilts(n, noise, 1)
    full, empty = np.full(p0.shape, float(n)), np.zeros(p0.shape)
    tails = np.minimum(_log_upper(full, n, p0, tilts, log_m), _log_lower(empty, n, p0, tilts, log_m))
    return _plain(float(tails.min()) + math.log(2 * p0.size) + _ROUNDING)


def independence_least_p(n: int, shape: tuple[int, int], noise: NoiseLaw) -> float:
    """The p-value of a perfect association, half of the records in each of two pairs of categories, without noise.

    Two equal halves leave an empty cell where a quarter of the records should be, the farthest that a cell can be from
    the product of its margins.

    Examples
    --------
    >>> from holdfast.inference.private_tests.noise_law import discrete_laplace
    >>> independence_least_p(5000, (2, 2), discrete_laplace(0.1)) < 1e-10
    True
    """
    half, other = float(math.ceil(n / 2)), float(n // 2)
    sums = np.array([half, other])
    cells, rows, columns = np.array([half, 0.0, 0.0, other]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    return _plain(_smallest_level(cells, rows, columns, (sums, sums), shape, n, noise))


def _tilts(n: int, noise: NoiseLaw, terms: int) -> tuple[Array, Array]:
    """A grid of `t`, and `ln` of the moment generating function of the sum of so many noises there."""
    least = 0.1 / math.sqrt(n + terms * noise.variance)
    most = min(_STEEPEST, noise.steepest)
    if most < _STEEPEST:  # Laplace: the function has a pole there, and far tails have their best tilt close to it
        near = most * (1 - 0.5 ** np.arange(1, _CLOSE + 1))
        grid = np.append(np.geomspace(min(least, most / 4), most / 2, _GRID), near)
    else:
        grid = np.geomspace(least, most, _GRID)
    return grid, terms * noise.log_mgf(grid)


def _log_upper(x: Array, n: int, p: Array, tilts: Array, log_m: Array) -> Array:
    """A bound on `ln P(Binomial(n, p) + noise >= x)`, cell by cell."""
    log_tail = np.zeros(x.shape)
    for part in _parts(tilts, x.size):
        t, m = _upright(tilts[part], x), _upright(log_m[part], x)
        log_tail = np.minimum(log_tail, (n * np.log1p(p * np.expm1(t)) + m - t * x).min(axis=0))
    return log_tail


def _log_lower(x: Array, n: int, p: Array, tilts: Array, log_m: Array) -> Array:
    """A bound on `ln P(Binomial(n, p) + noise <= x)`, cell by cell."""
    log_tail = np.zeros(x.shape)
    with np.errstate(divide="ignore"):
        log_no, log_yes = np.log1p(-p), np.log(p)  # apart: near p = 1 their sum with e^(-t) would cancel
    for part in _parts(tilts, x.size):
        t, m = _upright(tilts[part], x), _upright(log_m[part], x)
        log_tail = np.minimum(log_tail, (n * np.logaddexp(log_no, log_yes - t) + m + t * x).min(axis=0))
    return log_tail


def _margins(sums: Array, n: int, log_share: float, tilts: Array, log_m: Array) -> tuple[Array, Array]:
    """The ends of what each margin may be: a probability beyond has a tail of at most the share at its noisy sum."""
    t, m = _upright(tilts, sums), _upright(log_m, sums)
    with np.errstate(over="ignore"):
        low = (np.expm1((log_share - m + t * sums) / n) / np.expm1(t)).max(axis=0)
        high = (np.expm1((log_share - m - t * sums) / n) / np.expm1(-t)).min(axis=0)
    return np.clip(low * (1 - _ROUNDING), 0.0, 1.0), np.clip(high * (1 + _ROUNDING), 0.0, 1.0)


def _upright(values: Array, like: Array) -> Array:
    return values.reshape(-1, *[1] * like.ndim)


def _parts(tilts: Array, cells: int) -> list[slice]:
    step = max(1, _BLOCK // max(1, cells))
    return [slice(start, start + step) for start in range(0, tilts.size, step)]


def _plain(log_p: float) -> float:
    return math.exp(max(log_p, _LEAST)) if log_p < 0 else 1.0
