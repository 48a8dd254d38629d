from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from holdfast.accounting import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    BasicFilter,
    BasicOdometer,
    Bits,
    BitsFilter,
    Cost,
    FilterFromOdometer,
    GDPFilter,
    PointwiseDP,
    PureDP,
    RenyiFilter,
    WhitehouseFilter,
    ZCDPFilter,
)
from holdfast.bounds.numerics.exact import decimal_fraction
from holdfast.errors import InvalidParameter

COSTS = [
    PureDP(0.1),
    ApproxDP(0.1, 1e-9),
    PointwiseDP(0.1, 1e-9),
    ZCDP(1 / 3),
    GDP(0.7),
    RDP((1.5, 2.0), (0.1, 0.3)),
    Bits(3.5),
]


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: cost.kind)
def test_costs_are_plain_frozen_values(cost: Cost) -> None:
    assert Cost.from_dict(json.loads(json.dumps(cost.to_dict()))) == cost
    assert hash(cost) == hash(dataclasses.replace(cost))
    assert not cost.is_zero
    first = dataclasses.fields(cost)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(cost, first, 1.0)


def test_zero_costs_know_it() -> None:
    zeros = (PureDP(0), ApproxDP(0.0, 0.0), PointwiseDP(0, 0), ZCDP(0), GDP(0), RDP((2.0, 3.0), (0.0, 0.0)), Bits(0))
    assert all(cost.is_zero for cost in zeros)
    assert not ApproxDP(0.0, 1e-9).is_zero
    assert not RDP((2.0, 3.0), (0.0, 0.1)).is_zero


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf, True, "0.1", [0.1], None])
def test_wrong_numbers_never_become_costs(wrong: object) -> None:
    for make, name in (
        (PureDP, "epsilon"),
        (lambda x: ApproxDP(x, 0.1), "epsilon"),
        (lambda x: ApproxDP(0.1, x), "delta"),
        (lambda x: PointwiseDP(0.1, x), "delta"),
        (ZCDP, "rho"),
        (GDP, "mu"),
        (Bits, "bits"),
        (lambda x: RDP((2.0,), (x,)), "epsilons"),
        (lambda x: RDP((x,), (0.1,)), "orders"),
    ):
        with pytest.raises(InvalidParameter, match=name):
            make(wrong)  # type: ignore[operator]


def test_wrong_shapes_never_become_costs() -> None:
    for make in (
        lambda: ApproxDP(0.1, 1.0),
        lambda: RDP((2.0, 2.0), (0.1, 0.1)),
        lambda: RDP((2.0,), (0.1, 0.2)),
        lambda: RDP((1.0,), (0.1,)),
        lambda: RDP((), ()),
        lambda: Cost.from_dict({"kind": "unheard-of"}),
        lambda: Cost.from_dict({"kind": "pure-dp", "rho": 1.0}),
        lambda: Cost.from_dict({"kind": "pure-dp"}),
        lambda: Cost.from_dict([]),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameter):
            make()


def test_other_numbers_are_rounded_up_as_costs_and_down_as_budgets() -> None:
    third = Fraction(1, 3)
    for cost, name in (
        (PureDP(third), "epsilon"),
        (ApproxDP(third, third), "delta"),
        (PointwiseDP(third, third), "epsilon"),
        (ZCDP(third), "rho"),
        (GDP(third), "mu"),
        (Bits(third), "bits"),
    ):
        amount = getattr(cost, name)
        assert decimal_fraction(amount) >= third
        assert decimal_fraction(math.nextafter(amount, 0)) < third
    assert decimal_fraction(RDP((2,), (third,)).epsilons[0]) >= third
    for budget, name in (
        (BasicFilter(third, third), "epsilon"),
        (BasicFilter(third, third), "delta"),
        (WhitehouseFilter(third, third), "delta"),
        (ZCDPFilter(third), "rho"),
        (GDPFilter(third), "mu"),
        (BitsFilter(third), "bits"),
        (RenyiFilter(2, third), "epsilon"),
        (FilterFromOdometer(BasicOdometer(), third), "epsilon"),
        (BasicOdometer(third), "delta"),
    ):
        amount = getattr(budget, name)
        assert decimal_fraction(amount) <= third
        assert decimal_fraction(math.nextafter(amount, 1)) > third
    assert PureDP(2**53 + 1).epsilon == 2.0**53 + 2
    assert (PureDP(np.float32(0.5)), PureDP(np.int64(3)), PureDP(Fraction(1, 10))) == (
        PureDP(0.5),
        PureDP(3),
        PureDP(0.1),
    )
    with pytest.raises(InvalidParameter, match="delta"):
        ApproxDP(0.1, 1 - Fraction(1, 10**30))  # no double below 1 is not below it


def test_bits_of_a_number_of_values_are_rounded_up() -> None:
    assert [Bits.of_values(k).bits for k in (1, 2, 4, 2**60)] == [0.0, 1.0, 2.0, 60.0]
    with mpmath.workdps(60):
        for count in (3, 5, 7, 1000, 10**17 + 1, 3**400):
            bits = Bits.of_values(count).bits
            assert mpmath.mpf(repr(bits)) >= mpmath.log(count, 2)
            assert bits <= math.log2(count) * (1 + 1e-14)
    for wrong in (0, 2.5, True):
        with pytest.raises(InvalidParameter, match="count"):
            Bits.of_values(wrong)  # type: ignore[arg-type]
