"""Epochs of a guard on a server: extended, asked by number, all together, or the latest, over HTTP and by an agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from holdfast.client import Connection, connect
from holdfast.client.errors import NotAllowed, NotFound, ReceiptInvalid
from holdfast.errors import HoldfastError, InvalidParameter, LedgerConflict
from holdfast.guard.ledger.receipts import Receipt
from holdfast.server.agents.tools import Tools
from tests.server.live import Live, running

CHECK = {"kind": "check", "expression": "right", "guess": 0.75}
ROWS = 600


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with running() as server:
        yield server


def month(folder: Path, number: int) -> Path:
    path = folder / f"month-{number}.parquet"
    right = np.random.default_rng(number).random(ROWS) < 0.75
    pl.DataFrame({"right": right, "item": [f"{number}-{i}" for i in range(ROWS)]}).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def steward(live: Live, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """Whoever stewards a guard of two epochs."""
    folder = tmp_path_factory.mktemp("months")
    with connect(live.url, live.steward_token) as connection:
        first = connection.upload_sample("january", month(folder, 0), row_key="item")
        guard = connection.create_guard("eval", first["id"], {"questions": 30})
        guard.ask({**CHECK, "guess": 0.2})
        with pytest.raises(LedgerConflict, match="these are the rows of epoch 1"):
            guard.extend(first["id"])
        second = connection.upload_sample("february", month(folder, 1), row_key="item")
        extended = guard.extend(second["id"])
        assert extended.name == "eval (2)"
        with pytest.raises(LedgerConflict):
            guard.extend(second["id"], name="again")
        yield connection


def test_questions_go_to_the_latest_a_named_or_all_epochs(live: Live, steward: Connection) -> None:
    ids = [steward.guard("eval").id]
    token = steward.issue_token("analyst", "ann", guards=ids)["token"]
    with connect(live.url, token) as ann:
        guard = ann.guard("eval")
        epochs = guard.describe()["epochs"]
        assert [(one["number"], one["name"], one["n"]) for one in epochs] == [(1, "eval", ROWS), (2, "eval (2)", ROWS)]
        latest, first, every = guard.ask(CHECK), guard.ask(CHECK, epoch=1), guard.ask(CHECK, epoch="all")
        datasets = [Receipt.from_dict(answer.receipt or {}).dataset for answer in (latest, first, every)]
        assert datasets == [epochs[1]["dataset"], epochs[0]["dataset"], epochs[0]["dataset"]]
        assert every.details["rows"] == [ROWS, ROWS]
        assert guard.ask(CHECK, epoch=2).repeated
        assert guard.ask_all([CHECK], epoch="all")[0].repeated
        assert ann.guard("eval (2)").ask(CHECK).repeated
        wide, narrow = guard.estimate({**CHECK, "guess": 0.7}), guard.estimate({**CHECK, "guess": 0.7}, epoch="all")
        assert wide.half_width is not None
        assert narrow.half_width is not None
        assert narrow.half_width < wide.half_width
        with pytest.raises(InvalidParameter, match="epoch must be at most 2"):
            guard.ask(CHECK, epoch=3)
        with pytest.raises(NotAllowed):
            guard.extend("s_" + "0" * 16)
        [answer] = [one for _, one in guard.stream([CHECK])]
        assert not isinstance(answer, HoldfastError)
        assert answer.repeated
        tools = Tools(guard)
        assert tools.call("ask", {"question": CHECK, "epoch": "all"}).data["repeated"]
        assert tools.call("estimate", {"question": CHECK, "epoch": 1}).data["repeated"]
        assert tools.call("ask", {"question": CHECK, "epoch": "x"}).refused
    assert steward.guard("eval").verify()["ok"]
    assert steward.guard("eval (2)").verify()["ok"]


def test_a_token_for_another_guard_reaches_no_epoch(live: Live, steward: Connection, tmp_path: Path) -> None:
    other = steward.upload_sample("other", month(tmp_path, 7), row_key="item")
    ids = [steward.create_guard("other", other["id"], {"questions": 3}).id]
    token = steward.issue_token("analyst", "bob", guards=ids)["token"]
    with connect(live.url, token) as bob:
        assert [guard.name for guard in bob.guards()] == ["other"]
        for epoch in steward.guard("eval").describe()["epochs"]:
            with pytest.raises(NotFound):
                bob._wire.post(f"/guards/{epoch['id']}/ask", {"question": CHECK, "epoch": "all"}, key="k")


def test_an_answer_of_another_epoch_than_was_asked_is_refused(
    steward: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.client import remote_guard

    guard = steward.guard("eval")
    monkeypatch.setattr(remote_guard, "_named", lambda epoch: {"epoch": 2})
    for asked in (1, "all"):
        with pytest.raises(ReceiptInvalid, match="another ledger than that of the epoch that was asked"):
            guard.ask({**CHECK, "guess": 0.74}, epoch=asked)  # type: ignore[arg-type]
