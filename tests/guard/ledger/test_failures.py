"""A full disk, a lost connection, a file that is none: a clear error, nothing lost, nothing unpaid."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection

from holdfast.errors import InvalidParameter, LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger import faults, sqlite
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.receipts import SigningKey
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.ledger.verify import verify
from tests.guard.ledger.stores import DATASET, check_spent, page_limit, spend
from tests.services.postgres import Server


@pytest.fixture
def at_point() -> Any:
    """Calls something when a named step is reached, once."""

    def arm(name: str, action: Callable[[], object]) -> None:
        def hook(reached: str) -> None:
            if reached == name:
                faults.set_hook(None)
                action()

        faults.set_hook(hook)

    yield arm
    faults.set_hook(None)


def test_a_full_sqlite_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_store(path) as store:
        ledger = store.ledger(DATASET)
        assert ledger.submit(spend("k1", 99)) == 1
        set_limit = page_limit(store.engine)  # type: ignore[attr-defined]
        set_limit(None)

        def large(transaction: Transaction) -> None:
            transaction.append("answered", {"answer": "x" * 100_000}, key="large")

        with pytest.raises(LedgerUnavailable, match=r"disk that holds the ledger is full.*nothing was written"):
            ledger.submit(large)
        check_spent(store, 1)
        set_limit(1_000_000)
        assert ledger.submit(spend("k2", 99)) == 2  # room again: it goes on
        check_spent(store, 2)
    assert verify(path).ok


_LIMITED = """
import resource, signal, sys
from holdfast.errors import LedgerUnavailable
from holdfast.guard.ledger.opening import open_store
from tests.guard.ledger.stores import DATASET, spend
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = open_store(sys.argv[1])
ledger = store.ledger(DATASET)
ledger.submit(spend("k0", 10**6))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
released = 1
try:
    while True:
        ledger.submit(spend(f"k{released}", 10**6))
        released += 1
except LedgerUnavailable as error:
    print(released, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(ledger.submit(spend(f"k{released}", 10**6)))
"""


def test_writes_that_fail_in_the_middle_of_a_commit(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(path)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = done.stdout.splitlines()
    released = int(first.split()[0])
    assert "the disk that holds the ledger" in first
    assert int(second) == released + 1  # the failed question, asked again with its key: paid once
    with open_store(path) as store:
        check_spent(store, released + 1)
    assert verify(path).ok
    assert resource.getrlimit(resource.RLIMIT_FSIZE)  # this process kept its own


@pytest.mark.parametrize("point", ["ledger.locked", "ledger.worked", "ledger.written"])
def test_a_connection_lost_before_the_commit(
    postgres_server: Server, postgres_url: str, at_point: Any, point: str
) -> None:
    database = urlsplit(postgres_url).path[1:]
    with open_store(postgres_url, key=SigningKey.generate()) as store:
        ledger = store.ledger(DATASET)
        ledger.submit(spend("k1", 9))
        at_point(point, lambda: postgres_server.end_connections(database))
        with pytest.raises(LedgerUnavailable, match="connection to the ledger's database was lost") as caught:
            ledger.submit(spend("k2", 9))
        assert "elapsed" not in str(caught.value)
        assert urlsplit(postgres_url).password not in str(caught.value)
        check_spent(store, 1)
        assert ledger.submit(spend("k2", 9)) == 2
        assert ledger.submit(spend("k2", 9)) == 2
        check_spent(store, 2)


def test_a_connection_lost_between_questions_is_opened_again(postgres_server: Server, postgres_url: str) -> None:
    database = urlsplit(postgres_url).path[1:]
    with open_store(postgres_url, key=SigningKey.generate()) as store:
        ledger = store.ledger(DATASET)
        for number in range(3):
            assert postgres_server.end_connections(database) >= 1
            assert ledger.submit(spend(f"k{number}", 9)) == number + 1
            postgres_server.end_connections(database)
            assert ledger.head().sequence == number + 1
            postgres_server.end_connections(database)
            assert store.datasets() == [DATASET]


def test_a_commit_whose_outcome_the_server_could_not_report(
    postgres_server: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server committed and the connection broke before it could say so: the ledger finds out and answers."""
    database = urlsplit(postgres_url).path[1:]
    with open_store(postgres_url, key=SigningKey.generate()) as store:
        ledger = store.ledger(DATASET)
        ledger.submit(spend("k1", 9))
        genuine = Connection.commit

        def commit_and_break(connection: Connection) -> None:
            monkeypatch.undo()
            genuine(connection)
            postgres_server.end_connections(database)
            connection.exec_driver_sql("SELECT 1")  # raises, as the commit would have

        monkeypatch.setattr(Connection, "commit", commit_and_break)
        assert ledger.submit(spend("k2", 9)) == 2
        check_spent(store, 2)
        assert ledger.submit(spend("k3", 9)) == 3


def test_if_the_commit_fails_nobody_who_shared_it_gets_anything(
    postgres_server: Server, postgres_url: str, at_point: Any
) -> None:
    database = urlsplit(postgres_url).path[1:]
    outcomes: dict[str, str] = {}
    with open_store(postgres_url, key=SigningKey.generate()) as store:
        ledger = store.ledger(DATASET)
        ledger.submit(spend("k0", 9))
        started, go = threading.Event(), threading.Event()

        def first(transaction: Transaction) -> int:
            started.set()
            assert go.wait(30)
            return spend("first", 9)(transaction)

        def refused(transaction: Transaction) -> int:
            raise ValueError("decided on what may not last")

        def run(name: str, work: Any) -> None:
            try:
                outcomes[name] = str(ledger.submit(work))
            except Exception as error:
                outcomes[name] = type(error).__name__

        threads = [threading.Thread(target=run, args=("first", first))]
        threads[0].start()
        assert started.wait(30)
        for name, work in (("a", spend("a", 9)), ("refused", refused), ("b", spend("b", 9))):
            threads.append(threading.Thread(target=run, args=(name, work)))
            threads[-1].start()
            while len(ledger._waiting) < len(threads) - 1:
                pass
        seen: list[str] = []

        def second_group(reached: str) -> None:
            seen.append(reached)
            if seen.count("ledger.written") == 2:
                faults.set_hook(None)
                postgres_server.end_connections(database)

        faults.set_hook(second_group)
        go.set()
        for thread in threads:
            thread.join()
        assert outcomes == {
            "first": "2",
            "a": "LedgerUnavailable",
            "refused": "LedgerUnavailable",
            "b": "LedgerUnavailable",
        }
        check_spent(store, 2)


@pytest.fixture
def interruptible() -> Any:
    """SIGINT raises KeyboardInterrupt, also where it is ignored: a shell does that to what it starts with `&`."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_in_the_middle_frees_the_ledger(tmp_path: Path, at_point: Any) -> None:
    with open_store(tmp_path / "ledger.db") as store:
        ledger = store.ledger(DATASET)
        at_point("ledger.written", lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            ledger.submit(spend("k1", 9))
        assert ledger.submit(spend("k1", 9)) == 1
        check_spent(store, 1)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(LedgerUnavailable, match="could not be made; nothing was opened"):
        open_store("postgresql://nobody:secret@127.0.0.1:9/none", timeout=2)


def test_a_lock_that_is_held_too_long(tmp_path: Path, postgres_url: str) -> None:
    for where in (str(tmp_path / "ledger.db"), postgres_url):
        key = SigningKey.generate()
        with open_store(where, key=key) as holder, open_store(where, key=key, timeout=0.2) as other:
            waiting = other.ledger(DATASET)

            def hold(transaction: Transaction, waiting: Any = waiting) -> None:
                with pytest.raises(LedgerUnavailable, match="held the ledger's lock for too long"):
                    waiting.submit(spend("k", 9))

            holder.ledger(DATASET).submit(hold)
            assert waiting.submit(spend("k", 9)) == 1


def test_a_new_file_that_another_is_about_to_write_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself refuses the switch to a write-ahead log at once, whatever the connection's timeout."""
    path = tmp_path / "ledger.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    hasty = sqlite3.connect(path, timeout=30)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        hasty.execute("PRAGMA journal_mode=WAL")
    hasty.close()
    # The other is done when we have begun to wait.
    monkeypatch.setattr(sqlite, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: other.rollback()))
    with open_store(path) as store:
        assert not other.in_transaction
        assert store.ledger(DATASET).submit(spend("k", 9)) == 1
    other.close()


def test_wrong_places(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="in a folder that exists"):
        open_store(tmp_path / "no" / "ledger.db")
    with pytest.raises(LedgerUnavailable, match="there is no ledger at"):
        open_store(tmp_path / "ledger.db", create=False)
    with pytest.raises(InvalidParameter, match="where must be"):
        open_store("mysql://host/db")
    with pytest.raises(InvalidParameter, match="timeout must be"):
        open_store(tmp_path / "ledger.db", timeout=0)
    other = tmp_path / "other.txt"
    other.write_text("not a database, but a text that is long enough to be looked at as one" * 30)
    with pytest.raises(LedgerUnavailable, match="not an SQLite database"):
        open_store(other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.txt"], "no key is made for it"


def test_a_ledger_of_a_newer_release(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerConflict, match="newer release"):
        open_store(path)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_store(path).close()
    key = tmp_path / "ledger.db.key"
    assert key.stat().st_mode & 0o777 == 0o600
    os.chmod(key, 0o644)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        open_store(path)
    os.chmod(key, 0o600)
    key.write_text("no key")
    with pytest.raises(InvalidParameter, match="Ed25519"):
        open_store(path)


def test_keys_are_not_shown(tmp_path: Path) -> None:
    import pickle

    key = SigningKey.load_or_create(tmp_path / "key")
    assert repr(key) == f"SigningKey(public={key.public!r})"
    assert SigningKey.load_or_create(tmp_path / "key").public == key.public
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(key)
