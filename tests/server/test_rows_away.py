"""Rows that are out of reach for a while: what was answered is still there, and nobody is hindered by who fails."""

from __future__ import annotations

import gc
import json
import threading
import time
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import SampleUnavailable
from holdfast.server import guards
from holdfast.server.auth.tokens import Caller
from holdfast.server.guards import Asking, ask_all, request_of
from holdfast.server.http import Problem
from holdfast.server.settings import Settings
from holdfast.server.state import Server
from tests.server.live import CHECK, PEOPLE, running

ROWS = "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(2000))
ANN, EVE = Caller("1", "analyst", "ann"), Caller("2", "analyst", "eve", frozenset())


def check(number: int) -> dict[str, Any]:
    return {"kind": "check", "expression": f"b < {4 + number / 1024!r}", "guess": 4 / 7}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(Settings(folder=tmp_path / "here", allow_folder=(tmp_path,)))
    yield made
    made.close()


@pytest.fixture
def guard(server: Server, tmp_path: Path) -> str:
    (tmp_path / "rows.csv").write_text(ROWS)
    sample = server.samples.add("rows", "path", "rows.csv")
    return str(server.guards.create("rows", sample["id"], {"questions": 50})["id"])


def together(server: Server, guard: str, *asked: tuple[Caller, Any, str | None]) -> list[Any]:
    async def work(*_: Any) -> list[Any]:
        return []

    requests = [request_of(server.guards, guard, *one) for one in asked]
    return Asking(server.guards, server.free, work, 2).ask_each(guard, requests)


def test_a_stream_ends_where_the_rows_are_away_and_goes_on_after_a_refusal(tmp_path: Path) -> None:
    at = tmp_path / "people.csv"
    at.write_text(PEOPLE)
    with running(allow_folder=(tmp_path,)) as live, live.client() as steward, live.analyst("ann") as ann:
        made = steward.post("/api/v1/samples/register", json={"name": "away", "path": at.name}).json()["id"]
        body = {"name": "away", "sample": made, "policy": {"questions": 50}}
        address = f"/api/v1/guards/{steward.post('/api/v1/guards', json=body).json()['id']}"

        def stream(*questions: Any) -> list[dict[str, Any]]:
            done = ann.post(f"{address}/stream", json={"questions": questions})
            assert done.status_code == 200, done.text
            return [json.loads(line) for line in done.text.splitlines()]

        odd = {"kind": "mean", "expression": "age < 45"}
        found = stream(CHECK, odd, CHECK | {"guess": 0.51})
        assert [line["event"] for line in found] == ["started", "answered", "refused", "answered", "done"]
        at.unlink()
        found = stream(CHECK, CHECK | {"guess": 0.52}, CHECK | {"guess": 0.53})
        assert [line["event"] for line in found] == ["started", "answered", "refused", "done"]
        assert found[1]["answer"]["repeated"]
        assert found[2]["problem"]["code"] == "sample-unavailable"
        assert (found[3]["answered"], found[3]["questions"]) == (1, 3)
        assert steward.get(address).json()["remaining"]["questions"] == 48


def test_stored_answers_need_no_rows(tmp_path: Path) -> None:
    """As a client meets it: the file goes away, and comes back."""
    at = tmp_path / "people.csv"
    at.write_text(PEOPLE)
    with (
        running(allow_folder=(tmp_path,)) as live,
        live.client() as steward,
        live.analyst("ann") as ann,
        live.analyst("eve", guards=[]) as eve,
    ):
        made = steward.post("/api/v1/samples/register", json={"name": "away", "path": at.name})
        assert made.status_code == 201, made.text
        body = {"name": "away", "sample": made.json()["id"], "policy": {"questions": 50}}
        guard = steward.post("/api/v1/guards", json=body).json()["id"]
        address = f"/api/v1/guards/{guard}"
        keyed = {"Idempotency-Key": "k"}
        first = ann.post(f"{address}/ask", json={"question": CHECK}, headers=keyed).json()
        at.unlink()
        new = {"question": CHECK | {"guess": 0.51}}
        for _ in range(3):
            assert ann.post(f"{address}/ask", json=new).json()["code"] == "sample-unavailable"
            again = ann.post(f"{address}/ask", json={"question": CHECK}, headers=keyed)
            assert again.status_code == 200, again.text
            assert again.json() == first | {"repeated": True}
            batch = ann.post(f"{address}/batch", json={"questions": [CHECK, CHECK]})
            assert [one["sequence"] for one in batch.json()["answers"]] == [first["sequence"]] * 2
            mixed = ann.post(f"{address}/batch", json={"questions": [CHECK, new["question"]]})
            assert mixed.json()["code"] == "sample-unavailable"
            assert eve.post(f"{address}/ask", json=new).json()["code"] == "not-found"
        at.write_text(PEOPLE)
        time.sleep(1.2)
        assert ann.post(f"{address}/ask", json=new).status_code == 200


def test_who_does_not_reach_a_guard_does_not_hear_that_its_rows_are_gone(
    server: Server, guard: str, tmp_path: Path
) -> None:
    server.guards._open.clear()
    (tmp_path / "rows.csv").unlink()
    found = together(server, guard, (ANN, check(0), "a"), (EVE, check(1), "e"))
    assert isinstance(found[0], SampleUnavailable)
    assert isinstance(found[1], Problem)
    assert found[1].code == "not-found"


def test_a_sample_that_failed_for_one_is_not_closed_under_another(server: Server, guard: str) -> None:
    opened = server.guards.opened(guard)
    inside, go = threading.Event(), threading.Event()

    def slowly(measure: Any, statistics: Any) -> Any:
        inside.set()
        assert go.wait(20)
        return measure(statistics)

    opened._rows.sample.measure = partial(slowly, opened._rows.sample.measure)  # type: ignore[method-assign]
    found: list[Any] = []
    reader = threading.Thread(target=lambda: found.extend(ask_all(server.guards, guard, ANN, [check(0)], None)))
    reader.start()
    assert inside.wait(20)
    server.guards.renew(guard, opened)
    fresh = server.guards.opened(guard)
    assert fresh is not opened
    server.guards.renew(guard, opened)  # somebody else, whose question failed on the old one too
    assert server.guards.opened(guard) is fresh
    go.set()
    reader.join()
    assert found[0].passed is True
    del opened._rows.sample.measure
    gone = weakref.ref(opened._rows.sample)
    del opened
    gc.collect()
    assert gone() is None, "and it is let go of with its last reader"


def test_a_guard_whose_rows_went_while_it_was_open_is_opened_again(server: Server, guard: str, tmp_path: Path) -> None:
    at, away = tmp_path / "rows.csv", tmp_path / "away.csv"
    (first,) = ask_all(server.guards, guard, ANN, [check(1)], None)
    opened = server.guards.opened(guard)
    at.rename(away)
    with pytest.raises(SampleUnavailable):
        ask_all(server.guards, guard, ANN, [check(2)], None)
    away.rename(at)
    assert server.guards.opened(guard) is not opened
    (second,) = ask_all(server.guards, guard, ANN, [check(2)], None)
    assert second.sequence == first.sequence + 1, "the failure left nothing on the ledger"


def test_rows_that_are_gone_are_not_looked_for_by_everybody_who_asks(
    server: Server, guard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.guards._open.clear()
    looked: list[float] = []

    def slow(_: str) -> Any:
        looked.append(time.monotonic())
        time.sleep(0.2)
        raise SampleUnavailable("gone")

    monkeypatch.setattr(server.samples, "open", slow)
    monkeypatch.setattr(guards, "_PAUSE", 600.0)
    threads = [threading.Thread(target=lambda i=i: together(server, guard, (ANN, check(i), None))) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(looked) == 1
    monkeypatch.undo()
    server.guards._lacking.clear()
    assert server.guards.opened(guard).ask(check(0), analyst="ann").passed is True
    assert not server.guards._lacking


def test_rows_are_not_opened_for_who_does_not_reach_the_guard(
    server: Server, guard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.guards._open.clear()
    monkeypatch.setattr(server.samples, "open", lambda _: pytest.fail("rows were opened"))
    (refused,) = together(server, guard, (EVE, check(0), None))
    assert isinstance(refused, Problem)
    assert refused.code == "not-found"
