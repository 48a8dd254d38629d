"""Short outputs: the exact bound is attained, and never exceeded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds import finite_law
from holdfast.bounds.max_information import (
    description_length,
    randomized_description_length,
    to_description_length,
)
from holdfast.errors import InvalidParameter


@pytest.mark.parametrize(
    ("size", "beta"), [(2, 0.01), (2, 0.146), (5, 0.02), (16, 0.02), (3, 0.49), (4, 0.7), (100, 0.45), (1000, 0.41)]
)
def test_the_exact_value_is_attained(size: int, beta: float) -> None:
    bits = description_length(math.log2(size), beta).bits
    rare = 2 * beta / (size - 1)
    laws = [np.full(size, 1 / size)]
    if rare * (size - 1) < 1:
        laws.append(np.append(np.full(size - 1, rare), 1 - rare * (size - 1)))
    attained = max(finite_law.max_information(np.diag(law), beta) for law in laws)
    assert attained == pytest.approx(bits, abs=1e-9)
    assert attained <= bits * (1 + 1e-14)


def test_never_exceeded_on_random_channels() -> None:
    rng = np.random.default_rng(5)
    closest = 0.0
    for _ in range(2000):
        size, samples = int(rng.integers(2, 5)), int(rng.integers(2, 12))
        prior = rng.dirichlet(np.full(samples, 10 ** rng.uniform(-1, 1)))
        channel = rng.dirichlet(np.full(size, 10 ** rng.uniform(-2, 0.5)), size=samples)
        beta = 10 ** rng.uniform(-3, -0.05)
        exact = finite_law.beta_star(prior[:, None] * channel, description_length(math.log2(size), beta).bits)
        closest = max(closest, exact / beta)
    assert 0.5 < closest <= 1 + 1e-9


def test_one_bit_less_is_caught() -> None:
    rare = np.diag([0.02, 0.98])
    assert finite_law.max_information(rare, 0.01) > description_length(1, 0.01).bits - 1
    assert finite_law.max_information(rare, 0.01) == pytest.approx(description_length(1, 0.01).bits, abs=1e-9)


@given(st.floats(0, 3000), st.floats(1e-300, 0.999), st.floats(0, 5), st.floats(1, 2))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_order_and_monotone(bits: float, beta: float, more: float, factor: float) -> None:
    best, sharp, paper = (description_length(bits, beta, m).bits for m in ("best", "sharp", "paper"))
    tolerance = 1e-12 * max(1.0, bits)
    assert best <= sharp + tolerance
    assert sharp <= paper + tolerance
    assert best >= math.log2(1 - beta) - 1e-9
    for method in ("best", "sharp", "paper"):
        here = description_length(bits, beta, method).bits - 1e-9
        assert description_length(bits + more, beta, method).bits >= here
        assert description_length(bits, beta / factor, method).bits >= here


def test_ends() -> None:
    assert description_length(3, 0.0).bits == math.inf
    assert description_length(0, 0.25).bits == pytest.approx(math.log2(0.75))
    assert description_length(5000, 1e-3).bits == pytest.approx(5000 - 2 + math.log2(1000))
    assert description_length(3, 0.01).scope == "any"


def test_public_coins_do_not_help_the_adversary() -> None:
    # an output that is one of 2 values for each of 8 public coins: 16 values in all, one bit of randomized length
    rng = np.random.default_rng(8)
    for _ in range(200):
        prior = rng.dirichlet(np.ones(6))
        tables = [prior[:, None] * np.eye(2)[rng.integers(2, size=6)] / 8 for _ in range(8)]
        beta = float(10 ** rng.uniform(-3, -0.5))
        exact = finite_law.max_information(np.hstack(tables), beta)
        assert exact <= randomized_description_length(1, beta).bits + 1e-9


def test_number_of_draws_is_whole() -> None:
    # spec-reusable-holdout 6, row 52: 12 draws
    assert to_description_length(1.321928095, 0.01) == pytest.approx(math.log2(12))
    assert to_description_length(0.0, 0.5) == 0
    for k in (0.3, 4.0, 49.9, 51.0, 400.0):
        assert to_description_length(k, 0.01) >= to_description_length(k, 0.01, "paper") * (1 - 1e-15)


def test_wrong_input_is_named() -> None:
    with pytest.raises(InvalidParameter, match="bits"):
        description_length(-1, 0.1)
    with pytest.raises(InvalidParameter, match="beta"):
        description_length(1, 1.0)


@pytest.mark.parametrize(("method", "provenance"), [("paper", "paper"), ("sharp", "derived"), ("best", "derived")])
def test_only_the_printed_form_claims_the_paper(method: str, provenance: str) -> None:
    found = description_length(10, 0.01, method)  # type: ignore[arg-type]
    assert found.provenance == provenance
    assert dict(found.parameters) == {"alphabet_bits": 10}
