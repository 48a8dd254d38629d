"""Durable ledger entries against a bare INSERT and fsync; a million entries opened and appended to."""

from __future__ import annotations

import itertools
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
from tests.services.postgres import running

from benchmarks.timing import DISK, LIMIT, Row, at_most, by_clients, per_call
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.receipts import SigningKey, head_message
from holdfast.guard.ledger.store import Store
from holdfast.guard.ledger.transaction import Transaction

LEAST = 0.3
"""The share of a bare loop's rate that a ledger must reach, for clients who ask at the same time."""
CLIENTS = 8
MILLION = 1_000_000
CONSTANT = 3.0
"""An append to a million entries may take this many times one to a thousand; the rest is the file's cache."""

VERIFIED = 30.0
"""Seconds of processor time in which a million entries are to be verified."""

_ROUNDS, _EACH = 5, 40
_DATASET = "a" * 64
_BODY = {
    "answer": {"value": 0.25, "interval": [0.2, 0.3]},
    "cost": {"kind": "pure-dp", "epsilon": 0.01},
    "pad": "x" * 300,
}
_numbers = itertools.count()


def rows() -> list[Row]:
    """SQLite and PostgreSQL on a disk that is synchronised at every commit, then a long SQLite ledger."""
    with tempfile.TemporaryDirectory() as folder:
        measured = _rates("SQLite", open_store(Path(folder) / "ledger.db"), _bare_sqlite(Path(folder) / "bare.db"))
    with running(durable=True) as server:
        store = open_store(server.url(), key=SigningKey.generate())
        measured += _rates("PostgreSQL", store, _bare_postgres(server.url()))
    return measured + _million()


def _rates(name: str, store: Store, bare: Callable[[], None]) -> list[Row]:
    """Best of alternating rounds, because a disk's fsync is a different one every second."""
    with store:
        ledger = store.ledger(_DATASET)
        _ask(ledger)
        times: dict[str, list[float]] = {"bare": [], "one": [], "many": []}
        for _ in range(_ROUNDS):
            times["bare"].append(per_call(bare, _EACH))
            times["one"].append(per_call(lambda: _ask(ledger), _EACH))
            times["many"].append(by_clients(lambda: _ask(ledger), CLIENTS, _EACH))
    best = {kind: min(found) for kind, found in times.items()}
    return [
        _rate(f"{name}: an entry, {CLIENTS} clients at once", best["many"], best["bare"], LEAST),
        _rate(f"{name}: an entry, one client", best["one"], best["bare"], None),
    ]


def _rate(name: str, ours: float, bare: float, least: float | None) -> Row:
    claim = "none: shown only" if least is None else f"at least {least:g} of its rate"
    return Row(name, ours, DISK, bare, claim, least is None or bare >= least * ours)


def _ask(ledger: Ledger) -> None:
    """What a question does to the ledger: look up its key and digest, move two totals, append one entry."""
    number = next(_numbers)
    key, question = f"k{number}", f"{number:064x}"

    def work(transaction: Transaction) -> None:
        assert transaction.find_key("ann", key) is None
        assert transaction.find_question(question) is None
        for name in ("whole", "analyst:ann"):
            spent = (transaction.account(name) or {"spent": 0})["spent"]
            transaction.put_account(name, {"spent": spent + 1})
        transaction.append("answered", _BODY, analyst="ann", key=key, question=question)

    ledger.submit(work, keys=[("ann", key)], questions=[(None, question)])


def _bare_sqlite(path: Path) -> Callable[[], None]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE bare (number INTEGER PRIMARY KEY, body TEXT)")
    body = str(_BODY)

    def insert() -> None:
        connection.execute("INSERT INTO bare (body) VALUES (?)", (body,))

    return insert


def _bare_postgres(url: str) -> Callable[[], None]:
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE bare (number BIGSERIAL PRIMARY KEY, body TEXT)")
    body = str(_BODY)

    def insert() -> None:
        connection.execute("INSERT INTO bare (body) VALUES (%s)", (body,))

    return insert


def _million() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        short, long = Path(folder) / "short.db", Path(folder) / "long.db"
        fill(short, 1_000)
        fill(long, MILLION)
        opened = min(_open(long) for _ in range(3))
        verified = _verify(long)
        appended = {}
        for _ in range(3):
            for path in (short, long):
                with open_store(path) as store:
                    ledger = store.ledger(_DATASET)
                    _ask(ledger)
                    appended[path] = min(appended.get(path, 9.0), per_call(lambda: _ask(ledger), 50))  # noqa: B023
    return [
        Row(
            f"a ledger of {MILLION:,} entries opens",
            opened,
            LIMIT,
            1.0,
            "under a second",
            opened < 1.0,
        ),
        Row(
            f"`holdfast verify` of {MILLION:,} entries, processor time",
            verified,
            LIMIT,
            VERIFIED,
            f"at most {VERIFIED:g} s",
            verified <= VERIFIED,
        ),
        at_most(f"an append to {MILLION:,} entries", CONSTANT, appended[long], "to 1,000", appended[short]),
    ]


def _open(path: Path) -> float:
    start = time.perf_counter()
    with open_store(path) as store:
        assert store.ledger(_DATASET).head().sequence >= 1_000
    return time.perf_counter() - start


def _verify(path: Path) -> float:
    before = os.times()
    subprocess.run([sys.executable, "-m", "holdfast", "verify", str(path)], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def fill(path: Path, count: int) -> None:
    """Write a genuine ledger of `count` entries in one go, past the commit protocol. It verifies."""
    with open_store(path) as store:
        store.ledger(_DATASET)
        key = store.key
    assert key is not None
    last: list[Entry] = []
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous=OFF")
    marks = ",".join("?" * 12)
    connection.executemany(f"INSERT INTO entries VALUES ({marks})", _filled(count, key, last))
    signature = key.sign(head_message(_DATASET, Head(count, last[0].hash)))
    connection.execute(
        "UPDATE heads SET sequence = ?, hash = ?, signer = ?, signature = ?",
        (count, last[0].hash, key.public, signature),
    )
    connection.commit()
    connection.close()


def _filled(count: int, key: SigningKey, last: list[Entry]) -> Iterator[tuple[object, ...]]:
    head = Head()
    for number in range(count):
        made = Entry.following(
            head,
            dataset=_DATASET,
            time="2030-01-01T00:00:00.000000+00:00",
            kind="answered",
            body=_BODY,
            analyst="ann",
            key=f"f{number}",
            question=f"f{number:063x}",
            signer=key.public if number == 0 else None,
        )
        head = Head(made.sequence, made.hash, key.public)
        last[:] = [made]
        yield (
            1,
            made.sequence,
            made.time,
            made.kind,
            made.analyst,
            made.key,
            made.question,
            made.text,
            made.states_text,
            made.signer,
            made.previous,
            made.hash,
        )
