"""Ising models: what is refused at the door, what stands next to a quilt, and the price under the other notion."""

from __future__ import annotations

import math
from typing import Any

import pytest

from holdfast.correlated import Ising, markov_quilt_noise
from holdfast.correlated.model import Quilt
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

RING = {(0, 1): 0.2, (1, 2): 0.2, (2, 3): 0.2, (3, 0): 0.2}


@pytest.mark.parametrize(
    ("couplings", "n", "field", "words"),
    [
        ([(0, 1, 0.2)], 2, 0.0, "couplings must be a mapping from pairs of records to numbers"),
        ({0: 0.2}, 2, 0.0, "couplings must have pairs of records as keys"),
        ({(0, 1, 2): 0.2}, 3, 0.0, "couplings must have pairs of records as keys"),
        ({"01": 0.2}, 2, 0.0, "couplings must have pairs of records as keys"),
        ({(0, 2): 0.2}, 2, 0.0, "record must be a whole number, at least 0 and at most 1, got 2"),
        ({(1, 1): 0.2}, 2, 0.0, r"couplings must be between two different records, each pair once, got \(1, 1\)"),
        ({(0, 1): 0.2, (1, 0): 0.3}, 2, 0.0, r"each pair once, got \(1, 0\)"),
        ({(0, 1): math.inf}, 2, 0.0, "couplings must be a number in"),
        ({(0, 1): math.nan}, 2, 0.0, "couplings must be a number in"),
        ({(0, 1): 0.2}, 0, 0.0, "n must be a whole number, at least 1"),
        ({(0, 1): 0.2}, 2, [0.1, 0.2, 0.3], "field must be one number or a list of 2 numbers"),
        ({(0, 1): 0.2}, 2, "strong", "field must be one number or a list of 2 numbers"),
        ({(0, 1): 0.2}, 2, [0.1, math.nan], "field must hold finite numbers"),
        ({(0, 1): 0.2}, 2, math.inf, "field must hold finite numbers"),
        ({(0, 1): 0.2}, 3, 0.0, "got 2 parts with no tie between them"),
        ({(0, 1): 0.0}, 2, 0.0, "got 2 parts with no tie between them"),
    ],
)
def test_a_wrong_declaration_is_refused_with_the_reason(couplings: Any, n: int, field: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Ising(couplings, n, field)


def test_a_record_without_a_tie_has_no_influence_and_stands_alone() -> None:
    model = Ising({(0, 1): 0.2}, n=3, independent_parts=True)
    assert model.blanket_influence(2) == 0.0
    assert [(q.quilt, list(q.nearby), q.influence, q.size) for q in model.quilts(2)] == [((), [], 0.0, 1)]
    assert model.best_quilt(2, 1.0).size == 1
    assert repr(model) == "<Ising model of 3 records, 1 ties, no field>"


def test_the_trivial_quilt_has_every_other_record_of_the_part_nearby() -> None:
    model = Ising({(0, 2): 0.2, (2, 4): 0.2, (1, 3): 0.5}, n=5, independent_parts=True)
    blanket, trivial = model.quilts(2)
    assert (blanket.quilt, tuple(blanket.nearby), blanket.size) == ((0, 4), (), 1)
    assert list(trivial.nearby) == [0, 4]
    assert len(trivial.nearby) == trivial.size - 1 == 2
    assert (trivial.nearby[0], trivial.nearby[-1], trivial.nearby[:1]) == (0, 4, (0,))
    assert 2 not in trivial.nearby
    with pytest.raises(IndexError):
        trivial.nearby[2]


def test_a_field_doubles_the_blanket_and_the_exact_influence_stays_below() -> None:
    plain, pulled = Ising(RING, 4), Ising(RING, 4, field=[0.3, 0.0, -0.2, 0.1])
    assert pulled.blanket_influence(0) == pytest.approx(2 * plain.blanket_influence(0), rel=1e-12)
    assert plain.blanket_influence(0) < pulled.blanket_influence(0)
    assert 0 < pulled.influence(0, [1, 3]) <= pulled.blanket_influence(0)


def test_a_large_model_offers_its_blanket_and_nothing_else() -> None:
    n = 10_001
    long = Ising({(i, i + 1): 0.1 for i in range(n - 1)}, n)
    assert long.influence(5, [4, 6]) == pytest.approx(0.4, abs=1e-12)
    with pytest.raises(GuaranteeUnavailable, match="only the Markov blanket of a large Ising model has a closed form"):
        long.influence(5, [3, 6])


@pytest.mark.parametrize(("epsilon", "size"), [(0.5, 4), (0.8, 4), (1.0, 4), (1.2, 1), (4.0, 1)])
def test_the_other_notion_charges_the_influence_once(epsilon: float, size: int) -> None:
    """Of the ring: the blanket costs 1 / (epsilon - 0.8), the trivial quilt 4 / epsilon; they meet at 16 / 15."""
    found = Ising(RING, 4).markov_quilt(epsilon)
    assert found.size == size
    noise = markov_quilt_noise(Ising(RING, 4), epsilon)
    assert noise.scale == pytest.approx(1 / (epsilon - 0.8) if size == 1 else 4 / epsilon, rel=1e-9)


def test_the_other_notion_is_that_of_the_worst_record() -> None:
    """A star: its middle has three ties, a leaf one. Whoever needs the most noise decides, whatever the order."""
    star = Ising({(0, 1): 0.1, (0, 2): 0.1, (0, 3): 0.1}, 4)

    def price(quilt: Quilt) -> float:
        left = 2.0 - quilt.influence
        return quilt.size / left if left > 0 else math.inf

    best = [min(map(price, star.quilts(record))) for record in range(4)]
    found = star.markov_quilt(2.0)
    assert found.record == 0
    assert price(found) == max(best) == best[0] > best[1]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_every_search_refuses_a_wrong_epsilon_by_name(epsilon: float) -> None:
    ring = Ising(RING, 4)
    with pytest.raises(InvalidParameter, match=r"^epsilon must be"):
        ring.markov_quilt(epsilon)
    with pytest.raises(InvalidParameter, match=r"^epsilon must be"):
        ring.best_quilt(0, epsilon)
    with pytest.raises(InvalidParameter, match=r"^epsilon_dp must be"):
        ring.cheapest_quilt(0, epsilon)
