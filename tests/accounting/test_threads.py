"""Many threads on one account, made to switch inside a step: no cost is lost and none is admitted twice."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np
import pytest

from holdfast.accounting import BasicFilter, BasicOdometer, IndividualFilter, PureDP
from holdfast.errors import BudgetExhausted

THREADS = 8


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_no_spend_is_lost() -> None:
    account, times = BasicFilter(1.0), 1500

    def work() -> None:
        for _ in range(times):
            account.spend(PureDP(1e-6))

    together(work)
    assert Decimal(account.to_dict()["totals"]["epsilon"]) == THREADS * times * Decimal("1e-6")


def test_no_more_is_admitted_than_fits() -> None:
    account, admitted = BasicFilter(0.005), []

    def work() -> None:
        try:
            while True:
                account.spend(PureDP(1e-6))
                admitted.append(1)
        except BudgetExhausted:
            return

    together(work)
    assert len(admitted) == 5000


def test_no_record_is_lost() -> None:
    odometer, times = BasicOdometer(), 1500

    def work() -> None:
        for _ in range(times):
            odometer.record(PureDP(1e-6))

    together(work)
    assert odometer.reading() == 0.012


def test_no_row_is_charged_too_little() -> None:
    budgets, times = IndividualFilter(3, 1e9), 1500
    costs = np.ones(3)

    def work() -> None:
        for _ in range(times):
            budgets.admit(costs)

    together(work)
    assert budgets.secret_state()["secret_sums"] == [THREADS * times] * 3
