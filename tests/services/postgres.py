"""A real PostgreSQL server for tests, on the loopback interface, in a folder of its own.

`postgres_server` is one server for each test process; `postgres_url` is a fresh database in it for one test. The server
ends with the process that started it, even if that is killed: a shell waits for the pipe between the two to close.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.services.ports import free_port

_WAIT = 60.0
"""Seconds for a server to answer; a busy machine with two cores needs some."""

_QUICK = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
_ALWAYS = (
    "listen_addresses=127.0.0.1",
    "max_connections=100",
    "shared_buffers=32MB",
    "autovacuum=off",
    "log_min_messages=fatal",
)
# The shell starts the server anew with every line that it reads, and ends it and clears up as soon as its own standard
# input closes.
KEEPER = """
folder=$1; shift
"$@" </dev/null & server=$!
while read -r _; do kill -INT $server; wait $server; "$@" </dev/null & server=$!; done
kill -QUIT $server; wait $server; rm -rf "$folder"
"""


def binaries() -> Path:
    """The folder with `initdb` and `postgres`: pg_config's, on the path, or the newest that Debian installed."""
    candidates = []
    if configured := shutil.which("pg_config"):
        said = subprocess.run([configured, "--bindir"], capture_output=True, text=True, check=False)
        candidates.append(Path(said.stdout.strip()))
    if found := shutil.which("initdb"):
        candidates.append(Path(found).parent)
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    candidates += sorted(debian, key=lambda p: int(p.parent.name) if p.parent.name.isdigit() else 0, reverse=True)
    for folder in candidates:
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    raise RuntimeError("no PostgreSQL server is installed; `make test` installs it (Debian: postgresql)")


@dataclass(frozen=True)
class Server:
    """A running server; the password is random and the superuser's."""

    port: int
    password: str = field(repr=False)
    keeper: subprocess.Popen[bytes] = field(repr=False)
    log: Path = field(repr=False)

    def url(self, database: str = "postgres") -> str:
        """Address of a database, as libpq and SQLAlchemy's `postgresql` dialect read it."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres", parameters: Any = None) -> list[tuple[Any, ...]]:
        """Run one statement as the superuser and return its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement, parameters)  # type: ignore[arg-type,call-overload]
            return done.fetchall() if done.description else []

    def create_database(self) -> str:
        """Make an empty database and return its name."""
        name = f"t_{secrets.token_hex(6)}"
        self.execute(f"create database {name}")
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database and end whoever is still connected to it."""
        self.execute(f"drop database if exists {name} with (force)")

    def end_connections(self, database: str) -> int:
        """End every connection to a database, as a failing network would; returns how many there were."""
        ended = self.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s and pid <> pg_backend_pid()",
            parameters=(database,),
        )
        return len(ended)

    def restart(self) -> None:
        """Stop it as an administrator does, connections and all, and start it again; wait until it answers."""
        (began,) = self.execute("select pg_postmaster_start_time()")
        assert self.keeper.stdin is not None
        self.keeper.stdin.write(b"\n")
        self.keeper.stdin.flush()
        end = time.monotonic() + _WAIT
        while time.monotonic() < end:
            _wait(self)
            try:
                if self.execute("select pg_postmaster_start_time()") != [began]:
                    return
            except psycopg.OperationalError:  # it was still on its way down
                pass
            time.sleep(0.02)
        raise RuntimeError("PostgreSQL did not start again")


@contextmanager
def running(*, durable: bool = False) -> Iterator[Server]:
    """A server for as long as the block lasts. `durable` keeps fsync on, as benchmarks and real use need it."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-postgres-"))
    owner: dict[str, Any] = {}
    if os.getuid() == 0:  # initdb and postgres refuse to run as root
        owner = {"user": "postgres", "group": "postgres", "extra_groups": []}
        shutil.chown(folder, "postgres", "postgres")
    password = secrets.token_urlsafe(16)
    words = folder / "password"
    words.write_text(password)
    if owner:
        shutil.chown(words, "postgres", "postgres")
    words.chmod(0o600)
    tools, data = binaries(), folder / "data"
    common = {"cwd": folder, "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}, **owner}
    options = ("--auth=scram-sha-256", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
    made = subprocess.run(
        [tools / "initdb", "-D", data, f"--pwfile={words}", *options], capture_output=True, text=True, **common
    )
    if made.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise RuntimeError(f"initdb failed: {made.stderr.strip()[-500:]}")
    port = free_port()
    settings = [*_ALWAYS, f"port={port}", f"unix_socket_directories={folder}", *(() if durable else _QUICK)]
    arguments = [str(tools / "postgres"), "-D", str(data), *(word for s in settings for word in ("-c", s))]
    with (folder / "log").open("wb") as log:
        keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "keeper", folder, *arguments],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            **common,
        )
    try:
        server = Server(port, password, keeper, folder / "log")
        _wait(server)
        yield server
    finally:
        assert keeper.stdin is not None
        keeper.stdin.close()
        keeper.wait(_WAIT)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(server: Server) -> None:
    end = time.monotonic() + _WAIT
    while True:
        try:
            psycopg.connect(server.url(), connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            if server.keeper.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"PostgreSQL did not start: {server.log.read_text()[-500:]}") from None
            time.sleep(0.05)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """One server for this test process; fast, because it need not survive the machine."""
    with running() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """Address of an empty database for one test."""
    name = postgres_server.create_database()
    yield postgres_server.url(name)
    postgres_server.drop_database(name)
