"""Grids: real-valued statistics on multiples of a power of two, so that integer noise can protect them.

A release on a grid is `step * (index of the value + integer noise)`. The index is exact integer arithmetic, and turning
the noisy index into a float afterwards only processes what is already private. So no low-order bit of a float carries
the value (Mironov 2012).

Rounding and sensitivity
------------------------
The index of a is `floor(a/step + 1/2)`: the nearest, halves upwards. This rule commutes with whole shifts,
`index(a + m step) = index(a) + m`, and it is monotone, so for all real a and b

    |index(a) - index(b)| <= ceil(|a - b| / step).

Proof: let `a <= b` and `m = ceil((b - a)/step)`; then `b <= a + m step`, so `index(b) <= index(a) + m`. The rule
"halves to the even neighbour" of Python's `round` and of NumPy does not commute with odd shifts and breaks the
inequality: with step 1 it takes 1/2 to 0 and 3/2 to 2, a distance of 2 where 1 is claimed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.noise.inputs import Rational, plain_array, rational

_INDEX_LIMIT = 1 << 61
_NEAR = "within 2**61 steps of zero"
_ARRAYS = "an array of whole numbers or of floats of at most 64 bits"
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Grid:
    """The multiples of `step = 2**exponent`.

    Parameters
    ----------
    exponent : int
        From -1000 to 1000.

    Examples
    --------
    >>> grid = Grid(-3)
    >>> grid.step, grid.index(0.3), grid.value(2)
    (Fraction(1, 8), 2, 0.25)
    >>> grid.sensitivity_steps(0.3)
    3
    """

    exponent: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", check.whole("exponent", self.exponent, at_least=-1000, at_most=1000))

    @property
    def step(self) -> Fraction:
        """The distance of neighbours."""
        return Fraction(2) ** self.exponent

    def index(self, value: Fraction | float) -> int:
        """The index of the nearest multiple, halves upwards, exactly. A float is taken as the binary number it is.

        An error does not show the value, which may be an exact statistic.
        """
        n, d = _exact_ratio(value)
        n, d = (n << -self.exponent, d) if self.exponent <= 0 else (n, d << self.exponent)
        return (2 * n + d) // (2 * d)

    def near_index(self, value: Fraction | float, name: str = "value") -> int:
        """`index`, refused beyond 2**61 steps from zero as `indices` refuses it."""
        index = self.index(value)
        if abs(index) > _INDEX_LIMIT:
            raise InvalidParameter(f"{name} must be {_NEAR}")
        return index

    def indices(self, values: Any) -> NDArray[np.int64]:
        """`index` of each element of an array.

        Scaling by a power of two, `floor` and the difference to it are exact in floating point wherever they decide:
        values are finite doubles, a result that underflows has index 0 either way, and `x - floor(x)` is exact by
        Sterbenz's lemma except for x in (-1/2, 0), where it is at least 1/2 however it is rounded.
        """
        array = plain_array("values", values, "iuf", _ARRAYS)
        if array.dtype.kind in "iu":
            return self._whole_indices(array)
        if array.dtype.itemsize > 8:
            raise InvalidParameter(f"values must be {_ARRAYS}")
        numbers = array.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise InvalidParameter("values must be finite")
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(numbers, -self.exponent)
        if scaled.size and float(np.abs(scaled).max()) > _INDEX_LIMIT:
            raise InvalidParameter(f"values must be {_NEAR}")
        floors = np.floor(scaled)
        return floors.astype(np.int64) + (scaled - floors >= 0.5)

    def _whole_indices(self, array: NDArray[Any]) -> NDArray[np.int64]:
        largest = max(-int(array.min()), int(array.max())) if array.size else 0
        if largest > _INDEX_LIMIT or largest > _INDEX_LIMIT * self.step:
            raise InvalidParameter(f"values must be {_NEAR}")
        whole = array.astype(np.int64)
        if self.exponent <= 0:
            return whole << -self.exponent if largest else whole
        if self.exponent > 62:
            return np.zeros_like(whole)  # less than half a step from zero
        return (whole + (1 << (self.exponent - 1))) >> self.exponent

    def value(self, index: int) -> float:
        """The multiple with this index, as the nearest finite float."""
        try:
            return math.ldexp(index, self.exponent)
        except OverflowError:  # the index alone may be beyond the doubles
            return float(max(min(index * self.step, Fraction(_LARGEST)), -Fraction(_LARGEST)))

    def values(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """The multiples with these indices, as the nearest finite floats."""
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(np.ldexp(indices.astype(np.float64), self.exponent), -_LARGEST, _LARGEST)

    def sensitivity_steps(self, sensitivity: Rational) -> int:
        """How many steps the index of a statistic can move: `ceil(sensitivity / step)`.

        A float is read from above (`upper_reading`): it may be a rounded number, such as `1 / 3`.
        """
        return math.ceil(upper_reading("sensitivity", sensitivity) / self.step)


def _exact_ratio(value: Any) -> tuple[int, int]:
    if isinstance(value, Integral):
        return int(value), 1
    if isinstance(value, Fraction):
        return value.numerator, value.denominator
    if not isinstance(value, Real) or not math.isfinite(value):
        raise InvalidParameter("value must be a finite number")
    n, d = value.as_integer_ratio() if hasattr(value, "as_integer_ratio") else float(value).as_integer_ratio()
    return int(n), int(d)


def upper_reading(name: str, value: Any) -> Fraction:
    """A positive number from above.

    A float that prints as what it is, such as 0.25 or 3.0, is taken as it is. Any other was rounded at least once: 0.1
    is a little above one tenth, 0.7 a little below seven tenths, and both readings of `1 / 3` are below a third. So the
    next float is taken, which is above every number that rounds to the given one.

    Examples
    --------
    >>> upper_reading("sensitivity", 1 / 3) > Fraction(1, 3), upper_reading("sensitivity", 0.25)
    (True, Fraction(1, 4))
    """
    decimal = rational(name, value, above=0)
    if isinstance(value, (Fraction, Integral)) or decimal == Fraction(float(value)):
        return decimal
    following = math.nextafter(float(value), math.inf)
    return Fraction(following) if math.isfinite(following) else max(decimal, Fraction(float(value)))


def check_grid(grid: Any) -> Grid | None:
    """A grid, or None for the default."""
    if grid is not None and not isinstance(grid, Grid):
        raise InvalidParameter(f"grid must be a noise.Grid, got a {type(grid).__name__}")
    return grid


__all__ = ["Grid"]
