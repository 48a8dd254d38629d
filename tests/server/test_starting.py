"""`holdfast serve` as it starts and ends: tokens that are not lost, files that nobody else reads, orderly ends."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from tests.server.live import Live, free_port, running, started, wait_until_up


def test_a_token_is_not_made_where_it_cannot_be_written(tmp_path: Path) -> None:
    """A token that was made and not shown is lost, and the next start would find a steward and show none."""
    taken, folder = tmp_path / "token", tmp_path / "server"
    taken.write_text("somebody's notes")
    command = [sys.executable, "-m", "holdfast", "serve", "--folder", str(folder), "--port", "0", "--token-file"]
    for place in (taken, tmp_path / "no such folder" / "token"):
        done = subprocess.run([*command, str(place)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode not in (0, 70), done.stderr
        assert done.stderr.startswith("holdfast: "), done.stderr
    assert taken.read_text() == "somebody's notes"
    assert not (folder / "ledger.db").exists()


def test_a_token_is_not_made_where_nobody_could_use_it(tmp_path: Path) -> None:
    """On a port that somebody has, or a host that is elsewhere, the first start would show its token for nothing."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for place, said in (
            (["--port", port], f"port {port} is in use"),
            (["--host", "192.0.2.1"], "where this machine"),
        ):
            command = [sys.executable, "-m", "holdfast", "serve", "--folder", str(tmp_path / "server"), *place]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert (done.returncode, done.stdout) == (2, ""), done.stderr
            assert said in done.stderr
            assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "server" / "ledger.db").exists()


def test_what_a_server_writes_is_its_own_and_it_ends_in_order(tmp_path: Path) -> None:
    from holdfast.server.settings import Settings

    folder = tmp_path / "server"
    folder.mkdir(mode=0o755)  # made by somebody else, and open to all
    settings = Settings(folder=folder, port=free_port())
    for i, sign in enumerate((signal.SIGINT, signal.SIGTERM)):
        log, token = tmp_path / "log", tmp_path / f"token {i}"
        with started(settings, log, token) as process:
            live = Live(f"http://127.0.0.1:{settings.port}", "", process, folder, log, folder)
            wait_until_up(live)
            for path in [*folder.rglob("*"), *tmp_path.glob("token*")]:
                assert path.stat().st_mode & 0o077 == 0, path
            process.send_signal(sign)
            assert process.wait(30) == 0
        assert token.exists() == (i == 0), "a second start has a steward already, and leaves no empty file"
    with closing(sqlite3.connect(folder / "ledger.db")) as database:
        assert database.execute("SELECT count(*) FROM server_tokens").fetchone() == (1,)


def test_several_workers_answer_at_once() -> None:
    """Small answers are not held back until the one before is acknowledged, which takes 40 ms on Linux."""
    with running(workers=2) as live, live.client() as steward:
        taken = []
        for _ in range(30):
            begun = time.perf_counter()
            assert steward.get("/api/v1/me").status_code == 200
            taken.append(time.perf_counter() - begun)
        assert sorted(taken)[3] < 0.03, taken
    assert os.environ.get("HOLDFAST_SERVER_WORKERS") is None
