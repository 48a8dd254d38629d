"""Tables that declare a network: each wrong one is refused by its place and the reason."""

from __future__ import annotations

import math
from typing import Any

import pytest

from holdfast.correlated import Network
from holdfast.errors import InvalidParameter

COIN = ((), [0.5, 0.5])
FOLLOWS = [[0.9, 0.1], [0.2, 0.8]]


@pytest.mark.parametrize(
    ("tables", "hidden", "words"),
    [
        ([("a", COIN)], (), "a network must be a mapping from the name of each node"),
        ({0: COIN}, (), "a network must be a mapping from the name of each node"),
        ({"a": COIN}, ["h"], "hidden must name nodes of the network, got 'h'"),
        ({"a": COIN}, ["a"], "hidden must leave at least one node that is a record"),
        ({"a": [0.5, 0.5, 0.0]}, (), r"tables\['a'\] must be a pair: a list of parents and a table"),
        ({"a": 0.5}, (), r"tables\['a'\] must be a pair: a list of parents and a table"),
        ({"a": COIN, "b": ("a", FOLLOWS)}, (), r"tables\['b'\] must be a pair: a list of parents and a table"),
        ({"a": COIN, "b": (("b",), FOLLOWS)}, (), r"tables\['b'\] must have as parents only other nodes .*, got 'b'"),
        ({"a": COIN, "b": (("a", "a"), [FOLLOWS] * 2)}, (), r"tables\['b'\] must name each parent only once"),
        ({"a": ((), [[0.5], [0.5, 0.0]])}, (), r"tables\['a'\] must be a table of finite non-negative numbers"),
        ({"a": ((), ["much", "little"])}, (), r"tables\['a'\] must be a table of finite non-negative numbers"),
        ({"a": ((), [math.nan, 1.0])}, (), r"tables\['a'\] must be a table of finite non-negative numbers with 1 axes"),
        ({"a": ((), [])}, (), r"tables\['a'\] must be a table of finite non-negative numbers with 1 axes"),
    ],
)
def test_wrong_conditional_tables(tables: Any, hidden: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Network.bayesian(tables, hidden=hidden)


@pytest.mark.parametrize(
    ("sizes", "factors", "words"),
    [
        ({}, [], "a network must be a mapping from the name of each node"),
        ({"a": 0}, [], r"sizes\['a'\] must be a whole number, at least 1"),
        ({"a": 2}, [(["a"],)], r"factors\[0\] must be a pair: a list of nodes and a table"),
        ({"a": 2}, [{"a": [1.0, 2.0]}], r"factors\[0\] must be a pair: a list of nodes and a table"),
        ({"a": 2}, [(["a"], [1.0, 2.0]), (["z"], [1.0, 2.0])], r"factors\[1\] must name nodes .*, got 'z'"),
        ({"a": 2}, [([], 1.0)], r"factors\[0\] must name at least one node, and no node twice"),
        ({"a": 2}, [(["a", "a"], FOLLOWS)], r"factors\[0\] must name at least one node, and no node twice"),
        ({"a": 2, "b": 3}, [(["a", "b"], FOLLOWS)], r"factors\[0\] must have shape \(2, 3\)"),
        ({"a": 2}, [(["a"], [[1.0], [2.0, 3.0]])], r"factors\[0\] must be a table of finite non-negative numbers"),
        ({"a": 2}, [(["a"], [1.0, math.inf])], r"factors\[0\] must be a table of finite non-negative numbers"),
    ],
)
def test_wrong_factors(sizes: Any, factors: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Network.markov(sizes, factors)


def test_rows_within_the_tolerance_are_made_to_sum_to_one() -> None:
    network = Network.bayesian({"a": ((), [0.5, 0.5 + 5e-13])})
    assert network.law(["a"]).sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(InvalidParameter, match="must have rows that sum to 1 within 1e-12"):
        Network.bayesian({"a": ((), [0.5, 0.5 + 5e-12])})
