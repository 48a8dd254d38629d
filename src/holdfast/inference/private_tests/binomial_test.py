"""The best private test of a proportion, exact at every n (Awan and Slavkovic 2018), its interval and its noise.

The count X of ones gets Tulap noise, `Z = X + N`, and the p-value against larger proportions is

    p(Z) = P(X0 + N0 >= Z) = sum_x Bin(x; n, theta0) F_N(x - Z),      X0 ~ Bin(n, theta0).

It is uniform under the null exactly: X0 + N0 has a continuous distribution. So the level is alpha, not "at most alpha".

The Tulap distribution
----------------------
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
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting.costs import ApproxDP, Cost, PureDP
from holdfast.bounds.numerics.exact import float_up
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.noise_law import unprotected
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.laplace import discrete_laplace

# --- Binomial test ----------------------------------------------------------------------------------------------------

#: Cells of the uniform part.
CELL_BITS = 52
HALF_CELL = 2.0 ** -(CELL_BITS + 1)
#: The cut-off lies on multiples of this, which are ends of cells.
_CUT_STEP = 2.0**-40
#: A draw is tried again with probability q; beyond this the noise would be uniform in all but name.
_LARGEST_Q = 0.999


@dataclass(frozen=True)
class Tulap:
    """The Tulap distribution, which is the distribution of the noise on one count.

    Neighbouring data sets change the count by at most one.

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
        arguments.probability("delta", float(delta), zero=True)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        if self._ideal_q > _LARGEST_Q:
            raise InvalidParameter(
                f"delta must be smaller for epsilon = {float(epsilon):g}, got {float(delta):g}: almost all of the "
                f"noise would be cut off"
            )

    @property
    def cost(self) -> Cost:
        """The privacy cost of releasing one count with this noise."""
        epsilon = float_up(Fraction(self.epsilon))
        return ApproxDP(epsilon, float_up(Fraction(self.delta))) if self.delta else PureDP(epsilon)

    @property
    def nothing(self) -> Cost:
        """The cost of testing a count that was already released, which is zero."""
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
        """The largest size that the noise can have; `inf` if it is not cut off."""
        return math.inf if self._cut is None else self._cut[0] + self._cut[1]

    @property
    def kinks(self) -> list[float]:
        """The fractions, around every whole number, between which the cdf is a straight line."""
        return sorted({-0.5, 0.5} | (set() if self._cut is None else {-self._cut[1], self._cut[1]}))

    @cached_property
    def q(self) -> float:
        """The probability that the cut-off takes from the whole distribution; zero without a cut-off.

        It is at most the `q` of the paper.
        """
        return 0.0 if self._cut is None else 2 * float(self._whole_cdf(np.array(-self._cut[0]), -self._cut[1]))

    def _whole_cdf(self, whole: NDArray[Any], fraction: Any) -> NDArray[np.float64]:
        """`P(N <= whole + fraction)` of the distribution without a cut-off, `fraction` in [-1/2, 1/2]; tails keep
        digits.
        """
        e = self._eps
        b, gap = math.exp(-e), -math.expm1(-e)
        with np.errstate(under="ignore"):
            size = np.exp(-e * np.abs(whole)) / (1 + b)
            below, above = size * (b + (0.5 + fraction) * gap), 1 - size * (b + (0.5 - fraction) * gap)
        probability: NDArray[np.float64] = np.where(whole <= 0, below, above)
        return probability

    def cdf_at(self, whole: NDArray[Any], fraction: Any) -> NDArray[np.float64]:
        """Return `P(N <= whole + fraction)`, for whole numbers and a fraction in [-1/2, 1/2].

        The point is given in two parts so that rounding has no influence on which branch of the formula is used.
        """
        inside = self._whole_cdf(whole, fraction)
        if self.q == 0.0:
            return inside
        return np.clip((inside - self.q / 2) / (1 - self.q), 0.0, 1.0)

    def cdf(self, x: Any) -> NDArray[np.float64]:
        """Return the distribution function, `P(N <= x)`.

        Examples
        --------
        >>> float(Tulap(0.5).cdf(0))
        0.5
        """
        x = np.asarray(x, dtype=np.float64)
        whole = np.floor(x + 0.5)
        return self.cdf_at(whole, x - whole)

    def draw(self, size: int, source: Source | None = None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return independent draws of the noise, as whole numbers and fractions in `(-1/2, 1/2)`.

        The draws have exactly the distribution; see the notes of the module.
        """
        size = arguments.whole("size", size, at_least=0)
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
        """Return the fields as plain data: numbers, texts, lists and mappings."""
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


#: Binomial mass beyond the summed window is below exp(-745), less than the smallest double.
_WINDOW = 745.0


class Masses:
    """The binomial distribution on the counts that matter: Bernstein's inequality leaves less than `exp(-745)`
    outside.
    """

    __slots__ = ("counts", "error", "masses")

    def __init__(self, n: int, theta: float) -> None:
        from scipy.stats import binom

        spread = n * theta * (1 - theta)
        reach = _WINDOW / 3 + math.sqrt(_WINDOW**2 / 9 + 2 * _WINDOW * spread)
        first, last = max(0, math.floor(n * theta - reach)), min(n, math.ceil(n * theta + reach))
        self.counts = np.arange(first, last + 1)
        with np.errstate(under="ignore"):
            self.masses: NDArray[np.float64] = binom.pmf(self.counts, n, theta)
        # Measured against 40 digits: 2e-12 at a million, 2e-11 at 10**9, 3e-10 at 10**10.
        self.error = 1e-11 * max(1.0, math.sqrt(n / 1e6))

    def tail(self, whole: int, fraction: float, noise: Tulap) -> float:
        """`P(X + N >= whole + fraction)`."""
        with np.errstate(under="ignore"):
            return float(self.masses @ noise.cdf_at(self.counts - whole, -fraction))


def critical_count(n: int, theta0: float, alpha: float, noise: Tulap) -> float:
    """Return the noisy count from which "greater" rejects at `alpha`.

    Between whole numbers plus one half the p-value falls in a straight line, or in two or three where the noise is cut
    off, so the last step is solved, not searched.
    """
    masses = Masses(n, theta0)
    reach = min(noise.cut, (745 + math.log(1 / alpha)) / float(noise.epsilon)) + 2
    low, high = math.floor(-reach), math.ceil(n + reach)  # p > alpha at low - 1/2, p <= alpha at high + 1/2
    while high - low > 1:
        middle = (low + high) // 2
        if masses.tail(middle, 0.5, noise) <= alpha:
            high = middle
        else:
            low = middle
    ends = noise.kinks
    tails = [masses.tail(high, end, noise) for end in ends]
    piece = next(i for i in range(1, len(ends)) if tails[i] <= alpha or i == len(ends) - 1)
    (start, stop), (before, after) = ends[piece - 1 : piece + 1], tails[piece - 1 : piece + 1]
    share = min(1.0, max(0.0, (before - alpha) / (before - after))) if before > after else 0.0
    return high + start + share * (stop - start)


def acceptance(n: int, theta0: float, alpha: float, noise: Tulap) -> NDArray[np.float64]:
    """The probability that "greater" rejects, for each exact count 0 to n: the test as a function of the data."""
    c = critical_count(n, theta0, alpha, noise)
    whole = math.floor(c + 0.5)
    return noise.cdf_at(np.arange(n + 1) - whole, whole - c)


Alternative = Literal["greater", "less", "two-sided"]
ALTERNATIVES = ("greater", "less", "two-sided")
#: Beyond this the sum over counts would hold tens of millions of terms.
LARGEST_N = 10**10


@dataclass(frozen=True)
class NoisyCount:
    """A count with Tulap noise. It is private, so publishing it, testing it again or computing an interval costs
    nothing more.

    Attributes
    ----------
    whole : int
        The count plus the whole part of the noise.
    fraction : float
        The uniform part of the noise, in (-1/2, 1/2).
    n : int
        Number of records; public.
    noise : Tulap
        The distribution of the noise.
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
        object.__setattr__(self, "whole", arguments.whole("whole", self.whole, at_least=-(2**62), at_most=2**62))
        object.__setattr__(self, "fraction", arguments.real("fraction", self.fraction, at_least=-0.5, at_most=0.5))
        object.__setattr__(self, "n", arguments.whole("n", self.n, at_least=1, at_most=LARGEST_N))
        if not isinstance(self.noise, Tulap):
            raise InvalidParameter(f"noise must be a Tulap distribution, got a {type(self.noise).__name__}")

    @property
    def value(self) -> float:
        """The noisy count, as the nearest floating-point number."""
        return self.whole + self.fraction

    @property
    def cost(self) -> Cost:
        """The privacy cost of the release."""
        return self.noise.cost


def release_count(
    ones: int, n: int, *, epsilon: Rational, delta: Rational = 0, source: Source | None = None
) -> NoisyCount:
    """Release, once, the number of ones among `n` records with Tulap noise.

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
    n = arguments.whole("n", n, at_least=1, at_most=LARGEST_N)
    try:
        ones = arguments.whole("ones", ones, at_least=0, at_most=n)
    except InvalidParameter:
        raise InvalidParameter(f"ones must be a whole number from 0 to n = {n}") from None
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
    """Test privately whether a proportion is `theta0`. The level is exact.

    The one-sided tests are uniformly most powerful among all tests at level alpha whose *decision* is (epsilon,
    delta)-DP for replacing one record, although they release the whole p-value. The two-sided test doubles the smaller
    of the two one-sided p-values. Its level is exact too, but it is not the most powerful test.

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
        The significance level.
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

    Notes
    -----
    Awan and Slavkovic 2018; printed, checked here against a linear program. The two-sided level is exact since
    `p` is uniform (spec 8, reviewed).

    Examples
    --------
    >>> result = proportion(620, 1000, 0.5, epsilon=0.5)
    >>> result.level, result.reject, result.cost
    ('exact', True, PureDP(epsilon=0.5))
    >>> proportion(NoisyCount(14, 0.25, 30, Tulap(1)), theta0=0.3, alternative="greater").p_value   # spec TV-45
    0.0369182583...
    """
    theta0, alpha = arguments.probability("theta0", theta0), arguments.probability("alpha", alpha)
    arguments.choice("alternative", alternative, ALTERNATIVES)
    if isinstance(ones, NoisyCount):
        if n is not None or epsilon is not None or delta != 0:
            raise InvalidParameter("n, epsilon and delta must be left out, because the released count already has them")
        seen, cost = ones, ones.noise.nothing
    else:
        if epsilon is None or n is None:
            raise InvalidParameter("n and epsilon must be given together with an exact count")
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
    """Return what a result must say of a count whose noise came from a seeded source."""
    return () if seen.secure else ("the count was released with noise that protects nobody: for tests only",)


def noisy_p_value(seen: NoisyCount, theta0: float, alternative: Alternative = "two-sided") -> float:
    """Return the exact p-value of a released count, rounded upwards; `P(p <= alpha) = alpha` under the null.

    Spec 8: "greater" is `sum_x Bin(x; n, theta0) F(x - Z)`, "less" its complement, "two-sided" twice the smaller. The
    fraction is known to its cell of width `2**-52`, and the end of the cell with the larger p-value is taken.

    Examples
    --------
    >>> seen = NoisyCount(14, 0.25, 30, Tulap(1))
    >>> [round(noisy_p_value(seen, 0.3, side), 8) for side in ("greater", "less", "two-sided")]
    [0.03691826, 0.96308174, 0.07383652]
    """
    theta0 = arguments.probability("theta0", theta0)
    arguments.choice("alternative", alternative, ALTERNATIVES)
    sides = {"greater": (1,), "less": (-1,), "two-sided": (1, -1)}[alternative]
    tails = []
    for sign in sides:
        if sign > 0:
            tails.append(_upper_tail(seen.whole, seen.fraction, seen.n, theta0, seen.noise))
        else:  # zeros instead of ones, and the distribution of the noise is symmetric
            tails.append(_upper_tail(seen.n - seen.whole, -seen.fraction, seen.n, 1 - theta0, seen.noise))
    return min(1.0, len(sides) * min(tails))


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
    z = arguments.real("z", z, at_least=-(2.0**52), at_most=2.0**52)
    whole = math.floor(z + 0.5)
    return noisy_p_value(NoisyCount(whole, z - whole, n, Tulap(epsilon, delta)), theta0, alternative)


def interval(seen: NoisyCount, confidence: float = 0.95) -> tuple[float, float]:
    """Return the confidence interval: all proportions that the two-sided test does not reject at `1 - confidence`.

    It contains the true proportion with probability `confidence`. It costs no more privacy than the released count.

    Notes
    -----
    Inverts the one-sided p-values, which are monotone in `theta0`; limits are rounded outwards.

    Examples
    --------
    >>> low, high = interval(NoisyCount(540, 0.25, 1000, Tulap(1)))
    >>> round(low, 4), round(high, 4)
    (0.5092, 0.5711)
    """
    share = (1 - arguments.probability("confidence", confidence)) / 2

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
