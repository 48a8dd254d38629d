"""Private selection of a hypothesis by a score of low sensitivity, and a test of it on the same rows.

Scores
------
A score may be used to select privately when replacing one row moves it by little, whatever the other rows are. The
chi-square statistic is not such a score: with one row in a corner of a 2 x 2 table it is `n`, and replacing that row
makes it 0. Its numerator is, and so are means over enough rows. Values are clipped to a declared range, row by row, so
the sensitivities hold for every data set. The clipping is for the selection only; test the raw values afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.accounting.costs import PureDP
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.core.copying import NoCopy
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.inference.after_looking.record import AfterLooking
from holdfast.mechanisms.selection import Method, Selection
from holdfast.noise.entropy import Source

Array = npt.NDArray[np.float64]
_UNIT = 2.0**-53


@dataclass(frozen=True)
class Scores(NoCopy):
    """Secret scores, one for each candidate, with the most that replacing one row can change any of them.

    Examples
    --------
    >>> products([[1.0, -1.0], [1.0, 1.0]], [1.0, 1.0])
    Scores(2 candidates, sensitivity=2)
    """

    _not_copied = "scores are exact statistics of the rows and are not stored; select from them and let them go"

    values: Array = field(repr=False, compare=False)
    sensitivity: float
    n: int
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.values.size)

    def __repr__(self) -> str:
        return f"Scores({len(self)} candidates, sensitivity={self.sensitivity:.6g})"


def products(features: npt.ArrayLike, label: npt.ArrayLike, *, bound: float = 1.0, names: Sequence[str] = ()) -> Scores:
    """Score each feature by `|sum of feature times label|`, with both clipped to `[-bound, bound]`.

    Replacing one row changes a score by at most `2 bound^2`. Use this score if feature and label are centred at
    publicly known values, for example if both are answers coded as +1 and -1.

    Parameters
    ----------
    features : array, rows by candidates
        One column a feature.
    label : array
        One number per row.
    bound : float
        Where values are clipped, above 0.
    names : sequence of str
        What to call the candidates.

    Notes
    -----
    Derived: one row's product lies in `[-bound^2, bound^2]`, and the absolute value of a sum moves no further
    than the sum. The floating-point error of the sum is added.

    Examples
    --------
    >>> products([[1, -1], [1, 1]] * 50, [1, 1] * 50)
    Scores(2 candidates, sensitivity=2)
    """
    bound = arguments.real("bound", bound, above=0)
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
    """Score each feature by `|sum of (x - mean x)(y - mean y)|`, with both clipped to `[low, high]`.

    For 0/1 values the score is `|ad - bc|/n`, the numerator of the chi-square statistic of the 2 x 2 table. Replacing
    one row changes a score by at most `(1 - 1/n) (high - low)^2`.

    Parameters
    ----------
    features : array, rows by candidates
        One column a feature.
    label : array
        One number per row.
    low, high : float
        Where values are clipped.
    names : sequence of str
        What to call the candidates.

    Notes
    -----
    Proof, for the range [0, 1]: let `a`, `b` be the means of feature and label over the other `n - 1` rows. The
    sum is that of the other rows plus `(1 - 1/n) (x - a)(y - b)` for the row `(x, y)`. That product is extreme at
    corners of `[0, 1]^2`, where it is `ab`, `(1-a)(1-b)`, `-a(1-b)` or `-(1-a)b`; two corners differ by `a`,
    `1-a`, `b`, `1-b`, `|a+b-1|` or `|a-b|`, so by at most 1. Derived; tests compare with every small table.

    Examples
    --------
    >>> covariances([[1, 0], [0, 0]] * 50, [1, 0] * 50)
    Scores(2 candidates, sensitivity=0.99)
    """
    low, high = arguments.value_range(low, high)
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
    """Score each feature by the difference of its means in two groups, with values clipped to `[-bound, bound]`.

    If a group has fewer than `m = smallest_group` rows, its sum is divided by `m` instead of by its size. Replacing one
    row changes a score by at most `4 bound/(m + 1)`.

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

    Notes
    -----
    Proof: let `g(S) = sum over S / max(|S|, m)`. Adding a value `x` to `S` moves `g` by `(x - g(S))/(|S| + 1)`,
    at most `2 bound/(m + 1)`, when `|S| >= m`, and by `x/m`, at most `bound/m`, otherwise; the first is the
    larger. A row that changes its group leaves one and enters the other: twice that. A row that stays in its
    group moves one mean by at most `2 bound/m`, which is no more than `4 bound/(m + 1)`. Derived; tests compare
    with every small data set.

    Examples
    --------
    >>> mean_differences([[1.0, 0.2], [-1.0, 0.2]] * 50, [1, 0] * 50, smallest_group=39)
    Scores(2 candidates, sensitivity=0.1)
    """
    bound = arguments.real("bound", bound, above=0)
    floor = arguments.whole("smallest_group", smallest_group, at_least=1)
    x, y = _table(features, group, -bound, bound, clip_label=False)
    if not np.isin(y, (0.0, 1.0)).all():
        raise InvalidParameter("group must be 0 or 1 in every row, but some rows have another value")
    n, ones = len(y), float(y.sum())
    first, whole = x.T @ y, x.sum(axis=0)
    score = np.abs(first / max(ones, floor) - (whole - first) / max(n - ones, floor))
    return _made(score, 4 * bound / (floor + 1), 4 * n * bound / floor, n, names)


def _made(values: Array, sensitivity: float, size: float, n: int, names: Sequence[str]) -> Scores:
    """Add twice a bound on the floating-point error of the sums: `n` additions of numbers that stay below `size`."""
    if names and len(names) != values.size:
        raise InvalidParameter(f"names must have one name for each of the {values.size} candidates, got {len(names)}")
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
        raise InvalidParameter(
            "features and label must have a number in every place, but one of them is a masked array; fill its gaps "
            "first"
        )
    if x.ndim != 2 or y.ndim != 1 or x.shape[0] != y.shape[0] or x.shape[0] < 1 or x.shape[1] < 1:
        raise InvalidParameter(
            "features must be an array of rows by candidates, and label one number for each row, got the shapes "
            f"{x.shape} and {y.shape}"
        )
    if np.isnan(x).any() or np.isnan(y).any():
        raise InvalidParameter("features and label must be numbers without missing values, but some are NaN")
    return np.clip(x, low, high), np.clip(y, low, high) if clip_label else y


@dataclass(frozen=True)
class Selected:
    """A candidate that was chosen privately, with the cost of the choice and the number of candidates.

    Record it before you test the candidate: `looking.record(choice)`. With `values`, the record can also charge the
    choice as a noiseless step with that many outcomes, so that its level is never below Bonferroni's.

    Examples
    --------
    >>> from holdfast.inference.after_looking.selection import products
    >>> from holdfast.noise import Seeded
    >>> print(choose(products([[1, -1], [1, 1]] * 500, [1, 1] * 500, names=["dose", "age"]), 1.0, source=Seeded(1)))
    candidate 0 dose of 2, chosen with PureDP(epsilon=1.0) (mechanism.selection)
    """

    index: int
    cost: PureDP
    values: int
    guarantee: Guarantee
    name: str = ""

    def __str__(self) -> str:
        called = f" {self.name}" if self.name else ""
        return f"candidate {self.index}{called} of {self.values:,}, chosen with {self.cost} ({self.guarantee.theorem})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "index": self.index,
            "name": self.name,
            "values": self.values,
            "cost": self.cost.to_dict(),
            "guarantee": self.guarantee.to_dict(),
        }


def choose(
    scores: Scores,
    epsilon: float,
    *,
    method: Method = "permute-and-flip",
    looking: AfterLooking | None = None,
    source: Source | None = None,
) -> Selected:
    """Choose a candidate whose score is nearly the largest, with epsilon-differential privacy.

    The default method is permute-and-flip, which is never worse than the exponential mechanism. The methods "laplace"
    and "geometric" are report-noisy-max. If `looking` is given, the choice is recorded there before it is returned.

    Parameters
    ----------
    scores : Scores
        From `products`, `covariances`, `mean_differences`, or your own with a sensitivity that you can prove.
    epsilon : float
        The privacy parameter, above 0. What it costs the test is governed by `epsilon * sqrt(n)`; `affordable_epsilon`
        inverts it.
    method : str
        "permute-and-flip", "exponential", "geometric" or "laplace".
    looking : AfterLooking, optional
        Where to record the choice. It must be for as many rows.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import binomtest
    >>> from holdfast.inference.after_looking.selection import products
    >>> from holdfast.noise import Seeded
    >>> rng = np.random.default_rng(1)
    >>> label = rng.choice([-1, 1], 2000)
    >>> features = rng.choice([-1, 1], (2000, 50))
    >>> features[:, 7] = np.where(rng.random(2000) < 0.7, label, -label)     # one that matters
    >>> looking = AfterLooking(2000)
    >>> choice = choose(products(features, label), 0.1, looking=looking, source=Seeded(1))
    >>> choice.index
    7
    >>> agree = int((features[:, choice.index] == label).sum())
    >>> looking.test(binomtest, agree, 2000).rejected
    True
    """
    if not isinstance(scores, Scores):
        raise InvalidParameter(
            f"scores must be a Scores object, which has its sensitivity, got a {type(scores).__name__}"
        )
    if looking is not None and looking.n != scores.n:
        raise InvalidParameter(
            f"looking must be a record for the {scores.n} rows of the scores, got one for {looking.n} rows"
        )
    mechanism = Selection(scores.sensitivity, arguments.real("epsilon", epsilon, above=0), method=method)
    options = len(scores)
    if looking is not None:
        looking.record(mechanism, what=f"a private choice among {options}", values=options)
    index = mechanism.release(scores.values, source)
    name = scores.names[index] if scores.names else ""
    return Selected(index, mechanism.cost, options, mechanism.guarantee, name)


@dataclass(frozen=True)
class Alternatives:
    """The levels that four ways of testing a chosen hypothesis have to meet, and on how many rows they test.

    `corrected` is what a private choice leaves, by the private route alone; `bonferroni` needs all candidates listed in
    advance and allows choosing the very best; `splitting` chooses on half of the rows and tests on the other;
    `naive` ignores the choosing and is not valid.
    """

    n: int
    candidates: int
    alpha: float
    corrected: float
    bonferroni: float
    splitting: float
    naive: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "n": self.n,
            "candidates": self.candidates,
            "alpha": self.alpha,
            "corrected": {"level": self.corrected, "rows": self.n, "valid": True},
            "bonferroni": {"level": self.bonferroni, "rows": self.n, "valid": True},
            "splitting": {"level": self.splitting, "rows": self.n - self.n // 2, "valid": True},
            "naive": {"level": self.naive, "rows": self.n, "valid": False},
        }

    def __str__(self) -> str:
        half = self.n - self.n // 2
        return (
            f"private choice: p <= {self.corrected:.4g} on {self.n:,} rows\n"
            f"Bonferroni over {self.candidates:,}: p <= {self.bonferroni:.4g} on {self.n:,} rows\n"
            f"splitting: p <= {self.splitting:.4g} on {half:,} rows\n"
            f"naive, not valid: p <= {self.naive:.4g} on {self.n:,} rows"
        )


def alternatives(n: int, candidates: int, epsilon: float, alpha: float = 0.05) -> Alternatives:
    """Return the level at which a test may be done after a private choice among `candidates`, next to the levels of
    other ways to choose and then test.

    Examples
    --------
    >>> print(alternatives(n=10_000, candidates=1000, epsilon=0.01))
    private choice: p <= 0.01298 on 10,000 rows
    Bonferroni over 1,000: p <= 5e-05 on 10,000 rows
    splitting: p <= 0.05 on 5,000 rows
    naive, not valid: p <= 0.05 on 10,000 rows
    """
    candidates = arguments.whole("candidates", candidates, at_least=1)
    looking = AfterLooking(n, alpha=alpha).record(PureDP(arguments.real("epsilon", epsilon, at_least=0)))
    bonferroni = looking.bonferroni(candidates)
    level = looking.level().value
    return Alternatives(looking.n, candidates, looking.alpha, level, bonferroni, looking.alpha, looking.alpha)
