"""The best private test of a proportion, exact at every n (Awan and Slavkovic 2018), with its interval.

The count X of ones gets Tulap noise, `Z = X + N`, and the p-value against larger proportions is

    p(Z) = P(X0 + N0 >= Z) = sum_x Bin(x; n, theta0) F_N(x - Z),      X0 ~ Bin(n, theta0).

It is uniform under the null exactly: X0 + N0 has a continuous law. So the level is alpha, not "at most alpha".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast import check
from holdfast.accounting.costs import Cost
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.noise_law import unprotected
from holdfast.inference.private_tests.noisy_binomial import Masses, critical_count
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.tulap import HALF_CELL, Tulap
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

Alternative = Literal["greater", "less", "two-sided"]
ALTERNATIVES = ("greater", "less", "two-sided")
#: Beyond this the sum over counts would hold tens of millions of terms.
LARGEST_N = 10**10


@dataclass(frozen=True)
class NoisyCount:
    """A count with Tulap noise: private, so it may be published, tested again and turned into an interval for nothing.

    Attributes
    ----------
    whole : int
        The count plus the whole part of the noise.
    fraction : float
        The uniform part of the noise, in (-1/2, 1/2).
    n : int
        Number of records; public.
    noise : Tulap
        The law of the noise.
    secure : bool
        False where the noise came from a seeded source; a test of such a count says so.

    Examples
    --------
    >>> seen = NoisyCount(14, 0.25, 30, Tulap(1))
    >>> seen.value, seen.cost
    (14.25, PureDP(epsilon=1.0))
    """

    whole: int
    fraction: float
    n: int
    noise: Tulap
    secure: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "whole", check.whole("whole", self.whole, at_least=-(2**62), at_most=2**62))
        object.__setattr__(self, "fraction", check.real("fraction", self.fraction, at_least=-0.5, at_most=0.5))
        object.__setattr__(self, "n", check.whole("n", self.n, at_least=1, at_most=LARGEST_N))
        if not isinstance(self.noise, Tulap):
            raise InvalidParameter(f"noise must be a Tulap law, got a {type(self.noise).__name__}")

    @property
    def value(self) -> float:
        """The noisy count as the nearest float."""
        return self.whole + self.fraction

    @property
    def cost(self) -> Cost:
        """What the release spent."""
        return self.noise.cost


def release_count(
    ones: int, n: int, *, epsilon: Rational, delta: Rational = 0, source: Source | None = None
) -> NoisyCount:
    """Release a count of ones among `n` records with Tulap noise, once.

    Parameters
    ----------
    ones : int
        The exact count, from 0 to n; neighbours, one record replaced, move it by at most one. No error shows it.
    n : int
        Number of records; public.
    epsilon, delta
        The cost: epsilon-DP, or (epsilon, delta)-DP, which cuts the noise off.
    source : Source, optional
        None for the operating system. A seeded source is for tests only.

    Examples
    --------
    >>> seen = release_count(540, 1000, epsilon=1)
    >>> abs(seen.value - 540) < 40, seen.cost
    (True, PureDP(epsilon=1.0))
    """
    noise = Tulap(epsilon, delta)
    n = check.whole("n", n, at_least=1, at_most=LARGEST_N)
    try:
        ones = check.whole("ones", ones, at_least=0, at_most=n)
    except InvalidParameter:
        raise InvalidParameter(f"ones must be a whole number from 0 to n = {n}, and it is not") from None
    whole, fraction = noise.draw(1, source)
    return NoisyCount(ones + int(whole[0]), float(fraction[0]), n, noise, not unprotected(source))


def proportion(
    ones: int | NoisyCount,
    n: int | None = None,
    theta0: float = 0.5,
    *,
    epsilon: Rational | None = None,
    delta: Rational = 0,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    source: Source | None = None,
) -> TestResult:
    """Test whether a proportion is `theta0`, privately; the level is exact.

    One-sided tests are uniformly most powerful among all tests of level alpha whose *decision* is
    (epsilon, delta)-DP for neighbours that replace one record (Awan and Slavkovic 2018; printed, checked here against
    a linear program). They get that power although they release the whole p-value. The two-sided one doubles the
    smaller one-sided p-value: exact level, since `p` is uniform, but not the most powerful (spec 8, reviewed).

    Parameters
    ----------
    ones : int or NoisyCount
        The exact count, which gets noise once, or a count that was released before.
    n : int
        Number of records; public. Not given with a `NoisyCount`.
    theta0 : float
        The proportion under the null, in (0, 1).
    epsilon, delta
        The cost of the release. Not given with a `NoisyCount`.
    alpha : float
        The level.
    alternative : {"two-sided", "greater", "less"}
        Which proportions the test looks for.
    source : Source, optional
        Of the privacy noise; None for the operating system.

    Returns
    -------
    TestResult
        Level exact. A count that was released before costs nothing more.
        The critical value is that of the noisy count: the upper one for "greater", the lower one for
        "less", none for "two-sided" (the details hold both). Time: O(n) up to a million records, then O(sqrt(n)).

    Examples
    --------
    >>> result = proportion(620, 1000, 0.5, epsilon=0.5)
    >>> result.level, result.reject, result.cost
    ('exact', True, PureDP(epsilon=0.5))
    >>> proportion(NoisyCount(14, 0.25, 30, Tulap(1)), theta0=0.3, alternative="greater").p_value   # spec TV-45
    0.0369182583...
    """
    theta0, alpha = check.probability("theta0", theta0), check.probability("alpha", alpha)
    check.choice("alternative", alternative, ALTERNATIVES)
    if isinstance(ones, NoisyCount):
        if n is not None or epsilon is not None or delta != 0:
            raise InvalidParameter("n, epsilon and delta are those of the released count: do not give them again")
        seen, cost = ones, ones.noise.nothing
    else:
        if epsilon is None or n is None:
            raise InvalidParameter("n and epsilon must be given with an exact count")
        seen = release_count(ones, n, epsilon=epsilon, delta=delta, source=source)
        cost = seen.cost
    p = noisy_p_value(seen, theta0, alternative)
    share = alpha / 2 if alternative == "two-sided" else alpha
    upper = None if alternative == "less" else critical_count(seen.n, theta0, share, seen.noise)
    lower = None if alternative == "greater" else seen.n - critical_count(seen.n, 1 - theta0, share, seen.noise)
    return TestResult(
        test=f"binomial ({alternative})",
        statistic=seen.value,
        p_value=p,
        critical_value=upper if alternative == "greater" else lower if alternative == "less" else None,
        alpha=alpha,
        reject=p <= alpha,
        null_returned=None,
        cost=cost,
        level="exact",
        warnings=source_warning(seen),
        n=seen.n,
        details={
            "theta0": theta0,
            "alternative": alternative,
            "noise": seen.noise.to_dict(),
            "noisy_count": [seen.whole, seen.fraction],
            "estimate": min(max(seen.value / seen.n, 0.0), 1.0),
            "lower_critical_count": lower,
            "upper_critical_count": upper,
        },
    )


def source_warning(seen: NoisyCount) -> tuple[str, ...]:
    """What a result must say of a count whose noise came from a seeded source."""
    return () if seen.secure else ("the count was released with noise that protects nobody: for tests only",)


def noisy_p_value(seen: NoisyCount, theta0: float, alternative: Alternative = "two-sided") -> float:
    """The exact p-value of a released count, rounded upwards; `P(p <= alpha) = alpha` under the null.

    Spec 8: "greater" is `sum_x Bin(x; n, theta0) F(x - Z)`, "less" its complement, "two-sided" twice the smaller. The
    fraction is known to its cell of width `2**-52`, and the end of the cell with the larger p-value is taken.

    Examples
    --------
    >>> seen = NoisyCount(14, 0.25, 30, Tulap(1))
    >>> [round(noisy_p_value(seen, 0.3, side), 8) for side in ("greater", "less", "two-sided")]
    [0.03691826, 0.96308174, 0.07383652]
    """
    theta0 = check.probability("theta0", theta0)
    check.choice("alternative", alternative, ALTERNATIVES)
    sides = {"greater": (1,), "less": (-1,), "two-sided": (1, -1)}[alternative]
    found = []
    for sign in sides:
        if sign > 0:
            found.append(_upper_tail(seen.whole, seen.fraction, seen.n, theta0, seen.noise))
        else:  # zeros instead of ones, and the law of the noise is symmetric
            found.append(_upper_tail(seen.n - seen.whole, -seen.fraction, seen.n, 1 - theta0, seen.noise))
    return min(1.0, len(sides) * min(found))


def p_value(
    z: float,
    n: int,
    theta0: float,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    alternative: Alternative = "two-sided",
) -> float:
    """`noisy_p_value` of a noisy count given as one number, for counts that others released with Tulap noise.

    Examples
    --------
    >>> p_value(14.25, 30, 0.3, epsilon=1, alternative="greater")
    0.0369182583...
    """
    z = check.real("z", z, at_least=-(2.0**52), at_most=2.0**52)
    whole = math.floor(z + 0.5)
    return noisy_p_value(NoisyCount(whole, z - whole, n, Tulap(epsilon, delta)), theta0, alternative)


def interval(seen: NoisyCount, confidence: float = 0.95) -> tuple[float, float]:
    """All proportions that the two-sided test does not reject at `1 - confidence`: covers with that probability.

    Inverts the one-sided p-values, which are monotone in `theta0`; limits are rounded outwards. Costs nothing more.

    Examples
    --------
    >>> low, high = interval(NoisyCount(540, 0.25, 1000, Tulap(1)))
    >>> round(low, 4), round(high, 4)
    (0.5092, 0.5711)
    """
    share = (1 - check.probability("confidence", confidence)) / 2

    def limit(whole: int, fraction: float) -> float:
        low, high = 0.0, 1.0  # p-value of "greater" grows from low to high
        for _ in range(60):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            if _upper_tail(whole, fraction, seen.n, middle, seen.noise) <= share:
                low = middle
            else:
                high = middle
        return low

    return limit(seen.whole, seen.fraction), 1 - limit(seen.n - seen.whole, -seen.fraction)


def _upper_tail(whole: int, fraction: float, n: int, theta: float, noise: Tulap) -> float:
    """`Masses.tail` from above: the worst point of the fraction's cell, and more than the rounding of the sum."""
    if theta in (0.0, 1.0):  # the ends of the search for a limit
        return 1.0 if theta == 1.0 else float(noise.cdf_at(np.array([-whole]), -fraction)[0])
    law = Masses(n, theta)
    p = law.tail(whole, max(fraction - HALF_CELL, -0.5), noise)
    # With a cut-off the tails are differences of numbers of order one, and lose their digits there.
    p = p * (1 + law.error) + (1e-15 / (1 - noise.q) if noise.q else 0.0)
    return min(1.0, max(p, 5e-324))  # underflow is no p-value of zero


__all__ = [
    "Alternative",
    "NoisyCount",
    "interval",
    "noisy_p_value",
    "p_value",
    "proportion",
    "release_count",
]
