from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter
from holdfast.noise import Seeded, Source, exponential_choice, noisy_max, permute_and_flip
from holdfast.noise.selection import _bucket_table
from tests.noise.laws import LEVEL, chi_square

Law = NDArray[np.float64]
SCORES = [
    ([0, 0], Fraction(1, 2)),
    ([5, 3, 3, 0, -4], Fraction(1, 3)),
    ([1000, 0, 0, 0], Fraction(1)),
    ([7, 6, 5, 4, 3, 2, 1, 0], Fraction(17, 10)),
    ([-(2**61), 2**61, 2**61 - 3], Fraction(1, 2)),
    ([3, 1, 2], Fraction(2**70 + 1, 2**70)),
    ([9, 2, 4], Fraction(0)),
]


def exponential_law(scores: list[int], rate: float) -> Law:
    weights = np.exp(-rate * np.array([max(scores) - s for s in scores], dtype=float))
    return weights / weights.sum()


def flip_law(scores: list[int], rate: float) -> Law:
    """Permute-and-flip by its definition: every order, every place of the first success."""
    best = max(scores)
    coins = [math.exp(-rate * (best - s)) for s in scores]
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        alive = 1.0
        for i in order:
            law[i] += alive * coins[i] / len(orders)
            alive *= 1 - coins[i]
    return law


def max_law(scores: list[int], scale: float, noise: str) -> Law:
    """Noisy max by summation over the winning value; ties shared equally."""
    reach = math.ceil(45 * scale) + max(scores) - min(scores) + 2
    k = np.arange(-reach, reach + 1)
    mass = np.exp(-np.abs(k) / scale) if noise == "laplace" else np.exp(-np.maximum(k, 0) / scale) * (k >= 0)
    mass = mass / mass.sum()
    below = np.concatenate(([0.0], np.cumsum(mass)))[:-1]

    values = np.arange(min(scores) - reach, max(scores) + reach)
    equal = [np.interp(values - s, k, mass, left=0.0, right=0.0) for s in scores]
    less = [np.interp(values - s, k, below, left=0.0, right=1.0) for s in scores]
    law = np.zeros(len(scores))
    for winners in itertools.product((0, 1), repeat=len(scores)):
        if any(winners):
            chance = math.prod(e if w else b for w, e, b in zip(winners, equal, less, strict=True))
            law += np.sum(chance) * np.array(winners) / sum(winners)
    return law


def _fits(chosen: NDArray[np.int64], law: Law) -> bool:
    order = np.argsort(-law)  # neighbours in size are pooled
    seen = np.bincount(chosen, minlength=law.size)
    return chi_square(seen[order], law[order] * chosen.size) > LEVEL


def _repeat(choose: Callable[[Source], int], count: int, seed: int) -> NDArray[np.int64]:
    source = Seeded(seed)
    return np.array([choose(source) for _ in range(count)])


@pytest.mark.parametrize(("scores", "rate"), SCORES)
def test_exponential_mechanism_has_its_law(scores: list[int], rate: Fraction) -> None:
    law = exponential_law(scores, float(rate))
    assert _fits(exponential_choice(scores, rate, 100_000, source=Seeded(1)), law)
    assert _fits(_repeat(lambda s: exponential_choice(scores, rate, source=s), 3000, 2), law)


def test_exponential_mechanism_test_has_power() -> None:
    law = exponential_law([5, 3, 3, 0, -4], 1 / 3)
    assert not _fits(exponential_choice([5, 3, 3, 0, -4], 0.35, 100_000, source=Seeded(1)), law)
    assert not _fits(_repeat(lambda s: permute_and_flip([5, 3, 3, 0, -4], Fraction(1, 3), source=s), 10_000, 2), law)


def test_exponential_mechanism_over_many_candidates() -> None:
    """A hundred thousand candidates, gaps from 0 to 10**5: few proposals, the right share for the best."""
    scores = -np.arange(100_000)
    chosen = exponential_choice(scores, Fraction(1, 10), 50_000, source=Seeded(3))
    law = exponential_law([-k for k in range(400)], 0.1)
    assert _fits(np.minimum(chosen, 399), law)
    flat = exponential_choice(np.zeros(100_000, dtype=np.int64), 1, 200_000, source=Seeded(4))
    assert chi_square(np.bincount(flat // 1000), np.full(100, 2000.0)) > LEVEL


def test_proposals_are_few_when_one_candidate_dominates() -> None:
    class Counting(Source):
        def __init__(self) -> None:
            self.inner, self.used = Seeded(5), 0

        def word(self) -> int:
            self.used += 1
            return self.inner.word()

        def words(self, count: int) -> NDArray[np.uint64]:
            self.used += count
            return self.inner.words(count)

    for scores in ([10**6] + [0] * 10_000, list(range(10_000)), [0] * 10_000):
        source = Counting()
        for _ in range(100):
            exponential_choice(scores, Fraction(1), source=source)
        assert source.used < 100 * 3 * 2 * math.e


@pytest.mark.parametrize(("scores", "rate"), [*SCORES[:4], *SCORES[5:]])
def test_permute_and_flip_has_its_law(scores: list[int], rate: Fraction) -> None:
    if len(scores) > 6:
        scores = scores[:6]
    law = flip_law(scores, float(rate))
    assert law.sum() == pytest.approx(1)
    assert _fits(_repeat(lambda s: permute_and_flip(scores, rate, source=s), 8000, 6), law)


@pytest.mark.parametrize("noise", ["geometric", "laplace"])
@pytest.mark.parametrize("scores", [[0, 0], [2, 0, 1], [4, 0, 0, 1]])
def test_noisy_max_has_its_law(scores: list[int], noise: str) -> None:
    law = max_law(scores, 1.5, noise)
    assert law.sum() == pytest.approx(1)
    assert _fits(_repeat(lambda s: noisy_max(scores, 1.5, noise=noise, source=s), 8000, 7), law)  # type: ignore[arg-type]


@pytest.mark.parametrize("scores", [[3, 3, 2], [0, 0, 0], [5, 1, 4]])
def test_the_laws_keep_the_promised_privacy(scores: list[int]) -> None:
    """Every neighbour that moves each score by at most one, exactly: no probability changes by more than e**epsilon."""
    epsilon = 0.8
    laws: dict[str, Callable[[list[int]], Law]] = {
        "exponential": lambda s: exponential_law(s, epsilon / 2),
        "flip": lambda s: flip_law(s, epsilon / 2),
        "geometric": lambda s: max_law(s, 2 / epsilon, "geometric"),
        "laplace": lambda s: max_law(s, 2 / epsilon, "laplace"),
    }
    for law in laws.values():
        here = law(scores)
        worst = 0.0
        for move in itertools.product((-1, 0, 1), repeat=len(scores)):
            there = law([s + m for s, m in zip(scores, move, strict=True)])
            worst = max(worst, float(np.abs(np.log(here / there)).max()))
        assert worst <= epsilon * (1 + 1e-9)
        assert worst > epsilon / 3  # the check is not vacuous


def test_permute_and_flip_is_never_worse_in_expectation() -> None:
    for scores, rate in SCORES[:4]:
        short = scores[:6]
        gain = (flip_law(short, float(rate)) - exponential_law(short, float(rate))) @ np.array(short)
        assert gain >= -1e-12


@pytest.mark.parametrize("scores", [[], [[1], [1, 2]], [1.5], [[1, 2]], "ab", None, [2**62]])
def test_wrong_scores(scores: object) -> None:
    for call in (exponential_choice, permute_and_flip, noisy_max):
        with pytest.raises(InvalidParameter, match="scores"):
            call(scores, 1)  # type: ignore[operator]


def test_wrong_parameters() -> None:
    with pytest.raises(InvalidParameter, match="rate"):
        exponential_choice([1, 2], -1)
    with pytest.raises(InvalidParameter, match="scale"):
        noisy_max([1, 2], 0)
    with pytest.raises(InvalidParameter, match="noise"):
        noisy_max([1, 2], 1, noise="gumbel")  # type: ignore[arg-type]
    for choose in (exponential_choice, permute_and_flip):  # a rate beyond 64 bits, even where all gaps are 0
        assert choose([5, 5], 2**70) in (0, 1)
        assert choose([5, 4, 5], Fraction(2**70, 3)) in (0, 2)
    assert exponential_choice([4], 1) == permute_and_flip([4], 1) == noisy_max([4], 1) == 0


@pytest.mark.parametrize(
    ("levels", "counts"), [([0, 1, 5], [1, 7, 3]), ([0, 40, 80], [2, 9, 100]), ([0, 60, 61, 62], [1, 1, 1, 10**9])]
)
@pytest.mark.parametrize("precision", [64, 96, 160])
def test_weights_of_the_buckets_enclose_the_law(levels: list[int], counts: list[int], precision: int) -> None:
    """What the table is built from: each weight within the error it states, and all that is left out in the tail."""
    known = _bucket_table(levels, counts)._weights(precision)
    with mp.workprec(precision + 64):
        exact = [count * mp.exp(-level) * mp.mpf(2) ** precision for level, count in zip(levels, counts, strict=True)]
        for lower, weight in zip(known.lower, exact, strict=False):
            assert lower <= weight <= lower + known.error
        assert sum(exact[len(known.lower) :]) <= known.tail
