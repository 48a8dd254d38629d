"""Exact coins: uniform integers, rational probabilities, exp(-x) and the logistic function.

Scalar forms work on Python integers of any size, vector forms on 64-bit words. Both are exact.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.noise.entropy import WORD_BITS, Source, resolve
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.table import EXP_ERROR, Table, coin, exp_lower, odds, quadratic_weights

_ALL = 1 << WORD_BITS


@overload
def uniform_below(bound: int, size: None = None, *, source: Source | None = None) -> int: ...
@overload
def uniform_below(bound: int, size: int, *, source: Source | None = None) -> NDArray[np.int64]: ...
def uniform_below(bound: int, size: int | None = None, *, source: Source | None = None) -> int | NDArray[np.int64]:
    """Return random whole numbers that are uniform in `[0, bound)`, without bias.

    Parameters
    ----------
    bound : int
        At least 1; for arrays at most 2**63.
    size : int or None
        None for one int, otherwise an int64 array of that length.
    source : Source or None
        Where the words come from; None for the operating system.

    Notes
    -----
    A word w gives `w // c` with `c = 2**64 // bound`; results of `bound` or more are drawn again, which happens to less
    than half of the words.

    Examples
    --------
    >>> 0 <= uniform_below(6) < 6
    True
    >>> from holdfast.noise import Seeded
    >>> uniform_below(6, 5, source=Seeded(1))
    array([3, 5, 0, 5, 1])
    """
    bound = arguments.whole("bound", bound, at_least=1, at_most=None if size is None else _ALL // 2)
    origin = resolve(source)
    if size is None:
        return below(origin, bound)
    count = arguments.whole("size", size, at_least=0)
    return below_each(origin, np.full(count, bound, dtype=np.uint64)).astype(np.int64)


@overload
def bernoulli(p: Rational, size: None = None, *, source: Source | None = None) -> bool: ...
@overload
def bernoulli(p: Rational, size: int, *, source: Source | None = None) -> NDArray[np.bool_]: ...
def bernoulli(p: Rational, size: int | None = None, *, source: Source | None = None) -> bool | NDArray[np.bool_]:
    """Return random truth values that are True with exactly the given rational probability.

    Parameters
    ----------
    p : Fraction, int or float
        In [0, 1]. A float means the decimal it prints as.
    size : int or None
        None for one bool, otherwise an array of that length.
    source : Source or None
        Where the words come from; None for the operating system.

    Examples
    --------
    >>> bernoulli(1), bernoulli(0)
    (True, False)
    >>> from holdfast.noise import Seeded
    >>> int(bernoulli(Fraction(1, 3), 30_000, source=Seeded(1)).sum())
    10070
    """
    fraction = rational("p", p, at_least=0, at_most=1)
    n, d = fraction.numerator, fraction.denominator
    origin = resolve(source)
    if size is None:
        return below(origin, d) < n
    count = arguments.whole("size", size, at_least=0)
    return coin(lambda precision: ((n << precision) // d, 1)).draws(origin, count) > 0


@overload
def bernoulli_exp(x: Rational, size: None = None, *, source: Source | None = None) -> bool: ...
@overload
def bernoulli_exp(x: Rational, size: int, *, source: Source | None = None) -> NDArray[np.bool_]: ...
def bernoulli_exp(x: Rational, size: int | None = None, *, source: Source | None = None) -> bool | NDArray[np.bool_]:
    """Return random truth values that are True with probability exactly `exp(-x)`.

    Parameters
    ----------
    x : Fraction, int or float
        At least 0. A float means the decimal it prints as.
    size : int or None
        None for one bool, otherwise an array of that length.
    source : Source or None
        Where the words come from; None for the operating system.

    Notes
    -----
    The scalar form is von Neumann's (1951), as in Canonne, Kamath and Steinke (2020), Algorithm 1, with the whole part
    of x settled by one geometric draw instead of a loop. With f the fractional part, the number K of successes before
    the first failure in coins of probability `f, f/2, f/3, ...` is even with probability
    `sum_k (-1)**k f**k / k! = exp(-f)`; it needs fewer than `exp(f) <= e` coins on average. The vector form compares
    words with `exp(-x)`, to as many digits as are needed.

    Examples
    --------
    >>> bernoulli_exp(0)
    True
    >>> from holdfast.noise import Seeded
    >>> float(bernoulli_exp(1, 100_000, source=Seeded(1)).mean())
    0.36...
    """
    fraction = rational("x", x, at_least=0)
    origin = resolve(source)
    if size is None:
        return exp_coin(origin, fraction.numerator, fraction.denominator)
    count = arguments.whole("size", size, at_least=0)
    return coin(lambda precision: (exp_lower(fraction, precision), EXP_ERROR)).draws(origin, count) > 0


def bernoulli_exp_each(numerators: Any, denominator: int, *, source: Source | None = None) -> NDArray[np.bool_]:
    """Return one random truth value for each numerator `n`, True with probability exactly `exp(-n / denominator)`.

    Parameters
    ----------
    numerators : array of integers
        Each at least 0.
    denominator : int
        At least 1. Beyond 2**63 the coins are drawn one by one with Python integers.
    source : Source or None
        Where the words come from; None for the operating system.

    Notes
    -----
    `bernoulli_exp` on arrays: the coin of probability `f / k` is a coin of probability f and one of probability `1 / k`
    that both succeed, so no number exceeds 64 bits.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> bernoulli_exp_each([0, 1, 500], 5, source=Seeded(1))
    array([ True, False, False])
    """
    tops = np.asarray(numerators)
    if tops.dtype.kind not in "iuO" or (tops.size and tops.min() < 0):
        raise InvalidParameter("numerators must be whole numbers, at least 0")
    d = arguments.whole("denominator", denominator, at_least=1)
    origin = resolve(source)
    if tops.dtype.kind == "O" or d > _ALL // 2:
        return np.array([exp_coin(origin, int(n), d) for n in tops.ravel()], dtype=np.bool_).reshape(tops.shape)
    return exp_coins(origin, tops.astype(np.uint64).ravel(), d).reshape(tops.shape)


@overload
def bernoulli_logistic(x: Rational, size: None = None, *, source: Source | None = None) -> bool: ...
@overload
def bernoulli_logistic(x: Rational, size: int, *, source: Source | None = None) -> NDArray[np.bool_]: ...
def bernoulli_logistic(
    x: Rational, size: int | None = None, *, source: Source | None = None
) -> bool | NDArray[np.bool_]:
    """Return random truth values that are True with probability exactly `1 / (1 + exp(x))`: the flip of randomized
    response.

    Parameters
    ----------
    x : Fraction, int or float
        At least 0. A float means the decimal it prints as.
    size : int or None
        None for one bool, otherwise an array of that length.
    source : Source or None
        Where the words come from; None for the operating system.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> float(bernoulli_logistic(Fraction(1), 100_000, source=Seeded(1)).mean())
    0.26...
    """
    fraction = rational("x", x, at_least=0)
    table = logistic_table(fraction.numerator, fraction.denominator, 1)
    origin = resolve(source)
    if size is None:
        return table.draw(origin) == 1
    return table.draws(origin, arguments.whole("size", size, at_least=0)) > 0


@lru_cache(maxsize=64)
def logistic_table(n: int, d: int, others: int) -> Table:
    """Return the coin of weights 1 and `others * exp(-n / d)`."""
    x = Fraction(n, d)
    return odds(lambda precision: (others * exp_lower(x, precision), others * EXP_ERROR))


@lru_cache(maxsize=1)
def _unit_geometric() -> Table:
    """The distribution of weights `exp(-g)`: at least m with probability `exp(-m)`."""
    return Table(lambda precision: quadratic_weights(Fraction(1), Fraction(0), precision))


def below(source: Source, bound: int) -> int:
    """One uniform integer in `[0, bound)`, any size of bound."""
    if bound <= _ALL:
        cell = _ALL // bound
        while True:
            number = source.word() // cell
            if number < bound:
                return number
    count = -(-bound.bit_length() // WORD_BITS)
    cell = (1 << (count * WORD_BITS)) // bound
    while True:
        number = 0
        for _ in range(count):
            number = (number << WORD_BITS) | source.word()
        number //= cell
        if number < bound:
            return number


def below_each(source: Source, bounds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One uniform integer below each bound; bounds in [1, 2**63]."""
    # (2**64 - 1) // b is 2**64 // b unless b is a power of two; one less then, which only rejects more words.
    cells = np.uint64(_ALL - 1) // bounds
    numbers = source.words(bounds.size) // cells
    again = np.flatnonzero(numbers >= bounds)
    while again.size:
        numbers[again] = source.words(again.size) // cells[again]
        again = again[numbers[again] >= bounds[again]]
    return numbers


def exp_coin(source: Source, n: int, d: int) -> bool:
    """One coin of probability `exp(-n / d)`; integers of any size."""
    if n >= d:
        whole, n = divmod(n, d)
        if _unit_geometric().draw(source) < whole:
            return False
    k = 1
    while below(source, d * k) < n:
        k += 1
    return k & 1 == 1


def exp_coins(source: Source, tops: NDArray[np.uint64], d: int) -> NDArray[np.bool_]:
    """One coin of probability `exp(-n / d)` for each n in `tops`; `1 <= d <= 2**63`."""
    if tops.size == 0 or int(tops.max()) < d:
        return series_coins(source, tops, d)
    whole = tops // np.uint64(d)
    large = np.flatnonzero(whole)
    result = np.ones(tops.size, dtype=np.bool_)
    result[large] = _unit_geometric().draws(source, large.size).astype(np.uint64) >= whole[large]
    open_places = np.flatnonzero(result)
    result[open_places] = series_coins(source, (tops - whole * np.uint64(d))[open_places], d)
    return result


def series_coins(source: Source, tops: NDArray[np.uint64], d: int, thinning: Table | None = None) -> NDArray[np.bool_]:
    """One coin of probability `exp(-c n / d)` for each n in `tops`; `n <= d <= 2**63`.

    The factor c is the probability that `thinning` gives 1, or 1. By `bernoulli_exp`'s series: each place goes on while
    its coins of probability `c n / d`, then `c n / (2 d)`, and so on, succeed. Such a coin is the product of three.
    """
    result = np.ones(tops.size, dtype=np.bool_)
    active = np.arange(tops.size)
    k = 1
    while active.size:
        going = _ratio_coins(source, tops, d)
        if k > 1:
            going &= _ratio_coins(source, np.ones(active.size, dtype=np.uint64), k)
        if thinning is not None:
            hits = np.flatnonzero(going)
            going[hits] = thinning.draws(source, hits.size) == 1
        result[active[~going]] = k & 1 == 1
        active, tops = active[going], tops[going]
        k += 1
    return result


def _ratio_coins(source: Source, tops: NDArray[np.uint64], d: int) -> NDArray[np.bool_]:
    """One coin of probability `n / d` for each n in `tops`; `n <= d <= 2**63`."""
    # The word w stands for the uniform integer w // c below d; w // c < n is w < n c, and n c <= d c < 2**64.
    cell = (_ALL - 1) // d
    limits = tops * np.uint64(cell)
    end = np.uint64(cell * d)
    words = source.words(tops.size)
    hits = words < limits
    again = np.flatnonzero(words >= end)
    while again.size:
        words = source.words(again.size)
        hits[again] = words < limits[again]
        again = again[words >= end]
    return hits
