"""A real server on the loopback interface for tests, in a process of its own, which ends with the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from holdfast.server.running import to_environment
from holdfast.server.settings import Settings
from tests.server.forked import Forked
from tests.services.ports import free_port

ROWS = 2000
PEOPLE = "id,age,income,sex\n" + "".join(
    f"{i},{20 + i % 50},{1000 + 37 * (i % 80)},{'female' if i % 3 else 'male'}\n" for i in range(ROWS)
)
"""Every column is numbered or balanced by design, so that no column finds the same rows again under another name."""
POLICY = {
    "questions": 500,
    "privacy": {"kind": "pure-dp", "epsilon": 1.0},
    "spend": {"kind": "pure-dp", "epsilon": 0.01},
}
CHECK = {"kind": "check", "expression": "age < 45", "guess": 0.5}


@dataclass
class Live:
    """A running server."""

    url: str
    steward_token: str = field(repr=False)
    process: subprocess.Popen[bytes] | Forked
    folder: Path
    log: Path
    allowed: Path

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """A client with a token: the steward's by default."""
        headers = {"Authorization": f"Bearer {self.steward_token if token is None else token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, **options)

    def analyst(self, name: str, **more: Any) -> httpx.Client:
        """A client with a fresh analyst's token."""
        with self.client() as steward:
            made = steward.post("/api/v1/tokens", json={"role": "analyst", "name": name} | more)
            made.raise_for_status()
        return self.client(made.json()["token"])

    def sample(self, name: str, rows: str = PEOPLE, **query: str) -> dict[str, Any]:
        """Upload rows."""
        with self.client() as steward:
            done = steward.post(
                "/api/v1/samples",
                params={"name": name, **query},
                content=rows.encode(),
                headers={"Content-Type": "text/csv"},
            )
            assert done.status_code == 201, done.text
            return dict(done.json())

    def guard(self, name: str, policy: dict[str, Any] | None = None, rows: str | None = None) -> dict[str, Any]:
        """A guard over fresh rows: a column of their own keeps its ledger apart from all others."""
        made = self.sample(name, rows if rows is not None else fresh_rows(name))
        with self.client() as steward:
            done = steward.post(
                "/api/v1/guards",
                json={"name": name, "sample": made["id"], "policy": POLICY if policy is None else policy},
            )
            assert done.status_code == 201, done.text
            return dict(done.json())

    def stop(self) -> int:
        """Ask it to stop, and wait."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def logged(self) -> str:
        """The whole lines that it wrote to standard error so far."""
        return self.log.read_text().rpartition("\n")[0]

    def line_of(self, number: str) -> dict[str, Any]:
        """What the log says of a request: its line is written after its answer, so that it is waited for."""
        end = time.monotonic() + 60
        while True:
            for line in self.logged().splitlines():
                if f'"request_id": "{number}"' in line and '"event": "request"' in line:
                    return dict(json.loads(line))
            assert time.monotonic() < end, "the request is not in the log"
            time.sleep(0.01)


def send(method: str, address: str, **options: Any) -> httpx.Response:
    """Send a request as nobody in particular, and wait for its answer as long as clients of these tests do.

    httpx itself gives up after five seconds, which a server next to other tests on few cores may take.
    """
    return httpx.request(method, address, **{"timeout": 60} | options)


def fresh_rows(name: str) -> str:
    """The rows of `PEOPLE` with one more column, so that they are another sample."""
    lines = PEOPLE.splitlines()
    return "\n".join([lines[0] + ",tag", *(f"{line},{name}" for line in lines[1:])]) + "\n"


@contextmanager
def running(*, forked: bool = True, **given: Any) -> Iterator[Live]:
    """A server with these settings, for as long as the block lasts; `forked=False` starts the command itself."""
    with tempfile.TemporaryDirectory(prefix="holdfast-server-") as place:
        folder = Path(given.pop("folder", place))
        settings = Settings(
            **{"folder": folder, "port": free_port(), "rate": 1e6, "burst": 10**6, "free_work": 1e6} | given
        )
        log, token = Path(place) / "log", Path(place) / "token"
        with started(settings, log, token, forked=forked) as process:
            live = Live(
                f"http://127.0.0.1:{settings.port}", "", process, folder, log, (settings.allow_folder or (folder,))[0]
            )
            wait_until_up(live)
            live.steward_token = token.read_text().strip()
            yield live


@contextmanager
def started(
    settings: Settings, log: Path, token: Path, *, forked: bool = False
) -> Iterator[subprocess.Popen[bytes] | Forked]:
    """`holdfast serve` in a process group of its own, which is ended for certain."""
    arguments = ["serve", "--json", "--token-file", str(token)]
    environment = os.environ | to_environment(settings) | {"OPENBLAS_NUM_THREADS": "1"}
    process: subprocess.Popen[bytes] | Forked
    if forked:
        process = Forked(environment, log, arguments)
    else:
        with log.open("ab") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "holdfast", *arguments],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(15)


def wait_until_up(live: Live, seconds: float = 60) -> None:
    """Wait until the server answers."""
    end = time.monotonic() + seconds
    while True:
        try:
            if httpx.get(f"{live.url}/healthz", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        if live.process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the server did not start: {live.logged()[-2000:]}")
        time.sleep(0.05)


def entries(steward: httpx.Client, at: str) -> list[dict[str, Any]]:
    """The whole ledger of the guard at an address."""
    found: list[dict[str, Any]] = []
    while True:
        page = steward.get(at + "/entries", params={"first": len(found) + 1, "limit": 500}).json()["entries"]
        if not page:
            return found
        found += page
