"""Whether a server is up, and whether it can do its work: a full disk and a lost ledger are not the same as none."""

from __future__ import annotations

import asyncio
import resource
import threading
import time
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from holdfast.errors import LedgerUnavailable
from holdfast.server.routes import health
from tests.server.live import CHECK, Live, running


def ready(live: Live) -> httpx.Response:
    return httpx.get(live.url + "/readyz", timeout=30)


def until(live: Live, status: int) -> httpx.Response:
    """What was found is said again for a second."""
    end = time.monotonic() + 60
    while (said := ready(live)).status_code != status:
        assert time.monotonic() < end, said.text
        time.sleep(0.1)
    return said


def test_a_server_without_disk_or_ledger_is_up_and_not_ready() -> None:
    with running() as live:
        guard = live.guard("well")
        assert ready(live).json() == {"status": "ready"}
        ledger, away = live.folder / "ledger.db", live.folder / "ledger.away"
        ledger.rename(away)  # what connections that are open write there would be lost with it
        lost = until(live, 503)
        with live.client() as steward:
            refused = steward.post(f"/api/v1/guards/{guard['id']}/ask", json={"question": CHECK})
            assert (refused.status_code, refused.json()["code"]) == (503, "ledger-unavailable")
        assert (lost.json()["code"], lost.headers["retry-after"]) == ("ledger-unavailable", "1")
        assert "the ledger's file was moved or deleted after it was opened; put the" in lost.json()["detail"]
        away.rename(ledger)
        until(live, 200)

        # No file may grow, the server's log included: a full disk, without one.
        hard = resource.prlimit(live.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(live.process.pid, resource.RLIMIT_FSIZE, (0, hard))
        full = until(live, 503)
        assert full.json()["code"] == "ledger-unavailable"
        assert str(live.folder) not in full.text
        assert httpx.get(live.url + "/healthz", timeout=30).json() == {"status": "ok"}, "it is up all the same"
        with live.client() as steward:
            refused = steward.post(f"/api/v1/guards/{guard['id']}/ask", json={"question": CHECK})
            assert refused.status_code == 503, "and what it cannot store it does not release"
        resource.prlimit(live.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        until(live, 200)


def test_a_store_that_does_not_answer_is_waited_for_once_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    go, looks = threading.Event(), 0

    def stuck(_: Any) -> None:
        nonlocal looks
        looks += 1
        go.wait(20)

    async def probe(function: Any, *args: Any) -> None:
        await asyncio.to_thread(function, *args)

    monkeypatch.setattr(health, "_probe", stuck)
    monkeypatch.setattr(health, "MOST_SECONDS", 0.05)
    monkeypatch.setattr(health, "KEPT_SECONDS", 600.0)
    server: Any = SimpleNamespace(probe=probe)

    async def main() -> None:
        readiness = health.Readiness()
        said = await asyncio.gather(*(readiness.lacking(server) for _ in range(5)))
        assert all(one is not None and "within 0.05 seconds" in one for one in said)
        assert looks == 1
        go.set()
        while await readiness.lacking(server) is not None:
            await asyncio.sleep(0.01)
        assert looks == 1, "the look that was late is the one that counts"
        assert await readiness.lacking(server) is None
        assert looks == 1, "and it is said again for a while"

        def broken(_: Any) -> None:
            raise LedgerUnavailable("it is gone")

        monkeypatch.setattr(health, "_probe", broken)
        monkeypatch.setattr(health, "MOST_SECONDS", 60.0)
        readiness._until = 0.0
        assert await readiness.lacking(server) == "it is gone"

    asyncio.run(main())
