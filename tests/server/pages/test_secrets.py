"""Tokens, exact statistics and thresholds are in no page; markup in names is shown and not read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.live import Live, entries, running
from tests.server.pages.visiting import Visitor, crawl
from tests.server.untold import require_untold

N = 3001
INCOMES = [1000.0 + 41.123457 * (i % 89) for i in range(N)]
ROW = "quagga-9917"
BOLD = "<b>bold</b>"
NAME = "<script>alert(1)</script>"


def rows() -> str:
    lines = [f"{i},{20 + i % 50},{income!r},{ROW}-{i}" for i, income in enumerate(INCOMES)]
    return "\n".join([f"id,age,income,{BOLD}", *lines]) + "\n"


def noisy_thresholds(live: Live) -> list[str]:
    """What holdouts keep in the ledger for themselves, as numbers: no share of 3,001 rows begins with those digits."""
    database = sqlite3.connect(live.folder / "ledger.db")
    states = [json.loads(state) for (state,) in database.execute("SELECT state FROM secrets")]
    database.close()
    holdouts = [state for state in states if "noisy_threshold" in state]  # digests of columns are secret too
    thresholds = [state["noisy_threshold"] * 2.0 ** state["parameters"]["grid"] for state in holdouts]
    return [f"{number:.12f}"[:-1] for number in thresholds]


@pytest.fixture(scope="module")
def alone() -> Iterator[Live]:
    """A server of its own: pages of what other tests made, such as reports to be downloaded as they are, are theirs."""
    with running() as live:
        yield live


def test_nothing_secret_is_on_any_page(alone: Live) -> None:
    live = alone
    policy: dict[str, Any] = {
        "questions": 60,
        "privacy": {"kind": "pure-dp", "epsilon": 1.0},
        "spend": {"kind": "pure-dp", "epsilon": 0.02},
        "analysts": {"ann": 1.0, NAME: 0.5},
        "holdout": "thresholdout",
        "threshold": 0.05,
        "overfits": 4,
        "holdout_spend": {"kind": "pure-dp", "epsilon": 0.5},
    }
    guard = live.guard("page secrets", policy, rows())
    with live.client() as api:
        token = api.post("/api/v1/tokens", json={"role": "analyst", "name": "ann"}).json()["token"]
    ann, steward, nobody = Visitor(live.url, token), Visitor(live.url, live.steward_token), Visitor(live.url)
    at = f"/guards/{guard['id']}"
    asked = [
        {"kind": "check", "expression": "age < 45", "guess": "0.5"},
        {"kind": "check", "expression": "age < 45", "guess": "0.9"},
        {"kind": "mean", "expression": "income", "low": "0", "high": "6000"},
        {"kind": "claim", "expression": "income", "low": "0", "high": "6000", "at_least": "100"},
        {"kind": "histogram", "column": "age", "edges": "20, 30, 40, 50, 60, 70"},
        {"kind": "mean", "expression": "income", "low": "0", "high": "6000", "spend": "9"},
        {"kind": "mean", "expression": f'length("{BOLD}") + nonsense(', "low": "0", "high": "1"},
    ]
    said = []
    for fields in asked:
        for more in ({"part": "estimate"}, {"do": "estimate"}, {"do": "ask"}):
            said.append(ann.fill(f"{at}/ask", **fields, **more).text)
    assert any("failed. The truth is between" in one for one in said)
    said.append(steward.fill(f"{at}/pause", reason=f"{BOLD}{NAME}").text)
    said.append(steward.fill(f"{at}/verify").text)
    assert "The ledger is genuine" in said[-1]
    pages = {"ann": crawl(ann, at), "steward": crawl(steward, "/", 120), "visitor": crawl(nobody)}
    assert len(pages["ann"]) > 10
    assert any("/entries/" in address for address in pages["steward"])
    everything = "\n".join([*said, *(text for seen in pages.values() for text in seen.values())])
    assert ROW not in everything
    for one in (token, live.steward_token):
        assert one.split("_")[2] not in everything
    assert "$argon2" not in everything
    young = [income for i, income in enumerate(INCOMES) if i % 50 < 25]
    exact = (sum(INCOMES) / N, sum(INCOMES), sum(young), sum(1 for i in range(N) if i % 50 < 25) / N)
    with live.client() as api:
        kept = entries(api, f"/api/v1{at}")
    require_untold(everything, [(f"{number:.6f}"[:8], number) for number in exact], kept)
    hidden = noisy_thresholds(live)
    assert hidden
    assert "noisy_threshold" not in everything
    for number in hidden:
        assert number not in everything, "a noisy threshold"
    assert BOLD not in everything
    assert NAME not in everything
    assert "&lt;b&gt;bold&lt;/b&gt;" in everything
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in everything
    for visitor in (ann, steward, nobody):
        visitor.close()
