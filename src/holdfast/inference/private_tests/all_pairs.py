"""Independence of every pair of columns at one total budget, with p-values corrected for their number.

One record of every pair's table changes when a record is replaced, so the pairs share the budget: each release is
charged to a zCDP filter before it is made, and the whole run is rho-zCDP.

Rare categories would make most pairs inconclusive (an expected count of at most 5 is NULL). So a part of the budget
first buys noisy one-way counts, and categories below a share are merged into one. Which ones are merged depends on
noisy margins only. Under independence the margins reveal nothing, in the limit, about the statistic of a pair: given
the margins its distribution is the same chi-square, with the degrees of freedom of the merged table. So levels are as
for fixed categories.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting.costs import ZCDP
from holdfast.accounting.filters import Filter, ZCDPFilter
from holdfast.bounds.p_value import holm
from holdfast.core import arguments
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference.private_tests.counts import codes, column, cross_codes, histogram
from holdfast.inference.private_tests.independence_tests import IndependenceMethod, independence
from holdfast.inference.private_tests.noise_law import discrete_gaussian
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source

Progress = Callable[[float, str], None]

EXPECTED = 20.0
"""Categories are merged until pairs should expect this many records in each cell; the rule of thumb asks for 5."""


@dataclass(frozen=True)
class Pair:
    """One pair of columns.

    Attributes
    ----------
    first, second : str
        The columns.
    result : TestResult
        The test, with the noisy table in its details.
    adjusted : float
        The p-value corrected for the number of pairs (Holm); 1 where the test is inconclusive.
    reject : bool
        Whether `adjusted` is at most the level.
    effect : float or None
        Cramer's V of the noisy table less its noise: how strong the dependence is, from 0 to 1. An estimate.
    """

    first: str
    second: str
    result: TestResult
    adjusted: float
    reject: bool
    effect: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without the noisy table."""
        return {
            "first": self.first,
            "second": self.second,
            "statistic": self.result.statistic,
            "degrees": self.result.details.get("degrees"),
            "p_value": self.result.p_value,
            "adjusted": self.adjusted,
            "reject": self.reject,
            "effect": self.effect,
            "null_returned": self.result.null_returned,
        }


@dataclass(frozen=True)
class AllPairs:
    """The tests of all pairs of columns. The rejected pairs come first, ordered by effect, then the others, ordered
    by p-value.

    Attributes
    ----------
    pairs : tuple of Pair
        In that order.
    n : int
        Number of records.
    alpha : float
        The probability of any false rejection among all pairs is at most this, if the tests keep their levels.
    spent : dict
        What the filter has charged for this run.
    rho_pair : float
        What each pair cost.
    categories : dict
        How many categories each column kept after merging.
    correction : str
        How p-values were corrected.

    Examples
    --------
    >>> columns = {"a": [0, 1] * 5_000, "b": [0, 1] * 5_000, "c": [0, 0, 1, 1] * 2_500}
    >>> found = all_pairs(columns, dict.fromkeys(columns, [0, 1]), rho=1.0)
    >>> found.pairs[0].first, found.pairs[0].second, found.pairs[0].reject, found.correction
    ('a', 'b', True, 'Holm over 3 pairs')
    """

    pairs: tuple[Pair, ...]
    n: int
    alpha: float
    spent: Mapping[str, Any]
    rho_pair: float
    categories: Mapping[str, int]
    correction: str

    @property
    def rejected(self) -> int:
        """The number of pairs that are dependent according to the corrected p-values."""
        return sum(pair.reject for pair in self.pairs)

    @property
    def inconclusive(self) -> int:
        """The number of pairs whose test was inconclusive."""
        return sum(pair.result.inconclusive for pair in self.pairs)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data for JSON."""
        return {
            "n": self.n,
            "alpha": self.alpha,
            "pairs_tested": len(self.pairs),
            "rejected": self.rejected,
            "inconclusive": self.inconclusive,
            "spent": dict(self.spent),
            "rho_pair": self.rho_pair,
            "correction": self.correction,
            "categories": dict(self.categories),
            "pairs": [pair.to_dict() for pair in self.pairs],
        }

    def __str__(self) -> str:
        head = (
            f"{len(self.pairs)} pairs of {len(self.categories)} columns, n = {self.n}: {self.rejected} dependent, "
            f"{self.inconclusive} inconclusive at {self.alpha:g} ({self.correction}); spent rho {self.spent['rho']:g}"
        )
        lines = [head]
        for pair in self.pairs[:10]:
            effect = "" if pair.effect is None else f"V = {pair.effect:.3f}, "
            lines.append(f"{pair.first} ~ {pair.second}: {effect}adjusted p = {pair.adjusted:.3g}")
        return "\n  ".join(lines)


def all_pairs(
    frame: Any,
    columns: Mapping[str, Sequence[Any]],
    rho: float,
    *,
    method: IndependenceMethod = "projected",
    alpha: float = 0.05,
    merge: float = 0.1,
    other: Mapping[str, Hashable] | None = None,
    budget: Filter | None = None,
    progress: Progress | None = None,
    source: Source | None = None,
) -> AllPairs:
    """Test privately the independence of every pair of columns. All tests together cost `rho`.

    Parameters
    ----------
    frame : data frame, or mapping from names to columns
        One row per record. pandas, polars and others; or a dict of lists or arrays.
    columns : mapping
        From each column to its categories, declared, at least two; a value outside them is refused before anything is
        spent, unless `other` has a place for it. At least two columns.
    rho : float
        The zCDP cost of the whole run.
    method : str
        As in `independence`, of those for Gaussian noise.
    alpha : float
        The level of all pairs together. P-values are corrected by Holm's method, which holds whatever the dependence
        between the tests. An inconclusive pair counts as p = 1.
    merge : float
        The part of `rho` that buys noisy one-way counts, by which rare categories are merged; 0 merges nothing.
    other : mapping, optional
        From columns to the declared category that their missing and undeclared values count in, as in `tally`. A column
        that is not in it refuses them, and that refusal speaks of the records.
    budget : Filter, optional
        The filter that admits every release before it is made, shared with other analyses. None: a `ZCDPFilter` of
        `rho` for this run alone.
    progress : callable, optional
        Called with a share of the work done and what is being done.
    source : Source, optional
        Of the privacy noise; None for the operating system.

    Returns
    -------
    AllPairs
        Time: about 12 s on one core for the 595 pairs of 35 columns of 299,285 records, half of it reading columns.

    Raises
    ------
    BudgetExhausted
        Before anything is released, where `budget` has less than `rho` left.

    Examples
    --------
    >>> rng = np.random.default_rng(9)
    >>> colour = rng.integers(0, 3, 30_000)
    >>> shade, coin = (colour + rng.integers(0, 2, 30_000)) % 3, rng.integers(0, 2, 30_000)
    >>> frame = {"colour": colour, "shade": shade, "coin": coin}
    >>> found = all_pairs(frame, {"colour": [0, 1, 2], "shade": [0, 1, 2], "coin": [0, 1]}, rho=0.1)
    >>> [(pair.first, pair.second) for pair in found.pairs if pair.reject]
    [('colour', 'shade')]
    >>> found.spent["rho"] <= 0.1
    True
    """
    if not isinstance(columns, Mapping) or len(columns) < 2:
        raise InvalidParameter(
            "columns must be a mapping from at least two columns to the categories declared for them"
        )
    alpha = arguments.probability("alpha", alpha)
    total = arguments.real("rho", rho, above=0)
    share = arguments.probability("merge", merge, zero=True)
    if method not in ("projected", "nonprojected", "asymptotic", "asymptotic-printed", "monte-carlo"):
        raise InvalidParameter(
            f"method must be one of the methods of independence that use Gaussian noise, got {method!r}"
        )
    report = progress or (lambda done, what: None)
    names = list(columns)
    rest = {} if other is None else dict(other)
    for name, category in rest.items():
        if name not in columns or category not in list(columns[name]):
            raise InvalidParameter(
                f"other must map columns to categories that are declared for them, got {category!r} for {name!r}"
            )
    read = []
    for place, name in enumerate(names):
        report(0.4 * place / len(names), f"reading {name}")
        if isinstance(frame, Mapping) and name not in frame:
            raise InvalidParameter(f"the frame has no column {name!r}")
        values = frame[name] if isinstance(frame, Mapping) else column(frame, name)
        read.append(codes(values, columns[name], name, other=rest.get(name)))
    n = read[0].size
    if any(part.size != n for part in read):
        raise InvalidParameter("columns must have the same length, one value for each record")
    rho_column = _down(total * share / len(names)) if share else 0.0
    ledger = ZCDPFilter(total) if budget is None else budget
    before = float(ledger.spent().get("rho", 0.0))
    if not ledger.admits(ZCDP(total)):
        raise BudgetExhausted(
            f"all pairs together cost rho {total:g}, but the budget has only {ledger.remaining()} left"
        )
    sizes = [len(columns[name]) for name in names]
    if rho_column:
        read, sizes = _merged(read, sizes, n, rho_column, ledger, source)
    pairs = list(combinations(range(len(names)), 2))
    rho_pair = _down(total * (1 - share) / len(pairs))
    law = discrete_gaussian(rho_pair)
    results: list[tuple[str, str, TestResult, float | None]] = []
    for place, (i, j) in enumerate(pairs):
        report(0.4 + 0.6 * place / len(pairs), f"{names[i]} ~ {names[j]}")
        table = cross_codes(read[i], read[j], sizes[i], sizes[j])
        ledger.spend(law.cost)  # before the release; a failure after it stays charged
        result = independence(table, noise=law, method=method, alpha=alpha, source=source)
        results.append((names[i], names[j], result, _effect(result, table.shape)))
    report(1.0, "done")
    adjusted = holm([1.0 if result.p_value is None else result.p_value for _, _, result, _ in results])
    listed = [
        Pair(first, second, result, p, bool(p <= alpha) and not result.inconclusive, effect)
        for (first, second, result, effect), p in zip(results, adjusted, strict=True)
    ]
    listed.sort(key=lambda pair: (not pair.reject, -(pair.effect or 0.0) if pair.reject else pair.adjusted))
    spent = dict(ledger.spent())
    if budget is not None:
        spent["rho"] = spent.get("rho", 0.0) - before
    categories = dict(zip(names, sizes, strict=True))
    return AllPairs(tuple(listed), n, alpha, spent, rho_pair, categories, f"Holm over {len(listed)} pairs")


def _merged(
    read: list[NDArray[np.int64]], sizes: list[int], n: int, rho: float, ledger: Filter, source: Source | None
) -> tuple[list[NDArray[np.int64]], list[int]]:
    """Columns with their rare categories put together, chosen by noisy one-way counts."""
    law = discrete_gaussian(rho)
    least = math.sqrt(EXPECTED * n) + 2 * math.sqrt(law.variance)
    merged, numbers = [], []
    for values, size in zip(read, sizes, strict=True):
        ledger.spend(law.cost)
        noisy = law.release(histogram(np.bincount(values, minlength=size)).values, source)
        place = merge_map(noisy, least)
        merged.append(place[values])
        numbers.append(int(place.max()) + 1)  # of the map, which is public, and not of what occurs
    return merged, numbers


def merge_map(noisy: NDArray[np.float64], least: float) -> NDArray[np.int64]:
    """The new place of each category: those below `least` share the last one, with more until it is large enough.

    The largest always stays alone, so that two are left: then the test of a pair may be inconclusive, and says so.

    Examples
    --------
    >>> merge_map(np.array([500.0, 3.0, 40.0, 200.0, -2.0]), 100.0).tolist()       # the small ones need 200 too
    [0, 1, 1, 1, 1]
    >>> merge_map(np.array([5.0, 900.0, 7.0]), 100.0).tolist()
    [1, 0, 1]
    >>> merge_map(np.array([500.0, 300.0]), 100.0).tolist()
    [0, 1]
    """
    order = np.argsort(noisy, kind="stable")
    small = min(int(np.count_nonzero(noisy < least)), noisy.size - 1)
    while 0 < small < noisy.size - 1 and noisy[order[:small]].sum() < least:
        small += 1
    large = np.sort(order[small:])
    place = np.full(noisy.size, large.size, dtype=np.int64)
    place[large] = np.arange(large.size)
    return place


def _effect(result: TestResult, shape: tuple[int, ...]) -> float | None:
    """Cramer's V: the statistic less its mean under the null, over its largest value; noise takes some of it away."""
    noisy = result.details.get("noisy_counts")
    if result.statistic is None or noisy is None:
        return None
    r, c = shape
    noisy = noisy.reshape(r, c)
    p = np.maximum(noisy, 0.0) / max(float(np.maximum(noisy, 0.0).sum()), 1.0)
    product = np.outer(p.sum(axis=1), p.sum(axis=0))
    if not np.all(product > 0):
        return None
    size = float((np.square(noisy / result.n - product) / product).sum())
    noise = float((result.details["noise"].variance / result.n**2 / product).sum()) + (r - 1) * (c - 1) / result.n
    return float(np.sqrt(min(1.0, max(0.0, size - noise) / (min(r, c) - 1))))


def _down(x: float) -> float:
    """`x` to ten digits, never more, so that equal shares never add up to more than the whole."""
    return float(Context(prec=10, rounding=ROUND_DOWN).create_decimal(Decimal(repr(x)) * (1 - Decimal("1e-9"))))
