"""What all methods share: a plan fixed in advance, a count of questions, a refusal at the end, and exact means.

Exact means
-----------
The theorems are about the exact mean of a function of each row. A floating-point sum is not one. So every value is put
on a grid of `2**-40` of its range first, row by row: that is another function of the row, with a whole number as sum.
The price is `VALUE_ERROR` of the range in the answer and nothing in the failure probability.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.numerics.exact import left_to_chance
from holdfast.bounds.parameters import LEAST_BETA, MOST
from holdfast.core import arguments
from holdfast.core.copying import OneOwner
from holdfast.data.values import Rows, summarise
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.noise.entropy import Secure, Source, resolve

VALUE_BITS = 40
#: Half a step of the grid of values, and four roundings of a subtraction, a division and a product.
VALUE_ERROR = 2.0 ** -(VALUE_BITS + 1) + 2.0**-50
#: Whole numbers below `2**VALUE_BITS`, this many at a time, add up in 64 bits.
_AT_ONCE = 1 << 22


def exact_mean(values: Rows, n: int, low: float = 0.0, high: float = 1.0, name: str = "values") -> Fraction:
    """Return the mean of `(value - low)/(high - low)`, each put on the grid of `2**-40` row by row; in [0, 1], exactly.

    Parameters
    ----------
    values : array or iterable of arrays
        One number per row, inside the range (`data.values.summarise` checks them).
    n : int
        Number of rows there must be.
    low, high : float
        The declared range; for whole numbers at most `2**53` in size, beyond which they are no longer exact as floats.
    name : str
        What errors call the values.

    Returns
    -------
    Fraction
        At most `VALUE_ERROR` from the mean of the values as they are. Secret. Time: five passes over the values.

    Examples
    --------
    >>> exact_mean([0.0, 1.0, 1.0], 3)
    Fraction(2, 3)
    >>> exact_mean([True, False], 2)
    Fraction(1, 2)
    """
    total = 0

    def chunks() -> Iterator[Any]:
        nonlocal total
        for chunk in values if isinstance(values, Iterator) else (values,):
            yield chunk
            rows = np.asarray(chunk)
            if rows.dtype.kind in "biuf" and bool(((rows >= low) & (rows <= high)).all()):
                total += _total(rows, low, high)  # else `summarise` raises after the last row

    summarise(chunks(), n=n, low=low, high=high, name=name)
    return Fraction(total, n << VALUE_BITS)


def exact_means(table: Any, n: int, low: float = 0.0, high: float = 1.0) -> list[Fraction]:
    """`exact_mean` of every column of a table with `n` rows.

    Examples
    --------
    >>> exact_means([[0, 1], [1, 1]], 2)
    [Fraction(1, 2), Fraction(1, 1)]
    """
    if isinstance(table, np.ma.MaskedArray):
        raise InvalidParameter("table must have a number in every place, but it is a masked array; fill its gaps first")
    try:
        array = np.asarray(table)
    except (TypeError, ValueError) as error:
        raise InvalidParameter("table must have one number for each row and question") from error
    if array.dtype.kind not in "biuf" or array.ndim != 2 or array.shape[0] != n:
        raise InvalidParameter(f"table must be an array of numbers with {n} rows and one column per question")
    if array.size and not (array.min() >= low and array.max() <= high):
        raise InvalidParameter(f"table must be in [{low:g}, {high:g}], but some of its values are not")
    totals = [0] * array.shape[1]
    for start in range(0, n, _AT_ONCE):
        part = _whole(array[start : start + _AT_ONCE], low, high)
        totals = [total + int(more) for total, more in zip(totals, part.sum(axis=0, dtype=np.int64), strict=True)]
    shift = _shift(array.dtype, low, high)
    return [Fraction(total << shift, n << VALUE_BITS) for total in totals]


def _total(chunk: NDArray[Any], low: float, high: float) -> int:
    total = 0
    for start in range(0, chunk.size, _AT_ONCE):
        total += int(_whole(chunk[start : start + _AT_ONCE], low, high).sum(dtype=np.int64))
    return total << _shift(chunk.dtype, low, high)


def _shift(dtype: np.dtype[Any], low: float, high: float) -> int:
    """Whole numbers between 0 and 1 are counted as they are, and scaled afterwards."""
    return VALUE_BITS if dtype.kind in "biu" and (low, high) == (0.0, 1.0) else 0


def _whole(chunk: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """Each value as a whole number of grid steps above `low`; values lie in the range."""
    if _shift(chunk.dtype, low, high):
        return chunk
    if chunk.dtype.kind in "iu" and max(abs(low), abs(high)) > 2.0**53:
        raise InvalidParameter(
            "low and high must be between -2**53 and 2**53 for whole numbers, because numbers are exact only in this "
            "range"
        )
    # more than double precision is kept until the range is taken off: before, its roundings could be as large
    exact = chunk if chunk.dtype.kind == "f" and chunk.dtype.itemsize > 8 else chunk.astype(np.float64)
    share = (exact - low) / (high - low)
    return np.rint(np.minimum(share, 1.0) * 2.0**VALUE_BITS).astype(np.int64)


_REGISTRY: dict[str, type[Answerer]] = {}


class Answerer(OneOwner, ABC):
    """A plan, and how many of its questions have been asked. Holds no rows.

    Attributes
    ----------
    n, questions : int
        Rows of the sample, and how many questions may be asked in all.
    confidence, beta : float
        Probability that all intervals hold at once, and what is left of 1.
    asked : int
        Questions answered so far.
    """

    kind: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.kind:
            _REGISTRY[cls.kind] = cls

    def __init__(self, n: int, questions: int, confidence: float, source: Source | None) -> None:
        super().__init__()
        self.n = arguments.whole("n", n, at_least=1, at_most=MOST)
        self.questions = arguments.whole("questions", questions, at_least=1, at_most=MOST)
        self.confidence = arguments.real("confidence", confidence, above=0, below=1)
        self.beta = max(left_to_chance(self.confidence), LEAST_BETA)
        self.asked = 0
        self._source = resolve(source)

    @property
    def remaining(self) -> dict[str, float]:
        """What may still be asked: the number of questions left."""
        return {"questions": self.questions - self.asked}

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return as plain data the arguments that make this plan again."""

    def state(self) -> dict[str, Any]:
        """Return the plan and the progress as plain data, for `from_state`. The data contain nothing about rows.

        Keep only one copy: if the method is restored twice it answers twice as many questions, but the guarantee is for
        one run.
        """
        return {"kind": self.kind, **self.parameters(), "asked": self.asked}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], source: Source | None = None) -> Self:
        """Return the method that `state()` described. The plan is computed again and is the same."""
        if not isinstance(state, Mapping) or not isinstance(state.get("kind"), str):
            raise InvalidParameter("state must be what state() returned")
        kind = _REGISTRY.get(state["kind"])
        if kind is None or not issubclass(kind, cls):
            raise InvalidParameter(f"state must be that of a {cls.__name__}, got the kind {state['kind']!r}")
        plan = {k: v for k, v in state.items() if k not in ("kind", *kind._progress())}
        try:
            answerer = kind(**plan, source=source)
        except TypeError:
            raise InvalidParameter("state must be what state() returned") from None
        answerer._restore(state)
        return answerer

    @classmethod
    def _progress(cls) -> tuple[str, ...]:
        """The entries of the state that say how far it has come."""
        return ("asked",)

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.asked = arguments.whole("asked", state.get("asked"), at_least=0, at_most=self.questions)

    def _take(self, count: int = 1) -> int:
        """Reserve `count` questions and return the number of the first, from 1; refuse when they do not fit."""
        with self._alone():
            return self._count(count)

    def _count(self, count: int = 1) -> int:
        """`_take` for a caller that holds the lock."""
        left = self.questions - self.asked
        if count > left:
            more = "1 more question does" if count == 1 else f"{count} more questions do"
            raise BudgetExhausted(f"{more} not fit: {left} of the {self.questions} planned questions are left")
        first = self.asked + 1
        self.asked += count
        return first

    def __repr__(self) -> str:
        plan = ", ".join(f"{k}={v!r}" for k, v in self.parameters().items())
        source = "" if isinstance(self._source, Secure) else ", simulated noise"
        return f"{type(self).__name__}({plan}; {self.asked} asked{source})"
