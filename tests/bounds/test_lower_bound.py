"""The lower bounds: conditions, exact values, and the smallest construction in full."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from holdfast.bounds import finite_law
from holdfast.bounds.lower_bound import (
    acceptance,
    answer_probability,
    composition_lower_bound,
    compression_lower_bound,
    construction,
    corollary_3_10,
    general_lower_bound,
    gilbert_varshamov_redundancy,
    minimum_rows,
    recovered_information,
    tight_threshold,
)
from holdfast.bounds.transfer import interleaved
from holdfast.errors import InvalidParameter


def test_the_printed_condition_is_not_enough() -> None:
    # T-11: n > 64e = 173.97
    assert construction(0.5, 0.25, 175).problems
    assert construction(0.5, 0.25, 984).problems
    assert not construction(0.5, 0.25, 985).problems
    for epsilon, delta in ((0.5, 0.25), (0.1, 1e-6), (0.01, 0.1)):
        n = minimum_rows(epsilon, delta)
        assert not construction(epsilon, delta, n).problems
        assert construction(epsilon, delta, n - 1).problems
        assert not construction(epsilon, delta, 3 * n).problems
    with pytest.raises(InvalidParameter, match="parity bits"):
        composition_lower_bound(0.5, 0.25, 175, 0.1)
    with pytest.raises(InvalidParameter, match="delta"):
        construction(0.5, 0.3, 2048)


def test_bounds_of_the_construction() -> None:
    for beta in (0.0, 0.1, 0.2):
        exact, printed = (composition_lower_bound(0.5, 0.25, 2048, beta, m) for m in ("best", "paper"))
        assert 2047 <= printed <= exact <= 2048
        direct, corollary = (general_lower_bound(0.5, 0.25, 2048, beta, m) for m in ("best", "paper"))
        assert corollary < direct <= 2048 - 1089
    assert general_lower_bound(0.5, 0.25, 2048, 0.1, "paper") == pytest.approx(corollary_3_10(2048, 1089, 0.15))


def test_no_contradiction_with_the_order_free_rule() -> None:
    # r parity bits and a private step have no transfer bound here, because 2^r delta is far above 1
    assert interleaved(1089, 0.5, 2048, 0.1, delta=0.25).bits == math.inf


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.5, 0.74, 0.75, 0.9])
def test_recovered_information_is_exact(beta: float) -> None:
    size, p = 64, 0.75
    table = np.hstack([np.eye(size) * p / size, np.full((size, 1), (1 - p) / size)])
    assert finite_law.max_information(table, beta) == pytest.approx(recovered_information(6, beta, p), abs=1e-9)
    table = np.eye(size) / size
    assert finite_law.max_information(table, beta) == pytest.approx(recovered_information(6, beta, 1.0), abs=1e-9)


def hamming_mechanism(epsilon: float, w: float) -> np.ndarray:
    """Channel of the second step for the [7, 4] Hamming code and parity 0: samples by code words and "no answer"."""
    check = np.array([[1, 0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]])
    words = np.array([[(i >> j) & 1 for j in range(7)] for i in range(128)])
    code = np.flatnonzero(~((words @ check.T) % 2).any(axis=1))
    channel = np.zeros((128, len(code) + 1))
    for i, word in enumerate(words):
        distances = (words[code] != word).sum(axis=1)
        nearest = int(np.argmin(distances))
        channel[i, nearest] = acceptance(int(distances[nearest]), w, epsilon)
        channel[i, -1] = 1 - channel[i, nearest]
    return channel


def test_a_whole_construction_in_miniature() -> None:
    # the [7, 4] Hamming code corrects one error: a private step that returns the sample when it is a code word
    w, delta = 0.5, 0.35
    epsilon = -math.log(2 * delta) / w
    channel = hamming_mechanism(epsilon, w)
    worst = max(
        finite_law.hockey_stick(channel[i], channel[i ^ (1 << j)], epsilon) for i in range(128) for j in range(7)
    )
    assert worst <= delta
    assert answer_probability(7, 1, 3, w, epsilon) == pytest.approx(1 - channel[:, -1].mean())
    # on the code alone, a dependent distribution, it reveals the sample: the coset bound, and the exact value
    uniform_on_code = channel[channel[:, :-1].max(axis=1) > acceptance(1, w, epsilon) + 1e-9] / 16
    p = acceptance(0, w, epsilon)
    for beta in (0.0, 0.1, 0.3):
        assert finite_law.max_information(uniform_on_code, beta) == pytest.approx(
            recovered_information(4, beta, p), abs=1e-9
        )


def test_golay() -> None:
    # spec-max-information 4.3: privacy of the perfect Golay code of length 23, by distance
    w, errors = tight_threshold(0.5, 0.25)
    assert errors == 3
    g = [acceptance(d, w, 0.5) for d in range(4)]
    same = max(max(a - math.exp(0.5) * b, 0) for a, b in itertools.pairwise(g))
    assert max(same, g[3]) <= 0.25
    assert g[3] == pytest.approx(0.2231301601)
    assert sum(math.comb(23, d) for d in range(4)) == 2**11  # perfect: every word is within distance 3
    # exact max-information of the second step on uniform bits: cells by distance d and by "word" or "no answer"
    share = np.array([math.comb(23, d) / 2**11 for d in range(4)])
    answered = float(share @ g)
    joint = np.concatenate([share * g, share * (1 - np.array(g)), [0.0]])
    product = np.concatenate([share * answered / 2**12, share * (1 - answered), [answered * (1 - 2**-12)]])
    for beta, bits in ((0.0, 13.6120), (0.1, 11.2447), (0.2, 9.5647), (0.25, 0.0318), (0.5, -0.5907)):
        assert finite_law.max_divergence(joint, product, beta) == pytest.approx(bits, abs=6e-5)


def test_gilbert_varshamov_by_counting() -> None:
    assert gilbert_varshamov_redundancy(7, 3) == 3  # 1 + 6 = 7 < 8: the Hamming code
    assert gilbert_varshamov_redundancy(7, 2) == 1


def test_compression() -> None:
    table = np.eye(1024) / 1024
    assert finite_law.max_information(table, 0.05) == pytest.approx(compression_lower_bound(10, 0.05), abs=1e-9)
    assert compression_lower_bound(10, 0.05, "paper") <= compression_lower_bound(10, 0.05)
    assert compression_lower_bound(5000, 0.05, "paper") < 5000


def test_lower_bounds_are_rounded_down() -> None:
    with mpmath.workdps(50):
        for row_bits, beta in ((10.0, 0.05), (0.3, 0.7), (5000.0, 1e-9)):
            x, b = mpmath.mpf(row_bits), mpmath.mpf(beta)
            assert mpmath.mpf(compression_lower_bound(row_bits, beta)) <= x + mpmath.log(1 - b, 2)
            printed = x + mpmath.log(b / (2 * b + mpmath.mpf(2) ** -x), 2)
            assert mpmath.mpf(compression_lower_bound(row_bits, beta, "paper")) <= printed
        for beta in (0.0, 0.1, 0.2):
            p = 1 - mpmath.exp(-mpmath.mpf(2)) / 2  # epsilon w = log2(1/delta) = 2 at delta = 1/4
            exact = 2048 + mpmath.log(1 - mpmath.mpf(beta) / p, 2)
            assert mpmath.mpf(composition_lower_bound(0.5, 0.25, 2048, beta)) <= exact


def test_rows_beyond_every_number_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="epsilon must be larger"):
        minimum_rows(5e-324, 0.1)
