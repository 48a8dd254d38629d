"""Transfer bounds: any order, audited on exact interactions; the same number read as max-information is caught."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds import finite_law
from holdfast.bounds.transfer import RealisedPlan, event, interleaved, realised_bits, to_max_information
from holdfast.errors import InvalidParameter
from tests.bounds.exact_laws import interleaved_table, leaky_response


def audit(measure, count: int = 150) -> tuple[int, int]:
    """Violations and cases: exact interactions of looks and private answers against `transfer.interleaved`."""
    rng = np.random.default_rng(51)
    found = 0
    for _ in range(count):
        n, epsilon = int(rng.integers(1, 3)), float(10 ** rng.uniform(-2, 0.3))
        sizes = (int(rng.integers(1, 4)), int(rng.integers(1, 3)))
        table = interleaved_table(rng, n, epsilon, sizes, sure=bool(rng.random() < 0.7))
        beta = float(rng.choice([0.3, 0.05, 0.01, 1e-4]))
        bound = interleaved(math.log2(sizes[0] * sizes[1]), epsilon, n, beta)
        found += measure(table, beta) > bound.bits + 1e-9
    return found, count


def test_interleaved_holds_as_a_transfer_bound() -> None:
    assert audit(finite_law.worst_output_transfer)[0] == 0


def test_interleaved_read_as_max_information_is_caught() -> None:
    assert audit(finite_law.max_information)[0] >= 5


def test_the_smallest_counterexample_to_reading_it_as_max_information() -> None:
    rare = np.diag([0.02, 0.98])
    assert interleaved(1, 0.0, 10, 0.01).bits == pytest.approx(1)
    assert finite_law.max_information(rare, 0.01) == pytest.approx(4.643856, abs=1e-6)
    assert finite_law.worst_output_transfer(rare, 0.01) <= 1
    assert finite_law.max_information(rare, 0.01) <= to_max_information(1.0, 0.0, 0.01).bits


def block_events(blocks: int, epsilon: float, rows: int):
    """A private answer on every row, then a look that names the block whose answers fit its rows best.

    Yields the exact probability that the named block fits better than a threshold, and the same for fixed answers and
    a fixed block on fresh rows, for every threshold.
    """
    probabilities, losses = leaky_response(epsilon, 0.0, rows)
    for threshold in np.unique(losses)[:-1]:
        over = losses > threshold
        hit = min(float(probabilities[over].sum()), 1 - 1e-12)
        yield (
            -math.expm1(blocks * math.log1p(-hit)),
            min(1.0, float(np.sum(probabilities[over] * np.exp(-losses[over])))),
        )


@pytest.mark.parametrize(("blocks", "epsilon", "rows"), [(4, 0.2, 25), (16, 0.1, 50), (16, 0.5, 10), (8, 1.0, 8)])
def test_best_of_many_blocks_named_by_a_raw_look(blocks: int, epsilon: float, rows: int) -> None:
    bits, closest = math.log2(blocks), 0.0
    for beta in (0.3, 0.05, 1e-3, 1e-9):
        bound = interleaved(bits, epsilon, blocks * rows, beta).bits
        for happened, nominal in block_events(blocks, epsilon, rows):
            assert happened <= event(nominal, bound, beta)
            closest = max(closest, happened / event(nominal, bound, beta))
    assert closest > 0.3
    # charging for the look alone is caught
    assert any(happened > event(nominal, bits, 0.0) for happened, nominal in block_events(blocks, epsilon, rows))


def test_approximate_privacy_halves_with_every_bit() -> None:
    n, delta, beta = 10_000, 1e-12, 0.01
    costs = [interleaved(bits, 0.001, n, beta, delta).bits - bits for bits in range(0, 40, 2)]
    finite = [c for c in costs if c < math.inf]
    assert finite == sorted(finite)
    last = len(finite) * 2 - 2
    assert n * delta < beta / 2**last
    assert n * delta * 2 ** (last + 2) >= beta


def test_example_f_of_the_specification() -> None:
    # spec-max-information 3.4 F, in either order: 4 bits and (0.001, 1e-12)-DP on 10^4 rows, level at 0.05
    best = max((0.05 - b) * 2 ** -interleaved(4, 0.001, 10_000, b, 1e-12).bits for b in np.geomspace(1e-4, 0.03, 80))
    assert best == pytest.approx(1.58454e-3, rel=2e-3)


@given(st.floats(0, 2000), st.floats(1e-5, 3), st.integers(1, 10**6), st.floats(1e-6, 0.9), st.floats(1, 2))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_monotone(bits: float, epsilon: float, n: int, beta: float, factor: float) -> None:
    here = interleaved(bits, epsilon, n, beta).bits * (1 - 1e-12)
    assert here >= bits * (1 - 1e-12)
    assert interleaved(bits + factor, epsilon, n, beta).bits >= here
    assert interleaved(bits, epsilon * factor, n, beta).bits >= here
    assert interleaved(bits, epsilon, math.ceil(n * factor), beta).bits >= here
    assert interleaved(bits, epsilon, n, beta / factor).bits >= here
    assert interleaved(bits, epsilon, n, beta).bits <= interleaved(bits, epsilon, n, beta, method="paper").bits * (
        1 + 1e-12
    )


def test_event() -> None:
    assert event(0.3, 0, 0) == 0.3
    assert event(0.3, 10, 0) == 1
    assert event(0.0, 10, 0.2) == 0.2
    assert event(0.0, math.inf, 0.2) == 1
    assert event(1e-300, 900.5, 0.0) == pytest.approx(1e-300 * 2**900.5)
    assert event(0.1, -0.1, 0.1) == pytest.approx(0.1 * 2**-0.1 + 0.1)


def realised_rate(plan: RealisedPlan, alpha: float, seed: int, level) -> float:
    """Largest exact false-discovery probability over random adaptive analyses with realised bits.

    Two binary rows. A first look with two outcomes decides whether a second one is taken; afterwards the worst test
    for each transcript rejects the sample values that are most likely given the transcript, up to its level.
    """
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(200):
        chances = rng.choice([0.1, 0.3, 0.5], size=2)
        prior = np.outer([chances[0], 1 - chances[0]], [chances[1], 1 - chances[1]]).ravel()
        first = np.eye(2)[rng.integers(2, size=4)]
        second = np.eye(4)[rng.integers(4, size=4)]
        right = math.exp(0.25) / (1 + math.exp(0.25))
        answer = np.kron([[right, 1 - right], [1 - right, right]], [[right, 1 - right], [1 - right, right]])
        rate = 0.0
        for reached, bits in [(prior * first[:, 0], 1.0)] + [
            (prior * first[:, 1] * second[:, j], 3.0) for j in range(4)
        ]:
            for reply in range(4):
                joint = reached * answer[:, reply]
                order = np.argsort(-joint / prior)
                room = level(plan, alpha, bits)
                for x in order:  # a randomised test fills its level exactly
                    share = min(1.0, room / prior[x])
                    rate += joint[x] * share
                    room -= prior[x] * share
        worst = max(worst, rate)
    return worst


def test_realised_bits_keep_the_level() -> None:
    plan = RealisedPlan(2, 0.1, {(1.0, 0.5): 0.5, (3.0, 0.5): 0.5})
    alpha = 0.3
    assert realised_rate(plan, alpha, 52, lambda p, a, b: 2 ** p.log2_level(a, b, 0.5)) <= alpha
    # charging nothing for the looks is caught by the same test
    assert realised_rate(plan, alpha, 52, lambda p, a, b: a) > alpha


def test_realised_plan() -> None:
    plan = RealisedPlan(1000, 0.02, {(0.0, 0.01): 0.5, (4.0, 0.01): 0.5})
    assert plan.exponent(0, 0.005) == realised_bits(0.0, 0.01, 1000, 0.02, 0.5)
    assert plan.exponent(3, 0.01) == realised_bits(4.0, 0.01, 1000, 0.02, 0.5)
    assert plan.exponent(5, 0.01) == math.inf
    assert plan.exponent(0, 0.02) == math.inf
    assert plan.log2_level(0.01, 0, 0.0) == -math.inf
    with pytest.raises(InvalidParameter, match="sum"):
        RealisedPlan(1000, 0.02, {(0.0, 0.01): 0.6, (4.0, 0.01): 0.6})
    with pytest.raises(InvalidParameter, match="sum"):
        RealisedPlan(1000, 0.02, {})


def test_wrong_input_is_named() -> None:
    with pytest.raises(InvalidParameter, match="bits"):
        interleaved(-1, 0.1, 10, 0.1)
    with pytest.raises(InvalidParameter, match="method"):
        interleaved(1, 0.1, 10, 0.1, 1e-9, "paper")
    with pytest.raises(InvalidParameter, match="k_bits"):
        event(0.1, -3, 0.1)


def leaky_table(rng: np.random.Generator, n: int, epsilon: float, delta: float, size: int, look_first: bool):
    """Joint table of a look at `n` binary rows and a private answer about each that leaks it with probability delta.

    In either order; whichever comes second may depend on the first. The answers are (epsilon, delta)-DP for every look.
    """
    samples = list(itertools.product((0, 1), repeat=n))
    chances = rng.choice([0.02, 0.1, 0.3, 0.5], size=n)
    prior = np.array([np.prod([c if x else 1 - c for c, x in zip(chances, s, strict=True)]) for s in samples])
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    one = np.array([[(1 - delta) * right, (1 - delta) * (1 - right), delta, 0.0]])
    one = np.vstack([one, [(1 - delta) * (1 - right), (1 - delta) * right, 0.0, delta]])
    channel = np.ones((1, 1))
    for _ in range(n):
        channel = np.kron(channel, one)

    def look() -> np.ndarray:
        return np.eye(size)[rng.integers(size, size=len(samples))]

    if look_first:
        first = look()
        flips = rng.integers(len(samples), size=size)  # which rows are relabelled depends on the look
        order = np.arange(len(samples))
        parts = [(prior * first[:, i])[:, None] * channel[order ^ flips[i]] for i in range(size)]
    else:
        parts = [(prior * channel[:, j])[:, None] * look() for j in range(channel.shape[1])]
    return np.hstack(parts)


@pytest.mark.parametrize("look_first", [True, False])
def test_interleaved_with_leaking_rows(look_first: bool) -> None:
    rng = np.random.default_rng(39)
    caught, finite = 0, 0
    for _ in range(250):
        n, size = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        epsilon, delta = float(10 ** rng.uniform(-2, 0.3)), float(10 ** rng.uniform(-4, -1.5))
        beta = float(rng.choice([0.5, 0.3, 0.05, 0.01]))
        table = leaky_table(rng, n, epsilon, delta, size, look_first)
        exact = finite_law.worst_output_transfer(table, beta)
        bound = interleaved(math.log2(size), epsilon, n, beta, delta).bits
        assert exact <= bound + 1e-9
        finite += bound < math.inf
        exact = finite_law.worst_output_transfer(table, n * delta * 1e-3)
        caught += exact > interleaved(math.log2(size), epsilon, n, n * delta * 1e-3).bits + 1e-9
    assert finite > 100
    assert caught > 0  # reading the private steps as pure is caught


def test_events_are_rounded_up() -> None:
    rng = np.random.default_rng(13)
    cases = [(5e-324, 1000.4, 0.0), (5e-324, 0.3, 0.0), (1e-310, 700.123, 1e-90), (0.3, -1e-17, 0.1)]
    cases += [(10 ** rng.uniform(-320, 0), rng.uniform(0, 1000), 10 ** rng.uniform(-300, 0)) for _ in range(300)]
    for p, k, beta in cases:
        with mpmath.workdps(400):
            exact = min(1, mpmath.mpf(p) * mpmath.mpf(2) ** mpmath.mpf(k) + mpmath.mpf(beta))
            found = mpmath.mpf(event(float(p), float(k), float(beta)))
            assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -14) + mpmath.mpf("3e-323")
    assert event(5e-324, 1000.4, 0.0) == pytest.approx(6.9854e-23, rel=1e-4)


def test_realised_amounts_use_their_share_and_what_is_left_of_alpha() -> None:
    alone = interleaved(2, 0.005, 10_000, 0.0025).bits
    assert realised_bits(2, 0.005, 10_000, 0.01, share=0.25) == pytest.approx(alone, rel=1e-12)
    assert realised_bits(2, 0.005, 10_000, 0.01, share=0.25) > realised_bits(2, 0.005, 10_000, 0.01)
    plan = RealisedPlan(1000, 0.02, {(4.0, 0.01): 0.5})
    assert plan.log2_level(0.05, 4, 0.01) == pytest.approx(math.log2(0.03) - plan.exponent(4, 0.01), rel=1e-12)


def test_a_plan_cannot_be_changed() -> None:
    shares = {(0.0, 0.01): 0.5}
    plan = RealisedPlan(1000, 0.02, shares)
    shares[(9.0, 9.0)] = 1.0
    assert plan.exponent(9, 9) == math.inf
    with pytest.raises(TypeError):
        plan.shares[(9.0, 9.0)] = 1.0  # type: ignore[index]


def test_scope() -> None:
    assert interleaved(4, 0.0, 10, 0.0).scope == "any"
    assert interleaved(4, 0.1, 10, 0.1).scope == "product"
    assert interleaved(4, 0.0, 10, 0.1, delta=1e-9).scope == "product"


def test_example_f_with_the_plain_theorem() -> None:
    # spec-max-information 3.4 F: Theorem S at beta/16 instead of S+
    from holdfast.bounds.approximate_dp import smallest_bits

    def level(beta: float) -> float:
        bits, _ = smallest_bits(0.001, 1e-12, 10_000, -math.log(beta / 16), "plain")
        return (0.05 - beta) * 2 ** -(4 + bits)

    assert max(level(b) for b in np.geomspace(1e-4, 0.03, 200)) == pytest.approx(1.36836e-3, rel=1e-4)
