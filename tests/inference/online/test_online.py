"""Online streams: the online-fdr package as oracle, properties, and simulations that try to break the claim."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from online_fdr.p_values.investing.addis.addis import Addis as PeerAddis
from online_fdr.p_values.investing.lord.plus_plus import LordPlusPlus as PeerLord
from online_fdr.p_values.investing.saffron.saffron import Saffron as PeerSaffron
from online_fdr.p_values.spending.alpha_spending import AlphaSpending as PeerSpending
from online_fdr.p_values.spending.functions.lord_three import LordThree

from holdfast.errors import InvalidParameter
from holdfast.inference.online import LORD, SAFFRON, Addis, AlphaSpending, Discount, LordPlusPlus, Saffron, Stream
from holdfast.inference.online.discount import BLOCK, FARTHEST, Memory, power_law

ALL: list[Callable[[], Stream]] = [
    lambda: Saffron(0.05),
    lambda: LordPlusPlus(0.05),
    lambda: Addis(0.05),
    lambda: AlphaSpending(0.05),
]


def mixed(seed: int, size: int, signals: float) -> list[float]:
    rng = np.random.default_rng(seed)
    p = rng.random(size)
    p[rng.random(size) < signals] *= 1e-5
    return [float(x) for x in p]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda: Saffron(0.05), lambda: PeerSaffron(0.05, 0.025, 0.5)),
        (lambda: Saffron(0.2, 0.03, 0.3), lambda: PeerSaffron(0.2, 0.03, 0.3)),
        (lambda: LordPlusPlus(0.05), lambda: PeerLord(0.05, 0.025)),
        (lambda: LordPlusPlus(0.1, 0.01), lambda: PeerLord(0.1, 0.01)),
        (lambda: Addis(0.05), lambda: PeerAddis(0.05, 0.025, 0.25, 0.5)),
        (lambda: AlphaSpending(0.05), lambda: PeerSpending(0.05, LordThree(1500))),
    ],
)
@pytest.mark.parametrize("signals", [0.0, 0.05, 0.5])
def test_levels_are_those_of_online_fdr(ours: Any, theirs: Any, signals: float) -> None:
    stream, peer = ours(), theirs()
    for p in mixed(7, 1500, signals):
        level = stream.level
        assert stream.test(p).rejected is peer.test_one(p)
        assert level == pytest.approx(peer.last_test_level, rel=1e-12, abs=0)


@pytest.mark.parametrize("discount", [LORD, SAFFRON, power_law(1.1), power_law(2.0), power_law(3.0)])
def test_exponentials_are_the_sequence(discount: Discount) -> None:
    weights, rates = discount.exponentials(BLOCK)
    for age in np.unique(np.geomspace(BLOCK + 1, FARTHEST, 200).astype(np.int64)):
        assert float((weights * np.exp(-rates * age)).sum()) == pytest.approx(discount.value(int(age)), rel=1e-12)
    assert weights.size < 250


def test_constants() -> None:
    mp = pytest.importorskip("mpmath")
    with mp.workdps(30):
        assert mp.mpf("0.4374901658") * mp.zeta(mp.mpf("1.6")) - 1 == pytest.approx(5.8e-11, rel=0.01)

        def f(j: Any) -> Any:
            return mp.log(j) / (j * mp.exp(mp.sqrt(mp.log(j))))

        end = 2000
        v = mp.sqrt(mp.log(end))
        tail = 2 * (v**3 + 3 * v**2 + 6 * v + 6) * mp.exp(-v) + f(end) / 2 - mp.diff(f, end) / 12
        total = mp.log(2) + mp.fsum(f(mp.mpf(j)) for j in range(2, end)) + tail
        assert float(1 / total) == pytest.approx(0.0790819667, abs=5e-10)
        assert float(total) * 0.07720838 == pytest.approx(0.976308, abs=1e-6)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 300), st.floats(0, 1)), max_size=30), st.sampled_from([LORD, SAFFRON]))
def test_memory_is_the_sum_over_history(steps: list[tuple[int, float]], discount: Discount) -> None:
    memory, events, now = Memory(discount), [], 1
    for ages, reward in steps:
        memory.add(reward)
        events.append((now, reward))
        for _ in range(ages):
            memory.age()
        now += ages
        direct = math.fsum(w * discount.value(now - then + 1) for then, w in events)
        assert memory.value == pytest.approx(direct, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("make", ALL)
def test_state_round_trips_exactly(make: Callable[[], Stream]) -> None:
    p_values = mixed(3, 900, 0.1)
    whole, cut = make(), make()
    cut.test_all(p_values[:777])
    again = type(cut).from_state(json.loads(json.dumps(cut.state())))
    assert [*cut.test_all([])] == []
    rest = again.test_all(p_values[777:])
    assert whole.test_all(p_values)[777:] == rest
    assert (again.tests, again.rejections, again.wealth) == (whole.tests, whole.rejections, whole.wealth)
    other = LordPlusPlus if not isinstance(cut, LordPlusPlus) else Saffron
    for wrong in (None, {}, cut.state() | {"version": 2}, cut.state() | {"tests": -1}, cut.state() | {"memory": {}}):
        with pytest.raises(InvalidParameter):
            type(cut).from_state(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        other.from_state(cut.state())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": [0.05]}, "parameters and the discount of a stored stream must be dicts"),
        ({"discount": "lord"}, "parameters and the discount of a stored stream must be dicts"),
        ({"parameters": {"level": 0.05}}, "has parameters that do not fit"),
        ({"discount": {"shape": "lord"}}, "has parameters that do not fit"),
    ],
)
@pytest.mark.parametrize("make", ALL)
def test_a_changed_stream_is_not_read_back(make: Callable[[], Stream], change: dict[str, Any], message: str) -> None:
    stream = make()
    stream.test_all([0.2, 0.001])
    with pytest.raises(InvalidParameter, match=message):
        type(stream).from_state(stream.state() | change)
    assert type(stream).from_state(stream.state()).alpha == stream.alpha == 0.05


@pytest.mark.parametrize("part", ["recent", "far"])
@pytest.mark.parametrize("kind", [Saffron, LordPlusPlus, Addis])
def test_a_memory_of_another_size_is_not_read_back(kind: type[Stream], part: str) -> None:
    state = kind(0.05).state()  # type: ignore[call-arg]
    state["memory"][part] = state["memory"][part][1:]
    with pytest.raises(InvalidParameter, match="as many numbers as this discount needs"):
        kind.from_state(state)


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("signals", [0.0, 0.02, 0.9])
def test_wealth_is_never_negative_and_levels_are_predictable(make: Callable[[], Stream], signals: float) -> None:
    stream = make()
    for p in mixed(11, 2000, signals):
        level = stream.level
        decision = stream.test(p)
        assert decision.level == level
        assert 0 <= level < 1
        assert decision.rejected is (p <= level)
        assert stream.wealth >= 0
    assert stream.tests == 2000


def test_spent_never_exceeds_what_was_earned() -> None:
    """Without the floor at 0: the sum of discounts is at most 1 (and 6e-11), so the wealth itself is not negative."""
    stream = Saffron(0.05)
    for p in [0.9] * 30_000:
        stream.test(p)
    assert stream._spent <= 0.025 * (1 + 1e-10)
    assert stream.wealth == pytest.approx(0.025 - stream._spent)


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), "0.1", None, True])
def test_wrong_p_changes_nothing(make: Callable[[], Stream], wrong: Any) -> None:
    stream = make()
    stream.test_all([0.2, 0.001])
    before = stream.state()
    with pytest.raises(InvalidParameter, match="p"):
        stream.test(wrong)
    with pytest.raises(InvalidParameter, match=r"p_values\[1\]"):
        stream.test_all([0.3, wrong])
    assert stream.state() == before


def test_wrong_parameters() -> None:
    for wrong in (
        lambda: Saffron(0.0),
        lambda: Saffron(0.05, 0.05),
        lambda: Saffron(0.05, candidate=1.0),
        lambda: Addis(0.05, candidate=0.5, discard=0.5),
        lambda: LordPlusPlus(1.5),
        lambda: AlphaSpending(0.05, discount=0.5),  # type: ignore[arg-type]
        lambda: power_law(1.0),
        lambda: Discount("power", 0.9, 1.6),
        lambda: Discount("lord", 0.08),
    ):
        with pytest.raises(InvalidParameter):
            wrong()


def test_false_discovery_rate_and_its_power() -> None:
    """1,200 streams of 100 tests, 1 in 4 a signal: the mean false discovery share stays below alpha.

    The share lies in [0, 1], so by Hoeffding's inequality the mean of true claims exceeds the limit with probability at
    most 1e-6. A stream that forgets to age its rewards is rejected by the same test.
    """
    alpha, streams = 0.2, 1200
    rng = np.random.default_rng(5)
    shares = {"saffron": 0.0, "lord": 0.0, "broken": 0.0}
    for _ in range(streams):
        null = rng.random(100) > 0.25
        p = np.where(null, rng.random(100), rng.random(100) * 1e-3).tolist()
        for name, stream in (("saffron", Saffron(alpha)), ("lord", LordPlusPlus(alpha)), ("broken", _broken(alpha))):
            rejected = np.array([d.rejected for d in stream.test_all(p)])
            shares[name] += (rejected & null).sum() / max(rejected.sum(), 1)
    limit = alpha + math.sqrt(math.log(1e6) / (2 * streams))
    assert shares["saffron"] / streams <= limit
    assert shares["lord"] / streams <= limit
    assert shares["broken"] / streams > limit


def _broken(alpha: float) -> Saffron:
    stream = Saffron(alpha)
    stream._memory.age = lambda: None  # type: ignore[method-assign]
    return stream


@pytest.mark.parametrize("exponent", [1.001, 1.1, 1.6, 2.0, 3.0])
def test_levels_are_never_larger_than_the_sequence_by_more_than_rounding(exponent: float) -> None:
    """One side of the approximation: a level that is too large would be paid for by the false discovery rate."""
    discount = power_law(exponent)
    weights, rates = discount.exponentials(BLOCK)
    ages = np.unique(np.logspace(np.log10(BLOCK + 1), 14, 400).astype(np.int64))
    for age in ages:
        found = float((weights * np.exp(-rates * float(age))).sum())
        assert 0 <= found <= discount.value(int(age)) * (1 + 1e-12)


def test_steep_power_laws_are_refused() -> None:
    for make in (lambda: power_law(3.5), lambda: Discount("power", 0.1, 10.0)):
        with pytest.raises(InvalidParameter, match="exponent"):
            make()


def test_a_p_value_at_the_threshold_is_a_candidate() -> None:
    """`p <= candidate` in the paper: rewards do not age, nothing is spent; likewise `p <= discard` is not discarded."""
    stream = Saffron(0.05)
    before = stream.level
    stream.test(0.5)
    assert (stream.level, stream.wealth) == (before, 0.025)
    kept = Addis(0.05)
    kept.test(0.5)
    assert kept.level < Addis(0.05).level
