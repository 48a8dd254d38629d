"""Every filter and every odometer against the conformance suite."""

from __future__ import annotations

import inspect

import pytest

import holdfast.accounting as accounting
from holdfast.accounting import (
    GDP,
    RDP,
    ZCDP,
    AllOf,
    AnyOf,
    ApproxDP,
    BasicFilter,
    BasicOdometer,
    Bits,
    BitsFilter,
    Filter,
    FilterFromOdometer,
    GDPFilter,
    IndividualFilter,
    InversionOdometer,
    LineOdometer,
    MinimumOdometer,
    MixtureOdometer,
    Odometer,
    PointwiseDP,
    PureDP,
    RenyiCurveFilter,
    RenyiFilter,
    RenyiOdometer,
    RogersFilter,
    RogersOdometer,
    StitchedOdometer,
    WhitehouseFilter,
    ZCDPFilter,
    ZCDPOdometer,
    default_filter,
    default_odometer,
)
from holdfast.bounds.registry import catalogue
from tests.accounting.conformance import Case, FilterConformance, OdometerConformance

FILTERS = [
    Case("basic", lambda: BasicFilter(3.0), PureDP),
    Case("basic-approximate", lambda: BasicFilter(3.0, 1e-5), lambda x: ApproxDP(x, min(x * 1e-6, 0.9))),
    Case("rogers", lambda: RogersFilter(3.0, 1e-6, method="paper"), lambda x: PureDP(0.1 * x)),
    Case("rogers-tuned", lambda: RogersFilter(3.0, 1e-6), lambda x: PureDP(0.1 * x)),
    Case("rogers-offset", lambda: RogersFilter(3.0, 1e-6, offset=0.01), lambda x: PureDP(0.1 * x)),
    Case("whitehouse", lambda: WhitehouseFilter(3.0, 1e-6), lambda x: PureDP(0.1 * x)),
    Case(
        "whitehouse-approximate",
        lambda: WhitehouseFilter(3.0, 1e-5, delta_sum=5e-6),
        lambda x: PointwiseDP(0.1 * x, min(x * 1e-6, 0.9)),
    ),
    Case("zcdp", lambda: ZCDPFilter(3.0), ZCDP),
    Case("zcdp-of-pure", lambda: ZCDPFilter.from_dp(3.0, 1e-6), lambda x: PureDP(0.1 * x)),
    Case("zcdp-of-gdp", lambda: ZCDPFilter(0.1), lambda x: GDP(0.1 * x)),
    Case(
        "zcdp-of-approximate",
        lambda: ZCDPFilter.from_dp(3.0, 1e-5, delta_sum=5e-6),
        lambda x: ApproxDP(0.1 * x, min(x * 1e-6, 0.9)),
    ),
    Case("gdp", lambda: GDPFilter(3.0), GDP),
    Case("gdp-from-dp", lambda: GDPFilter.from_dp(3.0, 1e-6), lambda x: GDP(0.1 * x)),
    Case("renyi", lambda: RenyiFilter(8.0, 3.0), lambda x: RDP((4.0, 8.0), (x / 2, x))),
    Case("renyi-of-pure", lambda: RenyiFilter(8.0, 3.0), PureDP),
    Case("renyi-curve", lambda: RenyiCurveFilter(3.0, 1e-6), lambda x: ZCDP(0.01 * x)),
    Case("renyi-curve-of-pure", lambda: RenyiCurveFilter(3.0, 1e-6, (2.0, 8.0, 32.0)), lambda x: PureDP(0.01 * x)),
    Case("renyi-curve-of-curves", lambda: RenyiCurveFilter(3.0, 1e-6), lambda x: RDP((8.0, 64.0), (0.01 * x, 0.1 * x))),
    Case("bits", lambda: BitsFilter(3.0), Bits),
    Case("default", lambda: default_filter(3.0, 1e-6), lambda x: PureDP(0.1 * x), leaf=False),
    Case("default-of-zcdp", lambda: default_filter(3.0, 1e-6), lambda x: ZCDP(0.01 * x), leaf=False),
    Case(
        "any-of-three",
        lambda: AnyOf([BasicFilter(3.0), RogersFilter(3.0, 1e-6), RenyiCurveFilter(3.0, 1e-6, (8.0, 32.0))]),
        lambda x: PureDP(0.1 * x),
        leaf=False,
    ),
    Case("all-of", lambda: AllOf([BasicFilter(3.0), ZCDPFilter(2.0)]), PureDP, leaf=False),
    Case(
        "from-odometer",
        lambda: FilterFromOdometer(MixtureOdometer(1e-6, 1e-4), 3.0),
        lambda x: PureDP(0.1 * x),
        leaf=False,
    ),
]

ROOM = 1e-7
ODOMETERS = [
    Case("basic", lambda: BasicOdometer(ROOM), PureDP),
    Case("rogers", lambda: RogersOdometer(1e-6), PureDP),
    Case("inversion", lambda: InversionOdometer(1e-6, delta_sum=ROOM), PureDP),
    Case("inversion-reviewed", lambda: InversionOdometer(1e-6, 100, delta_sum=ROOM, method="reviewed"), PureDP),
    Case("zcdp", lambda: ZCDPOdometer(1e-6, delta_sum=ROOM), ZCDP),
    Case("zcdp-of-gdp", lambda: ZCDPOdometer(1e-6, delta_sum=ROOM), GDP),
    Case("line", lambda: LineOdometer(1e-6, delta_sum=ROOM), PureDP),
    Case("line-two-sided", lambda: LineOdometer(1e-6, delta_sum=ROOM, two_sided=True), PureDP),
    Case("mixture", lambda: MixtureOdometer(1e-6, delta_sum=ROOM), PureDP),
    Case("stitched", lambda: StitchedOdometer(1e-6, delta_sum=ROOM), PureDP),
    Case("stitched-of-pointwise", lambda: StitchedOdometer(0.1, delta_sum=0.05), lambda x: PointwiseDP(x, 1e-9 * x)),
    Case("renyi", lambda: RenyiOdometer(1e-6, delta_sum=ROOM), ZCDP),
    Case("zcdp-of-pointwise", lambda: ZCDPOdometer(0.1, delta_sum=0.05), lambda x: PointwiseDP(x, 1e-9 * x)),
    Case("renyi-of-pointwise", lambda: RenyiOdometer(0.1, delta_sum=0.05), lambda x: PointwiseDP(x, 1e-9 * x)),
    Case("renyi-of-pure", lambda: RenyiOdometer(1e-6, (2.0, 8.0, 32.0), delta_sum=ROOM), PureDP),
    Case("default", lambda: default_odometer(1e-6, delta_sum=ROOM), PureDP, leaf=False),
    Case(
        "minimum",
        lambda: MinimumOdometer([BasicOdometer(ROOM), LineOdometer(1e-6, delta_sum=ROOM)]),
        PureDP,
        leaf=False,
    ),
]


class TestFilters(FilterConformance):
    @pytest.fixture(params=FILTERS, ids=lambda case: case.id)
    def case(self, request: pytest.FixtureRequest) -> Case:
        return request.param


class TestOdometers(OdometerConformance):
    @pytest.fixture(params=ODOMETERS, ids=lambda case: case.id)
    def case(self, request: pytest.FixtureRequest) -> Case:
        return request.param


def test_every_filter_and_odometer_is_in_the_suite() -> None:
    shipped = {cls for _, cls in inspect.getmembers(accounting, inspect.isclass) if issubclass(cls, (Filter, Odometer))}
    tested = {type(case.make()) for case in (*FILTERS, *ODOMETERS)}
    assert shipped - tested == {Filter, Odometer}


def test_every_guarantee_names_a_theorem_of_the_catalogue() -> None:
    said = [case.make().guarantee() for case in (*FILTERS, *ODOMETERS)]
    rows = IndividualFilter(3, 1.0)
    said += [rows.guarantee(), rows.guarantee("replace-one"), IndividualFilter(3, 1.0, order=2.0).guarantee()]
    assert {guarantee.theorem for guarantee in said} <= set(catalogue())
    assert all(guarantee.assumption for guarantee in said)
