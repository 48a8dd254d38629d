"""Several workers on one ledger, in SQLite and in PostgreSQL: answers are paid once, tokens end everywhere at once."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.live import Live, running


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Live]:
    """Two workers on one port."""
    more: dict[str, Any] = {}
    if request.param == "postgres":
        more = {"ledger": request.getfixturevalue("postgres_url"), "key": tmp_path / "signing.key"}
    with running(workers=2, threads=4, **more) as live:
        yield live


def test_two_workers_keep_one_ledger(shared: Live) -> None:
    guard = shared.guard("shared", {"questions": 25})
    at = f"/api/v1/guards/{guard['id']}"
    with shared.analyst("ann") as ann:
        token = ann.headers["authorization"]

        # Each request on a connection of its own, so that both workers are met.
        anew = httpx.Client(base_url=shared.url, limits=httpx.Limits(max_keepalive_connections=0), timeout=60)
        anew.headers["authorization"] = token

        def ask(i: int) -> httpx.Response:
            question = {"kind": "check", "expression": f"income < {1000 + i // 2}", "guess": 0.5}
            headers = {"Idempotency-Key": f"key-{i // 2}"}  # twice
            return anew.post(at + "/ask", json={"question": question}, headers=headers)

        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(ask, range(60)))
        assert {one.status_code for one in done} <= {200, 409}
        answered = [one.json() for one in done if one.status_code == 200]
        assert len({one["sequence"] for one in answered}) == 25, "the cap holds across workers"
        assert {one.json()["code"] for one in done if one.status_code == 409} == {"budget-exhausted"}
        by_key = [(i // 2, one.json()["sequence"]) for i, one in enumerate(done) if one.status_code == 200]
        assert len(set(by_key)) == len({key for key, _ in by_key}) == 25, "a key has one answer"
    with shared.client() as steward:
        verified = steward.post(at + "/verify").json()
        assert verified["ok"], verified
        assert steward.get(at).json()["remaining"]["questions"] == 0
        me = steward.get("/api/v1/tokens").json()["tokens"]
        steward.delete(f"/api/v1/tokens/{next(one['id'] for one in me if one['name'] == 'ann')}")
        codes = {anew.get("/api/v1/me").status_code for _ in range(20)}
        assert codes == {401}, "a revoked token ends on every worker with the next request"
        anew.close()
        time.sleep(1.5)  # counts are exchanged every second
        counted = re.findall(
            r'holdfast_answers_total\{kind="check",repeated="(\w+)"\} (\d+)', steward.get("/metrics").text
        )
        assert sum(int(number) for _, number in counted) == len(answered)
