"""Accounting: a zCDP filter against OpenDP's, and the growth of every filter and odometer with the number of questions.

Both sides answer the same question: may this Gaussian measurement still be released, given all before it? OpenDP's
filter also releases the answer, so the time of the same measurements outside a filter is taken off its side.

Growth: 100,000 questions in one run, timed in slices of 1,000. The fastest of the last ten slices is compared with the
fastest of the first ten, so a busy machine disturbs both alike. Linear growth is a ratio of 1, quadratic one of 20 and
more; the claim of 2 leaves room for what other processes do.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.timing import Row, at_least, at_most, best_of
from holdfast import accounting as acc

QUESTIONS = 4_000
SCALE = 200.0  # each answer costs rho = 1/(2 * 200^2)
SLICE, SLICES, ENDS = 1_000, 100, 10


def rows() -> list[Row]:
    return [_against_opendp(), *_growth()]


def _against_opendp() -> Row:
    cost = acc.GDP(1 / SCALE)

    def ours() -> None:
        budget = acc.ZCDPFilter(1.0)
        for _ in range(QUESTIONS):
            budget.spend(cost)

    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measurement = dp.m.make_gaussian(*space, scale=SCALE)
    odometer = dp.c.make_fully_adaptive_composition(*space, dp.zero_concentrated_divergence())
    queryable = dp.c.make_privacy_filter(odometer, d_in=1.0, d_out=1.0)(0.0)
    theirs = _seconds(lambda: queryable(measurement)) - _seconds(lambda: measurement(0.0))
    name = f"zCDP filter, {QUESTIONS:,} Gaussian questions"
    return at_least(name, 100, best_of(ours), "OpenDP privacy filter, less its noise", theirs)


def _seconds(ask: Callable[[], object]) -> float:
    """One run of all questions: the peer's time grows with the square, so it is measured once and at full size."""
    start = time.perf_counter()
    for _ in range(QUESTIONS):
        ask()
    return time.perf_counter() - start


def _growth() -> list[Row]:
    made: dict[str, tuple[Callable[[], acc.Filter | acc.Odometer], acc.Cost]] = {
        "basic filter": (lambda: acc.BasicFilter(1.0), acc.PureDP(1e-6)),
        "rogers filter": (lambda: acc.RogersFilter(1.0, 1e-6), acc.PureDP(1e-6)),
        "whitehouse filter": (lambda: acc.WhitehouseFilter(1.0, 1e-6), acc.PureDP(1e-6)),
        "zcdp filter": (lambda: acc.ZCDPFilter(1.0), acc.ZCDP(1e-6)),
        "gdp filter": (lambda: acc.GDPFilter(1.0), acc.GDP(1e-3)),
        "renyi filter": (lambda: acc.RenyiFilter(8.0, 1.0), acc.PureDP(1e-6)),
        "renyi-curve filter": (lambda: acc.RenyiCurveFilter(1.0, 1e-6), acc.ZCDP(1e-9)),
        "bits filter": (lambda: acc.BitsFilter(1e6), acc.Bits(1.0)),
        "default filter": (lambda: acc.default_filter(1.0, 1e-6), acc.PureDP(1e-6)),
        "all-of filter": (lambda: acc.AllOf([acc.BasicFilter(1.0), acc.ZCDPFilter(1.0)]), acc.PureDP(1e-6)),
        "filter from odometer": (lambda: acc.FilterFromOdometer(acc.LineOdometer(1e-6), 1.0), acc.PureDP(1e-6)),
        "basic odometer": (acc.BasicOdometer, acc.PureDP(1e-6)),
        "rogers odometer": (lambda: acc.RogersOdometer(1e-6), acc.PureDP(1e-4)),
        "inversion odometer": (lambda: acc.InversionOdometer(1e-6), acc.PureDP(1e-4)),
        "zcdp odometer": (lambda: acc.ZCDPOdometer(1e-6), acc.ZCDP(1e-6)),
        "line odometer": (lambda: acc.LineOdometer(1e-6), acc.PureDP(1e-4)),
        "mixture odometer": (lambda: acc.MixtureOdometer(1e-6), acc.PureDP(1e-4)),
        "stitched odometer": (lambda: acc.StitchedOdometer(1e-6), acc.PureDP(1e-4)),
        "renyi odometer": (lambda: acc.RenyiOdometer(1e-6), acc.ZCDP(1e-6)),
        "default odometer": (lambda: acc.default_odometer(1e-6), acc.PureDP(1e-4)),
    }
    found = []
    for name, (make, cost) in made.items():
        account = make()
        slices = [best_of(lambda account=account, cost=cost: _play(account, cost), 1) for _ in range(SLICES)]  # type: ignore[misc]
        early, late = min(slices[:ENDS]), min(slices[-ENDS:])
        found.append(at_most(f"{name}, 1,000 questions after 90,000", 2.0, late, "the same, at the start", early))
    return found


def _play(account: acc.Filter | acc.Odometer, cost: acc.Cost) -> None:
    """Spend or record a slice of questions; an odometer is also read every hundredth time."""
    if isinstance(account, acc.Filter):
        for _ in range(SLICE):
            account.spend(cost)
        return
    for i in range(SLICE):
        account.record(cost)
        if i % 100 == 0:
            account.reading()
