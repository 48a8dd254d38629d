"""Free work: as much as an allowance of processor time, one large request of an analyst at a time, in short slices."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from holdfast.core.checkpoint import checkpoint
from holdfast.server import scheduling
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem
from holdfast.server.middleware import Bodies, RequestId, Slots
from holdfast.server.observability import Metrics
from holdfast.server.scheduling import AT_ONCE, MOST_WAITING, FreeWork, Threads
from holdfast.server.settings import Settings
from tests.server.live import CHECK, POLICY, Live, running


def burn(seconds: float) -> None:
    """Use so much processor time, with checkpoints."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        checkpoint()


def bounded(others: Callable[[], bool] = lambda: False, **given: Any) -> FreeWork:
    return FreeWork(Settings(**given), Threads(4, "light").run, others)


def test_what_is_used_is_taken_from_the_allowance_of_its_analyst_and_comes_back() -> None:
    free = bounded(free_work=0.01, free_work_burst=0.05)

    async def main() -> None:
        for light in (True, False):
            _, seconds = await free.run("ann", light, burn, 0.03)
            assert seconds >= 0.03, "processor time, and not what sleeping takes"
        _, seconds = await free.run("bob", True, time.sleep, 0.2)
        assert seconds < 0.1
        with pytest.raises(Problem) as refused:
            await free.run("ann", True, burn, 0.0)
        assert refused.value.code == "rate-limited"
        assert int(refused.value.headers["Retry-After"]) >= 1
        assert refused.value.delay > 0, "who repeats it at once does so once a second"
        free.require("bob")
        free.charge("ann", -1.0)  # it was paid for after all
        free.require("ann")

    asyncio.run(main())
    free.close()


def test_what_fails_or_is_given_up_is_charged_too() -> None:
    free = bounded(free_work=1e-6, free_work_burst=0.02)

    def fails() -> None:
        burn(0.03)
        raise ValueError("of its own")

    async def main() -> None:
        with pytest.raises(ValueError, match="of its own"):
            await free.run("ann", False, fails)
        with pytest.raises(Problem):
            free.require("ann")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await free.run("bob", False, burn, 60.0)
        async with asyncio.timeout(10):  # far less than it would have worked
            while True:
                try:
                    free.require("bob")
                except Problem:
                    break
                await asyncio.sleep(0.01)

    asyncio.run(main())
    free.close()


def test_large_requests_of_one_analyst_take_turns_and_few_are_at_work_at_all() -> None:
    free, go = bounded(free_work=1e6), threading.Event()
    at_work: dict[str, int] = {}
    most: dict[str, int] = {}
    lock = threading.Lock()

    def work(analyst: str) -> None:
        with lock:
            for name in (analyst, "all"):
                at_work[name] = at_work.get(name, 0) + 1
                most[name] = max(most.get(name, 0), at_work[name])
        go.wait(20)
        with lock:
            for name in (analyst, "all"):
                at_work[name] -= 1

    async def main() -> None:
        asked = [
            asyncio.create_task(free.run(name, False, work, name)) for name in ("ann", "bob", "cyd") for _ in range(5)
        ]
        await asyncio.sleep(0.05)
        go.set()
        await asyncio.gather(*asked)
        go.clear()
        waiting = [asyncio.create_task(free.run("ann", False, work, "ann")) for _ in range(MOST_WAITING + 1)]
        await asyncio.sleep(0.01)
        with pytest.raises(Problem, match="rate-limited"):
            await free.run("ann", False, work, "ann")
        go.set()
        await asyncio.gather(*waiting)
        assert free._turns == {}, "nothing is left of those who are gone"

    asyncio.run(main())
    free.close()
    assert most == {"ann": 1, "bob": 1, "cyd": 1, "all": AT_ONCE}


def test_it_is_done_in_short_slices_while_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    alone, beside = bounded(free_work=1e6), bounded(lambda: True, free_work=1e6)
    asyncio.run(alone.run("ann", False, burn, 0.04))
    assert slept == []
    asyncio.run(beside.run("ann", False, burn, 0.04))
    rested = sum(slept) / scheduling.REST
    assert len(slept) >= 2
    assert rested >= 0.03, "all but the last slice"
    for one in (alone, beside):
        one.close()


def test_parts_are_counted_over_all_questions_and_predictions_are_none() -> None:
    free = bounded(max_parts=1000)
    assert free.parts([CHECK, CHECK]) == 2 * free.parts([CHECK])
    large = {"kind": "select", "candidates": {f"c{i}": f"age < {i}" for i in range(300)}}
    with pytest.raises(Problem) as refused:
        free.parts([large])
    assert refused.value.code == "too-large"
    assert "1000 parts" in refused.value.detail
    assert free.parts([{"kind": "score", "board": "b", "predictions": {"keys": list(range(5000))}}]) == 0
    free.close()


def test_a_request_with_too_many_parts_is_refused_before_any_is_parsed(live: Live) -> None:
    """The attack that stopped everybody: each way in says the limit, and large bodies wait for their analyst's turn."""
    candidates = {f"c{i}": " or ".join(f"age<{i + j}" for j in range(91)) for i in range(1000)}
    attack = {"kind": "select", "candidates": candidates}
    at = f"/api/v1/guards/{live.guard('attacked')['id']}"
    with live.analyst("ann") as ann:
        for path, body in (
            ("/estimate", {"question": attack}),
            ("/ask", {"question": attack}),
            ("/batch", {"questions": [CHECK, attack]}),
            ("/stream", {"questions": [CHECK, attack]}),
        ):
            text = json.dumps(body, separators=(",", ":"))
            refused = ann.post(at + path, content=text, headers={"Content-Type": "application/json"})
            assert (refused.status_code, refused.json()["code"]) == (413, "too-large"), path
            assert "20000 parts" in refused.json()["detail"]
        fine = {"kind": "select", "candidates": dict(list(candidates.items())[:20])}
        assert ann.post(at + "/estimate", json={"question": fine}).json()["admitted"]
        answer = ann.post(at + "/ask", json={"question": fine}, headers={"Idempotency-Key": "k"})
        assert answer.status_code == 200
        assert ann.post(at + "/ask", json={"question": fine}).json()["repeated"], "large questions are found again"


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/x+json"])
def test_a_large_body_is_parsed_in_its_analysts_turn_however_it_calls_itself(kind: str) -> None:
    read: list[Any] = []

    async def parsed(analyst: str, body: bytes, asks: bool) -> Any:
        read.append((analyst, len(body), asks))
        return "parsed"

    free = SimpleNamespace(LARGE=FreeWork.LARGE, require=lambda _: None, read=parsed)
    server: Any = SimpleNamespace(settings=Settings(), free=free)

    async def ask(size: int) -> Any:
        headers = [(b"content-type", kind.encode()), (b"content-length", str(size).encode())]
        state = {"caller": Caller("1", "analyst", "ann")}
        scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/api/v1/guards/g/ask"}
        scope |= {"headers": headers, "state": state}

        async def receive() -> Any:
            return {"type": "http.request", "body": bytes(size), "more_body": False}

        async def inside(scope: Any, receive: Any, _: Any) -> None:
            assert len((await receive())["body"]) == size

        async def send(_: Any) -> None:
            raise AssertionError("nothing is sent from here")

        await Bodies(inside, server)(scope, receive, send)
        return scope["state"].get("json")

    assert asyncio.run(ask(FreeWork.LARGE)) is None
    assert asyncio.run(ask(FreeWork.LARGE + 1)) == "parsed"
    assert read == [("ann", FreeWork.LARGE + 1, True)]


def test_an_analyst_whose_allowance_is_used_up_waits_and_nobody_else_does() -> None:
    many = [CHECK | {"expression": f"not (age < {i})"} for i in range(150)]
    with ExitStack() as stack:
        stingy = stack.enter_context(running(free_work=1e-6, free_work_burst=0.02))  # it does not come back in a test
        at = f"/api/v1/guards/{stingy.guard('busy', POLICY | {'questions': 20})['id']}"
        ann, bob = (stack.enter_context(stingy.analyst(name)) for name in ("ann", "bob"))
        statuses: list[int] = []
        while len(statuses) < 100 and statuses[-1:] != [429]:
            statuses.append(ann.post(at + "/batch", json={"questions": many}).status_code)
        assert statuses[0] == 409, "more than fit"
        assert set(statuses) == {409, 429}, "refused batches use it up"
        refused = ann.post(at + "/estimate", json={"question": CHECK})
        assert (refused.status_code, refused.json()["code"]) == (429, "rate-limited")
        assert int(refused.headers["retry-after"]) >= 1
        assert ann.post(at + "/ask", json={"question": CHECK}).status_code == 429
        assert ann.get(at + "/remaining").status_code == 200, "what is left can be read"
        assert bob.post(at + "/ask", json={"question": CHECK}).status_code == 200
        with stingy.client() as steward:
            assert steward.get(at).json()["remaining"]["questions"] == 19, "and nothing of it was paid for"


def test_repeated_questions_and_submissions_without_a_known_key_use_up_the_allowance_of_their_analyst() -> None:
    """A stored answer is cheap, and so many of them are not: whoever floods the server with them waits alone."""
    board = {"name": "b", "key": "id", "label": "rich", "metric": "accuracy", "public_keys": True}
    rows = "id,rich\n" + "".join(f"{i * 37 % 2003},{'true' if i % 3 else 'false'}\n" for i in range(2000))
    unknown = "id,prediction\n9001,true\n"
    with ExitStack() as stack:
        stingy = stack.enter_context(running(free_work=1e-6, free_work_burst=0.05))  # it does not come back in a test
        at = f"/api/v1/guards/{stingy.guard('flooded', POLICY | {'questions': 20})['id']}"
        boards = stingy.guard("boards", {"questions": 20, "boards": [board]}, rows)
        ann, bob, cyd, dee = (stack.enter_context(stingy.analyst(name)) for name in ("ann", "bob", "cyd", "dee"))

        def flood(ask: Callable[[], Any], expected: int) -> None:
            statuses: list[int] = []
            while len(statuses) < 1000 and statuses[-1:] != [429]:
                statuses.append(ask().status_code)
            assert set(statuses) == {expected, 429}

        flood(lambda: ann.post(at + "/ask", json={"question": CHECK}), 200)
        at_board = f"/api/v1/guards/{boards['id']}"
        csv = {"Content-Type": "text/csv"}
        sent = {"board": "b", "guess": 0.5}
        flood(lambda: bob.post(at_board + "/submissions", params=sent, content=unknown, headers=csv), 422)
        question = {"kind": "score", "board": "b", "predictions": {"keys": [9001], "predictions": [True]}, "guess": 0.5}
        flood(lambda: cyd.post(at_board + "/ask", json={"question": question}), 422)
        assert dee.post(at + "/ask", json={"question": CHECK}).status_code == 200
        known = "id,prediction\n0,true\n37,false\n"
        done = dee.post(at_board + "/submissions", params=sent, content=known, headers=csv)
        assert done.status_code == 200, done.text
        with stingy.client() as steward:
            assert steward.get(at).json()["remaining"]["questions"] == 18
            assert steward.get(at_board).json()["remaining"]["questions"] == 19


def test_refusals_that_are_held_back_take_no_place() -> None:
    server: Any = SimpleNamespace(metrics=Metrics(Settings()))
    refused: list[Any] = []
    answered: list[Any] = []

    async def inside(scope: Any, _: Any, send: Any) -> None:
        if scope["path"] == "/api/refused":
            raise Problem("rate-limited", "later", delay=0.5)
        await PlainTextResponse("well")(scope, _, send)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def ask(path: str, sent: list[Any]) -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b"", "state": {}}
        await layers(scope, receive, send)

    layers = RequestId(Slots(inside, Settings(threads=1, queue=0)), server)

    async def main() -> None:
        asked = [asyncio.create_task(ask("/api/refused", refused)) for _ in range(5)]
        await asyncio.sleep(0)
        await ask("/api/well", answered)
        assert refused == [], "they are held back"
        await asyncio.gather(*asked)

    asyncio.run(main())
    assert answered[0]["status"] == 200
    assert [one["status"] for one in refused if "status" in one] == [429] * 5


def test_levels_and_tests_are_free_work_in_slices() -> None:
    """What a p-value is worth takes long to work out: it has a turn and an allowance, as a large estimate has."""
    free = bounded()
    assert free.is_light([CHECK])
    assert not free.is_light([CHECK, {"kind": "test", "name": "gof", "columns": ["age"]}])
    free.close()
    privacy = {"kind": "zcdp", "rho": 0.001}
    with running(free_work=1e-6, free_work_burst=0.2, rate=1000.0, burst=1000) as live:
        guard = live.guard("priced", POLICY | {"questions": 10, "privacy": privacy, "spend": privacy | {"rho": 1e-6}})
        with live.analyst("ann") as ann:
            for ask in ("level?alpha=", "adjusted?p="):
                at = f"/api/v1/guards/{guard['id']}/{ask}"
                assert any(ann.get(f"{at}{0.01 + i / 1e6}").status_code == 429 for i in range(200))


def test_light_work_of_one_analyst_is_done_a_few_at_a_time() -> None:
    free = bounded()
    at_work = threading.Semaphore(0)
    most, now, lock = 0, 0, threading.Lock()

    def work() -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        at_work.release()

    async def main() -> None:
        await asyncio.gather(*(free.run("ann", True, work) for _ in range(8)))

    asyncio.run(main())
    assert most <= scheduling.LIGHT_AT_ONCE
    free.close()
