"""The two looks: exact distributions against enumeration, the attack against its theory, and the order rule."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from holdfast.bounds.currency import MaxInformation, compose
from holdfast.bounds.finite_law import max_information
from holdfast.bounds.lower_bound import construction, tight_threshold
from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast_papers.binomial import agrees
from holdfast_papers.max_information.bch import bch
from holdfast_papers.max_information.codes import Code, random_words
from holdfast_papers.max_information.golay import golay
from holdfast_papers.max_information.two_looks import (
    Looks,
    golay_divergence,
    log2_agreement_p_values,
)


def _golay_looks() -> Looks:
    return Looks(golay(), 0.5, 0.25, tight_threshold(0.5, 0.25)[0])


def _small_looks() -> Looks:
    return Looks(bch(4, 2), 2.0, 0.2, tight_threshold(2.0, 0.2)[0])


def test_vectors_of_the_specification() -> None:
    """Max-information, section 4.3: the Golay instance."""
    looks = _golay_looks()
    assert [round(looks.says(d), 10) for d in range(4)] == [0.75, 0.5878196823, 0.3678794412, 0.2231301601]
    assert looks.unprompted == pytest.approx(0.2453646801, abs=5e-11)
    assert golay_divergence(looks) == pytest.approx(0.2231301601, abs=5e-11)
    values = [looks.second_max_information(beta) for beta in (0, 0.1, 0.2, 0.25, 0.5)]
    assert values == pytest.approx([13.6120, 11.2447, 9.5647, 0.0318, -0.5907], abs=5e-5)


def test_printed_parameters_of_the_specification() -> None:
    for delta, n, distance, redundancy in [
        (0.01, 1023, 107.3, 3218.6),
        (1e-3, 2047, 160.5, 5294.6),
        (1e-6, 4095, 319.9, 11516),
    ]:
        printed = construction(0.5, delta, n)
        assert printed.distance == pytest.approx(distance, abs=0.05)
        assert printed.redundancy == pytest.approx(redundancy, abs=0.5)
    assert next(n for n in range(2, 2000) if construction(0.5, 0.25, n).redundancy < n) == 985


def test_second_look_is_private_by_enumeration() -> None:
    """Every pair of neighbours among 2^15 data sets: the divergence is exactly what `Looks.divergence` says."""
    looks = _small_looks()
    words = ((np.arange(1 << 15)[:, None] >> np.arange(15)) & 1).astype(np.uint8)
    decoded = looks.code.decode(words)
    names = decoded.codewords.astype(np.int64) @ (1 << np.arange(15))
    names[decoded.distances < 0] = -1
    said = np.array([looks.says(d) for d in range(looks.code.radius + 1)] + [0.0])[decoded.distances]
    factor, worst = math.exp(looks.epsilon), 0.0
    for place in range(15):
        flipped = np.arange(1 << 15) ^ (1 << place)
        p, q = said, said[flipped]
        same = names == names[flipped]
        heard = np.where(same, np.maximum(p - factor * q, 0), p)
        worst = max(worst, float((heard + np.maximum(1 - p - factor * (1 - q), 0)).max()))
    assert worst == pytest.approx(looks.divergence, rel=1e-12)
    assert worst <= looks.delta


def test_exact_max_information_by_enumeration() -> None:
    """The class formula against the joint table of 2^15 data sets and 2^7 + 1 answers."""
    looks = _small_looks()
    words = ((np.arange(1 << 15)[:, None] >> np.arange(15)) & 1).astype(np.uint8)
    decoded = looks.code.decode(words)
    heard = decoded.distances >= 0
    names, answers = np.unique(decoded.codewords[heard] @ (1 << np.arange(15)), return_inverse=True)
    said = np.array([looks.says(d) for d in range(looks.code.radius + 1)] + [0.0])[decoded.distances]
    joint = np.zeros((1 << 15, len(names) + 1))
    joint[heard, answers] = said[heard] / (1 << 15)
    joint[:, -1] = (1 - said) / (1 << 15)
    assert len(names) == 1 << 7
    assert joint[:, :-1].sum() == pytest.approx(looks.unprompted, rel=1e-12)
    for beta in (0.0, 0.05, 0.2, 0.5):
        assert looks.second_max_information(beta) == pytest.approx(max_information(joint, beta), abs=1e-9)


def test_max_information_of_both_by_enumeration() -> None:
    looks = _small_looks()
    said, cells = looks.recovery, 2.0**-15
    for beta in (0.0, 0.1, 0.5, 0.9):
        diagonal = (said - beta) / (said * cells) if beta < said else 0.0
        everything = (1 - beta) / (said * cells + 1 - said)
        assert looks.both_max_information(beta) == pytest.approx(math.log2(max(diagonal, everything)), abs=1e-9)


@pytest.mark.parametrize(
    ("code", "delta"), [(golay(), 0.25), (bch(5, 3), 0.25), (bch(8, 10), 0.05)], ids=["golay", "bch5", "bch8"]
)
def test_attack_at_the_rate_of_theory(code: Code, delta: float) -> None:
    """Exact binomial tests at error 1e-6, and the same tests reject a threshold of twice the size."""
    looks = Looks(code, 0.5, delta, tight_threshold(0.5, delta)[0])
    rng, trials = np.random.default_rng(13), 3000
    rows = random_words(rng, trials, code.n)
    words, said = looks.second(rows, looks.first(rows), rng)
    np.testing.assert_array_equal(words, rows)
    assert agrees(int(said.sum()), trials, looks.recovery)
    assert not agrees(int(said.sum()), trials, 1 - math.exp(-0.5 * 2 * looks.threshold) / 2), "power"
    other = looks.first(random_words(rng, trials, code.n))
    assert agrees(int(looks.second(rows, other, rng)[1].sum()), trials, looks.unprompted)


def test_second_look_answers_from_the_coset_it_was_told() -> None:
    looks, rng = _golay_looks(), np.random.default_rng(14)
    rows, told = random_words(rng, 200, 23), looks.first(random_words(rng, 200, 23))
    words, _ = looks.second(rows, told, rng)
    np.testing.assert_array_equal(looks.first(words), told)
    assert ((words != rows).sum(axis=1) <= 3).all()


def test_p_values_of_agreement() -> None:
    for n in (1, 5, 23):
        brute = [
            math.log2(sum(sum(w) >= k for w in itertools.product((0, 1), repeat=min(n, 12))) / 2 ** min(n, 12))
            for k in range(min(n, 12) + 1)
        ]
        np.testing.assert_allclose(log2_agreement_p_values(min(n, 12)), brute, atol=1e-12)
    assert log2_agreement_p_values(4095)[-1] == -4095


def test_a_radius_too_small_for_the_privacy_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="radius 3 is too small"):
        Looks(golay(), 0.5, 0.1, tight_threshold(0.5, 0.1)[0])
    with pytest.raises(InvalidParameter, match="delta"):
        Looks(golay(), 0.5, 0.5, 1.0)


def test_order_rule_refuses_exactly_this_order() -> None:
    look = MaxInformation(11 + math.log2(25), 0.01, "any")
    private = MaxInformation(1.0, 0.5, "product")
    with pytest.raises(LedgerConflict, match=r"Theorem 3\.9"):
        compose(look, private)
    assert compose(private, look).bits == pytest.approx(look.bits + 1)


@dataclass(frozen=True)
class Careless(Looks):
    """The second look without its noise: the divergence test must notice."""

    def says(self, distance: int) -> float:
        return 1.0 if distance < self.threshold else 0.0


def test_divergence_has_power() -> None:
    looks = Careless(golay(), 0.5, 0.25, 1.5)
    assert golay_divergence(looks) > 0.25
