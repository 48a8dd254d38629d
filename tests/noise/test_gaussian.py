"""The blocks that make the discrete Gaussian: within 64 bits, and with their coins exactly the distribution's weights.

What the distribution is, is tested with its peers in `test_samplers`. Decisions are at 1e-6 with fixed seeds.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.noise import Seeded, Source, uniform_below
from holdfast.noise.gaussian import _Blocks
from tests.noise.laws import LEVEL, chi_square
from tests.noise.tape import Tape


@pytest.mark.parametrize(("n", "d"), [(2**31, 1), (2**31 - 1, 1), (2**31 - 1, 2**20 + 1), (33, 1), (2**16 + 1, 2**11)])
def test_gaussian_stays_within_64_bits(n: int, d: int) -> None:
    """The bound of the docstring, at the largest block that the first table can give and the last place in it."""
    blocks = _Blocks(n, d)
    sigma, block = Fraction(n, d), blocks._block
    assert block & (block - 1) == 0
    assert 16 <= sigma / block < 32 or block == 1
    largest_code = len(blocks._table.thresholds(64)) - 1  # the last entry's cell is open and leads to a refined draw
    assert largest_code <= blocks._far
    g = blocks._far >> 1
    assert block * (2 * block * g + block) <= blocks._floor <= 2**63
    assert (blocks._thinning is None) == (2 * sigma**2 == blocks._floor)


@pytest.mark.parametrize(("n", "d"), [(1000, 1), (2**31, 1), (2**31 - 1, 2**20 + 1), (10**30, 7)])
def test_the_gaussians_coin_has_the_exponent_that_the_block_lacks(
    n: int, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block and coin together weigh `exp(-x**2 / (2 sigma**2))`: as fractions, both signs, both ends of blocks."""
    blocks = _Blocks(n, d)
    twice, length = 2 * Fraction(n, d) ** 2, blocks._block
    coins: list[Fraction] = []

    def recorded(source: Source, top: int, bottom: int) -> bool:
        coins.append(Fraction(top, bottom))
        return True

    monkeypatch.setattr("holdfast.noise.gaussian.exp_coin", recorded)
    codes = [0, 1, 2, 3, 10, 11, 200, 201, blocks._far, blocks._far + 1, blocks._far + 5]
    seen = []
    for code in codes:
        for place in (0, 1, length // 2, length - 1):
            blocks._table = _Fixed([code])  # type: ignore[assignment]
            # The table is steered; the one word that is drawn is the place's.
            x = blocks.draw(Tape([place * (2**64 // length)])) if length < 2**64 else None
            if x is None:
                assert blocks._keep(Tape([]), code, place)
                x = length * (code >> 1) + place
                x = ~x if code & 1 else x
            block = Fraction((length * (code >> 1)) ** 2) / twice
            assert coins.pop() + block == Fraction(x * x) / twice
            seen.append(x)
    assert len(set(seen)) == len(seen)
    if not blocks._in_words:
        return
    tops: list[int] = []

    def many(source: Source, numerators: NDArray[np.uint64], bottom: int, thinning: object) -> NDArray[np.bool_]:
        assert bottom == blocks._floor
        assert thinning is blocks._thinning
        tops.extend(numerators.tolist())
        return np.ones(numerators.size, dtype=np.bool_)

    monkeypatch.setattr("holdfast.noise.gaussian.series_coins", many)
    near = [code for code in codes if code <= blocks._far]
    for place in (0, 1, length // 2, length - 1):
        blocks._table = _Fixed(codes)  # type: ignore[assignment]
        tops.clear()
        found = blocks._candidates(Tape([place] * len(codes)), len(codes)).tolist()
        assert found == [~(length * (c >> 1) + place) if c & 1 else length * (c >> 1) + place for c in codes]
        # Of a far code the coin is the scalar one, recorded above; its place in the array is a sure coin.
        expected = [x * x - (length * (c >> 1)) ** 2 for c, x in zip(near, found, strict=False)]
        assert tops == expected + [0] * (len(codes) - len(near))
        assert len(coins) == len(codes) - len(near)
        assert coins == [
            Fraction(x * x - (length * (c >> 1)) ** 2) / twice
            for c, x in zip(codes, found, strict=True)
            if c not in near
        ]
        coins.clear()
    if blocks._thinning is not None:
        chance = Fraction(blocks._floor) / twice
        assert blocks._thinning.thresholds(64)[0] <= (1 - chance) * 2**64 < blocks._thinning.thresholds(64)[0] + 2


class _Fixed:
    """A table whose outcomes are given."""

    def __init__(self, outcomes: list[int]) -> None:
        self.outcomes = outcomes

    def draw(self, source: Source) -> int:
        return self.outcomes[0]

    def draws(self, source: Source, count: int) -> NDArray[np.int64]:
        return np.array(self.outcomes)


def test_gaussian_blocks_beyond_the_first_table() -> None:
    """Steered words: a refined block is kept or dropped by the exact coin, in arrays as in single draws."""
    blocks = _Blocks(2**31, 1)
    far = blocks._far + 7

    class Far:
        def draw(self, source: Source) -> int:
            return far

        def draws(self, source: Source, count: int) -> NDArray[np.int64]:
            return np.full(count, far)

    blocks._table = Far()  # type: ignore[assignment]
    exponent = (2 * (far >> 1) + 1) / (2 * (2**31 / blocks._block) ** 2)
    assert 0.9 < exponent < 3
    kept = blocks._candidates(Seeded(9), 20_000).size
    places = (np.arange(4000) + 0.5) / 4000
    g, y = far >> 1, 2**31 / blocks._block
    expected = float(np.exp(-places * (2 * g + places) / (2 * y * y)).mean())
    assert chi_square(np.array([kept, 20_000 - kept]), np.array([expected, 1 - expected]) * 20_000) > LEVEL
    source = Seeded(10)
    kept = sum(blocks._keep(source, far, uniform_below(blocks._block, source=source)) for _ in range(5000))
    assert chi_square(np.array([kept, 5000 - kept]), np.array([expected, 1 - expected]) * 5000) > LEVEL


@pytest.mark.parametrize(("n", "d"), [(1001, 10), (2**31 - 1, 2**20 + 1), (331, 10)])
def test_the_second_coin_makes_up_for_the_floor_of_the_exponent(n: int, d: int) -> None:
    """A coin of `N / (2 sigma^2)` is one of `N / D` and one of `D / (2 sigma^2)`: too near 1 for draws to tell."""
    blocks = _Blocks(n, d)
    exact = blocks._floor / (2 * Fraction(n, d) ** 2)
    assert 0 < exact < 1
    assert blocks._thinning is not None
    for precision in (64, 128):
        known = blocks._thinning._weights(precision)
        for lower, weight in zip(known.lower, (1 - exact, exact), strict=True):
            assert lower <= weight * 2**precision <= lower + known.error
