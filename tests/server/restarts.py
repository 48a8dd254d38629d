"""A load on a server whose PostgreSQL is restarted meanwhile: what it answers, by status."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from tests.server.live import Live, entries, running
from tests.services.postgres import Server


def restarted(
    postgres: Server, restarts: int, clients: int = 6, quiet: int = 25, workers: int = 1
) -> tuple[Counter[int], Counter[str]]:
    """Ask, estimate, list and look while PostgreSQL restarts; the statuses, and the codes of what was refused.

    At least `quiet` questions are answered between two restarts. Each of several workers finds that the others have
    moved the ledger, and reads more of it while it looks questions up.

    A question that was refused with 503 is asked again with its key. In the end each has one answer, paid for once.
    """
    statuses: Counter[int] = Counter()
    codes: Counter[str] = Counter()
    with ExitStack() as stack:
        name = postgres.create_database()
        stack.callback(postgres.drop_database, name)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        options: dict[str, Any] = {"ledger": postgres.url(name), "signing_key": folder / "signing.key"}
        live = stack.enter_context(running(workers=workers, **options))
        guard = live.guard("restarted", {"questions": 10_000})
        at = f"/api/v1/guards/{guard['id']}"
        analysts = [stack.enter_context(live.analyst(f"analyst-{i}")) for i in range(clients)]
        ended = threading.Event()
        answered: Counter[int] = Counter()

        def count(response: httpx.Response) -> int:
            statuses[response.status_code] += 1
            if response.status_code >= 400:
                codes[response.json()["code"]] += 1
            return response.status_code

        def client(i: int) -> None:
            number = 0
            while not ended.is_set():
                question = {"kind": "check", "expression": f"income < {1000 + number + i / 64}", "guess": 0.5}
                headers = {"Idempotency-Key": f"key-{number}"}
                while count(analysts[i].post(f"{at}/ask", json={"question": question}, headers=headers)) != 200:
                    time.sleep(0.02)  # sooner than it says, which is the harder load
                answered[i] += 1
                number += 1
                count(analysts[i].post(f"{at}/estimate", json={"question": question}))
                count(analysts[i].get(("/api/v1/guards", f"{at}/entries", f"{at}/remaining", at)[number % 4]))

        threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
        for thread in threads:
            thread.start()
        for _ in range(restarts):
            _until(answered, answered.total() + quiet)
            postgres.restart()
        _until(answered, answered.total() + quiet)
        ended.set()
        for thread in threads:
            thread.join()
        _paid_once(live, at, answered.total())
    return statuses, codes


def _until(answered: Counter[int], total: int) -> None:
    end = time.monotonic() + 120
    while answered.total() < total:
        assert time.monotonic() < end, "nothing is answered any more"
        time.sleep(0.01)


def _paid_once(live: Live, at: str, total: int) -> None:
    with live.client() as steward:
        assert steward.post(f"{at}/verify").json()["ok"]
        paid = [(one["analyst"], one["key"]) for one in entries(steward, at) if one["kind"] == "answered"]
        assert len(paid) == len(set(paid)) == total
        assert steward.get(at).json()["remaining"]["questions"] == 10_000 - total
