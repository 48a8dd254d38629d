"""Submitting over the wire, in every form that predictions come in: one submission, checked receipts, a leaderboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.client import NotAllowed, ReceiptInvalid, RemoteSubmission, check_receipt
from holdfast.client.remote_guard import check_submission, read_leaderboard
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from tests.client.flaky import flaky_proxy
from tests.server.live import Live

N = 2000
ROWS = "id,age,rich\n" + "".join(f"{i},{20 + i % 50},{str(i % 4 == 0).lower()}\n" for i in range(N))
BOARDS = [
    {"name": "income", "key": "id", "label": "rich", "metric": "accuracy"},
    {"name": "climb", "key": "id", "label": "rich", "metric": "brier", "rule": "ladder", "step": 0.02},
]
POLICY = {"questions": 60, "boards": BOARDS}
SAYS = [i % 3 == 0 for i in range(N)]
TRUE = 0.5835


@pytest.fixture(scope="module")
def guard(live: Live) -> Iterator[hf.client.RemoteGuard]:
    made = live.guard("submissions of the client", POLICY, ROWS)
    with live.client() as steward:
        token = steward.post(
            "/api/v1/tokens", json={"role": "analyst", "name": "submitter", "guards": [made["id"]]}
        ).json()["token"]
    with hf.connect(live.url, token) as connection:
        yield connection.guard()


def forms(folder: Path) -> list[tuple[str, Any, dict[str, Any]]]:
    """The same predictions, said differently."""
    frame = pd.DataFrame({"id": range(N), "age": 0, "prediction": SAYS})
    written = {"csv": folder / "p.csv", "parquet": folder / "p.parquet", "json": folder / "p.json"}
    frame.sample(frac=1, random_state=1).to_csv(written["csv"], index=False)
    pl.from_pandas(frame).write_parquet(written["parquet"])
    written["json"].write_text(json.dumps({"keys": list(range(N)), "predictions": SAYS}))
    return [
        ("mapping", dict(enumerate(SAYS)), {}),
        ("mapping in another order", {i: SAYS[i] for i in reversed(range(N))}, {}),
        ("two columns", {"keys": list(range(N)), "predictions": SAYS}, {}),
        ("pandas", frame, {}),
        ("series", pd.Series(SAYS, index=range(N)), {}),
        ("polars", pl.from_pandas(frame), {}),
        ("numpy", np.array(SAYS), {"keys": np.arange(N)}),
        ("list", SAYS, {"keys": [str(i) for i in range(N)]}),
        *((name, path, {}) for name, path in written.items()),
        ("path as text", str(written["csv"]), {}),
    ]


def test_every_form_is_the_same_submission(guard: hf.client.RemoteGuard, tmp_path: Path) -> None:
    found = {}
    for name, given, more in forms(tmp_path):
        found[name] = guard.submit(given, board="income", guess=TRUE, name="thirds", **more)
    first, *rest = found.values()
    assert isinstance(first, RemoteSubmission)
    assert (first.confirmed, first.count, first.name, first.analyst) == (True, N, "thirds", "submitter")
    assert first.interval[0] < TRUE < first.interval[1]
    assert not first.repeated
    for name, one in zip(list(found)[1:], rest, strict=True):
        assert one.repeated, name
        assert (one.sequence, one.predictions) == (first.sequence, first.predictions), name
    assert guard.remaining()["yours"]["questions"] == first.remaining["yours"]["questions"]
    same = [one for one in guard.submissions("income") if one["predictions"] == first.predictions]
    assert [one["sequence"] for one in same] == [first.sequence]
    plain = first.to_dict()
    assert plain["board"] == "income"
    json.dumps(plain)


def test_the_receipt_is_about_what_was_sent(guard: hf.client.RemoteGuard) -> None:
    from holdfast.guard.scoring.predictions import predictions

    given = dict.fromkeys(range(N), False)
    answer = guard.submit(given, board="income", guess=0.75)
    pinned = guard._pin()
    assert pinned is not None
    receipt = check_receipt(answer, pinned, dataset=guard.dataset)
    sent = predictions(given, "id", "integer", "boolean")
    check_submission(answer, receipt.question, sent)
    other = predictions(given | {0: True}, "id", "integer", "boolean")
    with pytest.raises(ReceiptInvalid, match="other predictions"):
        check_submission(answer, receipt.question, other)
    with pytest.raises(ReceiptInvalid, match="another submission"):
        check_submission(replace(answer, guess=0.9), receipt.question, sent)
    with pytest.raises(ReceiptInvalid, match="differs from the answer"):
        check_receipt(replace(answer, value=0.9), pinned)


def test_what_is_wrong_is_said_before_anything_is_sent(guard: hf.client.RemoteGuard, tmp_path: Path) -> None:
    left = guard.remaining()["yours"]["questions"]
    for given, more, words in (
        ({}, {}, "1 to"),
        ({1: "yes"}, {}, "true or false"),
        ({"one": True}, {}, "whole numbers"),
        ([True, False], {}, "a list of predictions together with keys="),
        ([True, False], {"keys": [1]}, "predictions must have one prediction for each key"),
        ({"keys": [1, 1], "predictions": [True, False]}, {}, "occur twice"),
        (pd.DataFrame({"id": [1], "guess": [True]}), {}, "'id' and 'prediction'"),
        (tmp_path / "p.xlsx", {}, "must end in"),
        ({1: True}, {"board": "no such board"}, "income, climb"),
        ({1: True}, {"board": None}, "income, climb"),
        ({1: True}, {"guess": None}, "guess must be given"),
        ({1: True}, {"guess": 1.5}, "guess"),
        ({1: True}, {"name": "x" * 101}, "name"),
        ({1: True}, {"output": "y"}, "unless a model"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            guard.submit(given, **({"board": "income", "guess": 0.5} | more))
    with pytest.raises(FileNotFoundError):
        guard.submit(tmp_path / "none.csv", board="income", guess=0.5)
    (tmp_path / "m.onnx").write_bytes(b"model")
    with pytest.raises(QuestionRefused, match="does not accept models; submit predictions instead"):
        guard.submit(tmp_path / "m.onnx", board="income", guess=0.5)
    assert guard.remaining()["yours"]["questions"] == left


def test_a_lost_connection_pays_once(live: Live, guard: hf.client.RemoteGuard) -> None:
    token = guard._wire._http.headers["authorization"].removeprefix("Bearer ")
    given = {i: i % 5 == 0 for i in range(N)}
    left = guard.remaining()["yours"]["questions"]
    with flaky_proxy(live.url) as flaky, hf.connect(flaky.url, token) as connection:
        through = connection.guard()
        flaky.plan("pass", "lose answer", "503", "lose request", "half")  # the first reads what the board takes
        answer = through.submit(given, board="income", guess=0.55, key="night-7")
        assert [key for path, key in flaky.seen if "/submissions" in path] == ["night-7"] * 5
    assert guard.remaining()["yours"]["questions"] == left - 1
    assert guard.submit(given, board="income", guess=0.55, key="night-7").sequence == answer.sequence


def test_the_leaderboard(live: Live, guard: hf.client.RemoteGuard) -> None:
    guard.submit(dict.fromkeys(range(N), 0.25), board="climb", name="flat")
    board = guard.leaderboard("climb")
    assert board.board.metric == "brier"
    (place,) = board.places
    assert (place.rank, place.analyst, place.name) == ((1, 1), "submitter", "flat")
    assert str(board).startswith("climb (brier, ladder), 1 submissions")
    shown = replace(board, places=(replace(place, name="<b>flat</b>"),))._repr_html_()
    assert "<svg" in shown
    assert "<b>" not in shown
    assert "&lt;b&gt;flat" in shown
    with pytest.raises(InvalidParameter, match="income, climb"):
        guard.leaderboard()
    with pytest.raises(NotAllowed):
        guard.leaderboard("climb", every=True)
    again = guard.submit(dict.fromkeys(range(N), 0.25), board="climb")
    assert again.improved
    assert "A new best: 0.19" in again._repr_html_()
    worse = guard.submit(dict.fromkeys(range(N), 0.9), board="climb")
    assert not worse.improved
    assert worse.value is None
    assert "nothing" in worse._repr_html_()
    guard.submit({i: float(i % 4 == 0) for i in range(N)}, board="climb")
    beaten = guard.submit(dict.fromkeys(range(N), 0.25), board="climb")
    assert (beaten.repeated, beaten.improved, beaten.value) == (True, False, again.value)
    assert "It was beaten since." in beaten._repr_html_()
    pinned = guard._pin()
    assert pinned is not None
    check_receipt(beaten, pinned, dataset=guard.dataset)  # which holds what was true when it was scored
    check_receipt(beaten.to_dict(), pinned, dataset=guard.dataset)
    with pytest.raises(hf.client.ServerUnavailable, match="does not understand"):
        read_leaderboard({"places": [{}]})


def test_budgets_end(live: Live) -> None:
    made = live.guard("one submission", {"questions": 1, "boards": BOARDS[:1]}, ROWS.replace("age", "years"))
    with hf.connect(live.url, live.steward_token, guard=made["id"]) as steward:
        first = steward.submit({1: True}, guess=0.0)
        assert steward.submit({1: True}, guess=0.0).sequence == first.sequence
        with pytest.raises(BudgetExhausted):
            steward.submit({2: True}, guess=0.0)
        steward.guard().close("enough")
        with pytest.raises(QuestionRefused):
            steward.submit({3: True}, guess=0.0)


def test_the_commands(live: Live, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = live.guard("commands that submit", POLICY, ROWS.replace("age", "decades"))
    monkeypatch.setenv("HOLDFAST_TOKEN", live.steward_token)
    file = tmp_path / "p.csv"
    pd.DataFrame({"id": range(N), "prediction": SAYS}).to_csv(file, index=False)
    words = ["submit", live.url, made["name"], str(file), "--board", "income", "--guess", str(TRUE), "--name", "thirds"]
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["confirmed"]
    assert run([*words, "--key", "k"]) == 0
    assert "Scored before, free: income" in capsys.readouterr().out
    assert run([*words, "--analyst", "somebody"]) == 2
    assert run(["leaderboard", live.url, "--dataset", made["name"], "--board", "income", "--every"]) == 0
    assert "thirds" in capsys.readouterr().out
    assert run(["submit", live.url, made["name"], str(file), "--board", "climb", "--guess", "0.1"]) == 2
    assert run(["guard", "pause", live.url, "--dataset", made["name"]]) == 0
    assert run(["submit", live.url, made["name"], str(file), "--board", "income", "--guess", "0.1"]) == 3
