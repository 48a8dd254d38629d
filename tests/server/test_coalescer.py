"""Calls that are gathered: in order, bounded, each with its own outcome; whoever gives up is not worked for."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.server.auth.tokens import Caller
from holdfast.server.guards import GROUPS, HEAD_START, Asking
from holdfast.server.http import Problem
from holdfast.server.scheduling import Coalescer
from holdfast.server.settings import Settings
from holdfast.server.state import Server
from tests.server.live import CHECK, Live, send


class Slow:
    """Work that waits until it is let go, and remembers its groups."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.go = asyncio.Event()

    async def __call__(self, items: list[int]) -> Sequence[int | Exception]:
        self.groups.append(items)
        await self.go.wait()
        return [LookupError(str(item)) if item == 13 else 10 * item for item in items]


def test_who_waits_is_done_together_in_order() -> None:
    async def main() -> None:
        work = Slow()
        gathered = Coalescer(work, at_once=1, most=4)
        asked = [asyncio.create_task(gathered(0))]
        await _steps()
        asked += [asyncio.create_task(gathered(item)) for item in range(1, 8)]
        await _steps()
        assert work.groups == [[0]]
        assert not gathered.idle
        asked[2].cancel()
        work.go.set()
        done = await asyncio.gather(*asked, return_exceptions=True)
        assert [one for i, one in enumerate(done) if i != 2] == [0, 10, 30, 40, 50, 60, 70]
        assert isinstance(done[2], asyncio.CancelledError)
        assert work.groups == [[0], [1, 3, 4, 5], [6, 7]]
        await asyncio.sleep(0)
        assert gathered.idle

    asyncio.run(main())


def test_those_that_come_in_one_turn_are_done_together() -> None:
    async def main() -> None:
        work, idle = Slow(), []
        gathered = Coalescer(work, when_idle=lambda: idle.append(len(work.groups)))
        asked = [asyncio.create_task(gathered(item)) for item in range(3)]
        await asyncio.sleep(0)
        assert not gathered.idle
        await _steps()
        assert work.groups == [[0, 1, 2]], "nobody is at work, and the first waits for the others of its turn alone"
        work.go.set()
        assert await asyncio.gather(*asked) == [0, 10, 20]
        await _steps()
        given_up = asyncio.create_task(gathered(3))
        await asyncio.sleep(0)
        given_up.cancel()
        await _steps()
        assert work.groups == [[0, 1, 2]]
        assert gathered.idle
        assert idle == [1, 1], "also where its only call was given up before its turn"

    asyncio.run(main())


class Clock:
    """A loop's clock, which a test sets forward: a machine that is busy for a while changes nothing."""

    def __init__(self, now: float) -> None:
        self.now = now


def _stopped() -> Clock:
    """Stop the clock of the running loop."""
    loop = asyncio.get_running_loop()
    clock = Clock(loop.time())
    loop.time = lambda: clock.now  # type: ignore[method-assign]
    return clock


async def _steps() -> None:
    """Let the loop do all that can be done now."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_group_has_a_head_start_and_then_holds_nobody_up() -> None:
    async def main() -> None:
        work = Slow()
        clock = _stopped()
        gathered = Coalescer(work, at_once=2)
        gathered.head_start = 0.05
        asked = [asyncio.create_task(gathered(0))]
        await _steps()
        asked += [asyncio.create_task(gathered(item)) for item in (1, 2)]
        await _steps()
        clock.now += 0.04
        await _steps()
        assert work.groups == [[0]], "those that come now wait for it, or for one another"
        asked.append(asyncio.create_task(gathered(3)))
        await _steps()
        clock.now += 0.02
        await _steps()
        assert work.groups == [[0], [1, 2, 3]], "the first is slow: the others go on without it"
        work.go.set()
        assert await asyncio.gather(*asked) == [0, 10, 20, 30]
        await asyncio.sleep(0)
        assert gathered.idle
        assert gathered._timer is None

    asyncio.run(main())


def test_one_that_meets_nobody_waits_for_no_head_start() -> None:
    async def main() -> None:
        async def at_once(items: list[int]) -> Sequence[int | Exception]:
            return items

        gathered = Coalescer(at_once, at_once=2)
        gathered.head_start = 60.0
        for item in range(3):
            assert await asyncio.wait_for(gathered(item), 20) == item
            await asyncio.sleep(0)

    asyncio.run(main())


def test_one_timer_at_a_time_and_none_that_is_left() -> None:
    async def main() -> None:
        work, idle = Slow(), []
        gathered = Coalescer(work, at_once=3, when_idle=lambda: idle.append(len(work.groups)))
        gathered.head_start = 60.0
        asked = [asyncio.create_task(gathered(0))]
        await _steps()
        asked.append(asyncio.create_task(gathered(1)))
        await _steps()
        timer = gathered._timer
        asked.append(asyncio.create_task(gathered(2)))
        await _steps()
        assert timer is not None
        assert gathered._timer is timer
        work.go.set()
        assert await asyncio.gather(*asked) == [0, 10, 20]
        await _steps()
        assert timer.cancelled()
        assert idle == [2], "once, after the last"

        gathered.head_start = 0.05
        work.go.clear()
        asked = [asyncio.create_task(gathered(0))]
        await _steps()
        asked.append(asyncio.create_task(gathered(1)))
        await _until(lambda: len(work.groups) == 4)  # a timer after one that was cancelled
        asked.append(asyncio.create_task(gathered(2)))
        await _until(lambda: len(work.groups) == 5)  # and after one that has fired
        work.go.set()
        assert await asyncio.gather(*asked) == [0, 10, 20]

    asyncio.run(main())


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.001)


def test_who_gives_up_while_it_is_done_takes_no_answer_from_others() -> None:
    async def main() -> None:
        work = Slow()
        gathered = Coalescer(work)
        first = asyncio.create_task(gathered(0))
        await _steps()
        asked = [asyncio.create_task(gathered(item)) for item in (1, 2, 13)]
        await _steps()
        work.go.set()
        await first
        work.go.clear()
        await _until(lambda: len(work.groups) == 2)
        for one in (asked[0], asked[2]):
            one.cancel()
        work.go.set()
        assert await asyncio.wait_for(asked[1], 20) == 20

    asyncio.run(main())


def test_slow_rows_are_read_by_all_threads_and_quick_ones_for_many_at_once() -> None:
    class Guards:
        def slow(self, guard: str) -> bool:
            return guard == "slow"

    async def main() -> None:
        go = asyncio.Event()

        async def work(_: Any, guard: str, group: list[Any]) -> list[Any]:
            await go.wait()
            return group

        asking = Asking(Guards(), None, work, 7)  # type: ignore[arg-type]
        asked = [asyncio.create_task(asking.coalesced(guard, 1)) for guard in ("slow", "quick")]  # type: ignore[arg-type]
        await asyncio.sleep(0)
        found = {guard: (one.at_once, one.head_start) for guard, one in asking._by_guard.items()}
        assert found == {"slow": (7, 0.0), "quick": (GROUPS, HEAD_START)}
        assert GROUPS > 1, "one that takes long holds nobody up"
        go.set()
        await asyncio.gather(*asked)

    asyncio.run(main())


def test_errors_are_their_own_unless_all_failed() -> None:
    async def main() -> None:
        work = Slow()
        work.go.set()
        several = Coalescer(work)
        done = await asyncio.gather(*(several(item) for item in (12, 13, 14)), return_exceptions=True)
        assert done[0] == 120
        assert isinstance(done[1], LookupError)
        assert done[2] == 140

        async def broken(_: list[int]) -> Sequence[int | Exception]:
            raise OSError("all of it")

        with pytest.raises(OSError, match="all of it"):
            await Coalescer(broken)(1)

        async def forgetful(items: list[int]) -> Sequence[int | Exception]:
            return items[1:]

        gathered = Coalescer(forgetful)
        asked = asyncio.gather(*(gathered(item) for item in range(3)), return_exceptions=True)
        found = [str(one) for one in await asyncio.wait_for(asked, 60)]
        assert found == ["3 calls have 2 outcomes"] * 3

    asyncio.run(main())


def test_addresses_that_nobody_asks_leave_nothing_behind() -> None:
    """Anybody with a token can make addresses up, as many as they like."""

    class Guards:
        def slow(self, _: str) -> bool:
            return False

    async def main() -> None:
        async def work(_: Any, guard: str, group: list[Any]) -> list[Any]:
            await asyncio.sleep(0)
            if guard == "broken":
                raise LookupError("no such guard")
            return group

        asking = Asking(Guards(), None, work, 2)  # type: ignore[arg-type]
        asked = [asyncio.create_task(asking.coalesced(f"g{i % 20}", i)) for i in range(60)]  # type: ignore[arg-type]
        asked[3].cancel()
        done: list[Any] = await asyncio.gather(*asked, return_exceptions=True)
        assert [one for i, one in enumerate(done) if i != 3] == [i for i in range(60) if i != 3]
        with pytest.raises(LookupError):
            await asking.coalesced("broken", 1)  # type: ignore[arg-type]
        await _steps()
        assert asking._by_guard == {}

    asyncio.run(main())


def test_a_group_that_nobody_waits_for_any_more_is_given_up() -> None:
    async def main() -> None:
        given_up = []

        async def work(items: list[int]) -> Sequence[int | Exception]:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                given_up.append(items)
                raise
            return []

        gathered = Coalescer(work)
        asked = [asyncio.create_task(gathered(0))]
        await _steps()
        asked += [asyncio.create_task(gathered(item)) for item in (1, 2)]
        await _steps()
        asked[0].cancel()
        await _until(lambda: given_up == [[0]])
        await _steps()
        asked[1].cancel()
        await _steps()
        assert given_up == [[0]], "somebody still waits for the second group"
        asked[2].cancel()
        await _until(lambda: given_up == [[0], [1, 2]] and gathered.idle)

    asyncio.run(main())


def test_nobody_waits_for_a_group_that_was_ended() -> None:
    async def main() -> None:
        async def never(_: list[int]) -> Sequence[int | Exception]:
            await asyncio.sleep(60)
            return []

        gathered = Coalescer(never)
        asked = asyncio.create_task(gathered(1))
        await _steps()
        for task in gathered._groups:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asked, 30)

    asyncio.run(main())


def test_headers_that_say_two_things_are_refused(live: Live) -> None:
    guard = live.guard("twice")
    at = f"/api/v1/guards/{guard['id']}/ask"
    with live.analyst("ann") as ann:
        right = [("Content-Type", "application/json"), ("Idempotency-Key", "k")]
        assert ann.post(at, content=json.dumps({"question": CHECK}), headers=right).status_code == 200
        for more in (
            ("Idempotency-Key", "other"),
            ("Content-Type", "text/plain"),
            ("Authorization", "Bearer hf_0000000000000000_" + "0" * 64),
        ):
            body = json.dumps({"question": CHECK | {"guess": 0.52}})
            headers = [*right, ("Authorization", ann.headers["Authorization"]), more]
            refused = send("POST", live.url + at, content=body, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (400, "malformed-request"), more
        packed = [*right, ("Content-Encoding", "gzip"), ("Content-Encoding", "identity")]
        assert ann.post(at, content=b"{}", headers=packed).status_code == 400
        assert ann.get(f"/api/v1/guards/{guard['id']}").json()["entries"] == 2, "it was opened and asked once"


def test_wrong_tokens_keep_no_right_one_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(Settings(folder=tmp_path))
    right = server.tokens.issue_for("analyst", "ann", 1)
    server.tokens.verify(right)
    go = threading.Event()
    monkeypatch.setattr(server.tokens, "_argon2", lambda *_: go.wait(60) and False)
    wrong = [f"{right[:-16]}{i:016x}" for i in range(30)]  # one is right with probability 30 / 2**64

    async def main() -> None:
        tried = [asyncio.create_task(server.caller(one, 0.0)) for one in wrong]
        await asyncio.sleep(0.2)
        assert (await asyncio.wait_for(server.caller(right, 0.0), 30)).name == "ann"
        go.set()
        assert all(isinstance(one, Problem) for one in await asyncio.gather(*tried, return_exceptions=True))

    try:
        asyncio.run(main())
    finally:
        go.set()
        server.close()


def test_the_quick_way_and_the_general_way_say_the_same(live: Live) -> None:
    guard = live.guard("quick")
    at = f"/api/v1/guards/{guard['id']}/ask"
    with live.analyst("ann") as ann:
        quick = ann.post(at, json={"question": CHECK}, headers={"Idempotency-Key": "k"})
        general = ann.post(
            at,
            json={"question": CHECK},
            headers={"Idempotency-Key": "k", "Content-Type": "application/json; charset=utf-8"},
        )
        assert quick.status_code == general.status_code == 200
        assert quick.json() | {"repeated": True} == general.json()
        odd: list[Any] = [{}, {"question": 1}, {"question": CHECK, "more": 1}, [], {"questions": [CHECK]}]
        for body in odd:
            refused = ann.post(at, json=body)
            assert (refused.status_code, refused.json()["code"]) == (422, "invalid-parameter")
        for text in (b"", b"{", b'{"question": {}, "question": {}}', b'{"question": {"guess": NaN}}'):
            refused = ann.post(at, content=text, headers={"Content-Type": "application/json"})
            assert refused.status_code in (400, 422)
        assert ann.post(at, json={"question": CHECK}, headers={"Idempotency-Key": "k" * 181}).status_code == 422
        assert ann.post(at, json={"question": CHECK}, headers={"Idempotency-Key": "a b"}).status_code == 422
        assert ann.post(at + "?x=1", json={"question": CHECK}).status_code == 422
        assert ann.post(at, content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415


def test_both_ways_are_logged_alike(live: Live) -> None:
    """By its route, whatever becomes of it: a body that cannot be read, a guard that is not there, an answer."""
    guard = live.guard("logged alike")
    right = json.dumps({"question": CHECK})
    with live.analyst("ann") as ann:
        for name, body, status in (
            (guard["id"], right, 200),
            (guard["id"], "{", 400),
            (guard["id"], "", 422),
            (guard["id"], '{"question": 1}', 422),
            (guard["id"], '{"question": {"kind": "no such"}}', 422),
            ("g_0000000000000000", right, 404),
        ):
            said = []
            for kind in ("application/json", "application/json; charset=utf-8"):
                done = ann.post(f"/api/v1/guards/{name}/ask", content=body, headers={"Content-Type": kind})
                line = live.line_of(done.headers["x-request-id"])
                different = {"request_id", "milliseconds", "time", "repeated", "detail"}
                facts = {k: v for k, v in line.items() if k not in different}
                names = sorted(key.lower() for key in done.headers)
                shown = {} if status == 200 else {k: v for k, v in done.json().items() if k != "request_id"}
                said.append((done.status_code, names, facts, shown))
            assert said[0] == said[1]
            assert said[0][0] == status
            assert said[0][2]["route"] == "/api/v1/guards/{guard}/ask"


def test_tokens_that_are_looked_up_together_are_told_apart(tmp_path: Path) -> None:
    """A secret that is right for one opens no other, and what ended since is ended."""
    server = Server(Settings(folder=tmp_path))
    try:
        ann, bob, eve = (server.tokens.issue_for("analyst", name, 1) for name in ("ann", "bob", "eve"))
        assert list(server.tokens.recognise([ann, bob])) == [None, None], "not seen before: to be hashed"
        for text in (ann, bob, eve):
            server.tokens.verify(text)
        server.tokens.revoke(eve.split("_")[1])
        crossed = f"hf_{ann.split('_')[1]}_{bob.split('_')[2]}"
        flipped = ann[:-1] + ("0" if ann[-1] != "0" else "1")
        found = server.tokens.recognise([bob, crossed, flipped, "", "junk", ann, eve, ann])
        names = [one.name if isinstance(one, Caller) else one for one in found]
        assert [names[i] for i in (0, 5, 7)] == ["bob", "ann", "ann"]
        assert names[1:5] == [None] * 4
        assert names[6] is None or isinstance(names[6], Problem)
        assert not isinstance(found[6], Caller)
        for text in (crossed, flipped):
            with pytest.raises(Problem, match="unauthenticated"):
                server.tokens.verify(text)
    finally:
        server.close()
