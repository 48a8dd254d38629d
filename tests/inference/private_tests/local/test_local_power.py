"""Power against the specification's section 5.7, against simulation, and its inverses; which randomizer wins."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import local
from holdfast.inference.private_tests.null_models import HardyWeinberg, Independence
from holdfast.inference.private_tests.planning import sample_size
from holdfast.mechanisms.local import OneHotGaussian, OneHotLaplace, RandomizedResponse
from tests.inference.private_tests.local.levels import randomizers

U4, S4, U40 = np.full(4, 0.25), np.array([1 / 2, 1 / 6, 1 / 6, 1 / 6]), np.full(40, 1 / 40)
D4, D_S4 = 0.01 * np.array([1, -1, -1, 1]), 0.01 * np.array([1, -1 / 3, -1 / 3, -1 / 3])
D40 = 0.005 * np.tile([1, -1], 20)
TRIALS = 20_000


def near(a: float, b: float, trials: int, other: int = 0) -> bool:
    """Whether two shares agree, at 1e-6; `other` is the number of trials behind `b`, 0 where it is a formula."""
    spread = math.sqrt(max(b * (1 - b), 0.002) * (1 / trials + (1 / other if other else 0)))
    return abs(a - b) <= 4.9 * spread


#: Section 5.7: 4,000 trials each. Laplace there had one threshold for all trials, which moves its power by .03.
TABLE = [
    (U4, D4, 1, 50_000, (0.604, 0.432, 0.717, 0.249)),
    (U4, D4, 2, 10_000, (0.511, 0.305, 0.480, 0.188)),
    (U4, D4, 4, 10_000, (0.893, 0.727, 0.801, 0.448)),
    (S4, D_S4, 2, 50_000, (0.650, 0.472, 0.664, 0.279)),
    (U40, D40, 1, 50_000, (0.106, 0.373, 0.743, 0.167)),
    (U40, D40, 2, 20_000, (0.474, 0.639, 0.946, 0.304)),
    (U40, D40, 4, 2_000, (0.781, 0.283, 0.397, 0.120)),
]


@pytest.mark.parametrize(("p0", "delta", "epsilon", "n", "reference"), TABLE)
def test_section_5_7(p0: Any, delta: Any, epsilon: float, n: int, reference: tuple[float, ...]) -> None:
    rng = np.random.default_rng(1)
    for randomizer, measured in zip(randomizers(p0.size, epsilon), reference, strict=True):
        sums = local.simulate_sums(n, p0 + delta, randomizer, TRIALS, rng)
        ours = float(local.gof_batch(sums, n, p0, randomizer).mean())
        formula = local.power(randomizer, p0, p0 + delta, n).power
        slack = 0.04 if isinstance(randomizer, OneHotLaplace) else 0.0
        assert near(ours, measured, TRIALS, 4000) or abs(ours - measured) < slack
        assert abs(ours - formula) < 0.012 + 4.9 * math.sqrt(0.25 / TRIALS)
        # Wrong on purpose: the power of half the people is refuted.
        assert not near(ours, local.power(randomizer, p0, p0 + delta, n // 2).power, TRIALS)


@pytest.mark.parametrize(
    ("epsilon", "reference"), [(1, (0.578, 0.648, 0.226)), (2, (0.991, 0.988, 0.619)), (4, (1.0, 1.0, 0.978))]
)
def test_section_5_7_independence(epsilon: float, reference: tuple[float, ...]) -> None:
    n, table = 5000, 0.25 + 0.025 * np.array([[1, -1], [-1, 1]])
    rng, model = np.random.default_rng(2), Independence(2, 2)
    vote, flips, gauss, laplace = randomizers(4, epsilon)
    for randomizer, measured in zip((vote, gauss, laplace, flips), (*reference, None), strict=True):
        sums = local.simulate_sums(n, table.ravel(), randomizer, 5000, rng)
        ours = float(local.general_batch(sums, n, model, randomizer).mean())
        slack = 0.045 if randomizer is laplace else 0.0
        assert measured is None or near(ours, measured, 5000, 4000) or abs(ours - measured) < slack
        formula = local.independence_power(randomizer, table, n).power
        assert abs(ours - formula) < 0.012 + 4.9 * math.sqrt(0.25 / 5000)


def test_the_covariance_at_the_alternative_is_right_where_a_small_cell_empties() -> None:
    p0, p1, n = np.array([0.02, 0.08, 0.9]), np.array([0.005, 0.095, 0.9]), 400
    noise, rng = OneHotGaussian(3, 100), np.random.default_rng(3)
    sums = local.simulate_sums(n, p1, noise, 100_000, rng)
    ours = float(local.gof_batch(sums, n, p0, noise).mean())
    assert abs(local.power(noise, p0, p1, n).power - ours) < 0.012
    assert abs(local.power(noise, p0, p1, n, at="null").power - ours) > 0.025


def test_two_randomized_responses_against_a_pair() -> None:
    half, table = np.array([0.5, 0.5]), 0.25 + 0.025 * np.array([[1, -1], [-1, 1]])
    coin = RandomizedResponse(2, 2)
    each = local.separate_noncentrality(coin, coin, table)
    a = local.channel_of(coin)
    shown = np.outer(a.shown(half), a.shown(half))  # type: ignore[attr-defined]
    moved = shown + a.contrast**2 * (table - 0.25)  # type: ignore[attr-defined]
    rng, n = np.random.default_rng(4), 20_000
    tables = rng.multinomial(n, moved.ravel(), size=2000).reshape(-1, 2, 2)
    ours = np.mean([local.separate_independence(t, coin, coin).reject for t in tables])
    from scipy.stats import chi2, ncx2

    assert near(float(ours), float(ncx2.sf(chi2.isf(0.05, 1), 1, n * each)), 2000)
    pair = local.independence_noncentrality(RandomizedResponse(4, 4), table)
    assert pair > 2 * each  # the same epsilon in all, spent on the pair


@pytest.mark.parametrize("target", [0.2, 0.8, 0.99])
def test_planners_invert_power(target: float) -> None:
    table = 0.25 + 0.025 * np.array([[1, -1], [-1, 1]])
    for randomizer in randomizers(4, 1.0):
        n = int(sample_size(local.power, target, randomizer=randomizer, p0=U4, p1=U4 + D4).value)
        assert local.power(randomizer, U4, U4 + D4, n).power >= target
        assert local.power(randomizer, U4, U4 + D4, n - 1).power < target
        n = int(sample_size(local.independence_power, target, randomizer=randomizer, p=table).value)
        assert local.independence_power(randomizer, table, n).power >= target
        assert local.independence_power(randomizer, table, n - 1).power < target


def test_other_models() -> None:
    vote, n, rng = RandomizedResponse(3, 2), 5000, np.random.default_rng(6)
    truth = np.array([0.52, 0.36, 0.12])
    sums = local.simulate_sums(n, truth, vote, 5000, rng)
    ours = float(local.general_batch(sums, n, HardyWeinberg(), vote).mean())
    found = local.model_power(vote, HardyWeinberg(), truth, n)
    assert abs(ours - found.power) < 0.012 + 4.9 * math.sqrt(0.25 / 5000)
    each = local.model_noncentrality(vote, HardyWeinberg(), truth)
    assert local.model_power(vote, HardyWeinberg(), truth, n, at="null").noncentrality == pytest.approx(n * each)
    assert local.power(RandomizedResponse(3, 9), [0.98, 0.01, 0.01], truth, 50).warnings


@given(d=st.integers(2, 300), epsilon=st.floats(0.05, 7))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_crossovers_say_who_wins(d: int, epsilon: float) -> None:
    limit = local.crossovers(epsilon)
    pure = local.which_randomizer(d, epsilon)
    loose = local.which_randomizer(d, epsilon, promise="zcdp")
    place = {kind: i for i, kind in enumerate(loose.kinds)}
    for kind, most in (("bit-flip", limit.bit_flip), ("gaussian", limit.gaussian), ("laplace", limit.laplace)):
        if abs(d - most) > 1e-6 * most:
            assert (place["randomized-response"] < place[kind]) == (d < most)
    assert place["bit-flip"] < place["laplace"]
    if abs(epsilon - 5.9657) > 1e-3:
        assert (place["bit-flip"] < place["gaussian"]) == (epsilon > 5.9657)
    assert pure.winner == ("randomized-response" if d < limit.bit_flip else "bit-flip")
    assert pure.people[0] == 1.0
    assert list(pure.people) == sorted(pure.people)
    assert "gaussian" not in pure.kinds


def test_the_choice_of_a_randomizer_as_plain_data() -> None:
    found = local.which_randomizer(3, 1)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["kinds"] == list(found.kinds)
    assert plain["information"] == sorted(found.information, reverse=True)
    assert plain["people"] == [plain["information"][0] / each for each in plain["information"]]
    assert plain["people"][0] == 1


def test_the_worst_direction_is_worst() -> None:
    p0, rng = np.array([0.7, 0.2, 0.1]), np.random.default_rng(5)
    worst = local.which_randomizer(3, 1, p0=p0)
    for _ in range(50):
        delta = rng.normal(size=3)
        delta = delta - delta.mean()
        delta /= np.linalg.norm(delta)
        given_ = local.which_randomizer(3, 1, p0=p0, delta=delta)
        for kind, low in zip(worst.kinds, worst.information, strict=True):
            assert given_.information[given_.kinds.index(kind)] >= low * (1 - 1e-9)
    uniform = local.which_randomizer(3, 1, p0=[1 / 3, 1 / 3, 1 / 3 + 1e-13])
    assert uniform.information == pytest.approx(local.which_randomizer(3, 1).information, rel=1e-6)


def test_wrong_input() -> None:
    vote = RandomizedResponse(4, 1)
    with pytest.raises(InvalidParameter, match="the same number of categories"):
        local.power(vote, U4, [0.5, 0.5], 100)
    with pytest.raises(InvalidParameter, match="one entry per category"):
        local.noncentrality(vote, U4, [0.5, 0.5])
    with pytest.raises(InvalidParameter, match="sum to 1"):
        local.power(vote, U4, [0.5, 0.5, 0.5, 0.5], 100)
    with pytest.raises(InvalidParameter, match="at least 2 by 2"):
        local.independence_noncentrality(vote, [0.25] * 4)
    with pytest.raises(InvalidParameter, match="rows of equal length"):
        local.independence_noncentrality(vote, [[0.5], [0.25, 0.25]])
    with pytest.raises(InvalidParameter, match="a sum above 0"):
        local.independence_noncentrality(vote, [[0.5, 0.5], [0, 0]])
    with pytest.raises(InvalidParameter, match="the same number of categories"):
        local.independence_noncentrality(RandomizedResponse(5, 1), [[0.25, 0.25], [0.25, 0.25]])
    with pytest.raises(InvalidParameter, match="as many categories"):
        local.separate_noncentrality(vote, vote, [[0.25, 0.25], [0.25, 0.25]])
    with pytest.raises(InvalidParameter, match="delta"):
        local.which_randomizer(3, 1, delta=[1, 1, 1])
    with pytest.raises(InvalidParameter, match="epsilon"):
        local.crossovers(0)
    with pytest.raises(InvalidParameter, match="one group"):
        local.model_noncentrality(RandomizedResponse(3, 1), 3, [0.5, 0.5, 0])  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="at must be"):
        local.power(vote, U4, U4 + D4, 100, at="both")  # type: ignore[arg-type]
