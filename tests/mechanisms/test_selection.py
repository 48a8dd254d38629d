from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from holdfast.accounting.costs import ZCDP
from holdfast.bounds import catalogue
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.mechanisms import Selection
from holdfast.mechanisms.selection import METHODS
from holdfast.noise import Grid, Seeded
from tests.mechanisms.statistics import fits
from tests.mechanisms.zoo import below, pmf

STEP = 3
Law = npt.NDArray[np.float64]


def exact_law(method: str, scores: tuple[int, ...], scale: int) -> Law:
    """The distribution of the selected place, from the mechanism's definition."""
    m, best = len(scores), max(scores)
    if method == "exponential":
        weight = np.exp([(s - best) / scale for s in scores])
        return np.asarray(weight / weight.sum())
    if method == "permute-and-flip":
        chance = np.zeros(m)
        coins = [math.exp((s - best) / scale) for s in scores]
        for heads in itertools.product((0, 1), repeat=m):
            if any(heads):
                p = math.prod(c if h else 1 - c for c, h in zip(coins, heads, strict=True))
                chance += p * np.array(heads) / sum(heads)
        return chance
    reach = math.ceil(60 * scale) + max(scores) - min(scores)
    noise = np.arange(-reach, reach + 1)
    if method == "laplace":
        mass, at_most = pmf(scale, noise), lambda k: below(scale, k)
    else:
        mass = np.where(noise >= 0, -math.expm1(-1 / scale) * np.exp(-np.maximum(noise, 0) / scale), 0.0)

        def at_most(k: Any) -> Any:
            return np.where(k >= 0, -np.expm1(-(np.maximum(k, 0) + 1) / scale), 0.0)

    chance = np.zeros(m)
    for i in range(m):  # ties are broken uniformly: sum over how many others tie
        level = noise + scores[i]
        others = [(at_most(level - scores[j]) - at_most(level - scores[j] - 1), at_most(level - scores[j] - 1))
                  for j in range(m) if j != i]  # fmt: skip
        share = np.zeros(len(noise))
        for tied in itertools.product((0, 1), repeat=m - 1):
            p = np.ones(len(noise))
            for (equal, less), t in zip(others, tied, strict=True):
                p = p * (equal if t else less)
            share += p / (1 + sum(tied))
        chance[i] = float((mass * share).sum())
    return chance


def neighbours(scores: tuple[int, ...], monotone: bool) -> list[tuple[int, ...]]:
    moves = (0, STEP) if monotone else (-STEP, 0, STEP)
    return [tuple(np.add(scores, shift).tolist()) for shift in itertools.product(moves, repeat=len(scores))]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("monotone", [False, True])
class TestExactLaw:
    def test_no_neighbour_exceeds_epsilon(self, method: Any, monotone: bool) -> None:
        mechanism = Selection(STEP, 0.8, method, monotone, Grid(0))
        scale = mechanism.law.scale_steps
        limit = (1 if monotone else 2) * STEP / scale
        assert limit <= 0.8
        worst = 0.0
        for scores in ((0, 0, 0), (0, 5, 9), (0, 20, 40)):
            law = exact_law(method, scores, scale)
            assert law.sum() == pytest.approx(1, abs=1e-9)
            for moved in neighbours(scores, monotone):
                worst = max(worst, float(np.abs(np.log(law / exact_law(method, moved, scale))).max()))
        assert worst <= limit + 1e-9
        assert worst > 0.6 * limit

    def test_sampled_law(self, method: Any, monotone: bool) -> None:
        mechanism, source = Selection(STEP, 0.8, method, monotone, Grid(0)), Seeded(1)
        scores = (0, 5, 9)
        law = dict(enumerate(exact_law(method, scores, mechanism.law.scale_steps).tolist()))
        draws = [mechanism.release(scores, source) for _ in range(4000)]
        assert fits(draws, law)
        wrong = dict(enumerate(exact_law(method, scores, 2 * mechanism.law.scale_steps).tolist()))
        assert not fits(draws, wrong)

    def test_gap(self, method: Any, monotone: bool) -> None:
        mechanism = Selection(STEP, 0.8, method, monotone, Grid(0))
        scale = mechanism.law.scale_steps
        for beta in (0.3, 0.01):
            gap = mechanism.gap(beta, 4)
            tightest = 0.0
            for worse in range(math.floor(gap) + 1, math.floor(gap) + 1 + scale):  # further off is rarer still
                scores = (0, -worse, -worse, -worse)
                tightest = max(tightest, float(exact_law(method, scores, scale)[1:].sum()))
            assert tightest <= beta


def test_monotone_scale_is_too_small_for_other_scores() -> None:
    mechanism = Selection(STEP, 0.8, "exponential", monotone=True, grid=Grid(0))
    scale = mechanism.law.scale_steps
    law, moved = (exact_law("exponential", s, scale) for s in ((-9, 3), (-9 + STEP, 3 - STEP)))
    assert np.abs(np.log(law / moved)).max() > 1.2


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        scores = tuple(rng.integers(0, 30, 4).tolist())
        flip, exponential = (exact_law(m, scores, 5) for m in ("permute-and-flip", "exponential"))
        assert float(flip @ scores) >= float(exponential @ scores) - 1e-9


class TestConcentratedCost:
    def test_holds_for_exact_laws_and_is_nearly_attained(self) -> None:
        epsilon = 1.0
        mechanism = Selection(STEP, epsilon, "exponential", grid=Grid(0))
        assert mechanism.concentrated_cost == ZCDP(0.125)
        rho, closest = mechanism.concentrated_cost.rho, 0.0
        for scores in itertools.product((0, 2, 6, 12), repeat=2):
            law = exact_law("exponential", scores, mechanism.law.scale_steps)
            for moved in neighbours(scores, False):
                other = exact_law("exponential", moved, mechanism.law.scale_steps)
                for order in (1.01, 2.0, 10.0):
                    divergence = math.log(float((law**order * other ** (1 - order)).sum())) / (order - 1)
                    assert divergence <= rho * order * (1 + 1e-9)
                    closest = max(closest, divergence / (rho * order))
        assert closest > 0.9

    def test_randomized_response_of_the_same_epsilon_breaks_it(self) -> None:
        p = np.array([math.e, 1]) / (1 + math.e)
        assert float((p * np.log(p / p[::-1])).sum()) > 0.125 * 3

    @pytest.mark.parametrize("method", ["permute-and-flip", "geometric", "laplace"])
    def test_is_refused_for_other_methods(self, method: Any) -> None:
        with pytest.raises(GuaranteeUnavailable, match=method):
            _ = Selection(1, 1, method).concentrated_cost


def test_says_what_it_is_and_refuses_wrong_input() -> None:
    mechanism = Selection(0.001, 0.5)
    assert mechanism.guarantee.theorem in catalogue()
    assert "one direction" in Selection(1, 1, monotone=True).guarantee.assumption
    assert mechanism.release([0.5]) == 0
    for wrong in ([], [[0.731]], [float("nan"), 0.731], "0.731", 0.731):
        with pytest.raises(InvalidParameter) as caught:
            mechanism.release(wrong)
        assert "731" not in str(caught.value)
    for build, message in (
        (lambda: Selection(1, 1, "gumbel"), "method must be one of"),  # type: ignore[arg-type]
        (lambda: Selection(1, 1, monotone=1), "monotone must be True or False"),  # type: ignore[arg-type]
        (lambda: Selection(1, 0), "epsilon"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            build()
