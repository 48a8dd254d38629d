"""The conformance suite: what every filter and every odometer must do, whatever its theorem.

A case says how to make an account and how to make a cost of a given size for it. The classes below are abstract;
`test_conformance.py` runs them over every case.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from holdfast.accounting import GDP, RDP, ZCDP, ApproxDP, Bits, Cost, Filter, Odometer, PointwiseDP, PureDP
from holdfast.bounds.registry import lookup
from holdfast.errors import BudgetExhausted, InvalidParameter

ALL_KINDS: tuple[Cost, ...] = (
    PureDP(0.01),
    ApproxDP(0.01, 1e-9),
    PointwiseDP(0.01, 1e-9),
    ZCDP(0.01),
    GDP(0.01),
    RDP((2.0, 700.0), (0.01, 0.02)),
    Bits(0.01),
)
NOT_COSTS: tuple[Any, ...] = (0.1, -1.0, math.nan, True, None, "0.1", [0.1], {"epsilon": 0.1}, PureDP)
NOT_NUMBERS: tuple[Any, ...] = (-1.0, math.nan, math.inf, [0.5], "0.5", True)


@dataclass(frozen=True)
class Case:
    """How to make an account, and a cost of a given size for it; a cost of size 1 fits a fresh filter."""

    id: str
    make: Callable[[], Any]
    cost: Callable[[float], Cost]
    too_much: float = 1e6
    tiny: float = 1e-7
    leaf: bool = field(default=True)


def plain(account: Any) -> str:
    return json.dumps(account.to_dict(), sort_keys=True)


def sizes(seed: int, count: int) -> list[float]:
    return [float(x) for x in np.random.default_rng(seed).uniform(0.01, 0.4, count).round(6)]


class AccountConformance(ABC):
    """What filters and odometers share."""

    @abstractmethod
    def add(self, account: Any, cost: Cost) -> None:
        """Spend or record."""

    def test_json_round_trip_is_exact_and_continues(self, case: Case) -> None:
        first = case.make()
        for size in sizes(1, 5):
            self.add(first, case.cost(size / 10))
        second = type(first).from_dict(json.loads(json.dumps(first.to_dict())))
        assert type(second) is type(first)
        assert plain(second) == plain(first)
        for size in sizes(2, 5):
            self.add(first, case.cost(size / 10))
            self.add(second, case.cost(size / 10))
            assert plain(second) == plain(first)

    def test_copies_are_independent(self, case: Case) -> None:
        account = case.make()
        self.add(account, case.cost(0.1))
        before = plain(account)
        for twin in (copy.deepcopy(account), pickle.loads(pickle.dumps(account))):
            assert plain(twin) == before
            self.add(twin, case.cost(0.1))
            assert plain(twin) != before
            assert plain(account) == before

    def test_zero_is_free(self, case: Case) -> None:
        account = case.make()
        self.add(account, case.cost(0.5))
        before = plain(account)
        self.add(account, case.cost(0.0))
        assert plain(account) == before or type(account).from_dict(account.to_dict()).to_dict() == json.loads(before)

    def test_order_does_not_matter(self, case: Case) -> None:
        amounts = [size / 3 for size in sizes(3, 8)]
        ends = set()
        for seed in range(4):
            account = case.make()
            for i in np.random.default_rng(seed).permutation(len(amounts)):
                self.add(account, case.cost(amounts[i]))
            ends.add(plain(account))
        assert len(ends) == 1

    def test_wrong_kinds_are_refused_and_named(self, case: Case) -> None:
        account = case.make()
        before = plain(account)
        for cost in ALL_KINDS:
            if isinstance(cost, account.accepts):
                continue
            with pytest.raises(InvalidParameter, match=f"cannot account for {type(cost).__name__}; it accepts"):
                self.add(account, cost)
        for wrong in NOT_COSTS:
            with pytest.raises(InvalidParameter, match="cost must be one of"):
                self.add(account, wrong)
        assert plain(account) == before

    def test_wrong_numbers_are_refused_where_they_enter(self, case: Case) -> None:
        account = case.make()
        if not case.leaf:
            return
        parameters = account.parameters()
        for name, value in parameters.items():
            if not isinstance(value, float):
                continue
            for wrong in (*NOT_NUMBERS, *((1.0,) if name.startswith("delta") else ())):
                with pytest.raises(InvalidParameter, match=name):
                    type(account)(**(parameters | {name: wrong}))

    def test_damaged_data_are_refused(self, case: Case) -> None:
        account = case.make()
        good = account.to_dict()
        role = account.role
        for bad in (
            None,
            [],
            {},
            good | {role: "unheard-of"},
            good | {role: None},
            good | {"surprise": 1},
            {k: v for k, v in good.items() if k not in ("totals", "filters", "odometers", "odometer")}
            | {role: good[role]},
        ):
            with pytest.raises(InvalidParameter):
                type(account).from_dict(bad)
        if "totals" in good:
            for text in ("-0.1", "NaN", "x", 0.1, None, "1e99999999"):
                totals = dict.fromkeys(good["totals"], text)
                with pytest.raises(InvalidParameter):
                    type(account).from_dict(good | {"totals": totals})

    def test_memory_is_constant(self, case: Case) -> None:
        account = case.make()
        amounts = np.random.default_rng(5).uniform(0.1, 1.0, 97) * case.tiny
        costs = [case.cost(float(x)) for x in amounts]
        for cost in costs:
            self.add(account, cost)
        early = len(plain(account))
        for _ in range(20_000 // len(costs)):
            for cost in costs:
                self.add(account, cost)
        assert len(plain(account)) <= early + 8 * (1 + early // 20)

    def test_repr_shows_how_it_was_made(self, case: Case) -> None:
        account = case.make()
        before = repr(account)
        self.add(account, case.cost(0.123456))
        assert repr(account) == before
        assert type(account).__name__ in before
        assert " at 0x" not in before


class FilterConformance(AccountConformance):
    """What every filter must do."""

    def add(self, account: Filter, cost: Cost) -> None:
        account.spend(cost)

    def test_refuses_before_change(self, case: Case) -> None:
        account = case.make()
        account.spend(case.cost(0.5))
        before = plain(account)
        assert not account.admits(case.cost(case.too_much))
        with pytest.raises(BudgetExhausted):
            account.spend(case.cost(case.too_much))
        assert plain(account) == before

    def test_stays_open_for_smaller_costs(self, case: Case) -> None:
        account = case.make()
        with pytest.raises(BudgetExhausted):
            account.spend(case.cost(case.too_much))
        assert account.admits(case.cost(1.0))
        account.spend(case.cost(1.0))

    def test_refusal_says_spent_asked_left(self, case: Case) -> None:
        account = case.make()
        account.spend(case.cost(0.5))
        cost = case.cost(case.too_much)
        with pytest.raises(BudgetExhausted, match=r"refuses a cost of .*: spent so far .*; left ") as caught:
            account.spend(cost)
        assert repr(cost) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_admits_changes_nothing_and_agrees_with_spend(self, case: Case) -> None:
        account = case.make()
        for size in [*sizes(7, 30), 1e3, 0.01, 0.01]:
            before = plain(account)
            admitted = account.admits(case.cost(size))
            assert plain(account) == before
            if admitted:
                account.spend(case.cost(size))
            else:
                with pytest.raises(BudgetExhausted):
                    account.spend(case.cost(size))

    def test_admitted_region_is_downward_closed(self, case: Case) -> None:
        rng = np.random.default_rng(11)
        for _ in range(10):
            amounts = [float(x) for x in rng.uniform(0, 0.6, 6)]
            admitted, larger = [], case.make()
            for size in amounts:
                if larger.admits(case.cost(size)):
                    larger.spend(case.cost(size))
                    admitted.append(size)
            smaller = case.make()
            for size in admitted:
                cost = case.cost(size * float(rng.uniform(0, 1)))
                assert smaller.admits(cost)
                smaller.spend(cost)
            last = max(0.0, 0.9 * (sum(amounts) - sum(admitted)))
            if larger.admits(case.cost(last)):
                assert smaller.admits(case.cost(last))

    def test_what_is_left_shrinks(self, case: Case) -> None:
        account = case.make()
        account.spend(case.cost(0.1))  # a combination drops the filters that cannot account for this kind
        lefts = [numbers(account.remaining())]
        spents = [numbers(account.spent())]
        for _ in range(6):
            account.spend(case.cost(0.1))
            lefts.append(numbers(account.remaining()))
            spents.append(numbers(account.spent()))
        for earlier, later in itertools.pairwise(lefts):
            assert all(b <= a for a, b in zip(earlier, later, strict=True))
        for earlier, later in itertools.pairwise(spents):
            assert all(b >= a for a, b in zip(earlier, later, strict=True))

    def test_threads_never_overspend(self, case: Case) -> None:
        alone = case.make()
        cost = case.cost(0.05)
        fits = 0
        while alone.admits(cost) and fits < 2000:
            alone.spend(cost)
            fits += 1
        shared, admitted = case.make(), []

        def work() -> None:
            for _ in range(fits):
                try:
                    shared.spend(cost)
                except BudgetExhausted:
                    return
                admitted.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(admitted) == fits or fits == 2000
        assert fits == 2000 or plain(shared) == plain(alone)

    def test_guarantee_is_plain_data(self, case: Case) -> None:
        account = case.make()
        before = account.guarantee()
        account.spend(case.cost(0.3))
        assert account.guarantee() == before
        assert lookup(before.theorem)
        assert json.loads(json.dumps(before.to_dict())) == before.to_dict()
        assert str(before)


class OdometerConformance(AccountConformance):
    """What every odometer must do."""

    def add(self, account: Odometer, cost: Cost) -> None:
        account.record(cost)

    def test_reads_nothing_at_first(self, case: Case) -> None:
        assert case.make().reading() == 0

    def test_readings_grow_and_preview_agrees(self, case: Case) -> None:
        account = case.make()
        account.record(case.cost(0.2))
        last = account.reading()
        assert 0 < last < math.inf
        for size in sizes(13, 20):
            before = plain(account)
            ahead = account.reading_after(case.cost(size))
            assert plain(account) == before
            account.record(case.cost(size))
            assert account.reading() == ahead >= last
            last = ahead

    def test_larger_costs_read_larger(self, case: Case) -> None:
        for seed in range(5):
            amounts = [0.2, *sizes(seed, 10)]
            low, high = case.make(), case.make()
            for size in amounts:
                low.record(case.cost(size))
                high.record(case.cost(1.3 * size))
            assert high.reading() >= low.reading()

    def test_never_refuses_for_size(self, case: Case) -> None:
        account = case.make()
        account.record(case.cost(1e3))
        assert account.reading() > 0

    def test_approximate_costs_name_the_pointwise_conversion(self, case: Case) -> None:
        account = case.make()
        with pytest.raises(InvalidParameter, match="approx_to_pointwise to PointwiseDP"):
            account.record(ApproxDP(0.1, 1e-9))

    def test_deltas_of_the_costs_have_their_room(self, case: Case) -> None:
        account = case.make()
        room = account.delta_sum
        account.record(PointwiseDP(0.01, room / 2))
        assert account.reading() < math.inf
        account.record(PointwiseDP(0.01, room / 2))
        assert account.reading() < math.inf
        account.record(PointwiseDP(0.0, min(max(room / 1e6, 1e-300), 0.5)))
        assert account.reading() == math.inf

    def test_guarantee_is_plain_data(self, case: Case) -> None:
        account = case.make()
        said = account.guarantee()
        assert lookup(said.theorem).id == "odometer.reading"
        assert said.parameters["name"] == account.name
        assert said.parameters["delta"] == account.delta
        assert said.parameters["two_sided"] is account.two_sided
        assert json.loads(json.dumps(said.to_dict())) == said.to_dict()


def numbers(amounts: Any) -> list[float]:
    """All numbers in a nest of amounts, in order; an order of divergence is a name, not an amount."""
    if isinstance(amounts, dict):
        return [x for name, value in amounts.items() if not name.startswith("order") for x in numbers(value)]
    if isinstance(amounts, (list, tuple)):
        return [x for value in amounts for x in numbers(value)]
    return [float(amounts)]
