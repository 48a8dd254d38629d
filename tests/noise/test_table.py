"""The tables, three ways: entry by entry against mpmath, by every word of a short width, and with steered words."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from holdfast.noise import Seeded
from holdfast.noise.fixed import EXP_ERROR, Weights, exp_lower, quadratic_weights
from holdfast.noise.integers import paired, symmetric
from holdfast.noise.table import Table, coin
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
    "tiny scale": (
        lambda p: symmetric(quadratic_weights(Fraction(1000), Fraction(0), p)),
        lambda j: mpmath.exp(-mpmath.mpf((j + 1) // 2) * 1000),
    ),
}


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
    if name != "digit":  # what is not listed must be open
        assert table[-1] >= 2**bits - 2


@pytest.mark.parametrize("name", LAWS)
def test_every_word_of_a_short_width(name: str) -> None:
    """4-bit words, all tapes of at most four words: what is settled adds up to the law, short of what is open."""
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
