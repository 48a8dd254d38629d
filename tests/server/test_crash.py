"""Several workers on one ledger, in SQLite and in PostgreSQL, also under kill -9: one answer for a key, paid once.

What the workers of a server take to start is most of the time here, so that all tests share one server a database.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

import holdfast as hf
from holdfast.client.answers import check_receipt
from holdfast.errors import InvalidParameter
from holdfast.server.running import require_free
from holdfast.server.settings import Settings
from tests.server.live import Live, entries, started, wait_until_up
from tests.services.ports import free_port

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

    def start(self, *, forked: bool = True) -> None:
        """Start it, and wait until it answers."""
        token = self._folder / f"token-{time.monotonic_ns()}"
        process = self._running.enter_context(started(self.settings, self._folder / "log", token, forked=forked))
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
        end = time.monotonic() + 15
        while True:  # the workers are nobody's children now: they have ended when they have let go of the port
            try:
                require_free(self.settings)
                return
            except InvalidParameter:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def kill_one(self, rng: random.Random) -> None:
        """One of its workers; the others go on, and the parent starts a new one."""
        os.kill(rng.choice(self.alive()), signal.SIGKILL)

    def alive(self) -> list[int]:
        """Its workers, in the order in which they started."""
        said = [json.loads(line) for line in self.live.logged().splitlines()]
        return [line["worker"] for line in said if line["event"] == "started" and _runs(line["worker"])]

    def stop(self) -> None:
        """For good."""
        self._running.close()


def _runs(worker: int) -> bool:
    """Whether a process is there, and more than the remains of one."""
    try:
        return Path(f"/proc/{worker}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def mortal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mortal]:
    """A server with two workers: one begins as the command starts it, to the first kill of all; the others forked."""
    folder = tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack:
        more: dict[str, Any] = {}
        if request.param == "postgres":
            postgres = request.getfixturevalue("postgres_server")
            name = postgres.create_database()
            stack.callback(postgres.drop_database, name)
            more = {"ledger": postgres.url(name), "signing_key": folder / "signing.key"}
        server = Mortal(folder, **more)
        stack.callback(server.stop)
        server.start(forked=request.param == "postgres")
        yield server


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
    disturbed = threading.Event()  # nobody asks the last question before, so that no load ends undisturbed

    def client(i: int) -> None:
        try:
            with hf.connect(mortal.live.url, tokens[i], guard="mortal", public_key=public_key) as server:
                for number in range(KEYS):
                    assert number < KEYS - 1 or disturbed.wait(120)
                    answers[i, number] = server.ask(question(i, number), key=f"key-{number}")
        except BaseException as error:
            errors.append(error)

    asking = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
    for thread in asking:
        thread.start()
    for share, whole in ((0.15, False), (0.4, True)):
        while len(answers) < share * CLIENTS * KEYS and not errors:
            time.sleep(0.002)
        time.sleep(rng.random() / 50)
        if whole:
            mortal.kill()
            mortal.start()
        else:
            mortal.kill_one(rng)
    disturbed.set()
    for thread in asking:
        thread.join(120)
    assert not errors, errors[:1]
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


def test_two_workers_keep_one_ledger(mortal: Mortal) -> None:
    shared = mortal.live
    guard = shared.guard("shared", {"questions": 25})
    at = f"/api/v1/guards/{guard['id']}"
    before = settled_count(mortal)
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
    until = time.monotonic() + 60
    while (many := answers_counted(shared) - before) != len(answered) and time.monotonic() < until:
        time.sleep(0.1)
    assert many == len(answered)


def settled_count(mortal: Mortal) -> int:
    """The number when every worker has left its counts since the answers of earlier tests were given."""
    now, end = time.time(), time.monotonic() + 60
    written = [mortal.settings.folder / "metrics" / f"{worker}.json" for worker in mortal.alive()]
    while not all(path.exists() and path.stat().st_mtime > now for path in written):
        assert time.monotonic() < end, "a worker leaves no counts"
        time.sleep(0.05)
    return answers_counted(mortal.live)


def answers_counted(live: Live) -> int:
    """How many answers to checks the server says that its workers have given."""
    with live.client() as steward:
        said = steward.get("/metrics").text
    return sum(map(int, re.findall(r'holdfast_answers_total\{kind="check",repeated="\w+"\} (\d+)', said)))


def test_several_workers_answer_at_once(mortal: Mortal) -> None:
    """Small answers are not held back until the one before is acknowledged, which takes 40 ms on Linux."""
    with mortal.live.client() as steward:
        taken = []
        for _ in range(100):
            begun = time.perf_counter()
            assert steward.get("/api/v1/me").status_code == 200
            taken.append(time.perf_counter() - begun)
        assert sorted(taken)[3] < 0.03, taken
    assert os.environ.get("HOLDFAST_SERVER_WORKERS") is None
