"""The tables, three ways: entry by entry against mpmath, by every word of a short width, and with steered words."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from holdfast.noise import Seeded, gaussian, laplace
from holdfast.noise.inputs import VECTOR_SCALE, paired, symmetric
from holdfast.noise.selection import _bucket_table
from holdfast.noise.table import EXP_ERROR, VECTOR_CAP, Table, Weights, coin, exp_lower, quadratic_weights
from tests.noise.laws import LEVEL, fit, geometric_cdf
from tests.noise.tape import Tape, TapeEnd

LAWS: dict[str, tuple[Callable[[int], Weights], Callable[[int], mpmath.mpf]]] = {
    "geometric": (
        lambda p: quadratic_weights(Fraction(2, 3), Fraction(0), p),
        lambda j: mpmath.exp(-mpmath.mpf(2) * j / 3),
    ),
    "digit": (
        lambda p: quadratic_weights(Fraction(1, 50), Fraction(0), p, 16),
        lambda j: mpmath.exp(-mpmath.mpf(j) / 50) if j < 16 else mpmath.mpf(0),
    ),
    "laplace": (
        lambda p: symmetric(quadratic_weights(Fraction(1, 2), Fraction(0), p)),
        lambda j: mpmath.exp(-mpmath.mpf((j + 1) // 2) / 2),
    ),
    "gaussian": (
        lambda p: symmetric(quadratic_weights(Fraction(0), Fraction(1, 8), p)),
        lambda j: mpmath.exp(-(mpmath.mpf((j + 1) // 2) ** 2) / 8),
    ),
    "blocks": (
        lambda p: paired(quadratic_weights(Fraction(0), Fraction(1, 512), p)),
        lambda j: mpmath.exp(-(mpmath.mpf(j // 2) ** 2) / 512),
    ),
    "buckets": (
        _bucket_table([0, 2, 3, 60], [2, 5, 100, 10**6])._weights,
        lambda j: (2, 5, 100, 10**6)[j] * mpmath.exp(-(0, 2, 3, 60)[j]) if j < 4 else mpmath.mpf(0),
    ),
    "buckets of many": (  # so many that the error of one power counts
        _bucket_table([0, 52], [1, 2**75])._weights,
        lambda j: (1, 2**75)[j] * mpmath.exp(-(0, 52)[j]) if j < 2 else mpmath.mpf(0),
    ),
    "tiny scale": (
        lambda p: symmetric(quadratic_weights(Fraction(1000), Fraction(0), p)),
        lambda j: mpmath.exp(-mpmath.mpf((j + 1) // 2) * 1000),
    ),
}


FINITE = ("digit", "buckets", "buckets of many")


def _cumulative(weight: Callable[[int], mpmath.mpf], terms: int = 3000) -> list[mpmath.mpf]:
    masses = [weight(j) for j in range(terms)]
    total = mpmath.fsum(masses)
    running = list(itertools.accumulate(masses))
    return [r / total for r in running]


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("bits", [64, 128, 256])
def test_entries_bracket_the_law(name: str, bits: int) -> None:
    weights, weight = LAWS[name]
    table = Table(weights).thresholds(bits)
    with mpmath.workprec(4 * bits + 200):
        exact = _cumulative(weight)
        for entry, probability in zip(table, exact, strict=False):
            assert entry <= mpmath.ldexp(probability, bits) < entry + 2
    assert table == sorted(table)
    if name not in FINITE:  # what is not listed must be open
        assert table[-1] >= 2**bits - 2


def test_buckets_that_are_not_listed_are_open() -> None:
    """The last bucket is too light to be listed at 64 digits and is found at 128; the one before it is heavy."""
    table = Table(_bucket_table([0, 67, 70], [1, 2**40, 1])._weights)
    first = table.thresholds(64)
    assert 2**64 - 1000 < first[0] < 2**64 - 100
    assert first[-1] >= 2**64 - 2
    assert len(table.thresholds(128)) == 2
    assert table.draw(Tape([2**64 - 1, 2**64 - 1])) == 2


@pytest.mark.parametrize("name", LAWS)
def test_every_word_of_a_short_width(name: str) -> None:
    """4-bit words, all tapes of at most four words: what is settled adds up to the distribution, short of what is
    open."""
    weights, weight = LAWS[name]
    width, depth = 4, 4
    table = Table(weights, width=width)
    settled: dict[int, Fraction] = {}
    undecided = Fraction(0)

    def walk(prefix: list[int]) -> None:
        nonlocal undecided
        for word in range(1 << width):
            tape = Tape([*prefix, word])
            mass = Fraction(1, 1 << (width * (len(prefix) + 1)))
            try:
                outcome = table.draw(tape)
            except TapeEnd:
                if len(prefix) + 1 == depth:
                    undecided += mass
                else:
                    walk([*prefix, word])
                continue
            assert tape.left == 0  # it asked for exactly the words it needed
            settled[outcome] = settled.get(outcome, Fraction(0)) + mass

    walk([])
    assert sum(settled.values()) + undecided == 1
    assert undecided < Fraction(1, 40)
    with mpmath.workprec(200):
        exact = _cumulative(weight)
        for outcome, mass in settled.items():
            truth = exact[outcome] - (exact[outcome - 1] if outcome else 0)
            share = mpmath.mpf(mass.numerator) / mass.denominator
            # Only cells next to the outcome's own two boundaries can be missing: at most 2 + 2 at the last depth.
            assert share <= truth <= share + mpmath.mpf(4) / 2 ** (width * depth)


def test_open_cells_take_more_digits_and_decide_by_them() -> None:
    table = Table(LAWS["laplace"][0])
    first, second = table.thresholds(64), table.thresholds(128)
    for j in (0, 1, 5, 20):
        # Words far from the boundary inside each open cell, then on both sides of the 128-digit boundary.
        high, low = divmod(second[j], 1 << 64)
        assert high - first[j] in (0, 1)
        assert table.draw(Tape([high, low - 5])) == j
        assert table.draw(Tape([high, low + 5])) == j + 1
        for open_word in (first[j], first[j] + 1):
            if open_word < high:
                assert table.draw(Tape([open_word, 12345])) == j
            if open_word > high:
                assert table.draw(Tape([open_word, 12345])) == j + 1


def test_the_last_cell_leads_beyond_the_first_table(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(LAWS["laplace"][0])
    top = (1 << 64) - 1
    inside = len(table.thresholds(64))
    assert table.draw(Tape([top, 1 << 63])) >= inside - 1
    assert table.draw(Tape([top, top, 1 << 63])) > inside + 20
    words = [top, top, 0, 1 << 63, top, 1 << 63]  # the first word settles at the fourth, the second at the last
    scalar = [table.draw(Tape([top, 1 << 63])), table.draw(Tape([top, top, 1 << 63])), 0]
    assert table.draws(Tape(words), 3).tolist() == scalar
    monkeypatch.setattr("holdfast.noise.table.VECTOR_CAP", inside)
    assert table.draws(Tape(words), 3).tolist() == [min(outcome, inside) for outcome in scalar]


def test_vector_and_scalar_agree_word_by_word() -> None:
    words = Seeded(5).words(1500).tolist()
    for weights, _ in LAWS.values():
        table = Table(weights)
        assert table.draws(Tape(words), len(words)).tolist() == [table.draw(Tape([w, 0, 0])) for w in words]


@pytest.mark.parametrize("name", LAWS)
def test_long_arrays_and_scalars_agree_word_by_word(name: str) -> None:
    """From 2048 draws on the first 16 digits are looked up; the other 48 follow only where the look-up is open."""
    table, count = Table(LAWS[name][0]), 8192
    packed = Seeded(6).words(count // 4)
    shorts = packed.view(np.uint16).tolist()
    following = Seeded(7).words(count).tolist()
    cells = table._cells()
    rest = iter(following)
    words = [(short << 48) | (next(rest) >> 16 if cells[short] == 0xFFFF else 12345) for short in shorts]
    found = table.draws(Tape([*packed.tolist(), *following]), count)
    assert found.tolist() == [table.draw(Tape([word, 0, 0])) for word in words]


def test_a_threshold_at_the_end_of_a_cell_opens_the_next_one() -> None:
    """An entry that ends in 48 ones: the second of its two open words is the first of the next 16-digit cell."""
    entry = (20_000 << 48) | (2**48 - 1)
    slack = (1 << 62) - (1 << 10)

    def weights(precision: int) -> Weights:
        # The probability is (entry + 19/16) / 2**64; what is known of it at first is 1/4 less.
        low = (16 * entry + 19) << (precision - 68)
        return Weights([low - slack, (1 << precision) - low - slack], slack)

    table = Table(weights)
    assert table.thresholds(64) == [entry]
    assert table._cells()[[19_999, 20_000, 20_001, 20_002]].tolist() == [0, 0xFFFF, 0xFFFF, 1]
    packed = np.full(2048, 20_001, dtype=np.uint16).view(np.uint64).tolist()
    # The word entry + 1, and after it digits on either side of 3/16.
    for digits, outcome in ((1 << 60, 0), (1 << 62, 1)):
        assert table.draw(Tape([entry + 1, digits])) == outcome
        assert table.draws(Tape([*packed, *[0] * 2048, *[digits] * 2048]), 2048).tolist() == [outcome] * 2048


def test_the_vector_cap_is_out_of_reach() -> None:
    """The claim of `VECTOR_CAP`: below 10**-290 for the slowest distributions, and no array overflows at the largest
    scale."""
    half = VECTOR_CAP // 2  # a code stands for half its number
    assert 2 * mpmath.exp(-mpmath.mpf(half) / laplace._TOP_SCALE) < mpmath.mpf(10) ** -290
    assert 4 * mpmath.exp(-(mpmath.mpf(half) ** 2) / (2 * gaussian._DIRECT**2)) < mpmath.mpf(10) ** -290
    digits = laplace._laplace(VECTOR_SCALE, 1)
    highest = laplace._DIGIT_BITS * len(digits._more) + digits._spare
    assert (VECTOR_CAP + 1) << highest < 2**63
    blocks = gaussian._Blocks(2**31, 1)
    assert VECTOR_CAP * blocks._block < 2**62


@pytest.mark.parametrize("name", LAWS)
def test_lookup_agrees_with_search(name: str) -> None:
    """Every 16-bit prefix: a settled cell gives what any word in it gives."""
    table = Table(LAWS[name][0])
    cells = table._cells()
    prefixes = np.flatnonzero(cells != 0xFFFF)
    assert prefixes.size > 0.98 * 65536
    for suffix in (0, 2**48 - 1, 123456789):
        words = (prefixes.astype(np.uint64) << np.uint64(48)) | np.uint64(suffix)
        assert (table._search(words, Seeded(1)) == cells[prefixes]).all()
    open_cells = set(np.flatnonzero(cells == 0xFFFF).tolist())
    for entry in table.thresholds(64):
        assert entry >> 48 in open_cells
        assert min(entry + 1, 2**64 - 1) >> 48 in open_cells


def test_chi_square_through_lookup_and_search() -> None:
    table = Table(LAWS["geometric"][0])
    assert fit(table.draws(Seeded(11), 10**6), geometric_cdf(1.5)) > LEVEL
    short = np.concatenate([table.draws(source, 2000) for source in [Seeded(12)] for _ in range(100)])
    assert fit(short, geometric_cdf(1.5)) > LEVEL
    assert fit(table.draws(Seeded(13), 10**6), geometric_cdf(1.52)) < LEVEL  # the test has power


def test_coin_probability_to_the_last_digit() -> None:
    table = coin(lambda p: (exp_lower(Fraction(1), p), EXP_ERROR)).thresholds(64)
    with mpmath.workprec(200):
        assert table[0] <= mpmath.ldexp(1 - mpmath.exp(-1), 64) < table[0] + 2
