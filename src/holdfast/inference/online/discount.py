"""Discount sequences of online tests, and each one as a short sum of exponentials.

An online test multiplies every wealth that it earned by a discount `gamma_j` that falls with the age `j`. For the power
law and for LORD's sequence there is a density `g` with

    gamma_j = integral over s > 0 of exp(-j s) g(s) ds,

so the trapezoid rule in `log s` turns the whole sequence beyond some age into about 200 exponentials, to twelve digits.
Exponentials can be aged all at once, which is what makes a test's cost independent of its history.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.errors import InvalidParameter

Array = npt.NDArray[np.float64]
FARTHEST = 1e10
"""Ages up to here are exact to twelve digits; beyond, the discount falls below the literature's, which is safe."""

MOST_STEEP = 3.0
"""The largest exponent of a power law: with steeper ones the trapezoid rule loses digits (8e-9 at 10)."""

_STEP = 0.26  # of log s: the trapezoid's error is 2 |Gamma(p + 2 pi i/h)|/Gamma(p), below 1e-13
_CUT = 38.0  # exp(-38) is below 1e-16


class Exponentials(NamedTuple):
    """`sum of weights * exp(-rates * j)`."""

    weights: Array
    rates: Array


@dataclass(frozen=True)
class Discount:
    """A non-negative sequence that sums to at most 1 (up to the printed constant's last digit).

    `kind` "power": `constant / j^exponent`. `kind` "lord": `constant log(max(j, 2)) / (j exp(sqrt(log j)))`.

    Examples
    --------
    >>> round(SAFFRON.value(1), 10), round(LORD.value(2), 8)
    (0.4374901658, 0.01163821)
    """

    kind: Literal["power", "lord"]
    constant: float
    exponent: float = 1.0

    def __post_init__(self) -> None:
        check.choice("kind", self.kind, ("power", "lord"))
        check.real("constant", self.constant, above=0, at_most=1)
        if self.kind == "power":
            check.real("exponent", self.exponent, above=1, at_most=MOST_STEEP)
            from scipy.special import zeta

            if self.constant * float(zeta(self.exponent)) > 1 + 1e-9:
                raise InvalidParameter(f"constant must be at most 1/zeta(exponent), got {self.constant:g}")
        elif self.constant > LORD_LARGEST:
            raise InvalidParameter(
                f"constant must be at most {LORD_LARGEST} for LORD's sequence, got {self.constant:g}"
            )

    def value(self, age: int) -> float:
        """The discount at an age of at least 1."""
        if self.kind == "power":
            return self.constant / math.pow(float(age), self.exponent)
        return self.constant * math.log(max(age, 2)) / (age * math.exp(math.sqrt(math.log(age))))

    def exponentials(self, beyond: int) -> Exponentials:
        """The sequence at ages above `beyond`, as a sum of exponentials.

        Examples
        --------
        >>> weights, rates = SAFFRON.exponentials(128)
        >>> bool(abs((weights * np.exp(-rates * 5000)).sum() / SAFFRON.value(5000) - 1) < 1e-12)
        True
        """
        return _exponentials(self, beyond)


LORD_LARGEST = 0.0790819667
"""One over the sum of `log(max(j, 2))/(j exp(sqrt(log j)))` over all `j`, rounded down (Euler-Maclaurin, 30 digits)."""
LORD = Discount("lord", 0.07720838)
"""LORD's sequence with the constant in use since Javanmard and Montanari (2018). It sums to 0.9763, not to 1."""
SAFFRON = Discount("power", 0.4374901658, 1.6)
"""SAFFRON's sequence, `j^-1.6` over its sum (Ramdas, Zrnic, Wainwright and Jordan 2018). The constant in use has ten
digits; with it the sequence sums to 1 + 6e-11."""


def power_law(exponent: float) -> Discount:
    """Return `j^-exponent` over its sum, for an exponent above 1 and at most 3.

    Examples
    --------
    >>> round(power_law(2.0).value(1) * math.pi**2 / 6, 9)
    1.0
    """
    from scipy.special import zeta

    exponent = check.real("exponent", exponent, above=1, at_most=MOST_STEEP)
    return Discount("power", (1 - 1e-12) / float(zeta(exponent)), exponent)


@lru_cache(maxsize=16)
def _exponentials(discount: Discount, beyond: int) -> Exponentials:
    power = discount.exponent if discount.kind == "power" else 1.0
    # integral below s0 relative to the whole at age j: (j s0)^p / (p Gamma(p)), to be below 1e-13 at the farthest age
    low = math.log((1e-13 * math.gamma(power + 1)) ** (1 / power) / FARTHEST)
    high = math.log(_CUT / beyond)
    logs = np.arange(low, high + _STEP, _STEP)
    rates = np.exp(logs)
    is_power = discount.kind == "power"
    density = np.exp(logs * (power - 1)) / math.gamma(power) if is_power else _lord_density(logs)
    return Exponentials(discount.constant * _STEP * rates * density, rates)


def _lord_density(logs: Array) -> Array:
    """The density of `log(j)/(j exp(sqrt(log j)))`.

    `exp(-sqrt x)` is the Laplace transform of `L(u) = exp(-1/(4u)) / (2 sqrt(pi) u^1.5)`. With `x = log j` this makes
    `exp(-x - sqrt x)` a mixture of powers `j^-(1+u)`; the factor `x` is minus a derivative in `u`, moved to `L` by
    parts; and `j^-(1+u)` has the density `s^u / Gamma(1+u)`. The integral over `u` is a trapezoid rule in `log u`,
    where the integrand falls doubly exponentially on both sides.
    """
    from scipy.special import gammaln

    v = np.arange(math.log(0.002), math.log(200.0), 0.02)
    u = np.exp(v)
    log_levy = -1 / (4 * u) - 1.5 * v - math.log(2 * math.sqrt(math.pi))
    slope = 1 / (4 * u * u) - 1.5 / u  # L'/L
    terms = np.exp(log_levy[None, :] + logs[:, None] * u[None, :] - gammaln(1 + u)[None, :] + v[None, :])
    found: Array = (terms * slope[None, :]).sum(axis=1) * 0.02
    return found


__all__ = ["FARTHEST", "LORD", "SAFFRON", "Discount", "Exponentials", "power_law"]
