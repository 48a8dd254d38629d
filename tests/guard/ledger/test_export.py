"""Exports: CSV and JSON that say what the ledger says, and events that another library adds up to the same."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from pathlib import Path

import dp_accounting
import pytest
from dp_accounting.rdp import RdpAccountant

from holdfast.accounting import GDP, RDP, ZCDP, ApproxDP, Bits, Cost, PureDP
from holdfast.bounds.composition import optimal
from holdfast.bounds.conversions import gdp_to_dp, zcdp_to_dp
from holdfast.errors import GuaranteeUnavailable, InvalidParameter, NotInstalled
from holdfast.guard.ledger.events import costs_of, pld_report, to_dp_accounting, to_events
from holdfast.guard.ledger.export import COLUMNS, to_csv, to_json
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.store import Store
from holdfast.guard.ledger.transaction import Transaction
from tests.guard.ledger.stores import DATASET

DELTA = 1e-6


@pytest.fixture
def store() -> Store:
    made = open_store()

    def work(transaction: Transaction) -> None:
        transaction.put_secret("tree", {"hidden": 1})
        transaction.append("opened", {"policy": None})
        for cost in (PureDP(0.1), PureDP(0.1), ZCDP(0.01), None):
            body = {"cost": None if cost is None else cost.to_dict(), "answer": {"value": 0.5}}
            transaction.append("answered", body, analyst="=cmd()")
        paid = transaction.append("reserved", {"cost": GDP(0.5).to_dict()}, analyst="ann")
        transaction.append("answered", {"cost": GDP(0.5).to_dict(), "answer": 1, "paid": paid.sequence}, analyst="ann")

    made.ledger(DATASET).submit(work)
    return made


def test_csv(store: Store) -> None:
    with store.snapshot() as rows:
        read = list(csv.reader(io.StringIO("".join(to_csv(rows)))))
    assert tuple(read[0]) == COLUMNS
    assert len(read) == 8
    second = dict(zip(COLUMNS, read[2], strict=True))
    assert json.loads(second["cost"]) == {"kind": "pure-dp", "epsilon": 0.1}
    assert second["analyst"] == "'=cmd()"  # a spreadsheet would run it
    assert "hidden" not in str(read)


def test_json_is_one_object(store: Store) -> None:
    with store.snapshot() as rows:
        plain = json.loads("".join(to_json(rows)))
    (chain,) = plain["ledgers"]
    assert chain["dataset"] == DATASET
    assert [entry["sequence"] for entry in chain["entries"]] == list(range(1, 8))
    assert chain["head"]["hash"] == chain["entries"][-1]["hash"]


def test_costs_are_counted_where_they_were_paid(store: Store) -> None:
    assert costs_of(store.ledger(DATASET).entries()) == [
        (PureDP(0.1), 2),
        (ZCDP(0.01), 1),
        (None, 1),
        (GDP(0.5), 1),
    ]


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([(ZCDP(0.01), 10)], None),
        ([(GDP(0.1), 10)], None),
        ([(PureDP(0.1), 10)], None),
        ([(PureDP(0.0), 5), (ZCDP(0.02), 1)], None),
    ],
)
def test_events_are_understood_by_dp_accounting(costs: list[tuple[Cost, int]], expected: None) -> None:
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    accountant = RdpAccountant(neighboring_relation=relation)
    accountant.compose(to_dp_accounting(to_events(costs)))
    theirs = accountant.get_epsilon(DELTA)
    ours = pld_report(costs, DELTA)["epsilon"]
    assert ours > 0
    assert ours <= theirs * 1.1  # the report is the tighter; rho, which it only converts, is within a tenth
    assert theirs < 3


def test_the_report_agrees_with_the_exact_compositions() -> None:
    pure = pld_report([(PureDP(0.1), 10)], DELTA)["epsilon"]
    assert pure == pytest.approx(optimal(0.1, 0.0, 10, DELTA), rel=1e-3)
    gaussian = pld_report([(GDP(0.1), 10)], DELTA)["epsilon"]
    assert gaussian == pytest.approx(gdp_to_dp(math.sqrt(0.1), DELTA), rel=1e-3)
    rho = pld_report([(ZCDP(0.01), 10)], DELTA)["epsilon"]
    assert rho == pytest.approx(zcdp_to_dp(0.1, DELTA), rel=1e-9)
    mixed = pld_report([(PureDP(0.1), 10), (ApproxDP(0.1, 1e-9), 2), (ZCDP(0.01), 1)], DELTA)["epsilon"]
    assert pure < mixed < pure + 0.2 + zcdp_to_dp(0.01, DELTA / 2) + 0.1
    assert pld_report([], DELTA)["epsilon"] == 0


def test_what_is_not_private_is_not_reported_as_private() -> None:
    assert to_events([(None, 1), (Bits(3.0), 2)]) == [
        {"event": "NonPrivateDpEvent", "count": 1},
        {"event": "NonPrivateDpEvent", "count": 2},
    ]
    assert to_events([(ApproxDP(0.1, 1e-9), 1)])[0]["event"] == "UnsupportedDpEvent"
    for cost in (None, Bits(3.0), RDP((2.0,), (0.1,))):
        with pytest.raises(GuaranteeUnavailable, match="privacy loss distribution"):
            pld_report([(cost, 1)], DELTA)
    with pytest.raises(InvalidParameter, match="delta"):
        pld_report([], 0)


def test_a_pure_event_is_not_smaller_than_its_cost() -> None:
    for epsilon in (1e-6, 0.1, 1.0, 20.0, 800.0):
        (event,) = to_events([(PureDP(epsilon), 1)])
        share = event["noise_parameter"] / 2
        assert share == 0 or math.log((1 - share) / share) >= epsilon * (1 - 1e-9)


def test_the_store_file_is_not_needed_for_the_export(store: Store, tmp_path: Path) -> None:
    from holdfast.guard.ledger.verify import verify

    path = tmp_path / "export.json"
    with store.snapshot() as rows:
        path.write_text("".join(to_json(rows)))
    assert verify(path).ok


def test_what_costs_nothing_is_no_event() -> None:
    costs: list[Cost] = [ApproxDP(0.0, 0.0), Bits(0.0), RDP((2.0,), (0.0,))]
    assert [to_events([(cost, 3)])[0]["event"] for cost in costs] == ["NoOpDpEvent"] * 3


def test_the_package_that_adds_up_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dp_accounting", "dp_accounting.pld"):
        monkeypatch.setitem(sys.modules, name, None)
    said = "dp_accounting is not installed: `pip install dp-accounting`"
    for act in (lambda: to_dp_accounting(to_events([(PureDP(0.1), 1)])), lambda: pld_report([(PureDP(0.1), 1)], DELTA)):
        with pytest.raises(NotInstalled, match=said) as caught:
            act()
        assert caught.value.name == "dp_accounting"
    with pytest.raises(InvalidParameter, match="delta"):  # what is wrong is said first
        pld_report([], 2.0)
