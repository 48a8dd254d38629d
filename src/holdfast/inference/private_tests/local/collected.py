"""What a server holds: the summed answers of `n` people who randomized them. Private already, so free to show."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting.costs import Cost
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import codes
from holdfast.inference.private_tests.local.channel import Channel, Randomizer, channel_of
from holdfast.mechanisms.local import BitFlip, RandomizedResponse
from holdfast.noise.entropy import Source

#: Rows randomized at once are at most this many cells: bounds memory.
_BLOCK = 1 << 21


@dataclass(frozen=True, eq=False)
class Collected:
    """The sum of the randomized answers of `n` people, for each of `d` categories or for each of the `r c` pairs of
    a table.

    Attributes
    ----------
    sums : array
        How often each category was answered (randomized response), or the sum of the rows (the others), of `shape`.
    n : int
        How many people answered; public.
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        What each of them ran.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> answers = Collected([2700, 2480, 2390, 2430], 10_000, RandomizedResponse(4, 1.0))
    >>> answers.proportions.round(3).tolist()
    [0.317, 0.243, 0.213, 0.227]
    """

    sums: NDArray[np.float64]
    n: int
    randomizer: Randomizer

    def __post_init__(self) -> None:
        channel = channel_of(self.randomizer)
        n = arguments.whole("n", self.n, at_least=1, at_most=2**53)
        try:
            sums = np.array(self.sums, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter("sums must be numbers, one for each category") from None
        if sums.ndim not in (1, 2) or sums.size != channel.cells:
            raise InvalidParameter(
                f"sums must have one entry per category of the randomizer, {channel.cells} in all, got {sums.size}"
            )
        if not np.all(np.isfinite(sums)):
            raise InvalidParameter("sums must be finite")
        if isinstance(self.randomizer, (RandomizedResponse, BitFlip)):
            if np.any(sums < 0) or np.any(sums > n) or np.any(sums != np.floor(sums)):
                raise InvalidParameter(f"sums must be whole numbers from 0 to n = {n} for {channel.name}")
            if isinstance(self.randomizer, RandomizedResponse) and sums.sum() != n:
                raise InvalidParameter(
                    f"sums must add up to n = {n} for randomized response, because each person gives one answer"
                )
        sums.setflags(write=False)
        object.__setattr__(self, "sums", sums)
        object.__setattr__(self, "n", n)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the sums: `(d,)`, or `(r, c)` for pairs."""
        return tuple(self.sums.shape)

    @property
    def cost(self) -> Cost:
        """The privacy cost for each person."""
        return self.randomizer.cost

    @cached_property
    def channel(self) -> Channel:
        """The distribution of the sums, given the true counts."""
        return channel_of(self.randomizer)

    @property
    def proportions(self) -> NDArray[np.float64]:
        """Unbiased estimates of the proportions of the categories. Noise can make an estimate negative or larger
        than 1.
        """
        return self.channel.debiased(self.sums, self.n) / self.n


def received(answers: Any, randomizer: Randomizer, *, shape: tuple[int, int] | None = None) -> Collected:
    """Add up the randomized answers as they were received.

    Parameters
    ----------
    answers : array
        One category per person for `RandomizedResponse`, one row per person for the others: what their `release`
        returns.
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        What each person ran.
    shape : (r, c), optional
        For answers about pairs, numbered row by row (`i c + j`).

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> received([0, 2, 2, 1], RandomizedResponse(3, 1.0)).sums.tolist()
    [1.0, 1.0, 2.0]
    """
    channel_of(randomizer)
    randomizer.estimate(answers)  # checks the answers
    rows = np.asarray(answers)
    if isinstance(randomizer, RandomizedResponse):
        sums: NDArray[Any] = np.bincount(rows, minlength=randomizer.categories)
    else:
        sums = rows.sum(axis=0, dtype=np.float64)
    return Collected(shaped(sums, shape), len(rows), randomizer)


def collect(
    values: Any,
    categories: Sequence[Hashable],
    randomizer: Randomizer,
    *,
    other: Hashable = None,
    source: Source | None = None,
) -> Collected:
    """Randomize every value of a column and add up the answers. This does all of local privacy in one call.

    If the values are already in one place, as here, central tests have far more power for the same epsilon. So use this
    for studies, or in a service that randomizes values for its clients as they arrive.

    Parameters
    ----------
    values : array, list or Series
        One a person, each a declared category. No error shows one.
    categories : sequence
        The categories, declared, in order.
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        With as many categories.
    other : category, optional
        The declared category that missing and undeclared values count in, as in `tally`; without it they are refused.
    source : Source, optional
        Of the randomizer; None for the operating system.

    Examples
    --------
    >>> from holdfast.mechanisms.local import BitFlip
    >>> collect(["a", "b", "a"], ["a", "b", "c"], BitFlip(3, 2)).n
    3
    """
    channel_of(randomizer)
    _match(len(categories), randomizer)
    return _release(codes(values, categories, other=other), randomizer, None, source)


def collect_pairs(
    rows: Any,
    columns: Any,
    *,
    row_categories: Sequence[Hashable],
    column_categories: Sequence[Hashable],
    randomizer: Randomizer,
    other_row: Hashable = None,
    other_column: Hashable = None,
    source: Source | None = None,
) -> Collected:
    """Randomize every pair of values of two columns and add up the answers. A pair is one of `r c` categories.

    Parameters
    ----------
    rows, columns : arrays, lists or Series
        One pair a person.
    row_categories, column_categories : sequences
        Declared, in order.
    randomizer : RandomizedResponse, BitFlip, OneHotLaplace or OneHotGaussian
        With `r c` categories.
    other_row, other_column : categories, optional
        The declared categories that missing and undeclared values count in, as in `cross`.
    source : Source, optional
        Of the randomizer; None for the operating system.

    Examples
    --------
    >>> from holdfast.mechanisms.local import RandomizedResponse
    >>> collect_pairs([0, 1], ["x", "y"], row_categories=[0, 1], column_categories=["x", "y"],
    ...               randomizer=RandomizedResponse(4, 1)).shape
    (2, 2)
    """
    channel_of(randomizer)
    r, c = len(row_categories), len(column_categories)
    _match(r * c, randomizer)
    first = codes(rows, row_categories, "rows", other=other_row)
    second = codes(columns, column_categories, "columns", other=other_column)
    if first.shape != second.shape:
        raise InvalidParameter("rows and columns must have the same length, one pair for each person")
    return _release(first * c + second, randomizer, (r, c), source)


def _release(
    truth: NDArray[np.int64], randomizer: Randomizer, shape: tuple[int, int] | None, source: Source | None
) -> Collected:
    total = np.zeros(randomizer.categories)
    step = max(1, _BLOCK // randomizer.categories)
    for start in range(0, truth.size, step):
        part = received(randomizer.release(truth[start : start + step], source), randomizer)
        total = total + part.sums
    return Collected(shaped(total, shape), truth.size, randomizer)


def _match(cells: int, randomizer: Randomizer) -> None:
    if cells != randomizer.categories:
        raise InvalidParameter(f"the randomizer must have {cells} categories, as declared, got {randomizer.categories}")


def shaped(sums: NDArray[Any], shape: tuple[int, int] | None) -> NDArray[Any]:
    """Sums of pairs as a table."""
    if shape is None:
        return sums
    try:
        r, c = (arguments.whole("shape", side, at_least=2) for side in shape)
    except (TypeError, ValueError):
        raise InvalidParameter("shape must be a pair (r, c) of whole numbers, at least 2") from None
    if r * c != sums.size:
        raise InvalidParameter(f"shape must have {sums.size} cells, as the randomizer has, got {r} by {c}")
    return sums.reshape(r, c)
