"""The exact auditors: vectors, brute force, and what they say about the constants of the conversion."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from holdfast.correlated import (
    HiddenChain,
    MarkovChain,
    Network,
    OrderChain,
    laplace_sum_leakage,
    mechanism_leakage,
    worst_mechanism,
)
from holdfast.correlated.auditor import largest_log_ratio
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from tests.correlated.networks import oracle

CH1 = np.array([[0.9, 0.1], [0.4, 0.6]])


def chain_law(step, start, n):
    law = np.asarray(start, dtype=float)
    for _ in range(n - 1):
        law = law[..., None] * step
    return law


@pytest.mark.parametrize(("n", "value", "record"), [(3, 1.031793804, 1), (4, 1.182015802, 2), (5, 1.332237800, 2)])
def test_v29_laplace_sums(n, value, record):
    found = laplace_sum_leakage(chain_law(CH1, [0.8, 0.2], n), [0, 1], 2.0)
    assert found.value == pytest.approx(value, abs=5e-10)
    assert found.known == ()
    assert found.record in (record, n - 1 - record)  # the chain reads the same backwards


def test_v30_worst_mechanism():
    flip = np.array([[0.7, 0.3], [0.3, 0.7]])
    worst = worst_mechanism(chain_law(flip, [0.5, 0.5], 4), 6.0)
    assert worst.value == pytest.approx(8.001734287, abs=5e-10)
    assert (worst.record, worst.known) == (1, (3,))
    chain = MarkovChain(flip, n=4)
    assert worst.value <= chain.epsilon_bdp(6.0) <= chain.epsilon_bdp(6.0, "two") <= chain.epsilon_bdp(6.0, "paper")


@pytest.mark.parametrize(("runs", "value"), [(1, 1.156455851), (2, 2.445103723), (6, 7.672179685)])
def test_v39_bayesian_levels_do_not_add(runs, value):
    law = chain_law(np.array([[0.85, 0.15], [0.43, 0.57]]), np.array([0.43, 0.15]) / 0.58, 2)
    one = np.array([[0.87, 0.77], [0.80, 0.39]])
    single = np.stack([1 - one, one])
    many = np.ones((1, 2, 2))
    for _ in range(runs):
        many = (many[:, None] * single[None, :]).reshape(-1, 2, 2)
    assert mechanism_leakage(law, many).value == pytest.approx(value, abs=5e-10)


def test_a_laplace_sum_is_its_densities_on_a_fine_grid():
    rng = np.random.default_rng(3)
    for _ in range(4):
        law = rng.dirichlet(np.ones(12)).reshape(2, 3, 2)
        scores = [rng.normal(size=k) for k in law.shape]
        found = laplace_sum_leakage(law, scores, 0.7)
        total = scores[0][:, None, None] + scores[1][None, :, None] + scores[2][None, None, :]
        points = np.concatenate([np.linspace(-15, 15, 3001), total.ravel()])
        densities = np.exp(-np.abs(points[:, None, None, None] - total) / 0.7)
        worst = 0.0
        for i in range(3):
            for known in oracle.subsets([j for j in range(3) if j != i]):
                drop = tuple(j for j in range(3) if j != i and j not in known)
                given = (law * densities).sum(axis=tuple(j + 1 for j in drop), keepdims=True) / law.sum(
                    axis=drop, keepdims=True
                )
                worst = max(worst, float(np.log(given.max(axis=i + 1) / given.min(axis=i + 1)).max()))
        assert found.value == pytest.approx(worst, rel=1e-9)


def test_small_noise_is_finite_and_impossible_outputs_are_not():
    law = chain_law(CH1, [0.8, 0.2], 3)
    assert laplace_sum_leakage(law, [0, 1], 1e-4).value == pytest.approx(1e4, rel=1e-3)
    exact = np.zeros((2, 2, 2, 2))
    exact[0], exact[1] = np.indices((2, 2, 2))[0] == 0, np.indices((2, 2, 2))[0] == 1
    assert mechanism_leakage(law, exact).value == math.inf
    constant = np.full((1, 2, 2, 2), 1.0)
    assert mechanism_leakage(law, constant).value == 0


def test_impossible_knowledge_is_excluded():
    copies = np.diag([0.5, 0.5])
    one = np.array([[0.5, 0.9], [0.1, 0.5]])  # differs only on impossible databases
    assert mechanism_leakage(copies, np.stack([one, 1 - one])).value == 0


def every_potential(shape):
    """All whole-number functions on the databases that change by at most 1 between neighbours, 0 at the first."""
    places = list(itertools.product(*(range(k) for k in shape)))
    near = {p: [q for q in places if sum(a != b for a, b in zip(p, q, strict=True)) == 1] for p in places}

    def extend(values):
        if len(values) == len(places):
            yield np.array([values[p] for p in places])
            return
        place = places[len(values)]
        seen = [values[q] for q in near[place] if q in values]
        for level in range(max(seen) - 1, min(seen) + 2):
            yield from extend({**values, place: level})

    yield from extend({places[0]: 0})


def test_the_linear_program_agrees_with_every_corner():
    rng = np.random.default_rng(5)
    for shape in ((2,), (3,), (2, 2), (2, 3), (2, 2, 2)):
        potentials = np.array(list(every_potential(shape)))
        for epsilon in (0.1, 1.0, 4.0, 12.0):
            p, q = rng.dirichlet(np.full(math.prod(shape), 0.4), size=2)
            p, q = (p + 1e-9) / (p + 1e-9).sum(), (q + 1e-9) / (q + 1e-9).sum()
            weights = np.exp(epsilon * (potentials - potentials.max(axis=1, keepdims=True)))
            wanted = float(np.log((weights @ p) / (weights @ q)).max())
            found = largest_log_ratio(np.log(p).reshape(shape), np.log(q).reshape(shape), epsilon)
            assert found == pytest.approx(wanted, rel=1e-8, abs=1e-10)


def test_the_structure_agrees_with_a_solver():
    # The same program for all databases and both values of the record, without any of the reductions.
    rng = np.random.default_rng(7)
    for epsilon in (0.2, 1.0, 2.5):
        law = rng.dirichlet(np.ones(8)).reshape(2, 2, 2)
        places = list(itertools.product(range(2), repeat=3))
        pairs = [
            (u, v)
            for u in range(8)
            for v in range(8)
            if sum(a != b for a, b in zip(places[u], places[v], strict=False)) == 1
        ]
        slow = np.zeros((len(pairs), 8))
        for row, (u, v) in enumerate(pairs):
            slow[row, u], slow[row, v] = 1.0, -math.exp(epsilon)
        worst = 0.0
        for i in range(3):
            for known in oracle.subsets([j for j in range(3) if j != i]):
                for given in itertools.product(range(2), repeat=len(known)):
                    fits = np.array([all(x[j] == v for j, v in zip(known, given, strict=True)) for x in places])
                    ones = np.array([x[i] == 1 for x in places])
                    p, q = (law.ravel() * fits * half / (law.ravel() * fits * half).sum() for half in (ones, ~ones))
                    for above, below in ((p, q), (q, p)):
                        solved = linprog(-above, A_ub=slow, b_ub=np.zeros(len(pairs)), A_eq=below[None, :], b_eq=[1.0])
                        worst = max(worst, math.log(-solved.fun))
        assert worst_mechanism(law, epsilon).value == pytest.approx(worst, rel=1e-7)


def test_the_worst_mechanism_is_never_beaten_by_one_that_is_private():
    rng = np.random.default_rng(6)
    law = rng.dirichlet(np.ones(8)).reshape(2, 2, 2)
    for epsilon in (0.5, 2.0):
        worst = worst_mechanism(law, epsilon).value
        sums = np.indices((2, 2, 2)).sum(axis=0)
        for _ in range(20):
            tilt = rng.choice([-1, 1], size=3)
            level = epsilon * sum(t * x for t, x in zip(tilt, np.indices((2, 2, 2)), strict=True))
            one = 0.5 * np.exp(level - level.max())  # epsilon-DP: one and its complement change slowly enough
            assert mechanism_leakage(law, np.stack([one, 1 - one])).value <= worst * (1 + 1e-9)
        assert laplace_sum_leakage(law, [0, 1], 1 / epsilon).value <= worst * (1 + 1e-9)
        assert sums.max() == 3


def networks(rng):
    for shape in ("star", "tree", "diamond", "collider", "loop", "chain"):
        parents = oracle.SHAPES[shape][:4]
        tables = oracle.random_tables(rng, parents)
        yield parents, Network.bayesian(tables), oracle.joint_of(parents, tables)


def test_twice_the_influence_is_enough_on_networks_and_once_is_not():
    rng = np.random.default_rng(19)
    once_violated = tried = 0
    tightest = 0.0
    for _ in range(4):
        for parents, _, law in networks(rng):
            near = oracle.neighbours(parents)
            for record, epsilon in itertools.product(range(len(parents)), (0.5, 4.0)):
                worst = worst_mechanism(law, epsilon, record).value
                for quilt, nearby in oracle.every_quilt(near, record):
                    influence = oracle.quilt_influence(law, record, quilt, nearby)
                    bound = (1 + len(nearby)) * epsilon + 2 * influence
                    assert worst <= bound * (1 + 1e-9)
                    tried += 1
                    tightest = max(tightest, worst / bound)
                    once_violated += worst > (bound - influence) * (1 + 1e-9)
    assert tried > 1500
    assert once_violated >= 10  # the same test rejects the constant of the other notion of privacy
    assert tightest > 0.9


def test_the_sharp_surcharge_of_chains_is_enough():
    rng = np.random.default_rng(20)
    tightest = 0.0
    for states, n in ((2, 3), (2, 5), (3, 3)):
        for _ in range(4):
            step, start = (
                rng.dirichlet(np.ones(states), size=states) * 0.9 + 0.1 / states,
                rng.dirichlet(np.ones(states)),
            )
            model, law = MarkovChain(step, n=n, start=start), chain_law(step, start, n)
            for epsilon in (0.05, 1.0, 5.0):
                worst, bound = worst_mechanism(law, epsilon).value, model.epsilon_bdp(epsilon, "sharp")
                assert worst <= bound * (1 + 1e-9)
                tightest = max(tightest, worst / bound)
    assert tightest > 0.95


def test_twice_the_influence_is_enough_on_chains_of_order_two():
    rng = np.random.default_rng(21)
    for _ in range(6):
        kernel = rng.dirichlet(np.ones(2), size=(2, 2)) * 0.9 + 0.05
        start = rng.dirichlet(np.ones(4))
        model = OrderChain(kernel, n=5, start=start)
        law = start.reshape(2, 2)
        for _ in range(3):
            law = law[..., None] * kernel.reshape((1,) * (law.ndim - 2) + (2, 2, 2))
        for epsilon in (0.3, 2.0):
            assert worst_mechanism(law, epsilon).value <= model.epsilon_bdp(epsilon) * (1 + 1e-9)


def test_twice_the_influence_is_enough_on_hidden_chains_with_hidden_quilts():
    rng = np.random.default_rng(22)
    used = set()
    for _ in range(15):
        step, emission = (rng.dirichlet(np.ones(2), size=2) * 0.9 + 0.05 for _ in range(2))
        start = rng.dirichlet(np.ones(2))
        model = HiddenChain(step, emission, n=4, start=start)
        law = np.einsum("a,ab,bc,cd,aw,bx,cy,dz->wxyz", start, step, step, step, *[emission] * 4)
        for epsilon in (0.3, 3.0):
            used.add(model.dearest_quilt(epsilon).size)
            assert worst_mechanism(law, epsilon).value <= model.epsilon_bdp(epsilon) * (1 + 1e-9)
    assert min(used) < 4


@pytest.mark.parametrize("epsilon", [0.01, 10.0, 30.0])
def test_extreme_levels_are_solved(epsilon):
    law = np.random.default_rng(4).dirichlet(np.ones(8)).reshape(2, 2, 2)
    worst = worst_mechanism(law, epsilon)
    assert epsilon < worst.value <= 3 * epsilon * (1 + 1e-9)
    assert worst.programs >= 1


def test_an_unsolved_program_reports_nothing(monkeypatch):
    monkeypatch.setattr("holdfast.correlated.auditor._STEPS", 0)
    with pytest.raises(GuaranteeUnavailable, match="so there is no result"):
        worst_mechanism(chain_law(CH1, [0.8, 0.2], 3), 1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: worst_mechanism(np.full((2, 2), 0.5), 1.0), "sum to 1"),
        (lambda: worst_mechanism(np.full((2,) * 7, 2.0**-7), 1.0), "at most 64"),
        (lambda: worst_mechanism(np.full((2, 2), 0.25), 0.0), "epsilon_dp"),
        (lambda: worst_mechanism("half", 1.0), "joint must be a table of non-negative numbers"),
        (lambda: mechanism_leakage([[0.5], [0.2, 0.3]], np.ones((1, 2, 2))), "joint must be a table of non-negative"),
        (lambda: mechanism_leakage(np.full((2,) * 21, 2.0**-21), [1.0]), "joint must have at most 1048576 cells"),
        (lambda: mechanism_leakage(np.full((2, 2), 0.25), "fair"), r"mechanism must be a table .* \(outputs, 2, 2\)"),
        (lambda: mechanism_leakage(np.full((2, 2), 0.25), np.full((1, 2, 2), math.nan)), "mechanism must be a table"),
        (lambda: laplace_sum_leakage(np.full((2, 2), 0.25), [], 1.0), "scores must have one finite number"),
        (
            lambda: laplace_sum_leakage(np.full((2, 2), 0.25), ["low", "high"], 1.0),
            "scores must have one finite number",
        ),
        (lambda: laplace_sum_leakage(np.full((2, 2), 0.25), [0, math.inf], 1.0), "scores must have one finite number"),
        (
            lambda: mechanism_leakage(np.full((2, 2), 0.25), np.ones((2, 2, 2))),
            "probabilities of the outputs that sum to 1",
        ),
        (lambda: mechanism_leakage(np.full((2, 2), 0.25), np.ones((1, 3))), "shape"),
        (lambda: mechanism_leakage([[0.5, -0.5], [0.5, 0.5]], np.ones((1, 2, 2))), "non-negative"),
        (lambda: laplace_sum_leakage(np.full((2, 2), 0.25), [0, 1, 2], 1.0), "scores"),
        (lambda: laplace_sum_leakage(np.full((2, 2), 0.25), [0, 1], 0.0), "scale"),
        (lambda: laplace_sum_leakage(np.full((2,) * 16, 2.0**-16), [0, 1], 1.0), "joint is too large"),
    ],
)
def test_wrong_input_is_refused_with_the_reason(call, words):
    with pytest.raises(InvalidParameter, match=words):
        call()
