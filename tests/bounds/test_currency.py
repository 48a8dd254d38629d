"""The two currencies: what they say, how they compose, and what they refuse."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from holdfast.bounds import finite_law
from holdfast.bounds.currency import MaxInformation, Transfer, compose, composition, corrected
from holdfast.errors import InvalidParameter, LedgerConflict

PRIVATE = MaxInformation(0.68, 0.005, "product")
LOOK = MaxInformation(9.64, 0.02, "any")


def test_order_rule() -> None:
    assert PRIVATE.then(LOOK).scope == "product"
    assert LOOK.then(LOOK).scope == "any"
    total = compose(PRIVATE, LOOK, LOOK)
    assert total.bits == pytest.approx(0.68 + 2 * 9.64)
    assert total.beta == pytest.approx(0.045)
    with pytest.raises(LedgerConflict, match=r"step 2 of 2 .* Theorem 3\.9"):
        LOOK.then(PRIVATE)
    with pytest.raises(LedgerConflict, match="step 3 of 3"):
        compose(PRIVATE, LOOK, PRIVATE)
    with pytest.raises(LedgerConflict):
        PRIVATE.then(PRIVATE)  # two private steps are added as private steps and converted once
    forced = LOOK.then(PRIVATE, unsafe=True)
    assert forced.bits == math.inf
    assert forced.is_vacuous(0.99)


def test_composition_of_numbers() -> None:
    assert composition([0.68, 9.64], [0.005, 0.02]) == PRIVATE.then(LOOK)
    assert composition([2.0], [0.1], "any").scope == "any"
    with pytest.raises(LedgerConflict, match=r"Theorem 3\.9"):
        composition([9.64, 0.68], [0.02, 0.005], "any", "product")
    with pytest.raises(InvalidParameter, match="bits and betas must have the same length"):
        composition([1.0, 2.0], [0.1])


def test_currencies_do_not_mix() -> None:
    transfer = Transfer(4.0, 0.0, "any")
    with pytest.raises(InvalidParameter, match="all be MaxInformation or all be Transfer"):
        compose(LOOK, transfer)  # type: ignore[type-var]
    with pytest.raises(InvalidParameter, match="all be MaxInformation or all be Transfer"):
        transfer.then(LOOK)  # type: ignore[arg-type]
    assert isinstance(LOOK.as_transfer().then(transfer), Transfer)
    assert LOOK.as_transfer() != LOOK
    with pytest.raises(LedgerConflict):
        transfer.then(Transfer(1.0, 0.01, "product"))


def test_frozen_and_plain() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        LOOK.bits = 0.0  # type: ignore[misc]
    assert LOOK.to_dict()["currency"] == "max-information"
    assert Transfer(1.0, 0.0).to_dict()["currency"] == "transfer"
    assert "any distribution" in str(LOOK)


def test_impossible_bounds_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="log2"):
        MaxInformation(-1.0, 0.1)
    with pytest.raises(InvalidParameter, match="beta"):
        MaxInformation(1.0, -0.1)
    with pytest.raises(InvalidParameter, match="bits"):
        MaxInformation(math.nan, 0.1)
    with pytest.raises(InvalidParameter, match="scope"):
        MaxInformation(1.0, 0.1, "all")  # type: ignore[arg-type]
    assert MaxInformation(math.log2(0.9), 0.1).bits < 0
    assert MaxInformation(11.7, 98.0).is_vacuous(0.05)


def test_to_max_information_holds_on_random_laws() -> None:
    rng = np.random.default_rng(39)
    for _ in range(300):
        table = rng.dirichlet(np.full(12, 10 ** rng.uniform(-1.5, 0.5))).reshape(4, 3)
        beta, slack = float(rng.uniform(0, 0.3)), float(rng.uniform(0.001, 0.25))
        transfer = Transfer(finite_law.worst_output_transfer(table, beta), beta, "any")
        converted = transfer.as_max_information(slack)
        assert finite_law.max_information(table, converted.beta) <= converted.bits + 1e-9
    with pytest.raises(InvalidParameter, match="slack"):
        transfer.as_max_information(0.3)


def two_stages(rng: np.random.Generator, product: bool):
    """A sample of two bits, a first output, and a second that depends on both."""
    if product:
        a, b = rng.uniform(0.05, 0.95, size=2)
        prior = np.outer([a, 1 - a], [b, 1 - b]).ravel()
    else:
        prior = rng.dirichlet(np.ones(4))
    first = rng.dirichlet(np.full(3, 0.5), size=4)
    seconds = [rng.dirichlet(np.full(3, 0.5), size=4) for _ in range(3)]
    whole = np.hstack([(prior * first[:, y])[:, None] * seconds[y] for y in range(3)])
    return prior, first, seconds, whole


def test_composition_holds_on_random_channels() -> None:
    # the second bound is taken at the posterior, which is what "every distribution" is needed for
    rng = np.random.default_rng(15)
    for _ in range(600):
        prior, first, seconds, whole = two_stages(rng, product=True)
        beta1, beta2 = rng.uniform(0.001, 0.2, size=2)
        joint = prior[:, None] * first
        k1 = finite_law.max_information(joint, float(beta1))
        posteriors = [joint[:, y] / joint[:, y].sum() for y in range(3)]
        k2 = max(
            finite_law.max_information(p[:, None] * s, float(beta2)) for p, s in zip(posteriors, seconds, strict=True)
        )
        total = MaxInformation(k1, float(beta1), "product").then(MaxInformation(k2, float(beta2), "any"))
        assert finite_law.max_information(whole, total.beta) <= total.bits + 1e-9


def test_adding_a_product_bound_second_is_caught() -> None:
    # what the order rule forbids: the second stage's bound at the prior instead of at the posterior.
    # First the parity of two fair bits, then one of them: each bit is 1 bit, the second reveals the rest.
    parity = np.array([[1, 0], [0, 1], [0, 1], [1, 0]], dtype=float)
    failures = 0
    rng = np.random.default_rng(9)
    for _ in range(600):
        chances = rng.uniform(0.02, 0.98, size=2)
        prior = np.outer([chances[0], 1 - chances[0]], [chances[1], 1 - chances[1]]).ravel()
        second = rng.dirichlet(np.full(2, 0.3), size=4)
        whole = np.hstack([(prior * parity[:, y])[:, None] * second for y in range(2)])
        beta = 0.01
        k1 = finite_law.max_information(prior[:, None] * parity, beta)
        k2 = finite_law.max_information(prior[:, None] * second, beta)
        failures += finite_law.max_information(whole, 2 * beta) > k1 + k2 + 1e-9
    assert failures > 0


def test_bounds_are_plain_data() -> None:
    found = MaxInformation(3.0, 0.01, "product", "max-information.pure-dp", "paper", {"epsilon": 0.1})
    assert found.to_dict() == {
        "currency": found.currency,
        "bits": 3.0,
        "beta": 0.01,
        "scope": "product",
        "source": "max-information.pure-dp",
        "provenance": "paper",
        "parameters": {"epsilon": 0.1},
    }


def test_a_corrected_level_is_never_above_the_exact_one() -> None:
    rng = np.random.default_rng(3)
    for alpha, share in zip(rng.uniform(0.001, 0.2, 300), rng.uniform(1e-9, 1.0, 300), strict=True):
        alpha, beta = float(alpha), float(alpha * share)
        exact = Fraction(alpha) - Fraction(beta)
        for bits in (0.0, 1.0, 3.0):
            level, log2_level = corrected(alpha, bits, beta)
            assert Fraction(level) <= exact / 2 ** int(bits)
            assert level == pytest.approx(float(exact) / 2**bits, rel=1e-12)
            assert 2.0**log2_level <= level * (1 + 1e-15)
