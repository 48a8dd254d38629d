"""`holdfast serve` as it starts and ends: tokens that are not lost, files that nobody else reads, orderly ends."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.server.forked import Forked
from tests.server.live import Live, started, wait_until_up
from tests.services.ports import free_port


def refusal(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """`holdfast serve` where it must not start: its exit status, and what it said on both streams."""
    output, errors = folder / "output", folder / "errors"
    for file in (output, errors):
        file.unlink(missing_ok=True)
    process = Forked(dict(os.environ), errors, ["serve", "--folder", str(folder / "server"), *arguments], output)
    try:
        return process.wait(60), output.read_text(), errors.read_text()
    finally:
        process.send_signal(signal.SIGKILL)


def test_a_token_is_not_made_where_it_cannot_be_written(tmp_path: Path) -> None:
    """A token that was made and not shown is lost, and the next start would find a steward and show none."""
    taken = tmp_path / "token"
    taken.write_text("somebody's notes")
    for place in (taken, tmp_path / "no such folder" / "token"):
        status, _, said = refusal(tmp_path, "--port", "0", "--token-file", str(place))
        assert status not in (0, 70), said
        assert said.startswith("holdfast: "), said
    assert taken.read_text() == "somebody's notes"
    assert not (tmp_path / "server" / "ledger.db").exists()


def test_a_token_is_not_made_where_nobody_could_use_it(tmp_path: Path) -> None:
    """On a port that somebody has, or a host that is elsewhere, the first start would show its token for nothing."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for place, words in (
            (["--port", port], f"port {port} is in use"),
            (["--host", "192.0.2.1"], "where this machine"),
        ):
            status, output, said = refusal(tmp_path, *place)
            assert (status, output) == (2, ""), said
            assert words in said
            assert len(said.splitlines()) == 1
    assert not (tmp_path / "server" / "ledger.db").exists()


def test_what_a_server_writes_is_its_own_and_it_ends_in_order(tmp_path: Path) -> None:
    from holdfast.server.settings import Settings

    folder = tmp_path / "server"
    folder.mkdir(mode=0o755)  # made by somebody else, and open to all
    settings = Settings(folder=folder, port=free_port())
    for i, sign in enumerate((signal.SIGINT, signal.SIGTERM)):
        log, token = tmp_path / "log", tmp_path / f"token {i}"
        with started(settings, log, token, forked=i > 0) as process:  # the first as people start it
            live = Live(f"http://127.0.0.1:{settings.port}", "", process, folder, log, folder)
            wait_until_up(live)
            for path in [*folder.rglob("*"), *tmp_path.glob("token*")]:
                assert path.stat().st_mode & 0o077 == 0, path
            process.send_signal(sign)
            assert process.wait(60) == 0
        assert token.exists() == (i == 0), "a second start has a steward already, and leaves no empty file"
    with closing(sqlite3.connect(folder / "ledger.db")) as database:
        assert database.execute("SELECT count(*) FROM server_tokens").fetchone() == (1,)
