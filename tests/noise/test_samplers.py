"""Discrete Laplace, geometric and Gaussian: the whole distribution, the scale, the peers and the limits.

All accept/reject decisions are at 1e-6 with fixed seeds, and each kind of test also rejects a sampler wrong on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter
from holdfast.noise import (
    Grid,
    Secure,
    Seeded,
    Source,
    bernoulli,
    bernoulli_exp,
    bernoulli_logistic,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    rounded_gaussian,
    uniform_below,
)
from holdfast.noise.gaussian import _Blocks
from tests.noise.laws import LEVEL, Cdf, chi_square, fit, gaussian_cdf, geometric_cdf, laplace_cdf, same_law

Sampler = Callable[..., NDArray[np.int64]]
KINDS: dict[str, tuple[Sampler, Callable[[float], Cdf]]] = {
    "laplace": (discrete_laplace, laplace_cdf),
    "geometric": (geometric, geometric_cdf),
    "gaussian": (discrete_gaussian, gaussian_cdf),
}
SCALES = [
    Fraction(1, 4),
    Fraction(2, 3),
    1,
    Fraction(5, 2),
    7,
    Fraction(319, 10),
    32,
    Fraction(1001, 10),
    1000,
    2**20 + 1,
    2**31 - 1,
    Fraction(2**31 - 1, 2**20),
    1234.56789012345,
]
MILLION = 10**6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES)
def test_whole_law_of_a_million(kind: str, scale: Fraction | float) -> None:
    sampler, cdf = KINDS[kind]
    draws = sampler(scale, MILLION, source=Seeded(100))
    assert draws.dtype == np.int64
    assert fit(draws, cdf(float(scale))) > LEVEL


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES[:9])
def test_whole_law_one_at_a_time(kind: str, scale: Fraction | float) -> None:
    sampler, cdf = KINDS[kind]
    source = Seeded(101)
    draws = np.array([sampler(scale, source=source) for _ in range(30_000)])
    assert fit(draws, cdf(float(scale))) > LEVEL


def test_gaussian_arrays_beyond_64_bits_have_the_law() -> None:
    """Python integers, one value at a time."""
    sigma = 2**33 + 1
    assert fit(discrete_gaussian(sigma, 150_000, source=Seeded(99)), gaussian_cdf(float(sigma))) > LEVEL


@pytest.mark.parametrize("kind", KINDS)
def test_secure_has_the_same_law(kind: str) -> None:
    """Not seeded, and two tests of each distribution: one in a hundred million runs fails by chance."""
    sampler, cdf = KINDS[kind]
    assert fit(sampler(40, MILLION, source=Secure()), cdf(40)) > LEVEL / 1000
    assert fit(np.array([sampler(40) for _ in range(20_000)]), cdf(40)) > LEVEL / 1000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [10**7, 2**31])
def test_low_digits_are_uniform(kind: str, scale: int) -> None:
    """Far below the scale nothing may show: the lowest ten bits (a pooled test of the distribution would not see
    them)."""
    low = KINDS[kind][0](scale, MILLION, source=Seeded(102)) & 1023
    assert chi_square(np.bincount(low, minlength=1024), np.full(1024, MILLION / 1024), 1024) > LEVEL


@pytest.mark.parametrize("kind", KINDS)
def test_tiny_scales_are_almost_surely_zero(kind: str) -> None:
    sampler = KINDS[kind][0]
    for scale in (Fraction(1, 1000), 1e-300, Fraction(1, 10**400)):
        assert not sampler(scale, 10_000, source=Seeded(1)).any()
        assert sampler(scale, source=Seeded(1)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_huge_scales_one_at_a_time(kind: str) -> None:
    sampler = KINDS[kind][0]
    source = Seeded(103)
    for scale in (2**100, Fraction(10**200, 7)):
        draws = [abs(sampler(scale, source=source)) for _ in range(400)]
        mean = sum(draws) / len(draws) / scale
        expected = math.sqrt(2 / math.pi) if kind == "gaussian" else 1
        assert abs(float(mean) - expected) < 6 / 20  # six standard errors
        low = [draw % 2 for draw in draws]
        assert 120 < sum(low) < 280


def _chernoff(weights: NDArray[np.float64], mean: float, above: bool) -> float:
    """Chernoff: the average of n draws lies beyond `mean` with probability at most the n-th power of this."""
    values = np.arange(weights.size)
    slopes = np.linspace(0, 0.9, 400) / max(1.0, float((weights * values).sum() / weights.sum()))
    slopes = slopes if above else -8 * slopes
    shifted = values - mean
    return min(float((weights * np.exp(t * shifted)).sum() / weights.sum()) for t in slopes)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(20)])
def test_accepts_the_scale_and_rejects_70_and_130_percent(kind: str, scale: Fraction) -> None:
    """Accepted if the average of |k| over 20,000 draws is within 13% of its expectation. Chernoff's bound, computed
    here, puts the chance to reject the true scale, and the chance to accept 0.7 or 1.3 times it, below 1e-6."""
    count, slack = 20_000, Fraction(13, 100)
    sampler = KINDS[kind][0]

    def absolute(s: float) -> NDArray[np.float64]:
        k = np.arange(math.ceil(45 * s) + 60)
        mass = np.exp(-k / s) if kind == "laplace" else np.exp(-0.5 * (k / s) ** 2)
        mass[1:] *= 2
        return mass

    mass = absolute(float(scale))
    mean = float((mass * np.arange(mass.size)).sum() / mass.sum())
    low, high = mean * float(1 - slack), mean * float(1 + slack)
    reject_true = _chernoff(mass, high, True) ** count + _chernoff(mass, low, False) ** count
    accept_small = _chernoff(absolute(float(scale) * 0.7), low, True) ** count
    accept_large = _chernoff(absolute(float(scale) * 1.3), high, False) ** count
    assert max(reject_true, accept_small, accept_large) < LEVEL

    def accepted(s: Fraction) -> bool:
        return low <= float(np.abs(sampler(s, count, source=Seeded(7))).mean()) <= high

    assert accepted(scale)
    assert not accepted(scale * Fraction(7, 10))
    assert not accepted(scale * Fraction(13, 10))


def _zero_twice(source: Source, count: int) -> NDArray[np.int64]:
    """A sign on a one-sided draw without rejecting minus zero."""
    sign = 1 - 2 * (source.words(count) & np.uint64(1)).astype(np.int64)
    return sign * geometric(5, count, source=source)


def _floored_laplace(source: Source, count: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(source.word())
    return np.floor(rng.laplace(0, 5, count)).astype(np.int64)


def _rounded_gaussian(source: Source, count: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(source.word())
    return np.rint(rng.normal(0, 1, count)).astype(np.int64)


def _all_candidates(source: Source, count: int) -> NDArray[np.int64]:
    """The Gaussian's blocks without the coin that thins them."""
    blocks = _Blocks(1000, 1)
    code = blocks._table.draws(source, count)
    place = uniform_below(blocks._block, count, source=source)
    return (((code >> 1) * blocks._block) + place) ^ -(code & 1)


@pytest.mark.parametrize(
    ("wrong", "cdf"),
    [
        (_zero_twice, laplace_cdf(5)),
        (_floored_laplace, laplace_cdf(5)),
        (_rounded_gaussian, gaussian_cdf(1)),
        (_all_candidates, gaussian_cdf(1000)),
        (lambda s, n: discrete_laplace(5.1, n, source=s), laplace_cdf(5)),
        (lambda s, n: discrete_gaussian(40.4, n, source=s), gaussian_cdf(40)),
    ],
)
def test_wrong_samplers_are_rejected(wrong: Callable[[Source, int], NDArray[np.int64]], cdf: Cdf) -> None:
    assert fit(wrong(Seeded(104), MILLION), cdf) < LEVEL


@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_opendp_has_the_same_law(scale: float) -> None:
    """OpenDP is not seeded: one run in a hundred million fails by chance. Power: 1.15 times the scale is rejected."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    count = 30_000
    zeros = [0] * count
    vectors = dp.vector_domain(dp.atom_domain(T=int))
    theirs = np.array(dp.m.make_laplace(vectors, dp.l1_distance(T=int), scale=scale)(zeros))
    assert same_law(discrete_laplace(scale, 200_000, source=Seeded(105)), theirs) > LEVEL / 1000
    assert same_law(discrete_laplace(1.15 * scale, 200_000, source=Seeded(106)), theirs) < LEVEL / 1000
    theirs = np.array(dp.m.make_gaussian(vectors, dp.l2_distance(T=float), scale=scale)(zeros))
    assert same_law(discrete_gaussian(scale, 200_000, source=Seeded(107)), theirs) > LEVEL / 1000
    assert same_law(discrete_gaussian(1.15 * scale, 200_000, source=Seeded(108)), theirs) < LEVEL / 1000


@pytest.mark.parametrize("kind", KINDS)
def test_secure_draws_differ_and_seeded_draws_repeat(kind: str) -> None:
    sampler = KINDS[kind][0]
    assert (sampler(10**6, 1000) == sampler(10**6, 1000)).mean() < 0.02
    for size in (10, 5000):
        assert (sampler(10**6, size, source=Seeded(1)) == sampler(10**6, size, source=Seeded(1))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_types_and_sizes(kind: str) -> None:
    sampler = KINDS[kind][0]
    assert type(sampler(3)) is int
    assert type(sampler(3.5)) is int
    for size in (0, 1, 2047, 2048, 70_000):
        assert sampler(50, size, source=Seeded(1)).shape == (size,)
    assert type(sampler(np.float64(2.5))) is int
    assert type(sampler(np.int64(100))) is int


def test_a_float_means_its_decimal() -> None:
    for sampler, _ in KINDS.values():
        ours = sampler(0.1 * 3, 50, source=Seeded(2))  # 0.30000000000000004
        assert (sampler(2.1, 500, source=Seeded(2)) == sampler(Fraction(21, 10), 500, source=Seeded(2))).all()
        assert ours.shape == (50,)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "3", None, True, [1.0], Fraction(-1, 2)])
def test_wrong_scales(kind: str, scale: object) -> None:
    name = "sigma" if kind == "gaussian" else "scale"
    with pytest.raises(InvalidParameter, match=name):
        KINDS[kind][0](scale)
    with pytest.raises(InvalidParameter, match=name):
        KINDS[kind][0](scale, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_refuse_scales_beyond_64_bits(kind: str) -> None:
    sampler = KINDS[kind][0]
    with pytest.raises(InvalidParameter, match="2\\*\\*48"):
        sampler(2**48 + 1, 3)
    draws = sampler(2**48, 2000, source=Seeded(3))
    expected = math.sqrt(2 / math.pi) if kind == "gaussian" else 1
    assert abs(float(np.abs(draws).mean()) / 2**48 - expected) < 6 / math.sqrt(2000)
    with pytest.raises(InvalidParameter, match="size"):
        sampler(1, -1)
    with pytest.raises(InvalidParameter, match="size"):
        sampler(1, 2.5)


def test_no_float_is_used_while_drawing() -> None:
    """Words in, integers out: every array that a draw touches is of an integer or boolean type."""
    seen: list[np.dtype[np.generic]] = []

    class Watched(Source):
        seeded = Seeded(1)

        def word(self) -> int:
            return self.seeded.word()

        def words(self, count: int) -> NDArray[np.uint64]:
            return self.seeded.words(count).view(Spy)

    class Spy(np.ndarray):  # type: ignore[type-arg]
        def __array_finalize__(self, obj: object) -> None:
            seen.append(self.dtype)

    for sampler, _ in KINDS.values():
        for scale in (Fraction(1, 3), 7, 1000, 2**31):
            sampler(scale, 5000, source=Watched())
            sampler(scale, 100, source=Watched())
    assert seen
    assert {dtype.kind for dtype in seen} <= set("iub")


@pytest.mark.parametrize(
    "draw",
    [
        lambda size: bernoulli(Fraction(1, 3), size),
        lambda size: bernoulli_exp(Fraction(1, 3), size),
        lambda size: bernoulli_logistic(Fraction(1, 3), size),
        lambda size: uniform_below(6, size),
        lambda size: discrete_gaussian(100, size),
        lambda size: discrete_laplace(100, size),
        lambda size: geometric(100, size),
        lambda size: rounded_gaussian(1, Grid(-3), size=size),
    ],
    ids=["coin", "exp", "logistic", "uniform", "gaussian", "laplace", "geometric", "rounded-gaussian"],
)
def test_an_array_may_be_empty_and_no_shorter(draw: Callable[[int], NDArray[np.int64]]) -> None:
    assert draw(0).shape == (0,)
    assert draw(3).shape == (3,)
    with pytest.raises(InvalidParameter, match="size"):
        draw(-1)
