"""Blocks and colourings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.correlated import Blocks, DependenceModel, MarkovChain, colour_blocks, colour_chain, colour_quilts
from holdfast.correlated.model import Between, Quilt
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from tests.correlated.chains.test_chain import CH1

FIXED = settings(max_examples=60, deadline=None, derandomize=True)


def test_block_level() -> None:  # V37
    blocks = Blocks([4] * 10)
    assert blocks.epsilon_dp(1.0) == pytest.approx(0.25, rel=1e-12)
    assert blocks.epsilon_dp(1.0) <= 0.25
    assert blocks.epsilon_bdp(0.25) == pytest.approx(1.0, rel=1e-12)
    assert blocks.noise_scale(1.0, 0.5) == pytest.approx(2.0, rel=1e-12)
    for rule in ("sharp", "two", "paper"):
        assert blocks.epsilon_dp(1.0, rule) == blocks.epsilon_dp(1.0)


def test_block_terms() -> None:
    terms = Blocks([3, 5, 1]).terms()
    assert (terms.size, terms.influence, terms.surcharge, terms.colours) == (5, 0.0, 0.0, 5)


def test_models_are_models() -> None:
    for model in (Blocks([2, 3]), MarkovChain(CH1, 5)):
        assert isinstance(model, DependenceModel)


def test_influence_stays_inside() -> None:
    blocks = Blocks.of(["a", "b", "a", "b", "c"])
    assert blocks.influence(0, [1, 3, 4]) == 0.0
    assert blocks.influence(0, [2]) == math.inf
    quilt = blocks.best_quilt(3, 1.0)
    assert (quilt.size, tuple(quilt.nearby), quilt.quilt) == (2, (1,), ())
    assert Blocks([2, 3]).best_quilt(4, 1.0).nearby == Between(2, 5, without=4)


@pytest.mark.parametrize("sizes", [[], [0, 3], [2.5], None])
def test_wrong_sizes(sizes: object) -> None:
    with pytest.raises(InvalidParameter):
        Blocks(sizes)
    for labels in ([], [[1], [2]]):
        with pytest.raises(InvalidParameter):
            Blocks.of(labels)


@FIXED
@given(st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_block_colouring(sizes: list[int]) -> None:
    blocks = Blocks(sizes)
    found = colour_blocks(blocks)
    assert found.colours == max(sizes)
    assert found.sizes.sum() == blocks.n
    assert found.sizes.max() - found.smallest <= 1
    assert found.smallest >= blocks.n // max(sizes)
    for record in range(blocks.n):
        members = np.asarray(blocks.block(record))
        assert len(set(found.classes[members].tolist())) == len(members)


@FIXED
@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 20))
def test_chain_colouring(n: int, left: int, right: int) -> None:
    found = colour_chain(n, left, right)
    assert found.sizes.max() - found.smallest <= 1
    for i in range(n):
        low, high = (i - left if i >= left else -1), (i + right if i + right < n else n)
        near = [j for j in range(max(low + 1, 0), min(high, n)) if j != i]
        assert all(found.classes[j] != found.classes[i] for j in near)


def test_greedy_colouring() -> None:
    chain = MarkovChain(CH1, 80)
    quilts = [chain.best_quilt(record, 1.0) for record in range(80)]
    found = colour_quilts(quilts)
    for quilt in quilts:
        assert all(found.classes[j] != found.classes[quilt.record] for j in quilt.nearby)
    assert found.colours <= 2 * max(quilt.size for quilt in quilts) - 1
    assert found.influence == max(quilt.influence for quilt in quilts)
    assert found.to_dict()["smallest"] == found.smallest
    assert found.effective_n == 80 / found.colours
    with pytest.raises(InvalidParameter, match="in order"):
        colour_quilts(quilts[1:])
    with pytest.raises(GuaranteeUnavailable, match="declare blocks"):
        colour_quilts([Quilt(0, (1,), (), math.inf, 1), Quilt(1, (0,), (), 0.0, 1)])


def test_between() -> None:
    for start, stop, without in ((0, 5, 2), (2, 2, 2), (3, 6, 9), (0, 1, 0)):
        near = Between(start, stop, without)
        expected = [j for j in range(start, stop) if j != without]
        assert list(near) == expected == [near[k] for k in range(len(near))]
        assert len(near) == len(expected)
        assert all(j in near for j in expected)
        assert without not in near
        assert near[:2] == tuple(expected[:2])
    with pytest.raises(IndexError):
        Between(0, 2, 0)[1]
