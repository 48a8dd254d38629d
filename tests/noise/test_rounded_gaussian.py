"""The rounded Gaussian: its distribution against exact probabilities, and floating point against integers, draw by
draw."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2

from holdfast.errors import InvalidParameter
from holdfast.noise import Grid, Secure, Seeded, discrete_gaussian, rounded_gaussian
from holdfast.noise import rounded_gaussian as exported
from holdfast.noise.table import exp_lower
from tests.noise.tape import Tape

module: Any = __import__("holdfast.noise.rounded_gaussian", fromlist=["rounded_gaussian"])
DRAWS = 200_000
LEVEL = 1e-7


def _fits(indices: NDArray[np.int64], mean: float, sigma: float) -> bool:
    """Pearson's test of the rounded distribution in steps, cells of expected count 20 or more; wrong with probability
    1e-7."""
    reach = math.ceil(5 * sigma) + 2
    cells = np.arange(round(mean) - reach, round(mean) + reach + 1)
    # far tails are folded into the outer cells
    probability = ndtr((cells + 0.5 - mean) / sigma) - ndtr((cells - 0.5 - mean) / sigma)
    expected = probability * indices.size
    keep = expected >= 20
    counts = np.array([np.count_nonzero(indices == c) for c in cells[keep]], dtype=float)
    rest = indices.size - expected[keep].sum()
    statistic = float(((counts - expected[keep]) ** 2 / expected[keep]).sum())
    statistic += (indices.size - counts.sum() - rest) ** 2 / max(rest, 1e-3 * indices.size) if rest > 20 else 0.0
    return statistic <= chi2.isf(LEVEL, int(keep.sum()))


@pytest.mark.parametrize(
    ("mean", "sigma"), [(0.0, 0.3), (0.5, 0.4), (0.37, 1.3), (-12.25, 7.0), (Fraction(1, 3), 25.0)]
)
def test_law(mean: Any, sigma: float) -> None:
    found = rounded_gaussian(sigma, Grid(0), mean=mean, size=DRAWS, source=Seeded(11))
    assert _fits(found, float(mean), sigma)
    one_by_one = np.array(
        [rounded_gaussian(sigma, Grid(0), mean=mean, source=source) for source in [Seeded(12)] for _ in range(20_000)]
    )
    assert _fits(one_by_one, float(mean), sigma)


def test_the_test_of_the_law_has_power() -> None:
    """It refutes a scale 2% off, a mean 0.05 steps off, and the discrete Gaussian of the same sigma."""
    found = rounded_gaussian(1.3, Grid(0), mean=0.37, size=DRAWS, source=Seeded(13))
    assert not _fits(found, 0.37, 1.3 * 1.02)
    assert not _fits(found, 0.42, 1.3)
    assert not _fits(discrete_gaussian(1, DRAWS, source=Seeded(14)), 0.0, 1.0)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    exponent=st.integers(-40, 2),
    mean=st.fractions(-3, 3, max_denominator=10**9),
    sigma=st.floats(1e-3, 10),
)
def test_floating_point_never_decides_what_it_cannot(seed: int, exponent: int, mean: Fraction, sigma: float) -> None:
    """The same words give the same draws when everything is left to the integers."""
    grid = Grid(exponent)
    if sigma / float(grid.step) > 2**48:
        return
    usual = rounded_gaussian(sigma, grid, mean=mean, size=40, source=Seeded(seed))
    single = [rounded_gaussian(sigma, grid, mean=mean, source=s) for s in [Seeded(seed)] for _ in range(40)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DOUBT", 10.0)
        patch.setattr(module, "_PLACE", 10.0)
        exact = rounded_gaussian(sigma, grid, mean=mean, size=40, source=Seeded(seed))
        alone = [rounded_gaussian(sigma, grid, mean=mean, source=s) for s in [Seeded(seed)] for _ in range(40)]
    np.testing.assert_array_equal(usual, exact)
    assert single == alone


def test_more_digits_are_drawn_where_sixty_four_do_not_decide() -> None:
    """x begins with 64 zeros and the coin with 64 ones: neither rejected nor kept until more digits are seen."""
    tape = Tape([0, 0, 2**64 - 1, 0, 0])
    assert rounded_gaussian(1, Grid(0), mean=0, source=tape) == 0
    assert tape.left == 0
    # a border of the grid lies in the first cell of x: 64 zeros leave both sides open, the next digit decides
    for word, place in ((2**63, 1), (2**62, 0)):
        tape = Tape([0, 0, 0, word])
        # the border is at x = 0.375 * 2**-64
        centre = Fraction(1, 2) - Fraction(3, 2**67)
        assert rounded_gaussian(1, Grid(0), mean=centre, source=tape) == place
        assert tape.left == 0


def test_mean_and_scale_are_read_exactly() -> None:
    third = rounded_gaussian(1e-9, Grid(-10), mean=Fraction(1, 3), size=100)
    assert set(third.tolist()) == {round(1024 / 3)}
    assert isinstance(rounded_gaussian(1, Grid(0)), int)
    assert exported is rounded_gaussian
    assert rounded_gaussian(1, Grid(0), size=0).shape == (0,)
    assert rounded_gaussian(1, Grid(0), size=3, source=Secure()).dtype == np.int64


@pytest.mark.parametrize(
    "bad",
    [
        {"sigma": 0},
        {"sigma": -1.0},
        {"sigma": math.nan},
        {"mean": math.inf},
        {"mean": "0.123"},
        {"mean": True},
        {"grid": None},
        {"grid": 0.1},
        {"size": -1},
        {"size": 1, "sigma": 2.0**60},
        {"source": 7},
    ],
)
def test_wrong_input(bad: dict[str, Any]) -> None:
    arguments = {"sigma": 1, "grid": Grid(0)} | bad
    with pytest.raises(InvalidParameter) as caught:
        rounded_gaussian(**arguments)
    assert "0.123" not in str(caught.value)


def _array_tape(digits: int, coin: int, *more: int, others: int = 0) -> Tape:
    """Words of an array of one: 17 candidates with whole part 0, of which the first has these digits."""
    return Tape([0] * 17 + [digits] + [others] * 16 + [coin] + [0] * 16 + list(more))


@pytest.mark.parametrize("seed", range(20))
def test_keeping_is_decided_by_integers_where_floats_are_in_doubt(seed: int) -> None:
    """Coins 300 units of 2**-64 next to `exp(-x^2/2)`: a comparison of doubles, whose unit is 2048, is a guess."""
    digits = int(np.random.default_rng(seed).integers(2**62, 2**64, dtype=np.uint64))
    border = exp_lower(Fraction(digits**2, 2 * 2**128), 64)
    for coin, place in ((border - 300, round(64 * digits / 2**64)), (border + 300, 0)):
        spare = [0, 0, 0] if place == 0 else []
        tape = Tape([0, digits, coin, *spare])
        assert rounded_gaussian(64, Grid(0), source=tape) == place
        assert tape.left == 0
        assert rounded_gaussian(64, Grid(0), size=1, source=_array_tape(digits, coin)).tolist() == [place]


def test_the_error_of_the_exponential_is_left_open() -> None:
    """Where the bound on `exp` is a multiple of the coin's unit, its own error decides, so more digits are drawn."""
    met = 0
    for digits in range(3 * 2**62, 3 * 2**62 + 2000):
        lower = exp_lower(Fraction(digits**2, 2 * 2**128), 72)
        if lower % 256 == 0:
            tape = Tape([0, digits, lower >> 8, 0, 0])
            assert rounded_gaussian(1, Grid(0), source=tape) == 1
            assert tape.left == 0
            met += 1
    assert met > 0


@pytest.mark.parametrize("seed", range(10))
def test_places_are_decided_by_integers_where_floats_are_in_doubt(seed: int) -> None:
    """A border 2**-60 away on either side: the same double."""
    digits = int(np.random.default_rng(seed).integers(2**61, 2**63, dtype=np.uint64))
    for side, place in ((-1, 0), (1, 1)):
        centre = Fraction(1, 2) - Fraction(digits, 2**64) + Fraction(side, 2**60)
        assert rounded_gaussian(1, Grid(0), mean=centre, source=Tape([0, digits, 0])) == place
        assert rounded_gaussian(1, Grid(0), mean=centre, size=1, source=_array_tape(digits, 0)).tolist() == [place]


def test_digits_seen_when_keeping_are_the_digits_that_are_placed() -> None:
    centre = Fraction(1, 2) - Fraction(3, 2**67)  # the border is at x = 0.375 * 2**-64
    for word, place in ((2**63, 1), (2**62, 0)):
        tape = _array_tape(0, 2**64 - 1, word, 0, others=2**63)
        assert rounded_gaussian(1, Grid(0), mean=centre, size=1, source=tape).tolist() == [place]
        assert tape.left == 0
