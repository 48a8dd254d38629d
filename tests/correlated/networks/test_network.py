"""Discrete networks against brute force on joint tables."""

import itertools
import math

import numpy as np
import pytest

from holdfast.correlated import DependenceModel, Network
from holdfast.correlated.networks.factors import Factor, TooWide, elimination_order, marginal
from holdfast.correlated.networks.influence import tree_bound
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from tests.correlated.networks import oracle

RELAY = {
    "i": ((), [0.5, 0.5]),
    "u": (("i",), [[0.98, 0.02], [0.8, 0.2]]),
    "q": (("u",), [[0.9, 0.1], [0.1, 0.9]]),
    "w": (("u",), [[0.95, 0.05], [0.05, 0.95]]),
}
XOR = {
    "i": ((), [0.5, 0.5]),
    "w": ((), [0.5, 0.5]),
    "q": (("i", "w"), [[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.9, 0.1]]]),
}


def test_v26_a_known_leaf_raises_the_influence_and_the_quilt_counts_it():
    network = Network.bayesian(RELAY)
    assert network.influence("i", ["q"]) == pytest.approx(0.8070914399, abs=5e-11)
    assert network.influence("i", ["q"], ["w"]) == pytest.approx(1.039879815, abs=5e-10)
    quilt = network.quilt("i", ["q"], remote=[])
    assert quilt.nearby == (1, 3)
    assert quilt.size == 3
    assert quilt.influence == pytest.approx(1.039879815, abs=5e-10)
    bound = tree_bound(network._law.factors, (2,) * 4, network.graph, 0, [2])
    assert bound == pytest.approx(2.004420750, abs=5e-9)


def test_v27_two_causes_are_tied_by_their_known_effect():
    network = Network.bayesian(XOR)
    assert network.influence("i", ["q"]) == 0
    assert network.influence("i", ["q"], ["w"]) == pytest.approx(math.log(9), abs=1e-12)
    assert network.blanket("i") == (1, 2)  # married


def test_a_network_is_a_dependence_model():
    network = Network.bayesian(RELAY)
    assert isinstance(network, DependenceModel)
    assert network.n == 4
    assert "4 records" in network.describe()
    assert network.epsilon_bdp(network.epsilon_dp(2.0)) == pytest.approx(2.0, rel=1e-9)
    assert network.noise_scale(2.0, 3.0) == pytest.approx(3 / network.epsilon_dp(2.0), rel=1e-12)
    assert network.to_dict()["tables"]["u"][0] == ["i"]
    assert network.effective_n() == pytest.approx(1)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_marginals_and_influences_agree_with_the_joint_table(shape):
    rng = np.random.default_rng(11)
    parents = oracle.SHAPES[shape]
    for states, zeros in ((2, False), (3, False), (2, True)):
        tables = oracle.random_tables(rng, parents, states, zeros)
        network, law = Network.bayesian(tables), oracle.joint_of(parents, tables)
        nodes = rng.permutation(len(parents))[:3]
        drop = tuple(j for j in range(len(parents)) if j not in nodes)
        order = [sorted(nodes.tolist()).index(j) for j in nodes]
        assert np.allclose(network.law([int(j) for j in nodes]), np.transpose(law.sum(axis=drop), order), atol=1e-14)
        for record in range(len(parents)):
            others = [j for j in range(len(parents)) if j != record]
            for quilt, known in itertools.product(([others[0]], others[:2]), ([], [others[-1]])):
                found = network.influence(record, quilt, known)
                assert found == pytest.approx(oracle.influence(law, record, quilt, known), rel=1e-9, abs=1e-12)


def test_markov_networks_with_impossible_cells_agree_with_the_joint_table():
    rng = np.random.default_rng(5)
    for _ in range(10):
        pairs = [(0, 1), (1, 2), (2, 3), (3, 0)]
        tables = [rng.random((2, 2)) * (rng.random((2, 2)) > 0.15) + np.eye(2) * 0.1 for _ in pairs]
        law = np.ones((2,) * 4)
        for (u, v), table in zip(pairs, tables, strict=True):
            shape = [1] * 4
            shape[u] = shape[v] = 2
            law = law * (table if u < v else table.T).reshape(shape)
        law /= law.sum()
        names = "abcd"
        network = Network.markov(
            dict.fromkeys(names, 2), [(names[u] + names[v], t) for (u, v), t in zip(pairs, tables, strict=True)]
        )
        for record in range(4):
            for known in ([], [(record + 2) % 4]):
                quilt = [(record + 1) % 4, (record + 3) % 4]
                found = network.influence(record, quilt, known)
                assert found == pytest.approx(oracle.influence(law, record, quilt, known), rel=1e-9, abs=1e-12)


def test_copies_have_infinite_influence_and_the_note_proposes_blocks():
    copies = {"a": ((), [0.5, 0.5]), "b": (("a",), [[1, 0], [0, 1]]), "c": (("b",), [[1, 0], [0, 1]])}
    network = Network.bayesian(copies)
    assert network.influence("a", ["b"]) == math.inf
    assert network.quilt("a", ["b"]).influence == math.inf
    assert network.best_quilt("a", 5.0).quilt == ()
    assert network.epsilon_dp(1.0) == pytest.approx(1 / 3)
    assert "Blocks" in network.notes()[0]


def test_tiny_probabilities_are_not_impossible():
    # A long chain of rare switches: products leave the range of doubles, their logarithms do not.
    rare = 1e-200
    tables = {"x0": ((), [1 - rare, rare])}
    for j in range(1, 4):
        tables[f"x{j}"] = ((f"x{j - 1}",), [[1 - rare, rare], [rare, 1 - rare]])
    network = Network.bayesian(tables)
    assert network.influence(0, [1]) == pytest.approx(200 * math.log(10), rel=1e-12)
    assert math.isfinite(network.influence(0, [1, 2, 3]))


def test_hidden_nodes_do_not_count_and_are_never_known():
    tables = {
        "h0": ((), [0.6, 0.4]),
        "h1": (("h0",), [[0.7, 0.3], [0.4, 0.6]]),
        "y0": (("h0",), [[0.8, 0.2], [0.3, 0.7]]),
        "y1": (("h1",), [[0.8, 0.2], [0.3, 0.7]]),
    }
    network = Network.bayesian(tables, hidden=["h0", "h1"])
    assert network.n == 2
    assert network.names == ("y0", "y1", "h0", "h1")
    quilt = network.quilt("y0", ["h1"])
    assert quilt.size == 1
    assert quilt.nearby == (2,)
    assert network.best_quilt("y0", 9.0).size == 1
    with pytest.raises(InvalidParameter, match="hidden node"):
        network.influence("y0", ["y1"], ["h0"])
    with pytest.raises(InvalidParameter, match="hidden"):
        network.influence("h0", ["y1"])


def test_effective_n_counts_parts_as_blocks():
    tables = {f"x{j}": ((), [0.5, 0.5]) for j in range(6)}
    tables["x1"] = (("x0",), [[0.9, 0.1], [0.2, 0.8]])
    network = Network.bayesian(tables, independent_parts=True)
    assert network.effective_n() == pytest.approx(36 / (4 + 4))
    assert network.best_quilt(3, 1.0).size == 1
    assert network.influence(3, [0, 1]) == 0


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"a": (("b",), [[0.5, 0.5]] * 2), "b": (("a",), [[0.5, 0.5]] * 2)}, "no directed cycle, got a -> b -> a"),
        ({"a": ((), [0.5, 0.5]), "b": ((), [0.5, 0.5])}, "must be connected, got 2 parts"),
        ({"a": ((), [0.6, 0.5])}, "sum to 1 within 1e-12, got a row with sum 1.1"),
        ({"a": ((), [1.5, -0.5])}, "finite non-negative"),
        ({"a": (("z",), [[1.0]])}, "got 'z'"),
        ({"a": ((), [0.5, 0.5]), "b": (("a",), [[0.5, 0.5]])}, "must have the shape"),
        ({}, "at least one node"),
    ],
)
def test_wrong_networks_are_refused_with_the_reason(tables, words):
    with pytest.raises(InvalidParameter, match=words):
        Network.bayesian(tables)


def test_wrong_questions_are_refused_with_the_reason():
    network = Network.bayesian(RELAY)
    for call, words in [
        (lambda: network.influence("z", ["q"]), "got 'z'"),
        (lambda: network.influence(9, ["q"]), "at most 3"),
        (lambda: network.influence("i", ["i"]), "record itself"),
        (lambda: network.influence("i", ["q"], ["q"]), "in common"),
        (lambda: network.quilt("i", ["w"], remote=["q"]), "can be reached"),
        (lambda: network.quilt("i", ["i"]), "its own record"),
        (lambda: network.best_quilt("i", 0.0), "epsilon"),
        (lambda: network.best_quilt("i", 1.0, "one"), "surcharge"),
        (lambda: network.law(["i", "i"]), "the same node twice"),
        (lambda: Network.markov({"a": 2}, [(["a"], [0.0, 0.0])]), "some combination of values possible"),
    ]:
        with pytest.raises(InvalidParameter, match=words):
            call()


def test_what_does_not_fit_is_refused_and_never_approximated():
    network = Network.bayesian(RELAY, cells=4)
    with pytest.raises(GuaranteeUnavailable, match="more than 4 cells"):
        network.influence("i", ["q"], ["w"])
    names = [f"x{j}" for j in range(9)]
    clique = Network.markov(
        dict.fromkeys(names, 2), [((u, v), [[2, 1], [1, 2]]) for u, v in itertools.combinations(names, 2)], cells=64
    )
    assert clique.best_quilt(0, 100.0).quilt == ()  # no tables: the trivial quilt
    with pytest.raises(GuaranteeUnavailable):
        clique.quilt(0, names[1:])
    with pytest.raises(GuaranteeUnavailable, match="more than 64 cells"):
        clique.law(names[:7])
    assert repr(clique) == "<Markov network of 9 records, 36 edges in its moral graph>"


def test_elimination_refuses_before_it_builds():
    factors = [Factor.of((j, j + 1), np.ones((2, 2))) for j in range(5)]
    with pytest.raises(TooWide):
        marginal(factors, [0], [2] * 6, cells=3)
    assert elimination_order([(0, j) for j in range(1, 6)], range(6), [2] * 6)[1] == 4  # leaves of a star first
