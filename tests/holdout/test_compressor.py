from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.finite_law import max_divergence, total_variation
from holdfast.bounds.max_information import to_description_length
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.holdout import RejectionCompressor
from holdfast.noise import Seeded

TARGET, REFERENCE = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]


def laws(size: int = 4) -> st.SearchStrategy[list[float]]:
    weights = st.lists(st.integers(1, 50), min_size=size, max_size=size)
    return weights.map(lambda w: (np.array(w) / sum(w)).tolist())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(target=laws(), reference=laws(), beta=st.floats(1e-6, 0.5), truncate=st.sampled_from([0.0, 0.01, 0.2]))
def test_what_the_lemma_says(target: list[float], reference: list[float], beta: float, truncate: float) -> None:
    compressor = RejectionCompressor(target, reference, beta, truncate=truncate)
    k = compressor.divergence_bits
    assert k == pytest.approx(max(0.0, max_divergence(target, reference, truncate)), abs=1e-9)
    assert compressor.failure <= beta
    assert compressor.output_law.sum() == pytest.approx(1)
    assert (compressor.truncated <= 2**k * np.array(reference) * (1 + 1e-9)).all()
    assert total_variation(compressor.truncated / compressor.truncated.sum(), target) <= truncate + 1e-9
    assert compressor.distance <= compressor.failure + 1e-12
    assert compressor.distance_to(target) <= truncate + beta + 1e-9
    assert compressor.bits == pytest.approx(to_description_length(k, beta), abs=0.2)
    assert compressor.draws <= math.ceil(2**k * math.log(1 / beta) * (1 + 1e-9)) or compressor.draws == 1


def test_messages_have_the_law() -> None:
    # a chi-square with 2 degrees of freedom exceeds 28 with probability 8e-7
    compressor = RejectionCompressor(TARGET, REFERENCE, 0.1)
    source = Seeded(1)
    runs = 4000
    read = [compressor.receive(compressor.send(coins, source=source), coins) for coins in range(runs)]
    expected = runs * compressor.output_law
    counts = np.bincount(read, minlength=3)
    assert float(((counts - expected) ** 2 / expected).sum()) < 28
    other = runs * np.array(REFERENCE)
    assert float(((counts - other) ** 2 / other).sum()) > 28  # power


def test_a_message_is_short_and_the_same_for_both() -> None:
    compressor = RejectionCompressor(TARGET, REFERENCE, 0.01)
    messages = {compressor.send(coins=c) for c in range(200)}
    assert max(messages) < compressor.draws == 12
    assert compressor.receive(5, coins=9) == compressor.receive(5, coins=9)
    assert RejectionCompressor(TARGET, TARGET, 0.01).send(coins=1) == 0  # nothing to correct
    assert RejectionCompressor(TARGET, TARGET, 0.5).bits == 0.0


def test_truncation_pays_for_outcomes_that_the_reference_misses() -> None:
    with pytest.raises(GuaranteeUnavailable, match="gives no or almost no"):
        RejectionCompressor([0.9, 0.1], [1.0, 0.0], 0.01)
    compressor = RejectionCompressor([0.9, 0.1], [1.0, 0.0], 0.01, truncate=0.1)
    assert compressor.truncated == pytest.approx([1.0, 0.0])
    assert compressor.distance_to([0.9, 0.1]) <= 0.11


def test_a_message_that_would_need_too_many_draws_is_refused() -> None:
    with pytest.raises(GuaranteeUnavailable, match="public draws would be needed, but the limit is 10000000"):
        RejectionCompressor([1.0, 0.0], [2.0**-40, 1 - 2.0**-40], 1e-6)


def test_what_is_told_of_a_compressor_holds_no_law() -> None:
    plain = RejectionCompressor(TARGET, REFERENCE, 0.01).to_dict()
    assert (plain["beta"], plain["truncate"]) == (0.01, 0.0)
    assert plain["failure"] <= 0.01
    assert all(isinstance(value, (int, float)) for value in plain.values()), plain


def test_wrong_input() -> None:
    for wrong in (([0.5, 0.6], [0.5, 0.5], 0.1), ([0.5, 0.5], [0.5, 0.5], 0), ([1.0], [0.5, 0.5], 0.1)):
        with pytest.raises(InvalidParameter):
            RejectionCompressor(*wrong)
    with pytest.raises(InvalidParameter, match="message"):
        RejectionCompressor(TARGET, REFERENCE, 0.01).receive(12, coins=1)
    assert "0.3" not in repr(RejectionCompressor(TARGET, REFERENCE, 0.01))
