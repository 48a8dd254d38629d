from __future__ import annotations

import dataclasses
import json
import math

import pytest

from holdfast.accounting import GDP, RDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
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
