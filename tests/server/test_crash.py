"""kill -9 under load: whoever asks again with the same key ends with exactly one answer, paid once."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

import holdfast as hf
from holdfast.client.receipts import check_receipt
from holdfast.server.settings import Settings
from tests.server.live import Live, free_port, started, wait_until_up

CLIENTS, KEYS = 4, 30
CAP = 10_000


class Mortal:
    """A server that can be killed and started again on the same port, folder and ledger."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.settings = Settings(folder=folder / "server", port=free_port(), rate=1e6, burst=10**6, workers=2, **given)
        self._folder = folder
        self._running = ExitStack()
        self._steward = ""
        self.live: Live

    def start(self) -> None:
        """Start it, and wait until it answers."""
        token = self._folder / f"token-{time.monotonic_ns()}"
        process = self._running.enter_context(started(self.settings, self._folder / "log", token))
        url = f"http://127.0.0.1:{self.settings.port}"
        self.live = Live(url, "", process, self.settings.folder, self._folder / "log", self.settings.folder)
        wait_until_up(self.live)
        if token.exists():  # the first start makes one
            self._steward = token.read_text().strip()
        self.live.steward_token = self._steward

    def kill(self) -> None:
        """All of it at once, as a power cut would."""
        os.killpg(self.live.process.pid, signal.SIGKILL)
        self.live.process.wait(15)

    def kill_one(self, rng: random.Random) -> None:
        """One of its workers; the others go on, and the parent starts a new one."""
        said = [json.loads(line) for line in self.live.logged().splitlines()]
        alive = [
            line["worker"] for line in said if line["event"] == "started" and Path(f"/proc/{line['worker']}").exists()
        ]
        os.kill(rng.choice(alive), signal.SIGKILL)

    def stop(self) -> None:
        """For good."""
        self._running.close()


@pytest.fixture(params=["sqlite", "postgres"])
def mortal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mortal]:
    """A server with two workers."""
    more: dict[str, Any] = {}
    if request.param == "postgres":
        more = {"ledger": request.getfixturevalue("postgres_url"), "key": tmp_path / "signing.key"}
    server = Mortal(tmp_path, **more)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def question(client: int, number: int) -> dict[str, Any]:
    """One of its own for each key, so that none is answered because another asked it."""
    return {"kind": "check", "expression": f"income < {1000 + 100 * client + number}", "guess": 0.02}


def test_every_key_has_one_answer_whatever_was_killed(mortal: Mortal) -> None:
    rng = random.Random(20261116)
    guard = mortal.live.guard("mortal", {"questions": CAP})
    tokens = []
    with mortal.live.client() as steward:
        for i in range(CLIENTS):
            made = steward.post("/api/v1/tokens", json={"role": "analyst", "name": f"analyst-{i}"})
            tokens.append(made.json()["token"])
        public_key = steward.get("/api/v1/me").json()["public_key"]
    answers: dict[tuple[int, int], Any] = {}
    errors: list[BaseException] = []

    def client(i: int) -> None:
        try:
            with hf.connect(mortal.live.url, tokens[i], guard="mortal", public_key=public_key) as server:
                for number in range(KEYS):
                    answers[i, number] = server.ask(question(i, number), key=f"key-{number}")
        except BaseException as error:
            errors.append(error)

    asking = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
    for thread in asking:
        thread.start()
    kills = 0
    for share, whole in ((0.15, False), (0.4, True)):
        while len(answers) < share * CLIENTS * KEYS and any(thread.is_alive() for thread in asking):
            time.sleep(0.002)
        time.sleep(rng.random() / 50)
        if whole:
            mortal.kill()
            mortal.start()
        else:
            mortal.kill_one(rng)
        kills += any(thread.is_alive() for thread in asking)
    for thread in asking:
        thread.join(120)
    assert not errors, errors[:1]
    assert kills == 2, "the load ended before it was disturbed"
    assert len(answers) == CLIENTS * KEYS

    def again(i: int) -> None:
        with hf.connect(mortal.live.url, tokens[i], guard="mortal", public_key=public_key) as server:
            for number in range(KEYS):
                first, second = answers[i, number], server.ask(question(i, number), key=f"key-{number}")
                assert second.repeated
                assert (second.sequence, second.value, second.passed) == (first.sequence, first.value, first.passed)
                check_receipt(first, public_key)

    for i in range(CLIENTS):
        again(i)
    with mortal.live.client() as steward:
        at = f"/api/v1/guards/{guard['id']}"
        verified = steward.post(at + "/verify").json()
        assert verified["ok"], verified
        assert steward.get(at).json()["remaining"]["questions"] == CAP - CLIENTS * KEYS, "each key was paid for once"
        paid = [one for one in entries(steward, at) if one["kind"] == "answered"]
    assert len(paid) == len({(one["analyst"], one["key"]) for one in paid}) == CLIENTS * KEYS
    assert {one["sequence"] for one in paid} == {one.sequence for one in answers.values()}


def entries(steward: httpx.Client, at: str) -> list[dict[str, Any]]:
    """The whole ledger."""
    found: list[dict[str, Any]] = []
    while True:
        page = steward.get(at + "/entries", params={"first": len(found) + 1, "limit": 500}).json()["entries"]
        if not page:
            return found
        found += page
