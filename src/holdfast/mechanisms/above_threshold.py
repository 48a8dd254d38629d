"""The published sparse-vector mechanisms that are correct, each as a `SparseVector` with its own split of epsilon."""

from __future__ import annotations

import math
from fractions import Fraction

from holdfast import check
from holdfast.bounds.sparse_vector import sparse_vector_split
from holdfast.mechanisms.sparse_vector import SparseVector
from holdfast.noise.grid import Grid
from holdfast.noise.inputs import Rational, rational

_HALVES = (Fraction(1, 2), Fraction(1, 2), 0)
_NINTHS = (Fraction(4, 9), Fraction(4, 9), Fraction(1, 9))


def above_threshold(
    threshold: float, sensitivity: Rational, epsilon: Rational, *, grid: Grid | None = None
) -> SparseVector:
    """AboveThreshold: stops at the first answer above.

    Dwork-Roth 2014, Algorithm 1 and Theorem 3.23: threshold noise of scale `2D/epsilon`, comparison noise `4D/epsilon`.

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity, epsilon : Fraction, int or float
        How far neighbours move a question, and what the run spends.
    grid : Grid, optional
        As in `SparseVector`.

    Examples
    --------
    >>> mechanism = above_threshold(threshold=0.1, sensitivity=1e-4, epsilon=0.5)
    >>> [round(scale, 6) for scale in mechanism.scales]
    [0.0004, 0.0008]
    """
    return SparseVector(threshold, sensitivity, epsilon, 1, _HALVES, refresh=True, grid=grid)


def sparse(
    threshold: float, sensitivity: Rational, epsilon: Rational, cap: int, *, grid: Grid | None = None
) -> SparseVector:
    """Sparse: AboveThreshold restarted with a fresh threshold after each answer above.

    Dwork-Roth 2014, Algorithm 2 with delta = 0 and Theorem 3.25: scales `2cD/epsilon` and `4cD/epsilon`. Thresholdout's
    comparisons are of this form.

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity, epsilon : Fraction, int or float
        How far neighbours move a question, and what the run spends.
    cap : int
        Answers above after which the run is over.
    grid : Grid, optional
        As in `SparseVector`.

    Examples
    --------
    >>> [round(scale, 5) for scale in sparse(0.1, 1e-4, 0.5, cap=10).scales]
    [0.004, 0.008]
    """
    return SparseVector(threshold, sensitivity, epsilon, cap, _HALVES, refresh=True, grid=grid)


def numeric_sparse(
    threshold: float, sensitivity: Rational, epsilon: Rational, cap: int, *, grid: Grid | None = None
) -> SparseVector:
    """NumericSparse: Sparse, and a noisy value with each answer above.

    Dwork-Roth 2014, Algorithm 3 with delta = 0 and Theorem 3.27: four ninths of epsilon for the thresholds, four for
    the comparisons, one for the values; scales `9cD/(4 epsilon)`, `9cD/(2 epsilon)`, `9cD/epsilon`. The value's noise
    is fresh: showing the noise of the comparison instead would break the guarantee.

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity, epsilon : Fraction, int or float
        How far neighbours move a question, and what the run spends.
    cap : int
        Answers above after which the run is over.
    grid : Grid, optional
        As in `SparseVector`.

    Examples
    --------
    >>> [round(scale, 4) for scale in numeric_sparse(0.1, 1e-4, 0.2, cap=10).scales]
    [0.0113, 0.0225, 0.045]
    """
    return SparseVector(threshold, sensitivity, epsilon, cap, _NINTHS, refresh=True, grid=grid)


def sparse_vector(
    threshold: float,
    sensitivity: Rational,
    epsilon: Rational,
    cap: int,
    *,
    release_share: Rational = 0,
    refresh: bool = False,
    monotone: bool = False,
    grid: Grid | None = None,
) -> SparseVector:
    """The improved sparse vector: one threshold for the whole run, and epsilon split for the least noisy comparison.

    Lyu-Su-Li 2017, Algorithm 1 (`release_share = 0`) and Algorithm 7: scales `D/e1`, `2cD/e2` (`cD/e2` if monotone) and
    `cD/e3`, with `e1 : e2 = 1 : (2c)^(2/3)` (`1 : c^(2/3)`). With `refresh` the thresholds have scale `cD/e1` and the
    split is `1 : 2^(2/3)` (1 : 1).

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity, epsilon : Fraction, int or float
        How far neighbours move a question, and what the run spends.
    cap : int
        Answers above after which the run is over.
    release_share : Fraction, int or float
        The part of epsilon that pays for released values, in [0, 1); 0 releases none.
    refresh : bool
        Draw a fresh threshold after each answer above. Costs accuracy; see docs/mechanisms.md for when it is worth it.
    monotone : bool
        As in `SparseVector`: not for counts or means when a row is replaced.
    grid : Grid, optional
        As in `SparseVector`.

    Examples
    --------
    Little more than half the noise of `sparse` at the same cost:

    >>> [round(scale, 5) for scale in sparse_vector(0.1, 1e-4, 0.5, cap=10).scales]
    [0.00167, 0.00454]
    """
    cap = check.whole("cap", cap, at_least=1)
    shown = rational("release_share", release_share, at_least=0)
    form, questions = "refresh" if refresh else "single", "monotone" if monotone else "any"
    best = sparse_vector_split(1.0, cap, form, questions)  # type: ignore[arg-type]
    # Any split is as private as another; a short fraction keeps the parameters readable.
    first = Fraction(best.threshold).limit_denominator(math.ceil(1000 / best.threshold))
    shares = ((1 - shown) * first, (1 - shown) * (1 - first), shown)
    return SparseVector(threshold, sensitivity, epsilon, cap, shares, refresh, monotone, grid)


__all__ = ["above_threshold", "numeric_sparse", "sparse", "sparse_vector"]
