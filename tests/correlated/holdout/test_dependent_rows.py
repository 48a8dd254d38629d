"""Declared dependence: the vectors of 3.9, and widths against the exact distribution of sums on small chains."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.correlated.effective_size import fixed_question_width
from holdfast.correlated import Blocks, DependentRows, MarkovChain
from holdfast.correlated.chains.transition import RowChain
from holdfast.correlated.holdout.dependent_rows import CHAIN, GROUPS, STATIONARY, MeanBound
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

FUZZ = settings(max_examples=40, deadline=None, derandomize=True)
SHARES = (0.9, 0.5, 0.2, 0.05, 0.01, 1e-3, 1e-6)


# Vectors --------------------------------------------------------------------------------------------------------------


def test_vectors() -> None:
    """V40 to V43 through the declarations."""
    flip = [[0.95, 0.05], [0.05, 0.95]]
    rows = DependentRows.markov(4000, flip)
    assert rows.routes[CHAIN].effective_n == pytest.approx(111.4469945, rel=1e-8)
    assert rows.routes[STATIONARY].effective_n == pytest.approx(210.5263158, rel=1e-7)
    assert rows.routes[STATIONARY].half_width(math.log(1e-6)) == pytest.approx(0.1856288289, rel=1e-7)
    assert rows.routes[CHAIN].half_width(math.log(1e-6)) == pytest.approx(0.2551317099, rel=1e-8)
    assert DependentRows.independent(4000).half_width(1e-6) == pytest.approx(0.04258617402, rel=1e-9)
    assert DependentRows.chain(10_000, [0.8]).effective_n == pytest.approx(625.3485364, rel=1e-9)
    assert DependentRows.blocks([10] * 50 + [1] * 500).effective_n == pytest.approx(181.8181818, rel=1e-9)
    after = DependentRows.markov(4000, flip, gap=20)
    assert after.routes[CHAIN].bias == pytest.approx(3.039416365e-4, rel=1e-8)
    assert STATIONARY not in after.routes, "its start ratio needs the last training row"


# Exact distributions
# -----------------------------------------------------------------------------------------------------------


def law_of_sum(matrix: np.ndarray, start: np.ndarray, picks: np.ndarray) -> np.ndarray:
    """The distribution of `sum_i picks[i, X_i]` for 0/1 picks, by dynamic programming."""
    n, k = picks.shape
    joint = np.zeros((n + 1, k))
    state = start
    for i in range(n):
        moved = state[None] if i == 0 else joint @ matrix
        joint_next = np.zeros((n + 1, k))
        for x in range(k):
            if picks[i, x]:
                joint_next[1 : len(moved) + 1, x] += moved[:n, x] if i else moved[:1, x]
            else:
                joint_next[: len(moved), x] += moved[:, x]
        joint = joint_next
    return joint.sum(axis=1)


def violations(law: np.ndarray, target: float, route: MeanBound, n: int) -> int:
    """How many shares are exceeded by the exact probability of missing the target."""
    means = np.arange(n + 1) / n
    count = 0
    for share in SHARES:
        missed = law[np.abs(means - target) > route.half_width(math.log(share))].sum()
        above = law[means - target > route.half_width(math.log(share), "lower")].sum()
        count += (missed > share * (1 + 1e-9)) + (above > share * (1 + 1e-9))
    return count


def random_chain(rng: np.random.Generator, k: int) -> np.ndarray:
    matrix = rng.dirichlet(np.full(k, 0.4), size=k) + 1e-3
    lazy = rng.random() * 0.9
    matrix = (1 - lazy) * matrix / matrix.sum(axis=1, keepdims=True) + lazy * np.eye(k)
    return matrix / matrix.sum(axis=1, keepdims=True)


def test_widths_against_exact_laws() -> None:
    """No share is exceeded on 150 random chains, from the stationary distribution and given an earlier row; n in the
    place of the effective size is exceeded often (power)."""
    rng = np.random.default_rng(6)
    bad = naive = 0
    for _ in range(150):
        k, n, gap = int(rng.integers(2, 4)), int(rng.integers(5, 40)), int(rng.integers(1, 4))
        matrix = random_chain(rng, k)
        picks = rng.random((n, k)) < 0.5 if rng.random() < 0.5 else np.tile(np.arange(k) == 0, (n, 1))
        law = RowChain(matrix).stationary
        expected = float((picks @ law).mean())
        exact = law_of_sum(matrix, law, picks)
        assert exact.sum() == pytest.approx(1)
        for route in DependentRows.markov(n, matrix).routes.values():
            bad += violations(exact, expected, route, n)
        naive += violations(exact, expected, MeanBound("naive", float(n)), n)
        last = int(rng.integers(k))
        given_last = law_of_sum(matrix, np.linalg.matrix_power(matrix, gap)[last], picks)
        for route in DependentRows.markov(n, matrix, gap=gap, last=last).routes.values():
            bad += violations(given_last, expected, route, n)
    assert bad == 0
    assert naive > 100


def test_groups_against_exact_laws() -> None:
    """Independent groups of chains: the exact distribution of the whole sum, by convolution."""
    rng = np.random.default_rng(7)
    bad = 0
    for _ in range(30):
        matrix = random_chain(rng, 2)
        sizes = [int(size) for size in rng.integers(1, 12, size=4)]
        picks = np.array([True, False])
        start = RowChain(matrix).stationary
        law = np.ones(1)
        for size in sizes:
            law = np.convolve(law, law_of_sum(matrix, start, np.tile(picks, (size, 1))))
        rows = DependentRows.groups(sizes, lambda k, matrix=matrix: DependentRows.markov(k, matrix))
        for route in rows.routes.values():
            bad += violations(law, float(start[0]), route, sum(sizes))
    assert bad == 0


def test_equal_blocks_take_the_divergence_of_their_means() -> None:
    """Copies of coins: the interval of the block means covers at every truth, exactly."""
    blocks, copies = 12, 5
    route = DependentRows.blocks([copies] * blocks).narrowest(math.log(0.05))
    for truth in np.linspace(0.02, 0.98, 25):
        chance = np.array([math.comb(blocks, j) * truth**j * (1 - truth) ** (blocks - j) for j in range(blocks + 1)])
        inside = []
        for j in range(blocks + 1):
            low, high = route.ends(j / blocks, blocks * copies, math.log(0.05), 0.0, 1.0)
            inside.append(low <= truth <= high)
        assert chance[~np.array(inside)].sum() <= 0.05


# Properties -----------------------------------------------------------------------------------------------------------


@FUZZ
@given(st.floats(0, 0.99), st.integers(1, 10**6), st.floats(1e-12, 0.99))
def test_one_width(norm: float, n: int, share: float) -> None:
    """The two-sided width is the theorem's, one-sided ones are narrower, and more rows or a wider gap never hurt."""
    rows = DependentRows.stationary(n, norm)
    route = rows.routes[STATIONARY]
    assert rows.half_width(share) == fixed_question_width(route.effective_n, share)
    assert route.half_width(math.log(share), "upper") <= rows.half_width(share)
    assert DependentRows.stationary(2 * n, norm).half_width(share) <= rows.half_width(share)
    assert rows.effective_n <= n * (1 + 1e-12)


@FUZZ
@given(st.floats(1, 1e6), st.floats(1, 1e6), st.floats(0, 1), st.floats(1e-12, 0.99))
def test_ratio_and_bias_are_paid(size: float, ratio: float, bias: float, share: float) -> None:
    """The route's width is the theorem's, and its limits are that far from the mean, in units of the range."""
    route = MeanBound("chain", size, ratio, bias)
    width = fixed_question_width(size, share, ratio, bias)
    assert route.half_width(math.log(share)) == pytest.approx(width, rel=1e-12)
    low, high = route.ends(10.0, 7, math.log(share), -100.0, 100.0)
    assert (low, high) == pytest.approx((max(-100.0, 10 - 200 * width), min(100.0, 10 + 200 * width)), rel=1e-9)
    assert route.ends(10.0, 7, math.log(share), -100.0, 100.0, "lower")[1] == 100.0
    one = route.half_width(math.log(share), "lower")
    assert one == pytest.approx(fixed_question_width(size, min(2 * share, 1 - 1e-12), ratio, bias), rel=1e-5)


@FUZZ
@given(st.lists(st.integers(1, 30), min_size=2, max_size=30), st.floats(0, 0.95))
def test_groups_lie_between_blocks_and_rows(sizes: list[int], phi: float) -> None:
    rows = DependentRows.groups(sizes, lambda k: DependentRows.autoregressive(k, phi))
    assert rows.routes[GROUPS].effective_n >= DependentRows.blocks(sizes).effective_n * (1 - 1e-9)
    assert rows.effective_n <= sum(sizes) * (1 + 1e-9)
    whole = DependentRows.groups(sizes, DependentRows.independent)
    assert whole.effective_n == pytest.approx(sum(sizes))


@FUZZ
@given(st.integers(1, 400), st.integers(1, 50))
def test_a_gap_shrinks_the_bias(n: int, gap: int) -> None:
    near, far = (DependentRows.chain(n, [0.9, 0.7], gap=g).routes[CHAIN].bias for g in (gap, gap + 1))
    assert 0 < far <= near <= 1


def test_groups_multiply_ratios_and_average_biases() -> None:
    started = DependentRows.groups([5, 5, 9], lambda k: DependentRows.stationary(k, 0.5, start_ratio=2.0))
    assert list(started.routes) == [GROUPS]
    assert started.routes[GROUPS].start_ratio == pytest.approx(8.0)
    later = DependentRows.groups([5, 5, 9], lambda k: DependentRows.chain(k, [0.5], gap=1))
    five, nine = (DependentRows.chain(k, [0.5], gap=1).routes[CHAIN].bias for k in (5, 9))
    assert later.routes[GROUPS].bias == pytest.approx((10 * five + 9 * nine) / 19)
    with pytest.raises(GuaranteeUnavailable, match="too far"):
        DependentRows.groups([2] * 2000, lambda k: DependentRows.stationary(k, 0.5, start_ratio=2.0))


def test_start_ratio_is_exact() -> None:
    matrix = np.array([[0.9, 0.1], [0.4, 0.6]])
    for last, gap in itertools.product((0, 1), (1, 2, 5)):
        line = np.linalg.matrix_power(matrix, gap)[last] / [0.8, 0.2]
        assert RowChain(matrix).start_ratio(last, gap) == pytest.approx(line.max(), rel=1e-9)
        assert RowChain(matrix).start_ratio(last, gap) >= line.max()


def test_states_that_are_left_for_good() -> None:
    """The long run never visits the first state: whoever starts there starts where no stationary row can be."""
    leaving = RowChain([[0.5, 0.5], [0.0, 1.0]])
    assert leaving.start_ratio(0, 3) == math.inf
    assert leaving.start_ratio(1, 3) == pytest.approx(1.0)
    assert leaving.operator_norm == 0.0


def test_operator_norm_of_a_chain_that_is_not_reversible() -> None:
    """A lazy rotation: eigenvalues of modulus 0.5 and less, yet the norm is a singular value; and it is rounded up."""
    rotation = np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    centred = rotation - 1 / 3
    assert RowChain(rotation).operator_norm >= np.linalg.norm(centred, 2)
    assert RowChain(rotation).operator_norm == pytest.approx(np.linalg.norm(centred, 2), rel=1e-8)


def test_models_and_declarations_agree() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], 3000)
    assert DependentRows.of(chain).effective_n == DependentRows.markov(3000, chain.matrix).effective_n
    assert DependentRows.of(Blocks([4] * 50)) == DependentRows.blocks([4] * 50)


def test_round_trip() -> None:
    for rows in (
        DependentRows.markov(100, [[0.9, 0.1], [0.4, 0.6]], gap=3, last=1),
        DependentRows.blocks([3, 4, 5]),
        DependentRows.autoregressive(50, -0.4, gap=2, last=1.5),
        DependentRows.groups([3, 4], DependentRows.independent),
    ):
        assert DependentRows.from_dict(rows.to_dict()) == rows
        assert str(rows).startswith(rows.model)


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DependentRows.markov(10, [[0.9, 0.2], [0.4, 0.6]]), "sum to 1"),
        (lambda: DependentRows.markov(10, [[0.9, 0.1], [0.4, 0.6]], last=0), "last"),
        (lambda: DependentRows.markov(10, [[0.9, 0.1], [0.4, 0.6]], gap=1, last=2), "last"),
        (lambda: DependentRows.markov(10, [[1.0, 0.0], [0.0, 1.0]]), "stationary"),
        (lambda: DependentRows.autoregressive(10, 1.0), "coefficient"),
        (lambda: DependentRows.autoregressive(10, 0.5, gap=1), "gap and last"),
        (lambda: DependentRows.stationary(10, 1.0), "operator_norm"),
        (lambda: DependentRows.blocks([]), "sizes"),
        (lambda: DependentRows.blocks([3, 0]), "sizes"),
        (lambda: DependentRows.blocks("ab"), "sizes"),
        (lambda: DependentRows.chain(10, [1.5]), "deltas"),
        (lambda: DependentRows.groups([3], lambda k: DependentRows.independent(k + 1)), "inside"),
        (lambda: DependentRows.of(object()), "model"),
        (lambda: DependentRows(5, "", {"a": MeanBound("a", 1.0)}), "model"),
        (lambda: DependentRows(5, "m", {}), "routes"),
        (lambda: MeanBound("a", 5.0, 2.0, blocks=5), "blocks"),
        (lambda: MeanBound("a", 5.0, start_ratio=0.5), "start_ratio"),
        (lambda: MeanBound("", 5.0), "name must be a text that says which bound this is"),
        (lambda: MeanBound(3, 5.0), "name must be a text"),  # type: ignore[arg-type]
        (lambda: DependentRows.blocks([3, 4]).terms("guess"), "route must be one of .*, got 'guess'"),
        (lambda: DependentRows.from_dict({"n": 5}), "to_dict"),
    ],
)
def test_refusals(make: object, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        make()  # type: ignore[operator]


def test_no_bound() -> None:
    with pytest.raises(GuaranteeUnavailable, match="a single block"):
        DependentRows.blocks([100])
    with pytest.raises(GuaranteeUnavailable, match="never forgets"):
        DependentRows.markov(100, [[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(GuaranteeUnavailable, match="too far from 0"):
        DependentRows.autoregressive(100, 0.5, gap=1, last=100.0)
