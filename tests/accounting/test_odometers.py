"""What each odometer reads, in numbers."""

from __future__ import annotations

import itertools
import math

import pytest

from holdfast.accounting import (
    GDP,
    RDP,
    ZCDP,
    BasicOdometer,
    Bits,
    InversionOdometer,
    LineOdometer,
    MinimumOdometer,
    MixtureOdometer,
    Odometer,
    PointwiseDP,
    PureDP,
    RenyiOdometer,
    RogersOdometer,
    StitchedOdometer,
    ZCDPOdometer,
    default_odometer,
)
from holdfast.bounds.odometers import pointwise_drift, reading, zcdp_reading
from holdfast.errors import InvalidParameter
from holdfast_papers.accounting.walks import crossing_probability, crossing_thresholds
from tests.accounting.test_adversarial_odometers import DELTA, read_along

# spec-confidence-and-composition section 5.5: epsilon 0.01 a round, delta 1e-6, n 1e4. The inversion column there keeps
# half of delta for point-wise deltas and uses the reviewed constant.
TABLE = [
    (1, 0.0100, 0.0860, 0.0641, 0.3756, 0.0558, 0.4927),
    (10, 0.1000, 0.2723, 0.2029, 0.4090, 0.1885, 0.5058),
    (100, 1.0000, 0.8646, 0.6450, 0.6615, 0.6132, 0.6369),
    (1000, 10.00, 2.7684, 2.0739, 1.8447, 2.0004, 1.9474),
    (10000, 100.0, 9.0982, 6.9000, 6.2532, 6.7293, 15.052),
]


def test_readings_of_the_specification() -> None:
    outside = 1e-6 / (4 * math.log2(10_000))
    made = (
        BasicOdometer(),
        RogersOdometer(1e-6),
        InversionOdometer(5e-7 + outside, method="reviewed"),
        MixtureOdometer(1e-6),
        StitchedOdometer(1e-6),
        LineOdometer(1e-6),
    )
    cost, done = PureDP(0.01), 0
    for row in TABLE:
        for _ in range(row[0] - done):
            for odometer in made:
                odometer.record(cost)
        done = row[0]
        for odometer, expected in zip(made, row[1:], strict=True):
            assert odometer.reading() == pytest.approx(expected, rel=1e-4, abs=6e-5), (odometer, row)


def test_default_is_the_least_of_its_parts_and_never_above_basic() -> None:
    odometer, basic = default_odometer(1e-6), BasicOdometer()
    parts = (InversionOdometer(5e-7), MixtureOdometer(5e-7))
    for i in range(300):
        for each in (odometer, basic, *parts):
            each.record(PureDP(0.01 + 0.001 * (i % 7)))
        assert odometer.reading() == min(each.reading() for each in (basic, *parts))
    assert odometer.delta == 1e-6
    assert odometer.two_sided


def test_minimum_adds_slacks_and_pays_room_once() -> None:
    line, mixture = LineOdometer(1e-6, delta_sum=4e-7), MixtureOdometer(1e-6, delta_sum=4e-7)
    assert MinimumOdometer([line, mixture]).delta == 1.6e-6
    assert MinimumOdometer([BasicOdometer(4e-7), mixture]).delta == 1e-6
    assert MinimumOdometer([BasicOdometer(), mixture]).two_sided
    assert not MinimumOdometer([BasicOdometer(), line]).two_sided
    with pytest.raises(InvalidParameter, match="at least two"):
        MinimumOdometer([line])
    with pytest.raises(InvalidParameter, match="list of odometers"):
        MinimumOdometer(line)  # type: ignore[arg-type]


def test_printed_delta_of_rogers_is_nominal() -> None:
    odometer = RogersOdometer(1e-6, n=10_000)
    assert odometer.delta == pytest.approx(1e-6 * (1 + 1 / (4 * math.log2(10_000))), rel=1e-12)
    assert odometer.delta > 1e-6
    assert odometer.parameters() == {"delta": 1e-6, "n": 10_000}
    for n in (5, 2.5, "x"):
        with pytest.raises(InvalidParameter, match="n must be"):
            RogersOdometer(1e-6, n=n)  # type: ignore[arg-type]


def test_the_printed_reading_drops_where_its_range_begins() -> None:
    """9.79/n just below V = 1/n^2, 8.60/n just above; reading ahead removes the step."""
    n = 10_000
    below, above = RogersOdometer(1e-6, n), RogersOdometer(1e-6, n)
    below.record(PureDP(0.999 / n))
    above.record(PureDP(1.001 / n))
    assert below.reading() * n == pytest.approx(9.79, abs=0.02)
    assert above.reading() * n == pytest.approx(8.60, abs=0.02)
    low, high = InversionOdometer(1e-6, n), InversionOdometer(1e-6, n)
    low.record(PureDP(0.999 / n))
    high.record(PureDP(1.001 / n))
    assert low.reading() <= high.reading()


def test_zcdp_reads_the_printed_number_at_the_printed_delta() -> None:
    outside = 1e-6 / (4 * math.log2(10_000))
    odometer = ZCDPOdometer(5e-7 + outside)
    for _ in range(100):
        odometer.record(ZCDP(1e-3))
    assert odometer.reading() == pytest.approx(zcdp_reading(0.1, 10_000, 1e-6), rel=1e-9)
    assert odometer.reading() == pytest.approx(3.944105916, rel=1e-9)


def test_concentrated_costs_agree_whatever_their_name() -> None:
    for make in (lambda: ZCDPOdometer(1e-6), lambda: RenyiOdometer(1e-6)):
        gaussian, concentrated, pure = make(), make(), make()
        for _ in range(50):
            gaussian.record(GDP(0.02))
            concentrated.record(ZCDP(0.0002))
            pure.record(PureDP(0.02))
        assert gaussian.reading() == concentrated.reading()
        assert pure.reading() <= concentrated.reading() * (1 + 1e-9)


def test_renyi_reads_less_than_the_dissertation_for_gaussian_costs() -> None:
    renyi, printed = RenyiOdometer(1e-6), ZCDPOdometer(1e-6)
    for odometer in (renyi, printed):
        for _ in range(100):
            odometer.record(ZCDP(1e-3))
    assert renyi.reading() < 0.72 * printed.reading()


def test_renyi_without_a_bound_reads_infinity() -> None:
    odometer = RenyiOdometer(1e-6, orders=(4.0, 8.0))
    odometer.record(RDP((4.0,), (0.1,)))
    assert odometer.reading() < math.inf
    odometer.record(RDP((2.0,), (0.1,)))
    assert odometer.reading() == math.inf
    assert Odometer.from_dict(odometer.to_dict()).reading() == math.inf


@pytest.mark.parametrize(
    "make",
    [
        lambda: StitchedOdometer(DELTA, start=0.5),
        lambda: InversionOdometer(DELTA, n=6),
        lambda: InversionOdometer(DELTA, n=6, method="reviewed"),
        lambda: ZCDPOdometer(DELTA, n=6),
    ],
)
def test_reading_ahead_of_the_range_is_sound(make) -> None:  # type: ignore[no-untyped-def]
    """Where the boundary begins late, all rounds before it are read ahead; exact crossing probability."""
    read = read_along(make, 0.02, 2000)
    assert read[0] < math.inf
    assert all(b >= a for a, b in itertools.pairwise(read))
    found = crossing_probability(0.02, crossing_thresholds(0.02, read), two_sided=make().two_sided)
    assert found.probability + found.error <= DELTA


def test_pointwise_drift_bounds_the_mean_of_every_bounded_loss() -> None:
    """The worst mean loss given the good outputs, by the two-point distribution that attains it, against the bound."""
    for epsilon in (1e-3, 0.1, 1.0, 3.0):
        for delta in (1e-9, 1e-4, 0.01, 0.2):
            share = min((math.exp(epsilon) - (1 - delta)) / (2 * math.sinh(epsilon)), 1.0)
            worst = epsilon * (2 * share - 1)
            assert worst <= epsilon * math.tanh(epsilon / 2) + pointwise_drift(delta) + 1e-15
            assert worst >= epsilon * math.tanh(epsilon / 2)


def test_huge_costs_read_infinity_and_are_stored() -> None:
    for odometer in (
        BasicOdometer(),
        RogersOdometer(1e-6),
        InversionOdometer(1e-6),
        ZCDPOdometer(1e-6),
        MixtureOdometer(1e-6),
        RenyiOdometer(1e-6),
        default_odometer(1e-6),
    ):
        for _ in range(2):
            odometer.record(PureDP(1.7e308))
        assert odometer.reading() == math.inf
        assert Odometer.from_dict(odometer.to_dict()).to_dict() == odometer.to_dict()


def test_wrong_parameters_are_named() -> None:
    for make, named in (
        (lambda: LineOdometer(1e-6, target=0.0), "target"),
        (lambda: LineOdometer(1e-6, two_sided=1), "two_sided"),  # type: ignore[arg-type]
        (lambda: MixtureOdometer(1e-6, gamma=-1.0), "gamma"),
        (lambda: StitchedOdometer(1e-6, start=0.0), "start"),
        (lambda: InversionOdometer(1e-6, method="best"), "method"),  # type: ignore[arg-type]
        (lambda: RenyiOdometer(1e-6, orders=(2.0, 2.0)), "orders"),
        (lambda: MixtureOdometer(1e-6, delta_sum=1e-6), "delta_sum"),
        (lambda: BasicOdometer(1.0), "delta"),
    ):
        with pytest.raises(InvalidParameter, match=named):
            make()
    with pytest.raises(InvalidParameter, match="cannot account for Bits"):
        BasicOdometer().record(Bits(1.0))


def test_a_pointwise_cost_without_delta_is_a_pure_one() -> None:
    for make in (lambda: MixtureOdometer(1e-6), lambda: ZCDPOdometer(1e-6), lambda: RenyiOdometer(1e-6), BasicOdometer):
        a, b = make(), make()
        a.record(PureDP(0.3))
        b.record(PointwiseDP(0.3, 0.0))
        assert a.reading() == b.reading()


@pytest.mark.parametrize(("epsilon", "rounds"), [(0.01, 1), (0.01, 100), (0.01, 3000), (1e-6, 40), (0.3, 30)])
def test_the_default_and_the_combined_bound_are_one_number(epsilon: float, rounds: int) -> None:
    odometer = default_odometer(1e-6)
    for _ in range(rounds):
        odometer.record(PureDP(epsilon))
    assert odometer.reading() == pytest.approx(reading("combined", epsilon, rounds, 10_000, 1e-6), rel=1e-12)


def test_a_range_that_cannot_be_read_is_refused_when_the_odometer_is_made() -> None:
    for make in (RogersOdometer, InversionOdometer, ZCDPOdometer):
        with pytest.raises(InvalidParameter, match="n must be"):
            make(1e-6, 10**20)
        odometer = make(1e-6, 10**18)
        odometer.record(PureDP(0.1))
        assert 0 < odometer.reading() < math.inf


def test_the_factor_of_the_inversion_is_solved_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    odometer = InversionOdometer(1e-6)

    def again(*arguments: object) -> float:
        raise AssertionError("solved again")

    monkeypatch.setattr("holdfast.bounds.odometers.inversion_factor", again)
    odometer.record(PureDP(0.1))
    assert odometer.reading() > 0


def test_zcdp_below_its_range_reads_what_it_reads_where_the_range_begins() -> None:
    n = 10_000
    start, tiny = ZCDPOdometer(1e-6, n), ZCDPOdometer(1e-6, n)
    start.record(ZCDP(0.5 / n**2))  # 2R = 1/n^2
    tiny.record(ZCDP(1e-15))
    assert tiny.reading() == pytest.approx(start.reading(), rel=1e-3)
    assert tiny.reading() <= start.reading() < 9 / n
