"""A real MariaDB server for tests, on the loopback interface, in a folder of its own; it ends with the process."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
import pytest

from tests.services.ports import free_port
from tests.services.postgres import KEEPER

_WAIT = 60.0


@dataclass(frozen=True)
class MariaDB:
    """A running server; the password is random and that of `tester`."""

    port: int
    password: str = field(repr=False)

    def url(self, database: str) -> str:
        """Address of a database, as Ibis reads it."""
        return f"mysql://tester:{self.password}@127.0.0.1:{self.port}/{database}"

    def execute(self, database: str | None, *statements: str, rows: list[Any] | None = None) -> Any:
        """Run statements one after the other, the last one for each of `rows`; its result."""
        connection = pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user="tester",
            password=self.password,
            database=database,
            charset="utf8mb4",
            autocommit=True,
        )
        try:
            with connection.cursor() as cursor:
                for statement in statements[:-1]:
                    cursor.execute(statement)
                if rows is None:
                    cursor.execute(statements[-1])
                else:
                    cursor.executemany(statements[-1], rows)
                return cursor.fetchall()
        finally:
            connection.close()


def _found(*names: str) -> str:
    for name in names:
        if found := shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"):
            return found
    raise RuntimeError("no MariaDB server is installed; `make test` installs it (Debian: mariadb-server)")


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """One server for this test process; fast, because it need not survive the machine."""
    install, server = _found("mariadb-install-db", "mysql_install_db"), _found("mariadbd", "mysqld")
    folder = Path(tempfile.mkdtemp(prefix="holdfast-mariadb-"))
    user = ["--user=root"] if os.getuid() == 0 else []
    data, password = folder / "data", secrets.token_hex(16)
    start = folder / "start.sql"
    start.touch(mode=0o600)
    start.write_text(
        f"create user tester@'127.0.0.1' identified by '{password}';\ngrant all on *.* to tester@'127.0.0.1';\n"
    )
    made = [install, "--no-defaults", f"--datadir={data}", "--skip-test-db", *user]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    port = free_port()
    settings = {
        "datadir": data,
        "socket": folder / "socket",
        "pid-file": folder / "pid",
        "port": port,
        "bind-address": "127.0.0.1",
        "init-file": start,
        "innodb-buffer-pool-size": "16M",
        "innodb-flush-log-at-trx-commit": 0,
        "skip-name-resolve": 1,
    }
    arguments = [server, "--no-defaults", *user, *(f"--{name}={value}" for name, value in settings.items())]
    with (folder / "log").open("wb") as log:
        keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "keeper", folder, *arguments], stdin=subprocess.PIPE, stdout=log, stderr=log
        )
    running = MariaDB(port, password)
    try:
        end = time.monotonic() + _WAIT
        while True:
            try:
                running.execute(None, "select 1")
                break
            except pymysql.err.OperationalError:
                if keeper.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"MariaDB did not start: {(folder / 'log').read_text()[-500:]}") from None
                time.sleep(0.05)
        yield running
    finally:
        assert keeper.stdin is not None
        keeper.stdin.close()
        keeper.wait(_WAIT)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def mariadb_name(mariadb: MariaDB) -> Iterator[str]:
    """Name of an empty database for one test."""
    name = f"t_{secrets.token_hex(6)}"
    mariadb.execute(None, f"create database {name} character set utf8mb4")
    yield name
    mariadb.execute(None, f"drop database {name}")
