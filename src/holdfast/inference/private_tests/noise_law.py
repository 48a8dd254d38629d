"""The noise on a histogram: its distribution, its variance, its cost; how it is released and how a null is simulated
with it.

Neighbours replace one of `n` records, so two cells move by one: `L1` distance 2, `L2` distance `sqrt(2)`. Where both
margins of a table are public, the smallest change is a swap that moves four cells: 4 and 2 (spec 1.2, reviewed).

Released noise is always one of the exact integer distributions of `holdfast.noise`, on whole counts or on a fine grid
that contains them, so no rounding changes the sensitivity. Simulations take numpy generators; a release never does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting.costs import ZCDP, Cost, PureDP
from holdfast.bounds.numerics.exact import float_up
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.noise.entropy import Source
from holdfast.noise.gaussian import discrete_gaussian as _draw_gaussian
from holdfast.noise.grid import discrete_gaussian_variance, discrete_laplace_variance
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.laplace import discrete_laplace as _draw_laplace

Kind = Literal["gaussian", "laplace", "discrete-gaussian", "discrete-laplace"]
Unit = Literal["person", "swap"]
UNITS = ("person", "swap")
#: Cells that one neighbour moves by one.
_MOVED = {"person": 2, "swap": 4}
#: Steps of the fine grid in one noise scale, at least: 2**11.
_FINE_BITS = 11
#: Digits of a rational sigma: it exceeds the root that rho asks for by less than one part in 2**40.
_ROOT_BITS = 40


@dataclass(frozen=True)
class NoiseLaw:
    """Independent noise of one distribution on every cell.

    Make one with `gaussian`, `laplace` or their discrete forms.

    Attributes
    ----------
    kind : str
        "gaussian", "laplace", "discrete-gaussian" or "discrete-laplace".
    parameter : Fraction
        `rho` of the Gaussian distributions, `epsilon` of the Laplace distributions.
    unit : {"person", "swap"}
        What a neighbour changes: one record (two cells), or a 2x2 swap where both margins are public (four cells).

    Examples
    --------
    >>> law = discrete_gaussian(0.00125)
    >>> law.variance, law.cost, law.continuous
    (800.0..., ZCDP(rho=0.00125), False)
    >>> print(law.describe())
    discrete Gaussian noise of variance 800 on each count: 0.00125-zCDP, neighbours replace one record
    """

    kind: Kind
    parameter: Fraction
    unit: Unit = "person"

    def __post_init__(self) -> None:
        arguments.choice("kind", self.kind, ("gaussian", "laplace", "discrete-gaussian", "discrete-laplace"))
        arguments.choice("unit", self.unit, UNITS)
        name = "rho" if self.is_gaussian else "epsilon"
        object.__setattr__(self, "parameter", rational(name, self.parameter, above=0))
        if self.scale > 2**36:
            raise InvalidParameter(
                f"{name} is too small: the noise would have a scale above 2**36 counts, in which every count disappears"
            )

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is Gaussian, continuous or discrete."""
        return self.kind in ("gaussian", "discrete-gaussian")

    @property
    def continuous(self) -> bool:
        """Whether the distribution has a density.

        Such noise is released on a grid at least 2048 times finer than its scale.
        """
        return self.kind in ("gaussian", "laplace")

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise in counts, as it is drawn: sigma for a Gaussian, or the scale of a Laplace
        distribution.
        """
        moved = _MOVED[self.unit]
        if self.is_gaussian:  # L2 distance squared is the number of moved cells
            return _root_up(Fraction(moved) / (2 * self.parameter))
        return moved / self.parameter

    @property
    def variance(self) -> float:
        """The exact variance of the noise on one cell, which the statistics use."""
        scale = float(self.scale)
        if self.kind == "laplace":
            return 2 * scale * scale
        if self.kind == "gaussian":
            return scale * scale
        return (discrete_gaussian_variance if self.is_gaussian else discrete_laplace_variance)(scale)

    @property
    def steepest(self) -> float:
        """The value below which `log_mgf` is finite: the rate of a Laplace distribution's tails, infinite for a
        Gaussian.
        """
        return math.inf if self.is_gaussian else float(1 / self.scale)

    def log_mgf(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an upper bound on `ln E exp(t Z)`, where `Z` is the noise on one cell as it is released.

        `t` must be at least 0 and below `steepest`.

        Notes
        -----
        A Laplace distribution on a grid of steps `h` has ratio `q = exp(-h/scale)` and `(1 - q)^2 / ((1 - q
        e^(th)) (1 - q e^(-th)))`. A Gaussian one, on any grid, has at most `exp(t^2 sigma^2 / 2)` (Canonne,
        Kamath and Steinke 2020, Lemma 12).

        Examples
        --------
        >>> discrete_laplace(1).log_mgf(np.array([0.0, 0.25])).round(4).tolist()
        [0.0, 0.2825]
        """
        scale = float(self.scale)
        if self.is_gaussian:
            return t * t * (scale * scale / 2)
        h = self.step
        ends = np.log(-np.expm1(h * t - h / scale)) + np.log(-np.expm1(-h * t - h / scale))
        return 2 * math.log(-math.expm1(-h / scale)) - ends

    @property
    def cost(self) -> Cost:
        """The privacy cost of releasing one whole histogram with this noise."""
        amount = float_up(self.parameter)
        return ZCDP(amount) if self.is_gaussian else PureDP(amount)

    @property
    def nothing(self) -> Cost:
        """The cost of a test that stopped before it used the data, which is zero."""
        return ZCDP(0.0) if self.is_gaussian else PureDP(0.0)

    @property
    def step(self) -> float:
        """The grid step of the released counts: 1 for discrete distributions, a power of two below 1 for continuous
        ones.
        """
        return 2.0**-self._grid_bits

    @property
    def coarse(self) -> bool:
        """Whether the noise consists of whole numbers and has a scale below 1.

        Thresholds that are derived for continuous noise do not hold for such a coarse distribution.
        """
        return not self.continuous and self.scale < 1

    def c(self, n: int) -> float:
        """The noise-to-sample ratio `variance / n`, on which every formula depends."""
        return self.variance / n

    def sample(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Return noise for a simulation, drawn from the distribution with numpy. Never use it for a release.

        Notes
        -----
        Continuous distributions come from numpy's normal and Laplace samplers, discrete ones from the exact
        samplers of `holdfast.noise` fed with the generator's words.
        """
        if self.kind == "gaussian":
            return rng.normal(0.0, float(self.scale), shape)
        if self.kind == "laplace":
            return rng.laplace(0.0, float(self.scale), shape)
        return self.resample(rng, shape)

    def resample(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Return noise with exactly the distribution of released noise, grid included.

        A Monte Carlo test draws this noise, so that it stays exact.
        """
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        return self._draw(math.prod(sizes), Words(rng)).reshape(sizes)

    def release(self, counts: NDArray[Any], source: Source | None = None) -> NDArray[np.float64]:
        """Return the one private release: the counts plus fresh noise on each.

        Parameters
        ----------
        counts : array of whole numbers
            A histogram or table; neighbours must be as `unit` says.
        source : Source, optional
            None for the operating system (`noise.Secure`). A seeded source is for tests only.
        """
        counts = np.asarray(counts)
        if counts.dtype.kind not in "iu":
            raise InvalidParameter("counts must be whole numbers")
        if source is not None and not isinstance(source, Source):
            raise InvalidParameter(f"source must be a noise source or None, got a {type(source).__name__}")
        if isinstance(source, Words):
            raise InvalidParameter(
                "source must not be the generator of a simulation, because its noise would protect nobody"
            )
        # The sum is rounded, where it must be, after the noise: that is post-processing and gives nothing away.
        return counts.astype(np.float64) + self._draw(counts.size, source).reshape(counts.shape)

    def _draw(self, count: int, source: Source | None) -> NDArray[np.float64]:
        bits = self._grid_bits
        draw = _draw_gaussian if self.is_gaussian else _draw_laplace
        return np.ldexp(draw(self.scale * 2**bits, count, source=source).astype(np.float64), -bits)

    @property
    def _grid_bits(self) -> int:
        """The grid has steps of `2**-bits`; counts lie on it, so it costs nothing."""
        if not self.continuous:
            return 0
        top, bottom = self.scale.as_integer_ratio()
        at_least = top.bit_length() - bottom.bit_length() - 1  # 2**at_least <= scale
        return max(0, _FINE_BITS - at_least)

    def describe(self) -> str:
        """Return a description of the noise in one line."""
        name = {"gaussian": "Gaussian", "laplace": "Laplace"}[self.kind.removeprefix("discrete-")]
        name = name if self.continuous else f"discrete {name}"
        promise = f"{float(self.parameter):g}-zCDP" if self.is_gaussian else f"{float(self.parameter):g}-DP"
        what = "replace one record" if self.unit == "person" else "swap two records inside fixed margins"
        return f"{name} noise of variance {self.variance:.6g} on each count: {promise}, neighbours {what}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "kind": self.kind,
            "rho" if self.is_gaussian else "epsilon": float(self.parameter),
            "variance": self.variance,
            "step": self.step,
            "unit": self.unit,
        }


class Words(Source):
    """Words of a numpy generator, so that the exact samplers serve simulations too. Never a source of privacy."""

    __slots__ = ("_rng",)

    def __init__(self, rng: np.random.Generator) -> None:
        if not isinstance(rng, np.random.Generator):
            raise InvalidParameter(f"rng must be a numpy Generator, got a {type(rng).__name__}")
        self._rng = rng

    def word(self) -> int:
        """One uniform word."""
        return int(self.words(1)[0])

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` uniform words."""
        return self._rng.integers(0, 2**64, size=count, dtype=np.uint64)


def gaussian(rho: Rational, *, unit: Unit = "person") -> NoiseLaw:
    """Return Gaussian noise of variance `1/rho` for each count. A histogram with this noise is rho-zCDP.

    A release draws the noise on a grid at least 2048 times finer than sigma, with the exact discrete sampler. The cost
    is that of this discrete distribution.

    Notes
    -----
    Spec 1.2; dissertation chapter 6. The cost: Canonne, Kamath and Steinke 2020, Theorem 4.

    Examples
    --------
    >>> gaussian(0.00125).variance
    800.0...
    """
    return NoiseLaw("gaussian", rational("rho", rho, above=0), unit)


def laplace(epsilon: Rational, *, unit: Unit = "person") -> NoiseLaw:
    """Return Laplace noise of scale `2/epsilon` for each count, with variance `8/epsilon**2`.

    A histogram with this noise is epsilon-DP.

    Examples
    --------
    >>> laplace(0.1).variance
    800.0
    """
    return NoiseLaw("laplace", rational("epsilon", epsilon, above=0), unit)


def discrete_gaussian(rho: Rational, *, unit: Unit = "person") -> NoiseLaw:
    """Return whole-number Gaussian noise of parameter `1/rho` for each count. A histogram with this noise is
    rho-zCDP.

    The cost is the same as for continuous noise, `ZCDP`. It is not Gaussian differential privacy.

    Notes
    -----
    Its exact (epsilon, delta) curve is not that of Gaussian differential privacy (spec 1.2, reviewed).

    Examples
    --------
    >>> discrete_gaussian(2).variance
    0.49897...
    """
    return NoiseLaw("discrete-gaussian", rational("rho", rho, above=0), unit)


def discrete_laplace(epsilon: Rational, *, unit: Unit = "person") -> NoiseLaw:
    """Return whole-number Laplace noise with ratio `exp(-epsilon/2)` for each count.

    A histogram with this noise is epsilon-DP.

    Examples
    --------
    >>> discrete_laplace(0.1).variance
    799.8333...
    """
    return NoiseLaw("discrete-laplace", rational("epsilon", epsilon, above=0), unit)


def unprotected(source: Source | None) -> tuple[str, ...]:
    """Return what every result says whose noise did not come from a secure source.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> unprotected(Seeded(1))
    ('the noise came from Seeded, which is not secure: for tests and simulations only, it protects nobody',)
    >>> unprotected(None)
    ()
    """
    if source is None or getattr(source, "secure", False):
        return ()
    name = type(source).__name__
    return (f"the noise came from {name}, which is not secure: for tests and simulations only, it protects nobody",)


def noise_of(
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    unit: Unit = "person",
) -> NoiseLaw:
    """The distribution a test was asked for: exactly one of `rho` (discrete Gaussian), `epsilon` (discrete Laplace),
    `noise`.

    Examples
    --------
    >>> noise_of(epsilon=1).kind
    'discrete-laplace'
    >>> noise_of(rho=0)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: rho must be a number in (0, inf), got 0
    """
    if (rho is not None) + (epsilon is not None) + (noise is not None) != 1:
        raise InvalidParameter("exactly one of rho, epsilon and noise must be given")
    if rho is not None:
        return discrete_gaussian(rho, unit=unit)
    if epsilon is not None:
        return discrete_laplace(epsilon, unit=unit)
    if not isinstance(noise, NoiseLaw):
        raise InvalidParameter(f"noise must be a NoiseLaw, got a {type(noise).__name__}")
    if noise.unit != unit:
        raise InvalidParameter(
            f"the noise protects a {noise.unit}, but the test protects a {unit}; make the noise with unit={unit!r}"
        )
    return noise


def _root_up(x: Fraction) -> Fraction:
    """The square root where it is rational, otherwise a fraction above it by less than one part in 2**40."""
    top, bottom = math.isqrt(x.numerator), math.isqrt(x.denominator)
    if top * top == x.numerator and bottom * bottom == x.denominator:
        return Fraction(top, bottom)
    shift = _ROOT_BITS + max(0, (x.denominator.bit_length() - x.numerator.bit_length() + 1) // 2 + 1)
    whole = math.ceil(x * 4**shift)
    return Fraction(math.isqrt(whole - 1) + 1, 2**shift)
