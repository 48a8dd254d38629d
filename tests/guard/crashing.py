"""Processes that ask a guard, are killed, and ask again: a program of its own, `tests.guard.forked`."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import threading
import time
from typing import Any

import alembic.command
import numpy as np

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import BudgetExhausted
from holdfast.guard import Guard, Policy, check, mean
from holdfast.guard.ledger import faults, postgres, sql, sqlite
from holdfast.guard.ledger.opening import open_store
from tests.guard.forked import Mode, Say, child, ended, heard, serve

LOADED = (alembic.command, postgres, sql, sqlite)
"""Imported before the first fork, so that no child has to."""
ROWS = 4000
QUESTIONS = 2
KILLS = 100
THREADS, PROCESSES, LIMIT = 8, 2, 120
READY = "ready"
QUEUED = 4000
"""Questions of a life: more than the lines about them that a pipe holds, so that a process waits before it has none."""
ASKING = [name for name in faults.POINTS if not name.startswith("opening.")]
"""Steps of a question; those of an opening are reached in `tests.guard.opening_processes`."""
EACH, RUN, OVERFITS = 0.01, 0.5, 100_000


def sample(seed: int = 1) -> hf.data.Sample:
    """Other rows for another seed, and so another ledger."""
    rng = np.random.default_rng(seed)
    return hf.data.table({"x": rng.random(ROWS)}, engine="numpy")  # which has no threads that a fork would lose


def policy(limit: int) -> Policy:
    """A pure cap that holds exactly `limit` questions next to a Thresholdout run, whose threshold is secret state."""
    whole = PureDP(round(limit * EACH + RUN, 9))
    run: dict[str, Any] = {"threshold": 0.1, "overfits": OVERFITS, "holdout_spend": PureDP(RUN)}
    return Policy(privacy=whole, spend=PureDP(EACH), holdout="thresholdout", **run)


def question(name: str) -> Any:
    """A question of its own for each name; a check in the load's every fourth."""
    # Names have the number of a process in them, and no two may ever meet: 53 bits, where a CRC has 32.
    below = f"x < {int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) / 2**64!r}"
    return check(below, 0.5) if name.startswith("q") and int(name[1:]) % 4 == 0 else mean(below)


def opened(where: str, key: str, seed: int, limit: int, slow: bool) -> Guard:
    """A guard in this process; `slow` makes it pay before it reads, as for a sample on a far engine."""
    guard = Guard.open(open_store(where, key=key), sample(seed), policy(limit))
    if slow:
        guard._rows.slow_seconds = -1.0
    return guard


def ask_keys(guard: Guard, say: Say) -> None:
    for number in range(QUESTIONS):
        answer = guard.ask(question(f"k{number}"), key=f"k{number}")
        say([f"k{number}", answer.sequence, answer.value])
    answer = guard.ask(check("x < 0.5", 0.9), key="look")
    say(["look", answer.sequence, answer.value])


def at_every_point(where: str, key: str) -> list[dict[str, Any]]:
    """Kill a process at every named step once, of quick and of slow questions; then ask again."""
    found = []
    seed = 10
    for name in ASKING:
        for slow in (False, True):
            if name == "guard.reserved" and not slow:
                continue
            for turn in (1, 2) if slow else (2,):  # a slow question commits twice, so each step comes twice
                seed += 1

                def killed(say: Any, name: str = name, turn: int = turn, slow: bool = slow, seed: int = seed) -> None:
                    guard, count = opened(where, key, seed, 100, slow), 0

                    def pull_the_plug(reached: str) -> None:
                        nonlocal count
                        count += reached == name
                        if count == turn:
                            os.kill(os.getpid(), signal.SIGKILL)

                    faults.set_hook(pull_the_plug)
                    ask_keys(guard, say)

                status, before = ended(*child(killed))
                again, after = ended(
                    *child(lambda say, s=seed, slow=slow: ask_keys(opened(where, key, s, 100, slow), say))
                )
                found.append({"point": name, "slow": slow, "turn": turn, "seed": seed, "killed": status})
                found[-1] |= {"before": before, "again": again, "after": after}
    return found


def under_load(where: str, key: str) -> dict[str, Any]:
    """Kill a process with four busy threads at random, again and again; every key is asked again in the next life.

    It is killed some lines after it was ready and up to ten milliseconds later: so a slow machine sees as much of the
    work as a quick one. Half of the lives pay before they read. All that was ever released, in pairs of key and value.
    """
    chance, released, unanswered, number = random.Random(8), [], [], 0
    Guard.open(None, sample(), policy(10**6)).ask(question("warm"))
    for life in range(KILLS):
        first, number = number, number + QUEUED
        retried = list(unanswered)

        def busy(say: Any, life: int = life, first: int = first, retried: list[str] = retried) -> None:
            guard = opened(where, key, 1, 10**6, life % 2 == 1)
            lock, left = threading.Lock(), [*retried, *(f"q{i}" for i in range(first, first + QUEUED))]

            def client(many: int) -> None:
                for _ in range(many):
                    with lock:
                        name = left.pop(0)
                    say(["begun", name])
                    say([name, guard.ask(question(name), key=name).value])

            client(1)  # everything is loaded, and the ledger is open
            say([READY, 0])
            for _ in range(4):
                threading.Thread(target=client, args=(10**6,), daemon=True).start()
            time.sleep(60)

        process, receiving = child(busy)
        said = heard(receiving, READY, chance.randrange(12))
        time.sleep(chance.uniform(0.0, 0.01))
        os.kill(process, signal.SIGKILL)
        status, lines = ended(process, receiving, said)
        assert status == signal.SIGKILL
        answers = [[name, value] for name, value in lines if name not in (READY, "begun")]
        released += answers
        done = {name for name, _ in answers}
        begun = [name for what, name in lines if what == "begun"]
        unanswered = list(dict.fromkeys(one for one in [*unanswered, *begun] if one not in done))
    guard = opened(where, key, 1, 10**6, False)
    released += [[name, guard.ask(question(name), key=name).value] for name in unanswered]
    return {"released": released, "retried": len(unanswered)}


def to_the_limit(where: str, key: str, slow: bool = False) -> list[Any]:
    """Several processes with several threads each spend one privacy budget; what each released."""
    opened(where, key, 1, LIMIT, slow)
    gate, hold = os.pipe()

    def clients(say: Any) -> None:
        os.close(hold)
        guard, mine = opened(where, key, 1, LIMIT, slow), os.getpid()

        def ask(name: str, number: int) -> None:
            say([name, guard.ask(question(name), key=name, analyst=f"a{number}").value])

        def client(number: int) -> None:
            for turn in range(LIMIT + 1):
                try:
                    ask(f"p{mine}-{number}-{turn}", number)
                except BudgetExhausted:
                    return

        ask(f"p{mine}-first", 0)  # each takes part, whoever the machine favours
        say([READY, 0])
        os.read(gate, 1)  # all go on when the last of them is ready
        threads = [threading.Thread(target=client, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    started = [child(clients) for _ in range(PROCESSES)]
    heads = [heard(receiving, READY, 0) for _, receiving in started]
    os.close(hold)
    released: list[Any] = []
    for (process, receiving), head in zip(started, heads, strict=True):
        status, lines = ended(process, receiving, head)
        assert status == 0
        released += [line for line in lines if line[0] != READY]
    return released


MODES: dict[str, Mode] = {
    "points": at_every_point,
    "load": under_load,
    "limit": to_the_limit,
    "slow-limit": lambda where, key: to_the_limit(where, key, True),
}


def warm() -> None:
    """Load and compute once, before the first fork, what every child needs."""
    guard = Guard.open(None, sample(), policy(100))
    ask_keys(guard, lambda said: None)


if __name__ == "__main__":
    warm()
    serve(MODES)
