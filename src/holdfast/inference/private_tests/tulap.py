"""The Tulap law: the noise that makes the best private test of a proportion (Awan and Slavkovic 2018).

`N = L + U`: L discrete Laplace with ratio `b = exp(-epsilon)`, U uniform on `(-1/2, 1/2)`. For `(epsilon, delta)` it is
cut off symmetrically where each tail has mass `q/2`, `q = 2 delta b / (1 - b + 2 delta b)`.

How floats are handled
----------------------
A draw is a whole number and a fraction, and they stay apart. The whole number comes from the exact integer sampler of
`holdfast.noise`, the fraction is the middle of one of `2**52` equal cells of `(-1/2, 1/2)`, a double exactly. Added to
a count only the whole number meets the data, in integer arithmetic; the fraction is independent of it. So no rounding
touches privacy: without a cut-off the release is the discrete Laplace mechanism and an independent fraction. With one,
the cut lies on an end of a cell, so a cell is inside or outside as a whole, and it is moved outwards, never inwards,
from the ideal one, which makes `delta` smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.accounting.costs import ApproxDP, Cost, PureDP
from holdfast.bounds.exact import float_up
from holdfast.errors import InvalidParameter
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.laplace import discrete_laplace

#: Cells of the uniform part.
CELL_BITS = 52
HALF_CELL = 2.0 ** -(CELL_BITS + 1)
#: The cut-off lies on multiples of this, which are ends of cells.
_CUT_STEP = 2.0**-40
#: A draw is tried again with probability q; beyond this the noise would be uniform in all but name.
_LARGEST_Q = 0.999


@dataclass(frozen=True)
class Tulap:
    """The law of the noise on one count, for neighbours that move it by at most one.

    Parameters
    ----------
    epsilon : Fraction, int or float
        Positive, at least 1e-6; a float means the decimal it prints as.
    delta : Fraction, int or float
        In [0, 1). Zero is no cut-off.

    Notes
    -----
    Privacy (derived here; Awan and Slavkovic 2018 prove that the tests it gives are the best). The density at x is
    `(1 - b)/(1 + b) b**|[x]|`, `[x]` the nearest whole number, so a shift by one changes it by the factor `e**epsilon`
    or its inverse, everywhere. That is epsilon-DP. Cut off at `t`, both neighbours have the same normalisation, the
    ratio is the same wherever both have density, and the only loss is the mass `P(t - 1 < N <= t)` that has no image
    under the shift. Since `P(N > t - 1) <= e**epsilon P(N > t)`, it is at most `(q/2)(1/b - 1)/(1 - q)`, which is delta
    for the q above.

    Examples
    --------
    >>> law = Tulap(1)
    >>> [round(float(law.cdf(x)), 10) for x in (-1.2, 0.3, 2.75)]        # spec TV-45
    [0.1499390403, 0.6386351472, 0.9693546012]
    >>> law.cost, Tulap(1, 0.01).cost
    (PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=0.01))
    >>> round(Tulap(1, 0.01).cut, 4)
    4.4023
    """

    epsilon: Rational
    delta: Rational = 0

    def __post_init__(self) -> None:
        epsilon = rational("epsilon", self.epsilon, above=0)
        if not 1e-6 <= epsilon <= 700:
            raise InvalidParameter(f"epsilon must be a number in [1e-06, 700], got {float(epsilon):g}")
        delta = rational("delta", self.delta, at_least=0)
        check.probability("delta", float(delta), zero=True)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        if self._ideal_q > _LARGEST_Q:
            raise InvalidParameter(
                f"delta must be smaller beside epsilon = {float(epsilon):g}, got {float(delta):g}: the noise would be "
                "cut to next to nothing"
            )

    @property
    def cost(self) -> Cost:
        """What one release of a count spends."""
        epsilon = float_up(Fraction(self.epsilon))
        return ApproxDP(epsilon, float_up(Fraction(self.delta))) if self.delta else PureDP(epsilon)

    @property
    def nothing(self) -> Cost:
        """The cost of testing a count that was released before."""
        return PureDP(0.0)

    @cached_property
    def _eps(self) -> float:
        return float(self.epsilon)

    @property
    def _ideal_q(self) -> float:
        b = math.exp(-self._eps)
        return 2 * float(self.delta) * b / (-math.expm1(-self._eps) + 2 * float(self.delta) * b)

    @cached_property
    def _cut(self) -> tuple[int, float] | None:
        """The cut-off as whole number and fraction in `(-1/2, 1/2]`; None where there is none."""
        if not self.delta:
            return None
        e, tail = self._eps, self._ideal_q / 2
        b = math.exp(-e)
        # The tail beyond whole + 1/2 is b**(whole + 1) / (1 + b); the first whole number where it is small enough.
        whole = max(0, math.ceil(-(math.log(tail) + math.log1p(b) + math.log1p(-1e-12)) / e - 1))
        gap = -math.expm1(-e)
        fraction = 0.5 - (math.exp(math.log(tail) + math.log1p(b) + whole * e) - b) / gap
        fraction += 2.0**-30 + 1e-12 / gap  # outwards, beyond any rounding above
        fraction = math.ceil(max(fraction, -0.5) / _CUT_STEP) * _CUT_STEP
        return whole, min(fraction, 0.5)

    @property
    def cut(self) -> float:
        """Where the noise ends, `inf` without a cut-off."""
        return math.inf if self._cut is None else self._cut[0] + self._cut[1]

    @property
    def kinks(self) -> list[float]:
        """Fractions between which the cdf is a straight line around every whole number."""
        return sorted({-0.5, 0.5} | (set() if self._cut is None else {-self._cut[1], self._cut[1]}))

    @cached_property
    def q(self) -> float:
        """The mass that the cut-off takes from the whole law: at most the `q` of the paper, zero without a cut-off."""
        return 0.0 if self._cut is None else 2 * float(self._whole_cdf(np.array(-self._cut[0]), -self._cut[1]))

    def _whole_cdf(self, whole: NDArray[Any], fraction: Any) -> NDArray[np.float64]:
        """`P(N <= whole + fraction)` of the law without a cut-off, `fraction` in [-1/2, 1/2]; tails keep digits."""
        e = self._eps
        b, gap = math.exp(-e), -math.expm1(-e)
        with np.errstate(under="ignore"):
            size = np.exp(-e * np.abs(whole)) / (1 + b)
            below, above = size * (b + (0.5 + fraction) * gap), 1 - size * (b + (0.5 - fraction) * gap)
        found: NDArray[np.float64] = np.where(whole <= 0, below, above)
        return found

    def cdf_at(self, whole: NDArray[Any], fraction: Any) -> NDArray[np.float64]:
        """`P(N <= whole + fraction)` for whole numbers and a fraction in [-1/2, 1/2]: no rounding decides a branch."""
        inside = self._whole_cdf(whole, fraction)
        if self.q == 0.0:
            return inside
        return np.clip((inside - self.q / 2) / (1 - self.q), 0.0, 1.0)

    def cdf(self, x: Any) -> NDArray[np.float64]:
        """`P(N <= x)`.

        Examples
        --------
        >>> float(Tulap(0.5).cdf(0))
        0.5
        """
        x = np.asarray(x, dtype=np.float64)
        whole = np.floor(x + 0.5)
        return self.cdf_at(whole, x - whole)

    def draw(self, size: int, source: Source | None = None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Independent draws as whole numbers and fractions in `(-1/2, 1/2)`. Exact; see the module's notes."""
        size = check.whole("size", size, at_least=0)
        origin = resolve(source)
        wholes, fractions = np.empty(size, dtype=np.int64), np.empty(size)
        places = np.arange(size)
        while places.size:
            whole = discrete_laplace(1 / Fraction(self.epsilon), places.size, source=origin)
            cell = (origin.words(places.size) >> np.uint64(64 - CELL_BITS)).astype(np.int64)
            fraction = (2 * cell + 1 - (1 << CELL_BITS)).astype(np.float64) * HALF_CELL
            wholes[places], fractions[places] = whole, fraction
            if self._cut is None:
                break
            end, part = self._cut
            far = np.abs(whole)
            outwards = np.where(whole < 0, -fraction, fraction)
            # A delta below one leaves more than the middle cell, so at whole = 0 nothing is cut.
            beyond = (far > end) | ((far == end) & (outwards > part))
            places = places[beyond]
        return wholes, fractions

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "law": "tulap",
            "epsilon": self._eps,
            "delta": float(self.delta),
            "cut": None if self._cut is None else self.cut,
            "q": self.q,
        }


def cdf(x: Any, epsilon: Rational, delta: Rational = 0) -> NDArray[np.float64]:
    """`Tulap(epsilon, delta).cdf(x)`.

    Examples
    --------
    >>> [round(float(value), 4) for value in cdf([-1.2, 0.3], 1)]
    [0.1499, 0.6386]
    """
    return Tulap(epsilon, delta).cdf(x)


__all__ = ["CELL_BITS", "Tulap", "cdf"]
