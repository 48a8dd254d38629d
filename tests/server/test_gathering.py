"""Calls that are gathered: in order, bounded, each with its own outcome; whoever gives up is not worked for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.server.gathering import Gathered
from tests.server.live import CHECK, Live


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
        gathered = Gathered(work, at_once=1, most=4)
        asked = [asyncio.create_task(gathered(item)) for item in range(8)]
        await asyncio.sleep(0.01)
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


def test_errors_are_their_own_unless_all_failed() -> None:
    async def main() -> None:
        work = Slow()
        work.go.set()
        gathered = Gathered(work)
        done = await asyncio.gather(*(gathered(item) for item in (12, 13, 14)), return_exceptions=True)
        assert done[0] == 120
        assert isinstance(done[1], LookupError)
        assert done[2] == 140

        async def broken(_: list[int]) -> Sequence[int | Exception]:
            raise OSError("all of it")

        with pytest.raises(OSError, match="all of it"):
            await Gathered(broken)(1)

    asyncio.run(main())


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
