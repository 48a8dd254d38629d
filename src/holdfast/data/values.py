"""Per-row values of one question: checked against their declared range, then summed up; rows are never kept.

What answers a question needs only a few sums. They are secret: no repr and no error shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.core import arguments
from holdfast.errors import InvalidParameter

#: Relative error of a floating-point sum of up to 10**18 values, with a wide margin: numpy adds in pairs inside a
#: block (where it converts as it adds, 128 times in a row besides: at most about 160 roundings deep) and blocks are
#: added by a compensated sum.
_SUM_ERROR = 1e-13
#: Rows that are added together, and rows whose squares are: a dot product adds one after the other, so its blocks are
#: short enough for the same relative error.
_BLOCK, _SQUARES = 1 << 20, 1 << 14

Rows = npt.ArrayLike | Iterable[npt.ArrayLike]
"""An array with one value per row, or an iterator of such arrays: chunks, in row order."""


class ValuesRefused(InvalidParameter):
    """Some values are missing, outside their range, or of mixed types, so that the refusal depends on rows.

    Whoever answers many questions about the same rows has to count it among what was shown.
    """


@dataclass(slots=True, repr=False)
class Summary:
    """The sums of the values that a question gives to the rows. They are secret, and no repr shows them.

    `slack` is a bound on the difference between `mean` and the exact mean of the values, which floating-point sums
    cause.

    Examples
    --------
    >>> rows = summarise([0, 1, 1, 1], n=4)
    >>> rows, rows.mean
    (Summary(n=4, low=0, high=1), 0.75)
    """

    n: int
    low: float
    high: float
    total: float
    squares: float
    binary: bool

    @property
    def mean(self) -> float:
        """The mean of the values. It lies between the smallest and the largest allowed value."""
        return min(max(self.total / self.n, self.low), self.high)

    @property
    def slack(self) -> float:
        """The largest possible difference between `mean` and the exact mean."""
        return _SUM_ERROR * max(abs(self.low), abs(self.high), self.high - self.low)

    @property
    def ones(self) -> int:
        """The number of values that are 1. Only for values that are declared binary."""
        if not self.binary:
            raise InvalidParameter("values must be declared binary (0 or 1), so that the ones can be counted")
        return round(self.total)

    @property
    def variance(self) -> float:
        """The unbiased variance of the values (0 for one row). It needs `squares=True`."""
        if not self.squares >= 0:
            raise InvalidParameter(
                "squares must be True when the values are summed up, so that their variance can be read"
            )
        if self.n == 1:
            return 0.0
        centre = self.total / self.n - self.low
        return max(0.0, (self.squares - self.n * centre * centre) / (self.n - 1))

    def __repr__(self) -> str:
        return f"Summary(n={self.n}, low={self.low:g}, high={self.high:g})"


def summarise(
    values: Rows,
    *,
    n: int,
    low: float = 0.0,
    high: float = 1.0,
    binary: bool = False,
    squares: bool = False,
    name: str = "values",
) -> Summary:
    """Check that there is one value per row and that all values lie in the declared range, and sum them up.

    Parameters
    ----------
    values : array or iterator of arrays
        One number per row: an array, a list, a data-frame column, or an iterator of chunks in row order (a generator,
        or `iter` of a list of arrays). Chunks are read once and let go, so the whole need not fit in memory.
    n : int
        Number of rows there must be.
    low, high : float
        The declared range.
    binary : bool
        Declare that every value is 0 or 1. Values of type bool in the range [0, 1] declare themselves.
    squares : bool
        Also sum the squares about `low`, for the variance. One more pass.
    name : str
        What errors call the values.

    Returns
    -------
    Summary
        Time: three passes over the values (least, greatest, sum), two or three times that of a plain mean; a
        fourth pass for squares.

    Raises
    ------
    InvalidParameter
        The wrong number of rows, or something that is not numbers.
    ValuesRefused
        A value outside the range, or NaN. It is raised only where nothing else is wrong, after the last row, and does
        not say which row or what value.

    Examples
    --------
    >>> summarise((chunk for chunk in ([0.5, 0.25], [0.75])), n=3).mean
    0.5
    >>> summarise([0.2, 1.7], n=2, name="x")
    Traceback (most recent call last):
    ...
    holdfast.data.values.ValuesRefused: x must lie in [0, 1], one number per row without missing values, and some do not
    """
    low, high = arguments.value_range(low, high)
    if binary and (low, high) != (0.0, 1.0):
        raise InvalidParameter(f"low and high must be 0 and 1 for binary values, got [{low:g}, {high:g}]")
    rows, total, lost, second, astray = 0, 0.0, 0.0, 0.0, 0.0
    truths, allowed = (low, high) == (0.0, 1.0), True
    for chunk in chunks(values, name):
        rows += chunk.size
        if rows > n:
            break
        truths = truths and chunk.dtype.kind == "b"
        for start in range(0, chunk.size, _BLOCK):
            block = chunk[start : start + _BLOCK]
            allowed = allowed and _allowed(block, low, high, binary)
            if not allowed:  # the rest is counted, so that a wrong number of rows is reported whatever the values are
                break
            total, lost = _add(total, lost, _sum(block))
            if squares and not binary:
                shifted = block - low if block.dtype == np.float64 else block.astype(np.float64) - low
                for first in range(0, shifted.size, _SQUARES):
                    part = shifted[first : first + _SQUARES]
                    second, astray = _add(second, astray, float(np.dot(part, part)))
    if rows != n:
        more = "more" if rows > n else f"{rows}"
        raise InvalidParameter(f"{name} must have one number per row, {n} in all, got {more}")
    if not allowed:
        raise _outside(low, high, binary, name)
    total, second, binary = total + lost, second + astray, binary or truths
    return Summary(n, low, high, total, (total if binary else second) if squares else float("nan"), binary)


def chunks(values: Rows, name: str) -> Iterator[npt.NDArray[Any]]:
    """The values as one-dimensional arrays of numbers, not yet checked against a range; an iterator chunk by chunk.

    A chunk with something else in place of a number has no values: every one is NaN.

    Examples
    --------
    >>> [chunk.tolist() for chunk in chunks(iter([[1, 2], [3]]), "values")]
    [[1, 2], [3]]
    """
    several: Iterable[Any] = values if isinstance(values, Iterator) else (values,)
    for chunk in several:
        try:
            yield column(chunk, name)
        except ValuesRefused:  # whoever reads on notices, after the last row
            yield np.full(len(chunk), np.nan)


def column(values: Any, name: str) -> npt.NDArray[Any]:
    """One array of numbers, one-dimensional and without masked entries, not yet checked against a range.

    Examples
    --------
    >>> column([True, False], "values")
    array([ True, False])
    """
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidParameter(
            f"{name} must have a number in every row, got a masked array, whose masked entries are missing"
        )
    if isinstance(values, (list, tuple)):
        return _listed(values, name)
    array = _converted(values, name)
    if array.dtype.kind == "O" and array.ndim == 1 and getattr(values, "dtype", array.dtype) != array.dtype:
        # A column of numbers that can have missing ones, and has some.
        raise ValuesRefused(f"{name} must have one number per row, and some are missing")
    return _numbers(array, name)


def with_gaps(values: Any, name: str) -> npt.NDArray[np.float64]:
    """One array of numbers, with NaN for each entry that is none: no error depends on the values.

    Examples
    --------
    >>> with_gaps([0.5, None, 1], "values")
    array([0.5, nan, 1. ])
    """
    try:
        return column(values, name).astype(np.float64)
    except ValuesRefused:
        numbers = (int, float, np.number, np.bool_)
        return np.array([float(value) if isinstance(value, numbers) else np.nan for value in values], dtype=np.float64)


def _listed(values: list[Any] | tuple[Any, ...], name: str) -> npt.NDArray[Any]:
    """A list as an array. Its entries decide the array's type, so errors about that may depend on rows."""
    types = set(map(type, values))
    truths = types & {bool, np.bool_}
    if not truths or types == truths:
        try:
            return _numbers(_converted(values, name), name)
        except InvalidParameter:
            if len(types) < 2 and not any(issubclass(one, (int, float, np.generic)) for one in types):
                raise  # entries of one type that is no number: whatever the rows are
    raise ValuesRefused(
        f"{name} must be numbers, with one number per row, no missing values and no mix with truth values, and some "
        "are not"
    )


def _converted(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"{name} must be one number per row") from error


def _numbers(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        raise InvalidParameter(
            f"{name} must be a one-dimensional array of numbers, got {array.ndim} dimensions of {array.dtype}"
        )
    return array


def _allowed(chunk: npt.NDArray[Any], low: float, high: float, binary: bool) -> bool:
    """Whether all values are in the range, and 0 or 1 where they are declared so."""
    if chunk.size == 0:
        return True
    if chunk.dtype.kind == "b":
        return low <= 0 and high >= 1
    # A NaN makes both comparisons false, so one test covers range and NaN. As Python floats, so that a range is not
    # rounded to single precision with the values.
    if not (float(chunk.min()) >= low and float(chunk.max()) <= high):
        return False
    between = binary and chunk.dtype.kind == "f"
    return not between or np.count_nonzero(chunk == 1) + np.count_nonzero(chunk == 0) == chunk.size


def _sum(chunk: npt.NDArray[Any]) -> float:
    return float(np.count_nonzero(chunk) if chunk.dtype.kind == "b" else chunk.sum(dtype=np.float64))


def _outside(low: float, high: float, binary: bool, name: str) -> ValuesRefused:
    # One message for a missing value and for one outside the range: which of them it was is about the rows.
    where, some = ("be 0 or 1", "are not") if binary else (f"lie in [{low:g}, {high:g}]", "do not")
    return ValuesRefused(f"{name} must {where}, one number per row without missing values, and some {some}")


def _add(total: float, lost: float, part: float) -> tuple[float, float]:
    """Neumaier's compensated addition: many chunks lose no more than one."""
    new = total + part
    lost += (total - new) + part if abs(total) >= abs(part) else (part - new) + total
    return new, lost
