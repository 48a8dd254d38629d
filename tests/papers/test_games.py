"""The composition games: distributions, losses, refusals, and what the filters promise about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import numpy as np
import pytest

from holdfast.accounting import (
    BasicFilter,
    RenyiCurveFilter,
    RogersFilter,
    WhitehouseFilter,
    ZCDPFilter,
    default_filter,
)
from holdfast.accounting.costs import ApproxDP, Cost, PureDP
from holdfast.errors import InvalidParameter
from holdfast_papers.accounting import games
from holdfast_papers.accounting.adversaries import Repeat, StoppingTime, TwoSpeeds, thesis_boundary
from holdfast_papers.accounting.finite import Law, RandomizedResponse, Tabled, behind, loss, spent_delta
from holdfast_papers.accounting.views import all_views, game_delta
from holdfast_papers.binomial import agrees


class Liar:
    """Declares half of the epsilon that it spends."""

    epsilon = 0.25
    delta = 0.0

    def law(self, record: Hashable) -> Law:
        return RandomizedResponse(0.5).law(record)


class SumOfEpsilons:
    """The basic filter in three lines, so that the games are tested apart from the accounting."""

    def __init__(self, budget: float) -> None:
        self.left = budget

    def admits(self, cost: Cost) -> bool:
        assert isinstance(cost, PureDP)
        return cost.epsilon <= self.left + 1e-12

    def spend(self, cost: Cost) -> None:
        assert isinstance(cost, PureDP)
        self.left -= cost.epsilon


def _random_pair(rng: np.random.Generator, outputs: int) -> tuple[Law, Law]:
    return rng.dirichlet(np.ones(outputs)), rng.dirichlet(np.ones(outputs))


def test_randomized_response_is_as_private_as_it_says_and_no_more() -> None:
    for epsilon, delta in [(0.1, 0.0), (1.0, 0.0), (0.5, 0.01), (2.0, 0.3)]:
        p, q = (RandomizedResponse(epsilon, delta).law(b) for b in (0, 1))
        assert p.sum() == pytest.approx(1, abs=1e-15)
        assert spent_delta(p, q, epsilon) == pytest.approx(delta, abs=1e-15)
        assert spent_delta(p, q, epsilon * 0.9) > delta + 1e-6


def test_every_private_pair_is_randomised_response_and_a_channel() -> None:
    """Theorem 5.2.2 by our construction, on random pairs of distributions at the exact delta of several epsilons."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        p, q = _random_pair(rng, int(rng.integers(2, 7)))
        for epsilon in (0.0, 0.1, 0.7, 2.0):
            for spare in (0.0, 0.05):
                delta = min(spent_delta(p, q, epsilon) + spare, 0.999)
                channel = behind(p, q, epsilon, delta)
                response = RandomizedResponse(epsilon, delta)
                assert (channel >= 0).all()
                np.testing.assert_allclose(channel.sum(axis=1), 1, rtol=1e-12)
                np.testing.assert_allclose(response.law(0) @ channel, p, atol=1e-9)
                np.testing.assert_allclose(response.law(1) @ channel, q, atol=1e-9)


def test_a_pair_that_is_not_private_has_no_channel() -> None:
    with pytest.raises(InvalidParameter, match="as close as"):
        behind(np.array([0.9, 0.1]), np.array([0.1, 0.9]), 0.5, 0.0)


def test_losses() -> None:
    p, q = (RandomizedResponse(0.5, 0.1).law(b) for b in (0, 1))
    assert [loss(p, q, y) for y in range(4)] == [math.inf, pytest.approx(0.5), pytest.approx(-0.5), -math.inf]


def test_loss_of_a_view_is_the_log_ratio_of_its_probabilities() -> None:
    for weighed in all_views(TwoSpeeds(RandomizedResponse(0.7), RandomizedResponse(0.2)), 6):
        assert weighed.view.loss == pytest.approx(math.log(weighed.on_zero / weighed.on_one), abs=1e-12)


def test_adaptive_and_simulated_games_have_one_law() -> None:
    """Algorithm 5 against Algorithm 3: frequencies of all 27 views of three rounds, each at error 1e-6 / 27."""
    mechanism = Tabled(0.6, 0.02, {"x": (0.5, 0.3, 0.2), "y": (0.35, 0.3, 0.35)})
    assert spent_delta(mechanism.law("x"), mechanism.law("y"), 0.6) <= 0.02
    adversary = Repeat(mechanism, ("x", "y"))  # type: ignore[arg-type]
    trials = 1500
    exact = {tuple(r.output for r in w.view.rounds): (w.on_zero, w.on_one) for w in all_views(adversary, 3)}
    for bit in (0, 1):
        for play in (games.adaptive_parameters, games.simulated):
            rng = np.random.default_rng(6 + bit)
            seen = [tuple(r.output for r in play(adversary, 3, bit, rng).rounds) for _ in range(trials)]
            for view, probabilities in exact.items():
                assert agrees(seen.count(view), trials, probabilities[bit], 1e-6 / 27)
    wrong = [tuple(r.output for r in games.simulated(adversary, 3, 1, rng).rounds) for _ in range(trials)]
    rejected = [not agrees(wrong.count(view), trials, weights[0], 1e-6 / 27) for view, weights in exact.items()]
    assert any(rejected), "the same test must tell the two bits apart"


def test_simulated_losses_are_those_of_randomised_response() -> None:
    view = games.simulated(Repeat(RandomizedResponse(0.3)), 50, 0, np.random.default_rng(7))
    assert {round(abs(r.loss), 12) for r in view.rounds} == {0.3}


def test_fixed_parameters_are_enforced() -> None:
    rng = np.random.default_rng(8)
    view = games.fixed_parameters(Repeat(RandomizedResponse(0.1)), [(0.1, 0.0), (0.5, 0.0)], 0, rng)
    assert len(view.rounds) == 2
    with pytest.raises(InvalidParameter, match=r"move 2 must be \(0.05, 0\)-private"):
        games.fixed_parameters(Repeat(RandomizedResponse(0.1)), [(0.1, 0.0), (0.05, 0.0)], 0, rng)


@pytest.mark.parametrize("play", [games.adaptive_parameters, games.simulated])
def test_a_mechanism_that_lies_is_caught(play: object) -> None:
    with pytest.raises(InvalidParameter, match="as its mechanism declares"):
        play(Repeat(Liar()), 3, 0, np.random.default_rng(9))  # type: ignore[operator]


def test_bits_and_rounds_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="bit"):
        games.adaptive_parameters(Repeat(RandomizedResponse(0.1)), 3, 2, np.random.default_rng(1))
    with pytest.raises(InvalidParameter, match="rounds"):
        games.adaptive_parameters(Repeat(RandomizedResponse(0.1)), -1, 0, np.random.default_rng(1))


def test_filter_is_asked_with_the_cost_included_and_its_refusal_ends_the_game() -> None:
    view = games.filtered(Repeat(RandomizedResponse(0.3)), 10, 0, SumOfEpsilons(1.0), np.random.default_rng(10))
    assert len(view.rounds) == 3
    assert view.halted


def test_filtered_game_is_private_exactly() -> None:
    adversary = TwoSpeeds(RandomizedResponse(0.4), RandomizedResponse(0.15))
    views = all_views(adversary, 8, lambda: SumOfEpsilons(1.0))
    assert game_delta(views, 1.0) <= 1e-12
    assert game_delta(all_views(adversary, 8), 1.0) > 1e-3, "without the filter the same adversary spends more"


@pytest.mark.parametrize(
    "make",
    [
        lambda: BasicFilter(1.0),
        lambda: WhitehouseFilter(1.0, 1e-3),
        lambda: RogersFilter(1.0, 1e-3),
        lambda: ZCDPFilter.from_dp(1.0, 1e-3),
        lambda: RenyiCurveFilter(1.0, 1e-3),
        lambda: default_filter(1.0, 1e-3),
    ],
    ids=["basic", "whitehouse", "rogers", "zcdp", "renyi-curve", "default"],
)
def test_filters_of_the_library_keep_their_promise_exactly(make: Callable[[], games.Gate]) -> None:
    """Algorithm 4 with an adversary who speeds up when ahead; all views of ten rounds, no sampling."""
    adversary = TwoSpeeds(RandomizedResponse(0.2), RandomizedResponse(0.1))
    views = all_views(adversary, 10, make)
    assert math.fsum(w.on_zero for w in views) == pytest.approx(1, abs=1e-12)
    assert game_delta(views, 1.0) <= 1e-3
    assert any(w.view.halted for w in views) or len(views[0].view.rounds) == 10
    unfiltered = all_views(TwoSpeeds(RandomizedResponse(0.6), RandomizedResponse(0.3)), 8)
    assert game_delta(unfiltered, 1.0) > 1e-3, "power: without a filter the promise is broken"
    gated = all_views(TwoSpeeds(RandomizedResponse(0.6), RandomizedResponse(0.3)), 8, make)
    assert game_delta(gated, 1.0) <= 1e-3


def test_costs_of_moves() -> None:
    assert games.Move((0, 1), RandomizedResponse(0.1)).cost == PureDP(0.1)
    assert games.Move((0, 1), RandomizedResponse(0.1, 0.01)).cost == ApproxDP(0.1, 0.01)


def test_stopping_time_stops_at_once_when_it_is_ahead() -> None:
    adversary = StoppingTime(0.1, lambda i: 0.0)
    for seed in range(30):
        view = games.adaptive_parameters(adversary, 200, 0, np.random.default_rng(seed))
        losses = [r.total for r in view.rounds]
        assert all(total <= 1e-12 for total in losses[:-1])
        assert view.loss == pytest.approx(0.1) or len(view.rounds) == 200


def test_thesis_boundary_is_advanced_composition_at_the_matching_constant() -> None:
    epsilon, delta, rounds = 0.01, 0.05, 10_000
    c = math.sqrt(2 * math.log(1 / delta) / math.log(math.log(rounds) / delta))
    boundary = thesis_boundary(epsilon, delta, c, rounds)
    for i in (1, 100, 10_000):
        advanced = i * epsilon * math.tanh(epsilon / 2) + epsilon * math.sqrt(2 * i * math.log(1 / delta))
        assert boundary(i) == pytest.approx(advanced, rel=1e-12)
