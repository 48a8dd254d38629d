"""Codes: fields, generators and decoders, against definitions and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from holdfast.bounds.lower_bound import gilbert_varshamov_redundancy
from holdfast.errors import InvalidParameter
from holdfast_papers.max_information.bch import BCH, bch, berlekamp_massey
from holdfast_papers.max_information.codes import Code, integer_of, random_words, rank
from holdfast_papers.max_information.gf2m import field, multiply_polynomials, remainder_polynomial
from holdfast_papers.max_information.golay import GENERATOR, golay


@pytest.mark.parametrize("m", range(2, 17))
def test_every_primitive_polynomial_is_primitive(m: int) -> None:
    over = field(m)
    assert len(set(over.powers[: over.order].tolist())) == over.order


def test_field_arithmetic_is_associative_and_distributive() -> None:
    over = field(4)
    for a, b, c in itertools.product(range(16), repeat=3):
        assert over.multiply(a, over.multiply(b, c)) == over.multiply(over.multiply(a, b), c)
        assert over.multiply(a, b ^ c) == over.multiply(a, b) ^ over.multiply(a, c)


@pytest.mark.parametrize("m", [1, 17, 2.5])
def test_field_refuses_other_sizes(m: float) -> None:
    with pytest.raises(InvalidParameter, match="m must be"):
        field(m)  # type: ignore[arg-type]


# Specification of max-information, table 4.3, columns n, e, r; and the Gilbert-Varshamov column.
@pytest.mark.parametrize(
    ("m", "radius", "redundancy"), [(5, 3, 15), (8, 10, 76), (10, 16, 160), (11, 16, 176), (11, 25, 275), (12, 53, 630)]
)
def test_redundancies_of_the_specification(m: int, radius: int, redundancy: int) -> None:
    assert bch(m, radius).redundancy == redundancy


@pytest.mark.parametrize(
    ("n", "distance", "redundancy"), [(23, 7, 16), (1023, 33, 197), (2047, 51, 330), (4095, 107, 700)]
)
def test_gilbert_varshamov(n: int, distance: int, redundancy: int) -> None:
    assert gilbert_varshamov_redundancy(n, distance) == redundancy


def test_generator_divides_the_whole() -> None:
    for code in (bch(5, 3), bch(6, 4), bch(8, 10)):
        assert remainder_polynomial((1 << code.n) | 1, code.generator) == 0
    assert remainder_polynomial((1 << 23) | 1, GENERATOR) == 0


def test_minimum_distance_by_enumeration() -> None:
    code = bch(4, 2)
    words = [multiply_polynomials(code.generator, message) for message in range(1, 1 << 7)]
    assert min(word.bit_count() for word in words) == 5
    words = [multiply_polynomials(GENERATOR, message) for message in range(1, 1 << 12)]
    assert min(word.bit_count() for word in words) == 7


@pytest.mark.parametrize("code", [golay(), bch(5, 3), bch(8, 10)], ids=lambda c: c.name)
def test_remainders_match_polynomial_division(code: Code) -> None:
    words = random_words(np.random.default_rng(1), 50, code.n)
    generator = code.generator if isinstance(code, BCH) else GENERATOR
    expected = [remainder_polynomial(integer_of(word), generator) for word in words]
    assert [integer_of(word) for word in code.remainders(words)] == expected
    assert rank(code.remainders(np.eye(code.n, dtype=np.uint8))) == code.redundancy


def test_bch_decodes_exactly_the_words_within_the_radius() -> None:
    """All 2^15 words of length 15: the decoder agrees with a search of all 2^7 codewords."""
    code = bch(4, 2)
    bits = (np.arange(1 << 15)[:, None] >> np.arange(15)) & 1
    words = bits.astype(np.uint8)
    codewords = words[~code.remainders(words).any(axis=1)]
    assert len(codewords) == 1 << 7
    distance = (words[:, None, :] != codewords[None]).sum(axis=2)
    nearest, best = distance.argmin(axis=1), distance.min(axis=1)
    decoded = code.decode(words)
    np.testing.assert_array_equal(decoded.distances, np.where(best <= 2, best, -1))
    np.testing.assert_array_equal(decoded.codewords[best <= 2], codewords[nearest][best <= 2])


def test_golay_decodes_to_the_nearest_codeword() -> None:
    code = golay()
    messages = [multiply_polynomials(GENERATOR, message) for message in range(1 << 12)]
    codewords = ((np.array(messages)[:, None] >> np.arange(23)) & 1).astype(np.uint8)
    words = random_words(np.random.default_rng(2), 300, 23)
    distance = (words[:, None, :] != codewords[None]).sum(axis=2)
    decoded = code.decode(words)
    np.testing.assert_array_equal(decoded.distances, distance.min(axis=1))
    np.testing.assert_array_equal(decoded.codewords, codewords[distance.argmin(axis=1)])


@pytest.mark.parametrize(("m", "radius"), [(5, 3), (6, 7), (8, 10), (10, 16), (11, 25), (12, 53)])
def test_bch_corrects_up_to_its_radius_and_no_more(m: int, radius: int) -> None:
    code, rng = bch(m, radius), np.random.default_rng(3)
    rows = random_words(rng, 40, code.n)
    sent = rows.copy()
    sent[:, : code.redundancy] ^= code.remainders(rows)
    assert not code.syndromes(sent).any()
    for errors in (0, 1, radius, radius + 1):
        received = sent.copy()
        for row in received:
            row[rng.choice(code.n, errors, replace=False)] ^= 1
        decoded = code.decode(received)
        if errors <= radius:
            np.testing.assert_array_equal(decoded.codewords, sent)
            assert (decoded.distances == errors).all()
        else:
            heard = decoded.distances >= 0
            assert not (decoded.codewords[heard] == sent[heard]).all(axis=1).any()
            assert not code.syndromes(decoded.codewords[heard]).any()


def test_berlekamp_massey_finds_the_shortest_recurrence() -> None:
    over, rng = field(6), np.random.default_rng(4)
    for length in range(1, 8):
        taps = [1, *rng.integers(1, 64, size=length).tolist()]
        sequence = rng.integers(1, 64, size=length).tolist()
        while len(sequence) < 4 * length:
            value = 0
            for j in range(1, length + 1):
                value ^= over.multiply(taps[j], sequence[-j])
            sequence.append(value)
        found, size = berlekamp_massey(over, sequence)
        assert size <= length
        for i in range(size, len(sequence)):
            value = 0
            for j in range(len(found)):
                value ^= over.multiply(found[j], sequence[i - j])
            assert value == 0


@pytest.mark.parametrize(("m", "radius"), [(4, 0), (4, 8), (4, 7)])
def test_bch_refuses_a_radius_without_codewords(m: int, radius: int) -> None:
    if (m, radius) == (4, 7):  # the repetition code: one message bit is left
        assert bch(m, radius).redundancy == 14
        return
    with pytest.raises(InvalidParameter, match="radius"):
        bch(m, radius)
