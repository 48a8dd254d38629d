"""Exact quantities of finite distributions, against enumeration of all events and against linear programming."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from holdfast.bounds import finite_law
from holdfast.errors import InvalidParameter


def random_tables(seed: int, count: int, shape: tuple[int, int] = (2, 3)):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        table = rng.dirichlet(np.full(shape[0] * shape[1], 10 ** rng.uniform(-1, 1))).reshape(shape)
        table[rng.random(shape) < 0.15] = 0
        yield rng, table / table.sum()


def test_max_information_is_the_worst_event() -> None:
    for rng, table in random_tables(1, 200):
        product = np.outer(table.sum(axis=1), table.sum(axis=0)).ravel()
        joint = table.ravel()
        beta = float(rng.choice([0.0, 0.01, 0.1, 0.5, 0.9]))
        worst = -math.inf
        for event in itertools.product((False, True), repeat=6):
            mask = np.array(event)
            if joint[mask].sum() > beta and product[mask].sum() > 0:
                worst = max(worst, math.log2((joint[mask].sum() - beta) / product[mask].sum()))
        assert finite_law.max_information(table, beta) == pytest.approx(worst, abs=1e-9)


def test_beta_star_inverts_max_information() -> None:
    for rng, table in random_tables(2, 200, (3, 4)):
        beta = float(rng.uniform(0.001, 0.9))
        bits = finite_law.max_information(table, beta)
        assert finite_law.beta_star(table, bits) == pytest.approx(beta, abs=1e-12)
        assert bits >= math.log2(1 - beta) - 1e-12
        assert finite_law.max_information(table.T, beta) == pytest.approx(bits, abs=1e-9)


def test_post_processing_does_not_gain() -> None:
    for rng, table in random_tables(3, 100, (3, 4)):
        channel = rng.dirichlet(np.ones(3), size=4)
        beta = float(rng.uniform(0, 0.5))
        assert finite_law.max_information(table @ channel, beta) <= finite_law.max_information(table, beta) + 1e-9
        assert finite_law.worst_output_transfer(table @ channel, beta) <= (
            finite_law.worst_output_transfer(table, beta) + 1e-9
        )


def test_worst_output_transfer_is_the_linear_programme() -> None:
    from scipy.optimize import linprog

    for rng, table in random_tables(4, 40, (3, 3)):
        beta = float(rng.choice([0.0, 0.05, 0.3]))
        prior = table.sum(axis=1)
        table, prior = table[prior > 0], prior[prior > 0]
        rows, columns = table.shape
        # variables: m(z), then losses; minimise sum m subject to loss >= joint - prior m, sum loss <= beta
        cost = np.concatenate([np.ones(columns), np.zeros(rows * columns)])
        left = np.zeros((rows * columns + 1, columns + rows * columns))
        right = np.zeros(rows * columns + 1)
        for x, z in itertools.product(range(rows), range(columns)):
            row = x * columns + z
            left[row, z], left[row, columns + row], right[row] = -prior[x], -1, -table[x, z]
        left[-1, columns:], right[-1] = 1, beta
        solution = linprog(cost, A_ub=left, b_ub=right)
        assert finite_law.worst_output_transfer(table, beta) == pytest.approx(math.log2(solution.fun), abs=1e-7)


def test_transfer_lies_between() -> None:
    for rng, table in random_tables(5, 200, (3, 4)):
        beta, slack = float(rng.uniform(0, 0.3)), float(rng.uniform(0.001, 0.25))
        transfer = finite_law.worst_output_transfer(table, beta)
        assert transfer <= finite_law.max_information(table, beta) + 1e-9
        assert transfer <= math.log2(4) + 1e-9
        if beta + slack < 1:
            assert finite_law.max_information(table, beta + slack) <= transfer + math.log2(1 / (4 * slack)) + 1e-9


def test_randomized_response_on_whole_samples() -> None:
    # spec-reusable-holdout 6, rows 49 and 50, on the full table of samples and answers
    for n, expected in (
        (6, {0.0: 1.8963089155, 0.05: 1.0071756078, 0.01: 1.6241456572}),
        (3, {0.0: 0.9481544578, 0.05: 0.6129685372}),
    ):
        right = math.exp(0.5) / (1 + math.exp(0.5))
        one = np.array([[right, 1 - right], [1 - right, right]])
        table = np.ones((1, 1))
        for _ in range(n):
            table = np.kron(table, one)
        for beta, bits in expected.items():
            assert finite_law.max_information(table / 2**n, beta) == pytest.approx(bits, rel=1e-9)
        if n == 6:
            assert finite_law.mutual_information(table / 2**n) == pytest.approx(0.2622807637, rel=1e-9)
        assert finite_law.max_information(table / 2**n) == pytest.approx(n * math.log2(2 * right), rel=1e-12)


def test_max_information_over_all_priors_is_the_divergence_of_outputs() -> None:
    # Dwork et al. 2015, Lemma 12: the supremum over distributions of the sample is max over pairs of samples of D_inf
    right = math.exp(0.5) / (1 + math.exp(0.5))
    channel = np.kron([[right, 1 - right], [1 - right, right]], [[right, 1 - right], [1 - right, right]])
    divergence = max(finite_law.max_divergence(a, b) for a in channel for b in channel)
    assert divergence == pytest.approx(2 * 0.5 / math.log(2))
    near = max(
        finite_law.max_information(
            np.diag([1e-9 if i == x else (1 - 2e-9 if i == y else 5e-10) for i in range(4)]) @ channel
        )
        for x, y in itertools.permutations(range(4), 2)
    )
    assert near <= divergence + 1e-9
    assert near == pytest.approx(divergence, abs=1e-6)


def test_distances() -> None:
    p, q = [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]
    assert finite_law.total_variation(p, q) == pytest.approx(0.25)
    assert finite_law.kl_nats(q, p) == math.inf
    assert finite_law.max_divergence(q, p) == math.inf
    assert finite_law.max_divergence(q, p, 0.25) < math.inf
    assert finite_law.is_indistinguishable(p, q, math.log(2), 0.25)
    assert not finite_law.is_indistinguishable(p, q, math.log(2), 0.2)
    assert finite_law.pointwise_delta(q, p, 1.0) == pytest.approx(0.25)
    assert finite_law.hockey_stick(p, q, 1000.0) == 0


@pytest.mark.parametrize("joint", [[[0.5, 0.4]], [[-0.5, 1.5]], [[math.nan, 1.0]], [0.5, 0.5], [], "table", [["a"]]])
def test_wrong_tables_are_refused(joint) -> None:
    with pytest.raises(InvalidParameter, match="joint"):
        finite_law.max_information(joint)


def test_tables_as_lists() -> None:
    assert finite_law.max_information_of_table([0.4, 0.1, 0.1, 0.4], 2) == finite_law.max_information(
        [[0.4, 0.1], [0.1, 0.4]]
    )
    with pytest.raises(InvalidParameter, match="rows"):
        finite_law.transfer_of_table([0.5, 0.25, 0.25], 2)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="p and q must have the same shape"):
        finite_law.kl_nats([1.0], [0.5, 0.5])


def test_mass_that_the_second_law_misses_counts() -> None:
    # best event: the last two symbols, (0.75 - 0.3)/0.5
    assert finite_law.max_divergence([0.25, 0.5, 0.25], [0.5, 0.5, 0.0], 0.3) == pytest.approx(math.log2(0.9))
    assert finite_law.max_divergence([0.25, 0.5, 0.25], [0.5, 0.5, 0.0], 0.9) == pytest.approx(math.log2(0.1))


def test_marginals_whose_product_underflows() -> None:
    rare = [[1e-200, 0.0], [0.0, 1.0]]
    assert finite_law.max_information(rare) == pytest.approx(200 * math.log2(10))
    assert finite_law.max_information(rare, 5e-201) == pytest.approx(200 * math.log2(10) - 1)
    assert 0 < finite_law.mutual_information(rare) < 1e-190
    assert finite_law.kl_nats([0.5, 0.5], [1e-320, 1.0]) == pytest.approx(
        0.5 * math.log(0.25) + 160 * math.log(10), rel=1e-4
    )
    assert finite_law.worst_output_transfer(rare, 1 - 2**-53) == -53
    with pytest.raises(InvalidParameter, match="sum to 1"):
        finite_law.max_information([[1e308, 1e308]])
