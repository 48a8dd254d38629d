"""Chains of higher order, hidden chains and Ising models against brute force."""

import itertools
import math

import numpy as np
import pytest

from holdfast.correlated import DependenceModel, HiddenChain, Ising, MarkovChain, Network, OrderChain
from holdfast.correlated.chains.transition import settled_place
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from tests.correlated.networks import oracle


def order_law(kernel, start, n):
    r = kernel.ndim - 1
    law = np.asarray(start).reshape(kernel.shape[:-1])
    for _ in range(n - r):
        law = law[..., None] * kernel.reshape((1,) * (law.ndim - r) + kernel.shape)
    return law


def random_order_chain(rng, order, n, states=2, start=None):
    kernel = rng.dirichlet(np.ones(states), size=(states,) * order) * 0.8 + 0.2 / states
    if start is None:
        model = OrderChain(kernel, n)
        return model, order_law(kernel, model._laws[0], n)
    start = rng.dirichlet(np.ones(states**order))
    return OrderChain(kernel, n, start.reshape((states,) * order)), order_law(kernel, start, n)


def hidden_law(step, emission, start, n):
    """Joint distribution of readings first, then hidden states."""
    hidden, seen = emission.shape
    law = np.zeros((seen,) * n + (hidden,) * n)
    for h in itertools.product(range(hidden), repeat=n):
        p = start[h[0]] * math.prod(step[a, b] for a, b in itertools.pairwise(h))
        for y in itertools.product(range(seen), repeat=n):
            law[y + h] = p * math.prod(emission[a, b] for a, b in zip(h, y, strict=True))
    return law


def window_graph(n, order):
    return [{j for j in range(n) if j != i and abs(i - j) <= order} for i in range(n)]


@pytest.mark.parametrize("start", [None, "given"])
@pytest.mark.parametrize("order", [1, 2])
def test_order_chain_quilts_are_exact(order, start):
    rng = np.random.default_rng(5)
    n = 6
    for _ in range(2):
        model, law = random_order_chain(rng, order, n, start=start)
        near = window_graph(n, order)
        for record in range(n):
            for quilt in model.quilts(record):
                inside = sorted(oracle.inside(near, record, quilt.quilt) - {record})
                assert list(quilt.nearby) == inside
                assert quilt.size == 1 + len(inside)
                wanted = oracle.quilt_influence(law, record, quilt.quilt, inside)
                assert quilt.influence == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_order_one_agrees_with_the_chain():
    step = np.array([[0.9, 0.1], [0.4, 0.6]])
    mine, theirs = OrderChain(step, n=40), MarkovChain(step, n=40)
    for record in (0, 3, 20, 39):
        for epsilon in (2.0, 5.0):
            found = mine.best_quilt(record, epsilon, "two").epsilon_dp(epsilon, "two")
            assert found == pytest.approx(
                theirs.best_quilt(record, epsilon, "two").epsilon_dp(epsilon, "two"), rel=1e-9
            )
    assert mine.influence(20, [17, 23]) == pytest.approx(theirs.influence(20, [17, 23]), rel=1e-9)


def test_order_two_needs_what_is_known():
    # Power: with nothing known the influence of some window is too small.
    rng = np.random.default_rng(6)
    short = 0
    for _ in range(4):
        model, law = random_order_chain(rng, 2, 6)
        for record in range(6):
            for quilt in model.quilts(record):
                short += oracle.influence(law, record, quilt.quilt) < quilt.influence - 1e-6
    assert short > 3


@pytest.mark.parametrize("start", [None, "given"])
def test_birkhoff_bounds_hold_for_order_chains(start):
    rng = np.random.default_rng(7)
    for order in (1, 2, 3):
        model, law = random_order_chain(rng, order, 7, start=start)
        near = window_graph(7, order)
        for record in range(7):
            for quilt in model.quilts(record):
                if quilt.quilt:
                    lags = model._lags_of(quilt)
                    bound = model._bound(record, lags)
                    inside = sorted(oracle.inside(near, record, quilt.quilt) - {record})
                    assert oracle.quilt_influence(law, record, quilt.quilt, inside) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("start", ["stationary", "given"])
def test_hidden_chain_quilts_are_exact_and_bounded(start):
    rng = np.random.default_rng(8)
    n = 4
    for hidden, seen in ((2, 2), (2, 3)):
        step, emission = (rng.dirichlet(np.ones(k), size=hidden) * 0.8 + 0.2 / k for k in (hidden, seen))
        given = rng.dirichlet(np.ones(hidden)) if start == "given" else "stationary"
        model = HiddenChain(step, emission, n, given)
        law = hidden_law(step, emission, model._laws[0], n)
        for record in range(n):
            for quilt in model.quilts(record):
                nearby = list(quilt.nearby)
                wanted = max(oracle.influence(law, record, quilt.quilt, some) for some in oracle.subsets(nearby))
                assert quilt.influence == pytest.approx(wanted, rel=1e-9, abs=1e-12)
                lags = model._lags_of(quilt)
                assert not quilt.quilt or wanted <= model._bound(record, lags) * (1 + 1e-9)
            assert model.influence(record, [n]) == pytest.approx(
                oracle.influence(law, record, [n]), rel=1e-9, abs=1e-12
            )


def test_a_hidden_chain_is_a_network_with_hidden_nodes():
    step, emission = [[0.8, 0.2], [0.3, 0.7]], [[0.75, 0.25], [0.4, 0.6]]
    tables = {"h0": ((), [0.6, 0.4])} | {f"h{j}": ((f"h{j - 1}",), step) for j in range(1, 5)}
    tables |= {f"y{j}": ((f"h{j}",), emission) for j in range(5)}
    network = Network.bayesian(tables, hidden=[f"h{j}" for j in range(5)], most_quilts=5000)
    model = HiddenChain(step, emission, 5)
    for record in range(5):
        for epsilon in (1.0, 3.0):
            # The network also tries quilts that are no windows; they may only be better.
            best = network.best_quilt(record, epsilon).epsilon_dp(epsilon)
            assert model.best_quilt(record, epsilon).epsilon_dp(epsilon) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("kind", ["order", "hidden"])
def test_the_worst_record_is_found_without_searching_all(kind):
    kernel = np.array([[[0.6, 0.4], [0.45, 0.55]], [[0.55, 0.45], [0.4, 0.6]]])
    for start in ("stationary", np.array([0.7, 0.1, 0.1, 0.1])):
        if kind == "order":
            model = OrderChain(kernel, 24, start)
        else:
            law = start if isinstance(start, str) else [0.9, 0.1]
            model = HiddenChain([[0.7, 0.3], [0.3, 0.7]], [[0.7, 0.3], [0.4, 0.6]], 24, law)
        for epsilon in (1.0, 2.0):
            each = [model.best_quilt(record, epsilon).epsilon_dp(epsilon) for record in range(24)]
            assert model.epsilon_dp(epsilon) == pytest.approx(min(each), rel=1e-12)
        each = [model.cheapest_quilt(record, 0.1).epsilon_bdp(0.1) for record in range(24)]
        assert model.epsilon_bdp(0.1) == pytest.approx(max(each), rel=1e-12)


def test_planning_does_not_depend_on_the_length():
    kernel = [[[0.6, 0.4], [0.45, 0.55]], [[0.55, 0.45], [0.4, 0.6]]]
    long, short = (OrderChain(kernel, n).epsilon_dp(1.0) for n in (10**12, 200))
    assert long == pytest.approx(short, rel=1e-12)
    step, emission = [[0.8, 0.2], [0.2, 0.8]], [[0.7, 0.3], [0.3, 0.7]]
    long, short = (HiddenChain(step, emission, n).epsilon_dp(1.0) for n in (10**12, 300))
    assert long == pytest.approx(short, rel=1e-12)


def test_long_windows_use_the_bound():
    slow = HiddenChain([[0.95, 0.05], [0.05, 0.95]], [[0.9, 0.1], [0.1, 0.9]], 10**6)
    quilt = slow.worst_quilt(1.0)
    assert 18 < quilt.size < 500
    assert math.isfinite(quilt.influence)


def test_a_chain_that_never_settles_uses_the_bound_only():
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert settled_place(np.array([0.9, 0.1]), swap, 5000)[0] is None
    model = HiddenChain(swap, [[0.7, 0.3], [0.3, 0.7]], 1000, [0.9, 0.1])
    quilt = model.best_quilt(500, 10.0)
    assert quilt.influence == pytest.approx(2 * model._reading)  # zeros contract nothing, the first kernel bounds
    assert "Blocks" in model.notes()[0]


def test_models_answer_the_protocol():
    for model in (
        OrderChain(np.full((2, 2, 2), 0.5), 10),
        HiddenChain(np.full((2, 2), 0.5), np.full((2, 2), 0.5), 10),
        Ising({(0, 1): 0.1}, 2),
    ):
        assert isinstance(model, DependenceModel)
        assert model.describe()
        assert model.to_dict()["n"] == model.n
        assert 1 - 1e-9 <= model.effective_n() <= model.n
        assert model.notes() == ()
    independent = OrderChain(np.full((2, 2, 2), 0.5), 10)
    assert independent.epsilon_dp(1.0) == pytest.approx(1.0)


def test_a_chain_that_never_forgets_is_worth_one_row():
    flipping = OrderChain([[0.0, 1.0], [1.0, 0.0]], 50)
    assert flipping.effective_n() == 1.0
    assert flipping.notes() != ()
    staying = OrderChain(np.eye(2), 50, [0.5, 0.5])
    assert staying.effective_n() == 1.0


def test_effective_size_of_a_hidden_chain_is_that_of_its_states():
    step = [[0.95, 0.05], [0.05, 0.95]]
    assert HiddenChain(step, [[0.9, 0.1], [0.1, 0.9]], 4000).effective_n() == MarkovChain(step, 4000).effective_n()
    kernel = np.array([[0.95, 0.05], [0.05, 0.95]])
    assert OrderChain(kernel, 4000).effective_n() == pytest.approx(111.4469945, rel=1e-6)  # V40, row C


def test_what_is_too_far_or_too_wide_is_refused_and_never_approximated():
    chain = HiddenChain([[0.8, 0.2], [0.2, 0.8]], [[0.7, 0.3], [0.3, 0.7]], n=5000)
    with pytest.raises(GuaranteeUnavailable, match="must be within 2000 records of each other"):
        chain.influence(0, [2001])
    with pytest.raises(GuaranteeUnavailable, match="too large for exact tables; choose fewer nodes"):
        chain.influence(0, list(range(1, 40)))


def test_v28_ising_ring():
    ring = Ising({(0, 1): 0.2, (1, 2): 0.2, (2, 3): 0.2, (3, 0): 0.2}, n=4)
    assert ring.influence(0, [1, 3]) == pytest.approx(0.8, abs=1e-12)
    assert ring.network().influence(0, [1, 3]) == pytest.approx(0.8, abs=1e-12)
    assert ring.epsilon_dp(3.0) == pytest.approx(1.4)
    assert ring.epsilon_dp(1.0) == pytest.approx(0.25)


def test_ising_blankets_bound_the_truth_with_and_without_a_field():
    rng = np.random.default_rng(9)
    for _ in range(20):
        pairs = {(i, j): float(rng.normal() / 2) for i, j in itertools.combinations(range(5), 2) if rng.random() < 0.6}
        for field in (0.0, rng.normal(size=5)):
            model = Ising(pairs, 5, field, independent_parts=True)
            for record in range(5):
                quilt = next(iter(model.quilts(record)))
                exact = model.network().influence(record, list(quilt.quilt))
                assert exact <= quilt.influence * (1 + 1e-9) + 1e-12
                if isinstance(field, float):
                    assert exact == pytest.approx(quilt.influence, rel=1e-9, abs=1e-12)


def test_ising_is_planned_at_any_size():
    n = 20_000
    line = Ising({(i, i + 1): 0.05 for i in range(n - 1)}, n)
    assert line.epsilon_dp(1.0) == pytest.approx(1 - 2 * 0.2)
    with pytest.raises(GuaranteeUnavailable):
        line.influence(0, [5])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: OrderChain([[[0.5, 0.6], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]], 10), "sum to 1 within 1e-12"),
        (lambda: OrderChain([[0.5, 0.5]], 10), "one length"),
        (lambda: OrderChain(np.full((2, 2, 2), 0.5), 1), "at least 2"),
        (lambda: OrderChain(np.full((2, 2, 2), 0.5), 10, [1.0, 0.0]), "start"),
        (lambda: HiddenChain([[0.5, 0.6], [0.5, 0.5]], np.eye(2), 5), "row 0 must sum to 1"),
        (lambda: HiddenChain(np.full((2, 2), 0.5), [[0.5, 0.5]], 5), "one row for each"),
        (lambda: HiddenChain(np.full((2, 2), 0.5), [[0.5, 0.4], [0.5, 0.5]], 5), "sum to 1"),
        (lambda: HiddenChain(np.full((2, 2), 0.5), np.eye(2), 5).quilt(2, before=9), "before"),
        (lambda: HiddenChain(np.full((2, 2), 0.5), np.eye(2), 5).influence(2, [2]), "in common"),
        (lambda: OrderChain(np.full((2,) * 12, 0.5), 20), "kernel must have at most 1024 combinations"),
        (lambda: Ising({(0, 1): 0.1}, 3), "must be connected"),
        (lambda: Ising({(0, 0): 0.1}, 1), "different records"),
        (lambda: Ising({(0, 1): 0.1, (1, 0): 0.1}, 2), "each pair once"),
        (lambda: Ising({(0, 1): math.nan}, 2), "couplings"),
    ],
)
def test_wrong_input_is_refused_with_the_reason(make, words):
    with pytest.raises(InvalidParameter, match=words):
        make()
