"""Quilt search on random small networks against every quilt there is."""

import itertools

import numpy as np
import pytest

from holdfast.correlated import MarkovChain, Network, colour_quilts
from holdfast.correlated.networks.graph import graph_of, is_tree
from holdfast.correlated.networks.influence import tree_bound
from holdfast.correlated.networks.network import check_cut, cut_of, cuts
from holdfast.errors import InvalidParameter
from tests.correlated.networks import oracle


def exhaustive(parents, law, record, epsilon, factor):
    """The best `(epsilon - surcharge) / size` over every quilt, by brute force."""
    near = oracle.neighbours(parents)
    best = 0.0
    for quilt, nearby in oracle.every_quilt(near, record):
        influence = oracle.quilt_influence(law, record, quilt, nearby)
        best = max(best, (epsilon - factor * influence) / (1 + len(nearby)))
    return best


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_the_search_finds_the_best_of_all_quilts(shape):
    rng = np.random.default_rng(23)
    parents = oracle.SHAPES[shape]
    used = set()
    for _ in range(2):
        tables = oracle.random_tables(rng, parents)
        tables = {k: (p, 0.5 * np.asarray(t) + 0.25) for k, (p, t) in tables.items()}  # weak enough for real quilts
        network, law = Network.bayesian(tables), oracle.joint_of(parents, tables)
        for record in range(len(parents)):
            for epsilon, rule, factor in ((1.0, "two", 2), (3.0, "sharp", 2), (6.0, "paper", 4)):
                found = network.best_quilt(record, epsilon, rule)
                wanted = exhaustive(parents, law, record, epsilon, factor)
                assert found.epsilon_dp(epsilon, rule) == pytest.approx(wanted, rel=1e-9)
                used.add(found.size)
    assert len(used) > 1  # not always the trivial quilt


def test_the_search_finds_the_best_of_all_quilts_on_random_graphs():
    rng = np.random.default_rng(47)
    for _ in range(6):
        parents = [
            tuple(j for j in range(node) if rng.random() < 0.5)[-2:] or ((node - 1,) if node else ())
            for node in range(5)
        ]
        tables = {k: (p, 0.4 * np.asarray(t) + 0.3) for k, (p, t) in oracle.random_tables(rng, parents).items()}
        network, law = Network.bayesian(tables), oracle.joint_of(parents, tables)
        for record in range(5):
            found = network.best_quilt(record, 3.0).epsilon_dp(3.0)
            assert found == pytest.approx(exhaustive(parents, law, record, 3.0, 2), rel=1e-9)


def test_the_other_direction_finds_the_cheapest_of_all_quilts():
    rng = np.random.default_rng(29)
    for shape in ("tree", "diamond"):
        parents = oracle.SHAPES[shape]
        tables = oracle.random_tables(rng, parents)
        network, law = Network.bayesian(tables), oracle.joint_of(parents, tables)
        near = oracle.neighbours(parents)
        for record, level in itertools.product(range(len(parents)), (0.1, 1.0, 5.0)):
            wanted = min(
                (1 + len(nearby)) * level + 2 * oracle.quilt_influence(law, record, quilt, nearby)
                for quilt, nearby in oracle.every_quilt(near, record)
            )
            found = network.cheapest_quilt(record, level).epsilon_bdp(level)
            assert found == pytest.approx(wanted, rel=1e-9)


def test_leaving_out_what_is_known_nearby_would_be_seen():
    # Power: with L empty only, the same search would promise more than is true.
    rng = np.random.default_rng(31)
    parents = oracle.SHAPES["tree"]
    near = oracle.neighbours(parents)
    short = 0
    for _ in range(5):
        law = oracle.joint_of(parents, oracle.random_tables(rng, parents))
        for quilt, nearby in oracle.every_quilt(near, 0):
            full = oracle.quilt_influence(law, 0, quilt, nearby)
            short += oracle.influence(law, 0, quilt) < full - 1e-6
    assert short > 5


def test_quilts_are_boundaries_of_connected_sets():
    rng = np.random.default_rng(3)
    for _ in range(20):
        edges = [pair for pair in itertools.combinations(range(6), 2) if rng.random() < 0.4]
        graph = graph_of(6, edges)
        near = [set(group) for group in graph]
        wanted = {tuple(nearby) for _, nearby in oracle.every_quilt(near, 0)}
        listed = list(cuts(graph, 0, 6, 1000))
        assert {cut.nearby for cut in listed} == wanted
        assert len(listed) == len(wanted)
        assert [cut.size for cut in listed] == sorted(cut.size for cut in listed)
        assert listed[-1].quilt == ()


def test_validation_shrinks_the_nearby_set():
    # Symmetric chain with flip .3: beyond the quilt a known record would raise the influence.
    chain = graph_of(5, [(j, j + 1) for j in range(4)])
    assert check_cut(chain, 0, {1}, 5, nearby={2}).nearby == ()
    with pytest.raises(InvalidParameter, match="can be reached"):
        check_cut(chain, 1, {3}, 5, nearby={0})
    assert cut_of(chain, 2, {0, 1, 4}, 5).quilt == (1, 4)
    flip = [[0.7, 0.3], [0.3, 0.7]]
    network = Network.bayesian({"a": ((), [0.5, 0.5]), "b": (("a",), flip), "c": (("b",), flip)})
    assert network.quilt("a", ["b"]).influence == pytest.approx(0.8472978604, abs=5e-11)
    assert network.influence("a", ["b"], ["c"]) == pytest.approx(1.170071253, abs=5e-10)  # why it must shrink


def test_chains_agree_with_the_closed_form():
    step = [[0.9, 0.1], [0.4, 0.6]]
    tables = {"x0": ((), [0.8, 0.2])} | {f"x{j}": ((f"x{j - 1}",), step) for j in range(1, 8)}
    network, chain = Network.bayesian(tables), MarkovChain(step, n=8)
    for record, epsilon in itertools.product(range(8), (2.0, 5.0)):
        mine, theirs = network.best_quilt(record, epsilon, "two"), chain.best_quilt(record, epsilon, "two")
        assert mine.epsilon_dp(epsilon, "two") == pytest.approx(theirs.epsilon_dp(epsilon, "two"), rel=1e-9)


def test_a_cap_makes_results_more_cautious_and_trees_fall_back_to_the_bound():
    rng = np.random.default_rng(41)
    parents = [(), (0,), (1,), (2,), (2,), (4,), (5,)]
    tables = {k: (p, 0.3 * np.asarray(t) + 0.35) for k, (p, t) in oracle.random_tables(rng, parents).items()}
    full, capped = Network.bayesian(tables), Network.bayesian(tables, cells=16)
    few = Network.bayesian(tables, most_quilts=1)
    law = oracle.joint_of(parents, tables)
    assert is_tree(full.graph, range(7))
    for record in range(7):
        best = full.best_quilt(record, 1.0).epsilon_dp(1.0)
        for other in (capped, few):
            assert other.best_quilt(record, 1.0).epsilon_dp(1.0) <= best * (1 + 1e-12)
        for quilt in capped.quilts(record):
            assert quilt.influence >= oracle.quilt_influence(law, record, quilt.quilt, quilt.nearby) - 1e-12
    assert any(capped.best_quilt(record, 1.0).quilt for record in range(7))


def test_the_tree_bound_holds_whatever_is_known():
    rng = np.random.default_rng(43)
    parents = oracle.SHAPES["tree"]
    near = oracle.neighbours(parents)
    for _ in range(10):
        tables = oracle.random_tables(rng, parents)
        network, law = Network.bayesian(tables), oracle.joint_of(parents, tables)
        for quilt, nearby in oracle.every_quilt(near, 3):
            bound = tree_bound(network._law.factors, (2,) * 5, network.graph, 3, quilt)
            assert oracle.quilt_influence(law, 3, quilt, nearby) <= bound * (1 + 1e-12) + 1e-12


def test_quilts_of_a_network_can_be_coloured():
    bond = np.exp(0.05 * np.array([[1, -1], [-1, 1]]))
    names = [f"x{j}" for j in range(12)]
    ring = Network.markov(dict.fromkeys(names, 2), [((names[j], names[j - 1]), bond) for j in range(12)])
    colouring = colour_quilts([ring.best_quilt(record, 0.2) for record in range(12)])
    assert int(colouring.sizes.sum()) == 12
    assert colouring.effective_n <= 12
