"""Questions through a guard: over the bare mechanism, durably against a bare INSERT and fsync, and on a long ledger."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from tests.services.postgres import running

import holdfast as hf
from benchmarks.bench_ledger import CLIENTS, CONSTANT, LEAST, MILLION, _bare_postgres, _bare_sqlite
from benchmarks.timing import DISK, LIMIT, Row, at_most, best_of, by_clients
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.one_question.means import MEAN_FAMILIES
from holdfast.data.statistics import UNIT
from holdfast.guard import Guard, Policy, mean
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.receipts import SigningKey, head_message
from holdfast.guard.ledger.store import Store
from holdfast.guard.questions import Question
from holdfast.guard.state import Progress
from holdfast.holdout.intervals.mean import MeanInterval

_ROWS = 1000
_ROUNDS, _EACH, _BATCH = 4, 30, 64
_DISK_BOUND = 0.002
"""Seconds of an INSERT and fsync from which on the disk is what an answer waits for; below, it is the processor."""
_numbers = itertools.count(1)


def rows() -> list[Row]:
    """Overhead in memory, rates on disk, a long ledger, and what a question may wait for in the ledger's lock."""
    measured = _overhead()
    with tempfile.TemporaryDirectory() as folder:
        bare = _bare_sqlite(Path(folder) / "bare.db")
        measured += _rates("SQLite", open_store(Path(folder) / "ledger.db"), bare)
    with running(durable=True) as server:
        store = open_store(server.url(), key=SigningKey.generate())
        measured += _rates("PostgreSQL", store, _bare_postgres(server.url()))
    return [*measured, *_million(), _share()]


def _policy() -> Policy:
    return Policy(privacy=PureDP(1000.0), spend=PureDP(0.0001))


def _sample() -> hf.data.Sample:
    return hf.data.table({"x": np.random.default_rng(1).random(_ROWS)}, engine="numpy")


def _question() -> Question:
    """One that was never asked."""
    return mean(f"x < {next(_numbers) / 2**40!r}")


def _ask(guard: Guard) -> None:
    guard.ask(_question())


def _overhead() -> list[Row]:
    """The same statistic, noise and interval, without a door: parsed, measured, released, bounded."""
    guard = Guard.open(None, _sample(), _policy())
    sample, interval = _sample(), MeanInterval(MEAN_FAMILIES["kl"], _ROWS, 0.0, 1.0)

    def bare() -> None:
        bound = _question().bind(sample.schema, _ROWS, _policy())
        ((total,),) = sample.measure(bound.statistics)
        noise = bound._noise  # type: ignore[attr-defined]
        off = noise.half_width(1e-6)
        noisy = noise.release(Fraction(total, _ROWS * UNIT))
        interval.over(noisy - off, noisy + off, -20.0)

    _ask(guard)
    bare()
    ours, theirs = best_of(lambda: _ask(guard), 5, 20), best_of(bare, 5, 20)
    return [Row("a question through a guard in memory", ours, "its bare mechanism", theirs, "none: shown only", True)]


def _rates(name: str, store: Store, bare: Callable[[], None]) -> list[Row]:
    """Best of alternating rounds, because a disk's fsync is a different one every second."""
    with store:
        guard = Guard.open(store, _sample(), _policy())
        _ask(guard)
        times: dict[str, list[float]] = {"bare": [], "one": [], "many": [], "batch": []}
        for _ in range(_ROUNDS):
            times["bare"].append(best_of(bare, 1, _EACH))
            times["one"].append(best_of(lambda: _ask(guard), 1, _EACH))
            times["many"].append(by_clients(lambda: _ask(guard), CLIENTS, _EACH))
            times["batch"].append(best_of(lambda: guard.ask_all([_question() for _ in range(_BATCH)])) / _BATCH)
    best = {kind: min(found) for kind, found in times.items()}
    claim = f"at least {LEAST:g} of its rate where it takes {_DISK_BOUND * 1000:g} ms"
    return [
        Row(
            f"{name}: a durable answer, {CLIENTS} clients at once",
            best["many"],
            DISK,
            best["bare"],
            claim,
            best["bare"] < _DISK_BOUND or best["bare"] >= LEAST * best["many"],
        ),
        Row(f"{name}: a durable answer, one client", best["one"], DISK, best["bare"], "none: shown only", True),
        Row(
            f"{name}: a durable answer of {_BATCH} at once", best["batch"], DISK, best["bare"], "none: shown only", True
        ),
    ]


def _million() -> list[Row]:
    """A guard's own ledger with a million entries more: opened, and asked."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {Path(folder) / "short.db": 1_000, Path(folder) / "long.db": MILLION}
        opened: dict[Path, float] = {}
        asked: dict[Path, float] = {}
        for path, count in paths.items():
            Guard.open(path, _sample(), _policy()).shut()
            _lengthen(path, count)
        for _ in range(3):
            for path in paths:
                sample = _sample()
                sample.fingerprint()
                start = time.perf_counter()
                guard = Guard.open(path, sample)
                opened[path] = min(opened.get(path, 9.0), time.perf_counter() - start)
                _ask(guard)
                asked[path] = min(asked.get(path, 9.0), best_of(lambda: _ask(guard), 1, _EACH))  # noqa: B023
                guard.shut()
        short, long = paths
    return [
        Row(f"a guard of {MILLION:,} entries opens", opened[long], LIMIT, 1.0, "under", opened[long] < 1.0),
        at_most(f"a question after {MILLION:,} entries", CONSTANT, asked[long], "after 1,000", asked[short]),
    ]


def _lengthen(path: Path, count: int) -> None:
    """Write `count` entries behind those that are there, past the commit protocol."""
    with open_store(path) as store:
        (dataset,) = store.datasets()
        head, key = store.ledger(dataset).head(), store.key
    assert key is not None
    last: list[Entry] = []
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous=OFF")
    connection.executemany(f"INSERT INTO entries VALUES ({','.join('?' * 12)})", _entries(dataset, head, count, last))
    final = Head(last[0].sequence, last[0].hash, key.public)
    connection.execute(
        "UPDATE heads SET sequence = ?, hash = ?, signature = ?",
        (final.sequence, final.hash, key.sign(head_message(dataset, final))),
    )
    connection.commit()
    connection.close()


def _entries(dataset: str, head: Head, count: int, last: list[Entry]) -> Iterator[tuple[object, ...]]:
    body = {"answer": {"value": 0.25, "interval": [0.2, 0.3]}, "pad": "x" * 300}
    for number in range(count):
        made = Entry.following(
            head,
            dataset=dataset,
            time="2030-01-01T00:00:00.000000+00:00",
            kind="answered",
            body=body,
            analyst="ann",
            key=f"f{number}",
            question=f"f{number:063x}",
        )
        head = Head(made.sequence, made.hash, head.signer)
        last[:] = [made]
        row = (made.time, made.kind, made.analyst, made.key, made.question, made.text, made.states_text)
        yield (1, made.sequence, *row, made.signer, made.previous, made.hash)


def _share() -> Row:
    """A concentrated cap's share is computed before the lock; inside it is looked up."""
    budget = GuardBudget(100_000, Policy(privacy=ZCDP(1e-6), spend=ZCDP(1e-8)))
    start = time.perf_counter()
    budget.log_share(Progress(5, 5))
    first = time.perf_counter() - start
    again = best_of(lambda: budget.log_share(Progress(5, 5)), 5, 100)
    return Row("a share inside the ledger's lock", again, "computed before it", first, "under 1 ms", again < 1e-3)
