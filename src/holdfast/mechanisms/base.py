"""What all mechanisms share: public parameters, a cost, a guarantee; and nothing about the values they protect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from holdfast.accounting.costs import Cost
from holdfast.bounds.numerics.exact import float_up
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.noise.inputs import plain_array

Range = tuple[float, float] | None
"""A public range to clip to, or None."""

NEIGHBOURS = "neighbours replace one row, n public"
"""The assumption behind every central cost."""

LOCAL = "neighbours replace one person's own value"
"""The assumption behind every local cost."""


@runtime_checkable
class Mechanism(Protocol):
    """A frozen set of public parameters of a mechanism, with the privacy cost of one use.

    Examples
    --------
    >>> from holdfast.mechanisms import Laplace
    >>> mechanism = Laplace(sensitivity=1 / 1000, epsilon=0.5)
    >>> isinstance(mechanism, Mechanism), mechanism.cost, mechanism.guarantee.theorem
    (True, PureDP(epsilon=0.5), 'mechanism.laplace')
    """

    @property
    def cost(self) -> Cost:
        """The privacy cost of one use."""

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""


@dataclass(frozen=True, eq=False)
class LocalEstimate:
    """An unbiased estimate from the answers of `n` people, with the standard error that the noise causes.

    Examples
    --------
    >>> LocalEstimate(0.5, 0.01, 100).to_dict()
    {'value': 0.5, 'standard_error': 0.01, 'n': 100}
    """

    value: Any
    standard_error: Any
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        parts = {"value": self.value, "standard_error": self.standard_error, "n": self.n}
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in parts.items()}


def plain(x: Fraction | float) -> float:
    """Return a public parameter as a float, for `to_dict()` and guarantees; a fraction is rounded up, as costs are.

    Examples
    --------
    >>> plain(0.1), Fraction(plain(Fraction(1, 3))) > Fraction(1, 3)
    (0.1, True)
    """
    return x if isinstance(x, float) else float_up(Fraction(x))


def check_range(clip: Any) -> Range:
    """Return a public range `(low, high)` that released values are moved into, or None."""
    if clip is None:
        return None
    ends = arguments.reals("clip", clip)
    if len(ends) != 2:
        raise InvalidParameter(f"clip must be a pair (low, high), got {len(ends)} numbers")
    low, high = ends
    if low > high:
        raise InvalidParameter(f"clip must be a pair (low, high) with low <= high, got ({low:g}, {high:g})")
    return low, high


def clipped(answer: float | npt.NDArray[np.float64], clip: Range) -> float | npt.NDArray[np.float64]:
    """Return a noisy answer moved into a public range: post-processing."""
    if clip is None:
        return answer
    return np.clip(answer, *clip) if isinstance(answer, np.ndarray) else min(max(answer, clip[0]), clip[1])


def one_vector(value: Any, dimension: int) -> Any:
    """Return the value of one release: a number, or an array of exactly `dimension` numbers. Errors show no value."""
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)):
        array = plain_array("value", value, "iuf", "a number or an array of numbers")
        if array.size != dimension:
            raise InvalidParameter(
                f"one release has {dimension} number{'s' if dimension > 1 else ''}, got {array.size}; the cost is "
                "stated for a vector of exactly this dimension"
            )
        return array
    if dimension != 1:
        raise InvalidParameter(f"one release has {dimension} numbers, got one")
    return value
