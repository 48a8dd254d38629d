"""Processes that ask, are killed, and ask again: a program of its own, `tests.guard.forked`."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import alembic.command
import psycopg

from holdfast.guard.ledger import faults, postgres, sql, sqlite
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.opening import open_store
from tests.guard import forked
from tests.guard.forked import Mode, Say, ended, heard, serve
from tests.guard.ledger.stores import DATASET, spend, spend_all

LOADED = (alembic.command, postgres, sql, sqlite)
"""Imported before the first fork, so that no child has to."""
QUESTIONS = 4
LIMIT = 150
PROCESSES, THREADS = 2, 8
KILLS = 50
OPENINGS = 5
READY = "ready"


def child(where: str | Callable[[], str], key: str, work: Callable[[Any, Say], None]) -> tuple[int, int]:
    """Fork a process that opens the store and works; its id, and where what it says can be read."""

    def opened(say: Say) -> None:
        with open_store(where if isinstance(where, str) else where(), key=key) as store:
            work(store, say)

    return forked.child(opened)


def ask_all(ledger: Ledger, say: Say) -> None:
    for number in range(QUESTIONS):
        say([f"k{number}", ledger.submit(spend(f"k{number}", QUESTIONS))])


def at_every_point(where: str, key: str) -> list[dict[str, Any]]:
    """Kill a process at every named step, at its first and at its third question; then ask again with the same keys."""
    found = []
    for name in faults.POINTS:
        if not name.startswith("ledger."):
            continue
        for turn in (1, 3):
            dataset = f"{name}-{turn}"

            def killed(store: Any, say: Any, name: str = name, turn: int = turn, dataset: str = dataset) -> None:
                count = 0

                def pull_the_plug(reached: str) -> None:
                    nonlocal count
                    count += reached == name
                    if count == turn:
                        os.kill(os.getpid(), signal.SIGKILL)

                ledger = store.ledger(dataset)
                faults.set_hook(pull_the_plug)
                ask_all(ledger, say)

            status, before = ended(*child(where, key, killed))
            again, after = ended(*child(where, key, lambda store, say, d=dataset: ask_all(store.ledger(d), say)))
            found.append(
                {"dataset": dataset, "turn": turn, "killed": status, "before": before, "again": again, "after": after}
            )
    return found


def under_load(where: str, key: str) -> list[Any]:
    """Kill a process with four busy threads at a random moment, again and again; all that was ever released."""
    chance, released = random.Random(8), []
    for round_ in range(KILLS):

        def busy(store: Any, say: Any, round_: int = round_) -> None:
            ledger = store.ledger(DATASET)
            ledger.submit(spend(f"r{round_}", 10**9))  # everything is warm
            say(READY)

            def client(name: str) -> None:
                for number in range(10**6):
                    name_of_question = f"{name}-{number}"
                    say([name_of_question, ledger.submit(spend(name_of_question, 10**9))])

            for thread in range(4):
                threading.Thread(target=client, args=(f"r{round_}t{thread}",), daemon=True).start()
            time.sleep(60)

        process, receiving = child(where, key, busy)
        said = heard(receiving, READY, chance.randrange(12))
        time.sleep(chance.uniform(0.0, 0.01))
        os.kill(process, signal.SIGKILL)
        status, lines = ended(process, receiving, said)
        assert status == signal.SIGKILL
        assert lines[0] == READY
        released += lines[1:]
    return released


def to_the_limit(where: str, key: str) -> list[int]:
    """Several processes with several threads each spend one budget; what each released."""

    gate, hold = os.pipe()

    def clients(store: Any, say: Any) -> None:
        os.close(hold)
        ledger, mine = store.ledger(DATASET), f"p{os.getpid()}"
        os.read(gate, 1)  # all begin when the last of them has been started

        def client(number: int) -> None:
            for value in spend_all(ledger, f"{mine}-{number}", LIMIT):
                say(value)

        threads = [threading.Thread(target=client, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    started = [child(where, key, clients) for _ in range(PROCESSES)]
    time.sleep(0.3)
    os.close(hold)
    released = []
    for process, receiving in started:
        status, lines = ended(process, receiving)
        assert status == 0
        released += lines
    return released


def went_on_after_a_fork(where: str, key: str) -> list[Any]:
    """A process that has an open ledger forks; parent and child go on with it at once."""
    store = open_store(where, key=key)
    ledger = store.ledger(DATASET)
    ledger.submit(spend("before", 100))
    receiving, sending = os.pipe()
    process = os.fork()
    names = [f"{'parent' if process else 'child'}-{number}" for number in range(10)]
    values = [ledger.submit(spend(name, 100)) for name in names]
    if not process:
        os.write(sending, json.dumps(values).encode())
        os._exit(0)
    os.close(sending)
    status, lines = os.waitpid(process, 0)[1], os.read(receiving, 10**5)
    assert status == 0
    return [1, *values, *json.loads(lines)]


def _emptied(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop schema public cascade")
        connection.execute("create schema public")
    return url


def opened_at_once(where: str, key: str) -> list[int]:
    """Several processes open a new store in the same moment, again and again; how each of them ended."""
    statuses = []
    for round_ in range(OPENINGS):
        gate, hold = os.pipe()
        fresh = f"{where}-{round_}" if "://" not in where else _emptied(where)

        def wait_and_open(fresh: str = fresh, gate: int = gate, hold: int = hold) -> str:
            os.close(hold)
            os.read(gate, 1)
            return fresh

        started = [child(wait_and_open, key, lambda store, say: say(store.datasets())) for _ in range(4)]
        os.close(gate)
        os.close(hold)
        statuses += [ended(*one)[0] for one in started]
    return statuses


MODES: dict[str, Mode] = {
    "points": at_every_point,
    "load": under_load,
    "limit": to_the_limit,
    "fork": went_on_after_a_fork,
    "open": opened_at_once,
}

if __name__ == "__main__":
    open_store(None).ledger(DATASET).submit(spend("warm", 9))  # loads what every child needs
    serve(MODES)
