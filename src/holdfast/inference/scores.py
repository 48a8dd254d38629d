"""Scores of many features against a label, each with a proved sensitivity, for private selection.

A score may be used to select privately when replacing one row moves it by little, whatever the other rows are. The
chi-square statistic is not such a score: with one row in a corner of a 2 x 2 table it is `n`, and replacing that row
makes it 0. Its numerator is, and so are means over enough rows. Values are clipped to a declared range, row by row, so
the sensitivities hold for every data set. The clipping is for the selection only; test the raw values afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.errors import InvalidParameter

Array = npt.NDArray[np.float64]
_UNIT = 2.0**-53


@dataclass(frozen=True)
class Scores:
    """One score a candidate, secret, and how far replacing one row can move any of them.

    Examples
    --------
    >>> products([[1.0, -1.0], [1.0, 1.0]], [1.0, 1.0])
    Scores(2 candidates, sensitivity=2)
    """

    values: Array = field(repr=False, compare=False)
    sensitivity: float
    n: int
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.values.size)

    def __repr__(self) -> str:
        return f"Scores({len(self)} candidates, sensitivity={self.sensitivity:.6g})"

    def __getstate__(self) -> object:
        raise TypeError("scores are exact statistics of the rows and are not stored; select from them and let them go")


def products(features: npt.ArrayLike, label: npt.ArrayLike, *, bound: float = 1.0, names: Sequence[str] = ()) -> Scores:
    """Score each feature by `|sum of feature times label|`, both clipped to `[-bound, bound]`.

    Sensitivity `2 bound^2`: one row's product lies in `[-bound^2, bound^2]`, and the absolute value of a sum moves no
    further than the sum. The score to use when feature and label are centred at publicly known values, such as +-1
    answers. Derived; the floating-point error of the sum is added.

    Parameters
    ----------
    features : array, rows by candidates
        One column a feature.
    label : array
        One number a row.
    bound : float
        Where values are clipped, above 0.
    names : sequence of str
        What to call the candidates.

    Examples
    --------
    >>> products([[1, -1], [1, 1]] * 50, [1, 1] * 50)
    Scores(2 candidates, sensitivity=2)
    """
    bound = check.real("bound", bound, above=0)
    x, y = _table(features, label, -bound, bound)
    n = len(y)
    return _made(np.abs(x.T @ y), 2 * bound * bound, n * bound * bound, n, names)


def covariances(
    features: npt.ArrayLike,
    label: npt.ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    names: Sequence[str] = (),
) -> Scores:
    """Score each feature by `|sum of (x - mean x)(y - mean y)|`, both clipped to `[low, high]`.

    For 0/1 values this is `|ad - bc|/n`, the numerator of the chi-square statistic of the 2 x 2 table.

    Sensitivity `(1 - 1/n) (high - low)^2`. Proof, for the range [0, 1]: let `a`, `b` be the means of feature and label
    over the other `n - 1` rows. The sum is that of the other rows plus `(1 - 1/n) (x - a)(y - b)` for the row `(x, y)`.
    That product is extreme at corners of `[0, 1]^2`, where it is `ab`, `(1-a)(1-b)`, `-a(1-b)` or `-(1-a)b`; two
    corners differ by `a`, `1-a`, `b`, `1-b`, `|a+b-1|` or `|a-b|`, so by at most 1. Derived; tests compare with
    every small table.

    Parameters
    ----------
    features : array, rows by candidates
        One column a feature.
    label : array
        One number a row.
    low, high : float
        Where values are clipped.
    names : sequence of str
        What to call the candidates.

    Examples
    --------
    >>> covariances([[1, 0], [0, 0]] * 50, [1, 0] * 50)
    Scores(2 candidates, sensitivity=0.99)
    """
    low, high = check.value_range(low, high)
    x, y = _table(features, label, low, high)
    n, width = len(y), high - low
    x, y = (x - low) / width, (y - low) / width
    score = np.abs(x.T @ y - x.sum(axis=0) * y.sum() / n) * width * width
    return _made(score, (1 - 1 / n) * width * width, 4 * n * width * width, n, names)


def mean_differences(
    features: npt.ArrayLike,
    group: npt.ArrayLike,
    *,
    bound: float = 1.0,
    smallest_group: int = 1,
    names: Sequence[str] = (),
) -> Scores:
    """Score each feature by the difference of its means in two groups, values clipped to `[-bound, bound]`.

    A group of fewer than `smallest_group = m` rows is divided by `m` instead of its size.

    Sensitivity `4 bound/(m + 1)`. Proof: let `g(S) = sum over S / max(|S|, m)`. Adding a value `x` to `S` moves `g` by
    `(x - g(S))/(|S| + 1)`, at most `2 bound/(m + 1)`, when `|S| >= m`, and by `x/m`, at most `bound/m`, otherwise; the
    first is the larger. A row that changes its group leaves one and enters the other: twice that. A row that stays in
    its group moves one mean by at most `2 bound/m`, which is no more than `4 bound/(m + 1)`. Derived; tests compare
    with every small data set.

    Parameters
    ----------
    features : array, rows by candidates
        One column a feature.
    group : array
        0 or 1, one a row.
    bound : float
        Where values are clipped, above 0.
    smallest_group : int
        A public number of rows that both groups are expected to have; too small a number makes the selection noisy.
    names : sequence of str
        What to call the candidates.

    Examples
    --------
    >>> mean_differences([[1.0, 0.2], [-1.0, 0.2]] * 50, [1, 0] * 50, smallest_group=39)
    Scores(2 candidates, sensitivity=0.1)
    """
    bound = check.real("bound", bound, above=0)
    floor = check.whole("smallest_group", smallest_group, at_least=1)
    x, y = _table(features, group, -bound, bound, clip_label=False)
    if not np.isin(y, (0.0, 1.0)).all():
        raise InvalidParameter("group must be 0 or 1 in every row, and some are not")
    n, ones = len(y), float(y.sum())
    first, whole = x.T @ y, x.sum(axis=0)
    score = np.abs(first / max(ones, floor) - (whole - first) / max(n - ones, floor))
    return _made(score, 4 * bound / (floor + 1), 4 * n * bound / floor, n, names)


def _made(values: Array, sensitivity: float, size: float, n: int, names: Sequence[str]) -> Scores:
    """Add twice a bound on the floating-point error of the sums: `n` additions of numbers that stay below `size`."""
    if names and len(names) != values.size:
        raise InvalidParameter(f"names must name each of the {values.size} candidates, got {len(names)}")
    slack = 8 * (n + 4) * _UNIT * size
    values.flags.writeable = False
    return Scores(values, up(sensitivity + slack), n, tuple(str(name) for name in names))


def _table(
    features: npt.ArrayLike, label: npt.ArrayLike, low: float, high: float, *, clip_label: bool = True
) -> tuple[Array, Array]:
    try:
        x, y = np.asarray(features, dtype=np.float64), np.asarray(label, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("features and label must be arrays of numbers") from None
    if isinstance(features, np.ma.MaskedArray) or isinstance(label, np.ma.MaskedArray):
        raise InvalidParameter("features and label must have a number in every place, got a masked array")
    if x.ndim != 2 or y.ndim != 1 or x.shape[0] != y.shape[0] or x.shape[0] < 1 or x.shape[1] < 1:
        raise InvalidParameter(
            f"features must be rows by candidates and label one number a row, got {x.shape} and {y.shape}"
        )
    if np.isnan(x).any() or np.isnan(y).any():
        raise InvalidParameter("features and label must be numbers, and some are NaN")
    return np.clip(x, low, high), np.clip(y, low, high) if clip_label else y


__all__ = ["Scores", "covariances", "mean_differences", "products"]
