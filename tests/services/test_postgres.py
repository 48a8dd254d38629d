"""The fixture itself: a real server, a database a test, an end that nobody has to ask for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psycopg

from tests.services.postgres import Server

_STARTER = """
import time
from tests.services.postgres import running
with running() as server:
    print(server.port, flush=True)
    time.sleep(60)
"""


def test_a_database_for_one_test(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone() == (0,)


def test_the_password_is_not_shown(postgres_server: Server) -> None:
    assert postgres_server.password not in repr(postgres_server)


def test_the_server_ends_with_its_starter() -> None:
    starter = subprocess.Popen([sys.executable, "-c", _STARTER], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    port = int(starter.stdout.readline())
    os.kill(starter.pid, signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            psycopg.connect(host="127.0.0.1", port=port, user="postgres", password="x", connect_timeout=2).close()
        except psycopg.OperationalError as error:
            if "refused" in str(error):
                return
        time.sleep(0.05)
    raise AssertionError("the server is still there")
