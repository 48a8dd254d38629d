"""Discount sequences of online tests, and discounted sums of a growing history in constant time and memory.

An online test multiplies every wealth that it earned by a discount `gamma_j` that falls with the age `j`. For the power
distribution and for LORD's sequence there is a density `g` with

    gamma_j = integral over s > 0 of exp(-j s) g(s) ds,

so the trapezoid rule in `log s` turns the whole sequence beyond some age into about 200 exponentials, to twelve digits.
Exponentials can be aged all at once, which is what makes a test's cost independent of its history.

Memory
------
An online level is `sum over earlier rewards of w_i * gamma(age_i)`. All rewards age together, one step at a time. The
recent ones, of age up to `2 B`, are kept by age and summed directly. Those beyond are kept as about 200 numbers: for
each exponential of `Discount.exponentials` the sum of `w_i exp(-rate age_i)`, which one multiplication ages.

Cost. A query is two dot products of fixed length, `2 B` and the number of exponentials. After every `B` steps of age
the older half of the recent rewards moves into the exponentials: one product of a `B` by 200 matrix, a constant share a
step. Nothing depends on how many tests there were or how many of them rejected. Accuracy: recent rewards are exact;
older ones are within 1e-12, relative and on either side, plus at most 5e-16 of rounding a block of age: 4e-12 more
after a million tests. A level that is larger by a factor `1 + x` makes the false discovery rate larger by at most that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.core import arguments
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
    """A sequence of non-negative numbers with a sum of at most 1, used as weights of the tests in a stream.

    `kind` "power" is `constant / j^exponent` for `j = 1, 2, ...`. `kind` "lord" is `constant log(max(j, 2)) / (j
    exp(sqrt(log j)))`. The sum may exceed 1 in the last digit of the published constant.

    Examples
    --------
    >>> round(SAFFRON.value(1), 10), round(LORD.value(2), 8)
    (0.4374901658, 0.01163821)
    """

    kind: Literal["power", "lord"]
    constant: float
    exponent: float = 1.0

    def __post_init__(self) -> None:
        arguments.choice("kind", self.kind, ("power", "lord"))
        arguments.real("constant", self.constant, above=0, at_most=1)
        if self.kind == "power":
            arguments.real("exponent", self.exponent, above=1, at_most=MOST_STEEP)
            from scipy.special import zeta

            if self.constant * float(zeta(self.exponent)) > 1 + 1e-9:
                raise InvalidParameter(
                    "constant must be at most 1/zeta(exponent), so that the sequence sums to at most 1, got "
                    f"{self.constant:g}"
                )
        elif self.constant > LORD_LARGEST:
            raise InvalidParameter(
                f"constant must be at most {LORD_LARGEST} for LORD's sequence, got {self.constant:g}"
            )

    def value(self, age: int) -> float:
        """Return the term of the sequence at an age, a whole number of at least 1."""
        if self.kind == "power":
            return self.constant / math.pow(float(age), self.exponent)
        return self.constant * math.log(max(age, 2)) / (age * math.exp(math.sqrt(math.log(age))))

    def exponentials(self, beyond: int) -> Exponentials:
        """Return an approximation of the terms at ages above `beyond`, as a sum of exponentials.

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
    """Return the sequence `j^-exponent` divided by its sum, for an exponent above 1 and at most 3.

    Examples
    --------
    >>> round(power_law(2.0).value(1) * math.pi**2 / 6, 9)
    1.0
    """
    from scipy.special import zeta

    exponent = arguments.real("exponent", exponent, above=1, at_most=MOST_STEEP)
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
    density: Array = (terms * slope[None, :]).sum(axis=1) * 0.02
    return density


BLOCK = 128


class _Tables(NamedTuple):
    recent: Array  # gamma of ages 2B, ..., 1
    far: Array  # row q: weights * exp(-rates q)
    moving: Array  # row o: exp(-rates (B - o)), what a reward at place o becomes when its block moves
    block: Array  # exp(-rates B)


class Memory:
    """Rewards and their common age; `value` is what they are worth now.

    Examples
    --------
    >>> from holdfast.inference.online.discount import SAFFRON
    >>> memory = Memory(SAFFRON)
    >>> memory.add(0.025)
    >>> for _ in range(1000):
    ...     memory.age()
    >>> abs(memory.value / (0.025 * SAFFRON.value(1001)) - 1) < 1e-12
    True
    """

    def __init__(self, discount: Discount) -> None:
        self._tables = _tables(discount)
        self._recent = np.zeros(2 * BLOCK)
        self._far = np.zeros(self._tables.block.size)
        self._any_far = False
        self._place = 1

    @property
    def value(self) -> float:
        """The sum of rewards, each times the discount at its age; at least 0."""
        place, tables = self._place, self._tables
        worth = float(np.dot(self._recent[:place], tables.recent[2 * BLOCK - place :]))
        if self._any_far:
            worth += max(float(np.dot(tables.far[place], self._far)), 0.0)
        return worth

    def add(self, reward: float) -> None:
        """Add a reward of age 1 at the next query."""
        self._recent[self._place - 1] += reward

    def age(self) -> None:
        """Age every reward by one step."""
        self._place += 1
        if self._place > 2 * BLOCK:
            self._move()

    def _move(self) -> None:
        self._far = self._far * self._tables.block + self._recent[:BLOCK] @ self._tables.moving
        self._any_far = True
        self._recent[:BLOCK] = self._recent[BLOCK:]
        self._recent[BLOCK:] = 0.0
        self._place -= BLOCK

    def state(self) -> dict[str, Any]:
        """Return plain data; exact."""
        return {"place": self._place, "recent": self._recent.tolist(), "far": self._far.tolist()}

    def restore(self, state: Any) -> None:
        """Read `state()` back."""
        if not isinstance(state, dict) or set(state) != {"place", "recent", "far"}:
            raise InvalidParameter("a stored memory must be a dict with place, recent and far")
        place = arguments.whole("place", state["place"], at_least=1, at_most=2 * BLOCK)
        recent = np.array(arguments.reals("recent", state["recent"], at_least=0))
        far = np.array(arguments.reals("far", state["far"], at_least=0))
        if recent.shape != self._recent.shape or far.shape != self._far.shape:
            raise InvalidParameter("a stored memory must have as many numbers as this discount needs")
        self._place, self._recent, self._far = place, recent, far
        self._any_far = bool(far.any())


@lru_cache(maxsize=16)
def _tables(discount: Discount) -> _Tables:
    weights, rates = discount.exponentials(BLOCK)
    recent = np.array([discount.value(age) for age in range(2 * BLOCK, 0, -1)])
    places = np.arange(2 * BLOCK + 1)
    far = weights * np.exp(-places[:, None] * rates)
    moving = np.exp(-(BLOCK - np.arange(BLOCK))[:, None] * rates)
    for table in (recent, far, moving):
        table.flags.writeable = False
    return _Tables(recent, far, moving, np.exp(-BLOCK * rates))
