from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from holdfast.errors import InvalidParameter
from holdfast.noise import (
    Seeded,
    bernoulli,
    bernoulli_exp,
    bernoulli_exp_each,
    bernoulli_logistic,
    uniform_below,
)
from holdfast.noise.coins import below, below_each, exp_coin, exp_coins, series_coins
from holdfast.noise.table import coin
from tests.noise.laws import LEVEL, chi_square
from tests.noise.tape import Tape

TOP = 2**64


def _coin_fit(successes: int, count: int, p: float) -> float:
    return chi_square(np.array([successes, count - successes]), np.array([p, 1 - p]) * count)


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 7, 2**32 + 1, 2**63, 2**64, 2**64 + 1, 3**100])
def test_uniform_cells_have_one_size(bound: int) -> None:
    """Words at the edges: each number owns equally many words, and the rest is drawn again."""
    count = -(-bound.bit_length() // 64) if bound > TOP else 1
    whole = 2 ** (64 * count)
    cell = whole // bound

    def words(number: int) -> list[int]:
        return [(number >> (64 * i)) % TOP for i in reversed(range(count))]

    for number in {0, 1 % bound, bound // 2, bound - 1}:
        assert below(Tape(words(number * cell)), bound) == number
        assert below(Tape(words(number * cell + cell - 1)), bound) == number
    if cell * bound < whole:
        tape = Tape(words(cell * bound) + words(whole - 1) + words(0))
        assert below(tape, bound) == 0
        assert tape.left == 0


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 2**32 + 1, 2**63])
def test_uniform_vector_cells(bound: int) -> None:
    cell = (TOP - 1) // bound
    numbers = sorted({0, 1 % bound, bound // 2, bound - 1})
    words = [n * cell for n in numbers] + [n * cell + cell - 1 for n in numbers]
    got = below_each(Tape(words), np.full(len(words), bound, dtype=np.uint64))
    assert got.tolist() == numbers * 2
    if cell * bound < TOP:
        assert below_each(Tape([TOP - 1, 0]), np.array([bound], dtype=np.uint64)).tolist() == [0]


def test_uniform_law_scalar_and_vector() -> None:
    for bound in (2, 6, 100):
        expected = np.full(bound, 10**6 / bound)
        assert chi_square(np.bincount(uniform_below(bound, 10**6, source=Seeded(bound))), expected) > LEVEL
        source = Seeded(bound + 1)
        scalar = np.bincount([uniform_below(bound, source=source) for _ in range(50_000)], minlength=bound)
        assert chi_square(scalar, expected / 20) > LEVEL
    biased = np.random.default_rng(1).integers(0, 256, 10**6) % 100  # modulo without rejection
    assert chi_square(np.bincount(biased), np.full(100, 10**4)) < LEVEL


@pytest.mark.parametrize(("n", "d"), [(1, 2), (1, 1), (2, 3), (3, 4), (7, 9)])
def test_exp_coin_enumerated(n: int, d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every choice of the uniform integers: the exact chance of True, up to what is cut off at depth 12."""
    script: list[int] = []
    asked: list[int] = []

    class Cut(Exception):
        pass

    def scripted(source: object, bound: int) -> int:
        asked.append(bound)
        if len(asked) > len(script):
            raise Cut
        return script[len(asked) - 1]

    monkeypatch.setattr("holdfast.noise.coins.below", scripted)
    chance = Fraction(0)
    open_mass = Fraction(1)
    if n == d:
        n, d = 999, 1000  # below one: the whole part is another test
    while len(script) < 12:
        script.append(n)  # the first number that stops; all from n to bound - 1 do the same
        asked.clear()
        result = exp_coin(Tape([]), n, d)
        bound = asked[-1]
        for other in {n, bound - 1, (n + bound) // 2}:
            script[-1] = other
            asked.clear()
            assert exp_coin(Tape([]), n, d) is result
        chance += open_mass * Fraction(bound - n, bound) * result
        open_mass *= Fraction(n, bound)
        for other in {0, n - 1}:
            script[-1] = other
            asked.clear()
            with pytest.raises(Cut):
                exp_coin(Tape([]), n, d)
        script[-1] = 0
    assert abs(float(chance) - math.exp(-n / d)) <= float(open_mass) + 1e-15
    assert open_mass < Fraction(1, 10**8)


X = [
    Fraction(0),
    Fraction(1, 1000),
    Fraction(1, 3),
    Fraction(1),
    Fraction(17, 10),
    Fraction(5),
    Fraction(10**20 + 1, 10**20),
]


@pytest.mark.parametrize("x", X)
def test_exp_coin_law(x: Fraction) -> None:
    p = math.exp(-x)
    source = Seeded(x.numerator % 1000)
    scalar = sum(bernoulli_exp(x, source=source) for _ in range(40_000))
    vector = int(bernoulli_exp(x, 10**6, source=source).sum())
    each = int(bernoulli_exp_each(np.full(200_000, x.numerator % 2**62), x.denominator, source=source).sum())
    if x == 0:
        assert (scalar, vector, each) == (40_000, 10**6, 200_000)
        return
    assert _coin_fit(scalar, 40_000, p) > LEVEL
    assert _coin_fit(vector, 10**6, p) > LEVEL
    if x.numerator < 2**62:
        assert _coin_fit(each, 200_000, p) > LEVEL
    assert _coin_fit(vector, 10**6, p * 0.98) < LEVEL or p < 0.01 or p > 0.99  # power


def test_exp_coins_over_differing_x() -> None:
    """Sixteen exponents at once, below and above one, 64-bit and beyond."""
    tops = np.tile(np.arange(16) * 3, 50_000)
    for d in (10, 2**40 + 7, 2**63, 2**70):
        scale = max(d // 10, 1)
        numerators = tops * scale if scale < 2**56 else tops.astype(object)[:160_000] * scale
        hits = bernoulli_exp_each(numerators, d, source=Seeded(9))
        for j in range(16):
            mine = hits[j::16]
            p = math.exp(-3 * j * scale / d)
            if j == 0:
                assert mine.all()
            else:
                assert _coin_fit(int(mine.sum()), mine.size, p) > LEVEL


def test_thinned_coins_have_their_law() -> None:
    """`exp(-c n / d)` with c = 2/3, the full range of n, its end included; c = 1 would be seen."""
    thinning = coin(lambda precision: ((2 << precision) // 3, 1))
    hits = series_coins(Seeded(11), np.tile(np.arange(8, dtype=np.uint64), 50_000), 7, thinning)
    for n in range(8):
        successes = int(hits[n::8].sum())
        assert _coin_fit(successes, 50_000, math.exp(-2 * n / 21)) > LEVEL
        assert n == 0 or _coin_fit(successes, 50_000, math.exp(-n / 7)) < LEVEL


def test_exp_coins_keep_their_shape_and_order() -> None:
    got = bernoulli_exp_each([[0, 10**6], [10**6, 0]], 1)
    assert got.tolist() == [[True, False], [False, True]]
    assert exp_coins(Seeded(1), np.array([], dtype=np.uint64), 5).size == 0


@pytest.mark.parametrize(
    "p", [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(10**30 - 1, 10**30), 0.1]
)
def test_rational_coin(p: Fraction | float) -> None:
    source = Seeded(4)
    vector = int(bernoulli(p, 10**6, source=source).sum())
    scalar = sum(bernoulli(p, source=source) for _ in range(20_000))
    if p == 0 or p > Fraction(999, 1000):
        assert (vector, scalar) == (round(p * 10**6), round(p * 20_000))
    else:
        assert _coin_fit(vector, 10**6, float(p)) > LEVEL
        assert _coin_fit(scalar, 20_000, float(p)) > LEVEL


@pytest.mark.parametrize("x", [0, Fraction(1, 2), 1, 3.5])
def test_logistic_coin(x: Fraction | float) -> None:
    p = 1 / (1 + math.exp(x))
    source = Seeded(6)
    assert _coin_fit(int(bernoulli_logistic(x, 10**6, source=source).sum()), 10**6, p) > LEVEL
    assert _coin_fit(sum(bernoulli_logistic(x, source=source) for _ in range(40_000)), 40_000, p) > LEVEL


def test_a_certain_coin_is_certain_at_every_word() -> None:
    for word in (0, 1, TOP - 2, TOP - 1):
        assert bernoulli(1, 1, source=Tape([word, 5, 5])).tolist() == [True]
        assert bernoulli(0, 1, source=Tape([word, 5, 5])).tolist() == [False]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: uniform_below(0), "bound"),
        (lambda: uniform_below(2**63 + 1, 5), "bound"),
        (lambda: uniform_below(5, -1), "size"),
        (lambda: bernoulli(1.5), "p"),
        (lambda: bernoulli(Fraction(10**40 + 1, 10**40)), "p"),
        (lambda: bernoulli(float("nan")), "p"),
        (lambda: bernoulli_exp(-1), "x"),
        (lambda: bernoulli_exp([1]), "x"),
        (lambda: bernoulli_exp_each([-1], 5), "numerators"),
        (lambda: bernoulli_exp_each([0.5], 5), "numerators"),
        (lambda: bernoulli_exp_each([1], 0), "denominator"),
        (lambda: bernoulli_logistic(True), "x"),
    ],
)
def test_wrong_input(call: object, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()  # type: ignore[operator]


def test_arrays_of_uniform_numbers_reach_two_to_the_63() -> None:
    assert (uniform_below(2**63, 5, source=Seeded(1)) >= 0).all()
    with pytest.raises(InvalidParameter, match="bound"):
        uniform_below(2**63 + 1, 5)
    assert 0 <= uniform_below(2**63 + 1) <= 2**63
